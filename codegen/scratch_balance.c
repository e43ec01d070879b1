#include "codegen/scratch_balance.h"

#include "hlo/analysis/execution_counts.h"
#include "hlo/analysis/module_work.h"

/* Of one that has vectors, its arrays in a cache. */
static const CoreRates core_rates = {5e10, 2e10, 1e-7};
/* Of a loop that ends when it has found something: what is before it runs once. */
static const double unknown_rounds = 20;

const double *scratch_balance_shares(Arena *arena, const HloModule *module, const KernelTable *kernels) {
  double *shares = ARENA_NEW_ARRAY(arena, double, kernels->identity_count + 1), total = 0;
  const double *times = hlo_execution_counts(arena, module, unknown_rounds);
  for (int64_t r = 0; r < kernels->rows.count; r++) {
    const KernelUses *row = &kernels->rows.data[r];
    double seconds = times[row->instruction->parent->id] * instruction_seconds(row->instruction, &core_rates);
    total += seconds;
    for (int32_t i = 0; i < row->count; i++) shares[row->uses[i].identity] += seconds / row->count;
  }
  for (int32_t k = 0; k < kernels->identity_count && total > 0; k++) shares[k] /= total;
  return shares;
}

static void choose(const ScratchBalance *balance, const VecTarget *target, int32_t kernel, ContractionScratch limit,
                   KernelStrategy *out_strategy) {
  kernel_strategy_choose(balance->uses[kernel]->kernel, target, limit, balance->arena, out_strategy);
}

/* Of the module's time, what it would take more with few bytes for |strategy|. */
static double bought(const ScratchBalance *balance, int32_t kernel, const KernelStrategy *strategy) {
  if (balance->shares[kernel] == 0) return 0;
  double times = 1;
  if (strategy->form == KERNEL_FORM_CONTRACTION)
    times = contraction_bought_time(strategy->contraction, balance->limits[kernel]);
  if (strategy->form == KERNEL_FORM_WINOGRAD) times = winograd_bought_time(strategy->winograd);
  return times > 1 ? balance->shares[kernel] * (times - 1) : 0;
}

static void take_few(const ScratchBalance *balance, const VecTarget *target, KernelStrategy *strategies) {
  double more = 0;
  for (int32_t k = 0; k < balance->count; k++) more += bought(balance, k, &strategies[k]);
  if (more == 0 || more >= CONTRACTION_BOUGHT_TIME - 1) return;
  for (int32_t k = 0; k < balance->count; k++) {
    if (bought(balance, k, &strategies[k]) == 0) continue;
    ContractionScratch limit = balance->limits[k];
    limit.most = contraction_few_bytes(limit);
    choose(balance, target, k, limit, &strategies[k]);
  }
}

void scratch_balance_choose(const ScratchBalance *balance, const VecTarget *target, KernelStrategy *out_strategies) {
  for (int32_t k = 0; k < balance->count; k++) choose(balance, target, k, balance->limits[k], &out_strategies[k]);
  take_few(balance, target, out_strategies);
}
