/* Nests of loops as assembly of x86 with AVX2, without LLVM's back end.
 *
 * LLVM takes some 200 000 instructions over each line of a loop over elements, and what it would find is known: the
 * emitter writes vector code, and addresses are sums of products of loop counters.  So a function that has nothing but
 * counted loops, such sums, guards that compare them, and plain instructions on floats gets a body of assembly here:
 * each distinct sum is a register that its loops add to (strength reduction, Allen, Cocke and Kennedy, 1981), vectors
 * get registers by colouring their interferences (Chaitin, 1981).  The order of operations on elements, and so the
 * bits, are those of the IR.  What is not of that form, or has not enough registers, is left to LLVM. */
#ifndef XLAC_CODEGEN_NEST_NEST_H
#define XLAC_CODEGEN_NEST_NEST_H

#include <llvm-c/Core.h>

#include "codegen/target/vec_target.h"

/* Gives every function of |module| after |last| (NULL: every one) that has the form a body of assembly for |target|;
 * none where it is another processor than x86 with AVX2 and FMA.  Only of functions that are not public. */
void nest_functions(const VecTarget *target, LLVMModuleRef module, LLVMValueRef last);

#endif
