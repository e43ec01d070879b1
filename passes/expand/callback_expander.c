#include "hlo/ir/custom_call.h"
#include "passes/expand/graph_builder.h"

/* Calls back into the Python process that made the module: refused, left out, or marked as what fails when it is
 * reached, as HloPassOptions.callbacks says. */

static bool has_arrays(const Shape *shape) {
  for (int node = 0; node < shape_node_count(shape); node++) {
    const Shape *part = shape_node(shape, node);
    if (!shape_is_tuple(part) && part->type != TYPE_TOKEN) return true;
  }
  return false;
}

/* Whether an instruction reads an array of |value|, which is a call's result or a part of it. */
static bool is_read(const HloInstruction *value) {
  if (!has_arrays(value->shape)) return false;
  if (hlo_instruction_is_root(value)) return true;
  for (int i = 0; i < value->user_count; i++) {
    const HloInstruction *user = value->users[i];
    if (user->opcode != HLO_GET_TUPLE_ELEMENT || is_read(user)) return true;
  }
  return false;
}

/* A value of |shape|, which has tokens only: they come after the tokens that the call takes. */
static HloInstruction *tokens_of(GraphBuilder *builder, const Shape *shape) {
  const HloInstruction *call = builder->origin;
  const int most = shape_is_tuple(shape) ? (int)shape->tuple_size : call->operand_count;
  HloInstruction **operands = ARENA_NEW_ARRAY(builder->scratch, HloInstruction *, most + 1);
  int count = 0;
  if (shape_is_tuple(shape)) {
    for (; count < most; count++) operands[count] = tokens_of(builder, shape->tuple[count]);
    return graph_tuple(builder, operands, count);
  }
  for (int i = 0; i < most; i++) {
    if (call->operands[i]->shape->type == TYPE_TOKEN) operands[count++] = call->operands[i];
  }
  return graph_add(builder, HLO_AFTER_ALL, shape, operands, count);
}

/* What orders other instructions by |value| is ordered by tokens in its place. */
static void replace_tokens(GraphBuilder *builder, HloInstruction *value) {
  if (!has_arrays(value->shape)) {
    hlo_instruction_replace_all_uses(value, tokens_of(builder, value->shape));
    return;
  }
  for (int i = value->user_count - 1; i >= 0; i--) replace_tokens(builder, value->users[i]);
}

static Status refuse(const HloPassContext *context, const HloInstruction *call, const char *why, const char *advice) {
  StringView target = custom_call_target(call);
  Status status = diag_error(context->diag, STATUS_UNSUPPORTED, call->loc, "callback",
                             "'%.*s' calls back into Python, %s", SV_ARG(target), why);
  diag_note(context->diag, NO_LOC, "%s", advice);
  return status;
}

static Status leave_out(HloPassContext *context, HloInstruction *call) {
  if (is_read(call))
    return refuse(context, call, "and its result is needed",
                  "'--callbacks=trap' makes it an error of the call that reaches it");
  GraphBuilder builder = {call->parent, call, context->scratch};
  replace_tokens(&builder, call);
  hlo_instruction_remove_attr(call, HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT);
  return STATUS_OK;
}

static Status expand_callback(HloPassContext *context, HloInstruction *call) {
  switch (context->options->callbacks) {
    case HLO_CALLBACKS_CALL: return STATUS_OK;
    case HLO_CALLBACKS_TRAP: custom_call_make_trap(call); return STATUS_OK;
    case HLO_CALLBACKS_IGNORE: return leave_out(context, call);
    case HLO_CALLBACKS_REFUSE:
      return refuse(context, call, "which is not there when this code runs",
                    "'--callbacks=ignore' leaves it out where nothing needs its results, 'trap' makes it an error of "
                    "the call that reaches it, 'call' calls a function of this name");
  }
  XLAC_BUG("callbacks %d", (int)context->options->callbacks);
}

/* All are looked at, so that each that is refused is told. */
static Status run_callback_expander(HloPassContext *context, HloModule *module, bool *out_changed) {
  Status result = STATUS_OK;
  for (int64_t c = 0; c < module->computations.count; c++) {
    HloComputation *computation = module->computations.data[c];
    for (int64_t i = 0, count = computation->instructions.count; i < count; i++) {
      HloInstruction *instruction = computation->instructions.data[i];
      if (!custom_call_is_callback(instruction)) continue;
      Status status = expand_callback(context, instruction);
      if (status != STATUS_OK) result = status;
      *out_changed = context->options->callbacks != HLO_CALLBACKS_CALL;
    }
    if (result == STATUS_OK && context->options->callbacks == HLO_CALLBACKS_IGNORE && *out_changed)
      hlo_computation_remove_dead(computation);
  }
  return result;
}

const HloPass hlo_callback_expander_pass = {
    "callback-expander", "calls back into Python are refused, left out, or fail when they are reached (--callbacks)",
    run_callback_expander, false};
