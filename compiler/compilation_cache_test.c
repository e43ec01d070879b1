#include "compiler/compilation_cache.h"

#include <errno.h>
#include <string.h>

#include "base/fixture_testing.h"
#include "base/scratch_folder.h"
#include "hlo/machine/description/presets.h"

/* Two results, one of which may have its argument's memory; a tuple among the parameters; a call out of the module. */
static const char module_text[] =
    "HloModule two, input_output_alias={ {0}: (1, {}, may-alias) }\n"
    "ENTRY main {\n"
    "  pair = (f32[2,3]{0,1}, s8[]) parameter(0)\n"
    "  x = f32[4] parameter(1)\n"
    "  y = f32[4] parameter(2)\n"
    "  p = f32[2,3]{0,1} get-tuple-element(pair), index=0\n"
    "  n = f32[4] negate(x)\n"
    "  e = f32[4] exponential(y)\n"
    "  sum = f32[4] add(n, e)\n"
    "  called = f32[2,3]{0,1} custom-call(p), custom_call_target=\"outside\"\n"
    "  ROOT both = (f32[4], f32[2,3]{0,1}) tuple(sum, called)\n"
    "}\n";

static void load(Compilation *compilation, Fixture *fixture, const CompilationOptions *options, const char *text) {
  SourceFile *source = ARENA_NEW(fixture->arena, SourceFile);
  *source = (SourceFile){SV("memory.hlo"), sv_from_cstring(text)};
  compilation_init(compilation, fixture->arena, options, &fixture->diag);
  assert_int_equal(compilation_load(compilation, source), STATUS_OK);
}

static void compile(Compilation *compilation, Fixture *fixture, const CompilationOptions *options, const char *text) {
  load(compilation, fixture, options, text);
  assert_int_equal(compilation_run_passes(compilation), STATUS_OK);
  assert_int_equal(compilation_generate(compilation), STATUS_OK);
}

/* --- keys --- */

static ContentDigest key_of(Fixture *fixture, const CompilationOptions *options, const char *text,
                            const char *purpose) {
  Compilation compilation;
  ContentDigest key;
  load(&compilation, fixture, options, text);
  assert_true(compilation_cache_key(&compilation, sv_from_cstring(purpose), &key));
  return key;
}

static bool are_equal(ContentDigest a, ContentDigest b) {
  return memcmp(&a, &b, sizeof a) == 0;
}

#define BODY(first, second) "  x = f32[4] parameter(0)\n" first second "  ROOT both = (f32[4], f32[4]) tuple(a, b)\n}\n"

static void key_is_the_meaning_of_the_text(void **state) {
  Fixture *fixture = *state;
  static const char text[] = "HloModule m\nENTRY e {\n" BODY("  a = f32[4] negate(x)\n", "  b = f32[4] abs(x)\n");
  static const char blanks[] = "HloModule m\n\n// a comment\nENTRY   %e {\n" BODY(
      "a = f32[4]{0}   negate(f32[4] x) /* why */\n", "  b = f32[4] abs(x)\n");
  static const char *const others[] = {
      "HloModule n\nENTRY e {\n" BODY("  a = f32[4] negate(x)\n", "  b = f32[4] abs(x)\n"),
      "HloModule m\nENTRY e {\n" BODY("  a = f32[4] negate(x)\n", "  b = f32[4] exponential(x)\n"),
      "HloModule m\nENTRY e {\n" BODY("  b = f32[4] abs(x)\n", "  a = f32[4] negate(x)\n"),
      "HloModule m\nENTRY e {\n" BODY("  a = f32[4] negate(x), metadata={op_name=\"n\"}\n", "  b = f32[4] abs(x)\n"),
      "HloModule m\nENTRY e {\n" BODY("  a = f32[4] constant({1,2,3,4})\n", "  b = f32[4] abs(x)\n"),
      "HloModule m\nENTRY e {\n" BODY("  a = f32[4] constant({1,2,3,5})\n", "  b = f32[4] abs(x)\n"),
      "HloModule m, input_output_alias={ {0}: (0, {}) }\nENTRY e {\n" BODY("  a = f32[4] negate(x)\n",
                                                                           "  b = f32[4] abs(x)\n"),
  };
  enum { COUNT = sizeof others / sizeof others[0] };
  const CompilationOptions options = {0};
  ContentDigest key = key_of(fixture, &options, text, ""), keys[COUNT];
  assert_true(are_equal(key, key_of(fixture, &options, text, "")));
  assert_true(are_equal(key, key_of(fixture, &options, blanks, "")));
  assert_false(are_equal(key, key_of(fixture, &options, text, "map")));
  for (int i = 0; i < COUNT; i++) {
    keys[i] = key_of(fixture, &options, others[i], "");
    assert_false(are_equal(key, keys[i]));
    for (int j = 0; j < i; j++) assert_false(are_equal(keys[i], keys[j]));
  }
}

