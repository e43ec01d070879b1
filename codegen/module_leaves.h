/* The leaves of a module's parameters and results, as its descriptor and its header tell of them. */
#ifndef XLAC_CODEGEN_MODULE_LEAVES_H
#define XLAC_CODEGEN_MODULE_LEAVES_H

#include "codegen/ir/tensor_constants.h"
#include "hlo/analysis/buffer_assignment.h"

typedef struct ModuleLeaves {
  int64_t parameter_count, result_count;
  TensorLeaf *parameters, *results;  /* tuples flattened depth first; HLO names; aliases as |assignment| has them */
  const StringView *parameter_names; /* hlo/ir/leaf_names.h */
  /* By parameter leaf: whether what is computed before any run reads it, and whether runs do. */
  bool *is_read_before, *is_read_by_runs;
} ModuleLeaves;

/* In |arena|. */
ModuleLeaves module_leaves(const HloModule *module, const BufferAssignment *assignment, Arena *arena);

#endif
