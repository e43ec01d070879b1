/* NetworkPlan: how long one device's program takes on a network of such devices, estimated.
 *
 * The program is walked in its order: an instruction takes what instruction_seconds says of the description's device, a
 * collective what network_time says.  One is under way at a time.  Where transfers overlap, those between a start and
 * its end go on while the device computes, and its end waits for what is left; everything else waits for the transfer.
 * Loops run as often as constants or the text say, once where nobody knows; of branches the longest counts. */
#ifndef XLAC_HLO_NETWORK_NETWORK_PLAN_H
#define XLAC_HLO_NETWORK_NETWORK_PLAN_H

#include "hlo/network/network_time.h"

typedef struct NetworkRow {
  const CollectiveTraffic *traffic;
  NetworkTime time; /* of one run of it, by itself */
} NetworkRow;

typedef struct NetworkPlan {
  DeviceCounts devices;
  int64_t row_count;
  const NetworkRow *rows; /* as ModuleTraffic's data */
  double wire_bytes;      /* that each device sends */
  double seconds;         /* of the whole program: of its instructions, and what it waits for transfers */
  double flop_seconds, memory_seconds, call_seconds; /* of its instructions: operations, bytes, by themselves */
  NetworkTime transfers;                             /* of all collectives, each by itself */
  int64_t unknown_loops; /* loops of which nobody knows how often they run, with collectives or without */
} NetworkPlan;

/* What its instructions take. */
double network_plan_compute(const NetworkPlan *plan);

/* Of a verified module, scheduled or not (then in the order of its instructions), in |arena|.  |scale|: seconds that
 * the real device takes for an estimated second of instructions.  Located errors: those of hlo_module_traffic, and
 * "network-devices" where the module has more devices than the network. */
MUST_USE Status network_plan_make(Arena *arena, const HloModule *module, const NetworkDescription *network,
                                  double scale, DiagSink *diag, NetworkPlan *out_plan);

/* What takes the most: "operations", "memory", "calls", "reductions", or "latency" or "bandwidth" with |out_level|, a
 * level of the network (-1 otherwise); with the seconds.  Of transfers their part in what the device waits for. */
const char *network_plan_bound(const NetworkPlan *plan, int *out_level, double *out_seconds);

#endif
