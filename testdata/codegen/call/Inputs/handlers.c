/* Targets of custom calls for the tests: one of each version of the interface. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "xlac/ffi.h"

static XLA_FFI_Error *refuse(const XLA_FFI_CallFrame *frame, const char *message) {
  XLA_FFI_Error_Create_Args args = {sizeof args, NULL, message, XLA_FFI_Error_Code_INVALID_ARGUMENT};
  return frame->api->XLA_FFI_Error_Create(&args);
}

/* The attribute |name| if it has that type. */
static const void *attribute(const XLA_FFI_Attrs *attrs, const char *name, int type) {
  for (int64_t i = 0; i < attrs->size; i++) {
    const XLA_FFI_ByteSpan *span = attrs->names[i];
    if (span->len == strlen(name) && memcmp(span->ptr, name, span->len) == 0)
      return attrs->types[i] == type ? attrs->attrs[i] : NULL;
  }
  return NULL;
}

/* z = a x + y */
XLA_FFI_Error *axpy(XLA_FFI_CallFrame *frame) {
  if (frame->struct_size != offsetof(XLA_FFI_CallFrame, future)) return refuse(frame, "another size of frame");
  if (frame->stage != XLA_FFI_ExecutionStage_EXECUTE) return refuse(frame, "another stage");
  const XLA_FFI_Scalar *a = attribute(&frame->attrs, "a", XLA_FFI_AttrType_SCALAR);
  if (a == NULL || a->dtype != XLA_FFI_DataType_F32) return refuse(frame, "'a' must be an f32");
  if (frame->args.size != 2 || frame->rets.size != 1) return refuse(frame, "two operands, one result");
  const XLA_FFI_Buffer *x = frame->args.args[0], *y = frame->args.args[1];
  const XLA_FFI_Buffer *z = frame->rets.rets[0];
  if (x->dtype != XLA_FFI_DataType_F32 || x->rank != 1) return refuse(frame, "'x' must be a vector of f32");
  for (int64_t i = 0; i < x->dims[0]; i++)
    ((float *)z->data)[i] = *(float *)a->value * ((float *)x->data)[i] + ((float *)y->data)[i];
  return NULL;
}

/* One byte for each attribute that is what the test says. */
XLA_FFI_Error *attributes(XLA_FFI_CallFrame *frame) {
  uint8_t *out = ((XLA_FFI_Buffer *)frame->rets.rets[0])->data;
  const XLA_FFI_Scalar *count = attribute(&frame->attrs, "count", XLA_FFI_AttrType_SCALAR);
  const XLA_FFI_Scalar *on = attribute(&frame->attrs, "on", XLA_FFI_AttrType_SCALAR);
  const XLA_FFI_Scalar *scale = attribute(&frame->attrs, "scale", XLA_FFI_AttrType_SCALAR);
  const XLA_FFI_Array *sizes = attribute(&frame->attrs, "sizes", XLA_FFI_AttrType_ARRAY);
  const XLA_FFI_ByteSpan *name = attribute(&frame->attrs, "name", XLA_FFI_AttrType_STRING);
  const XLA_FFI_Attrs *inner = attribute(&frame->attrs, "inner", XLA_FFI_AttrType_DICTIONARY);
  const XLA_FFI_Scalar *deep = inner == NULL ? NULL : attribute(inner, "count", XLA_FFI_AttrType_SCALAR);
  out[0] = count != NULL && count->dtype == XLA_FFI_DataType_S64 && *(int64_t *)count->value == -3;
  out[1] = on != NULL && on->dtype == XLA_FFI_DataType_PRED && *(bool *)on->value;
  out[2] = scale != NULL && scale->dtype == XLA_FFI_DataType_F64 && *(double *)scale->value == 0.25;
  out[3] =
      sizes != NULL && sizes->dtype == XLA_FFI_DataType_S32 && sizes->size == 3 && ((int32_t *)sizes->data)[2] == 9;
  out[4] = name != NULL && name->len == 3 && memcmp(name->ptr, "a\"b", 3) == 0;
  out[5] = deep != NULL && deep->dtype == XLA_FFI_DataType_U8 && *(uint8_t *)deep->value == 200;
  return NULL;
}

