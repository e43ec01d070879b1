#include "passes/memory/memory_candidates.h"

#include "base/checked_math.h"
#include "base/hash_map.h"
#include "passes/memory/rematerialise.h"

/* Values that are smaller than such a part of the peak are not worth a trial. */
enum { SMALLEST_PART = 64 };

enum { MOST_SPLITS = 16, PARTS_TRIED = 3, PARTS_STEP = 2 };

/* --- finding --- */

static void add(MemoryCandidateArray *list, Arena *arena, MemoryCandidate candidate) {
  for (int64_t i = 0; i < list->count && candidate.kind == MEMORY_STEP_REMATERIALISE; i++) {
    const MemoryCandidate *other = &list->data[i];
    if (other->kind == candidate.kind && other->value == candidate.value && other->is_deep == candidate.is_deep) return;
  }
  array_push(list, arena, candidate);
}

static uint64_t likeness_of(const MemoryCandidate *candidate, const HloInstruction *origin) {
  uint64_t hash = hash_combine((uint64_t)candidate->kind * 2 + candidate->is_deep, (uint64_t)candidate->parts);
  if (origin != NULL) hash = hash_combine(hash_combine(hash, origin->opcode), shape_hash(origin->shape));
  for (int64_t i = 0; candidate->split != NULL && i < candidate->split->member_count; i++) {
    const HloSplitMember *member = &candidate->split->members[i];
    hash = hash_combine(hash, hash_combine(member->instruction->opcode, shape_hash(member->instruction->shape)));
    hash = hash_combine(hash, (uint64_t)member->dimension);
  }
  return hash != 0 ? hash : 1;
}

static bool has_late_reader(const HloInstruction *value, const MemoryTrial *trial) {
  for (int32_t u = 0; u < value->user_count; u++) {
    if (trial->times.last[value->users[u]->id] > trial->peak) return true;
  }
  return false;
}

/* What stays over the peak, and is read by something else than what needs most. */
static void find_values(MemoryCandidateArray *list, const MemoryTrial *trial, Arena *arena) {
  for (int64_t i = 0; i < trial->values.count; i++) {
    const PeakValue *value = &trial->values.data[i];
    if (value->is_scratch || value->bytes < trial->workspace_bytes / SMALLEST_PART) continue;
    if (!has_late_reader(value->origin, trial)) continue;
    double hope = (double)value->bytes * (value->is_read_there ? 0.25 : 1);
    MemoryCandidate candidate = {.kind = MEMORY_STEP_REMATERIALISE, .value = value->origin->id, .hope = hope};
    candidate.likeness = likeness_of(&candidate, value->origin);
    add(list, arena, candidate);
    candidate.is_deep = true;
    candidate.likeness = likeness_of(&candidate, value->origin);
    candidate.hope *= 0.5;
    add(list, arena, candidate);
  }
}

/* The fewest parts that save |wanted|, or nearly all that can be saved; twice and four times as many, since values and
 * scratch that the estimate does not know shrink as well. */
static void add_parts(MemoryCandidateArray *list, const HloSplit *split, int64_t wanted, Arena *arena) {
  int64_t most = hlo_split_bytes_saved(split, split->units), parts = 2;
  int64_t enough = min_i64(wanted, most - most / 8);
  while (parts * 2 <= split->units && hlo_split_bytes_saved(split, parts) < enough) parts *= 2;
  for (int64_t p = parts; p < 2 * parts && p <= split->units; p++) {
    if (split->units % p != 0) continue;
    parts = p;
    break;
  }
  for (int i = 0; i < PARTS_TRIED && parts <= split->units; i++, parts *= PARTS_STEP) {
    MemoryCandidate candidate = {.kind = MEMORY_STEP_SPLIT, .value = -1, .split = split, .parts = parts};
    candidate.hope = (double)min_i64(hlo_split_bytes_saved(split, parts), max_i64(wanted, 1)) / (i + 1);
    candidate.likeness = likeness_of(&candidate, NULL);
    add(list, arena, candidate);
  }
}

