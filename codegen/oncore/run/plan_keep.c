#include "codegen/oncore/run/plan_keep.h"

#include "base/checked_math.h"
#include "codegen/oncore/plan/tile_access.h"
#include "codegen/oncore/run/plan_copies.h"
#include "codegen/oncore/run/plan_split.h"
#include "codegen/oncore/tiling/plan_edges.h"

/* --- the plan under an interface --- */

typedef struct Keeper {
  Arena *arena;
  const Plan *old;
  const PlanInterface *interface;
  Plan *plan;
  int32_t *load;        /* by old Tensor: the load that its tile is a copy by, -1: that of no resident */
  int32_t *store;       /* the same of a store; a tile that is used in place may have both */
  int32_t *sum;         /* |store| as what sums up has it: -1 as well where sums are made in a tile nevertheless */
  bool *stays;          /* by old Tensor: another array's transfer needs it */
  int32_t *new_tensor;  /* by old Tensor; -1: gone */
  int32_t *new_memory;  /* by old view; -1: gone */
  int32_t *new_command; /* by old command; -1: gone */
  int32_t *view_tensor; /* by old view of a resident */
  HeldView *views;      /* by old view */
  bool *is_seen;        /* by old view: commands see the array in the Buffer so */
  bool *brings;         /* by old command: a load that is made within the Buffer */
  bool *is_spared;      /* by old command: a load that goes, since what would read its tile sees the array */
  bool *loads_tiles;    /* by resident: the plan loads it tile by tile, each once */
  ARRAY(PlanTensor) tensors;
  ARRAY(PlanMemory) memories;
  ARRAY(PlanCommand) commands;
} Keeper;

/* -1: |buffer| is not resident. */
static int32_t resident_of(const Keeper *keeper, int32_t buffer) {
  for (int32_t r = 0; r < keeper->interface->count; r++) {
    if (keeper->interface->residents[r].buffer == buffer) return r;
  }
  return -1;
}

static int64_t elements_of(const Keeper *keeper, const PlanResident *resident) {
  return resident->elements > 0 ? resident->elements : keeper->old->kernel->buffers[resident->buffer].element_count;
}

/* Of the array that a transfer moves, or the part of it; -1: what it moves is not resident. */
static int32_t resident_moved(const Keeper *keeper, const PlanCommand *command) {
  bool loads = plan_loads_memory(command);
  if (!loads && command->verb != PLAN_STORE) return -1;
  const PlanRef *side = loads ? &command->sources[0] : &command->targets[0];
  const PlanMemory *view = &keeper->old->memories[side->number];
  int32_t r = view->kind == PLAN_TEMPORARY ? -1 : resident_of(keeper, view->number);
  if (r < 0 || keeper->interface->residents[r].elements == 0) return r;
  return plan_moves_part(keeper->old, command, &keeper->interface->residents[r]) ? r : -1;
}

static bool has_term(const IndexSpace *space, IndexExpr expr, int32_t loop) {
  return index_dim_coefficient(space, expr, loop) != 0;
}

/* Elements that load |command| brings of a part; more where its tiles are not all of one size. */
static int64_t elements_brought(const Plan *plan, const PlanCommand *command) {
  int64_t elements = plan_loop_instances(plan, command->loop);
  for (int32_t i = 0; i < command->sources[0].range_count; i++) elements *= command->sources[0].ranges[i].extent;
  return elements;
}

/* Whether load |command| brings each element of |resident| once: another part in each iteration, and all of it. */
static bool brings_all_once(const Plan *plan, const PlanCommand *command, const HeldView *view,
                            const PlanResident *resident) {
  const PlanRef *part = &command->sources[0];
  const PlanMemory *memory = &plan->memories[part->number];
  int64_t elements = 1;
  for (int32_t i = 0; i < memory->rank; i++) {
    if (resident->elements == 0 && view->extents[i] != memory->extents[i]) return false;
    elements *= memory->extents[i];
  }
  if (view->base != 0 || memory->offset.term_count > 0) return false;
  if (elements != plan->kernel->buffers[memory->number].element_count) return false;
  if (resident->elements > 0 && elements_brought(plan, command) != resident->elements) return false;
  for (int32_t loop = command->loop; loop >= 0; loop = plan->loops[loop].parent) {
    bool moves = plan->loops[loop].trip_count == 1;
    for (int32_t i = 0; i < part->range_count; i++)
      moves = moves || has_term(&plan->space, part->ranges[i].begin, loop);
    if (!moves) return false;
  }
  return true;
}

