/* Rules of dot and convolution. */
#include "passes/simplify/algebraic_rules.h"

enum { RANK_LIMIT = 64 };

typedef struct DotSide {
  int operand;
  HloAttrId batch, contracting;
} DotSide;

static const DotSide sides[] = {
    {0, HLO_ATTR_LHS_BATCH_DIMS, HLO_ATTR_LHS_CONTRACTING_DIMS},
    {1, HLO_ATTR_RHS_BATCH_DIMS, HLO_ATTR_RHS_CONTRACTING_DIMS},
};

/* The dims of the list as they are called before the transpose; marks them as taken in |taken| (dims behind it). */
static void dims_before(Int64List dims, Int64List permutation, bool *taken, int64_t *out_dims) {
  for (int64_t i = 0; i < dims.count; i++) {
    taken[dims.data[i]] = true;
    out_dims[i] = permutation.data[dims.data[i]];
  }
}

/* The free dims keep their order when the transpose goes: the result is then the same. */
static bool free_dims_keep_order(Int64List permutation, const bool *taken) {
  int64_t last = -1;
  for (int64_t d = 0; d < permutation.count; d++) {
    if (taken[d]) continue;
    if (permutation.data[d] < last) return false;
    last = permutation.data[d];
  }
  return true;
}

/* dot(transpose(x), y) → dot(x, y) with x's dims named as they are there; likewise for y.  The same sums in the same
 * order. */
static HloInstruction *dot_transpose(HloInstruction *dot) {
  for (int s = 0; s < 2; s++) {
    const HloInstruction *transpose = dot->operands[sides[s].operand];
    if (transpose->opcode != HLO_TRANSPOSE || transpose->shape->rank > RANK_LIMIT) continue;
    Int64List permutation = hlo_instruction_ints(transpose, HLO_ATTR_DIMENSIONS);
    Int64List batch = hlo_instruction_ints(dot, sides[s].batch),
              contracting = hlo_instruction_ints(dot, sides[s].contracting);
    bool taken[RANK_LIMIT] = {false};
    int64_t new_batch[RANK_LIMIT], new_contracting[RANK_LIMIT];
    dims_before(batch, permutation, taken, new_batch);
    dims_before(contracting, permutation, taken, new_contracting);
    if (!free_dims_keep_order(permutation, taken)) continue;
    HloInstruction *operands[2] = {dot->operands[0], dot->operands[1]};
    operands[sides[s].operand] = transpose->operands[0];
    HloInstruction *result = hlo_computation_add_clone(dot->parent, dot, dot->shape, operands, 2);
    if (batch.count > 0) hlo_instruction_set_ints(result, sides[s].batch, new_batch, batch.count);
    hlo_instruction_set_ints(result, sides[s].contracting, new_contracting, contracting.count);
    return result;
  }
  return NULL;
}

/* transpose(dot(x, y)) → dot(y, x), when it swaps what is free of x and of y: the same products, summed in the same
 * order */
static HloInstruction *transpose_dot(HloInstruction *transpose) {
  HloInstruction *dot = transpose->operands[0];
  if (dot->opcode != HLO_DOT || dot->user_count != 1 || !shape_is_array(transpose->shape)) return NULL;
  int batch = (int)hlo_instruction_ints(dot, HLO_ATTR_LHS_BATCH_DIMS).count;
  int contracted = (int)hlo_instruction_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS).count;
  int left = dot->operands[0]->shape->rank - batch - contracted, rank = dot->shape->rank;
  Int64List permutation = hlo_instruction_ints(transpose, HLO_ATTR_DIMENSIONS);
  if (left == 0 || left == rank - batch || hlo_instruction_attr(dot, HLO_ATTR_SPARSITY_CONFIG) != NULL) return NULL;
  if (hlo_instruction_attr(dot, HLO_ATTR_OPERAND_PRECISION) != NULL) return NULL;
  for (int i = 0; i < rank; i++) {
    int from = i < batch ? i : batch + (i - batch + left) % (rank - batch);
    if (permutation.data[i] != from) return NULL;
  }
  HloInstruction *operands[2] = {dot->operands[1], dot->operands[0]};
  HloInstruction *result = hlo_computation_add_clone(transpose->parent, dot, transpose->shape, operands, 2);
  for (int s = 0; s < 2; s++) {
    Int64List batch_dims = hlo_instruction_ints(dot, sides[1 - s].batch),
              contracting = hlo_instruction_ints(dot, sides[1 - s].contracting);
    if (batch > 0) hlo_instruction_set_ints(result, sides[s].batch, batch_dims.data, batch_dims.count);
    hlo_instruction_set_ints(result, sides[s].contracting, contracting.data, contracting.count);
  }
  return result;
}

