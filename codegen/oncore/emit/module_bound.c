#include "codegen/oncore/emit/module_bound.h"

#include <math.h>

#include "hlo/analysis/execution_counts.h"
#include "hlo/machine/description/machine_cost.h"

typedef struct BoundWalk {
  Arena *scratch;
  const MachineDescription *machine;
  uint64_t *varies; /* by instruction: dimensions along which its elements differ */
  double times;     /* the computation at hand runs */
  ModuleBound bound;
} BoundWalk;

/* --- work --- */

static uint64_t all_dims(const Shape *shape) {
  if (!shape_is_array(shape)) return 0;
  return shape->rank >= 64 ? UINT64_MAX : (UINT64_C(1) << shape->rank) - 1;
}

static uint64_t broadcast_dims(const BoundWalk *walk, const HloInstruction *broadcast) {
  Int64List dimensions = hlo_instruction_ints(broadcast, HLO_ATTR_DIMENSIONS);
  uint64_t from = walk->varies[broadcast->operands[0]->id], dims = 0;
  for (int64_t i = 0; i < dimensions.count; i++) {
    if ((from >> i & 1) != 0) dims |= UINT64_C(1) << dimensions.data[i];
  }
  return dims;
}

static uint64_t varying_dims(const BoundWalk *walk, const HloInstruction *instruction) {
  if (instruction->opcode == HLO_BROADCAST) return broadcast_dims(walk, instruction);
  if (instruction->opcode == HLO_IOTA) {
    return UINT64_C(1) << hlo_instruction_int(instruction, HLO_ATTR_IOTA_DIMENSION, 0);
  }
  if (!hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE)) return all_dims(instruction->shape);
  uint64_t dims = 0;
  for (int32_t i = 0; i < instruction->operand_count; i++) dims |= walk->varies[instruction->operands[i]->id];
  return dims;
}

static int64_t varying_points(const Shape *shape, uint64_t dims) {
  int64_t points = 1;
  for (int d = 0; d < shape->rank; d++) {
    if ((dims >> d & 1) != 0) points *= shape->dims[d];
  }
  return points;
}

static PrimitiveType cost_type(const HloInstruction *instruction) {
  bool of_operand = hlo_opcode_has(instruction->opcode, OP_TYPED_BY_OPERAND);
  return of_operand ? instruction->operands[0]->shape->type : instruction->shape->type;
}

/* Cycles of lane-wise |instruction| over |points|; 0 for what moves, and for types that a plan would be refused for. */
static double lane_cycles(const BoundWalk *walk, const HloInstruction *instruction, int64_t points) {
  MachineCost cost = machine_cost_of_opcode(instruction->opcode);
  PrimitiveType type = cost_type(instruction);
  if (cost == COST_NONE || instruction->opcode == HLO_COPY || walk->machine->ops[type] == NULL) return 0;
  return walk->machine->ops[type]->cost[cost] * (double)machine_vector_count(walk->machine, points, type);
}

/* The computation of a reduction, once for each of |points|. */
static double region_cycles(const BoundWalk *walk, const HloInstruction *reduction, int64_t points) {
  const HloComputation *region = hlo_instruction_computation(reduction, HLO_ATTR_TO_APPLY);
  double cycles = 0;
  for (int64_t i = 0; region != NULL && i < region->instructions.count; i++) {
    cycles += lane_cycles(walk, region->instructions.data[i], points);
  }
  return cycles;
}

/* Values in the Buffer decide how often operands have to come again. */
static void add_products(BoundWalk *walk, double products, const HloInstruction *contraction, bool is_dot) {
  PrimitiveType type = contraction->operands[0]->shape->type;
  const HloInstruction *converted = contraction->operands[0];
  if (converted->opcode == HLO_CONVERT) type = converted->operands[0]->shape->type;
  const MachineOpCosts *costs = walk->machine->ops[type];
  if (costs != NULL) walk->bound.work_cycles += walk->times * products / costs->cost[COST_MAC];
  if (!is_dot) return;
  double bytes = (double)type_storage_bytes(type);
  double values = (double)machine_buffer_usable(walk->machine) / bytes;
  double moved = 2 * products / sqrt(values) - 2 * values;
  if (moved > 0) walk->bound.dot_bytes += walk->times * moved * bytes;
}

