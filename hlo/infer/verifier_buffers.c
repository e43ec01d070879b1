/* Buffers, b(T): who may hand them on, and that one user writes each. */
#include "hlo/infer/verifier_internal.h"

static void buffer_error(Verifier *verifier, const HloInstruction *instruction, const char *mistake) {
  verify_error(verifier, instruction->loc, "verify-buffer", "'%.*s' %s", SV_ARG(instruction->name), mistake);
}

static bool is_buffer(const Shape *shape) {
  return shape->type == TYPE_BUFFER;
}

static bool is_call_of(const HloInstruction *instruction, const char *target) {
  const HloAttr *attr = hlo_instruction_attr(instruction, HLO_ATTR_CUSTOM_CALL_TARGET);
  return attr != NULL && sv_equal_cstring(attr->value.text, target);
}

bool verify_pins(const HloInstruction *call) {
  return call->opcode == HLO_CUSTOM_CALL && (is_call_of(call, "Pin") || is_call_of(call, "Unpin"));
}

/* --- writers --- */

enum { MOST_STEPS = 10000, MOST_DEPTH = 64 };

/* A buffer on its way through tuples: at |path| of |value|; the search ends after so many steps. */
typedef struct BufferPath {
  int64_t path[MOST_DEPTH];
  int depth; /* the outermost index stands last */
  int steps;
  int writers;
} BufferPath;

static bool is_loop_body(const HloComputation *computation, const HloModule *module) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *instructions = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < instructions->count; i++) {
      const HloInstruction *caller = instructions->data[i];
      if (caller->opcode == HLO_WHILE && (hlo_instruction_computation(caller, HLO_ATTR_BODY) == computation ||
                                          hlo_instruction_computation(caller, HLO_ATTR_CONDITION) == computation))
        return true;
    }
  }
  return false;
}

/* Calls, loops and updates in place write what they take. */
static bool writes(HloOpcode opcode) {
  switch (opcode) {
    case HLO_ASYNC_START:
    case HLO_CALL:
    case HLO_CONDITIONAL:
    case HLO_CUSTOM_CALL:
    case HLO_DYNAMIC_UPDATE_SLICE:
    case HLO_FUSION:
    case HLO_WHILE: return true;
    default: return false;
  }
}

static void count_writers(const HloModule *module, const HloInstruction *value, BufferPath *path) {
  for (int32_t i = 0; i < value->user_count && path->writers < 2 && path->steps < MOST_STEPS; i++) {
    const HloInstruction *user = value->users[i];
    path->steps++;
    if (writes(user->opcode)) {
      path->writers++;
    } else if (user->opcode == HLO_GET_TUPLE_ELEMENT && path->depth > 0 &&
               hlo_instruction_int(user, HLO_ATTR_INDEX, 0) == path->path[path->depth - 1]) {
      int64_t index = path->path[--path->depth];
      count_writers(module, user, path);
      path->path[path->depth++] = index;
    } else if (user->opcode == HLO_TUPLE && hlo_instruction_is_root(user)) {
      path->writers += is_loop_body(user->parent, module);
    } else if (user->opcode == HLO_TUPLE && path->depth < MOST_DEPTH) {
      path->path[path->depth++] = hlo_instruction_first_use(value, i);
      count_writers(module, user, path);
      path->depth--;
    }
  }
}

/* Each buffer in |shape|, a part of |value|. */
static void check_writers(Verifier *verifier, const HloInstruction *value, const Shape *shape, BufferPath *path) {
  if (is_buffer(shape)) {
    BufferPath found = {.depth = path->depth};
    for (int i = 0; i < path->depth; i++) found.path[i] = path->path[path->depth - 1 - i];
    count_writers(verifier->module, value, &found);
    if (found.writers > 1) buffer_error(verifier, value, "makes a buffer that two write or unpin");
    return;
  }
  for (int i = 0; i < shape->tuple_size && path->depth < MOST_DEPTH; i++) {
    path->path[path->depth++] = i;
    check_writers(verifier, value, shape->tuple[i], path);
    path->depth--;
  }
}

/* --- calls --- */

static bool same_array(const Shape *a, const Shape *b) {
  return shape_is_array(a) && shape_is_array(b) && shape_compatible(a, b);
}

