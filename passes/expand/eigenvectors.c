#include "passes/expand/linear_algebra_internal.h"

/* Jacobi's method on pairs of rows and columns (Golub and Van Loan, Matrix Computations, 8.5): in each round every
 * index is in one pair, half of them are first and half are second, and a rotation of each pair makes the element
 * between its two zero.  Then seconds and all firsts but one move on by a place, as in a tournament of Brent and Luk,
 * so that after n - 1 rounds, a sweep, each index met each other one and is in its place again. */

/* The four blocks of a matrix by first and second of each pair, then the two of the vectors' columns. */
enum { FIRST, SECOND, BLOCKS = 4, VALUES = 6 };

static int block_of(int row, int column) {
  return 2 * row + column;
}

/* --- pieces --- */

static HloInstruction *part_of(GraphBuilder *builder, HloOpcode part, HloInstruction *value) {
  PrimitiveType type = value->shape->type;
  if (!type_is_complex(type)) return value;
  return graph_add(builder, part, shape_with_type(graph_shapes(builder), value->shape, type_complex_part(type)), &value,
                   1);
}

static HloInstruction *conjugate(GraphBuilder *builder, HloInstruction *value) {
  if (!type_is_complex(value->shape->type)) return value;
  HloInstruction *parts[] = {part_of(builder, HLO_REAL, value),
                             graph_unary(builder, HLO_NEGATE, part_of(builder, HLO_IMAG, value))};
  return graph_add(builder, HLO_COMPLEX, value->shape, parts, 2);
}

static HloInstruction *multiply(GraphBuilder *builder, HloInstruction *a, HloInstruction *b) {
  return graph_binary(builder, HLO_MULTIPLY, a, b);
}

static HloInstruction *diagonal_mask(GraphBuilder *builder, const Shape *shape) {
  return graph_compare(builder, COMPARISON_DIRECTION_EQ, graph_iota(builder, TYPE_S32, shape->dims, 3, 1),
                       graph_iota(builder, TYPE_S32, shape->dims, 3, 2));
}

/* [batch, n] of [batch, n, n]; nothing beside the diagonal counts, NaN included. */
static HloInstruction *diagonal_of(GraphBuilder *builder, HloInstruction *square) {
  const Shape *shape = square->shape;
  HloInstruction *zero = graph_zero(builder, shape->type, shape);
  HloInstruction *alone = graph_select(builder, diagonal_mask(builder, shape), square, zero);
  const int64_t columns = 2;
  return graph_reduce(builder, HLO_ADD, alone, graph_zero(builder, shape->type, NULL), &columns, 1);
}

/* |vector| [batch, n] as what stands along |dimension| (1 or 2) everywhere in |like|. */
static HloInstruction *spread(GraphBuilder *builder, HloInstruction *vector, int dimension, const Shape *like) {
  const int64_t dimensions[] = {0, dimension};
  return graph_broadcast(builder, vector, dimensions, 2, like->dims, 3);
}

static HloInstruction *with_diagonal(GraphBuilder *builder, HloInstruction *square, HloInstruction *diagonal) {
  return graph_select(builder, diagonal_mask(builder, square->shape), spread(builder, diagonal, 1, square->shape),
                      square);
}

/* --- a rotation of each pair --- */

/* first' = c first - conj(s) second, second' = s first + c second, on columns; [batch, pairs].  Instead of c there is
 * 1 - c, |drop|, real but of the matrix's type: what small rotations take away is not rounded like what they leave. */
typedef struct Rotations {
  HloInstruction *drop, *s;
  HloInstruction *first, *second; /* the diagonal that they make */
} Rotations;

/* Of [[a, b], [conj(b), d]] with b = |b| w: t, the smaller root of t² + (d - a) / |b| t - 1, is the tangent, s = t c w.
 */