static double dot_products(const HloInstruction *dot) {
  Int64List contracting = hlo_instruction_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS);
  double products = (double)shape_element_count(dot->shape);
  for (int64_t i = 0; i < contracting.count; i++) {
    products *= (double)dot->operands[0]->shape->dims[contracting.data[i]];
  }
  return products;
}

static double convolution_products(const HloInstruction *convolution) {
  const ConvolutionDimensionNumbers *dims = hlo_instruction_attr(convolution, HLO_ATTR_DIM_LABELS)->value.dim_labels;
  const Shape *kernel = convolution->operands[1]->shape;
  int64_t features = kernel->dims[dims->kernel_output_feature];
  if (features == 0) return 0;
  return (double)shape_element_count(convolution->shape) * (double)(shape_element_count(kernel) / features);
}

/* Steps of a reduction over windows: neighbours may share them (a cumulative sum is one step for each element), so no
 * more than there are elements on either side. */
static double window_points(const HloInstruction *reduction) {
  const HloAttr *attr = hlo_instruction_attr(reduction, HLO_ATTR_WINDOW);
  const Shape *shape = shape_is_tuple(reduction->shape) ? reduction->shape->tuple[0] : reduction->shape;
  double points = (double)shape_element_count(shape);
  for (int i = 0; attr != NULL && i < attr->value.window->rank; i++) {
    points *= (double)attr->value.window->dims[i].size;
  }
  double read = (double)shape_element_count(reduction->operands[0]->shape), made = (double)shape_element_count(shape);
  double either = read > made ? read : made;
  return points < either ? points : either;
}

static void add_work(BoundWalk *walk, const HloInstruction *instruction) {
  walk->varies[instruction->id] = varying_dims(walk, instruction);
  bool is_dot = instruction->opcode == HLO_DOT, is_window = instruction->opcode == HLO_REDUCE_WINDOW;
  if (hlo_opcode_has(instruction->opcode, OP_CONTRACTION)) {
    double products = is_dot ? dot_products(instruction) : convolution_products(instruction);
    add_products(walk, products, instruction, is_dot);
    return;
  }
  if (instruction->opcode == HLO_REDUCE || is_window) {
    int64_t points =
        is_window ? (int64_t)window_points(instruction) : shape_element_count(instruction->operands[0]->shape);
    walk->bound.work_cycles += walk->times * region_cycles(walk, instruction, points);
    return;
  }
  if (!hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE) || !shape_is_array(instruction->shape)) return;
  int64_t points = varying_points(instruction->shape, walk->varies[instruction->id]);
  walk->bound.work_cycles += walk->times * lane_cycles(walk, instruction, points);
}

/* --- bytes --- */

static int64_t bytes_read(const HloInstruction *value);

/* The most that any of the parameters that |value| is inside of |fusion| is read. */
static int64_t bytes_read_inside(const HloInstruction *fusion, const HloInstruction *value) {
  int64_t most = 0;
  for (int32_t i = 0; i < fusion->operand_count; i++) {
    if (fusion->operands[i] != value) continue;
    int64_t here = bytes_read(hlo_instruction_called(fusion, 0)->parameters.data[i]);
    if (here > most) most = here;
  }
  return most;
}

/* What makes each element of one of its first operand reads no more of them than it makes. */
static bool reads_what_it_makes(const HloInstruction *user, const HloInstruction *value) {
  OpAccess access = hlo_opcode_info(user->opcode)->access;
  return user->operands[0] == value && shape_is_array(user->shape) && access != ACCESS_WINDOW && access != ACCESS_WHOLE;
}

static int64_t bytes_read_by(const HloInstruction *user, const HloInstruction *value) {
  int64_t whole = shape_byte_size(value->shape);
  if (user->opcode == HLO_FUSION) return bytes_read_inside(user, value);
  if (user->opcode == HLO_BITCAST) return bytes_read(user);
  if (hlo_opcode_has(user->opcode, OP_TUPLES | OP_CONTROL_FLOW) || user->opcode == HLO_CUSTOM_CALL) return 0;
  if (hlo_opcode_has(user->opcode, OP_IN_PLACE)) return user->operands[0] == value ? 0 : whole;
  if (!reads_what_it_makes(user, value)) return whole;
  int64_t made = shape_element_count(user->shape) * type_storage_bytes(value->shape->type);
  return made < whole ? made : whole;
}