/* Each of |changed| differs in one option from all zeros. */
static void every_option_that_bears_on_outputs_is_in_the_key(void **state) {
  Fixture *fixture = *state;
  static const StringView disabled[] = {{"cse", 3}, {"dce", 3}};
  static const SourceFile plans = {{"a", 1}, {"plan", 4}}, no_plans = {{"a", 1}, {"", 0}};
  MachineDescription machine, larger;
  assert_int_equal(machine_preset_parse(fixture->arena, machine_preset_find(SV("vp-tiny")), &fixture->diag, &machine),
                   STATUS_OK);
  larger = machine;
  larger.buffer.size *= 2;
  const CompilationOptions changed[] = {{0},
                                        {.machine = &machine},
                                        {.machine = &larger},
                                        {.mcpu = SV("dispatch")},
                                        {.mcpu = SV("x86-64")},
                                        {.mattr = SV("-fma")},
                                        {.fast_math = true},
                                        {.flush_denormals = true},
                                        {.opt_level = 2},
                                        {.passes = COMPILATION_PASSES_INTERPRETER},
                                        {.has_pass_names = true},
                                        {.has_pass_names = true, .pass_names = SV("cse")},
                                        {.disabled_count = 1, .disabled = disabled},
                                        {.disabled_count = 2, .disabled = disabled},
                                        {.fixed_count = 1, .fixed = disabled},
                                        {.has_pass_limit = true},
                                        {.has_pass_limit = true, .pass_limit = 1},
                                        {.keeps_text_order = true},
                                        {.partitions = 2},
                                        {.callbacks = HLO_CALLBACKS_IGNORE},
                                        {.memory_limit = 1000},
                                        {.minimizes_memory = true},
                                        {.effort = 9},
                                        {.without_code = true},
                                        {.pipeline_depth = 2},
                                        {.scheme = 1},
                                        {.is_strict_oncore = true},
                                        {.has_no_residency = true},
                                        {.plans = &plans},
                                        {.plans = &no_plans},
                                        {.plans_detail = PLANS_PROVED},
                                        {.has_scratch_limit = true},
                                        {.has_scratch_limit = true, .scratch_limit = 1},
                                        {.output = LLVM_OUTPUT_ASSEMBLY},
                                        {.has_entry_name = true, .entry_name = SV("f")},
                                        {.default_name = SV("f")},
                                        {.poison = true}};
  enum { COUNT = sizeof changed / sizeof changed[0] };
  ContentDigest keys[COUNT];
  for (int i = 0; i < COUNT; i++) {
    keys[i] = key_of(fixture, &changed[i], module_text, "");
    for (int j = 0; j < i; j++) assert_false(are_equal(keys[i], keys[j]));
  }
  const CompilationProgress progress = {0};
  const CompilationOptions watching[] = {
      {.threads = 3}, {.verifies_each = true}, {.records_decisions = true}, {.progress = &progress}};
  for (size_t i = 0; i < sizeof watching / sizeof watching[0]; i++) {
    CompilationOptions options = watching[i];
    Compilation compilation;
    ContentDigest key;
    options.progress = NULL; /* of loading */
    load(&compilation, fixture, &options, module_text);
    compilation.options.progress = watching[i].progress;
    assert_true(compilation_cache_key(&compilation, SV(""), &key));
    assert_true(are_equal(key, keys[0]));
  }
}

