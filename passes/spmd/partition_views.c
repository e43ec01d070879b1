/* concatenate, slice and pad, one after the other, along a dimension that is divided.
 *
 * Along one dimension they are a view: pieces of other arrays one after the other.  What each device needs of each
 * piece is one run of the array that it is of, so that a chain of them (a roll, a slice of what was padded) sends each
 * element once.  Views look through what nobody else reads. */
#include "base/checked_math.h"
#include "passes/spmd/partition_internal.h"
#include "passes/spmd/runs.h"

enum {
  MOST_PIECES = 16, /* of longer ones the last piece is the operand as it is */
  MOST_DEPTH = 8    /* operations that a view looks through */
};

typedef struct ViewPiece {
  const HloInstruction *source; /* an array; NULL: |fill| */
  const HloInstruction *fill;   /* a scalar */
  int64_t start;                /* in the source */
  int64_t count;
} ViewPiece;

typedef struct View {
  Arena *arena;
  int dim;
  int most_depth;
  ARRAY(ViewPiece) pieces;
} View;

static void add_piece(View *view, ViewPiece piece) {
  if (piece.count > 0) array_push(&view->pieces, view->arena, piece);
}

/* --- what an operation is a view of --- */

/* Adds elements [start, start + count) of |old|. */
static void add_view(View *view, const HloInstruction *old, int64_t start, int64_t count, int depth);

typedef bool ViewMaker(View *view, const HloInstruction *old, int64_t start, int64_t count, int depth);

static bool view_concatenate(View *view, const HloInstruction *old, int64_t start, int64_t count, int depth) {
  if (hlo_instruction_ints(old, HLO_ATTR_DIMENSIONS).data[0] != view->dim) return false;
  int64_t offset = 0;
  for (int i = 0; i < old->operand_count; i++) {
    int64_t size = old->operands[i]->shape->dims[view->dim];
    int64_t begin = max_i64(start, offset), end = min_i64(start + count, offset + size);
    if (begin < end) add_view(view, old->operands[i], begin - offset, end - begin, depth + 1);
    offset += size;
  }
  return true;
}

static bool view_slice(View *view, const HloInstruction *old, int64_t start, int64_t count, int depth) {
  const SliceRanges *ranges = hlo_instruction_slice(old);
  for (int d = 0; d < ranges->rank; d++) {
    if (ranges->dims[d].stride != 1) return false;
    if (d != view->dim && old->shape->dims[d] != old->operands[0]->shape->dims[d]) return false;
  }
  add_view(view, old->operands[0], start + ranges->dims[view->dim].start, count, depth + 1);
  return true;
}

static bool view_pad(View *view, const HloInstruction *old, int64_t start, int64_t count, int depth) {
  const PaddingConfig *padding = hlo_instruction_padding(old);
  for (int d = 0; d < padding->rank; d++) {
    const PaddingDimension *dim = &padding->dims[d];
    if (dim->interior != 0 || (d != view->dim && (dim->low != 0 || dim->high != 0))) return false;
  }
  int64_t low = padding->dims[view->dim].low, size = old->operands[0]->shape->dims[view->dim], end = start + count;
  int64_t begin_inside = max_i64(start, low), end_inside = min_i64(end, low + size);
  if (begin_inside >= end_inside) {
    add_piece(view, (ViewPiece){NULL, old->operands[1], 0, count});
    return true;
  }
  add_piece(view, (ViewPiece){NULL, old->operands[1], 0, begin_inside - start});
  add_view(view, old->operands[0], begin_inside - low, end_inside - begin_inside, depth + 1);
  add_piece(view, (ViewPiece){NULL, old->operands[1], 0, end - end_inside});
  return true;
}

static const struct {
  HloOpcode opcode;
  ViewMaker *make;
} view_makers[] = {
    {HLO_CONCATENATE, view_concatenate},
    {HLO_SLICE, view_slice},
    {HLO_PAD, view_pad},
};

static void add_view(View *view, const HloInstruction *old, int64_t start, int64_t count, int depth) {
  bool looks_through = depth < view->most_depth && view->pieces.count < MOST_PIECES &&
                       (depth == 0 || (old->user_count == 1 && old != old->parent->root));
  for (size_t i = 0; looks_through && i < sizeof(view_makers) / sizeof(view_makers[0]); i++) {
    if (view_makers[i].opcode == old->opcode && view_makers[i].make(view, old, start, count, depth)) return;
  }
  add_piece(view, (ViewPiece){old, NULL, start, count});
}

