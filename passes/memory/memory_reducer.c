/* Pass memory-reducer: while the plan of the module is above what --memory-limit allows, or with --minimize-memory
 * while anything helps, the step that buys most for its price. */
#include "base/checked_math.h"
#include "passes/memory/memory_candidates.h"

enum {
  TRIED_AT_LEAST = 5,        /* candidates of a round, and as many as the effort; of these the best is taken */
  TRIED_WITHOUT_GAIN = 4,    /* times as many if none of them buys anything */
  STEPS_AT_EFFORT_0 = 32000, /* instructions that are planned; twice as many with each effort */
  SCRATCH_STEP = 2,
  SMALLEST_SCRATCH = 1024, /* bytes; below it a limit asks for none */
  SLIGHT_PART = 1024       /* a rise by so small a part of the bytes may be made up for (is_better) */
};

/* A limit of scratch that is a step lower takes so much of the time more (docs/buffer-map.md has what was measured). */
static const double SCRATCH_STEP_TIME = 0.1;

/* What was best and is possible once more, in another layer of a model, is taken at once if it is worth so much of what
 * it was worth then. */
static const double WORTH_AGAIN = 0.75;

/* Fewer parts than were best leave more to further steps: they have to be worth so many times as much. */
static const double CHEAPER_BY = 1.5;

typedef struct Reducer {
  HloPassContext *context;
  HloModule *module;
  Arena *arena; /* of a round */
  MemoryReduction *reduction;
  int64_t limit; /* 0: as little as possible */
  int64_t goal;  /* of the round */
  int effort;
  HloMemoryTuning tuning;
  bool is_eager;          /* a step is worth its bytes, whatever it costs */
  HloSplitScope scope;    /* of splits */
  uint64_t last_likeness; /* of the candidate that was taken last; 0: none was */
  double last_worth;
  int64_t steps; /* that remain */
} Reducer;

/* --- trials --- */

static void plan(Reducer *reducer, MemoryCopy *copy, bool detail, MemoryTrial *out_trial) {
  reducer->reduction->trials++;
  reducer->steps -= 1 + hlo_module_instruction_count(copy->module);
  const MemoryTrialOptions options = {reducer->context, reducer->module, &reducer->tuning, reducer->goal};
  memory_trial_run(&options, copy, detail, reducer->arena, out_trial);
}

/* The module as it is. */
static void plan_module(Reducer *reducer, MemoryTrial *out_trial) {
  Arena *arena = arena_create();
  MemoryCopy copy = memory_copy(reducer->module, arena);
  plan(reducer, &copy, true, out_trial);
  arena_destroy(arena);
}

/* False where the candidate has nothing to do. */
static bool plan_candidate(Reducer *reducer, const MemoryCandidate *candidate, const MemoryTrial *now,
                           MemoryTrial *out_trial) {
  Arena *arena = arena_create();
  MemoryCopy copy = memory_copy(reducer->module, arena);
  bool applied = memory_candidate_apply(candidate, now, &copy, arena);
  if (applied) plan(reducer, &copy, false, out_trial);
  arena_destroy(arena);
  return applied && out_trial->status == STATUS_OK;
}

/* --- what a step is worth --- */

static bool fits(const Reducer *reducer, const MemoryTrial *trial) {
  return reducer->limit > 0 && trial->total_bytes <= reducer->limit;
}

/* By what must be there: how well it is placed depends on much that has nothing to do with the step. */
static bool is_better(const Reducer *reducer, const MemoryTrial *after, const MemoryTrial *before) {
  if (after->status != STATUS_OK) return false;
  if (after->bound_bytes < before->bound_bytes) return true;
  if (after->bound_bytes == before->bound_bytes) return after->over < before->over * 0.999;
  /* What is above a limit at several places falls below it at one of them first, and code for parts may need a little
   * more scratch. */
  bool is_slight = after->bound_bytes <= before->bound_bytes + before->bound_bytes / SLIGHT_PART;
  return reducer->limit > 0 && is_slight && after->over < before->over * 0.75;
}

