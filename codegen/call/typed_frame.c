/* Frames of typed calls.  What is known stands in one constant: XLA_FFI_CallFrame, an XLA_FFI_Buffer for each leaf and
 * the two arrays of their addresses; a call copies it to its stack and fills in the addresses. */
#include "codegen/call/call_internal.h"
#include "hlo/ir/call_attributes.h"
#include "xlac/ffi.h"

#define FRAME_BYTES offsetof(XLA_FFI_CallFrame, future)

static const int32_t data_types[PRIMITIVE_TYPE_COUNT] = {
#define HAS(type) [TYPE_##type] = XLA_FFI_DataType_##type
    HAS(PRED),          HAS(S1),     HAS(S2),         HAS(S4),         HAS(S8),     HAS(S16),
    HAS(S32),           HAS(S64),    HAS(U1),         HAS(U2),         HAS(U4),     HAS(U8),
    HAS(U16),           HAS(U32),    HAS(U64),        HAS(F16),        HAS(BF16),   HAS(F32),
    HAS(F64),           HAS(F8E5M2), HAS(F8E4M3),     HAS(C64),        HAS(F8E3M4), HAS(F8E4M3FN),
    HAS(F8E4M3B11FNUZ), HAS(TOKEN),  HAS(F8E5M2FNUZ), HAS(F8E4M3FNUZ), HAS(C128),   HAS(F4E2M1FN),
    HAS(F8E8M0FNU),
#undef HAS
};

/* --- constants --- */

static LLVMValueRef null_pointer(const CallCode *code) {
  return LLVMConstNull(code->pointer);
}

static LLVMValueRef struct_of(const CallCode *code, LLVMValueRef *fields, unsigned count) {
  return LLVMConstStructInContext(code->context, fields, count, false);
}

/* The address of an array; null when it is empty. */
static LLVMValueRef array_of(const CallCode *code, LLVMTypeRef type, LLVMValueRef *values, int64_t count) {
  if (count == 0) return null_pointer(code);
  return call_constant(code, LLVMConstArray2(type, values, (uint64_t)count));
}

static LLVMValueRef repeated_int(const CallCode *code, int32_t value, int64_t count) {
  LLVMValueRef *values = ARENA_NEW_ARRAY(code->arena, LLVMValueRef, count + 1);
  for (int64_t i = 0; i < count; i++) values[i] = call_int(code, code->i32, value);
  return array_of(code, code->i32, values, count);
}

/* --- attributes --- */

static LLVMValueRef bytes_of(const CallCode *code, const void *data, int64_t size) {
  return call_constant(code, LLVMConstStringInContext2(code->context, data, (size_t)size, true));
}

static LLVMValueRef span_of(const CallCode *code, const void *data, int64_t size) {
  LLVMValueRef fields[] = {bytes_of(code, data, size), call_int(code, code->i64, size)};
  return call_constant(code, struct_of(code, fields, 2));
}

static LLVMValueRef dictionary_of(const CallCode *code, const CallAttribute *dictionary);

/* What stands in XLA_FFI_Attrs.attrs. */
static LLVMValueRef attribute_of(const CallCode *code, const CallAttribute *attribute) {
  int64_t bytes = attribute->count * type_storage_bytes(attribute->type);
  LLVMValueRef type = call_int(code, code->i32, data_types[attribute->type]);
  switch (attribute->kind) {
    case CALL_ATTRIBUTE_STRING: return span_of(code, attribute->data, attribute->count);
    case CALL_ATTRIBUTE_DICTIONARY: return call_constant(code, dictionary_of(code, attribute));
    case CALL_ATTRIBUTE_SCALAR: {
      LLVMValueRef fields[] = {type, bytes_of(code, attribute->data, bytes)};
      return call_constant(code, struct_of(code, fields, 2));
    }
    case CALL_ATTRIBUTE_ARRAY: {
      LLVMValueRef fields[] = {type, call_int(code, code->i64, attribute->count),
                               bytes_of(code, attribute->data, bytes)};
      return call_constant(code, struct_of(code, fields, 3));
    }
  }
  XLAC_BUG("unknown kind of attribute");
}