static void find_splits(MemoryCandidateArray *list, const HloModule *module, const MemoryTrial *trial, int64_t wanted,
                        HloSplitScope scope, Arena *arena) {
  const HloInstruction **large = ARENA_NEW_ARRAY(arena, const HloInstruction *, trial->values.count + 1);
  int64_t count = 0;
  for (int64_t i = 0; i < trial->values.count; i++) {
    const PeakValue *value = &trial->values.data[i];
    bool is_large = value->is_scratch || value->bytes >= trial->workspace_bytes / SMALLEST_PART;
    for (int64_t k = 0; k < count && is_large; k++) is_large = large[k] != value->origin;
    if (is_large) large[count++] = value->origin;
  }
  HloSplitArray splits = hlo_find_splits(module, large, count, scope, arena);
  for (int64_t i = 0; i < splits.count && i < MOST_SPLITS; i++) add_parts(list, &splits.data[i], wanted, arena);
}

/* Equal ones in the order in which they were found, that of the peak's values. */
static void sort_by_hope(MemoryCandidateArray *list) {
  for (int64_t i = 1; i < list->count; i++) {
    MemoryCandidate candidate = list->data[i];
    int64_t at = i;
    for (; at > 0 && list->data[at - 1].hope < candidate.hope; at--) list->data[at] = list->data[at - 1];
    list->data[at] = candidate;
  }
}

MemoryCandidateArray memory_candidates_find(const HloModule *module, const MemoryTrial *trial, int64_t wanted,
                                            HloSplitScope scope, Arena *arena) {
  MemoryCandidateArray list = {0};
  find_values(&list, trial, arena);
  find_splits(&list, module, trial, wanted, scope, arena);
  sort_by_hope(&list);
  return list;
}

/* --- making --- */

static int64_t *times_by_copies(const int64_t *times, const MemoryCopy *copy, int64_t count, Arena *scratch) {
  int64_t *result = ARENA_NEW_ARRAY(scratch, int64_t, count + 1);
  for (int64_t id = 0; id < count; id++) result[id] = -1;
  for (int64_t id = 0; id < copy->id_count; id++) {
    if (copy->by_id[id] != NULL) result[copy->by_id[id]->id] = times[id];
  }
  return result;
}

static bool apply_rematerialisation(const MemoryCandidate *candidate, const MemoryTrial *trial, MemoryCopy *copy,
                                    Arena *scratch) {
  int64_t count = copy->module->next_instruction_id;
  PlannedTimes times = {.count = count,
                        .first = times_by_copies(trial->times.first, copy, count, scratch),
                        .last = times_by_copies(trial->times.last, copy, count, scratch),
                        .kept_to = times_by_copies(trial->times.kept_to, copy, count, scratch)};
  Rematerialisation remat = {
      .value = copy->by_id[candidate->value], .peak = trial->peak, .times = &times, .is_deep = candidate->is_deep};
  return rematerialise(&remat);
}

bool memory_candidate_apply(const MemoryCandidate *candidate, const MemoryTrial *trial, MemoryCopy *copy,
                            Arena *scratch) {
  if (candidate->kind == MEMORY_STEP_REMATERIALISE) return apply_rematerialisation(candidate, trial, copy, scratch);
  HloSplit split = hlo_split_in_copy(candidate->split, copy->by_id, scratch);
  hlo_apply_split(copy->module, &split, candidate->parts, scratch);
  return true;
}

static StringView split_text(const HloSplit *split, int64_t parts, Arena *arena) {
  const HloInstruction *last = split->members[split->member_count - 1].instruction;
  return sv_printf(arena, "%lld operations, from %.*s to %.*s, in %lld parts", (long long)split->member_count,
                   SV_ARG(split->members[0].instruction->name), SV_ARG(last->name), (long long)parts);
}

StringView memory_candidate_text(const MemoryCandidate *candidate, const MemoryCopy *module, Arena *arena) {
  if (candidate->kind == MEMORY_STEP_SPLIT) return split_text(candidate->split, candidate->parts, arena);
  return sv_copy(arena, module->by_id[candidate->value]->name);
}
