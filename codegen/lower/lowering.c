/* The pieces a Kernel is built of: dims, buffers, shared values, folds. */
#include <string.h>

#include "base/checked_math.h"
#include "codegen/lower/lowering_internal.h"
#include "hlo/ir/fold_identity.h"

/* --- dims and buffers --- */

static IndexExpr add_dim(Lowering *lowering, int64_t extent, KernelDimKind kind, int stage, DimOrigin origin) {
  if (extent == 0) lowering->is_empty = true;
  if (extent <= 1) return index_constant(0);
  array_push(&lowering->origins, lowering->arena, origin);
  return kernel_draft_add_dim(&lowering->draft, extent, kind, stage);
}

/* The outer dims, which the points share, are made once; each point has its own stages. */
static IndexExpr dim_at_point(Lowering *lowering, int64_t extent, KernelDimKind kind, int stage, DimOrigin origin) {
  for (int d = 0; lowering->point > 0 && d < lowering->draft.dims.count; d++) {
    const DimOrigin *made = &lowering->origins.data[d];
    if (stage == KERNEL_OUTER && made->ordinal == origin.ordinal && made->factor == origin.factor)
      return index_dim(&lowering->draft.space, d, extent);
  }
  return add_dim(lowering, extent, kind, stage, origin);
}

/* A point that finds what it reduces folded already asks for fewer dims than the first one, so that a split may be
 * another dim's. */
static bool is_split(const Lowering *lowering, int ordinal, int64_t extent) {
  if (ordinal >= lowering->split_count || lowering->splits[ordinal].factor_count == 0) return false;
  int64_t product = 1;
  for (int i = 0; i < lowering->splits[ordinal].factor_count; i++) product *= lowering->splits[ordinal].factors[i];
  return product == extent;
}

IndexExpr lowering_dim(Lowering *lowering, int64_t extent, KernelDimKind kind, int stage) {
  int ordinal = lowering->next_ordinal++;
  if (!is_split(lowering, ordinal, extent)) return dim_at_point(lowering, extent, kind, stage, (DimOrigin){ordinal, 0});
  const DimSplit *split = &lowering->splits[ordinal];
  IndexExpr index = index_constant(0);
  for (int i = 0; i < split->factor_count; i++) {
    IndexExpr part = split->unrolled[i]
                         ? index_constant(lowering->point / lowering->point_stride % split->factors[i])
                         : dim_at_point(lowering, split->factors[i], kind, stage, (DimOrigin){ordinal, i});
    if (split->unrolled[i]) lowering->point_stride *= split->factors[i];
    index = index_add(&lowering->draft.space, index_scale(&lowering->draft.space, index, split->factors[i]), part);
  }
  return index;
}

int64_t lowering_point_count(const Lowering *lowering) {
  int64_t count = 1;
  for (int ordinal = 0; ordinal < lowering->split_count; ordinal++) {
    const DimSplit *split = &lowering->splits[ordinal];
    for (int i = 0; i < split->factor_count; i++) count *= split->unrolled[i] ? split->factors[i] : 1;
  }
  return count;
}

void lowering_begin_point(Lowering *lowering, int64_t point) {
  lowering->may_unroll = true;
  lowering->point = point;
  lowering->point_stride = 1;
  lowering->next_ordinal = 0;
}

/* The only dim of |index| that leads from piece to piece; |out_rest|: how far all else goes. */
static int piece_dim(const Lowering *lowering, IndexExpr index, int64_t size, int64_t *out_coefficient,
                     int64_t *out_rest) {
  int found = -1;
  int64_t rest = index.constant % size;
  for (int t = 0; t < index.term_count; t++) {
    const IndexAtom *atom = &lowering->draft.space.atoms.data[index.terms[t].atom];
    int64_t coefficient = index.terms[t].coefficient;
    if (coefficient < 0 || atom->lower < 0) return -1;
    if (coefficient * atom->upper < size - rest) {
      rest += coefficient * atom->upper;
      continue;
    }
    if (atom->kind != INDEX_ATOM_DIM || found >= 0) return -1;
    found = atom->number;
    *out_coefficient = coefficient;
  }
  *out_rest = rest;
  return found;
}

