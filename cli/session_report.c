#include "cli/session_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic_clock.h"
#include "compiler/compilation_facts.h"

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
  double total = monotonic_seconds() - session->started;
  fprintf(stderr, "%10s  %s\n", "seconds", "phase");
  for (int64_t i = 0; i < session->compilation.phases.list.count; i++)
    fprintf(stderr, "%10.6f  %s\n", session->compilation.phases.list.data[i].seconds,
            session->compilation.phases.list.data[i].name);
  fprintf(stderr, "%10.6f  total\n", total);
  if (!session->compilation.pipeline) return;
  int64_t count;
  const HloPassStatistics *rows = hlo_pass_pipeline_statistics(session->compilation.pipeline, &count);
  fprintf(stderr, "%10s  %s\n", "seconds", "pass");
  for (int64_t i = 0; i < count; i++)
    fprintf(stderr, "%10.6f  %s%s\n", rows[i].seconds, rows[i].pass->name, rows[i].changed ? "" : " (no change)");
}

static void print_statistics(const Session *session) {
  if (session->options->command == COMMAND_PLAN || session->options->command == COMMAND_REDUCE) {
    fprintf(stderr, "%.*s", SV_ARG(session->statistics));
    return;
  }
  if (session->options->command == COMMAND_CACHE) return; /* its answer */
  CompilationFacts facts = compilation_facts(&session->compilation, session->arena);
  for (int64_t i = 0; i < facts.count; i++)
    fprintf(stderr, "%14lld  %s\n", (long long)facts.data[i].value, facts.data[i].text);
  fprintf(stderr, "%.*s", SV_ARG(session->simulation));
  if (!session->compilation.pipeline) return;
  const HloRewriteLog *log = hlo_pass_pipeline_rewrites(session->compilation.pipeline);
  for (int64_t i = 0; i < log->counts.count; i++) {
    const HloRewriteCount *row = &log->counts.data[i];
    fprintf(stderr, "%14lld  %s: %s\n", (long long)row->count, row->pass->name, row->rule ? row->rule : "runs");
  }
}

/* For the search that halves the limit: how far it went, and what it did last. */
static void print_last_step(const Session *session) {
  const HloRewriteLog *log = hlo_pass_pipeline_rewrites(session->compilation.pipeline);
  fprintf(stderr, "xlac: %lld of at most %lld steps", (long long)log->steps, (long long)log->limit);
  if (log->last_pass) fprintf(stderr, "; the last: %s", log->last_pass->name);
  if (log->last_rule) fprintf(stderr, ": %s", log->last_rule);
  if (log->last_instruction.size > 0) fprintf(stderr, " at '%.*s'", SV_ARG(log->last_instruction));
  fprintf(stderr, "\n");
}

void session_report_print(const Session *session) {
  session_report_diagnostics(session->options, session->diag, session->compilation.module);
  if (session_option_given(session, OPTION_PASS_LIMIT) && session->compilation.pipeline) print_last_step(session);
  if (!session_option_given(session, OPTION_QUIET)) fprintf(stderr, "%.*s", SV_ARG(session->simulation_summary));
  if (session_option_given(session, OPTION_STATS)) print_statistics(session);
  if (session_option_given(session, OPTION_TIME_REPORT)) print_times(session);
}
