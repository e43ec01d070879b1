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

/* One operand of an instruction. */
struct HloUse {
  int32_t user;     /* the operand's users[user] is this instruction */
  int32_t next_use; /* the next position of the same operand, -1 after the last */
};

static int32_t append_user(HloInstruction *operand, HloInstruction *user) {
  if (operand->user_count == operand->user_capacity) {
    int32_t capacity = operand->user_capacity;
    operand->users = (HloInstruction **)grow(arena_of(operand), operand->users, sizeof(*operand->users),
                                             operand->user_count, &capacity);
    operand->first_uses = (int32_t *)grow(arena_of(operand), operand->first_uses, sizeof(int32_t), operand->user_count,
                                          &operand->user_capacity);
  }
  operand->users[operand->user_count] = user;
  operand->first_uses[operand->user_count] = -1;
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
    if (i != skip && user->operands[i] == operand) return user->uses[i].user;
  }
  return -1;
}

/* Takes the entry |number| out of |operand|'s users; the last one moves there. */
static void remove_user(HloInstruction *operand, int32_t number) {
  int32_t last = --operand->user_count;
  if (number == last) return;
  HloInstruction *moved = operand->users[last];
  operand->users[number] = moved;
  operand->first_uses[number] = operand->first_uses[last];
  for (int32_t i = operand->first_uses[number]; i >= 0; i = moved->uses[i].next_use) moved->uses[i].user = number;
}

/* The link that holds the first position from |index| on at which |user| reads users[number]'s owner |operand|. */
static int32_t *use_link(HloInstruction *operand, int32_t number, HloInstruction *user, int32_t index) {
  int32_t *link = &operand->first_uses[number];
  while (*link >= 0 && *link < index) link = &user->uses[*link].next_use;
  return link;
}

static void enter_use(HloInstruction *user, int32_t index) {
  HloInstruction *operand = user->operands[index];
  int32_t number = find_user(operand, user, index);
  if (number < 0) number = append_user(operand, user);
  int32_t *link = use_link(operand, number, user, index);
  user->uses[index] = (struct HloUse){number, *link};
  *link = index;
}

/* Enters all operands of a new instruction, which is each operand's latest user then. */
static void enter_uses(HloInstruction *user) {
  for (int32_t i = 0; i < user->operand_count; i++) {
    HloInstruction *operand = user->operands[i];
    int32_t last = operand->user_count - 1;
    bool again = last >= 0 && operand->users[last] == user;
    user->uses[i].user = again ? last : append_user(operand, user);
  }
  for (int32_t i = user->operand_count - 1; i >= 0; i--) {
    int32_t *first = &user->operands[i]->first_uses[user->uses[i].user];
    user->uses[i].next_use = *first;
    *first = i;
  }
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
  if (operand_count == 0) return instruction;
  instruction->operands = ARENA_COPY_ARRAY(arena, HloInstruction *, operands, operand_count);
  instruction->uses = ARENA_NEW_ARRAY(arena, struct HloUse, operand_count);
  for (int32_t i = 0; i < operand_count; i++) XLAC_CHECK(operands[i]->parent == computation);
  enter_uses(instruction);
  return instruction;
}

void hlo_instruction_replace_operand(HloInstruction *instruction, int index, HloInstruction *operand) {
  XLAC_CHECK(index >= 0 && index < instruction->operand_count);
  XLAC_CHECK(operand->parent == instruction->parent);
  HloInstruction *old = instruction->operands[index];
  if (old == operand) return;
  int32_t number = instruction->uses[index].user;
  *use_link(old, number, instruction, index) = instruction->uses[index].next_use;
  instruction->operands[index] = operand;
  if (old->first_uses[number] < 0) remove_user(old, number);
  enter_use(instruction, index);
}

/* old->users[number] reads |replacement| instead; |old|'s users are the caller's business. */
static void retarget(const HloInstruction *old, int32_t number, HloInstruction *replacement) {
  HloInstruction *user = old->users[number];
  int32_t replaced = find_user(replacement, user, -1);
  if (replaced < 0) replaced = append_user(replacement, user);
  /* Both chains are in order and become one. */
  int32_t *link = &replacement->first_uses[replaced];
  for (int32_t i = old->first_uses[number], next; i >= 0; i = next) {
    next = user->uses[i].next_use;
    while (*link >= 0 && *link < i) link = &user->uses[*link].next_use;
    user->operands[i] = replacement;
    user->uses[i] = (struct HloUse){replaced, *link};
    *link = i;
    link = &user->uses[i].next_use;
  }
}

