/* Numbers, expressions and ranges of plans. */
#include <inttypes.h>

#include "base/checked_math.h"
#include "codegen/oncore/language/plan_parser_internal.h"

enum { DEEPEST = 64 };

/* --- numbers that stay in range --- */

static double magnitude(const IndexSpace *space, IndexExpr expr) {
  double sum = expr.constant < 0 ? -(double)expr.constant : (double)expr.constant;
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &space->atoms.data[expr.terms[i].atom];
    double most = (double)max_i64(atom->upper, -atom->lower), factor = (double)expr.terms[i].coefficient;
    sum += most * (factor < 0 ? -factor : factor);
  }
  return sum;
}

static bool check_size(PlanReader *reader, double size, SourceLoc loc) {
  if (size <= (double)PLAN_LARGEST_NUMBER) return true;
  return plan_fail(reader, loc, "plan-range", "a number beyond 2^50");
}

static bool parse_sum(PlanReader *reader, PlanNumber *out_number);

/* The value of loop |number|'s iteration at hand, counted from 0. */
static IndexExpr plan_iteration(PlanReader *reader, int32_t number) {
  IndexSpace *space = &reader->plan->space;
  IndexExpr iteration = index_dim(space, number, reader->loops.data[number].loop.trip_count);
  if (number == reader->shifted_loop) iteration = index_add_constant(space, iteration, reader->loop_shift);
  return iteration;
}

static IndexExpr loop_value(PlanReader *reader, int32_t number) {
  const LoopDraft *loop = &reader->loops.data[number];
  IndexSpace *space = &reader->plan->space;
  return index_add_constant(space, index_scale(space, plan_iteration(reader, number), loop->step), loop->first);
}

IndexExpr plan_slot_index(PlanReader *reader, const NameBinding *binding) {
  IndexSpace *space = &reader->plan->space;
  IndexExpr turn = index_constant(0);
  for (int32_t l = binding->first_loop; l <= binding->last_loop; l++) {
    turn = index_add(space, index_scale(space, turn, reader->loops.data[l].loop.trip_count), plan_iteration(reader, l));
  }
  return index_add_constant(space, index_mod(space, turn, binding->slots), binding->first_slot);
}

static bool parse_name(PlanReader *reader, PlanNumber *out_number) {
  const PlanToken *token = plan_peek(reader);
  const NameBinding *binding = plan_find_name(reader, token->text, token->loc);
  if (binding == NULL) return false;
  reader->at++;
  switch (binding->kind) {
    case NAME_LOOP: out_number->expr = loop_value(reader, binding->number); return true;
    case NAME_CONSTANT: out_number->expr = index_constant(binding->value); return true;
    case NAME_SCALAR: {
      const PlanScalar *scalar = &reader->scalars.data[binding->number];
      out_number->expr = index_value(&reader->plan->space, binding->number, scalar->lower, scalar->upper);
      return true;
    }
    case NAME_BAD: return false;
    default:
      return plan_fail(reader, token->loc, "plan-name", "'%.*s' is not a number: loops, scalars and constants are",
                       SV_ARG(token->text));
  }
}

static bool parse_min(PlanReader *reader, PlanNumber *out_number) {
  SourceLoc loc = plan_peek(reader)->loc;
  reader->at++;
  if (!plan_need_mark(reader, "(")) return false;
  PlanNumber left, right;
  if (reader->depth >= DEEPEST) return plan_fail(reader, loc, "plan-syntax", "nested too deep");
  reader->depth++;
  if (!parse_sum(reader, &left) || !plan_need_mark(reader, ",") || !parse_sum(reader, &right)) return false;
  if (!plan_need_mark(reader, ")")) return false;
  reader->depth--;
  int64_t a, b;
  if (left.is_min || right.is_min) return plan_fail(reader, loc, "plan-range", "'min' takes two numbers");
  if (index_is_constant(left.expr, &a) && index_is_constant(right.expr, &b)) {
    out_number->expr = index_constant(min_i64(a, b));
    return true;
  }
  *out_number = (PlanNumber){left.expr, true, right.expr};
  return true;
}

static bool parse_parenthesis(PlanReader *reader, PlanNumber *out_number) {
  reader->at++;
  if (reader->depth >= DEEPEST) return plan_fail(reader, plan_peek(reader)->loc, "plan-syntax", "nested too deep");
  reader->depth++;
  bool ok = parse_sum(reader, out_number) && plan_need_mark(reader, ")");
  reader->depth--;
  return ok;
}

static bool parse_factor(PlanReader *reader, PlanNumber *out_number) {
  const PlanToken *token = plan_peek(reader);
  *out_number = (PlanNumber){0};
  if (token->kind == PLAN_TOKEN_INTEGER) {
    reader->at++;
    out_number->expr = index_constant(token->integer);
    return check_size(reader, (double)token->integer, token->loc);
  }
  if (plan_at_mark(reader, "(")) return parse_parenthesis(reader, out_number);
  if (plan_at_word(reader, "min")) return parse_min(reader, out_number);
  if (token->kind == PLAN_TOKEN_NAME) return parse_name(reader, out_number);
  return plan_expected(reader, "a number, a name or '('");
}

