#include "codegen/ir/ir_loop.h"

#include "base/status.h"

static LLVMBasicBlockRef add_block(LLVMBuilderRef builder, const char *name) {
  LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInsertBlock(builder));
  return LLVMAppendBasicBlockInContext(LLVMGetTypeContext(LLVMTypeOf(function)), function, name);
}

static LLVMBasicBlockRef block_after(IrLoop *loop) {
  if (loop->after == NULL) loop->after = add_block(loop->builder, "");
  return loop->after;
}

/* A phi whose value from |before| is |initial|. */
static LLVMValueRef add_phi(LLVMBuilderRef builder, LLVMValueRef initial, LLVMBasicBlockRef before) {
  LLVMValueRef phi = LLVMBuildPhi(builder, LLVMTypeOf(initial), "");
  LLVMAddIncoming(phi, &initial, &before, 1);
  return phi;
}

/* Enters the header, if |guard| (NULL: always), and writes its phis: the index first, then the variables in order. */
static void enter(IrLoop *loop, LLVMValueRef begin, LLVMValueRef guard) {
  LLVMBuilderRef builder = loop->builder;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(builder);
  loop->header = add_block(builder, "loop");
  if (guard == NULL) {
    LLVMBuildBr(builder, loop->header);
  } else {
    loop->guard = before;
    LLVMBuildCondBr(builder, guard, loop->header, block_after(loop));
  }
  LLVMPositionBuilderAtEnd(builder, loop->header);
  if (begin != NULL) loop->index = add_phi(builder, begin, before);
  for (int i = 0; i < loop->carried_count; i++) *loop->carried[i] = add_phi(builder, *loop->carried[i], before);
}

/* --- beginnings --- */

typedef enum CountKind { COUNT_SOME, COUNT_GUARDED, COUNT_APART } CountKind;

static IrLoop count(LLVMBuilderRef builder, IndexRange range, int64_t step, LLVMValueRef **carried, int carried_count,
                    CountKind kind) {
  IrLoop loop = {.index = range.begin,
                 .builder = builder,
                 .end = range.end,
                 .step = step,
                 .carried = carried,
                 .carried_count = carried_count};
  int64_t begin, end;
  bool is_known = ir_index_is_constant(range.begin, &begin) && ir_index_is_constant(range.end, &end);
  XLAC_CHECK(step > 0 && (kind == COUNT_GUARDED || !is_known || begin < end));
  loop.is_single = kind != COUNT_APART && ir_range_is_one_round(range, step);
  if (loop.is_single) return loop;
  bool is_guarded = kind == COUNT_GUARDED && !(is_known && begin < end);
  LLVMValueRef guard = is_guarded ? LLVMBuildICmp(builder, LLVMIntSLT, range.begin, range.end, "") : NULL;
  enter(&loop, range.begin, guard);
  return loop;
}

IrLoop ir_loop_count(LLVMBuilderRef builder, IndexRange range, int64_t step, LLVMValueRef **carried,
                     int carried_count) {
  return count(builder, range, step, carried, carried_count, COUNT_SOME);
}

IrLoop ir_loop_count_guarded(LLVMBuilderRef builder, IndexRange range, int64_t step, LLVMValueRef **carried,
                             int carried_count) {
  return count(builder, range, step, carried, carried_count, COUNT_GUARDED);
}

IrLoop ir_loop_count_apart(LLVMBuilderRef builder, IndexRange range, int64_t step, LLVMValueRef **carried,
                           int carried_count) {
  return count(builder, range, step, carried, carried_count, COUNT_APART);
}

IrLoop ir_loop_begin(LLVMBuilderRef builder, LLVMValueRef **carried, int carried_count) {
  IrLoop loop = {.builder = builder, .carried = carried, .carried_count = carried_count};
  enter(&loop, NULL, NULL);
  return loop;
}

/* --- in the body --- */

IndexRange ir_loop_round(const IrLoop *loop) {
  LLVMBuilderRef builder = loop->builder;
  if (loop->is_single) return (IndexRange){loop->index, loop->end};
  LLVMValueRef step = LLVMConstInt(LLVMTypeOf(loop->index), (unsigned long long)loop->step, true);
  return (IndexRange){loop->index, ir_index_minimum(builder, ir_index_add(builder, loop->index, step), loop->end)};
}

void ir_loop_leave_unless(IrLoop *loop, LLVMValueRef condition) {
  LLVMBasicBlockRef inside = add_block(loop->builder, "");
  LLVMBuildCondBr(loop->builder, condition, inside, block_after(loop));
  LLVMPositionBuilderAtEnd(loop->builder, inside);
  loop->is_left_inside = true;
}

/* --- ends --- */

/* What the variable of |phi| is after a loop that |latch| or its guard leads out of. */
static LLVMValueRef join(IrLoop *loop, LLVMValueRef phi, LLVMValueRef last, LLVMBasicBlockRef latch) {
  LLVMValueRef joined = add_phi(loop->builder, LLVMGetIncomingValue(phi, 0), loop->guard);
  LLVMAddIncoming(joined, &last, &latch, 1);
  return joined;
}

/* Goes back to the header, while |more| (NULL: always), and stands after the loop.  |next|: of the index, or NULL. */
static void leave(IrLoop *loop, LLVMValueRef next, LLVMValueRef more) {
  LLVMBuilderRef builder = loop->builder;
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(builder);
  LLVMValueRef phi = LLVMGetFirstInstruction(loop->header);
  if (next != NULL) {
    LLVMAddIncoming(phi, &next, &latch, 1);
    phi = LLVMGetNextInstruction(phi);
  }
  if (more == NULL) {
    LLVMBuildBr(builder, loop->header);
  } else {
    LLVMBuildCondBr(builder, more, loop->header, block_after(loop));
  }
  LLVMPositionBuilderAtEnd(builder, loop->after);
  for (int i = 0; i < loop->carried_count; i++, phi = LLVMGetNextInstruction(phi)) {
    LLVMValueRef *variable = loop->carried[i], last = *variable;
    LLVMAddIncoming(phi, &last, &latch, 1);
    if (loop->guard != NULL) *variable = join(loop, phi, last, latch);
    if (loop->is_left_inside) *variable = phi;
  }
}

void ir_loop_end(IrLoop *loop) {
  if (loop->is_single) return;
  if (loop->end == NULL) {
    XLAC_CHECK(loop->is_left_inside);
    leave(loop, NULL, NULL);
    return;
  }
  XLAC_CHECK(!loop->is_left_inside);
  LLVMValueRef step = LLVMConstInt(LLVMTypeOf(loop->index), (unsigned long long)loop->step, true);
  LLVMValueRef next = LLVMBuildNSWAdd(loop->builder, loop->index, step, "");
  leave(loop, next, LLVMBuildICmp(loop->builder, LLVMIntSLT, next, loop->end, ""));
}

void ir_loop_end_while(IrLoop *loop, LLVMValueRef more) {
  XLAC_CHECK(loop->end == NULL && !loop->is_left_inside);
  leave(loop, NULL, more);
}

LLVMBasicBlockRef ir_if_begin(LLVMBuilderRef builder, LLVMValueRef condition) {
  LLVMBasicBlockRef then = add_block(builder, ""), after = add_block(builder, "");
  LLVMBuildCondBr(builder, condition, then, after);
  LLVMPositionBuilderAtEnd(builder, then);
  return after;
}

void ir_if_end(LLVMBuilderRef builder, LLVMBasicBlockRef after) {
  LLVMBuildBr(builder, after);
  LLVMPositionBuilderAtEnd(builder, after);
}
