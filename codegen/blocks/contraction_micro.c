/* The micro-kernel: a tile of sums in registers. */
#include <stdio.h>
#include <string.h>

#include "codegen/blocks/contraction_internal.h"
#include "codegen/ir/ir_function.h"

/* contraction_assembly.c has them in this order: six in registers. */
enum {
  ARG_LHS,
  ARG_RHS,
  ARG_TILE,
  ARG_DEPTH,
  ARG_RHS_STRIDE,
  ARG_TILE_STRIDE,
  ARG_FLAGS, /* 1: adds; 2: the last tile; MATRIX_REFUSED; FINISHES_IN_REGISTERS; PACKS_PANEL */
  ARG_AHEAD,
  ARG_AHEAD_STRIDE,
  ARG_OTHERS, /* where there are |result_lines|, where they are, and their stride; then what registers take; then where
                 tiles pack panels to, or the rows that are outside of a window that is walked */
  MOST_ARGS = ARG_OTHERS + 2 + 2 + MOST_REGISTER_STEPS + 1
};

#define REGISTER_ARGS 6
#define STACK_ARG_BYTES 8

#define MAX_SUMS 32

typedef struct MicroEmitter {
  const VecBuilder *vec;
  const ContractionBlocking *blocking;
  LLVMValueRef function, arguments[MOST_ARGS];
  int sum_count;
} MicroEmitter;

static LLVMTypeRef micro_type(const VecBuilder *vec, const ContractionBlocking *blocking) {
  LLVMTypeRef pointer = LLVMPointerTypeInContext(vec->context, 0), index = LLVMInt64TypeInContext(vec->context);
  LLVMTypeRef byte = LLVMInt8TypeInContext(vec->context);
  LLVMTypeRef parameters[MOST_ARGS] = {pointer, pointer, pointer, index, index, index, byte, pointer, index};
  unsigned count = ARG_OTHERS;
  for (int i = 0; i < (blocking->result_lines > 0) + blocking->in_registers; i++) {
    parameters[count++] = pointer;
    parameters[count++] = index;
  }
  for (int i = 0; blocking->in_registers && i < blocking->register_step_count; i++) parameters[count++] = pointer;
  if (blocking->packed_by_tile) parameters[count++] = pointer;
  if (blocking->walks_window) parameters[count++] = index;
  return LLVMFunctionType(LLVMVoidTypeInContext(vec->context), parameters, count, false);
}

int contraction_last_argument(const ContractionBlocking *blocking) {
  int before = ARG_OTHERS + (blocking->result_lines > 0 ? 2 : 0);
  if (blocking->in_registers) before += 2 + blocking->register_step_count;
  return (before - REGISTER_ARGS + 1) * STACK_ARG_BYTES;
}

int contraction_lines_ahead(const ContractionBlocking *blocking) {
  if (!blocking->rhs_ahead || blocking->ahead_in_turn) return 0;
  if (!blocking->rhs_in_place || blocking->tile_count > 1) return 1;
  int64_t bytes = blocking->panel_width * type_storage_bytes(blocking->rhs_type);
  return (int)((bytes + LINE_BYTES - 1) / LINE_BYTES);
}

/* Whether there may be sums of an earlier block of the depth to go on from, or zeros. */
bool contraction_continues(const ContractionBlocking *blocking) {
  return blocking->block_count > 1 || blocking->cut;
}

/* What of a window is constant in the micro-kernel. */
static void window_name(const ContractionBlocking *blocking, char *out, size_t size) {
  const WindowWalk *window = &blocking->window;
  bool walks = blocking->walks_window;
  int length = snprintf(out, size, ".%s%lldx%lld.%lld.%lld.%lld.%lld", walks ? "walk" : "window",
                        (long long)window->middle_count, (long long)window->tap_count, (long long)window->channel_step,
                        (long long)window->middle_step, (long long)window->tap_step,
                        (long long)(walks ? window->channel_count : blocking->packed_stride));
  for (int i = 0; i < window->tap_count; i++)
    length += snprintf(out + length, size - (size_t)length, "%c%x", i == 0 ? '.' : '-', window->outside[i]);
}

