#include "passes/fusion/fusion_decision.h"

#include "base/checked_math.h"
#include "base/hash_map.h"
#include "hlo/analysis/loop_nest.h"

enum {
  CONCATENATE_LIMIT = 4, /* pieces of one loop range */
  FREE_MAP_LIMIT = 4,
  CHEAP_MAP_LIMIT = 2,
  FREE_GROUP_LIMIT = 8,
  REPEAT_GROUP_LIMIT = 4,
  MERGE_GROUP_LIMIT = 2,
  LESS = 4,            /* times */
  LOOKED_UP_AGAIN = 4, /* times */
  DEEP = 16            /* products of a sum */
};

#define YES(text) ((FusionDecision){true, text})
#define NO(text) ((FusionDecision){false, text})

/* Static dimensions, at least one element, no tiling: what a Kernel addresses. */
static bool is_plain_array(const Shape *shape) {
  if (!shape_is_array(shape) || shape_is_dynamic(shape) || shape->layout.tile_count > 0) return false;
  return shape_element_count(shape) > 0;
}

static bool has_plain_operands(const HloInstruction *instruction) {
  for (int i = 0; i < instruction->operand_count; i++) {
    if (!is_plain_array(instruction->operands[i]->shape)) return false;
  }
  return true;
}

/* Between default layouts a bitcast is a reshape; otherwise it says something about addresses. */
static bool is_reshaping_bitcast(const HloInstruction *instruction) {
  const Shape *from = instruction->operands[0]->shape, *to = instruction->shape;
  return from->type == to->type && shape_has_default_layout(from) && shape_has_default_layout(to);
}

/* Bits in their places, or those of integers and floats taken apart and put together. */
static bool is_plain_bitcast(const HloInstruction *instruction) {
  const Shape *from = instruction->operands[0]->shape, *to = instruction->shape;
  if (type_bits(from->type) == type_bits(to->type)) return shape_same_dims(from, to);
  return !type_is_complex(from->type) && !type_is_complex(to->type) && from->type != TYPE_PRED && to->type != TYPE_PRED;
}

/* Each of its windows is a few neighbours: no sums of all before an element. */
static bool is_pooling(const HloInstruction *instruction) {
  const Window *window = hlo_instruction_window(instruction);
  if (instruction->opcode != HLO_REDUCE_WINDOW || window == NULL || instruction->operand_count != 2) return false;
  for (int d = 0; d < instruction->operands[0]->shape->rank; d++) {
    const WindowDimension *dim = &window->dims[d];
    if (dim->size > 1 && dim->size >= instruction->operands[0]->shape->dims[d]) return false;
  }
  return true;
}

static bool is_never(const HloInstruction *instruction) {
  (void)instruction;
  return false;
}

static bool is_contraction(const HloInstruction *instruction) {
  (void)instruction;
  return true;
}

static bool has_few_pieces(const HloInstruction *concatenate) {
  return concatenate->operand_count <= CONCATENATE_LIMIT;
}

/* What takes part in fusion by its shapes, and of what folds the few that have a nest for it. */
typedef bool FusionCondition(const HloInstruction *instruction);
static FusionCondition *const conditions[HLO_OPCODE_COUNT] = {
    [HLO_DOT] = is_contraction,         [HLO_CONVOLUTION] = is_contraction,   [HLO_REDUCE] = hlo_reduce_is_short,
    [HLO_REDUCE_WINDOW] = is_pooling,   [HLO_BITCAST] = is_reshaping_bitcast, [HLO_BITCAST_CONVERT] = is_plain_bitcast,
    [HLO_CONCATENATE] = has_few_pieces, [HLO_STOCHASTIC_CONVERT] = is_never, /* what no pass has rewritten is refused
                                                                                where it stands */
};

/* Whether an index map says which elements an element needs, so that they can be computed where it is. */
static bool is_index_mapped(HloOpcode opcode) {
  switch (hlo_opcode_info(opcode)->access) {
    case ACCESS_ELEMENTWISE:
    case ACCESS_AFFINE:
    case ACCESS_INDIRECT: return !hlo_opcode_has(opcode, OP_IN_PLACE);
    case ACCESS_WINDOW:
    case ACCESS_WHOLE: return false;
  }
  return false;
}

