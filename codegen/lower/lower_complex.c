/* Complex values as pairs: which operation of HLO becomes what on their parts. */
#include "codegen/lower/complex_internal.h"

int32_t lowering_complex(Lowering *lowering, PrimitiveType type, int32_t re, int32_t im) {
  return lowering_apply(lowering, HLO_COMPLEX, type, (int32_t[]){re, im}, 2);
}

static bool is_pair(const Lowering *lowering, int32_t value) {
  const KernelValue *info = &lowering->draft.values.data[value];
  return info->kind == KERNEL_APPLY && info->opcode == HLO_COMPLEX;
}

/* Of an operation without a rule: a value that no target has code for, and says so. */
int32_t lowering_part(Lowering *lowering, int32_t value, int part) {
  if (is_pair(lowering, value)) return lowering->draft.values.data[value].operands[part];
  PrimitiveType type = type_complex_part(lowering_type(lowering, value));
  return lowering_apply(lowering, part == 0 ? HLO_REAL : HLO_IMAG, type, &value, 1);
}

IndexExpr lowering_part_address(Lowering *lowering, IndexExpr address, int part) {
  IndexExpr doubled = index_scale(&lowering->draft.space, address, 2);
  return index_add_constant(&lowering->draft.space, doubled, part);
}

/* --- functions --- */

/* Where parts of c64 are computed: in f32, or in f64 and rounded once; IN_EITHER: in f64 unless that is slow. */
typedef enum ComplexPlace { IN_PART, IN_DOUBLE, IN_EITHER } ComplexPlace;

typedef struct ComplexRow {
  int operand_count;
  ComplexFunction *function;
  ComplexPlace place;
} ComplexRow;

#define NONE
#define PRED(name, placement)
#define INTEGER(name, placement)
#define FLOAT(name, placement)
#define COMPLEX(name, where) .function = complex_##name, .place = where,
static const ComplexRow rows[HLO_OPCODE_COUNT] = {
#define HLO_OP(id, text, min, max, traits, access, cost, flow, infer, eval, emit, lanes, attributes) \
  [HLO_##id] = {.operand_count = min, lanes},
#include "hlo/ir/hlo_opcode.def"
#undef HLO_OP
};

static int32_t apply_function(Lowering *lowering, HloOpcode opcode, PrimitiveType type, const int32_t *operands) {
  const ComplexRow *row = &rows[opcode];
  PrimitiveType part = type_complex_part(type);
  bool is_in_part = row->place == IN_PART || (row->place == IN_EITHER && lowering->target.has_slow_doubles);
  ComplexMath math = {lowering, is_in_part ? part : TYPE_F64, false};
  math.is_roomy = math.type != part;
  Complex arguments[2] = {{-1, -1}, {-1, -1}};
  for (int i = 0; i < row->operand_count; i++) {
    arguments[i].re = lowering_convert(lowering, lowering_part(lowering, operands[i], 0), math.type);
    arguments[i].im = lowering_convert(lowering, lowering_part(lowering, operands[i], 1), math.type);
  }
  Complex result = row->function(&math, arguments);
  int32_t re = lowering_convert(lowering, result.re, part);
  if (!type_is_complex(type)) return re;
  return lowering_complex(lowering, type, re, lowering_convert(lowering, result.im, part));
}

/* --- what is no arithmetic --- */

/* x ≠ y where either part differs, x = y where none does. */
static int32_t compare(Lowering *lowering, const int32_t *operands, ComparisonDirection direction) {
  int32_t parts[2];
  for (int part = 0; part < 2; part++) {
    int32_t both[2] = {lowering_part(lowering, operands[0], part), lowering_part(lowering, operands[1], part)};
    parts[part] =
        lowering_apply_with(lowering, HLO_COMPARE, TYPE_PRED, both, 2, (int64_t)direction, COMPARISON_TYPE_FLOAT);
  }
  HloOpcode joined = direction == COMPARISON_DIRECTION_EQ ? HLO_AND : HLO_OR;
  return lowering_apply(lowering, joined, TYPE_PRED, parts, 2);
}

static int32_t select(Lowering *lowering, PrimitiveType type, const int32_t *operands) {
  int32_t parts[2];
  for (int part = 0; part < 2; part++) {
    int32_t on_true = lowering_part(lowering, operands[1], part);
    parts[part] = lowering_select(lowering, operands[0], on_true, lowering_part(lowering, operands[2], part));
  }
  return lowering_complex(lowering, type, parts[0], parts[1]);
}

/* To a complex type: a real number gets no imaginary part. */
static int32_t convert(Lowering *lowering, PrimitiveType type, int32_t value) {
  PrimitiveType part = type_complex_part(type);
  if (!type_is_complex(lowering_type(lowering, value))) {
    int32_t zero = lowering_constant_bits(lowering, part, 0, 0);
    return lowering_complex(lowering, type, lowering_convert(lowering, value, part), zero);
  }
  int32_t re = lowering_convert(lowering, lowering_part(lowering, value, 0), part);
  int32_t im = lowering_convert(lowering, lowering_part(lowering, value, 1), part);
  return lowering_complex(lowering, type, re, im);
}

bool lowering_apply_complex(Lowering *lowering, HloOpcode opcode, PrimitiveType type, const int32_t *operands,
                            int64_t param0, int32_t *out_value) {
  if (opcode == HLO_COMPLEX) return false;
  PrimitiveType from = lowering_type(lowering, operands[emit_typed_operand(opcode)]);
  if (!type_is_complex(type) && !type_is_complex(from)) return false;
  if (rows[opcode].function != NULL) {
    *out_value = apply_function(lowering, opcode, type, operands);
    return true;
  }
  switch (opcode) {
    case HLO_BITCAST_CONVERT: /* complex types are of unequal widths: it is the type itself */
    case HLO_COPY: *out_value = operands[0]; return true;
    case HLO_COMPARE: *out_value = compare(lowering, operands, (ComparisonDirection)param0); return true;
    case HLO_CONVERT: *out_value = convert(lowering, type, operands[0]); return true;
    case HLO_SELECT: *out_value = select(lowering, type, operands); return true;
    case HLO_REAL:
    case HLO_IMAG:
      if (!is_pair(lowering, operands[0])) return false;
      *out_value = lowering_part(lowering, operands[0], opcode == HLO_IMAG);
      return true;
    default: return false;
  }
}
