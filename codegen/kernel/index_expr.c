#include "codegen/kernel/index_expr.h"

#include <inttypes.h>

#include "base/checked_math.h"

void index_space_init(IndexSpace *space, Arena *arena) {
  *space = (IndexSpace){.arena = arena};
}

static bool atom_equal(const IndexAtom *a, const IndexAtom *b) {
  if (a->kind != b->kind) return false;
  if (a->kind == INDEX_ATOM_DIM || a->kind == INDEX_ATOM_VALUE) return a->number == b->number;
  return a->divisor == b->divisor && index_equal(a->inner, b->inner);
}

static IndexExpr expr_of_atom(IndexSpace *space, const IndexAtom *wanted) {
  int32_t atom = 0;
  while (atom < space->atoms.count && !atom_equal(&space->atoms.data[atom], wanted)) atom++;
  if (atom == space->atoms.count) array_push(&space->atoms, space->arena, *wanted);
  IndexTerm *term = ARENA_NEW(space->arena, IndexTerm);
  *term = (IndexTerm){1, atom};
  return (IndexExpr){0, 1, term};
}

IndexExpr index_constant(int64_t value) {
  return (IndexExpr){value, 0, NULL};
}

IndexExpr index_dim(IndexSpace *space, int dim, int64_t extent) {
  if (extent == 1) return index_constant(0);
  return expr_of_atom(space, &(IndexAtom){.kind = INDEX_ATOM_DIM, .number = dim, .upper = extent - 1});
}

IndexExpr index_value(IndexSpace *space, int value, int64_t lower, int64_t upper) {
  if (lower == upper) return index_constant(lower);
  return expr_of_atom(space, &(IndexAtom){.kind = INDEX_ATOM_VALUE, .number = value, .lower = lower, .upper = upper});
}

/* The next digits of |mod|'s inner expression above it, as they stand in a term: (x / p) where |mod| is x % p, of which
 * the digits are all that is left (0), or (x / p) % q (q); -1: the atom is neither. */
static int64_t digits_above(const IndexSpace *space, const IndexAtom *mod, const IndexAtom *above) {
  int64_t most = above->kind == INDEX_ATOM_MOD ? above->divisor : 0;
  if (above->kind == INDEX_ATOM_MOD) {
    if (above->inner.term_count != 1 || above->inner.constant != 0 || above->inner.terms[0].coefficient != 1) return -1;
    above = &space->atoms.data[above->inner.terms[0].atom];
  }
  bool is_next = above->kind == INDEX_ATOM_DIV && above->divisor == mod->divisor;
  return is_next && index_equal(above->inner, mod->inner) ? most : -1;
}

/* Digits of one number beside one another are the number: c·(x % p) + c·p·(x / p) is c·x, and c·(x % p) + c·p·((x / p)
 * % q) is c·(x % (p·q)).  A reshape of what is reversed or shifted makes them. */
static IndexExpr join_digits(IndexSpace *space, IndexExpr a) {
  for (int i = 0; i < a.term_count; i++) {
    const IndexAtom mod = space->atoms.data[a.terms[i].atom];
    if (mod.kind != INDEX_ATOM_MOD) continue;
    for (int k = 0; k < a.term_count; k++) {
      if (k == i || a.terms[k].coefficient != a.terms[i].coefficient * mod.divisor) continue;
      int64_t digits = digits_above(space, &mod, &space->atoms.data[a.terms[k].atom]);
      if (digits < 0) continue;
      IndexExpr joined = digits > 0 ? index_mod(space, mod.inner, mod.divisor * digits) : mod.inner;
      IndexTerm *others = ARENA_NEW_ARRAY(space->arena, IndexTerm, a.term_count);
      int count = 0;
      for (int t = 0; t < a.term_count; t++)
        if (t != i && t != k) others[count++] = a.terms[t];
      IndexExpr rest = {a.constant, count, others};
      return index_add(space, rest, index_scale(space, joined, a.terms[i].coefficient));
    }
  }
  return a;
}

IndexExpr index_add(IndexSpace *space, IndexExpr a, IndexExpr b) {
  if (a.term_count == 0) return index_add_constant(space, b, a.constant);
  if (b.term_count == 0) return index_add_constant(space, a, b.constant);
  IndexTerm *terms = ARENA_NEW_ARRAY(space->arena, IndexTerm, a.term_count + b.term_count);
  int count = 0;
  for (int i = 0, j = 0; i < a.term_count || j < b.term_count;) {
    if (j == b.term_count || (i < a.term_count && a.terms[i].atom < b.terms[j].atom)) {
      terms[count++] = a.terms[i++];
    } else if (i == a.term_count || b.terms[j].atom < a.terms[i].atom) {
      terms[count++] = b.terms[j++];
    } else {
      int64_t sum = a.terms[i].coefficient + b.terms[j].coefficient;
      if (sum != 0) terms[count++] = (IndexTerm){sum, a.terms[i].atom};
      i++, j++;
    }
  }
  return join_digits(space, (IndexExpr){a.constant + b.constant, count, terms});
}

