#include "passes/buffers/copy_insertion.h"

#include "passes/pipeline/hlo_pass.h"

/* A conflict costs at most three rounds (moves first, then updates, then cycles of loop state); nested ones wait for
 * each other. */
enum { MAX_ROUNDS = 64 };

static Status refuse_loop_state(const BufferAnalysis *analysis, DiagSink *diag) {
  for (int64_t i = 0; i < analysis->alias->conflicts.count; i++) {
    const AliasConflict *conflict = &analysis->alias->conflicts.data[i];
    if (conflict->edge != ALIAS_LOOP_STATE) continue;
    return diag_error(diag, STATUS_UNSUPPORTED, conflict->site->loc, "layout",
                      "'%.*s' and its condition and body do not lay out the loop state alike",
                      SV_ARG(conflict->site->name));
  }
  return STATUS_OK;
}

/* The broadcast that |instruction| copies, of one constant: it is made again in the time of its stores, without the
 * loads; NULL: it is no copy of such. */
static HloInstruction *copied_fill(const HloInstruction *instruction) {
  HloInstruction *operand = instruction->opcode == HLO_COPY ? instruction->operands[0] : NULL;
  if (operand == NULL || operand->opcode != HLO_BROADCAST) return NULL;
  return operand->operands[0]->opcode == HLO_CONSTANT && operand->operands[0]->shape->rank == 0 ? operand : NULL;
}

/* Copies of one constant all over become broadcasts of it, as do copies of these.  Whether there were any. */
static bool fill_again(HloModule *module, Arena *arena) {
  bool is_any = false;
  for (int64_t c = 0; c < module->computations.count; c++) {
    HloComputation *computation = module->computations.data[c];
    int64_t count;
    HloInstruction **order = hlo_computation_post_order(computation, arena, &count);
    for (int64_t i = 0; i < count; i++) {
      HloInstruction *copy = order[i], *fill = copied_fill(copy);
      if (fill == NULL) continue;
      HloInstruction *made = hlo_computation_add_clone(computation, fill, copy->shape, fill->operands, 1);
      const HloAttr *before = hlo_instruction_attr(copy, HLO_ATTR_CONTROL_PREDECESSORS);
      if (before != NULL) hlo_instruction_set_attr(made, before);
      hlo_computation_replace_instruction(computation, copy, made);
      is_any = true;
    }
  }
  return is_any;
}

/* |has_filled|: what could be filled again is; once, so that a conflict that asks for more copies gets them then. */
static Status run_round(HloModule *module, Arena *arena, DiagSink *diag, bool *has_filled, bool *out_done,
                        bool *out_changed) {
  BufferAnalysis analysis;
  RETURN_IF_ERROR(buffer_analysis_to_plan(arena, module, diag, &analysis));
  RETURN_IF_ERROR(refuse_loop_state(&analysis, diag));
  *out_done = analysis.alias->conflicts.count == 0;
  if (!*out_done) {
    *out_changed = copy_conflicts(module, &analysis) > 0;
  } else if (!module->is_scheduled && !*has_filled && fill_again(module, arena)) {
    *has_filled = *out_changed = true;
    *out_done = false;
  } else if (!module->is_scheduled) {
    *out_changed = copy_insertion_add_reuse_edges(module, &analysis);
  }
  return STATUS_OK;
}

Status copy_insertion_insert(HloModule *module, DiagSink *diag, bool *out_changed) {
  Arena *arena = arena_create();
  bool done = false, has_filled = false;
  *out_changed = false;
  Status status = STATUS_OK;
  for (int round = 0; round < MAX_ROUNDS && !done && status == STATUS_OK; round++) {
    bool changed = false;
    arena_reset(arena);
    status = run_round(module, arena, diag, &has_filled, &done, &changed);
    *out_changed |= changed;
  }
  arena_destroy(arena);
  if (status != STATUS_OK || done) return status;
  return diag_error(diag, STATUS_UNSUPPORTED, module->loc, "copy-insertion",
                    "copies still have to be inserted after %d rounds", MAX_ROUNDS);
}

static Status run_copy_insertion(HloPassContext *context, HloModule *module, bool *out_changed) {
  return copy_insertion_insert(module, context->diag, out_changed);
}

const HloPass hlo_copy_insertion_pass = {
    "copy-insertion", "copy values where two that must share memory are alive at once", run_copy_insertion, true};
