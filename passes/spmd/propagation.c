#include "passes/spmd/propagation.h"

#include "base/checked_math.h"
#include "hlo/infer/device_check.h"
#include "hlo/ir/custom_call.h"
#include "hlo/ir/sharding_tiles.h"
#include "passes/spmd/propagation_internal.h"
#include "passes/spmd/sharding_rule.h"

/* Which operations take part, from the simplest on; each level has those of the levels before. */
enum {
  LEVEL_ELEMENTWISE, /* and reshape, transpose, whatever hands values on */
  LEVEL_PARTS,       /* all, along factors whose parts are computed apart; broadcast to its operand */
  LEVEL_ALL_FACTORS,
  LEVEL_BROADCAST, /* broadcast to its result */
  LEVEL_COUNT
};

/* --- values --- */

static AxisMask used_by(const ValueState *state) {
  AxisMask used = state->taken;
  for (int d = 0; d < state->rank; d++) used |= axis_list_mask(state->dims[d]);
  return used;
}

/* Dimension |dim| gets what |axes|, of |source|, has more than it, as far as the value is not divided along that. */
static void extend(Propagation *propagation, ValueState *state, int dim, AxisList axes, const ValueState *source,
                   const HloInstruction *along) {
  AxisList has = state->dims[dim];
  if (!state->is_open[dim] || axes.count <= has.count || !axis_list_starts_with(axes, has)) return;
  AxisMask used = used_by(state);
  int count = has.count;
  while (count < axes.count && !(used >> axes.axes[count] & 1)) count++;
  if (count == has.count) return;
  state->dims[dim] = axis_list_part(axes, 0, count);
  propagation->changed = true;
  ShardingStep step = {dim, axis_list_part(axes, has.count, count - has.count), along, source->owner, source->leaf};
  array_push(&state->steps, propagation->arena, step);
}

/* The axes of a dimension that may be handed on in this round. */
static AxisList handed_on(const Propagation *propagation, const ValueState *state, int dim) {
  bool is_later = state->priorities != NULL && state->priorities[dim] > propagation->priority;
  return is_later ? (AxisList){0} : state->dims[dim];
}

static ValueState *state_of(Propagation *propagation, const HloInstruction *instruction, int leaf) {
  return &propagation->values[instruction->id][leaf];
}

static void hand_on(Propagation *propagation, const ValueState *from, ValueState *to, const HloInstruction *along) {
  for (int d = 0; d < to->rank && d < from->rank; d++)
    extend(propagation, to, d, handed_on(propagation, from, d), from, along);
}

/* Two names of one value. */
static void share(Propagation *propagation, ValueState *a, ValueState *b, const HloInstruction *along) {
  hand_on(propagation, a, b, along);
  hand_on(propagation, b, a, along);
}

static void share_leaves(Propagation *propagation, const HloInstruction *a, int first_a, const HloInstruction *b,
                         int first_b, int count, const HloInstruction *along) {
  for (int i = 0; i < count; i++)
    share(propagation, state_of(propagation, a, first_a + i), state_of(propagation, b, first_b + i), along);
}

/* --- what hands values on --- */

static void share_tuple(Propagation *propagation, HloInstruction *tuple) {
  int leaf = 0;
  for (int i = 0; i < tuple->operand_count; i++) {
    int count = shape_leaf_count(tuple->operands[i]->shape);
    share_leaves(propagation, tuple, leaf, tuple->operands[i], 0, count, tuple);
    leaf += count;
  }
}

static void share_element(Propagation *propagation, HloInstruction *element) {
  const HloInstruction *tuple = element->operands[0];
  int first = shape_leaves_before(tuple->shape, hlo_instruction_int(element, HLO_ATTR_INDEX, 0));
  share_leaves(propagation, element, 0, tuple, first, shape_leaf_count(element->shape), element);
}

static void share_while(Propagation *propagation, HloInstruction *loop) {
  const HloComputation *body = hlo_instruction_computation(loop, HLO_ATTR_BODY),
                       *condition = hlo_instruction_computation(loop, HLO_ATTR_CONDITION);
  int count = shape_leaf_count(loop->shape);
  share_leaves(propagation, loop, 0, loop->operands[0], 0, count, loop);
  share_leaves(propagation, loop, 0, body->parameters.data[0], 0, count, loop);
  share_leaves(propagation, loop, 0, body->root, 0, count, loop);
  share_leaves(propagation, loop, 0, condition->parameters.data[0], 0, count, loop);
}

