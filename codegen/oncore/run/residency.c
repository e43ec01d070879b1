#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked_math.h"
#include "codegen/oncore/plan/tile_seen.h"
#include "codegen/oncore/run/plan_copies.h"
#include "codegen/oncore/run/plan_split.h"
#include "codegen/oncore/run/residency_internal.h"
#include "hlo/analysis/execution_counts.h"

/* What is to stay in part would save, as a whole, one of so many parts of the Kernels' cycles at least. */
enum { PART_SHARE = 100 };

/* How often what is left by residents without a place is filled again. */
enum { MOST_REFILLS = 4 };

/* How many residents without a place are given up one by one, before those that are left are placed anew.  Where there
 * are more, several are at a time: which of them go matters less then, and placing takes long. */
enum { SINGLE_DROPS = 32 };

/* How much Kernels may be slower with what is loaded once for one of them, which waits until all of it is there. */
static const double SLOWER = 1.006;

double residency_move_cycles(const MachineDescription *machine, int64_t bytes, bool loads) {
  for (int32_t q = 0; q < machine->queue_count; q++) {
    const MachineQueue *queue = &machine->queues[q];
    if (loads ? machine_queue_loads(queue) : machine_queue_stores(queue))
      return (double)queue->setup + (double)bytes / queue->bytes_per_cycle;
  }
  return 0;
}

bool residency_may_keep(const ResidencyModel *model, const Plan *plan, int32_t buffer) {
  bool sees = model->policy.sees_windows;
  return plan_may_keep(plan, buffer, sees) && (model->policy.brings_streams || !plan_brings_stream(plan, buffer, sees));
}

const RunTouch *residency_touch(const Chooser *chooser, int64_t number) {
  return &chooser->touches.touches.data[number];
}

RunCandidate *residency_candidate(const Chooser *chooser, int64_t number) {
  return &chooser->candidates.all.data[number];
}

/* --- room --- */

int64_t residency_aligned_bytes(const Chooser *chooser, const RunCandidate *candidate) {
  return align_up(candidate->held, max_i64(chooser->placed->machine->buffer.align, 1));
}

static double times_at(const Chooser *chooser, int32_t event) {
  return chooser->times[chooser->touches.events.data[event].instruction->parent->id];
}

/* Adds |candidate| to those that are |there|, which stay in the order of all, or takes it away. */
static void set_there(Arena *arena, CandidateArray *there, RunCandidate *candidate, bool is_there) {
  int64_t place = there->count;
  while (place > 0 && there->data[place - 1] >= candidate) place--;
  if (is_there) {
    array_push(there, arena, candidate);
    memmove(there->data + place + 1, there->data + place, sizeof candidate * (size_t)(there->count - 1 - place));
    there->data[place] = candidate;
  } else {
    there->count--;
    memmove(there->data + place, there->data + place + 1, sizeof candidate * (size_t)(there->count - place));
  }
}

void residency_set_taken(Chooser *chooser, RunCandidate *candidate, bool is_taken) {
  int64_t bytes = residency_aligned_bytes(chooser, candidate);
  const int32_t *begins = chooser->touches.begins;
  candidate->is_taken = is_taken;
  for (int32_t e = candidate->first; e <= candidate->last; e++) {
    chooser->taken[e] += is_taken ? bytes : -bytes;
    set_there(chooser->arena, &chooser->there[e], candidate, is_taken);
  }
  for (int32_t t = begins[candidate->first]; t < begins[candidate->last + 1]; t++) {
    if (run_candidate_has(candidate, residency_touch(chooser, t)))
      chooser->resident_of[t] = is_taken ? candidate : NULL;
  }
}

bool residency_is_fixed(const Chooser *chooser, int32_t event) {
  const KernelUse *use = chooser->touches.events.data[event].use;
  return use != NULL && chooser->model->plan(chooser->model->self, use) == NULL;
}

