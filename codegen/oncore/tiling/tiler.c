#include <inttypes.h>
#include <math.h>

#include "base/checked_math.h"
#include "base/packing/packing.h"
#include "codegen/oncore/plan/plan_stream.h"
#include "codegen/oncore/plan/tile_cost.h"
#include "codegen/oncore/plan/tile_kernel.h"
#include "codegen/oncore/plan/tile_parts.h"
#include "codegen/oncore/tiling/plan_ahead.h"
#include "codegen/oncore/tiling/plan_edges.h"
#include "codegen/oncore/tiling/plan_spread.h"
#include "codegen/oncore/tiling/tiler_internal.h"
#include "hlo/machine/stream/queue_simulation.h"

/* Plans with more command instances are not compared by simulation. */
#define MOST_SIMULATED (INT64_C(1) << 16)

/* --- the plan as it grows --- */

typedef struct Tiler {
  Arena *arena;
  const Kernel *kernel;
  const MachineDescription *machine;
  TileOutline outline;
  Plan *plan;
  ARRAY(PlanScalar) scalars;
  ARRAY(PlanMemory) memories;
  ARRAY(PlanCommand) commands;
  ARRAY(int64_t) temporaries; /* bytes */
  int32_t *temporary_memory;  /* by buffer of the Kernel: the view of a spilled row buffer, -1: none yet */
  int32_t *step_command;      /* by step */
  bool is_trial;              /* edges that others imply may stay */
} Tiler;

#define arena_name(tiler, ...) sv_from_cstring(arena_printf((tiler)->arena, __VA_ARGS__))

/* --- memory --- */

static IndexExpr start_scalar(Tiler *tiler, const IndexAtom *atom) {
  int32_t number = 0;
  while (number < tiler->scalars.count && tiler->scalars.data[number].value != atom->number) number++;
  if (number == tiler->scalars.count) {
    PlanScalar scalar = {arena_name(tiler, "start%d", number), atom->number, atom->lower, atom->upper};
    array_push(&tiler->scalars, tiler->arena, scalar);
  }
  return index_value(&tiler->plan->space, number, atom->lower, atom->upper);
}

/* The constant and run-time parts of a linear address. */
static IndexExpr view_offset(Tiler *tiler, IndexExpr address) {
  IndexSpace *space = &tiler->plan->space;
  IndexExpr offset = index_constant(address.constant);
  for (int i = 0; i < address.term_count; i++) {
    const IndexAtom *atom = &tiler->kernel->space.atoms.data[address.terms[i].atom];
    if (atom->kind != INDEX_ATOM_VALUE || tiler->kernel->values[atom->number].dims != 0) continue;
    offset = index_add(space, offset, index_scale(space, start_scalar(tiler, atom), address.terms[i].coefficient));
  }
  return offset;
}

static bool same_view(const PlanMemory *a, const PlanMemory *b) {
  if (a->kind != b->kind || a->number != b->number || a->rank != b->rank || !index_equal(a->offset, b->offset))
    return false;
  for (int32_t i = 0; i < a->rank; i++) {
    if (a->extents[i] != b->extents[i] || a->strides[i] != b->strides[i]) return false;
  }
  return true;
}

/* What people know the array by: the operand's name or the result's. */
static StringView array_name(Tiler *tiler, int32_t buffer) {
  const KernelBuffer *of = &tiler->kernel->buffers[buffer];
  const HloInstruction *source = tiler->kernel->source;
  if (of->operand >= 0) source = source->operands[of->operand];
  StringBuilder text;
  sb_init(&text, tiler->arena);
  for (size_t i = 0; i < source->name.size; i++) {
    char c = source->name.data[i];
    bool is_word = char_is_digit(c) || char_is_letter(c);
    sb_append_char(&text, is_word ? c : '_');
  }
  if (of->node > 0) sb_printf(&text, "_%d", of->node);
  return sb_view(&text);
}

static bool has_memory(const Tiler *tiler, StringView name) {
  for (int64_t i = 0; i < tiler->memories.count; i++) {
    if (sv_equal(tiler->memories.data[i].name, name)) return true;
  }
  return false;
}

static int32_t add_memory(Tiler *tiler, PlanMemory memory, StringView name) {
  for (int32_t i = 0; i < tiler->memories.count; i++) {
    if (same_view(&tiler->memories.data[i], &memory)) return i;
  }
  memory.name = name;
  for (int n = 1; has_memory(tiler, memory.name); n++) memory.name = arena_name(tiler, "%.*s_%d", SV_ARG(name), n);
  array_push(&tiler->memories, tiler->arena, memory);
  return (int32_t)tiler->memories.count - 1;
}

