#include <math.h>

#include "hlo/ir/collective_reducer.h"
#include "passes/cleanup/control_edges.h"
#include "passes/cleanup/shape_coercion.h"
#include "passes/expand/graph_builder.h"
#include "passes/pipeline/control_computations.h"

/* A table of which a step of training looks few rows up (an embedding) has a gradient that is zero but for these: only
 * they are updated, and the gradient is no array as large as the table.
 *
 *   g = f32[50000,128] scatter(zeros, i, u), adds             owner = s32[1024] gather(scatter(…, i, iota), i)
 *   w = f32[50000,128] subtract(table, g * 0.1)          ->   sums = f32[1024,128] scatter(zeros, owner, u), adds
 *                                                             rows = gather(table, i) - gather(sums, owner) * 0.1
 *                                                             w = f32[50000,128] scatter(table, i, rows), sets
 *
 * Rows that come several times in |i| have one owner, one of their places in it, where what they add is summed, in the
 * order that it was.  Each of these places makes the same row, so it does not matter which one is written last.  So
 * all bits are what they were.  Where a step of nothing may change the table (a rate that is known only at run time may
 * be infinite, weights decay), all of it is updated by such a step before: still no gradient is stored and read. */

enum {
  MOST_SCATTERS = 4,                 /* that are summed to one gradient */
  MOST_ROWS_PERCENT = 25,            /* of the table: more of them take as long as going through all of it */
  MOST_KEPT_ROWS_PERCENT = 40,       /* the same where a Buffer keeps what is summed */
  MOST_ROWS_BESIDE_ALL_PERCENT = 10, /* the same where the others are updated as well */
  MOST_STEPS = 8,                    /* from a scatter to what is added */
  LEAST_ROW_BYTES = 32,              /* eight times what an owner takes */
  LEAST_TABLE_BYTES = 8 * 1024,      /* less is gone through as fast as the steps begin */
};

/* A scatter that adds whole rows to zeros.  Lists are of its attributes. */
typedef struct RowScatter {
  HloInstruction *scatter;
  Int64List window;      /* dimensions of the updates that are those of a row */
  Int64List inserted;    /* dimensions of the table that the others of the updates stand for: all that are indexed */
  Int64List map;         /* of which of these each number of an index is */
  int64_t vector;        /* the dimension of indices that an index lies along; their rank: it is one number */
  const Shape *places;   /* s32, one for each index */
  HloInstruction *owner; /* of |places|: where its row is summed; beyond all of them where it has none */
} RowScatter;

/* What a step is where no row is added. */
typedef enum Nothing { NO_STEP, POSITIVE_ZERO, NEGATIVE_ZERO, SOMETHING } Nothing;

typedef struct RowUpdate {
  HloInstruction *table; /* what is updated */
  HloInstruction *step;  /* what is made of the scatters and added or subtracted, as large */
  RowScatter scatters[MOST_SCATTERS];
  int count;
  int64_t places;    /* of all scatters */
  bool keeps_others; /* rows that nothing is added to stay as they are, to the bit */
} RowUpdate;

/* --- what is updated in rows --- */

static bool is_plain_array(const HloInstruction *value) {
  const Shape *shape = value->shape;
  return shape_is_static_array(shape) && shape_has_default_layout(shape) && shape_element_count(shape) > 0;
}

/* The number that |value| is everywhere; NAN: it is no such constant. */
static double splat_number(const HloInstruction *value) {
  const HloInstruction *scalar = value->opcode == HLO_BROADCAST ? value->operands[0] : NULL;
  if (scalar == NULL || scalar->opcode != HLO_CONSTANT || scalar->shape->rank != 0) return NAN;
  return literal_get_double(hlo_instruction_literal(scalar), 0);
}

/* Dimensions of |scatter|'s array are either indexed, one at a time, or whole in each row. */
static bool takes_whole_rows(const HloInstruction *scatter, const RowScatter *row) {
  const Shape *table = scatter->shape, *updates = scatter->operands[2]->shape;
  if (row->map.count == 0 || row->map.count != row->inserted.count) return false;
  if (row->window.count + row->inserted.count != table->rank) return false;
  for (int64_t i = 0; i < row->map.count; i++) {
    if (!int64_list_has(row->inserted, row->map.data[i])) return false;
  }
  for (int d = 0, next = 0; d < table->rank; d++) {
    if (!int64_list_has(row->inserted, d) && updates->dims[row->window.data[next++]] != table->dims[d]) return false;
  }
  return true;
}

