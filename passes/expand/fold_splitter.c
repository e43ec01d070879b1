#include <string.h>

#include "base/checked_math.h"
#include "hlo/analysis/factor_bytes.h"
#include "hlo/ir/collective_reducer.h"
#include "hlo/ir/fold_identity.h"
#include "passes/cleanup/control_edges.h"
#include "passes/cleanup/shape_coercion.h"
#include "passes/expand/graph_builder.h"
#include "passes/pipeline/control_computations.h"

/* Large folds to few elements, in parts that threads can share out: one loop that carries a sum is one thread's work.
 *
 *   sum = f32[] reduce(f32[16777216] x, 0)   ->   parts = f32[64] reduce(f32[64,262144] reshape(x), identity)
 *                                                 sum = f32[] reduce(parts, 0)
 *
 *   sums = f32[3] reduce(f32[300000,3] x, 0)   ->   parts = f32[30,48] reduce(f32[30,625,48] reshape(x), identity)
 *                                                   sums = f32[3] reduce(f32[480,3] reshape(parts), 0)
 *
 *   counts = s32[256] scatter-add(zeros, indices, updates)   ->   parts = s32[16,256] scatter-add(identity,
 *       s32[16,65536,1] reshape(indices), s32[16,65536] reshape(updates)), the first dimension a batch of all three
 *                                                                 counts = s32[256] reduce(parts, 0)
 *
 *   d = f32[16,16] dot(f32[16,1048576] a, b)   ->   parts = f32[8,16,16] dot(f32[16,8,131072] reshape(a), reshape(b)),
 *                                                           the dimension of 8 a batch of both
 *                                                   d = f32[16,16] reduce(parts, 0)
 *
 *   y = f32[1024] dot(f32[4096] x, f32[4096,1024] w)   ->   parts = f32[4,1024] dot(f32[4,1024] reshape(x),
 *                                                                     f32[4,1024,1024] reshape(w))
 *                                                           y = f32[1024] reduce(parts, 0)
 *
 * How many parts there are follows from the shapes alone, so the bits are the same whatever runs them.  A dimension is
 * cut into equal parts: what has no divisor of a useful size stays whole.  Narrow floats whose sums would be rounded
 * once more stay whole, too. */

enum { LEAST_PARTS = 16, MOST_PARTS = 64, LEAST_SCATTER_PARTS = 4, MOST_SCATTER_PARTS = 16 };
enum { ENOUGH_RESULTS = 16 };       /* that a loop is cut by already (codegen/emit) */
enum { ENOUGH_COLUMNS = 512 };      /* side by side in memory: the same */
enum { MOST_PART_ELEMENTS = 8192 }; /* of a reduction's parts, together */
/* Of few columns: rows of a part that are folded apart, which makes longer rows of them, with several registers of
 * folds that do not wait for one another.  No more of them than that takes: other Kernels have the memory. */
enum { FEW_COLUMNS = 32, LEAST_APART = 4, MOST_APART = 32, MOST_COLUMNS_APART = 128, MOST_PARTS_APART = 32 };
enum { MOST_LINEAR = 16 /* instructions that are looked at */ };
enum { LEAST_ELEMENTS = 1 << 18, LEAST_UPDATES = 1 << 17 };
enum { LEAST_DOT_PARTS = 2, MOST_DOT_PARTS = 8, LEAST_DEPTH = 512 /* of a part */ };
enum { ENOUGH_ROWS = 128 };             /* of either factor: more of them are cut (codegen/blocks) */
enum { LEAST_PRODUCTS = 1 << 23 };      /* multiplications that are worth it; reading LEAST_ELEMENTS is, too */
enum { ELEMENTS_PER_DOT_ELEMENT = 16 }; /* of the factors, for each of all parts, of which there are no more than */
enum { MOST_DOT_ELEMENTS = 1 << 16 };
/* Of a matrix that one row is multiplied by, with rows whose sums a first-level cache holds; parts are read in some
 * runs each, as long as both numbers are those of codegen/blocks/contraction_sizes.c. */
enum { STREAMED_PARTS = 4, STREAMED_RUNS = 4, MOST_STREAMED_ROW_BYTES = 32 << 10 };
enum { UPDATES_PER_PART_ELEMENT = 16, MOST_SCATTER_BYTES = 1 << 20 };

