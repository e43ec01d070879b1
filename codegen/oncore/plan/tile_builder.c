#include "codegen/oncore/plan/tile_builder.h"

#include "base/checked_math.h"
#include "codegen/oncore/plan/tile_parts.h"
#include "codegen/oncore/plan/tile_seen.h"

/* --- operands of commands --- */

PrimitiveType tile_ref_type(const Plan *plan, const PlanRef *ref) {
  return ref->is_memory ? plan->memories[ref->number].type : plan->tensors[ref->number].type;
}

int64_t tile_ref_element_bytes(const Plan *plan, const PlanRef *ref) {
  return type_storage_bytes(tile_ref_type(plan, ref));
}

void tile_ref_strides(const Plan *plan, const PlanRef *ref, int64_t *out_strides) {
  if (ref->is_memory) {
    const PlanMemory *memory = &plan->memories[ref->number];
    for (int32_t i = 0; i < memory->rank; i++) out_strides[i] = memory->strides[i];
    return;
  }
  const PlanTensor *tensor = &plan->tensors[ref->number];
  int64_t stride = 1;
  for (int32_t i = tensor->rank - 1; i >= 0; i--) {
    out_strides[i] = stride;
    stride *= tensor->extents[i];
  }
  if (tensor->kind == PLAN_RING) out_strides[0] = 0;
}

void tile_move_pointer(TileBuilder *builder, TilePointer *pointer, IndexExpr by, int64_t scale) {
  IndexSpace *space = &builder->plan_space;
  pointer->byte_offset = index_add(space, pointer->byte_offset, index_scale(space, by, scale));
}

TilePointer tile_ref_pointer(TileBuilder *builder, const PlanRef *ref) {
  TilePointer pointer = {ref->is_memory, ref->number, index_constant(0)};
  int64_t strides[KERNEL_MAX_DIMS], bytes = tile_ref_element_bytes(builder->plan, ref);
  tile_ref_strides(builder->plan, ref, strides);
  if (ref->is_memory) {
    tile_move_pointer(builder, &pointer, builder->plan->memories[ref->number].offset, bytes);
  } else {
    const PlanTensor *tensor = &builder->plan->tensors[ref->number];
    pointer.byte_offset = index_constant(tensor->begin);
    if (tensor->kind == PLAN_RING) tile_move_pointer(builder, &pointer, ref->ranges[0].begin, tensor->slot_stride);
  }
  for (int32_t i = 0; i < ref->range_count; i++) {
    tile_move_pointer(builder, &pointer, ref->ranges[i].begin, strides[i] * bytes);
  }
  return pointer;
}

IndexExpr tile_plan_scalar(TileBuilder *builder, const IndexAtom *atom) {
  for (int32_t s = 0; s < builder->plan->scalar_count; s++) {
    if (builder->plan->scalars[s].value != atom->number) continue;
    return index_value(&builder->plan_space, s, atom->lower, atom->upper);
  }
  XLAC_BUG("a run-time start without its scalar");
}

/* --- dims and addresses --- */

int64_t tile_extent(const TileBuilder *builder, const PlanRange *range) {
  for (int32_t r = 0; r < builder->ragged_count; r++) {
    if ((builder->variant >> r & 1) != 0 && plan_range_same_size(range, &builder->ragged[r])) {
      return tile_last_extent(builder->plan, range);
    }
  }
  return range->extent;
}

void tile_add_kernel_dim(TileBuilder *builder, int32_t dim) {
  const KernelDim *from = &builder->plan->kernel->dims[dim];
  int32_t stage = from->stage == KERNEL_OUTER ? KERNEL_OUTER : from->stage - builder->cover.first_stage;
  int64_t extent = tile_extent(builder, &builder->command->points[dim]);
  builder->local[dim] = kernel_draft_add_dim(&builder->draft, extent, from->kind, stage);
}

void tile_add_axes(TileBuilder *builder, const int32_t *axes, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    int64_t extent = tile_extent(builder, &builder->command->points[axes[i]]);
    builder->local[axes[i]] = kernel_draft_add_dim(&builder->draft, extent, KERNEL_PARALLEL, KERNEL_OUTER);
  }
}

