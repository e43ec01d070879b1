/* Parts of a module on their own: what a program that builds a module without its text needs from the parser, so that
 * both obey one set of rules.
 *
 * An instruction is given as values and goes through the checks that the text's instructions go through; what is easier
 * said in HLO's own words (a window, a sharding, the header's attributes) is read from a text of its own, by the
 * parser's own functions.  Errors are the parser's, located in these texts; those of an instruction given as values are
 * at the places that it states. */
#ifndef XLAC_PARSER_HLO_PARTS_H
#define XLAC_PARSER_HLO_PARTS_H

#include "hlo/ir/hlo_module.h"

/* The module that the parts are for.  |scratch| may be reset between calls. */
typedef struct HloParts {
  HloModule *module;
  Arena *scratch;
  DiagSink *diag;
  IntMap async_computations; /* called by an async-start; private */
} HloParts;

/* For instructions of |module|; temporary memory is |scratch|'s until the module is finished. */
void hlo_parts_init(HloParts *parts, HloModule *module, Arena *scratch, DiagSink *diag);

/* An instruction between being given and being built.  What it points to may be temporary, but for what attributes
 * point to. */
typedef struct HloInstructionParts {
  StringView name; /* empty: the opcode's */
  SourceLoc loc;
  HloOpcode opcode;
  const Shape *shape; /* of the module's ShapeTable; NULL: inferred (hlo_infer_shape) */
  int operand_count;
  HloInstruction *const *operands; /* of the computation that it is added to */
  int attr_count;
  const HloAttr *attrs; /* each id once, all of the opcode's or common; pointees live as long as the module */
} HloInstructionParts;

/* Adds the instruction to |computation|: STATUS_INVALID when a rule of the language is broken, or when there is no
 * shape and operands and attributes do not determine it.  A parameter has HLO_ATTR_PARAMETER_NUMBER, a constant
 * HLO_ATTR_LITERAL of its shape. */
MUST_USE Status hlo_parts_instruction(HloParts *parts, HloComputation *computation, const HloInstructionParts *given,
                                      HloInstruction **out_instruction);

/* Sets or replaces a common attribute (HLO_ATTR_FIRST_COMMON) of an instruction that is there, as if it had been given
 * with it. */
MUST_USE Status hlo_parts_set_attribute(HloParts *parts, HloInstruction *instruction, const HloAttr *attr);

/* |name| may name an instruction, a computation or the module: it is one word of the text, no keyword, type or reserved
 * name.  |what| it is to name: "an instruction". */
MUST_USE Status hlo_parts_check_name(HloParts *parts, const char *what, StringView name, SourceLoc loc);

/* Each reads all of |file|, which must live as long as the module. */

/* The value of attribute |id|, as it stands after the '='.  Not for attributes that are computations, instructions or
 * the value of a constant. */
MUST_USE Status hlo_parts_attribute(HloParts *parts, HloAttrId id, const SourceFile *file, HloAttr *out_attr);
/* A constant's value of |shape|, as it stands between the parentheses. */
MUST_USE Status hlo_parts_literal(HloParts *parts, const Shape *shape, const SourceFile *file,
                                  const Literal **out_literal);
/* The value of the header's attribute |name|, into the module; lists get longer. |loc| is where the name stands. */
MUST_USE Status hlo_parts_header(HloParts *parts, StringView name, SourceLoc loc, const SourceFile *file);
/* The tables FileNames, FunctionNames, FileLocations and StackFrames, into the module. */
MUST_USE Status hlo_parts_stack_frames(HloParts *parts, const SourceFile *file);

#endif
