/* Vec: lane-wise code for every element type, written once for any number of lanes (1: plain scalars).
 *
 * In registers a value of type pred is i1, integers their own width (s4 and the like: i8, kept sign- or zero-extended
 * and wrapped after each operation), f16, bf16 and narrower are floats that hold exactly representable values (each
 * operation rounds its result), but for f16 with has_f16_arithmetic, which is itself, as are f32 and f64. In memory
 * each has its storage form (pred: a byte 0 or 1).  No fast-math flags; fma only where this room writes it.  No calls
 * to libraries: all maths is emitted (docs/numerics.md states the error bounds). */
#ifndef XLAC_CODEGEN_VEC_VEC_H
#define XLAC_CODEGEN_VEC_VEC_H

#include <llvm-c/Core.h>

#include "codegen/target/vec_target.h"
#include "hlo/ir/hlo_opcode.h"

typedef struct VecBuilder {
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  const VecTarget *target;
  bool takes_long; /* what is written runs so long that it is worth what LLVM takes longer to compile */
} VecBuilder;

/* One lane-wise operation (the fields of a KernelValue that matter to it). */
typedef struct VecOp {
  HloOpcode opcode;
  PrimitiveType type;         /* of the result */
  PrimitiveType operand_type; /* of operand 0; of operand 1 for select and clamp */
  int64_t params[2];          /* as in KernelValue */
} VecOp;

/* False when the opcode has no rule for these types (complex ones, which Kernels have not). */
bool vec_supports(const VecOp *op);
bool vec_type_supported(PrimitiveType type);
/* A few instructions: no division of integers, no mathematical function. */
bool vec_is_cheap(const VecOp *op);
/* An operation on f16 that is computed in f32, in so many lanes. */
bool vec_is_widened(const VecTarget *target, const VecOp *op, int lanes);

LLVMTypeRef vec_type(const VecBuilder *vec, PrimitiveType type, int lanes);        /* in registers */
LLVMTypeRef vec_memory_type(const VecBuilder *vec, PrimitiveType type, int lanes); /* in memory */

/* The constant whose storage bits are |bits|, in all lanes. */
LLVMValueRef vec_constant(const VecBuilder *vec, PrimitiveType type, uint64_t bits, int lanes);
LLVMValueRef vec_constant_double(const VecBuilder *vec, PrimitiveType type, double value, int lanes);
/* A scalar in all lanes; itself for one lane. */
LLVMValueRef vec_splat(const VecBuilder *vec, LLVMValueRef scalar, int lanes);
/* <0, 1, …, lanes-1> times |stride| as i64 or i32 lanes. */
LLVMValueRef vec_lane_indices(const VecBuilder *vec, int bits, int64_t stride, int lanes);

/* Contiguous lanes to |pointer|, past the caches: both are multiples of a register's size.  Other threads may see it
 * late, unless a fence follows.  These need has_uncached_stores. */
void vec_store_uncached(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, LLVMValueRef pointer, int lanes);
/* The same of what is in its memory form already. */
void vec_store_memory_uncached(const VecBuilder *vec, LLVMValueRef value, LLVMValueRef pointer);
void vec_store_fence(const VecBuilder *vec);
/* Asks for the line at |pointer|, which need not be anybody's: to be read, into the second-level cache. */
void vec_prefetch(const VecBuilder *vec, LLVMValueRef pointer);
/* Contiguous lanes from |pointer| (a pointer to the first element); |mask| (lanes of i1) may be NULL; masked-out lanes
 * read as 0 and are not touched in memory. */
LLVMValueRef vec_load(const VecBuilder *vec, PrimitiveType type, LLVMValueRef pointer, LLVMValueRef mask, int lanes);
void vec_store(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, LLVMValueRef pointer, LLVMValueRef mask,
               int lanes);
/* Lanes from |base| + offsets (lanes of i64, in elements).  Strided access is a gather whose offsets are known
 * multiples. */
LLVMValueRef vec_gather(const VecBuilder *vec, PrimitiveType type, LLVMValueRef base, LLVMValueRef offsets,
                        LLVMValueRef mask, int lanes);
void vec_scatter(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, LLVMValueRef base, LLVMValueRef offsets,
                 LLVMValueRef mask, int lanes);

/* -1, 1, 2, 3, 4: strides for which loads and shuffles are faster than a gather. */
bool vec_stride_is_small(int64_t stride);
/* These, and strides up to 8 of elements of one and two bytes, of which many are in a register and a gather of which is
 * one load for each. */
