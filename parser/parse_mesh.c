/* Device meshes, replica groups, arrangements of devices. */
#include "base/checked_math.h"
#include "parser/parser_internal.h"

/* --- [2,3]T(1,0) after "<=" or in device_ids --- */

static Status check_permutation(Parser *parser, SourceLoc loc, Int64List list) {
  for (int64_t i = 0; i < list.count; i++) {
    if (list.data[i] < 0 || list.data[i] >= list.count) {
      return parse_error(parser, loc, "parse-devices", "%lld is not a dimension of the arrangement",
                         (long long)list.data[i]);
    }
  }
  return STATUS_OK;
}

static Status parse_arrangement(Parser *parser, IotaTile *out_iota) {
  Int64List dims, perm = {0};
  SourceLoc loc = here(parser);
  RETURN_IF_ERROR(parse_int_list(parser, TOKEN_LEFT_BRACKET, TOKEN_RIGHT_BRACKET, &dims));
  if (dims.count == 0) return parse_error(parser, loc, "parse-devices", "an arrangement of devices needs dimensions");
  for (int64_t i = 0; i < dims.count; i++) {
    if (dims.data[i] <= 0)
      return parse_error(parser, loc, "parse-devices", "a dimension of an arrangement is not positive");
  }
  if (dims.count > 1) { /* one dimension has no order to be told */
    if (!at_word(parser, "T")) return parse_expected(parser, "'T(…)', the order of the dimensions");
    loc = here(parser);
    advance(parser);
    RETURN_IF_ERROR(parse_int_list(parser, TOKEN_LEFT_PAREN, TOKEN_RIGHT_PAREN, &perm));
    if (perm.count != dims.count) {
      return parse_error(parser, loc, "parse-devices", "'T' has %lld entries for %lld dimensions",
                         (long long)perm.count, (long long)dims.count);
    }
    RETURN_IF_ERROR(check_permutation(parser, loc, perm));
  } else {
    perm = (Int64List){1, ARENA_NEW_ARRAY(parser->arena, int64_t, 1)};
  }
  *out_iota = (IotaTile){(int)dims.count, dims.data, perm.data};
  return STATUS_OK;
}

Status parse_iota(Parser *parser, IotaTile *out_iota) {
  RETURN_IF_ERROR(expect(parser, TOKEN_LESS_EQUAL, "'<='"));
  return parse_arrangement(parser, out_iota);
}

/* --- mesh["x"=2,"y"=4],device_ids=(…) --- */

bool at_mesh(const Parser *parser) {
  return at_word(parser, "mesh") || at_word(parser, "maximal_mesh");
}

static Status parse_maximal_mesh(Parser *parser, Mesh *mesh) {
  mesh->is_maximal = true;
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACKET, "'['"));
  RETURN_IF_ERROR(expect_attribute(parser, "device_id"));
  RETURN_IF_ERROR(parse_int64(parser, &mesh->maximal_device));
  return expect(parser, TOKEN_RIGHT_BRACKET, "']' of a mesh");
}

static Status parse_axes(Parser *parser, Mesh *mesh) {
  ARRAY(MeshAxis) axes = {0};
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACKET, "'[' of a mesh"));
  if (!at(parser, TOKEN_RIGHT_BRACKET)) {
    do {
      MeshAxis axis;
      SourceLoc loc = here(parser);
      RETURN_IF_ERROR(parse_string(parser, &axis.name));
      RETURN_IF_ERROR(expect(parser, TOKEN_EQUAL, "'=' after a mesh axis"));
      RETURN_IF_ERROR(parse_int64(parser, &axis.size));
      if (axis.size <= 0)
        return parse_error(parser, loc, "parse-mesh", "the size of mesh axis '%.*s' is not positive",
                           SV_ARG(axis.name));
      if (axes.count == MAX_MESH_AXES)
        return parse_error(parser, loc, "parse-mesh", "a mesh has at most %d axes", MAX_MESH_AXES);
      for (int64_t i = 0; i < axes.count; i++) {
        if (!sv_equal(axes.data[i].name, axis.name)) continue;
        return parse_error(parser, loc, "parse-mesh", "the mesh has two axes '%.*s'", SV_ARG(axis.name));
      }
      array_push(&axes, parser->arena, axis);
    } while (accept(parser, TOKEN_COMMA));
  }
  mesh->axis_count = (int)axes.count;
  mesh->axes = axes.data;
  return expect(parser, TOKEN_RIGHT_BRACKET, "',' or ']'");
}