/* Σ stride × local index. */
static IndexExpr local_address(TileBuilder *builder, const int64_t *strides, const int32_t *axes, int32_t count) {
  IndexSpace *space = &builder->draft.space;
  IndexExpr address = index_constant(0);
  for (int32_t i = 0; i < count; i++) {
    address = index_add(space, address, index_scale(space, builder->local[axes[i]], strides[i]));
  }
  return address;
}

static int32_t first_axis(const TileBuilder *builder, const PlanRef *ref) {
  return builder->plan->tensors[ref->number].kind == PLAN_RING ? 1 : 0;
}

IndexExpr tile_address(TileBuilder *builder, const PlanRef *ref, const int32_t *axes, int32_t count) {
  int64_t strides[KERNEL_MAX_DIMS];
  tile_ref_strides(builder->plan, ref, strides);
  return local_address(builder, strides + first_axis(builder, ref), axes, count);
}

/* The element of load |number|, which shares the tile of |access|: the same axis for axis, under its own dims. */
static IndexExpr loaded_address(TileBuilder *builder, int32_t access, int32_t number) {
  const Kernel *from = builder->plan->kernel;
  const PlanRef *ref = builder->access_refs[access];
  int64_t strides[KERNEL_MAX_DIMS], *of_axes = strides + first_axis(builder, ref);
  int32_t axes[KERNEL_MAX_DIMS], count = tile_load_axes(from, number, axes);
  TileWindows windows;
  tile_ref_strides(builder->plan, ref, strides);
  if (tile_load_windows(from, builder->accesses.accesses[access].value, &windows) &&
      tile_ref_is_window(&windows, builder->command->points, ref)) {
    for (int32_t i = 0; i < count; i++) of_axes[i] = windows.steps[i] * of_axes[windows.along[i]];
  }
  int64_t first = tile_part_of(tile_load_value(from, number)->address, builder->accesses.accesses[access].parts);
  for (int32_t i = 0; i < count; i++) {
    if (!tile_load_descends(from, number, axes[i])) continue;
    first += of_axes[i] * (tile_extent(builder, &builder->command->points[axes[i]]) - 1);
    of_axes[i] = -of_axes[i];
  }
  return index_add_constant(&builder->draft.space, local_address(builder, of_axes, axes, count), first);
}

IndexExpr tile_access_address(TileBuilder *builder, int32_t access, IndexExpr address) {
  const TileAccess *of = &builder->accesses.accesses[access];
  const PlanRef *ref = builder->access_refs[access];
  if (of->kind != TILE_SCRATCH) {
    IndexExpr first = tile_address(builder, ref, of->axes, of->axis_count);
    return index_add_constant(&builder->draft.space, first, tile_part_of(address, of->parts));
  }
  const Kernel *kernel = builder->plan->kernel;
  int32_t axes[KERNEL_MAX_DIMS], count = tile_scratch_axes(kernel, address, axes);
  XLAC_CHECK(count == of->axis_count); /* KernelTarget.keeps_axes */
  for (int32_t i = 0; i < count; i++) XLAC_CHECK(kernel->dims[axes[i]].extent == kernel->dims[of->axes[i]].extent);
  return tile_address(builder, ref, axes, count);
}

/* A number that is known to be at most |most|. */
static IndexExpr parameter_up_to(TileBuilder *builder, IndexExpr expr, int64_t most) {
  int64_t constant, lower, upper;
  if (index_is_constant(expr, &constant)) return expr;
  index_range(&builder->plan_space, expr, &lower, &upper);
  upper = max_i64(lower, min_i64(upper, most));
  if (builder->parameter_buffer < 0) {
    TilePointer none = {false, -1, index_constant(0)};
    builder->parameter_buffer = tile_add_buffer(builder, KERNEL_OPERAND, TYPE_S64, none);
  }
  int32_t loaded = tile_add_load(builder, builder->parameter_buffer, index_constant(builder->parameters.count));
  array_push(&builder->parameters, builder->arena, expr);
  return index_value(&builder->draft.space, loaded, lower, upper);
}

