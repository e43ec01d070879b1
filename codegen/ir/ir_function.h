/* Functions of a module: their attributes. */
#ifndef XLAC_CODEGEN_IR_IR_FUNCTION_H
#define XLAC_CODEGEN_IR_IR_FUNCTION_H

#include <llvm-c/Core.h>
#include <stdbool.h>

#include "base/string_view.h"

/* Gives |function| LLVM's attribute |name|, one without a value. */
void ir_function_mark(LLVMValueRef function, const char *name);

/* Adds a function that no exception leaves. */
LLVMValueRef ir_function_add(LLVMModuleRef module, const char *name, LLVMTypeRef type, LLVMLinkage linkage);

/* Makes |function|, or its declaration, one that other LLVM modules of the same object have or read, and nobody else.
 */
void ir_function_share(LLVMValueRef function);

/* Gives |function| its body, which is all of it: it has no frame but what |text|, AT&T's assembly with $ written as $$,
 * makes.  Moves the builder. */
void ir_function_set_assembly(LLVMBuilderRef builder, LLVMValueRef function, StringView text);

/* Says that |function| only leads to others: LLVM selects its instructions one by one and leaves out what would make
 * them better (optnone).  That takes it a third of the time.  Of functions without loops over elements. */
void ir_function_leave_plain(LLVMValueRef function);

/* Whether a run of |function| takes so little that compiling it matters more, or LLVM would hardly make it better: the
 * mark that codegen/nest asks for. */
void ir_function_set_short(LLVMValueRef function, bool is_short);
bool ir_function_is_short(LLVMValueRef function);

#endif