/* The largest divisor of |extent| in [|least|, |most|]; 1: there is none. */
static int64_t part_count(int64_t extent, int64_t least, int64_t most) {
  for (int64_t parts = min_i64(most, extent); parts >= least; parts--) {
    if (extent % parts == 0) return parts;
  }
  return 1;
}

/* The same, the smallest. */
static int64_t least_part_count(int64_t extent, int64_t least, int64_t most) {
  for (int64_t parts = least; parts <= min_i64(most, extent); parts++) {
    if (extent % parts == 0) return parts;
  }
  return 1;
}

/* The operation of |fold|, its identity as a scalar; NULL: it is none that parts of which may be folded. */
static HloInstruction *part_identity(GraphBuilder *builder, HloOpcode *out_opcode) {
  unsigned char identity[FOLD_IDENTITY_BYTES];
  const HloInstruction *fold = builder->origin;
  PrimitiveType type = fold->shape->type;
  const HloComputation *reducer = hlo_instruction_computation(fold, HLO_ATTR_TO_APPLY);
  if (!hlo_reducer_opcode(reducer, out_opcode) || reducer->root->shape->type != type) return NULL;
  bool rounds = *out_opcode == HLO_ADD || *out_opcode == HLO_MULTIPLY;
  if (rounds && type_is_float(type) && type_bits(type) < 32) return NULL;
  if (!hlo_fold_identity(*out_opcode, type, identity)) return NULL;
  return graph_constant(builder, type, identity);
}

/* The elements of |value| in other dimensions: no array is made of them, so what only reshapes is passed over. */
static HloInstruction *reshape_source(GraphBuilder *builder, HloInstruction *value, const int64_t *dims, int rank) {
  while (value->opcode == HLO_RESHAPE && shape_has_default_layout(value->operands[0]->shape))
    value = value->operands[0];
  return graph_reshape(builder, value, dims, rank);
}

/* A reduction of |value| along |dimensions| by what the origin applies. */
static HloInstruction *fold_by_same(GraphBuilder *builder, HloInstruction *value, HloInstruction *init,
                                    Int64List dimensions) {
  const Shape *full = value->shape;
  int64_t dims[SHAPE_MAX_RANK];
  int rank = 0;
  for (int i = 0; i < full->rank; i++) {
    if (!int64_list_has(dimensions, i)) dims[rank++] = full->dims[i];
  }
  HloInstruction *operands[] = {value, init};
  HloInstruction *result =
      graph_add(builder, HLO_REDUCE, shape_array(graph_shapes(builder), full->type, dims, rank), operands, 2);
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, dimensions.data, dimensions.count);
  hlo_instruction_set_computation(result, HLO_ATTR_TO_APPLY,
                                  hlo_instruction_computation(builder->origin, HLO_ATTR_TO_APPLY));
  return result;
}

/* --- reductions --- */

/* A reduction's operand, and the neighbouring dimensions [|begin|, |end|) of it, all reduced, that are cut together. */
typedef struct ReducedRun {
  const Shape *shape;
  Int64List reduced;
  int begin, end;
} ReducedRun;

static ReducedRun first_reduced_run(const HloInstruction *reduce) {
  ReducedRun run = {.shape = reduce->operands[0]->shape, .reduced = hlo_instruction_ints(reduce, HLO_ATTR_DIMENSIONS)};
  while (run.begin < run.shape->rank && !int64_list_has(run.reduced, run.begin)) run.begin++;
  run.end = run.begin;
  while (run.end < run.shape->rank && int64_list_has(run.reduced, run.end)) run.end++;
  return run;
}

/* Whether the loops that the whole would be are cut well enough. */
static bool is_shared_whole(const ReducedRun *run) {
  int64_t before = shape_extent(run->shape, 0, run->begin), results = before;
  for (int i = run->end; i < run->shape->rank; i++)
    results *= int64_list_has(run->reduced, i) ? 1 : run->shape->dims[i];
  bool in_columns = !int64_list_has(run->reduced, run->shape->rank - 1);
  return in_columns ? before >= ENOUGH_RESULTS || results >= ENOUGH_COLUMNS : results >= ENOUGH_RESULTS;
}

/* |value| may be read in any dimensions as one row of elements after the other: arrays that are in memory, operations
 * on each element of such, and scalars.  What is repeated for all rows of columns is not, nor what is moved. */