/* What |event|'s Kernel finds and leaves, with its own tiles from |base| to at most |limit|. */
static PlanInterface interface_at(const Chooser *chooser, int32_t event, int64_t base, int64_t limit) {
  PlanInterface interface = {.base = base, .low = base, .limit = limit, .room = chooser->rooms[event]};
  interface.sees = chooser->sees[event];
  int32_t begin = chooser->touches.begins[event], end = chooser->touches.begins[event + 1];
  PlanResident *residents = ARENA_NEW_ARRAY(chooser->arena, PlanResident, end - begin + 1);
  const RunEvent *of = &chooser->touches.events.data[event];
  for (int32_t b = 0; b < of->use->kernel->buffer_count; b++) {
    for (int32_t t = begin; t < end; t++) {
      const RunTouch *touch = residency_touch(chooser, t);
      const RunCandidate *resident = touch->buffer == b ? chooser->resident_of[t] : NULL;
      if (resident == NULL) continue;
      bool is_known = interface.count > 0 && residents[interface.count - 1].buffer == b;
      if (!is_known) residents[interface.count++] = (PlanResident){.buffer = b, .begin = resident->begin};
      PlanResident *made = &residents[interface.count - 1];
      if (resident->held < resident->bytes.bytes)
        made->elements = resident->held / type_storage_bytes(of->use->kernel->buffers[b].type);
      bool loads = resident->is_found && resident->entry < 0 && resident->first == event;
      made->is_there = made->is_there || (touch->reads && !loads);
      bool is_needed = touch->writes && !run_candidate_is_alone(&chooser->candidates, resident, touch);
      made->is_needed = made->is_needed || is_needed;
    }
  }
  interface.residents = residents;
  return interface;
}

static double cycles_under(const Chooser *chooser, int32_t event, const PlanInterface *interface) {
  return chooser->model->cycles(chooser->model->self, chooser->touches.events.data[event].use, interface);
}

double residency_trial_cycles(const Chooser *chooser, const RunCandidate *candidate, const bool *is_changed) {
  double cycles = 0;
  for (int32_t e = candidate->first; e <= candidate->last; e++) {
    bool is_meant = is_changed[e - candidate->first];
    for (int32_t t = chooser->touches.begins[e]; t < chooser->touches.begins[e + 1]; t++)
      is_meant = is_meant || run_candidate_has(candidate, residency_touch(chooser, t));
    if (!is_meant || chooser->touches.events.data[e].use == NULL) continue;
    int64_t end = 0;
    for (int64_t i = 0; i < chooser->there[e].count; i++) {
      RunCandidate *other = chooser->there[e].data[i];
      other->begin = end;
      end += residency_aligned_bytes(chooser, other);
    }
    PlanInterface interface = interface_at(chooser, e, end, machine_buffer_usable(chooser->placed->machine));
    cycles += cycles_under(chooser, e, &interface) * times_at(chooser, e);
  }
  return cycles;
}

/* Whether |buffer| of |plan| may be |resident|; where that is a part the plan can be split after it. */
static bool may_stay(const Chooser *chooser, const Plan *plan, int32_t buffer, const RunCandidate *resident) {
  if (!residency_may_keep(chooser->model, plan, buffer)) return false;
  if (resident->held == resident->bytes.bytes) return true;
  int64_t step = plan_split_step(plan, buffer) * type_storage_bytes(plan->kernel->buffers[buffer].type);
  return step > 0 && resident->held % step == 0;
}

static bool may_all_stay(const Chooser *chooser, int32_t event, const Plan *plan) {
  for (int32_t t = chooser->touches.begins[event]; t < chooser->touches.begins[event + 1]; t++) {
    const RunCandidate *resident = chooser->resident_of[t];
    if (resident != NULL && !may_stay(chooser, plan, residency_touch(chooser, t)->buffer, resident)) return false;
  }
  return true;
}

/* Whether the plan of |event| for |room| bytes, which it has then, has room for its tiles in |left|. */
static bool fits_within(Chooser *chooser, int32_t event, PlanRoom room, int64_t left) {
  chooser->rooms[event] = room;
  const Plan *plan = room.bytes > 0 ? residency_plan(chooser, event) : NULL;
  return plan != NULL && may_all_stay(chooser, event, plan) && residency_own_bytes(chooser, event) <= left;
}

uint64_t residency_walked(const Chooser *chooser, int32_t event) {
  uint64_t walked = 0;
  for (int32_t t = chooser->touches.begins[event]; t < chooser->touches.begins[event + 1]; t++) {
    const RunCandidate *resident = chooser->resident_of[t];
    int32_t buffer = residency_touch(chooser, t)->buffer;
    bool is_part = resident != NULL && resident->held < resident->bytes.bytes;
    if (is_part && buffer >= 0 && buffer < PLAN_ROOM_BUFFERS) walked |= (uint64_t)1 << buffer;
  }
  return walked;
}

