#include "cli/run_inputs.h"

#include <string.h>

#include "base/checked_math.h"
#include "runtime/arrays/array_file.h"
#include "runtime/arrays/leaf_sizes.h"
#include "runtime/arrays/tensor_values.h"

bool named_file_parse(const char *text, NamedFile *out) {
  out->leaf = 0;
  const char *at = text;
  for (; *at >= '0' && *at <= '9'; at++)
    if (!checked_mul(out->leaf, 10, &out->leaf) || !checked_add(out->leaf, *at - '0', &out->leaf)) return false;
  out->path = at + 1;
  return at > text && *at == '=' && at[1] != '\0';
}

static Status no_such_leaf(Session *session, const char *what, int64_t count) {
  return diag_error(session->diag, STATUS_INVALID, NO_LOC, "input", "%s: the module has %lld parameter leaves", what,
                    (long long)count);
}

static LeafSizes sizes_of(const ModuleRun *run) {
  return (LeafSizes){run->descriptor->parameter_sizes, run->descriptor->parameter_size_count};
}

static void store_size(ModuleRun *run, int64_t size_leaf, int64_t value) {
  int32_t size = (int32_t)value;
  memcpy(run->arguments[size_leaf], &size, sizeof size);
}

/* All sizes are the bounds, until files say something else. */
static void fill_sizes(ModuleRun *run) {
  LeafSizes sizes = sizes_of(run);
  for (int64_t i = 0; i < sizes.count; i++) {
    const XlacLeafSize *size = &sizes.data[i];
    store_size(run, size->size_leaf, run->descriptor->parameters[size->leaf].dims[size->dimension]);
  }
}

/* An array as large as the leaf can be, or smaller where that has sizes, which it then gives unless they are given
 * themselves. */
static Status fill_leaf(Session *session, Arena *scratch, ModuleRun *run, int64_t leaf, const NpyArray *array,
                        StringView label, bool *filled) {
  LeafSizes sizes = sizes_of(run);
  const XlacTensor *tensor = &run->descriptor->parameters[leaf];
  NpyArray wide = leaf_has_sizes(sizes, leaf) ? leaf_sizes_widen(scratch, sizes, leaf, tensor, array) : *array;
  RETURN_IF_ERROR(tensor_from_npy(scratch, tensor, &wide, label, session->diag, run->arguments[leaf]));
  for (int64_t i = 0; i < sizes.count; i++) {
    const XlacLeafSize *size = &sizes.data[i];
    if (size->leaf == leaf && !filled[size->size_leaf]) store_size(run, size->size_leaf, array->dims[size->dimension]);
  }
  filled[leaf] = true;
  return STATUS_OK;
}

/* Marks in |filled| what --arg gave. */
static Status fill_from_arguments(Session *session, Arena *scratch, ModuleRun *run, bool *filled) {
  const XlacDescriptor *descriptor = run->descriptor;
  for (const OptionValue *value = &session->options->values[OPTION_ARG]; value && value->given;
       value = value->previous) {
    NamedFile named;
    if (!named_file_parse(value->text, &named)) XLAC_BUG("'--arg' was not checked");
    if (named.leaf >= descriptor->parameter_count)
      return no_such_leaf(session, value->text, descriptor->parameter_count);
    if (filled[named.leaf]) continue; /* a later --arg for the same leaf */
    StringView bytes;
    NpyArray array;
    RETURN_IF_ERROR(file_read(scratch, named.path, session->diag, &bytes));
    StringView label = sv_from_cstring(named.path);
    RETURN_IF_ERROR(npy_read(scratch, label, bytes, session->diag, &array));
    RETURN_IF_ERROR(fill_leaf(session, scratch, run, named.leaf, &array, label, filled));
  }
  return STATUS_OK;
}

/* The file |path| of --inputs, after the files that were given later.  |by_argument|: leaves that --arg gave. */
static Status fill_from_archive(Session *session, Arena *scratch, const char *path, ModuleRun *run,
                                const bool *by_argument, bool *filled) {
  const XlacDescriptor *descriptor = run->descriptor;
  ArrayFile file;
  RETURN_IF_ERROR(array_file_read(scratch, path, session->diag, &file));
  int64_t used = 0, repeated = 0;
  for (int64_t i = 0; i < descriptor->parameter_count; i++) {
    StringView label = sv_printf(scratch, "p%lld", (long long)i);
    const NpyArray *array = array_file_find(&file, label);
    used += array != NULL;
    repeated += array && filled[i] && !by_argument[i];
    if (!array || filled[i]) continue;
    RETURN_IF_ERROR(fill_leaf(session, scratch, run, i, array, label, filled));
  }
  if (repeated > 0)
    diag_warning(session->diag, NO_LOC, "input-repeated",
                 "%lld of the %lld arrays in '%.*s' are not used: a later '--inputs' has them, too",
                 (long long)repeated, (long long)file.count, SV_ARG(file.path));
  if (used == file.count) return STATUS_OK;
  diag_warning(session->diag, NO_LOC, "input-unused",
               "%lld of the %lld arrays in '%.*s' are not parameters (p0 ... p%lld)", (long long)(file.count - used),
               (long long)file.count, SV_ARG(file.path), (long long)descriptor->parameter_count - 1);
  return STATUS_OK;
}

