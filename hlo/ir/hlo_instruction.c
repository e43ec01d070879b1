#include "hlo/ir/hlo_instruction.h"

#include <string.h>

#include "hlo/ir/hlo_ir_internal.h"

static Arena *arena_of(const HloInstruction *instruction) {
  XLAC_CHECK(instruction->parent != NULL);
  return instruction->parent->module->arena;
}

/* A copy of |data| twice as large.  Plain arrays rather than ARRAY, starting small: there are very many and most stay
 * short. */
static void *grow(Arena *arena, const void *data, size_t size, int32_t count, int32_t *capacity) {
  enum { SMALLEST = 2 };
  XLAC_CHECK(*capacity <= INT32_MAX / 2);
  *capacity = *capacity < SMALLEST ? SMALLEST : *capacity * 2;
  void *grown = arena_alloc_array(arena, (size_t)*capacity, size);
  if (count > 0) memcpy(grown, data, (size_t)count * size);
  return grown;
}

/* --- operands and users --- */

static int32_t append_user(HloInstruction *operand, HloInstruction *user) {
  if (operand->user_count == operand->user_capacity) {
    operand->users = (HloInstruction **)grow(arena_of(operand), operand->users, sizeof(*operand->users),
                                             operand->user_count, &operand->user_capacity);
  }
  operand->users[operand->user_count] = user;
  return operand->user_count++;
}

/* Where |user| stands in |operand|'s users, -1 when it does not.  Searches the shorter of the two lists; |skip| is an
 * operand position not to be trusted. */
static int32_t find_user(const HloInstruction *operand, const HloInstruction *user, int32_t skip) {
  int32_t last = operand->user_count - 1;
  if (last < 0) return -1;
  if (operand->users[last] == user) return last;
  if (operand->user_count < user->operand_count) {
    for (int32_t i = 0; i < last; i++) {
      if (operand->users[i] == user) return i;
    }
    return -1;
  }
  for (int32_t i = 0; i < user->operand_count; i++) {
    if (i != skip && user->operands[i] == operand) return user->user_slots[i];
  }
  return -1;
}

/* Takes the entry |slot| out of |operand|'s users; the last one moves there. */
static void remove_user(HloInstruction *operand, int32_t slot) {
  int32_t last = --operand->user_count;
  if (slot == last) return;
  HloInstruction *moved = operand->users[last];
  operand->users[slot] = moved;
  for (int32_t i = 0; i < moved->operand_count; i++) {
    if (moved->operands[i] == operand) moved->user_slots[i] = slot;
  }
}

static void enter_use(HloInstruction *user, int32_t index) {
  HloInstruction *operand = user->operands[index];
  int32_t slot = find_user(operand, user, index);
  user->user_slots[index] = slot >= 0 ? slot : append_user(operand, user);
}

HloInstruction *hlo_instruction_create(HloComputation *computation, HloOpcode opcode, const Shape *shape,
                                       HloInstruction *const *operands, int operand_count, StringView name) {
  HloModule *module = computation->module;
  Arena *arena = module->arena;
  HloInstruction *instruction = ARENA_NEW(arena, HloInstruction);
  instruction->opcode = opcode;
  instruction->id = module->next_instruction_id++;
  if (name.size == 0) name = sv_from_cstring(hlo_opcode_text(opcode));
  instruction->name = hlo_unique_name(&module->instruction_names, arena, name);
  instruction->shape = shape;
  instruction->parent = computation;
  instruction->operand_count = operand_count;
  instruction->operand_capacity = operand_count;
  if (operand_count == 0) return instruction;
  instruction->operands = ARENA_NEW_ARRAY(arena, HloInstruction *, operand_count);
  instruction->user_slots = ARENA_NEW_ARRAY(arena, int32_t, operand_count);
  for (int32_t i = 0; i < operand_count; i++) {
    HloInstruction *operand = operands[i];
    XLAC_CHECK(operand->parent == computation);
    instruction->operands[i] = operand;
    /* A new instruction that already uses the operand is its latest user. */
    int32_t last = operand->user_count - 1;
    bool again = last >= 0 && operand->users[last] == instruction;
    instruction->user_slots[i] = again ? last : append_user(operand, instruction);
  }
  return instruction;
}

