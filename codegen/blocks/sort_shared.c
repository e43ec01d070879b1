/* Lines that threads share: a call does one chunk of one phase, or everything.
 *
 * Digits, three phases each: a chunk counts the digits of its part of the line, with counters of its own; one adds up
 * those of all chunks, digit by digit and for each digit chunk by chunk, so that the places of the first chunk's
 * records stand before those of the second; each moves the records of its part.  Which line holds the records depends
 * on how many passes moved them; one that does not leaves a mark in the first chunk's counters, of which each pass has
 * its own.
 *
 * Of two chunks each counts all digits at once, before the first pass: how many records have a digit is the same in any
 * order.  The first one then moves its half of the line from the first record on to where their digits begin, upwards,
 * the second one its half from the last record on to where they end, downwards.  So the order is that of one thread. */
#include "base/checked_math.h"
#include "codegen/blocks/sort_digits_internal.h"

/* More lines are shared out whole. */
#define MOST_LINES 3

bool sort_is_shared(const SortEmitter *emitter) {
  return emitter->line_count <= MOST_LINES && emitter->length >= 2 * SORT_CHUNK_ELEMENTS && !sort_selects(emitter);
}

/* --- by digits --- */

enum { PHASES_PER_PASS = 3, COUNTER_ALIGNMENT = 8 };

typedef struct DigitShare {
  const SortEmitter *emitter;
  const PhaseShare *share;
  DigitLines lines;
  LLVMValueRef counters;             /* of the first chunk, pass by pass */
  LLVMValueRef pass;                 /* i64 */
  IndexRange range;                  /* the chunk's part of the line */
  LLVMValueRef are_halves, is_first; /* i1: there are two chunks; this is the first one */
  LLVMValueRef own;                  /* the chunk's counters */
  DigitLines here;                   /* where the records are, where the pass puts them */
} DigitShare;

static int64_t chunk_counter_bytes(const SortEmitter *emitter) {
  return sort_counter_bytes(emitter) / sort_pass_count(emitter);
}

static int64_t digit_phases(const SortEmitter *emitter) {
  return PHASES_PER_PASS * sort_pass_count(emitter) + 1;
}

/* The first chunk's of |pass|, i64. */
static LLVMValueRef first_counters(const DigitShare *digits, LLVMValueRef pass) {
  const SortEmitter *emitter = digits->emitter;
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef offset = LLVMBuildNSWMul(b, pass, sort_int(emitter, chunk_counter_bytes(emitter)), "");
  LLVMTypeRef byte = LLVMInt8TypeInContext(emitter->vec->context);
  return LLVMBuildGEP2(b, byte, digits->counters, &offset, 1, "");
}

/* Of |chunk|, in the pass at hand; further ones lie in the further scratch. */
static LLVMValueRef chunk_counters(const DigitShare *digits, LLVMValueRef chunk) {
  const SortEmitter *emitter = digits->emitter;
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef number = LLVMBuildNSWSub(b, chunk, sort_int(emitter, 1), "");
  LLVMValueRef offset = LLVMBuildNSWMul(b, number, sort_int(emitter, chunk_counter_bytes(emitter)), "");
  LLVMTypeRef byte = LLVMInt8TypeInContext(emitter->vec->context);
  LLVMValueRef further = LLVMBuildGEP2(b, byte, digits->share->further, &offset, 1, "");
  LLVMValueRef is_first = LLVMBuildICmp(b, LLVMIntEQ, chunk, sort_int(emitter, 0), "");
  return LLVMBuildSelect(b, is_first, first_counters(digits, digits->pass), further, "");
}

/* What one thread writes while another reads it is atomic, with no order: as fast as any other. */
static LLVMValueRef as_atomic(LLVMValueRef access) {
  LLVMSetOrdering(access, LLVMAtomicOrderingUnordered);
  return access;
}

/* i1: |pass|, whose counters are added up, moves records.  The first chunk may be counting meanwhile: no counter comes
 * to the mark. */
static LLVMValueRef pass_moves(const DigitShare *digits, LLVMValueRef pass) {
  LLVMBuilderRef b = digits->emitter->vec->builder;
  LLVMTypeRef type = LLVMInt32TypeInContext(digits->emitter->vec->context);
  LLVMValueRef first = as_atomic(LLVMBuildLoad2(b, type, first_counters(digits, pass), ""));
  return LLVMBuildICmp(b, LLVMIntNE, first, LLVMConstAllOnes(type), "");
}

