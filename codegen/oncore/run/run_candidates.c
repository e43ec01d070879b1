#include "codegen/oncore/run/run_candidates.h"

#include <math.h>
#include <stdlib.h>

#include "codegen/oncore/plan/tile_access.h"
#include "codegen/oncore/run/plan_copies.h"

/* One search. */
typedef struct CandidateSearch {
  RunCandidates *candidates;
  RunTouch bytes; /* of the slice at hand */
} CandidateSearch;

static const RunTouch *touch_at(const RunCandidates *candidates, int64_t number) {
  return &candidates->touches->touches.data[number];
}

static const RunLoop *loop_at(const RunCandidates *candidates, int32_t number) {
  return &candidates->touches->loops.data[number];
}

static bool ends_between(const RunCandidates *candidates, int32_t first, int32_t last) {
  return candidates->touches->ends[last + 1] > candidates->touches->ends[first];
}

static double times_of(const RunCandidates *candidates, const HloInstruction *instruction) {
  return candidates->times[instruction->parent->id];
}

/* Whether the Kernel of |touch| may have all of |bytes| in the Buffer. */
static bool is_fine(const RunTouch *touch, const RunTouch *bytes) {
  return touch->may_stay && touch->slice == bytes->slice;
}

/* --- loops --- */

/* Integers of rank 0 go around a loop in the scalar unit, which puts them into memory for Kernels only. */
static bool is_scalar_units(const Shape *shape) {
  return shape->rank == 0 && !type_is_float(shape->type);
}

static bool is_slice(const BufferSlice *slice, const RunTouch *bytes) {
  return slice->allocation != NULL && slice->allocation->index == bytes->allocation && slice->offset == bytes->offset &&
         slice->size == bytes->bytes;
}

int run_candidates_leaf(const RunCandidates *candidates, int32_t loop, const RunTouch *bytes) {
  const HloInstruction *of = loop_at(candidates, loop)->loop;
  const HloInstruction *state = hlo_instruction_computation(of, HLO_ATTR_BODY)->parameters.data[0];
  for (int node = 0; node < shape_node_count(of->shape); node++) {
    const Shape *shape = shape_node(of->shape, node);
    if (shape_is_tuple(shape) || is_scalar_units(shape)) continue;
    BufferSlice inside = buffer_assignment_slice(candidates->placed->assignment, state, node);
    BufferSlice outside = buffer_assignment_slice(candidates->placed->assignment, of, node);
    if (is_slice(&inside, bytes) && is_slice(&outside, bytes)) return node;
  }
  return -1;
}

/* Whether |candidate| is there before, all through and after |loop|.  Events alone do not tell: a loop may have no
 * others than those of an iteration that the candidate is within, or than those of a loop in it. */
static bool contains(const RunCandidates *candidates, const RunCandidate *candidate, int32_t loop) {
  const RunLoop *of = loop_at(candidates, loop);
  if (of->first < candidate->first || of->end > candidate->last + 1) return false;
  int32_t outer = of->outer;
  while (outer >= 0 && outer != candidate->context) outer = loop_at(candidates, outer)->outer;
  return outer == candidate->context;
}

/* Whether |event| is in a loop that |candidate| is there all through. */
static bool is_in_joined(const RunCandidates *candidates, const RunCandidate *candidate, int32_t event) {
  int32_t loop = candidates->touches->events.data[event].loop;
  return loop >= 0 && contains(candidates, candidate, loop);
}

bool run_candidate_joins(const RunCandidates *candidates, const RunCandidate *candidate, int32_t loop) {
  const RunLoop *of = loop_at(candidates, loop);
  bool is_inner = of->outer >= 0 && contains(candidates, candidate, of->outer);
  return of->first < of->end && !is_inner && contains(candidates, candidate, loop);
}

/* The outermost loop within |context| (-1: the computation) that |event| is in, -1: none. */
static int32_t loop_within(const RunCandidates *candidates, int32_t context, int32_t event) {
  int32_t found = -1;
  for (int32_t loop = candidates->touches->events.data[event].loop; loop != context;
       loop = loop_at(candidates, loop)->outer)
    found = loop;
  return found;
}

/* --- who reads what --- */

static bool meets_at(const RunCandidates *candidates, int64_t event, const RunTouch *bytes) {
  for (int32_t t = candidates->touches->begins[event]; t < candidates->touches->begins[event + 1]; t++)
    if (run_touches_meet(touch_at(candidates, t), bytes)) return true;
  return false;
}