void lowering_ask_unrolled(Lowering *lowering, IndexExpr index, int64_t size) {
  int64_t coefficient = 0, rest = 0, known;
  if (!lowering->may_unroll || lowering->draft.stages.count > 0 || index_is_constant(index, &known)) return;
  int dim = index.constant < 0 ? -1 : piece_dim(lowering, index, size, &coefficient, &rest);
  lowering->misses_pieces |= dim < 0;
  if (dim < 0) return;
  int64_t extent = lowering->draft.dims.data[dim].extent, divisor = size / coefficient;
  bool is_whole = coefficient % size == 0;
  bool is_split = rest < coefficient && size % coefficient == 0 && extent % divisor == 0;
  lowering->misses_pieces |= !is_whole && !is_split;
  if (lowering->unroll.is_made || (!is_whole && !is_split)) return;
  lowering->unroll = (UnrollRequest){true, lowering->origins.data[dim], extent, is_whole ? 1 : divisor};
}

void lowering_dims_of_shape(Lowering *lowering, const Shape *shape, KernelDimKind kind, int stage,
                            IndexExpr *out_index) {
  for (int i = shape->rank - 1; i >= 0; i--) {
    int64_t dim = shape->layout.minor_to_major[i];
    out_index[dim] = lowering_dim(lowering, shape->dims[dim], kind, stage);
  }
}

void lowering_dims_of_result(Lowering *lowering, const Shape *shape, IndexExpr *out_index) {
  if (lowering->flat == NULL) {
    lowering_dims_of_shape(lowering, shape, KERNEL_PARALLEL, KERNEL_OUTER, out_index);
    return;
  }
  lowering->flat_linear = lowering_dim(lowering, shape_element_count(shape), KERNEL_PARALLEL, KERNEL_OUTER);
  lowering_delinearize(lowering, lowering->flat_linear, shape->dims, shape->rank, out_index);
  lowering->flat_index = ARENA_COPY_ARRAY(lowering->arena, IndexExpr, out_index, shape->rank);
}

/* |index| is the element of the flat walk. */
static bool is_flat_index(const Lowering *lowering, const IndexExpr *index, const int64_t *dims, int rank) {
  if (lowering->flat == NULL || lowering->flat_index == NULL || lowering->flat->rank != rank) return false;
  for (int i = 0; i < rank; i++) {
    if (dims[i] != lowering->flat->dims[i] || !index_equal(index[i], lowering->flat_index[i])) return false;
  }
  return true;
}

PrimitiveType lowering_moved_type(PrimitiveType type) {
  if (type == TYPE_C64) return TYPE_U64;
  return type_is_float(type) && type_bits(type) == 8 ? TYPE_U8 : type;
}

int32_t lowering_buffer(Lowering *lowering, KernelBufferRole role, int operand, int node, const Shape *leaf) {
  PrimitiveType type = lowering->moves_bits ? lowering_moved_type(leaf->type) : leaf->type;
  KernelBuffer buffer = {role, type, shape_element_count(leaf), operand, node};
  return kernel_draft_bind_buffer(&lowering->draft, buffer);
}

IndexExpr lowering_address(Lowering *lowering, const Shape *shape, const IndexExpr *index) {
  int64_t strides[MAX_RANK];
  if (shape_has_default_layout(shape) && is_flat_index(lowering, index, shape->dims, shape->rank))
    return lowering->flat_linear;
  shape_strides(shape, strides);
  IndexExpr address = index_constant(0);
  for (int i = 0; i < shape->rank; i++) {
    address = index_add(&lowering->draft.space, address, index_scale(&lowering->draft.space, index[i], strides[i]));
  }
  return address;
}

IndexExpr lowering_linearize(Lowering *lowering, const IndexExpr *index, const int64_t *dims, int rank) {
  IndexExpr linear = index_constant(0);
  if (is_flat_index(lowering, index, dims, rank)) return lowering->flat_linear;
  for (int i = 0; i < rank; i++) {
    linear = index_add(&lowering->draft.space, index_scale(&lowering->draft.space, linear, dims[i]), index[i]);
  }
  return linear;
}

void lowering_delinearize(Lowering *lowering, IndexExpr linear, const int64_t *dims, int rank, IndexExpr *out_index) {
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; i--) {
    IndexExpr quotient = index_div(&lowering->draft.space, linear, stride);
    out_index[i] = i == 0 ? quotient : index_mod(&lowering->draft.space, quotient, dims[i]);
    if (dims[i] == 1) out_index[i] = index_constant(0);
    stride *= dims[i];
  }
}

