#include "compiler/compilation.h"

#include "base/monotonic_clock.h"
#include "codegen/oncore/language/written_plans.h"
#include "compiler/program.h"
#include "hlo/infer/device_check.h"
#include "hlo/infer/hlo_verifier.h"
#include "hlo/ir/device_groups.h"
#include "parser/hlo_parser.h"
#include "parser/hlo_parts.h"

void compilation_init(Compilation *compilation, Arena *arena, const CompilationOptions *options, DiagSink *diag) {
  *compilation = (Compilation){.options = *options, .arena = arena, .diag = diag};
  compilation->shapes = shape_table_create(arena);
  compilation->phases.arena = arena;
}

static Status begin(const Compilation *compilation, const char *what, const char *name) {
  const CompilationProgress *progress = compilation->options.progress;
  return progress != NULL ? progress->begins(progress->context, what, name) : STATUS_OK;
}

/* --- the module --- */

Status compilation_parse(Compilation *compilation, const SourceFile *source) {
  double start = monotonic_seconds();
  RETURN_IF_ERROR(begin(compilation, "reading the module", NULL));
  compilation->source = source;
  RETURN_IF_ERROR(
      hlo_parse_module(compilation->arena, compilation->shapes, source, compilation->diag, &compilation->module));
  phase_times_end(&compilation->phases, "parse", start);
  return STATUS_OK;
}

Status compilation_verify(Compilation *compilation) {
  double start = monotonic_seconds();
  Status status = hlo_verify(compilation->module, compilation->diag);
  if (status == STATUS_OK) status = hlo_verify_transfers_end(compilation->module, compilation->diag);
  phase_times_end(&compilation->phases, "verify", start);
  return status;
}

/* Shardings that a partitioner is to follow may be for another number of devices than there are; collectives not. */
Status compilation_count_devices(Compilation *compilation) {
  bool is_divided = !hlo_module_is_to_be_partitioned(compilation->module);
  CompilationOptions *options = &compilation->options;
  bool says_how_many =
      options->partitions > 0 || device_counts_total(hlo_module_device_counts(compilation->module)) > 1;
  if (!is_divided && !says_how_many) options->partitions = options->processes;
  if (!is_divided) RETURN_IF_ERROR(compilation_verify(compilation));
  RETURN_IF_ERROR(hlo_set_device_count(compilation->module, compilation->options.partitions, compilation->diag));
  return is_divided || options->partitions > 0 ? compilation_verify(compilation) : STATUS_OK;
}

Status compilation_load(Compilation *compilation, const SourceFile *source) {
  RETURN_IF_ERROR(compilation_parse(compilation, source));
  RETURN_IF_ERROR(compilation_count_devices(compilation));
  if (!compilation->options.keeps_whole || !hlo_module_is_whole(compilation->module))
    RETURN_IF_ERROR(compilation_partition(compilation));
  return hlo_check_devices(compilation->module, compilation->diag);
}

Status compilation_parse_sharding(Compilation *compilation, StringView label, StringView text,
                                  const HloSharding **out_sharding) {
  SourceFile *file = ARENA_NEW(compilation->arena, SourceFile);
  *file = (SourceFile){label, text};
  Arena *scratch = arena_create();
  HloParts parts;
  HloAttr attr;
  hlo_parts_init(&parts, compilation->module, scratch, compilation->diag);
  Status status = hlo_parts_attribute(&parts, HLO_ATTR_SHARDING, file, &attr);
  arena_destroy(scratch);
  *out_sharding = status == STATUS_OK ? attr.value.sharding : NULL;
  return status;
}

void compilation_take_module(Compilation *compilation, HloModule *module) {
  compilation->shapes = module->shapes;
  compilation->module = module;
}

/* --- what memory planning has to know of code --- */

/* What the description says of the processor; the command line's options are checked before any work. */
static Status check_machine(const Compilation *compilation) {
  const MachineDescription *machine = compilation->options.machine;
  return machine == NULL || machine_is_host(machine) ? STATUS_OK : llvm_check_machine(machine, compilation->diag);
}

