/* The micro-kernel: a tile of sums in registers. */
#include <stdio.h>
#include <string.h>

#include "codegen/blocks/contraction_internal.h"

enum { ARG_LHS, ARG_RHS, ARG_TILE, ARG_DEPTH, ARG_RHS_STRIDE, ARG_ADD, ARG_AHEAD, ARG_AHEAD_STRIDE, ARG_COUNT };

#define MAX_SUMS 32

typedef struct MicroEmitter {
  const VecBuilder *vec;
  const ContractionPlan *plan;
  LLVMValueRef function, arguments[ARG_COUNT];
  int sum_count;
} MicroEmitter;

static LLVMTypeRef micro_type(const VecBuilder *vec) {
  LLVMTypeRef pointer = LLVMPointerTypeInContext(vec->context, 0), index = LLVMInt64TypeInContext(vec->context);
  LLVMTypeRef parameters[ARG_COUNT] = {pointer, pointer, pointer, index, index, LLVMInt1TypeInContext(vec->context),
                                       pointer, index};
  return LLVMFunctionType(LLVMVoidTypeInContext(vec->context), parameters, ARG_COUNT, false);
}

static void micro_name(const ContractionPlan *plan, char *out, size_t size) {
  static const char *const groups[] = {[2] = ".pairs", [4] = ".quads"};
  snprintf(out, size, "xlac.contraction.%s.%s.%dx%dx%d.%d%s%s%s", type_text(plan->type), type_text(plan->rhs_type),
           plan->tile_rows, plan->panel_vectors, plan->lanes, (int)plan->row_stride, plan->rhs_ahead ? ".ahead" : "",
           plan->group > 1 ? groups[plan->group] : "",
           plan->lhs_shifted    ? ".shifted"
           : plan->rhs_unsigned ? ".unsigned"
                                : "");
}

static LLVMBasicBlockRef add_block(const MicroEmitter *micro) {
  return LLVMAppendBasicBlockInContext(micro->vec->context, micro->function, "");
}

static LLVMValueRef sum_pointer(const MicroEmitter *micro, int sum) {
  return block_element(micro->vec, micro->plan->type, micro->arguments[ARG_TILE],
                       block_int(micro->vec, (int64_t)sum * micro->plan->lanes));
}

/* sums ← add ? tile : 0; the builder stands after that. */
static void load_sums(const MicroEmitter *micro, LLVMValueRef *out_sums) {
  const VecBuilder *vec = micro->vec;
  LLVMBasicBlockRef start = LLVMGetInsertBlock(vec->builder), load = add_block(micro), behind = add_block(micro);
  LLVMBuildCondBr(vec->builder, micro->arguments[ARG_ADD], load, behind);
  LLVMPositionBuilderAtEnd(vec->builder, load);
  LLVMValueRef loaded[MAX_SUMS];
  for (int i = 0; i < micro->sum_count; i++)
    loaded[i] = vec_load(vec, micro->plan->type, sum_pointer(micro, i), NULL, micro->plan->lanes);
  LLVMBuildBr(vec->builder, behind);
  LLVMPositionBuilderAtEnd(vec->builder, behind);
  for (int i = 0; i < micro->sum_count; i++) {
    LLVMTypeRef type = LLVMTypeOf(loaded[i]);
    LLVMValueRef incoming[2] = {LLVMConstNull(type), loaded[i]};
    LLVMBasicBlockRef blocks[2] = {start, load};
    out_sums[i] = LLVMBuildPhi(vec->builder, type, "");
    LLVMAddIncoming(out_sums[i], incoming, blocks, 2);
  }
}

/* The product of a lane of the lhs and a vector of the rhs, added to |sum|. */
static LLVMValueRef multiply_add(const MicroEmitter *micro, LLVMValueRef row, LLVMValueRef column, LLVMValueRef sum) {
  const ContractionPlan *plan = micro->plan;
  if (plan->group == 1) return vec_multiply_add(micro->vec, plan->type, row, column, sum);
  if (plan->rhs_unsigned) return vec_dot_add(micro->vec, plan->dot, column, row, sum, plan->lanes);
  return vec_dot_add(micro->vec, plan->dot, row, column, sum, plan->lanes);
}

/* sums += lhs column at |depth| × rhs row at |rhs|; after them the sums of 128 × rhs where the lhs is shifted. */
static void step(const MicroEmitter *micro, LLVMValueRef depth, LLVMValueRef rhs, LLVMValueRef *sums) {
  const VecBuilder *vec = micro->vec;
  const ContractionPlan *plan = micro->plan;
  LLVMValueRef columns[MAX_SUMS];
  for (int j = 0; j < plan->panel_vectors; j++) {
    LLVMValueRef pointer = block_element(vec, plan->rhs_type, rhs, block_int(vec, (int64_t)j * plan->lanes));
    columns[j] = vec_load(vec, plan->rhs_type, pointer, NULL, plan->lanes);
    VecOp convert = {HLO_CONVERT, plan->type, plan->rhs_type, {0, 0}};
    if (plan->rhs_type != plan->type) columns[j] = vec_apply(vec, &convert, &columns[j], plan->lanes);
    if (!plan->lhs_shifted) continue;
    LLVMValueRef *excess = &sums[plan->tile_rows * plan->panel_vectors + j];
    *excess =
        multiply_add(micro, vec_constant(vec, plan->type, UINT64_C(0x80808080), plan->lanes), columns[j], *excess);
  }
  LLVMValueRef lhs = block_element(vec, plan->type, micro->arguments[ARG_LHS], depth);
  for (int i = 0; i < plan->tile_rows; i++) {
    LLVMValueRef pointer = block_element(vec, plan->type, lhs, block_int(vec, i * plan->row_stride));
    LLVMValueRef row = vec_splat(vec, vec_load(vec, plan->type, pointer, NULL, 1), plan->lanes);
    for (int j = 0; j < plan->panel_vectors; j++) {
      LLVMValueRef *sum = &sums[i * plan->panel_vectors + j];
      *sum = multiply_add(micro, row, columns[j], *sum);
    }
  }
}

