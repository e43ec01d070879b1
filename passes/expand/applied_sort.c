#include "base/checked_math.h"
#include "passes/expand/applied_internal.h"

/* A sort by any comparator: runs of 1, 2, 4 … elements are merged from one of two halves of a list to the other, an
 * element in each step.  Equal elements keep their order. */

typedef struct Merge {
  const HloComputation *comparator;
  int count;
  int64_t total, length; /* elements, and of a line */
} Merge;

typedef struct MergeStep {
  HloInstruction *from, *line;       /* places in the list: of the half that is read, of the line in it */
  HloInstruction *at, *middle, *end; /* in the line: of what is written, of the run that it belongs to */
  HloInstruction *is_first;          /* of the run */
} MergeStep;

static HloInstruction *at_most(GraphBuilder *inside, HloInstruction *place, int64_t limit) {
  return place_with(inside, HLO_MINIMUM, place, limit);
}

/* Halves are read in turn; a run of round r has 2 << r elements. */
static MergeStep merge_step_at(GraphBuilder *inside, const Merge *merge, HloInstruction *step,
                               HloInstruction **out_target) {
  MergeStep now;
  HloInstruction *one = graph_integer(inside, TYPE_S64, 1, NULL);
  HloInstruction *round = place_with(inside, HLO_DIVIDE, step, merge->total);
  HloInstruction *within = place_with(inside, HLO_REMAINDER, step, merge->total);
  HloInstruction *half = place_with(inside, HLO_REMAINDER, round, 2);
  HloInstruction *other = graph_binary(inside, HLO_SUBTRACT, one, half);
  HloInstruction *width = graph_binary(inside, HLO_SHIFT_LEFT, one, round);
  now.from = place_with(inside, HLO_MULTIPLY, half, merge->total);
  *out_target = graph_binary(inside, HLO_ADD, place_with(inside, HLO_MULTIPLY, other, merge->total), within);
  now.at = place_with(inside, HLO_REMAINDER, within, merge->length);
  now.line = graph_binary(inside, HLO_SUBTRACT, within, now.at);
  HloInstruction *offset = graph_binary(inside, HLO_REMAINDER, now.at, graph_binary(inside, HLO_ADD, width, width));
  HloInstruction *start = graph_binary(inside, HLO_SUBTRACT, now.at, offset);
  HloInstruction *middle = graph_binary(inside, HLO_ADD, start, width);
  now.middle = at_most(inside, middle, merge->length);
  now.end = at_most(inside, graph_binary(inside, HLO_ADD, middle, width), merge->length);
  now.is_first = graph_compare(inside, COMPARISON_DIRECTION_EQ, offset, graph_integer(inside, TYPE_S64, 0, NULL));
  return now;
}

/* Element |next| of the line for each list: what is read beyond its end does not count. */
static void load_all(GraphBuilder *inside, const Merge *merge, const MergeStep *now, HloInstruction *const *lists,
                     HloInstruction *next, HloInstruction **out_values) {
  HloInstruction *place = graph_binary(inside, HLO_ADD, now->line, at_most(inside, next, merge->length - 1));
  place = graph_binary(inside, HLO_ADD, now->from, place);
  for (int i = 0; i < merge->count; i++) out_values[i] = graph_scalar_at(inside, lists[i], place);
}

/* Whether the right run comes next: it is not at its end, and the left one is, or the right element comes before. */
static HloInstruction *takes_right(GraphBuilder *inside, const Merge *merge, const MergeStep *now,
                                   HloInstruction *const *next, HloInstruction *const *left,
                                   HloInstruction *const *right) {
  HloInstruction **arguments = ARENA_NEW_ARRAY(inside->scratch, HloInstruction *, 2 * merge->count), *is_before;
  for (int i = 0; i < merge->count; i++) {
    arguments[2 * i] = right[i];
    arguments[2 * i + 1] = left[i];
  }
  applied_call(inside, merge->comparator, arguments, &is_before, 1);
  HloInstruction *left_ends = graph_compare(inside, COMPARISON_DIRECTION_GE, next[0], now->middle);
  HloInstruction *right_goes = graph_compare(inside, COMPARISON_DIRECTION_LT, next[1], now->end);
  return place_both(inside, right_goes, graph_binary(inside, HLO_OR, left_ends, is_before));
}

