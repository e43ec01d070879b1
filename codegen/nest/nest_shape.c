/* Blocks in an order in which each loop is a run, and loops with one way in and one way out, at their end. */
#include "base/checked_math.h"
#include "codegen/nest/nest_internal.h"

bool nest_refuse(NestFunction *nest) {
  nest->is_refused = true;
  return false;
}

int nest_block_number(const NestFunction *nest, LLVMBasicBlockRef block) {
  for (int b = 0; b < nest->block_count; b++) {
    if (nest->blocks[b].source == block) return b;
  }
  return -1;
}

bool nest_loop_contains(const NestFunction *nest, int loop, int block) {
  return loop < 0 || (block >= nest->loops.data[loop].header && block <= nest->loops.data[loop].latch);
}

/* Where control goes from |block|; a branch on a constant goes one way. */
static int successors_of(LLVMBasicBlockRef block, LLVMBasicBlockRef out_successors[2]) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
  if (LLVMGetInstructionOpcode(end) == LLVMRet) return 0;
  if (LLVMGetInstructionOpcode(end) != LLVMBr) return -1;
  if (!LLVMIsConditional(end)) {
    out_successors[0] = LLVMGetSuccessor(end, 0);
    return 1;
  }
  LLVMValueRef condition = LLVMGetCondition(end);
  if (LLVMIsAConstantInt(condition) != NULL) {
    out_successors[0] = LLVMGetSuccessor(end, LLVMConstIntGetZExtValue(condition) != 0 ? 0 : 1);
    return 1;
  }
  out_successors[0] = LLVMGetSuccessor(end, 0);
  out_successors[1] = LLVMGetSuccessor(end, 1);
  return 2;
}

typedef struct BlockWalk {
  LLVMBasicBlockRef seen[NEST_MOST_BLOCKS], finished[NEST_MOST_BLOCKS];
  int seen_count, finished_count;
  bool is_refused;
} BlockWalk;

static void visit(BlockWalk *walk, LLVMBasicBlockRef block) {
  for (int i = 0; i < walk->seen_count; i++) {
    if (walk->seen[i] == block) return;
  }
  if (walk->seen_count == NEST_MOST_BLOCKS) walk->is_refused = true;
  if (walk->is_refused) return;
  walk->seen[walk->seen_count++] = block;
  LLVMBasicBlockRef successors[2];
  int count = successors_of(block, successors);
  if (count < 0) walk->is_refused = true;
  for (int i = count - 1; i >= 0; i--) visit(walk, successors[i]);
  walk->finished[walk->finished_count++] = block;
}

static bool order_blocks(NestFunction *nest) {
  BlockWalk walk = {0};
  visit(&walk, LLVMGetEntryBasicBlock(nest->source));
  if (walk.is_refused) return nest_refuse(nest);
  nest->block_count = walk.finished_count;
  for (int b = 0; b < nest->block_count; b++)
    nest->blocks[b] = (NestBlock){.source = walk.finished[nest->block_count - 1 - b], .loop = -1};
  for (int b = 0; b < nest->block_count; b++) {
    LLVMBasicBlockRef successors[2];
    nest->blocks[b].successor_count = successors_of(nest->blocks[b].source, successors);
    for (int i = 0; i < nest->blocks[b].successor_count; i++) {
      nest->blocks[b].successors[i] = nest_block_number(nest, successors[i]);
      nest->blocks[nest->blocks[b].successors[i]].predecessors++;
    }
  }
  return true;
}

/* The edge from |from| to |to| enters or leaves |loop| where it may. */
static bool edge_fits(const NestLoop *loop, int from, int to) {
  bool is_from = from >= loop->header && from <= loop->latch, is_to = to >= loop->header && to <= loop->latch;
  if (is_from && is_to) return to > from || (from == loop->latch && to == loop->header) || to != loop->header;
  if (is_from) return from == loop->latch;
  return !is_to || to == loop->header;
}

static bool find_loops(NestFunction *nest) {
  for (int b = 0; b < nest->block_count; b++) {
    const NestBlock *block = &nest->blocks[b];
    for (int i = 0; i < block->successor_count; i++) {
      if (block->successors[i] > b) continue;
      NestLoop loop = {.header = block->successors[i], .latch = b, .parent = -1, .trips = -1};
      if (block->successor_count != 2 || i != 0 || block->successors[1] <= b) return nest_refuse(nest);
      if (nest->blocks[loop.header].predecessors != 2) return nest_refuse(nest);
      array_push(&nest->loops, nest->arena, loop);
    }
  }
  /* Inner loops end first: the first one that has a block is its innermost. */
  for (int64_t l = 0; l < nest->loops.count; l++) {
    NestLoop *loop = &nest->loops.data[l];
    for (int64_t outer = l + 1; outer < nest->loops.count && loop->parent < 0; outer++) {
      const NestLoop *other = &nest->loops.data[outer];
      bool is_apart = other->header > loop->latch || other->latch < loop->header;
      bool is_inside = other->header <= loop->header && other->latch >= loop->latch;
      if (!is_apart && !is_inside) return nest_refuse(nest);
      if (is_inside) loop->parent = (int)outer;
    }
    for (int b = loop->header; b <= loop->latch; b++) {
      if (nest->blocks[b].loop < 0) nest->blocks[b].loop = (int)l;
    }
    for (int b = 0; b < nest->block_count; b++) {
      for (int i = 0; i < nest->blocks[b].successor_count; i++) {
        if (!edge_fits(loop, b, nest->blocks[b].successors[i])) return nest_refuse(nest);
      }
    }
  }
  for (int64_t l = nest->loops.count - 1; l >= 0; l--) {
    NestLoop *loop = &nest->loops.data[l];
    loop->depth = loop->parent < 0 ? 1 : nest->loops.data[loop->parent].depth + 1;
  }
  return true;
}

bool nest_read_shape(NestFunction *nest) {
  return order_blocks(nest) && find_loops(nest);
}