int64_t fusion_instruction_count(const HloInstruction *instruction) {
  const HloComputation *fused = hlo_instruction_fused(instruction);
  return fused != NULL ? fused->instructions.count : 1;
}

int64_t fusion_value_bytes(const HloInstruction *value) {
  return max_i64(shape_byte_size(value->shape), 0);
}

FusionCost fusion_cost(const HloInstruction *instruction) {
  FusionCondition *condition = conditions[instruction->opcode];
  OpCost cost = hlo_opcode_info(instruction->opcode)->cost;
  bool takes_part = condition != NULL ? condition(instruction) : is_index_mapped(instruction->opcode);
  if (!takes_part || cost == OP_COST_NONE) return FUSION_COST_NONE;
  if (instruction->opcode == HLO_COPY) /* into another layout it reads against the grain, as a transpose does */
    return instruction->operands[0]->shape == instruction->shape ? FUSION_COST_FREE : FUSION_COST_HIGH;
  if (cost == OP_COST_FREE) return FUSION_COST_FREE;
  return hlo_opcode_is_cheap(instruction->opcode) ? FUSION_COST_CHEAP : FUSION_COST_HIGH;
}

static bool is_plain_reduce(const HloInstruction *instruction) {
  if (instruction->opcode != HLO_REDUCE || !has_plain_operands(instruction)) return false;
  const Shape *shape = instruction->shape;
  if (!shape_is_tuple(shape)) return is_plain_array(shape);
  for (int i = 0; i < shape->tuple_size; i++) {
    if (!is_plain_array(shape->tuple[i])) return false;
  }
  return true;
}

bool fusion_can_be_root(const HloInstruction *instruction) {
  if (instruction->opcode == HLO_REDUCE) return is_plain_reduce(instruction);
  if (!is_plain_array(instruction->shape) || !has_plain_operands(instruction)) return false;
  if (instruction->opcode == HLO_DYNAMIC_UPDATE_SLICE) return true;
  bool is_window = hlo_opcode_info(instruction->opcode)->access == ACCESS_WINDOW;
  return fusion_cost(instruction) != FUSION_COST_NONE && !is_window;
}

bool fusion_can_scatter(const HloInstruction *instruction) {
  if (instruction->opcode != HLO_SCATTER || instruction->operand_count != 3) return false;
  if (!is_plain_array(instruction->shape) || instruction->shape->rank == 0) return false;
  const HloInstruction *updated = instruction->operands[0];
  if (updated == instruction->operands[1] || updated == instruction->operands[2]) return false;
  return has_plain_operands(instruction);
}

bool fusion_is_contraction(const HloInstruction *instruction) {
  return hlo_opcode_has(instruction->opcode, OP_CONTRACTION);
}

bool fusion_has_nest(const HloInstruction *instruction) {
  return fusion_is_contraction(instruction) || is_pooling(instruction);
}

bool fusion_is_deep_contraction(const HloInstruction *instruction) {
  if (!fusion_is_contraction(instruction)) return false;
  const Shape *lhs = instruction->operands[0]->shape, *rhs = instruction->operands[1]->shape;
  if (instruction->opcode == HLO_DOT) {
    Int64List dims = hlo_instruction_ints(instruction, HLO_ATTR_LHS_CONTRACTING_DIMS);
    int64_t depth = 1;
    for (int64_t i = 0; i < dims.count; i++) depth *= lhs->dims[dims.data[i]];
    return depth >= DEEP;
  }
  if (hlo_instruction_int(instruction, HLO_ATTR_FEATURE_GROUP_COUNT, 1) != 1 ||
      hlo_instruction_int(instruction, HLO_ATTR_BATCH_GROUP_COUNT, 1) != 1)
    return false;
  const ConvolutionDimensionNumbers *dims = hlo_instruction_dim_labels(instruction);
  int64_t outputs = rhs->dims[dims->kernel.output_feature];
  return outputs > 0 && shape_element_count(rhs) / outputs >= DEEP;
}

