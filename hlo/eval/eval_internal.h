/* What the rules of the evaluator share: frames, steps, indices.
 *
 * A frame is a computation made ready to run: its instructions in order, each a step with a value.  Frames run many
 * times (bodies of loops, regions); the storage of a step's value is made at its first run and kept.  Values may refer
 * to the storage of other steps and of arguments (tuples, parameters, reshapes); they are valid until the frame that
 * owns the storage runs again, so a caller that carries values from one run to the next copies them. */
#ifndef XLAC_HLO_EVAL_EVAL_INTERNAL_H
#define XLAC_HLO_EVAL_EVAL_INTERNAL_H

#include "base/checked_math.h"
#include "hlo/eval/hlo_evaluator.h"
#include "hlo/eval/lanes.h"

typedef struct EvalFrame EvalFrame;
typedef struct EvalStep EvalStep;
typedef Status EvalRule(EvalStep *step);

typedef struct Evaluation {
  Arena *arena; /* frames and values */
  DiagSink *diag;
  const HloHost *host;   /* NULL: there is no host */
  DeviceCounts devices;  /* those of the host, or else as the module says */
  int64_t device;        /* flat id */
  bool knows_devices;    /* of the host: there are several, and they meet */
  int64_t memory_limit;  /* of the bytes of steps' values; 0: none */
  int64_t reserved;      /* of these, by the frames there are */
  bool is_dynamic;       /* sizes of arrays are set at run time somewhere in the module */
  uint64_t random_state; /* of rng and rng-get-and-update-state: the same stream every time */
} Evaluation;

struct EvalStep {
  const HloInstruction *instruction;
  EvalRule *rule;
  EvalFrame *frame;
  EvalStep **operands;
  Literal value;
  Literal *own;        /* the step's own storage, NULL before it is needed */
  bool may_see_sizes;  /* operands may be arrays whose size is set at run time */
  int64_t **sizes;     /* storage for those of the value's leaves, NULL before it is needed */
  EvalFrame **callees; /* made on demand */
  void *state;         /* what a rule keeps from run to run */
};

struct EvalFrame {
  Evaluation *evaluation;
  const HloComputation *computation;
  int depth; /* of nested calls */
  int64_t step_count;
  EvalStep *steps, *root;
  const Literal *const *arguments;  /* while it runs */
  const Literal **region_arguments; /* of eval_region_argument */
};

#define HLO_OP(id, text, min, max, traits, access, cost, flow, infer, eval, emit, lanes, attributes) \
  EvalRule eval_##eval;
#include "hlo/ir/hlo_opcode.def"
#undef HLO_OP

/* Custom calls: LAPACK's potrf, and those of sizes. */
EvalRule eval_lapack_potrf, eval_pad_to_static, eval_slice_to_dynamic;

/* The instruction names no device that is not evaluated. */
MUST_USE Status eval_check_devices(const EvalStep *step);

/* --- values --- */

/* Storage of the instruction's shape, which becomes the step's value; what it holds is left from the last run. */
Literal *eval_result(EvalStep *step);
/* The elements of a tuple without storage of their own, for values that refer to others. */
Literal *eval_tuple_result(EvalStep *step);
/* The step's value is |source| under another shape of as many elements. */
void eval_forward_value(EvalStep *step, const Literal *source);
/* The result |index| of an operation whose value is a tuple when it has several. */
Literal *eval_result_part(Literal *out, int index);
/* Copies all leaves of one shape. */
void eval_copy_leaves(Literal *to, const Literal *from);

static inline const Literal *eval_operand(const EvalStep *step, int index) {
  return &step->operands[index]->value;
}
static inline const Shape *eval_operand_shape(const EvalStep *step, int index) {
  return step->instruction->operands[index]->shape;
}

/* --- sizes set at run time --- */

/* Any operand's value has sizes. */
bool eval_sees_sizes(const EvalStep *step);
/* Runs the rule of a step that sees sizes, so that what lies beyond them does not enter, and gives its value the sizes
 * that it has. */
MUST_USE Status eval_run_sized(EvalStep *step);

/* --- errors --- */

/* "'opcode' <format>" at the instruction, STATUS_UNSUPPORTED. */
MUST_USE Status eval_error(const EvalStep *step, const char *format, ...) PRINTF_LIKE(2, 3);

/* --- called computations --- */

/* The frame of the |index|-th called computation. */
MUST_USE Status eval_callee(EvalStep *step, int index, EvalFrame **out_frame);
/* |arguments| by parameter number; the result is valid until the frame runs again. */
MUST_USE Status eval_frame_run(EvalFrame *frame, const Literal *const *arguments, const Literal **out_result);

/* Regions: computations on scalars.  Storage for the argument of parameter |number|, of the parameter's type. */
Literal *eval_region_argument(EvalFrame *frame, int number);
/* Sets an argument from element |index| of |source|, converted where the types differ. */
void eval_region_set(EvalFrame *frame, int number, const Literal *source, int64_t index);
/* Runs on the arguments set; |out_results|: the root, or its elements when it is a tuple, |count| of them. */
MUST_USE Status eval_region_run(EvalFrame *frame, const Literal **out_results, int count);
/* The scalar |value| to element |index| of |target|, converted where the types differ. */
void eval_store_scalar(Literal *target, int64_t index, const Literal *value);
/* The kernel when the region is one binary elementwise operation on its two parameters of |type|; NULL otherwise.
 * |out_opcode| may be NULL. */
LaneKernel *eval_region_kernel(const EvalFrame *frame, PrimitiveType type, HloOpcode *out_opcode);
/* The kernel when, in addition, results may be accumulated in work numbers and rounded or wrapped once at the end. */
LaneKernel *eval_accumulating_kernel(const EvalFrame *frame, PrimitiveType type);

/* --- indices --- */

enum { EVAL_MAX_RANK = SHAPE_MAX_RANK };

/* Row-major strides in elements. */
void eval_strides(const Shape *shape, int64_t *out_strides);
/* Advances |index| within |dims|, last dimension fastest; false at the end (it is then all zeroes). */
bool eval_next_index(int rank, const int64_t *dims, int64_t *index);
int64_t eval_offset(int rank, const int64_t *index, const int64_t *strides);

/* Copies a box of |dims| elements of |unit| bytes between strided places (strides in elements, any sign). */
void eval_copy_box(size_t unit, int rank, const int64_t *dims, char *to, const int64_t *to_strides, const char *from,
                   const int64_t *from_strides);
/* Fills an array with copies of one element. */
void eval_fill(Literal *target, const void *element);

/* --- contractions --- */

/* out[m][n] += a[m][k] * b[k][n], dense work numbers of |lane|; rounding as described in README.md. */
void eval_matmul(LaneClass lane, int64_t m, int64_t k, int64_t n, const void *a, const void *b, void *out);
/* The type of the sums that a dot or convolution makes: type_of_sums of its operands and its result. */
PrimitiveType eval_sum_type(const EvalStep *step);
/* The class in which sums of |type| are accumulated. */
LaneClass eval_sum_class(PrimitiveType type);
/* Loads a box of an array, row major by |dims|, converted to |type|, into dense work numbers of eval_sum_class. */
void eval_load_box(const Literal *from, int64_t start, int rank, const int64_t *dims, const int64_t *strides,
                   PrimitiveType type, void *out);
/* Stores sums of type |sum_type|, in its eval_sum_class, as elements of |type|; a sum of pred is whether any product
 * was true. */
void eval_store_sums(PrimitiveType sum_type, int64_t count, void *sums, PrimitiveType type, void *data);

#endif
