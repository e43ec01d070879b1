/* RunCandidates: which arrays might stay in the Buffer, from which Kernel to which, and what that saves.
 *
 * A *stretch* of bytes goes from one touch of them to a later one, with nothing between that touches them otherwise or
 * ends the run.  A loop is one step of a stretch where the bytes are a leaf of its state: then they are there all
 * through its iterations, and before and after it as well where that goes on.  In a loop whose state they are not, a
 * stretch is within one iteration. */
#ifndef XLAC_CODEGEN_ONCORE_RUN_RUN_CANDIDATES_H
#define XLAC_CODEGEN_ONCORE_RUN_RUN_CANDIDATES_H

#include "codegen/oncore/run/run_touches.h"

/* Bytes that might stay from event |first| to event |last|. */
typedef struct RunCandidate {
  RunTouch bytes; /* one of their touches */
  int32_t first, last;
  int32_t context;    /* the innermost opened loop within one iteration of which it is, -1: none */
  int32_t entry;      /* the opened loop before which they are loaded, -1: none */
  bool is_found;      /* memory has them before */
  bool is_shared;     /* somebody reads them from memory within a loop, where every change has to be as well */
  int32_t last_apart; /* the last event that has to find some of them in memory, -1: none */
  double saved;       /* cycles of transfers in a run of the module */
  int64_t held;       /* bytes of them that stay: all, or by the choice the first ones (run_candidate_may_part) */
  bool is_given_up;   /* what follows is the choice's: it has turned out to save nothing */
  bool is_taken;
  int64_t begin; /* in the Buffer */
} RunCandidate;

typedef struct RunCandidates {
  Arena *arena;
  const PlacedModule *placed;
  const ResidencyModel *model;
  const double *times; /* by computation id: it runs in one run of the module */
  const RunTouches *touches;
  ARRAY(RunCandidate) all; /* those of one slice side by side, by their beginnings; they may overlap */
  const int32_t *begins;   /* by slice, and after the last: its first candidate */
} RunCandidates;

/* Of what |candidates| names, which is not changed while they are used: candidates that save anything.  Where a stretch
 * has loops in it, its parts are candidates as well. */
void run_candidates_find(RunCandidates *candidates);

/* Whether |loop| is a step of |candidate|: it is there all through that, and begins or ends further out in none. */
bool run_candidate_joins(const RunCandidates *candidates, const RunCandidate *candidate, int32_t loop);

/* Whether the first of its bytes may stay without the rest: nobody changes them. */
bool run_candidate_may_part(const RunCandidates *candidates, const RunCandidate *candidate);

/* Whether |touch| is of its bytes, as they stay; not where the Kernel that makes them reads what was there before. */
bool run_candidate_has(const RunCandidate *candidate, const RunTouch *touch);

/* Whether memory can do without what the Kernel of |touch| writes while |candidate| stays. */
bool run_candidate_is_alone(const RunCandidates *candidates, const RunCandidate *candidate, const RunTouch *touch);

/* Whether |candidate| has to be stored after |loop|, which it joins. */
bool run_candidate_is_stored(const RunCandidates *candidates, const RunCandidate *candidate, int32_t loop);

/* The leaf of |loop|'s state that |bytes| are, -1: none. */
int run_candidates_leaf(const RunCandidates *candidates, int32_t loop, const RunTouch *bytes);

#endif