bool residency_find_room(Chooser *chooser, int32_t event, int64_t left, uint64_t walked) {
  PlanRoom before = chooser->rooms[event];
  int64_t usable = machine_buffer_usable(chooser->placed->machine);
  int64_t step = max_i64(usable / ROOM_STEPS, 1), fine = max_i64(usable / BESIDE_STEPS, 1);
  chooser->rooms[event] = (PlanRoom){0};
  if (walked == 0 && residency_own_bytes(chooser, event) <= left) return true;
  uint64_t held = residency_held_buffers(chooser, event);
  bool replaces_much = held != 0 && residency_replaced_bytes(chooser, event) >= step;
  chooser->lacks_room = chooser->lacks_room || replaces_much;
  bool is_beside = left > 0 && held != 0 && (chooser->model->policy.knows_held || walked != 0);
  if (is_beside && fits_within(chooser, event, (PlanRoom){left / fine * fine, held, walked}, left)) return true;
  if (left > 0 && fits_within(chooser, event, (PlanRoom){left / step * step, 0, walked}, left)) return true;
  if (chooser->model->policy.takes_parts && fits_within(chooser, event, before, left)) return true;
  chooser->rooms[event] = before;
  return false;
}

/* Whether taken |other| is of the bytes of |candidate| and there at one of its Kernels. */
static bool overlaps(const RunCandidate *candidate, const RunCandidate *other) {
  return other->is_taken && other->first <= candidate->last && candidate->first <= other->last;
}

/* Takes |candidate|, with the |parts| of it that are taken already given up for it, or the other way around. */
static void exchange(Chooser *chooser, RunCandidate *candidate, const CandidateArray *parts, bool takes) {
  if (!takes) residency_set_taken(chooser, candidate, false);
  for (int64_t i = 0; i < parts->count; i++) residency_set_taken(chooser, parts->data[i], !takes);
  if (takes) residency_set_taken(chooser, candidate, true);
}

/* Whether |candidate| stays for one Kernel, which loads it again and again. */
static bool is_for_one(const RunCandidate *candidate) {
  return candidate->first == candidate->last && candidate->is_found;
}

/* Whether operations bring of |candidate| what was a stream of loads. */
static bool brings_stream(const Chooser *chooser, const RunCandidate *candidate) {
  const int32_t *begins = chooser->touches.begins;
  for (int32_t t = begins[candidate->first]; t < begins[candidate->last + 1]; t++) {
    const RunTouch *touch = residency_touch(chooser, t);
    if (!run_candidate_has(candidate, touch) || !touch->reads) continue;
    bool sees = chooser->model->policy.sees_windows;
    if (plan_brings_stream(residency_plan(chooser, touch->event), touch->buffer, sees)) return true;
  }
  return false;
}

/* Takes |candidate|, of which |parts| may be taken already, if it has room; false if not.  Other plans, which are taken
 * then, may make some where that is worth their making, and Kernels are not slower so: what is loaded less often leaves
 * memory to others. */
static bool take_where_room(Chooser *chooser, RunCandidate *candidate, const CandidateArray *parts) {
  int64_t usable = machine_buffer_usable(chooser->placed->machine), events = candidate->last - candidate->first + 1;
  PlanRoom *before = ARENA_COPY_ARRAY(chooser->arena, PlanRoom, chooser->rooms + candidate->first, events);
  bool *is_changed = ARENA_NEW_ARRAY(chooser->arena, bool, events);
  bool is_worth = candidate->saved * LEAST_SHARE > chooser->estimate, fits = true;
  bool is_any = is_for_one(candidate) || brings_stream(chooser, candidate);
  double most = is_for_one(candidate) ? SLOWER : 1;
  exchange(chooser, candidate, parts, true);
  for (int32_t e = candidate->first; e <= candidate->last && fits; e++) {
    fits = !residency_is_fixed(chooser, e);
    if (!fits || chooser->taken[e] + residency_own_bytes(chooser, e) <= usable) continue;
    fits = is_worth && residency_find_room(chooser, e, usable - chooser->taken[e], residency_walked(chooser, e));
    is_changed[e - candidate->first] = is_any = true;
  }
  if (fits && !is_any) return true;
  double with = fits ? residency_trial_cycles(chooser, candidate, is_changed) : INFINITY;
  for (int64_t i = 0; i < events; i++) {
    PlanRoom room = chooser->rooms[candidate->first + i];
    chooser->rooms[candidate->first + i] = before[i];
    before[i] = room;
  }
  exchange(chooser, candidate, parts, false);
  double without = isinf(with) ? 0 : residency_trial_cycles(chooser, candidate, is_changed);
  if (isinf(with) || with > without * most) return false;
  exchange(chooser, candidate, parts, true);
  for (int64_t i = 0; i < events; i++) chooser->rooms[candidate->first + i] = before[i];
  return true;
}

