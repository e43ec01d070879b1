#include "codegen/oncore/emit/bound_work.h"

#include <math.h>

#include "hlo/analysis/execution_counts.h"
#include "hlo/machine/description/machine_cost.h"

/* Of one operation: more would leave 64 bits as bytes. */
#define MOST_POINTS 1e15

typedef struct WorkWalk {
  Arena *scratch;
  const MachineDescription *machine;
  uint64_t *varies; /* by instruction: dimensions along which its elements differ */
  bool *is_known;   /* by instruction: no data makes it */
  double *asked;    /* by instruction: elements that others ask for, at least */
  double *inside;   /* by computation: cycles of its operations in one run */
  double *cycles;   /* of BoundWork */
  double *launched; /* of BoundWork */
  bool is_partial;  /* of the instruction at hand a part is asked for */
  bool has_places;  /* the computation at hand reads or writes at computed places */
  double times;     /* it runs */
  BoundWork work;
} WorkWalk;

/* --- points --- */

static uint64_t all_dims(const Shape *shape) {
  if (!shape_is_array(shape)) return 0;
  return shape->rank >= 64 ? UINT64_MAX : (UINT64_C(1) << shape->rank) - 1;
}

static uint64_t broadcast_dims(const WorkWalk *walk, const HloInstruction *broadcast) {
  Int64List dimensions = hlo_instruction_ints(broadcast, HLO_ATTR_DIMENSIONS);
  uint64_t from = walk->varies[broadcast->operands[0]->id], dims = 0;
  for (int64_t i = 0; i < dimensions.count; i++) {
    if ((from >> i & 1) != 0) dims |= UINT64_C(1) << dimensions.data[i];
  }
  return dims;
}

static uint64_t varying_dims(const WorkWalk *walk, const HloInstruction *instruction) {
  if (instruction->opcode == HLO_BROADCAST) return broadcast_dims(walk, instruction);
  if (instruction->opcode == HLO_IOTA) {
    return UINT64_C(1) << hlo_instruction_int(instruction, HLO_ATTR_IOTA_DIMENSION, 0);
  }
  if (!hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE)) return all_dims(instruction->shape);
  uint64_t dims = 0;
  for (int32_t i = 0; i < instruction->operand_count; i++) dims |= walk->varies[instruction->operands[i]->id];
  return dims;
}

static double varying_points(const Shape *shape, uint64_t dims) {
  double points = 1;
  for (int d = 0; d < shape->rank; d++) {
    if ((dims >> d & 1) != 0) points *= (double)shape->dims[d];
  }
  return points;
}

/* Positions that a window of |user| sees, all of them together. */
static double window_points(const HloInstruction *user, const Shape *windows) {
  const Window *window = hlo_instruction_window(user);
  double points = (double)shape_element_count(windows);
  for (int i = 0; window != NULL && i < window->rank; i++) points *= (double)window->dims[i].size;
  return points;
}

/* Elements of an operand of |user| that it asks for, however many it has. */
static double asked_by(const WorkWalk *walk, const HloInstruction *user) {
  OpAccess access = hlo_opcode_info(user->opcode)->access;
  bool is_window = user->opcode == HLO_REDUCE_WINDOW || user->opcode == HLO_CONVOLUTION;
  if (is_window) return window_points(user, shape_result(user->shape, 0));
  return access == ACCESS_WHOLE || !shape_is_array(user->shape) ? INFINITY : walk->asked[user->id];
}

/* Users come after what they use. */
static void find_asked(WorkWalk *walk, const HloComputation *computation) {
  for (int64_t i = computation->instructions.count - 1; i >= 0; i--) {
    const HloInstruction *instruction = computation->instructions.data[i];
    double all = shape_is_array(instruction->shape) ? (double)shape_element_count(instruction->shape) : 0, asked = 0;
    if (instruction == computation->root) asked = all;
    for (int32_t u = 0; u < instruction->user_count; u++) asked = fmax(asked, asked_by(walk, instruction->users[u]));
    walk->asked[instruction->id] = fmin(all, asked);
  }
}

/* --- what costs nothing --- */

bool bound_is_of_scalar_unit(const Shape *shape) {
  return shape_is_array(shape) && shape->rank == 0 && !type_is_float(shape->type) && !type_is_complex(shape->type);
}

