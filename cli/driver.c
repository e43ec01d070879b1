#include "cli/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"
#include "cli/build_kind.h"
#include "cli/exit_code.h"
#include "cli/hlo_dump.h"
#include "cli/process_end.h"
#include "cli/run_memory.h"
#include "cli/session_report.h"
#include "cli/session_trace.h"
#include "cli/target.h"
#include "hlo/infer/device_check.h"
#include "hlo/infer/hlo_verifier.h"
#include "parser/hlo_parser.h"

/* The words of --schedule. */
enum { SCHEDULE_MEMORY, SCHEDULE_KEEP };

enum { DEFAULT_OPT_LEVEL = 2, LARGEST_BUFFERS_SHOWN = 20, ERROR_LIMIT = 50 };

bool option_given(const Session *session, OptionId id) {
  return session->options->values[id].given;
}

const char *option_text(const Session *session, OptionId id, const char *fallback) {
  const OptionValue *value = &session->options->values[id];
  return value->given && value->text ? value->text : fallback;
}

int64_t option_integer(const Session *session, OptionId id, int64_t fallback) {
  const OptionValue *value = &session->options->values[id];
  return value->given ? value->integer : fallback;
}

double driver_seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double driver_end_phase(Session *session, const char *name, double start) {
  double now = driver_seconds_now();
  array_push(&session->phases, session->arena, ((PhaseTime){name, start, now - start}));
  return now;
}

/* --- the session --- */

void session_begin(Session *session, const Options *options, Arena *arena, DiagSink *diag) {
  *session = (Session){.options = options, .arena = arena, .diag = diag, .started = driver_seconds_now()};
  session->module_arena = arena_create();
  session->codegen_arena = arena_create();
  session->shapes = shape_table_create(arena);
  session->outputs = output_files_create(arena);
  compile_report_init(&session->report, arena);
  diag->error_limit = ERROR_LIMIT;
}

static void report_written(const Session *session) {
  StringBuilder text;
  sb_init(&text, session->arena);
  for (int64_t i = 0; i < session->written.count; i++) {
    const OutputNote *note = &session->written.data[i];
    if (strcmp(note->path, "-") == 0) continue;
    sb_append_cstring(&text, "xlac: wrote '");
    sb_append_visible(&text, sv_from_cstring(note->path), false);
    sb_printf(&text, "' (%zu bytes)\n", note->size);
  }
  fprintf(stderr, "%.*s", SV_ARG(sb_view(&text)));
}

static Status finish_outputs(Session *session, Status status) {
  bool refused = status == STATUS_OK && option_given(session, OPTION_WARNINGS) && session->diag->warning_count > 0;
  if (refused) status = STATUS_INVALID;
  /* A mismatch is a finding, not a failure to produce results. */
  if (status != STATUS_OK && status != STATUS_MISMATCH) {
    output_files_abort(session->outputs);
    return status;
  }
  double start = driver_seconds_now();
  Status written = output_files_commit(session->outputs, session->diag);
  if (written == STATUS_OK) process_end_set_outcome(exit_code_from_status(status));
  driver_end_phase(session, "write", start);
  if (written == STATUS_OK && option_given(session, OPTION_VERBOSE)) report_written(session);
  return written != STATUS_OK ? written : status;
}

static int end_session(Session *session, int code) {
  session_report_print(session);
  arena_destroy(session->codegen_arena);
  arena_destroy(session->module_arena);
  return code;
}

int session_end(Session *session, Status status) {
  if (status == STATUS_OK || status == STATUS_MISMATCH) {
    Status reported = compile_report_add(session);
    if (reported == STATUS_OK) reported = session_trace_add(session);
    if (reported != STATUS_OK) status = reported;
  }
  status = finish_outputs(session, status);
  return end_session(session, exit_code_from_status(status));
}

int session_end_usage(Session *session) {
  output_files_abort(session->outputs);
  return end_session(session, EXIT_USAGE);
}

/* --- steps --- */