PrimitiveType lowering_accumulator_type(PrimitiveType type) {
  return type == TYPE_F16 || type == TYPE_BF16 ? TYPE_F32 : type;
}

PrimitiveType lowering_contraction_type(PrimitiveType type) {
  return type_is_float(type) && type_bits(type) < 32 ? TYPE_F32 : type;
}

/* --- values --- */

static int32_t load_real(Lowering *lowering, int32_t buffer, PrimitiveType type, IndexExpr address) {
  KernelValue value = kernel_value_blank(KERNEL_LOAD, type);
  value.buffer = buffer;
  value.address = address;
  value.predicate = lowering->predicate;
  return kernel_draft_share_value(&lowering->draft, value);
}

int32_t lowering_load_part(Lowering *lowering, int32_t real_part, IndexExpr which) {
  KernelValue value = lowering->draft.values.data[real_part];
  value.address = index_add(&lowering->draft.space, value.address, which);
  return kernel_draft_share_value(&lowering->draft, value);
}

int32_t lowering_load(Lowering *lowering, int32_t buffer, IndexExpr address) {
  PrimitiveType type = lowering->draft.buffers.data[buffer].type, part = type_complex_part(type);
  if (!type_is_complex(type)) return load_real(lowering, buffer, type, address);
  int32_t re = load_real(lowering, buffer, part, lowering_part_address(lowering, address, 0));
  int32_t im = load_real(lowering, buffer, part, lowering_part_address(lowering, address, 1));
  return lowering_complex(lowering, type, re, im);
}

int32_t lowering_constant_bits(Lowering *lowering, PrimitiveType type, uint64_t low, uint64_t high) {
  if (type_is_complex(type)) {
    PrimitiveType part = type_complex_part(type);
    uint64_t im_bits = part == TYPE_F32 ? low >> 32 : high;
    int32_t re = lowering_constant_bits(lowering, part, part == TYPE_F32 ? (uint32_t)low : low, 0);
    return lowering_complex(lowering, type, re, lowering_constant_bits(lowering, part, im_bits, 0));
  }
  KernelValue value = kernel_value_blank(KERNEL_CONSTANT, type);
  value.bits[0] = low;
  value.bits[1] = high;
  return kernel_draft_share_value(&lowering->draft, value);
}

int32_t lowering_constant_element(Lowering *lowering, const Literal *literal, int64_t element) {
  uint64_t bits[2] = {0, 0};
  size_t size = (size_t)type_storage_bytes(literal->shape->type);
  memcpy(bits, (const char *)literal->data + (size_t)element * size, size);
  PrimitiveType type = lowering->moves_bits ? lowering_moved_type(literal->shape->type) : literal->shape->type;
  return lowering_constant_bits(lowering, type, bits[0], bits[1]);
}

int32_t lowering_constant_double(Lowering *lowering, PrimitiveType type, double value) {
  Shape scalar = {.type = type};
  Literal *literal = literal_create(lowering->arena, &scalar);
  literal_set_double(literal, 0, value);
  return lowering_constant_element(lowering, literal, 0);
}

int32_t lowering_constant_int(Lowering *lowering, PrimitiveType type, int64_t value) {
  int bits = type_storage_bytes(type) * 8;
  uint64_t mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  return lowering_constant_bits(lowering, type, (uint64_t)value & mask, 0);
}

int32_t lowering_index_value(Lowering *lowering, PrimitiveType type, IndexExpr expr) {
  int64_t constant;
  if (index_is_constant(expr, &constant)) return lowering_constant_int(lowering, type, constant);
  KernelValue value = kernel_value_blank(KERNEL_INDEX, type);
  value.address = expr;
  return kernel_draft_share_value(&lowering->draft, value);
}

int32_t lowering_in_range(Lowering *lowering, IndexExpr expr, int64_t lower, int64_t upper) {
  int64_t least, most;
  index_range(&lowering->draft.space, expr, &least, &most);
  if (least >= lower && most < upper) return -1;
  if (most < lower || least >= upper) return lowering_constant_int(lowering, TYPE_PRED, 0);
  KernelValue value = kernel_value_blank(KERNEL_IN_RANGE, TYPE_PRED);
  value.address = expr;
  value.lower = lower;
  value.upper = upper;
  return kernel_draft_share_value(&lowering->draft, value);
}

