#include "codegen/oncore/plan/tile_kernel.h"

#include "codegen/oncore/plan/tile_builder.h"
#include "codegen/oncore/plan/tile_seen.h"

/* --- ragged ranges --- */

int64_t tile_last_extent(const Plan *plan, const PlanRange *range) {
  int64_t lower, upper;
  if (!range->is_ragged) return range->extent;
  index_range(&plan->space, range->left, &lower, &upper);
  return lower < range->extent ? lower : range->extent;
}

/* Its size is |extent| everywhere but in the last iteration. */
static bool takes_two_sizes(const Plan *plan, const PlanRange *range) {
  int64_t last = tile_last_extent(plan, range);
  if (last <= 0) return false;
  for (int i = 0; i < range->left.term_count; i++) {
    int64_t step = -range->left.terms[i].coefficient;
    if (step < range->extent - last) return false; /* the iteration before is cut short as well */
  }
  return true;
}

static Status add_ragged(const Plan *plan, const PlanCommand *command, const PlanRange *range, DiagSink *diag,
                         PlanRange *ranges, int32_t *count) {
  if (range->extent == 0 || tile_last_extent(plan, range) == range->extent) return STATUS_OK;
  for (int32_t i = 0; i < *count; i++) {
    if (plan_range_same_size(&ranges[i], range)) return STATUS_OK;
  }
  if (!takes_two_sizes(plan, range)) {
    return diag_error(diag, STATUS_INVALID, command->loc, "plan-ragged", "a range of '%.*s' takes more than two sizes",
                      SV_ARG(command->label));
  }
  if (*count == TILE_MAX_RAGGED) {
    return diag_error(diag, STATUS_INVALID, command->loc, "plan-ragged", "'%.*s' has more than %d ragged ranges",
                      SV_ARG(command->label), TILE_MAX_RAGGED);
  }
  ranges[(*count)++] = *range;
  return STATUS_OK;
}

/* Whether |command| moves a box of a view as it is. */
static bool tile_is_plain_transfer(const PlanCommand *command) {
  return (command->verb == PLAN_LOAD || command->verb == PLAN_STORE) && command->value < 0;
}

Status tile_ragged_ranges(const Plan *plan, const PlanCommand *command, DiagSink *diag,
                          PlanRange out_ranges[TILE_MAX_RAGGED], int32_t *out_count) {
  *out_count = 0;
  if (tile_is_plain_transfer(command)) {
    const PlanRef *ref = command->target_count > 0 ? &command->targets[0] : NULL;
    for (int32_t i = 0; ref != NULL && i < ref->range_count; i++) {
      RETURN_IF_ERROR(add_ragged(plan, command, &ref->ranges[i], diag, out_ranges, out_count));
    }
    return STATUS_OK;
  }
  if (command->points == NULL) return STATUS_OK;
  for (int32_t d = 0; d < plan->kernel->dim_count; d++) {
    RETURN_IF_ERROR(add_ragged(plan, command, &command->points[d], diag, out_ranges, out_count));
  }
  return add_ragged(plan, command, &command->slice, diag, out_ranges, out_count);
}

/* --- plain transfers: a box of a view and a tile --- */

/* The axes of |ref| with more than one element, a ring's slot excepted. */
static int32_t wide_axes(const Plan *plan, const PlanRef *ref, int32_t *out_axes) {
  int32_t count = 0;
  bool is_ring = !ref->is_memory && plan->tensors[ref->number].kind == PLAN_RING;
  for (int32_t i = is_ring ? 1 : 0; i < ref->range_count; i++) {
    if (ref->ranges[i].extent > 1) out_axes[count++] = i;
  }
  return count;
}

/* Address of local point |dims| in |ref|: Σ stride × dim, never negative. */
static IndexExpr box_address(TileBuilder *builder, const PlanRef *ref, const int32_t *axes, int32_t count,
                             const IndexExpr *dims, const int64_t *extents, TilePointer *pointer) {
  IndexSpace *space = &builder->draft.space;
  int64_t strides[KERNEL_MAX_DIMS];
  tile_ref_strides(builder->plan, ref, strides);
  IndexExpr address = index_constant(0);
  int64_t lowest = 0;
  for (int32_t i = 0; i < count; i++) {
    int64_t stride = strides[axes[i]];
    if (stride < 0) lowest -= stride * (extents[i] - 1);
    address = index_add(space, address, index_scale(space, dims[i], stride));
  }
  pointer->byte_offset =
      index_add_constant(space, pointer->byte_offset, -lowest * tile_ref_element_bytes(builder->plan, ref));
  return index_add_constant(space, address, lowest);
}