Status driver_load(Session *session, bool verify) {
  RETURN_IF_ERROR(target_load(session->arena, session->options, session->diag, &session->machine));
  double start = driver_seconds_now();
  time_limit_doing(session->time_limit, "reading the module", NULL);
  const char *path = session->options->operands.data[0];
  session->source.name = path[0] == '-' && path[1] == '\0' ? SV("<stdin>") : sv_from_cstring(path);
  RETURN_IF_ERROR(file_read(session->arena, path, session->diag, &session->source.text));
  start = driver_end_phase(session, "read", start);
  RETURN_IF_ERROR(
      hlo_parse_module(session->module_arena, session->shapes, &session->source, session->diag, &session->module));
  start = driver_end_phase(session, "parse", start);
  if (!verify) return STATUS_OK;
  Status status = hlo_verify(session->module, session->diag);
  if (status == STATUS_OK) status = hlo_verify_transfers_end(session->module, session->diag);
  driver_end_phase(session, "verify", start);
  return status;
}

Status driver_load_to_run(Session *session) {
  RETURN_IF_ERROR(driver_load(session, true));
  return hlo_check_one_device(session->module, session->diag);
}

/* For people the notes on the largest buffers become one table; JSON keeps them, each with its place. */
static void tabulate_peak_buffers(Session *session) {
  bool json = option_integer(session, OPTION_DIAGNOSTICS_FORMAT, 0) == 1;
  if (json || !session->assignment || !session->diag->last) return;
  StringBuilder table;
  sb_init(&table, session->arena);
  report_peak_buffers(&table, session->module, session->assignment, LARGEST_BUFFERS_SHOWN);
  session->diag->last->notes = NULL;
  diag_note(session->diag, NO_LOC, "the largest buffers alive at the peak:\n%.*s", SV_ARG(sb_view(&table)));
}

HloCallbacks driver_callbacks(const Session *session) {
  return (HloCallbacks)option_integer(session, OPTION_CALLBACKS, HLO_CALLBACKS_REFUSE);
}

/* Objects go to other machines, and whose processor a runner has nobody knows; code in memory stays, but tests may ask
 * for what another machine would run. */
static StringView default_cpu(const Session *session) {
  if (session->options->command != COMMAND_RUN || option_given(session, OPTION_RUNNER)) return SV("dispatch");
  const char *variant = getenv("XLAC_CPU");
  return variant ? llvm_native_variant(sv_from_cstring(variant)) : SV("native");
}

static StringView cpu_of_options(const Session *session) {
  const char *cpu = option_text(session, OPTION_MCPU, NULL);
  return cpu ? sv_from_cstring(cpu) : default_cpu(session);
}

Status driver_check_cpu(const Session *session) {
  return llvm_check_cpu(cpu_of_options(session), sv_from_cstring(option_text(session, OPTION_MATTR, "")),
                        session->diag);
}

/* What the description says of the processor, the command line cannot say as well. */
static Status check_machine(const Session *session) {
  const MachineDescription *machine = session->machine;
  if (!machine || machine_is_host(machine)) return STATUS_OK;
  if (option_given(session, OPTION_MCPU) || option_given(session, OPTION_MATTR))
    return diag_error(session->diag, STATUS_INVALID, machine->isa.loc, "machine-isa",
                      "'%.*s' has its own 'cpu' and 'features': '--mcpu' and '--mattr' are for the host",
                      SV_ARG(machine->name));
  return llvm_check_machine(machine, session->diag);
}

static void begin_draft(Session *session) {
  session->draft.arena = session->codegen_arena;
  session->draft.target = (LlvmOptions){.mcpu = cpu_of_options(session),
                                        .mattr = sv_from_cstring(option_text(session, OPTION_MATTR, "")),
                                        .opt_level = (int)option_integer(session, OPTION_OPT_LEVEL, DEFAULT_OPT_LEVEL),
                                        .machine = session->machine,
                                        .flush_denormals = option_given(session, OPTION_FLUSH_DENORMALS)};
}

/* --- what memory planning has to know of code --- */

