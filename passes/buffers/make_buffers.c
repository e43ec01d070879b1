#include <stdlib.h>

#include "base/array.h"
#include "base/checked_math.h"
#include "hlo/analysis/buffer_assignment_index.h"
#include "passes/buffers/assigner_internal.h"

/* --- values --- */

static int compare_time(const void *left, const void *right, void *context) {
  const LiveRange *ranges = context; /* hulls */
  int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
  if (ranges[a].from != ranges[b].from) return ranges[a].from < ranges[b].from ? -1 : 1;
  return a < b ? -1 : a > b;
}

static void number_values(Assigner *assigner) {
  int32_t count = assigner->analysis.flow->value_count;
  int32_t *order = ARENA_NEW_ARRAY(assigner->scratch, int32_t, count + 1);
  int32_t *numbers = ARENA_NEW_ARRAY(assigner->scratch, int32_t, count + 1);
  for (int32_t i = 0; i < count; i++) order[i] = i;
  qsort_r(order, (size_t)count, sizeof(int32_t), compare_time, (void *)(uintptr_t)assigner->analysis.liveness->hulls);
  for (int32_t i = 0; i < count; i++) numbers[order[i]] = i;
  assigner->order = order;
  assigner->numbers = numbers;
}

static void make_live_ranges(Assigner *assigner, HloValue *value, int32_t number) {
  const HloLiveness *liveness = assigner->analysis.liveness;
  int64_t length = assigner->analysis.ordering->length;
  int32_t first = liveness->first_ranges[number], count = liveness->first_ranges[number + 1] - first;
  BufferLiveRange *ranges = ARENA_NEW_ARRAY(assigner->arena, BufferLiveRange, count);
  for (int32_t i = 0; i < count; i++) {
    ranges[i].from = hlo_liveness_first_position(liveness->ranges[first + i], length);
    ranges[i].to = hlo_liveness_last_position(liveness->ranges[first + i], length);
    ranges[i].dead_after = hlo_liveness_dead_after(liveness->ranges[first + i], length);
  }
  value->range_count = count;
  value->ranges = ranges;
  value->live_from = ranges[0].from;
  value->live_to = ranges[count - 1].to;
}

static void make_values(Assigner *assigner) {
  const HloDataflow *flow = assigner->analysis.flow;
  BufferAssignment *assignment = assigner->assignment;
  assignment->value_count = flow->value_count;
  assignment->values = ARENA_NEW_ARRAY(assigner->arena, HloValue, flow->value_count + 1);
  for (int32_t i = 0; i < flow->value_count; i++) {
    HloValue *value = &assignment->values[i];
    *value = flow->values[assigner->order[i]];
    value->id = i;
    value->positions = ARENA_COPY_ARRAY(assigner->arena, BufferPosition, value->positions, value->position_count);
    value->uses = ARENA_COPY_ARRAY(assigner->arena, BufferUse, value->uses, value->use_count);
    make_live_ranges(assigner, value, assigner->order[i]);
  }
}

static void make_index(Assigner *assigner) {
  const HloDataflow *flow = assigner->analysis.flow;
  BufferAssignmentIndex *index = ARENA_NEW(assigner->arena, BufferAssignmentIndex);
  int32_t limit = assigner->module->next_instruction_id;
  int32_t *values_at = ARENA_NEW_ARRAY(assigner->arena, int32_t, flow->position_count + 1);
  for (int64_t i = 0; i < flow->position_count; i++)
    values_at[i] = flow->values_at[i] < 0 ? -1 : assigner->numbers[flow->values_at[i]];
  index->instruction_limit = limit;
  index->position_count = (int32_t)flow->position_count;
  index->first_positions = ARENA_COPY_ARRAY(assigner->arena, int32_t, flow->first_positions, limit);
  index->values_at = values_at;
  assigner->assignment->index = index;
}

/* --- buffers --- */

static int64_t temp_alignment(int64_t size) {
  int64_t alignment = 1;
  while (alignment < size && alignment < TEMP_ALIGNMENT) alignment *= 2;
  return alignment;
}

