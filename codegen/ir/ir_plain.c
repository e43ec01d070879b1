#include "codegen/ir/ir_plain.h"

#include <string.h>

#include "codegen/ir/ir_address.h"
#include "codegen/ir/ir_function.h"
#include "codegen/ir/ir_pieces.h"

/* What a plain function makes anew in each round: more constants than these are worth registers of their own. */
enum { MOST_CONSTANTS = 2, MOST_BLOCKS = 200 };

typedef struct PlainCheck {
  const IrBlocks *blocks;
  int lanes; /* of a piece */
  int constant_count;
  LLVMValueRef constants[MOST_CONSTANTS]; /* vectors that loops take, but for zeros */
} PlainCheck;

static bool is_vector(LLVMValueRef value) {
  return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind;
}

static bool is_plain_call(LLVMValueRef call) {
  static const char *const names[] = {"llvm.fabs.",   "llvm.fma.",     "llvm.sqrt.",    "llvm.smax.",
                                      "llvm.smin.",   "llvm.umax.",    "llvm.umin.",    "llvm.minnum.",
                                      "llvm.maxnum.", "llvm.minimum.", "llvm.maximum.", "llvm.x86.avx512.mask.range."};
  size_t size;
  LLVMValueRef function = LLVMGetCalledValue(call);
  if (LLVMIsAFunction(function) == NULL) return false;
  const char *name = LLVMGetValueName2(function, &size);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strncmp(name, names[i], strlen(names[i])) == 0) return true;
  }
  return false;
}

static bool is_for_branch(LLVMValueRef condition) {
  LLVMUseRef use = LLVMGetFirstUse(condition);
  return use != NULL && LLVMGetNextUse(use) == NULL && LLVMIsABranchInst(LLVMGetUser(use)) != NULL;
}

/* Whether |instruction|, of an innermost loop, is nothing of integers but an address or the way round. */
static bool is_plain_scalar(LLVMValueRef instruction) {
  if (LLVMGetTypeKind(LLVMTypeOf(instruction)) != LLVMIntegerTypeKind) return true;
  switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMPHI:
    case LLVMAdd:
    case LLVMMul: return true;
    case LLVMICmp: return is_for_branch(instruction);
    default: return false;
  }
}

/* Of instructions in a loop.  Divisions of integers by constants would stay divisions; lanes that change places, and
 * what decides whether something happens, are selected better together. */
static bool is_plain_in_loop(const PlainCheck *check, LLVMValueRef instruction, int loop) {
  if (ir_blocks_is_innermost(check->blocks, loop) && !is_plain_scalar(instruction)) return false;
  switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMSDiv:
    case LLVMUDiv:
    case LLVMSRem:
    case LLVMURem: return false;
    case LLVMShuffleVector:
      if (ir_pieces_keeps_lanes(instruction, check->lanes)) return true;
      return !ir_blocks_is_innermost(check->blocks, loop);
    case LLVMInsertElement:
    case LLVMExtractElement: return !ir_blocks_is_innermost(check->blocks, loop);
    default: return true;
  }
}

static bool note_constants(PlainCheck *check, LLVMValueRef instruction) {
  int count = LLVMIsAPHINode(instruction) != NULL || LLVMIsAShuffleVectorInst(instruction) != NULL
                  ? 0
                  : LLVMGetNumOperands(instruction);
  for (int i = 0; i < count; i++) {
    LLVMValueRef operand = LLVMGetOperand(instruction, (unsigned)i);
    if (!LLVMIsConstant(operand) || !is_vector(operand) || LLVMIsNull(operand)) continue;
    int at = 0;
    while (at < check->constant_count && check->constants[at] != operand) at++;
    if (at == MOST_CONSTANTS) return false;
    check->constants[at] = operand;
    if (at == check->constant_count) check->constant_count++;
  }
  return true;
}

static bool is_plain_instruction(PlainCheck *check, LLVMValueRef instruction, int loop) {
  switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMBr:
    case LLVMRet:
    case LLVMPHI:
    case LLVMLoad:
    case LLVMStore:
    case LLVMGetElementPtr:
    case LLVMICmp:
    case LLVMFCmp:
    case LLVMSelect:
    case LLVMFNeg:
    case LLVMSIToFP:
    case LLVMFPExt:
    case LLVMFPTrunc:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMTrunc:
    case LLVMShuffleVector:
    case LLVMInsertElement:
    case LLVMExtractElement: break;
    case LLVMCall:
      if (!is_plain_call(instruction)) return false;
      break;
    default:
      if (LLVMIsABinaryOperator(instruction) == NULL) return false;
  }
  return loop < 0 || (is_plain_in_loop(check, instruction, loop) && note_constants(check, instruction));
}

