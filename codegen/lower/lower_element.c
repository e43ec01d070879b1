/* Elements of instructions: dispatch by family, sharing, operands of the Kernel, and the lane-wise families. */
#include "codegen/lower/lowering_internal.h"
#include "hlo/analysis/complex_sums.h"

typedef struct LoweringMemo {
  const HloInstruction *instruction;
  const IndexExpr *index;
  int32_t predicate, value;
  struct LoweringMemo *next; /* of equal hash */
} LoweringMemo;

static ElementRule *const element_rules[HLO_OPCODE_COUNT] = {
#define HLO_OP(id, text, min, max, traits, access, cost, flow, infer, eval, emit, lanes, attributes) \
  [HLO_##id] = element_##emit,
#include "hlo/ir/hlo_opcode.def"
#undef HLO_OP
};

/* --- operands of the Kernel --- */

static int operand_number(const HloInstruction *source, const HloInstruction *operand) {
  for (int i = 0; i < source->operand_count; i++) {
    if (source->operands[i] == operand) return i;
  }
  return -1;
}

static int32_t load_leaf(Lowering *lowering, int operand, int node, const Shape *leaf, const IndexExpr *index) {
  int32_t position;
  const HloInstruction *outside = lowering->source->operands[operand];
  if (outside->opcode == HLO_CONSTANT && shape_is_array(outside->shape)) {
    const Literal *literal = hlo_instruction_literal(outside);
    if (!literal->elided && literal_is_splat(literal)) return lowering_constant_element(lowering, literal, 0);
    if (lowering_constant_position(lowering, literal, index, &position)) return position;
  }
  int32_t buffer = lowering_buffer(lowering, KERNEL_OPERAND, operand, node, leaf);
  return lowering_load(lowering, buffer, lowering_address(lowering, leaf, index));
}

/* An array from outside: an operand of a single operation, a parameter of a fusion, or an element of a tuple among
 * either.  -1: not from outside. */
static int outside_operand(const Lowering *lowering, const HloInstruction *instruction, int *out_node) {
  *out_node = 0;
  const HloInstruction *base = instruction;
  if (lowering->fused != NULL && base->opcode == HLO_GET_TUPLE_ELEMENT && base->operands[0]->opcode == HLO_PARAMETER) {
    base = base->operands[0];
    *out_node = shape_node_child(base->shape, 0, hlo_instruction_int(instruction, HLO_ATTR_INDEX, 0));
  }
  if (lowering->fused != NULL) {
    return base->opcode == HLO_PARAMETER ? (int)hlo_instruction_parameter_number(base) : -1;
  }
  return base == lowering->source ? -1 : operand_number(lowering->source, base);
}

/* --- rows --- */

static int stage_dims(const Lowering *lowering, int stage, int *out_dims) {
  int count = 0;
  for (int d = 0; d < lowering->draft.dims.count; d++) {
    if (lowering->draft.dims.data[d].stage == stage) out_dims[count++] = d;
  }
  return count;
}

/* Row-major position among the points of |stage|. */
static IndexExpr row_position(Lowering *lowering, int stage) {
  int dims[KERNEL_MAX_DIMS];
  IndexExpr position = index_constant(0);
  int count = stage_dims(lowering, stage, dims);
  for (int i = 0; i < count; i++) {
    int64_t extent = lowering->draft.dims.data[dims[i]].extent;
    position = index_add(&lowering->draft.space, index_scale(&lowering->draft.space, position, extent),
                         index_dim(&lowering->draft.space, dims[i], extent));
  }
  return position;
}

/* Worth keeping in a row buffer of |stage|'s points between the stages of a Kernel rather than computing again: roots
 * and functions, where rows are short any lane-wise work. */
static bool is_row_value(Lowering *lowering, const HloInstruction *instruction, int stage) {
  OpCost cost = hlo_opcode_info(instruction->opcode)->cost;
  if (cost == OP_COST_SQRT || hlo_opcode_is_function(instruction->opcode)) return true;
  if (!hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE) || cost < OP_COST_ADD || lowering->target.row_bytes == 0)
    return false;
  int64_t lower, upper;
  index_range(&lowering->draft.space, row_position(lowering, stage), &lower, &upper);
  return (upper + 1) * type_storage_bytes(instruction->shape->type) <= lowering->target.row_bytes;
}