/* Whether all Kernels of |instruction| are where |candidate| stays, strips aside that touch nothing of its bytes. */
static bool is_among(const RunCandidates *candidates, const RunCandidate *candidate,
                     const HloInstruction *instruction) {
  const RunTouches *touches = candidates->touches;
  int64_t event;
  bool is_known = int_map_find(&touches->event_of, (uintptr_t)instruction, &event);
  if (!is_known || touches->events.data[event].use == NULL) return false;
  for (; event >= 0; event = touches->events.data[event].next) {
    bool is_strip = touches->events.data[event].use->strip.extent > 0;
    if (candidate->first <= event && event <= candidate->last) continue;
    if (!is_strip || meets_at(candidates, event, &candidate->bytes)) return false;
  }
  return true;
}

static int32_t loop_of(const RunCandidates *candidates, const HloInstruction *instruction) {
  for (int32_t l = 0; l < candidates->touches->loops.count; l++)
    if (loop_at(candidates, l)->loop == instruction) return l;
  return -1;
}

static bool is_of_loop(const RunLoop *loop, const HloComputation *computation) {
  return hlo_instruction_computation(loop->loop, HLO_ATTR_BODY) == computation ||
         hlo_instruction_computation(loop->loop, HLO_ATTR_CONDITION) == computation;
}

/* Whether |position| is where |candidate| is, and hands on nothing from there. */
static bool is_within(const RunCandidates *candidates, const RunCandidate *candidate, const HloInstruction *position) {
  int32_t around = candidate->context;
  const HloComputation *home = around < 0
                                   ? candidates->touches->computation
                                   : hlo_instruction_computation(loop_at(candidates, around)->loop, HLO_ATTR_BODY);
  if (position->parent == home) return position != home->root;
  for (int32_t l = 0; l < candidates->touches->loops.count; l++) {
    if (contains(candidates, candidate, l) && is_of_loop(loop_at(candidates, l), position->parent)) return true;
  }
  return false;
}

/* Whether only Kernels from |candidate|'s beginning to its end read |value|, and those after event |from| read all of
 * its bytes in the Buffer. */
static bool stays_within(const RunCandidates *candidates, const RunCandidate *candidate, const HloValue *value,
                         int32_t from) {
  if (value == NULL || value->live_out) return false;
  for (int32_t p = 0; p < value->position_count; p++)
    if (!is_within(candidates, candidate, value->positions[p].instruction)) return false;
  for (int32_t u = 0; u < value->use_count; u++) {
    const HloInstruction *user = value->uses[u].user;
    int32_t loop = user->opcode == HLO_WHILE ? loop_of(candidates, user) : -1;
    bool is_inside = loop >= 0 ? contains(candidates, candidate, loop) : is_among(candidates, candidate, user);
    if (!is_inside) return false;
  }
  return candidate->last_apart <= from;
}

/* Whether |touch| leaves sums from which the next strip of its Kernel goes on while |candidate| stays: that makes
 * others of them. */
static bool is_left_open(const RunCandidates *candidates, const RunCandidate *candidate, const RunTouch *touch) {
  const RunEvent *event = &candidates->touches->events.data[touch->event];
  if (event->use == NULL || !event->use->strip.leaves_open || event->next > candidate->last) return false;
  const int32_t *begins = candidates->touches->begins;
  for (int32_t t = begins[event->next]; t < begins[event->next + 1]; t++)
    if (touch_at(candidates, t)->writes && is_fine(touch_at(candidates, t), touch)) return true;
  return false;
}

bool run_candidate_is_alone(const RunCandidates *candidates, const RunCandidate *candidate, const RunTouch *touch) {
  if (is_left_open(candidates, candidate, touch)) return true;
  if (is_in_joined(candidates, candidate, touch->event)) return !candidate->is_shared;
  const HloValue *value = buffer_assignment_value(candidates->placed->assignment, touch->holder, touch->node);
  return stays_within(candidates, candidate, value, touch->event);
}

