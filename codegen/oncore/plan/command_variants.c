#include "codegen/oncore/plan/command_variants.h"

#include "codegen/oncore/plan/tile_cost.h"
#include "codegen/oncore/plan/tile_seen.h"
#include "hlo/machine/description/machine_cost.h"

/* --- objects --- */

static bool is_temporary(const PlanMemory *memory) {
  return memory->kind == PLAN_TEMPORARY;
}

int32_t plan_memory_object(const Plan *plan, int32_t memory) {
  const PlanMemory *of = &plan->memories[memory];
  return is_temporary(of) ? plan->kernel->buffer_count + of->number : of->number;
}

int32_t command_pointer_object(const Plan *plan, const TileKernel *tile, int32_t pointer) {
  if (pointer == tile->parameter_buffer) return COMMAND_PARAMETERS;
  const TilePointer *of = &tile->pointers[pointer];
  return of->is_memory ? plan_memory_object(plan, of->number) : COMMAND_BUFFER;
}

int32_t plan_object_count(const Plan *plan) {
  return plan->kernel->buffer_count + (int32_t)plan->temporary_count;
}

int64_t plan_object_bytes(const Plan *plan, int32_t object) {
  if (object >= plan->kernel->buffer_count) return plan->temporary_bytes[object - plan->kernel->buffer_count];
  const KernelBuffer *buffer = &plan->kernel->buffers[object];
  return buffer->role == KERNEL_SCRATCH ? 0 : buffer->element_count * type_storage_bytes(buffer->type);
}

/* --- accesses --- */

typedef struct AccessWalk {
  Arena *arena;
  const Plan *plan;
  const TileKernel *tile;
  const bool *is_own;  /* by buffer: what is read was written by the command itself; NULL: none */
  const bool *is_seen; /* by buffer: an array in the Buffer that is seen where it is: any part of it; NULL: none */
  bool brings;         /* the same of all that are there */
  int64_t slice;       /* elements of what is updated that are in the Buffer; 0: all of it */
  ARRAY(CommandAccess) found;
} AccessWalk;

static void add_level(CommandAccess *access, CommandLevel level) {
  if (level.count == 1) return;
  int32_t at = access->level_count++;
  for (; at > 0 && access->levels[at - 1].stride < level.stride; at--) access->levels[at] = access->levels[at - 1];
  access->levels[at] = level;
}

/* How many times as far as |range| |address| goes along all dims that |range| knows, which together walk one axis; 0:
 * it does not. */
static int64_t stride_along(const Kernel *kernel, IndexExpr range, IndexExpr address) {
  int64_t stride = 0;
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    int64_t step = index_dim_coefficient(&kernel->space, range, d);
    if (step == 0) continue;
    int64_t of_dim = index_dim_coefficient(&kernel->space, address, d);
    if (step < 0 || of_dim <= 0 || of_dim % step != 0 || (stride > 0 && of_dim / step != stride)) return 0;
    stride = of_dim / step;
  }
  return stride;
}

/* Ranges among guard |predicate| that say where an axis of |address| ends, which several dims walk and would leave: one
 * level each.  Their dims, which are no levels of their own then, join |*known|. */
static void collect_ends(const Kernel *kernel, int32_t predicate, IndexExpr address, int64_t element,
                         CommandAccess *access, uint64_t *known) {
  if (predicate < 0) return;
  const KernelValue *value = &kernel->values[predicate];
  if (value->kind == KERNEL_APPLY && value->opcode == HLO_AND) {
    collect_ends(kernel, value->operands[0], address, element, access, known);
    collect_ends(kernel, value->operands[1], address, element, access, known);
  }
  if (value->kind != KERNEL_IN_RANGE || !index_is_linear(&kernel->space, value->address)) return;
  int64_t stride = stride_along(kernel, value->address, address), reach = 1, first = value->address.constant;
  uint64_t dims = 0;
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    int64_t step = index_dim_coefficient(&kernel->space, value->address, d);
    if (step == 0) continue;
    reach += step * (kernel->dims[d].extent - 1);
    dims |= UINT64_C(1) << d;
  }
  bool ends = stride > 0 && first >= value->lower && first < value->upper && first + reach > value->upper;
  bool is_one = (dims & (dims - 1)) == 0;
  if (!ends || is_one || (dims & *known) != 0) return;
  add_level(access, (CommandLevel){value->upper - first, stride * element});
  *known |= dims;
}

