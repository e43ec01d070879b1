/* HloOpcode: the operations of HLO and what the table (hlo_opcode.def) says of each. */
#ifndef XLAC_HLO_IR_HLO_OPCODE_H
#define XLAC_HLO_IR_HLO_OPCODE_H

#include "base/string_view.h"
#include "hlo/ir/hlo_attribute.h"

typedef enum HloOpcode {
#define HLO_OP(id, text, min, max, traits, access, cost, flow, infer, eval, emit, lanes, attributes) HLO_##id,
#include "hlo/ir/hlo_opcode.def"
#undef HLO_OP
  HLO_OPCODE_COUNT
} HloOpcode;

#define VARIADIC (-1)

enum {
  OP_ELEMENTWISE = 1 << 0,    /* result element i depends on operand elements i only (OP_TAKES_SCALARS aside) */
  OP_COMMUTES = 1 << 1,       /* the two operands may be swapped */
  OP_SHAPE_OPTIONAL = 1 << 2, /* text may omit the result shape */
  OP_SIDE_EFFECT = 1 << 3,    /* not removable when unused */
  OP_IN_PLACE = 1 << 4,       /* operand 0 and the result must share a buffer */
  OP_REGION = 1 << 5, /* its computations are applied element by element or to a whole kernel: no buffers inside */
  OP_CONTROL_FLOW = 1 << 6,   /* its computations are sequences of instructions with buffers of their own */
  OP_COLLECTIVE = 1 << 7,     /* takes part in communication between devices */
  OP_BARRIER = 1 << 8,        /* hands its operand on, and stands there so that nothing is computed across it */
  OP_ASSOCIATIVE = 1 << 9,    /* and commutes, rounding aside: reductions by it have no order */
  OP_IDEMPOTENT = 1 << 10,    /* of two operands: f(x, x) is x, also where it is grouped otherwise */
  OP_EXACT = 1 << 11,         /* lane-wise, and no result needs rounding to its type */
  OP_TAKES_SCALARS = 1 << 12, /* operand 1 is as large as the result and has its type; others may be scalars for all */
  OP_TYPED_BY_OPERAND = 1 << 13, /* works on the type of operand 0, whatever that of the result */
  OP_CONTRACTION = 1 << 14,      /* sums of products of two operands: what blocks of code compute */
  OP_GIVEN = 1 << 15,            /* its value is known before the computation runs */
  OP_TUPLES = 1 << 16,           /* puts tuples together or takes them apart, and reads no array */

  /* What does more than compute its value, and so stays as it is: not moved, not left out, not joined with an equal
   * one, not computed while compiling. */
  OP_STAYS = OP_SIDE_EFFECT | OP_CONTROL_FLOW | OP_COLLECTIVE | OP_BARRIER
};

/* How result elements depend on operand elements. */
typedef enum OpAccess {
  ACCESS_ELEMENTWISE, /* same index */
  ACCESS_AFFINE,      /* an affine index map, possibly piecewise */
  ACCESS_WINDOW,      /* a bounded window around an affine map */
  ACCESS_INDIRECT,    /* through index operands */
  ACCESS_WHOLE        /* anything of the operand, or no array access at all */
} OpAccess;

/* The cost of one element of the result, without that of the operands' elements.  Ascending, so that passes can ask for
 * a range of costs: hlo_opcode_is_cheap, hlo_opcode_is_function. */
typedef enum OpCost {
  OP_COST_NONE, /* no elements are computed: control, communication, and operations that passes replace by others */
  OP_COST_FREE, /* at most other indices */
  OP_COST_MOVE,
  OP_COST_PIECES, /* a choice between operands by the index */
  OP_COST_ADD,
  OP_COST_LOGIC,
  OP_COST_COMPARE,
  OP_COST_SELECT,
  OP_COST_MULTIPLY,
  OP_COST_CONVERT,
  OP_COST_ROUND,
  OP_COST_DIVIDE,
  OP_COST_SQRT,
  OP_COST_EXP, /* from here on: functions, of some ten operations and more */
  OP_COST_LOG,
  OP_COST_SIN,
  OP_COST_TANH,
  OP_COST_ATANH,   /* of several branches: about two of the others */
  OP_COST_POWER,   /* about four of them */
  OP_COST_STRIDES, /* reads against the grain of memory */
  OP_COST_LOOKUP,  /* reads where other values say */
  OP_COST_FOLD,    /* many elements of the operands for each of the result */
  OP_COST_COUNT
} OpCost;

