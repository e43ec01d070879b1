/* A piece of a function that is moved into a function of its own once it is written.
 *
 * LLVM takes longer over each of some nested loops the more of them there are in a function: all that is used inside of
 * them competes for registers.  A piece that runs long enough for a call not to matter is better off alone. */
#ifndef XLAC_CODEGEN_IR_IR_OUTLINE_H
#define XLAC_CODEGEN_IR_IR_OUTLINE_H

#include <llvm-c/Core.h>

typedef struct IrOutline {
  LLVMBuilderRef builder;
  LLVMBasicBlockRef before, entry;
} IrOutline;

/* What is written from here on belongs to the piece. */
IrOutline ir_outline_begin(LLVMBuilderRef builder);
/* It does up to here: an internal function, named after the one it was in, whose parameters are what it uses of that
 * one, is called where the piece began, and the builder stands after the call.  Nothing made in the piece may be used
 * after it, and all blocks added to the function meanwhile are the piece's. */
void ir_outline_end(IrOutline *outline);

#endif
