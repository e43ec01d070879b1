/* The clock that phases, passes and runs are timed with. */
#ifndef XLAC_BASE_MONOTONIC_CLOCK_H
#define XLAC_BASE_MONOTONIC_CLOCK_H

/* Seconds since some moment that stays the same while the process lives, whatever is done to the time of day. */
double monotonic_seconds(void);

#endif
