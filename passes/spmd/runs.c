#include "passes/spmd/runs.h"

#include "base/checked_math.h"

SpmdRuns spmd_runs_affine(SpmdBuilder *builder, AxisList axes, int64_t size, int64_t length, int64_t first,
                          int64_t step) {
  int64_t count = axis_list_size(builder->mesh, axes);
  int64_t *firsts = ARENA_NEW_ARRAY(builder->arena, int64_t, count);
  for (int64_t i = 0; i < count; i++) firsts[i] = first + i * step;
  return (SpmdRuns){.axes = axes, .count = count, .size = size, .length = length, .firsts = firsts};
}

/* --- who needs what of whom --- */

/* What devices need of the part |distance| further along: at most elements [begin, end) of it. */
typedef struct RunPiece {
  int64_t begin, end; /* nothing: 0, 0 */
  int64_t senders;
} RunPiece;

typedef struct RunExchange {
  int64_t tile;              /* elements of a part */
  int64_t nearest, farthest; /* distances, signed: from nearest to farthest */
  RunPiece *pieces;          /* by distance - nearest */
} RunExchange;

static int64_t tile_of(const SpmdRuns *runs) {
  return runs->size / runs->count + (runs->size % runs->count != 0);
}

static int64_t needed_begin(const SpmdRuns *runs, int64_t i) {
  return max_i64(runs->needed_begins != NULL ? runs->needed_begins[i] : runs->firsts[i], 0);
}

static int64_t needed_end(const SpmdRuns *runs, int64_t i) {
  int64_t end = runs->needed_ends != NULL ? runs->needed_ends[i] : runs->firsts[i] + runs->length;
  return min_i64(end, runs->size);
}

/* The parts that device |i| needs; false: none. */
static bool parts_needed(const SpmdRuns *runs, int64_t i, int64_t *out_first, int64_t *out_last) {
  int64_t tile = tile_of(runs), begin = needed_begin(runs, i), end = needed_end(runs, i);
  if (begin >= end) return false;
  *out_first = begin / tile;
  *out_last = (end - 1) / tile;
  return true;
}

/* The elements of part |part| that device |i| needs. */
static RunPiece piece_needed(const SpmdRuns *runs, int64_t i, int64_t part) {
  int64_t tile = tile_of(runs), begin = needed_begin(runs, i), end = needed_end(runs, i);
  return (RunPiece){max_i64(begin - part * tile, 0), min_i64(end - part * tile, tile), 1};
}

static void add_need(RunPiece *piece, RunPiece need) {
  if (piece->senders == 0) *piece = (RunPiece){need.begin, need.end, 0};
  piece->begin = min_i64(piece->begin, need.begin);
  piece->end = max_i64(piece->end, need.end);
  piece->senders++;
}

static RunExchange find_exchange(const SpmdBuilder *builder, const SpmdRuns *runs) {
  RunExchange exchange = {tile_of(runs), 0, 0, NULL};
  int64_t first, last;
  for (int64_t i = 0; i < runs->count; i++) {
    if (!parts_needed(runs, i, &first, &last)) continue;
    exchange.nearest = min_i64(exchange.nearest, first - i);
    exchange.farthest = max_i64(exchange.farthest, last - i);
  }
  exchange.pieces = ARENA_NEW_ARRAY(builder->arena, RunPiece, exchange.farthest - exchange.nearest + 1);
  for (int64_t i = 0; i < runs->count; i++) {
    if (!parts_needed(runs, i, &first, &last)) continue;
    for (int64_t part = first; part <= last; part++)
      add_need(&exchange.pieces[part - i - exchange.nearest], piece_needed(runs, i, part));
  }
  return exchange;
}

static double sent_by_pieces(const SpmdRuns *runs, const RunExchange *exchange) {
  double sent = 0;
  for (int64_t d = exchange->nearest; d <= exchange->farthest; d++) {
    const RunPiece *piece = &exchange->pieces[d - exchange->nearest];
    if (d != 0) sent += (double)(piece->end - piece->begin) * (double)piece->senders / (double)runs->count;
  }
  return sent;
}

static double sent_by_gather(const SpmdRuns *runs) {
  return (double)tile_of(runs) * (double)(runs->count - 1);
}

double spmd_runs_sent(const SpmdBuilder *builder, const SpmdRuns *runs) {
  RunExchange exchange = find_exchange(builder, runs);
  double pieces = sent_by_pieces(runs, &exchange), gather = sent_by_gather(runs);
  return pieces < gather ? pieces : gather;
}

/* --- numbers that differ from device to device --- */