/* Elements of factor |s| of |dot| that are neither summed over nor met by their like in the other factor. */
static int64_t free_elements(const HloInstruction *dot, int s) {
  static const HloAttrId lists[2][2] = {{HLO_ATTR_LHS_BATCH_DIMS, HLO_ATTR_LHS_CONTRACTING_DIMS},
                                        {HLO_ATTR_RHS_BATCH_DIMS, HLO_ATTR_RHS_CONTRACTING_DIMS}};
  const Shape *shape = dot->operands[s]->shape;
  int64_t elements = shape_element_count(shape);
  for (int k = 0; k < 2; k++) {
    Int64List dims = hlo_instruction_ints(dot, lists[s][k]);
    for (int64_t i = 0; i < dims.count && elements > 0; i++) elements /= shape->dims[dims.data[i]];
  }
  return elements;
}

bool fusion_reads_factor_once(const HloInstruction *contraction, int operand) {
  if (contraction->opcode != HLO_DOT || fusion_is_deep_contraction(contraction)) return false;
  return free_elements(contraction, 1 - operand) == 1;
}

FusionDecision fusion_can_be_producer(const HloInstruction *instruction) {
  if (instruction->opcode == HLO_REDUCE && !hlo_reduce_is_short(instruction))
    return NO("a reduction is a loop of its own");
  if (fusion_cost(instruction) == FUSION_COST_NONE) return NO("the operation is not computed element by element");
  if (!is_plain_array(instruction->shape) || !has_plain_operands(instruction))
    return NO("its shapes are not static arrays with elements");
  if (instruction->shape->rank == 0) return NO("scalars are computed where the kernel is called");
  return YES("element by element");
}

/* Runs of a table, each several times. */
static bool looks_up_again(const HloInstruction *gather) {
  Int64List offsets = hlo_instruction_ints(gather, HLO_ATTR_OFFSET_DIMS);
  bool takes_runs = offsets.count > 0 && int64_list_has(offsets, gather->shape->rank - 1);
  int64_t table = shape_element_count(gather->operands[0]->shape);
  return takes_runs && shape_element_count(gather->shape) / LOOKED_UP_AGAIN >= table;
}

/* What is looked up may be computed then, as long as that is not more than all of it; another table is as good, unless
 * runs of it are looked up several times. */
static FusionDecision cross_table(const HloInstruction *gather) {
  const HloInstruction *table = gather->operands[0];
  bool is_part = shape_element_count(gather->shape) <= shape_element_count(table->shape);
  bool is_other = table->opcode == HLO_GATHER && !looks_up_again(gather);
  if (is_part || is_other) return YES("only what is looked up is computed");
  return NO("a gather reads its operand from memory, several times an element");
}

FusionDecision fusion_can_cross(const HloInstruction *user, int operand) {
  switch (user->opcode) {
    case HLO_REDUCE:
      return operand < user->operand_count / 2 ? YES("reduced as it is computed")
                                               : NO("initial values are read, not computed");
    case HLO_DYNAMIC_UPDATE_SLICE:
      return operand == 1 ? YES("computed where it is written") : NO("what is updated in place must be in memory");
    case HLO_SCATTER:
      return operand > 0 ? YES("computed where it is scattered") : NO("what is updated in place must be in memory");
    case HLO_GATHER: return operand == 1 ? YES("computed where it is looked up") : cross_table(user);
    case HLO_REDUCE_WINDOW: return NO("windows overlap: each element would be computed several times");
    case HLO_DOT: return YES("computed where factors are packed");
    case HLO_CONVOLUTION: return NO("windows are packed from memory");
    case HLO_DYNAMIC_SLICE:
    case HLO_PAD: return operand == 0 ? YES("index map") : NO("a scalar of its consumer");
    default: return YES("index map");
  }
}

bool fusion_looks_up(const HloInstruction *user) {
  return user->opcode == HLO_DYNAMIC_SLICE || user->opcode == HLO_GATHER;
}

bool fusion_turns(const HloInstruction *user) {
  if (user->opcode != HLO_TRANSPOSE || user->shape->rank == 0) return false;
  Int64List order = hlo_instruction_ints(user, HLO_ATTR_DIMENSIONS);
  return order.data[order.count - 1] != order.count - 1;
}

