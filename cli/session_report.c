#include "cli/session_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

static bool terminal_takes_color(void) {
  const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
  return isatty(STDERR_FILENO) && !(no_color && no_color[0]) && terminal && strcmp(terminal, "dumb") != 0;
}

DiagnosticStyle session_report_style(const Options *options) {
  const OptionValue *values = options->values;
  int64_t color = values[OPTION_COLOR].given ? values[OPTION_COLOR].integer : COLOR_AUTO;
  return (DiagnosticStyle){
      .json = values[OPTION_DIAGNOSTICS_FORMAT].given && values[OPTION_DIAGNOSTICS_FORMAT].integer == 1,
      .color = color == COLOR_ALWAYS || (color == COLOR_AUTO && terminal_takes_color()),
      .show_codes = values[OPTION_VERBOSE].given,
      .hide_warnings = values[OPTION_QUIET].given && !values[OPTION_WARNINGS].given,
      .warnings_are_errors = values[OPTION_WARNINGS].given};
}

void session_report_diagnostics(const Options *options, const DiagSink *diag, const HloModule *module) {
  Arena *arena = arena_create();
  StringBuilder text;
  sb_init(&text, arena);
  DiagnosticStyle style = session_report_style(options);
  diagnostics_print(&text, diag, &style, module);
  fwrite(text.data ? text.data : "", 1, text.size, stderr);
  arena_destroy(arena);
}

static void print_times(const Session *session) {
  double total = driver_seconds_now() - session->started;
  fprintf(stderr, "%10s  %s\n", "seconds", "phase");
  for (int64_t i = 0; i < session->phases.count; i++)
    fprintf(stderr, "%10.6f  %s\n", session->phases.data[i].seconds, session->phases.data[i].name);
  fprintf(stderr, "%10.6f  total\n", total);
  if (!session->pipeline) return;
  int64_t count;
  const HloPassStatistics *rows = hlo_pass_pipeline_statistics(session->pipeline, &count);
  fprintf(stderr, "%10s  %s\n", "seconds", "pass");
  for (int64_t i = 0; i < count; i++)
    fprintf(stderr, "%10.6f  %s%s\n", rows[i].seconds, rows[i].pass->name, rows[i].changed ? "" : " (no change)");
}

static int64_t instruction_count(const HloModule *module) {
  int64_t count = 0;
  for (int64_t i = 0; i < module->computations.count; i++) count += module->computations.data[i]->instructions.count;
  return count;
}

static void print_statistic(long long value, const char *name) {
  fprintf(stderr, "%14lld  %s\n", value, name);
}

static void print_statistics(const Session *session) {
  if (!session->module) return;
  print_statistic(session->module->computations.count, "computations");
  print_statistic(instruction_count(session->module), "instructions");
  if (session->pipeline) {
    int64_t count, changing = 0;
    const HloPassStatistics *rows = hlo_pass_pipeline_statistics(session->pipeline, &count);
    for (int64_t i = 0; i < count; i++) changing += rows[i].changed;
    print_statistic(count, "passes run");
    print_statistic(changing, "passes that changed the module");
    if (count > 0) print_statistic(rows[0].instructions_before, "instructions before the passes");
  }
  if (session->object.distinct_kernel_count > 0) {
    print_statistic(session->object.kernel_count, "kernels");
    print_statistic(session->object.distinct_kernel_count, "distinct kernels");
  }
  const BufferAssignment *assignment = session->module->buffer_assignment;
  if (!assignment) return;
  print_statistic(assignment->allocation_count, "allocations");
  print_statistic(assignment->buffer_count, "buffers");
  print_statistic(assignment->argument_bytes, "argument bytes");
  print_statistic(assignment->result_bytes, "result bytes");
  print_statistic(assignment->aliased_bytes, "of them shared with arguments");
  print_statistic(assignment->constant_bytes, "constant bytes");
  print_statistic(assignment->workspace_bytes, "temporary bytes");
  print_statistic(assignment->lower_bound_bytes, "lower bound of temporary bytes");
}

void session_report_print(const Session *session) {
  session_report_diagnostics(session->options, session->diag, session->module);
  if (option_given(session, OPTION_STATS)) print_statistics(session);
  if (option_given(session, OPTION_TIME_REPORT)) print_times(session);
}