void hlo_instruction_replace_use(HloInstruction *old, HloInstruction *user, HloInstruction *replacement) {
  int32_t number = find_user(old, user, -1);
  if (old == replacement || number < 0) return;
  XLAC_CHECK(old->parent == replacement->parent);
  retarget(old, number, replacement);
  remove_user(old, number);
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
  int32_t first_use = -1; /* of |old| in |replacement| */
  old->user_count = 0;
  for (int32_t i = 0; i < count; i++) {
    if (old->users[i] == replacement) {
      first_use = old->first_uses[i];
    } else {
      retarget(old, i, replacement);
    }
  }
  if (first_use >= 0) {
    old->users[0] = replacement;
    old->first_uses[0] = first_use;
    old->user_count = 1;
    for (int32_t i = first_use; i >= 0; i = replacement->uses[i].next_use) replacement->uses[i].user = 0;
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
    int32_t number = instruction->uses[i].user;
    /* An operand that stands twice has lost this user the first time. */
    if (number < operand->user_count && operand->users[number] == instruction) remove_user(operand, number);
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

const Window *hlo_instruction_window(const HloInstruction *instruction) {
  const HloAttr *attr = find_attr(instruction, HLO_ATTR_WINDOW);
  return attr ? attr->value.window : NULL;
}

const ConvolutionDimensionNumbers *hlo_instruction_dim_labels(const HloInstruction *instruction) {
  const HloAttr *attr = find_attr(instruction, HLO_ATTR_DIM_LABELS);
  return attr ? attr->value.dim_labels : NULL;
}

const PaddingConfig *hlo_instruction_padding(const HloInstruction *instruction) {
  const HloAttr *attr = find_attr(instruction, HLO_ATTR_PADDING);
  return attr ? attr->value.padding : NULL;
}

const SliceRanges *hlo_instruction_slice(const HloInstruction *instruction) {
  const HloAttr *attr = find_attr(instruction, HLO_ATTR_SLICE);
  return attr ? attr->value.slice : NULL;
}

static int32_t named_computations(const HloAttr *attr) {
  switch (hlo_attr_info(attr->id)->kind) {
    case HLO_ATTR_KIND_COMPUTATION: return 1;
    case HLO_ATTR_KIND_COMPUTATION_LIST: return (int32_t)attr->value.computations.count;
    default: return 0;
  }
}

/* What is kept beside the attributes, before |attr| goes. */
static void forget_attr(HloInstruction *instruction, const HloAttr *attr) {
  instruction->called_count -= named_computations(attr);
  if (attr->id != HLO_ATTR_CONTROL_PREDECESSORS) return;
  leave_control(instruction, attr);
  instruction->has_control = false;
}

static void note_attr(HloInstruction *instruction, const HloAttr *attr) {
  instruction->called_count += named_computations(attr);
  if (attr->id != HLO_ATTR_CONTROL_PREDECESSORS) return;
  enter_control(instruction, attr);
  instruction->has_control = true;
}

void hlo_instruction_set_attr(HloInstruction *instruction, const HloAttr *attr) {
  HloAttr copy = *attr; /* |attr| may be one of those that move */
  HloAttr *present = find_attr(instruction, copy.id);
  if (present) forget_attr(instruction, present);
  note_attr(instruction, &copy);
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

void hlo_instruction_set_frontend(HloInstruction *instruction, StringView key, StringView value) {
  const HloAttr *old = find_attr(instruction, HLO_ATTR_FRONTEND_ATTRIBUTES);
  HloAttr attr = old != NULL ? *old : (HloAttr){.id = HLO_ATTR_FRONTEND_ATTRIBUTES};
  int64_t count = attr.value.frontend.count, place = 0;
  const FrontendAttribute *entries = attr.value.frontend.data;
  while (place < count && sv_compare(entries[place].key, key) < 0) place++;
  bool is_there = place < count && sv_equal(entries[place].key, key);
  FrontendAttribute *list = ARENA_NEW_ARRAY(instruction->parent->module->arena, FrontendAttribute, count + 1);
  for (int64_t i = 0; i < count; i++) list[i + (!is_there && i >= place)] = entries[i];
  list[place] = (FrontendAttribute){key, value, false};
  attr.value.frontend.count = count + !is_there;
  attr.value.frontend.data = list;
  hlo_instruction_set_attr(instruction, &attr);
}

void hlo_instruction_remove_attr(HloInstruction *instruction, HloAttrId id) {
  HloAttr *attr = find_attr(instruction, id);
  if (!attr) return;
  forget_attr(instruction, attr);
  int32_t index = (int32_t)(attr - instruction->attrs);
  int32_t rest = --instruction->attr_count - index;
  memmove(attr, attr + 1, (size_t)rest * sizeof(HloAttr));
}

static void remove_frontend(HloInstruction *instruction, const char *key) {
  if (hlo_instruction_frontend(instruction, key) == NULL) return;
  HloAttr attr = *find_attr(instruction, HLO_ATTR_FRONTEND_ATTRIBUTES);
  int64_t count = attr.value.frontend.count, kept = 0;
  FrontendAttribute *list = ARENA_NEW_ARRAY(instruction->parent->module->arena, FrontendAttribute, count);
  for (int64_t i = 0; i < count; i++) {
    if (!sv_equal_cstring(attr.value.frontend.data[i].key, key)) list[kept++] = attr.value.frontend.data[i];
  }
  attr.value.frontend.count = kept;
  attr.value.frontend.data = list;
  if (kept > 0)
    hlo_instruction_set_attr(instruction, &attr);
  else
    hlo_instruction_remove_attr(instruction, HLO_ATTR_FRONTEND_ATTRIBUTES);
}

void hlo_instruction_remove_sharding(HloInstruction *instruction) {
  hlo_instruction_remove_attr(instruction, HLO_ATTR_SHARDING);
  remove_frontend(instruction, "xla.sdy.sharding");
}

void hlo_instruction_inherit_metadata(HloInstruction *to, const HloInstruction *from) {
  static const HloAttrId inherited[] = {HLO_ATTR_SHARDING, HLO_ATTR_FRONTEND_ATTRIBUTES, HLO_ATTR_METADATA};
  for (size_t i = 0; i < sizeof(inherited) / sizeof(inherited[0]); i++) {
    const HloAttr *attr = find_attr(from, inherited[i]);
    if (attr && !find_attr(to, inherited[i])) hlo_instruction_set_attr(to, attr);
  }
  if (to->loc.file == NULL) to->loc = from->loc;
}

const FrontendAttribute *hlo_instruction_frontend(const HloInstruction *instruction, const char *key) {
  const HloAttr *attr = hlo_instruction_attr(instruction, HLO_ATTR_FRONTEND_ATTRIBUTES);
  for (int64_t i = 0; attr != NULL && i < attr->value.frontend.count; i++) {
    if (sv_equal_cstring(attr->value.frontend.data[i].key, key)) return &attr->value.frontend.data[i];
  }
  return NULL;
}

const HloSharding *hlo_instruction_sharding(const HloInstruction *instruction) {
  const HloAttr *attr = hlo_instruction_attr(instruction, HLO_ATTR_SHARDING);
  return attr != NULL ? attr->value.sharding : NULL;
}

const HloMetadata *hlo_instruction_metadata(const HloInstruction *instruction) {
  const HloAttr *attr = find_attr(instruction, HLO_ATTR_METADATA);
  return attr ? attr->value.metadata : NULL;
}

/* --- called computations --- */

/* The place of the |index|th called computation, NULL beyond the last. */
static HloComputation **find_called(const HloInstruction *instruction, int index) {
  const HloOpcodeInfo *info = hlo_opcode_info(instruction->opcode);
  if (index < 0 || index >= instruction->called_count) return NULL;
  for (int i = 0; i < info->attr_count; i++) {
    HloAttrKind kind = hlo_attr_info(info->attrs[i].id)->kind;
    if (kind != HLO_ATTR_KIND_COMPUTATION && kind != HLO_ATTR_KIND_COMPUTATION_LIST) continue;
    HloAttr *attr = find_attr(instruction, info->attrs[i].id);
    if (!attr) continue;
    int32_t count = named_computations(attr);
    if (index >= count) {
      index -= count;
      continue;
    }
    return kind == HLO_ATTR_KIND_COMPUTATION ? &attr->value.computation : &attr->value.computations.data[index];
  }
  return NULL;
}

int hlo_instruction_called_count(const HloInstruction *instruction) {
  return instruction->called_count;
}

HloComputation *hlo_instruction_called(const HloInstruction *instruction, int index) {
  HloComputation **place = find_called(instruction, index);
  XLAC_CHECK(place != NULL);
  return *place;
}

void hlo_instruction_set_called(HloInstruction *instruction, int index, HloComputation *computation) {
  HloComputation **place = find_called(instruction, index);
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

HloComputation *hlo_instruction_fused(const HloInstruction *instruction) {
  return instruction->opcode == HLO_FUSION ? hlo_instruction_computation(instruction, HLO_ATTR_CALLS) : NULL;
}

bool hlo_instruction_is_unread(const HloInstruction *instruction) {
  return instruction->user_count == 0 && !hlo_instruction_is_root(instruction);
}

bool hlo_instruction_is_scalar_constant(const HloInstruction *instruction) {
  return instruction->opcode == HLO_CONSTANT && shape_is_scalar(instruction->shape);
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

bool hlo_instruction_has_effect(const HloInstruction *instruction, const bool *effects) {
  if (has_own_side_effect(instruction)) return true;
  for (int i = 0; i < instruction->called_count; i++) {
    if (effects[hlo_instruction_called(instruction, i)->id]) return true;
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

int hlo_instruction_first_use(const HloInstruction *operand, int number) {
  return operand->first_uses[number];
}

int hlo_instruction_next_use(const HloInstruction *user, int position) {
  return user->uses[position].next_use;
}
