#include "passes/memory/split_fit.h"

#include "base/checked_math.h"

/* Along the cut dimension a window reads what is there, padding included; of a dilated operand it may begin, and end,
 * between two elements. */
static void fit_window(HloInstruction *made, const HloSplitMember *member) {
  Arena *arena = made->parent->module->arena;
  const ConvolutionDimensionNumbers *labels = hlo_instruction_dim_labels(made);
  const Window *windows = hlo_instruction_window(made);
  const SplitRead *read = &member->reads[0];
  int dimension = member->dimension;
  if (labels != NULL) {
    const ConvolutionDimensionNumbers *numbers = labels;
    for (dimension = numbers->spatial_rank - 1; dimension >= 0; dimension--)
      if (numbers->output.spatial[dimension] == member->dimension) break;
  }
  if (dimension < 0 || windows == NULL) return;
  const Window *old = windows;
  WindowDimension *dims = ARENA_COPY_ARRAY(arena, WindowDimension, old->dims, old->rank), *cut = &dims[dimension];
  int64_t extent = (cut->size - 1) * cut->window_dilation + 1;
  int64_t there = (made->operands[0]->shape->dims[read->dimension] - 1) * cut->base_dilation + 1;
  int64_t needed = (made->shape->dims[member->dimension] - 1) * cut->stride + extent;
  cut->pad_low -= read->before * cut->base_dilation;
  cut->pad_high = max_i64(needed - there - cut->pad_low, 0);
  Window *window = ARENA_NEW(arena, Window);
  *window = (Window){old->rank, dims};
  hlo_instruction_set_attr(made, &(HloAttr){.id = HLO_ATTR_WINDOW, .value.window = window});
}

/* A convolution of as many groups as there are features in the part. */
static void fit_groups(HloInstruction *made, const HloSplitMember *member) {
  const ConvolutionDimensionNumbers *numbers = hlo_instruction_dim_labels(made);
  int64_t groups = hlo_instruction_int(made, HLO_ATTR_FEATURE_GROUP_COUNT, 1);
  if (groups == 1 || member->dimension != numbers->output.feature) return;
  int64_t whole = member->instruction->shape->dims[member->dimension], part = made->shape->dims[member->dimension];
  hlo_instruction_set_attr(made,
                           &(HloAttr){.id = HLO_ATTR_FEATURE_GROUP_COUNT, .value.integer = part / (whole / groups)});
}

static void fit_slice(HloInstruction *made, const HloSplitMember *member) {
  Arena *arena = made->parent->module->arena;
  const SliceRanges *old = hlo_instruction_slice(made);
  SliceDimension *ranges = ARENA_COPY_ARRAY(arena, SliceDimension, old->dims, old->rank);
  ranges[member->dimension].start = 0;
  ranges[member->dimension].limit = made->operands[0]->shape->dims[member->dimension];
  SliceRanges *attribute = ARENA_NEW(arena, SliceRanges);
  *attribute = (SliceRanges){old->rank, ranges};
  hlo_instruction_set_attr(made, &(HloAttr){.id = HLO_ATTR_SLICE, .value.slice = attribute});
}

static void fit_padding(HloInstruction *made, const HloSplitMember *member) {
  Arena *arena = made->parent->module->arena;
  const PaddingConfig *old = hlo_instruction_padding(made);
  PaddingDimension *dims = ARENA_COPY_ARRAY(arena, PaddingDimension, old->dims, old->rank);
  dims[member->dimension] = (PaddingDimension){0, 0, 0};
  PaddingConfig *config = ARENA_NEW(arena, PaddingConfig);
  *config = (PaddingConfig){old->rank, dims};
  hlo_instruction_set_attr(made, &(HloAttr){.id = HLO_ATTR_PADDING, .value.padding = config});
}

/* What is taken whole of the cut dimension; of a batch one element at a time, as before. */
static void fit_gather(HloInstruction *made, const HloSplitMember *member) {
  Int64List old = hlo_instruction_ints(made, HLO_ATTR_SLICE_SIZES);
  int dimension = member->reads[0].dimension;
  if (dimension == SPLIT_READ_WHOLE || old.data[dimension] != member->instruction->operands[0]->shape->dims[dimension])
    return;
  int64_t *sizes = ARENA_COPY_ARRAY(made->parent->module->arena, int64_t, old.data, old.count);
  sizes[dimension] = made->operands[0]->shape->dims[dimension];
  hlo_instruction_set_ints(made, HLO_ATTR_SLICE_SIZES, sizes, old.count);
}

static void fit_taken(HloInstruction *made, const HloSplitMember *member) {
  (void)member;
  hlo_instruction_set_ints(made, HLO_ATTR_DYNAMIC_SLICE_SIZES, made->shape->dims, made->shape->rank);
}

static void fit_convolution(HloInstruction *made, const HloSplitMember *member) {
  fit_window(made, member);
  fit_groups(made, member);
}

static void (*const fits[HLO_OPCODE_COUNT])(HloInstruction *made, const HloSplitMember *member) = {
    [HLO_CONVOLUTION] = fit_convolution, [HLO_DYNAMIC_SLICE] = fit_taken,
    [HLO_GATHER] = fit_gather,           [HLO_PAD] = fit_padding,
    [HLO_REDUCE_WINDOW] = fit_window,    [HLO_SLICE] = fit_slice,
};

void split_fit_attributes(HloInstruction *made, const HloSplitMember *member) {
  if (fits[made->opcode] != NULL) fits[made->opcode](made, member);
}
