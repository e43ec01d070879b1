/* Radix sort from the lowest digit: all digits are counted at once; each pass moves the records to their digit's place,
 * in order, unless all records have the same digit. */
#include "base/checked_math.h"
#include "codegen/blocks/sort_digits_internal.h"

#define POSITION_BITS 32
#define COUNTER_BYTES 4
#define LINE_ALIGNMENT 64
#define WIDE_DIGIT 11 /* bits */
#define NARROW_DIGIT 8

/* Wider digits take fewer passes and more counters, which should stay in the first-level cache and be fewer than what
 * is counted. */
int sort_digit_bits(const SortEmitter *emitter) {
  return emitter->key.bits > 16 && emitter->length >= INT64_C(1) << WIDE_DIGIT ? WIDE_DIGIT : NARROW_DIGIT;
}

int sort_pass_count(const SortEmitter *emitter) {
  return (int)ceil_div(emitter->key.bits, sort_digit_bits(emitter));
}

/* Below, clearing and adding up counters takes longer than merging. */
bool sort_uses_digits(const SortEmitter *emitter) {
  return emitter->key.is_known && emitter->length >= INT64_C(1) << sort_digit_bits(emitter);
}

int64_t sort_counter_bytes(const SortEmitter *emitter) {
  return (int64_t)sort_pass_count(emitter) * COUNTER_BYTES << sort_digit_bits(emitter);
}

LLVMValueRef sort_digits_at(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef index) {
  if (!emitter->moves_elements) return sort_load(emitter, records, index);
  return sort_key_at(emitter, sort_record_pointer(emitter, records, index));
}

/* i64: the place of the counter of the digit of |digits| in |pass|. */
static LLVMValueRef digit(const SortEmitter *emitter, LLVMValueRef digits, int pass) {
  LLVMBuilderRef b = emitter->vec->builder;
  int bits = sort_digit_bits(emitter), shift = (emitter->moves_elements ? 0 : POSITION_BITS) + pass * bits;
  LLVMTypeRef index = LLVMInt64TypeInContext(emitter->vec->context);
  digits = LLVMBuildLShr(b, digits, LLVMConstInt(LLVMTypeOf(digits), (unsigned long long)shift, false), "");
  bool is_wide = LLVMGetIntTypeWidth(LLVMTypeOf(digits)) > 64;
  digits = is_wide ? LLVMBuildTrunc(b, digits, index, "") : LLVMBuildZExt(b, digits, index, "");
  LLVMValueRef value = LLVMBuildAnd(b, digits, sort_int(emitter, (INT64_C(1) << bits) - 1), "");
  return LLVMBuildOr(b, value, sort_int(emitter, (int64_t)pass << bits), "");
}

LLVMValueRef sort_digit_of_pass(const SortEmitter *emitter, LLVMValueRef digits, LLVMValueRef pass) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMTypeRef index = LLVMInt64TypeInContext(emitter->vec->context);
  int bits = sort_digit_bits(emitter);
  if (!emitter->moves_elements)
    digits = LLVMBuildLShr(b, digits, LLVMConstInt(LLVMTypeOf(digits), POSITION_BITS, false), "");
  bool is_wide = LLVMGetIntTypeWidth(LLVMTypeOf(digits)) > 64;
  digits = is_wide ? LLVMBuildTrunc(b, digits, index, "") : LLVMBuildZExt(b, digits, index, "");
  digits = LLVMBuildLShr(b, digits, LLVMBuildNSWMul(b, pass, sort_int(emitter, bits), ""), "");
  return LLVMBuildAnd(b, digits, sort_int(emitter, (INT64_C(1) << bits) - 1), "");
}

LLVMValueRef sort_counter(const SortEmitter *emitter, LLVMValueRef counters, LLVMValueRef number) {
  LLVMTypeRef type = LLVMInt32TypeInContext(emitter->vec->context);
  return LLVMBuildInBoundsGEP2(emitter->vec->builder, type, counters, &number, 1, "");
}

static LLVMValueRef load_counter(const SortEmitter *emitter, LLVMValueRef pointer) {
  return LLVMBuildLoad2(emitter->vec->builder, LLVMInt32TypeInContext(emitter->vec->context), pointer, "");
}

LLVMValueRef sort_count_by(const SortEmitter *emitter, LLVMValueRef pointer, LLVMValueRef step) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef before = load_counter(emitter, pointer);
  LLVMBuildStore(b, LLVMBuildAdd(b, before, step, ""), pointer);
  return before;
}

LLVMValueRef sort_count_up(const SortEmitter *emitter, LLVMValueRef pointer) {
  return sort_count_by(emitter, pointer, LLVMConstInt(LLVMInt32TypeInContext(emitter->vec->context), 1, false));
}

