#include "passes/memory/split_reads.h"

#include "base/checked_math.h"
#include "hlo/ir/dimension_size.h"

/* hlo/ir/dimension_size.h says which dimension of an operand a dimension of the result is; here is what it takes for
 * places along it to be independent of one another. */

/* A window on a dimension is a small one if it is that many times smaller. */
enum { WINDOWS_IN_WHOLE = 4 };

static bool has(Int64List list, int64_t value) {
  for (int64_t i = 0; i < list.count; i++)
    if (list.data[i] == value) return true;
  return false;
}

static void read_whole(const HloInstruction *instruction, SplitRead *out_reads) {
  for (int i = 0; i < instruction->operand_count; i++) out_reads[i] = (SplitRead){SPLIT_READ_WHOLE, 0, 0, 0};
}

/* Whether a cut along |dimension| leaves an operation of the same kind, where the size comes from one of the operands.
 */
typedef bool IndependenceRule(const HloInstruction *instruction, int dimension, const DimensionSize *size);

static bool where_same(const HloInstruction *instruction, int dimension, const DimensionSize *size) {
  (void)instruction, (void)dimension;
  return size->kind == DIMENSION_SAME;
}

static bool where_new_or_same(const HloInstruction *instruction, int dimension, const DimensionSize *size) {
  (void)instruction, (void)dimension;
  return size->kind == DIMENSION_SAME || size->kind == DIMENSION_BOUND;
}

static bool where_not_named(const HloInstruction *instruction, int dimension, const DimensionSize *size) {
  return size->kind == DIMENSION_SAME && !has(hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS), dimension);
}

static bool where_not_padded(const HloInstruction *pad, int dimension, const DimensionSize *size) {
  (void)pad, (void)dimension;
  const PaddingDimension *padding = &size->padding;
  return size->kind == DIMENSION_PADDED && padding->low == 0 && padding->high == 0 && padding->interior == 0;
}

static int64_t window_extent(const WindowDimension *window) {
  return (window->size - 1) * window->window_dilation + 1;
}

/* A part of the result needs a part of the operand with some more on both sides, which is little beside the whole. */
static bool has_small_window(const HloInstruction *instruction, const DimensionSize *size) {
  const WindowDimension *window = &size->window;
  int64_t extent = window_extent(window), whole = instruction->operands[0]->shape->dims[size->dimension];
  return window->base_dilation == 1 && window->pad_low >= 0 && window->pad_low < extent &&
         extent <= whole / WINDOWS_IN_WHOLE;
}

static bool where_of_one(const HloInstruction *instruction, int dimension, const DimensionSize *size) {
  (void)dimension;
  if (instruction->operand_count != 2) return false;
  return size->kind == DIMENSION_SAME || (size->kind == DIMENSION_WINDOWED && has_small_window(instruction, size));
}

/* Groups tie the features, or the batch, of one side to those of the other. */
static bool where_not_grouped(const HloInstruction *convolution, int dimension, const DimensionSize *size) {
  (void)dimension;
  return size->kind == DIMENSION_SAME && hlo_instruction_int(convolution, HLO_ATTR_FEATURE_GROUP_COUNT, 1) *
                                                 hlo_instruction_int(convolution, HLO_ATTR_BATCH_GROUP_COUNT, 1) ==
                                             1;
}

static bool is_batch_of_groups(const HloInstruction *convolution, int dimension) {
  const ConvolutionDimensionNumbers *numbers = hlo_instruction_attr(convolution, HLO_ATTR_DIM_LABELS)->value.dim_labels;
  return dimension != numbers->output_feature && hlo_instruction_int(convolution, HLO_ATTR_BATCH_GROUP_COUNT, 1) == 1;
}

static bool in_convolution(const HloInstruction *convolution, int dimension, const DimensionSize *size) {
  bool keeps_groups = is_batch_of_groups(convolution, dimension);
  if (size->kind == DIMENSION_WINDOWED) return keeps_groups && has_small_window(convolution, size);
  if (size->kind == DIMENSION_SAME && keeps_groups) return true;
  return where_not_grouped(convolution, dimension, size);
}

/* The update is cut as what it updates. */
static bool where_updated_whole(const HloInstruction *update, int dimension, const DimensionSize *size) {
  (void)update, (void)dimension;
  return size->kind == DIMENSION_SAME && size->count == 2;
}

