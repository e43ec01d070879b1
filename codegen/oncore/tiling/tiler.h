/* Kernel → Plan: rings of tiles, placed in the Buffer, with the fewest edges. */
#ifndef XLAC_CODEGEN_ONCORE_TILING_TILER_H
#define XLAC_CODEGEN_ONCORE_TILING_TILER_H

#include "codegen/oncore/plan/plan.h"
#include "hlo/machine/description/machine_description.h"

typedef struct TilerOptions {
  int32_t pipeline_depth; /* slots of rings; 0: as many as are fastest */
  int32_t effort;         /* 1 to 9: how many plans are priced; 0: 5 */
  bool no_residency;      /* nothing stays in the Buffer from Kernel to Kernel (codegen/oncore/run) */
  int32_t threads;        /* plans of several Kernels are made by so many, the same ones for any number; 0: one */
  int32_t scheme;         /* how Tensors get room, a PlanScheme that is applied to finished plans (plan_schemes.h) */
} TilerOptions;

/* 1 to 9: that of |options|, or what 0 means. */
int32_t tiler_effort(const TilerOptions *options);

typedef struct TilingMemo TilingMemo;

/* A plan that is asked for.  What it points to outlives the plan. */
typedef struct TilerRequest {
  const Kernel *kernel;
  StringView name; /* of the plan */
  const MachineDescription *machine;
  const TilerOptions *options;
  TilingMemo *memo; /* what is known of the Kernel's tilings, with room for the machine's Buffer (tiling_memo.h), to
                       which is added what is found; NULL: nothing */
} TilerRequest;

/* The plan of |request|.  Never uses more of the Buffer than the machine gives.  Lives in |arena|.  STATUS_UNSUPPORTED,
 * located, for what has no rule (writes whose place or number is only known at run time, guards that read memory, types
 * the machine does not compute with); STATUS_EXHAUSTED when the smallest tiles do not fit. */
MUST_USE Status tiler_plan(Arena *arena, const TilerRequest *request, DiagSink *diag, const Plan **out_plan);

/* The one in one tile, with the Kernel's stages in one computation: the fewest commands, for where nothing has to be
 * moved.  NULL: there is none, or it takes more than the Buffer.  Lives in |arena|. */
const Plan *tiler_plan_whole(Arena *arena, const TilerRequest *request);

/* A cycle of transfers counts as so many more where plans are to move less. */
#define TILER_TRANSFERS_WEIGHT (1.0 / 16)

/* Which plans that move less are looked for: results that take the place of the sums they are made of leave more room,
 * but the next sums wait until they have gone out. */
typedef enum TilerForms {
  TILER_FORMS_PLAIN,      /* without these */
  TILER_FORMS_ALL,        /* with these, where others load much again */
  TILER_FORMS_OVER_FOLDS, /* only these */
} TilerForms;

/* Up to |most| plans that should move fewer bytes than the fastest in about as many cycles, in |arena|; how many there
 * are.  |held|, by buffer of the Kernel: those that are in the Buffer anyway, so that tiles which are copies of them
 * count nothing; with these the plans may take more than the Buffer (plan_keep takes them away).  Where there is a memo
 * it has been told that (tiling_memo_hold), and |held| is NULL. */
int32_t tiler_plans_saving(Arena *arena, const TilerRequest *request, const bool *held, TilerForms forms, int32_t most,
                           const Plan **out_plans);

/* What tiler_plan would estimate, in cycles; infinity when it would fail. */
double tiler_estimate(const TilerRequest *request);

#endif
