/* The first few of a line: records that stand before the last one kept so far are gathered, and when there are enough
 * of them they are sorted with those kept, of which as many stay.  In most lines few are gathered, and most points cost
 * a comparison of their lane; where all are, each is sorted once with a few others.  Few records are sorted by counting
 * for each those before it, in lanes: so many comparisons of which none is a branch take less time than a few that are
 * guessed wrong. */
#include "base/checked_math.h"
#include "codegen/blocks/sort_internal.h"

/* Sorting pays once it is for a multiple of what stays. */
enum { GATHERED_PER_KEPT = 4, LEAST_GATHERED = 64, LEAST_LINE_PER_GATHERED = 2, MOST_COUNTED = 128, MOST_LANES = 16 };

int64_t sort_selection_length(const SortEmitter *emitter) {
  return align_up(max_i64(LEAST_GATHERED, GATHERED_PER_KEPT * emitter->kept), MOST_LANES);
}

static bool has_word_records(const SortEmitter *emitter) {
  return LLVMGetIntTypeWidth(emitter->record) == 64;
}

static bool counts_those_before(const SortEmitter *emitter) {
  return has_word_records(emitter) && sort_selection_length(emitter) <= MOST_COUNTED;
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

/* --- those gathered --- */

/* Words of records from |index| on, in lanes. */
static LLVMValueRef load_words(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef index, int lanes) {
  LLVMTypeRef type = LLVMVectorType(emitter->record, (unsigned)lanes);
  LLVMValueRef words = LLVMBuildLoad2(emitter->vec->builder, type, sort_record_pointer(emitter, records, index), "");
  LLVMSetAlignment(words, (unsigned)emitter->record_bytes);
  return words;
}

static void store_words(const SortEmitter *emitter, LLVMValueRef words, LLVMValueRef records, LLVMValueRef index) {
  LLVMValueRef pointer = sort_record_pointer(emitter, records, index);
  LLVMSetAlignment(LLVMBuildStore(emitter->vec->builder, words, pointer), (unsigned)emitter->record_bytes);
}

/* Records of the first points, as many as are sorted at a time. */
static void gather_first(const SortEmitter *emitter, LLVMValueRef records) {
  LLVMBuilderRef b = emitter->vec->builder;
  KernelPoint *point = emitter->point;
  IndexRange range = ir_range(emitter->vec->context, 0, sort_selection_length(emitter));
  if (!has_word_records(emitter)) {
    sort_make_records(emitter, records, range);
    return;
  }
  int lanes = lanes_of(emitter);
  PointLoop loop = point_loop_begin(point, range, lanes);
  point->lanes = lanes;
  LLVMTypeRef type = LLVMVectorType(emitter->record, (unsigned)lanes);
  LLVMValueRef words = LLVMBuildZExt(b, sort_keys_in_lanes(emitter, loop.index), type, "");
  words = LLVMBuildShl(b, words, vec_splat(emitter->vec, sort_int(emitter, 32), lanes), "");
  LLVMValueRef first = vec_splat(emitter->vec, loop.index, lanes);
  LLVMValueRef positions = LLVMBuildAdd(b, first, vec_lane_indices(emitter->vec, 64, 1, lanes), "");
  store_words(emitter, LLVMBuildOr(b, words, positions, ""), records, loop.index);
  point->lanes = 1;
  point_loop_end(point, &loop);
}

/* How many of the |count| records stand before each of |own|. */
static LLVMValueRef count_before(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef count, LLVMValueRef own,
                                 int lanes) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef before = LLVMConstNull(LLVMTypeOf(own)), *carried[] = {&before};
  IrLoop loop = ir_loop_count(b, ir_range_below(count), 1, carried, 1);
  LLVMValueRef other = vec_splat(emitter->vec, sort_load(emitter, records, loop.index), lanes);
  LLVMValueRef is_before = LLVMBuildICmp(b, LLVMIntULT, other, own, "");
  before = LLVMBuildSub(b, before, LLVMBuildSExt(b, is_before, LLVMTypeOf(own), ""), "");
  ir_loop_end(&loop);
  return before;
}

