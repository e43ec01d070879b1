/* What XLA's parser itself checks of operands and attributes; everything else is the verifier's. */
#include "base/checked_math.h"
#include "parser/parser_internal.h"

typedef Status Rule(Parser *parser, InstructionDraft *draft);

static int64_t operand_count(const InstructionDraft *draft) {
  return draft->operands.count;
}
static const Shape *operand_shape(const InstructionDraft *draft, int64_t i) {
  return draft->operands.data[i]->shape;
}

static Status count_error(Parser *parser, const InstructionDraft *draft, const char *wanted) {
  return parse_error(parser, draft->operands_loc, "parse-operand-count", "'%.*s' takes %s, found %lld",
                     SV_ARG(draft->opcode_text), wanted, (long long)operand_count(draft));
}

Status check_operand_count(Parser *parser, const InstructionDraft *draft) {
  const HloOpcodeInfo *info = hlo_opcode_info(draft_attribute_opcode(draft));
  int64_t count = operand_count(draft);
  if (draft->opcode == HLO_PARAMETER || draft->opcode == HLO_CONSTANT) return STATUS_OK;
  if (count >= info->min_operands && (info->max_operands == VARIADIC || count <= info->max_operands)) return STATUS_OK;
  bool exact = info->max_operands == info->min_operands;
  return count_error(parser, draft,
                     arena_printf(parser->scratch, "%s%d operand%s", exact ? "" : "at least ", info->min_operands,
                                  plural_ending(info->min_operands)));
}

/* --- per opcode --- */

static Status check_even(Parser *parser, InstructionDraft *draft) {
  return operand_count(draft) % 2 == 0 ? STATUS_OK : count_error(parser, draft, "an even number of operands");
}

static Status check_odd(Parser *parser, InstructionDraft *draft) {
  return operand_count(draft) % 2 == 1 ? STATUS_OK : count_error(parser, draft, "an odd number of operands");
}

static Status check_one_dimension(Parser *parser, InstructionDraft *draft) {
  const HloAttr *attr = draft_attr(draft, HLO_ATTR_DIMENSIONS);
  if (!attr || attr->value.ints.count == 1) return STATUS_OK;
  return parse_error(parser, attr->loc, "parse-attribute-value",
                     "'dimensions' of '%.*s' names one dimension, found %lld", SV_ARG(draft->opcode_text),
                     (long long)attr->value.ints.count);
}

static Status check_all_to_all(Parser *parser, InstructionDraft *draft) {
  RETURN_IF_ERROR(check_one_dimension(parser, draft));
  if (!draft_attr(draft, HLO_ATTR_DIMENSIONS) || operand_count(draft) == 1) return STATUS_OK;
  return count_error(parser, draft, "one operand when 'dimensions' is given");
}

static Status check_parameter(Parser *parser, InstructionDraft *draft) {
  const HloAttr *attr = draft_attr(draft, HLO_ATTR_PARAMETER_NUMBER);
  int64_t number = attr->value.integer;
  if (number < 0 || number > INT32_MAX) {
    return parse_error(parser, attr->loc, "parse-parameter", "%lld is not a parameter number", (long long)number);
  }
  HloInstruction *before = hlo_computation_parameter(parser->scope->computation, number);
  if (!before) return STATUS_OK;
  Status status =
      parse_error(parser, attr->loc, "parse-parameter", "parameter number %lld is given twice", (long long)number);
  parse_note(parser, before->loc, "'%.*s' has it", SV_ARG(before->name));
  return status;
}

static Status check_constant(Parser *parser, InstructionDraft *draft) {
  const Shape *shape = draft->shape;
  if (!shape_is_array(shape)) return STATUS_OK;
  bool *seen = ARENA_NEW_ARRAY(parser->scratch, bool, shape->rank + 1);
  for (int i = 0; i < shape->layout.rank; i++) {
    int64_t dimension = shape->layout.minor_to_major[i];
    if (dimension >= 0 && dimension < shape->rank && !seen[dimension]) {
      seen[dimension] = true;
      continue;
    }
    return parse_error(parser, draft->shape_loc, "parse-layout",
                       "the layout of a constant is not a permutation of its dimensions");
  }
  return STATUS_OK;
}

