/* Offsets of temporaries and scratch: first as guests in memory of the caller that holds nothing yet or no more, then
 * in the workspace. */
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

/* --- guests in the caller's memory --- */

/* Smaller temporaries are not worth the search. */
enum { SMALLEST_GUEST = 1024, SEARCH_BUDGET = 4000000 };

typedef struct Occupant {
  Lifetime lifetime;
  int64_t start, end; /* bytes */
} Occupant;

typedef struct Home {
  BufferAllocation *allocation;
  ARRAY(Occupant) occupants;
} Home;

typedef struct Hosting {
  Assigner *assigner;
  ARRAY(Home) homes; /* the smallest first */
  int64_t budget;
} Hosting;

static void move_in(Hosting *hosting, Home *home, const HloBuffer *buffer, int64_t offset) {
  for (int32_t i = 0; i < assigner_lifetime_count(hosting->assigner, buffer); i++) {
    Occupant occupant = {assigner_lifetime(hosting->assigner, buffer, i), offset, offset + buffer->size};
    array_push(&home->occupants, hosting->assigner->scratch, occupant);
  }
}

static int compare_home(const void *left, const void *right) {
  const BufferAllocation *a = ((const Home *)left)->allocation, *b = ((const Home *)right)->allocation;
  if (a->size != b->size) return a->size < b->size ? -1 : 1;
  return a->index < b->index ? -1 : 1;
}

/* Memory that holds a result only at the end, or an argument only at the beginning. */
static void find_homes(Hosting *hosting) {
  BufferAssignment *assignment = hosting->assigner->assignment;
  int32_t *home_of = ARENA_NEW_ARRAY(hosting->assigner->scratch, int32_t, assignment->allocation_count + 1);
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    BufferAllocation *allocation = &assignment->allocations[i];
    bool is_writable = allocation->kind == ALLOCATION_RESULT || allocation->is_entry_parameter_donated;
    if (!is_writable || allocation->size < SMALLEST_GUEST) continue;
    array_push(&hosting->homes, hosting->assigner->scratch, ((Home){.allocation = allocation}));
  }
  if (hosting->homes.count > 0) qsort(hosting->homes.data, (size_t)hosting->homes.count, sizeof(Home), compare_home);
  for (int64_t i = 0; i < hosting->homes.count; i++) home_of[hosting->homes.data[i].allocation->index] = (int32_t)i + 1;
  for (int32_t i = 0; i < assignment->buffer_count; i++) {
    int32_t home = home_of[assignment->buffers[i].allocation];
    if (home > 0) move_in(hosting, &hosting->homes.data[home - 1], &assignment->buffers[i], 0);
  }
}

static bool meets(const Assigner *assigner, const HloBuffer *buffer, const Occupant *occupant) {
  for (int32_t i = 0; i < assigner_lifetime_count(assigner, buffer); i++) {
    Lifetime lifetime = assigner_lifetime(assigner, buffer, i);
    if (lifetime.lower < occupant->lifetime.upper && occupant->lifetime.lower < lifetime.upper) return true;
  }
  return false;
}

static int compare_start(const void *left, const void *right) {
  const Occupant *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->end < b->end ? -1 : a->end > b->end;
}

/* The lowest offset with room while |buffer| is alive, -1 for none. */
static int64_t room_in(Hosting *hosting, const Home *home, const HloBuffer *buffer) {
  Arena *scratch = hosting->assigner->scratch;
  ARRAY(Occupant) in_the_way = {0};
  for (int64_t i = 0; i < home->occupants.count; i++) {
    hosting->budget -= assigner_lifetime_count(hosting->assigner, buffer);
    if (!meets(hosting->assigner, buffer, &home->occupants.data[i])) continue;
    if (home->occupants.data[i].end - home->occupants.data[i].start == home->allocation->size) return -1;
    array_push(&in_the_way, scratch, home->occupants.data[i]);
  }
  if (in_the_way.count > 0) qsort(in_the_way.data, (size_t)in_the_way.count, sizeof(Occupant), compare_start);
  int64_t offset = 0;
  for (int64_t i = 0; i < in_the_way.count; i++) {
    if (in_the_way.data[i].start - offset >= buffer->size) break;
    offset = max_i64(offset, align_up(in_the_way.data[i].end, TEMP_ALIGNMENT));
  }
  return home->allocation->size - offset >= buffer->size ? offset : -1;
}

static int compare_size(const void *left, const void *right, void *context) {
  const HloBuffer *buffers = context;
  const HloBuffer *a = &buffers[*(const int32_t *)left], *b = &buffers[*(const int32_t *)right];
  if (a->size != b->size) return a->size > b->size ? -1 : 1;
  return a->id < b->id ? -1 : 1;
}

