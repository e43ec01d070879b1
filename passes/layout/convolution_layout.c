/* convolution-layout: networks of convolutions whose features come before their positions (NCHW) are computed with the
 * features last.
 *
 * Registers hold features then, of which there are many everywhere, not positions, of which late layers have few, and a
 * patch is a few contiguous runs.  Convolutions that elementwise operations, poolings, paddings and concatenations
 * connect are a group; where a value enters or leaves it stands a transpose, which broadcasts and reductions absorb
 * (rules_shape.c, rules_reduce.c).  A group is turned where its multiplications are many more than the elements that
 * then have to be moved.  Weights count as moved unless they have their features last: those of frameworks that store
 * them so are transposed for a channel-major convolution, which reads what is transposed instead.  Those that stay the
 * same from run to run (--prepare) are moved before any run. */
#include "base/array.h"
#include "base/hash_map.h"
#include "hlo/analysis/narrow_products.h"
#include "passes/cleanup/control_edges.h"
#include "passes/control/fixed_parameters.h"
#include "passes/layout/turned_value.h"
#include "passes/pipeline/hlo_pass.h"
#include "passes/simplify/algebraic_rules.h"

enum {
  RANK_LIMIT = 8,
  /* Turning saves a hundredth of a cycle for a multiplication and costs some cycles for an element that is moved. */
  MULTIPLICATIONS_PER_MOVE = 500,
  /* So many positions pay for moving a convolution's weights. */
  POSITIONS_PER_WEIGHT = 1024,
  /* Of bf16 and bytes a multiplication saves so many times as much: only with the features last are they multiplied in
   * pairs and fours. */
  NARROW_GAIN = 8,
  NARROW_POSITIONS_PER_WEIGHT = 48
};

/* Parameters of the entry that stay the same from run to run, by id. */
typedef struct FixedIds {
  int32_t limit; /* ids from it on are none */
  const bool *is_fixed;
} FixedIds;

typedef struct ConvolutionGroup {
  HloComputation *computation;
  const ControlEdges *control;
  const FixedIds *fixed;
  Arena *scratch;
  int rank;
  int64_t order[RANK_LIMIT]; /* dimension i of what is made is order[i] of what was */
  ARRAY(HloInstruction *) members;
  IntMap is_member; /* ids */
  IntMap turned;    /* instruction → what is made in its place */
} ConvolutionGroup;

/* --- convolutions --- */

static bool is_channel_major(const HloInstruction *instruction) {
  if (instruction->opcode != HLO_CONVOLUTION || !layout_is_plain(instruction)) return false;
  if (!layout_is_plain(instruction->operands[0]) || !layout_is_plain(instruction->operands[1])) return false;
  const ConvolutionDimensionNumbers *labels = hlo_instruction_dim_labels(instruction);
  int rank = instruction->shape->rank;
  if (labels == NULL || rank < 3 || rank > RANK_LIMIT || labels->spatial_rank != rank - 2) return false;
  if (labels->input.rank != rank || labels->kernel.rank != rank || labels->output.rank != rank) return false;
  if (hlo_instruction_int(instruction, HLO_ATTR_BATCH_GROUP_COUNT, 1) != 1 ||
      hlo_instruction_attr(instruction, HLO_ATTR_PADDING_TYPE) != NULL)
    return false;
  bool is_major = labels->input.batch == 0 && labels->input.feature == 1 && labels->output.batch == 0 &&
                  labels->output.feature == 1;
  for (int i = 0; i < rank - 2; i++)
    is_major = is_major && labels->input.spatial[i] == i + 2 && labels->output.spatial[i] == i + 2;
  return is_major;
}

/* The weights as they lie in memory: what is transposed, where they are a transpose of something. */
static HloInstruction *stored_weights(const HloInstruction *convolution) {
  HloInstruction *weights = convolution->operands[1];
  bool is_turned = weights->opcode == HLO_TRANSPOSE && layout_is_plain(weights->operands[0]);
  return is_turned ? weights->operands[0] : weights;
}

/* Where dimension |dim| of the weights is in the stored ones. */
static int64_t stored_dim(const HloInstruction *convolution, int64_t dim) {
  const HloInstruction *weights = convolution->operands[1];
  if (stored_weights(convolution) == weights) return dim;
  return hlo_instruction_ints(weights, HLO_ATTR_DIMENSIONS).data[dim];
}

