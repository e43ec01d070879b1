#include "codegen/entry_name.h"

#include <string.h>

/* C11 and C23, C++20 with its other spellings of operators, GNU's words; each between blanks. */
static const char *const words[] = {
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char class co_await co_return co_yield ",
    " compl concept const const_cast consteval constexpr constinit continue decltype default delete do double ",
    " dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace ",
    " new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires ",
    " restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local ",
    " throw true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile while ",
    " xor xor_eq main std ",
};

static const char *const c_names[] = {
#include "codegen/c_names.def"
    " DIR FILE ", /* types that are not named like types */
};

/* How other names begin and end that are not free. */
static const struct {
  const char *prefix, *suffix;
} reserved[] = {{"_", ""}, {"", "_t"}, {"Xla", ""}, {"XLA", ""}};

static bool is_letter(char c) {
  return char_is_letter(c) || c == '_';
}

bool entry_name_is_identifier(StringView name) {
  for (size_t i = 0; i < name.size; i++) {
    if (!is_letter(name.data[i]) && (i == 0 || !char_is_digit(name.data[i]))) return false;
  }
  return name.size > 0;
}

/* Whether one of |lines| has |word|, blanks included. */
static bool has_word(const char *const *lines, size_t count, StringView word) {
  for (size_t i = 0; i < count; i++) {
    if (sv_contains(sv_from_cstring(lines[i]), word)) return true;
  }
  return false;
}

bool entry_name_is_free(StringView name) {
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
    if (sv_starts_with(name, sv_from_cstring(reserved[i].prefix)) &&
        sv_ends_with(name, sv_from_cstring(reserved[i].suffix)))
      return false;
  }
  Arena *scratch = arena_create();
  StringView word = sv_printf(scratch, " %.*s ", SV_ARG(name));
  bool is_taken =
      has_word(words, sizeof words / sizeof *words, word) || has_word(c_names, sizeof c_names / sizeof *c_names, word);
  arena_destroy(scratch);
  return !is_taken;
}

static bool is_target(const CallTargets *targets, StringView name) {
  for (int64_t i = 0; i < targets->count; i++) {
    if (call_target_is_entry(targets->targets[i].symbol, name)) return true;
  }
  return false;
}

static StringView with_free_characters(Arena *arena, StringView name) {
  StringBuilder text;
  sb_init(&text, arena);
  for (size_t i = 0; i < name.size; i++)
    sb_append_char(&text, is_letter(name.data[i]) || char_is_digit(name.data[i]) ? name.data[i] : '_');
  return sb_view(&text);
}

StringView entry_name_made_of(Arena *arena, StringView given, const CallTargets *targets, bool *out_is_changed) {
  StringView name = with_free_characters(arena, given);
  *out_is_changed = sv_ends_with(name, SV("_t"));
  if (*out_is_changed) name = sv_printf(arena, "%.*s_", SV_ARG(name)); /* no prefix would help */
  while (!entry_name_is_identifier(name) || !entry_name_is_free(name) || is_target(targets, name)) {
    name = sv_printf(arena, ENTRY_NAME_PREFIX "%.*s", SV_ARG(name));
    *out_is_changed = true;
  }
  return name;
}