static Status begin_scratch(void *self, const HloModule *module, DiagSink *diag) {
  Session *session = self;
  RETURN_IF_ERROR(check_machine(session));
  RETURN_IF_ERROR(driver_make_kernels(session));
  RETURN_IF_ERROR(driver_make_plans(session));
  return code_draft_measure(&session->draft, module, diag);
}

static HloScratch scratch_of(void *self, const HloInstruction *instruction) {
  const Session *session = self;
  return code_draft_scratch(&session->draft, instruction);
}

Status driver_run_passes(Session *session, HloPassPipeline *(*standard)(Arena *arena, const HloPassOptions *options)) {
  begin_draft(session);
  double start = driver_seconds_now();
  HloPassOptions pass_options = {.opt_level = (int)option_integer(session, OPTION_OPT_LEVEL, DEFAULT_OPT_LEVEL),
                                 .fast_math = option_given(session, OPTION_FAST_MATH),
                                 .memory_limit = option_integer(session, OPTION_MEMORY_LIMIT, 0),
                                 .keeps_text_order = option_integer(session, OPTION_SCHEDULE, 0) == SCHEDULE_KEEP,
                                 .callbacks = driver_callbacks(session),
                                 .machine = session->machine};
  HloScratchModel scratch = {session, begin_scratch, scratch_of};
  if (session->makes_code) pass_options.scratch = &scratch;
  if (pass_options.keeps_text_order && !session->module->is_scheduled)
    return diag_error(session->diag, STATUS_INVALID, session->module->loc, "schedule",
                      "'--schedule=keep' is for modules with 'is_scheduled=true'");
  if (option_given(session, OPTION_REPORT)) pass_options.decisions = &session->report.observer;
  if (option_given(session, OPTION_PASSES)) {
    StringView names = sv_from_cstring(option_text(session, OPTION_PASSES, ""));
    RETURN_IF_ERROR(hlo_pipeline_from_names(session->arena, names, session->diag, &session->pipeline));
  } else if (standard) {
    session->pipeline = standard(session->arena, &pass_options);
  } else {
    return STATUS_OK;
  }
  HloDump dump;
  hlo_dump_init(&dump, session);
  WordList disabled = option_words(session->arena, session->options, OPTION_DISABLE_PASSES);
  HloPipelineOptions options = {.pass_options = pass_options,
                                .verify = BUILD_IS_CHECKED || option_given(session, OPTION_VERIFY_EACH),
                                .observer = &dump.observer,
                                .disabled_count = (int)disabled.count,
                                .disabled = disabled.data,
                                .has_limit = option_given(session, OPTION_PASS_LIMIT),
                                .limit = option_integer(session, OPTION_PASS_LIMIT, 0)};
  bool changed;
  Status status = hlo_pass_pipeline_run(session->pipeline, session->module, &options, session->diag, &changed);
  session->assignment = hlo_pass_pipeline_assignment(session->pipeline);
  driver_end_phase(session, "passes", start);
  if (status == STATUS_EXHAUSTED) tabulate_peak_buffers(session);
  return status;
}

Status driver_require_assignment(Session *session) {
  if (session->assignment) return STATUS_OK;
  return diag_error(session->diag, STATUS_INVALID, NO_LOC, "no-assignment",
                    "these passes end without a buffer assignment, which the output needs");
}

Status driver_check_files(Session *session, const OutputDefault *defaults, int count) {
  file_uses_init(&session->files, session->arena, session->options, defaults, count);
  return file_uses_check(&session->files, session->diag);
}

Status driver_make_kernels(Session *session) {
  double start = driver_seconds_now();
  if (session->draft.kernels) return STATUS_OK;
  Status status = code_draft_make_kernels(&session->draft, session->module, session->diag);
  driver_end_phase(session, "kernels", start);
  return status;
}

Status driver_generate(Session *session, LlvmOutput output) {
  RETURN_IF_ERROR(check_machine(session));
  RETURN_IF_ERROR(driver_make_kernels(session));
  double start = driver_seconds_now();
  time_limit_doing(session->time_limit, "generating code", NULL);
  CodegenOptions options = {.entry_name = sv_from_cstring(option_text(session, OPTION_ENTRY_NAME, "")),
                            .output = output,
                            .assignment = session->assignment,
                            .draft = &session->draft,
                            .poison = option_given(session, OPTION_POISON)};
  Status status = codegen_compile(session->codegen_arena, session->module, &options, session->diag, &session->object);
  driver_end_phase(session, "codegen", start);
  return status;
}