static PlanMemoryKind memory_kind(const Tiler *tiler, int32_t buffer) {
  return tiler->kernel->buffers[buffer].role == KERNEL_OPERAND ? PLAN_ARGUMENT : PLAN_RESULT;
}

/* Whether the tile of |access| has its points along |axis| from the last to the first. */
static bool axis_descends(const Tiler *tiler, const TileAccess *access, int32_t axis) {
  return access->kind == TILE_LOAD && tile_load_descends(tiler->kernel, access->value, access->axes[axis]);
}

/* Where points of |range|, of |whole| of them, are then. */
static PlanRange from_the_end(Tiler *tiler, PlanRange range, int64_t whole) {
  IndexSpace *space = &tiler->plan->space;
  IndexExpr begin = range.begin;
  range.begin = index_add_constant(space, index_scale(space, begin, -1), whole - range.extent);
  if (!range.is_ragged) return range;
  int64_t lower, last;
  index_range(space, begin, &lower, &last);
  IndexExpr is_last = index_div(space, begin, last); /* 1 in the last iteration, which is shorter, else 0 */
  int64_t missing = range.extent - tile_last_extent(tiler->plan, &range);
  range.begin = index_add(space, range.begin, index_scale(space, is_last, missing));
  return range;
}

/* The view along the axes of |access|, whose address is linear; |windows|: of its tile, or NULL. */
static int32_t linear_view(Tiler *tiler, const TileAccess *access, const TileWindows *windows, IndexExpr address) {
  PlanMemory memory = {.type = access->type, .kind = memory_kind(tiler, access->buffer), .number = access->buffer};
  memory.rank = tile_access_rank(access);
  int64_t *extents = ARENA_NEW_ARRAY(tiler->arena, int64_t, memory.rank);
  int64_t *strides = ARENA_NEW_ARRAY(tiler->arena, int64_t, memory.rank);
  tile_access_strides(tiler->kernel, access, strides);
  int64_t whole[KERNEL_MAX_DIMS];
  for (int32_t d = 0; d < tiler->kernel->dim_count; d++) whole[d] = tiler->kernel->dims[d].extent;
  for (int32_t i = 0; i < access->axis_count; i++)
    extents[i] = windows != NULL ? tile_window_extent(windows, i, whole) : whole[access->axes[i]];
  if (access->parts > 1) extents[access->axis_count] = access->parts;
  address.constant -= tile_part_of(address, access->parts);
  for (int32_t i = 0; i < access->axis_count; i++) { /* from the last point on */
    if (axis_descends(tiler, access, i)) address.constant -= strides[i] * (whole[access->axes[i]] - 1);
  }
  memory.extents = extents;
  memory.strides = strides;
  memory.offset = view_offset(tiler, address);
  return add_memory(tiler, memory, array_name(tiler, access->buffer));
}

/* All elements in a row: for loads that only the Kernel's own address describes. */
static int32_t flat_view(Tiler *tiler, const TileAccess *access) {
  int64_t *extent = ARENA_NEW(tiler->arena, int64_t), *stride = ARENA_NEW(tiler->arena, int64_t);
  *extent = tiler->kernel->buffers[access->buffer].element_count;
  *stride = 1;
  PlanMemory memory = {.type = access->type, .kind = memory_kind(tiler, access->buffer), .number = access->buffer};
  memory.rank = 1;
  memory.extents = extent;
  memory.strides = stride;
  memory.offset = index_constant(0);
  return add_memory(tiler, memory, array_name(tiler, access->buffer));
}

/* Where a row buffer is spilled: one outer tile's rows. */
static int32_t temporary_view(Tiler *tiler, const TileAccess *access) {
  if (tiler->temporary_memory[access->buffer] >= 0) return tiler->temporary_memory[access->buffer];
  int64_t *extents = ARENA_NEW_ARRAY(tiler->arena, int64_t, access->axis_count);
  int64_t *strides = ARENA_NEW_ARRAY(tiler->arena, int64_t, access->axis_count), stride = 1;
  for (int32_t i = access->axis_count - 1; i >= 0; i--) {
    const KernelDim *dim = &tiler->kernel->dims[access->axes[i]];
    extents[i] = dim->stage == KERNEL_OUTER ? tiler->outline.tiling->extents[access->axes[i]] : dim->extent;
    strides[i] = stride;
    stride *= extents[i];
  }
  PlanMemory memory = {.type = access->type, .kind = PLAN_TEMPORARY, .number = (int32_t)tiler->temporaries.count};
  memory.rank = access->axis_count;
  memory.extents = extents;
  memory.strides = strides;
  memory.offset = index_constant(0);
  array_push(&tiler->temporaries, tiler->arena, stride * type_storage_bytes(access->type));
  StringView name = arena_name(tiler, "rows%d", memory.number);
  return tiler->temporary_memory[access->buffer] = add_memory(tiler, memory, name);
}

