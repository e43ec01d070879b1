/* Constants of an object that tell its caller of arrays: XlacTensor and what it is made of (xlac/abi.h). */
#ifndef XLAC_CODEGEN_IR_TENSOR_CONSTANTS_H
#define XLAC_CODEGEN_IR_TENSOR_CONSTANTS_H

#include <llvm-c/Core.h>

#include "hlo/type/shape.h"
#include "xlac/abi.h"

typedef struct TensorConstants {
  LLVMContextRef context;
  LLVMModuleRef module;
  Arena *arena; /* scratch */
} TensorConstants;

typedef struct TensorLeaf {
  StringView name;
  const Shape *shape;
  int64_t alias; /* -1: none */
} TensorLeaf;

LLVMValueRef tensor_int(const TensorConstants *constants, int bits, int64_t value);
/* The address of a private constant. */
LLVMValueRef tensor_global(const TensorConstants *constants, LLVMValueRef initializer, const char *name);
/* The address of zero-terminated text. */
LLVMValueRef tensor_text_constant(const TensorConstants *constants, StringView text);
/* What the constants say of |leaf|, in |arena|. */
XlacTensor tensor_of_leaf(const TensorLeaf *leaf, Arena *arena);
/* The address of an array of XlacTensor; null when there are none. */
LLVMValueRef tensor_array(const TensorConstants *constants, const TensorLeaf *leaves, int64_t count);

#endif
