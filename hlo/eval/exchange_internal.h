/* What a device hands the other members of its group and what it gets from them, for the rules of collectives. */
#ifndef XLAC_HLO_EVAL_EXCHANGE_INTERNAL_H
#define XLAC_HLO_EVAL_EXCHANGE_INTERNAL_H

#include "hlo/eval/eval_internal.h"

typedef struct Exchange {
  Int64List members;                     /* flat ids in listed order; none: this device takes no part */
  int64_t member;                        /* this device's place among them */
  const Literal *const *const *operands; /* by member, then by operand number; the others' are to be read only */
} Exchange;

/* Of a collective with groups: waits until the members have brought their operands.  With members, ends by
 * eval_exchange_end, before which no other exchange begins, whatever happens in between. */
MUST_USE Status eval_exchange_in_group(EvalStep *step, Exchange *out_exchange);
/* Of a collective-permute: the members are the devices that its pairs connect with this one, in ascending order;
 * |out_source| is the member that sends to this one, -1: none does. */
MUST_USE Status eval_exchange_in_pairs(EvalStep *step, Exchange *out_exchange, int64_t *out_source);
void eval_exchange_end(EvalStep *step, const Exchange *exchange);

#endif