static Status check_broadcast(Parser *parser, InstructionDraft *draft) {
  if (draft_attr(draft, HLO_ATTR_DIMENSIONS)) return STATUS_OK;
  if (!shape_is_scalar(operand_shape(draft, 0))) {
    return parse_error(parser, draft->opcode_loc, "parse-missing-attribute",
                       "'broadcast' of an array needs attribute 'dimensions'");
  }
  HloAttr none = {.id = HLO_ATTR_DIMENSIONS, .loc = draft->opcode_loc};
  draft_set_attr(parser, draft, &none);
  return STATUS_OK;
}

static Status check_tuple(Parser *parser, InstructionDraft *draft) {
  if (!draft->shape) return STATUS_OK;
  if (draft->shape->type != TYPE_TUPLE)
    return parse_error(parser, draft->shape_loc, "parse-shape", "the shape of 'tuple' is not a tuple");
  if (draft->shape->tuple_size == operand_count(draft)) return STATUS_OK;
  return count_error(parser, draft,
                     arena_printf(parser->scratch, "%d operands for its shape", draft->shape->tuple_size));
}

/* Start indices: one scalar per dimension, or a vector of all. */
static Status check_start_indices(Parser *parser, InstructionDraft *draft, int arrays) {
  int64_t indices = operand_count(draft) - arrays;
  int rank = shape_in_buffer(operand_shape(draft, 0))->rank;
  if (indices == rank || (indices == 1 && operand_shape(draft, arrays)->rank == 1)) return STATUS_OK;
  return count_error(
      parser, draft,
      arena_printf(parser->scratch, "%d operand%s and %d start indices", arrays, plural_ending(arrays), rank));
}

static Status check_dynamic_slice(Parser *parser, InstructionDraft *draft) {
  return check_start_indices(parser, draft, 1);
}
static Status check_dynamic_update_slice(Parser *parser, InstructionDraft *draft) {
  return check_start_indices(parser, draft, 2);
}

static Status check_dynamic_reshape(Parser *parser, InstructionDraft *draft) {
  if (!draft->shape || operand_count(draft) == 1 + draft->shape->rank) return STATUS_OK;
  return count_error(parser, draft, arena_printf(parser->scratch, "an operand and %d sizes", draft->shape->rank));
}

static Status check_conditional(Parser *parser, InstructionDraft *draft) {
  static const HloAttrId two[] = {HLO_ATTR_TRUE_COMPUTATION, HLO_ATTR_FALSE_COMPUTATION};
  const Shape *selector = operand_shape(draft, 0);
  const HloAttr *branches = draft_attr(draft, HLO_ATTR_BRANCH_COMPUTATIONS);
  bool by_pred = shape_is_scalar(selector) && selector->type == TYPE_PRED;
  bool by_index = shape_is_scalar(selector) && selector->type == TYPE_S32;
  if (!by_pred && !by_index) {
    StringView shape = shape_text(parser->scratch, selector, false);
    return parse_error(parser, draft->operands_loc, "parse-operand-shape",
                       "'conditional' branches on pred[] or s32[], not %.*s", SV_ARG(shape));
  }
  for (int i = 0; i < 2; i++) {
    const HloAttr *attr = draft_attr(draft, two[i]);
    if (by_pred && !attr) {
      return parse_error(parser, draft->opcode_loc, "parse-missing-attribute",
                         "'conditional' on pred[] needs attribute '%s'", hlo_attr_info(two[i])->text);
    }
    if (by_index && attr) {
      return parse_error(parser, attr->loc, "parse-attribute", "'conditional' on s32[] has no attribute '%s'",
                         hlo_attr_info(two[i])->text);
    }
  }
  if (by_pred && branches) {
    return parse_error(parser, branches->loc, "parse-attribute",
                       "'conditional' on pred[] has no attribute 'branch_computations'");
  }
  if (by_index && (!branches || branches->value.computations.count == 0)) {
    return parse_error(parser, draft->opcode_loc, "parse-missing-attribute",
                       "'conditional' on s32[] needs attribute 'branch_computations'");
  }
  int64_t count = by_pred ? 2 : branches->value.computations.count;
  if (operand_count(draft) == 1 + count) return STATUS_OK;
  return count_error(parser, draft,
                     arena_printf(parser->scratch, "%lld operands, one and one per branch", (long long)(1 + count)));
}

static Status check_infeed(Parser *parser, InstructionDraft *draft) {
  if (!draft->shape || (draft->shape->type == TYPE_TUPLE && draft->shape->tuple_size > 0)) return STATUS_OK;
  return parse_error(parser, draft->shape_loc, "parse-shape",
                     "the shape of 'infeed' has to be a tuple that is not empty");
}