static void make_buffer(Assigner *assigner, int32_t set_number, int32_t id) {
  const HloLiveness *liveness = assigner->analysis.liveness;
  const HloAliasSet *set = &assigner->analysis.alias->sets[set_number];
  HloBuffer *buffer = &assigner->assignment->buffers[id];
  int32_t *values = ARENA_NEW_ARRAY(assigner->arena, int32_t, set->count);
  buffer->id = id;
  buffer->values = values;
  buffer->size = set->size;
  buffer->colour = set->colour;
  buffer->alignment = set->alignment;
  buffer->allocation = -1;
  for (int32_t i = 0; i < set->count; i++) {
    int32_t number = liveness->values[set->ranges[i]];
    if (set->ranges[i] != liveness->first_ranges[number]) continue;
    HloValue *value = &assigner->assignment->values[assigner->numbers[number]];
    values[buffer->value_count++] = value->id;
    value->buffer = id;
  }
  assigner->element_alignments[id] = buffer->alignment;
}

/* In order of their first values. */
static void make_buffers(Assigner *assigner) {
  BufferAssignment *assignment = assigner->assignment;
  HloAlias *alias = assigner->analysis.alias;
  assignment->buffers = ARENA_NEW_ARRAY(assigner->arena, HloBuffer, assignment->value_count + 1);
  assigner->set_of_buffer = ARENA_NEW_ARRAY(assigner->scratch, int32_t, assignment->value_count + 1);
  assigner->element_alignments = ARENA_NEW_ARRAY(assigner->scratch, int64_t, assignment->value_count + 1);
  for (int32_t i = 0; i < assignment->value_count; i++) {
    int32_t set = hlo_alias_set(alias, assigner->order[i]);
    if (hlo_alias_first_value(alias, &alias->sets[set]) != assigner->order[i]) continue;
    assigner->set_of_buffer[assignment->buffer_count] = set;
    make_buffer(assigner, set, assignment->buffer_count++);
  }
  assigner->is_hosted = ARENA_NEW_ARRAY(assigner->scratch, bool, assignment->buffer_count + 1);
}

/* --- allocations --- */

typedef struct AllocationMaker {
  Assigner *assigner;
  ARRAY(BufferAllocation) list;
  int32_t *of_parameter, *of_result; /* by leaf */
  IntMap constants;                  /* hash of a literal → 1 + its first allocation */
  ARRAY(int32_t) next_alike;         /* by allocation: 1 + the next with the same hash */
} AllocationMaker;

static int32_t add_allocation(AllocationMaker *maker, AllocationKind kind, int64_t size, int64_t alignment,
                              int64_t colour) {
  BufferAllocation allocation = {.index = (int32_t)maker->list.count,
                                 .kind = kind,
                                 .size = size,
                                 .alignment = alignment,
                                 .colour = colour,
                                 .parameter = -1,
                                 .result = -1,
                                 .prepared = -1};
  array_push(&maker->list, maker->assigner->arena, allocation);
  array_push(&maker->next_alike, maker->assigner->scratch, 0);
  return allocation.index;
}

static void add_leaf(AllocationMaker *maker, AllocationKind kind, const BufferPosition *position,
                     int32_t *out_allocation) {
  const Shape *shape = shape_node(position->instruction->shape, position->node);
  bool is_array = shape_is_array(shape);
  *out_allocation =
      add_allocation(maker, kind, is_array ? shape_byte_size(shape) : 0, is_array ? type_alignment(shape->type) : 1,
                     is_array ? shape->layout.memory_space : 0);
}

