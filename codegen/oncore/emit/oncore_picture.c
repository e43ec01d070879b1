#include "codegen/oncore/emit/oncore_picture.h"

#include <math.h>
#include <stdlib.h>

#include "base/checked_math.h"
#include "codegen/oncore/emit/picture_windows.h"
#include "codegen/oncore/plan/tensor_facts.h"
#include "hlo/machine/stream/queue_waits.h"
#include "hlo/machine/stream/reloads.h"

enum { PAGE_COMMANDS = 24000, PICTURED_KERNELS = 400, MOST_WINDOW = 400, LEAST_WINDOW = 40, SHOWN_WAITS = 12 };

typedef struct Picture {
  JsonWriter *json;
  Arena *scratch; /* of one kernel */
  const ModulePlans *plans;
  const HloModule *module;
  int64_t window; /* commands in one */
} Picture;

/* Hundredths of a cycle are all that anybody looks at. */
static double rounded(double cycles) {
  return round(cycles * 100) / 100;
}

static void number(const Picture *picture, double value) {
  json_double(picture->json, rounded(value));
}

static void text(const Picture *picture, const char *value) {
  json_string(picture->json, sv_from_cstring(value));
}

static void field(const Picture *picture, const char *key, double value) {
  json_field_double(picture->json, key, rounded(value));
}

static void begin_list(const Picture *picture, const char *key) {
  json_key(picture->json, key);
  json_begin_array(picture->json);
}

/* --- one kernel: what is always told --- */

static void tell_tensors(const Picture *picture, const Plan *plan, const TensorUses *uses) {
  begin_list(picture, "tensors");
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    const PlanTensor *tensor = &plan->tensors[t];
    const TensorUse *use = uses->uses != NULL && uses->uses[t].first_command >= 0 ? &uses->uses[t] : NULL;
    int32_t memory = plan_tensor_memory(plan, t);
    StringBuilder shape;
    sb_init(&shape, picture->scratch);
    plan_tensor_shape_print(&shape, tensor);
    json_begin_object(picture->json);
    json_field_string(picture->json, "name", tensor->name);
    json_field_string(picture->json, "kind", sv_from_cstring(plan_tensor_kind_text(tensor->kind)));
    json_field_string(picture->json, "shape", sb_view(&shape));
    json_field_int(picture->json, "begin", tensor->begin);
    json_field_int(picture->json, "end", tensor->end);
    json_field_int(picture->json, "slack", plan_tensor_slack(tensor));
    if (tensor->kind == PLAN_RING) json_field_int(picture->json, "slots", tensor->extents[0]);
    if (memory >= 0) json_field_string(picture->json, "holds", plan->memories[memory].name);
    if (tensor->hold == PLAN_FINDS) json_field_string(picture->json, "hold", SV("is there before and after"));
    if (tensor->hold == PLAN_LEAVES) json_field_string(picture->json, "hold", SV("stays there afterwards"));
    if (use != NULL) {
      json_field_int(picture->json, "first", use->first_command);
      json_field_int(picture->json, "last", use->last_command);
      field(picture, "from", use->from);
      field(picture, "to", use->to);
    }
    json_end_object(picture->json);
  }
  json_end_array(picture->json);
}

/* The Tensor that a command is about: what it writes in the Buffer, or what it stores from there; -1: none. */
static int32_t tensor_of_command(const PlanCommand *command) {
  for (int32_t i = 0; i < command->target_count; i++) {
    if (!command->targets[i].is_memory) return command->targets[i].number;
  }
  for (int32_t i = 0; i < command->source_count; i++) {
    if (!command->sources[i].is_memory) return command->sources[i].number;
  }
  return -1;
}