/* --- Tensors --- */

/* All Tensors live as long as the plan; the packing is that of buffer assignment. */
static Status place_tensors(Tiler *tiler, DiagSink *diag) {
  int64_t count = tiler->outline.tensors.count;
  PackingBuffer *buffers = ARENA_NEW_ARRAY(tiler->arena, PackingBuffer, count);
  for (int64_t t = 0; t < count; t++) {
    const TileTensor *tensor = &tiler->outline.tensors.data[t];
    buffers[t] =
        (PackingBuffer){.id = t, .lower = 0, .upper = 1, .size = tensor->slots * tensor->slot_bytes, .group = -1};
    buffers[t].alignment = max_i64(tiler->machine->buffer.align, 1);
  }
  PackingProblem problem = {.buffers = buffers, .count = count, .most_steps = 50000 + 2000 * count};
  PackingSolution packing;
  RETURN_IF_ERROR(packing_solve(tiler->arena, &problem, diag, &packing));
  PlanTensor *tensors = ARENA_NEW_ARRAY(tiler->arena, PlanTensor, count);
  for (int64_t t = 0; t < count; t++) {
    const TileTensor *from = &tiler->outline.tensors.data[t];
    PlanTensor *tensor = &tensors[t];
    bool is_ring = from->kind == PLAN_RING;
    int64_t *extents = ARENA_NEW_ARRAY(tiler->arena, int64_t, from->axis_count + 1);
    for (int32_t i = 0; i < from->axis_count; i++) extents[i + is_ring] = from->extents[i];
    if (is_ring) extents[0] = from->slots;
    *tensor = (PlanTensor){.type = from->type, .kind = from->kind, .rank = from->axis_count + is_ring, .parent = -1};
    tensor->extents = extents;
    tensor->slot_stride = from->slot_bytes;
    tensor->begin = packing.offsets[t];
    tensor->end = tensor->begin + buffers[t].size;
    static const char *const names[] = {"tile", "ring", "kept", "sum", "row"};
    tensor->name = arena_name(tiler, "%s%" PRId64, names[from->kind], t);
  }
  tiler->plan->tensors = tensors;
  tiler->plan->tensor_count = (int32_t)count;
  return STATUS_OK;
}

/* The instance of |loop|'s body at hand, counted over all loops around it. */
static IndexExpr linear_instance(Tiler *tiler, int32_t loop) {
  IndexSpace *space = &tiler->plan->space;
  IndexExpr sum = index_constant(0);
  int64_t inside = 1;
  for (; loop >= 0; loop = tiler->outline.loops.data[loop].parent) {
    IndexExpr iteration = index_dim(space, loop, tiler->outline.loops.data[loop].trip_count);
    sum = index_add(space, sum, index_scale(space, iteration, inside));
    inside *= tiler->outline.loops.data[loop].trip_count;
  }
  return sum;
}

/* What the tile of |access|, which holds windows once, holds along |axis|; |fills|: as tile_window_points has it. */
static PlanRange held_range(Tiler *tiler, const TileOutlineCover *cover, int32_t access, int32_t axis,
                            const TileStep *fills) {
  PlanRange points[KERNEL_MAX_DIMS];
  tile_window_points(&tiler->outline, cover->windows[access], fills, points);
  return tile_window_range(&tiler->plan->space, cover->windows[access], axis, points);
}

/* Of the same tile, what |cover| sees of it, or all that |fills| brings. */
static PlanRange window_part(Tiler *tiler, const TileOutlineCover *cover, int32_t access, int32_t axis,
                             const TileStep *fills) {
  IndexSpace *space = &tiler->plan->space;
  PlanRange held = held_range(tiler, cover, access, axis, fills), part = held;
  if (fills == NULL) part = tile_window_range(space, cover->windows[access], axis, cover->cover.points);
  bool has_rows = tile_slide_has_rows(&tiler->outline, cover->windows[access], axis);
  part.begin = has_rows ? tile_slide_row(&tiler->outline, space, fills)
                        : index_add(space, part.begin, index_scale(space, held.begin, -1));
  return part;
}

/* Along |axis| of a tile without windows: what |cover| computes with, or what |fills| brings, which is all taps where
 * others slide along them. */
