/* Printed plans, changed at random: an edge dropped, an interval shifted, slots of a ring taken away, a store moved up.
 * What comes out may be no plan at all. */
#ifndef XLAC_CODEGEN_ONCORE_LANGUAGE_PLAN_MUTATOR_TESTING_H
#define XLAC_CODEGEN_ONCORE_LANGUAGE_PLAN_MUTATOR_TESTING_H

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checked_math.h"
#include "base/hash_map.h"
#include "base/string_view.h"

typedef struct MutantLine {
  const char *text;
  bool is_changed;
} MutantLine;

typedef struct Mutant {
  Arena *arena;
  ARRAY(MutantLine) lines; /* line n of the text is number n - 1 */
  uint64_t random;
} Mutant;

static inline int64_t mutant_draw(Mutant *mutant, int64_t below) {
  mutant->random += UINT64_C(0x9e3779b97f4a7c15);
  return (int64_t)(hash_u64(mutant->random) % (uint64_t)below);
}

static inline Mutant mutant_of(Arena *arena, StringView text, uint64_t seed) {
  Mutant mutant = {.arena = arena, .random = hash_u64(seed)};
  for (size_t start = 0, at = 0; at < text.size; at++) {
    if (text.data[at] != '\n') continue;
    MutantLine line = {arena_copy_string(arena, text.data + start, at - start), false};
    array_push(&mutant.lines, arena, line);
    start = at + 1;
  }
  return mutant;
}

static inline StringView mutant_text(const Mutant *mutant) {
  StringBuilder text;
  sb_init(&text, mutant->arena);
  for (int64_t i = 0; i < mutant->lines.count; i++) sb_printf(&text, "%s\n", mutant->lines.data[i].text);
  return sb_view(&text);
}

/* |size| characters of the line from |from| on become |with|. */
static inline void mutant_replace(Mutant *mutant, int64_t number, const char *from, size_t size, const char *with) {
  MutantLine *line = &mutant->lines.data[number];
  line->text = arena_printf(mutant->arena, "%.*s%s%s", (int)(from - line->text), line->text, with, from + size);
  line->is_changed = true;
}

/* One of the lines that have |first| and |second|, -1: there is none. */
static inline int64_t mutant_pick_line(Mutant *mutant, const char *first, const char *second) {
  int64_t from = mutant_draw(mutant, mutant->lines.count);
  for (int64_t i = 0; i < mutant->lines.count; i++) {
    int64_t number = (from + i) % mutant->lines.count;
    const char *text = mutant->lines.data[number].text;
    if (strchr(text, '#') == NULL && strstr(text, first) != NULL && strstr(text, second) != NULL) return number;
  }
  return -1;
}

/* One of the places where |what| stands in |text|. */
static inline const char *mutant_pick_place(Mutant *mutant, const char *text, const char *what) {
  int64_t count = 0;
  for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what)) count++;
  if (count == 0) return NULL;
  const char *at = strstr(text, what);
  for (int64_t n = mutant_draw(mutant, count); n > 0; n--) at = strstr(at + 1, what);
  return at;
}

static inline int64_t mutant_indent(const Mutant *mutant, int64_t number) {
  return (int64_t)strspn(mutant->lines.data[number].text, " ");
}

/* --- an edge dropped --- */

#define MUTANT_AFTER " after "

static inline void mutant_drop_edge_at(Mutant *mutant, int64_t number, const char *edge) {
  const char *after = strstr(mutant->lines.data[number].text, MUTANT_AFTER) + strlen(MUTANT_AFTER);
  size_t size = strcspn(edge, ",");
  if (edge[size] == ',')
    mutant_replace(mutant, number, edge, size + strlen(", "), "");
  else if (edge == after)
    mutant_replace(mutant, number, edge - strlen(MUTANT_AFTER), size + strlen(MUTANT_AFTER), "");
  else
    mutant_replace(mutant, number, edge - strlen(", "), size + strlen(", "), "");
}

