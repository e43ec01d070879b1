#include "codegen/oncore/plan/plan_stream.h"

#include <inttypes.h>

#include "base/checked_math.h"
#include "codegen/oncore/plan/load_box.h"
#include "codegen/oncore/plan/operand_uses.h"
#include "codegen/oncore/plan/run_time_views.h"
#include "codegen/oncore/plan/tile_access.h"
#include "codegen/oncore/plan/tile_cost.h"
#include "hlo/machine/description/machine_cost.h"

#define MOST_INSTANCES (INT64_C(1) << 26)

/* The bytes of an operand, and where they are. */
typedef struct Operand {
  int32_t object;
  ByteBox box;
} Operand;

/* What a transfer of an operand moves: contiguous runs are rows. */
typedef struct RefMove {
  int64_t bytes, rows, descriptors;
} RefMove;

/* What is the same of an operand wherever it is, as long as it has these extents: most have them in all iterations. */
typedef struct OperandShape {
  bool is_known;
  bool is_near; /* no place of it that is_near_place is beyond 64 bits */
  int64_t element;
  int64_t extents[KERNEL_MAX_DIMS], strides[KERNEL_MAX_DIMS]; /* by axis, in elements */
  ByteBox given, box;                                         /* of its bytes as if it were at 0; |box|: normalised */
  RefMove move;
} OperandShape;

/* What of a plan its stream is to know. */
typedef struct PlanReading {
  const int64_t *scalars;        /* by scalar of the plan: what it is taken for */
  const bool *is_anywhere;       /* by memory view: its run-time places count as the whole array */
  const bool *is_anywhere_there; /* by Tensor: the same of the array that it holds */
  bool is_timed;                 /* nobody asks for bytes */
} PlanReading;

typedef struct PlanExpander {
  Arena *arena;
  const Plan *plan;
  const MachineDescription *machine;
  DiagSink *diag;
  CommandStream *stream;
  PlanReading reading;
  int64_t *iterations;     /* by loop: the one at hand */
  int64_t dims;            /* levels that a descriptor of the queue at hand walks */
  int32_t *memory_objects; /* by memory view */
  int32_t *tensor_objects; /* by Tensor: the Buffer, or the array that it holds */
  int64_t *object_begins;  /* by object: its first byte in the Buffer; 0 for arrays in memory */
  int32_t *started;        /* by command: instances so far */
  int32_t **instances;     /* by command: stream numbers of all its instances */
  OperandUses *uses;       /* by command */
  OperandShape **shapes;   /* by command and operand: targets, then sources */
  const TileWork **works;  /* by command: what its stages compute; NULL: not asked for yet */
  Operand *targets;        /* of the instance at hand */
  int32_t *awaited;        /* by consumer's and producer's queue: the latest instance waited for, -1: none */
} PlanExpander;

int64_t plan_instance_count(const Plan *plan) {
  int64_t count = 0;
  for (int32_t c = 0; c < plan->command_count; c++) {
    int64_t instances = plan_loop_instances(plan, plan->commands[c].loop);
    count = instances > MOST_INSTANCES ? MOST_INSTANCES + 1 : count + instances;
    if (count > MOST_INSTANCES) return count;
  }
  return count;
}

/* --- numbers at an iteration --- */

static int64_t evaluate(const PlanExpander *expander, IndexExpr expr) {
  return index_evaluate(&expander->plan->space, expr, expander->iterations, expander->reading.scalars);
}

static int64_t range_extent(const PlanExpander *expander, const PlanRange *range) {
  if (!range->is_ragged) return range->extent;
  int64_t left = evaluate(expander, range->left);
  return left < range->extent ? left : range->extent;
}

/* --- accesses --- */

/* Targets, then sources. */
static const PlanRef *operand_ref(const PlanCommand *command, int32_t operand) {
  return operand < command->target_count ? &command->targets[operand]
                                         : &command->sources[operand - command->target_count];
}

static int64_t axis_stride(const Plan *plan, const PlanRef *ref, int32_t axis, int64_t dense) {
  if (ref->is_memory) return plan->memories[ref->number].strides[axis];
  const PlanTensor *tensor = &plan->tensors[ref->number];
  return tensor->kind == PLAN_RING && axis == 0 ? tensor->slot_stride / type_storage_bytes(tensor->type) : dense;
}

