/* Text in the plan language (docs/plan-language.md) → Plans. */
#ifndef XLAC_CODEGEN_ONCORE_LANGUAGE_PLAN_PARSER_H
#define XLAC_CODEGEN_ONCORE_LANGUAGE_PLAN_PARSER_H

#include "codegen/oncore/plan/plan.h"
#include "hlo/machine/description/machine_description.h"

/* A Kernel and the name of its plan. */
typedef struct PlanKernel {
  StringView name;
  const Kernel *kernel;
  StringView fused; /* another name for it: that which the text has for what it stores; empty: none */
} PlanKernel;

/* Those that have no other name before those that have; a Kernel may be there under several names. */
typedef struct PlanKernels {
  int32_t count;
  const PlanKernel *data;
} PlanKernels;

/* An operand of a program's command: row major and in one piece. */
typedef struct PlanTile {
  PrimitiveType type;
  int32_t rank;
  const int64_t *extents;
} PlanTile;

/* What a program's command computes by its 'body', which is at |loc|. */
typedef struct PlanBody {
  StringView name;
  SourceLoc loc;
  const PlanTile *targets, *sources;
  int32_t target_count, source_count;
} PlanBody;

/* What 'body' names in a program: asked for once per command. */
typedef struct PlanOperations {
  void *self;
  /* The operation of |body|; it lives as long as the plan.  Equal extents are those of axes with more than one element.
   * STATUS_INVALID, located, when there is none or its operands are others. */
  Status (*find)(void *self, const PlanBody *body, DiagSink *diag, const PlanOperation **out_operation);
} PlanOperations;

typedef struct PlanFile {
  StringView target; /* what the file says it is for; empty: nothing */
  SourceLoc target_loc;
  StringView digest; /* of the module and the machine it was printed for; empty: none given */
  SourceLoc digest_loc;
  int32_t count;
  const Plan *const *plans; /* one per scope; without scopes one without a name, if there is anything */
} PlanFile;

/* The plans of |source| for |machine|; they, and what they point to, live in |arena|; names point into the source.  A
 * scope is a plan of the Kernel of its name among |kernels|, and is called PlanKernel.name by now; without Kernels
 * (|kernels| NULL) any scope is read for itself, and what refers to Kernels is passed over.
 *
 * Tensors without an interval are placed, 'with', 'pipeline' and 'ahead' are resolved, and unless the plan says 'edges
 * explicit' it gets the edges that it needs (plan_edges_complete).  Proved is nothing yet but what a sentence says by
 * itself: names, shapes, intervals, alignment, ranges inside shapes, kinds of queues.
 *
 * STATUS_INVALID with one located diagnostic per mistake: "plan-syntax", "plan-name", "plan-interval",
 * "plan-alignment", "plan-range", "plan-queue", "plan-kernel", …; STATUS_EXHAUSTED ("plan-space") where Tensors cannot
 * be placed. */
MUST_USE Status plan_parse(Arena *arena, const SourceFile *source, const MachineDescription *machine,
                           const PlanKernels *kernels, DiagSink *diag, PlanFile *out_file);

/* The same for a program of its own: one plan without a Kernel, whose commands name what they compute in |operations|.
 * Its arguments are numbered from 0 and so are its results.  Commands that say what they cost instead are priced alone
 * and compute nothing.  Besides, "plan-operation" and "plan-operands" for what is no operation or does not fit one;
 * "plan-program" for what only plans of Kernels have. */
MUST_USE Status plan_parse_program(Arena *arena, const SourceFile *source, const MachineDescription *machine,
                                   const PlanOperations *operations, DiagSink *diag, PlanFile *out_file);

/* Adds "there are 'a', 'b' and 3 more" to the latest diagnostic: the first of |names|. */
void plan_names_note(Arena *arena, const StringView *names, int64_t count, DiagSink *diag);

#endif