static void share_conditional(Propagation *propagation, HloInstruction *conditional) {
  int count = shape_leaf_count(conditional->shape);
  for (int i = 0; i < hlo_instruction_called_count(conditional); i++) {
    const HloComputation *branch = hlo_instruction_called(conditional, i);
    const HloInstruction *parameter = branch->parameters.data[0];
    share_leaves(propagation, conditional, 0, branch->root, 0, count, conditional);
    share_leaves(propagation, parameter, 0, conditional->operands[i + 1], 0, shape_leaf_count(parameter->shape),
                 conditional);
  }
}

static void share_call(Propagation *propagation, HloInstruction *call) {
  const HloComputation *callee = hlo_instruction_computation(call, HLO_ATTR_TO_APPLY);
  share_leaves(propagation, call, 0, callee->root, 0, shape_leaf_count(call->shape), call);
  for (int64_t i = 0; i < callee->parameters.count; i++) {
    const HloInstruction *parameter = callee->parameters.data[i];
    share_leaves(propagation, parameter, 0, call->operands[i], 0, shape_leaf_count(parameter->shape), call);
  }
}

static void share_barrier(Propagation *propagation, HloInstruction *barrier) {
  share_leaves(propagation, barrier, 0, barrier->operands[0], 0, shape_leaf_count(barrier->shape), barrier);
}

/* xla.sdy.allowed_direction of a PropagationBarrier: NONE, FORWARD, BACKWARD or BOTH, or 0 … 3. */
static bool allows(const HloInstruction *marker, char number, const char *word) {
  const FrontendAttribute *direction = hlo_instruction_frontend(marker, "xla.sdy.allowed_direction");
  if (direction == NULL) return true;
  StringView text = direction->value;
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] == number || text.data[i] == '3') return true;
    if (sv_starts_with(sv_sub(text, i, text.size - i), sv_from_cstring(word))) return true;
    if (sv_starts_with(sv_sub(text, i, text.size - i), SV("BOTH"))) return true;
  }
  return false;
}

static void share_marker(Propagation *propagation, HloInstruction *marker) {
  bool is_barrier = sv_equal_cstring(custom_call_target(marker), "xla.sdy.PropagationBarrier");
  for (int i = 0; i < shape_leaf_count(marker->shape); i++) {
    ValueState *result = state_of(propagation, marker, i), *operand = state_of(propagation, marker->operands[0], i);
    if (!is_barrier || allows(marker, '1', "FORWARD")) hand_on(propagation, operand, result, marker);
    if (!is_barrier || allows(marker, '2', "BACKWARD")) hand_on(propagation, result, operand, marker);
  }
}

/* --- borders of manual regions --- */

/* The axes of |axes| that are, or are not, in |mask|. */
static AxisList filter(Arena *arena, AxisList axes, AxisMask mask, bool in) {
  uint8_t *kept = ARENA_NEW_ARRAY(arena, uint8_t, axes.count + 1);
  int count = 0;
  for (int i = 0; i < axes.count; i++) {
    if ((mask >> axes.axes[i] & 1) == in) kept[count++] = axes.axes[i];
  }
  return (AxisList){count, kept};
}

/* Outside a dimension has the region's axes first, then those that are free inside as well. */
static void share_inside(Propagation *propagation, ValueState *outside, ValueState *inside,
                         const HloInstruction *border) {
  Arena *arena = propagation->arena;
  for (int d = 0; d < outside->rank; d++) {
    extend(propagation, inside, d, filter(arena, outside->dims[d], inside->manual, false), outside, border);
    AxisList manual = filter(arena, outside->dims[d], inside->manual, true);
    extend(propagation, outside, d, axis_lists_join(arena, manual, inside->dims[d]), inside, border);
  }
}

static void share_border(Propagation *propagation, HloInstruction *border) {
  int leaf = 0;
  for (int i = 0; i < border->operand_count; i++) {
    for (int k = 0; k < shape_leaf_count(border->operands[i]->shape); k++, leaf++) {
      ValueState *operand = state_of(propagation, border->operands[i], k),
                 *result = state_of(propagation, border, leaf), *outside = &propagation->outsides[border->id][leaf];
      bool enters = (result->manual & ~operand->manual) != 0;
      share(propagation, outside, enters ? operand : result, border);
      share_inside(propagation, outside, enters ? result : operand, border);
    }
  }
}