/* The dims' strides, positive and descending; |predicate|: what guards the address, -1: nothing. */
static void collect_levels(const Kernel *kernel, int32_t predicate, IndexExpr address, int64_t element,
                           CommandAccess *access) {
  uint64_t known = 0;
  collect_ends(kernel, predicate, address, element, access, &known);
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    if ((known >> d & 1) != 0) continue;
    CommandLevel level = {kernel->dims[d].extent, index_dim_coefficient(&kernel->space, address, d) * element};
    if (level.count == 1 || level.stride == 0) continue;
    if (level.stride < 0) {
      access->offset += level.stride * (level.count - 1);
      level.stride = -level.stride;
    }
    add_level(access, level);
  }
}

/* Inner levels that touch become one run, outer ones that continue one another one level. */
static void merge_levels(CommandAccess *access) {
  while (access->level_count > 0 && access->levels[access->level_count - 1].stride <= access->bytes) {
    const CommandLevel *inner = &access->levels[--access->level_count];
    access->bytes += inner->stride * (inner->count - 1);
  }
  int32_t kept = 0;
  for (int32_t i = 0; i < access->level_count; i++) {
    CommandLevel level = access->levels[i];
    if (kept > 0 && access->levels[kept - 1].stride == level.stride * level.count) {
      level.count *= access->levels[kept - 1].count;
      kept--;
    }
    access->levels[kept++] = level;
  }
  access->level_count = kept;
}

static bool same_access(const CommandAccess *a, const CommandAccess *b) {
  if (a->pointer != b->pointer || a->is_write != b->is_write || a->is_anywhere != b->is_anywhere) return false;
  if (a->is_anywhere) return true;
  if (a->offset != b->offset || a->bytes != b->bytes || a->level_count != b->level_count) return false;
  for (int32_t i = 0; i < a->level_count; i++) {
    if (a->levels[i].count != b->levels[i].count || a->levels[i].stride != b->levels[i].stride) return false;
  }
  return true;
}

/* Guarded addresses may lie outside of an array in memory, but outside of a tile only where windows end with it: else
 * it is there as if the guard always held, and an address that depends on values reaches all of the tile, or of the
 * slice in it. */
static void add_access(AccessWalk *walk, int32_t buffer, IndexExpr address, bool is_write, int32_t predicate) {
  const Kernel *kernel = walk->tile->kernel;
  if (buffer == walk->tile->parameter_buffer) return;
  CommandAccess access = {.pointer = buffer, .is_write = is_write};
  int64_t element = type_storage_bytes(kernel->buffers[buffer].type);
  const TilePointer *pointer = &walk->tile->pointers[buffer];
  bool is_box = index_is_linear(&kernel->space, address), is_memory = pointer->is_memory;
  if (walk->is_seen != NULL && walk->is_seen[buffer]) is_box = false;
  if (!is_memory && walk->brings && walk->plan->tensors[pointer->number].hold != PLAN_HOLDS_NOTHING) is_box = false;
  access.is_anywhere = is_memory && (predicate >= 0 || !is_box);
  access.bytes = element;
  if (!is_memory && !is_box) {
    bool is_slice = walk->slice > 0 && kernel->buffers[buffer].role == KERNEL_IN_PLACE;
    access.bytes = is_slice ? walk->slice * element : plan_tile_bytes(&walk->plan->tensors[pointer->number]);
  } else if (!access.is_anywhere) {
    access.offset = address.constant * element;
    collect_levels(kernel, predicate, address, element, &access);
    merge_levels(&access);
  }
  for (int64_t i = 0; i < walk->found.count; i++) {
    if (same_access(&walk->found.data[i], &access)) return;
  }
  array_push(&walk->found, walk->arena, access);
}

