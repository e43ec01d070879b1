/* How long chains of sums may grow: a sum of floats loses an ulp or so with each step, and the same way for equal
 * elements, so long chains are cut into shorter ones whose sums are added. */
#include <math.h>

#include "base/checked_math.h"
#include "codegen/emit/emit_internal.h"

bool fold_is_sum(const Kernel *kernel, int fold) {
  const KernelFold *info = &kernel->folds[fold];
  return info->reassociable && !info->is_scan && type_is_float(info->type) &&
         kernel->values[info->next].opcode == HLO_ADD;
}

static bool stage_has_sums(const Kernel *kernel, int stage) {
  for (int f = 0; f < kernel->fold_count; f++) {
    if (kernel->folds[f].stage == stage && fold_is_sum(kernel, f)) return true;
  }
  return false;
}

/* --- strips --- */

#define CHAIN_STEPS 128 /* of a strip, at least: a loop's end costs as much as some steps of it */

/* Steps of the loop over |dim|, and how many indices each of them takes. */
static int64_t dim_steps(const Kernel *kernel, const LoopStrategy *strategy, int dim, int64_t *out_indices) {
  const VectorWalk *walk = &strategy->stage_walks[kernel->dims[dim].stage];
  *out_indices = 1;
  if (walk->dim < 0 && kernel_dim_is_innermost(kernel, dim)) *out_indices = strategy->fold_chains;
  if (walk->dim == dim) *out_indices = walk->parts[0].lanes;
  int64_t extent = walk->dim == dim ? walk->parts[0].end - walk->parts[0].begin : kernel->dims[dim].extent;
  return max_i64(extent / *out_indices, 1);
}

/* From the innermost of the stage's loops on: where a chain would have many steps, as many strips as each has steps. */
static void choose_strips(const Kernel *kernel, int stage, LoopStrategy *strategy) {
  const VectorWalk *walk = &strategy->stage_walks[stage];
  int64_t chain = 1;
  for (int d = kernel->dim_count; d >= 0; d--) {
    int dim = d == kernel->dim_count ? walk->dim : d; /* a vector dim is walked inside of the others */
    if (dim < 0 || kernel->dims[dim].stage != stage || (d == walk->dim && d < kernel->dim_count)) continue;
    int64_t indices, steps = dim_steps(kernel, strategy, dim, &indices);
    if (chain * steps < 2 * CHAIN_STEPS) {
      chain *= steps;
      continue;
    }
    int64_t least = max_i64(CHAIN_STEPS, (int64_t)sqrt((double)chain * (double)steps));
    int64_t strip = min_i64(ceil_div(least, chain), steps);
    strategy->fold_strips[dim] = strip * indices;
    chain = ceil_div(steps, strip);
  }
}

/* --- chains side by side --- */

#define CHAIN_APPLIES 4 /* at most, of a step: a longer one has work while its sum waits for the one before */
#define CHAIN_REGISTERS 2
#define CHAIN_ROWS 256 /* at least: fewer are over before their code is made */

static int64_t innermost_extent(const Kernel *kernel, int stage) {
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == stage && kernel_dim_is_innermost(kernel, d)) return kernel->dims[d].extent;
  }
  return 1;
}

/* Columns so few that each row's would wait for those of the one before. */
static int side_by_side(const Kernel *kernel, const VecTarget *target, const LoopStrategy *strategy) {
  int64_t registers = 0, applies = 0;
  if (strategy->outer_walk.dim < 0 || strategy->sweep.dim >= 0) return 1;
  for (int f = 0; f < kernel->fold_count; f++) {
    const KernelFold *fold = &kernel->folds[f];
    int64_t bits = strategy->outer_walk.parts[0].lanes * type_storage_bytes(fold->type) * 8;
    if (!fold_is_sum(kernel, f) || fold->stage != kernel->folds[0].stage) return 1;
    if (innermost_extent(kernel, fold->stage) < CHAIN_ROWS) return 1;
    registers += ceil_div(bits, target->vector_bits);
  }
  for (int v = 0; v < kernel->value_count; v++)
    applies += kernel->values[v].kind == KERNEL_APPLY && kernel->values[v].stage == kernel->folds[0].stage;
  return registers <= CHAIN_REGISTERS && applies <= CHAIN_APPLIES ? FOLD_MOST_CHAINS : 1;
}

void fold_chains_choose(const Kernel *kernel, const VecTarget *target, LoopStrategy *strategy) {
  strategy->fold_chains = 1;
  if (kernel->fold_count == 0) return;
  strategy->fold_chains = side_by_side(kernel, target, strategy);
  for (int s = 0; s < kernel->stage_count; s++) {
    if (stage_has_sums(kernel, s)) choose_strips(kernel, s, strategy);
  }
}
