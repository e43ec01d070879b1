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

/* The dims of the list as they are called before the transpose; marks them as taken in |taken| (dims after it). */
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

bool algebraic_dot_exchanges(const HloInstruction *dot, const int64_t *permutation) {
  int batch = (int)hlo_instruction_ints(dot, HLO_ATTR_LHS_BATCH_DIMS).count;
  int contracted = (int)hlo_instruction_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS).count;
  int left = dot->operands[0]->shape->rank - batch - contracted, rank = dot->shape->rank;
  if (left == 0 || left == rank - batch || hlo_instruction_attr(dot, HLO_ATTR_SPARSITY_CONFIG) != NULL) return false;
  for (int i = 0; i < rank; i++) {
    int from = i < batch ? i : batch + (i - batch + left) % (rank - batch);
    if (permutation[i] != from) return false;
  }
  return true;
}

HloInstruction *algebraic_exchanged_dot(HloInstruction *dot, const Shape *shape) {
  HloInstruction *operands[2] = {dot->operands[1], dot->operands[0]};
  HloInstruction *result = hlo_computation_add_clone(dot->parent, dot, shape, operands, 2);
  for (int s = 0; s < 2; s++) {
    Int64List batch = hlo_instruction_ints(dot, sides[1 - s].batch),
              contracting = hlo_instruction_ints(dot, sides[1 - s].contracting);
    if (batch.count > 0) hlo_instruction_set_ints(result, sides[s].batch, batch.data, batch.count);
    hlo_instruction_set_ints(result, sides[s].contracting, contracting.data, contracting.count);
  }
  Int64List precision = hlo_instruction_ints(dot, HLO_ATTR_OPERAND_PRECISION);
  const int64_t exchanged[2] = {precision.count == 2 ? precision.data[1] : 0,
                                precision.count == 2 ? precision.data[0] : 0};
  if (precision.count == 2) hlo_instruction_set_ints(result, HLO_ATTR_OPERAND_PRECISION, exchanged, 2);
  return result;
}

/* transpose(dot(x, y)) → dot(y, x), when it swaps what is free of x and of y: the same products, summed in the same
 * order */
