#include "runtime/arrays/json_tree.h"

#include <stdlib.h>

#include "base/arena.h"

cJSON *json_tree_parse(StringView text, const char **out_end) {
  /* cJSON gives the same NULL for what is no JSON and for a lack of memory. */
  cJSON_InitHooks(&(cJSON_Hooks){memory_for_library, free});
  return cJSON_ParseWithLengthOpts(text.data ? text.data : "", text.size, out_end, false);
}
