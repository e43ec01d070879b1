/* Unread results: a reduction of several arrays makes only those of its results that are read.
 *
 * An argmax finds the largest element and its place. Where only the place is read, the element stays in a register and
 * no array of them is written. */
#include "passes/cleanup/control_edges.h"
#include "passes/fusion/kept_results.h"
#include "passes/pipeline/control_computations.h"

/* A reduction, or a fusion that ends with one. */
static bool is_reduction(const HloInstruction *instruction) {
  if (instruction->opcode == HLO_FUSION) instruction = hlo_instruction_computation(instruction, HLO_ATTR_CALLS)->root;
  return instruction->opcode == HLO_REDUCE && shape_is_tuple(instruction->shape);
}

/* The elements of |maker| that something reads, one for each result, by index; 0: not so, or those are all. */
static int32_t find_read(HloInstruction *maker, const ControlEdges *control, HloInstruction **out_elements) {
  int32_t count = 0;
  for (int32_t u = 0; u < maker->user_count; u++) {
    HloInstruction *element = maker->users[u];
    if (element->opcode != HLO_GET_TUPLE_ELEMENT || control_edges_touch(control, element)) return 0;
    HloInstruction **place = &out_elements[hlo_instruction_int(element, HLO_ATTR_INDEX, 0)];
    if (*place != NULL) return 0;
    *place = element;
  }
  for (int i = 0; i < maker->shape->tuple_size; i++)
    if (out_elements[i] != NULL) out_elements[count++] = out_elements[i];
  return count < maker->shape->tuple_size ? count : 0;
}

static bool drop_unread(HloComputation *computation, const HloDecisionObserver *observer) {
  Arena *arena = arena_create();
  ControlEdges control;
  control_edges_init(&control, computation, arena);
  int64_t count;
  bool changed = false;
  HloInstruction **order = control_edges_free_order(computation, arena, &count);
  for (int64_t i = 0; i < count; i++) {
    HloInstruction *maker = order[i];
    if (!is_reduction(maker) || hlo_instruction_is_root(maker)) continue;
    HloInstruction **elements = ARENA_NEW_ARRAY(arena, HloInstruction *, maker->shape->tuple_size);
    int32_t read = find_read(maker, &control, elements);
    if (read == 0) continue;
    kept_results_write(computation, maker, elements, read, observer, arena);
    changed = true;
  }
  if (changed) hlo_computation_remove_dead(computation);
  arena_destroy(arena);
  return changed;
}

static Status run_unread_results(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t count;
  HloComputation **computations = control_computations(module, context->scratch, &count);
  for (int64_t i = 0; i < count; i++) *out_changed |= drop_unread(computations[i], context->options->decisions);
  return STATUS_OK;
}

const HloPass hlo_unread_results_pass = {"unread-results", "reductions make only what is read of their results",
                                         run_unread_results, false};
