/* The handlers with real elements in double precision. */
#include <math.h>

#include "runtime/lapack/lapack_call.h"

#define HANDLER(name) HANDLER_OF(name)
#define HANDLER_OF(name)                                         \
  XLA_FFI_Error *lapack_d##name##_ffi(XLA_FFI_CallFrame *frame); \
  XLA_FFI_Error *lapack_d##name##_ffi(XLA_FFI_CallFrame *frame)
#define ROUTINE(name) ROUTINE_OF(name)
#define ROUTINE_OF(name) LAPACKE_d##name##_work
#define ELEMENT double
#define REAL double
#define COMPLEX lapack_complex_double
#define REAL_PART(x) (x)
#define Q orgqr
#define APPLY_Q ormqr
#define TRIDIAGONAL sytrd
#define SYMMETRIC syevd
#define DAGGER 'T'
#define REAL_WORK(work)
#define REAL_WORK_SIZED(work, size)
#include "runtime/lapack/any_type.def"
#include "runtime/lapack/real_type.def"
