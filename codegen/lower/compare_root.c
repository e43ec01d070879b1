/* Comparisons of square roots with constants, made without the root.  Rounded roots grow with what they are of, so
 * √v < c is v < s for one number s, the least whose rounded root reaches c, which halving finds. */
#include <math.h>

#include "codegen/lower/complex_internal.h"
#include "hlo/type/float_types.h"

/* A root, perhaps rounded to f32, perhaps infinite under a condition. */
typedef struct Root {
  PrimitiveType type; /* of the root */
  bool is_narrowed;   /* from f64 to f32 */
  int32_t square;     /* what it is of */
  int32_t infinite;   /* where this holds the root counts as infinite; -1: nowhere */
} Root;

static const KernelValue *applied(const Lowering *lowering, int32_t value, HloOpcode opcode) {
  const KernelValue *info = &lowering->draft.values.data[value];
  return info->kind == KERNEL_APPLY && info->opcode == opcode ? info : NULL;
}

static bool constant_number(const Lowering *lowering, int32_t value, double *out_number) {
  const KernelValue *info = &lowering->draft.values.data[value];
  if (info->kind != KERNEL_CONSTANT || !type_is_float(info->type)) return false;
  *out_number = float_decode(info->type, info->bits[0]);
  return true;
}

/* Sums of squares: nowhere below zero, but perhaps NaN. */
static bool is_square_sum(const Lowering *lowering, int32_t value, int depth) {
  const KernelValue *square = applied(lowering, value, HLO_MULTIPLY), *sum = applied(lowering, value, HLO_ADD);
  if (square != NULL) return square->operands[0] == square->operands[1];
  if (sum == NULL || depth == 0) return false;
  return is_square_sum(lowering, sum->operands[0], depth - 1) && is_square_sum(lowering, sum->operands[1], depth - 1);
}

static bool root_of(const Lowering *lowering, int32_t value, Root *out_root) {
  enum { DEPTH = 4 };
  *out_root = (Root){.infinite = -1};
  const KernelValue *narrowed = applied(lowering, value, HLO_CONVERT);
  if (narrowed != NULL) {
    value = narrowed->operands[0];
    out_root->is_narrowed = true;
    if (narrowed->type != TYPE_F32 || lowering_type(lowering, value) != TYPE_F64) return false;
  }
  const KernelValue *choice = applied(lowering, value, HLO_SELECT);
  if (choice != NULL) {
    double chosen;
    if (!constant_number(lowering, choice->operands[1], &chosen) || chosen != INFINITY) return false;
    out_root->infinite = choice->operands[0];
    value = choice->operands[2];
  }
  const KernelValue *root = applied(lowering, value, HLO_SQRT);
  if (root == NULL || (root->type != TYPE_F32 && root->type != TYPE_F64)) return false;
  out_root->type = root->type;
  out_root->square = root->operands[0];
  return is_square_sum(lowering, out_root->square, DEPTH);
}

/* The size of a number of parts of f32 that was computed in f32 (complex_abs). */
static bool scaled_root_of(Lowering *lowering, int32_t value, Root *out_root) {
  const KernelValue *choice = applied(lowering, value, HLO_SELECT);
  if (choice == NULL || choice->type != TYPE_F32) return false;
  int32_t is_infinite = choice->operands[0], parts[2];
  const KernelValue *either = applied(lowering, is_infinite, HLO_OR);
  for (int i = 0; i < 2; i++) {
    const KernelValue *compared = either == NULL ? NULL : applied(lowering, either->operands[i], HLO_COMPARE);
    const KernelValue *size = compared == NULL ? NULL : applied(lowering, compared->operands[0], HLO_ABS);
    if (size == NULL || size->type != TYPE_F32) return false;
    parts[i] = size->operands[0];
  }
  ComplexMath math = {.lowering = lowering, .type = TYPE_F32};
  Complex z = {parts[0], parts[1]};
  if (complex_abs(&math, &z).re != value) return false;
  *out_root = (Root){TYPE_F32, false, c_norm(&math, z), is_infinite};
  return true;
}