/* An array becomes a buffer, or the other way round, in one place. */
static const char *pin_mistake(const HloInstruction *call) {
  bool pins = is_call_of(call, "Pin");
  const HloAttr *aliasing = hlo_instruction_attr(call, HLO_ATTR_OUTPUT_TO_OPERAND_ALIASING);
  const Shape *result = call->shape, *operand = call->operand_count == 1 ? call->operands[0]->shape : NULL;
  const Shape *buffer = pins ? result : operand, *array = pins ? operand : result;
  if (operand == NULL || !is_buffer(buffer) || !same_array(array, buffer->tuple[0]))
    return pins ? "makes of one array the buffer of its shape" : "makes of one buffer the array in it";
  if (aliasing == NULL || aliasing->value.aliasing.count != 1) return "needs one entry of 'output_to_operand_aliasing'";
  return NULL;
}

static int64_t times_aliased(const HloInstruction *call, int operand, ShapeIndex index) {
  const HloAttr *attr = hlo_instruction_attr(call, HLO_ATTR_OUTPUT_TO_OPERAND_ALIASING);
  int64_t count = 0;
  for (int64_t i = 0; attr != NULL && i < attr->value.aliasing.count; i++) {
    const OperandAlias *alias = &attr->value.aliasing.data[i];
    ShapeIndex there = operand < 0 ? alias->output : alias->operand_index;
    bool same = (operand < 0 || alias->operand == operand) && there.depth == index.depth;
    for (int k = 0; same && k < index.depth; k++) same = there.path[k] == index.path[k];
    count += same;
  }
  return count;
}

/* Each buffer among operands (|operand| from 0) and results (-1) stands in one entry of the aliasing. */
static bool are_aliased(const HloInstruction *call, int operand, const Shape *shape, BufferPath *path) {
  if (is_buffer(shape)) return times_aliased(call, operand, (ShapeIndex){path->depth, path->path}) == 1;
  for (int i = 0; i < shape->tuple_size && path->depth < MOST_DEPTH; i++) {
    path->path[path->depth++] = i;
    bool fits = are_aliased(call, operand, shape->tuple[i], path);
    path->depth--;
    if (!fits) return false;
  }
  return true;
}

static void verify_call(Verifier *verifier, const HloInstruction *call) {
  const char *mistake = NULL;
  BufferPath path = {.depth = 0};
  if (verify_pins(call)) {
    mistake = pin_mistake(call);
  } else if (is_call_of(call, "CreateBuffer")) {
    if (call->operand_count != 0 || !is_buffer(call->shape)) mistake = "makes of nothing one buffer";
  } else {
    bool fits = are_aliased(call, -1, call->shape, &path);
    for (int i = 0; fits && i < call->operand_count; i++) fits = are_aliased(call, i, call->operands[i]->shape, &path);
    if (!fits) mistake = "needs each of its buffers in one entry of 'output_to_operand_aliasing'";
  }
  if (mistake != NULL)
    buffer_error(verifier, call, mistake);
  else
    check_writers(verifier, call, call->shape, &path);
}

/* --- who may --- */

static bool has_buffer(Verifier *verifier, const HloInstruction *instruction) {
  if (verify_shape(verifier, instruction->shape, instruction->loc) & SHAPE_HAS_BUFFER) return true;
  for (int i = 0; i < instruction->operand_count; i++) {
    if (verify_shape(verifier, instruction->operands[i]->shape, instruction->loc) & SHAPE_HAS_BUFFER) return true;
  }
  return false;
}

void verify_buffers(Verifier *verifier, const HloInstruction *instruction) {
  BufferPath path = {.depth = 0};
  bool is_entry_parameter = instruction->opcode == HLO_PARAMETER && instruction->parent == verifier->module->entry;
  if (!has_buffer(verifier, instruction)) return;
  switch (is_entry_parameter ? HLO_OPCODE_COUNT : instruction->opcode) {
    case HLO_GET_TUPLE_ELEMENT:
    case HLO_TUPLE: return;
    case HLO_ASYNC_START:
    case HLO_ASYNC_UPDATE:
    case HLO_ASYNC_DONE: return; /* as what they wrap */
    case HLO_CUSTOM_CALL: verify_call(verifier, instruction); return;
    case HLO_CALL:
      if (verify_frontend(instruction, "_xla_stream_annotation") != NULL) return; /* to be an asynchronous one */
      break;
    case HLO_DYNAMIC_UPDATE_SLICE:
      if (!is_buffer(instruction->operands[0]->shape) || !is_buffer(instruction->shape)) break;
      check_writers(verifier, instruction, instruction->shape, &path);
      return;
    case HLO_PARAMETER:
    case HLO_WHILE: check_writers(verifier, instruction, instruction->shape, &path); return;
    default: break;
  }
  verify_error(verifier, instruction->loc, "verify-buffer", "%s cannot have a shape with buffers, %s",
               is_entry_parameter ? "a parameter of the entry" : hlo_opcode_text(instruction->opcode),
               verify_text(verifier, instruction->shape));
}
