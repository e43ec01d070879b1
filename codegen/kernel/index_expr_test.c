/* Expressions against their meaning: random ones are built next to a table of their values at every point of a few
 * small dims, and both must agree. */
#include "codegen/kernel/index_expr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/checked_math.h"
#include "base/hash_map.h"

enum { DIMS = 3, POINTS_MAX = 8 * 8 * 8, VALUE = 7, VALUE_LOWER = -2, VALUE_UPPER = 3, ROUNDS = 20000 };

/* Loop dims d0 … d2 and one run-time value, which is a dim of the points like the others. */
typedef struct Points {
  IndexSpace space;
  int64_t extents[DIMS];
  int count;
  int64_t value_of[POINTS_MAX * (VALUE_UPPER - VALUE_LOWER + 1)][DIMS + 1];
} Points;

typedef struct Modelled {
  IndexExpr expr;
  int64_t *values; /* by point */
} Modelled;

static int64_t evaluate(const Points *points, IndexExpr expr, int point) {
  int64_t sum = expr.constant;
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &points->space.atoms.data[expr.terms[i].atom];
    int64_t value = 0;
    if (atom->kind == INDEX_ATOM_DIM) value = points->value_of[point][atom->number];
    if (atom->kind == INDEX_ATOM_VALUE) value = points->value_of[point][DIMS];
    if (atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD) {
      int64_t inner = evaluate(points, atom->inner, point), quotient = floor_div(inner, atom->divisor);
      value = atom->kind == INDEX_ATOM_DIV ? quotient : inner - quotient * atom->divisor;
    }
    assert_in_range(value - atom->lower, 0, atom->upper - atom->lower);
    sum += expr.terms[i].coefficient * value;
  }
  return sum;
}

static Points *points_create(Arena *arena, int64_t e0, int64_t e1, int64_t e2) {
  Points *points = ARENA_NEW(arena, Points);
  index_space_init(&points->space, arena);
  int64_t extents[DIMS] = {e0, e1, e2};
  for (int d = 0; d < DIMS; d++) points->extents[d] = extents[d];
  for (int64_t v = VALUE_LOWER; v <= VALUE_UPPER; v++) {
    for (int64_t i = 0; i < e0 * e1 * e2; i++) {
      int64_t *at = points->value_of[points->count++];
      at[0] = i / (e1 * e2), at[1] = i / e2 % e1, at[2] = i % e2, at[DIMS] = v;
    }
  }
  return points;
}

static void check(const Points *points, Modelled expr) {
  int64_t lower, upper;
  index_range(&points->space, expr.expr, &lower, &upper);
  for (int p = 0; p < points->count; p++) {
    assert_int_equal(evaluate(points, expr.expr, p), expr.values[p]);
    assert_true(lower <= expr.values[p] && expr.values[p] <= upper);
  }
  for (int i = 0; i < expr.expr.term_count; i++) {
    assert_true(expr.expr.terms[i].coefficient != 0);
    if (i > 0) assert_true(expr.expr.terms[i - 1].atom < expr.expr.terms[i].atom);
  }
}

/* --- building at random --- */

static uint64_t next_random(uint64_t *state, uint64_t limit) {
  *state = hash_u64(*state + 1);
  return *state % limit;
}

static Modelled modelled(const Points *points, IndexExpr expr) {
  return (Modelled){expr, ARENA_NEW_ARRAY(points->space.arena, int64_t, points->count)};
}

static Modelled leaf(Points *points, uint64_t *random) {
  int which = (int)next_random(random, DIMS + 2);
  int64_t constant = (int64_t)next_random(random, 13) - 6;
  IndexExpr expr = index_constant(constant);
  if (which < DIMS) expr = index_dim(&points->space, which, points->extents[which]);
  if (which == DIMS) expr = index_value(&points->space, VALUE, VALUE_LOWER, VALUE_UPPER);
  Modelled result = modelled(points, expr);
  for (int p = 0; p < points->count; p++) result.values[p] = which <= DIMS ? points->value_of[p][which] : constant;
  return result;
}

static Modelled combine(Points *points, uint64_t *random, Modelled a, Modelled b) {
  IndexSpace *space = &points->space;
  int which = (int)next_random(random, 5);
  int64_t divisor = 1 + (int64_t)next_random(random, 12), factor = (int64_t)next_random(random, 9) - 4;
  IndexExpr exprs[5] = {index_add(space, a.expr, b.expr), index_scale(space, a.expr, factor),
                        index_add_constant(space, a.expr, factor), index_div(space, a.expr, divisor),
                        index_mod(space, a.expr, divisor)};
  Modelled result = modelled(points, exprs[which]);
  for (int p = 0; p < points->count; p++) {
    int64_t quotient = floor_div(a.values[p], divisor);
    int64_t values[5] = {a.values[p] + b.values[p], a.values[p] * factor, a.values[p] + factor, quotient,
                         a.values[p] - quotient * divisor};
    result.values[p] = values[which];
  }
  return result;
}