static double rounded_root(const Root *root, double square) {
  if (root->type == TYPE_F32) return (double)sqrtf((float)square);
  return root->is_narrowed ? (double)(float)sqrt(square) : sqrt(square);
}

/* The least number whose rounded root is above |limit|, or not below it; false where there is none. */
static bool least_square(const Root *root, double limit, bool is_above, double *out_square) {
  uint64_t low = 0, high = float_encode(root->type, INFINITY); /* positive floats are ordered as their bits */
  if (!(is_above ? limit < INFINITY : limit <= INFINITY)) return false;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    double size = rounded_root(root, float_decode(root->type, middle));
    if (is_above ? size > limit : size >= limit) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  *out_square = float_decode(root->type, low);
  return true;
}

/* Whether |condition| says that a part of the complex number is infinite whose parts' squares |square| adds up. */
static bool is_infinite_part(Lowering *lowering, int32_t condition, int32_t square) {
  const KernelValue *sum = applied(lowering, square, HLO_ADD);
  if (sum == NULL) return false;
  const KernelValue *re = applied(lowering, sum->operands[0], HLO_MULTIPLY),
                    *im = applied(lowering, sum->operands[1], HLO_MULTIPLY);
  if (re == NULL || im == NULL) return false;
  ComplexMath math = {.lowering = lowering, .type = re->type};
  return c_any_infinite(&math, (Complex){re->operands[0], im->operands[0]}) == condition;
}

bool lowering_compare_root(Lowering *lowering, const int32_t operands[2], ComparisonDirection direction,
                           int32_t *out_value) {
  /* Below this a processor may take squares for zeros, if it was asked to. */
  const double least_limit = 0x1p-60;
  Root root;
  double limit, square;
  int side = constant_number(lowering, operands[1], &limit) ? 0 : 1;
  if (side == 1) direction = comparison_direction_exchanged(direction);
  if (!constant_number(lowering, operands[1 - side], &limit) || !(limit >= least_limit)) return false;
  /* What is brought near 1 before it is squared is far from limits near 1: its squares say the same as they are. */
  bool is_near = limit >= 0x1p-40 && limit <= 0x1p40;
  bool is_root = root_of(lowering, operands[side], &root);
  if (!is_root && !(is_near && scaled_root_of(lowering, operands[side], &root))) return false;
  bool is_below = direction == COMPARISON_DIRECTION_LT || direction == COMPARISON_DIRECTION_LE;
  bool is_not_below = direction == COMPARISON_DIRECTION_GT || direction == COMPARISON_DIRECTION_GE;
  bool is_above = direction == COMPARISON_DIRECTION_LE || direction == COMPARISON_DIRECTION_GT;
  if (!is_below && !is_not_below) return false;
  if (!least_square(&root, limit, is_above, &square)) return false;
  int32_t bound = lowering_constant_double(lowering, root.type, square);
  ComparisonDirection towards = is_below ? COMPARISON_DIRECTION_LT : COMPARISON_DIRECTION_GE;
  int32_t result = lowering_apply_with(lowering, HLO_COMPARE, TYPE_PRED, (int32_t[]){root.square, bound}, 2,
                                       (int64_t)towards, COMPARISON_TYPE_FLOAT);
  if (root.infinite >= 0 && is_not_below) {
    result = lowering_apply(lowering, HLO_OR, TYPE_PRED, (int32_t[]){root.infinite, result}, 2);
  } else if (root.infinite >= 0 && !is_infinite_part(lowering, root.infinite, root.square)) {
    int32_t is_finite = lowering_apply(lowering, HLO_NOT, TYPE_PRED, &root.infinite, 1);
    result = lowering_and(lowering, is_finite, result);
  }
  *out_value = result;
  return true;
}