bool fusion_has_guards(const HloInstruction *instruction) {
  return instruction->opcode == HLO_PAD || instruction->opcode == HLO_CONCATENATE;
}

bool fusion_permutes(const HloInstruction *user) {
  if (hlo_opcode_has(user->opcode, OP_ELEMENTWISE)) return true;
  return hlo_opcode_info(user->opcode)->flow == OP_FLOW_VIEW || user->opcode == HLO_TRANSPOSE;
}

/* Reshapes keep the position in row-major order, which is what maps are relative to. */
static bool keeps_index(const HloInstruction *user) {
  if (user->opcode == HLO_BITCAST_CONVERT) return shape_same_dims(user->shape, user->operands[0]->shape);
  if (hlo_opcode_info(user->opcode)->flow == OP_FLOW_VIEW) return is_reshaping_bitcast(user);
  return hlo_opcode_has(user->opcode, OP_ELEMENTWISE);
}

/* The loop along its pieces is unrolled (codegen/lower), and each is evaluated at the same elements. */
bool fusion_has_equal_pieces(const HloInstruction *concatenate) {
  for (int k = 1; k < concatenate->operand_count; k++) {
    if (!shape_same_dims(concatenate->operands[0]->shape, concatenate->operands[k]->shape)) return false;
  }
  return true;
}

uint64_t fusion_operand_map(const HloInstruction *user, int operand, uint64_t map) {
  if (keeps_index(user)) return map;
  uint64_t name = hash_combine(map, (uint64_t)user->opcode);
  name = hash_combine(name, hlo_instruction_attrs_hash(user));
  name = hash_combine(name, (uint64_t)(uintptr_t)user->shape);
  name = hash_combine(name, (uint64_t)(uintptr_t)user->operands[operand]->shape);
  if (user->opcode == HLO_CONCATENATE && !fusion_has_equal_pieces(user)) name = hash_combine(name, (uint64_t)operand);
  if (user->opcode == HLO_DYNAMIC_SLICE) {
    for (int i = 1; i < user->operand_count; i++) name = hash_combine(name, (uint64_t)user->operands[i]->id);
  }
  return name;
}

/* Each row that is looked up stands together: its index is computed once, outside of the loop along the row. */
static bool gathers_rows(const HloInstruction *gather) {
  Int64List offsets = hlo_instruction_ints(gather, HLO_ATTR_OFFSET_DIMS);
  if (!shape_has_default_layout(gather->shape)) return false;
  for (int64_t i = 0; i < offsets.count; i++) {
    int64_t d = offsets.data[offsets.count - 1 - i];
    if (d != gather->shape->rank - 1 - i) return false;
  }
  return true;
}

bool fusion_edge_expands(const HloInstruction *user, int operand) {
  bool repeats = user->opcode == HLO_BROADCAST || user->opcode == HLO_BITCAST_CONVERT;
  if (!repeats && !(user->opcode == HLO_GATHER && operand == 1 && !gathers_rows(user))) return false;
  return shape_element_count(user->shape) > shape_element_count(user->operands[operand]->shape);
}

bool fusion_edge_is_column(const HloInstruction *user) {
  const Shape *from = user->operands[0]->shape, *to = user->shape;
  if (user->opcode != HLO_BROADCAST || from->rank == 0 || to->rank == 0 || !shape_has_default_layout(to)) return false;
  Int64List dimensions = hlo_instruction_ints(user, HLO_ATTR_DIMENSIONS);
  return dimensions.data[from->rank - 1] == to->rank - 1 && shape_element_count(from) == to->dims[to->rank - 1];
}

bool fusion_is_generator(const HloInstruction *instruction) {
  if (instruction->opcode == HLO_IOTA) return true;
  if (instruction->opcode != HLO_BROADCAST) return false;
  return shape_element_count(instruction->shape) / 2 >= shape_element_count(instruction->operands[0]->shape);
}

/* --- share or repeat --- */

/* What an evaluation costs, in bytes moved in the same time: vector units do about two cheap operations on an element
 * of 4 bytes while one byte of it moves. */