static void find_accesses(AccessWalk *walk, CommandVariant *variant) {
  const Kernel *kernel = walk->tile->kernel;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind != KERNEL_LOAD || (walk->is_own != NULL && walk->is_own[value->buffer])) continue;
    add_access(walk, value->buffer, value->address, false, value->predicate);
  }
  for (int32_t s = 0; s < kernel->stage_count; s++) {
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      add_access(walk, store->buffer, store->address, true, store->predicate);
    }
  }
  variant->accesses = walk->found.data;
  variant->access_count = (int32_t)walk->found.count;
}

/* Row buffers that the command fills before it reads them, and arrays that it sees where they are.  Buffers of the tile
 * Kernel are its accesses, in order. */
static void find_own_and_seen(const Plan *plan, const PlanCommand *command, AccessWalk *walk) {
  const Kernel *kernel = walk->tile->kernel;
  bool *is_own = ARENA_NEW_ARRAY(walk->arena, bool, kernel->buffer_count);
  bool *is_seen = ARENA_NEW_ARRAY(walk->arena, bool, kernel->buffer_count);
  walk->is_own = is_own;
  walk->is_seen = is_seen;
  for (int32_t b = 0; b < kernel->buffer_count && command->operation != NULL; b++)
    is_own[b] = kernel->buffers[b].role == KERNEL_IN_PLACE;
  if (command->operation != NULL) return;
  TileCover cover = {command->points, command->first_stage, command->last_stage, command->keeps_accumulators,
                     command->index_value};
  TileAccesses accesses = tile_accesses(walk->arena, plan->kernel, &cover);
  for (int32_t i = 0, source = 0; i < accesses.count; i++) {
    const TileAccess *access = &accesses.accesses[i];
    is_own[i] = access->kind == TILE_SCRATCH && access->is_written;
    if (!access->is_written) is_seen[i] = tile_ref_is_seen(plan, access, &command->sources[source++]);
  }
}

/* --- costs --- */

bool command_is_transfer(const PlanCommand *command) {
  return command->verb == PLAN_LOAD || command->verb == PLAN_STORE || command->verb == PLAN_GATHERM;
}

/* The memory side's address: a load is told by its loads, a store by its stores. */
static IndexExpr memory_address(const TileKernel *tile) {
  const Kernel *kernel = tile->kernel;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    bool is_memory = value->kind == KERNEL_LOAD && value->buffer != tile->parameter_buffer;
    if (is_memory && tile->pointers[value->buffer].is_memory) return value->address;
  }
  return kernel->stages[0].stores[0].address;
}

/* |dims|: levels that a descriptor walks; a gather's is one list of rows. */
static void cost_transfer(const PlanCommand *command, int64_t dims, CommandVariant *variant) {
  const Kernel *kernel = variant->tile.kernel;
  IndexExpr address = memory_address(&variant->tile);
  int64_t extents[KERNEL_MAX_DIMS], strides[KERNEL_MAX_DIMS], elements = 1;
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    extents[d] = kernel->dims[d].extent;
    strides[d] = index_dim_coefficient(&kernel->space, address, d);
    elements *= extents[d];
  }
  variant->bytes = elements * type_storage_bytes(kernel->buffers[kernel->stages[0].stores[0].buffer].type);
  variant->rows = tile_transfer_rows(extents, strides, kernel->dim_count);
  variant->descriptors = 1;
  if (command->verb != PLAN_GATHERM)
    variant->descriptors = tile_transfer_descriptors(extents, strides, kernel->dim_count, dims);
}

/* Variants of a command under construction. */
typedef struct VariantBuilder {
  Arena *arena;
  const Plan *plan;
  const PlanCommand *command;
  const MachineDescription *machine;
  CommandVariants *variants;
  DiagSink *diag;
} VariantBuilder;

/* What |range| of the command covers in variant |number|. */
static int64_t variant_extent(const VariantBuilder *builder, const PlanRange *range, int32_t number) {
  const CommandVariants *variants = builder->variants;
  for (int32_t r = 0; r < variants->ragged_count; r++) {
    bool is_last = (number >> r & 1) != 0 && plan_range_same_size(range, &variants->ragged[r]);
    if (is_last) return tile_last_extent(builder->plan, range);
  }
  return range->extent;
}

