/* The sources of the program that runs a module on another machine, as they are in this tree: xlac carries them, so
 * that it needs nothing but that machine's C compiler. */
#ifndef XLAC_RUNTIME_REMOTE_TARGET_SOURCES_H
#define XLAC_RUNTIME_REMOTE_TARGET_SOURCES_H

#include <stdbool.h>

#include "base/string_view.h"

typedef struct TargetSource {
  const char *path; /* from the root; what ends in .c is to be compiled */
  StringView text;
} TargetSource;

/* The sources of what runs around a module on another machine, and how many there are. */
int target_source_count(void);
TargetSource target_source_at(int index);

#endif
