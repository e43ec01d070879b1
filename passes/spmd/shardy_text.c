#include "passes/spmd/shardy_text.h"

#include "base/array.h"
#include "base/checked_math.h"

/* --- reading --- */

typedef struct ShardyReader {
  const ShardySource *source;
  StringView text;
  size_t at;
} ShardyReader;

static Status not_understood(const ShardyReader *reader, const char *wanted) {
  StringView rest = sv_sub(reader->text, reader->at, reader->text.size - reader->at);
  if (rest.size > 40) rest.size = 40;
  return diag_error(reader->source->diag, STATUS_INVALID, reader->source->loc, "sharding", "'%.*s' needs %s at '%.*s'",
                    SV_ARG(reader->source->attribute), wanted, SV_ARG(rest));
}

static void skip_blanks(ShardyReader *reader) {
  while (reader->at < reader->text.size && reader->text.data[reader->at] == ' ') reader->at++;
}

static bool take(ShardyReader *reader, const char *word) {
  skip_blanks(reader);
  StringView rest = sv_sub(reader->text, reader->at, reader->text.size - reader->at), wanted = sv_from_cstring(word);
  if (!sv_starts_with(rest, wanted)) return false;
  reader->at += wanted.size;
  return true;
}

static Status expect(ShardyReader *reader, const char *word, const char *name) {
  return take(reader, word) ? STATUS_OK : not_understood(reader, name);
}

static Status read_number(ShardyReader *reader, int64_t *out) {
  skip_blanks(reader);
  size_t first = reader->at;
  *out = 0;
  for (; reader->at < reader->text.size; reader->at++) {
    char c = reader->text.data[reader->at];
    if (c < '0' || c > '9') break;
    if (!checked_mul(*out, 10, out) || !checked_add(*out, c - '0', out)) return not_understood(reader, "a number");
  }
  return reader->at > first ? STATUS_OK : not_understood(reader, "a number");
}

static bool is_name_char(char c) {
  return char_is_letter(c) || char_is_digit(c) || c == '_' || c == '.' || c == '-' || c == '$';
}

static Status read_word(ShardyReader *reader, StringView *out) {
  skip_blanks(reader);
  size_t first = reader->at;
  while (reader->at < reader->text.size && is_name_char(reader->text.data[reader->at])) reader->at++;
  *out = sv_sub(reader->text, first, reader->at - first);
  return out->size > 0 ? STATUS_OK : not_understood(reader, "a name");
}

/* "dp", whose quotes may be escaped. */
static Status read_quoted(ShardyReader *reader, StringView *out) {
  take(reader, "\\");
  RETURN_IF_ERROR(expect(reader, "\"", "an axis in quotes"));
  size_t first = reader->at;
  while (reader->at < reader->text.size && reader->text.data[reader->at] != '"' &&
         reader->text.data[reader->at] != '\\')
    reader->at++;
  *out = sv_sub(reader->text, first, reader->at - first);
  take(reader, "\\");
  return expect(reader, "\"", "an axis in quotes");
}

/* --- meshes --- */

static Status finish_mesh(const ShardyReader *reader, ShardyMesh *mesh, Int64List devices) {
  Arena *arena = reader->source->arena;
  int64_t *sizes = ARENA_NEW_ARRAY(arena, int64_t, mesh->axis_count + 1), total = 1;
  for (int i = 0; i < mesh->axis_count; i++) {
    sizes[i] = mesh->axes[i].size;
    if (sizes[i] < 1 || !checked_mul(total, sizes[i], &total)) return not_understood(reader, "axes of positive sizes");
  }
  if (mesh->axis_count == 0) return STATUS_OK;
  if (devices.count != 0 && devices.count != total) return not_understood(reader, "as many devices as axes make");
  int *firsts = ARENA_NEW_ARRAY(arena, int, mesh->axis_count + 1);
  mesh->mesh = spmd_mesh_create(arena, sizes, mesh->axis_count, devices.count != 0 ? devices.data : NULL, firsts);
  mesh->firsts = firsts;
  return STATUS_OK;
}

static Status read_axes_of_mesh(ShardyReader *reader, ShardyMesh *mesh) {
  ARRAY(MeshAxis) axes = {0};
  RETURN_IF_ERROR(expect(reader, "[", "'['"));
  while (!take(reader, "]")) {
    MeshAxis axis;
    if (axes.count > 0) RETURN_IF_ERROR(expect(reader, ",", "',' or ']'"));
    RETURN_IF_ERROR(read_quoted(reader, &axis.name));
    RETURN_IF_ERROR(expect(reader, "=", "'='"));
    RETURN_IF_ERROR(read_number(reader, &axis.size));
    array_push(&axes, reader->source->arena, axis);
  }
  mesh->axes = axes.data;
  mesh->axis_count = (int)axes.count;
  return STATUS_OK;
}

