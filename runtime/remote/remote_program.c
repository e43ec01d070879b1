#include "runtime/remote/remote_program.h"

#include "base/array.h"
#include "base/process.h"
#include "runtime/remote/program_blocks.h"
#include "runtime/remote/target_sources.h"

#define OBJECT "module.o"
#define PROGRAM "program"
#define ARGUMENTS "arguments"
#define RESULTS "results"

static Status write_sources(const ScratchFolder *folder, DiagSink *diag) {
  for (int i = 0; i < target_source_count(); i++) {
    TargetSource source = target_source_at(i);
    RETURN_IF_ERROR(scratch_folder_write(folder, source.path, source.text, diag));
  }
  return STATUS_OK;
}

typedef ARRAY(const char *) Words;

static void add_word(Words *words, Arena *arena, const char *word) {
  array_push(words, arena, word);
}

static Status compile_and_link(const RemoteProgram *program, StringView entry_name, DiagSink *diag) {
  const ScratchFolder *folder = &program->folder;
  Arena *arena = folder->arena;
  static const char *const flags[] = {"-std=c11", "-D_GNU_SOURCE", "-O1", "-static", "-pthread"};
  Words words = {0};
  add_word(&words, arena, program->options.compiler);
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) add_word(&words, arena, flags[i]);
  add_word(&words, arena, arena_printf(arena, "-DXLAC_ENTRY=%.*s", SV_ARG(entry_name)));
  add_word(&words, arena, arena_printf(arena, "-I%s", folder->path));
  add_word(&words, arena, arena_printf(arena, "-I%s/include", folder->path));
  add_word(&words, arena, "-o");
  add_word(&words, arena, scratch_folder_path(folder, PROGRAM));
  for (int i = 0; i < target_source_count(); i++) {
    const char *path = target_source_at(i).path;
    if (sv_ends_with(sv_from_cstring(path), SV(".c"))) add_word(&words, arena, scratch_folder_path(folder, path));
  }
  add_word(&words, arena, scratch_folder_path(folder, OBJECT));
  for (const char *const *word = program->options.link_words; *word != NULL; word++) add_word(&words, arena, *word);
  add_word(&words, arena, "-lm");
  add_word(&words, arena, NULL);
  return process_run(words.data, diag);
}

Status remote_program_build(Arena *arena, StringView object, StringView entry_name, const RemoteOptions *options,
                            DiagSink *diag, RemoteProgram *out_program) {
  *out_program = (RemoteProgram){.options = *options};
  RETURN_IF_ERROR(scratch_folder_create(arena, diag, &out_program->folder));
  RETURN_IF_ERROR(write_sources(&out_program->folder, diag));
  RETURN_IF_ERROR(scratch_folder_write(&out_program->folder, OBJECT, object, diag));
  return compile_and_link(out_program, entry_name, diag);
}

/* The command replaces the shell, so that its end, by a signal too, is seen as it is. */
static Status start(const RemoteProgram *program, int64_t count, DiagSink *diag) {
  const ScratchFolder *folder = &program->folder;
  const RemoteOptions *options = &program->options;
  const char *words[] = {"sh",
                         "-c",
                         arena_printf(folder->arena, "exec %s \"$@\"", options->runner),
                         "sh",
                         scratch_folder_path(folder, PROGRAM),
                         options->has_queue_threads ? "1" : "0",
                         arena_printf(folder->arena, "%lld", (long long)options->worker_count),
                         arena_printf(folder->arena, "%lld", (long long)count),
                         scratch_folder_path(folder, ARGUMENTS),
                         scratch_folder_path(folder, RESULTS),
                         NULL};
  Status status = process_run(words, diag);
  if (status != STATUS_OK) diag_note(diag, NO_LOC, "it was to run '%s PROGRAM'", options->runner);
  return status;
}

Status remote_program_run(RemoteProgram *program, ModuleRun *run, int64_t count, double *seconds, DiagSink *diag) {
  Arena *arena = program->folder.arena;
  const RemoteOptions *options = &program->options;
  ProgramOutcome outcome = {.run_count = count, .seconds = seconds};
  FileBlocks arguments = program_argument_blocks(arena, run), results = program_result_blocks(arena, run, &outcome);
  const char *path = scratch_folder_path(&program->folder, ARGUMENTS);
  RETURN_IF_ERROR(block_file_write(path, arguments.data, arguments.count, diag));
  RETURN_IF_ERROR(start(program, count, diag));
  path = scratch_folder_path(&program->folder, RESULTS);
  RETURN_IF_ERROR(block_file_read(path, results.data, results.count, diag));
  program->workspace_bytes = outcome.workspace_bytes;
  const ProgramFailure *failure = &outcome.failure;
  if (!program_failure_is_set(failure)) return STATUS_OK;
  XlacFailure told = {failure->instruction, failure->callee, failure->message};
  options->on_failure(options->failure_data, &told);
  return STATUS_INVALID;
}

void remote_program_remove(const RemoteProgram *program) {
  scratch_folder_remove(&program->folder);
}
