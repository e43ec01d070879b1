/* Who takes part in a collective.
 *
 * A module runs on replicas × partitions devices; device replica * partitions + partition is called by this one number,
 * its flat id.  The text of a collective names its members in one of several forms, and what the numbers in it count
 * depends on the attributes beside it; here all of them become lists of flat ids.
 * Source: XLA's GetCollectiveOpGroupMode and GetParticipatingDevicesGroups. */
#ifndef XLAC_HLO_IR_DEVICE_GROUPS_H
#define XLAC_HLO_IR_DEVICE_GROUPS_H

#include "base/diagnostic.h"
#include "hlo/ir/hlo_module.h"

typedef struct DeviceCounts {
  int64_t replicas, partitions; /* at least 1 */
} DeviceCounts;

/* As |module|'s header says: 1 where it says nothing. */
DeviceCounts hlo_module_device_counts(const HloModule *module);
/* replicas · partitions, INT64_MAX when that overflows. */
int64_t device_counts_total(DeviceCounts devices);

/* What the numbers in groups and pairs count. */
typedef enum GroupMode {
  GROUP_MODE_CROSS_REPLICA,               /* replicas; the members have one partition */
  GROUP_MODE_CROSS_PARTITION,             /* partitions; the members have one replica */
  GROUP_MODE_CROSS_REPLICA_AND_PARTITION, /* replicas; the members are all partitions of each, replica by replica */
  GROUP_MODE_FLATTENED                    /* flat ids */
} GroupMode;

GroupMode hlo_group_mode(const HloInstruction *collective);
/* How many there are to be numbered. */
int64_t group_mode_member_count(GroupMode mode, DeviceCounts devices);

/* The form in the text, without its mode: the numbers in each group, in listed order.  No group: one of everything. */
typedef struct DeviceGroups {
  int64_t count;
  const Int64List *groups;
} DeviceGroups;

/* All groups of |collective|, whose attribute is replica_groups, as flat ids in listed order: first those of the first
 * partition (or replica), then those of the next.  A device is in at most one group; one that is in none is so in
 * collective-broadcast alone.  STATUS_INVALID with a located diagnostic (code "device-groups") where the groups do not
 * fit |devices|.  Start operations like their plain forms; of an async-start ask the instruction that it wraps.  Linear
 * in the number of devices.  The instruction is verified. */
MUST_USE Status hlo_device_groups(Arena *arena, const HloInstruction *collective, DeviceCounts devices, DiagSink *diag,
                                  DeviceGroups *out_groups);

/* Where |device| is: true, and its group and its place there. */
bool device_groups_find(const DeviceGroups *groups, int64_t device, int64_t *out_group, int64_t *out_member);

typedef struct DevicePair {
  int64_t source, target;
} DevicePair;

typedef struct DevicePairs {
  int64_t count;
  const DevicePair *data;
} DevicePairs;

/* The pairs of a collective-permute (source_target_pairs), or of a send, a receive or the end of one between devices
 * (the frontend attribute _xla_send_recv_source_target_pairs), as flat ids: first those of the first partition (or
 * replica), in listed order.  Same error. */
MUST_USE Status hlo_device_pairs(Arena *arena, const HloInstruction *transfer, DeviceCounts devices, DiagSink *diag,
                                 DevicePairs *out_pairs);
/* Who sends to |device|, or whom |device| sends to; -1: nobody. */
int64_t device_pairs_source(const DevicePairs *pairs, int64_t device);
int64_t device_pairs_target(const DevicePairs *pairs, int64_t device);

/* The key of that frontend attribute, and the next pair of its text "{{0,1},{1,2}}"; false where there is none. */
#define DEVICE_PAIRS_KEY "_xla_send_recv_source_target_pairs"
bool device_pairs_next(StringView *text, DevicePair *out_pair);

#endif
