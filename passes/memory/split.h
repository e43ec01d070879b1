/* HloSplit: data splitting.  A group of operations around large values is computed part by part along a dimension that
 * they have in common, in a `while` over slices: what stays inside the group is never there as a whole.
 *
 *   exp = f32[4096,65536] exponential(x)         state = (i, f32[4096] sums, x) while: 64 times
 *   sums = f32[4096] reduce(exp, zero)             part = f32[64,65536] dynamic-slice(x, 64 i, 0)
 *                                         ->       sums' = dynamic-update-slice(sums, reduce(exponential(part)), 64 i)
 *
 * For modules before fusion, with default layouts: what has another layout, dynamic dimensions, control predecessors or
 * side effects stays as it is.  Nothing is computed twice, but where parts of equal size overlap, under windows, and
 * what HLO_SPLIT_AGAIN allows. */
#ifndef XLAC_PASSES_MEMORY_SPLIT_H
#define XLAC_PASSES_MEMORY_SPLIT_H

#include "hlo/ir/hlo_module.h"
#include "passes/memory/split_reads.h"

typedef struct SplitLoop SplitLoop;

/* An operation that is computed part by part.  Part i of its result (of each leaf) is elements
 * [i * p * scale - before, (i + 1) * p * scale + after) along |dimension|, where p is the number of units in a part:
 * more than its own where windows of other members reach into those of its neighbours. */
typedef struct HloSplitMember {
  HloInstruction *instruction;
  int dimension; /* HLO_SPLIT_FOLDED: the result is whole, each part adds to it by |fold| */
  int64_t scale; /* elements in a unit */
  int64_t before, after;
  bool is_remade; /* a view or a repetition of what is outside, or made again: others go on reading the one there is */
  HloOpcode fold;
  const SplitRead *reads; /* of each operand */
  const SplitLoop
      *loop; /* of a `while`, and of the tuple that its state begins as: how the leaves are cut; else NULL */
} HloSplitMember;

enum { HLO_SPLIT_FOLDED = -1 };

static inline bool split_is_folded(const HloSplitMember *member) {
  return member->dimension == HLO_SPLIT_FOLDED;
}

/* Elements beyond its part that |member| reads of an operand that it does not read whole. */
typedef struct SplitRange {
  int64_t before, after;
} SplitRange;

/* Of its operand number |operand|. */
SplitRange hlo_split_range(const HloSplitMember *member, int operand);

/* What a loop reads in the place of |operand|, which is made outside of it: an argument of which it is a conversion,
 * that each part makes for itself on its way, so that weights need not be there twice; else |operand|. */
HloInstruction *hlo_split_source(HloInstruction *operand);

typedef struct HloSplit {
  HloComputation *computation;
  const HloSplitMember *members; /* operands before users */
  int64_t member_count;
  int64_t units;       /* the most parts there can be */
  int64_t bytes_gone;  /* of values among |large| that are inside: a part of each is left */
  int64_t bytes_added; /* of values read or made by the loop that were not among |large| and are neither parameters nor
                          results: they are alive while it runs */
} HloSplit;

typedef ARRAY(HloSplit) HloSplitArray;

/* What |split| in |parts| is expected to take from the bytes alive where all of |large| are; may be negative. */
int64_t hlo_split_bytes_saved(const HloSplit *split, int64_t parts);

/* Which ways to split are wanted. */
typedef enum HloSplitScope {
  HLO_SPLIT_SAVING, /* each saves something when cut as finely as it goes, by the estimate */
  HLO_SPLIT_ALL,    /* with those that save nothing by the estimate, which knows nothing of what code needs beside the
                       values, and with folds of any size */
  HLO_SPLIT_AGAIN   /* as ALL; and what a group needs of values that are there before it because something else that it
                       needs is made of them (a sum of them all, by which they are divided), each part makes again,
                       so that these need not be there as a whole: another split may make their sum */
} HloSplitScope;

/* The ways to split what makes and reads the |count| values |large|, those alive where memory is used most, the best
 * first.  |large| may be of any computations of |module| that run as
 * sequences, bodies of loops included; what is no candidate among them is ignored.  The result lives in |arena|, and
 * holds until |module| changes.  Deterministic: the order depends on the module and the order of |large| alone. */
HloSplitArray hlo_find_splits(const HloModule *module, const HloInstruction *const *large, int64_t count,
                              HloSplitScope scope, Arena *arena);

/* |split| as one of a copy of its module; |by_id|: the copies of instructions, by the ids of the originals. */
HloSplit hlo_split_in_copy(const HloSplit *split, HloInstruction *const *by_id, Arena *arena);

/* Rewrites the group of |split|, which was found in |module| as it is now, into a loop of at least |parts| parts (more
 * where parts of one size take more, at most split->units; at least 2).  A rest is computed after the loop, or with the
 * last part, which then begins earlier.  Removes what is dead afterwards in the computation; a schedule is one no more,
 * other splits that were found are void. */
void hlo_apply_split(HloModule *module, const HloSplit *split, int64_t parts, Arena *scratch);

#endif
