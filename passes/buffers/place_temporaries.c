/* Offsets of temporaries and scratch, in the workspace or as guests in memory of the caller that holds nothing yet or
 * no more: one problem, in which results and donated arguments are regions beside the workspace. */
#include <stdlib.h>

#include "base/array.h"
#include "base/checked_math.h"
#include "base/packing/packing.h"
#include "passes/buffers/assigner_internal.h"

enum { QUARTERS = 4 }; /* of a schedule position, in lifetimes */

static bool is_temporary(const Assigner *assigner, const HloBuffer *buffer) {
  const HloAliasSet *set = &assigner->analysis.alias->sets[assigner->set_of_buffer[buffer->id]];
  const HloValue *first = &assigner->assignment->values[buffer->values[0]];
  return set->parameter < 0 && set->result < 0 && first->definition.instruction->opcode != HLO_CONSTANT;
}

/* --- regions --- */

/* Smaller temporaries and smaller memory of the caller are not worth the search, nor are so many temporaries times
 * pieces of the caller's memory. */
enum { SMALLEST_GUEST = 4, MOST_PAIRS = 1 << 22 };

/* Temporaries below that many bytes lie at multiples of 64 where that takes no more memory; larger ones always. */
enum { MOST_RELAXED = 1024 };

/* The temporaries of one allocation with everything that they may lie in. */
typedef struct Placing {
  Assigner *assigner;
  int32_t allocation;
  ARRAY(PackingRegion) regions; /* the workspace, then memory of the caller, the largest first */
  ARRAY(int32_t) homes;         /* by region: its allocation */
  ARRAY(PackingBuffer) items;
  ARRAY(int32_t) owners; /* of the first items: buffers; then |scratch_items| of them: scratches; then what is pinned */
  int64_t buffer_items, scratch_items;
} Placing;

static int compare_home(const void *left, const void *right, void *context) {
  const BufferAllocation *allocations = context;
  const BufferAllocation *a = &allocations[*(const int32_t *)left], *b = &allocations[*(const int32_t *)right];
  if (a->size != b->size) return a->size > b->size ? -1 : 1;
  return a->index < b->index ? -1 : 1;
}

/* Memory that holds a result only at the end, or an argument only at the beginning. */
static void find_homes(Placing *placing) {
  const BufferAssignment *assignment = placing->assigner->assignment;
  Arena *scratch = placing->assigner->scratch;
  array_push(&placing->homes, scratch, placing->allocation);
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    const BufferAllocation *allocation = &assignment->allocations[i];
    bool is_writable = allocation->kind == ALLOCATION_RESULT || allocation->is_entry_parameter_donated;
    if (!is_writable || allocation->size < SMALLEST_GUEST) continue;
    if (allocation->colour == assignment->allocations[placing->allocation].colour)
      array_push(&placing->homes, scratch, i);
  }
  qsort_r(placing->homes.data + 1, (size_t)placing->homes.count - 1, sizeof(int32_t), compare_home,
          assignment->allocations);
  int64_t most = min_i64(PACKING_MOST_REGIONS, 1 + MOST_PAIRS / (assignment->buffer_count + 1));
  placing->homes.count = min_i64(placing->homes.count, most);
  array_push(&placing->regions, scratch, ((PackingRegion){.capacity = INT64_MAX}));
  for (int64_t r = 1; r < placing->homes.count; r++) {
    PackingRegion region = {.capacity = assignment->allocations[placing->homes.data[r]].size};
    array_push(&placing->regions, scratch, region);
  }
}

/* What is computed before any run has the workspace alone: there are no results yet. */
static bool is_before_runs(const Assigner *assigner, const HloBuffer *buffer) {
  const HloComputation *preparation = assigner->module->preparation;
  const HloValue *first = &assigner->assignment->values[buffer->values[0]];
  return preparation != NULL &&
         call_graph_ancestor(assigner->analysis.flow->graph, first->definition.instruction, preparation) != NULL;
}

