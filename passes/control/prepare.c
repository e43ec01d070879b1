/* prepare: what fixed parameters alone decide is computed once, before any run, by a computation of its own, the
 * module's preparation: weights turned for a convolution, scales of a normalisation, products of parameters.
 *
 * The entry calls it once, and its results are results of the entry as well: so they have memory of the caller from the
 * call to the end, and nothing writes there.  Code makes a function of the call, which runs leave out.
 *
 * A value is prepared where it takes no more bytes than the fixed values that it is made of: a broadcast, or weights of
 * 8 bits as floats, would be more to keep and to read, and stay.  So do views, cuts and reversals, which are free,
 * unless a convolution reads them, arithmetic of scalars, and what is only moved, unless for products and convolutions.
 */
#include "base/checked_math.h"
#include "hlo/analysis/in_place.h"
#include "passes/control/fixed_parameters.h"
#include "passes/control/tuple_edit.h"
#include "passes/control/weight_panels.h"

typedef struct Preparer {
  HloPassContext *context;
  HloModule *module;
  HloComputation *entry;
  Arena *scratch;
  HloInstruction **order; /* of the entry, operands first */
  int64_t count;
  int32_t limit;         /* ids below it were there */
  bool *is_fixed;        /* by id, like the next: it is made of fixed parameters and constants alone */
  bool *is_of_parameter; /* and of one parameter at least */
  int64_t *source_bytes; /* of the parameters and constants that it is made of */
  bool *is_result;       /* the root shows it, maybe under another shape */
  HloInstructionArray prepared;
  HloInstructionArray inputs; /* the parameters, or parts of them, that they are made of */
  IntMap copies;              /* in the preparation */
} Preparer;

/* --- what is fixed --- */

static bool is_movable(const HloInstruction *instruction) {
  return !hlo_opcode_has(instruction->opcode, OP_STAYS | OP_GIVEN) && instruction->opcode != HLO_CUSTOM_CALL &&
         shape_is_array(instruction->shape) && !hlo_instruction_has_side_effect(instruction);
}

static void look_at(Preparer *preparer, HloInstruction *instruction) {
  int32_t id = instruction->id;
  bool is_given = preparer->is_fixed[id];
  if (is_given || (instruction->opcode == HLO_CONSTANT && shape_is_array(instruction->shape))) {
    preparer->is_fixed[id] = true;
    preparer->is_of_parameter[id] = is_given;
    preparer->source_bytes[id] = shape_byte_size(instruction->shape);
    return;
  }
  if (!is_movable(instruction)) return;
  preparer->is_fixed[id] = true;
  for (int i = 0; i < instruction->operand_count; i++) {
    int32_t operand = instruction->operands[i]->id;
    preparer->is_fixed[id] &= preparer->is_fixed[operand];
    preparer->is_of_parameter[id] |= preparer->is_of_parameter[operand];
    preparer->source_bytes[id] = saturated_add(preparer->source_bytes[id], preparer->source_bytes[operand]);
  }
}

/* --- what is prepared --- */

/* It is there without any work. */
static bool is_free(const HloInstruction *instruction) {
  return hlo_opcode_has(instruction->opcode, OP_GIVEN) || hlo_opcode_has(instruction->opcode, OP_TUPLES) ||
         hlo_is_view(instruction) || hlo_opcode_info(instruction->opcode)->cost == OP_COST_FREE;
}

/* A convolution reads its factors from memory: what would cost nothing elsewhere, other than a view, is stored for it.
 */
static bool is_stored_for_convolution(const HloInstruction *value) {
  if (hlo_opcode_has(value->opcode, OP_GIVEN) || hlo_opcode_has(value->opcode, OP_TUPLES) || hlo_is_view(value))
    return false;
  for (int i = 0; i < value->user_count; i++)
    if (value->users[i]->opcode == HLO_CONVOLUTION) return true;
  return false;
}

/* Arithmetic of scalars stands between the kernels, and costs nothing. */
static bool is_scalar_arithmetic(const HloInstruction *value) {
  bool is_scalar = shape_is_scalar(value->shape);
  for (int k = 0; k < value->operand_count; k++) is_scalar &= shape_is_scalar(value->operands[k]->shape);
  return is_scalar;
}

