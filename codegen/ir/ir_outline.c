#include "codegen/ir/ir_outline.h"

#include "base/array.h"
#include "codegen/ir/ir_function.h"

IrOutline ir_outline_begin(LLVMBuilderRef builder) {
  IrOutline outline = {.builder = builder, .before = LLVMGetInsertBlock(builder)};
  LLVMValueRef function = LLVMGetBasicBlockParent(outline.before);
  outline.entry = LLVMAppendBasicBlockInContext(LLVMGetTypeContext(LLVMTypeOf(function)), function, "");
  LLVMPositionBuilderAtEnd(builder, outline.entry);
  return outline;
}

/* What a piece uses of the function around it, in order of its first use. */
typedef struct UsedValues {
  Arena *arena;
  LLVMValueRef function; /* which has the piece's blocks already */
  ARRAY(LLVMValueRef) values;
} UsedValues;

static bool is_from_outside(const UsedValues *used, LLVMValueRef value) {
  if (LLVMIsAArgument(value) != NULL) return true;
  if (LLVMIsAInstruction(value) == NULL) return false;
  return LLVMGetBasicBlockParent(LLVMGetInstructionParent(value)) != used->function;
}

static void note(UsedValues *used, LLVMValueRef value) {
  for (int64_t i = 0; i < used->values.count; i++) {
    if (used->values.data[i] == value) return;
  }
  array_push(&used->values, used->arena, value);
}

typedef void (*OperandVisitor)(void *self, LLVMValueRef instruction, unsigned operand);

static void visit_operands(LLVMValueRef function, OperandVisitor visit, void *self) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b != NULL; b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef at = LLVMGetFirstInstruction(b); at != NULL; at = LLVMGetNextInstruction(at)) {
      int count = LLVMGetNumOperands(at);
      for (int i = 0; i < count; i++) visit(self, at, (unsigned)i);
    }
  }
}

static void note_operand(void *self, LLVMValueRef instruction, unsigned operand) {
  LLVMValueRef value = LLVMGetOperand(instruction, operand);
  if (is_from_outside(self, value)) note(self, value);
}

static void replace_operand(void *self, LLVMValueRef instruction, unsigned operand) {
  const UsedValues *used = self;
  LLVMValueRef value = LLVMGetOperand(instruction, operand);
  if (LLVMIsAArgument(value) == NULL && LLVMIsAInstruction(value) == NULL) return;
  for (int64_t i = 0; i < used->values.count; i++) {
    if (used->values.data[i] != value) continue;
    LLVMSetOperand(instruction, operand, LLVMGetParam(used->function, (unsigned)i));
    return;
  }
}

/* The blocks from |first| on, moved into a function without any. */
static void move_blocks(LLVMBasicBlockRef first, LLVMValueRef function) {
  LLVMBasicBlockRef place = LLVMAppendBasicBlockInContext(LLVMGetTypeContext(LLVMTypeOf(function)), function, "");
  LLVMBasicBlockRef last = place;
  for (LLVMBasicBlockRef block = first, next; block != NULL; block = next) {
    next = LLVMGetNextBasicBlock(block);
    LLVMMoveBasicBlockAfter(block, last);
    last = block;
  }
  LLVMDeleteBasicBlock(place);
}

static LLVMTypeRef type_taking(const UsedValues *used, LLVMContextRef context) {
  LLVMTypeRef *types = ARENA_NEW_ARRAY(used->arena, LLVMTypeRef, used->values.count);
  for (int64_t i = 0; i < used->values.count; i++) types[i] = LLVMTypeOf(used->values.data[i]);
  return LLVMFunctionType(LLVMVoidTypeInContext(context), types, (unsigned)used->values.count, false);
}

void ir_outline_end(IrOutline *outline) {
  LLVMBuilderRef builder = outline->builder;
  LLVMValueRef around = LLVMGetBasicBlockParent(outline->before);
  LLVMModuleRef module = LLVMGetGlobalParent(around);
  LLVMContextRef context = LLVMGetModuleContext(module);
  LLVMBuildRetVoid(builder);
  Arena *scratch = arena_create();
  size_t size;
  const char *its_name = LLVMGetValueName2(around, &size);
  const char *name = arena_printf(scratch, "%.*s.part", (int)size, its_name);
  UsedValues used = {.arena = scratch};
  LLVMTypeRef none = LLVMFunctionType(LLVMVoidTypeInContext(context), NULL, 0, false);
  LLVMValueRef meanwhile = used.function = ir_function_add(module, "", none, LLVMInternalLinkage);
  move_blocks(outline->entry, used.function);
  visit_operands(used.function, note_operand, &used);
  LLVMTypeRef type = type_taking(&used, context);
  used.function = ir_function_add(module, name, type, LLVMInternalLinkage);
  move_blocks(outline->entry, used.function);
  LLVMDeleteFunction(meanwhile);
  visit_operands(used.function, replace_operand, &used);
  LLVMPositionBuilderAtEnd(builder, outline->before);
  LLVMBuildCall2(builder, type, used.function, used.values.data, (unsigned)used.values.count, "");
  arena_destroy(scratch);
}
