/* Bytes of collectives against numbers worked out by hand from the table of collective_traffic.h. */
#include "hlo/analysis/collective_traffic.h"

#include "hlo/analysis/analysis_testing.h"

#define HEADER "HloModule m, num_partitions=8\n"
#define ADDITION "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
#define GROUPS "channel_id=1, replica_groups=[2,4]<=[8], use_global_device_ids=true"

static ModuleTraffic traffic_of(Fixture *fixture, const char *text) {
  ModuleTraffic traffic;
  assert_int_equal(hlo_module_traffic(fixture->arena, read_module(fixture, text), &fixture->diag, &traffic), STATUS_OK);
  return traffic;
}

/* The only collective of an entry with x = f32[100] and y = bf16[3,4], two groups of four of eight devices. */
static CollectiveTraffic row_of(Fixture *fixture, const char *instruction) {
  ModuleTraffic traffic = traffic_of(
      fixture, sv_printf(fixture->arena,
                         HEADER ADDITION "ENTRY e {\n  x = f32[100] parameter(0)\n  y = bf16[3,4] parameter(1)\n  t = "
                                         "token[] after-all()\n  ROOT c = %s\n}\n",
                         instruction)
                   .data);
  assert_int_equal(traffic.count, 1);
  return traffic.data[0];
}