static Status mismatch(const TileBuilder *builder, const char *what) {
  return diag_error(builder->diag, STATUS_INVALID, builder->command->loc, "plan-operands", "'%.*s': %s",
                    SV_ARG(builder->command->label), what);
}

static Status build_transfer(TileBuilder *builder) {
  const PlanCommand *command = builder->command;
  if (command->target_count != 1 || command->source_count != 1)
    return mismatch(builder, "a transfer has one target and one source");
  const PlanRef *refs[2] = {&command->sources[0], &command->targets[0]};
  int32_t axes[2][KERNEL_MAX_DIMS], count = wide_axes(builder->plan, refs[0], axes[0]);
  if (wide_axes(builder->plan, refs[1], axes[1]) != count)
    return mismatch(builder, "target and source have different axes");
  if (tile_ref_type(builder->plan, refs[0]) != tile_ref_type(builder->plan, refs[1]))
    return mismatch(builder, "target and source have different types");
  IndexExpr dims[KERNEL_MAX_DIMS];
  int64_t extents[KERNEL_MAX_DIMS];
  for (int32_t i = 0; i < count; i++) {
    const PlanRange *range = &refs[1]->ranges[axes[1][i]];
    if (range->extent != refs[0]->ranges[axes[0][i]].extent)
      return mismatch(builder, "target and source have different extents");
    extents[i] = tile_extent(builder, range);
    dims[i] = kernel_draft_add_dim(&builder->draft, extents[i], KERNEL_PARALLEL, KERNEL_OUTER);
  }
  TilePointer pointers[2];
  IndexExpr addresses[2];
  for (int r = 0; r < 2; r++) {
    pointers[r] = tile_ref_pointer(builder, refs[r]);
    addresses[r] = box_address(builder, refs[r], axes[r], count, dims, extents, &pointers[r]);
  }
  PrimitiveType type = tile_ref_type(builder->plan, refs[0]);
  int32_t from = tile_add_buffer(builder, KERNEL_OPERAND, type, pointers[0]);
  int32_t to = tile_add_buffer(builder, KERNEL_RESULT, type, pointers[1]);
  int32_t loaded = tile_add_load(builder, from, addresses[0]);
  kernel_draft_add_stage(&builder->draft);
  tile_add_store(builder, to, addresses[1], loaded);
  return STATUS_OK;
}

/* A Tensor that is computed with has the axes of its access. */
static Status check_axes(const TileBuilder *builder, const PlanRef *ref, int32_t axis_count) {
  if (ref->is_memory) return mismatch(builder, "a computation has no operands in memory");
  const PlanTensor *tensor = &builder->plan->tensors[ref->number];
  int32_t rank = tensor->rank - (tensor->kind == PLAN_RING ? 1 : 0);
  if (rank == axis_count) return STATUS_OK;
  return mismatch(builder,
                  arena_printf(builder->plan->arena, "'%.*s' is of rank %d where the operation works on rank %d",
                               SV_ARG(tensor->name), rank, axis_count));
}

/* --- guarded loads and gathers: the Kernel's load for a range of points --- */

/* Whether the pointer of load |value| is the array's and every index whole: in the Buffer, so that all that is reached
 * is known to be of the array, and where code may read around what is asked for and has to know where the array ends
 * (codegen/point/point_window.c): under a guard, and by digits of an index. */
static bool has_whole_indices(const TileBuilder *builder, const KernelValue *value, const TilePointer *pointer) {
  const IndexAtom *atoms = builder->plan->kernel->space.atoms.data;
  if (!pointer->is_memory || value->predicate >= 0) return true;
  for (int i = 0; i < value->address.term_count; i++) {
    IndexAtomKind kind = atoms[value->address.terms[i].atom].kind;
    if (kind == INDEX_ATOM_DIV || kind == INDEX_ATOM_MOD) return true;
  }
  return false;
}

/* The address of load |value|.  Unless |is_whole|, its plain part becomes local, its beginning a matter of the pointer;
 * run-time parts are scalars, or an element of the index tile. */