static inline bool mutant_drop_edge(Mutant *mutant) {
  int64_t number = mutant_pick_line(mutant, MUTANT_AFTER, "");
  if (number < 0) return false;
  const char *edge = strstr(mutant->lines.data[number].text, MUTANT_AFTER) + strlen(MUTANT_AFTER);
  const char *other = mutant_pick_place(mutant, edge, ", ");
  bool is_first = other == NULL || mutant_draw(mutant, 2) == 0;
  mutant_drop_edge_at(mutant, number, is_first ? edge : other + strlen(", "));
  return true;
}

/* --- an interval shifted --- */

#define MUTANT_ROOT "from ROOT_TENSOR["

/* Of a Tensor: mostly by what may be, by little or far, or onto another Tensor. */
static inline bool mutant_shift_tensor(Mutant *mutant) {
  enum { ALIGNMENT = 64 };
  int64_t number = mutant_pick_line(mutant, "Tensor ", MUTANT_ROOT),
          other = mutant_pick_line(mutant, "Tensor ", MUTANT_ROOT);
  if (number < 0) return false;
  const char *at = strstr(mutant->lines.data[number].text, MUTANT_ROOT) + strlen(MUTANT_ROOT);
  char *colon;
  int64_t begin = strtoll(at, &colon, 10), size = strtoll(colon + 1, NULL, 10) - begin, to = begin;
  int64_t other_begin = strtoll(strstr(mutant->lines.data[other].text, MUTANT_ROOT) + strlen(MUTANT_ROOT), NULL, 10);
  int64_t kind = mutant_draw(mutant, 10), reach = 2 + size / ALIGNMENT;
  if (kind < 4) to = begin + ALIGNMENT * (mutant_draw(mutant, 2 * reach) - reach);
  if (kind == 4 || kind == 5) to = ALIGNMENT * mutant_draw(mutant, 64);
  if (kind == 6) to = begin + 1 + mutant_draw(mutant, ALIGNMENT - 1);
  if (kind == 7 || kind == 8) to = other_begin;
  if (kind == 9) to = other_begin + ALIGNMENT * (1 - mutant_draw(mutant, 3));
  if (to < 0 || to == begin) to = begin + ALIGNMENT;
  mutant_replace(mutant, number, at, strcspn(at, "]"),
                 arena_printf(mutant->arena, "%lld:%lld", (long long)to, (long long)(to + size)));
  return true;
}

/* Of a part of an array, a Tensor or the kernel's points. */
static inline bool mutant_shift_range(Mutant *mutant) {
  int64_t number = mutant_pick_line(mutant, "@", ":+");
  if (number < 0) return false;
  const char *at = mutant_pick_place(mutant, mutant->lines.data[number].text, ":+");
  static const char *const shifts[] = {"+1", "-1", "+2", "+4"};
  mutant_replace(mutant, number, at, 0, shifts[mutant_draw(mutant, 4)]);
  return true;
}

/* Of a ring: the slot after the one that was meant. */
static inline bool mutant_shift_slot(Mutant *mutant) {
  int64_t number = mutant_pick_line(mutant, "@", "%");
  if (number < 0) return false;
  const char *at = mutant_pick_place(mutant, mutant->lines.data[number].text, "%");
  const char *open = at;
  while (*open != '[' && open > mutant->lines.data[number].text) open--;
  const char *with = arena_printf(mutant->arena, "(%.*s+1)", (int)(at - open - 1), open + 1);
  mutant_replace(mutant, number, open + 1, (size_t)(at - open - 1), with);
  return true;
}

static inline bool mutant_shift_interval(Mutant *mutant) {
  int64_t kind = mutant_draw(mutant, 8);
  if (kind == 0 && mutant_shift_range(mutant)) return true;
  if (kind == 1 && mutant_shift_slot(mutant)) return true;
  return mutant_shift_tensor(mutant);
}

/* --- slots taken away --- */

/* Slot numbers of ring |name| in a line, of |slots| now. */
static inline void mutant_take_slots_in(Mutant *mutant, int64_t number, const char *name, int64_t slots) {
  const char *open = arena_printf(mutant->arena, "%s[", name);
  const char *at = strstr(mutant->lines.data[number].text, open);
  while (at != NULL) {
    size_t before = (size_t)(at - mutant->lines.data[number].text) + strlen(open);
    const char *slot = mutant->lines.data[number].text + before;
    size_t size = strcspn(slot, ",]"), kept = strcspn(slot, "%");
    if (kept > size) kept = size;
    mutant_replace(mutant, number, slot, size,
                   arena_printf(mutant->arena, "%.*s%%%lld", (int)kept, slot, (long long)slots));
    at = strstr(mutant->lines.data[number].text + before, open);
  }
}