static const struct {
  HloOpcode opcode;
  void (*share)(Propagation *propagation, HloInstruction *instruction);
} sharers[] = {
    {HLO_TUPLE, share_tuple}, {HLO_GET_TUPLE_ELEMENT, share_element}, {HLO_WHILE, share_while},
    {HLO_CALL, share_call},   {HLO_CONDITIONAL, share_conditional},   {HLO_OPT_BARRIER, share_barrier},
};

/* False: |instruction| computes. */
static bool share_if_handed_on(Propagation *propagation, HloInstruction *instruction) {
  for (size_t i = 0; i < sizeof sharers / sizeof *sharers; i++) {
    if (sharers[i].opcode != instruction->opcode) continue;
    sharers[i].share(propagation, instruction);
    return true;
  }
  if (propagation->outsides[instruction->id] != NULL) {
    share_border(propagation, instruction);
    return true;
  }
  MarkerValue marker = custom_call_marker_value(instruction);
  if (marker == MARKER_OPERAND) share_marker(propagation, instruction);
  if (marker == MARKER_TUPLE) share_tuple(propagation, instruction);
  return marker != MARKER_UNKNOWN;
}

/* --- along factors --- */

typedef struct FactorStep {
  Propagation *propagation;
  const ShardingRule *rule;
  AxisList *axes;             /* by factor */
  const ValueState **sources; /* by factor: who had the last of these */
  AxisMask used;
  const bool *must_divide; /* by factor: sharding_rule_full_factors */
  ValueState **states;     /* results, then operands; NULL: no array */
  const FactorMapping **mappings;
  int64_t *sizes; /* of the arrays, in elements */
  int count;
} FactorStep;

static bool takes_part(const FactorStep *step, int factor) {
  const Factor *row = &step->rule->factors[factor];
  if (row->is_blocked) return false;
  return step->propagation->level >= LEVEL_ALL_FACTORS || row->kind == FACTOR_PASS || row->kind == FACTOR_REDUCTION;
}

/* How many of |axes| the factor can be divided along as well, an element or more each, all tiles full where others
 * share its dimension. */
static int axes_that_fit(const FactorStep *step, int factor, AxisList axes) {
  const SpmdMesh *mesh = step->propagation->mesh;
  int64_t tiles = axis_list_size(mesh, step->axes[factor]);
  int count = 0;
  for (; count < axes.count; count++) {
    if (step->used >> axes.axes[count] & 1) break;
    tiles *= mesh->sizes[axes.axes[count]];
    int64_t size = step->rule->factors[factor].size;
    if (tiles > size || (step->must_divide[factor] && size % tiles != 0)) break;
  }
  return count;
}

static void absorb_dim(FactorStep *step, const FactorList *factors, const ValueState *source, AxisList axes) {
  Arena *arena = step->propagation->arena;
  for (int i = 0; i < factors->count && axes.count > 0; i++) {
    int factor = factors->factors[i];
    AxisList *has = &step->axes[factor];
    if (!takes_part(step, factor)) return;
    if (!axis_list_starts_with(axes, *has)) return;
    axes = axis_list_part(axes, has->count, axes.count - has->count);
    int count = axes_that_fit(step, factor, axes);
    AxisList taken = axis_list_part(axes, 0, count);
    if (count > 0) step->sources[factor] = source;
    *has = axis_lists_join(arena, *has, taken);
    step->used |= axis_list_mask(taken);
    axes = axis_list_part(axes, count, axes.count - count);
    if (axis_list_size(step->propagation->mesh, *has) != step->rule->factors[factor].size) return;
  }
}

/* The axes that the factors of a dimension make: as far as each is divided to the end. */
static AxisList dim_axes(const FactorStep *step, const FactorList *factors) {
  AxisList axes = {0};
  for (int i = 0; i < factors->count; i++) {
    int factor = factors->factors[i];
    axes = axis_lists_join(step->propagation->arena, axes, step->axes[factor]);
    if (axis_list_size(step->propagation->mesh, step->axes[factor]) != step->rule->factors[factor].size) break;
  }
  return axes;
}

static void add_value(FactorStep *step, ValueState *state, const FactorMapping *mapping, const Shape *shape) {
  step->states[step->count] = state;
  step->mappings[step->count] = mapping;
  step->sizes[step->count++] = shape_is_array(shape) ? shape_element_count(shape) : 0;
}