IndexExpr index_add_constant(IndexSpace *space, IndexExpr a, int64_t constant) {
  (void)space;
  a.constant += constant;
  return a;
}

IndexExpr index_scale(IndexSpace *space, IndexExpr a, int64_t factor) {
  if (factor == 0) return index_constant(0);
  if (factor == 1) return a;
  IndexTerm *terms = ARENA_NEW_ARRAY(space->arena, IndexTerm, a.term_count);
  for (int i = 0; i < a.term_count; i++) terms[i] = (IndexTerm){a.terms[i].coefficient * factor, a.terms[i].atom};
  return (IndexExpr){a.constant * factor, a.term_count, terms};
}

/* Splits |a| into quotient × divisor + rest, taking every term and the constant as far as they divide; true when the
 * rest is known to lie in [0, divisor), so that |out_quotient| is the whole quotient. */
static bool split(IndexSpace *space, IndexExpr a, int64_t divisor, IndexExpr *out_quotient, IndexExpr *out_rest) {
  IndexTerm *quotient = ARENA_NEW_ARRAY(space->arena, IndexTerm, a.term_count);
  IndexTerm *rest = ARENA_NEW_ARRAY(space->arena, IndexTerm, a.term_count);
  int quotient_count = 0, rest_count = 0;
  for (int i = 0; i < a.term_count; i++) {
    int64_t coefficient = a.terms[i].coefficient;
    if (coefficient % divisor == 0) {
      quotient[quotient_count++] = (IndexTerm){coefficient / divisor, a.terms[i].atom};
    } else {
      rest[rest_count++] = a.terms[i];
    }
  }
  *out_rest = (IndexExpr){a.constant, rest_count, rest};
  int64_t lower, upper;
  index_range(space, *out_rest, &lower, &upper);
  int64_t whole = floor_div(lower, divisor); /* so that the rest begins in [0, divisor), negative coefficients or not */
  *out_quotient = (IndexExpr){whole, quotient_count, quotient};
  out_rest->constant -= whole * divisor;
  return upper - whole * divisor < divisor;
}

/* Looks for g > 1 dividing |divisor| such that a = g·quotient + rest with 0 ≤ rest < g; then a / (g·d) = quotient / d
 * and a % (g·d) = g·(quotient % d) + rest. */
static bool split_by_factor(IndexSpace *space, IndexExpr a, int64_t divisor, int64_t *out_factor,
                            IndexExpr *out_quotient, IndexExpr *out_rest) {
  for (int i = 0; i < a.term_count; i++) {
    *out_factor = greatest_common_divisor(a.terms[i].coefficient, divisor);
    if (*out_factor > 1 && split(space, a, *out_factor, out_quotient, out_rest)) return true;
  }
  return false;
}

static bool is_single_atom(IndexExpr a) {
  return a.term_count == 1 && a.constant == 0 && a.terms[0].coefficient == 1;
}

/* Of a number x that has two values whatever is computed is linear: |*out| is a + b · (x - lower) where |a|, which has
 * no other atom than x, is divided by |divisor|, its quotient or its remainder. */
static bool through_two_values(IndexSpace *space, IndexExpr a, int64_t divisor, bool is_quotient, IndexExpr *out) {
  if (a.term_count != 1) return false;
  const IndexAtom *atom = &space->atoms.data[a.terms[0].atom];
  if (atom->upper - atom->lower != 1) return false;
  int64_t values[2];
  for (int i = 0; i < 2; i++) {
    int64_t number = a.constant + a.terms[0].coefficient * (atom->lower + i), quotient = floor_div(number, divisor);
    values[i] = is_quotient ? quotient : number - quotient * divisor;
  }
  IndexTerm *term = ARENA_NEW(space->arena, IndexTerm);
  *term = (IndexTerm){1, a.terms[0].atom};
  IndexExpr above = index_add_constant(space, (IndexExpr){0, 1, term}, -atom->lower);
  *out = index_add_constant(space, index_scale(space, above, values[1] - values[0]), values[0]);
  return true;
}

