/* Pass buffer-assignment: analysis, sharing, buffers, scratch, places, reasons, proof, limit. */
#include "passes/buffers/assigner_internal.h"
#include "passes/buffers/copy_insertion.h"
#include "passes/buffers/memory_limit.h"
#include "passes/pipeline/hlo_pass.h"

static void list_buffers_of_allocations(Assigner *assigner) {
  BufferAssignment *assignment = assigner->assignment;
  int32_t **lists = ARENA_NEW_ARRAY(assigner->scratch, int32_t *, assignment->allocation_count + 1);
  for (int32_t i = 0; i < assignment->allocation_count; i++) assignment->allocations[i].buffer_count = 0;
  for (int32_t i = 0; i < assignment->buffer_count; i++)
    assignment->allocations[assignment->buffers[i].allocation].buffer_count++;
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    BufferAllocation *allocation = &assignment->allocations[i];
    allocation->buffers = lists[i] = ARENA_NEW_ARRAY(assigner->arena, int32_t, allocation->buffer_count + 1);
  }
  for (int32_t i = 0; i < assignment->buffer_count; i++) *lists[assignment->buffers[i].allocation]++ = i;
}

static Status assign(HloPassContext *context, Assigner *assigner) {
  RETURN_IF_ERROR(buffer_analysis_to_plan(assigner->scratch, assigner->module, assigner->diag, &assigner->analysis));
  if (assigner->analysis.alias->conflicts.count > 0)
    XLAC_BUG("values that must share memory are alive together after copy insertion");
  assigner->assignment = ARENA_NEW(assigner->arena, BufferAssignment);
  assigner_share_operands(assigner);
  RETURN_IF_ERROR(assigner_make_buffers(assigner));
  RETURN_IF_ERROR(assigner_measure_scratch(assigner, context->options->scratch, &context->tuning));
  RETURN_IF_ERROR(assigner_place_temporaries(assigner));
  list_buffers_of_allocations(assigner);
  return STATUS_OK;
}

/* |best| and |other|, which is |best| but for what it keeps apart: the one of less memory; of both, |other|'s is that
 * of |best| if it |wins_ties|. */
static Status take_better(HloPassContext *context, Assigner other, bool wins_ties, Assigner *best) {
  RETURN_IF_ERROR(assign(context, &other));
  int64_t bytes = other.assignment->workspace_bytes, least = best->assignment->workspace_bytes;
  if (bytes < least || (bytes == least && wins_ties)) *best = other;
  return STATUS_OK;
}

/* What overwrites rows is one value more with those that it was made from: alive longer, and in fewer places (not in a
 * result that is made from it).  So both ways are tried.  In a Buffer strips of a Kernel leave their sums where the
 * result will be, while later ones read the operands: a few bytes that one of these shares would bar a cut that saves
 * much more, and mostly have room in a gap. */
static Status assign_best(HloPassContext *context, HloModule *module, Arena *scratch) {
  int effort = context->options->effort > 0 ? context->options->effort : HLO_DEFAULT_EFFORT;
  Assigner blank = {
      .module = module, .arena = module->arena, .scratch = scratch, .diag = context->diag, .effort = effort};
  Assigner best = blank, apart = blank;
  RETURN_IF_ERROR(assign(context, &best));
  if (best.has_shared_rows && best.assignment->workspace_bytes > 0) {
    apart.keeps_rows_apart = true;
    RETURN_IF_ERROR(take_better(context, apart, false, &best));
  }
  if (best.has_shared_sums && machine_has_buffer(context->options->machine)) {
    apart.keeps_rows_apart = best.keeps_rows_apart;
    apart.keeps_sums_apart = true;
    RETURN_IF_ERROR(take_better(context, apart, true, &best));
  }
  assigner_explain(&best);
  context->assignment = best.assignment;
  return buffer_assignment_verify(best.assignment, module, context->diag);
}

static Status run_buffer_assignment(HloPassContext *context, HloModule *module, bool *out_changed) {
  if (!module->is_scheduled) {
    return diag_error(context->diag, STATUS_INVALID, module->loc, "buffer-assignment",
                      "memory can be planned for a scheduled module only: run pass scheduler before buffer-assignment");
  }
  /* The schedule decides in the end: what it makes impossible gets its copies now. */
  RETURN_IF_ERROR(copy_insertion_insert(module, context->diag, out_changed));
  Arena *scratch = arena_create();
  Status status = assign_best(context, module, scratch);
  arena_destroy(scratch);
  if (status != STATUS_OK) return status;
  return memory_limit_check(module, context->assignment, context->options->memory_limit, context->reduction,
                            context->diag);
}

const HloPass hlo_buffer_assignment_pass = {"buffer-assignment", "decide where every value lives",
                                            run_buffer_assignment, true};
