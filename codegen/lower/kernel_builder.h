/* From instructions to Kernels. */
#ifndef XLAC_CODEGEN_LOWER_KERNEL_BUILDER_H
#define XLAC_CODEGEN_LOWER_KERNEL_BUILDER_H

#include "codegen/kernel/kernel.h"

/* What a target wants of Kernels; all zeros: what code on a processor does. */
typedef struct KernelTarget {
  bool has_scalar_floats;
  int64_t row_bytes;     /* rows of a value that several stages need are kept between them up to here, whatever it
                            costs to compute; 0, or longer ones: only where it costs a root or a function */
  bool has_slow_doubles; /* c64 is not computed in f64 where its own parts do as well */
  bool joins_parts;      /* both parts of a complex contraction in one Kernel; else one each, of real numbers */
  bool moves_bits;       /* what is only moved may be integers: lowering_moved_type */
  bool folds_positions;  /* integers that follow from indices stay functions of these: lowering_position */
  bool keeps_axes;       /* what stages keep for one another all of them walk along the same dims: it has a Tensor */
} KernelTarget;

typedef struct KernelList {
  int32_t count;
  const Kernel *const *kernels; /* to be run in this order */
} KernelList;

/* The Kernels of one instruction (a fusion or a single operation with arrays): mostly one, two where a result must be
 * filled before it is scattered into, none when all results are empty.  Iteration dims are refined until the fusion's
 * reshapes need no division in lanes, and neighbouring dims that every address walks as one are merged.
 * STATUS_UNSUPPORTED, located, for what has no rule yet. */
MUST_USE Status kernel_build(Arena *arena, const HloInstruction *instruction, DiagSink *diag, KernelList *out_kernels);
MUST_USE Status kernel_build_for(Arena *arena, const HloInstruction *instruction, const KernelTarget *target,
                                 DiagSink *diag, KernelList *out_kernels);

/* Scalar computation |region|, applied by |source|, as a Kernel of one point: operand i is its parameter i, the one
 * stage stores its result. */
MUST_USE Status kernel_build_region(Arena *arena, const HloComputation *region, const HloInstruction *source,
                                    DiagSink *diag, const Kernel **out_kernel);

#endif