static IndexExpr load_address(TileBuilder *builder, const KernelValue *value, bool is_whole, TilePointer *pointer,
                              int32_t index_load) {
  const Kernel *from = builder->plan->kernel;
  IndexSpace *space = &builder->draft.space;
  IndexExpr address = index_constant(value->address.constant);
  int64_t index_lower = 0, index_upper = 0, element_bytes = type_storage_bytes(value->type);
  for (int i = 0; i < value->address.term_count; i++) {
    const IndexAtom *atom = &from->space.atoms.data[value->address.terms[i].atom];
    int64_t coefficient = value->address.terms[i].coefficient;
    if (atom->kind == INDEX_ATOM_DIM && !is_whole) {
      address = index_add(space, address, index_scale(space, builder->local[atom->number], coefficient));
      tile_move_pointer(builder, pointer, builder->command->points[atom->number].begin, coefficient * element_bytes);
    } else if (atom->kind == INDEX_ATOM_VALUE && index_load < 0 && is_whole) {
      IndexExpr scalar = tile_parameter(builder, tile_plan_scalar(builder, atom));
      address = index_add(space, address, index_scale(space, scalar, coefficient));
    } else if (atom->kind == INDEX_ATOM_VALUE && index_load < 0) {
      tile_move_pointer(builder, pointer, tile_plan_scalar(builder, atom), coefficient * element_bytes);
    } else if (index_load >= 0 && tile_atom_is_run_time(from, atom)) {
      index_lower += coefficient * (coefficient > 0 ? atom->lower : atom->upper);
      index_upper += coefficient * (coefficient > 0 ? atom->upper : atom->lower);
    } else {
      IndexExpr whole = tile_whole_index(builder, (IndexExpr){0, 1, &value->address.terms[i]});
      address = index_add(space, address, whole);
    }
  }
  if (index_load >= 0) address = index_add(space, address, index_value(space, index_load, index_lower, index_upper));
  return address;
}

static Status build_load(TileBuilder *builder) {
  const Kernel *from = builder->plan->kernel;
  const PlanCommand *command = builder->command;
  const KernelValue *value = tile_load_value(from, command->value);
  bool gathers = command->verb == PLAN_GATHERM || command->verb == PLAN_GATHER;
  if (command->target_count != 1 || command->source_count != (gathers ? 2 : 1))
    return mismatch(builder, "a wrong number of operands");
  int32_t axes[KERNEL_MAX_DIMS], count = tile_load_axes(from, command->value, axes);
  tile_add_axes(builder, axes, count);
  RETURN_IF_ERROR(check_axes(builder, &command->targets[0], count));
  int32_t index_load = -1;
  if (gathers) {
    int32_t index_axes[KERNEL_MAX_DIMS], index_count = tile_index_axes(from, command->value, index_axes);
    int32_t buffer =
        tile_add_buffer(builder, KERNEL_OPERAND, TYPE_S64, tile_ref_pointer(builder, &command->sources[1]));
    index_load = tile_add_load(builder, buffer, tile_address(builder, &command->sources[1], index_axes, index_count));
  }
  /* The view's own offset is part of the Kernel's address: the pointer starts at the array. */
  const PlanRef *array = &command->sources[0];
  TilePointer pointer = {array->is_memory, array->number, index_constant(0)};
  if (plan_brings_held(command)) {
    if (array->is_memory || plan_tensor_holder(builder->plan, array->number) != array->number)
      return mismatch(builder, "what is brought within the Buffer is of an array that is there");
    if (!tile_may_bring(from, command->value, gathers))
      return mismatch(builder, "what is loaded at run-time places is not brought without indices");
    pointer.byte_offset = index_constant(builder->plan->tensors[array->number].begin);
  } else if (!array->is_memory) {
    return mismatch(builder, "a load's source is in memory");
  }
  bool is_whole = has_whole_indices(builder, value, &pointer);
  int32_t predicate = -1;
  if (value->predicate >= 0) RETURN_IF_ERROR(tile_copy_value(builder, value->predicate, &predicate));
  IndexExpr address = load_address(builder, value, is_whole, &pointer, index_load);
  int32_t source = tile_add_buffer(builder, KERNEL_OPERAND, value->type, pointer);
  int32_t target =
      tile_add_buffer(builder, KERNEL_RESULT, value->type, tile_ref_pointer(builder, &command->targets[0]));
  int32_t loaded = tile_add_guarded_load(builder, source, address, predicate);
  if (is_whole) tile_limit_buffer(builder, source, from->buffers[value->buffer].element_count);
  int32_t padding = tile_load_padding(from, command->value);
  if (padding >= 0) RETURN_IF_ERROR(tile_pad(builder, predicate, padding, &loaded));
  kernel_draft_add_stage(&builder->draft);
  tile_add_store(builder, target, tile_address(builder, &command->targets[0], axes, count), loaded);
  return STATUS_OK;
}

