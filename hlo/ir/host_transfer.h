/* Synchronous host transfers: sends to the host and receives from it that are complete when the instruction has run.
 * Their send-done or recv-done may be gone; its readers then read the elements of the transfer's own result.
 *
 * Pass async-to-sync makes them.  HLO has no form for it, so the transfer carries
 * frontend_attributes={_xlac_sync="true"}: the verifier accepts it without a -done, which it misses in other texts. */
#ifndef XLAC_HLO_IR_HOST_TRANSFER_H
#define XLAC_HLO_IR_HOST_TRANSFER_H

#include "hlo/ir/hlo_instruction.h"

/* |instruction| is a send or recv with is_host_transfer=true. */
bool host_transfer_is(const HloInstruction *instruction);
bool host_transfer_is_sync(const HloInstruction *transfer);
/* Adds the attribute to those that |transfer| has. */
void host_transfer_make_sync(HloInstruction *transfer);

#endif
