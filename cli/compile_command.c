/* xlac MODEL.hlo -o MODEL.o */
#include "cli/budget.h"
#include "cli/compile_cache.h"
#include "cli/compile_files.h"
#include "cli/link_shared.h"
#include "cli/questions.h"
#include "compiler/object_archive.h"

/* All models of the command line; but for archives it is one. */
typedef struct CompileJob {
  EmitKind emit;
  int64_t count;
  CompileFiles *files;   /* by model */
  ObjectMember *members; /* of an archive, by model */
  CompilationCache cache;
} CompileJob;

static Status usage_error(Session *session, const char *message) {
  return diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage", "%s", message);
}

/* What these options ask for is told of one model. */
static Status check_several(Session *session) {
  static const OptionId of_one[] = {OPTION_HEADER,          OPTION_MAP,
                                    OPTION_ENTRY_NAME,      OPTION_PLAN,
                                    OPTION_BUDGET,          OPTION_REPORT,
                                    OPTION_REPORT_FILE,     OPTION_TRACE,
                                    OPTION_TIME_REPORT,     OPTION_STATS,
                                    OPTION_WHY_LIVE,        OPTION_EXPLAIN_SHARING,
                                    OPTION_DUMP_LIVENESS,   OPTION_DUMP_PLAN,
                                    OPTION_DUMP_GRAPH,      OPTION_DUMP_BUFFER_ASSIGNMENT,
                                    OPTION_DUMP_HLO_BEFORE, OPTION_DUMP_HLO_AFTER,
                                    OPTION_PLAN_TEMPLATE};
  for (size_t i = 0; i < sizeof of_one / sizeof of_one[0]; i++) {
    bool is_nowhere = session_option_text(session, of_one[i], " ")[0] == '\0';
    if (!session_option_given(session, of_one[i]) || is_nowhere) continue;
    return diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage", "'%s' is for one model, not for %lld",
                      option_spelling(session->arena, of_one[i]), (long long)session->options->operands.count);
  }
  if (!session_option_given(session, OPTION_OUTPUT))
    return usage_error(session, "an archive of several models needs '-o FILE'");
  for (int64_t i = 0; i < session->options->operands.count; i++)
    if (sv_equal_cstring(SV("-"), session->options->operands.data[i]))
      return usage_error(session, "standard input is for one model");
  return STATUS_OK;
}

static Status check_count(Session *session, const CompileJob *job) {
  if (job->count == 1) return STATUS_OK;
  if (job->emit == EMIT_ARCHIVE) return check_several(session);
  Status status = diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage", "more than one input file: '%s' and '%s'",
                             session->options->operands.data[0], session->options->operands.data[1]);
  diag_note(session->diag, NO_LOC, "'--emit=archive' puts the objects of several into one file");
  return status;
}

/* A file of constants lies beside an output that is a file. */
static Status check_constants(Session *session, EmitKind emit) {
  if (!session->compilation.options.constants_apart || compile_files_have_sides(session, emit)) return STATUS_OK;
  return usage_error(session,
                     "'--constants=file' writes a file beside an object, shared library or archive: there is none");
}

static Status check_usage(Session *session, const CompileJob *job) {
  EmitKind emit = job->emit;
  if (emit == EMIT_NONE && session_option_given(session, OPTION_OUTPUT))
    return usage_error(session, "'--emit=none' has no output for '-o'");
  if (session_option_text(session, OPTION_HEADER, "")[0] != '\0' && !emit_has_code(emit))
    return usage_error(session, "'--header' needs code: '--emit=hlo' and '--emit=none' make none");
  RETURN_IF_ERROR(check_constants(session, emit));
  RETURN_IF_ERROR(check_count(session, job));
  if (!compile_files_wait(session, emit)) RETURN_IF_ERROR(compile_files_name(session, emit, job->files));
  RETURN_IF_ERROR(questions_check(session));
  return compilation_options_check(&session->compilation.options, session->diag);
}

static Status add_answers(Session *session) {
  StringBuilder text;
  if (!questions_are_asked(session)) return STATUS_OK;
  sb_init(&text, session->arena);
  RETURN_IF_ERROR(questions_answer(session, &text));
  return driver_add_output(session, "-", sb_view(&text));
}

static Status add_hlo(Session *session, const char *path) {
  StringBuilder text;
  sb_init(&text, session->arena);
  hlo_module_print(&text, session->compilation.module, &HLO_PRINT_DEFAULT);
  return driver_add_output(session, path, sb_view(&text));
}

/* Empty without |path|. */
static StringView print_buffer_map(Session *session, const char *path) {
  if (!path || path[0] == '\0') return SV("");
  StringBuilder text;
  sb_init(&text, session->arena);
  ReportFormat format = session_option_integer(session, OPTION_MAP_FORMAT, 0) == 1 ? REPORT_JSON : REPORT_TEXT;
  compilation_print_map(&session->compilation, format, &text);
  return sb_view(&text);
}

static void note_entry_name(Session *session) {
  const CompiledObject *object = &session->compilation.object;
  if (!object->has_changed_name) return;
  StringView name = session->compilation.options.default_name;
  diag_remark(session->diag, session->compilation.module->loc, "entry-name",
              "the name '%.*s' is not free in C: the function is '%.*s'", SV_ARG(name), SV_ARG(object->entry_name));
  diag_note(session->diag, NO_LOC, "'--entry-name=NAME' gives it another name");
}

