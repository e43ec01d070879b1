#include "hlo/analysis/fused_instruction.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LENGTH(array) ((int64_t)(sizeof(array) / sizeof(array)[0]))

static void check_last(const FusedInstruction *list, int64_t count, int64_t index, const char *fusion, int32_t result) {
  Arena *arena = arena_create();
  FusedInstruction last = fused_instructions_last(&(FusedInstructions){count, list}, arena)[index];
  assert_true(sv_equal(last.name, list[index].name));
  assert_true(sv_equal_cstring(last.fusion, fusion));
  assert_int_equal(last.result, result);
  arena_destroy(arena);
}

static void fused_instruction_is_what_its_last_fusion_stores_it_as(void **state) {
  (void)state;
  const FusedInstruction list[] = {
      {SV("ax"), SV("add_fusion"), FUSED_INSIDE},    {SV("sum"), SV("add_fusion"), FUSED_WHOLE},
      {SV("add_fusion"), SV("results_fusion"), 1},   {SV("results_fusion"), SV("row_fusion"), FUSED_WHOLE},
      {SV("row_fusion"), SV("outer"), FUSED_INSIDE},
  };
  check_last(list, LENGTH(list), 0, "outer", FUSED_INSIDE);
  check_last(list, LENGTH(list), 1, "outer", FUSED_INSIDE);
  check_last(list, LENGTH(list) - 1, 0, "row_fusion", FUSED_INSIDE);
  check_last(list, LENGTH(list) - 1, 1, "row_fusion", 1);
  check_last(list, 2, 1, "add_fusion", FUSED_WHOLE);
}

/* A name is free again when its instruction is gone, and a later fusion may be called so. */
static void fused_instruction_knows_a_name_that_was_given_again(void **state) {
  (void)state;
  const FusedInstruction list[] = {
      {SV("fusion"), SV("first"), 0},
      {SV("sum"), SV("fusion"), FUSED_WHOLE},
      {SV("fusion"), SV("second"), 3},
  };
  check_last(list, LENGTH(list), 0, "first", 0);
  check_last(list, LENGTH(list), 1, "second", 3);
}

static void fused_instructions_are_found_by_their_last_fusion(void **state) {
  (void)state;
  const FusedInstruction list[] = {
      {SV("ax"), SV("first"), FUSED_INSIDE}, {SV("sum"), SV("other"), 1}, {SV("first"), SV("other"), FUSED_INSIDE}};
  Arena *arena = arena_create();
  StringMap members_of = fused_instructions_by_fusion(&(FusedInstructions){LENGTH(list), list}, arena);
  const FusedMembers *members = string_map_get(&members_of, SV("other"));
  assert_int_equal(members->count, 3);
  assert_true(sv_equal_cstring(members->data[0].name, "ax"));
  assert_int_equal(members->data[1].result, 1);
  assert_null(string_map_get(&members_of, SV("first")));
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fused_instruction_is_what_its_last_fusion_stores_it_as),
      cmocka_unit_test(fused_instruction_knows_a_name_that_was_given_again),
      cmocka_unit_test(fused_instructions_are_found_by_their_last_fusion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
