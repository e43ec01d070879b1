/* `xlac run` as one of the processes that a launcher of MPI has started: each runs one device.  xlac itself has no MPI:
 * the library for it is loaded when it is needed (include/xlac/mpi.h). */
#ifndef XLAC_CLI_MPI_RANKS_H
#define XLAC_CLI_MPI_RANKS_H

#include "cli/driver.h"
#include "runtime/engines/runner.h"

typedef struct MpiRanks MpiRanks;

/* NULL: no launcher started this process together with others.  STATUS_UNSUPPORTED (code "mpi") when its MPI cannot be
 * had. */
MUST_USE Status mpi_ranks_begin(Session *session, MpiRanks **out_ranks);
int64_t mpi_ranks_rank(const MpiRanks *ranks);
int64_t mpi_ranks_count(const MpiRanks *ranks);

/* With all ranks together: compares what they are about to run, and adds the device and how it reaches the others to
 * |options|.  STATUS_INVALID (code "mpi") on all of them where it does not fit. */
MUST_USE Status mpi_ranks_connect(MpiRanks *ranks, const XlacDescriptor *descriptor, XlacRunOptions *options);

/* With all ranks together: on rank 0, runs of all devices that have their results, by device; NULL elsewhere. */
MUST_USE Status mpi_ranks_results(MpiRanks *ranks, const ModuleRun *run, const ModuleRun *const **out_runs);

/* Seconds in the engine so far. */
double mpi_ranks_seconds(const MpiRanks *ranks);

/* The last step of the process, which ends with |code|: an error of this rank alone ends all others.  Accepts NULL. */
void mpi_ranks_end(MpiRanks *ranks, int code);

#endif