bool run_candidate_is_stored(const RunCandidates *candidates, const RunCandidate *candidate, int32_t loop) {
  const RunLoop *of = loop_at(candidates, loop);
  bool is_changed = false;
  for (int32_t t = candidates->touches->begins[of->first]; t < candidates->touches->begins[of->end]; t++) {
    const RunTouch *touch = touch_at(candidates, t);
    is_changed = is_changed || (touch->writes && is_fine(touch, &candidate->bytes));
  }
  if (!is_changed || candidate->is_shared) return false; /* what is shared each change has stored */
  int node = run_candidates_leaf(candidates, loop, &candidate->bytes);
  const HloValue *value = buffer_assignment_value(candidates->placed->assignment, of->loop, node);
  return !stays_within(candidates, candidate, value, of->end - 1);
}

/* Whether |touch| reads the array that |candidate|, made by the same Kernel, takes the place of. */
static bool comes_before(const RunCandidate *candidate, const RunTouch *touch) {
  return touch->reads && touch->event == candidate->first && !candidate->is_found;
}

bool run_candidate_has(const RunCandidate *candidate, const RunTouch *touch) {
  bool is_meanwhile = candidate->first <= touch->event && touch->event <= candidate->last;
  return is_meanwhile && is_fine(touch, &candidate->bytes) && !comes_before(candidate, touch);
}

bool run_candidate_may_part(const RunCandidates *candidates, const RunCandidate *candidate) {
  const int32_t *begins = candidates->touches->begins;
  if (!candidate->is_found) return false;
  for (int32_t t = begins[candidate->first]; t < begins[candidate->last + 1]; t++) {
    const RunTouch *touch = touch_at(candidates, t);
    if (touch->writes && run_touches_meet(touch, &candidate->bytes)) return false;
  }
  return true;
}

/* --- what staying saves --- */

/* Whether loads of |touch|, in a loop, go on while Kernels before it compute: nobody writes the bytes there, and it is
 * not the first of its run. */
static bool is_hidden(const RunCandidates *candidates, const RunTouch *touch) {
  const RunTouches *touches = candidates->touches;
  int32_t loop = touches->events.data[touch->event].loop, before = touch->event - 1;
  if (loop < 0) return false;
  const RunLoop *of = loop_at(candidates, loop);
  for (int32_t t = touches->begins[of->first]; t < touches->begins[of->end]; t++)
    if (touch_at(candidates, t)->writes && run_touches_meet(touch_at(candidates, t), touch)) return false;
  while (before >= of->first && touches->events.data[before].use == NULL && !touches->events.data[before].ends_run)
    before--;
  return before >= of->first && touches->events.data[before].use != NULL && touches->events.data[before].loop == loop;
}

/* Cycles that Kernels spend on moving what |touch| is. */
static double cycles_of(const RunCandidates *candidates, const RunTouch *touch) {
  const KernelUse *use = candidates->touches->events.data[touch->event].use;
  const Plan *plan = candidates->model->plan(candidates->model->self, use);
  double cycles = 0;
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    bool gathers = command->verb == PLAN_GATHERM, loads = gathers || command->verb == PLAN_LOAD;
    if (loads ? !touch->reads : command->verb != PLAN_STORE || !touch->writes) continue;
    const PlanRef *side = loads ? &command->sources[0] : &command->targets[0];
    const PlanMemory *view = &plan->memories[side->number];
    if (view->kind == PLAN_TEMPORARY || view->number != touch->buffer) continue;
    int64_t bytes = type_storage_bytes(view->type);
    const PlanRef *moved = gathers || command->value >= 0 ? &command->targets[0] : side;
    for (int32_t i = 0; i < moved->range_count; i++) bytes *= moved->ranges[i].extent;
    double each = residency_move_cycles(candidates->placed->machine, bytes, loads);
    cycles += each * (double)plan_loop_instances(plan, command->loop);
  }
  if (!touch->reads) return cycles;
  bool is_step; /* a slice of each step, which is read once */
  double brought = plan_brought_cycles(plan, candidates->placed->machine, touch->buffer,
                                       candidates->model->policy.sees_windows, &is_step);
  return (is_step && is_hidden(candidates, touch) ? 0 : cycles) - brought;
}

/* Cycles that it saves to load all of what |touch| reads first, in place of tiles that may come again;
 * below 0: what that takes. */
static double saved_by_whole(const RunCandidates *candidates, const RunTouch *touch) {
  const ResidencyModel *model = candidates->model;
  const Plan *plan = model->plan(model->self, candidates->touches->events.data[touch->event].use);
  double saved = cycles_of(candidates, touch) - residency_move_cycles(candidates->placed->machine, touch->bytes, true);
  return model->policy.counts_again && plan_loads_again(plan, touch->buffer) ? saved : fmin(0, saved);
}

