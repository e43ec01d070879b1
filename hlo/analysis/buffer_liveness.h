/* BufferLiveness: which logical buffers may be needed at the same time under an execution order (after XLA's
 * BufferLiveness and HloOrdering's LiveRangeStrictlyBefore).
 *
 * |a| lives strictly before |b| when |a| is made before |b|, all readers of |a| have ended when |b| is made, and nobody
 * gets |a| out of the computation in which |b| is made, or of one around it.  The reader that makes |b| itself counts
 * as ended if it may overwrite |a| (hlo_may_share_operand).  Two buffers interfere unless one lives strictly before the
 * other.
 *
 * The test is that of pairs, for any order, and knows one computation at a time: where values must be one place (loop
 * state, branches, updates in place: HloAlias), that place interferes with whatever one of its buffers interferes with.
 * Memory is planned with HloLiveness, the exact ranges of values on one schedule, which this test stays above: of a
 * module without control flow, a pair that does not interfere here under the sequential order has ranges there that do
 * not meet.  Not the other way round: a value that is only put into a tuple which nobody reads is dead there, and read
 * by the tuple here. */
#ifndef XLAC_HLO_ANALYSIS_BUFFER_LIVENESS_H
#define XLAC_HLO_ANALYSIS_BUFFER_LIVENESS_H

#include "hlo/analysis/execution_order.h"
#include "hlo/analysis/tuple_points_to.h"

typedef struct BufferLiveness {
  Arena *arena;
  const TuplePointsTo *points_to;
  const ExecutionOrder *order;
  const bool *maybe_live_out; /* by buffer */
} BufferLiveness;

/* Why one buffer does not live strictly before another. */
typedef enum LivenessRule {
  LIVENESS_STRICTLY_BEFORE, /* it does */
  LIVENESS_SAME,            /* it is that buffer */
  LIVENESS_MADE_LATER,      /* it is made after it, or nothing says which is first */
  LIVENESS_LIVE_OUT,        /* the caller of the module may get it */
  LIVENESS_RETURNED,        /* the computation |reader| is the root of returns it: it lasts to the end of that */
  LIVENESS_CARRIED,         /* loop |reader| hands it from its condition to its body: it lasts to the end of that */
  LIVENESS_READ_LATER,      /* |reader| may read it when the other is made */
  LIVENESS_READ_AT_ONCE,    /* |reader| makes the other and reads it, element for element in another order */
  LIVENESS_ASYNC            /* it is made by what |reader| ends, and may be written until then */
} LivenessRule;

typedef struct LivenessAnswer {
  LivenessRule rule;
  const HloInstruction *reader; /* NULL where the rule names none */
} LivenessAnswer;

/* The arguments must live as long as the result, which is in |arena|, as is what the questions need. */
BufferLiveness buffer_liveness_build(Arena *arena, const TuplePointsTo *points_to, const ExecutionOrder *order);

/* Whether |user|, which has |position|'s instruction as an operand, reads what is at |position|: a get-tuple-element
 * looks at the node of its operand and at nothing in it. */
bool buffer_liveness_reads(const HloInstruction *user, const BufferPosition *position);

/* Whether |a| lives strictly before |b|, or the first reason why not. */
LivenessAnswer buffer_liveness_strictly_before(const BufferLiveness *liveness, const LogicalBuffer *a,
                                               const LogicalBuffer *b);

/* Neither lives strictly before the other. */
bool buffer_liveness_may_interfere(const BufferLiveness *liveness, const LogicalBuffer *a, const LogicalBuffer *b);

#endif
