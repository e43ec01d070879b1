/* Epilogues in the micro-kernel's registers.
 *
 * Sums that go through memory are stored and loaded once more, and a loop over the rows of a tile holds the next tile
 * up.  What networks do with most products is a few additions, multiplications and bounds: those follow the last step
 * at once, each for all sums before the next. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codegen/blocks/contraction_internal.h"
#include "hlo/type/float_types.h"

/* Beside the sums: a bound and what is compared with it. */
#define LEAST_OTHER_REGISTERS 2
/* Of the depth: each call has more arguments, and of many one gains. */
#define MOST_BLOCKS 16
/* Cycles of a tile beside which it does not matter how it ends: not worth the code where others need a loop all the
 * same. */
#define LONG_TILE 4000
/* What VFIXUPIMM makes of a number: 0 of zeros, of negative ones and of -infinity; others stay.  Four bits each. */
#define NEGATIVE_TO_ZERO UINT64_C(0x08080800)

typedef struct StepInstruction {
  HloOpcode opcode;
  const char *name; /* but for the letters of its type */
  bool commutes, is_extremum;
} StepInstruction;

static const StepInstruction instructions[] = {
    {HLO_ADD, "vadd", true, false},     {HLO_SUBTRACT, "vsub", false, false}, {HLO_MULTIPLY, "vmul", true, false},
    {HLO_DIVIDE, "vdiv", false, false}, {HLO_MAXIMUM, "vmax", false, true},   {HLO_MINIMUM, "vmin", false, true},
};

static const StepInstruction *instruction_of(HloOpcode opcode) {
  for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++)
    if (instructions[i].opcode == opcode) return &instructions[i];
  return NULL;
}

/* --- the form --- */

static uint64_t dims_of(const DimList *list) {
  uint64_t dims = 0;
  for (int i = 0; i < list->count; i++) dims |= UINT64_C(1) << list->dims[i];
  return dims;
}

static bool is_kept(const ContractionBlocking *blocking, int32_t value) {
  for (int i = 0; i < blocking->kept_count; i++)
    if (blocking->kept[i] == value) return true;
  return false;
}

/* A constant, or what is in memory as a step reads it. */
static bool find_source(const Kernel *kernel, const ContractionBlocking *blocking, RegisterStep *step) {
  const KernelValue *value = &kernel->values[step->value];
  uint64_t rows = dims_of(&blocking->rows), columns = dims_of(&blocking->columns);
  if (value->type != blocking->type) return false;
  step->source = SOURCE_COLUMNS;
  if (is_kept(blocking, step->value)) return true;
  step->source = SOURCE_CONSTANT;
  step->bits = value->bits[0];
  if (value->kind == KERNEL_CONSTANT) return true;
  if (value->kind != KERNEL_LOAD || value->predicate >= 0 || kernel->buffers[value->buffer].type != value->type)
    return false;
  step->source = SOURCE_SCALAR;
  if ((value->dims & (rows | columns)) == 0) return true;
  int64_t stride;
  int last = blocking->columns.dims[blocking->columns.count - 1];
  if (!kernel_plain_stride(kernel, value->address, last, &stride) || stride != 1) return false;
  step->source = SOURCE_COLUMNS;
  if ((value->dims & rows) == 0) return true;
  step->source = SOURCE_BESIDE;
  return contraction_row_bytes(kernel, blocking, value->address, value->type) == blocking->result_stride;
}

/* Extrema are by comparison (vec_float.c): NaN of a sum stays, and a bound of 0 wins over the other zero as there. */
static bool is_bound(const ContractionBlocking *blocking, const RegisterStep *step) {
  if (step->source != SOURCE_CONSTANT) return false;
  double bound = float_decode(blocking->type, step->bits);
  return !isnan(bound) && !(step->opcode == HLO_MINIMUM && bound == 0 && signbit(bound));
}

/* |value| made of the sum by what is read at |operand| of its operands; the rest of the chain comes before. */
static bool add_step(const Kernel *kernel, ContractionBlocking *blocking, HloOpcode opcode, int32_t operand,
                     bool is_second) {
  const StepInstruction *instruction = instruction_of(opcode);
  if (blocking->register_step_count == MOST_REGISTER_STEPS || instruction == NULL) return false;
  RegisterStep step = {.opcode = opcode, .is_second = is_second, .value = operand};
  if (!find_source(kernel, blocking, &step)) return false;
  if (instruction->is_extremum && !is_bound(blocking, &step)) return false;
  step.is_second |= instruction->is_extremum;
  blocking->register_steps[blocking->register_step_count++] = step;
  return true;
}

