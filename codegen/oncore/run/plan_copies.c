#include "codegen/oncore/run/plan_copies.h"

#include "base/checked_math.h"
#include "codegen/oncore/plan/tile_access.h"
#include "codegen/oncore/plan/tile_cost.h"
#include "codegen/oncore/plan/tile_seen.h"

/* --- views of residents --- */

/* Each run-time number moves the box along the axis of the largest stride for which it stays within the array. */
static bool terms_move_box(const Plan *plan, const PlanMemory *view, HeldView *out_view) {
  int64_t last[KERNEL_MAX_DIMS];
  if (view->offset.term_count > KERNEL_MAX_DIMS) return false;
  for (int32_t i = 0; i < view->rank; i++) last[i] = out_view->first[i] + view->extents[i];
  for (int32_t t = 0; t < view->offset.term_count; t++) {
    const IndexTerm *term = &view->offset.terms[t];
    const IndexAtom *atom = &plan->space.atoms.data[term->atom];
    if (atom->kind != INDEX_ATOM_VALUE || atom->lower < 0 || term->coefficient <= 0) return false;
    int64_t stride = 1;
    out_view->term_axes[t] = -1;
    for (int32_t i = view->rank - 1; i >= 0; i--) {
      int64_t step = term->coefficient / stride;
      bool divides = term->coefficient % stride == 0 && atom->upper <= out_view->extents[i] / step;
      if (divides && last[i] + atom->upper * step <= out_view->extents[i]) {
        out_view->term_axes[t] = i;
        out_view->term_steps[t] = step;
      }
      stride *= out_view->extents[i];
    }
    if (out_view->term_axes[t] < 0) return false;
    last[out_view->term_axes[t]] += atom->upper * out_view->term_steps[t];
  }
  return true;
}

/* The outermost axis, along which run-time numbers move the view, is as long as the array. */
static bool reaches_all(const PlanMemory *view, int64_t whole, int64_t stride, int32_t outer, HeldView *out_view) {
  int32_t axis = outer >= 0 ? outer : view->rank - 1;
  if (axis < 0 || whole % stride != 0 || out_view->base % stride != 0) return false;
  out_view->extents[axis] = whole / stride;
  out_view->first[axis] = out_view->base / stride;
  out_view->base = 0;
  return true;
}

bool plan_held_view(const Plan *plan, const PlanMemory *view, HeldView *out_view) {
  int64_t offset = view->offset.constant, stride = 1, whole = plan->kernel->buffers[view->number].element_count;
  int32_t inner = -1;
  if (offset < 0) return false;
  int64_t rest = offset;
  for (int32_t i = view->rank - 1; i >= 0; i--) {
    out_view->extents[i] = 1;
    out_view->first[i] = 0;
    if (view->extents[i] == 1) continue;
    if (inner < 0 && view->strides[i] != 1) return false;
    if (inner >= 0) {
      if (view->strides[i] % stride != 0) return false;
      out_view->extents[inner] = view->strides[i] / stride;
      out_view->first[inner] = offset / stride % out_view->extents[inner];
      if (out_view->first[inner] + view->extents[inner] > out_view->extents[inner]) return false;
      rest -= out_view->first[inner] * stride;
    }
    stride = view->strides[i];
    if (stride <= 0) return false;
    inner = i;
  }
  out_view->base = rest;
  if (view->offset.term_count > 0)
    return reaches_all(view, whole, stride, inner, out_view) && terms_move_box(plan, view, out_view);
  if (inner >= 0) out_view->extents[inner] = view->extents[inner];
  return rest + (inner >= 0 ? view->extents[inner] * stride : 1) <= whole;
}

static bool is_of(const Plan *plan, const PlanRef *ref, int32_t buffer) {
  if (!ref->is_memory) return false;
  const PlanMemory *view = &plan->memories[ref->number];
  return view->kind != PLAN_TEMPORARY && view->number == buffer;
}

