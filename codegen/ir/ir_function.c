#include "codegen/ir/ir_function.h"

#include <string.h>

void ir_function_mark(LLVMValueRef function, const char *name) {
  LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(function));
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(context, kind, 0));
}

LLVMValueRef ir_function_add(LLVMModuleRef module, const char *name, LLVMTypeRef type, LLVMLinkage linkage) {
  LLVMValueRef function = LLVMAddFunction(module, name, type);
  LLVMSetLinkage(function, linkage);
  ir_function_mark(function, "nounwind");
  return function;
}

void ir_function_share(LLVMValueRef function) {
  LLVMSetLinkage(function, LLVMExternalLinkage);
  LLVMSetVisibility(function, LLVMHiddenVisibility);
}

void ir_function_set_assembly(LLVMBuilderRef builder, LLVMValueRef function, StringView text) {
  static const char clobbers[] = "~{memory}";
  LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(function));
  ir_function_mark(function, "naked");
  ir_function_leave_plain(function);
  LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, function, ""));
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(context), NULL, 0, false);
  LLVMValueRef assembly = LLVMGetInlineAsm(type, text.data, text.size, clobbers, strlen(clobbers), true, false,
                                           LLVMInlineAsmDialectATT, false);
  LLVMBuildCall2(builder, type, assembly, NULL, 0, "");
  LLVMBuildUnreachable(builder);
}

void ir_function_leave_plain(LLVMValueRef function) {
  ir_function_mark(function, "optnone");
  ir_function_mark(function, "noinline"); /* which optnone needs */
}

static const char short_mark[] = "xlac-short";

void ir_function_set_short(LLVMValueRef function, bool is_short) {
  LLVMRemoveStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, short_mark, strlen(short_mark));
  if (!is_short || LLVMIsDeclaration(function)) return;
  LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(function));
  LLVMAttributeRef mark = LLVMCreateStringAttribute(context, short_mark, strlen(short_mark), "", 0);
  LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, mark);
}

bool ir_function_is_short(LLVMValueRef function) {
  return LLVMGetStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, short_mark, strlen(short_mark)) != NULL;
}
