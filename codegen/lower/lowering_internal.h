/* Lowering: the state of building one Kernel, shared by the files of this room. */
#ifndef XLAC_CODEGEN_LOWER_LOWERING_INTERNAL_H
#define XLAC_CODEGEN_LOWER_LOWERING_INTERNAL_H

#include "base/hash_map.h"
#include "codegen/kernel/kernel_draft.h"
#include "codegen/lower/emit_family.h"
#include "codegen/lower/kernel_builder.h"
#include "hlo/analysis/loop_nest.h"

#define MAX_RANK SHAPE_MAX_RANK

/* Refinement of the dims a Kernel is asked for: ordinal i (in order of lowering_dim calls) is walked as a product of
 * factors. */
typedef struct DimSplit {
  int factor_count;
  int64_t factors[MAX_RANK];
  bool unrolled[MAX_RANK]; /* no dim of the Kernel: each of its indices is lowered by itself (lowering_begin_point) */
} DimSplit;

typedef struct DimOrigin {
  int ordinal, factor;
} DimOrigin;

/* A concatenation of equal pieces wishes to know which of them it is asked for. */
typedef struct UnrollRequest {
  bool is_made;
  DimOrigin origin;
  int64_t extent;
  int64_t divisor; /* of the dim that is to be unrolled above it; 1: all of the dim */
} UnrollRequest;

typedef struct LoweringMemo LoweringMemo;

/* A costly value that a stage computes for each of its points: a later stage that needs it again reads it from a row
 * buffer; from two where it is complex, so that neighbours of a part lie together. */
typedef struct RowValue {
  const HloInstruction *instruction;
  const IndexExpr *index;
  int stage;
  int32_t value;
  int32_t buffers[2]; /* by part; -1 until it is asked for */
} RowValue;

/* A reduction that was folded at one point of the outer dims. */
typedef struct FoldedReduce {
  const HloInstruction *reduce;
  const IndexExpr *outer;
  int32_t predicate;
  const int32_t *values; /* its results; NULL while its stage is being written */
} FoldedReduce;

/* A loop inside a fusion, while its body is lowered. */
typedef struct LoweredLoop {
  const HloInstruction *loop;
  const HloInstruction *parameter; /* of the body */
  const int32_t *state;            /* by element: its value in this round; -1 where it is as before the loop */
} LoweredLoop;

/* One of the arrays that the Kernel makes. */
typedef struct LoweringResult {
  const HloInstruction *made;
  int node; /* the leaf of the source's shape */
  LoopNest nest;
  bool is_stored;
} LoweringResult;

/* The result of a Fourier transform, as later stages find it. */
typedef struct LineTransform {
  const HloInstruction *fft;
  int batch_rank;         /* leading dimensions, which the outer dims walk */
  const IndexExpr *batch; /* the indices of these */
  const int64_t *extents; /* of the others, in the buffers */
  int32_t buffers[2];     /* real parts, imaginary parts */
  double scale;
} LineTransform;

typedef struct Lowering {
  Arena *arena;
  DiagSink *diag;
  const HloInstruction *source; /* the instruction the Kernel is made for */
  const HloComputation *fused;  /* its computation when it is a fusion, else NULL */
  KernelDraft draft;            /* stages by number, in order of their beginning; complex buffers and folds */
  ARRAY(DimOrigin) origins;     /* one per dim */
  ARRAY(int32_t) stage_order;   /* numbers of stages in order of execution: a stage ends after those it needs */
  int current_stage;            /* whose dims are being walked, KERNEL_OUTER for none */
  ARRAY(RowValue) row_values;
  KernelTarget target;
  bool moves_bits; /* nothing is computed: elements are of their lowering_moved_type */
  ARRAY(FoldedReduce) folded;
  ARRAY(LoweredLoop) loops;         /* that are being lowered, the innermost last */
  struct ReduceOrder *reduce_order; /* of |fused|, once it is asked for */
  const HloInstruction *sort;       /* that root_sort makes */
  const LineTransform *lines;       /* that root_fft makes */
  LoweringResult *results;          /* of a Kernel made by root_results or root_sort */
  int result_count;
  bool has_rows; /* the outer dims walk rows: |row| is the number of the row */
  IndexExpr row;
  IntMap memo_map;   /* (instruction, index, predicate) hash → LoweringMemo */
  int32_t predicate; /* under which loads happen now; -1: always */
  int result_node;   /* the leaf of the source's shape that this Kernel makes (the first of several) */
  int sum_part;      /* of a complex contraction: which part of its sums is made; -1: both */
  bool is_empty;     /* an outer dim has extent 0: there is nothing to do */
  int next_ordinal;
  const DimSplit *splits; /* by ordinal; those beyond |split_count| are whole */
  int split_count;
  bool may_unroll; /* the root walks its elements point by point */
  int64_t point;   /* of the unrolled factors, as one number */
  int64_t point_stride;
  UnrollRequest unroll;
  const Shape *flat; /* its elements are walked by one dim in their linear order; NULL: by its dimensions */
  IndexExpr flat_linear, *flat_index;
  bool misses_pieces; /* a concatenation of equal pieces stands where no dim chooses the piece */
} Lowering;

