/* HloDataflow: the values of a module in SSA form, and where each is seen.
 *
 * A value is what one instruction makes at one array leaf of its shape; tuple nodes, tokens and everything inside
 * fusions and regions have none.  Forwarding opcodes (tuple, get-tuple-element, views, barriers, calls, the done halves
 * of asynchronous pairs …) show their operands' values.  Where control flow joins there is a phi, defined at the
 * while's result, at the parameters of its body and condition, or at a conditional's result; a loop-state leaf that the
 * body returns untouched has none: it is the value that goes in.  After XLA's HloDataflowAnalysis; the walk is one pass
 * over the computations, callees first, because each is called once. */
#ifndef XLAC_HLO_ANALYSIS_HLO_DATAFLOW_H
#define XLAC_HLO_ANALYSIS_HLO_DATAFLOW_H

#include "hlo/analysis/buffer_assignment.h"
#include "hlo/analysis/call_graph.h"
#include "hlo/analysis/shape_nodes.h"

/* Operands come before users and control predecessors before successors. */
typedef struct HloSequence {
  int64_t count;
  HloInstruction *const *instructions;
} HloSequence;

typedef struct HloDataflow {
  Arena *arena;
  const CallGraph *graph;
  const HloSequence *sequences; /* by computation id; those of sequential computations are set */
  ShapeNodesCache *shapes;
  int64_t position_count;
  const int32_t *first_positions; /* by instruction id: its node 0; -1 outside of sequential computations */
  const int32_t *values_at;       /* by position; -1: none */
  int32_t value_count;
  HloValue *values; /* numbered by computation, callees first, then by sequence; live_out, positions, uses are set */
  const HloInstruction *relayout; /* an instruction that would have to forward its operand under another layout, which
                                     is impossible; NULL: none */
  const HloInstruction *unsized;  /* an instruction whose result has no size (unbounded, or too large); NULL: none */
} HloDataflow;

/* The schedule of each computation if the module is scheduled, else its post order.  STATUS_INVALID (code "schedule")
 * when the schedule has a user before its operand. */
MUST_USE Status hlo_sequences(Arena *arena, const CallGraph *graph, DiagSink *diag, const HloSequence **out_sequences);

/* |graph| and |sequences| must live as long as the result, all of which is in |arena|. */
HloDataflow *hlo_dataflow_build(Arena *arena, const CallGraph *graph, const HloSequence *sequences);

/* The number of the value seen at node |node| of |instruction|, -1 for none. */
int32_t hlo_dataflow_value(const HloDataflow *dataflow, const HloInstruction *instruction, int node);

/* Whether leaf |node| of while |loop| changes in its body, so that its phi is a value of its own. */
bool hlo_dataflow_is_carried(const HloDataflow *dataflow, const HloInstruction *loop, int node);

typedef struct HloValueList {
  int32_t count;
  const int32_t *values;
} HloValueList;

/* The values that are no phis and may be what |value| is: itself, or all that its phi may join, ascending.  XLA's value
 * set of a position without phis; more than one: the position is ambiguous.  In |arena|. */
HloValueList hlo_dataflow_sources(const HloDataflow *dataflow, int32_t value, Arena *arena);

/* Whether |instruction| only shows its operands' values, reading none: it counts as no use. */
bool hlo_dataflow_forwards(const HloInstruction *instruction);

#endif
