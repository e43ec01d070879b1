#include "passes/pipeline/control_computations.h"
#include "passes/pipeline/hlo_pass.h"
#include "passes/schedule/memory_scheduler.h"

static bool sets_new_order(HloComputation *computation, HloInstruction *const *order, int64_t count) {
  bool same = computation->instructions.count == count;
  for (int64_t i = 0; same && i < count; i++) same = computation->instructions.data[i] == order[i];
  if (!same) hlo_computation_set_order(computation, order, count);
  return !same;
}

/* The order of the text as node numbers, or NULL where an operand comes after its user. */
static const int32_t *given_order(const ScheduleModel *model, const HloComputation *computation) {
  Arena *arena = model->arena;
  IntMap numbers;
  int_map_init(&numbers, arena);
  for (int32_t n = 0; n < model->node_count; n++) int_map_set(&numbers, (uint64_t)model->nodes[n].instruction->id, n);
  int32_t *order = ARENA_NEW_ARRAY(arena, int32_t, model->node_count + 1);
  bool *done = ARENA_NEW_ARRAY(arena, bool, model->node_count + 1);
  if (computation->instructions.count != model->node_count) return NULL;
  for (int32_t i = 0; i < model->node_count; i++) {
    int64_t number = -1;
    if (!int_map_find(&numbers, (uint64_t)computation->instructions.data[i]->id, &number)) return NULL;
    const ScheduleNode *node = &model->nodes[number];
    for (int32_t k = 0; k < node->predecessor_count; k++) {
      if (!done[node->predecessors[k]]) return NULL;
    }
    done[number] = true;
    order[i] = (int32_t)number;
  }
  return order;
}

/* Parameters and constants are there from the start and cost nothing; the order reads better with them in front. */
static HloInstruction **instructions_in_order(const ScheduleModel *model, const HloComputation *computation,
                                              const int32_t *order) {
  HloInstruction **result = ARENA_NEW_ARRAY(model->arena, HloInstruction *, model->node_count + 1);
  int32_t count = 0;
  for (int64_t i = 0; i < computation->parameters.count; i++) result[count++] = computation->parameters.data[i];
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t i = 0; i < model->node_count; i++) {
      const ScheduleNode *node = &model->nodes[order[i]];
      if (node->instruction->opcode == HLO_PARAMETER) continue;
      bool early = node->instruction->opcode == HLO_CONSTANT && node->predecessor_count == 0;
      if (early == (pass == 0)) result[count++] = node->instruction;
    }
  }
  XLAC_CHECK(count == model->node_count);
  return result;
}

static bool schedule_computation(HloComputation *computation, IntMap *peaks) {
  Arena *arena = arena_create();
  const ScheduleModel *model = schedule_model_create(arena, computation, peaks);
  Schedule schedule = schedule_for_memory(model, given_order(model, computation));
  int_map_set(peaks, (uint64_t)computation->id, schedule.peak);
  HloInstruction **order = instructions_in_order(model, computation, schedule.order);
  bool changed = sets_new_order(computation, order, model->node_count);
  arena_destroy(arena);
  return changed;
}

/* Regions and fused computations have no buffers: any order in which operands come first will do. */
static bool order_topologically(HloComputation *computation, Arena *scratch) {
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(computation, scratch, &count);
  return sets_new_order(computation, order, count);
}

static Status run_scheduler(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t count, ignored;
  IntMap peaks;
  int_map_init(&peaks, context->scratch);
  *out_changed = !module->is_scheduled;
  HloComputation **computations = control_computations(module, context->scratch, &count);
  for (int64_t i = 0; i < count; i++) *out_changed |= schedule_computation(computations[i], &peaks);
  for (int64_t i = 0; i < module->computations.count; i++) {
    HloComputation *computation = module->computations.data[i];
    if (int_map_find(&peaks, (uint64_t)computation->id, &ignored)) continue;
    *out_changed |= order_topologically(computation, context->scratch);
  }
  module->is_scheduled = true;
  return STATUS_OK;
}

const HloPass hlo_scheduler_pass = {"scheduler", "order instructions for least peak memory", run_scheduler, true};