static Status read_mesh(ShardyReader *reader, ShardyMesh *mesh) {
  ARRAY(int64_t) devices = {0};
  *mesh = (ShardyMesh){0};
  take(reader, "@");
  RETURN_IF_ERROR(read_word(reader, &mesh->name));
  RETURN_IF_ERROR(expect(reader, "=", "'='"));
  RETURN_IF_ERROR(expect(reader, "#sdy.mesh<", "'#sdy.mesh<'"));
  RETURN_IF_ERROR(read_axes_of_mesh(reader, mesh));
  if (take(reader, ",")) {
    RETURN_IF_ERROR(expect(reader, "device_ids", "'device_ids'"));
    RETURN_IF_ERROR(expect(reader, "=", "'='"));
    RETURN_IF_ERROR(expect(reader, "[", "'['"));
    while (!take(reader, "]")) {
      int64_t device;
      if (devices.count > 0) RETURN_IF_ERROR(expect(reader, ",", "',' or ']'"));
      RETURN_IF_ERROR(read_number(reader, &device));
      array_push(&devices, reader->source->arena, device);
    }
  }
  RETURN_IF_ERROR(expect(reader, ">", "'>'"));
  return finish_mesh(reader, mesh, (Int64List){devices.count, devices.data});
}

Status shardy_read_meshes(const ShardySource *source, StringView text, ShardyMeshes *out_meshes) {
  ShardyReader reader = {source, text, 0};
  ARRAY(ShardyMesh) meshes = {0};
  RETURN_IF_ERROR(expect(&reader, "{", "'{'"));
  while (!take(&reader, "}")) {
    ShardyMesh mesh;
    if (meshes.count > 0) RETURN_IF_ERROR(expect(&reader, ",", "',' or '}'"));
    RETURN_IF_ERROR(read_mesh(&reader, &mesh));
    array_push(&meshes, source->arena, mesh);
  }
  *out_meshes = (ShardyMeshes){(int)meshes.count, meshes.data};
  return STATUS_OK;
}

/* --- axes --- */

/* The prime axes of parts [before, before · size) of axis |axis|; false when they are no product of primes in order. */
static bool part_of_axis(const ShardyMesh *mesh, int axis, int64_t before, int64_t size, Arena *arena, AxisList *out) {
  uint8_t *axes = ARENA_NEW_ARRAY(arena, uint8_t, SPMD_MOST_AXES);
  int count = 0, at = mesh->firsts[axis], end = mesh->firsts[axis + 1];
  int64_t product = 1;
  for (; at < end && product < before; at++) product *= mesh->mesh->sizes[at];
  if (product != before) return false;
  for (product = 1; at < end && product < size; at++) {
    product *= mesh->mesh->sizes[at];
    axes[count++] = (uint8_t)at;
  }
  *out = (AxisList){count, axes};
  return product == size;
}

static Status read_axis(ShardyReader *reader, const ShardyMesh *mesh, AxisList *out) {
  StringView name;
  RETURN_IF_ERROR(read_quoted(reader, &name));
  int axis = 0;
  while (axis < mesh->axis_count && !sv_equal(mesh->axes[axis].name, name)) axis++;
  if (axis == mesh->axis_count)
    return diag_error(reader->source->diag, STATUS_INVALID, reader->source->loc, "sharding",
                      "'%.*s' names the axis '%.*s', which mesh '%.*s' does not have",
                      SV_ARG(reader->source->attribute), SV_ARG(name), SV_ARG(mesh->name));
  int64_t before = 1, size = mesh->axes[axis].size;
  if (take(reader, ":")) {
    RETURN_IF_ERROR(expect(reader, "(", "'('"));
    RETURN_IF_ERROR(read_number(reader, &before));
    RETURN_IF_ERROR(expect(reader, ")", "')'"));
    RETURN_IF_ERROR(read_number(reader, &size));
  }
  return part_of_axis(mesh, axis, before, size, reader->source->arena, out)
             ? STATUS_OK
             : not_understood(reader, "a part of an axis whose sizes are products of its prime factors in order");
}

/* {"a", "b", ?} */
static Status read_axis_set(ShardyReader *reader, const ShardyMesh *mesh, ShardyDim *out) {
  *out = (ShardyDim){0};
  RETURN_IF_ERROR(expect(reader, "{", "'{'"));
  for (bool is_first = true; !take(reader, "}"); is_first = false) {
    AxisList axes;
    if (!is_first) RETURN_IF_ERROR(expect(reader, ",", "',' or '}'"));
    if (take(reader, "?")) {
      out->is_open = true;
      continue;
    }
    RETURN_IF_ERROR(read_axis(reader, mesh, &axes));
    if (axis_list_mask(out->axes) & axis_list_mask(axes)) return not_understood(reader, "each axis once");
    out->axes = axis_lists_join(reader->source->arena, out->axes, axes);
  }
  return STATUS_OK;
}

/* --- shardings --- */