/* Bytes that are wanted, for seconds: those below the goal do not count. */
static double worth(const Reducer *reducer, const MemoryTrial *after, const MemoryTrial *before) {
  int64_t wanted = max_i64(before->bound_bytes - reducer->goal, 1);
  double bytes = (double)min_i64(before->bound_bytes - after->bound_bytes, wanted);
  double part = before->over > 0 ? 1 - after->over / before->over : 0;
  if (reducer->is_eager) return bytes + (double)wanted * part / 4;
  double seconds = after->work.seconds - before->work.seconds, least = before->work.seconds / 100;
  return (bytes + (double)wanted * part / 4) / ((seconds > 0 ? seconds : 0) + least + 1e-9);
}

static void note_step(Reducer *reducer, MemoryStepKind kind, StringView what, const MemoryTrial *after,
                      const MemoryTrial *before) {
  MemoryReduction *reduction = reducer->reduction;
  MemoryStep step = {.kind = kind,
                     .what = what,
                     .bytes = before->total_bytes - after->total_bytes,
                     .flops = after->work.flops - before->work.flops,
                     .seconds = after->work.seconds - before->work.seconds};
  array_push(&reduction->steps, reducer->module->arena, step);
  reduction->bytes_after = after->total_bytes;
  reduction->bound_bytes = after->bound_bytes;
}

/* --- steps --- */

/* A better order, if more effort finds one. */
static void reorder(Reducer *reducer, MemoryTrial *now) {
  MemoryTrial after;
  if (reducer->tuning.schedule_effort > 0) return;
  reducer->tuning.schedule_effort = reducer->effort;
  plan_module(reducer, &after);
  if (!is_better(reducer, &after, now)) {
    reducer->tuning.schedule_effort = 0;
    return;
  }
  note_step(reducer, MEMORY_STEP_REORDER, SV(""), &after, now);
  *now = after;
}

/* What is chosen of the candidates. */
typedef struct Choice {
  int64_t index; /* -1: none */
  double worth;
  bool is_again; /* what was taken last, elsewhere */
  MemoryTrial after;
} Choice;

/* The candidate that is like the last one, if it is worth about as much. */
static bool choose_again(Reducer *reducer, const MemoryCandidateArray *candidates, const MemoryTrial *now,
                         Choice *out) {
  for (int64_t i = 0; i < candidates->count && reducer->last_likeness != 0; i++) {
    if (candidates->data[i].likeness != reducer->last_likeness) continue;
    *out = (Choice){.index = i, .is_again = true};
    if (!plan_candidate(reducer, &candidates->data[i], now, &out->after) || !is_better(reducer, &out->after, now))
      return false;
    out->worth = worth(reducer, &out->after, now);
    return out->worth >= reducer->last_worth * WORTH_AGAIN;
  }
  return false;
}

/* A split in fewer parts takes less time, and another step may do the rest for less than the last parts would. */
static void choose_fewer_parts(Reducer *reducer, MemoryCandidateArray *candidates, const MemoryTrial *now,
                               Choice *best) {
  MemoryCandidate fewer = candidates->data[best->index];
  if (reducer->is_eager || fewer.kind != MEMORY_STEP_SPLIT) return;
  for (fewer.parts /= 2; fewer.parts >= 2 && reducer->steps > 0; fewer.parts /= 2) {
    MemoryTrial after;
    if (!plan_candidate(reducer, &fewer, now, &after) || !is_better(reducer, &after, now)) return;
    double its_worth = worth(reducer, &after, now);
    if (its_worth < best->worth * CHEAPER_BY) return;
    array_push(candidates, reducer->arena, fewer);
    *best = (Choice){.index = candidates->count - 1, .worth = its_worth, .after = after};
  }
}

/* The best of the first candidates. */
static Choice choose(Reducer *reducer, MemoryCandidateArray *candidates, const MemoryTrial *now) {
  Choice best;
  if (choose_again(reducer, candidates, now, &best)) return best;
  best = (Choice){.index = -1};
  int64_t tried = 0, most = TRIED_AT_LEAST + reducer->effort;
  for (int64_t i = 0; i < candidates->count && reducer->steps > 0; i++) {
    MemoryTrial after;
    if (tried >= most && (best.index >= 0 || tried >= TRIED_WITHOUT_GAIN * most)) break;
    if (!plan_candidate(reducer, &candidates->data[i], now, &after)) continue;
    tried++;
    double its_worth = worth(reducer, &after, now);
    if (!is_better(reducer, &after, now) || (best.index >= 0 && its_worth <= best.worth)) continue;
    best = (Choice){.index = i, .worth = its_worth, .after = after};
  }
  if (best.index >= 0) choose_fewer_parts(reducer, candidates, now, &best);
  return best;
}