/* Whether |touch| updates a part of the array. */
static bool is_update(const RunCandidates *candidates, const RunTouch *touch) {
  const KernelUse *use = candidates->touches->events.data[touch->event].use;
  return touch->writes && use != NULL && use->kernel->buffers[touch->buffer].role == KERNEL_IN_PLACE;
}

/* Whether memory gets less than all of the array where |touch| is not resident: plans store all of what they scatter
 * into. */
static bool is_partial(const RunCandidates *candidates, const RunTouch *touch) {
  const KernelUse *use = candidates->touches->events.data[touch->event].use;
  return is_update(candidates, touch) && !tile_is_updated(use->kernel, touch->buffer);
}

/* Cycles of the moves around loops that |candidate| is there all through. */
static double moves_of(const RunCandidates *candidates, const RunCandidate *candidate) {
  double cycles = 0;
  for (int32_t l = 0; l < candidates->touches->loops.count; l++) {
    if (!run_candidate_joins(candidates, candidate, l)) continue;
    double times = times_of(candidates, loop_at(candidates, l)->loop);
    int64_t bytes = candidate->bytes.bytes;
    if (candidate->entry == l) cycles += times * residency_move_cycles(candidates->placed->machine, bytes, true);
    if (run_candidate_is_stored(candidates, candidate, l))
      cycles += times * residency_move_cycles(candidates->placed->machine, bytes, false);
  }
  return cycles;
}

/* What staying saves: all loads but the first of what is found, which brings all of it once, and stores of what nobody
 * else reads.  What others read of what is updated would have to be stored as a whole. */
static void weigh(const RunCandidates *candidates, RunCandidate *candidate) {
  bool is_first = candidate->is_found && candidate->entry < 0;
  const int32_t *begins = candidates->touches->begins;
  for (int32_t t = begins[candidate->first]; t < begins[candidate->last + 1]; t++) {
    const RunTouch *touch = touch_at(candidates, t);
    if (!run_candidate_has(candidate, touch)) continue;
    double times = times_of(candidates, candidates->touches->events.data[touch->event].instruction);
    bool is_around = is_in_joined(candidates, candidate, touch->event);
    bool is_alone = run_candidate_is_alone(candidates, candidate, touch);
    bool stays = touch->reads ? !is_first : is_alone;
    if (is_partial(candidates, touch) && !is_alone && !is_around) {
      candidate->saved = 0;
      return;
    }
    if (touch->reads && is_first) candidate->saved += times * saved_by_whole(candidates, touch);
    if (touch->reads) is_first = false;
    if (stays) candidate->saved += times * cycles_of(candidates, touch);
  }
  candidate->saved -= moves_of(candidates, candidate);
}

/* --- stretches --- */

static void add_candidate(const CandidateSearch *search, const RunCandidate *stretch) {
  RunCandidates *candidates = search->candidates;
  if (stretch->first < 0) return;
  RunCandidate candidate = *stretch;
  candidate.bytes = search->bytes;
  candidate.held = search->bytes.bytes;
  candidate.last_apart = -1;
  int32_t end = candidates->touches->begins[candidate.last + 1];
  for (int32_t t = candidates->touches->begins[candidate.first]; t < end; t++) {
    const RunTouch *touch = touch_at(candidates, t);
    if (!run_touches_meet(touch, &candidate.bytes) || is_fine(touch, &candidate.bytes)) continue;
    candidate.last_apart = touch->event;
    if (is_in_joined(candidates, &candidate, touch->event)) candidate.is_shared = true;
  }
  weigh(candidates, &candidate);
  if (candidate.saved > 0) array_push(&candidates->all, candidates->arena, candidate);
}

typedef enum LoopStep {
  LOOP_ASIDE, /* it touches nothing of the bytes */
  LOOP_JOINS, /* they may be there all through it */
  LOOP_APART
} LoopStep;