/* The object, or what else --emit asks for, to where it goes; members of an archive wait for the others. */
static Status add_code(Session *session, CompileJob *job) {
  const CompileFiles *files = &job->files[session->model];
  const CompiledObject *object = &session->compilation.object;
  StringView bytes = object->bytes;
  note_entry_name(session);
  RETURN_IF_ERROR(driver_add_output(session, files->header, object->header));
  if (object->constants.size > 0) RETURN_IF_ERROR(driver_add_output(session, files->constants, object->constants));
  if (job->emit == EMIT_ARCHIVE) {
    job->members[session->model] = (ObjectMember){sv_printf(session->arena, "%s.o", compile_stem(session)), bytes};
    return STATUS_OK;
  }
  if (job->emit == EMIT_SHARED) RETURN_IF_ERROR(link_shared(session, files->output, &bytes));
  return driver_add_output(session, files->output, bytes);
}

static bool has_map(const CompileFiles *files) {
  return files->map && files->map[0] != '\0';
}

/* What the cache tells outputs apart by, besides the compilation's options. */
static StringView purpose_of(const Session *session, const CompileFiles *files) {
  if (!has_map(files)) return SV("object");
  return session_option_integer(session, OPTION_MAP_FORMAT, 0) == 1 ? SV("object, JSON map") : SV("object, map");
}

/* From the loaded module to code, and to all outputs but that. */
static Status compile_loaded(Session *session, CompileJob *job) {
  Compilation *compilation = &session->compilation;
  const CompileFiles *files = &job->files[session->model];
  bool is_hlo = job->emit == EMIT_HLO, has_code = emit_has_code(job->emit);
  RETURN_IF_ERROR(driver_run_passes(session));
  RETURN_IF_ERROR(driver_add_graph(session));
  RETURN_IF_ERROR(add_answers(session));
  bool only_hlo = is_hlo && !compilation->assignment;
  if (!only_hlo) RETURN_IF_ERROR(compilation_require_assignment(compilation));
  if (!only_hlo && (!is_hlo || has_map(files) || session_option_given(session, OPTION_DUMP_PLAN)))
    RETURN_IF_ERROR(compilation_make_plans(compilation));
  if (!only_hlo) RETURN_IF_ERROR(driver_add_reports(session));
  StringView map = only_hlo ? SV("") : print_buffer_map(session, files->map);
  if (!only_hlo) RETURN_IF_ERROR(driver_add_output(session, files->map, map));
  if (has_code) RETURN_IF_ERROR(compilation_generate(compilation));
  if (has_code) compile_cache_keep(session, &job->cache, map);
  return is_hlo ? add_hlo(session, files->output) : STATUS_OK;
}

static Status compile(Session *session, CompileJob *job) {
  Compilation *compilation = &session->compilation;
  EmitKind emit = job->emit;
  const CompileFiles *files = &job->files[session->model];
  CompiledProgram program;
  compilation->options.without_code = emit == EMIT_HLO; /* any other kind has to fit the Buffer */
  compilation->options.output = emit_llvm_output(emit);
  Budget budget;
  RETURN_IF_ERROR(budget_read(session, &budget));
  RETURN_IF_ERROR(driver_load_to_run(session));
  compilation->options.default_name = sv_from_cstring(compile_stem(session));
  if (compile_files_wait(session, emit)) RETURN_IF_ERROR(compile_files_name(session, emit, job->files));
  if (has_map(files) && compilation->options.plans_detail < PLANS_COMPARED)
    compilation->options.plans_detail = PLANS_COMPARED;
  if (emit_has_code(emit) && compile_cache_find(session, &job->cache, purpose_of(session, files), &program)) {
    RETURN_IF_ERROR(driver_add_output(session, files->map, program.map));
  } else {
    RETURN_IF_ERROR(compile_loaded(session, job));
    RETURN_IF_ERROR(budget_check_compilation(session, &budget));
  }
  return emit_has_code(emit) ? add_code(session, job) : STATUS_OK;
}

static Status compile_all(Session *session, CompileJob *job) {
  RETURN_IF_ERROR(driver_check_places(session));
  for (int64_t i = 0; i < job->count; i++) {
    if (i > 0) session_begin_model(session, i);
    RETURN_IF_ERROR(compile(session, job));
  }
  if (job->emit != EMIT_ARCHIVE) return STATUS_OK;
  StringView archive;
  RETURN_IF_ERROR(object_archive_write(session->arena, job->members, job->count, session->diag, &archive));
  return driver_add_output(session, job->files[0].output, archive);
}

int compile_command(Session *session) {
  EmitKind usual = session_option_given(session, OPTION_PLAN_TEMPLATE) ? EMIT_NONE : EMIT_OBJECT;
  CompileJob job = {.emit = (EmitKind)session_option_integer(session, OPTION_EMIT, usual),
                    .count = session->options->operands.count};
  job.files = ARENA_NEW_ARRAY(session->arena, CompileFiles, job.count);
  job.members = ARENA_NEW_ARRAY(session->arena, ObjectMember, job.count);
  if (check_usage(session, &job) != STATUS_OK) return session_end_usage(session);
  compile_cache_begin(session, false, &job.cache);
  return session_end(session, compile_all(session, &job));
}
