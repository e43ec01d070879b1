/* HloOpcode: the operations of HLO and what the table (hlo_opcode.def) says of each. */
#ifndef XLAC_HLO_IR_HLO_OPCODE_H
#define XLAC_HLO_IR_HLO_OPCODE_H

#include "base/string_view.h"
#include "hlo/ir/hlo_attribute.h"

typedef enum HloOpcode {
#define HLO_OP(id, text, min, max, traits, access, infer, eval, emit, attributes) HLO_##id,
#include "hlo/ir/hlo_opcode.def"
#undef HLO_OP
  HLO_OPCODE_COUNT
} HloOpcode;

#define VARIADIC (-1)

enum {
  OP_ELEMENTWISE =
      1 << 0, /* result element i depends on operand elements i only (scalar operands of select, clamp aside) */
  OP_COMMUTES = 1 << 1,       /* the two operands may be swapped */
  OP_SHAPE_OPTIONAL = 1 << 2, /* text may omit the result shape */
  OP_SIDE_EFFECT = 1 << 3,    /* not removable when unused */
  OP_IN_PLACE = 1 << 4,       /* operand 0 and the result must share a buffer */
  OP_REGION = 1 << 5, /* its computations are applied element by element or to a whole kernel: no buffers inside */
  OP_CONTROL_FLOW = 1 << 6, /* its computations are sequences of instructions with buffers of their own */
  OP_COLLECTIVE = 1 << 7,   /* takes part in communication between devices */
  OP_BARRIER = 1 << 8       /* hands its operand on, and stands there so that nothing is computed across it */
};

/* How result elements depend on operand elements. */
typedef enum OpAccess {
  ACCESS_ELEMENTWISE, /* same index */
  ACCESS_AFFINE,      /* an affine index map, possibly piecewise */
  ACCESS_WINDOW,      /* a bounded window around an affine map */
  ACCESS_INDIRECT,    /* through index operands */
  ACCESS_WHOLE        /* anything of the operand, or no array access at all */
} OpAccess;

typedef struct HloOpcodeAttr {
  HloAttrId id;
  bool required;
} HloOpcodeAttr;

typedef struct HloOpcodeInfo {
  const char *text;
  int min_operands, max_operands; /* max VARIADIC: no limit */
  unsigned traits;
  OpAccess access;
  const HloOpcodeAttr *attrs; /* the opcode's own, in printing order */
  int attr_count;
} HloOpcodeInfo;

extern const HloOpcodeInfo hlo_opcode_infos[HLO_OPCODE_COUNT];

static inline const HloOpcodeInfo *hlo_opcode_info(HloOpcode opcode) {
  XLAC_CHECK((unsigned)opcode < HLO_OPCODE_COUNT);
  return &hlo_opcode_infos[opcode];
}

static inline bool hlo_opcode_has(HloOpcode opcode, unsigned traits) { /* any of the bits */
  return (hlo_opcode_info(opcode)->traits & traits) != 0;
}

const char *hlo_opcode_text(HloOpcode opcode);

/* False when |text| names no opcode; |out_opcode| is then untouched. */
bool hlo_opcode_from_text(StringView text, HloOpcode *out_opcode);

/* The attribute spelt |text| among the opcode's own and the common ones, or HLO_ATTR_NONE. */
HloAttrId hlo_opcode_attr_from_text(HloOpcode opcode, StringView text);

#endif
