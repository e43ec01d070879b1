#include "passes/spmd/sharding_rule.h"

#include "base/array.h"
#include "base/checked_math.h"
#include "hlo/ir/custom_call.h"

bool factor_find(const FactorMapping *mapping, int factor, int *out_dim, int *out_place) {
  for (int d = 0; d < mapping->rank; d++) {
    for (int i = 0; i < mapping->dims[d].count; i++) {
      if (mapping->dims[d].factors[i] != factor) continue;
      *out_dim = d;
      *out_place = i;
      return true;
    }
  }
  return false;
}

/* --- making rules --- */

/* A dimension of an operand, or, from the operands' number on, of a result leaf. */
typedef struct RuleDim {
  int value, dim;
} RuleDim;

typedef struct RuleBuilder {
  Arena *arena;
  const HloInstruction *instruction;
  int operand_count, result_count;
  const Shape **shapes;  /* of operands, then of result leaves */
  FactorList **mappings; /* by value, by dimension */
  ARRAY(Factor) factors;
} RuleBuilder;

static int add_factor(RuleBuilder *builder, int64_t size, FactorKind kind) {
  Factor factor = {size, kind, false};
  array_push(&builder->factors, builder->arena, factor);
  return (int)builder->factors.count - 1;
}

/* |factor| is the next, faster one of the dimension. */
static void map_factor(RuleBuilder *builder, int value, int dim, int factor) {
  FactorList *list = &builder->mappings[value][dim];
  int16_t *factors = ARENA_NEW_ARRAY(builder->arena, int16_t, list->count + 1);
  for (int i = 0; i < list->count; i++) factors[i] = list->factors[i];
  factors[list->count] = (int16_t)factor;
  *list = (FactorList){list->count + 1, factors};
}

/* One factor for all |dims|, whose size is that of the first; none where that is 1. */
static void tie(RuleBuilder *builder, FactorKind kind, const RuleDim *dims, int count) {
  int64_t size = builder->shapes[dims[0].value]->dims[dims[0].dim];
  if (size <= 1) return;
  int factor = add_factor(builder, size, kind);
  for (int i = 0; i < count; i++) map_factor(builder, dims[i].value, dims[i].dim, factor);
}

static void tie_two(RuleBuilder *builder, FactorKind kind, RuleDim a, RuleDim b) {
  tie(builder, kind, (RuleDim[]){a, b}, 2);
}

/* The value number of result leaf |leaf|. */
static int result(const RuleBuilder *builder, int leaf) {
  return builder->operand_count + leaf;
}

static const Shape *shape_of(const RuleBuilder *builder, int value) {
  return builder->shapes[value];
}

static Int64List ints(const RuleBuilder *builder, HloAttrId id) {
  return hlo_instruction_ints(builder->instruction, id);
}

/* Dimension |dim| of every value of the rank of the first result. */
static void tie_everywhere(RuleBuilder *builder, FactorKind kind, int dim) {
  int total = builder->operand_count + builder->result_count, count = 0,
      rank = shape_of(builder, result(builder, 0))->rank;
  RuleDim *dims = ARENA_NEW_ARRAY(builder->arena, RuleDim, total);
  for (int v = total - 1; v >= 0; v--) {
    if (shape_is_array(builder->shapes[v]) && builder->shapes[v]->rank == rank) dims[count++] = (RuleDim){v, dim};
  }
  tie(builder, kind, dims, count);
}

/* --- families --- */

typedef void RuleMaker(RuleBuilder *builder);

static void elementwise(RuleBuilder *builder) {
  if (builder->result_count == 0 || !shape_is_array(shape_of(builder, result(builder, 0)))) return;
  for (int d = 0; d < shape_of(builder, result(builder, 0))->rank; d++) tie_everywhere(builder, FACTOR_PASS, d);
}

static void broadcast(RuleBuilder *builder) {
  Int64List dimensions = ints(builder, HLO_ATTR_DIMENSIONS);
  int out = result(builder, 0);
  for (int d = 0; d < shape_of(builder, out)->rank; d++) {
    int64_t from = int64_list_find(dimensions, d);
    if (from >= 0)
      tie_two(builder, FACTOR_PASS, (RuleDim){out, d}, (RuleDim){0, (int)from});
    else
      tie(builder, FACTOR_PASS, &(RuleDim){out, d}, 1);
  }
}