/* Index by index: the dimensions of |indices| without the one that an index lies along. */
static const Shape *shape_of_places(ShapeTable *shapes, const Shape *indices, int64_t vector) {
  int64_t dims[SHAPE_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < indices->rank; d++) {
    if (d != vector) dims[rank++] = indices->dims[d];
  }
  return shape_array(shapes, TYPE_S32, dims, rank);
}

static bool find_row_scatter(HloInstruction *scatter, RowScatter *out) {
  HloOpcode opcode;
  if (scatter->opcode != HLO_SCATTER || scatter->operand_count != 3 || scatter->user_count != 1) return false;
  for (int i = 0; i < 3; i++) {
    if (!is_plain_array(scatter->operands[i])) return false;
  }
  const HloComputation *combiner = hlo_instruction_computation(scatter, HLO_ATTR_TO_APPLY);
  if (!hlo_reducer_opcode(combiner, &opcode) || opcode != HLO_ADD) return false;
  if (combiner->root->shape->type != scatter->shape->type || !type_is_plain_float(scatter->shape->type)) return false;
  double first = splat_number(scatter->operands[0]);
  PrimitiveType index = scatter->operands[1]->shape->type;
  if (first != 0 || signbit(first) || type_storage_bytes(index) < 4) return false;
  if (hlo_instruction_ints(scatter, HLO_ATTR_INPUT_BATCHING_DIMS).count > 0) return false;
  *out = (RowScatter){
      .scatter = scatter,
      .window = hlo_instruction_ints(scatter, HLO_ATTR_UPDATE_WINDOW_DIMS),
      .inserted = hlo_instruction_ints(scatter, HLO_ATTR_INSERTED_WINDOW_DIMS),
      .map = hlo_instruction_ints(scatter, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS),
      .vector = hlo_instruction_int(scatter, HLO_ATTR_INDEX_VECTOR_DIM, 0),
  };
  out->places = shape_of_places(scatter->parent->module->shapes, scatter->operands[1]->shape, out->vector);
  return takes_whole_rows(scatter, out);
}

/* It lies in memory already: to read some rows once more costs little. */
static bool is_in_memory(const HloInstruction *value) {
  return value->opcode == HLO_PARAMETER || value->opcode == HLO_GET_TUPLE_ELEMENT;
}

static bool is_step_of_two(HloOpcode opcode) {
  return opcode == HLO_ADD || opcode == HLO_SUBTRACT || opcode == HLO_MULTIPLY || opcode == HLO_DIVIDE;
}

static bool is_in_memory_or_splat(const HloInstruction *value) {
  return is_in_memory(value) || (value->opcode == HLO_BROADCAST && value->operands[0]->shape->rank == 0);
}

/* An array that costs no more where its rows are computed once more: weights that decay, a rate. */
static bool is_cheap(const HloInstruction *value) {
  if (!is_plain_array(value)) return false;
  if (!is_step_of_two(value->opcode)) return is_in_memory_or_splat(value);
  return is_in_memory_or_splat(value->operands[0]) && is_in_memory_or_splat(value->operands[1]);
}

/* What |value| is where no row is added; what is added goes to |update|'s scatters.  It is made of them by operations
 * that take no more than |depth| steps, and of arrays that are computed in the rows alone as well. */
static Nothing nothing_of(RowUpdate *update, HloInstruction *value, int depth);

static Nothing negated(Nothing nothing) {
  return nothing == POSITIVE_ZERO ? NEGATIVE_ZERO : nothing == NEGATIVE_ZERO ? POSITIVE_ZERO : nothing;
}

static bool is_zero(Nothing nothing) {
  return nothing == POSITIVE_ZERO || nothing == NEGATIVE_ZERO;
}

/* The sum of |a| and |b|; of zeros it is -0 only where both are. */
static Nothing nothing_of_sum(Nothing a, Nothing b) {
  if (!is_zero(a) || !is_zero(b)) return SOMETHING;
  return a == b ? a : POSITIVE_ZERO;
}

/* |nothing| times a finite |factor| that is not 0, or divided by it. */
static Nothing nothing_scaled(Nothing nothing, double factor) {
  if (!isfinite(factor) || factor == 0) return SOMETHING;
  return factor < 0 ? negated(nothing) : nothing;
}

