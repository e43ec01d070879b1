#include "hlo/analysis/lane_region.h"
#include "passes/expand/graph_builder.h"

/* A select-and-scatter whose windows lie side by side, as those of most poolings do, without an update at a place that
 * only the values tell: which element of its window is selected is a fold over the windows of the array with each
 * dimension cut into windows, and an element of the result is the scattered one where it is that element.  Each step of
 * the fold and of what comes after it is one of whole vectors. */

enum { MOST_DIMENSIONS = 12 }; /* of the array with its dimensions cut: loops have no more, with those of windows */

typedef struct SelectedWindows {
  int rank, split_rank;             /* of the operand; of the operand with each dimension that has windows cut in two */
  int64_t sizes[MOST_DIMENSIONS];   /* of a window */
  int64_t covered[MOST_DIMENSIONS]; /* by windows, of each dimension */
  int64_t split[MOST_DIMENSIONS + 2]; /* windows and, for those of more than one element, places in them */
  int64_t inner[MOST_DIMENSIONS];     /* those dimensions of |split| that are places */
  int64_t outer[MOST_DIMENSIONS];     /* the others */
  int inner_count;
} SelectedWindows;

static bool are_side_by_side(const WindowDimension *window) {
  bool is_plain = window->pad_low == 0 && window->pad_high <= 0 && !window->reversal;
  return is_plain && window->base_dilation == 1 && window->window_dilation == 1 && window->size == window->stride;
}

/* False: they are not of this kind. */
static bool find_windows(const HloInstruction *origin, SelectedWindows *windows) {
  const Window *given = hlo_instruction_window(origin);
  const Shape *operand = origin->operands[0]->shape, *source = origin->operands[1]->shape;
  bool is_plain = given != NULL && !shape_is_dynamic(operand) && !shape_is_dynamic(source);
  if (!is_plain || shape_element_count(source) == 0 || operand->rank > MOST_DIMENSIONS) return false;
  if (!hlo_region_is_lanewise(hlo_instruction_computation(origin, HLO_ATTR_SELECT_COMPUTATION)) ||
      !hlo_region_is_lanewise(hlo_instruction_computation(origin, HLO_ATTR_SCATTER_COMPUTATION)))
    return false;
  windows->rank = operand->rank;
  for (int d = 0; d < operand->rank; d++) {
    const WindowDimension *window = &given->dims[d];
    if (!are_side_by_side(window) || windows->split_rank > MOST_DIMENSIONS) return false;
    windows->sizes[d] = window->size;
    windows->covered[d] = window->size * source->dims[d];
    windows->outer[d] = windows->split_rank;
    windows->split[windows->split_rank++] = source->dims[d];
    if (window->size == 1) continue;
    windows->inner[windows->inner_count++] = windows->split_rank;
    windows->split[windows->split_rank++] = window->size;
  }
  return windows->inner_count > 0 && windows->split_rank <= MOST_DIMENSIONS;
}

static HloInstruction *map_two(GraphBuilder *graph, const HloInstruction *origin, HloAttrId key, HloInstruction *a,
                               HloInstruction *b) {
  HloComputation *function = hlo_instruction_computation(origin, key);
  HloInstruction *operands[] = {a, b};
  const Shape *shape = shape_with_type(graph_shapes(graph), a->shape, function->root->shape->type);
  HloInstruction *map = graph_add(graph, HLO_MAP, shape, operands, 2);
  int64_t dims[MOST_DIMENSIONS];
  for (int i = 0; i < shape->rank; i++) dims[i] = i;
  hlo_instruction_set_ints(map, HLO_ATTR_DIMENSIONS, dims, shape->rank);
  hlo_instruction_set_computation(map, HLO_ATTR_TO_APPLY, function);
  return map;
}

/* (value, place) and the next of both → those that stay.  Places before the first are negative. */
static HloComputation *selection(GraphBuilder *graph, PrimitiveType type) {
  HloModule *module = graph->computation->module;
  GraphBuilder inside = *graph;
  inside.computation = hlo_module_add_computation(module, SV("selected"));
  const Shape *value = shape_scalar(module->shapes, type), *place = shape_scalar(module->shapes, TYPE_S32);
  HloInstruction *best = hlo_computation_add_parameter(inside.computation, 0, value, SV("best"));
  HloInstruction *at = hlo_computation_add_parameter(inside.computation, 1, place, SV("at"));
  HloInstruction *next = hlo_computation_add_parameter(inside.computation, 2, value, SV("next"));
  HloInstruction *next_at = hlo_computation_add_parameter(inside.computation, 3, place, SV("next_at"));
  HloInstruction *is_there =
      graph_compare(&inside, COMPARISON_DIRECTION_GE, at, graph_integer(&inside, TYPE_S32, 0, NULL));
  HloInstruction *is_better = map_two(&inside, graph->origin, HLO_ATTR_SELECT_COMPUTATION, best, next);
  HloInstruction *stays = graph_binary(&inside, HLO_AND, is_there, is_better);
  HloInstruction *results[] = {graph_select(&inside, stays, best, next), graph_select(&inside, stays, at, next_at)};
  hlo_computation_set_root(inside.computation, graph_tuple(&inside, results, 2));
  return inside.computation;
}