static void rows_follow_the_table(void **state) {
  static const struct {
    const char *instruction;
    HloOpcode opcode;
    int64_t group_size, group_count, payload, wire;
  } cases[] = {
      /* 2·3/4·400 */
      {"f32[100] all-reduce(x), " GROUPS ", to_apply=add", HLO_ALL_REDUCE, 4, 2, 400, 600},
      /* 2·3/4·(400 + 24) */
      {"(f32[100], bf16[3,4]) all-reduce(x, y), " GROUPS ", to_apply=add", HLO_ALL_REDUCE, 4, 2, 424, 636},
      {"f32[100] all-reduce-start(x), " GROUPS ", to_apply=add", HLO_ALL_REDUCE, 4, 2, 400, 600},
      /* 3/4·400; handed in is more than taken out */
      {"f32[25] reduce-scatter(x), " GROUPS ", dimensions={0}, to_apply=add", HLO_REDUCE_SCATTER, 4, 2, 400, 300},
      /* 3/4·1600 */
      {"f32[400] all-gather(x), " GROUPS ", dimensions={0}", HLO_ALL_GATHER, 4, 2, 1600, 1200},
      {"(f32[100], f32[400]) all-gather-start(x), " GROUPS ", dimensions={0}", HLO_ALL_GATHER, 4, 2, 1600, 1200},
      /* 3/4·24 */
      {"bf16[3,4] all-to-all(y), channel_id=1, replica_groups=[2,4]<=[8], dimensions={1}", HLO_ALL_TO_ALL, 4, 2, 24,
       18},
      /* 3 of 8 devices send 400: 150 each on average; 7 keeps what it has */
      {"f32[100] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,2},{2,0},{7,7}}",
       HLO_COLLECTIVE_PERMUTE, 3, 1, 400, 150},
      {"f32[100] collective-broadcast(x), channel_id=1, replica_groups={{0,1}}", HLO_COLLECTIVE_BROADCAST, 2, 1, 400,
       200},
      /* groups of different sizes: the largest, 2·4/5·400 */
      {"f32[100] all-reduce(x), channel_id=1, replica_groups={{0,1,2},{3,4,5,6,7}}, use_global_device_ids=true, "
       "to_apply=add",
       HLO_ALL_REDUCE, 5, 2, 400, 640},
      /* replicas, of which there is one: nothing is sent */
      {"f32[100] all-reduce(x), replica_groups={}, to_apply=add", HLO_ALL_REDUCE, 1, 8, 400, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    CollectiveTraffic row = row_of(*state, cases[i].instruction);
    assert_int_equal(row.opcode, cases[i].opcode);
    assert_int_equal(row.group_size, cases[i].group_size);
    assert_int_equal(row.group_count, cases[i].group_count);
    assert_int_equal(row.payload_bytes, cases[i].payload);
    assert_int_equal(row.wire_bytes, cases[i].wire);
    assert_true(row.times == 1);
  }
}

/* A loop of seven rounds, or one whose length nobody knows, with |config| beside it. */
static StringView loop_text(Arena *arena, const char *limit, const char *config) {
  return sv_printf(
      arena,
      HEADER ADDITION
      "body {\n  p = (s32[], s32[], f32[100]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
      "  n = s32[] get-tuple-element(p), index=1\n  x = f32[100] get-tuple-element(p), index=2\n"
      "  one = s32[] constant(1)\n  j = s32[] add(i, one)\n  r = f32[100] all-reduce(x), " GROUPS
      ", to_apply=add\n  ROOT t = (s32[], s32[], f32[100]) tuple(j, n, r)\n}\n"
      "condition {\n  q = (s32[], s32[], f32[100]) parameter(0)\n  k = s32[] get-tuple-element(q), index=0\n"
      "  m = s32[] get-tuple-element(q), index=1\n  seven = s32[] constant(7)\n"
      "  ROOT less = pred[] compare(k, %s), direction=LT\n}\n"
      "ENTRY e {\n  a = f32[100] parameter(0)\n  b = s32[] parameter(1)\n  z = s32[] constant(0)\n"
      "  s = (s32[], s32[], f32[100]) tuple(z, b, a)\n"
      "  ROOT w = (s32[], s32[], f32[100]) while(s), condition=condition, body=body%s\n}\n",
      limit, config);
}

static void loops_count_their_rounds(void **state) {
  Fixture *fixture = *state;
  static const struct {
    const char *limit, *config;
    double times;
    int64_t unknown;
  } cases[] = {{"seven", "", 7, 0},
               {"m", ", backend_config={\"known_trip_count\":{\"n\":\"5\"},\"other\":{\"n\":\"9\"}}", 5, 0},
               {"m", "", 1, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    ModuleTraffic traffic = traffic_of(fixture, loop_text(fixture->arena, cases[i].limit, cases[i].config).data);
    assert_int_equal(traffic.count, 1);
    assert_true(traffic.data[0].times == cases[i].times);
    assert_true(traffic.wire_bytes == 600 * cases[i].times);
    assert_true(traffic.payload_bytes == 400 * cases[i].times);
    assert_int_equal(traffic.unknown_loops, cases[i].unknown);
  }
}

/* Two all-reduces of 600 bytes against one. */
static void the_dearest_branch_counts(void **state) {
  ModuleTraffic traffic =
      traffic_of(*state, HEADER ADDITION
                 "quiet {\n  p = f32[100] parameter(0)\n  ROOT n = f32[100] all-reduce(p), " GROUPS
                 ", to_apply=add\n}\n"
                 "loud {\n  q = f32[100] parameter(0)\n  r = f32[100] all-reduce(q), " GROUPS
                 ", to_apply=add\n"
                 "  ROOT s = f32[100] all-reduce(r), " GROUPS
                 ", to_apply=add\n}\n"
                 "ENTRY e {\n  x = f32[100] parameter(0)\n  c = pred[] parameter(1)\n"
                 "  ROOT w = f32[100] conditional(c, x, x), true_computation=quiet, false_computation=loud\n}\n");
  assert_int_equal(traffic.count, 2);
  assert_true(traffic.wire_bytes == 1200);
}

static void calls_add_up(void **state) {
  ModuleTraffic traffic = traffic_of(*state, HEADER ADDITION
                                     "inner {\n  p = f32[100] parameter(0)\n  ROOT n = f32[100] all-reduce(p), " GROUPS
                                     ", to_apply=add\n}\n"
                                     "ENTRY e {\n  x = f32[100] parameter(0)\n  y = f32[100] call(x), to_apply=inner\n"
                                     "  ROOT z = f32[100] call(y), to_apply=inner\n}\n");
  assert_int_equal(traffic.count, 1);
  assert_true(traffic.data[0].times == 2);
  assert_true(traffic.wire_bytes == 1200);
}

static void groups_beyond_the_devices_are_refused(void **state) {
  Fixture *fixture = *state;
  ModuleTraffic traffic;
  HloModule *module = read_module(fixture,
                                  "HloModule m, num_partitions=2\nENTRY e {\n  x = f32[4] parameter(0)\n"
                                  "  ROOT g = f32[16] all-gather(x), channel_id=1, replica_groups={{0,1,2,3}}, "
                                  "use_global_device_ids=true, dimensions={0}\n}\n");
  assert_int_equal(hlo_module_traffic(fixture->arena, module, &fixture->diag, &traffic), STATUS_INVALID);
  assert_string_equal(fixture->diag.first->code, "device-groups");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(rows_follow_the_table, set_up, tear_down),
      cmocka_unit_test_setup_teardown(loops_count_their_rounds, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_dearest_branch_counts, set_up, tear_down),
      cmocka_unit_test_setup_teardown(calls_add_up, set_up, tear_down),
      cmocka_unit_test_setup_teardown(groups_beyond_the_devices_are_refused, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
