#include "codegen/oncore/emit/oncore_map.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked_math.h"
#include "codegen/oncore/plan/tensor_facts.h"
#include "hlo/machine/stream/reloads.h"

enum { PICTURE_COLUMNS = 72, PICTURE_ROWS = 16, PICTURE_COMMANDS = 48 };

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* --- text --- */

static void print_loops(StringBuilder *out, const Plan *plan) {
  if (plan->loop_count > 0) sb_append_cstring(out, "  loops   ");
  for (int32_t l = 0; l < plan->loop_count; l++) {
    const PlanLoop *loop = &plan->loops[l];
    sb_printf(out, " %.*s %" PRId64, SV_ARG(loop->name), loop->trip_count);
    if (loop->parent >= 0) sb_printf(out, " in %.*s", SV_ARG(plan->loops[loop->parent].name));
    sb_append_char(out, l + 1 < plan->loop_count ? ',' : '\n');
  }
}

static void print_tensors(StringBuilder *out, const Plan *plan, const TensorUses *uses) {
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    const PlanTensor *tensor = &plan->tensors[t];
    int32_t memory = plan_tensor_memory(plan, t);
    sb_printf(out, "    %c [%" PRId64 ", %" PRId64 ") %" PRId64 " bytes, slack %" PRId64 "  %s %.*s ",
              t < (int32_t)sizeof letters - 1 ? letters[t] : '*', tensor->begin, tensor->end,
              tensor->end - tensor->begin, plan_tensor_slack(tensor), plan_tensor_kind_text(tensor->kind),
              SV_ARG(tensor->name));
    plan_tensor_shape_print(out, tensor);
    if (memory >= 0) sb_printf(out, " of %.*s", SV_ARG(plan->memories[memory].name));
    if (uses != NULL && uses->uses[t].first_command >= 0) {
      sb_printf(out, "; %.*s at %.0f to %.*s at %.0f", SV_ARG(plan->commands[uses->uses[t].first_command].label),
                uses->uses[t].from, SV_ARG(plan->commands[uses->uses[t].last_command].label), uses->uses[t].to);
    }
    sb_append_char(out, '\n');
  }
}

/* Address upwards, time from left: the first tiles, after which a pipeline repeats itself. */
static void print_picture(StringBuilder *out, const Plan *plan, const TensorUses *uses, int64_t height) {
  if (height == 0 || uses->window <= 0) return;
  char cells[PICTURE_ROWS][PICTURE_COLUMNS];
  memset(cells, '.', sizeof cells);
  int rows = (int)min_i64(PICTURE_ROWS, max_i64(height / max_i64(plan->alignment, 1), 1));
  for (int64_t i = 0; i < uses->stretch_count; i++) {
    const TensorStretch *stretch = &uses->stretches[i];
    int first = (int)((double)stretch->begin / (double)height * rows);
    int last = (int)((double)(stretch->end - 1) / (double)height * rows);
    int from = (int)(stretch->from / uses->window * PICTURE_COLUMNS);
    int to = (int)(stretch->to / uses->window * PICTURE_COLUMNS);
    char letter = stretch->tensor < (int32_t)sizeof letters - 1 ? letters[stretch->tensor] : '*';
    for (int row = first; row <= last && row < rows; row++) {
      for (int column = from; column < to && column < PICTURE_COLUMNS; column++) cells[row][column] = letter;
    }
  }
  sb_printf(out, "  picture  address upwards, time from left, 0 to %.0f cycles\n", uses->window);
  for (int row = rows - 1; row >= 0; row--) {
    sb_printf(out, "%12" PRId64 " |%.*s|\n", (int64_t)((double)height / rows * row), PICTURE_COLUMNS, cells[row]);
  }
}

static void print_queues(StringBuilder *out, const PlanVerdict *verdict, const MachineDescription *machine) {
  double cycles = verdict->simulation.cycles;
  for (int32_t q = 0; q < machine->queue_count && cycles > 0; q++) {
    const QueueUse *use = &verdict->simulation.queues[q];
    sb_printf(out, "  queue    %.*s: %" PRId64 " commands", SV_ARG(machine->queues[q].name), use->commands);
    if (use->bytes > 0) sb_printf(out, ", %" PRId64 " bytes", use->bytes);
    sb_printf(out, ", busy %.0f cycles (%.1f %%), waiting %.0f\n", use->busy, use_percent(use->busy, cycles),
              use->stall);
  }
  if (cycles <= 0) return;
  double rate = (double)verdict->simulation.memory_bytes / cycles, cap = machine->memory_bytes_per_cycle;
  sb_printf(out, "  memory   %" PRId64 " bytes, %.1f a cycle", verdict->simulation.memory_bytes, rate);
  if (cap > 0) sb_printf(out, " of %.0f (%.1f %%)", cap, use_percent(rate, cap));
  sb_append_char(out, '\n');
}