/* One allocation per leaf; a donated parameter's is the result's as well. */
static void add_callers_memory(AllocationMaker *maker) {
  Assigner *assigner = maker->assigner;
  const HloEntryLeaves *leaves = &assigner->analysis.alias->leaves;
  BufferAssignment *assignment = assigner->assignment;
  maker->of_parameter = ARENA_NEW_ARRAY(assigner->scratch, int32_t, leaves->parameter_count + 1);
  maker->of_result = ARENA_NEW_ARRAY(assigner->scratch, int32_t, leaves->result_count + 1);
  for (int32_t i = 0; i < leaves->parameter_count; i++) {
    add_leaf(maker, ALLOCATION_PARAMETER, &leaves->parameters[i], &maker->of_parameter[i]);
    BufferAllocation *allocation = &maker->list.data[maker->of_parameter[i]];
    allocation->parameter = i;
    assignment->argument_bytes = saturated_add(assignment->argument_bytes, allocation->size);
    if (leaves->donated_to[i] < 0) continue;
    allocation->result = leaves->donated_to[i];
    allocation->is_entry_parameter_donated = true;
    maker->of_result[leaves->donated_to[i]] = maker->of_parameter[i];
    assignment->result_bytes = saturated_add(assignment->result_bytes, allocation->size);
    assignment->aliased_bytes = saturated_add(assignment->aliased_bytes, allocation->size);
  }
  for (int32_t i = 0; i < leaves->first_prepared; i++) {
    if (leaves->given_by[i] >= 0) continue;
    add_leaf(maker, ALLOCATION_RESULT, &leaves->results[i], &maker->of_result[i]);
    maker->list.data[maker->of_result[i]].result = i;
    assignment->result_bytes = saturated_add(assignment->result_bytes, maker->list.data[maker->of_result[i]].size);
  }
}

/* One after the other, each as well aligned as a temporary. */
static void add_prepared_memory(AllocationMaker *maker) {
  const HloEntryLeaves *leaves = &maker->assigner->analysis.alias->leaves;
  BufferAssignment *assignment = maker->assigner->assignment;
  for (int32_t i = leaves->first_prepared; i < leaves->result_count; i++) {
    add_leaf(maker, ALLOCATION_PREPARED, &leaves->results[i], &maker->of_result[i]);
    BufferAllocation *allocation = &maker->list.data[maker->of_result[i]];
    allocation->alignment = TEMP_ALIGNMENT;
    allocation->prepared = i - leaves->first_prepared;
    allocation->prepared_offset = assignment->prepared_bytes;
    assignment->prepared_bytes = saturated_add(assignment->prepared_bytes, allocation->size);
    assignment->prepared_bytes = align_up(assignment->prepared_bytes, TEMP_ALIGNMENT);
  }
}

static const Literal *leaf_literal(const BufferPosition *position) {
  const Literal *literal = hlo_instruction_literal(position->instruction);
  int64_t path[64];
  if (position->node == 0 || shape_depth(position->instruction->shape) > 64) return literal;
  int depth = shape_node_path(position->instruction->shape, position->node, path);
  for (int i = 0; i < depth; i++) literal = &literal->tuple[path[i]];
  return literal;
}

static bool same_constant(const BufferPosition *a, const BufferPosition *b) {
  return shape_node(a->instruction->shape, a->node) == shape_node(b->instruction->shape, b->node) &&
         literal_equal(leaf_literal(a), leaf_literal(b));
}

/* Equal contents under equal shapes stand in the object once. */
static int32_t constant_allocation(AllocationMaker *maker, const HloBuffer *buffer) {
  Assigner *assigner = maker->assigner;
  const BufferPosition *position = &assigner->assignment->values[buffer->values[0]].definition;
  const Literal *literal = leaf_literal(position);
  uint64_t hash = hash_combine(literal_hash(literal), (uint64_t)buffer->size);
  int64_t found = 0;
  bool known = int_map_find(&maker->constants, hash, &found);
  for (int64_t i = known ? found : 0; i > 0; i = maker->next_alike.data[i - 1]) {
    const BufferAllocation *allocation = &maker->list.data[i - 1];
    const HloBuffer *first = &assigner->assignment->buffers[allocation->buffers[0]];
    if (same_constant(position, &assigner->assignment->values[first->values[0]].definition)) return (int32_t)(i - 1);
  }
  int32_t number = add_allocation(maker, ALLOCATION_CONSTANT, buffer->size, TEMP_ALIGNMENT, buffer->colour);
  maker->list.data[number].constant = position->instruction;
  maker->list.data[number].buffers = ARENA_COPY_ARRAY(assigner->scratch, int32_t, &buffer->id, 1);
  maker->next_alike.data[number] = (int32_t)found;
  int_map_set(&maker->constants, hash, number + 1);
  assigner->assignment->constant_bytes = saturated_add(assigner->assignment->constant_bytes, buffer->size);
  return number;
}

