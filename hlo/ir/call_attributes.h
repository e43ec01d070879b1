/* The attributes of a typed custom call: the dictionary in its backend_config, an MLIR attribute as text.
 *
 *   {uplo = 76 : ui8, scale = 2.5 : f32, sizes = array<i64: 1, 2>, nested = {on = true, name = "x"}}
 *
 * Understood is what XLA hands to handlers: integers of 8 to 64 bits (i and si are signed, ui unsigned, i64 without a
 * type), f32 and f64 (f64 without a type; hexadecimal digits are the bits), booleans, strings, dictionaries, array<…>
 * and dense<…> of integers of 8 to 64 bits, f32, f64. */
#ifndef XLAC_HLO_IR_CALL_ATTRIBUTES_H
#define XLAC_HLO_IR_CALL_ATTRIBUTES_H

#include "hlo/ir/hlo_instruction.h"

typedef enum CallAttributeKind {
  CALL_ATTRIBUTE_SCALAR,
  CALL_ATTRIBUTE_ARRAY,
  CALL_ATTRIBUTE_STRING,
  CALL_ATTRIBUTE_DICTIONARY
} CallAttributeKind;

typedef struct CallAttribute CallAttribute;
struct CallAttribute {
  StringView name;
  CallAttributeKind kind;
  PrimitiveType type;           /* SCALAR, ARRAY: of the elements; booleans are pred */
  int64_t count;                /* of elements (SCALAR: 1), bytes of a STRING, entries of a DICTIONARY */
  const void *data;             /* SCALAR, ARRAY: elements as in memory; STRING: without an end mark */
  const CallAttribute *entries; /* DICTIONARY: by name, ascending bytewise, no name twice */
};

/* The attributes of |call|, a dictionary without a name, in |arena|; empty without a backend_config.  STATUS_INVALID
 * (code "call-attributes") for what is no such dictionary, at the attribute. */
MUST_USE Status call_attributes_parse(Arena *arena, const HloInstruction *call, DiagSink *diag,
                                      CallAttribute *out_dictionary);

/* The entry called |name|, NULL when there is none. */
const CallAttribute *call_attribute_find(const CallAttribute *dictionary, StringView name);

#endif
