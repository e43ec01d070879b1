#include "hlo/ir/custom_call.h"
#include "passes/cleanup/shape_coercion.h"
#include "passes/expand/dynamic_sizes.h"

/* Arrays whose size is set at run time become as large as they can be; their sizes are numbers beside them, and what
 * reads more of an array than is there has it masked.  Sizes come from set-dimension-size, from dynamic-reshape, from
 * custom calls of XLA's that do the same, and with parameters; they go through loops and branches as values of their
 * own.  The sizes of the entry's parameters and results are further parameters and results after all others. */

typedef struct Expansion {
  HloPassContext *context;
  DynamicSizes sizes;
  HloModule *module;
  Arena *scratch;
  const Shape *result; /* as the module's text has it */
  IntMap seen;         /* computations whose sizes are known */
} Expansion;

static Status expand_computation(Expansion *expansion, HloComputation *computation);

/* --- sizes of a whole value, one after the other --- */

typedef ARRAY(HloInstruction *) InstructionArray;

/* By node, then dimension. */
typedef struct SizePlace {
  int node;
  int64_t dimension;
} SizePlace;
typedef ARRAY(SizePlace) SizePlaces;

static bool is_stated(const Shape *shape, int node, int64_t dimension) {
  const Shape *leaf = shape_node(shape, node);
  return shape_is_array(leaf) && leaf->dynamic != NULL && leaf->dynamic[dimension];
}

/* Where any of |values|, which are of one shape but for sizes, has one, or |stated| (may be NULL) says that it may. */
static void find_places(Expansion *expansion, HloInstruction *const *values, int count, const Shape *stated,
                        SizePlaces *places) {
  const Shape *shape = count > 0 ? values[0]->shape : stated;
  for (int node = 0; node < shape_node_count(shape); node++) {
    const Shape *leaf = shape_node(shape, node);
    for (int64_t d = 0; shape_is_array(leaf) && d < leaf->rank; d++) {
      bool any = stated != NULL && is_stated(stated, node, d);
      for (int i = 0; i < count; i++) {
        HloInstruction *const *own = dynamic_sizes_at(&expansion->sizes, values[i], node);
        any = any || (own && own[d]);
      }
      if (any) array_push(places, expansion->scratch, ((SizePlace){node, d}));
    }
  }
}

/* (value, size, size, …) */
static HloInstruction *pack(Expansion *expansion, GraphBuilder *builder, HloInstruction *value,
                            const SizePlaces *places) {
  InstructionArray elements = {0};
  array_push(&elements, expansion->scratch, value);
  for (int64_t i = 0; i < places->count; i++) {
    const SizePlace *place = &places->data[i];
    array_push(&elements, expansion->scratch,
               dynamic_size_or_bound(&expansion->sizes, builder, value, place->node, place->dimension));
  }
  return graph_tuple(builder, elements.data, (int)elements.count);
}

/* |value| is (value, size, …) from now on: its users read the first of these. */
static void unpack(Expansion *expansion, GraphBuilder *builder, HloInstruction *value, const Shape *packed,
                   const SizePlaces *places) {
  hlo_instruction_set_shape(value, packed);
  HloInstruction *first = graph_element(builder, value, 0);
  hlo_instruction_replace_all_uses(value, first);
  for (int64_t i = 0; i < places->count; i++)
    dynamic_sizes_set(&expansion->sizes, first, places->data[i].node, places->data[i].dimension,
                      graph_element(builder, value, i + 1));
}

/* --- control flow --- */

static void pack_parameter(Expansion *expansion, HloComputation *computation, const Shape *packed,
                           const SizePlaces *places) {
  HloInstruction *parameter = computation->parameters.data[0];
  GraphBuilder builder = {computation, parameter, expansion->scratch};
  unpack(expansion, &builder, parameter, packed, places);
}

