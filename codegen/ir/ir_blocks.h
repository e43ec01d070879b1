/* IrBlocks: the basic blocks of a finished function and the loops that they form. */
#ifndef XLAC_CODEGEN_IR_IR_BLOCKS_H
#define XLAC_CODEGEN_IR_IR_BLOCKS_H

#include <llvm-c/Core.h>

#include "base/hash_map.h"

/* All blocks from which |header| is reached again without leaving what it dominates. */
typedef struct IrNaturalLoop {
  int header;
  int before; /* the only block outside that leads to the header; -1: there are several */
  int parent; /* the loop around it, -1 for none */
} IrNaturalLoop;

/* Blocks and loops are named by their places in the arrays.  Blocks are in reverse postorder: each stands after those
 * that dominate it, and a loop's blocks before what follows the loop.  Blocks that are never reached are left out. */
typedef struct IrBlocks {
  int count, loop_count;
  LLVMBasicBlockRef *blocks;
  int *dominators;      /* the nearest of each; the entry's is itself */
  int *innermost;       /* loop of each block, -1 for none */
  IrNaturalLoop *loops; /* a loop after those around it */
  IntMap numbers;       /* LLVMBasicBlockRef → place */
} IrBlocks;

IrBlocks ir_blocks_find(LLVMValueRef function, Arena *arena);
/* The place of the block that |instruction| is in. */
int ir_blocks_place(const IrBlocks *blocks, LLVMValueRef instruction);
/* Whether |loop| (-1: the function) is |inner| or around it. */
bool ir_blocks_is_around(const IrBlocks *blocks, int loop, int inner);
/* Whether no other loop is in |loop|. */
bool ir_blocks_is_innermost(const IrBlocks *blocks, int loop);
/* Puts the blocks into the order of the array: LLVM keeps it where it does not look for a better one. */
void ir_blocks_arrange(const IrBlocks *blocks);

#endif
