#include "passes/memory/split_reads.h"

#include "base/checked_math.h"
#include "hlo/ir/dimension_size.h"

/* hlo/ir/dimension_size.h says which dimension of an operand a dimension of the result is; here is what it takes for
 * places along it to be independent of one another. */

/* A window on a dimension is a small one if it is that many times smaller. */
enum { WINDOWS_IN_WHOLE = 4 };

/* Arrays that are padded or sliced along the dimension have that much more or less of it, at most. */
enum { SHIFTS_IN_WHOLE = 8 };

/* A part of a result that is joined from more arrays takes each of them in turn. */
enum { MOST_JOINED = 8 };

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
  return size->kind == DIMENSION_SAME &&
         !int64_list_has(hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS), dimension);
}

/* Elements of the operand between those of the result would have to be told from those that are not there. */
static bool where_not_dilated(const HloInstruction *pad, int dimension, const DimensionSize *size) {
  (void)pad, (void)dimension;
  return size->kind == DIMENSION_PADDED && size->padding.interior == 0;
}

static int64_t window_extent(const WindowDimension *window) {
  return (window->size - 1) * window->window_dilation + 1;
}

/* A part of the result needs a part of the operand with some more on both sides, which is little beside the whole.  Of
 * a dilated operand windows step from element to element: that is what transposed convolutions do. */
static bool has_small_window(const HloInstruction *instruction, const DimensionSize *size) {
  const WindowDimension *window = &size->window;
  int64_t extent = window_extent(window), whole = instruction->operands[0]->shape->dims[size->dimension];
  if (window->base_dilation > 1 && window->stride > 1) return false;
  return window->pad_low > -extent && window->pad_low < extent &&
         extent <= whole * window->base_dilation / WINDOWS_IN_WHOLE;
}

/* The update is cut as what it updates. */
static bool where_updated_whole(const HloInstruction *update, int dimension, const DimensionSize *size) {
  (void)update, (void)dimension;
  return size->kind == DIMENSION_SAME && size->count == 2;
}

static IndependenceRule *const rules[HLO_OPCODE_COUNT] = {
    [HLO_BITCAST_CONVERT] = where_same,
    [HLO_BROADCAST] = where_new_or_same,
    [HLO_DOT] = where_same,
    [HLO_DYNAMIC_SLICE] = where_same,
    [HLO_DYNAMIC_UPDATE_SLICE] = where_updated_whole,
    [HLO_GATHER] = where_same,
    [HLO_PAD] = where_not_dilated,
    [HLO_REDUCE] = where_same,
    [HLO_REVERSE] = where_not_named,
    [HLO_SORT] = where_not_named,
    [HLO_TRANSPOSE] = where_same,
};

static void reads_of_size(const DimensionSize *size, int64_t scale, SplitRead *out_reads) {
  for (int i = 0; i < size->count && size->kind == DIMENSION_SAME; i++) {
    bool is_last = i == size->count - 1;
    out_reads[size->operand + i] = (SplitRead){(int)(is_last ? size->last_dimension : size->dimension), scale, 0, 0};
  }
  if (size->kind == DIMENSION_PADDED)
    out_reads[0] = (SplitRead){(int)size->dimension, scale, size->padding.low, -size->padding.low};
}

