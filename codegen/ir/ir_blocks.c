#include "codegen/ir/ir_blocks.h"

#include "base/array.h"

/* --- order --- */

static int place_of(const IrBlocks *blocks, LLVMBasicBlockRef block) {
  int64_t place = -1;
  return int_map_find(&blocks->numbers, (uint64_t)(uintptr_t)block, &place) ? (int)place : -1;
}

typedef struct Visit {
  LLVMValueRef end; /* the terminator */
  unsigned left;    /* successors to go to: the last first, so that the first comes next in the reverse order */
} Visit;

static void number_blocks(IrBlocks *blocks, LLVMBasicBlockRef entry, int total, Arena *arena) {
  Visit *stack = ARENA_NEW_ARRAY(arena, Visit, total);
  int depth = 0, next = total;
  LLVMBasicBlockRef block = entry;
  int_map_set(&blocks->numbers, (uint64_t)(uintptr_t)block, total);
  while (true) {
    if (block != NULL) {
      LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
      stack[depth++] = (Visit){end, LLVMGetNumSuccessors(end)};
    }
    Visit *top = &stack[depth - 1];
    block = NULL;
    if (top->left > 0) {
      LLVMBasicBlockRef successor = LLVMGetSuccessor(top->end, --top->left);
      if (place_of(blocks, successor) >= 0) continue;
      int_map_set(&blocks->numbers, (uint64_t)(uintptr_t)successor, total);
      block = successor;
      continue;
    }
    blocks->blocks[--next] = LLVMGetInstructionParent(top->end);
    if (--depth == 0) break;
  }
  blocks->count = total - next;
  blocks->blocks += next;
  for (int i = 0; i < blocks->count; i++) int_map_set(&blocks->numbers, (uint64_t)(uintptr_t)blocks->blocks[i], i);
}

/* --- who leads to whom --- */

typedef ARRAY(int) Places;

static Places *find_predecessors(const IrBlocks *blocks, Arena *arena) {
  Places *predecessors = ARENA_NEW_ARRAY(arena, Places, blocks->count);
  for (int b = 0; b < blocks->count; b++) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(blocks->blocks[b]);
    unsigned count = LLVMGetNumSuccessors(end);
    for (unsigned i = 0; i < count; i++)
      array_push(&predecessors[place_of(blocks, LLVMGetSuccessor(end, i))], arena, b);
  }
  return predecessors;
}

static int common_dominator(const IrBlocks *blocks, int a, int b) {
  while (a != b) {
    if (a > b)
      a = blocks->dominators[a];
    else
      b = blocks->dominators[b];
  }
  return a;
}

/* Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm". */
static void find_dominators(IrBlocks *blocks, const Places *predecessors) {
  for (int b = 1; b < blocks->count; b++) blocks->dominators[b] = -1;
  blocks->dominators[0] = 0;
  for (bool changes = true; changes;) {
    changes = false;
    for (int b = 1; b < blocks->count; b++) {
      int nearest = -1;
      for (int64_t i = 0; i < predecessors[b].count; i++) {
        int from = predecessors[b].data[i];
        if (blocks->dominators[from] < 0) continue;
        nearest = nearest < 0 ? from : common_dominator(blocks, nearest, from);
      }
      changes |= nearest != blocks->dominators[b];
      blocks->dominators[b] = nearest;
    }
  }
}

static bool dominates(const IrBlocks *blocks, int a, int b) {
  while (b > a) b = blocks->dominators[b];
  return a == b;
}

/* --- loops --- */

/* The loop with header |header|, if there is one: its blocks are marked on |stack|'s way back from its latches. */
static void find_loop(IrBlocks *blocks, const Places *predecessors, int header, int *stack) {
  int depth = 0, outside = 0, before = -1, number = blocks->loop_count, around = blocks->innermost[header];
  for (int64_t i = 0; i < predecessors[header].count; i++) {
    int from = predecessors[header].data[i];
    if (dominates(blocks, header, from)) {
      stack[depth++] = from;
    } else {
      before = from;
      outside++;
    }
  }
  if (depth == 0) return;
  blocks->loops[number] = (IrNaturalLoop){header, outside == 1 ? before : -1, around};
  blocks->loop_count++;
  blocks->innermost[header] = number;
  while (depth > 0) {
    int block = stack[--depth];
    if (blocks->innermost[block] == number) continue;
    blocks->innermost[block] = number;
    for (int64_t i = 0; i < predecessors[block].count; i++) stack[depth++] = predecessors[block].data[i];
  }
}

IrBlocks ir_blocks_find(LLVMValueRef function, Arena *arena) {
  IrBlocks blocks = {0};
  int total = (int)LLVMCountBasicBlocks(function);
  int_map_init(&blocks.numbers, arena);
  blocks.blocks = ARENA_NEW_ARRAY(arena, LLVMBasicBlockRef, total);
  number_blocks(&blocks, LLVMGetEntryBasicBlock(function), total, arena);
  blocks.dominators = ARENA_NEW_ARRAY(arena, int, blocks.count);
  blocks.innermost = ARENA_NEW_ARRAY(arena, int, blocks.count);
  blocks.loops = ARENA_NEW_ARRAY(arena, IrNaturalLoop, blocks.count);
  Places *predecessors = find_predecessors(&blocks, arena);
  find_dominators(&blocks, predecessors);
  int64_t edges = 0;
  for (int b = 0; b < blocks.count; b++) {
    blocks.innermost[b] = -1;
    edges += predecessors[b].count;
  }
  int *stack = ARENA_NEW_ARRAY(arena, int, edges + 1);
  for (int b = 0; b < blocks.count; b++) find_loop(&blocks, predecessors, b, stack);
  return blocks;
}

int ir_blocks_place(const IrBlocks *blocks, LLVMValueRef instruction) {
  return place_of(blocks, LLVMGetInstructionParent(instruction));
}

bool ir_blocks_is_around(const IrBlocks *blocks, int loop, int inner) {
  while (inner > loop) inner = blocks->loops[inner].parent;
  return inner == loop;
}

bool ir_blocks_is_innermost(const IrBlocks *blocks, int loop) {
  for (int i = loop + 1; i < blocks->loop_count; i++) {
    if (blocks->loops[i].parent == loop) return false;
  }
  return true;
}

void ir_blocks_arrange(const IrBlocks *blocks) {
  for (int b = 1; b < blocks->count; b++) LLVMMoveBasicBlockAfter(blocks->blocks[b], blocks->blocks[b - 1]);
}