static bool has_features_last(const HloInstruction *convolution) {
  const ConvolutionDimensionNumbers *labels = hlo_instruction_dim_labels(convolution);
  int rank = convolution->shape->rank;
  return stored_dim(convolution, labels->kernel.output_feature) == rank - 1 &&
         stored_dim(convolution, labels->kernel.input_feature) == rank - 2;
}

/* Dilated windows have many taps that miss the image.  Code for channel-major images leaves these out, a row of
 * positions at a time; code for channel-last ones multiplies them by zeros. */
static bool is_dilated(const HloInstruction *convolution) {
  const Window *window = hlo_instruction_window(convolution);
  for (int i = 0; window != NULL && i < window->rank; i++)
    if (window->dims[i].window_dilation > 1) return true;
  return false;
}

/* Its weights are moved before any run, if at all. */
static bool has_fixed_weights(const FixedIds *fixed, const HloInstruction *convolution) {
  const HloInstruction *weights = convolution->operands[1];
  while (weights->operand_count == 1 &&
         shape_element_count(weights->shape) == shape_element_count(weights->operands[0]->shape))
    weights = weights->operands[0];
  return weights->id < fixed->limit && fixed->is_fixed[weights->id];
}

static int64_t position_count(const HloInstruction *convolution) {
  return shape_element_count(convolution->shape) / convolution->shape->dims[1];
}

static bool is_seed(const FixedIds *fixed, const HloInstruction *instruction) {
  if (!is_channel_major(instruction) || shape_element_count(instruction->shape) == 0) return false;
  if (has_fixed_weights(fixed, instruction) && !is_dilated(instruction)) return true;
  int64_t least = hlo_convolution_is_narrow(instruction) ? NARROW_POSITIONS_PER_WEIGHT : POSITIONS_PER_WEIGHT;
  return has_features_last(instruction) || position_count(instruction) >= least;
}

/* --- members --- */

static bool is_member(const ConvolutionGroup *group, const HloInstruction *instruction) {
  int64_t ignored;
  return int_map_find(&group->is_member, (uint64_t)instruction->id, &ignored);
}

/* How many first operands a member turns: others are scalars, or a convolution's weights. */
static int turned_operands(const HloInstruction *member) {
  bool takes_all = member->opcode == HLO_CONCATENATE || hlo_opcode_has(member->opcode, OP_ELEMENTWISE);
  return takes_all ? member->operand_count : 1;
}

/* One that works on its operands in the same way whatever the order of their dimensions. */
static bool takes_any_order(const HloInstruction *instruction) {
  HloOpcode opcode = instruction->opcode;
  if (hlo_opcode_has(opcode, OP_ELEMENTWISE)) return opcode != HLO_MAP && layout_is_elementwise(instruction);
  bool is_pooling = opcode == HLO_REDUCE_WINDOW && instruction->operand_count == 2;
  bool is_padding = opcode == HLO_PAD;
  if (!is_pooling && !is_padding && opcode != HLO_CONCATENATE) return false;
  for (int i = 0; i < turned_operands(instruction); i++) {
    if (!layout_is_plain(instruction->operands[i])) return false;
  }
  return true;
}

static bool can_join(const ConvolutionGroup *group, const HloInstruction *instruction) {
  if (!layout_is_plain(instruction) || instruction->shape->rank != group->rank) return false;
  if (control_edges_touch(group->control, instruction)) return false;
  return is_seed(group->fixed, instruction) || takes_any_order(instruction);
}

static void add_member(ConvolutionGroup *group, HloInstruction *instruction) {
  if (is_member(group, instruction) || !can_join(group, instruction)) return;
  int_map_set(&group->is_member, (uint64_t)instruction->id, true);
  array_push(&group->members, group->scratch, instruction);
}

/* One that the rules turn, or that is a transpose already. */
static bool is_leaf_free(HloInstruction *value) {
  if (shape_is_scalar(value->shape) || algebraic_splat_source(value) != NULL) return true;
  if (value->opcode == HLO_TRANSPOSE || value->opcode == HLO_IOTA) return true;
  if (value->opcode != HLO_BROADCAST) return false;
  /* the features and the batch keep their order */
  Int64List dims = hlo_instruction_ints(value, HLO_ATTR_DIMENSIONS);
  return dims.count == 1 || (dims.count == 2 && dims.data[0] == 0);
}

