/* The binary interface between compiled code and typed custom calls (API_VERSION_TYPED_FFI): that of XLA's FFI, version
 * 0.3, with its names, so that handlers built with XLA's own headers link as they are.  A handler in C needs nothing
 * but this header:
 *
 *   XLA_FFI_Error *twice(XLA_FFI_CallFrame *frame) {
 *     const XLA_FFI_Buffer *x = frame->args.args[0], *y = frame->rets.rets[0];
 *     ...
 *     return NULL;
 *   }
 *
 * Every struct begins with its size, of the fields that its version has.  Enumerators are ints. */
#ifndef XLAC_FFI_H
#define XLAC_FFI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XLA_FFI_API_MAJOR 0
#define XLA_FFI_API_MINOR 3

typedef struct XLA_FFI_Api XLA_FFI_Api;
typedef struct XLA_FFI_InternalApi XLA_FFI_InternalApi;
typedef struct XLA_FFI_ExecutionContext XLA_FFI_ExecutionContext;
typedef struct XLA_FFI_Error XLA_FFI_Error;   /* belongs to its receiver; NULL: no error */
typedef struct XLA_FFI_Future XLA_FFI_Future; /* of a handler that ends later than it returns */

typedef struct XLA_FFI_Extension_Base {
  size_t struct_size;
  int32_t type; /* 1: the caller asks for the handler's metadata, nothing else */
  struct XLA_FFI_Extension_Base *next;
} XLA_FFI_Extension_Base;

typedef enum XLA_FFI_Error_Code {
  XLA_FFI_Error_Code_OK,
  XLA_FFI_Error_Code_CANCELLED,
  XLA_FFI_Error_Code_UNKNOWN,
  XLA_FFI_Error_Code_INVALID_ARGUMENT,
  XLA_FFI_Error_Code_DEADLINE_EXCEEDED,
  XLA_FFI_Error_Code_NOT_FOUND,
  XLA_FFI_Error_Code_ALREADY_EXISTS,
  XLA_FFI_Error_Code_PERMISSION_DENIED,
  XLA_FFI_Error_Code_RESOURCE_EXHAUSTED,
  XLA_FFI_Error_Code_FAILED_PRECONDITION,
  XLA_FFI_Error_Code_ABORTED,
  XLA_FFI_Error_Code_OUT_OF_RANGE,
  XLA_FFI_Error_Code_UNIMPLEMENTED,
  XLA_FFI_Error_Code_INTERNAL,
  XLA_FFI_Error_Code_UNAVAILABLE,
  XLA_FFI_Error_Code_DATA_LOSS,
  XLA_FFI_Error_Code_UNAUTHENTICATED
} XLA_FFI_Error_Code;

/* Element types, numbered as in XLA. */
typedef enum XLA_FFI_DataType {
  XLA_FFI_DataType_INVALID = 0,
  XLA_FFI_DataType_PRED = 1,
  XLA_FFI_DataType_S8 = 2,
  XLA_FFI_DataType_S16 = 3,
  XLA_FFI_DataType_S32 = 4,
  XLA_FFI_DataType_S64 = 5,
  XLA_FFI_DataType_U8 = 6,
  XLA_FFI_DataType_U16 = 7,
  XLA_FFI_DataType_U32 = 8,
  XLA_FFI_DataType_U64 = 9,
  XLA_FFI_DataType_F16 = 10,
  XLA_FFI_DataType_F32 = 11,
  XLA_FFI_DataType_F64 = 12,
  XLA_FFI_DataType_C64 = 15,
  XLA_FFI_DataType_BF16 = 16,
  XLA_FFI_DataType_TOKEN = 17,
  XLA_FFI_DataType_C128 = 18,
  XLA_FFI_DataType_F8E5M2 = 19,
  XLA_FFI_DataType_F8E4M3FN = 20,
  XLA_FFI_DataType_S4 = 21,
  XLA_FFI_DataType_U4 = 22,
  XLA_FFI_DataType_F8E4M3B11FNUZ = 23,
  XLA_FFI_DataType_F8E5M2FNUZ = 24,
  XLA_FFI_DataType_F8E4M3FNUZ = 25,
  XLA_FFI_DataType_S2 = 26,
  XLA_FFI_DataType_U2 = 27,
  XLA_FFI_DataType_F8E4M3 = 28,
  XLA_FFI_DataType_F8E3M4 = 29,
  XLA_FFI_DataType_S1 = 30,
  XLA_FFI_DataType_U1 = 31,
  XLA_FFI_DataType_F4E2M1FN = 32,
  XLA_FFI_DataType_F8E8M0FNU = 33
} XLA_FFI_DataType;

