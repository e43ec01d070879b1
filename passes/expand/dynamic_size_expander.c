#include "base/array.h"
#include "hlo/type/float_types.h"
#include "passes/expand/graph_builder.h"

/* Sizes that are set at run time: arrays become as large as they can be, and who sums over them leaves out what lies
 * behind the size.  Done where everything that sees the size is elementwise, moves whole dimensions, asks for it, is a
 * result of the module, or is a reduction over the dimension by an operation with an identity; other set-dimension-size
 * stays.  A result of dynamic size becomes one of its bound, and its sizes are further results behind all others. */
typedef struct SizedMember {
  HloInstruction *value;
  int64_t dimension; /* of it that has the size */
} SizedMember;

typedef struct SizedArray {
  GraphBuilder *builder;
  HloInstruction *size;       /* s32[], within the bound */
  ARRAY(SizedMember) members; /* the set-dimension-size first */
  IntMap known;               /* dimensions by their ids */
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
  if (!shape_is_array(reduce->shape) || !reducing_opcode(reduce, &opcode)) return false;
  if (reduce->operands[0] != value || reduce->operands[1] == value) return false;
  bool has_identity = opcode == HLO_ADD || opcode == HLO_MULTIPLY || opcode == HLO_MAXIMUM || opcode == HLO_MINIMUM;
  return has_identity && (type_is_integral(type) || (type_is_float(type) && float_has_infinity(type)));
}

/* --- who sees the size --- */

static bool has_member(const SizedArray *array, const HloInstruction *value, int64_t dimension) {
  int64_t known;
  return int_map_find(&array->known, (uint64_t)value->id, &known) && known == dimension;
}

/* False when it is one already, of another dimension. */
static bool add_member(SizedArray *array, HloInstruction *value, int64_t dimension) {
  int64_t known;
  if (int_map_find(&array->known, (uint64_t)value->id, &known)) return known == dimension;
  int_map_set(&array->known, (uint64_t)value->id, dimension);
  array_push(&array->members, array->builder->scratch, ((SizedMember){value, dimension}));
  return true;
}

static bool has_dimension(Int64List dims, int64_t dimension, int64_t *out_before) {
  *out_before = 0;
  for (int64_t i = 0; i < dims.count; i++) {
    if (dims.data[i] == dimension) return true;
    *out_before += dims.data[i] < dimension;
  }
  return false;
}

typedef enum Sight { SIGHT_NONE, SIGHT_MEMBER, SIGHT_UNKNOWN } Sight;

/* What |user| makes of a member: nothing of that size, an array with it along |*out_dimension|, or nobody knows. */
static Sight sight_of(const HloInstruction *user, const SizedMember *member, int64_t *out_dimension) {
  const HloInstruction *value = member->value;
  Int64List dims = hlo_instruction_ints(user, HLO_ATTR_DIMENSIONS);
  *out_dimension = member->dimension;
  int64_t before;
  switch (user->opcode) {
    case HLO_GET_DIMENSION_SIZE: return SIGHT_NONE;
    case HLO_TUPLE: return user == user->parent->module->entry->root ? SIGHT_NONE : SIGHT_UNKNOWN;
    case HLO_SET_DIMENSION_SIZE:
      return user->operands[0] == value && dims.data[0] != member->dimension ? SIGHT_MEMBER : SIGHT_UNKNOWN;
    case HLO_REDUCE:
      if (has_dimension(dims, member->dimension, &before))
        return can_leave_out(user, value) ? SIGHT_NONE : SIGHT_UNKNOWN;
      if (user->operand_count != 2 || user->operands[0] != value || user->operands[1] == value) return SIGHT_UNKNOWN;
      *out_dimension -= before;
      return SIGHT_MEMBER;
    case HLO_BROADCAST: *out_dimension = dims.data[member->dimension]; return SIGHT_MEMBER;
    case HLO_TRANSPOSE:
      for (*out_dimension = 0; dims.data[*out_dimension] != member->dimension;) ++*out_dimension;
      return SIGHT_MEMBER;
    default:
      return hlo_opcode_has(user->opcode, OP_ELEMENTWISE) && shape_same_dims(user->shape, value->shape) ? SIGHT_MEMBER
                                                                                                        : SIGHT_UNKNOWN;
  }
}

static bool is_entry_root(const HloInstruction *value) {
  return value == value->parent->module->entry->root;
}

