/* Which parts of its operands a part of a result is computed from. */
#ifndef XLAC_PASSES_MEMORY_SPLIT_READS_H
#define XLAC_PASSES_MEMORY_SPLIT_READS_H

#include "hlo/ir/hlo_computation.h"

/* How an operand is read: whole, or, for units u … v of the result, elements [u * scale - before, v * scale + after)
 * along |dimension|; of either there may be less than none, where it begins later or ends earlier.  Those that are not
 * there count as the padding of the operation (split_fills), or are not looked at. */
typedef struct SplitRead {
  int dimension; /* SPLIT_READ_WHOLE */
  int64_t scale;
  int64_t before, after;
} SplitRead;

enum { SPLIT_READ_WHOLE = -1 };

/* Whether units u … v of the result of |instruction| (all of its leaves), each |scale| elements along |dimension|, are
 * computed from the same units of its operands, and a few elements around them; |out_reads| (one for each operand) says
 * where these lie.  |units| of them make the whole, or a few elements more or less (what is padded or sliced).  Where
 * only larger units do, false and |out_coarser| is how many would make one, otherwise it is 0. */
bool split_reads(const HloInstruction *instruction, int dimension, int64_t scale, int64_t units, SplitRead *out_reads,
                 int64_t *out_coarser);

/* The same with fewer, larger units where a unit would not be a whole number of elements along |dimension|: how many of
 * the |units| make one; 0: not so either. */
int64_t split_reads_of_larger(const HloInstruction *instruction, int dimension, int64_t units, SplitRead *out_reads);

/* The elements of so many units; INT64_MAX where there is no number for them. */
int64_t split_nominal_size(int64_t units, int64_t scale);

/* Whether |shape|, and each element of a tuple, is a plain array of |size| elements along |dimension|. */
bool split_can_cut(const Shape *shape, int dimension, int64_t size);

/* Whether it matters what |instruction| reads where there is nothing. */
bool split_fills(const HloInstruction *instruction);

/* The operand of |instruction| that it reads there; -1: zero. */
int split_fill_operand(const HloInstruction *instruction);

/* Whether the result is a fold over |dimension| of operand |operand|, all of |units| units, so that those of the parts
 * can be combined by the operation |out_opcode|, element by element; |out_reads| as above.  HLO_SCATTER: operand 0 is
 * what the parts before have made. */
bool split_fold_reads(const HloInstruction *instruction, int operand, int dimension, int64_t scale, int64_t units,
                      SplitRead *out_reads, HloOpcode *out_opcode);

#endif
