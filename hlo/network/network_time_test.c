/* Times of collectives against the table of network_time.h, worked out by hand; and descriptions that are wrong. */
#include "hlo/network/network_time.h"

#include <math.h>

#include "hlo/network/network_testing.h"

#define ADDITION "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
#define NODES "channel_id=1, replica_groups=[4,4]<=[16], use_global_device_ids=true"
#define ACROSS "channel_id=1, replica_groups=[4,4]<=[4,4]T(1,0), use_global_device_ids=true"
#define ALL "channel_id=1, replica_groups=[1,16]<=[16], use_global_device_ids=true"

/* Of the only collective of an entry with 400 bytes in x and 4000 in y. */
static NetworkTime time_of(Fixture *fixture, const NetworkDescription *network, const char *instruction) {
  const char *text = sv_printf(fixture->arena,
                               "HloModule m, num_partitions=16\n" ADDITION
                               "ENTRY e {\n  x = f32[100] parameter(0)\n  y = f32[1000] parameter(1)\n  z = f32[80] "
                               "parameter(2)\n  ROOT c = %s\n}\n",
                               instruction)
                         .data;
  ModuleTraffic traffic;
  assert_int_equal(hlo_module_traffic(fixture->arena, read_module(fixture, text), &fixture->diag, &traffic), STATUS_OK);
  assert_int_equal(traffic.count, 1);
  return network_time(network, &traffic.data[0]);
}

static void assert_near(double value, double expected) {
  if (fabs(value - expected) > 1e-9 * fmax(1, fabs(expected))) fail_msg("%.12g is not %.12g", value, expected);
}

static void collectives_take_what_the_table_says(void **state) {
  static const struct {
    const char *instruction;
    double seconds;
  } cases[] = {
      /* doubling, 2·(1 + 4 + 0.4); the ring takes 6 + 6 + 0.3 */
      {"f32[100] all-reduce(x), " NODES ", to_apply=add", 10.8},
      /* the ring, 6·1 + 2·3000/100 + 3000/1000; doubling takes 2·(1 + 40 + 4) */
      {"f32[1000] all-reduce(y), " NODES ", to_apply=add", 69},
      /* one device of each node: 2·(10 + 40 + 0.4) */
      {"f32[100] all-reduce(x), " ACROSS ", to_apply=add", 100.8},
      /* rings: 69 in nodes, then 1000 bytes between them, 6·10 + 2·750/10 + 0.75 */
      {"f32[1000] all-reduce(y), " ALL ", to_apply=add", 279.75},
      /* 2·1 + 300/100 + 300/1000 */
      {"f32[25] reduce-scatter(x), " NODES ", dimensions={0}, to_apply=add", 5.3},
      /* 2·1 + 1200/100 */
      {"f32[400] all-gather(x), " NODES ", dimensions={0}", 14},
      /* 6400 bytes: 2·1 + 4800/100 in nodes, of a quarter of them 2·10 + 1200/10 between these */
      {"f32[1600] all-gather(x), " ALL ", dimensions={0}", 190},
      /* three others, 1 + 1 each */
      {"f32[100] all-to-all(x), channel_id=1, replica_groups=[4,4]<=[16], dimensions={0}", 6},
      /* ⌈log2 16⌉ messages of half, 4·(10 + 160/10), not 3·(1 + 20/100) + 12·(10 + 20/10) */
      {"f32[80] all-to-all(z), channel_id=1, replica_groups=[1,16]<=[16], dimensions={0}", 104},
      /* 0 and 1 in a node, 4 in another: 1 + 10 + 400/10 */
      {"f32[100] collective-broadcast(x), channel_id=1, replica_groups={{0,1,4}}", 51},
      /* 1 to 4: 10 + 400/10; 0 to 1 is done long before, 3 to 3 is nothing */
      {"f32[100] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,4},{3,3}}", 50},
      {"f32[100] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{3,3}}", 5},
      /* groups of one send nothing */
      {"f32[100] all-reduce(x), replica_groups={}, to_apply=add", 0},
  };
  Fixture *fixture = *state;
  NetworkDescription network = good_network(fixture, TWO_LEVELS);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    NetworkTime time = time_of(fixture, &network, cases[i].instruction);
    assert_near(time.seconds, cases[i].seconds);
    double parts = time.reduce_seconds;
    for (int l = 0; l < NETWORK_MAX_LEVELS; l++) parts += time.latency_seconds[l] + time.byte_seconds[l];
    assert_near(parts, cases[i].seconds);
  }
}

static void the_slowest_group_counts(void **state) {
  Fixture *fixture = *state;
  NetworkDescription network = good_network(fixture, TWO_LEVELS);
  NetworkTime time = time_of(fixture, &network,
                             "f32[100] all-reduce(x), channel_id=1, replica_groups={{0,1,2,3},{4,8,12,5},{6,7},{9},"
                             "{10},{11},{13},{14},{15}}, use_global_device_ids=true, to_apply=add");
  /* {4,5,8,12}: two in one node, 1 + 4 + 0.4 by doubling (the ring, 2 + 4 + 0.2, leaves half), then three nodes of 200
   * bytes, 2·(10 + 20 + 0.2), or of 400 */
  assert_near(time.seconds, 6.2 + 60.4);
}

static void wrong_descriptions_are_refused(void **state) {
  static const struct {
    const char *text, *code;
  } cases[] = {
      {"[network] name = a overlap = maybe", "description-value"},
      {"[network] name = a overlap = no colour = red", "description-unknown"},
      {"[network] name = a", "description-missing"},
      {"[network] name = a overlap = no [level x] size = 1 latency = 0 bandwidth = 1", "network-levels"},
      {"[level x] size = 4 latency = 0 bandwidth = 1 [level y] size = 6 latency = 0 bandwidth = 1", "network-levels"},
      {"[level x] size = 4 latency = 0 bandwidth = 1 [level x] size = 8 latency = 0 bandwidth = 1",
       "description-duplicate"},
      {"[level x] size = 4 latency = -1 bandwidth = 1", "description-value"},
      {"[level x] size = 4 latency = 1e bandwidth = 1", "description-value"},
      {"[level x] size = 4 latency = 0 bandwidth = 0", "description-value"},
      {"[network] name = a overlap = no", "description-missing"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    Fixture *fixture = *state;
    NetworkDescription network;
    diag_sink_init(&fixture->diag, fixture->arena);
    assert_int_equal(parse_network(fixture, cases[i].text, &network), STATUS_INVALID);
    assert_string_equal(fixture->diag.first->code, cases[i].code);
  }
}

static void numbers_may_have_exponents(void **state) {
  NetworkDescription network = good_network(
      *state,
      "[network] name = a overlap = yes [device] flops = 1.5e11 memory_bandwidth = 2e10 call = 0 reduce_bandwidth = 1 "
      "memory = 16G [level x] size = 2 latency = 2.5e-6 bandwidth = 1e+9");
  assert_true(network.device.flops == 1.5e11);
  assert_int_equal(network.device.memory, (int64_t)16 << 30);
  assert_true(network.levels[0].latency == 2.5e-6);
  assert_true(network.levels[0].bandwidth == 1e9);
  assert_int_equal(network_device_limit(&network), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(collectives_take_what_the_table_says, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_slowest_group_counts, set_up, tear_down),
      cmocka_unit_test_setup_teardown(wrong_descriptions_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(numbers_may_have_exponents, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
