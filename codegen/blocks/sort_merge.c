/* Insertion into short runs, and merges of neighbouring runs from the bottom up. */
#include "codegen/blocks/sort_internal.h"

static void add_incoming(LLVMValueRef phi, LLVMValueRef value, LLVMBasicBlockRef from) {
  LLVMAddIncoming(phi, &value, &from, 1);
}

static LLVMValueRef minimum(const SortEmitter *emitter, LLVMValueRef a, LLVMValueRef b) {
  LLVMBuilderRef builder = emitter->vec->builder;
  return LLVMBuildSelect(builder, LLVMBuildICmp(builder, LLVMIntSLT, a, b, ""), a, b, "");
}

/* Moves record |index| of the run that begins at |start| down to its place. */
static void insert(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef start, LLVMValueRef index) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef record = sort_load(emitter, records, index);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(b), header = sort_block(emitter), test = sort_block(emitter);
  LLVMBasicBlockRef move = sort_block(emitter), behind = sort_block(emitter);
  LLVMBuildBr(b, header);
  LLVMPositionBuilderAtEnd(b, header);
  LLVMValueRef place = LLVMBuildPhi(b, LLVMTypeOf(index), "");
  add_incoming(place, index, before);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSGT, place, start, ""), test, behind);
  LLVMPositionBuilderAtEnd(b, test);
  LLVMValueRef below = LLVMBuildNSWSub(b, place, sort_int(emitter, 1), "");
  LLVMValueRef other = sort_load(emitter, records, below);
  LLVMBuildCondBr(b, sort_is_before(emitter, record, other), move, behind);
  LLVMPositionBuilderAtEnd(b, move);
  sort_store(emitter, other, records, place);
  add_incoming(place, below, move);
  LLVMBuildBr(b, header);
  LLVMPositionBuilderAtEnd(b, behind);
  sort_store(emitter, record, records, place);
}

static void sort_runs(const SortEmitter *emitter, LLVMValueRef records) {
  LLVMValueRef length = sort_int(emitter, emitter->length);
  CountedLoop runs = sort_loop_begin(emitter, sort_int(emitter, 0), length, SORT_RUN);
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef end = LLVMBuildNSWAdd(b, runs.index, sort_int(emitter, SORT_RUN), "");
  LLVMValueRef second = LLVMBuildNSWAdd(b, runs.index, sort_int(emitter, 1), "");
  CountedLoop members = sort_loop_begin(emitter, second, minimum(emitter, end, length), 1);
  insert(emitter, records, runs.index, members.index);
  sort_loop_end(emitter, &members);
  sort_loop_end(emitter, &runs);
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
  LLVMTypeRef index = LLVMTypeOf(start);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(b), header = sort_block(emitter), behind = sort_block(emitter);
  LLVMBuildBr(b, header);
  LLVMPositionBuilderAtEnd(b, header);
  LLVMValueRef left = LLVMBuildPhi(b, index, ""), right = LLVMBuildPhi(b, index, ""), out = LLVMBuildPhi(b, index, "");
  add_incoming(left, start, before);
  add_incoming(right, middle, before);
  add_incoming(out, start, before);
  LLVMValueRef first = sort_load(emitter, from, left), second = sort_load(emitter, from, right);
  LLVMValueRef takes_right = sort_is_before(emitter, second, first);
  sort_store(emitter, LLVMBuildSelect(b, takes_right, second, first, ""), to, out);
  LLVMValueRef step = LLVMBuildZExt(b, takes_right, index, "");
  LLVMValueRef next_right = LLVMBuildNSWAdd(b, right, step, "");
  LLVMValueRef next_out = LLVMBuildNSWAdd(b, out, sort_int(emitter, 1), "");
  LLVMValueRef next_left = LLVMBuildNSWAdd(b, left, LLVMBuildNSWSub(b, sort_int(emitter, 1), step, ""), "");
  LLVMValueRef goes_on = LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntSLT, next_left, middle, ""),
                                      LLVMBuildICmp(b, LLVMIntSLT, next_right, end, ""), "");
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(b);
  add_incoming(left, next_left, latch);
  add_incoming(right, next_right, latch);
  add_incoming(out, next_out, latch);
  LLVMBuildCondBr(b, goes_on, header, behind);
  LLVMPositionBuilderAtEnd(b, behind);
  copy_records(emitter, from, next_left, middle, to, next_out);
  LLVMValueRef rest = LLVMBuildNSWAdd(b, next_out, LLVMBuildNSWSub(b, middle, next_left, ""), "");
  copy_records(emitter, from, next_right, end, to, rest);
}

/* All pairs of runs of |width|; a last run without a partner is copied. */
static void merge_pairs(const SortEmitter *emitter, LLVMValueRef from, LLVMValueRef to, LLVMValueRef width) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef length = sort_int(emitter, emitter->length), both = LLVMBuildNSWAdd(b, width, width, "");
  LLVMValueRef most = LLVMBuildNSWSub(b, LLVMBuildNSWAdd(b, length, both, ""), sort_int(emitter, 1), "");
  CountedLoop pairs = sort_loop_begin(emitter, sort_int(emitter, 0), LLVMBuildUDiv(b, most, both, ""), 1);
  LLVMValueRef start = LLVMBuildNSWMul(b, pairs.index, both, ""), middle = LLVMBuildNSWAdd(b, start, width, "");
  LLVMValueRef end = minimum(emitter, LLVMBuildNSWAdd(b, start, both, ""), length);
  LLVMBasicBlockRef pair = sort_block(emitter), single = sort_block(emitter), behind = sort_block(emitter);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, middle, length, ""), pair, single);
  LLVMPositionBuilderAtEnd(b, single);
  copy_records(emitter, from, start, length, to, start);
  LLVMBuildBr(b, behind);
  LLVMPositionBuilderAtEnd(b, pair);
  merge(emitter, from, to, start, middle, end);
  LLVMBuildBr(b, behind);
  LLVMPositionBuilderAtEnd(b, behind);
  sort_loop_end(emitter, &pairs);
}

LLVMValueRef sort_by_merging(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare) {
  LLVMBuilderRef b = emitter->vec->builder;
  sort_runs(emitter, records);
  if (emitter->length <= SORT_RUN) return records;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(b), header = sort_block(emitter), body = sort_block(emitter);
  LLVMBasicBlockRef behind = sort_block(emitter);
  LLVMBuildBr(b, header);
  LLVMPositionBuilderAtEnd(b, header);
  LLVMValueRef first = sort_int(emitter, SORT_RUN), width = LLVMBuildPhi(b, LLVMTypeOf(first), "");
  LLVMValueRef from = LLVMBuildPhi(b, LLVMTypeOf(records), ""), to = LLVMBuildPhi(b, LLVMTypeOf(records), "");
  add_incoming(width, first, before);
  add_incoming(from, records, before);
  add_incoming(to, spare, before);
  LLVMValueRef goes_on = LLVMBuildICmp(b, LLVMIntSLT, width, sort_int(emitter, emitter->length), "");
  LLVMBuildCondBr(b, goes_on, body, behind);
  LLVMPositionBuilderAtEnd(b, body);
  merge_pairs(emitter, from, to, width);
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(b);
  add_incoming(width, LLVMBuildNSWAdd(b, width, width, ""), latch);
  add_incoming(from, to, latch);
  add_incoming(to, from, latch);
  LLVMBuildBr(b, header);
  LLVMPositionBuilderAtEnd(b, behind);
  return from;
}