/* A batch of the operand as well as of the indices would have to be found in both. */
static bool where_not_batched(const HloInstruction *gather, int dimension, const DimensionSize *size) {
  (void)dimension;
  return size->kind == DIMENSION_SAME && hlo_instruction_ints(gather, HLO_ATTR_OPERAND_BATCHING_DIMS).count == 0;
}

static IndependenceRule *const rules[HLO_OPCODE_COUNT] = {
    [HLO_BITCAST_CONVERT] = where_same,
    [HLO_BROADCAST] = where_new_or_same,
    [HLO_CONCATENATE] = where_same,
    [HLO_CONVOLUTION] = in_convolution,
    [HLO_DOT] = where_same,
    [HLO_DYNAMIC_SLICE] = where_same,
    [HLO_DYNAMIC_UPDATE_SLICE] = where_updated_whole,
    [HLO_GATHER] = where_not_batched,
    [HLO_PAD] = where_not_padded,
    [HLO_REDUCE] = where_same,
    [HLO_REDUCE_WINDOW] = where_of_one,
    [HLO_REVERSE] = where_not_named,
    [HLO_SLICE] = where_same,
    [HLO_SORT] = where_not_named,
    [HLO_TRANSPOSE] = where_same,
};

static void reads_of_size(const DimensionSize *size, int64_t scale, SplitRead *out_reads) {
  for (int i = 0; i < size->count && size->kind == DIMENSION_SAME; i++) {
    bool is_last = i == size->count - 1;
    out_reads[size->operand + i] = (SplitRead){(int)(is_last ? size->last_dimension : size->dimension), scale, 0, 0};
  }
  if (size->kind == DIMENSION_PADDED) out_reads[0] = (SplitRead){(int)size->dimension, scale, 0, 0};
  if (size->kind != DIMENSION_WINDOWED) return;
  const WindowDimension *window = &size->window;
  int64_t after = window_extent(window) - window->stride - window->pad_low;
  out_reads[0] = (SplitRead){(int)size->dimension, scale * window->stride, window->pad_low, after > 0 ? after : 0};
}

/* --- families with rules of their own --- */

static bool reads_elementwise(const HloInstruction *instruction, int dimension, int64_t scale, SplitRead *out_reads,
                              int64_t *out_coarser) {
  (void)out_coarser;
  for (int i = 0; i < instruction->operand_count; i++) {
    const Shape *shape = instruction->operands[i]->shape;
    if (!shape_is_array(shape)) return false;
    if (shape->rank > 0) out_reads[i] = (SplitRead){dimension, scale, 0, 0};
  }
  return true;
}

/* How many of the last dimensions an operation works on; those before are a batch. */
static int worked_on(const HloInstruction *instruction) {
  if (instruction->opcode == HLO_FFT) return (int)hlo_instruction_ints(instruction, HLO_ATTR_FFT_LENGTH).count;
  return instruction->opcode == HLO_TOPK ? 1 : 2;
}

static bool reads_batch(const HloInstruction *instruction, int dimension, int64_t scale, SplitRead *out_reads,
                        int64_t *out_coarser) {
  int rank = instruction->operands[0]->shape->rank;
  if (dimension >= rank - worked_on(instruction)) return false;
  return reads_elementwise(instruction, dimension, scale, out_reads, out_coarser);
}

/* The dimension of |shape| among those from |first| on and before |end| that varies most slowly. */
static int outermost(const Shape *shape, int first, int end) {
  while (first < end - 1 && shape->dims[first] == 1) first++;
  return first;
}

static int64_t elements_after(const Shape *shape, int dimension, int end) {
  int64_t product = 1;
  for (int i = dimension + 1; i < end; i++) product *= shape->dims[i];
  return product;
}

static bool reads_reshape(const HloInstruction *reshape, int dimension, int64_t scale, SplitRead *out_reads,
                          int64_t *out_coarser) {
  const Shape *from = reshape->operands[0]->shape, *to = reshape->shape;
  ReshapeGroup group = {0};
  while (hlo_next_reshape_group(from, to, &group)) {
    if (dimension < group.result_first || dimension >= group.result_end) continue;
    if (group.operand_first == group.operand_end) return false;
    if (outermost(to, group.result_first, group.result_end) != dimension) return false;
    int origin = outermost(from, group.operand_first, group.operand_end);
    int64_t unit = scale * elements_after(to, dimension, group.result_end);
    int64_t step = elements_after(from, origin, group.operand_end);
    if (step == 0) return false;
    if (unit % step != 0) {
      *out_coarser = step / greatest_common_divisor(unit, step);
      return false;
    }
    out_reads[0] = (SplitRead){origin, unit / step, 0, 0};
    return true;
  }
  return false;
}

