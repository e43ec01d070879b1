/* NetworkTime: how long a collective takes on a network, by the alpha-beta model.
 *
 * A message costs the latency α of the level that it crosses and its bytes the level's 1/bandwidth β; combining bytes
 * costs 1/reduce_bandwidth γ.  A collective goes level by level: inside of blocks first, so that what crosses an outer
 * level is as little as can be.  With f blocks of the level inside that have members of the group, and n bytes that a
 * device has there,
 *
 *   all-reduce          the less of  2 (f-1) α + 2 n (f-1)/f β + n (f-1)/f γ,  after which n/f go on (a ring), and
 *                       ⌈log2 f⌉ (α + n β + n γ),  after which n do (doubling)
 *   reduce-scatter      ⌈log2 f⌉ α + n (f-1)/f (β + γ),  after which n/f go on
 *   all-gather          ⌈log2 f⌉ α + n (f-1)/f β,  n the gathered bytes, of which the next level has n/f
 *   all-to-all, ragged  the less of  Σ over the g-1 others (α + n/g β), each over its own level, and
 *                       ⌈log2 g⌉ (α + n/2 β) over the outermost that the group crosses
 *   broadcast           Σ ⌈log2 f⌉ α + n times the largest β
 *   permute, send       α + n β of the pair that is furthest apart
 *
 * Of several groups at once the slowest counts.  Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of
 * collective communication operations in MPICH", 2005; J. Bruck et al., "Efficient algorithms for all-to-all
 * communications in multiport message-passing systems", 1997. */
#ifndef XLAC_HLO_NETWORK_NETWORK_TIME_H
#define XLAC_HLO_NETWORK_NETWORK_TIME_H

#include "hlo/analysis/collective_traffic.h"
#include "hlo/network/network_description.h"

typedef struct NetworkTime {
  double seconds; /* once; the sum of the others */
  double reduce_seconds;
  double latency_seconds[NETWORK_MAX_LEVELS], byte_seconds[NETWORK_MAX_LEVELS]; /* by level */
} NetworkTime;

/* Of one run of the collective.  Its devices are fewer than network_device_limit.  Linear in devices but for sorting
 * each group. */
NetworkTime network_time(const NetworkDescription *network, const CollectiveTraffic *traffic);

/* |total| grows by |times| times |part|. */
void network_time_add(NetworkTime *total, const NetworkTime *part, double times);

#endif