static void pack_root(Expansion *expansion, HloComputation *computation, const SizePlaces *places) {
  GraphBuilder builder = {computation, computation->root, expansion->scratch};
  hlo_computation_set_root(computation, pack(expansion, &builder, computation->root, places));
}

static Status expand_while(Expansion *expansion, GraphBuilder *builder) {
  HloInstruction *loop = builder->origin;
  HloComputation *condition = hlo_instruction_called(loop, 0), *body = hlo_instruction_called(loop, 1);
  SizePlaces places = {0};
  find_places(expansion, loop->operands, 1, body->root->shape, &places);
  const Shape *packed = NULL;
  if (places.count > 0) {
    HloInstruction *start = pack(expansion, builder, loop->operands[0], &places);
    packed = start->shape;
    hlo_instruction_replace_operand(loop, 0, start);
    pack_parameter(expansion, condition, packed, &places);
    pack_parameter(expansion, body, packed, &places);
  }
  RETURN_IF_ERROR(expand_computation(expansion, condition));
  RETURN_IF_ERROR(expand_computation(expansion, body));
  if (packed == NULL) return STATUS_OK;
  pack_root(expansion, body, &places);
  unpack(expansion, builder, loop, packed, &places);
  return STATUS_OK;
}

static Status expand_branch(Expansion *expansion, GraphBuilder *builder, int index) {
  HloInstruction *conditional = builder->origin, *operand = conditional->operands[index + 1];
  HloComputation *branch = hlo_instruction_called(conditional, index);
  SizePlaces places = {0};
  find_places(expansion, &operand, 1, NULL, &places);
  if (places.count > 0) {
    HloInstruction *packed = pack(expansion, builder, operand, &places);
    hlo_instruction_replace_operand(conditional, index + 1, packed);
    pack_parameter(expansion, branch, packed->shape, &places);
  }
  return expand_computation(expansion, branch);
}

static Status expand_conditional(Expansion *expansion, GraphBuilder *builder) {
  HloInstruction *conditional = builder->origin;
  int count = hlo_instruction_called_count(conditional);
  HloInstruction **roots = ARENA_NEW_ARRAY(expansion->scratch, HloInstruction *, count);
  for (int i = 0; i < count; i++) {
    RETURN_IF_ERROR(expand_branch(expansion, builder, i));
    roots[i] = hlo_instruction_called(conditional, i)->root;
  }
  SizePlaces places = {0};
  find_places(expansion, roots, count, NULL, &places);
  if (places.count == 0) return STATUS_OK;
  for (int i = 0; i < count; i++) pack_root(expansion, hlo_instruction_called(conditional, i), &places);
  unpack(expansion, builder, conditional, hlo_instruction_called(conditional, 0)->root->shape, &places);
  return STATUS_OK;
}

/* --- values that are others' --- */

static Status forward(Expansion *expansion, GraphBuilder *builder) {
  dynamic_sizes_copy(&expansion->sizes, builder->origin, 0, builder->origin->operands[0], 0);
  return STATUS_OK;
}

static Status forward_tuple(Expansion *expansion, GraphBuilder *builder) {
  const HloInstruction *tuple = builder->origin;
  for (int i = 0; i < tuple->operand_count; i++)
    dynamic_sizes_copy(&expansion->sizes, tuple, shape_node_child(tuple->shape, 0, i), tuple->operands[i], 0);
  return STATUS_OK;
}

static Status forward_element(Expansion *expansion, GraphBuilder *builder) {
  const HloInstruction *element = builder->origin, *tuple = element->operands[0];
  int node = shape_node_child(tuple->shape, 0, hlo_instruction_int(element, HLO_ATTR_INDEX, 0));
  dynamic_sizes_copy(&expansion->sizes, element, 0, tuple, node);
  return STATUS_OK;
}

/* --- who sets and asks for sizes --- */

