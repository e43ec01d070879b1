#include "codegen/target/cpu_level.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static VecTarget of_cpu(const char *cpu) {
  const CpuLevel *level = cpu_level_find(sv_from_cstring(cpu));
  assert_non_null(level);
  return cpu_vec_target(level->features);
}

static void cpu_level_find_known_and_unknown(void **state) {
  (void)state;
  assert_string_equal(cpu_level_find(SV("haswell"))->cpu, "haswell");
  assert_null(cpu_level_find(SV("haswel")));
  assert_null(cpu_level_find(SV("haswells")));
  assert_null(cpu_level_find(SV("")));
  /* These are no processors, but ways to choose one. */
  assert_null(cpu_level_find(SV("native")));
  assert_null(cpu_level_find(SV("dispatch")));
}

static void cpu_vec_target_of_levels(void **state) {
  (void)state;
  VecTarget base = of_cpu("x86-64"), sandy = of_cpu("sandybridge"), haswell = of_cpu("haswell"), zen = of_cpu("znver4");
  assert_int_equal(base.vector_bits, 128);
  assert_int_equal(base.register_count, 16);
  assert_false(base.has_fma || base.has_rounding || base.has_f16c || base.has_masks_32 || base.has_masks);
  /* AVX without AVX2 has no integer vectors of 256 bits. */
  assert_int_equal(sandy.vector_bits, 128);
  assert_true(sandy.has_rounding);
  assert_false(sandy.has_fma);
  assert_int_equal(haswell.vector_bits, 256);
  assert_int_equal(haswell.register_count, 16);
  assert_true(haswell.has_fma && haswell.has_f16c && haswell.has_masks_32);
  assert_false(haswell.has_masks);
  assert_int_equal(zen.vector_bits, 512);
  assert_int_equal(zen.register_count, 32);
  assert_true(zen.has_fma && zen.has_masks && zen.has_masks_32);
}

static void cpu_vec_target_last_mention_counts(void **state) {
  (void)state;
  assert_false(cpu_vec_target("+avx,+fma,-fma").has_fma);
  assert_true(cpu_vec_target("-fma,+avx,+fma").has_fma);
  assert_int_equal(cpu_vec_target("+avx2,-avx2").vector_bits, 128);
  /* Whole words only. */
  assert_false(cpu_vec_target("+fma4").has_fma);
  assert_false(cpu_vec_target("+xfma").has_fma);
  assert_int_equal(cpu_vec_target("").vector_bits, 128);
}

static void cpu_vec_target_denied_base_takes_the_rest(void **state) {
  (void)state;
  VecTarget target = cpu_vec_target("+avx,+avx2,+fma,+f16c,-avx");
  assert_int_equal(target.vector_bits, 128);
  assert_false(target.has_fma || target.has_f16c);
  assert_int_equal(cpu_vec_target("+avx2,+avx512f,+avx512bw,+avx512dq,+avx512vl,-avx2").vector_bits, 128);
  assert_true(of_cpu("znver4").has_bf16_pairs && of_cpu("cooperlake").has_bf16_pairs);
  assert_true(of_cpu("sapphirerapids").has_matrix_bf16 && of_cpu("sapphirerapids").has_matrix_s8);
  assert_false(of_cpu("znver4").has_matrix_bf16 || of_cpu("znver4").has_matrix_s8);
  assert_true(of_cpu("sapphirerapids").has_large_caches);
  assert_false(of_cpu("znver4").has_large_caches || of_cpu("icelake-server").has_large_caches);
  assert_true(of_cpu("znver4").owns_whole_lines && of_cpu("znver5").owns_whole_lines);
  assert_false(of_cpu("znver3").owns_whole_lines || of_cpu("x86-64-v4").owns_whole_lines);
  assert_true(of_cpu("znver4").multiplies_by_halves);
  assert_false(of_cpu("znver5").multiplies_by_halves || of_cpu("znver3").multiplies_by_halves);
  assert_false(of_cpu("sapphirerapids").multiplies_by_halves || of_cpu("x86-64-v4").multiplies_by_halves);
  assert_false(cpu_vec_target("+amx-tile,+amx-bf16,+amx-int8").has_matrix_s8);
  assert_true(of_cpu("sapphirerapids").has_f16_arithmetic);
  assert_false(of_cpu("znver4").has_f16_arithmetic || of_cpu("icelake-server").has_f16_arithmetic);
  assert_false(of_cpu("cascadelake").has_bf16_pairs || of_cpu("x86-64-v4").has_bf16_pairs);
  assert_true(of_cpu("znver4").has_byte_permutes && of_cpu("icelake-server").has_byte_permutes);
  assert_false(of_cpu("cascadelake").has_byte_permutes || of_cpu("x86-64-v4").has_byte_permutes);
  /* All four are needed. */
  assert_int_equal(cpu_vec_target("+avx2,+avx512f,+avx512bw,+avx512dq").vector_bits, 256);
}