/* Waits for what was |slots| iterations ago become waits for what was |left| ago. */
static inline void mutant_tighten(Mutant *mutant, int64_t slots, int64_t left) {
  const char *old = arena_printf(mutant->arena, "-%lld]", (long long)slots);
  const char *with = arena_printf(mutant->arena, "-%lld]", (long long)left);
  for (int64_t i = 0; i < mutant->lines.count; i++) {
    const char *after = strstr(mutant->lines.data[i].text, MUTANT_AFTER);
    const char *at = after == NULL ? NULL : strstr(after, old);
    while (at != NULL) {
      size_t before = (size_t)(at - mutant->lines.data[i].text);
      mutant_replace(mutant, i, at, strlen(old), with);
      at = strstr(mutant->lines.data[i].text + before + 1, old);
    }
  }
}

static inline bool mutant_take_slots(Mutant *mutant) {
  int64_t number = mutant_pick_line(mutant, "Tensor ring", "shape=(");
  if (number < 0) return false;
  const char *text = mutant->lines.data[number].text, *begin = strstr(text, "Tensor ") + strlen("Tensor ");
  const char *name = arena_copy_string(mutant->arena, begin, strcspn(begin, "("));
  const char *shape = strstr(text, "shape=(") + strlen("shape=(");
  char *end;
  int64_t slots = strtoll(shape, &end, 10);
  if (slots < 2) return false;
  int64_t left = 1 + mutant_draw(mutant, slots - 1), kind = mutant_draw(mutant, 4);
  if (kind > 0) {
    mutant_replace(mutant, number, shape, (size_t)(end - shape), arena_printf(mutant->arena, "%lld", (long long)left));
  }
  for (int64_t i = number + 1; i < mutant->lines.count; i++) mutant_take_slots_in(mutant, i, name, left);
  if (kind > 1) mutant_tighten(mutant, slots, left);
  return true;
}

/* --- a store moved up --- */

static inline const char *mutant_label(const Mutant *mutant, int64_t number) {
  const char *text = mutant->lines.data[number].text + mutant_indent(mutant, number);
  return arena_copy_string(mutant->arena, text, strcspn(text, ": "));
}

/* Nothing can wait for what comes later: such edges go, or are to the run before, in the loop around line |number|. */
static inline void mutant_turn_edges(Mutant *mutant, int64_t number, const char *label, bool drops) {
  const char *text = mutant->lines.data[number].text, *after = strstr(text, MUTANT_AFTER);
  const char *edge = after == NULL ? NULL : strstr(after, label);
  if (edge == NULL || edge[-1] != ' ' || (edge[strlen(label)] != ',' && edge[strlen(label)] != '\0')) return;
  int64_t loop = number;
  while (loop >= 0 && mutant_indent(mutant, loop) >= mutant_indent(mutant, number)) loop--;
  const char *head = loop < 0 ? NULL : strstr(mutant->lines.data[loop].text, "for ");
  if (drops || head == NULL) {
    mutant_drop_edge_at(mutant, number, edge);
    return;
  }
  head += strlen("for ");
  mutant_replace(mutant, number, edge + strlen(label), 0,
                 arena_printf(mutant->arena, "[%.*s-1]", (int)strcspn(head, " "), head));
}

/* What a store before it on its queue has waited for, a store on line |number| need not say; in front of it it must. */
static inline void mutant_take_edges(Mutant *mutant, int64_t number, int64_t passed) {
  const char *text = mutant->lines.data[number].text, *others = strstr(mutant->lines.data[passed].text, MUTANT_AFTER);
  bool is_store = strstr(mutant->lines.data[passed].text, "store@") != NULL;
  if (!is_store || others == NULL || strstr(text, others) != NULL) return;
  bool has_own = strstr(text, MUTANT_AFTER) != NULL;
  others += has_own ? strlen(MUTANT_AFTER) : 0;
  mutant_replace(mutant, number, text + strlen(text), 0,
                 arena_printf(mutant->arena, "%s%s", has_own ? ", " : "", others));
}