static int64_t nth_other(Int64List list, int64_t n) {
  for (int64_t i = 0;; i++)
    if (!has(list, i) && n-- == 0) return i;
}

/* Along a dimension of the windows that updates cover. */
static bool reads_scatter(const HloInstruction *scatter, int dimension, int64_t scale, SplitRead *out_reads,
                          int64_t *out_coarser) {
  (void)out_coarser;
  Int64List windows = hlo_instruction_ints(scatter, HLO_ATTR_UPDATE_WINDOW_DIMS);
  Int64List inserted = hlo_instruction_ints(scatter, HLO_ATTR_INSERTED_WINDOW_DIMS);
  if (scatter->operand_count != 3 || hlo_instruction_ints(scatter, HLO_ATTR_INPUT_BATCHING_DIMS).count > 0)
    return false;
  for (int64_t i = 0; i < windows.count; i++) {
    if (nth_other(inserted, i) != dimension) continue;
    int64_t window = windows.data[i];
    if (scatter->operands[2]->shape->dims[window] != scatter->operands[0]->shape->dims[dimension]) return false;
    out_reads[0] = (SplitRead){dimension, scale, 0, 0};
    out_reads[2] = (SplitRead){(int)window, scale, 0, 0};
    return true;
  }
  return false;
}

static bool reads_positions(const HloInstruction *iota, int dimension, int64_t scale, SplitRead *out_reads,
                            int64_t *out_coarser) {
  (void)iota, (void)dimension, (void)scale, (void)out_reads, (void)out_coarser;
  return true;
}

static bool reads_element(const HloInstruction *element, int dimension, int64_t scale, SplitRead *out_reads,
                          int64_t *out_coarser) {
  (void)element, (void)out_coarser;
  out_reads[0] = (SplitRead){dimension, scale, 0, 0};
  return true;
}

typedef bool ReadsRule(const HloInstruction *instruction, int dimension, int64_t scale, SplitRead *out_reads,
                       int64_t *out_coarser);

static ReadsRule *const own_rules[HLO_OPCODE_COUNT] = {
    [HLO_CHOLESKY] = reads_batch,  [HLO_FFT] = reads_batch,       [HLO_GET_TUPLE_ELEMENT] = reads_element,
    [HLO_IOTA] = reads_positions,  [HLO_MAP] = reads_elementwise, [HLO_RESHAPE] = reads_reshape,
    [HLO_SCATTER] = reads_scatter, [HLO_TOPK] = reads_batch,      [HLO_TRIANGULAR_SOLVE] = reads_batch,
};

static bool reads_any(const HloInstruction *instruction, int dimension, int64_t scale, SplitRead *out_reads,
                      int64_t *out_coarser) {
  HloOpcode opcode = instruction->opcode;
  if (own_rules[opcode] != NULL) return own_rules[opcode](instruction, dimension, scale, out_reads, out_coarser);
  if (hlo_opcode_has(opcode, OP_STAYS)) return false;
  if (hlo_opcode_has(opcode, OP_ELEMENTWISE))
    return reads_elementwise(instruction, dimension, scale, out_reads, out_coarser);
  if (rules[opcode] == NULL) return false;
  DimensionSize size = hlo_dimension_size(instruction, 0, dimension);
  if (!rules[opcode](instruction, dimension, &size)) return false;
  reads_of_size(&size, scale, out_reads);
  return true;
}

/* --- what can be cut at all --- */

static bool is_plain(const Shape *shape) {
  return shape_is_array(shape) && shape->dynamic == NULL && shape_has_default_layout(shape) &&
         shape->layout.tile_count == 0 && shape->layout.element_size_in_bits == 0 && shape->layout.memory_space == 0;
}

static bool is_cut(const Shape *shape, int dimension, int64_t size) {
  if (!shape_is_tuple(shape)) return is_plain(shape) && dimension < shape->rank && shape->dims[dimension] == size;
  for (int i = 0; i < shape->tuple_size; i++)
    if (!is_plain(shape->tuple[i]) || !is_cut(shape->tuple[i], dimension, size)) return false;
  return shape->tuple_size > 0;
}

