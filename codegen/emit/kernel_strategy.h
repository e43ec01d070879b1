/* KernelStrategy: how the code of a Kernel is made on a kind of processor, decided before a line of code is written,
 * from the Kernel and the target alone.  So equal Kernels give equal code, and what a Kernel's code needs (scratch) is
 * known to those who blocking memory without any code. */
#ifndef XLAC_CODEGEN_EMIT_KERNEL_STRATEGY_H
#define XLAC_CODEGEN_EMIT_KERNEL_STRATEGY_H

#include "codegen/blocks/contraction.h"
#include "codegen/blocks/winograd.h"
#include "codegen/kernel/kernel.h"
#include "codegen/target/vec_target.h"

#define MAX_STREAMS 4
#define FOLD_MOST_CHAINS 4
#define MAX_RANGES 8
#define MAX_PARTS (2 * MAX_RANGES)

/* A stretch of the vector dimension walked with one number of lanes. */
typedef struct VectorPart {
  int64_t begin, end; /* of the dimension; (end - begin) is a multiple of |lanes|, or one masked step */
  int lanes;
  int64_t masked; /* 0: all lanes; else only the first |masked| of the single step */
} VectorPart;

/* The dimension of one nest that is walked in lanes. */
typedef struct VectorWalk {
  int dim; /* -1: none, scalars only */
  int part_count;
  bool is_cut;      /* where conditions on the index begin or end to hold: within a part they are known */
  int stream_count; /* the first so many parts, of one length, are walked together: memory is read in as many places */
  int64_t ahead;    /* bytes: memory so much further on than what is read is asked for; 0: none is */
  int ahead_dim;    /* what is read at the next index of this outer dim is asked for; -1: nothing is */
  VectorPart parts[MAX_PARTS];
} VectorWalk;

/* Folds over the rows of a matrix, a column in each lane: some rows at a time, with the accumulators of a tile of
 * columns in memory, in the first-level cache.  So each row is read in order. */
#define SWEEP_MOST_FOLDS 2
typedef struct SweepStrategy {
  int dim;              /* the rows; -1: not this way */
  int64_t tile_columns; /* of the outer walk */
  /* Of each fold: the accumulators lie where this store writes in the end; NULL: in the Kernel's scratch, from the byte
   * of |places| on. */
  const KernelStore *results[SWEEP_MOST_FOLDS];
  int64_t places[SWEEP_MOST_FOLDS];
  int64_t bytes; /* in the scratch, of all */
} SweepStrategy;

/* Points of the innermost dim, which must come one after the other, |points| at a time: what does not depend on what
 * they store is computed in lanes. */
typedef struct RunStrategy {
  int dim; /* -1: none */
  int points;
  int kept_count; /* values that are computed in lanes and read point by point */
  const int32_t *kept;
} RunStrategy;

/* Rows of the scratch that lie apart from those of buffer |buffer| modulo |period| bytes: a load waits for earlier
 * stores that have not reached the caches where the low 12 bits of both addresses are the same.  The scratch has so
 * much more than the rows take that code can move them where it finds them near each other. */
typedef struct RowsApart {
  int64_t period; /* a power of two; 0: they lie where they are put */
  int32_t buffer;
} RowsApart;

static inline int64_t rows_apart_bytes(const RowsApart *apart) {
  return apart->period / 8 * 3;
}

/* Places [begin, end) of a TapStrategy, |places| at a time. */
typedef struct TapPart {
  int64_t begin, end; /* one step: code without a loop, in which every condition on the place is known */
  int places;
} TapPart;

/* Folds of a few steps under an outer walk, the taps of a depthwise convolution for example: results at neighbouring
 * places are folded side by side. */
#define TAP_MOST_PARTS 4
typedef struct TapStrategy {
  int dim;                      /* the places, an outer dim: the last one beside that of the walk; -1: not this way */
  int tap;                      /* the innermost dim of the stage that folds */
  int64_t place_step, tap_step; /* what is read depends on place_step · place + tap_step · tap, both positive, */
  const bool *shared;           /* by value: whether that is all that it depends on of these two dims */
  int part_count;
  TapPart parts[TAP_MOST_PARTS];
} TapStrategy;

/* How the loops of a Kernel are walked: either an outer dim in lanes, or an inner dim of each stage that has one. */
typedef struct LoopStrategy {
  VectorWalk outer_walk;
  VectorWalk *stage_walks;                 /* by stage */
  int outer_count, outer[KERNEL_MAX_DIMS]; /* loop order; an outer vector dim is last */
  SweepStrategy sweep;                     /* of the main part of the outer walk */
  TapStrategy taps;                        /* of the loop around the outer walk */
  int64_t fold_strips[KERNEL_MAX_DIMS];    /* by inner dim: sums begin anew every so many indices; 0: they do not */
  int fold_chains;  /* of folds under an outer walk: sums side by side, of every so-manyeth index; a power of two */
  RunStrategy runs; /* of the last outer dim, where there is no outer walk */
  int behind; /* in the loops of this stage the last one runs, a point of the outer dims behind; -1: it has its own */
  bool early; /* and the first one, a point early */
  RowsApart apart; /* of a Kernel whose last stage runs behind */
  double cost;     /* of a point of the outer dims, in vector operations */
} LoopStrategy;

