/* The body of a sort: line by line, records are made, sorted, and followed by the elements. */
#include "base/checked_math.h"
#include "codegen/blocks/sort_internal.h"

#define SCRATCH_ALIGNMENT 64

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

IndexRange sort_line_range(const SortEmitter *emitter) {
  return ir_range(emitter->vec->context, 0, emitter->length);
}

/* --- arrays --- */

/* Stores to the same buffer, one after the other, are the parts of one element. */
static int part_count(const KernelStage *stage, int first) {
  if (first + 1 == stage->store_count || stage->stores[first + 1].buffer != stage->stores[first].buffer) return 1;
  IndexExpr next = stage->stores[first].address;
  next.constant++;
  return index_equal(next, stage->stores[first + 1].address) ? 2 : 1;
}

/* |values| are the parts of an element in memory, the same way at all points. */
static bool is_element(const SortEmitter *emitter, const int32_t *values, int parts) {
  const Kernel *kernel = emitter->kernel;
  const KernelValue *first = &kernel->values[values[0]];
  int64_t stride;
  if (first->kind != KERNEL_LOAD || first->predicate >= 0) return false;
  if (!kernel_plain_stride(kernel, first->address, emitter->dim, &stride)) return false;
  if (parts == 1) return true;
  const KernelValue *second = &kernel->values[values[1]];
  IndexExpr next = first->address;
  next.constant++;
  return second->kind == KERNEL_LOAD && second->predicate < 0 && second->buffer == first->buffer &&
         index_equal(next, second->address);
}

static LLVMTypeRef element_type(const SortEmitter *emitter, PrimitiveType type, int parts) {
  return LLVMIntTypeInContext(emitter->vec->context, (unsigned)(8 * type_storage_bytes(type) * parts));
}

/* The elements of |buffer| at |address|, which moves by a constant along the line. */
static SortArray array_at(const SortEmitter *emitter, int32_t buffer, IndexExpr address, int parts) {
  const Kernel *kernel = emitter->kernel;
  PrimitiveType type = kernel->buffers[buffer].type;
  LLVMValueRef begin = point_index_without(emitter->point, address, emitter->dim);
  return (SortArray){.line = LLVMBuildGEP2(emitter->vec->builder, element_type(emitter, type, 1),
                                           emitter->point->buffers[buffer], &begin, 1, ""),
                     .stride = index_dim_coefficient(&kernel->space, address, emitter->dim) / parts,
                     .type = element_type(emitter, type, parts)};
}

LLVMValueRef sort_at_offset(const SortEmitter *emitter, LLVMValueRef scratch, int64_t bytes) {
  LLVMValueRef offset = sort_int(emitter, bytes);
  LLVMTypeRef byte = LLVMInt8TypeInContext(emitter->vec->context);
  return LLVMBuildInBoundsGEP2(emitter->vec->builder, byte, scratch, &offset, 1, "");
}

void sort_find_line(SortEmitter *emitter, LLVMValueRef scratch) {
  const Kernel *kernel = emitter->kernel;
  for (int k = 0; k < emitter->operand_count && !emitter->key.is_known; k++) {
    SortOperand *operand = &emitter->operands[k];
    if (operand->compared == NULL) continue;
    const KernelValue *value = &kernel->values[operand->compared->parts[0]];
    if (operand->is_loaded) {
      operand->array = array_at(emitter, value->buffer, value->address, operand->parts);
    } else {
      LLVMTypeRef type = element_type(emitter, value->type, operand->parts);
      operand->array = (SortArray){sort_at_offset(emitter, scratch, operand->scratch), 1, type};
    }
  }
  for (int i = 0; i < emitter->store_count; i++) {
    SortStore *store = &emitter->stores[i];
    const KernelValue *value = &kernel->values[store->stores[0].value];
    if (store->is_moved) store->from = array_at(emitter, value->buffer, value->address, store->parts);
    store->to = array_at(emitter, store->stores[0].buffer, store->stores[0].address, store->parts);
  }
}

/* --- lines --- */

void sort_move_to_line(SortEmitter *emitter, LLVMValueRef line) {
  LLVMBuilderRef b = emitter->vec->builder;
  const Kernel *kernel = emitter->kernel;
  for (int d = kernel->dim_count - 1; d >= 0; d--) {
    if (kernel->dims[d].stage != KERNEL_OUTER) continue;
    LLVMValueRef extent = sort_int(emitter, kernel->dims[d].extent);
    emitter->point->dims[d] = LLVMBuildURem(b, line, extent, "");
    line = LLVMBuildUDiv(b, line, extent, "");
  }
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if (kernel->values[v].stage == KERNEL_OUTER) point_value(emitter->point, v);
    if (kernel->values[v].kind != KERNEL_LOAD) continue;
    point_hoist_address(emitter->point, v, UINT64_C(1) << emitter->dim);
  }
}

