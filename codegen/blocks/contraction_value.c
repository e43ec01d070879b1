/* Values of a Kernel at one point or in lanes along one dim. */
#include "codegen/blocks/contraction_internal.h"
#include "codegen/kernel/emit_family.h"

static LLVMTypeRef int_type(const ElementPoint *point, int bits) {
  return LLVMIntTypeInContext(point->vec->context, (unsigned)bits);
}

static LLVMValueRef int_constant(const ElementPoint *point, int bits, int64_t value) {
  return LLVMConstInt(int_type(point, bits), (unsigned long long)value, true);
}

static const IndexAtom *atom_at(const ElementPoint *point, int32_t atom) {
  return &point->kernel->space.atoms.data[atom];
}

static bool varies(const ElementPoint *point, int32_t value) {
  return point->lanes > 1 && (point->kernel->values[value].dims >> point->vector_dim & 1) != 0;
}

/* --- indices --- */

static LLVMValueRef index_scalar(ElementPoint *point, IndexExpr expr);

static LLVMValueRef atom_scalar(ElementPoint *point, const IndexAtom *atom) {
  LLVMBuilderRef builder = point->vec->builder;
  switch (atom->kind) {
    case INDEX_ATOM_DIM: return point->dims[atom->number];
    case INDEX_ATOM_VALUE: return point_value(point, atom->number);
    case INDEX_ATOM_DIV:
      return LLVMBuildSDiv(builder, index_scalar(point, atom->inner), int_constant(point, 64, atom->divisor), "");
    case INDEX_ATOM_MOD:
      return LLVMBuildSRem(builder, index_scalar(point, atom->inner), int_constant(point, 64, atom->divisor), "");
  }
  XLAC_BUG("unknown index atom");
}

/* |skipped_dim|: its plain term is left out; -1 for none.  Excluded positions may be negative: nothing promises not to
 * wrap. */
static LLVMValueRef index_partial(ElementPoint *point, IndexExpr expr, int skipped_dim) {
  LLVMValueRef sum = int_constant(point, 64, expr.constant);
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = atom_at(point, expr.terms[i].atom);
    if (atom->kind == INDEX_ATOM_DIM && atom->number == skipped_dim) continue;
    sum = block_add(point->vec, sum, block_multiply(point->vec, atom_scalar(point, atom), expr.terms[i].coefficient));
  }
  return sum;
}

static LLVMValueRef index_scalar(ElementPoint *point, IndexExpr expr) {
  return index_partial(point, expr, -1);
}

static int index_bits(const ElementPoint *point, IndexExpr expr) {
  int64_t lower, upper;
  index_range(&point->kernel->space, expr, &lower, &upper);
  for (int i = 0; i < expr.term_count; i++) {
    if (atom_at(point, expr.terms[i].atom)->kind == INDEX_ATOM_VALUE) return 64;
  }
  return lower > INT32_MIN / 2 && upper < INT32_MAX / 2 ? 32 : 64;
}

/* Only plain terms of the vector dim vary: contraction_lanes saw to it. */
static LLVMValueRef index_lanes(ElementPoint *point, IndexExpr expr, int bits) {
  LLVMBuilderRef builder = point->vec->builder;
  LLVMValueRef first = index_scalar(point, expr);
  if (bits != 64) first = LLVMBuildTrunc(builder, first, int_type(point, bits), "");
  LLVMValueRef sum = vec_splat(point->vec, first, point->lanes);
  int64_t coefficient = index_dim_coefficient(&point->kernel->space, expr, point->vector_dim);
  if (point->lanes == 1 || coefficient == 0) return sum;
  return LLVMBuildAdd(builder, sum, vec_lane_indices(point->vec, bits, coefficient, point->lanes), "");
}

/* --- values --- */

static LLVMValueRef load_index(ElementPoint *point, int32_t value) {
  const KernelValue *info = &point->kernel->values[value];
  if (point->bases[value] == NULL) return index_scalar(point, info->address);
  int64_t coefficient = index_dim_coefficient(&point->kernel->space, info->address, point->vector_dim);
  return block_add(point->vec, point->bases[value],
                   block_multiply(point->vec, point->dims[point->vector_dim], coefficient));
}

/* Where a predicate that is the same in all lanes is false, the buffer's beginning is read, which always exists, and
 * dropped. */
