#include "base/array.h"
#include "hlo/type/float_types.h"
#include "passes/expand/graph_builder.h"

/* Sizes that are set at run time: arrays become as large as they can be, and who sums over them leaves out what lies
 * behind the size.  Done where everything that sees the size is elementwise, asks for it, or is a reduction over the
 * dimension, by an operation with an identity, to an array of known size; other set-dimension-size stays. */
typedef struct SizedArray {
  GraphBuilder *builder;
  int64_t dimension;
  HloInstruction *size;            /* s32[], within the bound */
  ARRAY(HloInstruction *) members; /* arrays of that size, the set-dimension-size first */
  IntMap known;                    /* their ids */
} SizedArray;

/* --- reductions --- */

static bool reducing_opcode(const HloInstruction *reduce, HloOpcode *out_opcode) {
  const HloComputation *region = hlo_instruction_computation(reduce, HLO_ATTR_TO_APPLY);
  const HloInstruction *root = region->root;
  *out_opcode = root->opcode;
  return reduce->operand_count == 2 && root->operand_count == 2 && root->operands[0]->opcode == HLO_PARAMETER &&
         root->operands[1]->opcode == HLO_PARAMETER && root->operands[0] != root->operands[1];
}

static int64_t least_integer(PrimitiveType type) {
  return type_is_signed(type) ? (int64_t)(UINT64_MAX << (type_bits(type) - 1)) : 0;
}

static int64_t greatest_integer(PrimitiveType type) {
  return type_is_signed(type) ? ~least_integer(type) : (int64_t)(UINT64_MAX >> (64 - type_bits(type)));
}

/* What changes no result of |reduce|, everywhere in an array like |like|; NULL when there is no such value. */
static HloInstruction *identity(GraphBuilder *builder, const HloInstruction *reduce, const Shape *like) {
  HloOpcode opcode;
  PrimitiveType type = reduce->shape->type;
  bool is_float = type_is_float(type) && float_has_infinity(type);
  if (!reducing_opcode(reduce, &opcode) || !(is_float || type_is_integral(type))) return NULL;
  switch (opcode) {
    case HLO_ADD: return is_float ? graph_real(builder, type, -0.0, like) : graph_integer(builder, type, 0, like);
    case HLO_MULTIPLY: return is_float ? graph_real(builder, type, 1, like) : graph_integer(builder, type, 1, like);
    case HLO_MAXIMUM:
      return is_float ? graph_real(builder, type, -__builtin_inf(), like)
                      : graph_integer(builder, type, least_integer(type), like);
    case HLO_MINIMUM:
      return is_float ? graph_real(builder, type, __builtin_inf(), like)
                      : graph_integer(builder, type, greatest_integer(type), like);
    default: return NULL;
  }
}

static bool can_leave_out(const HloInstruction *reduce, const HloInstruction *value) {
  HloOpcode opcode;
  PrimitiveType type = reduce->shape->type;
  if (!shape_is_array(reduce->shape) || shape_is_dynamic(reduce->shape) || !reducing_opcode(reduce, &opcode))
    return false;
  if (reduce->operands[0] != value || reduce->operands[1] == value) return false;
  bool has_identity = opcode == HLO_ADD || opcode == HLO_MULTIPLY || opcode == HLO_MAXIMUM || opcode == HLO_MINIMUM;
  return has_identity && (type_is_integral(type) || (type_is_float(type) && float_has_infinity(type)));
}

/* --- who sees the size --- */

static void add_member(SizedArray *array, HloInstruction *member) {
  int64_t ignored;
  if (int_map_find(&array->known, (uint64_t)member->id, &ignored)) return;
  int_map_set(&array->known, (uint64_t)member->id, 1);
  array_push(&array->members, array->builder->scratch, member);
}

