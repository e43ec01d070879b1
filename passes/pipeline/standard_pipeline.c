#include "passes/pipeline/hlo_pass_pipeline.h"

/* The passes that a module goes through, in their order, and why that order. */

enum { SIMPLIFY_ROUNDS = 8 };

HloPassPipeline *hlo_interpreter_pipeline(Arena *arena, const HloPassOptions *options) {
  HloPassPipeline *pipeline = hlo_pass_pipeline_create(arena, "interpreter");
  hlo_pass_pipeline_add(pipeline, &hlo_buffer_expander_pass);
  if (options->callbacks == HLO_CALLBACKS_IGNORE) hlo_pass_pipeline_add(pipeline, &hlo_callback_expander_pass);
  return pipeline;
}

/* One function, values instead of tuples of values, one call site per loop body. */
static void add_flattening(HloPassPipeline *pipeline) {
  hlo_pass_pipeline_add(pipeline, &hlo_async_to_sync_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_call_inliner_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_flatten_call_graph_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_tuple_simplifier_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_dce_pass);
}

/* Shardings are of logical dimensions and of what is in arrays, whatever their layout; they spread best where there are
 * no calls.  What an expansion would hide the meaning of (a sort, a transform) is divided before. */
HloPassPipeline *hlo_spmd_pipeline(Arena *arena, const HloPassOptions *options) {
  HloPassPipeline *pipeline = hlo_pass_pipeline_create(arena, "spmd");
  (void)options;
  hlo_pass_pipeline_add(pipeline, &hlo_buffer_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_layout_normalizer_pass);
  add_flattening(pipeline);
  hlo_pass_pipeline_add(pipeline, &hlo_scan_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_batch_norm_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_algebraic_simplifier_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_spmd_partitioner_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_dce_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_collective_cse_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_collective_code_motion_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_collective_cse_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_collective_combiner_pass);
  return pipeline;
}

static bool optimises(const HloPassOptions *options) {
  return options->opt_level > 0 && !options->keeps_text_order;
}

static void add_planning(HloPassPipeline *pipeline, const HloPassOptions *options) {
  if (optimises(options)) {
    if (!machine_has_buffer(options->machine)) hlo_pass_pipeline_add_optional(pipeline, &hlo_while_fusion_pass);
    if (machine_takes_lines(options->machine)) hlo_pass_pipeline_add_optional(pipeline, &hlo_line_fusion_pass);
    hlo_pass_pipeline_add_optional(pipeline, &hlo_fusion_pass);
    hlo_pass_pipeline_add_optional(pipeline, &hlo_row_fusion_pass);
    if (machine_takes_tiles(options->machine)) hlo_pass_pipeline_add_optional(pipeline, &hlo_tile_fusion_pass);
    hlo_pass_pipeline_add_optional(pipeline, &hlo_multi_output_fusion_pass);
    hlo_pass_pipeline_add_optional(pipeline, &hlo_unread_results_pass);
    if (!machine_has_buffer(options->machine)) hlo_pass_pipeline_add_optional(pipeline, &hlo_result_repetition_pass);
    if (!machine_has_buffer(options->machine)) hlo_pass_pipeline_add_optional(pipeline, &hlo_short_rows_pass);
    hlo_pass_pipeline_add_optional(pipeline, &hlo_cse_pass);
    hlo_pass_pipeline_add_optional(pipeline, &hlo_dce_pass);
    /* All passes before take a collective for one instruction that stays what it is. */
    if (!machine_has_buffer(options->machine)) hlo_pass_pipeline_add_optional(pipeline, &hlo_async_collectives_pass);
  }

  if (options->opt_level > 0 && options->keeps_text_order) {
    /* A producer goes into its consumer's place; whatever else runs stays where it is. */
    hlo_pass_pipeline_add_optional(pipeline, &hlo_fusion_pass);
    hlo_pass_pipeline_add_optional(pipeline, &hlo_dce_pass);
  }

  /* Copies are instructions, so they come before the order, unless it is given; where values live follows from both. */
  if (options->keeps_text_order) hlo_pass_pipeline_add(pipeline, &hlo_scheduler_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_copy_insertion_pass);
  if (!options->keeps_text_order) hlo_pass_pipeline_add(pipeline, &hlo_scheduler_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_buffer_assignment_pass);
}

HloPassPipeline *hlo_planning_pipeline(Arena *arena, const HloPassOptions *options) {
  HloPassPipeline *pipeline = hlo_pass_pipeline_create(arena, "planning");
  add_planning(pipeline, options);
  return pipeline;
}

