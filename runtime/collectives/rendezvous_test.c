#include "runtime/collectives/rendezvous.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_DEVICES = 8, ROUNDS = 500 };

typedef struct Fleet Fleet;

/* What a device does; false: it has failed. */
typedef bool DeviceProgram(Fleet *fleet, int64_t device);

struct Fleet {
  Rendezvous *rendezvous;
  DeviceProgram *program;
  int64_t device_count;
  bool is_done[MOST_DEVICES]; /* by the program, where its test wants to know */
};

typedef struct DeviceThread {
  Fleet *fleet;
  int64_t device;
  pthread_t thread;
} DeviceThread;

static void *device_main(void *argument) {
  const DeviceThread *self = argument;
  bool is_good = self->fleet->program(self->fleet, self->device);
  rendezvous_finish(self->fleet->rendezvous, self->device, !is_good);
  return NULL;
}

/* Until all devices have ended. */
static void run(Fleet *fleet) {
  DeviceThread threads[MOST_DEVICES];
  for (int64_t i = 0; i < fleet->device_count; i++) {
    threads[i] = (DeviceThread){.fleet = fleet, .device = i};
    assert_int_equal(pthread_create(&threads[i].thread, NULL, device_main, &threads[i]), 0);
  }
  for (int64_t i = 0; i < fleet->device_count; i++) pthread_join(threads[i].thread, NULL);
}

/* Runs |program|; the failure has to be |wanted|, NULL: none. */
static void check(DeviceProgram *program, int64_t device_count, const char *wanted, bool is_mismatch) {
  Fleet fleet = {rendezvous_create(device_count), program, device_count, {false}};
  for (int round = 0; round < 2; round++) {
    run(&fleet);
    const char *failure = rendezvous_failure(fleet.rendezvous);
    if (wanted == NULL)
      assert_null(failure);
    else
      assert_string_equal(failure, wanted);
    assert_int_equal(rendezvous_is_mismatch(fleet.rendezvous), is_mismatch);
    rendezvous_reset(fleet.rendezvous);
  }
  rendezvous_destroy(fleet.rendezvous);
}

static const int64_t first_group[] = {2, 0}, second_group[] = {1, 4, 3}, everybody[] = {4, 3, 2, 1, 0};
static const int64_t three[] = {0, 1, 2}, one_two[] = {1, 2}, zero_one[] = {0, 1};

static bool meet(Fleet *fleet, int64_t device, uint64_t key, const char *name, const int64_t *members, int64_t count) {
  const void *others[MOST_DEVICES];
  const Meeting meeting = {key, name, members, count};
  if (!rendezvous_enter(fleet->rendezvous, device, &meeting, NULL, others)) return false;
  rendezvous_leave(fleet->rendezvous, device);
  return true;
}

/* Each contributes a variable that it changes as soon as it has left. */
static bool exchange(Fleet *fleet, int64_t device, int64_t round, const int64_t *members, int64_t count) {
  int64_t own = 100 * round + device;
  const void *others[MOST_DEVICES];
  const Meeting meeting = {7, "exchange", members, count};
  if (!rendezvous_enter(fleet->rendezvous, device, &meeting, &own, others)) return false;
  bool is_good = true;
  for (int64_t i = 0; i < count; i++) is_good = is_good && *(const int64_t *)others[i] == 100 * round + members[i];
  rendezvous_leave(fleet->rendezvous, device);
  own = -1;
  return is_good;
}

static bool exchanges(Fleet *fleet, int64_t device) {
  bool in_first = device == 0 || device == 2;
  for (int64_t round = 0; round < ROUNDS; round++) {
    if (!exchange(fleet, device, round, in_first ? first_group : second_group, in_first ? 2 : 3)) return false;
    if (!exchange(fleet, device, round, everybody, 5)) return false;
    if (!exchange(fleet, device, round, &device, 1)) return false;
  }
  return true;
}

static void rendezvous_enter_hands_over_in_listed_order(void **state) {
  (void)state;
  check(exchanges, 5, NULL, false);
}

/* --- what can never meet --- */

static bool wait_for_failure(Fleet *fleet) {
  while (rendezvous_failure(fleet->rendezvous) == NULL) sched_yield();
  return true;
}

static bool last_finishes(Fleet *fleet, int64_t device) {
  if (device == 2) return true;
  return !meet(fleet, device, 1, device == 0 ? "'a'" : "'b'", three, 3);
}

