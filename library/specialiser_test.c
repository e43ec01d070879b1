#include "xlac/specialiser.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct Fixture {
  XlacClient *client;
  XlacSpecialiser *squares;
  _Atomic int builds;
  XlacStatus fails_with; /* XLAC_STATUS_OK: it does not */
} Fixture;

/* x * x, of any type and size. */
static XlacStatus build_square(void *data, XlacBuilder *builder, XlacComputation *entry, XlacOp *const *parameters,
                               const XlacArrayType *types, int64_t count) {
  Fixture *fixture = data;
  atomic_fetch_add(&fixture->builds, 1);
  if (fixture->fails_with != XLAC_STATUS_OK) return fixture->fails_with;
  if (count != 1 || types[0].rank > 2) return XLAC_STATUS_UNSUPPORTED;
  return xlac_builder_apply(builder, entry, "multiply", (XlacOp *[]){parameters[0], parameters[0]}, 2, NULL);
}

static int set_up(void **state) {
  static Fixture fixture;
  fixture = (Fixture){0};
  *state = &fixture;
  return xlac_client_create(NULL, 2, &fixture.client) != XLAC_STATUS_OK ||
         xlac_specialiser_create(fixture.client, NULL, "square", build_square, &fixture, &fixture.squares) !=
             XLAC_STATUS_OK;
}

static int tear_down(void **state) {
  Fixture *fixture = *state;
  xlac_specialiser_destroy(fixture->squares);
  xlac_client_destroy(fixture->client);
  return 0;
}

static XlacStatus get(Fixture *fixture, int32_t type, int32_t rank, const int64_t *dims, XlacExecutable **out) {
  return xlac_specialiser_get(fixture->squares, &(XlacArrayType){type, rank, dims}, 1, out);
}

static void specialiser_compiles_each_signature_once(void **state) {
  Fixture *fixture = *state;
  XlacExecutable *three, *again, *table, *integers;
  assert_int_equal(get(fixture, XLAC_F32, 1, (int64_t[]){3}, &three), XLAC_STATUS_OK);
  assert_int_equal(get(fixture, XLAC_F32, 1, (int64_t[]){3}, &again), XLAC_STATUS_OK);
  assert_ptr_equal(three, again);
  assert_int_equal(get(fixture, XLAC_F32, 2, (int64_t[]){1, 3}, &table), XLAC_STATUS_OK);
  assert_int_equal(get(fixture, XLAC_S32, 1, (int64_t[]){3}, &integers), XLAC_STATUS_OK);
  assert_true(table != three && integers != three && integers != table);
  assert_int_equal(fixture->builds, 3);
  float x[3] = {1, 2, 3}, y[3];
  int32_t i[3] = {-4, 5, 6}, j[3];
  assert_int_equal(xlac_executable_run(three, (const void *[]){x}, (void *[]){y}, NULL, NULL), XLAC_STATUS_OK);
  assert_int_equal(xlac_executable_run(integers, (const void *[]){i}, (void *[]){j}, NULL, NULL), XLAC_STATUS_OK);
  assert_true(y[2] == 9 && j[0] == 16);
  XlacSpecialiserStatistics statistics = {.struct_size = sizeof statistics};
  xlac_specialiser_statistics(fixture->squares, &statistics);
  assert_int_equal(statistics.calls, 4);
  assert_int_equal(statistics.compilations, 3);
  assert_int_equal(statistics.failures, 0);
  assert_true(statistics.object_bytes > 0 && statistics.seconds > 0);
}

static void specialiser_keeps_failures_that_last(void **state) {
  Fixture *fixture = *state;
  XlacExecutable *executable;
  for (int i = 0; i < 2; i++)
    assert_int_equal(get(fixture, XLAC_F32, 3, (int64_t[]){1, 1, 1}, &executable), XLAC_STATUS_UNSUPPORTED);
  assert_null(executable);
  assert_int_equal(fixture->builds, 1);
  fixture->fails_with = XLAC_STATUS_IO;
  assert_int_equal(get(fixture, XLAC_F32, 0, NULL, &executable), XLAC_STATUS_IO);
  fixture->fails_with = XLAC_STATUS_OK;
  assert_int_equal(get(fixture, XLAC_F32, 0, NULL, &executable), XLAC_STATUS_OK);
  assert_int_equal(get(fixture, 1000, 0, NULL, &executable), XLAC_STATUS_INVALID); /* no such type */
}

static void *ask(void *data) {
  for (int64_t n = 1; n <= 5; n++) {
    XlacExecutable *executable;
    if (get(data, XLAC_F32, 1, &n, &executable) != XLAC_STATUS_OK) return data;
    float x[5] = {1, 2, 3, 4, 5}, y[5];
    if (xlac_executable_run(executable, (const void *[]){x}, (void *[]){y}, NULL, NULL) != XLAC_STATUS_OK) return data;
    if (y[n - 1] != (float)(n * n)) return data;
  }
  return NULL;
}

static void specialiser_compiles_once_for_many_threads(void **state) {
  Fixture *fixture = *state;
  pthread_t threads[16];
  for (int i = 0; i < 16; i++) assert_int_equal(pthread_create(&threads[i], NULL, ask, fixture), 0);
  for (int i = 0; i < 16; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  assert_int_equal(fixture->builds, 5);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(specialiser_compiles_each_signature_once),
      TEST(specialiser_keeps_failures_that_last),
      TEST(specialiser_compiles_once_for_many_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
