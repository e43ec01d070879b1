#include "runtime/lapack/lapack_call.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/lapack/blas_threads.h"

static void fail(LapackCall *call, const char *message) {
  XLA_FFI_Error_Create_Args args = {sizeof args, NULL, message, XLA_FFI_Error_Code_INVALID_ARGUMENT};
  if (call->error == NULL) call->error = call->frame->api->XLA_FFI_Error_Create(&args);
}

LapackCall lapack_begin(XLA_FFI_CallFrame *frame, int64_t operands, int64_t results) {
  LapackCall call = {.frame = frame};
  const XLA_FFI_Extension_Base *extension = frame->extension_start;
  if (extension != NULL && extension->type == XLAC_FFI_EXTENSION_WORK) {
    const XlacWorkExtension *work = (const void *)extension;
    call.given = work->data;
    call.given_bytes = work->bytes;
  }
  blas_threads_begin();
  if (frame->args.size != operands || frame->rets.size != results)
    fail(&call, "the routine has other numbers of operands and results");
  return call;
}

XLA_FFI_Error *lapack_end(LapackCall *call) {
  blas_threads_end();
  for (int i = 0; i < call->work_count; i++) free(call->work[i]);
  return call->error;
}

/* --- arrays --- */

/* Routines check the stride even when they are only asked for sizes. */
static const Matrices none = {.stride = 1};

static size_t element_bytes(int32_t type) {
  switch (type) {
    case XLA_FFI_DataType_S32:
    case XLA_FFI_DataType_F32: return 4;
    case XLA_FFI_DataType_F64:
    case XLA_FFI_DataType_C64: return 8;
    case XLA_FFI_DataType_C128: return 16;
    default: return 0;
  }
}

/* |inner|: dimensions of each matrix, the last ones. */
static Matrices matrices_of(LapackCall *call, const XLA_FFI_Buffer *buffer, int64_t inner) {
  Matrices matrices = {.data = buffer->data, .count = 1, .columns = 1, .stride = 1};
  size_t element = element_bytes(buffer->dtype);
  if (buffer->rank < inner || element == 0) {
    fail(call, "the routine takes no array of this type or rank");
    return none;
  }
  const int64_t *dims = buffer->dims + buffer->rank - inner;
  for (int64_t i = 0; i < inner; i++) {
    if (dims[i] > INT_MAX) fail(call, "a matrix is too large for LAPACK");
  }
  if (call->error != NULL) return none;
  for (int64_t i = 0; i < buffer->rank - inner; i++) matrices.count *= buffer->dims[i];
  if (inner >= 1) matrices.rows = (lapack_int)dims[0];
  if (inner == 2) matrices.columns = (lapack_int)dims[1];
  matrices.stride = lapack_most(1, matrices.rows);
  matrices.bytes = (int64_t)element * matrices.rows * matrices.columns;
  return matrices;
}

static Matrices operand_of(LapackCall *call, int index, int64_t inner) {
  return call->error != NULL ? none : matrices_of(call, call->frame->args.args[index], inner);
}

static Matrices result_of(LapackCall *call, int index, int64_t inner) {
  return call->error != NULL ? none : matrices_of(call, call->frame->rets.rets[index], inner);
}

Matrices lapack_operand(LapackCall *call, int index) {
  return operand_of(call, index, 2);
}

Matrices lapack_result(LapackCall *call, int index) {
  return result_of(call, index, 2);
}

Matrices lapack_operand_vectors(LapackCall *call, int index) {
  return operand_of(call, index, 1);
}

Matrices lapack_vectors(LapackCall *call, int index) {
  return result_of(call, index, 1);
}

lapack_int *lapack_numbers(LapackCall *call, int index) {
  if (call->error != NULL) return NULL;
  const XLA_FFI_Buffer *buffer = call->frame->rets.rets[index];
  if (buffer->dtype == XLA_FFI_DataType_S32) return buffer->data;
  fail(call, "the routine returns numbers of 32 bits");
  return NULL;
}

static Matrices update(LapackCall *call, int operand, int result, int64_t inner) {
  Matrices from = operand_of(call, operand, inner), to = result_of(call, result, inner);
  if (from.count != to.count || from.bytes != to.bytes) fail(call, "a result is not a copy of its operand");
  if (call->error != NULL) return none;
  if (from.data != to.data && to.bytes > 0) memmove(to.data, from.data, (size_t)(to.count * to.bytes));
  return to;
}

Matrices lapack_update(LapackCall *call, int operand, int result) {
  return update(call, operand, result, 2);
}

Matrices lapack_update_vectors(LapackCall *call, int operand, int result) {
  return update(call, operand, result, 1);
}

/* --- attributes --- */

int64_t lapack_number(LapackCall *call, const char *name) {
  const XLA_FFI_Attrs *attrs = &call->frame->attrs;
  for (int64_t i = 0; i < attrs->size; i++) {
    const XLA_FFI_ByteSpan *span = attrs->names[i];
    if (span->len != strlen(name) || memcmp(span->ptr, name, span->len) != 0) continue;
    if (attrs->types[i] != XLA_FFI_AttrType_SCALAR) break;
    const XLA_FFI_Scalar *scalar = attrs->attrs[i];
    switch (scalar->dtype) {
      case XLA_FFI_DataType_PRED: return *(const bool *)scalar->value;
      case XLA_FFI_DataType_U8: return *(const uint8_t *)scalar->value;
      case XLA_FFI_DataType_S32: return *(const int32_t *)scalar->value;
      case XLA_FFI_DataType_S64: return *(const int64_t *)scalar->value;
      default: break;
    }
  }
  fail(call, "the routine needs an attribute that the call does not have");
  return 0;
}

char lapack_letter(LapackCall *call, const char *name) {
  return (char)lapack_number(call, name);
}

void lapack_expect_letter(LapackCall *call, const char *name, char letter) {
  if (lapack_letter(call, name) != letter) fail(call, "the routine cannot sort eigenvalues");
}

/* --- work --- */

/* The next of the object's memory, where so much is left; arrays begin at multiples of 64. */
static void *take_given(LapackCall *call, size_t bytes) {
  size_t taken = (bytes + 63) / 64 * 64;
  if (call->given == NULL || (size_t)call->given_bytes < taken) return NULL;
  void *work = call->given;
  call->given += taken;
  call->given_bytes -= (int64_t)taken;
  return work;
}

void *lapack_work(LapackCall *call, int64_t count, size_t size) {
  if (call->error != NULL) return NULL;
  void *given = take_given(call, (size_t)(count > 0 ? count : 1) * size);
  if (given != NULL) return given;
  void *work = malloc((size_t)(count > 0 ? count : 1) * size);
  if (work == NULL || call->work_count == LAPACK_MOST_WORK) {
    free(work);
    fail(call, "no memory for LAPACK");
    return NULL;
  }
  call->work[call->work_count++] = work;
  return work;
}

/* A float of more than 24 bits may have been rounded down. */
lapack_int lapack_work_size(double answer) {
  double size = answer * (1 + 0x1p-22) + 1;
  return size < (double)INT_MAX ? (lapack_int)size : INT_MAX;
}
