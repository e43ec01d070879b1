#include "codegen/oncore/plan/plan.h"

bool plan_is_program(const Plan *plan) {
  return plan->kernel != NULL && plan->kernel->stage_count == 0;
}

PlanRange plan_range_index(IndexExpr at) {
  return (PlanRange){at, 1, false, index_constant(0)};
}

PlanRange plan_range_whole(int64_t extent) {
  return (PlanRange){index_constant(0), extent, false, index_constant(0)};
}

bool plan_range_same_size(const PlanRange *a, const PlanRange *b) {
  if (a->extent != b->extent || a->is_ragged != b->is_ragged) return false;
  return !a->is_ragged || index_equal(a->left, b->left);
}

int64_t plan_unit_bytes(const Plan *plan) {
  return plan->unit == TYPE_INVALID ? 1 : type_storage_bytes(plan->unit);
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

int32_t plan_common_loop(const Plan *plan, int32_t a, int32_t b) {
  while (a != b) {
    if (a > b) {
      a = plan->loops[a].parent;
    } else {
      b = plan->loops[b].parent;
    }
  }
  return a;
}

int32_t plan_loop_depth(const Plan *plan, int32_t loop) {
  int32_t depth = 0;
  for (; loop >= 0; loop = plan->loops[loop].parent) depth++;
  return depth;
}

PlanEdgeReach plan_edge_reach(const Plan *plan, int32_t consumer, const PlanEdge *edge) {
  int32_t producer = plan->commands[edge->command].loop;
  PlanEdgeReach reach = {.loop = plan_common_loop(plan, producer, plan->commands[consumer].loop)};
  reach.same_loop = reach.loop;
  for (int32_t depth = plan_loop_depth(plan, reach.loop); depth > edge->same; depth--)
    reach.same_loop = plan->loops[reach.same_loop].parent;
  reach.runs = plan_loop_instances(plan, producer) / plan_loop_instances(plan, reach.loop);
  reach.back = edge->distance / reach.runs + (edge->command >= consumer ? 1 : 0);
  return reach;
}

int64_t plan_reach_period(const Plan *plan, const PlanEdgeReach *reach) {
  return plan_loop_instances(plan, reach->loop) / plan_loop_instances(plan, reach->same_loop);
}

int64_t plan_reach_iteration(const Plan *plan, const PlanEdgeReach *reach, const int64_t *iterations) {
  int64_t number = 0, inside = 1;
  for (int32_t loop = reach->loop; loop != reach->same_loop; loop = plan->loops[loop].parent) {
    number += iterations[loop] * inside;
    inside *= plan->loops[loop].trip_count;
  }
  return number;
}