static CodeDraft new_draft(const Compilation *compilation, Arena *arena) {
  const CompilationOptions *options = &compilation->options;
  return (CodeDraft){.arena = arena,
                     .target = {.mcpu = options->mcpu,
                                .mattr = options->mattr,
                                .opt_level = options->opt_level,
                                .machine = options->machine,
                                .fast_math = options->fast_math,
                                .flush_denormals = options->flush_denormals,
                                .pool = options->pool},
                     .tiler = {.pipeline_depth = options->pipeline_depth,
                               .effort = options->effort,
                               .no_residency = options->has_no_residency,
                               .threads = (int32_t)options->threads,
                               .scheme = options->scheme},
                     .is_strict = options->is_strict_oncore,
                     .has_scratch_limit = options->has_scratch_limit,
                     .scratch_limit = options->scratch_limit,
                     .plans_detail = options->plans_detail};
}

/* What a copy needs, written plans aside: they name Kernels of the module itself. */
static Status begin_trial(Compilation *compilation, const HloModule *copy, const HloScratchLimit *limit,
                          DiagSink *diag) {
  compilation->trial = new_draft(compilation, copy->arena);
  compilation->trial.plans_detail = PLANS_ALONE;
  return code_draft_measure(&compilation->trial, copy, limit, diag);
}

static Status begin_scratch(void *self, const HloModule *module, const HloScratchLimit *limit, DiagSink *diag) {
  Compilation *compilation = self;
  RETURN_IF_ERROR(check_machine(compilation));
  if (module != compilation->module) return begin_trial(compilation, module, limit, diag);
  RETURN_IF_ERROR(compilation_make_kernels(compilation));
  RETURN_IF_ERROR(compilation_make_plans(compilation));
  return code_draft_measure(&compilation->draft, module, limit, diag);
}

static HloScratch scratch_of(void *self, const HloInstruction *instruction) {
  const Compilation *compilation = self;
  bool is_trial = instruction->parent->module != compilation->module;
  return code_draft_scratch(is_trial ? &compilation->trial : &compilation->draft, instruction);
}

/* --- passes --- */

static Status before_pass(void *self, int number, const HloPass *pass, const HloModule *module) {
  const Compilation *compilation = self;
  const HloPipelineObserver *observer = compilation->options.pass_observer;
  RETURN_IF_ERROR(begin(compilation, "running pass", pass->name));
  if (observer == NULL || observer->before == NULL) return STATUS_OK;
  return observer->before(observer->context, number, pass, module);
}

static Status after_pass(void *self, int number, const HloPass *pass, const HloModule *module, bool changed) {
  const HloPipelineObserver *observer = ((const Compilation *)self)->options.pass_observer;
  if (observer == NULL || observer->after == NULL) return STATUS_OK;
  return observer->after(observer->context, number, pass, module, changed);
}

static void note_decision(void *self, const char *pass, const HloInstruction *producer, const HloInstruction *consumer,
                          bool taken, const char *reason) {
  Compilation *compilation = self;
  CompilationDecision decision = {pass, producer->name, consumer->name, taken, reason};
  array_push(&compilation->decisions, compilation->arena, decision);
}

static void note_fusion(void *self, const FusedInstruction *fused) {
  Compilation *compilation = self;
  array_push(&compilation->fusions, compilation->arena, *fused);
}

/* The passes to run; NULL in |out_pipeline|: none. */
static Status choose_passes(const Compilation *compilation, const HloPassOptions *pass_options,
                            HloPassPipeline **out_pipeline) {
  const CompilationOptions *options = &compilation->options;
  *out_pipeline = NULL;
  if (compilation->program != NULL)
    return hlo_pipeline_from_names(compilation->arena, SV(PROGRAM_PASSES), compilation->diag, out_pipeline);
  if (options->has_pass_names)
    return hlo_pipeline_from_names(compilation->arena, options->pass_names, compilation->diag, out_pipeline);
  if (options->passes == COMPILATION_PASSES_STANDARD)
    *out_pipeline = hlo_standard_pipeline(compilation->arena, pass_options);
  if (options->passes == COMPILATION_PASSES_INTERPRETER)
    *out_pipeline = hlo_interpreter_pipeline(compilation->arena, pass_options);
  return STATUS_OK;
}

