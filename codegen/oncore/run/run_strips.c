#include "codegen/oncore/run/run_strips.h"

#include <math.h>

#include "base/checked_math.h"
#include "hlo/analysis/execution_counts.h"

/* Kernels after one among which the next that reads its array is looked for; one of so many parts of the Buffer is
 * left for tiles; what it saves is at least one of so many parts of all Kernels' cycles; one of so many parts of the
 * Buffer is enough for the tiles of Kernels in between; points of a Kernel that is cut; a byte of an array that stays
 * whole counts as so many of a part, since several Kernels may read it and it need not be stored.  Where sums are cut
 * as well it counts as one: of twelve training steps three then move 2 to 10 % fewer bytes than with four, one 6 %
 * more. */
enum { MOST_AHEAD = 8, TILES_SHARE = 6, LEAST_SHARE = 1000, BETWEEN_SHARE = 4, LEAST_POINTS = 4, KEPT_WORTH = 4 };

/* A point is cut once more where one of so many parts of the Buffer stays more by that: it makes more Kernels, and less
 * room for their tiles. */
enum { INNER_SHARE = 4 };

/* A part of an array that goes from one Kernel to a later one. */
typedef struct StripLink {
  int32_t to;                     /* event, -1: none */
  int32_t from_buffer, to_buffer; /* of the Kernels */
  int64_t bytes;                  /* of the part */
  int64_t whole;                  /* of these, those of points that are not cut once more, at the array's end */
} StripLink;

/* How the Kernel of an event may be cut. */
typedef struct EventCut {
  const int64_t *pieces; /* bytes by buffer that are one point's; NULL: it is not cut */
  const int64_t *rows;   /* the same of one of the |inner| indices into which a point may be cut once more; else 0 */
  KernelCutWay way;
  int32_t dim;                 /* -1: along what it updates */
  int64_t points, inner, sums; /* of that dim; of a point, 1: it is not cut; bytes of sums that go on */
  int64_t kept;                /* bytes of arrays that stay whole where it is not cut */
} EventCut;

typedef struct StripFinder {
  Arena *arena;
  const PlacedModule *placed;
  const ResidencyModel *model;
  const RunLeft *leaves_out; /* NULL: nothing */
  bool cuts_sums, has_sums;  /* wanted; some are cut */
  RunTouches touches;
  const double *times;
  double estimate;
  EventCut *cuttings; /* by event */
  StripLink *links;   /* by event: what goes on from it */
  int32_t *from;      /* by event: where what it begins with comes from, -1: nothing */
  ARRAY(KernelCut) cuts;
  ARRAY(RunRooms) rooms;
  ARRAY(RunUnit) units;
} StripFinder;

static const RunEvent *event_at(const StripFinder *finder, int32_t event) {
  return &finder->touches.events.data[event];
}

/* Bytes of the arrays that stay whole at |event| otherwise, of which its Kernel's strips have parts. */
static int64_t kept_bytes(const StripFinder *finder, int32_t event, const int64_t *pieces) {
  const KernelUse *use = event_at(finder, event)->use;
  int64_t bytes = 0;
  for (int32_t b = 0; b < use->kernel->buffer_count; b++) {
    const KernelBuffer *buffer = &use->kernel->buffers[b];
    if (pieces[b] > 0 && finder->model->keeps(finder->model->self, use, b))
      bytes += buffer->element_count * type_storage_bytes(buffer->type);
  }
  return bytes;
}

/* Into how many a point of |kernel| may be cut once more, 1: not.  Only where one is much. */
static int64_t inner_points(const StripFinder *finder, const Kernel *kernel, const EventCut *cut, int64_t *rows) {
  int64_t most = 0, usable = machine_buffer_usable(finder->placed->machine);
  for (int32_t b = 0; b < kernel->buffer_count; b++)
    most = max_i64(most, cut->pieces[b] * type_storage_bytes(kernel->buffers[b].type));
  int64_t inner = most * INNER_SHARE >= usable ? kernel_strip_inner(kernel, cut->way, rows) : 0;
  return max_i64(inner, 1);
}

