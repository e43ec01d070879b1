#include "cli/budget.h"

#include "base/checked_math.h"
#include "base/nearest_word.h"
#include "cli/json_file.h"
#include "compiler/compilation_facts.h"

const Total *totals_find(const Totals *totals, StringView name) {
  for (int64_t i = 0; i < totals->count; i++) {
    if (sv_equal(totals->data[i].name, name)) return &totals->data[i];
  }
  return NULL;
}

/* --- reading --- */

/* The number of the fact called |name|, -1: none. */
static int fact_called(StringView name) {
  for (int i = 0; i < compilation_fact_count(); i++) {
    if (sv_equal_cstring(name, compilation_fact_key(i))) return i;
  }
  return -1;
}

static Status report_unknown(const JsonMember *member, DiagSink *diag) {
  NearestWord nearest = nearest_word_begin(member->key);
  for (int i = 0; i < compilation_fact_count(); i++)
    nearest_word_offer(&nearest, sv_from_cstring(compilation_fact_key(i)));
  Status status =
      diag_error(diag, STATUS_INVALID, member->loc, "budget-limit", "no total is called '%.*s'", SV_ARG(member->key));
  nearest_word_note(&nearest, diag);
  if (nearest.word.size == 0) diag_note(diag, NO_LOC, "limits have the names of the totals of '--report=json'");
  return status;
}

static Status read_limit(Session *session, const JsonMember *member, Budget *budget) {
  if (fact_called(member->key) < 0) return report_unknown(member, session->diag);
  BudgetLimit limit = {sv_copy(session->arena, member->key), 0, member->loc};
  RETURN_IF_ERROR(json_member_count(member, session->diag, &limit.most));
  array_push(&budget->limits, session->arena, limit);
  return STATUS_OK;
}

static Status read_limits(Session *session, const JsonValue *file, Budget *budget) {
  JsonMembers members;
  Status status = json_members(session->arena, file, "a budget", session->diag, &members);
  for (int64_t i = 0; i < members.count; i++) {
    Status read = read_limit(session, &members.data[i], budget);
    if (read != STATUS_OK) status = read;
  }
  if (status == STATUS_OK && members.count == 0)
    status = diag_error(session->diag, STATUS_INVALID, json_value_loc(file), "budget-limit",
                        "there is no limit in this budget");
  return status;
}

Status budget_read(Session *session, Budget *out_budget) {
  *out_budget = (Budget){.path = session_option_text(session, OPTION_BUDGET, NULL)};
  if (out_budget->path == NULL) return STATUS_OK;
  JsonValue file;
  RETURN_IF_ERROR(json_file_read(session->arena, out_budget->path, session->diag, &file));
  Status status = read_limits(session, &file, out_budget);
  json_file_end(&file);
  return status;
}

/* --- checking --- */

typedef struct Excess {
  const BudgetLimit *limit;
  int64_t found;
} Excess;

typedef ARRAY(Excess) Excesses;

static Status find_excesses(Session *session, const Budget *budget, const Totals *totals, Excesses *out_excesses) {
  Status status = STATUS_OK;
  *out_excesses = (Excesses){0};
  for (int64_t i = 0; i < budget->limits.count; i++) {
    const BudgetLimit *limit = &budget->limits.data[i];
    const Total *total = totals_find(totals, limit->name);
    if (total == NULL)
      status = diag_error(session->diag, STATUS_INVALID, limit->loc, "budget-limit",
                          "'%.*s' is limited but not known here: it needs %s", SV_ARG(limit->name),
                          compilation_fact_needs(fact_called(limit->name)));
    else if (total->value > limit->most)
      array_push(out_excesses, session->arena, ((Excess){limit, total->value}));
  }
  return status;
}

/* " (+12.5 %)"; nothing where the limit is 0. */
static StringView share_over(Arena *arena, const Excess *excess) {
  double over = (double)(excess->found - excess->limit->most), most = (double)excess->limit->most;
  return most > 0 ? sv_printf(arena, " (+%.1f %%)", 100 * over / most) : SV("");
}

/* For people one table, for tools a note each, with its place. */
static void note_excesses(Session *session, const Excesses *excesses) {
  Arena *arena = session->arena;
  bool json = session_option_integer(session, OPTION_DIAGNOSTICS_FORMAT, 0) == 1;
  StringBuilder table;
  sb_init(&table, arena);
  sb_printf(&table, "%-20s %15s %15s %15s\n", "total", "limit", "found", "over");
  for (int64_t i = 0; i < excesses->count; i++) {
    const Excess *excess = &excesses->data[i];
    const BudgetLimit *limit = excess->limit;
    long long over = (long long)(excess->found - limit->most);
    StringView share = share_over(arena, excess);
    if (json)
      diag_note(session->diag, limit->loc, "'%.*s' is %lld, %lld over the limit of %lld%.*s", SV_ARG(limit->name),
                (long long)excess->found, over, (long long)limit->most, SV_ARG(share));
    sb_printf(&table, "%-20.*s %15lld %15lld %15lld%.*s\n", SV_ARG(limit->name), (long long)limit->most,
              (long long)excess->found, over, SV_ARG(share));
  }
  if (!json) diag_note(session->diag, NO_LOC, "over the budget:\n%.*s", SV_ARG(sb_view(&table)));
}

Status budget_check(Session *session, const Budget *budget, const Totals *totals) {
  Excesses excesses;
  RETURN_IF_ERROR(find_excesses(session, budget, totals, &excesses));
  if (excesses.count == 0) return STATUS_OK;
  Status status =
      diag_error(session->diag, STATUS_EXHAUSTED, NO_LOC, "budget", "%lld of the %lld limits of '%s' exceeded",
                 (long long)excesses.count, (long long)budget->limits.count, budget->path);
  note_excesses(session, &excesses);
  return status;
}

Status budget_check_compilation(Session *session, const Budget *budget) {
  if (budget->path == NULL) return STATUS_OK;
  CompilationFacts facts = compilation_facts(&session->compilation, session->arena);
  Totals totals = {0};
  for (int64_t i = 0; i < facts.count; i++)
    array_push(&totals, session->arena, ((Total){sv_from_cstring(facts.data[i].key), facts.data[i].value}));
  return budget_check(session, budget, &totals);
}
