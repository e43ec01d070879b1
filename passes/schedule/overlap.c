#include "passes/schedule/overlap.h"

#include <string.h>

/* Steps of schedule_model_peak, one for each node of the order. */
static const int64_t step_limit = 50000000;

typedef struct Overlap {
  const ScheduleModel *model;
  int32_t *order;
  int32_t *place; /* by node: where it stands */
  ScheduleWalk walk;
  int64_t peak, steps;
} Overlap;

static int64_t peak_of(Overlap *overlap) {
  schedule_walk_begin(&overlap->walk);
  for (int32_t i = 0; i < overlap->model->node_count; i++) schedule_walk_step(&overlap->walk, overlap->order[i]);
  overlap->steps += overlap->model->node_count;
  return overlap->walk.peak;
}

static void set_place(Overlap *overlap, int32_t from, int32_t to) {
  for (int32_t i = from; i <= to; i++) overlap->place[overlap->order[i]] = i;
}

/* The node at |from| goes to |to|; those in between move by one. */
static void move(Overlap *overlap, int32_t from, int32_t to) {
  int32_t node = overlap->order[from];
  if (from < to)
    memmove(&overlap->order[from], &overlap->order[from + 1], (size_t)(to - from) * sizeof *overlap->order);
  else
    memmove(&overlap->order[to + 1], &overlap->order[to], (size_t)(from - to) * sizeof *overlap->order);
  overlap->order[to] = node;
  set_place(overlap, from < to ? from : to, from < to ? to : from);
}

/* As far from |from| towards |to| as the peak allows. */
static void move_towards(Overlap *overlap, int32_t from, int32_t to) {
  while (from != to && overlap->steps < step_limit) {
    move(overlap, from, to);
    if (peak_of(overlap) <= overlap->peak) return;
    move(overlap, to, from);
    to = from + (to - from) / 2;
  }
}

/* Right after the last of what it waits for. */
static int32_t earliest(const Overlap *overlap, int32_t node) {
  const ScheduleNode *start = &overlap->model->nodes[node];
  int32_t last = -1;
  for (int32_t i = 0; i < start->predecessor_count; i++) {
    int32_t place = overlap->place[start->predecessors[i]];
    if (place > last) last = place;
  }
  return last + 1;
}

/* Right before the first of what waits for it. */
static int32_t latest(const Overlap *overlap, int32_t node) {
  const ScheduleNode *end = &overlap->model->nodes[node];
  int32_t first = overlap->model->node_count;
  for (int32_t i = 0; i < end->successor_count; i++) {
    int32_t place = overlap->place[end->successors[i]];
    if (place < first) first = place;
  }
  return first - 1;
}

static bool is_at(const Overlap *overlap, int32_t place, HloOpcode opcode) {
  return overlap->model->nodes[overlap->order[place]].instruction->opcode == opcode;
}

void schedule_overlap(const ScheduleModel *model, int32_t *order) {
  Overlap overlap = {
      .model = model, .order = order, .place = ARENA_NEW_ARRAY(model->arena, int32_t, model->node_count)};
  overlap.walk = schedule_walk_create(model, model->arena);
  overlap.peak = peak_of(&overlap);
  set_place(&overlap, 0, model->node_count - 1);
  for (int32_t i = 0; i < model->node_count; i++)
    if (is_at(&overlap, i, HLO_ASYNC_START)) move_towards(&overlap, i, earliest(&overlap, order[i]));
  for (int32_t i = model->node_count - 1; i >= 0; i--)
    if (is_at(&overlap, i, HLO_ASYNC_DONE)) move_towards(&overlap, i, latest(&overlap, order[i]));
}
