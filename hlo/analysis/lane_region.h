/* Applied computations (reducers, comparators and the like) that are one expression of their arguments. */
#ifndef XLAC_HLO_ANALYSIS_LANE_REGION_H
#define XLAC_HLO_ANALYSIS_LANE_REGION_H

#include "hlo/ir/hlo_module.h"

/* Lane-wise operations on scalars, or on arrays all of whose elements are equal: code generation computes them where
 * they are applied.  All others become loops (passes/expand) before. */
bool hlo_region_is_lanewise(const HloComputation *region);

#endif
