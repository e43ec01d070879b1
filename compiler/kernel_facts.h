/* KernelFacts: what a report says of a compilation's Kernels. */
#ifndef XLAC_COMPILER_KERNEL_FACTS_H
#define XLAC_COMPILER_KERNEL_FACTS_H

#include "compiler/compilation.h"

/* One use of a Kernel by an instruction. */
typedef struct KernelFact {
  const HloInstruction *instruction;
  int32_t identity; /* equal Kernels have the same */
  StringView loops; /* extents of all dimensions, outer ones first, those of stages in brackets: "64 8 [32]" */
  int32_t stages;   /* of a Kernel of tiles: its parts */
  int64_t bytes_read, bytes_written; /* sizes of the arrays that it is bound to */
  int64_t scratch_bytes;             /* of the workspace, while the instruction runs; of all its Kernels */
  bool by_minimal_filtering;         /* on some of the processors that code is for (codegen/blocks/winograd.h) */
} KernelFact;

typedef ARRAY(KernelFact) KernelFacts;

/* In order of computations and schedules; none before Kernels are made.  In |arena|. */
KernelFacts kernel_facts(const Compilation *compilation, Arena *arena);

#endif
