#include "codegen/kernel/kernel_builder.h"

#include "codegen/kernel/lowering_internal.h"
#include "hlo/analysis/in_place.h"

/* More rounds than any fusion needs: each splits one dim. */
#define MAX_REFINEMENTS 64

static const RootRule root_rules[EMIT_FAMILY_COUNT] = {
    [EMIT_reduce] = root_reduce,
    [EMIT_reduce_window] = root_reduce_window,
    [EMIT_dynamic_update_slice] = root_dynamic_update_slice,
    [EMIT_scatter] = root_scatter,
    [EMIT_select_and_scatter] = root_select_and_scatter,
};

typedef struct KernelRequest {
  const HloInstruction *source;
  const HloInstruction *root;
  RootRule rule;
  int result_node;
} KernelRequest;

static void lowering_init(Lowering *lowering, Arena *arena, const KernelRequest *request, const DimSplit *splits,
                          int split_count, DiagSink *diag) {
  *lowering = (Lowering){.arena = arena,
                         .diag = diag,
                         .source = request->source,
                         .predicate = -1,
                         .current_stage = KERNEL_OUTER,
                         .result_node = request->result_node,
                         .splits = splits,
                         .split_count = split_count};
  if (request->source->opcode == HLO_FUSION) {
    lowering->fused = hlo_instruction_computation(request->source, HLO_ATTR_CALLS);
  }
  index_space_init(&lowering->space, arena);
  int_map_init(&lowering->value_map, arena);
  int_map_init(&lowering->memo_map, arena);
}

/* NULL in |out_kernel| when there is nothing to do. */
static Status build_one(Arena *arena, const KernelRequest *request, DiagSink *diag, const Kernel **out_kernel) {
  DimSplit *splits = ARENA_NEW_ARRAY(arena, DimSplit, MAX_RANK);
  int split_count = 0;
  *out_kernel = NULL;
  for (int round = 0;; round++) {
    Lowering lowering;
    lowering_init(&lowering, arena, request, splits, split_count, diag);
    RETURN_IF_ERROR(request->rule(&lowering, request->root));
    if (lowering.is_empty) return STATUS_OK;
    if (round < MAX_REFINEMENTS && lowering_refine(&lowering, splits, &split_count)) continue;
    *out_kernel = lowering_finish(&lowering);
    return kernel_verify(*out_kernel, diag);
  }
}

/* A reduction whose result the fusion goes on with. */
static bool has_inner_reduce(const HloComputation *fused) {
  for (int64_t i = 0; i < fused->instructions.count; i++) {
    const HloInstruction *instruction = fused->instructions.data[i];
    if (instruction->opcode == HLO_REDUCE && instruction != fused->root) return true;
  }
  return false;
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
  if (source->opcode == HLO_FUSION && has_inner_reduce(hlo_instruction_computation(source, HLO_ATTR_CALLS)))
    return root_rows;
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

Status kernel_build(Arena *arena, const HloInstruction *instruction, DiagSink *diag, KernelList *out_kernels) {
  RETURN_IF_ERROR(check_ranks(instruction, diag));
  const HloInstruction *root = instruction;
  if (instruction->opcode == HLO_FUSION) {
    const HloComputation *fused = hlo_instruction_computation(instruction, HLO_ATTR_CALLS);
    for (int64_t i = 0; i < fused->instructions.count; i++)
      RETURN_IF_ERROR(check_ranks(fused->instructions.data[i], diag));
    root = fused->root;
  }
  bool has_leaves = root->opcode == HLO_TUPLE; /* a fusion with several results: one Kernel each */
  int request_count = has_leaves ? root->operand_count : 1;
  const Kernel **kernels = ARENA_NEW_ARRAY(arena, const Kernel *, request_count + 1);
  *out_kernels = (KernelList){0, kernels};
  for (int i = 0; i < request_count; i++) {
    const HloInstruction *leaf = has_leaves ? root->operands[i] : root;
    int result_node = shape_is_tuple(instruction->shape) ? shape_node_child(instruction->shape, 0, i) : 0;
    KernelRequest request = {instruction, leaf, rule_of(instruction, leaf, result_node, arena), result_node};
    if (leaf->opcode == HLO_SELECT_AND_SCATTER) {
      KernelRequest fill = request;
      fill.rule = root_select_and_scatter_fill;
      RETURN_IF_ERROR(build_one(arena, &fill, diag, &kernels[out_kernels->count]));
      out_kernels->count += kernels[out_kernels->count] != NULL;
    }
    RETURN_IF_ERROR(build_one(arena, &request, diag, &kernels[out_kernels->count]));
    out_kernels->count += kernels[out_kernels->count] != NULL;
  }
  return STATUS_OK;
}
