/* From a problem to items and sections. */
#include "base/packing/packing_instance.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/checked_math.h"
#include "base/packing/packing_internal.h"
#include "base/radix_sort.h"

/* ---- lifetimes of slots ---- */

int packing_compare_moment(PackingMoment a, PackingMoment b) {
  return a.zone != b.zone ? compare_i64(a.zone, b.zone) : compare_i64(a.time, b.time);
}

int64_t packing_slot_count(const PackingProblem *problem) {
  int64_t count = 0;
  for (int64_t i = 0; i < problem->count; i++) count += max_i64(1, problem->buffers[i].depth);
  return count;
}

/* All that is wanted of one buffer. */
MUST_USE static Status check_buffer(const PackingProblem *problem, const PackingBuffer *buffer, DiagSink *diag) {
  long long id = (long long)buffer->id;
  RETURN_IF_ERROR(packing_check_buffer(buffer, diag));
  int64_t region_count = max_i64(1, problem->region_count), length, limit;
  uint64_t known = region_count == 64 ? UINT64_MAX : (UINT64_C(1) << region_count) - 1;
  if ((buffer->regions & ~known) != 0)
    return diag_error(diag, STATUS_INVALID, packing_loc(buffer), "packing-region",
                      "buffer %lld names a region that is not there", id);
  if (buffer->is_pinned && (buffer->pin < 0 || (buffer->regions & (buffer->regions - 1)) != 0))
    return diag_error(diag, STATUS_INVALID, packing_loc(buffer), "packing-pin",
                      "buffer %lld is pinned at %lld: that takes an offset that is not negative, and one region", id,
                      (long long)buffer->pin);
  if (buffer->depth < 0 || buffer->depth > PACKING_MOST_DEPTH)
    return diag_error(diag, STATUS_INVALID, packing_loc(buffer), "packing-loop", "buffer %lld has depth %lld", id,
                      (long long)buffer->depth);
  if (buffer->depth == 0 || buffer->size == 0) return STATUS_OK;
  if (problem->loop.period <= 0 || buffer->group >= 0 || (buffer->is_pinned && buffer->depth > 1))
    return diag_error(diag, STATUS_INVALID, packing_loc(buffer), "packing-loop",
                      "buffer %lld has a depth, which takes a loop, no group and, for more than one slot, no pin", id);
  if (!checked_sub(buffer->upper, buffer->lower, &length) ||
      !checked_mul(buffer->depth, problem->loop.period, &limit) || length > limit)
    return diag_error(diag, STATUS_INVALID, packing_loc(buffer), "packing-loop",
                      "buffer %lld of depth %lld lives longer than so many iterations take", id,
                      (long long)buffer->depth);
  return STATUS_OK;
}

typedef struct PieceMaker {
  Arena *arena;
  const PackingProblem *problem;
  int64_t circle; /* how long the steady state is until all slots are back; 0: no loop */
  ARRAY(PackingPiece) pieces;
} PieceMaker;

/* A time of straight-line code; what lies within the loop counts as its begin (or, |up|, its end). */
static PackingMoment line_moment(const PackingLoop *loop, int64_t time, bool up) {
  if (loop->period <= 0 || time < loop->lower || (time == loop->lower && up)) return (PackingMoment){0, time};
  if (time > loop->upper || (time == loop->upper && !up)) return (PackingMoment){2, time};
  return up ? (PackingMoment){2, loop->upper} : (PackingMoment){0, loop->lower};
}

static void add_arc(PieceMaker *maker, int64_t slot, int64_t lower, int64_t length) {
  int64_t circle = maker->circle;
  lower = (lower % circle + circle) % circle;
  if (length >= circle) {
    lower = 0;
    length = circle;
  }
  PackingPiece piece = {slot, {1, lower}, {1, min_i64(circle, lower + length)}};
  array_push(&maker->pieces, maker->arena, piece);
  if (lower + length <= circle) return;
  array_push(&maker->pieces, maker->arena, ((PackingPiece){slot, {1, 0}, {1, lower + length - circle}}));
}

