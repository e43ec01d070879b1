#include "codegen/ir/ir_pieces.h"

#include <string.h>

#include "base/array.h"

enum { MOST_LANES = 256, MOST_PIECES = 64 };

static int lanes_of(LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? (int)LLVMGetVectorSize(type) : 1;
}

static int element_bits(LLVMTypeRef type) {
  switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind: return (int)LLVMGetIntTypeWidth(type);
    case LLVMFloatTypeKind: return 32;
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return 16;
    default: return 64;
  }
}

static LLVMTypeRef piece_type(LLVMTypeRef type, int lanes) {
  return LLVMVectorType(LLVMGetElementType(type), (unsigned)lanes);
}

/* --- what can be cut --- */

/* Operations of whole vectors, lane by lane, that are LLVM's functions of one type. */
static bool is_lane_function(LLVMValueRef call) {
  static const char *const names[] = {"llvm.fabs.",   "llvm.fma.",     "llvm.sqrt.",   "llvm.smax.",
                                      "llvm.smin.",   "llvm.umax.",    "llvm.umin.",   "llvm.minnum.",
                                      "llvm.maxnum.", "llvm.minimum.", "llvm.maximum."};
  size_t size;
  LLVMValueRef function = LLVMGetCalledValue(call);
  const char *name = LLVMIsAFunction(function) == NULL ? "" : LLVMGetValueName2(function, &size);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strncmp(name, names[i], strlen(names[i])) == 0) return true;
  }
  return false;
}

/* Where the |count| lanes from |first| on of a shuffle come from: one piece, whose number is returned, or -1.  Lanes of
 * the second operand follow those of the first.  |out_mask|: lanes of the piece, -1 for any. */
static int shuffle_source(LLVMValueRef shuffle, int first, int count, int lanes, int *out_mask) {
  int operand_lanes = lanes_of(LLVMGetOperand(shuffle, 0)), source = -1;
  int piece = operand_lanes > lanes ? lanes : operand_lanes;
  for (int i = 0; i < count; i++) {
    int lane = LLVMGetMaskValue(shuffle, (unsigned)(first + i));
    out_mask[i] = lane < 0 ? -1 : lane % piece;
    if (lane < 0) continue;
    if (source >= 0 && source != lane / piece) return -1;
    source = lane / piece;
  }
  return source;
}

static bool can_cut_shuffle(LLVMValueRef shuffle, int lanes) {
  int total = lanes_of(shuffle), mask[MOST_LANES], count = total > lanes ? lanes : total;
  int operand_lanes = lanes_of(LLVMGetOperand(shuffle, 0));
  if (operand_lanes > lanes && operand_lanes % lanes != 0) return false;
  for (int first = 0; first < total; first += count) {
    if (shuffle_source(shuffle, first, count, lanes, mask) < 0) return false;
  }
  return true;
}

bool ir_pieces_keeps_lanes(LLVMValueRef shuffle, int lanes) {
  int total = lanes_of(shuffle), operand_lanes = lanes_of(LLVMGetOperand(shuffle, 0)), mask[MOST_LANES];
  int count = total > lanes ? lanes : total;
  if (total <= lanes && operand_lanes <= lanes) return false;
  if (count != (operand_lanes > lanes ? lanes : operand_lanes)) return false;
  for (int first = 0; first < total; first += count) {
    if (shuffle_source(shuffle, first, count, lanes, mask) < 0) return false;
    for (int i = 0; i < count; i++) {
      if (mask[i] >= 0 && mask[i] != i) return false;
    }
  }
  return true;
}

static bool can_cut_instruction(LLVMValueRef instruction, int lanes) {
  switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMShuffleVector: return can_cut_shuffle(instruction, lanes);
    case LLVMExtractElement: return LLVMIsAConstantInt(LLVMGetOperand(instruction, 1)) != NULL;
    case LLVMInsertElement: return LLVMIsAConstantInt(LLVMGetOperand(instruction, 2)) != NULL;
    case LLVMCall: return is_lane_function(instruction);
    case LLVMPHI:
    case LLVMLoad:
    case LLVMStore:
    case LLVMFNeg:
    case LLVMICmp:
    case LLVMFCmp:
    case LLVMSelect:
    case LLVMFPToSI:
    case LLVMSIToFP:
    case LLVMUIToFP:
    case LLVMFPExt:
    case LLVMFPTrunc:
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMSExt: return true;
    case LLVMBitCast: return lanes_of(instruction) == lanes_of(LLVMGetOperand(instruction, 0));
    default: return LLVMIsABinaryOperator(instruction) != NULL;
  }
}

typedef void (*VectorVisitor)(void *self, LLVMValueRef instruction, LLVMTypeRef type);

