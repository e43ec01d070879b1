#include "base/checked_math.h"
#include "codegen/point/kernel_point.h"

/* Addresses of a Kernel at a point: whether they are uniform, contiguous or scattered over the lanes, and their
 * code. */

static LLVMTypeRef int_type(const KernelPoint *point, int bits) {
  return LLVMIntTypeInContext(point->vec->context, (unsigned)bits);
}

static LLVMValueRef int_constant(const KernelPoint *point, int bits, int64_t value) {
  return LLVMConstInt(int_type(point, bits), (unsigned long long)value, true);
}

static const IndexAtom *atom_at(const KernelPoint *point, int32_t atom) {
  return &point->kernel->space.atoms.data[atom];
}

static bool varies(const KernelPoint *point, IndexExpr expr);

static bool atom_varies(const KernelPoint *point, const IndexAtom *atom) {
  if (point->lanes == 1) return false;
  switch (atom->kind) {
    case INDEX_ATOM_DIM: return atom->number == point->vector_dim;
    case INDEX_ATOM_VALUE: return point_is_vector(point, atom->number);
    default: return varies(point, atom->inner);
  }
}

static bool varies(const KernelPoint *point, IndexExpr expr) {
  for (int i = 0; i < expr.term_count; i++) {
    if (atom_varies(point, atom_at(point, expr.terms[i].atom))) return true;
  }
  return false;
}

AccessKind point_access_kind(const KernelPoint *point, IndexExpr expr) {
  AccessKind kind = ACCESS_UNIFORM;
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = atom_at(point, expr.terms[i].atom);
    if (!atom_varies(point, atom)) continue;
    if (atom->kind != INDEX_ATOM_DIM || expr.terms[i].coefficient != 1) return ACCESS_SCATTERED;
    kind = ACCESS_CONTIGUOUS;
  }
  return kind;
}

/* Values of |expr| that differ along |dim|, also inside of divisions and remainders. */
static bool has_value_along(const Kernel *kernel, IndexExpr expr, int dim) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &kernel->space.atoms.data[expr.terms[i].atom];
    bool is_nested = atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD;
    if (atom->kind == INDEX_ATOM_VALUE && (kernel->values[atom->number].dims >> dim & 1) != 0) return true;
    if (is_nested && has_value_along(kernel, atom->inner, dim)) return true;
  }
  return false;
}

bool kernel_plain_stride(const Kernel *kernel, IndexExpr expr, int dim, int64_t *out_stride) {
  if (index_depends_nonlinearly(&kernel->space, expr, dim) || has_value_along(kernel, expr, dim)) return false;
  *out_stride = index_dim_coefficient(&kernel->space, expr, dim);
  return true;
}

KernelTest kernel_range_test(const Kernel *kernel, const KernelValue *value, KernelDimRange range) {
  bool has_dim = false;
  int64_t least = value->address.constant, most = least;
  if (value->kind != KERNEL_IN_RANGE || range.begin == range.end) return KERNEL_TEST_OPEN;
  for (int i = 0; i < value->address.term_count; i++) {
    const IndexTerm *term = &value->address.terms[i];
    const IndexAtom *atom = &kernel->space.atoms.data[term->atom];
    if (atom->kind != INDEX_ATOM_DIM) return KERNEL_TEST_OPEN;
    bool is_dim = atom->number == range.dim;
    int64_t first = is_dim ? range.begin : 0, last = is_dim ? range.end - 1 : kernel->dims[atom->number].extent - 1;
    least += min_i64(first * term->coefficient, last * term->coefficient);
    most += max_i64(first * term->coefficient, last * term->coefficient);
    has_dim |= is_dim;
  }
  if (!has_dim) return KERNEL_TEST_OPEN;
  if (value->lower <= least && most < value->upper) return KERNEL_TEST_TRUE;
  return most < value->lower || least >= value->upper ? KERNEL_TEST_FALSE : KERNEL_TEST_OPEN;
}

int kernel_stores_in_turn(const Kernel *kernel, int stage, int number, int dim) {
  const KernelStore *first = &kernel->stages[stage].stores[number];
  int64_t stride;
  if (!kernel_plain_stride(kernel, first->address, dim, &stride)) return 1;
  if (stride < 2 || stride > VEC_MAX_INTERLEAVED) return 1;
  if (number + stride > kernel->stages[stage].store_count) return 1;
  IndexExpr next = first->address;
  for (int i = 1; i < stride; i++) {
    next.constant++;
    if (first[i].buffer != first->buffer || first[i].predicate != first->predicate) return 1;
    if (!index_equal(next, first[i].address)) return 1;
  }
  return (int)stride;
}

