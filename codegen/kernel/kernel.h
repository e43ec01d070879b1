/* Kernel: the one value between fusions and machine code.  Printed, verified, hashed; consumed by the host emitter and
 * by the on-core tiler; nothing else reads fusions.
 *
 * A Kernel is one outer nest of loops over its outer dimensions.  Inside it stands a sequence of stages; a stage may
 * have inner dimensions of its own, over which it folds values into accumulators or stores.  What a stage computes is a
 * DAG of lane-wise values.  Example, a row sum:
 *
 *   kernel  buffers: b0 f32[4096] operand, b1 f32[64] result
 *   dims: d0 64 parallel, d1 64 reduction (stage 0)
 *   stage 0 over d1:
 *     v0 = f32 load b0[64*d0 + d1]
 *     v1 = f32 constant -0            (the fold's seed)
 *     v2 = f32 accumulator a0
 *     v3 = f32 add v2 v0
 *     fold a0 from v1 by v3
 *   stage 1:
 *     v4 = f32 accumulator a0
 *     store b1[d0] = v4
 *
 * Buffers are flat arrays of elements; addresses are IndexExprs counting elements.  Semantics: for each point of the
 * outer dims in row-major order (any order where all are PARALLEL, any order along APART ones), stages in sequence;
 * within a stage, for each point of its inner dims in row-major order, its values are evaluated, then its folds advance
 * together, then its stores happen.  PARALLEL promises that points may run in any order and at once.  A fold marked
 * reassociable may be split into partial folds, each seeded with the seed, which is the identity.
 *
 * A stage with a comparator sorts instead: its one inner dim is SORTED.  Its points are put in the comparator's order,
 * equal ones in the order of their points, and for each place in that order its stores write the values of the point
 * that stands there: their values are of the point, their addresses and predicates of the place.
 *
 * A stage with a transform has nothing else: what earlier stages stored in two scratch buffers, real and imaginary
 * parts of lines, becomes the lines' Fourier transform for later ones.
 *
 * A Kernel of tiles (attention: scores, softmax and the weighted sum of a block of queries) has one outer dim, the
 * number of the tile, and no dims, values and stages beside it: for each tile its parts run one after the other,
 * Kernels themselves, which hand on what they make through its SCRATCH buffers, private to one tile. */
#ifndef XLAC_CODEGEN_KERNEL_KERNEL_H
#define XLAC_CODEGEN_KERNEL_KERNEL_H

#include "codegen/kernel/index_expr.h"
#include "hlo/ir/hlo_module.h"

#define KERNEL_MAX_DIMS 64

typedef enum KernelDimKind {
  KERNEL_PARALLEL,
  KERNEL_APART, /* beside sequential ones: parallel, and points that differ in it share no element, wherever they stand
                   in the other dims */
  KERNEL_REDUCTION,  /* of a stage: only folds see the order */
  KERNEL_SEQUENTIAL, /* row-major order matters: scatter */
  KERNEL_SORTED      /* of a stage with a comparator: the points that are put in order */
} KernelDimKind;

typedef struct KernelDim {
  int64_t extent; /* >= 1: Kernels over nothing are not built */
  KernelDimKind kind;
  int32_t stage; /* KERNEL_OUTER, or the stage whose inner dimension it is */
} KernelDim;

#define KERNEL_OUTER (-1)

static inline bool kernel_dim_is_parallel(const KernelDim *dim) {
  return dim->kind == KERNEL_PARALLEL || dim->kind == KERNEL_APART;
}

typedef enum KernelBufferRole {
  KERNEL_OPERAND,    /* read */
  KERNEL_RESULT,     /* written */
  KERNEL_IN_PLACE,   /* read and written: the result shares the operand's memory */
  KERNEL_SCRATCH,    /* private to one point of the outer dims: what one stage computed for a later one */
  KERNEL_PARAMETERS, /* read: constants that each use of the Kernel has its own of (kernel_sharing.h) */
  KERNEL_OVERLAPPED  /* written as RESULT, of a part; tiles overlap in it, so threads store elements at the same time:
                        each the same, nothing that an element is not in the end, and nothing is read back */
} KernelBufferRole;