/* Where |buffer| may lie: the caller aligns its memory for its own elements alone. */
static uint64_t regions_of(const Placing *placing, const HloBuffer *buffer) {
  const Assigner *assigner = placing->assigner;
  uint64_t regions = 1;
  if (buffer->size < SMALLEST_GUEST || is_before_runs(assigner, buffer)) return regions;
  for (int64_t r = 1; r < placing->homes.count; r++) {
    const BufferAllocation *home = &assigner->assignment->allocations[placing->homes.data[r]];
    if (home->size >= buffer->size && home->alignment >= assigner->element_alignments[buffer->id])
      regions |= UINT64_C(1) << r;
  }
  return regions;
}

/* --- the problem --- */

/* While its instruction runs, from before it reads to after it has written. */
static Lifetime scratch_lifetime(const BufferScratch *scratch) {
  return (Lifetime){QUARTERS * scratch->position, QUARTERS * scratch->position + 1};
}

/* One item for each lifetime of |buffer|, all like |item|; those without a gap between them are one. */
static void add_lifetimes(Placing *placing, const HloBuffer *buffer, PackingBuffer item) {
  const Assigner *assigner = placing->assigner;
  int32_t count = assigner_lifetime_count(assigner, buffer);
  for (int32_t k = 0; k < count; k++) {
    Lifetime lifetime = assigner_lifetime(assigner, buffer, k);
    for (; k + 1 < count; k++) {
      Lifetime next = assigner_lifetime(assigner, buffer, k + 1);
      if (next.lower != lifetime.upper) break;
      lifetime.upper = next.upper;
    }
    item.lower = lifetime.lower;
    item.upper = lifetime.upper;
    array_push(&placing->items, assigner->scratch, item);
    array_push(&placing->owners, assigner->scratch, buffer->id);
  }
}

static void add_temporaries(Placing *placing) {
  const BufferAssignment *assignment = placing->assigner->assignment;
  for (int32_t i = 0; i < assignment->buffer_count; i++) {
    const HloBuffer *buffer = &assignment->buffers[i];
    if (buffer->allocation != placing->allocation || buffer->size == 0) continue;
    bool is_one = assigner_lifetime_count(placing->assigner, buffer) == 1;
    PackingBuffer item = {.id = i, .size = buffer->size, .alignment = buffer->alignment, .group = is_one ? -1 : i};
    item.regions = regions_of(placing, buffer);
    add_lifetimes(placing, buffer, item);
  }
  placing->buffer_items = placing->items.count;
}

static void add_scratches(Placing *placing) {
  const BufferAssignment *assignment = placing->assigner->assignment;
  for (int32_t i = 0; i < assignment->scratch_count; i++) {
    const BufferScratch *scratch = &assignment->scratches[i];
    if (scratch->allocation != placing->allocation) continue;
    Lifetime lifetime = scratch_lifetime(scratch);
    PackingBuffer item = {.id = assignment->buffer_count + i,
                          .lower = lifetime.lower,
                          .upper = lifetime.upper,
                          .size = scratch->size,
                          .alignment = TEMP_ALIGNMENT,
                          .group = -1};
    array_push(&placing->items, placing->assigner->scratch, item);
    array_push(&placing->owners, placing->assigner->scratch, i);
  }
  placing->scratch_items = placing->items.count - placing->buffer_items;
}

/* What the caller's memory holds on its own account stays where it is. */
static void add_residents(Placing *placing) {
  const BufferAssignment *assignment = placing->assigner->assignment;
  int32_t *region_of = ARENA_NEW_ARRAY(placing->assigner->scratch, int32_t, assignment->allocation_count);
  for (int64_t r = 1; r < placing->homes.count; r++) region_of[placing->homes.data[r]] = (int32_t)r;
  for (int32_t i = 0; i < assignment->buffer_count; i++) {
    const HloBuffer *buffer = &assignment->buffers[i];
    if (region_of[buffer->allocation] == 0 || buffer->size == 0 || is_temporary(placing->assigner, buffer)) continue;
    PackingBuffer item = {.id = assignment->buffer_count + assignment->scratch_count + i,
                          .size = buffer->size,
                          .alignment = 1,
                          .group = -1,
                          .is_pinned = true,
                          .pin = buffer->offset,
                          .regions = UINT64_C(1) << region_of[buffer->allocation]};
    add_lifetimes(placing, buffer, item);
  }
}

