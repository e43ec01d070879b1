#include <math.h>

#include "base/checked_math.h"
#include "passes/expand/linear_algebra_internal.h"

/* --- pieces --- */

HloInstruction *real_as_type(GraphBuilder *builder, HloInstruction *real, PrimitiveType type) {
  if (!type_is_complex(type)) return real;
  HloInstruction *parts[] = {real, graph_zero(builder, real->shape->type, real->shape)};
  return graph_add(builder, HLO_COMPLEX, shape_with_type(graph_shapes(builder), real->shape, type), parts, 2);
}

HloInstruction *conjugate_matrices(GraphBuilder *builder, HloInstruction *value) {
  if (!type_is_complex(value->shape->type)) return value;
  HloInstruction *parts[] = {graph_part(builder, HLO_REAL, value), graph_part(builder, HLO_IMAG, value)};
  parts[1] = graph_unary(builder, HLO_NEGATE, parts[1]);
  return graph_add(builder, HLO_COMPLEX, value->shape, parts, 2);
}

HloInstruction *transpose_matrices(GraphBuilder *builder, HloInstruction *value, bool conjugates) {
  HloInstruction *turned = graph_transpose(builder, value, (int64_t[]){0, 2, 1});
  return conjugates ? conjugate_matrices(builder, turned) : turned;
}

static HloInstruction *compare_places(GraphBuilder *builder, const Shape *shape, ComparisonDirection direction) {
  return graph_compare(builder, direction, graph_iota(builder, TYPE_S32, shape->dims, 3, 1),
                       graph_iota(builder, TYPE_S32, shape->dims, 3, 2));
}

HloInstruction *triangle_mask(GraphBuilder *builder, const Shape *shape, bool is_lower) {
  return compare_places(builder, shape, is_lower ? COMPARISON_DIRECTION_GE : COMPARISON_DIRECTION_LE);
}

/* Rows [row, row_end) and columns [column, column_end). */
static HloInstruction *part(GraphBuilder *builder, HloInstruction *value, int64_t row, int64_t row_end, int64_t column,
                            int64_t column_end) {
  return graph_slice(builder, graph_slice(builder, value, 1, row, row_end), 2, column, column_end);
}

HloInstruction *spread_scalars(GraphBuilder *builder, HloInstruction *value, const Shape *like) {
  const int64_t first = 0;
  HloInstruction *flat = graph_reshape(builder, value, like->dims, 1);
  return graph_broadcast(builder, flat, &first, 1, like->dims, 3);
}

/* A multiple of the block next to the middle. */
static int64_t half_of(int64_t n) {
  return align_up(ceil_div(n, 2), LINEAR_ALGEBRA_BLOCK);
}

static HloInstruction *product(GraphBuilder *builder, HloInstruction *a, HloInstruction *b) {
  return graph_dot(builder, a, b, 1, 2, 1);
}

/* --- substitution --- */

/* Values: what stands beside the diagonal, the diagonal's matrix, x: right from row |step| on, b before. */
static void solve_row(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                      HloInstruction **out_values) {
  const Triangle *triangle = context;
  int64_t n = values[0]->shape->dims[1];
  HloInstruction *i = step;
  if (!triangle->is_lower) i = graph_binary(inside, HLO_SUBTRACT, graph_integer(inside, TYPE_S32, n - 1, NULL), step);
  HloInstruction *known = product(inside, graph_take(inside, values[0], 1, i), values[2]);
  HloInstruction *row = graph_binary(inside, HLO_SUBTRACT, graph_take(inside, values[2], 1, i), known);
  if (!triangle->is_unit) {
    HloInstruction *diagonal = graph_take_diagonal(inside, values[1], i);
    row = graph_binary(inside, HLO_DIVIDE, row, spread_scalars(inside, diagonal, row->shape));
  }
  out_values[0] = values[0];
  out_values[1] = values[1];
  out_values[2] = graph_put(inside, values[2], row, 1, i);
}

