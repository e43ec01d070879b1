#include "passes/memory/rematerialise.h"

#include "base/checked_math.h"
#include "passes/memory/ties.h"

enum { MOST_CLONES = 64, SMALL_SHARE = 16 };

typedef struct Remat {
  const Rematerialisation *asked;
  HloComputation *computation;
  Arena *arena;
  IntMap clones;  /* original → clone, or itself where it is read as it is */
  int64_t needed; /* until this position the operands must be kept: the first late reader */
  int64_t budget;
  StringView number; /* the attribute's value: tells this one from others */
} Remat;

static int64_t time_of(const int64_t *times, const Remat *remat, const HloInstruction *instruction, int64_t later) {
  return instruction->id < remat->asked->times->count ? times[instruction->id] : later;
}

static int64_t first_of(const Remat *remat, const HloInstruction *instruction) {
  return time_of(remat->asked->times->first, remat, instruction, INT64_MAX);
}

static int64_t last_of(const Remat *remat, const HloInstruction *instruction) {
  return time_of(remat->asked->times->last, remat, instruction, INT64_MAX);
}

/* --- what can be computed again --- */

static bool can_repeat(const Remat *remat, const HloInstruction *instruction) {
  const HloOpcodeInfo *info = hlo_opcode_info(instruction->opcode);
  if (hlo_opcode_has(instruction->opcode, OP_STAYS | OP_GIVEN) || !shape_is_array(instruction->shape)) return false;
  if (hlo_instruction_has_side_effect(instruction)) return false;
  if (info->flow != OP_FLOW_MAKES && info->flow != OP_FLOW_VIEW && info->flow != OP_FLOW_COPY) return false;
  if (hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS) != NULL) return false;
  if (info->cost == OP_COST_NONE || instruction->opcode == HLO_SORT) return false;
  if (!hlo_is_fold(instruction)) return true;
  bool is_wanted = remat->asked->is_deep || instruction->opcode == HLO_REDUCE;
  return is_wanted && !hlo_fold_has_ties(instruction, remat->arena);
}

/* It is there when it is needed, or costs little to be. */
static bool is_kept(const Remat *remat, const HloInstruction *operand) {
  const Shape *value = remat->asked->value->shape;
  if (hlo_opcode_has(operand->opcode, OP_GIVEN)) return true;
  if (time_of(remat->asked->times->kept_to, remat, operand, INT64_MAX) >= remat->needed) return true;
  if (!shape_is_array(operand->shape)) return false;
  return shape_byte_size(operand->shape) <= shape_byte_size(value) / SMALL_SHARE && operand->opcode != HLO_BROADCAST;
}

/* Marked so that common subexpressions are not looked for in it. */
static HloInstruction *add_clone(Remat *remat, const HloInstruction *original, HloInstruction *const *operands) {
  HloInstruction *clone =
      hlo_computation_add_clone(remat->computation, original, original->shape, operands, original->operand_count);
  hlo_instruction_set_frontend(clone, SV("_xlac_rematerialised"), remat->number);
  remat->budget--;
  return clone;
}

/* |value| computed again; NULL when it cannot be. */
static HloInstruction *compute_again(Remat *remat, HloInstruction *value) {
  HloInstruction *known = pointer_map_get(&remat->clones, value);
  if (known != NULL) return known;
  bool is_asked = value == remat->asked->value;
  if (!is_asked && is_kept(remat, value)) return value;
  if (!can_repeat(remat, value) || remat->budget <= 0) return is_asked ? NULL : value;
  HloInstruction **operands = ARENA_NEW_ARRAY(remat->arena, HloInstruction *, value->operand_count + 1);
  remat->budget--;
  for (int k = 0; k < value->operand_count; k++) operands[k] = compute_again(remat, value->operands[k]);
  HloInstruction *clone = add_clone(remat, value, operands);
  pointer_map_set(&remat->clones, value, clone);
  return clone;
}

/* --- readers --- */

static void redirect(Remat *remat, HloInstruction *value, HloInstruction *clone);

/* A reader of which a part runs late: that part becomes a reader of its own. */
static void redirect_part(Remat *remat, HloInstruction *reader) {
  if (pointer_map_get(&remat->clones, reader) != NULL || remat->budget <= 0 || !can_repeat(remat, reader)) return;
  if (hlo_instruction_is_root(reader)) return;
  HloInstruction **operands = ARENA_NEW_ARRAY(remat->arena, HloInstruction *, reader->operand_count + 1);
  for (int k = 0; k < reader->operand_count; k++) {
    HloInstruction *clone = pointer_map_get(&remat->clones, reader->operands[k]);
    operands[k] = clone != NULL ? clone : reader->operands[k];
  }
  HloInstruction *late = add_clone(remat, reader, operands);
  pointer_map_set(&remat->clones, reader, late);
  redirect(remat, reader, late);
}

/* Readers of |value| after the peak read |clone|. */
static void redirect(Remat *remat, HloInstruction *value, HloInstruction *clone) {
  int64_t peak = remat->asked->peak;
  int32_t count = value->user_count;
  HloInstruction **users = ARENA_COPY_ARRAY(remat->arena, HloInstruction *, value->users, count);
  for (int32_t u = 0; u < count; u++) {
    if (users[u]->id >= remat->asked->times->count || users[u]->parent != remat->computation) continue;
    if (first_of(remat, users[u]) > peak)
      hlo_instruction_replace_use(value, users[u], clone);
    else if (last_of(remat, users[u]) > peak)
      redirect_part(remat, users[u]);
  }
}

/* The position of the first reader after the peak; -1: there is none. */
static int64_t first_late_reader(const Remat *remat, const HloInstruction *value) {
  int64_t found = -1;
  for (int32_t u = 0; u < value->user_count; u++) {
    int64_t last = last_of(remat, value->users[u]), first = first_of(remat, value->users[u]);
    if (last <= remat->asked->peak) continue;
    int64_t time = first > remat->asked->peak ? first : last;
    if (found < 0 || time < found) found = time;
  }
  return found;
}

bool rematerialise(const Rematerialisation *asked) {
  Arena *arena = arena_create();
  Remat remat = {.asked = asked, .computation = asked->value->parent, .arena = arena, .budget = MOST_CLONES};
  int_map_init(&remat.clones, arena);
  HloModule *module = asked->value->parent->module;
  remat.number = sv_printf(module->arena, "%d", (int)module->next_instruction_id);
  remat.needed = first_late_reader(&remat, asked->value);
  HloInstruction *clone = NULL;
  if (remat.needed >= 0 && !hlo_instruction_is_root(asked->value)) clone = compute_again(&remat, asked->value);
  if (clone != NULL) redirect(&remat, asked->value, clone);
  bool is_read = clone != NULL && clone->user_count > 0;
  if (clone != NULL) hlo_computation_remove_dead(remat.computation);
  arena_destroy(arena);
  return is_read;
}