static void print_loads(StringBuilder *out, const StreamLoads *loads, const CommandStream *stream) {
  int64_t again = stream_loads_again(loads);
  if (!loads->is_known || again == 0) return;
  sb_printf(out, "  again    %" PRId64 " bytes that are loaded more than once:", again);
  for (int64_t i = 0; i < loads->count; i++) {
    const ObjectLoads *object = &loads->objects[i];
    if (object->bytes == object->distinct) continue;
    sb_printf(out, " %.*s %" PRId64 " of %" PRId64, SV_ARG(stream->objects.data[object->object].name),
              object->bytes - object->distinct, object->bytes);
  }
  sb_append_char(out, '\n');
}

static void print_edges(StringBuilder *out, const HazardReport *hazards, const MachineDescription *machine) {
  sb_printf(out, "  edges    %" PRId64 ", %" PRId64 " of them redundant; %" PRId64 " barriers, %" PRId64 " races\n",
            hazards->edges, hazards->counts[HAZARD_REDUNDANT_EDGE], hazards->barriers, hazard_report_races(hazards));
  if (machine->sync.kind == SYNC_FLAG)
    sb_printf(out, "  flags    %" PRId64 " of %" PRId64 " between two queues\n", hazards->flags, machine->sync.ids);
  for (int64_t i = 0; i < hazards->edge_count_count; i++) {
    const EdgeCount *edges = &hazards->edge_counts[i];
    sb_printf(out, "    %.*s to %.*s: %" PRId64 " %s\n", SV_ARG(machine->queues[edges->from].name),
              SV_ARG(machine->queues[edges->to].name), edges->count, edge_kind_text(edges->kind));
  }
}

static void print_time(StringBuilder *out, const Plan *plan, const PlanVerdict *verdict,
                       const MachineDescription *machine) {
  Arena *scratch = arena_create();
  sb_append_cstring(out, "  time     ");
  if (plan->estimate > 0) sb_printf(out, "estimate %.0f cycles, ", plan->estimate);
  sb_printf(out, "simulated %.0f, bound %.0f, efficiency %.1f %%, limited by %s\n", verdict->simulation.cycles,
            verdict->bound.cycles, use_percent(verdict->bound.cycles, verdict->simulation.cycles),
            queue_limit_text(scratch, machine, &verdict->bound));
  arena_destroy(scratch);
}

void oncore_map_text(StringBuilder *out, const Plan *plan, const PlanVerdict *verdict,
                     const MachineDescription *machine) {
  Arena *scratch = arena_create();
  bool runs = verdict->simulation.cycles > 0;
  TensorUses uses = {0};
  if (runs) uses = tensor_uses_find(scratch, plan, verdict, PICTURE_COMMANDS);
  sb_printf(out, "kernel %.*s on %.*s\n", SV_ARG(plan->name), SV_ARG(machine->name));
  print_loops(out, plan);
  sb_printf(out, "  Buffer   peak %" PRId64 " of %" PRId64 " bytes (%.1f %%), ", verdict->footprint, plan->buffer_bytes,
            use_percent((double)verdict->footprint, (double)plan->buffer_bytes));
  if (runs) sb_printf(out, "%" PRId64 " in use at once, ", plan_most_in_use(plan, &uses));
  sb_printf(out, "%" PRId64 " reserved\n", machine->buffer.reserve);
  print_tensors(out, plan, runs ? &uses : NULL);
  if (runs) print_picture(out, plan, &uses, verdict->footprint);
  print_queues(out, verdict, machine);
  StreamLoads loads = stream_loads_find(scratch, &verdict->stream);
  print_loads(out, &loads, &verdict->stream);
  print_edges(out, &verdict->hazards, machine);
  print_time(out, plan, verdict, machine);
  arena_destroy(scratch);
}

/* --- JSON --- */

static void json_tensor(JsonWriter *json, const Plan *plan, const TensorUses *uses, int32_t number) {
  const PlanTensor *tensor = &plan->tensors[number];
  int32_t memory = plan_tensor_memory(plan, number);
  json_begin_object(json);
  json_field_string(json, "name", tensor->name);
  json_field_string(json, "kind", sv_from_cstring(plan_tensor_kind_text(tensor->kind)));
  json_field_string(json, "dtype", sv_from_cstring(type_text(tensor->type)));
  json_key(json, "shape");
  json_begin_array(json);
  for (int32_t i = 0; i < tensor->rank; i++) json_int(json, tensor->extents[i]);
  json_end_array(json);
  json_field_int(json, "begin", tensor->begin);
  json_field_int(json, "end", tensor->end);
  json_field_int(json, "slack", plan_tensor_slack(tensor));
  if (tensor->kind == PLAN_RING) json_field_int(json, "slots", tensor->extents[0]);
  if (memory >= 0) json_field_string(json, "holds", plan->memories[memory].name);
  if (uses->uses != NULL && uses->uses[number].first_command >= 0) {
    json_field_string(json, "first_use", plan->commands[uses->uses[number].first_command].label);
    json_field_string(json, "last_use", plan->commands[uses->uses[number].last_command].label);
    json_field_double(json, "from_cycle", uses->uses[number].from);
    json_field_double(json, "to_cycle", uses->uses[number].to);
  }
  json_end_object(json);
}