static bool is_affine(const int64_t *values, int64_t count) {
  for (int64_t i = 2; i < count; i++) {
    if (values[i] - values[i - 1] != values[1] - values[0]) return false;
  }
  return true;
}

HloInstruction *spmd_by_device(SpmdBuilder *builder, AxisList axes, const int64_t *values) {
  GraphBuilder *graph = &builder->graph;
  int64_t count = axis_list_size(builder->mesh, axes);
  HloInstruction *first = graph_integer(graph, TYPE_S32, values[0], NULL);
  if (count == 1) return first;
  if (is_affine(values, count)) {
    int64_t step = values[1] - values[0];
    return step == 0 ? first : graph_binary(graph, HLO_ADD, spmd_offset(builder, axes, step), first);
  }
  Literal *table =
      literal_create(graph->computation->module->arena, shape_array(graph_shapes(graph), TYPE_S32, &count, 1));
  for (int64_t i = 0; i < count; i++) literal_set_int(table, i, values[i]);
  HloInstruction *constant = hlo_computation_add_constant(graph->computation, table, (StringView){0});
  HloInstruction *own = graph_take(graph, constant, 0, spmd_coordinate(builder, axes));
  return graph_reshape(graph, own, NULL, 0);
}

/* --- fetching --- */

/* |value|'s place in the mesh with place |index| along |axes|. */
static int64_t position_at(const SpmdMesh *mesh, AxisList axes, int64_t position, int64_t index) {
  for (int k = axes.count - 1; k >= 0; k--) {
    int axis = axes.axes[k];
    int64_t digit = position / mesh->strides[axis] % mesh->sizes[axis];
    position += (index % mesh->sizes[axis] - digit) * mesh->strides[axis];
    index /= mesh->sizes[axis];
  }
  return position;
}

/* Elements [begin, end) of the part |distance| further along, on the devices that need them. */
static HloInstruction *fetch_piece(SpmdBuilder *builder, HloInstruction *local, int dim, const SpmdRuns *runs,
                                   const RunPiece *piece, int64_t distance) {
  const SpmdMesh *mesh = builder->mesh;
  HloInstruction *sent = graph_slice(&builder->graph, local, dim, piece->begin, piece->end);
  if (distance == 0) return sent;
  int64_t *targets = ARENA_NEW_ARRAY(builder->arena, int64_t, mesh->device_count);
  for (int64_t position = 0; position < mesh->device_count; position++) {
    int64_t first, last, part = axis_list_index(mesh, runs->axes, position), i = part - distance;
    targets[position] = -1;
    if (i < 0 || i >= runs->count || !parts_needed(runs, i, &first, &last) || part < first || part > last) continue;
    targets[position] = position_at(mesh, runs->axes, position, i);
  }
  return spmd_permute(builder, sent, targets);
}

static HloInstruction *zeroes(SpmdBuilder *builder, const Shape *like, int dim, int64_t count) {
  int64_t dims[SHAPE_MAX_RANK];
  for (int i = 0; i < like->rank; i++) dims[i] = like->dims[i];
  dims[dim] = count;
  return graph_zero(&builder->graph, like->type,
                    shape_array(graph_shapes(&builder->graph), like->type, dims, like->rank));
}

/* An array of which a run is elements [starts[i], starts[i] + length) on device i. */
typedef struct RunBuffer {
  HloInstruction *value;
  int64_t *starts;
} RunBuffer;

/* All pieces, each at its place. */
static RunBuffer gather_pieces(SpmdBuilder *builder, HloInstruction *local, int dim, const SpmdRuns *runs,
                               const RunExchange *exchange) {
  HloInstruction **parts =
      ARENA_NEW_ARRAY(builder->arena, HloInstruction *, 3 * (exchange->farthest - exchange->nearest + 1));
  int count = 0;
  int64_t tile = exchange->tile, skipped = 0;
  for (int64_t d = exchange->nearest; d <= exchange->farthest; d++) {
    const RunPiece *piece = &exchange->pieces[d - exchange->nearest];
    if (d == exchange->nearest)
      skipped = piece->begin;
    else if (piece->begin > 0)
      parts[count++] = zeroes(builder, local->shape, dim, piece->begin);
    if (piece->end > piece->begin) parts[count++] = fetch_piece(builder, local, dim, runs, piece, d);
    if (d < exchange->farthest && piece->end < tile)
      parts[count++] = zeroes(builder, local->shape, dim, tile - piece->end);
  }
  int64_t *starts = ARENA_NEW_ARRAY(builder->arena, int64_t, runs->count);
  for (int64_t i = 0; i < runs->count; i++) starts[i] = runs->firsts[i] - (i + exchange->nearest) * tile - skipped;
  HloInstruction *value = count == 0   ? zeroes(builder, local->shape, dim, 1)
                          : count == 1 ? parts[0]
                                       : graph_concatenate(&builder->graph, parts, count, dim);
  return (RunBuffer){value, starts};
}

