/* CaseMeta: a test case's meta.json: the seed rule of each parameter, the tolerance of each result, and how both lie on
 * several devices. */
#ifndef XLAC_RUNTIME_ARRAYS_CASE_META_H
#define XLAC_RUNTIME_ARRAYS_CASE_META_H

#include "runtime/arrays/compare.h"
#include "runtime/arrays/seed_inputs.h"

/* What is said of an array as a whole, where devices may have parts of it. */
typedef struct CaseLeaf {
  int rank;
  const int64_t *dims;         /* NULL: not said */
  StringView sharding;         /* in HLO's words; empty: not said */
  int64_t value_count;         /* of all devices; 0: none are given */
  const double *device_values; /* "per_device": the elements of device 0, row-major, then those of device 1 … */
} CaseLeaf;

typedef struct CaseMeta {
  uint64_t seed;
  double rtol, atol; /* of results beyond the list */
  int64_t parameter_count;
  const SeedRule *parameters;
  const CaseLeaf *parameter_leaves;
  int64_t result_count;
  const CompareRule *results;
  const CaseLeaf *result_leaves;
  bool has_device_seeds; /* "inputs": "device-seed": each device makes its own arrays, from a seed of its own */
} CaseMeta;

/* STATUS_INVALID (code "meta") when the file is no such object; unknown members are ignored. */
MUST_USE Status case_meta_read(Arena *arena, const char *path, DiagSink *diag, CaseMeta *out_meta);
MUST_USE Status case_meta_parse(Arena *arena, StringView label, StringView text, DiagSink *diag, CaseMeta *out_meta);

#endif
