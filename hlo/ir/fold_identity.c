#include "hlo/ir/fold_identity.h"

#include "hlo/type/float_types.h"
#include "hlo/type/literal.h"

/* The least or greatest value of a type, infinite where it can be. */
static void store_extreme(PrimitiveType type, bool greatest, void *out_element) {
  if (type == TYPE_PRED) {
    type_store_int(type, out_element, greatest);
  } else if (type_is_integral(type)) {
    type_store_int(type, out_element, greatest ? (int64_t)type_int_max(type) : type_int_min(type));
  } else if (float_has_infinity(type)) {
    type_store_double(type, out_element, greatest ? __builtin_inf() : -__builtin_inf());
  } else {
    type_store_double(type, out_element, greatest ? float_max(type) : float_lowest(type));
  }
}

static void store_zero(PrimitiveType type, void *out_element) {
  if (type_is_float(type)) {
    type_store_double(type, out_element, -0.0); /* +0 + -0 is +0 */
  } else {
    type_store_int(type, out_element, 0);
  }
}

static bool real_identity(HloOpcode opcode, PrimitiveType type, void *out_element) {
  bool has_bits = type_is_integral(type) || type == TYPE_PRED;
  switch (opcode) {
    case HLO_ADD:
      if (type == TYPE_F8E8M0FNU) return false;
      store_zero(type, out_element);
      return true;
    case HLO_MULTIPLY: type_store_int(type, out_element, 1); return true;
    case HLO_MAXIMUM: store_extreme(type, false, out_element); return true;
    case HLO_MINIMUM: store_extreme(type, true, out_element); return true;
    case HLO_OR:
    case HLO_XOR:
      if (has_bits) store_zero(type, out_element);
      return has_bits;
    case HLO_AND:
      if (has_bits) type_store_int(type, out_element, type == TYPE_PRED ? 1 : -1);
      return has_bits;
    default: XLAC_BUG("'%s' is associative and has no identity here", hlo_opcode_text(opcode));
  }
}

bool hlo_fold_identity(HloOpcode opcode, PrimitiveType type, void *out_element) {
  if (!hlo_opcode_has(opcode, OP_ASSOCIATIVE)) return false;
  PrimitiveType part = type_complex_part(type);
  if (part == type)
    return (type_is_integral(type) || type_is_float(type) || type == TYPE_PRED) &&
           real_identity(opcode, type, out_element);
  if (opcode != HLO_ADD) return false;
  size_t size = (size_t)type_storage_bytes(part);
  return real_identity(opcode, part, out_element) && real_identity(opcode, part, (char *)out_element + size);
}
