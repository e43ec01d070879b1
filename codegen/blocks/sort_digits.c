/* Radix sort from the lowest digit: all digits are counted at once; each pass moves the records to their digit's place,
 * in order, unless all records have the same digit. */
#include "base/checked_math.h"
#include "codegen/blocks/sort_internal.h"

#define POSITION_BITS 32
#define COUNTER_BYTES 4

/* Wider digits take fewer passes and more counters, which should stay in the first-level cache. */
static int digit_bits(const SortEmitter *emitter) {
  return emitter->key.bits > 16 ? 11 : 8;
}

static int pass_count(const SortEmitter *emitter) {
  return (int)ceil_div(emitter->key.bits, digit_bits(emitter));
}

/* Below, clearing and adding up counters takes longer than merging. */
bool sort_uses_digits(const SortEmitter *emitter) {
  return emitter->key.is_known && emitter->length >= INT64_C(1) << digit_bits(emitter);
}

int64_t sort_counter_bytes(const SortEmitter *emitter) {
  return (int64_t)pass_count(emitter) * COUNTER_BYTES << digit_bits(emitter);
}

/* i64: the place of the counter of |record|'s digit in |pass|. */
static LLVMValueRef digit(const SortEmitter *emitter, LLVMValueRef record, int pass) {
  LLVMBuilderRef b = emitter->vec->builder;
  int bits = digit_bits(emitter), shift = POSITION_BITS + pass * bits;
  LLVMTypeRef index = LLVMInt64TypeInContext(emitter->vec->context);
  record = LLVMBuildLShr(b, record, LLVMConstInt(LLVMTypeOf(record), (unsigned long long)shift, false), "");
  if (LLVMTypeOf(record) != index) record = LLVMBuildTrunc(b, record, index, "");
  LLVMValueRef value = LLVMBuildAnd(b, record, sort_int(emitter, (INT64_C(1) << bits) - 1), "");
  return LLVMBuildOr(b, value, sort_int(emitter, (int64_t)pass << bits), "");
}

static LLVMValueRef counter(const SortEmitter *emitter, LLVMValueRef counters, LLVMValueRef place) {
  LLVMTypeRef type = LLVMInt32TypeInContext(emitter->vec->context);
  return LLVMBuildInBoundsGEP2(emitter->vec->builder, type, counters, &place, 1, "");
}

static LLVMValueRef load_counter(const SortEmitter *emitter, LLVMValueRef pointer) {
  return LLVMBuildLoad2(emitter->vec->builder, LLVMInt32TypeInContext(emitter->vec->context), pointer, "");
}

/* The counter's value, one less than what it is afterwards. */
static LLVMValueRef count_up(const SortEmitter *emitter, LLVMValueRef pointer) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef before = load_counter(emitter, pointer);
  LLVMBuildStore(b, LLVMBuildAdd(b, before, LLVMConstInt(LLVMTypeOf(before), 1, false), ""), pointer);
  return before;
}

static void count_digits(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef counters) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef zero = LLVMConstInt(LLVMInt8TypeInContext(emitter->vec->context), 0, false);
  LLVMBuildMemSet(b, counters, zero, sort_int(emitter, sort_counter_bytes(emitter)), COUNTER_BYTES);
  IrLoop loop = ir_loop_count(b, ir_range(emitter->vec->context, 0, emitter->length), 1, NULL, 0);
  LLVMValueRef record = sort_load(emitter, records, loop.index);
  for (int pass = 0; pass < pass_count(emitter); pass++)
    count_up(emitter, counter(emitter, counters, digit(emitter, record, pass)));
  ir_loop_end(&loop);
}

/* Numbers of records with a digit → where the first of them goes. */
static void add_up(const SortEmitter *emitter, LLVMValueRef counters, int pass) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMContextRef context = emitter->vec->context;
  int bits = digit_bits(emitter);
  LLVMValueRef sum = LLVMConstInt(LLVMInt32TypeInContext(context), 0, false), *carried[] = {&sum};
  IndexRange places = ir_range(context, (int64_t)pass << bits, (int64_t)(pass + 1) << bits);
  IrLoop loop = ir_loop_count(b, places, 1, carried, 1);
  LLVMValueRef pointer = counter(emitter, counters, loop.index);
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
  LLVMValueRef place = count_up(emitter, counter(emitter, counters, digit(emitter, record, pass)));
  sort_store(emitter, record, to, LLVMBuildZExt(b, place, LLVMTypeOf(loop.index), ""));
  ir_loop_end(&loop);
}

/* One pass from |*records| to |*spare|, which trade places if it was done. */
static void sort_digit(const SortEmitter *emitter, LLVMValueRef *records, LLVMValueRef *spare, LLVMValueRef counters,
                       int pass) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(b), work = sort_block(emitter), behind = sort_block(emitter);
  LLVMValueRef first = sort_load(emitter, *records, sort_int(emitter, 0));
  LLVMValueRef same = load_counter(emitter, counter(emitter, counters, digit(emitter, first, pass)));
  LLVMValueRef all = LLVMConstInt(LLVMTypeOf(same), (unsigned long long)emitter->length, false);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, same, all, ""), behind, work);
  LLVMPositionBuilderAtEnd(b, work);
  add_up(emitter, counters, pass);
  move_records(emitter, *records, *spare, counters, pass);
  LLVMBasicBlockRef done = LLVMGetInsertBlock(b);
  LLVMBuildBr(b, behind);
  LLVMPositionBuilderAtEnd(b, behind);
  LLVMBasicBlockRef origins[] = {before, done};
  LLVMValueRef pointers[] = {*records, *spare}, swapped[] = {*spare, *records};
  *records = LLVMBuildPhi(b, LLVMTypeOf(pointers[0]), "");
  *spare = LLVMBuildPhi(b, LLVMTypeOf(pointers[0]), "");
  LLVMAddIncoming(*records, pointers, origins, 2);
  LLVMAddIncoming(*spare, swapped, origins, 2);
}

LLVMValueRef sort_by_digits(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare,
                            LLVMValueRef counters) {
  count_digits(emitter, records, counters);
  for (int pass = 0; pass < pass_count(emitter); pass++) sort_digit(emitter, &records, &spare, counters, pass);
  return records;
}
