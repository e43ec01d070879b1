#include "hlo/analysis/loop_nest.h"

#include "base/hash_map.h"
#include "hlo/analysis/in_place.h"

int hlo_row_dims(const Shape *shape, int64_t rows) {
  int64_t product = 1;
  int dim = 0;
  while (dim < shape->rank && product < rows) product *= shape->dims[dim++];
  if (product != rows) return -1;
  while (dim < shape->rank && shape->dims[dim] == 1) dim++;
  return dim;
}

static bool is_plain(const Shape *shape) {
  return shape_is_static_array(shape) && shape_has_default_layout(shape) && shape_element_count(shape) > 0;
}

/* What may stand between a fusion's parameters and its results in loops over elements and rows. */
static bool runs_in_loops(const HloInstruction *instruction) {
  const HloOpcodeInfo *info = hlo_opcode_info(instruction->opcode);
  if (hlo_opcode_has(instruction->opcode, OP_GIVEN) || info->flow == OP_FLOW_ELEMENT) return true;
  if (info->access == ACCESS_INDIRECT) return !hlo_opcode_has(instruction->opcode, OP_IN_PLACE);
  return info->access == ACCESS_ELEMENTWISE || info->access == ACCESS_AFFINE || instruction->opcode == HLO_REDUCE;
}

static const Shape *first_array(const Shape *shape) {
  return shape_is_tuple(shape) && shape->tuple_size > 0 ? shape->tuple[0] : shape;
}

enum { SHORT_REDUCE = 8 };

bool hlo_reduce_is_short(const HloInstruction *reduce) {
  if (reduce->opcode != HLO_REDUCE || !is_plain(reduce->shape) || !is_plain(reduce->operands[0]->shape)) return false;
  return shape_element_count(reduce->operands[0]->shape) / shape_element_count(reduce->shape) <= SHORT_REDUCE;
}

bool hlo_same_reduced_dims(const HloInstruction *a, const HloInstruction *b) {
  Int64List x = hlo_instruction_ints(a, HLO_ATTR_DIMENSIONS), y = hlo_instruction_ints(b, HLO_ATTR_DIMENSIONS);
  if (x.count != y.count || !shape_same_dims(a->operands[0]->shape, b->operands[0]->shape)) return false;
  for (int64_t i = 0; i < x.count; i++) {
    bool found = false;
    for (int64_t k = 0; k < y.count; k++) found |= x.data[i] == y.data[k];
    if (!found) return false;
  }
  return true;
}

bool hlo_reduces_rows(const HloInstruction *reduce, int64_t rows) {
  Int64List dims = hlo_instruction_ints(reduce, HLO_ATTR_DIMENSIONS);
  const Shape *input = reduce->operands[0]->shape;
  int leading = hlo_row_dims(input, rows);
  for (int64_t i = 0; i < dims.count; i++) {
    if (leading < 0 || (dims.data[i] < leading && input->dims[dims.data[i]] != 1)) return false;
  }
  return true;
}

static bool reduces_alike(const HloInstruction *a, const HloInstruction *b) {
  int64_t rows = shape_element_count(first_array(a->shape));
  if (rows != shape_element_count(first_array(b->shape))) return false;
  return hlo_same_reduced_dims(a, b) || (hlo_reduces_rows(a, rows) && hlo_reduces_rows(b, rows));
}

/* --- one result --- */

typedef struct NestWalk {
  Arena *scratch;
  IntMap seen;
  const HloInstruction *reduce; /* the first found whose operands are all done */
  const HloInstruction *contraction;
  bool fits, all_short, concatenates;
  int64_t last_dim, columns; /* of the result; as in LoopNest */
} NestWalk;

enum { MOST_COLUMNS = 8 };

static void visit_concatenate(NestWalk *walk, const HloInstruction *concatenate) {
  walk->concatenates = true;
  int64_t dimension = hlo_instruction_ints(concatenate, HLO_ATTR_DIMENSIONS).data[0];
  int count = concatenate->operand_count;
  if (count < 2 || count > MOST_COLUMNS || count != walk->last_dim) return;
  for (int i = 0; i < count; i++) {
    if (concatenate->operands[i]->shape->dims[dimension] != 1) return;
  }
  walk->columns = count;
}

/* Reductions with more results than those of the nest are computed inside of its loops. */
static bool is_inside(const HloInstruction *reduce, const HloInstruction *of) {
  return shape_element_count(first_array(reduce->shape)) > shape_element_count(first_array(of->shape));
}

static void visit_reduce(NestWalk *walk, const HloInstruction *reduce) {
  for (int i = 0; i < reduce->operand_count; i++) walk->fits &= is_plain(reduce->operands[i]->shape);
  walk->fits = walk->fits && is_plain(first_array(reduce->shape));
  if (!walk->fits || (walk->reduce != NULL && hlo_reduce_is_short(reduce) && is_inside(reduce, walk->reduce))) return;
  if (walk->reduce == NULL || (walk->all_short && is_inside(walk->reduce, reduce))) {
    walk->reduce = reduce;
    walk->all_short = true;
  }
  walk->all_short &= hlo_reduce_is_short(reduce);
  walk->fits = reduces_alike(walk->reduce, reduce);
}

static void visit_contraction(NestWalk *walk, const HloInstruction *contraction) {
  bool is_first = walk->contraction == NULL, is_real = is_plain(contraction->shape);
  is_real = is_real && !type_is_complex(contraction->shape->type);
  walk->fits = walk->fits && is_first && is_real;
  walk->contraction = contraction;
}

