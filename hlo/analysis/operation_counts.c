#include "hlo/analysis/operation_counts.h"

#include <math.h>

#include "hlo/analysis/execution_counts.h"
#include "hlo/analysis/module_work.h"
#include "hlo/analysis/trip_count.h"

static double elements(const Shape *shape) {
  return shape_is_array(shape) ? (double)shape_element_count(shape) : 0;
}

/* Of an array, or of the first of several that are equally large. */
static double first_elements(const Shape *shape) {
  for (int n = 0; n < shape_node_count(shape); n++) {
    if (shape_is_array(shape_node(shape, n))) return elements(shape_node(shape, n));
  }
  return 0;
}

static OperationCounts times(OperationCounts counts, double factor) {
  return (OperationCounts){counts.flops * factor, counts.transcendentals * factor, counts.bytes * factor};
}

static void add(OperationCounts *sum, OperationCounts counts) {
  sum->flops += counts.flops;
  sum->transcendentals += counts.transcendentals;
  sum->bytes += counts.bytes;
}

static OperationCounts arithmetic(const HloInstruction *instruction);

static OperationCounts computation_arithmetic(const HloComputation *computation) {
  OperationCounts sum = {0};
  for (int64_t i = 0; computation != NULL && i < computation->instructions.count; i++)
    add(&sum, arithmetic(computation->instructions.data[i]));
  return sum;
}

/* --- folds --- */

/* Lines of |n| elements, along a dimension of the first operand. */
static double line_length(const HloInstruction *instruction, int64_t dimension) {
  const Shape *shape = instruction->operands[0]->shape;
  return dimension >= 0 && dimension < shape->rank ? (double)shape->dims[dimension] : 1;
}

static OperationCounts comparisons(const HloInstruction *instruction, int64_t dimension) {
  double length = line_length(instruction, dimension);
  return (OperationCounts){.flops = elements(instruction->operands[0]->shape) * log2(fmax(length, 1))};
}

static OperationCounts sort_arithmetic(const HloInstruction *sort) {
  Int64List dims = hlo_instruction_ints(sort, HLO_ATTR_DIMENSIONS);
  return comparisons(sort, dims.count > 0 ? dims.data[0] : -1);
}

static OperationCounts topk_arithmetic(const HloInstruction *topk) {
  return comparisons(topk, topk->operands[0]->shape->rank - 1);
}

static OperationCounts contraction_arithmetic(const HloInstruction *instruction) {
  return (OperationCounts){.flops = elements(instruction->shape) * instruction_folded_elements(instruction)};
}

static OperationCounts reduce_arithmetic(const HloInstruction *reduce) {
  double folds = elements(reduce->operands[0]->shape) - first_elements(reduce->shape);
  return times(computation_arithmetic(hlo_instruction_computation(reduce, HLO_ATTR_TO_APPLY)), fmax(folds, 0));
}

static OperationCounts reduce_window_arithmetic(const HloInstruction *reduce) {
  double folds = first_elements(reduce->shape) * (instruction_folded_elements(reduce) - 1);
  return times(computation_arithmetic(hlo_instruction_computation(reduce, HLO_ATTR_TO_APPLY)), folds);
}

static OperationCounts select_and_scatter_arithmetic(const HloInstruction *instruction) {
  double source = elements(instruction->operands[1]->shape);
  double folds = source * (instruction_folded_elements(instruction) - 1);
  OperationCounts sum =
      times(computation_arithmetic(hlo_instruction_computation(instruction, HLO_ATTR_SELECT_COMPUTATION)), folds);
  add(&sum,
      times(computation_arithmetic(hlo_instruction_computation(instruction, HLO_ATTR_SCATTER_COMPUTATION)), source));
  return sum;
}

static OperationCounts scatter_arithmetic(const HloInstruction *scatter) {
  double updates = elements(scatter->operands[scatter->operand_count - 1]->shape);
  return times(computation_arithmetic(hlo_instruction_computation(scatter, HLO_ATTR_TO_APPLY)), updates);
}

static OperationCounts map_arithmetic(const HloInstruction *map) {
  return times(computation_arithmetic(hlo_instruction_computation(map, HLO_ATTR_TO_APPLY)), elements(map->shape));
}

static OperationCounts fft_arithmetic(const HloInstruction *fft) {
  Int64List lengths = hlo_instruction_ints(fft, HLO_ATTR_FFT_LENGTH);
  const Shape *from = fft->operands[0]->shape, *to = fft->shape;
  bool is_real = !type_is_complex(from->type) || !type_is_complex(to->type);
  double length = 1;
  for (int64_t i = 0; i < lengths.count; i++) length *= (double)lengths.data[i];
  double numbers = fmax(elements(from), elements(to)); /* the real side has them all */
  return (OperationCounts){.flops = (is_real ? 2.5 : 5) * numbers * log2(fmax(length, 1))};
}