/* Line |array| in the scratch gets the element of |operand| at the point. */
static void store_compared(const SortEmitter *emitter, const SortOperand *operand, LLVMValueRef position) {
  LLVMValueRef pointer = sort_element(emitter, &operand->array, position);
  for (int part = 0; part < operand->parts; part++) {
    int32_t value = operand->compared->parts[part];
    PrimitiveType type = emitter->kernel->values[value].type;
    LLVMValueRef at = sort_at_offset(emitter, pointer, part * type_storage_bytes(type));
    vec_store(emitter->vec, type, point_value(emitter->point, value), at, NULL, 1);
  }
}

/* Networks order records as signed numbers. */
static LLVMValueRef turned_sign(const SortEmitter *emitter, LLVMValueRef record) {
  unsigned sign = LLVMGetIntTypeWidth(emitter->record) - 1;
  return LLVMBuildXor(emitter->vec->builder, record, LLVMConstInt(emitter->record, UINT64_C(1) << sign, false), "");
}

void sort_make_records(const SortEmitter *emitter, LLVMValueRef records, IndexRange range) {
  PointLoop loop = point_loop_begin(emitter->point, range, 1);
  LLVMValueRef record = sort_make_record(emitter, loop.index);
  if (emitter->record_step > 1) record = turned_sign(emitter, record);
  sort_store(emitter, record, records, loop.index);
  for (int k = 0; k < emitter->operand_count && !emitter->key.is_known; k++) {
    const SortOperand *operand = &emitter->operands[k];
    if (operand->compared != NULL && !operand->is_loaded) store_compared(emitter, operand, loop.index);
  }
  point_loop_end(emitter->point, &loop);
}

LLVMValueRef sort_records(const SortEmitter *emitter, LLVMValueRef records, LLVMValueRef spare, LLVMValueRef counters) {
  return sort_uses_digits(emitter) ? sort_by_digits(emitter, records, spare, counters)
                                   : sort_by_merging(emitter, records, spare);
}

/* --- elements to their places --- */

/* The element of the point at |position| to |place|. */
static void store_element(const SortEmitter *emitter, const SortStore *store, LLVMValueRef position,
                          LLVMValueRef place) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef to = sort_element(emitter, &store->to, place);
  if (store->is_moved) {
    LLVMValueRef element = LLVMBuildLoad2(b, store->from.type, sort_element(emitter, &store->from, position), "");
    LLVMSetAlignment(element, sort_element_alignment(store->from.type));
    LLVMSetAlignment(LLVMBuildStore(b, element, to), sort_element_alignment(store->to.type));
    return;
  }
  for (int part = 0; part < store->parts; part++) {
    PrimitiveType type = emitter->kernel->buffers[store->stores[part].buffer].type;
    LLVMValueRef at = sort_at_offset(emitter, to, part * type_storage_bytes(type));
    vec_store(emitter->vec, type, point_value(emitter->point, store->stores[part].value), at, NULL, 1);
  }
}

/* Those that store the same places as the |first| go together. */
static void store_range(const SortEmitter *emitter, LLVMValueRef records, const SortStore *first, IndexRange range) {
  LLVMBuilderRef b = emitter->vec->builder;
  LLVMValueRef lower = sort_int(emitter, first->lower), upper = sort_int(emitter, first->upper);
  LLVMValueRef starts_later = LLVMBuildICmp(b, LLVMIntSGT, range.begin, lower, "");
  IndexRange places = {LLVMBuildSelect(b, starts_later, range.begin, lower, ""), ir_index_minimum(b, range.end, upper)};
  PointLoop loop = point_loop_begin_guarded(emitter->point, places, 1);
  LLVMValueRef position = sort_position(emitter, sort_load(emitter, records, loop.index));
  emitter->point->dims[emitter->dim] = position;
  for (const SortStore *store = first; store < emitter->stores + emitter->store_count; store++) {
    if (store->lower == first->lower && store->upper == first->upper)
      store_element(emitter, store, position, loop.index);
  }
  point_loop_end(emitter->point, &loop);
}

void sort_store_elements(const SortEmitter *emitter, LLVMValueRef records, IndexRange range) {
  for (int i = 0; i < emitter->store_count; i++) {
    bool is_first = true;
    for (int k = 0; k < i; k++) {
      is_first = is_first && !(emitter->stores[k].lower == emitter->stores[i].lower &&
                               emitter->stores[k].upper == emitter->stores[i].upper);
    }
    if (is_first) store_range(emitter, records, &emitter->stores[i], range);
  }
}