/* A Kernel that stores along one dim and loads along another, walked in square blocks that are transposed in registers.
 */
typedef struct TransposeStrategy {
  int across, along;  /* the dims of the blocks: loads are contiguous along |across|, stores along |along| */
  int lanes;          /* V: blocks are V × V */
  int64_t strip_rows; /* of |across| between two steps along |along|: whole cache lines of what is loaded */
  int64_t cache_rows, cache_columns; /* the plane is walked in such parts */
  bool is_copy;                      /* the stored value is the load itself */
  bool is_far;                       /* what is loaded is larger than caches */
  int load_count;
  int32_t *loads; /* values that are transposed */
} TransposeStrategy;

/* How a Kernel is cut into pieces that may run at the same time.  A call of its function does a run of them; whichever
 * it is, each element is computed by the same instructions, so results do not depend on it. */
typedef struct PieceSplit {
  int64_t piece_count;                  /* 1: not cut */
  int dim_count, dims[KERNEL_MAX_DIMS]; /* the first loops, walked as one: a piece is one of their indices; or 0, and */
  int dim;                              /* this one has pieces of |piece_size| indices, the last with the rest; or -1 */
  int64_t piece_size;
} PieceSplit;

typedef enum KernelForm {
  KERNEL_FORM_LOOPS,
  KERNEL_FORM_UNROLLED, /* every point by itself, as scalars */
  KERNEL_FORM_TRANSPOSE,
  KERNEL_FORM_CONTRACTION,
  KERNEL_FORM_WINOGRAD,
  KERNEL_FORM_SORT,
  KERNEL_FORM_TILES
} KernelForm;

/* Whether codegen/blocks has the code. */
static inline bool kernel_form_is_block(KernelForm form) {
  return form == KERNEL_FORM_CONTRACTION || form == KERNEL_FORM_WINOGRAD || form == KERNEL_FORM_SORT;
}

typedef struct KernelStrategy {
  KernelForm form;
  LoopStrategy loops;   /* of loops, unrolled or not */
  const Kernel *walked; /* of loops: what they walk in the Kernel's place (kernel_rows.h), of the same buffers; NULL:
                           the Kernel itself */
  TransposeStrategy transpose;            /* of a transpose */
  const ContractionBlocking *contraction; /* of a contraction */
  const WinogradBlocking *winograd;       /* of a contraction by minimal filtering */
  const struct KernelStrategy *parts;     /* of tiles: by part of the Kernel */
  PieceSplit split;                       /* of loops and transposes */
  const bool *streamed; /* of loops and transposes: by buffer, whether what is stored there passes the caches by; NULL:
                           nowhere */
  int64_t piece_count, chunk_limit; /* as in KernelCode */
  int64_t chunks_per_worker;
  int64_t phase_count;   /* as in KernelCode */
  int64_t chunk_bytes;   /* of phases: scratch of each chunk after the first */
  int64_t row_bytes;     /* of the scratch: the Kernel's buffers of role SCRATCH, which stand first, aligned */
  int64_t index_bytes;   /* of tiles: the coordinates of a tile, which follow; then the parts' scratch */
  int64_t scratch_bytes; /* all of it, aligned to KERNEL_SCRATCH_ALIGNMENT; of rows alone, to the end of the last */
} KernelStrategy;

#define KERNEL_SCRATCH_ALIGNMENT 64

/* |arena| holds what the strategy points to.  Chosen once for a Kernel and a target, before memory is planned; the code
 * is made by the same strategy afterwards.  |limit| is for scratch beside the Kernel's own buffers, where there are
 * ways that need less of it; KERNEL_SCRATCH_FREE: the fastest is taken. */
#define KERNEL_SCRATCH_FREE ((ContractionScratch){INT64_MAX, INT64_MAX})
void kernel_strategy_choose(const Kernel *kernel, const VecTarget *target, ContractionScratch limit, Arena *arena,
                            KernelStrategy *out_strategy);

/* What code made by |strategy| needs beside the Kernel's buffers while it runs. */
typedef struct KernelScratch {
  int64_t bytes;
  int64_t bytes_per_worker; /* for each further thread; 0: one thread does it all, or there is nothing of its own */
} KernelScratch;
KernelScratch kernel_strategy_scratch(const KernelStrategy *strategy);

/* Whether most of the time goes into products of narrow types (contraction_multiplies_narrow). */
bool kernel_strategy_multiplies_narrow(const Kernel *kernel, const KernelStrategy *strategy);

/* A Kernel so small that calling a function for it costs as much as running it: a few points, no scratch. */
bool kernel_is_tiny(const Kernel *kernel);

/* How often the code of a tiny Kernel stands in its function where that is scalars, point by point and step by step of
 * its folds, without loops and lanes: so no element waits for its neighbours.  0: it is not so. */
int64_t kernel_unrolled_steps(const Kernel *kernel);
static inline bool kernel_is_unrolled(const Kernel *kernel) {
  return kernel_unrolled_steps(kernel) > 0;
}
#define KERNEL_UNROLLED_ELEMENTS 16 /* the most of a result of such a Kernel */

#endif