static int32_t attribute_type(CallAttributeKind kind) {
  static const int32_t types[] = {[CALL_ATTRIBUTE_SCALAR] = XLA_FFI_AttrType_SCALAR,
                                  [CALL_ATTRIBUTE_ARRAY] = XLA_FFI_AttrType_ARRAY,
                                  [CALL_ATTRIBUTE_STRING] = XLA_FFI_AttrType_STRING,
                                  [CALL_ATTRIBUTE_DICTIONARY] = XLA_FFI_AttrType_DICTIONARY};
  return types[kind];
}

/* XLA_FFI_Attrs */
static LLVMValueRef dictionary_of(const CallCode *code, const CallAttribute *dictionary) {
  int64_t count = dictionary->count;
  LLVMValueRef *types = ARENA_NEW_ARRAY(code->arena, LLVMValueRef, count + 1);
  LLVMValueRef *names = ARENA_NEW_ARRAY(code->arena, LLVMValueRef, count + 1);
  LLVMValueRef *values = ARENA_NEW_ARRAY(code->arena, LLVMValueRef, count + 1);
  for (int64_t i = 0; i < count; i++) {
    const CallAttribute *entry = &dictionary->entries[i];
    types[i] = call_int(code, code->i32, attribute_type(entry->kind));
    names[i] = span_of(code, entry->name.data, (int64_t)entry->name.size);
    values[i] = attribute_of(code, entry);
  }
  LLVMValueRef fields[] = {call_int(code, code->i64, (int64_t)sizeof(XLA_FFI_Attrs)),
                           null_pointer(code),
                           call_int(code, code->i64, count),
                           array_of(code, code->i32, types, count),
                           array_of(code, code->pointer, names, count),
                           array_of(code, code->pointer, values, count)};
  return struct_of(code, fields, 6);
}

/* --- buffers and the frame --- */

static Status buffer_of(const CallCode *code, const Shape *shape, LLVMValueRef *out) {
  if (data_types[shape->type] == 0)
    return diag_error(code->diag, STATUS_UNSUPPORTED, code->call->loc, "unsupported-type",
                      "typed custom calls know no '%s'", type_text(shape->type));
  LLVMValueRef *dims = ARENA_NEW_ARRAY(code->arena, LLVMValueRef, shape->rank + 1);
  for (int i = 0; i < shape->rank; i++) dims[i] = call_int(code, code->i64, shape->dims[i]);
  LLVMValueRef fields[] = {call_int(code, code->i64, (int64_t)sizeof(XLA_FFI_Buffer)),
                           null_pointer(code),
                           call_int(code, code->i32, data_types[shape->type]),
                           null_pointer(code),
                           call_int(code, code->i64, shape->rank),
                           array_of(code, code->i64, dims, shape->rank)};
  *out = struct_of(code, fields, 6);
  return STATUS_OK;
}

/* XLA_FFI_Args or XLA_FFI_Rets, the array of addresses left out. */
static LLVMValueRef list_of(const CallCode *code, int64_t count) {
  LLVMValueRef fields[] = {call_int(code, code->i64, (int64_t)sizeof(XLA_FFI_Args)), null_pointer(code),
                           call_int(code, code->i64, count), repeated_int(code, XLA_FFI_ArgType_BUFFER, count),
                           null_pointer(code)};
  return struct_of(code, fields, 5);
}

