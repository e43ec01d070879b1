#include "hlo/ir/collective_reducer.h"
#include "passes/cleanup/control_edges.h"
#include "passes/cleanup/shape_coercion.h"
#include "passes/expand/graph_builder.h"
#include "passes/pipeline/control_computations.h"

/* Windows along several dimensions that a machine with a Buffer folds more slowly than it moves what they read and
 * make, one dimension after the other: windows that overlap share what is folded along the first.
 *
 *   y = f32[8,28,28,192] reduce-window(x, low), size=1x3x3x1   ->   rows = reduce-window(x, low), size=1x1x3x1
 *                                                                   y = reduce-window(rows, low), size=1x3x1x1
 *
 * Operations alone that leave x as it is when x comes twice (the larger, the smaller, and, or): their results do not
 * depend on the order, nor on how often the first value takes part.  An array more passes through memory, so it has to
 * pay: by the machine's prices, a quarter of the cycles at least, and what filling the Buffer once more takes. */

#define WORTHWHILE 0.75

typedef struct WindowSplit {
  const MachineDescription *machine;
  const HloInstruction *fold;
  const Window *window;
  HloOpcode opcode;
} WindowSplit;

/* --- what it takes --- */

/* Whether dimension |d| belongs to a fold of the dimensions |folded|. */
static bool has_dim(uint64_t folded, int d) {
  return (folded >> d & 1) != 0;
}

/* Cycles of folding along |folded| where |done| are folded before. */
static double fold_cycles(const WindowSplit *split, uint64_t folded, uint64_t done) {
  const Shape *from = split->fold->operands[0]->shape, *to = split->fold->shape;
  PrimitiveType type = to->type;
  double read = 1, made = 1, taps = 1;
  for (int d = 0; d < to->rank; d++) {
    read *= (double)(has_dim(done, d) ? to : from)->dims[d];
    made *= (double)(has_dim(done | folded, d) ? to : from)->dims[d];
    if (has_dim(folded, d)) taps *= (double)split->window->dims[d].size;
  }
  double bytes = (double)type_storage_bytes(type);
  double steps = machine_least_lane_cycles(split->machine, split->opcode, type, made * (taps - 1));
  double moves = machine_least_move_cycles(split->machine, read * bytes, made * bytes);
  return steps > moves ? steps : moves;
}

static uint64_t window_dims(const WindowSplit *split) {
  uint64_t dims = 0;
  for (int d = 0; d < split->window->rank; d++) {
    const WindowDimension *of = &split->window->dims[d];
    bool is_whole = of->size == 1 && of->stride == 1 && of->pad_low == 0 && of->pad_high == 0 && of->base_dilation == 1;
    if (!is_whole) dims |= UINT64_C(1) << d;
  }
  return dims;
}

/* The dimension to fold first, -1 where all of them together are as good. */
static int first_dim(const WindowSplit *split) {
  uint64_t dims = window_dims(split);
  double room = (double)machine_buffer_usable(split->machine);
  double least = WORTHWHILE * fold_cycles(split, dims, 0) - machine_least_move_cycles(split->machine, room, 0);
  int best = -1;
  for (int d = 0; d < split->window->rank; d++) {
    uint64_t first = UINT64_C(1) << d;
    if (!has_dim(dims, d) || first == dims) continue;
    double cycles = fold_cycles(split, first, 0) + fold_cycles(split, dims & ~first, first);
    if (cycles >= least) continue;
    least = cycles;
    best = d;
  }
  return best;
}

/* --- the pass --- */

static bool may_be_split(const MachineDescription *machine, const HloInstruction *fold, WindowSplit *out_split) {
  if (fold->opcode != HLO_REDUCE_WINDOW || fold->operand_count != 2 || !shape_is_array(fold->shape)) return false;
  const Window *window = hlo_instruction_window(fold);
  const HloComputation *reducer = hlo_instruction_computation(fold, HLO_ATTR_TO_APPLY);
  const Shape *from = fold->operands[0]->shape, *to = fold->shape;
  if (window == NULL || shape_is_dynamic(from) || shape_is_dynamic(to) || from->type != to->type) return false;
  if (shape_element_count(from) == 0 || shape_element_count(to) == 0) return false;
  *out_split = (WindowSplit){machine, fold, window, HLO_TUPLE};
  return hlo_reducer_opcode(reducer, &out_split->opcode) && hlo_opcode_has(out_split->opcode, OP_IDEMPOTENT) &&
         reducer->root->shape->type == to->type;
}

/* |value| folded along dimension |first| as the origin does it, or along all others. */
static HloInstruction *fold_along(GraphBuilder *builder, const WindowSplit *split, HloInstruction *value, int first,
                                  bool is_first) {
  static const WindowDimension whole = {.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
  Arena *arena = builder->computation->module->arena;
  int rank = split->window->rank;
  WindowDimension *windows = ARENA_COPY_ARRAY(arena, WindowDimension, split->window->dims, rank);
  int64_t *dims = ARENA_COPY_ARRAY(builder->scratch, int64_t, value->shape->dims, rank);
  for (int d = 0; d < rank; d++) {
    if ((d == first) == is_first)
      dims[d] = split->fold->shape->dims[d];
    else
      windows[d] = whole;
  }
  Window *window = ARENA_NEW(arena, Window);
  *window = (Window){rank, windows};
  HloInstruction *operands[] = {value, graph_operand(builder, 1)};
  const Shape *shape = shape_array(graph_shapes(builder), value->shape->type, dims, rank);
  HloInstruction *made = graph_add(builder, HLO_REDUCE_WINDOW, shape, operands, 2);
  hlo_instruction_set_attr(made, &(HloAttr){.id = HLO_ATTR_WINDOW, .value.window = window});
  hlo_instruction_set_attr(made, hlo_instruction_attr(split->fold, HLO_ATTR_TO_APPLY));
  return made;
}

/* |fold| or what stands for it; what is left of a fold along three dimensions may be split again. */
static void split_fold(HloPassContext *context, HloComputation *computation, HloInstruction *fold, bool *out_changed) {
  WindowSplit split;
  while (may_be_split(context->options->machine, fold, &split)) {
    int first = first_dim(&split);
    if (first < 0 || !hlo_pass_may_rewrite(context)) return;
    GraphBuilder builder = {computation, fold, context->scratch};
    HloInstruction *along = fold_along(&builder, &split, graph_operand(&builder, 0), first, true);
    HloInstruction *rest = fold_along(&builder, &split, along, first, false);
    hlo_pass_count_rewrite(context, "window-by-dimension", rest);
    hlo_computation_replace_instruction(computation, fold, shape_coerce(rest, fold->shape));
    *out_changed = true;
    fold = rest;
  }
}

static Status run_window_splitter(HloPassContext *context, HloModule *module, bool *out_changed) {
  if (!machine_has_buffer(context->options->machine)) return STATUS_OK;
  int64_t count;
  HloComputation **computations = control_computations(module, context->scratch, &count);
  for (int64_t c = 0; c < count; c++) {
    int64_t candidates;
    HloInstruction **folds = control_edges_free_order(computations[c], context->scratch, &candidates);
    for (int64_t i = 0; i < candidates; i++) split_fold(context, computations[c], folds[i], out_changed);
  }
  return STATUS_OK;
}

const HloPass hlo_window_splitter_pass = {
    "window-splitter", "windows that overlap one dimension after the other, for a Buffer", run_window_splitter, false};