void hlo_instruction_replace_operand(HloInstruction *instruction, int index, HloInstruction *operand) {
  XLAC_CHECK(index >= 0 && index < instruction->operand_count);
  XLAC_CHECK(operand->parent == instruction->parent);
  HloInstruction *old = instruction->operands[index];
  if (old == operand) return;
  bool still_used = false;
  for (int32_t i = 0; i < instruction->operand_count && !still_used; i++) {
    still_used = i != index && instruction->operands[i] == old;
  }
  int32_t slot = instruction->user_slots[index];
  instruction->operands[index] = operand;
  if (!still_used) remove_user(old, slot);
  enter_use(instruction, index);
}

void hlo_instruction_append_operand(HloInstruction *instruction, HloInstruction *operand) {
  XLAC_CHECK(operand->parent == instruction->parent);
  if (instruction->operand_count == instruction->operand_capacity) {
    Arena *arena = arena_of(instruction);
    int32_t slot_capacity = instruction->operand_capacity;
    instruction->user_slots =
        (int32_t *)grow(arena, instruction->user_slots, sizeof(int32_t), instruction->operand_count, &slot_capacity);
    instruction->operands = (HloInstruction **)grow(arena, instruction->operands, sizeof(*instruction->operands),
                                                    instruction->operand_count, &instruction->operand_capacity);
  }
  instruction->operands[instruction->operand_count++] = operand;
  enter_use(instruction, instruction->operand_count - 1);
}

/* |user|, which reads |old|, reads |replacement| instead; |old|'s users are the caller's business. */
static void retarget(HloInstruction *user, const HloInstruction *old, HloInstruction *replacement) {
  int32_t slot = find_user(replacement, user, -1);
  if (slot < 0) slot = append_user(replacement, user);
  for (int32_t i = 0; i < user->operand_count; i++) {
    if (user->operands[i] != old) continue;
    user->operands[i] = replacement;
    user->user_slots[i] = slot;
  }
}

static void retarget_successor(HloInstruction *successor, const HloInstruction *old, HloInstruction *replacement) {
  const HloAttr *attr = hlo_instruction_attr(successor, HLO_ATTR_CONTROL_PREDECESSORS);
  HloAttr changed = *attr;
  int64_t count = 0;
  HloInstruction **list = ARENA_NEW_ARRAY(arena_of(successor), HloInstruction *, attr->value.instructions.count);
  bool present = false;
  for (int64_t i = 0; i < attr->value.instructions.count; i++) {
    HloInstruction *predecessor = attr->value.instructions.data[i];
    if (predecessor == old) predecessor = replacement;
    if (predecessor == replacement && present) continue;
    present = present || predecessor == replacement;
    list[count++] = predecessor;
  }
  changed.value.instructions.data = list;
  changed.value.instructions.count = count;
  hlo_instruction_set_attr(successor, &changed);
}

void hlo_instruction_replace_all_uses(HloInstruction *old, HloInstruction *replacement) {
  if (old == replacement) return;
  XLAC_CHECK(old->parent != NULL && old->parent == replacement->parent);
  int32_t count = old->user_count;
  bool used_by_replacement = false;
  old->user_count = 0;
  for (int32_t i = 0; i < count; i++) {
    HloInstruction *user = old->users[i];
    if (user == replacement) {
      used_by_replacement = true;
    } else {
      retarget(user, old, replacement);
    }
  }
  if (used_by_replacement) {
    old->users[old->user_count++] = replacement;
    for (int32_t i = 0; i < replacement->operand_count; i++) {
      if (replacement->operands[i] == old) replacement->user_slots[i] = 0;
    }
  }
  int32_t successor_count = old->successor_count;
  if (successor_count > 0) {
    HloInstruction **successors = ARENA_COPY_ARRAY(arena_of(old), HloInstruction *, old->successors, successor_count);
    for (int32_t i = 0; i < successor_count; i++) {
      if (successors[i] != replacement) retarget_successor(successors[i], old, replacement);
    }
  }
  if (old->parent->root == old) old->parent->root = replacement;
}