/* False when somebody needs more than this pass knows. */
static bool collect_members(SizedArray *array, HloInstruction *set, int64_t dimension) {
  add_member(array, set, dimension);
  for (int64_t i = 0; i < array->members.count; i++) {
    SizedMember member = array->members.data[i];
    if (hlo_instruction_is_root(member.value) && !is_entry_root(member.value)) return false;
    for (int u = 0; u < member.value->user_count; u++) {
      int64_t its;
      Sight sight = sight_of(member.value->users[u], &member, &its);
      if (sight == SIGHT_UNKNOWN) return false;
      if (sight == SIGHT_MEMBER && !add_member(array, member.value->users[u], its)) return false;
    }
  }
  for (int64_t i = 1; i < array->members.count; i++) { /* no sizes but this one along the dimension */
    const SizedMember *member = &array->members.data[i];
    if (!hlo_opcode_has(member->value->opcode, OP_ELEMENTWISE)) continue;
    for (int k = 0; k < member->value->operand_count; k++) {
      const HloInstruction *operand = member->value->operands[k];
      bool is_dynamic = operand->shape->dynamic != NULL && operand->shape->dynamic[member->dimension];
      if (is_dynamic && !has_member(array, operand, member->dimension)) return false;
    }
  }
  return true;
}

/* --- rewriting --- */

static void rewrite_user(SizedArray *array, const SizedMember *member, HloInstruction *user) {
  GraphBuilder *builder = array->builder;
  HloInstruction *value = member->value;
  const Shape *shape = value->shape;
  Int64List dims = hlo_instruction_ints(user, HLO_ATTR_DIMENSIONS);
  int64_t before;
  if (user->opcode == HLO_GET_DIMENSION_SIZE && dims.data[0] == member->dimension) {
    hlo_computation_replace_instruction(builder->computation, user, array->size);
  } else if (user->opcode == HLO_REDUCE && has_dimension(dims, member->dimension, &before)) {
    HloInstruction *place = graph_iota(builder, TYPE_S32, shape->dims, shape->rank, member->dimension);
    HloInstruction *is_inside =
        graph_compare(builder, COMPARISON_DIRECTION_LT, place, graph_splat(builder, array->size, shape));
    HloInstruction *kept = graph_select(builder, is_inside, value, identity(builder, user, shape));
    hlo_instruction_set_shape(kept, shape); /* it may have other sizes yet */
    hlo_instruction_replace_operand(user, 0, kept);
  }
}

static void make_static(GraphBuilder *builder, const SizedMember *member) {
  const Shape *shape = member->value->shape;
  if (shape->dynamic == NULL) return;
  bool *dynamic = ARENA_COPY_ARRAY(builder->scratch, bool, shape->dynamic, shape->rank);
  dynamic[member->dimension] = false;
  hlo_instruction_set_shape(member->value, shape_array_with(graph_shapes(builder), shape->type, shape->dims, dynamic,
                                                            shape->rank, &shape->layout));
}

/* The module's result is what its root is now. */
static void update_result(GraphBuilder *builder) {
  HloModule *module = builder->computation->module;
  HloInstruction *root = module->entry->root;
  if (root->opcode == HLO_TUPLE) {
    const Shape **elements = ARENA_NEW_ARRAY(builder->scratch, const Shape *, root->operand_count);
    for (int i = 0; i < root->operand_count; i++) elements[i] = root->operands[i]->shape;
    hlo_instruction_set_shape(root, shape_tuple(graph_shapes(builder), elements, root->operand_count));
  }
  if (module->entry_layout.present) module->entry_layout.result = root->shape;
}

static bool begin_array(SizedArray *array, GraphBuilder *builder) {
  HloInstruction *set = builder->origin;
  Int64List dims = hlo_instruction_ints(set, HLO_ATTR_DIMENSIONS);
  *array = (SizedArray){.builder = builder};
  int_map_init(&array->known, builder->scratch);
  return dims.count == 1 && shape_is_dynamic(set->shape) && collect_members(array, set, dims.data[0]);
}

