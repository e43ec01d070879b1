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

/* A plan for |kernel| on |machine|, named |name|; both must outlive it.  Never uses more of the Buffer than the machine
 * gives.  Lives in |arena|.  STATUS_UNSUPPORTED, located, for what has no rule (writes whose place or number is only
 * known at run time, guards that read memory, types the machine does not compute with); STATUS_EXHAUSTED when the
 * smallest tiles do not fit. */
MUST_USE Status tiler_plan(Arena *arena, const Kernel *kernel, StringView name, const MachineDescription *machine,
                           const TilerOptions *options, DiagSink *diag, const Plan **out_plan);

/* The plan of |kernel| in one tile, with its stages in one computation: the fewest commands, for where nothing has to
 * be moved.  NULL: there is none, or it takes more than the Buffer.  Lifetimes as those of tiler_plan. */
const Plan *tiler_plan_whole(Arena *arena, const Kernel *kernel, StringView name, const MachineDescription *machine,
                             const TilerOptions *options);

/* A cycle of transfers counts as so many more where plans are to move less. */
#define TILER_TRANSFERS_WEIGHT (1.0 / 16)

/* Up to |most| plans of |kernel| that should move fewer bytes than the fastest in about as many cycles; how many there
 * are.  |held|, by buffer of the Kernel: those that are in the Buffer anyway, so that tiles which are copies of them
 * count nothing; with these the plans may take more than the Buffer (plan_keep takes them away).  Lifetimes as those of
 * tiler_plan. */
int32_t tiler_plans_saving(Arena *arena, const Kernel *kernel, StringView name, const MachineDescription *machine,
                           const TilerOptions *options, const bool *held, int32_t most, const Plan **out_plans);

/* What tiler_plan would estimate, in cycles; infinity when it would fail. */
double tiler_estimate(const Kernel *kernel, const MachineDescription *machine, const TilerOptions *options);

/* All three with what is known of |kernel|'s tilings (tiling_memo.h), which has room for |machine|'s Buffer; to them is
 * added what is found. */
typedef struct TilingMemo TilingMemo;
MUST_USE Status tiler_plan_knowing(Arena *arena, TilingMemo *memo, const Kernel *kernel, StringView name,
                                   const MachineDescription *machine, const TilerOptions *options, DiagSink *diag,
                                   const Plan **out_plan);
double tiler_estimate_knowing(TilingMemo *memo, const Kernel *kernel, const MachineDescription *machine,
                              const TilerOptions *options);
/* What is held |memo| has been told. */
int32_t tiler_plans_saving_knowing(Arena *arena, TilingMemo *memo, const Kernel *kernel, StringView name,
                                   const MachineDescription *machine, const TilerOptions *options, int32_t most,
                                   const Plan **out_plans);

#endif
