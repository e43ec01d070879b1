#include "compiler/network_report.h"

#include <stdlib.h>

#include "compiler/collective_report.h"

/* --- one device that does all of it --- */

/* Seconds that the description's device takes for the whole model, estimated; false: there is no such program. */
static bool whole_estimate(Compilation *compilation, const NetworkQuestion *question, double *out_seconds) {
  if (compilation->whole.parameters == NULL) return false;
  CompilationOptions options = compilation->options;
  options.partitions = 1;
  options.pass_observer = NULL;
  options.progress = NULL;
  options.records_decisions = false;
  DiagSink diag;
  diag_sink_init(&diag, compilation->arena);
  Compilation whole;
  compilation_init(&whole, compilation->arena, &options, &diag);
  if (compilation_load(&whole, compilation->source) != STATUS_OK || compilation_run_passes(&whole) != STATUS_OK)
    return false;
  NetworkPlan plan;
  if (network_plan_make(compilation->arena, whole.module, question->network, 1, &diag, &plan) != STATUS_OK)
    return false;
  *out_seconds = plan.seconds;
  return true;
}

Status compilation_plan_network(Compilation *compilation, const NetworkQuestion *question) {
  RETURN_IF_ERROR(compilation_require_assignment(compilation));
  const BufferAssignment *assignment = compilation->assignment;
  NetworkReport *report = ARENA_NEW(compilation->arena, NetworkReport);
  *report = (NetworkReport){.network = *question->network, .measured_seconds = question->measured_seconds, .scale = 1};
  double estimate = 0;
  report->has_whole = whole_estimate(compilation, question, &estimate);
  report->whole_seconds = estimate;
  if (question->measured_seconds > 0) {
    if (!report->has_whole || estimate == 0)
      return diag_error(compilation->diag, STATUS_INVALID, NO_LOC, "network-measured",
                        "no one device runs all of this model, so that a measurement of one tells nothing");
    report->whole_seconds = question->measured_seconds;
    report->scale = question->measured_seconds / estimate;
  }
  report->memory_bytes = buffer_assignment_outside_bytes(assignment) + assignment->workspace_bytes;
  report->constant_bytes = assignment->constant_bytes;
  RETURN_IF_ERROR(network_plan_make(compilation->arena, compilation->module, question->network, report->scale,
                                    compilation->diag, &report->plan));
  compilation->network = report;
  return STATUS_OK;
}

/* --- what both forms say --- */

bool network_report_is_there(const Compilation *compilation) {
  return compilation->network != NULL;
}

static int by_time(const void *a, const void *b) {
  const NetworkRow *x = *(const NetworkRow *const *)a, *y = *(const NetworkRow *const *)b;
  double first = x->traffic->times * x->time.seconds, second = y->traffic->times * y->time.seconds;
  if (first != second) return first > second ? -1 : 1;
  return (x > y) - (x < y); /* one array: in the order of the program */
}

/* Those that take the most first. */
static const NetworkRow **sorted_rows(const NetworkPlan *plan, Arena *arena) {
  const NetworkRow **rows = ARENA_NEW_ARRAY(arena, const NetworkRow *, plan->row_count);
  for (int64_t i = 0; i < plan->row_count; i++) rows[i] = &plan->rows[i];
  if (plan->row_count > 0) qsort(rows, (size_t)plan->row_count, sizeof *rows, by_time);
  return rows;
}

static double waiting_seconds(const NetworkPlan *plan) {
  double waiting = plan->seconds - network_plan_compute(plan);
  return waiting > 0 ? waiting : 0;
}

/* How many times as fast as one device. */
static double speed_up(const NetworkReport *report) {
  return report->plan.seconds > 0 ? report->whole_seconds / report->plan.seconds : 0;
}

static double efficiency(const NetworkReport *report) {
  return speed_up(report) / (double)device_counts_total(report->plan.devices);
}

static StringView level_name(const NetworkReport *report, int level) {
  return level >= 0 ? report->network.levels[level].name : SV("");
}