static HloInstruction *expand_set_size(GraphBuilder *builder) {
  HloInstruction *set = builder->origin, *operand = set->operands[0];
  SizedArray array;
  if (shape_is_dynamic(operand->shape) || !begin_array(&array, builder)) return NULL;
  HloInstruction *zero = graph_zero(builder, TYPE_S32, NULL);
  int64_t most = operand->shape->dims[array.members.data[0].dimension];
  HloInstruction *bound = graph_integer(builder, TYPE_S32, most, NULL);
  array.size = graph_binary(builder, HLO_MINIMUM, graph_binary(builder, HLO_MAXIMUM, set->operands[1], zero), bound);
  for (int64_t i = 0; i < array.members.count; i++) make_static(builder, &array.members.data[i]);
  for (int64_t i = 0; i < array.members.count; i++) {
    HloInstruction *value = array.members.data[i].value;
    int32_t count = value->user_count;
    HloInstruction **users = ARENA_COPY_ARRAY(builder->scratch, HloInstruction *, value->users, count);
    for (int32_t u = 0; u < count; u++) rewrite_user(&array, &array.members.data[i], users[u]);
  }
  if (builder->computation == builder->computation->module->entry) update_result(builder);
  return operand;
}

/* --- results --- */

/* Whether this pass resolves all sizes of |leaf|. */
static bool is_resolved(HloComputation *entry, Arena *scratch, const HloInstruction *leaf) {
  for (int64_t d = 0; d < leaf->shape->rank; d++) {
    bool is_known = leaf->shape->dynamic == NULL || !leaf->shape->dynamic[d];
    for (int64_t i = 0; i < entry->instructions.count && !is_known; i++) {
      GraphBuilder builder = {entry, entry->instructions.data[i], scratch};
      SizedArray array;
      is_known = builder.origin->opcode == HLO_SET_DIMENSION_SIZE && begin_array(&array, &builder) &&
                 has_member(&array, leaf, d);
    }
    if (!is_known) return false;
  }
  return true;
}

/* Puts the sizes of the module's results behind them; false when there are none, or some that stay. */
static bool add_result_sizes(HloModule *module, Arena *scratch) {
  HloInstruction *root = module->entry->root;
  bool is_tuple = root->opcode == HLO_TUPLE;
  if (!shape_is_dynamic(root->shape) || (!is_tuple && (!shape_is_array(root->shape) || module->aliases.count > 0)))
    return false;
  int count = is_tuple ? root->operand_count : 1;
  GraphBuilder builder = {module->entry, root, scratch};
  ARRAY(HloInstruction *) leaves = {0};
  for (int i = 0; i < count; i++) {
    HloInstruction *leaf = is_tuple ? root->operands[i] : root;
    if (shape_is_dynamic(leaf->shape) && (!shape_is_array(leaf->shape) || !is_resolved(module->entry, scratch, leaf)))
      return false;
    array_push(&leaves, scratch, leaf);
  }
  for (int i = 0; i < count; i++) {
    const Shape *shape = leaves.data[i]->shape;
    for (int64_t d = 0; shape_is_array(shape) && shape->dynamic != NULL && d < shape->rank; d++) {
      if (!shape->dynamic[d]) continue;
      HloInstruction *size = graph_add(&builder, HLO_GET_DIMENSION_SIZE, shape_scalar(graph_shapes(&builder), TYPE_S32),
                                       &leaves.data[i], 1);
      hlo_instruction_set_ints(size, HLO_ATTR_DIMENSIONS, &d, 1);
      array_push(&leaves, scratch, size);
    }
  }
  HloInstruction *results = graph_tuple(&builder, leaves.data, (int)leaves.count);
  hlo_computation_set_root(module->entry, results);
  if (is_tuple) hlo_computation_remove(module->entry, root, false);
  update_result(&builder);
  return true;
}

static const GraphRuleRow rules[] = {{HLO_SET_DIMENSION_SIZE, expand_set_size}};

/* Whose sizes would come with the value. */
static Status check_parameters(const HloModule *module, DiagSink *diag) {
  for (int64_t i = 0; i < module->entry->parameters.count; i++) {
    const HloInstruction *parameter = module->entry->parameters.data[i];
    if (shape_is_dynamic(parameter->shape))
      return diag_error(diag, STATUS_UNSUPPORTED, parameter->loc, "unsupported-dynamic",
                        "parameter '%.*s' has a dynamic size, which nobody passes", SV_ARG(parameter->name));
  }
  return STATUS_OK;
}

static Status run_dynamic_size_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  RETURN_IF_ERROR(check_parameters(module, context->diag));
  *out_changed |= add_result_sizes(module, context->scratch);
  return graph_apply_rules(context, module, rules, 1, out_changed);
}

const HloPass hlo_dynamic_size_expander_pass = {
    "dynamic-size-expander",
    "arrays whose size is set at run time are as large as they can be, and masked where summed",
    run_dynamic_size_expander, false};
