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
  const HloInstruction *instruction; /* whose Kernel it is, … */
  int32_t place;                     /* … among those that compute it, or that of the one of which it is a strip */
  int32_t identity;                  /* equal Kernels have the same, dense from 0 in order of their first use */
  const uint64_t *parameters; /* storage bits of the elements of its buffers of role PARAMETERS, one after the other */
  const int64_t *offsets; /* NULL, or by buffer: it begins so many elements after what it is bound to (kernel_sharing.h)
                           */
  KernelStrip strip;
  bool is_moved; /* it is run where a later instruction's Kernels are (kernel_turns.h) */
} KernelUse;

/* Whether |use| is a strip, or run elsewhere than the schedule has its instruction: what a plan by itself needs beside
 * arrays nobody has counted there.  For tables that are cut for a Buffer. */
static inline bool kernel_use_is_apart(const KernelUse *use) {
  return use->offsets != NULL || use->is_moved;
}

/* The Kernels that are run where one instruction is: its own, or those of a sequence of which it is the last. */
typedef struct KernelUses {
  const HloInstruction *instruction;
  int32_t count;
  const KernelUse *uses; /* to be run in this order */
  bool is_elsewhere;     /* none: those that it has are run where a later instruction is */
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

/* What |use| is called in reports and plans: the instruction's name, with .1, .2 … from the second on; a
 * strip the same with [FIRST+EXTENT], [POINT.FIRST+EXTENT] where one index is cut again, and with + where sums go on:
 * [8+8+], [+4+4+], [+0+4], [7.10+54]. */
StringView kernel_use_name(Arena *arena, const KernelUse *use);
/* Whether |text| is that, what a strip's name has after its Kernel's. */
bool kernel_strip_read(StringView text, KernelStrip *out_strip);

#endif
