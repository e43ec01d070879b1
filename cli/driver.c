#include "cli/driver.h"

#include <stdio.h>
#include <string.h>

#include "base/file_io.h"
#include "base/monotonic_clock.h"
#include "base/utf8.h"
#include "cli/exit_code.h"
#include "cli/hlo_dump.h"
#include "cli/process_end.h"
#include "cli/run_memory.h"
#include "cli/session_report.h"
#include "cli/session_trace.h"
#include "compiler/compilation_report.h"
#include "compiler/options/compilation_setup.h"
#include "compiler/options/target.h"
#include "compiler/program.h"

enum { LARGEST_BUFFERS_SHOWN = 20, ERROR_LIMIT = 50 };

bool session_option_given(const Session *session, OptionId id) {
  return session->options->values[id].given;
}

const char *session_option_text(const Session *session, OptionId id, const char *fallback) {
  const OptionValue *value = &session->options->values[id];
  return value->given && value->text ? value->text : fallback;
}

int64_t session_option_integer(const Session *session, OptionId id, int64_t fallback) {
  const OptionValue *value = &session->options->values[id];
  return value->given ? value->integer : fallback;
}

double driver_end_phase(Session *session, const char *name, double start) {
  return phase_times_end(&session->compilation.phases, name, start);
}

/* --- the session --- */

void driver_doing(const Session *session, const char *what, const char *name) {
  time_limit_doing(session->time_limit, what, name);
  progress_line_doing(session->progress_line, what, name);
  process_end_doing(what, name);
}

static Status begin_step(void *self, const char *what, const char *name) {
  const Session *session = self;
  driver_doing(session, what, name);
  return STATUS_OK;
}

void session_begin(Session *session, const Options *options, Arena *arena, DiagSink *diag) {
  *session = (Session){.options = options, .arena = arena, .diag = diag, .started = monotonic_seconds()};
  CompilationOptions compilation_options = compilation_setup(arena, options);
  session->progress = (CompilationProgress){session, begin_step};
  compilation_options.progress = &session->progress;
  compilation_init(&session->compilation, arena, &compilation_options, diag);
  session->outputs = output_files_create(arena);
  session->progress_line = progress_line_start(arena, options);
  diag->error_limit = ERROR_LIMIT;
}

void session_begin_model(Session *session, int64_t model) {
  CompilationOptions options = session->compilation.options;
  session->model = model;
  compilation_init(&session->compilation, session->arena, &options, session->diag);
}

static void report_written(const Session *session) {
  StringBuilder text;
  sb_init(&text, session->arena);
  for (int64_t i = 0; i < session->written.count; i++) {
    const OutputNote *note = &session->written.data[i];
    if (file_is_stream(note->path)) continue;
    sb_append_cstring(&text, "xlac: wrote '");
    sb_append_visible(&text, sv_from_cstring(note->path), false);
    sb_printf(&text, "' (%zu bytes)\n", note->size);
  }
  fprintf(stderr, "%.*s", SV_ARG(sb_view(&text)));
}

static Status finish_outputs(Session *session, Status status) {
  bool refused =
      status == STATUS_OK && session_option_given(session, OPTION_WARNINGS) && session->diag->warning_count > 0;
  if (refused) status = STATUS_INVALID;
  /* A mismatch is a finding, not a failure to produce results. */
  if (status != STATUS_OK && status != STATUS_MISMATCH && !session->keeps_outputs) {
    output_files_abort(session->outputs);
    return status;
  }
  double start = monotonic_seconds();
  Status written = output_files_commit(session->outputs, session->diag);
  if (written == STATUS_OK) process_end_set_outcome(exit_code_from_status(status));
  driver_end_phase(session, "write", start);
  if (written == STATUS_OK && session_option_given(session, OPTION_VERBOSE)) report_written(session);
  return written != STATUS_OK ? written : status;
}

/* --report. */
static Status add_report(Session *session) {
  if (!session_option_given(session, OPTION_REPORT) || session->report_is_answer || session->compilation.module == NULL)
    return STATUS_OK;
  StringBuilder text;
  sb_init(&text, session->arena);
  compilation_print_report(&session->compilation,
                           (CompilationReportFormat)session_option_integer(session, OPTION_REPORT, 0), &text);
  return driver_add_output(session, session_option_text(session, OPTION_REPORT_FILE, "-"), sb_view(&text));
}

