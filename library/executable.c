/* Executables: from HLO to a function in this process, and runs of it. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_io.h"
#include "base/large_pages.h"
#include "compiler/compilation_cache.h"
#include "compiler/compilation_report.h"
#include "compiler/options/compilation_setup.h"
#include "compiler/options/target.h"
#include "hlo/infer/device_check.h"
#include "library/library_internal.h"
#include "runtime/engines/runner.h"

/* --- an executable --- */

static Status load_program(XlacExecutable *executable, const CallTargets *targets, DiagSink *diag) {
  Arena *arena = executable->arena;
  CompiledProgram *program = &executable->program;
  if (!compiled_program_read(arena, executable->bytes, program))
    return diag_error(diag, STATUS_INVALID, NO_LOC, "executable", "these are not the bytes of an executable");
  if (targets == NULL) targets = &program->object.targets;
  void *const *addresses;
  RETURN_IF_ERROR(client_resolve_calls(executable->client, arena, targets, diag, &addresses));
  return codegen_jit_load(&program->object, addresses, diag, &executable->jit);
}

Status executable_create(XlacClient *client, StringView bytes, const CallTargets *targets, DiagSink *diag,
                         XlacExecutable **out_executable) {
  Arena *arena = arena_create();
  XlacExecutable *executable = ARENA_NEW(arena, XlacExecutable);
  executable->client = client;
  executable->arena = arena;
  executable->bytes = (StringView){arena_copy(arena, bytes.data, bytes.size), bytes.size};
  Status status = load_program(executable, targets, diag);
  if (status == STATUS_OK)
    *out_executable = executable;
  else
    arena_destroy(arena);
  return status;
}

void xlac_executable_destroy(XlacExecutable *executable) {
  if (executable == NULL) return;
  free(atomic_load(&executable->idle_workspace));
  codegen_jit_destroy(executable->jit);
  arena_destroy(executable->arena);
}

const XlacDescriptor *xlac_executable_descriptor(const XlacExecutable *executable) {
  return codegen_jit_descriptor(executable->jit);
}

XlacFunction xlac_executable_function(const XlacExecutable *executable) {
  return codegen_jit_function(executable->jit);
}

void xlac_executable_object(const XlacExecutable *executable, const void **out_bytes, size_t *out_size) {
  *out_bytes = executable->program.object.bytes.data;
  *out_size = executable->program.object.bytes.size;
}

const char *xlac_executable_header(const XlacExecutable *executable) {
  return executable->program.object.header.data;
}

XlacStatus xlac_executable_report(const XlacExecutable *executable, XlacReport report, const char **out_text,
                                  size_t *out_size) {
  bool is_there = (unsigned)report < XLAC_REPORT_COUNT && executable->reports[report].data != NULL;
  *out_text = is_there ? executable->reports[report].data : NULL;
  if (out_size != NULL) *out_size = is_there ? executable->reports[report].size : 0;
  return is_there ? XLAC_STATUS_OK : XLAC_STATUS_INVALID;
}

/* --- reports --- */

static void print_map(const Compilation *compilation, int form, StringBuilder *out) {
  compilation_print_map(compilation, (ReportFormat)form, out);
}

static void print_liveness(const Compilation *compilation, int form, StringBuilder *out) {
  report_liveness(out, compilation->module, compilation->assignment, (ReportFormat)form);
}

static void print_assignment(const Compilation *compilation, int form, StringBuilder *out) {
  (void)form;
  report_buffer_assignment(out, compilation->module, compilation->assignment);
}

static void print_hlo(const Compilation *compilation, int form, StringBuilder *out) {
  (void)form;
  hlo_module_print(out, compilation->module, &HLO_PRINT_DEFAULT);
}

static void print_all(const Compilation *compilation, int form, StringBuilder *out) {
  compilation_print_report(compilation, (CompilationReportFormat)form, out);
}

static void print_plans(const Compilation *compilation, int form, StringBuilder *out) {
  (void)form;
  if (compilation->draft.plans != NULL) compilation_print_plans(compilation, out);
}

static const struct {
  void (*print)(const Compilation *compilation, int form, StringBuilder *out);
  int form;
} reports[XLAC_REPORT_COUNT] = {
    [XLAC_REPORT_BUFFER_MAP] = {print_map, REPORT_TEXT},
    [XLAC_REPORT_BUFFER_MAP_JSON] = {print_map, REPORT_JSON},
    [XLAC_REPORT_LIVENESS] = {print_liveness, REPORT_TEXT},
    [XLAC_REPORT_LIVENESS_JSON] = {print_liveness, REPORT_JSON},
    [XLAC_REPORT_BUFFER_ASSIGNMENT] = {print_assignment, 0},
    [XLAC_REPORT_HLO] = {print_hlo, 0},
    [XLAC_REPORT_ALL] = {print_all, COMPILATION_REPORT_TEXT},
    [XLAC_REPORT_ALL_JSON] = {print_all, COMPILATION_REPORT_JSON},
    [XLAC_REPORT_ALL_HTML] = {print_all, COMPILATION_REPORT_HTML},
    [XLAC_REPORT_PLANS] = {print_plans, 0},
};