static Status fill_from_archives(Session *session, Arena *scratch, ModuleRun *run, bool *filled) {
  bool *by_argument = ARENA_COPY_ARRAY(scratch, bool, filled, run->descriptor->parameter_count);
  for (const OptionValue *value = &session->options->values[OPTION_INPUTS]; value && value->given;
       value = value->previous)
    RETURN_IF_ERROR(fill_from_archive(session, scratch, value->text, run, by_argument, filled));
  return STATUS_OK;
}

static uint64_t seed_of(const Session *session, const CaseMeta *meta) {
  return (uint64_t)session_option_integer(session, OPTION_SEED, meta ? (int64_t)meta->seed : 0);
}

static Status generate(Session *session, Arena *scratch, const CaseMeta *meta, ModuleRun *run, int64_t leaf) {
  const XlacTensor *tensor = &run->descriptor->parameters[leaf];
  if (!meta && !session_option_given(session, OPTION_SEED))
    return diag_error(session->diag, STATUS_INVALID, NO_LOC, "input",
                      "no value for parameter leaf %lld ('%s', %.*s): give --inputs, --arg, --seed or --meta",
                      (long long)leaf, tensor->name, SV_ARG(tensor_text(scratch, tensor)));
  SeedRule rule = meta && leaf < meta->parameter_count ? meta->parameters[leaf] : SEED_RULE_DEFAULT;
  uint64_t seed = seed_of(session, meta);
  if (tensor_is_row_major(tensor))
    return seed_generate(scratch, &rule, seed, leaf, tensor_type(tensor), tensor->dims, tensor->rank, session->diag,
                         run->arguments[leaf]);
  void *logical = arena_alloc_aligned(scratch, (size_t)tensor->bytes, 64);
  RETURN_IF_ERROR(seed_generate(scratch, &rule, seed, leaf, tensor_type(tensor), tensor->dims, tensor->rank,
                                session->diag, logical));
  tensor_store_logical(tensor, logical, run->arguments[leaf]);
  return STATUS_OK;
}

/* "p0, p2 ... p4": the leaves that are |wanted|. */
static StringView leaf_list(Arena *arena, const bool *wanted, int64_t count) {
  StringBuilder list;
  sb_init(&list, arena);
  for (int64_t i = 0; i < count; i++) {
    if (!wanted[i]) continue;
    int64_t last = i;
    while (last + 1 < count && wanted[last + 1]) last++;
    sb_printf(&list, "%sp%lld", list.size > 0 ? ", " : "", (long long)i);
    if (last > i) sb_printf(&list, last > i + 1 ? " ... p%lld" : ", p%lld", (long long)last);
    i = last;
  }
  return sb_view(&list);
}

/* Who names a seed and no file knows what is generated; otherwise a leaf that a file lacks shall not go unnoticed. */
static void note_generated(Session *session, Arena *scratch, const CaseMeta *meta, const bool *generated,
                           int64_t count) {
  bool has_files = session_option_given(session, OPTION_INPUTS) || session_option_given(session, OPTION_ARG);
  if (session_option_given(session, OPTION_SEED) && !has_files) return;
  StringView leaves = leaf_list(scratch, generated, count);
  if (leaves.size == 0) return;
  const char *rules =
      meta ? arena_printf(scratch, ", by the rules of '%s'", session_option_text(session, OPTION_META, "")) : "";
  diag_remark(session->diag, NO_LOC, "input-generated", "generated from seed %llu%s: %.*s",
              (unsigned long long)seed_of(session, meta), rules, SV_ARG(leaves));
}

Status run_inputs_fill(Session *session, const CaseMeta *meta, ModuleRun *run) {
  Arena *files = arena_create(), *scratch = arena_create();
  int64_t count = run->descriptor->parameter_count;
  bool *filled = ARENA_NEW_ARRAY(files, bool, count), *generated = ARENA_NEW_ARRAY(files, bool, count);
  fill_sizes(run);
  Status status = fill_from_arguments(session, files, run, filled);
  if (status == STATUS_OK) status = fill_from_archives(session, files, run, filled);
  for (int64_t i = 0; i < count && status == STATUS_OK; i++) {
    generated[i] = !filled[i] && !leaf_is_size(sizes_of(run), i);
    if (generated[i]) status = generate(session, scratch, meta, run, i);
    arena_reset(scratch);
  }
  if (status == STATUS_OK) note_generated(session, scratch, meta, generated, count);
  arena_destroy(scratch);
  arena_destroy(files);
  return status;
}