static void transpose(RuleBuilder *builder) {
  Int64List permutation = ints(builder, HLO_ATTR_DIMENSIONS);
  for (int64_t d = 0; d < permutation.count; d++)
    tie_two(builder, FACTOR_PASS, (RuleDim){result(builder, 0), (int)d}, (RuleDim){0, (int)permutation.data[d]});
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Where both sides have come to the same element, from the slowest dimension on, the next factor is what both can be
 * divided by; what does not divide the other side's rest stops the match until both meet again. */
static void reshape(RuleBuilder *builder) {
  const Shape *in = shape_of(builder, 0), *out = shape_of(builder, result(builder, 0));
  if (shape_element_count(in) <= 0) return;
  int i = 0, j = 0;
  int64_t in_rest = 1, out_rest = 1;
  bool in_open = true, out_open = true; /* nothing slower of the dimension was left without a factor */
  for (;;) {
    if (in_rest == 1) {
      while (i < in->rank && in->dims[i] == 1) i++;
      if (i < in->rank) in_rest = in->dims[i];
      in_open = true;
    }
    if (out_rest == 1) {
      while (j < out->rank && out->dims[j] == 1) j++;
      if (j < out->rank) out_rest = out->dims[j];
      out_open = true;
    }
    if (i >= in->rank || j >= out->rank) return;
    int64_t common = gcd(in_rest, out_rest);
    bool matches = common > 1 && (common == in_rest || common == out_rest) && in_open && out_open;
    if (matches) {
      int factor = add_factor(builder, common, FACTOR_PASS);
      map_factor(builder, 0, i, factor);
      map_factor(builder, result(builder, 0), j, factor);
      in_rest /= common;
      out_rest /= common;
    } else {
      /* Both go on to where they meet: the one with the smaller rest takes the next dimension in. */
      int64_t in_all = in_rest, out_all = out_rest;
      while (in_all != out_all) {
        if (in_all < out_all)
          in_all *= in->dims[++i];
        else
          out_all *= out->dims[++j];
      }
      in_rest = out_rest = 1;
    }
    if (in_rest == 1) i++;
    if (out_rest == 1) j++;
  }
}

static void dot(RuleBuilder *builder) {
  Int64List batch[2] = {ints(builder, HLO_ATTR_LHS_BATCH_DIMS), ints(builder, HLO_ATTR_RHS_BATCH_DIMS)};
  Int64List contracting[2] = {ints(builder, HLO_ATTR_LHS_CONTRACTING_DIMS),
                              ints(builder, HLO_ATTR_RHS_CONTRACTING_DIMS)};
  int out = result(builder, 0), next = 0;
  for (int64_t i = 0; i < batch[0].count; i++) {
    RuleDim dims[3] = {{0, (int)batch[0].data[i]}, {1, (int)batch[1].data[i]}, {out, next++}};
    tie(builder, FACTOR_PASS, dims, 3);
  }
  for (int side = 0; side < 2; side++) {
    for (int d = 0; d < shape_of(builder, side)->rank; d++) {
      if (int64_list_has(batch[side], d) || int64_list_has(contracting[side], d)) continue;
      tie_two(builder, FACTOR_PASS, (RuleDim){side, d}, (RuleDim){out, next++});
    }
  }
  for (int64_t i = 0; i < contracting[0].count; i++)
    tie_two(builder, FACTOR_REDUCTION, (RuleDim){0, (int)contracting[0].data[i]},
            (RuleDim){1, (int)contracting[1].data[i]});
}

static void reduce(RuleBuilder *builder) {
  Int64List dimensions = ints(builder, HLO_ATTR_DIMENSIONS);
  int arrays = builder->operand_count / 2, next = 0;
  RuleDim *dims = ARENA_NEW_ARRAY(builder->arena, RuleDim, 2 * arrays);
  for (int d = 0; d < shape_of(builder, 0)->rank; d++) {
    bool is_reduced = int64_list_has(dimensions, d);
    int count = 0;
    for (int i = 0; i < arrays; i++) {
      dims[count++] = (RuleDim){i, d};
      if (!is_reduced) dims[count++] = (RuleDim){result(builder, i), next};
    }
    next += !is_reduced;
    tie(builder, is_reduced ? FACTOR_REDUCTION : FACTOR_PASS, dims, count);
  }
}

/* reduce-window, select-and-scatter. */
static void window(RuleBuilder *builder) {
  const Window *whole = hlo_instruction_window(builder->instruction);
  for (int d = 0; d < whole->rank; d++)
    tie_everywhere(builder, window_dimension_is_trivial(&whole->dims[d]) ? FACTOR_PASS : FACTOR_PERMUTATION, d);
}

/* The dimensions of a convolution that are no window's. */
typedef struct ConvolutionDims {
  RuleDim batch, feature, kernel_in, kernel_out, out_batch, out_feature;
} ConvolutionDims;

static ConvolutionDims convolution_dims(const ConvolutionDimensionNumbers *labels, int out) {
  return (ConvolutionDims){.batch = {0, (int)labels->input.batch},
                           .feature = {0, (int)labels->input.feature},
                           .kernel_in = {1, (int)labels->kernel.input_feature},
                           .kernel_out = {1, (int)labels->kernel.output_feature},
                           .out_batch = {out, (int)labels->output.batch},
                           .out_feature = {out, (int)labels->output.feature}};
}

/* A dimension of groups, of which one operand's features or batches and the kernel's results are the slower part. */
static void tie_groups(RuleBuilder *builder, int64_t groups, RuleDim grouped, const ConvolutionDims *dims) {
  if (groups <= 1) return;
  int group = add_factor(builder, groups, FACTOR_PASS);
  map_factor(builder, grouped.value, grouped.dim, group);
  map_factor(builder, dims->kernel_out.value, dims->kernel_out.dim, group);
  map_factor(builder, dims->out_feature.value, dims->out_feature.dim, group);
}

/* As tie_two, for |size| elements, the faster part of both dimensions where they have groups. */
static void tie_rest(RuleBuilder *builder, FactorKind kind, int64_t size, RuleDim a, RuleDim b) {
  if (size <= 1) return;
  int factor = add_factor(builder, size, kind);
  map_factor(builder, a.value, a.dim, factor);
  map_factor(builder, b.value, b.dim, factor);
}

static void convolution(RuleBuilder *builder) {
  const HloInstruction *instruction = builder->instruction;
  const ConvolutionDimensionNumbers *labels = hlo_instruction_dim_labels(instruction);
  const Window *windows = hlo_instruction_window(instruction);
  int out = result(builder, 0);
  int64_t feature_groups = hlo_instruction_int(instruction, HLO_ATTR_FEATURE_GROUP_COUNT, 1),
          batch_groups = hlo_instruction_int(instruction, HLO_ATTR_BATCH_GROUP_COUNT, 1);
  ConvolutionDims dims = convolution_dims(labels, out);
  tie_groups(builder, feature_groups, dims.feature, &dims);
  tie_groups(builder, batch_groups, dims.batch, &dims);
  const Shape *kernel = shape_of(builder, 1), *made = shape_of(builder, out);
  tie_rest(builder, FACTOR_PASS, made->dims[dims.out_batch.dim], dims.batch, dims.out_batch);
  tie_rest(builder, FACTOR_REDUCTION, kernel->dims[dims.kernel_in.dim], dims.feature, dims.kernel_in);
  tie_rest(builder, FACTOR_PASS, kernel->dims[dims.kernel_out.dim] / (feature_groups * batch_groups), dims.kernel_out,
           dims.out_feature);
  for (int i = 0; windows != NULL && i < labels->spatial_rank; i++) {
    const WindowDimension *dim = &windows->dims[i];
    RuleDim moved[2] = {{0, (int)labels->input.spatial[i]}, {out, (int)labels->output.spatial[i]}};
    tie_two(builder, window_dimension_is_trivial(dim) ? FACTOR_PASS : FACTOR_PERMUTATION, moved[0], moved[1]);
  }
}

static void slice(RuleBuilder *builder) {
  const Shape *in = shape_of(builder, 0), *out = shape_of(builder, result(builder, 0));
  for (int d = 0; d < in->rank; d++)
    tie_everywhere(builder, in->dims[d] == out->dims[d] ? FACTOR_PASS : FACTOR_PERMUTATION, d);
}

static void pad(RuleBuilder *builder) {
  const PaddingConfig *padding = hlo_instruction_padding(builder->instruction);
  for (int d = 0; d < padding->rank; d++) {
    const PaddingDimension *dim = &padding->dims[d];
    bool is_trivial_dim = dim->low == 0 && dim->high == 0 && dim->interior == 0;
    tie_two(builder, is_trivial_dim ? FACTOR_PASS : FACTOR_PERMUTATION, (RuleDim){result(builder, 0), d},
            (RuleDim){0, d});
  }
}

/* concatenate, reverse: along |dimensions| elements move. */
static void moving(RuleBuilder *builder) {
  Int64List dimensions = ints(builder, HLO_ATTR_DIMENSIONS);
  for (int d = 0; d < shape_of(builder, result(builder, 0))->rank; d++)
    tie_everywhere(builder, int64_list_has(dimensions, d) ? FACTOR_PERMUTATION : FACTOR_PASS, d);
}

/* sort, scans along |dimensions|: they need whole lines. */
static void lines(RuleBuilder *builder) {
  Int64List dimensions = ints(builder, HLO_ATTR_DIMENSIONS);
  for (int d = 0; d < shape_of(builder, result(builder, 0))->rank; d++)
    tie_everywhere(builder, int64_list_has(dimensions, d) ? FACTOR_REPLICATED : FACTOR_PASS, d);
}

/* The last |count| dimensions are whole, and those before are batches of all operands and results. */
static void batches(RuleBuilder *builder, int count) {
  int rank = shape_of(builder, 0)->rank;
  for (int d = 0; d < rank - count; d++) {
    int total = builder->operand_count + builder->result_count, tied = 0;
    RuleDim *dims = ARENA_NEW_ARRAY(builder->arena, RuleDim, total);
    for (int v = 0; v < total; v++) {
      const Shape *shape = builder->shapes[v];
      if (shape_is_array(shape) && shape->rank > d && shape->dims[d] == shape_of(builder, 0)->dims[d])
        dims[tied++] = (RuleDim){v, d};
    }
    tie(builder, FACTOR_PASS, dims, tied);
  }
}

static void fft(RuleBuilder *builder) {
  batches(builder, (int)ints(builder, HLO_ATTR_FFT_LENGTH).count);
}

static void matrices(RuleBuilder *builder) {
  batches(builder, 2);
}

static void vectors(RuleBuilder *builder) {
  batches(builder, 1);
}

static void dynamic_slice(RuleBuilder *builder) {
  const Shape *in = shape_of(builder, 0), *out = shape_of(builder, result(builder, 0));
  for (int d = 0; d < in->rank; d++) {
    if (in->dims[d] == out->dims[d])
      tie_two(builder, FACTOR_PASS, (RuleDim){0, d}, (RuleDim){result(builder, 0), d});
    else
      tie(builder, FACTOR_REPLICATED, &(RuleDim){0, d}, 1);
  }
}

static void dynamic_update_slice(RuleBuilder *builder) {
  const Shape *whole = shape_of(builder, 0), *update = shape_of(builder, 1);
  int out = result(builder, 0);
  for (int d = 0; d < whole->rank; d++) {
    RuleDim dims[3] = {{0, d}, {out, d}, {1, d}};
    bool is_full = whole->dims[d] == update->dims[d];
    tie(builder, FACTOR_PASS, dims, is_full ? 3 : 2);
    if (!is_full) tie(builder, FACTOR_REPLICATED, &dims[2], 1);
  }
}

static void gather(RuleBuilder *builder) {
  Int64List offsets = ints(builder, HLO_ATTR_OFFSET_DIMS), collapsed = ints(builder, HLO_ATTR_COLLAPSED_SLICE_DIMS),
            batching = ints(builder, HLO_ATTR_OPERAND_BATCHING_DIMS),
            index_batching = ints(builder, HLO_ATTR_START_INDICES_BATCHING_DIMS),
            sizes = ints(builder, HLO_ATTR_SLICE_SIZES), map = ints(builder, HLO_ATTR_START_INDEX_MAP);
  int64_t vector_dim = hlo_instruction_int(builder->instruction, HLO_ATTR_INDEX_VECTOR_DIM, 0);
  const Shape *operand = shape_of(builder, 0), *indices = shape_of(builder, 1);
  int out = result(builder, 0), next = 0;
  for (int d = 0; d < operand->rank; d++) {
    if (int64_list_has(batching, d)) continue;
    /* One device has the element that an index names; where none does, all need the first. */
    FactorKind kind_of_one = int64_list_has(map, d) ? FACTOR_REDUCTION : FACTOR_REPLICATED;
    if (int64_list_has(collapsed, d)) {
      tie(builder, kind_of_one, &(RuleDim){0, d}, 1);
      continue;
    }
    int at = (int)offsets.data[next++];
    if (sizes.data[d] == operand->dims[d])
      tie_two(builder, FACTOR_PASS, (RuleDim){0, d}, (RuleDim){out, at});
    else
      tie(builder, sizes.data[d] == 1 ? kind_of_one : FACTOR_REPLICATED, &(RuleDim){0, d}, 1);
  }
  int outer = 0;
  for (int d = 0; d < indices->rank; d++) {
    if (d == vector_dim) continue;
    while (int64_list_has(offsets, outer)) outer++;
    int64_t batch = int64_list_find(index_batching, d);
    RuleDim dims[3] = {{1, d}, {out, outer++}, {0, batch >= 0 ? (int)batching.data[batch] : 0}};
    tie(builder, FACTOR_PASS, dims, batch >= 0 ? 3 : 2);
  }
}

static void scatter(RuleBuilder *builder) {
  Int64List windows = ints(builder, HLO_ATTR_UPDATE_WINDOW_DIMS),
            inserted = ints(builder, HLO_ATTR_INSERTED_WINDOW_DIMS),
            batching = ints(builder, HLO_ATTR_INPUT_BATCHING_DIMS),
            index_batching = ints(builder, HLO_ATTR_SCATTER_INDICES_BATCHING_DIMS),
            map = ints(builder, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS);
  if (builder->operand_count != 3) return;
  int64_t vector_dim = hlo_instruction_int(builder->instruction, HLO_ATTR_INDEX_VECTOR_DIM, 0);
  const Shape *operand = shape_of(builder, 0), *indices = shape_of(builder, 1), *updates = shape_of(builder, 2);
  int out = result(builder, 0), next = 0;
  for (int d = 0; d < operand->rank; d++) {
    if (int64_list_has(batching, d)) continue;
    if (int64_list_has(inserted, d)) {
      tie_two(builder, FACTOR_PERMUTATION, (RuleDim){0, d}, (RuleDim){out, d});
      continue;
    }
    int at = (int)windows.data[next++];
    RuleDim dims[3] = {{0, d}, {out, d}, {2, at}};
    bool is_full = updates->dims[at] == operand->dims[d] && !int64_list_has(map, d);
    if (is_full)
      tie(builder, FACTOR_PASS, dims, 3);
    else
      tie(builder, FACTOR_REPLICATED, dims, 2);
  }
  int outer = 0;
  for (int d = 0; d < indices->rank; d++) {
    if (d == vector_dim) continue;
    while (int64_list_has(windows, outer)) outer++;
    int64_t batch = int64_list_find(index_batching, d);
    RuleDim dims[4] = {{1, d},
                       {2, outer++},
                       {0, batch >= 0 ? (int)batching.data[batch] : 0},
                       {out, batch >= 0 ? (int)batching.data[batch] : 0}};
    tie(builder, batch >= 0 ? FACTOR_PASS : FACTOR_REDUCTION, dims, batch >= 0 ? 4 : 2);
  }
}

/* Every dimension that |dimensions| changes among devices is whole, the others are element by element. */
static void collective(RuleBuilder *builder) {
  Int64List dimensions = ints(builder, HLO_ATTR_DIMENSIONS);
  for (int v = 0; v < builder->operand_count && v < builder->result_count; v++) {
    const Shape *shape = shape_of(builder, v);
    if (!shape_is_array(shape) || shape_of(builder, result(builder, v))->rank != shape->rank) continue;
    for (int d = 0; d < shape->rank; d++) {
      if (!int64_list_has(dimensions, d))
        tie_two(builder, FACTOR_PASS, (RuleDim){v, d}, (RuleDim){result(builder, v), d});
    }
  }
}

static void custom_call(RuleBuilder *builder) {
  StringView target = custom_call_target(builder->instruction);
  if (builder->operand_count == 0 || !shape_is_array(shape_of(builder, 0))) return;
  if (sv_starts_with(target, SV("lapack_")) || sv_equal(target, SV("Qr")) || sv_equal(target, SV("Eigh")))
    matrices(builder);
  if (sv_equal(target, SV("TopK"))) vectors(builder);
}

static const struct {
  HloOpcode opcode;
  RuleMaker *make;
} makers[] = {
    {HLO_BROADCAST, broadcast},
    {HLO_TRANSPOSE, transpose},
    {HLO_RESHAPE, reshape},
    {HLO_DOT, dot},
    {HLO_REDUCE, reduce},
    {HLO_REDUCE_WINDOW, window},
    {HLO_SELECT_AND_SCATTER, window},
    {HLO_CONVOLUTION, convolution},
    {HLO_SLICE, slice},
    {HLO_PAD, pad},
    {HLO_CONCATENATE, moving},
    {HLO_REVERSE, moving},
    {HLO_SORT, lines},
    {HLO_TOPK, vectors},
    {HLO_FFT, fft},
    {HLO_CHOLESKY, matrices},
    {HLO_TRIANGULAR_SOLVE, matrices},
    {HLO_DYNAMIC_SLICE, dynamic_slice},
    {HLO_DYNAMIC_UPDATE_SLICE, dynamic_update_slice},
    {HLO_GATHER, gather},
    {HLO_SCATTER, scatter},
    {HLO_ALL_REDUCE, collective},
    {HLO_ALL_GATHER, collective},
    {HLO_REDUCE_SCATTER, collective},
    {HLO_ALL_TO_ALL, collective},
    {HLO_COLLECTIVE_PERMUTE, collective},
    {HLO_COLLECTIVE_BROADCAST, collective},
    {HLO_CUSTOM_CALL, custom_call},
    {HLO_IOTA, elementwise},
    {HLO_CONSTANT, elementwise},
    {HLO_MAP, elementwise},
    {HLO_COPY, elementwise},
};

static RuleMaker *maker_of(const HloInstruction *instruction) {
  for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
    if (makers[i].opcode == instruction->opcode) return makers[i].make;
  }
  return hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE) ? elementwise : NULL;
}

