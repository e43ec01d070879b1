#include "compiler/compilation_cache.h"

#include <errno.h>
#include <string.h>

#include "base/build_identity.h"
#include "compiler/program.h"

/* A change of these is a change of what the key has to say: an option that bears on outputs goes into add_options, and
 * into the test that every one of them counts. */
_Static_assert(sizeof(CompilationOptions) == 296, "does the new option bear on outputs?");

/* Each part with its name and size, so that no two lists of parts are one text. */
static void add(ContentHash *hash, const char *name, StringView text) {
  const uint64_t size = text.size;
  content_hash_add(hash, sv_from_cstring(name));
  content_hash_add(hash, (StringView){(const char *)&size, sizeof size});
  content_hash_add(hash, text);
}

static void add_int(ContentHash *hash, const char *name, int64_t value) {
  add(hash, name, (StringView){(const char *)&value, sizeof value});
}

static LlvmOptions llvm_options(const CompilationOptions *options) {
  return (LlvmOptions){.mcpu = options->mcpu, .mattr = options->mattr, .machine = options->machine};
}

static void add_target(ContentHash *hash, const CompilationOptions *options, Arena *scratch) {
  StringBuilder text;
  sb_init(&text, scratch);
  LlvmOptions llvm = llvm_options(options);
  llvm_describe_target(&llvm, &text);
  if (options->machine != NULL) machine_description_print(&text, options->machine);
  add(hash, "target", sb_view(&text));
}

static void add_options(ContentHash *hash, const CompilationOptions *options) {
  add_int(hash, "fast math", options->fast_math);
  add_int(hash, "excess precision", options->excess_precision);
  add_int(hash, "flush denormals", options->flush_denormals);
  add_int(hash, "level", options->opt_level);
  add_int(hash, "passes", options->passes);
  add_int(hash, "has pass names", options->has_pass_names);
  add(hash, "pass names", options->pass_names);
  for (int i = 0; i < options->disabled_count; i++) add(hash, "disabled", options->disabled[i]);
  for (int i = 0; i < options->fixed_count; i++) add(hash, "fixed", options->fixed[i]);
  add_int(hash, "has pass limit", options->has_pass_limit);
  add_int(hash, "pass limit", options->pass_limit);
  add_int(hash, "text order", options->keeps_text_order);
  add_int(hash, "partitions", options->partitions);
  add_int(hash, "callbacks", options->callbacks);
  add_int(hash, "memory limit", options->memory_limit);
  add_int(hash, "minimizes memory", options->minimizes_memory);
  add_int(hash, "effort", options->effort);
  add_int(hash, "without code", options->without_code);
  add_int(hash, "pipeline depth", options->pipeline_depth);
  add_int(hash, "strict on-core", options->is_strict_oncore);
  add_int(hash, "no residency", options->has_no_residency);
  add_int(hash, "scheme", options->scheme);
  add(hash, "plans", options->plans != NULL ? options->plans->text : SV(""));
  add_int(hash, "has plans", options->plans != NULL);
  add_int(hash, "plans detail", options->plans_detail);
  add_int(hash, "has scratch limit", options->has_scratch_limit);
  add_int(hash, "scratch limit", options->scratch_limit);
  add_int(hash, "output", options->output);
  add_int(hash, "has entry name", options->has_entry_name);
  add(hash, "entry name", options->entry_name);
  add(hash, "default name", options->default_name);
  add_int(hash, "constants apart", options->constants_apart);
  add_int(hash, "poison", options->poison);
  add_int(hash, "profile", options->profile);
}

/* The text has instructions after their operands, whatever their order was; where passes choose, they take the first of
 * the list. */
static void add_order(ContentHash *hash, const HloModule *module) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *list = &module->computations.data[c]->instructions;
    add(hash, "computation", module->computations.data[c]->name);
    for (int64_t i = 0; i < list->count; i++) add(hash, "instruction", list->data[i]->name);
  }
}

bool compilation_cache_key(const Compilation *compilation, StringView purpose, ContentDigest *out_key) {
  StringView ours = build_identity_of("a constant of this program or library");
  if (ours.size == 0) return false;
  Arena *scratch = arena_create();
  StringBuilder text;
  sb_init(&text, scratch);
  hlo_module_print(&text, compilation->module, &HLO_PRINT_DEFAULT);
  ContentHash hash;
  content_hash_begin(&hash);
  add(&hash, "build", ours);
  add(&hash, "purpose", purpose);
  add_target(&hash, &compilation->options, scratch);
  add_options(&hash, &compilation->options);
  add(&hash, "module", sb_view(&text));
  add(&hash, "program", compilation->program != NULL ? compilation->program->source->text : SV(""));
  add_order(&hash, compilation->module);
  *out_key = content_hash_end(&hash);
  arena_destroy(scratch);
  return true;
}

/* --- finding and keeping --- */

static void remark(const CompilationCache *cache, const Compilation *compilation, const char *what) {
  diag_remark(compilation->diag, NO_LOC, "cache", "%s the compile cache '%s': %s", what, cache->path, strerror(errno));
  if (cache->advice != NULL) diag_note(compilation->diag, NO_LOC, "%s", cache->advice);
}

static bool get(const DiskCache *disk, const ContentDigest *key, const Compilation *compilation,
                CompiledProgram *out_program) {
  StringView bytes;
  if (!disk_cache_get(disk, key, compilation->arena, &bytes)) return false;
  if (!compiled_program_read(compilation->arena, bytes, out_program)) return false;
  compiled_program_set_places(compilation->arena, compilation->module, out_program);
  return true;
}

bool compilation_cache_find(CompilationCache *cache, const Compilation *compilation, StringView purpose,
                            CompiledProgram *out_program) {
  cache->has_key = false;
  if (cache->path == NULL) return false;
  cache->last = compilation->diag->last;
  if (!compilation_cache_key(compilation, purpose, &cache->key)) {
    diag_remark(compilation->diag, NO_LOC, "cache",
                "no compile cache: this program was linked without a build identifier");
    return false;
  }
  DiskCache disk;
  cache->has_key = disk_cache_open(cache->path, cache->limit, &disk);
  if (!cache->has_key) {
    remark(cache, compilation, "cannot open");
    return false;
  }
  bool is_found = get(&disk, &cache->key, compilation, out_program);
  disk_cache_close(&disk);
  return is_found;
}

/* With errno (disk_cache_put). */
static bool put(const CompilationCache *cache, const Compilation *compilation, StringView map) {
  DiskCache disk;
  if (!disk_cache_open(cache->path, cache->limit, &disk)) return false;
  CompiledProgram program;
  compiled_program_of(compilation, map, &program);
  Arena *scratch = arena_create();
  bool is_put = disk_cache_put(&disk, &cache->key, compiled_program_write(scratch, &program));
  int error = errno;
  arena_destroy(scratch);
  disk_cache_close(&disk);
  errno = error;
  return is_put;
}

void compilation_cache_keep(const CompilationCache *cache, const Compilation *compilation, StringView map) {
  if (!cache->has_key || compilation->diag->last != cache->last) return;
  if (!put(cache, compilation, map)) remark(cache, compilation, "cannot write to");
}
