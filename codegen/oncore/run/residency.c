#include "codegen/oncore/run/residency.h"

#include <math.h>
#include <stdlib.h>

#include "base/checked_math.h"
#include "base/packing/packing.h"
#include "codegen/oncore/run/run_touches.h"
#include "hlo/analysis/execution_counts.h"

/* An array that might stay from event |first| to event |last|. */
typedef struct Candidate {
  RunTouch bytes; /* one of its touches */
  int32_t first, last;
  bool is_found;   /* memory has it before, and its first Kernel reads it */
  bool is_changed; /* a Kernel writes it */
  bool is_shared;  /* NODE: somebody reads it from memory in the loop, where every change has to be as well */
  int32_t node;    /* of the loop's state; -1: of one run */
  double saved;    /* cycles of transfers in one run of the computation, or with |node| in all iterations */
  bool is_taken;
  int64_t begin; /* in the Buffer */
} Candidate;

typedef struct Chooser {
  Arena *arena;
  const HloModule *module;
  const BufferAssignment *assignment;
  const KernelTable *kernels;
  const MachineDescription *machine;
  const ResidencyModel *model;
  DiagSink *diag;
  const double *times;
  RunTouches touches;          /* of the computation at hand */
  const HloInstruction *loop;  /* whose body it is; NULL: of none that may have residents */
  ARRAY(Candidate) candidates; /* those of one slice side by side, by time */
  int32_t *begins;             /* by slice, and after the last: its first candidate */
  int64_t *taken;              /* by event: bytes of what is taken */
  int64_t *bases;              /* by event: where places of what is taken end */
  int64_t *tiles;              /* by event: where the Kernel's own tiles begin, there or further up */
  ARRAY(ResidentUse) uses;
  ARRAY(ResidentLoop) loops;
} Chooser;

double residency_move_cycles(const MachineDescription *machine, int64_t bytes, bool loads) {
  for (int32_t q = 0; q < machine->queue_count; q++) {
    const MachineQueue *queue = &machine->queues[q];
    if (loads ? machine_queue_loads(queue) : machine_queue_stores(queue))
      return (double)queue->setup + (double)bytes / queue->bytes_per_cycle;
  }
  return 0;
}

/* --- candidates --- */

static const RunTouch *touch_at(const Chooser *chooser, int64_t number) {
  return &chooser->touches.touches.data[number];
}

static bool ends_between(const Chooser *chooser, int32_t first, int32_t last) {
  return chooser->touches.ends[last + 1] > chooser->touches.ends[first];
}

/* Cycles that Kernels spend on moving what |touch| is. */
static double cycles_of(const Chooser *chooser, const RunTouch *touch) {
  const KernelUse *use = chooser->touches.events.data[touch->event].use;
  const Plan *plan = chooser->model->plan(chooser->model->self, use);
  double cycles = 0;
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    bool gathers = command->verb == PLAN_GATHERM, loads = gathers || command->verb == PLAN_LOAD;
    if (loads ? !touch->reads : command->verb != PLAN_STORE || !touch->writes) continue;
    const PlanRef *side = loads ? &command->sources[0] : &command->targets[0];
    const PlanMemory *view = &plan->memories[side->number];
    if (view->kind == PLAN_TEMPORARY || view->number != touch->buffer) continue;
    int64_t bytes = type_storage_bytes(view->type);
    const PlanRef *moved = gathers ? &command->targets[0] : side;
    for (int32_t i = 0; i < moved->range_count; i++) bytes *= moved->ranges[i].extent;
    double each = residency_move_cycles(chooser->machine, bytes, loads);
    cycles += each * (double)plan_loop_instances(plan, command->loop);
  }
  return touch->reads ? cycles - plan_brought_cycles(plan, chooser->machine, touch->buffer) : cycles;
}

/* Whether the Kernel of |touch| may have all of |bytes| in the Buffer. */
static bool is_fine(const RunTouch *touch, const RunTouch *bytes) {
  return touch->may_stay && touch->slice == bytes->slice;
}

