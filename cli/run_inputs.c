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
    bool is_digit = char_is_digit(text.data[i]);
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

/* Arguments of all devices that this process runs, while they are filled. */
typedef struct InputFill {
  Session *session;
  Arena *arena; /* of files; until all are filled */
  const RunDevices *devices;
  ModuleRun *const *runs; /* by device, from devices->first on */
  const XlacDescriptor *descriptor;
  bool *filled; /* by run, then by leaf */
} InputFill;

static bool *filled_of(const InputFill *fill, int64_t index) {
  return fill->filled + index * fill->descriptor->parameter_count;
}

static LeafSizes sizes_of(const InputFill *fill) {
  return (LeafSizes){fill->descriptor->parameter_sizes, fill->descriptor->parameter_size_count};
}

static void store_size(ModuleRun *run, int64_t size_leaf, int64_t value) {
  int32_t size = (int32_t)value;
  memcpy(run->arguments[size_leaf], &size, sizeof size);
}

/* All sizes are the bounds, until files say something else. */
static void fill_sizes(const InputFill *fill, ModuleRun *run) {
  LeafSizes sizes = sizes_of(fill);
  for (int64_t i = 0; i < sizes.count; i++) {
    const XlacLeafSize *size = &sizes.data[i];
    store_size(run, size->size_leaf, fill->descriptor->parameters[size->leaf].dims[size->dimension]);
  }
}

/* An array as large as the leaf can be, or smaller where that has sizes, which it then gives unless they are given
 * themselves. */
static Status fill_leaf(const InputFill *fill, int64_t index, int64_t leaf, const NpyArray *array, StringView label) {
  LeafSizes sizes = sizes_of(fill);
  ModuleRun *run = fill->runs[index];
  bool *filled = filled_of(fill, index);
  const XlacTensor *tensor = &fill->descriptor->parameters[leaf];
  NpyArray wide = leaf_has_sizes(sizes, leaf) ? leaf_sizes_widen(fill->arena, sizes, leaf, tensor, array) : *array;
  RETURN_IF_ERROR(tensor_from_npy(fill->arena, tensor, &wide, label, fill->session->diag, run->arguments[leaf]));
  for (int64_t i = 0; i < sizes.count; i++) {
    const XlacLeafSize *size = &sizes.data[i];
    if (size->leaf == leaf && !filled[size->size_leaf]) store_size(run, size->size_leaf, array->dims[size->dimension]);
  }
  filled[leaf] = true;
  return STATUS_OK;
}

