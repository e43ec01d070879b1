#include "hlo/analysis/interference.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/checked_math.h"
#include "hlo/analysis/hlo_liveness.h"

typedef struct Made {
  int32_t time; /* place in the flattened sequences from which it is there */
  int32_t buffer;
} Made;

struct InterferenceSweep {
  Arena *arena;
  const BufferLiveness *liveness;
  const HloOrdering *ordering; /* an order that the liveness' order is part of, with places as its rows have them */
  const Made *order;
  int32_t next;
  const int32_t *steps;  /* by buffer: its place in |order| */
  const int32_t *ends;   /* by buffer: the last place at which the sequences need it */
  int32_t *marks;        /* by buffer: the last step that asked about it */
  ARRAY(int32_t) alive;  /* made, and not known to have ended */
  ARRAY(int32_t) others; /* of this step */
};

static int32_t later_of(int32_t a, int32_t b) {
  return a > b ? a : b;
}

static int compare_made(const void *left, const void *right) {
  const Made *a = left, *b = right;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  return a->buffer < b->buffer ? -1 : a->buffer > b->buffer;
}

/* --- when a buffer ends in the flattened sequences --- */

/* The last place, outside of |computation|, at which something follows a root that calls it: nothing is known to come
 * after a root.  -1: nowhere, as roots are mostly last. */
static int32_t latest_outside(const HloOrdering *ordering, const HloComputation *computation) {
  int32_t latest = -1;
  for (const HloInstruction *site = call_graph_caller(ordering->graph, computation); site;
       site = call_graph_caller(ordering->graph, site->parent)) {
    int32_t end = ordering->span_ends[site->parent->id];
    if (hlo_instruction_is_root(site) && ordering->times[site->id] < end) latest = end;
  }
  return latest;
}

/* The last place at which |instruction| is not known to have ended. */
static int32_t last_of(const HloOrdering *ordering, const HloInstruction *instruction) {
  int32_t last = hlo_instruction_is_root(instruction) ? ordering->span_ends[instruction->parent->id]
                                                      : ordering->times[instruction->id];
  return later_of(last, latest_outside(ordering, instruction->parent));
}

static int32_t end_of(const InterferenceSweep *sweep, const LogicalBuffer *buffer, int32_t made) {
  const HloOrdering *ordering = sweep->ordering;
  const HloInstruction *maker = buffer->definition.instruction;
  if (sweep->liveness->maybe_live_out[buffer->id]) return (int32_t)ordering->length;
  int32_t end = later_of(made, last_of(ordering, maker));
  /* what a condition is given goes on to the body */
  if (maker->opcode == HLO_PARAMETER && call_graph_caller(ordering->graph, maker->parent))
    end = later_of(end, ordering->span_ends[maker->parent->id]);
  for (int32_t i = 0; i < buffer->position_count; i++) {
    const BufferPosition *position = &buffer->positions[i];
    const HloInstruction *at = position->instruction;
    if (hlo_instruction_is_root(at)) end = later_of(end, ordering->span_ends[at->parent->id]);
    for (int32_t k = 0; k < at->user_count; k++)
      if (buffer_liveness_reads(at->users[k], position)) end = later_of(end, last_of(ordering, at->users[k]));
  }
  for (const HloInstruction *site = call_graph_caller(ordering->graph, maker->parent); site;
       site = call_graph_caller(ordering->graph, site->parent)) {
    if (site->opcode == HLO_ASYNC_START) end = later_of(end, last_of(ordering, hlo_liveness_async_end(site)));
  }
  return end;
}

/* --- what the maker of a buffer does not wait for --- */

static void ask(InterferenceSweep *sweep, int32_t buffer, int32_t step) {
  const LogicalBuffer *buffers = sweep->liveness->points_to->buffers;
  int32_t made = sweep->order[step].buffer;
  if (sweep->marks[buffer] == step || buffer == made) return;
  sweep->marks[buffer] = step;
  if (buffer_liveness_may_interfere(sweep->liveness, &buffers[buffer], &buffers[made]))
    array_push(&sweep->others, sweep->arena, buffer);
}

/* What |instruction| makes and reads. */
static void ask_about(InterferenceSweep *sweep, const HloInstruction *instruction, int32_t step) {
  const TuplePointsTo *points_to = sweep->liveness->points_to;
  for (int k = -1; k < instruction->operand_count; k++) {
    const HloInstruction *at = k < 0 ? instruction : instruction->operands[k];
    int32_t first = points_to->flow->first_positions[at->id], count = shape_node_count(at->shape);
    for (int32_t node = 0; node < count; node++) {
      int32_t buffer = points_to->buffers_at[first + node];
      bool is_there = sweep->steps[buffer] < step;
      if (is_there && (k < 0 || buffer_liveness_reads(instruction, &(BufferPosition){at, node})))
        ask(sweep, buffer, step);
    }
  }
}

