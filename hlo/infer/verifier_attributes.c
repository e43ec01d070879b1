/* Attributes that inference has no use for. */
#include <string.h>

#include "hlo/infer/verifier_internal.h"
#include "hlo/ir/custom_call.h"

static int name_size(const HloInstruction *instruction) {
  return instruction->name.size > 200 ? 200 : (int)instruction->name.size;
}
#define NAME(instruction) name_size(instruction), (instruction)->name.data

/* --- constants --- */

static bool is_elided(const Literal *literal) {
  if (literal->elided) return true;
  for (int i = 0; i < literal->shape->tuple_size && literal->tuple != NULL; i++) {
    if (is_elided(&literal->tuple[i])) return true;
  }
  return false;
}

static void verify_constant(Verifier *verifier, const HloInstruction *instruction) {
  const Literal *literal = hlo_instruction_literal(instruction);
  if (literal == NULL || !is_elided(literal)) return;
  verify_error(verifier, instruction->loc, "verify-elided-constant",
               "the value of constant '%.*s' was left out of the dump ({...}): dump with "
               "XLA_FLAGS=--xla_dump_large_constants, or print "
               "with HloPrintOptions.print_large_constants",
               NAME(instruction));
}

/* --- compare --- */

static void verify_compare(Verifier *verifier, const HloInstruction *instruction) {
  if (hlo_instruction_attr(instruction, HLO_ATTR_COMPARISON_TYPE) == NULL) return;
  int64_t type = hlo_instruction_int(instruction, HLO_ATTR_COMPARISON_TYPE, 0);
  PrimitiveType element = instruction->operands[0]->shape->type;
  bool is_float = type_is_float(element) || type_is_complex(element);
  bool fits = type == COMPARISON_TYPE_SIGNED     ? type_is_signed(element)
              : type == COMPARISON_TYPE_UNSIGNED ? type_is_unsigned(element) || element == TYPE_PRED
                                                 : is_float;
  if (fits) return;
  verify_attr_error(verifier, instruction, HLO_ATTR_COMPARISON_TYPE, "verify-compare",
                    "type %s does not suit elements of %s", hlo_enum_text(HLO_ENUM_COMPARISON_TYPE, type),
                    type_text(element));
}

/* --- composite calls --- */

static bool is_number(StringView text) {
  if (text.size == 0 || text.size > 18) return false;
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') return false;
  }
  return true;
}

static void verify_call(Verifier *verifier, const HloInstruction *instruction) {
  if (!hlo_instruction_bool(instruction, HLO_ATTR_IS_COMPOSITE, false)) return;
  const FrontendAttribute *name = hlo_instruction_frontend(instruction, "composite.name");
  const FrontendAttribute *attributes = hlo_instruction_frontend(instruction, "composite.attributes");
  const FrontendAttribute *version = hlo_instruction_frontend(instruction, "composite.version");
  const char *mistake = NULL;
  if (name == NULL || name->value.size == 0)
    mistake = "needs a frontend attribute 'composite.name'";
  else if (attributes != NULL && !attributes->is_dictionary && !hlo_text_is_dictionary(attributes->value))
    mistake = "needs a dictionary as 'composite.attributes'";
  else if (version != NULL && !is_number(version->value))
    mistake = "needs a number as 'composite.version'";
  if (mistake != NULL)
    verify_error(verifier, instruction->loc, "verify-composite", "composite call '%.*s' %s", NAME(instruction),
                 mistake);
}

/* --- custom calls --- */

static void verify_seed_call(Verifier *verifier, const HloInstruction *instruction) {
  if (!custom_call_calls(instruction, "GetRngSeed")) return;
  if (instruction->operand_count == 0 && instruction->shape->type == TYPE_U64 && shape_is_scalar(instruction->shape))
    return;
  verify_error(verifier, instruction->loc, "verify-seed",
               "'GetRngSeed' takes nothing and makes u64[], not %s of %d operands",
               verify_text(verifier, instruction->shape), instruction->operand_count);
}

static void verify_custom_call(Verifier *verifier, const HloInstruction *instruction) {
  verify_seed_call(verifier, instruction);
  const HloAttr *constraints = hlo_instruction_attr(instruction, HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS);
  if (constraints == NULL) return;
  const char *code = "verify-layout-constraint";
  HloAttrId id = HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS;
  if (constraints->value.shapes.count != instruction->operand_count) {
    verify_attr_error(verifier, instruction, id, code, "'%.*s' has %d operands and %lld layout constraints",
                      NAME(instruction), instruction->operand_count, (long long)constraints->value.shapes.count);
    return;
  }
  for (int i = 0; i < instruction->operand_count; i++) {
    const Shape *constraint = constraints->value.shapes.data[i], *operand = instruction->operands[i]->shape;
    if (!(verify_shape(verifier, constraint, instruction->loc) & SHAPE_IS_VALID) ||
        shape_compatible(constraint, operand))
      continue;
    verify_attr_error(verifier, instruction, id, code, "layout constraint %d is for %s, the operand is %s", i,
                      verify_text(verifier, constraint), verify_text(verifier, operand));
  }
}

/* --- parameters --- */

