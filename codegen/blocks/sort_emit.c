/* The body of a sort: line by line, records are made, sorted, and followed by the elements. */
#include "base/checked_math.h"
#include "codegen/blocks/sort_internal.h"

#define SCRATCH_ALIGNMENT 64
/* So many elements for each thread at least. */
#define ELEMENTS_PER_CHUNK 16384

bool sort_matches(const Kernel *kernel) {
  return kernel_sorting_stage(kernel) >= 0;
}

/* --- lines --- */

static int sorted_dim(const Kernel *kernel) {
  int d = 0;
  while (kernel->dims[d].kind != KERNEL_SORTED) d++;
  return d;
}

static int64_t line_count(const Kernel *kernel) {
  int64_t count = 1;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == KERNEL_OUTER) count *= kernel->dims[d].extent;
  }
  return count;
}

/* Complex numbers need the alignment of their parts only. */
static unsigned element_alignment(LLVMTypeRef type) {
  unsigned bytes = LLVMGetIntTypeWidth(type) / 8;
  return bytes <= 4 ? bytes : 4;
}

/* Stores to the same buffer are the parts of one element. */
static int part_count(const KernelStage *stage, int first) {
  int count = 1;
  while (first + count < stage->store_count && stage->stores[first + count].buffer == stage->stores[first].buffer)
    count++;
  return count;
}

static SortArray array_of(const SortEmitter *emitter, int32_t buffer, IndexExpr address, int parts,
                          const LLVMValueRef *pointers) {
  const Kernel *kernel = emitter->kernel;
  int64_t stride = index_dim_coefficient(&kernel->space, address, sorted_dim(kernel));
  int64_t bits = 8 * type_storage_bytes(kernel->buffers[buffer].type) * parts;
  return (SortArray){.base = pointers[buffer],
                     .address = address,
                     .parts = parts,
                     .stride = stride / parts,
                     .type = LLVMIntTypeInContext(emitter->vec->context, (unsigned)bits)};
}

static void bind_arrays(SortEmitter *emitter, const LLVMValueRef *pointers) {
  const KernelStage *stage = &emitter->kernel->stages[emitter->stage];
  emitter->operands = ARENA_NEW_ARRAY(emitter->arena, SortArray, stage->store_count);
  emitter->results = ARENA_NEW_ARRAY(emitter->arena, SortArray, stage->store_count);
  for (int i = 0, parts; i < stage->store_count; i += parts) {
    const KernelStore *store = &stage->stores[i];
    const KernelValue *value = &emitter->kernel->values[store->value];
    parts = part_count(stage, i);
    int number = emitter->array_count++;
    emitter->operands[number] = array_of(emitter, value->buffer, value->address, parts, pointers);
    emitter->results[number] = array_of(emitter, store->buffer, store->address, parts, pointers);
  }
}

/* The first element of line number |line|, lines being counted in row-major order of the outer dims. */
static void move_to_line(const SortEmitter *emitter, SortArray *array, LLVMValueRef line) {
  LLVMBuilderRef b = emitter->vec->builder;
  const Kernel *kernel = emitter->kernel;
  LLVMValueRef offset = sort_int(emitter, array->address.constant / array->parts);
  for (int d = kernel->dim_count - 1; d >= 0; d--) {
    if (kernel->dims[d].stage != KERNEL_OUTER) continue;
    int64_t stride = index_dim_coefficient(&kernel->space, array->address, d) / array->parts;
    LLVMValueRef extent = sort_int(emitter, kernel->dims[d].extent);
    LLVMValueRef index = LLVMBuildURem(b, line, extent, "");
    offset = LLVMBuildAdd(b, offset, LLVMBuildMul(b, index, sort_int(emitter, stride), ""), "");
    line = LLVMBuildUDiv(b, line, extent, "");
  }
  array->line = LLVMBuildInBoundsGEP2(b, array->type, array->base, &offset, 1, "");
}

/* --- records --- */

/* The record of the element at |position|. */
static LLVMValueRef make_record(const SortEmitter *emitter, LLVMValueRef position) {
  LLVMBuilderRef b = emitter->vec->builder;
  const Kernel *kernel = emitter->comparator;
  if (!emitter->key.is_known) return LLVMBuildTrunc(b, position, emitter->record, "");
  LLVMValueRef *buffers = ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, kernel->buffer_count);
  LLVMValueRef element = sort_element(emitter, &emitter->operands[emitter->key.operand], position);
  for (int i = 0; i < kernel->buffer_count; i++) buffers[i] = element;
  KernelPoint point = kernel_point(emitter->vec, kernel, emitter->function, buffers, emitter->arena);
  LLVMValueRef value = point_value(&point, emitter->key.value);
  LLVMValueRef number = sort_key_number(emitter->vec, kernel, &emitter->key, value);
  LLVMValueRef record = LLVMBuildZExt(b, number, emitter->record, "");
  record = LLVMBuildShl(b, record, LLVMConstInt(emitter->record, 32, false), "");
  return LLVMBuildOr(b, record, LLVMBuildZExt(b, position, emitter->record, ""), "");
}

static void make_records(const SortEmitter *emitter, LLVMValueRef records) {
  SortLoop loop = sort_loop_begin(emitter, sort_int(emitter, 0), sort_int(emitter, emitter->length), 1);
  sort_store(emitter, make_record(emitter, loop.index), records, loop.index);
  sort_loop_end(emitter, &loop);
}

