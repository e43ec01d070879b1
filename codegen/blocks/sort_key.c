/* Recognising comparators that order keys. */
#include "codegen/blocks/sort_internal.h"

/* Parameters 2k and 2k + 1 are elements of operand k. */
typedef struct Likeness {
  const Kernel *kernel;
  int32_t *partner; /* by value: the one that it was found to be like, -1 */
  int operand;      /* whose elements both read; -1: none so far */
} Likeness;

static bool are_buffers_alike(Likeness *likeness, int32_t a, int32_t b) {
  int first = likeness->kernel->buffers[a].operand, second = likeness->kernel->buffers[b].operand;
  if (first / 2 != second / 2 || first % 2 == second % 2) return false;
  if (likeness->operand >= 0 && likeness->operand != first / 2) return false;
  likeness->operand = first / 2;
  return true;
}

/* |b| is |a| with the other element of the same operand. */
static bool are_alike(Likeness *likeness, int32_t a, int32_t b) {
  const KernelValue *x = &likeness->kernel->values[a], *y = &likeness->kernel->values[b];
  if (likeness->partner[a] >= 0) return likeness->partner[a] == b;
  if (x->kind != y->kind || x->type != y->type || x->operand_count != y->operand_count) return false;
  bool alike = false;
  if (x->kind == KERNEL_CONSTANT) {
    alike = a == b;
  } else if (x->kind == KERNEL_LOAD) {
    alike = are_buffers_alike(likeness, x->buffer, y->buffer);
  } else if (x->kind == KERNEL_APPLY) {
    alike = x->opcode == y->opcode && x->params[0] == y->params[0] && x->params[1] == y->params[1];
    for (int i = 0; alike && i < x->operand_count; i++) alike = are_alike(likeness, x->operands[i], y->operands[i]);
  }
  if (alike) likeness->partner[a] = b;
  return alike;
}

/* The parity of the parameters that |value| reads: 0 the first of each pair, 1 the second; -1 none, 2 both. */
static int parity_of(const Kernel *kernel, int32_t value) {
  const KernelValue *v = &kernel->values[value];
  if (v->kind == KERNEL_LOAD) return kernel->buffers[v->buffer].operand % 2;
  int parity = -1;
  for (int i = 0; v->kind == KERNEL_APPLY && i < v->operand_count; i++) {
    int other = parity_of(kernel, v->operands[i]);
    if (other < 0) continue;
    parity = parity < 0 || parity == other ? other : 2;
  }
  return parity;
}

/* Those that are 16 bits in memory, whatever they are in registers. */
static bool is_short_float(PrimitiveType type) {
  return type == TYPE_F16 || type == TYPE_BF16;
}

static int number_bits(PrimitiveType type) {
  if (is_short_float(type)) return 16;
  if (type_is_float(type)) return type == TYPE_F64 ? 64 : 32; /* as in registers */
  int bits = type_bits(type);
  return bits <= 8 ? 8 : bits;
}

/* Not worth looking at: what follows takes time that grows with paths. */
enum { MAX_VALUES = 64 };

SortKey sort_key(const Kernel *comparator) {
  SortKey key = {.operand = -1};
  const KernelValue *root = &comparator->values[comparator->stages[0].stores[0].value];
  if (root->kind != KERNEL_APPLY || root->opcode != HLO_COMPARE || comparator->value_count > MAX_VALUES) return key;
  ComparisonDirection direction = (ComparisonDirection)root->params[0];
  PrimitiveType type = comparator->values[root->operands[0]].type;
  if (direction != COMPARISON_DIRECTION_LT && direction != COMPARISON_DIRECTION_GT) return key;
  if (type != TYPE_PRED && !type_is_integral(type) && !type_is_float(type)) return key;
  int32_t partner[MAX_VALUES];
  for (int v = 0; v < comparator->value_count; v++) partner[v] = -1;
  Likeness likeness = {comparator, partner, -1};
  int parity = parity_of(comparator, root->operands[0]);
  if (parity != 0 && parity != 1) return key;
  if (!are_alike(&likeness, root->operands[0], root->operands[1]) || likeness.operand < 0) return key;
  bool is_swapped = parity == 1;
  return (SortKey){
      .is_known = true,
      .value = root->operands[is_swapped ? 1 : 0],
      .operand = likeness.operand,
      .descends = (direction == COMPARISON_DIRECTION_GT) != is_swapped,
      .zeros_are_equal = type_is_float(type) && root->params[1] != COMPARISON_TYPE_TOTALORDER,
      .bits = number_bits(type),
  };
}

/* +0 in place of what compares equal to it: -0, and subnormals where they count as zeros. */
static LLVMValueRef with_one_zero(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, int lanes) {
  VecOp equals = {HLO_COMPARE, TYPE_PRED, type, {COMPARISON_DIRECTION_EQ, COMPARISON_TYPE_FLOAT}};
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(value));
  LLVMValueRef is_zero = vec_apply(vec, &equals, (LLVMValueRef[]){value, zero}, lanes);
  return LLVMBuildSelect(vec->builder, is_zero, zero, value, "");
}

LLVMValueRef sort_key_number(const VecBuilder *vec, const Kernel *comparator, const SortKey *key, LLVMValueRef value,
                             int lanes) {
  LLVMBuilderRef b = vec->builder;
  PrimitiveType type = comparator->values[key->value].type;
  LLVMTypeRef scalar = LLVMIntTypeInContext(vec->context, (unsigned)key->bits);
  LLVMTypeRef number = lanes > 1 ? LLVMVectorType(scalar, (unsigned)lanes) : scalar;
  LLVMValueRef sign = vec_splat(vec, LLVMConstInt(scalar, UINT64_C(1) << (key->bits - 1), false), lanes);
  if (type_is_float(type)) {
    if (key->zeros_are_equal) value = with_one_zero(vec, type, value, lanes);
    VecOp bits = {HLO_BITCAST_CONVERT, TYPE_U16, type, {0, 0}};
    value = is_short_float(type) ? vec_apply(vec, &bits, &value, lanes) : LLVMBuildBitCast(b, value, number, "");
    LLVMValueRef last = vec_splat(vec, LLVMConstInt(scalar, (unsigned long long)key->bits - 1, false), lanes);
    value = LLVMBuildXor(b, value, LLVMBuildOr(b, LLVMBuildAShr(b, value, last, ""), sign, ""), "");
  } else {
    if (type == TYPE_PRED) value = LLVMBuildZExt(b, value, number, "");
    if (type_is_signed(type)) value = LLVMBuildXor(b, value, sign, "");
  }
  return key->descends ? LLVMBuildNot(b, value, "") : value;
}