static Status expand_get_size(Expansion *expansion, GraphBuilder *builder) {
  HloInstruction *get = builder->origin;
  HloInstruction *size = dynamic_size_or_bound(&expansion->sizes, builder, get->operands[0], 0,
                                               hlo_instruction_ints(get, HLO_ATTR_DIMENSIONS).data[0]);
  hlo_computation_replace_instruction(builder->computation, get, size);
  return STATUS_OK;
}

/* Stands there, as the value with these sizes, until all sizes are known. */
static bool sets_sizes(const HloInstruction *instruction) {
  return instruction->opcode == HLO_SET_DIMENSION_SIZE || custom_call_slices_to_dynamic(instruction);
}

/* (array, size of each dimension) → the array. */
static Status expand_slice_to_dynamic(Expansion *expansion, GraphBuilder *builder) {
  const HloInstruction *call = builder->origin;
  for (int64_t d = 0; d < call->shape->rank; d++) {
    if (!is_stated(call->shape, 0, d)) continue;
    HloInstruction *size = dynamic_size_given(&expansion->sizes, builder, call->operands[d + 1], call->shape->dims[d]);
    dynamic_sizes_set(&expansion->sizes, call, 0, d, size);
  }
  return STATUS_OK;
}

/* The array → (the array, size of each dimension). */
static Status expand_pad_to_static(Expansion *expansion, GraphBuilder *builder) {
  HloInstruction *call = builder->origin, *array = call->operands[0];
  InstructionArray elements = {0};
  array_push(&elements, expansion->scratch, array);
  for (int64_t d = 0; d < array->shape->rank; d++)
    array_push(&elements, expansion->scratch, dynamic_size_or_bound(&expansion->sizes, builder, array, 0, d));
  HloInstruction *tuple = graph_tuple(builder, elements.data, (int)elements.count);
  dynamic_sizes_copy(&expansion->sizes, tuple, shape_node_child(tuple->shape, 0, 0), array, 0);
  hlo_computation_replace_instruction(builder->computation, call, tuple);
  return STATUS_OK;
}

/* --- everything else --- */

static Status expand_operation(Expansion *expansion, GraphBuilder *builder) {
  HloInstruction *operation = builder->origin, *result;
  RETURN_IF_ERROR(dynamic_sizes_infer(&expansion->sizes, builder));
  bool sees_sizes = false;
  for (int i = 0; i < operation->operand_count; i++)
    sees_sizes = sees_sizes || dynamic_sizes_any(&expansion->sizes, operation->operands[i]);
  if (!sees_sizes && operation->opcode != HLO_DYNAMIC_RESHAPE) return STATUS_OK;
  int64_t before = builder->computation->instructions.count;
  RETURN_IF_ERROR(dynamic_operands_hide(&expansion->sizes, builder, &result));
  if (builder->computation->instructions.count > before)
    hlo_pass_count_rewrite(expansion->context, "hide-beyond-sizes", operation);
  if (result == NULL) return STATUS_OK;
  dynamic_sizes_copy(&expansion->sizes, result, 0, operation, 0);
  hlo_computation_replace_instruction(builder->computation, operation, result);
  return STATUS_OK;
}

/* What comes from outside has sizes that are not known here. */
static Status expand_outside(Expansion *expansion, GraphBuilder *builder) {
  const HloInstruction *call = builder->origin;
  if (custom_call_pads_to_static(call)) return expand_pad_to_static(expansion, builder);
  if (custom_call_slices_to_dynamic(call)) return expand_slice_to_dynamic(expansion, builder);
  if (shape_is_dynamic(call->shape)) return dynamic_sizes_refuse(&expansion->sizes, call, call);
  return expand_operation(expansion, builder);
}

typedef Status ExpandRule(Expansion *expansion, GraphBuilder *builder);

