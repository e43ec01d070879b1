#include "cli/session_trace.h"

#include "base/json_writer.h"

/* Processes and threads of the trace are rows of the picture. */
enum { PROCESS_COMPILER, PROCESS_MACHINE };
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
  if (session->timeline != NULL) add_machine(&writer, session);
  json_end_array(&writer.json);
  json_end_object(&writer.json);
  sb_append_char(&text, '\n');
  return driver_add_output(session, session_option_text(session, OPTION_TRACE, ""), sb_view(&text));
}