void sort_count_digits(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef counters, IndexRange range) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef zero = LLVMConstInt(LLVMInt8TypeInContext(emitter->vec->context), 0, false);
  LLVMBuildMemSet(b, counters, zero, sort_int(emitter, sort_counter_bytes(emitter)), COUNTER_BYTES);
  IrLoop loop = ir_loop_count(b, range, 1, NULL, 0);
  LLVMValueRef digits = sort_digits_at(emitter, records, loop.index);
  for (int pass = 0; pass < sort_pass_count(emitter); pass++)
    sort_count_up(emitter, sort_counter(emitter, counters, digit(emitter, digits, pass)));
  ir_loop_end(&loop);
}

/* Numbers of records with a digit → where the first of them goes. */
static void add_up(const SortEmitter *emitter, LLVMValueRef counters, int pass) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMContextRef context = emitter->vec->context;
  int bits = sort_digit_bits(emitter);
  LLVMValueRef sum = LLVMConstInt(LLVMInt32TypeInContext(context), 0, false), *carried[] = {&sum};
  IndexRange places = ir_range(context, (int64_t)pass << bits, (int64_t)(pass + 1) << bits);
  IrLoop loop = ir_loop_count(b, places, 1, carried, 1);
  LLVMValueRef pointer = sort_counter(emitter, counters, loop.index);
  LLVMValueRef next = LLVMBuildAdd(b, sum, load_counter(emitter, pointer), "");
  LLVMBuildStore(b, sum, pointer);
  sum = next;
  ir_loop_end(&loop);
}

static void move_records(const SortEmitter *emitter, LLVMValueRef from, LLVMValueRef to, LLVMValueRef counters,
                         int pass) {
  LLVMBuilderRef b = emitter->vec->builder;
  IrLoop loop = ir_loop_count(b, ir_range(emitter->vec->context, 0, emitter->length), 1, NULL, 0);
  LLVMValueRef record = sort_load(emitter, from, loop.index);
  LLVMValueRef digits = emitter->moves_elements ? sort_digits_at(emitter, from, loop.index) : record;
  LLVMValueRef place = sort_count_up(emitter, sort_counter(emitter, counters, digit(emitter, digits, pass)));
  sort_store(emitter, record, to, LLVMBuildZExt(b, place, LLVMTypeOf(loop.index), ""));
  ir_loop_end(&loop);
}

static void join(const SortEmitter *emitter, LLVMValueRef *pointer, LLVMValueRef moved, LLVMBasicBlockRef kept_from,
                 LLVMBasicBlockRef moved_from) {
  LLVMValueRef joined = LLVMBuildPhi(emitter->vec->builder, LLVMTypeOf(moved), "");
  LLVMAddIncoming(joined, (LLVMValueRef[]){*pointer, moved}, (LLVMBasicBlockRef[]){kept_from, moved_from}, 2);
  *pointer = joined;
}

/* One pass, left out where all records have one digit. */
static void sort_digit(const SortEmitter *emitter, DigitLines *lines, LLVMValueRef counters, int pass) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMBasicBlockRef work = sort_block(emitter), behind = sort_block(emitter);
  LLVMValueRef first = sort_digits_at(emitter, lines->from, sort_int(emitter, 0));
  LLVMValueRef same = load_counter(emitter, sort_counter(emitter, counters, digit(emitter, first, pass)));
  LLVMValueRef all = LLVMConstInt(LLVMTypeOf(same), (unsigned long long)emitter->length, false);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, same, all, ""), behind, work);
  LLVMPositionBuilderAtEnd(b, work);
  add_up(emitter, counters, pass);
  move_records(emitter, lines->from, lines->to, counters, pass);
  LLVMBasicBlockRef done = LLVMGetInsertBlock(b);
  LLVMBuildBr(b, behind);
  LLVMPositionBuilderAtEnd(b, behind);
  DigitLines moved = {lines->to, lines->next, lines->to};
  join(emitter, &lines->from, moved.from, before, done);
  join(emitter, &lines->to, moved.to, before, done);
  join(emitter, &lines->next, moved.next, before, done);
}

/* Where the records are in the end. */
static LLVMValueRef sort_digits(const SortEmitter *emitter, DigitLines lines, LLVMValueRef counters) {
  sort_count_digits(emitter, lines.from, counters, ir_range(emitter->vec->context, 0, emitter->length));
  for (int pass = 0; pass < sort_pass_count(emitter); pass++) sort_digit(emitter, &lines, counters, pass);
  return lines.from;
}

LLVMValueRef sort_by_digits(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare,
                            LLVMValueRef counters) {
  return sort_digits(emitter, (DigitLines){records, spare, records}, counters);
}