/* A box has few levels: axes of one element and those that continue the next are none of their own. */
static void add_levels(OperandShape *shape, int32_t axes) {
  ByteBox *box = &shape->given;
  for (int32_t i = axes - 1; i >= 0; i--) {
    int64_t extent = shape->extents[i], stride = shape->strides[i] * shape->element;
    ByteLevel *last = box->level_count > 0 ? &box->levels[box->level_count - 1] : NULL;
    if (extent == 1) continue;
    if (last != NULL && stride == last->stride * last->count) {
      last->count *= extent;
    } else if (last == NULL && stride == box->bytes) {
      box->bytes *= extent;
    } else {
      XLAC_CHECK(box->level_count < BYTE_BOX_MAX_LEVELS);
      box->levels[box->level_count++] = (ByteLevel){extent, stride};
    }
  }
}

static bool is_near_place(int64_t byte) {
  return byte > -(INT64_C(1) << 48) && byte < INT64_C(1) << 48;
}

static void find_shape(const PlanExpander *expander, const PlanRef *ref, const int64_t *extents, OperandShape *shape) {
  const Plan *plan = expander->plan;
  int64_t dense = 1;
  shape->is_known = true;
  shape->element =
      type_storage_bytes(ref->is_memory ? plan->memories[ref->number].type : plan->tensors[ref->number].type);
  shape->move = (RefMove){.bytes = shape->element};
  for (int32_t i = ref->range_count - 1; i >= 0; i--) {
    shape->extents[i] = extents[i];
    shape->strides[i] = axis_stride(plan, ref, i, dense);
    if (!ref->is_memory) dense *= plan->tensors[ref->number].extents[i];
    shape->move.bytes *= extents[i];
  }
  shape->move.rows = tile_transfer_rows(shape->extents, shape->strides, ref->range_count);
  shape->move.descriptors = tile_transfer_descriptors(shape->extents, shape->strides, ref->range_count, expander->dims);
  shape->given = (ByteBox){.bytes = shape->element, .align = ref->is_memory ? shape->element : 1};
  add_levels(shape, ref->range_count);
  shape->box = shape->given;
  byte_box_normalise(&shape->box);
  shape->is_near = is_near_place(shape->box.base) && is_near_place(byte_box_end(&shape->box));
}

/* The bytes of an operand of |command| at this iteration. */
static ByteBox ref_box(const PlanExpander *expander, const PlanCommand *command, int32_t operand, RefMove *out_move) {
  const Plan *plan = expander->plan;
  const PlanRef *ref = operand_ref(command, operand);
  OperandShape *shape = &expander->shapes[command - plan->commands][operand];
  int64_t extents[KERNEL_MAX_DIMS];
  bool is_same = shape->is_known;
  for (int32_t i = 0; i < ref->range_count; i++) {
    extents[i] = range_extent(expander, &ref->ranges[i]);
    is_same = is_same && extents[i] == shape->extents[i];
  }
  if (!is_same) find_shape(expander, ref, extents, shape);
  int64_t base = ref->is_memory ? evaluate(expander, plan->memories[ref->number].offset) * shape->element
                                : plan->tensors[ref->number].begin -
                                      expander->object_begins[expander->tensor_objects[ref->number]];
  for (int32_t i = 0; i < ref->range_count; i++)
    base += evaluate(expander, ref->ranges[i].begin) * shape->strides[i] * shape->element;
  bool is_near = shape->is_near && is_near_place(base);
  ByteBox box = is_near ? shape->box : shape->given;
  box.base += base;
  if (!is_near) byte_box_normalise(&box);
  *out_move = shape->move;
  return box;
}

/* All bytes of the array that |memory| looks at. */
static ByteBox array_box(const Plan *plan, const PlanMemory *memory);

/* All bytes of the array that is there. */
static ByteBox holder_box(const PlanTensor *holder) {
  return (ByteBox){.bytes = holder->end - holder->begin, .align = 1};
}

static int32_t ref_object(const PlanExpander *expander, const PlanRef *ref) {
  return ref->is_memory ? expander->memory_objects[ref->number] : expander->tensor_objects[ref->number];
}