IndexExpr tile_parameter(TileBuilder *builder, IndexExpr expr) {
  return parameter_up_to(builder, expr, INT64_MAX);
}

/* Where |range| begins at most: where the last tile is smaller, whole ones end before it. */
static int64_t last_begin(TileBuilder *builder, const PlanRange *range) {
  int64_t lower, upper;
  if (!range->is_ragged) return INT64_MAX;
  index_range(&builder->plan_space, index_add(&builder->plan_space, range->begin, range->left), &lower, &upper);
  return upper - tile_extent(builder, range);
}

static void make_whole(TileBuilder *builder, IndexExpr expr) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &builder->plan->kernel->space.atoms.data[expr.terms[i].atom];
    if (atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD) make_whole(builder, atom->inner);
    if (atom->kind != INDEX_ATOM_DIM || builder->has_whole[atom->number]) continue;
    int32_t dim = atom->number;
    const PlanRange *points = &builder->command->points[dim];
    IndexExpr begin = parameter_up_to(builder, points->begin, last_begin(builder, points));
    builder->whole[dim] = index_add(&builder->draft.space, begin, builder->local[dim]);
    builder->has_whole[dim] = true;
  }
}

IndexExpr tile_whole_index(TileBuilder *builder, IndexExpr expr) {
  make_whole(builder, expr);
  return index_substitute(&builder->draft.space, &builder->plan->kernel->space, expr, builder->whole,
                          builder->new_number);
}

/* --- values --- */

int32_t tile_add_buffer(TileBuilder *builder, KernelBufferRole role, PrimitiveType type, TilePointer pointer) {
  int32_t number = (int32_t)builder->draft.buffers.count;
  array_push(&builder->pointers, builder->arena, pointer);
  return kernel_draft_add_buffer(&builder->draft, (KernelBuffer){role, type, 1, number, 0});
}

/* The buffer is as long as what is read and written of it. */
static void reach(TileBuilder *builder, int32_t buffer, IndexExpr address) {
  int64_t lower, upper;
  index_range(&builder->draft.space, address, &lower, &upper);
  KernelBuffer *of = &builder->draft.buffers.data[buffer];
  if (upper + 1 > of->element_count) of->element_count = upper + 1;
}

void tile_limit_buffer(TileBuilder *builder, int32_t buffer, int64_t element_count) {
  KernelBuffer *of = &builder->draft.buffers.data[buffer];
  of->element_count = min_i64(of->element_count, element_count);
}

int32_t tile_add_guarded_load(TileBuilder *builder, int32_t buffer, IndexExpr address, int32_t predicate) {
  KernelValue value = kernel_value_blank(KERNEL_LOAD, builder->draft.buffers.data[buffer].type);
  value.buffer = buffer;
  value.address = address;
  value.predicate = predicate;
  reach(builder, buffer, address);
  return kernel_draft_add_value(&builder->draft, value);
}

int32_t tile_add_load(TileBuilder *builder, int32_t buffer, IndexExpr address) {
  return tile_add_guarded_load(builder, buffer, address, -1);
}

int32_t tile_add_apply(TileBuilder *builder, HloOpcode opcode, PrimitiveType type, int32_t left, int32_t right) {
  KernelValue value = kernel_value_blank(KERNEL_APPLY, type);
  value.opcode = opcode;
  value.operand_count = 2;
  value.operands[0] = left;
  value.operands[1] = right;
  return kernel_draft_add_value(&builder->draft, value);
}

static int32_t add_accumulator(TileBuilder *builder, int32_t fold, bool is_final) {
  KernelValue value = kernel_value_blank(KERNEL_ACCUMULATOR, builder->draft.folds.data[fold].type);
  value.fold = fold;
  value.params[0] = is_final;
  return kernel_draft_add_value(&builder->draft, value);
}

int32_t tile_add_final(TileBuilder *builder, int32_t fold) {
  return add_accumulator(builder, fold, true);
}

