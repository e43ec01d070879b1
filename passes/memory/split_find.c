/* Candidates for splits: which groups grow from the large values, and which of them are best. */
#include <limits.h>
#include <stdlib.h>

#include "base/checked_math.h"
#include "passes/memory/split_group.h"

/* Of so many values all dimensions are tried; two candidates that save the same 1/GRADES of what the best one does are
 * equally good in that. */
enum { MOST_SEEDS = 16, COMPARED_PARTS = 16, GRADES = 16 };

static const SplitReach reaches[] = {{32, INT_MAX}, {32, 1}, {3, INT_MAX}, {3, 1}, {1, 0}};

/* --- seeds --- */

static const SplitGraph *graph_of(SplitSearch *search, HloComputation *computation) {
  SplitGraph *graph = pointer_map_get(&search->graphs, computation);
  if (graph != NULL) return graph;
  graph = ARENA_NEW(search->arena, SplitGraph);
  graph->computation = computation;
  graph->order = hlo_computation_post_order(computation, search->arena, &graph->count);
  control_edges_init(&graph->edges, computation, search->arena);
  pointer_map_set(&search->graphs, computation, graph);
  return graph;
}

static bool is_same(const HloSplit *a, const HloSplit *b) {
  if (a->computation != b->computation || a->member_count != b->member_count) return false;
  for (int64_t i = 0; i < a->member_count; i++) {
    if (a->members[i].instruction != b->members[i].instruction || a->members[i].dimension != b->members[i].dimension)
      return false;
  }
  return true;
}

/* Of equal groups the one of more units stays. */
static void add_candidate(HloSplitArray *splits, const HloSplit *split, Arena *arena) {
  for (int64_t i = 0; i < splits->count; i++) {
    if (!is_same(&splits->data[i], split)) continue;
    if (splits->data[i].units < split->units) splits->data[i] = *split;
    return;
  }
  array_push(splits, arena, *split);
}

/* What windows make each part compute beyond its own. */
static int64_t widened_bytes(const HloSplit *split) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < split->member_count; i++) {
    const HloSplitMember *member = &split->members[i];
    int64_t more = member->before + member->after;
    if (more > 0) bytes += more * (shape_leaf_byte_size(member->instruction->shape) / (split->units * member->scale));
  }
  return bytes;
}

/* What each part reads whole, weights for instance: more than once, where one product of all rows reads it once. */
static int64_t bytes_read_whole(const HloSplit *split) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < split->member_count; i++) {
    const HloInstruction *instruction = split->members[i].instruction;
    for (int k = 0; k < instruction->operand_count; k++)
      if (split->members[i].reads[k].dimension == SPLIT_READ_WHOLE)
        bytes += shape_leaf_byte_size(instruction->operands[k]->shape);
  }
  return bytes;
}

/* Groups that reach less far are candidates if they save more than those before, or compute or read less twice. */
static void add_candidates(const SplitSearch *search, const SplitGraph *graph, HloInstruction *seed, int dimension,
                           HloSplitArray *splits) {
  int64_t most_saved = search->scope != HLO_SPLIT_SAVING ? INT64_MIN : 0, least_widened = INT64_MAX,
          least_read = INT64_MAX;
  for (size_t r = 0; r < sizeof(reaches) / sizeof(*reaches); r++) {
    HloSplit split;
    if (!split_group_grow(search, graph, seed, dimension, &reaches[r], &split)) continue;
    int64_t saved = hlo_split_bytes_saved(&split, COMPARED_PARTS), widened = widened_bytes(&split);
    int64_t read = bytes_read_whole(&split);
    if (saved > most_saved || widened < least_widened || read < least_read)
      add_candidate(splits, &split, search->arena);
    most_saved = max_i64(most_saved, saved);
    least_widened = min_i64(least_widened, widened);
    least_read = min_i64(least_read, read);
  }
}

/* --- which is best --- */

/* Parts that do not lie together: bytes in members that are cut along an inner dimension. */
static double scattered_bytes(const HloSplit *split) {
  double bytes = 0;
  for (int64_t i = 0; i < split->member_count; i++) {
    const HloSplitMember *member = &split->members[i];
    const Shape *shape = member->instruction->shape;
    bool is_inner = false;
    for (int d = 0; shape_is_array(shape) && d < member->dimension; d++) is_inner |= shape->dims[d] > 1;
    if (is_inner) bytes += (double)shape_byte_size(shape);
  }
  return bytes;
}

typedef struct Ranked {
  HloSplit split;
  int64_t grade, number;
  double price; /* bytes, an order alone */
} Ranked;

static int compare_ranked(const void *left, const void *right) {
  const Ranked *a = left, *b = right;
  if (a->grade != b->grade) return a->grade > b->grade ? -1 : 1;
  if (a->price != b->price) return a->price < b->price ? -1 : 1;
  return a->number < b->number ? -1 : 1;
}

