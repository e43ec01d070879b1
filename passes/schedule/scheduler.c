#include "passes/pipeline/control_computations.h"
#include "passes/pipeline/hlo_pass.h"
#include "passes/schedule/buffer_order.h"
#include "passes/schedule/memory_scheduler.h"
#include "passes/schedule/overlap.h"
#include "passes/schedule/text_order.h"

/* scheduler: every computation with buffers gets an order for least peak memory, or keeps that of the text, and the
 * module is marked scheduled. */

static bool sets_new_order(HloComputation *computation, HloInstruction *const *order, int64_t count) {
  bool same = computation->instructions.count == count;
  for (int64_t i = 0; same && i < count; i++) same = computation->instructions.data[i] == order[i];
  if (!same) hlo_computation_set_order(computation, order, count);
  return !same;
}

static bool operands_come_first(const HloComputation *computation, Arena *arena) {
  IntMap placed;
  int64_t ignored;
  int_map_init(&placed, arena);
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    const HloAttr *control = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
    for (int k = 0; k < instruction->operand_count; k++) {
      if (!int_map_find(&placed, (uint64_t)instruction->operands[k]->id, &ignored)) return false;
    }
    for (int64_t k = 0; control != NULL && k < control->value.instructions.count; k++) {
      if (!int_map_find(&placed, (uint64_t)control->value.instructions.data[k]->id, &ignored)) return false;
    }
    int_map_set(&placed, (uint64_t)instruction->id, 1);
  }
  return true;
}