static void tell_labels(const Picture *picture, const Plan *plan) {
  static const char *const verbs[] = {
      [PLAN_LOAD] = "load",   [PLAN_STORE] = "store",     [PLAN_OP] = "op",         [PLAN_REDUCE] = "reduce",
      [PLAN_DOT] = "dot",     [PLAN_PERMUTE] = "permute", [PLAN_GATHER] = "gather", [PLAN_GATHERM] = "gatherm",
      [PLAN_SORTK] = "sortk", [PLAN_BARRIER] = "barrier"};
  begin_list(picture, "labels");
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    json_begin_array(picture->json);
    json_string(picture->json, command->label);
    json_int(picture->json, command->queue);
    text(picture, verbs[command->verb]);
    json_string(picture->json, command->hlo);
    json_int(picture->json, tensor_of_command(command));
    json_end_array(picture->json);
  }
  json_end_array(picture->json);
}

static void tell_queues(const Picture *picture, const PlanVerdict *verdict) {
  begin_list(picture, "queues");
  for (int32_t q = 0; q < picture->plans->machine->queue_count && verdict->simulation.cycles > 0; q++) {
    const QueueUse *use = &verdict->simulation.queues[q];
    json_begin_array(picture->json);
    json_int(picture->json, use->commands);
    json_int(picture->json, use->bytes);
    number(picture, use->busy);
    number(picture, use->stall);
    json_end_array(picture->json);
  }
  json_end_array(picture->json);
}

static void tell_edges(const Picture *picture, const HazardReport *hazards) {
  json_field_int(picture->json, "edges", hazards->edges);
  json_field_int(picture->json, "redundant", hazards->counts[HAZARD_REDUNDANT_EDGE]);
  json_field_int(picture->json, "barriers", hazards->barriers);
  json_field_int(picture->json, "races", hazard_report_races(hazards));
  begin_list(picture, "edgeCounts");
  for (int64_t i = 0; i < hazards->edge_count_count; i++) {
    const EdgeCount *count = &hazards->edge_counts[i];
    json_begin_array(picture->json);
    json_int(picture->json, count->from);
    json_int(picture->json, count->to);
    text(picture, edge_kind_text(count->kind));
    json_int(picture->json, count->count);
    json_end_array(picture->json);
  }
  json_end_array(picture->json);
}

static const char *const wait_kinds[] = {[WAIT_EDGE] = "edge", [WAIT_ROOM] = "room", [WAIT_BARRIER] = "barrier"};

static void tell_waits(const Picture *picture, const PlanVerdict *verdict) {
  QueueWaits waits = queue_waits_find(picture->scratch, &verdict->stream, &verdict->simulation);
  begin_list(picture, "waits");
  for (int64_t i = 0; i < waits.count && i < SHOWN_WAITS; i++) {
    const QueueWait *wait = &waits.rows[i];
    json_begin_array(picture->json);
    json_int(picture->json, wait->queue);
    json_int(picture->json, wait->label);
    text(picture, wait_kinds[wait->kind]);
    json_int(picture->json, wait->cause);
    text(picture, wait->kind == WAIT_EDGE ? edge_kind_text(wait->edge) : "");
    json_int(picture->json, wait->count);
    number(picture, wait->cycles);
    number(picture, wait->longest);
    json_end_array(picture->json);
  }
  json_end_array(picture->json);
}

static void tell_loops(const Picture *picture, const Plan *plan) {
  begin_list(picture, "loops");
  for (int32_t l = 0; l < plan->loop_count; l++) {
    json_begin_array(picture->json);
    json_string(picture->json, plan->loops[l].name);
    json_int(picture->json, plan->loops[l].trip_count);
    json_end_array(picture->json);
  }
  json_end_array(picture->json);
}

/* --- one kernel: its picture --- */