static Status check_schedule(const Compilation *compilation) {
  const HloModule *module = compilation->module;
  if (!compilation->options.keeps_text_order || module->is_scheduled) return STATUS_OK;
  return diag_error(compilation->diag, STATUS_INVALID, module->loc, "schedule",
                    "'--schedule=keep' is for modules with 'is_scheduled=true'");
}

/* What passes call back, and what they are told. */
typedef struct PassCallbacks {
  HloScratchModel scratch;
  HloDecisionObserver decisions;
  HloPipelineObserver observer;
} PassCallbacks;

static HloPipelineOptions pipeline_options(Compilation *compilation, PassCallbacks *callbacks) {
  const CompilationOptions *options = &compilation->options;
  bool are_recorded = options->records_decisions || options->plans != NULL; /* written plans name what was fused */
  *callbacks = (PassCallbacks){.scratch = {compilation, begin_scratch, scratch_of},
                               .decisions = {compilation, note_decision, note_fusion},
                               .observer = {compilation, before_pass, after_pass}};
  return (HloPipelineOptions){.pass_options = {.opt_level = options->opt_level,
                                               .fast_math = options->fast_math,
                                               .excess_precision = options->excess_precision,
                                               .memory_limit = options->memory_limit,
                                               .minimizes_memory = options->minimizes_memory,
                                               .effort = options->effort,
                                               .keeps_text_order = options->keeps_text_order,
                                               .machine = options->machine,
                                               .callbacks = options->callbacks,
                                               .fixed_count = options->fixed_count,
                                               .fixed = options->fixed,
                                               .scratch = options->without_code ? NULL : &callbacks->scratch,
                                               .decisions = are_recorded ? &callbacks->decisions : NULL},
                              .first_number = compilation->passes_run,
                              .verify = options->verifies_each,
                              .observer = &callbacks->observer,
                              .disabled_count = options->disabled_count,
                              .disabled = options->disabled,
                              .has_limit = options->has_pass_limit,
                              .limit = options->pass_limit};
}

/* The leaves of |shape| from |out| on, which is returned after the last. */
static const Shape **add_leaves(const Shape *shape, const Shape **out) {
  for (int node = 0; node < shape_node_count(shape); node++) {
    if (!shape_is_tuple(shape_node(shape, node))) *out++ = shape_node(shape, node);
  }
  return out;
}

static WholeShapes whole_shapes(const Compilation *compilation) {
  const HloComputation *entry = compilation->module->entry;
  int64_t count = 0;
  for (int64_t i = 0; i < entry->parameters.count; i++) count += shape_leaf_count(entry->parameters.data[i]->shape);
  const Shape **parameters = ARENA_NEW_ARRAY(compilation->arena, const Shape *, count + 1), **next = parameters;
  const Shape **results = ARENA_NEW_ARRAY(compilation->arena, const Shape *, shape_leaf_count(entry->root->shape) + 1);
  for (int64_t i = 0; i < entry->parameters.count; i++) next = add_leaves(entry->parameters.data[i]->shape, next);
  add_leaves(entry->root->shape, results);
  return (WholeShapes){parameters, results};
}

/* Before the first passes: results are known to callers by it. */
static void note_result_name(HloModule *module) {
  if (module->result_name.size == 0) module->result_name = module->entry->root->name;
}

Status compilation_partition(Compilation *compilation) {
  HloModule *module = compilation->module;
  note_result_name(module);
  if (module->num_partitions <= 1 || !hlo_module_is_to_be_partitioned(module)) return STATUS_OK;
  double start = monotonic_seconds();
  compilation->whole = whole_shapes(compilation);
  module->is_whole = true;
  PassCallbacks callbacks;
  HloPipelineOptions options = pipeline_options(compilation, &callbacks);
  options.has_limit = false;
  HloPassPipeline *pipeline = hlo_spmd_pipeline(compilation->arena, &options.pass_options);
  bool changed;
  Status status = hlo_pass_pipeline_run(pipeline, module, &options, compilation->diag, &changed);
  int64_t passes;
  hlo_pass_pipeline_statistics(pipeline, &passes);
  compilation->passes_run = (int)passes;
  phase_times_end(&compilation->phases, "partition", start);
  return status;
}