/* The result dimension of each dimension of operand |side| that is a batch or free; -1 for contracted ones. */
static void result_dims(const HloInstruction *dot, int side, int64_t *out_dims) {
  const Shape *shape = dot->operands[side]->shape;
  Int64List batch = hlo_instruction_ints(dot, sides[side].batch),
            contracting = hlo_instruction_ints(dot, sides[side].contracting);
  int64_t next = batch.count;
  if (side == 1) {
    next += dot->operands[0]->shape->rank - batch.count - contracting.count;
  }
  for (int d = 0; d < shape->rank; d++) {
    out_dims[d] = -2;
    for (int64_t i = 0; i < batch.count; i++) {
      if (batch.data[i] == d) out_dims[d] = i;
    }
    for (int64_t i = 0; i < contracting.count; i++) {
      if (contracting.data[i] == d) out_dims[d] = -1;
    }
    if (out_dims[d] == -2) out_dims[d] = next++;
  }
}

/* Operand |side| without its contracted dimensions, which have size one, spread over |shape|.  The result's dimension i
 * is dimension place[i] of that. */
static HloInstruction *spread_factor(HloInstruction *dot, int side, const Shape *shape, const int64_t *place) {
  HloInstruction *factor = dot->operands[side];
  int64_t in_result[RANK_LIMIT], dims[RANK_LIMIT], sizes[RANK_LIMIT];
  int rank = 0;
  result_dims(dot, side, in_result);
  for (int d = 0; d < factor->shape->rank; d++) {
    if (in_result[d] < 0) continue;
    sizes[rank] = factor->shape->dims[d];
    dims[rank++] = place[in_result[d]];
  }
  const Shape *packed = shape_array(dot->parent->module->shapes, factor->shape->type, sizes, rank);
  return algebraic_broadcast(algebraic_reshape(factor, packed), shape, dims);
}

/* The shape of the product and where in it the result's dimensions are; |out_moves|: elsewhere than in the result.  It
 * has the order of the left factor if that has all of them, else of the right one, so that a factor as large as the
 * result stays as it is in memory. */
static const Shape *product_shape(const HloInstruction *dot, int64_t *out_place, bool *out_moves) {
  int64_t sizes[RANK_LIMIT], in_result[RANK_LIMIT];
  int rank = dot->shape->rank;
  *out_moves = false;
  for (int i = 0; i < rank; i++) out_place[i] = i;
  for (int side = 0; side < 2; side++) {
    const Shape *factor = dot->operands[side]->shape;
    int contracted = (int)hlo_instruction_ints(dot, sides[side].contracting).count, next = 0;
    if (factor->rank - contracted != rank) continue;
    result_dims(dot, side, in_result);
    for (int d = 0; d < factor->rank; d++) {
      if (in_result[d] < 0) continue;
      *out_moves |= in_result[d] != next;
      sizes[next] = factor->dims[d];
      out_place[in_result[d]] = next++;
    }
    break;
  }
  return *out_moves ? shape_array(dot->parent->module->shapes, dot->shape->type, sizes, rank) : dot->shape;
}

static bool is_product(const HloInstruction *dot) {
  Int64List contracting = hlo_instruction_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS);
  PrimitiveType type = dot->shape->type;
  if (!algebraic_is_ieee(dot) && !type_is_integral(type)) return false;
  if (shape_is_dynamic(dot->shape) || dot->shape->rank > RANK_LIMIT || dot->shape->rank == 0) return false;
  if (hlo_instruction_attr(dot, HLO_ATTR_SPARSITY_CONFIG) != NULL) return false;
  for (int s = 0; s < 2; s++) {
    const Shape *shape = dot->operands[s]->shape;
    if (shape->type != type || shape_is_dynamic(shape) || shape->rank > RANK_LIMIT) return false;
  }
  for (int64_t i = 0; i < contracting.count; i++) {
    if (dot->operands[0]->shape->dims[contracting.data[i]] != 1) return false;
  }
  return true;
}