static OperationCounts cholesky_arithmetic(const HloInstruction *cholesky) {
  return (OperationCounts){.flops = elements(cholesky->shape) * line_length(cholesky, cholesky->shape->rank - 1) / 3};
}

static OperationCounts solve_arithmetic(const HloInstruction *solve) {
  return (OperationCounts){.flops = elements(solve->shape) * line_length(solve, solve->operands[0]->shape->rank - 1)};
}

static OperationCounts inference_arithmetic(const HloInstruction *norm) {
  return (OperationCounts){.flops = 4 * elements(norm->operands[0]->shape)};
}

static OperationCounts training_arithmetic(const HloInstruction *norm) {
  return (OperationCounts){.flops = 8 * elements(norm->operands[0]->shape)};
}

static OperationCounts gradient_arithmetic(const HloInstruction *norm) {
  return (OperationCounts){.flops = 12 * elements(norm->operands[0]->shape)};
}

static OperationCounts scan_arithmetic(const HloInstruction *scan) {
  return times(computation_arithmetic(hlo_instruction_computation(scan, HLO_ATTR_TO_APPLY)),
               first_elements(scan->operands[0]->shape));
}

static OperationCounts fusion_arithmetic(const HloInstruction *fusion) {
  return computation_arithmetic(hlo_instruction_computation(fusion, HLO_ATTR_CALLS));
}

typedef OperationCounts (*Arithmetic)(const HloInstruction *instruction);

/* Of those that are more than an operation for each element, and those that apply computations. */
static const Arithmetic arithmetic_of[HLO_OPCODE_COUNT] = {[HLO_DOT] = contraction_arithmetic,
                                                           [HLO_SCALED_DOT] = contraction_arithmetic,
                                                           [HLO_RAGGED_DOT] = contraction_arithmetic,
                                                           [HLO_CONVOLUTION] = contraction_arithmetic,
                                                           [HLO_REDUCE] = reduce_arithmetic,
                                                           [HLO_REDUCE_WINDOW] = reduce_window_arithmetic,
                                                           [HLO_SELECT_AND_SCATTER] = select_and_scatter_arithmetic,
                                                           [HLO_SCATTER] = scatter_arithmetic,
                                                           [HLO_SORT] = sort_arithmetic,
                                                           [HLO_TOPK] = topk_arithmetic,
                                                           [HLO_FFT] = fft_arithmetic,
                                                           [HLO_CHOLESKY] = cholesky_arithmetic,
                                                           [HLO_TRIANGULAR_SOLVE] = solve_arithmetic,
                                                           [HLO_BATCH_NORM_INFERENCE] = inference_arithmetic,
                                                           [HLO_BATCH_NORM_TRAINING] = training_arithmetic,
                                                           [HLO_BATCH_NORM_GRAD] = gradient_arithmetic,
                                                           [HLO_SCAN] = scan_arithmetic,
                                                           [HLO_MAP] = map_arithmetic,
                                                           [HLO_FUSION] = fusion_arithmetic};

static OperationCounts arithmetic(const HloInstruction *instruction) {
  Arithmetic special = arithmetic_of[instruction->opcode];
  if (special != NULL) return special(instruction);
  OpCost cost = hlo_opcode_info(instruction->opcode)->cost;
  double count = elements(instruction->shape);
  if (cost >= OP_COST_SQRT && cost <= OP_COST_POWER) return (OperationCounts){.transcendentals = count};
  return cost >= OP_COST_ADD && cost <= OP_COST_DIVIDE ? (OperationCounts){.flops = count} : (OperationCounts){0};
}

/* --- sums --- */

/* One run of |instruction|; nothing of what control flow runs, but a fusion's computation, whose bytes are the fusion's
 * own. */
static OperationCounts instruction_operation_counts(const HloInstruction *instruction) {
  OperationCounts counts = arithmetic(instruction);
  counts.bytes = instruction_bytes(instruction);
  return counts;
}

OperationCounts module_operation_counts(const HloModule *module, int64_t *out_unknown_loops) {
  OperationCounts sum = {0};
  Arena *scratch = arena_create();
  const double *runs = hlo_execution_counts(scratch, module, 1);
  const bool *fused = hlo_module_applied(scratch, module, true); /* part of what applies them */
  *out_unknown_loops = 0;
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    if (fused[computation->id] || runs[computation->id] == 0) continue;
    for (int64_t i = 0; i < computation->instructions.count; i++) {
      const HloInstruction *instruction = computation->instructions.data[i];
      int64_t trips;
      add(&sum, times(instruction_operation_counts(instruction), runs[computation->id]));
      *out_unknown_loops += instruction->opcode == HLO_WHILE && !trip_count_known(instruction, &trips);
    }
  }
  arena_destroy(scratch);
  return sum;
}
