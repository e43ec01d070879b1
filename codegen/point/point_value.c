#include "base/checked_math.h"
#include "codegen/lower/emit_family.h"
#include "codegen/point/kernel_point.h"

/* Values of a Kernel at a point: each is computed once for as long as the indices it depends on stand still;
 * stores. */

KernelPoint kernel_point(const VecBuilder *vec, const Kernel *kernel, LLVMValueRef function,
                         const LLVMValueRef *buffers, Arena *arena) {
  KernelPoint point = {.vec = vec,
                       .kernel = kernel,
                       .arena = arena,
                       .function = function,
                       .buffers = buffers,
                       .lanes = 1,
                       .assumed = -1};
  point.values = ARENA_NEW_ARRAY(arena, KnownValue, kernel->value_count);
  point.accumulators = ARENA_NEW_ARRAY(arena, LLVMValueRef, kernel->fold_count);
  return point;
}

bool point_is_vector(const KernelPoint *point, int32_t value) {
  if (point->lanes == 1) return false;
  return point->kernel->values[value].dims >> point->vector_dim & 1;
}

/* -1 where it is known to be true. */
static int32_t open_predicate(const KernelPoint *point, int32_t predicate) {
  return predicate == point->assumed ? -1 : predicate;
}

static bool is_all_true(LLVMValueRef condition) {
  return LLVMIsConstant(condition) && condition == LLVMConstAllOnes(LLVMTypeOf(condition));
}

static bool is_all_false(LLVMValueRef condition) {
  return LLVMIsConstant(condition) && LLVMIsNull(condition);
}

/* The lanes in which a guarded access happens: predicate and active lanes; NULL for all. */
static LLVMValueRef access_mask(KernelPoint *point, int32_t predicate) {
  LLVMValueRef mask = point->mask;
  if (open_predicate(point, predicate) < 0) return mask;
  LLVMValueRef lanes = point_value_lanes(point, predicate);
  if (is_all_true(lanes)) return mask;
  return mask == NULL ? lanes : LLVMBuildAnd(point->vec->builder, mask, lanes, "");
}

static LLVMValueRef load_index(KernelPoint *point, int32_t value) {
  const KernelValue *info = &point->kernel->values[value];
  LLVMValueRef base = point->values[value].base;
  if (base == NULL) return point_index(point, info->address);
  int64_t step = index_dim_coefficient(&point->kernel->space, info->address, point->vector_dim);
  if (step == 0) return base;
  LLVMBuilderRef builder = point->vec->builder;
  return ir_index_add(builder, base, ir_index_multiply(builder, point->dims[point->vector_dim], step));
}

LLVMValueRef point_load_pointer(KernelPoint *point, int32_t value) {
  return point_element(point, point->kernel->values[value].buffer, load_index(point, value));
}

/* Where the register of an element is kept, when its index is known; else NULL. */
static LLVMValueRef *element_register(KernelPoint *point, int32_t buffer, LLVMValueRef index) {
  if (point->registers == NULL || point->registers[buffer] == NULL || !LLVMIsAConstantInt(index)) return NULL;
  return &point->registers[buffer][LLVMConstIntGetSExtValue(index)];
}

static LLVMValueRef load_element(KernelPoint *point, int32_t value, LLVMValueRef index, LLVMValueRef mask, int lanes) {
  const KernelValue *info = &point->kernel->values[value];
  LLVMValueRef *kept = lanes == 1 ? element_register(point, info->buffer, index) : NULL;
  if (kept != NULL && *kept != NULL) return *kept;
  return vec_load(point->vec, info->type, point_element(point, info->buffer, index), mask, lanes);
}

/* One element, or contiguous ones under one predicate: where it is false the buffer's first elements are read instead,
 * which exist, and dropped. */
static LLVMValueRef load_together(KernelPoint *point, int32_t value, LLVMValueRef mask, int lanes) {
  const KernelValue *info = &point->kernel->values[value];
  const VecBuilder *vec = point->vec;
  LLVMValueRef index = load_index(point, value);
  if (open_predicate(point, info->predicate) < 0) return load_element(point, value, index, mask, lanes);
  LLVMValueRef predicate = point_value(point, info->predicate);
  if (LLVMIsAConstantInt(predicate)) {
    if (LLVMConstIntGetZExtValue(predicate) != 0) return load_element(point, value, index, mask, lanes);
    return LLVMConstNull(vec_type(vec, info->type, lanes));
  }
  index = LLVMBuildSelect(vec->builder, predicate, index, LLVMConstNull(LLVMTypeOf(index)), "");
  LLVMValueRef loaded = vec_load(vec, info->type, point_element(point, info->buffer, index), mask, lanes);
  return LLVMBuildSelect(vec->builder, predicate, loaded, LLVMConstNull(LLVMTypeOf(loaded)), "");
}