static Nothing nothing_of_two(RowUpdate *update, const HloInstruction *value, int depth) {
  HloInstruction *const *operands = value->operands;
  Nothing a = nothing_of(update, operands[0], depth - 1), b = nothing_of(update, operands[1], depth - 1);
  if (a == NO_STEP && b == NO_STEP) return NO_STEP;
  if ((a == NO_STEP && !is_cheap(operands[0])) || (b == NO_STEP && !is_cheap(operands[1]))) return NO_STEP;
  switch (value->opcode) {
    case HLO_ADD: return nothing_of_sum(a, b);
    case HLO_SUBTRACT: return nothing_of_sum(a, negated(b));
    case HLO_MULTIPLY:
      return a == NO_STEP ? nothing_scaled(b, splat_number(operands[0])) : nothing_scaled(a, splat_number(operands[1]));
    default: return a == NO_STEP ? SOMETHING : nothing_scaled(a, splat_number(operands[1]));
  }
}

static Nothing nothing_of(RowUpdate *update, HloInstruction *value, int depth) {
  if (depth == 0 || value->user_count != 1) return NO_STEP;
  if (!is_plain_array(value) || !type_is_plain_float(value->shape->type)) return NO_STEP;
  if (value->opcode == HLO_SCATTER) {
    if (update->count == MOST_SCATTERS || !find_row_scatter(value, &update->scatters[update->count])) return NO_STEP;
    update->places += shape_element_count(update->scatters[update->count++].places);
    return POSITIVE_ZERO;
  }
  if (value->opcode == HLO_NEGATE) return negated(nothing_of(update, value->operands[0], depth - 1));
  if (value->opcode == HLO_CONVERT) return nothing_of(update, value->operands[0], depth - 1);
  return is_step_of_two(value->opcode) ? nothing_of_two(update, value, depth) : NO_STEP;
}

/* table + step, table - step. */
static bool find_update(HloInstruction *sum, RowUpdate *out) {
  if ((sum->opcode != HLO_ADD && sum->opcode != HLO_SUBTRACT) || !is_plain_array(sum)) return false;
  for (int i = 1; i >= (sum->opcode == HLO_SUBTRACT ? 1 : 0); i--) {
    *out = (RowUpdate){.table = sum->operands[1 - i], .step = sum->operands[i]};
    if (out->table == out->step || !is_plain_array(out->table)) continue;
    Nothing nothing = nothing_of(out, out->step, MOST_STEPS);
    out->keeps_others = nothing == (sum->opcode == HLO_ADD ? NEGATIVE_ZERO : POSITIVE_ZERO);
    if (nothing != NO_STEP) return true;
  }
  return false;
}

/* Rows are so few, and the table so large, that it pays. */
static bool is_worthwhile(const RowUpdate *update, const MachineDescription *machine) {
  const Shape *table = update->table->shape;
  int64_t rows = 1, bytes = shape_byte_size(table), places = update->places;
  for (int64_t i = 0; i < update->scatters[0].inserted.count; i++)
    rows *= table->dims[update->scatters[0].inserted.data[i]];
  if (rows > INT32_MAX || bytes / rows < LEAST_ROW_BYTES) return false;
  if (!machine_has_buffer(machine)) {
    int64_t percent = update->keeps_others ? MOST_ROWS_PERCENT : MOST_ROWS_BESIDE_ALL_PERCENT;
    if (!update->keeps_others && !is_in_memory(update->table)) return false;
    return bytes >= LEAST_TABLE_BYTES && places <= rows * percent / 100;
  }
  /* A scatter to memory goes through all of the table there, as what updates all of it does once more. */
  if (!update->keeps_others) return false;
  /* A table that the Buffer holds stays there from the gradient to the update; so do sums. */
  int64_t room = machine_line_bytes(machine);
  bool holds_sums = places <= room * 3 / 4 / (bytes / rows);
  int64_t percent = holds_sums ? MOST_KEPT_ROWS_PERCENT : MOST_ROWS_PERCENT;
  return bytes >= room - room / 16 && places <= rows * percent / 100;
}