/* --- the order --- */

/* Of |candidate|, of which |parts| are taken, what finds room: all, or by a policy that takes parts some of it. */
static bool take_what_fits(Chooser *chooser, RunCandidate *candidate, const CandidateArray *parts) {
  if (take_where_room(chooser, candidate, parts)) return true;
  bool is_part = candidate->held < candidate->bytes.bytes;
  bool is_worth = candidate->saved * PART_SHARE > chooser->estimate;
  if (is_part || !is_worth || parts->count > 0 || !run_candidate_may_part(&chooser->candidates, candidate))
    return false;
  chooser->may_part = true;
  return chooser->model->policy.takes_parts && residency_take_part(chooser, candidate);
}

typedef struct Worth {
  double density;
  int32_t candidate;
} Worth;

/* Those that are to be looked at, the best last. */
typedef struct WorthQueue {
  Arena *arena;
  ARRAY(Worth) order;
  double *density; /* by candidate: at present; entries that say another one are old */
} WorthQueue;

static int compare_worth(const void *left, const void *right) {
  const Worth *a = left, *b = right;
  if (a->density != b->density) return a->density < b->density ? -1 : 1;
  return a->candidate > b->candidate ? -1 : a->candidate < b->candidate;
}

/* How long |candidate| stays: from Kernel to Kernel.  At its first and last one it is there instead of a tile. */
static double stay_of(const RunCandidate *candidate) {
  return fmax(1, candidate->last - candidate->first);
}

/* What |candidate| saves beyond its |out_parts| that are taken already, for each byte and Kernel that it stays longer;
 * below 0: nothing, or it meets one that is no part of it. */
static double density_of(const Chooser *chooser, RunCandidate *candidate, CandidateArray *out_parts) {
  double saved = candidate->saved, stay = stay_of(candidate);
  int32_t slice = candidate->bytes.slice;
  out_parts->count = 0;
  if (candidate->is_given_up || candidate->is_taken) return -1;
  for (int32_t c = chooser->candidates.begins[slice]; c < chooser->candidates.begins[slice + 1]; c++) {
    RunCandidate *other = residency_candidate(chooser, c);
    if (!overlaps(candidate, other)) continue;
    if (other->first < candidate->first || other->last > candidate->last) return -1;
    saved -= other->saved;
    stay -= stay_of(other);
    array_push(out_parts, chooser->arena, other);
  }
  return saved / ((double)residency_aligned_bytes(chooser, candidate) * fmax(1, stay));
}

static void queue_again(const Chooser *chooser, WorthQueue *queue, int32_t number, CandidateArray *parts) {
  Worth worth = {density_of(chooser, residency_candidate(chooser, number), parts), number};
  if (worth.density == queue->density[number]) return;
  queue->density[number] = worth.density;
  if (worth.density <= 0) return;
  array_push(&queue->order, queue->arena, worth);
  int64_t place = queue->order.count - 1;
  for (; place > 0 && compare_worth(&queue->order.data[place - 1], &worth) > 0; place--)
    queue->order.data[place] = queue->order.data[place - 1];
  queue->order.data[place] = worth;
}

static void take_greedily(Chooser *chooser) {
  int32_t count = (int32_t)chooser->candidates.all.count;
  WorthQueue queue = {.arena = chooser->arena, .density = ARENA_NEW_ARRAY(chooser->arena, double, count + 1)};
  CandidateArray parts = {0};
  for (int32_t c = 0; c < count; c++) {
    queue.density[c] = density_of(chooser, residency_candidate(chooser, c), &parts);
    if (queue.density[c] > 0) array_push(&queue.order, chooser->arena, ((Worth){queue.density[c], c}));
  }
  if (queue.order.count > 1) qsort(queue.order.data, (size_t)queue.order.count, sizeof(Worth), compare_worth);
  while (queue.order.count > 0) {
    Worth best = queue.order.data[--queue.order.count];
    if (best.density != queue.density[best.candidate]) continue;
    RunCandidate *candidate = residency_candidate(chooser, best.candidate);
    density_of(chooser, candidate, &parts);
    if (!take_what_fits(chooser, candidate, &parts)) continue;
    int32_t slice = candidate->bytes.slice;
    for (int32_t c = chooser->candidates.begins[slice]; c < chooser->candidates.begins[slice + 1]; c++)
      queue_again(chooser, &queue, c, &parts);
  }
}

/* --- what it comes to --- */