/* --- the body --- */

static int64_t record_count(const SortEmitter *emitter) {
  return sort_selects(emitter) ? sort_selection_length(emitter) : emitter->length * emitter->record_step;
}

int64_t sort_records_bytes(const SortEmitter *emitter) {
  return align_up(record_count(emitter) * emitter->record_bytes, SCRATCH_ALIGNMENT);
}

/* Several lines at a time; where there are fewer left, the other lanes sort what there is. */
static void emit_lines_together(SortEmitter *emitter, LLVMValueRef scratch, IndexRange range) {
  LLVMBuilderRef b = emitter->vec->builder;
  PointLoop groups = point_loop_begin_apart(emitter->point, range, emitter->record_step);
  LLVMValueRef left = LLVMBuildNSWSub(b, range.end, groups.index, "");
  IndexRange lines = ir_range_below(ir_index_minimum(b, left, sort_int(emitter, emitter->record_step)));
  PointLoop made = point_loop_begin_apart(emitter->point, lines, 1);
  sort_move_to_line(emitter, LLVMBuildNSWAdd(b, groups.index, made.index, ""));
  sort_make_records(emitter, LLVMBuildInBoundsGEP2(b, emitter->record, scratch, &made.index, 1, ""),
                    sort_line_range(emitter));
  point_loop_end(emitter->point, &made);
  sort_by_network(emitter, scratch);
  PointLoop stored = point_loop_begin_apart(emitter->point, lines, 1);
  sort_move_to_line(emitter, LLVMBuildNSWAdd(b, groups.index, stored.index, ""));
  sort_find_line(emitter, scratch);
  sort_store_elements(emitter, LLVMBuildInBoundsGEP2(b, emitter->record, scratch, &stored.index, 1, ""),
                      sort_line_range(emitter));
  point_loop_end(emitter->point, &stored);
  point_loop_end(emitter->point, &groups);
}

void sort_emit_lines(SortEmitter *emitter, LLVMValueRef scratch, IndexRange range) {
  /* one after the other in the scratch: records, as many again, counters or lines of what is compared; the second are
   * not there where there is one run */
  LLVMValueRef parts[3];
  for (int i = 0; i < 3; i++)
    parts[i] = sort_at_offset(emitter, scratch, (emitter->is_one_run ? i / 2 : i) * sort_records_bytes(emitter));
  PointLoop lines = point_loop_begin_apart(emitter->point, range, 1);
  sort_move_to_line(emitter, lines.index);
  sort_find_line(emitter, parts[2]);
  if (emitter->moves_elements) {
    sort_elements_by_digits(emitter, &emitter->stores[0].from, &emitter->stores[0].to, scratch);
    point_loop_end(emitter->point, &lines);
    return;
  }
  LLVMValueRef sorted;
  if (sort_selects(emitter)) {
    sorted = sort_by_selecting(emitter, parts[0], parts[1], parts[2]);
  } else {
    sort_make_records(emitter, parts[0], sort_line_range(emitter));
    sorted = sort_records(emitter, parts[0], parts[1], parts[2]);
  }
  sort_store_elements(emitter, sorted, sort_line_range(emitter));
  point_loop_end(emitter->point, &lines);
}

/* --- what there is to know without a place for code --- */

static void find_stores(SortEmitter *emitter) {
  const Kernel *kernel = emitter->kernel;
  emitter->stores = ARENA_NEW_ARRAY(emitter->arena, SortStore, emitter->stage->store_count);
  for (int i = 0, parts; i < emitter->stage->store_count; i += parts) {
    const KernelStore *from = &emitter->stage->stores[i];
    parts = part_count(emitter->stage, i);
    SortStore *store = &emitter->stores[emitter->store_count++];
    *store = (SortStore){.stores = from, .parts = parts, .upper = emitter->length};
    int32_t values[2] = {from->value, parts == 2 ? from[1].value : -1};
    store->is_moved = is_element(emitter, values, parts);
    if (from->predicate >= 0) {
      const KernelValue *places = &kernel->values[from->predicate];
      store->lower = max_i64(0, places->lower - places->address.constant);
      store->upper = min_i64(emitter->length, places->upper - places->address.constant);
    }
    emitter->kept = max_i64(emitter->kept, store->upper);
  }
}

