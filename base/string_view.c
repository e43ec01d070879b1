#include "base/string_view.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked_math.h"

StringView sv_from_cstring(const char *text) {
  return (StringView){text, text != NULL ? strlen(text) : 0};
}

bool sv_equal(StringView a, StringView b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool sv_equal_cstring(StringView a, const char *b) {
  return sv_equal(a, sv_from_cstring(b));
}

int sv_compare(StringView a, StringView b) {
  size_t shorter = a.size < b.size ? a.size : b.size;
  int order = shorter != 0 ? memcmp(a.data, b.data, shorter) : 0;
  if (order != 0) return order < 0 ? -1 : 1;
  return (a.size > b.size) - (a.size < b.size);
}

bool sv_starts_with(StringView text, StringView prefix) {
  return text.size >= prefix.size && sv_equal(sv_sub(text, 0, prefix.size), prefix);
}

bool sv_ends_with(StringView text, StringView suffix) {
  return text.size >= suffix.size && sv_equal(sv_sub(text, text.size - suffix.size, suffix.size), suffix);
}

bool sv_contains(StringView text, StringView needle) {
  if (needle.size == 0) return true;
  return text.size >= needle.size && memmem(text.data, text.size, needle.data, needle.size) != NULL;
}

StringView sv_sub(StringView text, size_t start, size_t size) {
  if (start > text.size) start = text.size;
  if (size > text.size - start) size = text.size - start;
  return (StringView){text.data != NULL ? text.data + start : NULL, size};
}

StringView sv_copy(Arena *arena, StringView text) {
  return (StringView){arena_copy_string(arena, text.data, text.size), text.size};
}

StringView sv_printf(Arena *arena, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = arena_vprintf(arena, format, arguments);
  va_end(arguments);
  return sv_from_cstring(text);
}

bool sv_to_count(StringView text, int64_t *out_value) {
  int64_t value = 0;
  for (size_t i = 0; i < text.size; i++) {
    char c = text.data[i];
    if (c < '0' || c > '9' || !checked_mul(value, 10, &value) || !checked_add(value, c - '0', &value)) return false;
  }
  *out_value = value;
  return text.size > 0;
}

bool sv_to_size(StringView text, int64_t *out_value) {
  static const char suffixes[] = "KMG";
  char last = text.size > 0 ? (char)toupper((unsigned char)text.data[text.size - 1]) : '\0';
  const char *suffix = last ? strchr(suffixes, last) : NULL;
  if (!suffix) return sv_to_count(text, out_value);
  return sv_to_count(sv_sub(text, 0, text.size - 1), out_value) &&
         checked_mul(*out_value, (int64_t)1 << (10 * (suffix - suffixes + 1)), out_value);
}

static int min_int(int a, int b) {
  return a < b ? a : b;
}

int sv_edit_distance(StringView a, StringView b, int limit) {
  /* Names longer than this are never compared for a "did you mean". */
  enum { LONGEST = 255 };
  XLAC_CHECK(limit >= 0);
  size_t difference = a.size > b.size ? a.size - b.size : b.size - a.size;
  if (difference > (size_t)limit) return limit + 1;
  if (a.size > LONGEST || b.size > LONGEST) return sv_equal(a, b) ? 0 : limit + 1;
  /* Three rows of the usual table: a neighbour swap reaches two rows back. */
  int rows[3][LONGEST + 1];
  int *before = rows[0], *previous = rows[1], *current = rows[2];
  for (size_t j = 0; j <= b.size; j++) previous[j] = (int)j;
  for (size_t i = 1; i <= a.size; i++) {
    int smallest = current[0] = (int)i;
    for (size_t j = 1; j <= b.size; j++) {
      int substitute = previous[j - 1] + (a.data[i - 1] != b.data[j - 1]);
      int best = min_int(substitute, 1 + min_int(previous[j], current[j - 1]));
      bool swapped = i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1];
      if (swapped) best = min_int(best, before[j - 2] + 1);
      current[j] = best;
      smallest = min_int(smallest, best);
    }
    /* Rows never fall: a swap starts one row earlier, where all is at most one less, and costs one. */
    if (smallest > limit) return limit + 1;
    int *oldest = before;
    before = previous;
    previous = current;
    current = oldest;
  }
  return min_int(previous[b.size], limit + 1);
}

void sb_init(StringBuilder *builder, Arena *arena) {
  *builder = (StringBuilder){.arena = arena};
}

/* Makes room for |extra| more characters and the zero after them. */
static void sb_reserve(StringBuilder *builder, size_t extra) {
  enum { SMALLEST = 64 };
  if (extra < builder->capacity - builder->size) return;
  if (extra > SIZE_MAX / 4 || builder->size > SIZE_MAX / 4) XLAC_BUG("text of %zu bytes", builder->size);
  size_t needed = builder->size + extra + 1;
  size_t capacity = builder->capacity * 2;
  if (capacity < needed) capacity = needed;
  if (capacity < SMALLEST) capacity = SMALLEST;
  if (!arena_extend(builder->arena, builder->data, builder->capacity, capacity)) {
    char *data = arena_alloc(builder->arena, capacity);
    if (builder->size != 0) memcpy(data, builder->data, builder->size);
    builder->data = data;
  }
  builder->capacity = capacity;
}

void sb_append(StringBuilder *builder, StringView text) {
  sb_reserve(builder, text.size);
  if (text.size != 0) memcpy(builder->data + builder->size, text.data, text.size);
  builder->size += text.size;
  builder->data[builder->size] = '\0';
}

void sb_append_cstring(StringBuilder *builder, const char *text) {
  sb_append(builder, sv_from_cstring(text));
}

void sb_append_char(StringBuilder *builder, char c) {
  sb_reserve(builder, 1);
  builder->data[builder->size++] = c;
  builder->data[builder->size] = '\0';
}

void sb_append_repeated(StringBuilder *builder, char c, int64_t count) {
  if (count <= 0) return;
  sb_reserve(builder, (size_t)count);
  memset(builder->data + builder->size, c, (size_t)count);
  builder->size += (size_t)count;
  builder->data[builder->size] = '\0';
}

void sb_append_int(StringBuilder *builder, int64_t value) {
  char digits[24];
  char *first = digits + sizeof digits;
  uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
  do {
    *--first = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (value < 0) *--first = '-';
  sb_append(builder, (StringView){first, (size_t)(digits + sizeof digits - first)});
}

/* A normal double that some 15 digits denote is given by just these; subnormals have fewer. */
void sb_append_double(StringBuilder *builder, double value) {
  char text[40];
  int length = 0;
  for (int digits = fpclassify(value) == FP_SUBNORMAL ? 1 : 15; digits <= 17; digits++) {
    length = snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  sb_append(builder, (StringView){text, (size_t)length});
}

void sb_printf(StringBuilder *builder, const char *format, ...) {
  va_list arguments;
  sb_reserve(builder, 64);
  size_t room = builder->capacity - builder->size;
  va_start(arguments, format);
  int length = vsnprintf(builder->data + builder->size, room, format, arguments);
  va_end(arguments);
  if (length < 0) XLAC_BUG("cannot format '%s'", format);
  if ((size_t)length >= room) {
    sb_reserve(builder, (size_t)length);
    va_start(arguments, format);
    vsnprintf(builder->data + builder->size, (size_t)length + 1, format, arguments);
    va_end(arguments);
  }
  builder->size += (size_t)length;
}

StringView sb_view(const StringBuilder *builder) {
  return (StringView){builder->data != NULL ? builder->data : "", builder->size};
}
