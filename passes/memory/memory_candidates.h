/* MemoryCandidate: a step that may lower the peak of a module's memory, chosen from what is alive there. */
#ifndef XLAC_PASSES_MEMORY_MEMORY_CANDIDATES_H
#define XLAC_PASSES_MEMORY_MEMORY_CANDIDATES_H

#include "passes/memory/memory_trial.h"
#include "passes/memory/split.h"

typedef struct MemoryCandidate {
  MemoryStepKind kind;
  int32_t value;         /* REMATERIALISE: the id of the value's instruction */
  bool is_deep;          /* REMATERIALISE: folds may be computed again (rematerialise.h) */
  const HloSplit *split; /* SPLIT, of the original */
  int64_t parts;         /* SPLIT */
  double hope;           /* bytes that it may take from the peak; only an order */
  uint64_t likeness;     /* the same for the same step in another layer of a model; never 0 */
} MemoryCandidate;

typedef ARRAY(MemoryCandidate) MemoryCandidateArray;

/* Those of |module| with the plan |trial|, the most hopeful first; |wanted|: bytes that are too many.  In |arena|. */
MemoryCandidateArray memory_candidates_find(const HloModule *module, const MemoryTrial *trial, int64_t wanted,
                                            HloSplitScope scope, Arena *arena);

/* Does |candidate|, which was found for an original with the plan |trial|, to |copy|; the original itself is a copy as
 * well (memory_copy_of_itself).  False when there was nothing to do. */
bool memory_candidate_apply(const MemoryCandidate *candidate, const MemoryTrial *trial, MemoryCopy *copy,
                            Arena *scratch);

/* For people: names of what is changed in |module|. */
StringView memory_candidate_text(const MemoryCandidate *candidate, const MemoryCopy *module, Arena *arena);

#endif
