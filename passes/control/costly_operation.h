/* What is worth an array of its own to be computed once: contractions, reductions, sorts, transcendental functions. */
#ifndef XLAC_PASSES_CONTROL_COSTLY_OPERATION_H
#define XLAC_PASSES_CONTROL_COSTLY_OPERATION_H

#include "hlo/ir/hlo_instruction.h"

/* Not of scalars, which are no arrays to store and soon computed. */
bool costly_operation(const HloInstruction *instruction);

#endif
