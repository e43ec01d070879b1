/* Vectors of several registers, cut into vectors of one. */
#ifndef XLAC_CODEGEN_IR_IR_PIECES_H
#define XLAC_CODEGEN_IR_IR_PIECES_H

#include "codegen/ir/ir_blocks.h"

/* How many lanes a piece has: as many as elements of the largest type that a vector of the function has fit into
 * |register_bits|.  0: some vector has more lanes and cannot be cut, because its lanes are no multiple, or because of
 * what is done with it (lanes of several pieces meet in one, or an operation that is not known here). */
int ir_pieces_lanes(const IrBlocks *blocks, int register_bits);
/* Whether |shuffle| only takes pieces of |lanes| apart or puts them together: cutting leaves nothing of it. */
bool ir_pieces_keeps_lanes(LLVMValueRef shuffle, int lanes);
/* Cuts all vectors of more than |lanes| lanes, which ir_pieces_lanes returned: the same operations on the same lanes.
 */
void ir_pieces_cut(const IrBlocks *blocks, int lanes, Arena *arena);

#endif