enum { XLA_FFI_ArgType_BUFFER = 1, XLA_FFI_RetType_BUFFER = 1 };

typedef enum XLA_FFI_AttrType {
  XLA_FFI_AttrType_ARRAY = 1,
  XLA_FFI_AttrType_DICTIONARY = 2,
  XLA_FFI_AttrType_SCALAR = 3,
  XLA_FFI_AttrType_STRING = 4
} XLA_FFI_AttrType;

/* Compiled code calls handlers to execute, never for the other stages. */
typedef enum XLA_FFI_ExecutionStage {
  XLA_FFI_ExecutionStage_INSTANTIATE,
  XLA_FFI_ExecutionStage_PREPARE,
  XLA_FFI_ExecutionStage_INITIALIZE,
  XLA_FFI_ExecutionStage_EXECUTE
} XLA_FFI_ExecutionStage;

/* --- what a handler gets --- */

/* An array, in the layout that the call's constraints and shapes say.  A token has no data. */
typedef struct XLA_FFI_Buffer {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  int32_t dtype;
  void *data;
  int64_t rank;
  int64_t *dims;
} XLA_FFI_Buffer;

typedef struct XLA_FFI_ByteSpan {
  const char *ptr;
  size_t len;
} XLA_FFI_ByteSpan;

typedef struct XLA_FFI_Scalar {
  int32_t dtype;
  void *value;
} XLA_FFI_Scalar;

typedef struct XLA_FFI_Array {
  int32_t dtype;
  size_t size; /* in elements */
  void *data;
} XLA_FFI_Array;

/* The leaves of all operands, each an XLA_FFI_Buffer; the same of the results. */
typedef struct XLA_FFI_Args {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  int64_t size;
  int32_t *types;
  void **args;
} XLA_FFI_Args;

typedef struct XLA_FFI_Rets {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  int64_t size;
  int32_t *types;
  void **rets;
} XLA_FFI_Rets;

/* Sorted by name.  An attribute is an XLA_FFI_Array, _Attrs (a dictionary), _Scalar or _ByteSpan (a string). */
typedef struct XLA_FFI_Attrs {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  int64_t size;
  int32_t *types;
  XLA_FFI_ByteSpan **names;
  void **attrs;
} XLA_FFI_Attrs;

typedef struct XLA_FFI_CallFrame {
  size_t struct_size; /* without |future| */
  XLA_FFI_Extension_Base *extension_start;
  const XLA_FFI_Api *api;
  XLA_FFI_ExecutionContext *ctx;
  int32_t stage;
  XLA_FFI_Args args;
  XLA_FFI_Rets rets;
  XLA_FFI_Attrs attrs;
  XLA_FFI_Future *future; /* a handler sets it when it returns before it is done */
} XLA_FFI_CallFrame;

typedef XLA_FFI_Error *XLA_FFI_Handler(XLA_FFI_CallFrame *frame);

/* An extension of call frames that only xlac has, for calls of LAPACK alone: memory of the object's workspace to work
 * in, at a multiple of 64, which means nothing before and after the call. */
#define XLAC_FFI_EXTENSION_WORK 0x786C6163

typedef struct XlacWorkExtension {
  XLA_FFI_Extension_Base base;
  void *data;
  int64_t bytes;
} XlacWorkExtension;

/* --- what a handler may call --- */

typedef struct XLA_FFI_Error_Create_Args {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  const char *message; /* copied */
  int32_t errc;
} XLA_FFI_Error_Create_Args;

typedef struct XLA_FFI_Error_GetMessage_Args {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  XLA_FFI_Error *error;
  const char *message; /* set; valid as long as the error */
} XLA_FFI_Error_GetMessage_Args;

typedef struct XLA_FFI_Error_Destroy_Args {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  XLA_FFI_Error *error;
} XLA_FFI_Error_Destroy_Args;

typedef struct XLA_FFI_ThreadPool_Schedule_Args {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  XLA_FFI_ExecutionContext *ctx;
  void (*task)(void *data);
  void *data;
} XLA_FFI_ThreadPool_Schedule_Args;

