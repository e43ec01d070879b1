#include "passes/expand/linear_algebra_internal.h"

/* LAPACK's geqrf and orgqr, a column at a time (Golub and Van Loan, Matrix Computations, 5.2): a reflector is
 * 1 - tau v v*, v is 0 above its column's diagonal and 1 there. */

/* The places of a column [batch, rows, 1] at and below row |step|. */
typedef struct ColumnPlaces {
  HloInstruction *is_here, *is_below;
} ColumnPlaces;

static ColumnPlaces places_of(GraphBuilder *builder, const Shape *column, HloInstruction *step) {
  HloInstruction *place = graph_iota(builder, TYPE_S32, column->dims, 3, 1), *now = graph_splat(builder, step, column);
  return (ColumnPlaces){graph_compare(builder, COMPARISON_DIRECTION_EQ, place, now),
                        graph_compare(builder, COMPARISON_DIRECTION_GT, place, now)};
}

/* What a column holds below the diagonal, 1 there, 0 above. */
static HloInstruction *vector_of(GraphBuilder *builder, HloInstruction *column, const ColumnPlaces *places) {
  const Shape *shape = column->shape;
  HloInstruction *above = graph_zero(builder, shape->type, shape);
  HloInstruction *one = graph_convert(builder, graph_integer(builder, TYPE_S32, 1, shape), shape->type);
  return graph_select(builder, places->is_below, column, graph_select(builder, places->is_here, one, above));
}

/* (1 - tau v v*) a where |counts| (NULL: everywhere) says that a column of a takes part. */
static HloInstruction *reflect(GraphBuilder *builder, HloInstruction *tau, HloInstruction *vector, HloInstruction *a,
                               HloInstruction *counts) {
  HloInstruction *row = graph_dot(builder, conjugate_matrices(builder, vector), a, 1, 1, 1);
  if (counts != NULL) row = graph_select(builder, counts, row, graph_zero(builder, row->shape->type, row->shape));
  row = graph_binary(builder, HLO_MULTIPLY, row, spread_scalars(builder, tau, row->shape));
  return graph_binary(builder, HLO_SUBTRACT, a, graph_dot(builder, vector, row, 1, 2, 1));
}

static HloInstruction *square(GraphBuilder *builder, HloInstruction *value) {
  HloInstruction *parts[] = {graph_part(builder, HLO_REAL, value), graph_part(builder, HLO_IMAG, value)};
  for (int i = 0; i < 2; i++) parts[i] = graph_binary(builder, HLO_MULTIPLY, parts[i], parts[i]);
  return graph_binary(builder, HLO_ADD, parts[0], parts[1]);
}

/* The reflector that makes the multiple |beta| of the first unit vector of (alpha, below). */
typedef struct Reflector {
  HloInstruction *tau, *beta, *divisor; /* [batch, 1, 1]; what is below divided by |divisor| is the vector's rest */
} Reflector;

static Reflector find_reflector(GraphBuilder *builder, HloInstruction *alpha, HloInstruction *below) {
  const Shape *shape = alpha->shape;
  HloInstruction *real = graph_part(builder, HLO_REAL, alpha), *imaginary = graph_part(builder, HLO_IMAG, alpha);
  HloInstruction *zero = graph_zero(builder, real->shape->type, real->shape);
  HloInstruction *rest = graph_reduce(builder, HLO_ADD, square(builder, below),
                                      graph_zero(builder, real->shape->type, NULL), (int64_t[]){1, 2}, 2);
  rest = graph_reshape(builder, rest, shape->dims, 3);
  HloInstruction *norm = graph_unary(builder, HLO_SQRT, graph_binary(builder, HLO_ADD, square(builder, alpha), rest));
  HloInstruction *is_negative = graph_compare(builder, COMPARISON_DIRECTION_LT, real, zero);
  HloInstruction *beta = graph_select(builder, is_negative, norm, graph_unary(builder, HLO_NEGATE, norm));
  beta = real_as_type(builder, beta, shape->type);
  HloInstruction *difference = graph_binary(builder, HLO_SUBTRACT, beta, alpha);
  HloInstruction *is_done = graph_binary(builder, HLO_AND, graph_compare(builder, COMPARISON_DIRECTION_EQ, rest, zero),
                                         graph_compare(builder, COMPARISON_DIRECTION_EQ, imaginary, zero));
  HloInstruction *one = real_as_type(builder, graph_real(builder, real->shape->type, 1, real->shape), shape->type);
  Reflector reflector = {graph_binary(builder, HLO_DIVIDE, difference, graph_select(builder, is_done, one, beta)),
                         graph_select(builder, is_done, alpha, beta), graph_unary(builder, HLO_NEGATE, difference)};
  reflector.tau = graph_select(builder, is_done, graph_zero(builder, shape->type, shape), reflector.tau);
  reflector.divisor = graph_select(builder, is_done, one, reflector.divisor);
  return reflector;
}