/* By value: whether it is computed from the sum; each is asked once, whatever many read it. */
static bool *find_sums(const Kernel *kernel) {
  bool *has_sum = ARENA_NEW_ARRAY(kernel->arena, bool, kernel->value_count);
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    has_sum[v] = value->kind == KERNEL_ACCUMULATOR;
    for (int i = 0; value->kind == KERNEL_APPLY && i < value->operand_count; i++)
      has_sum[v] |= has_sum[value->operands[i]];
  }
  return has_sum;
}

/* The steps that make |value| of the sum, the first one first. */
static bool add_steps(const Kernel *kernel, const bool *has_sum, ContractionBlocking *blocking, int32_t number) {
  const KernelValue *value = &kernel->values[number];
  if (value->type != blocking->type) return false;
  if (value->kind == KERNEL_ACCUMULATOR) return true;
  if (value->kind != KERNEL_APPLY) return false;
  const int32_t *operands = value->operands;
  if (value->opcode == HLO_CLAMP && has_sum[operands[1]])
    return add_steps(kernel, has_sum, blocking, operands[1]) &&
           add_step(kernel, blocking, HLO_MAXIMUM, operands[0], false) &&
           add_step(kernel, blocking, HLO_MINIMUM, operands[2], false);
  if (value->operand_count != 2) return false;
  int of_sum = has_sum[operands[0]] ? 0 : 1;
  return add_steps(kernel, has_sum, blocking, operands[of_sum]) &&
         add_step(kernel, blocking, value->opcode, operands[1 - of_sum], of_sum == 1);
}

static bool rows_are_whole(const ContractionBlocking *blocking) {
  return blocking->rest_rows > 0 || blocking->rows.size % blocking->tile_rows == 0;
}

static bool tiles_are_whole(const ContractionBlocking *blocking) {
  return !blocking->cut && rows_are_whole(blocking) && blocking->column_run % blocking->panel_width == 0;
}

bool contraction_all_in_registers(const ContractionBlocking *blocking) {
  return blocking->in_registers && blocking->block_count == 1 && tiles_are_whole(blocking);
}

void contraction_choose_registers(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking) {
  const KernelStage *stage = &kernel->stages[1];
  const KernelStore *store = &stage->stores[0];
  bool is_float = blocking->type == TYPE_F32 || blocking->type == TYPE_F64;
  if (stage->store_count != 1 || blocking->rows.count == 0 || blocking->is_turned || !is_float) return;
  if (blocking->in_matrix_unit || (blocking->sums_in_result && blocking->stores_sums)) return;
  if (blocking->block_count > MOST_BLOCKS) return;
  if (!tiles_are_whole(blocking) && blocking->step_cost * (double)blocking->depth.size > LONG_TILE) return;
  if (!contraction_has_assembly(target, blocking, blocking->tile_rows, blocking->panel_vectors)) return;
  if (target->register_count - blocking->tile_rows * blocking->panel_vectors < LEAST_OTHER_REGISTERS) return;
  if (blocking->rows.size < blocking->tile_rows || blocking->column_run < blocking->panel_width) return;
  if (kernel->buffers[store->buffer].type != blocking->type) return;
  blocking->result_stride = contraction_row_bytes(kernel, blocking, store->address, blocking->type);
  if (blocking->result_stride == 0) return;
  blocking->register_step_count = 0;
  blocking->in_registers = add_steps(kernel, find_sums(kernel), blocking, store->value);
}

/* --- around the micro-kernel --- */

/* |begin| + |count| ≤ |size|, of things of which |count| are taken at a time; NULL: always. */
static LLVMValueRef is_whole(const VecBuilder *vec, LLVMValueRef begin, int64_t count, int64_t size) {
  if (size % count == 0) return NULL;
  return LLVMBuildICmp(vec->builder, LLVMIntSLE, begin, block_int(vec, size - count), "");
}

LLVMValueRef contraction_tile_is_whole(const VecBuilder *vec, const ContractionBlocking *blocking, LLVMValueRef row,
                                       LLVMValueRef column) {
  LLVMValueRef by_rows = rows_are_whole(blocking) ? NULL : is_whole(vec, row, blocking->tile_rows, blocking->rows.size);
  LLVMValueRef by_columns = is_whole(vec, column, blocking->panel_width, blocking->column_run);
  if (by_rows == NULL || by_columns == NULL) return by_rows != NULL ? by_rows : by_columns;
  return LLVMBuildAnd(vec->builder, by_rows, by_columns, "");
}

