/* What tests share that break good plans: which buffers must not share bytes, whatever else holds, and how to make
 * them. */
#ifndef XLAC_HLO_ANALYSIS_PLAN_MUTANTS_TESTING_H
#define XLAC_HLO_ANALYSIS_PLAN_MUTANTS_TESTING_H

#include "hlo/analysis/buffer_assignment.h"

static inline bool is_placed_freely(const BufferAssignment *assignment, const HloBuffer *buffer) {
  return buffer->size > 0 && assignment->allocations[buffer->allocation].kind == ALLOCATION_TEMP;
}

/* Both hold something at a position where neither begins or ends: whatever is read or written there, one of them is
 * lost if they share bytes. */
static inline bool are_alive_together(const BufferAssignment *assignment, const HloBuffer *a, const HloBuffer *b) {
  for (int32_t i = 0; i < a->value_count; i++) {
    for (int32_t k = 0; k < b->value_count; k++) {
      const HloValue *first = &assignment->values[a->values[i]], *second = &assignment->values[b->values[k]];
      if (first->range_count != 1 || second->range_count != 1) continue; /* branches: either may run */
      if (first->use_count == 0 || second->use_count == 0) continue;     /* never read, so nothing is lost */
      if (second->live_from < first->live_from) {
        const HloValue *swap = first;
        first = second;
        second = swap;
      }
      if (first->live_from < second->live_from && second->live_from < first->live_to) return true;
    }
  }
  return false;
}

/* |b| where |a| is, in a temporary allocation that has room for it. */
static inline void place_over(HloBuffer *b, const HloBuffer *a) {
  b->allocation = a->allocation;
  b->offset = a->offset;
  b->alignment = 1;
}

/* |b| where its last byte is the first one of |a|, or (|at_end|) its first one is the last one of |a|; false when the
 * allocation has no room there. */
static inline bool place_at_edge(const BufferAssignment *assignment, HloBuffer *b, const HloBuffer *a, bool at_end) {
  int64_t offset = at_end ? a->offset + a->size - 1 : a->offset - b->size + 1;
  if (offset < 0 || offset + b->size > assignment->allocations[a->allocation].size) return false;
  place_over(b, a);
  b->offset = offset;
  return true;
}

#endif
