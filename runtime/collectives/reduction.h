/* What reducers do with arrays.  Freestanding but for abi.h, since libraries of engines have it as well. */
#ifndef XLAC_RUNTIME_COLLECTIVES_REDUCTION_H
#define XLAC_RUNTIME_COLLECTIVES_REDUCTION_H

#include <stdint.h>

/* inout[i] = reducer(inout[i], in[i]) for i in [0, count).  f16 and bf16 are computed in f32 and rounded each time, to
 * the nearest even. */
typedef void ReductionFunction(const void *in, void *inout, int64_t count);

/* That of an XlacType and an XlacReducer; NULL: there is none.  All that hlo/ir/collective_reducer.h admits have one.
 */
ReductionFunction *reduction_function(int32_t type, int32_t reducer);

/* Bytes of an element; 0: no reducer knows the type. */
int64_t reduction_element_bytes(int32_t type);

#endif
