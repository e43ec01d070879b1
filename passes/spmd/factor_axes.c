/* Which devices compute what: the axes that each factor of an operation is divided along.
 *
 * Candidates start from what operands and results have, or should have: each of them alone, and each of them first with
 * the others after it as far as they agree.  What counts is the bytes that operands need to get there, and results to
 * get to what propagation chose for them. */
#include <string.h>

#include "passes/spmd/partition_internal.h"

const AxisSharding *factor_axes_project(Partitioner *partitioner, const FactorAxes *factors,
                                        const FactorMapping *mapping, AxisMask manual) {
  Arena *arena = partitioner->builder.arena;
  AxisSharding *sharding = axis_sharding_replicated(arena, mapping->rank, manual);
  AxisList *dims = ARENA_NEW_ARRAY(arena, AxisList, mapping->rank);
  for (int d = 0; d < mapping->rank; d++) {
    for (int i = 0; i < mapping->dims[d].count; i++)
      dims[d] = axis_lists_join(arena, dims[d], factors->axes[mapping->dims[d].factors[i]]);
  }
  sharding->dims = dims;
  return sharding;
}

const AxisSharding *factor_axes_beside_result(Partitioner *partitioner, const HloInstruction *old,
                                              const FactorAxes *factors, const FactorMapping *mapping) {
  return factor_axes_project(partitioner, factors, mapping, spmd_result(partitioner, old, 0)->wanted->manual);
}

const AxisSharding *factor_axes_of_result(Partitioner *partitioner, const HloInstruction *old,
                                          const FactorAxes *factors) {
  return factor_axes_beside_result(partitioner, old, factors, &factors->rule->results[0]);
}

static bool any_mapping_has(const FactorMapping *mappings, int count, int factor) {
  int dim, place;
  for (int i = 0; i < count; i++) {
    if (factor_find(&mappings[i], factor, &dim, &place)) return true;
  }
  return false;
}

AxisMask factor_axes_partial(const FactorAxes *factors) {
  const ShardingRule *rule = factors->rule;
  AxisMask partial = 0;
  for (int f = 0; f < rule->factor_count; f++) {
    if (rule->factors[f].kind == FACTOR_REDUCTION && !any_mapping_has(rule->results, rule->result_count, f))
      partial |= axis_list_mask(factors->axes[f]);
  }
  return partial;
}

/* --- candidates --- */

/* An operand or a result leaf, with a sharding to begin from. */
typedef struct FactorSource {
  const FactorMapping *mapping;
  const AxisSharding *sharding;
} FactorSource;

typedef struct FactorSearch {
  Partitioner *partitioner;
  const HloInstruction *old;
  const ShardingRule *rule;
  SpmdValue *const *operands;
  const void *context;     /* of |own| */
  FactorBytes *own;        /* NULL: nothing, and PERMUTATION factors stay whole */
  const bool *must_divide; /* by factor: sharding_rule_full_factors */
  FactorSource *sources;   /* the results, then the operands */
  int source_count;
  AxisMask used;
  FactorAxes current, best;
  double best_work;
} FactorSearch;

static bool may_divide(const FactorSearch *search, const Factor *factor) {
  return factor->kind == FACTOR_PASS || factor->kind == FACTOR_REDUCTION ||
         (factor->kind == FACTOR_PERMUTATION && search->own != NULL);
}

/* How many of |axes| factor |f| takes: as many as nothing else is divided along, and as fit its size. */
static int axes_that_fit(const FactorSearch *search, int f, AxisList axes) {
  const Factor *factor = &search->rule->factors[f];
  int64_t tiles = axis_list_size(search->partitioner->builder.mesh, search->current.axes[f]);
  int count = 0;
  for (; count < axes.count; count++) {
    if (search->used >> axes.axes[count] & 1) break;
    tiles *= search->partitioner->builder.mesh->sizes[axes.axes[count]];
    if (tiles > factor->size || (search->must_divide[f] && factor->size % tiles != 0)) break;
  }
  return count;
}

/* The factors of one dimension take its axes, the slowest first; the next one only when the one before is divided to
 * the end. */