static ExpandRule *const rules[HLO_OPCODE_COUNT] = {
    [HLO_ADD_DEPENDENCY] = forward,
    [HLO_BITCAST] = forward,
    [HLO_CALL] = expand_outside,
    [HLO_CONDITIONAL] = expand_conditional,
    [HLO_COPY] = forward,
    [HLO_CUSTOM_CALL] = expand_outside,
    [HLO_DOMAIN] = forward,
    [HLO_FUSION] = expand_outside,
    [HLO_GET_DIMENSION_SIZE] = expand_get_size,
    [HLO_GET_TUPLE_ELEMENT] = forward_element,
    [HLO_INFEED] = expand_outside,
    [HLO_OPT_BARRIER] = forward,
    [HLO_RECV] = expand_outside,
    [HLO_TUPLE] = forward_tuple,
    [HLO_WHILE] = expand_while,
};

static Status expand_computation(Expansion *expansion, HloComputation *computation) {
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(computation, expansion->scratch, &count);
  if (pointer_map_get(&expansion->seen, computation)) return STATUS_OK;
  pointer_map_set(&expansion->seen, computation, computation);
  for (int64_t i = 0; i < count; i++) {
    GraphBuilder builder = {computation, order[i], expansion->scratch};
    ExpandRule *rule = rules[order[i]->opcode];
    if (order[i]->opcode == HLO_PARAMETER) continue;
    RETURN_IF_ERROR(rule ? rule(expansion, &builder) : expand_operation(expansion, &builder));
  }
  return STATUS_OK;
}

/* --- the boundary --- */

static int64_t leaves_before(const Shape *shape, int node) {
  int64_t count = 0;
  for (int i = 0; i < node; i++) count += !shape_is_tuple(shape_node(shape, i));
  return count;
}

/* A parameter for each size of a parameter. */
static void add_parameter_sizes(Expansion *expansion) {
  HloModule *module = expansion->module;
  HloComputation *entry = module->entry;
  const Shape *scalar = shape_scalar(module->shapes, TYPE_S32);
  int64_t count = entry->parameters.count, leaf = 0, size_leaf = 0;
  for (int64_t i = 0; i < count; i++) size_leaf += shape_leaf_count(entry->parameters.data[i]->shape);
  for (int64_t i = 0; i < count; i++) {
    HloInstruction *parameter = entry->parameters.data[i];
    GraphBuilder builder = {entry, parameter, expansion->scratch};
    SizePlaces places = {0};
    find_places(expansion, NULL, 0, parameter->shape, &places);
    for (int64_t k = 0; k < places.count; k++) {
      SizePlace place = places.data[k];
      StringView name = sv_printf(expansion->scratch, "%.*s.size", SV_ARG(parameter->name));
      HloInstruction *size = hlo_computation_add_parameter(entry, entry->parameters.count, scalar, name);
      hlo_instruction_inherit_metadata(size, parameter);
      int64_t bound = shape_node(parameter->shape, place.node)->dims[place.dimension];
      dynamic_sizes_set(&expansion->sizes, parameter, place.node, place.dimension,
                        dynamic_size_given(&expansion->sizes, &builder, size, bound));
      array_push(&module->parameter_sizes, module->arena,
                 ((LeafSize){leaf + leaves_before(parameter->shape, place.node), place.dimension, size_leaf++}));
    }
    leaf += shape_leaf_count(parameter->shape);
  }
}

