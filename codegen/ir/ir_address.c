#include "codegen/ir/ir_address.h"

#include "base/array.h"
#include "base/hash_map.h"
#include "codegen/ir/ir_index.h"

/* --- indices as sums --- */

enum { MOST_TERMS = 12 };

typedef struct IndexTerm {
  LLVMValueRef atom;
  int64_t coefficient;
} IndexTerm;

/* constant + Σ coefficient × atom, modulo 2^64. */
typedef struct IndexSum {
  uint64_t constant;
  int count;
  IndexTerm terms[MOST_TERMS];
} IndexSum;

static bool add_atom(IndexSum *sum, LLVMValueRef atom, uint64_t coefficient) {
  int at = 0;
  while (at < sum->count && sum->terms[at].atom != atom) at++;
  if (at == MOST_TERMS) return false;
  if (at == sum->count) sum->terms[sum->count++] = (IndexTerm){atom, 0};
  sum->terms[at].coefficient = (int64_t)((uint64_t)sum->terms[at].coefficient + coefficient);
  return true;
}

/* Adds |factor| × |value|; false: there are too many terms. */
static bool add_value(IndexSum *sum, LLVMValueRef value, uint64_t factor) {
  int64_t constant;
  if (ir_index_is_constant(value, &constant)) {
    sum->constant += factor * (uint64_t)constant;
    return true;
  }
  if (LLVMIsAInstruction(value) == NULL) return add_atom(sum, value, factor);
  LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
  LLVMValueRef left = opcode == LLVMAdd || opcode == LLVMMul ? LLVMGetOperand(value, 0) : NULL;
  if (opcode == LLVMAdd) return add_value(sum, left, factor) && add_value(sum, LLVMGetOperand(value, 1), factor);
  if (opcode == LLVMMul && ir_index_is_constant(LLVMGetOperand(value, 1), &constant))
    return add_value(sum, left, factor * (uint64_t)constant);
  return add_atom(sum, value, factor);
}

/* --- what is computed where --- */

/* A sum or a product that stands in |block| already. */
typedef struct Settled {
  LLVMBasicBlockRef block;
  LLVMValueRef left, right;
  int64_t factor; /* of a product */
  LLVMValueRef value;
  int64_t next; /* place of another one with the same key, -1 for none */
} Settled;

typedef struct Settler {
  const IrBlocks *blocks;
  LLVMBuilderRef builder;
  Arena *arena;
  ARRAY(Settled) settled;
  IntMap places; /* key_of → the latest of |settled| */
} Settler;

static uint64_t key_of(const Settled *sum) {
  uint64_t key = hash_u64((uint64_t)(uintptr_t)sum->block);
  key = hash_combine(key, (uint64_t)(uintptr_t)sum->left);
  return hash_combine(hash_combine(key, (uint64_t)(uintptr_t)sum->right), (uint64_t)sum->factor);
}

static bool is_same(const Settled *a, const Settled *b) {
  return a->block == b->block && a->left == b->left && a->right == b->right && a->factor == b->factor;
}

/* left + right, or left × factor where there is no right, at the builder's place. */
static LLVMValueRef settle(Settler *settler, LLVMValueRef left, LLVMValueRef right, int64_t factor) {
  Settled sum = {LLVMGetInsertBlock(settler->builder), left, right, factor, NULL, -1};
  uint64_t key = key_of(&sum);
  int_map_find(&settler->places, key, &sum.next);
  for (int64_t i = sum.next; i >= 0; i = settler->settled.data[i].next) {
    if (is_same(&settler->settled.data[i], &sum)) return settler->settled.data[i].value;
  }
  sum.value = right != NULL ? LLVMBuildAdd(settler->builder, left, right, "")
                            : ir_index_multiply(settler->builder, left, factor);
  int_map_set(&settler->places, key, settler->settled.count);
  array_push(&settler->settled, settler->arena, sum);
  return sum.value;
}

/* The innermost loop around |use| that |atom| is made in, -1 for none. */
static int loop_of_atom(const IrBlocks *blocks, LLVMValueRef atom, int use) {
  if (LLVMIsAInstruction(atom) == NULL) return -1;
  int loop = blocks->innermost[ir_blocks_place(blocks, atom)];
  while (loop >= 0 && !ir_blocks_is_around(blocks, loop, use)) loop = blocks->loops[loop].parent;
  return loop;
}

/* Stands where what the loop around |inner| knows is computed for |inner|: before it, or, where |inner| is the loop of
 * |address| itself, before that. */