/* --- the placement --- */

static void take_placement(Placing *placing, const PackingSolution *plan) {
  Assigner *assigner = placing->assigner;
  BufferAssignment *assignment = assigner->assignment;
  for (int64_t i = 0; i < placing->buffer_items; i++) {
    HloBuffer *buffer = &assignment->buffers[placing->owners.data[i]];
    int32_t region = plan->regions == NULL ? 0 : plan->regions[i];
    buffer->offset = plan->offsets[i];
    buffer->alignment = placing->items.data[i].alignment;
    if (region == 0) continue;
    buffer->allocation = placing->homes.data[region];
    buffer->alignment = assigner->element_alignments[buffer->id];
    assigner->is_hosted[buffer->id] = true;
  }
  for (int64_t i = placing->buffer_items; i < placing->buffer_items + placing->scratch_items; i++)
    assignment->scratches[placing->owners.data[i]].offset = plan->offsets[i];
}

/* |plan| has small temporaries wherever their elements may lie, by the items |relaxed|: those of |placing| at multiples
 * of more, in as little memory, are better. */
MUST_USE static Status prefer_aligned(Placing *placing, PackingProblem problem, PackingBuffer *relaxed,
                                      PackingSolution *plan) {
  enum { SHARE = 8 }; /* of the steps: it is but a preference */
  PackingSolution aligned;
  placing->regions.data[0].capacity = plan->height;
  problem.buffers = placing->items.data;
  problem.most_steps /= SHARE;
  RETURN_IF_ERROR(packing_solve(placing->assigner->scratch, &problem, placing->assigner->diag, &aligned));
  if (aligned.height > plan->height) {
    placing->items.data = relaxed;
    return STATUS_OK;
  }
  aligned.lower_bound = plan->lower_bound;
  *plan = aligned;
  return STATUS_OK;
}

/* The items with small temporaries wherever their elements may lie; NULL: as they are. */
static PackingBuffer *relaxed_items(const Placing *placing) {
  const Assigner *assigner = placing->assigner;
  PackingBuffer *items = ARENA_COPY_ARRAY(assigner->scratch, PackingBuffer, placing->items.data, placing->items.count);
  bool is_same = true;
  for (int64_t i = 0; i < placing->buffer_items; i++) {
    if (items[i].size >= MOST_RELAXED) continue;
    items[i].alignment = assigner->element_alignments[placing->owners.data[i]];
    is_same &= items[i].alignment == placing->items.data[i].alignment;
  }
  return is_same ? NULL : items;
}

/* Places the temporaries and the scratch of one allocation. */
MUST_USE static Status place_allocation(Assigner *assigner, int32_t number, PackingSolution *out_plan) {
  Placing placing = {.assigner = assigner, .allocation = number};
  find_homes(&placing);
  add_temporaries(&placing);
  add_scratches(&placing);
  add_residents(&placing);
  enum { BASE_STEPS = 500000, STEPS_EACH = 2000 };
  /* Some milliseconds for a thousand buffers, where best fit leaves anything to be gained at all; each effort allows
   * three times what the one before does. */
  int64_t most_steps = BASE_STEPS + STEPS_EACH * placing.items.count;
  for (int e = HLO_DEFAULT_EFFORT; e < assigner->effort; e++) most_steps *= 3;
  for (int e = HLO_DEFAULT_EFFORT; e > assigner->effort; e--) most_steps /= 3;
  PackingBuffer *relaxed = relaxed_items(&placing);
  PackingProblem problem = {.buffers = relaxed == NULL ? placing.items.data : relaxed,
                            .count = placing.items.count,
                            .regions = placing.regions.data,
                            .region_count = placing.regions.count,
                            .most_steps = max_i64(most_steps, 1)};
  RETURN_IF_ERROR(packing_solve(assigner->scratch, &problem, assigner->diag, out_plan));
  if (relaxed != NULL) RETURN_IF_ERROR(prefer_aligned(&placing, problem, relaxed, out_plan));
  take_placement(&placing, out_plan);
  return STATUS_OK;
}