/* Whether |command| starts its accumulators from their seeds at this iteration. */
static bool initialises(const PlanExpander *expander, const PlanCommand *command) {
  if (!command->init) return false;
  for (int32_t l = command->loop; l >= 0 && command->init_loop >= 0; l = expander->plan->loops[l].parent) {
    if (expander->iterations[l] != 0) return false;
    if (l == command->init_loop) break;
  }
  return true;
}

static Operand operand_at(const PlanExpander *expander, const PlanCommand *command, int32_t operand) {
  const PlanRef *ref = operand_ref(command, operand);
  RefMove move;
  const bool *is_anywhere = ref->is_memory ? expander->reading.is_anywhere : expander->reading.is_anywhere_there;
  if (is_anywhere[ref->number] && run_time_sum(expander->plan, ref, NULL, NULL)) {
    const Plan *plan = expander->plan;
    ByteBox box = ref->is_memory ? array_box(plan, &plan->memories[ref->number])
                                 : holder_box(&plan->tensors[plan_tensor_holder(plan, ref->number)]);
    return (Operand){ref_object(expander, ref), box};
  }
  return (Operand){ref_object(expander, ref), ref_box(expander, command, operand, &move)};
}

/* What a guarded load reads of its array.  Of an array that is written as well it may be any part: engines, which know
 * no guards, hold such plans to that. */
static Operand loaded_operand(const PlanExpander *expander, const PlanCommand *command) {
  const PlanMemory *memory = &expander->plan->memories[command->sources[0].number];
  const Kernel *kernel = expander->plan->kernel;
  int64_t begins[KERNEL_MAX_DIMS] = {0}, extents[KERNEL_MAX_DIMS] = {0};
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    if (command->points[d].extent == 0) continue;
    begins[d] = evaluate(expander, command->points[d].begin);
    extents[d] = range_extent(expander, &command->points[d]);
  }
  Operand operand = {ref_object(expander, &command->sources[0]), {0}};
  bool is_kept = memory->kind == PLAN_ARGUMENT && kernel->buffers[memory->number].role == KERNEL_OPERAND;
  if (is_kept && load_box_find(kernel, command->value, begins, extents, &operand.box)) return operand;
  return operand_at(expander, command, command->target_count);
}

static bool is_same_place(const Operand *a, const Operand *b) {
  bool is_same = a->object == b->object && a->box.base == b->box.base && a->box.bytes == b->box.bytes &&
                 a->box.level_count == b->box.level_count;
  for (int i = 0; is_same && i < a->box.level_count; i++)
    is_same = a->box.levels[i].count == b->box.levels[i].count && a->box.levels[i].stride == b->box.levels[i].stride;
  return is_same;
}

static void add_source(const PlanExpander *expander, int32_t number, int32_t place) {
  const PlanCommand *command = &expander->plan->commands[number];
  bool is_guarded = command->verb == PLAN_LOAD && command->value >= 0 && command->sources[place].is_memory;
  Operand source =
      is_guarded ? loaded_operand(expander, command) : operand_at(expander, command, command->target_count + place);
  bool updates = false;
  for (int32_t t = 0; t < command->target_count && !updates; t++) {
    bool is_same = is_same_place(&source, &expander->targets[t]);
    updates = is_same && operand_in_place(&expander->uses[number], place, t);
  }
  if (updates)
    command_stream_add_update_read(expander->stream, source.object, &source.box);
  else
    command_stream_add_read(expander->stream, source.object, &source.box);
}

/* Sources, targets that are gone on from, targets.  What reads a target's elements before it writes them updates it. */
static void add_accesses(PlanExpander *expander, int32_t number) {
  const PlanCommand *command = &expander->plan->commands[number];
  const OperandUses *uses = &expander->uses[number];
  bool starts = command->keeps_accumulators && initialises(expander, command);
  CommandStream *stream = expander->stream;
  Operand *targets = expander->targets;
  for (int32_t t = 0; t < command->target_count; t++) targets[t] = operand_at(expander, command, t);
  for (int32_t s = 0; s < command->source_count; s++) add_source(expander, number, s);
  for (int32_t t = 0; t < command->target_count; t++) {
    if (uses->goes_on[t] && !starts) command_stream_add_update_read(stream, targets[t].object, &targets[t].box);
  }
  for (int32_t t = 0; t < command->target_count; t++) {
    if (uses->reads_back[t])
      command_stream_add_scratch(stream, targets[t].object, &targets[t].box);
    else
      command_stream_add_update_write(stream, targets[t].object, &targets[t].box);
  }
}

