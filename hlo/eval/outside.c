/* What leads out of the computation: calls of functions known by name, transfers with the host and between devices. */
#include "hlo/eval/eval_internal.h"
#include "hlo/ir/custom_call.h"
#include "hlo/ir/host_transfer.h"

/* --- the host's --- */

static bool is_potrf(const EvalStep *step, StringView target) {
  const Shape *shape = step->instruction->shape;
  return custom_call_is_lapack(target, SV("potrf")) && step->instruction->operand_count == 1 &&
         eval_operand_shape(step, 0)->rank >= 2 && shape_is_tuple(shape) && shape->tuple_size == 2 &&
         shape_compatible(shape->tuple[0], eval_operand_shape(step, 0)) &&
         shape->tuple[1]->rank == eval_operand_shape(step, 0)->rank - 2;
}

/* What leads out of the module. */
Status eval_host(EvalStep *step) {
  const HloHost *host = step->frame->evaluation->host;
  const HloInstruction *instruction = step->instruction;
  if (host == NULL) return eval_error(step, "leads out of the module");
  if (step->state == NULL)
    step->state = ARENA_NEW_ARRAY(step->frame->evaluation->arena, const Literal *, instruction->operand_count + 1);
  const Literal **operands = step->state;
  for (int i = 0; i < instruction->operand_count; i++) operands[i] = eval_operand(step, i);
  return host->execute(host->self, instruction, operands, step->frame->evaluation->diag, eval_result(step));
}

Status eval_custom_call(EvalStep *step) {
  StringView target = custom_call_target(step->instruction);
  MarkerValue marker = custom_call_marker_value(step->instruction);
  if (marker == MARKER_OPERAND) return eval_forward(step);
  if (marker == MARKER_TUPLE) return eval_tuple(step);
  if (custom_call_pads_to_static(step->instruction)) return eval_pad_to_static(step);
  if (custom_call_slices_to_dynamic(step->instruction)) return eval_slice_to_dynamic(step);
  if (is_potrf(step, target)) return eval_lapack_potrf(step);
  if (step->frame->evaluation->host != NULL) return eval_host(step);
  return eval_error(step, "of '%.*s' cannot be evaluated", SV_ARG(target));
}

/* --- between devices: announced by send and recv, completed by their ends --- */

enum { NO_TRANSFER = -1 };

/* What the step of a send or a receive keeps from run to run. */
typedef struct TransferState {
  int64_t peer;   /* -1: this device takes no part */
  int64_t number; /* the host's, of the one that is under way */
} TransferState;

static Status create_state(EvalStep *step, TransferState **out_state) {
  Evaluation *evaluation = step->frame->evaluation;
  DevicePairs pairs;
  if (hlo_instruction_frontend(step->instruction, DEVICE_PAIRS_KEY) == NULL)
    return eval_error(step, "does not say between which devices (frontend attribute '%s')", DEVICE_PAIRS_KEY);
  if (!shape_is_array(step->instruction->shape->tuple[0]))
    return eval_error(step, "of a tuple cannot be evaluated between devices");
  RETURN_IF_ERROR(
      hlo_device_pairs(evaluation->arena, step->instruction, evaluation->devices, evaluation->diag, &pairs));
  TransferState *state = ARENA_NEW(evaluation->arena, TransferState);
  *state = (TransferState){step->instruction->opcode == HLO_SEND ? device_pairs_target(&pairs, evaluation->device)
                                                                 : device_pairs_source(&pairs, evaluation->device),
                           NO_TRANSFER};
  step->state = *out_state = state;
  return STATUS_OK;
}

/* (data, context, token), the data of a send copied from its operand.  A device that nobody sends to has zeroes. */
static Status announce(EvalStep *step) {
  TransferState *state = step->state;
  const HloHost *host = step->frame->evaluation->host;
  if (state == NULL) RETURN_IF_ERROR(create_state(step, &state));
  if (state->number != NO_TRANSFER) return eval_error(step, "begins again before it has ended");
  Literal *out = eval_result(step);
  if (step->instruction->opcode == HLO_SEND) eval_copy_leaves(&out->tuple[0], eval_operand(step, 0));
  if (state->peer >= 0) state->number = host->announce(host->self, step->instruction, state->peer, &out->tuple[0]);
  return STATUS_OK;
}

Status eval_transfer(EvalStep *step) {
  bool is_between_devices = step->frame->evaluation->knows_devices && !host_transfer_is(step->instruction);
  return is_between_devices ? announce(step) : eval_host(step);
}

/* Of a send or receive in the same computation; what ends elsewhere has no state to be found by. */
static Status complete(EvalStep *step) {
  const HloInstruction *transfer = step->instruction->operands[0];
  const HloHost *host = step->frame->evaluation->host;
  bool is_host_transfer = hlo_instruction_bool(step->instruction, HLO_ATTR_IS_HOST_TRANSFER, false);
  if (!step->frame->evaluation->knows_devices || is_host_transfer) return STATUS_OK;
  if (transfer->opcode != HLO_SEND && transfer->opcode != HLO_RECV)
    return eval_error(step, "of a transfer that begins in another computation cannot be evaluated");
  TransferState *state = step->operands[0]->state;
  int64_t number = state->number;
  state->number = NO_TRANSFER;
  if (number == NO_TRANSFER) return STATUS_OK;
  return host->complete(host->self, step->instruction, number, step->frame->evaluation->diag);
}

Status eval_send_done(EvalStep *step) {
  RETURN_IF_ERROR(complete(step));
  return eval_token(step);
}

/* (data, context, token) → (data, token) */
Status eval_recv_done(EvalStep *step) {
  RETURN_IF_ERROR(complete(step));
  const Literal *received = eval_operand(step, 0);
  Literal *out = eval_tuple_result(step);
  out->tuple[0] = received->tuple[0];
  out->tuple[1] = received->tuple[2];
  return STATUS_OK;
}
