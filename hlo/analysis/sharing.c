#include "hlo/analysis/sharing.h"

/* --- paths --- */

typedef struct Search {
  HloAlias *alias;
  Arena *arena;
  int32_t *queue, count;
  int32_t *from;       /* by value: the value it was reached from; -1: not yet */
  SharingStep *reason; /* by value: how */
} Search;

static void reach(Search *search, int32_t from, int32_t to, SharingStep step) {
  if (search->from[to] >= 0) return;
  search->from[to] = from;
  search->reason[to] = step;
  search->queue[search->count++] = to;
}

static void follow_joins(Search *search, int32_t at) {
  for (int64_t i = 0; i < search->alias->joins.count; i++) {
    const AliasJoin *join = &search->alias->joins.data[i];
    if (join->a == at) reach(search, at, join->b, (SharingStep){false, *join});
    if (join->b == at) reach(search, at, join->a, (SharingStep){false, *join});
  }
}

static void follow_overwrites(Search *search, int32_t at, const bool *members) {
  for (int32_t other = 0; other < search->alias->flow->value_count; other++) {
    if (!members[other] || search->from[other] >= 0) continue;
    bool forwards = hlo_alias_is_overwritten_by(search->alias, at, other);
    if (!forwards && !hlo_alias_is_overwritten_by(search->alias, other, at)) continue;
    AliasJoin join = {.a = forwards ? at : other, .b = forwards ? other : at};
    reach(search, at, other, (SharingStep){true, join});
  }
}

SharingPath sharing_path(HloAlias *alias, int32_t a, int32_t b, const bool *members, Arena *arena) {
  int32_t values = alias->flow->value_count;
  Search search = {.alias = alias,
                   .arena = arena,
                   .queue = ARENA_NEW_ARRAY(arena, int32_t, values + 1),
                   .from = ARENA_NEW_ARRAY(arena, int32_t, values + 1),
                   .reason = ARENA_NEW_ARRAY(arena, SharingStep, values + 1)};
  for (int32_t i = 0; i < values; i++) search.from[i] = -1;
  reach(&search, b, b, (SharingStep){0});
  for (int32_t i = 0; i < search.count && search.from[a] < 0; i++) {
    follow_joins(&search, search.queue[i]);
    if (members) follow_overwrites(&search, search.queue[i], members);
  }
  if (search.from[a] < 0 || a == b) return (SharingPath){0, NULL};
  SharingStep *steps = ARENA_NEW_ARRAY(arena, SharingStep, search.count + 1);
  int32_t count = 0;
  for (int32_t at = a; at != b; at = search.from[at]) steps[count++] = search.reason[at];
  return (SharingPath){count, steps};
}

AliasRefusal sharing_refusal(HloAlias *alias, const int32_t *left, int32_t left_count, const int32_t *right,
                             int32_t right_count) {
  AliasRefusal refusal = {ALIAS_GRANTED, left[0], right[0]};
  for (int32_t i = 0; i < left_count && refusal.kind == ALIAS_GRANTED; i++) {
    for (int32_t k = 0; k < right_count && refusal.kind == ALIAS_GRANTED; k++)
      refusal = hlo_alias_refusal_to_unite(alias, left[i], right[k]);
  }
  return refusal;
}

/* --- words --- */

const char *sharing_step_text(const HloAlias *alias, const SharingStep *step, Arena *arena) {
  const AliasJoin *join = &step->join;
  const char *a = hlo_alias_value_name(alias, join->a, arena), *b = hlo_alias_value_name(alias, join->b, arena);
  const char *site = join->site ? arena_printf(arena, "'%.*s'", SV_ARG(join->site->name)) : "";
  if (step->overwrites)
    return arena_printf(arena, "dying operand: %s overwrites %s, which it is the last to read, element by element", b,
                        a);
  switch (join->edge) {
    case ALIAS_IN_PLACE:
      return arena_printf(arena, "update in place: %s updates %s where it is, which makes %s", site, a, b);
    case ALIAS_LOOP_INIT: return arena_printf(arena, "loop state: %s goes into loop %s as %s", a, site, b);
    case ALIAS_LOOP_RESULT:
      return arena_printf(arena, "loop state: the body of loop %s returns %s to its next round as %s", site, a, b);
    case ALIAS_LOOP_STATE:
      return arena_printf(arena, "loop state: %s and %s are the state of loop %s, %s", a, b, site,
                          join->index == 0 ? "in its body and in its condition" : "in its body and as its result");
    case ALIAS_BRANCH:
      return arena_printf(arena, "branch result: branch %d of %s returns %s, which is %s then", join->index, site, a,
                          b);
    case ALIAS_DONATION: return arena_printf(arena, "donation: argument %s is donated to the result that %s is", a, b);
    case ALIAS_RESULT: return arena_printf(arena, "result: %s and %s are one result", a, b);
  }
  return "";
}

const char *sharing_refusal_rule(AliasRefusal refusal) {
  switch (refusal.kind) {
    case ALIAS_GRANTED: return "none";
    case ALIAS_READ_ONLY: return "read only";
    case ALIAS_LAYOUT: return "layout or memory space";
    case ALIAS_TWO_HOMES: return "two homes";
    case ALIAS_ALIGNMENT: return "alignment";
    case ALIAS_OVERLAP: return "lifetimes";
  }
  return "";
}
