#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "hlo/type/float_types.h"
#include "hlo/type/literal.h"

/* Literals as HLO text: numbers with as many digits as read back to the same bits. */

/* Room for any number: 17 digits, sign, point, exponent. */
enum { NUMBER_TEXT_SIZE = 40, EXACT_DOUBLE_DIGITS = 17 };

/* Arrays of more dimensions than this get comments with the indices. */
enum { MAX_RANK_WITHOUT_COMMENTS = 3 };

/* Significant digits that XLA prints: of f32 and f64 as many as survive reading first, of the narrow ones enough to
 * tell neighbours apart, ceil(1 + p log10(2)) for p bits of precision. */
static int first_digits(PrimitiveType type) {
  if (type == TYPE_F64) return 15;
  if (type == TYPE_F32) return 6;
  return (int)ceil(1 + (type_info(type)->mantissa_bits + 1) * 0.30102999566398120);
}

static int next_digits(PrimitiveType type, int digits) {
  if (type == TYPE_F64) return EXACT_DOUBLE_DIGITS;
  if (type == TYPE_F32 && digits < 9) return 9;
  return digits + 1;
}

static void print_nan(StringBuilder *out, PrimitiveType type, uint64_t bits, bool is_negative) {
  uint64_t payload = float_nan_payload(type, bits);
  if (is_negative) sb_append_char(out, '-');
  sb_append_cstring(out, "nan");
  if (payload != 0) sb_printf(out, "(0x%llx)", (unsigned long long)payload);
}

static void print_float(StringBuilder *out, PrimitiveType type, const void *data) {
  uint64_t bits = type_load_bits(type, data);
  double value = float_decode(type, bits);
  if (isnan(value)) {
    print_nan(out, type, bits, signbit(value));
  } else if (isinf(value)) {
    sb_append_cstring(out, value < 0 ? "-inf" : "inf");
  } else if (value == 0) {
    /* XLA's -0 would read back as the integer zero. */
    sb_append_cstring(out, signbit(value) ? "-0.0" : "0");
  } else {
    char text[NUMBER_TEXT_SIZE];
    int digits = first_digits(type);
    snprintf(text, sizeof(text), "%.*g", digits, value);
    while (digits < EXACT_DOUBLE_DIGITS && float_encode_literal(type, strtod(text, NULL)) != bits) {
      digits = next_digits(type, digits);
      snprintf(text, sizeof(text), "%.*g", digits, value);
    }
    sb_append_cstring(out, text);
  }
}

void literal_print_element(StringBuilder *out, PrimitiveType type, const void *data) {
  if (type_is_complex(type)) {
    PrimitiveType part = type_complex_part(type);
    sb_append_char(out, '(');
    print_float(out, part, data);
    sb_append_cstring(out, ", ");
    print_float(out, part, (const char *)data + type_storage_bytes(part));
    sb_append_char(out, ')');
  } else if (type_is_float(type)) {
    print_float(out, type, data);
  } else if (type == TYPE_PRED) {
    sb_append_cstring(out, type_load_int(type, data) != 0 ? "true" : "false");
  } else if (type_is_unsigned(type)) {
    sb_printf(out, "%llu", (unsigned long long)type_load_int(type, data));
  } else {
    sb_append_int(out, type_load_int(type, data));
  }
}

/* As part of an array: XLA prints preds shorter there. */
static void print_array_element(StringBuilder *out, PrimitiveType type, const void *data) {
  if (type == TYPE_PRED) {
    sb_append_char(out, type_load_int(type, data) != 0 ? '1' : '0');
  } else {
    literal_print_element(out, type, data);
  }
}

typedef struct ArrayPrinter {
  StringBuilder *out;
  const Shape *shape;
  const char *next; /* the next element */
} ArrayPrinter;

static void print_innermost(ArrayPrinter *printer) {
  const Shape *shape = printer->shape;
  int64_t count = shape->dims[shape->rank - 1];
  bool has_blanks = shape->rank > 1 && count > 1;
  sb_append_cstring(printer->out, has_blanks ? "{ " : "{");
  for (int64_t i = 0; i < count; i++) {
    if (i > 0) sb_append_cstring(printer->out, ", ");
    print_array_element(printer->out, shape->type, printer->next);
    printer->next += type_storage_bytes(shape->type);
  }
  sb_append_cstring(printer->out, has_blanks ? " }" : "}");
}

/* |index| is the position along the dimension before |dimension|. */
static void print_dimension(ArrayPrinter *printer, int dimension, int64_t index) {
  const Shape *shape = printer->shape;
  if (dimension == shape->rank - 1) {
    print_innermost(printer);
    return;
  }
  sb_append_cstring(printer->out, "{ ");
  if (shape->rank > MAX_RANK_WITHOUT_COMMENTS && dimension > 0) {
    sb_printf(printer->out, "/*i%d=%lld*/ ", dimension - 1, (long long)index);
  }
  for (int64_t i = 0; i < shape->dims[dimension]; i++) {
    if (i > 0) sb_append_cstring(printer->out, ", ");
    print_dimension(printer, dimension + 1, i);
  }
  sb_append_cstring(printer->out, " }");
}

static void print_tuple(StringBuilder *out, const Literal *literal, int64_t max_elements) {
  sb_append_cstring(out, "( ");
  for (int i = 0; i < literal->shape->tuple_size; i++) {
    if (i > 0) sb_append_cstring(out, ", ");
    literal_print(out, &literal->tuple[i], max_elements);
  }
  sb_append_cstring(out, " )");
}

void literal_print(StringBuilder *out, const Literal *literal, int64_t max_elements) {
  const Shape *shape = literal->shape;
  bool is_too_long = max_elements >= 0 && shape->rank > 0 && shape_element_count(shape) > max_elements;
  if (literal->elided || (is_too_long && shape_is_array(shape))) {
    sb_append_cstring(out, "{...}");
  } else if (shape_is_tuple(shape)) {
    print_tuple(out, literal, max_elements);
  } else if (!shape_is_array(shape)) {
    sb_append_cstring(out, type_text(shape->type)); /* token: has no value, and no constant has one */
  } else if (shape->rank == 0) {
    literal_print_element(out, shape->type, literal->data);
  } else {
    ArrayPrinter printer = {out, shape, literal->data};
    print_dimension(&printer, 0, 0);
  }
}
