/* The handlers with real elements in double precision. */
#define LETTER d
#define REAL double
#define COMPLEX lapack_complex_double
#include "runtime/lapack/real_type.def"