/* (matrix with columns next to one another, token) → (its elements as they lie, its numbers of rows and columns, token)
 */
XLA_FFI_Error *lie(XLA_FFI_CallFrame *frame) {
  const XLA_FFI_Buffer *a = frame->args.args[0], *token = frame->args.args[1];
  const XLA_FFI_Buffer *out = frame->rets.rets[0], *dims = frame->rets.rets[1], *after = frame->rets.rets[2];
  if (token->dtype != XLA_FFI_DataType_TOKEN || after->dtype != XLA_FFI_DataType_TOKEN || token->data != NULL)
    return refuse(frame, "a token");
  memcpy(out->data, a->data, (size_t)(a->dims[0] * a->dims[1]) * sizeof(int32_t));
  memcpy(dims->data, a->dims, 2 * sizeof(int64_t));
  return NULL;
}

/* Adds 1 to its result, which is its operand. */
XLA_FFI_Error *increment(XLA_FFI_CallFrame *frame) {
  const XLA_FFI_Buffer *x = frame->rets.rets[0];
  for (int64_t i = 0; i < x->dims[0]; i++) ((int32_t *)x->data)[i]++;
  return NULL;
}

/* Ends in a task, by a future; fails where the operand is not positive. */
static void finish(void *data) {
  XLA_FFI_CallFrame *frame = data;
  const XLA_FFI_Buffer *x = frame->args.args[0], *y = frame->rets.rets[0];
  *(float *)y->data = sqrtf(*(float *)x->data);
  if (*(float *)x->data > 0) {
    XLA_FFI_Future_SetAvailable_Args done = {sizeof done, NULL, frame->future};
    frame->api->XLA_FFI_Future_SetAvailable(&done);
  } else {
    XLA_FFI_Future_SetError_Args failed = {sizeof failed, NULL, frame->future, refuse(frame, "too late")};
    frame->api->XLA_FFI_Future_SetError(&failed);
  }
}

XLA_FFI_Error *later(XLA_FFI_CallFrame *frame) {
  XLA_FFI_Future_Create_Args created = {sizeof created, NULL, NULL};
  XLA_FFI_Error *error = frame->api->XLA_FFI_Future_Create(&created);
  if (error != NULL) return error;
  frame->future = created.future;
  XLA_FFI_ThreadPool_Schedule_Args schedule = {sizeof schedule, NULL, frame->ctx, finish, frame};
  return frame->api->XLA_FFI_ThreadPool_Schedule(&schedule);
}

/* Asks for what there is not, and hands the error on. */
XLA_FFI_Error *stateful(XLA_FFI_CallFrame *frame) {
  return frame->api->XLA_FFI_State_Get(NULL);
}

/* --- older versions --- */

void negate4(void *out, const void **in) {
  for (int i = 0; i < 4; i++) ((float *)out)[i] = -((const float *)in[0])[i];
}

/* Not a C identifier; a tuple is an array of pointers. */
void minmax(void *out, const void **in) __asm__("\"min-max.4\"");
void minmax(void *out, const void **in) {
  const float *x = in[0];
  float *least = ((float **)out)[0], *most = ((float **)out)[1];
  *least = *most = x[0];
  for (int i = 1; i < 4; i++) {
    *least = fminf(*least, x[i]);
    *most = fmaxf(*most, x[i]);
  }
}

void checked_root(void *out, const void **in, XlaCustomCallStatus *status) {
  float x = *(const float *)in[0];
  *(float *)out = sqrtf(x);
  if (x < 0)
    XlaCustomCallStatusSetFailure(status, "a negative number (and more)", 17);
  else
    XlaCustomCallStatusSetSuccess(status);
}

void opaque4(void *out, const void **in, const char *opaque, size_t size, XlaCustomCallStatus *status) {
  (void)in;
  (void)status;
  memcpy(out, opaque, size < 4 ? size : 4);
}
