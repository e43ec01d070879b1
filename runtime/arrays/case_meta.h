/* CaseMeta: a test case's meta.json: the seed rule of each parameter, the tolerance of each result. */
#ifndef XLAC_RUNTIME_ARRAYS_CASE_META_H
#define XLAC_RUNTIME_ARRAYS_CASE_META_H

#include "runtime/arrays/compare.h"
#include "runtime/arrays/seed_inputs.h"

typedef struct CaseMeta {
  uint64_t seed;
  double rtol, atol; /* of results beyond the list */
  int64_t parameter_count;
  const SeedRule *parameters;
  int64_t result_count;
  const CompareRule *results;
} CaseMeta;

/* STATUS_INVALID (code "meta") when the file is no such object; unknown members are ignored. */
MUST_USE Status case_meta_read(Arena *arena, const char *path, DiagSink *diag, CaseMeta *out_meta);
MUST_USE Status case_meta_parse(Arena *arena, StringView label, StringView text, DiagSink *diag, CaseMeta *out_meta);

#endif