typedef struct KernelBuffer {
  KernelBufferRole role;
  PrimitiveType type;
  int64_t element_count;
  /* What it is bound to at a call: a leaf of operand |operand| (RESULT, IN_PLACE, OVERLAPPED: of the
   * instruction itself, operand -1; SCRATCH, PARAMETERS: to nothing, both -1).  Not part of its identity. */
  int32_t operand, node;
} KernelBuffer;

typedef enum KernelValueKind {
  KERNEL_LOAD,       /* buffer[address], 0 where |predicate| is false */
  KERNEL_CONSTANT,   /* |bits| in the type's storage form */
  KERNEL_INDEX,      /* |address| as a number of type |type| (wrapping) */
  KERNEL_IN_RANGE,   /* pred: lower <= address < upper */
  KERNEL_DIVISIBLE,  /* pred: address % upper == 0 */
  KERNEL_APPLY,      /* lane-wise |opcode| of operands */
  KERNEL_ACCUMULATOR /* the current value of fold |fold|, or (params[0] = 1) after its stage the final one */
} KernelValueKind;

#define KERNEL_MAX_OPERANDS 3

typedef struct KernelValue {
  KernelValueKind kind;
  PrimitiveType type;
  HloOpcode opcode;  /* APPLY: an elementwise opcode with its meaning in HLO */
  int64_t params[2]; /* APPLY: compare {direction, ComparisonType}; reduce-precision {exponent_bits, mantissa_bits};
                        sqrt {bits of a finite result that matter: what is infinite may come out as NaN; 0: all} */
  int32_t operand_count, operands[KERNEL_MAX_OPERANDS]; /* values with smaller numbers */
  int32_t buffer, fold;
  int32_t predicate; /* LOAD: value of type pred, -1 for none */
  IndexExpr address; /* LOAD, INDEX, IN_RANGE, DIVISIBLE */
  int64_t lower, upper;
  uint64_t bits[2]; /* CONSTANT; the second word for 16-byte types */
  int32_t
      stage; /* the earliest stage in which all it reads is there; KERNEL_OUTER: independent of folds and inner dims */
  uint64_t dims; /* bit d: the value depends on dimension d; one read IN_PLACE, on all SEQUENTIAL ones */
} KernelValue;

typedef struct KernelFold {
  PrimitiveType type;
  int32_t stage;
  int32_t seed;      /* value, outside the stage's inner dims */
  int32_t next;      /* value, in the stage */
  bool reassociable; /* next = APPLY op (this accumulator, x) with op associative and commutative and seed its identity
                      */
  bool is_scan; /* next = APPLY op (this accumulator, x) with such an op, from any seed, and stores of the stage read
                   it: neighbouring steps may be combined before the accumulator joins them */
} KernelFold;

typedef struct KernelStore {
  int32_t buffer;
  IndexExpr address;
  int32_t value;
  int32_t predicate; /* -1: always */
} KernelStore;

typedef struct Kernel Kernel;

/* What a comparator reads of each of the two points that it compares. */
typedef struct KernelCompared {
  int32_t operand;  /* k: the comparator's buffer of operand 2k holds it for the one point, 2k + 1 for the other */
  int32_t parts[2]; /* values; a complex number's two parts, else the second is -1 */
} KernelCompared;

/* Whether a transform is of complex numbers alone.
 *
 * Of 2n real numbers, those at even places are real parts and those at odd places imaginary ones; a pass more makes
 * places 0 to n of their transform of that, which is the half that tells the other.  Lines are a place longer then.
 *
 * To 2n real numbers, with the other sign: a pass makes n numbers of those n + 1, which are the first of 2n places, of
 * the first and the last only the real parts; and another puts the parts of the results in turn, as real parts. */
