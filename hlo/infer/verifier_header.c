/* The module's header against its entry computation. */
#include "hlo/infer/verifier_internal.h"

static SourceLoc loc_or_module(const Verifier *verifier, SourceLoc loc) {
  return loc.line != 0 ? loc : verifier->module->loc;
}

static void verify_entry_layout(Verifier *verifier) {
  const EntryLayout *layout = &verifier->module->entry_layout;
  const HloComputation *entry = verifier->module->entry;
  if (!layout->present) return;
  SourceLoc loc = loc_or_module(verifier, layout->loc);
  if (layout->parameter_count != entry->parameters.count) {
    verify_error(verifier, loc, "verify-entry-layout",
                 "'entry_computation_layout' has %lld parameters, the entry has %lld",
                 (long long)layout->parameter_count, (long long)entry->parameters.count);
    return;
  }
  for (int64_t i = 0; i < layout->parameter_count; i++) {
    const Shape *stated = layout->parameters[i], *actual = entry->parameters.data[i]->shape;
    if (!(verify_shape(verifier, stated, loc) & SHAPE_IS_VALID) || shape_compatible(stated, actual)) continue;
    verify_error(verifier, loc, "verify-entry-layout",
                 "'entry_computation_layout' states %s for parameter %lld, which is %s", verify_text(verifier, stated),
                 (long long)i, verify_text(verifier, actual));
  }
  const Shape *stated = layout->result, *actual = entry->root->shape;
  if (!(verify_shape(verifier, stated, loc) & SHAPE_IS_VALID) || shape_compatible(stated, actual)) return;
  verify_error(verifier, loc, "verify-entry-layout", "'entry_computation_layout' states %s for the result, which is %s",
               verify_text(verifier, stated), verify_text(verifier, actual));
}

static const char *index_text(Verifier *verifier, ShapeIndex index) {
  StringBuilder text;
  sb_init(&text, verifier->scratch);
  hlo_shape_index_print(&text, index);
  return text.data;
}

/* The array at a position of a parameter, NULL after an error. */
static const Shape *parameter_leaf(Verifier *verifier, SourceLoc loc, const char *code, const char *what,
                                   int64_t number, ShapeIndex index) {
  const HloComputation *entry = verifier->module->entry;
  if (number < 0 || number >= entry->parameters.count) {
    verify_error(verifier, loc, code, "%s names parameter %lld, the entry has %lld", what, (long long)number,
                 (long long)entry->parameters.count);
    return NULL;
  }
  const Shape *leaf = shape_at(entry->parameters.data[number]->shape, index);
  if (leaf != NULL && shape_is_array(leaf)) return leaf;
  verify_error(verifier, loc, code, "%s names %s of parameter %lld, which is not an array in %s", what,
               index_text(verifier, index), (long long)number,
               verify_text(verifier, entry->parameters.data[number]->shape));
  return NULL;
}

/* Marks node |index| of result or parameter |shape| in its map; true when it was marked before. */
static bool mark_node(IntMap *marked, int64_t number, const Shape *shape, ShapeIndex index) {
  uint64_t key = (uint64_t)number << 32 | (uint32_t)shape_node_from_index(shape, index);
  int64_t before;
  if (int_map_find(marked, key, &before)) return true;
  int_map_set(marked, key, 1);
  return false;
}

static void verify_alias(Verifier *verifier, const InputOutputAlias *alias, IntMap *outputs, IntMap *parameters) {
  const HloComputation *entry = verifier->module->entry;
  SourceLoc loc = loc_or_module(verifier, alias->loc);
  const char *code = "verify-alias", *what = "'input_output_alias'";
  const Shape *output = shape_at(entry->root->shape, alias->output);
  if (output == NULL || !shape_is_array(output)) {
    verify_error(verifier, loc, code, "%s names %s of the result, which is not an array in %s", what,
                 index_text(verifier, alias->output), verify_text(verifier, entry->root->shape));
    return;
  }
  const Shape *input = parameter_leaf(verifier, loc, code, what, alias->parameter, alias->parameter_index);
  if (input == NULL) return;
  if (mark_node(outputs, 0, entry->root->shape, alias->output)) {
    verify_error(verifier, loc, code, "%s names %s of the result twice", what, index_text(verifier, alias->output));
  }
  if (mark_node(parameters, alias->parameter, entry->parameters.data[alias->parameter]->shape,
                alias->parameter_index)) {
    verify_error(verifier, loc, code, "%s names %s of parameter %lld twice", what,
                 index_text(verifier, alias->parameter_index), (long long)alias->parameter);
  }
  bool fits = alias->kind == ALIAS_MUST
                  ? shape_compatible(input, output) && input->layout.memory_space == output->layout.memory_space
                  : shape_byte_size(input) == shape_byte_size(output);
  if (fits) return;
  verify_error(verifier, loc, code, "%s puts result %s in the place of parameter %lld, %s", what,
               verify_text(verifier, output), (long long)alias->parameter, verify_text(verifier, input));
}

static void verify_donor(Verifier *verifier, const BufferDonor *donor, IntMap *parameters) {
  SourceLoc loc = loc_or_module(verifier, donor->loc);
  const char *code = "verify-donor", *what = "'buffer_donor'";
  if (parameter_leaf(verifier, loc, code, what, donor->parameter, donor->parameter_index) == NULL) return;
  const Shape *shape = verifier->module->entry->parameters.data[donor->parameter]->shape;
  if (!mark_node(parameters, donor->parameter, shape, donor->parameter_index)) return;
  verify_error(verifier, loc, code, "%s names %s of parameter %lld, which is aliased or donated already", what,
               index_text(verifier, donor->parameter_index), (long long)donor->parameter);
}

void verify_header(Verifier *verifier) {
  const HloModule *module = verifier->module;
  IntMap outputs, parameters;
  int_map_init(&outputs, verifier->arena);
  int_map_init(&parameters, verifier->arena);
  verify_entry_layout(verifier);
  for (int64_t i = 0; i < module->aliases.count; i++)
    verify_alias(verifier, &module->aliases.data[i], &outputs, &parameters);
  for (int64_t i = 0; i < module->donors.count; i++) verify_donor(verifier, &module->donors.data[i], &parameters);
  arena_reset(verifier->scratch);
}