static bool is_linear(const HloInstruction *value, int *left) {
  if (--*left < 0 || !shape_is_array(value->shape) || !shape_has_default_layout(value->shape)) return false;
  bool is_scalar = value->opcode == HLO_BROADCAST && value->operands[0]->shape->rank == 0;
  bool is_array = hlo_opcode_has(value->opcode, OP_GIVEN | OP_CONTRACTION) || value->opcode == HLO_GET_TUPLE_ELEMENT;
  if (is_scalar || is_array || value->shape->rank == 0) return true;
  if (value->opcode != HLO_RESHAPE && !hlo_opcode_has(value->opcode, OP_ELEMENTWISE)) return false;
  for (int i = 0; i < value->operand_count; i++) {
    if (!is_linear(value->operands[i], left)) return false;
  }
  return true;
}

/* Parts, and how many rows of each are folded apart. */
typedef struct ReduceCut {
  int64_t parts, apart;
} ReduceCut;

static ReduceCut whole_rows_cut(const ReducedRun *run, int64_t results) {
  int64_t most = min_i64(MOST_PARTS, MOST_PART_ELEMENTS / results);
  return (ReduceCut){part_count(shape_extent(run->shape, run->begin, run->end), LEAST_PARTS, most), 1};
}

/* Rows of few columns: of the numbers of rows that divide the run those with the largest power of two, which fill
 * registers whatever the columns are. */
static ReduceCut rows_apart_cut(const ReducedRun *run, int64_t results) {
  ReduceCut best = {1, 1};
  int64_t columns = shape_extent(run->shape, run->end, run->shape->rank), best_power = 0;
  int64_t rows = shape_extent(run->shape, run->begin, run->end);
  for (int64_t apart = min_i64(MOST_APART, MOST_COLUMNS_APART / columns); apart >= LEAST_APART; apart--) {
    int64_t power = apart & -apart, most = min_i64(MOST_PARTS_APART, MOST_PART_ELEMENTS / (results * apart));
    if (rows % apart != 0 || power <= best_power) continue;
    int64_t parts = least_part_count(rows / apart, LEAST_PARTS, most);
    if (parts == 1) continue;
    best = (ReduceCut){parts, apart};
    best_power = power;
  }
  return best;
}

static bool has_few_columns(const ReducedRun *run, const HloInstruction *operand) {
  int left = MOST_LINEAR;
  for (int i = run->end; i < run->shape->rank; i++) {
    if (int64_list_has(run->reduced, i)) return false;
  }
  int64_t columns = shape_extent(run->shape, run->end, run->shape->rank);
  return columns > 1 && columns < FEW_COLUMNS && is_linear(operand, &left);
}

/* The dimensions before the run, its parts, what is left of them, and columns apart as one dimension. */
static HloInstruction *reduce_apart(GraphBuilder *builder, const ReducedRun *run, ReduceCut cut,
                                    HloInstruction *identity) {
  int64_t dims[SHAPE_MAX_RANK + 2];
  int rank = run->begin, begin = run->begin;
  memcpy(dims, run->shape->dims, (size_t)rank * sizeof *dims);
  dims[rank++] = cut.parts;
  dims[rank++] = shape_extent(run->shape, run->begin, run->end) / cut.parts / cut.apart;
  dims[rank++] = cut.apart * shape_extent(run->shape, run->end, run->shape->rank);
  HloInstruction *rows = reshape_source(builder, graph_operand(builder, 0), dims, rank);
  HloInstruction *partial = fold_by_same(builder, rows, identity, (Int64List){1, (int64_t[]){begin + 1}});
  dims[begin] = cut.parts * cut.apart;
  for (int i = run->end, to = begin + 1; i < run->shape->rank; i++) dims[to++] = run->shape->dims[i];
  HloInstruction *columns = graph_reshape(builder, partial, dims, begin + 1 + run->shape->rank - run->end);
  return fold_by_same(builder, columns, builder->origin->operands[1], (Int64List){1, (int64_t[]){begin}});
}