/* All lanes share the predicate, and the buffer has as many elements as they reach over, |stride| apart. */
static bool loads_together(KernelPoint *point, const KernelValue *info, int64_t stride) {
  if (open_predicate(point, info->predicate) < 0) return true;
  point_value(point, info->predicate);
  int64_t reach = (point->lanes - 1) * (stride < 0 ? -stride : stride) + 1;
  return !point->values[info->predicate].is_vector && point->kernel->buffers[info->buffer].element_count >= reach;
}

/* Neighbours at a small stride under one predicate, as load_together. */
static LLVMValueRef load_strided_together(KernelPoint *point, int32_t value, int64_t stride) {
  const KernelValue *info = &point->kernel->values[value];
  const VecBuilder *vec = point->vec;
  LLVMValueRef index = load_index(point, value), predicate = NULL;
  if (open_predicate(point, info->predicate) >= 0) {
    predicate = point_value(point, info->predicate);
    int64_t first = stride < 0 ? (point->lanes - 1) * -stride : 0;
    LLVMValueRef readable = LLVMConstInt(LLVMTypeOf(index), (unsigned long long)first, false);
    index = LLVMBuildSelect(vec->builder, predicate, index, readable, "");
  }
  LLVMValueRef pointer = point_element(point, info->buffer, index);
  LLVMValueRef loaded = vec_load_strided(vec, info->type, pointer, stride, NULL, point->lanes);
  loaded = vec_from_memory(vec, info->type, loaded, point->lanes);
  if (predicate == NULL) return loaded;
  return LLVMBuildSelect(vec->builder, predicate, loaded, LLVMConstNull(LLVMTypeOf(loaded)), "");
}

/* One element for all lanes in which the access happens; where it happens in none, the buffer's first is read. */
static LLVMValueRef load_uniform(KernelPoint *point, int32_t value) {
  const KernelValue *info = &point->kernel->values[value];
  const VecBuilder *vec = point->vec;
  LLVMValueRef mask = access_mask(point, info->predicate), index = load_index(point, value);
  if (mask != NULL) {
    LLVMValueRef happens = vec_any(vec, mask, point->lanes);
    index = LLVMBuildSelect(vec->builder, happens, index, LLVMConstNull(LLVMTypeOf(index)), "");
  }
  LLVMValueRef scalar = vec_load(vec, info->type, point_element(point, info->buffer, index), NULL, 1);
  LLVMValueRef lanes = vec_splat(vec, scalar, point->lanes);
  return mask == NULL ? lanes : LLVMBuildSelect(vec->builder, mask, lanes, LLVMConstNull(LLVMTypeOf(lanes)), "");
}

static bool is_never_loaded(KernelPoint *point, const KernelValue *info) {
  return open_predicate(point, info->predicate) >= 0 && is_all_false(point_value(point, info->predicate));
}

/* Of lanes of |expr|.  Values of the run time that may be anything before their predicate is known say so in their
 * ranges. */
static int index_bits(const KernelPoint *point, IndexExpr expr) {
  const IndexSpace *space = &point->kernel->space;
  int64_t lower, upper;
  index_range(space, expr, &lower, &upper);
  if (lower <= INT32_MIN / 2 || upper >= INT32_MAX / 2) return 64;
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &space->atoms.data[expr.terms[i].atom];
    bool is_nested = atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD;
    if (is_nested && index_bits(point, atom->inner) == 64) return 64;
  }
  return 32;
}