Status driver_add_output(Session *session, const char *path, StringView content) {
  if (!path || path[0] == '\0') return STATUS_OK;
  array_push(&session->written, session->arena, ((OutputNote){path, content.size}));
  time_limit_hold(session->time_limit);
  Status status = output_files_add(session->outputs, path, content, session->diag);
  time_limit_release(session->time_limit);
  return status;
}

Status driver_read_plans(Session *session, const char *path) {
  if (!session->machine) return STATUS_OK;
  double start = driver_seconds_now();
  session->draft.tiler.pipeline_depth = (int32_t)option_integer(session, OPTION_PIPELINE_DEPTH, 0);
  if (!path) return STATUS_OK;
  RETURN_IF_ERROR(driver_make_kernels(session));
  SourceFile *source = ARENA_NEW(session->arena, SourceFile);
  source->name = sv_from_cstring(path);
  RETURN_IF_ERROR(file_read(session->arena, path, session->diag, &source->text));
  RETURN_IF_ERROR(written_plans_load(session->codegen_arena, session->module, session->draft.kernels, session->machine,
                                     source, &session->draft.tiler, session->diag, &session->draft.written));
  driver_end_phase(session, "plan file", start);
  return STATUS_OK;
}

Status driver_make_plans(Session *session) {
  CodeDraft *draft = &session->draft;
  if (draft->plans) return STATUS_OK;
  RETURN_IF_ERROR(driver_read_plans(session, option_text(session, OPTION_PLAN, NULL)));
  written_plans_warn(&draft->written, session->diag);
  if (!session->machine) return STATUS_OK;
  RETURN_IF_ERROR(driver_make_kernels(session));
  double start = driver_seconds_now();
  time_limit_doing(session->time_limit, "making plans", NULL);
  if (draft->plans_detail == PLANS_ALONE && option_given(session, OPTION_DUMP_PLAN)) draft->plans_detail = PLANS_PROVED;
  Status status = code_draft_make_plans(draft, session->module, session->diag);
  driver_end_phase(session, "plans", start);
  return status;
}

static Status add_plans(Session *session) {
  if (!option_given(session, OPTION_DUMP_PLAN) || !session->draft.plans) return STATUS_OK;
  StringBuilder text;
  sb_init(&text, session->arena);
  codegen_print_plans(session->codegen_arena, session->module, session->draft.plans, &text);
  return driver_add_output(session, option_text(session, OPTION_DUMP_PLAN, "-"), sb_view(&text));
}

Status driver_add_reports(Session *session) {
  const BufferAssignment *assignment = session->assignment;
  if (option_given(session, OPTION_DUMP_LIVENESS)) {
    StringBuilder text;
    sb_init(&text, session->arena);
    report_liveness(&text, session->module, assignment,
                    (ReportFormat)option_integer(session, OPTION_LIVENESS_FORMAT, REPORT_TEXT));
    RETURN_IF_ERROR(driver_add_output(session, option_text(session, OPTION_DUMP_LIVENESS, "-"), sb_view(&text)));
  }
  if (option_given(session, OPTION_DUMP_BUFFER_ASSIGNMENT)) {
    StringBuilder text;
    sb_init(&text, session->arena);
    report_buffer_assignment(&text, session->module, assignment);
    RETURN_IF_ERROR(
        driver_add_output(session, option_text(session, OPTION_DUMP_BUFFER_ASSIGNMENT, "-"), sb_view(&text)));
  }
  return add_plans(session);
}

Status driver_add_graph(Session *session) {
  if (!option_given(session, OPTION_DUMP_GRAPH)) return STATUS_OK;
  StringBuilder text;
  sb_init(&text, session->arena);
  report_graph(&text, session->module);
  return driver_add_output(session, option_text(session, OPTION_DUMP_GRAPH, "-"), sb_view(&text));
}
