/* Makes a module smaller that shows something, and keeps showing it: delta debugging (Zeller and Hildebrandt,
 * "Simplifying and isolating failure-inducing input") over edits of HLO instead of parts of the text. */
#ifndef XLAC_COMPILER_MODULE_REDUCER_H
#define XLAC_COMPILER_MODULE_REDUCER_H

#include "hlo/ir/hlo_module.h"

/* What must stay true.  |out_keeps|: whether it is true of |module|; anything but STATUS_OK ends the search. */
typedef struct ModuleTest {
  void *self;
  Status (*keeps)(void *self, const HloModule *module, bool *out_keeps);
  bool any_module; /* |module| need not be verified; else only modules that are right are asked about */
} ModuleTest;

typedef struct ModuleReduction {
  const HloModule *module; /* the smallest that was found */
  int64_t tests, edits;    /* asked; of them kept */
} ModuleReduction;

/* From |module|, of which the test is true.  Edits, in turn until none helps: another instruction of the entry is its
 * root; an instruction becomes a parameter, one of its operands, or a zero; a call, fusion, loop or branch is replaced
 * by what it runs; a tuple loses elements; what says nothing of values (metadata, shardings, aliases, configurations,
 * the schedule) goes.  Each is tried on many instructions at once, then on ever fewer.  Shapes stay.  In |arena|. */
MUST_USE Status module_reduce(Arena *arena, const HloModule *module, const ModuleTest *test,
                              ModuleReduction *out_reduction);

#endif