static HloInstruction *solve_block(GraphBuilder *builder, const Triangle *triangle, HloInstruction *b) {
  const Shape *shape = triangle->matrix->shape;
  HloInstruction *beside =
      compare_places(builder, shape, triangle->is_lower ? COMPARISON_DIRECTION_GT : COMPARISON_DIRECTION_LT);
  HloInstruction *zero = graph_zero(builder, shape->type, shape);
  HloInstruction *values[] = {graph_select(builder, beside, triangle->matrix, zero), triangle->matrix, b};
  Triangle *context = ARENA_NEW(builder->scratch, Triangle);
  *context = *triangle;
  graph_loop(builder, &(GraphLoop){.trips = shape->dims[1], .count = 3, .body = solve_row, .context = context}, values,
             values);
  return values[2];
}

HloInstruction *solve_triangle(GraphBuilder *builder, const Triangle *triangle, HloInstruction *b) {
  int64_t n = triangle->matrix->shape->dims[1], half = half_of(n), columns = b->shape->dims[2];
  if (n <= LINEAR_ALGEBRA_BLOCK) return solve_block(builder, triangle, b);
  const int64_t begins[] = {0, half}, ends[] = {half, n};
  int first = triangle->is_lower ? 0 : 1, second = 1 - first;
  Triangle corner = *triangle;
  HloInstruction *x[2], *rest = part(builder, b, begins[second], ends[second], 0, columns);
  corner.matrix = part(builder, triangle->matrix, begins[first], ends[first], begins[first], ends[first]);
  x[first] = solve_triangle(builder, &corner, part(builder, b, begins[first], ends[first], 0, columns));
  HloInstruction *beside = part(builder, triangle->matrix, begins[second], ends[second], begins[first], ends[first]);
  rest = graph_binary(builder, HLO_SUBTRACT, rest, product(builder, beside, x[first]));
  corner.matrix = part(builder, triangle->matrix, begins[second], ends[second], begins[second], ends[second]);
  x[second] = solve_triangle(builder, &corner, rest);
  return graph_concatenate(builder, x, 2, 1);
}

/* --- cholesky --- */

/* The diagonal's square root; NaN when it is not positive. */
static HloInstruction *diagonal_root(GraphBuilder *builder, HloInstruction *diagonal) {
  PrimitiveType type = diagonal->shape->type;
  bool is_complex = type_is_complex(type);
  diagonal = graph_part(builder, HLO_REAL, diagonal);
  const Shape *shape = diagonal->shape;
  HloInstruction *is_positive =
      graph_compare(builder, COMPARISON_DIRECTION_GT, diagonal, graph_zero(builder, shape->type, shape));
  HloInstruction *root = graph_select(builder, is_positive, graph_unary(builder, HLO_SQRT, diagonal),
                                      graph_real(builder, shape->type, (double)NAN, shape));
  if (!is_complex) return root;
  HloInstruction *parts[] = {root, graph_zero(builder, shape->type, shape)};
  return graph_add(builder, HLO_COMPLEX, shape_with_type(graph_shapes(builder), shape, type), parts, 2);
}

/* Values: a; l, of which columns before |step| are there, the rest 0. */
static void factorise_column(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                             HloInstruction **out_values) {
  (void)context;
  HloInstruction *row = conjugate_matrices(inside, graph_take(inside, values[1], 1, step));
  HloInstruction *known = graph_dot(inside, values[1], row, 1, 2, 2);
  HloInstruction *column = graph_binary(inside, HLO_SUBTRACT, graph_take(inside, values[0], 2, step), known);
  const Shape *shape = column->shape;
  HloInstruction *root = spread_scalars(inside, diagonal_root(inside, graph_take(inside, column, 1, step)), shape);
  HloInstruction *place = graph_iota(inside, TYPE_S32, shape->dims, 3, 1), *now = graph_splat(inside, step, shape);
  HloInstruction *is_diagonal = graph_compare(inside, COMPARISON_DIRECTION_EQ, place, now);
  HloInstruction *is_below = graph_compare(inside, COMPARISON_DIRECTION_GT, place, now);
  column = graph_select(inside, is_below, graph_binary(inside, HLO_DIVIDE, column, root),
                        graph_zero(inside, shape->type, shape));
  column = graph_select(inside, is_diagonal, root, column);
  out_values[0] = values[0];
  out_values[1] = graph_put(inside, values[1], column, 2, step);
}