static HloInstruction *reduce_in_parts(GraphBuilder *builder, const ReducedRun *run, int64_t parts,
                                       HloInstruction *identity) {
  int64_t dims[SHAPE_MAX_RANK + 1], reduced[SHAPE_MAX_RANK];
  int rank = run->begin, count = 0;
  memcpy(dims, run->shape->dims, (size_t)rank * sizeof *dims);
  dims[rank++] = parts;
  reduced[count++] = rank;
  dims[rank++] = shape_extent(run->shape, run->begin, run->end) / parts;
  for (int i = run->end; i < run->shape->rank; i++) {
    if (int64_list_has(run->reduced, i)) reduced[count++] = rank;
    dims[rank++] = run->shape->dims[i];
  }
  HloInstruction *cut = reshape_source(builder, graph_operand(builder, 0), dims, rank);
  HloInstruction *partial = fold_by_same(builder, cut, identity, (Int64List){count, reduced});
  return fold_by_same(builder, partial, builder->origin->operands[1], (Int64List){1, (int64_t[]){run->begin}});
}

static HloInstruction *split_reduce(GraphBuilder *builder, double factor_bytes) {
  (void)factor_bytes;
  const HloInstruction *reduce = builder->origin;
  if (reduce->operand_count != 2 || reduce->operands[0]->shape->dynamic != NULL) return NULL;
  ReducedRun run = first_reduced_run(reduce);
  if (run.begin == run.end || shape_element_count(run.shape) < LEAST_ELEMENTS || is_shared_whole(&run)) return NULL;
  if (run.shape->rank + 2 > SHAPE_MAX_RANK) return NULL;
  int64_t results = shape_element_count(reduce->shape);
  ReduceCut cut = {1, 1};
  if (has_few_columns(&run, reduce->operands[0])) cut = rows_apart_cut(&run, results);
  if (cut.parts == 1) cut = whole_rows_cut(&run, results);
  if (cut.parts == 1) return NULL;
  HloOpcode opcode;
  HloInstruction *identity = part_identity(builder, &opcode);
  if (identity == NULL) return NULL;
  return cut.apart > 1 ? reduce_apart(builder, &run, cut, identity)
                       : reduce_in_parts(builder, &run, cut.parts, identity);
}

/* --- scatters --- */

static const HloAttrId scatter_lists[] = {HLO_ATTR_UPDATE_WINDOW_DIMS, HLO_ATTR_INSERTED_WINDOW_DIMS,
                                          HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS};
enum { WINDOW_LIST, INSERTED_LIST, SCATTER_LIST_COUNT = 3 };

/* Dimension |updates| of the updates and |indices| of the indices, which is the same, in |parts|. */
typedef struct ScatterCut {
  int updates, indices;
  int64_t parts;
} ScatterCut;

/* |value| with dimension |dim| in two: |parts| and the rest. */
static HloInstruction *cut_dimension(GraphBuilder *builder, HloInstruction *value, int dim, int64_t parts) {
  int64_t dims[SHAPE_MAX_RANK + 1];
  const Shape *shape = value->shape;
  for (int i = 0, rank = 0; i < shape->rank; i++) {
    if (i == dim) dims[rank++] = parts;
    dims[rank++] = i == dim ? shape->dims[i] / parts : shape->dims[i];
  }
  return reshape_source(builder, value, dims, shape->rank + 1);
}

/* The first dimension of the updates that can be cut. */
static bool find_cut(const HloInstruction *scatter, int64_t most, ScatterCut *out_cut) {
  const Shape *updates = scatter->operands[2]->shape;
  Int64List window = hlo_instruction_ints(scatter, HLO_ATTR_UPDATE_WINDOW_DIMS);
  int64_t vector = hlo_instruction_int(scatter, HLO_ATTR_INDEX_VECTOR_DIM, 0);
  for (int i = 0, batch = 0; i < updates->rank; i++) {
    if (int64_list_has(window, i)) continue;
    *out_cut = (ScatterCut){i, batch + (batch >= vector), part_count(updates->dims[i], LEAST_SCATTER_PARTS, most)};
    if (out_cut->parts > 1) return true;
    batch++;
  }
  return false;
}

static bool may_be_cut(const HloInstruction *scatter) {
  if (scatter->operand_count != 3 || scatter->operands[2]->shape->dynamic != NULL) return false;
  if (scatter->operands[0]->shape->rank + 2 > SHAPE_MAX_RANK || scatter->operands[2]->shape->rank + 2 > SHAPE_MAX_RANK)
    return false;
  if (hlo_instruction_bool(scatter, HLO_ATTR_UNIQUE_INDICES, false)) return false;
  return hlo_instruction_ints(scatter, HLO_ATTR_INPUT_BATCHING_DIMS).count == 0;
}