int32_t tile_add_fold(TileBuilder *builder, const KernelFold *like, int32_t stage, int32_t seed) {
  KernelFold fold = {.type = like->type, .stage = stage, .seed = seed, .next = -1};
  fold.reassociable = like->reassociable;
  fold.is_scan = like->is_scan;
  return kernel_draft_add_fold(&builder->draft, fold);
}

void tile_set_next(TileBuilder *builder, int32_t fold, int32_t next) {
  builder->draft.folds.data[fold].next = next;
}

void tile_add_guarded_store(TileBuilder *builder, int32_t buffer, IndexExpr address, int32_t value, int32_t predicate) {
  reach(builder, buffer, address);
  int32_t stage = (int32_t)builder->draft.stages.count - 1;
  kernel_draft_add_store(&builder->draft, stage, (KernelStore){buffer, address, value, predicate});
}

void tile_add_store(TileBuilder *builder, int32_t buffer, IndexExpr address, int32_t value) {
  tile_add_guarded_store(builder, buffer, address, value, -1);
}

/* --- copies of the plan's Kernel --- */

static Status copy_index_values(TileBuilder *builder, IndexExpr expr) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &builder->plan->kernel->space.atoms.data[expr.terms[i].atom];
    int32_t ignored;
    if (atom->kind == INDEX_ATOM_VALUE) RETURN_IF_ERROR(tile_copy_value(builder, atom->number, &ignored));
    if (atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD) {
      RETURN_IF_ERROR(copy_index_values(builder, atom->inner));
    }
  }
  return STATUS_OK;
}

/* |address| of the plan's Kernel, with all it reads, for a buffer that is there as a whole. */
static Status tile_copy_address(TileBuilder *builder, IndexExpr address, IndexExpr *out_address) {
  RETURN_IF_ERROR(copy_index_values(builder, address));
  *out_address = tile_whole_index(builder, address);
  return STATUS_OK;
}

Status tile_copy_update(TileBuilder *builder, IndexExpr address, int32_t predicate, IndexExpr *out_address,
                        int32_t *out_predicate) {
  const PlanRange *slice = &builder->command->slice;
  *out_predicate = -1;
  RETURN_IF_ERROR(tile_copy_address(builder, address, out_address));
  if (predicate >= 0) RETURN_IF_ERROR(tile_copy_value(builder, predicate, out_predicate));
  if (slice->extent == 0) return STATUS_OK;
  IndexSpace *space = &builder->draft.space;
  if (!builder->has_slice_begin) builder->slice_begin = tile_parameter(builder, slice->begin);
  builder->has_slice_begin = true;
  *out_address = index_add(space, *out_address, index_scale(space, builder->slice_begin, -1));
  KernelValue inside = kernel_value_blank(KERNEL_IN_RANGE, TYPE_PRED);
  inside.address = *out_address;
  inside.upper = tile_extent(builder, slice);
  int32_t is_inside = kernel_draft_add_value(&builder->draft, inside);
  if (*out_predicate >= 0) is_inside = tile_add_apply(builder, HLO_AND, TYPE_PRED, *out_predicate, is_inside);
  *out_predicate = is_inside;
  return STATUS_OK;
}

static Status copy_updated_load(TileBuilder *builder, const KernelValue *load, int32_t access, int32_t *out_value) {
  IndexExpr address;
  int32_t predicate;
  RETURN_IF_ERROR(tile_copy_update(builder, load->address, load->predicate, &address, &predicate));
  *out_value = tile_add_guarded_load(builder, builder->access_buffers[access], address, predicate);
  return STATUS_OK;
}

/* |*guard| and what of |predicate| a tile with |windows| does not know; a tile of one tap does, or does not. */
static Status add_guards_of_taps(TileBuilder *builder, int32_t predicate, const TileWindows *windows, int32_t *guard) {
  const Kernel *from = builder->plan->kernel;
  if (predicate < 0) return STATUS_OK;
  if (from->values[predicate].kind == KERNEL_APPLY) {
    RETURN_IF_ERROR(add_guards_of_taps(builder, from->values[predicate].operands[0], windows, guard));
    return add_guards_of_taps(builder, from->values[predicate].operands[1], windows, guard);
  }
  if (!tile_guard_is_of_taps(from, predicate, windows)) return STATUS_OK;
  int32_t copied;
  RETURN_IF_ERROR(tile_copy_value(builder, predicate, &copied));
  *guard = *guard < 0 ? copied : tile_add_apply(builder, HLO_AND, TYPE_PRED, *guard, copied);
  return STATUS_OK;
}

