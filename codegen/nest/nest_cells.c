/* Which sums have a register or a slot, where they begin, and what loops add to them. */
#include "codegen/nest/nest_internal.h"

enum { CELL_REGISTERS = 12 };

static const NestAtom *atom_of(const NestFunction *nest, const NestTerm *term) {
  return &nest->atoms.data[term->atom];
}

static bool same_terms(const NestForm *a, const NestForm *b) {
  if (a->count != b->count) return false;
  for (int i = 0; i < a->count; i++) {
    if (a->terms[i].atom != b->terms[i].atom || a->terms[i].factor != b->terms[i].factor) return false;
  }
  return true;
}

static int depth_of(const NestFunction *nest, int loop) {
  return loop < 0 ? 0 : nest->loops.data[loop].depth;
}

static bool is_single(const NestForm *form, int atom) {
  return form->count == 1 && form->terms[0].atom == atom && form->terms[0].factor == 1;
}

/* The outermost loop around |block| that is not around |inside| (-1: any); -1 where there is none. */
static int outermost_loop(const NestFunction *nest, int block, int inside) {
  int found = -1;
  for (int l = nest->blocks[block].loop; l >= 0; l = nest->loops.data[l].parent) {
    if (inside < 0 || !nest_loop_contains(nest, l, inside)) found = l;
  }
  return found;
}

/* Where a sum is known first: after the last of the results it is made of, at the entry of the outermost loop that it
 * counts, or, where it changes nowhere, of the outermost loop it is used in. */
static bool find_anchor(NestFunction *nest, const NestForm *form, int block, NestCell *cell) {
  cell->anchor = cell->loop = -1;
  int counted = -1;
  for (int t = 0; t < form->count; t++) {
    const NestAtom *atom = atom_of(nest, &form->terms[t]);
    if (atom->kind == NEST_RESULT) {
      const NestValue *value = &nest->values.data[atom->number];
      if (!nest_loop_contains(nest, nest->blocks[value->block].loop, block)) return nest_refuse(nest);
      if (cell->anchor < 0 || value->position > nest->values.data[cell->anchor].position) cell->anchor = atom->number;
    } else if (atom->kind == NEST_COUNTER) {
      if (!nest_loop_contains(nest, atom->number, block)) return nest_refuse(nest);
      if (counted < 0 || nest->loops.data[atom->number].depth < nest->loops.data[counted].depth) counted = atom->number;
    }
  }
  if (cell->anchor < 0) cell->loop = counted >= 0 ? counted : outermost_loop(nest, block, -1);
  return true;
}

/* The block that a cell begins in, or at the end of. */
static int anchor_block(const NestFunction *nest, const NestCell *cell) {
  if (cell->anchor >= 0) return nest->values.data[cell->anchor].block;
  if (cell->loop < 0) return 0;
  int header = nest->loops.data[cell->loop].header;
  for (int b = 0; b < header; b++) {
    for (int i = 0; i < nest->blocks[b].successor_count; i++) {
      if (nest->blocks[b].successors[i] == header) return b;
    }
  }
  return 0;
}

bool nest_cell_moves(const NestFunction *nest, const NestCell *cell, int loop, int64_t *out_step) {
  if (cell->anchor >= 0 && nest_loop_contains(nest, loop, nest->values.data[cell->anchor].block)) return false;
  for (int t = 0; t < cell->form.count; t++) {
    if (cell->form.terms[t].atom != nest->loops.data[loop].atom) continue;
    *out_step = (int64_t)((uint64_t)cell->form.terms[t].factor * (uint64_t)nest->loops.data[loop].step);
    return true;
  }
  return false;
}

bool nest_cell_returns(const NestFunction *nest, const NestCell *cell, int loop) {
  int64_t step;
  return nest_cell_moves(nest, cell, loop, &step) && loop != cell->loop &&
         cell->end > nest->blocks[nest->loops.data[loop].latch].last;
}

/* What it takes to begin the cell, and to bring it back after loops. */
static void plan_parts(NestFunction *nest, int number) {
  NestCell cell = nest->cells.data[number];
  int begin = anchor_block(nest, &cell);
  int64_t offset;
  for (int t = 0; t < cell.form.count && !nest->is_refused; t++) {
    const NestAtom atom = *atom_of(nest, &cell.form.terms[t]);
    NestForm part = {.count = 1, .terms = {{cell.form.terms[t].atom, 1}}};
    if (atom.kind == NEST_ARGUMENT || is_single(&cell.form, part.terms[0].atom)) continue;
    bool is_inside = cell.anchor >= 0 && atom.kind == NEST_COUNTER && nest_loop_contains(nest, atom.number, begin);
    if (atom.kind == NEST_RESULT || is_inside) {
      nest_cell(nest, &part, false, begin, cell.start, &offset);
    } else if (nest->loops.data[atom.number].trips < 0 && atom.number != cell.loop) {
      int latch = nest->loops.data[atom.number].latch;
      nest_cell(nest, &part, false, latch, nest->blocks[latch].last, &offset);
    }
  }
}