/* --- control predecessors --- */

static void enter_successor(HloInstruction *predecessor, HloInstruction *successor) {
  if (predecessor->successor_count == predecessor->successor_capacity) {
    predecessor->successors =
        (HloInstruction **)grow(arena_of(predecessor), predecessor->successors, sizeof(*predecessor->successors),
                                predecessor->successor_count, &predecessor->successor_capacity);
  }
  predecessor->successors[predecessor->successor_count++] = successor;
}

/* From the end, where recent entries are. */
static int32_t find_successor(const HloInstruction *predecessor, const HloInstruction *successor) {
  int32_t i = predecessor->successor_count - 1;
  while (i >= 0 && predecessor->successors[i] != successor) i--;
  return i;
}

static void enter_control(HloInstruction *instruction, const HloAttr *attr) {
  for (int64_t i = 0; i < attr->value.instructions.count; i++) {
    HloInstruction *predecessor = attr->value.instructions.data[i];
    int32_t last = predecessor->successor_count - 1;
    /* A name twice in one list: the latest successor is this one already. */
    if (last >= 0 && predecessor->successors[last] == instruction) continue;
    enter_successor(predecessor, instruction);
  }
}

static void leave_control(HloInstruction *instruction, const HloAttr *attr) {
  for (int64_t i = 0; i < attr->value.instructions.count; i++) {
    HloInstruction *predecessor = attr->value.instructions.data[i];
    int32_t at = find_successor(predecessor, instruction);
    if (at < 0) continue;
    int32_t rest = --predecessor->successor_count - at;
    memmove(predecessor->successors + at, predecessor->successors + at + 1, (size_t)rest * sizeof(HloInstruction *));
  }
}

void hlo_instruction_detach(HloInstruction *instruction) {
  for (int32_t i = 0; i < instruction->operand_count; i++) {
    HloInstruction *operand = instruction->operands[i];
    int32_t slot = instruction->user_slots[i];
    /* An operand that stands twice has lost this user the first time. */
    if (slot < operand->user_count && operand->users[slot] == instruction) remove_user(operand, slot);
  }
  const HloAttr *control = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
  if (control) leave_control(instruction, control);
}

/* --- attributes --- */

static HloAttr *find_attr(const HloInstruction *instruction, HloAttrId id) {
  for (int32_t i = 0; i < instruction->attr_count; i++) {
    if (instruction->attrs[i].id == id) return &instruction->attrs[i];
  }
  return NULL;
}

const HloAttr *hlo_instruction_attr(const HloInstruction *instruction, HloAttrId id) {
  return find_attr(instruction, id);
}

int64_t hlo_instruction_int(const HloInstruction *instruction, HloAttrId id, int64_t fallback) {
  const HloAttr *attr = find_attr(instruction, id);
  return attr ? attr->value.integer : fallback;
}

bool hlo_instruction_bool(const HloInstruction *instruction, HloAttrId id, bool fallback) {
  const HloAttr *attr = find_attr(instruction, id);
  return attr ? attr->value.boolean : fallback;
}

Int64List hlo_instruction_ints(const HloInstruction *instruction, HloAttrId id) {
  const HloAttr *attr = find_attr(instruction, id);
  return attr ? attr->value.ints : (Int64List){0, NULL};
}

HloComputation *hlo_instruction_computation(const HloInstruction *instruction, HloAttrId id) {
  const HloAttr *attr = find_attr(instruction, id);
  return attr ? attr->value.computation : NULL;
}

