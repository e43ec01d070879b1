/* Contractions of complex numbers, as code for the host computes them: each part of the sums by itself, as products of
 * real numbers. */
#ifndef XLAC_HLO_ANALYSIS_COMPLEX_SUMS_H
#define XLAC_HLO_ANALYSIS_COMPLEX_SUMS_H

#include "hlo/ir/hlo_module.h"

/* |contraction| (dot or convolution) is one of complex numbers whose parts are summed apart.  A dot that reads one of
 * its factors once, as a matrix by a vector, sums both together: what it takes is reading that factor. */
bool hlo_sums_parts_apart(const HloInstruction *contraction);

/* |made| computes nothing: it is all of its operand, which it alone reads, turned or as another shape. */
bool hlo_moves_all(const HloInstruction *made);

/* Such sums that are stored elsewhere, part by part, where they are turned: each factor is read many times.  With fewer
 * products the parts are summed together there: storing is much of what that takes. */
bool hlo_rearranges_parts(const HloInstruction *contraction);
/* |made|, of a fusion, is such sums, turned or as they are. */
bool hlo_is_rearranged_parts(const HloInstruction *made);

/* |part|, `real` or `imag`, is all that anything reads of such sums: the other part need not be made. */
bool hlo_reads_one_part(const HloInstruction *part);

#endif