/* --- dims and buffers --- */

/* A new loop dimension of |extent| (0 makes the Kernel empty; several where it is split) and the expression of its
 * index. */
IndexExpr lowering_dim(Lowering *lowering, int64_t extent, KernelDimKind kind, int stage);

/* Dims for all of |shape| in the order of its layout, outermost first; |out_index| by logical dimension. */
void lowering_dims_of_shape(Lowering *lowering, const Shape *shape, KernelDimKind kind, int stage,
                            IndexExpr *out_index);

/* Elements under way that are walked one by one: the product of the unrolled factors. */
int64_t lowering_point_count(const Lowering *lowering);
/* From here on dims are asked for again, from the first, as they are at point |point|. */
void lowering_begin_point(Lowering *lowering, int64_t point);
/* |index| stands in a dimension made of pieces of |size|: asks for the dim that chooses the piece to be unrolled. */
void lowering_ask_unrolled(Lowering *lowering, IndexExpr index, int64_t size);

/* lowering_dims_of_shape() for what a root stores: parallel outer dims, or one for all of it where lowering->flat is
 * set. */
void lowering_dims_of_result(Lowering *lowering, const Shape *shape, IndexExpr *out_index);

/* The integer that an element of |type| goes as where it is only moved: of a complex number of 64 bits, a float of a
 * byte; |type| itself of others. */
PrimitiveType lowering_moved_type(PrimitiveType type);
/* The buffer bound to leaf |node| of operand |operand| (RESULT, IN_PLACE: of the result, operand -1); one each. */
int32_t lowering_buffer(Lowering *lowering, KernelBufferRole role, int operand, int node, const Shape *leaf);

/* The element address of a logical index under the shape's layout. */
IndexExpr lowering_address(Lowering *lowering, const Shape *shape, const IndexExpr *index);
/* The logical index of row-major linear position |linear| in |dims|, and back. */
void lowering_delinearize(Lowering *lowering, IndexExpr linear, const int64_t *dims, int rank, IndexExpr *out_index);
IndexExpr lowering_linearize(Lowering *lowering, const IndexExpr *index, const int64_t *dims, int rank);

/* The type in which sums and products of |type| accumulate: those of half precision in f32, rounded once (as in
 * XLA:CPU). */
PrimitiveType lowering_accumulator_type(PrimitiveType type);
/* The same for products that a dot or a convolution adds up: f32 for all floats that are narrower. */
PrimitiveType lowering_contraction_type(PrimitiveType type);

/* --- values ---
 *
 * A value of complex type is an APPLY of 'complex' to its parts and nothing else: whatever makes one makes the parts,
 * whatever reads one reads them.  Buffers and folds have complex types only here (a complex fold is two, numbered one
 * after the other); the Kernel knows parts alone, real and imaginary in turn. */

