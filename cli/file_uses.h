/* FileUses: which files a command line reads and writes.  No output may be a file that is read, or another output: one
 * of the two would be lost. */
#ifndef XLAC_CLI_FILE_USES_H
#define XLAC_CLI_FILE_USES_H

#include "cli/options.h"

typedef struct FileUse {
  const char *path;
  const char *name; /* what messages call it: "the input", "what '--inputs' reads"; of an output: "'--map'" */
  OptionId id;      /* the option that names it; OPTION_COUNT: none */
  bool is_written;
} FileUse;

typedef struct FileUses {
  Arena *arena;
  ARRAY(FileUse) list;
} FileUses;

/* Where an output goes without its option; several of one option are several outputs. */
typedef struct OutputDefault {
  OptionId id;
  const char *path; /* NULL: nowhere */
} OutputDefault;

/* All files of |options|, outputs without their option by |defaults|. */
void file_uses_init(FileUses *uses, Arena *arena, const Options *options, const OutputDefault *defaults, int count);

/* The file of an option that writes elsewhere is only read this time. */
void file_uses_set_read(FileUses *uses, OptionId id);

/* STATUS_INVALID (usage) when an output is the same file as an input or another output, however they are spelt. */
MUST_USE Status file_uses_check(const FileUses *uses, DiagSink *diag);

/* The use of the file |path|, NULL when there is none. */
const FileUse *file_uses_find(const FileUses *uses, const char *path);

#endif
