#include "cli/session_trace.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/json_writer.h"

/* Processes and threads of the trace are rows of the picture. */
enum { PROCESS_COMPILER, PROCESS_MACHINE, PROCESS_BUFFER };
enum { THREAD_PHASES, THREAD_PASSES };
enum { THREAD_KERNELS, THREAD_FIRST_QUEUE };

typedef struct TraceWriter {
  JsonWriter json;
  int process, thread; /* of the events that follow */
} TraceWriter;

static void begin_event(TraceWriter *writer, const char *kind, StringView name) {
  json_begin_object(&writer->json);
  json_field_string(&writer->json, "ph", sv_from_cstring(kind));
  json_field_string(&writer->json, "name", name);
  json_field_int(&writer->json, "pid", writer->process);
  json_field_int(&writer->json, "tid", writer->thread);
}

/* |what|: "process_name" or "thread_name". */
static void add_name(TraceWriter *writer, const char *what, StringView name) {
  begin_event(writer, "M", sv_from_cstring(what));
  json_key(&writer->json, "args");
  json_begin_object(&writer->json);
  json_field_string(&writer->json, "name", name);
  json_end_object(&writer->json);
  json_end_object(&writer->json);
}

/* In microseconds, as the format has it, or cycles. */
static void add_stretch(TraceWriter *writer, StringView name, double begin, double length) {
  begin_event(writer, "X", name);
  json_field_double(&writer->json, "ts", begin);
  json_field_double(&writer->json, "dur", length);
  json_end_object(&writer->json);
}

static void add_compiler(TraceWriter *writer, const Session *session) {
  writer->process = PROCESS_COMPILER;
  writer->thread = THREAD_PHASES;
  add_name(writer, "process_name", SV("xlac"));
  add_name(writer, "thread_name", SV("phases"));
  for (int64_t i = 0; i < session->compilation.phases.list.count; i++) {
    const PhaseTime *phase = &session->compilation.phases.list.data[i];
    add_stretch(writer, sv_from_cstring(phase->name), 1e6 * (phase->begin - session->started), 1e6 * phase->seconds);
  }
  if (session->compilation.pipeline == NULL) return;
  int64_t count;
  const HloPassStatistics *rows = hlo_pass_pipeline_statistics(session->compilation.pipeline, &count);
  writer->thread = THREAD_PASSES;
  add_name(writer, "thread_name", SV("passes"));
  for (int64_t i = 0; i < count; i++) {
    add_stretch(writer, sv_from_cstring(rows[i].pass->name), 1e6 * (rows[i].begin - session->started),
                1e6 * rows[i].seconds);
  }
}

static void add_machine(TraceWriter *writer, const Session *session) {
  const QueueTimeline *timeline = session->timeline;
  const MachineDescription *machine = session->compilation.options.machine;
  writer->process = PROCESS_MACHINE;
  writer->thread = THREAD_KERNELS;
  add_name(writer, "process_name", sv_printf(session->arena, "%.*s, cycles as microseconds", SV_ARG(machine->name)));
  add_name(writer, "thread_name", SV("kernels"));
  for (int64_t i = 0; i < timeline->launches.count; i++) {
    const TimelineLaunch *launch = &timeline->launches.data[i];
    add_stretch(writer, sv_from_cstring(launch->kernel), launch->begin, launch->end - launch->begin);
  }
  for (int32_t q = 0; q < machine->queue_count; q++) {
    writer->thread = THREAD_FIRST_QUEUE + q;
    add_name(writer, "thread_name", sv_printf(session->arena, "queue %.*s", SV_ARG(machine->queues[q].name)));
  }
  for (int64_t i = 0; i < timeline->commands.count; i++) {
    const TimelineCommand *command = &timeline->commands.data[i];
    writer->thread = THREAD_FIRST_QUEUE + command->queue;
    add_stretch(writer, sv_from_cstring(command->label), command->begin, command->end - command->begin);
  }
}

/* --- the Buffer --- */

/* What the number of bytes in use changes by, and when. */
typedef struct BytesChange {
  double time;
  int64_t bytes;
} BytesChange;

