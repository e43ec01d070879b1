#include "runtime/engines/simulation_summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_WAITS = 6, TOLD_WAITS = 24 };

/* --- sums --- */

static void add_kernel(SimulatedKernel *all, const SimulatedKernel *kernel, int32_t queue_count) {
  all->launches += kernel->launches;
  all->commands += kernel->commands;
  all->edges += kernel->edges;
  all->redundant += kernel->redundant;
  all->barriers += kernel->barriers;
  all->races += kernel->races;
  all->bytes += kernel->bytes;
  all->again = all->again >= 0 && kernel->again >= 0 ? all->again + kernel->again : -1;
  all->cycles += kernel->cycles;
  all->bound += kernel->bound;
  for (int32_t q = 0; q < queue_count; q++) {
    all->queues[q].commands += kernel->queues[q].commands;
    all->queues[q].bytes += kernel->queues[q].bytes;
    all->queues[q].busy += kernel->queues[q].busy;
    all->queues[q].stall += kernel->queues[q].stall;
  }
}

/* The longest first; then in the order of kernels, which lie in one array, and of their waits. */
static int compare_waits(const void *a, const void *b) {
  const SummarisedWait *left = a, *right = b;
  if (left->wait->cycles != right->wait->cycles) return left->wait->cycles < right->wait->cycles ? 1 : -1;
  if (left->kernel != right->kernel) return left->kernel < right->kernel ? -1 : 1;
  return (left->wait > right->wait) - (left->wait < right->wait);
}

static void collect_waits(Arena *arena, SimulationSummary *summary) {
  ARRAY(SummarisedWait) waits = {0};
  for (int64_t k = 0; k < summary->simulator->kernels.count; k++) {
    const SimulatedKernel *kernel = &summary->simulator->kernels.data[k];
    for (int64_t w = 0; w < kernel->waits.count; w++)
      array_push(&waits, arena, ((SummarisedWait){kernel, &kernel->waits.data[w].wait, kernel->waits.data[w].of}));
  }
  if (waits.count > 1) qsort(waits.data, (size_t)waits.count, sizeof *waits.data, compare_waits);
  summary->waits = waits.data;
  summary->wait_count = waits.count;
}

SimulationSummary simulation_summary_make(Arena *arena, const QueueSimulator *simulator, SimulationForecast forecast) {
  SimulationSummary summary = {.simulator = simulator, .forecast = forecast, .all = {.limit = ""}};
  int32_t queue_count = simulator->machine->queue_count;
  summary.all.queues = ARENA_NEW_ARRAY(arena, QueueUse, queue_count);
  for (int64_t i = 0; i < simulator->kernels.count; i++)
    add_kernel(&summary.all, &simulator->kernels.data[i], queue_count);
  collect_waits(arena, &summary);
  return summary;
}

/* --- text --- */

static const char *label_of(const SummarisedWait *row, int32_t label) {
  return row->kernel->kernel->commands[label].label;
}

static const char *cause_of(const SummarisedWait *row) {
  return row->of->commands[row->wait->cause].label;
}

static StringView queue_of(const SimulationSummary *summary, int32_t queue) {
  return summary->simulator->machine->queues[queue].name;
}

/* "ex waits for ld (read-after-write)" */
static void append_wait(StringBuilder *out, const SimulationSummary *summary, const SummarisedWait *row) {
  const QueueWait *wait = row->wait;
  sb_printf(out, "%s waits for ", label_of(row, wait->label));
  switch (wait->kind) {
    case WAIT_EDGE:
      sb_printf(out, "%s", cause_of(row));
      if (row->of != row->kernel->kernel) sb_printf(out, " of '%s'", row->of->name);
      sb_printf(out, " (%s)", edge_kind_text(wait->edge));
      return;
    case WAIT_ROOM: sb_printf(out, "room in queue %.*s", SV_ARG(queue_of(summary, wait->cause))); return;
    case WAIT_BARRIER: sb_printf(out, "barrier %s", cause_of(row)); return;
  }
}

static void print_waits(StringBuilder *out, const SimulationSummary *summary) {
  for (int64_t i = 0; i < summary->wait_count && i < SHOWN_WAITS; i++) {
    const SummarisedWait *row = &summary->waits[i];
    sb_printf(out, "  %s %12.0f cycles (%.1f %%) of %.*s at rest: ", i == 0 ? "waits   " : "        ",
              row->wait->cycles, use_percent(row->wait->cycles, summary->all.cycles),
              SV_ARG(queue_of(summary, row->wait->queue)));
    append_wait(out, summary, row);
    sb_printf(out, ", %" PRId64 " time%s, in '%s'\n", row->wait->count, plural_ending(row->wait->count),
              row->kernel->kernel->name);
  }
}

static void print_traffic(StringBuilder *out, const SimulationSummary *summary) {
  const SimulatedKernel *all = &summary->all;
  double rate = (double)all->bytes / all->cycles, most = summary->simulator->machine->memory_bytes_per_cycle;
  sb_printf(out, "  traffic  %" PRId64 " bytes, %.1f a cycle", all->bytes, rate);
  if (most > 0) sb_printf(out, " of at most %.0f (%.1f %%)", most, use_percent(rate, most));
  if (all->again > 0)
    sb_printf(out, "; %" PRId64 " of them (%.1f %%) loaded again by the same launch", all->again,
              use_percent((double)all->again, (double)all->bytes));
  if (all->again == 0) sb_append_cstring(out, "; no launch loads anything again");
  if (summary->forecast.bytes > 0)
    sb_printf(out, "; arguments and results are %" PRId64 " (%.1f %%)", summary->forecast.bytes,
              use_percent((double)summary->forecast.bytes, (double)all->bytes));
  sb_append_char(out, '\n');
}

