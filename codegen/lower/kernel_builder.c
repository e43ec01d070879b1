#include "codegen/lower/kernel_builder.h"

#include "codegen/lower/kernel_tiles.h"
#include "codegen/lower/lowering_internal.h"
#include "hlo/analysis/complex_sums.h"
#include "hlo/analysis/in_place.h"

/* More rounds than any fusion needs: each splits one dim. */
#define MAX_REFINEMENTS 64
/* Of one nest. */
#define MAX_RESULTS 64

static const RootRule root_rules[EMIT_FAMILY_COUNT] = {
    [EMIT_reduce] = root_reduce,
    [EMIT_reduce_window] = root_reduce_window,
    [EMIT_dynamic_update_slice] = root_dynamic_update_slice,
    [EMIT_scatter] = root_scatter,
    [EMIT_sort] = root_sort,
    [EMIT_fft] = root_fft,
    [EMIT_select_and_scatter] = root_select_and_scatter,
};

typedef struct KernelRequest {
  const HloInstruction *source;
  const HloInstruction *root;
  RootRule rule;
  int result_node;
  LoweringResult *results; /* what root_results makes */
  int result_count;
  int sum_part; /* of a complex contraction; -1: both */
  KernelTarget target;
} KernelRequest;

static bool is_moved_as_bits(const HloInstruction *instruction) {
  return lowering_moved_type(instruction->shape->type) != instruction->shape->type;
}

/* Whether |instruction| computes at most where elements stand that are moved as integers, not with them. */
static bool only_moves(const HloInstruction *instruction) {
  EmitFamily family = emit_family(instruction->opcode);
  if (!is_moved_as_bits(instruction)) {
    for (int i = 0; i < instruction->operand_count; i++) {
      if (is_moved_as_bits(instruction->operands[i])) return false;
    }
    return true;
  }
  if (family == EMIT_parameter || family == EMIT_constant) return true;
  if (instruction->operand_count == 0) return false;
  bool is_same = instruction->operands[0]->shape->type == instruction->shape->type;
  return is_same && (family == EMIT_indexed || family == EMIT_copy);
}

/* Few elements may be in registers, complex ones by their parts. */
static bool moves_bits(const KernelRequest *request) {
  enum { LEAST_ELEMENTS = 64 };
  const HloInstruction *root = request->root;
  if (!request->target.moves_bits || request->rule != root_elements) return false;
  if (!is_moved_as_bits(root) || !only_moves(root)) return false;
  if (shape_element_count(root->shape) < LEAST_ELEMENTS) return false;
  if (request->source->opcode != HLO_FUSION) return true;
  const HloComputation *fused = hlo_instruction_computation(request->source, HLO_ATTR_CALLS);
  for (int64_t i = 0; i < fused->instructions.count; i++) {
    if (!only_moves(fused->instructions.data[i])) return false;
  }
  return true;
}

static void lowering_init(Lowering *lowering, Arena *arena, const KernelRequest *request, const DimSplit *splits,
                          int split_count, DiagSink *diag) {
  *lowering = (Lowering){.arena = arena,
                         .diag = diag,
                         .source = request->source,
                         .predicate = -1,
                         .current_stage = KERNEL_OUTER,
                         .result_node = request->result_node,
                         .results = ARENA_COPY_ARRAY(arena, LoweringResult, request->results, request->result_count),
                         .result_count = request->result_count,
                         .sum_part = request->sum_part,
                         .target = request->target,
                         .moves_bits = moves_bits(request),
                         .splits = splits,
                         .split_count = split_count};
  if (request->source->opcode == HLO_FUSION) {
    lowering->fused = hlo_instruction_computation(request->source, HLO_ATTR_CALLS);
  }
  kernel_draft_init(&lowering->draft, arena, request->source);
  int_map_init(&lowering->memo_map, arena);
}

/* Lowers again with finer dims until that changes nothing. */
static Status lower_refined(Arena *arena, const KernelRequest *request, const Shape *flat, DiagSink *diag,
                            Lowering *out_lowering) {
  DimSplit *splits = ARENA_NEW_ARRAY(arena, DimSplit, MAX_RANK);
  int split_count = 0;
  for (int round = 0;; round++) {
    lowering_init(out_lowering, arena, request, splits, split_count, diag);
    out_lowering->flat = flat;
    RETURN_IF_ERROR(request->rule(out_lowering, request->root));
    if (out_lowering->is_empty || round == MAX_REFINEMENTS) return STATUS_OK;
    if (!lowering_refine(out_lowering, splits, &split_count)) return STATUS_OK;
  }
}