/* [lower, upper) of |buffer|'s lifetime, which no gap interrupts, for its slot |k|. */
static void add_interval(PieceMaker *maker, const PackingBuffer *buffer, int64_t slot, int64_t k, int64_t lower,
                         int64_t upper) {
  const PackingLoop *loop = &maker->problem->loop;
  if (lower >= upper) return;
  if (buffer->depth == 0) {
    PackingPiece piece = {slot, line_moment(loop, lower, false), line_moment(loop, upper, true)};
    if (packing_compare_moment(piece.lower, piece.upper) < 0) array_push(&maker->pieces, maker->arena, piece);
    return;
  }
  int64_t start = (lower % maker->circle + maker->circle) % maker->circle;
  for (int64_t i = k; i * loop->period < maker->circle; i += buffer->depth)
    add_arc(maker, slot, (start + i * loop->period) % maker->circle, upper - lower);
}

static int compare_piece(const void *left, const void *right) {
  const PackingPiece *a = left, *b = right;
  if (a->slot != b->slot) return compare_i64(a->slot, b->slot);
  int order = packing_compare_moment(a->lower, b->lower);
  return order != 0 ? order : packing_compare_moment(a->upper, b->upper);
}

MUST_USE static Status add_slots(PieceMaker *maker, const PackingBuffer *buffer, int64_t first_slot, DiagSink *diag) {
  for (int64_t k = 0; k < max_i64(1, buffer->depth); k++) {
    int64_t from = buffer->lower, before = maker->pieces.count;
    for (int64_t g = 0; g < buffer->gap_count; g++) {
      const PackingGap *gap = &buffer->gaps[g];
      if (gap->lower >= gap->upper || gap->lower < from || gap->upper > buffer->upper)
        return diag_error(diag, STATUS_INVALID, packing_loc(buffer), "packing-gap",
                          "gap [%lld, %lld) of buffer %lld is not within its lifetime, after the gap before",
                          (long long)gap->lower, (long long)gap->upper, (long long)buffer->id);
      add_interval(maker, buffer, first_slot + k, k, from, gap->lower);
      from = gap->upper;
    }
    add_interval(maker, buffer, first_slot + k, k, from, buffer->upper);
    if (maker->pieces.count == before)
      return diag_error(diag, STATUS_INVALID, packing_loc(buffer), "packing-gap",
                        "buffer %lld is in a gap all its life", (long long)buffer->id);
  }
  return STATUS_OK;
}

/* The time after which the slots of all depths begin anew. */
MUST_USE static Status find_circle(const PackingProblem *problem, DiagSink *diag, int64_t *out_circle) {
  int64_t slots = 1;
  if (problem->loop.period > 0 && problem->loop.lower >= problem->loop.upper)
    return diag_error(diag, STATUS_INVALID, NO_LOC, "packing-loop", "the loop [%lld, %lld) takes no time",
                      (long long)problem->loop.lower, (long long)problem->loop.upper);
  for (int64_t i = 0; i < problem->count; i++) {
    int64_t depth = problem->buffers[i].depth;
    if (depth > 1) slots *= depth / greatest_common_divisor(slots, depth);
    if (slots > 1 << 16)
      return diag_error(diag, STATUS_INVALID, NO_LOC, "packing-loop",
                        "the depths of the slots have no common multiple "
                        "up to %d",
                        1 << 16);
  }
  if (checked_mul(slots, max_i64(0, problem->loop.period), out_circle) && *out_circle < INT64_MAX / 4) return STATUS_OK;
  return diag_error(diag, STATUS_INVALID, NO_LOC, "packing-loop", "the loop's period is too long");
}

static void join_pieces(PieceMaker *maker) {
  int64_t kept = 0;
  PackingPiece *data = maker->pieces.data;
  bool is_sorted = true; /* as they are made, unless gaps or slots of loops come in another order */
  for (int64_t i = 1; i < maker->pieces.count && is_sorted; i++) is_sorted = compare_piece(&data[i - 1], &data[i]) <= 0;
  if (!is_sorted) qsort(data, (size_t)maker->pieces.count, sizeof(PackingPiece), compare_piece);
  for (int64_t i = 0; i < maker->pieces.count; i++) {
    bool joins = kept > 0 && data[kept - 1].slot == data[i].slot &&
                 packing_compare_moment(data[kept - 1].upper, data[i].lower) >= 0;
    if (!joins)
      data[kept++] = data[i];
    else if (packing_compare_moment(data[kept - 1].upper, data[i].upper) < 0)
      data[kept - 1].upper = data[i].upper;
  }
  maker->pieces.count = kept;
}