/* --- text --- */

static void append_seconds(StringBuilder *out, double seconds, const char *what) {
  static const struct {
    double limit, unit;
    const char *name;
  } units[] = {{1e-3, 1e-6, "us"}, {1, 1e-3, "ms"}};
  size_t u = 0;
  while (u < sizeof units / sizeof units[0] && seconds >= units[u].limit) u++;
  bool is_small = u < sizeof units / sizeof units[0];
  sb_printf(out, "%11.3f %-2s  %s", is_small ? seconds / units[u].unit : seconds, is_small ? units[u].name : "s", what);
}

static void step_text(StringBuilder *out, const NetworkReport *report) {
  const NetworkPlan *plan = &report->plan;
  append_seconds(out, plan->seconds, "for a step, estimated\n");
  append_seconds(out, network_plan_compute(plan), "of them computing\n");
  append_seconds(out, plan->flop_seconds, "  operations\n");
  append_seconds(out, plan->memory_seconds, "  bytes of memory\n");
  append_seconds(out, plan->call_seconds, "  instructions by themselves\n");
  append_seconds(out, waiting_seconds(plan), "of them waiting for collectives\n");
  append_seconds(out, plan->transfers.seconds, "that collectives take, each by itself\n");
  for (int l = 0; l < report->network.level_count; l++) {
    append_seconds(out, plan->transfers.latency_seconds[l], "  latency of level");
    sb_printf(out, " '%.*s'\n", SV_ARG(level_name(report, l)));
    append_seconds(out, plan->transfers.byte_seconds[l], "  bandwidth of level");
    sb_printf(out, " '%.*s'\n", SV_ARG(level_name(report, l)));
  }
  append_seconds(out, plan->transfers.reduce_seconds, "  reductions\n");
}

static void bound_text(StringBuilder *out, const NetworkReport *report) {
  int level;
  double seconds;
  const char *bound = network_plan_bound(&report->plan, &level, &seconds);
  append_seconds(out, seconds, "is the largest part: ");
  sb_append_cstring(out, bound);
  if (level >= 0) sb_printf(out, " of level '%.*s'", SV_ARG(level_name(report, level)));
  sb_append_char(out, '\n');
  if (!report->has_whole) return;
  append_seconds(out, report->whole_seconds, "on one device, ");
  sb_append_cstring(out, report->measured_seconds > 0 ? "measured\n" : "estimated\n");
  if (report->measured_seconds > 0) sb_printf(out, "%14.3f  times what was estimated\n", report->scale);
  sb_printf(out, "%14.3f  times as fast as one device\n%14.3f  of what the devices could do together\n",
            speed_up(report), efficiency(report));
}

static void memory_text(StringBuilder *out, const NetworkReport *report) {
  int64_t needed = report->memory_bytes + report->constant_bytes, there = report->network.device.memory;
  sb_printf(out, "%14lld  bytes of memory of each device", (long long)needed);
  if (there > 0) sb_printf(out, ", which has %lld%s", (long long)there, needed > there ? ": it does not fit" : "");
  sb_printf(out, "\n%14.0f  bytes sent by each device\n", report->plan.wire_bytes);
  if (report->plan.unknown_loops > 0)
    sb_printf(out, "%14lld  loops of which nobody knows how often they run, counted once\n",
              (long long)report->plan.unknown_loops);
}

void network_report_text(StringBuilder *out, const Compilation *compilation) {
  const NetworkReport *report = compilation->network;
  sb_printf(out, "  %.*s: %lld devices\n", SV_ARG(report->network.name),
            (long long)device_counts_total(report->plan.devices));
  step_text(out, report);
  bound_text(out, report);
  memory_text(out, report);
  const NetworkRow **rows = sorted_rows(&report->plan, compilation->arena);
  for (int64_t i = 0; i < report->plan.row_count; i++) {
    const CollectiveTraffic *traffic = rows[i]->traffic;
    append_seconds(out, traffic->times * rows[i]->time.seconds, "");
    sb_printf(out, "%.*s: %s, %lld in a group, %.0f times, %lld bytes sent  %.*s\n", SV_ARG(traffic->collective->name),
              hlo_opcode_text(traffic->opcode), (long long)traffic->group_size, traffic->times,
              (long long)traffic->wire_bytes,
              SV_ARG(collective_report_origin(traffic->collective, compilation->arena)));
  }
}

