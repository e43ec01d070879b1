#include "compiler/compilation_facts.h"

typedef struct FactList {
  Arena *arena;
  CompilationFacts facts;
} FactList;

static void add(FactList *list, const char *key, const char *text, int64_t value) {
  array_push(&list->facts, list->arena, ((CompilationFact){key, text, value}));
}

static void add_passes(FactList *list, const HloPassPipeline *pipeline) {
  int64_t count, changing = 0;
  const HloPassStatistics *rows = hlo_pass_pipeline_statistics(pipeline, &count);
  for (int64_t i = 0; i < count; i++) changing += rows[i].changed;
  add(list, "passes_run", "passes run", count);
  add(list, "passes_changing", "passes that changed the module", changing);
  if (count > 0) add(list, "instructions_before", "instructions before the passes", rows[0].instructions_before);
}

static void add_memory(FactList *list, const BufferAssignment *assignment) {
  add(list, "allocations", "allocations", assignment->allocation_count);
  add(list, "buffers", "buffers", assignment->buffer_count);
  add(list, "argument_bytes", "argument bytes", assignment->argument_bytes);
  add(list, "result_bytes", "result bytes", assignment->result_bytes);
  add(list, "aliased_bytes", "of them shared with arguments", assignment->aliased_bytes);
  add(list, "constant_bytes", "constant bytes", assignment->constant_bytes);
  add(list, "temporary_bytes", "temporary bytes", assignment->workspace_bytes);
  add(list, "lower_bound_bytes", "lower bound of temporary bytes", assignment->lower_bound_bytes);
}

CompilationFacts compilation_facts(const Compilation *compilation, Arena *arena) {
  FactList list = {.arena = arena};
  if (!compilation->module) return list.facts;
  add(&list, "computations", "computations", compilation->module->computations.count);
  add(&list, "instructions", "instructions", hlo_module_instruction_count(compilation->module));
  if (compilation->pipeline) add_passes(&list, compilation->pipeline);
  if (compilation->object.distinct_kernel_count > 0) {
    add(&list, "kernels", "kernels", compilation->object.kernel_count);
    add(&list, "distinct_kernels", "distinct kernels", compilation->object.distinct_kernel_count);
  }
  if (compilation->assignment) add_memory(&list, compilation->assignment);
  return list.facts;
}