/* False when somebody needs more than this pass knows. */
static bool collect_members(SizedArray *array, HloInstruction *set) {
  int64_t ignored;
  add_member(array, set);
  for (int64_t i = 0; i < array->members.count; i++) {
    HloInstruction *value = array->members.data[i];
    if (hlo_instruction_is_root(value)) return false;
    for (int u = 0; u < value->user_count; u++) {
      HloInstruction *user = value->users[u];
      if (user->opcode == HLO_GET_DIMENSION_SIZE) continue;
      if (user->opcode == HLO_REDUCE && can_leave_out(user, value)) continue;
      if (!hlo_opcode_has(user->opcode, OP_ELEMENTWISE) || !shape_same_dims(user->shape, value->shape)) return false;
      add_member(array, user);
    }
  }
  for (int64_t i = 1; i < array->members.count; i++) { /* no sizes but this one */
    const HloInstruction *member = array->members.data[i];
    for (int k = 0; k < member->operand_count; k++) {
      if (!shape_is_dynamic(member->operands[k]->shape)) continue;
      if (!int_map_find(&array->known, (uint64_t)member->operands[k]->id, &ignored)) return false;
    }
  }
  return true;
}

/* --- rewriting --- */

static void rewrite_user(SizedArray *array, HloInstruction *value, HloInstruction *user) {
  GraphBuilder *builder = array->builder;
  const Shape *shape = value->shape;
  if (user->opcode == HLO_GET_DIMENSION_SIZE &&
      hlo_instruction_ints(user, HLO_ATTR_DIMENSIONS).data[0] == array->dimension) {
    hlo_computation_replace_instruction(builder->computation, user, array->size);
  } else if (user->opcode == HLO_REDUCE) {
    HloInstruction *place = graph_iota(builder, TYPE_S32, shape->dims, shape->rank, array->dimension);
    HloInstruction *is_inside =
        graph_compare(builder, COMPARISON_DIRECTION_LT, place, graph_splat(builder, array->size, shape));
    HloInstruction *kept = graph_select(builder, is_inside, value, identity(builder, user, shape));
    hlo_instruction_replace_operand(user, 0, kept);
  }
}

static void make_static(GraphBuilder *builder, HloInstruction *value) {
  const Shape *shape = value->shape;
  hlo_instruction_set_shape(
      value, shape_array_with(graph_shapes(builder), shape->type, shape->dims, NULL, shape->rank, &shape->layout));
}

static HloInstruction *expand_set_size(GraphBuilder *builder) {
  HloInstruction *set = builder->origin;
  HloInstruction *operand = set->operands[0];
  Int64List dims = hlo_instruction_ints(set, HLO_ATTR_DIMENSIONS);
  if (shape_is_dynamic(operand->shape) || dims.count != 1 || !shape_is_dynamic(set->shape)) return NULL;
  SizedArray array = {.builder = builder, .dimension = dims.data[0]};
  int_map_init(&array.known, builder->scratch);
  if (!collect_members(&array, set)) return NULL;
  HloInstruction *zero = graph_zero(builder, TYPE_S32, NULL);
  HloInstruction *bound = graph_integer(builder, TYPE_S32, operand->shape->dims[array.dimension], NULL);
  array.size = graph_binary(builder, HLO_MINIMUM, graph_binary(builder, HLO_MAXIMUM, set->operands[1], zero), bound);
  for (int64_t i = 0; i < array.members.count; i++) {
    HloInstruction *value = array.members.data[i];
    make_static(builder, value);
    int32_t count = value->user_count;
    HloInstruction **users = ARENA_COPY_ARRAY(builder->scratch, HloInstruction *, value->users, count);
    for (int32_t u = 0; u < count; u++) rewrite_user(&array, value, users[u]);
  }
  return operand;
}

static const GraphRuleRow rules[] = {{HLO_SET_DIMENSION_SIZE, expand_set_size}};

static Status run_dynamic_size_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  return graph_apply_rules(context, module, rules, 1, out_changed);
}

const HloPass hlo_dynamic_size_expander_pass = {
    "dynamic-size-expander",
    "arrays whose size is set at run time are as large as they can be, and masked where summed",
    run_dynamic_size_expander, false};
