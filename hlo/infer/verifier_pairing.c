/* Start, update and done: every start is taken up by exactly one end of its own kind. */
#include "hlo/infer/verifier_internal.h"
#include "hlo/ir/host_transfer.h"

typedef struct Pairing {
  HloOpcode start, done;
} Pairing;

static const Pairing pairings[] = {
    {HLO_ALL_GATHER_START, HLO_ALL_GATHER_DONE},
    {HLO_ALL_REDUCE_START, HLO_ALL_REDUCE_DONE},
    {HLO_COLLECTIVE_PERMUTE_START, HLO_COLLECTIVE_PERMUTE_DONE},
    {HLO_COPY_START, HLO_COPY_DONE},
    {HLO_SEND, HLO_SEND_DONE},
    {HLO_RECV, HLO_RECV_DONE},
    {HLO_ASYNC_START, HLO_ASYNC_DONE},
    {HLO_ASYNC_UPDATE, HLO_ASYNC_DONE},
};

enum { PAIRING_COUNT = sizeof(pairings) / sizeof(pairings[0]) };

static bool is_async(HloOpcode opcode) {
  return opcode == HLO_ASYNC_START || opcode == HLO_ASYNC_UPDATE;
}

static bool is_channel(HloOpcode opcode) {
  return opcode == HLO_SEND || opcode == HLO_RECV;
}

/* A send or receive under way may travel through tuples and loops. */
static bool may_use(const Pairing *pairing, HloOpcode user) {
  if (user == pairing->done || (is_async(pairing->start) && user == HLO_ASYNC_UPDATE)) return true;
  return is_channel(pairing->start) && (user == HLO_TUPLE || user == HLO_OPT_BARRIER || user == HLO_ADD_DEPENDENCY);
}

/* One that passes left without an end: its parts are read where that was, or nothing reads them. */
static bool is_whole_transfer(const HloInstruction *start) {
  if (!host_transfer_is_sync(start)) return false;
  for (int32_t i = 0; i < start->user_count; i++) {
    if (start->users[i]->opcode != HLO_GET_TUPLE_ELEMENT) return false;
  }
  return true;
}

static void verify_start(Verifier *verifier, const HloInstruction *start, const Pairing *pairing) {
  const char *done = hlo_opcode_text(pairing->done);
  if (is_whole_transfer(start)) return;
  if (start->user_count != 1) {
    bool travels = is_channel(pairing->start) && start->user_count == 0 && hlo_instruction_is_root(start);
    if (travels) return;
    verify_error(verifier, start->loc, "verify-pairing", "'%.*s' needs exactly one '%s', it has %d users",
                 SV_ARG(start->name), done, start->user_count);
  } else if (!may_use(pairing, start->users[0]->opcode)) {
    verify_error(verifier, start->loc, "verify-pairing", "'%.*s' needs a '%s', but '%s' uses it", SV_ARG(start->name),
                 done, hlo_opcode_text(start->users[0]->opcode));
  }
}

/* A send-done says the same about channel and host as its send. */
static void verify_channel(Verifier *verifier, const HloInstruction *done, const HloInstruction *start) {
  bool has_a = hlo_instruction_attr(start, HLO_ATTR_CHANNEL_ID) != NULL,
       has_b = hlo_instruction_attr(done, HLO_ATTR_CHANNEL_ID) != NULL;
  int64_t a = hlo_instruction_int(start, HLO_ATTR_CHANNEL_ID, 0), b = hlo_instruction_int(done, HLO_ATTR_CHANNEL_ID, 0);
  bool host_a = hlo_instruction_bool(start, HLO_ATTR_IS_HOST_TRANSFER, false);
  bool host_b = hlo_instruction_bool(done, HLO_ATTR_IS_HOST_TRANSFER, false);
  if (has_a == has_b && a == b && host_a == host_b) return;
  verify_error(verifier, done->loc, "verify-channel", "'%.*s' and '%.*s' differ in 'channel_id' or 'is_host_transfer'",
               SV_ARG(start->name), SV_ARG(done->name));
}