static PlanRange tile_range(Tiler *tiler, const TileOutlineCover *cover, int32_t access, int32_t axis,
                            const TileStep *fills) {
  const TileSlide *slide = &tiler->outline.tiling->slide;
  const TileAccess *of = &cover->accesses.accesses[access];
  int32_t dim = of->axes[axis];
  bool is_all = slide->is_on && fills != NULL && of->kind == TILE_LOAD && dim == slide->tap;
  return is_all ? plan_range_whole(tiler->kernel->dims[dim].extent) : cover->cover.points[dim];
}

/* The slot whose turn it is. */
static IndexExpr slot_of(Tiler *tiler, const TileOutlineCover *cover, int32_t access, const TileStep *fills) {
  const TileTensor *tensor = &tiler->outline.tensors.data[cover->tensors[access]];
  IndexSpace *space = &tiler->plan->space;
  bool slides = cover->windows[access] != NULL && tiler->outline.tiling->slide.is_on;
  return slides ? tile_slide_slot(&tiler->outline, space, fills, tensor->slots)
                : index_mod(space, linear_instance(tiler, tensor->loop), tensor->slots);
}

/* The tile of |access|: of a Tensor that holds whole rows, the part that |cover| walks; of one that holds windows the
 * part that it sees, or what |fills| brings (NULL: it is computed with). */
static PlanRef tile_ref(Tiler *tiler, const TileOutlineCover *cover, int32_t access, const TileStep *fills) {
  const TileAccess *of = &cover->accesses.accesses[access];
  int32_t number = cover->tensors[access];
  const TileTensor *tensor = &tiler->outline.tensors.data[number];
  if (of->kind == TILE_UPDATED) {
    bool is_slice = tensor->kind == PLAN_RING;
    PlanRange *all = ARENA_NEW_ARRAY(tiler->arena, PlanRange, 2);
    if (is_slice) {
      IndexExpr instance = linear_instance(tiler, tensor->loop);
      all[0] = plan_range_index(index_mod(&tiler->plan->space, instance, tensor->slots));
    }
    all[is_slice] = is_slice ? tiler->outline.slice : plan_range_whole(tensor->extents[0]);
    all[is_slice].begin = index_constant(0);
    return (PlanRef){false, number, 1 + is_slice, all};
  }
  bool is_ring = tensor->kind == PLAN_RING;
  int32_t rank = tile_access_rank(of) + is_ring;
  PlanRange *ranges = ARENA_NEW_ARRAY(tiler->arena, PlanRange, rank);
  if (is_ring) ranges[0] = plan_range_index(slot_of(tiler, cover, access, fills));
  for (int32_t i = 0; i < of->axis_count; i++) {
    if (cover->windows[access] != NULL) {
      ranges[i + is_ring] = window_part(tiler, cover, access, i, fills);
      continue;
    }
    PlanRange range = tile_range(tiler, cover, access, i, fills);
    bool holds_all = tensor->extents[i] > range.extent;
    if (axis_descends(tiler, of, i)) range = from_the_end(tiler, range, tensor->extents[i]);
    if (!holds_all) range.begin = index_constant(0);
    ranges[i + is_ring] = range;
  }
  if (of->parts > 1) ranges[rank - 1] = plan_range_whole(of->parts);
  return (PlanRef){false, number, rank, ranges};
}

static PlanRef view_ref(Tiler *tiler, const TileStep *step, int32_t memory, bool is_flat) {
  const TileOutlineCover *cover = &tiler->outline.covers.data[step->cover];
  int32_t access = step->access;
  const TileAccess *of = &cover->accesses.accesses[access];
  int32_t count = is_flat ? 1 : of->axis_count, rank = is_flat ? 1 : tile_access_rank(of);
  PlanRange *ranges = ARENA_NEW_ARRAY(tiler->arena, PlanRange, rank);
  bool is_temporary = tiler->memories.data[memory].kind == PLAN_TEMPORARY;
  for (int32_t i = 0; i < count; i++) {
    if (is_flat) {
      bool is_slice = of->kind == TILE_UPDATED && tiler->outline.slice.extent > 0;
      ranges[i] = is_slice ? tiler->outline.slice : plan_range_whole(tiler->memories.data[memory].extents[0]);
      continue;
    }
    if (cover->windows[access] != NULL) {
      ranges[i] = held_range(tiler, cover, access, i, step);
      continue;
    }
    ranges[i] = tile_range(tiler, cover, access, i, step);
    if (axis_descends(tiler, of, i))
      ranges[i] = from_the_end(tiler, ranges[i], tiler->kernel->dims[of->axes[i]].extent);
    bool is_outer = tiler->kernel->dims[of->axes[i]].stage == KERNEL_OUTER;
    if (is_temporary && is_outer) ranges[i].begin = index_constant(0);
  }
  if (rank > count) ranges[count] = plan_range_whole(of->parts);
  return (PlanRef){true, memory, rank, ranges};
}