/* The shape follows from the data, whatever the text says. */
static Status check_send(Parser *parser, InstructionDraft *draft) {
  if (!draft->shape) return STATUS_OK;
  const Shape *elements[] = {operand_shape(draft, 0), shape_scalar(parser->shapes, TYPE_U32),
                             shape_token(parser->shapes)};
  draft->shape = shape_tuple(parser->shapes, elements, 3);
  return STATUS_OK;
}

static Status check_recv(Parser *parser, InstructionDraft *draft) {
  if (!draft->shape || (draft->shape->type == TYPE_TUPLE && draft->shape->tuple_size > 0)) return STATUS_OK;
  return parse_error(parser, draft->shape_loc, "parse-shape", "the shape of 'recv' has to be (data, u32[], token[])");
}

static Status check_channel_done(Parser *parser, InstructionDraft *draft) {
  const HloInstruction *start = draft->operands.data[0];
  if (start->opcode != HLO_SEND && start->opcode != HLO_RECV) return STATUS_OK;
  const HloAttr *own = draft_attr(draft, HLO_ATTR_CHANNEL_ID),
                *other = hlo_instruction_attr(start, HLO_ATTR_CHANNEL_ID);
  if (!own == !other && (!own || own->value.integer == other->value.integer)) return STATUS_OK;
  Status status = parse_error(parser, own ? own->loc : draft->opcode_loc, "parse-attribute-value",
                              "'channel_id' of '%.*s' differs from that of '%.*s'", SV_ARG(draft->opcode_text),
                              SV_ARG(start->name));
  parse_note(parser, other ? other->loc : start->loc, "'%.*s' is here", SV_ARG(start->name));
  return status;
}

/* The shapes of ends follow from the data too. */
static Status check_send_done(Parser *parser, InstructionDraft *draft) {
  if (draft->shape) draft->shape = shape_token(parser->shapes);
  return check_channel_done(parser, draft);
}

static Status check_recv_done(Parser *parser, InstructionDraft *draft) {
  const Shape *context = operand_shape(draft, 0);
  if (draft->shape && context->type == TYPE_TUPLE && context->tuple_size > 0) {
    const Shape *elements[] = {context->tuple[0], shape_token(parser->shapes)};
    draft->shape = shape_tuple(parser->shapes, elements, 2);
  }
  return check_channel_done(parser, draft);
}

static Status check_global_ids(Parser *parser, InstructionDraft *draft) {
  const HloAttr *global = draft_attr(draft, HLO_ATTR_USE_GLOBAL_DEVICE_IDS);
  if (!global || !global->value.boolean || draft_attr(draft, HLO_ATTR_CHANNEL_ID)) return STATUS_OK;
  return parse_error(parser, global->loc, "parse-attribute-value", "'use_global_device_ids' needs 'channel_id' too");
}

static Status check_reduce_scatter(Parser *parser, InstructionDraft *draft) {
  RETURN_IF_ERROR(check_one_dimension(parser, draft));
  return check_global_ids(parser, draft);
}

static Status check_permute(Parser *parser, InstructionDraft *draft) {
  const HloAttr *pairs = draft_attr(draft, HLO_ATTR_SOURCE_TARGET_PAIRS);
  for (int64_t i = 0; i < pairs->value.int_lists.count; i++) {
    if (pairs->value.int_lists.data[i].count == 2) continue;
    return parse_error(parser, pairs->loc, "parse-attribute-value",
                       "'source_target_pairs' takes pairs of numbers only");
  }
  if (!draft_attr(draft, HLO_ATTR_PERMUTE_SLICE_SIZES) || operand_count(draft) == 4) return STATUS_OK;
  return count_error(parser, draft, "4 operands when 'slice_sizes' is given");
}

static Status check_scan(Parser *parser, InstructionDraft *draft) {
  RETURN_IF_ERROR(check_one_dimension(parser, draft));
  int64_t wanted = draft_attr(draft, HLO_ATTR_TO_APPLY)->value.computation->parameters.count;
  if (operand_count(draft) == wanted) return STATUS_OK;
  return count_error(
      parser, draft,
      arena_printf(parser->scratch, "%lld operands, as many as 'to_apply' has parameters", (long long)wanted));
}