/* Everything that members connect to |seed|. */
static void collect(ConvolutionGroup *group, HloInstruction *seed) {
  add_member(group, seed);
  for (int64_t m = 0; m < group->members.count; m++) {
    HloInstruction *member = group->members.data[m];
    for (int i = 0; i < turned_operands(member); i++) {
      if (!is_leaf_free(member->operands[i])) add_member(group, member->operands[i]);
    }
    for (int32_t u = 0; u < member->user_count; u++) {
      HloInstruction *user = member->users[u];
      bool is_weights = user->opcode == HLO_CONVOLUTION && user->operands[0] != member;
      if (!is_weights) add_member(group, user);
    }
  }
}

/* --- what it costs --- */

/* What reads a value in any order: reductions and transposes absorb another. */
static bool absorbs(const HloInstruction *user) {
  if (user->opcode == HLO_TRANSPOSE) return true;
  if (user->opcode != HLO_REDUCE || !shape_is_array(user->shape)) return false;
  return user->shape->rank <= 1 ||
         (user->shape->rank == 2 && user->shape->dims[0] == user->operands[0]->shape->dims[0]);
}

static double elements(const HloInstruction *value) {
  return (double)shape_element_count(value->shape);
}

static void count_move(const HloInstruction *value, IntMap *seen, double *moves) {
  int64_t ignored;
  if (int_map_find(seen, (uint64_t)value->id, &ignored)) return;
  int_map_set(seen, (uint64_t)value->id, true);
  *moves += elements(value);
}

static bool is_worth_it(const ConvolutionGroup *group) {
  double multiplications = 0, moves = 0;
  IntMap seen;
  int_map_init(&seen, group->scratch);
  for (int64_t m = 0; m < group->members.count; m++) {
    const HloInstruction *member = group->members.data[m];
    for (int i = 0; i < turned_operands(member); i++) {
      HloInstruction *operand = member->operands[i];
      if (!is_member(group, operand) && !is_leaf_free(operand)) count_move(operand, &seen, &moves);
    }
    for (int32_t u = 0; u < member->user_count; u++) {
      const HloInstruction *user = member->users[u];
      bool is_inside = is_member(group, user) && !(user->opcode == HLO_CONVOLUTION && user->operands[0] != member);
      if (!is_inside && !absorbs(user)) count_move(member, &seen, &moves);
    }
    if (hlo_instruction_is_root(member)) count_move(member, &seen, &moves);
    if (member->opcode != HLO_CONVOLUTION) continue;
    if (!has_features_last(member) && !has_fixed_weights(group->fixed, member)) moves += elements(member->operands[1]);
    double gain = hlo_convolution_is_narrow(member) ? NARROW_GAIN : 1;
    multiplications += gain * elements(member) * elements(member->operands[1]) / (double)member->shape->dims[1];
  }
  return multiplications >= MULTIPLICATIONS_PER_MOVE * moves;
}

/* --- the change --- */

static const Shape *turned_shape(const ConvolutionGroup *group, const Shape *shape) {
  return layout_turned_shape(group->computation->module->shapes, shape, group->order);
}

static HloInstruction *turned_leaf(ConvolutionGroup *group, HloInstruction *leaf) {
  if (shape_is_scalar(leaf->shape)) return leaf;
  HloInstruction *made = pointer_map_get(&group->turned, leaf);
  if (made != NULL) return made;
  const Shape *shape = turned_shape(group, leaf->shape);
  HloInstruction *splat = algebraic_splat_source(leaf);
  made = splat != NULL ? algebraic_broadcast(splat, shape, NULL) : layout_transposed(leaf, shape, group->order);
  pointer_map_set(&group->turned, leaf, made);
  return made;
}

/* Where the group puts dimension |dim|. */
static int64_t place(const ConvolutionGroup *group, int64_t dim) {
  if (dim == 0) return 0;
  return dim == 1 ? group->rank - 1 : dim - 1;
}

