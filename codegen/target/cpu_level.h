/* What xlac knows of x86-64 processors: their names, what each can do, and the variants of one object. */
#ifndef XLAC_CODEGEN_TARGET_CPU_LEVEL_H
#define XLAC_CODEGEN_TARGET_CPU_LEVEL_H

#include "base/string_view.h"
#include "codegen/target/vec_target.h"

/* A processor as LLVM calls it, and the features that matter to emitted code.  "native" comes with the host's own list
 * instead. */
typedef struct CpuLevel {
  const char *cpu, *features;
} CpuLevel;

/* NULL for a processor that is not known. */
const CpuLevel *cpu_level_find(StringView cpu);

/* ", "-separated names for messages; |out_nearest| is what was likely meant, empty when nothing is near. */
void cpu_level_names(StringBuilder *out, StringView meant, StringView *out_nearest);

/* The vector code for a processor with the LLVM feature list |features|, the last mention of each counting. */
VecTarget cpu_vec_target(const char *features);

/* The variants of an object for unknown processors, from the least to the best. */
typedef enum CpuVariantId {
  CPU_VARIANT_BASELINE,
  CPU_VARIANT_AVX2,
  CPU_VARIANT_AVX512,
  CPU_VARIANT_COUNT
} CpuVariantId;

typedef struct CpuVariant {
  const char *name; /* of its functions' suffix, and in the environment variable XLAC_CPU */
  const char *cpu;  /* a name of cpu_level_find */
} CpuVariant;

const CpuVariant *cpu_variant(CpuVariantId id);

#endif
