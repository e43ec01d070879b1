#include "passes/pipeline/hlo_pass_pipeline.h"

/* The passes that a module goes through, in their order, and why that order. */

enum { SIMPLIFY_ROUNDS = 8 };

/* When a step is there: where all that it names holds. */
enum {
  OPTIMISED = 1 << 0,    /* from -O1 on, in an order that xlac chooses */
  TEXT_ORDER = 1 << 1,   /* instructions run in the order of the text */
  OWN_ORDER = 1 << 2,    /* in one that xlac chooses */
  TEXT_FUSED = 1 << 3,   /* from -O1 on, in the order of the text */
  HOST = 1 << 4,         /* the target is the host */
  BUFFER = 1 << 5,       /* … or a machine with an on-core Buffer, … */
  LINES = 1 << 6,        /* … for which operations on whole lines are fused, … */
  TILES = 1 << 7,        /* … or products with what is done to their tiles */
  LESS_MEMORY = 1 << 8,  /* less memory is asked for */
  ANY_MEMORY = 1 << 9,   /* it is not */
  FIXED = 1 << 10,       /* some parameters are the same in every run */
  NO_CALLBACKS = 1 << 11 /* calls of the host are left out */
};

typedef struct PipelineStep {
  const HloPass *pass;
  unsigned when;
  bool is_optional; /* code can be made without it as well: --pass-limit counts and stops it */
} PipelineStep;

static unsigned conditions_of(const HloPassOptions *options) {
  const MachineDescription *machine = options->machine;
  unsigned conditions = options->keeps_text_order ? TEXT_ORDER : OWN_ORDER;
  if (options->opt_level > 0) conditions |= options->keeps_text_order ? TEXT_FUSED : OPTIMISED;
  conditions |= machine_has_buffer(machine) ? BUFFER : HOST;
  if (machine_takes_lines(machine)) conditions |= LINES;
  if (machine_takes_tiles(machine)) conditions |= TILES;
  conditions |= options->memory_limit > 0 || options->minimizes_memory ? LESS_MEMORY : ANY_MEMORY;
  if (options->fixed_count > 0) conditions |= FIXED;
  if (options->callbacks == HLO_CALLBACKS_IGNORE) conditions |= NO_CALLBACKS;
  return conditions;
}

static void add_steps(HloPassPipeline *pipeline, const PipelineStep *steps, size_t count,
                      const HloPassOptions *options) {
  unsigned conditions = conditions_of(options);
  for (size_t s = 0; s < count; s++) {
    if ((steps[s].when & ~conditions) != 0) continue;
    if (steps[s].is_optional)
      hlo_pass_pipeline_add_optional(pipeline, steps[s].pass);
    else
      hlo_pass_pipeline_add(pipeline, steps[s].pass);
  }
}

#define ADD_STEPS(pipeline, steps, options) add_steps(pipeline, steps, sizeof(steps) / sizeof *(steps), options)

/* Inside the module it is ours to choose where a buffer lives and which layout an array has. */
static const PipelineStep normalisation[] = {{&hlo_buffer_expander_pass, 0, false},
                                             {&hlo_layout_normalizer_pass, 0, false}};

/* One function, values instead of tuples of values, one call site per loop body. */
static const PipelineStep flattening[] = {{&hlo_async_to_sync_pass, 0, false},
                                          {&hlo_call_inliner_pass, 0, false},
                                          {&hlo_flatten_call_graph_pass, 0, false},
                                          {&hlo_tuple_simplifier_pass, 0, false},
                                          {&hlo_dce_pass, 0, false}};

