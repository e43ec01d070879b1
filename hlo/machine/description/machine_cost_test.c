#include "hlo/machine/description/machine_cost.h"

#include "hlo/machine/description/machine_testing.h"

static void every_elementwise_opcode_has_a_cost(void **state) {
  (void)state;
  for (int opcode = 0; opcode < HLO_OPCODE_COUNT; opcode++)
    if (hlo_opcode_has((HloOpcode)opcode, OP_ELEMENTWISE) && machine_cost_of_opcode((HloOpcode)opcode) == COST_NONE)
      fail_msg("'%s' has no cost", hlo_opcode_text((HloOpcode)opcode));
}

static void opcodes_that_are_not_lane_wise_have_none(void **state) {
  (void)state;
  static const HloOpcode others[] = {HLO_DOT, HLO_REDUCE, HLO_WHILE, HLO_PARAMETER, HLO_BROADCAST, HLO_FUSION};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    assert_int_equal(machine_cost_of_opcode(others[i]), COST_NONE);
}

static void op_cycles_are_those_of_the_file(void **state) {
  Fixture *fixture = *state;
  MachineDescription machine = parse_preset(fixture, "vp-ref");
  double cycles;
  assert_int_equal(machine_op_cycles(&machine, HLO_DIVIDE, TYPE_F32, NO_LOC, &fixture->diag, &cycles), STATUS_OK);
  assert_true(cycles == 4);
  assert_int_equal(machine_op_cycles(&machine, HLO_TANH, TYPE_BF16, NO_LOC, &fixture->diag, &cycles), STATUS_OK);
  assert_true(cycles == 5);
  assert_int_equal(machine_cost_cycles(&machine, COST_MAC, TYPE_S8, NO_LOC, &fixture->diag, &cycles), STATUS_OK);
  assert_true(cycles == 1024);
}

static void type_without_operations_is_a_located_error(void **state) {
  Fixture *fixture = *state;
  MachineDescription machine = parse_preset(fixture, "vp-tiny");
  SourceFile file = {SV("a.hlo"), SV("text")};
  SourceLoc loc = {&file, 1, 2};
  double cycles;
  Status status = machine_op_cycles(&machine, HLO_ADD, TYPE_C64, loc, &fixture->diag, &cycles);
  assert_int_equal(status, STATUS_UNSUPPORTED);
  assert_string_equal(fixture->diag.first->code, "unsupported-type");
  assert_string_equal(fixture->diag.first->message.data, "machine 'vp-tiny' has no operations on 'c64'");
  assert_int_equal(fixture->diag.first->loc.column, 2);
}

static void vectors_are_counted_in_storage_bytes(void **state) {
  MachineDescription machine = parse_preset(*state, "vp-ref");
  assert_int_equal(machine_vector_count(&machine, 0, TYPE_F32), 0);
  assert_int_equal(machine_vector_count(&machine, 16, TYPE_F32), 1);
  assert_int_equal(machine_vector_count(&machine, 17, TYPE_F32), 2);
  assert_int_equal(machine_vector_count(&machine, 65, TYPE_S4), 2);
}

/* vector-processor.md §6: l = 576 for a tile of 16 KiB. */
static void transfer_costs_setup_bytes_and_rows(void **state) {
  MachineDescription machine = parse_preset(*state, "vp-ref");
  assert_true(machine_transfer_cycles(&machine.queues[0], 16384, 1, 1) == 64 + 512);
  assert_true(machine_transfer_cycles(&machine.queues[0], 16, 4, 1) == 64 + 0.5 + 6);
  assert_true(machine_transfer_cycles(&machine.queues[0], 16, 4, 2) == 128 + 0.5 + 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_elementwise_opcode_has_a_cost),
      cmocka_unit_test(opcodes_that_are_not_lane_wise_have_none),
      cmocka_unit_test_setup_teardown(op_cycles_are_those_of_the_file, create, destroy),
      cmocka_unit_test_setup_teardown(type_without_operations_is_a_located_error, create, destroy),
      cmocka_unit_test_setup_teardown(vectors_are_counted_in_storage_bytes, create, destroy),
      cmocka_unit_test_setup_teardown(transfer_costs_setup_bytes_and_rows, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