/* Those kept of the |count| records go to |sorted|, each to its place.  |sorted| has room for the places of a round
 * behind them, and |records| for last ones that fill the last round. */
static void place_kept(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef sorted, LLVMValueRef count) {
  LLVMBuilderRef b = emitter->vec->builder;
  const VecBuilder *vec = emitter->vec;
  int lanes = lanes_of(emitter);
  LLVMValueRef zero = sort_int(emitter, 0), one = sort_int(emitter, 1), kept = sort_int(emitter, emitter->kept);
  store_words(emitter, vec_splat(vec, last_record(emitter), lanes), records, count);
  IrLoop rounds = ir_loop_count(b, ir_range_below(count), lanes, NULL, 0);
  LLVMValueRef places = count_before(emitter, records, count, load_words(emitter, records, rounds.index, lanes), lanes);
  store_words(emitter, places, sorted, kept);
  LLVMValueRef bits = vec_lane_bits(vec, LLVMBuildICmp(b, LLVMIntULT, places, vec_splat(vec, kept, lanes), ""), lanes);
  LLVMValueRef *carried[] = {&bits};
  IrLoop loop = ir_loop_begin(b, carried, 1);
  ir_loop_leave_unless(&loop, LLVMBuildICmp(b, LLVMIntNE, bits, zero, ""));
  LLVMValueRef lane = vec_lowest_bit(vec, bits);
  LLVMValueRef place = sort_load(emitter, sorted, LLVMBuildNSWAdd(b, kept, lane, ""));
  LLVMValueRef record = sort_load(emitter, records, LLVMBuildNSWAdd(b, rounds.index, lane, ""));
  sort_store(emitter, record, sorted, place);
  bits = LLVMBuildAnd(b, bits, LLVMBuildSub(b, bits, one, ""), "");
  ir_loop_end(&loop);
  ir_loop_end(&rounds);
}

/* All of as many as are sorted at a time: those after the |count| records are last. */
static LLVMValueRef sort_filled(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare,
                                LLVMValueRef counters, LLVMValueRef count) {
  SortEmitter gathered = *emitter;
  gathered.length = sort_selection_length(emitter);
  IndexRange places = {count, sort_int(emitter, gathered.length)};
  IrLoop rest = ir_loop_count_guarded(emitter->vec->builder, places, 1, NULL, 0);
  sort_store(emitter, last_record(emitter), records, rest.index);
  ir_loop_end(&rest);
  return sort_records(&gathered, records, spare, counters);
}

/* Those kept of the |count| records, in place of the first. */
static void sort_gathered(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare, LLVMValueRef counters,
                          LLVMValueRef count) {
  LLVMValueRef sorted = spare;
  if (counts_those_before(emitter))
    place_kept(emitter, records, spare, count);
  else
    sorted = sort_filled(emitter, records, spare, counters, count);
  unsigned alignment = (unsigned)emitter->record_bytes;
  LLVMBuildMemMove(emitter->vec->builder, records, alignment, sorted, alignment,
                   sort_int(emitter, emitter->kept * emitter->record_bytes));
}

LLVMValueRef sort_by_selecting(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare,
                               LLVMValueRef counters) {
  LLVMBuilderRef b = emitter->vec->builder;
  int64_t capacity = sort_selection_length(emitter);
  LLVMValueRef position = sort_int(emitter, capacity), count = position, *carried[] = {&position, &count};
  gather_first(emitter, records);
  IrLoop loop = ir_loop_begin(b, carried, 2);
  sort_gathered(emitter, records, spare, counters, count);
  count = sort_int(emitter, emitter->kept);
  LLVMValueRef is_more = LLVMBuildICmp(b, LLVMIntSLT, position, sort_int(emitter, emitter->length), "");
  ir_loop_leave_unless(&loop, is_more);
  LLVMValueRef threshold = sort_load(emitter, records, sort_int(emitter, emitter->kept - 1));
  gather(emitter, records, threshold, capacity, &position, &count);
  ir_loop_end(&loop);
  return records;
}