static LLVMValueRef pointer_of(ContractionEmitter *emitter, const RegisterStep *step) {
  const ContractionBlocking *blocking = emitter->blocking;
  for (int i = 0; i < blocking->kept_count && step->source == SOURCE_COLUMNS; i++) {
    if (blocking->kept[i] == step->value)
      return block_element(emitter->vec, TYPE_S8, emitter->kept, block_int(emitter->vec, i * blocking->kept_stride));
  }
  return point_load_pointer(&emitter->point, step->value);
}

void contraction_provide_registers(ContractionEmitter *emitter, LLVMValueRef row, LLVMValueRef column,
                                   MicroCall *call) {
  const ContractionBlocking *blocking = emitter->blocking;
  KernelPoint *point = &emitter->point;
  if (!blocking->in_registers) return;
  int64_t height = point->known.count;
  LLVMValueRef dims[KERNEL_MAX_DIMS];
  memcpy(dims, point->dims, sizeof dims);
  call->store = contraction_result_address(emitter, row, column);
  point->vector_dim = blocking->columns.dims[blocking->columns.count - 1];
  for (int i = 0; i < blocking->register_step_count; i++) {
    const RegisterStep *step = &blocking->register_steps[i];
    if (step->source != SOURCE_CONSTANT) call->read[i] = pointer_of(emitter, step);
  }
  point_forget(point, height);
  memcpy(point->dims, dims, sizeof dims);
}

/* --- in it --- */

/* Sums are the first registers, row by row; |first| follows them. */
typedef struct RegisterText {
  const VecTarget *target;
  const ContractionBlocking *blocking;
  StringBuilder *out;
  const char *suffix; /* of instructions for the type */
  char width;
  int sum_count, first, vector_bytes;
} RegisterText;

/* |bits| in all lanes of register |number|. */
static void append_constant(const RegisterText *text, uint64_t bits, int number) {
  bool is_double = text->blocking->type == TYPE_F64;
  if (bits == 0) {
    sb_printf(text->out, "vpxor%s %%xmm%d, %%xmm%d, %%xmm%d\n", number < 16 ? "" : "d", number, number, number);
    return;
  }
  sb_printf(text->out,
            is_double ? "movabsq $$%llu, %%rax\nvmovq %%rax, %%xmm%d\n" : "movl $$%llu, %%eax\nvmovd %%eax, %%xmm%d\n",
            (unsigned long long)bits, number);
  sb_printf(text->out, "vpbroadcast%c %%xmm%d, %%%cmm%d\n", is_double ? 'q' : 'd', number, text->width, number);
}

/* sum ← max(sum, +0), which is +0 of both zeros, and NaN of NaN. */
static void append_positive_parts(const RegisterText *text) {
  char width = text->width;
  int other = text->first;
  append_constant(text, text->target->has_avx512 ? NEGATIVE_TO_ZERO : 0, other);
  for (int i = 0; i < text->sum_count; i++) {
    if (text->target->has_avx512) {
      sb_printf(text->out, "vfixupimm%s $$0, %%%cmm%d, %%%cmm%d, %%%cmm%d\n", text->suffix, width, other, width, i,
                width, i);
      continue;
    }
    sb_printf(text->out, "vcmpnle%s %%%cmm%d, %%%cmm%d, %%%cmm%d\n", text->suffix, width, other, width, i, width,
              other + 1);
    sb_printf(text->out, "vand%s %%%cmm%d, %%%cmm%d, %%%cmm%d\n", text->suffix, width, other + 1, width, i, width, i);
  }
}

/* What a step does with sum |sum| and register |operand|. */
static void append_with_register(const RegisterText *text, const RegisterStep *step, int sum, int operand) {
  bool sum_last = step->is_second && !instruction_of(step->opcode)->commutes;
  sb_printf(text->out, "%s%s %%%cmm%d, %%%cmm%d, %%%cmm%d\n", instruction_of(step->opcode)->name, text->suffix,
            text->width, sum_last ? sum : operand, text->width, sum_last ? operand : sum, text->width, sum);
}

/* And with memory |place| bytes above %rcx. */
static void append_with_memory(const RegisterText *text, const RegisterStep *step, int sum, int place) {
  if (step->is_second && !instruction_of(step->opcode)->commutes) {
    sb_printf(text->out, "vmovups %d(%%rcx), %%%cmm%d\n", place, text->width, text->first);
    append_with_register(text, step, sum, text->first);
    return;
  }
  sb_printf(text->out, "%s%s %d(%%rcx), %%%cmm%d, %%%cmm%d\n", instruction_of(step->opcode)->name, text->suffix, place,
            text->width, sum, text->width, sum);
}