/* |real_part|, a load, moved by |which|: 0 to the real part, 1 to the imaginary one. */
int32_t lowering_load_part(Lowering *lowering, int32_t real_part, IndexExpr which);
int32_t lowering_load(Lowering *lowering, int32_t buffer, IndexExpr address); /* under the current predicate */
int32_t lowering_constant_bits(Lowering *lowering, PrimitiveType type, uint64_t low, uint64_t high);
int32_t lowering_constant_int(Lowering *lowering, PrimitiveType type, int64_t value);
int32_t lowering_constant_double(Lowering *lowering, PrimitiveType type, double value);
int32_t lowering_constant_element(Lowering *lowering, const Literal *literal, int64_t element);
int32_t lowering_index_value(Lowering *lowering, PrimitiveType type, IndexExpr expr);
/* pred lower <= expr < upper; -1 when always true.  Never true still gives a value. */
int32_t lowering_in_range(Lowering *lowering, IndexExpr expr, int64_t lower, int64_t upper);
int32_t lowering_divisible(Lowering *lowering, IndexExpr expr, int64_t divisor);
int32_t lowering_apply(Lowering *lowering, HloOpcode opcode, PrimitiveType type, const int32_t *operands,
                       int operand_count);
int32_t lowering_apply_with(Lowering *lowering, HloOpcode opcode, PrimitiveType type, const int32_t *operands,
                            int operand_count, int64_t param0, int64_t param1);
/* Conjunction where -1 means true. */
int32_t lowering_and(Lowering *lowering, int32_t a, int32_t b);
/* predicate ? on_true : on_false; on_true when the predicate is -1. */
int32_t lowering_select(Lowering *lowering, int32_t predicate, int32_t on_true, int32_t on_false);
int32_t lowering_convert(Lowering *lowering, int32_t value, PrimitiveType type);
PrimitiveType lowering_type(const Lowering *lowering, int32_t value);

int32_t lowering_complex(Lowering *lowering, PrimitiveType type, int32_t re, int32_t im);
/* The real (0) or imaginary (1) part of a complex value. */
int32_t lowering_part(Lowering *lowering, int32_t value, int part);
IndexExpr lowering_part_address(Lowering *lowering, IndexExpr address, int part);
/* |opcode| on or to complex values in terms of their parts; false when no complex value is touched or there is no
 * rule. */
bool lowering_apply_complex(Lowering *lowering, HloOpcode opcode, PrimitiveType type, const int32_t *operands,
                            int64_t param0, int32_t *out_value);

/* A comparison of a square root with a constant, of what it is the root of; false where the operands are not that. */
bool lowering_compare_root(Lowering *lowering, const int32_t operands[2], ComparisonDirection direction,
                           int32_t *out_value);

/* Whether |value| is an integer that follows from indices alone, and then what it is: it does not wrap. */
bool lowering_position(const Lowering *lowering, int32_t value, IndexExpr *out_expr);
/* |opcode| on such integers as one of them, or decided by their ranges; false where it stays an operation. */
bool lowering_apply_positions(Lowering *lowering, HloOpcode opcode, PrimitiveType type, const int32_t *operands,
                              int64_t param0, int32_t *out_value);
/* Element |index| of |literal| where its elements are such integers; false where they are not. */
bool lowering_constant_position(Lowering *lowering, const Literal *literal, const IndexExpr *index, int32_t *out_value);

/* The accumulator of fold |fold| within its stage, or (final) after it. */
int32_t lowering_accumulator(Lowering *lowering, int32_t fold, bool final);
int32_t lowering_add_fold(Lowering *lowering, PrimitiveType type, int stage, int32_t seed);
/* Sets the next value; marks the fold reassociable when the pattern of |next| over it is, and replaces its seed by the
 * identity. */
void lowering_finish_fold(Lowering *lowering, int32_t fold, int32_t next);
void lowering_set_fold_next(Lowering *lowering, int32_t fold, int32_t next);
void lowering_set_fold_seed(Lowering *lowering, int32_t fold, int32_t seed);
/* Sets the next value of a fold whose steps are stored; marks it as a scan when the pattern of |next| over it is. */
void lowering_finish_scan(Lowering *lowering, int32_t fold, int32_t next);
/* The identity of |opcode| as a constant of |type|, -1 when it has none. */
int32_t lowering_identity(Lowering *lowering, HloOpcode opcode, PrimitiveType type);