typedef enum KernelReals { KERNEL_NO_REALS, KERNEL_OF_REALS, KERNEL_TO_REALS } KernelReals;

/* Σ over j of x[a, j, b]·exp(-2πi·jk/n) for all k, of arrays [outer, n, inner], n being the product of the factors: by
 * one pass for each of them, after Cooley and Tukey in Stockham's order, from one pair of buffers to the other in turn.
 * The other sign is the same with real and imaginary parts exchanged. */
typedef struct KernelTransform {
  int32_t buffers[2][2]; /* SCRATCH: real and imaginary parts; of the first pair, and the result if passes are even */
  int64_t outer, inner;
  int32_t factor_count; /* >= 1 */
  const int64_t *factors;
  KernelReals reals; /* but for NO_REALS |inner| is 1 */
} KernelTransform;

/* n: the product of the factors. */
int64_t kernel_transform_length(const KernelTransform *transform);
/* Elements of each buffer. */
int64_t kernel_transform_elements(const KernelTransform *transform);
/* How often values go from one pair of buffers to the other. */
int32_t kernel_transform_passes(const KernelTransform *transform);

typedef struct KernelStage {
  int32_t store_count;
  const KernelStore *stores; /* of a sort: unguarded, or where the place is in a range */
  const Kernel *comparator;  /* NULL, or of one point: whether one comes before the other */
  int32_t compared_count;
  const KernelCompared *compared;   /* by ascending operand */
  const KernelTransform *transform; /* NULL, or what the stage does */
} KernelStage;

/* Of a tile: t = (tile / divisor) % extent, or where |period| is not 0, t / period * stride + min(t % period * step,
 * last). */
typedef struct KernelCoordinate {
  int64_t divisor, extent;
  int64_t period, stride, step, last;
} KernelCoordinate;

/* One of the Kernels that a Kernel of tiles runs for each tile. */
typedef struct KernelPart {
  const Kernel *kernel;
  const int32_t *buffers;              /* by buffer of |kernel|: one of the whole, or KERNEL_TILE_INDEX */
  int32_t index_count;                 /* elements of its buffer KERNEL_TILE_INDEX, s64 */
  const KernelCoordinate *coordinates; /* by element */
} KernelPart;

#define KERNEL_TILE_INDEX (-1)

struct Kernel {
  Arena *arena;
  IndexSpace space;
  int32_t dim_count, buffer_count, value_count, fold_count, stage_count;
  const KernelDim *dims; /* outer ones first; those of one stage in loop order */
  const KernelBuffer *buffers;
  const KernelValue *values;
  const KernelFold *folds;
  const KernelStage *stages;
  int32_t part_count; /* 0, or this is a Kernel of tiles */
  const KernelPart *parts;
  const HloInstruction *source; /* for diagnostics; not part of its identity */
};

/* Equal texts mean equal Kernels: the text is their identity (names do not occur in it). */
void kernel_print(StringBuilder *out, const Kernel *kernel);
/* The same text, in |arena|. */
StringView kernel_text(Arena *arena, const Kernel *kernel);

/* The stage that sorts, -1: none does. */
int kernel_sorting_stage(const Kernel *kernel);

/* |dim| is the last of its stage's dims: no other is walked inside of it. */
bool kernel_dim_is_innermost(const Kernel *kernel, int dim);

/* Sets of dims, bit d being dim d: all outer ones and those of |stage|; … */
uint64_t kernel_stage_dims(const Kernel *kernel, int stage);
/* … and how many points |dims| have together: the product of their extents (bits of dims that there are not count
 * nothing). */
double kernel_point_count(const Kernel *kernel, uint64_t dims);

/* Addresses inside their buffers (by range, predicates taken into account where they bound a plain term), value order
 * and types, dims and stages consistent, PARALLEL dims never write one element twice as far as plain terms show.  A
 * violation is a bug of xlac: reported as STATUS_INVALID with code "kernel-…" at the source instruction. */
MUST_USE Status kernel_verify(const Kernel *kernel, DiagSink *diag);

#endif