static const ConvolutionDimensionNumbers *turned_labels(const ConvolutionGroup *group, const HloInstruction *member,
                                                        bool weights_move) {
  const ConvolutionDimensionNumbers *labels = hlo_instruction_dim_labels(member);
  Arena *arena = group->computation->module->arena;
  int spatial = labels->spatial_rank;
  int64_t *positions = ARENA_NEW_ARRAY(arena, int64_t, spatial), *weights = ARENA_NEW_ARRAY(arena, int64_t, spatial);
  for (int i = 0; i < spatial; i++) {
    positions[i] = i + 1;
    weights[i] = weights_move ? i : stored_dim(member, labels->kernel.spatial[i]);
  }
  ConvolutionDimensionNumbers *numbers = ARENA_NEW(arena, ConvolutionDimensionNumbers);
  *numbers = *labels;
  numbers->input.feature = numbers->output.feature = group->rank - 1;
  numbers->kernel.input_feature = group->rank - 2;
  numbers->kernel.output_feature = group->rank - 1;
  numbers->input.spatial = numbers->output.spatial = positions;
  numbers->kernel.spatial = weights;
  return numbers;
}

/* The weights with their features last. */
static HloInstruction *moved_weights(const ConvolutionGroup *group, const HloInstruction *member) {
  const ConvolutionDimensionNumbers *labels = hlo_instruction_dim_labels(member);
  HloInstruction *weights = member->operands[1];
  int64_t order[RANK_LIMIT];
  for (int i = 0; i < labels->spatial_rank; i++) order[i] = labels->kernel.spatial[i];
  order[group->rank - 2] = labels->kernel.input_feature;
  order[group->rank - 1] = labels->kernel.output_feature;
  return layout_transposed(weights, layout_turned_shape(group->computation->module->shapes, weights->shape, order),
                           order);
}

static void turn_window(const ConvolutionGroup *group, const HloInstruction *member, HloInstruction *result) {
  const Window *windows = hlo_instruction_window(member);
  if (windows == NULL) return;
  Arena *arena = group->computation->module->arena;
  WindowDimension *dims = ARENA_NEW_ARRAY(arena, WindowDimension, group->rank);
  for (int i = 0; i < group->rank; i++) dims[i] = windows->dims[group->order[i]];
  Window *window = ARENA_NEW(arena, Window);
  *window = (Window){group->rank, dims};
  hlo_instruction_set_attr(result, &(HloAttr){.id = HLO_ATTR_WINDOW, .value.window = window});
}

static void turn_padding(const ConvolutionGroup *group, const HloInstruction *member, HloInstruction *result) {
  const PaddingConfig *padding = hlo_instruction_padding(member);
  if (padding == NULL) return;
  Arena *arena = group->computation->module->arena;
  PaddingDimension *dims = ARENA_NEW_ARRAY(arena, PaddingDimension, group->rank);
  for (int i = 0; i < group->rank; i++) dims[i] = padding->dims[group->order[i]];
  PaddingConfig *turned = ARENA_NEW(arena, PaddingConfig);
  *turned = (PaddingConfig){group->rank, dims};
  hlo_instruction_set_attr(result, &(HloAttr){.id = HLO_ATTR_PADDING, .value.padding = turned});
}

/* What is made in place of |member|; its operands in the group are turned already. */
static void turn(ConvolutionGroup *group, HloInstruction *member) {
  HloInstruction **operands =
      ARENA_COPY_ARRAY(group->scratch, HloInstruction *, member->operands, member->operand_count);
  bool is_convolution = member->opcode == HLO_CONVOLUTION, weights_move = is_convolution && !has_features_last(member);
  for (int i = 0; i < turned_operands(member); i++) operands[i] = turned_leaf(group, operands[i]);
  if (is_convolution) operands[1] = weights_move ? moved_weights(group, member) : stored_weights(member);
  HloInstruction *result = hlo_computation_add_clone(group->computation, member, turned_shape(group, member->shape),
                                                     operands, member->operand_count);
  if (is_convolution) {
    const ConvolutionDimensionNumbers *labels = turned_labels(group, member, weights_move);
    hlo_instruction_set_attr(result, &(HloAttr){.id = HLO_ATTR_DIM_LABELS, .value.dim_labels = labels});
  } else {
    turn_window(group, member, result);
    turn_padding(group, member, result);
  }
  if (member->opcode == HLO_CONCATENATE) {
    int64_t dim = place(group, hlo_instruction_ints(member, HLO_ATTR_DIMENSIONS).data[0]);
    hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, &dim, 1);
  }
  hlo_instruction_remove_sharding(result);
  hlo_instruction_inherit_metadata(result, member);
  pointer_map_set(&group->turned, member, result);
}