static LoopStep loop_step(const CandidateSearch *search, int32_t number) {
  const RunCandidates *candidates = search->candidates;
  const RunLoop *loop = loop_at(candidates, number);
  bool is_touched = false, is_written = false;
  for (int32_t t = candidates->touches->begins[loop->first]; t < candidates->touches->begins[loop->end]; t++) {
    const RunTouch *touch = touch_at(candidates, t);
    if (!run_touches_meet(touch, &search->bytes)) continue;
    bool fits = is_fine(touch, &search->bytes);
    is_touched = is_touched || fits;
    is_written = is_written || (touch->writes && !fits);
  }
  if (is_written) return LOOP_APART;
  if (!is_touched) return LOOP_ASIDE;
  bool is_run = !ends_between(candidates, loop->first, loop->end - 1);
  return is_run && run_candidates_leaf(candidates, number, &search->bytes) >= 0 ? LOOP_JOINS : LOOP_APART;
}

static void add_stretches(const CandidateSearch *search, int32_t context, bool joins);

/* What becomes of the |open| stretch at |touch|. */
static void step_over_touch(const CandidateSearch *search, const RunTouch *touch, RunCandidate *open) {
  const RunCandidates *candidates = search->candidates;
  bool fits = is_fine(touch, &search->bytes);
  bool is_same_event = touch->writes && open->first >= 0 && open->last == touch->event;
  if (!fits && !touch->writes) return; /* it reads what is in memory as well */
  bool goes_on = fits && open->first >= 0 && !ends_between(candidates, open->last, touch->event) &&
                 (touch->reads || is_same_event);
  bool is_replaced = is_same_event && open->first == open->last && open->is_found && !is_update(candidates, touch);
  if (goes_on && is_replaced) { /* it is loaded and overwritten: what stays is the result */
    open->is_found = false;
    return;
  }
  if (goes_on) {
    open->last = touch->event;
    return;
  }
  add_candidate(search, open);
  int32_t first = fits ? touch->event : -1;
  *open = (RunCandidate){.first = first, .last = touch->event, .context = open->context, .entry = -1};
  open->is_found = touch->reads;
}

/* |joins|: stretches go on through loops that they may join; else these are candidates by themselves.  Whether there
 * were such. */
static bool step_over_loop(const CandidateSearch *search, int32_t number, bool joins, RunCandidate *open) {
  const RunCandidates *candidates = search->candidates;
  const RunLoop *loop = loop_at(candidates, number);
  LoopStep step = loop_step(search, number);
  RunCandidate alone = {.first = loop->first, .last = loop->end - 1, .context = open->context, .entry = number};
  alone.is_found = true;
  if (step == LOOP_ASIDE) return false;
  if (step == LOOP_JOINS && joins) {
    bool goes_on = open->first >= 0 && !ends_between(candidates, open->last, loop->first);
    if (!goes_on) add_candidate(search, open);
    if (goes_on)
      open->last = alone.last;
    else
      *open = alone;
    return true;
  }
  add_candidate(search, open);
  open->first = -1;
  if (step == LOOP_JOINS) add_candidate(search, &alone);
  if ((step == LOOP_APART) == joins) add_stretches(search, number, true); /* once in both passes */
  return step == LOOP_JOINS;
}

/* Stretches among the events of |context|, a loop's or (-1) the computation's. */
static void add_stretches(const CandidateSearch *search, int32_t context, bool joins) {
  const RunCandidates *candidates = search->candidates;
  int32_t event = context < 0 ? 0 : loop_at(candidates, context)->first;
  int32_t end = context < 0 ? (int32_t)candidates->touches->events.count : loop_at(candidates, context)->end;
  RunCandidate open = {.first = -1, .context = context};
  bool has_joined = false;
  while (event < end) {
    int32_t loop = loop_within(candidates, context, event);
    if (loop >= 0) {
      has_joined = step_over_loop(search, loop, joins, &open) || has_joined;
      event = loop_at(candidates, loop)->end;
      continue;
    }
    for (int32_t t = candidates->touches->begins[event]; t < candidates->touches->begins[event + 1]; t++) {
      const RunTouch *touch = touch_at(candidates, t);
      if (run_touches_meet(touch, &search->bytes)) step_over_touch(search, touch, &open);
    }
    event++;
  }
  add_candidate(search, &open);
  if (joins && has_joined) add_stretches(search, context, false);
}

/* --- all of them --- */

