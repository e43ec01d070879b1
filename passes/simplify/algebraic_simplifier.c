#include "passes/cleanup/control_edges.h"
#include "passes/pipeline/hlo_pass.h"
#include "passes/simplify/algebraic_rules.h"

/* algebraic-simplifier: applies the tables of rules (rules_*.c), operands before users, until no rule changes
 * anything. */

/* One instruction is rewritten at most so often in a row: no set of rules can loop for ever. */
enum { REWRITE_LIMIT = 16, SWEEP_LIMIT = 8, RULES_PER_OPCODE = 32 };

/* The rules of each opcode, in table order. */
typedef struct RuleIndex {
  const AlgebraicRule *rules[HLO_OPCODE_COUNT][RULES_PER_OPCODE];
  int counts[HLO_OPCODE_COUNT];
} RuleIndex;

static void add_rule(RuleIndex *index, int opcode, const AlgebraicRule *rule) {
  XLAC_CHECK(index->counts[opcode] < RULES_PER_OPCODE);
  index->rules[opcode][index->counts[opcode]++] = rule;
}

static void index_rule(RuleIndex *index, const AlgebraicRule *rule) {
  if (rule->opcode != ALGEBRAIC_ELEMENTWISE && rule->opcode != ALGEBRAIC_ANY) {
    add_rule(index, (int)rule->opcode, rule);
    return;
  }
  for (int opcode = 0; opcode < HLO_OPCODE_COUNT; opcode++) {
    bool applies = rule->opcode == ALGEBRAIC_ANY || hlo_opcode_has((HloOpcode)opcode, OP_ELEMENTWISE);
    if (applies) add_rule(index, opcode, rule);
  }
}

static void index_set(RuleIndex *index, AlgebraicRules set) {
  for (int i = 0; i < set.count; i++) index_rule(index, &set.rules[i]);
}

static RuleIndex *index_rules(Arena *arena, const HloPassOptions *options) {
  bool fast_math = options != NULL && options->fast_math;
  RuleIndex *index = ARENA_NEW(arena, RuleIndex);
  const AlgebraicRules sets[] = {algebraic_splat_rules(),   algebraic_arith_rules(),    algebraic_logic_rules(),
                                 algebraic_compare_rules(), algebraic_shape_rules(),    algebraic_slice_rules(),
                                 algebraic_update_rules(),  algebraic_reduce_rules(),   algebraic_window_rules(),
                                 algebraic_dot_rules(),     algebraic_function_rules(), algebraic_floor_rules()};
  const AlgebraicRules fast[] = {algebraic_fast_arith_rules(), algebraic_fast_update_rules(),
                                 algebraic_fast_reduce_rules(), algebraic_fast_dot_rules(), algebraic_fast_rules()};
  for (size_t s = 0; s < sizeof(sets) / sizeof(sets[0]); s++) index_set(index, sets[s]);
  for (size_t s = 0; s < sizeof(fast) / sizeof(fast[0]) && fast_math; s++) index_set(index, fast[s]);
  if (options != NULL && options->excess_precision) index_set(index, algebraic_excess_rules());
  if (options != NULL && machine_has_buffer(options->machine)) {
    index_set(index, algebraic_oncore_rules());
    index_set(index, algebraic_oncore_compare_rules());
  } else {
    index_set(index, algebraic_host_function_rules());
    index_set(index, algebraic_host_gather_rules());
  }
  return index;
}

static HloInstruction *first_rewrite(HloPassContext *context, const RuleIndex *index, HloInstruction *instruction) {
  for (int i = 0; i < index->counts[instruction->opcode]; i++) {
    const AlgebraicRule *rule = index->rules[instruction->opcode][i];
    HloInstruction *result = rule->rewrite(instruction);
    if (result == NULL || result == instruction) continue;
    XLAC_CHECK(result->shape == instruction->shape);
    hlo_pass_count_rewrite(context, rule->name, instruction);
    return result;
  }
  return NULL;
}

static bool rewrite_instruction(HloPassContext *context, const RuleIndex *index, HloInstruction *instruction) {
  bool changed = false;
  for (int i = 0; i < REWRITE_LIMIT && hlo_pass_may_rewrite(context); i++) {
    int32_t first_new_id = instruction->parent->module->next_instruction_id;
    HloInstruction *result = first_rewrite(context, index, instruction);
    if (result == NULL) break;
    if (result->id >= first_new_id) hlo_instruction_inherit_metadata(result, instruction);
    hlo_instruction_replace_all_uses(instruction, result);
    instruction = result;
    changed = true;
  }
  return changed;
}

static bool simplify_computation(HloPassContext *context, const RuleIndex *index, HloComputation *computation) {
  int64_t count;
  bool changed = false;
  HloInstruction **order = control_edges_free_order(computation, context->scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    /* Sizes set at run time are more than the shape says. */
    if (hlo_instruction_is_unread(order[i]) || shape_is_dynamic(order[i]->shape)) continue;
    changed |= rewrite_instruction(context, index, order[i]);
  }
  /* All at once: one by one would move the rest of the list each time. */
  if (changed) hlo_computation_remove_dead(computation);
  return changed;
}

static Status run_algebraic_simplifier(HloPassContext *context, HloModule *module, bool *out_changed) {
  const RuleIndex *index = index_rules(context->scratch, context->options);
  for (int64_t c = 0; c < module->computations.count; c++) {
    /* What a rule made may be of use for another. */
    for (int i = 0; i < SWEEP_LIMIT && simplify_computation(context, index, module->computations.data[c]); i++) {
      *out_changed = true;
    }
  }
  return STATUS_OK;
}

const HloPass hlo_algebraic_simplifier_pass = {"algebraic-simplifier", "local rewrites that keep every bit",
                                               run_algebraic_simplifier, false};