/* What was made for |member|, as it was. */
static HloInstruction *turned_back(const ConvolutionGroup *group, HloInstruction *member) {
  int64_t inverse[RANK_LIMIT];
  for (int i = 0; i < group->rank; i++) inverse[i] = place(group, i);
  HloInstruction *back = layout_transposed(pointer_map_get(&group->turned, member), member->shape, inverse);
  hlo_instruction_inherit_metadata(back, member);
  return back;
}

/* Users outside of the group, and the caller, see |member| as it was. */
static void replace_for_users(ConvolutionGroup *group, HloInstruction *member) {
  HloInstruction *back = NULL;
  int32_t count = member->user_count;
  HloInstruction **users = ARENA_COPY_ARRAY(group->scratch, HloInstruction *, member->users, count);
  for (int32_t u = 0; u < count; u++) {
    if (is_member(group, users[u])) continue;
    if (back == NULL) back = turned_back(group, member);
    hlo_instruction_replace_use(member, users[u], back);
  }
  if (!hlo_instruction_is_root(member)) return;
  if (back == NULL) back = turned_back(group, member);
  hlo_computation_set_root(group->computation, back);
}

static void turn_group(ConvolutionGroup *group, HloInstruction *const *order, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    if (order[i]->parent == group->computation && is_member(group, order[i])) turn(group, order[i]);
  }
  for (int64_t m = 0; m < group->members.count; m++) replace_for_users(group, group->members.data[m]);
}

/* --- the pass --- */

static bool run_on(HloPassContext *context, const FixedIds *fixed, HloComputation *computation) {
  int64_t count;
  bool is_changed = false;
  ControlEdges control;
  control_edges_init(&control, computation, context->scratch);
  HloInstruction **order = control_edges_free_order(computation, context->scratch, &count);
  IntMap seen; /* members of groups that have been judged */
  int_map_init(&seen, context->scratch);
  for (int64_t i = 0; i < count && hlo_pass_may_rewrite(context); i++) {
    int64_t ignored;
    if (!is_seed(fixed, order[i]) || int_map_find(&seen, (uint64_t)order[i]->id, &ignored)) continue;
    int rank = order[i]->shape->rank;
    ConvolutionGroup *group = ARENA_NEW(context->scratch, ConvolutionGroup);
    *group = (ConvolutionGroup){
        .computation = computation, .control = &control, .fixed = fixed, .scratch = context->scratch, .rank = rank};
    for (int d = 0; d < rank; d++) group->order[place(group, d)] = d;
    int_map_init(&group->is_member, context->scratch);
    int_map_init(&group->turned, context->scratch);
    collect(group, order[i]);
    for (int64_t m = 0; m < group->members.count; m++) int_map_set(&seen, (uint64_t)group->members.data[m]->id, true);
    if (group->members.count == 0 || !is_worth_it(group)) continue;
    hlo_pass_count_rewrite(context, "features-last", order[i]);
    turn_group(group, order, count);
    is_changed = true;
  }
  /* What nothing reads any more would be a group again. */
  if (is_changed) hlo_computation_remove_dead(computation);
  return is_changed;
}

static Status run_convolution_layout(HloPassContext *context, HloModule *module, bool *out_changed) {
  const HloPassOptions *options = context->options;
  FixedIds fixed = {0};
  if (options != NULL && options->fixed_count > 0) {
    fixed.limit = module->next_instruction_id;
    RETURN_IF_ERROR(fixed_parameters(context->scratch, module, options->fixed, options->fixed_count, context->diag,
                                     &fixed.is_fixed));
  }
  for (int64_t c = 0; c < module->computations.count; c++)
    *out_changed |= run_on(context, &fixed, module->computations.data[c]);
  return STATUS_OK;
}

const HloPass hlo_convolution_layout_pass = {
    "convolution-layout", "networks of channel-major convolutions are computed with the features last",
    run_convolution_layout, false};