/* Bytes of |value| that its users read at least: two of them may read the same ones. */
static int64_t bytes_read(const HloInstruction *value) {
  int64_t most = 0;
  if (!shape_is_array(value->shape)) return 0;
  for (int32_t u = 0; u < value->user_count; u++) {
    int64_t here = bytes_read_by(value->users[u], value);
    if (here > most) most = here;
  }
  return most;
}

static int64_t bytes_written(const HloInstruction *value) {
  if (value->opcode == HLO_TUPLE) {
    int64_t sum = 0;
    for (int32_t i = 0; i < value->operand_count; i++) sum += bytes_written(value->operands[i]);
    return sum;
  }
  if (value->opcode == HLO_FUSION) return bytes_written(hlo_instruction_called(value, 0)->root);
  if (value->opcode == HLO_BITCAST) return bytes_written(value->operands[0]);
  if (value->opcode == HLO_DYNAMIC_UPDATE_SLICE) return shape_byte_size(value->operands[1]->shape);
  if (hlo_opcode_has(value->opcode, OP_TUPLES | OP_CONTROL_FLOW | OP_IN_PLACE)) return 0;
  if (value->opcode == HLO_PARAMETER || value->opcode == HLO_CUSTOM_CALL) return 0;
  return shape_is_array(value->shape) ? shape_byte_size(value->shape) : 0;
}

/* --- together --- */

/* |bytes| over the queues that |moves| them, each at its own rate.  |moved|: where there is no choice. */
static void share_bytes(const MachineDescription *machine, int64_t bytes, bool (*moves)(const MachineQueue *queue),
                        double *cycles, int64_t *moved) {
  double rate = 0;
  int32_t count = 0;
  for (int32_t q = 0; q < machine->queue_count; q++) {
    if (!moves(&machine->queues[q])) continue;
    rate += machine->queues[q].bytes_per_cycle;
    count++;
  }
  for (int32_t q = 0; q < machine->queue_count; q++) {
    if (!moves(&machine->queues[q])) continue;
    cycles[q] += (double)bytes / rate;
    if (count == 1) moved[q] += bytes;
  }
}

static QueueLimit longest(const BoundWalk *walk) {
  const MachineDescription *machine = walk->machine;
  const ModuleBound *bound = &walk->bound;
  double *cycles = ARENA_NEW_ARRAY(walk->scratch, double, machine->queue_count);
  int64_t *moved = ARENA_NEW_ARRAY(walk->scratch, int64_t, machine->queue_count);
  int32_t executors = 0;
  share_bytes(machine, bound->argument_bytes, machine_queue_loads, cycles, moved);
  share_bytes(machine, bound->result_bytes, machine_queue_stores, cycles, moved);
  for (int32_t q = 0; q < machine->queue_count; q++) executors += machine->queues[q].kind == QUEUE_EXEC;
  for (int32_t q = 0; q < machine->queue_count; q++) {
    if (machine->queues[q].kind == QUEUE_EXEC) cycles[q] += bound->work_cycles / executors;
  }
  QueueWork work = {.cycles = cycles, .bytes = bound->argument_bytes + bound->result_bytes, .moved = moved};
  if (bound->dot_bytes > (double)work.bytes) work.bytes = (int64_t)bound->dot_bytes;
  return queue_bound(machine, &work);
}

ModuleBound module_bound_find(const HloModule *module, const MachineDescription *machine) {
  BoundWalk walk = {.scratch = arena_create(), .machine = machine};
  walk.varies = ARENA_NEW_ARRAY(walk.scratch, uint64_t, module->next_instruction_id);
  int64_t count;
  HloComputation **order = hlo_module_post_order(module, walk.scratch, &count);
  const double *times = hlo_execution_counts(walk.scratch, module);
  for (int64_t c = 0; c < count; c++) {
    walk.times = times[order[c]->id];
    int64_t instructions = walk.times > 0 ? order[c]->instructions.count : 0;
    for (int64_t i = 0; i < instructions; i++) add_work(&walk, order[c]->instructions.data[i]);
  }
  for (int64_t p = 0; p < module->entry->parameters.count; p++) {
    walk.bound.argument_bytes += bytes_read(module->entry->parameters.data[p]);
  }
  walk.bound.result_bytes = bytes_written(module->entry->root);
  walk.bound.limit = longest(&walk);
  ModuleBound bound = walk.bound;
  arena_destroy(walk.scratch);
  return bound;
}
