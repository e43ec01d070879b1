/* Arrays as text, in NumPy's manner: nested brackets, columns aligned, more than 1000 elements abbreviated to three at
 * each end. */
#ifndef XLAC_RUNTIME_ARRAYS_ARRAY_TEXT_H
#define XLAC_RUNTIME_ARRAYS_ARRAY_TEXT_H

#include "runtime/arrays/npy.h"

/* One value: True, 12, 0.1, (1+2j); floats with the fewest digits that read back equal. */
void array_element_print(StringBuilder *out, const NpyArray *array, int64_t index);

/* The array without a line end. */
void array_print(StringBuilder *out, const NpyArray *array);

#endif
