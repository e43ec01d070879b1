/* What programs of their own have, and what they have not: commands that name what they compute. */
#include <inttypes.h>

#include "codegen/oncore/language/plan_parser_internal.h"

bool plan_need_kernel(PlanReader *reader, SourceLoc loc, StringView what) {
  if (reader->operations == NULL) return true;
  return plan_fail(reader, loc, "plan-program",
                   "'%.*s' is of plans for a kernel: commands of a program say with 'body=NAME' what they compute",
                   SV_ARG(what));
}

/* --- operands --- */

static bool is_turned(const PlanReader *reader, const PlanRef *ref) {
  const TensorDraft *draft = &reader->tensors.data[ref->number];
  return draft->tensor.kind == PLAN_RING || draft->is_turned;
}

/* The part of a Tensor that |ref| is, a ring's slot aside: of one size, and its elements side by side. */
static bool tile_of(PlanReader *reader, const PlanCommand *command, const PlanRef *ref, PlanTile *out_tile) {
  const PlanTensor *tensor = &reader->tensors.data[ref->number].tensor;
  bool has_slot = is_turned(reader, ref) && ref->ranges[0].extent == 1;
  int32_t first = has_slot ? 1 : 0;
  int64_t *extents = ARENA_NEW_ARRAY(reader->arena, int64_t, ref->range_count - first);
  bool is_whole = true; /* all axes after this one */
  for (int32_t i = ref->range_count - 1; i >= first; i--) {
    const PlanRange *range = &ref->ranges[i];
    extents[i - first] = range->extent;
    if (range->is_ragged)
      return plan_fail(reader, command->loc, "plan-operands",
                       "a part of '%.*s' has several sizes, and an operation has one", SV_ARG(tensor->name));
    if (range->extent > 1 && !is_whole)
      return plan_fail(reader, command->loc, "plan-operands", "the elements of a part of '%.*s' are not side by side",
                       SV_ARG(tensor->name));
    is_whole = is_whole && range->extent == tensor->extents[i];
  }
  *out_tile = (PlanTile){tensor->type, ref->range_count - first, extents};
  return true;
}

static bool tiles_of(PlanReader *reader, const PlanCommand *command, const PlanRef *refs, int32_t count,
                     PlanTile **out_tiles) {
  *out_tiles = ARENA_NEW_ARRAY(reader->arena, PlanTile, count);
  for (int32_t i = 0; i < count; i++) {
    if (!tile_of(reader, command, &refs[i], &(*out_tiles)[i])) return false;
  }
  return true;
}

bool plan_find_operation(PlanReader *reader, PlanCommand *command, SourceLoc loc) {
  bool moves = command->verb == PLAN_LOAD || command->verb == PLAN_STORE || command->verb == PLAN_BARRIER;
  if (command->verb == PLAN_GATHERM) return plan_need_kernel(reader, command->loc, SV("gatherm"));
  if (moves && command->body.size > 0)
    return plan_fail(reader, loc, "plan-operation", "'%s' moves its operands and computes nothing",
                     command->verb == PLAN_BARRIER ? "barrier"
                     : command->verb == PLAN_LOAD  ? "load"
                                                   : "store");
  if (moves || command->cost > 0) return true;
  if (command->body.size == 0)
    return plan_fail(reader, command->loc, "plan-operation",
                     "the command does not say what it computes: 'body=NAME' names a computation or an opcode");
  PlanTile *targets, *sources;
  if (!tiles_of(reader, command, command->targets, command->target_count, &targets) ||
      !tiles_of(reader, command, command->sources, command->source_count, &sources))
    return false;
  const PlanOperations *operations = reader->operations;
  const PlanBody body = {command->body, loc, targets, sources, command->target_count, command->source_count};
  Status status = operations->find(operations->self, &body, reader->diag, &command->operation);
  if (status != STATUS_OK) reader->status = status;
  return status == STATUS_OK;
}

/* --- the signature --- */

/* The first view of each array is all of it. */
static bool check_first_view(PlanReader *reader, const PlanMemory *memory) {
  int64_t stride = 1, offset;
  bool is_whole = index_is_constant(memory->offset, &offset) && offset == 0;
  for (int32_t i = memory->rank - 1; i >= 0; i--) {
    is_whole = is_whole && memory->strides[i] == stride;
    stride *= memory->extents[i];
  }
  if (is_whole) return true;
  return plan_fail(reader, memory->loc, "plan-program",
                   "'%.*s' is the first view of its array, whose shape it says: it has to be whole and row major",
                   SV_ARG(memory->name));
}

static const PlanMemory *find_view(const PlanReader *reader, PlanMemoryKind kind, int32_t number) {
  for (int64_t m = 0; m < reader->memories.count; m++) {
    const PlanMemory *memory = &reader->memories.data[m];
    if (memory->kind == kind && memory->number == number) return memory;
  }
  return NULL;
}

bool plan_check_program(PlanReader *reader) {
  static const char *const kinds[] = {"arg", "result"};
  bool has_result = false;
  for (int64_t m = 0; m < reader->memories.count && reader->operations != NULL; m++) {
    const PlanMemory *memory = &reader->memories.data[m];
    if (memory->kind == PLAN_TEMPORARY) continue;
    has_result = has_result || memory->kind == PLAN_RESULT;
    const PlanMemory *first = find_view(reader, memory->kind, memory->number);
    if (first == memory && !check_first_view(reader, memory)) return false;
    if (first->type != memory->type)
      return plan_fail(reader, memory->loc, "plan-program", "the array of '%.*s' has elements of type %s",
                       SV_ARG(memory->name), type_text(first->type));
    if (memory->number > 0 && find_view(reader, memory->kind, memory->number - 1) == NULL)
      return plan_fail(reader, memory->loc, "plan-program", "there is %s %d and no %s %d", kinds[memory->kind],
                       memory->number, kinds[memory->kind], memory->number - 1);
  }
  if (reader->operations == NULL || has_result) return true;
  return plan_fail(reader, (SourceLoc){reader->source, 1, 1}, "plan-program",
                   "the program has no result: it stores to no array, and says of none that it is 'result 0'");
}
