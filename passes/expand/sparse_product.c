#include "passes/expand/linear_algebra_internal.h"

/* What JAX calls for a sparse matrix of rows times dense columns: one loop over rows, one over elements. */

/* |list| with |amount| added at |index|. */
static HloInstruction *add_at(GraphBuilder *builder, HloInstruction *list, HloInstruction *amount,
                              HloInstruction *index) {
  HloInstruction *sum = graph_binary(builder, HLO_ADD, graph_take(builder, list, 0, index), amount);
  return graph_put(builder, list, sum, 0, index);
}

/* Values: where rows end; how many end at each element. */
static void count_end(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                      HloInstruction **out_values) {
  (void)context;
  const Shape *one = graph_take(inside, values[1], 0, step)->shape;
  out_values[0] = values[0];
  out_values[1] =
      add_at(inside, values[1], graph_integer(inside, one->type, 1, one), graph_scalar_at(inside, values[0], step));
}

/* Values: the elements, their columns, the dense matrix, the ends, the row of the element before, the sums. */
static void add_element(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                        HloInstruction **out_values) {
  (void)context;
  for (int i = 0; i < 4; i++) out_values[i] = values[i];
  HloInstruction *row = graph_binary(inside, HLO_ADD, values[4], graph_scalar_at(inside, values[3], step));
  HloInstruction *dense = graph_take(inside, values[2], 0, graph_scalar_at(inside, values[1], step));
  HloInstruction *element = graph_splat(inside, graph_scalar_at(inside, values[0], step), dense->shape);
  out_values[4] = row;
  out_values[5] = add_at(inside, values[5], graph_binary(inside, HLO_MULTIPLY, element, dense), row);
}

HloInstruction *multiply_sparse(GraphBuilder *builder, const SparseRows *rows, HloInstruction *dense) {
  int64_t row_count = rows->starts->shape->dims[0] - 1, elements = rows->elements->shape->dims[0];
  const int64_t counts_dims[] = {elements + 1}, sums_dims[] = {row_count + 1, dense->shape->dims[1]};
  const Shape *counts_shape = shape_array(graph_shapes(builder), TYPE_S32, counts_dims, 1);
  const Shape *sums_shape = shape_array(graph_shapes(builder), dense->shape->type, sums_dims, 2);
  HloInstruction *ends = graph_slice(builder, rows->starts, 0, 1, row_count + 1);
  HloInstruction *counts[] = {graph_convert(builder, ends, TYPE_S32), graph_zero(builder, TYPE_S32, counts_shape)};
  graph_loop(builder, &(GraphLoop){.trips = row_count, .count = 2, .body = count_end}, counts, counts);
  HloInstruction *values[] = {rows->elements,
                              graph_convert(builder, rows->columns, TYPE_S32),
                              dense,
                              counts[1],
                              graph_zero(builder, TYPE_S32, NULL),
                              graph_zero(builder, sums_shape->type, sums_shape)};
  graph_loop(builder, &(GraphLoop){.trips = elements, .count = 6, .body = add_element}, values, values);
  return graph_slice(builder, values[5], 0, 0, row_count); /* without what is after the last row's end */
}