/* Bytes of all arrays that are cut, of each of which |cut| has a part; 0: it cannot be cut |way|. */
static int64_t try_way(const StripFinder *finder, int32_t event, KernelCutWay way, EventCut *cut) {
  const Kernel *kernel = event_at(finder, event)->use->kernel;
  int64_t *pieces = ARENA_NEW_ARRAY(finder->arena, int64_t, kernel->buffer_count + 1), bytes = 0;
  int64_t *rows = ARENA_NEW_ARRAY(finder->arena, int64_t, kernel->buffer_count + 1);
  bool is_update = way == KERNEL_CUT_UPDATES;
  *cut = (EventCut){.pieces = pieces, .rows = rows, .way = way, .dim = -1, .inner = 1};
  if (is_update)
    cut->points = kernel_strip_updates(kernel, pieces);
  else if ((cut->dim = kernel_strip_dim(kernel, way, pieces)) >= 0)
    cut->points = kernel->dims[cut->dim].extent;
  if (cut->points == 0) return 0;
  if (!is_update) cut->inner = inner_points(finder, kernel, cut, rows);
  if (cut->points * cut->inner < LEAST_POINTS) return 0;
  cut->kept = kept_bytes(finder, event, pieces);
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    const KernelBuffer *buffer = &kernel->buffers[b];
    int64_t element = type_storage_bytes(buffer->type);
    if (way == KERNEL_CUT_SUMS && buffer->role == KERNEL_RESULT && pieces[b] == 0)
      cut->sums += buffer->element_count * element;
    if (pieces[b] > 0) bytes += buffer->element_count * element;
    pieces[b] *= element;
    rows[b] *= element;
  }
  return run_touches_may_cut(&finder->touches, event, way, pieces) ? bytes : 0;
}

/* In the way by which strips have parts of more; where it scatters there is only one. */
static EventCut event_cut(const StripFinder *finder, int32_t event) {
  const KernelUse *use = event_at(finder, event)->use;
  EventCut points, sums, updates;
  if (use == NULL || use->strip.extent > 0 || finder->model->plan(finder->model->self, use) == NULL)
    return (EventCut){0};
  int64_t by_points = try_way(finder, event, KERNEL_CUT_POINTS, &points);
  int64_t by_sums = finder->cuts_sums ? try_way(finder, event, KERNEL_CUT_SUMS, &sums) : 0;
  if (by_points == 0 && by_sums == 0)
    return try_way(finder, event, KERNEL_CUT_UPDATES, &updates) > 0 ? updates : (EventCut){0};
  return by_sums > by_points ? sums : points;
}

/* Bytes of one point of the array that |touch| is all of; 0: it is not cut.  What is scattered into is in tiles slice
 * by slice, its strips' parts as a whole. */
static int64_t piece_of(const StripFinder *finder, const RunTouch *touch) {
  const EventCut *cut = &finder->cuttings[touch->event];
  if (touch->buffer < 0 || cut->pieces == NULL) return 0;
  const KernelBuffer *buffer = &event_at(finder, touch->event)->use->kernel->buffers[touch->buffer];
  bool is_all = touch->bytes == buffer->element_count * type_storage_bytes(buffer->type);
  bool may_stay = touch->may_stay || (cut->way == KERNEL_CUT_UPDATES && is_all);
  return may_stay ? cut->pieces[touch->buffer] : 0;
}

/* Bytes of the Buffer beside the tiles of |event|, a Kernel that takes no part in what stays: one with many gets a plan
 * for less room. */
static int64_t room_at(const StripFinder *finder, int32_t event) {
  const KernelUse *use = event_at(finder, event)->use;
  const Plan *plan = use != NULL ? finder->model->plan(finder->model->self, use) : NULL;
  int64_t usable = machine_buffer_usable(finder->placed->machine), begin = 0, end = 0;
  if (plan != NULL) plan_own_bytes(plan, &begin, &end);
  return usable - min_i64(end - begin, usable / BETWEEN_SHARE);
}