bool vec_stride_is_shuffled(PrimitiveType type, int64_t stride);
/* Elements |pointer|[0], [stride], [2·stride] … as they are in memory, which is shuffled.  Reads nothing outside of
 * the first to the last.  |mask|: NULL, or which lanes are read, the others being zeros; needs has_masks. */
LLVMValueRef vec_load_strided(const VecBuilder *vec, PrimitiveType type, LLVMValueRef pointer, int64_t stride,
                              LLVMValueRef mask, int lanes);

#define VEC_MAX_PERMUTED 64

/* Whether there is an instruction for vec_permute of so many lanes of elements of |type|, as they are in memory. */
bool vec_can_permute(const VecTarget *target, PrimitiveType type, int lanes);
/* Lane index[i] of |value|, elements as they are in memory, for each i; |index|: integer lanes of the elements' width,
 * from 0 on below |lanes|: what lanes with another index are is not said. */
LLVMValueRef vec_permute(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, LLVMValueRef index, int lanes);
/* The same of |first|'s lanes and then |second|'s: indices are below 2·|lanes|.  Needs vec_can_permute. */
LLVMValueRef vec_permute_pair(const VecBuilder *vec, PrimitiveType type, LLVMValueRef first, LLVMValueRef second,
                              LLVMValueRef index, int lanes);

/* The lanes, at most 256, in the opposite order. */
LLVMValueRef vec_reverse(const VecBuilder *vec, LLVMValueRef value, int lanes);

#define VEC_MAX_INTERLEAVED 8

/* Lane 0 of each of |count| values, then lane 1 of each …, written over them as |count| values of |lanes| lanes, one
 * after the other.  |lanes| is at most 256; any element type, masks too. */
void vec_interleave(const VecBuilder *vec, LLVMValueRef *values, int count, int lanes);

#define VEC_MAX_SQUARE 32

/* Transposes |lanes| rows of |lanes| elements each in place, as they are in memory (vec_memory_type); |lanes| is a
 * power of two up to VEC_MAX_SQUARE. */
void vec_transpose(const VecBuilder *vec, PrimitiveType type, LLVMValueRef *rows, int lanes);
/* Squares of |lanes| rows of |lanes| elements, to be transposed from memory to memory.  Sizes are in elements. */
typedef struct VecSquares {
  LLVMValueRef source, target;      /* the first square's first row, and where it becomes a column */
  int64_t source_row, target_row;   /* from row to row; |source_row| is positive */
  int64_t source_step, target_step; /* from square to square */
  LLVMValueRef count;               /* of squares, i64 */
  LLVMValueRef last; /* the first square's last row that there is, which those beyond it repeat; NULL: all are there */
  bool last_moves;   /* with each square; else all squares have that one */
} VecSquares;

/* Whether there is code for that which is better than to transpose registers (vec_squares.c). */
bool vec_moves_squares(const VecTarget *target, PrimitiveType type, int lanes);
void vec_move_squares(const VecBuilder *vec, PrimitiveType type, const VecSquares *squares, int lanes);

/* The register form of what was loaded as vec_memory_type. */
LLVMValueRef vec_from_memory(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, int lanes);

/* One bit: whether any lane of |condition| holds. */
LLVMValueRef vec_any(const VecBuilder *vec, LLVMValueRef condition, int lanes);
/* An i64 whose bit i is lane i of |condition|, at most 64 lanes; and the number of the lowest bit that is set in one
 * that is not 0, an i64. */
LLVMValueRef vec_lane_bits(const VecBuilder *vec, LLVMValueRef condition, int lanes);
LLVMValueRef vec_lowest_bit(const VecBuilder *vec, LLVMValueRef bits);

/* The operation on register values of |lanes| lanes each. */
LLVMValueRef vec_apply(const VecBuilder *vec, const VecOp *op, const LLVMValueRef *operands, int lanes);

/* All lanes combined into one scalar by an associative binary opcode (add, multiply, maximum, minimum, and, or, xor):
 * halves pairwise, a fixed order. */
LLVMValueRef vec_reduce(const VecBuilder *vec, const VecOp *op, LLVMValueRef value, int lanes);
/* The same of |count| <= VEC_MAX_REDUCED values, powers of two both: lane i of the result is vec_reduce of |values|[i],
 * which it writes over. */
#define VEC_MAX_REDUCED 8
LLVMValueRef vec_reduce_each(const VecBuilder *vec, const VecOp *op, LLVMValueRef *values, int count, int lanes);

