/* OperationCounts: the arithmetic that a module asks for, and the bytes that it names: of the text, whatever a compiler
 * makes of it.  What people compare models by.
 *
 * An element of a result of one operation is one operation; of the folds these are:
 *   dot                 2·K for each element of the result, K the elements contracted
 *   convolution         2 for each tap and input feature of the group, for each element of the result; padding counts
 *   reduce              the reducer's, (elements in − elements out) times
 *   reduce-window       the reducer's, (elements of a window − 1) times for each element of the result
 *   select-and-scatter  select's as often for each element of the source; scatter's once
 *   scatter             the combiner's, for each element of the updates
 *   sort, topk          n·log2(n) comparisons of lines of n
 *   fft                 5·n·log2(n) for each transform of n complex numbers, half of that where one side is real
 *   cholesky            n³/3 for each matrix
 *   triangular-solve    n for each element of the result
 *   batch-norm-…        4, 8 and 12 for each element: inference, training and gradient
 * Moves of data, choices of elements by index, conversions between shapes, random bits and communication are none.
 * Source: the counts are those of XLA's cost analysis (HloCostAnalysis) but for fft, where it counts steps of
 * another algorithm, and padding, which it leaves out. */
#ifndef XLAC_HLO_ANALYSIS_OPERATION_COUNTS_H
#define XLAC_HLO_ANALYSIS_OPERATION_COUNTS_H

#include "hlo/ir/hlo_module.h"

typedef struct OperationCounts {
  double flops;           /* on numbers of any type, complex ones as one */
  double transcendentals; /* elements of exp, log, sin, tanh, power, sqrt and their like, which are no flops */
  double bytes;           /* of operands, where only picked elements are read those, and results, each once */
} OperationCounts;

/* One run of |module|, its loops as often as hlo_execution_counts says; |*out_unknown_loops|: those of which nobody
 * knows how often they run, counted as one round. */
OperationCounts module_operation_counts(const HloModule *module, int64_t *out_unknown_loops);

#endif