static void stand_in(Settler *settler, int inner, LLVMValueRef address) {
  if (inner < 0) {
    LLVMPositionBuilderBefore(settler->builder, address);
    return;
  }
  LLVMBasicBlockRef before = settler->blocks->blocks[settler->blocks->loops[inner].before];
  LLVMPositionBuilderBefore(settler->builder, LLVMGetBasicBlockTerminator(before));
}

/* The terms of |sum| from the outermost loop inwards; NULL where there are none. */
static LLVMValueRef settle_sum(Settler *settler, const IndexSum *sum, LLVMValueRef address) {
  const IrBlocks *blocks = settler->blocks;
  int use = blocks->innermost[ir_blocks_place(blocks, address)], chain[MOST_TERMS + 1], depth = 0;
  /* The loops from |use| outwards that make an atom, and at last the function. */
  for (int loop = use; loop >= 0 && depth < MOST_TERMS; loop = blocks->loops[loop].parent) chain[depth++] = loop;
  chain[depth] = -1;
  LLVMValueRef total = NULL;
  for (int level = depth; level >= 0; level--) {
    stand_in(settler, level > 0 ? chain[level - 1] : -1, address);
    for (int i = 0; i < sum->count; i++) {
      const IndexTerm *term = &sum->terms[i];
      if (term->coefficient == 0 || loop_of_atom(blocks, term->atom, use) != chain[level]) continue;
      LLVMValueRef part = term->coefficient == 1 ? term->atom : settle(settler, term->atom, NULL, term->coefficient);
      total = total == NULL ? part : settle(settler, total, part, 0);
    }
  }
  return total;
}

/* --- addresses --- */

/* Whether all loops around |block| are entered from one block each, and there are few of them. */
static bool has_places(const IrBlocks *blocks, int block) {
  int depth = 0;
  for (int loop = blocks->innermost[block]; loop >= 0; loop = blocks->loops[loop].parent) {
    if (blocks->loops[loop].before < 0 || ++depth > MOST_TERMS) return false;
  }
  return true;
}

static void settle_address(Settler *settler, LLVMValueRef address, int block) {
  if (LLVMGetNumOperands(address) != 2 || !has_places(settler->blocks, block)) return;
  LLVMValueRef index = LLVMGetOperand(address, 1), base = LLVMGetOperand(address, 0);
  LLVMTypeRef type = LLVMTypeOf(index);
  if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) != 64 || LLVMIsConstant(index)) return;
  IndexSum sum = {0};
  if (!add_value(&sum, index, 1)) return;
  LLVMValueRef total = settle_sum(settler, &sum, address);
  LLVMPositionBuilderBefore(settler->builder, address);
  LLVMTypeRef element = LLVMGetGEPSourceElementType(address);
  LLVMValueRef constant = LLVMConstInt(type, sum.constant, false), result = base;
  if (total != NULL) result = LLVMBuildGEP2(settler->builder, element, result, &total, 1, "");
  if (sum.constant != 0 || total == NULL) result = LLVMBuildGEP2(settler->builder, element, result, &constant, 1, "");
  LLVMReplaceAllUsesWith(address, result);
  LLVMInstructionEraseFromParent(address);
}

/* --- what is left over --- */

static bool is_free_of_effects(LLVMValueRef instruction) {
  switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMAdd:
    case LLVMMul:
    case LLVMGetElementPtr:
    case LLVMShuffleVector: return true;
    default: return false;
  }
}

static void erase_unused(const IrBlocks *blocks) {
  for (int b = blocks->count; b-- > 0;) {
    LLVMValueRef previous;
    for (LLVMValueRef at = LLVMGetLastInstruction(blocks->blocks[b]); at != NULL; at = previous) {
      previous = LLVMGetPreviousInstruction(at);
      if (LLVMGetFirstUse(at) == NULL && is_free_of_effects(at)) LLVMInstructionEraseFromParent(at);
    }
  }
}

void ir_addresses_settle(const IrBlocks *blocks, Arena *arena) {
  Settler settler = {.blocks = blocks, .arena = arena};
  int_map_init(&settler.places, arena);
  settler.builder =
      LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(LLVMBasicBlockAsValue(blocks->blocks[0]))));
  for (int b = 0; b < blocks->count; b++) {
    LLVMValueRef next;
    for (LLVMValueRef at = LLVMGetFirstInstruction(blocks->blocks[b]); at != NULL; at = next) {
      next = LLVMGetNextInstruction(at);
      if (LLVMGetInstructionOpcode(at) == LLVMGetElementPtr) settle_address(&settler, at, b);
    }
  }
  LLVMDisposeBuilder(settler.builder);
  erase_unused(blocks);
}
