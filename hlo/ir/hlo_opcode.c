#include "hlo/ir/hlo_opcode.h"

#include <string.h>

#define REQ(id) {HLO_ATTR_##id, true},
#define OPT(id) {HLO_ATTR_##id, false},
#define NONE
/* Each list ends with a row that does not count, for C has no empty arrays. */
#define HLO_OP(id, text, min, max, traits, access, cost, flow, infer, eval, emit, lanes, attributes) \
  static const HloOpcodeAttr attrs_##id[] = {attributes{HLO_ATTR_NONE, false}};
#include "hlo/ir/hlo_opcode.def"
#undef HLO_OP

const HloOpcodeInfo hlo_opcode_infos[HLO_OPCODE_COUNT] = {
#define HLO_OP(id, text, min, max, traits, access, cost, flow, infer, eval, emit, lanes, attributes) \
  [HLO_##id] = {text,                                                                                \
                min,                                                                                 \
                max,                                                                                 \
                traits,                                                                              \
                ACCESS_##access,                                                                     \
                OP_COST_##cost,                                                                      \
                OP_FLOW_##flow,                                                                      \
                attrs_##id,                                                                          \
                (int)(sizeof(attrs_##id) / sizeof(attrs_##id[0])) - 1},
#include "hlo/ir/hlo_opcode.def"
#undef HLO_OP
};

const char *hlo_opcode_text(HloOpcode opcode) {
  return hlo_opcode_info(opcode)->text;
}

/* The table is sorted by text (hlo_opcode_test.c holds it to that). */
bool hlo_opcode_from_text(StringView text, HloOpcode *out_opcode) {
  int low = 0, high = HLO_OPCODE_COUNT;
  while (low < high) {
    int middle = (low + high) / 2;
    int order = sv_compare(text, sv_from_cstring(hlo_opcode_infos[middle].text));
    if (order == 0) {
      *out_opcode = (HloOpcode)middle;
      return true;
    }
    if (order < 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return false;
}

HloAttrId hlo_opcode_attr_from_text(HloOpcode opcode, StringView text) {
  const HloOpcodeInfo *info = hlo_opcode_info(opcode);
  if (text.size == 0) return HLO_ATTR_NONE; /* positional ones have no text */
  for (int i = 0; i < info->attr_count; i++) {
    if (sv_equal_cstring(text, hlo_attr_info(info->attrs[i].id)->text)) return info->attrs[i].id;
  }
  for (int id = HLO_ATTR_FIRST_COMMON; id < HLO_ATTR_COUNT; id++) {
    if (sv_equal_cstring(text, hlo_attr_info((HloAttrId)id)->text)) return (HloAttrId)id;
  }
  return HLO_ATTR_NONE;
}
