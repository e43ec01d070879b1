#include "passes/schedule/text_order.h"

#include <stdlib.h>

/* Where a node stands: its line and column in the text, then its number. */
typedef struct TextPlace {
  uint32_t line, column;
  int32_t node;
} TextPlace;

static int compare_places(const void *a, const void *b) {
  const TextPlace *left = a, *right = b;
  if (left->line != right->line) return left->line < right->line ? -1 : 1;
  if (left->column != right->column) return left->column < right->column ? -1 : 1;
  return left->node < right->node ? -1 : 1;
}

/* The first line after |computation|'s text: where the next computation begins. */
static uint32_t end_line(const HloComputation *computation) {
  uint32_t end = UINT32_MAX;
  const HloModule *module = computation->module;
  for (int64_t i = 0; i < module->computations.count; i++) {
    uint32_t line = module->computations.data[i]->loc.line;
    if (line > computation->loc.line && line < end) end = line;
  }
  return end;
}

typedef struct OrderWalk {
  const ScheduleModel *model;
  bool *seen;
  int32_t *next;  /* by node: the predecessor to be looked at */
  int32_t *stack; /* of nodes whose predecessors are being placed */
  int32_t *order;
  int32_t count;
} OrderWalk;

static void place_with_predecessors(OrderWalk *walk, int32_t node) {
  int32_t depth = 0;
  if (walk->seen[node]) return;
  walk->seen[node] = true;
  walk->stack[depth++] = node;
  while (depth > 0) {
    int32_t top = walk->stack[depth - 1];
    if (walk->next[top] == walk->model->nodes[top].predecessor_count) {
      walk->order[walk->count++] = top;
      depth--;
      continue;
    }
    int32_t predecessor = walk->model->nodes[top].predecessors[walk->next[top]++];
    if (walk->seen[predecessor]) continue;
    walk->seen[predecessor] = true;
    walk->stack[depth++] = predecessor;
  }
}

const int32_t *text_order(const ScheduleModel *model, const HloComputation *computation) {
  int32_t count = model->node_count, placed = 0;
  uint32_t begin = computation->loc.line, end = end_line(computation);
  TextPlace *places = ARENA_NEW_ARRAY(model->arena, TextPlace, count + 1);
  for (int32_t n = 0; n < count; n++) {
    SourceLoc loc = model->nodes[n].instruction->loc;
    if (loc.file != NULL && loc.line >= begin && loc.line < end)
      places[placed++] = (TextPlace){loc.line, loc.column, n};
  }
  qsort(places, (size_t)placed, sizeof *places, compare_places);
  OrderWalk walk = {.model = model,
                    .seen = ARENA_NEW_ARRAY(model->arena, bool, count + 1),
                    .next = ARENA_NEW_ARRAY(model->arena, int32_t, count + 1),
                    .stack = ARENA_NEW_ARRAY(model->arena, int32_t, count + 1),
                    .order = ARENA_NEW_ARRAY(model->arena, int32_t, count + 1)};
  for (int32_t i = 0; i < placed; i++) place_with_predecessors(&walk, places[i].node);
  for (int32_t n = 0; n < count; n++) place_with_predecessors(&walk, n);
  XLAC_CHECK(walk.count == count);
  return walk.order;
}