/* What the picture of the text is drawn from. */
static void json_picture(JsonWriter *json, const Plan *plan, const TensorUses *uses) {
  json_key(json, "picture");
  json_begin_object(json);
  json_field_double(json, "cycles", uses->window);
  json_key(json, "stretches");
  json_begin_array(json);
  for (int64_t i = 0; i < uses->stretch_count; i++) {
    const TensorStretch *stretch = &uses->stretches[i];
    json_begin_object(json);
    json_field_string(json, "tensor", plan->tensors[stretch->tensor].name);
    json_field_int(json, "begin", stretch->begin);
    json_field_int(json, "end", stretch->end);
    json_field_double(json, "from_cycle", stretch->from);
    json_field_double(json, "to_cycle", stretch->to);
    json_end_object(json);
  }
  json_end_array(json);
  json_end_object(json);
}

/* The Kernel's buffer that object |name| is; -1: a temporary, or there is no Kernel. */
static int32_t buffer_of(const Plan *plan, StringView name) {
  for (int32_t m = 0; plan->kernel != NULL && m < plan->memory_count; m++) {
    const PlanMemory *memory = &plan->memories[m];
    if (sv_equal(memory->name, name) && memory->kind != PLAN_TEMPORARY) return memory->number;
  }
  return -1;
}

static void json_loads(JsonWriter *json, const Plan *plan, const CommandStream *stream, Arena *scratch) {
  StreamLoads loads = stream_loads_find(scratch, stream);
  if (!loads.is_known) return;
  json_key(json, "loads");
  json_begin_array(json);
  for (int64_t i = 0; i < loads.count; i++) {
    StringView name = stream->objects.data[loads.objects[i].object].name;
    int32_t buffer = buffer_of(plan, name);
    json_begin_object(json);
    json_field_string(json, "array", name);
    json_field_int(json, "bytes", loads.objects[i].bytes);
    json_field_int(json, "bytes_again", loads.objects[i].bytes - loads.objects[i].distinct);
    if (buffer >= 0) json_field_int(json, "buffer", buffer);
    if (loads.objects[i].is_hidden) json_field_bool(json, "hidden", true);
    json_end_object(json);
  }
  json_end_array(json);
}

static void json_edges(JsonWriter *json, const HazardReport *hazards, const MachineDescription *machine) {
  json_field_int(json, "edges", hazards->edges);
  json_key(json, "edge_kinds");
  json_begin_array(json);
  for (int64_t i = 0; i < hazards->edge_count_count; i++) {
    const EdgeCount *edges = &hazards->edge_counts[i];
    json_begin_object(json);
    json_field_string(json, "from", machine->queues[edges->from].name);
    json_field_string(json, "to", machine->queues[edges->to].name);
    json_field_string(json, "kind", sv_from_cstring(edge_kind_text(edges->kind)));
    json_field_int(json, "count", edges->count);
    json_end_object(json);
  }
  json_end_array(json);
  json_field_int(json, "redundant_edges", hazards->counts[HAZARD_REDUNDANT_EDGE]);
  if (machine->sync.kind == SYNC_FLAG) json_field_int(json, "flags", hazards->flags);
  json_field_int(json, "barriers", hazards->barriers);
  json_field_int(json, "races", hazard_report_races(hazards));
}

void oncore_map_json(JsonWriter *json, const Plan *plan, const PlanVerdict *verdict,
                     const MachineDescription *machine) {
  Arena *scratch = arena_create();
  TensorUses uses = {0};
  bool runs = verdict->simulation.cycles > 0;
  if (runs) uses = tensor_uses_find(scratch, plan, verdict, PICTURE_COMMANDS);
  json_begin_object(json);
  json_field_string(json, "kernel", plan->name);
  json_field_int(json, "buffer_bytes", plan->buffer_bytes);
  json_field_int(json, "reserved_bytes", machine->buffer.reserve);
  json_field_int(json, "peak_bytes", verdict->footprint);
  if (runs) json_field_int(json, "most_bytes_in_use", plan_most_in_use(plan, &uses));
  json_key(json, "loops");
  json_begin_array(json);
  for (int32_t l = 0; l < plan->loop_count; l++) json_int(json, plan->loops[l].trip_count);
  json_end_array(json);
  json_key(json, "tensors");
  json_begin_array(json);
  for (int32_t t = 0; t < plan->tensor_count; t++) json_tensor(json, plan, &uses, t);
  json_end_array(json);
  if (runs) json_picture(json, plan, &uses);
  queue_uses_write_json(json, machine, runs ? verdict->simulation.queues : NULL);
  json_field_int(json, "memory_bytes", verdict->simulation.memory_bytes);
  json_loads(json, plan, &verdict->stream, scratch);
  json_edges(json, &verdict->hazards, machine);
  if (plan->estimate > 0) json_field_double(json, "estimate_cycles", plan->estimate);
  json_field_double(json, "simulated_cycles", verdict->simulation.cycles);
  json_field_double(json, "bound_cycles", verdict->bound.cycles);
  if (runs) json_field_double(json, "efficiency", verdict->bound.cycles / verdict->simulation.cycles);
  json_field_string(json, "limit", sv_from_cstring(queue_limit_text(scratch, machine, &verdict->bound)));
  json_end_object(json);
  arena_destroy(scratch);
}
