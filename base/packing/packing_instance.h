/* What a problem is to the search: items alive in sections.
 *
 * Everything that lifetimes can be - gaps, groups, slots of rings - becomes one thing here: an Item is what gets one
 * offset, and it has Spans, ranges of Sections with the bytes it takes there.  A Section is a set of Items that are
 * alive together; only maximal sets are kept, in order of time. */
#ifndef XLAC_BASE_PACKING_PACKING_INSTANCE_H
#define XLAC_BASE_PACKING_PACKING_INSTANCE_H

#include "base/packing/packing.h"

/* A part of a slot's lifetime on one clock: |zone| 0 before the loop, 1 in its steady state, 2 after it. */
typedef struct PackingMoment {
  int32_t zone;
  int64_t time;
} PackingMoment;

typedef struct PackingPiece {
  int64_t slot;
  PackingMoment lower, upper;
} PackingPiece;

typedef struct PackingPieces {
  PackingPiece *data; /* by slot, then by time */
  int64_t count;
  int64_t slot_count;
  int64_t *buffer_of_slot;
} PackingPieces;

/* The lifetimes of all slots whose size is not 0; slots of one buffer follow one another.  STATUS_INVALID for a problem
 * that is not as its type says. */
MUST_USE Status packing_pieces(Arena *arena, const PackingProblem *problem, DiagSink *diag, PackingPieces *out_pieces);

/* Below, at or above 0 as |a| is before, at or after |b|. */
int packing_compare_moment(PackingMoment a, PackingMoment b);

typedef struct Span {
  int32_t lower, upper; /* sections, lower < upper */
  int64_t size;         /* bytes taken there; > 0 */
} Span;

typedef struct Item {
  const Span *spans; /* by time, apart */
  int32_t span_count;
  int32_t lower, upper; /* from its first to its last section */
  int64_t size;         /* the largest of its spans */
  int64_t alignment;    /* the least common multiple of its slots' */
  int64_t pin;          /* -1: none */
  uint64_t regions;     /* the common ones of its slots; never 0 */
  int64_t first_slot;   /* the least of its slots */
  double duration;      /* how long it is alive, by the problem's clock */
} Item;

typedef struct Instance {
  Item *items; /* by first_slot */
  int32_t item_count;
  int32_t section_count;
  int64_t slot_count;
  int32_t *item_of_slot; /* -1: of size 0 */
} Instance;

/* In |arena|.  Errors are those of packing_pieces, and STATUS_INVALID ("packing-count") for too many lifetimes. */
MUST_USE Status instance_build(Arena *arena, const PackingProblem *problem, DiagSink *diag, Instance *out_instance);

/* Bytes of |item| that are alive in section |t|. */
int64_t item_alive_bytes(const Item *item, int32_t t);

/* The bytes that |a| takes at its offset where |b| is alive as well; 0: they do not meet. */
int64_t item_size_at(const Item *a, const Item *b);

#endif