/* The side of |command| that is in memory and of |buffer|; NULL: there is none. */
static const PlanRef *memory_side(const Plan *plan, const PlanCommand *command, int32_t buffer) {
  for (int32_t i = 0; i < command->source_count; i++) {
    if (is_of(plan, &command->sources[i], buffer)) return &command->sources[i];
  }
  for (int32_t i = 0; i < command->target_count; i++) {
    if (is_of(plan, &command->targets[i], buffer)) return &command->targets[i];
  }
  return NULL;
}

/* --- tiles that are copies --- */

static bool begins_at_zero(const PlanRef *ref, int32_t from) {
  for (int32_t i = from; i < ref->range_count; i++) {
    int64_t begin;
    if (!index_is_constant(ref->ranges[i].begin, &begin) || begin != 0) return false;
  }
  return true;
}

static int32_t slot_axes(const Plan *plan, int32_t tensor) {
  return plan->tensors[tensor].kind == PLAN_RING ? 1 : 0;
}

bool plan_loads_memory(const PlanCommand *command) {
  return command->verb == PLAN_LOAD || command->verb == PLAN_GATHERM;
}

int32_t plan_count_refs(const PlanRef *refs, int32_t count, int32_t tensor) {
  int32_t found = 0;
  for (int32_t i = 0; i < count; i++) found += !refs[i].is_memory && refs[i].number == tensor;
  return found;
}

int32_t plan_storing_stage(const Kernel *kernel, int32_t buffer) {
  for (int32_t s = 0; s < kernel->stage_count; s++) {
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++)
      if (kernel->stages[s].stores[i].buffer == buffer) return s;
  }
  XLAC_BUG("a result that no stage stores");
}

bool plan_stores_fold(const Plan *plan, const PlanCommand *command) {
  if (command->verb != PLAN_STORE) return false;
  const PlanMemory *view = &plan->memories[command->targets[0].number];
  if (view->kind == PLAN_TEMPORARY) return false;
  if (tile_stored_fold(plan->kernel, plan_storing_stage(plan->kernel, view->number)) < 0) return false;
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *other = &plan->commands[c];
    bool fills = plan_count_refs(other->targets, other->target_count, command->sources[0].number) > 0;
    if (fills && other->keeps_accumulators) return true;
  }
  return false;
}

/* Whether |tile| comes by one load, is overwritten by one operation that reads it, and leaves by one store: then what
 * it holds before is a copy of the one array, and after it of the other. */
static bool is_used_in_place(const Plan *plan, const PlanRef *tile) {
  int32_t loads = 0, stores = 0, operations = 0;
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    int32_t reads = plan_count_refs(command->sources, command->source_count, tile->number);
    int32_t writes = plan_count_refs(command->targets, command->target_count, tile->number);
    if (reads + writes == 0) continue;
    if (command->verb == PLAN_GATHERM) return false;
    loads += command->verb == PLAN_LOAD;
    stores += command->verb == PLAN_STORE;
    if (command->verb == PLAN_LOAD || command->verb == PLAN_STORE) continue;
    if (reads != 1 || writes != 1 || command->slice.extent > 0) return false;
    operations++;
  }
  return loads == 1 && stores == 1 && operations == 1;
}

/* Whether |tile| is summed up, overwritten by one operation that reads the sums, and leaves by one store in |loop|:
 * what it holds is of one part of the result all the time. */
static bool is_summed_in_place(const Plan *plan, const PlanRef *tile, int32_t loop) {
  int32_t sums = 0, operations = 0, stores = 0;
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    int32_t reads = plan_count_refs(command->sources, command->source_count, tile->number);
    int32_t writes = plan_count_refs(command->targets, command->target_count, tile->number);
    if (reads + writes == 0) continue;
    if (plan_loads_memory(command) || command->slice.extent > 0) return false;
    if (!plan_loop_is_inside(plan, command->loop, loop)) return false;
    bool is_store = command->verb == PLAN_STORE, is_sum = command->keeps_accumulators && reads == 0;
    if (!is_store && !is_sum && (reads != 1 || writes != 1)) return false;
    stores += is_store;
    sums += is_sum;
    operations += !is_store && !is_sum;
  }
  return sums > 0 && operations == 1 && stores == 1;
}