/* Whether |event|'s Kernel cannot have the plan that it has by itself: what that needs it finds where residents are. */
static bool needs_interface(const Chooser *chooser, int32_t event) {
  const KernelUse *use = chooser->touches.events.data[event].use;
  return use != NULL && kernel_use_is_apart(use);
}

/* Whether |event|'s Kernel has the plan that it has by itself. */
static bool is_plain(const Chooser *chooser, int32_t event) {
  if (needs_interface(chooser, event)) return false;
  bool has_all = residency_room_left(chooser, event) == machine_buffer_usable(chooser->placed->machine);
  return has_all && chooser->tiles[event] == 0 && chooser->rooms[event].bytes == 0;
}

/* How much |candidate| is to do with |event|'s Kernel. */
typedef enum Relation { IS_THERE, IS_TOUCHED, IS_OVERWRITTEN } Relation;

/* Overwritten: the Kernel has a result where an operand is. */
static Relation relation_at(const Chooser *chooser, int32_t event, const RunCandidate *candidate) {
  bool reads = false, writes = false;
  for (int32_t t = chooser->touches.begins[event]; t < chooser->touches.begins[event + 1]; t++) {
    if (chooser->resident_of[t] != candidate) continue;
    reads = reads || residency_touch(chooser, t)->reads;
    writes = writes || residency_touch(chooser, t)->writes;
  }
  return reads && writes ? IS_OVERWRITTEN : reads || writes ? IS_TOUCHED : IS_THERE;
}

/* The resident of least worth that is there at |event|, by what it saves for each byte and Kernel, of those that have
 * the most to do with its Kernel if |touches|; NULL: none. */
static RunCandidate *least_at(const Chooser *chooser, int32_t event, bool touches) {
  RunCandidate *least = NULL;
  double worth = INFINITY;
  Relation most = IS_THERE;
  for (int64_t i = 0; i < chooser->there[event].count; i++) {
    RunCandidate *candidate = chooser->there[event].data[i];
    double density = candidate->saved / ((double)residency_aligned_bytes(chooser, candidate) * stay_of(candidate));
    Relation relation = touches ? relation_at(chooser, event, candidate) : IS_THERE;
    if (relation < most || (relation == most && density >= worth)) continue;
    most = relation;
    worth = density;
    least = candidate;
  }
  return least;
}

static double plain_cycles(const Chooser *chooser, int32_t event) {
  static const PlanInterface nothing = {0};
  return cycles_under(chooser, event, &nothing);
}

/* What comes of a Kernel where residents lie. */
typedef struct Settled {
  double cycles;    /* infinity: some residents have to go */
  bool has_no_plan; /* since no plan finds and leaves what the Kernel touches, though its tiles have room */
} Settled;

/* Of the Kernel of |event| under its interface.  Places of residents leave it no room, or so little that it is slower
 * than without any, or there is no such plan. */
static Settled settle_event(Chooser *chooser, int32_t event) {
  static const Settled has_no_room = {INFINITY, false};
  PlanRoom before = chooser->rooms[event];
  int64_t left = residency_room_left(chooser, event);
  bool is_settled = residency_walked(chooser, event) != 0 && residency_own_bytes(chooser, event) <= left;
  if (!is_settled && !residency_find_room(chooser, event, left, residency_walked(chooser, event))) return has_no_room;
  PlanInterface interface = interface_at(chooser, event, chooser->tiles[event], chooser->limits[event]);
  double cycles = cycles_under(chooser, event, &interface);
  PlanRoom room = chooser->rooms[event];
  bool is_tighter = !plan_room_is_same(room, before) && room.bytes > 0;
  if (!is_tighter || cycles <= plain_cycles(chooser, event)) return (Settled){cycles, isinf(cycles)};
  chooser->rooms[event] = before;
  return has_no_room;
}

/* What the Kernel of |event| saves that takes |cycles|; nothing where it is as much slower as it may be for what it
 * loads once. */
static double saved_cycles(const Chooser *chooser, int32_t event, double cycles) {
  double plain = plain_cycles(chooser, event);
  bool may_lose = false;
  for (int64_t i = 0; i < chooser->there[event].count; i++)
    may_lose = may_lose || is_for_one(chooser->there[event].data[i]);
  return may_lose && cycles <= plain * SLOWER ? fmax(0, plain - cycles) : plain - cycles;
}

static int compare_nodes(const void *left, const void *right) {
  const LoopResident *a = left, *b = right;
  return a->node < b->node ? -1 : a->node > b->node;
}