static int64_t scratch_at_peak(const MemoryTrial *trial) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < trial->values.count; i++) {
    if (trial->values.data[i].is_scratch) bytes = max_i64(bytes, trial->values.data[i].bytes);
  }
  return bytes;
}

/* What may be left of |scratch| so that the goal is reached, if less of it can do that alone; else half of it. */
static int64_t first_scratch_limit(const Reducer *reducer, const MemoryTrial *now, int64_t scratch) {
  int64_t enough = scratch - (now->total_bytes - reducer->goal);
  return max_i64(enough, scratch / SCRATCH_STEP);
}

/* Limits of scratch from what would be enough, or half of what the peak has: the largest that buys something, if it is
 * worth more than |least_worth|.  The plan knows nothing of its time: what packs less at a time does so more often. */
static bool take_scratch_step(Reducer *reducer, const MemoryTrial *now, double least_worth) {
  const HloMemoryTuning before = reducer->tuning;
  int64_t limit = first_scratch_limit(reducer, now, scratch_at_peak(now));
  double slower = SCRATCH_STEP_TIME;
  for (; limit > 0 && reducer->steps > 0; limit /= SCRATCH_STEP, slower += SCRATCH_STEP_TIME) {
    MemoryTrial after;
    if (limit < SMALLEST_SCRATCH) limit = 1;
    reducer->tuning.scratch_limit = limit;
    reducer->tuning.scratch_total = reducer->goal;
    plan_module(reducer, &after);
    if (!is_better(reducer, &after, now)) continue;
    after.work.seconds += now->work.seconds * slower;
    if (worth(reducer, &after, now) <= least_worth) break;
    StringView what = sv_printf(reducer->module->arena, "at most %lld bytes for a kernel", (long long)limit);
    note_step(reducer, MEMORY_STEP_SCRATCH, what, &after, now);
    return true;
  }
  reducer->tuning = before;
  return false;
}

static MemoryCandidateArray find_candidates(Reducer *reducer, const MemoryTrial *now) {
  int64_t wanted = now->total_bytes - reducer->goal;
  return memory_candidates_find(reducer->module, now, wanted, reducer->scope, reducer->arena);
}

static void apply(Reducer *reducer, const MemoryCandidate *candidate, const MemoryTrial *now, const Choice *choice) {
  reducer->last_likeness = candidate->likeness;
  reducer->last_worth = choice->worth;
  MemoryCopy self = memory_copy_of_itself(reducer->module, reducer->arena);
  StringView what = memory_candidate_text(candidate, &self, reducer->module->arena);
  if (!memory_candidate_apply(candidate, now, &self, reducer->arena))
    XLAC_BUG("a step that was possible in a copy is not in the module");
  note_step(reducer, candidate->kind, what, &choice->after, now);
}

/* One round from the plan |now|; false when nothing helps: neither at the first position where most is alive nor at the
 * last. */
static bool take_step(Reducer *reducer, const MemoryTrial *now) {
  MemoryTrial at = *now;
  MemoryCandidateArray candidates = find_candidates(reducer, &at);
  Choice choice = choose(reducer, &candidates, &at);
  reducer->last_likeness = 0;
  if (!choice.is_again && take_scratch_step(reducer, now, choice.worth)) return true;
  if (choice.index < 0 && at.last_peak != at.peak) {
    at.peak = at.last_peak;
    at.values = at.last_values;
    candidates = find_candidates(reducer, &at);
    choice = choose(reducer, &candidates, &at);
  }
  if (choice.index < 0) return false;
  apply(reducer, &candidates.data[choice.index], &at, &choice);
  return true;
}

static int64_t goal_below(const Reducer *reducer, int64_t total) {
  return reducer->limit > 0 ? reducer->limit : total - total / 16 - 1;
}

/* The module is planned anew after each step, since its instructions are others. */
static void reduce(Reducer *reducer, int64_t total) {
  bool is_changing = true;
  while (is_changing) {
    MemoryTrial now;
    reducer->arena = arena_create();
    /* numbered as its copies are, that the same is planned then */
    reducer->module = hlo_module_clone(reducer->module, reducer->module->arena);
    reducer->goal = goal_below(reducer, total);
    plan_module(reducer, &now);
    bool is_first = reducer->reduction->steps.count == 0;
    if (now.status == STATUS_OK && is_first && !fits(reducer, &now)) reorder(reducer, &now);
    is_changing = now.status == STATUS_OK && !fits(reducer, &now) && reducer->steps > 0 && take_step(reducer, &now);
    bool is_last_resort = !is_changing && now.status == STATUS_OK && !fits(reducer, &now) && !is_first;
    if (is_last_resort) reorder(reducer, &now);
    total = reducer->reduction->bytes_after;
    arena_destroy(reducer->arena);
  }
}