Status compilation_run_passes(Compilation *compilation) {
  double start = monotonic_seconds();
  compilation->draft = new_draft(compilation, compilation->arena);
  note_result_name(compilation->module);
  compilation->result_sharding = hlo_instruction_sharding(compilation->module->entry->root);
  PassCallbacks callbacks;
  HloPipelineOptions options = pipeline_options(compilation, &callbacks);
  RETURN_IF_ERROR(check_schedule(compilation));
  RETURN_IF_ERROR(choose_passes(compilation, &options.pass_options, &compilation->pipeline));
  if (compilation->pipeline == NULL) return STATUS_OK;
  bool changed;
  Status status =
      hlo_pass_pipeline_run(compilation->pipeline, compilation->module, &options, compilation->diag, &changed);
  compilation->assignment = hlo_pass_pipeline_assignment(compilation->pipeline);
  phase_times_end(&compilation->phases, "passes", start);
  return status;
}

Status compilation_require_assignment(Compilation *compilation) {
  if (compilation->assignment != NULL) return STATUS_OK;
  return diag_error(compilation->diag, STATUS_INVALID, NO_LOC, "no-assignment",
                    "these passes end without a buffer assignment, which the output needs");
}

/* --- Kernels, plans, code --- */

Status compilation_make_kernels(Compilation *compilation) {
  if (compilation->draft.kernels != NULL) return STATUS_OK;
  double start = monotonic_seconds();
  if (compilation->program != NULL) {
    compilation->draft.kernels = kernel_table_create(compilation->arena);
    program_add_kernel(compilation->program, compilation->draft.kernels);
    return STATUS_OK;
  }
  Status status = code_draft_make_kernels(&compilation->draft, compilation->module, compilation->diag);
  phase_times_end(&compilation->phases, "kernels", start);
  return status;
}

Status compilation_read_plans(Compilation *compilation) {
  const CompilationOptions *options = &compilation->options;
  CodeDraft *draft = &compilation->draft;
  bool has_plans = options->plans != NULL || compilation->program != NULL;
  if (!has_plans || draft->written.count > 0 || !machine_has_buffer(options->machine)) return STATUS_OK;
  RETURN_IF_ERROR(compilation_make_kernels(compilation));
  double start = monotonic_seconds();
  Status status;
  if (compilation->program != NULL) {
    status = written_plans_take_program(compilation->arena, compilation->program->plan, options->machine,
                                        compilation->diag, &draft->written);
  } else {
    const PlannedModule planned = {compilation->module, draft->kernels, options->machine, &draft->tiler};
    const FusedInstructions fused = compilation_fused(compilation);
    status =
        written_plans_load(compilation->arena, &planned, &fused, options->plans, compilation->diag, &draft->written);
  }
  RETURN_IF_ERROR(status);
  phase_times_end(&compilation->phases, "plan file", start);
  return STATUS_OK;
}

/* Arrays that stay in a vector processor's Buffer need memory of their own here: where that is to be as little as can
 * be, they do not. */
static Status keep_arrays(Compilation *compilation) {
  if (compilation->draft.has_kept) return STATUS_OK;
  double start = monotonic_seconds();
  const CompilationOptions *options = &compilation->options;
  BufferAssignment *assignment = compilation->assignment;
  int64_t room = options->minimizes_memory ? 0 : INT64_MAX;
  if (options->memory_limit > 0)
    room = options->memory_limit - buffer_assignment_outside_bytes(assignment) - assignment->workspace_bytes;
  Status status = code_draft_keep(&compilation->draft, compilation->module, assignment, room, compilation->diag);
  phase_times_end(&compilation->phases, "residents", start);
  return status;
}