/* How many passes before |digits->pass| moved records, i64.  Only their marks are read: the counters of later passes
 * may be written meanwhile. */
static LLVMValueRef moves_before(const DigitShare *digits) {
  LLVMBuilderRef b = digits->emitter->vec->builder;
  LLVMValueRef moves = sort_int(digits->emitter, 0), *carried[] = {&moves};
  IrLoop passes = ir_loop_count_guarded(b, ir_range_below(digits->pass), 1, carried, 1);
  LLVMValueRef counts = pass_moves(digits, passes.index);
  moves = LLVMBuildNSWAdd(b, moves, LLVMBuildZExt(b, counts, LLVMTypeOf(moves), ""), "");
  ir_loop_end(&passes);
  return moves;
}

/* The line of records that have been moved |moves| times, and where they go next. */
static DigitLines lines_after(const DigitShare *digits, LLVMValueRef moves) {
  const SortEmitter *emitter = digits->emitter;
  LLVMBuilderRef b = emitter->vec->builder;
  const DigitLines *lines = &digits->lines;
  LLVMValueRef is_odd = LLVMBuildTrunc(b, moves, LLVMInt1TypeInContext(emitter->vec->context), "");
  LLVMValueRef none = LLVMBuildICmp(b, LLVMIntEQ, moves, sort_int(emitter, 0), "");
  LLVMValueRef from = LLVMBuildSelect(b, none, lines->from, LLVMBuildSelect(b, is_odd, lines->to, lines->next, ""), "");
  return (DigitLines){.from = from, .to = LLVMBuildSelect(b, is_odd, lines->next, lines->to, "")};
}

/* The chunk's counter of the pass's digit of record |index|. */
static LLVMValueRef digit_counter(const DigitShare *digits, LLVMValueRef index) {
  LLVMValueRef record = sort_digits_at(digits->emitter, digits->here.from, index);
  return sort_counter(digits->emitter, digits->own, sort_digit_of_pass(digits->emitter, record, digits->pass));
}

/* Where the second half's records are counted: where no pass has moved anything yet, a line that is long enough. */
static LLVMValueRef second_counters(const DigitShare *digits) {
  return sort_pass_count(digits->emitter) == 1 ? digits->share->further : digits->lines.to;
}

/* All digits of the chunk's half. */
static void count_half(const DigitShare *digits) {
  const SortEmitter *emitter = digits->emitter;
  LLVMValueRef second = second_counters(digits);
  LLVMValueRef own = LLVMBuildSelect(emitter->vec->builder, digits->is_first, digits->counters, second, "");
  sort_count_digits(emitter, digits->lines.from, own, digits->range);
}

/* The digits of this pass of the chunk's part. */
static void count_part(const DigitShare *digits) {
  const SortEmitter *emitter = digits->emitter;
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef zero = LLVMConstInt(LLVMInt8TypeInContext(emitter->vec->context), 0, false);
  LLVMBuildMemSet(b, digits->own, zero, sort_int(emitter, chunk_counter_bytes(emitter)), COUNTER_ALIGNMENT);
  IrLoop loop = ir_loop_count(b, digits->range, 1, NULL, 0);
  sort_count_up(emitter, digit_counter(digits, loop.index));
  ir_loop_end(&loop);
}

static void count_chunk(const DigitShare *digits) {
  LLVMBuilderRef b = digits->emitter->vec->builder;
  LLVMValueRef is_begin = LLVMBuildICmp(b, LLVMIntEQ, digits->pass, sort_int(digits->emitter, 0), "");
  LLVMBasicBlockRef after = ir_if_begin(b, LLVMBuildAnd(b, digits->are_halves, is_begin, ""));
  count_half(digits);
  ir_if_end(b, after);
  after = ir_if_begin(b, LLVMBuildNot(b, digits->are_halves, ""));
  count_part(digits);
  ir_if_end(b, after);
}