/* --- programs --- */

static void assert_ints_equal(const int64_t *a, const int64_t *b, int64_t count) {
  for (int64_t i = 0; i < count; i++) assert_int_equal(a[i], b[i]);
}

static void assert_tensors_equal(const XlacTensor *a, const XlacTensor *b, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    assert_string_equal(a[i].name, b[i].name);
    assert_int_equal(a[i].type, b[i].type);
    assert_int_equal(a[i].rank, b[i].rank);
    assert_int_equal(a[i].bytes, b[i].bytes);
    assert_int_equal(a[i].alignment, b[i].alignment);
    assert_int_equal(a[i].alias, b[i].alias);
    assert_ints_equal(a[i].dims, b[i].dims, a[i].rank);
    assert_ints_equal(a[i].minor_to_major, b[i].minor_to_major, a[i].rank);
  }
}

static void assert_signatures_equal(const XlacDescriptor *a, const XlacDescriptor *b) {
  assert_int_equal(a->struct_size, b->struct_size);
  assert_int_equal(a->abi_version, b->abi_version);
  assert_string_equal(a->module_name, b->module_name);
  assert_int_equal(a->parameter_count, b->parameter_count);
  assert_int_equal(a->result_count, b->result_count);
  assert_tensors_equal(a->parameters, b->parameters, a->parameter_count);
  assert_tensors_equal(a->results, b->results, a->result_count);
  assert_int_equal(a->workspace_bytes, b->workspace_bytes);
  assert_int_equal(a->workspace_alignment, b->workspace_alignment);
  assert_int_equal(a->scratch_bytes_per_worker, b->scratch_bytes_per_worker);
  assert_int_equal(a->parameter_size_count, b->parameter_size_count);
  assert_int_equal(a->result_size_count, b->result_size_count);
  assert_ints_equal((const int64_t *)a->parameter_sizes, (const int64_t *)b->parameter_sizes,
                    3 * a->parameter_size_count);
  assert_ints_equal((const int64_t *)a->result_sizes, (const int64_t *)b->result_sizes, 3 * a->result_size_count);
  for (int64_t i = 0; i < a->parameter_count; i++) assert_string_equal(a->parameter_names[i], b->parameter_names[i]);
}

static void outside(void *result, const void *const *arguments) {
  memcpy(result, arguments[0], 6 * sizeof(float));
}

/* The object's own descriptor is what the signature has to be equal to. */
static void signature_is_the_descriptor_of_the_object(void **state) {
  Fixture *fixture = *state;
  static const char sized[] =
      "HloModule sized\n"
      "ENTRY main {\n"
      "  x = f32[<=8] parameter(0)\n"
      "  ROOT y = f32[<=8] negate(x)\n"
      "}\n";
  static const char *const texts[] = {module_text, sized};
  for (int i = 0; i < 2; i++) {
    Compilation compilation;
    compile(&compilation, fixture, &(CompilationOptions){.opt_level = 2}, texts[i]);
    CodegenJit *jit;
    void *const targets[] = {(void *)(uintptr_t)outside};
    assert_int_equal(codegen_jit_load(&compilation.object, targets, &fixture->diag, &jit), STATUS_OK);
    assert_signatures_equal(compilation.object.signature, codegen_jit_descriptor(jit));
    assert_int_equal(compilation.object.signature->parameter_size_count, i);
    codegen_jit_destroy(jit);
  }
}

typedef struct CacheFixture {
  Fixture base;
  ScratchFolder folder;
  CompilationCache cache;
} CacheFixture;

