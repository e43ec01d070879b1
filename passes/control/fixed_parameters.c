#include "passes/control/fixed_parameters.h"

#include <string.h>

#include "hlo/analysis/hlo_alias.h"
#include "hlo/ir/leaf_names.h"

typedef struct FixedParameters {
  Arena *arena;
  const HloModule *module;
  DiagSink *diag;
  HloInstruction **order; /* of the entry, operands first */
  int64_t order_count;
  int64_t *leaves; /* by id: which leaf an instruction of the entry shows, -1: none */
  int64_t leaf_count;
  StringView *names;
  const int32_t *donated_to;
  bool *is_named; /* by leaf */
} FixedParameters;

/* --- leaves --- */

/* The first leaf in |instruction|, a part of a parameter; -1: it is none. */
static int64_t first_leaf(const int64_t *firsts, const HloInstruction *instruction) {
  if (instruction->opcode != HLO_GET_TUPLE_ELEMENT || firsts[instruction->operands[0]->id] < 0) return -1;
  return firsts[instruction->operands[0]->id] +
         shape_leaves_before(instruction->operands[0]->shape, hlo_instruction_int(instruction, HLO_ATTR_INDEX, 0));
}

static void find_leaves(FixedParameters *fixed) {
  int32_t limit = fixed->module->next_instruction_id;
  const HloInstructionArray *parameters = &fixed->module->entry->parameters;
  int64_t first = 0;
  fixed->leaves = ARENA_NEW_ARRAY(fixed->arena, int64_t, limit);
  for (int64_t i = 0; i < parameters->count; i++) {
    fixed->leaves[parameters->data[i]->id] = first;
    first += shape_leaf_count(parameters->data[i]->shape);
  }
  for (int64_t i = 0; i < fixed->order_count; i++)
    if (fixed->order[i]->opcode != HLO_PARAMETER)
      fixed->leaves[fixed->order[i]->id] = first_leaf(fixed->leaves, fixed->order[i]);
  for (int64_t i = 0; i < fixed->order_count; i++)
    if (!shape_is_array(fixed->order[i]->shape)) fixed->leaves[fixed->order[i]->id] = -1;
}

/* --- weights --- */

/* |value| is what |user|, a contraction, has on its right side alone. */
static bool is_right_factor(const HloInstruction *value, int user_number) {
  const HloInstruction *user = value->users[user_number];
  int operand = hlo_instruction_first_use(value, user_number);
  return hlo_opcode_has(user->opcode, OP_CONTRACTION) && operand == 1 && hlo_instruction_next_use(user, operand) < 0;
}

/* Moves, cuts or converts its operand. */
static bool is_mover(const HloInstruction *instruction) {
  OpCost cost = hlo_opcode_info(instruction->opcode)->cost;
  bool is_cheap = (cost >= OP_COST_FREE && cost <= OP_COST_MOVE) || cost == OP_COST_STRIDES || cost == OP_COST_CONVERT;
  return is_cheap && instruction->operand_count == 1 && shape_is_array(instruction->shape);
}

/* Leaves of which each mention is a right factor, and one is there. */
static void name_weights(FixedParameters *fixed) {
  bool *is_right = ARENA_NEW_ARRAY(fixed->arena, bool, fixed->module->next_instruction_id);
  bool *is_other = ARENA_NEW_ARRAY(fixed->arena, bool, fixed->leaf_count + 1);
  bool *is_weight = ARENA_NEW_ARRAY(fixed->arena, bool, fixed->leaf_count + 1);
  for (int64_t i = fixed->order_count - 1; i >= 0; i--) {
    const HloInstruction *value = fixed->order[i];
    bool right = value->user_count > 0 && !hlo_instruction_is_root(value);
    for (int u = 0; u < value->user_count && right; u++)
      right = is_right_factor(value, u) || (is_mover(value->users[u]) && is_right[value->users[u]->id]);
    is_right[value->id] = right;
    int64_t leaf = fixed->leaves[value->id];
    if (leaf >= 0) (right ? is_weight : is_other)[leaf] = true;
  }
  for (int64_t leaf = 0; leaf < fixed->leaf_count; leaf++)
    fixed->is_named[leaf] |= is_weight[leaf] && !is_other[leaf] && fixed->donated_to[leaf] < 0;
}

/* --- words --- */

/* "5" or "1-9". */
static bool range_of(StringView word, int64_t *out_first, int64_t *out_last) {
  const char *dash = memchr(word.data, '-', word.size);
  if (dash == NULL) {
    bool is_number = sv_to_count(word, out_first);
    *out_last = *out_first;
    return is_number;
  }
  size_t size = (size_t)(dash - word.data);
  return sv_to_count(sv_sub(word, 0, size), out_first) && sv_to_count(sv_sub(word, size + 1, word.size), out_last);
}

static Status refuse(const FixedParameters *fixed, StringView word, const char *why) {
  return diag_error(fixed->diag, STATUS_INVALID, fixed->module->loc, "prepare", "'--prepare': '%.*s' %s", SV_ARG(word),
                    why);
}

static Status name_range(FixedParameters *fixed, StringView word, int64_t first, int64_t last) {
  if (first > last || last >= fixed->leaf_count)
    return refuse(fixed, word,
                  arena_printf(fixed->arena, "names no parameters; the module has %lld", (long long)fixed->leaf_count));
  for (int64_t leaf = first; leaf <= last; leaf++) {
    if (fixed->donated_to[leaf] >= 0)
      return refuse(fixed, word,
                    arena_printf(fixed->arena, "does not stay the same: argument %lld is donated to result %d",
                                 (long long)leaf, fixed->donated_to[leaf]));
    fixed->is_named[leaf] = true;
  }
  return STATUS_OK;
}

static Status name_word(FixedParameters *fixed, StringView word) {
  int64_t first, last;
  for (int64_t leaf = 0; leaf < fixed->leaf_count; leaf++)
    if (sv_equal(fixed->names[leaf], word)) return name_range(fixed, word, leaf, leaf);
  if (range_of(word, &first, &last)) return name_range(fixed, word, first, last);
  if (!sv_equal_cstring(word, "weights")) return refuse(fixed, word, "is no parameter's name or number");
  name_weights(fixed);
  return STATUS_OK;
}

Status fixed_parameters(Arena *arena, const HloModule *module, const StringView *words, int count, DiagSink *diag,
                        const bool **out_is_fixed) {
  FixedParameters fixed = {.arena = arena, .module = module, .diag = diag};
  fixed.order = hlo_computation_post_order(module->entry, arena, &fixed.order_count);
  fixed.names = hlo_parameter_leaf_names(module, arena, &fixed.leaf_count);
  fixed.donated_to = hlo_entry_leaves(arena, module).donated_to;
  fixed.is_named = ARENA_NEW_ARRAY(arena, bool, fixed.leaf_count + 1);
  find_leaves(&fixed);
  for (int i = 0; i < count; i++) RETURN_IF_ERROR(name_word(&fixed, words[i]));
  bool *is_fixed = ARENA_NEW_ARRAY(arena, bool, module->next_instruction_id);
  for (int64_t i = 0; i < fixed.order_count; i++) {
    int64_t leaf = fixed.leaves[fixed.order[i]->id];
    is_fixed[fixed.order[i]->id] = leaf >= 0 && fixed.is_named[leaf];
  }
  *out_is_fixed = is_fixed;
  return STATUS_OK;
}
