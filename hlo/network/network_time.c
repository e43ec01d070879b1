#include "hlo/network/network_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked_math.h"

void network_time_add(NetworkTime *total, const NetworkTime *part, double times) {
  total->seconds += times * part->seconds;
  total->reduce_seconds += times * part->reduce_seconds;
  for (int l = 0; l < NETWORK_MAX_LEVELS; l++) {
    total->latency_seconds[l] += times * part->latency_seconds[l];
    total->byte_seconds[l] += times * part->byte_seconds[l];
  }
}

/* --- where a group's members are --- */

/* By level: blocks of the level inside that have members, in the block that has the most of them; and the devices of
 * that block. */
typedef struct GroupSpread {
  int64_t size;
  int64_t fan[NETWORK_MAX_LEVELS], members[NETWORK_MAX_LEVELS];
} GroupSpread;

static int by_number(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* |devices| are sorted. */
static void spread_over_level(const NetworkDescription *network, const int64_t *devices, int level,
                              GroupSpread *spread) {
  int64_t inner = level > 0 ? network->levels[level - 1].size : 1, outer = network->levels[level].size;
  int64_t fan = 0, members = 0;
  for (int64_t i = 0; i < spread->size; i++) {
    bool is_first = i == 0 || devices[i] / outer != devices[i - 1] / outer;
    if (is_first) fan = members = 0;
    members++;
    fan += is_first || devices[i] / inner != devices[i - 1] / inner;
    spread->fan[level] = max_i64(spread->fan[level], fan);
    spread->members[level] = max_i64(spread->members[level], members);
  }
}

static GroupSpread group_spread(const NetworkDescription *network, Int64List group, int64_t *room) {
  GroupSpread spread = {.size = group.count};
  memcpy(room, group.data, (size_t)group.count * sizeof *room);
  qsort(room, (size_t)group.count, sizeof *room, by_number);
  for (int l = 0; l < network->level_count; l++) spread_over_level(network, room, l, &spread);
  return spread;
}

/* --- times of a group --- */

static double rounds(int64_t members) {
  return ceil(log2((double)members));
}

static void add(NetworkTime *time, const NetworkDescription *network, int level, double messages, double bytes,
                double reduced) {
  double latency = messages * network->levels[level].latency, moving = bytes / network->levels[level].bandwidth,
         reducing = reduced / network->device.reduce_bandwidth;
  time->latency_seconds[level] += latency;
  time->byte_seconds[level] += moving;
  time->reduce_seconds += reducing;
  time->seconds += latency + moving + reducing;
}

/* From |level| outwards, of |bytes| that a device has there. */
static NetworkTime all_reduce_from(const NetworkDescription *network, const GroupSpread *spread, int level,
                                   double bytes) {
  while (level < network->level_count && spread->fan[level] <= 1) level++;
  NetworkTime ring = {0}, doubling = {0};
  if (level == network->level_count) return ring;
  double fan = (double)spread->fan[level], moved = bytes * (fan - 1) / fan, steps = rounds(spread->fan[level]);
  ring = all_reduce_from(network, spread, level + 1, bytes / fan);
  add(&ring, network, level, 2 * (fan - 1), 2 * moved, moved);
  doubling = all_reduce_from(network, spread, level + 1, bytes);
  add(&doubling, network, level, steps, steps * bytes, steps * bytes);
  return ring.seconds <= doubling.seconds ? ring : doubling;
}

static NetworkTime all_reduce(const NetworkDescription *network, const GroupSpread *spread, double bytes) {
  return all_reduce_from(network, spread, 0, bytes);
}

/* Reduce-scatter, and, without reducing, all-gather, which goes the other way. */
static NetworkTime scatter(const NetworkDescription *network, const GroupSpread *spread, double bytes, bool reduces) {
  NetworkTime time = {0};
  for (int l = 0; l < network->level_count; l++) {
    double fan = (double)spread->fan[l], moved = bytes * (fan - 1) / fan;
    if (fan > 1) add(&time, network, l, rounds(spread->fan[l]), moved, reduces ? moved : 0);
    bytes /= fan;
  }
  return time;
}

static NetworkTime reduce_scatter(const NetworkDescription *network, const GroupSpread *spread, double bytes) {
  return scatter(network, spread, bytes, true);
}

static NetworkTime all_gather(const NetworkDescription *network, const GroupSpread *spread, double bytes) {
  return scatter(network, spread, bytes, false);
}

static NetworkTime all_to_all(const NetworkDescription *network, const GroupSpread *spread, double bytes) {
  NetworkTime pairwise = {0}, bruck = {0};
  int outermost = 0;
  int64_t reached = 1;
  for (int l = 0; l < network->level_count; l++) {
    double others = (double)(spread->members[l] - reached);
    if (others <= 0) continue;
    add(&pairwise, network, l, others, others * bytes / (double)spread->size, 0);
    reached = spread->members[l];
    outermost = l;
  }
  double steps = rounds(spread->size);
  add(&bruck, network, outermost, steps, steps * bytes / 2, 0);
  return pairwise.seconds <= bruck.seconds ? pairwise : bruck;
}

static NetworkTime broadcast(const NetworkDescription *network, const GroupSpread *spread, double bytes) {
  NetworkTime time = {0};
  int slowest = -1;
  for (int l = 0; l < network->level_count; l++) {
    if (spread->fan[l] <= 1) continue;
    add(&time, network, l, rounds(spread->fan[l]), 0, 0);
    if (slowest < 0 || network->levels[l].bandwidth < network->levels[slowest].bandwidth) slowest = l;
  }
  if (slowest >= 0) add(&time, network, slowest, 0, bytes, 0);
  return time;
}

/* --- pairs --- */

static NetworkTime pair_time(const NetworkDescription *network, DevicePair pair, double bytes) {
  NetworkTime time = {0};
  if (pair.source == pair.target) return time;
  int level = 0;
  while (pair.source / network->levels[level].size != pair.target / network->levels[level].size) level++;
  add(&time, network, level, 1, bytes, 0);
  return time;
}

/* --- any collective --- */

static const struct {
  HloOpcode opcode;
  NetworkTime (*time)(const NetworkDescription *network, const GroupSpread *spread, double bytes);
} rules[] = {
    {HLO_ALL_REDUCE, all_reduce}, {HLO_REDUCE_SCATTER, reduce_scatter}, {HLO_ALL_GATHER, all_gather},
    {HLO_ALL_TO_ALL, all_to_all}, {HLO_RAGGED_ALL_TO_ALL, all_to_all},  {HLO_COLLECTIVE_BROADCAST, broadcast},
};

static void keep_slower(NetworkTime *slowest, NetworkTime time) {
  if (time.seconds > slowest->seconds) *slowest = time;
}

NetworkTime network_time(const NetworkDescription *network, const CollectiveTraffic *traffic) {
  NetworkTime slowest = {0};
  double bytes = (double)traffic->payload_bytes;
  for (int64_t i = 0; i < traffic->pairs.count; i++)
    keep_slower(&slowest, pair_time(network, traffic->pairs.data[i], bytes));
  size_t r = 0;
  while (r < sizeof rules / sizeof rules[0] && rules[r].opcode != traffic->opcode) r++;
  if (r == sizeof rules / sizeof rules[0]) return slowest;
  Arena *scratch = arena_create();
  int64_t *room = ARENA_NEW_ARRAY(scratch, int64_t, max_i64(traffic->group_size, 1));
  for (int64_t i = 0; i < traffic->groups.count; i++) {
    if (traffic->groups.groups[i].count <= 1) continue;
    GroupSpread spread = group_spread(network, traffic->groups.groups[i], room);
    keep_slower(&slowest, rules[r].time(network, &spread, bytes));
  }
  arena_destroy(scratch);
  return slowest;
}