/* --- commands --- */

static PlanRef *one_ref(Tiler *tiler, PlanRef ref) {
  PlanRef *list = ARENA_NEW(tiler->arena, PlanRef);
  *list = ref;
  return list;
}

static void fill_load(Tiler *tiler, const TileStep *step, PlanCommand *command) {
  const TileOutlineCover *cover = &tiler->outline.covers.data[step->cover];
  const TileAccess *access = &cover->accesses.accesses[step->access];
  const KernelValue *value = tile_load_value(tiler->kernel, access->value);
  const TileWindows *windows = cover->windows[step->access];
  bool has_all = windows != NULL ? tile_windows_are_box(tiler->kernel, access->value, windows) : value->predicate < 0;
  bool is_box = has_all && tile_address_is_linear(tiler->kernel, value->address);
  command->verb = step->index_cover >= 0 ? PLAN_GATHERM : PLAN_LOAD;
  command->targets = one_ref(tiler, tile_ref(tiler, cover, step->access, step));
  int32_t view = is_box ? linear_view(tiler, access, windows, value->address) : flat_view(tiler, access);
  PlanRef *sources = ARENA_NEW_ARRAY(tiler->arena, PlanRef, 2);
  sources[0] = view_ref(tiler, step, view, !is_box);
  command->target_count = command->source_count = 1;
  command->sources = sources;
  if (is_box) return;
  if (step->index_cover < 0)
    view_offset(tiler, value->address); /* its starts are scalars; a gather's are in its index */
  PlanRange *points = ARENA_NEW_ARRAY(tiler->arena, PlanRange, tiler->kernel->dim_count);
  for (int32_t i = 0; i < access->axis_count; i++)
    points[access->axes[i]] = windows != NULL ? held_range(tiler, cover, step->access, i, step)
                                              : tile_range(tiler, cover, step->access, i, step);
  command->points = points;
  command->value = access->value;
  if (step->index_cover < 0) return;
  const TileOutlineCover *indices = &tiler->outline.covers.data[step->index_cover];
  sources[1] = tile_ref(tiler, indices, indices->accesses.count - 1, step);
  command->source_count = 2;
}

/* A box of |view|, or all of it in a row (|is_flat|), from or to the step's tile. */
static void set_transfer(Tiler *tiler, const TileStep *step, int32_t view, bool is_flat, PlanCommand *command) {
  const TileOutlineCover *cover = &tiler->outline.covers.data[step->cover];
  PlanRef *tile = one_ref(tiler, tile_ref(tiler, cover, step->access, step));
  PlanRef *memory = one_ref(tiler, view_ref(tiler, step, view, is_flat));
  bool loads = tile_step_loads(step->kind);
  command->verb = loads ? PLAN_LOAD : PLAN_STORE;
  command->target_count = command->source_count = 1;
  command->targets = loads ? tile : memory;
  command->sources = loads ? memory : tile;
}

/* A buffer that is updated in the Buffer, or a slice of it, at the beginning or at the end. */
static void fill_updated(Tiler *tiler, const TileStep *step, PlanCommand *command) {
  const TileOutlineCover *cover = &tiler->outline.covers.data[step->cover];
  int32_t view = flat_view(tiler, &cover->accesses.accesses[step->access]);
  set_transfer(tiler, step, view, true, command);
}

static bool is_update(const Tiler *tiler, const TileStep *step) {
  if (step->access < 0) return false;
  return tiler->outline.covers.data[step->cover].accesses.accesses[step->access].kind == TILE_UPDATED;
}

static void fill_transfer(Tiler *tiler, const TileStep *step, PlanCommand *command) {
  const TileOutlineCover *cover = &tiler->outline.covers.data[step->cover];
  const TileAccess *access = &cover->accesses.accesses[step->access];
  bool is_spill = step->kind != STEP_STORE;
  IndexExpr address = index_constant(0);
  if (!is_spill) address = tiler->kernel->stages[access->stage].stores[access->store].address;
  int32_t view = is_spill ? temporary_view(tiler, access) : linear_view(tiler, access, NULL, address);
  set_transfer(tiler, step, view, false, command);
}

/* For people: what kind of work it is. */
static PlanVerb computation_verb(const Tiler *tiler, const TileCover *cover) {
  const Kernel *kernel = tiler->kernel;
  if (kernel_sorting_stage(kernel) >= cover->first_stage) return PLAN_SORTK;
  for (int32_t f = 0; f < kernel->fold_count; f++) {
    bool is_here = kernel->folds[f].stage >= cover->first_stage && kernel->folds[f].stage <= cover->last_stage;
    if (is_here && cover->index_value < 0) return tile_fold_is_dot(kernel, f) ? PLAN_DOT : PLAN_REDUCE;
  }
  return PLAN_OP;
}

