/* Insertion into short runs, and merges of neighbouring runs from the bottom up.
 *
 * A merge that threads share is cut at places of its result; how many records of each run go before a place is found by
 * bisection (Odeh, Green, Mwassi, Shmueli, Birk: Merge Path, 2012).  Where the comparator is no order, two places might
 * contradict one another.  So a place is looked for between those that are known on both sides, from the middle on:
 * what lies between two places is always a permutation, and does not depend on who looks. */
#include "base/checked_math.h"
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

static void sort_runs(const SortEmitter *emitter, LLVMValueRef records, IndexRange range) {
  LLVMBuilderRef b = emitter->vec->builder;
  IrLoop runs = ir_loop_count(b, range, SORT_RUN, NULL, 0);
  LLVMValueRef end = LLVMBuildNSWAdd(b, runs.index, sort_int(emitter, SORT_RUN), "");
  LLVMValueRef second = LLVMBuildNSWAdd(b, runs.index, sort_int(emitter, 1), "");
  IndexRange others = {second, ir_index_minimum(b, end, range.end)};
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

/* The first of records |*left| and |*right| to |*out|. */
static void merge_step(const SortEmitter *emitter, LLVMValueRef from, LLVMValueRef to, LLVMValueRef *left,
                       LLVMValueRef *right, LLVMValueRef *out) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef one = sort_int(emitter, 1);
  LLVMValueRef first = sort_load(emitter, from, *left), second = sort_load(emitter, from, *right);
  LLVMValueRef takes_right = sort_is_before(emitter, second, first);
  sort_store(emitter, LLVMBuildSelect(b, takes_right, second, first, ""), to, *out);
  LLVMValueRef step = LLVMBuildZExt(b, takes_right, LLVMTypeOf(*right), "");
  *right = LLVMBuildNSWAdd(b, *right, step, "");
  *out = LLVMBuildNSWAdd(b, *out, one, "");
  *left = LLVMBuildNSWAdd(b, *left, LLVMBuildNSWSub(b, one, step, ""), "");
}

/* Runs [start, middle) and [middle, end) of |from|, neither empty, to one of |to|. */
static void merge(const SortEmitter *emitter, LLVMValueRef from, LLVMValueRef to, LLVMValueRef start,
                  LLVMValueRef middle, LLVMValueRef end) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef left = start, right = middle, out = start, *carried[] = {&left, &right, &out};
  IrLoop loop = ir_loop_begin(b, carried, 3);
  merge_step(emitter, from, to, &left, &right, &out);
  LLVMValueRef goes_on =
      LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntSLT, left, middle, ""), LLVMBuildICmp(b, LLVMIntSLT, right, end, ""), "");
  ir_loop_end_while(&loop, goes_on);
  copy_records(emitter, from, left, middle, to, out);
  LLVMValueRef rest = LLVMBuildNSWAdd(b, out, LLVMBuildNSWSub(b, middle, left, ""), "");
  copy_records(emitter, from, right, end, to, rest);
}

/* All pairs of runs of |width| in |range|; a last run without a partner is copied. */
static void merge_pairs(const SortEmitter *emitter, LLVMValueRef from, LLVMValueRef to, LLVMValueRef width,
                        IndexRange range) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef length = range.end, both = LLVMBuildNSWAdd(b, width, width, "");
  LLVMValueRef all = LLVMBuildNSWSub(b, range.end, range.begin, "");
  LLVMValueRef most = LLVMBuildNSWSub(b, LLVMBuildNSWAdd(b, all, both, ""), sort_int(emitter, 1), "");
  IrLoop pairs = ir_loop_count(b, ir_range_below(LLVMBuildUDiv(b, most, both, "")), 1, NULL, 0);
  LLVMValueRef start = ir_index_add(b, range.begin, LLVMBuildNSWMul(b, pairs.index, both, "")),
               middle = LLVMBuildNSWAdd(b, start, width, "");
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

/* Sorts |range| by runs, then by merges until they are |length| long. */
static LLVMValueRef merge_range(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare, IndexRange range,
                                int64_t length) {
  LLVMBuilderRef b = emitter->vec->builder;
  sort_runs(emitter, records, range);
  if (length <= SORT_RUN) return records;
  LLVMValueRef width = sort_int(emitter, SORT_RUN), from = records, to = spare, *carried[] = {&width, &from, &to};
  IrLoop loop = ir_loop_begin(b, carried, 3);
  ir_loop_leave_unless(&loop, LLVMBuildICmp(b, LLVMIntSLT, width, sort_int(emitter, length), ""));
  merge_pairs(emitter, from, to, width, range);
  LLVMValueRef sorted = to;
  width = LLVMBuildNSWAdd(b, width, width, "");
  to = from;
  from = sorted;
  ir_loop_end(&loop);
  return from;
}

LLVMValueRef sort_by_merging(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare) {
  return merge_range(emitter, records, spare, sort_line_range(emitter), emitter->length);
}

