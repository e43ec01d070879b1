/* Who takes part in a step, and the hand-over to the other devices, which is the host's. */
#include "hlo/eval/exchange_internal.h"
#include "hlo/ir/device_count.h"

/* What a step keeps from run to run. */
typedef struct Participants {
  Int64List members;
  int64_t member, source;
  const Literal **own;   /* this device's operands, as contributed */
  const void **operands; /* what the members contribute */
} Participants;

/* --- who --- */

static Status find_group(EvalStep *step, Participants *out) {
  Evaluation *evaluation = step->frame->evaluation;
  DeviceGroups groups;
  int64_t group;
  RETURN_IF_ERROR(
      hlo_device_groups(evaluation->arena, step->instruction, evaluation->devices, evaluation->diag, &groups));
  if (device_groups_find(&groups, evaluation->device, &group, &out->member)) out->members = groups.groups[group];
  return STATUS_OK;
}

/* All that |pairs| lead to from this device, in either direction. */
static Status find_connected(EvalStep *step, Participants *out) {
  Evaluation *evaluation = step->frame->evaluation;
  DevicePairs pairs;
  RETURN_IF_ERROR(
      hlo_device_pairs(evaluation->arena, step->instruction, evaluation->devices, evaluation->diag, &pairs));
  int64_t total = device_counts_total(evaluation->devices), count = 0, source = -1;
  bool *is_connected = ARENA_NEW_ARRAY(evaluation->arena, bool, total);
  for (int64_t i = 0; i < pairs.count; i++) {
    DevicePair pair = pairs.data[i];
    if (pair.source == evaluation->device || pair.target == evaluation->device) is_connected[evaluation->device] = true;
    if (pair.target == evaluation->device) source = pair.source;
  }
  for (bool grows = true; grows;) {
    grows = false;
    for (int64_t i = 0; i < pairs.count; i++) {
      DevicePair pair = pairs.data[i];
      if (is_connected[pair.source] == is_connected[pair.target]) continue;
      is_connected[pair.source] = is_connected[pair.target] = grows = true;
    }
  }
  int64_t *members = ARENA_NEW_ARRAY(evaluation->arena, int64_t, total);
  for (int64_t i = 0; i < total; i++) {
    if (!is_connected[i]) continue;
    if (i == evaluation->device) out->member = count;
    if (i == source) out->source = count;
    members[count++] = i;
  }
  out->members = (Int64List){count, members};
  return STATUS_OK;
}

Status eval_check_devices(const EvalStep *step) {
  const Evaluation *evaluation = step->frame->evaluation;
  if (evaluation->knows_devices) return STATUS_OK;
  if (device_counts_total(evaluation->devices) > 1 || hlo_instruction_device_count(step->instruction) > 1)
    return eval_error(step, "cannot be evaluated on more than one device");
  return STATUS_OK;
}

/* --- the hand-over --- */

static Status enter(EvalStep *step, Status (*find)(EvalStep *step, Participants *out), Exchange *out) {
  const Evaluation *evaluation = step->frame->evaluation;
  Participants *participants = step->state;
  RETURN_IF_ERROR(eval_check_devices(step));
  if (participants == NULL) {
    step->state = participants = ARENA_NEW(evaluation->arena, Participants);
    *participants = (Participants){.source = -1};
    RETURN_IF_ERROR(find(step, participants));
    participants->own = ARENA_NEW_ARRAY(evaluation->arena, const Literal *, step->instruction->operand_count);
    participants->operands = ARENA_NEW_ARRAY(evaluation->arena, const void *, participants->members.count);
  }
  for (int i = 0; i < step->instruction->operand_count; i++) participants->own[i] = eval_operand(step, i);
  if (participants->members.count == 1)
    participants->operands[0] = participants->own;
  else if (participants->members.count > 1)
    RETURN_IF_ERROR(evaluation->host->exchange(evaluation->host->self, step->instruction, participants->members,
                                               participants->own, evaluation->diag, participants->operands));
  *out = (Exchange){participants->members, participants->member, (const Literal *const *const *)participants->operands};
  return STATUS_OK;
}

Status eval_exchange_in_group(EvalStep *step, Exchange *out_exchange) {
  return enter(step, find_group, out_exchange);
}

Status eval_exchange_in_pairs(EvalStep *step, Exchange *out_exchange, int64_t *out_source) {
  RETURN_IF_ERROR(enter(step, find_connected, out_exchange));
  *out_source = ((const Participants *)step->state)->source;
  return STATUS_OK;
}

void eval_exchange_end(EvalStep *step, const Exchange *exchange) {
  const HloHost *host = step->frame->evaluation->host;
  if (exchange->members.count > 1) host->release(host->self);
}
