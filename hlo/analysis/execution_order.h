/* ExecutionOrder: what is known to have ended before what begins (after XLA's HloOrdering).
 *
 * Three orders, from the least that is known to the most:
 * - dependency: an instruction waits for what it reads and for its control predecessors, nothing else;
 * - concurrent: the instructions of a computation are dealt to streams, each of which executes its own one after the
 *   other; what is on different streams waits as dependencies say and may run at once otherwise;
 * - sequential: the flattened schedule, one after the other.
 *
 * Instructions of different computations compare as what calls them does (XLA's nearest ancestors in one computation);
 * inside of one loop the condition comes before the body, and branches exclude one another, the lower before the
 * higher. */
#ifndef XLAC_HLO_ANALYSIS_EXECUTION_ORDER_H
#define XLAC_HLO_ANALYSIS_EXECUTION_ORDER_H

#include "hlo/analysis/hlo_ordering.h"

typedef enum ExecutionOrderKind { EXECUTION_DEPENDENCY, EXECUTION_SEQUENTIAL, EXECUTION_CONCURRENT } ExecutionOrderKind;

/* How |a| stands to |b| (XLA's HloExecutionConstraint). */
typedef enum ExecutionConstraint {
  EXECUTION_SAME,
  EXECUTION_BEFORE_START,     /* |a| ends before |b| begins */
  EXECUTION_BEFORE_END,       /* |a| is part of |b|, or |a| is in the condition of a loop with |b| in its body */
  EXECUTION_EXCLUSIVE_BEFORE, /* in different branches of a conditional, |a|'s first */
  EXECUTION_EXCLUSIVE_AFTER,
  EXECUTION_AFTER, /* the other way round */
  EXECUTION_UNORDERED
} ExecutionConstraint;

/* The dependency and the concurrent order hold a bit for each pair of instructions of a computation: 128 MiB. */
enum { EXECUTION_ORDER_MOST_INSTRUCTIONS = 32768 };

typedef struct ExecutionOrder {
  ExecutionOrderKind kind;
  int64_t stream_count; /* CONCURRENT, else 0 */
  const HloDataflow *flow;
  const HloOrdering *ordering;
  const int32_t *places;        /* by instruction id: its place in its computation's sequence; -1 outside */
  const int32_t *streams;       /* CONCURRENT, by instruction id: its stream; -1: it does no work, or all streams do */
  const uint64_t *const *after; /* not SEQUENTIAL, by computation id: row i has a bit for each place that i waits for */
} ExecutionOrder;

/* |ordering| is that of |flow|'s module, for SEQUENTIAL; |streams| counts for CONCURRENT.  Instructions are dealt in
 * order of |flow|'s sequences: to the stream that ends with an operand, the lowest if there are several, else to the
 * one with the fewest.  What only forwards values, parameters and constants take no stream; control flow takes all of
 * them: it waits for what was dealt before, and what comes later waits for it.  STATUS_UNSUPPORTED (code "order-limit")
 * where a computation has more than EXECUTION_ORDER_MOST_INSTRUCTIONS; never for SEQUENTIAL.  The result lives in
 * |arena|, and the arguments must live as long. */
MUST_USE Status execution_order_build(Arena *arena, const HloDataflow *flow, const HloOrdering *ordering,
                                      ExecutionOrderKind kind, int64_t streams, DiagSink *diag,
                                      const ExecutionOrder **out_order);

/* A parameter or a constant: there before anything runs. */
bool execution_order_is_given(const HloInstruction *instruction);

/* Both in computations that run as sequences. */
ExecutionConstraint execution_order_constraint(const ExecutionOrder *order, const HloInstruction *a,
                                               const HloInstruction *b);

/* |a| has ended when |b| begins, or is part of |b|, or excludes it and comes first (XLA's ExecutesBefore). */
bool execution_order_is_before(const ExecutionOrder *order, const HloInstruction *a, const HloInstruction *b);

/* What |a| makes is there before |b| makes anything: as above, but parameters are there, all at once, before everything
 * that is made in their computation or called from it, wherever they stand (XLA's IsDefinedBefore). */
bool execution_order_defines_before(const ExecutionOrder *order, const HloInstruction *a, const HloInstruction *b);

#endif