/* What is updated in place is there before. */
static bool is_loaded(const Keeper *keeper, const PlanResident *resident) {
  return !resident->is_there && keeper->old->kernel->buffers[resident->buffer].role != KERNEL_RESULT;
}

/* One load command alone, or all of it is loaded first. */
static void find_tile_loads(Keeper *keeper) {
  const Plan *old = keeper->old;
  for (int32_t r = 0; r < keeper->interface->count; r++) {
    const PlanResident *resident = &keeper->interface->residents[r];
    int32_t loads = 0;
    bool is_once = true;
    if (!is_loaded(keeper, resident)) continue;
    for (int32_t c = 0; c < old->command_count; c++) {
      if (resident_moved(keeper, &old->commands[c]) != r) continue;
      is_once = is_once && !keeper->brings[c] && !keeper->is_spared[c] &&
                brings_all_once(old, &old->commands[c], &keeper->views[old->commands[c].sources[0].number], resident);
      loads++;
    }
    keeper->loads_tiles[r] = is_once && loads == 1;
  }
}

/* Whether transfer |command| of a resident is made. */
static bool stays(const Keeper *keeper, const PlanCommand *command) {
  int32_t r = resident_moved(keeper, command);
  if (r < 0) return true;
  return command->verb == PLAN_LOAD ? keeper->loads_tiles[r] : keeper->interface->residents[r].is_needed;
}

/* Of what is seen of a part, the outermost axis ends with it; false: it ends within an index. */
static bool end_with_part(HeldView *view, const PlanMemory *memory, int64_t elements) {
  int32_t outer = 0;
  while (outer < memory->rank - 1 && memory->extents[outer] == 1) outer++;
  int64_t rest = elements - view->base, stride = memory->rank > 0 ? memory->strides[outer] : 1;
  if (rest <= 0 || rest % stride != 0) return false;
  if (memory->rank > 0) view->extents[outer] = rest / stride;
  return true;
}

/* Sums of store |number|, of resident |resident|, are made there too, unless an operand has the same bytes. */
static void place_sums(Keeper *keeper, int32_t number, int32_t resident) {
  int32_t tile = keeper->old->commands[number].sources[0].number;
  const PlanResident *of = &keeper->interface->residents[resident];
  bool is_shared = false;
  for (int32_t r = 0; r < keeper->interface->count; r++)
    is_shared = is_shared || (r != resident && keeper->interface->residents[r].begin == of->begin);
  keeper->stays[tile] = keeper->stays[tile] || is_shared;
  if (is_shared)
    keeper->sum[tile] = -1;
  else
    keeper->load[tile] = number; /* what reads the sums finds them there */
}

/* False: a part is seen in no box. */
static bool find_copies(Keeper *keeper) {
  const Plan *old = keeper->old;
  for (int32_t t = 0; t < old->tensor_count; t++) keeper->load[t] = keeper->store[t] = keeper->sum[t] = -1;
  for (int32_t m = 0; m < old->memory_count; m++) keeper->view_tensor[m] = -1;
  for (int32_t c = 0; c < old->command_count; c++) {
    const PlanCommand *command = &old->commands[c];
    bool loads = plan_loads_memory(command);
    if (!loads && command->verb != PLAN_STORE) continue;
    int32_t tile = loads ? command->targets[0].number : command->sources[0].number;
    int32_t r = resident_moved(keeper, command);
    if (r < 0) {
      keeper->stays[tile] = true;
      continue;
    }
    const PlanRef *side = loads ? &command->sources[0] : &command->targets[0];
    bool is_copy = plan_is_copy(old, c) || plan_stores_fold(old, command);
    keeper->is_spared[c] = !is_copy && keeper->interface->sees && plan_may_see(old, c);
    keeper->brings[c] = !is_copy && !keeper->is_spared[c];
    if (keeper->is_spared[c]) {
      keeper->load[tile] = c;
      continue;
    }
    if (keeper->brings[c]) {
      keeper->stays[tile] = true;
      continue;
    }
    keeper->is_seen[side->number] = true;
    if (plan_stores_fold(old, command))
      keeper->stays[tile] = true;
    else
      (loads ? keeper->load : keeper->store)[tile] = c;
    keeper->sum[tile] = keeper->store[tile];
    if (plan_sums_in_place(old, command)) place_sums(keeper, c, r);
    HeldView *view = &keeper->views[side->number];
    int64_t elements = keeper->interface->residents[r].elements;
    XLAC_CHECK(plan_held_view(old, &old->memories[side->number], view));
    if (elements > 0 && !end_with_part(view, &old->memories[side->number], elements)) return false;
  }
  return true;
}