static LLVMValueRef load_lanes(KernelPoint *point, int32_t value) {
  const KernelValue *info = &point->kernel->values[value];
  const VecBuilder *vec = point->vec;
  AccessKind kind = point_access_kind(point, info->address);
  if (is_never_loaded(point, info)) return LLVMConstNull(vec_type(vec, info->type, point->lanes));
  if (kind == ACCESS_UNIFORM) return load_uniform(point, value);
  if (kind == ACCESS_CONTIGUOUS && loads_together(point, info, 1))
    return load_together(point, value, point->mask, point->lanes);
  int64_t stride;
  bool is_near = kernel_plain_stride(point->kernel, info->address, point->vector_dim, &stride) &&
                 vec_stride_is_shuffled(info->type, stride) && point->mask == NULL;
  if (is_near && loads_together(point, info, stride)) return load_strided_together(point, value, stride);
  LLVMValueRef mask = access_mask(point, info->predicate);
  if (kind == ACCESS_CONTIGUOUS) return vec_load(vec, info->type, point_load_pointer(point, value), mask, point->lanes);
  if (!kernel_plain_stride(point->kernel, info->address, point->vector_dim, &stride)) {
    KernelWindow window;
    bool is_window = kernel_load_window(point->kernel, vec->target, info, point->vector_dim, point->lanes, &window);
    if (is_window) return point_load_window(point, value, &window, mask);
    LLVMValueRef offsets = point_index_lanes(point, info->address, index_bits(point, info->address));
    return vec_gather(vec, info->type, point->buffers[info->buffer], offsets, mask, point->lanes);
  }
  LLVMValueRef pointer = point_load_pointer(point, value);
  if (vec_stride_is_shuffled(info->type, stride) && (mask == NULL || vec->target->has_masks)) {
    LLVMValueRef loaded = vec_load_strided(vec, info->type, pointer, stride, mask, point->lanes);
    return vec_from_memory(vec, info->type, loaded, point->lanes);
  }
  return vec_gather(vec, info->type, pointer, vec_lane_indices(vec, 64, stride, point->lanes), mask, point->lanes);
}

static LLVMValueRef index_as_type(KernelPoint *point, const KernelValue *value, int lanes) {
  const VecBuilder *vec = point->vec;
  int width = type_storage_bytes(value->type) * 8;
  int bits = lanes > 1 && width <= 32 ? index_bits(point, value->address) : 64;
  LLVMValueRef index = lanes > 1 ? point_index_lanes(point, value->address, bits) : point_index(point, value->address);
  LLVMTypeRef type = vec_type(vec, value->type, lanes);
  if (width < bits) return LLVMBuildTrunc(vec->builder, index, type, "");
  return width > bits ? LLVMBuildSExt(vec->builder, index, type, "") : index;
}

/* Where all indices of the dim in lanes, or those of the loop around, are on one side of the test: true or false in all
 * lanes; else NULL. */
static LLVMValueRef known_test(const KernelPoint *point, const KernelValue *value, int lanes) {
  KernelDimRange in_lanes = {point->vector_dim, point->vector_begin, point->vector_end};
  KernelTest test = KERNEL_TEST_OPEN;
  if (value->address.term_count == 1) test = kernel_range_test(point->kernel, value, in_lanes);
  if (test == KERNEL_TEST_OPEN) test = kernel_range_test(point->kernel, value, point->within);
  if (test == KERNEL_TEST_OPEN) return NULL;
  LLVMTypeRef type = vec_type(point->vec, TYPE_PRED, lanes);
  return test == KERNEL_TEST_TRUE ? LLVMConstAllOnes(type) : LLVMConstNull(type);
}

/* lower <= x < upper as one unsigned comparison, or x % upper == 0. */
static LLVMValueRef index_test(KernelPoint *point, const KernelValue *value, int lanes) {
  const VecBuilder *vec = point->vec;
  LLVMValueRef known = known_test(point, value, lanes);
  if (known != NULL) return known;
  int bits = lanes > 1 ? index_bits(point, value->address) : 64;
  LLVMTypeRef type = LLVMIntTypeInContext(vec->context, (unsigned)bits);
  LLVMValueRef index = lanes > 1 ? point_index_lanes(point, value->address, bits) : point_index(point, value->address);
  if (value->kind == KERNEL_DIVISIBLE) {
    LLVMValueRef divisor = vec_splat(vec, LLVMConstInt(type, (unsigned long long)value->upper, true), lanes);
    LLVMValueRef remainder = LLVMBuildSRem(vec->builder, index, divisor, "");
    return LLVMBuildICmp(vec->builder, LLVMIntEQ, remainder, LLVMConstNull(LLVMTypeOf(remainder)), "");
  }
  LLVMValueRef lower = vec_splat(vec, LLVMConstInt(type, (unsigned long long)value->lower, true), lanes);
  LLVMValueRef count =
      vec_splat(vec, LLVMConstInt(type, (unsigned long long)(value->upper - value->lower), true), lanes);
  LLVMValueRef distance = LLVMBuildSub(vec->builder, index, lower, "");
  return LLVMBuildICmp(vec->builder, LLVMIntULT, distance, count, "");
}

VecOp kernel_vec_op(const Kernel *kernel, const KernelValue *value) {
  PrimitiveType operand_type = kernel->values[value->operands[emit_typed_operand(value->opcode)]].type;
  return (VecOp){value->opcode, value->type, operand_type, {value->params[0], value->params[1]}};
}