/* Elements of the operand that windows |scale| places apart read: whole steps of the dilation. */
static bool reads_window(const DimensionSize *size, int64_t scale, SplitRead *out_reads, int64_t *out_coarser) {
  const WindowDimension *window = &size->window;
  int64_t dilation = window->base_dilation, extent = window_extent(window);
  if (scale * window->stride % dilation != 0) {
    *out_coarser = dilation / greatest_common_divisor(scale * window->stride, dilation);
    return false;
  }
  int64_t before = floor_div(window->pad_low, dilation);
  int64_t after = floor_div(extent - 1 - window->stride - window->pad_low, dilation) + 1;
  if (dilation == 1) after = max_i64(after, 0); /* what strides leave out at the end does no harm */
  out_reads[0] = (SplitRead){(int)size->dimension, scale * window->stride / dilation, before, after};
  return true;
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

static bool reads_reshape(const HloInstruction *reshape, int dimension, int64_t scale, SplitRead *out_reads,
                          int64_t *out_coarser) {
  const Shape *from = reshape->operands[0]->shape, *to = reshape->shape;
  ReshapeGroup group = {0};
  while (hlo_next_reshape_group(from, to, &group)) {
    if (dimension < group.result_first || dimension >= group.result_end) continue;
    if (group.operand_first == group.operand_end) return false;
    if (outermost(to, group.result_first, group.result_end) != dimension) return false;
    int origin = outermost(from, group.operand_first, group.operand_end);
    int64_t unit = scale * shape_extent(to, dimension + 1, group.result_end);
    int64_t step = shape_extent(from, origin + 1, group.operand_end);
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

/* Features of the result are those of the kernel; of grouped ones, whole groups, with the groups of the image. */
static bool reads_features(const HloInstruction *convolution, const DimensionSize *size, int64_t scale,
                           SplitRead *out_reads, int64_t *out_coarser) {
  const ConvolutionDimensionNumbers *numbers = hlo_instruction_dim_labels(convolution);
  int64_t groups = hlo_instruction_int(convolution, HLO_ATTR_FEATURE_GROUP_COUNT, 1);
  if (hlo_instruction_int(convolution, HLO_ATTR_BATCH_GROUP_COUNT, 1) != 1) return false;
  out_reads[1] = (SplitRead){(int)size->dimension, scale, 0, 0};
  if (groups == 1) return true;
  int64_t made = convolution->operands[1]->shape->dims[numbers->kernel.output_feature] / groups;
  int64_t read = convolution->operands[0]->shape->dims[numbers->input.feature] / groups;
  if (scale % made != 0) {
    *out_coarser = made / greatest_common_divisor(scale, made);
    return false;
  }
  out_reads[0] = (SplitRead){(int)numbers->input.feature, scale / made * read, 0, 0};
  return true;
}

static bool reads_convolution(const HloInstruction *convolution, int dimension, int64_t scale, SplitRead *out_reads,
                              int64_t *out_coarser) {
  const ConvolutionDimensionNumbers *numbers = hlo_instruction_dim_labels(convolution);
  DimensionSize size = hlo_dimension_size(convolution, 0, dimension);
  if (dimension == numbers->output.feature) return reads_features(convolution, &size, scale, out_reads, out_coarser);
  if (hlo_instruction_int(convolution, HLO_ATTR_BATCH_GROUP_COUNT, 1) != 1) return false;
  if (size.kind == DIMENSION_WINDOWED)
    return has_small_window(convolution, &size) && reads_window(&size, scale, out_reads, out_coarser);
  reads_of_size(&size, scale, out_reads);
  return size.kind == DIMENSION_SAME;
}

/* Of one array: the cut of several would have to be that of one. */
static bool reads_windows(const HloInstruction *reduce, int dimension, int64_t scale, SplitRead *out_reads,
                          int64_t *out_coarser) {
  DimensionSize size = hlo_dimension_size(reduce, 0, dimension);
  if (reduce->operand_count != 2) return false;
  if (size.kind == DIMENSION_WINDOWED)
    return has_small_window(reduce, &size) && reads_window(&size, scale, out_reads, out_coarser);
  reads_of_size(&size, scale, out_reads);
  return size.kind == DIMENSION_SAME;
}

/* Along windows that neither overlap nor leave anything out, one place of the source belongs to each of them. */
static bool reads_selected(const HloInstruction *select, int dimension, int64_t scale, SplitRead *out_reads,
                           int64_t *out_coarser) {
  const Window *windows = hlo_instruction_window(select);
  WindowDimension window = windows != NULL ? windows->dims[dimension] : (WindowDimension){.size = 1, .stride = 1};
  int64_t places = select->operands[1]->shape->dims[dimension];
  bool is_partition = window.size == window.stride && window.pad_low == 0 && window.pad_high == 0 &&
                      places * window.stride == select->shape->dims[dimension];
  if (!is_partition) return false;
  if (scale % window.stride != 0) {
    *out_coarser = window.stride / greatest_common_divisor(scale, window.stride);
    return false;
  }
  out_reads[0] = (SplitRead){dimension, scale, 0, 0};
  out_reads[1] = (SplitRead){dimension, scale / window.stride, 0, 0};
  return true;
}

static bool reads_sliced(const HloInstruction *slice, int dimension, int64_t scale, SplitRead *out_reads,
                         int64_t *out_coarser) {
  (void)out_coarser;
  const SliceDimension *range = &hlo_instruction_slice(slice)->dims[dimension];
  if (range->stride < 1) return false;
  int64_t between = range->stride - 1; /* after the last element there is none left out */
  out_reads[0] = (SplitRead){dimension, scale * range->stride, -range->start, range->start - between};
  return true;
}

/* Along the dimension where they are joined, each operand begins where the one before ends. */
static bool reads_joined(const HloInstruction *concatenate, int dimension, int64_t scale, SplitRead *out_reads,
                         int64_t *out_coarser) {
  (void)out_coarser;
  bool is_joined = int64_list_has(hlo_instruction_ints(concatenate, HLO_ATTR_DIMENSIONS), dimension);
  for (int64_t i = 0, begin = 0; i < concatenate->operand_count; i++) {
    out_reads[i] = (SplitRead){dimension, scale, begin, -begin};
    if (is_joined) begin += concatenate->operands[i]->shape->dims[dimension];
  }
  return !is_joined || concatenate->operand_count <= MOST_JOINED;
}

/* The dimension of a scatter's updates that goes with dimension |dimension| of its indices. */
static int64_t update_of_index(const HloInstruction *scatter, int64_t dimension) {
  int64_t vector = hlo_instruction_int(scatter, HLO_ATTR_INDEX_VECTOR_DIM, -1);
  if (dimension == vector) return -1;
  Int64List windows = hlo_instruction_ints(scatter, HLO_ATTR_UPDATE_WINDOW_DIMS);
  Int64List none = {0};
  return int64_lists_omitted(windows, none, int64_lists_omitted_below((Int64List){1, &vector}, none, dimension));
}

/* Arrays and updates of a scatter, whose operands they are beside the indices. */
static void read_scattered(const HloInstruction *scatter, int64_t array, int64_t update, int64_t scale,
                           SplitRead *out_reads) {
  int arrays = (scatter->operand_count - 1) / 2;
  for (int i = 0; i < arrays; i++) {
    if (array >= 0) out_reads[i] = (SplitRead){(int)array, scale, 0, 0};
    out_reads[arrays + 1 + i] = (SplitRead){(int)update, scale, 0, 0};
  }
}

/* Along a dimension of the windows that updates cover, or along a batch. */
static bool reads_scatter(const HloInstruction *scatter, int dimension, int64_t scale, SplitRead *out_reads,
                          int64_t *out_coarser) {
  (void)out_coarser;
  Int64List windows = hlo_instruction_ints(scatter, HLO_ATTR_UPDATE_WINDOW_DIMS);
  Int64List inserted = hlo_instruction_ints(scatter, HLO_ATTR_INSERTED_WINDOW_DIMS);
  Int64List batch = hlo_instruction_ints(scatter, HLO_ATTR_INPUT_BATCHING_DIMS);
  int arrays = (scatter->operand_count - 1) / 2;
  int64_t number = int64_list_find(batch, dimension);
  if (number >= 0) {
    int64_t index = hlo_instruction_ints(scatter, HLO_ATTR_SCATTER_INDICES_BATCHING_DIMS).data[number];
    out_reads[arrays] = (SplitRead){(int)index, scale, 0, 0};
    read_scattered(scatter, dimension, update_of_index(scatter, index), scale, out_reads);
    return true;
  }
  if (int64_list_has(inserted, dimension)) return false;
  int64_t window = windows.data[int64_lists_omitted_below(inserted, batch, dimension)];
  if (scatter->operands[arrays + 1]->shape->dims[window] != scatter->operands[0]->shape->dims[dimension]) return false;
  read_scattered(scatter, dimension, window, scale, out_reads);
  return true;
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
    [HLO_CHOLESKY] = reads_batch,  [HLO_CONCATENATE] = reads_joined,          [HLO_CONVOLUTION] = reads_convolution,
    [HLO_FFT] = reads_batch,       [HLO_GET_TUPLE_ELEMENT] = reads_element,   [HLO_IOTA] = reads_positions,
    [HLO_MAP] = reads_elementwise, [HLO_REDUCE_WINDOW] = reads_windows,       [HLO_RESHAPE] = reads_reshape,
    [HLO_SCATTER] = reads_scatter, [HLO_SELECT_AND_SCATTER] = reads_selected, [HLO_SLICE] = reads_sliced,
    [HLO_TOPK] = reads_batch,      [HLO_TRIANGULAR_SOLVE] = reads_batch,
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

bool split_can_cut(const Shape *shape, int dimension, int64_t size) {
  if (!shape_is_tuple(shape)) return is_plain(shape) && dimension < shape->rank && shape->dims[dimension] == size;
  for (int i = 0; i < shape->tuple_size; i++)
    if (!is_plain(shape->tuple[i]) || !split_can_cut(shape->tuple[i], dimension, size)) return false;
  return shape->tuple_size > 0;
}

bool split_fills(const HloInstruction *instruction) {
  return hlo_opcode_info(instruction->opcode)->access == ACCESS_WINDOW || instruction->opcode == HLO_PAD;
}

/* Whether what it reads may begin and end elsewhere than what it makes. */
static bool shifts(const HloInstruction *instruction) {
  return split_fills(instruction) || instruction->opcode == HLO_SLICE || instruction->opcode == HLO_CONCATENATE;
}

int split_fill_operand(const HloInstruction *instruction) {
  return instruction->opcode == HLO_REDUCE_WINDOW || instruction->opcode == HLO_PAD ? 1 : -1;
}

/* Operands have as many units as the result, |size| elements of |scale| each, or as many as windows reach over. */
static bool operands_fit(const HloInstruction *instruction, int64_t size, int64_t scale, const SplitRead *reads) {
  for (int i = 0; i < instruction->operand_count; i++) {
    const Shape *shape = instruction->operands[i]->shape;
    int64_t elements;
    if (reads[i].dimension < 0 || (shifts(instruction) && is_plain(shape))) continue;
    if (!checked_mul(size, reads[i].scale, &elements) || elements % scale != 0) return false;
    if (!split_can_cut(shape, reads[i].dimension, elements / scale)) return false;
  }
  return true;
}

int64_t split_nominal_size(int64_t units, int64_t scale) {
  int64_t size;
  return checked_mul(units, scale, &size) ? size : INT64_MAX;
}

bool split_reads(const HloInstruction *instruction, int dimension, int64_t scale, int64_t units, SplitRead *out_reads,
                 int64_t *out_coarser) {
  const Shape *shape = shape_result(instruction->shape, 0);
  *out_coarser = 0;
  read_whole(instruction, out_reads);
  if (!shape_is_array(shape) || dimension >= shape->rank) return false;
  int64_t size = shape->dims[dimension], nominal = split_nominal_size(units, scale);
  int64_t off = size > nominal ? size - nominal : nominal - size;
  return off <= nominal / SHIFTS_IN_WHOLE && split_can_cut(instruction->shape, dimension, size) &&
         reads_any(instruction, dimension, scale, out_reads, out_coarser) &&
         operands_fit(instruction, size, scale, out_reads);
}

int64_t split_reads_of_larger(const HloInstruction *instruction, int dimension, int64_t units, SplitRead *out_reads) {
  int64_t size = shape_result(instruction->shape, 0)->dims[dimension], coarser;
  int64_t left = greatest_common_divisor(units, size);
  bool is_cut = left > 1 && split_reads(instruction, dimension, size / left, left, out_reads, &coarser);
  return is_cut ? units / left : 0;
}

/* --- folds --- */

/* Sums of parts are rounded like those of the whole: not where each would be rounded to few bits. */
static bool can_combine(HloOpcode opcode, PrimitiveType type) {
  return hlo_opcode_has(opcode, OP_ASSOCIATIVE) &&
         (hlo_opcode_has(opcode, OP_IDEMPOTENT) || !type_is_float(type) || type_bits(type) >= 32);
}

static bool fold_reads_reduce(const HloInstruction *reduce, int operand, int dimension, int64_t scale,
                              SplitRead *out_reads, HloOpcode *out_opcode) {
  (void)operand;
  const HloInstruction *root = hlo_instruction_computation(reduce, HLO_ATTR_TO_APPLY)->root;
  if (reduce->operand_count != 2 || !int64_list_has(hlo_instruction_ints(reduce, HLO_ATTR_DIMENSIONS), dimension))
    return false;
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

/* Features that are summed: of a gradient by weights, the batch.  Groups of the batch are groups of results, all of
 * which sum all features. */
static bool fold_reads_convolution(const HloInstruction *convolution, int operand, int dimension, int64_t scale,
                                   SplitRead *out_reads, HloOpcode *out_opcode) {
  const ConvolutionDimensionNumbers *numbers = hlo_instruction_dim_labels(convolution);
  const int64_t summed[] = {numbers->input.feature, numbers->kernel.input_feature};
  bool is_grouped = hlo_instruction_int(convolution, HLO_ATTR_FEATURE_GROUP_COUNT, 1) != 1;
  if (!can_combine(HLO_ADD, convolution->shape->type) || is_grouped || summed[operand] != dimension) return false;
  for (int i = 0; i < 2; i++) out_reads[i] = (SplitRead){(int)summed[i], scale, 0, 0};
  *out_opcode = HLO_ADD;
  return true;
}

/* Updates are taken one after the other anyhow: the array goes from part to part. */
static bool fold_reads_scatter(const HloInstruction *scatter, int operand, int dimension, int64_t scale,
                               SplitRead *out_reads, HloOpcode *out_opcode) {
  Int64List batch = hlo_instruction_ints(scatter, HLO_ATTR_SCATTER_INDICES_BATCHING_DIMS);
  if (scatter->operand_count != 3 || operand == 0) return false;
  for (int64_t i = 0; i < scatter->operands[1]->shape->rank; i++) {
    int64_t update = update_of_index(scatter, i);
    if (update < 0 || dimension != (operand == 1 ? i : update)) continue;
    if (int64_list_has(batch, i)) return false;
    out_reads[1] = (SplitRead){(int)i, scale, 0, 0};
    out_reads[2] = (SplitRead){(int)update, scale, 0, 0};
    *out_opcode = HLO_SCATTER;
    return true;
  }
  return false;
}

typedef bool FoldRule(const HloInstruction *instruction, int operand, int dimension, int64_t scale,
                      SplitRead *out_reads, HloOpcode *out_opcode);

/* And of how many of the operands that are cut may be. */
static const struct {
  FoldRule *rule;
  int operands;
} fold_rules[HLO_OPCODE_COUNT] = {
    [HLO_CONVOLUTION] = {fold_reads_convolution, 2},
    [HLO_DOT] = {fold_reads_dot, 2},
    [HLO_REDUCE] = {fold_reads_reduce, 1},
    [HLO_SCATTER] = {fold_reads_scatter, 3},
};

bool split_fold_reads(const HloInstruction *instruction, int operand, int dimension, int64_t scale, int64_t units,
                      SplitRead *out_reads, HloOpcode *out_opcode) {
  FoldRule *rule = fold_rules[instruction->opcode].rule;
  int64_t size = split_nominal_size(units, scale);
  read_whole(instruction, out_reads);
  if (rule == NULL || operand >= fold_rules[instruction->opcode].operands || !is_plain(instruction->shape))
    return false;
  if (instruction->operands[operand]->shape->dims[dimension] != size ||
      !rule(instruction, operand, dimension, scale, out_reads, out_opcode))
    return false;
  for (int i = 0; i < instruction->operand_count; i++) {
    if (out_reads[i].dimension >= 0 && !split_can_cut(instruction->operands[i]->shape, out_reads[i].dimension, size))
      return false;
  }
  return true;
}