/* --- in phases --- */

/* Neighbouring runs of a line, the second one empty where there is none. */
typedef struct RunPair {
  LLVMValueRef records;
  LLVMValueRef start, middle, end;
} RunPair;

/* A place in the result of a merge, from its beginning, and how many records of the first run go before it. */
typedef struct MergePlace {
  LLVMValueRef out, left;
} MergePlace;

/* How many of the first run go before place |out|, which is between |lower| and |upper|. */
static LLVMValueRef bisect(const SortEmitter *emitter, const RunPair *pair, const MergePlace *lower,
                           const MergePlace *upper, LLVMValueRef out) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef one = sort_int(emitter, 1);
  LLVMValueRef least = LLVMBuildNSWSub(b, out, LLVMBuildNSWSub(b, upper->out, upper->left, ""), "");
  LLVMValueRef most = LLVMBuildNSWSub(b, out, LLVMBuildNSWSub(b, lower->out, lower->left, ""), "");
  LLVMValueRef is_more = LLVMBuildICmp(b, LLVMIntSGT, lower->left, least, "");
  LLVMValueRef low = LLVMBuildSelect(b, is_more, lower->left, least, "");
  LLVMValueRef high = ir_index_minimum(b, upper->left, most), *carried[] = {&low, &high};
  IrLoop loop = ir_loop_begin(b, carried, 2);
  ir_loop_leave_unless(&loop, LLVMBuildICmp(b, LLVMIntSLT, low, high, ""));
  LLVMValueRef left = LLVMBuildLShr(b, LLVMBuildNSWAdd(b, low, high, ""), one, "");
  LLVMValueRef right = LLVMBuildNSWSub(b, LLVMBuildNSWSub(b, out, left, ""), one, "");
  LLVMValueRef first = sort_load(emitter, pair->records, LLVMBuildNSWAdd(b, pair->start, left, ""));
  LLVMValueRef second = sort_load(emitter, pair->records, LLVMBuildNSWAdd(b, pair->middle, right, ""));
  LLVMValueRef is_after = sort_is_before(emitter, second, first);
  low = LLVMBuildSelect(b, is_after, low, LLVMBuildNSWAdd(b, left, one, ""), "");
  high = LLVMBuildSelect(b, is_after, left, high, "");
  ir_loop_end(&loop);
  return low;
}

/* The same for any |place| that is a multiple of SORT_REGION, or the end. */
static LLVMValueRef cut_merge(const SortEmitter *emitter, const RunPair *pair, LLVMValueRef place) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef zero = sort_int(emitter, 0), region = sort_int(emitter, SORT_REGION);
  MergePlace lower = {zero, zero};
  MergePlace upper = {LLVMBuildNSWSub(b, pair->end, pair->start, ""),
                      LLVMBuildNSWSub(b, pair->middle, pair->start, "")};
  LLVMValueRef *carried[] = {&lower.out, &lower.left, &upper.out, &upper.left};
  IrLoop loop = ir_loop_begin(b, carried, 4);
  LLVMValueRef is_between = LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntSLT, lower.out, place, ""),
                                         LLVMBuildICmp(b, LLVMIntSLT, place, upper.out, ""), "");
  ir_loop_leave_unless(&loop, is_between);
  LLVMValueRef regions = LLVMBuildNSWSub(b, LLVMBuildNSWAdd(b, upper.out, region, ""), sort_int(emitter, 1), "");
  regions = LLVMBuildUDiv(b, LLVMBuildNSWSub(b, regions, lower.out, ""), sort_int(emitter, 2 * SORT_REGION), "");
  MergePlace middle = {LLVMBuildNSWAdd(b, lower.out, LLVMBuildNSWMul(b, regions, region, ""), ""), NULL};
  middle.left = bisect(emitter, pair, &lower, &upper, middle.out);
  LLVMValueRef is_below = LLVMBuildICmp(b, LLVMIntSLT, place, middle.out, "");
  lower.out = LLVMBuildSelect(b, is_below, lower.out, middle.out, "");
  lower.left = LLVMBuildSelect(b, is_below, lower.left, middle.left, "");
  upper.out = LLVMBuildSelect(b, is_below, middle.out, upper.out, "");
  upper.left = LLVMBuildSelect(b, is_below, middle.left, upper.left, "");
  ir_loop_end(&loop);
  return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, place, upper.out, ""), upper.left, lower.left, "");
}

