#include "hlo/analysis/call_graph.h"
#include "passes/cleanup/control_edges.h"
#include "passes/cleanup/shape_coercion.h"
#include "passes/pipeline/hlo_pass.h"

/* call-inliner: a call is replaced by the instructions that it calls. */

/* Callees take in what they call before they are taken in, so that the instructions of a long chain of calls are copied
 * again and again.  Beyond so many copies a call stays a call. */
enum { INLINE_LIMIT = 500000 };

/* A call, or a fusion that the text brought along: xlac fuses anew. */
static HloComputation *inlined_computation(const HloInstruction *instruction) {
  if (instruction->opcode == HLO_CALL) return hlo_instruction_computation(instruction, HLO_ATTR_TO_APPLY);
  if (instruction->opcode == HLO_FUSION) return hlo_instruction_computation(instruction, HLO_ATTR_CALLS);
  return NULL;
}

static bool arguments_fit(const HloInstruction *call, const HloComputation *callee) {
  if (callee == call->parent || callee->parameters.count != call->operand_count) return false;
  for (int i = 0; i < call->operand_count; i++) {
    if (!shape_compatible(call->operands[i]->shape, callee->parameters.data[i]->shape)) return false;
  }
  return shape_compatible(call->shape, callee->root->shape);
}

/* For the scheduler, where the order of the text is kept (passes/schedule/text_order.h): the results of what was
 * inlined are made where the call stood. */
static void take_place(HloInstruction *root, const HloComputation *callee, const HloInstruction *call) {
  if (callee->root->opcode == HLO_PARAMETER) return;
  root->loc = call->loc;
  for (int i = 0; root->opcode == HLO_TUPLE && i < root->operand_count; i++) {
    if (callee->root->operands[i]->opcode != HLO_PARAMETER) root->operands[i]->loc = call->loc;
  }
}

static void inline_call(HloInstruction *call, const HloComputation *callee, bool keeps_text_order, Arena *scratch) {
  HloComputation *into = call->parent;
  HloInstruction **arguments = ARENA_NEW_ARRAY(scratch, HloInstruction *, call->operand_count + 1);
  for (int i = 0; i < call->operand_count; i++) {
    arguments[i] = shape_coerce(call->operands[i], callee->parameters.data[i]->shape);
  }
  HloInstruction *root = hlo_computation_inline(into, callee, arguments);
  if (keeps_text_order) take_place(root, callee, call);
  hlo_computation_replace_instruction(into, call, shape_coerce(root, call->shape));
}

/* |inlined|: instructions copied so far, at most INLINE_LIMIT. */
static bool inline_calls(HloComputation *computation, bool keeps_text_order, int64_t *inlined, Arena *scratch) {
  bool changed = false;
  ControlEdges edges;
  control_edges_init(&edges, computation, scratch);
  int64_t count;
  HloInstruction **candidates = hlo_computation_list(computation, scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    const HloComputation *callee = inlined_computation(candidates[i]);
    if (callee == NULL || !arguments_fit(candidates[i], callee)) continue;
    if (control_edges_touch(&edges, candidates[i])) continue;
    if (callee->instructions.count > INLINE_LIMIT - *inlined) continue;
    *inlined += callee->instructions.count;
    inline_call(candidates[i], callee, keeps_text_order, scratch);
    changed = true;
  }
  return changed;
}

static Status run_call_inliner(HloPassContext *context, HloModule *module, bool *out_changed) {
  RETURN_IF_ERROR(call_graph_check_unfolding(module, context->diag));
  int64_t count, inlined = 0;
  HloComputation **order = hlo_module_post_order(module, context->scratch, &count);
  bool keeps = context->options->keeps_text_order;
  for (int64_t i = 0; i < count; i++) *out_changed |= inline_calls(order[i], keeps, &inlined, context->scratch);
  return STATUS_OK;
}

const HloPass hlo_call_inliner_pass = {
    "call-inliner", "replace calls, and fusions found in the text, by what they call", run_call_inliner, false};
