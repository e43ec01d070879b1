#include "compiler/program.h"

#include <ctype.h>

#include "codegen/kernel/kernel_draft.h"
#include "codegen/oncore/language/plan_parser.h"
#include "compiler/program_operations.h"
#include "compiler/program_text.h"
#include "hlo/infer/hlo_verifier.h"
#include "parser/hlo_parser.h"

bool program_is_named(StringView name) {
  return sv_ends_with(name, SV(".vplan"));
}

/* --- the signature --- */

/* The first view of array |number|, which is all of it; NULL: there is none. */
static const PlanMemory *find_array(const Plan *plan, PlanMemoryKind kind, int32_t number) {
  for (int32_t m = 0; m < plan->memory_count; m++) {
    if (plan->memories[m].kind == kind && plan->memories[m].number == number) return &plan->memories[m];
  }
  return NULL;
}

static void print_shape(StringBuilder *out, const PlanMemory *array) {
  sb_printf(out, "%s[", type_text(array->type));
  for (int32_t i = 0; i < array->rank; i++) sb_printf(out, "%s%lld", i > 0 ? "," : "", (long long)array->extents[i]);
  sb_append_cstring(out, "]");
}

static void print_result(StringBuilder *out, const Plan *plan) {
  bool is_tuple = find_array(plan, PLAN_RESULT, 1) != NULL;
  const PlanMemory *array;
  sb_append_cstring(out, is_tuple ? "(" : "");
  for (int32_t i = 0; (array = find_array(plan, PLAN_RESULT, i)) != NULL; i++) {
    sb_append_cstring(out, i > 0 ? ", " : "");
    print_shape(out, array);
  }
  sb_append_cstring(out, is_tuple ? ")" : "");
}

/* Parameters with a name of their own each, and the names alone after them. */
static void print_parameters(StringBuilder *out, const Plan *plan, const char *prefix) {
  const PlanMemory *array;
  for (int32_t i = 0; (array = find_array(plan, PLAN_ARGUMENT, i)) != NULL; i++) {
    sb_printf(out, "  %s%.*s = ", prefix, SV_ARG(array->name));
    print_shape(out, array);
    sb_printf(out, " parameter(%d)\n", (int)i);
  }
}

static void print_operands(StringBuilder *out, const Plan *plan, const char *prefix) {
  const PlanMemory *array;
  sb_append_cstring(out, "(");
  for (int32_t i = 0; (array = find_array(plan, PLAN_ARGUMENT, i)) != NULL; i++)
    sb_printf(out, "%s%s%.*s", i > 0 ? ", " : "", prefix, SV_ARG(array->name));
  sb_append_cstring(out, ")");
}

/* What no HLO describes is a call that is never made: the Kernel of the fusion around it is the plan's. */
static StringView module_text(Arena *arena, const Plan *plan, StringView module_name, StringView name) {
  StringBuilder text;
  sb_init(&text, arena);
  sb_printf(&text, "HloModule %.*s\n\nplanned {\n", SV_ARG(module_name));
  print_parameters(&text, plan, "of_");
  sb_append_cstring(&text, "  ROOT planned = ");
  print_result(&text, plan);
  sb_append_cstring(&text, " custom-call");
  print_operands(&text, plan, "of_");
  sb_append_cstring(&text, ", custom_call_target=\"xlac.planned\"\n}\n\nENTRY main {\n");
  print_parameters(&text, plan, "");
  sb_printf(&text, "  ROOT %.*s = ", SV_ARG(name));
  print_result(&text, plan);
  sb_append_cstring(&text, " fusion");
  print_operands(&text, plan, "");
  sb_append_cstring(&text, ", kind=kCustom, calls=planned\n}\n");
  return sb_view(&text);
}

static void set_places(HloModule *module, SourceLoc loc) {
  module->loc = loc;
  for (int64_t c = 0; c < module->computations.count; c++) {
    HloComputation *computation = module->computations.data[c];
    computation->loc = loc;
    for (int64_t i = 0; i < computation->instructions.count; i++) computation->instructions.data[i]->loc = loc;
  }
}

/* The file's name without folders and ending, as HLO has names. */
static StringView stem_of(Arena *arena, StringView path) {
  size_t start = 0, end = path.size;
  for (size_t i = 0; i < path.size; i++) {
    if (path.data[i] == '/') start = i + 1;
  }
  if (program_is_named(path)) end -= SV(".vplan").size;
  StringView stem = start < end ? sv_sub(path, start, end - start) : SV("program");
  char *name = ARENA_NEW_ARRAY(arena, char, stem.size + 2);
  name[0] = '_';
  for (size_t i = 0; i < stem.size; i++) name[i + 1] = isalnum((unsigned char)stem.data[i]) ? stem.data[i] : '_';
  bool is_name = !isdigit((unsigned char)name[1]);
  return (StringView){is_name ? name + 1 : name, stem.size + !is_name};
}

static bool has_argument(const Plan *plan, StringView name) {
  for (int32_t m = 0; m < plan->memory_count; m++) {
    if (plan->memories[m].kind == PLAN_ARGUMENT && sv_equal(plan->memories[m].name, name)) return true;
  }
  return false;
}

static Status make_module(Compilation *compilation, const Plan *plan, const SourceFile *source) {
  Arena *arena = compilation->arena;
  StringView stem = stem_of(arena, source->name), name = plan->name.size > 0 ? plan->name : stem;
  if (has_argument(plan, name)) name = sv_printf(arena, "%.*s_plan", SV_ARG(name));
  SourceFile *text = ARENA_NEW(arena, SourceFile);
  *text = (SourceFile){source->name, module_text(arena, plan, stem, name)};
  RETURN_IF_ERROR(hlo_parse_module(arena, compilation->shapes, text, compilation->diag, &compilation->module));
  set_places(compilation->module, (SourceLoc){source, 1, 1});
  return STATUS_OK;
}

