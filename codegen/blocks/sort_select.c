/* The first few of a line: records that stand before the last one kept so far are gathered, and when there are enough
 * of them they are sorted with those kept, of which as many stay.  In most lines few are gathered, and most points cost
 * a comparison of their lane; where all are, each is sorted once with a few others. */
#include "base/checked_math.h"
#include "codegen/blocks/sort_internal.h"

/* Sorting pays once it is for a multiple of what stays; fewer, and more often, where the line would be sorted by
 * itself.
 */
enum { GATHERED_PER_KEPT = 4, LEAST_GATHERED = 64, LEAST_GATHERED_BESIDE = 128, LEAST_LINE_PER_GATHERED = 2 };

int64_t sort_selection_length(const SortEmitter *emitter) {
  int64_t least = emitter->line_count < SORT_NETWORK_LEAST_LINES ? LEAST_GATHERED : LEAST_GATHERED_BESIDE;
  return max_i64(least, GATHERED_PER_KEPT * emitter->kept);
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

/* So many points are looked at together: no more than there is room for after a few. */
static int lanes_of(const SortEmitter *emitter) {
  enum { MOST_LANES = 16 };
  int lanes = emitter->vec->target->vector_bits / 32;
  return lanes < MOST_LANES ? lanes : MOST_LANES;
}

/* Which of the |lanes| points from |first| on, of which those before |position| have been looked at, stand before
 * |threshold|: as bits.  Those kept have lower positions, so keys alone decide. */
static LLVMValueRef candidates(const SortEmitter *emitter, LLVMValueRef first, LLVMValueRef position,
                               LLVMValueRef threshold, int lanes) {
  LLVMBuilderRef b = emitter->vec->builder;
  KernelPoint *point = emitter->point;
  int64_t height = point->known.count;
  point->lanes = lanes;
  LLVMValueRef keys = sort_keys_in_lanes(emitter, first);
  point_forget(point, height);
  point->lanes = 1;
  LLVMValueRef key = LLVMBuildLShr(b, threshold, LLVMConstInt(emitter->record, 32, false), "");
  key = LLVMBuildTrunc(b, key, LLVMIntTypeInContext(emitter->vec->context, (unsigned)emitter->key.bits), "");
  LLVMValueRef bits =
      vec_lane_bits(emitter->vec, LLVMBuildICmp(b, LLVMIntULT, keys, vec_splat(emitter->vec, key, lanes), ""), lanes);
  LLVMValueRef is_first = LLVMBuildICmp(b, LLVMIntEQ, threshold, last_record(emitter), "");
  bits = LLVMBuildSelect(b, is_first, sort_int(emitter, (INT64_C(1) << lanes) - 1), bits, "");
  LLVMValueRef seen = LLVMBuildNSWSub(b, position, first, "");
  return LLVMBuildAnd(b, bits, LLVMBuildShl(b, sort_int(emitter, -1), seen, ""), "");
}

/* The records of the points whose |bits| are set after the |*count| of |records|. */
static void append(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef first, LLVMValueRef bits,
                   LLVMValueRef *count) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef zero = sort_int(emitter, 0), one = sort_int(emitter, 1), *carried[] = {&bits, count};
  IrLoop loop = ir_loop_begin(b, carried, 2);
  ir_loop_leave_unless(&loop, LLVMBuildICmp(b, LLVMIntNE, bits, zero, ""));
  int64_t height = emitter->point->known.count;
  LLVMValueRef position = LLVMBuildNSWAdd(b, first, vec_lowest_bit(emitter->vec, bits), "");
  sort_store(emitter, sort_make_record(emitter, position), records, *count);
  point_forget(emitter->point, height);
  bits = LLVMBuildAnd(b, bits, LLVMBuildSub(b, bits, one, ""), "");
  *count = LLVMBuildNSWAdd(b, *count, one, "");
  ir_loop_end(&loop);
}

/* Puts records of points from |*position| on that stand before |threshold| after the |*count| of |records|, until
 * there may be no room for more in |capacity|, or the line ends. */
static void gather(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef threshold, int64_t capacity,
                   LLVMValueRef *position, LLVMValueRef *count) {
  LLVMBuilderRef b = emitter->vec->builder;
  int lanes = lanes_of(emitter);
  LLVMValueRef *carried[] = {position, count};
  IrLoop loop = ir_loop_begin(b, carried, 2);
  LLVMValueRef first = ir_index_minimum(b, *position, sort_int(emitter, emitter->length - lanes));
  LLVMValueRef bits = candidates(emitter, first, *position, threshold, lanes);
  append(emitter, records, first, bits, count);
  *position = LLVMBuildNSWAdd(b, first, sort_int(emitter, lanes), "");
  LLVMValueRef goes_on =
      LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntSLT, *position, sort_int(emitter, emitter->length), ""),
                   LLVMBuildICmp(b, LLVMIntSLE, *count, sort_int(emitter, capacity - lanes), ""), "");
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