static void note_use(const NestFunction *nest, NestCell *cell, int block, int position) {
  int loop = cell->anchor >= 0 ? outermost_loop(nest, block, anchor_block(nest, cell))
             : cell->loop >= 0 ? cell->loop
                               : outermost_loop(nest, block, -1);
  int end = loop < 0 ? position : nest->blocks[nest->loops.data[loop].latch].last;
  if (position > end) end = position;
  if (end > cell->end) cell->end = end;
  int depth = depth_of(nest, nest->blocks[block].loop);
  if (depth > cell->depth) cell->depth = depth;
}

int nest_cell(NestFunction *nest, const NestForm *form, bool is_exact, int block, int position, int64_t *out_offset) {
  *out_offset = form->constant;
  if (form->count == 0) return -1;
  NestCell wanted = {.form = *form, .is_exact = is_exact, .reg = -1, .slot = -1};
  if (!find_anchor(nest, form, block, &wanted)) return -1;
  for (int64_t c = 0; c < nest->cells.count; c++) {
    NestCell *cell = &nest->cells.data[c];
    bool is_same = same_terms(&cell->form, form) && cell->anchor == wanted.anchor && cell->loop == wanted.loop;
    if (!is_same || (is_exact && cell->form.constant != form->constant)) continue;
    *out_offset = (int64_t)((uint64_t)form->constant - (uint64_t)cell->form.constant);
    note_use(nest, cell, block, position);
    return (int)c;
  }
  /* Results lie where they are made, without a number added. */
  bool is_result =
      form->count == 1 && atom_of(nest, &form->terms[0])->kind == NEST_RESULT && form->terms[0].factor == 1;
  if (is_result && !is_exact) wanted.form.constant = 0;
  *out_offset = (int64_t)((uint64_t)form->constant - (uint64_t)wanted.form.constant);
  wanted.start = wanted.anchor >= 0 ? nest->values.data[wanted.anchor].position
                 : wanted.loop >= 0 ? nest->blocks[nest->loops.data[wanted.loop].header].first - 1
                                    : NEST_ENTRY;
  wanted.end = wanted.start;
  note_use(nest, &wanted, block, position);
  array_push(&nest->cells, nest->arena, wanted);
  int number = (int)nest->cells.count - 1;
  plan_parts(nest, number);
  return number;
}

/* --- uses --- */

bool nest_is_signed_compare(const NestLeaf *leaf) {
  return leaf->predicate != LLVMIntULT && leaf->predicate != LLVMIntULE && leaf->predicate != LLVMIntUGT &&
         leaf->predicate != LLVMIntUGE;
}

static void step_back(const NestLoop *loop, NestForm *form) {
  for (int t = 0; t < form->count; t++) {
    if (form->terms[t].atom == loop->atom)
      form->constant = (int64_t)((uint64_t)form->constant - (uint64_t)form->terms[t].factor * (uint64_t)loop->step);
  }
}

NestLeaf nest_leaf_after_step(const NestFunction *nest, const NestLeaf *leaf, int block) {
  NestLeaf after = *leaf;
  int number = nest->blocks[block].loop;
  if (number < 0 || nest->loops.data[number].latch != block) return after;
  step_back(&nest->loops.data[number], &after.left);
  step_back(&nest->loops.data[number], &after.right);
  return after;
}

static void use_leaf(NestFunction *nest, const NestLeaf *leaf, int block, int position) {
  int64_t offset;
  bool is_exact = !nest_is_signed_compare(leaf);
  nest_cell(nest, &leaf->left, is_exact, block, position, &offset);
  nest_cell(nest, &leaf->right, is_exact, block, position, &offset);
  if (leaf->left.count == 0) nest_refuse(nest);
}

static void use_condition(NestFunction *nest, const NestCondition *condition, int block, int position) {
  for (int i = 0; condition != NULL && i < condition->count; i++)
    use_leaf(nest, &condition->leaves[i], block, position);
}

/* At the end of a loop cells have moved on; one that begins inside of it has not. */
static void use_at_latch(NestFunction *nest, int loop) {
  int block = nest->loops.data[loop].latch;
  NestLeaf leaf = nest_leaf_after_step(nest, &nest->blocks[block].condition->leaves[0], block);
  use_leaf(nest, &leaf, block, nest->blocks[block].last);
  const NestForm *sides[] = {&leaf.left, &leaf.right};
  for (int s = 0; s < 2; s++) {
    for (int t = 0; t < sides[s]->count; t++) {
      const NestAtom *atom = atom_of(nest, &sides[s]->terms[t]);
      bool is_inside =
          atom->kind == NEST_RESULT && nest_loop_contains(nest, loop, nest->values.data[atom->number].block);
      if (is_inside && sides[s]->count > 1) nest_refuse(nest);
    }
  }
}