static Status place_workspace(Assigner *assigner) {
  BufferAssignment *assignment = assigner->assignment;
  assignment->workspace_bytes = assignment->lower_bound_bytes = 0;
  assignment->workspace_alignment = TEMP_ALIGNMENT;
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    BufferAllocation *allocation = &assignment->allocations[i];
    if (allocation->kind != ALLOCATION_TEMP) continue;
    PackingSolution placed;
    RETURN_IF_ERROR(place_allocation(assigner, i, &placed));
    allocation->size = placed.height;
    if (assignment->workspace_bytes > INT64_MAX - TEMP_ALIGNMENT ||
        placed.height > INT64_MAX - assignment->workspace_bytes - TEMP_ALIGNMENT) {
      return diag_error(assigner->diag, STATUS_EXHAUSTED, assigner->module->loc, "size",
                        "temporaries need more bytes than can be counted");
    }
    allocation->workspace_offset = align_up(assignment->workspace_bytes, TEMP_ALIGNMENT);
    assignment->workspace_bytes = allocation->workspace_offset + placed.height;
    assignment->lower_bound_bytes += placed.lower_bound;
  }
  /* What further threads take begins there. */
  if (assignment->scratch_bytes_per_worker > 0) {
    assignment->workspace_bytes = align_up(assignment->workspace_bytes, TEMP_ALIGNMENT);
    assignment->lower_bound_bytes = align_up(assignment->lower_bound_bytes, TEMP_ALIGNMENT);
  }
  return STATUS_OK;
}

/* --- the peak --- */

typedef struct Event {
  int64_t time, change;
} Event;

static int compare_event(const void *left, const void *right) {
  const Event *a = left, *b = right;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  return a->change < b->change ? -1 : a->change > b->change;
}

static void find_peak(Assigner *assigner) {
  BufferAssignment *assignment = assigner->assignment;
  ARRAY(Event) events = {0};
  for (int32_t i = 0; i < assignment->buffer_count; i++) {
    const HloBuffer *buffer = &assignment->buffers[i];
    if (assignment->allocations[buffer->allocation].kind != ALLOCATION_TEMP || buffer->size == 0) continue;
    for (int32_t k = 0; k < assigner_lifetime_count(assigner, buffer); k++) {
      Lifetime lifetime = assigner_lifetime(assigner, buffer, k);
      array_push(&events, assigner->scratch, ((Event){lifetime.lower, buffer->size}));
      array_push(&events, assigner->scratch, ((Event){lifetime.upper, -buffer->size}));
    }
  }
  for (int32_t i = 0; i < assignment->scratch_count; i++) {
    Lifetime lifetime = scratch_lifetime(&assignment->scratches[i]);
    array_push(&events, assigner->scratch, ((Event){lifetime.lower, assignment->scratches[i].size}));
    array_push(&events, assigner->scratch, ((Event){lifetime.upper, -assignment->scratches[i].size}));
  }
  if (events.count > 0) qsort(events.data, (size_t)events.count, sizeof(Event), compare_event);
  int64_t live = 0, peak = 0, time = 0;
  for (int64_t i = 0; i < events.count; i++) {
    live += events.data[i].change;
    if (live <= peak) continue;
    peak = live;
    time = events.data[i].time;
  }
  assignment->peak_position = hlo_liveness_first_position((LiveRange){time, time}, assignment->schedule_length);
}

Status assigner_place_temporaries(Assigner *assigner) {
  RETURN_IF_ERROR(place_workspace(assigner));
  find_peak(assigner);
  return STATUS_OK;
}