static void find_home(Hosting *hosting, HloBuffer *buffer) {
  for (int64_t i = 0; i < hosting->homes.count && hosting->budget > 0; i++) {
    Home *home = &hosting->homes.data[i];
    if (home->allocation->size < buffer->size || home->allocation->colour != buffer->colour) continue;
    if (home->allocation->alignment < hosting->assigner->element_alignments[buffer->id]) continue;
    int64_t offset = room_in(hosting, home, buffer);
    if (offset < 0) continue;
    buffer->allocation = home->allocation->index;
    buffer->offset = offset;
    hosting->assigner->is_hosted[buffer->id] = true;
    move_in(hosting, home, buffer, offset);
    return;
  }
}

/* The largest first. */
static bool host_temporaries(Assigner *assigner) {
  BufferAssignment *assignment = assigner->assignment;
  Hosting hosting = {.assigner = assigner, .budget = SEARCH_BUDGET};
  find_homes(&hosting);
  if (hosting.homes.count == 0) return false;
  int32_t *order = ARENA_NEW_ARRAY(assigner->scratch, int32_t, assignment->buffer_count + 1);
  int32_t count = 0;
  for (int32_t i = 0; i < assignment->buffer_count; i++) {
    const HloBuffer *buffer = &assignment->buffers[i];
    if (is_temporary(assigner, buffer) && buffer->size >= SMALLEST_GUEST) order[count++] = i;
  }
  qsort_r(order, (size_t)count, sizeof(int32_t), compare_size, assignment->buffers);
  bool any = false;
  for (int32_t i = 0; i < count; i++) {
    find_home(&hosting, &assignment->buffers[order[i]]);
    any |= assigner->is_hosted[order[i]];
  }
  return any;
}

/* --- the workspace --- */

typedef struct PlacedTemps {
  int64_t height, lower_bound;
} PlacedTemps;

/* While its instruction runs, from before it reads to after it has written. */
static Lifetime scratch_lifetime(const BufferScratch *scratch) {
  return (Lifetime){QUARTERS * scratch->position, QUARTERS * scratch->position + 1};
}

/* Packs the temporaries and the scratch of one allocation. */
static Status pack_allocation(Assigner *assigner, int32_t number, PlacedTemps *out_placed) {
  BufferAssignment *assignment = assigner->assignment;
  ARRAY(PackingBuffer) list = {0};
  ARRAY(int32_t) owners = {0};
  for (int32_t i = 0; i < assignment->buffer_count; i++) {
    const HloBuffer *buffer = &assignment->buffers[i];
    if (buffer->allocation != number || buffer->size == 0) continue;
    for (int32_t k = 0; k < assigner_lifetime_count(assigner, buffer); k++) {
      Lifetime lifetime = assigner_lifetime(assigner, buffer, k);
      int64_t id = i;
      while (k + 1 <
             assigner_lifetime_count(assigner, buffer)) { /* values without a gap between them are one lifetime */
        Lifetime next = assigner_lifetime(assigner, buffer, k + 1);
        if (next.lower != lifetime.upper) break;
        lifetime.upper = next.upper;
        k++;
      }
      PackingBuffer packed = {.id = id,
                              .lower = lifetime.lower,
                              .upper = lifetime.upper,
                              .size = buffer->size,
                              .alignment = buffer->alignment,
                              .group = assigner_lifetime_count(assigner, buffer) > 1 ? buffer->id : -1};
      array_push(&list, assigner->scratch, packed);
      array_push(&owners, assigner->scratch, i);
    }
  }
  int64_t buffer_items = list.count;
  for (int32_t i = 0; i < assignment->scratch_count; i++) {
    const BufferScratch *scratch = &assignment->scratches[i];
    if (scratch->allocation != number) continue;
    Lifetime lifetime = scratch_lifetime(scratch);
    PackingBuffer packed = {.id = assignment->buffer_count + i,
                            .lower = lifetime.lower,
                            .upper = lifetime.upper,
                            .size = scratch->size,
                            .alignment = TEMP_ALIGNMENT,
                            .group = -1};
    array_push(&list, assigner->scratch, packed);
    array_push(&owners, assigner->scratch, i);
  }
  /* Some milliseconds for a thousand buffers, where best fit leaves anything to be gained at all. */
  PackingProblem problem = {.buffers = list.data, .count = list.count, .most_steps = 50000 + 2000 * list.count};
  PackingPlan plan;
  RETURN_IF_ERROR(packing_solve(assigner->scratch, &problem, assigner->diag, &plan));
  for (int64_t i = 0; i < list.count; i++) {
    if (i < buffer_items)
      assignment->buffers[owners.data[i]].offset = plan.offsets[i];
    else
      assignment->scratches[owners.data[i]].offset = plan.offsets[i];
  }
  *out_placed = (PlacedTemps){plan.height, plan.lower_bound};
  return STATUS_OK;
}