static int64_t product(const int64_t *values, int64_t count) {
  int64_t result = 1;
  for (int64_t i = 0; i < count; i++) {
    if (!checked_mul(result, values[i], &result)) return -1;
  }
  return result;
}

static int64_t mesh_size(const Mesh *mesh) {
  int64_t size = 1;
  for (int i = 0; i < mesh->axis_count; i++) {
    if (!checked_mul(size, mesh->axes[i].size, &size)) return -1;
  }
  return size;
}

static Status parse_device_ids(Parser *parser, Mesh *mesh) {
  SourceLoc loc = here(parser);
  int64_t count;
  if (at(parser, TOKEN_LEFT_PAREN) && lexer_peek(&parser->lexer) == '[') {
    IotaTile *iota = ARENA_NEW(parser->arena, IotaTile);
    advance(parser);
    RETURN_IF_ERROR(parse_arrangement(parser, iota));
    RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_PAREN, "')' of device ids"));
    mesh->device_iota = iota;
    count = product(iota->reshape_dims, iota->rank);
  } else {
    Int64List list;
    RETURN_IF_ERROR(parse_int_list(parser, TOKEN_LEFT_PAREN, TOKEN_RIGHT_PAREN, &list));
    mesh->device_count = count = list.count;
    mesh->device_ids = list.data;
  }
  if (count == mesh_size(mesh)) return STATUS_OK;
  return parse_error(parser, loc, "parse-mesh", "%lld device ids for a mesh of %lld devices", (long long)count,
                     (long long)mesh_size(mesh));
}

Status parse_mesh(Parser *parser, const Mesh **out_mesh) {
  Mesh *mesh = ARENA_NEW(parser->arena, Mesh);
  bool maximal = at_word(parser, "maximal_mesh");
  *out_mesh = mesh;
  advance(parser);
  if (maximal) return parse_maximal_mesh(parser, mesh);
  RETURN_IF_ERROR(parse_axes(parser, mesh));
  if (!at(parser, TOKEN_COMMA)) return STATUS_OK;
  Lexer before = parser->lexer; /* the comma may belong to what follows the mesh */
  advance(parser);
  if (!at_attribute(parser, "device_ids")) {
    parser->lexer = before;
    return STATUS_OK;
  }
  advance(parser);
  return parse_device_ids(parser, mesh);
}

/* --- {"x", "y":(1)2, ?} --- */

/* A name, or the number of an axis in quotes. */
static const MeshAxis *find_axis(const Mesh *mesh, StringView name) {
  for (int i = 0; i < mesh->axis_count; i++) {
    if (sv_equal(mesh->axes[i].name, name)) return &mesh->axes[i];
  }
  const char *c = name.data, *end = c + name.size;
  int64_t number;
  bool is_number = number_scan_integer(&c, end, &number) && c == end && number >= 0 && number < mesh->axis_count;
  return is_number ? &mesh->axes[number] : NULL;
}

static Status parse_axis_ref(Parser *parser, const Mesh *mesh, MeshAxisRef *out_ref) {
  SourceLoc loc = here(parser);
  *out_ref = (MeshAxisRef){0};
  RETURN_IF_ERROR(parse_string(parser, &out_ref->name));
  const MeshAxis *axis = find_axis(mesh, out_ref->name);
  if (!axis) {
    Status status = parse_error(parser, loc, "parse-mesh", "the mesh has no axis '%.*s'", SV_ARG(out_ref->name));
    NearestWord nearest = nearest_word_begin(out_ref->name);
    for (int i = 0; i < mesh->axis_count; i++) nearest_word_offer(&nearest, mesh->axes[i].name);
    nearest_word_note(&nearest, parser->diag);
    return status;
  }
  if (!accept(parser, TOKEN_COLON)) return STATUS_OK;
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_PAREN, "'(' of a sub-axis, like \"x\":(1)2"));
  RETURN_IF_ERROR(parse_int64(parser, &out_ref->pre_size));
  RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_PAREN, "')'"));
  RETURN_IF_ERROR(parse_int64(parser, &out_ref->size));
  int64_t split;
  bool fits = out_ref->pre_size > 0 && out_ref->size > 0 && checked_mul(out_ref->pre_size, out_ref->size, &split) &&
              axis->size % split == 0;
  if (!fits)
    return parse_error(parser, loc, "parse-mesh", "the sub-axis does not divide axis '%.*s'", SV_ARG(out_ref->name));
  return STATUS_OK;
}