Status packing_pieces(Arena *arena, const PackingProblem *problem, DiagSink *diag, PackingPieces *out_pieces) {
  PieceMaker maker = {.arena = arena, .problem = problem};
  for (int64_t r = 0; r < problem->region_count; r++) {
    const PackingRegion *region = &problem->regions[r];
    if (problem->region_count > PACKING_MOST_REGIONS || region->capacity < 0 || region->base < 0)
      return diag_error(diag, STATUS_INVALID, NO_LOC, "packing-region",
                        "region %lld of %lld has capacity %lld and base %lld", (long long)r,
                        (long long)problem->region_count, (long long)region->capacity, (long long)region->base);
  }
  for (int64_t i = 0; i < problem->count; i++) RETURN_IF_ERROR(check_buffer(problem, &problem->buffers[i], diag));
  RETURN_IF_ERROR(find_circle(problem, diag, &maker.circle));
  int64_t slot_count = packing_slot_count(problem), slot = 0;
  int64_t *buffer_of_slot = ARENA_NEW_ARRAY(arena, int64_t, slot_count + 1);
  array_reserve(&maker.pieces, arena, slot_count + 1);
  for (int64_t i = 0; i < problem->count; i++) {
    const PackingBuffer *buffer = &problem->buffers[i];
    if (buffer->size > 0) RETURN_IF_ERROR(add_slots(&maker, buffer, slot, diag));
    for (int64_t k = 0; k < max_i64(1, buffer->depth); k++) buffer_of_slot[slot++] = i;
  }
  join_pieces(&maker);
  *out_pieces = (PackingPieces){maker.pieces.data, maker.pieces.count, slot_count, buffer_of_slot};
  return STATUS_OK;
}

/* ---- sections ---- */

/* Starts and ends of pieces, 2 p + 1 and 2 p, in time.  At one time ends come before starts, since lifetimes are
 * half-open. */
static int64_t *sort_events(Arena *scratch, const PackingPieces *pieces) {
  int64_t count = pieces->count, *order = ARENA_NEW_ARRAY(scratch, int64_t, 2 * count + 1);
  int64_t *times = ARENA_NEW_ARRAY(scratch, int64_t, 2 * count + 1);
  int64_t *zones = ARENA_NEW_ARRAY(scratch, int64_t, 2 * count + 1);
  for (int64_t p = 0; p < count; p++) {
    order[p] = 2 * p;
    order[count + p] = 2 * p + 1;
    times[2 * p] = pieces->data[p].upper.time;
    zones[2 * p] = pieces->data[p].upper.zone;
    times[2 * p + 1] = pieces->data[p].lower.time;
    zones[2 * p + 1] = pieces->data[p].lower.zone;
  }
  radix_sort(times, 2 * count, order, scratch);
  radix_sort(zones, 2 * count, order, scratch);
  return order;
}

/* A section is what is alive before an end that follows a start: any other set is part of one of its neighbours. */
static int32_t number_sections(Arena *scratch, const PackingPieces *pieces, Span *spans) {
  const int64_t *events = sort_events(scratch, pieces);
  int32_t count = 0;
  bool has_new = false;
  for (int64_t i = 0; i < 2 * pieces->count; i++) {
    if (events[i] % 2 == 1) {
      spans[events[i] / 2].lower = count;
      has_new = true;
      continue;
    }
    count += has_new;
    has_new = false;
    spans[events[i] / 2].upper = count;
  }
  return count;
}

/* ---- items ---- */

typedef struct Member {
  int64_t group; /* of its buffer; -1 - slot: none */
  int64_t slot;
  int64_t first_piece, piece_count;
} Member;

static int compare_member(const void *left, const void *right) {
  const Member *a = left, *b = right;
  if (a->group != b->group) return compare_i64(a->group, b->group);
  return compare_i64(a->slot, b->slot);
}

static int compare_first_slot(const void *left, const void *right) {
  const Item *a = left, *b = right;
  return compare_i64(a->first_slot, b->first_slot);
}

static int compare_span(const void *left, const void *right) {
  const Span *a = left, *b = right;
  return compare_i64(a->lower, b->lower);
}