static void move_elements(const SortEmitter *emitter, LLVMValueRef records) {
  LLVMBuilderRef b = emitter->vec->builder;
  SortLoop loop = sort_loop_begin(emitter, sort_int(emitter, 0), sort_int(emitter, emitter->length), 1);
  LLVMValueRef position = sort_position(emitter, sort_load(emitter, records, loop.index));
  for (int i = 0; i < emitter->array_count; i++) {
    const SortArray *from = &emitter->operands[i], *to = &emitter->results[i];
    LLVMValueRef element = LLVMBuildLoad2(b, from->type, sort_element(emitter, from, position), "");
    LLVMSetAlignment(element, element_alignment(from->type));
    LLVMValueRef store = LLVMBuildStore(b, element, sort_element(emitter, to, loop.index));
    LLVMSetAlignment(store, element_alignment(to->type));
  }
  sort_loop_end(emitter, &loop);
}

static int64_t records_bytes(const SortEmitter *emitter) {
  return align_up(emitter->length * emitter->record_bytes, SCRATCH_ALIGNMENT);
}

/* --- the body --- */

static void emit_lines(SortEmitter *emitter, LLVMValueRef scratch, LLVMValueRef begin, LLVMValueRef end) {
  /* behind each other in the scratch: records, as many again, counters */
  LLVMValueRef parts[3];
  for (int i = 0; i < 3; i++) {
    LLVMValueRef offset = sort_int(emitter, i * records_bytes(emitter));
    LLVMTypeRef byte = LLVMInt8TypeInContext(emitter->vec->context);
    parts[i] = LLVMBuildInBoundsGEP2(emitter->vec->builder, byte, scratch, &offset, 1, "");
  }
  SortLoop lines = sort_loop_begin(emitter, begin, end, 1);
  for (int i = 0; i < emitter->array_count; i++) {
    move_to_line(emitter, &emitter->operands[i], lines.index);
    move_to_line(emitter, &emitter->results[i], lines.index);
  }
  make_records(emitter, parts[0]);
  LLVMValueRef sorted = sort_uses_digits(emitter) ? sort_by_digits(emitter, parts[0], parts[1], parts[2])
                                                  : sort_by_merging(emitter, parts[0], parts[1]);
  move_elements(emitter, sorted);
  sort_loop_end(emitter, &lines);
}

/* What there is to know without a place for code. */
static SortEmitter sort_emitter(const Kernel *kernel) {
  SortEmitter emitter = {.kernel = kernel, .stage = kernel_sorting_stage(kernel)};
  emitter.comparator = kernel->stages[emitter.stage].comparator;
  emitter.length = kernel->dims[sorted_dim(kernel)].extent;
  emitter.key = sort_key(emitter.comparator);
  emitter.record_bytes = !emitter.key.is_known ? 4 : emitter.key.bits == 64 ? 16 : 8;
  return emitter;
}

Status sort_check(const Kernel *kernel, DiagSink *diag) {
  const Kernel *comparator = kernel->stages[kernel_sorting_stage(kernel)].comparator;
  for (int v = 0; v < comparator->value_count; v++) {
    const KernelValue *value = &comparator->values[v];
    if (value->kind != KERNEL_APPLY) continue;
    VecOp op = kernel_vec_op(comparator, value);
    if (vec_supports(&op)) continue;
    return diag_error(diag, STATUS_UNSUPPORTED, comparator->source->loc, "unsupported-type",
                      "'%s' of %s has no code yet (in the comparator of '%.*s')", hlo_opcode_text(value->opcode),
                      type_text(op.operand_type), SV_ARG(comparator->source->name));
  }
  return STATUS_OK;
}

int64_t sort_scratch_bytes(const Kernel *kernel) {
  SortEmitter emitter = sort_emitter(kernel);
  int64_t counters = sort_uses_digits(&emitter) ? sort_counter_bytes(&emitter) : 0;
  return align_up(2 * records_bytes(&emitter) + counters, SCRATCH_ALIGNMENT);
}

int64_t sort_piece_count(const Kernel *kernel, int64_t *out_chunk_limit) {
  int64_t lines = line_count(kernel), chunks = lines * kernel->dims[sorted_dim(kernel)].extent / ELEMENTS_PER_CHUNK;
  *out_chunk_limit = max_i64(1, min_i64(chunks, lines));
  return lines;
}

void sort_emit(const VecBuilder *vec, const Kernel *kernel, LLVMValueRef function, const LLVMValueRef *buffer_pointers,
               LLVMValueRef scratch, LLVMValueRef begin, LLVMValueRef end) {
  SortEmitter emitter = sort_emitter(kernel);
  emitter.vec = vec;
  emitter.function = function;
  emitter.arena = arena_create();
  emitter.record = LLVMIntTypeInContext(vec->context, 8 * (unsigned)emitter.record_bytes);
  bind_arrays(&emitter, buffer_pointers);
  if (begin == NULL) {
    begin = sort_int(&emitter, 0);
    end = sort_int(&emitter, line_count(kernel));
  }
  emit_lines(&emitter, scratch, begin, end);
  arena_destroy(emitter.arena);
}
