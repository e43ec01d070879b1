/* Calls of whole computations: call, fusion, while, conditional. */
#include "hlo/infer/infer_internal.h"

/* One parameter for each operand from |first| on. */
static Status check_arguments(const InferContext *context, HloAttrId id, const HloComputation *callee, int first,
                              int count) {
  RETURN_IF_ERROR(infer_check_callee(context, id, callee, count));
  for (int i = 0; i < count; i++) {
    const Shape *argument = infer_operand(context, first + i);
    if (shape_compatible(callee->parameters.data[i]->shape, argument)) continue;
    return infer_callee_parameter_mismatch(context, id, callee, i, argument);
  }
  return STATUS_OK;
}

Status infer_call(const InferContext *context, const Shape **out_shape) {
  const HloComputation *callee;
  RETURN_IF_ERROR(infer_callee(context, HLO_ATTR_TO_APPLY, &callee));
  RETURN_IF_ERROR(check_arguments(context, HLO_ATTR_TO_APPLY, callee, 0, context->instruction->operand_count));
  *out_shape = callee->root->shape;
  return STATUS_OK;
}

/* The last operands may be ones that the computation does not take. */
Status infer_fusion(const InferContext *context, const Shape **out_shape) {
  const HloComputation *callee;
  RETURN_IF_ERROR(infer_callee(context, HLO_ATTR_CALLS, &callee));
  int operands = context->instruction->operand_count, wanted = (int)callee->parameters.count;
  if (operands < wanted) wanted = operands;
  RETURN_IF_ERROR(check_arguments(context, HLO_ATTR_CALLS, callee, 0, wanted));
  *out_shape = infer_prefer_stated(context, callee->root->shape);
  return STATUS_OK;
}

/* condition: T → pred[], body: T → T, where T is the operand. */
Status infer_while(const InferContext *context, const Shape **out_shape) {
  const HloComputation *condition, *body;
  RETURN_IF_ERROR(infer_callee(context, HLO_ATTR_CONDITION, &condition));
  RETURN_IF_ERROR(infer_callee(context, HLO_ATTR_BODY, &body));
  RETURN_IF_ERROR(check_arguments(context, HLO_ATTR_CONDITION, condition, 0, 1));
  RETURN_IF_ERROR(check_arguments(context, HLO_ATTR_BODY, body, 0, 1));
  const Shape *result = condition->root->shape;
  if (!shape_is_scalar(result) || result->type != TYPE_PRED) {
    return infer_attr_error(context, HLO_ATTR_CONDITION, "needs condition '%.*s' to return pred[], it returns %s",
                            SV_ARG(condition->name), infer_text(context, result));
  }
  *out_shape = infer_operand(context, 0);
  if (shape_compatible(body->root->shape, *out_shape)) return STATUS_OK;
  return infer_attr_error(context, HLO_ATTR_BODY, "needs body '%.*s' to return %s, it returns %s", SV_ARG(body->name),
                          infer_text(context, *out_shape), infer_text(context, body->root->shape));
}

/* --- conditional: (pred[] or s32[], an operand for each branch) --- */

typedef struct Branch {
  HloAttrId id;
  const HloComputation *callee;
} Branch;

static Status collect_branches(const InferContext *context, Branch **out_branches, int64_t *out_count) {
  const HloAttr *list = hlo_instruction_attr(context->instruction, HLO_ATTR_BRANCH_COMPUTATIONS);
  const HloAttr *on_true = hlo_instruction_attr(context->instruction, HLO_ATTR_TRUE_COMPUTATION);
  const HloAttr *on_false = hlo_instruction_attr(context->instruction, HLO_ATTR_FALSE_COMPUTATION);
  const Shape *selector = infer_operand(context, 0);
  bool is_pred = selector->type == TYPE_PRED, is_index = selector->type == TYPE_S32;
  if (!shape_is_scalar(selector) || !(is_pred || is_index)) {
    return infer_error(context, "needs pred[] or s32[] as operand 0, got %s", infer_text(context, selector));
  }
  if (is_pred ? on_true == NULL || on_false == NULL || list != NULL
              : list == NULL || on_true != NULL || on_false != NULL) {
    return infer_error(context, "needs %s with operand 0 of %s",
                       is_pred ? "'true_computation' and 'false_computation'" : "'branch_computations'",
                       infer_text(context, selector));
  }
  *out_count = is_pred ? 2 : list->value.computations.count;
  if (*out_count == 0) return infer_attr_error(context, HLO_ATTR_BRANCH_COMPUTATIONS, "needs at least one branch");
  *out_branches = ARENA_NEW_ARRAY(context->scratch, Branch, *out_count);
  if (is_pred) {
    (*out_branches)[0] = (Branch){HLO_ATTR_TRUE_COMPUTATION, on_true->value.computation};
    (*out_branches)[1] = (Branch){HLO_ATTR_FALSE_COMPUTATION, on_false->value.computation};
    return STATUS_OK;
  }
  for (int64_t i = 0; i < *out_count; i++) {
    (*out_branches)[i] = (Branch){HLO_ATTR_BRANCH_COMPUTATIONS, list->value.computations.data[i]};
  }
  return STATUS_OK;
}

Status infer_conditional(const InferContext *context, const Shape **out_shape) {
  Branch *branches = NULL;
  int64_t count = 0;
  RETURN_IF_ERROR(collect_branches(context, &branches, &count));
  if (count != context->instruction->operand_count - 1) {
    return infer_error(context, "needs one operand for each of %lld branches, got %d", (long long)count,
                       context->instruction->operand_count - 1);
  }
  for (int64_t i = 0; i < count; i++) {
    RETURN_IF_ERROR(check_arguments(context, branches[i].id, branches[i].callee, (int)i + 1, 1));
    const Shape *first = branches[0].callee->root->shape, *result = branches[i].callee->root->shape;
    if (shape_compatible(first, result)) continue;
    return infer_attr_error(context, branches[i].id, "needs branches that return one shape, got %s and %s",
                            infer_text(context, first), infer_text(context, result));
  }
  *out_shape = branches[0].callee->root->shape;
  return STATUS_OK;
}
