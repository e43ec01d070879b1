/* Insertion into short runs, and merges of neighbouring runs from the bottom up. */
#include "codegen/blocks/sort_internal.h"

/* Moves record |index| of the run that begins at |start| down to its place. */
static void insert(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef start, LLVMValueRef index) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef record = sort_load(emitter, records, index), place = index, *carried[] = {&place};
  IrLoop loop = ir_loop_begin(b, carried, 1);
  ir_loop_leave_unless(&loop, LLVMBuildICmp(b, LLVMIntSGT, place, start, ""));
  LLVMValueRef below = LLVMBuildNSWSub(b, place, sort_int(emitter, 1), "");
  LLVMValueRef other = sort_load(emitter, records, below);
  ir_loop_leave_unless(&loop, sort_is_before(emitter, record, other));
  sort_store(emitter, other, records, place);
  place = below;
  ir_loop_end(&loop);
  sort_store(emitter, record, records, place);
}

static void sort_runs(const SortEmitter *emitter, LLVMValueRef records) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef length = sort_int(emitter, emitter->length);
  IrLoop runs = ir_loop_count(b, ir_range_below(length), SORT_RUN, NULL, 0);
  LLVMValueRef end = LLVMBuildNSWAdd(b, runs.index, sort_int(emitter, SORT_RUN), "");
  LLVMValueRef second = LLVMBuildNSWAdd(b, runs.index, sort_int(emitter, 1), "");
  IndexRange others = {second, ir_index_minimum(b, end, length)};
  IrLoop members = ir_loop_count_guarded(b, others, 1, NULL, 0);
  insert(emitter, records, runs.index, members.index);
  ir_loop_end(&members);
  ir_loop_end(&runs);
}

/* Records [begin, end) of |from| to |at| of |to|. */
static void copy_records(const SortEmitter *emitter, LLVMValueRef from, LLVMValueRef begin, LLVMValueRef end,
                         LLVMValueRef to, LLVMValueRef at) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef bytes =
      LLVMBuildNSWMul(b, LLVMBuildNSWSub(b, end, begin, ""), sort_int(emitter, emitter->record_bytes), "");
  unsigned alignment = (unsigned)emitter->record_bytes;
  LLVMBuildMemCpy(b, sort_record_pointer(emitter, to, at), alignment, sort_record_pointer(emitter, from, begin),
                  alignment, bytes);
}

/* Runs [start, middle) and [middle, end) of |from|, neither empty, to one of |to|. */
static void merge(const SortEmitter *emitter, LLVMValueRef from, LLVMValueRef to, LLVMValueRef start,
                  LLVMValueRef middle, LLVMValueRef end) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef left = start, right = middle, out = start, *carried[] = {&left, &right, &out};
  IrLoop loop = ir_loop_begin(b, carried, 3);
  LLVMValueRef first = sort_load(emitter, from, left), second = sort_load(emitter, from, right);
  LLVMValueRef takes_right = sort_is_before(emitter, second, first);
  sort_store(emitter, LLVMBuildSelect(b, takes_right, second, first, ""), to, out);
  LLVMValueRef step = LLVMBuildZExt(b, takes_right, LLVMTypeOf(right), "");
  right = LLVMBuildNSWAdd(b, right, step, "");
  out = LLVMBuildNSWAdd(b, out, sort_int(emitter, 1), "");
  left = LLVMBuildNSWAdd(b, left, LLVMBuildNSWSub(b, sort_int(emitter, 1), step, ""), "");
  LLVMValueRef goes_on =
      LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntSLT, left, middle, ""), LLVMBuildICmp(b, LLVMIntSLT, right, end, ""), "");
  ir_loop_end_while(&loop, goes_on);
  copy_records(emitter, from, left, middle, to, out);
  LLVMValueRef rest = LLVMBuildNSWAdd(b, out, LLVMBuildNSWSub(b, middle, left, ""), "");
  copy_records(emitter, from, right, end, to, rest);
}

/* All pairs of runs of |width|; a last run without a partner is copied. */
static void merge_pairs(const SortEmitter *emitter, LLVMValueRef from, LLVMValueRef to, LLVMValueRef width) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef length = sort_int(emitter, emitter->length), both = LLVMBuildNSWAdd(b, width, width, "");
  LLVMValueRef most = LLVMBuildNSWSub(b, LLVMBuildNSWAdd(b, length, both, ""), sort_int(emitter, 1), "");
  IrLoop pairs = ir_loop_count(b, ir_range_below(LLVMBuildUDiv(b, most, both, "")), 1, NULL, 0);
  LLVMValueRef start = LLVMBuildNSWMul(b, pairs.index, both, ""), middle = LLVMBuildNSWAdd(b, start, width, "");
  LLVMValueRef end = ir_index_minimum(b, LLVMBuildNSWAdd(b, start, both, ""), length);
  LLVMBasicBlockRef pair = sort_block(emitter), single = sort_block(emitter), behind = sort_block(emitter);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, middle, length, ""), pair, single);
  LLVMPositionBuilderAtEnd(b, single);
  copy_records(emitter, from, start, length, to, start);
  LLVMBuildBr(b, behind);
  LLVMPositionBuilderAtEnd(b, pair);
  merge(emitter, from, to, start, middle, end);
  LLVMBuildBr(b, behind);
  LLVMPositionBuilderAtEnd(b, behind);
  ir_loop_end(&pairs);
}

LLVMValueRef sort_by_merging(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare) {
  LLVMBuilderRef b = emitter->vec->builder;
  sort_runs(emitter, records);
  if (emitter->length <= SORT_RUN) return records;
  LLVMValueRef width = sort_int(emitter, SORT_RUN), from = records, to = spare, *carried[] = {&width, &from, &to};
  IrLoop loop = ir_loop_begin(b, carried, 3);
  ir_loop_leave_unless(&loop, LLVMBuildICmp(b, LLVMIntSLT, width, sort_int(emitter, emitter->length), ""));
  merge_pairs(emitter, from, to, width);
  LLVMValueRef sorted = to;
  width = LLVMBuildNSWAdd(b, width, width, "");
  to = from;
  from = sorted;
  ir_loop_end(&loop);
  return from;
}