static void micro_name(const ContractionBlocking *blocking, char *out, size_t size) {
  static const char *const groups[] = {[2] = ".pairs", [4] = ".quads"};
  static const char *const passing[2][2] = {{"", ".panels"}, {".rows", ".both"}};
  const char *unit = blocking->in_matrix_unit ? contraction_matrix_instruction(blocking) : "";
  char strips[48] = "", rest[16] = "", step[24] = "", results[24] = "", window[216] = "", registers[160] = "";
  if (blocking->in_registers) contraction_name_registers(blocking, registers, sizeof registers);
  if (blocking->is_turned || blocking->walks_window) window_name(blocking, window, sizeof window);
  if (blocking->rest_rows > 0) snprintf(rest, sizeof rest, ".last%d", blocking->rest_rows);
  if (blocking->lhs_step > 1) snprintf(step, sizeof step, ".by%lld", (long long)blocking->lhs_step);
  if (blocking->result_lines > 0)
    snprintf(results, sizeof results, ".results%dby%d", blocking->result_lines, contraction_steps_apart(blocking));
  int64_t gap = contraction_strip_gap(blocking);
  if (gap > 0) snprintf(strips, sizeof strips, ".strips%lld+%lld", (long long)blocking->strip_run, (long long)gap);
  snprintf(out, size, "xlac.contraction.%s.%s.%dx%dx%d.%d.%d%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s", type_text(blocking->type),
           type_text(blocking->rhs_type), blocking->tile_rows, blocking->panel_vectors, blocking->lanes,
           (int)blocking->row_stride, contraction_lines_ahead(blocking), step, results, strips, window, rest,
           contraction_continues(blocking) ? ".on" : "",
           blocking->common_guard_count > 0 || blocking->cut ? ".perhaps" : "",
           blocking->sums_in_result ? ".apart" : "", blocking->group > 1 ? groups[blocking->group] : "",
           blocking->lhs_shifted    ? ".shifted"
           : blocking->rhs_unsigned ? ".unsigned"
                                    : "",
           blocking->in_matrix_unit ? "." : "", unit, passing[blocking->lhs_passes_by][blocking->rhs_passes_by],
           registers, blocking->packed_by_tile ? ".packing" : "");
}

static LLVMBasicBlockRef add_block(const MicroEmitter *micro) {
  return LLVMAppendBasicBlockInContext(micro->vec->context, micro->function, "");
}

static LLVMValueRef sum_pointer(const MicroEmitter *micro, int sum) {
  const VecBuilder *vec = micro->vec;
  const ContractionBlocking *blocking = micro->blocking;
  int row = sum / blocking->panel_vectors, column = sum % blocking->panel_vectors * blocking->lanes;
  LLVMValueRef stride =
      blocking->sums_in_result ? micro->arguments[ARG_TILE_STRIDE] : block_int(vec, blocking->panel_width);
  LLVMValueRef begin = LLVMBuildMul(vec->builder, stride, block_int(vec, row), "");
  return block_element(vec, blocking->type, micro->arguments[ARG_TILE],
                       LLVMBuildAdd(vec->builder, begin, block_int(vec, column), ""));
}

static LLVMValueRef adds(const MicroEmitter *micro) {
  LLVMTypeRef type = LLVMInt1TypeInContext(micro->vec->context);
  return LLVMBuildTrunc(micro->vec->builder, micro->arguments[ARG_FLAGS], type, "");
}

/* sums ← add ? tile : 0, without a branch: a masked load is one instruction for LLVM to compile where a load and what
 * joins it with 0 are several. */
static void load_sums_masked(const MicroEmitter *micro, LLVMValueRef *out_sums) {
  const VecBuilder *vec = micro->vec;
  int lanes = micro->blocking->lanes;
  LLVMValueRef mask = vec_splat(vec, adds(micro), lanes);
  for (int i = 0; i < micro->sum_count; i++)
    out_sums[i] = vec_load(vec, micro->blocking->type, sum_pointer(micro, i), mask, lanes);
}

static bool has_masks(const MicroEmitter *micro) {
  return micro->blocking->lanes > 1 && contraction_mask_is_cheap(micro->vec->target, micro->blocking->type, false);
}

/* sums ← add ? tile : 0; the builder stands after that. */
static void load_sums(const MicroEmitter *micro, LLVMValueRef *out_sums) {
  if (!contraction_continues(micro->blocking)) {
    for (int i = 0; i < micro->sum_count; i++)
      out_sums[i] = vec_constant(micro->vec, micro->blocking->type, 0, micro->blocking->lanes);
    return;
  }
  if (has_masks(micro)) {
    load_sums_masked(micro, out_sums);
    return;
  }
  const VecBuilder *vec = micro->vec;
  LLVMBasicBlockRef start = LLVMGetInsertBlock(vec->builder), load = add_block(micro), behind = add_block(micro);
  LLVMBuildCondBr(vec->builder, adds(micro), load, behind);
  LLVMPositionBuilderAtEnd(vec->builder, load);
  LLVMValueRef loaded[MAX_SUMS];
  for (int i = 0; i < micro->sum_count; i++)
    loaded[i] = vec_load(vec, micro->blocking->type, sum_pointer(micro, i), NULL, micro->blocking->lanes);
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
  const ContractionBlocking *blocking = micro->blocking;
  if (blocking->group == 1) return vec_multiply_add(micro->vec, blocking->type, row, column, sum);
  if (blocking->rhs_unsigned) return vec_dot_add(micro->vec, blocking->dot, column, row, sum, blocking->lanes);
  return vec_dot_add(micro->vec, blocking->dot, row, column, sum, blocking->lanes);
}