/* What ends comes before what begins at that time. */
static int compare_changes(const void *a, const void *b) {
  const BytesChange *left = a, *right = b;
  if (left->time != right->time) return left->time < right->time ? -1 : 1;
  return (left->bytes > right->bytes) - (left->bytes < right->bytes);
}

static void add_count(TraceWriter *writer, double time, int64_t bytes) {
  begin_event(writer, "C", SV("bytes in use"));
  json_field_double(&writer->json, "ts", time);
  json_key(&writer->json, "args");
  json_begin_object(&writer->json);
  json_field_int(&writer->json, "bytes", bytes);
  json_end_object(&writer->json);
  json_end_object(&writer->json);
}

static void add_bytes_in_use(TraceWriter *writer, const Session *session) {
  const QueueTimeline *timeline = session->timeline;
  int64_t count = 2 * timeline->stretches.count, bytes = 0, told = -1;
  BytesChange *changes = ARENA_NEW_ARRAY(session->arena, BytesChange, count);
  for (int64_t i = 0; i < timeline->stretches.count; i++) {
    const TimelineStretch *stretch = &timeline->stretches.data[i];
    changes[2 * i] = (BytesChange){stretch->begin, stretch->high - stretch->low};
    changes[2 * i + 1] = (BytesChange){stretch->end, stretch->low - stretch->high};
  }
  if (count > 1) qsort(changes, (size_t)count, sizeof *changes, compare_changes);
  for (int64_t i = 0; i < count; i++) {
    bytes += changes[i].bytes;
    bool is_last = i + 1 == count || changes[i + 1].time > changes[i].time;
    if (!is_last || bytes == told) continue;
    add_count(writer, changes[i].time, bytes);
    told = bytes;
  }
}

static int compare_places(const void *a, const void *b) {
  const TimelineStretch *left = *(TimelineStretch *const *)a, *right = *(TimelineStretch *const *)b;
  if (left->low != right->low) return left->low < right->low ? -1 : 1;
  if (left->high != right->high) return left->high < right->high ? -1 : 1;
  return (left->begin > right->begin) - (left->begin < right->begin);
}

/* A row for each place, in the order of addresses. */
static void add_places(TraceWriter *writer, const Session *session) {
  const QueueTimeline *timeline = session->timeline;
  int64_t count = timeline->stretches.count;
  const TimelineStretch **sorted = ARENA_NEW_ARRAY(session->arena, const TimelineStretch *, count);
  for (int64_t i = 0; i < count; i++) sorted[i] = &timeline->stretches.data[i];
  if (count > 1) qsort(sorted, (size_t)count, sizeof *sorted, compare_places);
  for (int64_t i = 0; i < count; i++) {
    const TimelineStretch *stretch = sorted[i];
    bool is_new = i == 0 || sorted[i - 1]->low != stretch->low || sorted[i - 1]->high != stretch->high;
    if (is_new) {
      writer->thread++;
      add_name(writer, "thread_name",
               sv_printf(session->arena, "[%" PRId64 ", %" PRId64 ")", stretch->low, stretch->high));
    }
    add_stretch(writer, sv_from_cstring(stretch->label), stretch->begin, stretch->end - stretch->begin);
  }
}

static void add_buffer(TraceWriter *writer, const Session *session) {
  writer->process = PROCESS_BUFFER;
  writer->thread = 0;
  add_name(writer, "process_name",
           sv_printf(session->arena, "Buffer of %.*s", SV_ARG(session->compilation.options.machine->name)));
  add_bytes_in_use(writer, session);
  add_places(writer, session);
}

Status session_trace_add(Session *session) {
  if (!session_option_given(session, OPTION_TRACE)) return STATUS_OK;
  StringBuilder text;
  TraceWriter writer = {0};
  sb_init(&text, session->arena);
  json_init(&writer.json, &text, false);
  json_begin_object(&writer.json);
  json_key(&writer.json, "traceEvents");
  json_begin_array(&writer.json);
  add_compiler(&writer, session);
  if (session->timeline != NULL) {
    add_machine(&writer, session);
    add_buffer(&writer, session);
  }
  json_end_array(&writer.json);
  json_end_object(&writer.json);
  sb_append_char(&text, '\n');
  return driver_add_output(session, session_option_text(session, OPTION_TRACE, ""), sb_view(&text));
}
