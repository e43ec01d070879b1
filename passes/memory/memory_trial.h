/* MemoryTrial: what the rest of the pipeline makes of a module, tried on a copy: bytes, when each instruction runs,
 * what is alive where most is.
 *
 * Instructions of the copy are told from one another by their place in the source, which passes hand on to whatever
 * they make of an instruction (HloInstruction.loc): in a copy it is the id of the original. */
#ifndef XLAC_PASSES_MEMORY_MEMORY_TRIAL_H
#define XLAC_PASSES_MEMORY_MEMORY_TRIAL_H

#include "hlo/analysis/module_work.h"
#include "passes/pipeline/hlo_pass_pipeline.h"

/* Positions of a plan's flattened schedule, by id of an instruction of the module that was planned. */
typedef struct PlannedTimes {
  int64_t count;         /* ids; later ones are as if never run */
  int64_t *first, *last; /* where it, or a part that a fusion computes, runs; -1: nowhere */
  int64_t *kept_to;      /* the last position where its value is in memory; -1: it never is */
} PlannedTimes;

typedef struct PeakValue {
  HloInstruction *origin; /* in the module that was tried */
  int64_t bytes;
  bool is_scratch;    /* what its code needs, or an array that it makes there and then */
  bool is_read_there; /* by what runs at the peak */
} PeakValue;

typedef ARRAY(PeakValue) PeakValueArray;

typedef struct MemoryTrial {
  Status status;                        /* other than STATUS_OK: nothing of what follows is known */
  int64_t total_bytes;                  /* arguments, results, temporaries and scratch */
  int64_t workspace_bytes, bound_bytes; /* bound: of the total */
  double over; /* what is alive above the goal, cubed and summed over the schedule: the higher a place, the more it
                  counts */
  ModuleWork work;
  int64_t peak, last_peak; /* the first and the last position where most is alive */
  PlannedTimes times;
  PeakValueArray values, last_values; /* temporaries alive at either, the largest first */
} MemoryTrial;

/* A copy of |module| on which something is tried. */
typedef struct MemoryCopy {
  HloModule *module;
  HloInstruction **by_id; /* the copies, by ids of the originals */
  int64_t id_count;
} MemoryCopy;

MemoryCopy memory_copy(const HloModule *module, Arena *arena);
/* |module| in the role of its copy: what is done to it is done. */
MemoryCopy memory_copy_of_itself(HloModule *module, Arena *arena);

/* What trials of a module have in common. */
typedef struct MemoryTrialOptions {
  const HloPassContext *context; /* the pipeline's options, but for what they ask of memory */
  const HloModule *original;     /* what copies are of */
  const HloMemoryTuning *tuning;
  int64_t goal; /* the total that is wanted */
} MemoryTrialOptions;

/* Plans |copy|, which is used up.  |out_trial| lives in |arena|; without |detail| times and values are left out. */
void memory_trial_run(const MemoryTrialOptions *options, MemoryCopy *copy, bool detail, Arena *arena,
                      MemoryTrial *out_trial);

#endif