/* --- the extremum of many floats (vec_extremum.c) --- */

/* The largest or smallest of what was offered.  What is not a number is kept apart: to join it to the numbers takes two
 * more instructions a step, for which the next one waits. */
typedef struct VecExtremum {
  LLVMValueRef numbers; /* in each lane the extremum of the numbers */
  LLVMValueRef nan;     /* lanes of one register, some of them NaN where anything was */
} VecExtremum;

/* Whether the extremum of what |op| joins, maximum or minimum, in |lanes| lanes may be kept so. */
bool vec_extremum_is_apart(const VecBuilder *vec, const VecOp *op, int lanes);
/* Of nothing yet.  |identity|: a scalar, not NaN. */
VecExtremum vec_extremum_begin(const VecBuilder *vec, LLVMValueRef identity, int lanes);
/* |offered| has |lanes| lanes, as |best| has. */
void vec_extremum_advance(const VecBuilder *vec, const VecOp *op, VecExtremum *best, LLVMValueRef offered, int lanes);
void vec_extremum_join(const VecBuilder *vec, const VecOp *op, VecExtremum *best, const VecExtremum *other, int lanes);
/* Of all lanes, a scalar: NaN where anything was. */
LLVMValueRef vec_extremum_reduce(const VecBuilder *vec, const VecOp *op, const VecExtremum *best, int lanes);

/* --- the largest or smallest value and the first place where it is (vec_choice.c) --- */

typedef struct VecChoice {
  PrimitiveType type, place_type; /* |place_type| is one of integers */
  bool is_largest;                /* else the smallest */
  bool nan_is_first;              /* what is not a number comes before all numbers, else after them */
} VecChoice;

typedef struct VecChosen {
  LLVMValueRef value, place;
} VecChosen;

/* In each lane the better of |best| and |offered|, which is at a later place. */
void vec_choice_advance(const VecBuilder *vec, const VecChoice *choice, VecChosen *best, const VecChosen *offered);
/* The same with |other|, which may be at any place. */
void vec_choice_join(const VecBuilder *vec, const VecChoice *choice, VecChosen *best, const VecChosen *other);
/* The best of lanes i, i + |wanted_lanes|, i + 2·|wanted_lanes| … as lane i; both numbers are powers of two. */
VecChosen vec_choice_reduce(const VecBuilder *vec, const VecChoice *choice, VecChosen chosen, int lanes,
                            int wanted_lanes);

#define VEC_MAX_SCAN 256

/* Lane i becomes lanes 0 to i combined by |op|, which has an identity (hlo_fold_identity): with the lane 1 before, then
 * 2, then 4 … */
LLVMValueRef vec_scan(const VecBuilder *vec, const VecOp *op, LLVMValueRef value, int lanes);
/* Lane |lane| in all lanes. */
LLVMValueRef vec_splat_lane(const VecBuilder *vec, LLVMValueRef value, int lane, int lanes);

/* a*b + c in one rounding where the target has it (f32, f64), two roundings elsewhere; integers wrap. */
LLVMValueRef vec_multiply_add(const VecBuilder *vec, PrimitiveType type, LLVMValueRef a, LLVMValueRef b,
                              LLVMValueRef c);

typedef enum VecDotKind {
  VEC_DOT_S16,   /* two products of 16 bits, both signed; needs has_pairs */
  VEC_DOT_U8_S8, /* four of 8 bits, |a| unsigned, |b| signed; needs has_vnni */
  /* two of bf16, added to f32, nearest; subnormal factors and sums count as zeros of their sign; needs has_bf16_pairs
   */
  VEC_DOT_BF16
} VecDotKind;

/* Lanes of 32 bits that hold two or four numbers each: sum + Σ a × b of them; integers wrap, floats are rounded as the
 * processor does.  |lanes|: 4, 8 or 16, no more than a register has. */
LLVMValueRef vec_dot_add(const VecBuilder *vec, VecDotKind kind, LLVMValueRef a, LLVMValueRef b, LLVMValueRef sum,
                         int lanes);

/* --- subnormal numbers --- */

/* At the beginning of a function that a thread enters, which does no arithmetic but calls what does: from here on the
 * thread's processor takes subnormal operands for zeros and makes zeros of subnormal results.  What vec_flush_end needs
 * to restore its mode; NULL, and nothing is emitted, for a target that keeps them. */
LLVMValueRef vec_flush_begin(const VecBuilder *vec);
void vec_flush_end(const VecBuilder *vec, LLVMValueRef before);

#endif