static FactorMapping *finish_mappings(RuleBuilder *builder, int first, int count) {
  FactorMapping *mappings = ARENA_NEW_ARRAY(builder->arena, FactorMapping, count + 1);
  for (int i = 0; i < count; i++) {
    const Shape *shape = builder->shapes[first + i];
    mappings[i] = (FactorMapping){shape_is_array(shape) ? shape->rank : 0, builder->mappings[first + i]};
  }
  return mappings;
}

const ShardingRule *sharding_rule(Arena *arena, const HloInstruction *instruction) {
  RuleBuilder builder = {.arena = arena, .instruction = instruction, .operand_count = instruction->operand_count};
  int nodes = shape_node_count(instruction->shape), total;
  builder.result_count = shape_leaf_count(instruction->shape);
  total = builder.operand_count + builder.result_count;
  builder.shapes = ARENA_NEW_ARRAY(arena, const Shape *, total + 1);
  builder.mappings = ARENA_NEW_ARRAY(arena, FactorList *, total + 1);
  for (int i = 0; i < builder.operand_count; i++) builder.shapes[i] = instruction->operands[i]->shape;
  for (int node = 0, leaf = builder.operand_count; node < nodes; node++) {
    const Shape *shape = shape_node(instruction->shape, node);
    if (!shape_is_tuple(shape)) builder.shapes[leaf++] = shape;
  }
  for (int v = 0; v < total; v++)
    builder.mappings[v] =
        ARENA_NEW_ARRAY(arena, FactorList, shape_is_array(builder.shapes[v]) ? builder.shapes[v]->rank + 1 : 1);
  RuleMaker *make = maker_of(instruction);
  if (make != NULL) make(&builder);
  ShardingRule *rule = ARENA_NEW(arena, ShardingRule);
  *rule = (ShardingRule){.factor_count = (int)builder.factors.count,
                         .factors = builder.factors.data,
                         .operand_count = builder.operand_count,
                         .operands = finish_mappings(&builder, 0, builder.operand_count),
                         .result_count = builder.result_count,
                         .results = finish_mappings(&builder, builder.operand_count, builder.result_count)};
  return rule;
}

