#include "codegen/oncore/run/run_rounds.h"

#include "base/checked_math.h"
#include "hlo/analysis/execution_counts.h"

/* A Kernel is worth cutting from one of so many parts of the Buffer on that one of its arrays has; what goes from one
 * to the next finds room where it has at most so many of so many parts of the Buffer; of what is made a reader is
 * looked for among so many Kernels; what the rounds save is at least one of so many parts of all Kernels' cycles. */
enum { LARGE_SHARE = 8, LIVE_SHARE = 5, LIVE_PARTS = 8, MOST_AHEAD = 8, LEAST_SHARE = 1000 };

/* How a Kernel is cut. */
typedef struct RoundCut {
  int32_t event;
  KernelCutWay way;
  int64_t points;
  const int64_t *pieces; /* bytes by buffer that are one point's; 0: strips have all of it */
} RoundCut;

typedef ARRAY(RoundCut) RoundCuts;
typedef ARRAY(int32_t) EventArray;

/* Kernels that are to take turns. */
typedef struct RoundGroup {
  int32_t first;            /* event */
  int64_t rounds;           /* at most, a divisor of all their points */
  RoundCuts cuts;           /* in the order of events, as the next two */
  EventArray before, after; /* events that are not cut */
} RoundGroup;

typedef struct RoundFinder {
  Arena *arena;
  const PlacedModule *placed;
  const ResidencyModel *model;
  RunTouches touches;
  const RunLeft *leaves_out;        /* NULL: nothing */
  bool begins_anew, has_begun_anew; /* wanted; some have */
  double times, estimate;           /* of the computation at hand */
  ARRAY(KernelCut) cuts;
  ARRAY(RunRooms) rooms;
  ARRAY(KernelTurns) turns;
  ARRAY(RunUnit) units;
} RoundFinder;

static const RunTouch *touch_at(const RoundFinder *finder, int32_t number) {
  return &finder->touches.touches.data[number];
}

static int64_t row_of(const RoundFinder *finder, int32_t event) {
  return run_touches_row(&finder->touches, finder->placed->kernels, event);
}

/* Whether |what| at |event|, a Kernel's, is left out. */
static bool leaves_out(const RoundFinder *finder, int32_t event, RunLeft what) {
  return finder->leaves_out != NULL && finder->leaves_out[row_of(finder, event)] == what;
}

/* --- what may change places --- */

/* Bytes of one point of |touch|, 0: it is whole. */
static int64_t piece_of(const RoundCut *cut, const RunTouch *touch) {
  int64_t piece = cut != NULL && touch->buffer >= 0 ? cut->pieces[touch->buffer] : 0;
  return piece * (cut != NULL ? cut->points : 0) == touch->bytes ? piece : 0;
}

/* |touch| as strip |strip| of |rounds| has it. */
static RunTouch part_of(const RoundCut *cut, const RunTouch *touch, int64_t rounds, int64_t strip) {
  RunTouch part = *touch;
  int64_t piece = piece_of(cut, touch);
  if (piece == 0) return part;
  part.bytes = touch->bytes / rounds;
  part.offset += part.bytes * strip;
  return part;
}

/* What one event does in one round. */
typedef struct RoundStrip {
  int32_t event;
  const RoundCut *cut; /* of its Kernel; NULL: all of it at once */
  int64_t number;
} RoundStrip;

/* Whether |a| and |b|, each one of |rounds| strips, touch the same bytes, one of them to write them. */
static bool conflict(const RoundFinder *finder, RoundStrip a, RoundStrip b, int64_t rounds) {
  const int32_t *begins = finder->touches.begins;
  for (int32_t s = begins[a.event]; s < begins[a.event + 1]; s++) {
    for (int32_t t = begins[b.event]; t < begins[b.event + 1]; t++) {
      const RunTouch *left = touch_at(finder, s), *right = touch_at(finder, t);
      if ((!left->writes && !right->writes) || !run_touches_meet(left, right)) continue;
      RunTouch left_part = part_of(a.cut, left, rounds, a.number), right_part = part_of(b.cut, right, rounds, b.number);
      if (run_touches_meet(&left_part, &right_part)) return true;
    }
  }
  return false;
}

/* Whether the whole Kernels of |a| and |b| may change places. */
static bool may_swap(const RoundFinder *finder, int32_t a, int32_t b) {
  return !conflict(finder, (RoundStrip){a, NULL, 0}, (RoundStrip){b, NULL, 0}, 1);
}