static void sort_best_first(HloSplitArray *splits, Arena *arena) {
  Ranked *ranked = ARENA_NEW_ARRAY(arena, Ranked, splits->count + 1);
  int64_t most = 1;
  for (int64_t i = 0; i < splits->count; i++) {
    int64_t saved = hlo_split_bytes_saved(&splits->data[i], COMPARED_PARTS);
    if (saved > most) most = saved;
  }
  for (int64_t i = 0; i < splits->count; i++) {
    double saved = (double)hlo_split_bytes_saved(&splits->data[i], COMPARED_PARTS);
    double price = scattered_bytes(&splits->data[i]) + (double)bytes_read_whole(&splits->data[i]) * COMPARED_PARTS;
    ranked[i] = (Ranked){splits->data[i], (int64_t)(saved * GRADES / (double)most), i, price};
  }
  qsort(ranked, (size_t)splits->count, sizeof(Ranked), compare_ranked);
  for (int64_t i = 0; i < splits->count; i++) splits->data[i] = ranked[i].split;
}

/* The loop whose state |value| is, after it or as its condition or body takes it in; NULL: it is something else. */
static HloInstruction *loop_with_state(const HloModule *module, HloInstruction *value) {
  if (value->opcode == HLO_WHILE && shape_is_tuple(value->shape)) return value;
  if (value->opcode != HLO_PARAMETER || !shape_is_tuple(value->shape)) return NULL;
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *list = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < list->count; i++) {
      HloInstruction *loop = list->data[i];
      if (loop->opcode != HLO_WHILE) continue;
      for (int k = 0; k < hlo_instruction_called_count(loop); k++)
        if (hlo_instruction_called(loop, k) == value->parent) return loop;
    }
  }
  return NULL;
}

/* The largest array of a value. */
static int64_t array_bytes(const HloInstruction *value) {
  int64_t most = 0;
  for (int i = 0; shape_is_tuple(value->shape) && i < value->shape->tuple_size; i++)
    most = max_i64(most, shape_leaf_byte_size(value->shape->tuple[i]));
  return shape_is_tuple(value->shape) ? most : shape_leaf_byte_size(value->shape);
}

static void add_seed(SplitSearch *search, HloInstruction *seed, HloSplitArray *splits) {
  const Shape *shape = shape_result(seed->shape, 0);
  for (int d = 0; shape_is_array(shape) && d < shape->rank; d++)
    add_candidates(search, graph_of(search, seed->parent), seed, d, splits);
}

/* From what the large arrays of its state begin as, or, where that is there anyhow, from what they are after it. */
static int64_t add_seeds_of_loop(SplitSearch *search, HloInstruction *loop, HloSplitArray *splits) {
  const HloInstruction *state = loop->operands[0];
  int64_t seeds = 0;
  for (int k = 0; state->opcode == HLO_TUPLE && k < state->operand_count; k++) {
    HloInstruction *seed = state->operands[k];
    if (shape_leaf_byte_size(seed->shape) < search->largest / reaches[0].large_part) continue;
    for (int u = 0; u < loop->user_count && hlo_opcode_has(seed->opcode, OP_GIVEN); u++)
      if (loop->users[u]->opcode == HLO_GET_TUPLE_ELEMENT &&
          hlo_instruction_int(loop->users[u], HLO_ATTR_INDEX, 0) == k)
        seed = loop->users[u];
    if (hlo_opcode_has(seed->opcode, OP_GIVEN)) continue;
    add_seed(search, seed, splits);
    seeds++;
  }
  return seeds;
}

HloSplitArray hlo_find_splits(const HloModule *module, const HloInstruction *const *large, int64_t count,
                              HloSplitScope scope, Arena *arena) {
  SplitSearch search = {.arena = arena, .module = module, .scope = scope};
  search.after = ARENA_NEW_ARRAY(arena, bool, module->next_instruction_id + 1);
  search.before = ARENA_NEW_ARRAY(arena, bool, module->next_instruction_id + 1);
  HloSplitArray splits = {0};
  int_map_init(&search.large, arena);
  int_map_init(&search.graphs, arena);
  const bool *is_applied = hlo_module_applied(arena, module, true);
  for (int64_t i = 0; i < count; i++) {
    const HloInstruction *loop = loop_with_state(module, (HloInstruction *)large[i]);
    int_map_set(&search.large, (uint64_t)large[i]->id, 1);
    if (loop != NULL) int_map_set(&search.large, (uint64_t)loop->id, 1);
    search.largest = max_i64(search.largest, array_bytes(large[i]));
  }
  for (int64_t i = 0, seeds = 0; i < count && seeds < MOST_SEEDS; i++) {
    HloInstruction *seed = (HloInstruction *)large[i], *loop = loop_with_state(module, seed);
    if (seed->parent == NULL || is_applied[seed->parent->id]) continue;
    if (loop != NULL) seeds += add_seeds_of_loop(&search, loop, &splits);
    if (hlo_opcode_has(seed->opcode, OP_GIVEN | OP_STAYS | OP_TUPLES)) continue;
    seeds++;
    add_seed(&search, seed, &splits);
  }
  sort_best_first(&splits, arena);
  return splits;
}