static void end_progress(Session *session) {
  progress_line_end(session->progress_line);
  session->progress_line = NULL;
}

int session_end(Session *session, Status status) {
  end_progress(session);
  if (status == STATUS_OK || status == STATUS_MISMATCH) {
    Status reported = add_report(session);
    if (reported == STATUS_OK) reported = session_trace_add(session);
    if (reported != STATUS_OK) status = reported;
  }
  status = finish_outputs(session, status);
  session_report_print(session);
  return exit_code_from_status(status);
}

int session_end_usage(Session *session) {
  end_progress(session);
  output_files_abort(session->outputs);
  session_report_print(session);
  return EXIT_USAGE;
}

/* --- steps --- */

/* The machine, and the input file's text, which lives as long as the session: diagnostics show it. */
static Status read_input(Session *session, const SourceFile **out_source) {
  RETURN_IF_ERROR(target_load(session->arena, session->options, session->diag, &session->compilation.options.machine));
  double start = monotonic_seconds();
  driver_doing(session, "reading the module", NULL);
  const char *path = session->options->operands.data[session->model];
  SourceFile *source = ARENA_NEW(session->arena, SourceFile);
  source->name = path[0] == '-' && path[1] == '\0' ? SV("<stdin>") : sv_from_cstring(path);
  RETURN_IF_ERROR(file_read(session->arena, path, session->diag, &source->text));
  *out_source = source;
  driver_end_phase(session, "read", start);
  return STATUS_OK;
}

/* A program of its own: NAME.vplan. */
static Status load_program(Session *session, const SourceFile *source) {
  if (session_option_given(session, OPTION_PLAN))
    return diag_error(session->diag, STATUS_INVALID, NO_LOC, "plan-program",
                      "'--plan' is for models: a program is its own plan");
  return compilation_load_program(&session->compilation, source);
}

Status driver_load(Session *session, bool verify) {
  const SourceFile *source;
  RETURN_IF_ERROR(read_input(session, &source));
  if (program_is_named(source->name)) return load_program(session, source);
  RETURN_IF_ERROR(compilation_parse(&session->compilation, source));
  return verify ? compilation_verify(&session->compilation) : STATUS_OK;
}

Status driver_load_to_run(Session *session) {
  const SourceFile *source;
  RETURN_IF_ERROR(read_input(session, &source));
  if (program_is_named(source->name)) return load_program(session, source);
  return compilation_load(&session->compilation, source);
}

Status driver_read_plan_file(Session *session, const char *path) {
  SourceFile *source = ARENA_NEW(session->arena, SourceFile);
  source->name = sv_from_cstring(path);
  RETURN_IF_ERROR(file_read(session->arena, path, session->diag, &source->text));
  session->compilation.options.plans = source;
  return STATUS_OK;
}

/* For people the notes on the largest buffers become one table; JSON keeps them, each with its place. */
static void tabulate_peak_buffers(Session *session) {
  const Compilation *compilation = &session->compilation;
  bool json = session_option_integer(session, OPTION_DIAGNOSTICS_FORMAT, 0) == 1;
  if (json || !compilation->assignment || !session->diag->last) return;
  StringBuilder table;
  sb_init(&table, session->arena);
  report_peak_buffers(&table, compilation->module, compilation->assignment, LARGEST_BUFFERS_SHOWN);
  session->diag->last->notes = NULL;
  diag_note(session->diag, NO_LOC, "the largest buffers alive at the peak:\n%.*s", SV_ARG(sb_view(&table)));
}

Status driver_run_passes(Session *session) {
  Compilation *compilation = &session->compilation;
  const char *plans = session_option_text(session, OPTION_PLAN, NULL);
  if (plans != NULL) RETURN_IF_ERROR(driver_read_plan_file(session, plans));
  HloDump dump;
  hlo_dump_init(&dump, session);
  compilation->options.pass_observer = &dump.observer;
  Status status = compilation_run_passes(compilation);
  compilation->options.pass_observer = NULL;
  if (status == STATUS_EXHAUSTED) tabulate_peak_buffers(session);
  return status;
}