static Status pack_workspace(Assigner *assigner) {
  BufferAssignment *assignment = assigner->assignment;
  assignment->workspace_bytes = assignment->lower_bound_bytes = 0;
  assignment->workspace_alignment = TEMP_ALIGNMENT;
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    BufferAllocation *allocation = &assignment->allocations[i];
    if (allocation->kind != ALLOCATION_TEMP) continue;
    PlacedTemps placed;
    RETURN_IF_ERROR(pack_allocation(assigner, i, &placed));
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
  if (assignment->scratch_bytes_per_worker > 0)
    assignment->workspace_bytes = align_up(assignment->workspace_bytes, TEMP_ALIGNMENT);
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

/* --- both ways --- */

typedef struct Placement {
  int64_t workspace_bytes, lower_bound_bytes;
  HloBuffer *buffers;
  BufferAllocation *allocations;
  BufferScratch *scratches;
  bool *is_hosted;
} Placement;

static Placement placement_of(const Assigner *assigner) {
  const BufferAssignment *assignment = assigner->assignment;
  return (Placement){
      assignment->workspace_bytes,
      assignment->lower_bound_bytes,
      ARENA_COPY_ARRAY(assigner->scratch, HloBuffer, assignment->buffers, assignment->buffer_count),
      ARENA_COPY_ARRAY(assigner->scratch, BufferAllocation, assignment->allocations, assignment->allocation_count),
      ARENA_COPY_ARRAY(assigner->scratch, BufferScratch, assignment->scratches, assignment->scratch_count),
      ARENA_COPY_ARRAY(assigner->scratch, bool, assigner->is_hosted, assignment->buffer_count)};
}

static void restore_placement(Assigner *assigner, const Placement *placement) {
  BufferAssignment *assignment = assigner->assignment;
  assignment->workspace_bytes = placement->workspace_bytes;
  assignment->lower_bound_bytes = placement->lower_bound_bytes;
  memcpy(assignment->buffers, placement->buffers, (size_t)assignment->buffer_count * sizeof(HloBuffer));
  memcpy(assignment->allocations, placement->allocations,
         (size_t)assignment->allocation_count * sizeof(BufferAllocation));
  if (assignment->scratch_count > 0)
    memcpy(assignment->scratches, placement->scratches, (size_t)assignment->scratch_count * sizeof(BufferScratch));
  memcpy(assigner->is_hosted, placement->is_hosted, (size_t)assignment->buffer_count * sizeof(bool));
}

/* Everyone back into the workspace. */
static void reset_placement(Assigner *assigner, const int32_t *allocations) {
  for (int32_t i = 0; i < assigner->assignment->buffer_count; i++) {
    assigner->assignment->buffers[i].allocation = allocations[i];
    assigner->is_hosted[i] = false;
    if (is_temporary(assigner, &assigner->assignment->buffers[i])) assigner->assignment->buffers[i].offset = 0;
  }
}

/* Guests change what is left to be packed, mostly but not always for the better: the smaller workspace wins. */
Status assigner_place_temporaries(Assigner *assigner) {
  BufferAssignment *assignment = assigner->assignment;
  int32_t *allocations = ARENA_NEW_ARRAY(assigner->scratch, int32_t, assignment->buffer_count + 1);
  for (int32_t i = 0; i < assignment->buffer_count; i++) allocations[i] = assignment->buffers[i].allocation;
  bool any_guests = host_temporaries(assigner);
  RETURN_IF_ERROR(pack_workspace(assigner));
  if (any_guests) {
    Placement with_guests = placement_of(assigner);
    reset_placement(assigner, allocations);
    RETURN_IF_ERROR(pack_workspace(assigner));
    if (with_guests.workspace_bytes <= assignment->workspace_bytes) restore_placement(assigner, &with_guests);
  }
  for (int32_t i = 0; i < assignment->buffer_count; i++) {
    HloBuffer *buffer = &assignment->buffers[i];
    if (!assigner->is_hosted[i]) continue;
    buffer->alignment = assigner->element_alignments[i];
  }
  find_peak(assigner);
  return STATUS_OK;
}
