/* TripCount: how often a loop's body runs, where constants say so. */
#ifndef XLAC_HLO_ANALYSIS_TRIP_COUNT_H
#define XLAC_HLO_ANALYSIS_TRIP_COUNT_H

#include "hlo/ir/hlo_module.h"

typedef struct TripCount {
  int64_t trips;
  /* Element |index| of the state, an integer, is |first| in the first round and grows by |step| with each. */
  int64_t index, first, step;
} TripCount;

/* Of a verified while whose state is a tuple with an integer counter: the condition compares it with a constant, the
 * body adds a constant to it (or subtracts one), it begins with a constant, and does not wrap around on the way.  False
 * for every other loop, also where the count has more than 62 bits. */
bool trip_count_find(const HloInstruction *loop, TripCount *out_count);

/* How often the body of |loop| runs, by the constants or by the text: "known_trip_count" in its backend_config, as XLA
 * writes it.  False where neither says. */
bool trip_count_known(const HloInstruction *loop, int64_t *out_trips);

/* Which element of |tuple| a get-tuple-element names; -1 for anything else. */
int64_t trip_count_element(const HloInstruction *element, const HloInstruction *tuple);

#endif
