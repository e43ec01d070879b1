#include "passes/pipeline/rewrite_log.h"

void rewrite_log_init(HloRewriteLog *log, Arena *arena, int64_t limit) {
  *log = (HloRewriteLog){.arena = arena, .limit = limit};
  int_map_init(&log->index, arena);
}

bool rewrite_log_is_exhausted(const HloRewriteLog *log) {
  return log->limit >= 0 && !log->is_needed && log->steps >= log->limit;
}

void rewrite_log_add(HloRewriteLog *log, const char *rule, const HloInstruction *at) {
  /* Names of rules and passes are literals: their addresses stand for them. */
  uint64_t key = hash_combine((uint64_t)(uintptr_t)log->pass, (uint64_t)(uintptr_t)rule);
  int64_t row;
  if (!int_map_find(&log->index, key, &row)) {
    row = log->counts.count;
    array_push(&log->counts, log->arena, ((HloRewriteCount){log->pass, rule, 0}));
    int_map_set(&log->index, key, row);
  }
  log->counts.data[row].count++;
  if (log->is_needed) return;
  log->steps++;
  log->last_pass = log->pass;
  log->last_rule = rule;
  log->last_instruction = at != NULL ? at->name : (StringView){0};
}

bool hlo_pass_may_rewrite(const HloPassContext *context) {
  return context->rewrites == NULL || !rewrite_log_is_exhausted(context->rewrites);
}

void hlo_pass_count_rewrite(HloPassContext *context, const char *rule, const HloInstruction *at) {
  if (context->rewrites != NULL) rewrite_log_add(context->rewrites, rule, at);
}