int32_t lowering_divisible(Lowering *lowering, IndexExpr expr, int64_t divisor) {
  IndexExpr remainder = index_mod(&lowering->draft.space, expr, divisor);
  int64_t constant;
  if (index_is_constant(remainder, &constant))
    return constant == 0 ? -1 : lowering_constant_int(lowering, TYPE_PRED, 0);
  KernelValue value = kernel_value_blank(KERNEL_DIVISIBLE, TYPE_PRED);
  value.address = expr;
  value.upper = divisor;
  return kernel_draft_share_value(&lowering->draft, value);
}

int32_t lowering_apply_with(Lowering *lowering, HloOpcode opcode, PrimitiveType type, const int32_t *operands,
                            int operand_count, int64_t param0, int64_t param1) {
  XLAC_CHECK(operand_count <= KERNEL_MAX_OPERANDS);
  int32_t other;
  if (lowering_apply_complex(lowering, opcode, type, operands, param0, &other)) return other;
  if (lowering_apply_positions(lowering, opcode, type, operands, param0, &other)) return other;
  bool is_plain_order = opcode == HLO_COMPARE && param1 == COMPARISON_TYPE_FLOAT;
  if (is_plain_order && lowering_compare_root(lowering, operands, (ComparisonDirection)param0, &other)) return other;
  KernelValue value = kernel_value_blank(KERNEL_APPLY, type);
  value.opcode = opcode;
  value.operand_count = operand_count;
  for (int i = 0; i < operand_count; i++) value.operands[i] = operands[i];
  value.params[0] = param0;
  value.params[1] = param1;
  return kernel_draft_share_value(&lowering->draft, value);
}

int32_t lowering_apply(Lowering *lowering, HloOpcode opcode, PrimitiveType type, const int32_t *operands,
                       int operand_count) {
  return lowering_apply_with(lowering, opcode, type, operands, operand_count, 0, 0);
}

int32_t lowering_and(Lowering *lowering, int32_t a, int32_t b) {
  if (a < 0 || a == b) return b;
  if (b < 0) return a;
  return lowering_apply(lowering, HLO_AND, TYPE_PRED, (int32_t[]){a, b}, 2);
}

int32_t lowering_select(Lowering *lowering, int32_t predicate, int32_t on_true, int32_t on_false) {
  if (predicate < 0 || on_true == on_false) return on_true;
  PrimitiveType type = lowering_type(lowering, on_true);
  return lowering_apply(lowering, HLO_SELECT, type, (int32_t[]){predicate, on_true, on_false}, 3);
}

/* What |value| is converted from where that lost nothing, so that one conversion to a float |type| does. */
static int32_t past_exact_conversion(const Lowering *lowering, int32_t value, PrimitiveType type) {
  const KernelValue *inner = &lowering->draft.values.data[value];
  if (!type_is_float(type) || inner->kind != KERNEL_APPLY || inner->opcode != HLO_CONVERT) return value;
  PrimitiveType from = lowering_type(lowering, inner->operands[0]);
  return from != type && type_converts_exactly(from, inner->type) ? inner->operands[0] : value;
}

int32_t lowering_convert(Lowering *lowering, int32_t value, PrimitiveType type) {
  if (lowering_type(lowering, value) == type) return value;
  value = past_exact_conversion(lowering, value, type);
  return lowering_apply(lowering, HLO_CONVERT, type, &value, 1);
}

PrimitiveType lowering_type(const Lowering *lowering, int32_t value) {
  return lowering->draft.values.data[value].type;
}

/* --- folds and stages --- */

static int32_t real_accumulator(Lowering *lowering, int32_t fold, bool final) {
  KernelValue value = kernel_value_blank(KERNEL_ACCUMULATOR, type_complex_part(lowering->draft.folds.data[fold].type));
  value.fold = fold;
  value.params[0] = final;
  return kernel_draft_share_value(&lowering->draft, value);
}