/* |expr| of a point of stage |from| at the same point of stage |to|; false when it has more than plain terms. */
static bool move_index(Lowering *lowering, IndexExpr expr, const int *from, const int *to, int count,
                       IndexExpr *out_expr) {
  IndexExpr moved = index_constant(expr.constant);
  for (int t = 0; t < expr.term_count; t++) {
    IndexAtom atom = lowering->draft.space.atoms.data[expr.terms[t].atom];
    if (atom.kind != INDEX_ATOM_DIM) return false;
    int dim = atom.number;
    for (int i = 0; i < count; i++) {
      if (from[i] == atom.number) dim = to[i];
    }
    IndexExpr term = index_dim(&lowering->draft.space, dim, lowering->draft.dims.data[dim].extent);
    moved =
        index_add(&lowering->draft.space, moved, index_scale(&lowering->draft.space, term, expr.terms[t].coefficient));
  }
  *out_expr = moved;
  return true;
}

/* The row was computed at the point that |index| asks for, when the stages walk the same points. */
static bool row_matches(Lowering *lowering, const RowValue *row, const HloInstruction *instruction,
                        const IndexExpr *index) {
  if (row->instruction != instruction || row->stage == lowering->current_stage) return false;
  int from[KERNEL_MAX_DIMS], to[KERNEL_MAX_DIMS];
  int count = stage_dims(lowering, row->stage, from);
  if (count != stage_dims(lowering, lowering->current_stage, to)) return false;
  for (int i = 0; i < count; i++) {
    if (lowering->draft.dims.data[from[i]].extent != lowering->draft.dims.data[to[i]].extent) return false;
  }
  for (int i = 0; i < instruction->shape->rank; i++) {
    IndexExpr moved;
    if (!move_index(lowering, row->index[i], from, to, count, &moved) || !index_equal(moved, index[i])) return false;
  }
  return true;
}

static bool is_running(const Lowering *lowering, int stage) {
  for (int64_t i = 0; i < lowering->stage_order.count; i++) {
    if (lowering->stage_order.data[i] == stage) return false;
  }
  return true;
}

/* Makes the stage of |row| store it. */
static void store_row(Lowering *lowering, RowValue *row) {
  PrimitiveType type = row->instruction->shape->type;
  IndexExpr position = row_position(lowering, row->stage);
  int64_t lower, upper;
  index_range(&lowering->draft.space, position, &lower, &upper);
  for (int part = 0; part < (type_is_complex(type) ? 2 : 1); part++) {
    PrimitiveType stored = type_is_complex(type) ? type_complex_part(type) : type;
    KernelBuffer scratch = {KERNEL_SCRATCH, stored, upper + 1, -1, -1};
    int32_t value = type_is_complex(type) ? lowering_part(lowering, row->value, part) : row->value;
    row->buffers[part] = kernel_draft_add_buffer(&lowering->draft, scratch);
    lowering_add_store(lowering, row->stage, &(KernelStore){row->buffers[part], position, value, -1});
  }
}

static int32_t load_row(Lowering *lowering, const RowValue *row) {
  PrimitiveType type = row->instruction->shape->type;
  IndexExpr position = row_position(lowering, lowering->current_stage);
  int32_t first = lowering_load(lowering, row->buffers[0], position);
  if (!type_is_complex(type)) return first;
  return lowering_complex(lowering, type, first, lowering_load(lowering, row->buffers[1], position));
}

/* A value that an earlier stage computed; asking for it makes that stage store it. */
static bool read_row(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                     int32_t *out_value) {
  int stage = lowering->current_stage;
  if (stage == KERNEL_OUTER || lowering->predicate >= 0 || !is_row_value(lowering, instruction, stage)) return false;
  for (int64_t i = 0; i < lowering->row_values.count; i++) {
    RowValue *row = &lowering->row_values.data[i];
    if (is_running(lowering, row->stage) || !row_matches(lowering, row, instruction, index)) continue;
    if (row->buffers[0] < 0) store_row(lowering, row);
    *out_value = load_row(lowering, row);
    return true;
  }
  return false;
}

/* Whether |index| moves along the dims of |stage|: else the value is one of the whole row and costs nothing to keep. */
static bool walks_stage(const Lowering *lowering, int stage, const IndexExpr *index, int rank) {
  int dims[KERNEL_MAX_DIMS];
  int count = stage_dims(lowering, stage, dims);
  for (int i = 0; i < count; i++) {
    for (int d = 0; d < rank; d++) {
      if (index_dim_coefficient(&lowering->draft.space, index[d], dims[i]) != 0) return true;
    }
  }
  return false;
}