static bool is_without_data(const WorkWalk *walk, const HloInstruction *instruction) {
  if (instruction->opcode == HLO_IOTA || instruction->opcode == HLO_CONSTANT) return true;
  if (instruction->operand_count == 0 || hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW)) return false;
  for (int32_t i = 0; i < instruction->operand_count; i++) {
    if (!walk->is_known[instruction->operands[i]->id]) return false;
  }
  return true;
}

/* Whether a unit may convert by itself: each user but lane-wise ones, and products, which may be those of a unit. */
static bool is_units_conversion(const HloInstruction *instruction) {
  if (instruction->opcode != HLO_CONVERT) return false;
  for (int32_t u = 0; u < instruction->user_count; u++) {
    HloOpcode opcode = instruction->users[u]->opcode;
    if (!hlo_opcode_has(opcode, OP_ELEMENTWISE) || opcode == HLO_MULTIPLY || opcode == HLO_CONVERT) return true;
  }
  return false;
}

static bool adds(const HloInstruction *reduction) {
  const HloComputation *region = hlo_instruction_computation(reduction, HLO_ATTR_TO_APPLY);
  return reduction->opcode == HLO_REDUCE && region != NULL && region->root->opcode == HLO_ADD;
}

static bool is_product(const HloInstruction *value) {
  return value->opcode == HLO_MULTIPLY && value->operands[0] != value->operands[1];
}

static bool only_moves(const HloInstruction *value) {
  return value->opcode == HLO_BITCAST || value->opcode == HLO_RESHAPE || value->opcode == HLO_TRANSPOSE ||
         value->opcode == HLO_CONVERT || value->opcode == HLO_COPY;
}

/* The product that |reduction| adds up, NULL for none: a matrix unit may do both. */
static const HloInstruction *added_product(const HloInstruction *reduction) {
  const HloInstruction *value = reduction->operands[0];
  while (only_moves(value)) value = value->operands[0];
  return adds(reduction) && is_product(value) ? value : NULL;
}

/* Whether |value|, a product, is moved to a sum. */
static bool may_be_added(const HloInstruction *value) {
  for (int32_t u = 0; u < value->user_count; u++) {
    const HloInstruction *user = value->users[u];
    if (adds(user) || (only_moves(user) && may_be_added(user))) return true;
  }
  return false;
}

static bool costs_nothing(const WorkWalk *walk, const HloInstruction *instruction) {
  const Shape *shape = instruction->shape;
  if (instruction->opcode == HLO_COPY || bound_is_of_scalar_unit(shape) || walk->is_known[instruction->id]) return true;
  if (instruction->opcode == HLO_SELECT && walk->is_known[instruction->operands[0]->id]) return true;
  if (walk->has_places && !type_is_float(shape->type) && !type_is_complex(shape->type)) return true;
  if (is_product(instruction) && may_be_added(instruction)) return true;
  return is_units_conversion(instruction);
}

/* --- lanes --- */

static double cost_cycles(const WorkWalk *walk, MachineCost cost, PrimitiveType type, double points) {
  const MachineOpCosts *costs = cost == COST_NONE ? NULL : walk->machine->ops[type];
  if (costs == NULL) return 0; /* it moves, or a plan would be refused */
  return costs->cost[cost] * (double)machine_vector_count(walk->machine, (int64_t)fmin(points, MOST_POINTS), type);
}

/* Of a number that has parts of |type|. */
static double complex_cycles(const WorkWalk *walk, HloOpcode opcode, PrimitiveType type, double points) {
  switch (opcode) {
    case HLO_COMPLEX:
    case HLO_REAL:
    case HLO_IMAG: return 0;
    case HLO_ADD:
    case HLO_SUBTRACT:
    case HLO_NEGATE: return 2 * cost_cycles(walk, COST_ADD, type, points);
    case HLO_SELECT: return 2 * cost_cycles(walk, COST_SELECT, type, points);
    case HLO_MULTIPLY:
    case HLO_DIVIDE: return 3 * cost_cycles(walk, COST_MUL, type, points);
    case HLO_ABS:
      return 2 * cost_cycles(walk, COST_MUL, type, points) + cost_cycles(walk, COST_ADD, type, points) +
             cost_cycles(walk, COST_SQRT, type, points);
    default: return cost_cycles(walk, machine_cost_of_opcode(opcode), type, points);
  }
}