Status compilation_make_plans(Compilation *compilation) {
  CodeDraft *draft = &compilation->draft;
  if (draft->plans != NULL && compilation->assignment != NULL) return keep_arrays(compilation);
  if (draft->plans != NULL || !machine_has_buffer(compilation->options.machine)) return STATUS_OK;
  RETURN_IF_ERROR(compilation_make_kernels(compilation));
  RETURN_IF_ERROR(compilation_read_plans(compilation));
  const SourceFile *file = compilation->options.plans;
  if (compilation->program != NULL)
    RETURN_IF_ERROR(program_check_runs(compilation->program, compilation->diag));
  else if (file != NULL)
    RETURN_IF_ERROR(written_plans_check_used(&draft->written, file, compilation->diag));
  written_plans_warn(&draft->written, compilation->diag);
  double start = monotonic_seconds();
  RETURN_IF_ERROR(begin(compilation, "making plans", NULL));
  Status status = code_draft_make_plans(draft, compilation->module, compilation->diag);
  phase_times_end(&compilation->phases, "plans", start);
  return status == STATUS_OK && compilation->assignment != NULL ? keep_arrays(compilation) : status;
}

Status compilation_generate(Compilation *compilation) {
  const CompilationOptions *options = &compilation->options;
  XLAC_CHECK(!options->without_code);
  RETURN_IF_ERROR(compilation_require_assignment(compilation));
  RETURN_IF_ERROR(check_machine(compilation));
  RETURN_IF_ERROR(compilation_make_kernels(compilation));
  RETURN_IF_ERROR(compilation_make_plans(compilation));
  double start = monotonic_seconds();
  RETURN_IF_ERROR(begin(compilation, "generating code", NULL));
  CodegenOptions codegen = {.entry_name = options->has_entry_name ? options->entry_name : SV(""),
                            .default_name = options->default_name,
                            .output = options->output,
                            .assignment = compilation->assignment,
                            .draft = &compilation->draft,
                            .poison = options->poison,
                            .constants_apart = options->constants_apart,
                            .profile = options->profile,
                            .threads = (int)options->threads};
  Status status =
      codegen_compile(compilation->arena, compilation->module, &codegen, compilation->diag, &compilation->object);
  phase_times_end(&compilation->phases, "codegen", start);
  return status;
}

/* --- outputs as text --- */

static void oncore_text(void *self, StringBuilder *out) {
  module_plans_map_text(out, self);
}

static void oncore_json(void *self, JsonWriter *json) {
  module_plans_map_json(json, self);
}

void compilation_print_map(const Compilation *compilation, ReportFormat format, StringBuilder *out) {
  ReportSection oncore = {compilation->draft.plans, "oncore", oncore_text, oncore_json};
  report_buffer_map(out, compilation->module, compilation->assignment, format,
                    compilation->draft.plans != NULL ? &oncore : NULL);
}

/* What a program's plan names stands before it. */
static void print_section(const Compilation *compilation, StringBuilder *out) {
  if (compilation->program == NULL || compilation->program->section.size == 0) return;
  sb_append(out, compilation->program->section);
  sb_append_cstring(out, "\n");
}

void compilation_print_plans(const Compilation *compilation, StringBuilder *out) {
  print_section(compilation, out);
  codegen_print_plans(compilation->arena, compilation->module, compilation->draft.plans, out);
}

Status compilation_print_plan_template(const Compilation *compilation, StringView name, StringBuilder *out) {
  const FusedInstructions fused = compilation_fused(compilation);
  return module_plans_print_template(compilation->draft.plans, &fused, name, compilation->diag, out);
}

void compilation_print_written_plans(const Compilation *compilation, StringBuilder *out) {
  print_section(compilation, out);
  written_plans_dump(out, &compilation->draft.written, compilation->options.machine);
}

void compilation_print_written_costs(const Compilation *compilation, StringBuilder *out) {
  written_plans_print(out, &compilation->draft.written, compilation->options.machine);
}