/* What is moved around |loop|. */
static ResidentLoop loop_moves(const Chooser *chooser, int32_t loop) {
  const HloInstruction *of = chooser->touches.loops.data[loop].loop;
  ARRAY(LoopResident) residents = {0};
  for (int64_t c = 0; c < chooser->candidates.all.count; c++) {
    const RunCandidate *candidate = residency_candidate(chooser, c);
    if (!candidate->is_taken || !run_candidate_joins(&chooser->candidates, candidate, loop)) continue;
    LoopResident made = {.begin = candidate->begin, .is_loaded = candidate->entry == loop};
    made.is_stored = run_candidate_is_stored(&chooser->candidates, candidate, loop);
    if (!made.is_loaded && !made.is_stored) continue;
    made.node = run_candidates_leaf(&chooser->candidates, loop, &candidate->bytes);
    PrimitiveType type = shape_node(of->shape, made.node)->type;
    made.type = type_is_complex(type) ? type_complex_part(type) : type;
    made.elements = candidate->held / type_storage_bytes(made.type);
    array_push(&residents, chooser->arena, made);
  }
  if (residents.count > 1) qsort(residents.data, (size_t)residents.count, sizeof(LoopResident), compare_nodes);
  return (ResidentLoop){of, (int32_t)residents.count, residents.data};
}

static double moves_cycles(const Chooser *chooser, const ResidentLoop *moves) {
  double cycles = 0;
  for (int32_t r = 0; r < moves->count; r++) {
    const LoopResident *resident = &moves->residents[r];
    int64_t bytes = resident->elements * type_storage_bytes(resident->type);
    if (resident->is_loaded) cycles += residency_move_cycles(chooser->placed->machine, bytes, true);
    if (resident->is_stored) cycles += residency_move_cycles(chooser->placed->machine, bytes, false);
  }
  return cycles * chooser->times[moves->loop->parent->id];
}

static double *saved_at(const Chooser *chooser, int32_t event) {
  return &chooser->saved[chooser->touches.events.data[event].instruction->parent->id];
}

/* Gives up |candidate|, which finds no place. */
static void drop(Chooser *chooser, RunCandidate *candidate) {
  residency_set_taken(chooser, candidate, false);
  chooser->lacks_place = true;
  if (!chooser->model->policy.refills) return;
  candidate->is_given_up = true;
  chooser->has_dropped = true;
}

/* Gives up what is there at |event|, of which |settled| has come.  Returns the last event that may have more room then;
 * -1: it has room, or nothing is there. */
static int32_t make_room(Chooser *chooser, int32_t event, Settled settled) {
  RunCandidate *least = isinf(settled.cycles) ? least_at(chooser, event, settled.has_no_plan) : NULL;
  if (least != NULL) drop(chooser, least);
  return least != NULL ? least->last : -1;
}

/* Asks for plans where residents lie and finds |chooser->saved|, and all of it together.  Gives up residents at Kernels
 * that find no room: one, or if |drops_several| several that are there at different times.  Whether it did. */
static bool ask_plans(Chooser *chooser, bool drops_several, double *out_saved) {
  int32_t events = (int32_t)chooser->touches.events.count, freed = -1;
  bool has_dropped = false;
  *out_saved = 0;
  for (int32_t e = 0; e < events; e++) *saved_at(chooser, e) = 0;
  for (int32_t e = 0; e < events && (drops_several || !has_dropped); e++) {
    bool has_no_place = residency_is_over(chooser, e);
    if (e <= freed || chooser->touches.events.data[e].use == NULL || (is_plain(chooser, e) && !has_no_place)) continue;
    Settled settled = has_no_place ? (Settled){INFINITY, false} : settle_event(chooser, e);
    freed = make_room(chooser, e, settled);
    has_dropped = has_dropped || freed >= 0;
    if (freed >= 0) continue;
    chooser->lacks_plan = chooser->lacks_plan || (isinf(settled.cycles) && needs_interface(chooser, e));
    double saved = saved_cycles(chooser, e, settled.cycles) * times_at(chooser, e);
    *saved_at(chooser, e) += saved;
    *out_saved += saved;
  }
  return has_dropped;
}

/* Places what is taken and asks for plans, with fewer residents until all Kernels have one; finds |chooser->saved|, and
 * all of it together. */