/* A reshape's factor may be the slower part of a dimension whose rest has none. */
static bool is_part_of_reshape(const HloInstruction *reshape, const ShardingRule *rule, int factor) {
  int in, out, place;
  int64_t size = rule->factors[factor].size;
  return !factor_find(&rule->operands[0], factor, &in, &place) ||
         !factor_find(&rule->results[0], factor, &out, &place) || reshape->operands[0]->shape->dims[in] != size ||
         reshape->shape->dims[out] != size;
}

const bool *sharding_rule_full_factors(Arena *arena, const HloInstruction *instruction, const ShardingRule *rule) {
  bool *full = ARENA_NEW_ARRAY(arena, bool, rule->factor_count + 1);
  for (int f = 0; f < rule->factor_count && instruction->opcode == HLO_RESHAPE; f++)
    full[f] = is_part_of_reshape(instruction, rule, f);
  for (int i = 0; i < rule->operand_count + rule->result_count; i++) {
    const FactorMapping *mapping =
        i < rule->operand_count ? &rule->operands[i] : &rule->results[i - rule->operand_count];
    for (int d = 0; d < mapping->rank; d++) {
      for (int k = 0; k < mapping->dims[d].count && mapping->dims[d].count > 1; k++)
        full[mapping->dims[d].factors[k]] = true;
    }
  }
  return full;
}

