#include "runtime/arrays/seed_inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/arrays/tensor_values.h"

#define GOLDEN 0x9E3779B97F4A7C15u

static const char *const kind_names[] = {[SEED_DEFAULT] = NULL,
                                         [SEED_NORMAL] = "normal",
                                         [SEED_ABSNORMAL] = "absnormal",
                                         [SEED_UNIFORM] = "uniform",
                                         [SEED_SORTED_UNIFORM] = "sorted_uniform",
                                         [SEED_INT] = "int",
                                         [SEED_CONST] = "const",
                                         [SEED_IOTA] = "iota",
                                         [SEED_BITS] = "bits",
                                         [SEED_ONEHOT] = "onehot",
                                         [SEED_PERM] = "perm"};

bool seed_kind_from_text(StringView name, SeedKind *out_kind) {
  for (int i = SEED_NORMAL; i <= SEED_PERM; i++)
    if (sv_equal_cstring(name, kind_names[i])) {
      *out_kind = (SeedKind)i;
      return true;
    }
  return false;
}

static uint64_t mix(uint64_t z) {
  z ^= z >> 30;
  z *= 0xBF58476D1CE4E5B9u;
  z ^= z >> 27;
  z *= 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static uint64_t hash_from_base(uint64_t base, uint64_t element) {
  return mix(base + (element + 1) * GOLDEN);
}

uint64_t seed_hash(uint64_t seed, uint64_t leaf, uint64_t element) {
  return hash_from_base(mix(seed * GOLDEN + leaf + 1), element);
}

/* Every operation is a statement of its own: none may be contracted into a fused multiply-add. */
static double real_from_hash(const SeedRule *rule, SeedKind kind, uint64_t h) {
  if (kind == SEED_NORMAL || kind == SEED_ABSNORMAL) {
    int64_t t = (int64_t)((h & 0xFFFF) + (h >> 16 & 0xFFFF) + (h >> 32 & 0xFFFF) + (h >> 48));
    double n = (double)(t - 131070) * 2.6428997918226276e-05; /* sqrt(3) / 65536 */
    if (kind == SEED_ABSNORMAL) n = fabs(n);
    double scaled = n * rule->scale;
    return scaled + rule->offset;
  }
  double lo = rule->has_lo ? rule->lo : 0.0, hi = rule->has_hi ? rule->hi : 1.0;
  double u = (double)(h >> 11) * 0x1p-53;
  double scaled = u * (hi - lo);
  return lo + scaled;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

typedef struct HashedIndex {
  uint64_t hash;
  int64_t index;
} HashedIndex;

static int compare_hashes(const void *a, const void *b) {
  const HashedIndex *x = a, *y = b;
  if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

typedef struct Generator {
  Arena *scratch;
  const SeedRule *rule;
  SeedKind kind;
  uint64_t base;
  PrimitiveType type;
  size_t width;
  int64_t count, last_dim;
  unsigned char *out;
} Generator;

static void generate_reals(const Generator *g) {
  bool complex = type_is_complex(g->type);
  if (g->type == TYPE_F32) { /* most of all inputs: tens of millions of weights */
    float *values = (float *)(void *)g->out;
    for (int64_t i = 0; i < g->count; i++)
      values[i] = (float)real_from_hash(g->rule, g->kind, hash_from_base(g->base, (uint64_t)i));
    return;
  }
  int64_t parts = complex ? g->count * 2 : g->count;
  size_t width = complex ? g->width / 2 : g->width;
  for (int64_t i = 0; i < parts; i++)
    tensor_unit_set_double(type_complex_part(g->type), g->out + (size_t)i * width,
                           real_from_hash(g->rule, g->kind, hash_from_base(g->base, (uint64_t)i)));
}

static void generate_sorted(const Generator *g) {
  double *values = ARENA_NEW_ARRAY(g->scratch, double, g->count);
  for (int64_t i = 0; i < g->count; i++)
    values[i] = real_from_hash(g->rule, SEED_UNIFORM, hash_from_base(g->base, (uint64_t)i));
  if (g->count > 0) qsort(values, (size_t)g->count, sizeof *values, compare_doubles);
  for (int64_t i = 0; i < g->count; i++) tensor_unit_set_double(g->type, g->out + (size_t)i * g->width, values[i]);
}

static void generate_permutation(const Generator *g) {
  HashedIndex *order = ARENA_NEW_ARRAY(g->scratch, HashedIndex, g->count);
  for (int64_t i = 0; i < g->count; i++) order[i] = (HashedIndex){hash_from_base(g->base, (uint64_t)i), i};
  if (g->count > 0) qsort(order, (size_t)g->count, sizeof *order, compare_hashes);
  for (int64_t i = 0; i < g->count; i++) tensor_unit_set_int(g->type, g->out + (size_t)i * g->width, order[i].index);
}

/* The kinds that give an integer per element. */
static int64_t integer_element(const Generator *g, int64_t i) {
  const SeedRule *rule = g->rule;
  switch (g->kind) {
    case SEED_INT: {
      int64_t lo = rule->has_lo ? (int64_t)rule->lo : 0, hi = rule->has_hi ? (int64_t)rule->hi : 8;
      uint64_t range = (uint64_t)hi - (uint64_t)lo;
      return (int64_t)((uint64_t)lo + hash_from_base(g->base, (uint64_t)i) % range);
    }
    case SEED_IOTA: return rule->mod != 0 ? i % rule->mod : i;
    case SEED_ONEHOT: {
      uint64_t row = (uint64_t)(i / g->last_dim);
      return (uint64_t)(i % g->last_dim) == hash_from_base(g->base, row) % (uint64_t)g->last_dim;
    }
    default: return (int64_t)hash_from_base(g->base, (uint64_t)i);
  }
}

static void generate_elements(const Generator *g) {
  for (int64_t i = 0; i < g->count; i++) {
    unsigned char *unit = g->out + (size_t)i * g->width;
    memset(unit, 0, g->width); /* the imaginary part */
    if (g->kind == SEED_CONST)
      tensor_unit_set_double(g->type, unit, g->rule->value);
    else
      tensor_unit_set_int(g->type, unit, integer_element(g, i));
  }
}

static bool rule_suits(const SeedRule *rule, SeedKind kind, PrimitiveType type, int rank) {
  bool real_kind = kind == SEED_NORMAL || kind == SEED_ABSNORMAL || kind == SEED_UNIFORM;
  if (type_is_complex(type) && !real_kind && kind != SEED_CONST && kind != SEED_IOTA) return false;
  if (kind == SEED_ONEHOT) return rank > 0;
  if (kind == SEED_IOTA) return rule->mod >= 0;
  if (kind != SEED_INT) return true;
  double lo = rule->has_lo ? rule->lo : 0, hi = rule->has_hi ? rule->hi : 8;
  return lo >= -0x1p62 && hi <= 0x1p62 && lo < hi && floor(lo) == lo && floor(hi) == hi;
}

Status seed_generate(Arena *scratch, const SeedRule *rule, SeedArray array, DiagSink *diag, void *out_logical) {
  SeedRule given = *rule;
  PrimitiveType type = array.type;
  if (given.kind == SEED_DEFAULT) {
    given.kind = type_is_float(type) || type_is_complex(type) ? SEED_NORMAL : SEED_INT;
    if (type == TYPE_PRED && !given.has_hi) given.has_hi = true, given.hi = 2;
  }
  if (!rule_suits(&given, given.kind, type, array.rank))
    return diag_error(diag, STATUS_INVALID, NO_LOC, "seed", "the rule '%s' cannot make parameter leaf %lld of type %s",
                      kind_names[given.kind], (long long)array.leaf, type_text(type));
  Generator g = {.scratch = scratch, .rule = &given, .kind = given.kind, .type = type, .count = 1, .out = out_logical};
  g.base = mix(array.seed * GOLDEN + (uint64_t)array.leaf + 1);
  g.width = (size_t)type_storage_bytes(type);
  g.last_dim = array.rank > 0 ? array.dims[array.rank - 1] : 1;
  for (int i = 0; i < array.rank; i++) g.count *= array.dims[i];
  if (given.kind == SEED_NORMAL || given.kind == SEED_ABSNORMAL || given.kind == SEED_UNIFORM)
    generate_reals(&g);
  else if (given.kind == SEED_SORTED_UNIFORM)
    generate_sorted(&g);
  else if (given.kind == SEED_PERM)
    generate_permutation(&g);
  else
    generate_elements(&g);
  return STATUS_OK;
}