/* The same dimensions are indexed. */
static bool are_alike(const RowUpdate *update) {
  const Int64List *first = &update->scatters[0].inserted;
  for (int s = 1; s < update->count; s++) {
    const Int64List *other = &update->scatters[s].inserted;
    if (other->count != first->count) return false;
    for (int64_t i = 0; i < first->count; i++) {
      if (other->data[i] != first->data[i]) return false;
    }
  }
  return true;
}

/* --- rows in its place --- */

/* The rows of |table| at |indices|, as a scatter to them has them: dimensions |inserted| are indexed. */
static HloInstruction *take_rows(GraphBuilder *builder, HloInstruction *table, HloInstruction *indices,
                                 const RowScatter *as, const Shape *rows) {
  int64_t sizes[SHAPE_MAX_RANK];
  for (int d = 0; d < table->shape->rank; d++) sizes[d] = int64_list_has(as->inserted, d) ? 1 : table->shape->dims[d];
  HloInstruction *gather = graph_add(builder, HLO_GATHER, rows, (HloInstruction *[]){table, indices}, 2);
  hlo_instruction_set_ints(gather, HLO_ATTR_OFFSET_DIMS, as->window.data, as->window.count);
  hlo_instruction_set_ints(gather, HLO_ATTR_COLLAPSED_SLICE_DIMS, as->inserted.data, as->inserted.count);
  hlo_instruction_set_ints(gather, HLO_ATTR_START_INDEX_MAP, as->map.data, as->map.count);
  hlo_instruction_set_int(gather, HLO_ATTR_INDEX_VECTOR_DIM, as->vector);
  hlo_instruction_set_ints(gather, HLO_ATTR_SLICE_SIZES, sizes, table->shape->rank);
  return gather;
}

static HloInstruction *put_rows(GraphBuilder *builder, HloInstruction *table, HloInstruction *indices,
                                HloInstruction *rows, const RowScatter *as, HloComputation *combiner) {
  HloInstruction *scatter =
      graph_add(builder, HLO_SCATTER, table->shape, (HloInstruction *[]){table, indices, rows}, 3);
  hlo_instruction_set_ints(scatter, HLO_ATTR_UPDATE_WINDOW_DIMS, as->window.data, as->window.count);
  hlo_instruction_set_ints(scatter, HLO_ATTR_INSERTED_WINDOW_DIMS, as->inserted.data, as->inserted.count);
  hlo_instruction_set_ints(scatter, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, as->map.data, as->map.count);
  hlo_instruction_set_int(scatter, HLO_ATTR_INDEX_VECTOR_DIM, as->vector);
  hlo_instruction_set_computation(scatter, HLO_ATTR_TO_APPLY, combiner);
  return scatter;
}

/* (old, new) → new */
static HloComputation *setter(GraphBuilder *builder, PrimitiveType type) {
  HloModule *module = builder->computation->module;
  HloComputation *computation = hlo_module_add_computation(module, SV("set_row"));
  const Shape *shape = shape_scalar(module->shapes, type);
  hlo_computation_add_parameter(computation, 0, shape, SV("old"));
  computation->root = hlo_computation_add_parameter(computation, 1, shape, SV("new"));
  return computation;
}

/* A scatter or gather of numbers, one for each row of |of|'s table: what is indexed are all dimensions. */
static RowScatter numbers_like(GraphBuilder *builder, const RowScatter *of) {
  RowScatter numbers = {.vector = of->vector};
  int64_t *all = ARENA_NEW_ARRAY(builder->scratch, int64_t, of->inserted.count),
          *map = ARENA_NEW_ARRAY(builder->scratch, int64_t, of->map.count);
  for (int64_t i = 0; i < of->inserted.count; i++) {
    all[i] = i;
    for (int64_t k = 0; k < of->map.count; k++) {
      if (of->map.data[k] == of->inserted.data[i]) map[k] = i;
    }
  }
  numbers.inserted = (Int64List){of->inserted.count, all};
  numbers.map = (Int64List){of->map.count, map};
  return numbers;
}

/* A scatter or gather of rows of sums, by the owner's number. */
static RowScatter sums_like(const RowScatter *of) {
  static const int64_t first = 0;
  return (RowScatter){.window = of->window, .inserted = {1, &first}, .map = {1, &first}, .vector = of->places->rank};
}