static HloInstruction *transpose_dot(HloInstruction *transpose) {
  HloInstruction *dot = transpose->operands[0];
  if (dot->opcode != HLO_DOT || dot->user_count != 1 || !shape_is_array(transpose->shape)) return NULL;
  if (!algebraic_dot_exchanges(dot, hlo_instruction_ints(transpose, HLO_ATTR_DIMENSIONS).data)) return NULL;
  return algebraic_exchanged_dot(dot, transpose->shape);
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

static bool is_plain_dot(const HloInstruction *dot) {
  if (dot->opcode != HLO_DOT || hlo_instruction_attr(dot, HLO_ATTR_SPARSITY_CONFIG) != NULL) return false;
  if (!shape_is_array(dot->shape) || shape_is_dynamic(dot->shape) || dot->shape->rank > RANK_LIMIT) return false;
  for (int s = 0; s < 2; s++) {
    const Shape *shape = dot->operands[s]->shape;
    if (shape_is_dynamic(shape) || shape->rank > RANK_LIMIT || shape_element_count(shape) == 0) return false;
  }
  return true;
}

/* slice(dot(x, y)) of at most half of it, which nothing else reads → dot(slice(x), slice(y)) */
static HloInstruction *slice_dot(HloInstruction *slice) {
  HloInstruction *dot = slice->operands[0], *operands[2];
  if (!is_plain_dot(dot) || dot->user_count != 1 || shape_is_dynamic(slice->shape)) return NULL;
  int64_t taken = shape_element_count(slice->shape);
  if (taken == 0 || taken > shape_element_count(dot->shape) / 2) return NULL;
  const SliceRanges *ranges = hlo_instruction_slice(slice);
  for (int s = 0; s < 2; s++) {
    operands[s] = dot->operands[s];
    const Shape *from = operands[s]->shape;
    int64_t in_result[RANK_LIMIT], sizes[RANK_LIMIT];
    result_dims(dot, s, in_result);
    SliceDimension dims[RANK_LIMIT];
    for (int d = 0; d < from->rank; d++) {
      dims[d] = in_result[d] < 0 ? (SliceDimension){0, from->dims[d], 1} : ranges->dims[in_result[d]];
      sizes[d] = in_result[d] < 0 ? from->dims[d] : slice->shape->dims[in_result[d]];
    }
    const Shape *shape = shape_array(slice->parent->module->shapes, from->type, sizes, from->rank);
    operands[s] = algebraic_slice(operands[s], shape, dims);
  }
  HloInstruction *result = hlo_computation_add_clone(slice->parent, dot, slice->shape, operands, 2);
  hlo_instruction_remove_sharding(result);
  return result;
}

/* The dims of |list| by their new numbers. */
static void set_renumbered(HloInstruction *dot, HloAttrId attr, Int64List list, const int64_t *numbers) {
  int64_t dims[RANK_LIMIT];
  for (int64_t i = 0; i < list.count; i++) dims[i] = numbers[list.data[i]];
  if (list.count > 0) hlo_instruction_set_ints(dot, attr, dims, list.count);
}

/* dot(broadcast(x), y) along free dimensions that x does not have → broadcast(dot(x, y)): the same row each time */
static HloInstruction *dot_broadcast(HloInstruction *dot) {
  if (!is_plain_dot(dot)) return NULL;
  for (int s = 0; s < 2; s++) {
    const HloInstruction *broadcast = dot->operands[s];
    if (broadcast->opcode != HLO_BROADCAST) continue;
    Int64List own = hlo_instruction_ints(broadcast, HLO_ATTR_DIMENSIONS);
    int64_t in_result[RANK_LIMIT], numbers[RANK_LIMIT], sizes[RANK_LIMIT], places[RANK_LIMIT];
    bool dropped[RANK_LIMIT] = {false};
    int rank = 0, kept = 0;
    result_dims(dot, s, in_result);
    int64_t batch = hlo_instruction_ints(dot, sides[s].batch).count;
    for (int d = 0; d < broadcast->shape->rank; d++) {
      numbers[d] = rank;
      if (!int64_list_has(own, d) && in_result[d] >= batch) {
        dropped[in_result[d]] = true;
      } else {
        sizes[rank++] = broadcast->shape->dims[d];
      }
    }
    if (rank == broadcast->shape->rank) continue;
    for (int64_t i = 0; i < own.count; i++) places[i] = numbers[own.data[i]];
    ShapeTable *table = dot->parent->module->shapes;
    HloInstruction *operands[2] = {dot->operands[0], dot->operands[1]};
    operands[s] =
        algebraic_broadcast(broadcast->operands[0], shape_array(table, broadcast->shape->type, sizes, rank), places);
    int64_t spread[RANK_LIMIT], result_sizes[RANK_LIMIT];
    for (int d = 0; d < dot->shape->rank; d++) {
      if (dropped[d]) continue;
      spread[kept] = d;
      result_sizes[kept++] = dot->shape->dims[d];
    }
    const Shape *shape = shape_array(table, dot->shape->type, result_sizes, kept);
    HloInstruction *result = hlo_computation_add_clone(dot->parent, dot, shape, operands, 2);
    set_renumbered(result, sides[s].batch, hlo_instruction_ints(dot, sides[s].batch), numbers);
    set_renumbered(result, sides[s].contracting, hlo_instruction_ints(dot, sides[s].contracting), numbers);
    hlo_instruction_remove_sharding(result);
    return algebraic_broadcast(result, dot->shape, spread);
  }
  return NULL;
}

/* Dimension i of |merged| is begin[i] to begin[i + 1] of |parts|; false where a reshape does anything else. */
static bool find_parts(const Shape *merged, const Shape *parts, int64_t *out_begin) {
  int next = 0;
  for (int i = 0; i < merged->rank; i++) {
    int64_t size = 1;
    out_begin[i] = next;
    while (next < parts->rank && (next == out_begin[i] || size < merged->dims[i])) size *= parts->dims[next++];
    if (size != merged->dims[i]) return false;
  }
  out_begin[merged->rank] = next;
  return next == parts->rank;
}

/* The operand of side |s|, reshape(transpose(x)), which nothing else reads: its transpose can be taken apart by dims
 * and absorbed (dot_transpose), as free dims keep their order. */
static HloInstruction *merged_transpose(const HloInstruction *dot, int s, int64_t *out_begin) {
  const HloInstruction *reshape = dot->operands[s];
  if (reshape->opcode != HLO_RESHAPE || reshape->user_count != 1) return NULL;
  HloInstruction *transpose = reshape->operands[0];
  if (transpose->opcode != HLO_TRANSPOSE || transpose->user_count != 1) return NULL;
  if (transpose->shape->rank > RANK_LIMIT || !find_parts(reshape->shape, transpose->shape, out_begin)) return NULL;
  Int64List batch = hlo_instruction_ints(dot, sides[s].batch),
            contracting = hlo_instruction_ints(dot, sides[s].contracting),
            permutation = hlo_instruction_ints(transpose, HLO_ATTR_DIMENSIONS);
  int64_t last = -1;
  for (int i = 0; i < reshape->shape->rank; i++) {
    if (int64_list_has(batch, i) && out_begin[i + 1] - out_begin[i] != 1) return NULL;
    if (int64_list_has(batch, i) || int64_list_has(contracting, i)) continue;
    for (int64_t k = out_begin[i]; k < out_begin[i + 1]; k++) {
      if (permutation.data[k] < last) return NULL;
      last = permutation.data[k];
    }
  }
  return transpose;
}

/* The dims of |list| with each replaced by its parts. */
static void set_parts(HloInstruction *dot, HloAttrId attr, Int64List list, const int64_t *begin) {
  int64_t dims[RANK_LIMIT], count = 0;
  for (int64_t i = 0; i < list.count; i++) {
    for (int64_t k = begin[list.data[i]]; k < begin[list.data[i] + 1]; k++) dims[count++] = k;
  }
  if (count > 0) hlo_instruction_set_ints(dot, attr, dims, count);
}

/* dot(reshape(transpose(x)), y) → reshape(dot(transpose(x), reshape(y))) over the dimensions that the reshape merged,
 * in their order: reshapes are views, and the dot reads x where it is */
static HloInstruction *dot_of_merged(HloInstruction *dot) {
  if (!is_plain_dot(dot)) return NULL;
  for (int s = 0; s < 2; s++) {
    int64_t begin[RANK_LIMIT + 1], other_begin[RANK_LIMIT + 1], sizes[RANK_LIMIT];
    HloInstruction *parts = merged_transpose(dot, s, begin), *other = dot->operands[1 - s];
    if (parts == NULL || dot->operands[0] == dot->operands[1]) continue;
    Int64List contracting = hlo_instruction_ints(dot, sides[s].contracting),
              other_contracting = hlo_instruction_ints(dot, sides[1 - s].contracting);
    if (other->shape->rank + parts->shape->rank > RANK_LIMIT) continue;
    int rank = 0;
    for (int d = 0; d < other->shape->rank; d++) {
      other_begin[d] = rank;
      int64_t from = -1;
      for (int64_t i = 0; i < contracting.count; i++) {
        if (other_contracting.data[i] == d) from = contracting.data[i];
      }
      if (from < 0) sizes[rank++] = other->shape->dims[d];
      for (int64_t k = from < 0 ? 0 : begin[from]; from >= 0 && k < begin[from + 1]; k++) {
        sizes[rank++] = parts->shape->dims[k];
      }
    }
    other_begin[other->shape->rank] = rank;
    ShapeTable *table = dot->parent->module->shapes;
    HloInstruction *operands[2];
    operands[s] = parts;
    operands[1 - s] = algebraic_reshape(other, shape_array(table, other->shape->type, sizes, rank));
    HloInstruction *made = hlo_computation_add_clone(dot->parent, dot, dot->shape, operands, 2);
    const int64_t *begins[2];
    begins[s] = begin;
    begins[1 - s] = other_begin;
    for (int side = 0; side < 2; side++) {
      set_parts(made, sides[side].batch, hlo_instruction_ints(dot, sides[side].batch), begins[side]);
      set_parts(made, sides[side].contracting, hlo_instruction_ints(dot, sides[side].contracting), begins[side]);
    }
    int64_t in_result[RANK_LIMIT];
    for (int side = 0; side < 2; side++) {
      result_dims(made, side, in_result);
      for (int d = 0; d < operands[side]->shape->rank; d++) {
        if (in_result[d] >= 0) sizes[in_result[d]] = operands[side]->shape->dims[d];
      }
    }
    int batch = (int)hlo_instruction_ints(made, HLO_ATTR_LHS_BATCH_DIMS).count,
        contracted = (int)hlo_instruction_ints(made, HLO_ATTR_LHS_CONTRACTING_DIMS).count;
    int result_rank = operands[0]->shape->rank + operands[1]->shape->rank - batch - 2 * contracted;
    hlo_instruction_set_shape(made, shape_array(table, dot->shape->type, sizes, result_rank));
    hlo_instruction_remove_sharding(made);
    return algebraic_reshape(made, dot->shape);
  }
  return NULL;
}

static bool adds_from_zero(const HloInstruction *reduce) {
  const HloInstruction *root = hlo_instruction_computation(reduce, HLO_ATTR_TO_APPLY)->root;
  if (reduce->operand_count != 2 || root->opcode != HLO_ADD || root->operands[0] == root->operands[1]) return false;
  bool parameters = root->operands[0]->opcode == HLO_PARAMETER && root->operands[1]->opcode == HLO_PARAMETER;
  return parameters && algebraic_is_all(reduce->operands[1], 0);
}

/* |dot| that contracts over those of its batch dimensions, too, that |reduced| names. */
static HloInstruction *contract_batch(HloInstruction *dot, const Shape *shape, Int64List reduced) {
  HloInstruction *result = hlo_computation_add_clone(dot->parent, dot, shape, dot->operands, 2);
  for (int s = 0; s < 2; s++) {
    Int64List batch = hlo_instruction_ints(dot, sides[s].batch),
              contracting = hlo_instruction_ints(dot, sides[s].contracting);
    int64_t kept[RANK_LIMIT], contracted[RANK_LIMIT], kept_count = 0, count = 0;
    for (int64_t i = 0; i < batch.count; i++) {
      if (int64_list_has(reduced, i)) {
        contracted[count++] = batch.data[i];
      } else {
        kept[kept_count++] = batch.data[i];
      }
    }
    for (int64_t i = 0; i < contracting.count; i++) contracted[count++] = contracting.data[i];
    hlo_instruction_remove_attr(result, sides[s].batch);
    if (kept_count > 0) hlo_instruction_set_ints(result, sides[s].batch, kept, kept_count);
    hlo_instruction_set_ints(result, sides[s].contracting, contracted, count);
  }
  hlo_instruction_remove_sharding(result);
  return result;
}

/* reduce(dot(x, y)) that adds over batch dimensions → dot(x, y) that contracts them, for integers: the dot of every
 * batch is not stored.  Sums of floats are others. */
static HloInstruction *reduce_dot_of(HloInstruction *reduce, bool fast) {
  HloInstruction *dot = reduce->operands[0];
  if (!type_is_integral(reduce->shape->type) && !(fast && algebraic_is_ieee(reduce))) return NULL;
  if (!is_plain_dot(dot) || dot->user_count != 1 || dot->shape->type != reduce->shape->type) return NULL;
  if (!adds_from_zero(reduce)) return NULL;
  Int64List reduced = hlo_instruction_ints(reduce, HLO_ATTR_DIMENSIONS);
  int64_t batch = hlo_instruction_ints(dot, HLO_ATTR_LHS_BATCH_DIMS).count;
  for (int64_t i = 0; i < reduced.count; i++) {
    if (reduced.data[i] >= batch) return NULL;
  }
  return reduced.count > 0 ? contract_batch(dot, reduce->shape, reduced) : NULL;
}

static HloInstruction *reduce_dot(HloInstruction *reduce) {
  return reduce_dot_of(reduce, false);
}

static HloInstruction *reduce_dot_fast(HloInstruction *reduce) {
  return reduce_dot_of(reduce, true);
}

/* --- chains, for --fast-math --- */

/* A product of two matrices: which dimension of each factor is summed over. */
static bool is_matrix_product(const HloInstruction *dot, int64_t *out_contracted) {
  if (!is_plain_dot(dot) || dot->shape->rank != 2 || !algebraic_is_ieee(dot)) return false;
  if (hlo_instruction_attr(dot, HLO_ATTR_OPERAND_PRECISION) != NULL) return false;
  for (int s = 0; s < 2; s++) {
    Int64List contracting = hlo_instruction_ints(dot, sides[s].contracting);
    if (contracting.count != 1 || dot->operands[s]->shape->rank != 2) return false;
    if (dot->operands[s]->shape->type != dot->shape->type) return false;
    out_contracted[s] = contracting.data[0];
  }
  return true;
}

/* The product of two matrices over these dimensions, like |dot| otherwise. */
static HloInstruction *matrix_product(const HloInstruction *dot, HloInstruction *const *factors,
                                      const int64_t *contracted) {
  int64_t sizes[2];
  for (int s = 0; s < 2; s++) sizes[s] = factors[s]->shape->dims[1 - contracted[s]];
  const Shape *shape = shape_array(dot->parent->module->shapes, dot->shape->type, sizes, 2);
  HloInstruction *result = hlo_computation_add_clone(dot->parent, dot, shape, factors, 2);
  for (int s = 0; s < 2; s++) hlo_instruction_set_ints(result, sides[s].contracting, &contracted[s], 1);
  hlo_instruction_remove_sharding(result);
  return result;
}

/* (a · b) · c → a · (b · c) and the other way round, also of transposed factors, where it takes fewer products */
static HloInstruction *dot_chain_fast(HloInstruction *dot) {
  int64_t outer[2], inner[2];
  if (!is_matrix_product(dot, outer)) return NULL;
  for (int s = 0; s < 2; s++) {
    HloInstruction *product = dot->operands[s], *c = dot->operands[1 - s];
    if (product == c || product->user_count != 1 || !is_matrix_product(product, inner)) continue;
    /* |near| is the factor whose free dimension meets c. */
    int near = (int)outer[s];
    HloInstruction *met = product->operands[near], *far = product->operands[1 - near];
    double met_free = (double)met->shape->dims[1 - inner[near]], middle = (double)met->shape->dims[inner[near]],
           far_free = (double)far->shape->dims[1 - inner[1 - near]], c_free = (double)c->shape->dims[1 - outer[1 - s]];
    if (middle * met_free * c_free + far_free * middle * c_free >=
        far_free * middle * met_free + far_free * met_free * c_free)
      continue;
    HloInstruction *factors[2];
    int64_t contracted[2];
    factors[s] = met;
    factors[1 - s] = c;
    contracted[s] = 1 - inner[near];
    contracted[1 - s] = outer[1 - s];
    HloInstruction *first = matrix_product(dot, factors, contracted);
    factors[s] = far;
    factors[1 - s] = first;
    contracted[s] = inner[1 - near];
    contracted[1 - s] = s; /* |first| has the middle dimension where |met| stood */
    return matrix_product(dot, factors, contracted);
  }
  return NULL;
}

/* --- convolution --- */

/* convolution(pad(x, 0), w) → convolution(x, w) with a padded window.  Empty places count as zero, or not at all. */
static HloInstruction *convolution_of_pad(HloInstruction *instruction) {
  const HloInstruction *pad = instruction->operands[0];
  const Window *window = hlo_instruction_window(instruction);
  const ConvolutionDimensionNumbers *numbers = hlo_instruction_dim_labels(instruction);
  if (pad->opcode != HLO_PAD || window == NULL || numbers == NULL || shape_is_dynamic(instruction->shape)) return NULL;
  if (!algebraic_is_all(pad->operands[1], 0) || hlo_instruction_attr(instruction, HLO_ATTR_PADDING_TYPE)) return NULL;
  const PaddingConfig *padding = hlo_instruction_padding(pad);
  int spatial = window->rank, moved = 0;
  Arena *arena = instruction->parent->module->arena;
  WindowDimension *dims = ARENA_COPY_ARRAY(arena, WindowDimension, window->dims, spatial);
  for (int i = 0; i < spatial; i++) {
    const PaddingDimension *by = &padding->dims[numbers->input.spatial[i]];
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

/* The taps of |window|, of which some place of |places| may meet one of |elements|: all between the first and the last
 * that do.  False where none does. */
static bool find_met_taps(const WindowDimension *window, int64_t elements, int64_t places, int64_t *out_first,
                          int64_t *out_last) {
  int64_t step = window->window_dilation, last = window->size - 1;
  int64_t reach = (places - 1) * window->stride - window->pad_low; /* of the first tap, at the last place */
  int64_t room =
      (elements - 1) * window->base_dilation + window->pad_low; /* from there to the end, at the first place */
  int64_t first = reach < 0 ? (-reach + step - 1) / step : 0;
  if (room < 0) return false;
  if (last > room / step) last = room / step;
  *out_first = first;
  *out_last = last;
  return first <= last;
}

/* convolution(x, w) with taps that meet padding alone, at all places → convolution(x, slice(w)), where at most half of
 * them are left: dilated windows on what is smaller than they are.  Empty places count as zero, or not at all. */
static HloInstruction *convolution_of_padding(HloInstruction *instruction) {
  const Window *window = hlo_instruction_window(instruction);
  const ConvolutionDimensionNumbers *numbers = hlo_instruction_dim_labels(instruction);
  HloInstruction *input = instruction->operands[0], *kernel = instruction->operands[1];
  if (window == NULL || numbers == NULL || hlo_instruction_attr(instruction, HLO_ATTR_PADDING_TYPE)) return NULL;
  if (!shape_is_static_array(instruction->shape) || !shape_is_static_array(input->shape) ||
      !shape_is_static_array(kernel->shape) || shape_element_count(instruction->shape) == 0)
    return NULL;
  Arena *arena = instruction->parent->module->arena;
  WindowDimension *dims = ARENA_COPY_ARRAY(arena, WindowDimension, window->dims, window->rank);
  SliceDimension ranges[RANK_LIMIT];
  int64_t sizes[RANK_LIMIT];
  for (int i = 0; i < kernel->shape->rank; i++) {
    sizes[i] = kernel->shape->dims[i];
    ranges[i] = (SliceDimension){0, sizes[i], 1};
  }
  for (int i = 0; i < window->rank; i++) {
    int64_t elements = input->shape->dims[numbers->input.spatial[i]], first, last;
    int64_t places = instruction->shape->dims[numbers->output.spatial[i]], of_kernel = numbers->kernel.spatial[i];
    if (!find_met_taps(&dims[i], elements, places, &first, &last)) return NULL;
    int64_t after = dims[i].size - 1 - last, start = dims[i].reversal ? after : first;
    dims[i].pad_low -= first * dims[i].window_dilation;
    dims[i].pad_high -= after * dims[i].window_dilation;
    dims[i].size = last + 1 - first;
    sizes[of_kernel] = dims[i].size;
    ranges[of_kernel] = (SliceDimension){start, start + dims[i].size, 1};
  }
  const Shape *shape =
      shape_array(instruction->parent->module->shapes, kernel->shape->type, sizes, kernel->shape->rank);
  if (shape == kernel->shape || shape_element_count(shape) > shape_element_count(kernel->shape) / 2) return NULL;
  HloInstruction *operands[2] = {input, algebraic_slice(kernel, shape, ranges)};
  Window *met = ARENA_NEW(arena, Window);
  *met = (Window){window->rank, dims};
  HloInstruction *result = hlo_computation_add_clone(instruction->parent, instruction, instruction->shape, operands, 2);
  hlo_instruction_set_attr(result, &(HloAttr){.id = HLO_ATTR_WINDOW, .value.window = met});
  return result;
}

/* Of the window of a convolution by |window| of an |elements| long dimension with holes, which makes |places|: the one
 * where the factors have changed places and what comes out is turned round; false: it is no such dimension, or its
 * window is not longer than what it makes, as only the gradient of weights is. */
static bool exchanged_window(const WindowDimension *window, int64_t elements, int64_t places, WindowDimension *out) {
  if (window->stride != 1 || window->window_dilation != 1 || window->reversal || elements < 1) return false;
  int64_t step = window->base_dilation, low = places - 1 - window->pad_low;
  *out = (WindowDimension){.size = elements, .stride = 1, .base_dilation = 1, .window_dilation = step};
  out->pad_low = low;
  out->pad_high = places - window->size - low + step * (elements - 1);
  return window->size > places;
}

/* The roles that the same dimensions have where the factors change places. */
static const ConvolutionDimensionNumbers *exchanged_numbers(Arena *arena, const ConvolutionDimensionNumbers *numbers) {
  ConvolutionDimensionNumbers *exchanged = ARENA_NEW(arena, ConvolutionDimensionNumbers);
  *exchanged = (ConvolutionDimensionNumbers){numbers->spatial_rank, numbers->kernel, numbers->input, numbers->output};
  exchanged->output.batch = numbers->output.feature;
  exchanged->output.feature = numbers->output.batch;
  return exchanged;
}

static bool has_groups(const HloInstruction *instruction) {
  return hlo_instruction_int(instruction, HLO_ATTR_FEATURE_GROUP_COUNT, 1) != 1 ||
         hlo_instruction_int(instruction, HLO_ATTR_BATCH_GROUP_COUNT, 1) != 1;
}

/* The window of |instruction|, a convolution of an input with holes, where its factors have changed places; NULL: they
 * are not to. */
static const Window *exchanged_windows(const HloInstruction *instruction, const Window *window,
                                       const ConvolutionDimensionNumbers *numbers) {
  WindowDimension *dims = ARENA_NEW_ARRAY(instruction->parent->module->arena, WindowDimension, window->rank);
  bool has_holes = false;
  for (int i = 0; i < window->rank; i++) {
    int64_t elements = instruction->operands[0]->shape->dims[numbers->input.spatial[i]];
    int64_t places = instruction->shape->dims[numbers->output.spatial[i]];
    if (!exchanged_window(&window->dims[i], elements, places, &dims[i])) return NULL;
    has_holes = has_holes || window->dims[i].base_dilation > 1;
  }
  Window *exchanged = ARENA_NEW(instruction->parent->module->arena, Window);
  *exchanged = (Window){window->rank, dims};
  return has_holes ? exchanged : NULL;
}

/* convolution(x with holes, g) → reverse(convolution(g, x as a window with holes)), where the window is longer than
 * what comes out: then g is the gradient of what a convolution of x with holes has made, and this the one of its
 * weights.  Each place meets all of x then, where only some taps met it before, which ones a quotient told. */
static HloInstruction *convolution_of_holes(HloInstruction *instruction) {
  const Window *window = hlo_instruction_window(instruction);
  const ConvolutionDimensionNumbers *numbers = hlo_instruction_dim_labels(instruction);
  HloInstruction *input = instruction->operands[0], *kernel = instruction->operands[1];
  if (window == NULL || numbers == NULL || hlo_instruction_attr(instruction, HLO_ATTR_PADDING_TYPE)) return NULL;
  if (shape_is_dynamic(instruction->shape) || shape_is_dynamic(input->shape) || shape_is_dynamic(kernel->shape) ||
      has_groups(instruction))
    return NULL;
  const Window *exchanged = exchanged_windows(instruction, window, numbers);
  if (exchanged == NULL) return NULL;
  HloInstruction *operands[2] = {kernel, input};
  HloInstruction *made = hlo_computation_add_clone(instruction->parent, instruction, instruction->shape, operands, 2);
  hlo_instruction_set_attr(made, &(HloAttr){.id = HLO_ATTR_WINDOW, .value.window = exchanged});
  const ConvolutionDimensionNumbers *roles = exchanged_numbers(instruction->parent->module->arena, numbers);
  hlo_instruction_set_attr(made, &(HloAttr){.id = HLO_ATTR_DIM_LABELS, .value.dim_labels = roles});
  HloInstruction *reverse =
      hlo_computation_add(instruction->parent, HLO_REVERSE, instruction->shape, &made, 1, (StringView){0});
  hlo_instruction_set_ints(reverse, HLO_ATTR_DIMENSIONS, numbers->output.spatial, window->rank);
  return reverse;
}

static const AlgebraicRule rules[] = {
    {HLO_DOT, "dot-of-ones", dot_of_ones},
    {HLO_DOT, "dot-transpose", dot_transpose},
    {HLO_DOT, "dot-broadcast", dot_broadcast},
    {HLO_DOT, "dot-of-merged", dot_of_merged},
    {HLO_TRANSPOSE, "transpose-dot", transpose_dot},
    {HLO_SLICE, "slice-dot", slice_dot},
    {HLO_REDUCE, "reduce-dot", reduce_dot},
    {HLO_CONVOLUTION, "convolution-of-pad", convolution_of_pad},
    {HLO_CONVOLUTION, "convolution-of-padding", convolution_of_padding},
    {HLO_CONVOLUTION, "convolution-of-holes", convolution_of_holes},
};

AlgebraicRules algebraic_dot_rules(void) {
  return (AlgebraicRules){rules, sizeof rules / sizeof *rules};
}

AlgebraicRules algebraic_fast_dot_rules(void) {
  static const AlgebraicRule fast_rules[] = {
      {HLO_REDUCE, "reduce-dot-fast", reduce_dot_fast},
      {HLO_DOT, "dot-chain-fast", dot_chain_fast},
  };
  return (AlgebraicRules){fast_rules, sizeof(fast_rules) / sizeof(fast_rules[0])};
}
