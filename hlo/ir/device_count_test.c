#include "hlo/ir/device_count.h"

#include "hlo/ir/hlo_testing.h"

static HloInstruction *all_reduce(Fixture *fixture, const ReplicaGroups *groups) {
  const Shape *shape = fixture->vector;
  HloInstruction *x = hlo_computation_add_parameter(fixture->main, 0, shape, SV("x"));
  HloInstruction *sum = hlo_computation_add(fixture->main, HLO_ALL_REDUCE, shape, &x, 1, SV("sum"));
  HloAttr attr = {.id = HLO_ATTR_REPLICA_GROUPS};
  attr.value.replica_groups = groups;
  hlo_instruction_set_attr(sum, &attr);
  return sum;
}

static void instruction_device_count_is_one_for_groups_of_everything(void **state) {
  HloInstruction *sum = all_reduce(*state, &(ReplicaGroups){.form = REPLICA_GROUPS_LISTS});
  assert_int_equal(hlo_instruction_device_count(sum), 1);
}

static void instruction_device_count_is_past_the_largest_number(void **state) {
  const int64_t first[] = {0, 6}, second[] = {3};
  const Int64List groups[] = {{2, first}, {1, second}};
  HloInstruction *sum =
      all_reduce(*state, &(ReplicaGroups){.form = REPLICA_GROUPS_LISTS, .group_count = 2, .groups = groups});
  assert_int_equal(hlo_instruction_device_count(sum), 7);
  assert_int_equal(hlo_module_device_count(((Fixture *)*state)->module), 7);
}

static void module_device_count_multiplies_replicas_and_partitions(void **state) {
  HloModule *module = ((Fixture *)*state)->module;
  assert_int_equal(hlo_module_device_count(module), 1);
  module->replica_count = 3;
  module->num_partitions = 4;
  assert_int_equal(hlo_module_device_count(module), 12);
  module->replica_count = INT64_MAX;
  assert_int_equal(hlo_module_device_count(module), INT64_MAX);
}

static void module_device_count_reads_the_meshes_of_shardy(void **state) {
  HloModule *module = ((Fixture *)*state)->module;
  FrontendAttribute meshes = {SV("xla.sdy.meshes"),
                              SV("{m = #sdy.mesh<[\"a\"=4, \"b\"=2]>, n = #sdy.mesh<[\"a\"=3], device_ids=[2, 1, 0]>}"),
                              true};
  module->frontend_count = 1;
  module->frontend = &meshes;
  assert_int_equal(hlo_module_device_count(module), 8);
  meshes.value = SV("{m = #sdy.mesh<[\"a\"=9999999999, \"b\"=9999999999, \"c\"=9999999999]>}");
  assert_int_equal(hlo_module_device_count(module), INT64_MAX);
  meshes.value = SV("{m = #sdy.mesh<[], device_ids=[0]>}");
  assert_int_equal(hlo_module_device_count(module), 1);
}

#define TEST_CASE(test) cmocka_unit_test_setup_teardown(test, fixture_create, fixture_destroy)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_CASE(instruction_device_count_is_one_for_groups_of_everything),
      TEST_CASE(instruction_device_count_is_past_the_largest_number),
      TEST_CASE(module_device_count_multiplies_replicas_and_partitions),
      TEST_CASE(module_device_count_reads_the_meshes_of_shardy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