/* Whether |event|, which may be one after the last, is a Kernel of |instruction|: those of one follow one another. */
static bool is_kernel_of(const Chooser *chooser, int32_t event, const HloInstruction *instruction) {
  if (event >= chooser->touches.events.count) return false;
  const RunEvent *of = &chooser->touches.events.data[event];
  return of->use != NULL && of->instruction == instruction;
}

/* Whether only Kernels up to event |last| read the value that |touch| writes, and all of them in the Buffer. */
static bool is_read_by(const Chooser *chooser, const RunTouch *touch, int32_t last) {
  const HloValue *value = buffer_assignment_value(chooser->assignment, touch->holder, touch->node);
  if (value == NULL || value->live_out) return false;
  for (int32_t p = 0; p < value->position_count; p++) {
    const HloComputation *home = value->positions[p].instruction->parent;
    if (home != chooser->touches.computation || value->positions[p].instruction == home->root) return false;
  }
  for (int32_t u = 0; u < value->use_count; u++) {
    bool is_inside = false;
    for (int32_t e = touch->event; e <= last && !is_inside; e++)
      is_inside = is_kernel_of(chooser, e, value->uses[u].user);
    if (!is_inside || is_kernel_of(chooser, last + 1, value->uses[u].user)) return false;
  }
  for (int32_t t = chooser->touches.begins[touch->event + 1]; t < chooser->touches.begins[last + 1]; t++) {
    const RunTouch *other = touch_at(chooser, t);
    if (run_touches_meet(other, touch) && !is_fine(other, touch)) return false;
  }
  return true;
}

/* Whether |touch| updates a part of the array. */
static bool is_update(const Chooser *chooser, const RunTouch *touch) {
  const KernelUse *use = chooser->touches.events.data[touch->event].use;
  return touch->writes && use != NULL && use->kernel->buffers[touch->buffer].role == KERNEL_IN_PLACE;
}

/* What staying saves: all loads but the first of what is found, which brings all of it, and stores of what nobody else
 * reads.  What others read of what is updated would have to be stored as a whole. */
static void weigh(const Chooser *chooser, Candidate *candidate) {
  bool is_first = candidate->is_found && candidate->node < 0;
  const int32_t *begins = chooser->touches.begins;
  for (int32_t t = begins[candidate->first]; t < begins[candidate->last + 1]; t++) {
    const RunTouch *touch = touch_at(chooser, t);
    if (!is_fine(touch, &candidate->bytes)) continue;
    bool is_alone = candidate->node >= 0 ? !candidate->is_shared : is_read_by(chooser, touch, candidate->last);
    bool stays = touch->reads ? !is_first : is_alone;
    if (is_update(chooser, touch) && !is_alone && candidate->node < 0) {
      candidate->saved = 0;
      return;
    }
    if (touch->reads && is_first)
      candidate->saved +=
          fmin(0, cycles_of(chooser, touch) - residency_move_cycles(chooser->machine, touch->bytes, true));
    if (touch->reads) is_first = false;
    if (stays) candidate->saved += cycles_of(chooser, touch);
  }
}

static void add_candidate(Chooser *chooser, Candidate candidate) {
  weigh(chooser, &candidate);
  if (candidate.saved > 0) array_push(&chooser->candidates, chooser->arena, candidate);
}

/* The stretches in which the bytes of touch |number| are touched as they may stay, from the first touch of them on. */
static void add_stretches(Chooser *chooser, int64_t number) {
  const RunTouch *bytes = touch_at(chooser, number);
  Candidate open = {.first = -1};
  for (int64_t t = number; t < chooser->touches.touches.count; t++) {
    const RunTouch *touch = touch_at(chooser, t);
    if (!run_touches_meet(touch, bytes)) continue;
    bool fits = is_fine(touch, bytes);
    bool is_same_event = touch->writes && open.first >= 0 && open.last == touch->event;
    if (!fits && !touch->writes) continue; /* it reads what is in memory as well */
    bool goes_on =
        fits && open.first >= 0 && !ends_between(chooser, open.last, touch->event) && (touch->reads || is_same_event);
    if (goes_on) {
      open.last = touch->event;
      open.is_changed = open.is_changed || touch->writes;
      continue;
    }
    if (open.first >= 0) add_candidate(chooser, open);
    open = (Candidate){.bytes = *touch, .first = fits ? touch->event : -1, .last = touch->event, .node = -1};
    open.is_found = touch->reads;
    open.is_changed = touch->writes;
  }
  if (open.first >= 0) add_candidate(chooser, open);
}