static void cpu_variant_each_adds_to_the_last(void **state) {
  (void)state;
  VecTarget previous = {0};
  for (int i = 0; i < CPU_VARIANT_COUNT; i++) {
    VecTarget target = of_cpu(cpu_variant((CpuVariantId)i)->cpu);
    assert_true(target.vector_bits > previous.vector_bits || i >= CPU_VARIANT_NARROW);
    assert_true(target.vector_bits >= previous.vector_bits);
    assert_true(target.has_fma >= previous.has_fma);
    assert_true(target.has_masks_32 >= previous.has_masks_32);
    assert_true(target.has_vnni >= previous.has_vnni && target.has_bf16_pairs >= previous.has_bf16_pairs);
    assert_true(target.has_matrix_s8 >= previous.has_matrix_s8);
    previous = target;
  }
  assert_string_equal(cpu_variant(CPU_VARIANT_BASELINE)->name, "baseline");
  assert_string_equal(cpu_variant(CPU_VARIANT_AVX2)->name, "avx2");
  assert_string_equal(cpu_variant(CPU_VARIANT_AVX512)->name, "avx512");
  assert_string_equal(cpu_variant(CPU_VARIANT_BF16)->name, "bf16");
  assert_string_equal(cpu_variant(CPU_VARIANT_AMX)->name, "amx");
  assert_false(of_cpu(cpu_variant(CPU_VARIANT_AVX512)->cpu).has_vnni);
  VecTarget pairs = of_cpu(cpu_variant(CPU_VARIANT_BF16)->cpu), matrix = of_cpu(cpu_variant(CPU_VARIANT_AMX)->cpu);
  assert_true(pairs.has_vnni && pairs.has_bf16_pairs && !pairs.has_matrix_bf16 && !pairs.has_byte_permutes);
  assert_true(matrix.has_matrix_s8 && matrix.has_matrix_bf16);
}

static void cpu_level_names_says_what_was_meant(void **state) {
  (void)state;
  Arena *arena = arena_create();
  StringBuilder names;
  sb_init(&names, arena);
  NearestWord nearest = nearest_word_begin(SV("skylak"));
  cpu_level_names(&names, &nearest);
  assert_true(sv_equal_cstring(nearest.word, "skylake"));
  assert_non_null(strstr(sb_view(&names).data, "skylake, "));
  nearest = nearest_word_begin(SV("pentium"));
  cpu_level_names(&names, &nearest);
  assert_int_equal(nearest.word.size, 0);
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cpu_level_find_known_and_unknown),   cmocka_unit_test(cpu_vec_target_of_levels),
      cmocka_unit_test(cpu_vec_target_last_mention_counts), cmocka_unit_test(cpu_vec_target_denied_base_takes_the_rest),
      cmocka_unit_test(cpu_variant_each_adds_to_the_last),  cmocka_unit_test(cpu_level_names_says_what_was_meant),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
