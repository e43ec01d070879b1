#include "hlo/ir/host_transfer.h"

#include "hlo/ir/hlo_module.h"

static FrontendAttribute mark(void) {
  return (FrontendAttribute){SV("_xlac_sync"), SV("true"), false};
}

bool host_transfer_is(const HloInstruction *instruction) {
  bool is_transfer = instruction->opcode == HLO_SEND || instruction->opcode == HLO_RECV;
  return is_transfer && hlo_instruction_bool(instruction, HLO_ATTR_IS_HOST_TRANSFER, false);
}

/* Before which of its attributes, sorted by key, it stands or should. */
static int64_t place_of_mark(const HloAttr *attr) {
  int64_t place = 0;
  while (place < attr->value.frontend.count && sv_compare(attr->value.frontend.data[place].key, mark().key) < 0) {
    place++;
  }
  return place;
}

static bool has_mark(const HloAttr *attr, int64_t place) {
  if (place == attr->value.frontend.count) return false;
  const FrontendAttribute *found = &attr->value.frontend.data[place];
  return sv_equal(found->key, mark().key) && sv_equal(found->value, mark().value);
}

bool host_transfer_is_sync(const HloInstruction *transfer) {
  const HloAttr *attr = hlo_instruction_attr(transfer, HLO_ATTR_FRONTEND_ATTRIBUTES);
  return host_transfer_is(transfer) && attr != NULL && has_mark(attr, place_of_mark(attr));
}

void host_transfer_make_sync(HloInstruction *transfer) {
  if (host_transfer_is_sync(transfer)) return;
  hlo_instruction_set_frontend(transfer, mark().key, mark().value);
}
