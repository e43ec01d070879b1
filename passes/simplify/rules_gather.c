/* Rules of gathers whose places form a mesh. */
#include "base/checked_math.h"
#include "passes/simplify/algebraic_rules.h"

enum { LINES = 2, REPEATS = 4 };

/* One number of all index vectors: it depends on some dimensions of the indices alone. */
typedef struct GatherLine {
  HloInstruction *source; /* its numbers, with dimensions of size one between these dimensions */
  PrimitiveType type;     /* of the indices */
  int rank;
  int64_t sizes[SHAPE_MAX_RANK];
  int64_t places[SHAPE_MAX_RANK]; /* of its dimensions among those of the gather's result, ascending */
  int64_t dimension;              /* of the table, in which it says where slices begin */
} GatherLine;

typedef struct GatherMesh {
  HloInstruction *gather, *table;
  Int64List offsets, collapsed, sizes;
  GatherLine lines[LINES];
} GatherMesh;

/* The result's dimension that goes by dimension |d| of the indices, the |vector_dimension|th of which it does not have.
 */
static int64_t place_in_result(const GatherMesh *mesh, int64_t d, int64_t vector_dimension) {
  int64_t number = d - (d > vector_dimension), place = 0;
  while (int64_list_has(mesh->offsets, place) || number-- > 0) place++;
  return place;
}

/* |part| of the concatenated indices as a line, with numbers of |type|; false: it is none. */
static bool find_line(const GatherMesh *mesh, const HloInstruction *part, int64_t vector_dimension, PrimitiveType type,
                      GatherLine *out) {
  if (part->opcode != HLO_BROADCAST || part->shape->dims[vector_dimension] != 1) return false;
  Int64List dims = hlo_instruction_ints(part, HLO_ATTR_DIMENSIONS);
  out->source = part->operands[0];
  out->type = type;
  out->rank = 0;
  for (int i = 0; i < out->source->shape->rank; i++) {
    if (out->source->shape->dims[i] == 1) continue;
    out->sizes[out->rank] = out->source->shape->dims[i];
    out->places[out->rank++] = place_in_result(mesh, dims.data[i], vector_dimension);
    if (out->rank > 1 && out->places[out->rank - 1] < out->places[out->rank - 2]) return false;
  }
  return true;
}

/* Where slices begin along |line|, an array of its dimensions. */
static HloInstruction *starts_of_line(const GatherLine *line) {
  ShapeTable *shapes = line->source->parent->module->shapes;
  PrimitiveType type = line->source->shape->type;
  HloInstruction *starts = algebraic_reshape(line->source, shape_array(shapes, type, line->sizes, line->rank));
  if (type == line->type) return starts;
  const Shape *shape = shape_array(shapes, line->type, line->sizes, line->rank);
  return hlo_computation_add(starts->parent, HLO_CONVERT, shape, &starts, 1, (StringView){0});
}

/* Whether the indices of |gather| are the places of a mesh: of two lines, each of its own dimensions. */
static bool find_mesh(HloInstruction *gather, GatherMesh *out) {
  const HloInstruction *indices = gather->operands[1];
  *out = (GatherMesh){.gather = gather,
                      .table = gather->operands[0],
                      .offsets = hlo_instruction_ints(gather, HLO_ATTR_OFFSET_DIMS),
                      .collapsed = hlo_instruction_ints(gather, HLO_ATTR_COLLAPSED_SLICE_DIMS),
                      .sizes = hlo_instruction_ints(gather, HLO_ATTR_SLICE_SIZES)};
  Int64List map = hlo_instruction_ints(gather, HLO_ATTR_START_INDEX_MAP);
  if (!shape_is_static_array(gather->shape) || !shape_is_static_array(out->table->shape) ||
      !shape_is_static_array(indices->shape) || map.count != LINES || !shape_has_default_layout(gather->shape) ||
      gather->shape->type != out->table->shape->type ||
      hlo_instruction_ints(gather, HLO_ATTR_OPERAND_BATCHING_DIMS).count > 0)
    return false;
  const HloInstruction *joined = indices->opcode == HLO_CONVERT ? indices->operands[0] : indices;
  int64_t vector_dimension = hlo_instruction_int(gather, HLO_ATTR_INDEX_VECTOR_DIM, 0);
  if (joined->opcode != HLO_CONCATENATE || joined->operand_count != LINES ||
      hlo_instruction_ints(joined, HLO_ATTR_DIMENSIONS).data[0] != vector_dimension)
    return false;
  for (int i = 0; i < LINES; i++) {
    out->lines[i].dimension = map.data[i];
    if (!find_line(out, joined->operands[i], vector_dimension, indices->shape->type, &out->lines[i])) return false;
  }
  return out->lines[0].rank + out->lines[1].rank == indices->shape->rank - 1;
}