/* Whether strips of |later|, a Kernel after that of |earlier|, may be run before the following ones of that. */
static bool may_take_turns(const RoundFinder *finder, const RoundCut *earlier, const RoundCut *later, int64_t rounds) {
  if (may_swap(finder, earlier->event, later->event)) return true;
  for (int64_t i = 1; i < rounds; i++)
    for (int64_t j = 0; j < i; j++)
      if (conflict(finder, (RoundStrip){earlier->event, earlier, i}, (RoundStrip){later->event, later, j}, rounds))
        return false;
  return true;
}

/* --- how Kernels are cut --- */

/* The only Kernel of its instruction, whose plan may change. */
static bool is_plain(const RoundFinder *finder, int32_t event) {
  const RunEvent *of = &finder->touches.events.data[event];
  if (of->use == NULL || of->use->strip.extent > 0 || finder->model->plan(finder->model->self, of->use) == NULL)
    return false;
  return kernel_table_find(finder->placed->kernels, of->instruction)->count == 1;
}

static bool is_large(const RoundFinder *finder, int32_t event) {
  for (int32_t t = finder->touches.begins[event]; t < finder->touches.begins[event + 1]; t++)
    if (touch_at(finder, t)->bytes * LARGE_SHARE >= machine_buffer_usable(finder->placed->machine)) return true;
  return false;
}

/* Bytes of all arrays of which strips have parts; 0: it is not cut so, or a strip would overwrite what others read. */
static int64_t cut_by(const RoundFinder *finder, int32_t event, KernelCutWay way, RoundCut *cut) {
  const Kernel *kernel = finder->touches.events.data[event].use->kernel;
  int64_t *pieces = ARENA_NEW_ARRAY(finder->arena, int64_t, kernel->buffer_count + 1), bytes = 0;
  int32_t dim = kernel_strip_dim(kernel, way, pieces);
  if (dim < 0) return 0;
  *cut = (RoundCut){event, way, kernel->dims[dim].extent, pieces};
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    pieces[b] *= type_storage_bytes(kernel->buffers[b].type);
    bytes += pieces[b] * cut->points;
  }
  return run_touches_may_cut(&finder->touches, event, way, pieces) ? bytes : 0;
}

/* Whether |cut| may join |group|; with as many rounds as both may have. */
static bool may_join(const RoundFinder *finder, const RoundGroup *group, const RoundCut *cut, int64_t *out_rounds) {
  int64_t rounds = greatest_common_divisor(group->rounds, cut->points);
  if (group->cuts.count == 0)
    for (rounds = RUN_MOST_STRIPS; cut->points % rounds != 0;) rounds--;
  if (rounds < 2) return false;
  for (int64_t c = 0; c < group->cuts.count; c++)
    if (!may_take_turns(finder, &group->cuts.data[c], cut, rounds)) return false;
  *out_rounds = rounds;
  return true;
}

/* Cuts the Kernel of |event| and adds it to |group|, in the way by which strips have parts of more if that may join. */
static bool join(const RoundFinder *finder, RoundGroup *group, int32_t event) {
  RoundCut cuts[2];
  int64_t bytes[2] = {cut_by(finder, event, KERNEL_CUT_POINTS, &cuts[0]),
                      cut_by(finder, event, KERNEL_CUT_SUMS, &cuts[1])};
  int better = bytes[1] > bytes[0];
  for (int i = 0; i < 2; i++) {
    int way = i == 0 ? better : !better;
    int64_t rounds;
    if (bytes[way] == 0 || !may_join(finder, group, &cuts[way], &rounds)) continue;
    array_push(&group->cuts, finder->arena, cuts[way]);
    group->rounds = rounds;
    return true;
  }
  return false;
}

/* Whether the Kernel of |event| may be run before all rounds. */
static bool may_be_first(const RoundFinder *finder, const RoundGroup *group, int32_t event) {
  for (int64_t c = 0; c < group->cuts.count; c++)
    if (!may_swap(finder, group->cuts.data[c].event, event)) return false;
  return true;
}

/* Whether the Kernel of |event| needs to be run after one that is run after all rounds.  |*out_ends|: after one that
 * could not have been cut either. */
static bool waits(const RoundFinder *finder, const RoundGroup *group, int32_t event, bool *out_ends) {
  bool does_wait = false;
  *out_ends = false;
  for (int64_t i = 0; i < group->after.count; i++) {
    int32_t other = group->after.data[i];
    if (may_swap(finder, other, event)) continue;
    does_wait = true;
    *out_ends = *out_ends || !leaves_out(finder, other, RUN_LEAVES_KERNEL);
  }
  return does_wait;
}