/* Each element of |instruction| is made from that element of |operand|. */
static bool keeps_elements(const HloInstruction *instruction, const HloInstruction *operand) {
  if (!is_plain(instruction->shape) || !is_plain(operand->shape)) return false;
  if (hlo_is_view(instruction)) return true;
  return hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE) && shape_same_dims(instruction->shape, operand->shape);
}

/* Operands first, so that |reduce| depends on no other.  Fusions hold a few hundred instructions.  Whether
 * |instruction| is made from the contraction's sums. */
static bool visit(NestWalk *walk, const HloInstruction *instruction, bool alone) {
  int64_t is_known;
  if (int_map_find(&walk->seen, (uint64_t)instruction->id, &is_known)) return is_known > 0;
  bool has_sums = false;
  for (int i = 0; !alone && i < instruction->operand_count; i++) {
    if (!visit(walk, instruction->operands[i], false)) continue;
    has_sums = true;
    walk->fits = walk->fits && keeps_elements(instruction, instruction->operands[i]);
  }
  if (hlo_opcode_has(instruction->opcode, OP_CONTRACTION)) {
    visit_contraction(walk, instruction);
    has_sums = true;
  } else {
    walk->fits = walk->fits && runs_in_loops(instruction);
  }
  if (instruction->opcode == HLO_CONCATENATE) visit_concatenate(walk, instruction);
  if (walk->fits && instruction->opcode == HLO_REDUCE) visit_reduce(walk, instruction);
  int_map_set(&walk->seen, (uint64_t)instruction->id, has_sums);
  return has_sums;
}

/* Where |walk| has met a contraction: pieces are computed in turn, rows after others. */
static LoopNest sums_nest(const NestWalk *walk, const Shape *shape) {
  if (walk->reduce != NULL || walk->concatenates) return (LoopNest){.kind = LOOP_NEST_NONE};
  return (LoopNest){.kind = LOOP_NEST_SUMS, .shape = shape, .contraction = walk->contraction};
}

LoopNest hlo_loop_nest(const HloInstruction *made, bool alone, Arena *scratch) {
  LoopNest none = {.kind = LOOP_NEST_NONE}, nest = {.kind = LOOP_NEST_ELEMENTS};
  NestWalk walk = {.scratch = scratch, .fits = true};
  int_map_init(&walk.seen, scratch);
  nest.shape = made->opcode == HLO_REDUCE ? first_array(made->shape) : made->shape;
  if (made->opcode == HLO_DYNAMIC_UPDATE_SLICE || made->opcode == HLO_PARAMETER || !is_plain(nest.shape)) return none;
  if (nest.shape->rank > 0) walk.last_dim = nest.shape->dims[nest.shape->rank - 1];
  visit(&walk, made, alone);
  if (!walk.fits) return none;
  if (walk.contraction != NULL) return sums_nest(&walk, nest.shape);
  if (walk.reduce == NULL) {
    nest.columns = walk.columns;
    return nest;
  }
  nest.kind = LOOP_NEST_REDUCED;
  nest.reduce = walk.reduce;
  nest.rows = shape_element_count(first_array(walk.reduce->shape));
  return hlo_row_dims(nest.shape, nest.rows) < 0 ? none : nest;
}

/* --- several --- */

static bool elements_unite(const LoopNest *a, const LoopNest *b) {
  return shape_element_count(a->shape) == shape_element_count(b->shape);
}

/* Elements of what is reduced, or rows beside its results. */
static bool elements_fit_reduced(const LoopNest *elements, const LoopNest *reduced) {
  const Shape *input = reduced->reduce->operands[0]->shape;
  int64_t row = shape_element_count(elements->shape) / reduced->rows;
  if (elements->columns > 0 && row > elements->columns) return false;
  if (shape_same_dims(elements->shape, input)) return true;
  return hlo_reduces_rows(reduced->reduce, reduced->rows) && hlo_row_dims(elements->shape, reduced->rows) >= 0;
}

/* All make as many elements, from one contraction at most. */
static bool sums_unite(const LoopNest *nests, int count, const LoopNest *sums) {
  for (int i = 0; i < count; i++) {
    bool is_other = nests[i].kind == LOOP_NEST_SUMS && nests[i].contraction != sums->contraction;
    if (is_other || nests[i].kind == LOOP_NEST_REDUCED || nests[i].columns > 0) return false;
    if (nests[i].kind == LOOP_NEST_NONE || !elements_unite(&nests[i], sums)) return false;
  }
  return true;
}

bool hlo_loop_nests_unite(const LoopNest *nests, int count) {
  const LoopNest *reference = &nests[0];
  for (int i = 0; i < count; i++) {
    if (nests[i].kind == LOOP_NEST_SUMS) return sums_unite(nests, count, &nests[i]);
    if (nests[i].kind == LOOP_NEST_REDUCED && reference->kind != LOOP_NEST_REDUCED) reference = &nests[i];
  }
  for (int i = 0; i < count; i++) {
    if (nests[i].kind == LOOP_NEST_NONE) return false;
    bool unites = nests[i].kind == LOOP_NEST_REDUCED     ? reduces_alike(nests[i].reduce, reference->reduce)
                  : reference->kind == LOOP_NEST_REDUCED ? elements_fit_reduced(&nests[i], reference)
                                                         : elements_unite(&nests[i], reference);
    if (!unites) return false;
  }
  return true;
}