enum { CHEAP_EVALUATION_HALVES = 1, HIGH_EVALUATION_HALVES = 24, SMALL_MOVE_HALVES = 4, HALVES_PER_BYTE = 2 };
/* An array that is read against the grain from the first-level cache. */
enum { SMALL_MOVE_BYTES = 16 << 10 };

static bool is_move(const HloInstruction *instruction) {
  return instruction->opcode == HLO_TRANSPOSE || instruction->opcode == HLO_COPY;
}

static int64_t evaluation_halves(const HloInstruction *producer) {
  if (fusion_cost(producer) == FUSION_COST_CHEAP) return CHEAP_EVALUATION_HALVES;
  bool is_small = is_move(producer) && shape_byte_size(producer->shape) <= SMALL_MOVE_BYTES;
  return is_small ? SMALL_MOVE_HALVES : HIGH_EVALUATION_HALVES;
}

/* Distinct operands that are arrays in memory or computed from them. */
static int array_operand_count(const HloInstruction *instruction) {
  int count = 0;
  for (int i = 0; i < instruction->operand_count; i++) {
    bool again = false;
    for (int k = 0; k < i; k++) again |= instruction->operands[k] == instruction->operands[i];
    count += !again && instruction->operands[i]->shape->rank > 0;
  }
  return count;
}

/* Bytes of what |instruction| is computed from, each array once. */
static int64_t operand_bytes(const HloInstruction *instruction) {
  int64_t bytes = 0;
  for (int i = 0; i < instruction->operand_count; i++) {
    const HloInstruction *operand = instruction->operands[i];
    bool again = operand->shape->rank == 0 || fusion_is_generator(operand);
    for (int k = 0; k < i; k++) again |= instruction->operands[k] == operand;
    if (!again) bytes += shape_byte_size(operand->shape);
  }
  return bytes;
}

/* The one place where it is decided whether what several fusions need is stored and shared or computed in each: by the
 * bytes that move either way, and the evaluations that are repeated, as bytes.
 *
 *   shared:    its operands are read once, it is written once and read by each;
 *   repeated:  its operands are read by each, and each evaluates it under each of its index maps.
 *
 * What many need stays stored, all the more if that is computed from several arrays: these would have to be stored in
 * its place. */
static bool repeating_pays(const HloInstruction *producer, const FusionUse *use) {
  int64_t groups = use->group_count, maps = use->map_count, from = operand_bytes(producer);
  if (groups > REPEAT_GROUP_LIMIT || (groups > MERGE_GROUP_LIMIT && array_operand_count(producer) > 1)) return false;
  int64_t bytes = shape_byte_size(producer->shape), elements = shape_element_count(producer->shape);
  int64_t shared = from + bytes * (1 + groups);
  int64_t repeated = from * groups + elements * groups * maps * evaluation_halves(producer) / HALVES_PER_BYTE;
  return repeated <= shared;
}

static FusionDecision decide_free(const HloInstruction *producer, const FusionUse *use) {
  if (fusion_is_generator(producer)) return YES("smaller to make than to read");
  if (use->stored) return NO("stored for another user, and as quick to read");
  if (use->map_count > FREE_MAP_LIMIT) return NO("read under many different index maps");
  if (use->group_count > FREE_GROUP_LIMIT) return NO("too many fusions would repeat it");
  return YES("costs no arithmetic");
}

/* The sums of a dot, convolution or pooling go through its consumers before they are stored, where each is needed once,
 * at one place. */
static FusionDecision decide_nest(const FusionUse *use) {
  if (use->is_cut) return NO("only a part of it, or more than it, is read");
  if (use->has_contraction) return NO("one contraction or pooling a fusion");
  if (use->needs_parts) return NO("each part of its complex sums has a kernel of its own");
  if (use->awaits_devices) return NO("its consumer waits for other devices, which work meanwhile");
  if (use->is_reduced) return NO("a reduction reads it");
  return YES("its only consumer takes the sums as they come");
}

/* Whether a few kernels may each make |producer|, cheap, of much less than it is: a one-hot mask, say. */
static bool is_made_of_less(const HloInstruction *producer, const FusionUse *use) {
  return operand_bytes(producer) <= shape_byte_size(producer->shape) / LESS && repeating_pays(producer, use);
}

