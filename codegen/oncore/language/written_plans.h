/* Plans that a person wrote, or edited, for Kernels of a module: read, proved and priced. */
#ifndef XLAC_CODEGEN_ONCORE_LANGUAGE_WRITTEN_PLANS_H
#define XLAC_CODEGEN_ONCORE_LANGUAGE_WRITTEN_PLANS_H

#include "codegen/kernel/kernel_table.h"
#include "codegen/oncore/tiling/plan_choice.h"
#include "hlo/analysis/fused_instruction.h"
#include "hlo/ir/hlo_module.h"

/* The plans of |source| for Kernels of |planned|, in |arena|; a scope calls a Kernel by its name (kernel_use_name) or
 * by what the module's text called something that it stores, of which |fused| tells.  STATUS_INVALID with located
 * diagnostics for whatever is wrong: as a text (plan_parser.h), for its Kernel (plan_meaning.h), as a program
 * (plan_check.h), or because its digest is another module's or machine's ("plan-stale"). */
MUST_USE Status written_plans_load(Arena *arena, const PlannedModule *planned, const FusedInstructions *fused,
                                   const SourceFile *source, DiagSink *diag, WrittenPlans *out_plans);

/* The plan of a program of its own, whose Kernel says what it reads and writes: whether its operations fit
 * (tile_kernel.h), proved and priced.  STATUS_INVALID with located diagnostics for whatever is wrong. */
MUST_USE Status written_plans_take_program(Arena *arena, const Plan *program, const MachineDescription *machine,
                                           DiagSink *diag, WrittenPlans *out_plans);

/* One line per plan: cost, and what the tiler's own takes. */
void written_plans_print(StringBuilder *out, const WrittenPlans *plans, const MachineDescription *machine);
/* The plans as they were understood: every Tensor with its interval, every edge explicit. */
void written_plans_dump(StringBuilder *out, const WrittenPlans *plans, const MachineDescription *machine);
/* For plans that are to be used: STATUS_INVALID ("plan-unused", in |source|, the file) unless there are some and each
 * is of a Kernel. */
MUST_USE Status written_plans_check_used(const WrittenPlans *plans, const SourceFile *source, DiagSink *diag);

/* A warning ("plan-slower") for each that takes longer than the tiler's. */
void written_plans_warn(const WrittenPlans *plans, DiagSink *diag);

/* Of the module's text and the machine's: what a plan file is for. */
const char *written_plans_digest(Arena *arena, const HloModule *module, const MachineDescription *machine);

#endif
