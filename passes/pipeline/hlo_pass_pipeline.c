#include "passes/pipeline/hlo_pass_pipeline.h"

#include "base/monotonic_clock.h"
#include "base/nearest_word.h"
#include "hlo/infer/hlo_verifier.h"

/* A pass, or a group of its own. */
typedef struct PipelineStep {
  const HloPass *pass;
  bool is_optional;
  HloPassPipeline *group;
} PipelineStep;

struct HloPassPipeline {
  Arena *arena;
  const char *name;
  int max_rounds; /* of a fixpoint group; 1 otherwise */
  ARRAY(PipelineStep) steps;
  /* of the outermost pipeline only */
  ARRAY(HloPassStatistics) statistics;
  HloRewriteLog rewrites;
  BufferAssignment *assignment;
  const MemoryReduction *reduction;
};

/* What one run of a pipeline shares with its groups. */
typedef struct PipelineRun {
  HloPassPipeline *outermost;
  HloModule *module;
  const HloPipelineOptions *options;
  HloPassContext context;
  int pass_number;
} PipelineRun;

HloPassPipeline *hlo_pass_pipeline_create(Arena *arena, const char *name) {
  HloPassPipeline *pipeline = ARENA_NEW(arena, HloPassPipeline);
  pipeline->arena = arena;
  pipeline->name = name;
  pipeline->max_rounds = 1;
  return pipeline;
}

void hlo_pass_pipeline_add(HloPassPipeline *pipeline, const HloPass *pass) {
  array_push(&pipeline->steps, pipeline->arena, ((PipelineStep){.pass = pass}));
}

void hlo_pass_pipeline_add_optional(HloPassPipeline *pipeline, const HloPass *pass) {
  array_push(&pipeline->steps, pipeline->arena, ((PipelineStep){.pass = pass, .is_optional = true}));
}

HloPassPipeline *hlo_pass_pipeline_add_fixpoint(HloPassPipeline *pipeline, const char *name, int max_rounds) {
  HloPassPipeline *group = hlo_pass_pipeline_create(pipeline->arena, name);
  group->max_rounds = max_rounds;
  array_push(&pipeline->steps, pipeline->arena, ((PipelineStep){.group = group}));
  return group;
}

const HloPassStatistics *hlo_pass_pipeline_statistics(const HloPassPipeline *pipeline, int64_t *out_count) {
  *out_count = pipeline->statistics.count;
  return pipeline->statistics.data;
}

BufferAssignment *hlo_pass_pipeline_assignment(const HloPassPipeline *pipeline) {
  return pipeline->assignment;
}

const MemoryReduction *hlo_pass_pipeline_reduction(const HloPassPipeline *pipeline) {
  return pipeline->reduction;
}

const HloRewriteLog *hlo_pass_pipeline_rewrites(const HloPassPipeline *pipeline) {
  return &pipeline->rewrites;
}

static bool is_disabled(const HloPipelineOptions *options, const HloPass *pass) {
  for (int i = 0; i < options->disabled_count; i++) {
    if (sv_equal_cstring(options->disabled[i], pass->name)) return true;
  }
  return false;
}

/* A module that was valid before a pass and is not after it is our bug, not the user's. */
static void check_invariants(PipelineRun *run, const HloPass *pass, bool changed, uint64_t hash_before) {
  if (!changed) {
    if (hlo_module_hash(run->module) != hash_before)
      XLAC_BUG("pass '%s' changed the module and did not say so", pass->name);
    return;
  }
  DiagSink sink;
  diag_sink_init(&sink, run->context.scratch);
  if (hlo_verify(run->module, &sink) == STATUS_OK) return;
  StringView message = sink.first != NULL ? sink.first->message : SV("no diagnostic");
  XLAC_BUG("pass '%s' left an invalid module: %.*s", pass->name, SV_ARG(message));
}

/* Products that describe the module as it was before a change are dropped, but for what the pass itself has just made.
 */
static void drop_stale_products(PipelineRun *run, const HloPass *pass, bool was_scheduled,
                                const BufferAssignment *assignment_before) {
  if (run->context.assignment != assignment_before) return;
  run->context.assignment = NULL;
  if (was_scheduled && !pass->keeps_schedule) run->module->is_scheduled = false;
}

static Status run_pass(PipelineRun *run, const HloPass *pass, int round, bool *out_changed) {
  HloModule *module = run->module;
  const HloPipelineObserver *observer = run->options->observer;
  int number = run->options->first_number + run->pass_number++;
  *out_changed = false;
  if (observer != NULL && observer->before != NULL) {
    RETURN_IF_ERROR(observer->before(observer->context, number, pass, module));
  }
  uint64_t hash_before = run->options->verify ? hlo_module_hash(module) : 0;
  HloPassStatistics row = {.pass = pass, .round = round, .instructions_before = hlo_module_instruction_count(module)};
  bool was_scheduled = module->is_scheduled;
  const BufferAssignment *assignment_before = run->context.assignment;
  double start = monotonic_seconds();
  RETURN_IF_ERROR(pass->run(&run->context, module, &row.changed));
  row.begin = start;
  row.seconds = monotonic_seconds() - start;
  row.instructions_after = hlo_module_instruction_count(module);
  array_push(&run->outermost->statistics, run->outermost->arena, row);
  if (row.changed) drop_stale_products(run, pass, was_scheduled, assignment_before);
  arena_reset(run->context.scratch);
  if (run->options->verify) check_invariants(run, pass, row.changed, hash_before);
  *out_changed = row.changed;
  if (observer != NULL && observer->after != NULL) {
    RETURN_IF_ERROR(observer->after(observer->context, number, pass, module, row.changed));
  }
  return STATUS_OK;
}

