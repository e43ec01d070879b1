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

/* Puts records of points from |*position| on that stand before |threshold| after the |*count| of |records|, until
 * there are |capacity| or the line ends. */
static void gather(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef threshold, int64_t capacity,
                   LLVMValueRef *position, LLVMValueRef *count) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef *carried[] = {position, count};
  IrLoop loop = ir_loop_begin(b, carried, 2);
  int64_t height = emitter->point->known.count;
  LLVMValueRef record = sort_make_record(emitter, *position);
  sort_store(emitter, record, records, *count);
  point_forget(emitter->point, height);
  LLVMValueRef stays = LLVMBuildICmp(b, LLVMIntULT, record, threshold, "");
  *position = LLVMBuildNSWAdd(b, *position, sort_int(emitter, 1), "");
  *count = LLVMBuildNSWAdd(b, *count, LLVMBuildZExt(b, stays, LLVMTypeOf(*count), ""), "");
  LLVMValueRef goes_on =
      LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntSLT, *position, sort_int(emitter, emitter->length), ""),
                   LLVMBuildICmp(b, LLVMIntSLT, *count, sort_int(emitter, capacity), ""), "");
  ir_loop_end_while(&loop, goes_on);
}

/* Sorts the |count| records, in place of the first: those after them are last. */
static void sort_gathered(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare, LLVMValueRef counters,
                          LLVMValueRef count) {
  SortEmitter gathered = *emitter;
  gathered.length = sort_selection_length(emitter);
  IndexRange places = {count, sort_int(emitter, gathered.length)};
  IrLoop rest = ir_loop_count_guarded(emitter->vec->builder, places, 1, NULL, 0);
  sort_store(emitter, last_record(emitter), records, rest.index);
  ir_loop_end(&rest);
  LLVMValueRef sorted = sort_records(&gathered, records, spare, counters);
  unsigned alignment = (unsigned)emitter->record_bytes;
  LLVMBuildMemMove(emitter->vec->builder, records, alignment, sorted, alignment,
                   sort_int(emitter, emitter->kept * emitter->record_bytes));
}

LLVMValueRef sort_by_selecting(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare,
                               LLVMValueRef counters) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef position = sort_int(emitter, 0), count = position, threshold = last_record(emitter);
  LLVMValueRef *carried[] = {&position, &count, &threshold};
  IrLoop loop = ir_loop_begin(b, carried, 3);
  gather(emitter, records, threshold, sort_selection_length(emitter), &position, &count);
  sort_gathered(emitter, records, spare, counters, count);
  count = sort_int(emitter, emitter->kept);
  threshold = sort_load(emitter, records, sort_int(emitter, emitter->kept - 1));
  ir_loop_end_while(&loop, LLVMBuildICmp(b, LLVMIntSLT, position, sort_int(emitter, emitter->length), ""));
  return records;
}
