/* PlanCopier: a plan made anew from another one's commands, in other loops: the same work in the same places, whatever
 * iteration it is that a copy stands for. */
#ifndef XLAC_CODEGEN_ONCORE_TILING_PLAN_COPIER_H
#define XLAC_CODEGEN_ONCORE_TILING_PLAN_COPIER_H

#include "codegen/oncore/plan/plan.h"
#include "hlo/machine/description/machine_description.h"

typedef enum WorkKind { WORK_LOAD, WORK_EXEC, WORK_STORE, WORK_KIND_COUNT } WorkKind;

/* Gathers are loads; whatever is no transfer is EXEC. */
WorkKind plan_command_work(const PlanCommand *command);

/* Which iteration of an old loop the copies stand for. */
typedef enum CopiedIteration {
  COPIED_LOOP,  /* that of the loop made for it, both beginning with the first */
  COPIED_FIRST, /* the first */
  COPIED_LATER  /* never the first */
} CopiedIteration;

typedef ARRAY(PlanNode) PlanNodes;

typedef struct PlanCopier {
  Arena *arena;
  const Plan *old;
  Plan *plan;
  IndexExpr *dims;             /* by old loop: its iteration at hand, set by the caller together with |iterations| */
  CopiedIteration *iterations; /* by old loop */
  int32_t *values;             /* run-time numbers are what they were */
  int32_t *renamed;            /* by old loop: the new one */
  int32_t labels[WORK_KIND_COUNT];
  ARRAY(PlanLoop) loops;
  ARRAY(PlanCommand) commands;
} PlanCopier;

/* |plan|, without barriers, must outlive what is made. */
void plan_copier_init(PlanCopier *copier, Arena *arena, const Plan *plan);

/* A loop in the place of |old|, in |parent| (-1: none); its body is the caller's to set. */
int32_t plan_copier_add_loop(PlanCopier *copier, int32_t old, int64_t trip_count, int32_t parent);

/* Old command |number| at the iterations at hand, on |queue|, in new loop |loop|: the last of |nodes|.  It has no
 * edges. */
void plan_copier_add_command(PlanCopier *copier, int32_t number, int32_t queue, int32_t loop, PlanNodes *nodes);

/* The plan with |block|, without edges. */
Plan *plan_copier_close(PlanCopier *copier, PlanNodes block);

/* The same; edges are derived anew.  Status as that of plan_edges_derive_any. */
MUST_USE Status plan_copier_finish(PlanCopier *copier, PlanNodes block, const MachineDescription *machine,
                                   DiagSink *diag, Plan **out_plan);

#endif
