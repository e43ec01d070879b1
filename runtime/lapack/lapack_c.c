/* The handlers with complex elements in single precision. */
#define LETTER c
#define REAL float
#define COMPLEX lapack_complex_float
#include "runtime/lapack/complex_type.def"