/* Which element of its window each one is, in row-major order: numbers for one window, the same in all. */
static HloInstruction *places(GraphBuilder *graph, const SelectedWindows *windows) {
  int64_t sizes[MOST_DIMENSIONS], taps = 1;
  for (int i = 0; i < windows->inner_count; i++) taps *= sizes[i] = windows->split[windows->inner[i]];
  HloInstruction *numbers = graph_reshape(graph, graph_iota(graph, TYPE_S32, &taps, 1, 0), sizes, windows->inner_count);
  return graph_broadcast(graph, numbers, windows->inner, windows->inner_count, windows->split, windows->split_rank);
}

/* The place that is selected in each window. */
static HloInstruction *selected_places(GraphBuilder *graph, const SelectedWindows *windows, HloInstruction *place) {
  HloInstruction *operand = graph_operand(graph, 0);
  const Shape *source = graph->origin->operands[1]->shape;
  PrimitiveType type = operand->shape->type;
  for (int d = 0; d < windows->rank; d++) {
    bool is_covered = windows->covered[d] == operand->shape->dims[d];
    if (!is_covered) operand = graph_slice(graph, operand, d, 0, windows->covered[d]);
  }
  operand = graph_reshape(graph, operand, windows->split, windows->split_rank);
  HloInstruction *operands[] = {operand, place, graph_zero(graph, type, NULL),
                                graph_integer(graph, TYPE_S32, -1, NULL)};
  const Shape *shapes[] = {shape_array(graph_shapes(graph), type, source->dims, source->rank),
                           shape_array(graph_shapes(graph), TYPE_S32, source->dims, source->rank)};
  HloInstruction *fold = graph_add(graph, HLO_REDUCE, shape_tuple(graph_shapes(graph), shapes, 2), operands, 4);
  hlo_instruction_set_ints(fold, HLO_ATTR_DIMENSIONS, windows->inner, windows->inner_count);
  hlo_instruction_set_computation(fold, HLO_ATTR_TO_APPLY, selection(graph, type));
  return graph_element(graph, fold, 1);
}

static HloInstruction *in_windows(GraphBuilder *graph, const SelectedWindows *windows, HloInstruction *value) {
  return graph_broadcast(graph, value, windows->outer, windows->rank, windows->split, windows->split_rank);
}

static HloInstruction *expand_windows(GraphBuilder *graph) {
  SelectedWindows windows = {0};
  if (!find_windows(graph->origin, &windows)) return NULL;
  HloInstruction *place = places(graph, &windows), *init = graph_operand(graph, 2), *source = graph_operand(graph, 1);
  HloInstruction *selected = in_windows(graph, &windows, selected_places(graph, &windows, place));
  HloInstruction *is_selected = graph_compare(graph, COMPARISON_DIRECTION_EQ, selected, place);
  HloInstruction *scattered =
      map_two(graph, graph->origin, HLO_ATTR_SCATTER_COMPUTATION, graph_splat(graph, init, source->shape), source);
  HloInstruction *result = graph_select(graph, is_selected, in_windows(graph, &windows, scattered),
                                        graph_splat(graph, init, is_selected->shape));
  result = graph_reshape(graph, result, windows.covered, windows.rank);
  for (int d = 0; d < windows.rank; d++) {
    int64_t missing = graph->origin->operands[0]->shape->dims[d] - windows.covered[d];
    if (missing > 0) result = graph_pad(graph, result, init, d, missing);
  }
  return result;
}

static Status run_select_and_scatter_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  static const GraphRuleRow rules[] = {{HLO_SELECT_AND_SCATTER, expand_windows}};
  return graph_apply_rules(context, module, rules, 1, out_changed);
}

const HloPass hlo_select_and_scatter_expander_pass = {
    "select-and-scatter-expander", "select-and-scatter of windows side by side as a fold of each and a choice",
    run_select_and_scatter_expander, false};