static int compare_candidates(const void *left, const void *right) {
  const RunCandidate *a = left, *b = right;
  if (a->bytes.slice != b->bytes.slice) return a->bytes.slice < b->bytes.slice ? -1 : 1;
  if (a->first != b->first) return a->first < b->first ? -1 : 1;
  if (a->last != b->last) return a->last > b->last ? -1 : 1;
  return a->context < b->context ? -1 : a->context > b->context;
}

/* A stretch that is there twice (a loop alone) is one candidate. */
static void drop_doubles(RunCandidates *candidates) {
  int64_t kept = 0;
  for (int64_t c = 0; c < candidates->all.count; c++) {
    RunCandidate *candidate = &candidates->all.data[c];
    bool is_double = kept > 0 && compare_candidates(&candidates->all.data[kept - 1], candidate) == 0;
    if (!is_double) candidates->all.data[kept++] = *candidate;
  }
  candidates->all.count = kept;
}

/* --- parts --- */

enum { MOST_PARTED = 6 }; /* Kernels that touch a stretch of which all parts are candidates */

/* From event |first| to |last| of |whole|, at which it is touched. */
static void add_part(const CandidateSearch *search, const RunCandidate *whole, int32_t first, int32_t last) {
  const RunCandidates *candidates = search->candidates;
  RunCandidate part = {.first = first, .last = last, .context = whole->context, .entry = -1};
  part.is_found = whole->is_found;
  if (first > whole->first) part.is_found = true; /* then memory has it, if the Kernel does not make it */
  for (int32_t t = candidates->touches->begins[first];
       first > whole->first && t < candidates->touches->begins[first + 1]; t++) {
    const RunTouch *touch = touch_at(candidates, t);
    if (!touch->writes || !is_fine(touch, &whole->bytes)) continue;
    if (is_update(candidates, touch)) return;
    part.is_found = false;
  }
  add_candidate(search, &part);
}

/* What finds no room in all of its stretch may in a part of it, from one Kernel that touches it to another, or at one
 * that loads it again and again. */
static void add_parts(const CandidateSearch *search, const RunCandidate *whole) {
  const RunCandidates *candidates = search->candidates;
  ARRAY(int32_t) events = {0};
  for (int32_t l = 0; l < candidates->touches->loops.count; l++)
    if (run_candidate_joins(candidates, whole, l)) return;
  for (int32_t t = candidates->touches->begins[whole->first]; t < candidates->touches->begins[whole->last + 1]; t++) {
    const RunTouch *touch = touch_at(candidates, t);
    bool is_known = events.count > 0 && array_last(&events) == touch->event;
    if (is_fine(touch, &whole->bytes) && !is_known) array_push(&events, candidates->arena, touch->event);
  }
  for (int64_t i = 0; i < events.count; i++) {
    if (events.count > 1) add_part(search, whole, events.data[i], events.data[i]);
    for (int64_t j = i + 1; j < events.count; j++) {
      bool is_side = j == i + 1 || i == 0 || j == events.count - 1, is_whole = i == 0 && j == events.count - 1;
      if (!is_whole && (is_side || events.count <= MOST_PARTED))
        add_part(search, whole, events.data[i], events.data[j]);
    }
  }
}

void run_candidates_find(RunCandidates *candidates) {
  int64_t slices = candidates->touches->slice_count;
  bool *had_turn = ARENA_NEW_ARRAY(candidates->arena, bool, slices + 1);
  candidates->all.count = 0;
  for (int64_t t = 0; t < candidates->touches->touches.count; t++) {
    const RunTouch *touch = touch_at(candidates, t);
    if (!touch->may_stay || had_turn[touch->slice]) continue;
    had_turn[touch->slice] = true;
    CandidateSearch search = {candidates, *touch};
    int64_t before = candidates->all.count;
    add_stretches(&search, -1, true);
    for (int64_t c = before, end = candidates->all.count; c < end; c++) {
      const RunCandidate whole = candidates->all.data[c];
      add_parts(&search, &whole);
    }
  }
  if (candidates->all.count > 1)
    qsort(candidates->all.data, (size_t)candidates->all.count, sizeof(RunCandidate), compare_candidates);
  drop_doubles(candidates);
  int32_t *begins = ARENA_NEW_ARRAY(candidates->arena, int32_t, slices + 1);
  for (int64_t c = 0; c < candidates->all.count; c++) begins[candidates->all.data[c].bytes.slice + 1]++;
  for (int64_t i = 0; i < slices; i++) begins[i + 1] += begins[i];
  candidates->begins = begins;
}
