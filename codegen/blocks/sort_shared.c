/* Lines that threads share: a call does one chunk of one phase, or everything.
 *
 * Digits, three phases each: a chunk counts the digits of its part of the line, with counters of its own; one adds up
 * those of all chunks, digit by digit and for each digit chunk by chunk, so that the places of the first chunk's
 * records stand before those of the second; each moves the records of its part.  Which line holds the records depends
 * on how many passes moved them; that is written down where one thread has the counters of the second digit. */
#include "base/checked_math.h"
#include "codegen/blocks/sort_digits_internal.h"

/* More lines are shared out whole. */
#define MOST_LINES 3

bool sort_is_shared(const SortEmitter *emitter) {
  return emitter->line_count <= MOST_LINES && emitter->length >= 2 * SORT_CHUNK_ELEMENTS && !sort_selects(emitter);
}

IndexRange sort_chunk_range(const SortEmitter *emitter, const SortShare *share, LLVMValueRef count) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef next = LLVMBuildNSWAdd(b, share->chunk, sort_int(emitter, 1), "");
  return (IndexRange){LLVMBuildUDiv(b, LLVMBuildNSWMul(b, share->chunk, count, ""), share->chunks, ""),
                      LLVMBuildUDiv(b, LLVMBuildNSWMul(b, next, count, ""), share->chunks, "")};
}

/* --- by digits --- */

enum { PHASES_PER_PASS = 3, STATE_BYTES = 8 };

typedef struct DigitShare {
  const SortEmitter *emitter;
  const SortShare *share;
  DigitLines lines;
  LLVMValueRef counters; /* of the first chunk */
  LLVMValueRef pass;     /* i64 */
  IndexRange range;      /* the chunk's part of the line */
} DigitShare;

static int64_t chunk_counter_bytes(const SortEmitter *emitter) {
  return sort_counter_bytes(emitter) / sort_pass_count(emitter);
}

static int64_t digit_phases(const SortEmitter *emitter) {
  return PHASES_PER_PASS * sort_pass_count(emitter) + 1;
}

/* Of |chunk|; further ones lie in the further scratch. */
static LLVMValueRef chunk_counters(const DigitShare *digits, LLVMValueRef chunk) {
  const SortEmitter *emitter = digits->emitter;
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef number = LLVMBuildNSWSub(b, chunk, sort_int(emitter, 1), "");
  LLVMValueRef offset = LLVMBuildNSWMul(b, number, sort_int(emitter, chunk_counter_bytes(emitter)), "");
  LLVMTypeRef byte = LLVMInt8TypeInContext(emitter->vec->context);
  LLVMValueRef further = LLVMBuildGEP2(b, byte, digits->share->further, &offset, 1, "");
  LLVMValueRef is_first = LLVMBuildICmp(b, LLVMIntEQ, chunk, sort_int(emitter, 0), "");
  return LLVMBuildSelect(b, is_first, digits->counters, further, "");
}

/* Where it is written how many passes before |pass| moved records; with a single one there is no place, and it does. */
static LLVMValueRef moved_place(const DigitShare *digits, LLVMValueRef pass) {
  const SortEmitter *emitter = digits->emitter;
  LLVMValueRef words = sort_at_offset(emitter, digits->counters, chunk_counter_bytes(emitter));
  LLVMTypeRef word = LLVMInt64TypeInContext(emitter->vec->context);
  return LLVMBuildInBoundsGEP2(emitter->vec->builder, word, words, &pass, 1, "");
}

static LLVMValueRef moves_before(const DigitShare *digits, LLVMValueRef pass) {
  const SortEmitter *emitter = digits->emitter;
  LLVMBuilderRef b = emitter->vec->builder;
  if (sort_pass_count(emitter) == 1) return pass;
  LLVMValueRef zero = sort_int(emitter, 0);
  LLVMValueRef written = LLVMBuildLoad2(b, LLVMTypeOf(zero), moved_place(digits, pass), "");
  return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, pass, zero, ""), zero, written, "");
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

/* The counter of the digit of pass |pass| of record |index|. */
static LLVMValueRef digit_counter(const DigitShare *digits, LLVMValueRef own, LLVMValueRef from, LLVMValueRef index) {
  LLVMValueRef digit = sort_digit_of_pass(digits->emitter, sort_digits_at(digits->emitter, from, index), digits->pass);
  return sort_counter(digits->emitter, own, digit);
}