/* Device number |index| of this process gets its part of |array|, which is the devices' together. */
static Status fill_part(const InputFill *fill, int64_t index, int64_t leaf, const NpyArray *array, StringView label) {
  NpyArray part = *array;
  const RunTile tile = {fill->devices->first + index, leaf, &fill->descriptor->parameters[leaf], label};
  if (fill->devices->are_several)
    RETURN_IF_ERROR(run_devices_take(fill->arena, fill->devices, &tile, array, fill->session->diag, &part));
  return fill_leaf(fill, index, leaf, &part, label);
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

static Status fill_from_view(const InputFill *fill, int64_t leaf, StringView label, StringView bytes) {
  NpyArray array;
  RETURN_IF_ERROR(npy_read(fill->arena, label, bytes, fill->session->diag, &array));
  for (int64_t i = 0; i < fill->devices->count; i++) RETURN_IF_ERROR(fill_part(fill, i, leaf, &array, label));
  return STATUS_OK;
}

static Status fill_from_npy(const InputFill *fill, int64_t leaf, const char *path) {
  FileView view;
  RETURN_IF_ERROR(file_view_open(fill->arena, path, fill->session->diag, &view));
  Status status = fill_from_view(fill, leaf, sv_from_cstring(path), view.content);
  file_view_close(&view);
  return status;
}

/* Marks what --arg gave. */
static Status fill_from_arguments(const InputFill *fill) {
  Session *session = fill->session;
  for (const OptionValue *value = &session->options->values[OPTION_ARG]; value && value->given;
       value = value->previous) {
    NamedFile named;
    if (!named_file_parse(value->text, &named)) XLAC_BUG("'--arg' was not checked");
    int64_t leaf = argument_leaf(fill->arena, fill->descriptor, named.name);
    if (leaf < 0) return no_such_leaf(session, value->text, named.name, fill->descriptor->parameter_count);
    if (filled_of(fill, 0)[leaf]) continue; /* a later --arg for the same leaf */
    RETURN_IF_ERROR(fill_from_npy(fill, leaf, named.path));
  }
  return STATUS_OK;
}

/* Arrays of a file by leaf.  "pK" is leaf K; other names are those of the program or of the HLO.  "dD_pK" is leaf K of
 * device D alone. */
typedef struct LeafArrays {
  const ArrayMember **members;     /* NULL: none */
  const ArrayMember **own_members; /* by run, then by leaf: of these devices alone */
  int64_t used;
} LeafArrays;

static Status same_name(Session *session, const ArrayFile *file, const ArrayMember *a, const ArrayMember *b) {
  return diag_error(session->diag, STATUS_INVALID, NO_LOC, "input",
                    "two arrays in '%.*s' are the same parameter: '%.*s' and '%.*s'", SV_ARG(file->path),
                    SV_ARG(a->name), SV_ARG(b->name));
}

/* "dD_pK": true, and D and K. */
static bool is_device_name(StringView name, int64_t *out_device, int64_t *out_leaf) {
  size_t end = 1;
  while (end < name.size && name.data[end] != '_') end++;
  if (name.size < 5 || name.data[0] != 'd' || end + 2 >= name.size || name.data[end + 1] != 'p') return false;
  *out_device = number_in(sv_sub(name, 0, end), 1);
  *out_leaf = number_in(name, end + 2);
  return *out_device >= 0 && *out_leaf >= 0;
}

/* An array of one device, which may be run by another process. */
static bool take_device_member(const InputFill *fill, const ArrayMember *member, LeafArrays *out) {
  int64_t device, leaf, count = fill->descriptor->parameter_count;
  if (!fill->devices->are_several || !is_device_name(member->name, &device, &leaf) || leaf >= count ||
      device >= device_counts_total(fill->devices->counts))
    return false;
  int64_t index = device - fill->devices->first;
  if (index >= 0 && index < fill->devices->count) out->own_members[index * count + leaf] = member;
  return true;
}

static Status find_leaf_arrays(const InputFill *fill, const ArrayFile *file, LeafArrays *out) {
  const XlacDescriptor *descriptor = fill->descriptor;
  int64_t count = descriptor->parameter_count;
  *out = (LeafArrays){.members = ARENA_NEW_ARRAY(fill->arena, const ArrayMember *, count),
                      .own_members = ARENA_NEW_ARRAY(fill->arena, const ArrayMember *, count * fill->devices->count)};
  StringMap leaves; /* by name: the leaf's number and 1 */
  string_map_init(&leaves, fill->arena);
  for (int64_t i = count - 1; i >= 0; i--)
    string_map_set(&leaves, sv_from_cstring(descriptor->parameters[i].name), (void *)(uintptr_t)(i + 1));
  for (int64_t i = 0; i < count; i++)
    string_map_set(&leaves, sv_from_cstring(descriptor->parameter_names[i]), (void *)(uintptr_t)(i + 1));
  for (int64_t m = 0; m < file->count; m++) {
    const ArrayMember *member = &file->members[m];
    if (take_device_member(fill, member, out)) {
      out->used++;
      continue;
    }
    int64_t leaf = member->name.size > 0 && member->name.data[0] == 'p' ? number_in(member->name, 1) : -1;
    if (leaf < 0) leaf = (int64_t)(uintptr_t)string_map_get(&leaves, member->name) - 1;
    if (leaf < 0) leaf = (int64_t)(uintptr_t)string_map_get(&leaves, identifier_of_text(fill->arena, member->name)) - 1;
    if (leaf < 0 || leaf >= count) continue;
    if (out->members[leaf] != NULL) return same_name(fill->session, file, out->members[leaf], member);
    out->members[leaf] = member;
    out->used++;
  }
  return STATUS_OK;
}

/* One device's arguments from a file.  An array that is taken, or that another one of the file comes before, is no
 * longer |unused|, which is by place in the file. */
static Status fill_from_arrays(const InputFill *fill, int64_t index, const ArrayFile *file, const LeafArrays *arrays,
                               bool *unused) {
  int64_t count = fill->descriptor->parameter_count;
  const bool *filled = filled_of(fill, index);
  for (int64_t i = 0; i < count; i++) {
    const ArrayMember *member = arrays->members[i], *own = arrays->own_members[index * count + i];
    if (member && (own || !filled[i])) unused[member - file->members] = false;
    if (own && !filled[i]) unused[own - file->members] = false;
    if (filled[i]) continue;
    if (own)
      RETURN_IF_ERROR(fill_leaf(fill, index, i, &own->array, own->name));
    else if (member)
      RETURN_IF_ERROR(fill_part(fill, index, i, &member->array, member->name));
  }
  return STATUS_OK;
}

/* Arrays of parameters that --arg did not give; by place in the file. */
static bool *wanted_arrays(const InputFill *fill, const ArrayFile *file, const LeafArrays *arrays,
                           const bool *by_argument) {
  bool *wanted = ARENA_NEW_ARRAY(fill->arena, bool, file->count);
  int64_t count = fill->descriptor->parameter_count;
  for (int64_t i = 0; i < count; i++) {
    if (by_argument[i]) continue;
    if (arrays->members[i]) wanted[arrays->members[i] - file->members] = true;
    for (int64_t d = 0; d < fill->devices->count; d++) {
      const ArrayMember *own = arrays->own_members[d * count + i];
      if (own) wanted[own - file->members] = true;
    }
  }
  return wanted;
}

static Status fill_from_file(const InputFill *fill, const ArrayFile *file, const bool *by_argument) {
  Session *session = fill->session;
  LeafArrays arrays;
  RETURN_IF_ERROR(find_leaf_arrays(fill, file, &arrays));
  bool *unused = wanted_arrays(fill, file, &arrays, by_argument);
  for (int64_t i = 0; i < fill->devices->count; i++) RETURN_IF_ERROR(fill_from_arrays(fill, i, file, &arrays, unused));
  int64_t repeated = 0;
  for (int64_t i = 0; i < file->count; i++) repeated += unused[i];
  if (repeated > 0)
    diag_warning(session->diag, NO_LOC, "input-repeated",
                 "%lld of the %lld arrays in '%.*s' are not used: a later '--inputs' has them, too",
                 (long long)repeated, (long long)file->count, SV_ARG(file->path));
  if (arrays.used == file->count) return STATUS_OK;
  diag_warning(session->diag, NO_LOC, "input-unused",
               "%lld of the %lld arrays in '%.*s' are not parameters (p0 ... p%lld)",
               (long long)(file->count - arrays.used), (long long)file->count, SV_ARG(file->path),
               (long long)fill->descriptor->parameter_count - 1);
  return STATUS_OK;
}

/* The file |path| of --inputs, after the files that were given later.  |by_argument|: leaves that --arg gave. */
static Status fill_from_archive(const InputFill *fill, const char *path, const bool *by_argument) {
  ArrayFile file;
  Status status = array_file_open(fill->arena, path, fill->session->diag, &file);
  if (status == STATUS_OK) status = fill_from_file(fill, &file, by_argument);
  array_file_close(&file);
  return status;
}

static Status fill_from_archives(const InputFill *fill) {
  bool *by_argument = ARENA_COPY_ARRAY(fill->arena, bool, filled_of(fill, 0), fill->descriptor->parameter_count);
  for (const OptionValue *value = &fill->session->options->values[OPTION_INPUTS]; value && value->given;
       value = value->previous)
    RETURN_IF_ERROR(fill_from_archive(fill, value->text, by_argument));
  return STATUS_OK;
}

/* --- generated --- */

static uint64_t seed_of(const Session *session, const CaseMeta *meta) {
  return (uint64_t)session_option_integer(session, OPTION_SEED, meta ? (int64_t)meta->seed : 0);
}

/* Between the seeds of one device and the next, where each has its own. */
#define DEVICE_SEEDS 1000

/* Leaf |leaf|, as large as |dims|: storage units, row-major. */
static Status generate(const InputFill *fill, Arena *scratch, uint64_t seed, int64_t leaf, const int64_t *dims,
                       void *out_logical) {
  const CaseMeta *meta = fill->devices->meta;
  const XlacTensor *tensor = &fill->descriptor->parameters[leaf];
  SeedRule rule = meta && leaf < meta->parameter_count ? meta->parameters[leaf] : SEED_RULE_DEFAULT;
  const SeedArray array = {seed, leaf, tensor_type(tensor), tensor->rank, dims};
  return seed_generate(scratch, &rule, array, fill->session->diag, out_logical);
}

static void *logical_storage(Arena *scratch, const XlacTensor *tensor, const int64_t *dims) {
  size_t count = 1;
  for (int i = 0; i < tensor->rank; i++) count *= (size_t)dims[i];
  return arena_alloc_aligned(scratch, count * (size_t)type_storage_bytes(tensor_type(tensor)), 64);
}

/* The values that meta.json lists for |device|; false: it has none. */
static bool listed_values(const InputFill *fill, int64_t device, int64_t leaf, char *out_logical) {
  const CaseMeta *meta = fill->devices->meta;
  const XlacTensor *tensor = &fill->descriptor->parameters[leaf];
  int64_t count = tensor_element_count(tensor);
  const CaseLeaf *said = leaf < meta->parameter_count ? &meta->parameter_leaves[leaf] : NULL;
  if (said == NULL || said->value_count == 0 || said->value_count < (device + 1) * count) return false;
  size_t unit = (size_t)type_storage_bytes(tensor_type(tensor));
  for (int64_t i = 0; i < count; i++)
    tensor_unit_set_double(tensor_type(tensor), out_logical + (size_t)i * unit,
                           said->device_values[device * count + i]);
  return true;
}

/* Of a device that makes its own. */
static Status generate_own(const InputFill *fill, Arena *scratch, int64_t index, int64_t leaf) {
  const XlacTensor *tensor = &fill->descriptor->parameters[leaf];
  int64_t device = fill->devices->first + index;
  uint64_t seed = seed_of(fill->session, fill->devices->meta) * DEVICE_SEEDS + (uint64_t)device;
  void *logical = logical_storage(scratch, tensor, tensor->dims);
  if (!listed_values(fill, device, leaf, logical))
    RETURN_IF_ERROR(generate(fill, scratch, seed, leaf, tensor->dims, logical));
  tensor_store_logical(tensor, logical, fill->runs[index]->arguments[leaf]);
  return STATUS_OK;
}

/* Of one device, which has all of it. */
static Status generate_alone(const InputFill *fill, Arena *scratch, int64_t leaf) {
  const XlacTensor *tensor = &fill->descriptor->parameters[leaf];
  void *argument = fill->runs[0]->arguments[leaf];
  uint64_t seed = seed_of(fill->session, fill->devices->meta);
  if (tensor_is_row_major(tensor)) return generate(fill, scratch, seed, leaf, tensor->dims, argument);
  void *logical = logical_storage(scratch, tensor, tensor->dims);
  RETURN_IF_ERROR(generate(fill, scratch, seed, leaf, tensor->dims, logical));
  tensor_store_logical(tensor, logical, argument);
  return STATUS_OK;
}

/* The array as a whole is generated once, and each device that has none takes its tile. */
static Status generate_tiles(const InputFill *fill, Arena *scratch, int64_t leaf) {
  const XlacTensor *tensor = &fill->descriptor->parameters[leaf];
  const RunDevices *devices = fill->devices;
  const int64_t *dims;
  RETURN_IF_ERROR(run_devices_whole_dims(fill->session, devices, false, leaf, tensor, &dims));
  void *whole = logical_storage(scratch, tensor, dims), *tile = logical_storage(scratch, tensor, tensor->dims);
  RETURN_IF_ERROR(generate(fill, scratch, seed_of(fill->session, devices->meta), leaf, dims, whole));
  size_t unit = (size_t)type_storage_bytes(tensor_type(tensor));
  for (int64_t i = 0; i < devices->count; i++) {
    if (filled_of(fill, i)[leaf]) continue;
    sharding_tile_take(&devices->parameters[leaf], (devices->first + i) % devices->counts.partitions, dims, unit, whole,
                       tile);
    tensor_store_logical(tensor, tile, fill->runs[i]->arguments[leaf]);
  }
  return STATUS_OK;
}

/* Leaf |leaf| of the devices that have none yet. */
static Status generate_leaf(const InputFill *fill, Arena *scratch, int64_t leaf) {
  const XlacTensor *tensor = &fill->descriptor->parameters[leaf];
  const CaseMeta *meta = fill->devices->meta;
  if (!meta && !session_option_given(fill->session, OPTION_SEED))
    return diag_error(fill->session->diag, STATUS_INVALID, NO_LOC, "input",
                      "no value for parameter leaf %lld ('%s', %.*s): give --inputs, --arg, --seed or --meta",
                      (long long)leaf, tensor->name, SV_ARG(tensor_text(scratch, tensor)));
  if (!fill->devices->are_several) return generate_alone(fill, scratch, leaf);
  if (!meta || !meta->has_device_seeds) return generate_tiles(fill, scratch, leaf);
  for (int64_t i = 0; i < fill->devices->count; i++)
    if (!filled_of(fill, i)[leaf]) RETURN_IF_ERROR(generate_own(fill, scratch, i, leaf));
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

/* Some device has no value for |leaf|, which is no size. */
static bool is_missing(const InputFill *fill, int64_t leaf) {
  for (int64_t i = 0; i < fill->devices->count; i++)
    if (!filled_of(fill, i)[leaf] && !leaf_is_size(sizes_of(fill), leaf)) return true;
  return false;
}

static Status generate_missing(const InputFill *fill) {
  Arena *scratch = arena_create();
  int64_t count = fill->descriptor->parameter_count;
  bool *generated = ARENA_NEW_ARRAY(fill->arena, bool, count);
  Status status = STATUS_OK;
  for (int64_t i = 0; i < count && status == STATUS_OK; i++) {
    generated[i] = is_missing(fill, i);
    if (generated[i]) status = generate_leaf(fill, scratch, i);
    arena_reset(scratch);
  }
  if (status == STATUS_OK) note_generated(fill->session, scratch, fill->devices->meta, generated, count);
  arena_destroy(scratch);
  return status;
}

Status run_inputs_fill(Session *session, const RunDevices *devices, ModuleRun *const *runs) {
  Arena *arena = arena_create();
  InputFill fill = {session, arena, devices, runs, runs[0]->descriptor, NULL};
  fill.filled = ARENA_NEW_ARRAY(arena, bool, fill.descriptor->parameter_count * devices->count);
  for (int64_t i = 0; i < devices->count; i++) fill_sizes(&fill, runs[i]);
  Status status = fill_from_arguments(&fill);
  if (status == STATUS_OK) status = fill_from_archives(&fill);
  if (status == STATUS_OK) status = generate_missing(&fill);
  arena_destroy(arena);
  return status;
}