/* What the columns have in common is loaded once where there are registers for it. */
static void append_columns(const RegisterText *text, const RegisterStep *step) {
  int vectors = text->blocking->panel_vectors;
  bool fits = text->target->register_count - text->sum_count >= vectors;
  for (int j = 0; j < vectors && fits; j++)
    sb_printf(text->out, "vmovups %d(%%rcx), %%%cmm%d\n", j * text->vector_bytes, text->width, text->first + j);
  for (int i = 0; i < text->sum_count; i++) {
    int vector = i % vectors;
    if (fits)
      append_with_register(text, step, i, text->first + vector);
    else
      append_with_memory(text, step, i, vector * text->vector_bytes);
  }
}

static void append_beside(const RegisterText *text, const RegisterStep *step) {
  int vectors = text->blocking->panel_vectors;
  for (int i = 0; i < text->sum_count; i++) {
    if (i > 0 && i % vectors == 0) sb_append_cstring(text->out, "addq %rsi, %rcx\n");
    append_with_memory(text, step, i, i % vectors * text->vector_bytes);
  }
}

static void append_alike(const RegisterText *text, const RegisterStep *step) {
  for (int i = 0; i < text->sum_count; i++) append_with_register(text, step, i, text->first);
}

/* What is read is |place| bytes above the end of the stack. */
static void append_step(const RegisterText *text, const RegisterStep *step, int place) {
  if (step->source == SOURCE_CONSTANT) {
    if (step->opcode == HLO_MAXIMUM && step->bits == 0) {
      append_positive_parts(text);
      return;
    }
    append_constant(text, step->bits, text->first);
    append_alike(text, step);
    return;
  }
  sb_printf(text->out, "movq %d(%%rsp), %%rcx\n", place);
  switch (step->source) {
    case SOURCE_COLUMNS: append_columns(text, step); return;
    case SOURCE_BESIDE: append_beside(text, step); return;
    case SOURCE_CONSTANT:
    case SOURCE_SCALAR:
      sb_printf(text->out, "vbroadcasts%c (%%rcx), %%%cmm%d\n", text->suffix[1], text->width, text->first);
      append_alike(text, step);
      return;
  }
}

static void append_stores(const RegisterText *text) {
  int vectors = text->blocking->panel_vectors;
  for (int i = 0; i < text->sum_count; i++) {
    if (i > 0 && i % vectors == 0) sb_append_cstring(text->out, "addq %rsi, %rdi\n");
    sb_printf(text->out, "vmovups %%%cmm%d, %d(%%rdi)\n", text->width, i, i % vectors * text->vector_bytes);
  }
}

void contraction_append_registers(const VecTarget *target, const ContractionBlocking *blocking, char width, int place,
                                  StringBuilder *out) {
  RegisterText text = {.target = target,
                       .blocking = blocking,
                       .out = out,
                       .suffix = blocking->type == TYPE_F64 ? "pd" : "ps",
                       .width = width,
                       .sum_count = blocking->tile_rows * blocking->panel_vectors,
                       .vector_bytes = blocking->lanes * type_storage_bytes(blocking->type)};
  text.first = text.sum_count;
  sb_printf(out, "movq %d(%%rsp), %%rdi\nmovq %d(%%rsp), %%rsi\n", place, place + 8);
  for (int i = 0; i < blocking->register_step_count; i++)
    append_step(&text, &blocking->register_steps[i], place + 16 + 8 * i);
  append_stores(&text);
}

void contraction_name_registers(const ContractionBlocking *blocking, char *out, size_t size) {
  static const char *const sources[] = {
      [SOURCE_CONSTANT] = "", [SOURCE_SCALAR] = "scalar", [SOURCE_COLUMNS] = "columns", [SOURCE_BESIDE] = "beside"};
  int length = snprintf(out, size, ".%s", contraction_all_in_registers(blocking) ? "finished" : "finishing");
  for (int i = 0; i < blocking->register_step_count; i++) {
    const RegisterStep *step = &blocking->register_steps[i];
    length += snprintf(out + length, size - (size_t)length, ".%s%s%s", instruction_of(step->opcode)->name + 1,
                       step->is_second ? "-" : "", sources[step->source]);
    if (step->source == SOURCE_CONSTANT)
      length += snprintf(out + length, size - (size_t)length, "%llx", (unsigned long long)step->bits);
  }
}