static void verify_parameter(Verifier *verifier, const HloInstruction *instruction) {
  const HloAttr *replication = hlo_instruction_attr(instruction, HLO_ATTR_PARAMETER_REPLICATION);
  if (replication == NULL || replication->value.bools.count == shape_leaf_count(instruction->shape)) return;
  verify_attr_error(verifier, instruction, HLO_ATTR_PARAMETER_REPLICATION, "verify-replication",
                    "'parameter_replication' has %lld entries for %d leaves", (long long)replication->value.bools.count,
                    shape_leaf_count(instruction->shape));
}

/* --- attributes of several opcodes --- */

static void verify_accuracy(Verifier *verifier, const HloInstruction *instruction, const HloAttr *attr) {
  const ResultAccuracy *accuracy = attr->value.accuracy;
  if (!accuracy->has_tolerance || (accuracy->atol >= 0 && accuracy->rtol >= 0 && accuracy->ulps >= 0)) return;
  verify_attr_error(verifier, instruction, attr->id, "verify-accuracy", "tolerances of '%.*s' must not be negative",
                    NAME(instruction));
}

static void verify_output_aliasing(Verifier *verifier, const HloInstruction *instruction, const HloAttr *attr) {
  for (int64_t i = 0; i < attr->value.aliasing.count; i++) {
    const OperandAlias *alias = &attr->value.aliasing.data[i];
    const Shape *output = shape_at(instruction->shape, alias->output), *input = NULL;
    if (alias->operand >= 0 && alias->operand < instruction->operand_count) {
      input = shape_at(instruction->operands[alias->operand]->shape, alias->operand_index);
    }
    if (verify_pins(instruction)) {
      output = output == NULL ? NULL : shape_in_buffer(output);
      input = input == NULL ? NULL : shape_in_buffer(input);
    }
    if (output == NULL || input == NULL) {
      verify_attr_error(verifier, instruction, attr->id, "verify-output-alias",
                        "entry %lld of '%s' names no part of the %s", (long long)i, hlo_attr_info(attr->id)->text,
                        output == NULL ? "result" : "operands");
    } else if (!shape_compatible(output, input)) {
      verify_attr_error(verifier, instruction, attr->id, "verify-output-alias",
                        "entry %lld of '%s' puts %s in the place of %s", (long long)i, hlo_attr_info(attr->id)->text,
                        verify_text(verifier, output), verify_text(verifier, input));
    }
  }
}

static void verify_operand_precision(Verifier *verifier, const HloInstruction *instruction, const HloAttr *attr) {
  int64_t count = attr->value.ints.count;
  if (count == 0 || instruction->opcode == HLO_CUSTOM_CALL || count == instruction->operand_count || count == 2) return;
  verify_attr_error(verifier, instruction, attr->id, "verify-operand-precision",
                    "'operand_precision' has %lld entries for %d operands", (long long)count,
                    instruction->operand_count);
}

static void verify_misplaced_replication(Verifier *verifier, const HloInstruction *instruction, const HloAttr *attr) {
  if (instruction->opcode == HLO_PARAMETER) return;
  verify_attr_error(verifier, instruction, attr->id, "verify-replication",
                    "'parameter_replication' is for parameters only");
}

static bool origin_fits(const OriginNode *node, const Shape *shape) {
  if (node->is_tuple != shape_is_tuple(shape)) return false;
  if (!node->is_tuple) return true;
  bool fits = node->tuple_count == shape->tuple_size;
  for (int i = 0; fits && i < shape->tuple_size; i++) fits = origin_fits(&node->tuple[i], shape->tuple[i]);
  return fits;
}

static void verify_origin(Verifier *verifier, const HloInstruction *instruction, const HloAttr *attr) {
  const HloOrigin *origin = attr->value.origin;
  if (origin->synthetic_call || origin_fits(&origin->root, instruction->shape)) return;
  verify_attr_error(verifier, instruction, attr->id, "verify-origin", "'origin' has another structure than %s",
                    verify_text(verifier, instruction->shape));
}

typedef void AttributeRule(Verifier *verifier, const HloInstruction *instruction, const HloAttr *attr);
typedef void InstructionRule(Verifier *verifier, const HloInstruction *instruction);

static AttributeRule *const attribute_rules[HLO_ATTR_COUNT] = {
    [HLO_ATTR_ORIGIN] = verify_origin,
    [HLO_ATTR_RESULT_ACCURACY] = verify_accuracy,
    [HLO_ATTR_OUTPUT_TO_OPERAND_ALIASING] = verify_output_aliasing,
    [HLO_ATTR_OPERAND_PRECISION] = verify_operand_precision,
    [HLO_ATTR_PARAMETER_REPLICATION] = verify_misplaced_replication,
};

static InstructionRule *const instruction_rules[HLO_OPCODE_COUNT] = {
    [HLO_CONSTANT] = verify_constant,       [HLO_COMPARE] = verify_compare,     [HLO_CALL] = verify_call,
    [HLO_CUSTOM_CALL] = verify_custom_call, [HLO_PARAMETER] = verify_parameter,
};

void verify_attributes(Verifier *verifier, const HloInstruction *instruction) {
  if (instruction_rules[instruction->opcode] != NULL) instruction_rules[instruction->opcode](verifier, instruction);
  for (int i = 0; i < instruction->attr_count; i++) {
    const HloAttr *attr = &instruction->attrs[i];
    if (attribute_rules[attr->id] != NULL) attribute_rules[attr->id](verifier, instruction, attr);
  }
}