static bool is_worthwhile(const Preparer *preparer, const HloInstruction *value) {
  int64_t bytes = shape_byte_size(value->shape);
  bool is_there = is_free(value) && !is_stored_for_convolution(value);
  return preparer->is_of_parameter[value->id] && !is_there && !is_scalar_arithmetic(value) && bytes > 0 &&
         !preparer->is_result[value->id] && bytes <= preparer->source_bytes[value->id];
}

/* Results that are prepared as well would need two places. */
static void find_results(Preparer *preparer) {
  preparer->is_result[preparer->entry->root->id] = true;
  for (int64_t i = preparer->count - 1; i >= 0; i--) {
    HloInstruction *value = preparer->order[i];
    if (!preparer->is_result[value->id]) continue;
    if (!hlo_opcode_has(value->opcode, OP_TUPLES) && !hlo_is_view(value)) continue;
    for (int k = 0; k < value->operand_count; k++) preparer->is_result[value->operands[k]->id] = true;
  }
}

/* What is only moved; code that computes with single elements reads it as well where it is. */
static bool is_move(const HloInstruction *instruction) {
  OpCost cost = hlo_opcode_info(instruction->opcode)->cost;
  return cost == OP_COST_MOVE || cost == OP_COST_PIECES || cost == OP_COST_STRIDES;
}

/* By id, of users, which come later: what runs read, and what is prepared of it. */
typedef struct Choice {
  bool *is_read, *is_kept;
  bool *is_factor; /* only products and convolutions of runs read it */
} Choice;

static bool is_factor(const Preparer *preparer, const Choice *choice, const HloInstruction *value) {
  for (int i = 0; i < value->user_count; i++) {
    const HloInstruction *user = value->users[i];
    bool is_unread = preparer->is_fixed[user->id] && (choice->is_kept[user->id] || !choice->is_read[user->id]);
    if (is_unread || hlo_opcode_has(user->opcode, OP_CONTRACTION)) continue;
    if (!hlo_is_view(user) || !choice->is_factor[user->id]) return false;
  }
  return true;
}

/* From what runs read back to what is worth keeping. */
static void choose(Preparer *preparer) {
  int32_t limit = preparer->module->next_instruction_id;
  Choice choice = {ARENA_NEW_ARRAY(preparer->scratch, bool, limit), ARENA_NEW_ARRAY(preparer->scratch, bool, limit),
                   ARENA_NEW_ARRAY(preparer->scratch, bool, limit)};
  choice.is_read[preparer->entry->root->id] = true;
  for (int64_t i = preparer->count - 1; i >= 0; i--) {
    HloInstruction *value = preparer->order[i];
    int32_t id = value->id;
    if (preparer->is_fixed[id] && !choice.is_read[id]) continue;
    choice.is_factor[id] = is_factor(preparer, &choice, value);
    choice.is_kept[id] =
        preparer->is_fixed[id] && is_worthwhile(preparer, value) && (choice.is_factor[id] || !is_move(value));
    if (choice.is_kept[id]) array_push(&preparer->prepared, preparer->scratch, value);
    for (int k = 0; k < value->operand_count && !choice.is_kept[id]; k++) choice.is_read[value->operands[k]->id] = true;
  }
  /* in the order of the entry */
  for (int64_t i = 0, j = preparer->prepared.count - 1; i < j; i++, j--) {
    HloInstruction *other = preparer->prepared.data[i];
    preparer->prepared.data[i] = preparer->prepared.data[j];
    preparer->prepared.data[j] = other;
  }
}

/* --- the preparation --- */

static bool is_input(const HloInstruction *value) {
  return value->opcode == HLO_PARAMETER || value->opcode == HLO_GET_TUPLE_ELEMENT;
}

/* By id: what the prepared values are made of, themselves included. */
static const bool *needed_by_prepared(const Preparer *preparer) {
  bool *is_needed = ARENA_NEW_ARRAY(preparer->scratch, bool, preparer->module->next_instruction_id);
  for (int64_t i = 0; i < preparer->prepared.count; i++) is_needed[preparer->prepared.data[i]->id] = true;
  for (int64_t i = preparer->count - 1; i >= 0; i--) {
    const HloInstruction *value = preparer->order[i];
    if (!is_needed[value->id] || is_input(value)) continue;
    for (int k = 0; k < value->operand_count; k++) is_needed[value->operands[k]->id] = true;
  }
  return is_needed;
}

