/* Which attributes of an instruction say something. */
#include "hlo/ir/hlo_instruction.h"

/* Integers and words that mean what absence means. */
static const struct {
  HloAttrId id;
  int64_t value;
} integer_defaults[] = {
    {HLO_ATTR_API_VERSION, CUSTOM_CALL_API_VERSION_ORIGINAL},
    {HLO_ATTR_BATCH_GROUP_COUNT, 1},
    {HLO_ATTR_CONVOLUTION_KIND, CONVOLUTION_KIND_UNSET},
    {HLO_ATTR_DOT_ALGORITHM, DOT_ALGORITHM_UNSET},
    {HLO_ATTR_FEATURE_GROUP_COUNT, 1},
    {HLO_ATTR_INFERRED_DIMENSION, -1},
    {HLO_ATTR_PADDING_TYPE, PADDING_TYPE_INVALID},
    {HLO_ATTR_SCHEDULE, CUSTOM_CALL_SCHEDULE_NONE},
};

static bool is_default_integer(const HloInstruction *instruction, const HloAttr *attr) {
  for (size_t i = 0; i < sizeof(integer_defaults) / sizeof(integer_defaults[0]); i++) {
    if (integer_defaults[i].id == attr->id) return integer_defaults[i].value == attr->value.integer;
  }
  if (attr->id != HLO_ATTR_COMPARISON_TYPE || instruction->operand_count == 0) return false;
  PrimitiveType type = instruction->operands[0]->shape->type;
  ComparisonType natural = type_is_float(type) || type_is_complex(type) ? COMPARISON_TYPE_FLOAT
                           : type_is_signed(type)                       ? COMPARISON_TYPE_SIGNED
                                                                        : COMPARISON_TYPE_UNSIGNED;
  return attr->value.integer == (int64_t)natural;
}

static bool is_required(HloOpcode opcode, HloAttrId id) {
  const HloOpcodeInfo *info = hlo_opcode_info(opcode);
  for (int i = 0; i < info->attr_count; i++) {
    if (info->attrs[i].id == id) return info->attrs[i].required;
  }
  return false;
}

static bool is_default_list(const HloInstruction *instruction, const HloAttr *attr) {
  Int64List list = attr->value.ints;
  if (attr->id == HLO_ATTR_OPERAND_PRECISION || list.count == 0) {
    for (int64_t i = 0; i < list.count; i++) {
      if (list.data[i] != OPERAND_PRECISION_DEFAULT) return false;
    }
    return true;
  }
  if (attr->id != HLO_ATTR_DIMENSIONS || instruction->opcode != HLO_MAP) return false;
  /* map's dimensions can be nothing but all of them */
  bool all = instruction->operand_count > 0 && list.count == instruction->operands[0]->shape->rank;
  for (int64_t i = 0; i < list.count && all; i++) all = list.data[i] == i;
  return all;
}

bool hlo_instruction_attr_is_default(const HloInstruction *instruction, const HloAttr *attr) {
  /* Read and forgotten by XLA. */
  if (attr->id == HLO_ATTR_COLLECTIVE_MODE) return true;
  if (attr->id == HLO_ATTR_DIMENSIONS && instruction->opcode == HLO_RAGGED_ALL_TO_ALL) return true;
  if (is_required(instruction->opcode, attr->id)) return false;
  switch (hlo_attr_info(attr->id)->kind) {
    case HLO_ATTR_KIND_BOOL: return attr->value.boolean == (attr->id == HLO_ATTR_LARGEST);
    case HLO_ATTR_KIND_INT64:
    case HLO_ATTR_KIND_ENUM: return is_default_integer(instruction, attr);
    case HLO_ATTR_KIND_STRING:
    case HLO_ATTR_KIND_BACKEND_CONFIG: return attr->value.text.size == 0;
    case HLO_ATTR_KIND_INT64_LIST:
    case HLO_ATTR_KIND_PRECISION_LIST: return is_default_list(instruction, attr);
    case HLO_ATTR_KIND_INT64_LISTS: return attr->value.int_lists.count == 0;
    case HLO_ATTR_KIND_COMPUTATION_LIST: return attr->value.computations.count == 0;
    case HLO_ATTR_KIND_INSTRUCTION_LIST: return attr->value.instructions.count == 0;
    case HLO_ATTR_KIND_SHAPE: /* outfeed_shape */
      return instruction->operand_count > 0 && attr->value.shape == instruction->operands[0]->shape;
    case HLO_ATTR_KIND_WINDOW: return attr->value.window->rank == 0 && instruction->opcode != HLO_CUSTOM_CALL;
    case HLO_ATTR_KIND_REPLICA_GROUPS:
      return attr->value.replica_groups->form == REPLICA_GROUPS_LISTS && attr->value.replica_groups->group_count == 0;
    case HLO_ATTR_KIND_ALIASING: return attr->value.aliasing.count == 0;
    case HLO_ATTR_KIND_RESULT_ACCURACY:
      return !attr->value.accuracy->has_tolerance && attr->value.accuracy->mode == RESULT_ACCURACY_MODE_DEFAULT;
    case HLO_ATTR_KIND_FRONTEND_ATTRIBUTES: return attr->value.frontend.count == 0;
    case HLO_ATTR_KIND_STATISTICS: return attr->value.statistics.count == 0;
    default: return false;
  }
}

static bool counts(const HloInstruction *instruction, const HloAttr *attr) {
  return attr->id != HLO_ATTR_METADATA && !hlo_instruction_attr_is_default(instruction, attr);
}

bool hlo_instruction_same_attrs(const HloInstruction *a, const HloInstruction *b, const HloAttrEquality *equality) {
  int surplus = 0;
  for (int i = 0; i < b->attr_count; i++) surplus += counts(b, &b->attrs[i]);
  for (int i = 0; i < a->attr_count; i++) {
    const HloAttr *attr = &a->attrs[i];
    if (!counts(a, attr)) continue;
    const HloAttr *other = hlo_instruction_attr(b, attr->id);
    if (!other || !counts(b, other) || !hlo_attr_equal(attr, other, equality)) return false;
    surplus--;
  }
  return surplus == 0;
}

uint64_t hlo_instruction_attrs_hash(const HloInstruction *instruction) {
  uint64_t sum = 0; /* does not depend on the order */
  for (int i = 0; i < instruction->attr_count; i++) {
    if (counts(instruction, &instruction->attrs[i])) sum += hlo_attr_hash(&instruction->attrs[i]);
  }
  return sum;
}