/* The number of |bytes|, -1: nothing touches just these. */
static int32_t slice_of(const Chooser *chooser, const RunTouch *bytes) {
  for (int64_t t = 0; t < chooser->touches.touches.count; t++) {
    const RunTouch *touch = touch_at(chooser, t);
    bool is_there = touch->allocation == bytes->allocation && touch->offset == bytes->offset;
    if (is_there && touch->bytes == bytes->bytes) return touch->slice;
  }
  return -1;
}

/* Integers of rank 0 go around a loop in the scalar unit, which puts them into memory for Kernels only. */
static bool is_scalar_units(const Shape *shape) {
  return shape->rank == 0 && !type_is_float(shape->type);
}

/* Whether the bytes of leaf |node| of the loop's state may stay through all iterations.  |had_turn|: by slice. */
static void add_of_loop(Chooser *chooser, int node, bool *had_turn) {
  if (is_scalar_units(shape_node(chooser->loop->shape, node))) return;
  const HloInstruction *state = chooser->touches.computation->parameters.data[0];
  BufferSlice slice = buffer_assignment_slice(chooser->assignment, state, node);
  BufferSlice outside = buffer_assignment_slice(chooser->assignment, chooser->loop, node);
  if (slice.allocation == NULL || slice.size == 0) return;
  if (outside.allocation != slice.allocation || outside.offset != slice.offset) return;
  Candidate candidate = {.node = node, .is_found = true};
  candidate.last = (int32_t)chooser->touches.events.count - 1;
  candidate.bytes = (RunTouch){.holder = state, .node = node, .allocation = slice.allocation->index};
  candidate.bytes.offset = slice.offset;
  candidate.bytes.bytes = slice.size;
  candidate.bytes.slice = slice_of(chooser, &candidate.bytes);
  if (candidate.bytes.slice < 0 || had_turn[candidate.bytes.slice]) return;
  for (int64_t t = 0; t < chooser->touches.touches.count; t++) {
    const RunTouch *touch = touch_at(chooser, t);
    if (!run_touches_meet(touch, &candidate.bytes)) continue;
    bool fits = is_fine(touch, &candidate.bytes);
    if (!fits && touch->writes) return;
    candidate.is_shared = candidate.is_shared || !fits;
    candidate.is_changed = candidate.is_changed || touch->writes;
  }
  int64_t before = chooser->candidates.count;
  add_candidate(chooser, candidate);
  had_turn[candidate.bytes.slice] = chooser->candidates.count > before;
}

static int compare_candidates(const void *left, const void *right) {
  const Candidate *a = left, *b = right;
  if (a->bytes.slice != b->bytes.slice) return a->bytes.slice < b->bytes.slice ? -1 : 1;
  return a->first < b->first ? -1 : a->first > b->first;
}

/* Those of a loop, then stretches of what does not stay through the whole loop anyway. */
static void find_candidates(Chooser *chooser) {
  int64_t slices = chooser->touches.slice_count;
  bool *had_turn = ARENA_NEW_ARRAY(chooser->arena, bool, slices + 1);
  chooser->candidates.count = 0;
  for (int node = 0; chooser->loop != NULL && node < shape_node_count(chooser->loop->shape); node++) {
    if (!shape_is_tuple(shape_node(chooser->loop->shape, node))) add_of_loop(chooser, node, had_turn);
  }
  for (int64_t t = 0; t < chooser->touches.touches.count; t++) {
    const RunTouch *touch = touch_at(chooser, t);
    if (!touch->may_stay || had_turn[touch->slice]) continue;
    had_turn[touch->slice] = true;
    add_stretches(chooser, t);
  }
  int64_t count = chooser->candidates.count;
  if (count > 1) qsort(chooser->candidates.data, (size_t)count, sizeof(Candidate), compare_candidates);
  chooser->begins = ARENA_NEW_ARRAY(chooser->arena, int32_t, slices + 1);
  for (int64_t c = 0; c < count; c++) chooser->begins[chooser->candidates.data[c].bytes.slice + 1]++;
  for (int64_t i = 0; i < slices; i++) chooser->begins[i + 1] += chooser->begins[i];
}