/* Adds the Kernel of |event|; false where |group| ends before it: it needs what is only there after all rounds. */
static bool step(const RoundFinder *finder, RoundGroup *group, int32_t event) {
  bool is_much = is_large(finder, event), ends, does_wait = waits(finder, group, event, &ends);
  bool is_first = !does_wait && may_be_first(finder, group, event);
  bool may_be_cut = (is_much || !is_first) && !does_wait && !leaves_out(finder, event, RUN_LEAVES_KERNEL);
  if (ends && is_much) return false;
  if (may_be_cut && join(finder, group, event)) return true;
  array_push(is_first ? &group->before : &group->after, finder->arena, event);
  return true;
}

/* --- what it comes to --- */

/* The next of |group|'s Kernels after number |from| that touches the bytes of |touch|, -1: none reads them as parts. */
static int64_t next_reader(const RoundFinder *finder, const RoundGroup *group, int64_t from, const RunTouch *touch,
                           int32_t *out_buffer) {
  for (int64_t c = from + 1; c < group->cuts.count && c <= from + MOST_AHEAD; c++) {
    const RoundCut *cut = &group->cuts.data[c];
    for (int32_t t = finder->touches.begins[cut->event]; t < finder->touches.begins[cut->event + 1]; t++) {
      const RunTouch *other = touch_at(finder, t);
      if (!run_touches_meet(other, touch)) continue;
      *out_buffer = other->buffer;
      return other->reads && other->slice == touch->slice && piece_of(cut, other) > 0 ? c : -1;
    }
  }
  return -1;
}

/* What a group saves, and what it needs. */
typedef struct RoundWorth {
  double saved; /* bytes that need not be loaded, in all rounds */
  double again; /* bytes that each further round may have to move: weights, and sums both ways */
  int64_t most; /* bytes, in all rounds, of what goes from one to another at the same time */
} RoundWorth;

/* What goes from one of a group's Kernels to another. */
typedef struct RoundFlow {
  int64_t to;    /* number in the group, -1: nothing */
  bool is_saved; /* it is loaded otherwise */
} RoundFlow;

static const KernelUse *use_of(const RoundFinder *finder, const RoundCut *cut) {
  return finder->touches.events.data[cut->event].use;
}

/* Of the bytes of |touch| at |group|'s Kernel |from|. */
static RoundFlow flow_of(const RoundFinder *finder, const RoundGroup *group, int64_t from, const RunTouch *touch) {
  int32_t buffer;
  if (piece_of(&group->cuts.data[from], touch) == 0) return (RoundFlow){-1, false};
  int64_t to = next_reader(finder, group, from, touch, &buffer);
  if (to < 0) return (RoundFlow){-1, false};
  return (RoundFlow){to, !finder->model->keeps(finder->model->self, use_of(finder, &group->cuts.data[to]), buffer)};
}

static RoundWorth weigh(const RoundFinder *finder, const RoundGroup *group) {
  RoundWorth worth = {0};
  int64_t *live = ARENA_NEW_ARRAY(finder->arena, int64_t, group->cuts.count + 1);
  for (int64_t c = 0; c < group->cuts.count; c++) {
    const RoundCut *cut = &group->cuts.data[c];
    for (int32_t t = finder->touches.begins[cut->event]; t < finder->touches.begins[cut->event + 1]; t++) {
      const RunTouch *touch = touch_at(finder, t);
      bool is_whole = piece_of(cut, touch) == 0;
      if (is_whole && !finder->model->keeps(finder->model->self, use_of(finder, cut), touch->buffer))
        worth.again += (double)touch->bytes * (touch->writes ? 2 : 1);
      RoundFlow flow = flow_of(finder, group, c, touch);
      for (int64_t l = c; l <= flow.to; l++) live[l] += touch->bytes;
      if (flow.is_saved) worth.saved += (double)touch->bytes;
    }
    worth.most = max_i64(worth.most, live[c]);
  }
  return worth;
}

/* The fewest rounds in each of which what goes from one Kernel to another has room. */
static int64_t fewest_rounds(const RoundFinder *finder, const RoundGroup *group, int64_t most) {
  int64_t usable = machine_buffer_usable(finder->placed->machine);
  for (int64_t rounds = 2; rounds < group->rounds; rounds++)
    if (group->rounds % rounds == 0 && most / rounds <= usable / LIVE_PARTS * LIVE_SHARE) return rounds;
  return group->rounds;
}

