/* What a fold may begin with: the element that an operation leaves every other one as it is with. */
#ifndef XLAC_HLO_IR_FOLD_IDENTITY_H
#define XLAC_HLO_IR_FOLD_IDENTITY_H

#include "hlo/ir/hlo_opcode.h"

enum { FOLD_IDENTITY_BYTES = 16 }; /* those of the largest element, a c128 */

/* Writes the identity of |opcode| among elements of |type| to |out_element|, one storage unit as literals have it
 * (type_storage_bytes, at most FOLD_IDENTITY_BYTES).  opcode(identity, x) is x bit by bit, -0 among the sums included;
 * a NaN may become another one.  False, and nothing written, where there is none: |opcode| is not OP_ASSOCIATIVE or
 * takes no elements of |type|, f8e8m0fnu has no zero, and inf times the complex 1 has a part that is no number. */
bool hlo_fold_identity(HloOpcode opcode, PrimitiveType type, void *out_element);

#endif