void hlo_instruction_set_attr(HloInstruction *instruction, const HloAttr *attr) {
  HloAttr copy = *attr; /* |attr| may be one of those that move */
  HloAttr *present = find_attr(instruction, copy.id);
  if (copy.id == HLO_ATTR_CONTROL_PREDECESSORS) {
    if (present) leave_control(instruction, present);
    enter_control(instruction, &copy);
  }
  if (present) {
    *present = copy;
    return;
  }
  if (instruction->attr_count == instruction->attr_capacity) {
    instruction->attrs = (HloAttr *)grow(arena_of(instruction), instruction->attrs, sizeof(HloAttr),
                                         instruction->attr_count, &instruction->attr_capacity);
  }
  instruction->attrs[instruction->attr_count++] = copy;
}

void hlo_instruction_set_int(HloInstruction *instruction, HloAttrId id, int64_t value) {
  hlo_instruction_set_attr(instruction, &(HloAttr){.id = id, .value.integer = value});
}

void hlo_instruction_set_bool(HloInstruction *instruction, HloAttrId id, bool value) {
  hlo_instruction_set_attr(instruction, &(HloAttr){.id = id, .value.boolean = value});
}

void hlo_instruction_set_ints(HloInstruction *instruction, HloAttrId id, const int64_t *values, int64_t count) {
  const int64_t *copy = count > 0 ? ARENA_COPY_ARRAY(arena_of(instruction), int64_t, values, count) : NULL;
  hlo_instruction_set_attr(instruction, &(HloAttr){.id = id, .value.ints = {count, copy}});
}

void hlo_instruction_set_computation(HloInstruction *instruction, HloAttrId id, HloComputation *computation) {
  hlo_instruction_set_attr(instruction, &(HloAttr){.id = id, .value.computation = computation});
}

void hlo_instruction_remove_attr(HloInstruction *instruction, HloAttrId id) {
  HloAttr *attr = find_attr(instruction, id);
  if (!attr) return;
  if (id == HLO_ATTR_CONTROL_PREDECESSORS) leave_control(instruction, attr);
  int32_t index = (int32_t)(attr - instruction->attrs);
  int32_t rest = --instruction->attr_count - index;
  memmove(attr, attr + 1, (size_t)rest * sizeof(HloAttr));
}

void hlo_instruction_inherit_metadata(HloInstruction *to, const HloInstruction *from) {
  static const HloAttrId inherited[] = {HLO_ATTR_SHARDING, HLO_ATTR_FRONTEND_ATTRIBUTES, HLO_ATTR_METADATA};
  for (size_t i = 0; i < sizeof(inherited) / sizeof(inherited[0]); i++) {
    const HloAttr *attr = find_attr(from, inherited[i]);
    if (attr && !find_attr(to, inherited[i])) hlo_instruction_set_attr(to, attr);
  }
  if (to->loc.file == NULL) to->loc = from->loc;
}

const HloMetadata *hlo_instruction_metadata(const HloInstruction *instruction) {
  const HloAttr *attr = find_attr(instruction, HLO_ATTR_METADATA);
  return attr ? attr->value.metadata : NULL;
}

/* --- called computations --- */

/* The place of the |index|th called computation, NULL beyond the last; |out_count|, if given, their number. */
static HloComputation **find_called(const HloInstruction *instruction, int index, int *out_count) {
  int count = 0;
  HloComputation **found = NULL;
  const HloOpcodeInfo *info = hlo_opcode_info(instruction->opcode);
  for (int i = 0; instruction->attr_count > 0 && i < info->attr_count; i++) {
    HloAttrKind kind = hlo_attr_info(info->attrs[i].id)->kind;
    if (kind != HLO_ATTR_KIND_COMPUTATION && kind != HLO_ATTR_KIND_COMPUTATION_LIST) continue;
    HloAttr *attr = find_attr(instruction, info->attrs[i].id);
    if (!attr) continue;
    if (kind == HLO_ATTR_KIND_COMPUTATION) {
      if (count == index) found = &attr->value.computation;
      count++;
      continue;
    }
    if (index >= count && index < count + attr->value.computations.count) {
      found = &attr->value.computations.data[index - count];
    }
    count += (int)attr->value.computations.count;
  }
  if (out_count) *out_count = count;
  return found;
}

int hlo_instruction_called_count(const HloInstruction *instruction) {
  int count;
  find_called(instruction, -1, &count);
  return count;
}