static bool is_plain(const IrBlocks *blocks, int lanes) {
  PlainCheck check = {.blocks = blocks, .lanes = lanes};
  for (int b = 0; b < blocks->count; b++) {
    LLVMValueRef at = LLVMGetFirstInstruction(blocks->blocks[b]);
    for (; at != NULL; at = LLVMGetNextInstruction(at)) {
      if (!is_plain_instruction(&check, at, blocks->innermost[b])) return false;
    }
  }
  return true;
}

/* --- loads --- */

static bool writes(LLVMValueRef instruction) {
  return LLVMIsAStoreInst(instruction) != NULL || LLVMIsACallInst(instruction) != NULL;
}

/* The only instruction that uses |load|, where it stands in the same block and nothing is written in between. */
static LLVMValueRef only_user(LLVMValueRef load) {
  LLVMUseRef use = LLVMGetFirstUse(load);
  if (use == NULL || LLVMGetNextUse(use) != NULL) return NULL;
  LLVMValueRef user = LLVMGetUser(use);
  if (LLVMIsAPHINode(user) != NULL || LLVMGetInstructionParent(user) != LLVMGetInstructionParent(load)) return NULL;
  for (LLVMValueRef at = LLVMGetNextInstruction(load); at != user; at = LLVMGetNextInstruction(at)) {
    if (writes(at)) return NULL;
  }
  return user;
}

/* Puts loads that are used once right before their use: an instruction that is selected by itself takes the one before
 * it into its operand, if it is a load. */
static void move_loads(const IrBlocks *blocks) {
  LLVMBuilderRef builder =
      LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(LLVMBasicBlockAsValue(*blocks->blocks))));
  for (int b = 0; b < blocks->count; b++) {
    LLVMValueRef previous;
    for (LLVMValueRef at = LLVMGetLastInstruction(blocks->blocks[b]); at != NULL; at = previous) {
      previous = LLVMGetPreviousInstruction(at);
      LLVMValueRef user = LLVMIsALoadInst(at) != NULL ? only_user(at) : NULL;
      if (user == NULL) continue;
      LLVMInstructionRemoveFromParent(at);
      LLVMPositionBuilderBefore(builder, user);
      LLVMInsertIntoBuilder(builder, at);
    }
  }
  LLVMDisposeBuilder(builder);
}

void ir_function_settle_plain(LLVMValueRef function, int register_bits) {
  if (LLVMCountBasicBlocks(function) > MOST_BLOCKS) return;
  Arena *arena = arena_create();
  IrBlocks blocks = ir_blocks_find(function, arena);
  int lanes = ir_pieces_lanes(&blocks, register_bits);
  if (lanes > 0 && is_plain(&blocks, lanes)) {
    ir_pieces_cut(&blocks, lanes, arena);
    ir_addresses_settle(&blocks, arena);
    move_loads(&blocks);
    ir_blocks_arrange(&blocks);
    ir_function_leave_plain(function);
  }
  arena_destroy(arena);
}

/* --- functions that only move --- */

static bool is_float_or_index(LLVMTypeRef type) {
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  if (kind == LLVMVectorTypeKind) kind = LLVMGetTypeKind(LLVMGetElementType(type));
  bool is_index = kind == LLVMIntegerTypeKind && type == LLVMInt64TypeInContext(LLVMGetTypeContext(type));
  return kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind || kind == LLVMPointerTypeKind || is_index;
}

static bool is_move(LLVMValueRef instruction) {
  LLVMTypeRef type = LLVMTypeOf(instruction);
  switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMBr:
    case LLVMRet:
    case LLVMICmp: return true;
    case LLVMStore: return is_float_or_index(LLVMTypeOf(LLVMGetOperand(instruction, 0)));
    case LLVMLoad:
    case LLVMPHI:
    case LLVMGetElementPtr: return is_float_or_index(type);
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMSelect: return type == LLVMInt64TypeInContext(LLVMGetTypeContext(type));
    case LLVMCall: {
      size_t size;
      const char *name = LLVMGetValueName2(LLVMGetCalledValue(instruction), &size);
      return strncmp(name, "llvm.prefetch.", strlen("llvm.prefetch.")) == 0;
    }
    default: return false;
  }
}

static bool only_moves(LLVMValueRef function) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b != NULL; b = LLVMGetNextBasicBlock(b)) {
    for (LLVMValueRef at = LLVMGetFirstInstruction(b); at != NULL; at = LLVMGetNextInstruction(at)) {
      if (!is_move(at)) return false;
    }
  }
  return true;
}

bool ir_function_settle_moves(LLVMValueRef function, int register_bits) {
  if (!only_moves(function)) return false;
  Arena *arena = arena_create();
  IrBlocks blocks = ir_blocks_find(function, arena);
  int lanes = ir_pieces_lanes(&blocks, register_bits);
  if (lanes > 0) ir_pieces_cut(&blocks, lanes, arena);
  arena_destroy(arena);
  return true;
}
