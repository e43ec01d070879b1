/* The first few of a line: records that stand before the last one kept so far are gathered, and when there are enough
 * of them they are sorted with those kept, of which as many stay.  In most lines few are gathered; where all are, each
 * is sorted once with a few others. */
#include "base/checked_math.h"
#include "codegen/blocks/sort_internal.h"

/* Sorting pays once it is for a multiple of what stays. */
enum { GATHERED_PER_KEPT = 4, LEAST_GATHERED = 128, LEAST_LINE_PER_GATHERED = 2 };

int64_t sort_selection_length(const SortEmitter *emitter) {
  return max_i64(LEAST_GATHERED, GATHERED_PER_KEPT * emitter->kept);
}

/* Not without keys: comparators that are no order give what they give for the whole line. */
bool sort_selects(const SortEmitter *emitter) {
  return emitter->key.is_known && emitter->kept > 0 &&
         emitter->length / LEAST_LINE_PER_GATHERED >= sort_selection_length(emitter);
}

/* No position is as large: all records stand before it. */
static LLVMValueRef last_record(const SortEmitter *emitter) {
  return LLVMConstAllOnes(emitter->record);
}

static void add_incoming(LLVMValueRef phi, LLVMValueRef value, LLVMBasicBlockRef from) {
  LLVMAddIncoming(phi, &value, &from, 1);
}

/* Puts records of points from |*position| on that stand before |threshold| after the |*count| of |records|, until
 * there are |capacity| or the line ends. */
static void gather(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef threshold, int64_t capacity,
                   LLVMValueRef *position, LLVMValueRef *count) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(b), header = sort_block(emitter), behind = sort_block(emitter);
  LLVMBuildBr(b, header);
  LLVMPositionBuilderAtEnd(b, header);
  LLVMValueRef at = LLVMBuildPhi(b, LLVMTypeOf(*position), ""), end = LLVMBuildPhi(b, LLVMTypeOf(*count), "");
  add_incoming(at, *position, before);
  add_incoming(end, *count, before);
  int64_t height = emitter->point->known.count;
  LLVMValueRef record = sort_make_record(emitter, at);
  sort_store(emitter, record, records, end);
  point_forget(emitter->point, height);
  LLVMValueRef stays = LLVMBuildICmp(b, LLVMIntULT, record, threshold, "");
  *position = LLVMBuildNSWAdd(b, at, sort_int(emitter, 1), "");
  *count = LLVMBuildNSWAdd(b, end, LLVMBuildZExt(b, stays, LLVMTypeOf(end), ""), "");
  LLVMValueRef goes_on =
      LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntSLT, *position, sort_int(emitter, emitter->length), ""),
                   LLVMBuildICmp(b, LLVMIntSLT, *count, sort_int(emitter, capacity), ""), "");
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(b);
  add_incoming(at, *position, latch);
  add_incoming(end, *count, latch);
  LLVMBuildCondBr(b, goes_on, header, behind);
  LLVMPositionBuilderAtEnd(b, behind);
}

/* Sorts the |count| records, in place of the first: those after them are last. */
static void sort_gathered(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare, LLVMValueRef counters,
                          LLVMValueRef count) {
  SortEmitter gathered = *emitter;
  gathered.length = sort_selection_length(emitter);
  CountedLoop rest = sort_loop_begin(emitter, count, sort_int(emitter, gathered.length), 1);
  sort_store(emitter, last_record(emitter), records, rest.index);
  sort_loop_end(emitter, &rest);
  LLVMValueRef sorted = sort_records(&gathered, records, spare, counters);
  unsigned alignment = (unsigned)emitter->record_bytes;
  LLVMBuildMemMove(emitter->vec->builder, records, alignment, sorted, alignment,
                   sort_int(emitter, emitter->kept * emitter->record_bytes));
}

LLVMValueRef sort_by_selecting(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare,
                               LLVMValueRef counters) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(b), header = sort_block(emitter), behind = sort_block(emitter);
  LLVMValueRef none = sort_int(emitter, 0), kept = sort_int(emitter, emitter->kept);
  LLVMBuildBr(b, header);
  LLVMPositionBuilderAtEnd(b, header);
  LLVMValueRef position = LLVMBuildPhi(b, LLVMTypeOf(none), ""), count = LLVMBuildPhi(b, LLVMTypeOf(none), "");
  LLVMValueRef threshold = LLVMBuildPhi(b, emitter->record, "");
  LLVMValueRef next = position, gathered = count;
  add_incoming(position, none, before);
  add_incoming(count, none, before);
  add_incoming(threshold, last_record(emitter), before);
  gather(emitter, records, threshold, sort_selection_length(emitter), &next, &gathered);
  sort_gathered(emitter, records, spare, counters, gathered);
  LLVMValueRef last = sort_load(emitter, records, sort_int(emitter, emitter->kept - 1));
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(b);
  add_incoming(position, next, latch);
  add_incoming(count, kept, latch);
  add_incoming(threshold, last, latch);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, next, sort_int(emitter, emitter->length), ""), header, behind);
  LLVMPositionBuilderAtEnd(b, behind);
  return records;
}
