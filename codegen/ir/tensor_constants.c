#include "codegen/ir/tensor_constants.h"

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

XlacTensor tensor_of_leaf(const TensorLeaf *leaf, Arena *arena) {
  const Shape *shape = leaf->shape;
  bool is_array = shape_is_array(shape);
  int64_t element = is_array ? type_storage_bytes(shape->type) : 1;
  int64_t rank = is_array ? shape->rank : 0;
  return (XlacTensor){
      .name = sv_copy(arena, leaf->name).data,
      .type = is_array ? (int32_t)shape->type : 0,
      .rank = (int32_t)rank,
      .dims = rank > 0 ? ARENA_COPY_ARRAY(arena, int64_t, shape->dims, rank) : NULL,
      .minor_to_major = rank > 0 ? ARENA_COPY_ARRAY(arena, int64_t, shape->layout.minor_to_major, rank) : NULL,
      .bytes = is_array ? shape_byte_size(shape) : 0,
      .alignment = type_is_complex(shape->type) ? element / 2 : element,
      .alias = leaf->alias};
}

static LLVMValueRef tensor_value(const TensorConstants *builder, const TensorLeaf *leaf) {
  XlacTensor tensor = tensor_of_leaf(leaf, builder->arena);
  LLVMValueRef fields[] = {
      tensor_text_constant(builder, leaf->name),
      tensor_int(builder, 32, tensor.type),
      tensor_int(builder, 32, tensor.rank),
      ints_value(builder, tensor.dims, tensor.rank),
      ints_value(builder, tensor.minor_to_major, tensor.rank),
      tensor_int(builder, 64, tensor.bytes),
      tensor_int(builder, 64, tensor.alignment),
      tensor_int(builder, 64, tensor.alias),
  };
  return LLVMConstStructInContext(builder->context, fields, sizeof fields / sizeof *fields, false);
}

LLVMValueRef tensor_array(const TensorConstants *builder, const TensorLeaf *leaves, int64_t count) {
  if (count == 0) return LLVMConstNull(LLVMPointerTypeInContext(builder->context, 0));
  LLVMValueRef *elements = ARENA_NEW_ARRAY(builder->arena, LLVMValueRef, count);
  for (int64_t i = 0; i < count; i++) elements[i] = tensor_value(builder, &leaves[i]);
  return tensor_global(builder, LLVMConstArray2(LLVMTypeOf(elements[0]), elements, (uint64_t)count), "tensors");
}