static bool least_common_multiple(int64_t a, int64_t b, int64_t *out) {
  return checked_mul(a / greatest_common_divisor(a, b), b, out);
}

typedef struct ItemMaker {
  Arena *arena;
  const PackingProblem *problem;
  const PackingPieces *pieces;
  const Span *spans; /* by piece */
  DiagSink *diag;
  Span *next_span;
} ItemMaker;

/* Takes the slot of |member| into |item|. */
MUST_USE static Status join_item(ItemMaker *maker, Item *item, const Member *member) {
  const PackingBuffer *buffer = &maker->problem->buffers[maker->pieces->buffer_of_slot[member->slot]];
  uint64_t regions = buffer->regions == 0 ? 1 : buffer->regions;
  item->regions &= regions;
  item->size = max_i64(item->size, buffer->size);
  item->first_slot = min_i64(item->first_slot, member->slot);
  if (!least_common_multiple(item->alignment, buffer->alignment, &item->alignment))
    return packing_overflow_error(maker->diag, buffer);
  if (buffer->is_pinned) {
    if (item->pin >= 0 && item->pin != buffer->pin)
      return diag_error(maker->diag, STATUS_INVALID, packing_loc(buffer), "packing-pin",
                        "buffer %lld is pinned at %lld, another of its group at %lld", (long long)buffer->id,
                        (long long)buffer->pin, (long long)item->pin);
    item->pin = buffer->pin;
  }
  for (int64_t p = member->first_piece; p < member->first_piece + member->piece_count; p++) {
    const PackingPiece *piece = &maker->pieces->data[p];
    Span *span = maker->next_span++;
    *span = (Span){maker->spans[p].lower, maker->spans[p].upper, buffer->size};
    item->span_count++;
    item->duration += piece->lower.zone == piece->upper.zone
                          ? (double)piece->upper.time - (double)piece->lower.time
                          : (double)piece->upper.time - (double)piece->lower.time + (double)maker->problem->loop.period;
  }
  return STATUS_OK;
}

/* Puts the spans in order, joins those between which nothing else is, and sees that none meet. */
MUST_USE static Status finish_item(ItemMaker *maker, Item *item, Span *spans) {
  const PackingBuffer *buffer = &maker->problem->buffers[maker->pieces->buffer_of_slot[item->first_slot]];
  if (item->span_count > 1) qsort(spans, (size_t)item->span_count, sizeof(Span), compare_span);
  int32_t kept = 0;
  for (int32_t s = 0; s < item->span_count; s++) {
    Span *last = kept > 0 ? &spans[kept - 1] : NULL;
    if (last != NULL && last->upper > spans[s].lower)
      return diag_error(maker->diag, STATUS_INVALID, packing_loc(buffer), "packing-group",
                        "buffers of group %lld, of which %lld is one, are alive together", (long long)buffer->group,
                        (long long)buffer->id);
    if (last != NULL && last->upper == spans[s].lower && last->size == spans[s].size)
      last->upper = spans[s].upper;
    else
      spans[kept++] = spans[s];
  }
  item->spans = spans;
  item->span_count = kept;
  item->lower = spans[0].lower;
  item->upper = spans[kept - 1].upper;
  if (item->regions == 0)
    return diag_error(maker->diag, STATUS_INVALID, packing_loc(buffer), "packing-region",
                      "the buffers of group %lld have no region in common", (long long)buffer->group);
  if (item->pin >= 0 && (item->regions & (item->regions - 1)) != 0)
    return diag_error(maker->diag, STATUS_INVALID, packing_loc(buffer), "packing-pin",
                      "the buffers of group %lld are pinned, but no one region is named", (long long)buffer->group);
  if (item->pin < 0) return STATUS_OK;
  int64_t region = __builtin_ctzll(item->regions), address, end;
  int64_t base = maker->problem->region_count > 0 ? maker->problem->regions[region].base : 0;
  if (!checked_add(base, item->pin, &address) || !checked_add(item->pin, item->size, &end))
    return packing_overflow_error(maker->diag, buffer);
  if (address % item->alignment != 0)
    return diag_error(maker->diag, STATUS_INVALID, packing_loc(buffer), "packing-pin",
                      "buffer %lld is pinned at %lld, which is not a multiple of its alignment %lld",
                      (long long)buffer->id, (long long)item->pin, (long long)item->alignment);
  return STATUS_OK;
}