/* --- Tensors --- */

static const int64_t *copy_numbers(Arena *arena, const int64_t *numbers, int32_t count) {
  return ARENA_COPY_ARRAY(arena, int64_t, numbers, count);
}

/* An alias of the same part with the same shape that is there already; -1: there is none. */
static int32_t same_alias(const Keeper *keeper, const PlanTensor *alias) {
  for (int32_t t = 0; t < keeper->tensors.count; t++) {
    const PlanTensor *other = &keeper->tensors.data[t];
    bool is_same = other->is_alias && other->parent == alias->parent && other->begin == alias->begin &&
                   other->end == alias->end && other->rank == alias->rank;
    for (int32_t i = 0; i < alias->rank && is_same; i++) is_same = other->extents[i] == alias->extents[i];
    if (is_same) return t;
  }
  return -1;
}

/* Holders first, each with the views of it that commands use, then the tiles that stay. */
static void add_holder(Keeper *keeper, const PlanResident *resident) {
  const KernelBuffer *buffer = &keeper->old->kernel->buffers[resident->buffer];
  PlanTensor holder = {.type = buffer->type, .kind = PLAN_RESIDENT, .rank = 1, .parent = -1, .held = resident->buffer};
  int32_t number = (int32_t)keeper->tensors.count;
  holder.name = sv_from_cstring(arena_printf(keeper->arena, "held%d", resident->buffer));
  int64_t held = elements_of(keeper, resident);
  holder.extents = copy_numbers(keeper->arena, &held, 1);
  holder.begin = resident->begin;
  holder.end = resident->begin + held * type_storage_bytes(buffer->type);
  holder.hold = resident->is_there ? PLAN_FINDS : PLAN_LEAVES;
  array_push(&keeper->tensors, keeper->arena, holder);
  int32_t views = 0;
  for (int32_t m = 0; m < keeper->old->memory_count; m++) {
    const PlanMemory *memory = &keeper->old->memories[m];
    if (memory->kind == PLAN_TEMPORARY || memory->number != resident->buffer || !keeper->is_seen[m]) continue;
    const HeldView *view = &keeper->views[m];
    PlanTensor alias = {.type = memory->type, .kind = PLAN_RESIDENT, .rank = memory->rank, .parent = number};
    int64_t elements = 1;
    for (int32_t i = 0; i < memory->rank; i++) elements *= view->extents[i];
    alias.extents = copy_numbers(keeper->arena, view->extents, memory->rank);
    alias.begin = holder.begin + view->base * type_storage_bytes(buffer->type);
    alias.end = alias.begin + elements * type_storage_bytes(buffer->type);
    alias.is_alias = true;
    keeper->view_tensor[m] = same_alias(keeper, &alias);
    if (keeper->view_tensor[m] >= 0) continue;
    alias.name = sv_from_cstring(arena_printf(keeper->arena, "held%d_%d", resident->buffer, views++));
    keeper->view_tensor[m] = (int32_t)keeper->tensors.count;
    array_push(&keeper->tensors, keeper->arena, alias);
  }
}

/* The Tensor that holds the array of |buffer|. */
static int32_t holder_of(const Keeper *keeper, int32_t buffer) {
  int32_t holder = 0;
  while (keeper->tensors.data[holder].hold == PLAN_HOLDS_NOTHING || keeper->tensors.data[holder].held != buffer)
    holder++;
  return holder;
}

