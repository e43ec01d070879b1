/* xlac MODEL.hlo -o MODEL.o */
#include <string.h>

#include "cli/budget.h"
#include "cli/questions.h"

enum { EMIT_OBJECT, EMIT_ASSEMBLY, EMIT_LLVM_IR, EMIT_BITCODE, EMIT_HLO, EMIT_NONE };

/* What each word of --emit means.  extension: of the output where none is named; NULL: standard output. */
static const struct {
  const char *extension;
  LlvmOutput output;
} emits[] = {[EMIT_OBJECT] = {".o", LLVM_OUTPUT_OBJECT}, [EMIT_ASSEMBLY] = {NULL, LLVM_OUTPUT_ASSEMBLY},
             [EMIT_LLVM_IR] = {NULL, LLVM_OUTPUT_IR},    [EMIT_BITCODE] = {".bc", LLVM_OUTPUT_BITCODE},
             [EMIT_HLO] = {NULL, LLVM_OUTPUT_OBJECT},    [EMIT_NONE] = {NULL, LLVM_OUTPUT_OBJECT}};

static bool is_stream(const char *path) {
  return strcmp(path, "-") == 0;
}

/* |path| with its extension, if it has one, replaced. */
static const char *with_extension(Arena *arena, const char *path, const char *extension) {
  const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path, *dot = strrchr(file, '.');
  size_t size = dot && dot != file ? (size_t)(dot - path) : strlen(path);
  return arena_printf(arena, "%.*s%s", (int)size, path, extension);
}

/* Where outputs go; NULL, and "" of side files: nowhere. */
typedef struct CompileFiles {
  const char *output, *header, *map;
} CompileFiles;

/* What the outputs, and the function in them, are named after: the input file's name without its extension; of standard
 * input, when that is read, the module's. */
static const char *stem_of_input(const Session *session) {
  const char *input = session->options->operands.data[0], *slash = strrchr(input, '/');
  if (!is_stream(input)) return with_extension(session->arena, slash ? slash + 1 : input, "");
  StringView name = session->compilation.module->name; /* letters, digits, '_', '.' and '-' */
  return arena_copy_string(session->arena, name.data, name.size);
}

/* Outputs without a name wait for the module's. */
static bool is_named_by_module(const Session *session, int64_t emit) {
  bool has_name = session_option_given(session, OPTION_OUTPUT) || emits[emit].extension == NULL;
  return !has_name && is_stream(session->options->operands.data[0]);
}

/* Where the main output goes.  In the current directory, beside nothing of the user's, when no name was given. */
static const char *output_path(const Session *session, int64_t emit) {
  if (emit == EMIT_NONE) return NULL;
  if (session_option_given(session, OPTION_OUTPUT) || emits[emit].extension == NULL)
    return session_option_text(session, OPTION_OUTPUT, "-");
  return arena_printf(session->arena, "%s%s", stem_of_input(session), emits[emit].extension);
}

/* A side file's path: as named; beside an object that is a file; otherwise nowhere. */
static const char *side_path(const Session *session, OptionId id, int64_t emit, const char *output,
                             const char *extension) {
  bool beside = emit == EMIT_OBJECT && !is_stream(output); /* then it has the name of a file */
  return session_option_text(session, id, beside ? with_extension(session->arena, output, extension) : NULL);
}

/* Files that other tools make of an object. */
static Status check_ending(const Session *session, const char *output) {
  static const struct {
    const char *ending, *what, *command, *libraries;
  } others[] = {{".so", "a shared library", "gcc -shared -o", " -lm"}, {".a", "an archive", "ar rcs", ""}};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    if (!sv_ends_with(sv_from_cstring(output), sv_from_cstring(others[i].ending))) continue;
    const char *object = with_extension(session->arena, output, ".o");
    Status status = diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage",
                               "'%s' would be %s, and xlac writes objects", output, others[i].what);
    diag_note(session->diag, NO_LOC, "after '-o %s', '%s %s %s%s' makes it", object, others[i].command, output, object,
              others[i].libraries);
    return status;
  }
  return STATUS_OK;
}

