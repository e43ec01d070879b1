/* Elements of instructions: dispatch by family, sharing, operands of the Kernel, and the lane-wise families. */
#include "codegen/kernel/lowering_internal.h"

struct LoweringMemo {
  const HloInstruction *instruction;
  const IndexExpr *index;
  int32_t predicate, value;
  struct LoweringMemo *next;
};

static const ElementRule element_rules[EMIT_FAMILY_COUNT] = {
    [EMIT_elementwise] = element_elementwise,
    [EMIT_copy] = element_forward,
    [EMIT_forward] = element_forward,
    [EMIT_constant] = element_constant,
    [EMIT_iota] = element_iota,
    [EMIT_broadcast] = element_broadcast,
    [EMIT_reshape] = element_reshape,
    [EMIT_bitcast] = element_bitcast,
    [EMIT_bitcast_convert] = element_bitcast_convert,
    [EMIT_transpose] = element_transpose,
    [EMIT_reverse] = element_reverse,
    [EMIT_slice] = element_slice,
    [EMIT_pad] = element_pad,
    [EMIT_concatenate] = element_concatenate,
    [EMIT_dynamic_slice] = element_dynamic_slice,
    [EMIT_dynamic_update_slice] = element_dynamic_update_slice,
    [EMIT_gather] = element_gather,
    [EMIT_map] = element_map,
};

/* --- operands of the Kernel --- */

static int operand_number(const HloInstruction *source, const HloInstruction *operand) {
  for (int i = 0; i < source->operand_count; i++) {
    if (source->operands[i] == operand) return i;
  }
  return -1;
}

static int32_t load_leaf(Lowering *lowering, int operand, int node, const Shape *leaf, const IndexExpr *index) {
  const HloInstruction *outside = lowering->source->operands[operand];
  if (outside->opcode == HLO_CONSTANT && shape_is_array(outside->shape)) {
    const Literal *literal = hlo_instruction_literal(outside);
    if (!literal->elided && literal_is_splat(literal)) return lowering_constant_element(lowering, literal, 0);
  }
  int32_t buffer = lowering_buffer(lowering, KERNEL_OPERAND, operand, node, leaf);
  return lowering_load(lowering, buffer, lowering_address(lowering, leaf, index));
}

/* An array from outside: an operand of a single operation, a parameter of a fusion, or an element of a tuple among either.  -1: not from outside. */
static int outside_operand(const Lowering *lowering, const HloInstruction *instruction, int *out_node) {
  *out_node = 0;
  const HloInstruction *base = instruction;
  if (lowering->fused != NULL && base->opcode == HLO_GET_TUPLE_ELEMENT && base->operands[0]->opcode == HLO_PARAMETER) {
    base = base->operands[0];
    *out_node = shape_node_child(base->shape, 0, hlo_instruction_int(instruction, HLO_ATTR_INDEX, 0));
  }
  if (lowering->fused != NULL) {
    return base->opcode == HLO_PARAMETER ? (int)hlo_instruction_parameter_number(base) : -1;
  }
  return base == lowering->source ? -1 : operand_number(lowering->source, base);
}

/* --- dispatch --- */

static uint64_t memo_hash(const Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index) {
  uint64_t hash = hash_combine((uint64_t)instruction->id, (uint64_t)lowering->predicate);
  for (int i = 0; i < instruction->shape->rank; i++) {
    hash = hash_combine(hash, (uint64_t)index[i].constant);
    for (int t = 0; t < index[i].term_count; t++) {
      hash = hash_combine(hash, (uint64_t)index[i].terms[t].coefficient * 64 + (uint64_t)index[i].terms[t].atom);
    }
  }
  return hash;
}

static bool memo_matches(const Lowering *lowering, const LoweringMemo *memo, const HloInstruction *instruction, const IndexExpr *index) {
  if (memo->instruction != instruction || memo->predicate != lowering->predicate) return false;
  for (int i = 0; i < instruction->shape->rank; i++) {
    if (!index_equal(memo->index[i], index[i])) return false;
  }
  return true;
}