/* The first touch of bytes of |touch| at one of the Kernels that follow, if it reads all of them; NULL: there is none.
 * |out_room|: what Kernels between them leave. */
static const RunTouch *next_reader(const StripFinder *finder, const RunTouch *touch, int64_t *out_room) {
  const RunTouches *touches = &finder->touches;
  int32_t kernels = 0;
  *out_room = machine_buffer_usable(finder->placed->machine);
  for (int32_t e = touch->event + 1; e < touches->events.count && kernels < MOST_AHEAD; e++) {
    const RunEvent *event = event_at(finder, e);
    if (event->ends_run || event->loop != event_at(finder, touch->event)->loop) return NULL;
    kernels += event->use != NULL;
    for (int32_t t = touches->begins[e]; t < touches->begins[e + 1]; t++) {
      const RunTouch *other = &touches->touches.data[t];
      if (run_touches_meet(other, touch)) return other->slice == touch->slice && other->reads ? other : NULL;
    }
    *out_room = min_i64(*out_room, room_at(finder, e));
  }
  return NULL;
}

/* Whether all points along |dim| of |kernel| read the same of |buffer|. */
static bool is_for_all(const Kernel *kernel, int32_t dim, int32_t buffer) {
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind == KERNEL_LOAD && value->buffer == buffer && (value->dims >> dim & 1) != 0) return false;
  }
  return true;
}

/* Bytes of what each of |event|'s strips has all of: weights, and sums, which are in tiles and where they are left. */
static int64_t weight_bytes(const StripFinder *finder, int32_t event) {
  const Kernel *kernel = event_at(finder, event)->use->kernel;
  const EventCut *cut = &finder->cuttings[event];
  int64_t bytes = 2 * cut->sums;
  if (cut->way == KERNEL_CUT_UPDATES) return 0; /* all of its updates go through tiles */
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    const KernelBuffer *buffer = &kernel->buffers[b];
    bool is_weight = buffer->role == KERNEL_OPERAND && is_for_all(kernel, cut->dim, b);
    if (is_weight) bytes += buffer->element_count * type_storage_bytes(buffer->type);
  }
  return bytes;
}

/* Bytes that move in the time that a transfer takes to begin. */
static double setup_bytes(const MachineDescription *machine) {
  for (int32_t q = 0; q < machine->queue_count; q++)
    if (machine_queue_loads(&machine->queues[q])) return machine->queues[q].setup * machine->queues[q].bytes_per_cycle;
  return 0;
}

/* Bytes for tiles of the other arrays beside all of |event|'s |part|, two of each.  The smaller they are, the larger is
 * the part, which need not be loaded, and the more transfers begin: together that takes least where an array that has n
 * bytes has the root of 2 n |setup_bytes|. */
static int64_t tile_bytes(const StripFinder *finder, int32_t event, int32_t part) {
  const EventCut *cut = &finder->cuttings[event];
  const Kernel *kernel = event_at(finder, event)->use->kernel;
  int64_t usable = machine_buffer_usable(finder->placed->machine);
  double bytes = 0, points = (double)usable / (double)cut->pieces[part];
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    double all = (double)kernel->buffers[b].element_count * (double)type_storage_bytes(kernel->buffers[b].type);
    bool is_for_all = cut->way == KERNEL_CUT_UPDATES; /* what is small stays whole */
    double tiles =
        sqrt(2 * (is_for_all ? all : points * (double)cut->pieces[b]) * setup_bytes(finder->placed->machine));
    if (b != part) bytes += is_for_all ? fmax(all, tiles) : tiles;
  }
  return (int64_t)fmin(bytes, (double)(usable / TILES_SHARE));
}

