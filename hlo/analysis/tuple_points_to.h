/* TuplePointsTo: the logical buffers of a module, and which of them each position of an instruction's shape is (after
 * XLA's LogicalBufferAnalysis and TuplePointsToAnalysis).
 *
 * A LogicalBuffer is what one instruction makes at one node of its shape: an array, a token, or the node of a tuple
 * itself, which XLA gives a table of pointers.  The analysis looks at one computation at a time: parameters, and the
 * results of while, call and conditional, are buffers of their own, whatever goes in.  So each position points to
 * exactly one buffer.
 *
 * HloDataflow answers another question: which value is seen at a position of the whole module.  It looks through calls,
 * loops and branches, joins what meets there in phis, and knows neither tuple nodes nor tokens, which have no bytes in
 * xlac.  Where the two differ otherwise: a result that is declared to alias an operand (output_to_operand_aliasing) and
 * the first element of a send are the operand's buffers here and values of their own there.
 * hlo_dataflow_sources is the bridge: the values that control flow may leave at a position. */
#ifndef XLAC_HLO_ANALYSIS_TUPLE_POINTS_TO_H
#define XLAC_HLO_ANALYSIS_TUPLE_POINTS_TO_H

#include "hlo/analysis/hlo_dataflow.h"

typedef struct LogicalBuffer {
  int32_t id; /* dense, from 0: by computation, callees first, then by sequence, then by node */
  BufferPosition definition;
  const Shape *shape;
  int64_t size; /* bytes of an array; 0 for a token and a tuple node, which have none here; -1: no static size */
  int32_t position_count;
  const BufferPosition *positions; /* where it is seen: the definition first, then by sequence */
} LogicalBuffer;

typedef struct TuplePointsTo {
  const HloDataflow *flow;
  int32_t buffer_count;
  const LogicalBuffer *buffers;
  const int32_t *buffers_at; /* by position, numbered as HloDataflow numbers them */
} TuplePointsTo;

/* Of all computations that run as sequences; what fusions and regions hold has no buffers.  The result lives in
 * |arena|, and |flow| must live as long. */
const TuplePointsTo *tuple_points_to_build(Arena *arena, const HloDataflow *flow);

/* The buffer at node |node| of |instruction|, which is in a computation that runs as a sequence. */
const LogicalBuffer *tuple_points_to_buffer(const TuplePointsTo *points_to, const HloInstruction *instruction,
                                            int32_t node);

/* No buffer stands at two nodes of |instruction| (XLA's IsDistinct). */
bool tuple_points_to_is_distinct(const TuplePointsTo *points_to, const HloInstruction *instruction);

/* By buffer id: whether it is seen at the entry's root, so that the caller may get it (XLA's MaybeLiveOut).  In
 * |arena|. */
const bool *tuple_points_to_maybe_live_out(const TuplePointsTo *points_to, Arena *arena);

#endif