/* |instruction|, all that runs inside of it, and what it waits for the end of. */
static void ask_about_all(InterferenceSweep *sweep, const HloInstruction *instruction, int32_t step) {
  const HloOrdering *ordering = sweep->ordering;
  int32_t end = ordering->times[instruction->id], begin = end;
  if (call_graph_callee_count(instruction) > 0) begin = ordering->span_starts[call_graph_callee(instruction, 0)->id];
  for (int32_t time = begin; time <= end; time++) ask_about(sweep, ordering->schedule[time], step);
  const HloInstruction *start = instruction->opcode == HLO_ASYNC_DONE ? instruction->operands[0] : NULL;
  while (start && start->opcode == HLO_ASYNC_UPDATE) start = start->operands[0];
  if (start) ask_about_all(sweep, start, step);
}

/* What comes before |instruction| in its computation's sequence and may still run when that begins. */
static void ask_about_unordered(InterferenceSweep *sweep, const HloInstruction *instruction, int32_t step) {
  const ExecutionOrder *order = sweep->liveness->order;
  const HloSequence *sequence = &order->flow->sequences[instruction->parent->id];
  int64_t words = (sequence->count + 63) / 64, place = order->places[instruction->id];
  const uint64_t *row = order->after[instruction->parent->id] + place * words;
  for (int64_t word = 0; word <= place / 64; word++) {
    uint64_t others = ~row[word];
    if (word == place / 64) others &= ((uint64_t)1 << (place % 64)) - 1;
    for (; others != 0; others &= others - 1)
      ask_about_all(sweep, sequence->instructions[word * 64 + __builtin_ctzll(others)], step);
  }
}

/* --- the sweep --- */

InterferenceSweep *interference_sweep_begin(Arena *arena, const BufferLiveness *liveness) {
  const TuplePointsTo *points_to = liveness->points_to;
  const HloDataflow *flow = points_to->flow;
  const HloOrdering *ordering = liveness->order->kind == EXECUTION_SEQUENTIAL
                                    ? liveness->order->ordering
                                    : hlo_ordering_build(arena, flow->graph, flow->sequences);
  int32_t count = points_to->buffer_count;
  Made *order = ARENA_NEW_ARRAY(arena, Made, count + 1);
  int32_t *ends = ARENA_NEW_ARRAY(arena, int32_t, count + 1), *steps = ARENA_NEW_ARRAY(arena, int32_t, count + 1),
          *marks = ARENA_NEW_ARRAY(arena, int32_t, count + 1);
  InterferenceSweep *sweep = ARENA_NEW(arena, InterferenceSweep);
  *sweep = (InterferenceSweep){.arena = arena,
                               .liveness = liveness,
                               .ordering = ordering,
                               .order = order,
                               .ends = ends,
                               .steps = steps,
                               .marks = marks};
  for (int32_t i = 0; i < count; i++) {
    const HloInstruction *maker = points_to->buffers[i].definition.instruction;
    bool is_given = maker->opcode == HLO_PARAMETER; /* all at once, wherever they stand */
    order[i] = (Made){is_given ? ordering->span_starts[maker->parent->id] : ordering->times[maker->id], i};
    ends[i] = end_of(sweep, &points_to->buffers[i], order[i].time);
    marks[i] = -1;
  }
  if (count > 1) qsort(order, (size_t)count, sizeof(Made), compare_made);
  for (int32_t i = 0; i < count; i++) steps[order[i].buffer] = i;
  return sweep;
}

bool interference_sweep_next(InterferenceSweep *sweep, int32_t *out_buffer, const int32_t **out_others,
                             int64_t *out_count) {
  const BufferLiveness *liveness = sweep->liveness;
  if (sweep->next == liveness->points_to->buffer_count) return false;
  int32_t step = sweep->next++;
  Made made = sweep->order[step];
  sweep->others.count = 0;
  int64_t alive = 0;
  for (int64_t i = 0; i < sweep->alive.count; i++) {
    int32_t other = sweep->alive.data[i];
    if (sweep->ends[other] < made.time) continue;
    sweep->alive.data[alive++] = other;
    ask(sweep, other, step);
  }
  sweep->alive.count = alive;
  const HloInstruction *at = liveness->points_to->buffers[made.buffer].definition.instruction;
  if (at->opcode == HLO_PARAMETER) at = call_graph_caller(liveness->points_to->flow->graph, at->parent);
  for (; at && liveness->order->kind != EXECUTION_SEQUENTIAL;
       at = call_graph_caller(liveness->points_to->flow->graph, at->parent))
    ask_about_unordered(sweep, at, step);
  array_push(&sweep->alive, sweep->arena, made.buffer);
  if (sweep->others.count > 1)
    qsort(sweep->others.data, (size_t)sweep->others.count, sizeof(int32_t), array_compare_int32);
  *out_buffer = made.buffer;
  *out_others = sweep->others.data;
  *out_count = sweep->others.count;
  return true;
}