static void begin_step(FactorStep *step, Propagation *propagation, HloInstruction *instruction) {
  Arena *arena = propagation->arena;
  const ShardingRule *rule = propagation->rules[instruction->id];
  if (rule == NULL) rule = propagation->rules[instruction->id] = sharding_rule(arena, instruction);
  int most = rule->operand_count + rule->result_count;
  *step = (FactorStep){.propagation = propagation, .rule = rule};
  step->must_divide = sharding_rule_full_factors(arena, instruction, rule);
  step->axes = ARENA_NEW_ARRAY(arena, AxisList, rule->factor_count + 1);
  step->sources = ARENA_NEW_ARRAY(arena, const ValueState *, rule->factor_count + 1);
  step->states = ARENA_NEW_ARRAY(arena, ValueState *, most + 1);
  step->mappings = ARENA_NEW_ARRAY(arena, const FactorMapping *, most + 1);
  step->sizes = ARENA_NEW_ARRAY(arena, int64_t, most + 1);
  for (int node = 0, leaf = 0; node < shape_node_count(instruction->shape); node++) {
    const Shape *shape = shape_node(instruction->shape, node);
    if (shape_is_tuple(shape)) continue;
    add_value(step, state_of(propagation, instruction, leaf), &rule->results[leaf], shape);
    leaf++;
  }
  for (int i = 0; i < rule->operand_count; i++) {
    const HloInstruction *operand = instruction->operands[i];
    if (shape_is_array(operand->shape))
      add_value(step, state_of(propagation, operand, 0), &rule->operands[i], operand->shape);
  }
}

/* What the largest array says comes first; of equal ones the result's. */
static void absorb_all(FactorStep *step) {
  bool *done = ARENA_NEW_ARRAY(step->propagation->arena, bool, step->count + 1);
  for (int round = 0; round < step->count; round++) {
    int next = -1;
    for (int i = 0; i < step->count; i++) {
      if (!done[i] && (next < 0 || step->sizes[i] > step->sizes[next])) next = i;
    }
    done[next] = true;
    const ValueState *state = step->states[next];
    for (int d = 0; d < step->mappings[next]->rank; d++)
      absorb_dim(step, &step->mappings[next]->dims[d], state, handed_on(step->propagation, state, d));
  }
}

static bool has_any_axes(const FactorStep *step) {
  for (int i = 0; i < step->count; i++) {
    for (int d = 0; d < step->states[i]->rank; d++) {
      if (step->states[i]->dims[d].count > 0) return true;
    }
  }
  return false;
}

/* Element by element, or moving elements so that each dimension stays one. */
static bool is_simple(const HloInstruction *instruction) {
  return hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE) || instruction->opcode == HLO_RESHAPE ||
         instruction->opcode == HLO_TRANSPOSE;
}

/* Another value than |state| that divides one of |factors|; |state| where there is none. */
static const ValueState *source_of(const FactorStep *step, const FactorList *factors, const ValueState *state) {
  for (int i = factors->count - 1; i >= 0; i--) {
    const ValueState *source = step->sources[factors->factors[i]];
    if (source != NULL && source != state) return source;
  }
  return state;
}

static void propagate_factors(Propagation *propagation, HloInstruction *instruction) {
  bool is_broadcast = instruction->opcode == HLO_BROADCAST;
  if (propagation->level == LEVEL_ELEMENTWISE && (!is_simple(instruction) || is_broadcast)) return;
  FactorStep step;
  begin_step(&step, propagation, instruction);
  if (!has_any_axes(&step)) return;
  absorb_all(&step);
  for (int i = 0; i < step.count; i++) {
    bool is_result = i < step.rule->result_count;
    if (is_broadcast && is_result && propagation->level < LEVEL_BROADCAST) continue;
    for (int d = 0; d < step.mappings[i]->rank; d++) {
      const FactorList *factors = &step.mappings[i]->dims[d];
      extend(propagation, step.states[i], d, dim_axes(&step, factors), source_of(&step, factors, step.states[i]),
             instruction);
    }
  }
}

/* --- to the fixed point --- */

static void propagate_instruction(Propagation *propagation, HloInstruction *instruction) {
  if (instruction->opcode == HLO_PARAMETER || share_if_handed_on(propagation, instruction)) return;
  propagate_factors(propagation, instruction);
}

static void propagate_round(Propagation *propagation, HloInstruction *const *order, int64_t count) {
  do {
    propagation->changed = false;
    for (int64_t i = 0; i < count; i++) propagate_instruction(propagation, order[i]);
    for (int64_t i = count - 1; i >= 0; i--) propagate_instruction(propagation, order[i]);
    for (int64_t i = 0; i < propagation->groups.count; i++) {
      const SharedPair *pair = &propagation->groups.data[i];
      share(propagation, pair->a, pair->b, pair->along);
    }
  } while (propagation->changed);
}

