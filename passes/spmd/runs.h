/* Runs of an array that is divided: what a device needs of other devices' parts.
 *
 * Along one dimension each device needs one run of elements, all of one length, wherever they lie: its own part with
 * some of its neighbours' (a halo), a part of a slice, of a reversed array.  Devices send one another what any needs of
 * the one at that distance, all of them the same piece, or all is gathered where that sends no more. */
#ifndef XLAC_PASSES_SPMD_RUNS_H
#define XLAC_PASSES_SPMD_RUNS_H

#include "passes/spmd/spmd_builder.h"

/* Device i of the |count| along |axes| needs elements [firsts[i], firsts[i] + length) of a dimension of |size|, some of
 * which may lie outside of it. */
typedef struct SpmdRuns {
  AxisList axes;
  int64_t count;
  int64_t size;
  int64_t length;
  const int64_t *firsts;
  /* By device, which elements of the dimension count: others of its run may be anything; NULL: all of the run. */
  const int64_t *needed_begins, *needed_ends;
} SpmdRuns;

/* first + i * step, for each device along |axes|. */
SpmdRuns spmd_runs_affine(SpmdBuilder *builder, AxisList axes, int64_t size, int64_t length, int64_t first,
                          int64_t step);

/* |local| is a device's part along |dim|, of ceil(size / count); the result has its run there.  Elements outside of the
 * array are |fill|, a scalar, or anything where that is NULL. */
HloInstruction *spmd_fetch_runs(SpmdBuilder *builder, HloInstruction *local, int dim, const SpmdRuns *runs,
                                HloInstruction *fill);

/* How many elements along the dimension a device sends for it, on average. */
double spmd_runs_sent(const SpmdBuilder *builder, const SpmdRuns *runs);

/* values[i] on device i along |axes|, an s32[]. */
HloInstruction *spmd_by_device(SpmdBuilder *builder, AxisList axes, const int64_t *values);

#endif