static void fill_computation(Tiler *tiler, const TileStep *step, PlanCommand *command) {
  const TileOutlineCover *cover = &tiler->outline.covers.data[step->cover];
  PlanRef *sources = ARENA_NEW_ARRAY(tiler->arena, PlanRef, cover->accesses.count);
  PlanRef *targets = ARENA_NEW_ARRAY(tiler->arena, PlanRef, cover->accesses.count);
  for (int32_t i = 0; i < cover->accesses.count; i++) {
    PlanRef ref = tile_ref(tiler, cover, i, NULL);
    if (cover->accesses.accesses[i].kind == TILE_UPDATED) command->slice = tiler->outline.slice;
    if (cover->accesses.accesses[i].is_written) {
      targets[command->target_count++] = ref;
    } else {
      sources[command->source_count++] = ref;
    }
  }
  command->verb = computation_verb(tiler, &cover->cover);
  command->sources = sources;
  command->targets = targets;
  command->points = cover->cover.points;
  command->first_stage = cover->cover.first_stage;
  command->last_stage = cover->cover.last_stage;
  command->keeps_accumulators = cover->cover.keeps_accumulators;
  command->init = cover->cover.keeps_accumulators;
  command->init_loop = cover->init_loop;
  command->index_value = cover->cover.index_value;
}

static void add_command(Tiler *tiler, int32_t step_number) {
  const TileStep *step = &tiler->outline.steps.data[step_number];
  PlanCommand command = {
      .queue = tile_step_queue(tiler->machine, step->kind), .loop = step->loop, .value = -1, .index_value = -1};
  command.init_loop = -1;
  command.hlo = tiler->kernel->source->name;
  command.loc = tiler->kernel->source->loc;
  static const char *const names[] = {"ld", "ld", "ex", "st", "st"};
  int32_t number = 0;
  for (int64_t c = 0; c < tiler->commands.count; c++) number += tiler->commands.data[c].queue == command.queue;
  command.label = arena_name(tiler, "%s%d", names[step->kind], number);
  static void (*const fills[])(Tiler *, const TileStep *, PlanCommand *) = {
      [STEP_LOAD] = fill_load,      [STEP_RELOAD] = fill_transfer, [STEP_COMPUTE] = fill_computation,
      [STEP_STORE] = fill_transfer, [STEP_SPILL] = fill_transfer,
  };
  (is_update(tiler, step) ? fill_updated : fills[step->kind])(tiler, step, &command);
  tiler->step_command[step_number] = (int32_t)tiler->commands.count;
  array_push(&tiler->commands, tiler->arena, command);
}

/* --- blocks --- */

/* The loop on the way from |outer| in to |loop|. */
static int32_t child_towards(const Tiler *tiler, int32_t outer, int32_t loop) {
  while (tiler->outline.loops.data[loop].parent != outer) loop = tiler->outline.loops.data[loop].parent;
  return loop;
}

static bool is_inside(const Tiler *tiler, int32_t loop, int32_t outer) {
  while (loop >= 0 && loop != outer) loop = tiler->outline.loops.data[loop].parent;
  return loop == outer;
}

/* Steps from |*step| on that stand in |loop| or deeper. */
static PlanBlock make_block(Tiler *tiler, PlanLoop *loops, int32_t loop, int32_t *step) {
  ARRAY(PlanNode) nodes = {0};
  while (*step < tiler->outline.steps.count && is_inside(tiler, tiler->outline.steps.data[*step].loop, loop)) {
    int32_t at = tiler->outline.steps.data[*step].loop;
    if (at == loop) {
      add_command(tiler, *step);
      array_push(&nodes, tiler->arena, ((PlanNode){PLAN_NODE_COMMAND, tiler->step_command[(*step)++]}));
      continue;
    }
    int32_t inner = child_towards(tiler, loop, at);
    array_push(&nodes, tiler->arena, ((PlanNode){PLAN_NODE_LOOP, inner}));
    loops[inner].body = make_block(tiler, loops, inner, step);
  }
  return (PlanBlock){(int32_t)nodes.count, nodes.data};
}