/* Values of the loop: lists of both halves, the next places of the left and of the right run. */
static void merge_step(GraphBuilder *inside, void *context, HloInstruction *step, HloInstruction *const *values,
                       HloInstruction **out_values) {
  const Merge *merge = context;
  int count = merge->count;
  HloInstruction *target;
  MergeStep now = merge_step_at(inside, merge, graph_convert(inside, step, TYPE_S64), &target);
  HloInstruction *next[] = {graph_select(inside, now.is_first, now.at, values[count]),
                            graph_select(inside, now.is_first, now.middle, values[count + 1])};
  HloInstruction **left = ARENA_NEW_ARRAY(inside->scratch, HloInstruction *, 2 * count), **right = left + count;
  load_all(inside, merge, &now, values, next[0], left);
  load_all(inside, merge, &now, values, next[1], right);
  HloInstruction *takes = takes_right(inside, merge, &now, next, left, right);
  for (int i = 0; i < count; i++)
    out_values[i] = applied_store(inside, values[i], target, graph_select(inside, takes, right[i], left[i]));
  HloInstruction *moved = graph_convert(inside, takes, TYPE_S64);
  HloInstruction *stayed = graph_binary(inside, HLO_SUBTRACT, graph_integer(inside, TYPE_S64, 1, NULL), moved);
  out_values[count] = graph_binary(inside, HLO_ADD, next[0], stayed);
  out_values[count + 1] = graph_binary(inside, HLO_ADD, next[1], moved);
}

/* All but |along| in order, then |along|, and back. */
static void permute_last(int rank, int64_t along, int64_t *out_there, int64_t *out_back) {
  for (int64_t d = 0, next = 0; d < rank; d++) {
    int64_t place = d == along ? rank - 1 : next++;
    out_there[place] = d;
    out_back[d] = place;
  }
}

HloInstruction *expand_applied_sort(GraphBuilder *builder) {
  HloInstruction *sort = builder->origin;
  const Shape *shape = sort->operands[0]->shape;
  int64_t along = hlo_instruction_ints(sort, HLO_ATTR_DIMENSIONS).data[0], steps = 0;
  int rounds = 0, count = sort->operand_count;
  if (!applied_needs_loop(sort)) return NULL;
  Merge merge = {hlo_instruction_computation(sort, HLO_ATTR_TO_APPLY), count, shape_element_count(shape),
                 shape->dims[along]};
  while (INT64_C(1) << rounds < merge.length) rounds++;
  if (!checked_mul(merge.total, rounds, &steps) || !applied_steps_fit(steps)) return NULL;
  HloInstruction **values = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, count + 2);
  int64_t *there = ARENA_NEW_ARRAY(builder->scratch, int64_t, 3 * shape->rank), *back = there + shape->rank;
  int64_t *dims = back + shape->rank;
  permute_last(shape->rank, along, there, back);
  for (int i = 0; i < shape->rank; i++) dims[i] = shape->dims[there[i]];
  for (int i = 0; i < count; i++) {
    values[i] = applied_list(builder, i, there);
    values[i] = graph_concatenate(builder, (HloInstruction *[]){values[i], values[i]}, 2, 0);
  }
  values[count] = values[count + 1] = graph_integer(builder, TYPE_S64, 0, NULL);
  if (steps > 0)
    graph_loop(builder, &(GraphLoop){.trips = steps, .count = count + 2, .body = merge_step, .context = &merge}, values,
               values);
  int64_t begin = rounds % 2 * merge.total;
  for (int i = 0; i < count; i++) {
    HloInstruction *sorted = graph_slice(builder, values[i], 0, begin, begin + merge.total);
    values[i] = graph_transpose(builder, graph_reshape(builder, sorted, dims, shape->rank), back);
  }
  return applied_results(builder, values, count);
}