/* Values: a, whose columns before |step| are done; taus. */
static void reflect_column(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                           HloInstruction **out_values) {
  (void)context;
  HloInstruction *a = values[0], *column = graph_take(inside, a, 2, step);
  const Shape *shape = column->shape;
  ColumnPlaces places = places_of(inside, shape, step);
  HloInstruction *below = graph_select(inside, places.is_below, column, graph_zero(inside, shape->type, shape));
  Reflector reflector = find_reflector(inside, graph_take(inside, column, 1, step), below);
  below = graph_binary(inside, HLO_DIVIDE, below, spread_scalars(inside, reflector.divisor, shape));
  const int64_t dims[] = {shape->dims[0], 1, a->shape->dims[2]};
  HloInstruction *number = graph_iota(inside, TYPE_S32, dims, 3, 2);
  HloInstruction *is_behind =
      graph_compare(inside, COMPARISON_DIRECTION_GT, number, graph_splat(inside, step, number->shape));
  HloInstruction *turned = conjugate_matrices(inside, reflector.tau);
  a = reflect(inside, turned, vector_of(inside, below, &places), a, is_behind);
  column = graph_select(inside, places.is_below, below, column);
  column = graph_select(inside, places.is_here, spread_scalars(inside, reflector.beta, shape), column);
  out_values[0] = graph_put(inside, a, column, 2, step);
  out_values[1] = graph_put(inside, values[1], reflector.tau, 2, step);
}

HloInstruction *factorise_qr(GraphBuilder *builder, HloInstruction *a, HloInstruction **out_taus) {
  const Shape *shape = a->shape;
  int64_t count = shape->dims[1] < shape->dims[2] ? shape->dims[1] : shape->dims[2];
  HloInstruction *none = graph_slice(builder, graph_slice(builder, a, 1, 0, 1), 2, 0, count);
  HloInstruction *values[] = {a, graph_zero(builder, shape->type, none->shape)};
  graph_loop(builder, &(GraphLoop){.trips = count, .count = 2, .body = reflect_column}, values, values);
  *out_taus = values[1];
  return values[0];
}

/* Values: the vectors, taus, the product of the reflectors after the present one. */
static void multiply_reflector(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                               HloInstruction **out_values) {
  (void)context;
  int64_t last = values[1]->shape->dims[2] - 1;
  HloInstruction *number = graph_binary(inside, HLO_SUBTRACT, graph_integer(inside, TYPE_S32, last, NULL), step);
  HloInstruction *column = graph_take(inside, values[0], 2, number);
  ColumnPlaces places = places_of(inside, column->shape, number);
  out_values[0] = values[0];
  out_values[1] = values[1];
  out_values[2] =
      reflect(inside, graph_take(inside, values[1], 2, number), vector_of(inside, column, &places), values[2], NULL);
}

HloInstruction *multiply_reflectors(GraphBuilder *builder, HloInstruction *vectors, HloInstruction *taus) {
  const Shape *shape = vectors->shape;
  HloInstruction *is_diagonal =
      graph_compare(builder, COMPARISON_DIRECTION_EQ, graph_iota(builder, TYPE_S32, shape->dims, 3, 1),
                    graph_iota(builder, TYPE_S32, shape->dims, 3, 2));
  HloInstruction *values[] = {vectors, taus, graph_convert(builder, is_diagonal, shape->type)};
  graph_loop(builder, &(GraphLoop){.trips = taus->shape->dims[2], .count = 3, .body = multiply_reflector}, values,
             values);
  return values[2];
}
