/* ResidentSearch: which arrays stay in the on-core Buffer from Kernel to Kernel.  What a choice comes to is only known
 * when the Kernels overlap, so several are made and their runs are found: by policies, each of which knows more than
 * those before it; with Kernels cut into strips; with plans that move less in the room that is left.  Taken is what
 * moves the fewest bytes in not many more cycles (codegen/oncore/run/README.md). */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_RESIDENT_SEARCH_H
#define XLAC_CODEGEN_ONCORE_EMIT_RESIDENT_SEARCH_H

#include "codegen/oncore/emit/module_residency.h"

/* Bytes that the space of residents, which lies after all else in the workspace, is aligned to. */
enum { RESIDENT_SPACE_ALIGNMENT = 64 };

typedef struct ResidentSearch {
  Arena *arena; /* of all that is made */
  const HloModule *module;
  const BufferAssignment *assignment;
  KernelTable *kernels;
  const ModulePlans *plans;  /* of |kernels|, with nothing resident; they may get prices */
  const TilerOptions *tiler; /* how others are made */
  const VecTarget *targets;  /* kinds of processors that an object is for */
  int target_count;
  int64_t most; /* bytes of workspace with the space of residents */
  DiagSink *diag;
  KeptPlans *cache; /* of the search itself */
} ResidentSearch;

typedef struct ResidentChoice {
  KernelTable *kernels; /* those of the search, or with some cut into strips */
  ModulePlans plans;    /* with runs */
  int64_t bytes;        /* of workspace */
} ResidentChoice;

/* |*out_found| false: none has as few as |most| bytes of workspace.  Errors are those of module_plans_keep,
 * module_plans_lay_out and module_runs_find. */
MUST_USE Status resident_search_run(ResidentSearch *search, ResidentChoice *out_choice, bool *out_found);

#endif