/* What an expansion would hide the meaning of (a sort, a transform) is divided before. */
static const PipelineStep partitioning[] = {{&hlo_scan_expander_pass, 0, false},
                                            {&hlo_batch_norm_expander_pass, 0, false},
                                            {&hlo_algebraic_simplifier_pass, 0, false},
                                            {&hlo_spmd_partitioner_pass, 0, false},
                                            {&hlo_dce_pass, 0, false},
                                            {&hlo_collective_cse_pass, 0, false},
                                            {&hlo_collective_code_motion_pass, 0, false},
                                            {&hlo_collective_cse_pass, 0, false},
                                            {&hlo_collective_combiner_pass, 0, false}};

/* Operations that code generation does not take, in terms of those it does. */
static const PipelineStep expansion[] = {{&hlo_marker_expander_pass, 0, false},
                                         {&hlo_collective_expander_pass, 0, false},
                                         {&hlo_scan_expander_pass, 0, false},
                                         {&hlo_untyped_lapack_expander_pass, 0, false},
                                         {&hlo_onednn_expander_pass, 0, false},
                                         {&hlo_linear_algebra_expander_pass, 0, false},
                                         {&hlo_random_expander_pass, 0, false},
                                         {&hlo_dot_expander_pass, 0, false},
                                         {&hlo_topk_expander_pass, 0, false},
                                         {&hlo_sort_expander_pass, BUFFER, false},
                                         {&hlo_select_and_scatter_expander_pass, BUFFER, false},
                                         {&hlo_batch_norm_expander_pass, 0, false},
                                         {&hlo_dynamic_size_expander_pass, 0, false},
                                         {&hlo_dimension_size_expander_pass, 0, false},
                                         {&hlo_fft_expander_pass, 0, false},
                                         {&hlo_map_inliner_pass, 0, false}};

/* In rounds, until nothing changes. */
static const PipelineStep simplification[] = {
    {&hlo_constant_folding_pass, OPTIMISED, true},
    {&hlo_algebraic_simplifier_pass, OPTIMISED, true},
    {&hlo_tuple_simplifier_pass, OPTIMISED, true},
    {&hlo_while_simplifier_pass, OPTIMISED, true},
    {&hlo_while_invariant_code_motion_pass, OPTIMISED, true},
    {&hlo_while_unroller_pass, OPTIMISED, true},
    {&hlo_conditional_simplifier_pass, OPTIMISED, true},
    {&hlo_conditional_code_motion_pass, OPTIMISED, true},
    {&hlo_cse_pass, OPTIMISED, true},
    {&hlo_dce_pass, OPTIMISED, true},
    /* What it turns, rules of the next round absorb; users that are dead already would seem to want the old layout. */
    {&hlo_layout_assignment_pass, OPTIMISED, true},
    {&hlo_convolution_operands_pass, OPTIMISED, true},
    {&hlo_convolution_layout_pass, OPTIMISED | HOST, true}};

/* What waits until the module is simple. */
static const PipelineStep conclusion[] = {
    /* Branches that are never taken are gone now, and what they call. */
    {&hlo_callback_expander_pass, 0, false},
    /* Computations from which branches and loops could not be taken run in loops, as often as they are applied. */
    {&hlo_applied_expander_pass, 0, false},
    {&hlo_flatten_call_graph_pass, 0, false},
    /* Rules that look through concatenations have seen them whole; what is fused from here on is one loop. */
    {&hlo_concatenate_expander_pass, 0, false},
    /* Scatters that are something else have become it.  The rows of a table that it reads are not merged with those
     * that were looked up long before: they would be kept until then. */
    {&hlo_row_updater_pass, OPTIMISED, true},
    /* Rules that merge folds have seen them whole.  A Buffer's commands have one order: nothing runs beside them. */
    {&hlo_fold_splitter_pass, OPTIMISED | HOST, true},
    /* It takes memory for cycles. */
    {&hlo_window_splitter_pass, OPTIMISED | BUFFER | ANY_MEMORY, true},
    /* Barriers have done their work once common subexpressions are merged: only now do they go. */
    {&hlo_forward_elimination_pass, 0, false},
    {&hlo_tuple_simplifier_pass, 0, false},
    {&hlo_dce_pass, 0, false},
    {&hlo_weight_panels_pass, OPTIMISED | HOST, true},
    /* What is left is what runs; what fixed parameters alone decide is computed before. */
    {&hlo_prepare_pass, FIXED, false},
    /* It tries what the rest would make of the module. */
    {&hlo_memory_reducer_pass, OPTIMISED | LESS_MEMORY, false}};