static LLVMValueRef load_guarded(ElementPoint *point, int32_t value, int lanes, LLVMValueRef mask) {
  const KernelValue *info = &point->kernel->values[value];
  LLVMBuilderRef builder = point->vec->builder;
  LLVMValueRef index = load_index(point, value), predicate = NULL;
  if (info->predicate >= 0) {
    predicate = point_value(point, info->predicate);
    index = LLVMBuildSelect(builder, predicate, index, int_constant(point, 64, 0), "");
  }
  LLVMValueRef pointer = block_element(point->vec, info->type, point->buffers[info->buffer], index);
  LLVMValueRef loaded = vec_load(point->vec, info->type, pointer, lanes > 1 ? mask : NULL, lanes);
  if (predicate == NULL) return loaded;
  return LLVMBuildSelect(builder, predicate, loaded, LLVMConstNull(LLVMTypeOf(loaded)), "");
}

static LLVMValueRef load(ElementPoint *point, int32_t value, int lanes) {
  const KernelValue *info = &point->kernel->values[value];
  const VecBuilder *vec = point->vec;
  if (lanes == 1) return load_guarded(point, value, 1, NULL);
  int64_t coefficient = index_dim_coefficient(&point->kernel->space, info->address, point->vector_dim);
  bool predicate_varies = info->predicate >= 0 && varies(point, info->predicate);
  if (coefficient == 1 && !predicate_varies) return load_guarded(point, value, lanes, point->mask);
  LLVMValueRef mask = point->mask;
  if (info->predicate >= 0) {
    LLVMValueRef predicate = point_value_lanes(point, info->predicate);
    mask = mask == NULL ? predicate : LLVMBuildAnd(vec->builder, mask, predicate, "");
  }
  LLVMValueRef pointer = point_load_pointer(point, value);
  if (coefficient == 1) return vec_load(vec, info->type, pointer, mask, lanes);
  return vec_gather(vec, info->type, pointer, vec_lane_indices(vec, 64, coefficient, lanes), mask, lanes);
}

LLVMValueRef point_load_pointer(ElementPoint *point, int32_t value) {
  const KernelValue *info = &point->kernel->values[value];
  return block_element(point->vec, info->type, point->buffers[info->buffer], load_index(point, value));
}

static LLVMValueRef index_as_type(ElementPoint *point, const KernelValue *value, int lanes) {
  LLVMBuilderRef builder = point->vec->builder;
  int width = type_storage_bytes(value->type) * 8;
  LLVMValueRef index = lanes > 1 ? index_lanes(point, value->address, 64) : index_scalar(point, value->address);
  LLVMTypeRef type = vec_type(point->vec, value->type, lanes);
  return width < 64 ? LLVMBuildTrunc(builder, index, type, "") : index;
}

static LLVMValueRef index_test(ElementPoint *point, const KernelValue *value, int lanes) {
  LLVMBuilderRef builder = point->vec->builder;
  int bits = lanes > 1 ? index_bits(point, value->address) : 64;
  LLVMValueRef index = lanes > 1 ? index_lanes(point, value->address, bits) : index_scalar(point, value->address);
  if (value->kind == KERNEL_DIVISIBLE) {
    LLVMValueRef rest =
        LLVMBuildSRem(builder, index, vec_splat(point->vec, int_constant(point, bits, value->upper), lanes), "");
    return LLVMBuildICmp(builder, LLVMIntEQ, rest, LLVMConstNull(LLVMTypeOf(rest)), "");
  }
  LLVMValueRef lower = vec_splat(point->vec, int_constant(point, bits, value->lower), lanes);
  LLVMValueRef count = vec_splat(point->vec, int_constant(point, bits, value->upper - value->lower), lanes);
  return LLVMBuildICmp(builder, LLVMIntULT, LLVMBuildSub(builder, index, lower, ""), count, "");
}

static LLVMValueRef apply(ElementPoint *point, const KernelValue *value, int lanes) {
  LLVMValueRef operands[KERNEL_MAX_OPERANDS];
  for (int i = 0; i < value->operand_count; i++) {
    operands[i] = lanes > 1 ? point_value_lanes(point, value->operands[i]) : point_value(point, value->operands[i]);
  }
  int typed = emit_typed_operand(value->opcode);
  VecOp op = {value->opcode,
              value->type,
              point->kernel->values[value->operands[typed]].type,
              {value->params[0], value->params[1]}};
  return vec_apply(point->vec, &op, operands, lanes);
}

/* The accumulator is in lanes wherever there are some, and so is what is computed from it, its dims including all
 * columns. */
static LLVMValueRef compute(ElementPoint *point, int32_t value) {
  const KernelValue *info = &point->kernel->values[value];
  int lanes = varies(point, value) ? point->lanes : 1;
  switch (info->kind) {
    case KERNEL_LOAD: return load(point, value, lanes);
    case KERNEL_CONSTANT: return vec_constant(point->vec, info->type, info->bits[0], 1);
    case KERNEL_INDEX: return index_as_type(point, info, lanes);
    case KERNEL_IN_RANGE:
    case KERNEL_DIVISIBLE: return index_test(point, info, lanes);
    case KERNEL_APPLY: return apply(point, info, lanes);
    case KERNEL_ACCUMULATOR: return point->accumulator;
  }
  XLAC_BUG("unknown kind of Kernel value");
}

