/* Buffers, b(T): who may hand them on, and that one user writes each. */
#include <string.h>

#include "base/array.h"
#include "hlo/infer/verifier_internal.h"
#include "hlo/ir/custom_call.h"

static void buffer_error(Verifier *verifier, const HloInstruction *instruction, const char *mistake) {
  verify_error(verifier, instruction->loc, "verify-buffer", "'%.*s' %s", SV_ARG(instruction->name), mistake);
}

static bool is_buffer(const Shape *shape) {
  return shape->type == TYPE_BUFFER;
}

bool verify_pins(const HloInstruction *call) {
  return custom_call_calls(call, "Pin") || custom_call_calls(call, "Unpin");
}

/* --- places of buffers --- */

/* A part of a value; the outermost index stands last. */
typedef ARRAY(int64_t) BufferPath;

/* What is done with the buffer at |path| of operand |operand| of |user|, or of its result (-1). */
typedef void BufferVisitor(Verifier *verifier, const HloInstruction *user, int operand, const BufferPath *path,
                           void *state);

typedef struct BufferVisit {
  Verifier *verifier;
  const HloInstruction *user;
  int operand;
  BufferVisitor *visitor;
  void *state;
} BufferVisit;

/* Each buffer in |shape|, which is at |indices| (outermost first). */
static void visit_buffers(const BufferVisit *visit, const Shape *shape, BufferPath *indices) {
  Arena *arena = visit->verifier->scratch;
  if (is_buffer(shape)) {
    BufferPath path = {0};
    for (int64_t i = indices->count; i > 0; i--) array_push(&path, arena, indices->data[i - 1]);
    visit->visitor(visit->verifier, visit->user, visit->operand, &path, visit->state);
  }
  if (!shape_is_tuple(shape) || !(verify_shape(visit->verifier, shape, visit->user->loc) & SHAPE_HAS_BUFFER)) return;
  for (int i = 0; i < shape->tuple_size; i++) {
    array_push(indices, arena, i);
    visit_buffers(visit, shape->tuple[i], indices);
    indices->count--;
  }
}

static void visit_result(Verifier *verifier, const HloInstruction *user, BufferVisitor *visitor, void *state) {
  BufferPath indices = {0};
  visit_buffers(&(BufferVisit){verifier, user, -1, visitor, state}, user->shape, &indices);
}

static void visit_operands(Verifier *verifier, const HloInstruction *user, BufferVisitor *visitor, void *state) {
  BufferPath indices = {0};
  for (int i = 0; i < user->operand_count; i++)
    visit_buffers(&(BufferVisit){verifier, user, i, visitor, state}, user->operands[i]->shape, &indices);
}

/* A key for |what| and |path|: two keys are equal where these are. */
static StringView path_key(Arena *arena, uintptr_t what, const BufferPath *path) {
  int64_t *key = ARENA_NEW_ARRAY(arena, int64_t, path->count + 1);
  key[0] = (int64_t)what;
  if (path->count > 0) memcpy(key + 1, path->data, sizeof *key * (size_t)path->count);
  return (StringView){(const char *)key, sizeof *key * (size_t)(path->count + 1)};
}

/* --- writers --- */

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

static void find_loop_computations(Verifier *verifier) {
  static const HloAttrId roles[] = {HLO_ATTR_BODY, HLO_ATTR_CONDITION};
  const HloModule *module = verifier->module;
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *instructions = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < instructions->count; i++) {
      const HloInstruction *loop = instructions->data[i];
      if (loop->opcode != HLO_WHILE) continue;
      for (int r = 0; r < 2; r++)
        int_map_set(&verifier->loop_computations, (uintptr_t)hlo_instruction_computation(loop, roles[r]), 1);
    }
  }
}

static bool is_in_loop(Verifier *verifier, const HloInstruction *instruction) {
  int64_t ignored;
  if (!verifier->knows_loops) find_loop_computations(verifier);
  verifier->knows_loops = true;
  return int_map_find(&verifier->loop_computations, (uintptr_t)instruction->parent, &ignored);
}

/* The instruction that made the buffer at |path| of |value|, where it is at the changed |path|: tuples and their
 * elements hand it on.  Their shapes may still be wrong. */
static const HloInstruction *maker(Verifier *verifier, const HloInstruction *value, BufferPath *path) {
  for (;;) {
    int64_t element = 0;
    if (value->opcode == HLO_GET_TUPLE_ELEMENT)
      array_push(path, verifier->scratch, hlo_instruction_int(value, HLO_ATTR_INDEX, 0));
    else if (value->opcode == HLO_TUPLE && path->count > 0)
      element = array_pop(path);
    else
      return value;
    if (element >= value->operand_count) return value;
    value = value->operands[element];
  }
}

/* Whose buffers have one writer; asynchronous operations and calls are as what they wrap. */
static bool makes_own(HloOpcode opcode) {
  return opcode == HLO_CUSTOM_CALL || opcode == HLO_DYNAMIC_UPDATE_SLICE || opcode == HLO_PARAMETER ||
         opcode == HLO_WHILE;
}

/* From the writer back to what made the buffer: each link is walked once, as long as there is one writer. */
static void note_writer(Verifier *verifier, const HloInstruction *writer, int operand, const BufferPath *path,
                        void *state) {
  (void)state;
  BufferPath there = *path;
  const HloInstruction *made = maker(verifier, writer->operands[operand], &there);
  StringView key = path_key(verifier->scratch, (uintptr_t)made, &there), ignored;
  void **first = string_map_enter(&verifier->buffer_writers, key, verifier->arena, &ignored);
  if (*first == NULL) *first = (void *)(uintptr_t)writer;
  if (*first == writer || *first == made || !makes_own(made->opcode)) return;
  buffer_error(verifier, made, "makes a buffer that two write or unpin");
  *first = (void *)(uintptr_t)made; /* has been said */
}

