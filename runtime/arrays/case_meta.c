#include "runtime/arrays/case_meta.h"

#include <string.h>

#include "base/file_io.h"
#include "runtime/arrays/json_tree.h"

/* The number called |name|, or |fallback|. */
static double number_or(const cJSON *object, const char *name, double fallback) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  return cJSON_IsNumber(item) ? item->valuedouble : fallback;
}

static int64_t integer_or(const cJSON *object, const char *name, int64_t fallback) {
  double value = number_or(object, name, (double)fallback);
  return value >= -0x1p53 && value <= 0x1p53 ? (int64_t)value : fallback;
}

static Status bad_meta(DiagSink *diag, StringView label, const char *why) {
  return diag_error(diag, STATUS_INVALID, NO_LOC, "meta", "'%.*s': %s", SV_ARG(label), why);
}

static Status read_rule(const cJSON *parameter, StringView label, DiagSink *diag, SeedRule *out_rule) {
  *out_rule = SEED_RULE_DEFAULT;
  const cJSON *init = cJSON_GetObjectItemCaseSensitive(parameter, "init");
  if (!cJSON_IsObject(init)) return STATUS_OK;
  const cJSON *kind = cJSON_GetObjectItemCaseSensitive(init, "kind");
  if (cJSON_IsString(kind) && !seed_kind_from_text(sv_from_cstring(kind->valuestring), &out_rule->kind))
    return diag_error(diag, STATUS_INVALID, NO_LOC, "meta", "'%.*s': there is no rule '%s' for inputs", SV_ARG(label),
                      kind->valuestring);
  out_rule->scale = number_or(init, "scale", 1.0);
  out_rule->offset = number_or(init, "offset", 0.0);
  out_rule->has_lo = cJSON_HasObjectItem(init, "lo");
  out_rule->lo = number_or(init, "lo", 0.0);
  out_rule->has_hi = cJSON_HasObjectItem(init, "hi");
  out_rule->hi = number_or(init, "hi", 0.0);
  out_rule->value = number_or(init, "value", 0.0);
  out_rule->mod = integer_or(init, "mod", 0);
  return STATUS_OK;
}

static int64_t count_numbers(const cJSON *list) {
  int64_t count = 0;
  const cJSON *item = NULL;
  if (!cJSON_IsArray(list)) return cJSON_IsNumber(list) || cJSON_IsBool(list);
  cJSON_ArrayForEach(item, list) count += count_numbers(item);
  return count;
}

/* Lists in lists, as deep as cJSON reads them, to |*next| on. */
static void read_numbers(const cJSON *list, double **next) {
  const cJSON *item = NULL;
  if (cJSON_IsNumber(list)) *(*next)++ = list->valuedouble;
  if (cJSON_IsBool(list)) *(*next)++ = cJSON_IsTrue(list);
  if (!cJSON_IsArray(list)) return;
  cJSON_ArrayForEach(item, list) read_numbers(item, next);
}

static CaseLeaf read_leaf(Arena *arena, const cJSON *object) {
  CaseLeaf leaf = {0};
  const cJSON *dims = cJSON_GetObjectItemCaseSensitive(object, "dims"), *item = NULL;
  if (cJSON_IsArray(dims)) {
    int64_t *sizes = ARENA_NEW_ARRAY(arena, int64_t, cJSON_GetArraySize(dims) + 1);
    cJSON_ArrayForEach(item, dims) {
      if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble > 0x1p53) return leaf;
      sizes[leaf.rank++] = (int64_t)item->valuedouble;
    }
    leaf.dims = sizes;
  }
  const cJSON *sharding = cJSON_GetObjectItemCaseSensitive(object, "sharding");
  if (cJSON_IsString(sharding)) leaf.sharding = sv_copy(arena, sv_from_cstring(sharding->valuestring));
  const cJSON *values = cJSON_GetObjectItemCaseSensitive(object, "per_device");
  leaf.value_count = count_numbers(values);
  double *next = ARENA_NEW_ARRAY(arena, double, leaf.value_count);
  leaf.device_values = next;
  read_numbers(values, &next);
  return leaf;
}