/* NULL in |out_kernel| when there is nothing to do.  Pieces that no dim of the result walks may be walked by one of all
 * its elements: where that leaves no quotients, it is the better walk. */
static Status build_one(Arena *arena, const KernelRequest *request, DiagSink *diag, const Kernel **out_kernel) {
  Lowering lowering, flat;
  *out_kernel = NULL;
  RETURN_IF_ERROR(lower_refined(arena, request, NULL, diag, &lowering));
  if (lowering.is_empty) return STATUS_OK;
  const Shape *walked = lowering.misses_pieces ? request->results[0].nest.shape : NULL;
  bool is_flat = walked != NULL && shape_has_default_layout(walked);
  if (is_flat) RETURN_IF_ERROR(lower_refined(arena, request, walked, diag, &flat));
  is_flat = is_flat && !flat.misses_pieces && !lowering_has_quotients(&flat);
  return lowering_finish(is_flat ? &flat : &lowering, out_kernel);
}

static bool is_in_place(const HloInstruction *source, int result_node, Arena *arena) {
  InPlacePairs pairs = hlo_in_place_pairs(source, arena);
  for (int32_t i = 0; i < pairs.count; i++) {
    if (pairs.pairs[i].result_node == result_node) return true;
  }
  return false;
}

/* A dynamic-update-slice that does not share memory with its operand (a fusion reads the old values elsewhere) makes
 * every element anew. */
static RootRule rule_of(const HloInstruction *source, const HloInstruction *root, int result_node, Arena *arena) {
  RootRule rule = root_rules[emit_family(root->opcode)];
  if (rule == root_dynamic_update_slice && !is_in_place(source, result_node, arena)) rule = NULL;
  return rule != NULL ? rule : root_elements;
}

static Status check_ranks(const HloInstruction *instruction, DiagSink *diag) {
  bool fits = instruction->shape->rank <= MAX_RANK;
  for (int i = 0; i < instruction->operand_count; i++) fits = fits && instruction->operands[i]->shape->rank <= MAX_RANK;
  if (fits) return STATUS_OK;
  return diag_error(diag, STATUS_UNSUPPORTED, instruction->loc, "unsupported-rank",
                    "'%.*s' has more than %d dimensions", SV_ARG(instruction->name), MAX_RANK);
}

/* A fusion's result number |number|, or all that an operation makes. */
static LoweringResult result_at(const HloInstruction *source, const HloInstruction *root, int number, Arena *arena) {
  LoweringResult result = {.made = root};
  if (root->opcode == HLO_TUPLE) result.made = root->operands[number];
  if (shape_is_tuple(source->shape)) result.node = shape_node_child(source->shape, 0, number);
  result.nest = hlo_loop_nest(result.made, source->opcode != HLO_FUSION, arena);
  return result;
}

/* Several results in one nest, or one that goes on with reductions. */
static bool makes_all_at_once(const HloInstruction *source, const LoweringResult *results, int count) {
  if (source->opcode != HLO_FUSION) return false;
  if (count == 1) return results[0].nest.kind == LOOP_NEST_REDUCED && results[0].made->opcode != HLO_REDUCE;
  LoopNest nests[MAX_RESULTS];
  if (count > MAX_RESULTS) return false;
  for (int i = 0; i < count; i++) nests[i] = results[i].nest;
  return hlo_loop_nests_unite(nests, count);
}

/* What works on whole lines, with what it reads and what is made of its results, and loops; NULL for other fusions. */
static RootRule rule_of_all(const HloInstruction *source) {
  if (source->opcode != HLO_FUSION) return NULL;
  const HloComputation *fused = hlo_instruction_computation(source, HLO_ATTR_CALLS);
  if (lowering_find_fused(fused, HLO_SORT) != NULL) return root_sort;
  if (lowering_find_fused(fused, HLO_WHILE) != NULL) return root_loop;
  return lowering_find_fused(fused, HLO_FFT) != NULL ? root_fft : NULL;
}

static Status add_kernel(Arena *arena, const KernelRequest *request, DiagSink *diag, KernelList *kernels) {
  const Kernel **place = (const Kernel **)&kernels->kernels[kernels->count];
  RETURN_IF_ERROR(build_one(arena, request, diag, place));
  kernels->count += *place != NULL;
  return STATUS_OK;
}

/* The Kernels of one result by itself: two where it must be filled before it is scattered into, and for the parts of a
 * complex contraction that are summed apart, each of which is one of real numbers. */
