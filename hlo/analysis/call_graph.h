/* CallGraph: which computations run as sequences with buffers of their own, and from where each is called. */
#ifndef XLAC_HLO_ANALYSIS_CALL_GRAPH_H
#define XLAC_HLO_ANALYSIS_CALL_GRAPH_H

#include "hlo/ir/hlo_module.h"

typedef enum CallContext {
  CALL_CONTEXT_NONE,       /* the entry does not reach it */
  CALL_CONTEXT_SEQUENTIAL, /* entry, call, while, conditional, async: instructions with buffers */
  CALL_CONTEXT_EMBEDDED    /* fusions and regions: no buffers inside */
} CallContext;

typedef struct CallGraph {
  const HloModule *module;
  const CallContext *contexts;        /* by computation id */
  HloInstruction *const *callers;     /* by computation id: the only control-flow site; NULL for the entry */
  const int32_t *depths;              /* by computation id: call sites between it and the entry */
  const HloComputation *const *jumps; /* by computation id: a far caller of a caller, for searches upwards */
  int32_t sequential_count;
  HloComputation *const *sequential; /* callees before callers, the entry last */
} CallGraph;

/* STATUS_INVALID with a diagnostic (code "call-graph") when a computation has two control-flow call sites (pass
 * flatten-call-graph removes that), is both sequential and embedded, or calls itself. */
MUST_USE Status call_graph_build(Arena *arena, const HloModule *module, DiagSink *diag, const CallGraph **out_graph);

/* Whether it runs as a sequence: the entry, what loops, branches and calls run.  The caller: the instruction that runs
 * it so; NULL: none. */
bool call_graph_is_sequential(const CallGraph *graph, const HloComputation *computation);
HloInstruction *call_graph_caller(const CallGraph *graph, const HloComputation *computation);

/* Where values that |computation| makes are from one run of it to what reads them: itself, or, where its results are
 * handed on as they are (a call, an asynchronous operation), where that of its caller is.  What loops and branches
 * return are values of their own. */
const HloComputation *call_graph_home(const CallGraph *graph, const HloComputation *computation);

/* The sequential computations an instruction calls, in the order in which they are laid out in the flattened schedule:
 * condition before body, branches by number.  0 for everything but control flow. */
int call_graph_callee_count(const HloInstruction *instruction);
HloComputation *call_graph_callee(const HloInstruction *instruction, int index);

/* The instruction of |ancestor| that |instruction| is, or inside of which it runs; NULL when it runs elsewhere. */
const HloInstruction *call_graph_ancestor(const CallGraph *graph, const HloInstruction *instruction,
                                          const HloComputation *ancestor);

/* The innermost computation in which both run, with the instructions there that they are or run inside of. */
const HloComputation *call_graph_common(const CallGraph *graph, const HloInstruction **a, const HloInstruction **b);

/* Passes call-inliner and flatten-call-graph give each call site instructions of its own; so many more than the module
 * has may come of it. */
enum { CALL_GRAPH_MOST_UNFOLDED = 1000000 };

/* STATUS_UNSUPPORTED with a diagnostic (code "unfold-limit") when it would be more.  |module| calls nothing in circles.
 * One walk over it: nothing is unfolded. */
MUST_USE Status call_graph_check_unfolding(const HloModule *module, DiagSink *diag);

#endif
