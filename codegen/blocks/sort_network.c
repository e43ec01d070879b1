/* Short lines, several at a time, by a network: Batcher's merge exchange for any number of records (Knuth, The Art of
 * Computer Programming 5.2.2, algorithm M).  Which records are compared does not depend on them, so every lane sorts a
 * line of its own, and nothing is guessed by the processor. */
#include "codegen/blocks/sort_internal.h"

/* Longer lines are sorted by digits in less time; fewer lines than half the lanes, too.  So few take as many lanes. */
enum { LONGEST_LINE = 1024, LONGEST_NARROW_LINE = 256, MOST_LINES = 8, LEAST_LINES = MOST_LINES / 2 };

bool sort_uses_network(const SortEmitter *emitter) {
  int64_t longest = emitter->key.bits <= 16 ? LONGEST_NARROW_LINE : LONGEST_LINE;
  return emitter->key.is_known && emitter->key.bits <= 32 && emitter->line_count >= LEAST_LINES &&
         emitter->length > 1 && emitter->length <= longest && !sort_selects(emitter);
}

int64_t sort_network_lines(const SortEmitter *emitter) {
  return emitter->line_count <= LEAST_LINES ? LEAST_LINES : MOST_LINES;
}

/* --- the network --- */

/* A step of the network: records i and i + distance are compared for all i below length - distance whose bit |p| is
 * that of |r|. */
typedef struct NetworkStep {
  LLVMValueRef p, q, r, distance;
} NetworkStep;

static LLVMValueRef network_row(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef index) {
  LLVMTypeRef row = LLVMVectorType(emitter->record, (unsigned)emitter->record_step);
  return LLVMBuildInBoundsGEP2(emitter->vec->builder, row, records, &index, 1, "");
}

static LLVMValueRef load_row(const SortEmitter *emitter, LLVMValueRef pointer) {
  LLVMTypeRef row = LLVMVectorType(emitter->record, (unsigned)emitter->record_step);
  return LLVMBuildLoad2(emitter->vec->builder, row, pointer, "");
}

/* The lesser records of rows |index| and |index| + distance to the first. */
static void exchange(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef index, LLVMValueRef distance) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef first = network_row(emitter, records, index),
               second = network_row(emitter, records, LLVMBuildNSWAdd(b, index, distance, ""));
  LLVMValueRef x = load_row(emitter, first), y = load_row(emitter, second);
  LLVMValueRef in_order = LLVMBuildICmp(b, LLVMIntSLT, x, y, "");
  LLVMBuildStore(b, LLVMBuildSelect(b, in_order, x, y, ""), first);
  LLVMBuildStore(b, LLVMBuildSelect(b, in_order, y, x, ""), second);
}

static void emit_step(const SortEmitter *emitter, LLVMValueRef records, const NetworkStep *step) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef end = LLVMBuildNSWSub(b, sort_int(emitter, emitter->length), step->distance, "");
  LLVMValueRef index = step->r, *carried[] = {&index};
  IrLoop loop = ir_loop_begin(b, carried, 1);
  ir_loop_leave_unless(&loop, LLVMBuildICmp(b, LLVMIntSLT, index, end, ""));
  exchange(emitter, records, index, step->distance);
  /* the next one, past |p| where its bit differs */
  LLVMValueRef next = LLVMBuildNSWAdd(b, index, sort_int(emitter, 1), "");
  index = LLVMBuildNSWAdd(b, next, LLVMBuildAnd(b, LLVMBuildXor(b, next, step->r, ""), step->p, ""), "");
  ir_loop_end(&loop);
}

static LLVMValueRef half(LLVMBuilderRef b, LLVMValueRef value) {
  return LLVMBuildLShr(b, value, LLVMConstInt(LLVMTypeOf(value), 1, false), "");
}

void sort_by_network(const SortEmitter *emitter, LLVMValueRef records) {
  LLVMBuilderRef b = emitter->vec->builder;
  int64_t top = 1; /* the largest power of two below the length */
  while (top * 2 < emitter->length) top *= 2;
  LLVMValueRef first = sort_int(emitter, top), zero = sort_int(emitter, 0);
  NetworkStep step = {first, first, zero, first};
  LLVMValueRef *carried[] = {&step.p, &step.q, &step.r, &step.distance};
  IrLoop steps = ir_loop_begin(b, carried, 4);
  emit_step(emitter, records, &step);
  LLVMValueRef is_last = LLVMBuildICmp(b, LLVMIntEQ, step.p, step.q, "");
  LLVMValueRef distance = LLVMBuildNSWSub(b, step.q, step.p, "");
  step.r = LLVMBuildSelect(b, is_last, zero, step.p, "");
  step.q = LLVMBuildSelect(b, is_last, first, half(b, step.q), "");
  step.p = LLVMBuildSelect(b, is_last, half(b, step.p), step.p, "");
  step.distance = LLVMBuildSelect(b, is_last, step.p, distance, "");
  ir_loop_end_while(&steps, LLVMBuildICmp(b, LLVMIntNE, step.p, zero, ""));
}
