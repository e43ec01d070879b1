#include "parser/foreign_format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* What the message calls |text|; empty when it may be HLO text. */
static StringView format_of(Arena *arena, StringView text) {
  SourceFile file = {SV("m"), text};
  DiagSink diag;
  diag_sink_init(&diag, arena);
  if (foreign_format_check(&file, &diag) == STATUS_OK) return SV("");
  return diag.first->message;
}

static void assert_format(Arena *arena, StringView text, const char *what) {
  StringView message = format_of(arena, text);
  StringView expected = what ? sv_printf(arena, "this is %s, and xlac reads HLO text", what) : SV("");
  if (!sv_equal(message, expected)) fail_msg("'%.*s' instead of '%.*s'", SV_ARG(message), SV_ARG(expected));
}

static void foreign_format_check_knows_first_bytes(void **state) {
  (void)state;
  Arena *arena = arena_create();
  assert_format(arena, SV("ML\xefR\rStableHLO_v1.15.0\0"), "MLIR bytecode");
  assert_format(arena, SV("\x1f\x8b\x08\0"), "compressed by gzip");
  assert_format(arena, SV("PK\x03\x04"), "a zip archive, as .npz files are");
  assert_format(arena, SV("\x93NUMPY\x01"), "an array of numpy");
  assert_format(arena, SV("\177ELF\x02"), "an object file or a program");
  assert_format(arena, SV("\xff\xfeH\0l\0o\0"), "UTF-16 text");
  assert_format(arena, SV("\0\x01"), "a binary file");
  arena_destroy(arena);
}

/* By the numbers of the fields in XLA's xla.proto: name 1, entry_computation_name 2. */
static void foreign_format_check_knows_hlo_protos(void **state) {
  (void)state;
  Arena *arena = arena_create();
  const char *proto = "a serialized HLO proto";
  assert_format(arena, SV("\n\x05jit_f\x12\x04main\x1a\x00"), proto);
  assert_format(arena, SV("\n\x0f\n\x05jit_f\x12\x04main\x1a\x00"), proto);       /* HloProto */
  assert_format(arena, SV("\n\x11\n\x0f\n\x05jit_f\x12\x04main\x1a\x00"), proto); /* HloSnapshot */
  assert_format(arena, SV("\n\x05jit_f\x12\x40main"), NULL);                      /* cut off */
  assert_format(arena, SV("\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\x12"), NULL);   /* no length */
  arena_destroy(arena);
}

static void foreign_format_check_knows_mlir_text(void **state) {
  (void)state;
  Arena *arena = arena_create();
  const char *mlir = "MLIR text, StableHLO perhaps";
  assert_format(arena, SV("module @jit_f {\n  func.func public @main() {\n"), mlir);
  assert_format(arena, SV("// made by hand\n#loc = loc(unknown)\nmodule {\n  %0 = stablehlo.sine %arg0"), mlir);
  assert_format(arena, SV("\"builtin.module\"() ({ \"func.func\"() <{"), mlir);
  arena_destroy(arena);
}

static void foreign_format_check_lets_hlo_text_pass(void **state) {
  (void)state;
  Arena *arena = arena_create();
  assert_format(arena, SV(""), NULL);
  assert_format(arena, SV("HloModule m\n"), NULL);
  assert_format(arena, SV("\n\n\tHloModule m\r\n\x0c"), NULL);
  assert_format(arena, SV("\xef\xbb\xbfHloModule m\n"), NULL);
  assert_format(arena, SV("// no \"func.func\"\nHloModule module\n"), NULL);
  assert_format(arena, SV("module {\n  ROOT p = f32[] parameter(0)\n}"), NULL); /* a computation of this name */
  assert_format(arena,
                SV("\nHloModule m, entry_computation_layout={()->f32[]}\nENTRY e { ROOT c = f32[] constant(1) }"),
                NULL); /* line end and 'H' are a field's tag and size */
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(foreign_format_check_knows_first_bytes),
      cmocka_unit_test(foreign_format_check_knows_hlo_protos),
      cmocka_unit_test(foreign_format_check_knows_mlir_text),
      cmocka_unit_test(foreign_format_check_lets_hlo_text_pass),
  };
  return cmocka_run_group_tests_name("foreign_format", tests, NULL, NULL);
}