/* The most bytes of |part| beside which |event|'s strip has room for its tiles and its weights. */
static int64_t most_bytes(const StripFinder *finder, int32_t event, int32_t part) {
  int64_t room =
      machine_buffer_usable(finder->placed->machine) - tile_bytes(finder, event, part) - weight_bytes(finder, event);
  return max_i64(0, room);
}

/* The same of one index, where a point is cut once more. */
static int64_t row_of(const StripFinder *finder, const RunTouch *touch) {
  int64_t row = finder->cuttings[touch->event].rows[touch->buffer];
  return row > 0 ? row : piece_of(finder, touch);
}

/* So many bytes of pieces of |piece| and |other| bytes, at most |most|. */
static int64_t whole_pieces(const StripFinder *finder, int64_t piece, int64_t other, int64_t most) {
  int64_t unit = align_up(max_i64(piece, other), max_i64(finder->placed->machine->buffer.align, 1));
  if (unit % piece != 0 || unit % other != 0) return 0;
  return max_i64(0, most) / unit * unit;
}

/* The part: points of both Kernels, at most half of the array, so that one at its end has room as well; and indices of
 * one more where that is much more.  |room|: what Kernels between them leave. */
static void find_part(const StripFinder *finder, const RunTouch *touch, const RunTouch *next, int64_t room,
                      StripLink *link) {
  int64_t piece = piece_of(finder, touch), other = piece_of(finder, next);
  int64_t row = row_of(finder, touch), other_row = row_of(finder, next);
  int64_t most = min_i64(room, most_bytes(finder, touch->event, touch->buffer));
  most = min_i64(min_i64(most, most_bytes(finder, next->event, next->buffer)), touch->bytes / 2);
  link->bytes = link->whole = whole_pieces(finder, piece, other, most);
  int64_t more = whole_pieces(finder, row, other_row, most) - link->bytes;
  bool are_alike = row == piece || other_row == other || piece == other; /* those that are cut once more */
  if (are_alike && more * INNER_SHARE >= machine_buffer_usable(finder->placed->machine)) link->bytes += more;
}

static void try_link(StripFinder *finder, const RunTouch *touch) {
  int64_t room;
  const RunTouch *next = piece_of(finder, touch) > 0 ? next_reader(finder, touch, &room) : NULL;
  StripLink link = {.to = -1};
  if (next == NULL || piece_of(finder, next) == 0 || finder->from[next->event] >= 0) return;
  link.to = next->event;
  link.from_buffer = touch->buffer;
  link.to_buffer = next->buffer;
  find_part(finder, touch, next, room, &link);
  bool stays_whole = finder->model->keeps(finder->model->self, event_at(finder, touch->event)->use, touch->buffer);
  int64_t kept = finder->cuttings[touch->event].kept + finder->cuttings[next->event].kept;
  if (stays_whole || kept * (finder->cuts_sums ? 1 : KEPT_WORTH) >= link.bytes) return;
  double saved = residency_move_cycles(finder->placed->machine, link.bytes, true) *
                 finder->times[event_at(finder, touch->event)->instruction->parent->id];
  if (saved * LEAST_SHARE < finder->estimate) return;
  if (link.bytes > finder->links[touch->event].bytes) finder->links[touch->event] = link;
}

static void find_links(StripFinder *finder) {
  for (int32_t e = 0; e < finder->touches.events.count; e++) {
    finder->links[e].to = finder->from[e] = -1;
    finder->cuttings[e] = event_cut(finder, e);
  }
  for (int32_t e = 0; e < finder->touches.events.count; e++) {
    for (int32_t t = finder->touches.begins[e]; t < finder->touches.begins[e + 1]; t++)
      try_link(finder, &finder->touches.touches.data[t]);
    if (finder->links[e].to >= 0) finder->from[finder->links[e].to] = e;
  }
}

/* The strips of a cut as they are found, and the Buffer that is left for each. */
typedef struct CutMaker {
  int32_t count;
  KernelStrip *strips;
  RunRooms rooms;
} CutMaker;

