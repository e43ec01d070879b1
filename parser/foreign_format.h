/* Recognises files of other kinds that were given for HLO text: serialized HLO, compressed files, arrays, MLIR. */
#ifndef XLAC_PARSER_FOREIGN_FORMAT_H
#define XLAC_PARSER_FOREIGN_FORMAT_H

#include "base/diagnostic.h"

/* STATUS_INVALID (code "foreign-format") when |file| is recognised as something else by how it begins, with the command
 * that makes HLO text of it where there is one.  STATUS_OK says nothing about its being HLO text. */
MUST_USE Status foreign_format_check(const SourceFile *file, DiagSink *diag);

#endif