static Status name_files(Session *session, int64_t emit, CompileFiles *out_files) {
  const char *output = output_path(session, emit);
  if (emit == EMIT_OBJECT) RETURN_IF_ERROR(check_ending(session, output));
  *out_files = (CompileFiles){output, side_path(session, OPTION_HEADER, emit, output, ".h"),
                              side_path(session, OPTION_MAP, emit, output, ".map")};
  OutputDefault defaults[] = {
      {OPTION_OUTPUT, out_files->output}, {OPTION_HEADER, out_files->header}, {OPTION_MAP, out_files->map}};
  return driver_check_files(session, defaults, sizeof defaults / sizeof defaults[0]);
}

static Status check_usage(Session *session, int64_t emit, CompileFiles *out_files) {
  if (emit == EMIT_NONE && session_option_given(session, OPTION_OUTPUT))
    return diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage", "'--emit=none' has no output for '-o'");
  bool has_header = session_option_text(session, OPTION_HEADER, "")[0] != '\0';
  if (has_header && (emit == EMIT_HLO || emit == EMIT_NONE))
    return diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage",
                      "'--header' needs code: '--emit=hlo' and '--emit=none' make none");
  if (!is_named_by_module(session, emit)) RETURN_IF_ERROR(name_files(session, emit, out_files));
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

static Status add_buffer_map(Session *session, const char *path) {
  if (!path || path[0] == '\0') return STATUS_OK;
  StringBuilder text;
  sb_init(&text, session->arena);
  ReportFormat format = session_option_integer(session, OPTION_MAP_FORMAT, 0) == 1 ? REPORT_JSON : REPORT_TEXT;
  compilation_print_map(&session->compilation, format, &text);
  return driver_add_output(session, path, sb_view(&text));
}

static void note_entry_name(Session *session) {
  const CompiledObject *object = &session->compilation.object;
  if (!object->has_changed_name) return;
  StringView name = session->compilation.options.default_name;
  diag_remark(session->diag, session->compilation.module->loc, "entry-name",
              "the name '%.*s' is not free in C: the function is '%.*s'", SV_ARG(name), SV_ARG(object->entry_name));
  diag_note(session->diag, NO_LOC, "'--entry-name=NAME' gives it another name");
}

static Status compile(Session *session, int64_t emit, CompileFiles *files) {
  Compilation *compilation = &session->compilation;
  bool is_hlo = emit == EMIT_HLO; /* any other kind has to fit the Buffer */
  compilation->options.without_code = is_hlo;
  compilation->options.output = emits[emit].output;
  Budget budget;
  RETURN_IF_ERROR(budget_read(session, &budget));
  RETURN_IF_ERROR(driver_load_to_run(session));
  compilation->options.default_name = sv_from_cstring(stem_of_input(session));
  if (is_named_by_module(session, emit)) RETURN_IF_ERROR(name_files(session, emit, files));
  bool has_map = files->map && files->map[0] != '\0';
  if (has_map) compilation->options.plans_detail = PLANS_COMPARED;
  RETURN_IF_ERROR(driver_run_passes(session));
  RETURN_IF_ERROR(driver_add_graph(session));
  RETURN_IF_ERROR(add_answers(session));
  bool only_hlo = is_hlo && !compilation->assignment;
  if (!only_hlo) RETURN_IF_ERROR(compilation_require_assignment(compilation));
  if (!only_hlo && (!is_hlo || has_map || session_option_given(session, OPTION_DUMP_PLAN)))
    RETURN_IF_ERROR(compilation_make_plans(compilation));
  if (!only_hlo) RETURN_IF_ERROR(driver_add_reports(session));
  if (!only_hlo) RETURN_IF_ERROR(add_buffer_map(session, files->map));
  bool has_code = emit != EMIT_NONE && emit != EMIT_HLO;
  if (has_code) RETURN_IF_ERROR(compilation_generate(compilation));
  RETURN_IF_ERROR(budget_check_compilation(session, &budget));
  if (emit == EMIT_HLO) return add_hlo(session, files->output);
  if (!has_code) return STATUS_OK;
  note_entry_name(session);
  RETURN_IF_ERROR(driver_add_output(session, files->output, compilation->object.bytes));
  return driver_add_output(session, files->header, compilation->object.header);
}

int compile_command(Session *session) {
  int64_t emit = session_option_integer(session, OPTION_EMIT, EMIT_OBJECT);
  CompileFiles files = {0};
  if (check_usage(session, emit, &files) != STATUS_OK) return session_end_usage(session);
  return session_end(session, compile(session, emit, &files));
}
