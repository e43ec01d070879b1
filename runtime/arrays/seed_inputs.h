/* Generated inputs: the same values on every machine, from a seed and a rule per parameter leaf.
 *
 * For leaf p, element i (row-major), seed s, on 64-bit words modulo 2^64, with splitmix64's finaliser mix:
 *   base = mix(s * 0x9E3779B97F4A7C15 + p + 1),  h(i) = mix(base + (i + 1) * 0x9E3779B97F4A7C15).
 * A rule says how h becomes a value.  Floating values are rounded double → float → narrower type; f64 keeps the double.
 */
#ifndef XLAC_RUNTIME_ARRAYS_SEED_INPUTS_H
#define XLAC_RUNTIME_ARRAYS_SEED_INPUTS_H

#include "base/diagnostic.h"
#include "hlo/type/primitive_type.h"

typedef enum SeedKind {
  SEED_DEFAULT,        /* normal for floats and complex, int otherwise */
  SEED_NORMAL,         /* n * scale + offset, n the scaled sum of four 16-bit parts of h */
  SEED_ABSNORMAL,      /* |n| * scale + offset */
  SEED_UNIFORM,        /* lo + u * (hi - lo), u = (h >> 11) * 2^-53 */
  SEED_SORTED_UNIFORM, /* the same, ascending */
  SEED_INT,            /* lo + h % (hi - lo) */
  SEED_CONST,          /* value */
  SEED_IOTA,           /* i, or i % mod */
  SEED_BITS,           /* the low bits of h */
  SEED_ONEHOT,         /* rows of the last dimension K: 1 at h(row) % K */
  SEED_PERM            /* the stable order of h(0 … n-1) */
} SeedKind;

typedef struct SeedRule {
  SeedKind kind;
  double scale, offset; /* normal, absnormal: 1, 0 unless given */
  bool has_lo, has_hi;  /* otherwise 0 and 1 for uniform, 0 and 8 for int */
  double lo, hi;
  double value;
  int64_t mod;
} SeedRule;

#define SEED_RULE_DEFAULT ((SeedRule){.kind = SEED_DEFAULT, .scale = 1.0})

/* False when |name| is no kind. */
bool seed_kind_from_text(StringView name, SeedKind *out_kind);

/* h(element) of parameter |leaf|, as above. */
uint64_t seed_hash(uint64_t seed, uint64_t leaf, uint64_t element);

/* The array that is made for parameter leaf |leaf|. */
typedef struct SeedArray {
  uint64_t seed;
  int64_t leaf;
  PrimitiveType type;
  int rank;
  const int64_t *dims;
} SeedArray;

/* Fills |out_logical| with the storage units of |array| (hlo/type/literal.h) in row-major order.  STATUS_INVALID (code
 * "seed") when the rule does not suit the type or is empty. */
MUST_USE Status seed_generate(Arena *scratch, const SeedRule *rule, SeedArray array, DiagSink *diag, void *out_logical);

#endif
