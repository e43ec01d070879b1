/* HloPassPipeline: passes in order, with what is done around each: invariant checks, dumps, statistics, time. */
#ifndef XLAC_PASSES_PIPELINE_HLO_PASS_PIPELINE_H
#define XLAC_PASSES_PIPELINE_HLO_PASS_PIPELINE_H

#include "passes/pipeline/rewrite_log.h"

typedef struct HloPassPipeline HloPassPipeline;

/* One row per pass run. */
typedef struct HloPassStatistics {
  const HloPass *pass;
  int round; /* of a fixpoint group, from 0 */
  bool changed;
  double begin, seconds; /* of monotonic_seconds */
  int64_t instructions_before, instructions_after;
} HloPassStatistics;

typedef struct HloPipelineObserver {
  void *context;
  /* Before and after each pass; |number| counts pass runs from HloPipelineOptions.first_number.  STATUS other than OK
   * stops the pipeline.  Either may be NULL. */
  Status (*before)(void *context, int number, const HloPass *pass, const HloModule *module);
  Status (*after)(void *context, int number, const HloPass *pass, const HloModule *module, bool changed);
} HloPipelineObserver;

typedef struct HloPipelineOptions {
  HloPassOptions pass_options;
  int first_number; /* of the first pass, for observers */
  bool verify;      /* hlo_verify after each changing pass, and "said unchanged but the hash moved" */
  const HloPipelineObserver *observer; /* may be NULL */
  int disabled_count;
  const StringView *disabled; /* pass names to skip */
  bool has_limit;             /* --pass-limit: optional passes take at most |limit| steps (rewrite_log.h) */
  int64_t limit;
} HloPipelineOptions;

HloPassPipeline *hlo_pass_pipeline_create(Arena *arena, const char *name);
void hlo_pass_pipeline_add(HloPassPipeline *pipeline, const HloPass *pass);
/* The same for a pass without which code can be made as well: a limit of steps counts and stops it. */
void hlo_pass_pipeline_add_optional(HloPassPipeline *pipeline, const HloPass *pass);
/* A group that is repeated until nothing changes, at most |max_rounds| times; add passes to the result. */
HloPassPipeline *hlo_pass_pipeline_add_fixpoint(HloPassPipeline *pipeline, const char *name, int max_rounds);

MUST_USE Status hlo_pass_pipeline_run(HloPassPipeline *pipeline, HloModule *module, const HloPipelineOptions *options,
                                      DiagSink *diag, bool *out_changed);
const HloPassStatistics *hlo_pass_pipeline_statistics(const HloPassPipeline *pipeline, int64_t *out_count);
/* What the passes decided about memory, in the module's arena; NULL when none of them did, or the module was changed
 * afterwards. */
BufferAssignment *hlo_pass_pipeline_assignment(const HloPassPipeline *pipeline);
/* What was done for less memory; NULL when memory-reducer did not run. */
const MemoryReduction *hlo_pass_pipeline_reduction(const HloPassPipeline *pipeline);
/* What the passes counted; empty before the run. */
const HloRewriteLog *hlo_pass_pipeline_rewrites(const HloPassPipeline *pipeline);

/* The standard compilation: from a verified module to one that is fused, scheduled and has its BufferAssignment. */
HloPassPipeline *hlo_standard_pipeline(Arena *arena, const HloPassOptions *options);
/* The last part of it, which makes code and memory of a module that is simplified: fusion, copies, order, places. */
HloPassPipeline *hlo_planning_pipeline(Arena *arena, const HloPassOptions *options);
/* What the evaluator needs: values that are arrays, not buffers, and no callbacks if they are left out. */
HloPassPipeline *hlo_interpreter_pipeline(Arena *arena, const HloPassOptions *options);

/* Before any other: from a module of whole arrays to one device's program (passes/spmd). */
HloPassPipeline *hlo_spmd_pipeline(Arena *arena, const HloPassOptions *options);

/* Passes by name, comma separated, in the order given.  STATUS_INVALID with did-you-mean for unknown names. */
MUST_USE Status hlo_pipeline_from_names(Arena *arena, StringView names, DiagSink *diag, HloPassPipeline **out_pipeline);

#endif
