/* What the example needs of a case in testdata/cases: its inputs and expected results.  examples/case_to_c.py writes
 * the values. */
#ifndef XLAC_EXAMPLES_CASE_DATA_H
#define XLAC_EXAMPLES_CASE_DATA_H

#include <stdint.h>

typedef enum InputKind { INPUT_STORED, INPUT_NORMAL, INPUT_UNIFORM, INPUT_INTEGER } InputKind;

typedef struct CaseInput {
  InputKind kind;
  double scale, offset; /* NORMAL: n * scale + offset */
  double lo, hi;        /* UNIFORM, INTEGER: from lo, below hi */
  const void *data;     /* STORED: the bytes */
} CaseInput;

/* Every |stride|-th element of a result, as float. */
typedef struct CaseResult {
  int64_t stride, count;
  double rtol, atol;
  const float *values;
} CaseResult;

typedef struct CaseData {
  uint64_t seed;
  int64_t input_count, result_count;
  const CaseInput *inputs;
  const CaseResult *results;
} CaseData;

#endif
