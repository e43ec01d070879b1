/* Elementwise operations: result element i depends on operand elements i. */
#include "hlo/infer/infer_internal.h"

enum {
  PRED = 1 << TYPE_CLASS_PRED,
  SIGNED = 1 << TYPE_CLASS_SIGNED,
  UNSIGNED = 1 << TYPE_CLASS_UNSIGNED,
  FLOAT = 1 << TYPE_CLASS_FLOAT,
  COMPLEX = 1 << TYPE_CLASS_COMPLEX,
  INTEGRAL = SIGNED | UNSIGNED
};

static Status check_class(const InferContext *context, int operand, int classes) {
  static const char *const words[] = {"pred", "signed", "unsigned", "floating", "complex"};
  RETURN_IF_ERROR(infer_check_array(context, operand));
  const Shape *shape = infer_operand(context, operand);
  if (classes & 1 << type_info(shape->type)->type_class) return STATUS_OK;
  StringBuilder wanted;
  sb_init(&wanted, context->scratch);
  for (int i = 0; i < 5; i++) {
    if (!(classes & 1 << i)) continue;
    if (wanted.size > 0) sb_append_cstring(&wanted, classes >> i == 1 ? " or " : ", ");
    sb_append_cstring(&wanted, words[i]);
  }
  return infer_error(context, "needs element type %.*s, got %s", SV_ARG(sb_view(&wanted)), type_text(shape->type));
}

/* --- one operand --- */

static Status infer_unary(const InferContext *context, int classes, const Shape **out_shape) {
  RETURN_IF_ERROR(check_class(context, 0, classes));
  *out_shape = infer_operand(context, 0);
  return STATUS_OK;
}

Status infer_unary_float(const InferContext *context, const Shape **out_shape) {
  return infer_unary(context, FLOAT, out_shape);
}

Status infer_unary_float_or_complex(const InferContext *context, const Shape **out_shape) {
  return infer_unary(context, FLOAT | COMPLEX, out_shape);
}

Status infer_unary_numeric(const InferContext *context, const Shape **out_shape) {
  return infer_unary(context, INTEGRAL | FLOAT | COMPLEX, out_shape);
}

Status infer_unary_signed(const InferContext *context, const Shape **out_shape) {
  return infer_unary(context, SIGNED | FLOAT | COMPLEX, out_shape);
}

Status infer_unary_integral(const InferContext *context, const Shape **out_shape) {
  return infer_unary(context, INTEGRAL, out_shape);
}

Status infer_unary_logical(const InferContext *context, const Shape **out_shape) {
  return infer_unary(context, PRED | INTEGRAL, out_shape);
}

/* Complex numbers become their parts, other types stay. */
static Status infer_part(const InferContext *context, int classes, const Shape **out_shape) {
  RETURN_IF_ERROR(check_class(context, 0, classes));
  const Shape *operand = infer_operand(context, 0);
  *out_shape = type_is_complex(operand->type)
                   ? shape_with_type(context->shapes, operand, type_complex_part(operand->type))
                   : operand;
  return STATUS_OK;
}

Status infer_abs(const InferContext *context, const Shape **out_shape) {
  return infer_part(context, SIGNED | FLOAT | COMPLEX, out_shape);
}

Status infer_complex_part(const InferContext *context, const Shape **out_shape) {
  return infer_part(context, FLOAT | COMPLEX, out_shape);
}

Status infer_is_finite(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(check_class(context, 0, FLOAT));
  *out_shape = shape_with_type(context->shapes, infer_operand(context, 0), TYPE_PRED);
  return STATUS_OK;
}

Status infer_convert(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_array(context, 0));
  const Shape *stated, *operand = infer_operand(context, 0);
  RETURN_IF_ERROR(infer_stated(context, &stated));
  if (!shape_is_array(stated)) return infer_error(context, "cannot make %s", infer_text(context, stated));
  if (type_is_complex(operand->type) && !type_is_complex(stated->type)) {
    return infer_error(context, "cannot make %s of %s: take 'real' first", type_text(stated->type),
                       type_text(operand->type));
  }
  *out_shape = infer_prefer_stated(context, shape_with_type(context->shapes, operand, stated->type));
  return STATUS_OK;
}