static bool multiply(PlanReader *reader, PlanNumber *left, const PlanNumber *right, SourceLoc loc) {
  int64_t factor;
  IndexSpace *space = &reader->plan->space;
  if (left->is_min || right->is_min) return plan_fail(reader, loc, "plan-range", "'min' cannot be a factor");
  if (!check_size(reader, magnitude(space, left->expr) * magnitude(space, right->expr), loc)) return false;
  if (index_is_constant(right->expr, &factor)) {
    left->expr = index_scale(space, left->expr, factor);
  } else if (index_is_constant(left->expr, &factor)) {
    left->expr = index_scale(space, right->expr, factor);
  } else {
    return plan_fail(reader, loc, "plan-range", "one factor of a product has to be a constant");
  }
  return true;
}

static bool divide(PlanReader *reader, PlanNumber *left, const PlanNumber *right, bool remainder, SourceLoc loc) {
  int64_t divisor, lower, upper;
  IndexSpace *space = &reader->plan->space;
  if (left->is_min || right->is_min) return plan_fail(reader, loc, "plan-range", "'min' cannot be divided");
  if (!index_is_constant(right->expr, &divisor) || divisor <= 0) {
    return plan_fail(reader, loc, "plan-range", "a divisor has to be a constant of at least 1");
  }
  index_range(space, left->expr, &lower, &upper);
  if (lower < 0) return plan_fail(reader, loc, "plan-range", "the dividend may become negative");
  left->expr = remainder ? index_mod(space, left->expr, divisor) : index_div(space, left->expr, divisor);
  return true;
}

static bool parse_product(PlanReader *reader, PlanNumber *out_number) {
  if (!parse_factor(reader, out_number)) return false;
  for (;;) {
    SourceLoc loc = plan_peek(reader)->loc;
    bool times = plan_at_mark(reader, "*"), over = plan_at_mark(reader, "/"), rest = plan_at_mark(reader, "%");
    if (!times && !over && !rest) return true;
    reader->at++;
    PlanNumber right;
    if (!parse_factor(reader, &right)) return false;
    if (!(times ? multiply(reader, out_number, &right, loc) : divide(reader, out_number, &right, rest, loc)))
      return false;
  }
}

/* Adds |sign| times |right|; of the two only one has two alternatives. */
static bool add(PlanReader *reader, PlanNumber *left, PlanNumber *right, int sign, SourceLoc loc) {
  IndexSpace *space = &reader->plan->space;
  if (right->is_min && (left->is_min || sign < 0))
    return plan_fail(reader, loc, "plan-range", "'min' cannot be part of a sum");
  if (right->is_min) {
    PlanNumber swap = *left;
    *left = *right;
    *right = swap;
  }
  IndexExpr by = index_scale(space, right->expr, sign);
  left->expr = index_add(space, left->expr, by);
  if (left->is_min) left->other = index_add(space, left->other, by);
  return check_size(reader, magnitude(space, left->expr), loc) &&
         (!left->is_min || check_size(reader, magnitude(space, left->other), loc));
}

static bool parse_sum(PlanReader *reader, PlanNumber *out_number) {
  bool negative = plan_take_mark(reader, "-");
  SourceLoc loc = plan_peek(reader)->loc;
  if (!parse_product(reader, out_number)) return false;
  if (negative) {
    PlanNumber value = *out_number;
    *out_number = (PlanNumber){.expr = index_constant(0)};
    if (!add(reader, out_number, &value, -1, loc)) return false;
  }
  for (;;) {
    loc = plan_peek(reader)->loc;
    bool plus = plan_at_mark(reader, "+");
    if (!plus && !plan_at_mark(reader, "-")) return true;
    reader->at++;
    PlanNumber right;
    if (!parse_product(reader, &right) || !add(reader, out_number, &right, plus ? 1 : -1, loc)) return false;
  }
}

bool plan_parse_expression(PlanReader *reader, IndexExpr *out_expr) {
  SourceLoc loc = plan_peek(reader)->loc;
  PlanNumber number;
  if (!parse_sum(reader, &number)) return false;
  if (number.is_min) return plan_fail(reader, loc, "plan-range", "'min' stands in sizes only");
  *out_expr = number.expr;
  return true;
}

bool plan_parse_constant(PlanReader *reader, int64_t *out_value) {
  SourceLoc loc = plan_peek(reader)->loc;
  IndexExpr expr;
  if (!plan_parse_expression(reader, &expr)) return false;
  if (index_is_constant(expr, out_value)) return true;
  return plan_fail(reader, loc, "plan-range", "this has to be a constant");
}

/* --- ranges --- */

