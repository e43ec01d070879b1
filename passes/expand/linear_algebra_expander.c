#include <stdio.h>
#include <string.h>

#include "hlo/ir/custom_call.h"
#include "passes/expand/linear_algebra_internal.h"

/* cholesky, triangular-solve, and the custom calls that frameworks make of them and of qr, as loops and dots; narrow
 * floats in f32. */

static bool is_expandable(const Shape *shape) {
  return shape_is_array(shape) && shape->rank >= 2 && !shape_is_dynamic(shape) && shape_element_count(shape) > 0 &&
         (type_is_float(shape->type) || type_is_complex(shape->type));
}

/* |value| as [batch, rows, columns], of a type to compute in. */
static HloInstruction *as_matrices(GraphBuilder *builder, HloInstruction *value) {
  const Shape *shape = value->shape;
  int64_t dims[] = {1, shape->dims[shape->rank - 2], shape->dims[shape->rank - 1]};
  for (int i = 0; i < shape->rank - 2; i++) dims[0] *= shape->dims[i];
  value = graph_reshape(builder, value, dims, 3);
  return type_bits(shape->type) < 32 ? graph_convert(builder, value, TYPE_F32) : value;
}

static HloInstruction *of_matrices(GraphBuilder *builder, HloInstruction *value, const Shape *shape) {
  return graph_reshape(builder, graph_convert(builder, value, shape->type), shape->dims, shape->rank);
}

static HloInstruction *expand_cholesky(GraphBuilder *builder) {
  const HloInstruction *cholesky = builder->origin;
  if (shape_element_count(cholesky->shape) == 0) return graph_zero(builder, cholesky->shape->type, cholesky->shape);
  if (!is_expandable(cholesky->shape)) return NULL;
  HloInstruction *a = as_matrices(builder, graph_operand(builder, 0));
  bool is_lower = hlo_instruction_bool(cholesky, HLO_ATTR_LOWER, false);
  if (!is_lower) a = transpose_matrices(builder, a, true);
  HloInstruction *factor = factorise_cholesky(builder, a);
  if (!is_lower) factor = transpose_matrices(builder, factor, true);
  return of_matrices(builder, factor, cholesky->shape);
}

/* --- triangular-solve --- */

typedef struct Solve {
  bool is_left, is_lower, is_unit, is_transposed, is_conjugated; /* op(a) */
} Solve;

/* op(a) x = b, or x op(a) = b when the triangle stands on the right: then op(a)ᵀ xᵀ = bᵀ. */
static HloInstruction *solve(GraphBuilder *builder, Solve how, HloInstruction *a, HloInstruction *b) {
  Triangle triangle = {.matrix = as_matrices(builder, a), .is_lower = how.is_lower, .is_unit = how.is_unit};
  HloInstruction *x = as_matrices(builder, b);
  if (how.is_transposed == how.is_left) {
    triangle.matrix = transpose_matrices(builder, triangle.matrix, how.is_conjugated);
    triangle.is_lower = !triangle.is_lower;
  } else if (how.is_conjugated) {
    HloInstruction *turned = transpose_matrices(builder, triangle.matrix, true);
    triangle.matrix = transpose_matrices(builder, turned, false);
  }
  if (!how.is_left) x = transpose_matrices(builder, x, false);
  x = solve_triangle(builder, &triangle, x);
  if (!how.is_left) x = transpose_matrices(builder, x, false);
  return of_matrices(builder, x, b->shape);
}

static HloInstruction *expand_triangular_solve(GraphBuilder *builder) {
  const HloInstruction *origin = builder->origin;
  int64_t transpose = hlo_instruction_int(origin, HLO_ATTR_TRANSPOSE_A, TRIANGULAR_TRANSPOSE_NO_TRANSPOSE);
  if (shape_element_count(origin->shape) == 0) return graph_zero(builder, origin->shape->type, origin->shape);
  if (!is_expandable(origin->shape)) return NULL;
  Solve how = {.is_left = hlo_instruction_bool(origin, HLO_ATTR_LEFT_SIDE, false),
               .is_lower = hlo_instruction_bool(origin, HLO_ATTR_LOWER, false),
               .is_unit = hlo_instruction_bool(origin, HLO_ATTR_UNIT_DIAGONAL, false),
               .is_transposed = transpose != TRIANGULAR_TRANSPOSE_NO_TRANSPOSE,
               .is_conjugated = transpose == TRIANGULAR_TRANSPOSE_ADJOINT};
  return solve(builder, how, graph_operand(builder, 0), graph_operand(builder, 1));
}