static void tell_command(const Picture *picture, const PlanVerdict *verdict, int32_t instance, const int32_t *causes) {
  const StreamCommand *command = &verdict->stream.commands.data[instance];
  const QueueSimulation *simulation = &verdict->simulation;
  bool moves = command->queue >= 0 && picture->plans->machine->queues[command->queue].kind != QUEUE_EXEC;
  json_begin_array(picture->json);
  json_int(picture->json, instance);
  json_int(picture->json, command->label);
  number(picture, simulation->starts[instance]);
  number(picture, simulation->ends[instance]);
  json_int(picture->json, moves ? command->work.bytes : 0);
  CommandWait waits[2];
  int count = command_waits_find(&verdict->stream, simulation, instance, causes, waits);
  json_begin_array(picture->json);
  for (int w = 0; w < count; w++) {
    json_begin_array(picture->json);
    text(picture, wait_kinds[waits[w].kind]);
    json_int(picture->json, waits[w].cause);
    json_int(picture->json, verdict->stream.commands.data[waits[w].cause].label);
    number(picture, waits[w].from);
    number(picture, waits[w].to);
    json_end_array(picture->json);
  }
  json_end_array(picture->json);
  InstanceRange edges = command_stream_edges(&verdict->stream, instance);
  json_begin_array(picture->json);
  for (int64_t e = 0; e < edges.count; e++) json_int(picture->json, edges.data[e]);
  json_end_array(picture->json);
  json_end_array(picture->json);
}

static void tell_commands(const Picture *picture, const PlanVerdict *verdict, const PictureWindows *windows) {
  const int32_t *causes = command_issue_causes(picture->scratch, &verdict->stream, &verdict->simulation);
  begin_list(picture, "commands");
  for (int32_t i = 0; i < verdict->stream.commands.count; i++) {
    if (picture_windows_meet(windows, verdict->simulation.starts[i], verdict->simulation.ends[i]))
      tell_command(picture, verdict, i, causes);
  }
  json_end_array(picture->json);
}

static void tell_stretches(const Picture *picture, const PlanVerdict *verdict, const TensorUses *uses,
                           const PictureWindows *windows) {
  begin_list(picture, "stretches");
  for (int64_t i = 0; i < uses->stretch_count; i++) {
    const TensorStretch *stretch = &uses->stretches[i];
    if (!picture_windows_meet(windows, stretch->from, stretch->to)) continue;
    json_begin_array(picture->json);
    json_int(picture->json, stretch->tensor);
    json_int(picture->json, stretch->begin);
    json_int(picture->json, stretch->end);
    number(picture, stretch->from);
    number(picture, stretch->to);
    json_int(picture->json, stretch->first);
    json_int(picture->json, verdict->stream.commands.data[stretch->first].label);
    json_int(picture->json, stretch->last);
    json_int(picture->json, verdict->stream.commands.data[stretch->last].label);
    json_end_array(picture->json);
  }
  json_end_array(picture->json);
}

static void tell_shares(const Picture *picture, const char *key, const double *cycles, double column) {
  begin_list(picture, key);
  for (int i = 0; i < PICTURE_GAP_COLUMNS; i++) number(picture, column > 0 ? cycles[i] / column : 0);
  json_end_array(picture->json);
}

static void tell_gap(const Picture *picture, const PictureGap *gap) {
  double column = (gap->to - gap->from) / PICTURE_GAP_COLUMNS;
  json_begin_object(picture->json);
  field(picture, "from", gap->from);
  field(picture, "to", gap->to);
  json_field_int(picture->json, "commands", gap->commands);
  begin_list(picture, "queues");
  for (int32_t q = 0; q < picture->plans->machine->queue_count; q++) {
    json_begin_object(picture->json);
    tell_shares(picture, "busy", gap->busy + (int64_t)q * PICTURE_GAP_COLUMNS, column);
    tell_shares(picture, "waiting", gap->waiting + (int64_t)q * PICTURE_GAP_COLUMNS, column);
    json_end_object(picture->json);
  }
  json_end_array(picture->json);
  begin_list(picture, "slots");
  for (int64_t i = 0; i < gap->slot_count; i++) {
    const PictureSlot *slot = &gap->slots[i];
    json_begin_array(picture->json);
    json_int(picture->json, slot->tensor);
    json_int(picture->json, slot->begin);
    json_int(picture->json, slot->end);
    number(picture, slot->cycles / (gap->to - gap->from));
    json_int(picture->json, slot->count);
    json_end_array(picture->json);
  }
  json_end_array(picture->json);
  json_end_object(picture->json);
}