/* --- commands --- */

static bool is_transfer(const PlanCommand *command) {
  return command->verb == PLAN_LOAD || command->verb == PLAN_STORE || command->verb == PLAN_GATHERM;
}

static double vectors_of(const PlanExpander *expander, const PlanCommand *command, int32_t operand) {
  RefMove move;
  ref_box(expander, command, operand, &move);
  return (double)ceil_div(move.bytes, expander->machine->vector_bytes);
}

/* Without a Kernel: so many cycles for each vector of the largest operand. */
static double stated_cycles(const PlanExpander *expander, const PlanCommand *command) {
  double most = 0;
  for (int32_t i = 0; i < command->target_count + command->source_count; i++) {
    double vectors = vectors_of(expander, command, i);
    if (vectors > most) most = vectors;
  }
  return most * command->cost;
}

static Status computation_cycles(const PlanExpander *expander, const PlanCommand *command, double *out_cycles) {
  const Plan *plan = expander->plan;
  *out_cycles = 0;
  if (command->operation != NULL)
    return tile_operation_cycles(command->operation, expander->machine, expander->diag, out_cycles);
  if (command->points == NULL && command->cost > 0) {
    *out_cycles = stated_cycles(expander, command);
    return STATUS_OK;
  }
  if (plan_brings_held(command)) {
    const PlanRef *tile = &command->targets[0];
    int64_t axes[KERNEL_MAX_DIMS];
    int32_t first = plan->tensors[tile->number].kind == PLAN_RING ? 1 : 0;
    for (int32_t i = first; i < tile->range_count; i++) axes[i - first] = range_extent(expander, &tile->ranges[i]);
    return tile_bring_cycles(plan->kernel, expander->machine, command->value, axes, expander->diag, out_cycles);
  }
  if (command->points == NULL || command->index_value >= 0) {
    for (int32_t i = 0; i < command->target_count; i++) *out_cycles += vectors_of(expander, command, i);
    return STATUS_OK;
  }
  int64_t extents[KERNEL_MAX_DIMS];
  for (int32_t d = 0; d < plan->kernel->dim_count; d++) extents[d] = range_extent(expander, &command->points[d]);
  bool begins = !command->keeps_accumulators || initialises(expander, command);
  const TileWork **work = &expander->works[command - plan->commands];
  TileStages stages = {plan->kernel, command->first_stage, command->last_stage};
  if (*work == NULL) RETURN_IF_ERROR(tile_work_find(expander->arena, stages, expander->machine, expander->diag, work));
  *out_cycles = tile_work_cycles(*work, extents, begins);
  return STATUS_OK;
}

static Status begin_instance(PlanExpander *expander, int32_t number, int32_t *out_instance) {
  const PlanCommand *command = &expander->plan->commands[number];
  if (command->verb == PLAN_BARRIER) {
    *out_instance = command_stream_add_barrier(expander->stream, number, command->target_count > 0 ? 0 : UINT64_MAX);
    if (command->target_count == 0) return STATUS_OK;
    Operand bytes = operand_at(expander, command, 0);
    command_stream_add_write(expander->stream, bytes.object, &bytes.box);
    return STATUS_OK;
  }
  if (!is_transfer(command)) {
    double cycles;
    RETURN_IF_ERROR(computation_cycles(expander, command, &cycles));
    *out_instance = command_stream_add_operation(expander->stream, number, command->queue, cycles);
    return STATUS_OK;
  }
  int32_t target = 0, source = command->target_count;
  bool stores = command->verb == PLAN_STORE;
  RefMove of_tile, move;
  ref_box(expander, command, stores ? source : target, &of_tile);
  ref_box(expander, command, stores ? target : source, &move);
  if (command->value >= 0) {
    /* its rows are those of the Kernel's address along the tile's axes */
    TileAccess access = {.kind = TILE_LOAD, .value = command->value};
    int64_t extents[KERNEL_MAX_DIMS], strides[KERNEL_MAX_DIMS];
    access.axis_count = tile_load_axes(expander->plan->kernel, command->value, access.axes);
    for (int32_t i = 0; i < access.axis_count; i++) {
      extents[i] = range_extent(expander, &command->points[access.axes[i]]);
      strides[i] =
          index_dim_coefficient(&expander->plan->kernel->space,
                                tile_load_value(expander->plan->kernel, command->value)->address, access.axes[i]);
    }
    move.rows = tile_transfer_rows(extents, strides, access.axis_count);
    move.descriptors = 1; /* a gather's is one list of rows */
    if (command->verb != PLAN_GATHERM)
      move.descriptors = tile_transfer_descriptors(extents, strides, access.axis_count, expander->dims);
  }
  *out_instance = command_stream_add_transfer(expander->stream, number, command->queue, of_tile.bytes, move.rows);
  command_stream_set_descriptors(expander->stream, move.descriptors);
  return STATUS_OK;
}