static void copy_value(Preparer *preparer, HloComputation *into, HloInstruction *value) {
  HloInstruction *copy;
  if (is_input(value)) {
    copy = hlo_computation_add_parameter(into, preparer->inputs.count, value->shape, value->name);
    array_push(&preparer->inputs, preparer->scratch, value);
  } else {
    HloInstruction **operands = ARENA_NEW_ARRAY(preparer->scratch, HloInstruction *, value->operand_count + 1);
    for (int k = 0; k < value->operand_count; k++) operands[k] = pointer_map_get(&preparer->copies, value->operands[k]);
    copy = hlo_computation_add_clone(into, value, value->shape, operands, value->operand_count);
  }
  pointer_map_set(&preparer->copies, value, copy);
}

static HloInstruction *new_tuple(const Preparer *preparer, HloComputation *computation, HloInstruction *const *elements,
                                 int count) {
  const Shape **shapes = ARENA_NEW_ARRAY(preparer->scratch, const Shape *, count);
  for (int i = 0; i < count; i++) shapes[i] = elements[i]->shape;
  const Shape *shape = shape_tuple(preparer->module->shapes, shapes, count);
  return hlo_computation_add(computation, HLO_TUPLE, shape, elements, count, SV(""));
}

static HloComputation *make_preparation(Preparer *preparer) {
  HloComputation *preparation = hlo_module_add_computation(preparer->module, SV("prepare"));
  const bool *is_needed = needed_by_prepared(preparer);
  for (int64_t i = 0; i < preparer->count; i++)
    if (is_needed[preparer->order[i]->id]) copy_value(preparer, preparation, preparer->order[i]);
  int64_t count = preparer->prepared.count;
  HloInstruction **copies = ARENA_NEW_ARRAY(preparer->scratch, HloInstruction *, count);
  for (int64_t i = 0; i < count; i++) copies[i] = pointer_map_get(&preparer->copies, preparer->prepared.data[i]);
  hlo_computation_set_root(preparation, new_tuple(preparer, preparation, copies, (int)count));
  return preparation;
}

/* --- the entry --- */

/* The root with |elements| after its own. */
static void extend_root(Preparer *preparer, const HloInstructionArray *elements) {
  HloModule *module = preparer->module;
  HloInstruction *root = preparer->entry->root;
  bool is_tuple = shape_is_tuple(root->shape);
  HloInstructionArray all = {0};
  for (int i = 0; i < (is_tuple ? root->shape->tuple_size : 1); i++) {
    HloInstruction *element = root;
    if (is_tuple) element = root->opcode == HLO_TUPLE ? root->operands[i] : tuple_element(root, i);
    array_push(&all, preparer->scratch, element);
  }
  for (int64_t i = 0; i < elements->count; i++) array_push(&all, preparer->scratch, elements->data[i]);
  HloInstruction *extended = new_tuple(preparer, preparer->entry, all.data, (int)all.count);
  hlo_computation_set_root(preparer->entry, extended);
  for (int64_t i = 0; i < module->aliases.count && !is_tuple; i++)
    module->aliases.data[i].output = (ShapeIndex){1, ARENA_NEW_ARRAY(module->arena, int64_t, 1)}; /* element 0 */
  module->prepared_count = elements->count;
  hlo_module_update_entry_layout(module);
}

static void call_preparation(Preparer *preparer, HloComputation *preparation) {
  HloInstruction *call = hlo_computation_add(preparer->entry, HLO_CALL, preparation->root->shape, preparer->inputs.data,
                                             (int)preparer->inputs.count, preparation->name);
  hlo_instruction_set_computation(call, HLO_ATTR_TO_APPLY, preparation);
  HloInstructionArray elements = {0};
  for (int64_t i = 0; i < preparer->prepared.count; i++) {
    HloInstruction *value = preparer->prepared.data[i];
    HloInstruction *element = tuple_element(call, (int)i);
    hlo_instruction_inherit_metadata(element, value);
    hlo_instruction_replace_all_uses(value, element);
    array_push(&elements, preparer->scratch, element);
    hlo_pass_count_rewrite(preparer->context, "computed before any run", element);
  }
  extend_root(preparer, &elements);
  hlo_module_remove_dead(preparer->module);
}