static bool wants(const XlacOptions *options, XlacReport report) {
  return options != NULL && options->wants[report];
}

static void add_reports(const Compilation *compilation, const XlacOptions *options, XlacExecutable *executable) {
  for (int r = 0; r < XLAC_REPORT_COUNT; r++) {
    if (!wants(options, (XlacReport)r)) continue;
    StringBuilder text;
    sb_init(&text, compilation->arena);
    reports[r].print(compilation, reports[r].form, &text);
    if (text.data != NULL) executable->reports[r] = sv_copy(executable->arena, sb_view(&text));
  }
}

/* --- compilations --- */

typedef struct CompileCall {
  XlacClient *client;
  const XlacOptions *options; /* NULL: none is set */
  const char *name;           /* or path */
  const char *text;           /* NULL: of the file */
  size_t size;
  const XlacModule *module; /* NULL: of the text */
  bool is_cancelled;
  XlacExecutable *executable;
  XlacStatus status;
} CompileCall;

static Status tell_progress(void *self, const char *what, const char *name) {
  CompileCall *call = self;
  const XlacListener *listener = library_listener(call->client, call->options);
  if (listener->on_progress == NULL || listener->on_progress(listener->data, what, name) == 0) return STATUS_OK;
  call->is_cancelled = true;
  return STATUS_INVALID;
}

static Status read_file(Arena *arena, const char *path, DiagSink *diag, const SourceFile **out_source) {
  SourceFile *source = ARENA_NEW(arena, SourceFile);
  source->name = sv_copy(arena, sv_from_cstring(path));
  *out_source = source;
  return file_read(arena, path, diag, &source->text);
}

static Status set_up(const CompileCall *call, Arena *arena, DiagSink *diag, CompilationOptions *out_options) {
  static const Options none = {.command = COMMAND_RUN};
  const Options *options = call->options != NULL ? &call->options->values : &none;
  RETURN_IF_ERROR(target_check(arena, options, diag));
  RETURN_IF_ERROR(compilation_setup_check(arena, options, diag));
  *out_options = compilation_setup(arena, options);
  RETURN_IF_ERROR(target_load(arena, options, diag, &out_options->machine));
  const OptionValue *plan = &options->values[OPTION_PLAN];
  if (plan->given) RETURN_IF_ERROR(read_file(arena, plan->text, diag, &out_options->plans));
  for (int r = XLAC_REPORT_ALL; r <= XLAC_REPORT_ALL_HTML; r++)
    if (wants(call->options, (XlacReport)r)) out_options->records_decisions = true;
  return compilation_options_check(out_options, diag);
}

static Status load(const CompileCall *call, Compilation *compilation) {
  const SourceFile *source;
  if (call->module != NULL) {
    compilation_take_module(compilation, hlo_module_clone(call->module->module, compilation->arena));
    return hlo_check_devices(compilation->module, compilation->diag);
  }
  if (call->text == NULL) {
    RETURN_IF_ERROR(read_file(compilation->arena, call->name, compilation->diag, &source));
  } else {
    StringView text = sv_copy(compilation->arena, (StringView){call->text, call->size});
    SourceFile given = {sv_copy(compilation->arena, sv_from_cstring(call->name)), text};
    source = ARENA_COPY_ARRAY(compilation->arena, SourceFile, &given, 1);
  }
  return compilation_load(compilation, source);
}

/* The compile cache that options name; a report is what only a compilation tells. */
static CompilationCache cache_of(const XlacOptions *options) {
  CompilationCache none = {0};
  if (options == NULL || options_ask_for_compilation(&options->values)) return none;
  for (int r = 0; r < XLAC_REPORT_COUNT; r++)
    if (options->wants[r]) return none;
  return (CompilationCache){.path = options->values.values[OPTION_CACHE_DIR].text,
                            .limit = options_cache_limit(&options->values)};
}

/* From the cache, or compiled.  The command line's programs are others: some have maps. */
static Status make_program(const CompileCall *call, Compilation *compilation, CompiledProgram *out_program) {
  CompilationCache cache = cache_of(call->options);
  RETURN_IF_ERROR(load(call, compilation));
  if (compilation_cache_find(&cache, compilation, SV("library"), out_program)) return STATUS_OK;
  RETURN_IF_ERROR(compilation_run_passes(compilation));
  RETURN_IF_ERROR(compilation_require_assignment(compilation));
  RETURN_IF_ERROR(compilation_make_plans(compilation));
  RETURN_IF_ERROR(compilation_generate(compilation));
  compilation_cache_keep(&cache, compilation, SV(""));
  compiled_program_of(compilation, SV(""), out_program);
  return STATUS_OK;
}