/* False: they do not fit, or residents lie beyond the Buffer's end. */
static bool place_tensors(Keeper *keeper) {
  const Plan *old = keeper->old;
  int64_t at = align_up(keeper->interface->base, old->alignment);
  for (int32_t r = 0; r < keeper->interface->count; r++) {
    add_holder(keeper, &keeper->interface->residents[r]);
    const PlanTensor *holder = &keeper->tensors.data[holder_of(keeper, keeper->interface->residents[r].buffer)];
    if (holder->end > old->buffer_bytes) return false;
  }
  for (int32_t t = 0; t < old->tensor_count; t++) {
    PlanTensor tensor = old->tensors[t];
    keeper->new_tensor[t] = -1;
    if (!keeper->stays[t] && (keeper->load[t] >= 0 || keeper->store[t] >= 0)) continue;
    if (tensor.is_alias) return false;
    int64_t bytes = tensor.end - tensor.begin;
    tensor.begin = at;
    tensor.end = at + bytes;
    tensor.parent = -1;
    at = align_up(tensor.end, old->alignment);
    keeper->new_tensor[t] = (int32_t)keeper->tensors.count;
    array_push(&keeper->tensors, keeper->arena, tensor);
  }
  int64_t limit = keeper->interface->limit > 0 ? keeper->interface->limit : old->buffer_bytes;
  return at <= align_up(limit, old->alignment) && keeper->interface->base <= limit;
}

/* --- commands --- */

typedef ARRAY(PlanNode) NodeArray;

static int32_t memory_for(Keeper *keeper, int32_t old) {
  if (keeper->new_memory[old] < 0) {
    keeper->new_memory[old] = (int32_t)keeper->memories.count;
    array_push(&keeper->memories, keeper->arena, keeper->old->memories[old]);
  }
  return keeper->new_memory[old];
}

/* The part of a resident that |ref|, of a tile that was a copy, or of a view of it, stands for. */
static PlanRef held_ref(Keeper *keeper, const PlanRef *ref, int32_t transfer) {
  const PlanCommand *mover = &keeper->old->commands[transfer];
  const PlanRef *part = mover->verb == PLAN_LOAD ? &mover->sources[0] : &mover->targets[0];
  const HeldView *view = &keeper->views[part->number];
  int32_t skipped = ref->range_count - part->range_count;
  PlanRange *ranges = ARENA_COPY_ARRAY(keeper->arena, PlanRange, ref->ranges + skipped, part->range_count);
  for (int32_t i = 0; i < part->range_count; i++) {
    IndexSpace *space = &keeper->plan->space;
    ranges[i].begin = index_add(space, ranges[i].begin, part->ranges[i].begin);
    ranges[i].begin = index_add_constant(space, ranges[i].begin, view->first[i]);
  }
  const IndexExpr *offset = &keeper->old->memories[part->number].offset;
  for (int32_t t = 0; t < offset->term_count; t++) {
    const IndexAtom *atom = &keeper->old->space.atoms.data[offset->terms[t].atom];
    IndexExpr number = index_value(&keeper->plan->space, atom->number, atom->lower, atom->upper);
    IndexExpr *begin = &ranges[view->term_axes[t]].begin;
    *begin = index_add(&keeper->plan->space, *begin, index_scale(&keeper->plan->space, number, view->term_steps[t]));
  }
  return (PlanRef){false, keeper->view_tensor[part->number], part->range_count, ranges};
}

static PlanRef *whole_ref(Keeper *keeper, bool is_memory, int32_t number, int64_t elements) {
  PlanRange *range = ARENA_NEW(keeper->arena, PlanRange);
  PlanRef *ref = ARENA_NEW(keeper->arena, PlanRef);
  *range = plan_range_whole(elements);
  *ref = (PlanRef){is_memory, number, 1, range};
  return ref;
}

/* All of the array that load |transfer| would bring elements of. */
static PlanRef seen_ref(Keeper *keeper, int32_t transfer) {
  int32_t buffer = keeper->old->memories[keeper->old->commands[transfer].sources[0].number].number;
  return *whole_ref(keeper, false, holder_of(keeper, buffer), keeper->old->kernel->buffers[buffer].element_count);
}

