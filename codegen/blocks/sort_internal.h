/* The pieces of a sort. */
#ifndef XLAC_CODEGEN_BLOCKS_SORT_INTERNAL_H
#define XLAC_CODEGEN_BLOCKS_SORT_INTERNAL_H

#include "codegen/blocks/sort.h"
#include "codegen/point/kernel_point.h"

/* What a comparator compares; keys are unsigned numbers in the order of the result.  NaN, which comparisons without
 * total order put nowhere, stands where the total order has it, so that what comes out is a permutation still. */
typedef struct SortKey {
  bool is_known;
  int32_t value; /* of the comparator's Kernel: the key before it is made a number */
  int operand;   /* whose element it is a function of */
  bool descends;
  bool zeros_are_equal; /* floats: -0 and +0 */
  int bits;             /* of the number: 8, 16, 32, 64 */
} SortKey;

SortKey sort_key(const Kernel *comparator);
/* The number of the key that |value| is, an integer of key->bits; in each lane. */
LLVMValueRef sort_key_number(const VecBuilder *vec, const Kernel *comparator, const SortKey *key, LLVMValueRef value,
                             int lanes);

/* Elements of the current line in memory. */
typedef struct SortArray {
  LLVMValueRef line; /* pointer to element 0 */
  int64_t stride;    /* in elements */
  LLVMTypeRef type;  /* integer as wide as an element, of both parts of complex numbers */
} SortArray;

/* What is compared of a point. */
typedef struct SortOperand {
  const KernelCompared *compared; /* NULL: nothing, of this operand */
  int32_t parts;                  /* values of an element: 2 for complex numbers */
  bool is_loaded;                 /* as it is in memory; else it is computed */
  SortArray array;                /* without a known key: where it is, a line in the scratch if it is computed */
  int64_t scratch;                /* offset of that line */
} SortOperand;

/* Stores that write one element: several for its parts. */
typedef struct SortStore {
  const KernelStore *stores;
  int32_t parts;
  bool is_moved;        /* bits in memory go from one array to the other; else values are computed at the point */
  SortArray from, to;   /* |from| if it is moved */
  int64_t lower, upper; /* the places that are stored */
} SortStore;

typedef struct SortEmitter {
  const VecBuilder *vec;
  const Kernel *kernel, *comparator;
  const KernelStage *stage;
  int dim; /* that is sorted */
  SortKey key;
  Arena *arena;
  LLVMValueRef function;
  KernelPoint *point; /* of the Kernel, in the current line */
  int operand_count;
  SortOperand *operands;
  int store_count;
  SortStore *stores;
  int64_t length; /* of a line */
  int64_t kept;   /* places from the first that are stored */
  int64_t line_count;
  bool is_shared;       /* in phases */
  bool is_one_run;      /* sorted by insertion alone, in place */
  bool moves_elements;  /* the records are the elements */
  int64_t record_step;  /* from one record of a line to the next: lines may be sorted side by side */
  LLVMTypeRef record;   /* i32: a position; i64, i128: a key above 32 bits of position; or an element's bits */
  int64_t record_bytes; /* in memory */
} SortEmitter;

/* --- pieces of code (sort_code.c) --- */

LLVMBasicBlockRef sort_block(const SortEmitter *emitter);
LLVMValueRef sort_int(const SortEmitter *emitter, int64_t value); /* i64 */
/* Complex numbers need the alignment of their parts only. */
unsigned sort_element_alignment(LLVMTypeRef type);
LLVMValueRef sort_record_pointer(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef index);
LLVMValueRef sort_load(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef index);
void sort_store(const SortEmitter *emitter, LLVMValueRef record, LLVMValueRef records, LLVMValueRef index);
/* Of elements: the key's number of the one at |pointer|. */
LLVMValueRef sort_key_at(const SortEmitter *emitter, LLVMValueRef pointer);
/* i64 */
LLVMValueRef sort_position(const SortEmitter *emitter, LLVMValueRef record);
/* Element |position| of the line in |array|. */
LLVMValueRef sort_element(const SortEmitter *emitter, const SortArray *array, LLVMValueRef position);
/* The record of the point at |position|, which is the point's from then on. */
LLVMValueRef sort_make_record(const SortEmitter *emitter, LLVMValueRef position);
/* The keys' numbers of points from |position| on, one in each of the point's lanes. */
LLVMValueRef sort_keys_in_lanes(const SortEmitter *emitter, LLVMValueRef position);
/* Whether record |a| stands before |b|. */
LLVMValueRef sort_is_before(const SortEmitter *emitter, LLVMValueRef a, LLVMValueRef b);

