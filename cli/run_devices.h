/* The devices of `xlac run`: how many a module runs on, which of them this process runs, and what part of which array
 * each has. */
#ifndef XLAC_CLI_RUN_DEVICES_H
#define XLAC_CLI_RUN_DEVICES_H

#include "cli/driver.h"
#include "hlo/ir/device_groups.h"
#include "hlo/ir/sharding_tiles.h"
#include "runtime/arrays/case_meta.h"
#include "runtime/arrays/npy.h"
#include "xlac/abi.h"

typedef struct RunDevices {
  DeviceCounts counts;
  int64_t first, count;            /* flat ids of those that this process runs: all, or one of them */
  bool are_several;                /* there is more than one; the rest is for these */
  const ShardingTiles *parameters; /* by leaf */
  const ShardingTiles *results;    /* by leaf; NULL: results are each device's own */
  const CaseMeta *meta;            /* NULL: there is none */
} RunDevices;

/* Loads the module for as many devices as --partitions says, all together, or else its header; num_partitions becomes
 * what the run has.  A whole module (hlo_module_is_whole) is for one, unless --partitions says otherwise.
 * STATUS_INVALID (code "devices") when replicas do not divide them or there are too many; errors of
 * hlo_check_partitioned, or for one device hlo_check_one_device. */
MUST_USE Status run_devices_load(Session *session, DeviceCounts *out_counts);

/* With the shardings of the module's parameters and root; where these say nothing, those of |meta|, which may be NULL.
 * |descriptor|: of the module on one device. */
MUST_USE Status run_devices_init(Session *session, DeviceCounts counts, const CaseMeta *meta,
                                 const XlacDescriptor *descriptor, RunDevices *out_devices);

/* The dimensions of the array that the devices' |tensor|s, leaf |leaf| of parameters or results, are tiles of: those
 * that |meta| says, or else all tiles in full.  STATUS_INVALID (code "devices") when the tiles of what it says are not
 * as large as |tensor|. */
MUST_USE Status run_devices_whole_dims(Session *session, const RunDevices *devices, bool is_result, int64_t leaf,
                                       const XlacTensor *tensor, const int64_t **out_dims);

/* What |device| has of parameter |leaf|: |tensor|.  |label| says what is being read. */
typedef struct RunTile {
  int64_t device, leaf;
  const XlacTensor *tensor;
  StringView label;
} RunTile;

/* That tile of |whole|, in |arena|; |whole| itself where it is not split.  STATUS_INVALID (code "input") when its tiles
 * are not as large as the tensor. */
MUST_USE Status run_devices_take(Arena *arena, const RunDevices *devices, const RunTile *tile, const NpyArray *whole,
                                 DiagSink *diag, NpyArray *out_tile);

/* The array of |dims| that the |tiles| of result |leaf|, one for each partition, make together.  |out_differing|: the
 * first device whose copy of a part differs from that of a device before it; -1: none. */
NpyArray run_devices_join(Arena *arena, const RunDevices *devices, int64_t leaf, const int64_t *dims,
                          const NpyArray *tiles, int64_t *out_differing);

#endif