static Status settle(Chooser *chooser, double *out_saved) {
  bool has_dropped = true;
  for (int32_t round = 0; has_dropped; round++) {
    RETURN_IF_ERROR(residency_place(chooser));
    has_dropped = ask_plans(chooser, round >= SINGLE_DROPS, out_saved);
  }
  for (int32_t l = 0; l < chooser->touches.loops.count; l++) {
    ResidentLoop moves = loop_moves(chooser, l);
    double cycles = moves_cycles(chooser, &moves);
    chooser->saved[hlo_instruction_computation(moves.loop, HLO_ATTR_BODY)->id] -= cycles;
    *out_saved -= cycles;
  }
  return STATUS_OK;
}

/* Gives up all residents that are there at a Kernel of a computation that takes more cycles with them; false for none.
 */
static bool give_up(Chooser *chooser) {
  bool *is_lost = ARENA_NEW_ARRAY(chooser->arena, bool, chooser->candidates.all.count + 1);
  bool is_any = false;
  for (int32_t e = 0; e < chooser->touches.events.count; e++) {
    if (chooser->touches.events.data[e].use == NULL || *saved_at(chooser, e) >= 0) continue;
    for (int64_t i = 0; i < chooser->there[e].count; i++)
      is_lost[chooser->there[e].data[i] - residency_candidate(chooser, 0)] = true;
  }
  for (int64_t c = 0; c < chooser->candidates.all.count; c++) {
    if (!is_lost[c]) continue;
    residency_candidate(chooser, c)->is_given_up = is_any = true;
    residency_set_taken(chooser, residency_candidate(chooser, c), false);
  }
  return is_any;
}

/* Takes what |is_taken| says, by candidate. */
static void take_again(Chooser *chooser, const bool *is_taken) {
  for (int64_t c = 0; c < chooser->candidates.all.count; c++)
    if (residency_candidate(chooser, c)->is_taken) residency_set_taken(chooser, residency_candidate(chooser, c), false);
  for (int64_t c = 0; c < chooser->candidates.all.count; c++)
    if (is_taken[c]) residency_set_taken(chooser, residency_candidate(chooser, c), true);
}

/* What saves most: all that there is room for, without what finds no place or makes computations slower; nothing if
 * that does. */
static Status take_best(Chooser *chooser) {
  int64_t count = chooser->candidates.all.count;
  bool *best = ARENA_NEW_ARRAY(chooser->arena, bool, count + 1), goes_on = true;
  double most = 0, saved;
  for (int32_t round = 0; goes_on; round++) {
    chooser->has_dropped = false;
    take_greedily(chooser);
    RETURN_IF_ERROR(settle(chooser, &saved));
    for (int64_t c = 0; c < count && saved > most; c++) best[c] = residency_candidate(chooser, c)->is_taken;
    most = fmax(most, saved);
    goes_on = give_up(chooser) || (chooser->has_dropped && round < MOST_REFILLS);
  }
  if (saved == most && most > 0) return STATUS_OK;
  take_again(chooser, best);
  return settle(chooser, &saved);
}

/* Tiles of Kernels that follow one another lie apart where there is room for both: then the loads of one do not wait
 * for what the one before it still works on.  Its tiles begin at the bottom, or where these would be in the way end at
 * the top, so that there are no more than two plans of each Kernel and interface. */
static void spread_tiles(Chooser *chooser) {
  int64_t align = max_i64(chooser->placed->machine->buffer.align, 1);
  int64_t begin = 0, end = 0; /* the tiles before */
  int32_t loop = -1;
  for (int32_t e = 0; e < chooser->touches.events.count; e++) {
    const RunEvent *event = &chooser->touches.events.data[e];
    if (event->ends_run || event->loop != loop) begin = end = 0;
    loop = event->loop;
    if (event->use == NULL) continue;
    int64_t bytes = residency_own_bytes(chooser, e), low = align_up(chooser->bases[e], align);
    int64_t high = (chooser->limits[e] - bytes) / align * align;
    if (bytes == 0) continue;
    if (low < end && begin < low + bytes && high >= max_i64(low, end)) {
      chooser->tiles[e] = high;
      PlanInterface interface = interface_at(chooser, e, chooser->tiles[e], chooser->limits[e]);
      if (isinf(cycles_under(chooser, e, &interface))) chooser->tiles[e] = low;
    }
    begin = align_up(chooser->tiles[e], align);
    end = begin + bytes;
  }
}

static void keep_choice(Chooser *chooser) {
  for (int32_t e = 0; e < chooser->touches.events.count; e++) {
    const RunEvent *event = &chooser->touches.events.data[e];
    if (event->use == NULL || is_plain(chooser, e)) continue;
    PlanInterface interface = interface_at(chooser, e, chooser->tiles[e], chooser->limits[e]);
    interface.low =
        min_i64(interface.base, align_up(chooser->bases[e], max_i64(chooser->placed->machine->buffer.align, 1)));
    array_push(&chooser->uses, chooser->arena, ((ResidentUse){event->use, interface}));
  }
  for (int32_t l = 0; l < chooser->touches.loops.count; l++) {
    ResidentLoop moves = loop_moves(chooser, l);
    if (moves.count > 0) array_push(&chooser->loops, chooser->arena, moves);
  }
}