/* Where index |depth| of the lhs's first row lies. */
static LLVMValueRef packed_place(const MicroEmitter *micro, LLVMValueRef depth) {
  const VecBuilder *vec = micro->vec;
  int64_t gap = contraction_strip_gap(micro->blocking);
  if (gap == 0) return ir_index_multiply(vec->builder, depth, micro->blocking->lhs_step);
  LLVMValueRef strip = LLVMBuildUDiv(vec->builder, depth, block_int(vec, micro->blocking->strip_run), "");
  return LLVMBuildAdd(vec->builder, depth, LLVMBuildMul(vec->builder, strip, block_int(vec, gap), ""), "");
}

/* sums += lhs column at |depth| × rhs row at |rhs|. */
static void step(const MicroEmitter *micro, LLVMValueRef depth, LLVMValueRef rhs, LLVMValueRef *sums) {
  const VecBuilder *vec = micro->vec;
  const ContractionBlocking *blocking = micro->blocking;
  LLVMValueRef columns[MAX_SUMS];
  for (int j = 0; j < blocking->panel_vectors; j++) {
    LLVMValueRef pointer = block_element(vec, blocking->rhs_type, rhs, block_int(vec, (int64_t)j * blocking->lanes));
    columns[j] = vec_load(vec, blocking->rhs_type, pointer, NULL, blocking->lanes);
    VecOp convert = {HLO_CONVERT, blocking->type, blocking->rhs_type, {0, 0}};
    if (blocking->rhs_type != blocking->type) columns[j] = vec_apply(vec, &convert, &columns[j], blocking->lanes);
  }
  LLVMValueRef lhs = block_element(vec, blocking->type, micro->arguments[ARG_LHS], packed_place(micro, depth));
  for (int i = 0; i < blocking->tile_rows; i++) {
    LLVMValueRef pointer = block_element(vec, blocking->type, lhs, block_int(vec, i * blocking->row_stride));
    LLVMValueRef row = vec_splat(vec, vec_load(vec, blocking->type, pointer, NULL, 1), blocking->lanes);
    for (int j = 0; j < blocking->panel_vectors; j++) {
      LLVMValueRef *sum = &sums[i * blocking->panel_vectors + j];
      *sum = multiply_add(micro, row, columns[j], *sum);
    }
  }
}

/* |pointer|, |stride| elements of the rhs further on. */
static LLVMValueRef next_row(const MicroEmitter *micro, LLVMValueRef pointer, int stride) {
  return block_element(micro->vec, micro->blocking->rhs_type, pointer, micro->arguments[stride]);
}

/* sums += lhs × rhs over the depth; the end of the rhs. */
static LLVMValueRef add_products(const MicroEmitter *micro, LLVMValueRef *sums) {
  const ContractionBlocking *blocking = micro->blocking;
  LLVMValueRef rhs = micro->arguments[ARG_RHS], ahead = micro->arguments[ARG_AHEAD], *carried[MAX_SUMS + 2];
  int carried_count = 0;
  carried[carried_count++] = &rhs;
  int lines = contraction_lines_ahead(blocking);
  if (lines > 0) carried[carried_count++] = &ahead;
  for (int i = 0; i < micro->sum_count; i++) carried[carried_count++] = &sums[i];
  IndexRange range = ir_range_below(micro->arguments[ARG_DEPTH]);
  LLVMBuilderRef builder = micro->vec->builder;
  bool perhaps = blocking->common_guard_count > 0 || blocking->cut;
  IrLoop depth = perhaps ? ir_loop_count_guarded(builder, range, 1, carried, carried_count)
                         : ir_loop_count(builder, range, 1, carried, carried_count);
  for (int i = 0; i < lines; i++)
    vec_prefetch(micro->vec, block_element(micro->vec, TYPE_S8, ahead, block_int(micro->vec, (int64_t)i * LINE_BYTES)));
  step(micro, depth.index, rhs, sums);
  rhs = next_row(micro, rhs, ARG_RHS_STRIDE);
  if (lines > 0) ahead = next_row(micro, ahead, ARG_AHEAD_STRIDE);
  ir_loop_end(&depth);
  return rhs;
}

/* Takes away the sums that follow the panel, one for each column. */
static void take_excess(const MicroEmitter *micro, LLVMValueRef excess, LLVMValueRef *sums) {
  const VecBuilder *vec = micro->vec;
  const ContractionBlocking *blocking = micro->blocking;
  for (int j = 0; j < blocking->panel_vectors; j++) {
    LLVMValueRef pointer = block_element(vec, blocking->type, excess, block_int(vec, (int64_t)j * blocking->lanes));
    LLVMValueRef columns = vec_load(vec, blocking->type, pointer, NULL, blocking->lanes);
    for (int i = j; i < micro->sum_count; i += blocking->panel_vectors)
      sums[i] = LLVMBuildSub(vec->builder, sums[i], columns, "");
  }
}