static void add_strip(CutMaker *maker, KernelStrip strip, RunRoom room) {
  maker->strips[maker->count] = strip;
  maker->rooms.strips[maker->count++] = room;
}

/* Indices [|begin|, |end|), of which a point has |inner|: those of a part of a point by themselves. */
static void add_range(CutMaker *maker, int64_t inner, int64_t begin, int64_t end, RunRoom room) {
  while (begin < end) {
    int64_t point = begin / inner, within = begin % inner, points = (end - begin) / inner;
    bool is_whole = within == 0 && points > 0;
    int64_t extent = is_whole ? points * inner : min_i64(end - begin, inner - within);
    KernelStrip strip = {.first = point, .extent = points};
    if (!is_whole) strip = (KernelStrip){.first = point, .extent = 1, .inner_first = within, .inner_extent = extent};
    add_strip(maker, strip, room);
    begin += extent;
  }
}

/* Where a part that stays begins and ends in the indices of a Kernel, and where those of whole points begin or end. */
typedef struct PartRange {
  int64_t begin, split, end;
} PartRange;

/* |bytes| of |buffer| in indices. */
static int64_t indices_of(const EventCut *cut, int32_t buffer, int64_t bytes) {
  int64_t row = cut->rows[buffer];
  return row > 0 ? bytes / row : bytes / cut->pieces[buffer] * cut->inner;
}

/* That of |link|, which is a part of |buffer|, at the high end or at the low one; nothing of it where that is NULL. */
static PartRange part_range(const EventCut *cut, const StripLink *link, int32_t buffer, bool is_high) {
  int64_t end = is_high ? cut->points * cut->inner : 0;
  if (link == NULL) return (PartRange){end, end, end};
  int64_t all = indices_of(cut, buffer, link->bytes), whole = indices_of(cut, buffer, link->whole);
  return is_high ? (PartRange){end - all, end - whole, end} : (PartRange){0, whole, all};
}

static void add_part(CutMaker *maker, const EventCut *cut, PartRange range, RunRoom room) {
  add_range(maker, cut->inner, range.begin, range.split, room);
  add_range(maker, cut->inner, range.split, range.end, room);
}

/* Beside |bytes| of |event|'s |part|.  Copies of that, which are gone then, are as much larger than other tiles as its
 * points are. */
static RunRoom room_beside(const StripFinder *finder, int32_t event, int32_t part, int64_t bytes) {
  const EventCut *cut = &finder->cuttings[event];
  int64_t usable = machine_buffer_usable(finder->placed->machine) - cut->sums, others = 0;
  RunRoom room = {usable - bytes, usable, part};
  for (int32_t b = 0; b < event_at(finder, event)->use->kernel->buffer_count; b++)
    if (b != part) others += cut->pieces[b];
  if (others == 0) return room;
  double copies = (double)cut->pieces[part] / (double)others;
  room.plan_bytes = (int64_t)fmin((double)usable, (double)room.bytes * (1 + copies));
  return room;
}

/* Kernels turn around in turn: what |begins_high| begins with the last points. */
static void add_cut(StripFinder *finder, int32_t event, bool begins_high) {
  const StripLink *to = finder->links[event].to >= 0 ? &finder->links[event] : NULL;
  const StripLink *from = finder->from[event] >= 0 ? &finder->links[finder->from[event]] : NULL;
  const KernelUse *use = event_at(finder, event)->use;
  const EventCut *cut = &finder->cuttings[event];
  int64_t usable = machine_buffer_usable(finder->placed->machine) - cut->sums;
  CutMaker maker = {.strips = ARENA_NEW_ARRAY(finder->arena, KernelStrip, RUN_MOST_STRIPS)};
  RunRoom all = {usable, usable, -1}, first = all, last = all;
  PartRange begin = part_range(cut, from, from != NULL ? from->to_buffer : -1, begins_high);
  PartRange end = part_range(cut, to, to != NULL ? to->from_buffer : -1, !begins_high);
  if (from != NULL) first = room_beside(finder, event, from->to_buffer, from->bytes);
  if (to != NULL) last = room_beside(finder, event, to->from_buffer, to->bytes);
  add_part(&maker, cut, begin, first);
  add_range(&maker, cut->inner, begins_high ? end.end : begin.end, begins_high ? begin.begin : end.begin, all);
  add_part(&maker, cut, end, last);
  if (maker.count < 2) return;
  finder->has_sums = finder->has_sums || cut->way == KERNEL_CUT_SUMS;
  for (int32_t i = 0; i < maker.count && cut->way == KERNEL_CUT_SUMS; i++) {
    maker.strips[i].goes_on = i > 0;
    maker.strips[i].leaves_open = i < maker.count - 1;
  }
  array_push(&finder->cuts, finder->arena, ((KernelCut){use, maker.count, maker.strips}));
  array_push(&finder->rooms, finder->arena, maker.rooms);
}

