#include "cli/run_inputs.h"

#include <string.h>

#include "base/checked_math.h"
#include "base/hash_map.h"
#include "hlo/ir/leaf_names.h"
#include "runtime/arrays/array_file.h"
#include "runtime/arrays/leaf_sizes.h"
#include "runtime/arrays/tensor_values.h"

bool named_file_parse(const char *text, NamedFile *out) {
  const char *equals = strchr(text, '=');
  if (equals == NULL || equals == text || equals[1] == '\0') return false;
  *out = (NamedFile){{text, (size_t)(equals - text)}, equals + 1};
  return true;
}

/* The number that |text| is from |begin| on; -1: it is none, or one that no leaf has. */
static int64_t number_in(StringView text, size_t begin) {
  int64_t number = 0;
  for (size_t i = begin; i < text.size; i++) {
    bool is_digit = text.data[i] >= '0' && text.data[i] <= '9';
    if (!is_digit || !checked_mul(number, 10, &number) || !checked_add(number, text.data[i] - '0', &number)) return -1;
  }
  return text.size > begin ? number : -1;
}

static bool is_named(const XlacDescriptor *descriptor, int64_t leaf, StringView identifier, StringView name) {
  return sv_equal_cstring(identifier, descriptor->parameter_names[leaf]) ||
         sv_equal_cstring(name, descriptor->parameters[leaf].name);
}

static Status no_such_leaf(Session *session, const char *what, StringView name, int64_t count) {
  if (number_in(name, 0) < 0)
    return diag_error(session->diag, STATUS_INVALID, NO_LOC, "input", "%s: the module has no such parameter leaf",
                      what);
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

/* -1: there is none. */
static int64_t argument_leaf(Arena *scratch, const XlacDescriptor *descriptor, StringView name) {
  int64_t number = number_in(name, 0);
  if (number >= 0) return number < descriptor->parameter_count ? number : -1;
  StringView identifier = identifier_of_text(scratch, name);
  for (int64_t i = 0; i < descriptor->parameter_count; i++)
    if (is_named(descriptor, i, identifier, name)) return i;
  return -1;
}

/* Marks in |filled| what --arg gave. */
static Status fill_from_arguments(Session *session, Arena *scratch, ModuleRun *run, bool *filled) {
  const XlacDescriptor *descriptor = run->descriptor;
  for (const OptionValue *value = &session->options->values[OPTION_ARG]; value && value->given;
       value = value->previous) {
    NamedFile named;
    if (!named_file_parse(value->text, &named)) XLAC_BUG("'--arg' was not checked");
    int64_t leaf = argument_leaf(scratch, descriptor, named.name);
    if (leaf < 0) return no_such_leaf(session, value->text, named.name, descriptor->parameter_count);
    if (filled[leaf]) continue; /* a later --arg for the same leaf */
    StringView bytes;
    NpyArray array;
    RETURN_IF_ERROR(file_read(scratch, named.path, session->diag, &bytes));
    StringView label = sv_from_cstring(named.path);
    RETURN_IF_ERROR(npy_read(scratch, label, bytes, session->diag, &array));
    RETURN_IF_ERROR(fill_leaf(session, scratch, run, leaf, &array, label, filled));
  }
  return STATUS_OK;
}

/* Arrays of a file by leaf.  "pK" is leaf K; other names are those of the program or of the HLO. */
typedef struct LeafArrays {
  const ArrayMember **members; /* NULL: none */
  int64_t used;
} LeafArrays;

static Status same_name(Session *session, const ArrayFile *file, const ArrayMember *a, const ArrayMember *b) {
  return diag_error(session->diag, STATUS_INVALID, NO_LOC, "input",
                    "two arrays in '%.*s' are the same parameter: '%.*s' and '%.*s'", SV_ARG(file->path),
                    SV_ARG(a->name), SV_ARG(b->name));
}

static Status find_leaf_arrays(Session *session, Arena *scratch, const XlacDescriptor *descriptor,
                               const ArrayFile *file, LeafArrays *out) {
  *out = (LeafArrays){.members = ARENA_NEW_ARRAY(scratch, const ArrayMember *, descriptor->parameter_count)};
  StringMap leaves; /* by name: the leaf's number and 1 */
  string_map_init(&leaves, scratch);
  for (int64_t i = descriptor->parameter_count - 1; i >= 0; i--)
    string_map_set(&leaves, sv_from_cstring(descriptor->parameters[i].name), (void *)(uintptr_t)(i + 1));
  for (int64_t i = 0; i < descriptor->parameter_count; i++)
    string_map_set(&leaves, sv_from_cstring(descriptor->parameter_names[i]), (void *)(uintptr_t)(i + 1));
  for (int64_t m = 0; m < file->count; m++) {
    const ArrayMember *member = &file->members[m];
    int64_t leaf = member->name.size > 0 && member->name.data[0] == 'p' ? number_in(member->name, 1) : -1;
    if (leaf < 0) leaf = (int64_t)(uintptr_t)string_map_get(&leaves, member->name) - 1;
    if (leaf < 0) leaf = (int64_t)(uintptr_t)string_map_get(&leaves, identifier_of_text(scratch, member->name)) - 1;
    if (leaf < 0 || leaf >= descriptor->parameter_count) continue;
    if (out->members[leaf] != NULL) return same_name(session, file, out->members[leaf], member);
    out->members[leaf] = member;
    out->used++;
  }
  return STATUS_OK;
}

/* The file |path| of --inputs, after the files that were given later.  |by_argument|: leaves that --arg gave. */
static Status fill_from_archive(Session *session, Arena *scratch, const char *path, ModuleRun *run,
                                const bool *by_argument, bool *filled) {
  const XlacDescriptor *descriptor = run->descriptor;
  ArrayFile file;
  RETURN_IF_ERROR(array_file_read(scratch, path, session->diag, &file));
  LeafArrays arrays;
  RETURN_IF_ERROR(find_leaf_arrays(session, scratch, descriptor, &file, &arrays));
  int64_t repeated = 0;
  for (int64_t i = 0; i < descriptor->parameter_count; i++) {
    const ArrayMember *member = arrays.members[i];
    repeated += member && filled[i] && !by_argument[i];
    if (!member || filled[i]) continue;
    RETURN_IF_ERROR(fill_leaf(session, scratch, run, i, &member->array, member->name, filled));
  }
  if (repeated > 0)
    diag_warning(session->diag, NO_LOC, "input-repeated",
                 "%lld of the %lld arrays in '%.*s' are not used: a later '--inputs' has them, too",
                 (long long)repeated, (long long)file.count, SV_ARG(file.path));
  if (arrays.used == file.count) return STATUS_OK;
  diag_warning(session->diag, NO_LOC, "input-unused",
               "%lld of the %lld arrays in '%.*s' are not parameters (p0 ... p%lld)",
               (long long)(file.count - arrays.used), (long long)file.count, SV_ARG(file.path),
               (long long)descriptor->parameter_count - 1);
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