/* --- computations --- */

/* What is seen of an array where it is, is all of the access's. */
static Status check_seen(const TileBuilder *builder, const TileAccess *access, const PlanRef *ref) {
  const PlanTensor *tensor = &builder->plan->tensors[ref->number];
  int64_t begin, elements = builder->plan->kernel->buffers[access->buffer].element_count;
  bool is_whole = index_is_constant(ref->ranges[0].begin, &begin) && begin == 0 && !ref->ranges[0].is_ragged &&
                  ref->ranges[0].extent == elements && tensor->held == access->buffer;
  return is_whole ? STATUS_OK : mismatch(builder, "what is seen where it is, is all of the array that it reads");
}

static bool in_cover(const TileBuilder *builder, int32_t stage) {
  return stage >= builder->cover.first_stage && stage <= builder->cover.last_stage;
}

static bool covers_fold(const TileBuilder *builder) {
  const Kernel *from = builder->plan->kernel;
  for (int32_t f = 0; f < from->fold_count; f++) {
    if (in_cover(builder, from->folds[f].stage)) return true;
  }
  return false;
}

/* As many sources and targets as the operation reads and writes. */
static Status count_operands(const TileBuilder *builder) {
  const PlanCommand *command = builder->command;
  int32_t sources = 0, targets = 0;
  for (int32_t i = 0; i < builder->accesses.count; i++)
    ++*(builder->accesses.accesses[i].is_written ? &targets : &sources);
  if (sources == command->source_count && targets == command->target_count) return STATUS_OK;
  bool may_keep = targets < command->target_count && covers_fold(builder) && !builder->cover.keeps_accumulators;
  const char *hint = may_keep ? ": with 'acc' a fold's sums are in a target" : "";
  return mismatch(builder, arena_printf(builder->plan->arena,
                                        "the operation has %d sources and %d targets, the command %d and %d%s", sources,
                                        targets, command->source_count, command->target_count, hint));
}

/* The command's operand for each access: sources are what is read only, targets what is written. */
static Status bind_accesses(TileBuilder *builder) {
  const PlanCommand *command = builder->command;
  int32_t source = 0, target = 0;
  RETURN_IF_ERROR(count_operands(builder));
  for (int32_t i = 0; i < builder->accesses.count; i++) {
    const TileAccess *access = &builder->accesses.accesses[i];
    int32_t place = access->is_written ? target++ : source++;
    const PlanRef *ref = access->is_written ? &command->targets[place] : &command->sources[place];
    if (ref->is_memory) return mismatch(builder, "a computation has no operands in memory");
    const PlanTensor *tensor = &builder->plan->tensors[ref->number];
    if (tensor->type != access->type)
      return mismatch(builder,
                      arena_printf(builder->plan->arena, "'%.*s' is of type %s where the operation works on %s",
                                   SV_ARG(tensor->name), type_text(tensor->type), type_text(access->type)));
    KernelBufferRole role = !access->is_written ? KERNEL_OPERAND : KERNEL_IN_PLACE;
    if (access->kind == TILE_STORE || access->kind == TILE_INDEX) role = KERNEL_RESULT;
    if (tile_ref_is_seen(builder->plan, access, ref))
      RETURN_IF_ERROR(check_seen(builder, access, ref));
    else
      RETURN_IF_ERROR(check_axes(builder, ref, access->kind == TILE_UPDATED ? 1 : tile_access_rank(access)));
    builder->access_refs[i] = ref;
    builder->access_buffers[i] = tile_add_buffer(builder, role, access->type, tile_ref_pointer(builder, ref));
  }
  return STATUS_OK;
}

/* The place of the accumulator of |fold| among the accesses, -1 when it never leaves the command. */
static int32_t accumulator_access(const TileBuilder *builder, int32_t fold) {
  for (int32_t i = 0; i < builder->accesses.count; i++) {
    const TileAccess *access = &builder->accesses.accesses[i];
    if (access->kind == TILE_ACCUMULATOR && access->fold == fold) return i;
  }
  return -1;
}

static IndexExpr access_address(TileBuilder *builder, int32_t access) {
  const TileAccess *of = &builder->accesses.accesses[access];
  return tile_address(builder, builder->access_refs[access], of->axes, of->axis_count);
}