/* Temporaries of one memory space share one allocation. */
static int32_t temp_allocation(AllocationMaker *maker, const HloBuffer *buffer) {
  for (int64_t i = maker->list.count - 1; i >= 0; i--) {
    if (maker->list.data[i].kind == ALLOCATION_TEMP && maker->list.data[i].colour == buffer->colour) return (int32_t)i;
  }
  return add_allocation(maker, ALLOCATION_TEMP, 0, TEMP_ALIGNMENT, buffer->colour);
}

static void assign_buffer(AllocationMaker *maker, HloBuffer *buffer, const HloAliasSet *set, bool temporaries) {
  const HloValue *first = &maker->assigner->assignment->values[buffer->values[0]];
  bool is_constant = first->definition.instruction->opcode == HLO_CONSTANT;
  bool is_temporary = set->parameter < 0 && set->result < 0 && !is_constant;
  if (is_temporary != temporaries) return;
  if (set->parameter >= 0) {
    buffer->allocation = maker->of_parameter[set->parameter];
  } else if (set->result >= 0) {
    buffer->allocation = maker->of_result[set->result];
  } else if (is_constant) {
    buffer->allocation = constant_allocation(maker, buffer);
    buffer->alignment = TEMP_ALIGNMENT;
  } else {
    buffer->allocation = temp_allocation(maker, buffer);
    buffer->alignment = max_i64(buffer->alignment, temp_alignment(buffer->size));
  }
}

Status assigner_make_buffers(Assigner *assigner) {
  BufferAssignment *assignment = assigner->assignment;
  AllocationMaker maker = {.assigner = assigner};
  number_values(assigner);
  make_values(assigner);
  make_index(assigner);
  make_buffers(assigner);
  int_map_init(&maker.constants, assigner->scratch);
  add_callers_memory(&maker);
  add_prepared_memory(&maker);
  for (int temporaries = 0; temporaries < 2; temporaries++) {
    for (int32_t i = 0; i < assignment->buffer_count; i++) {
      const HloAliasSet *set = &assigner->analysis.alias->sets[assigner->set_of_buffer[i]];
      assign_buffer(&maker, &assignment->buffers[i], set, temporaries == 1);
    }
  }
  assignment->allocation_count = (int32_t)maker.list.count;
  assignment->allocations = maker.list.data;
  assignment->schedule_length = assigner->analysis.ordering->length;
  assignment->schedule = (const HloInstruction *const *)ARENA_COPY_ARRAY(
      assigner->arena, HloInstruction *, assigner->analysis.ordering->schedule, assignment->schedule_length);
  return STATUS_OK;
}

static const HloAliasSet *set_of(const Assigner *assigner, const HloBuffer *buffer) {
  return &assigner->analysis.alias->sets[assigner->set_of_buffer[buffer->id]];
}

int32_t assigner_lifetime_count(const Assigner *assigner, const HloBuffer *buffer) {
  return set_of(assigner, buffer)->count;
}

Lifetime assigner_lifetime(const Assigner *assigner, const HloBuffer *buffer, int32_t index) {
  const HloAliasSet *set = set_of(assigner, buffer);
  const LiveRange *ranges = assigner->analysis.liveness->ranges;
  Lifetime lifetime = {ranges[set->ranges[index]].from, ranges[set->ranges[index]].to + 1};
  if (index + 1 < set->count) lifetime.upper = min_i64(lifetime.upper, ranges[set->ranges[index + 1]].from);
  return lifetime;
}
