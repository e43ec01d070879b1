/* Loops in LLVM IR: the one place that writes their blocks, phis and branches.
 *
 * The builder stands before the loop when it begins, in its body until it ends, and after it from then on.  The body
 * may open further blocks and loops.  A loop is a plain value that owns nothing and is used between its beginning and
 * its end.
 *
 * What goes from round to round are variables of the emitter, named to the loop when it begins:
 *
 *   LLVMValueRef sum = zero, *carried[] = {&sum};
 *   IrLoop loop = ir_loop_count(builder, range, 4, carried, 1);
 *   sum = add(sum, load(loop.index));
 *   ir_loop_end(&loop);
 *   ... sum ...
 *
 * A variable holds its initial value when the loop begins, that of the round in the body, the one to carry when the
 * body ends, and after the loop the final one.  The list |carried| is read again at the end.
 *
 * Three kinds:
 *   counted         ir_loop_count, ir_loop_end.  One round that is known to be the only one is written without a loop.
 *   tested inside   ir_loop_begin, ir_loop_leave_unless (once or more), ir_loop_end: a 'while', a search.
 *   tested at end   ir_loop_begin, ir_loop_end_while: a 'do while'.
 *
 * There are no hints to unroll or to use lanes: none of LLVM's passes over loops runs.  An emitter writes as many
 * points to a round as it wants, with a step of as many, and what is left over after it. */
#ifndef XLAC_CODEGEN_IR_IR_LOOP_H
#define XLAC_CODEGEN_IR_IR_LOOP_H

#include "codegen/ir/ir_index.h"

typedef struct IrLoop {
  LLVMValueRef index; /* of this round, if counted; else NULL */

  /* For ir_loop.c alone. */
  LLVMBuilderRef builder;
  LLVMBasicBlockRef header, after; /* |after| NULL: nothing leads to it yet */
  LLVMBasicBlockRef guard;         /* where a loop that may have no round is passed by; else NULL */
  LLVMValueRef end;                /* of a counted loop; else NULL */
  int64_t step;
  LLVMValueRef **carried;
  int carried_count;
  bool is_single, is_left_inside;
} IrLoop;

/* for (index = begin; index < end; index += step), |step| > 0.  |range| holds at least one index. */
IrLoop ir_loop_count(LLVMBuilderRef builder, IndexRange range, int64_t step, LLVMValueRef **carried, int carried_count);
/* The same for a range that may hold none.  Where it is known to be empty (ir_range_is_empty) the body is unreachable
 * code: better not written. */
IrLoop ir_loop_count_guarded(LLVMBuilderRef builder, IndexRange range, int64_t step, LLVMValueRef **carried,
                             int carried_count);
/* ir_loop_count, and a loop also where one round is known to be the only one.  LLVM orders instructions block by block:
 * a long body that uses many values made before it needs fewer registers by itself than joined to where they are made.
 */
IrLoop ir_loop_count_apart(LLVMBuilderRef builder, IndexRange range, int64_t step, LLVMValueRef **carried,
                           int carried_count);
/* The indices that this round of a counted loop stands for: |step| of them, fewer in the last round. */
IndexRange ir_loop_round(const IrLoop *loop);

/* A loop that its body decides about. */
IrLoop ir_loop_begin(LLVMBuilderRef builder, LLVMValueRef **carried, int carried_count);
/* Leaves the loop unless |condition|, an i1; the body goes on in a new block.  Variables then have the values that they
 * had at the beginning of the round. */
void ir_loop_leave_unless(IrLoop *loop, LLVMValueRef condition);

/* Ends a loop that is counted or left inside. */
void ir_loop_end(IrLoop *loop);
/* Ends a loop that is neither: there is a further round while |more|, an i1. */
void ir_loop_end_while(IrLoop *loop, LLVMValueRef more);

/* --- code that runs where a condition holds --- */

/* What is written from here on runs where |condition|, an i1, holds; returns the block after it. */
LLVMBasicBlockRef ir_if_begin(LLVMBuilderRef builder, LLVMValueRef condition);
/* The builder goes on in |after|. */
void ir_if_end(LLVMBuilderRef builder, LLVMBasicBlockRef after);

#endif
