#include "hlo/ir/hlo_computation.h"

#include <string.h>

#include "hlo/ir/hlo_ir_internal.h"

/* Slots make the position of an instruction findable after removals: they increase along the list, so a search by
 * halves finds it. */

static void renumber(HloComputation *computation) {
  for (int64_t i = 0; i < computation->instructions.count; i++) computation->instructions.data[i]->slot = (int32_t)i;
  computation->slot_limit = (int32_t)computation->instructions.count;
}

static int64_t position_of(const HloComputation *computation, const HloInstruction *instruction) {
  int64_t low = 0, high = computation->instructions.count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (computation->instructions.data[middle]->slot < instruction->slot) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  XLAC_CHECK(low < computation->instructions.count && computation->instructions.data[low] == instruction);
  return low;
}

static HloInstruction *append(HloComputation *computation, HloInstruction *instruction) {
  XLAC_CHECK(computation->slot_limit < INT32_MAX);
  instruction->slot = computation->slot_limit++;
  array_push(&computation->instructions, computation->module->arena, instruction);
  return instruction;
}

HloInstruction *hlo_computation_add(HloComputation *computation, HloOpcode opcode, const Shape *shape,
                                    HloInstruction *const *operands, int operand_count, StringView name) {
  XLAC_CHECK(opcode != HLO_PARAMETER);
  return append(computation, hlo_instruction_create(computation, opcode, shape, operands, operand_count, name));
}

HloInstruction *hlo_computation_add_parameter(HloComputation *computation, int64_t number, const Shape *shape,
                                              StringView name) {
  HloInstruction *parameter = hlo_instruction_create(computation, HLO_PARAMETER, shape, NULL, 0, name);
  hlo_instruction_set_int(parameter, HLO_ATTR_PARAMETER_NUMBER, number);
  HloInstructionArray *list = &computation->parameters;
  array_push(list, computation->module->arena, parameter);
  int64_t at = list->count - 1;
  for (; at > 0 && hlo_instruction_parameter_number(list->data[at - 1]) > number; at--)
    list->data[at] = list->data[at - 1];
  list->data[at] = parameter;
  return append(computation, parameter);
}

HloInstruction *hlo_computation_add_constant(HloComputation *computation, const Literal *literal, StringView name) {
  HloInstruction *constant = hlo_computation_add(computation, HLO_CONSTANT, literal->shape, NULL, 0, name);
  hlo_instruction_set_attr(constant, &(HloAttr){.id = HLO_ATTR_LITERAL, .value.literal = literal});
  return constant;
}

HloInstruction *hlo_computation_parameter(const HloComputation *computation, int64_t number) {
  int64_t low = 0, high = computation->parameters.count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (hlo_instruction_parameter_number(computation->parameters.data[middle]) < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == computation->parameters.count) return NULL;
  HloInstruction *found = computation->parameters.data[low];
  return hlo_instruction_parameter_number(found) == number ? found : NULL;
}

void hlo_computation_set_root(HloComputation *computation, HloInstruction *root) {
  XLAC_CHECK(root->parent == computation);
  computation->root = root;
}

/* --- removal --- */

/* Those that waited for |instruction| wait for what it waited for. */
static void bequeath_control(HloInstruction *instruction) {
  Arena *arena = instruction->parent->module->arena;
  const HloAttr *own = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
  int64_t own_count = own ? own->value.instructions.count : 0;
  while (instruction->successor_count > 0) {
    HloInstruction *successor = instruction->successors[instruction->successor_count - 1];
    HloAttr attr = *hlo_instruction_attr(successor, HLO_ATTR_CONTROL_PREDECESSORS);
    int64_t old_count = attr.value.instructions.count, count = 0;
    HloInstruction **list = ARENA_NEW_ARRAY(arena, HloInstruction *, old_count + own_count);
    for (int64_t i = 0; i < old_count; i++) {
      if (attr.value.instructions.data[i] != instruction) list[count++] = attr.value.instructions.data[i];
    }
    int64_t kept = count;
    for (int64_t i = 0; i < own_count; i++) {
      bool present = false;
      for (int64_t j = 0; j < kept && !present; j++) present = list[j] == own->value.instructions.data[i];
      if (!present) list[count++] = own->value.instructions.data[i];
    }
    attr.value.instructions.data = list;
    attr.value.instructions.count = count;
    if (count > 0) {
      hlo_instruction_set_attr(successor, &attr);
    } else {
      hlo_instruction_remove_attr(successor, HLO_ATTR_CONTROL_PREDECESSORS);
    }
  }
}

static void remove_parameter(HloComputation *computation, const HloInstruction *parameter) {
  HloInstructionArray *list = &computation->parameters;
  int64_t at = 0;
  while (list->data[at] != parameter) at++;
  for (list->count--; at < list->count; at++) {
    list->data[at] = list->data[at + 1];
    hlo_instruction_set_int(list->data[at], HLO_ATTR_PARAMETER_NUMBER, at);
  }
}

/* All but the place in the list. */
static void retire(HloInstruction *instruction) {
  bequeath_control(instruction);
  hlo_instruction_detach(instruction);
  instruction->parent = NULL;
}