static void set_factors(Arena *arena, FactorMapping *mapping, int dim, FactorList factors) {
  FactorList *dims = ARENA_COPY_ARRAY(arena, FactorList, mapping->dims, mapping->rank);
  dims[dim] = factors;
  mapping->dims = dims;
}

const ShardingRule *sharding_rule_with_sum(Arena *arena, const ShardingRule *rule, int64_t size,
                                           const SummedDim *summed, int count, int result_dim) {
  Factor *factors = ARENA_NEW_ARRAY(arena, Factor, rule->factor_count + 1);
  for (int f = 0; f < rule->factor_count; f++) factors[f] = rule->factors[f];
  factors[rule->factor_count] = (Factor){size, FACTOR_REDUCTION, false};
  int16_t *added = ARENA_NEW(arena, int16_t);
  *added = (int16_t)rule->factor_count;
  FactorMapping *operands = ARENA_COPY_ARRAY(arena, FactorMapping, rule->operands, rule->operand_count),
                *result = ARENA_COPY_ARRAY(arena, FactorMapping, rule->results, 1);
  for (int i = 0; i < count; i++)
    set_factors(arena, &operands[summed[i].operand], summed[i].dim, (FactorList){1, added});
  set_factors(arena, result, result_dim, (FactorList){0});
  ShardingRule *summing = ARENA_NEW(arena, ShardingRule);
  *summing = (ShardingRule){rule->factor_count + 1, factors, rule->operand_count, operands, 1, result};
  return summing;
}