static void absorb_dim(FactorSearch *search, const FactorList *factors, AxisList axes) {
  Arena *arena = search->partitioner->builder.arena;
  const SpmdMesh *mesh = search->partitioner->builder.mesh;
  for (int i = 0; i < factors->count && axes.count > 0; i++) {
    int f = factors->factors[i];
    AxisList *has = &search->current.axes[f];
    if (!may_divide(search, &search->rule->factors[f]) || !axis_list_starts_with(axes, *has)) return;
    axes = axis_list_part(axes, has->count, axes.count - has->count);
    int count = axes_that_fit(search, f, axes);
    AxisList taken = axis_list_part(axes, 0, count);
    *has = axis_lists_join(arena, *has, taken);
    search->used |= axis_list_mask(taken);
    axes = axis_list_part(axes, count, axes.count - count);
    if (axis_list_size(mesh, *has) != search->rule->factors[f].size) return;
  }
}

static void absorb(FactorSearch *search, const FactorSource *source) {
  if (source->sharding == NULL) return;
  for (int d = 0; d < source->mapping->rank; d++)
    absorb_dim(search, &source->mapping->dims[d], source->sharding->dims[d]);
}

/* The axes of a source that its own dimensions cannot keep divide another factor, where one takes them all: shards are
 * moved from a dimension that has to be whole (a sort's) to one that has not. */
static void displace(FactorSearch *search, const FactorSource *source) {
  Arena *arena = search->partitioner->builder.arena;
  if (source->sharding == NULL) return;
  AxisList left = axis_mask_list(arena, axis_sharding_mask(source->sharding) & ~search->used);
  for (int f = 0; f < search->rule->factor_count && left.count > 0; f++) {
    if (search->rule->factors[f].kind != FACTOR_PASS || axes_that_fit(search, f, left) < left.count) continue;
    AxisList all = axis_lists_join(arena, search->current.axes[f], left);
    if (search->rule->factors[f].size % axis_list_size(search->partitioner->builder.mesh, all) != 0) continue;
    search->current.axes[f] = all;
    search->used |= axis_list_mask(left);
    return;
  }
}

/* A faster factor of a dimension can be divided only where all slower ones are to the end: elsewhere its parts are no
 * run of the dimension. */
static bool drop_faster(FactorSearch *search, const FactorMapping *mapping) {
  bool changed = false;
  for (int d = 0; d < mapping->rank; d++) {
    bool is_open = true;
    for (int k = 0; k < mapping->dims[d].count; k++) {
      int f = mapping->dims[d].factors[k];
      AxisList *axes = &search->current.axes[f];
      if (!is_open && axes->count > 0) {
        *axes = (AxisList){0};
        changed = true;
      }
      is_open &= axis_list_size(search->partitioner->builder.mesh, *axes) == search->rule->factors[f].size;
    }
  }
  return changed;
}

static void settle(FactorSearch *search) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (int i = 0; i < search->rule->operand_count; i++) changed |= drop_faster(search, &search->rule->operands[i]);
    for (int i = 0; i < search->rule->result_count; i++) changed |= drop_faster(search, &search->rule->results[i]);
  }
}

static double work_of(const FactorSearch *search) {
  double work = 1;
  for (int f = 0; f < search->rule->factor_count; f++) {
    int64_t tiles = axis_list_size(search->partitioner->builder.mesh, search->current.axes[f]);
    int64_t size = search->rule->factors[f].size;
    work *= (double)(size / tiles + (size % tiles != 0));
  }
  return work;
}

static double bytes_of(const FactorSearch *search) {
  Partitioner *partitioner = search->partitioner;
  const ShardingRule *rule = search->rule;
  double bytes = search->own != NULL ? search->own(partitioner, search->old, &search->current, search->context) : 0;
  if (rule->result_count > 0 && bytes < SPMD_IMPOSSIBLE) bytes /= spmd_result(partitioner, search->old, 0)->rounds;
  for (int i = 0; i < rule->operand_count; i++) {
    const SpmdValue *value = search->operands[i];
    if (value->wanted == NULL) continue;
    const AxisSharding *to =
        factor_axes_project(partitioner, &search->current, &rule->operands[i], value->wanted->manual);
    bytes += spmd_value_bytes(partitioner, value, to) / value->rounds;
  }
  AxisMask partial = factor_axes_partial(&search->current);
  for (int i = 0; i < rule->result_count; i++) {
    const SpmdValue *value = spmd_result(partitioner, search->old, i);
    if (value->wanted == NULL) continue;
    const AxisSharding *from =
        factor_axes_project(partitioner, &search->current, &rule->results[i], value->wanted->manual);
    if (partial == 0 && axis_shardings_equal(from, value->wanted)) continue;
    bytes += spmd_reshard_bytes(partitioner->builder.graph.scratch, partitioner->builder.mesh, value->whole, from,
                                partial, value->wanted) /
             value->rounds;
  }
  return bytes;
}