static void open_cache(CacheFixture *fixture, Fixture *base) {
  fixture->base = *base;
  assert_int_equal(scratch_folder_create(base->arena, &base->diag, &fixture->folder), STATUS_OK);
  fixture->cache = (CompilationCache){.path = fixture->folder.path, .limit = COMPILATION_CACHE_LIMIT};
}

static void close_cache(CacheFixture *fixture) {
  scratch_folder_remove(&fixture->folder);
}

static void find_gives_the_program_that_was_kept(void **state) {
  CacheFixture fixture;
  open_cache(&fixture, *state);
  const CompilationOptions options = {.opt_level = 2};
  Compilation first, second;
  compile(&first, &fixture.base, &options, module_text);
  load(&second, &fixture.base, &options, module_text);
  CompiledProgram program;
  assert_false(compilation_cache_find(&fixture.cache, &second, SV(""), &program));
  compilation_cache_keep(&fixture.cache, &first, SV("a map"));
  assert_true(compilation_cache_find(&fixture.cache, &second, SV(""), &program));
  assert_null(fixture.base.diag.first);
  assert_true(sv_equal(program.object.bytes, first.object.bytes));
  assert_true(sv_equal(program.object.header, first.object.header));
  assert_true(sv_equal(program.object.entry_name, first.object.entry_name));
  assert_int_equal(program.object.has_changed_name, first.object.has_changed_name);
  assert_signatures_equal(program.object.signature, first.object.signature);
  assert_int_equal(program.lower_bound_bytes, first.assignment->lower_bound_bytes);
  assert_true(sv_equal_cstring(program.map, "a map"));
  assert_true(sv_contains(program.target, SV("x86_64")));
  assert_int_equal(program.object.targets.count, 1);
  assert_true(sv_equal_cstring(program.object.targets.targets[0].symbol, "outside"));
  assert_int_equal(program.object.targets.targets[0].loc.line, 10);
  /* The code runs, wherever it lies. */
  CodegenJit *jit;
  void *const targets[] = {(void *)(uintptr_t)outside};
  assert_int_equal(codegen_jit_load(&program.object, targets, &fixture.base.diag, &jit), STATUS_OK);
  codegen_jit_destroy(jit);
  close_cache(&fixture);
}

/* Cut anywhere, or with any byte changed, it is refused or read as something well-formed; never more is read than is
 * there (AddressSanitizer tells). */
static void damaged_programs_are_refused_or_read(void **state) {
  Fixture *fixture = *state;
  Compilation compilation;
  compile(&compilation, fixture, &(CompilationOptions){.opt_level = 2}, module_text);
  compilation.object.bytes = SV("short code");
  compilation.object.header = SV("");
  CompiledProgram program;
  compiled_program_of(&compilation, SV(""), &program);
  StringView bytes = compiled_program_write(fixture->arena, &program);
  for (size_t size = 0; size < bytes.size; size++) {
    Arena *arena = arena_create();
    char *copy = arena_alloc_aligned(arena, size + 1, 16);
    memcpy(copy, bytes.data, size);
    assert_false(compiled_program_read(arena, (StringView){copy, size}, &program));
    arena_destroy(arena);
  }
  int refused = 0;
  for (size_t at = 0; at < bytes.size; at++) {
    Arena *arena = arena_create();
    char *copy = arena_alloc_aligned(arena, bytes.size, 16);
    memcpy(copy, bytes.data, bytes.size);
    copy[at] = (char)(copy[at] ^ (at % 2 == 0 ? 0xff : 0x01));
    refused += !compiled_program_read(arena, (StringView){copy, bytes.size}, &program);
    arena_destroy(arena);
  }
  assert_true(refused > 100);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
  const struct CMUnitTest tests[] = {
      TEST(key_is_the_meaning_of_the_text),
      TEST(every_option_that_bears_on_outputs_is_in_the_key),
      TEST(signature_is_the_descriptor_of_the_object),
      TEST(find_gives_the_program_that_was_kept),
      TEST(damaged_programs_are_refused_or_read),
  };
  return cmocka_run_group_tests_name("compilation_cache", tests, NULL, NULL);
}