/* --- all computations --- */

static Status choose(Chooser *chooser, const HloComputation *computation) {
  Arena *arena = chooser->arena;
  run_touches_find(arena, chooser->placed, computation, chooser->model, true, &chooser->touches);
  chooser->candidates = (RunCandidates){arena, chooser->placed, chooser->model, .all = {0}};
  chooser->candidates.times = chooser->times;
  chooser->candidates.touches = &chooser->touches;
  run_candidates_find(&chooser->candidates);
  chooser->resident_of = ARENA_NEW_ARRAY(arena, const RunCandidate *, chooser->touches.touches.count + 1);
  int64_t events = chooser->touches.events.count + 1, candidates = chooser->candidates.all.count + 1;
  chooser->taken = ARENA_NEW_ARRAY(arena, int64_t, events);
  chooser->there = ARENA_NEW_ARRAY(arena, CandidateArray, events);
  chooser->bases = ARENA_NEW_ARRAY(arena, int64_t, events);
  chooser->limits = ARENA_NEW_ARRAY(arena, int64_t, events);
  chooser->tiles = ARENA_NEW_ARRAY(arena, int64_t, events);
  chooser->rooms = ARENA_NEW_ARRAY(arena, PlanRoom, events);
  chooser->sees = ARENA_NEW_ARRAY(arena, bool, events);
  chooser->plans = ARENA_NEW_ARRAY(arena, EventPlans, events);
  chooser->order = ARENA_NEW_ARRAY(arena, RunCandidate *, candidates);
  chooser->by_place = ARENA_NEW_ARRAY(arena, RunCandidate *, candidates);
  chooser->packed = ARENA_NEW_ARRAY(arena, int64_t, candidates);
  chooser->estimate = 0;
  for (int32_t e = 0; e < chooser->touches.events.count; e++) {
    const Plan *plan = residency_plan(chooser, e);
    if (plan == NULL) continue;
    chooser->estimate += plan->estimate * times_at(chooser, e);
    chooser->sees[e] = chooser->model->policy.sees_windows && tile_kernel_may_see(plan->kernel);
  }
  RETURN_IF_ERROR(take_best(chooser));
  spread_tiles(chooser);
  keep_choice(chooser);
  return STATUS_OK;
}

/* By computation id: whether it is the body of a loop that is opened where it stands. */
static const bool *find_opened(const Chooser *chooser) {
  bool *is_opened = ARENA_NEW_ARRAY(chooser->arena, bool, chooser->placed->module->next_computation_id);
  for (int64_t c = 0; c < chooser->placed->module->computations.count; c++) {
    const HloComputation *computation = chooser->placed->module->computations.data[c];
    for (int64_t i = 0; i < computation->instructions.count; i++) {
      const HloInstruction *instruction = computation->instructions.data[i];
      if (run_touches_may_open(chooser->placed->kernels, instruction))
        is_opened[hlo_instruction_computation(instruction, HLO_ATTR_BODY)->id] = true;
    }
  }
  return is_opened;
}

Status residency_choose(Arena *arena, const PlacedModule *placed, const ResidencyModel *model, DiagSink *diag,
                        Residency *out_residency) {
  const HloModule *module = placed->module;
  Chooser chooser = {.arena = arena, .placed = placed, .model = model, .diag = diag};
  chooser.times = hlo_execution_counts(arena, module, 1);
  chooser.saved = ARENA_NEW_ARRAY(arena, double, module->next_computation_id);
  const bool *is_opened = find_opened(&chooser);
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    bool is_chosen = chooser.times[computation->id] > 0 && !is_opened[computation->id];
    if (is_chosen) RETURN_IF_ERROR(choose(&chooser, computation));
  }
  *out_residency = (Residency){.lacks_room = chooser.lacks_room,
                               .lacks_place = chooser.lacks_place,
                               .may_part = chooser.may_part,
                               .lacks_plan = chooser.lacks_plan,
                               .use_count = chooser.uses.count,
                               .loop_count = chooser.loops.count,
                               .uses = chooser.uses.data,
                               .loops = chooser.loops.data};
  return STATUS_OK;
}