static Status make_commands(Tiler *tiler, DiagSink *diag) {
  Plan *plan = tiler->plan;
  int32_t count = (int32_t)tiler->outline.loops.count, step = 0;
  PlanLoop *loops = ARENA_NEW_ARRAY(tiler->arena, PlanLoop, count);
  for (int32_t l = 0; l < count; l++) {
    const TileLoop *from = &tiler->outline.loops.data[l];
    loops[l] = (PlanLoop){.name = arena_name(tiler, "i%d", l), .trip_count = from->trip_count, .parent = from->parent};
  }
  plan->loops = loops;
  plan->loop_count = count;
  tiler->step_command = ARENA_NEW_ARRAY(tiler->arena, int32_t, tiler->outline.steps.count);
  plan->block = make_block(tiler, loops, -1, &step);
  XLAC_CHECK(step == tiler->outline.steps.count);
  plan->scalars = tiler->scalars.data;
  plan->scalar_count = (int32_t)tiler->scalars.count;
  plan->memories = tiler->memories.data;
  plan->memory_count = (int32_t)tiler->memories.count;
  plan->temporary_bytes = tiler->temporaries.data;
  plan->temporary_count = tiler->temporaries.count;
  plan->commands = tiler->commands.data;
  plan->command_count = (int32_t)tiler->commands.count;
  if (tiler->outline.tiling->slide.is_on || tiler->outline.tiling->in_place)
    return plan_edges_derive_any(plan, tiler->machine, tiler->commands.data, diag);
  if (tiler->is_trial && plan_edges_derive_all(plan, tiler->machine, tiler->commands.data)) return STATUS_OK;
  return plan_edges_derive(plan, tiler->machine, tiler->commands.data, diag);
}

/* --- the whole --- */

static Status make_plan(Tiler *tiler, StringView name, DiagSink *diag) {
  Plan *plan = ARENA_NEW(tiler->arena, Plan);
  *plan = (Plan){.arena = tiler->arena, .space = tiler->outline.space, .name = name, .kernel = tiler->kernel};
  plan->loc = tiler->kernel->source->loc;
  plan->buffer_bytes = machine_buffer_usable(tiler->machine);
  plan->estimate = tiler->outline.tiling->cycles;
  plan->alignment = max_i64(tiler->machine->buffer.align, 1);
  tiler->plan = plan;
  tiler->temporary_memory = ARENA_NEW_ARRAY(tiler->arena, int32_t, tiler->kernel->buffer_count);
  for (int32_t b = 0; b < tiler->kernel->buffer_count; b++) tiler->temporary_memory[b] = -1;
  RETURN_IF_ERROR(place_tensors(tiler, diag));
  return make_commands(tiler, diag);
}

Status tiler_simulate(const Plan *plan, const MachineDescription *machine, DiagSink *diag, double *out_cycles) {
  Arena *scratch = arena_create();
  CommandStream stream;
  Status status = plan_stream_make_timed(scratch, plan, machine, diag, &stream);
  if (status == STATUS_OK) *out_cycles = queue_simulation_run(scratch, scratch, &stream, machine).cycles;
  arena_destroy(scratch);
  return status;
}

int32_t tiler_effort(const TilerOptions *options) {
  return options->effort > 0 ? options->effort : TILER_DEFAULT_EFFORT;
}

TilingScope tiler_scope(const Kernel *kernel, const MachineDescription *machine, const TilerOptions *options,
                        int32_t depth) {
  return (TilingScope){.kernel = kernel,
                       .machine = machine,
                       .buffer_bytes = machine_buffer_usable(machine),
                       .depth = depth,
                       .effort = tiler_effort(options)};
}

static Status try_spread(const Tiler *tiler, DiagSink *diag, Plan **best, double *least) {
  Plan *plan;
  double cycles;
  RETURN_IF_ERROR(plan_spread(tiler->arena, tiler->plan, tiler->machine, diag, &plan));
  if (plan_instance_count(plan) > MOST_SIMULATED) {
    *best = plan;
    return STATUS_OK;
  }
  RETURN_IF_ERROR(tiler_simulate(plan, tiler->machine, diag, &cycles));
  if (cycles >= *least) return STATUS_OK;
  *best = plan;
  *least = cycles;
  return STATUS_OK;
}

/* Several queues of a kind do more at once, if rings have slots for that: what is fastest in the simulation, and for
 * plans that take long in it the deepest rings. */
