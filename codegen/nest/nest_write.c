/* Control and integers of a nest as assembly, and which functions get some.
 *
 * rax, rcx and rdx are free between instructions; cells are in the other registers and in slots of the frame.  A slot
 * of each argument comes first. */
#include <stdlib.h>
#include <string.h>

#include "base/checked_math.h"
#include "codegen/ir/ir_function.h"
#include "codegen/nest/nest_internal.h"

static const char *const cell_registers[] = {"rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                             "rbx", "rbp", "r12", "r13", "r14", "r15"};
/* Cells' first four are the ones that arguments 1, 0, 4 and 5 come in. */
static const char *const argument_registers[] = {"rdi", "rsi", "rdx", "rcx", "r8", "r9"};
enum { FIRST_SAVED = 6, ARGUMENT_REGISTERS = 6, CELL_REGISTERS = 12 };

int nest_label(NestWriter *writer) {
  return NEST_FIRST_LABEL + NEST_MOST_BLOCKS + writer->label_count++;
}

static int saved_registers(const NestFunction *nest) {
  int count = 0;
  for (int64_t c = 0; c < nest->cells.count; c++) {
    int reg = nest->cells.data[c].reg;
    if (reg >= FIRST_SAVED && reg - FIRST_SAVED + 1 > count) count = reg - FIRST_SAVED + 1;
  }
  return count;
}

static int frame_bytes(const NestFunction *nest) {
  return 8 * nest->slot_count;
}

/* %register or slot(%rsp) */
static const char *place_of(const NestFunction *nest, const NestCell *cell) {
  if (cell->reg >= 0) return arena_printf(nest->arena, "%%%s", cell_registers[cell->reg]);
  return arena_printf(nest->arena, "%d(%%rsp)", 8 * cell->slot);
}

static const char *argument_place(const NestFunction *nest, int number) {
  int reg = nest->argument_registers[number];
  if (reg >= 0) return arena_printf(nest->arena, "%%%s", cell_registers[reg]);
  int offset = 8 * number;
  if (number >= ARGUMENT_REGISTERS)
    offset = frame_bytes(nest) + 8 * (saved_registers(nest) + 1 + number - ARGUMENT_REGISTERS);
  return arena_printf(nest->arena, "%d(%%rsp)", offset);
}

static bool is_small(int64_t value) {
  return value >= INT32_MIN && value <= INT32_MAX;
}

static void load_number(NestWriter *writer, int64_t value, const char *reg) {
  sb_printf(writer->out, is_small(value) ? "movq $$%lld, %s\n" : "movabsq $$%lld, %s\n", (long long)value, reg);
}

/* place += value, by way of rcx where it takes 64 bits */
static void add_number(NestWriter *writer, int64_t value, const char *place) {
  if (value == 0) return;
  if (is_small(value)) {
    sb_printf(writer->out, "addq $$%lld, %s\n", (long long)value, place);
    return;
  }
  load_number(writer, value, "%rcx");
  sb_printf(writer->out, "addq %%rcx, %s\n", place);
}

static const NestCell *cell_at(const NestFunction *nest, int number) {
  return &nest->cells.data[number];
}

void nest_write_integer(NestWriter *writer, const NestForm *form, int position) {
  int64_t offset;
  int cell = nest_cell(writer->nest, form, false, writer->block, position, &offset);
  if (cell < 0) {
    load_number(writer, offset, "%rax");
    return;
  }
  sb_printf(writer->out, "movq %s, %%rax\n", place_of(writer->nest, cell_at(writer->nest, cell)));
  add_number(writer, offset, "%rax");
}

const char *nest_write_address(NestWriter *writer, const NestForm *form, int position) {
  NestFunction *nest = writer->nest;
  int64_t offset;
  int number = nest_cell(nest, form, false, writer->block, position, &offset);
  if (number < 0 || !is_small(offset)) {
    nest_refuse(nest);
    return "";
  }
  const NestCell *cell = cell_at(nest, number);
  const char *reg = "rax";
  if (cell->reg >= 0)
    reg = cell_registers[cell->reg];
  else
    sb_printf(writer->out, "movq %s, %%rax\n", place_of(nest, cell));
  return arena_printf(nest->arena, "%lld(%%%s)", (long long)offset, reg);
}

/* --- conditions --- */

typedef struct PredicateNames {
  const char *holds, *fails;
} PredicateNames;

static PredicateNames names_of(LLVMIntPredicate predicate) {
  static const PredicateNames names[] = {
      [LLVMIntEQ] = {"je", "jne"},  [LLVMIntNE] = {"jne", "je"},  [LLVMIntUGT] = {"ja", "jbe"},
      [LLVMIntUGE] = {"jae", "jb"}, [LLVMIntULT] = {"jb", "jae"}, [LLVMIntULE] = {"jbe", "ja"},
      [LLVMIntSGT] = {"jg", "jle"}, [LLVMIntSGE] = {"jge", "jl"}, [LLVMIntSLT] = {"jl", "jge"},
      [LLVMIntSLE] = {"jle", "jg"}};
  return names[predicate];
}

void nest_write_comparison(NestWriter *writer, const NestLeaf *leaf, int position) {
  NestFunction *nest = writer->nest;
  StringBuilder *out = writer->out;
  bool is_exact = !nest_is_signed_compare(leaf);
  int64_t left_offset, right_offset;
  int left = nest_cell(nest, &leaf->left, is_exact, writer->block, position, &left_offset);
  int right = nest_cell(nest, &leaf->right, is_exact, writer->block, position, &right_offset);
  if (left < 0) {
    nest_refuse(nest);
    return;
  }
  const char *place = place_of(nest, cell_at(nest, left));
  int64_t difference = right_offset - left_offset;
  if (right < 0 && is_small(difference)) {
    sb_printf(out, "cmpq $$%lld, %s\n", (long long)difference, place);
    return;
  }
  if (right < 0)
    load_number(writer, difference, "%rax");
  else {
    sb_printf(out, "movq %s, %%rax\n", place_of(nest, cell_at(nest, right)));
    add_number(writer, difference, "%rax");
  }
  sb_printf(out, "cmpq %%rax, %s\n", place);
}

void nest_write_unless(NestWriter *writer, const NestCondition *condition, int position, int label) {
  for (int i = 0; i < condition->count; i++) {
    nest_write_comparison(writer, &condition->leaves[i], position);
    sb_printf(writer->out, "%s %df\n", names_of(condition->leaves[i].predicate).fails, label);
  }
}

/* --- cells --- */

/* target += factor × place, by way of rax */
static void add_product(NestWriter *writer, int64_t factor, const char *place, const char *target) {
  bool is_unit = factor == 1 || factor == -1;
  if (is_unit && (place[0] == '%' || target[0] == '%')) {
    sb_printf(writer->out, "%s %s, %s\n", factor == 1 ? "addq" : "subq", place, target);
    return;
  }
  if (is_unit) {
    sb_printf(writer->out, "movq %s, %%rax\n", place);
  } else if (is_small(factor)) {
    sb_printf(writer->out, "imulq $$%lld, %s, %%rax\n", (long long)factor, place);
  } else {
    load_number(writer, factor, "%rax");
    sb_printf(writer->out, "imulq %s, %%rax\n", place);
  }
  sb_printf(writer->out, factor == -1 ? "subq %%rax, %s\n" : "addq %%rax, %s\n", target);
}

static const char *term_place(NestWriter *writer, const NestTerm *term, int position, int64_t *out_offset) {
  NestFunction *nest = writer->nest;
  const NestAtom *atom = &nest->atoms.data[term->atom];
  *out_offset = 0;
  if (atom->kind == NEST_ARGUMENT) return argument_place(nest, atom->number);
  NestForm part = {.count = 1, .terms = {{term->atom, 1}}};
  int cell = nest_cell(nest, &part, false, writer->block, position, out_offset);
  return cell < 0 ? "" : place_of(nest, cell_at(nest, cell));
}

static bool is_its_own_result(const NestFunction *nest, const NestCell *cell) {
  return cell->anchor >= 0 && cell->form.count == 1 && cell->form.terms[0].factor == 1 &&
         nest->atoms.data[cell->form.terms[0].atom].kind == NEST_RESULT && cell->form.constant == 0;
}

static bool begins_at_zero(const NestFunction *nest, const NestCell *cell, const NestTerm *term) {
  const NestAtom *atom = &nest->atoms.data[term->atom];
  return atom->kind == NEST_COUNTER &&
         (cell->anchor < 0 || !nest_loop_contains(nest, atom->number, nest->values.data[cell->anchor].block));
}

/* target ← factor × place, the first of a sum. */
static void begin_sum(NestWriter *writer, int64_t factor, const char *place, const char *target) {
  if (factor == 1) {
    if (strcmp(place, target) != 0) sb_printf(writer->out, "movq %s, %s\n", place, target);
  } else if (is_small(factor)) {
    sb_printf(writer->out, "imulq $$%lld, %s, %s\n", (long long)factor, place, target);
  } else {
    sb_printf(writer->out, "movq $$0, %s\n", target);
    add_product(writer, factor, place, target);
  }
}

static void begin_cell(NestWriter *writer, const NestCell *cell) {
  NestFunction *nest = writer->nest;
  const char *place = place_of(nest, cell), *froms[NEST_MOST_TERMS];
  int64_t constant = cell->form.constant, factors[NEST_MOST_TERMS];
  /* By way of rdx where the place is no register, or one that a term is in after the sum has begun. */
  bool is_direct = place[0] == '%';
  int count = 0;
  for (int t = 0; t < cell->form.count; t++) {
    const NestTerm *term = &cell->form.terms[t];
    if (begins_at_zero(nest, cell, term)) continue;
    int64_t offset;
    froms[count] = term_place(writer, term, cell->start, &offset);
    factors[count] = term->factor;
    constant = (int64_t)((uint64_t)constant + (uint64_t)offset * (uint64_t)term->factor);
    if (strcmp(froms[count], place) == 0 && (count > 0 || !is_small(term->factor))) is_direct = false;
    count++;
  }
  if (count == 0 && is_small(constant)) {
    sb_printf(writer->out, "movq $$%lld, %s\n", (long long)constant, place);
    return;
  }
  const char *target = is_direct ? place : "%rdx";
  if (count == 0) load_number(writer, constant, target);
  if (count > 0) begin_sum(writer, factors[0], froms[0], target);
  for (int t = 1; t < count; t++) add_product(writer, factors[t], froms[t], target);
  if (count > 0) add_number(writer, constant, target);
  if (!is_direct) sb_printf(writer->out, "movq %%rdx, %s\n", place);
}

/* Those that begin at the entry of |loop|, or after |value|; the counters first, and results. */
static void begin_cells(NestWriter *writer, int loop, int value) {
  NestFunction *nest = writer->nest;
  for (int64_t c = 0; c < nest->cells.count; c++) {
    const NestCell *cell = cell_at(nest, (int)c);
    bool is_here = value >= 0 ? cell->anchor == value : cell->anchor < 0 && cell->loop == loop;
    if (is_here && !is_its_own_result(nest, cell)) begin_cell(writer, cell);
  }
}

static void move_cells(NestWriter *writer, int loop) {
  NestFunction *nest = writer->nest;
  int64_t step;
  for (int64_t c = 0; c < nest->cells.count; c++) {
    const NestCell *cell = cell_at(nest, (int)c);
    if (nest_cell_moves(nest, cell, loop, &step)) add_number(writer, step, place_of(nest, cell));
  }
}

static void return_cells(NestWriter *writer, int number) {
  NestFunction *nest = writer->nest;
  const NestLoop *loop = &nest->loops.data[number];
  for (int64_t c = 0; c < nest->cells.count; c++) {
    const NestCell *cell = cell_at(nest, (int)c);
    int64_t step;
    if (!nest_cell_returns(nest, cell, number) || !nest_cell_moves(nest, cell, number, &step)) continue;
    if (loop->trips >= 0) {
      add_number(writer, (int64_t)(0 - (uint64_t)step * (uint64_t)loop->trips), place_of(nest, cell));
      continue;
    }
    int64_t offset;
    NestTerm counter = {loop->atom, 1};
    writer->block = loop->latch;
    const char *from = term_place(writer, &counter, nest->blocks[loop->latch].last, &offset);
    int64_t factor = (int64_t)(0 - (uint64_t)(step / loop->step));
    add_product(writer, factor, from, place_of(nest, cell));
    add_number(writer, (int64_t)((uint64_t)offset * (uint64_t)factor), place_of(nest, cell));
  }
}

/* --- results --- */

/* rax / divisor of indices, which are below 2^63, to rdx: the high half of a product (Granlund and Montgomery, 1994).
 */
static void write_quotient(NestWriter *writer, int64_t divisor) {
  int log = 0;
  while (((int64_t)1 << log) < divisor) log++;
  if (((int64_t)1 << log) == divisor) {
    sb_printf(writer->out, "movq %%rax, %%rdx\nshrq $$%d, %%rdx\n", log);
    return;
  }
  /* 2^(64 + log - 1) / divisor + 1 by long division */
  uint64_t factor = 0, rest = (uint64_t)1 << (log - 1);
  for (int bit = 0; bit < 64; bit++) {
    rest *= 2;
    factor = factor * 2 + (rest >= (uint64_t)divisor);
    if (rest >= (uint64_t)divisor) rest -= (uint64_t)divisor;
  }
  factor++;
  sb_printf(writer->out, "movabsq $$%lld, %%rdx\nmulq %%rdx\n", (long long)factor);
  if (log > 1) sb_printf(writer->out, "shrq $$%d, %%rdx\n", log - 1);
}

/* place ← form.  Cells that are read where a result is made end no earlier than it begins: they are elsewhere. */
static void write_to_place(NestWriter *writer, const NestForm *form, int position, const char *place) {
  int64_t offset;
  int number = nest_cell(writer->nest, form, false, writer->block, position, &offset);
  const NestCell *cell = number < 0 ? NULL : cell_at(writer->nest, number);
  bool is_register = place[0] == '%';
  if (cell == NULL && is_small(offset)) {
    sb_printf(writer->out, "movq $$%lld, %s\n", (long long)offset, place);
  } else if (cell != NULL && cell->reg >= 0 && is_register && offset != 0 && is_small(offset)) {
    sb_printf(writer->out, "leaq %lld(%%%s), %s\n", (long long)offset, cell_registers[cell->reg], place);
  } else if (cell != NULL && (cell->reg >= 0 || is_register)) {
    sb_printf(writer->out, "movq %s, %s\n", place_of(writer->nest, cell), place);
    add_number(writer, offset, place);
  } else {
    nest_write_integer(writer, form, position);
    sb_printf(writer->out, "movq %%rax, %s\n", place);
  }
}

static void write_result(NestWriter *writer, const NestValue *value) {
  NestFunction *nest = writer->nest;
  StringBuilder *out = writer->out;
  int64_t offset;
  int cell = nest_cell(nest, &value->form, false, value->block, value->position, &offset);
  if (cell < 0 || !is_its_own_result(nest, cell_at(nest, cell))) {
    nest_refuse(nest);
    return;
  }
  const char *place = place_of(nest, cell_at(nest, cell));
  const NestForm *second = &nest->values.data[value->operands[0]].form;
  if (value->op == NEST_PRODUCT) {
    nest_write_integer(writer, second, value->position);
    sb_append_cstring(out, "movq %rax, %rdx\n");
    nest_write_integer(writer, &value->other, value->position);
    sb_printf(out, "imulq %%rax, %%rdx\nmovq %%rdx, %s\n", place);
    return;
  }
  if (value->op == NEST_PICK) {
    int end = nest_label(writer);
    write_to_place(writer, second, value->position, place);
    nest_write_unless(writer, value->condition, value->position, end);
    write_to_place(writer, &value->other, value->position, place);
    sb_printf(out, "%d:\n", end);
    return;
  }
  nest_write_integer(writer, &value->other, value->position);
  if (value->op == NEST_SIGNED_REMAINDER || value->op == NEST_SIGNED_QUOTIENT) {
    sb_printf(out, "movq $$%lld, %%rcx\ncqto\nidivq %%rcx\nmovq %%%s, %s\n", (long long)value->divisor,
              value->op == NEST_SIGNED_QUOTIENT ? "rax" : "rdx", place);
    return;
  }
  if (value->op == NEST_QUOTIENT) {
    write_quotient(writer, value->divisor);
    sb_printf(out, "movq %%rdx, %s\n", place);
    return;
  }
  sb_append_cstring(out, "movq %rax, %rcx\n");
  write_quotient(writer, value->divisor);
  sb_printf(out, "imulq $$%lld, %%rdx, %%rdx\nsubq %%rdx, %%rcx\nmovq %%rcx, %s\n", (long long)value->divisor, place);
}

static bool is_result(const NestValue *value) {
  return value->op == NEST_QUOTIENT || value->op == NEST_REMAINDER || value->op == NEST_SIGNED_QUOTIENT ||
         value->op == NEST_SIGNED_REMAINDER || value->op == NEST_PRODUCT || value->op == NEST_PICK;
}

static void write_value(NestWriter *writer, int number) {
  const NestValue *value = &writer->nest->values.data[number];
  if (is_result(value)) {
    write_result(writer, value);
    begin_cells(writer, -1, number);
  } else {
    nest_write_vector(writer, value);
  }
}

/* --- edges --- */

/* Values of phis, in an order in which none is overwritten before it is read. */
static void move_to_phis(NestWriter *writer, int from, int to) {
  NestFunction *nest = writer->nest;
  const NestBlock *block = &nest->blocks[to];
  int phis[NEST_MOST_LANES * 2], count = 0;
  for (int p = block->first; p < block->last; p++) {
    int number = nest->order.data[p];
    const NestValue *phi = &nest->values.data[number];
    if (phi->op != NEST_PHI) continue;
    int source = nest_incoming(nest, phi, from);
    if (source < 0 || count == NEST_MOST_LANES * 2) {
      nest_refuse(nest);
      return;
    }
    if (nest->values.data[source].op == NEST_CONSTANT || nest->values.data[source].reg != phi->reg)
      phis[count++] = number;
  }
  while (count > 0) {
    int ready = -1;
    for (int i = 0; i < count && ready < 0; i++) {
      bool is_read = false;
      for (int j = 0; j < count; j++) {
        const NestValue *source = &nest->values.data[nest_incoming(nest, &nest->values.data[phis[j]], from)];
        is_read |= j != i && source->op != NEST_CONSTANT && source->reg == nest->values.data[phis[i]].reg;
      }
      if (!is_read) ready = i;
    }
    if (ready < 0) {
      nest_refuse(nest);
      return;
    }
    const NestValue *phi = &nest->values.data[phis[ready]];
    nest_write_move(writer, phi->reg, &nest->values.data[nest_incoming(nest, phi, from)]);
    phis[ready] = phis[--count];
  }
}

static void write_edge(NestWriter *writer, int from, int to) {
  NestFunction *nest = writer->nest;
  int loop = nest->blocks[from].loop;
  if (loop >= 0 && nest->loops.data[loop].latch == from && to != nest->loops.data[loop].header)
    return_cells(writer, loop);
  move_to_phis(writer, from, to);
  for (int64_t l = 0; l < nest->loops.count; l++) {
    if (nest->loops.data[l].header != to || nest->loops.data[l].latch == from) continue;
    writer->block = from;
    begin_cells(writer, (int)l, -1);
  }
}

static StringView edge_text(NestWriter *writer, int from, int to) {
  StringBuilder text, *out = writer->out;
  sb_init(&text, writer->nest->arena);
  writer->out = &text;
  write_edge(writer, from, to);
  writer->out = out;
  return sb_view(&text);
}

static bool is_empty_edge(NestWriter *writer, int from, int to) {
  return edge_text(writer, from, to).size == 0;
}

/* The label of block |to|, for a jump from |from|. */
static const char *target_of(NestWriter *writer, int from, int to) {
  writer->is_target[to] = true;
  return arena_printf(writer->nest->arena, "%d%c", NEST_FIRST_LABEL + to, to > from ? 'f' : 'b');
}

static void go_on(NestWriter *writer, int from, int to) {
  if (to != from + 1) sb_printf(writer->out, "jmp %s\n", target_of(writer, from, to));
}

/* A loop goes on while its one condition holds. */
static void write_latch(NestWriter *writer, int number, int loop) {
  const NestBlock *block = &writer->nest->blocks[number];
  NestLeaf leaf = nest_leaf_after_step(writer->nest, &block->condition->leaves[0], number);
  move_cells(writer, loop);
  StringView back = edge_text(writer, number, block->successors[0]);
  StringView on = edge_text(writer, number, block->successors[1]);
  writer->block = number;
  nest_write_comparison(writer, &leaf, block->last);
  PredicateNames names = names_of(leaf.predicate);
  if (back.size == 0) {
    sb_printf(writer->out, "%s %s\n", names.holds, target_of(writer, number, block->successors[0]));
  } else {
    int end = nest_label(writer);
    sb_printf(writer->out, "%s %df\n", names.fails, end);
    sb_append(writer->out, back);
    sb_printf(writer->out, "jmp %s\n%d:\n", target_of(writer, number, block->successors[0]), end);
  }
  sb_append(writer->out, on);
  go_on(writer, number, block->successors[1]);
}

static void write_return(NestWriter *writer) {
  NestFunction *nest = writer->nest;
  if (frame_bytes(nest) > 0) sb_printf(writer->out, "addq $$%d, %%rsp\n", frame_bytes(nest));
  for (int r = saved_registers(nest) - 1; r >= 0; r--)
    sb_printf(writer->out, "popq %%%s\n", cell_registers[FIRST_SAVED + r]);
  sb_append_cstring(writer->out, "vzeroupper\nretq\n");
}

static void write_end(NestWriter *writer, int number) {
  NestFunction *nest = writer->nest;
  const NestBlock *block = &nest->blocks[number];
  writer->block = number;
  if (block->successor_count == 0) {
    write_return(writer);
  } else if (block->successor_count == 1) {
    write_edge(writer, number, block->successors[0]);
    go_on(writer, number, block->successors[0]);
  } else if (block->loop >= 0 && nest->loops.data[block->loop].latch == number) {
    write_latch(writer, number, block->loop);
  } else if (block->successors[0] == number + 1 && is_empty_edge(writer, number, number + 1) &&
             is_empty_edge(writer, number, block->successors[1])) {
    writer->is_target[block->successors[1]] = true;
    nest_write_unless(writer, block->condition, block->last, NEST_FIRST_LABEL + block->successors[1]);
  } else {
    int other = nest_label(writer);
    nest_write_unless(writer, block->condition, block->last, other);
    write_edge(writer, number, block->successors[0]);
    sb_printf(writer->out, "jmp %s\n%d:\n", target_of(writer, number, block->successors[0]), other);
    write_edge(writer, number, block->successors[1]);
    go_on(writer, number, block->successors[1]);
  }
}

static bool is_innermost_header(const NestFunction *nest, int block) {
  int loop = nest->blocks[block].loop;
  if (loop < 0 || nest->loops.data[loop].header != block) return false;
  for (int64_t l = 0; l < nest->loops.count; l++) {
    if (nest->loops.data[l].parent == loop) return false;
  }
  return true;
}

static bool is_header(const NestFunction *nest, int block) {
  bool is_found = false;
  for (int64_t l = 0; l < nest->loops.count; l++) is_found |= nest->loops.data[l].header == block;
  return is_found;
}

static void write_entry(NestWriter *writer) {
  NestFunction *nest = writer->nest;
  for (int r = 0; r < saved_registers(nest); r++)
    sb_printf(writer->out, "pushq %%%s\n", cell_registers[FIRST_SAVED + r]);
  if (frame_bytes(nest) > 0) sb_printf(writer->out, "subq $$%d, %%rsp\n", frame_bytes(nest));
  for (int i = 0; i < nest->argument_count && i < ARGUMENT_REGISTERS; i++) {
    const char *place = argument_place(nest, i);
    bool stays = place[0] == '%' && strcmp(place + 1, argument_registers[i]) == 0;
    if (!stays && nest->argument_ends[i] >= NEST_ENTRY)
      sb_printf(writer->out, "movq %%%s, %s\n", argument_registers[i], place);
  }
  for (int i = 0; i < nest->mask_count; i++)
    sb_printf(writer->out, "movl $$%u, %%eax\nkmovw %%eax, %%k%d\n", nest->masks[i], i + 1);
  writer->block = 0;
  begin_cells(writer, -1, -1);
  for (int64_t p = 0; p < nest->order.count; p++) {
    int number = nest->order.data[p];
    if (number >= 0 && nest->values.data[number].is_early) write_value(writer, number);
  }
}

/* The assembly, $ written as $$. */
static StringView nest_write(NestFunction *nest) {
  StringBuilder out;
  sb_init(&out, nest->arena);
  NestWriter writer = {.nest = nest, .out = &out};
  write_entry(&writer);
  for (int b = 0; b < nest->block_count; b++) {
    if (is_innermost_header(nest, b)) sb_append_cstring(&out, ".p2align 4, 0x90\n");
    if (is_header(nest, b) || writer.is_target[b]) sb_printf(&out, "%d:\n", NEST_FIRST_LABEL + b);
    for (int p = nest->blocks[b].first; p < nest->blocks[b].last; p++) {
      writer.block = b;
      if (!nest->values.data[nest->order.data[p]].is_early) write_value(&writer, nest->order.data[p]);
    }
    write_end(&writer, b);
  }
  for (int64_t i = 0; i < writer.pool.count; i++)
    sb_printf(&out, ".p2align 2\n%lld:\n%.*s\n", (long long)(NEST_FIRST_CONSTANT + i), SV_ARG(writer.pool.data[i]));
  return sb_view(&out);
}

/* --- functions --- */

static bool is_candidate(LLVMValueRef function) {
  if (LLVMIsDeclaration(function) || !ir_function_is_short(function)) return false;
  bool is_private =
      LLVMGetLinkage(function) == LLVMInternalLinkage || LLVMGetVisibility(function) == LLVMHiddenVisibility;
  LLVMTypeRef result = LLVMGetReturnType(LLVMGlobalGetValueType(function));
  return is_private && LLVMGetTypeKind(result) == LLVMVoidTypeKind &&
         LLVMGetFunctionCallConv(function) == LLVMCCallConv;
}

static void remove_body(LLVMValueRef function) {
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block != NULL;
       block = LLVMGetNextBasicBlock(block)) {
    for (LLVMValueRef at = LLVMGetLastInstruction(block); at != NULL; at = LLVMGetLastInstruction(block)) {
      if (LLVMGetFirstUse(at) != NULL) LLVMReplaceAllUsesWith(at, LLVMGetPoison(LLVMTypeOf(at)));
      LLVMInstructionEraseFromParent(at);
    }
  }
  while (LLVMGetFirstBasicBlock(function) != NULL) LLVMDeleteBasicBlock(LLVMGetFirstBasicBlock(function));
}

static void write_function(LLVMBuilderRef builder, const VecTarget *target, LLVMModuleRef module, LLVMValueRef function,
                           Arena *scratch) {
  NestFunction *nest = ARENA_NEW(scratch, NestFunction);
  *nest =
      (NestFunction){.arena = scratch, .target = target, .source = function, .layout = LLVMGetModuleDataLayout(module)};
  if (!nest_read_shape(nest) || !nest_read_values(nest) || !nest_plan_cells(nest) || !nest_give_registers(nest)) return;
  StringView text = nest_write(nest);
  if (nest->is_refused) return;
  remove_body(function);
  ir_function_set_assembly(builder, function, text);
}

void nest_functions(const VecTarget *target, LLVMModuleRef module, LLVMValueRef last) {
  if (!target->has_avx2_fma) return;
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
  Arena *scratch = arena_create();
  LLVMValueRef function = last == NULL ? LLVMGetFirstFunction(module) : LLVMGetNextFunction(last);
  for (; function != NULL; function = LLVMGetNextFunction(function)) {
    if (!is_candidate(function)) continue;
    write_function(builder, target, module, function, scratch);
    arena_reset(scratch);
  }
  arena_destroy(scratch);
  LLVMDisposeBuilder(builder);
}