static LLVMValueRef frame_of(const CallCode *code, const CallAttribute *attributes) {
  LLVMValueRef fields[] = {call_int(code, code->i64, (int64_t)FRAME_BYTES),
                           null_pointer(code),
                           LLVMGetNamedGlobal(code->module, "xlac.ffi.api"),
                           null_pointer(code),
                           call_int(code, code->i32, XLA_FFI_ExecutionStage_EXECUTE),
                           list_of(code, code->operand_count),
                           list_of(code, code->count - code->operand_count),
                           dictionary_of(code, attributes),
                           null_pointer(code)};
  return struct_of(code, fields, 9);
}

enum { EXTENSION_OFFSET = (int)offsetof(XLA_FFI_CallFrame, extension_start) };

/* An XlacWorkExtension on the stack; its address. */
static LLVMValueRef work_extension(const CallCode *code, int64_t bytes) {
  LLVMTypeRef type = LLVMArrayType2(LLVMInt8TypeInContext(code->context), sizeof(XlacWorkExtension));
  LLVMValueRef extension = LLVMBuildAlloca(code->builder, type, "");
  LLVMSetAlignment(extension, 8);
  call_store(code, call_int(code, code->i64, (int64_t)sizeof(XlacWorkExtension)), extension, 0);
  call_store(code, call_int(code, code->i32, XLAC_FFI_EXTENSION_WORK), extension,
             (int64_t)offsetof(XlacWorkExtension, base.type));
  call_store(code, null_pointer(code), extension, (int64_t)offsetof(XlacWorkExtension, base.next));
  call_store(code, code->work, extension, (int64_t)offsetof(XlacWorkExtension, data));
  call_store(code, call_int(code, code->i64, bytes), extension, (int64_t)offsetof(XlacWorkExtension, bytes));
  return extension;
}

Status call_typed_frame(const CallCode *code, LLVMValueRef *out_frame) {
  CallAttribute attributes;
  RETURN_IF_ERROR(call_attributes_parse(code->arena, code->call, code->diag, &attributes));
  LLVMValueRef *parts = ARENA_NEW_ARRAY(code->arena, LLVMValueRef, 2 * code->count + 1);
  parts[0] = frame_of(code, &attributes);
  for (int i = 0; i < code->count; i++) {
    RETURN_IF_ERROR(buffer_of(code, code->leaves[i].shape, &parts[1 + i]));
    parts[1 + code->count + i] = null_pointer(code);
  }
  LLVMValueRef whole = struct_of(code, parts, (unsigned)(2 * code->count) + 1);
  LLVMValueRef frame = LLVMBuildAlloca(code->builder, LLVMTypeOf(whole), "");
  int64_t buffers = (int64_t)sizeof(XLA_FFI_CallFrame),
          addresses = buffers + code->count * (int64_t)sizeof(XLA_FFI_Buffer);
  int64_t results = addresses + code->operand_count * (int64_t)sizeof(void *);
  LLVMValueRef size = call_int(code, code->i64, addresses + code->count * (int64_t)sizeof(void *));
  LLVMBuildMemCpy(code->builder, frame, 8, call_constant(code, whole), 8, size);
  for (int i = 0; i < code->count; i++) {
    int64_t buffer = buffers + i * (int64_t)sizeof(XLA_FFI_Buffer);
    call_store(code, code->leaves[i].address, frame, buffer + (int64_t)offsetof(XLA_FFI_Buffer, data));
    call_store(code, call_offset(code, frame, buffer), frame, addresses + i * (int64_t)sizeof(void *));
  }
  call_store(code, call_offset(code, frame, addresses), frame,
             (int64_t)offsetof(XLA_FFI_CallFrame, args) + (int64_t)offsetof(XLA_FFI_Args, args));
  call_store(code, call_offset(code, frame, results), frame,
             (int64_t)offsetof(XLA_FFI_CallFrame, rets) + (int64_t)offsetof(XLA_FFI_Rets, rets));
  int64_t work_bytes = call_work_bytes(code->call);
  if (work_bytes > 0) call_store(code, work_extension(code, work_bytes), frame, EXTENSION_OFFSET);
  *out_frame = frame;
  return STATUS_OK;
}
