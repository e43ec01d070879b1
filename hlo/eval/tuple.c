/* Values that are others': tuples, parameters, tokens. */
#include "hlo/eval/eval_internal.h"

Status eval_parameter(EvalStep *step) {
  eval_forward_value(step, step->frame->arguments[hlo_instruction_parameter_number(step->instruction)]);
  return STATUS_OK;
}

Status eval_forward(EvalStep *step) {
  eval_forward_value(step, eval_operand(step, 0));
  return STATUS_OK;
}

Status eval_token(EvalStep *step) {
  (void)step; /* a token has no value */
  return STATUS_OK;
}

Status eval_tuple(EvalStep *step) {
  Literal *out = eval_tuple_result(step);
  for (int i = 0; i < step->instruction->shape->tuple_size; i++) out->tuple[i] = *eval_operand(step, i);
  return STATUS_OK;
}

Status eval_get_tuple_element(EvalStep *step) {
  eval_forward_value(step, &eval_operand(step, 0)->tuple[hlo_instruction_int(step->instruction, HLO_ATTR_INDEX, 0)]);
  return STATUS_OK;
}

Status eval_first_element(EvalStep *step) {
  eval_forward_value(step, &eval_operand(step, 0)->tuple[0]);
  return STATUS_OK;
}

Status eval_second_element(EvalStep *step) {
  eval_forward_value(step, &eval_operand(step, 0)->tuple[1]);
  return STATUS_OK;
}
