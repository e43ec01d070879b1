/* HloLiveness: when each value's bytes must hold it, on the flattened schedule (after XLA's HloLiveRange).
 *
 * Times are in quarters of a schedule position: an instruction at position t reads and writes at 4t, what a computation
 * takes in is there from 4·start - 2, what it returns is read at 4·end + 1, initial values of loops and selectors are
 * handed over at 4·start - 3 of what they enter, and what a loop uses from outside lives until 4t - 1 of the while.  So
 * two ranges meet at one moment only where an instruction reads the one and writes the other. */
#ifndef XLAC_HLO_ANALYSIS_HLO_LIVENESS_H
#define XLAC_HLO_ANALYSIS_HLO_LIVENESS_H

#include "hlo/analysis/hlo_ordering.h"

typedef struct LiveRange {
  int64_t from, to; /* both inclusive, in quarters of a position */
} LiveRange;

/* Branches of a conditional exclude each other: a value that is read in several and not after them is alive in each to
 * its last read there, and again from the beginning of the next that reads it.  So a value has one or more ranges,
 * ascending; only the first begins with a write. */
typedef struct HloLiveness {
  const LiveRange *hulls;      /* by value: from the first moment to the last */
  const int32_t *first_ranges; /* by value, and one more: its ranges are [first_ranges[v], first_ranges[v + 1]) */
  int32_t range_count;
  const LiveRange *ranges;
  const int32_t *values; /* by range */
} HloLiveness;

/* Why a value must be there at some moment after it is made. */
typedef enum LiveNeedKind {
  LIVE_NEED_USE,    /* |user| reads it, as leaf |node| of operand |operand| */
  LIVE_NEED_ENTERS, /* likewise, and loop or conditional |user| takes it over as its state or selector: so it need only
                       last until that begins */
  LIVE_NEED_RETURNED,  /* it is at node |node| of root |user|, and the caller takes it from there */
  LIVE_NEED_CONDITION, /* it is state of loop |user| in its condition, which goes on to the body, or out of the loop */
  LIVE_NEED_ASYNC      /* it is made by asynchronous code, which ends with |user| at the latest */
} LiveNeedKind;

typedef struct LiveNeed {
  LiveNeedKind kind;
  const HloInstruction *user;
  int32_t operand, node;
  const HloInstruction *loop; /* the outermost loop that may come back to this while the value lasts, so that it is
                                 needed to the end of the loop; NULL for none */
  int64_t time;               /* the moment, in quarters of a position */
} LiveNeed;

typedef struct LiveNeeds {
  int32_t count;
  const LiveNeed *needs;
} LiveNeeds;

/* By value of |dataflow|, in |arena|. */
const HloLiveness *hlo_liveness_build(Arena *arena, const HloDataflow *dataflow, const HloOrdering *ordering);

/* All moments at which |value| must be there, ascending: what hlo_liveness_build makes its ranges of.  In |arena|. */
LiveNeeds hlo_liveness_needs(Arena *arena, const HloDataflow *dataflow, const HloOrdering *ordering, int32_t value);

/* The instruction that ends what async-start |start| began: the last of the chain of updates. */
const HloInstruction *hlo_liveness_async_end(const HloInstruction *start);

/* Whether one of the value's ranges ends at |time|. */
bool hlo_liveness_ends_at(const HloLiveness *liveness, int32_t value, int64_t time);

/* Whole positions of the schedule, inclusive: the first and last instruction during which the value is there. */
int64_t hlo_liveness_first_position(LiveRange range, int64_t length);
int64_t hlo_liveness_last_position(LiveRange range, int64_t length);
/* The instruction after which the bytes are free; -1 when they are handed on instead. */
int64_t hlo_liveness_dead_after(LiveRange range, int64_t length);

#endif
