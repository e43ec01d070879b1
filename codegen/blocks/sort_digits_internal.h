/* What sorting by digits is made of, for one thread and for several. */
#ifndef XLAC_CODEGEN_BLOCKS_SORT_DIGITS_INTERNAL_H
#define XLAC_CODEGEN_BLOCKS_SORT_DIGITS_INTERNAL_H

#include "codegen/blocks/sort_internal.h"

int sort_digit_bits(const SortEmitter *emitter);
int sort_pass_count(const SortEmitter *emitter);

/* Lines of records: where they are, where the next pass puts them, where the one after it does. */
typedef struct DigitLines {
  LLVMValueRef from, to, next;
} DigitLines;
/* At the beginning; |out_counters|: where they are in |scratch|. */
DigitLines sort_digit_lines(const SortEmitter *emitter, LLVMValueRef scratch, LLVMValueRef *out_counters);

/* What record |index| has its digits in. */
LLVMValueRef sort_digits_at(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef index);
/* The digit of |digits| in pass |pass|, both i64. */
LLVMValueRef sort_digit_of_pass(const SortEmitter *emitter, LLVMValueRef digits, LLVMValueRef pass);
/* The place of counter |number|. */
LLVMValueRef sort_counter(const SortEmitter *emitter, LLVMValueRef counters, LLVMValueRef number);
/* i32: the counter's value, |step| less than what it is afterwards. */
LLVMValueRef sort_count_by(const SortEmitter *emitter, LLVMValueRef pointer, LLVMValueRef step);
/* The same by one. */
LLVMValueRef sort_count_up(const SortEmitter *emitter, LLVMValueRef pointer);
/* All digits of the records in |range|: sort_counter_bytes of counters, those of each pass after those of the one
 * before.
 */
void sort_count_digits(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef counters, IndexRange range);

/* Elements in |range| of the line to |line|, unless they lie as records where they are. */
void sort_gather_elements(const SortEmitter *emitter, LLVMValueRef line, IndexRange range);
/* Those of |line| to the result, if they are elsewhere. */
void sort_finish_elements(const SortEmitter *emitter, LLVMValueRef line, IndexRange range);

#endif