static void tell_picture(const Picture *picture, const PlanVerdict *verdict, const TensorUses *uses) {
  PictureWindows windows =
      picture_windows_choose(picture->scratch, &verdict->simulation, verdict->stream.commands.count, picture->window);
  begin_list(picture, "windows");
  for (int i = 0; i < windows.count; i++) {
    json_begin_array(picture->json);
    text(picture, windows.of[i].name);
    number(picture, windows.of[i].from);
    number(picture, windows.of[i].to);
    json_end_array(picture->json);
  }
  json_end_array(picture->json);
  tell_commands(picture, verdict, &windows);
  tell_stretches(picture, verdict, uses, &windows);
  begin_list(picture, "gaps");
  for (int i = 0; i + 1 < windows.count; i++) {
    PictureGap gap = picture_gap_find(picture->scratch, picture->plans->machine, verdict, uses, &windows, i);
    if (gap.to > gap.from) tell_gap(picture, &gap);
  }
  json_end_array(picture->json);
}

/* --- one kernel --- */

static void tell_source(const Picture *picture, const Plan *plan) {
  if (plan->kernel == NULL || plan->kernel->source == NULL || picture->module == NULL) return;
  StringView line = hlo_module_source_line(picture->module, plan->kernel->source, picture->scratch);
  if (line.size > 0) json_field_string(picture->json, "source", line);
}

static void tell_times(const Picture *picture, const Plan *plan, const PlanVerdict *verdict) {
  const MachineDescription *machine = picture->plans->machine;
  field(picture, "cycles", verdict->simulation.cycles);
  if (plan->estimate > 0) field(picture, "estimate", plan->estimate);
  field(picture, "bound", verdict->bound.cycles);
  json_field_string(picture->json, "limit",
                    sv_from_cstring(queue_limit_text(picture->scratch, machine, &verdict->bound)));
  json_field_int(picture->json, "bytes", verdict->simulation.memory_bytes);
  StreamLoads loads = stream_loads_find(picture->scratch, &verdict->stream);
  if (loads.is_known) json_field_int(picture->json, "again", stream_loads_again(&loads));
}

static void tell_kernel(Picture *picture, const ModulePlan *of, bool is_pictured) {
  const Plan *plan = of->plan;
  const PlanVerdict *verdict = &of->verdict;
  bool runs = verdict->simulation.cycles > 0;
  TensorUses uses = {0};
  picture->scratch = arena_create();
  if (runs) uses = tensor_uses_find(picture->scratch, plan, verdict, is_pictured ? INT64_MAX : 0);
  json_begin_object(picture->json);
  json_field_string(picture->json, "name", plan->name);
  tell_source(picture, plan);
  field(picture, "runs", of->runs);
  tell_times(picture, plan, verdict);
  if (of->is_resident) json_field_int(picture->json, "base", of->base);
  if (of->is_move) json_field_bool(picture->json, "isMove", true);
  json_field_int(picture->json, "peak", verdict->footprint);
  if (runs) json_field_int(picture->json, "inUse", plan_most_in_use(plan, &uses));
  json_field_int(picture->json, "count", verdict->stream.commands.count);
  tell_loops(picture, plan);
  tell_edges(picture, &verdict->hazards);
  tell_queues(picture, verdict);
  tell_tensors(picture, plan, &uses);
  tell_labels(picture, plan);
  if (runs) tell_waits(picture, verdict);
  if (runs && is_pictured) tell_picture(picture, verdict, &uses);
  plan_alternatives_json(picture->json, &of->alternatives);
  plan_advice_json(picture->json, &of->advice);
  plan_schemes_json(picture->json, &of->schemes);
  json_end_object(picture->json);
  arena_destroy(picture->scratch);
}