static Status add_kernels_of(Arena *arena, const HloInstruction *source, LoweringResult *result,
                             const KernelTarget *target, DiagSink *diag, KernelList *kernels) {
  RootRule rule = rule_of(source, result->made, result->node, arena);
  KernelRequest request = {source, result->made, rule, result->node, result, 1, -1, *target};
  if (result->made->opcode == HLO_SELECT_AND_SCATTER) {
    KernelRequest fill = request;
    fill.rule = root_select_and_scatter_fill;
    RETURN_IF_ERROR(add_kernel(arena, &fill, diag, kernels));
  }
  bool is_apart =
      hlo_sums_parts_apart(result->made) || (source->opcode == HLO_FUSION && hlo_is_rearranged_parts(result->made));
  bool is_two = rule == root_elements && !target->joins_parts && is_apart;
  if (!is_two) return add_kernel(arena, &request, diag, kernels);
  for (request.sum_part = 0; request.sum_part < 2; request.sum_part++) {
    RETURN_IF_ERROR(add_kernel(arena, &request, diag, kernels));
  }
  return STATUS_OK;
}

Status kernel_build(Arena *arena, const HloInstruction *instruction, DiagSink *diag, KernelList *out_kernels) {
  return kernel_build_for(arena, instruction, &(KernelTarget){0}, diag, out_kernels);
}

Status kernel_build_for(Arena *arena, const HloInstruction *instruction, const KernelTarget *target, DiagSink *diag,
                        KernelList *out_kernels) {
  RETURN_IF_ERROR(check_ranks(instruction, diag));
  if (kernel_is_tiled(instruction)) {
    const Kernel **whole = ARENA_NEW(arena, const Kernel *);
    *out_kernels = (KernelList){1, whole};
    return kernel_build_tiled(arena, instruction, diag, whole);
  }
  const HloInstruction *root = instruction;
  if (instruction->opcode == HLO_FUSION) {
    const HloComputation *fused = hlo_instruction_computation(instruction, HLO_ATTR_CALLS);
    for (int64_t i = 0; i < fused->instructions.count; i++)
      RETURN_IF_ERROR(check_ranks(fused->instructions.data[i], diag));
    root = fused->root;
  }
  bool has_leaves = root->opcode == HLO_TUPLE;
  int result_count = has_leaves ? root->operand_count : 1;
  LoweringResult *results = ARENA_NEW_ARRAY(arena, LoweringResult, result_count + 1);
  for (int i = 0; i < result_count; i++) results[i] = result_at(instruction, root, i, arena);
  *out_kernels = (KernelList){0, ARENA_NEW_ARRAY(arena, const Kernel *, 2 * result_count + 1)};
  RootRule rule = rule_of_all(instruction);
  if (rule == NULL && makes_all_at_once(instruction, results, result_count)) rule = root_results;
  if (rule != NULL) {
    KernelRequest request = {instruction, root, rule, results[0].node, results, result_count, -1, *target};
    return add_kernel(arena, &request, diag, out_kernels);
  }
  for (int i = 0; i < result_count; i++)
    RETURN_IF_ERROR(add_kernels_of(arena, instruction, &results[i], target, diag, out_kernels));
  return STATUS_OK;
}

/* --- regions --- */

static Status root_region(Lowering *lowering, const HloInstruction *root) {
  const HloComputation *region = root->parent;
  int count = (int)region->parameters.count;
  int32_t *arguments = ARENA_NEW_ARRAY(lowering->arena, int32_t, count + 1);
  for (int i = 0; i < count; i++) {
    int32_t buffer = lowering_buffer(lowering, KERNEL_OPERAND, i, 0, region->parameters.data[i]->shape);
    arguments[i] = lowering_load(lowering, buffer, index_constant(0));
  }
  KernelStore store = {.address = index_constant(0), .predicate = -1};
  RETURN_IF_ERROR(lower_region(lowering, region, arguments, &store.value, 1));
  store.buffer = lowering_buffer(lowering, KERNEL_RESULT, -1, 0, root->shape);
  lowering_add_stage(lowering, &store, 1);
  return STATUS_OK;
}

Status kernel_build_region(Arena *arena, const HloComputation *region, const HloInstruction *source, DiagSink *diag,
                           const Kernel **out_kernel) {
  KernelRequest request = {.source = source, .root = region->root, .rule = root_region, .sum_part = -1};
  return build_one(arena, &request, diag, out_kernel);
}
