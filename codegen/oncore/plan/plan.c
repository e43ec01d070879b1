#include "codegen/oncore/plan/plan.h"

#include "base/checked_math.h"

bool plan_is_program(const Plan *plan) {
  return plan->kernel != NULL && plan->kernel->stage_count == 0;
}

const Plan *plan_as_tiled(const Plan *plan) {
  return plan->as_tiled != NULL ? plan->as_tiled : plan;
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

int64_t plan_tile_bytes(const PlanTensor *tensor) {
  int64_t elements = 1;
  for (int32_t i = tensor->kind == PLAN_RING ? 1 : 0; i < tensor->rank; i++) elements *= tensor->extents[i];
  return elements * type_storage_bytes(tensor->type);
}

int64_t plan_tensor_bytes(const PlanTensor *tensor) {
  int64_t before = tensor->kind == PLAN_RING ? (tensor->extents[0] - 1) * tensor->slot_stride : 0;
  return before + plan_tile_bytes(tensor);
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

bool plan_loop_is_inside(const Plan *plan, int32_t loop, int32_t outer) {
  while (loop >= 0 && loop != outer) loop = plan->loops[loop].parent;
  return loop == outer;
}

const PlanBlock *plan_body(const Plan *plan, int32_t loop) {
  return loop < 0 ? &plan->block : &plan->loops[loop].body;
}

int32_t plan_last_command(const Plan *plan, const PlanBlock *block) {
  const PlanNode *last = &block->nodes[block->node_count - 1];
  return last->kind == PLAN_NODE_COMMAND ? last->number : plan_last_command(plan, &plan->loops[last->number].body);
}

int32_t plan_first_view(const Plan *plan, int32_t memory) {
  const PlanMemory *view = &plan->memories[memory];
  for (int32_t m = 0; m < memory; m++)
    if (plan->memories[m].kind == view->kind && plan->memories[m].number == view->number) return m;
  return memory;
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

bool plan_brings_held(const PlanCommand *command) {
  return (command->verb == PLAN_PERMUTE || command->verb == PLAN_GATHER) && command->value >= 0;
}

int32_t plan_tensor_holder(const Plan *plan, int32_t tensor) {
  while (tensor >= 0 && plan->tensors[tensor].hold == PLAN_HOLDS_NOTHING) {
    if (!plan->tensors[tensor].is_alias) return -1;
    tensor = plan->tensors[tensor].parent;
  }
  return tensor;
}

bool plan_sums_held(const Plan *plan, int32_t holder) {
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    for (int32_t t = 0; t < command->target_count && command->keeps_accumulators; t++)
      if (!command->targets[t].is_memory && plan_tensor_holder(plan, command->targets[t].number) == holder) return true;
  }
  return false;
}

bool plan_has_residents(const Plan *plan) {
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    if (plan->tensors[t].hold != PLAN_HOLDS_NOTHING) return true;
  }
  return false;
}

static bool is_in_memory(const Plan *plan, int32_t buffer) {
  for (int32_t m = 0; m < plan->memory_count; m++) {
    if (plan->memories[m].kind == PLAN_RESULT && plan->memories[m].number == buffer) return true;
  }
  return false;
}

/* |b| has all residents of |a|. */
static bool has_residents_of(const Plan *a, const Plan *b) {
  for (int32_t t = 0; t < a->tensor_count; t++) {
    const PlanTensor *tensor = &a->tensors[t];
    bool is_found = tensor->hold == PLAN_HOLDS_NOTHING;
    for (int32_t other = 0; other < b->tensor_count && !is_found; other++) {
      const PlanTensor *of = &b->tensors[other];
      is_found = of->hold == tensor->hold && of->held == tensor->held && of->begin == tensor->begin &&
                 of->end == tensor->end && is_in_memory(a, tensor->held) == is_in_memory(b, tensor->held);
    }
    if (!is_found) return false;
  }
  return true;
}

bool plan_same_residents(const Plan *a, const Plan *b) {
  return has_residents_of(a, b) && has_residents_of(b, a);
}

void plan_own_bytes(const Plan *plan, int64_t *out_begin, int64_t *out_end) {
  *out_begin = *out_end = 0;
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    const PlanTensor *tensor = &plan->tensors[t];
    if (plan_tensor_holder(plan, t) >= 0) continue;
    bool is_first = *out_end == 0;
    *out_begin = is_first ? tensor->begin : min_i64(*out_begin, tensor->begin);
    *out_end = max_i64(*out_end, tensor->end);
  }
}