static void add_cut(RoundFinder *finder, const RoundCut *cut, int64_t rounds) {
  int64_t usable = machine_buffer_usable(finder->placed->machine);
  KernelStrip *strips = ARENA_NEW_ARRAY(finder->arena, KernelStrip, rounds);
  RunRooms rooms;
  for (int64_t i = 0; i < rounds; i++) {
    bool is_sum = cut->way == KERNEL_CUT_SUMS;
    strips[i] = (KernelStrip){.first = cut->points / rounds * i, .extent = cut->points / rounds};
    strips[i].goes_on = is_sum && i > 0;
    strips[i].leaves_open = is_sum && i < rounds - 1;
    rooms.strips[i] = (RunRoom){usable, usable, -1};
  }
  const KernelUse *use = finder->touches.events.data[cut->event].use;
  array_push(&finder->cuts, finder->arena, ((KernelCut){use, (int32_t)rounds, strips}));
  array_push(&finder->rooms, finder->arena, rooms);
}

static void add_turns(RoundFinder *finder, const RoundGroup *group, int64_t rounds) {
  int64_t count = 0;
  KernelTurn *turns = ARENA_NEW_ARRAY(finder->arena, KernelTurn,
                                      group->before.count + group->after.count + group->cuts.count * rounds + 1);
  for (int64_t i = 0; i < group->before.count; i++)
    turns[count++] = (KernelTurn){finder->touches.events.data[group->before.data[i]].use, 0};
  for (int32_t round = 0; round < rounds; round++)
    for (int64_t c = 0; c < group->cuts.count; c++)
      turns[count++] = (KernelTurn){finder->touches.events.data[group->cuts.data[c].event].use, round};
  for (int64_t i = 0; i < group->after.count; i++)
    turns[count++] = (KernelTurn){finder->touches.events.data[group->after.data[i]].use, 0};
  const HloInstruction *last = use_of(finder, &array_last(&group->cuts))->instruction;
  array_push(&finder->turns, finder->arena, ((KernelTurns){last, (int32_t)count, turns}));
}

/* Bytes of |touch|, of |group|'s Kernel |number|, that others of the group have made before it. */
static double made_before(const RoundFinder *finder, const RoundGroup *group, int64_t number, const RunTouch *touch) {
  for (int64_t c = 0; c < number; c++) {
    int32_t event = group->cuts.data[c].event;
    for (int32_t t = finder->touches.begins[event]; t < finder->touches.begins[event + 1]; t++)
      if (touch_at(finder, t)->writes && run_touches_meet(touch_at(finder, t), touch)) return (double)touch->bytes;
  }
  return 0;
}

/* Whether |group|'s Kernel |number| may be whole; what that moves more. */
static bool may_be_whole(const RoundFinder *finder, const RoundGroup *group, int64_t number, RunMember *out_member) {
  const RoundCut *cut = &group->cuts.data[number];
  *out_member = (RunMember){.row = row_of(finder, cut->event)};
  for (int32_t t = finder->touches.begins[cut->event]; t < finder->touches.begins[cut->event + 1]; t++) {
    const RunTouch *touch = touch_at(finder, t);
    if (touch->writes && flow_of(finder, group, number, touch).to >= 0) return false;
    if (!touch->reads || piece_of(cut, touch) == 0) continue;
    out_member->bytes += made_before(finder, group, number, touch);
    if (finder->model->keeps(finder->model->self, use_of(finder, cut), touch->buffer))
      out_member->bytes += (double)touch->bytes;
  }
  out_member->bytes *= finder->times;
  return number > 0;
}

/* Its events, among which all others are as well. */
static RunUnit unit_of(const RoundFinder *finder, const RoundGroup *group) {
  ARRAY(RunMember) members = {0};
  RunMember member;
  for (int64_t c = 0; c < group->cuts.count; c++)
    if (may_be_whole(finder, group, c, &member)) array_push(&members, finder->arena, member);
  int32_t first = group->cuts.data[0].event, last = array_last(&group->cuts).event;
  return (RunUnit){row_of(finder, first), row_of(finder, last), members.count, members.data};
}

/* Cuts |group| if that saves enough. */
static void keep_group(RoundFinder *finder, const RoundGroup *group) {
  RoundWorth worth = weigh(finder, group);
  int64_t rounds = fewest_rounds(finder, group, worth.most);
  double saved = worth.saved - worth.again * (double)(rounds - 1);
  if (saved <= 0) return;
  double cycles = residency_move_cycles(finder->placed->machine, (int64_t)saved, true) * finder->times;
  if (cycles * LEAST_SHARE < finder->estimate) return;
  array_push(&finder->units, finder->arena, unit_of(finder, group));
  if (leaves_out(finder, group->cuts.data[0].event, RUN_LEAVES_UNIT)) return;
  for (int64_t c = 0; c < group->cuts.count; c++) add_cut(finder, &group->cuts.data[c], rounds);
  add_turns(finder, group, rounds);
}

