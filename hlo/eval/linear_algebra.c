/* Factorisation and substitution, in complex double for all types. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "hlo/eval/eval_internal.h"
#include "hlo/ir/custom_call.h"

typedef double complex Z;

static Z load(const Literal *literal, int64_t index) {
  double parts[2];
  Z value;
  literal_get_complex(literal, index, &parts[0], &parts[1]);
  memcpy(&value, parts, sizeof value);
  return value;
}

/* ---- cholesky ---- */

/* The lower factor of the n × n matrix |a|, of which the lower triangle is read, into |l|; NaN when it is not positive
 * definite. */
static void factorise(int64_t n, const Z *a, Z *l) {
  for (int64_t j = 0; j < n; j++) {
    double diagonal = creal(a[j * n + j]);
    for (int64_t k = 0; k < j; k++) diagonal -= creal(l[j * n + k] * conj(l[j * n + k]));
    double root = sqrt(diagonal);
    l[j * n + j] = diagonal > 0 ? root : (double)NAN;
    for (int64_t i = j + 1; i < n; i++) {
      Z sum = a[i * n + j];
      for (int64_t k = 0; k < j; k++) sum -= l[i * n + k] * conj(l[j * n + k]);
      l[i * n + j] = sum / creal(l[j * n + j]);
    }
  }
}

/* The lower triangle of the matrix at |base|, or the conjugate of its upper one. */
static void load_lower(const Literal *a, int64_t base, int64_t n, bool is_lower, Z *out) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++)
      out[i * n + j] = is_lower ? load(a, base + i * n + j) : conj(load(a, base + j * n + i));
}

/* a = l l*, or u* u of the upper triangle; the other triangle of the result is zero. */
Status eval_cholesky(EvalStep *step) {
  const Shape *shape = step->instruction->shape;
  const Literal *a = eval_operand(step, 0);
  bool is_lower = hlo_instruction_bool(step->instruction, HLO_ATTR_LOWER, false);
  Literal *out = eval_result(step);
  if (shape_element_count(shape) == 0) return STATUS_OK;
  int64_t n = shape->dims[shape->rank - 1], batches = shape_element_count(shape) / (n * n);
  Arena *arena = arena_create();
  Z *matrix = ARENA_NEW_ARRAY(arena, Z, n * n), *factor = ARENA_NEW_ARRAY(arena, Z, n * n);
  for (int64_t batch = 0; batch < batches; batch++) {
    int64_t base = batch * n * n;
    load_lower(a, base, n, is_lower, matrix);
    factorise(n, matrix, factor);
    for (int64_t i = 0; i < n; i++) {
      for (int64_t j = 0; j < n; j++) {
        Z value = is_lower ? factor[i * n + j] : conj(factor[j * n + i]);
        bool is_kept = is_lower ? j <= i : j >= i;
        literal_set_complex(out, base + i * n + j, is_kept ? creal(value) : 0, is_kept ? cimag(value) : 0);
      }
    }
  }
  arena_destroy(arena);
  return STATUS_OK;
}

/* LAPACK's potrf as JAX calls it: (factor, info) of each matrix; the other triangle stays, info is the order of the
 * first minor that is not positive. */
Status eval_lapack_potrf(EvalStep *step) {
  const Shape *shape = eval_operand_shape(step, 0);
  bool is_lower = custom_call_integer(step->instruction, SV("uplo"), 'L') == 'L';
  Literal *out = eval_result(step);
  if (shape_element_count(shape) == 0) return STATUS_OK;
  int64_t n = shape->dims[shape->rank - 1], batches = shape_element_count(shape) / (n * n);
  Arena *arena = arena_create();
  Z *matrix = ARENA_NEW_ARRAY(arena, Z, n * n), *factor = ARENA_NEW_ARRAY(arena, Z, n * n);
  eval_copy_leaves(&out->tuple[0], eval_operand(step, 0));
  for (int64_t batch = 0; batch < batches; batch++) {
    int64_t base = batch * n * n, info = 0;
    load_lower(eval_operand(step, 0), base, n, is_lower, matrix);
    factorise(n, matrix, factor);
    for (int64_t i = n - 1; i >= 0; i--)
      if (isnan(creal(factor[i * n + i]))) info = i + 1;
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j <= i; j++) {
        Z value = is_lower ? factor[i * n + j] : conj(factor[i * n + j]);
        literal_set_complex(&out->tuple[0], base + (is_lower ? i * n + j : j * n + i), creal(value), cimag(value));
      }
    literal_set_int(&out->tuple[1], batch, info);
  }
  arena_destroy(arena);
  return STATUS_OK;
}

