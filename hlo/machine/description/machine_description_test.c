#include "hlo/machine/description/machine_description.h"

#include "hlo/machine/description/machine_testing.h"

static MachineDescription parse_small(Fixture *fixture, StringView more) {
  MachineDescription machine;
  StringView text = sv_printf(fixture->arena, "%s%.*s", SMALL_MACHINE, SV_ARG(more));
  assert_int_equal(parse_text(fixture, text, &machine), STATUS_OK);
  return machine;
}

static void parse_fills_every_field(void **state) {
  MachineDescription machine = parse_small(*state, SV("[isa] triple=riscv64 cpu=c features=+v,+d abi=lp64d"));
  assert_true(sv_equal_cstring(machine.name, "small"));
  assert_int_equal(machine.clock_hz, 5);
  assert_int_equal(machine.buffer.size, 2048);
  assert_int_equal(machine.buffer.unit, TYPE_INVALID);
  assert_int_equal(machine.buffer.align, 64);
  assert_int_equal(machine.buffer.reserve, 0);
  assert_int_equal(machine.vector_bytes, 32);
  assert_true(machine.memory_bytes_per_cycle == 1.5);
  assert_int_equal(machine.sync.kind, SYNC_FLAG);
  assert_int_equal(machine.sync.ids, 3);
  assert_int_equal(machine.sync.set, 1);
  assert_int_equal(machine.sync.wait, 2);
  assert_int_equal(machine.sync.barrier, 4);
  assert_true(sv_equal_cstring(machine.isa.triple, "riscv64"));
  assert_true(sv_equal_cstring(machine.isa.cpu, "c"));
  assert_true(sv_equal_cstring(machine.isa.features, "+v,+d"));
  assert_true(sv_equal_cstring(machine.isa.abi, "lp64d"));
  assert_false(machine_is_host(&machine));
}

static void parse_keeps_queues_in_order(void **state) {
  MachineDescription machine = parse_small(*state, SV(""));
  assert_int_equal(machine.queue_count, 3);
  const MachineQueue *load = &machine.queues[0], *exec = &machine.queues[1];
  assert_true(sv_equal_cstring(load->name, "A"));
  assert_int_equal(load->kind, QUEUE_LOAD);
  assert_true(load->bytes_per_cycle == 0.5);
  assert_int_equal(load->setup, 7);
  assert_int_equal(load->row, 3);
  assert_int_equal(load->dims, 2);
  assert_int_equal(load->depth, 4);
  assert_int_equal(load->complete, COMPLETE_UNORDERED);
  assert_int_equal(exec->kind, QUEUE_EXEC);
  assert_int_equal(exec->complete, COMPLETE_IN_ORDER);
  assert_ptr_equal(machine_find_queue(&machine, SV("C")), &machine.queues[2]);
  assert_null(machine_find_queue(&machine, SV("c")));
  assert_int_equal(load->loc.line, 4);
  assert_int_equal(load->loc.column, 8);
}

static void optional_costs_fall_back_to_their_like(void **state) {
  MachineDescription machine = parse_small(*state, SV("pow=30"));
  const double *cost = machine.ops[TYPE_F32]->cost;
  assert_true(cost[COST_SIN] == 11);
  assert_true(cost[COST_POW] == 30);
  assert_true(cost[COST_LOGIC] == 2);
  assert_true(cost[COST_CONVERT] == 1);
  assert_null(machine.ops[TYPE_F64]);
}

static void inherited_costs_are_scaled_and_overridden(void **state) {
  MachineDescription machine = parse_small(*state, SV("[op s8] inherit=f32 scale=0.25 add=7 [op u8] inherit=s8"));
  for (int type = TYPE_S8; type <= TYPE_U8; type += TYPE_U8 - TYPE_S8) {
    const double *cost = machine.ops[type]->cost;
    assert_true(cost[COST_MUL] == 0.75);
    assert_true(cost[COST_ADD] == 7);
    assert_true(cost[COST_SIN] == 2.75);
    /* A rate: shorter cycles are more of it. */
    assert_true(cost[COST_MAC] == 60);
  }
}

static void assert_prints_back(Fixture *fixture, const MachineDescription *machine) {
  StringBuilder first, second;
  sb_init(&first, fixture->arena);
  sb_init(&second, fixture->arena);
  machine_description_print(&first, machine);
  MachineDescription again;
  assert_int_equal(parse_text(fixture, sb_view(&first), &again), STATUS_OK);
  machine_description_print(&second, &again);
  assert_string_equal(first.data, second.data);
  assert_int_equal(machine->buffer.size, again.buffer.size);
  assert_int_equal(machine->queue_count, again.queue_count);
  for (int type = 0; type < PRIMITIVE_TYPE_COUNT; type++) {
    assert_int_equal(machine->ops[type] != NULL, again.ops[type] != NULL);
    for (int cost = 0; machine->ops[type] && cost < MACHINE_COST_COUNT; cost++)
      assert_true(machine->ops[type]->cost[cost] == again.ops[type]->cost[cost]);
  }
}

