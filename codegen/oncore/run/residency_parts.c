/* What finds no room may stay in part: its first bytes, after which the plans of all its Kernels can be split. */
#include <math.h>

#include "base/checked_math.h"
#include "codegen/oncore/run/plan_split.h"
#include "codegen/oncore/run/residency_internal.h"

/* Beside a part Kernels have tiles in one or more, up to so many, of ROOM_STEPS parts of the Buffer. */
enum { PART_MOST_STEPS = 4 };

/* Whether plans of Kernels that touch the candidate are to go through it in memory's order. */
typedef enum PartWalk { WALK_AS_IT_IS, WALK_IN_ORDER, PART_WALK_COUNT } PartWalk;

/* Where a part of |candidate| may end by the plans that its Kernels have at present: at multiples of so many bytes; 0:
 * nowhere. */
static int64_t part_step(const Chooser *chooser, const RunCandidate *candidate) {
  const int32_t *begins = chooser->touches.begins;
  int64_t all = 1;
  for (int32_t t = begins[candidate->first]; t < begins[candidate->last + 1]; t++) {
    const RunTouch *touch = residency_touch(chooser, t);
    if (!run_candidate_has(candidate, touch)) continue;
    const Plan *plan = residency_plan(chooser, touch->event);
    if (plan == NULL || !residency_may_keep(chooser->model, plan, touch->buffer)) return 0;
    int64_t step = plan_split_step(plan, touch->buffer);
    if (step == 0) return 0;
    step *= type_storage_bytes(plan->kernel->buffers[touch->buffer].type);
    all = all / greatest_common_divisor(all, step) * step;
    if (all >= candidate->bytes.bytes) return 0;
  }
  return all;
}

/* Buffers of |event| that are |candidate|, as PlanRoom has them. */
static uint64_t buffers_of(const Chooser *chooser, const RunCandidate *candidate, int32_t event) {
  uint64_t buffers = 0;
  for (int32_t t = chooser->touches.begins[event]; t < chooser->touches.begins[event + 1]; t++) {
    const RunTouch *touch = residency_touch(chooser, t);
    bool is_known = touch->buffer >= 0 && touch->buffer < PLAN_ROOM_BUFFERS;
    if (is_known && run_candidate_has(candidate, touch)) buffers |= (uint64_t)1 << touch->buffer;
  }
  return buffers;
}

/* Bytes that Kernels leave to |candidate| whose tiles have |tiles| bytes, where there are plans for that. */
static int64_t room_beside_tiles(Chooser *chooser, const RunCandidate *candidate, PartWalk walk, int64_t tiles,
                                 bool *is_changed) {
  int64_t usable = machine_buffer_usable(chooser->placed->machine), left = usable;
  for (int32_t e = candidate->first; e <= candidate->last && left > 0; e++) {
    if (residency_is_fixed(chooser, e)) return 0;
    int64_t room = usable - chooser->taken[e];
    uint64_t before = residency_walked(chooser, e), walked = before;
    if (walk == WALK_IN_ORDER) walked |= buffers_of(chooser, candidate, e);
    bool may_change = walked != before || residency_own_bytes(chooser, e) > tiles;
    bool *changes = &is_changed[e - candidate->first];
    *changes = may_change && residency_find_room(chooser, e, min_i64(room, tiles), walked);
    left = min_i64(left, room - residency_own_bytes(chooser, e));
  }
  return left;
}

static void set_rooms(Chooser *chooser, const RunCandidate *candidate, const PlanRoom *rooms) {
  for (int32_t e = candidate->first; e <= candidate->last; e++) chooser->rooms[e] = rooms[e - candidate->first];
}

bool residency_take_part(Chooser *chooser, RunCandidate *candidate) {
  int64_t events = candidate->last - candidate->first + 1, whole = candidate->bytes.bytes, best_held = 0;
  const PlanRoom *before = ARENA_COPY_ARRAY(chooser->arena, PlanRoom, chooser->rooms + candidate->first, events);
  const PlanRoom *best_rooms = before;
  double saved = candidate->saved, best = INFINITY;
  for (int64_t trial = 0; trial < PART_MOST_STEPS * PART_WALK_COUNT; trial++) {
    bool *is_changed = ARENA_NEW_ARRAY(chooser->arena, bool, events);
    int64_t tiles = machine_buffer_usable(chooser->placed->machine) / ROOM_STEPS * (trial % PART_MOST_STEPS + 1);
    PartWalk walk = trial < PART_MOST_STEPS ? WALK_AS_IT_IS : WALK_IN_ORDER;
    int64_t room = room_beside_tiles(chooser, candidate, walk, tiles, is_changed), step = part_step(chooser, candidate);
    int64_t held = step > 0 && room > 0 ? min_i64(room, whole - 1) / step * step : 0;
    const PlanRoom *rooms = ARENA_COPY_ARRAY(chooser->arena, PlanRoom, chooser->rooms + candidate->first, events);
    if (saved * (double)held * LEAST_SHARE > chooser->estimate * (double)whole) {
      candidate->held = held;
      residency_set_taken(chooser, candidate, true);
      double with = residency_trial_cycles(chooser, candidate, is_changed);
      residency_set_taken(chooser, candidate, false);
      set_rooms(chooser, candidate, before);
      bool is_best = with < best && with <= residency_trial_cycles(chooser, candidate, is_changed);
      if (is_best) best = with, best_held = held, best_rooms = rooms;
    }
    set_rooms(chooser, candidate, before);
  }
  candidate->held = best_held > 0 ? best_held : whole;
  if (best_held == 0) return false;
  candidate->saved = saved * (double)best_held / (double)whole;
  set_rooms(chooser, candidate, best_rooms);
  residency_set_taken(chooser, candidate, true);
  return true;
}