static void count_chunk(const DigitShare *digits) {
  const SortEmitter *emitter = digits->emitter;
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef own = chunk_counters(digits, digits->share->chunk);
  LLVMValueRef from = lines_after(digits, moves_before(digits, digits->pass)).from;
  LLVMValueRef zero = LLVMConstInt(LLVMInt8TypeInContext(emitter->vec->context), 0, false);
  LLVMBuildMemSet(b, own, zero, sort_int(emitter, chunk_counter_bytes(emitter)), STATE_BYTES);
  IrLoop loop = ir_loop_count(b, digits->range, 1, NULL, 0);
  sort_count_up(emitter, digit_counter(digits, own, from, loop.index));
  ir_loop_end(&loop);
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

/* The first chunk does it. */
static void add_up(const DigitShare *digits) {
  const SortEmitter *emitter = digits->emitter;
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef is_first = LLVMBuildICmp(b, LLVMIntEQ, digits->share->chunk, sort_int(emitter, 0), "");
  LLVMBasicBlockRef after = ir_if_begin(b, is_first);
  LLVMValueRef is_all = add_up_chunks(digits);
  if (sort_pass_count(emitter) > 1) {
    LLVMValueRef moves = LLVMBuildSelect(b, is_all, sort_int(emitter, 0), sort_int(emitter, 1), "");
    LLVMValueRef next = LLVMBuildNSWAdd(b, digits->pass, sort_int(emitter, 1), "");
    moves = LLVMBuildNSWAdd(b, moves_before(digits, digits->pass), moves, "");
    LLVMBuildStore(b, moves, moved_place(digits, next));
  }
  ir_if_end(b, after);
}

static void move_chunk(const DigitShare *digits) {
  const SortEmitter *emitter = digits->emitter;
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef next = LLVMBuildNSWAdd(b, digits->pass, sort_int(emitter, 1), "");
  LLVMValueRef moves = moves_before(digits, digits->pass);
  LLVMBasicBlockRef after = ir_if_begin(b, LLVMBuildICmp(b, LLVMIntNE, moves, moves_before(digits, next), ""));
  DigitLines lines = lines_after(digits, moves);
  LLVMValueRef own = chunk_counters(digits, digits->share->chunk);
  IrLoop loop = ir_loop_count(b, digits->range, 1, NULL, 0);
  LLVMValueRef record = sort_load(emitter, lines.from, loop.index);
  LLVMValueRef place = sort_count_up(emitter, digit_counter(digits, own, lines.from, loop.index));
  sort_store(emitter, record, lines.to, LLVMBuildZExt(b, place, LLVMTypeOf(loop.index), ""));
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
  LLVMValueRef sorted = lines_after(digits, moves_before(digits, digits->pass)).from;
  if (emitter->moves_elements)
    sort_finish_elements(emitter, sorted, digits->range);
  else
    sort_store_elements(emitter, sorted, digits->range);
  point_forget(emitter->point, height);
}

static void digit_phase(const SortEmitter *emitter, LLVMValueRef scratch, const SortShare *share) {
  LLVMBuilderRef b = emitter->vec->builder;
  DigitShare digits = {.emitter = emitter, .share = share};
  digits.lines = sort_digit_lines(emitter, scratch, &digits.counters);
  digits.range = sort_chunk_range(emitter, share, sort_int(emitter, emitter->length));
  digits.pass = LLVMBuildUDiv(b, share->phase, sort_int(emitter, PHASES_PER_PASS), "");
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
static void emit_digits(SortEmitter *emitter, LLVMValueRef scratch, const SortShare *share) {
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
  SortShare own = *share;
  own.phase = begin_phase(emitter, scratch, share->phase);
  digit_phase(emitter, scratch, &own);
  point_forget(emitter->point, height);
  LLVMBuildBr(b, behind);
  LLVMPositionBuilderAtEnd(b, behind);
}

/* One thread does all phases, as cuts may show in the order where the comparator is none. */
static void emit_merging(SortEmitter *emitter, LLVMValueRef scratch, const SortShare *share) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef zero = sort_int(emitter, 0), one = sort_int(emitter, 1);
  LLVMValueRef is_alone = LLVMBuildICmp(b, LLVMIntEQ, share->chunks, zero, "");
  LLVMValueRef all = sort_int(emitter, emitter->line_count * sort_line_phases(emitter));
  LLVMValueRef next = LLVMBuildNSWAdd(b, share->phase, one, "");
  IndexRange range = {LLVMBuildSelect(b, is_alone, zero, share->phase, ""),
                      LLVMBuildSelect(b, is_alone, all, next, "")};
  PointLoop phases = point_loop_begin_apart(emitter->point, range, 1);
  SortShare own = {.chunk = LLVMBuildSelect(b, is_alone, zero, share->chunk, ""),
                   .chunks = LLVMBuildSelect(b, is_alone, one, share->chunks, "")};
  own.phase = begin_phase(emitter, scratch, phases.index);
  LLVMValueRef spare = sort_at_offset(emitter, scratch, sort_records_bytes(emitter));
  sort_merging_phase(emitter, scratch, spare, &own);
  point_loop_end(emitter->point, &phases);
}

void sort_emit_shared(SortEmitter *emitter, LLVMValueRef scratch, const SortShare *share) {
  if (sort_uses_digits(emitter))
    emit_digits(emitter, scratch, share);
  else
    emit_merging(emitter, scratch, share);
}