/* |copies|: by old Tensor, the transfer that what |refs| mean is a copy by. */
static const PlanRef *new_refs(Keeper *keeper, const PlanRef *refs, int32_t count, const int32_t *copies) {
  PlanRef *made = ARENA_COPY_ARRAY(keeper->arena, PlanRef, refs, count);
  for (int32_t i = 0; i < count; i++) {
    int32_t transfer = refs[i].is_memory ? -1 : copies[refs[i].number];
    if (refs[i].is_memory)
      made[i].number = memory_for(keeper, refs[i].number);
    else if (transfer >= 0 && keeper->is_spared[transfer])
      made[i] = seen_ref(keeper, transfer);
    else if (transfer >= 0)
      made[i] = held_ref(keeper, &refs[i], transfer);
    else
      made[i].number = keeper->new_tensor[refs[i].number];
  }
  return made;
}

static void add_command(Keeper *keeper, int32_t number) {
  PlanCommand command = keeper->old->commands[number];
  const int32_t *read = command.verb == PLAN_STORE ? keeper->store : keeper->load;
  const int32_t *written = command.verb == PLAN_LOAD    ? keeper->load
                           : command.keeps_accumulators ? keeper->sum
                                                        : keeper->store;
  command.targets = new_refs(keeper, command.targets, command.target_count, written);
  command.sources = new_refs(keeper, command.sources, command.source_count, read);
  command.edges = NULL;
  command.edge_count = 0;
  keeper->new_command[number] = (int32_t)keeper->commands.count;
  array_push(&keeper->commands, keeper->arena, command);
}

/* What store |number| takes from the folds' tile is moved to the resident, by the queue that sums it up; and from there
 * to memory if somebody needs it. */
static void add_fold_move(Keeper *keeper, int32_t number, NodeArray *nodes) {
  const Plan *old = keeper->old;
  const PlanCommand *store = &old->commands[number];
  PlanCommand move = *store;
  PlanRef *held = ARENA_NEW(keeper->arena, PlanRef);
  PlanRange *points = ARENA_NEW_ARRAY(keeper->arena, PlanRange, old->kernel->dim_count);
  *held = held_ref(keeper, &store->sources[0], number);
  int32_t axis = 0;
  for (int32_t d = 0; d < old->kernel->dim_count; d++)
    if (old->kernel->dims[d].stage == KERNEL_OUTER) points[d] = store->targets[0].ranges[axis++];
  for (int32_t c = 0; c < old->command_count; c++) {
    const PlanCommand *other = &old->commands[c];
    if (plan_count_refs(other->targets, other->target_count, store->sources[0].number) > 0) move.queue = other->queue;
  }
  move.verb = PLAN_OP;
  move.label = sv_from_cstring(arena_printf(keeper->arena, "hold_%.*s", SV_ARG(store->label)));
  move.points = points;
  move.first_stage = move.last_stage = plan_storing_stage(old->kernel, old->memories[store->targets[0].number].number);
  move.sources = new_refs(keeper, store->sources, 1, keeper->load);
  move.targets = held;
  move.edges = NULL;
  move.edge_count = 0;
  array_push(nodes, keeper->arena, ((PlanNode){PLAN_NODE_COMMAND, (int32_t)keeper->commands.count}));
  array_push(&keeper->commands, keeper->arena, move);
  if (!stays(keeper, store)) return;
  add_command(keeper, number);
  array_last(&keeper->commands).sources = held;
  array_push(nodes, keeper->arena, ((PlanNode){PLAN_NODE_COMMAND, keeper->new_command[number]}));
}

/* A flat view of |buffer|. */
static int32_t flat_memory(Keeper *keeper, int32_t buffer) {
  const KernelBuffer *of = &keeper->old->kernel->buffers[buffer];
  static const int64_t one = 1;
  PlanMemory memory = {.type = of->type, .kind = PLAN_ARGUMENT, .number = buffer, .rank = 1};
  if (of->role == KERNEL_IN_PLACE) memory.kind = PLAN_RESULT;
  memory.name = sv_from_cstring(arena_printf(keeper->arena, "whole%d", buffer));
  memory.extents = copy_numbers(keeper->arena, &of->element_count, 1);
  memory.strides = copy_numbers(keeper->arena, &one, 1);
  memory.offset = index_constant(0);
  array_push(&keeper->memories, keeper->arena, memory);
  return (int32_t)keeper->memories.count - 1;
}

