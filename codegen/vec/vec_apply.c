/* Lane-wise operations: dispatch by opcode and class of type, by the lanes column of hlo_opcode.def. */
#include <stdio.h>

#include "codegen/vec/vec_apply_internal.h"

/* Where the code of an operation stands: at each use, or once in the module, in a function of one register's width; the
 * latter always, or only for elements of 64 bits, or for these and where there is no fma, which makes the code short.
 * INLINE_F16: at each use,
 * and the rule is right for f16 in registers, too (vec_is_half): it gives the bits that f32 rounded once has.
 * SINGLE_F16: this of one element alone, as processors take longer for a register of it than for two of f32. */
typedef enum VecPlacement { INLINE, INLINE_F16, SINGLE_F16, CALLED, CALLED_IF_DOUBLE, CALLED_IF_LONG } VecPlacement;

typedef struct VecRow {
  VecRule rule;
  VecPlacement placement;
} VecRow;

typedef struct VecRows {
  int operand_count;
  VecRow pred, integer, floating;
} VecRows;

#define NONE
#define PRED(name, placement) .pred = {vec_##name, placement},
#define INTEGER(name, placement) .integer = {vec_##name, placement},
#define FLOAT(name, placement) .floating = {vec_##name, placement},
#define COMPLEX(name, place)
static const VecRows rows[HLO_OPCODE_COUNT] = {
#define HLO_OP(id, text, min, max, traits, access, cost, flow, infer, eval, emit, lanes, attributes) \
  [HLO_##id] = {.operand_count = min, lanes},
#include "hlo/ir/hlo_opcode.def"
#undef HLO_OP
};

static const VecRow *row_of(const VecOp *op) {
  if (op->operand_type == TYPE_PRED) return &rows[op->opcode].pred;
  if (type_is_integral(op->operand_type)) return &rows[op->opcode].integer;
  return &rows[op->opcode].floating;
}

bool vec_supports(const VecOp *op) {
  return vec_type_supported(op->type) && vec_type_supported(op->operand_type) && row_of(op)->rule != NULL;
}

static bool is_inline(const VecRow *row) {
  return row->placement <= SINGLE_F16;
}

bool vec_is_cheap(const VecOp *op) {
  return is_inline(row_of(op));
}

bool vec_is_widened(const VecTarget *target, const VecOp *op, int lanes) {
  if (op->type != TYPE_F16 && op->operand_type != TYPE_F16) return false;
  VecPlacement placement = row_of(op)->placement;
  return !target->has_f16_arithmetic || (placement != INLINE_F16 && (placement != SINGLE_F16 || lanes > 1));
}

/* --- operations as functions --- */

#define MAX_CALL_OPERANDS 2

/* The function for one register of elements. */
static LLVMValueRef function_of(const VecBuilder *vec, const VecOp *op, const VecPart *part, LLVMTypeRef type,
                                int lanes) {
  char name[64];
  snprintf(name, sizeof name, "xlac.%s%s.%s.%d", hlo_opcode_text(op->opcode), part->suffix, type_text(op->operand_type),
           lanes);
  VecFunction function = vec_function_begin(vec, name, type);
  if (function.is_new) {
    LLVMValueRef operands[MAX_CALL_OPERANDS];
    for (unsigned i = 0; i < LLVMCountParams(function.value); i++) operands[i] = LLVMGetParam(function.value, i);
    LLVMBuildRet(function.vec.builder, part->rule(&function.vec, op, operands, lanes));
    vec_function_end(&function);
  }
  return function.value;
}

LLVMValueRef vec_call(const VecBuilder *vec, const VecOp *op, const VecPart *part, const LLVMValueRef *operands,
                      int lanes) {
  VecOp plain = *op;
  if (type_is_float(op->type) && op->type != TYPE_F64) plain.type = plain.operand_type = TYPE_F32;
  int count = rows[op->opcode].operand_count;
  LLVMTypeRef element = vec_type(vec, plain.type, 1), types[MAX_CALL_OPERANDS];
  int bits = type_storage_bytes(plain.type) * 8, full = (lanes * bits <= 128 ? 128 : vec->target->vector_bits) / bits;
  if (lanes > full) {
    LLVMValueRef low[MAX_CALL_OPERANDS], high[MAX_CALL_OPERANDS];
    for (int i = 0; i < count; i++) {
      low[i] = vec_slice(vec, operands[i], 0, lanes / 2);
      high[i] = vec_slice(vec, operands[i], lanes / 2, lanes / 2);
    }
    return vec_join(vec, vec_call(vec, op, part, low, lanes / 2), vec_call(vec, op, part, high, lanes / 2), lanes / 2);
  }
  LLVMValueRef arguments[MAX_CALL_OPERANDS];
  for (int i = 0; i < count; i++) {
    types[i] = vec_of(element, full);
    arguments[i] = lanes < full ? vec_pad(vec, operands[i], lanes, full) : operands[i];
  }
  LLVMTypeRef type = LLVMFunctionType(types[0], types, (unsigned)count, false);
  LLVMValueRef function = function_of(vec, &plain, part, type, full);
  LLVMValueRef result = LLVMBuildCall2(vec->builder, type, function, arguments, (unsigned)count, "");
  return lanes < full ? vec_slice(vec, result, 0, lanes) : result;
}

/* A divisor known when compiling becomes a multiplication, a small exponent some; few lanes are divided one by one,
 * which no function has to be called for. */
static bool is_called(const VecBuilder *vec, const VecOp *op, const VecRow *row, const LLVMValueRef *operands,
                      int lanes) {
  if (op->opcode == HLO_POWER && vec_power_is_short(op, operands[1])) return false;
  if (op->opcode == HLO_REMAINDER && vec_remainder_is_short(op, operands[1])) return false;
  bool is_short = row->placement == CALLED_IF_DOUBLE || (row->placement == CALLED_IF_LONG && vec->target->has_fma);
  if (is_short && type_storage_bytes(op->type) < 8) return false;
  if (!is_inline(row) && type_is_integral(op->type) && op->opcode != HLO_POWER)
    return lanes > VEC_FEW_QUOTIENTS && !LLVMIsConstant(operands[1]);
  return !is_inline(row);
}

/* What the rule gives is a value of the type. */
static bool is_rounded(const VecOp *op) {
  if (op->opcode == HLO_CONVERT) return type_converts_exactly(op->operand_type, op->type);
  return hlo_opcode_has(op->opcode, OP_EXACT);
}

/* Of f16 in registers by way of f32, as where the processor does not compute in f16. */
static LLVMValueRef apply_widened(const VecBuilder *vec, const VecOp *op, const LLVMValueRef *operands, int lanes) {
  VecTarget target = *vec->target;
  target.has_f16_arithmetic = false;
  VecBuilder wide = *vec;
  wide.target = &target;
  int count = rows[op->opcode].operand_count;
  LLVMValueRef floats[MAX_CALL_OPERANDS];
  XLAC_CHECK(count <= MAX_CALL_OPERANDS);
  for (int i = 0; i < count; i++)
    floats[i] = op->operand_type == TYPE_F16 ? vec_half_to_float(&wide, operands[i], lanes) : operands[i];
  LLVMValueRef result = vec_apply(&wide, op, floats, lanes);
  return op->type == TYPE_F16 ? vec_float_to_half(&wide, result, lanes) : result;
}

LLVMValueRef vec_apply(const VecBuilder *vec, const VecOp *op, const LLVMValueRef *operands, int lanes) {
  const VecRow *row = row_of(op);
  if (row->rule == NULL) XLAC_BUG("no code for '%s' of %s", hlo_opcode_text(op->opcode), type_text(op->operand_type));
  if (vec->target->has_f16_arithmetic && vec_is_widened(vec->target, op, lanes))
    return apply_widened(vec, op, operands, lanes);
  bool calls = is_called(vec, op, row, operands, lanes);
  LLVMValueRef result =
      calls ? vec_call(vec, op, &(VecPart){row->rule, ""}, operands, lanes) : row->rule(vec, op, operands, lanes);
  VecNan nan = op->operand_type == TYPE_BF16 ? VEC_NAN_SHORT : VEC_NAN_ANY;
  if (!is_rounded(op)) result = vec_round_float(vec, op->type, result, nan, lanes);
  return vec_wrap_narrow(vec, op->type, result, lanes);
}