/* Where dimension |d| of |read|, an operand of |user|, is in what that makes; -1: nowhere, or hard to say. */
static int64_t place_after(const HloInstruction *user, const HloInstruction *read, int64_t d) {
  static const HloAttrId batches[] = {HLO_ATTR_LHS_BATCH_DIMS, HLO_ATTR_RHS_BATCH_DIMS};
  if (user->opcode == HLO_TRANSPOSE) return int64_list_find(hlo_instruction_ints(user, HLO_ATTR_DIMENSIONS), d);
  if (user->opcode == HLO_DOT)
    return int64_list_find(hlo_instruction_ints(user, batches[user->operands[1] == read]), d);
  if (hlo_opcode_has(user->opcode, OP_ELEMENTWISE)) return d;
  if (user->opcode != HLO_RESHAPE) return -1;
  int64_t place = 0; /* dimensions of size one come and go */
  for (int i = 0; i < user->shape->rank; i++) {
    if (user->shape->dims[i] == 1) continue;
    while (place < d && read->shape->dims[place] == 1) place++;
    if (read->shape->dims[place] != user->shape->dims[i]) return -1;
    if (place++ == d) return i;
  }
  return -1;
}

/* Which of both lines has the last dimension of what is made of |gather| alone, as far as that can be followed: loops
 * go along it. */
static int find_last_line(const HloInstruction *gather, const GatherLine *lines) {
  int64_t places[LINES] = {lines[0].places[lines[0].rank - 1], lines[1].places[lines[1].rank - 1]};
  for (const HloInstruction *made = gather; made->user_count == 1; made = made->users[0]) {
    int64_t after[LINES];
    for (int i = 0; i < LINES; i++) after[i] = place_after(made->users[0], made, places[i]);
    if (after[0] < 0 || after[1] < 0) break;
    for (int i = 0; i < LINES; i++) places[i] = after[i];
  }
  return places[1] > places[0];
}

/* The two lines have no dimension in common. */
static bool are_apart(const GatherLine *a, const GatherLine *b) {
  for (int i = 0; i < a->rank; i++) {
    for (int k = 0; k < b->rank; k++) {
      if (a->places[i] == b->places[k]) return false;
    }
  }
  return a->rank > 0 && b->rank > 0;
}

/* gather(table) of |shape| along one |line|: slices of |sizes|, whose dimension of the line |is_collapsed|. */
static HloInstruction *gather_line(HloInstruction *table, const GatherLine *line, int64_t dimension, bool is_collapsed,
                                   const int64_t *sizes, const int64_t *offsets, const Shape *shape) {
  HloInstruction *operands[] = {table, starts_of_line(line)};
  HloInstruction *result = hlo_computation_add(table->parent, HLO_GATHER, shape, operands, 2, (StringView){0});
  hlo_instruction_set_ints(result, HLO_ATTR_OFFSET_DIMS, offsets, table->shape->rank - is_collapsed);
  hlo_instruction_set_ints(result, HLO_ATTR_COLLAPSED_SLICE_DIMS, &dimension, is_collapsed);
  hlo_instruction_set_ints(result, HLO_ATTR_START_INDEX_MAP, &dimension, 1);
  hlo_instruction_set_int(result, HLO_ATTR_INDEX_VECTOR_DIM, line->rank);
  hlo_instruction_set_ints(result, HLO_ATTR_SLICE_SIZES, sizes, table->shape->rank);
  return result;
}

