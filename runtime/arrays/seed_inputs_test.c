#include "runtime/arrays/seed_inputs.h"

#include <math.h>
#include <string.h>

#include "base/fixture_testing.h"
#include "runtime/arrays/case_meta.h"
#include "runtime/arrays/npy.h"
#include "runtime/arrays/tensor_values.h"

static SeedRule rule_from_json(Fixture *fixture, const char *init) {
  CaseMeta meta;
  StringView text = sv_printf(fixture->arena, "{\"params\": [{\"init\": %s}]}", init);
  assert_int_equal(case_meta_parse(fixture->arena, SV("test"), text, &fixture->diag, &meta), STATUS_OK);
  return meta.parameters[0];
}

/* The values that NumPy computes by the same rule. */
typedef struct Row {
  PrimitiveType type;
  const char *init;
  uint64_t seed;
  int64_t leaf;
  int rank;
  int64_t dims[2];
  double want[12];
} Row;

static const Row rows[] = {
    {TYPE_F64, "{}", 1, 0, 1, {3}, {-0.22575650021748886, 0.9595311984191232, -0.4196396289455968}},
    {TYPE_F64, "{\"kind\":\"uniform\"}", 1, 0, 1, {3}, {0.36818951565166946, 0.9435642308648544, 0.04525699773739167}},
    {TYPE_F32,
     "{\"kind\":\"absnormal\",\"scale\":0.1,\"offset\":0.5}",
     1,
     2,
     1,
     {4},
     {0.647249162197113, 0.5243675112724304, 0.6203840970993042, 0.5840733051300049}},
    {TYPE_BF16,
     "{\"kind\":\"normal\",\"scale\":0.1}",
     1,
     2,
     1,
     {4},
     {0.1474609375, 0.0244140625, -0.12060546875, 0.083984375}},
    {TYPE_F16,
     "{\"kind\":\"uniform\",\"lo\":-2,\"hi\":2}",
     3,
     2,
     1,
     {4},
     {-0.1832275390625, 1.3603515625, 0.19189453125, -0.6552734375}},
    {TYPE_F8E4M3FN, "{}", 1, 2, 1, {4}, {1.5, 0.25, -1.25, 0.8125}},
    {TYPE_S32, "{}", 1, 0, 1, {6}, {6, 6, 0, 1, 1, 4}},
    {TYPE_S4, "{}", 1, 0, 1, {6}, {6, 6, 0, 1, 1, 4}},
    {TYPE_S64, "{\"kind\":\"int\",\"lo\":-5,\"hi\":1000}", 1, 5, 1, {4}, {331, 79, 623, 161}},
    {TYPE_U8, "{\"kind\":\"bits\"}", 1, 0, 1, {4}, {30, 238, 120, 169}},
    {TYPE_S16, "{\"kind\":\"bits\"}", 1, 0, 1, {4}, {24862, -3602, -29320, 11177}},
    {TYPE_PRED, "{}", 1, 0, 1, {8}, {0, 0, 0, 1, 1, 0, 1, 1}},
    {TYPE_PRED, "{\"kind\":\"bits\"}", 1, 0, 1, {2}, {1, 1}},
    {TYPE_F32, "{\"kind\":\"onehot\"}", 1, 0, 2, {3, 4}, {0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0}},
    {TYPE_S32, "{\"kind\":\"perm\"}", 1, 0, 1, {6}, {2, 4, 0, 5, 3, 1}},
    {TYPE_F32, "{\"kind\":\"iota\",\"mod\":3}", 1, 0, 1, {5}, {0, 1, 2, 0, 1}},
    {TYPE_F32, "{\"kind\":\"const\",\"value\":0.1}", 1, 0, 1, {2}, {0.10000000149011612, 0.10000000149011612}},
    {TYPE_F32,
     "{\"kind\":\"sorted_uniform\",\"lo\":1,\"hi\":3}",
     1,
     0,
     1,
     {4},
     {1.0905139446258545, 1.7363790273666382, 2.5548739433288574, 2.8871283531188965}},
    {TYPE_S32, "{\"kind\":\"uniform\",\"lo\":-9,\"hi\":9}", 1, 0, 1, {4}, {-2, 7, -8, 4}},
};

static void seed_generate_follows_the_rule(void **state) {
  Fixture *fixture = *state;
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
    const Row *row = &rows[r];
    SeedRule rule = rule_from_json(fixture, row->init);
    int64_t minor_to_major[] = {row->rank - 1, 0};
    XlacTensor tensor = {
        .type = (int32_t)row->type, .rank = row->rank, .dims = row->dims, .minor_to_major = minor_to_major};
    _Alignas(16) unsigned char units[12 * 8];
    const SeedArray made = {row->seed, row->leaf, row->type, row->rank, row->dims};
    assert_int_equal(seed_generate(fixture->arena, &rule, made, &fixture->diag, units), STATUS_OK);
    NpyArray array;
    tensor_to_npy(fixture->arena, &tensor, units, &array);
    for (int64_t i = 0; i < array.count; i++)
      if (npy_get_double(&array, i, 0) != row->want[i])
        fail_msg("row %zu element %d: %.17g", r, (int)i, npy_get_double(&array, i, 0));
  }
}

static void seed_hash_gives_the_check_values(void **state) {
  (void)state;
  assert_true(seed_hash(1, 0, 0) == 0x5e41ab087439611eu);
  assert_true(seed_hash(1, 0, 1) == 0xf18d6ce93d6cf1eeu);
  assert_true(seed_hash(1, 0, 2) == 0xb95f66d327e8d78u);
}

static void seed_generate_complex_uses_two_hashes_an_element(void **state) {
  Fixture *fixture = *state;
  float units[4];
  int64_t dims[] = {2};
  SeedRule rule = SEED_RULE_DEFAULT;
  assert_int_equal(seed_generate(fixture->arena, &rule, (SeedArray){1, 0, TYPE_C64, 1, dims}, &fixture->diag, units),
                   STATUS_OK);
  static const float want[] = {-0.22575649619102478f, 0.9595311880111694f, -0.41963961720466614f, -0.6428061127662659f};
  assert_memory_equal(units, want, sizeof want);
}

static void seed_generate_refuses_empty_ranges(void **state) {
  Fixture *fixture = *state;
  int32_t unit;
  SeedRule rule = rule_from_json(fixture, "{\"kind\":\"int\",\"lo\":3,\"hi\":3}");
  assert_int_equal(seed_generate(fixture->arena, &rule, (SeedArray){1, 0, TYPE_S32, 0, NULL}, &fixture->diag, &unit),
                   STATUS_INVALID);
  assert_int_equal(fixture->diag.error_count, 1);
}

static void seed_generate_empty_arrays(void **state) {
  Fixture *fixture = *state;
  int64_t dims[] = {3, 0};
  SeedRule rule = rule_from_json(fixture, "{\"kind\":\"onehot\"}");
  assert_int_equal(seed_generate(fixture->arena, &rule, (SeedArray){1, 0, TYPE_F32, 2, dims}, &fixture->diag, NULL),
                   STATUS_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(seed_generate_follows_the_rule, create, destroy),
      cmocka_unit_test(seed_hash_gives_the_check_values),
      cmocka_unit_test_setup_teardown(seed_generate_complex_uses_two_hashes_an_element, create, destroy),
      cmocka_unit_test_setup_teardown(seed_generate_refuses_empty_ranges, create, destroy),
      cmocka_unit_test_setup_teardown(seed_generate_empty_arrays, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