/* --- the pass --- */

static Status check_target(const HloPassContext *context, const HloModule *module) {
  const char *why = machine_has_buffer(context->options->machine) ? "on the host only"
                    : context->options->keeps_text_order          ? "without '--schedule=keep'"
                                                                  : NULL;
  if (why == NULL) return STATUS_OK;
  return diag_error(context->diag, STATUS_UNSUPPORTED, module->loc, "prepare", "'--prepare' works %s", why);
}

/* What of the entry is fixed, as it is by now. */
static Status look(Preparer *preparer) {
  HloPassContext *context = preparer->context;
  HloModule *module = preparer->module;
  int32_t limit = preparer->limit = module->next_instruction_id;
  const bool *is_given;
  RETURN_IF_ERROR(fixed_parameters(context->scratch, module, context->options->fixed, context->options->fixed_count,
                                   context->diag, &is_given));
  preparer->is_fixed = ARENA_COPY_ARRAY(context->scratch, bool, is_given, limit);
  preparer->is_of_parameter = ARENA_NEW_ARRAY(context->scratch, bool, limit);
  preparer->source_bytes = ARENA_NEW_ARRAY(context->scratch, int64_t, limit);
  preparer->is_result = ARENA_NEW_ARRAY(context->scratch, bool, limit);
  preparer->order = hlo_computation_post_order(module->entry, context->scratch, &preparer->count);
  for (int64_t i = 0; i < preparer->count; i++) look_at(preparer, preparer->order[i]);
  return STATUS_OK;
}

/* Products of a run whose right factor is fixed read it in panels; products of one factor and form share them. */
static bool turn_weights(Preparer *preparer) {
  IntMap turned;
  int_map_init(&turned, preparer->scratch);
  for (int64_t i = 0; i < preparer->count; i++) {
    HloInstruction *dot = preparer->order[i];
    if (preparer->is_fixed[dot->id] || !weight_panels_are_wanted(dot)) continue;
    const HloInstruction *weights = dot->operands[1];
    if (weights->id >= preparer->limit) continue; /* a product that was turned itself */
    if (!preparer->is_fixed[weights->id] || !preparer->is_of_parameter[weights->id]) continue;
    bool is_along_depth = hlo_instruction_ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS).data[0] == 1;
    uint64_t key = 2 * (uint64_t)weights->id + is_along_depth;
    int64_t known = 0;
    HloInstruction *panels =
        int_map_find(&turned, key, &known) ? (HloInstruction *)(intptr_t)known : weight_panels_of(dot);
    int_map_set(&turned, key, (int64_t)(intptr_t)panels);
    weight_panels_use(dot, panels);
    hlo_pass_count_rewrite(preparer->context, "weight-panels", panels);
  }
  return turned.count > 0;
}

static Status run_prepare(HloPassContext *context, HloModule *module, bool *out_changed) {
  RETURN_IF_ERROR(check_target(context, module));
  if (module->preparation != NULL) return STATUS_OK;
  Preparer preparer = {.context = context, .module = module, .entry = module->entry, .scratch = context->scratch};
  int_map_init(&preparer.copies, context->scratch);
  RETURN_IF_ERROR(look(&preparer));
  if (context->options->opt_level > 0 && turn_weights(&preparer)) {
    hlo_module_remove_dead(module);
    *out_changed = true;
    RETURN_IF_ERROR(look(&preparer));
  }
  find_results(&preparer);
  choose(&preparer);
  if (preparer.prepared.count == 0) return STATUS_OK;
  *out_changed = true;
  module->preparation = make_preparation(&preparer);
  call_preparation(&preparer, module->preparation);
  return STATUS_OK;
}

const HloPass hlo_prepare_pass = {"prepare", "compute what fixed parameters alone decide before any run", run_prepare,
                                  false};