static void rendezvous_enter_ends_when_a_member_has_finished(void **state) {
  (void)state;
  Fleet fleet = {rendezvous_create(3), last_finishes, 3, {false}};
  run(&fleet);
  const char *failure = rendezvous_failure(fleet.rendezvous);
  assert_non_null(failure);
  assert_true(strcmp(failure, "device 0 waits in 'a' for device 2, which has finished") == 0 ||
              strcmp(failure, "device 1 waits in 'b' for device 2, which has finished") == 0);
  rendezvous_destroy(fleet.rendezvous);
}

/* Device 2 runs until the others are told. */
static bool two_places(Fleet *fleet, int64_t device) {
  if (device == 2) return wait_for_failure(fleet);
  return !meet(fleet, device, (uint64_t)device, device == 0 ? "'a'" : "'b'", zero_one, 2);
}

static void rendezvous_enter_finds_different_places_at_once(void **state) {
  (void)state;
  Fleet fleet = {rendezvous_create(3), two_places, 3, {false}};
  run(&fleet);
  const int64_t *chain;
  assert_string_equal(rendezvous_failure(fleet.rendezvous),
                      "device 0 waits in 'a' for device 1, which waits in 'b' for device 0");
  assert_int_equal(rendezvous_failure_chain(fleet.rendezvous, &chain), 3);
  assert_true(chain[0] == 0 && chain[1] == 1 && chain[2] == 0);
  assert_true(rendezvous_is_mismatch(fleet.rendezvous));
  rendezvous_destroy(fleet.rendezvous);
}

/* 0 waits for 1, 1 for 2, and 2 for both. */
static bool chain(Fleet *fleet, int64_t device) {
  if (device == 0) return !meet(fleet, 0, 1, "'a'", zero_one, 2);
  if (device == 1) return !meet(fleet, 1, 2, "'b'", one_two, 2);
  return !meet(fleet, 2, 3, "'c'", three, 3);
}

static void rendezvous_enter_follows_chains(void **state) {
  (void)state;
  Fleet fleet = {rendezvous_create(3), chain, 3, {false}};
  run(&fleet);
  const char *failure = rendezvous_failure(fleet.rendezvous);
  assert_non_null(strstr(failure, "'b'"));
  assert_non_null(strstr(failure, "'c'"));
  assert_non_null(strstr(failure, "which waits in"));
  rendezvous_destroy(fleet.rendezvous);
}

/* The same place of the program, but not the same group. */
static bool groups_differ(Fleet *fleet, int64_t device) {
  if (device == 2) return wait_for_failure(fleet);
  return !meet(fleet, device, 1, device == 0 ? "'a'" : "'b'", device == 0 ? three : zero_one, device == 0 ? 3 : 2);
}

static void rendezvous_enter_tells_groups_apart(void **state) {
  (void)state;
  Fleet fleet = {rendezvous_create(3), groups_differ, 3, {false}};
  run(&fleet);
  assert_true(rendezvous_is_mismatch(fleet.rendezvous));
  rendezvous_destroy(fleet.rendezvous);
}

static bool one_fails(Fleet *fleet, int64_t device) {
  if (device == 1) return false;
  bool has_met = meet(fleet, device, 1, "'a'", three, 3);
  bool meets_later = meet(fleet, device, 2, "'later'", &device, 1);
  fleet->is_done[device] = !has_met && !meets_later;
  return true;
}

static void rendezvous_finish_with_failure_ends_all_waits(void **state) {
  (void)state;
  Fleet fleet = {rendezvous_create(3), one_fails, 3, {false}};
  run(&fleet);
  const int64_t *chain;
  assert_string_equal(rendezvous_failure(fleet.rendezvous), "device 1 has failed");
  assert_int_equal(rendezvous_failure_chain(fleet.rendezvous, &chain), 0);
  assert_false(rendezvous_is_mismatch(fleet.rendezvous));
  assert_true(fleet.is_done[0] && fleet.is_done[2]);
  rendezvous_destroy(fleet.rendezvous);
}

/* --- transfers --- */

/* A ring: all receive before they send, which would wait for ever if announcing waited. */
static bool ring(Fleet *fleet, int64_t device) {
  int64_t count = fleet->device_count, sent[2], received[2];
  for (int64_t round = 0; round < ROUNDS; round++) {
    int64_t numbers[4];
    for (int64_t i = 0; i < 2; i++) {
      sent[i] = 1000 * round + 10 * device + i;
      const Transfer in = {5, "recv", (device + count - 1) % count, false, &received[i], sizeof received[i]};
      const Transfer out = {5, "send", (device + 1) % count, true, &sent[i], sizeof sent[i]};
      numbers[i] = rendezvous_announce(fleet->rendezvous, device, &in);
      numbers[2 + i] = rendezvous_announce(fleet->rendezvous, device, &out);
    }
    for (int64_t i = 3; i >= 0; i--) {
      if (!rendezvous_complete(fleet->rendezvous, device, numbers[i], "done")) return false;
    }
    for (int64_t i = 0; i < 2; i++) {
      if (received[i] != 1000 * round + 10 * ((device + count - 1) % count) + i) return false;
    }
  }
  return true;
}