/* --- JSON --- */

static void transfer_json(JsonWriter *json, const NetworkReport *report, const NetworkTime *time) {
  json_field_double(json, "reduce_s", time->reduce_seconds);
  json_key(json, "levels");
  json_begin_array(json);
  for (int l = 0; l < report->network.level_count; l++) {
    json_begin_object(json);
    json_field_string(json, "level", level_name(report, l));
    json_field_double(json, "latency_s", time->latency_seconds[l]);
    json_field_double(json, "bandwidth_s", time->byte_seconds[l]);
    json_end_object(json);
  }
  json_end_array(json);
}

static void step_json(JsonWriter *json, const NetworkReport *report) {
  const NetworkPlan *plan = &report->plan;
  int level;
  double seconds;
  json_field_double(json, "step_s", plan->seconds);
  json_field_double(json, "compute_s", network_plan_compute(plan));
  json_field_double(json, "flop_s", plan->flop_seconds);
  json_field_double(json, "memory_s", plan->memory_seconds);
  json_field_double(json, "call_s", plan->call_seconds);
  json_field_double(json, "waiting_s", waiting_seconds(plan));
  json_field_double(json, "collectives_s", plan->transfers.seconds);
  transfer_json(json, report, &plan->transfers);
  json_field_string(json, "bound", sv_from_cstring(network_plan_bound(plan, &level, &seconds)));
  json_field_string(json, "bound_level", level_name(report, level));
  json_field_double(json, "bound_s", seconds);
}

static void row_json(JsonWriter *json, const NetworkReport *report, const NetworkRow *row, Arena *arena) {
  json_begin_object(json);
  json_field_string(json, "instruction", row->traffic->collective->name);
  json_field_string(json, "opcode", sv_from_cstring(hlo_opcode_text(row->traffic->opcode)));
  json_field_string(json, "origin", collective_report_origin(row->traffic->collective, arena));
  json_field_int(json, "group_size", row->traffic->group_size);
  json_field_double(json, "times", row->traffic->times);
  json_field_int(json, "wire_bytes", row->traffic->wire_bytes);
  json_field_double(json, "seconds", row->time.seconds);
  transfer_json(json, report, &row->time);
  json_end_object(json);
}

void network_report_json(JsonWriter *json, const Compilation *compilation) {
  const NetworkReport *report = compilation->network;
  json_begin_object(json);
  json_field_string(json, "network", report->network.name);
  json_field_int(json, "devices", device_counts_total(report->plan.devices));
  step_json(json, report);
  if (report->has_whole) {
    json_field_double(json, "one_device_s", report->whole_seconds);
    json_field_bool(json, "measured", report->measured_seconds > 0);
    json_field_double(json, "scale", report->scale);
    json_field_double(json, "speed_up", speed_up(report));
    json_field_double(json, "efficiency", efficiency(report));
  }
  json_field_int(json, "memory_bytes", report->memory_bytes + report->constant_bytes);
  json_field_int(json, "device_memory_bytes", report->network.device.memory);
  json_field_double(json, "wire_bytes", report->plan.wire_bytes);
  json_field_int(json, "unknown_loops", report->plan.unknown_loops);
  json_key(json, "rows");
  json_begin_array(json);
  const NetworkRow **rows = sorted_rows(&report->plan, compilation->arena);
  for (int64_t i = 0; i < report->plan.row_count; i++) row_json(json, report, rows[i], compilation->arena);
  json_end_array(json);
  json_end_object(json);
}