/* By group; without any group they are by slot already, and so are the items they become. */
static int64_t list_members(const ItemMaker *maker, Member *members, bool *out_has_groups) {
  int64_t count = 0;
  *out_has_groups = false;
  for (int64_t p = 0; p < maker->pieces->count; p++) {
    int64_t slot = maker->pieces->data[p].slot;
    if (count > 0 && members[count - 1].slot == slot) {
      members[count - 1].piece_count++;
      continue;
    }
    int64_t group = maker->problem->buffers[maker->pieces->buffer_of_slot[slot]].group;
    *out_has_groups |= group >= 0;
    members[count++] = (Member){group >= 0 ? group : -1 - slot, slot, p, 1};
  }
  if (*out_has_groups) qsort(members, (size_t)count, sizeof(Member), compare_member);
  return count;
}

Status instance_build(Arena *arena, const PackingProblem *problem, DiagSink *diag, Instance *out_instance) {
  PackingPieces pieces;
  RETURN_IF_ERROR(packing_pieces(arena, problem, diag, &pieces));
  if (pieces.count > INT32_MAX / 4)
    return diag_error(diag, STATUS_INVALID, NO_LOC, "packing-count", "more than %d lifetimes", INT32_MAX / 4);
  Span *spans = ARENA_NEW_ARRAY(arena, Span, pieces.count + 1);
  Instance instance = {.slot_count = pieces.slot_count, .section_count = number_sections(arena, &pieces, spans)};
  Member *members = ARENA_NEW_ARRAY(arena, Member, pieces.count + 1);
  ItemMaker maker = {arena, problem, &pieces, spans, diag, ARENA_NEW_ARRAY(arena, Span, pieces.count + 1)};
  bool has_groups;
  int64_t member_count = list_members(&maker, members, &has_groups);
  instance.items = ARENA_NEW_ARRAY(arena, Item, member_count + 1);
  for (int64_t m = 0; m < member_count;) {
    Item *item = &instance.items[instance.item_count++];
    *item = (Item){.alignment = 1, .pin = -1, .regions = UINT64_MAX, .first_slot = INT64_MAX};
    Span *first = maker.next_span;
    int64_t group = members[m].group;
    for (; m < member_count && members[m].group == group; m++) RETURN_IF_ERROR(join_item(&maker, item, &members[m]));
    RETURN_IF_ERROR(finish_item(&maker, item, first));
  }
  if (has_groups) qsort(instance.items, (size_t)instance.item_count, sizeof(Item), compare_first_slot);
  /* Which item each slot belongs to: by its group's least slot. */
  instance.item_of_slot = ARENA_NEW_ARRAY(arena, int32_t, pieces.slot_count + 1);
  for (int64_t s = 0; s < pieces.slot_count; s++) instance.item_of_slot[s] = -1;
  int64_t first_slot = 0;
  for (int64_t m = 0; m < member_count; m++) {
    if (m == 0 || members[m].group != members[m - 1].group) first_slot = members[m].slot;
    Item key = {.first_slot = first_slot};
    const Item *item = bsearch(&key, instance.items, (size_t)instance.item_count, sizeof(Item), compare_first_slot);
    instance.item_of_slot[members[m].slot] = (int32_t)(item - instance.items);
  }
  *out_instance = instance;
  return STATUS_OK;
}

int64_t item_alive_bytes(const Item *item, int32_t t) {
  if (t < item->lower || t >= item->upper) return 0;
  for (int32_t s = 0; s < item->span_count; s++) {
    if (item->spans[s].lower <= t && t < item->spans[s].upper) return item->spans[s].size;
  }
  return 0;
}

int64_t item_size_at(const Item *a, const Item *b) {
  if (a->lower >= b->upper || b->lower >= a->upper) return 0;
  if (a->span_count == 1 && b->span_count == 1) return a->size;
  int64_t size = 0;
  for (int32_t i = 0, k = 0; i < a->span_count && k < b->span_count;) {
    const Span *x = &a->spans[i], *y = &b->spans[k];
    if (x->lower < y->upper && y->lower < x->upper) size = max_i64(size, x->size);
    if (x->upper <= y->upper)
      i++;
    else
      k++;
  }
  return size;
}