static bool variant_begins(const VariantBuilder *builder, int32_t number) {
  const CommandVariants *variants = builder->variants;
  return variants->has_init_bit ? (number >> variants->ragged_count & 1) != 0 : builder->command->init;
}

static Status cost_operation(const VariantBuilder *builder, int32_t number, CommandVariant *variant) {
  const PlanCommand *command = builder->command;
  const Kernel *kernel = builder->plan->kernel;
  const MachineDescription *machine = builder->machine;
  DiagSink *diag = builder->diag;
  if (command->operation != NULL) return tile_operation_cycles(command->operation, machine, diag, &variant->cycles);
  if (plan_brings_held(command)) {
    int64_t extents[KERNEL_MAX_DIMS]; /* the tile's Kernel has no dims of extent 1 */
    int32_t axes[KERNEL_MAX_DIMS], count = tile_load_axes(kernel, command->value, axes);
    for (int32_t i = 0; i < count; i++) extents[i] = variant_extent(builder, &command->points[axes[i]], number);
    return tile_bring_cycles(kernel, machine, command->value, extents, diag, &variant->cycles);
  }
  if (command->index_value >= 0) {
    int64_t elements = 1;
    for (int32_t d = 0; d < variant->tile.kernel->dim_count; d++) elements *= variant->tile.kernel->dims[d].extent;
    variant->cycles = 2.0 * (double)machine_vector_count(machine, elements, TYPE_S64);
    return STATUS_OK;
  }
  int64_t extents[KERNEL_MAX_DIMS];
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    extents[d] = variant_extent(builder, &command->points[d], number);
  }
  TileStages stages = {kernel, command->first_stage, command->last_stage};
  const TileWork *work;
  RETURN_IF_ERROR(tile_work_find(builder->arena, stages, machine, diag, &work));
  variant->cycles = tile_work_cycles(work, extents, !command->keeps_accumulators || variant_begins(builder, number));
  return STATUS_OK;
}

/* --- variants --- */

static Status build_variant(const VariantBuilder *builder, int32_t number, CommandVariant *out_variant) {
  const Plan *plan = builder->plan;
  const PlanCommand *command = builder->command;
  uint32_t bits = (uint32_t)number & ((1u << builder->variants->ragged_count) - 1);
  if (variant_begins(builder, number)) bits |= TILE_VARIANT_INIT;
  *out_variant = (CommandVariant){0};
  RETURN_IF_ERROR(tile_kernel_build(builder->arena, plan, command, bits, builder->diag, &out_variant->tile));
  AccessWalk walk = {.arena = builder->arena, .plan = plan, .tile = &out_variant->tile};
  bool transfers = command_is_transfer(command);
  walk.brings = plan_brings_held(command);
  walk.slice = command->slice.extent > 0 ? variant_extent(builder, &command->slice, number) : 0;
  if (!transfers && !walk.brings) find_own_and_seen(plan, command, &walk);
  find_accesses(&walk, out_variant);
  if (!transfers) return cost_operation(builder, number, out_variant);
  cost_transfer(command, builder->machine->queues[command->queue].dims, out_variant);
  return STATUS_OK;
}

Status command_variants_build(Arena *arena, const Plan *plan, const PlanCommand *command,
                              const MachineDescription *machine, DiagSink *diag, CommandVariants *out_variants) {
  CommandVariants *variants = out_variants;
  *variants = (CommandVariants){0};
  RETURN_IF_ERROR(tile_ragged_ranges(plan, command, diag, variants->ragged, &variants->ragged_count));
  variants->has_init_bit = command->keeps_accumulators && command->init && command->init_loop >= 0;
  variants->count = 1 << (variants->ragged_count + variants->has_init_bit);
  CommandVariant *list = ARENA_NEW_ARRAY(arena, CommandVariant, variants->count);
  variants->variants = list;
  VariantBuilder builder = {arena, plan, command, machine, variants, diag};
  for (int32_t v = 0; v < variants->count; v++) RETURN_IF_ERROR(build_variant(&builder, v, &list[v]));
  return STATUS_OK;
}