Status tile_pad(TileBuilder *builder, int32_t predicate, int32_t padding, int32_t *loaded) {
  KernelValue choice = kernel_value_blank(KERNEL_APPLY, builder->plan->kernel->values[padding].type);
  choice.opcode = HLO_SELECT;
  choice.operand_count = 3;
  choice.operands[0] = predicate;
  choice.operands[1] = *loaded;
  RETURN_IF_ERROR(tile_copy_value(builder, padding, &choice.operands[2]));
  *loaded = kernel_draft_add_value(&builder->draft, choice);
  return STATUS_OK;
}

/* From the array in the Buffer, as the Kernel does it. */
static Status copy_seen_load(TileBuilder *builder, int32_t access, int32_t number, int32_t *out_value) {
  const KernelValue *load = tile_load_value(builder->plan->kernel, number);
  int32_t predicate = -1, padding = tile_load_padding(builder->plan->kernel, number);
  if (load->predicate >= 0) RETURN_IF_ERROR(tile_copy_value(builder, load->predicate, &predicate));
  IndexExpr address = tile_whole_index(builder, load->address);
  *out_value = tile_add_guarded_load(builder, builder->access_buffers[access], address, predicate);
  return padding >= 0 ? tile_pad(builder, predicate, padding, out_value) : STATUS_OK;
}

static Status copy_load(TileBuilder *builder, int32_t number, int32_t *out_value) {
  const Kernel *from = builder->plan->kernel;
  int32_t access = tile_access_of_load(from, &builder->cover, &builder->accesses, number);
  if (access < 0) {
    return diag_error(builder->diag, STATUS_UNSUPPORTED, from->source->loc, "unsupported-guard",
                      "'%.*s': a guard that reads memory has no rule on this target", SV_ARG(from->source->name));
  }
  if (builder->accesses.accesses[access].kind == TILE_UPDATED) {
    return copy_updated_load(builder, &from->values[number], access, out_value);
  }
  if (tile_ref_is_seen(builder->plan, &builder->accesses.accesses[access], builder->access_refs[access]))
    return copy_seen_load(builder, access, number, out_value);
  bool is_row = builder->accesses.accesses[access].kind == TILE_SCRATCH;
  IndexExpr address = is_row ? tile_access_address(builder, access, from->values[number].address)
                             : loaded_address(builder, access, number);
  TileWindows windows;
  int32_t guard = -1;
  if (!is_row && tile_load_windows(from, number, &windows))
    RETURN_IF_ERROR(add_guards_of_taps(builder, tile_load_value(from, number)->predicate, &windows, &guard));
  *out_value = tile_add_guarded_load(builder, builder->access_buffers[access], address, guard);
  return STATUS_OK;
}

/* A fold of this command as it is, or what an earlier command left in a Tensor. */
static int32_t copy_accumulator(TileBuilder *builder, const KernelValue *value) {
  if (builder->new_folds[value->fold] >= 0) {
    return add_accumulator(builder, builder->new_folds[value->fold], value->params[0] != 0);
  }
  for (int32_t i = 0; i < builder->accesses.count; i++) {
    const TileAccess *access = &builder->accesses.accesses[i];
    if (access->kind != TILE_ACCUMULATOR || access->fold != value->fold) continue;
    return tile_add_load(builder, builder->access_buffers[i],
                         tile_address(builder, builder->access_refs[i], access->axes, access->axis_count));
  }
  XLAC_BUG("an accumulator without its tile");
}

