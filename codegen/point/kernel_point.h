/* Values of a Kernel at one point of its loops, or in lanes: at neighbouring points along one dim.
 *
 * The emitter of the loops binds dims to indices and asks for values.  Each is computed once and remembered, with what
 * it needs, until it is forgotten: a PointLoop forgets at its end what was computed since it began, so that what was
 * computed outside serves all rounds. */
#ifndef XLAC_CODEGEN_POINT_KERNEL_POINT_H
#define XLAC_CODEGEN_POINT_KERNEL_POINT_H

#include "base/array.h"
#include "codegen/ir/ir_loop.h"
#include "codegen/kernel/kernel.h"
#include "codegen/vec/vec.h"

typedef struct KnownValue {
  LLVMValueRef value; /* NULL: not computed here */
  LLVMValueRef base;  /* of a load: its address, i64 in elements, but for the term of the vector dim; NULL: not here */
  bool is_vector;
} KnownValue;

/* Indices [begin, end) of a dim; equal: not known. */
typedef struct KernelDimRange {
  int dim;
  int64_t begin, end;
} KernelDimRange;

typedef struct KernelPoint {
  const VecBuilder *vec;
  const Kernel *kernel;
  Arena *arena;
  LLVMValueRef function;
  const LLVMValueRef *buffers;
  LLVMValueRef dims[KERNEL_MAX_DIMS]; /* i64; the first lane's of the vector dim */
  int lanes;                          /* of the vector dim where the builder stands; 1 outside of it */
  int vector_dim;                     /* the dim that is walked in these lanes; one lane: does not matter */
  int64_t vector_begin, vector_end;   /* its indices in the loop that the builder is in; equal: not known */
  KernelDimRange within;              /* in the loop that the builder is in: those of another dim */
  LLVMValueRef mask;                  /* active lanes, NULL: all */
  int32_t assumed;                    /* a predicate that is true where the builder stands; -1: none */
  const bool *streamed;               /* NULL; or by buffer, whether stores of whole registers pass the caches by */
  LLVMValueRef **registers;           /* NULL; or by buffer, NULL for none: elements that are in registers too */
  LLVMValueRef *accumulators;         /* by fold: in its stage the current value, after it the final one */
  KnownValue *values;
  ARRAY(int32_t) known; /* in order of computation: values v, and bases as -1 - v */
} KernelPoint;

/* With no dim bound and one lane.  |arena| holds what the point remembers. */
KernelPoint kernel_point(const VecBuilder *vec, const Kernel *kernel, LLVMValueRef function,
                         const LLVMValueRef *buffers, Arena *arena);

/* --- values (point_value.c) --- */

bool point_is_vector(const KernelPoint *point, int32_t value); /* varies from lane to lane here */
/* The value, computed now if it was not yet; a scalar when it does not vary. */
LLVMValueRef point_value(KernelPoint *point, int32_t value);
/* The value in the current number of lanes. */
LLVMValueRef point_value_lanes(KernelPoint *point, int32_t value);
/* Says that |value| is |computed|, in the current lanes. */
void point_set_value(KernelPoint *point, int32_t value, LLVMValueRef computed);
/* Whether |store|, of whole lanes at the current point, is to go past the caches. */
bool point_passes_caches(const KernelPoint *point, const KernelStore *store);
/* A KernelStore at the current point. */
void point_store(KernelPoint *point, const KernelStore *store);
/* |count| that write in turn along the dim in lanes (kernel_stores_in_turn). */
void point_store_in_turn(KernelPoint *point, const KernelStore *stores, int count);
/* The address of load |value| at the first lane, whatever its predicate. */
LLVMValueRef point_load_pointer(KernelPoint *point, int32_t value);

/* Remembers the address of load |value| without its term of the vector dim, unless it needs one of the dims |later|
 * (bits) in another way. */
void point_hoist_address(KernelPoint *point, int32_t value, uint64_t later);
/* Forgets what was computed since |known.count| was |height|. */
void point_forget(KernelPoint *point, int64_t height);

/* --- loops (point_loop.c) --- */

/* A counted loop (codegen/ir/ir_loop.h) after which the point forgets what was computed in it. */
typedef struct PointLoop {
  LLVMValueRef index; /* of this round: the caller binds its dims to it */
  IrLoop loop;
  int64_t height; /* of |known| before the loop */
} PointLoop;