/* Whether the index at each place is inside of |table|. */
static HloInstruction *is_inside(GraphBuilder *builder, const RowScatter *row, const Shape *table) {
  HloInstruction *indices = row->scatter->operands[1], *inside = NULL;
  PrimitiveType type = indices->shape->type;
  const Shape *like = shape_with_type(graph_shapes(builder), row->places, type);
  for (int64_t k = 0; k < row->map.count; k++) {
    HloInstruction *number =
        row->vector < indices->shape->rank ? graph_slice(builder, indices, (int)row->vector, k, k + 1) : indices;
    number = graph_reshape(builder, number, like->dims, like->rank);
    HloInstruction *low =
        graph_compare(builder, COMPARISON_DIRECTION_GE, number, graph_integer(builder, type, 0, like));
    HloInstruction *end = graph_integer(builder, type, table->dims[row->map.data[k]], like);
    HloInstruction *both =
        graph_binary(builder, HLO_AND, low, graph_compare(builder, COMPARISON_DIRECTION_LT, number, end));
    inside = inside == NULL ? both : graph_binary(builder, HLO_AND, inside, both);
  }
  return inside;
}

/* Which place sums the row of each: one of those that write their number where the row's stands. */
static void find_owners(GraphBuilder *builder, RowUpdate *update) {
  const Shape *table = update->table->shape;
  int64_t dims[SHAPE_MAX_RANK], first = 0;
  const Int64List *inserted = &update->scatters[0].inserted;
  for (int64_t i = 0; i < inserted->count; i++) dims[i] = table->dims[inserted->data[i]];
  const Shape *rows = shape_array(graph_shapes(builder), TYPE_S32, dims, (int)inserted->count);
  HloInstruction *owners = graph_zero(builder, TYPE_S32, rows);
  HloComputation *set = setter(builder, TYPE_S32);
  for (int s = 0; s < update->count; s++) {
    RowScatter *row = &update->scatters[s], numbers = numbers_like(builder, row);
    int64_t count = shape_element_count(row->places);
    HloInstruction *places = graph_iota(builder, TYPE_S32, &count, 1, 0);
    if (first > 0)
      places = graph_binary(builder, HLO_ADD, places, graph_integer(builder, TYPE_S32, first, places->shape));
    places = graph_reshape(builder, places, row->places->dims, row->places->rank);
    owners = put_rows(builder, owners, row->scatter->operands[1], places, &numbers, set);
    first += count;
  }
  for (int s = 0; s < update->count; s++) {
    RowScatter *row = &update->scatters[s], numbers = numbers_like(builder, row);
    HloInstruction *owner = take_rows(builder, owners, row->scatter->operands[1], &numbers, row->places);
    row->owner = graph_select(builder, is_inside(builder, row, table), owner,
                              graph_integer(builder, TYPE_S32, update->places, row->places));
  }
}

/* What |row| adds to each row, by its owner. */
static HloInstruction *sum_rows(GraphBuilder *builder, const RowUpdate *update, const RowScatter *row) {
  const HloInstruction *scatter = row->scatter;
  int64_t dims[SHAPE_MAX_RANK] = {update->places};
  for (int64_t i = 0; i < row->window.count; i++) dims[1 + i] = scatter->operands[2]->shape->dims[row->window.data[i]];
  const Shape *shape = shape_array(graph_shapes(builder), scatter->shape->type, dims, (int)row->window.count + 1);
  RowScatter as = sums_like(row);
  return put_rows(builder, graph_zero(builder, shape->type, shape), row->owner, scatter->operands[2], &as,
                  hlo_instruction_computation(scatter, HLO_ATTR_TO_APPLY));
}

/* |value| is made of |update|'s scatters, as nothing_of finds them. */
static bool is_made_of(const RowUpdate *update, const HloInstruction *value, int depth) {
  if (depth == 0 || value->user_count != 1) return false;
  for (int s = 0; s < update->count; s++) {
    if (update->scatters[s].scatter == value) return true;
  }
  if (value->opcode != HLO_NEGATE && value->opcode != HLO_CONVERT && !is_step_of_two(value->opcode)) return false;
  for (int i = 0; i < value->operand_count; i++) {
    if (is_made_of(update, value->operands[i], depth - 1)) return true;
  }
  return false;
}