/* The order the computation has, as node numbers; NULL where it is no schedule. */
static const int32_t *given_order(const ScheduleModel *model, const HloComputation *computation) {
  IntMap numbers;
  int_map_init(&numbers, model->arena);
  if (!operands_come_first(computation, model->arena)) return NULL;
  for (int32_t n = 0; n < model->node_count; n++) int_map_set(&numbers, (uint64_t)model->nodes[n].instruction->id, n);
  int32_t *order = ARENA_NEW_ARRAY(model->arena, int32_t, model->node_count + 1);
  for (int32_t i = 0; i < model->node_count; i++) {
    int64_t number = 0;
    XLAC_CHECK(int_map_find(&numbers, (uint64_t)computation->instructions.data[i]->id, &number));
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

static bool set_schedule(HloComputation *computation, const ScheduleModel *model, const int32_t *chosen) {
  HloInstruction **order = instructions_in_order(model, computation, chosen);
  return sets_new_order(computation, order, model->node_count);
}

static bool keep_text_order(HloComputation *computation, IntMap *peaks) {
  Arena *arena = arena_create();
  const ScheduleModel *model = schedule_model_create(arena, computation, peaks);
  const int32_t *order = text_order(model, computation);
  int_map_set(peaks, (uint64_t)computation->id, schedule_model_peak(model, order));
  bool changed = set_schedule(computation, model, order);
  arena_destroy(arena);
  return changed;
}

/* Post-order begins at these, one after the other as they stand: with several, what is found depends on where. */
static bool has_several_ends(const HloComputation *computation) {
  int64_t ends = 0;
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    ends += computation->instructions.data[i]->user_count == 0;
  }
  return ends > 1;
}

/* Again from what was found, as long as that lowers the peak: another run of the pass has nothing to do. */
static bool schedule_computation(HloComputation *computation, IntMap *peaks, int effort) {
  bool changed = false, is_given = computation->module->is_scheduled, is_done = false;
  int64_t peak = -1; /* none yet */
  while (!is_done) {
    Arena *arena = arena_create();
    const ScheduleModel *model = schedule_model_create(arena, computation, peaks);
    Schedule schedule = schedule_for_memory(model, given_order(model, computation), is_given, effort);
    bool is_better = peak < 0 || schedule.peak < peak;
    is_done = !is_better || !has_several_ends(computation);
    if (is_better) {
      int32_t *order = ARENA_COPY_ARRAY(arena, int32_t, schedule.order, model->node_count);
      schedule_overlap(model, order);
      changed |= set_schedule(computation, model, order);
    }
    if (is_better) peak = schedule.peak;
    is_given = true;
    arena_destroy(arena);
  }
  int_map_set(peaks, (uint64_t)computation->id, peak);
  return changed;
}

/* --- for a Buffer --- */

/* What the Buffer keeps between Kernels, about: their tiles have the rest. */
static int64_t kept_bytes(const MachineDescription *machine) {
  return machine_buffer_usable(machine) / 4 * 3;
}

/* By computation of |control_computations|: all nodes of its model. */
typedef struct ComputationOrders {
  int64_t count;
  int32_t **orders;
} ComputationOrders;

/* Orders that move less than those which |module| has; false: there are none.  |peaks| are those of called
 * computations. */
static bool orders_for_buffer(const HloModule *module, const MachineDescription *machine, const IntMap *peaks,
                              Arena *arena, ComputationOrders *out_orders) {
  HloComputation **computations = control_computations(module, arena, &out_orders->count);
  bool is_any = false;
  out_orders->orders = ARENA_NEW_ARRAY(arena, int32_t *, out_orders->count + 1);
  for (int64_t i = 0; i < out_orders->count; i++) {
    const ScheduleModel *model = schedule_model_create(arena, computations[i], peaks);
    const int32_t *given = given_order(model, computations[i]);
    int32_t *order = ARENA_COPY_ARRAY(arena, int32_t, given, model->node_count);
    schedule_for_buffer(model, kept_bytes(machine), order);
    is_any |= memcmp(order, given, (size_t)model->node_count * sizeof *order) != 0;
    out_orders->orders[i] = order;
  }
  return is_any;
}

/* |module| is the one that the orders were found for, or a clone of it. */
static void set_orders(HloModule *module, const IntMap *peaks, Arena *arena, const ComputationOrders *orders) {
  int64_t count;
  HloComputation **computations = control_computations(module, arena, &count);
  XLAC_CHECK(count == orders->count);
  for (int64_t i = 0; i < count; i++)
    set_schedule(computations[i], schedule_model_create(arena, computations[i], peaks), orders->orders[i]);
}

static int64_t instruction_count(const HloModule *module) {
  int64_t count = 0;
  for (int64_t c = 0; c < module->computations.count; c++) count += module->computations.data[c]->instructions.count;
  return count;
}

/* Bytes of the workspace, without scratch, that |module| has with its order, and its instructions with the copies that
 * this makes necessary.  It is used up. */
static int64_t workspace_of(const HloPassContext *context, HloModule *module, int64_t *out_instructions) {
  Arena *scratch = arena_create();
  DiagSink ignored;
  bool changed;
  diag_sink_init(&ignored, scratch);
  HloPassOptions options = *context->options;
  options.memory_limit = 0;
  options.scratch = NULL;
  options.decisions = NULL;
  HloPassContext trial = {.scratch = scratch, .diag = &ignored, .options = &options};
  Status status = hlo_buffer_assignment_pass.run(&trial, module, &changed);
  int64_t bytes = status == STATUS_OK && trial.assignment != NULL ? trial.assignment->workspace_bytes : INT64_MAX;
  *out_instructions = instruction_count(module);
  arena_destroy(scratch);
  return bytes;
}

/* An order that moves less between memory and Buffer, where memory has no more bytes and nothing more is copied: peaks
 * of the model know neither places nor copies. */
static bool reorder_for_buffer(const HloPassContext *context, HloModule *module, const IntMap *peaks) {
  const MachineDescription *machine = context->options->machine;
  Arena *arena = arena_create();
  ComputationOrders orders;
  bool is_better = orders_for_buffer(module, machine, peaks, arena, &orders);
  if (is_better) {
    HloModule *known = hlo_module_clone(module, arena), *tried = hlo_module_clone(module, arena);
    int64_t known_count, count;
    set_orders(tried, peaks, arena, &orders);
    int64_t known_bytes = workspace_of(context, known, &known_count), bytes = workspace_of(context, tried, &count);
    is_better = bytes <= known_bytes && bytes < INT64_MAX && count <= known_count;
  }
  if (is_better) set_orders(module, peaks, arena, &orders);
  arena_destroy(arena);
  return is_better;
}

/* Regions and fused computations have no buffers: any order in which operands come first will do. */
static bool order_topologically(HloComputation *computation) {
  Arena *arena = arena_create();
  int64_t count;
  bool changed = false;
  if (!operands_come_first(computation, arena)) {
    HloInstruction **order = hlo_computation_post_order(computation, arena, &count);
    hlo_computation_set_order(computation, order, count);
    changed = true;
  }
  arena_destroy(arena);
  return changed;
}

static Status run_scheduler(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t count, ignored;
  IntMap peaks;
  int_map_init(&peaks, context->scratch);
  *out_changed = !module->is_scheduled;
  HloComputation **computations = control_computations(module, context->scratch, &count);
  bool keeps = context->options->keeps_text_order;
  for (int64_t i = 0; i < count; i++) {
    *out_changed |= keeps ? keep_text_order(computations[i], &peaks)
                          : schedule_computation(computations[i], &peaks, context->tuning.schedule_effort);
  }
  for (int64_t i = 0; i < module->computations.count; i++) {
    HloComputation *computation = module->computations.data[i];
    if (int_map_find(&peaks, (uint64_t)computation->id, &ignored)) continue;
    *out_changed |= order_topologically(computation);
  }
  module->is_scheduled = true;
  if (!keeps && machine_has_buffer(context->options->machine))
    *out_changed |= reorder_for_buffer(context, module, &peaks);
  return STATUS_OK;
}

const HloPass hlo_scheduler_pass = {"scheduler", "order instructions for least peak memory, or as in the text",
                                    run_scheduler, true};
