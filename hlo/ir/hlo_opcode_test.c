#include "hlo/ir/hlo_opcode.h"

#include <string.h>

#include "hlo/ir/hlo_testing.h"

static void opcode_text_reads_back(void **state) {
  (void)state;
  for (int i = 0; i < HLO_OPCODE_COUNT; i++) {
    HloOpcode opcode = HLO_OPCODE_COUNT;
    assert_true(hlo_opcode_from_text(sv_from_cstring(hlo_opcode_text((HloOpcode)i)), &opcode));
    assert_int_equal(opcode, i);
    if (i > 0) assert_true(strcmp(hlo_opcode_text((HloOpcode)(i - 1)), hlo_opcode_text((HloOpcode)i)) < 0);
  }
}

static void opcode_from_text_unknown_fails(void **state) {
  (void)state;
  HloOpcode opcode = HLO_ADD;
  static const char *const words[] = {"", "ad", "Add", "addd", "xor-", "fusion-start", "zzz"};
  for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
    assert_false(hlo_opcode_from_text(sv_from_cstring(words[i]), &opcode));
  }
  assert_int_equal(opcode, HLO_ADD);
}

static void opcode_attrs_are_distinct(void **state) {
  (void)state;
  for (int i = 0; i < HLO_OPCODE_COUNT; i++) {
    const HloOpcodeInfo *info = hlo_opcode_info((HloOpcode)i);
    for (int j = 0; j < info->attr_count; j++) {
      HloAttrId id = info->attrs[j].id;
      const char *text = hlo_attr_info(id)->text;
      assert_true(id > HLO_ATTR_NONE && id < HLO_ATTR_FIRST_COMMON);
      if (text[0] == 0) continue;
      assert_int_equal(hlo_opcode_attr_from_text((HloOpcode)i, sv_from_cstring(text)), id);
    }
  }
}

static void opcode_attr_from_text_depends_on_opcode(void **state) {
  (void)state;
  assert_int_equal(hlo_opcode_attr_from_text(HLO_DOT, SV("algorithm")), HLO_ATTR_DOT_ALGORITHM);
  assert_int_equal(hlo_opcode_attr_from_text(HLO_RNG_BIT_GENERATOR, SV("algorithm")), HLO_ATTR_RNG_ALGORITHM);
  assert_int_equal(hlo_opcode_attr_from_text(HLO_GATHER, SV("slice_sizes")), HLO_ATTR_SLICE_SIZES);
  assert_int_equal(hlo_opcode_attr_from_text(HLO_COLLECTIVE_PERMUTE, SV("slice_sizes")), HLO_ATTR_PERMUTE_SLICE_SIZES);
  assert_int_equal(hlo_opcode_attr_from_text(HLO_ADD, SV("metadata")), HLO_ATTR_METADATA);
  assert_int_equal(hlo_opcode_attr_from_text(HLO_ADD, SV("dimensions")), HLO_ATTR_NONE);
  assert_int_equal(hlo_opcode_attr_from_text(HLO_PARAMETER, SV("")), HLO_ATTR_NONE);
}

/* Passes ask for ranges of costs: each has to hold what its name says. */
static void opcode_costs_fit_access_and_traits(void **state) {
  (void)state;
  for (int i = 0; i < HLO_OPCODE_COUNT; i++) {
    HloOpcode opcode = (HloOpcode)i;
    const HloOpcodeInfo *info = hlo_opcode_info(opcode);
    bool makes_elements = info->cost != OP_COST_NONE;
    if (hlo_opcode_has(opcode, OP_ELEMENTWISE)) {
      assert_true(makes_elements && info->access == ACCESS_ELEMENTWISE);
      assert_true(hlo_opcode_is_cheap(opcode) || info->cost <= OP_COST_POWER);
    }
    if (hlo_opcode_is_function(opcode)) assert_true(hlo_opcode_has(opcode, OP_ELEMENTWISE));
    if (hlo_opcode_has(opcode, OP_STAYS)) assert_false(makes_elements);
    if (hlo_opcode_has(opcode, OP_ASSOCIATIVE)) assert_true(hlo_opcode_has(opcode, OP_COMMUTES));
    if (hlo_opcode_has(opcode, OP_IDEMPOTENT)) assert_true(hlo_opcode_has(opcode, OP_ASSOCIATIVE));
    if (hlo_opcode_has(opcode, OP_BARRIER)) assert_int_equal(info->flow, OP_FLOW_FORWARDS);
  }
  static const HloOpcode functions[] = {HLO_ACOSH, HLO_ASINH, HLO_ATANH, HLO_ERF, HLO_POWER, HLO_TANH};
  static const HloOpcode others[] = {HLO_ADD, HLO_DIVIDE, HLO_DOT, HLO_GATHER, HLO_SQRT, HLO_TRANSPOSE};
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    assert_true(hlo_opcode_is_function(functions[i]));
    assert_false(hlo_opcode_is_function(others[i]));
  }
}

static void enum_words_follow_their_case_rule(void **state) {
  (void)state;
  assert_int_equal(hlo_enum_from_text(HLO_ENUM_COMPARISON_DIRECTION, SV("LT")), COMPARISON_DIRECTION_LT);
  assert_int_equal(hlo_enum_from_text(HLO_ENUM_COMPARISON_DIRECTION, SV("lt")), -1);
  assert_int_equal(hlo_enum_from_text(HLO_ENUM_RANDOM_DISTRIBUTION, SV("Rng_Uniform")), RANDOM_DISTRIBUTION_UNIFORM);
  assert_int_equal(hlo_enum_from_text(HLO_ENUM_OPERAND_PRECISION, SV("HIGH")), OPERAND_PRECISION_HIGH);
  assert_int_equal(hlo_enum_from_text(HLO_ENUM_OPERAND_PRECISION, SV("hig")), -1);
  assert_int_equal(hlo_enum_from_text(HLO_ENUM_CUSTOM_CALL_SCHEDULE, SV("schedule_latest")),
                   CUSTOM_CALL_SCHEDULE_LATEST);
  for (int id = HLO_ENUM_NONE + 1; id < HLO_ENUM_COUNT; id++) {
    for (int64_t value = 0; value < hlo_enum_count((HloEnumId)id); value++) {
      StringView word = sv_from_cstring(hlo_enum_text((HloEnumId)id, value));
      assert_int_equal(hlo_enum_from_text((HloEnumId)id, word), value);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(opcode_text_reads_back),
      cmocka_unit_test(opcode_from_text_unknown_fails),
      cmocka_unit_test(opcode_attrs_are_distinct),
      cmocka_unit_test(opcode_attr_from_text_depends_on_opcode),
      cmocka_unit_test(opcode_costs_fit_access_and_traits),
      cmocka_unit_test(enum_words_follow_their_case_rule),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