/* Parts that are worth the memory, and the time to fold them. */
static int64_t most_scatter_parts(const HloInstruction *scatter) {
  const Shape *updates = scatter->operands[2]->shape;
  int64_t results = shape_element_count(scatter->shape), count = shape_element_count(updates);
  if (count < LEAST_UPDATES || results == 0) return 1;
  int64_t fitting = MOST_SCATTER_BYTES / (results * type_storage_bytes(updates->type));
  return min_i64(MOST_SCATTER_PARTS, min_i64(fitting, count / UPDATES_PER_PART_ELEMENT / results));
}

/* Parts come first in the result: dimensions of it move up by one, and so do those of the updates after the cut. */
static void set_scatter_numbers(HloInstruction *partial, const HloInstruction *scatter, const ScatterCut *cut) {
  int64_t numbers[SHAPE_MAX_RANK], vector = hlo_instruction_int(scatter, HLO_ATTR_INDEX_VECTOR_DIM, 0);
  for (int list = 0; list < SCATTER_LIST_COUNT; list++) {
    Int64List old = hlo_instruction_ints(scatter, scatter_lists[list]);
    for (int i = 0; i < old.count; i++)
      numbers[i] = old.data[i] + (list == WINDOW_LIST ? old.data[i] > cut->updates : 1);
    hlo_instruction_set_ints(partial, scatter_lists[list], numbers, old.count);
  }
  hlo_instruction_set_ints(partial, HLO_ATTR_INPUT_BATCHING_DIMS, (int64_t[]){0}, 1);
  hlo_instruction_set_ints(partial, HLO_ATTR_SCATTER_INDICES_BATCHING_DIMS, (int64_t[]){cut->indices}, 1);
  hlo_instruction_set_int(partial, HLO_ATTR_INDEX_VECTOR_DIM, vector + (vector > cut->indices));
}

static HloInstruction *scatter_in_parts(GraphBuilder *builder, const ScatterCut *cut, HloInstruction *identity) {
  const HloInstruction *scatter = builder->origin;
  int64_t dims[SHAPE_MAX_RANK + 1] = {cut->parts};
  const Shape *whole = scatter->shape;
  memcpy(dims + 1, whole->dims, (size_t)whole->rank * sizeof *dims);
  HloInstruction *operands[] = {graph_broadcast(builder, identity, NULL, 0, dims, whole->rank + 1),
                                cut_dimension(builder, graph_operand(builder, 1), cut->indices, cut->parts),
                                cut_dimension(builder, graph_operand(builder, 2), cut->updates, cut->parts)};
  HloInstruction *partial = graph_add(builder, HLO_SCATTER, operands[0]->shape, operands, 3);
  set_scatter_numbers(partial, scatter, cut);
  hlo_instruction_set_computation(partial, HLO_ATTR_TO_APPLY, hlo_instruction_computation(scatter, HLO_ATTR_TO_APPLY));
  return partial;
}

static HloInstruction *split_scatter(GraphBuilder *builder, double factor_bytes) {
  (void)factor_bytes;
  const HloInstruction *scatter = builder->origin;
  if (!may_be_cut(scatter)) return NULL;
  ScatterCut cut;
  HloOpcode opcode;
  if (!find_cut(scatter, most_scatter_parts(scatter), &cut)) return NULL;
  HloInstruction *identity = part_identity(builder, &opcode);
  if (identity == NULL) return NULL;
  HloInstruction *partial = scatter_in_parts(builder, &cut, identity), *operand = graph_operand(builder, 0);
  bool is_splat = operand->opcode == HLO_BROADCAST && operand->operands[0]->shape->rank == 0;
  HloInstruction *init = is_splat ? operand->operands[0] : identity;
  HloInstruction *folded = fold_by_same(builder, partial, init, (Int64List){1, (int64_t[]){0}});
  return is_splat ? folded : graph_binary(builder, opcode, operand, folded);
}

/* --- products --- */

static const HloAttrId contracting_ids[] = {HLO_ATTR_LHS_CONTRACTING_DIMS, HLO_ATTR_RHS_CONTRACTING_DIMS};
static const HloAttrId batch_ids[] = {HLO_ATTR_LHS_BATCH_DIMS, HLO_ATTR_RHS_BATCH_DIMS};