/* How the result's leaves are related to the operands': whose buffers they are. */
typedef enum OpFlow {
  OP_FLOW_MAKES,     /* makes all of its leaves */
  OP_FLOW_NOTHING,   /* has none */
  OP_FLOW_PARAMETER, /* those of the computation's callers */
  OP_FLOW_FORWARDS,  /* operand 0's */
  OP_FLOW_PENDING,   /* operand 0's, of an operation under way: a use of them */
  OP_FLOW_VIEW,  /* operand 0's bytes under another shape, where layouts allow that (hlo_is_view); makes them otherwise
                  */
  OP_FLOW_COPY,  /* makes an array; shows the leaves of a tuple */
  OP_FLOW_TUPLE, /* those of the operands, one after the other */
  OP_FLOW_ELEMENT,          /* those of an element of operand 0 */
  OP_FLOW_CALL,             /* those of the computation's root */
  OP_FLOW_WHILE,            /* operand 0's, or those of the body's root */
  OP_FLOW_CONDITIONAL,      /* those of one branch's root */
  OP_FLOW_COPY_START,       /* makes element 0, shows operand 0's at element 1 */
  OP_FLOW_ASYNC_START,      /* shows the operands' at element 0 and those of the computation's root at element 1 */
  OP_FLOW_COLLECTIVE_START, /* shows the operands' at element 0, makes the other elements */
  OP_FLOW_FIRST,            /* those of element 0 of operand 0 */
  OP_FLOW_SECOND,           /* those of element 1 of operand 0 */
  OP_FLOW_RECV_DONE,        /* shows those of element 0 of operand 0 as its own element 0 */
  OP_FLOW_COUNT
} OpFlow;

typedef struct HloOpcodeAttr {
  HloAttrId id;
  bool required;
} HloOpcodeAttr;

typedef struct HloOpcodeInfo {
  const char *text;
  int min_operands, max_operands; /* max VARIADIC: no limit */
  unsigned traits;
  OpAccess access;
  OpCost cost;
  OpFlow flow;
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

/* A collective in one instruction: what begins one, or ends it, is none. */
static inline bool hlo_opcode_is_collective(HloOpcode opcode) {
  return hlo_opcode_has(opcode, OP_COLLECTIVE) && !hlo_opcode_has(opcode, OP_SIDE_EFFECT);
}

/* An element costs about an addition, or nothing: computing it again is cheaper than storing it. */
static inline bool hlo_opcode_is_cheap(HloOpcode opcode) {
  OpCost cost = hlo_opcode_info(opcode)->cost;
  return cost >= OP_COST_FREE && cost < OP_COST_DIVIDE;
}

/* A function of real numbers, which code computes in many steps. */
static inline bool hlo_opcode_is_function(HloOpcode opcode) {
  OpCost cost = hlo_opcode_info(opcode)->cost;
  return cost >= OP_COST_EXP && cost <= OP_COST_POWER;
}

/* As HLO spells it; static text. */
const char *hlo_opcode_text(HloOpcode opcode);

/* False when |text| names no opcode; |out_opcode| is then untouched. */
bool hlo_opcode_from_text(StringView text, HloOpcode *out_opcode);

/* The attribute spelt |text| among the opcode's own and the common ones, or HLO_ATTR_NONE. */
HloAttrId hlo_opcode_attr_from_text(HloOpcode opcode, StringView text);

#endif