static Status check_custom_call(Parser *parser, InstructionDraft *draft) {
  const HloAttr *called = draft_attr(draft, HLO_ATTR_CALLED_COMPUTATIONS);
  if (called && draft_attr(draft, HLO_ATTR_TO_APPLY)) {
    return parse_error(parser, called->loc, "parse-attribute",
                       "'to_apply' and 'called_computations' exclude each other");
  }
  const HloAttr *layouts = draft_attr(draft, HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS);
  if (!layouts) return STATUS_OK;
  if (layouts->value.shapes.count != operand_count(draft)) {
    return parse_error(parser, layouts->loc, "parse-attribute-value", "%lld operand layouts for %lld operands",
                       (long long)layouts->value.shapes.count, (long long)operand_count(draft));
  }
  for (int64_t i = 0; i < operand_count(draft); i++) {
    const Shape *wanted = layouts->value.shapes.data[i], *real = operand_shape(draft, i);
    if (shape_compatible(wanted, real)) continue;
    StringView wanted_text = shape_text(parser->scratch, wanted, false),
               real_text = shape_text(parser->scratch, real, false);
    return parse_error(parser, layouts->loc, "parse-attribute-value",
                       "the layout for operand %lld is of %.*s, the operand is %.*s", (long long)i, SV_ARG(wanted_text),
                       SV_ARG(real_text));
  }
  return STATUS_OK;
}

static Rule *const rules[HLO_OPCODE_COUNT] = {
    [HLO_ALL_GATHER] = check_one_dimension,
    [HLO_ALL_GATHER_START] = check_one_dimension,
    [HLO_ALL_REDUCE] = check_global_ids,
    [HLO_ALL_REDUCE_START] = check_global_ids,
    [HLO_ALL_TO_ALL] = check_all_to_all,
    [HLO_BROADCAST] = check_broadcast,
    [HLO_COLLECTIVE_PERMUTE] = check_permute,
    [HLO_COLLECTIVE_PERMUTE_START] = check_permute,
    [HLO_CONCATENATE] = check_one_dimension,
    [HLO_CONDITIONAL] = check_conditional,
    [HLO_CONSTANT] = check_constant,
    [HLO_CUSTOM_CALL] = check_custom_call,
    [HLO_DYNAMIC_RESHAPE] = check_dynamic_reshape,
    [HLO_DYNAMIC_SLICE] = check_dynamic_slice,
    [HLO_DYNAMIC_UPDATE_SLICE] = check_dynamic_update_slice,
    [HLO_GET_DIMENSION_SIZE] = check_one_dimension,
    [HLO_INFEED] = check_infeed,
    [HLO_PARAMETER] = check_parameter,
    [HLO_RECV] = check_recv,
    [HLO_RECV_DONE] = check_recv_done,
    [HLO_REDUCE] = check_even,
    [HLO_REDUCE_SCATTER] = check_reduce_scatter,
    [HLO_REDUCE_WINDOW] = check_even,
    [HLO_SCAN] = check_scan,
    [HLO_SCATTER] = check_odd,
    [HLO_SEND] = check_send,
    [HLO_SEND_DONE] = check_send_done,
    [HLO_SET_DIMENSION_SIZE] = check_one_dimension,
    [HLO_SORT] = check_one_dimension,
    [HLO_TUPLE] = check_tuple,
};

Status check_common_attributes(Parser *parser, const InstructionDraft *draft) {
  const HloAttr *attr = draft_attr(draft, HLO_ATTR_PARAMETER_REPLICATION);
  if (!attr) return STATUS_OK;
  if (draft->opcode != HLO_PARAMETER) {
    return parse_error(parser, attr->loc, "parse-attribute", "'parameter_replication' is for parameters");
  }
  int64_t leaves = draft->shape ? shape_leaf_count(draft->shape) : 0;
  if (attr->value.bools.count == leaves) return STATUS_OK;
  return parse_error(parser, attr->loc, "parse-attribute-value",
                     "'parameter_replication' has %lld entries for %lld arrays", (long long)attr->value.bools.count,
                     (long long)leaves);
}

Status check_instruction(Parser *parser, InstructionDraft *draft) {
  RETURN_IF_ERROR(check_common_attributes(parser, draft));
  Rule *rule = rules[draft->opcode];
  return rule ? rule(parser, draft) : STATUS_OK;
}