/* Sums in a type in which adding parts rounds no more than adding products does. */
static bool has_plain_sums(const HloInstruction *dot) {
  PrimitiveType type = dot->shape->type;
  if (hlo_instruction_attr(dot, HLO_ATTR_DOT_ALGORITHM) != NULL) return false;
  if (hlo_instruction_attr(dot, HLO_ATTR_SPARSITY_CONFIG) != NULL) return false;
  for (int side = 0; side < 2; side++) {
    const Shape *shape = dot->operands[side]->shape;
    if (shape->dynamic != NULL || shape->rank + 1 > SHAPE_MAX_RANK) return false;
  }
  return type_bits(type) >= 32 && (type_is_float(type) || type_is_integral(type));
}

/* A factor that is read where it lies in memory: an argument or a constant, or a part of one. */
static bool is_from_memory(const HloInstruction *factor) {
  static const HloOpcode parts[] = {HLO_RESHAPE, HLO_BITCAST, HLO_SLICE, HLO_DYNAMIC_SLICE};
  for (int steps = 0; steps < MOST_LINEAR; steps++) {
    bool is_part = false;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) is_part |= factor->opcode == parts[i];
    if (!is_part) break;
    factor = factor->operands[0];
  }
  return factor->opcode == HLO_PARAMETER || factor->opcode == HLO_GET_TUPLE_ELEMENT || factor->opcode == HLO_CONSTANT;
}

/* A row times a matrix whose rows are contiguous, of a module whose matrices come from memory: threads that share its
 * columns would each read a piece of every row, which memory gives slowly; parts of the depth are whole rows. */
static int64_t streamed_part_count(const HloInstruction *dot, int64_t depth, double factor_bytes) {
  const HloInstruction *matrix = dot->operands[1];
  Int64List contracting = hlo_instruction_ints(dot, contracting_ids[1]);
  const Shape *shape = matrix->shape;
  bool is_plain = contracting.count == 1 && contracting.data[0] == 0 && shape->rank == 2 && type_is_float(shape->type);
  if (!is_plain || shape->type != dot->shape->type || !is_from_memory(matrix)) return 1;
  int64_t bytes = shape_element_count(shape) * type_storage_bytes(shape->type);
  if (bytes < OWN_CACHE_BYTES || bytes / depth > MOST_STREAMED_ROW_BYTES) return 1;
  if (depth % (STREAMED_PARTS * STREAMED_RUNS) != 0) return 1;
  return factor_bytes > LAST_CACHE_BYTES ? STREAMED_PARTS : 1;
}

/* Into how many parts the longest contracted dimension, number |*out_number| of the lists, is cut; 1: it stays whole.
 * |factor_bytes| are the module's. */
static int64_t dot_part_count(const HloInstruction *dot, double factor_bytes, int *out_number) {
  const Shape *lhs = dot->operands[0]->shape, *rhs = dot->operands[1]->shape;
  Int64List contracting = hlo_instruction_ints(dot, contracting_ids[0]);
  if (hlo_instruction_ints(dot, batch_ids[0]).count > 0 || contracting.count == 0) return 1;
  int64_t depth = 1, longest = 0, factors = shape_element_count(lhs) + shape_element_count(rhs);
  for (int i = 0; i < contracting.count; i++) {
    int64_t extent = lhs->dims[contracting.data[i]];
    depth *= extent;
    if (extent <= longest) continue;
    longest = extent;
    *out_number = i;
  }
  int64_t results = shape_element_count(dot->shape);
  if (depth == 0 || results == 0) return 1;
  int64_t rows = shape_element_count(lhs) / depth, columns = shape_element_count(rhs) / depth;
  if (rows == 1 && columns > ENOUGH_ROWS) return streamed_part_count(dot, depth, factor_bytes);
  if (rows > ENOUGH_ROWS || columns > ENOUGH_ROWS) return 1;
  if (factors < LEAST_ELEMENTS && depth < LEAST_PRODUCTS / results) return 1;
  int64_t most = min_i64(factors / ELEMENTS_PER_DOT_ELEMENT, MOST_DOT_ELEMENTS) / results;
  most = min_i64(min_i64(most, MOST_DOT_PARTS), depth / LEAST_DEPTH);
  return part_count(longest, LEAST_DOT_PARTS, most);
}

