/* JSON as a tree of cJSON's. */
#ifndef XLAC_RUNTIME_ARRAYS_JSON_TREE_H
#define XLAC_RUNTIME_ARRAYS_JSON_TREE_H

#include <cjson/cJSON.h>

#include "base/string_view.h"

/* NULL when |text| is no JSON: a lack of memory is out_of_memory.  |out_end|, which may be NULL: where the value ends,
 * whatever follows.  The caller ends the result with cJSON_Delete. */
cJSON *json_tree_parse(StringView text, const char **out_end);

#endif
