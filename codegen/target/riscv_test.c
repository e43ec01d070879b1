#include "codegen/target/riscv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TRIPLE "riscv64-unknown-linux-gnu"

static MachineIsa isa_of(const char *cpu, const char *features, const char *abi) {
  return (MachineIsa){.triple = SV(TRIPLE),
                      .cpu = sv_from_cstring(cpu),
                      .features = sv_from_cstring(features),
                      .abi = sv_from_cstring(abi)};
}

/* What is wrong with it; empty when nothing is. */
static const char *mistake_in(Arena *arena, const char *cpu, const char *features, const char *abi) {
  MachineIsa isa = isa_of(cpu, features, abi);
  DiagSink diag;
  diag_sink_init(&diag, arena);
  Status status = riscv_check(&isa, &diag);
  assert_int_equal(status, diag.first ? STATUS_INVALID : STATUS_OK);
  return diag.first ? arena_copy_string(arena, diag.first->message.data, diag.first->message.size) : "";
}

static void riscv_check_accepts_what_fits(void **state) {
  (void)state;
  Arena *arena = arena_create();
  assert_string_equal(mistake_in(arena, "generic-rv64", "+m,+a,+f,+d,+c,+v", "lp64d"), "");
  assert_string_equal(mistake_in(arena, "", "", ""), "");
  assert_string_equal(mistake_in(arena, "sifive-x280", "", "lp64d"), "");
  assert_string_equal(mistake_in(arena, "", "+v", "lp64d"), ""); /* V brings D */
  assert_string_equal(mistake_in(arena, "", "+f,-relax", "lp64f"), "");
  arena_destroy(arena);
}

static void riscv_check_names_what_does_not(void **state) {
  (void)state;
  Arena *arena = arena_create();
  assert_string_equal(mistake_in(arena, "generic-rv32", "", ""), "'" TRIPLE "' has no processor 'generic-rv32'");
  assert_string_equal(mistake_in(arena, "", "+m,+w", ""), "'" TRIPLE "' has no feature 'w'");
  assert_string_equal(mistake_in(arena, "", "+m,+", ""), "'" TRIPLE "' has no feature ''");
  assert_string_equal(mistake_in(arena, "", "+m,v", ""),
                      "features are written '+NAME' or '-NAME', separated by commas, not 'v'");
  assert_string_equal(mistake_in(arena, "", "+m,+f", "lp64d"), "abi 'lp64d' needs feature '+d'");
  assert_string_equal(mistake_in(arena, "", "+m", "lp64f"), "abi 'lp64f' needs feature '+f'");
  assert_string_equal(mistake_in(arena, "", "+d", "ilp32d"), "'" TRIPLE "' has no abi 'ilp32d': lp64, lp64f or lp64d");
  arena_destroy(arena);
}

static const char *abi_for(Arena *arena, const char *cpu, const char *features) {
  MachineIsa isa = riscv_isa(SV(TRIPLE), sv_from_cstring(cpu), sv_from_cstring(features), arena);
  return arena_copy_string(arena, isa.abi.data, isa.abi.size);
}

static void riscv_isa_passes_numbers_in_the_widest_registers(void **state) {
  (void)state;
  Arena *arena = arena_create();
  assert_string_equal(abi_for(arena, "", ""), "lp64d"); /* what Linux needs */
  assert_string_equal(abi_for(arena, "rocket-rv64", ""), "lp64");
  assert_string_equal(abi_for(arena, "sifive-s51", ""), "lp64");
  assert_string_equal(abi_for(arena, "sifive-s51", "+f"), "lp64f");
  assert_string_equal(abi_for(arena, "sifive-u54", ""), "lp64d");
  assert_string_equal(abi_for(arena, "", "+v"), "lp64d");
  arena_destroy(arena);
}

static void riscv_features_joins_those_of_the_processor(void **state) {
  (void)state;
  Arena *arena = arena_create();
  MachineIsa plain = isa_of("veyron-v1", "", ""), more = isa_of("veyron-v1", "+v,-c", ""), none = isa_of("", "+v", "");
  assert_string_equal(riscv_features(&plain, arena), "+m,+a,+f,+d,+c");
  assert_string_equal(riscv_features(&more, arena), "+m,+a,+f,+d,+c,+v,-c");
  assert_string_equal(riscv_features(&none, arena), "+v");
  assert_string_equal(riscv_cpu(&none, arena), "generic-rv64");
  assert_string_equal(riscv_cpu(&plain, arena), "veyron-v1");
  arena_destroy(arena);
}

/* V promises 128 bits: pairs of its 32 registers are 16 of 256. */
static void riscv_vec_target_of_promises(void **state) {
  (void)state;
  VecTarget v = riscv_vec_target("+m,+a,+f,+d,+c,+v"), longer = riscv_vec_target("+v,+zvl256b"),
            longest = riscv_vec_target("+v,+zvl1024b"), scalar = riscv_vec_target("+m,+f,+d");
  assert_int_equal(v.vector_bits, 256);
  assert_int_equal(v.register_count, 16);
  assert_int_equal(longer.vector_bits, 256);
  assert_int_equal(longer.register_count, 32);
  assert_int_equal(longest.vector_bits, 512);
  assert_int_equal(longest.register_count, 32);
  assert_true(v.has_fma && v.has_masks && v.has_rounding && v.has_division);
  assert_false(v.has_avx512 || v.has_vnni || v.has_pairs || v.has_f16c);
  assert_true(riscv_vec_target("+v,+zvfh").has_f16c);
  assert_true(v.has_saturation);
  assert_false(scalar.has_masks || scalar.has_division || scalar.has_saturation);
  assert_false(scalar.lacks_f32 || scalar.lacks_f64 || v.lacks_f32 || v.lacks_f64);
  VecTarget single = riscv_vec_target("+m,+f"), none = riscv_vec_target("+m");
  assert_true(!single.lacks_f32 && single.lacks_f64 && none.lacks_f32 && none.lacks_f64);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(riscv_check_accepts_what_fits),
      cmocka_unit_test(riscv_check_names_what_does_not),
      cmocka_unit_test(riscv_isa_passes_numbers_in_the_widest_registers),
      cmocka_unit_test(riscv_features_joins_those_of_the_processor),
      cmocka_unit_test(riscv_vec_target_of_promises),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
