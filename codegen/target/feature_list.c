#include "codegen/target/feature_list.h"

#include <string.h>

FeatureMention feature_mention(const char *features, const char *name) {
  size_t length = strlen(name);
  FeatureMention mention = FEATURE_ABSENT;
  for (const char *at = features; (at = strstr(at, name)) != NULL; at += length) {
    bool starts = at > features && (at - 1 == features || at[-2] == ',');
    if (starts && (at[length] == ',' || at[length] == '\0')) mention = at[-1] == '+' ? FEATURE_GIVEN : FEATURE_DENIED;
  }
  return mention;
}

bool feature_is_given(const char *features, const char *name) {
  return feature_mention(features, name) == FEATURE_GIVEN;
}
