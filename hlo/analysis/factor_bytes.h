/* How much the products of a module read in a run: whether caches hold their factors from one run to the next. */
#ifndef XLAC_HLO_ANALYSIS_FACTOR_BYTES_H
#define XLAC_HLO_ANALYSIS_FACTOR_BYTES_H

#include "hlo/ir/hlo_module.h"

/* Bytes; of each product the larger factor counts: the weights.  Bodies of loops count once. */
double hlo_factor_bytes(const HloModule *module);

/* A processor's own cache, and the last level's share of a core, as large as they mostly are. */
#define OWN_CACHE_BYTES (2 << 20)
#define LAST_CACHE_BYTES (32 << 20)
/* What the last level still has in the next run, whatever else uses it. */
#define KEPT_CACHE_BYTES (8 << 20)

#endif
