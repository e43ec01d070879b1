#include "hlo/infer/infer_internal.h"

typedef struct InferRow {
  InferRule *rule;
  const char *code;
} InferRow;

static const InferRow rows[HLO_OPCODE_COUNT] = {
#define HLO_OP(id, text, min, max, traits, access, cost, flow, infer, eval, emit, lanes, attributes) \
  [HLO_##id] = {infer_##infer, "infer-" text},
#include "hlo/ir/hlo_opcode.def"
#undef HLO_OP
};

static Status report(const InferContext *context, SourceLoc loc, const char *format, va_list arguments) {
  const char *message = arena_vprintf(context->scratch, format, arguments);
  HloOpcode opcode = context->instruction->opcode;
  return diag_error(context->diag, STATUS_INVALID, loc, rows[opcode].code, "'%s' %s", hlo_opcode_text(opcode), message);
}

Status infer_error(const InferContext *context, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Status status = report(context, context->instruction->loc, format, arguments);
  va_end(arguments);
  return status;
}

Status infer_attr_error(const InferContext *context, HloAttrId id, const char *format, ...) {
  const HloAttr *attr = hlo_instruction_attr(context->instruction, id);
  SourceLoc loc = attr != NULL && attr->loc.line != 0 ? attr->loc : context->instruction->loc;
  va_list arguments;
  va_start(arguments, format);
  Status status = report(context, loc, format, arguments);
  va_end(arguments);
  return status;
}

static Status check_operand_count(const InferContext *context, const HloOpcodeInfo *info) {
  int count = context->instruction->operand_count;
  if (count >= info->min_operands && (info->max_operands == VARIADIC || count <= info->max_operands)) return STATUS_OK;
  const char *bound = info->max_operands == VARIADIC            ? "at least "
                      : info->max_operands > info->min_operands ? "up to "
                                                                : "";
  int wanted = info->max_operands > info->min_operands ? info->max_operands : info->min_operands;
  return infer_error(context, "takes %s%d operand%s, got %d", bound, wanted, plural_ending(wanted), count);
}

static Status check_row(const InferContext *context, const HloOpcodeInfo *info) {
  const HloInstruction *instruction = context->instruction;
  RETURN_IF_ERROR(check_operand_count(context, info));
  for (int i = 0; i < instruction->operand_count; i++) {
    if (instruction->operands[i] == NULL || instruction->operands[i]->shape == NULL) {
      return infer_error(context, "has no shape for operand %d", i);
    }
  }
  for (int i = 0; i < info->attr_count; i++) {
    HloAttrId id = info->attrs[i].id;
    if (info->attrs[i].required && hlo_instruction_attr(instruction, id) == NULL) {
      return infer_error(context, "needs attribute '%s'", hlo_attr_info(id)->text);
    }
  }
  return STATUS_OK;
}

Status hlo_infer_shape(const HloInstruction *instruction, ShapeTable *shapes, Arena *scratch, DiagSink *diag,
                       const Shape **out_shape) {
  XLAC_CHECK((unsigned)instruction->opcode < HLO_OPCODE_COUNT);
  InferContext context = {instruction, shapes, scratch, diag};
  RETURN_IF_ERROR(check_row(&context, hlo_opcode_info(instruction->opcode)));
  return rows[instruction->opcode].rule(&context, out_shape);
}
