#include "compiler/compilation_facts.h"

#include <math.h>

/* --- what is known: false when it is not --- */

static bool computations(const Compilation *compilation, int64_t *out_value) {
  *out_value = compilation->module->computations.count;
  return true;
}

static bool instructions(const Compilation *compilation, int64_t *out_value) {
  *out_value = hlo_module_instruction_count(compilation->module);
  return true;
}

static const HloPassStatistics *passes(const Compilation *compilation, int64_t *out_count) {
  *out_count = 0;
  return compilation->pipeline != NULL ? hlo_pass_pipeline_statistics(compilation->pipeline, out_count) : NULL;
}

static bool passes_run(const Compilation *compilation, int64_t *out_value) {
  passes(compilation, out_value);
  return compilation->pipeline != NULL;
}

static bool passes_changing(const Compilation *compilation, int64_t *out_value) {
  int64_t count;
  const HloPassStatistics *rows = passes(compilation, &count);
  *out_value = 0;
  for (int64_t i = 0; i < count; i++) *out_value += rows[i].changed;
  return compilation->pipeline != NULL;
}

static bool instructions_before(const Compilation *compilation, int64_t *out_value) {
  int64_t count;
  const HloPassStatistics *rows = passes(compilation, &count);
  if (count > 0) *out_value = rows[0].instructions_before;
  return count > 0;
}

static bool kernels(const Compilation *compilation, int64_t *out_value) {
  int64_t distinct;
  *out_value = code_draft_kernel_count(&compilation->draft, &distinct);
  return compilation->draft.kernels != NULL;
}

static bool distinct_kernels(const Compilation *compilation, int64_t *out_value) {
  code_draft_kernel_count(&compilation->draft, out_value);
  return compilation->draft.kernels != NULL;
}

static bool object_bytes(const Compilation *compilation, int64_t *out_value) {
  *out_value = (int64_t)compilation->object.bytes.size;
  return compilation->options.output == LLVM_OUTPUT_OBJECT && *out_value > 0;
}

static bool oncore_cycles(const Compilation *compilation, int64_t *out_value) {
  const ModulePlans *plans = compilation->draft.plans;
  if (plans == NULL || plans->detail == PLANS_ALONE) return false;
  *out_value = (int64_t)ceil(module_plans_cycles(plans));
  return true;
}

/* Of the buffer assignment's numbers, which are the same in all but the name. */
#define MEMORY_FACT(name, expression)                                    \
  static bool name(const Compilation *compilation, int64_t *out_value) { \
    const BufferAssignment *assignment = compilation->assignment;        \
    *out_value = assignment != NULL ? (expression) : 0;                  \
    return assignment != NULL;                                           \
  }

MEMORY_FACT(allocations, assignment->allocation_count)
MEMORY_FACT(buffers, assignment->buffer_count)
MEMORY_FACT(argument_bytes, assignment->argument_bytes)
MEMORY_FACT(result_bytes, assignment->result_bytes)
MEMORY_FACT(aliased_bytes, assignment->aliased_bytes)
MEMORY_FACT(constant_bytes, assignment->constant_bytes)
MEMORY_FACT(temporary_bytes, assignment->workspace_bytes)
MEMORY_FACT(lower_bound_bytes, assignment->lower_bound_bytes)
MEMORY_FACT(thread_bytes, assignment->scratch_bytes_per_worker)
/* What --memory-limit bounds. */
MEMORY_FACT(total_bytes, buffer_assignment_outside_bytes(assignment) + assignment->workspace_bytes)

static bool prepared_bytes(const Compilation *compilation, int64_t *out_value) {
  const BufferAssignment *assignment = compilation->assignment;
  *out_value = assignment != NULL ? assignment->prepared_bytes : 0;
  return *out_value > 0;
}

/* --- all of them --- */

static const struct {
  const char *key, *text;
  bool (*find)(const Compilation *compilation, int64_t *out_value);
  const char *needs;
} rows[] = {
    {"computations", "computations", computations, "a module"},
    {"instructions", "instructions", instructions, "a module"},
    {"passes_run", "passes run", passes_run, "passes"},
    {"passes_changing", "passes that changed the module", passes_changing, "passes"},
    {"instructions_before", "instructions before the passes", instructions_before, "passes"},
    {"kernels", "kernels", kernels, "code or a plan of it"},
    {"distinct_kernels", "distinct kernels", distinct_kernels, "code or a plan of it"},
    {"object_bytes", "bytes of the object", object_bytes, "an object"},
    {"oncore_cycles", "cycles on the vector processor, of a run", oncore_cycles, "a vector processor"},
    {"allocations", "allocations", allocations, "a memory plan"},
    {"buffers", "buffers", buffers, "a memory plan"},
    {"argument_bytes", "argument bytes", argument_bytes, "a memory plan"},
    {"result_bytes", "result bytes", result_bytes, "a memory plan"},
    {"aliased_bytes", "of them shared with arguments", aliased_bytes, "a memory plan"},
    {"prepared_bytes", "bytes of what is prepared", prepared_bytes, "'--prepare'"},
    {"constant_bytes", "constant bytes", constant_bytes, "a memory plan"},
    {"temporary_bytes", "temporary bytes", temporary_bytes, "a memory plan"},
    {"lower_bound_bytes", "lower bound of temporary bytes", lower_bound_bytes, "a memory plan"},
    {"thread_bytes", "bytes of scratch for each further thread", thread_bytes, "a memory plan"},
    {"total_bytes", "bytes of arguments, results and temporaries", total_bytes, "a memory plan"},
};

enum { FACT_COUNT = sizeof(rows) / sizeof(rows[0]) };

CompilationFacts compilation_facts(const Compilation *compilation, Arena *arena) {
  CompilationFacts facts = {0};
  for (int i = 0; i < FACT_COUNT && compilation->module != NULL; i++) {
    int64_t value;
    if (rows[i].find(compilation, &value))
      array_push(&facts, arena, ((CompilationFact){rows[i].key, rows[i].text, value}));
  }
  return facts;
}

int compilation_fact_count(void) {
  return FACT_COUNT;
}

const char *compilation_fact_key(int fact) {
  return rows[fact].key;
}

const char *compilation_fact_needs(int fact) {
  return rows[fact].needs;
}