/* Numbers of records with a digit → where the first of each chunk goes; whether one digit has them all. */
static LLVMValueRef add_up_chunks(const DigitShare *digits) {
  const SortEmitter *emitter = digits->emitter;
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMContextRef context = emitter->vec->context;
  LLVMTypeRef type = LLVMInt32TypeInContext(context);
  LLVMValueRef length = LLVMConstInt(type, (unsigned long long)emitter->length, false);
  LLVMValueRef sum = LLVMConstNull(type), is_all = LLVMConstNull(LLVMInt1TypeInContext(context));
  LLVMValueRef *carried[] = {&sum, &is_all};
  IrLoop loop = ir_loop_count(b, ir_range(context, 0, INT64_C(1) << sort_digit_bits(emitter)), 1, carried, 2);
  LLVMValueRef before = sum, *inner[] = {&sum};
  IrLoop chunks = ir_loop_count(b, ir_range_below(digits->share->chunks), 1, inner, 1);
  LLVMValueRef pointer = sort_counter(emitter, chunk_counters(digits, chunks.index), loop.index);
  LLVMValueRef count = LLVMBuildLoad2(b, type, pointer, "");
  LLVMBuildStore(b, sum, pointer);
  sum = LLVMBuildAdd(b, sum, count, "");
  ir_loop_end(&chunks);
  LLVMValueRef has_all = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildSub(b, sum, before, ""), length, "");
  is_all = LLVMBuildOr(b, is_all, has_all, "");
  ir_loop_end(&loop);
  return is_all;
}

/* The second half's numbers to the first one's, of all digits. */
static void join_halves(const DigitShare *digits) {
  const SortEmitter *emitter = digits->emitter;
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMTypeRef type = LLVMInt32TypeInContext(emitter->vec->context);
  LLVMValueRef second = second_counters(digits);
  int64_t counters = (int64_t)sort_pass_count(emitter) << sort_digit_bits(emitter);
  IrLoop loop = ir_loop_count(b, ir_range(emitter->vec->context, 0, counters), 1, NULL, 0);
  LLVMValueRef count = LLVMBuildLoad2(b, type, sort_counter(emitter, second, loop.index), "");
  sort_count_by(emitter, sort_counter(emitter, digits->counters, loop.index), count);
  ir_loop_end(&loop);
}

/* Numbers of records with a digit of the pass → where the first one and the last one go; whether one digit has all. */
static LLVMValueRef add_up_halves(const DigitShare *digits) {
  const SortEmitter *emitter = digits->emitter;
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMContextRef context = emitter->vec->context;
  LLVMTypeRef type = LLVMInt32TypeInContext(context);
  LLVMBasicBlockRef after = ir_if_begin(b, LLVMBuildICmp(b, LLVMIntEQ, digits->pass, sort_int(emitter, 0), ""));
  join_halves(digits);
  ir_if_end(b, after);
  LLVMValueRef length = LLVMConstInt(type, (unsigned long long)emitter->length, false);
  LLVMValueRef one = LLVMConstInt(type, 1, false), firsts = first_counters(digits, digits->pass);
  LLVMValueRef sum = LLVMConstNull(type), is_all = LLVMConstNull(LLVMInt1TypeInContext(context));
  LLVMValueRef *carried[] = {&sum, &is_all};
  IrLoop loop = ir_loop_count(b, ir_range(context, 0, INT64_C(1) << sort_digit_bits(emitter)), 1, carried, 2);
  LLVMValueRef pointer = sort_counter(emitter, firsts, loop.index);
  LLVMValueRef count = LLVMBuildLoad2(b, type, pointer, "");
  LLVMBuildStore(b, sum, pointer);
  sum = LLVMBuildAdd(b, sum, count, "");
  LLVMBuildStore(b, LLVMBuildSub(b, sum, one, ""), sort_counter(emitter, digits->share->further, loop.index));
  is_all = LLVMBuildOr(b, is_all, LLVMBuildICmp(b, LLVMIntEQ, count, length, ""), "");
  ir_loop_end(&loop);
  return is_all;
}

/* A pass moves nothing where one digit has all records. */
static void mark_pass(const DigitShare *digits, LLVMValueRef is_all) {
  LLVMBuilderRef b = digits->emitter->vec->builder;
  LLVMTypeRef type = LLVMInt32TypeInContext(digits->emitter->vec->context);
  LLVMValueRef pointer = first_counters(digits, digits->pass);
  LLVMValueRef first = LLVMBuildLoad2(b, type, pointer, "");
  LLVMBuildStore(b, LLVMBuildSelect(b, is_all, LLVMConstAllOnes(type), first, ""), pointer);
}

/* The first chunk does it. */
static void add_up(const DigitShare *digits) {
  LLVMBuilderRef b = digits->emitter->vec->builder;
  LLVMValueRef are_several = LLVMBuildNot(b, digits->are_halves, "");
  LLVMBasicBlockRef after = ir_if_begin(b, LLVMBuildAnd(b, digits->is_first, digits->are_halves, ""));
  mark_pass(digits, add_up_halves(digits));
  ir_if_end(b, after);
  after = ir_if_begin(b, LLVMBuildAnd(b, digits->is_first, are_several, ""));
  mark_pass(digits, add_up_chunks(digits));
  ir_if_end(b, after);
}