static void use_value(NestFunction *nest, int number) {
  const NestValue value = nest->values.data[number];
  int64_t offset;
  switch (value.op) {
    case NEST_LOAD:
    case NEST_BROADCAST:
    case NEST_STORE:
    case NEST_PREFETCH:
    case NEST_GATHER:
    case NEST_SCATTER:
      if (value.form.count == 0) nest_refuse(nest);
      nest_cell(nest, &value.form, false, value.block, value.position, &offset);
      break;
    case NEST_BELOW: nest_cell(nest, &value.form, false, value.block, value.position, &offset); break;
    case NEST_QUOTIENT:
    case NEST_REMAINDER:
    case NEST_SIGNED_QUOTIENT:
    case NEST_SIGNED_REMAINDER:
    case NEST_PRODUCT:
    case NEST_PICK:
      nest_cell(nest, &value.other, false, value.block, value.position, &offset);
      nest_cell(nest, &nest->values.data[value.operands[0]].form, false, value.block, value.position, &offset);
      nest_cell(nest, &value.form, false, value.block, value.position, &offset);
      break;
    default:
      for (int i = 0; i < value.operand_count; i++) {
        const NestValue from = nest->values.data[value.operands[i]];
        if (from.is_folded) nest_cell(nest, &from.form, false, value.block, value.position, &offset);
      }
      break;
  }
  use_condition(nest, value.condition, value.block, value.position);
}

static void use_all(NestFunction *nest) {
  for (int b = 0; b < nest->block_count; b++) {
    const NestBlock *block = &nest->blocks[b];
    for (int p = block->first; p < block->last; p++) use_value(nest, nest->order.data[p]);
    bool is_latch = block->loop >= 0 && nest->loops.data[block->loop].latch == b;
    if (is_latch)
      use_at_latch(nest, block->loop);
    else
      use_condition(nest, block->condition, b, block->last);
  }
}

/* --- places --- */

static bool overlap(const NestCell *a, const NestCell *b) {
  return a->start <= b->end && b->start <= a->end;
}

static void give_place(NestFunction *nest, NestCell *cell) {
  bool is_taken[CELL_REGISTERS] = {false};
  for (int64_t c = 0; c < nest->cells.count; c++) {
    const NestCell *other = &nest->cells.data[c];
    if (other->reg >= 0 && overlap(cell, other)) is_taken[other->reg] = true;
  }
  for (int r = 0; r < CELL_REGISTERS; r++) {
    if (is_taken[r]) continue;
    cell->reg = r;
    return;
  }
  cell->slot = nest->slot_count++;
}

/* Arguments stay where they come in while no cell is there, or go to a register that none comes in. */
static void place_arguments(NestFunction *nest) {
  static const int own_registers[] = {1, 0, -1, -1, 2, 3}; /* of cells: rdi, rsi, rdx, rcx, r8, r9 */
  for (int i = 0; i < nest->argument_count; i++) {
    nest->argument_ends[i] = NEST_ENTRY - 1;
    nest->argument_registers[i] = -1;
  }
  for (int64_t c = 0; c < nest->cells.count; c++) {
    const NestCell *cell = &nest->cells.data[c];
    /* Loops around begin the cell again. */
    int around = outermost_loop(nest, anchor_block(nest, cell), -1);
    int end = around < 0 ? cell->start : nest->blocks[nest->loops.data[around].latch].last;
    for (int t = 0; t < cell->form.count; t++) {
      const NestAtom *atom = atom_of(nest, &cell->form.terms[t]);
      if (atom->kind == NEST_ARGUMENT && end > nest->argument_ends[atom->number])
        nest->argument_ends[atom->number] = end;
    }
  }
  uint32_t arguments = 0;
  for (int i = 0; i < nest->argument_count && i < 6; i++) {
    NestCell place = {.start = NEST_ENTRY, .end = nest->argument_ends[i]};
    uint32_t taken = arguments;
    for (int64_t c = 0; c < nest->cells.count; c++) {
      const NestCell *cell = &nest->cells.data[c];
      if (cell->reg >= 0 && overlap(cell, &place)) taken |= 1U << cell->reg;
    }
    const int choices[] = {own_registers[i], 4, 5};
    for (int k = 0; k < 3 && nest->argument_registers[i] < 0; k++) {
      if (choices[k] >= 0 && (taken >> choices[k] & 1) == 0) nest->argument_registers[i] = choices[k];
    }
    if (nest->argument_registers[i] >= 0) arguments |= 1U << nest->argument_registers[i];
  }
}

bool nest_plan_cells(NestFunction *nest) {
  use_all(nest);
  if (nest->is_refused) return false;
  int deepest = 0;
  for (int64_t l = 0; l < nest->loops.count; l++)
    if (nest->loops.data[l].depth > deepest) deepest = nest->loops.data[l].depth;
  nest->slot_count = nest->argument_count;
  for (int depth = deepest; depth >= 0; depth--) {
    for (int64_t c = 0; c < nest->cells.count; c++) {
      NestCell *cell = &nest->cells.data[c];
      if (cell->depth != depth) continue;
      give_place(nest, cell);
      if (cell->reg < 0 && depth > 0 && depth == deepest) return nest_refuse(nest);
    }
  }
  place_arguments(nest);
  return true;
}