Status parse_axis_refs(Parser *parser, const Mesh *mesh, bool may_open, MeshAxisRefs *out_refs) {
  ARRAY(MeshAxisRef) refs = {0};
  bool open = false;
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{' of mesh axes"));
  if (!at(parser, TOKEN_RIGHT_BRACE)) {
    do {
      open = may_open && accept(parser, TOKEN_QUESTION);
      if (open) break;
      MeshAxisRef ref;
      RETURN_IF_ERROR(parse_axis_ref(parser, mesh, &ref));
      array_push(&refs, parser->arena, ref);
    } while (accept(parser, TOKEN_COMMA));
  }
  *out_refs = (MeshAxisRefs){(int)refs.count, refs.data, open};
  return expect(parser, TOKEN_RIGHT_BRACE, open ? "'}' after '?'" : "',' or '}'");
}

/* --- replica_groups={{0,1},{2,3}}, [2,2]<=[4], mesh["x"=2]{"x"} --- */

static Status parse_mesh_groups(Parser *parser, ReplicaGroups *groups) {
  SourceLoc loc = here(parser);
  groups->form = REPLICA_GROUPS_MESH;
  RETURN_IF_ERROR(parse_mesh(parser, &groups->mesh));
  RETURN_IF_ERROR(parse_axis_refs(parser, groups->mesh, false, &groups->axes));
  int64_t size = 1;
  for (int i = 0; i < groups->axes.count && size > 0; i++) {
    const MeshAxisRef *ref = &groups->axes.refs[i];
    if (!checked_mul(size, ref->size > 0 ? ref->size : find_axis(groups->mesh, ref->name)->size, &size)) size = -1;
  }
  if (size == 1)
    return parse_error(parser, loc, "parse-replica-groups", "groups along mesh axes need more than one device each");
  return STATUS_OK;
}

static Status parse_iota_groups(Parser *parser, ReplicaGroups *groups) {
  SourceLoc loc = here(parser);
  Int64List dims;
  groups->form = REPLICA_GROUPS_IOTA;
  RETURN_IF_ERROR(parse_int_list(parser, TOKEN_LEFT_BRACKET, TOKEN_RIGHT_BRACKET, &dims));
  if (dims.count != 2) {
    return parse_error(parser, loc, "parse-replica-groups", "expected [groups,size] before '<=', found %lld numbers",
                       (long long)dims.count);
  }
  if (dims.data[0] <= 0 || dims.data[1] <= 0) {
    return parse_error(parser, loc, "parse-replica-groups", "number and size of replica groups have to be positive");
  }
  groups->iota_groups = dims.data[0];
  groups->iota_size = dims.data[1];
  return parse_iota(parser, &groups->iota);
}

Status parse_replica_groups(Parser *parser, const ReplicaGroups **out_groups) {
  ReplicaGroups *groups = ARENA_NEW(parser->arena, ReplicaGroups);
  *out_groups = groups;
  if (at_mesh(parser)) return parse_mesh_groups(parser, groups);
  if (at(parser, TOKEN_LEFT_BRACKET)) return parse_iota_groups(parser, groups);
  if (!at(parser, TOKEN_LEFT_BRACE))
    return parse_expected(parser, "replica groups: {{…},{…}}, [groups,size]<=[…] or mesh[…]{…}");
  return parse_int_lists(parser, &groups->group_count, &groups->groups);
}