/* Computed ones get lines in the scratch where any two may be compared. */
static int64_t find_operands(SortEmitter *emitter) {
  const KernelStage *stage = emitter->stage;
  int64_t bytes = 0;
  emitter->operand_count = stage->compared_count > 0 ? stage->compared[stage->compared_count - 1].operand + 1 : 0;
  emitter->operands = ARENA_NEW_ARRAY(emitter->arena, SortOperand, emitter->operand_count + 1);
  for (int32_t i = 0; i < stage->compared_count; i++) {
    const KernelCompared *compared = &stage->compared[i];
    SortOperand *operand = &emitter->operands[compared->operand];
    *operand = (SortOperand){.compared = compared, .parts = compared->parts[1] >= 0 ? 2 : 1};
    operand->is_loaded = is_element(emitter, compared->parts, operand->parts);
    if (operand->is_loaded || emitter->key.is_known) continue;
    PrimitiveType type = emitter->kernel->values[compared->parts[0]].type;
    operand->scratch = bytes;
    bytes += align_up(emitter->length * operand->parts * type_storage_bytes(type), SCRATCH_ALIGNMENT);
  }
  return bytes;
}

/* |*out_scratch|: bytes. */
static SortEmitter sort_emitter(const Kernel *kernel, Arena *arena, int64_t *out_scratch) {
  SortEmitter emitter = {.kernel = kernel, .arena = arena};
  emitter.stage = &kernel->stages[kernel_sorting_stage(kernel)];
  emitter.comparator = emitter.stage->comparator;
  emitter.dim = sorted_dim(kernel);
  emitter.length = kernel->dims[emitter.dim].extent;
  emitter.key = sort_key(emitter.comparator);
  emitter.record_bytes = !emitter.key.is_known ? 4 : emitter.key.bits == 64 ? 16 : 8;
  emitter.record_step = 1;
  emitter.line_count = line_count(kernel);
  find_stores(&emitter);
  int64_t lines = find_operands(&emitter), counters = 0;
  if (sort_uses_network(&emitter)) {
    emitter.record_step = sort_network_lines(&emitter);
    *out_scratch = align_up(sort_records_bytes(&emitter) + lines, SCRATCH_ALIGNMENT);
    return emitter;
  }
  SortEmitter sorted = emitter;
  sorted.length = record_count(&emitter);
  if (sort_uses_digits(&sorted)) counters = sort_counter_bytes(&sorted);
  emitter.moves_elements = sort_moves_elements(&emitter);
  emitter.is_one_run = emitter.length <= SORT_RUN && counters == 0 && !sort_selects(&emitter);
  int64_t records = (emitter.is_one_run ? 1 : 2) * sort_records_bytes(&emitter);
  if (emitter.moves_elements) {
    const SortStore *store = &emitter.stores[0];
    emitter.record_bytes = store->parts * type_storage_bytes(kernel->buffers[store->stores[0].buffer].type);
    records = sort_element_bytes(&emitter);
  }
  *out_scratch = align_up(records + counters + lines, SCRATCH_ALIGNMENT);
  emitter.is_shared = sort_is_shared(&emitter);
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

SortNeeds sort_needs(const Kernel *kernel) {
  Arena *arena = arena_create();
  SortNeeds needs = {.piece_count = line_count(kernel)};
  SortEmitter emitter = sort_emitter(kernel, arena, &needs.scratch_bytes);
  if (emitter.is_shared) {
    needs.phase_count = needs.piece_count * sort_line_phases(&emitter);
    needs.chunk_bytes = sort_chunk_bytes(&emitter);
    needs.chunk_limit = emitter.length / SORT_CHUNK_ELEMENTS;
    needs.piece_count = 1;
  } else {
    int64_t chunks = needs.piece_count * emitter.length / SORT_CHUNK_ELEMENTS;
    needs.chunk_limit = max_i64(1, min_i64(chunks, needs.piece_count));
  }
  arena_destroy(arena);
  return needs;
}

void sort_emit(const VecBuilder *vec, const Kernel *kernel, LLVMValueRef function, const LLVMValueRef *buffer_pointers,
               LLVMValueRef scratch, IndexRange lines, const PhaseShare *share) {
  Arena *arena = arena_create();
  int64_t ignored;
  SortEmitter emitter = sort_emitter(kernel, arena, &ignored);
  KernelPoint point = kernel_point(vec, kernel, function, buffer_pointers, arena);
  point.vector_dim = emitter.dim;
  emitter.vec = vec;
  emitter.function = function;
  emitter.point = &point;
  emitter.record = LLVMIntTypeInContext(vec->context, 8 * (unsigned)emitter.record_bytes);
  if (lines.begin == NULL) lines = ir_range(vec->context, 0, line_count(kernel));
  if (emitter.is_shared) {
    sort_emit_shared(&emitter, scratch, share);
  } else if (emitter.record_step > 1) {
    emit_lines_together(&emitter, scratch, lines);
  } else {
    sort_emit_lines(&emitter, scratch, lines);
  }
  arena_destroy(arena);
}