static void keep_row(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index, int32_t value) {
  int stage = lowering->current_stage;
  if (stage == KERNEL_OUTER || lowering->predicate >= 0 || !is_row_value(lowering, instruction, stage)) return;
  if (!walks_stage(lowering, stage, index, instruction->shape->rank)) return;
  RowValue row = {instruction,
                  ARENA_COPY_ARRAY(lowering->arena, IndexExpr, index, instruction->shape->rank),
                  stage,
                  value,
                  {-1, -1}};
  array_push(&lowering->row_values, lowering->arena, row);
}

/* --- dispatch --- */

static uint64_t memo_hash(const Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index) {
  uint64_t hash = hash_combine((uint64_t)instruction->id, (uint64_t)lowering->predicate);
  for (int i = 0; i < instruction->shape->rank; i++) {
    hash = hash_combine(hash, (uint64_t)index[i].constant);
    for (int t = 0; t < index[i].term_count; t++) {
      hash = hash_combine(hash, (uint64_t)index[i].terms[t].coefficient * 64 + (uint64_t)index[i].terms[t].atom);
    }
  }
  return hash;
}

static bool memo_matches(const Lowering *lowering, const LoweringMemo *memo, const HloInstruction *instruction,
                         const IndexExpr *index) {
  if (memo->instruction != instruction || memo->predicate != lowering->predicate) return false;
  for (int i = 0; i < instruction->shape->rank; i++) {
    if (!index_equal(memo->index[i], index[i])) return false;
  }
  return true;
}

void lowering_forget_rows(Lowering *lowering) {
  int_map_init(&lowering->memo_map, lowering->arena);
}

static Status unsupported(const Lowering *lowering, const HloInstruction *instruction, const char *why) {
  Status status = diag_error(lowering->diag, STATUS_UNSUPPORTED, instruction->loc, "unsupported-op", "'%s' %s",
                             hlo_opcode_text(instruction->opcode), why);
  return status;
}

Status lower_element(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                     int32_t *out_value) {
  if (!shape_is_array(instruction->shape)) return unsupported(lowering, instruction, "has no elements");
  if (lowering_in_loop(lowering, instruction)) return lower_loop_state(lowering, instruction, index, out_value);
  int node;
  int operand = outside_operand(lowering, instruction, &node);
  if (operand >= 0) {
    *out_value = load_leaf(lowering, operand, node, instruction->shape, index);
    return STATUS_OK;
  }
  ElementRule *rule = element_rules[instruction->opcode];
  uint64_t hash = memo_hash(lowering, instruction, index);
  int64_t found = 0;
  LoweringMemo *first = int_map_find(&lowering->memo_map, hash, &found) ? (LoweringMemo *)(uintptr_t)found : NULL;
  for (LoweringMemo *memo = first; memo != NULL; memo = memo->next) {
    if (memo_matches(lowering, memo, instruction, index)) {
      *out_value = memo->value;
      return STATUS_OK;
    }
  }
  if (read_row(lowering, instruction, index, out_value)) return STATUS_OK;
  RETURN_IF_ERROR(rule(lowering, instruction, index, out_value));
  keep_row(lowering, instruction, index, *out_value);
  LoweringMemo *memo = ARENA_NEW(lowering->arena, LoweringMemo);
  *memo = (LoweringMemo){instruction, ARENA_COPY_ARRAY(lowering->arena, IndexExpr, index, instruction->shape->rank),
                         lowering->predicate, *out_value, first};
  int_map_set(&lowering->memo_map, hash, (int64_t)(uintptr_t)memo);
  return STATUS_OK;
}

/* --- lane-wise families --- */

/* The lane-wise operation of |instruction| on values. */
static int32_t apply_instruction(Lowering *lowering, const HloInstruction *instruction, const int32_t *operands) {
  int64_t params[2];
  emit_lane_params(instruction, params);
  return lowering_apply_with(lowering, instruction->opcode, instruction->shape->type, operands,
                             instruction->operand_count, params[0], params[1]);
}

/* |part| of sums that this fusion makes for it alone. */
static bool is_part_of_sums(const Lowering *lowering, const HloInstruction *part) {
  if (lowering->target.joins_parts || lowering->sum_part >= 0 || lowering->current_stage != KERNEL_OUTER) return false;
  return hlo_reads_one_part(part) && lowering->fused == part->parent;
}

/* The sums of one part of what a contraction of complex numbers makes. */
static Status part_of_sums(Lowering *lowering, const HloInstruction *part, const IndexExpr *index, int32_t *out_value) {
  lowering->sum_part = part->opcode == HLO_IMAG;
  Status status = lower_element(lowering, part->operands[0], index, out_value);
  lowering->sum_part = -1;
  return status;
}

