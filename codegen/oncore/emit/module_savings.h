/* Plans that move less in the room that residents leave. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_MODULE_SAVINGS_H
#define XLAC_CODEGEN_ONCORE_EMIT_MODULE_SAVINGS_H

#include "codegen/oncore/emit/module_plans.h"
#include "codegen/oncore/tiling/tiler.h"
#include "codegen/oncore/tiling/tiling_memos.h"

/* |plans|, what module_plans_keep has made of |before|, with others for the Kernels whose tiles load much again and
 * again: under the same interface they move fewer bytes, in not more cycles than that is worth
 * (TILER_TRANSFERS_WEIGHT); by |forms|, where results may take the place of sums also as many bytes in fewer.  False:
 * there are none.  In |arena|; to be laid out and put in runs again.  |memos|: of the machine of |plans|; to them is
 * added what is found. */
bool module_plans_save(Arena *arena, const TilerOptions *options, TilingMemos *memos, const ModulePlans *before,
                       TilerForms forms, ModulePlans *plans);

#endif