/* Those of |events| from |first| to |last|. */
static EventArray events_among(const RoundFinder *finder, const EventArray *events, int32_t first, int32_t last) {
  EventArray among = {0};
  for (int64_t i = 0; i < events->count; i++)
    if (first <= events->data[i] && events->data[i] <= last) array_push(&among, finder->arena, events->data[i]);
  return among;
}

/* Kernels |first| to |last| of |group| by themselves. */
static RoundGroup group_among(const RoundFinder *finder, const RoundGroup *group, int64_t first, int64_t last) {
  RoundGroup among = {.rounds = group->rounds};
  int32_t begin = group->cuts.data[first].event, end = group->cuts.data[last].event;
  for (int64_t c = first; c <= last; c++) array_push(&among.cuts, finder->arena, group->cuts.data[c]);
  among.before = events_among(finder, &group->before, begin, end);
  among.after = events_among(finder, &group->after, begin, end);
  return among;
}

/* Keeps the parts of |group| between which nothing goes that has to be loaded otherwise: where what goes on stays whole
 * nothing need be cut. */
static void end_group(RoundFinder *finder, const RoundGroup *group) {
  int64_t first = 0, reach = 0; /* of the part at hand; up to where something goes */
  for (int64_t c = 0; c < group->cuts.count; c++) {
    int32_t event = group->cuts.data[c].event;
    for (int32_t t = finder->touches.begins[event]; t < finder->touches.begins[event + 1]; t++) {
      RoundFlow flow = flow_of(finder, group, c, touch_at(finder, t));
      if (flow.is_saved) reach = max_i64(reach, flow.to);
    }
    if (reach > c) continue;
    RoundGroup part = group_among(finder, group, first, c);
    if (c > first) keep_group(finder, &part);
    first = reach = c + 1;
  }
}

/* The first large Kernel that is to be run after all rounds of |group|, and after which none is cut, -1: there is none.
 * Nothing is lost where |group| ends before it, and it may begin one of its own: it reads what is only there then, as
 * what normalises does once its sums are complete. */
static int32_t first_large_after(const RoundFinder *finder, const RoundGroup *group) {
  for (int64_t i = 0; i < group->after.count; i++) {
    int32_t event = group->after.data[i];
    if (event > array_last(&group->cuts).event && is_large(finder, event)) return event;
  }
  return -1;
}

static void find_groups(RoundFinder *finder) {
  RoundGroup group = {0};
  int32_t count = (int32_t)finder->touches.events.count;
  for (int32_t e = 0; e <= count; e++) {
    bool is_open = group.cuts.count > 0, may_join = e < count && is_plain(finder, e);
    bool joins = may_join && (is_open ? step(finder, &group, e) : is_large(finder, e) && join(finder, &group, e));
    if (joins || !is_open) continue;
    end_group(finder, &group);
    int32_t large = finder->begins_anew ? first_large_after(finder, &group) : -1;
    if (large >= 0) { /* what follows it is looked at once more */
      e = large;
      finder->has_begun_anew = true;
    }
    group = (RoundGroup){0};
    if (e < count && is_plain(finder, e) && is_large(finder, e)) join(finder, &group, e);
  }
}

RunCuts run_rounds_find(Arena *arena, const PlacedModule *placed, const ResidencyModel *model,
                        const RunLeft *leaves_out, bool begins_anew) {
  const HloModule *module = placed->module;
  RoundFinder finder = {.arena = arena, .placed = placed, .model = model, .leaves_out = leaves_out};
  finder.begins_anew = begins_anew;
  const double *times = hlo_execution_counts(arena, module, 1);
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    finder.times = times[computation->id];
    if (finder.times <= 0) continue;
    run_touches_find(arena, placed, computation, model, false, &finder.touches);
    finder.estimate = 0;
    for (int32_t e = 0; e < finder.touches.events.count; e++) {
      const KernelUse *use = finder.touches.events.data[e].use;
      const Plan *plan = use != NULL ? model->plan(model->self, use) : NULL;
      if (plan != NULL) finder.estimate += plan->estimate * finder.times;
    }
    find_groups(&finder);
  }
  return (RunCuts){.count = finder.cuts.count,
                   .cuts = finder.cuts.data,
                   .rooms = finder.rooms.data,
                   .turns_count = finder.turns.count,
                   .turns = finder.turns.data,
                   .unit_count = finder.units.count,
                   .units = finder.units.data,
                   .has_begun_anew = finder.has_begun_anew};
}