/* Queues that keep their order need not wait for what they have waited for: a later instance, or this one. */
static void add_edge(PlanExpander *expander, int32_t to, int32_t from, int32_t producer) {
  const MachineQueue *queues = expander->machine->queues;
  bool in_order = queues[to].complete == COMPLETE_IN_ORDER && queues[from].complete == COMPLETE_IN_ORDER;
  int32_t *awaited = &expander->awaited[to * expander->machine->queue_count + from];
  if (in_order && *awaited >= producer) return;
  *awaited = producer;
  command_stream_add_edge(expander->stream, producer);
}

static void add_edges(PlanExpander *expander, int32_t number) {
  const PlanCommand *command = &expander->plan->commands[number];
  for (int32_t e = 0; e < command->edge_count; e++) {
    const PlanEdge *edge = &command->edges[e];
    PlanEdgeReach reach = plan_edge_reach(expander->plan, number, edge);
    bool is_limited = reach.same_loop >= 0;
    if (is_limited && plan_reach_iteration(expander->plan, &reach, expander->iterations) < reach.back) continue;
    int64_t last = expander->started[edge->command] - 1 - edge->distance;
    for (int64_t place = last; place >= 0 && place >= last - edge->before; place--)
      add_edge(expander, command->queue, expander->plan->commands[edge->command].queue,
               expander->instances[edge->command][place]);
  }
}

static Status expand_command(PlanExpander *expander, int32_t number) {
  const PlanCommand *command = &expander->plan->commands[number];
  int32_t instance;
  expander->dims = command->verb == PLAN_BARRIER ? 0 : expander->machine->queues[command->queue].dims;
  RETURN_IF_ERROR(begin_instance(expander, number, &instance));
  if (command->verb != PLAN_BARRIER) {
    if (!expander->reading.is_timed) add_accesses(expander, number);
    add_edges(expander, number);
  }
  expander->instances[number][expander->started[number]++] = instance;
  return STATUS_OK;
}

static Status expand_block(PlanExpander *expander, const PlanBlock *block) {
  for (int32_t i = 0; i < block->node_count; i++) {
    const PlanNode *node = &block->nodes[i];
    if (node->kind == PLAN_NODE_COMMAND) {
      RETURN_IF_ERROR(expand_command(expander, node->number));
      continue;
    }
    const PlanLoop *loop = &expander->plan->loops[node->number];
    for (int64_t n = 0; n < loop->trip_count; n++) {
      expander->iterations[node->number] = n;
      RETURN_IF_ERROR(expand_block(expander, &loop->body));
    }
    expander->iterations[node->number] = 0;
  }
  return STATUS_OK;
}

/* --- objects --- */

static int32_t find_view_before(const Plan *plan, int32_t memory) {
  for (int32_t m = 0; m < memory; m++) {
    bool same = plan->memories[m].kind == plan->memories[memory].kind &&
                plan->memories[m].number == plan->memories[memory].number;
    if (same) return m;
  }
  return -1;
}

/* Bytes of the array that a view looks at: the Kernel knows, else as far as its views reach. */
static int64_t array_bytes(const Plan *plan, const PlanMemory *memory) {
  if (memory->kind == PLAN_TEMPORARY) return plan->temporary_bytes[memory->number];
  int64_t element = type_storage_bytes(memory->type);
  if (plan->kernel != NULL) return plan->kernel->buffers[memory->number].element_count * element;
  int64_t most = 0;
  for (int32_t m = 0; m < plan->memory_count; m++) {
    const PlanMemory *view = &plan->memories[m];
    if (view->kind != memory->kind || view->number != memory->number) continue;
    int64_t lower, last;
    index_range(&plan->space, view->offset, &lower, &last);
    for (int32_t i = 0; i < view->rank; i++) last += max_i64(view->strides[i], 0) * (view->extents[i] - 1);
    most = max_i64(most, (last + 1) * element);
  }
  return most;
}