/* --- custom calls --- */

/* The order of the first minor of each matrix that is not positive, 0 when all are: [batch] of |type|. */
static HloInstruction *first_small_failure(GraphBuilder *builder, HloInstruction *factor, PrimitiveType type) {
  HloInstruction *order = graph_zero(builder, type, NULL);
  for (int64_t i = factor->shape->dims[1] - 1; i >= 0; i--) {
    HloInstruction *diagonal = matrix_element(builder, factor, i, i);
    HloInstruction *is_bad = graph_compare(builder, COMPARISON_DIRECTION_NE, diagonal, diagonal);
    order = graph_select(builder, is_bad, graph_integer(builder, type, i + 1, NULL), order);
  }
  return graph_reshape(builder, order, factor->shape->dims, 1);
}

static HloInstruction *first_failure(GraphBuilder *builder, HloInstruction *factor, PrimitiveType type) {
  const Shape *shape = factor->shape;
  int64_t n = shape->dims[1];
  if (is_small_matrix(shape)) return first_small_failure(builder, factor, type);
  HloInstruction *is_bad = graph_compare(builder, COMPARISON_DIRECTION_NE, factor, factor);
  HloInstruction *row = graph_iota(builder, type, shape->dims, 3, 1),
                 *column = graph_iota(builder, type, shape->dims, 3, 2);
  HloInstruction *is_diagonal = graph_compare(builder, COMPARISON_DIRECTION_EQ, row, column);
  is_bad = graph_binary(builder, HLO_AND, is_bad, is_diagonal);
  HloInstruction *order = graph_binary(builder, HLO_ADD, row, graph_integer(builder, type, 1, shape));
  order = graph_select(builder, is_bad, order, graph_integer(builder, type, n + 1, shape));
  HloInstruction *least =
      graph_reduce(builder, HLO_MINIMUM, order, graph_integer(builder, type, n + 1, NULL), (int64_t[]){1, 2}, 2);
  HloInstruction *is_fine =
      graph_compare(builder, COMPARISON_DIRECTION_EQ, least, graph_integer(builder, type, n + 1, least->shape));
  return graph_select(builder, is_fine, graph_zero(builder, type, least->shape), least);
}

/* LAPACK's potrf as JAX calls it: (factor, info) of each matrix; the other triangle stays. */
static HloInstruction *expand_potrf(GraphBuilder *builder) {
  const HloInstruction *call = builder->origin;
  const Shape *shape = call->shape;
  if (call->operand_count != 1 || !is_expandable(call->operands[0]->shape) || !shape_is_tuple(shape) ||
      shape->tuple_size != 2 || !shape_compatible(shape->tuple[0], call->operands[0]->shape) ||
      shape->tuple[1]->rank != shape->tuple[0]->rank - 2)
    return NULL;
  int64_t uplo = custom_call_integer(call, SV("uplo"), -1);
  if (uplo < 0) return NULL;
  bool is_lower = uplo == 'L';
  HloInstruction *a = as_matrices(builder, graph_operand(builder, 0));
  HloInstruction *lower = is_lower ? a : transpose_matrices(builder, a, true);
  HloInstruction *factor = factorise_cholesky(builder, lower);
  HloInstruction *info = first_failure(builder, factor, shape->tuple[1]->type);
  if (!is_lower) factor = transpose_matrices(builder, factor, true);
  factor = graph_select(builder, triangle_mask(builder, a->shape, is_lower), factor, a);
  HloInstruction *results[] = {of_matrices(builder, factor, shape->tuple[0]),
                               of_matrices(builder, info, shape->tuple[1])};
  return graph_tuple(builder, results, 2);
}

/* LAPACK's trsm as JAX calls it: side, uplo, trans_x and diag are letters; until jax 0.5 with a factor for b.  Text
 * that was printed without the letters is not guessed at. */
