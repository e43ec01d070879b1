/* KernelTable: the Kernels of a module's instructions, made once (codegen/lower/module_kernels.h) and read by all:
 * plans, memory, code for every target, reports. */
#ifndef XLAC_CODEGEN_KERNEL_KERNEL_TABLE_H
#define XLAC_CODEGEN_KERNEL_KERNEL_TABLE_H

#include "base/hash_map.h"
#include "codegen/kernel/kernel.h"

/* A range of indices of one of a Kernel's dimensions, or of those of another one at a single index (kernel_strip.h). */
typedef struct KernelStrip {
  int64_t first, extent;             /* extent 0: all of them */
  int64_t inner_first, inner_extent; /* extent 0: all of them; else |extent| is 1 */
  bool goes_on;     /* a part of sums: it goes on from what the strip before it has left in the results, … */
  bool leaves_open; /* … and leaves sums there for the next one to go on from */
} KernelStrip;

typedef struct KernelUse {
  const Kernel *kernel;
  int32_t identity;           /* equal Kernels have the same, dense from 0 in order of their first use */
  const uint64_t *parameters; /* storage bits of the elements of its buffers of role PARAMETERS, one after the other */
  const int64_t *offsets; /* NULL, or by buffer: it begins so many elements after what it is bound to (kernel_sharing.h)
                           */
  KernelStrip strip;      /* of a Kernel of the instruction, … */
  int32_t cut;            /* … the one at this place before it was cut */
} KernelUse;

/* The Kernels of one instruction. */
typedef struct KernelUses {
  const HloInstruction *instruction;
  int32_t count;
  const KernelUse *uses; /* to be run in this order */
} KernelUses;

typedef struct KernelTable {
  Arena *arena;
  ARRAY(KernelUses) rows; /* in order of computations and schedules */
  int32_t identity_count;
  IntMap row_of_instruction; /* private, like the next */
  StringMap identities;      /* text of a Kernel → its identity + 1 */
} KernelTable;

/* An empty table; it and what is added live in |arena|. */
KernelTable *kernel_table_create(Arena *arena);
/* Adds the row of |instruction|, which has none yet: |count| Kernels, which live as long. */
void kernel_table_add(KernelTable *table, const HloInstruction *instruction, const Kernel *const *kernels,
                      int32_t count);
/* Replaces every use by what |change| makes of it, whose identity is an old one; then they are made dense again.
 * Nothing is added afterwards. */
void kernel_table_change(KernelTable *table, KernelUse (*change)(void *self, KernelUse use), void *self);
/* NULL: no Kernels compute |instruction|. */
const KernelUses *kernel_table_find(const KernelTable *table, const HloInstruction *instruction);

/* What a Kernel of |row| is called in reports and plans: the instruction's name, with .1, .2 … from the second on; a
 * strip the same with [FIRST+EXTENT], [POINT.FIRST+EXTENT] where one index is cut again, and with + where sums go on:
 * [8+8+], [+4+4+], [+0+4], [7.10+54]. */
StringView kernel_use_name(Arena *arena, const KernelUses *row, int32_t place);
/* Whether |text| is that, what a strip's name has after its Kernel's. */
bool kernel_strip_read(StringView text, KernelStrip *out_strip);

#endif