/* Folds that go on from a Tensor: one that may be split starts from its identity and is combined with the Tensor's
 * element at the end; any other starts from that element. */
static Status copy_folds(TileBuilder *builder) {
  const Kernel *from = builder->plan->kernel;
  bool goes_on = builder->cover.keeps_accumulators && (builder->variant & TILE_VARIANT_INIT) == 0;
  for (int32_t f = 0; f < from->fold_count; f++) {
    const KernelFold *fold = &from->folds[f];
    builder->new_folds[f] = -1;
    if (!in_cover(builder, fold->stage)) continue;
    int32_t seed, access = accumulator_access(builder, f);
    if (goes_on && !fold->reassociable) {
      seed = tile_add_load(builder, builder->access_buffers[access], access_address(builder, access));
    } else {
      RETURN_IF_ERROR(tile_copy_value(builder, fold->seed, &seed));
    }
    builder->new_folds[f] = tile_add_fold(builder, fold, fold->stage - builder->cover.first_stage, seed);
  }
  return STATUS_OK;
}

static Status copy_nexts(TileBuilder *builder, int32_t stage) {
  const Kernel *from = builder->plan->kernel;
  for (int32_t f = 0; f < from->fold_count; f++) {
    if (from->folds[f].stage != stage) continue;
    int32_t next;
    RETURN_IF_ERROR(tile_copy_value(builder, from->folds[f].next, &next));
    tile_set_next(builder, builder->new_folds[f], next);
  }
  return STATUS_OK;
}

static int32_t store_access(const TileBuilder *builder, int32_t stage, int32_t store) {
  int32_t buffer = builder->plan->kernel->stages[stage].stores[store].buffer;
  for (int32_t i = 0; i < builder->accesses.count; i++) {
    const TileAccess *access = &builder->accesses.accesses[i];
    bool is_own = access->store == store || (access->parts > 1 && access->buffer == buffer);
    if (access->kind == TILE_STORE && access->stage == stage && is_own) return i;
    bool is_whole = access->kind == TILE_SCRATCH || access->kind == TILE_UPDATED;
    if (is_whole && access->buffer == buffer) return i;
  }
  XLAC_BUG("a store without its tile");
}

static Status copy_stores(TileBuilder *builder, int32_t stage) {
  const Kernel *from = builder->plan->kernel;
  for (int32_t i = 0; i < from->stages[stage].store_count; i++) {
    const KernelStore *store = &from->stages[stage].stores[i];
    int32_t value, access = store_access(builder, stage, i), predicate = -1;
    RETURN_IF_ERROR(tile_copy_value(builder, store->value, &value));
    IndexExpr address;
    if (builder->accesses.accesses[access].kind == TILE_UPDATED) {
      RETURN_IF_ERROR(tile_copy_update(builder, store->address, store->predicate, &address, &predicate));
    } else {
      address = tile_access_address(builder, access, store->address);
    }
    tile_add_guarded_store(builder, builder->access_buffers[access], address, value, predicate);
  }
  return STATUS_OK;
}

/* The parts of complex numbers have Tensors of their own, which no comparator of whole ones reads. */
static Status copy_comparator(TileBuilder *builder, int32_t stage) {
  const KernelStage *of = &builder->plan->kernel->stages[stage];
  KernelDraftStage *made = &array_last(&builder->draft.stages);
  made->comparator = of->comparator;
  for (int32_t i = 1; of->comparator != NULL && i < of->store_count; i++) {
    if (of->stores[i].buffer != of->stores[i - 1].buffer) continue;
    return diag_error(builder->diag, STATUS_UNSUPPORTED, builder->command->loc, "unsupported-oncore",
                      "'%.*s': complex numbers in order have no rule on a vector processor yet",
                      SV_ARG(builder->command->hlo));
  }
  for (int32_t i = 0; i < of->compared_count; i++) {
    KernelCompared compared = {of->compared[i].operand, {-1, -1}};
    RETURN_IF_ERROR(tile_copy_value(builder, of->compared[i].parts[0], &compared.parts[0]));
    array_push(&made->compared, builder->arena, compared);
  }
  return STATUS_OK;
}