Status element_elementwise(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                           int32_t *out_value) {
  if (is_part_of_sums(lowering, instruction)) return part_of_sums(lowering, instruction, index, out_value);
  int32_t operands[KERNEL_MAX_OPERANDS];
  for (int i = 0; i < instruction->operand_count; i++) {
    /* scalar predicates and bounds of select and clamp have no index */
    RETURN_IF_ERROR(lower_element(lowering, instruction->operands[i], index, &operands[i]));
  }
  *out_value = apply_instruction(lowering, instruction, operands);
  return STATUS_OK;
}

Status element_none(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index, int32_t *out_value) {
  (void)index, (void)out_value;
  return unsupported(lowering, instruction, "cannot be computed element by element");
}

Status element_forward(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                       int32_t *out_value) {
  const HloInstruction *operand = instruction->operands[0];
  if (instruction->opcode == HLO_GET_TUPLE_ELEMENT) {
    int64_t number = hlo_instruction_int(instruction, HLO_ATTR_INDEX, 0);
    if (operand->opcode == HLO_REDUCE) {
      const int32_t *values;
      RETURN_IF_ERROR(lower_reduce(lowering, operand, index, &values));
      *out_value = values[number];
      return STATUS_OK;
    }
    if (operand->opcode == HLO_WHILE) {
      const int32_t *values;
      RETURN_IF_ERROR(lower_loop(lowering, operand, index, &values));
      *out_value = values[number];
      return STATUS_OK;
    }
    if (operand->opcode == HLO_SORT) return element_sort(lowering, instruction, index, out_value);
    if (operand->opcode != HLO_TUPLE) return unsupported(lowering, instruction, "of this operand cannot be fused");
    operand = operand->operands[number];
  }
  return lower_element(lowering, operand, index, out_value);
}

Status element_constant(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                        int32_t *out_value) {
  (void)index;
  const Literal *literal = hlo_instruction_literal(instruction);
  if (!literal_is_splat(literal))
    return unsupported(lowering, instruction, "with several values stands inside a fusion");
  *out_value = lowering_constant_element(lowering, literal, 0);
  return STATUS_OK;
}

Status element_map(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index, int32_t *out_value) {
  int32_t *arguments = ARENA_NEW_ARRAY(lowering->arena, int32_t, instruction->operand_count);
  for (int i = 0; i < instruction->operand_count; i++) {
    RETURN_IF_ERROR(lower_element(lowering, instruction->operands[i], index, &arguments[i]));
  }
  return lower_region(lowering, hlo_instruction_computation(instruction, HLO_ATTR_TO_APPLY), arguments, out_value, 1);
}

static int32_t bits_as(Lowering *lowering, int32_t value, PrimitiveType type) {
  if (lowering_type(lowering, value) == type) return value;
  return lowering_apply(lowering, HLO_BITCAST_CONVERT, type, &value, 1);
}

/* Element |index| of the operand has more bits than the result's, which lie along one more dimension, the lowest
 * first. */
static Status lower_bits_of_wider(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                                  int32_t *out_value) {
  const HloInstruction *operand = instruction->operands[0];
  PrimitiveType wide = type_unsigned_of(operand->shape->type), narrow = type_unsigned_of(instruction->shape->type);
  int32_t operands[2];
  RETURN_IF_ERROR(lower_element(lowering, operand, index, &operands[0]));
  operands[0] = bits_as(lowering, operands[0], wide);
  IndexExpr part = index_scale(&lowering->draft.space, index[operand->shape->rank], type_bits(narrow));
  operands[1] = lowering_index_value(lowering, wide, part);
  int32_t shifted = lowering_apply(lowering, HLO_SHIFT_RIGHT_LOGICAL, wide, operands, 2);
  *out_value = bits_as(lowering, lowering_convert(lowering, shifted, narrow), instruction->shape->type);
  return STATUS_OK;
}