static void emit_body(const MicroEmitter *micro) {
  const VecBuilder *vec = micro->vec;
  LLVMPositionBuilderAtEnd(vec->builder, add_block(micro));
  LLVMValueRef sums[MAX_SUMS];
  XLAC_CHECK(micro->sum_count <= MAX_SUMS);
  load_sums(micro, sums);
  LLVMValueRef panel_end = add_products(micro, sums);
  if (micro->blocking->lhs_shifted) take_excess(micro, panel_end, sums);
  for (int i = 0; i < micro->sum_count; i++)
    vec_store(vec, micro->blocking->type, sums[i], sum_pointer(micro, i), NULL, micro->blocking->lanes);
  LLVMBuildRetVoid(vec->builder);
}

static LLVMValueRef micro_function(const VecBuilder *vec, const ContractionBlocking *blocking) {
  char name[560];
  micro_name(blocking, name, sizeof name);
  LLVMValueRef function = LLVMGetNamedFunction(vec->module, name);
  if (function != NULL) return function;
  function = ir_function_add(vec->module, name, micro_type(vec, blocking), LLVMInternalLinkage);
  ir_function_mark(function, "noinline");
  LLVMBasicBlockRef position = LLVMGetInsertBlock(vec->builder);
  MicroEmitter micro = {.vec = vec,
                        .blocking = blocking,
                        .function = function,
                        .sum_count = blocking->tile_rows * blocking->panel_vectors};
  LLVMGetParams(function, micro.arguments);
  Arena *scratch = arena_create();
  const char *assembly = contraction_micro_assembly(scratch, vec->target, blocking);
  XLAC_CHECK(assembly != NULL || blocking->rest_rows == 0);
  if (assembly != NULL)
    ir_function_set_assembly(vec->builder, function, sv_from_cstring(assembly));
  else
    emit_body(&micro);
  arena_destroy(scratch);
  LLVMPositionBuilderAtEnd(vec->builder, position);
  return function;
}

static LLVMValueRef call_flags(const VecBuilder *vec, const MicroCall *call) {
  LLVMTypeRef type = LLVMInt8TypeInContext(vec->context);
  LLVMValueRef flags = LLVMBuildZExt(vec->builder, call->adds, type, ""), none = LLVMConstNull(type);
  if (call->refused != NULL) flags = LLVMBuildOr(vec->builder, flags, call->refused, "");
  LLVMValueRef asked[] = {call->is_last, call->finishes, call->packs};
  static const int bits[] = {2, FINISHES_IN_REGISTERS, PACKS_PANEL};
  for (int i = 0; i < 3; i++) {
    if (asked[i] == NULL) continue;
    LLVMValueRef bit = LLVMBuildSelect(vec->builder, asked[i], LLVMConstInt(type, (unsigned)bits[i], false), none, "");
    flags = LLVMBuildOr(vec->builder, flags, bit, "");
  }
  return flags;
}

void contraction_micro_call(const VecBuilder *vec, const ContractionBlocking *blocking, const MicroCall *call) {
  LLVMValueRef arguments[MOST_ARGS] = {[ARG_LHS] = call->lhs,
                                       [ARG_RHS] = call->rhs,
                                       [ARG_TILE] = call->tile,
                                       [ARG_DEPTH] = call->depth,
                                       [ARG_RHS_STRIDE] = call->rhs_stride,
                                       [ARG_FLAGS] = call_flags(vec, call),
                                       [ARG_TILE_STRIDE] = call->tile_stride};
  arguments[ARG_AHEAD] = call->ahead != NULL ? call->ahead : LLVMGetPoison(LLVMTypeOf(call->lhs));
  arguments[ARG_AHEAD_STRIDE] = block_int(vec, call->ahead_stride);
  LLVMTypeRef micro = micro_type(vec, blocking);
  unsigned count = ARG_OTHERS;
  if (blocking->result_lines > 0) {
    arguments[count++] = call->result;
    arguments[count++] = call->result_stride;
  }
  if (blocking->in_registers) {
    arguments[count++] = call->store;
    arguments[count++] = block_int(vec, blocking->result_stride);
    for (int i = 0; i < blocking->register_step_count; i++)
      arguments[count++] = call->read[i] != NULL ? call->read[i] : LLVMGetPoison(LLVMTypeOf(call->lhs));
  }
  if (blocking->packed_by_tile) arguments[count++] = call->packed;
  if (blocking->walks_window) arguments[count++] = call->outside;
  XLAC_CHECK(count == LLVMCountParamTypes(micro));
  LLVMBuildCall2(vec->builder, micro, micro_function(vec, blocking), arguments, count, "");
}