static bool is_due(PipelineRun *run, const PipelineStep *step) {
  run->outermost->rewrites.is_needed = !step->is_optional;
  return !is_disabled(run->options, step->pass) && !rewrite_log_is_exhausted(&run->outermost->rewrites);
}

static Status run_counted(PipelineRun *run, const PipelineStep *step, int round, bool *out_changed) {
  HloRewriteLog *log = &run->outermost->rewrites;
  int64_t steps = log->steps;
  log->pass = step->pass;
  RETURN_IF_ERROR(run_pass(run, step->pass, round, out_changed));
  if (*out_changed && step->is_optional && log->steps == steps) rewrite_log_add(log, NULL, NULL);
  return STATUS_OK;
}

/* Runs the steps in order, again and again up to max_rounds times, and ends as soon as every step in turn has found
 * nothing to do. */
static Status run_steps(PipelineRun *run, HloPassPipeline *pipeline, bool *out_changed) {
  int64_t idle_steps = 0;
  for (int round = 0; round < pipeline->max_rounds; round++) {
    for (int64_t i = 0; i < pipeline->steps.count; i++) {
      const PipelineStep *step = &pipeline->steps.data[i];
      bool changed = false;
      if (step->group != NULL) {
        RETURN_IF_ERROR(run_steps(run, step->group, &changed));
      } else if (is_due(run, step)) {
        RETURN_IF_ERROR(run_counted(run, step, round, &changed));
      }
      *out_changed |= changed;
      idle_steps = changed ? 0 : idle_steps + 1;
      if (round > 0 && idle_steps >= pipeline->steps.count) return STATUS_OK;
    }
    if (idle_steps >= pipeline->steps.count) return STATUS_OK;
  }
  return STATUS_OK;
}

Status hlo_pass_pipeline_run(HloPassPipeline *pipeline, HloModule *module, const HloPipelineOptions *options,
                             DiagSink *diag, bool *out_changed) {
  Arena *scratch = arena_create();
  PipelineRun run = {.outermost = pipeline,
                     .module = module,
                     .options = options,
                     .context = {.scratch = scratch,
                                 .diag = diag,
                                 .options = &options->pass_options,
                                 .rewrites = &pipeline->rewrites,
                                 .tuning = options->pass_options.tuning}};
  rewrite_log_init(&pipeline->rewrites, pipeline->arena, options->has_limit ? options->limit : -1);
  *out_changed = false;
  Status status = run_steps(&run, pipeline, out_changed);
  pipeline->assignment = run.context.assignment;
  pipeline->reduction = run.context.reduction;
  arena_destroy(scratch);
  return status;
}

/* --- pipelines from names --- */

static Status unknown_pass(StringView name, DiagSink *diag) {
  Status status = diag_error(diag, STATUS_INVALID, NO_LOC, "pass-unknown",
                             "there is no pass '%.*s'; '--print-passes' lists them", SV_ARG(name));
  NearestWord nearest = nearest_word_begin(name);
  for (int i = 0; i < hlo_pass_count(); i++) nearest_word_offer(&nearest, sv_from_cstring(hlo_pass_at(i)->name));
  nearest_word_note(&nearest, diag);
  return status;
}

static StringView trim_blanks(StringView text) {
  while (text.size > 0 && text.data[0] == ' ') text = sv_sub(text, 1, text.size - 1);
  while (text.size > 0 && text.data[text.size - 1] == ' ') text.size--;
  return text;
}

Status hlo_pipeline_from_names(Arena *arena, StringView names, DiagSink *diag, HloPassPipeline **out_pipeline) {
  HloPassPipeline *pipeline = hlo_pass_pipeline_create(arena, "named passes");
  Status status = STATUS_OK;
  size_t start = 0;
  for (size_t i = 0; i <= names.size; i++) {
    if (i < names.size && names.data[i] != ',') continue;
    StringView name = trim_blanks(sv_sub(names, start, i - start));
    start = i + 1;
    if (name.size == 0) continue;
    const HloPass *pass = hlo_pass_find(name);
    if (pass != NULL) {
      hlo_pass_pipeline_add_optional(pipeline, pass);
    } else {
      status = unknown_pass(name, diag);
    }
  }
  *out_pipeline = pipeline;
  return status;
}
