/* Results that take over the bytes of operands which die with them. */
#include "base/array.h"
#include "hlo/analysis/in_place.h"
#include "passes/buffers/assigner_internal.h"

typedef struct Candidate {
  int32_t value;
  int64_t size;
} Candidate;

/* Operand values that |instruction| is the last to read, with as many bytes as |result|. */
static int32_t dying_operand(const Assigner *assigner, const HloInstruction *instruction, int32_t result,
                             int32_t *operand) {
  const BufferAnalysis *analysis = &assigner->analysis;
  int64_t now = analysis->liveness->hulls[result].from;
  for (; *operand < instruction->operand_count; ++*operand) {
    const HloInstruction *from = instruction->operands[*operand];
    if (shape_is_tuple(from->shape)) continue;
    int32_t value = hlo_dataflow_value(analysis->flow, from, 0);
    if (value < 0 || analysis->flow->values[value].size != analysis->flow->values[result].size) continue;
    if (analysis->flow->values[value].size == 0 || !hlo_liveness_ends_at(analysis->liveness, value, now)) continue;
    ++*operand;
    return value;
  }
  return -1;
}

enum { LINE_BYTES = 64, LONG_ROW_BYTES = 4096 };

/* The end of a row that is no whole register is stored under a mask, and the next row's first load waits for that where
 * they lie side by side: some 20 cycles for each row. */
static bool row_waits(int64_t row_bytes) {
  return row_bytes % LINE_BYTES != 0 && row_bytes < LONG_ROW_BYTES;
}

/* Of so many times its bytes a sum is made. */
enum { SUM_SHARE = 64 };

static bool is_of_much_more(const HloInstruction *instruction, int64_t bytes) {
  for (int32_t i = 0; i < instruction->operand_count && instruction->opcode == HLO_FUSION; i++) {
    const Shape *shape = instruction->operands[i]->shape;
    if (shape_is_array(shape) && shape_byte_size(shape) / SUM_SHARE >= bytes) return true;
  }
  return false;
}

static void share_result(Assigner *assigner, const HloInstruction *instruction, int32_t result) {
  HloAlias *alias = assigner->analysis.alias;
  int32_t operand = 0;
  bool is_sum = is_of_much_more(instruction, assigner->analysis.flow->values[result].size);
  for (;;) {
    int32_t value = dying_operand(assigner, instruction, result, &operand);
    if (value < 0) return;
    if (hlo_alias_set(alias, value) == hlo_alias_set(alias, result)) {
      assigner->refusals[result].kind = ALIAS_GRANTED;
      return;
    }
    if (is_sum && assigner->keeps_sums_apart) continue;
    int64_t row_bytes = hlo_shared_row_bytes(instruction, operand - 1, assigner->scratch);
    bool by_rows = row_bytes > 0;
    if (by_rows && (assigner->keeps_rows_apart || row_waits(row_bytes))) continue;
    AliasRefusal refusal = hlo_alias_unite(alias, value, result);
    if (refusal.kind == ALIAS_GRANTED) {
      assigner->has_shared_rows |= by_rows;
      assigner->has_shared_sums |= is_sum;
      assigner->overwrites[result] = value;
      assigner->refusals[result] = refusal;
      return;
    }
    assigner->refusals[result] = refusal;
  }
}

void assigner_share_operands(Assigner *assigner) {
  const HloDataflow *flow = assigner->analysis.flow;
  const HloOrdering *ordering = assigner->analysis.ordering;
  assigner->overwrites = ARENA_NEW_ARRAY(assigner->scratch, int32_t, flow->value_count + 1);
  assigner->refusals = ARENA_NEW_ARRAY(assigner->scratch, AliasRefusal, flow->value_count + 1);
  for (int32_t i = 0; i < flow->value_count; i++) assigner->overwrites[i] = -1;
  for (int64_t t = 0; t < ordering->length; t++) {
    const HloInstruction *instruction = ordering->schedule[t];
    if (instruction->operand_count == 0 || hlo_dataflow_forwards(instruction) ||
        call_graph_callee_count(instruction) > 0)
      continue;
    int32_t count = shape_nodes(flow->shapes, instruction->shape)->count;
    for (int32_t node = 0; node < count; node++) {
      int32_t value = hlo_dataflow_value(flow, instruction, node);
      if (value >= 0 && flow->values[value].definition.instruction == instruction)
        share_result(assigner, instruction, value);
    }
  }
}
