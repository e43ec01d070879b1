/* Bytes that collectives move: runs of arrays, rows of ragged exchanges, members of groups.  Freestanding but for
 * abi.h, since libraries of engines have it as well. */
#ifndef XLAC_RUNTIME_COLLECTIVES_MOVEMENT_H
#define XLAC_RUNTIME_COLLECTIVES_MOVEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "xlac/abi.h"

/* The group of |device| and its place there; NULL: it is in none. */
const XlacDeviceGroup *collective_group(const XlacCollective *collective, int64_t device, int64_t *out_member);
/* Who sends to |device|, and whom it sends to; -1: nobody. */
int64_t collective_source(const XlacCollective *collective, int64_t device);
int64_t collective_target(const XlacCollective *collective, int64_t device);

/* |outer| runs of |inner| bytes, one every |from_stride| and |to_stride| bytes. */
void move_runs(const void *from, int64_t from_stride, void *to, int64_t to_stride, int64_t outer, int64_t inner);

/* Sets all results to zero. */
void clear_results(const XlacCollective *collective, void *const *results);

/* Operands of ragged-all-to-all. */
enum { RAGGED_INPUT, RAGGED_OUTPUT, RAGGED_FROM, RAGGED_SIZES, RAGGED_TO, RAGGED_RECEIVED, RAGGED_OPERANDS };

/* Number |index| of one of the lists. */
int64_t ragged_number(const XlacCollective *collective, const void *const *operands, int list, int64_t index);
/* Numbers for each member. */
int64_t ragged_runs(const XlacCollective *collective, int64_t members);
/* Of a run of rows that begins at |*from| and goes to |*to|, those that are rows of both arrays; how many.  What is
 * left out before them moves both on. */
int64_t ragged_clip(int64_t input_rows, int64_t output_rows, int64_t *from, int64_t *to, int64_t size);

#endif
