/* Calls out of the module for the evaluator: each instruction is compiled alone and run as in compiled code, so that
 * there is one way to hand arguments over. */
#ifndef XLAC_CLI_OUTSIDE_CALL_H
#define XLAC_CLI_OUTSIDE_CALL_H

#include "cli/driver.h"
#include "hlo/eval/hlo_evaluator.h"

typedef struct OutsideCalls OutsideCalls;

/* In the session's arena.  |options| is what the calls are run with, but for on_failure; it outlives them. */
OutsideCalls *outside_calls_create(Session *session, const XlacRunOptions *options);
HloHost outside_calls_host(OutsideCalls *calls);
/* Unloads the code; accepts NULL. */
void outside_calls_destroy(OutsideCalls *calls);

#endif