static HloInstruction *factorise_block(GraphBuilder *builder, HloInstruction *a) {
  HloInstruction *values[] = {a, graph_zero(builder, a->shape->type, a->shape)};
  graph_loop(builder, &(GraphLoop){.trips = a->shape->dims[1], .count = 2, .body = factorise_column}, values, values);
  return values[1];
}

bool is_small_matrix(const Shape *shape) {
  return shape->dims[0] == 1 && shape->dims[1] <= LINEAR_ALGEBRA_SMALL && !type_is_complex(shape->type);
}

HloInstruction *matrix_element(GraphBuilder *builder, HloInstruction *matrix, int64_t row, int64_t column) {
  return graph_reshape(builder, part(builder, matrix, row, row + 1, column, column + 1), NULL, 0);
}

/* Element by element in scalars, from which the readers of the matrix choose by the position. */
static HloInstruction *factorise_small(GraphBuilder *builder, HloInstruction *a) {
  const int64_t n = a->shape->dims[1], count = n * n;
  HloInstruction *l[LINEAR_ALGEBRA_SMALL][LINEAR_ALGEBRA_SMALL];
  HloInstruction *place = graph_iota(builder, TYPE_S32, &count, 1, 0);
  const Shape *flat = shape_array(graph_shapes(builder), a->shape->type, &count, 1);
  HloInstruction *factor = graph_zero(builder, flat->type, flat);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j <= i; j++) {
      HloInstruction *value = matrix_element(builder, a, i, j);
      for (int64_t k = 0; k < j; k++)
        value = graph_binary(builder, HLO_SUBTRACT, value, graph_binary(builder, HLO_MULTIPLY, l[i][k], l[j][k]));
      l[i][j] = i == j ? diagonal_root(builder, value) : graph_binary(builder, HLO_DIVIDE, value, l[j][j]);
      HloInstruction *here = graph_integer(builder, TYPE_S32, i * n + j, place->shape);
      here = graph_compare(builder, COMPARISON_DIRECTION_EQ, place, here);
      factor = graph_select(builder, here, graph_splat(builder, l[i][j], flat), factor);
    }
  }
  return graph_reshape(builder, factor, a->shape->dims, 3);
}

HloInstruction *factorise_cholesky(GraphBuilder *builder, HloInstruction *a) {
  int64_t n = a->shape->dims[1], half = half_of(n);
  if (is_small_matrix(a->shape)) return factorise_small(builder, a);
  if (n <= LINEAR_ALGEBRA_BLOCK) return factorise_block(builder, a);
  HloInstruction *upper = factorise_cholesky(builder, part(builder, a, 0, half, 0, half));
  const Triangle corner = {upper, true, false};
  HloInstruction *turned = transpose_matrices(builder, part(builder, a, half, n, 0, half), true);
  HloInstruction *left = transpose_matrices(builder, solve_triangle(builder, &corner, turned), true);
  HloInstruction *square = graph_dot(builder, left, conjugate_matrices(builder, left), 1, 2, 2);
  HloInstruction *rest = graph_binary(builder, HLO_SUBTRACT, part(builder, a, half, n, half, n), square);
  HloInstruction *lower = factorise_cholesky(builder, rest);
  HloInstruction *right = graph_zero(builder, a->shape->type, turned->shape);
  HloInstruction *rows[] = {graph_concatenate(builder, (HloInstruction *[]){upper, right}, 2, 2),
                            graph_concatenate(builder, (HloInstruction *[]){left, lower}, 2, 2)};
  return graph_concatenate(builder, rows, 2, 1);
}
