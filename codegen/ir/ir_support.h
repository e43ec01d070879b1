/* Functions that objects get in LLVM's language (*.ll files, which the sources have in themselves). */
#ifndef XLAC_CODEGEN_IR_IR_SUPPORT_H
#define XLAC_CODEGEN_IR_IR_SUPPORT_H

#include <llvm-c/Core.h>

/* Adds what the text [|begin|, |end|), which a zero follows, defines to |llvm_module|, for its target. */
void ir_support_link(LLVMModuleRef llvm_module, const char *begin, const char *end);
/* Makes functions and variables of these names internal, of those that are there: linking drops what is internal and
 * not used yet, so that the texts have them public. */
void ir_support_hide(LLVMModuleRef llvm_module, const char *const *names, int count);

#endif