static View view_of(Arena *arena, const HloInstruction *old, int dim, int most_depth) {
  View view = {.arena = arena, .dim = dim, .most_depth = most_depth};
  add_view(&view, old, 0, old->shape->dims[dim], 0);
  return view;
}

/* --- which devices have what of it --- */

/* All |sources| are divided as the result is. */
static const ShardingRule *rule_of(const View *view, const HloInstruction *old, int sources) {
  Arena *arena = view->arena;
  int rank = old->shape->rank, count = 0;
  Factor *factors = ARENA_NEW_ARRAY(arena, Factor, rank + 1);
  FactorList *dims = ARENA_NEW_ARRAY(arena, FactorList, rank + 1);
  for (int d = 0; d < rank; d++) {
    if (old->shape->dims[d] <= 1) continue;
    int16_t *factor = ARENA_NEW(arena, int16_t);
    *factor = (int16_t)count;
    factors[count++] = (Factor){old->shape->dims[d], d == view->dim ? FACTOR_PERMUTATION : FACTOR_PASS, false};
    dims[d] = (FactorList){1, factor};
  }
  FactorMapping *mappings = ARENA_NEW_ARRAY(arena, FactorMapping, sources + 1);
  for (int i = 0; i <= sources; i++) mappings[i] = (FactorMapping){rank, dims};
  ShardingRule *rule = ARENA_NEW(arena, ShardingRule);
  *rule = (ShardingRule){count, factors, sources, mappings, 1, mappings};
  return rule;
}

static SpmdValue *source_value(Partitioner *partitioner, const ViewPiece *piece) {
  return partitioner->values[piece->source->id][0];
}

/* What devices need of |piece|, which begins at |begin| of the result, of |size| elements. */
static SpmdRuns runs_of(Partitioner *partitioner, const View *view, const ViewPiece *piece, int64_t begin, int64_t size,
                        AxisList axes) {
  Arena *arena = view->arena;
  int64_t count = axis_list_size(partitioner->builder.mesh, axes), tile = size / count + (size % count != 0);
  SpmdRuns runs = spmd_runs_affine(&partitioner->builder, axes, piece->source->shape->dims[view->dim], tile,
                                   piece->start - begin, tile);
  int64_t *begins = ARENA_NEW_ARRAY(arena, int64_t, count), *ends = ARENA_NEW_ARRAY(arena, int64_t, count);
  for (int64_t i = 0; i < count; i++) {
    begins[i] = max_i64(runs.firsts[i], piece->start);
    ends[i] = min_i64(runs.firsts[i] + tile, piece->start + piece->count);
  }
  runs.needed_begins = begins;
  runs.needed_ends = ends;
  return runs;
}

static double view_bytes(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors,
                         const void *context) {
  const View *view = context;
  const AxisSharding *result = factor_axes_of_result(partitioner, old, factors);
  double bytes = 0;
  int64_t begin = 0;
  if (result->dims[view->dim].count == 0) return 0;
  for (int64_t i = 0; i < view->pieces.count; i++) {
    const ViewPiece *piece = &view->pieces.data[i];
    if (piece->source != NULL) {
      SpmdRuns runs = runs_of(partitioner, view, piece, begin, old->shape->dims[view->dim], result->dims[view->dim]);
      const Shape *local = spmd_local_shape(partitioner, result, piece->source->shape);
      double line = (double)shape_byte_size(local) / (double)max_i64(local->dims[view->dim], 1);
      bytes += line * spmd_runs_sent(&partitioner->builder, &runs);
    }
    begin += piece->count;
  }
  return bytes;
}

/* --- the part of a device --- */

/* |index|, of the elements of the result, lies before |end|. */
static HloInstruction *is_before(GraphBuilder *graph, HloInstruction *index, int64_t end) {
  return graph_compare(graph, COMPARISON_DIRECTION_LT, index, graph_integer(graph, TYPE_S64, end, index->shape));
}

static HloInstruction *piece_part(Partitioner *partitioner, const HloInstruction *old, const View *view,
                                  const ViewPiece *piece, int64_t begin, const AxisSharding *result) {
  if (piece->source == NULL) {
    SpmdValue *fill = partitioner->values[piece->fill->id][0];
    return graph_splat(&partitioner->builder.graph, spmd_value_whole(partitioner, fill),
                       spmd_local_shape(partitioner, result, old->shape));
  }
  HloInstruction *part = spmd_value_as(partitioner, source_value(partitioner, piece), result);
  SpmdRuns runs = runs_of(partitioner, view, piece, begin, old->shape->dims[view->dim], result->dims[view->dim]);
  return spmd_fetch_runs(&partitioner->builder, part, view->dim, &runs, NULL);
}