static ByteBox array_box(const Plan *plan, const PlanMemory *memory) {
  return (ByteBox){.bytes = array_bytes(plan, memory), .align = type_storage_bytes(memory->type)};
}

static unsigned object_flags(const Plan *plan, const PlanMemory *memory) {
  if (memory->kind == PLAN_ARGUMENT) return OBJECT_INITIALISED | OBJECT_READ_ONLY;
  if (memory->kind == PLAN_TEMPORARY) return OBJECT_TEMPORARY;
  bool updates = plan->kernel != NULL && plan->kernel->buffers[memory->number].role == KERNEL_IN_PLACE;
  if (updates) return OBJECT_INITIALISED;
  if (plan->kernel == NULL || plan_is_program(plan)) return OBJECT_WRITTEN_ONCE;
  int64_t elements = plan->kernel->buffers[memory->number].element_count;
  return tile_stored_elements(plan->kernel, memory->number) == elements ? OBJECT_WRITTEN_ONCE : 0;
}

static void add_objects(PlanExpander *expander) {
  const Plan *plan = expander->plan;
  for (int32_t m = 0; m < plan->memory_count; m++) {
    const PlanMemory *memory = &plan->memories[m];
    int32_t before = find_view_before(plan, m);
    expander->memory_objects[m] =
        before >= 0 ? expander->memory_objects[before]
                    : command_stream_add_object(expander->stream, memory->name, array_bytes(plan, memory),
                                                object_flags(plan, memory));
  }
}

static bool updates_in_place(const Plan *plan, int32_t buffer) {
  return plan->kernel != NULL && plan->kernel->buffers[buffer].role == KERNEL_IN_PLACE;
}

/* What outlives the plan there: bytes that others share are one array, there when one of them is. */
static unsigned held_flags(const Plan *plan, const PlanTensor *holder) {
  unsigned flags = OBJECT_WRITTEN_ONCE;
  bool is_left = false, is_updated = false;
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    const PlanTensor *other = &plan->tensors[t];
    if (other->hold == PLAN_HOLDS_NOTHING || other->begin >= holder->end || holder->begin >= other->end) continue;
    is_left = is_left || other->hold == PLAN_LEAVES;
    is_updated = is_updated || updates_in_place(plan, other->held) || plan_sums_held(plan, t);
    if (other->hold == PLAN_FINDS) flags = OBJECT_INITIALISED;
  }
  if (flags == OBJECT_INITIALISED) return flags | (is_left || is_updated ? 0 : OBJECT_READ_ONLY);
  if (is_updated) return 0;
  const KernelBuffer *buffer = plan->kernel != NULL ? &plan->kernel->buffers[holder->held] : NULL;
  bool is_result = buffer != NULL && buffer->role == KERNEL_RESULT;
  return is_result && tile_stored_elements(plan->kernel, holder->held) != buffer->element_count ? 0 : flags;
}

/* Objects of Tensors that outlive the plan, those with bytes in common one. */
static void add_held_objects(PlanExpander *expander) {
  const Plan *plan = expander->plan;
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    const PlanTensor *tensor = &plan->tensors[t];
    if (tensor->hold == PLAN_HOLDS_NOTHING) continue;
    int32_t object = BUFFER_OBJECT;
    for (int32_t other = 0; other < t && object == BUFFER_OBJECT; other++) {
      if (plan->tensors[other].hold != PLAN_HOLDS_NOTHING && plan->tensors[other].begin == tensor->begin)
        object = expander->tensor_objects[other];
    }
    if (object == BUFFER_OBJECT)
      object = command_stream_add_resident(expander->stream, tensor->name, tensor->begin, tensor->end - tensor->begin,
                                           held_flags(plan, tensor));
    expander->tensor_objects[t] = object;
    expander->object_begins[object] = tensor->begin;
  }
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    int32_t holder = plan_tensor_holder(plan, t);
    if (holder >= 0) expander->tensor_objects[t] = expander->tensor_objects[holder];
  }
}

