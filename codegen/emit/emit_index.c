#include "codegen/emit/emit_internal.h"

static LLVMTypeRef int_type(const KernelEmitter *emitter, int bits) {
  return LLVMIntTypeInContext(emitter->vec->context, (unsigned)bits);
}

static LLVMValueRef int_constant(const KernelEmitter *emitter, int bits, int64_t value) {
  return LLVMConstInt(int_type(emitter, bits), (unsigned long long)value, true);
}

static const IndexAtom *atom_at(const KernelEmitter *emitter, int32_t atom) {
  return &emitter->kernel->space.atoms.data[atom];
}

static bool varies(const KernelEmitter *emitter, IndexExpr expr);

static bool atom_varies(const KernelEmitter *emitter, const IndexAtom *atom) {
  if (emitter->lanes == 1) return false;
  switch (atom->kind) {
    case INDEX_ATOM_DIM: return atom->number == emitter->vector_dim;
    case INDEX_ATOM_VALUE: return emit_is_vector(emitter, atom->number);
    default: return varies(emitter, atom->inner);
  }
}

static bool varies(const KernelEmitter *emitter, IndexExpr expr) {
  for (int i = 0; i < expr.term_count; i++) {
    if (atom_varies(emitter, atom_at(emitter, expr.terms[i].atom))) return true;
  }
  return false;
}

AccessKind emit_access_kind(const KernelEmitter *emitter, IndexExpr expr) {
  AccessKind kind = ACCESS_UNIFORM;
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = atom_at(emitter, expr.terms[i].atom);
    if (!atom_varies(emitter, atom)) continue;
    if (atom->kind != INDEX_ATOM_DIM || expr.terms[i].coefficient != 1) return ACCESS_SCATTERED;
    kind = ACCESS_CONTIGUOUS;
  }
  return kind;
}

bool emit_plain_stride(const Kernel *kernel, IndexExpr expr, int dim, int64_t *out_stride) {
  if (index_depends_nonlinearly(&kernel->space, expr, dim)) return false;
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &kernel->space.atoms.data[expr.terms[i].atom];
    if (atom->kind == INDEX_ATOM_VALUE && (kernel->values[atom->number].dims >> dim & 1) != 0) return false;
  }
  *out_stride = index_dim_coefficient(&kernel->space, expr, dim);
  return true;
}

/* base + coefficient × atom; positions that a predicate excludes may be negative, so nothing here promises not to wrap.
 */
static LLVMValueRef add_scaled(KernelEmitter *emitter, LLVMValueRef sum, LLVMValueRef atom, LLVMValueRef coefficient) {
  LLVMBuilderRef builder = emitter->vec->builder;
  LLVMValueRef term = LLVMBuildMul(builder, atom, coefficient, "");
  return LLVMBuildAdd(builder, sum, term, "");
}

static LLVMValueRef atom_scalar(KernelEmitter *emitter, const IndexAtom *atom) {
  LLVMBuilderRef builder = emitter->vec->builder;
  switch (atom->kind) {
    case INDEX_ATOM_DIM: return emitter->dims[atom->number];
    case INDEX_ATOM_VALUE: return emit_value(emitter, atom->number);
    case INDEX_ATOM_DIV:
      return LLVMBuildSDiv(builder, emit_index(emitter, atom->inner), int_constant(emitter, 64, atom->divisor), "");
    case INDEX_ATOM_MOD:
      return LLVMBuildSRem(builder, emit_index(emitter, atom->inner), int_constant(emitter, 64, atom->divisor), "");
  }
  XLAC_BUG("unknown index atom");
}

static LLVMValueRef sum_scalar_terms(KernelEmitter *emitter, IndexExpr expr) {
  LLVMValueRef sum = int_constant(emitter, 64, expr.constant);
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = atom_at(emitter, expr.terms[i].atom);
    bool is_vector_dim = atom->kind == INDEX_ATOM_DIM && atom->number == emitter->vector_dim;
    if (atom_varies(emitter, atom) && !is_vector_dim) continue;
    sum = add_scaled(emitter, sum, atom_scalar(emitter, atom), int_constant(emitter, 64, expr.terms[i].coefficient));
  }
  return sum;
}

LLVMValueRef emit_index(KernelEmitter *emitter, IndexExpr expr) {
  return sum_scalar_terms(emitter, expr);
}

static LLVMValueRef atom_lanes(KernelEmitter *emitter, const IndexAtom *atom, int bits) {
  const VecBuilder *vec = emitter->vec;
  if (atom->kind == INDEX_ATOM_VALUE) {
    LLVMValueRef value = emit_value_lanes(emitter, atom->number);
    if (bits == 64) return value;
    return LLVMBuildTrunc(vec->builder, value, LLVMVectorType(int_type(emitter, bits), (unsigned)emitter->lanes), "");
  }
  LLVMValueRef inner = emit_index_lanes(emitter, atom->inner, bits);
  LLVMValueRef divisor = vec_splat(vec, int_constant(emitter, bits, atom->divisor), emitter->lanes);
  return atom->kind == INDEX_ATOM_DIV ? LLVMBuildSDiv(vec->builder, inner, divisor, "")
                                      : LLVMBuildSRem(vec->builder, inner, divisor, "");
}

LLVMValueRef emit_index_lanes(KernelEmitter *emitter, IndexExpr expr, int bits) {
  const VecBuilder *vec = emitter->vec;
  LLVMValueRef first = sum_scalar_terms(emitter, expr);
  if (bits != 64) first = LLVMBuildTrunc(vec->builder, first, int_type(emitter, bits), "");
  LLVMValueRef sum = vec_splat(vec, first, emitter->lanes);
  if (emitter->lanes == 1) return sum;
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = atom_at(emitter, expr.terms[i].atom);
    if (!atom_varies(emitter, atom)) continue;
    int64_t coefficient = expr.terms[i].coefficient;
    if (atom->kind == INDEX_ATOM_DIM) {
      sum = LLVMBuildAdd(vec->builder, sum, vec_lane_indices(vec, bits, coefficient, emitter->lanes), "");
    } else {
      LLVMValueRef factor = vec_splat(vec, int_constant(emitter, bits, coefficient), emitter->lanes);
      sum = add_scaled(emitter, sum, atom_lanes(emitter, atom, bits), factor);
    }
  }
  return sum;
}