/* Records from |at| on, SORT_REGION of them or to the end, of what the merges of runs of |width| give. */
static void merge_piece(const SortEmitter *emitter, LLVMValueRef from, LLVMValueRef to, LLVMValueRef width,
                        LLVMValueRef at) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef length = sort_int(emitter, emitter->length), both = LLVMBuildNSWAdd(b, width, width, "");
  RunPair pair = {.records = from, .start = LLVMBuildNSWSub(b, at, LLVMBuildURem(b, at, both, ""), "")};
  pair.middle = ir_index_minimum(b, LLVMBuildNSWAdd(b, pair.start, width, ""), length);
  pair.end = ir_index_minimum(b, LLVMBuildNSWAdd(b, pair.start, both, ""), length);
  LLVMValueRef until = ir_index_minimum(b, LLVMBuildNSWAdd(b, at, sort_int(emitter, SORT_REGION), ""), length);
  LLVMValueRef places[2] = {LLVMBuildNSWSub(b, at, pair.start, ""), LLVMBuildNSWSub(b, until, pair.start, "")};
  LLVMValueRef lefts[2], rights[2];
  for (int i = 0; i < 2; i++) {
    LLVMValueRef left = cut_merge(emitter, &pair, places[i]), right = LLVMBuildNSWSub(b, places[i], left, "");
    lefts[i] = LLVMBuildNSWAdd(b, pair.start, left, "");
    rights[i] = LLVMBuildNSWAdd(b, pair.middle, right, "");
  }
  LLVMValueRef left = lefts[0], right = rights[0], out = at, *carried[] = {&left, &right, &out};
  IrLoop loop = ir_loop_begin(b, carried, 3);
  ir_loop_leave_unless(&loop, LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntSLT, left, lefts[1], ""),
                                           LLVMBuildICmp(b, LLVMIntSLT, right, rights[1], ""), ""));
  merge_step(emitter, from, to, &left, &right, &out);
  ir_loop_end(&loop);
  copy_records(emitter, from, left, lefts[1], to, out);
  LLVMValueRef rest = LLVMBuildNSWAdd(b, out, LLVMBuildNSWSub(b, lefts[1], left, ""), "");
  copy_records(emitter, from, right, rights[1], to, rest);
}

static int64_t merge_levels(const SortEmitter *emitter) {
  int64_t levels = 0;
  while (SORT_REGION << levels < emitter->length) levels++;
  return levels;
}

/* The regions, a phase for each level, the elements' moving. */
int64_t sort_merging_phases(const SortEmitter *emitter) {
  return merge_levels(emitter) + 2;
}

/* Regions are sorted in |records|: the number of merges in them is even. */
static void sort_region(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare, LLVMValueRef number) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef begin = LLVMBuildNSWMul(b, number, sort_int(emitter, SORT_REGION), "");
  LLVMValueRef end = LLVMBuildNSWAdd(b, begin, sort_int(emitter, SORT_REGION), "");
  IndexRange region = {begin, ir_index_minimum(b, end, sort_int(emitter, emitter->length))};
  sort_make_records(emitter, records, region);
  merge_range(emitter, records, spare, region, SORT_REGION);
}

void sort_merging_phase(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare, const PhaseShare *share) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMBasicBlockRef begins = sort_block(emitter), merges = sort_block(emitter), ends = sort_block(emitter);
  LLVMBasicBlockRef behind = sort_block(emitter);
  LLVMValueRef regions = sort_int(emitter, ceil_div(emitter->length, SORT_REGION));
  IndexRange range = phase_share_range(emitter->vec->builder, share, regions);
  LLVMValueRef choice = LLVMBuildSwitch(b, share->phase, merges, 2);
  LLVMAddCase(choice, sort_int(emitter, 0), begins);
  LLVMAddCase(choice, sort_int(emitter, merge_levels(emitter) + 1), ends);
  LLVMPositionBuilderAtEnd(b, begins);
  PointLoop sorted = point_loop_begin_guarded(emitter->point, range, 1);
  sort_region(emitter, records, spare, sorted.index);
  point_loop_end(emitter->point, &sorted);
  LLVMBuildBr(b, behind);
  LLVMPositionBuilderAtEnd(b, merges);
  LLVMValueRef level = LLVMBuildNSWSub(b, share->phase, sort_int(emitter, 1), "");
  LLVMValueRef width = LLVMBuildShl(b, sort_int(emitter, SORT_REGION), level, "");
  LLVMValueRef is_odd = LLVMBuildTrunc(b, level, LLVMInt1TypeInContext(emitter->vec->context), "");
  LLVMValueRef from = LLVMBuildSelect(b, is_odd, spare, records, "");
  LLVMValueRef to = LLVMBuildSelect(b, is_odd, records, spare, "");
  IrLoop pieces = ir_loop_count_guarded(b, range, 1, NULL, 0);
  LLVMValueRef at = LLVMBuildNSWMul(b, pieces.index, sort_int(emitter, SORT_REGION), "");
  merge_piece(emitter, from, to, width, at);
  ir_loop_end(&pieces);
  LLVMBuildBr(b, behind);
  LLVMPositionBuilderAtEnd(b, ends);
  IndexRange places = phase_share_range(emitter->vec->builder, share, sort_int(emitter, emitter->length));
  sort_store_elements(emitter, merge_levels(emitter) % 2 != 0 ? spare : records, places);
  LLVMBuildBr(b, behind);
  LLVMPositionBuilderAtEnd(b, behind);
}
