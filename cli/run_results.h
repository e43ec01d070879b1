/* Results of `xlac run`: as files hold them, written, printed, compared. */
#ifndef XLAC_CLI_RUN_RESULTS_H
#define XLAC_CLI_RUN_RESULTS_H

#include "cli/host_transfers.h"
#include "cli/run_devices.h"
#include "runtime/engines/runner.h"

/* One array: "rK", of one device or joined from the tiles of several, or "dD_rK", device D's own. */
typedef struct RunResult {
  int64_t leaf;
  StringView type;   /* of the whole: "f32[2,3]" */
  int64_t differing; /* device whose copy of a part differs from that of a device before it; -1: none */
} RunResult;

typedef struct RunResults {
  int64_t count;
  ArrayMember *members;
  RunResult *of_members;
} RunResults;

/* The results of one run, leaf by leaf, as large as they are; how many there are: sizes of others, which stand after
 * them, are left out. */
const NpyArray *run_results_of_run(Arena *arena, const ModuleRun *run, int64_t *out_count);

/* Those of all devices, |by_device| being run_results_of_run of each by flat id: joined where devices->results says how
 * they lie, otherwise side by side, device by device.  Copies of one part that differ are warned of.  Errors are those
 * of run_devices_whole_dims. */
MUST_USE Status run_results_collect(Session *session, const RunDevices *devices, const XlacDescriptor *descriptor,
                                    const NpyArray *const *by_device, RunResults *out_results);

/* --output, or else text on standard output, with what |transfers| gave, unless a comparison or times were asked for.
 */
MUST_USE Status run_results_write(Session *session, const RunResults *results, const HostTransfers *transfers);

/* --expect, by the tolerances of |meta| (NULL: there is none), --rtol and --atol.  STATUS_MISMATCH without a
 * diagnostic: the lines printed say which results differ. */
MUST_USE Status run_results_compare(Session *session, const RunResults *results, const CaseMeta *meta);

#endif