/* Whether the module |a| is to be preferred to |b|: it fits, then it needs less. */
static bool is_preferred(const Reducer *a, const Reducer *b) {
  bool a_fits = a->limit > 0 && a->reduction->bytes_after <= a->limit;
  bool b_fits = b->limit > 0 && b->reduction->bytes_after <= b->limit;
  return a_fits != b_fits ? a_fits : !a_fits && a->reduction->bytes_after < b->reduction->bytes_after;
}

/* The way of cheap steps may end before the goal is reached: then that of large ones is tried from the beginning, and
 * at last both with loops that make again what stands between them. */
static Reducer reduce_copies(const Reducer *start, const MemoryTrial *before) {
  static const struct {
    bool is_eager;
    HloSplitScope scope;
  } ways[] = {{false, HLO_SPLIT_ALL}, {true, HLO_SPLIT_ALL}, {false, HLO_SPLIT_AGAIN}, {true, HLO_SPLIT_AGAIN}};
  Reducer best = *start;
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    Reducer way = *start;
    way.is_eager = ways[i].is_eager;
    way.scope = ways[i].scope;
    way.module = hlo_module_clone(start->module, start->module->arena);
    way.reduction = ARENA_NEW(start->module->arena, MemoryReduction);
    *way.reduction = *start->reduction;
    way.reduction->trials = best.reduction->trials;
    way.steps = best.steps;
    reduce(&way, before->total_bytes);
    best.steps = way.steps;
    best.reduction->trials = way.reduction->trials;
    if (is_preferred(&way, &best)) best = way;
    if (best.limit > 0 && best.reduction->bytes_after <= best.limit) break;
  }
  return best;
}

static bool is_rewrite(MemoryStepKind kind) {
  return kind == MEMORY_STEP_REMATERIALISE || kind == MEMORY_STEP_SPLIT;
}

static Status run_memory_reducer(HloPassContext *context, HloModule *module, bool *out_changed) {
  const HloPassOptions *options = context->options;
  Reducer reducer = {.context = context, .module = module, .arena = context->scratch};
  reducer.effort = options->effort > 0 ? options->effort : HLO_DEFAULT_EFFORT;
  reducer.limit = options->minimizes_memory ? 0 : options->memory_limit;
  reducer.goal = reducer.limit;
  reducer.steps = (int64_t)STEPS_AT_EFFORT_0 << reducer.effort;
  if (options->keeps_text_order || (reducer.limit <= 0 && !options->minimizes_memory)) return STATUS_OK;
  reducer.reduction = ARENA_NEW(module->arena, MemoryReduction);
  MemoryTrial before;
  plan_module(&reducer, &before);
  if (before.status != STATUS_OK) return STATUS_OK; /* whatever is wrong, the passes that follow say so */
  reducer.reduction->bytes_before = reducer.reduction->bytes_after = before.total_bytes;
  reducer.reduction->bound_bytes = before.bound_bytes;
  context->reduction = reducer.reduction;
  if (fits(&reducer, &before)) return STATUS_OK;
  Reducer best = reduce_copies(&reducer, &before);
  best.reduction->is_exhausted = best.steps <= 0;
  context->reduction = best.reduction;
  context->tuning = best.tuning;
  for (int64_t i = 0; i < best.reduction->steps.count; i++)
    *out_changed |= is_rewrite(best.reduction->steps.data[i].kind);
  if (*out_changed) hlo_module_take(module, best.module);
  return STATUS_OK;
}

const char *memory_step_kind_text(MemoryStepKind kind) {
  static const char *const texts[MEMORY_STEP_KIND_COUNT] = {"reorder", "rematerialise", "split", "less scratch"};
  return texts[kind];
}

const HloPass hlo_memory_reducer_pass = {
    "memory-reducer",
    "reorder, rematerialise, split and pack less until memory is below --memory-limit, or as low as it gets",
    run_memory_reducer, false};