IndexExpr index_div(IndexSpace *space, IndexExpr a, int64_t divisor) {
  if (divisor == 1) return a;
  IndexExpr quotient, rest, inner_quotient, inner_rest, linear;
  if (split(space, a, divisor, &quotient, &rest)) return quotient;
  if (through_two_values(space, rest, divisor, true, &linear)) return index_add(space, quotient, linear);
  int64_t factor;
  if (split_by_factor(space, rest, divisor, &factor, &inner_quotient, &inner_rest)) {
    return index_add(space, quotient, index_div(space, inner_quotient, divisor / factor));
  }
  if (is_single_atom(rest)) {
    const IndexAtom *atom = &space->atoms.data[rest.terms[0].atom];
    /* (x / a) / b = x / (a·b) */
    if (atom->kind == INDEX_ATOM_DIV) {
      return index_add(space, quotient, index_div(space, atom->inner, atom->divisor * divisor));
    }
  }
  int64_t lower, upper;
  index_range(space, rest, &lower, &upper);
  IndexAtom atom = {.kind = INDEX_ATOM_DIV, .inner = rest, .divisor = divisor};
  atom.lower = floor_div(lower, divisor);
  atom.upper = floor_div(upper, divisor);
  if (atom.lower == atom.upper) return index_add_constant(space, quotient, atom.lower);
  return index_add(space, quotient, expr_of_atom(space, &atom));
}

IndexExpr index_mod(IndexSpace *space, IndexExpr a, int64_t divisor) {
  if (divisor == 1) return index_constant(0);
  IndexExpr quotient, rest, inner_quotient, inner_rest, linear;
  if (split(space, a, divisor, &quotient, &rest)) return rest;
  if (through_two_values(space, rest, divisor, false, &linear)) return linear;
  int64_t factor;
  if (split_by_factor(space, rest, divisor, &factor, &inner_quotient, &inner_rest)) {
    IndexExpr inner = index_mod(space, inner_quotient, divisor / factor);
    return index_add(space, index_scale(space, inner, factor), inner_rest);
  }
  if (is_single_atom(rest)) {
    const IndexAtom *atom = &space->atoms.data[rest.terms[0].atom];
    /* (x % (a·b)) % b = x % b */
    if (atom->kind == INDEX_ATOM_MOD && atom->divisor % divisor == 0) return index_mod(space, atom->inner, divisor);
  }
  int64_t lower, upper;
  index_range(space, rest, &lower, &upper);
  int64_t block = floor_div(lower, divisor);
  if (block == floor_div(upper, divisor)) return index_add_constant(space, rest, -block * divisor);
  IndexAtom atom = {.kind = INDEX_ATOM_MOD, .inner = rest, .divisor = divisor, .lower = 0, .upper = divisor - 1};
  return expr_of_atom(space, &atom);
}

bool index_is_constant(IndexExpr a, int64_t *out_value) {
  *out_value = a.constant;
  return a.term_count == 0;
}

bool index_equal(IndexExpr a, IndexExpr b) {
  if (a.constant != b.constant || a.term_count != b.term_count) return false;
  for (int i = 0; i < a.term_count; i++) {
    if (a.terms[i].atom != b.terms[i].atom || a.terms[i].coefficient != b.terms[i].coefficient) return false;
  }
  return true;
}

void index_range(const IndexSpace *space, IndexExpr a, int64_t *out_lower, int64_t *out_upper) {
  int64_t lower = a.constant, upper = a.constant;
  for (int i = 0; i < a.term_count; i++) {
    const IndexAtom *atom = &space->atoms.data[a.terms[i].atom];
    int64_t coefficient = a.terms[i].coefficient;
    lower += coefficient * (coefficient > 0 ? atom->lower : atom->upper);
    upper += coefficient * (coefficient > 0 ? atom->upper : atom->lower);
  }
  *out_lower = lower;
  *out_upper = upper;
}

static bool is_dim(const IndexSpace *space, int atom, int dim) {
  return space->atoms.data[atom].kind == INDEX_ATOM_DIM && space->atoms.data[atom].number == dim;
}

int64_t index_dim_coefficient(const IndexSpace *space, IndexExpr a, int dim) {
  for (int i = 0; i < a.term_count; i++) {
    if (is_dim(space, a.terms[i].atom, dim)) return a.terms[i].coefficient;
  }
  return 0;
}

static bool depends(const IndexSpace *space, IndexExpr a, int dim) {
  return index_dim_coefficient(space, a, dim) != 0 || index_depends_nonlinearly(space, a, dim);
}

bool index_depends_nonlinearly(const IndexSpace *space, IndexExpr a, int dim) {
  for (int i = 0; i < a.term_count; i++) {
    const IndexAtom *atom = &space->atoms.data[a.terms[i].atom];
    bool is_nested = atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD;
    if (is_nested && depends(space, atom->inner, dim)) return true;
  }
  return false;
}

