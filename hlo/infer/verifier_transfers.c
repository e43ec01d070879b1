/* Rules about several transfers: those on one channel, those that wait for each other. */
#include "hlo/infer/verifier_internal.h"

/* --- one channel --- */

/* A send or receive without the mark of passes (hlo/ir/host_transfer.h), which not all of a channel have at once. */
static int64_t next_attribute(const HloAttr *attr, int64_t at) {
  while (attr != NULL && at < attr->value.frontend.count &&
         sv_equal_cstring(attr->value.frontend.data[at].key, "_xlac_sync")) {
    at++;
  }
  return attr == NULL || at >= attr->value.frontend.count ? -1 : at;
}

static bool same_frontend(const HloAttr *a, const HloAttr *b) {
  int64_t i = next_attribute(a, 0), j = next_attribute(b, 0);
  for (; i >= 0 && j >= 0; i = next_attribute(a, i + 1), j = next_attribute(b, j + 1)) {
    const FrontendAttribute *x = &a->value.frontend.data[i], *y = &b->value.frontend.data[j];
    if (!sv_equal(x->key, y->key) || !sv_equal(x->value, y->value)) return false;
  }
  return i < 0 && j < 0;
}

/* Host transfers on one channel are the same but for what they transfer. */
void verify_host_channel(Verifier *verifier, const HloInstruction *transfer) {
  bool is_transfer = transfer->opcode == HLO_SEND || transfer->opcode == HLO_RECV;
  if (!is_transfer || !hlo_instruction_bool(transfer, HLO_ATTR_IS_HOST_TRANSFER, false) ||
      hlo_instruction_attr(transfer, HLO_ATTR_CHANNEL_ID) == NULL)
    return;
  uint64_t channel = (uint64_t)hlo_instruction_int(transfer, HLO_ATTR_CHANNEL_ID, 0);
  int64_t found;
  if (!int_map_find(&verifier->channels, channel, &found)) {
    int_map_set(&verifier->channels, channel, (int64_t)(intptr_t)transfer);
    return;
  }
  const HloInstruction *first = (const HloInstruction *)(intptr_t)found;
  bool fits = first->opcode == transfer->opcode && shape_compatible(first->shape, transfer->shape) &&
              same_frontend(hlo_instruction_attr(first, HLO_ATTR_FRONTEND_ATTRIBUTES),
                            hlo_instruction_attr(transfer, HLO_ATTR_FRONTEND_ATTRIBUTES));
  if (fits) return;
  verify_error(verifier, transfer->loc, "verify-channel",
               "'%.*s' and '%.*s' differ in more than their data on one channel", SV_ARG(first->name),
               SV_ARG(transfer->name));
}

/* Either all all-reduces of a module keep to their layouts or none. */
void verify_constrained_layout(Verifier *verifier, const HloInstruction *instruction) {
  if (instruction->opcode != HLO_ALL_REDUCE && instruction->opcode != HLO_ALL_REDUCE_START) return;
  if (verifier->all_reduce == NULL) verifier->all_reduce = instruction;
  if (hlo_instruction_bool(instruction, HLO_ATTR_CONSTRAIN_LAYOUT, false) ==
      hlo_instruction_bool(verifier->all_reduce, HLO_ATTR_CONSTRAIN_LAYOUT, false))
    return;
  verify_error(verifier, instruction->loc, "verify-collective", "'%.*s' and '%.*s' differ in 'constrain_layout'",
               SV_ARG(verifier->all_reduce->name), SV_ARG(instruction->name));
}