/* --- the module --- */

static void tell_machine(const Picture *picture) {
  const MachineDescription *machine = picture->plans->machine;
  json_key(picture->json, "machine");
  json_begin_object(picture->json);
  json_field_string(picture->json, "name", machine->name);
  json_field_int(picture->json, "clock", machine->clock_hz);
  json_field_int(picture->json, "buffer", machine_buffer_usable(machine));
  json_field_int(picture->json, "reserve", machine->buffer.reserve);
  field(picture, "rate", machine->memory_bytes_per_cycle);
  begin_list(picture, "queues");
  static const char *const kinds[] = {
      [QUEUE_LOAD] = "load", [QUEUE_STORE] = "store", [QUEUE_MOVE] = "move", [QUEUE_EXEC] = "exec"};
  for (int32_t q = 0; q < machine->queue_count; q++) {
    json_begin_array(picture->json);
    json_string(picture->json, machine->queues[q].name);
    text(picture, kinds[machine->queues[q].kind]);
    json_end_array(picture->json);
  }
  json_end_array(picture->json);
  json_end_object(picture->json);
}

static void tell_module(const Picture *picture) {
  const ModulePlans *plans = picture->plans;
  field(picture, "saved", plans->runs.saved);
  field(picture, "links", plans->runs.links);
  field(picture, "moduleBound", plans->bound.limit.cycles);
  Arena *arena = arena_create();
  json_field_string(picture->json, "moduleLimit",
                    sv_from_cstring(queue_limit_text(arena, plans->machine, &plans->bound.limit)));
  arena_destroy(arena);
  json_field_int(picture->json, "argumentBytes", plans->bound.argument_bytes);
  json_field_int(picture->json, "resultBytes", plans->bound.result_bytes);
  json_field_int(picture->json, "offCore", plans->off_core);
  begin_list(picture, "uses");
  for (int64_t i = 0; i < plans->use_count; i++) {
    json_begin_array(picture->json);
    json_int(picture->json, plans->uses[i].plan);
    json_string(picture->json, plans->uses[i].name);
    number(picture, plans->uses[i].runs);
    json_end_array(picture->json);
  }
  json_end_array(picture->json);
}

static int descending(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left < right) - (left > right);
}

/* Cycles in all runs that a kernel needs for having a picture. */
static double least_pictured(const ModulePlans *plans) {
  if (plans->count <= PICTURED_KERNELS) return 0;
  Arena *scratch = arena_create();
  double *cycles = ARENA_NEW_ARRAY(scratch, double, plans->count);
  for (int32_t i = 0; i < plans->count; i++)
    cycles[i] = plans->plans[i].verdict.simulation.cycles * plans->plans[i].runs;
  qsort(cycles, (size_t)plans->count, sizeof *cycles, descending);
  double least = cycles[PICTURED_KERNELS - 1];
  arena_destroy(scratch);
  return least;
}

void module_plans_picture(JsonWriter *json, const ModulePlans *plans, const HloModule *module) {
  int64_t pictured = max_i64(min_i64(plans->count, PICTURED_KERNELS), 1);
  int64_t window = min_i64(max_i64(PAGE_COMMANDS / (3 * pictured), LEAST_WINDOW), MOST_WINDOW);
  Picture picture = {.json = json, .plans = plans, .module = module, .window = window};
  double least = least_pictured(plans);
  json_begin_object(json);
  tell_machine(&picture);
  tell_module(&picture);
  begin_list(&picture, "kernels");
  for (int32_t i = 0; i < plans->count; i++) {
    const ModulePlan *of = &plans->plans[i];
    tell_kernel(&picture, of, of->verdict.simulation.cycles * of->runs >= least);
  }
  json_end_array(json);
  json_end_object(json);
}
