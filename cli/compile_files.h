/* What --emit's words mean, and how files and functions are called that nobody names. */
#ifndef XLAC_CLI_COMPILE_FILES_H
#define XLAC_CLI_COMPILE_FILES_H

#include "cli/driver.h"

/* The words of --emit. */
typedef enum EmitKind {
  EMIT_OBJECT,
  EMIT_ASSEMBLY,
  EMIT_LLVM_IR,
  EMIT_BITCODE,
  EMIT_HLO,
  EMIT_SHARED,
  EMIT_ARCHIVE,
  EMIT_NONE
} EmitKind;

/* Whether |emit| asks for code at all; which of LLVM's outputs it is then. */
bool emit_has_code(EmitKind emit);
LlvmOutput emit_llvm_output(EmitKind emit);

/* Where the outputs of one model go; NULL, and "" of side files: nowhere. */
typedef struct CompileFiles {
  const char *output; /* an archive's: that of all models */
  const char *header, *map;
  const char *constants; /* the file of large ones; NULL: they are in the object */
} CompileFiles;

/* What the outputs of the model that is session->model, and the function in them, are named after: the input file's
 * name without its extension; of standard input, when that is read, the module's. */
const char *compile_stem(const Session *session);

/* Whether files lie beside the output: it is one itself, and of a kind that has them. */
bool compile_files_have_sides(const Session *session, EmitKind emit);

/* Whether compile_files_name has to wait until the module is read, for its name. */
bool compile_files_wait(const Session *session, EmitKind emit);

/* Names the files of every model into |out_files|, as many as there are operands: outputs without a name in the current
 * directory, side files beside them.  STATUS_INVALID (usage) when two outputs are one file, or one is an input. */
MUST_USE Status compile_files_name(Session *session, EmitKind emit, CompileFiles *out_files);

#endif