/* i32: where record |index| goes; the next one with its digit goes |step| further. */
static LLVMValueRef take_place(const DigitShare *digits, LLVMValueRef index, LLVMValueRef step) {
  LLVMBuilderRef b = digits->emitter->vec->builder;
  LLVMValueRef counter = digit_counter(digits, index);
  LLVMValueRef place = LLVMBuildLoad2(b, LLVMTypeOf(step), counter, "");
  as_atomic(LLVMBuildStore(b, LLVMBuildAdd(b, place, step, ""), counter));
  return place;
}

static void move_chunk(const DigitShare *digits) {
  const SortEmitter *emitter = digits->emitter;
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMBasicBlockRef after = ir_if_begin(b, pass_moves(digits, digits->pass));
  LLVMValueRef is_down = LLVMBuildAnd(b, digits->are_halves, LLVMBuildNot(b, digits->is_first, ""), "");
  LLVMValueRef step = LLVMBuildSelect(b, is_down, sort_int(emitter, -1), sort_int(emitter, 1), "");
  LLVMValueRef count = LLVMBuildTrunc(b, step, LLVMInt32TypeInContext(emitter->vec->context), "");
  LLVMValueRef last = LLVMBuildNSWSub(b, digits->range.end, sort_int(emitter, 1), "");
  LLVMValueRef index = LLVMBuildSelect(b, is_down, last, digits->range.begin, ""), *carried[] = {&index};
  IrLoop loop = ir_loop_count(b, digits->range, 1, carried, 1);
  LLVMValueRef record = sort_load(emitter, digits->here.from, index);
  LLVMValueRef place = take_place(digits, index, count);
  sort_store(emitter, record, digits->here.to, LLVMBuildZExt(b, place, LLVMTypeOf(index), ""));
  index = LLVMBuildNSWAdd(b, index, step, "");
  ir_loop_end(&loop);
  ir_if_end(b, after);
}

/* What is counted first is made first. */
static void make_chunk(const DigitShare *digits) {
  const SortEmitter *emitter = digits->emitter;
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMBasicBlockRef after = ir_if_begin(b, LLVMBuildICmp(b, LLVMIntEQ, digits->pass, sort_int(emitter, 0), ""));
  int64_t height = emitter->point->known.count;
  if (emitter->moves_elements)
    sort_gather_elements(emitter, digits->lines.from, digits->range);
  else
    sort_make_records(emitter, digits->lines.from, digits->range);
  point_forget(emitter->point, height);
  ir_if_end(b, after);
}

static void finish_chunk(const DigitShare *digits) {
  const SortEmitter *emitter = digits->emitter;
  int64_t height = emitter->point->known.count;
  if (emitter->moves_elements)
    sort_finish_elements(emitter, digits->here.from, digits->range);
  else
    sort_store_elements(emitter, digits->here.from, digits->range);
  point_forget(emitter->point, height);
}

static void digit_phase(const SortEmitter *emitter, LLVMValueRef scratch, const PhaseShare *share) {
  LLVMBuilderRef b = emitter->vec->builder;
  DigitShare digits = {.emitter = emitter, .share = share};
  digits.lines = sort_digit_lines(emitter, scratch, &digits.counters);
  digits.range = phase_share_range(emitter->vec->builder, share, sort_int(emitter, emitter->length));
  digits.pass = LLVMBuildUDiv(b, share->phase, sort_int(emitter, PHASES_PER_PASS), "");
  digits.are_halves = LLVMBuildICmp(b, LLVMIntEQ, share->chunks, sort_int(emitter, 2), "");
  digits.is_first = LLVMBuildICmp(b, LLVMIntEQ, share->chunk, sort_int(emitter, 0), "");
  digits.own = chunk_counters(&digits, share->chunk);
  digits.here = lines_after(&digits, moves_before(&digits));
  void (*const emit[])(const DigitShare *) = {count_chunk, add_up, move_chunk, finish_chunk};
  enum { BLOCKS = sizeof emit / sizeof emit[0] };
  LLVMBasicBlockRef blocks[BLOCKS], behind;
  for (int i = 0; i < BLOCKS; i++) blocks[i] = sort_block(emitter);
  behind = sort_block(emitter);
  LLVMValueRef is_last = LLVMBuildICmp(b, LLVMIntEQ, share->phase, sort_int(emitter, digit_phases(emitter) - 1), "");
  LLVMValueRef step = LLVMBuildURem(b, share->phase, sort_int(emitter, PHASES_PER_PASS), "");
  step = LLVMBuildSelect(b, is_last, sort_int(emitter, PHASES_PER_PASS), step, "");
  LLVMValueRef choice = LLVMBuildSwitch(b, step, blocks[BLOCKS - 1], BLOCKS - 1);
  for (int i = 0; i < BLOCKS; i++) {
    if (i < BLOCKS - 1) LLVMAddCase(choice, sort_int(emitter, i), blocks[i]);
    LLVMPositionBuilderAtEnd(b, blocks[i]);
    if (i == 0) make_chunk(&digits);
    emit[i](&digits);
    LLVMBuildBr(b, behind);
  }
  LLVMPositionBuilderAtEnd(b, behind);
}

