#include "codegen/oncore/plan.h"

PlanRange plan_range_index(IndexExpr at) {
  return (PlanRange){at, 1, INT64_MAX};
}

int64_t plan_tensor_bytes(const PlanTensor *tensor) {
  int64_t elements = 1;
  bool is_ring = tensor->kind == PLAN_RING;
  for (int32_t i = is_ring ? 1 : 0; i < tensor->rank; i++) elements *= tensor->extents[i];
  int64_t tile = elements * type_storage_bytes(tensor->type);
  return is_ring ? (tensor->extents[0] - 1) * tensor->slot_stride + tile : tile;
}

int64_t plan_loop_instances(const Plan *plan, int32_t loop) {
  int64_t instances = 1;
  for (; loop >= 0; loop = plan->loops[loop].parent) instances *= plan->loops[loop].trip_count;
  return instances;
}