static void rendezvous_complete_brings_data_in_order(void **state) {
  (void)state;
  check(ring, 4, NULL, false);
  check(ring, 1, NULL, false);
}

static bool receives_alone(Fleet *fleet, int64_t device) {
  int64_t value = 0;
  const Transfer in = {5, "recv 'r'", 1, false, &value, sizeof value};
  if (device == 1) return true;
  return !rendezvous_complete(fleet->rendezvous, 0, rendezvous_announce(fleet->rendezvous, 0, &in), "recv-done 'd'");
}

static void rendezvous_complete_ends_when_nobody_sends(void **state) {
  (void)state;
  check(receives_alone, 2, "device 0 waits in recv-done 'd' for device 1, which has finished", true);
}

/* 0 waits for data of 1, which waits for 0 in a meeting. */
static bool mixed(Fleet *fleet, int64_t device) {
  int64_t value = 0;
  const Transfer in = {5, "recv 'r'", 1, false, &value, sizeof value};
  if (device == 1) return !meet(fleet, 1, 1, "all-reduce 'a'", zero_one, 2);
  return !rendezvous_complete(fleet->rendezvous, 0, rendezvous_announce(fleet->rendezvous, 0, &in), "recv-done 'd'");
}

static void rendezvous_finds_circles_of_meetings_and_transfers(void **state) {
  (void)state;
  Fleet fleet = {rendezvous_create(2), mixed, 2, {false}};
  run(&fleet);
  const char *failure = rendezvous_failure(fleet.rendezvous);
  assert_non_null(strstr(failure, "in recv-done 'd' for device 1"));
  assert_non_null(strstr(failure, "in all-reduce 'a' for device 0"));
  rendezvous_destroy(fleet.rendezvous);
}

static bool sizes_differ(Fleet *fleet, int64_t device) {
  int64_t value[2] = {0};
  const Transfer transfer = {
      5, device == 0 ? "send 's'" : "recv 'r'", 1 - device, device == 0, value, device == 0 ? 16 : 8};
  int64_t number = rendezvous_announce(fleet->rendezvous, device, &transfer);
  return !rendezvous_complete(fleet->rendezvous, device, number, "done");
}

static void rendezvous_announce_compares_sizes(void **state) {
  (void)state;
  check(sizes_differ, 2, "device 0 sends 16 bytes in send 's', device 1 receives 8 in recv 'r'", true);
}

/* What a device takes back is read by nobody, although the other side comes later. */
static void rendezvous_withdraw_takes_announcements_back(void **state) {
  (void)state;
  Rendezvous *rendezvous = rendezvous_create(2);
  int64_t sent[] = {1, 2}, received = -1;
  const Transfer out = {5, "send", 1, true, &sent[0], sizeof sent[0]};
  const Transfer other = {6, "send", 1, true, &sent[1], sizeof sent[1]};
  const Transfer in = {5, "recv", 0, false, &received, sizeof received};
  (void)rendezvous_announce(rendezvous, 0, &out);
  (void)rendezvous_announce(rendezvous, 0, &other);
  rendezvous_withdraw(rendezvous, 0);
  rendezvous_finish(rendezvous, 0, false);
  int64_t number = rendezvous_announce(rendezvous, 1, &in);
  assert_false(rendezvous_complete(rendezvous, 1, number, "recv-done"));
  assert_int_equal(received, -1);
  rendezvous_destroy(rendezvous);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rendezvous_enter_hands_over_in_listed_order),
      cmocka_unit_test(rendezvous_enter_ends_when_a_member_has_finished),
      cmocka_unit_test(rendezvous_enter_finds_different_places_at_once),
      cmocka_unit_test(rendezvous_enter_follows_chains),
      cmocka_unit_test(rendezvous_enter_tells_groups_apart),
      cmocka_unit_test(rendezvous_finish_with_failure_ends_all_waits),
      cmocka_unit_test(rendezvous_complete_brings_data_in_order),
      cmocka_unit_test(rendezvous_complete_ends_when_nobody_sends),
      cmocka_unit_test(rendezvous_finds_circles_of_meetings_and_transfers),
      cmocka_unit_test(rendezvous_announce_compares_sizes),
      cmocka_unit_test(rendezvous_withdraw_takes_announcements_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