/* Nothing goes on from events |first| to |last|. */
static void leave_out(StripFinder *finder, int32_t first, int32_t last) {
  for (int32_t e = first; e <= last; e++) finder->links[e].to = finder->from[e] = -1;
}

/* What is linked, and what lies between, is a unit. */
static void find_units(StripFinder *finder) {
  for (int32_t e = 0; e < finder->touches.events.count; e++) {
    int32_t first = e, last = finder->links[e].to;
    if (last < 0) continue;
    for (; e <= last; e++) last = finder->links[e].to > last ? finder->links[e].to : last;
    e = last;
    RunUnit unit = {.first = run_touches_row(&finder->touches, finder->placed->kernels, first),
                    .last = run_touches_row(&finder->touches, finder->placed->kernels, last)};
    if (finder->leaves_out != NULL && finder->leaves_out[unit.first] == RUN_LEAVES_UNIT) leave_out(finder, first, last);
    array_push(&finder->units, finder->arena, unit);
  }
}

static void find_cuts(StripFinder *finder) {
  int32_t count = (int32_t)finder->touches.events.count;
  bool *begins_high = ARENA_NEW_ARRAY(finder->arena, bool, count + 1);
  for (int32_t e = 0; e < count; e++) {
    bool begins = finder->from[e] >= 0, ends = finder->links[e].to >= 0;
    if (ends) begins_high[finder->links[e].to] = !begins_high[e];
    if (begins || ends) add_cut(finder, e, begins_high[e]);
  }
}

RunCuts run_strips_find(Arena *arena, const PlacedModule *placed, const ResidencyModel *model,
                        const RunLeft *leaves_out, bool cuts_sums) {
  const HloModule *module = placed->module;
  StripFinder finder = {.arena = arena, .placed = placed, .model = model, .cuts_sums = cuts_sums};
  finder.leaves_out = leaves_out;
  finder.times = hlo_execution_counts(arena, module, 1);
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    if (finder.times[computation->id] <= 0) continue;
    run_touches_find(arena, placed, computation, model, false, &finder.touches);
    int64_t count = finder.touches.events.count;
    finder.cuttings = ARENA_NEW_ARRAY(arena, EventCut, count + 1);
    finder.links = ARENA_NEW_ARRAY(arena, StripLink, count + 1);
    finder.from = ARENA_NEW_ARRAY(arena, int32_t, count + 1);
    finder.estimate = 0;
    for (int32_t e = 0; e < count; e++) {
      const KernelUse *use = event_at(&finder, e)->use;
      const Plan *plan = use != NULL ? model->plan(model->self, use) : NULL;
      if (plan != NULL) finder.estimate += plan->estimate * finder.times[computation->id];
    }
    find_links(&finder);
    find_units(&finder);
    find_cuts(&finder);
  }
  if (cuts_sums && !finder.has_sums) return (RunCuts){0};
  return (RunCuts){.count = finder.cuts.count,
                   .cuts = finder.cuts.data,
                   .rooms = finder.rooms.data,
                   .unit_count = finder.units.count,
                   .units = finder.units.data};
}