/* What load |number| would bring from memory comes from the array in the Buffer. */
static void add_bring(Keeper *keeper, int32_t number, NodeArray *nodes) {
  const PlanCommand *load = &keeper->old->commands[number];
  PlanCommand bring = *load;
  int32_t reader, axes[KERNEL_MAX_DIMS], buffer = keeper->old->memories[load->sources[0].number].number;
  XLAC_CHECK(plan_may_bring(keeper->old, number, &bring.value, &reader));
  const PlanCommand *computation = &keeper->old->commands[reader];
  PlanRange *points = ARENA_NEW_ARRAY(keeper->arena, PlanRange, keeper->old->kernel->dim_count);
  int32_t count = tile_load_axes(keeper->old->kernel, bring.value, axes);
  for (int32_t i = 0; i < count; i++) points[axes[i]] = computation->points[axes[i]];
  bring.verb = load->verb == PLAN_GATHERM ? PLAN_GATHER : PLAN_PERMUTE;
  bring.queue = computation->queue;
  if (load->value < 0) bring.points = points;
  bring.targets = new_refs(keeper, load->targets, 1, keeper->load);
  bring.sources =
      whole_ref(keeper, false, holder_of(keeper, buffer), keeper->old->kernel->buffers[buffer].element_count);
  if (load->verb == PLAN_GATHERM) {
    const PlanRef indices = new_refs(keeper, load->sources + 1, 1, keeper->load)[0];
    const PlanRef sources[] = {bring.sources[0], indices};
    bring.sources = ARENA_COPY_ARRAY(keeper->arena, PlanRef, sources, 2);
  }
  bring.edges = NULL;
  bring.edge_count = 0;
  array_push(nodes, keeper->arena, ((PlanNode){PLAN_NODE_COMMAND, (int32_t)keeper->commands.count}));
  array_push(&keeper->commands, keeper->arena, bring);
}

/* The queue that loads of the plan are on. */
static int32_t load_queue(const MachineDescription *machine) {
  int32_t queue = 0;
  while (!machine_queue_loads(&machine->queues[queue])) queue++;
  return queue;
}

/* All of an array, or of its part, at once, before everything else. */
static void add_whole_load(Keeper *keeper, int32_t resident, const MachineDescription *machine, NodeArray *nodes) {
  const PlanResident *of = &keeper->interface->residents[resident];
  int64_t elements = elements_of(keeper, of);
  int32_t holder = holder_of(keeper, of->buffer);
  PlanCommand load = {.verb = PLAN_LOAD, .queue = load_queue(machine), .loop = -1, .value = -1, .index_value = -1};
  load.init_loop = -1;
  load.label = sv_from_cstring(arena_printf(keeper->arena, "keep%d", of->buffer));
  load.hlo = keeper->old->kernel->source->name;
  load.loc = keeper->old->kernel->source->loc;
  load.target_count = load.source_count = 1;
  load.targets = whole_ref(keeper, false, holder, elements);
  load.sources = whole_ref(keeper, true, flat_memory(keeper, of->buffer), elements);
  array_push(nodes, keeper->arena, ((PlanNode){PLAN_NODE_COMMAND, (int32_t)keeper->commands.count}));
  array_push(&keeper->commands, keeper->arena, load);
}

/* --- blocks --- */

static PlanBlock copy_block(Keeper *keeper, PlanLoop *loops, const PlanBlock *block, NodeArray nodes) {
  for (int32_t i = 0; i < block->node_count; i++) {
    PlanNode node = block->nodes[i];
    if (node.kind == PLAN_NODE_COMMAND) {
      const PlanCommand *command = &keeper->old->commands[node.number];
      if (resident_moved(keeper, command) >= 0 && plan_stores_fold(keeper->old, command)) {
        add_fold_move(keeper, node.number, &nodes);
        continue;
      }
      if (keeper->brings[node.number]) {
        add_bring(keeper, node.number, &nodes);
        continue;
      }
      if (!stays(keeper, command)) continue;
      add_command(keeper, node.number);
      node.number = keeper->new_command[node.number];
    } else {
      loops[node.number].body = copy_block(keeper, loops, &keeper->old->loops[node.number].body, (NodeArray){0});
      if (loops[node.number].body.node_count == 0) continue;
    }
    array_push(&nodes, keeper->arena, node);
  }
  return (PlanBlock){(int32_t)nodes.count, nodes.data};
}