static const PipelineStep planning[] = {
    {&hlo_while_fusion_pass, OPTIMISED | HOST, true},
    {&hlo_line_fusion_pass, OPTIMISED | LINES, true},
    {&hlo_fusion_pass, OPTIMISED, true},
    {&hlo_row_fusion_pass, OPTIMISED, true},
    {&hlo_tile_fusion_pass, OPTIMISED | TILES, true},
    {&hlo_multi_output_fusion_pass, OPTIMISED, true},
    {&hlo_unread_results_pass, OPTIMISED, true},
    {&hlo_result_repetition_pass, OPTIMISED | HOST, true},
    {&hlo_short_rows_pass, OPTIMISED | HOST, true},
    {&hlo_cse_pass, OPTIMISED, true},
    {&hlo_dce_pass, OPTIMISED, true},
    /* All passes before take a collective for one instruction that stays what it is. */
    {&hlo_async_collectives_pass, OPTIMISED | HOST, true},
    /* A producer goes into its consumer's place; whatever else runs stays where it is. */
    {&hlo_fusion_pass, TEXT_FUSED, true},
    {&hlo_dce_pass, TEXT_FUSED, true},
    /* Copies are instructions, so they come before the order, unless it is given; where values live follows from both.
     */
    {&hlo_scheduler_pass, TEXT_ORDER, false},
    {&hlo_copy_insertion_pass, 0, false},
    {&hlo_scheduler_pass, OWN_ORDER, false},
    {&hlo_buffer_assignment_pass, 0, false}};

static const PipelineStep interpretation[] = {{&hlo_buffer_expander_pass, 0, false},
                                              {&hlo_callback_expander_pass, NO_CALLBACKS, false}};

HloPassPipeline *hlo_interpreter_pipeline(Arena *arena, const HloPassOptions *options) {
  HloPassPipeline *pipeline = hlo_pass_pipeline_create(arena, "interpreter");
  ADD_STEPS(pipeline, interpretation, options);
  return pipeline;
}

/* Shardings are of logical dimensions and of what is in arrays, whatever their layout; they spread best where there are
 * no calls. */
HloPassPipeline *hlo_spmd_pipeline(Arena *arena, const HloPassOptions *options) {
  HloPassPipeline *pipeline = hlo_pass_pipeline_create(arena, "spmd");
  ADD_STEPS(pipeline, normalisation, options);
  ADD_STEPS(pipeline, flattening, options);
  ADD_STEPS(pipeline, partitioning, options);
  return pipeline;
}

HloPassPipeline *hlo_planning_pipeline(Arena *arena, const HloPassOptions *options) {
  HloPassPipeline *pipeline = hlo_pass_pipeline_create(arena, "planning");
  ADD_STEPS(pipeline, planning, options);
  return pipeline;
}

HloPassPipeline *hlo_standard_pipeline(Arena *arena, const HloPassOptions *options) {
  HloPassPipeline *pipeline = hlo_pass_pipeline_create(arena, "standard");
  ADD_STEPS(pipeline, normalisation, options);
  ADD_STEPS(pipeline, flattening, options);
  ADD_STEPS(pipeline, expansion, options);
  if ((conditions_of(options) & OPTIMISED) != 0)
    ADD_STEPS(hlo_pass_pipeline_add_fixpoint(pipeline, "simplify", SIMPLIFY_ROUNDS), simplification, options);
  ADD_STEPS(pipeline, conclusion, options);
  ADD_STEPS(pipeline, planning, options);
  return pipeline;
}
