#include "codegen/ir/ir_support.h"

#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>

#include "base/status.h"

void ir_support_link(LLVMModuleRef llvm_module, const char *begin, const char *end) {
  LLVMContextRef context = LLVMGetModuleContext(llvm_module);
  LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRangeCopy(begin, (size_t)(end - begin), "support");
  if (text == NULL) out_of_memory((size_t)(end - begin));
  LLVMModuleRef support;
  char *message = NULL;
  if (LLVMParseIRInContext(context, text, &support, &message)) XLAC_BUG("%s", message);
  LLVMSetTarget(support, LLVMGetTarget(llvm_module));
  LLVMSetDataLayout(support, LLVMGetDataLayoutStr(llvm_module));
  if (LLVMLinkModules2(llvm_module, support)) XLAC_BUG("the support of calls does not link");
}

void ir_support_hide(LLVMModuleRef llvm_module, const char *const *names, int count) {
  for (int i = 0; i < count; i++) {
    LLVMValueRef value = LLVMGetNamedFunction(llvm_module, names[i]);
    if (value == NULL) value = LLVMGetNamedGlobal(llvm_module, names[i]);
    if (value != NULL) LLVMSetLinkage(value, LLVMInternalLinkage);
  }
}
