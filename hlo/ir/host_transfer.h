/* A send to the host, or a receive from it, that is done when it has its turn: its end may be gone, and its parts be
 * read instead.
 *
 * async-to-sync makes them so.  HLO has no form for it: the transfer says so itself, with
 * frontend_attributes={_xlac_sync="true"}, so that what passes leave is told from a text that forgot the end. */
#ifndef XLAC_HLO_IR_HOST_TRANSFER_H
#define XLAC_HLO_IR_HOST_TRANSFER_H

#include "hlo/ir/hlo_instruction.h"

/* |instruction| is a send or recv with is_host_transfer=true. */
bool host_transfer_is(const HloInstruction *instruction);
bool host_transfer_is_sync(const HloInstruction *transfer);
/* Adds the attribute to those that |transfer| has. */
void host_transfer_make_sync(HloInstruction *transfer);

#endif