/* Who waited for the last store of several waits for what is now the last one. */
static inline void mutant_pass_edges(Mutant *mutant, int64_t moved, int64_t passed) {
  const char *from = mutant_label(mutant, moved), *to = mutant_label(mutant, passed);
  if (strstr(mutant->lines.data[passed].text, "store@") == NULL) return;
  for (int64_t i = 0; i < mutant->lines.count; i++) {
    const char *after = strstr(mutant->lines.data[i].text, MUTANT_AFTER);
    const char *edge = after == NULL ? NULL : strstr(after, from);
    bool is_edge = edge != NULL && edge[-1] == ' ' && strchr("[,", edge[strlen(from)]) != NULL;
    if (is_edge) mutant_replace(mutant, i, edge, strlen(from), to);
  }
}

/* Within its block, to before one of the commands or loops there. */
static inline bool mutant_move_store(Mutant *mutant) {
  enum { MOST_PLACES = 64 };
  int64_t number = mutant_pick_line(mutant, "store@", "");
  if (number < 0) return false;
  int64_t indent = mutant_indent(mutant, number), count = 0, places[MOST_PLACES];
  for (int64_t i = number - 1; i >= 0 && mutant_indent(mutant, i) >= indent && count < MOST_PLACES; i--) {
    const char *text = mutant->lines.data[i].text + mutant_indent(mutant, i);
    bool is_node = strchr(text, '@') != NULL || strncmp(text, "for ", strlen("for ")) == 0;
    if (mutant_indent(mutant, i) == indent && is_node) places[count++] = i;
  }
  if (count == 0) return false;
  int64_t to = places[min_i64(mutant_draw(mutant, count), mutant_draw(mutant, count))],
          kind = min_i64(mutant_draw(mutant, 6), 4);
  MutantLine moved = mutant->lines.data[number];
  for (int64_t i = number; i > to; i--) mutant->lines.data[i] = mutant->lines.data[i - 1];
  moved.is_changed = true;
  mutant->lines.data[to] = moved;
  for (int64_t i = number; i > to && kind > 0; i--) {
    if (kind > 2) mutant_take_edges(mutant, to, i);
    if (kind > 3) mutant_pass_edges(mutant, to, i);
    mutant_turn_edges(mutant, to, mutant_label(mutant, i), kind == 1);
  }
  return true;
}

/* --- a run-time place changed --- */

/* The start of a dynamic slice in an array's place becomes something else, or the same said otherwise. */
static inline bool mutant_change_place(Mutant *mutant) {
  static const char *const afters[] = {"/2*2", "*2/2", "%7", "%1000", "/59*59", "+1", "*2", "/4*3"};
  int64_t number = mutant_pick_line(mutant, "offset=", "start");
  if (number < 0) return false;
  const char *offset = strstr(mutant->lines.data[number].text, "offset=");
  const char *at = mutant_pick_place(mutant, offset, "start");
  size_t size = strlen("start0");
  int64_t kind = mutant_draw(mutant, 10);
  if (kind < 8)
    mutant_replace(mutant, number, at, size, arena_printf(mutant->arena, "(%.*s%s)", (int)size, at, afters[kind]));
  else
    mutant_replace(mutant, number, at, size, kind == 8 ? "start1" : "start0");
  return true;
}

/* --- kinds --- */

typedef struct MutationKind {
  const char *name;
  const char *suits;              /* part of the texts that give more than trivial ones; they are taken more often */
  bool (*change)(Mutant *mutant); /* false: there was nothing to change */
} MutationKind;

static const MutationKind mutation_kinds[] = {
    {"edge dropped", MUTANT_AFTER, mutant_drop_edge},       {"interval shifted", MUTANT_ROOT, mutant_shift_interval},
    {"slots taken away", "kind=ring", mutant_take_slots},   {"store moved up", " st1: ", mutant_move_store},
    {"place changed", "offset=start", mutant_change_place},
};

enum { MUTATION_KINDS = sizeof mutation_kinds / sizeof *mutation_kinds };

#endif