/* The other way around: the operand's last dimension is put together. */
static Status lower_bits_of_narrower(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                                     int32_t *out_value) {
  const HloInstruction *operand = instruction->operands[0];
  PrimitiveType wide = type_unsigned_of(instruction->shape->type), narrow = type_unsigned_of(operand->shape->type);
  int rank = instruction->shape->rank, count = type_bits(wide) / type_bits(narrow);
  IndexExpr *from = ARENA_NEW_ARRAY(lowering->arena, IndexExpr, rank + 1);
  for (int d = 0; d < rank; d++) from[d] = index[d];
  int32_t bits = -1;
  for (int i = 0; i < count; i++) {
    from[rank] = index_constant(i);
    int32_t part[2];
    RETURN_IF_ERROR(lower_element(lowering, operand, from, &part[0]));
    part[0] = lowering_convert(lowering, bits_as(lowering, part[0], narrow), wide);
    part[1] = lowering_constant_int(lowering, wide, (int64_t)i * type_bits(narrow));
    int32_t both[2] = {bits, i == 0 ? part[0] : lowering_apply(lowering, HLO_SHIFT_LEFT, wide, part, 2)};
    bits = i == 0 ? both[1] : lowering_apply(lowering, HLO_OR, wide, both, 2);
  }
  *out_value = bits_as(lowering, bits, instruction->shape->type);
  return STATUS_OK;
}

Status element_bitcast_convert(Lowering *lowering, const HloInstruction *instruction, const IndexExpr *index,
                               int32_t *out_value) {
  PrimitiveType from = instruction->operands[0]->shape->type, to = instruction->shape->type;
  if (type_bits(from) == type_bits(to)) return element_elementwise(lowering, instruction, index, out_value);
  if (type_unsigned_of(from) == TYPE_INVALID || type_unsigned_of(to) == TYPE_INVALID || type_is_complex(from) ||
      type_is_complex(to) || from == TYPE_PRED || to == TYPE_PRED)
    return unsupported(lowering, instruction, "between these types is not supported yet");
  return type_bits(from) > type_bits(to) ? lower_bits_of_wider(lowering, instruction, index, out_value)
                                         : lower_bits_of_narrower(lowering, instruction, index, out_value);
}

/* --- regions --- */

static Status lower_region_value(Lowering *lowering, const HloInstruction *instruction, const int32_t *arguments,
                                 IntMap *values) {
  int64_t found;
  int32_t value = -1;
  switch (emit_family(instruction->opcode)) {
    case EMIT_parameter: value = arguments[hlo_instruction_parameter_number(instruction)]; break;
    case EMIT_constant: value = lowering_constant_element(lowering, hlo_instruction_literal(instruction), 0); break;
    case EMIT_copy:
    case EMIT_indexed: /* of a scalar: the scalar */
      if (instruction->operand_count != 1) break;
      if (!int_map_find(values, (uint64_t)instruction->operands[0]->id, &found)) XLAC_BUG("region out of order");
      value = type_is_complex(instruction->shape->type) ? (int32_t)found
                                                        : bits_as(lowering, (int32_t)found, instruction->shape->type);
      break;
    case EMIT_elementwise:
    case EMIT_bitcast_convert: {
      int32_t operands[KERNEL_MAX_OPERANDS];
      for (int i = 0; i < instruction->operand_count; i++) {
        if (!int_map_find(values, (uint64_t)instruction->operands[i]->id, &found)) XLAC_BUG("region out of order");
        operands[i] = (int32_t)found;
      }
      value = apply_instruction(lowering, instruction, operands);
      break;
    }
    case EMIT_tuple: break; /* read by the root */
    default: return unsupported(lowering, instruction, "inside an applied computation is not supported yet");
  }
  if (value < 0 && instruction->opcode != HLO_TUPLE) return unsupported(lowering, instruction, "cannot be applied");
  int_map_set(values, (uint64_t)instruction->id, value);
  return STATUS_OK;
}

Status lower_region(Lowering *lowering, const HloComputation *region, const int32_t *arguments, int32_t *out_results,
                    int result_count) {
  IntMap values;
  int_map_init(&values, lowering->arena);
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(region, lowering->arena, &count);
  for (int64_t i = 0; i < count; i++) RETURN_IF_ERROR(lower_region_value(lowering, order[i], arguments, &values));
  const HloInstruction *root = region->root;
  for (int i = 0; i < result_count; i++) {
    const HloInstruction *leaf = root->opcode == HLO_TUPLE ? root->operands[i] : root;
    int64_t found = -1;
    if (!int_map_find(&values, (uint64_t)leaf->id, &found)) XLAC_BUG("region without its root");
    out_results[i] = (int32_t)found;
  }
  return STATUS_OK;
}

Status lower_guarded(Lowering *lowering, int32_t predicate, const HloInstruction *instruction, const IndexExpr *index,
                     int32_t *out_value) {
  int32_t saved = lowering->predicate;
  lowering->predicate = lowering_and(lowering, saved, predicate);
  Status status = lower_element(lowering, instruction, index, out_value);
  lowering->predicate = saved;
  return status;
}