/* --- room --- */

static int64_t aligned_bytes(const Chooser *chooser, const Candidate *candidate) {
  return align_up(candidate->bytes.bytes, max_i64(chooser->machine->buffer.align, 1));
}

static bool is_alive(const Candidate *candidate, int32_t event) {
  return candidate->is_taken && candidate->first <= event && event <= candidate->last;
}

/* The resident that the bytes of |touch| are, NULL: none. */
static const Candidate *resident_at(const Chooser *chooser, const RunTouch *touch) {
  int32_t begin = chooser->begins[touch->slice], end = chooser->begins[touch->slice + 1];
  while (end - begin > 1) { /* stretches of a slice have no event in common */
    int32_t middle = begin + (end - begin) / 2;
    if (chooser->candidates.data[middle].first <= touch->event)
      begin = middle;
    else
      end = middle;
  }
  bool is_one = touch->may_stay && begin < end && is_alive(&chooser->candidates.data[begin], touch->event);
  return is_one ? &chooser->candidates.data[begin] : NULL;
}

/* Bytes of tiles that the Kernel of |event| has beside its residents. */
static int64_t own_bytes(const Chooser *chooser, int32_t event) {
  const RunEvent *of = &chooser->touches.events.data[event];
  const Plan *plan = of->use != NULL ? chooser->model->plan(chooser->model->self, of->use) : NULL;
  int64_t bytes = 0;
  for (int32_t t = 0; plan != NULL && t < plan->tensor_count; t++) {
    if (!plan->tensors[t].is_alias) bytes += align_up(plan->tensors[t].end - plan->tensors[t].begin, plan->alignment);
  }
  for (int32_t t = chooser->touches.begins[event]; plan != NULL && t < chooser->touches.begins[event + 1]; t++) {
    const RunTouch *touch = touch_at(chooser, t);
    if (touch->buffer >= 0 && resident_at(chooser, touch) != NULL) bytes -= plan_copied_bytes(plan, touch->buffer);
  }
  return bytes;
}

static void set_taken(Chooser *chooser, Candidate *candidate, bool is_taken) {
  int64_t bytes = aligned_bytes(chooser, candidate);
  candidate->is_taken = is_taken;
  for (int32_t e = candidate->first; e <= candidate->last; e++) chooser->taken[e] += is_taken ? bytes : -bytes;
}

static bool has_room(const Chooser *chooser, const Candidate *candidate) {
  int64_t usable = machine_buffer_usable(chooser->machine);
  for (int32_t e = candidate->first; e <= candidate->last; e++) {
    if (chooser->taken[e] + own_bytes(chooser, e) > usable) return false;
  }
  return true;
}

typedef struct Worth {
  double cycles_per_byte;
  Candidate *candidate;
} Worth;

static int compare_worth(const void *left, const void *right) {
  const Worth *a = left, *b = right;
  if (a->cycles_per_byte != b->cycles_per_byte) return a->cycles_per_byte > b->cycles_per_byte ? -1 : 1;
  return a->candidate < b->candidate ? -1 : a->candidate > b->candidate;
}

static void take_greedily(Chooser *chooser) {
  int64_t count = chooser->candidates.count;
  Worth *order = ARENA_NEW_ARRAY(chooser->arena, Worth, count + 1);
  chooser->taken = ARENA_NEW_ARRAY(chooser->arena, int64_t, chooser->touches.events.count + 1);
  for (int64_t c = 0; c < count; c++) {
    Candidate *candidate = &chooser->candidates.data[c];
    order[c] = (Worth){candidate->saved / (double)aligned_bytes(chooser, candidate), candidate};
  }
  if (count > 1) qsort(order, (size_t)count, sizeof *order, compare_worth);
  for (int64_t c = 0; c < count; c++) {
    set_taken(chooser, order[c].candidate, true);
    if (!has_room(chooser, order[c].candidate)) set_taken(chooser, order[c].candidate, false);
  }
}