bool plan_sums_in_place(const Plan *plan, const PlanCommand *command) {
  return command->verb == PLAN_STORE && is_summed_in_place(plan, &command->sources[0], command->loop);
}

/* Whether |tile| has all of an array that is updated as by a scatter: it comes by one load, operations go on from what
 * they find there, and it leaves by one store. */
static bool is_updated_whole(const Plan *plan, const PlanRef *tile) {
  int32_t loads = 0, stores = 0;
  if (plan->tensors[tile->number].kind != PLAN_ACCUMULATOR) return false;
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    bool reads = plan_count_refs(command->sources, command->source_count, tile->number) > 0;
    bool writes = plan_count_refs(command->targets, command->target_count, tile->number) > 0;
    if (!reads && !writes) continue;
    loads += command->verb == PLAN_LOAD;
    stores += command->verb == PLAN_STORE;
    const PlanRef *part = command->verb == PLAN_LOAD ? &command->sources[0] : &command->targets[0];
    if (command->verb == PLAN_LOAD || command->verb == PLAN_STORE) {
      const PlanMemory *view = &plan->memories[part->number];
      if (view->kind == PLAN_TEMPORARY || !tile_is_updated(plan->kernel, view->number) || command->loop >= 0)
        return false;
    } else if (reads || command->slice.extent > 0) {
      return false;
    }
  }
  return loads == 1 && stores == 1;
}

/* Of the tile of transfer |number|: nobody else moves it, one command fills it, or several that go on from one
 * another's folds, and who works on it does so while it is the tile of the same part of the array; or it is used in
 * place. */
static bool is_plain_copy(const Plan *plan, int32_t number) {
  const PlanCommand *transfer = &plan->commands[number];
  bool loads = transfer->verb == PLAN_LOAD;
  const PlanRef *tile = loads ? &transfer->targets[0] : &transfer->sources[0];
  const PlanRef *part = loads ? &transfer->sources[0] : &transfer->targets[0];
  int32_t axes = slot_axes(plan, tile->number), fillers = 0;
  if (is_updated_whole(plan, tile)) return true;
  PlanTensorKind kind = plan->tensors[tile->number].kind;
  bool is_tile = kind == PLAN_RING || kind == PLAN_RESIDENT || (kind == PLAN_ACCUMULATOR && !loads);
  if (!is_tile || plan->tensors[tile->number].is_alias) return false;
  if (tile->range_count - axes != part->range_count || !begins_at_zero(tile, axes)) return false;
  if (plan_sums_in_place(plan, transfer)) return true;
  bool in_place = is_used_in_place(plan, tile);
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    int32_t reads = plan_count_refs(command->sources, command->source_count, tile->number);
    int32_t writes = plan_count_refs(command->targets, command->target_count, tile->number);
    if (reads + writes == 0) continue;
    bool goes_on = fillers > 0 && command->keeps_accumulators && !command->init;
    fillers += goes_on ? 0 : writes;
    if (c == number || in_place) continue;
    bool moves = command->verb == PLAN_LOAD || command->verb == PLAN_STORE || command->verb == PLAN_GATHERM;
    bool is_expected = loads ? writes == 0 : reads == 0 && command->slice.extent == 0;
    if (moves || !is_expected || !plan_loop_is_inside(plan, command->loop, transfer->loop)) return false;
  }
  return in_place || fillers == 1;
}

/* --- tiles for arrays that are seen where they are --- */

/* Whether computation |command| reads |tile| as that of load |value|. */
static bool reads_as_load(const Plan *plan, const PlanCommand *command, int32_t tile, int32_t value) {
  if (command->points == NULL || command->value >= 0 || command->index_value >= 0) return false;
  TileCover cover = {command->points, command->first_stage, command->last_stage, command->keeps_accumulators, -1};
  Arena *scratch = arena_create();
  TileAccesses accesses = tile_accesses(scratch, plan->kernel, &cover);
  int32_t place = tile_access_of_load(plan->kernel, &cover, &accesses, value);
  bool is_it = place >= 0;
  for (int32_t a = 0, source = 0; a < accesses.count && is_it; a++) {
    if (accesses.accesses[a].is_written) continue;
    const PlanRef *ref = &command->sources[source++];
    is_it = a == place ? !ref->is_memory && ref->number == tile : ref->is_memory || ref->number != tile;
  }
  arena_destroy(scratch);
  return is_it;
}