int32_t lowering_accumulator(Lowering *lowering, int32_t fold, bool final) {
  PrimitiveType type = lowering->draft.folds.data[fold].type;
  int32_t re = real_accumulator(lowering, fold, final);
  if (!type_is_complex(type)) return re;
  return lowering_complex(lowering, type, re, real_accumulator(lowering, fold + 1, final));
}

/* A complex fold is two, of which the second follows the first. */
static int fold_part_count(const Lowering *lowering, int32_t fold) {
  return type_is_complex(lowering->draft.folds.data[fold].type) ? 2 : 1;
}

int32_t lowering_add_fold(Lowering *lowering, PrimitiveType type, int stage, int32_t seed) {
  int32_t fold = (int32_t)lowering->draft.folds.count;
  for (int part = 0; part < (type_is_complex(type) ? 2 : 1); part++) {
    KernelFold half = {.type = type, .stage = stage, .next = -1};
    half.seed = type_is_complex(type) ? lowering_part(lowering, seed, part) : seed;
    kernel_draft_add_fold(&lowering->draft, half);
  }
  return fold;
}

int32_t lowering_identity(Lowering *lowering, HloOpcode opcode, PrimitiveType type) {
  uint64_t bits[FOLD_IDENTITY_BYTES / sizeof(uint64_t)] = {0};
  return hlo_fold_identity(opcode, type, bits) ? lowering_constant_bits(lowering, type, bits[0], bits[1]) : -1;
}

/* Whether |value| reads an accumulator as it is within its stage (a final value is a value like any other).  Operands
 * stand before what reads them, so one sweep over all values answers; a walk over the graph would visit shared operands
 * again and again. */
static bool reads_accumulator(const Lowering *lowering, int32_t value) {
  bool *reads = ARENA_NEW_ARRAY(lowering->arena, bool, value + 1);
  for (int32_t v = 0; v <= value; v++) {
    const KernelValue *info = &lowering->draft.values.data[v];
    reads[v] = info->kind == KERNEL_ACCUMULATOR && info->params[0] == 0;
    for (int i = 0; i < info->operand_count; i++) reads[v] |= reads[info->operands[i]];
  }
  return reads[value];
}

/* next = op(acc, x) or op(x, acc), x free of every accumulator of the stage. */
static bool fold_opcode(const Lowering *lowering, int32_t fold, int32_t next, HloOpcode *out_opcode) {
  const KernelValue *value = &lowering->draft.values.data[next];
  if (value->kind != KERNEL_APPLY || value->operand_count != 2) return false;
  const KernelValue *left = &lowering->draft.values.data[value->operands[0]];
  const KernelValue *right = &lowering->draft.values.data[value->operands[1]];
  bool on_left = left->kind == KERNEL_ACCUMULATOR && left->fold == fold;
  bool on_right = right->kind == KERNEL_ACCUMULATOR && right->fold == fold;
  if (on_left == on_right) return false;
  int32_t other = value->operands[on_left ? 1 : 0];
  if (reads_accumulator(lowering, other)) return false;
  *out_opcode = value->opcode;
  return true;
}

void lowering_set_fold_next(Lowering *lowering, int32_t fold, int32_t next) {
  int parts = fold_part_count(lowering, fold);
  for (int part = 0; part < parts; part++) {
    lowering->draft.folds.data[fold + part].next = parts == 1 ? next : lowering_part(lowering, next, part);
  }
}

void lowering_set_fold_seed(Lowering *lowering, int32_t fold, int32_t seed) {
  int parts = fold_part_count(lowering, fold);
  for (int part = 0; part < parts; part++) {
    lowering->draft.folds.data[fold + part].seed = parts == 1 ? seed : lowering_part(lowering, seed, part);
  }
}

void lowering_finish_fold(Lowering *lowering, int32_t fold, int32_t next) {
  lowering_set_fold_next(lowering, fold, next);
  for (int part = 0; part < fold_part_count(lowering, fold); part++) {
    PrimitiveType type = type_complex_part(lowering->draft.folds.data[fold + part].type);
    HloOpcode opcode;
    if (!fold_opcode(lowering, fold + part, lowering->draft.folds.data[fold + part].next, &opcode)) continue;
    int32_t seed = lowering_identity(lowering, opcode, type);
    if (seed < 0) continue;
    lowering->draft.folds.data[fold + part].reassociable = true;
    lowering->draft.folds.data[fold + part].seed = seed;
  }
}