/* Asks for the line at |pointer|: to be read, into the second-level cache, data. */
static void prefetch(const MicroEmitter *micro, LLVMValueRef pointer) {
  const VecBuilder *vec = micro->vec;
  LLVMTypeRef type = LLVMTypeOf(pointer), flag = LLVMInt32TypeInContext(vec->context);
  unsigned id = LLVMLookupIntrinsicID("llvm.prefetch", strlen("llvm.prefetch"));
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(vec->module, id, &type, 1);
  LLVMValueRef arguments[] = {pointer, LLVMConstInt(flag, 0, false), LLVMConstInt(flag, 2, false),
                              LLVMConstInt(flag, 1, false)};
  LLVMBuildCall2(vec->builder, LLVMIntrinsicGetType(vec->context, id, &type, 1), function, arguments, 4, "");
}

/* |pointer|, |stride| elements of the rhs further on. */
static LLVMValueRef next_row(const MicroEmitter *micro, LLVMValueRef pointer, int stride) {
  return block_element(micro->vec, micro->plan->rhs_type, pointer, micro->arguments[stride]);
}

/* sums += lhs × rhs over the depth. */
static void add_products(const MicroEmitter *micro, LLVMValueRef *sums, int count) {
  const ContractionPlan *plan = micro->plan;
  LLVMValueRef rhs = micro->arguments[ARG_RHS], ahead = micro->arguments[ARG_AHEAD], *carried[MAX_SUMS + 2];
  int carried_count = 0;
  carried[carried_count++] = &rhs;
  if (plan->rhs_ahead) carried[carried_count++] = &ahead;
  for (int i = 0; i < count; i++) carried[carried_count++] = &sums[i];
  IrLoop depth =
      ir_loop_count(micro->vec->builder, ir_range_below(micro->arguments[ARG_DEPTH]), 1, carried, carried_count);
  if (plan->rhs_ahead) prefetch(micro, ahead);
  step(micro, depth.index, rhs, sums);
  rhs = next_row(micro, rhs, ARG_RHS_STRIDE);
  if (plan->rhs_ahead) ahead = next_row(micro, ahead, ARG_AHEAD_STRIDE);
  ir_loop_end(&depth);
}

static void emit_body(const MicroEmitter *micro) {
  const VecBuilder *vec = micro->vec;
  LLVMPositionBuilderAtEnd(vec->builder, add_block(micro));
  LLVMValueRef sums[MAX_SUMS];
  int excess_count = micro->plan->lhs_shifted ? micro->plan->panel_vectors : 0, count = micro->sum_count + excess_count;
  XLAC_CHECK(count <= MAX_SUMS);
  load_sums(micro, sums);
  for (int i = micro->sum_count; i < count; i++) sums[i] = vec_constant(vec, micro->plan->type, 0, micro->plan->lanes);
  add_products(micro, sums, count);
  for (int i = 0; i < micro->sum_count; i++) {
    LLVMValueRef sum = sums[i];
    if (excess_count > 0) {
      LLVMValueRef excess = sums[micro->sum_count + i % micro->plan->panel_vectors];
      sum = LLVMBuildSub(vec->builder, sum, excess, "");
    }
    vec_store(vec, micro->plan->type, sum, sum_pointer(micro, i), NULL, micro->plan->lanes);
  }
  LLVMBuildRetVoid(vec->builder);
}

static LLVMValueRef micro_function(const VecBuilder *vec, const ContractionPlan *plan) {
  char name[96];
  micro_name(plan, name, sizeof name);
  LLVMValueRef function = LLVMGetNamedFunction(vec->module, name);
  if (function != NULL) return function;
  function = LLVMAddFunction(vec->module, name, micro_type(vec));
  LLVMSetLinkage(function, LLVMInternalLinkage);
  static const char *const attributes[] = {"nounwind", "noinline"};
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
    unsigned kind = LLVMGetEnumAttributeKindForName(attributes[i], strlen(attributes[i]));
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(vec->context, kind, 0));
  }
  LLVMBasicBlockRef position = LLVMGetInsertBlock(vec->builder);
  MicroEmitter micro = {
      .vec = vec, .plan = plan, .function = function, .sum_count = plan->tile_rows * plan->panel_vectors};
  LLVMGetParams(function, micro.arguments);
  emit_body(&micro);
  LLVMPositionBuilderAtEnd(vec->builder, position);
  return function;
}

void contraction_micro_call(const VecBuilder *vec, const ContractionPlan *plan, const MicroCall *call) {
  LLVMValueRef arguments[ARG_COUNT] = {[ARG_LHS] = call->lhs,
                                       [ARG_RHS] = call->rhs,
                                       [ARG_TILE] = call->tile,
                                       [ARG_DEPTH] = call->depth,
                                       [ARG_RHS_STRIDE] = call->rhs_stride,
                                       [ARG_ADD] = call->adds};
  arguments[ARG_AHEAD] = call->ahead != NULL ? call->ahead : LLVMGetPoison(LLVMTypeOf(call->lhs));
  arguments[ARG_AHEAD_STRIDE] = block_int(vec, call->ahead_stride);
  LLVMBuildCall2(vec->builder, micro_type(vec), micro_function(vec, plan), arguments, ARG_COUNT, "");
}