bool plan_may_see(const Plan *plan, int32_t number) {
  const PlanCommand *load = &plan->commands[number];
  int32_t tile = load->targets[0].number;
  if (load->verb != PLAN_LOAD || load->value < 0 || plan->tensors[tile].is_alias) return false;
  if (!tile_may_see(plan->kernel, load->value)) return false;
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    bool loads = command->verb == PLAN_LOAD && command->value == load->value;
    bool writes = plan_count_refs(command->targets, command->target_count, tile) > 0;
    bool reads = plan_count_refs(command->sources, command->source_count, tile) > 0;
    if ((writes && !loads) || (reads && !reads_as_load(plan, command, tile, load->value))) return false;
  }
  return true;
}

/* --- tiles that are brought --- */

/* Instances of a load: more than FEW_BROUGHT are a stream, beside which operations go on. */
enum { MOST_BROUGHT = 32, FEW_BROUGHT = 8 };

/* The one command that reads |tile|, a computation in |loop|, and which of its sources that is; -1: there is none. */
static int32_t only_reader(const Plan *plan, int32_t tile, int32_t loop, int32_t *out_source) {
  int32_t reader = -1;
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    int32_t reads = plan_count_refs(command->sources, command->source_count, tile);
    if (reads == 0) continue;
    bool computes = command->points != NULL && command->verb != PLAN_GATHERM && command->value < 0;
    if (reader >= 0 || reads > 1 || !computes || command->index_value >= 0 || command->loop != loop) return -1;
    reader = c;
    while (command->sources[*out_source].is_memory || command->sources[*out_source].number != tile) (*out_source)++;
  }
  return reader;
}

/* The Kernel's load that source |source| of computation |command| is the tile of; -1: it is of none. */
static int32_t load_of_source(const Plan *plan, const PlanCommand *command, int32_t source) {
  TileCover cover = {command->points, command->first_stage, command->last_stage, command->keeps_accumulators,
                     command->index_value};
  Arena *scratch = arena_create();
  TileAccesses accesses = tile_accesses(scratch, plan->kernel, &cover);
  int32_t value = -1;
  for (int32_t a = 0, place = 0; a < accesses.count; a++) {
    const TileAccess *access = &accesses.accesses[a];
    if (access->is_written || place++ != source) continue;
    if (access->kind == TILE_LOAD) value = access->value;
  }
  arena_destroy(scratch);
  return value;
}

/* A computation that reads |tile|; -1: there is none, or the tile is also used otherwise than by commands for points.
 */
static int32_t some_reader(const Plan *plan, int32_t tile) {
  int32_t reader = -1;
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    if (plan_count_refs(command->sources, command->source_count, tile) == 0) continue;
    if (command->points == NULL || command->value >= 0) return -1;
    if (reader < 0) reader = c;
  }
  return reader;
}

bool plan_may_bring(const Plan *plan, int32_t number, int32_t *out_value, int32_t *out_reader) {
  const PlanCommand *load = &plan->commands[number];
  if (!plan_loads_memory(load) || plan_loop_instances(plan, load->loop) > MOST_BROUGHT) return false;
  const PlanRef *tile = &load->targets[0];
  int32_t source = 0, axes[KERNEL_MAX_DIMS];
  if (plan->tensors[tile->number].is_alias || !begins_at_zero(tile, slot_axes(plan, tile->number))) return false;
  bool has_points = load->verb == PLAN_LOAD && load->value >= 0;
  *out_reader = has_points ? some_reader(plan, tile->number) : only_reader(plan, tile->number, load->loop, &source);
  if (*out_reader < 0) return false;
  *out_value = load->value >= 0 ? load->value : load_of_source(plan, &plan->commands[*out_reader], source);
  if (*out_value < 0 || !tile_may_bring(plan->kernel, *out_value, load->verb == PLAN_GATHERM)) return false;
  TileWindows windows;
  bool is_window = tile_load_windows(plan->kernel, *out_value, &windows);
  int32_t count = tile_load_axes(plan->kernel, *out_value, axes);
  return (load->value >= 0 || !is_window) && tile->range_count - slot_axes(plan, tile->number) == count;
}