static Status make_stream(Arena *arena, const Plan *plan, const MachineDescription *machine, PlanReading reading,
                          DiagSink *diag, CommandStream *out_stream) {
  if (plan_instance_count(plan) > MOST_INSTANCES) {
    return diag_error(diag, STATUS_EXHAUSTED, plan->loc, "plan-too-long",
                      "the plan of '%.*s' has more than %" PRId64 " command instances: too many to look at one by one",
                      SV_ARG(plan->name), MOST_INSTANCES);
  }
  command_stream_init(out_stream, arena, plan->buffer_bytes);
  PlanExpander expander = {.arena = arena, .plan = plan, .machine = machine, .diag = diag, .stream = out_stream};
  expander.iterations = ARENA_NEW_ARRAY(arena, int64_t, plan->loop_count);
  expander.reading = reading;
  expander.memory_objects = ARENA_NEW_ARRAY(arena, int32_t, plan->memory_count);
  expander.tensor_objects = ARENA_NEW_ARRAY(arena, int32_t, plan->tensor_count);
  expander.object_begins = ARENA_NEW_ARRAY(arena, int64_t, plan->memory_count + plan->tensor_count + 1);
  expander.started = ARENA_NEW_ARRAY(arena, int32_t, plan->command_count);
  expander.uses = ARENA_NEW_ARRAY(arena, OperandUses, plan->command_count);
  expander.shapes = ARENA_NEW_ARRAY(arena, OperandShape *, plan->command_count);
  expander.works = ARENA_NEW_ARRAY(arena, const TileWork *, plan->command_count);
  expander.instances = ARENA_NEW_ARRAY(arena, int32_t *, plan->command_count);
  int32_t most_targets = 0;
  for (int32_t c = 0; c < plan->command_count; c++)
    if (plan->commands[c].target_count > most_targets) most_targets = plan->commands[c].target_count;
  expander.targets = ARENA_NEW_ARRAY(arena, Operand, most_targets);
  int32_t queue_pairs = machine->queue_count * machine->queue_count;
  expander.awaited = ARENA_NEW_ARRAY(arena, int32_t, queue_pairs);
  for (int32_t i = 0; i < queue_pairs; i++) expander.awaited[i] = -1;
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    if (!reading.is_timed) expander.uses[c] = operand_uses(arena, plan, command);
    expander.shapes[c] = ARENA_NEW_ARRAY(arena, OperandShape, command->target_count + command->source_count);
    expander.instances[c] = ARENA_NEW_ARRAY(arena, int32_t, plan_loop_instances(plan, command->loop));
  }
  add_objects(&expander);
  add_held_objects(&expander);
  return expand_block(&expander, &plan->block);
}

/* Run-time starts as their lower bounds. */
static const int64_t *lower_bounds(Arena *arena, const Plan *plan) {
  int64_t *scalars = ARENA_NEW_ARRAY(arena, int64_t, plan->scalar_count);
  for (int32_t s = 0; s < plan->scalar_count; s++) scalars[s] = plan->scalars[s].lower;
  return scalars;
}

/* By memory view or Tensor. */
static const bool *nowhere(Arena *arena, const Plan *plan) {
  return ARENA_NEW_ARRAY(arena, bool, plan->memory_count + plan->tensor_count + 1);
}

Status plan_stream_make(Arena *arena, const Plan *plan, const MachineDescription *machine, DiagSink *diag,
                        CommandStream *out_stream) {
  PlanReading reading = {lower_bounds(arena, plan), run_time_views(arena, plan), run_time_tensors(arena, plan), false};
  return make_stream(arena, plan, machine, reading, diag, out_stream);
}

Status plan_stream_make_timed(Arena *arena, const Plan *plan, const MachineDescription *machine, DiagSink *diag,
                              CommandStream *out_stream) {
  const bool *is_anywhere = nowhere(arena, plan);
  PlanReading reading = {lower_bounds(arena, plan), is_anywhere, is_anywhere, true};
  return make_stream(arena, plan, machine, reading, diag, out_stream);
}

Status plan_stream_make_at(Arena *arena, const Plan *plan, const MachineDescription *machine, const int64_t *scalars,
                           DiagSink *diag, CommandStream *out_stream) {
  const bool *is_anywhere = nowhere(arena, plan);
  PlanReading reading = {scalars, is_anywhere, is_anywhere, false};
  return make_stream(arena, plan, machine, reading, diag, out_stream);
}
