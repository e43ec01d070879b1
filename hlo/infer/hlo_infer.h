/* Shape inference: the result shape of an operation from its operands and attributes (XLA's ShapeInference). */
#ifndef XLAC_HLO_INFER_HLO_INFER_H
#define XLAC_HLO_INFER_HLO_INFER_H

#include "hlo/ir/hlo_module.h"

/* The shape of |instruction| (its own shape field is ignored where the rule determines it and consulted where the text
 * must state it: explicit rules check the stated shape and return it).  On a violated rule: STATUS_INVALID and one
 * located diagnostic, code "infer-<opcode>". */
MUST_USE Status hlo_infer_shape(const HloInstruction *instruction, ShapeTable *shapes, Arena *scratch, DiagSink *diag,
                                const Shape **out_shape);

#endif
