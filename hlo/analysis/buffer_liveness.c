#include "hlo/analysis/buffer_liveness.h"

#include "hlo/analysis/hlo_liveness.h"
#include "hlo/analysis/in_place.h"

BufferLiveness buffer_liveness_build(Arena *arena, const TuplePointsTo *points_to, const ExecutionOrder *order) {
  return (BufferLiveness){arena, points_to, order, tuple_points_to_maybe_live_out(points_to, arena)};
}

bool buffer_liveness_reads(const HloInstruction *user, const BufferPosition *position) {
  return user->opcode != HLO_GET_TUPLE_ELEMENT || position->node == 0;
}

/* |user| makes |b| of what it reads at |position|: whether it may write over that. */
static bool may_overwrite(const BufferLiveness *liveness, const HloInstruction *user, const BufferPosition *position,
                          const LogicalBuffer *b) {
  for (int k = 0; k < user->operand_count; k++) {
    if (user->operands[k] != position->instruction) continue;
    if (!hlo_may_share_operand(user, k, position->node, b->definition.node, liveness->arena)) return false;
  }
  return true;
}

static LivenessAnswer check_readers(const BufferLiveness *liveness, const BufferPosition *position,
                                    const LogicalBuffer *b) {
  const HloInstruction *maker = b->definition.instruction;
  for (int32_t i = 0; i < position->instruction->user_count; i++) {
    const HloInstruction *user = position->instruction->users[i];
    if (!buffer_liveness_reads(user, position)) continue;
    if (user == maker) {
      if (!may_overwrite(liveness, user, position, b)) return (LivenessAnswer){LIVENESS_READ_AT_ONCE, user};
    } else if (!execution_order_is_before(liveness->order, user, maker)) {
      return (LivenessAnswer){LIVENESS_READ_LATER, user};
    }
  }
  return (LivenessAnswer){LIVENESS_STRICTLY_BEFORE, NULL};
}

/* The loop in whose condition |a| is the state, and |maker| runs too; NULL for none. */
static const HloInstruction *carried_by(const CallGraph *graph, const LogicalBuffer *a, const HloInstruction *maker) {
  const HloInstruction *parameter = a->definition.instruction;
  const HloInstruction *site = call_graph_caller(graph, parameter->parent);
  if (parameter->opcode != HLO_PARAMETER || !site || site->opcode != HLO_WHILE) return NULL;
  if (call_graph_callee(site, 0) != parameter->parent) return NULL;
  return call_graph_ancestor(graph, maker, parameter->parent) ? site : NULL;
}

/* What asynchronous code makes may change until its end, also where the computation was called from another one in
 * between. */
static const HloInstruction *running_until(const BufferLiveness *liveness, const LogicalBuffer *a,
                                           const HloInstruction *maker) {
  const CallGraph *graph = liveness->points_to->flow->graph;
  for (const HloComputation *at = a->definition.instruction->parent; at;) {
    const HloInstruction *site = call_graph_caller(graph, at);
    if (!site || call_graph_ancestor(graph, maker, at)) return NULL;
    if (site->opcode == HLO_ASYNC_START) {
      const HloInstruction *end = hlo_liveness_async_end(site);
      if (end != maker && !execution_order_is_before(liveness->order, end, maker)) return end;
    }
    at = site->parent;
  }
  return NULL;
}

LivenessAnswer buffer_liveness_strictly_before(const BufferLiveness *liveness, const LogicalBuffer *a,
                                               const LogicalBuffer *b) {
  const CallGraph *graph = liveness->points_to->flow->graph;
  const HloInstruction *maker = b->definition.instruction;
  if (a == b) return (LivenessAnswer){LIVENESS_SAME, NULL};
  if (!execution_order_defines_before(liveness->order, a->definition.instruction, maker))
    return (LivenessAnswer){LIVENESS_MADE_LATER, NULL};
  if (liveness->maybe_live_out[a->id]) return (LivenessAnswer){LIVENESS_LIVE_OUT, NULL};
  const HloInstruction *loop = carried_by(graph, a, maker);
  if (loop) return (LivenessAnswer){LIVENESS_CARRIED, loop};
  for (int32_t i = 0; i < a->position_count; i++) {
    const BufferPosition *position = &a->positions[i];
    const HloInstruction *at = position->instruction;
    if (hlo_instruction_is_root(at) && call_graph_ancestor(graph, maker, at->parent))
      return (LivenessAnswer){LIVENESS_RETURNED, at};
    LivenessAnswer answer = check_readers(liveness, position, b);
    if (answer.rule != LIVENESS_STRICTLY_BEFORE) return answer;
  }
  const HloInstruction *end = running_until(liveness, a, maker);
  return end ? (LivenessAnswer){LIVENESS_ASYNC, end} : (LivenessAnswer){LIVENESS_STRICTLY_BEFORE, NULL};
}

bool buffer_liveness_may_interfere(const BufferLiveness *liveness, const LogicalBuffer *a, const LogicalBuffer *b) {
  return buffer_liveness_strictly_before(liveness, a, b).rule != LIVENESS_STRICTLY_BEFORE &&
         buffer_liveness_strictly_before(liveness, b, a).rule != LIVENESS_STRICTLY_BEFORE;
}