/* The rows at |at|'s places of |value|, which is made of the scatters, whose sums are |sums|, in |depth| steps. */
static HloInstruction *step_rows(GraphBuilder *builder, const RowUpdate *update, HloInstruction *const *sums,
                                 const RowScatter *at, HloInstruction *value, int depth) {
  const Shape *updates = at->scatter->operands[2]->shape,
              *shape = shape_with_type(graph_shapes(builder), updates, value->shape->type);
  RowScatter as = sums_like(at);
  for (int s = 0; s < update->count; s++) {
    if (update->scatters[s].scatter == value) return take_rows(builder, sums[s], at->owner, &as, shape);
  }
  if (!is_made_of(update, value, depth)) {
    if (value->opcode == HLO_BROADCAST && value->operands[0]->shape->rank == 0)
      return graph_splat(builder, value->operands[0], shape);
    return take_rows(builder, value, at->scatter->operands[1], at, shape);
  }
  HloInstruction *operands[2];
  for (int i = 0; i < value->operand_count; i++)
    operands[i] = step_rows(builder, update, sums, at, value->operands[i], depth - 1);
  return graph_add(builder, value->opcode, shape, operands, value->operand_count);
}

/* |value| where no row is added: zeros in the scatters' place. */
static HloInstruction *step_of_nothing(GraphBuilder *builder, const RowUpdate *update, HloInstruction *value,
                                       int depth) {
  if (value->opcode == HLO_SCATTER && is_made_of(update, value, depth)) return value->operands[0];
  if (!is_made_of(update, value, depth)) return value;
  HloInstruction *operands[2];
  for (int i = 0; i < value->operand_count; i++)
    operands[i] = step_of_nothing(builder, update, value->operands[i], depth - 1);
  return graph_add(builder, value->opcode, value->shape, operands, value->operand_count);
}

static HloInstruction *update_rows(GraphBuilder *builder, RowUpdate *update) {
  HloInstruction *sums[MOST_SCATTERS], *rows[MOST_SCATTERS], *table = update->table;
  PrimitiveType type = table->shape->type;
  find_owners(builder, update);
  for (int s = 0; s < update->count; s++) sums[s] = sum_rows(builder, update, &update->scatters[s]);
  for (int s = 0; s < update->count; s++) {
    const RowScatter *at = &update->scatters[s];
    const Shape *shape = shape_with_type(graph_shapes(builder), at->scatter->operands[2]->shape, type);
    HloInstruction *step = step_rows(builder, update, sums, at, update->step, MOST_STEPS);
    HloInstruction *old = take_rows(builder, update->table, at->scatter->operands[1], at, shape);
    rows[s] = graph_binary(builder, builder->origin->opcode, old, step);
  }
  if (!update->keeps_others)
    table = graph_binary(builder, builder->origin->opcode, table,
                         step_of_nothing(builder, update, update->step, MOST_STEPS));
  HloComputation *set = setter(builder, type);
  for (int s = 0; s < update->count; s++) {
    const RowScatter *at = &update->scatters[s];
    table = put_rows(builder, table, at->scatter->operands[1], rows[s], at, set);
  }
  return table;
}

/* --- the pass --- */

static bool has_scatter(const HloComputation *computation) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    if (computation->instructions.data[i]->opcode == HLO_SCATTER) return true;
  }
  return false;
}

static Status run_row_updater(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t count;
  HloComputation **computations = control_computations(module, context->scratch, &count);
  for (int64_t c = 0; c < count; c++) {
    if (!has_scatter(computations[c])) continue;
    int64_t candidates;
    HloInstruction **sums = control_edges_free_order(computations[c], context->scratch, &candidates);
    /* Users first: the whole of a sum of several scatters. */
    for (int64_t i = candidates - 1; i >= 0; i--) {
      RowUpdate update;
      if (!find_update(sums[i], &update) || !are_alike(&update)) continue;
      if (!is_worthwhile(&update, context->options->machine) || !hlo_pass_may_rewrite(context)) continue;
      GraphBuilder builder = {computations[c], sums[i], context->scratch};
      HloInstruction *result = update_rows(&builder, &update);
      hlo_pass_count_rewrite(context, "update-of-rows", sums[i]);
      hlo_computation_replace_instruction(computations[c], sums[i], shape_coerce(result, sums[i]->shape));
      *out_changed = true;
    }
  }
  return STATUS_OK;
}

const HloPass hlo_row_updater_pass = {
    "row-updater", "updates of the rows that a scatter adds to, not of all of a table", run_row_updater, false};
