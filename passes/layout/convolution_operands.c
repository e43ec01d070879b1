/* convolution-operands: a convolution reads what was transposed for it as it lies in memory.
 *
 * A convolution's labels say which dimension of an operand is what, so a transpose before it is a matter of the labels.
 * The code for a Buffer loads tiles of any order, at the price of their bytes; a transpose beside it would write the
 * whole array to memory and read it again.  Frameworks that store weights with their features last transpose each of
 * them for a channel-major convolution.  The host's convolutions read weights fast in one order, which the image's
 * decides: there a transpose goes only if the weights have that order without it. */
#include "hlo/machine/description/machine_abilities.h"
#include "passes/layout/turned_value.h"
#include "passes/pipeline/hlo_pass.h"

/* Where dimension |dim| of what |transpose| makes is in what it reads. */
static int64_t place_before(const HloInstruction *transpose, int64_t dim) {
  return hlo_instruction_ints(transpose, HLO_ATTR_DIMENSIONS).data[dim];
}

static const int64_t *places_before(const HloInstruction *transpose, const int64_t *dims, int count) {
  int64_t *places = ARENA_NEW_ARRAY(transpose->parent->module->arena, int64_t, count);
  for (int i = 0; i < count; i++) places[i] = place_before(transpose, dims[i]);
  return places;
}

/* A transpose that would stay for others is not worth reading past. */
static bool is_for_convolutions(const HloInstruction *value) {
  if (value->opcode != HLO_TRANSPOSE || !layout_is_plain(value) || !layout_is_plain(value->operands[0])) return false;
  for (int32_t u = 0; u < value->user_count; u++) {
    if (value->users[u]->opcode != HLO_CONVOLUTION) return false;
  }
  return !hlo_instruction_is_root(value);
}

/* The labels of |convolution| if it reads what its operand |index|, a transpose, reads. */
static const ConvolutionDimensionNumbers *labels_before(const HloInstruction *convolution, int index) {
  const HloInstruction *transpose = convolution->operands[index];
  const ConvolutionDimensionNumbers *old = hlo_instruction_dim_labels(convolution);
  ConvolutionDimensionNumbers *labels = ARENA_NEW(convolution->parent->module->arena, ConvolutionDimensionNumbers);
  *labels = *old;
  ConvolutionRoles *roles = index == 0 ? &labels->input : &labels->kernel;
  roles->batch = place_before(transpose, roles->batch);
  roles->feature = place_before(transpose, roles->feature);
  roles->spatial = places_before(transpose, roles->spatial, old->spatial_rank);
  return labels;
}

/* Weights whose features are where the image's are: before the positions, or after them. */
static bool weights_suit_image(const ConvolutionDimensionNumbers *labels) {
  int last = labels->spatial_rank + 1;
  if (labels->input.batch != 0) return false;
  if (labels->input.feature == last)
    return labels->kernel.input_feature == last - 1 && labels->kernel.output_feature == last;
  return labels->input.feature == 1 && labels->kernel.output_feature == 0 && labels->kernel.input_feature == 1;
}

static bool read_as_stored(HloPassContext *context, HloInstruction *convolution, int index) {
  if (!is_for_convolutions(convolution->operands[index])) return false;
  const ConvolutionDimensionNumbers *labels = labels_before(convolution, index);
  bool takes_any_order = machine_has_buffer(context->options->machine);
  if (!takes_any_order && (index == 0 || !weights_suit_image(labels))) return false;
  hlo_pass_count_rewrite(context, "as-stored", convolution);
  hlo_instruction_set_attr(convolution, &(HloAttr){.id = HLO_ATTR_DIM_LABELS, .value.dim_labels = labels});
  hlo_instruction_replace_operand(convolution, index, convolution->operands[index]->operands[0]);
  return true;
}

static Status run_convolution_operands(HloPassContext *context, HloModule *module, bool *out_changed) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    HloComputation *computation = module->computations.data[c];
    bool is_changed = false;
    for (int64_t i = 0; i < computation->instructions.count && hlo_pass_may_rewrite(context); i++) {
      HloInstruction *convolution = computation->instructions.data[i];
      if (convolution->opcode != HLO_CONVOLUTION || hlo_instruction_dim_labels(convolution) == NULL) continue;
      for (int o = 0; o < convolution->operand_count; o++)
        is_changed = read_as_stored(context, convolution, o) || is_changed;
    }
    /* A transpose that nothing reads any more would seem to be for others to what stands before it. */
    if (is_changed) hlo_computation_remove_dead(computation);
    *out_changed |= is_changed;
  }
  return STATUS_OK;
}

const HloPass hlo_convolution_operands_pass = {"convolution-operands",
                                               "a convolution reads what was transposed for it as it lies in memory",
                                               run_convolution_operands, false};