Status infer_reduce_precision(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(check_class(context, 0, FLOAT));
  int64_t exponent = hlo_instruction_int(context->instruction, HLO_ATTR_EXPONENT_BITS, 0);
  int64_t mantissa = hlo_instruction_int(context->instruction, HLO_ATTR_MANTISSA_BITS, 0);
  if (exponent < 1) {
    return infer_attr_error(context, HLO_ATTR_EXPONENT_BITS, "needs at least 1 exponent bit, got %lld",
                            (long long)exponent);
  }
  if (mantissa < 0) {
    return infer_attr_error(context, HLO_ATTR_MANTISSA_BITS, "cannot keep %lld mantissa bits", (long long)mantissa);
  }
  *out_shape = infer_prefer_stated(context, infer_operand(context, 0));
  return STATUS_OK;
}

/* copy, domain, opt-barrier: any shape, and all-reduce-done. */
Status infer_same(const InferContext *context, const Shape **out_shape) {
  *out_shape = infer_operand(context, 0);
  return STATUS_OK;
}

/* --- two operands --- */

/* The common size of two dimensions, where 1 stretches and an unbounded one takes the other's size. */
static bool merge_dimension(ShapeDraft *draft, const Shape *a, const Shape *b, int i) {
  int64_t x = a->dims[i], y = b->dims[i];
  if (x == y) {
    infer_draft_push(draft, x, infer_is_dynamic(a, i) || infer_is_dynamic(b, i));
  } else if (x == 1 || (x == SHAPE_UNBOUNDED && y != 1)) {
    infer_draft_push_dim(draft, b, i);
  } else if (y == 1 || y == SHAPE_UNBOUNDED) {
    infer_draft_push_dim(draft, a, i);
  } else {
    return false;
  }
  return true;
}

/* The dimensions of both operands put together; scalars and dimensions of size 1 stretch as in XLA's inference (the
 * verifier then refuses them).  The layout is operand 0's unless it was stretched. */
static Status infer_binary_shape(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_arrays(context, 0, 2));
  const Shape *a = infer_operand(context, 0), *b = infer_operand(context, 1);
  *out_shape = a;
  if (a == b) return STATUS_OK;
  if (!infer_types_agree(a->type, b->type)) {
    return infer_error(context, "needs operands of one element type, got %s and %s", infer_text(context, a),
                       infer_text(context, b));
  }
  PrimitiveType type = type_wider(a->type, b->type);
  ShapeDraft draft = infer_draft(context, type, a->rank > b->rank ? a->rank : b->rank);
  bool fits = a->rank == b->rank;
  if (fits) {
    for (int i = 0; i < a->rank && fits; i++) fits = merge_dimension(&draft, a, b, i);
  } else if (a->rank == 0 || b->rank == 0) {
    draft = infer_draft_like(context, type, a->rank == 0 ? b : a);
    fits = true;
  }
  if (!fits) {
    return infer_error(context, "needs operands of one shape, got %s and %s", infer_text(context, a),
                       infer_text(context, b));
  }
  *out_shape = infer_finish(context, &draft, shape_same_dims(a, b) ? &a->layout : NULL);
  return STATUS_OK;
}

static Status infer_binary_class(const InferContext *context, int classes, const Shape **out_shape) {
  RETURN_IF_ERROR(check_class(context, 0, classes));
  RETURN_IF_ERROR(check_class(context, 1, classes));
  return infer_binary_shape(context, out_shape);
}

Status infer_binary(const InferContext *context, const Shape **out_shape) {
  return infer_binary_shape(context, out_shape);
}

Status infer_binary_numeric(const InferContext *context, const Shape **out_shape) {
  return infer_binary_class(context, INTEGRAL | FLOAT | COMPLEX, out_shape);
}

Status infer_binary_float_or_complex(const InferContext *context, const Shape **out_shape) {
  return infer_binary_class(context, FLOAT | COMPLEX, out_shape);
}