/* A real number among the factors leaves two products. */
static bool has_real_factor(const HloInstruction *instruction) {
  for (int32_t i = 0; i < instruction->operand_count; i++) {
    const HloInstruction *factor = instruction->operands[i];
    while (factor->opcode == HLO_BROADCAST) factor = factor->operands[0];
    if (factor->opcode == HLO_COMPLEX || factor->opcode == HLO_CONVERT || factor->opcode == HLO_CONSTANT) return true;
  }
  return false;
}

/* Its square is compared instead (codegen/lower/compare_root.c). */
static bool is_compared_root(const HloInstruction *instruction) {
  bool is_root = instruction->opcode == HLO_SQRT || instruction->opcode == HLO_ABS;
  if (!is_root || instruction->user_count == 0 || instruction == instruction->parent->root) return false;
  for (int32_t u = 0; u < instruction->user_count; u++) {
    if (instruction->users[u]->opcode != HLO_COMPARE) return false;
  }
  return true;
}

static double lane_cycles(const WorkWalk *walk, const HloInstruction *instruction, double points) {
  bool of_operand = hlo_opcode_has(instruction->opcode, OP_TYPED_BY_OPERAND) || instruction->opcode == HLO_ABS;
  PrimitiveType type = of_operand ? instruction->operands[0]->shape->type : instruction->shape->type;
  if (!type_is_complex(type)) {
    if (instruction->opcode == HLO_SQRT && is_compared_root(instruction)) return 0;
    return cost_cycles(walk, machine_cost_of_opcode(instruction->opcode), type, points);
  }
  double cycles = complex_cycles(walk, instruction->opcode, type_complex_part(type), points);
  if (is_compared_root(instruction)) cycles -= cost_cycles(walk, COST_SQRT, type_complex_part(type), points);
  return instruction->opcode == HLO_MULTIPLY && has_real_factor(instruction) ? cycles * 2 / 3 : cycles;
}

/* A computation that is applied to elements, once for each of |points|. */
static double region_cycles(const WorkWalk *walk, const HloComputation *region, double points) {
  double cycles = 0;
  for (int64_t i = 0; region != NULL && i < region->instructions.count; i++) {
    const HloInstruction *instruction = region->instructions.data[i];
    if (instruction->opcode != HLO_COPY && hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE))
      cycles += lane_cycles(walk, instruction, points);
  }
  return cycles;
}

/* --- products --- */

/* The most products a cycle that the unit can do of |factor|: it may be narrower before or after a conversion. */
static double product_rate(const WorkWalk *walk, const HloInstruction *factor) {
  double rate = 0;
  for (;;) {
    PrimitiveType type = factor->shape->type;
    const MachineOpCosts *costs = walk->machine->ops[type_is_complex(type) ? type_complex_part(type) : type];
    if (costs != NULL) rate = fmax(rate, costs->cost[COST_MAC]);
    if (factor->opcode != HLO_CONVERT && factor->opcode != HLO_BITCAST && factor->opcode != HLO_RESHAPE) return rate;
    factor = factor->operands[0];
  }
}

static double product_cycles(const WorkWalk *walk, const HloInstruction *product, double products) {
  double rate = fmax(product_rate(walk, product->operands[0]), product_rate(walk, product->operands[1]));
  double each = type_is_complex(product->operands[0]->shape->type) ? 3 : 1;
  return rate > 0 ? each * products / rate : 0;
}

static double dot_products(const HloInstruction *dot) {
  Int64List contracting = hlo_instruction_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS);
  double products = (double)shape_element_count(dot->shape);
  for (int64_t i = 0; i < contracting.count; i++) {
    products *= (double)dot->operands[0]->shape->dims[contracting.data[i]];
  }
  return products;
}

/* Pairs of a position and a tap of the window along one dim.  Kernels go over padding, but not over the holes of a
 * dilated image: of one, those that meet an element. */
static double real_taps(const WindowDimension *window, int64_t positions, int64_t elements) {
  double all = (double)positions * (double)window->size;
  if (window->base_dilation <= 1) return all;
  if (elements == 0 || all > 1e7) return elements == 0 ? 0 : (double)positions;
  double reach = (double)positions * (double)window->stride + (double)window->size * (double)window->window_dilation;
  if (fmax(reach, (double)elements * (double)window->base_dilation) > MOST_POINTS) return (double)positions;
  double taps = 0;
  int64_t spread = (elements - 1) * window->base_dilation + 1;
  for (int64_t o = 0; o < positions; o++) {
    for (int64_t k = 0; k < window->size; k++) {
      int64_t at = o * window->stride + k * window->window_dilation - window->pad_low;
      taps += at >= 0 && at < spread && at % window->base_dilation == 0;
    }
  }
  return taps;
}