/* Every vector that an instruction makes or takes. */
static void visit_vectors(const IrBlocks *blocks, VectorVisitor visit, void *self) {
  for (int b = 0; b < blocks->count; b++) {
    LLVMValueRef at = LLVMGetFirstInstruction(blocks->blocks[b]);
    for (; at != NULL; at = LLVMGetNextInstruction(at)) {
      int count = LLVMGetNumOperands(at);
      for (int i = -1; i < count; i++) {
        LLVMTypeRef type = LLVMTypeOf(i < 0 ? at : LLVMGetOperand(at, (unsigned)i));
        if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) visit(self, at, type);
      }
    }
  }
}

typedef struct PieceChoice {
  int bits; /* of the largest element */
  int lanes;
  bool is_possible;
} PieceChoice;

static void note_bits(void *self, LLVMValueRef instruction, LLVMTypeRef type) {
  (void)instruction;
  PieceChoice *choice = self;
  int bits = element_bits(LLVMGetElementType(type));
  if (bits > choice->bits) choice->bits = bits;
}

static void check_vector(void *self, LLVMValueRef instruction, LLVMTypeRef type) {
  PieceChoice *choice = self;
  int lanes = (int)LLVMGetVectorSize(type);
  if (lanes <= choice->lanes) return;
  bool fits = lanes % choice->lanes == 0 && lanes <= MOST_LANES && lanes / choice->lanes <= MOST_PIECES;
  choice->is_possible = choice->is_possible && fits && can_cut_instruction(instruction, choice->lanes);
}

int ir_pieces_lanes(const IrBlocks *blocks, int register_bits) {
  PieceChoice choice = {.bits = 8, .is_possible = true};
  visit_vectors(blocks, note_bits, &choice);
  choice.lanes = register_bits / choice.bits;
  visit_vectors(blocks, check_vector, &choice);
  return choice.is_possible ? choice.lanes : 0;
}

/* --- cutting --- */

typedef struct Cutter {
  Arena *arena;
  LLVMBuilderRef builder;
  LLVMContextRef context;
  int lanes;
  IntMap pieces;           /* value of more lanes → LLVMValueRef[] */
  ARRAY(LLVMValueRef) cut; /* instructions that are replaced */
} Cutter;

static int piece_count(const Cutter *cutter, LLVMValueRef value) {
  int lanes = lanes_of(value);
  return lanes > cutter->lanes ? lanes / cutter->lanes : 1;
}

static LLVMValueRef *constant_pieces(Cutter *cutter, LLVMValueRef constant) {
  int count = piece_count(cutter, constant);
  LLVMValueRef *pieces = ARENA_NEW_ARRAY(cutter->arena, LLVMValueRef, count), elements[MOST_LANES];
  for (int p = 0; p < count; p++) {
    for (int i = 0; i < cutter->lanes; i++)
      elements[i] = LLVMGetAggregateElement(constant, (unsigned)(p * cutter->lanes + i));
    pieces[p] = LLVMConstVector(elements, (unsigned)cutter->lanes);
  }
  return pieces;
}

/* The pieces of a value of more lanes; of others itself, for all pieces. */
static LLVMValueRef piece_of(Cutter *cutter, LLVMValueRef value, int piece) {
  if (piece_count(cutter, value) == 1) return value;
  LLVMValueRef *pieces = pointer_map_get(&cutter->pieces, value);
  if (pieces == NULL) {
    XLAC_CHECK(LLVMIsConstant(value));
    pieces = constant_pieces(cutter, value);
    pointer_map_set(&cutter->pieces, value, pieces);
  }
  return pieces[piece];
}

static LLVMValueRef piece_pointer(Cutter *cutter, LLVMValueRef pointer, int64_t bytes) {
  if (bytes == 0) return pointer;
  LLVMValueRef offset = LLVMConstInt(LLVMInt64TypeInContext(cutter->context), (unsigned long long)bytes, false);
  return LLVMBuildGEP2(cutter->builder, LLVMInt8TypeInContext(cutter->context), pointer, &offset, 1, "");
}

/* What |instruction|, a load or store, says of its place, for one |bytes| further on. */
static LLVMValueRef like_access(Cutter *cutter, LLVMValueRef made, LLVMValueRef instruction, int64_t bytes) {
  static const char past[] = "nontemporal";
  unsigned kind = LLVMGetMDKindIDInContext(cutter->context, past, sizeof past - 1);
  unsigned alignment = LLVMGetAlignment(instruction), reached = (unsigned)(bytes & -bytes);
  LLVMSetAlignment(made, reached != 0 && reached < alignment ? reached : alignment);
  LLVMValueRef metadata = LLVMGetMetadata(instruction, kind);
  if (metadata != NULL) LLVMSetMetadata(made, kind, metadata);
  return made;
}