bool plan_is_copy(const Plan *plan, int32_t number) {
  const PlanCommand *command = &plan->commands[number];
  const PlanRef *side = command->verb == PLAN_LOAD ? &command->sources[0] : &command->targets[0];
  HeldView view;
  return command->value < 0 && plan_held_view(plan, &plan->memories[side->number], &view) &&
         is_plain_copy(plan, number);
}

static bool has_start(const Kernel *kernel, int32_t value) {
  IndexExpr address = tile_load_value(kernel, value)->address;
  bool found = false;
  for (int i = 0; i < address.term_count; i++)
    found = found || kernel->space.atoms.data[address.terms[i].atom].kind == INDEX_ATOM_VALUE;
  return found;
}

double plan_brought_cycles(const Plan *plan, const MachineDescription *machine, int32_t buffer, bool sees,
                           bool *out_is_at_run_time) {
  double cycles = 0;
  *out_is_at_run_time = false;
  Arena *scratch = arena_create();
  DiagSink quiet;
  diag_sink_init(&quiet, scratch);
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    int32_t value, reader;
    if (!plan_loads_memory(command) || memory_side(plan, command, buffer) == NULL || plan_is_copy(plan, c)) continue;
    if ((sees && plan_may_see(plan, c)) || !plan_may_bring(plan, c, &value, &reader)) continue;
    *out_is_at_run_time = *out_is_at_run_time || (command->verb == PLAN_LOAD && has_start(plan->kernel, value));
    const PlanRef *tile = &command->targets[0];
    int64_t extents[KERNEL_MAX_DIMS];
    double each;
    int32_t first = slot_axes(plan, tile->number);
    for (int32_t i = first; i < tile->range_count; i++) extents[i - first] = tile->ranges[i].extent;
    if (tile_bring_cycles(plan->kernel, machine, value, extents, &quiet, &each) != STATUS_OK) continue;
    each += (double)machine->queues[plan->commands[reader].queue].setup;
    cycles += each * (double)plan_loop_instances(plan, command->loop);
  }
  arena_destroy(scratch);
  return cycles;
}

enum { AGAIN = 4 }; /* more than one of so many parts of the array is more than halos */

bool plan_loads_again(const Plan *plan, int32_t buffer) {
  const KernelBuffer *of = &plan->kernel->buffers[buffer];
  int64_t element = type_storage_bytes(of->type), whole = of->element_count * element, bytes = 0;
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    if (!plan_loads_memory(command) || !is_of(plan, &command->sources[0], buffer)) continue;
    const PlanRef *tile = &command->targets[0];
    int64_t each = element;
    for (int32_t i = slot_axes(plan, tile->number); i < tile->range_count; i++) each *= tile->ranges[i].extent;
    bytes += each * plan_loop_instances(plan, command->loop);
  }
  return whole <= plan->buffer_bytes && bytes - whole > whole / AGAIN;
}

bool plan_brings_stream(const Plan *plan, int32_t buffer, bool sees) {
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    if (!plan_loads_memory(command) || memory_side(plan, command, buffer) == NULL || plan_is_copy(plan, c)) continue;
    if (plan_loop_instances(plan, command->loop) > FEW_BROUGHT && !(sees && plan_may_see(plan, c))) return true;
  }
  return false;
}