/* A condition of two, of which one is known where the builder stands: the other, perhaps one for all lanes; else NULL.
 */
static LLVMValueRef known_condition(KernelPoint *point, const KernelValue *value) {
  bool is_and = value->opcode == HLO_AND, is_or = value->opcode == HLO_OR;
  if (value->type != TYPE_PRED || (!is_and && !is_or)) return NULL;
  for (int i = 0; i < 2; i++) {
    LLVMValueRef operand = point_value(point, value->operands[i]);
    if (is_all_true(operand)) return is_and ? point_value(point, value->operands[1 - i]) : operand;
    if (is_all_false(operand)) return is_or ? point_value(point, value->operands[1 - i]) : operand;
  }
  return NULL;
}

/* What is chosen where the condition is known; else NULL. */
static LLVMValueRef known_choice(KernelPoint *point, const KernelValue *value) {
  if (value->opcode != HLO_SELECT) return NULL;
  LLVMValueRef condition = point_value(point, value->operands[0]);
  if (is_all_true(condition)) return point_value(point, value->operands[1]);
  return is_all_false(condition) ? point_value(point, value->operands[2]) : NULL;
}

static LLVMValueRef apply(KernelPoint *point, const KernelValue *value, bool is_vector, int lanes) {
  LLVMValueRef operands[KERNEL_MAX_OPERANDS], known = known_condition(point, value);
  if (known == NULL) known = known_choice(point, value);
  if (known != NULL) return known;
  for (int i = 0; i < value->operand_count; i++) {
    operands[i] = is_vector ? point_value_lanes(point, value->operands[i]) : point_value(point, value->operands[i]);
  }
  VecOp op = kernel_vec_op(point->kernel, value);
  return vec_apply(point->vec, &op, operands, lanes);
}

static LLVMValueRef compute(KernelPoint *point, int32_t value, bool is_vector) {
  const KernelValue *info = &point->kernel->values[value];
  int lanes = is_vector ? point->lanes : 1;
  switch (info->kind) {
    case KERNEL_LOAD: return is_vector ? load_lanes(point, value) : load_together(point, value, NULL, 1);
    case KERNEL_CONSTANT: return vec_constant(point->vec, info->type, info->bits[0], 1);
    case KERNEL_INDEX: return index_as_type(point, info, lanes);
    case KERNEL_IN_RANGE:
    case KERNEL_DIVISIBLE: return index_test(point, info, lanes);
    case KERNEL_APPLY: return apply(point, info, is_vector, lanes);
    case KERNEL_ACCUMULATOR: return point->accumulators[info->fold];
  }
  XLAC_BUG("unknown kind of Kernel value");
}

void point_set_value(KernelPoint *point, int32_t value, LLVMValueRef computed) {
  KnownValue *known = &point->values[value];
  known->value = computed;
  known->is_vector = LLVMGetTypeKind(LLVMTypeOf(computed)) == LLVMVectorTypeKind;
  array_push(&point->known, point->arena, value);
}

LLVMValueRef point_value(KernelPoint *point, int32_t value) {
  if (point->values[value].value == NULL)
    point_set_value(point, value, compute(point, value, point_is_vector(point, value)));
  return point->values[value].value;
}

LLVMValueRef point_value_lanes(KernelPoint *point, int32_t value) {
  LLVMValueRef computed = point_value(point, value);
  if (point->lanes == 1 || point->values[value].is_vector) return computed;
  return vec_splat(point->vec, computed, point->lanes);
}

/* --- what is remembered --- */

static bool address_needs(const KernelPoint *point, IndexExpr expr, uint64_t later) {
  const Kernel *kernel = point->kernel;
  for (int d = 0; d < kernel->dim_count; d++) {
    int64_t stride;
    if ((later >> d & 1) == 0) continue;
    if (!kernel_plain_stride(kernel, expr, d, &stride) || (d != point->vector_dim && stride != 0)) return true;
  }
  return false;
}

void point_hoist_address(KernelPoint *point, int32_t value, uint64_t later) {
  IndexExpr address = point->kernel->values[value].address;
  if (point->values[value].base != NULL || address_needs(point, address, later)) return;
  point->values[value].base = point_index_without(point, address, point->vector_dim);
  array_push(&point->known, point->arena, -1 - value);
}

void point_forget(KernelPoint *point, int64_t height) {
  while (point->known.count > height) {
    int32_t value = array_pop(&point->known);
    if (value < 0) {
      point->values[-1 - value].base = NULL;
    } else {
      point->values[value].value = NULL;
    }
  }
}

