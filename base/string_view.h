/* StringView: text that it does not own; not zero-terminated.  StringBuilder: text being made, in an arena. */
#ifndef XLAC_BASE_STRING_VIEW_H
#define XLAC_BASE_STRING_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct StringView {
  const char *data;
  size_t size;
} StringView;

#define SV(literal) ((StringView){("" literal), sizeof(literal) - 1})
/* For printf-like calls: printf("%.*s", SV_ARG(view)). */
#define SV_ARG(view) (int)(view).size, (view).data

StringView sv_from_cstring(const char *text);
bool sv_equal(StringView a, StringView b);
bool sv_equal_cstring(StringView a, const char *b);
int sv_compare(StringView a, StringView b); /* bytewise, like strcmp */
bool sv_starts_with(StringView text, StringView prefix);
bool sv_ends_with(StringView text, StringView suffix);
bool sv_contains(StringView text, StringView needle);
StringView sv_sub(StringView text, size_t start, size_t size); /* clamped to the text */
StringView sv_copy(Arena *arena, StringView text);             /* zero-terminated in |arena| */
StringView sv_printf(Arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);

/* Of ASCII, whatever the locale says. */
static inline bool char_is_digit(char c) {
  return c >= '0' && c <= '9';
}
static inline bool char_is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Digits only, no sign; false for anything else and beyond int64_t. */
bool sv_to_count(StringView text, int64_t *out_value);
/* A count with one of the suffixes K, M, G (1024), in either case, or none. */
bool sv_to_size(StringView text, int64_t *out_value);

/* The number of single-character insertions, deletions, substitutions and swaps of neighbours between |a| and |b|
 * (optimal string alignment); gives up with limit + 1 when there are more than |limit|. */
int sv_edit_distance(StringView a, StringView b, int limit);

typedef struct StringBuilder {
  Arena *arena;
  char *data; /* zero-terminated once anything was appended */
  size_t size, capacity;
} StringBuilder;

void sb_init(StringBuilder *builder, Arena *arena);
void sb_append(StringBuilder *builder, StringView text);
void sb_append_cstring(StringBuilder *builder, const char *text);
void sb_append_char(StringBuilder *builder, char c);
void sb_append_repeated(StringBuilder *builder, char c, int64_t count);
void sb_append_int(StringBuilder *builder, int64_t value);
void sb_append_double(StringBuilder *builder, double value); /* finite; shortest text that reads back the same */
void sb_printf(StringBuilder *builder, const char *format, ...) PRINTF_LIKE(2, 3);
StringView sb_view(const StringBuilder *builder);

/* What a noun after |count| ends with: "%d kernel%s". */
static inline const char *plural_ending(int64_t count) {
  return count == 1 ? "" : "s";
}

#endif