static Status find_mesh(ShardyReader *reader, const ShardyMeshes *meshes, const ShardyMesh **out) {
  StringView name;
  RETURN_IF_ERROR(expect(reader, "@", "'@' and the name of a mesh"));
  RETURN_IF_ERROR(read_word(reader, &name));
  for (int i = 0; i < meshes->count; i++) {
    *out = &meshes->data[i];
    if (sv_equal(meshes->data[i].name, name)) return STATUS_OK;
  }
  return diag_error(reader->source->diag, STATUS_INVALID, reader->source->loc, "sharding",
                    "'%.*s' names the mesh '%.*s', which the module does not have", SV_ARG(reader->source->attribute),
                    SV_ARG(name));
}

/* @mesh, [dims], replicated={…}, unreduced={…}> */
static Status read_sharding(ShardyReader *reader, const ShardyMeshes *meshes, ShardySharding *out) {
  ARRAY(ShardyDim) dims = {0};
  AxisMask used = 0;
  *out = (ShardySharding){0};
  RETURN_IF_ERROR(find_mesh(reader, meshes, &out->mesh));
  RETURN_IF_ERROR(expect(reader, ",", "','"));
  RETURN_IF_ERROR(expect(reader, "[", "'['"));
  while (!take(reader, "]")) {
    ShardyDim dim;
    if (dims.count > 0) RETURN_IF_ERROR(expect(reader, ",", "',' or ']'"));
    RETURN_IF_ERROR(read_axis_set(reader, out->mesh, &dim));
    if (take(reader, "p")) RETURN_IF_ERROR(read_number(reader, &dim.priority));
    if (used & axis_list_mask(dim.axes)) return not_understood(reader, "an axis in one dimension only");
    used |= axis_list_mask(dim.axes);
    array_push(&dims, reader->source->arena, dim);
  }
  while (take(reader, ",")) {
    StringView key;
    ShardyDim axes;
    RETURN_IF_ERROR(read_word(reader, &key));
    RETURN_IF_ERROR(expect(reader, "=", "'='"));
    RETURN_IF_ERROR(read_axis_set(reader, out->mesh, &axes));
    if (sv_equal(key, SV("replicated")))
      out->replicated |= axis_list_mask(axes.axes);
    else if (!sv_equal(key, SV("unreduced")))
      return not_understood(reader, "'replicated' or 'unreduced'");
    else if (axes.axes.count > 0)
      return diag_error(reader->source->diag, STATUS_UNSUPPORTED, reader->source->loc, "sharding",
                        "'%.*s' leaves partial sums on devices", SV_ARG(reader->source->attribute));
  }
  out->rank = (int)dims.count;
  out->dims = dims.data;
  return expect(reader, ">", "'>'");
}

Status shardy_read_shardings(const ShardySource *source, StringView text, const ShardyMeshes *meshes, int *out_count,
                             const ShardySharding **out_shardings) {
  ShardyReader reader = {source, text, 0};
  ARRAY(ShardySharding) shardings = {0};
  ShardySharding sharding;
  if (take(&reader, "#sdy.sharding<")) {
    RETURN_IF_ERROR(read_sharding(&reader, meshes, &sharding));
    array_push(&shardings, source->arena, sharding);
  } else {
    RETURN_IF_ERROR(expect(&reader, "#sdy.sharding_per_value<", "'#sdy.sharding<' or '#sdy.sharding_per_value<'"));
    RETURN_IF_ERROR(expect(&reader, "[", "'['"));
    while (!take(&reader, "]")) {
      if (shardings.count > 0) RETURN_IF_ERROR(expect(&reader, ",", "',' or ']'"));
      RETURN_IF_ERROR(expect(&reader, "<", "'<'"));
      RETURN_IF_ERROR(read_sharding(&reader, meshes, &sharding));
      array_push(&shardings, source->arena, sharding);
    }
  }
  *out_count = (int)shardings.count;
  *out_shardings = shardings.data;
  return STATUS_OK;
}

Status shardy_read_manual_axes(const ShardySource *source, StringView text, const ShardyMeshes *meshes,
                               const ShardyMesh **out_mesh, AxisMask *out_axes) {
  *out_axes = 0;
  for (int i = 0; i < meshes->count; i++) {
    DiagSink ignored;
    bool is_last = i + 1 == meshes->count;
    diag_sink_init(&ignored, source->arena);
    ShardySource attempt = *source;
    if (!is_last) attempt.diag = &ignored;
    ShardyReader reader = {&attempt, text, 0};
    ShardyDim axes;
    *out_mesh = &meshes->data[i];
    Status status = expect(&reader, "#sdy<manual_axes", "'#sdy<manual_axes'");
    if (status == STATUS_OK) status = read_axis_set(&reader, *out_mesh, &axes);
    if (status == STATUS_OK) *out_axes = axis_list_mask(axes.axes);
    if (status == STATUS_OK || is_last) return status;
  }
  return STATUS_OK;
}