Status driver_check_files(Session *session, const OutputDefault *defaults, int count) {
  file_uses_init(&session->files, session->arena, session->options, defaults, count);
  return file_uses_check(&session->files, session->diag);
}

Status driver_check_places(const Session *session) {
  if (session_option_given(session, OPTION_DUMP_DIR)) return STATUS_OK; /* which is made later, with what is in it */
  for (int64_t i = 0; i < session->files.list.count; i++) {
    const FileUse *use = &session->files.list.data[i];
    if (use->is_written && session_option_given(session, use->id))
      RETURN_IF_ERROR(output_files_check(session->outputs, use->path, session->diag));
  }
  return STATUS_OK;
}

Status driver_check_format(Session *session, const int *formats, int count) {
  const OptionValue *given = &session->options->values[OPTION_FORMAT];
  if (!given->given) return STATUS_OK;
  for (int i = 0; i < count; i++) {
    if (given->integer == formats[i]) return STATUS_OK;
  }
  StringBuilder words;
  sb_init(&words, session->arena);
  for (int i = 0; i < count; i++)
    sb_printf(&words, "%s'%.*s'", i > 0 ? ", " : "", SV_ARG(option_word(OPTION_FORMAT, formats[i])));
  return diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage", "'%s' has no '--format=%s', but %.*s",
                    command_info(session->options->command)->word, given->text, SV_ARG(sb_view(&words)));
}

Status driver_add_output(Session *session, const char *path, StringView content) {
  if (!path || path[0] == '\0') return STATUS_OK;
  array_push(&session->written, session->arena, ((OutputNote){path, content.size}));
  time_limit_hold(session->time_limit);
  Status status = output_files_add(session->outputs, path, content, session->diag);
  time_limit_release(session->time_limit);
  return status;
}

static Status add_template(Session *session) {
  StringView name = sv_from_cstring(session_option_text(session, OPTION_PLAN_TEMPLATE, ""));
  StringBuilder text;
  sb_init(&text, session->arena);
  RETURN_IF_ERROR(compilation_print_plan_template(&session->compilation, name, &text));
  return driver_add_output(session, "-", sb_view(&text));
}

static Status add_plans(Session *session) {
  if (session_option_given(session, OPTION_PLAN_TEMPLATE) && session->compilation.draft.plans)
    RETURN_IF_ERROR(add_template(session));
  if (!session_option_given(session, OPTION_DUMP_PLAN) || !session->compilation.draft.plans) return STATUS_OK;
  StringBuilder text;
  sb_init(&text, session->arena);
  compilation_print_plans(&session->compilation, &text);
  return driver_add_output(session, session_option_text(session, OPTION_DUMP_PLAN, "-"), sb_view(&text));
}

Status driver_add_reports(Session *session) {
  const HloModule *module = session->compilation.module;
  const BufferAssignment *assignment = session->compilation.assignment;
  if (session_option_given(session, OPTION_DUMP_LIVENESS)) {
    StringBuilder text;
    sb_init(&text, session->arena);
    report_liveness(&text, module, assignment,
                    (ReportFormat)session_option_integer(session, OPTION_LIVENESS_FORMAT, REPORT_TEXT));
    RETURN_IF_ERROR(
        driver_add_output(session, session_option_text(session, OPTION_DUMP_LIVENESS, "-"), sb_view(&text)));
  }
  if (session_option_given(session, OPTION_DUMP_BUFFER_ASSIGNMENT)) {
    StringBuilder text;
    sb_init(&text, session->arena);
    report_buffer_assignment(&text, module, assignment);
    RETURN_IF_ERROR(
        driver_add_output(session, session_option_text(session, OPTION_DUMP_BUFFER_ASSIGNMENT, "-"), sb_view(&text)));
  }
  return add_plans(session);
}

Status driver_add_graph(Session *session) {
  if (!session_option_given(session, OPTION_DUMP_GRAPH)) return STATUS_OK;
  StringBuilder text;
  sb_init(&text, session->arena);
  RETURN_IF_ERROR(report_graph(&text, session->compilation.module, &(GraphView){0}, REPORT_TEXT, session->diag));
  return driver_add_output(session, session_option_text(session, OPTION_DUMP_GRAPH, "-"), sb_view(&text));
}