static HloInstruction *expand_trsm(GraphBuilder *builder) {
  const HloInstruction *call = builder->origin;
  if ((call->operand_count != 2 && call->operand_count != 3) || !is_expandable(call->operands[0]->shape) ||
      !is_expandable(call->operands[1]->shape) || !shape_compatible(call->shape, call->operands[1]->shape))
    return NULL;
  int64_t side = custom_call_integer(call, SV("side"), -1), uplo = custom_call_integer(call, SV("uplo"), -1);
  int64_t transpose = custom_call_integer(call, SV("trans_x"), -1), diag = custom_call_integer(call, SV("diag"), -1);
  if (side < 0 || uplo < 0 || transpose < 0 || diag < 0) return NULL;
  Solve how = {.is_left = side == 'L',
               .is_lower = uplo == 'L',
               .is_unit = diag == 'U',
               .is_transposed = transpose != 'N',
               .is_conjugated = transpose == 'C'};
  HloInstruction *b = graph_operand(builder, 1);
  if (call->operand_count == 3) {
    if (!shape_is_array(call->operands[2]->shape) || call->operands[2]->shape->rank != 0) return NULL;
    HloInstruction *factor = graph_splat(builder, graph_operand(builder, 2), b->shape);
    b = graph_binary(builder, HLO_MULTIPLY, factor, b);
  }
  return solve(builder, how, graph_operand(builder, 0), b);
}

static bool is_list(const HloInstruction *value) {
  const Shape *shape = value->shape;
  return shape_is_array(shape) && shape->rank == 1 && shape_element_count(shape) > 0;
}

/* JAX's product of a matrix of sparse rows (elements, starts, columns) with a dense vector or matrix. */
static HloInstruction *expand_sparse_product(GraphBuilder *builder) {
  const HloInstruction *call = builder->origin;
  const Shape *shape = call->shape;
  if (call->operand_count != 4 || !shape_is_array(shape) || shape_element_count(shape) == 0) return NULL;
  for (int i = 0; i < 3; i++) {
    if (!is_list(call->operands[i])) return NULL;
  }
  const Shape *dense = call->operands[3]->shape;
  if (!shape_is_array(dense) || (dense->rank != 1 && dense->rank != 2) || dense->rank != shape->rank ||
      shape_element_count(dense) == 0 || call->operands[1]->shape->dims[0] != shape->dims[0] + 1 ||
      dense->type != call->operands[0]->shape->type || dense->type != shape->type)
    return NULL;
  SparseRows rows = {
      .elements = graph_operand(builder, 0), .columns = graph_operand(builder, 2), .starts = graph_operand(builder, 1)};
  const int64_t dims[] = {dense->dims[0], dense->rank == 2 ? dense->dims[1] : 1};
  HloInstruction *columns = graph_reshape(builder, graph_operand(builder, 3), dims, 2);
  return graph_reshape(builder, multiply_sparse(builder, &rows, columns), shape->dims, shape->rank);
}

/* --- what XLA's own builder calls: TensorFlow, PyTorch/XLA --- */

/* (r above the vectors, taus) of each matrix. */
static HloInstruction *expand_qr(GraphBuilder *builder) {
  const HloInstruction *call = builder->origin;
  const Shape *shape = call->shape;
  if (call->operand_count != 1 || !is_expandable(call->operands[0]->shape) || !shape_is_tuple(shape) ||
      shape->tuple_size != 2 || !shape_compatible(shape->tuple[0], call->operands[0]->shape))
    return NULL;
  HloInstruction *taus, *a = factorise_qr(builder, as_matrices(builder, graph_operand(builder, 0)), &taus);
  if (shape_element_count(shape->tuple[1]) != shape_element_count(taus->shape)) return NULL;
  HloInstruction *results[] = {of_matrices(builder, a, shape->tuple[0]), of_matrices(builder, taus, shape->tuple[1])};
  return graph_tuple(builder, results, 2);
}