/* From the last piece to the first: each stands before the end of its own elements. */
static void emit_view(Partitioner *partitioner, const HloInstruction *old, const View *view,
                      const AxisSharding *result) {
  GraphBuilder *graph = &partitioner->builder.graph;
  const Shape *local = spmd_local_shape(partitioner, result, old->shape);
  HloInstruction *index = graph_iota(graph, TYPE_S64, local->dims, local->rank, view->dim);
  HloInstruction *first = spmd_offset(&partitioner->builder, result->dims[view->dim], local->dims[view->dim]);
  index = graph_binary(graph, HLO_ADD, index, graph_splat(graph, graph_convert(graph, first, TYPE_S64), index->shape));
  HloInstruction *made = NULL;
  int64_t end = old->shape->dims[view->dim];
  for (int64_t i = view->pieces.count - 1; i >= 0; i--) {
    const ViewPiece *piece = &view->pieces.data[i];
    HloInstruction *part = piece_part(partitioner, old, view, piece, end - piece->count, result);
    made = made == NULL ? part : graph_select(graph, is_before(graph, index, end), part, made);
    end -= piece->count;
  }
  spmd_value_add(partitioner, spmd_result(partitioner, old, 0), result, (PartialResult){0}, made);
}

/* --- choosing --- */

/* Bytes that were sent for the operands of |old| that nothing else reads. */
static double spent_for_operands(Partitioner *partitioner, const HloInstruction *old) {
  double bytes = 0;
  for (int i = 0; i < old->operand_count; i++) {
    if (old->operands[i]->user_count == 1) bytes += spmd_operand(partitioner, old, i)->spent;
  }
  return bytes;
}

/* The division of |view| that sends the fewest bytes. */
static FactorAxes choose(Partitioner *partitioner, const HloInstruction *old, const View *view) {
  SpmdValue **sources = ARENA_NEW_ARRAY(view->arena, SpmdValue *, view->pieces.count + 1);
  int count = 0;
  for (int64_t i = 0; i < view->pieces.count; i++) {
    if (view->pieces.data[i].source == NULL) continue;
    SpmdValue *value = source_value(partitioner, &view->pieces.data[i]);
    int known = 0;
    while (known < count && sources[known] != value) known++;
    sources[known] = value;
    count = known == count ? count + 1 : count;
  }
  const ShardingRule *rule = rule_of(view, old, count);
  return factor_axes_choose_of(partitioner, old, rule, sources, view_bytes, view);
}

/* The dimension along which |old| has pieces; -1: none. */
static int view_dim(const HloInstruction *old) {
  if (old->opcode == HLO_CONCATENATE) return (int)hlo_instruction_ints(old, HLO_ATTR_DIMENSIONS).data[0];
  for (int d = 0; d < old->shape->rank; d++) {
    if (old->shape->dims[d] != old->operands[0]->shape->dims[d]) return d;
  }
  return -1;
}

bool spmd_partition_view(Partitioner *partitioner, const HloInstruction *old, double bytes) {
  int dim = view_dim(old);
  if (dim < 0 || shape_byte_size(old->shape) == 0) return false;
  View view = view_of(partitioner->builder.arena, old, dim, MOST_DEPTH);
  if (view.pieces.data[0].source == old) return false;
  FactorAxes factors = choose(partitioner, old, &view);
  const AxisSharding *result = factor_axes_of_result(partitioner, old, &factors);
  SpmdValue *value = spmd_result(partitioner, old, 0);
  bytes += spent_for_operands(partitioner, old);
  value->spent = bytes;
  if (result->dims[dim].count == 0 || factors.bytes > bytes) return false;
  value->spent = factors.bytes;
  emit_view(partitioner, old, &view, result);
  return true;
}

Status spmd_partition_concatenate(Partitioner *partitioner, const HloInstruction *old) {
  FactorAxes factors = factor_axes_choose(partitioner, old, sharding_rule(partitioner->builder.arena, old), NULL);
  if (spmd_partition_view(partitioner, old, factors.bytes)) return STATUS_OK;
  return spmd_partition_by_axes(partitioner, old, &factors);
}

Status spmd_partition_pad(Partitioner *partitioner, const HloInstruction *old) {
  const ShardingRule *rule = sharding_rule(partitioner->builder.arena, old);
  FactorAxes factors = factor_axes_choose(partitioner, old, rule, spmd_window_bytes);
  if (spmd_partition_view(partitioner, old, factors.bytes)) return STATUS_OK;
  return spmd_partition_window_by_axes(partitioner, old, &factors);
}