/* The table's dimensions, that of |first| cut or gone, then those of |first|: all that is looked up along that line. */
static HloInstruction *gather_first(const GatherMesh *mesh, const GatherLine *first) {
  const Shape *table = mesh->table->shape;
  bool is_collapsed = int64_list_has(mesh->collapsed, first->dimension);
  int64_t sizes[SHAPE_MAX_RANK], dims[SHAPE_MAX_RANK], offsets[SHAPE_MAX_RANK], elements = 1;
  int rank = 0;
  for (int d = 0; d < table->rank; d++) {
    sizes[d] = d == first->dimension ? mesh->sizes.data[d] : table->dims[d];
    if (d == first->dimension && is_collapsed) continue;
    offsets[rank] = rank;
    dims[rank++] = sizes[d];
  }
  for (int i = 0; i < first->rank && rank < SHAPE_MAX_RANK; i++) dims[rank++] = first->sizes[i];
  for (int i = 0; i < rank; i++) {
    if (!checked_mul(elements, dims[i], &elements)) return NULL;
  }
  if (rank == SHAPE_MAX_RANK || elements > shape_element_count(mesh->gather->shape) / REPEATS) return NULL;
  const Shape *shape = shape_array(mesh->table->parent->module->shapes, table->type, dims, rank);
  return gather_line(mesh->table, first, first->dimension, is_collapsed, sizes, offsets, shape);
}

/* What |first| has looked up is looked up along the other line, whole rows: the table's dimensions, those of |second|,
 * those of |first|, and then in the order of the gather's result. */
static HloInstruction *gather_second(const GatherMesh *mesh, HloInstruction *rows, const GatherLine *first,
                                     const GatherLine *second) {
  bool has_gone = int64_list_has(mesh->collapsed, first->dimension);
  bool is_collapsed = int64_list_has(mesh->collapsed, second->dimension);
  int64_t sizes[SHAPE_MAX_RANK], offsets[SHAPE_MAX_RANK], order[SHAPE_MAX_RANK], dims[SHAPE_MAX_RANK];
  int64_t dimension = second->dimension - (has_gone && first->dimension < second->dimension);
  int of_table = mesh->table->shape->rank - has_gone, rank = 0;
  for (int d = 0; d < rows->shape->rank; d++) {
    int64_t old = has_gone && d >= first->dimension ? d + 1 : d;
    sizes[d] = d < of_table ? mesh->sizes.data[old] : rows->shape->dims[d];
  }
  for (int64_t i = 0; i < mesh->offsets.count; i++) order[mesh->offsets.data[i]] = offsets[rank] = rank, rank++;
  for (int i = 0; i < second->rank; i++) order[second->places[i]] = rank++;
  for (int i = 0; i < first->rank; i++, rank++) {
    order[first->places[i]] = rank;
    offsets[mesh->offsets.count + i] = rank;
  }
  bool moves = false;
  for (int i = 0; i < rank; i++) {
    dims[order[i]] = mesh->gather->shape->dims[i];
    moves = moves || order[i] != i;
  }
  const Shape *shape = shape_array(rows->parent->module->shapes, rows->shape->type, dims, rank);
  HloInstruction *looked_up = gather_line(rows, second, dimension, is_collapsed, sizes, offsets, shape);
  if (!moves) return looked_up;
  HloInstruction *result =
      hlo_computation_add(rows->parent, HLO_TRANSPOSE, mesh->gather->shape, &looked_up, 1, (StringView){0});
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, order, rank);
  return result;
}

/* gather(x) at the places of a mesh → gather(gather(x)), first along the line that what is made of it goes by last,
 * where each place of that is taken several times (images made larger, by what is bilinear or nearest): what follows
 * reads whole rows. */
static HloInstruction *gather_of_mesh(HloInstruction *gather) {
  GatherMesh mesh;
  if (!find_mesh(gather, &mesh) || !are_apart(&mesh.lines[0], &mesh.lines[1])) return NULL;
  for (int64_t i = 0; i < mesh.collapsed.count; i++) {
    int64_t d = mesh.collapsed.data[i];
    if (d != mesh.lines[0].dimension && d != mesh.lines[1].dimension) return NULL;
  }
  int last = find_last_line(gather, mesh.lines);
  HloInstruction *rows = gather_first(&mesh, &mesh.lines[last]);
  return rows == NULL ? NULL : gather_second(&mesh, rows, &mesh.lines[last], &mesh.lines[1 - last]);
}

AlgebraicRules algebraic_host_gather_rules(void) {
  static const AlgebraicRule rules[] = {{HLO_GATHER, "gather-of-mesh", gather_of_mesh}};
  return (AlgebraicRules){rules, sizeof rules / sizeof *rules};
}
