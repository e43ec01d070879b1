#include "runtime/remote/target_sources.h"

/* The assembler reads the files while this one is compiled, from the root. */
#define TARGET_SOURCE(id, path)               \
  __asm__(                                    \
      ".pushsection .rodata\n"                \
      "xlac_source_" #id ":\n.incbin \"" path \
      "\"\n"                                  \
      "xlac_source_end_" #id                  \
      ":\n.byte 0\n"                          \
      ".popsection\n");
#include "runtime/remote/target_sources.def"
#undef TARGET_SOURCE

#define TARGET_SOURCE(id, path) extern const char xlac_source_##id[], xlac_source_end_##id[];
#include "runtime/remote/target_sources.def"
#undef TARGET_SOURCE

static const struct {
  const char *path, *begin, *end;
} sources[] = {
#define TARGET_SOURCE(id, path) {path, xlac_source_##id, xlac_source_end_##id},
#include "runtime/remote/target_sources.def"
#undef TARGET_SOURCE
};

int target_source_count(void) {
  return (int)(sizeof sources / sizeof sources[0]);
}

TargetSource target_source_at(int index) {
  return (TargetSource){sources[index].path,
                        {sources[index].begin, (size_t)(sources[index].end - sources[index].begin)}};
}
