/* The handlers with real elements in single precision. */
#define LETTER s
#define REAL float
#define COMPLEX lapack_complex_float
#include "runtime/lapack/real_type.def"