/* dot(x, y) over dimensions of size one → x · y + 0, spread over the result: of one product, nothing is left to sum.
 * The zero is what sums begin with: it makes +0 of -0. */
static HloInstruction *dot_of_ones(HloInstruction *dot) {
  if (!is_product(dot)) return NULL;
  int64_t place[RANK_LIMIT];
  bool moves;
  const Shape *shape = product_shape(dot, place, &moves);
  HloInstruction *factors[2] = {spread_factor(dot, 0, shape, place), spread_factor(dot, 1, shape, place)};
  HloInstruction *made = hlo_computation_add(dot->parent, HLO_MULTIPLY, shape, factors, 2, (StringView){0});
  if (!type_is_integral(shape->type)) made = algebraic_binary(made, HLO_ADD, made, algebraic_number(made, 0));
  if (!moves) return made;
  made = algebraic_unary(dot, HLO_TRANSPOSE, made);
  hlo_instruction_set_ints(made, HLO_ATTR_DIMENSIONS, place, dot->shape->rank);
  return made;
}

/* --- convolution --- */

/* convolution(pad(x, 0), w) → convolution(x, w) with a padded window.  Empty places count as zero, or not at all. */
static HloInstruction *convolution_of_pad(HloInstruction *instruction) {
  const HloInstruction *pad = instruction->operands[0];
  const HloAttr *window = hlo_instruction_attr(instruction, HLO_ATTR_WINDOW),
                *labels = hlo_instruction_attr(instruction, HLO_ATTR_DIM_LABELS);
  if (pad->opcode != HLO_PAD || window == NULL || labels == NULL || shape_is_dynamic(instruction->shape)) return NULL;
  if (!algebraic_is_all(pad->operands[1], 0) || hlo_instruction_attr(instruction, HLO_ATTR_PADDING_TYPE)) return NULL;
  const PaddingConfig *padding = hlo_instruction_attr(pad, HLO_ATTR_PADDING)->value.padding;
  const ConvolutionDimensionNumbers *numbers = labels->value.dim_labels;
  int spatial = window->value.window->rank, moved = 0;
  Arena *arena = instruction->parent->module->arena;
  WindowDimension *dims = ARENA_COPY_ARRAY(arena, WindowDimension, window->value.window->dims, spatial);
  for (int i = 0; i < spatial; i++) {
    const PaddingDimension *by = &padding->dims[numbers->input_spatial[i]];
    if (by->low < 0 || by->high < 0 || by->interior != 0 || dims[i].base_dilation != 1) return NULL;
    dims[i].pad_low += by->low;
    dims[i].pad_high += by->high;
    moved += by->low != 0 || by->high != 0;
  }
  for (int i = 0; i < padding->rank; i++) {
    moved -= padding->dims[i].low != 0 || padding->dims[i].high != 0 || padding->dims[i].interior != 0;
  }
  if (moved != 0) return NULL; /* batch or feature dimensions are padded, too */
  Window *wider = ARENA_NEW(arena, Window);
  *wider = (Window){spatial, dims};
  HloInstruction *operands[2] = {pad->operands[0], instruction->operands[1]};
  HloInstruction *result = hlo_computation_add_clone(instruction->parent, instruction, instruction->shape, operands, 2);
  hlo_instruction_set_attr(result, &(HloAttr){.id = HLO_ATTR_WINDOW, .value.window = wider});
  return result;
}

static const AlgebraicRule rules[] = {
    {HLO_DOT, "dot-of-ones", dot_of_ones},
    {HLO_DOT, "dot-transpose", dot_transpose},
    {HLO_TRANSPOSE, "transpose-dot", transpose_dot},
    {HLO_CONVOLUTION, "convolution-of-pad", convolution_of_pad},
};

AlgebraicRules algebraic_dot_rules(void) {
  return (AlgebraicRules){rules, sizeof rules / sizeof *rules};
}