/* What the folds came to goes back to their Tensors. */
static void store_accumulators(TileBuilder *builder) {
  const Kernel *from = builder->plan->kernel;
  kernel_draft_add_stage(&builder->draft);
  for (int32_t f = 0; f < from->fold_count; f++) {
    if (builder->new_folds[f] < 0) continue;
    const KernelFold *fold = &from->folds[f];
    int32_t access = accumulator_access(builder, f), buffer = builder->access_buffers[access];
    int32_t value = tile_add_final(builder, builder->new_folds[f]);
    if (fold->reassociable && (builder->variant & TILE_VARIANT_INIT) == 0) {
      int32_t before = tile_add_load(builder, buffer, access_address(builder, access));
      value = tile_add_apply(builder, from->values[fold->next].opcode, fold->type, before, value);
    }
    tile_add_store(builder, buffer, access_address(builder, access), value);
  }
}

static Status build_index(TileBuilder *builder) {
  const Kernel *from = builder->plan->kernel;
  int32_t axes[KERNEL_MAX_DIMS], count = tile_index_axes(from, builder->command->index_value, axes), value;
  RETURN_IF_ERROR(
      tile_copy_run_time_index(builder, tile_load_value(from, builder->command->index_value)->address, &value));
  kernel_draft_add_stage(&builder->draft);
  tile_add_store(builder, builder->access_buffers[builder->accesses.count - 1],
                 tile_address(builder, &builder->command->targets[0], axes, count), value);
  return STATUS_OK;
}

static Status build_computation(TileBuilder *builder) {
  const PlanCommand *command = builder->command;
  const Kernel *from = builder->plan->kernel;
  builder->cover = (TileCover){command->points, command->first_stage, command->last_stage, command->keeps_accumulators,
                               command->index_value};
  builder->accesses = tile_accesses(builder->arena, from, &builder->cover);
  builder->access_buffers = ARENA_NEW_ARRAY(builder->arena, int32_t, builder->accesses.count);
  builder->access_refs = ARENA_NEW_ARRAY(builder->arena, const PlanRef *, builder->accesses.count);
  for (int32_t d = 0; d < from->dim_count; d++) {
    if (command->points[d].extent == 0) continue;
    if (command->index_value >= 0) {
      tile_add_axes(builder, &d, 1); /* an element at each point, of whichever stage reads by it */
    } else {
      tile_add_kernel_dim(builder, d);
    }
  }
  RETURN_IF_ERROR(bind_accesses(builder));
  if (command->index_value >= 0) return build_index(builder);
  RETURN_IF_ERROR(copy_folds(builder));
  for (int32_t s = command->first_stage; s <= command->last_stage; s++) {
    kernel_draft_add_stage(&builder->draft);
    RETURN_IF_ERROR(copy_nexts(builder, s));
    RETURN_IF_ERROR(copy_stores(builder, s));
    RETURN_IF_ERROR(copy_comparator(builder, s));
  }
  if (command->keeps_accumulators) store_accumulators(builder);
  return STATUS_OK;
}

/* --- operations of programs --- */

static Status build_operation(TileBuilder *builder, TileKernel *out_kernel) {
  const PlanCommand *command = builder->command;
  const Kernel *kernel = command->operation->kernel;
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    bool is_source = kernel->buffers[b].role == KERNEL_OPERAND;
    const PlanRef *refs = is_source ? command->sources : command->targets;
    array_push(&builder->pointers, builder->arena, tile_ref_pointer(builder, &refs[command->operation->operands[b]]));
  }
  *out_kernel = (TileKernel){
      .kernel = kernel, .space = builder->plan_space, .pointers = builder->pointers.data, .parameter_buffer = -1};
  return STATUS_OK;
}

/* --- the Kernel --- */

Status tile_kernel_build(Arena *arena, const Plan *plan, const PlanCommand *command, uint32_t variant, DiagSink *diag,
                         TileKernel *out_kernel) {
  TileBuilder builder;
  RETURN_IF_ERROR(tile_builder_init(&builder, arena, plan, command, variant, diag));
  Status status;
  if (command->operation != NULL) return build_operation(&builder, out_kernel);
  if (!tile_is_plain_transfer(command) && plan_is_program(plan))
    return diag_error(diag, STATUS_INVALID, command->loc, "plan-operation",
                      "'%.*s' does not say what it computes: 'body=NAME' names a computation or an opcode",
                      SV_ARG(command->label));
  if (tile_is_plain_transfer(command)) {
    status = build_transfer(&builder);
  } else if (command->verb == PLAN_LOAD || command->verb == PLAN_GATHERM || plan_brings_held(command)) {
    status = build_load(&builder);
  } else {
    status = build_computation(&builder);
  }
  RETURN_IF_ERROR(status);
  return tile_builder_finish(&builder, out_kernel);
}