static Status unsupported(const Lowering *lowering, const HloInstruction *instruction, const char *why) {
  Status status = diag_error(lowering->diag, STATUS_UNSUPPORTED, instruction->loc, "unsupported-op", "'%s' %s",
                             hlo_opcode_text(instruction->opcode), why);
  return status;
}

Status lower_element(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index, int32_t *out_value) {
  if (!shape_is_array(instruction->shape)) return unsupported(lowering, instruction, "has no elements");
  int node;
  int operand = outside_operand(lowering, instruction, &node);
  if (operand >= 0) {
    *out_value = load_leaf(lowering, operand, node, instruction->shape, index);
    return STATUS_OK;
  }
  ElementRule rule = element_rules[emit_family(instruction->opcode)];
  if (rule == NULL) return unsupported(lowering, instruction, "cannot be computed element by element");
  uint64_t hash = memo_hash(lowering, instruction, index);
  int64_t found = 0;
  LoweringMemo *first = int_map_find(&lowering->memo_map, hash, &found) ? (LoweringMemo *)(uintptr_t)found : NULL;
  for (LoweringMemo *memo = first; memo != NULL; memo = memo->next) {
    if (memo_matches(lowering, memo, instruction, index)) {
      *out_value = memo->value;
      return STATUS_OK;
    }
  }
  RETURN_IF_ERROR(rule(lowering, instruction, index, out_value));
  LoweringMemo *memo = ARENA_NEW(lowering->arena, LoweringMemo);
  *memo = (LoweringMemo){instruction, ARENA_COPY_ARRAY(lowering->arena, IndexExpr, index, instruction->shape->rank),
                         lowering->predicate, *out_value, first};
  int_map_set(&lowering->memo_map, hash, (int64_t)(uintptr_t)memo);
  return STATUS_OK;
}

/* --- lane-wise families --- */

static ComparisonType default_comparison_type(PrimitiveType type) {
  if (type_is_float(type) || type_is_complex(type)) return COMPARISON_TYPE_FLOAT;
  return type_is_signed(type) ? COMPARISON_TYPE_SIGNED : COMPARISON_TYPE_UNSIGNED;
}

/* The lane-wise operation of |instruction| on values. */
static int32_t apply_instruction(Lowering *lowering, const HloInstruction *instruction, const int32_t *operands) {
  int64_t params[2] = {0, 0};
  if (instruction->opcode == HLO_COMPARE) {
    params[0] = hlo_instruction_int(instruction, HLO_ATTR_DIRECTION, 0);
    params[1] = hlo_instruction_int(instruction, HLO_ATTR_COMPARISON_TYPE,
                                    default_comparison_type(instruction->operands[0]->shape->type));
  } else if (instruction->opcode == HLO_REDUCE_PRECISION) {
    params[0] = hlo_instruction_int(instruction, HLO_ATTR_EXPONENT_BITS, 8);
    params[1] = hlo_instruction_int(instruction, HLO_ATTR_MANTISSA_BITS, 23);
  }
  return lowering_apply_with(lowering, instruction->opcode, instruction->shape->type, operands, instruction->operand_count,
                             params[0], params[1]);
}

Status element_elementwise(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index, int32_t *out_value) {
  int32_t operands[KERNEL_MAX_OPERANDS];
  for (int i = 0; i < instruction->operand_count; i++) {
    /* scalar predicates and bounds of select and clamp have no index */
    RETURN_IF_ERROR(lower_element(lowering, instruction->operands[i], index, &operands[i]));
  }
  *out_value = apply_instruction(lowering, instruction, operands);
  return STATUS_OK;
}