static Rotations find_rotations(GraphBuilder *builder, HloInstruction *const *values) {
  HloInstruction *b = diagonal_of(builder, values[block_of(FIRST, SECOND)]);
  HloInstruction *a = part_of(builder, HLO_REAL, diagonal_of(builder, values[block_of(FIRST, FIRST)]));
  HloInstruction *d = part_of(builder, HLO_REAL, diagonal_of(builder, values[block_of(SECOND, SECOND)]));
  PrimitiveType type = b->shape->type, real = a->shape->type;
  HloInstruction *size = graph_add(builder, HLO_ABS, a->shape, &b, 1);
  HloInstruction *zero = graph_zero(builder, real, a->shape), *one = graph_real(builder, real, 1, a->shape);
  HloInstruction *is_done = graph_compare(builder, COMPARISON_DIRECTION_EQ, size, zero);
  HloInstruction *divisor = graph_select(builder, is_done, one, size);
  HloInstruction *tau = graph_binary(builder, HLO_SUBTRACT, d, a);
  tau = graph_binary(builder, HLO_DIVIDE, multiply(builder, graph_real(builder, real, 0.5, a->shape), tau), divisor);
  HloInstruction *root =
      graph_unary(builder, HLO_SQRT, graph_binary(builder, HLO_ADD, one, multiply(builder, tau, tau)));
  HloInstruction *sum = graph_binary(builder, HLO_ADD, graph_unary(builder, HLO_ABS, tau), root);
  HloInstruction *t = graph_binary(builder, HLO_DIVIDE, one, sum);
  HloInstruction *is_negative = graph_compare(builder, COMPARISON_DIRECTION_LT, tau, zero);
  t = graph_select(builder, is_negative, graph_unary(builder, HLO_NEGATE, t), t);
  t = graph_select(builder, is_done, zero, t);
  root = graph_unary(builder, HLO_SQRT, graph_binary(builder, HLO_ADD, one, multiply(builder, t, t)));
  HloInstruction *c = graph_binary(builder, HLO_DIVIDE, one, root), *sine = multiply(builder, t, c);
  HloInstruction *drop = multiply(builder, sine, sine), *change = multiply(builder, t, size);
  drop = graph_binary(builder, HLO_DIVIDE, drop, graph_binary(builder, HLO_ADD, one, c));
  HloInstruction *w = graph_binary(builder, HLO_DIVIDE, b, real_as_type(builder, divisor, type));
  return (Rotations){.drop = real_as_type(builder, drop, type),
                     .s = multiply(builder, real_as_type(builder, sine, type), w),
                     .first = real_as_type(builder, graph_binary(builder, HLO_SUBTRACT, a, change), type),
                     .second = real_as_type(builder, graph_binary(builder, HLO_ADD, d, change), type)};
}

/* Rows (|dimension| 1; conjugated, since they are multiplied from the left) or columns (2) of two blocks. */
static void rotate(GraphBuilder *builder, const Rotations *rotations, int dimension, HloInstruction **first,
                   HloInstruction **second) {
  const Shape *shape = (*first)->shape;
  HloInstruction *s = spread(builder, rotations->s, dimension, shape), *turned = conjugate(builder, s);
  HloInstruction *drop = spread(builder, rotations->drop, dimension, shape), *to_first = turned, *to_second = s;
  if (dimension == 1) {
    to_first = s;
    to_second = turned;
  }
  HloInstruction *lost = multiply(builder, drop, *first), *taken = multiply(builder, to_first, *second);
  HloInstruction *given = multiply(builder, to_second, *first), *dropped = multiply(builder, drop, *second);
  *first = graph_binary(builder, HLO_SUBTRACT, *first, graph_binary(builder, HLO_ADD, taken, lost));
  *second = graph_binary(builder, HLO_ADD, *second, graph_binary(builder, HLO_SUBTRACT, given, dropped));
}

/* --- who meets whom --- */

/* Firsts 0 1 2 … and seconds 0 1 2 … become firsts 0, second 0, 1, 2 … and seconds 1, 2 …, the last first. */
static void move_on(GraphBuilder *builder, int dimension, HloInstruction **first, HloInstruction **second) {
  int64_t pairs = (*first)->shape->dims[dimension];
  if (pairs == 1) return;
  HloInstruction *firsts[] = {graph_slice(builder, *first, dimension, 0, 1),
                              graph_slice(builder, *second, dimension, 0, 1),
                              graph_slice(builder, *first, dimension, 1, pairs - 1)};
  HloInstruction *seconds[] = {graph_slice(builder, *second, dimension, 1, pairs),
                               graph_slice(builder, *first, dimension, pairs - 1, pairs)};
  *first = graph_concatenate(builder, firsts, pairs > 2 ? 3 : 2, dimension);
  *second = graph_concatenate(builder, seconds, 2, dimension);
}

