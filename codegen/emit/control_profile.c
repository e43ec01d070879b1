/* How long each instruction takes, exclusive of what it calls: the processor's counter is read after each, and what has
 * passed since the one before counts for it. */
#include "codegen/emit/control_internal.h"

/* The global of numbers: when the latest instruction ended, and one that means nothing; then for each instruction, by
 * id, cycles and runs. */
enum { PROFILE_HEAD = 1, CELL_CYCLES = 0, CELL_RUNS = 1, CELL_COUNT = 2 };

static LLVMTypeRef word_type(const ControlEmitter *control) {
  return LLVMInt64TypeInContext(control->vec->context);
}

static LLVMValueRef cell(const ControlEmitter *control, int64_t row, int number) {
  LLVMValueRef index = LLVMConstInt(word_type(control), (unsigned long long)(row * CELL_COUNT + number), false);
  return LLVMBuildInBoundsGEP2(control->vec->builder, word_type(control), control->profile, &index, 1, "");
}

static LLVMValueRef read_counter(const ControlEmitter *control) {
  static const char name[] = "llvm.readcyclecounter";
  unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(control->vec->module, id, NULL, 0);
  return LLVMBuildCall2(control->vec->builder, LLVMGlobalGetValueType(function), function, NULL, 0, "");
}

static void add_to(const ControlEmitter *control, LLVMValueRef address, LLVMValueRef more) {
  LLVMBuilderRef builder = control->vec->builder;
  LLVMValueRef before = LLVMBuildLoad2(builder, word_type(control), address, "");
  LLVMBuildStore(builder, LLVMBuildAdd(builder, before, more, ""), address);
}

void control_profile_begin(ControlEmitter *control, const char *name) {
  LLVMTypeRef type =
      LLVMArrayType2(word_type(control), (uint64_t)(control->module->next_instruction_id + PROFILE_HEAD) * CELL_COUNT);
  control->profile = LLVMGetNamedGlobal(control->vec->module, name); /* there for another processor's variant */
  if (control->profile == NULL) {
    control->profile = LLVMAddGlobal(control->vec->module, type, name);
    LLVMSetInitializer(control->profile, LLVMConstNull(type));
  }
  control->computes = true;
  LLVMBuildStore(control->vec->builder, read_counter(control), cell(control, 0, CELL_CYCLES));
}

static bool makes_code(const HloInstruction *instruction) {
  EmitFamily family = emit_family(instruction->opcode);
  return family != EMIT_parameter && family != EMIT_constant && family != EMIT_tuple && family != EMIT_forward;
}

void control_profile_after(ControlEmitter *control, const HloInstruction *instruction) {
  if (control->profile == NULL || !makes_code(instruction)) return;
  LLVMBuilderRef builder = control->vec->builder;
  LLVMValueRef now = read_counter(control), last = cell(control, 0, CELL_CYCLES);
  LLVMValueRef before = LLVMBuildLoad2(builder, word_type(control), last, "");
  int64_t row = instruction->id + PROFILE_HEAD;
  add_to(control, cell(control, row, CELL_CYCLES), LLVMBuildSub(builder, now, before, ""));
  add_to(control, cell(control, row, CELL_RUNS), LLVMConstInt(word_type(control), 1, false));
  /* What it takes to count is nobody's. */
  LLVMBuildStore(builder, read_counter(control), last);
}
