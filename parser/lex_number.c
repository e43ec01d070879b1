/* Numbers: the patterns of the lexer and the conversion to double. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked_math.h"
#include "parser/hlo_lexer.h"

bool number_scan_integer(const char **cursor, const char *end, int64_t *out_value) {
  const char *c = *cursor;
  bool negative = c < end && *c == '-';
  if (negative) c++;
  if (c >= end || !char_is_digit(*c)) return false;
  uint64_t value = 0;
  bool fits = true;
  for (; c < end && char_is_digit(*c); c++) {
    fits = fits && !__builtin_mul_overflow(value, (uint64_t)10, &value) &&
           !__builtin_add_overflow(value, (uint64_t)(*c - '0'), &value);
  }
  if (!fits || (negative && value > (uint64_t)1 << 63)) return false;
  *cursor = c;
  *out_value = (int64_t)(negative ? 0 - value : value);
  return true;
}

const char *number_match_decimal(const char *cursor, const char *end) {
  const char *c = cursor;
  if (c < end && *c == '-') c++;
  const char *digits = c;
  while (c < end && char_is_digit(*c)) c++;
  bool any = c > digits, dot = false;
  if (c < end && *c == '.') {
    const char *fraction = c + 1;
    while (fraction < end && char_is_digit(*fraction)) fraction++;
    if (any || fraction > c + 1) {
      any = dot = true;
      c = fraction;
    }
  }
  if (!any) return NULL;
  if (c < end && (*c == 'e' || *c == 'E')) {
    const char *exponent = c + 1;
    if (exponent < end && (*exponent == '+' || *exponent == '-')) exponent++;
    if (exponent < end && char_is_digit(*exponent)) {
      while (exponent < end && char_is_digit(*exponent)) exponent++;
      return exponent;
    }
  }
  return dot ? c : NULL;
}

/* More digits than this never change the rounding of a double (the exact decimal expansion of a midpoint has at most
 * 768). */
enum { MAX_DIGITS = 800, EXPONENT_LIMIT = 100000 };

/* Digits with a power of ten: what stands before 'e'. */
typedef struct Significand {
  char digits[MAX_DIGITS + 32]; /* without leading zeroes; room for "e-100000" after them */
  int count;                    /* 0: the number is zero */
  int64_t exponent;
} Significand;

/* At most MAX_DIGITS digits and a sticky one, which says that there was more. */
static void read_significand(const char *c, const char *end, Significand *out) {
  bool fraction = false, sticky = false;
  out->count = 0;
  out->exponent = 0;
  for (; c < end; c++) {
    if (*c == '.') {
      fraction = true;
    } else if (out->count == 0 && *c == '0') {
      out->exponent -= fraction;
    } else if (out->count < MAX_DIGITS) {
      out->digits[out->count++] = *c;
      out->exponent -= fraction;
    } else {
      sticky = sticky || *c != '0';
      out->exponent += !fraction;
    }
  }
  if (!sticky) return;
  out->digits[out->count++] = '1';
  out->exponent--;
}

/* The general case, by strtod, from a copy that is bounded: the digits in [c, end) times ten to the power of
 * |written|. */
static double convert_slowly(const char *c, const char *end, int64_t written) {
  Significand number;
  bool negative = *c == '-';
  read_significand(negative ? c + 1 : c, end, &number);
  if (number.count == 0) return negative ? -0.0 : 0.0;
  int64_t exponent = max_i64(-EXPONENT_LIMIT, min_i64(number.exponent + written, EXPONENT_LIMIT));
  char *rest = number.digits + number.count;
  snprintf(rest, sizeof number.digits - (size_t)number.count, "e%d", (int)exponent);
  double value = strtod(number.digits, NULL);
  return negative ? -value : value;
}

/* Clinger's fast path: a mantissa and a power of ten that are both exact in double need one correctly rounded
 * operation. */
static bool convert_exactly(uint64_t mantissa, int64_t exponent, double *out_value) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (mantissa > (uint64_t)1 << 53 || exponent < -22 || exponent > 22) return false;
  *out_value = exponent < 0 ? (double)mantissa / powers[-exponent] : (double)mantissa * powers[exponent];
  return true;
}

/* An exponent at |c|: its value, and what is after it; NULL when there is none.  What comes near 2^63 is cut off: more
 * than any number of digits makes up for. */
static const char *scan_exponent(const char *c, const char *end, int64_t *out_value) {
  if (c == end || (*c | 0x20) != 'e') return NULL;
  c++;
  bool negative = c < end && *c == '-';
  if (c < end && (*c == '-' || *c == '+')) c++;
  if (c == end || !char_is_digit(*c)) return NULL;
  int64_t value = 0;
  for (; c < end && char_is_digit(*c); c++) {
    if (value < INT64_MAX / 20) value = value * 10 + (*c - '0');
  }
  *out_value = negative ? -value : value;
  return c;
}

static bool scan_as_integer(const char **cursor, const char *end, Number *out_number) {
  *out_number = (Number){.is_integer = true};
  return number_scan_integer(cursor, end, &out_number->integer);
}

bool number_scan(const char **cursor, const char *end, Number *out_number) {
  const char *start = *cursor, *c = start;
  bool negative = c < end && *c == '-';
  if (negative) c++;
  const char *digits = c;
  uint64_t mantissa = 0; /* wraps; used only if the digits are few */
  for (; c < end && char_is_digit(*c); c++) mantissa = mantissa * 10 + (uint64_t)(*c - '0');
  int64_t digit_count = c - digits, exponent = 0;
  bool dot = c < end && *c == '.';
  if (dot) {
    const char *fraction = ++c;
    for (; c < end && char_is_digit(*c); c++) mantissa = mantissa * 10 + (uint64_t)(*c - '0');
    exponent = fraction - c;
    digit_count += c - fraction;
  }
  if (digit_count == 0) return false;
  int64_t written = 0;
  const char *behind = scan_exponent(c, end, &written);
  if (!dot && !behind) {
    if (digit_count > 18) return scan_as_integer(cursor, end, out_number);
    *out_number = (Number){.is_integer = true, .integer = negative ? -(int64_t)mantissa : (int64_t)mantissa};
    *cursor = c;
    return true;
  }
  double value;
  if (digit_count <= 19 && convert_exactly(mantissa, exponent + written, &value)) {
    value = negative ? -value : value;
  } else {
    value = convert_slowly(start, c, written);
  }
  if (behind) c = behind;
  *out_number = (Number){.real = value};
  *cursor = c;
  return true;
}