/* --- places --- */

static Status place(Chooser *chooser) {
  int64_t count = chooser->candidates.count, used = 0;
  PackingBuffer *buffers = ARENA_NEW_ARRAY(chooser->arena, PackingBuffer, count);
  int64_t *candidates = ARENA_NEW_ARRAY(chooser->arena, int64_t, count);
  for (int64_t c = 0; c < count; c++) {
    const Candidate *candidate = &chooser->candidates.data[c];
    if (!candidate->is_taken) continue;
    candidates[used] = c;
    buffers[used] = (PackingBuffer){.id = c, .lower = candidate->first, .upper = candidate->last + 1, .group = -1};
    buffers[used].size = candidate->bytes.bytes;
    buffers[used++].alignment = max_i64(chooser->machine->buffer.align, 1);
  }
  PackingProblem problem = {.buffers = buffers, .count = used, .most_steps = 50000 + 2000 * used};
  PackingSolution packing;
  RETURN_IF_ERROR(packing_solve(chooser->arena, &problem, chooser->diag, &packing));
  for (int64_t i = 0; i < used; i++) chooser->candidates.data[candidates[i]].begin = packing.offsets[i];
  return STATUS_OK;
}

static void find_bases(Chooser *chooser) {
  int64_t events = chooser->touches.events.count;
  chooser->bases = ARENA_NEW_ARRAY(chooser->arena, int64_t, events + 1);
  for (int64_t c = 0; c < chooser->candidates.count; c++) {
    const Candidate *candidate = &chooser->candidates.data[c];
    for (int32_t e = candidate->first; candidate->is_taken && e <= candidate->last; e++)
      chooser->bases[e] = max_i64(chooser->bases[e], candidate->begin + aligned_bytes(chooser, candidate));
  }
  chooser->tiles = ARENA_COPY_ARRAY(chooser->arena, int64_t, chooser->bases, events + 1);
}

static PlanInterface interface_at(const Chooser *chooser, int32_t event) {
  PlanInterface interface = {.base = chooser->tiles[event]};
  int32_t begin = chooser->touches.begins[event], end = chooser->touches.begins[event + 1];
  PlanResident *residents = ARENA_NEW_ARRAY(chooser->arena, PlanResident, end - begin + 1);
  const RunEvent *of = &chooser->touches.events.data[event];
  for (int32_t b = 0; b < of->use->kernel->buffer_count; b++) {
    for (int32_t t = begin; t < end; t++) {
      const RunTouch *touch = touch_at(chooser, t);
      const Candidate *resident = touch->buffer == b ? resident_at(chooser, touch) : NULL;
      if (resident == NULL) continue;
      bool is_known = interface.count > 0 && residents[interface.count - 1].buffer == b;
      if (!is_known) residents[interface.count++] = (PlanResident){.buffer = b, .begin = resident->begin};
      PlanResident *made = &residents[interface.count - 1];
      bool loads = resident->is_found && resident->node < 0 && resident->first == event;
      made->is_there = made->is_there || (touch->reads && !loads);
      bool is_alone = resident->node >= 0 ? !resident->is_shared : is_read_by(chooser, touch, resident->last);
      made->is_needed = made->is_needed || (touch->writes && !is_alone);
    }
  }
  interface.residents = residents;
  return interface;
}

/* --- what it comes to --- */

/* Drops the resident of least worth that is there at |event|. */
static bool drop_at(Chooser *chooser, int32_t event) {
  Candidate *least = NULL;
  for (int64_t c = 0; c < chooser->candidates.count; c++) {
    Candidate *candidate = &chooser->candidates.data[c];
    if (!is_alive(candidate, event)) continue;
    if (least == NULL || candidate->saved < least->saved) least = candidate;
  }
  if (least != NULL) set_taken(chooser, least, false);
  return least != NULL;
}

