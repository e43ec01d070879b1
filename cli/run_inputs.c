#include "cli/run_inputs.h"

#include <string.h>

#include "base/checked_math.h"
#include "runtime/npz.h"
#include "runtime/safetensors.h"
#include "runtime/tensor_values.h"

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
    RETURN_IF_ERROR(tensor_from_npy(scratch, &descriptor->parameters[named.leaf], &array, label, session->diag,
                                    run->arguments[named.leaf]));
    filled[named.leaf] = true;
  }
  return STATUS_OK;
}

/* What --inputs names: one of two formats, told apart by how they begin. */
typedef struct InputFile {
  StringView path;
  bool is_safetensors;
  NpzFile npz;
  SafetensorsFile safetensors;
  int64_t count;
} InputFile;

static Status read_input_file(Arena *arena, const char *path, DiagSink *diag, InputFile *out_file) {
  StringView content;
  *out_file = (InputFile){.path = sv_from_cstring(path)};
  RETURN_IF_ERROR(file_read(arena, path, diag, &content));
  out_file->is_safetensors = safetensors_matches(content) || sv_ends_with(out_file->path, SV(".safetensors"));
  if (out_file->is_safetensors)
    RETURN_IF_ERROR(safetensors_parse(arena, out_file->path, content, diag, &out_file->safetensors));
  else
    RETURN_IF_ERROR(npz_parse(arena, out_file->path, content, diag, &out_file->npz));
  out_file->count = out_file->is_safetensors ? out_file->safetensors.count : out_file->npz.count;
  return STATUS_OK;
}

/* Whether the file has the array |label|, which |out_argument| becomes; NULL: only that. */
static Status input_file_get(Session *session, Arena *scratch, const InputFile *file, StringView label,
                             const XlacTensor *tensor, void *out_argument, bool *out_found) {
  if (file->is_safetensors) {
    int64_t index = safetensors_find(&file->safetensors, label);
    *out_found = index >= 0;
    if (!*out_found || !out_argument) return STATUS_OK;
    return tensor_from_tensor(scratch, tensor, &file->safetensors.tensors[index], file->safetensors.data[index], label,
                              session->diag, out_argument);
  }
  const NpyArray *array = npz_find(&file->npz, label);
  *out_found = array != NULL;
  if (!*out_found || !out_argument) return STATUS_OK;
  return tensor_from_npy(scratch, tensor, array, label, session->diag, out_argument);
}

static Status fill_from_file(Session *session, Arena *scratch, ModuleRun *run, bool *filled) {
  if (!option_given(session, OPTION_INPUTS)) return STATUS_OK;
  const XlacDescriptor *descriptor = run->descriptor;
  InputFile file;
  RETURN_IF_ERROR(read_input_file(scratch, option_text(session, OPTION_INPUTS, ""), session->diag, &file));
  int64_t used = 0;
  for (int64_t i = 0; i < descriptor->parameter_count; i++) {
    StringView label = sv_printf(scratch, "p%lld", (long long)i);
    bool found;
    RETURN_IF_ERROR(input_file_get(session, scratch, &file, label, &descriptor->parameters[i],
                                   filled[i] ? NULL : run->arguments[i], &found));
    used += found;
    filled[i] = filled[i] || found;
  }
  if (used == file.count) return STATUS_OK;
  diag_warning(session->diag, NO_LOC, "input-unused",
               "%lld of the %lld arrays in '%.*s' are no parameter (p0 ... p%lld)", (long long)(file.count - used),
               (long long)file.count, SV_ARG(file.path), (long long)descriptor->parameter_count - 1);
  return STATUS_OK;
}

static Status generate(Session *session, Arena *scratch, const CaseMeta *meta, ModuleRun *run, int64_t leaf) {
  const XlacTensor *tensor = &run->descriptor->parameters[leaf];
  if (!meta && !option_given(session, OPTION_SEED))
    return diag_error(session->diag, STATUS_INVALID, NO_LOC, "input",
                      "no value for parameter leaf %lld ('%s', %.*s): give --inputs, --arg, --seed or --meta",
                      (long long)leaf, tensor->name, SV_ARG(tensor_text(scratch, tensor)));
  SeedRule rule = meta && leaf < meta->parameter_count ? meta->parameters[leaf] : SEED_RULE_DEFAULT;
  uint64_t seed = (uint64_t)option_integer(session, OPTION_SEED, meta ? (int64_t)meta->seed : 0);
  if (tensor_is_row_major(tensor))
    return seed_generate(scratch, &rule, seed, leaf, tensor_type(tensor), tensor->dims, tensor->rank, session->diag,
                         run->arguments[leaf]);
  void *logical = arena_alloc_aligned(scratch, (size_t)tensor->bytes, 64);
  RETURN_IF_ERROR(seed_generate(scratch, &rule, seed, leaf, tensor_type(tensor), tensor->dims, tensor->rank,
                                session->diag, logical));
  tensor_store_logical(tensor, logical, run->arguments[leaf]);
  return STATUS_OK;
}

Status run_inputs_fill(Session *session, const CaseMeta *meta, ModuleRun *run) {
  Arena *files = arena_create(), *scratch = arena_create();
  bool *filled = ARENA_NEW_ARRAY(files, bool, run->descriptor->parameter_count);
  Status status = fill_from_arguments(session, files, run, filled);
  if (status == STATUS_OK) status = fill_from_file(session, files, run, filled);
  for (int64_t i = 0; i < run->descriptor->parameter_count && status == STATUS_OK; i++) {
    if (!filled[i]) status = generate(session, scratch, meta, run, i);
    arena_reset(scratch);
  }
  arena_destroy(scratch);
  arena_destroy(files);
  return status;
}