static void print_of_every_preset_reads_back(void **state) {
  for (int i = 0; i < machine_preset_count(); i++) {
    MachineDescription machine = parse_preset(*state, machine_preset_at(i)->name);
    assert_true(sv_equal_cstring(machine.name, machine_preset_at(i)->name));
    assert_prints_back(*state, &machine);
  }
}

static void print_keeps_what_doubles_hold(void **state) {
  MachineDescription machine =
      parse_small(*state, SV("logic=0.1 round=3.3333333333333335 [op bf16] inherit=f32 scale=0.3"));
  assert_prints_back(*state, &machine);
}

static void presets_are_what_the_specification_says(void **state) {
  MachineDescription reference = parse_preset(*state, "vp-ref"), tiny = parse_preset(*state, "vp-tiny");
  MachineDescription risc = parse_preset(*state, "vp-rvv");
  assert_int_equal(machine_buffer_usable(&reference), 262144);
  assert_int_equal(machine_buffer_usable(&tiny), 4096);
  assert_true(machine_is_host(&reference));
  assert_false(machine_is_host(&risc));
  assert_true(reference.ops[TYPE_BF16]->cost[COST_MAC] == 512);
  assert_true(reference.ops[TYPE_S8]->cost[COST_MAC] == 1024);
  assert_true(reference.ops[TYPE_S8]->cost[COST_EXP] == 1.5);
  MachineDescription wide = parse_preset(*state, "ub192"), shared = parse_preset(*state, "vtcm4m");
  assert_int_equal(wide.buffer.size, 192 * 1024);
  assert_int_equal(wide.buffer.align, 32);
  assert_int_equal(wide.vector_bytes, 256);
  assert_int_equal(wide.sync.kind, SYNC_FLAG);
  assert_int_equal(wide.sync.ids, 8);
  assert_int_equal(shared.buffer.size, 4 << 20);
  assert_int_equal(shared.queue_count, 2);
  assert_true(machine_queue_loads(&shared.queues[0]) && machine_queue_stores(&shared.queues[0]));
  assert_null(machine_preset_find(SV("vp")));
}

/* As the driver does for another Buffer size. */
static void verify_refuses_a_changed_size_that_does_not_fit(void **state) {
  Fixture *fixture = *state;
  MachineDescription machine = parse_small(*state, SV(""));
  machine.buffer.size = 64;
  assert_int_equal(machine_description_verify(&machine, &fixture->diag), STATUS_OK);
  machine.buffer.size = 100;
  assert_int_equal(machine_description_verify(&machine, &fixture->diag), STATUS_INVALID);
  machine.buffer.size = 128;
  machine.buffer.reserve = 65;
  assert_int_equal(machine_description_verify(&machine, &fixture->diag), STATUS_INVALID);
  assert_int_equal(fixture->diag.error_count, 2);
}

static void parse_survives_every_cut_and_every_changed_byte(void **state) {
  Fixture *fixture = *state;
  StringView whole = SV(SMALL_MACHINE);
  MachineDescription ignored;
  fixture->diag.error_limit = 1;
  for (size_t size = 0; size < whole.size; size++) {
    Status status = parse_text(fixture, sv_copy(fixture->arena, sv_sub(whole, 0, size)), &ignored);
    /* All but "…mac=1" and the missing line end are short of something. */
    assert_int_equal(status, size + 2 >= whole.size ? STATUS_OK : STATUS_INVALID);
    for (size_t c = 0; c < 5; c++) {
      char *text = arena_copy_string(fixture->arena, whole.data, whole.size);
      text[size] = "\0[=\xff\n"[c];
      status = parse_text(fixture, (StringView){text, whole.size}, &ignored);
      assert_true(status == STATUS_OK || status == STATUS_INVALID);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(parse_fills_every_field, create, destroy),
      cmocka_unit_test_setup_teardown(parse_keeps_queues_in_order, create, destroy),
      cmocka_unit_test_setup_teardown(optional_costs_fall_back_to_their_like, create, destroy),
      cmocka_unit_test_setup_teardown(inherited_costs_are_scaled_and_overridden, create, destroy),
      cmocka_unit_test_setup_teardown(print_of_every_preset_reads_back, create, destroy),
      cmocka_unit_test_setup_teardown(print_keeps_what_doubles_hold, create, destroy),
      cmocka_unit_test_setup_teardown(presets_are_what_the_specification_says, create, destroy),
      cmocka_unit_test_setup_teardown(verify_refuses_a_changed_size_that_does_not_fit, create, destroy),
      cmocka_unit_test_setup_teardown(parse_survives_every_cut_and_every_changed_byte, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