/* Begins a stage and makes it the current one; the result is its number, for its dims and folds.  Stages nest: one that
 * is begun inside another runs before it. */
int lowering_begin_stage(Lowering *lowering);
void lowering_end_stage(Lowering *lowering, int stage, int outer_stage);
void lowering_add_store(Lowering *lowering, int stage, const KernelStore *store);
/* A stage of stores at each point of the outer dims. */
void lowering_add_stage(Lowering *lowering, const KernelStore *stores, int store_count);

/* A run-time integer as an index: clamped to [0, upper] and converted to s64. */
IndexExpr lowering_clamped_index(Lowering *lowering, int32_t value, int64_t upper);
/* A run-time integer as an index without clamping, taken to be in the range of s32. */
IndexExpr lowering_raw_index(Lowering *lowering, int32_t value);

/* --- elements --- */

/* The value of element |index| (one expression per dimension) of |instruction|, which is an operand of the source, or
 * inside its fusion. */
MUST_USE Status lower_element(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                              int32_t *out_value);

/* The same under |predicate| (-1: none) and'ed to the current one, so that loads stay inside their buffers. */
MUST_USE Status lower_guarded(Lowering *lowering, int32_t predicate, const HloInstruction *instruction,
                              const IndexExpr *index, int32_t *out_value);

/* The results of |reduce| at |outer|, folded in a stage of their own, which reductions that read as many elements of
 * the same row share. */
MUST_USE Status lower_reduce(Lowering *lowering, const HloInstruction *reduce, const IndexExpr *outer,
                             const int32_t **out_values);
/* The state of |loop|, a while whose elements do not meet (while-fusion), after all rounds, at |index|: a stage with a
 * fold for each of its elements that vary. */
MUST_USE Status lower_loop(Lowering *lowering, const HloInstruction *loop, const IndexExpr *index,
                           const int32_t **out_values);
/* What |element|, a get-tuple-element of the parameter of a loop's body, is in the round at hand; false where it is
 * none. */
bool lowering_in_loop(const Lowering *lowering, const HloInstruction *element);
MUST_USE Status lower_loop_state(Lowering *lowering, const HloInstruction *element, const IndexExpr *index,
                                 int32_t *out_value);
/* What is folded together: values |inputs|, each from one of |inits|, where |inside| is true (-1: everywhere). */
typedef struct FoldInputs {
  int count;
  const int32_t *inputs, *inits;
  int32_t inside;
} FoldInputs;
/* Folds them by |reduce| in the current stage. */
MUST_USE Status lowering_fold_inputs(Lowering *lowering, const HloInstruction *reduce, const FoldInputs *folded,
                                     int32_t *out_finals);
#define MAX_REDUCE_INPUTS 16
/* A region that is one commutative operation on its two parameters. */
bool lowering_simple_region(const HloComputation *region, HloOpcode *out_opcode);
/* The type in which |opcode| folds elements of |type|. */
PrimitiveType lowering_fold_type(HloOpcode opcode, PrimitiveType type);
/* Folds in the current stage, and what |region| makes of them and the inputs, inside or not. */
MUST_USE Status lowering_region_step(Lowering *lowering, const HloComputation *region, const FoldInputs *folded,
                                     int32_t *out_folds, int32_t *out_next);
/* STATUS_UNSUPPORTED when |reduce| has more. */
MUST_USE Status lowering_check_inputs(const Lowering *lowering, const HloInstruction *reduce);

/* Forgets which elements were lowered: they are asked for again, and may now come from rows. */
void lowering_forget_rows(Lowering *lowering);

/* The results of scalar computation |region| applied to |arguments|, by number of its parameters: one value for each of
 * its root's |result_count| leaves. */
MUST_USE Status lower_region(Lowering *lowering, const HloComputation *region, const int32_t *arguments,
                             int32_t *out_results, int result_count);

/* Element |index| of what |instruction| makes.  The emit column names each rule; families without elements of their own
 * have element_none, which says so. */