/* --- lines (sort_emit.c) --- */

LLVMValueRef sort_at_offset(const SortEmitter *emitter, LLVMValueRef scratch, int64_t bytes);
/* Of the records of a line. */
int64_t sort_records_bytes(const SortEmitter *emitter);
/* All places. */
IndexRange sort_line_range(const SortEmitter *emitter);
/* Binds the outer dims to line number |line|, counted in row-major order. */
void sort_move_to_line(SortEmitter *emitter, LLVMValueRef line);
/* Where the elements of all arrays are in the line at hand; |scratch|: of what is compared and computed. */
void sort_find_line(SortEmitter *emitter, LLVMValueRef scratch);
/* Of the positions in |range|, which holds one at least. */
void sort_make_records(const SortEmitter *emitter, LLVMValueRef records, IndexRange range);
/* To the places in |range|. */
void sort_store_elements(const SortEmitter *emitter, LLVMValueRef records, IndexRange range);
/* Lines, one after the other. */
void sort_emit_lines(SortEmitter *emitter, LLVMValueRef scratch, IndexRange range);

/* --- algorithms: sort the line's records; the result is where they are afterwards, |records| or |spare| --- */

enum { SORT_RUN = 16 };
/* Runs of SORT_RUN by insertion, then merged; a single one stays in |records|. */
LLVMValueRef sort_by_merging(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare);

/* The same in phases, which give the same bits however each is cut: regions of so many records by themselves, then by
 * merges, each cut into pieces of as many. */
#define SORT_REGION (INT64_C(1) << 14)
int64_t sort_merging_phases(const SortEmitter *emitter);
void sort_merging_phase(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare, const PhaseShare *share);

/* Whether lines are sorted several at a time, records of equal places side by side, in place; how many. */
bool sort_uses_network(const SortEmitter *emitter);
int64_t sort_network_lines(const SortEmitter *emitter);
/* |records|: as signed numbers, aligned as so many are. */
void sort_by_network(const SortEmitter *emitter, LLVMValueRef records);

/* Whether that pays, and the bytes of |counters| it needs. */
bool sort_uses_digits(const SortEmitter *emitter);
int64_t sort_counter_bytes(const SortEmitter *emitter);
LLVMValueRef sort_by_digits(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare,
                            LLVMValueRef counters);

/* Whether the records may be the elements: digits leave equal keys in order, so one array that alone is compared and
 * stored, in whole lines, needs no positions.  Then memory for half of the records is enough where results lie as
 * records do: they are the other half. */
bool sort_moves_elements(const SortEmitter *emitter);
/* Sorts the elements of |from| by digits to |to|; |scratch|: sort_element_bytes, then counters. */
void sort_elements_by_digits(const SortEmitter *emitter, const SortArray *from, const SortArray *to,
                             LLVMValueRef scratch);
int64_t sort_element_bytes(const SortEmitter *emitter);

/* One or the other. */
LLVMValueRef sort_records(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare, LLVMValueRef counters);

/* Whether so few are kept that most points of a line need no place, and how many records are sorted at a time. */
bool sort_selects(const SortEmitter *emitter);
int64_t sort_selection_length(const SortEmitter *emitter);
/* Makes the line's records itself, and sorts those kept. */
LLVMValueRef sort_by_selecting(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare,
                               LLVMValueRef counters);

/* --- lines that threads share (sort_shared.c) --- */

/* Few lines, each long enough to be worth it: so many elements for each thread at least. */
#define SORT_CHUNK_ELEMENTS 16384
bool sort_is_shared(const SortEmitter *emitter);
int64_t sort_line_phases(const SortEmitter *emitter);
/* Scratch of each chunk after the first, a multiple of 64. */
int64_t sort_chunk_bytes(const SortEmitter *emitter);
/* What |share| says of all lines. */
void sort_emit_shared(SortEmitter *emitter, LLVMValueRef scratch, const PhaseShare *share);

#endif
