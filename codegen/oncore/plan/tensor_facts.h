/* What people are told of a plan's Tensors. */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_TENSOR_FACTS_H
#define XLAC_CODEGEN_ONCORE_PLAN_TENSOR_FACTS_H

#include "codegen/oncore/plan/tensor_use.h"

/* "tensor", "ring", "resident", "accumulator", "rows" */
const char *plan_tensor_kind_text(PlanTensorKind kind);

/* "f32[2,256]" */
void plan_tensor_shape_print(StringBuilder *out, const PlanTensor *tensor);

/* The array whose elements |tensor| holds: the memory side of a transfer from or to it; -1 for none. */
int32_t plan_tensor_memory(const Plan *plan, int32_t tensor);

/* Bytes of its interval that its shape does not need. */
int64_t plan_tensor_slack(const PlanTensor *tensor);

/* The most bytes that Tensors take at one time, each from its first use to its last, arrays that outlive the plan all
 * the time: no packing has a lower peak. */
int64_t plan_most_in_use(const Plan *plan, const TensorUses *uses);

#endif
