#include "passes/control/tuple_edit.h"

#include "hlo/analysis/trip_count.h"

TupleEdit tuple_edit_make(ShapeTable *shapes, const Shape *shape, const bool *kept, HloInstruction *const *added,
                          int added_count, Arena *scratch) {
  TupleEdit edit = {.places = ARENA_NEW_ARRAY(scratch, int, shape->tuple_size + 1), .added = added_count};
  const Shape **elements = ARENA_NEW_ARRAY(scratch, const Shape *, shape->tuple_size + added_count + 1);
  for (int i = 0; i < shape->tuple_size; i++) {
    edit.places[i] = kept[i] ? edit.kept : -1;
    if (kept[i]) elements[edit.kept++] = shape->tuple[i];
  }
  for (int i = 0; i < added_count; i++) elements[edit.kept + i] = added[i]->shape;
  edit.shape = shape_tuple(shapes, elements, edit.kept + added_count);
  return edit;
}

HloInstruction *tuple_element(HloInstruction *tuple, int index) {
  HloInstruction *element =
      hlo_computation_add(tuple->parent, HLO_GET_TUPLE_ELEMENT, tuple->shape->tuple[index], &tuple, 1, (StringView){0});
  hlo_instruction_set_int(element, HLO_ATTR_INDEX, index);
  return element;
}

bool tuple_element_is_read(const HloInstruction *tuple, int index) {
  for (int i = 0; i < tuple->user_count; i++) {
    if (trip_count_element(tuple->users[i], tuple) == index && !hlo_instruction_is_unread(tuple->users[i])) return true;
  }
  return false;
}

int tuple_elements_read(const HloInstruction *tuple, bool *read) {
  int count = 0;
  for (int i = 0; i < tuple->user_count; i++) {
    int64_t index = hlo_instruction_is_unread(tuple->users[i]) ? -1 : trip_count_element(tuple->users[i], tuple);
    if (index < 0 || read[index]) continue;
    read[index] = true;
    count++;
  }
  return count;
}

bool tuple_is_read_whole(const HloInstruction *tuple) {
  if (hlo_instruction_is_root(tuple)) return true;
  for (int i = 0; i < tuple->user_count; i++) {
    if (tuple->users[i]->opcode != HLO_GET_TUPLE_ELEMENT) return true;
  }
  return false;
}

bool tuple_redirect_element(HloInstruction *tuple, int index, HloInstruction *value) {
  bool redirected = false;
  for (int i = 0; i < tuple->user_count; i++) {
    HloInstruction *user = tuple->users[i];
    if (trip_count_element(user, tuple) != index || hlo_instruction_is_unread(user) || user == value) continue;
    hlo_instruction_replace_all_uses(user, value);
    redirected = true;
  }
  return redirected;
}

void tuple_edit_attributes(HloInstruction *instruction) {
  hlo_instruction_remove_sharding(instruction);
  hlo_instruction_remove_attr(instruction, HLO_ATTR_ORIGIN);
  hlo_instruction_remove_attr(instruction, HLO_ATTR_PARAMETER_REPLICATION);
}

HloInstruction *tuple_edit_operands(const TupleEdit *edit, const HloInstruction *old, HloInstruction *const *added,
                                    Arena *scratch) {
  HloInstruction **elements = ARENA_NEW_ARRAY(scratch, HloInstruction *, edit->kept + edit->added + 1);
  for (int i = 0; i < old->operand_count; i++) {
    if (edit->places[i] >= 0) elements[edit->places[i]] = old->operands[i];
  }
  for (int i = 0; i < edit->added; i++) elements[edit->kept + i] = added[i];
  HloInstruction *tuple =
      hlo_computation_add(old->parent, HLO_TUPLE, edit->shape, elements, edit->kept + edit->added, (StringView){0});
  hlo_instruction_inherit_metadata(tuple, old);
  tuple_edit_attributes(tuple);
  return tuple;
}

void tuple_edit_readers(const TupleEdit *edit, HloInstruction *from, HloInstruction *to, Arena *scratch) {
  int count = from->user_count;
  HloInstruction **users = ARENA_COPY_ARRAY(scratch, HloInstruction *, from->users, count);
  for (int i = 0; i < count; i++) {
    if (users[i]->opcode != HLO_GET_TUPLE_ELEMENT) continue;
    int place = edit->places[hlo_instruction_int(users[i], HLO_ATTR_INDEX, 0)];
    if (place < 0) continue;
    if (to != from) hlo_instruction_replace_operand(users[i], 0, to);
    hlo_instruction_set_int(users[i], HLO_ATTR_INDEX, place);
  }
}

void tuple_edit_parameter(const TupleEdit *edit, HloInstruction *parameter, Arena *scratch) {
  hlo_instruction_set_shape(parameter, edit->shape);
  tuple_edit_attributes(parameter);
  tuple_edit_readers(edit, parameter, parameter, scratch);
}

void tuple_edit_retire(HloInstruction *old, Arena *scratch) {
  int count = old->user_count;
  HloInstruction **users = ARENA_COPY_ARRAY(scratch, HloInstruction *, old->users, count);
  for (int i = 0; i < count; i++) {
    if (hlo_instruction_is_unread(users[i])) hlo_computation_remove(old->parent, users[i], false);
  }
  if (hlo_instruction_is_unread(old)) hlo_computation_remove(old->parent, old, false);
}
