#include "codegen/ir/tensor_constants.h"

#include "xlac/abi.h"

_Static_assert((int)TYPE_PRED == (int)XLAC_PRED && (int)TYPE_BF16 == (int)XLAC_BF16 &&
                   (int)TYPE_F8E8M0FNU == (int)XLAC_F8E8M0FNU && (int)TYPE_C128 == (int)XLAC_C128,
               "the ABI numbers element types as primitive_type.def does");

LLVMValueRef tensor_int(const TensorConstants *builder, int bits, int64_t value) {
  return LLVMConstInt(LLVMIntTypeInContext(builder->context, (unsigned)bits), (unsigned long long)value, true);
}

LLVMValueRef tensor_global(const TensorConstants *builder, LLVMValueRef initializer, const char *name) {
  LLVMValueRef global = LLVMAddGlobal(builder->module, LLVMTypeOf(initializer), name);
  LLVMSetInitializer(global, initializer);
  LLVMSetGlobalConstant(global, true);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  return global;
}

LLVMValueRef tensor_text_constant(const TensorConstants *builder, StringView text) {
  return tensor_global(builder, LLVMConstStringInContext2(builder->context, text.data, text.size, false), "name");
}

static LLVMValueRef ints_value(const TensorConstants *builder, const int64_t *values, int count) {
  LLVMTypeRef type = LLVMInt64TypeInContext(builder->context);
  LLVMValueRef *elements = ARENA_NEW_ARRAY(builder->arena, LLVMValueRef, count + 1);
  for (int i = 0; i < count; i++) elements[i] = tensor_int(builder, 64, values[i]);
  if (count == 0) return LLVMConstNull(LLVMPointerTypeInContext(builder->context, 0));
  return tensor_global(builder, LLVMConstArray2(type, elements, (uint64_t)count), "dims");
}

static LLVMValueRef tensor_value(const TensorConstants *builder, const TensorLeaf *leaf) {
  const Shape *shape = leaf->shape;
  bool is_array = shape_is_array(shape);
  int64_t element = is_array ? type_storage_bytes(shape->type) : 1;
  int64_t alignment = type_is_complex(shape->type) ? element / 2 : element;
  LLVMValueRef fields[] = {
      tensor_text_constant(builder, leaf->name),
      tensor_int(builder, 32, is_array ? (int64_t)shape->type : 0),
      tensor_int(builder, 32, shape->rank),
      ints_value(builder, shape->dims, shape->rank),
      ints_value(builder, shape->layout.minor_to_major, is_array ? shape->rank : 0),
      tensor_int(builder, 64, is_array ? shape_byte_size(shape) : 0),
      tensor_int(builder, 64, alignment),
      tensor_int(builder, 64, leaf->alias),
  };
  return LLVMConstStructInContext(builder->context, fields, sizeof fields / sizeof *fields, false);
}

LLVMValueRef tensor_array(const TensorConstants *builder, const TensorLeaf *leaves, int64_t count) {
  if (count == 0) return LLVMConstNull(LLVMPointerTypeInContext(builder->context, 0));
  LLVMValueRef *elements = ARENA_NEW_ARRAY(builder->arena, LLVMValueRef, count);
  for (int64_t i = 0; i < count; i++) elements[i] = tensor_value(builder, &leaves[i]);
  return tensor_global(builder, LLVMConstArray2(LLVMTypeOf(elements[0]), elements, (uint64_t)count), "tensors");
}