/* --- stores --- */

static void store_scalar_guarded(KernelPoint *point, const KernelStore *store) {
  const VecBuilder *vec = point->vec;
  LLVMValueRef predicate = point_value(point, store->predicate), value = point_value(point, store->value);
  LLVMValueRef index = point_index(point, store->address);
  LLVMBasicBlockRef then = LLVMAppendBasicBlockInContext(vec->context, point->function, "store");
  LLVMBasicBlockRef behind = LLVMAppendBasicBlockInContext(vec->context, point->function, "");
  LLVMBuildCondBr(vec->builder, predicate, then, behind);
  LLVMPositionBuilderAtEnd(vec->builder, then);
  vec_store(vec, point->kernel->buffers[store->buffer].type, value, point_element(point, store->buffer, index), NULL,
            1);
  LLVMBuildBr(vec->builder, behind);
  LLVMPositionBuilderAtEnd(vec->builder, behind);
}

static bool is_backward(const KernelPoint *point, IndexExpr address) {
  int64_t stride;
  return kernel_plain_stride(point->kernel, address, point->vector_dim, &stride) && stride == -1;
}

bool point_passes_caches(const KernelPoint *point, const KernelStore *store) {
  if (point->streamed == NULL || !point->streamed[store->buffer]) return false;
  int bits = type_storage_bytes(point->kernel->buffers[store->buffer].type) * 8;
  return point->lanes * bits % point->vec->target->vector_bits == 0;
}

void point_store(KernelPoint *point, const KernelStore *store) {
  const VecBuilder *vec = point->vec;
  PrimitiveType type = point->kernel->buffers[store->buffer].type;
  AccessKind access = point_access_kind(point, store->address);
  if (point->lanes == 1 || access == ACCESS_UNIFORM) {
    if (open_predicate(point, store->predicate) >= 0) {
      store_scalar_guarded(point, store);
      return;
    }
    LLVMValueRef value = point_value(point, store->value), index = point_index(point, store->address);
    LLVMValueRef *kept = element_register(point, store->buffer, index);
    if (kept != NULL) *kept = value;
    vec_store(vec, type, value, point_element(point, store->buffer, index), NULL, 1);
    return;
  }
  LLVMValueRef mask = access_mask(point, store->predicate);
  LLVMValueRef value = point_value_lanes(point, store->value);
  if (access == ACCESS_CONTIGUOUS) {
    LLVMValueRef pointer = point_element(point, store->buffer, point_index(point, store->address));
    if (mask == NULL && point_passes_caches(point, store)) {
      vec_store_uncached(vec, type, value, pointer, point->lanes);
    } else {
      vec_store(vec, type, value, pointer, mask, point->lanes);
    }
  } else if (mask == NULL && is_backward(point, store->address)) {
    LLVMValueRef last = LLVMConstInt(LLVMInt64TypeInContext(vec->context), (unsigned)point->lanes - 1, false);
    LLVMValueRef first = LLVMBuildSub(vec->builder, point_index(point, store->address), last, "");
    vec_store(vec, type, vec_reverse(vec, value, point->lanes), point_element(point, store->buffer, first), NULL,
              point->lanes);
  } else {
    LLVMValueRef offsets = point_index_lanes(point, store->address, 64);
    vec_scatter(vec, type, value, point->buffers[store->buffer], offsets, mask, point->lanes);
  }
}

void point_store_in_turn(KernelPoint *point, const KernelStore *stores, int count) {
  const VecBuilder *vec = point->vec;
  int lanes = point->lanes;
  PrimitiveType type = point->kernel->buffers[stores->buffer].type;
  LLVMValueRef mask = access_mask(point, stores->predicate), parts[VEC_MAX_INTERLEAVED], masks[VEC_MAX_INTERLEAVED];
  XLAC_CHECK(count <= VEC_MAX_INTERLEAVED);
  for (int i = 0; i < count; i++) {
    parts[i] = point_value_lanes(point, stores[i].value);
    masks[i] = mask;
  }
  LLVMValueRef first = point_index(point, stores->address);
  vec_interleave(vec, parts, count, lanes);
  if (mask != NULL) vec_interleave(vec, masks, count, lanes);
  for (int i = 0; i < count; i++) {
    LLVMValueRef distance = LLVMConstInt(LLVMTypeOf(first), (unsigned)(i * lanes), false);
    LLVMValueRef pointer = point_element(point, stores->buffer, ir_index_add(vec->builder, first, distance));
    vec_store(vec, type, parts[i], pointer, masks[i], lanes);
  }
}