/* What an update or done repeats of its start. */
static void verify_async_repeats(Verifier *verifier, const HloInstruction *done) {
  const HloInstruction *start = done->operands[0];
  while (start->opcode == HLO_ASYNC_UPDATE && start->operand_count == 1) start = start->operands[0];
  if (start->opcode != HLO_ASYNC_START) return;
  const HloComputation *calls = hlo_instruction_computation(done, HLO_ATTR_CALLS);
  if (calls != NULL && calls != hlo_instruction_computation(start, HLO_ATTR_CALLS)) {
    verify_attr_error(verifier, done, HLO_ATTR_CALLS, "verify-async", "'%.*s' calls another computation than '%.*s'",
                      SV_ARG(done->name), SV_ARG(start->name));
  }
  const HloAttr *a = hlo_instruction_attr(start, HLO_ATTR_ASYNC_EXECUTION_THREAD);
  const HloAttr *b = hlo_instruction_attr(done, HLO_ATTR_ASYNC_EXECUTION_THREAD);
  if (b == NULL || (a != NULL && sv_equal(a->value.text, b->value.text))) return;
  verify_attr_error(verifier, done, b->id, "verify-async", "'%.*s' runs on another thread than '%.*s'",
                    SV_ARG(done->name), SV_ARG(start->name));
}

/* Every |done| opcode has at least one row; the operand must come from one of them. */
static void verify_done(Verifier *verifier, const HloInstruction *done) {
  if (done->operand_count != 1) return;
  HloOpcode operand = done->operands[0]->opcode;
  HloOpcode wanted = HLO_OPCODE_COUNT;
  for (int i = 0; i < PAIRING_COUNT; i++) {
    bool ends = pairings[i].done == done->opcode || (done->opcode == HLO_ASYNC_UPDATE && is_async(pairings[i].start));
    if (!ends) continue;
    if (wanted == HLO_OPCODE_COUNT) wanted = pairings[i].start;
    if (operand != pairings[i].start) continue;
    if (is_channel(operand)) verify_channel(verifier, done, done->operands[0]);
    if (is_async(operand)) verify_async_repeats(verifier, done);
    return;
  }
  if (wanted == HLO_OPCODE_COUNT) return;
  bool travels =
      is_channel(wanted) && (operand == HLO_GET_TUPLE_ELEMENT || operand == HLO_OPT_BARRIER || operand == HLO_CALL ||
                             operand == HLO_WHILE || operand == HLO_PARAMETER || operand == HLO_ADD_DEPENDENCY);
  if (travels) return;
  verify_error(verifier, done->loc, "verify-pairing", "'%.*s' needs the result of a '%s', not of '%s'",
               SV_ARG(done->name), hlo_opcode_text(wanted), hlo_opcode_text(operand));
}

/* An async computation wraps one operation, unless it is said to be a group of transfers, picks elements only (a
 * barrier), or runs on another thread. */
static void verify_wrapped(Verifier *verifier, const HloInstruction *start) {
  const HloComputation *wrapped = hlo_instruction_computation(start, HLO_ATTR_CALLS);
  if (wrapped == NULL) {
    verify_error(verifier, start->loc, "verify-async", "'%.*s' needs attribute 'calls'", SV_ARG(start->name));
    return;
  }
  int64_t operations = 0, picks = 0;
  for (int64_t i = 0; i < wrapped->instructions.count; i++) {
    const HloInstruction *instruction = wrapped->instructions.data[i];
    if (instruction->opcode == HLO_PARAMETER) continue;
    operations++;
    picks += instruction->opcode == HLO_GET_TUPLE_ELEMENT && instruction != wrapped->root;
  }
  if (operations <= 1 || picks == operations - 1 || hlo_instruction_frontend(start, "_collectives_group") != NULL)
    return;
  if (wrapped->execution_thread.size > 0 && !sv_equal(wrapped->execution_thread, SV("main"))) return;
  verify_attr_error(verifier, start, HLO_ATTR_CALLS, "verify-async",
                    "'%.*s' holds %lld operations, an async computation wraps one", SV_ARG(wrapped->name),
                    (long long)operations);
}

void verify_pairing(Verifier *verifier, const HloInstruction *instruction) {
  for (int i = 0; i < PAIRING_COUNT; i++) {
    if (instruction->opcode == pairings[i].start) verify_start(verifier, instruction, &pairings[i]);
  }
  verify_done(verifier, instruction);
  if (instruction->opcode == HLO_ASYNC_START) verify_wrapped(verifier, instruction);
}