/* ---- triangular-solve ---- */

typedef struct Triangle {
  int64_t n;
  const Z *a;
  bool is_lower, is_unit, is_transposed, is_conjugated;
} Triangle;

/* Element of op(a). */
static Z triangle_at(const Triangle *triangle, int64_t i, int64_t j) {
  Z value = triangle->is_transposed ? triangle->a[j * triangle->n + i] : triangle->a[i * triangle->n + j];
  return triangle->is_conjugated ? conj(value) : value;
}

/* op(a) x = b for one vector, in place, |stride| apart. */
static void substitute(const Triangle *triangle, Z *x, int64_t stride) {
  int64_t n = triangle->n;
  bool is_forward = triangle->is_lower != triangle->is_transposed;
  for (int64_t step = 0; step < n; step++) {
    int64_t i = is_forward ? step : n - 1 - step;
    Z sum = x[i * stride];
    for (int64_t done = 0; done < step; done++) {
      int64_t j = is_forward ? done : n - 1 - done;
      sum -= triangle_at(triangle, i, j) * x[j * stride];
    }
    x[i * stride] = triangle->is_unit ? sum : sum / triangle_at(triangle, i, i);
  }
}

/* op(a) x = b, or x op(a) = b when the triangle stands on the right: then op(a)ᵀ xᵀ = bᵀ. */
Status eval_triangular_solve(EvalStep *step) {
  const HloInstruction *solve = step->instruction;
  const Shape *shape = solve->shape, *matrix = eval_operand_shape(step, 0);
  int64_t transpose = hlo_instruction_int(solve, HLO_ATTR_TRANSPOSE_A, TRIANGULAR_TRANSPOSE_NO_TRANSPOSE);
  bool is_left = hlo_instruction_bool(solve, HLO_ATTR_LEFT_SIDE, false);
  Literal *out = eval_result(step);
  if (shape_element_count(shape) == 0) return STATUS_OK;
  int64_t n = matrix->dims[matrix->rank - 1], rows = shape->dims[shape->rank - 2],
          columns = shape->dims[shape->rank - 1];
  Triangle triangle = {.n = n,
                       .is_lower = hlo_instruction_bool(solve, HLO_ATTR_LOWER, false),
                       .is_unit = hlo_instruction_bool(solve, HLO_ATTR_UNIT_DIAGONAL, false),
                       .is_transposed = (transpose != TRIANGULAR_TRANSPOSE_NO_TRANSPOSE) == is_left,
                       .is_conjugated = transpose == TRIANGULAR_TRANSPOSE_ADJOINT};
  Arena *arena = arena_create();
  Z *a = ARENA_NEW_ARRAY(arena, Z, n * n), *x = ARENA_NEW_ARRAY(arena, Z, rows * columns);
  triangle.a = a;
  int64_t batches = shape_element_count(shape) / (rows * columns);
  for (int64_t batch = 0; batch < batches; batch++) {
    for (int64_t i = 0; i < n * n; i++) a[i] = load(eval_operand(step, 0), batch * n * n + i);
    for (int64_t i = 0; i < rows * columns; i++) x[i] = load(eval_operand(step, 1), batch * rows * columns + i);
    for (int64_t i = 0; i < (is_left ? columns : rows); i++)
      substitute(&triangle, is_left ? x + i : x + i * columns, is_left ? columns : 1);
    for (int64_t i = 0; i < rows * columns; i++)
      literal_set_complex(out, batch * rows * columns + i, creal(x[i]), cimag(x[i]));
  }
  arena_destroy(arena);
  return STATUS_OK;
}