Status element_forward(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index, int32_t *out_value) {
  const HloInstruction *operand = instruction->operands[0];
  if (instruction->opcode == HLO_GET_TUPLE_ELEMENT) {
    if (operand->opcode != HLO_TUPLE) return unsupported(lowering, instruction, "of this operand cannot be fused");
    operand = operand->operands[hlo_instruction_int(instruction, HLO_ATTR_INDEX, 0)];
  }
  return lower_element(lowering, operand, index, out_value);
}

Status element_constant(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index, int32_t *out_value) {
  (void)index;
  const Literal *literal = hlo_instruction_literal(instruction);
  if (!literal_is_splat(literal)) return unsupported(lowering, instruction, "with several values stands inside a fusion");
  *out_value = lowering_constant_element(lowering, literal, 0);
  return STATUS_OK;
}

Status element_map(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index, int32_t *out_value) {
  int32_t *arguments = ARENA_NEW_ARRAY(lowering->arena, int32_t, instruction->operand_count);
  for (int i = 0; i < instruction->operand_count; i++) {
    RETURN_IF_ERROR(lower_element(lowering, instruction->operands[i], index, &arguments[i]));
  }
  return lower_region(lowering, hlo_instruction_computation(instruction, HLO_ATTR_TO_APPLY), arguments,
                      instruction->operand_count, out_value, 1);
}

Status element_bitcast_convert(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index, int32_t *out_value) {
  const HloInstruction *operand = instruction->operands[0];
  if (type_bits(operand->shape->type) != type_bits(instruction->shape->type)) {
    return unsupported(lowering, instruction, "between types of unequal width is not supported yet");
  }
  return element_elementwise(lowering, instruction, index, out_value);
}

/* --- regions --- */

static Status lower_region_value(Lowering *lowering, const HloInstruction *instruction, const int32_t *arguments, IntMap *values) {
  int64_t found;
  int32_t value = -1;
  switch (emit_family(instruction->opcode)) {
    case EMIT_parameter: value = arguments[hlo_instruction_parameter_number(instruction)]; break;
    case EMIT_constant: value = lowering_constant_element(lowering, hlo_instruction_literal(instruction), 0); break;
    case EMIT_copy:
    case EMIT_broadcast:
    case EMIT_reshape:
    case EMIT_bitcast:
      if (!int_map_find(values, (uint64_t)instruction->operands[0]->id, &found)) XLAC_BUG("region out of order");
      value = (int32_t)found;
      break;
    case EMIT_elementwise:
    case EMIT_bitcast_convert: {
      int32_t operands[KERNEL_MAX_OPERANDS];
      for (int i = 0; i < instruction->operand_count; i++) {
        if (!int_map_find(values, (uint64_t)instruction->operands[i]->id, &found)) XLAC_BUG("region out of order");
        operands[i] = (int32_t)found;
      }
      value = apply_instruction(lowering, instruction, operands);
      break;
    }
    case EMIT_tuple: break; /* read by the root */
    default: return unsupported(lowering, instruction, "inside an applied computation is not supported yet");
  }
  if (value < 0 && instruction->opcode != HLO_TUPLE) return unsupported(lowering, instruction, "cannot be applied");
  int_map_set(values, (uint64_t)instruction->id, value);
  return STATUS_OK;
}

Status lower_region(Lowering *lowering, const HloComputation *region, const int32_t *arguments, int argument_count,
                    int32_t *out_results, int result_count) {
  (void)argument_count;
  IntMap values;
  int_map_init(&values, lowering->arena);
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(region, lowering->arena, &count);
  for (int64_t i = 0; i < count; i++) RETURN_IF_ERROR(lower_region_value(lowering, order[i], arguments, &values));
  const HloInstruction *root = region->root;
  for (int i = 0; i < result_count; i++) {
    const HloInstruction *leaf = root->opcode == HLO_TUPLE ? root->operands[i] : root;
    int64_t found = -1;
    if (!int_map_find(&values, (uint64_t)leaf->id, &found)) XLAC_BUG("region without its root");
    out_results[i] = (int32_t)found;
  }
  return STATUS_OK;
}
