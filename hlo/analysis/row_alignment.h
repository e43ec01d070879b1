/* Row alignment: whether an array computed from rows is made row by row.
 *
 * A shape of R rows is one whose leading dimensions multiply to R; its rows are what stands after each of their
 * points, possibly one element.  A consumer is aligned to a producer when each row of its result depends on the same
 * row of the producer alone. */
#ifndef XLAC_HLO_ANALYSIS_ROW_ALIGNMENT_H
#define XLAC_HLO_ANALYSIS_ROW_ALIGNMENT_H

#include "hlo/ir/hlo_module.h"

/* True when |consumer| (an operation or a fusion) is aligned to its operand |producer| for |rows| rows. */
bool row_aligned(const HloInstruction *consumer, const HloInstruction *producer, int64_t rows, Arena *scratch);
/* The same of all that the fused computation makes of its |parameter|. */
bool row_aligned_fused(const HloComputation *fused, const HloInstruction *parameter, int64_t rows, Arena *scratch);

#endif