/* What is no dimension of |shape| counts once. */
static double extent_of(const Shape *shape, int64_t dim) {
  return dim < 0 ? 1 : (double)shape->dims[dim];
}

static double convolution_products(const HloInstruction *convolution) {
  const ConvolutionDimensionNumbers *dims = hlo_instruction_dim_labels(convolution);
  const Window *window = hlo_instruction_window(convolution);
  const Shape *image = convolution->operands[0]->shape, *made = convolution->shape;
  double products = extent_of(made, dims->output.batch) * extent_of(made, dims->output.feature) *
                    extent_of(convolution->operands[1]->shape, dims->kernel.input_feature);
  for (int i = 0; window != NULL && i < window->rank; i++) {
    products *= real_taps(&window->dims[i], made->dims[dims->output.spatial[i]], image->dims[dims->input.spatial[i]]);
  }
  return products;
}

/* Values in the Buffer decide how often operands have to come again. */
static void add_dot_bytes(WorkWalk *walk, const HloInstruction *dot, double products) {
  PrimitiveType type = dot->operands[0]->shape->type;
  const HloInstruction *converted = dot->operands[0];
  if (converted->opcode == HLO_CONVERT) type = converted->operands[0]->shape->type;
  double bytes = (double)type_storage_bytes(type);
  double values = (double)machine_buffer_usable(walk->machine) / bytes;
  double moved = 2 * products / sqrt(values) - 2 * values;
  if (moved > 0) walk->work.dot_bytes += walk->times * moved * bytes;
}

/* --- one instruction --- */

/* Steps over windows: neighbours may share them (a cumulative sum is one step for each element), so no more than there
 * are elements on either side. */
static double shared_points(const HloInstruction *user, const Shape *windows) {
  double read = (double)shape_element_count(user->operands[0]->shape), made = (double)shape_element_count(windows);
  return fmin(window_points(user, windows), fmax(read, made));
}

/* What the windows along one dim see. */
typedef struct WindowSight {
  double taps;      /* pairs of a position and an element */
  double seeing;    /* positions that see any element */
  double alone;     /* that see one */
  double different; /* elements that are seen, at least */
} WindowSight;

static WindowSight window_sight(const WindowDimension *window, int64_t positions, int64_t elements) {
  WindowSight sight = {0};
  if (window->base_dilation > 1 || positions > 1 << 24) return sight; /* nothing is known */
  int64_t end = 0; /* of what has been seen, where windows leave no holes */
  bool is_dense = window->window_dilation == 1;
  for (int64_t o = 0; o < positions; o++) {
    int64_t begin = o * window->stride - window->pad_low, step = window->window_dilation;
    int64_t first = begin < 0 ? (-begin + step - 1) / step : 0, last = (elements - 1 - begin) / step;
    if (elements - 1 - begin < 0) continue;
    if (last > window->size - 1) last = window->size - 1;
    if (first > last) continue;
    sight.taps += (double)(last - first + 1);
    sight.seeing++;
    sight.alone += first == last;
    int64_t low = begin + first > end ? begin + first : end, high = begin + last + 1;
    if (is_dense && high > low) sight.different += (double)(high - low);
    if (high > end) end = high;
  }
  return sight;
}

/* Steps of a fold over windows, which takes the first of its elements as it is.  Windows of two elements or more take a
 * step each, and of what is read as many windows become by no fewer steps than there are less of these; neighbours may
 * share steps. */
