/* Dead code elimination within one computation, for passes that leave dead instructions behind. */
#ifndef XLAC_PASSES_CLEANUP_HLO_DCE_H
#define XLAC_PASSES_CLEANUP_HLO_DCE_H

#include "hlo/ir/hlo_module.h"

/* Removes the instructions that neither the root nor a side effect needs, parameters excepted; returns how many.  What a living
 * instruction names as control predecessor lives. */
int64_t hlo_dce_computation(HloComputation *computation, Arena *scratch);

#endif
