#include "codegen/oncore/emit/bound_turn.h"

#include <math.h>

/* Arrays of |count| blocks of |rows| times |columns| elements, each of which is turned. */
typedef struct Turn {
  double count, rows, columns;
} Turn;

/* Whether axes |from| to |to| - 1 of the result are as many of the operand in the same order, from |first| on. */
static bool is_kept(Int64List permutation, int64_t from, int64_t to, int64_t first) {
  for (int64_t i = from; i < to; i++)
    if (permutation.data[i] != first + i - from) return false;
  return true;
}

static double extent_between(const Shape *shape, int64_t from, int64_t to) {
  double extent = 1;
  for (int64_t i = from; i < to; i++) extent *= (double)shape->dims[i];
  return extent;
}

/* The first axes stay, of the others one group changes places with another. */
static bool find_turn(const HloInstruction *transpose, Turn *out_turn) {
  Int64List permutation = hlo_instruction_ints(transpose, HLO_ATTR_DIMENSIONS);
  const Shape *from = transpose->operands[0]->shape;
  int64_t rank = permutation.count, first = 0;
  while (first < rank && permutation.data[first] == first) first++;
  if (first == rank) return false;
  int64_t moved = permutation.data[first] - first; /* axes of the group that comes last */
  if (!is_kept(permutation, first, rank - moved, first + moved) || !is_kept(permutation, rank - moved, rank, first))
    return false;
  *out_turn = (Turn){extent_between(from, 0, first), extent_between(from, first, first + moved),
                     extent_between(from, first + moved, rank)};
  return true;
}

/* Whether no load or store of what is not needed, or again, saves as many rows as it costs: |other| elements that a run
 * has at most, |each| cycles for one of them. */
static bool is_worth_nothing(double price, double other, double each) {
  return other * each >= 2 * price;
}

static double turn_cycles(const Turn *turn, double bytes, double buffer_bytes, const RowPrices *prices) {
  double held = buffer_bytes / bytes, each = prices->byte * bytes;
  double rows = turn->rows - 1, columns = turn->columns - 1;        /* of a store's and a load's runs that are short */
  double elements = turn->count * (turn->rows * turn->columns - 1); /* a run may go on in the next block */
  if (!is_worth_nothing(prices->load, columns, each) || !is_worth_nothing(prices->store, rows, each)) return 0;
  double load = prices->load - prices->store * 2 * held / (rows * rows);
  double store = prices->store - prices->load * 2 * held / (columns * columns);
  if (load <= 0 || store <= 0) return 0;
  double slope = sqrt(2 * load * store / held);
  if (slope >= 2 * each) return 0;
  double long_runs = prices->load * 2 * held / columns + prices->store * 2 * held / rows;
  return fmax(0, (elements - held) * slope - long_runs);
}

static bool is_first(const HloInstruction *root, int32_t number) {
  for (int32_t i = 0; i < number; i++) {
    const HloInstruction *before = root->operands[i];
    bool is_same = before->opcode == HLO_TRANSPOSE && before->operands[0] == root->operands[number]->operands[0];
    if (is_same || before == root->operands[number]) return false;
  }
  return true;
}

double bound_turn_find(const HloComputation *entry, const MachineDescription *machine, const RowPrices *prices) {
  const HloInstruction *root = entry->root;
  int32_t count = root->opcode == HLO_TUPLE ? root->operand_count : 1;
  double cycles = 0, buffer = (double)machine_buffer_usable(machine);
  for (int32_t i = 0; i < count; i++) {
    const HloInstruction *result = root->opcode == HLO_TUPLE ? root->operands[i] : root;
    Turn turn;
    if (result->opcode != HLO_TRANSPOSE || result->operands[0]->opcode != HLO_PARAMETER) continue;
    if ((result != root && !is_first(root, i)) || !find_turn(result, &turn)) continue;
    cycles += turn_cycles(&turn, (double)type_storage_bytes(result->shape->type), buffer, prices);
  }
  return cycles;
}
