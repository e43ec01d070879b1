/* The handlers with complex elements in double precision. */
#define LETTER z
#define REAL double
#define COMPLEX lapack_complex_double
#include "runtime/lapack/complex_type.def"
