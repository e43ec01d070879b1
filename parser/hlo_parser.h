/* HLO text → HloModule.  A hand-written lexer and recursive descent for the language of XLA's own parser: both dialects
 * (with and without '%', signatures and operand shapes), with or without header, or a single instruction.
 *
 * Reports several errors per run (recovering at instruction and computation boundaries), each with line, column and,
 * for misspelt words, the nearest known one.  Does not verify (hlo/infer/hlo_verifier.h).  Nesting is limited (shapes,
 * literals, operands, inline computations): deeper input is an error, never a crash. */
#ifndef XLAC_PARSER_HLO_PARSER_H
#define XLAC_PARSER_HLO_PARSER_H

#include "hlo/ir/hlo_module.h"

/* |file| must outlive the module (names and locations point into it).  |arena| owns the module, |shapes| interns its
 * shapes. STATUS_INVALID when anything was reported; |out_module| is then NULL. */
MUST_USE Status hlo_parse_module(Arena *arena, ShapeTable *shapes, const SourceFile *file, DiagSink *diag,
                                 HloModule **out_module);

/* One shape, as in dumps ("f32[2,3]{1,0}"). */
MUST_USE Status hlo_parse_shape(Arena *arena, ShapeTable *shapes, const SourceFile *file, DiagSink *diag,
                                const Shape **out_shape);

#endif