static void play_round(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                       HloInstruction **out_values) {
  (void)context;
  (void)step;
  Rotations rotations = find_rotations(inside, values);
  HloInstruction **next = out_values;
  for (int i = 0; i < VALUES; i++) next[i] = values[i];
  for (int row = FIRST; row <= SECOND; row++)
    rotate(inside, &rotations, 2, &next[block_of(row, FIRST)], &next[block_of(row, SECOND)]);
  for (int column = FIRST; column <= SECOND; column++)
    rotate(inside, &rotations, 1, &next[block_of(FIRST, column)], &next[block_of(SECOND, column)]);
  rotate(inside, &rotations, 2, &next[BLOCKS + FIRST], &next[BLOCKS + SECOND]);
  HloInstruction *zero = graph_zero(inside, rotations.s->shape->type, rotations.s->shape);
  HloInstruction *diagonals[] = {rotations.first, zero, zero, rotations.second};
  for (int i = 0; i < BLOCKS; i++) next[i] = with_diagonal(inside, next[i], diagonals[i]);
  for (int row = FIRST; row <= SECOND; row++)
    move_on(inside, 2, &next[block_of(row, FIRST)], &next[block_of(row, SECOND)]);
  for (int column = FIRST; column <= SECOND; column++)
    move_on(inside, 1, &next[block_of(FIRST, column)], &next[block_of(SECOND, column)]);
  move_on(inside, 2, &next[BLOCKS + FIRST], &next[BLOCKS + SECOND]);
}

/* --- until it is diagonal --- */

/* The sum of squares of each matrix, [batch], without the diagonal where |is_beside|. */
static HloInstruction *squares(GraphBuilder *builder, HloInstruction *const *values, bool is_beside) {
  HloInstruction *sum = NULL;
  for (int i = 0; i < BLOCKS; i++) {
    const Shape *shape = values[i]->shape;
    const Shape *real = shape_with_type(graph_shapes(builder), shape, type_complex_part(shape->type));
    if (!type_is_complex(shape->type)) real = shape;
    HloInstruction *block = values[i];
    HloInstruction *size = graph_add(builder, HLO_ABS, real, &block, 1);
    if (is_beside && i != block_of(FIRST, SECOND) && i != block_of(SECOND, FIRST))
      size = graph_select(builder, diagonal_mask(builder, shape), graph_zero(builder, real->type, real), size);
    HloInstruction *part = graph_reduce(builder, HLO_ADD, multiply(builder, size, size),
                                        graph_zero(builder, real->type, NULL), (int64_t[]){1, 2}, 2);
    sum = sum == NULL ? part : graph_binary(builder, HLO_ADD, sum, part);
  }
  return sum;
}

/* Values: those of a round, whether some matrix is not diagonal yet. */
static void sweep(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                  HloInstruction **out_values) {
  (void)step;
  const EigenRule *rule = context;
  int64_t n = 2 * values[0]->shape->dims[1];
  graph_loop(inside, &(GraphLoop){.trips = n - 1, .count = VALUES, .body = play_round}, values, out_values);
  HloInstruction *all = squares(inside, out_values, false), *beside = squares(inside, out_values, true);
  HloInstruction *share = graph_real(inside, all->shape->type, rule->tolerance * rule->tolerance, all->shape);
  HloInstruction *is_far = graph_compare(inside, COMPARISON_DIRECTION_GT, beside, multiply(inside, share, all));
  const int64_t batch = 0;
  out_values[VALUES] = graph_reduce(inside, HLO_OR, is_far, graph_zero(inside, TYPE_PRED, NULL), &batch, 1);
}

/* --- the whole --- */

/* [batch, rows, columns] with zeros after them up to [batch, n, n]. */
static HloInstruction *filled_up(GraphBuilder *builder, HloInstruction *a, int64_t n) {
  HloInstruction *zero = graph_zero(builder, a->shape->type, NULL);
  for (int dimension = 1; dimension <= 2; dimension++) {
    if (a->shape->dims[dimension] < n) a = graph_pad(builder, a, zero, dimension, n - a->shape->dims[dimension]);
  }
  return a;
}

static HloInstruction *block(GraphBuilder *builder, HloInstruction *a, int row, int column) {
  int64_t half = a->shape->dims[1] / 2;
  a = graph_slice(builder, a, 1, row * half, (row + 1) * half);
  return graph_slice(builder, a, 2, column * half, (column + 1) * half);
}

