/* What xlac knows of x86-64 processors: their names, what each can do, and the variants of one object. */
#ifndef XLAC_CODEGEN_TARGET_CPU_LEVEL_H
#define XLAC_CODEGEN_TARGET_CPU_LEVEL_H

#include "base/nearest_word.h"
#include "codegen/target/vec_target.h"

/* A processor as LLVM calls it, and the features that matter to emitted code.  "native" comes with the host's own list
 * instead. */
typedef struct CpuLevel {
  const char *cpu, *features;
} CpuLevel;

/* NULL for a processor that is not known. */
const CpuLevel *cpu_level_find(StringView cpu);

/* ", "-separated names for messages; each is offered to |nearest|. */
void cpu_level_names(StringBuilder *out, NearestWord *nearest);

/* The vector code for a processor with the LLVM feature list |features|, the last mention of each counting. */
VecTarget cpu_vec_target(const char *features);

/* The variants of an object for unknown processors, from the least to the best.  Those from CPU_VARIANT_NARROW on pay
 * where factors are narrow alone: an object has all of them, or none. */
typedef enum CpuVariantId {
  CPU_VARIANT_BASELINE,
  CPU_VARIANT_AVX2,
  CPU_VARIANT_AVX512,
  CPU_VARIANT_BF16, /* AVX-512 with products of two bf16 and of four bytes: Zen 4, Cooper Lake */
  CPU_VARIANT_AMX,  /* with a matrix unit, f16 in its own lanes, bytes in any order: Sapphire Rapids */
  CPU_VARIANT_COUNT,
  CPU_VARIANT_NARROW = CPU_VARIANT_BF16
} CpuVariantId;

typedef struct CpuVariant {
  const char *name; /* of its functions' suffix, and in the environment variable XLAC_CPU */
  const char *cpu;  /* a name of cpu_level_find, whose features the variant has */
  const char *base; /* as LLVM calls what else may be relied on: no more than is asked of a processor */
} CpuVariant;

/* The row of |id|. */
const CpuVariant *cpu_variant(CpuVariantId id);

#endif