LLVMValueRef point_value(ElementPoint *point, int32_t value) {
  if (point->values[value] == NULL) {
    point->values[value] = compute(point, value);
    point->computed[point->computed_count++] = value;
  }
  return point->values[value];
}

LLVMValueRef point_value_lanes(ElementPoint *point, int32_t value) {
  LLVMValueRef computed = point_value(point, value);
  bool is_vector = LLVMGetTypeKind(LLVMTypeOf(computed)) == LLVMVectorTypeKind;
  return is_vector ? computed : vec_splat(point->vec, computed, point->lanes);
}

void point_store(ElementPoint *point, const KernelStore *store, LLVMValueRef value) {
  PrimitiveType type = point->kernel->buffers[store->buffer].type;
  LLVMValueRef pointer =
      block_element(point->vec, type, point->buffers[store->buffer], index_scalar(point, store->address));
  vec_store(point->vec, type, value, pointer, point->mask, point->lanes);
}

void point_forget(ElementPoint *point, int height) {
  while (point->computed_count > height) {
    int32_t value = point->computed[--point->computed_count];
    if (value < 0) {
      point->bases[-1 - value] = NULL;
    } else {
      point->values[value] = NULL;
    }
  }
}

static bool address_needs(const ElementPoint *point, IndexExpr expr, uint64_t later) {
  const IndexSpace *space = &point->kernel->space;
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = atom_at(point, expr.terms[i].atom);
    if (atom->kind == INDEX_ATOM_VALUE && (point->kernel->values[atom->number].dims & later) != 0) return true;
  }
  for (int d = 0; d < point->kernel->dim_count; d++) {
    if ((later >> d & 1) == 0) continue;
    if (index_depends_nonlinearly(space, expr, d)) return true;
    if (d != point->vector_dim && index_dim_coefficient(space, expr, d) != 0) return true;
  }
  return false;
}

void point_hoist(ElementPoint *point, const ValueSet *set, uint64_t later) {
  const Kernel *kernel = point->kernel;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (!set->has[v] || value->kind == KERNEL_CONSTANT || value->kind == KERNEL_ACCUMULATOR) continue;
    if ((value->dims & later) == 0) {
      point_value(point, v);
    } else if (value->kind == KERNEL_LOAD && point->bases[v] == NULL && !address_needs(point, value->address, later)) {
      point->bases[v] = index_partial(point, value->address, point->vector_dim);
      point->computed[point->computed_count++] = -1 - v;
    }
  }
}

/* --- what can be done in lanes --- */

static bool index_allows_lanes(const Kernel *kernel, IndexExpr expr, int dim) {
  if (index_depends_nonlinearly(&kernel->space, expr, dim)) return false;
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &kernel->space.atoms.data[expr.terms[i].atom];
    if (atom->kind == INDEX_ATOM_VALUE && (kernel->values[atom->number].dims >> dim & 1) != 0) return false;
  }
  return true;
}

static bool mask_is_cheap(const VecTarget *target, PrimitiveType type, bool gathers) {
  if (target->has_masks) return true;
  return target->has_masks_32 && !gathers && type_storage_bytes(type) >= 4;
}

int contraction_lanes(const Kernel *kernel, const VecTarget *target, const ValueSet *set, int dim, int lanes,
                      bool masked) {
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (!set->has[v] || value->kind == KERNEL_CONSTANT || value->kind == KERNEL_APPLY) continue;
    if (!index_allows_lanes(kernel, value->address, dim)) return 1;
    if (value->kind != KERNEL_LOAD || (value->dims >> dim & 1) == 0) continue;
    bool is_guarded = value->predicate >= 0,
         lanes_differ = is_guarded && (kernel->values[value->predicate].dims >> dim & 1) != 0;
    bool gathers = index_dim_coefficient(&kernel->space, value->address, dim) != 1;
    if ((masked || lanes_differ) && !mask_is_cheap(target, value->type, gathers)) return 1;
    if (is_guarded && kernel->buffers[value->buffer].element_count < lanes) return 1;
  }
  return lanes;
}

bool contraction_contiguous(const Kernel *kernel, const ValueSet *set, int dim) {
  bool found = false;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (!set->has[v] || value->kind != KERNEL_LOAD || (value->dims >> dim & 1) == 0) continue;
    if (!index_allows_lanes(kernel, value->address, dim)) return false;
    if (index_dim_coefficient(&kernel->space, value->address, dim) != 1) return false;
    found = true;
  }
  return found;
}
