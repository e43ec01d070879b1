/* MemoryReduction: what was done to a module for less memory, what each step bought and what it costs; made by
 * passes/memory, told by the reports. */
#ifndef XLAC_PASSES_PIPELINE_MEMORY_REDUCTION_H
#define XLAC_PASSES_PIPELINE_MEMORY_REDUCTION_H

#include "base/array.h"
#include "base/string_view.h"

typedef enum MemoryStepKind {
  MEMORY_STEP_REORDER,       /* a longer search for the order of instructions */
  MEMORY_STEP_REMATERIALISE, /* a value is computed again where it is read late, instead of being kept */
  MEMORY_STEP_SPLIT,         /* what makes and reads large values runs part by part */
  MEMORY_STEP_SCRATCH,       /* Kernels that need much scratch get by with less, at the cost of time */
  MEMORY_STEP_KIND_COUNT
} MemoryStepKind;

typedef struct MemoryStep {
  MemoryStepKind kind;
  StringView what; /* for people: names of instructions; empty for an order */
  int64_t bytes;   /* that arguments, results, temporaries and scratch need less after it; may be 0 where several
                      places need most, and this is one of them */
  double flops;    /* operations more than without it; negative: fewer */
  double seconds;  /* estimated time more (hlo/analysis/module_work.h) */
} MemoryStep;

typedef struct MemoryReduction {
  int64_t bytes_before, bytes_after; /* arguments, results, temporaries and scratch */
  int64_t bound_bytes;               /* no order of the result's instructions needs fewer under its schedule */
  int64_t trials;                    /* modules that were planned to find the steps */
  bool is_exhausted;                 /* it ended because the effort did */
  ARRAY(MemoryStep) steps;           /* in the order in which they were taken */
} MemoryReduction;

/* "rematerialise" and so on. */
const char *memory_step_kind_text(MemoryStepKind kind);

#endif