static void index_arithmetic_agrees_at_every_point(void **state) {
  (void)state;
  uint64_t random = 1;
  for (int round = 0; round < ROUNDS / 100; round++) {
    Arena *arena = arena_create();
    Points *points = points_create(arena, 1 + (int64_t)next_random(&random, 4), 1 + (int64_t)next_random(&random, 6),
                                   1 + (int64_t)next_random(&random, 8));
    Modelled pool[8];
    for (int i = 0; i < 8; i++) pool[i] = leaf(points, &random);
    for (int step = 0; step < 100; step++) {
      int target = (int)next_random(&random, 8);
      Modelled made = combine(points, &random, pool[next_random(&random, 8)], pool[next_random(&random, 8)]);
      check(points, made);
      int64_t lower, upper; /* sums of sums would grow without end */
      index_range(&points->space, made.expr, &lower, &upper);
      pool[target] = upper - lower > 100000 || lower < -100000 || upper > 100000 ? leaf(points, &random) : made;
    }
    arena_destroy(arena);
  }
}

static void index_dims_can_be_taken_out(void **state) {
  (void)state;
  uint64_t random = 99;
  for (int round = 0; round < ROUNDS / 100; round++) {
    Arena *arena = arena_create();
    Points *points = points_create(arena, 3, 4, 5);
    Modelled made = leaf(points, &random);
    for (int step = 0; step < 6; step++) made = combine(points, &random, made, leaf(points, &random));
    for (int d = 0; d < DIMS; d++) {
      int64_t coefficient = index_dim_coefficient(&points->space, made.expr, d);
      IndexExpr rest = index_without_dim(&points->space, made.expr, d);
      assert_int_equal(index_dim_coefficient(&points->space, rest, d), 0);
      for (int p = 0; p < points->count; p++) {
        assert_int_equal(evaluate(points, rest, p) + coefficient * points->value_of[p][d], made.values[p]);
      }
    }
    arena_destroy(arena);
  }
}

/* --- forms --- */

static const char *text_of(const Points *points, IndexExpr expr) {
  StringBuilder out;
  sb_init(&out, points->space.arena);
  index_print(&out, &points->space, expr);
  return arena_copy_string(points->space.arena, out.data, out.size);
}

static void index_sums_have_one_form(void **state) {
  (void)state;
  Arena *arena = arena_create();
  Points *points = points_create(arena, 4, 6, 8);
  IndexSpace *space = &points->space;
  IndexExpr a = index_dim(space, 0, 4), b = index_dim(space, 1, 6), c = index_dim(space, 2, 8);
  IndexExpr left = index_add(space, index_add(space, index_scale(space, a, 48), index_scale(space, b, 8)), c);
  IndexExpr right = index_add(space, c, index_scale(space, index_add(space, b, index_scale(space, a, 6)), 8));
  assert_true(index_equal(left, right));
  assert_string_equal(text_of(points, left), "48*d0 + 8*d1 + d2");
  /* What cancels is gone. */
  IndexExpr none = index_add(space, left, index_scale(space, right, -1));
  int64_t value;
  assert_true(index_is_constant(none, &value) && value == 0);
  assert_true(index_is_constant(index_dim(space, 2, 1), &value) && value == 0);
  assert_true(index_is_constant(index_scale(space, left, 0), &value) && value == 0);
  arena_destroy(arena);
}

/* A linear address taken apart again, as a reshape does, leaves neither division nor remainder. */
static void index_division_undoes_linear_addresses(void **state) {
  (void)state;
  Arena *arena = arena_create();
  Points *points = points_create(arena, 4, 6, 8);
  IndexSpace *space = &points->space;
  IndexExpr a = index_dim(space, 0, 4), b = index_dim(space, 1, 6), c = index_dim(space, 2, 8);
  IndexExpr ab = index_add(space, index_scale(space, a, 6), b), linear = index_add(space, index_scale(space, ab, 8), c);
  assert_true(index_equal(index_mod(space, linear, 8), c));
  assert_true(index_equal(index_div(space, linear, 8), ab));
  assert_true(index_equal(index_div(space, index_div(space, linear, 8), 6), a));
  assert_true(index_equal(index_mod(space, index_div(space, linear, 8), 6), b));
  /* 4 does not divide 6: something must stay, and says so. */
  IndexExpr odd = index_mod(space, ab, 4);
  assert_true(index_depends_nonlinearly(space, odd, 0));
  assert_true(index_depends_nonlinearly(space, odd, 1));
  assert_false(index_depends_nonlinearly(space, odd, 2));
  arena_destroy(arena);
}

/* Digits that a reshape takes apart, as an address puts them together again: of what is reversed, which does not
 * divide.
 */