static Status copy_other(TileBuilder *builder, const KernelValue *from, int32_t *out_value) {
  KernelValue value = *from;
  for (int i = 0; i < value.operand_count; i++) {
    RETURN_IF_ERROR(tile_copy_value(builder, from->operands[i], &value.operands[i]));
  }
  RETURN_IF_ERROR(tile_copy_address(builder, from->address, &value.address));
  *out_value = kernel_draft_add_value(&builder->draft, value);
  return STATUS_OK;
}

Status tile_copy_value(TileBuilder *builder, int32_t number, int32_t *out_value) {
  const KernelValue *from = &builder->plan->kernel->values[number];
  if (builder->new_number[number] < 0) {
    int32_t made = -1;
    if (tile_load_value(builder->plan->kernel, number) != NULL) {
      RETURN_IF_ERROR(copy_load(builder, number, &made));
    } else if (from->kind == KERNEL_ACCUMULATOR) {
      made = copy_accumulator(builder, from);
    } else {
      RETURN_IF_ERROR(copy_other(builder, from, &made));
    }
    builder->new_number[number] = made;
  }
  *out_value = builder->new_number[number];
  return STATUS_OK;
}

Status tile_copy_run_time_index(TileBuilder *builder, IndexExpr address, int32_t *out_value) {
  IndexTerm *terms = ARENA_NEW_ARRAY(builder->arena, IndexTerm, address.term_count);
  int count = 0;
  for (int i = 0; i < address.term_count; i++) {
    const IndexAtom *atom = &builder->plan->kernel->space.atoms.data[address.terms[i].atom];
    if (tile_atom_is_run_time(builder->plan->kernel, atom)) terms[count++] = address.terms[i];
  }
  IndexExpr run_time = {0, count, terms};
  RETURN_IF_ERROR(copy_index_values(builder, run_time));
  KernelValue value = kernel_value_blank(KERNEL_INDEX, TYPE_S64);
  value.address = tile_whole_index(builder, run_time);
  *out_value = kernel_draft_add_value(&builder->draft, value);
  return STATUS_OK;
}

/* --- beginning and end --- */

static IndexSpace copy_space(Arena *arena, const IndexSpace *space) {
  IndexSpace copy;
  index_space_init(&copy, arena);
  for (int64_t i = 0; i < space->atoms.count; i++) array_push(&copy.atoms, arena, space->atoms.data[i]);
  return copy;
}

Status tile_builder_init(TileBuilder *builder, Arena *arena, const Plan *plan, const PlanCommand *command,
                         uint32_t variant, DiagSink *diag) {
  *builder = (TileBuilder){.arena = arena, .plan = plan, .command = command, .diag = diag, .variant = variant};
  RETURN_IF_ERROR(tile_ragged_ranges(plan, command, diag, builder->ragged, &builder->ragged_count));
  builder->plan_space = copy_space(arena, &plan->space);
  builder->parameter_buffer = -1;
  const Kernel *from = plan->kernel;
  kernel_draft_init(&builder->draft, arena, from == NULL ? NULL : from->source);
  if (from == NULL) return STATUS_OK;
  builder->local = ARENA_NEW_ARRAY(arena, IndexExpr, from->dim_count);
  builder->whole = ARENA_NEW_ARRAY(arena, IndexExpr, from->dim_count);
  builder->has_whole = ARENA_NEW_ARRAY(arena, bool, from->dim_count);
  builder->new_folds = ARENA_NEW_ARRAY(arena, int32_t, from->fold_count);
  builder->new_number = ARENA_NEW_ARRAY(arena, int32_t, from->value_count);
  for (int32_t f = 0; f < from->fold_count; f++) builder->new_folds[f] = -1;
  for (int32_t v = 0; v < from->value_count; v++) builder->new_number[v] = -1;
  return STATUS_OK;
}

Status tile_builder_finish(TileBuilder *builder, TileKernel *out_kernel) {
  *out_kernel = (TileKernel){.space = builder->plan_space,
                             .pointers = builder->pointers.data,
                             .parameter_buffer = builder->parameter_buffer,
                             .parameter_count = (int32_t)builder->parameters.count,
                             .parameters = builder->parameters.data};
  return kernel_draft_finish(&builder->draft, builder->diag, &out_kernel->kernel);
}