static LLVMValueRef cut_shuffle(Cutter *cutter, LLVMValueRef shuffle, int piece) {
  LLVMValueRef operand = LLVMGetOperand(shuffle, 0), elements[MOST_LANES];
  int mask[MOST_LANES], total = lanes_of(shuffle), count = total > cutter->lanes ? cutter->lanes : total;
  int source = shuffle_source(shuffle, piece * count, count, cutter->lanes, mask), each = piece_count(cutter, operand);
  if (source >= each) operand = LLVMGetOperand(shuffle, 1);
  LLVMValueRef from = piece_of(cutter, operand, source % each);
  bool is_same = count == lanes_of(from);
  LLVMTypeRef s32 = LLVMInt32TypeInContext(cutter->context);
  for (int i = 0; i < count; i++) {
    is_same = is_same && (mask[i] < 0 || mask[i] == i);
    elements[i] = mask[i] < 0 ? LLVMGetPoison(s32) : LLVMConstInt(s32, (unsigned)mask[i], false);
  }
  if (is_same) return from;
  return LLVMBuildShuffleVector(cutter->builder, from, LLVMGetPoison(LLVMTypeOf(from)),
                                LLVMConstVector(elements, (unsigned)count), "");
}

static LLVMValueRef cut_call(Cutter *cutter, LLVMValueRef call, int piece) {
  LLVMValueRef operands[4], function = LLVMGetCalledValue(call);
  unsigned count = LLVMGetNumArgOperands(call), id = LLVMGetIntrinsicID(function);
  LLVMTypeRef type = piece_type(LLVMTypeOf(call), cutter->lanes);
  for (unsigned i = 0; i < count; i++) operands[i] = piece_of(cutter, LLVMGetOperand(call, i), piece);
  LLVMValueRef declaration = LLVMGetIntrinsicDeclaration(LLVMGetGlobalParent(function), id, &type, 1);
  return LLVMBuildCall2(cutter->builder, LLVMIntrinsicGetType(cutter->context, id, &type, 1), declaration, operands,
                        count, "");
}

static LLVMValueRef cut_insert(Cutter *cutter, LLVMValueRef insert, int piece) {
  unsigned lane = (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(insert, 2));
  LLVMValueRef before = piece_of(cutter, LLVMGetOperand(insert, 0), piece);
  if (lane / (unsigned)cutter->lanes != (unsigned)piece) return before;
  LLVMValueRef place = LLVMConstInt(LLVMInt32TypeInContext(cutter->context), lane % (unsigned)cutter->lanes, false);
  return LLVMBuildInsertElement(cutter->builder, before, LLVMGetOperand(insert, 1), place, "");
}

/* Operations lane by lane. */
static LLVMValueRef cut_lanes(Cutter *cutter, LLVMValueRef instruction, int piece) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
  LLVMValueRef operands[3] = {NULL};
  int count = LLVMGetNumOperands(instruction);
  for (int i = 0; i < count && i < 3; i++)
    operands[i] = piece_of(cutter, LLVMGetOperand(instruction, (unsigned)i), piece);
  switch (opcode) {
    case LLVMFNeg: return LLVMBuildFNeg(cutter->builder, operands[0], "");
    case LLVMICmp:
      return LLVMBuildICmp(cutter->builder, LLVMGetICmpPredicate(instruction), operands[0], operands[1], "");
    case LLVMFCmp:
      return LLVMBuildFCmp(cutter->builder, LLVMGetFCmpPredicate(instruction), operands[0], operands[1], "");
    case LLVMSelect: return LLVMBuildSelect(cutter->builder, operands[0], operands[1], operands[2], "");
    default: break;
  }
  if (LLVMIsABinaryOperator(instruction) != NULL)
    return LLVMBuildBinOp(cutter->builder, opcode, operands[0], operands[1], "");
  return LLVMBuildCast(cutter->builder, opcode, operands[0], piece_type(LLVMTypeOf(instruction), cutter->lanes), "");
}