typedef struct XLA_FFI_ThreadPool_NumThreads_Args {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  XLA_FFI_ExecutionContext *ctx;
  int64_t *num_threads; /* set */
} XLA_FFI_ThreadPool_NumThreads_Args;

typedef struct XLA_FFI_Future_Create_Args {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  XLA_FFI_Future *future; /* set */
} XLA_FFI_Future_Create_Args;

typedef struct XLA_FFI_Future_SetAvailable_Args {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  XLA_FFI_Future *future;
} XLA_FFI_Future_SetAvailable_Args;

typedef struct XLA_FFI_Future_SetError_Args {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  XLA_FFI_Future *future;
  XLA_FFI_Error *error; /* is the future's from now on */
} XLA_FFI_Future_SetError_Args;

typedef struct XLA_FFI_DeviceOrdinal_Get_Args {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  XLA_FFI_ExecutionContext *ctx;
  int32_t device_ordinal; /* set */
} XLA_FFI_DeviceOrdinal_Get_Args;

typedef struct XLA_FFI_Api_Version {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  int major_version, minor_version;
} XLA_FFI_Api_Version;

/* What compiled code does not offer returns an error of code UNIMPLEMENTED: it has one device, which is the processor,
 * keeps no state between calls, and knows handlers by their symbols alone. */
typedef XLA_FFI_Error *XLA_FFI_Unoffered(void *args);

struct XLA_FFI_Api {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  XLA_FFI_Api_Version api_version;
  const XLA_FFI_InternalApi *internal_api; /* NULL */
  XLA_FFI_Error *(*XLA_FFI_Error_Create)(XLA_FFI_Error_Create_Args *args);
  void (*XLA_FFI_Error_GetMessage)(XLA_FFI_Error_GetMessage_Args *args);
  void (*XLA_FFI_Error_Destroy)(XLA_FFI_Error_Destroy_Args *args);
  XLA_FFI_Unoffered *XLA_FFI_Handler_Register;
  XLA_FFI_Unoffered *XLA_FFI_Stream_Get;
  XLA_FFI_Unoffered *XLA_FFI_Type_Register;
  XLA_FFI_Unoffered *XLA_FFI_ExecutionContext_Get;
  XLA_FFI_Unoffered *XLA_FFI_State_Set;
  XLA_FFI_Unoffered *XLA_FFI_State_Get;
  XLA_FFI_Unoffered *XLA_FFI_DeviceMemory_Allocate;
  XLA_FFI_Unoffered *XLA_FFI_DeviceMemory_Free;
  XLA_FFI_Error *(*XLA_FFI_ThreadPool_Schedule)(XLA_FFI_ThreadPool_Schedule_Args *args);     /* runs the task at once */
  XLA_FFI_Error *(*XLA_FFI_ThreadPool_NumThreads)(XLA_FFI_ThreadPool_NumThreads_Args *args); /* 1 */
  XLA_FFI_Error *(*XLA_FFI_Future_Create)(XLA_FFI_Future_Create_Args *args);
  XLA_FFI_Error *(*XLA_FFI_Future_SetAvailable)(XLA_FFI_Future_SetAvailable_Args *args);
  XLA_FFI_Error *(*XLA_FFI_Future_SetError)(XLA_FFI_Future_SetError_Args *args);
  XLA_FFI_Unoffered *XLA_FFI_RunId_Get;
  XLA_FFI_Error *(*XLA_FFI_DeviceOrdinal_Get)(XLA_FFI_DeviceOrdinal_Get_Args *args); /* 0 */
};

/* --- older custom calls --- */

/* API_VERSION_ORIGINAL: void target(void *out, const void **in); STATUS_RETURNING: …, XlaCustomCallStatus *status);
 * STATUS_RETURNING_UNIFIED: …, const char *opaque, size_t opaque_size, XlaCustomCallStatus *status).  in: the leaves
 * of the operands; out: the result, or the array of a tuple's leaves; opaque: backend_config.  Objects with such
 * calls define these two functions. */
typedef struct XlaCustomCallStatus_ {
  char *message; /* allocated; NULL: success */
} XlaCustomCallStatus;
void XlaCustomCallStatusSetSuccess(XlaCustomCallStatus *status);
void XlaCustomCallStatusSetFailure(XlaCustomCallStatus *status, const char *message, size_t message_size);

#ifdef __cplusplus
}
#endif

#endif