static double window_steps(const HloInstruction *reduction, double *out_seen) {
  const Window *windows = hlo_instruction_window(reduction);
  const Shape *read = reduction->operands[0]->shape, *made = shape_result(reduction->shape, 0);
  double taps = 1, seeing = 1, alone = 1, different = 1;
  for (int i = 0; i < made->rank; i++) {
    WindowDimension whole = {.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
    const WindowDimension *window = windows != NULL ? &windows->dims[i] : &whole;
    WindowSight sight = window_sight(window, made->dims[i], read->dims[i]);
    taps *= sight.taps;
    seeing *= sight.seeing;
    alone *= sight.alone;
    different *= sight.different;
  }
  *out_seen = different;
  return fmin(taps - seeing, fmax(different - seeing, seeing - alone));
}

static bool is_half(PrimitiveType type) {
  return type_is_float(type) && type_bits(type) == 16;
}

/* Elements of the operand of |fold| that are converted to a wider type: none where what they come from is wider. */
static double widened_elements(const WorkWalk *walk, const HloInstruction *fold, double seen) {
  const HloInstruction *value = fold->operands[0], *from = value;
  while (from->opcode != HLO_CONVERT && only_moves(from)) from = from->operands[0];
  if (from->opcode == HLO_CONVERT || walk->is_known[value->id]) return 0;
  return fmin(seen, varying_points(value->shape, walk->varies[value->id]));
}

/* What |fold| makes and is rounded: none where others may take it as it is. */
static double rounded_elements(const HloInstruction *fold) {
  for (int32_t u = 0; u < fold->user_count; u++)
    if (only_moves(fold->users[u])) return 0;
  return (double)shape_element_count(fold->shape);
}

/* |steps| of a fold that sees so many elements.  Halves are summed up and multiplied together in a wider type
 * (codegen/lower). */
static double fold_cycles(const WorkWalk *walk, const HloInstruction *fold, double seen, double steps) {
  const HloComputation *region = hlo_instruction_computation(fold, HLO_ATTR_TO_APPLY);
  PrimitiveType type = fold->operands[0]->shape->type;
  bool widens = region != NULL && fold->operand_count == 2 && region->instructions.count == 3 && is_half(type) &&
                (region->root->opcode == HLO_ADD || region->root->opcode == HLO_MULTIPLY);
  if (!widens) return region_cycles(walk, region, steps);
  return cost_cycles(walk, COST_CONVERT, TYPE_F32, widened_elements(walk, fold, seen)) +
         cost_cycles(walk, machine_cost_of_opcode(region->root->opcode), TYPE_F32, steps) +
         cost_cycles(walk, COST_CONVERT, type, rounded_elements(fold));
}

static double reduction_cycles(const WorkWalk *walk, const HloInstruction *reduction) {
  const HloInstruction *product = added_product(reduction);
  double points = (double)shape_element_count(reduction->operands[0]->shape);
  if (product != NULL) return product_cycles(walk, product, points);
  double steps =
      fmax(0, points - (double)shape_element_count(shape_result(reduction->shape, 0))); /* the first element is taken */
  return fold_cycles(walk, reduction, points, steps);
}

static double sort_cycles(const WorkWalk *walk, const HloInstruction *sort) {
  const Shape *shape = sort->operands[0]->shape;
  Int64List dimensions = hlo_instruction_ints(sort, HLO_ATTR_DIMENSIONS);
  double length = dimensions.count > 0 ? (double)shape->dims[dimensions.data[0]] : 1;
  double lines = length > 0 ? (double)shape_element_count(shape) / length : 0;
  double comparisons = length > 1 ? lines * floor(fmax(length * (log2(length) - 1 / log(2)), 1)) : 0;
  return region_cycles(walk, hlo_instruction_computation(sort, HLO_ATTR_TO_APPLY), comparisons);
}

static double gradient_cycles(const WorkWalk *walk, const HloInstruction *instruction) {
  double seen = shared_points(instruction, instruction->operands[1]->shape);
  return region_cycles(walk, hlo_instruction_computation(instruction, HLO_ATTR_SELECT_COMPUTATION), seen);
}

static double scatter_cycles(const WorkWalk *walk, const HloInstruction *scatter) {
  double updates = (double)shape_element_count(scatter->operands[scatter->operand_count - 1]->shape);
  return region_cycles(walk, hlo_instruction_computation(scatter, HLO_ATTR_TO_APPLY), updates);
}

/* Cycles of |instruction| in one run of its computation. */
static double instruction_cycles(WorkWalk *walk, const HloInstruction *instruction) {
  switch (instruction->opcode) {
    case HLO_DOT: {
      double products = dot_products(instruction);
      add_dot_bytes(walk, instruction, products);
      return product_cycles(walk, instruction, products);
    }
    case HLO_CONVOLUTION: return product_cycles(walk, instruction, convolution_products(instruction));
    case HLO_REDUCE: return reduction_cycles(walk, instruction);
    case HLO_REDUCE_WINDOW: {
      double seen, steps = window_steps(instruction, &seen);
      return fold_cycles(walk, instruction, seen, steps);
    }
    case HLO_SELECT_AND_SCATTER: return gradient_cycles(walk, instruction);
    case HLO_SCATTER: return scatter_cycles(walk, instruction);
    case HLO_SORT: return sort_cycles(walk, instruction);
    case HLO_FUSION: return walk->inside[hlo_instruction_called(instruction, 0)->id];
    default: break;
  }
  if (!hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE) || !shape_is_array(instruction->shape)) return 0;
  if (costs_nothing(walk, instruction)) return 0;
  double points = varying_points(instruction->shape, walk->varies[instruction->id]);
  walk->is_partial = walk->asked[instruction->id] < points;
  return lane_cycles(walk, instruction, fmin(points, walk->asked[instruction->id]));
}