static HloInstruction *expand_reflectors(GraphBuilder *builder) {
  const HloInstruction *call = builder->origin;
  if (call->operand_count != 2 || !is_expandable(call->operands[0]->shape) ||
      !shape_compatible(call->shape, call->operands[0]->shape))
    return NULL;
  const Shape *shape = call->operands[1]->shape; /* [batch…, count] */
  if (!shape_is_array(shape) || shape->rank != call->shape->rank - 1 || shape_element_count(shape) == 0) return NULL;
  HloInstruction *vectors = as_matrices(builder, graph_operand(builder, 0)), *taus = graph_operand(builder, 1);
  const int64_t dims[] = {vectors->shape->dims[0], 1, shape->dims[shape->rank - 1]};
  taus = graph_convert(builder, graph_reshape(builder, taus, dims, 3), vectors->shape->type);
  return of_matrices(builder, multiply_reflectors(builder, vectors, taus), call->shape);
}

/* XLA's builder says "lower,sorted,sweeps,tolerance". */
static bool read_eigen_rule(const HloInstruction *call, EigenRule *out_rule) {
  const HloAttr *config = hlo_instruction_attr(call, HLO_ATTR_BACKEND_CONFIG);
  if (config == NULL || config->value.text.size > 100) return false;
  char text[101] = {0}, end;
  memcpy(text, config->value.text.data, config->value.text.size);
  int is_lower, is_sorted, sweeps;
  if (sscanf(text, "%d,%d,%d,%lf%c", &is_lower, &is_sorted, &sweeps, &out_rule->tolerance, &end) != 4) return false;
  out_rule->is_lower = is_lower != 0;
  out_rule->is_sorted = is_sorted != 0;
  out_rule->sweeps = sweeps;
  return sweeps >= 0 && out_rule->tolerance >= 0;
}

/* (vectors, values) of each Hermitian matrix. */
static HloInstruction *expand_eigh(GraphBuilder *builder) {
  const HloInstruction *call = builder->origin;
  const Shape *shape = call->shape;
  EigenRule rule;
  if (call->operand_count != 1 || !is_expandable(call->operands[0]->shape) || !shape_is_tuple(shape) ||
      shape->tuple_size != 2 || !shape_compatible(shape->tuple[0], call->operands[0]->shape) ||
      !read_eigen_rule(call, &rule))
    return NULL;
  const Shape *a = call->operands[0]->shape;
  if (a->dims[a->rank - 1] != a->dims[a->rank - 2] || !shape_is_array(shape->tuple[1]) ||
      shape_element_count(shape->tuple[1]) != shape_element_count(a) / a->dims[a->rank - 1])
    return NULL;
  HloInstruction *values,
      *vectors = find_eigenvectors(builder, as_matrices(builder, graph_operand(builder, 0)), &rule, &values);
  HloInstruction *results[] = {of_matrices(builder, vectors, shape->tuple[0]),
                               of_matrices(builder, values, shape->tuple[1])};
  return graph_tuple(builder, results, 2);
}

static HloInstruction *expand_custom_call(GraphBuilder *builder) {
  StringView target = custom_call_target(builder->origin);
  if (custom_call_is_lapack(target, SV("potrf"))) return expand_potrf(builder);
  if (custom_call_is_lapack(target, SV("trsm"))) return expand_trsm(builder);
  if (sv_equal_cstring(target, "cpu_csr_sparse_dense_ffi")) return expand_sparse_product(builder);
  if (sv_equal_cstring(target, "Qr")) return expand_qr(builder);
  if (sv_equal_cstring(target, "Eigh")) return expand_eigh(builder);
  if (sv_equal_cstring(target, "ProductOfElementaryHouseholderReflectors")) return expand_reflectors(builder);
  return NULL;
}

static const GraphRuleRow rules[] = {
    {HLO_CHOLESKY, expand_cholesky},
    {HLO_CUSTOM_CALL, expand_custom_call},
    {HLO_TRIANGULAR_SOLVE, expand_triangular_solve},
};

static Status run_linear_algebra_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  return graph_apply_rules(context, module, rules, sizeof rules / sizeof *rules, out_changed);
}

const HloPass hlo_linear_algebra_expander_pass = {
    "linear-algebra-expander", "spell factorisation and substitution as loops over rows and dots between blocks",
    run_linear_algebra_expander, false};