/* --- the Kernel --- */

static Status make_kernel(Compilation *compilation, CompilationProgram *program, int32_t *out_arguments) {
  const HloInstruction *instruction = compilation->module->entry->root;
  KernelDraft draft;
  kernel_draft_init(&draft, compilation->arena, instruction);
  for (int32_t i = 0; i < instruction->operand_count; i++) {
    const Shape *shape = instruction->operands[i]->shape;
    KernelBuffer buffer = {KERNEL_OPERAND, shape->type, shape_element_count(shape), i, 0};
    kernel_draft_add_buffer(&draft, buffer);
  }
  bool is_tuple = shape_is_tuple(instruction->shape);
  for (int i = 0; i < (is_tuple ? instruction->shape->tuple_size : 1); i++) {
    const Shape *shape = shape_result(instruction->shape, i);
    int32_t node = is_tuple ? shape_node_child(instruction->shape, 0, i) : 0;
    KernelBuffer buffer = {KERNEL_RESULT, shape->type, shape_element_count(shape), -1, node};
    kernel_draft_add_buffer(&draft, buffer);
  }
  program->instruction = instruction;
  *out_arguments = instruction->operand_count;
  return kernel_draft_finish(&draft, compilation->diag, &program->kernel);
}

void program_add_kernel(const CompilationProgram *program, KernelTable *kernels) {
  kernel_table_add(kernels, program->instruction, &program->kernel, 1);
}

/* --- the plan --- */

static bool computes(const PlanCommand *command) {
  return command->verb != PLAN_LOAD && command->verb != PLAN_STORE && command->verb != PLAN_BARRIER;
}

/* The same plan, of the Kernel, whose results come after its arguments. */
static const Plan *bind_plan(Arena *arena, const Plan *plan, const Kernel *kernel, StringView name, int32_t arguments) {
  Plan *bound = ARENA_NEW(arena, Plan);
  PlanMemory *memories = ARENA_COPY_ARRAY(arena, PlanMemory, plan->memories, plan->memory_count);
  for (int32_t m = 0; m < plan->memory_count; m++) {
    if (memories[m].kind == PLAN_RESULT) memories[m].number += arguments;
  }
  *bound = *plan;
  bound->name = name;
  bound->kernel = kernel;
  bound->memories = memories;
  return bound;
}

static Status make_program(Compilation *compilation, const Plan *plan, const SourceFile *source) {
  CompilationProgram *program = ARENA_NEW(compilation->arena, CompilationProgram);
  int32_t arguments;
  *program = (CompilationProgram){.plan = plan};
  RETURN_IF_ERROR(make_module(compilation, plan, source));
  RETURN_IF_ERROR(make_kernel(compilation, program, &arguments));
  for (int32_t c = 0; c < plan->command_count && !program->is_priced_only; c++) {
    program->is_priced_only = computes(&plan->commands[c]) && plan->commands[c].operation == NULL;
    program->priced_only = plan->commands[c].loc;
  }
  if (!program->is_priced_only)
    program->plan = bind_plan(compilation->arena, plan, program->kernel, program->instruction->name, arguments);
  compilation->program = program;
  return STATUS_OK;
}

static Status load_computations(Compilation *compilation, const SourceFile *source, HloModule **out_module) {
  *out_module = NULL;
  if (source == NULL) return STATUS_OK;
  RETURN_IF_ERROR(hlo_parse_module(compilation->arena, compilation->shapes, source, compilation->diag, out_module));
  return hlo_verify(*out_module, compilation->diag);
}

static Status check_options(const Compilation *compilation) {
  const CompilationOptions *options = &compilation->options;
  const char *what = options->has_pass_names  ? "'--passes' chooses passes, and a program of its own goes through none"
                     : options->plans != NULL ? "'--plan' is for models: a program is its own plan"
                                              : NULL;
  if (what != NULL) return diag_error(compilation->diag, STATUS_INVALID, NO_LOC, "plan-program", "%s", what);
  if (machine_has_buffer(options->machine)) return STATUS_OK;
  return diag_error(compilation->diag, STATUS_INVALID, NO_LOC, "target-host",
                    "plans are for vector processors: name one with --target");
}

Status compilation_load_program(Compilation *compilation, const SourceFile *source) {
  ProgramText text;
  ProgramOperations operations = {.compilation = compilation};
  RETURN_IF_ERROR(check_options(compilation));
  RETURN_IF_ERROR(program_text_split(compilation->arena, source, compilation->diag, &text));
  RETURN_IF_ERROR(load_computations(compilation, text.computations, &operations.computations));
  PlanOperations find = program_operations(&operations);
  PlanFile file;
  RETURN_IF_ERROR(
      plan_parse_program(compilation->arena, text.plan, compilation->options.machine, &find, compilation->diag, &file));
  RETURN_IF_ERROR(make_program(compilation, file.plans[0], source));
  compilation->program->source = source;
  compilation->program->section = text.section;
  return STATUS_OK;
}

Status program_check_runs(const CompilationProgram *program, DiagSink *diag) {
  if (!program->is_priced_only) return STATUS_OK;
  return diag_error(diag, STATUS_INVALID, program->priced_only, "plan-operation",
                    "the command says what it costs, not what it computes: it is priced, but there is no code for it");
}