Status infer_binary_integral(const InferContext *context, const Shape **out_shape) {
  return infer_binary_class(context, INTEGRAL, out_shape);
}

Status infer_binary_logical(const InferContext *context, const Shape **out_shape) {
  return infer_binary_class(context, PRED | INTEGRAL, out_shape);
}

Status infer_compare(const InferContext *context, const Shape **out_shape) {
  const Shape *shape;
  RETURN_IF_ERROR(infer_binary_shape(context, &shape));
  *out_shape = shape_with_type(context->shapes, shape, TYPE_PRED);
  return STATUS_OK;
}

Status infer_complex(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_arrays(context, 0, 2));
  PrimitiveType real = infer_operand(context, 0)->type, imag = infer_operand(context, 1)->type;
  PrimitiveType type = type_complex_of(real);
  if (type == TYPE_INVALID || real != imag) {
    return infer_error(context, "needs two parts of f32 or of f64, got %s and %s", type_text(real), type_text(imag));
  }
  const Shape *shape;
  RETURN_IF_ERROR(infer_binary_shape(context, &shape));
  *out_shape = shape_with_type(context->shapes, shape, type);
  return STATUS_OK;
}

Status infer_stochastic_convert(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(check_class(context, 0, FLOAT));
  RETURN_IF_ERROR(check_class(context, 1, UNSIGNED));
  const Shape *stated, *operand = infer_operand(context, 0), *random = infer_operand(context, 1);
  RETURN_IF_ERROR(infer_stated(context, &stated));
  if (!shape_is_array(stated)) return infer_error(context, "cannot make %s", infer_text(context, stated));
  if (type_bits(operand->type) != type_bits(random->type) || !shape_same_dims(operand, random)) {
    return infer_error(context, "needs random bits of the operand's width and shape, got %s for %s",
                       infer_text(context, random), infer_text(context, operand));
  }
  *out_shape = infer_prefer_stated(context, shape_with_type(context->shapes, operand, stated->type));
  return STATUS_OK;
}

/* --- three operands --- */

/* (min, x, max): the bounds are scalars or of x's shape. */
Status infer_clamp(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_arrays(context, 0, 3));
  const Shape *shape = infer_operand(context, 1);
  for (int i = 0; i < 3; i += 2) {
    const Shape *bound = infer_operand(context, i);
    if (infer_types_agree(bound->type, shape->type) && (bound->rank == 0 || shape_same_dims(bound, shape))) continue;
    return infer_error(context, "needs bounds like its operand %s or scalars of its type, got %s",
                       infer_text(context, shape), infer_text(context, bound));
  }
  *out_shape = shape;
  return STATUS_OK;
}

/* (pred, a, b): the predicate is a scalar, or of a's dimensions and then gives the layout. */
Status infer_select(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(check_class(context, 0, PRED));
  RETURN_IF_ERROR(infer_check_arrays(context, 1, 3));
  const Shape *pred = infer_operand(context, 0), *a = infer_operand(context, 1), *b = infer_operand(context, 2);
  if (!shape_compatible_ignoring_precision(a, b)) {
    return infer_error(context, "needs two values of one shape, got %s and %s", infer_text(context, a),
                       infer_text(context, b));
  }
  if (pred->rank != 0 && !shape_same_dims(pred, a)) {
    return infer_error(context, "needs a scalar predicate or one with the dimensions of %s, got %s",
                       infer_text(context, a), infer_text(context, pred));
  }
  *out_shape = a;
  if (a == b && pred->rank == 0) return STATUS_OK;
  ShapeDraft draft = infer_draft(context, type_wider(a->type, b->type), a->rank);
  for (int i = 0; i < a->rank; i++) {
    bool dynamic = infer_is_dynamic(a, i) || infer_is_dynamic(b, i) || (pred->rank != 0 && infer_is_dynamic(pred, i));
    infer_draft_push(&draft, a->dims[i], dynamic);
  }
  *out_shape = infer_finish(context, &draft, pred->rank != 0 ? &pred->layout : &a->layout);
  return STATUS_OK;
}