/* --- both --- */

int64_t sort_line_phases(const SortEmitter *emitter) {
  return sort_uses_digits(emitter) ? digit_phases(emitter) : sort_merging_phases(emitter);
}

int64_t sort_chunk_bytes(const SortEmitter *emitter) {
  return sort_uses_digits(emitter) ? chunk_counter_bytes(emitter) : 0;
}

/* Moves to the line that phase |share->phase| of all lines is about; returns the phase of the line. */
static LLVMValueRef begin_phase(SortEmitter *emitter, LLVMValueRef scratch, LLVMValueRef phase) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef phases = sort_int(emitter, sort_line_phases(emitter));
  sort_move_to_line(emitter, LLVMBuildUDiv(b, phase, phases, ""));
  sort_find_line(emitter, sort_at_offset(emitter, scratch, 2 * sort_records_bytes(emitter)));
  return LLVMBuildURem(b, phase, phases, "");
}

/* One thread has code of its own, which counts all digits at once. */
static void emit_digits(SortEmitter *emitter, LLVMValueRef scratch, const PhaseShare *share) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMBasicBlockRef alone = sort_block(emitter), shared = sort_block(emitter), behind = sort_block(emitter);
  LLVMValueRef is_alone = LLVMBuildICmp(b, LLVMIntEQ, share->chunks, sort_int(emitter, 0), "");
  int64_t height = emitter->point->known.count;
  LLVMBuildCondBr(b, is_alone, alone, shared);
  LLVMPositionBuilderAtEnd(b, alone);
  sort_emit_lines(emitter, scratch, ir_range(emitter->vec->context, 0, emitter->line_count));
  point_forget(emitter->point, height);
  LLVMBuildBr(b, behind);
  LLVMPositionBuilderAtEnd(b, shared);
  PhaseShare own = *share;
  own.phase = begin_phase(emitter, scratch, share->phase);
  digit_phase(emitter, scratch, &own);
  point_forget(emitter->point, height);
  LLVMBuildBr(b, behind);
  LLVMPositionBuilderAtEnd(b, behind);
}

/* One thread does all phases, as cuts may show in the order where the comparator is none. */
static void emit_merging(SortEmitter *emitter, LLVMValueRef scratch, const PhaseShare *share) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef zero = sort_int(emitter, 0), one = sort_int(emitter, 1);
  LLVMValueRef is_alone = LLVMBuildICmp(b, LLVMIntEQ, share->chunks, zero, "");
  LLVMValueRef all = sort_int(emitter, emitter->line_count * sort_line_phases(emitter));
  LLVMValueRef next = LLVMBuildNSWAdd(b, share->phase, one, "");
  IndexRange range = {LLVMBuildSelect(b, is_alone, zero, share->phase, ""),
                      LLVMBuildSelect(b, is_alone, all, next, "")};
  PointLoop phases = point_loop_begin_apart(emitter->point, range, 1);
  PhaseShare own = {.chunk = LLVMBuildSelect(b, is_alone, zero, share->chunk, ""),
                    .chunks = LLVMBuildSelect(b, is_alone, one, share->chunks, "")};
  own.phase = begin_phase(emitter, scratch, phases.index);
  LLVMValueRef spare = sort_at_offset(emitter, scratch, sort_records_bytes(emitter));
  sort_merging_phase(emitter, scratch, spare, &own);
  point_loop_end(emitter->point, &phases);
}

void sort_emit_shared(SortEmitter *emitter, LLVMValueRef scratch, const PhaseShare *share) {
  if (sort_uses_digits(emitter))
    emit_digits(emitter, scratch, share);
  else
    emit_merging(emitter, scratch, share);
}
