/* When each Tensor of a plan holds something, in simulated cycles. */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_TENSOR_USE_H
#define XLAC_CODEGEN_ONCORE_PLAN_TENSOR_USE_H

#include "codegen/oncore/plan/plan_check.h"

/* A stretch of time in which bytes [begin, end) of the Buffer hold something of Tensor |tensor|: from the start of what
 * writes it to the end of its last reader before the next writer. */
typedef struct TensorStretch {
  int32_t tensor;
  int64_t begin, end;
  double from, to;
  int32_t first, last; /* instances: what begins it, and what ends it */
} TensorStretch;

typedef struct TensorUse {
  int32_t first_command, last_command; /* the first that writes it, the last that touches it; -1: never used */
  double from, to;
} TensorUse;

typedef struct TensorUses {
  const TensorUse *uses; /* by Tensor */
  int64_t stretch_count;
  const TensorStretch *stretches; /* in order of their beginning in the program, at most |limit| commands long */
  double window;                  /* the cycle up to which stretches are complete */
} TensorUses;

/* From the verdict's simulation, which must have run.  Stretches cover the first |limit| command instances.  In
 * |arena|. */
TensorUses tensor_uses_find(Arena *arena, const Plan *plan, const PlanVerdict *verdict, int64_t limit);

#endif