HloComputation *hlo_instruction_called(const HloInstruction *instruction, int index) {
  HloComputation **place = find_called(instruction, index, NULL);
  XLAC_CHECK(place != NULL);
  return *place;
}

void hlo_instruction_set_called(HloInstruction *instruction, int index, HloComputation *computation) {
  HloComputation **place = find_called(instruction, index, NULL);
  XLAC_CHECK(place != NULL);
  for (int32_t i = 0; i < instruction->attr_count; i++) {
    HloAttr *attr = &instruction->attrs[i];
    if (hlo_attr_info(attr->id)->kind != HLO_ATTR_KIND_COMPUTATION_LIST) continue;
    int64_t count = attr->value.computations.count;
    HloComputation **data = attr->value.computations.data;
    if (place < data || place >= data + count) continue;
    /* A clone may share the list. */
    attr->value.computations.data = ARENA_COPY_ARRAY(arena_of(instruction), HloComputation *, data, count);
    place = attr->value.computations.data + (place - data);
    break;
  }
  *place = computation;
}

/* --- convenience --- */

int64_t hlo_instruction_parameter_number(const HloInstruction *instruction) {
  return hlo_instruction_int(instruction, HLO_ATTR_PARAMETER_NUMBER, -1);
}

const Literal *hlo_instruction_literal(const HloInstruction *instruction) {
  const HloAttr *attr = find_attr(instruction, HLO_ATTR_LITERAL);
  return attr ? attr->value.literal : NULL;
}

bool hlo_instruction_is_root(const HloInstruction *instruction) {
  return instruction->parent && instruction->parent->root == instruction;
}

void hlo_instruction_set_shape(HloInstruction *instruction, const Shape *shape) {
  instruction->shape = shape;
}

/* By the opcode and its attributes alone. */
static bool has_own_side_effect(const HloInstruction *instruction) {
  if (instruction->opcode == HLO_CUSTOM_CALL) {
    return hlo_instruction_bool(instruction, HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, false);
  }
  if (hlo_opcode_has(instruction->opcode, OP_SIDE_EFFECT)) return true;
  /* Partners on other devices wait for it. */
  return hlo_opcode_has(instruction->opcode, OP_COLLECTIVE) &&
         (find_attr(instruction, HLO_ATTR_CHANNEL_ID) ||
          hlo_instruction_bool(instruction, HLO_ATTR_CONSTRAIN_LAYOUT, false));
}

/* Of |computation| alone; |out_calls|: whether it calls others in turn. */
static bool computation_has_side_effect(const HloComputation *computation, bool *out_calls) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    if (has_own_side_effect(instruction)) return true;
    *out_calls |= hlo_instruction_called_count(instruction) > 0;
  }
  return false;
}

bool hlo_instruction_has_side_effect(const HloInstruction *instruction) {
  if (has_own_side_effect(instruction)) return true;
  int called = hlo_instruction_called_count(instruction);
  bool calls = false;
  for (int i = 0; i < called; i++) {
    if (computation_has_side_effect(hlo_instruction_called(instruction, i), &calls)) return true;
  }
  if (!calls) return false;
  Arena *arena = arena_create();
  const HloModule *module = hlo_instruction_called(instruction, 0)->module;
  bool *seen = ARENA_NEW_ARRAY(arena, bool, module->next_computation_id);
  HloComputationArray callees = {0};
  for (int i = 0; i < called; i++) {
    hlo_computation_collect_callees(hlo_instruction_called(instruction, i), arena, seen, &callees);
  }
  bool found = false;
  for (int64_t i = 0; i < callees.count && !found; i++) {
    const HloInstructionArray *list = &callees.data[i]->instructions;
    for (int64_t j = 0; j < list->count && !found; j++) found = has_own_side_effect(list->data[j]);
  }
  arena_destroy(arena);
  return found;
}

bool hlo_instruction_uses(const HloInstruction *user, const HloInstruction *operand) {
  return find_user(operand, user, -1) >= 0;
}