/* |size| as the extent of |range|: a constant, or the smaller of a constant and what is left. */
static bool set_size(PlanReader *reader, PlanNumber size, PlanRange *range, SourceLoc loc) {
  int64_t lower, upper;
  if (!size.is_min) {
    if (!index_is_constant(size.expr, &range->extent))
      return plan_fail(reader, loc, "plan-range", "the size of a range has to be a constant or min(constant, rest)");
  } else if (index_is_constant(size.expr, &range->extent) || index_is_constant(size.other, &range->extent)) {
    int64_t constant;
    range->is_ragged = true;
    range->left = index_is_constant(size.expr, &constant) ? size.other : size.expr;
    index_range(&reader->plan->space, range->left, &lower, &upper);
    if (lower < 1) return plan_fail(reader, loc, "plan-range", "the rest may become %" PRId64, lower);
  } else {
    return plan_fail(reader, loc, "plan-range", "one of the two sizes has to be a constant");
  }
  if (range->extent < 1) return plan_fail(reader, loc, "plan-range", "a range of %" PRId64, range->extent);
  return true;
}

/* Whether numbers of no loop but |*loop| (-1: none so far), and nothing that only the run knows, change |expr|. */
static bool has_one_loop(const IndexSpace *space, IndexExpr expr, int32_t *loop, int64_t *iterations) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &space->atoms.data[expr.terms[i].atom];
    if (atom->kind == INDEX_ATOM_VALUE) return false;
    if (atom->kind != INDEX_ATOM_DIM && !has_one_loop(space, atom->inner, loop, iterations)) return false;
    if (atom->kind != INDEX_ATOM_DIM) continue;
    if (*loop >= 0 && *loop != atom->number) return false;
    *loop = atom->number;
    *iterations = atom->upper + 1;
  }
  return true;
}

static bool has_quotient(const IndexSpace *space, IndexExpr expr) {
  bool found = false;
  for (int i = 0; i < expr.term_count; i++)
    found = found || space->atoms.data[expr.terms[i].atom].kind == INDEX_ATOM_DIV;
  return found;
}

/* The least and the largest value of |expr|.  What a quotient of a loop's number is added to it may make up for, as
 * where the last tile of an axis that is walked backwards is smaller: all iterations say. */
static void find_range(const PlanReader *reader, IndexExpr expr, int64_t *lower, int64_t *upper) {
  enum { MOST_ITERATIONS = 1 << 16 };
  const IndexSpace *space = &reader->plan->space;
  int32_t loop = -1;
  int64_t iterations = 0;
  index_range(space, expr, lower, upper);
  if (expr.term_count < 2 || !has_quotient(space, expr) || !has_one_loop(space, expr, &loop, &iterations)) return;
  if (loop < 0 || iterations > MOST_ITERATIONS) return;
  int64_t *at = ARENA_NEW_ARRAY(reader->arena, int64_t, loop + 1);
  for (int64_t i = 0; i < iterations; i++) {
    at[loop] = i;
    int64_t value = index_evaluate(space, expr, at, NULL);
    *lower = i == 0 ? value : min_i64(*lower, value);
    *upper = i == 0 ? value : max_i64(*upper, value);
  }
}

int64_t plan_range_end(const PlanReader *reader, const PlanRange *range) {
  int64_t lower, upper, end_lower, end_upper;
  IndexSpace *space = &reader->plan->space;
  find_range(reader, range->begin, &lower, &upper);
  if (!range->is_ragged) return upper + range->extent;
  find_range(reader, index_add(space, range->begin, range->left), &end_lower, &end_upper);
  return min_i64(upper + range->extent, end_upper);
}

bool plan_check_range(PlanReader *reader, const PlanRange *range, int64_t extent, SourceLoc loc) {
  int64_t lower, upper;
  find_range(reader, range->begin, &lower, &upper);
  if (lower < 0) return plan_fail(reader, loc, "plan-range", "begins at %" PRId64 " at least once", lower);
  int64_t most = plan_range_end(reader, range);
  if (most <= extent) return true;
  return plan_fail(reader, loc, "plan-range", "reaches up to %" PRId64 ", and there are %" PRId64, most, extent);
}

static bool parse_end(PlanReader *reader, PlanRange *range, SourceLoc loc) {
  PlanNumber end;
  IndexSpace *space = &reader->plan->space;
  if (plan_take_mark(reader, ":+")) {
    return parse_sum(reader, &end) && set_size(reader, end, range, loc);
  }
  if (!plan_take_mark(reader, ":")) {
    *range = plan_range_index(range->begin);
    return true;
  }
  if (!parse_sum(reader, &end)) return false;
  PlanNumber begin = {.expr = range->begin};
  return add(reader, &end, &(PlanNumber){.expr = index_scale(space, begin.expr, -1)}, 1, loc) &&
         set_size(reader, end, range, loc);
}

bool plan_parse_free_range(PlanReader *reader, int64_t extent, PlanRange *out_range) {
  SourceLoc loc = plan_peek(reader)->loc;
  if (plan_take_mark(reader, ":")) {
    *out_range = plan_range_whole(extent);
    return true;
  }
  *out_range = (PlanRange){.left = index_constant(0)};
  return plan_parse_expression(reader, &out_range->begin) && parse_end(reader, out_range, loc);
}

bool plan_parse_range(PlanReader *reader, int64_t extent, PlanRange *out_range) {
  SourceLoc loc = plan_peek(reader)->loc;
  return plan_parse_free_range(reader, extent, out_range) && plan_check_range(reader, out_range, extent, loc);
}