/* Parts are a batch of both factors, the first one of the result's dimensions. */
static HloInstruction *dot_in_parts(GraphBuilder *builder, int number, int64_t parts) {
  const HloInstruction *dot = builder->origin;
  int64_t dims[SHAPE_MAX_RANK + 1] = {parts};
  memcpy(dims + 1, dot->shape->dims, (size_t)dot->shape->rank * sizeof *dims);
  Int64List contracting[2];
  HloInstruction *operands[2];
  for (int side = 0; side < 2; side++) {
    contracting[side] = hlo_instruction_ints(dot, contracting_ids[side]);
    operands[side] = cut_dimension(builder, graph_operand(builder, side), (int)contracting[side].data[number], parts);
  }
  const Shape *shape = shape_array(graph_shapes(builder), dot->shape->type, dims, dot->shape->rank + 1);
  HloInstruction *partial = graph_add(builder, HLO_DOT, shape, operands, 2);
  for (int side = 0; side < 2; side++) {
    int64_t cut = contracting[side].data[number], numbers[SHAPE_MAX_RANK];
    for (int i = 0; i < contracting[side].count; i++)
      numbers[i] = contracting[side].data[i] + (contracting[side].data[i] >= cut);
    hlo_instruction_set_ints(partial, contracting_ids[side], numbers, contracting[side].count);
    hlo_instruction_set_ints(partial, batch_ids[side], &cut, 1);
  }
  const HloAttr *precision = hlo_instruction_attr(dot, HLO_ATTR_OPERAND_PRECISION);
  if (precision != NULL) hlo_instruction_set_attr(partial, precision);
  return partial;
}

static HloInstruction *split_dot(GraphBuilder *builder, double factor_bytes) {
  const HloInstruction *dot = builder->origin;
  int number = 0;
  int64_t parts = has_plain_sums(dot) ? dot_part_count(dot, factor_bytes, &number) : 1;
  if (parts == 1 || dot->shape->rank + 1 > SHAPE_MAX_RANK) return NULL;
  HloInstruction *partial = dot_in_parts(builder, number, parts);
  return graph_reduce(builder, HLO_ADD, partial, graph_zero(builder, dot->shape->type, NULL), (int64_t[]){0}, 1);
}

/* --- the pass --- */

/* What is cut, and what that is called. */
typedef struct FoldRow {
  HloOpcode opcode;
  HloInstruction *(*split)(GraphBuilder *builder, double factor_bytes); /* hlo_factor_bytes of the module */
  const char *rule;
} FoldRow;
static const FoldRow fold_rows[] = {
    {HLO_REDUCE, split_reduce, "reduce-in-parts"},
    {HLO_SCATTER, split_scatter, "scatter-in-parts"},
    {HLO_DOT, split_dot, "dot-in-parts"},
};

static const FoldRow *fold_row(const HloInstruction *fold) {
  for (size_t i = 0; i < sizeof fold_rows / sizeof fold_rows[0]; i++) {
    if (fold_rows[i].opcode == fold->opcode && shape_is_array(fold->shape)) return &fold_rows[i];
  }
  return NULL;
}

static Status run_fold_splitter(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t count;
  HloComputation **computations = control_computations(module, context->scratch, &count);
  double factor_bytes = hlo_factor_bytes(module);
  for (int64_t c = 0; c < count; c++) {
    int64_t candidates;
    HloInstruction **folds = control_edges_free_order(computations[c], context->scratch, &candidates);
    for (int64_t i = 0; i < candidates; i++) {
      const FoldRow *row = fold_row(folds[i]);
      if (row == NULL) continue;
      if (!hlo_pass_may_rewrite(context)) return STATUS_OK;
      GraphBuilder builder = {computations[c], folds[i], context->scratch};
      HloInstruction *result = row->split(&builder, factor_bytes);
      if (result == NULL) continue;
      hlo_pass_count_rewrite(context, row->rule, result);
      hlo_computation_replace_instruction(computations[c], folds[i], shape_coerce(result, folds[i]->shape));
      *out_changed = true;
    }
  }
  return STATUS_OK;
}

const HloPass hlo_fold_splitter_pass = {"fold-splitter",
                                        "large reductions, scatters and products to few elements in equal parts",
                                        run_fold_splitter, false};