/* base + coefficient × atom; positions that a predicate excludes may be negative, so nothing here promises not to wrap.
 */
static LLVMValueRef add_scaled(KernelPoint *point, LLVMValueRef sum, LLVMValueRef atom, LLVMValueRef coefficient) {
  LLVMBuilderRef builder = point->vec->builder;
  LLVMValueRef term = LLVMBuildMul(builder, atom, coefficient, "");
  return LLVMBuildAdd(builder, sum, term, "");
}

static LLVMValueRef atom_scalar(KernelPoint *point, const IndexAtom *atom) {
  LLVMBuilderRef builder = point->vec->builder;
  switch (atom->kind) {
    case INDEX_ATOM_DIM: return point->dims[atom->number];
    case INDEX_ATOM_VALUE: return point_value(point, atom->number);
    case INDEX_ATOM_DIV:
      return LLVMBuildSDiv(builder, point_index(point, atom->inner), int_constant(point, 64, atom->divisor), "");
    case INDEX_ATOM_MOD:
      return LLVMBuildSRem(builder, point_index(point, atom->inner), int_constant(point, 64, atom->divisor), "");
  }
  XLAC_BUG("unknown index atom");
}

/* |left_out|: a dim whose plain term is not counted, -1 for none. */
static LLVMValueRef sum_scalar_terms(KernelPoint *point, IndexExpr expr, int left_out) {
  LLVMValueRef sum = int_constant(point, 64, expr.constant);
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = atom_at(point, expr.terms[i].atom);
    bool is_vector_dim = atom->kind == INDEX_ATOM_DIM && atom->number == point->vector_dim;
    if (atom_varies(point, atom) && !is_vector_dim) continue;
    if (atom->kind == INDEX_ATOM_DIM && atom->number == left_out) continue;
    LLVMBuilderRef builder = point->vec->builder;
    LLVMValueRef term = ir_index_multiply(builder, atom_scalar(point, atom), expr.terms[i].coefficient);
    sum = ir_index_add(builder, sum, term);
  }
  return sum;
}

LLVMValueRef point_index(KernelPoint *point, IndexExpr expr) {
  return sum_scalar_terms(point, expr, -1);
}

LLVMValueRef point_index_without(KernelPoint *point, IndexExpr expr, int dim) {
  return sum_scalar_terms(point, expr, dim);
}

LLVMValueRef point_element(KernelPoint *point, int32_t buffer, LLVMValueRef index) {
  LLVMTypeRef element = vec_memory_type(point->vec, point->kernel->buffers[buffer].type, 1);
  return LLVMBuildGEP2(point->vec->builder, element, point->buffers[buffer], &index, 1, "");
}

static LLVMValueRef atom_lanes(KernelPoint *point, const IndexAtom *atom, int bits) {
  const VecBuilder *vec = point->vec;
  if (atom->kind == INDEX_ATOM_VALUE) {
    LLVMValueRef value = point_value_lanes(point, atom->number);
    if (bits == 64) return value;
    return LLVMBuildTrunc(vec->builder, value, LLVMVectorType(int_type(point, bits), (unsigned)point->lanes), "");
  }
  LLVMValueRef digits = point_digit_lanes(point, atom, bits);
  if (digits != NULL) return digits;
  LLVMValueRef inner = point_index_lanes(point, atom->inner, bits);
  LLVMValueRef divisor = vec_splat(vec, int_constant(point, bits, atom->divisor), point->lanes);
  return atom->kind == INDEX_ATOM_DIV ? LLVMBuildSDiv(vec->builder, inner, divisor, "")
                                      : LLVMBuildSRem(vec->builder, inner, divisor, "");
}

LLVMValueRef point_index_lanes(KernelPoint *point, IndexExpr expr, int bits) {
  const VecBuilder *vec = point->vec;
  LLVMValueRef first = point_index(point, expr);
  if (bits != 64) first = LLVMBuildTrunc(vec->builder, first, int_type(point, bits), "");
  LLVMValueRef sum = vec_splat(vec, first, point->lanes);
  if (point->lanes == 1) return sum;
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = atom_at(point, expr.terms[i].atom);
    if (!atom_varies(point, atom)) continue;
    int64_t coefficient = expr.terms[i].coefficient;
    if (atom->kind == INDEX_ATOM_DIM) {
      sum = LLVMBuildAdd(vec->builder, sum, vec_lane_indices(vec, bits, coefficient, point->lanes), "");
    } else {
      LLVMValueRef factor = vec_splat(vec, int_constant(point, bits, coefficient), point->lanes);
      sum = add_scaled(point, sum, atom_lanes(point, atom, bits), factor);
    }
  }
  return sum;
}