/* --- elements --- */

bool sort_moves_elements(const SortEmitter *emitter) {
  if (!sort_uses_digits(emitter) || emitter->store_count != 1) return false;
  const SortStore *store = &emitter->stores[0];
  const SortOperand *operand = &emitter->operands[emitter->key.operand];
  if (!store->is_moved || store->lower > 0 || store->upper < emitter->length) return false;
  if (operand->compared == NULL || operand->parts != store->parts) return false;
  for (int part = 0; part < store->parts; part++) {
    if (operand->compared->parts[part] != store->stores[part].value) return false;
  }
  return true;
}

/* Elements between which there are no others are records where they are. */
static bool lie_as_records(const SortEmitter *emitter, IndexExpr address, int parts) {
  return index_dim_coefficient(&emitter->kernel->space, address, emitter->dim) == parts;
}

static bool result_is_line(const SortEmitter *emitter) {
  return lie_as_records(emitter, emitter->stores[0].stores[0].address, emitter->stores[0].parts);
}

static int64_t line_bytes(const SortEmitter *emitter) {
  return align_up(emitter->length * emitter->record_bytes, LINE_ALIGNMENT);
}

int64_t sort_element_bytes(const SortEmitter *emitter) {
  return (result_is_line(emitter) ? 1 : 2) * line_bytes(emitter);
}

static void copy_elements(const SortEmitter *emitter, const SortArray *from, const SortArray *to, IndexRange range) {
  LLVMBuilderRef b = emitter->vec->builder;
  unsigned alignment = sort_element_alignment(emitter->record);
  IrLoop loop = ir_loop_count(b, range, 1, NULL, 0);
  LLVMValueRef element = LLVMBuildLoad2(b, emitter->record, sort_element(emitter, from, loop.index), "");
  LLVMSetAlignment(element, alignment);
  LLVMSetAlignment(LLVMBuildStore(b, element, sort_element(emitter, to, loop.index)), alignment);
  ir_loop_end(&loop);
}

/* Copies what is at |line| to |to|, if it is elsewhere. */
static void finish_elements(const SortEmitter *emitter, LLVMValueRef line, const SortArray *to, IndexRange range) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMBasicBlockRef after = ir_if_begin(b, LLVMBuildICmp(b, LLVMIntNE, line, to->line, ""));
  copy_elements(emitter, &(SortArray){line, 1, emitter->record}, to, range);
  ir_if_end(b, after);
}

/* When every pass is done the last one comes to the result, or the line that is copied there. */
static DigitLines element_lines(const SortEmitter *emitter, const SortArray *from, const SortArray *to,
                                LLVMValueRef scratch) {
  bool is_odd = sort_pass_count(emitter) % 2 != 0;
  LLVMValueRef line = result_is_line(emitter) ? to->line : sort_at_offset(emitter, scratch, line_bytes(emitter));
  DigitLines lines = {from->line, is_odd ? line : scratch, is_odd ? scratch : line};
  if (from->stride != 1) lines.from = lines.next;
  return lines;
}

void sort_elements_by_digits(const SortEmitter *emitter, const SortArray *from, const SortArray *to,
                             LLVMValueRef scratch) {
  LLVMValueRef counters = sort_at_offset(emitter, scratch, sort_element_bytes(emitter));
  DigitLines lines = element_lines(emitter, from, to, scratch);
  if (from->stride != 1)
    copy_elements(emitter, from, &(SortArray){lines.from, 1, emitter->record}, sort_line_range(emitter));
  finish_elements(emitter, sort_digits(emitter, lines, counters), to, sort_line_range(emitter));
}

/* --- for several threads --- */

DigitLines sort_digit_lines(const SortEmitter *emitter, LLVMValueRef scratch, LLVMValueRef *out_counters) {
  if (emitter->moves_elements) {
    const SortStore *store = &emitter->stores[0];
    *out_counters = sort_at_offset(emitter, scratch, sort_element_bytes(emitter));
    return element_lines(emitter, &store->from, &store->to, scratch);
  }
  LLVMValueRef spare = sort_at_offset(emitter, scratch, sort_records_bytes(emitter));
  *out_counters = sort_at_offset(emitter, scratch, 2 * sort_records_bytes(emitter));
  return (DigitLines){scratch, spare, scratch};
}

void sort_gather_elements(const SortEmitter *emitter, LLVMValueRef line, IndexRange range) {
  const SortArray *from = &emitter->stores[0].from;
  if (from->stride != 1) copy_elements(emitter, from, &(SortArray){line, 1, emitter->record}, range);
}

void sort_finish_elements(const SortEmitter *emitter, LLVMValueRef line, IndexRange range) {
  finish_elements(emitter, line, &emitter->stores[0].to, range);
}