static void begin_candidate(FactorSearch *search) {
  search->used = 0;
  search->current.axes = ARENA_NEW_ARRAY(search->partitioner->builder.arena, AxisList, search->rule->factor_count + 1);
}

static bool equals_best(const FactorSearch *search) {
  for (int f = 0; f < search->rule->factor_count && search->best.axes != NULL; f++) {
    if (!axis_lists_equal(search->current.axes[f], search->best.axes[f])) return false;
  }
  return search->best.axes != NULL;
}

static void end_candidate(FactorSearch *search) {
  settle(search);
  if (equals_best(search)) return;
  double bytes = bytes_of(search), work = work_of(search);
  bool is_better = search->best.axes == NULL || bytes < search->best.bytes ||
                   (bytes == search->best.bytes && work < search->best_work);
  if (!is_better) return;
  search->best = search->current;
  search->best.bytes = bytes;
  search->best_work = work;
}

static void add_sources(FactorSearch *search) {
  Partitioner *partitioner = search->partitioner;
  const ShardingRule *rule = search->rule;
  int count = 0, most = rule->result_count;
  for (int i = 0; i < rule->operand_count; i++) {
    most++;
    for (const SpmdForm *form = search->operands[i]->forms; form != NULL; form = form->next) most++;
  }
  search->sources = ARENA_NEW_ARRAY(partitioner->builder.arena, FactorSource, most + 1);
  for (int i = 0; i < rule->result_count; i++)
    search->sources[count++] = (FactorSource){&rule->results[i], spmd_result(partitioner, search->old, i)->wanted};
  for (int i = 0; i < rule->operand_count; i++) {
    const SpmdValue *value = search->operands[i];
    const SpmdForm *form = value->old != NULL ? NULL : value->forms;
    if (value->old != NULL) search->sources[count++] = (FactorSource){&rule->operands[i], value->wanted};
    for (; form != NULL; form = form->next)
      search->sources[count++] = (FactorSource){&rule->operands[i], form->sharding};
  }
  search->source_count = count;
}

/* Enough for what operations have; those with very many operands try the first ones first. */
enum { MOST_FIRST_SOURCES = 8 };

FactorAxes factor_axes_choose_of(Partitioner *partitioner, const HloInstruction *old, const ShardingRule *rule,
                                 SpmdValue *const *operands, FactorBytes *own, const void *context) {
  FactorSearch search = {.partitioner = partitioner,
                         .old = old,
                         .rule = rule,
                         .operands = operands,
                         .own = own,
                         .context = context,
                         .must_divide = sharding_rule_full_factors(partitioner->builder.arena, old, rule),
                         .current.rule = rule};
  add_sources(&search);
  for (int first = 0; first < search.source_count && first < MOST_FIRST_SOURCES; first++) {
    begin_candidate(&search);
    absorb(&search, &search.sources[first]);
    AxisList *alone =
        ARENA_COPY_ARRAY(partitioner->builder.arena, AxisList, search.current.axes, rule->factor_count + 1);
    for (int i = 0; i < search.source_count; i++) {
      if (i != first) absorb(&search, &search.sources[i]);
    }
    end_candidate(&search);
    search.current.axes = alone;
    end_candidate(&search);
    begin_candidate(&search);
    absorb(&search, &search.sources[first]);
    displace(&search, &search.sources[first]);
    end_candidate(&search);
  }
  begin_candidate(&search);
  end_candidate(&search);
  return search.best;
}

FactorAxes factor_axes_choose(Partitioner *partitioner, const HloInstruction *old, const ShardingRule *rule,
                              FactorBytes *own) {
  SpmdValue **operands = ARENA_NEW_ARRAY(partitioner->builder.arena, SpmdValue *, old->operand_count + 1);
  for (int i = 0; i < old->operand_count; i++) operands[i] = spmd_operand(partitioner, old, i);
  return factor_axes_choose_of(partitioner, old, rule, operands, own, NULL);
}
