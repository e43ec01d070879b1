#include "hlo/ir/custom_call.h"
#include "hlo/ir/untyped_lapack.h"
#include "passes/expand/graph_builder.h"

/* Untyped calls to LAPACK as typed ones (hlo/ir/untyped_lapack.h). */

/* The value of a scalar operand that is a constant. */
static bool known_integer(const HloInstruction *call, int index, int64_t *out_value) {
  const HloInstruction *operand = call->operands[index];
  if (operand->opcode != HLO_CONSTANT || !shape_is_scalar(operand->shape) || !type_is_integral(operand->shape->type))
    return false;
  *out_value = literal_get_int(hlo_instruction_literal(operand), 0);
  return true;
}

/* What |attribute| is in |call|: a letter where it has letters. */
static bool attribute_value(const HloInstruction *call, const UntypedLapackAttribute *attribute, int64_t *out_value) {
  int64_t value = 0, gate = 0;
  if (attribute->operand >= 0 && !known_integer(call, attribute->operand, &value)) return false;
  if (attribute->gate >= 0) {
    if (!known_integer(call, attribute->gate, &gate)) return false;
    value = gate == 0 ? 0 : value + 1;
  }
  if (attribute->letters != NULL) {
    StringView letters = sv_from_cstring(attribute->letters);
    if (value < 0 || value >= (int64_t)letters.size) return false;
    value = letters.data[value];
  }
  *out_value = value;
  return true;
}

/* {uplo = 76 : ui8} */
static bool attributes_of(GraphBuilder *builder, const UntypedLapackRoutine *routine, StringView *out_text) {
  StringBuilder text;
  sb_init(&text, builder->computation->module->arena);
  sb_append_char(&text, '{');
  for (int i = 0; i < UNTYPED_LAPACK_ATTRIBUTES && routine->attributes[i].name != NULL; i++) {
    int64_t value;
    if (!attribute_value(builder->origin, &routine->attributes[i], &value)) return false;
    sb_printf(&text, "%s%s = %lld : i64", i > 0 ? ", " : "", routine->attributes[i].name, (long long)value);
  }
  sb_append_char(&text, '}');
  *out_text = sb_view(&text);
  return true;
}

static bool has_results(const HloInstruction *call, const int *results, int count) {
  for (int i = 0; i < count; i++) {
    if (shape_is_tuple(call->shape) ? results[i] >= call->shape->tuple_size : results[i] > 0) return false;
  }
  return true;
}

static void set_text(HloInstruction *instruction, HloAttrId id, StringView text) {
  HloAttr attr = {.id = id, .loc = instruction->loc};
  attr.value.text = text;
  hlo_instruction_set_attr(instruction, &attr);
}

/* The typed call, on the same arrays. */
static HloInstruction *typed_call(GraphBuilder *builder, const UntypedLapackRoutine *routine, char letter,
                                  StringView attributes, const int *results, int result_count) {
  HloInstruction *call = builder->origin, *operands[UNTYPED_LAPACK_ARRAYS];
  Arena *arena = builder->computation->module->arena;
  const Shape *parts[UNTYPED_LAPACK_RESULTS];
  const Shape **constraints = ARENA_NEW_ARRAY(arena, const Shape *, routine->array_count);
  for (int i = 0; i < routine->array_count; i++) {
    operands[i] = call->operands[routine->arrays[i]];
    constraints[i] = operands[i]->shape;
  }
  for (int i = 0; i < result_count; i++) parts[i] = shape_result(call->shape, results[i]);
  const Shape *shape = result_count == 1 ? parts[0] : shape_tuple(graph_shapes(builder), parts, result_count);
  HloInstruction *typed = graph_add(builder, HLO_CUSTOM_CALL, shape, operands, routine->array_count);
  const char *name = untyped_lapack_is_complex(letter) ? routine->complex : routine->real;
  set_text(typed, HLO_ATTR_CUSTOM_CALL_TARGET, sv_printf(arena, "lapack_%c%s_ffi", letter, name));
  set_text(typed, HLO_ATTR_BACKEND_CONFIG, attributes);
  hlo_instruction_set_int(typed, HLO_ATTR_API_VERSION, CUSTOM_CALL_API_VERSION_TYPED_FFI);
  HloAttr layouts = {.id = HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS, .loc = call->loc};
  layouts.value.shapes.count = routine->array_count;
  layouts.value.shapes.data = constraints;
  hlo_instruction_set_attr(typed, &layouts);
  return typed;
}

/* Results of the untyped call that the typed one does not give are work, or the info of routines that always succeed:
 * zeros. */
static HloInstruction *expand_untyped_lapack(GraphBuilder *builder) {
  const HloInstruction *call = builder->origin;
  int64_t version = hlo_instruction_int(call, HLO_ATTR_API_VERSION, CUSTOM_CALL_API_VERSION_ORIGINAL);
  StringView target = custom_call_target(call), attributes;
  char letter;
  const UntypedLapackRoutine *routine = untyped_lapack_find(target, &letter);
  if (routine == NULL || version == CUSTOM_CALL_API_VERSION_TYPED_FFI || call->operand_count != routine->operand_count)
    return NULL;
  bool is_complex = untyped_lapack_is_complex(letter);
  const int *results = routine->results[is_complex], count = routine->result_counts[is_complex];
  if (!has_results(call, results, count) || !attributes_of(builder, routine, &attributes)) return NULL;
  HloInstruction *typed = typed_call(builder, routine, letter, attributes, results, count);
  if (!shape_is_tuple(call->shape)) return typed;
  int all = (int)call->shape->tuple_size;
  HloInstruction **elements = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, all);
  for (int i = 0; i < all; i++) elements[i] = NULL;
  for (int i = 0; i < count; i++) elements[results[i]] = count == 1 ? typed : graph_element(builder, typed, i);
  for (int i = 0; i < all; i++) {
    const Shape *shape = call->shape->tuple[i];
    if (elements[i] == NULL) elements[i] = graph_zero(builder, shape->type, shape);
  }
  return graph_tuple(builder, elements, all);
}

static const GraphRuleRow rules[] = {{HLO_CUSTOM_CALL, expand_untyped_lapack}};

static Status run_untyped_lapack_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  return graph_apply_rules(context, module, rules, 1, out_changed);
}

const HloPass hlo_untyped_lapack_expander_pass = {"untyped-lapack-expander",
                                                  "LAPACK as JAX called it before it had typed calls, as typed calls",
                                                  run_untyped_lapack_expander, false};
