/* One plan under each discipline of getting room in the Buffer: the same commands on the same tiles in the same order,
 * other addresses and what these have to wait for. */
#ifndef XLAC_CODEGEN_ONCORE_TILING_PLAN_SCHEMES_H
#define XLAC_CODEGEN_ONCORE_TILING_PLAN_SCHEMES_H

#include "base/json_writer.h"
#include "codegen/oncore/plan/plan_check.h"

/* As docs/plan-language.md counts them. */
typedef enum PlanScheme {
  SCHEME_NONE,  /* the tiler's own, which is SCHEME_FIXED */
  SCHEME_HEAP,  /* from first use to last, first fit in program order */
  SCHEME_BLOCK, /* as long as the block around all uses; who takes the place of an ended block waits for all of it */
  SCHEME_SLICE, /* one Tensor for each loop, whose slots its rings are parts of; for good */
  SCHEME_FIXED, /* an interval for each Tensor, for good */
  SCHEME_AUTO,  /* from first use to last, where the solver finds the lowest peak */
  PLAN_SCHEME_COUNT
} PlanScheme;

/* |plan|, the tiler's, under |scheme|; |plan| itself for SCHEME_NONE and SCHEME_FIXED.  In |arena|.  Status as that of
 * plan_edges_derive_any. */
MUST_USE Status plan_scheme_apply(Arena *arena, const Plan *plan, const MachineDescription *machine, PlanScheme scheme,
                                  DiagSink *diag, const Plan **out_plan);

typedef struct PlanSchemeCost {
  bool fits;     /* in the Buffer */
  int64_t peak;  /* bytes up to the last Tensor's end */
  int64_t waste; /* of these, bytes that hold nothing even when the most do */
  int64_t edges, barriers;
  double stalls; /* cycles in which queues had commands and waited */
  double cycles;
} PlanSchemeCost;

typedef struct PlanSchemeCosts {
  bool known;
  PlanSchemeCost of[PLAN_SCHEME_COUNT]; /* but SCHEME_NONE */
} PlanSchemeCosts;

/* What all schemes cost. */
MUST_USE Status plan_schemes_compare(const Plan *plan, const MachineDescription *machine, DiagSink *diag,
                                     PlanSchemeCosts *out_costs);

/* A table with a line for each scheme, and a member of the map's JSON. */
void plan_schemes_text(StringBuilder *out, const PlanSchemeCosts *costs);
void plan_schemes_json(JsonWriter *json, const PlanSchemeCosts *costs);

#endif
