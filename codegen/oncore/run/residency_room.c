/* The plans that Kernels have at present, and what room their tiles take beside residents.  The choice asks for these
 * again and again: what depends on the plan alone is found once. */
#include "base/checked_math.h"
#include "codegen/oncore/run/plan_copies.h"
#include "codegen/oncore/run/residency_internal.h"

static int64_t tile_bytes(const Plan *plan) {
  int64_t bytes = 0;
  for (int32_t t = 0; t < plan->tensor_count; t++)
    if (!plan->tensors[t].is_alias) bytes += align_up(plan->tensors[t].end - plan->tensors[t].begin, plan->alignment);
  return bytes;
}

static EventPlan *plan_at(const Chooser *chooser, int32_t event) {
  EventPlans *plans = &chooser->plans[event];
  PlanRoom room = chooser->rooms[event];
  const KernelUse *use = chooser->touches.events.data[event].use;
  for (int64_t p = 0; p < plans->count; p++)
    if (plan_room_is_same(plans->data[p]->room, room)) return plans->data[p];
  EventPlan *known = ARENA_NEW(chooser->arena, EventPlan);
  known->room = room;
  array_push(plans, chooser->arena, known);
  known->plan = use != NULL ? chooser->model->plan_within(chooser->model->self, use, room) : NULL;
  if (known->plan == NULL) return known;
  int32_t buffers = known->plan->kernel->buffer_count;
  known->bytes = tile_bytes(known->plan);
  known->copied = ARENA_NEW_ARRAY(chooser->arena, int64_t, buffers);
  for (int32_t b = 0; b < buffers; b++) known->copied[b] = -1;
  return known;
}

const Plan *residency_plan(const Chooser *chooser, int32_t event) {
  return plan_at(chooser, event)->plan;
}

/* Whether the bytes of touch |number| stay whole.  Of what stays in part the rest still comes through tiles. */
static bool is_whole(const Chooser *chooser, int32_t number) {
  const RunCandidate *resident = chooser->resident_of[number];
  return resident != NULL && resident->held == resident->bytes.bytes;
}

/* Whether touch |number| at |event| is the first one of its array there that stays whole. */
static bool is_first_whole(const Chooser *chooser, int32_t event, int32_t number) {
  int32_t buffer = residency_touch(chooser, number)->buffer;
  if (buffer < 0 || !is_whole(chooser, number)) return false;
  for (int32_t t = chooser->touches.begins[event]; t < number; t++)
    if (residency_touch(chooser, t)->buffer == buffer && is_whole(chooser, t)) return false;
  return true;
}

/* Bytes of the tiles of |of| that are copies of |buffer|. */
static int64_t copied_bytes(const Chooser *chooser, const EventPlan *of, int32_t buffer) {
  bool sees = chooser->model->policy.sees_windows;
  if (of->copied[buffer] < 0) of->copied[buffer] = plan_copied_bytes(of->plan, buffer, sees);
  return of->copied[buffer];
}

/* Whether touch |number| at |event| is of a result that has the bytes of a resident operand. */
static bool is_over_operand(const Chooser *chooser, int32_t event, int32_t number) {
  const RunCandidate *resident = chooser->resident_of[number];
  int32_t buffer = residency_touch(chooser, number)->buffer;
  for (int32_t t = chooser->touches.begins[event]; t < chooser->touches.begins[event + 1]; t++) {
    bool is_other = residency_touch(chooser, t)->buffer != buffer;
    if (is_other && resident != NULL && chooser->resident_of[t] == resident) return true;
  }
  return false;
}

/* Bytes of the tiles of |of| that are gone with the resident of touch |number| at |event|. */
static int64_t gone_bytes(const Chooser *chooser, int32_t event, const EventPlan *of, int32_t number) {
  int32_t buffer = residency_touch(chooser, number)->buffer;
  int64_t bytes = copied_bytes(chooser, of, buffer);
  bool keeps_sums = bytes > 0 && is_over_operand(chooser, event, number);
  return keeps_sums ? bytes - plan_summed_bytes(of->plan, buffer) : bytes;
}

int64_t residency_replaced_bytes(const Chooser *chooser, int32_t event) {
  const EventPlan *of = plan_at(chooser, event);
  int64_t bytes = 0;
  for (int32_t t = chooser->touches.begins[event]; of->plan != NULL && t < chooser->touches.begins[event + 1]; t++) {
    if (is_first_whole(chooser, event, t)) bytes += gone_bytes(chooser, event, of, t);
  }
  return bytes;
}

uint64_t residency_held_buffers(const Chooser *chooser, int32_t event) {
  const EventPlan *of = plan_at(chooser, event);
  uint64_t held = 0;
  for (int32_t t = chooser->touches.begins[event]; of->plan != NULL && t < chooser->touches.begins[event + 1]; t++) {
    int32_t buffer = residency_touch(chooser, t)->buffer;
    if (!is_whole(chooser, t) || buffer < 0 || buffer >= PLAN_ROOM_BUFFERS || gone_bytes(chooser, event, of, t) == 0)
      continue;
    bool is_result = of->plan->kernel->buffers[buffer].role == KERNEL_RESULT; /* whose sums may not be made there */
    if (is_result && of->plan->kernel->fold_count > 0 && is_over_operand(chooser, event, t)) continue;
    held |= (uint64_t)1 << buffer;
  }
  return held;
}

int64_t residency_own_bytes(const Chooser *chooser, int32_t event) {
  return plan_at(chooser, event)->bytes - residency_replaced_bytes(chooser, event);
}
