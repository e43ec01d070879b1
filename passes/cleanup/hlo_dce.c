#include "passes/pipeline/hlo_pass.h"

/* dce: instructions and computations that nothing needs are removed. */

static Status run_dce(HloPassContext *context, HloModule *module, bool *out_changed) {
  (void)context;
  int64_t removed = hlo_module_remove_dead(module);
  removed += hlo_module_remove_unreachable(module);
  *out_changed = removed > 0;
  return STATUS_OK;
}

const HloPass hlo_dce_pass = {"dce", "remove instructions and computations that nothing needs", run_dce, true};
