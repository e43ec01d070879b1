/* Rules of lane-wise operations, by class of type. */
#ifndef XLAC_CODEGEN_VEC_VEC_APPLY_INTERNAL_H
#define XLAC_CODEGEN_VEC_VEC_APPLY_INTERNAL_H

#include "codegen/vec/vec_internal.h"

/* The operation on register values; float results need not be rounded to f16 or bf16, nor integers wrapped below a
 * byte: vec_apply does. */
typedef LLVMValueRef (*VecRule)(const VecBuilder *vec, const VecOp *op, const LLVMValueRef *operands, int lanes);

#define VEC_RULE(name) \
  LLVMValueRef name(const VecBuilder *vec, const VecOp *op, const LLVMValueRef *operands, int lanes)

/* vec_compare.c, vec_convert.c: of any class; vec_integer.c; vec_float.c, vec_math_*.c. */
#define NONE
#define PRED(name, placement) VEC_RULE(vec_##name);
#define INTEGER(name, placement) VEC_RULE(vec_##name);
#define FLOAT(name, placement) VEC_RULE(vec_##name);
#define COMPLEX(name, place)
#define HLO_OP(id, text, min, max, traits, access, cost, flow, infer, eval, emit, lanes, attributes) lanes
#include "hlo/ir/hlo_opcode.def"
#undef HLO_OP
#undef COMPLEX
#undef FLOAT
#undef INTEGER
#undef PRED
#undef NONE

/* What a function of the module computes of an operation: all of it where |suffix| is empty. */
typedef struct VecPart {
  VecRule rule;
  const char *suffix; /* of the operation in the function's name */
} VecPart;

/* The rule of |part| on register values by calls of a function that stands once in the module, with pieces of a
 * register's width, a register of 128 bits where that is enough. */
LLVMValueRef vec_call(const VecBuilder *vec, const VecOp *op, const VecPart *part, const LLVMValueRef *operands,
                      int lanes);

/* So many lanes of integers of 64 bits are divided one by one. */
#define VEC_FEW_QUOTIENTS 4

/* Whether vec_math_pow is a few products for these exponents, constants, rather than a function. */
bool vec_power_is_short(const VecOp *op, LLVMValueRef exponents);
/* Whether vec_float_remainder is a few operations for these divisors, constants, rather than a function. */
bool vec_remainder_is_short(const VecOp *op, LLVMValueRef divisors);

/* s1, s2, s4, u1 …: back into the range of the type, extended to the byte. */
LLVMValueRef vec_wrap_narrow(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, int lanes);

#endif
