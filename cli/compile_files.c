#include "cli/compile_files.h"

#include <string.h>

#include "base/file_io.h"

/* extension: of the output where none is named; NULL: standard output. */
static const struct {
  const char *extension;
  LlvmOutput output;
  bool has_code, has_sides; /* header and map lie beside it */
} emits[] = {[EMIT_OBJECT] = {".o", LLVM_OUTPUT_OBJECT, true, true},
             [EMIT_ASSEMBLY] = {NULL, LLVM_OUTPUT_ASSEMBLY, true, false},
             [EMIT_LLVM_IR] = {NULL, LLVM_OUTPUT_IR, true, false},
             [EMIT_BITCODE] = {".bc", LLVM_OUTPUT_BITCODE, true, false},
             [EMIT_HLO] = {NULL, LLVM_OUTPUT_OBJECT, false, false},
             [EMIT_SHARED] = {".so", LLVM_OUTPUT_OBJECT, true, true},
             [EMIT_ARCHIVE] = {".a", LLVM_OUTPUT_OBJECT, true, true},
             [EMIT_NONE] = {NULL, LLVM_OUTPUT_OBJECT, false, false}};

bool emit_has_code(EmitKind emit) {
  return emits[emit].has_code;
}

LlvmOutput emit_llvm_output(EmitKind emit) {
  return emits[emit].output;
}

/* |path| with its extension, if it has one, replaced. */
static const char *with_extension(Arena *arena, const char *path, const char *extension) {
  const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path, *dot = strrchr(file, '.');
  size_t size = dot && dot != file ? (size_t)(dot - path) : strlen(path);
  return arena_printf(arena, "%.*s%s", (int)size, path, extension);
}

/* |name| in the folder of |path|. */
static const char *beside(Arena *arena, const char *path, const char *name) {
  const char *slash = strrchr(path, '/');
  return slash ? arena_printf(arena, "%.*s/%s", (int)(slash - path), path, name) : name;
}

const char *compile_stem(const Session *session) {
  const char *input = session->options->operands.data[session->model], *slash = strrchr(input, '/');
  if (!file_is_stream(input)) return with_extension(session->arena, slash ? slash + 1 : input, "");
  StringView name = session->compilation.module->name; /* letters, digits, '_', '.' and '-' */
  return arena_copy_string(session->arena, name.data, name.size);
}

bool compile_files_have_sides(const Session *session, EmitKind emit) {
  return emits[emit].has_sides && !file_is_stream(session_option_text(session, OPTION_OUTPUT, ""));
}

bool compile_files_wait(const Session *session, EmitKind emit) {
  if (!file_is_stream(session->options->operands.data[0]) || emits[emit].extension == NULL) return false;
  return emit == EMIT_ARCHIVE || !session_option_given(session, OPTION_OUTPUT);
}

/* In the current directory, beside nothing of the user's, when no name was given. */
static const char *output_path(const Session *session, EmitKind emit) {
  if (emit == EMIT_NONE) return NULL;
  if (session_option_given(session, OPTION_OUTPUT) || emits[emit].extension == NULL)
    return session_option_text(session, OPTION_OUTPUT, "-");
  return arena_printf(session->arena, "%s%s", compile_stem(session), emits[emit].extension);
}

/* Beside an output that is a file: called like it, or in an archive like the model; NULL: the output is none. */
static const char *beside_output(const Session *session, EmitKind emit, const char *output, const char *extension) {
  if (!compile_files_have_sides(session, emit)) return NULL;
  if (emit != EMIT_ARCHIVE) return with_extension(session->arena, output, extension);
  return beside(session->arena, output, arena_printf(session->arena, "%s%s", compile_stem(session), extension));
}

/* As named, or else there. */
static const char *side_path(const Session *session, OptionId id, EmitKind emit, const char *output,
                             const char *extension) {
  return session_option_text(session, id, beside_output(session, emit, output, extension));
}

/* Files that another word of --emit makes. */
static Status check_ending(const Session *session, const char *output) {
  static const struct {
    const char *ending, *what, *word;
  } others[] = {{".so", "a shared library", "shared"}, {".a", "an archive", "archive"}};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    if (!sv_ends_with(sv_from_cstring(output), sv_from_cstring(others[i].ending))) continue;
    Status status = diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage",
                               "'%s' would be %s, and this is an object", output, others[i].what);
    diag_note(session->diag, NO_LOC, "'--emit=%s' makes %s", others[i].word, others[i].what);
    return status;
  }
  return STATUS_OK;
}

Status compile_files_name(Session *session, EmitKind emit, CompileFiles *out_files) {
  int64_t count = session->options->operands.count;
  const char *output = output_path(session, emit);
  if (emit == EMIT_OBJECT) RETURN_IF_ERROR(check_ending(session, output));
  ARRAY(OutputDefault) defaults = {0};
  array_push(&defaults, session->arena, ((OutputDefault){OPTION_OUTPUT, output}));
  for (session->model = 0; session->model < count; session->model++) {
    CompileFiles files = {output, side_path(session, OPTION_HEADER, emit, output, ".h"),
                          side_path(session, OPTION_MAP, emit, output, ".map"), NULL};
    if (session->compilation.options.constants_apart)
      files.constants = beside_output(session, emit, output, ".weights");
    array_push(&defaults, session->arena, ((OutputDefault){OPTION_HEADER, files.header}));
    array_push(&defaults, session->arena, ((OutputDefault){OPTION_MAP, files.map}));
    array_push(&defaults, session->arena, ((OutputDefault){OPTION_CONSTANTS, files.constants}));
    out_files[session->model] = files;
  }
  session->model = 0;
  return driver_check_files(session, defaults.data, (int)defaults.count);
}