/* --- all of them --- */

static double least_setup(const MachineDescription *machine) {
  double least = INFINITY;
  for (int32_t q = 0; q < machine->queue_count; q++) {
    if (machine->queues[q].kind == QUEUE_EXEC) least = fmin(least, (double)machine->queues[q].setup);
  }
  return isinf(least) ? 0 : least;
}

static bool reads_at_places(const HloComputation *computation) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    HloOpcode opcode = computation->instructions.data[i]->opcode;
    if (opcode == HLO_GATHER || opcode == HLO_SCATTER || opcode == HLO_DYNAMIC_SLICE ||
        opcode == HLO_DYNAMIC_UPDATE_SLICE)
      return true;
  }
  return false;
}

/* |has_kernels|: each of its instructions is a Kernel, or several; else it is what one of them does. */
static void add_computation(WorkWalk *walk, const HloComputation *computation, bool has_kernels) {
  double setup = least_setup(walk->machine);
  walk->has_places = reads_at_places(computation);
  find_asked(walk, computation);
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    walk->varies[instruction->id] = varying_dims(walk, instruction);
    walk->is_known[instruction->id] = !has_kernels && is_without_data(walk, instruction);
    walk->is_partial = false;
    double cycles = instruction_cycles(walk, instruction);
    walk->cycles[instruction->id] = walk->is_partial ? 0 : cycles;
    walk->inside[computation->id] += cycles;
    if (has_kernels && cycles > 0) walk->work.launch_cycles += walk->times * setup;
    if (has_kernels && cycles > 0) walk->launched[instruction->id] = cycles + setup;
  }
  if (has_kernels) walk->work.operation_cycles += walk->times * walk->inside[computation->id];
}

BoundWork bound_work_find(Arena *arena, const HloModule *module, const MachineDescription *machine) {
  WorkWalk walk = {.scratch = arena_create(), .machine = machine};
  int64_t count;
  HloComputation **order = hlo_module_post_order(module, walk.scratch, &count);
  walk.varies = ARENA_NEW_ARRAY(walk.scratch, uint64_t, module->next_instruction_id);
  walk.is_known = ARENA_NEW_ARRAY(arena, bool, module->next_instruction_id);
  walk.cycles = ARENA_NEW_ARRAY(arena, double, module->next_instruction_id);
  walk.launched = ARENA_NEW_ARRAY(arena, double, module->next_instruction_id);
  walk.asked = ARENA_NEW_ARRAY(walk.scratch, double, module->next_instruction_id);
  walk.inside = ARENA_NEW_ARRAY(walk.scratch, double, module->next_computation_id);
  const bool *is_applied = hlo_module_applied(walk.scratch, module, true);
  const double *times = hlo_execution_counts(walk.scratch, module, 1);
  for (int64_t c = 0; c < count; c++) {
    walk.times = times[order[c]->id];
    if (walk.times > 0) add_computation(&walk, order[c], !is_applied[order[c]->id]);
  }
  BoundWork work = walk.work;
  work.setup = least_setup(machine);
  work.launched = walk.launched;
  work.cycles = walk.cycles;
  work.is_known = walk.is_known;
  arena_destroy(walk.scratch);
  return work;
}

int32_t bound_executors(const MachineDescription *machine) {
  int32_t count = 0;
  for (int32_t q = 0; q < machine->queue_count; q++) count += machine->queues[q].kind == QUEUE_EXEC;
  return count;
}

double bound_rate(const MachineDescription *machine, bool (*moves)(const MachineQueue *queue)) {
  double rate = 0;
  for (int32_t q = 0; q < machine->queue_count; q++)
    if (moves(&machine->queues[q])) rate += machine->queues[q].bytes_per_cycle;
  return rate;
}