static void index_digits_are_joined(void **state) {
  (void)state;
  Arena *arena = arena_create();
  Points *points = points_create(arena, 2, 2, 42);
  IndexSpace *space = &points->space;
  IndexExpr reversed = index_add_constant(space, index_scale(space, index_dim(space, 2, 42), -1), 41);
  IndexExpr low = index_mod(space, reversed, 2), rest = index_div(space, reversed, 2);
  IndexExpr middle = index_mod(space, rest, 3), high = index_div(space, rest, 3);
  IndexExpr lower = index_add(space, index_scale(space, middle, 2), low);
  assert_string_equal(text_of(points, lower), "((-1*d2 + 41) % 6)");
  assert_true(index_equal(index_add(space, index_scale(space, high, 6), lower), reversed));
  IndexExpr apart = index_add(space, index_scale(space, high, 6), low);
  assert_int_equal(apart.term_count, 2);
  assert_true(index_equal(index_add(space, index_scale(space, middle, 2), apart), reversed));
  arena_destroy(arena);
}

static void index_division_composes(void **state) {
  (void)state;
  Arena *arena = arena_create();
  Points *points = points_create(arena, 4, 6, 8);
  IndexSpace *space = &points->space;
  IndexExpr c = index_dim(space, 2, 60);
  assert_string_equal(text_of(points, index_div(space, index_div(space, c, 3), 5)), "((d2) / 15)");
  assert_string_equal(text_of(points, index_mod(space, index_mod(space, c, 20), 5)), "((d2) % 5)");
  /* Negative positions floor. */
  IndexExpr before = index_add_constant(space, index_dim(space, 0, 4), -4);
  int64_t value;
  assert_true(index_is_constant(index_div(space, before, 4), &value) && value == -1);
  assert_true(index_equal(index_mod(space, before, 4), index_dim(space, 0, 4)));
  arena_destroy(arena);
}

/* d0 is 0 or 1: (d0 + 1) / 2 is d0, as (2 - d0) % 2 and what steps down, (4 - 3·d0) / 4; and 5·d0 % 3 is 2·d0.  The
 * quotient of a sum goes on from what divides; a dim of three positions stays as it is. */
static void index_of_two_values_is_linear(void **state) {
  (void)state;
  Arena *arena = arena_create();
  Points *points = points_create(arena, 2, 3, 8);
  IndexSpace *space = &points->space;
  IndexExpr two = index_dim(space, 0, 2), three = index_dim(space, 1, 3);
  IndexExpr next = index_add_constant(space, two, 1), less = index_add_constant(space, index_scale(space, two, -1), 2);
  assert_true(index_equal(index_div(space, next, 2), two));
  assert_true(index_equal(index_mod(space, less, 2), two));
  assert_string_equal(text_of(points, index_mod(space, next, 2)), "-1*d0 + 1");
  IndexExpr down = index_add_constant(space, index_scale(space, two, -3), 4);
  assert_string_equal(text_of(points, index_div(space, down, 4)), "-1*d0 + 1");
  assert_string_equal(text_of(points, index_mod(space, index_scale(space, two, 5), 3)), "2*d0");
  IndexExpr sum = index_add(space, index_scale(space, index_dim(space, 2, 8), 2), next);
  assert_string_equal(text_of(points, index_div(space, sum, 2)), "d0 + d2");
  assert_true(index_has_atom(space, index_div(space, index_add_constant(space, three, 1), 2), INDEX_ATOM_DIV));
  arena_destroy(arena);
}

static void index_atoms_are_found_in_quotients(void **state) {
  (void)state;
  Arena *arena = arena_create();
  Points *points = points_create(arena, 4, 6, 8);
  IndexExpr dim = index_dim(&points->space, 0, 4), value = index_value(&points->space, VALUE, 0, VALUE_UPPER);
  IndexExpr plain = index_add_constant(&points->space, dim, 5), sum = index_add(&points->space, dim, value);
  IndexExpr rest = index_mod(&points->space, sum, 3);
  assert_true(index_has_atom(&points->space, plain, INDEX_ATOM_DIM));
  assert_false(index_has_atom(&points->space, plain, INDEX_ATOM_VALUE));
  assert_true(index_has_atom(&points->space, sum, INDEX_ATOM_VALUE));
  assert_false(index_has_atom(&points->space, sum, INDEX_ATOM_MOD));
  assert_true(index_has_atom(&points->space, rest, INDEX_ATOM_VALUE));
  assert_true(index_has_atom(&points->space, rest, INDEX_ATOM_MOD));
  assert_false(index_has_atom(&points->space, rest, INDEX_ATOM_DIV));
  assert_false(index_has_atom(&points->space, index_constant(7), INDEX_ATOM_DIM));
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(index_arithmetic_agrees_at_every_point),
      cmocka_unit_test(index_dims_can_be_taken_out),
      cmocka_unit_test(index_sums_have_one_form),
      cmocka_unit_test(index_division_undoes_linear_addresses),
      cmocka_unit_test(index_division_composes),
      cmocka_unit_test(index_digits_are_joined),
      cmocka_unit_test(index_of_two_values_is_linear),
      cmocka_unit_test(index_atoms_are_found_in_quotients),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
