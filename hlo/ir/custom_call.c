#include "hlo/ir/custom_call.h"

#include <string.h>

#include "hlo/ir/call_attributes.h"
#include "hlo/ir/hlo_module.h"

/* Of GSPMD, Shardy ("xla.sdy.") and others, among them what makes arrays buffers and back; a border is where a manual
 * region begins or ends. */
static const struct Marker {
  const char *target;
  bool is_border;
} markers[] = {
    {"Sharding", false},
    {"SPMDFullToShardShape", true},
    {"SPMDShardToFullShape", true},
    {"annotate_device_placement", false},
    {"LayoutConstraint", false},
    {"MoveToHost", false},
    {"MoveToDevice", false},
    {"CreateBuffer", false},
    {"Pin", false},
    {"Unpin", false},
    {"xla.sdy.FuncResultSharding", false},
    {"xla.sdy.GlobalToLocalShape", true},
    {"xla.sdy.LocalToGlobalShape", true},
    {"xla.sdy.PropagationBarrier", false},
    {"xla.sdy.ShardingGroup", false},
};

static const struct Marker *find_marker(StringView target) {
  for (size_t i = 0; i < sizeof markers / sizeof *markers; i++) {
    if (sv_equal_cstring(target, markers[i].target)) return &markers[i];
  }
  return NULL;
}

StringView custom_call_target(const HloInstruction *instruction) {
  const HloAttr *attr = hlo_instruction_attr(instruction, HLO_ATTR_CUSTOM_CALL_TARGET);
  return instruction->opcode == HLO_CUSTOM_CALL && attr != NULL ? attr->value.text : SV("");
}

bool custom_call_calls(const HloInstruction *instruction, const char *target) {
  return sv_equal_cstring(custom_call_target(instruction), target);
}

bool custom_call_is_marker(StringView target) {
  return find_marker(target) != NULL;
}

bool custom_call_is_border(StringView target) {
  const struct Marker *marker = find_marker(target);
  return marker != NULL && marker->is_border;
}

MarkerValue custom_call_marker_value(const HloInstruction *call) {
  const Shape *shape = call->shape;
  if (!custom_call_is_marker(custom_call_target(call))) return MARKER_UNKNOWN;
  if (call->operand_count == 1 && shape_compatible(shape, call->operands[0]->shape)) return MARKER_OPERAND;
  if (!shape_is_tuple(shape) || shape->tuple_size > call->operand_count) return MARKER_UNKNOWN;
  for (int i = 0; i < shape->tuple_size; i++) {
    if (!shape_compatible(shape->tuple[i], call->operands[i]->shape)) return MARKER_UNKNOWN;
  }
  return MARKER_TUPLE;
}

/* Of JAX since 0.4.36, and before. */
static const char *const callbacks[] = {
    "xla_ffi_python_cpu_callback", "xla_ffi_partitioned_python_cpu_callback",
    "xla_ffi_python_gpu_callback", "xla_ffi_partitioned_python_gpu_callback",
    "xla_python_cpu_callback",     "xla_python_gpu_callback",
};

bool custom_call_is_callback(const HloInstruction *instruction) {
  for (size_t i = 0; i < sizeof callbacks / sizeof *callbacks; i++) {
    if (custom_call_calls(instruction, callbacks[i])) return true;
  }
  return false;
}

void custom_call_make_trap(HloInstruction *call) {
  HloAttr target = *hlo_instruction_attr(call, HLO_ATTR_CUSTOM_CALL_TARGET);
  target.value.text = sv_printf(call->parent->module->arena, CUSTOM_CALL_TRAP_PREFIX "%.*s", SV_ARG(target.value.text));
  hlo_instruction_set_attr(call, &target);
}

bool custom_call_is_trap(const HloInstruction *instruction) {
  return sv_starts_with(custom_call_target(instruction), SV(CUSTOM_CALL_TRAP_PREFIX));
}

static bool is_size(const Shape *shape) {
  return shape_is_scalar(shape) && shape->type == TYPE_S32;
}

static bool same_array(const Shape *a, const Shape *b) {
  return shape_is_array(a) && shape_is_array(b) && a->type == b->type && shape_same_dims(a, b);
}

bool custom_call_slices_to_dynamic(const HloInstruction *instruction) {
  if (!custom_call_calls(instruction, "SliceToDynamic") || instruction->operand_count == 0) return false;
  bool fits = same_array(instruction->shape, instruction->operands[0]->shape) &&
              instruction->operand_count == instruction->shape->rank + 1;
  for (int i = 1; i < instruction->operand_count; i++) fits = fits && is_size(instruction->operands[i]->shape);
  return fits;
}

bool custom_call_pads_to_static(const HloInstruction *instruction) {
  if (!custom_call_calls(instruction, "PadToStatic") || instruction->operand_count != 1) return false;
  const Shape *shape = instruction->shape, *array = instruction->operands[0]->shape;
  if (!shape_is_tuple(shape) || !shape_is_array(array) || shape->tuple_size != array->rank + 1) return false;
  bool fits = same_array(shape->tuple[0], array);
  for (int i = 1; i < shape->tuple_size; i++) fits = fits && is_size(shape->tuple[i]);
  return fits;
}

bool custom_call_is_lapack(StringView target, StringView routine) {
  const size_t prefix = sizeof "lapack_s" - 1, suffix = sizeof "_ffi" - 1;
  if (target.size != prefix + routine.size + suffix) return false;
  return sv_starts_with(target, SV("lapack_")) && sv_ends_with(target, SV("_ffi")) &&
         sv_equal(sv_sub(target, prefix, routine.size), routine);
}

int64_t custom_call_integer(const HloInstruction *call, StringView name, int64_t fallback) {
  Arena *arena = arena_create();
  DiagSink unheard;
  diag_sink_init(&unheard, arena);
  CallAttribute dictionary;
  const CallAttribute *entry = NULL;
  if (call_attributes_parse(arena, call, &unheard, &dictionary) == STATUS_OK)
    entry = call_attribute_find(&dictionary, name);
  if (entry != NULL && entry->kind == CALL_ATTRIBUTE_SCALAR && !type_is_float(entry->type)) {
    fallback = 0;
    memcpy(&fallback, entry->data, (size_t)type_storage_bytes(entry->type)); /* little endian */
  }
  arena_destroy(arena);
  return fallback;
}