static double plain_cycles(const Chooser *chooser, int32_t event) {
  static const PlanInterface nothing = {0};
  return chooser->model->cycles(chooser->model->self, chooser->touches.events.data[event].use, &nothing);
}

/* Cycles of what goes on around the loop: what is resident there is loaded before and stored after. */
static double loop_moves(const Chooser *chooser) {
  double cycles = 0;
  for (int64_t c = 0; c < chooser->candidates.count; c++) {
    const Candidate *candidate = &chooser->candidates.data[c];
    if (!candidate->is_taken || candidate->node < 0) continue;
    cycles += residency_move_cycles(chooser->machine, candidate->bytes.bytes, true);
    if (candidate->is_changed) cycles += residency_move_cycles(chooser->machine, candidate->bytes.bytes, false);
  }
  return cycles;
}

/* Places what is taken and asks for plans, with fewer residents until all Kernels have one; |out_saved|: cycles. */
static Status settle(Chooser *chooser, double *out_saved) {
  int64_t touched = chooser->touches.events.count;
  for (bool is_settled = false; !is_settled;) {
    is_settled = true;
    *out_saved = 0;
    RETURN_IF_ERROR(place(chooser));
    find_bases(chooser);
    for (int32_t e = 0; e < touched && is_settled; e++) {
      if (chooser->touches.events.data[e].use == NULL || chooser->bases[e] == 0) continue;
      PlanInterface interface = interface_at(chooser, e);
      double cycles = chooser->model->cycles(chooser->model->self, chooser->touches.events.data[e].use, &interface);
      if (isinf(cycles)) is_settled = !drop_at(chooser, e);
      *out_saved += plain_cycles(chooser, e) - cycles;
    }
  }
  return STATUS_OK;
}

/* Drops all residents. */
static void drop_all(Chooser *chooser) {
  for (int64_t c = 0; c < chooser->candidates.count; c++)
    if (chooser->candidates.data[c].is_taken) set_taken(chooser, &chooser->candidates.data[c], false);
  find_bases(chooser);
}

/* Tiles of Kernels that follow one another lie apart where there is room for both: then the loads of one do not wait
 * for what the one before it still works on.  Its tiles begin at the bottom, or where these would be in the way end at
 * the top, so that there are no more than two plans of each Kernel and interface. */
static void spread_tiles(Chooser *chooser) {
  int64_t align = max_i64(chooser->machine->buffer.align, 1), usable = machine_buffer_usable(chooser->machine);
  int64_t begin = 0, end = 0; /* the tiles before */
  for (int32_t e = 0; e < chooser->touches.events.count; e++) {
    const RunEvent *event = &chooser->touches.events.data[e];
    if (event->ends_run) begin = end = 0;
    if (event->use == NULL) continue;
    int64_t bytes = own_bytes(chooser, e), low = align_up(chooser->bases[e], align);
    int64_t high = (usable - bytes) / align * align;
    if (bytes == 0) continue;
    if (low < end && begin < low + bytes && high >= max_i64(low, end)) {
      chooser->tiles[e] = high;
      PlanInterface interface = interface_at(chooser, e);
      if (isinf(chooser->model->cycles(chooser->model->self, event->use, &interface))) chooser->tiles[e] = low;
    }
    begin = align_up(chooser->tiles[e], align);
    end = begin + bytes;
  }
}

static int compare_nodes(const void *left, const void *right) {
  const LoopResident *a = left, *b = right;
  return a->node < b->node ? -1 : a->node > b->node;
}