static Status compile_in(CompileCall *call, Arena *arena, DiagSink *diag, Compilation *compilation) {
  CompilationProgress progress = {call, tell_progress};
  CompilationOptions options;
  RETURN_IF_ERROR(set_up(call, arena, diag, &options));
  options.progress = &progress;
  options.pool = call->client->pool;
  compilation_init(compilation, arena, &options, diag);
  CompiledProgram program;
  RETURN_IF_ERROR(make_program(call, compilation, &program));
  RETURN_IF_ERROR(executable_create(call->client, compiled_program_write(arena, &program), &program.object.targets,
                                    diag, &call->executable));
  add_reports(compilation, call->options, call->executable);
  return STATUS_OK;
}

static void compile(void *self) {
  CompileCall *call = self;
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  Compilation compilation = {0};
  Status status = compile_in(call, arena, &diag, &compilation);
  call->status = call->is_cancelled ? XLAC_STATUS_CANCELLED : library_status(status);
  library_tell(library_listener(call->client, call->options), &diag, compilation.module);
  arena_destroy(arena);
}

static XlacStatus run_compile(CompileCall *call, XlacExecutable **out_executable) {
  *out_executable = NULL;
  XlacStatus status = library_call(library_listener(call->client, call->options), compile, call);
  if (status == XLAC_STATUS_OK) *out_executable = call->executable;
  return status != XLAC_STATUS_OK ? status : call->status;
}

XlacStatus xlac_compile_text(XlacClient *client, const XlacOptions *options, const char *name, const char *text,
                             size_t size, XlacExecutable **out_executable) {
  bool is_empty = text == NULL; /* which stands for a file inside */
  CompileCall call = {
      .client = client, .options = options, .name = name, .text = is_empty ? "" : text, .size = is_empty ? 0 : size};
  return run_compile(&call, out_executable);
}

XlacStatus xlac_compile_file(XlacClient *client, const XlacOptions *options, const char *path,
                             XlacExecutable **out_executable) {
  CompileCall call = {.client = client, .options = options, .name = path != NULL ? path : ""};
  return run_compile(&call, out_executable);
}

XlacStatus xlac_compile_module(XlacClient *client, const XlacOptions *options, XlacModule *module,
                               XlacExecutable **out_executable) {
  CompileCall call = {.client = client, .options = options, .module = module};
  return run_compile(&call, out_executable);
}

/* --- runs --- */

static void *allocate_workspace(const XlacDescriptor *descriptor, int64_t bytes) {
  size_t alignment = workspace_page_alignment((size_t)bytes);
  if (alignment < (size_t)descriptor->workspace_alignment) alignment = (size_t)descriptor->workspace_alignment;
  size_t size = ((size_t)bytes + alignment - 1) / alignment * alignment;
  void *workspace = aligned_alloc(alignment, size);
  if (workspace != NULL) large_pages_ask(workspace, (size_t)bytes);
  return workspace;
}

/* Where the caller did not ask to be told of failures. */
static void tell_call_failure(void *self, const XlacFailure *failure) {
  const XlacClient *client = self;
  library_tell_error(&client->listener, "call-failed", failure->message);
}

/* A workspace that is not the caller's is kept for the next run with the client's threads. */
static XlacStatus run_with(XlacExecutable *executable, const void *const *arguments, void *const *results,
                           void *workspace, const XlacRunOptions *options, bool is_client_run) {
  const XlacDescriptor *descriptor = xlac_executable_descriptor(executable);
  int64_t bytes = descriptor_workspace_bytes(descriptor, options);
  void *own = NULL;
  if (workspace == NULL && bytes > 0) {
    own = is_client_run ? atomic_exchange(&executable->idle_workspace, NULL) : NULL;
    if (own == NULL) own = allocate_workspace(descriptor, bytes);
    if (own == NULL) {
      library_tell_error(&executable->client->listener, "out-of-memory", "out of memory for the workspace");
      return XLAC_STATUS_OUT_OF_MEMORY;
    }
  }
  int code = xlac_executable_function(executable)(arguments, results, own != NULL ? own : workspace, options);
  if (is_client_run) own = own != NULL ? atomic_exchange(&executable->idle_workspace, own) : NULL;
  free(own);
  return code == 0 ? XLAC_STATUS_OK : XLAC_STATUS_CALL_FAILED;
}

XlacStatus xlac_executable_run(XlacExecutable *executable, const void *const *arguments, void *const *results,
                               void *workspace, const XlacRunOptions *options) {
  if (options != NULL) return run_with(executable, arguments, results, workspace, options, false);
  XlacClient *client = executable->client;
  XlacRunOptions own = {.struct_size = sizeof own,
                        .abi_version = XLAC_ABI_VERSION,
                        .user_data = client->threads,
                        .parallel_for = xlac_thread_pool_parallel_for,
                        .worker_count = xlac_thread_pool_worker_count(client->threads),
                        .on_failure = tell_call_failure,
                        .failure_data = client};
  return run_with(executable, arguments, results, workspace, &own, true);
}