void lowering_finish_scan(Lowering *lowering, int32_t fold, int32_t next) {
  lowering_set_fold_next(lowering, fold, next);
  for (int part = 0; part < fold_part_count(lowering, fold); part++) {
    KernelFold *half = &lowering->draft.folds.data[fold + part];
    HloOpcode opcode;
    uint64_t identity[FOLD_IDENTITY_BYTES / sizeof(uint64_t)];
    half->is_scan = fold_opcode(lowering, fold + part, half->next, &opcode) &&
                    hlo_fold_identity(opcode, type_complex_part(half->type), identity);
  }
}

int lowering_begin_stage(Lowering *lowering) {
  return lowering->current_stage = kernel_draft_add_stage(&lowering->draft);
}

void lowering_end_stage(Lowering *lowering, int stage, int outer_stage) {
  array_push(&lowering->stage_order, lowering->arena, stage);
  lowering->current_stage = outer_stage;
}

void lowering_add_store(Lowering *lowering, int stage, const KernelStore *store) {
  bool is_complex = type_is_complex(lowering->draft.buffers.data[store->buffer].type);
  bool has_parts = is_complex && type_is_complex(lowering_type(lowering, store->value));
  for (int part = 0; part < 2; part++) {
    KernelStore half = *store;
    if (has_parts) half.value = lowering_part(lowering, store->value, part);
    if (is_complex) half.address = lowering_part_address(lowering, store->address, part);
    bool is_wanted = has_parts || part == (is_complex ? lowering->sum_part : 0);
    if (is_wanted) kernel_draft_add_store(&lowering->draft, stage, half);
  }
}

void lowering_add_stage(Lowering *lowering, const KernelStore *stores, int store_count) {
  int outer = lowering->current_stage, stage = lowering_begin_stage(lowering);
  for (int i = 0; i < store_count; i++) lowering_add_store(lowering, stage, &stores[i]);
  lowering_end_stage(lowering, stage, outer);
}

/* --- run-time indices --- */

IndexExpr lowering_raw_index(Lowering *lowering, int32_t value) {
  return index_value(&lowering->draft.space, lowering_convert(lowering, value, TYPE_S64), INT32_MIN, INT32_MAX);
}

/* Whether |value| is a function of indices that stays between 0 and |upper|. */
static bool is_bounded_position(const Lowering *lowering, int32_t value, int64_t upper, IndexExpr *out_expr) {
  int64_t least, most;
  if (!lowering->target.folds_positions || !lowering_position(lowering, value, out_expr)) return false;
  index_range(&lowering->draft.space, *out_expr, &least, &most);
  return least >= 0 && most <= upper;
}

IndexExpr lowering_clamped_index(Lowering *lowering, int32_t value, int64_t upper) {
  IndexExpr position;
  if (upper <= 0) return index_constant(0);
  if (is_bounded_position(lowering, value, upper, &position)) return position;
  if (lowering_type(lowering, value) == TYPE_U64) { /* what s64 cannot hold is large, not negative */
    int32_t operands[2] = {value, lowering_constant_int(lowering, TYPE_U64, upper)};
    value = lowering_apply(lowering, HLO_MINIMUM, TYPE_U64, operands, 2);
  }
  /* In 32 bits where these hold both: twice as many lanes. */
  PrimitiveType type = lowering_type(lowering, value);
  bool is_narrow = type_bits(type) < 32 || type == TYPE_S32;
  PrimitiveType clamped_type = is_narrow && upper <= INT32_MAX ? TYPE_S32 : TYPE_S64;
  int32_t bounds[2] = {lowering_constant_int(lowering, clamped_type, 0),
                       lowering_constant_int(lowering, clamped_type, upper)};
  int32_t operands[3] = {bounds[0], lowering_convert(lowering, value, clamped_type), bounds[1]};
  int32_t clamped = lowering_apply(lowering, HLO_CLAMP, clamped_type, operands, 3);
  return index_value(&lowering->draft.space, lowering_convert(lowering, clamped, TYPE_S64), 0, upper);
}

Status lowering_unsupported(const Lowering *lowering, const HloInstruction *at, const char *what) {
  return diag_error(lowering->diag, STATUS_UNSUPPORTED, at->loc, "unsupported-op", "%s", what);
}
