/* Products of narrow numbers: bf16 and bytes, of which processors multiply two or four in the time of one f32 and more.
 *
 * They do so where the numbers that are added up lie side by side, which passes provide for. */
#ifndef XLAC_HLO_ANALYSIS_NARROW_PRODUCTS_H
#define XLAC_HLO_ANALYSIS_NARROW_PRODUCTS_H

#include "hlo/ir/hlo_module.h"

/* |convolution| multiplies bf16 by bf16, or bytes by bytes, converted for it or not. */
bool hlo_convolution_is_narrow(const HloInstruction *convolution);

/* The same, and the features of its result, which registers hold then, come last. */
bool hlo_makes_narrow_features(const HloInstruction *instruction);

#endif