static CompareRule read_result(const cJSON *result, const CaseMeta *meta) {
  CompareRule rule = {.rtol = number_or(result, "rtol", meta->rtol),
                      .atol = number_or(result, "atol", meta->atol),
                      .max_mismatch = number_or(result, "max_mismatch", 0.0),
                      .sample_stride = integer_or(result, "sample_stride", 1)};
  if (rule.sample_stride < 1) rule.sample_stride = 1;
  const cJSON *stats = cJSON_GetObjectItemCaseSensitive(result, "stats");
  const cJSON *mean = cJSON_GetObjectItemCaseSensitive(stats, "mean"),
              *l2 = cJSON_GetObjectItemCaseSensitive(stats, "l2");
  rule.has_stats = cJSON_IsNumber(mean) && cJSON_IsNumber(l2) && number_or(stats, "nonfinite", 0) == 0;
  rule.mean = number_or(stats, "mean", 0.0);
  rule.l2 = number_or(stats, "l2", 0.0);
  return rule;
}

static Status read_meta(Arena *arena, StringView label, const cJSON *root, DiagSink *diag, CaseMeta *out) {
  if (!cJSON_IsObject(root)) return bad_meta(diag, label, "not a JSON object");
  *out = (CaseMeta){.seed = (uint64_t)integer_or(root, "seed", 0),
                    .rtol = number_or(root, "rtol", 0.0),
                    .atol = number_or(root, "atol", 0.0)};
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "params"), *item = NULL;
  SeedRule *rules = ARENA_NEW_ARRAY(arena, SeedRule, cJSON_GetArraySize(list));
  CaseLeaf *leaves = ARENA_NEW_ARRAY(arena, CaseLeaf, cJSON_GetArraySize(list));
  cJSON_ArrayForEach(item, list) {
    leaves[out->parameter_count] = read_leaf(arena, item);
    RETURN_IF_ERROR(read_rule(item, label, diag, &rules[out->parameter_count++]));
  }
  out->parameters = rules;
  out->parameter_leaves = leaves;
  list = cJSON_GetObjectItemCaseSensitive(root, "results");
  CompareRule *results = ARENA_NEW_ARRAY(arena, CompareRule, cJSON_GetArraySize(list));
  leaves = ARENA_NEW_ARRAY(arena, CaseLeaf, cJSON_GetArraySize(list));
  cJSON_ArrayForEach(item, list) {
    leaves[out->result_count] = read_leaf(arena, item);
    results[out->result_count++] = read_result(item, out);
  }
  out->results = results;
  out->result_leaves = leaves;
  const cJSON *inputs = cJSON_GetObjectItemCaseSensitive(root, "inputs");
  out->has_device_seeds = cJSON_IsString(inputs) && strcmp(inputs->valuestring, "device-seed") == 0;
  return STATUS_OK;
}

/* Python writes NaN and Infinity, which JSON does not know; nothing here needs them, so they become null. */
static StringView without_python_numbers(Arena *arena, StringView text) {
  static const StringView words[] = {{"NaN", 3}, {"-Infinity", 9}, {"Infinity", 8}};
  StringBuilder out;
  sb_init(&out, arena);
  bool in_string = false;
  for (size_t i = 0; i < text.size; i++) {
    char c = text.data[i];
    if (c == '"') in_string = !in_string;
    StringView rest = sv_sub(text, i, sizeof "-Infinity");
    const StringView *word = NULL;
    for (size_t w = 0; w < sizeof words / sizeof words[0] && !in_string; w++)
      if (sv_starts_with(rest, words[w])) word = &words[w];
    if (word) {
      sb_append_cstring(&out, "null");
      i += word->size - 1;
      continue;
    }
    sb_append_char(&out, c);
    if (in_string && c == '\\' && i + 1 < text.size) sb_append_char(&out, text.data[++i]);
  }
  return sb_view(&out);
}

Status case_meta_parse(Arena *arena, StringView label, StringView text, DiagSink *diag, CaseMeta *out_meta) {
  StringView json = without_python_numbers(arena, text);
  cJSON *root = json_tree_parse(json, NULL);
  Status status = read_meta(arena, label, root, diag, out_meta);
  cJSON_Delete(root);
  return status;
}

Status case_meta_read(Arena *arena, const char *path, DiagSink *diag, CaseMeta *out_meta) {
  StringView text;
  RETURN_IF_ERROR(file_read(arena, path, diag, &text));
  return case_meta_parse(arena, sv_from_cstring(path), text, diag, out_meta);
}
