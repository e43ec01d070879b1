/* The handlers with complex elements in single precision. */
#include <complex.h>
#include <math.h>

#include "runtime/lapack/lapack_call.h"

#define HANDLER(name) HANDLER_OF(name)
#define HANDLER_OF(name)                                         \
  XLA_FFI_Error *lapack_c##name##_ffi(XLA_FFI_CallFrame *frame); \
  XLA_FFI_Error *lapack_c##name##_ffi(XLA_FFI_CallFrame *frame)
#define ROUTINE(name) ROUTINE_OF(name)
#define ROUTINE_OF(name) LAPACKE_c##name##_work
#define ELEMENT lapack_complex_float
#define REAL float
#define REAL_PART(x) crealf(x)
#define Q ungqr
#define APPLY_Q unmqr
#define TRIDIAGONAL hetrd
#define SYMMETRIC heevd
#define DAGGER 'C'
#define REAL_WORK(work) , work
#define REAL_WORK_SIZED(work, size) , work, size
#include "runtime/lapack/any_type.def"
#include "runtime/lapack/complex_type.def"