static bool is_windowed(const HloInstruction *instruction) {
  return hlo_opcode_info(instruction->opcode)->access == ACCESS_WINDOW;
}

int split_fill_operand(const HloInstruction *instruction) {
  return instruction->opcode == HLO_REDUCE_WINDOW ? 1 : -1;
}

static bool operands_fit(const HloInstruction *instruction, int64_t units, const SplitRead *reads) {
  for (int i = 0; i < instruction->operand_count; i++) {
    if (reads[i].dimension < 0) continue;
    if (is_windowed(instruction) && is_plain(instruction->operands[i]->shape)) continue; /* as far as windows reach */
    if (!is_cut(instruction->operands[i]->shape, reads[i].dimension, units * reads[i].scale)) return false;
  }
  return true;
}

bool split_reads(const HloInstruction *instruction, int dimension, int64_t scale, int64_t units, SplitRead *out_reads,
                 int64_t *out_coarser) {
  *out_coarser = 0;
  read_whole(instruction, out_reads);
  return is_cut(instruction->shape, dimension, units * scale) &&
         reads_any(instruction, dimension, scale, out_reads, out_coarser) &&
         operands_fit(instruction, units, out_reads);
}

/* --- folds --- */

/* Sums of parts are rounded like those of the whole: not where each would be rounded to few bits. */
static bool can_combine(HloOpcode opcode, PrimitiveType type) {
  return hlo_opcode_has(opcode, OP_ASSOCIATIVE) &&
         (hlo_opcode_has(opcode, OP_IDEMPOTENT) || !type_is_float(type) || type_bits(type) >= 32);
}

static bool fold_reads_reduce(const HloInstruction *reduce, int dimension, int64_t scale, SplitRead *out_reads,
                              HloOpcode *out_opcode) {
  const HloInstruction *root = hlo_instruction_computation(reduce, HLO_ATTR_TO_APPLY)->root;
  if (reduce->operand_count != 2 || !has(hlo_instruction_ints(reduce, HLO_ATTR_DIMENSIONS), dimension)) return false;
  if (root->operand_count != 2 || root->operands[0] == root->operands[1]) return false;
  if (root->operands[0]->opcode != HLO_PARAMETER || root->operands[1]->opcode != HLO_PARAMETER) return false;
  if (root->shape->type != reduce->operands[0]->shape->type || !can_combine(root->opcode, root->shape->type))
    return false;
  out_reads[0] = (SplitRead){dimension, scale, 0, 0};
  *out_opcode = root->opcode;
  return true;
}

static bool fold_reads_dot(const HloInstruction *dot, int operand, int dimension, int64_t scale, SplitRead *out_reads,
                           HloOpcode *out_opcode) {
  static const HloAttrId ids[] = {HLO_ATTR_LHS_CONTRACTING_DIMS, HLO_ATTR_RHS_CONTRACTING_DIMS};
  if (!can_combine(HLO_ADD, dot->shape->type)) return false;
  Int64List mine = hlo_instruction_ints(dot, ids[operand]), other = hlo_instruction_ints(dot, ids[1 - operand]);
  for (int64_t i = 0; i < mine.count; i++) {
    if (mine.data[i] != dimension) continue;
    out_reads[operand] = (SplitRead){dimension, scale, 0, 0};
    out_reads[1 - operand] = (SplitRead){(int)other.data[i], scale, 0, 0};
    *out_opcode = HLO_ADD;
    return true;
  }
  return false;
}

bool split_fold_reads(const HloInstruction *instruction, int operand, int dimension, int64_t scale,
                      SplitRead *out_reads, HloOpcode *out_opcode) {
  read_whole(instruction, out_reads);
  if (!is_plain(instruction->shape) || instruction->operands[operand]->shape->dims[dimension] % scale != 0)
    return false;
  int64_t units = instruction->operands[operand]->shape->dims[dimension] / scale;
  bool folds = instruction->opcode == HLO_REDUCE && operand == 0
                   ? fold_reads_reduce(instruction, dimension, scale, out_reads, out_opcode)
               : instruction->opcode == HLO_DOT && operand < 2
                   ? fold_reads_dot(instruction, operand, dimension, scale, out_reads, out_opcode)
                   : false;
  return folds && operands_fit(instruction, units, out_reads);
}