/* A factor is packed once for each block of the other one, a few times in all: what is cheap may be computed then,
 * which saves its way through memory. */
static FusionDecision decide_factor(const HloInstruction *producer, const FusionUse *use, bool *out_repeats) {
  bool is_free = fusion_cost(producer) == FUSION_COST_FREE;
  if (use->is_ending) return NO("the kernel that makes its operand ends with it");
  if (is_free) return decide_free(producer, use);
  if (use->stored) return NO("stored for another user, and as quick to read");
  if (use->group_count > 1 && !is_made_of_less(producer, use)) return NO("several kernels need it");
  if (use->map_count > 1) return NO("packed under several index maps");
  if (use->repeated) return NO("used by what is computed more than once already");
  bool is_fold = fusion_has_nest(producer) || producer->opcode == HLO_REDUCE;
  bool may_cost = use->is_read_once && !use->expanded && !is_fold;
  if (fusion_cost(producer) == FUSION_COST_HIGH && !may_cost)
    return NO("costly, and a factor may be packed more than once");
  *out_repeats = use->expanded;
  return YES("computed where factors are packed");
}

static FusionDecision decide_costly(const HloInstruction *producer, const FusionUse *use) {
  if (use->is_ending) return NO("the kernel that makes its operand ends with it");
  if (use->stored) return NO("stored for another user");
  if (use->group_count > 1 && !repeating_pays(producer, use)) return NO("costly, and several fusions need it");
  if (use->map_count > 1) return NO("costly, and read under several index maps");
  if (use->is_column) return YES("computed once for each column of the contraction");
  if (use->expanded) return NO("costly, and read several times an element");
  if (use->repeated) return NO("costly, and used by what is computed more than once");
  return YES("its only consumer");
}

/* What |producer| alone needs is costly and no smaller: were |producer| computed several times an element, that would
 * be stored.  A contraction is stored anyway: both forms keep as many bytes, and kernels of vector processors that read
 * at several places (the gradient of a pooling) load more where |producer| is what they read. */
static bool stands_for_operand(const HloInstruction *producer) {
  for (int i = 0; i < producer->operand_count; i++) {
    const HloInstruction *operand = producer->operands[i];
    if (operand->shape->rank == 0 || operand->user_count > 1 || fusion_cost(operand) != FUSION_COST_HIGH) continue;
    if (fusion_is_contraction(operand)) continue;
    if (shape_byte_size(operand->shape) >= shape_byte_size(producer->shape)) return true;
  }
  return false;
}

static FusionDecision decide_cheap(const HloInstruction *producer, const FusionUse *use, bool *out_repeats) {
  if (use->stored) return NO("stored for another user");
  bool is_expanded = use->expanded && !use->is_column;
  if (is_expanded && stands_for_operand(producer)) return NO("its operand would be stored in its place");
  *out_repeats = use->group_count > 1 || use->map_count > 1 || is_expanded || use->repeated;
  if (!*out_repeats) return YES("its only consumer");
  /* Below what one Kernel reads at two places there are no more places than two: repeating does not multiply there. */
  bool multiplies = use->group_count > 1 || is_expanded;
  if (use->repeated && multiplies) return NO("used by what is computed more than once already");
  if (use->map_count > CHEAP_MAP_LIMIT) return NO("read under several index maps");
  if (use->group_count > 1 && !repeating_pays(producer, use)) return NO("too many fusions would repeat it");
  return YES("cheap enough to compute again");
}

FusionDecision fusion_decide(const HloInstruction *producer, const FusionUse *use, bool *out_repeats) {
  *out_repeats = use->repeated;
  if (use->is_summed_end) return NO("the contraction that makes its operand ends with it");
  if (use->is_factor) return decide_factor(producer, use, out_repeats);
  switch (fusion_cost(producer)) {
    case FUSION_COST_FREE: return decide_free(producer, use);
    case FUSION_COST_CHEAP: return decide_cheap(producer, use, out_repeats);
    case FUSION_COST_HIGH: {
      FusionDecision decision = decide_costly(producer, use);
      return decision.fuse && fusion_has_nest(producer) ? decide_nest(use) : decision;
    }
    default: return NO("the operation is not computed element by element");
  }
}