/* As ir_loop_count, ir_loop_count_guarded and ir_loop_count_apart, without variables or with |carried|. */
PointLoop point_loop_begin(KernelPoint *point, IndexRange range, int64_t step);
PointLoop point_loop_begin_guarded(KernelPoint *point, IndexRange range, int64_t step);
PointLoop point_loop_begin_apart(KernelPoint *point, IndexRange range, int64_t step);
PointLoop point_loop_begin_carrying(KernelPoint *point, IndexRange range, int64_t step, LLVMValueRef **carried,
                                    int carried_count);
void point_loop_end(KernelPoint *point, PointLoop *loop);

/* What KernelValue |value|, an APPLY, asks of vec. */
VecOp kernel_vec_op(const Kernel *kernel, const KernelValue *value);

/* --- indices (point_index.c) --- */

/* The expression at the first lane, as an i64. */
LLVMValueRef point_index(KernelPoint *point, IndexExpr expr);
/* The same without the plain term of |dim|. */
LLVMValueRef point_index_without(KernelPoint *point, IndexExpr expr, int dim);
/* In all lanes, as i64 or i32 (when |bits| is 32 the range must fit). */
LLVMValueRef point_index_lanes(KernelPoint *point, IndexExpr expr, int bits);
/* Element |index| of buffer |buffer|. */
LLVMValueRef point_element(KernelPoint *point, int32_t buffer, LLVMValueRef index);

typedef enum AccessKind { ACCESS_UNIFORM, ACCESS_CONTIGUOUS, ACCESS_SCATTERED } AccessKind;
/* How |expr| moves from lane to lane. */
AccessKind point_access_kind(const KernelPoint *point, IndexExpr expr);

/* True when |expr| moves by a constant, |*out_stride|, from one index of |dim| to the next. */
bool kernel_plain_stride(const Kernel *kernel, IndexExpr expr, int dim, int64_t *out_stride);

typedef enum KernelTest { KERNEL_TEST_OPEN, KERNEL_TEST_FALSE, KERNEL_TEST_TRUE } KernelTest;
/* What |value| is within |range|, wherever other dims stand; open where |range| is not known, or it is no IN_RANGE of
 * plain terms, one of them that of the dim. */
KernelTest kernel_range_test(const Kernel *kernel, const KernelValue *value, KernelDimRange range);

/* --- windows (point_window.c) --- */

/* Elements that a load reads in lanes along one dim where their addresses differ by by_quotient·(x / d) + by_rest·(x %
 * d), x moving by |stride| from lane to lane. */
typedef struct KernelWindow {
  const IndexAtom *digits; /* x / d or x % d */
  int64_t stride;          /* from 1 to d */
  int64_t by_quotient, by_rest;
  int64_t before, width; /* it has |width| elements, |before| of them before the one that the first lane would read if
                            its x % d were 0 */
  bool is_pair;          /* it takes two registers, else one */
  bool is_whole;         /* the buffer is not as large as a register: it is all of it */
} KernelWindow;

/* Whether |load| in |lanes| lanes along |dim| is better read as a window than element by element; says which. */
bool kernel_load_window(const Kernel *kernel, const VecTarget *target, const KernelValue *load, int dim, int lanes,
                        KernelWindow *out_window);
/* Load |value| at the current point, whose window is |window|, in register form; 0 in lanes out of |mask|, NULL: of
 * none. */
LLVMValueRef point_load_window(KernelPoint *point, int32_t value, const KernelWindow *window, LLVMValueRef mask);
/* A quotient or remainder of what moves by a small step from lane to lane, in lanes of |bits|; NULL for others. */
LLVMValueRef point_digit_lanes(KernelPoint *point, const IndexAtom *atom, int bits);

/* How many stores of |stage|, from |number| on, write neighbours (the parts of a complex number, columns joined), and
 * those after them when |dim| moves by one, so that together they are contiguous: 2 to VEC_MAX_INTERLEAVED,
 * or 1 for none of this. */
int kernel_stores_in_turn(const Kernel *kernel, int stage, int number, int dim);

#endif