/* Both triangles from one. */
static HloInstruction *hermitian(GraphBuilder *builder, HloInstruction *a, bool is_lower) {
  return graph_select(builder, triangle_mask(builder, a->shape, is_lower), a, transpose_matrices(builder, a, true));
}

/* Keys a, b, then what goes with them. */
static HloComputation *ascending(GraphBuilder *builder, PrimitiveType type, int count) {
  HloModule *module = builder->computation->module;
  GraphBuilder inside = {hlo_module_add_computation(module, SV("before")), builder->origin, builder->scratch};
  HloInstruction *keys[2];
  for (int i = 0; i < 2 * count; i++) {
    HloInstruction *parameter =
        hlo_computation_add_parameter(inside.computation, i, shape_scalar(module->shapes, type), SV("key."));
    if (i < 2) keys[i] = parameter;
  }
  hlo_computation_set_root(inside.computation, graph_compare(&inside, COMPARISON_DIRECTION_LT, keys[0], keys[1]));
  return inside.computation;
}

/* Eigenvalues [batch, n] ascending, with their vectors. */
static void sort_values(GraphBuilder *builder, HloInstruction **values, HloInstruction **vectors) {
  const Shape *shape = (*vectors)->shape;
  HloInstruction *operands[] = {spread(builder, *values, 2, shape), part_of(builder, HLO_REAL, *vectors),
                                part_of(builder, HLO_IMAG, *vectors)};
  int count = type_is_complex(shape->type) ? 3 : 2;
  const Shape *shapes[] = {operands[0]->shape, operands[0]->shape, operands[0]->shape};
  HloInstruction *sorted =
      graph_add(builder, HLO_SORT, shape_tuple(graph_shapes(builder), shapes, count), operands, count);
  const int64_t last = 2;
  hlo_instruction_set_ints(sorted, HLO_ATTR_DIMENSIONS, &last, 1);
  hlo_instruction_set_bool(sorted, HLO_ATTR_IS_STABLE, true);
  hlo_instruction_set_computation(sorted, HLO_ATTR_TO_APPLY, ascending(builder, shapes[0]->type, count));
  HloInstruction *row = graph_slice(builder, graph_element(builder, sorted, 0), 1, 0, 1);
  *values = graph_reshape(builder, row, (*values)->shape->dims, 2);
  HloInstruction *parts[] = {graph_element(builder, sorted, 1), count == 3 ? graph_element(builder, sorted, 2) : NULL};
  *vectors = count == 3 ? graph_add(builder, HLO_COMPLEX, shape, parts, 2) : parts[0];
}

HloInstruction *find_eigenvectors(GraphBuilder *builder, HloInstruction *a, const EigenRule *rule,
                                  HloInstruction **out_values) {
  int64_t n = a->shape->dims[1], even = n + n % 2;
  a = filled_up(builder, hermitian(builder, a, rule->is_lower), even);
  HloInstruction *unit = graph_convert(builder, diagonal_mask(builder, a->shape), a->shape->type);
  HloInstruction *values[VALUES + 1];
  for (int i = 0; i < BLOCKS; i++) values[i] = block(builder, a, i / 2, i % 2);
  for (int i = FIRST; i <= SECOND; i++)
    values[BLOCKS + i] = graph_slice(builder, unit, 2, i * even / 2, (i + 1) * even / 2);
  values[VALUES] = graph_integer(builder, TYPE_PRED, 1, NULL);
  EigenRule mine = *rule;
  const GraphLoop loop = {
      .trips = rule->sweeps, .count = VALUES + 1, .body = sweep, .context = &mine, .asks_last = true};
  graph_loop(builder, &loop, values, values);
  HloInstruction *halves[] = {diagonal_of(builder, values[block_of(FIRST, FIRST)]),
                              diagonal_of(builder, values[block_of(SECOND, SECOND)])};
  HloInstruction *diagonal = part_of(builder, HLO_REAL, graph_concatenate(builder, halves, 2, 1));
  HloInstruction *vectors = graph_concatenate(builder, &values[BLOCKS], 2, 2);
  *out_values = graph_slice(builder, diagonal, 1, 0, n);
  vectors = graph_slice(builder, graph_slice(builder, vectors, 1, 0, n), 2, 0, n);
  if (rule->is_sorted) sort_values(builder, out_values, &vectors);
  return vectors;
}