static void keep_choice(Chooser *chooser) {
  for (int32_t e = 0; e < chooser->touches.events.count; e++) {
    const RunEvent *event = &chooser->touches.events.data[e];
    if (event->use == NULL || chooser->tiles[e] == 0) continue;
    array_push(&chooser->uses, chooser->arena, ((ResidentUse){event->use, interface_at(chooser, e)}));
  }
  ARRAY(LoopResident) residents = {0};
  for (int64_t c = 0; c < chooser->candidates.count; c++) {
    const Candidate *candidate = &chooser->candidates.data[c];
    if (!candidate->is_taken || candidate->node < 0) continue;
    const Shape *shape = shape_node(chooser->loop->shape, candidate->node);
    LoopResident made = {.node = candidate->node, .begin = candidate->begin, .is_changed = candidate->is_changed};
    made.type = type_is_complex(shape->type) ? type_complex_part(shape->type) : shape->type;
    made.elements = candidate->bytes.bytes / type_storage_bytes(made.type);
    array_push(&residents, chooser->arena, made);
  }
  if (residents.count > 1) qsort(residents.data, (size_t)residents.count, sizeof(LoopResident), compare_nodes);
  if (residents.count > 0)
    array_push(&chooser->loops, chooser->arena,
               ((ResidentLoop){chooser->loop, (int32_t)residents.count, residents.data}));
}

/* --- all computations --- */

/* |loop| if its body is one run, and its condition is the scalar unit's alone. */
static const HloInstruction *loop_of_one_run(const Chooser *chooser, const HloInstruction *loop) {
  const HloComputation *condition = hlo_instruction_computation(loop, HLO_ATTR_CONDITION);
  RunTouches of_condition;
  run_touches_find(chooser->arena, condition, chooser->assignment, chooser->kernels, chooser->model, &of_condition);
  for (int64_t e = 0; e < of_condition.events.count; e++) {
    if (of_condition.events.data[e].use != NULL || of_condition.events.data[e].ends_run) return NULL;
  }
  bool is_one =
      chooser->touches.events.count > 0 && !ends_between(chooser, 0, (int32_t)chooser->touches.events.count - 1);
  return is_one ? loop : NULL;
}

static Status choose(Chooser *chooser, const HloComputation *computation, const HloInstruction *loop) {
  double saved;
  run_touches_find(chooser->arena, computation, chooser->assignment, chooser->kernels, chooser->model,
                   &chooser->touches);
  chooser->loop = loop != NULL ? loop_of_one_run(chooser, loop) : NULL;
  find_candidates(chooser);
  take_greedily(chooser);
  RETURN_IF_ERROR(settle(chooser, &saved));
  saved *= chooser->times[computation->id];
  if (chooser->loop != NULL) saved -= loop_moves(chooser) * chooser->times[chooser->loop->parent->id];
  if (saved <= 0) drop_all(chooser);
  spread_tiles(chooser);
  keep_choice(chooser);
  return STATUS_OK;
}

/* By computation id: the loop whose body it is. */
static const HloInstruction **find_loops(const Chooser *chooser) {
  const HloModule *module = chooser->module;
  int64_t most = 0;
  for (int64_t c = 0; c < module->computations.count; c++) most = max_i64(most, module->computations.data[c]->id);
  const HloInstruction **loops = ARENA_NEW_ARRAY(chooser->arena, const HloInstruction *, most + 1);
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    for (int64_t i = 0; i < computation->instructions.count; i++) {
      const HloInstruction *instruction = computation->instructions.data[i];
      if (instruction->opcode == HLO_WHILE)
        loops[hlo_instruction_computation(instruction, HLO_ATTR_BODY)->id] = instruction;
    }
  }
  return loops;
}

Status residency_choose(Arena *arena, const HloModule *module, const BufferAssignment *assignment,
                        const KernelTable *kernels, const MachineDescription *machine, const ResidencyModel *model,
                        DiagSink *diag, Residency *out_residency) {
  Chooser chooser = {arena, module, assignment, kernels, machine, model, diag, .times = NULL};
  chooser.times = hlo_execution_counts(arena, module, 1);
  const HloInstruction **loops = find_loops(&chooser);
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    if (chooser.times[computation->id] > 0) RETURN_IF_ERROR(choose(&chooser, computation, loops[computation->id]));
  }
  *out_residency = (Residency){chooser.uses.count, chooser.loops.count, chooser.uses.data, chooser.loops.data};
  return STATUS_OK;
}