/* Operands stand before what is computed of them. */
bool plan_reads_at_entry(const Plan *plan, int32_t buffer) {
  const Kernel *kernel = plan->kernel;
  bool reads = false;
  if (plan->scalar_count == 0) return false;
  Arena *scratch = arena_create();
  bool *needed = ARENA_NEW_ARRAY(scratch, bool, kernel->value_count);
  for (int32_t s = 0; s < plan->scalar_count; s++) needed[plan->scalars[s].value] = true;
  for (int32_t v = kernel->value_count - 1; v >= 0; v--) {
    const KernelValue *value = &kernel->values[v];
    if (!needed[v]) continue;
    reads = reads || (value->kind == KERNEL_LOAD && value->buffer == buffer);
    for (int i = 0; value->kind == KERNEL_APPLY && i < value->operand_count; i++) needed[value->operands[i]] = true;
    if (value->kind == KERNEL_LOAD && value->address.term_count > 0) reads = true;
  }
  arena_destroy(scratch);
  return reads;
}

bool plan_sees(const Plan *plan, int32_t buffer) {
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    bool loads = plan_loads_memory(command) && memory_side(plan, command, buffer) != NULL;
    if (loads && !plan_is_copy(plan, c) && plan_may_see(plan, c)) return true;
  }
  return false;
}

bool plan_may_keep(const Plan *plan, int32_t buffer, bool sees) {
  KernelBufferRole role = plan->kernel->buffers[buffer].role;
  int32_t transfers = 0;
  if (role != KERNEL_OPERAND && role != KERNEL_RESULT && role != KERNEL_IN_PLACE) return false;
  if (plan_reads_at_entry(plan, buffer)) return false;
  bool is_part = role == KERNEL_RESULT &&
                 tile_stored_elements(plan->kernel, buffer) != plan->kernel->buffers[buffer].element_count;
  if (is_part) return false; /* another Kernel makes the rest */
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    const PlanRef *side = memory_side(plan, command, buffer);
    int32_t value, reader;
    if (command->verb == PLAN_BARRIER) return false;
    if (side == NULL) continue;
    bool loads = role != KERNEL_RESULT && plan_loads_memory(command);
    bool stores = role != KERNEL_OPERAND && command->verb == PLAN_STORE;
    if (!loads && !stores) return false;
    bool may_go =
        plan_is_copy(plan, c) ||
        (role == KERNEL_OPERAND && ((sees && plan_may_see(plan, c)) || plan_may_bring(plan, c, &value, &reader)));
    if (!may_go) return false;
    transfers++;
  }
  return transfers > 0;
}

/* Whether a load before |number| fills |tile| as well. */
static bool is_filled_before(const Plan *plan, int32_t tile, int32_t number) {
  for (int32_t c = 0; c < number; c++)
    if (plan->commands[c].verb == PLAN_LOAD && plan->commands[c].targets[0].number == tile) return true;
  return false;
}

int64_t plan_summed_bytes(const Plan *plan, int32_t buffer) {
  int64_t bytes = 0;
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    if (memory_side(plan, command, buffer) == NULL || !plan_sums_in_place(plan, command)) continue;
    const PlanTensor *tensor = &plan->tensors[command->sources[0].number];
    bytes += align_up(tensor->end - tensor->begin, plan->alignment);
  }
  return bytes;
}

int64_t plan_copied_bytes(const Plan *plan, int32_t buffer, bool sees) {
  int64_t bytes = 0;
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    if (memory_side(plan, command, buffer) == NULL) continue;
    const PlanRef *tile = command->verb == PLAN_LOAD ? &command->targets[0] : &command->sources[0];
    const PlanTensor *tensor = &plan->tensors[tile->number];
    if (plan_stores_fold(plan, command) || (!plan_is_copy(plan, c) && !(sees && plan_may_see(plan, c)))) continue;
    if (is_used_in_place(plan, tile)) continue;                                /* the other array may still need it */
    if (command->verb == PLAN_STORE && is_updated_whole(plan, tile)) continue; /* counted where it is loaded */
    if (is_filled_before(plan, tile->number, c)) continue;                     /* so is this */
    bytes += align_up(tensor->end - tensor->begin, plan->alignment);
  }
  return bytes;
}