static LLVMValueRef cut_piece(Cutter *cutter, LLVMValueRef instruction, int piece) {
  LLVMTypeRef type = LLVMTypeOf(instruction);
  switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMPHI: return LLVMBuildPhi(cutter->builder, piece_type(type, cutter->lanes), "");
    case LLVMLoad: {
      int64_t bytes = (int64_t)piece * cutter->lanes * element_bits(LLVMGetElementType(type)) / 8;
      LLVMValueRef pointer = piece_pointer(cutter, LLVMGetOperand(instruction, 0), bytes);
      return like_access(cutter, LLVMBuildLoad2(cutter->builder, piece_type(type, cutter->lanes), pointer, ""),
                         instruction, bytes);
    }
    case LLVMStore: {
      LLVMValueRef value = LLVMGetOperand(instruction, 0), part = piece_of(cutter, value, piece);
      int64_t bytes = (int64_t)piece * cutter->lanes * element_bits(LLVMGetElementType(LLVMTypeOf(value))) / 8;
      LLVMValueRef pointer = piece_pointer(cutter, LLVMGetOperand(instruction, 1), bytes);
      return like_access(cutter, LLVMBuildStore(cutter->builder, part, pointer), instruction, bytes);
    }
    case LLVMShuffleVector: return cut_shuffle(cutter, instruction, piece);
    case LLVMExtractElement: {
      unsigned lane = (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(instruction, 1));
      unsigned lanes = (unsigned)cutter->lanes;
      LLVMValueRef place = LLVMConstInt(LLVMInt32TypeInContext(cutter->context), lane % lanes, false);
      LLVMValueRef from = piece_of(cutter, LLVMGetOperand(instruction, 0), (int)(lane / lanes));
      return LLVMBuildExtractElement(cutter->builder, from, place, "");
    }
    case LLVMInsertElement: return cut_insert(cutter, instruction, piece);
    case LLVMCall: return cut_call(cutter, instruction, piece);
    default: return cut_lanes(cutter, instruction, piece);
  }
}

/* How many pieces an instruction becomes that makes or takes more lanes; 0 for one that stays. */
static int pieces_of_instruction(const Cutter *cutter, LLVMValueRef instruction) {
  bool takes_more = false;
  int made = piece_count(cutter, instruction), count = LLVMGetNumOperands(instruction), pieces = made;
  for (int i = 0; i < count; i++) {
    int taken = piece_count(cutter, LLVMGetOperand(instruction, (unsigned)i));
    takes_more = takes_more || taken > 1;
    if (LLVMGetInstructionOpcode(instruction) == LLVMStore && taken > pieces) pieces = taken;
  }
  return made > 1 || takes_more ? pieces : 0;
}

static void cut_instruction(Cutter *cutter, LLVMValueRef instruction) {
  int count = pieces_of_instruction(cutter, instruction);
  if (count == 0) return;
  LLVMPositionBuilderBefore(cutter->builder, instruction);
  LLVMValueRef *pieces = ARENA_NEW_ARRAY(cutter->arena, LLVMValueRef, count);
  bool makes_one = piece_count(cutter, instruction) == 1;
  for (int p = 0; p < count; p++) pieces[p] = cut_piece(cutter, instruction, p);
  if (makes_one && LLVMGetFirstUse(instruction) != NULL) LLVMReplaceAllUsesWith(instruction, pieces[0]);
  if (!makes_one) pointer_map_set(&cutter->pieces, instruction, pieces);
  array_push(&cutter->cut, cutter->arena, instruction);
}

static void fill_phi(Cutter *cutter, LLVMValueRef phi) {
  LLVMValueRef *pieces = pointer_map_get(&cutter->pieces, phi);
  unsigned count = LLVMCountIncoming(phi);
  for (unsigned i = 0; i < count; i++) {
    LLVMBasicBlockRef block = LLVMGetIncomingBlock(phi, i);
    for (int p = 0; p < piece_count(cutter, phi); p++) {
      LLVMValueRef value = piece_of(cutter, LLVMGetIncomingValue(phi, i), p);
      LLVMAddIncoming(pieces[p], &value, &block, 1);
    }
  }
}

void ir_pieces_cut(const IrBlocks *blocks, int lanes, Arena *arena) {
  Cutter cutter = {.arena = arena, .lanes = lanes};
  cutter.context = LLVMGetTypeContext(LLVMTypeOf(LLVMBasicBlockAsValue(blocks->blocks[0])));
  cutter.builder = LLVMCreateBuilderInContext(cutter.context);
  int_map_init(&cutter.pieces, arena);
  for (int b = 0; b < blocks->count; b++) {
    LLVMValueRef next;
    for (LLVMValueRef at = LLVMGetFirstInstruction(blocks->blocks[b]); at != NULL; at = next) {
      next = LLVMGetNextInstruction(at);
      cut_instruction(&cutter, at);
    }
  }
  LLVMDisposeBuilder(cutter.builder);
  for (int64_t i = 0; i < cutter.cut.count; i++) {
    if (LLVMIsAPHINode(cutter.cut.data[i]) != NULL) fill_phi(&cutter, cutter.cut.data[i]);
  }
  for (int64_t i = cutter.cut.count; i-- > 0;) {
    LLVMValueRef old = cutter.cut.data[i];
    if (LLVMGetFirstUse(old) != NULL) LLVMReplaceAllUsesWith(old, LLVMGetPoison(LLVMTypeOf(old)));
    LLVMInstructionEraseFromParent(old);
  }
}
