/* Addresses of a finished function, computed as far out of its loops as they can be. */
#ifndef XLAC_CODEGEN_IR_IR_ADDRESS_H
#define XLAC_CODEGEN_IR_IR_ADDRESS_H

#include "codegen/ir/ir_blocks.h"

/* Writes each address with an index in i64 anew: the terms of the index are added from the outermost loop that they
 * need to the innermost, each sum once and where its loop begins; what is constant is added to the address.  So they
 * are good as they stand, and LLVM has neither to move nor to join them.  Then what nobody uses is erased. */
void ir_addresses_settle(const IrBlocks *blocks, Arena *arena);

#endif
