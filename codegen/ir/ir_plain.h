/* Functions whose loops are good as they are written, which LLVM then need not make better. */
#ifndef XLAC_CODEGEN_IR_IR_PLAIN_H
#define XLAC_CODEGEN_IR_IR_PLAIN_H

#include <llvm-c/Core.h>
#include <stdbool.h>

/* Leaves |function|, which is finished, plain (ir_function_leave_plain) where its loops only load, store and compute in
 * a few instructions that LLVM selects one by one as well as together; its vectors become ones of |register_bits| and
 * its addresses are settled before (ir_pieces.h, ir_address.h).  Compiling it takes a third to a half.  Other functions
 * stay as they are. */
void ir_function_settle_plain(LLVMValueRef function, int register_bits);

/* Whether |function| only moves floats about, lane by lane: a better order of its instructions is worth little, and
 * codegen/nest has all that it needs.  If so, its vectors become ones of |register_bits|, as far as they can be cut. */
bool ir_function_settle_moves(LLVMValueRef function, int register_bits);

#endif