static void print_queues(StringBuilder *out, const SimulationSummary *summary) {
  const SimulatedKernel *all = &summary->all;
  for (int32_t q = 0; q < summary->simulator->machine->queue_count; q++) {
    const QueueUse *use = &all->queues[q];
    sb_printf(out, "  queue    %.*s: %" PRId64 " commands, busy %.1f %%, waiting %.1f %%, empty %.1f %%\n",
              SV_ARG(queue_of(summary, q)), use->commands, use_percent(use->busy, all->cycles),
              use_percent(use->stall, all->cycles), use_percent(all->cycles - use->busy - use->stall, all->cycles));
  }
}

void simulation_summary_text(StringBuilder *out, const SimulationSummary *summary) {
  const SimulatedKernel *all = &summary->all;
  const MachineDescription *machine = summary->simulator->machine;
  sb_printf(out, "simulated on %.*s: %.0f cycles", SV_ARG(machine->name), all->cycles);
  int64_t kernels = summary->simulator->kernels.count;
  sb_printf(out, " in %" PRId64 " launch%s of %" PRId64 " kernel%s\n", all->launches, all->launches == 1 ? "" : "es",
            kernels, plural_ending(kernels));
  if (all->cycles <= 0) return;
  sb_printf(out, "  bound    %.0f cycles for these commands, efficiency %.1f %%", all->bound,
            use_percent(all->bound, all->cycles));
  if (summary->forecast.bound > 0)
    sb_printf(out, "; %.0f for the module, %.1f %%", summary->forecast.bound,
              use_percent(summary->forecast.bound, all->cycles));
  sb_append_char(out, '\n');
  if (summary->forecast.estimate > 0)
    sb_printf(out, "  estimate %.0f cycles, %+.1f %%\n", summary->forecast.estimate,
              100 * (summary->forecast.estimate / all->cycles - 1));
  print_traffic(out, summary);
  sb_printf(out, "  edges    %" PRId64 ", %" PRId64 " of them redundant; %" PRId64 " barriers, %" PRId64 " races\n",
            all->edges, all->redundant, all->barriers, all->races);
  print_queues(out, summary);
  print_waits(out, summary);
}

/* --- JSON --- */

static void json_counts(JsonWriter *json, const SimulatedKernel *row) {
  json_field_int(json, "launches", row->launches);
  json_field_int(json, "commands", row->commands);
  json_field_double(json, "cycles", row->cycles);
  json_field_double(json, "bound_cycles", row->bound);
  json_field_double(json, "efficiency", use_percent(row->bound, row->cycles) / 100);
  json_field_int(json, "memory_bytes", row->bytes);
  if (row->again >= 0) json_field_int(json, "reloaded_bytes", row->again);
  json_field_int(json, "edges", row->edges);
  json_field_int(json, "redundant_edges", row->redundant);
  json_field_int(json, "barriers", row->barriers);
  json_field_int(json, "races", row->races);
}

static void json_waits(JsonWriter *json, const SimulationSummary *summary) {
  static const char *const kinds[] = {[WAIT_EDGE] = "edge", [WAIT_ROOM] = "room", [WAIT_BARRIER] = "barrier"};
  json_key(json, "waits");
  json_begin_array(json);
  for (int64_t i = 0; i < summary->wait_count && i < TOLD_WAITS; i++) {
    const SummarisedWait *row = &summary->waits[i];
    const QueueWait *wait = row->wait;
    bool is_edge = wait->kind == WAIT_EDGE;
    json_begin_object(json);
    json_field_string(json, "kernel", sv_from_cstring(row->kernel->kernel->name));
    json_field_string(json, "queue", queue_of(summary, wait->queue));
    json_field_string(json, "command", sv_from_cstring(label_of(row, wait->label)));
    json_field_string(json, "for", sv_from_cstring(kinds[wait->kind]));
    if (wait->kind == WAIT_ROOM)
      json_field_string(json, "full_queue", queue_of(summary, wait->cause));
    else
      json_field_string(json, "waits_for", sv_from_cstring(cause_of(row)));
    if (row->of != row->kernel->kernel) json_field_string(json, "waits_for_kernel", sv_from_cstring(row->of->name));
    if (is_edge) json_field_string(json, "edge", sv_from_cstring(edge_kind_text(wait->edge)));
    json_field_int(json, "count", wait->count);
    json_field_double(json, "cycles", wait->cycles);
    json_field_double(json, "longest", wait->longest);
    json_end_object(json);
  }
  json_end_array(json);
}

void simulation_summary_json(JsonWriter *json, const SimulationSummary *summary) {
  json_begin_object(json);
  json_field_string(json, "machine", summary->simulator->machine->name);
  json_counts(json, &summary->all);
  if (summary->forecast.estimate > 0) json_field_double(json, "estimate_cycles", summary->forecast.estimate);
  if (summary->forecast.bound > 0) json_field_double(json, "module_bound_cycles", summary->forecast.bound);
  if (summary->forecast.bytes > 0) json_field_int(json, "argument_and_result_bytes", summary->forecast.bytes);
  queue_uses_write_json(json, summary->simulator->machine, summary->all.queues);
  json_waits(json, summary);
  json_key(json, "kernels");
  json_begin_array(json);
  for (int64_t k = 0; k < summary->simulator->kernels.count; k++) {
    const SimulatedKernel *kernel = &summary->simulator->kernels.data[k];
    json_begin_object(json);
    json_field_string(json, "name", sv_from_cstring(kernel->kernel->name));
    json_counts(json, kernel);
    json_field_string(json, "limit", sv_from_cstring(kernel->limit));
    json_end_object(json);
  }
  json_end_array(json);
  json_end_object(json);
}