/* The whole dimension, on every device. */
static RunBuffer gather_whole(SpmdBuilder *builder, HloInstruction *local, int dim, const SpmdRuns *runs) {
  int64_t *starts = ARENA_COPY_ARRAY(builder->arena, int64_t, runs->firsts, runs->count);
  return (RunBuffer){spmd_all_gather(builder, local, runs->axes, dim), starts};
}

/* Elements are added at both ends until every run lies inside; runs that need nothing may lie anywhere. */
static void widen(SpmdBuilder *builder, RunBuffer *buffer, int dim, const SpmdRuns *runs) {
  int64_t before = 0, size = buffer->value->shape->dims[dim], after = 0, first, last;
  for (int64_t i = 0; i < runs->count; i++) {
    if (!parts_needed(runs, i, &first, &last)) buffer->starts[i] = 0;
    before = max_i64(before, -buffer->starts[i]);
    after = max_i64(after, buffer->starts[i] + runs->length - size);
  }
  HloInstruction *parts[3];
  int count = 0;
  if (before > 0) parts[count++] = zeroes(builder, buffer->value->shape, dim, before);
  parts[count++] = buffer->value;
  if (after > 0) parts[count++] = zeroes(builder, buffer->value->shape, dim, after);
  if (count > 1) buffer->value = graph_concatenate(&builder->graph, parts, count, dim);
  for (int64_t i = 0; i < runs->count; i++) buffer->starts[i] += before;
}

static HloInstruction *take_run(SpmdBuilder *builder, const RunBuffer *buffer, int dim, const SpmdRuns *runs) {
  bool is_fixed = true;
  for (int64_t i = 1; i < runs->count; i++) is_fixed &= buffer->starts[i] == buffer->starts[0];
  if (is_fixed)
    return graph_slice(&builder->graph, buffer->value, dim, buffer->starts[0], buffer->starts[0] + runs->length);
  HloInstruction *start = spmd_by_device(builder, runs->axes, buffer->starts);
  return graph_take_run(&builder->graph, buffer->value, dim, start, runs->length);
}

/* |fill| where the run leaves the array. */
static HloInstruction *fill_outside(SpmdBuilder *builder, HloInstruction *run, int dim, const SpmdRuns *runs,
                                    HloInstruction *fill) {
  GraphBuilder *graph = &builder->graph;
  bool leaves_below = false, leaves_above = false;
  for (int64_t i = 0; i < runs->count; i++) {
    leaves_below |= runs->firsts[i] < 0;
    leaves_above |= runs->firsts[i] + runs->length > runs->size;
  }
  if (fill == NULL || (!leaves_below && !leaves_above)) return run;
  const Shape *shape = run->shape;
  HloInstruction *index = graph_iota(graph, TYPE_S32, shape->dims, shape->rank, dim);
  HloInstruction *first = spmd_by_device(builder, runs->axes, runs->firsts);
  index = graph_binary(graph, HLO_ADD, index, graph_splat(graph, first, index->shape));
  HloInstruction *filled = graph_splat(graph, fill, shape);
  if (leaves_below) {
    HloInstruction *zero = graph_integer(graph, TYPE_S32, 0, index->shape);
    run = graph_select(graph, graph_compare(graph, COMPARISON_DIRECTION_GE, index, zero), run, filled);
  }
  if (leaves_above) {
    HloInstruction *size = graph_integer(graph, TYPE_S32, runs->size, index->shape);
    run = graph_select(graph, graph_compare(graph, COMPARISON_DIRECTION_LT, index, size), run, filled);
  }
  return run;
}

HloInstruction *spmd_fetch_runs(SpmdBuilder *builder, HloInstruction *local, int dim, const SpmdRuns *runs,
                                HloInstruction *fill) {
  RunExchange exchange = find_exchange(builder, runs);
  bool gathers = sent_by_gather(runs) <= sent_by_pieces(runs, &exchange);
  RunBuffer buffer = gathers && runs->count > 1 ? gather_whole(builder, local, dim, runs)
                                                : gather_pieces(builder, local, dim, runs, &exchange);
  widen(builder, &buffer, dim, runs);
  return fill_outside(builder, take_run(builder, &buffer, dim, runs), dim, runs, fill);
}