typedef Status ElementRule(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                           int32_t *out_value);
#define element_index(name) element_##name
#define element_copy element_forward
#define element_call element_none
#define element_conditional element_none
#define element_fusion element_none
#define element_outside_call element_none
#define element_collective element_none
#define element_device_id element_none
#define element_parameter element_none
#define element_rng_state element_none
#define element_scatter element_none
#define element_select_and_scatter element_none
#define element_tuple element_none
#define element_unsupported element_none
#define element_while element_none
#define HLO_OP(id, text, min, max, traits, access, cost, flow, infer, eval, emit, lanes, attributes) \
  ElementRule element_##emit;
#include "hlo/ir/hlo_opcode.def"
#undef HLO_OP
/* element_sort and element_fft are of what root_sort and root_fft make: at the point that a result of the sort comes
 * from, for the point of the outer dims at hand. */

/* The clamped start of a dynamic slice along each dimension of its operand. */
MUST_USE Status lower_dynamic_starts(Lowering *lowering, const HloInstruction *instruction, int first_index_operand,
                                     const int64_t *sizes, IndexExpr *out_starts);
/* One component of the index vector of gather or scatter: element of |indices| at |batch| (all dims but
 * index_vector_dim) as a raw value. */
MUST_USE Status lower_index_component(Lowering *lowering, const HloInstruction *indices, const IndexExpr *batch,
                                      int64_t index_vector_dim, int64_t component, int32_t *out_value);

/* --- roots: fill the lowering for one Kernel --- */

/* Leaf |number| of those that the Kernel makes, and the store of |value| to its element |index|. */
const Shape *lowering_result_leaf(const Lowering *lowering, int number);
KernelStore lowering_result_store(Lowering *lowering, int number, const IndexExpr *index, int32_t value);

typedef Status (*RootRule)(Lowering *lowering, const HloInstruction *root);
Status root_elements(Lowering *, const HloInstruction *);
Status root_reduce(Lowering *, const HloInstruction *);
/* All of lowering->results in one nest: elements, or rows with stages for reductions and for what is made from them. */
Status root_results(Lowering *, const HloInstruction *);
Status root_reduce_window(Lowering *, const HloInstruction *);
/* Whether the windows of |reduce| are those of a cumulative operation along one dimension, forwards or backwards. */
bool lowering_cumulative_dim(const HloInstruction *reduce, int *out_dim, bool *out_backward);
Status root_cumulative_window(Lowering *, const HloInstruction *, int dim, bool is_backward);
Status root_dynamic_update_slice(Lowering *, const HloInstruction *);
Status root_scatter(Lowering *, const HloInstruction *);
/* Also of a fusion with a sort in it: all of lowering->results. */
Status root_sort(Lowering *, const HloInstruction *);
/* All results of a fusion of a loop whose elements do not meet. */
Status root_loop(Lowering *, const HloInstruction *);
/* As root_sort, with a Fourier transform. */
Status root_fft(Lowering *, const HloInstruction *);
/* The first of |fused| with |opcode|, or NULL. */
const HloInstruction *lowering_find_fused(const HloComputation *fused, HloOpcode opcode);
Status root_select_and_scatter(Lowering *, const HloInstruction *);
/* The result of select-and-scatter before anything is scattered: its init value everywhere. */
Status root_select_and_scatter_fill(Lowering *, const HloInstruction *);

/* The error that |at| has no code: |what|. */
Status lowering_unsupported(const Lowering *lowering, const HloInstruction *at, const char *what);

/* --- finishing --- */

/* Finds a dim whose DIV or MOD a finer split would remove, or that a concatenation wants unrolled, and refines
 * |splits|; false when there is none. */
bool lowering_refine(const Lowering *lowering, DimSplit *splits, int *split_count);
/* Something that is stored needs quotients or remainders of dims. */
bool lowering_has_quotients(const Lowering *lowering);
/* The Kernel of what is stored: without values that nothing needs, neighbouring dims merged that every expression walks
 * as one, complex numbers as their parts. */
MUST_USE Status lowering_finish(const Lowering *lowering, const Kernel **out_kernel);

#endif