/* The order is the documentation: what a module goes through between the verifier and code generation. */
HloPassPipeline *hlo_standard_pipeline(Arena *arena, const HloPassOptions *options) {
  HloPassPipeline *pipeline = hlo_pass_pipeline_create(arena, "standard");
  bool optimise = optimises(options);

  /* Inside the module it is ours to choose where a buffer lives and which layout an array has. */
  hlo_pass_pipeline_add(pipeline, &hlo_buffer_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_layout_normalizer_pass);

  add_flattening(pipeline);

  /* Operations that code generation does not take, in terms of those it does. */
  hlo_pass_pipeline_add(pipeline, &hlo_marker_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_collective_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_scan_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_untyped_lapack_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_onednn_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_linear_algebra_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_random_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_dot_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_topk_expander_pass);
  if (machine_has_buffer(options->machine)) hlo_pass_pipeline_add(pipeline, &hlo_sort_expander_pass);
  if (machine_has_buffer(options->machine)) hlo_pass_pipeline_add(pipeline, &hlo_select_and_scatter_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_batch_norm_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_dynamic_size_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_dimension_size_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_fft_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_map_inliner_pass);

  if (optimise) {
    HloPassPipeline *simplify = hlo_pass_pipeline_add_fixpoint(pipeline, "simplify", SIMPLIFY_ROUNDS);
    hlo_pass_pipeline_add_optional(simplify, &hlo_constant_folding_pass);
    hlo_pass_pipeline_add_optional(simplify, &hlo_algebraic_simplifier_pass);
    hlo_pass_pipeline_add_optional(simplify, &hlo_tuple_simplifier_pass);
    hlo_pass_pipeline_add_optional(simplify, &hlo_while_simplifier_pass);
    hlo_pass_pipeline_add_optional(simplify, &hlo_while_invariant_code_motion_pass);
    hlo_pass_pipeline_add_optional(simplify, &hlo_while_unroller_pass);
    hlo_pass_pipeline_add_optional(simplify, &hlo_conditional_simplifier_pass);
    hlo_pass_pipeline_add_optional(simplify, &hlo_conditional_code_motion_pass);
    hlo_pass_pipeline_add_optional(simplify, &hlo_cse_pass);
    hlo_pass_pipeline_add_optional(simplify, &hlo_dce_pass);
    /* What it turns, rules of the next round absorb; users that are dead already would seem to want the old layout. */
    hlo_pass_pipeline_add_optional(simplify, &hlo_layout_assignment_pass);
    hlo_pass_pipeline_add_optional(simplify, &hlo_convolution_operands_pass);
    if (!machine_has_buffer(options->machine)) hlo_pass_pipeline_add_optional(simplify, &hlo_convolution_layout_pass);
  }

  /* Branches that are never taken are gone now, and what they call. */
  hlo_pass_pipeline_add(pipeline, &hlo_callback_expander_pass);

  /* Computations from which branches and loops could not be taken run in loops, as often as they are applied. */
  hlo_pass_pipeline_add(pipeline, &hlo_applied_expander_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_flatten_call_graph_pass);

  /* Rules that look through concatenations have seen them whole; what is fused from here on is one loop. */
  hlo_pass_pipeline_add(pipeline, &hlo_concatenate_expander_pass);

  /* Scatters that are something else have become it.  The rows of a table that it reads are not merged with those that
   * were looked up long before: they would be kept until then. */
  if (optimise) hlo_pass_pipeline_add_optional(pipeline, &hlo_row_updater_pass);

  /* Rules that merge folds have seen them whole.  A Buffer's commands have one order: nothing runs beside them. */
  if (optimise && !machine_has_buffer(options->machine))
    hlo_pass_pipeline_add_optional(pipeline, &hlo_fold_splitter_pass);
  /* It takes memory for cycles. */
  bool reduces = options->memory_limit > 0 || options->minimizes_memory;
  if (optimise && machine_has_buffer(options->machine) && !reduces)
    hlo_pass_pipeline_add_optional(pipeline, &hlo_window_splitter_pass);

  /* Barriers have done their work once common subexpressions are merged: only now do they go. */
  hlo_pass_pipeline_add(pipeline, &hlo_forward_elimination_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_tuple_simplifier_pass);
  hlo_pass_pipeline_add(pipeline, &hlo_dce_pass);

  if (optimise && !machine_has_buffer(options->machine))
    hlo_pass_pipeline_add_optional(pipeline, &hlo_weight_panels_pass);

  /* What is left is what runs; what fixed parameters alone decide is computed before. */
  if (options->fixed_count > 0) hlo_pass_pipeline_add(pipeline, &hlo_prepare_pass);

  /* It tries what the rest would make of the module. */
  if (reduces && optimise) hlo_pass_pipeline_add(pipeline, &hlo_memory_reducer_pass);

  add_planning(pipeline, options);
  return pipeline;
}