bool index_has_atom(const IndexSpace *space, IndexExpr a, IndexAtomKind kind) {
  for (int i = 0; i < a.term_count; i++) {
    const IndexAtom *atom = &space->atoms.data[a.terms[i].atom];
    bool is_nested = atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD;
    if (atom->kind == kind || (is_nested && index_has_atom(space, atom->inner, kind))) return true;
  }
  return false;
}

IndexExpr index_without_dim(const IndexSpace *space, IndexExpr a, int dim) {
  IndexTerm *terms = ARENA_NEW_ARRAY(space->arena, IndexTerm, a.term_count);
  int count = 0;
  for (int i = 0; i < a.term_count; i++) {
    if (!is_dim(space, a.terms[i].atom, dim)) terms[count++] = a.terms[i];
  }
  return (IndexExpr){a.constant, count, terms};
}

static IndexExpr substitute_atom(IndexSpace *to, const IndexSpace *from, const IndexAtom *atom, const IndexExpr *dims,
                                 const int32_t *values) {
  switch (atom->kind) {
    case INDEX_ATOM_DIM: return dims[atom->number];
    case INDEX_ATOM_VALUE: return index_value(to, values[atom->number], atom->lower, atom->upper);
    case INDEX_ATOM_DIV: return index_div(to, index_substitute(to, from, atom->inner, dims, values), atom->divisor);
    case INDEX_ATOM_MOD: return index_mod(to, index_substitute(to, from, atom->inner, dims, values), atom->divisor);
  }
  XLAC_BUG("unknown kind of atom");
}

IndexExpr index_substitute(IndexSpace *to, const IndexSpace *from, IndexExpr a, const IndexExpr *dims,
                           const int32_t *values) {
  IndexExpr result = index_constant(a.constant);
  for (int i = 0; i < a.term_count; i++) {
    IndexExpr term = substitute_atom(to, from, &from->atoms.data[a.terms[i].atom], dims, values);
    result = index_add(to, result, index_scale(to, term, a.terms[i].coefficient));
  }
  return result;
}

static void print_atom(StringBuilder *out, const IndexSpace *space, const IndexAtom *atom) {
  switch (atom->kind) {
    case INDEX_ATOM_DIM: sb_printf(out, "d%d", atom->number); return;
    case INDEX_ATOM_VALUE: sb_printf(out, "v%d", atom->number); return;
    case INDEX_ATOM_DIV:
    case INDEX_ATOM_MOD:
      sb_append_cstring(out, "((");
      index_print(out, space, atom->inner);
      sb_printf(out, ") %c %" PRId64 ")", atom->kind == INDEX_ATOM_DIV ? '/' : '%', atom->divisor);
      return;
  }
}

void index_print(StringBuilder *out, const IndexSpace *space, IndexExpr a) {
  for (int i = 0; i < a.term_count; i++) {
    if (i > 0) sb_append_cstring(out, " + ");
    if (a.terms[i].coefficient != 1) sb_printf(out, "%" PRId64 "*", a.terms[i].coefficient);
    print_atom(out, space, &space->atoms.data[a.terms[i].atom]);
  }
  if (a.term_count == 0) {
    sb_append_int(out, a.constant);
  } else if (a.constant != 0) {
    sb_printf(out, " + %" PRId64, a.constant);
  }
}

static int64_t evaluate_atom(const IndexSpace *space, const IndexAtom *atom, const int64_t *dims,
                             const int64_t *values) {
  switch (atom->kind) {
    case INDEX_ATOM_DIM: return dims[atom->number];
    case INDEX_ATOM_VALUE: return values[atom->number];
    case INDEX_ATOM_DIV: return index_evaluate(space, atom->inner, dims, values) / atom->divisor;
    case INDEX_ATOM_MOD: return index_evaluate(space, atom->inner, dims, values) % atom->divisor;
  }
  XLAC_BUG("unknown kind of atom");
}

int64_t index_evaluate(const IndexSpace *space, IndexExpr a, const int64_t *dims, const int64_t *values) {
  int64_t sum = a.constant;
  for (int i = 0; i < a.term_count; i++) {
    sum += a.terms[i].coefficient * evaluate_atom(space, &space->atoms.data[a.terms[i].atom], dims, values);
  }
  return sum;
}

bool index_is_linear(const IndexSpace *space, IndexExpr expr) {
  for (int i = 0; i < expr.term_count; i++) {
    if (space->atoms.data[expr.terms[i].atom].kind != INDEX_ATOM_DIM) return false;
  }
  return true;
}