static void note_writers(Verifier *verifier, const HloInstruction *instruction) {
  bool is_loops_end =
      instruction->opcode == HLO_TUPLE && hlo_instruction_is_root(instruction) && is_in_loop(verifier, instruction);
  if (writes(instruction->opcode) || is_loops_end) visit_operands(verifier, instruction, note_writer, NULL);
}

/* --- calls --- */

static bool same_array(const Shape *a, const Shape *b) {
  return shape_is_array(a) && shape_is_array(b) && shape_compatible(a, b);
}

/* An array becomes a buffer, or the other way round, in one place. */
static const char *pin_mistake(const HloInstruction *call) {
  bool pins = custom_call_calls(call, "Pin");
  const HloAttr *aliasing = hlo_instruction_attr(call, HLO_ATTR_OUTPUT_TO_OPERAND_ALIASING);
  const Shape *result = call->shape, *operand = call->operand_count == 1 ? call->operands[0]->shape : NULL;
  const Shape *buffer = pins ? result : operand, *array = pins ? operand : result;
  if (operand == NULL || !is_buffer(buffer) || !same_array(array, buffer->tuple[0]))
    return pins ? "makes of one array the buffer of its shape" : "makes of one buffer the array in it";
  if (aliasing == NULL || aliasing->value.aliasing.count != 1) return "needs one entry of 'output_to_operand_aliasing'";
  return NULL;
}

/* How often the aliasing names each part, by the key of operand (or -1) and path. */
typedef struct AliasCount {
  StringMap named;
  bool fits;
} AliasCount;

static void count_alias(Verifier *verifier, AliasCount *count, int64_t operand, ShapeIndex index) {
  BufferPath path = {0};
  for (int i = index.depth; i > 0; i--) array_push(&path, verifier->scratch, index.path[i - 1]);
  StringView key = path_key(verifier->scratch, (uintptr_t)(operand + 1), &path), ignored;
  void **times = string_map_enter(&count->named, key, verifier->scratch, &ignored);
  *times = (void *)((uintptr_t)*times + 1);
}

static void check_alias(Verifier *verifier, const HloInstruction *call, int operand, const BufferPath *path,
                        void *state) {
  (void)call;
  AliasCount *count = state;
  StringView key = path_key(verifier->scratch, (uintptr_t)(operand + 1), path);
  if ((uintptr_t)string_map_get(&count->named, key) != 1) count->fits = false;
}

/* Each buffer among operands and results stands in one entry of the aliasing. */
static bool are_aliased(Verifier *verifier, const HloInstruction *call) {
  const HloAttr *attr = hlo_instruction_attr(call, HLO_ATTR_OUTPUT_TO_OPERAND_ALIASING);
  AliasCount count = {.fits = true};
  string_map_init(&count.named, verifier->scratch);
  for (int64_t i = 0; attr != NULL && i < attr->value.aliasing.count; i++) {
    const OperandAlias *alias = &attr->value.aliasing.data[i];
    count_alias(verifier, &count, -1, alias->output);
    count_alias(verifier, &count, alias->operand, alias->operand_index);
  }
  visit_result(verifier, call, check_alias, &count);
  visit_operands(verifier, call, check_alias, &count);
  return count.fits;
}

static void verify_call(Verifier *verifier, const HloInstruction *call) {
  const char *mistake = NULL;
  if (verify_pins(call)) {
    mistake = pin_mistake(call);
  } else if (custom_call_calls(call, "CreateBuffer")) {
    if (call->operand_count != 0 || !is_buffer(call->shape)) mistake = "makes of nothing one buffer";
  } else if (!are_aliased(verifier, call)) {
    mistake = "needs each of its buffers in one entry of 'output_to_operand_aliasing'";
  }
  if (mistake != NULL) buffer_error(verifier, call, mistake);
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
  bool is_entry_parameter = instruction->opcode == HLO_PARAMETER && instruction->parent == verifier->module->entry;
  if (!has_buffer(verifier, instruction)) return;
  note_writers(verifier, instruction);
  switch (is_entry_parameter ? HLO_OPCODE_COUNT : instruction->opcode) {
    case HLO_GET_TUPLE_ELEMENT:
    case HLO_TUPLE:
    case HLO_PARAMETER:
    case HLO_WHILE: return;
    case HLO_ASYNC_START:
    case HLO_ASYNC_UPDATE:
    case HLO_ASYNC_DONE: return; /* as what they wrap */
    case HLO_CUSTOM_CALL: verify_call(verifier, instruction); return;
    case HLO_CALL:
      if (hlo_instruction_frontend(instruction, "_xla_stream_annotation") != NULL)
        return; /* to be an asynchronous one */
      break;
    case HLO_DYNAMIC_UPDATE_SLICE:
      if (!is_buffer(instruction->operands[0]->shape) || !is_buffer(instruction->shape)) break;
      return;
    default: break;
  }
  verify_error(verifier, instruction->loc, "verify-buffer", "%s cannot have a shape with buffers, %s",
               is_entry_parameter ? "a parameter of the entry" : hlo_opcode_text(instruction->opcode),
               verify_text(verifier, instruction->shape));
}