static Status use_spare_queues(Tiler *tiler, const TilerOptions *options, DiagSink *diag) {
  if (!machine_has_spare_queues(tiler->machine)) return STATUS_OK;
  Plan *best = tiler->plan;
  double least = INFINITY;
  if (plan_instance_count(best) <= MOST_SIMULATED) RETURN_IF_ERROR(tiler_simulate(best, tiler->machine, diag, &least));
  RETURN_IF_ERROR(try_spread(tiler, diag, &best, &least));
  Arena *scratch = arena_create();
  DiagSink quiet;
  diag_sink_init(&quiet, scratch);
  Tiling *tiling = ARENA_NEW(tiler->arena, Tiling);
  Status status = STATUS_EXHAUSTED;
  TilingScope scope = tiler_scope(tiler->kernel, tiler->machine, options, 2 * tiler->outline.tiling->depth);
  if (options->pipeline_depth == 0) status = tiling_search(tiler->arena, &scope, &quiet, tiling);
  arena_destroy(scratch);
  if (status == STATUS_OK) {
    Tiler deep = {.arena = tiler->arena, .kernel = tiler->kernel, .machine = tiler->machine};
    tile_outline_make(tiler->arena, tiler->kernel, tiler->machine, tiling, &deep.outline);
    RETURN_IF_ERROR(make_plan(&deep, tiler->plan->name, diag));
    RETURN_IF_ERROR(try_spread(&deep, diag, &best, &least));
  }
  tiler->plan = best;
  return STATUS_OK;
}

/* Where loads share a queue with stores they are issued ahead, if that is faster in the simulation; plans that take
 * long in it are, where tiles have slots for it. */
static Status issue_ahead(Tiler *tiler, DiagSink *diag) {
  if (!machine_shares_queue(tiler->machine) || tiler->outline.loops.count == 0) return STATUS_OK;
  Plan *plan;
  bool is_enough;
  double before, after;
  RETURN_IF_ERROR(plan_ahead(tiler->arena, tiler->plan, tiler->machine, diag, &plan));
  RETURN_IF_ERROR(plan_edges_find_flags(plan, tiler->machine, diag, &is_enough));
  if (!is_enough) return STATUS_OK;
  if (plan_instance_count(plan) <= MOST_SIMULATED) {
    RETURN_IF_ERROR(tiler_simulate(tiler->plan, tiler->machine, diag, &before));
    RETURN_IF_ERROR(tiler_simulate(plan, tiler->machine, diag, &after));
    if (after >= before) return STATUS_OK;
  }
  tiler->plan = plan;
  return STATUS_OK;
}

/* A machine with few flags gets shallower rings, and at last a plan that does one command after the other. */
static Status fit_flags(Tiler *tiler, const TilerOptions *options, DiagSink *diag) {
  bool is_enough;
  RETURN_IF_ERROR(plan_edges_find_flags(tiler->plan, tiler->machine, diag, &is_enough));
  if (is_enough) return STATUS_OK;
  const Tiler deep = *tiler;
  int32_t depth = tiler->outline.tiling->depth;
  while (!is_enough && options->pipeline_depth == 0 && --depth > 0) {
    Tiling *tiling = ARENA_NEW(tiler->arena, Tiling);
    TilingScope scope = tiler_scope(tiler->kernel, tiler->machine, options, depth);
    RETURN_IF_ERROR(tiling_search(tiler->arena, &scope, diag, tiling));
    *tiler = (Tiler){.arena = tiler->arena, .kernel = tiler->kernel, .machine = tiler->machine};
    tile_outline_make(tiler->arena, tiler->kernel, tiler->machine, tiling, &tiler->outline);
    RETURN_IF_ERROR(make_plan(tiler, deep.plan->name, diag));
    RETURN_IF_ERROR(plan_edges_find_flags(tiler->plan, tiler->machine, diag, &is_enough));
  }
  if (is_enough) return STATUS_OK;
  diag_warning(diag, tiler->kernel->source->loc, "oncore-flags",
               "'%.*s' is computed by one command after the other: %" PRId64
               " flags between two queues are too few for more",
               SV_ARG(deep.plan->name), tiler->machine->sync.ids);
  plan_edges_serialise(tiler->plan, tiler->machine, tiler->commands.data);
  return STATUS_OK;
}

Status tiler_plan_tiling(Arena *arena, const TilerRequest *request, const Tiling *tiling, bool is_trial, DiagSink *diag,
                         const Plan **out_plan) {
  Tiling *kept = ARENA_NEW(arena, Tiling);
  *kept = *tiling;
  Tiler tiler = {.arena = arena, .kernel = request->kernel, .machine = request->machine, .is_trial = is_trial};
  tile_outline_make(arena, request->kernel, request->machine, kept, &tiler.outline);
  RETURN_IF_ERROR(make_plan(&tiler, request->name, diag));
  RETURN_IF_ERROR(fit_flags(&tiler, request->options, diag));
  RETURN_IF_ERROR(use_spare_queues(&tiler, request->options, diag));
  RETURN_IF_ERROR(issue_ahead(&tiler, diag));
  *out_plan = tiler.plan;
  return STATUS_OK;
}
