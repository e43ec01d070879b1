/* What the rules of shape inference share: their signature, located errors, checks of operands and attributes, shapes
 * being made. */
#ifndef XLAC_HLO_INFER_INFER_INTERNAL_H
#define XLAC_HLO_INFER_INFER_INTERNAL_H

#include "hlo/infer/hlo_infer.h"

typedef struct InferContext {
  const HloInstruction *instruction;
  ShapeTable *shapes;
  Arena *scratch;
  DiagSink *diag;
} InferContext;

/* One rule.  hlo_infer_shape has seen to it that the number of operands fits the opcode's row, every operand has a
 * shape and required attributes are present; everything else is the rule's to check.  The instruction's own shape may
 * be NULL. */
typedef Status InferRule(const InferContext *context, const Shape **out_shape);

#define HLO_OP(id, text, min, max, traits, access, cost, flow, infer, eval, emit, lanes, attributes) \
  InferRule infer_##infer;
#include "hlo/ir/hlo_opcode.def"
#undef HLO_OP

/* --- errors: "'opcode' <format>", code infer-<opcode>, at the instruction or at one of its attributes --- */

MUST_USE Status infer_error(const InferContext *context, const char *format, ...) PRINTF_LIKE(2, 3);
MUST_USE Status infer_attr_error(const InferContext *context, HloAttrId id, const char *format, ...) PRINTF_LIKE(3, 4);
/* The text of |shape| for messages; wide tuples are cut short. */
const char *infer_shape_text(Arena *scratch, const Shape *shape, bool with_layout);
/* Without layouts. */
const char *infer_text(const InferContext *context, const Shape *shape);

/* --- operands --- */

const Shape *infer_operand(const InferContext *context, int index);
MUST_USE Status infer_check_array(const InferContext *context, int index);
MUST_USE Status infer_check_arrays(const InferContext *context, int first, int end);
MUST_USE Status infer_check_token(const InferContext *context, int index);
/* A rank-0 array of an integer type. */
MUST_USE Status infer_check_index(const InferContext *context, int index);

/* --- types and sizes --- */

/* Equal, or both floating. */
bool infer_types_agree(PrimitiveType a, PrimitiveType b);
/* The type of dot and convolution: the stated one, whichever it is, or the wider one of operands 0 and 1. */
PrimitiveType infer_contraction_type(const InferContext *context);
/* Equal, or one of them unbounded. */
bool infer_sizes_agree(int64_t a, int64_t b);
bool infer_is_dynamic(const Shape *shape, int dimension);

/* --- attributes --- */

/* Marks the dimensions of an INT64_LIST attribute in |seen| (of |rank| entries); each must be in range and not marked
 * before. */
MUST_USE Status infer_mark_dimensions(const InferContext *context, HloAttrId id, int rank, bool *seen);
/* The only entry of 'dimensions', in range of |rank|. */
MUST_USE Status infer_one_dimension(const InferContext *context, int rank, int *out_dimension);
bool infer_list_is_sorted(Int64List list); /* strictly */

/* --- the stated shape --- */

/* An error when the text states none. */
MUST_USE Status infer_stated(const InferContext *context, const Shape **out_stated);
/* The stated shape where it is compatible with |inferred|, else |inferred|: explicit rules end with it. */
const Shape *infer_prefer_stated(const InferContext *context, const Shape *inferred);

/* --- called computations --- */

MUST_USE Status infer_callee(const InferContext *context, HloAttrId id, const HloComputation **out_callee);
/* That |callee| has |count| parameters, numbered without gaps, and a root. */
MUST_USE Status infer_check_callee(const InferContext *context, HloAttrId id, const HloComputation *callee,
                                   int64_t count);
MUST_USE Status infer_callee_parameter_mismatch(const InferContext *context, HloAttrId id, const HloComputation *callee,
                                                int64_t parameter, const Shape *expected);
/* A reducer of |count| accumulators: 2 × count scalar parameters, accumulators first, and as many scalar results (a
 * tuple when count > 1), agreeing with the initial values and element types up to floating point precision. */
MUST_USE Status infer_check_reducer(const InferContext *context, HloAttrId id, int count, const Shape *const *inits,
                                    const PrimitiveType *element_types, const HloComputation **out_reducer);
/* The type of result |index| of a computation checked by infer_check_reducer. */
PrimitiveType infer_reducer_type(const HloComputation *reducer, int index);

/* --- shapes being made --- */

typedef struct ShapeDraft {
  PrimitiveType type;
  int rank, capacity;
  int64_t *dims;
  bool *dynamic;
} ShapeDraft;

ShapeDraft infer_draft(const InferContext *context, PrimitiveType type, int capacity);
ShapeDraft infer_draft_like(const InferContext *context, PrimitiveType type, const Shape *shape);
void infer_draft_push(ShapeDraft *draft, int64_t size, bool dynamic);
void infer_draft_push_dim(ShapeDraft *draft, const Shape *shape, int64_t dimension);
/* Interned; |layout| NULL means default. */
const Shape *infer_finish(const InferContext *context, const ShapeDraft *draft, const Layout *layout);

/* The shape that the 'window' attribute makes of |base|, with the given element type. */
MUST_USE Status infer_window_shape(const InferContext *context, const Shape *base, PrimitiveType type,
                                   const Shape **out_shape);

#endif