/* The result is its elements, or itself, and after them the sizes that its shape says it has. */
static void add_result_sizes(Expansion *expansion) {
  HloModule *module = expansion->module;
  HloInstruction *root = module->entry->root;
  GraphBuilder builder = {module->entry, root, expansion->scratch};
  SizePlaces places = {0};
  find_places(expansion, NULL, 0, expansion->result, &places);
  if (places.count == 0) return;
  bool is_tuple = shape_is_tuple(root->shape);
  InstructionArray elements = {0};
  for (int i = 0; i < (is_tuple ? root->shape->tuple_size : 1); i++)
    array_push(&elements, expansion->scratch, is_tuple ? graph_element(&builder, root, i) : root);
  int64_t size_leaf = shape_leaf_count(root->shape);
  for (int64_t i = 0; i < places.count; i++) {
    SizePlace place = places.data[i];
    array_push(&elements, expansion->scratch,
               dynamic_size_or_bound(&expansion->sizes, &builder, root, place.node, place.dimension));
    array_push(&module->result_sizes, module->arena,
               ((LeafSize){leaves_before(root->shape, place.node), place.dimension, size_leaf++}));
  }
  hlo_computation_set_root(module->entry, graph_tuple(&builder, elements.data, (int)elements.count));
  for (int64_t i = 0; i < module->aliases.count && !is_tuple; i++)
    module->aliases.data[i].output = (ShapeIndex){1, ARENA_NEW_ARRAY(module->arena, int64_t, 1)}; /* element 0 */
}

/* --- shapes --- */

static const Shape *static_shape(Expansion *expansion, const Shape *shape) {
  ShapeTable *shapes = expansion->module->shapes;
  if (!shape_is_dynamic(shape)) return shape;
  if (shape_is_array(shape))
    return shape_array_with(shapes, shape->type, shape->dims, NULL, shape->rank, &shape->layout);
  if (!shape_is_tuple(shape)) return shape;
  const Shape **elements = ARENA_NEW_ARRAY(expansion->scratch, const Shape *, shape->tuple_size);
  for (int i = 0; i < shape->tuple_size; i++) elements[i] = static_shape(expansion, shape->tuple[i]);
  return shape_tuple(shapes, elements, shape->tuple_size);
}

/* Sizes in computations that are applied, and in kernels, are not followed. */
static Status make_static(Expansion *expansion, HloComputation *computation) {
  bool is_seen = pointer_map_get(&expansion->seen, computation) != NULL;
  for (int64_t i = computation->instructions.count - 1; i >= 0; i--) {
    HloInstruction *instruction = computation->instructions.data[i];
    if (!is_seen && (shape_is_dynamic(instruction->shape) || sets_sizes(instruction)))
      return dynamic_sizes_refuse(&expansion->sizes, instruction, instruction);
    hlo_instruction_set_shape(instruction, static_shape(expansion, instruction->shape));
  }
  for (int64_t i = computation->instructions.count - 1; i >= 0; i--) {
    HloInstruction *instruction = computation->instructions.data[i];
    if (!sets_sizes(instruction)) continue;
    HloInstruction *array = instruction->operands[0];
    hlo_computation_replace_instruction(computation, instruction, shape_coerce(array, instruction->shape));
  }
  return STATUS_OK;
}

static bool is_dynamic(const HloModule *module) {
  for (int64_t i = 0; i < module->computations.count; i++) {
    const HloInstructionArray *instructions = &module->computations.data[i]->instructions;
    for (int64_t k = 0; k < instructions->count; k++)
      if (shape_is_dynamic(instructions->data[k]->shape) || sets_sizes(instructions->data[k])) return true;
  }
  return false;
}

static Status run_dynamic_size_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  if (!is_dynamic(module)) return STATUS_OK;
  *out_changed = true;
  Expansion expansion = {
      .context = context, .module = module, .scratch = context->scratch, .result = module->entry->root->shape};
  dynamic_sizes_init(&expansion.sizes, context->scratch, context->diag);
  int_map_init(&expansion.seen, context->scratch);
  add_parameter_sizes(&expansion);
  RETURN_IF_ERROR(expand_computation(&expansion, module->entry));
  add_result_sizes(&expansion);
  for (int64_t i = 0; i < module->computations.count; i++)
    RETURN_IF_ERROR(make_static(&expansion, module->computations.data[i]));
  hlo_module_update_entry_layout(module);
  return STATUS_OK;
}

const HloPass hlo_dynamic_size_expander_pass = {
    "dynamic-size-expander",
    "arrays whose size is set at run time are as large as they can be, and masked where read as a whole",
    run_dynamic_size_expander, false};