static void make_commands(Keeper *keeper, const MachineDescription *machine) {
  const Plan *old = keeper->old;
  NodeArray first = {0};
  for (int32_t c = 0; c < old->command_count; c++) keeper->new_command[c] = -1;
  for (int32_t m = 0; m < old->memory_count; m++) keeper->new_memory[m] = -1;
  for (int32_t r = 0; r < keeper->interface->count; r++) {
    const PlanResident *resident = &keeper->interface->residents[r];
    if (is_loaded(keeper, resident) && !keeper->loads_tiles[r]) add_whole_load(keeper, r, machine, &first);
  }
  PlanLoop *loops = ARENA_COPY_ARRAY(keeper->arena, PlanLoop, old->loops, old->loop_count);
  keeper->plan->block = copy_block(keeper, loops, &old->block, first);
  keeper->plan->loops = loops;
}

static void copy_space(Keeper *keeper) {
  index_space_init(&keeper->plan->space, keeper->arena);
  for (int64_t i = 0; i < keeper->old->space.atoms.count; i++)
    array_push(&keeper->plan->space.atoms, keeper->arena, keeper->old->space.atoms.data[i]);
}

Status plan_keep(Arena *arena, const Plan *plan, const MachineDescription *machine, const PlanInterface *interface,
                 DiagSink *diag, const Plan **out_plan) {
  Keeper keeper = {.arena = arena, .interface = interface, .plan = ARENA_NEW(arena, Plan)};
  *out_plan = NULL;
  plan = keeper.old = plan_split(arena, plan, interface);
  if (plan == NULL) return STATUS_OK;
  *keeper.plan = *plan;
  keeper.plan->arena = arena;
  if (interface->count > 0) keeper.plan->estimate = 0; /* that of |plan| is for other work */
  keeper.load = ARENA_NEW_ARRAY(arena, int32_t, plan->tensor_count);
  keeper.store = ARENA_NEW_ARRAY(arena, int32_t, plan->tensor_count);
  keeper.sum = ARENA_NEW_ARRAY(arena, int32_t, plan->tensor_count);
  keeper.stays = ARENA_NEW_ARRAY(arena, bool, plan->tensor_count);
  keeper.new_tensor = ARENA_NEW_ARRAY(arena, int32_t, plan->tensor_count);
  keeper.new_memory = ARENA_NEW_ARRAY(arena, int32_t, plan->memory_count);
  keeper.view_tensor = ARENA_NEW_ARRAY(arena, int32_t, plan->memory_count);
  keeper.views = ARENA_NEW_ARRAY(arena, HeldView, plan->memory_count);
  keeper.is_seen = ARENA_NEW_ARRAY(arena, bool, plan->memory_count);
  keeper.brings = ARENA_NEW_ARRAY(arena, bool, plan->command_count);
  keeper.is_spared = ARENA_NEW_ARRAY(arena, bool, plan->command_count);
  keeper.new_command = ARENA_NEW_ARRAY(arena, int32_t, plan->command_count);
  keeper.loads_tiles = ARENA_NEW_ARRAY(arena, bool, interface->count);
  copy_space(&keeper);
  if (!find_copies(&keeper)) return STATUS_OK;
  find_tile_loads(&keeper);
  if (!place_tensors(&keeper)) return STATUS_OK;
  make_commands(&keeper, machine);
  keeper.plan->tensors = keeper.tensors.data;
  keeper.plan->tensor_count = (int32_t)keeper.tensors.count;
  keeper.plan->memories = keeper.memories.data;
  keeper.plan->memory_count = (int32_t)keeper.memories.count;
  keeper.plan->commands = keeper.commands.data;
  keeper.plan->command_count = (int32_t)keeper.commands.count;
  RETURN_IF_ERROR(plan_edges_derive_any(keeper.plan, machine, keeper.commands.data, diag));
  *out_plan = keeper.plan;
  return STATUS_OK;
}
