/* The pieces of a sort. */
#ifndef XLAC_CODEGEN_BLOCKS_SORT_INTERNAL_H
#define XLAC_CODEGEN_BLOCKS_SORT_INTERNAL_H

#include "codegen/blocks/sort.h"
#include "codegen/point/kernel_point.h"

/* What a comparator compares; keys are unsigned numbers in the order of the result. */
typedef struct SortKey {
  bool is_known;
  int32_t value; /* of the comparator's Kernel: the key before it is made a number */
  int operand;   /* whose element it is a function of */
  bool descends;
  int bits; /* of the number: 8, 16, 32, 64 */
} SortKey;

SortKey sort_key(const Kernel *comparator);
/* The number of the key that |value| is, an integer of key->bits. */
LLVMValueRef sort_key_number(const VecBuilder *vec, const Kernel *comparator, const SortKey *key, LLVMValueRef value);

/* Where one array's elements of the current line are. */
typedef struct SortArray {
  LLVMValueRef base; /* pointer to the array */
  IndexExpr address; /* of a point's element, in elements of the Kernel's buffer */
  int parts;         /* of those in one element of the sort: 2 for complex numbers */
  LLVMValueRef line; /* pointer to element 0 of the line */
  int64_t stride;    /* in elements of the sort */
  LLVMTypeRef type;  /* integer as wide as one of them in memory */
} SortArray;

typedef struct SortEmitter {
  const VecBuilder *vec;
  const Kernel *kernel, *comparator;
  int stage;
  SortKey key;
  Arena *arena;
  LLVMValueRef function;
  int array_count;
  SortArray *operands, *results;
  int64_t length;       /* of a line */
  LLVMTypeRef record;   /* i32: a position; i64, i128: a key above 32 bits of position */
  int64_t record_bytes; /* in memory */
} SortEmitter;

/* --- pieces of code (sort_code.c) --- */

/* for index = begin; index < end; index += step */
typedef struct SortLoop {
  LLVMValueRef index, end;
  LLVMBasicBlockRef header, behind;
  int64_t step;
} SortLoop;

SortLoop sort_loop_begin(const SortEmitter *emitter, LLVMValueRef begin, LLVMValueRef end, int64_t step);
void sort_loop_end(const SortEmitter *emitter, SortLoop *loop);
LLVMBasicBlockRef sort_block(const SortEmitter *emitter);
LLVMValueRef sort_int(const SortEmitter *emitter, int64_t value); /* i64 */
LLVMValueRef sort_record_pointer(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef index);
LLVMValueRef sort_load(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef index);
void sort_store(const SortEmitter *emitter, LLVMValueRef record, LLVMValueRef records, LLVMValueRef index);
/* i64 */
LLVMValueRef sort_position(const SortEmitter *emitter, LLVMValueRef record);
/* Element |position| of the line in |array|. */
LLVMValueRef sort_element(const SortEmitter *emitter, const SortArray *array, LLVMValueRef position);
/* Whether record |a| stands before |b|. */
LLVMValueRef sort_is_before(const SortEmitter *emitter, LLVMValueRef a, LLVMValueRef b);

/* --- algorithms: sort the line's records; the result is where they are afterwards, |records| or |spare| --- */

enum { SORT_RUN = 16 };
/* Runs of SORT_RUN by insertion, then merged. */
LLVMValueRef sort_by_merging(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare);

/* Whether that pays, and the bytes of |counters| it needs. */
bool sort_uses_digits(const SortEmitter *emitter);
int64_t sort_counter_bytes(const SortEmitter *emitter);
LLVMValueRef sort_by_digits(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare,
                            LLVMValueRef counters);

#endif