static HloInstruction **all_in_order(Propagation *propagation, int64_t *out_count) {
  ARRAY(HloInstruction *) all = {0};
  int64_t computations;
  HloComputation **order = hlo_module_post_order(propagation->module, propagation->arena, &computations);
  for (int64_t c = 0; c < computations; c++) {
    int64_t count;
    if (propagation->applied[order[c]->id]) continue;
    HloInstruction **instructions = hlo_computation_post_order(order[c], propagation->arena, &count);
    for (int64_t i = 0; i < count; i++) array_push(&all, propagation->arena, instructions[i]);
  }
  *out_count = all.count;
  return all.data;
}

/* The next priority after |priority| that a dimension has; INT64_MAX: there is none. */
static int64_t next_priority(Propagation *propagation, HloInstruction *const *order, int64_t count, int64_t priority) {
  int64_t next = INT64_MAX;
  for (int64_t i = 0; i < count; i++) {
    for (int k = 0; k < shape_leaf_count(order[i]->shape); k++) {
      const ValueState *state = state_of(propagation, order[i], k);
      for (int d = 0; state->priorities != NULL && d < state->rank; d++) {
        if (state->priorities[d] > priority) next = min_i64(next, state->priorities[d]);
      }
    }
  }
  return next;
}

/* --- the result --- */

static const AxisSharding *finished(Propagation *propagation, const ValueState *state) {
  if (state->rank < 0) return NULL;
  AxisSharding *sharding = axis_sharding_replicated(propagation->arena, state->rank, state->manual);
  sharding->dims = state->dims;
  sharding->order = state->order;
  return sharding;
}

static Status finish_instruction(Propagation *propagation, HloInstruction *instruction, void *context) {
  ModuleShardings *out = context;
  int leaves = shape_leaf_count(instruction->shape);
  ValueSharding *values = ARENA_NEW_ARRAY(propagation->arena, ValueSharding, leaves + 1);
  const AxisSharding **outsides = NULL;
  if (propagation->outsides[instruction->id] != NULL)
    outsides = ARENA_NEW_ARRAY(propagation->arena, const AxisSharding *, leaves + 1);
  for (int i = 0; i < leaves; i++) {
    const ValueState *state = state_of(propagation, instruction, i);
    values[i] = (ValueSharding){finished(propagation, state), state->is_given, state->steps};
    if (outsides == NULL) continue;
    ValueState outside = propagation->outsides[instruction->id][i];
    bool enters = (state->manual & ~propagation->manual[instruction->operands[0]->id]) != 0;
    outside.manual = enters ? propagation->manual[instruction->operands[0]->id] : state->manual;
    outsides[i] = finished(propagation, &outside);
  }
  ((const ValueSharding **)out->leaves)[instruction->id] = values;
  ((const AxisSharding *const **)out->outsides)[instruction->id] = outsides;
  return STATUS_OK;
}

bool spmd_is_to_be_partitioned(const HloModule *module) {
  return hlo_module_is_to_be_partitioned(module);
}

Status spmd_propagate(Arena *arena, HloModule *module, DiagSink *diag, ModuleShardings *out_shardings) {
  Propagation propagation = {.arena = arena,
                             .module = module,
                             .diag = diag,
                             .applied = hlo_module_applied(arena, module, true),
                             .rules = ARENA_NEW_ARRAY(arena, const ShardingRule *, module->next_instruction_id)};
  RETURN_IF_ERROR(propagation_begin(&propagation));
  int64_t count;
  HloInstruction **order = all_in_order(&propagation, &count);
  for (int64_t priority = 0; priority != INT64_MAX; priority = next_priority(&propagation, order, count, priority)) {
    propagation.priority = priority;
    for (propagation.level = 0; propagation.level < LEVEL_COUNT; propagation.level++)
      propagate_round(&propagation, order, count);
  }
  *out_shardings =
      (ModuleShardings){.mesh = propagation.mesh,
                        .instruction_count = module->next_instruction_id,
                        .leaves = ARENA_NEW_ARRAY(arena, const ValueSharding *, module->next_instruction_id),
                        .outsides = ARENA_NEW_ARRAY(arena, const AxisSharding *const *, module->next_instruction_id)};
  return propagation_for_each(&propagation, finish_instruction, out_shardings);
}

const AxisSharding *module_sharding(const ModuleShardings *shardings, const HloInstruction *instruction, int leaf) {
  return shardings->leaves[instruction->id][leaf].sharding;
}