/* Closes the gap from the nearer end. */
static void close_gap(HloInstructionArray *list, int64_t at) {
  if (at < list->count / 2) {
    memmove(list->data + 1, list->data, (size_t)at * sizeof(*list->data));
    list->data++;
    list->capacity--;
  } else {
    memmove(list->data + at, list->data + at + 1, (size_t)(list->count - 1 - at) * sizeof(*list->data));
  }
  list->count--;
}

void hlo_computation_remove(HloComputation *computation, HloInstruction *instruction, bool allow_parameter) {
  XLAC_CHECK(instruction->parent == computation && instruction->user_count == 0 && computation->root != instruction);
  int64_t at = position_of(computation, instruction);
  if (instruction->opcode == HLO_PARAMETER) {
    XLAC_CHECK(allow_parameter);
    remove_parameter(computation, instruction);
  }
  retire(instruction);
  close_gap(&computation->instructions, at);
  /* Keeps what is sized by slots in proportion to the list, at constant cost per removal. */
  if (computation->slot_limit > 2 * computation->instructions.count + 64) renumber(computation);
}

/* |effects|: by computation id, or NULL where it is not known. */
static bool has_effect(const HloInstruction *instruction, const bool *effects) {
  if (effects == NULL) return hlo_instruction_has_side_effect(instruction);
  return hlo_instruction_has_effect(instruction, effects);
}

/* Marks by slot what the root, parameters and side effects need. */
static void mark_live(const HloComputation *computation, const bool *effects, bool *live, HloInstruction **stack) {
  int64_t depth = 0;
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    HloInstruction *instruction = computation->instructions.data[i];
    bool wanted =
        instruction == computation->root || instruction->opcode == HLO_PARAMETER || has_effect(instruction, effects);
    if (!wanted || live[instruction->slot]) continue;
    live[instruction->slot] = true;
    stack[depth++] = instruction;
    while (depth > 0) {
      const HloInstruction *user = stack[--depth];
      for (int32_t j = 0; j < user->operand_count; j++) {
        HloInstruction *operand = user->operands[j];
        if (live[operand->slot]) continue;
        live[operand->slot] = true;
        stack[depth++] = operand;
      }
    }
  }
}

static int64_t remove_dead(HloComputation *computation, const bool *effects) {
  enum { FEW = 64 }; /* most computations are regions of some instructions */
  bool few_live[FEW] = {false}, *live = few_live;
  HloInstruction *few_stack[FEW], **stack = few_stack;
  HloInstructionArray *list = &computation->instructions;
  Arena *scratch = NULL;
  if (computation->slot_limit > FEW || list->count > FEW) {
    scratch = arena_create();
    live = ARENA_NEW_ARRAY(scratch, bool, computation->slot_limit);
    stack = ARENA_NEW_ARRAY(scratch, HloInstruction *, list->count);
  }
  mark_live(computation, effects, live, stack);
  int64_t kept = 0, before = list->count;
  for (int64_t i = 0; i < before; i++) {
    if (!live[list->data[i]->slot]) bequeath_control(list->data[i]);
  }
  for (int64_t i = 0; i < before; i++) {
    HloInstruction *instruction = list->data[i];
    if (live[instruction->slot]) {
      list->data[kept++] = instruction;
    } else {
      hlo_instruction_detach(instruction);
      instruction->parent = NULL;
    }
  }
  list->count = kept;
  if (kept < before) renumber(computation);
  if (scratch != NULL) arena_destroy(scratch);
  return before - kept;
}

HloInstruction **hlo_computation_list(const HloComputation *computation, Arena *arena, int64_t *out_count) {
  *out_count = computation->instructions.count;
  return ARENA_COPY_ARRAY(arena, HloInstruction *, computation->instructions.data, *out_count);
}

int64_t hlo_computation_remove_dead(HloComputation *computation) {
  return remove_dead(computation, NULL);
}

int64_t hlo_module_remove_dead(HloModule *module) {
  Arena *scratch = arena_create();
  bool *effects = ARENA_NEW_ARRAY(scratch, bool, module->next_computation_id + 1);
  int64_t count, removed = 0;
  HloComputation **order = hlo_module_post_order(module, scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    const HloInstructionArray *list = &order[i]->instructions;
    bool *found = &effects[order[i]->id];
    for (int64_t k = 0; k < list->count && !*found; k++) *found = hlo_instruction_has_effect(list->data[k], effects);
  }
  for (int64_t i = 0; i < module->computations.count; i++)
    removed += remove_dead(module->computations.data[i], effects);
  arena_destroy(scratch);
  return removed;
}

void hlo_computation_replace_instruction(HloComputation *computation, HloInstruction *old,
                                         HloInstruction *replacement) {
  hlo_instruction_replace_all_uses(old, replacement);
  if (old->opcode != HLO_PARAMETER) hlo_computation_remove(computation, old, false);
}

void hlo_computation_set_order(HloComputation *computation, HloInstruction *const *order, int64_t count) {
  HloInstructionArray *list = &computation->instructions;
  XLAC_CHECK(count == list->count);
  /* |order| may be the list itself. */
  memmove(list->data, order, (size_t)count * sizeof(*list->data));
  for (int64_t i = 0; i < count; i++) XLAC_CHECK(list->data[i]->parent == computation);
  renumber(computation);
}
