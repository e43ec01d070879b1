/* LLVM's feature lists, "+avx2,-fma": the last mention of a feature counts. */
#ifndef XLAC_CODEGEN_TARGET_FEATURE_LIST_H
#define XLAC_CODEGEN_TARGET_FEATURE_LIST_H

#include <stdbool.h>

typedef enum FeatureMention { FEATURE_ABSENT, FEATURE_GIVEN, FEATURE_DENIED } FeatureMention;

/* What |features|, "+avx2,-fma" as LLVM reads it, says of |name| last; given: that is +. */
FeatureMention feature_mention(const char *features, const char *name);
bool feature_is_given(const char *features, const char *name);

#endif
