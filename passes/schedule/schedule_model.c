#include "passes/schedule/schedule_model.h"

#include "base/checked_math.h"
#include "hlo/analysis/in_place.h"

/* Grows while the model is built. */
typedef struct ModelBuilder {
  ScheduleModel *model;
  IntMap numbers; /* instruction id → node */
  ARRAY(ScheduleBuffer) buffers;
  int32_t *stamps; /* per node or buffer: the last node that counted it */
} ModelBuilder;

typedef ARRAY(int32_t) NumberArray;

static const ScheduleNode *node_of(const ModelBuilder *builder, const HloInstruction *instruction) {
  int64_t number = -1;
  if (!int_map_find(&builder->numbers, (uint64_t)instruction->id, &number)) return NULL;
  return &builder->model->nodes[number];
}

/* --- predecessors --- */

static void add_predecessor(ModelBuilder *builder, NumberArray *list, const HloInstruction *predecessor, int32_t of) {
  const ScheduleNode *node = node_of(builder, predecessor);
  if (node == NULL) return;
  int32_t number = (int32_t)(node - builder->model->nodes);
  if (builder->stamps[number] == of) return;
  builder->stamps[number] = of;
  array_push(list, builder->model->arena, number);
}

static void find_predecessors(ModelBuilder *builder, int32_t number) {
  ScheduleNode *node = &builder->model->nodes[number];
  const HloAttr *control = hlo_instruction_attr(node->instruction, HLO_ATTR_CONTROL_PREDECESSORS);
  NumberArray list = {0};
  for (int i = 0; i < node->instruction->operand_count; i++) {
    add_predecessor(builder, &list, node->instruction->operands[i], number);
  }
  for (int64_t i = 0; control != NULL && i < control->value.instructions.count; i++) {
    add_predecessor(builder, &list, control->value.instructions.data[i], number);
  }
  node->predecessor_count = (int32_t)list.count;
  node->predecessors = list.data;
}

static void find_successors(ScheduleModel *model) {
  int32_t **filled = ARENA_NEW_ARRAY(model->arena, int32_t *, model->node_count + 1);
  for (int32_t n = 0; n < model->node_count; n++) {
    for (int32_t i = 0; i < model->nodes[n].predecessor_count; i++)
      model->nodes[model->nodes[n].predecessors[i]].successor_count++;
  }
  for (int32_t n = 0; n < model->node_count; n++) {
    filled[n] = ARENA_NEW_ARRAY(model->arena, int32_t, model->nodes[n].successor_count + 1);
    model->nodes[n].successors = filled[n];
  }
  for (int32_t n = 0; n < model->node_count; n++) {
    for (int32_t i = 0; i < model->nodes[n].predecessor_count; i++) *filled[model->nodes[n].predecessors[i]]++ = n;
  }
}

/* --- buffers --- */

static int64_t leaf_bytes(const Shape *leaf) {
  if (!shape_is_array(leaf)) return 0;
  int64_t bytes = shape_byte_size(leaf);
  return bytes < 0 ? INT64_MAX : bytes;
}

static int32_t new_buffer(ModelBuilder *builder, int64_t bytes) {
  if (bytes == 0) return -1;
  array_push(&builder->buffers, builder->model->arena, ((ScheduleBuffer){.bytes = bytes}));
  return (int32_t)builder->buffers.count - 1;
}

static void define_shape(ModelBuilder *builder, ScheduleNode *node, const Shape *shape, int32_t *leaves,
                         int32_t *leaf) {
  if (shape_is_tuple(shape)) {
    for (int i = 0; i < shape->tuple_size; i++) define_shape(builder, node, shape->tuple[i], leaves, leaf);
    return;
  }
  int64_t bytes = leaf_bytes(shape);
  if (*leaf < node->leaf_count) leaves[(*leaf)++] = new_buffer(builder, bytes);
  node->defined_bytes = saturated_add(node->defined_bytes, bytes);
}

/* Fresh buffers for every leaf of the result. */
static void define_leaves(ModelBuilder *builder, ScheduleNode *node) {
  int32_t *leaves = ARENA_NEW_ARRAY(builder->model->arena, int32_t, node->leaf_count + 1);
  int32_t leaf = 0;
  define_shape(builder, node, node->instruction->shape, leaves, &leaf);
  while (leaf < node->leaf_count) leaves[leaf++] = -1;
  node->leaves = leaves;
}

static void define_nothing(ModelBuilder *builder, ScheduleNode *node) {
  int32_t *leaves = ARENA_NEW_ARRAY(builder->model->arena, int32_t, node->leaf_count + 1);
  for (int32_t i = 0; i < node->leaf_count; i++) leaves[i] = -1;
  node->leaves = leaves;
}

static void forward_operand(ModelBuilder *builder, ScheduleNode *node) {
  const ScheduleNode *source = node_of(builder, node->instruction->operands[0]);
  if (source != NULL && source->leaf_count == node->leaf_count) {
    node->leaves = source->leaves;
  } else {
    define_nothing(builder, node);
  }
}

/* (operands, results …): the operands' buffers, and fresh ones. */
static void start_leaves(ModelBuilder *builder, ScheduleNode *node) {
  int32_t *leaves = ARENA_NEW_ARRAY(builder->model->arena, int32_t, node->leaf_count + 1);
  const Shape *shape = node->instruction->shape;
  int32_t leaf = 0;
  for (int i = 0; i < node->instruction->operand_count; i++) {
    const ScheduleNode *source = node_of(builder, node->instruction->operands[i]);
    int32_t count = (int32_t)shape_leaf_count(node->instruction->operands[i]->shape);
    for (int32_t k = 0; k < count && leaf < node->leaf_count; k++)
      leaves[leaf++] = source != NULL && source->leaf_count == count ? source->leaves[k] : -1;
  }
  for (int i = 1; i < shape->tuple_size; i++) define_shape(builder, node, shape->tuple[i], leaves, &leaf);
  while (leaf < node->leaf_count) leaves[leaf++] = -1;
  node->leaves = leaves;
}

/* Element |index| of operand 0. */
static void forward_part(ModelBuilder *builder, ScheduleNode *node, int64_t index) {
  const ScheduleNode *source = node_of(builder, node->instruction->operands[0]);
  int64_t first = shape_leaves_before(node->instruction->operands[0]->shape, index);
  if (source != NULL && first + node->leaf_count <= source->leaf_count)
    node->leaves = source->leaves + first;
  else
    define_nothing(builder, node);
}

static void forward_tuple(ModelBuilder *builder, ScheduleNode *node) {
  int32_t *leaves = ARENA_NEW_ARRAY(builder->model->arena, int32_t, node->leaf_count + 1);
  int32_t leaf = 0;
  for (int i = 0; i < node->instruction->operand_count; i++) {
    const ScheduleNode *source = node_of(builder, node->instruction->operands[i]);
    for (int32_t k = 0; source != NULL && k < source->leaf_count && leaf < node->leaf_count; k++) {
      leaves[leaf++] = source->leaves[k];
    }
  }
  while (leaf < node->leaf_count) leaves[leaf++] = -1;
  node->leaves = leaves;
}

/* A result that is written over an operand takes that one's buffer. */
static bool forward_updated(ModelBuilder *builder, ScheduleNode *node) {
  if (!shape_is_array(node->instruction->shape)) return false;
  InPlacePairs pairs = hlo_in_place_pairs(node->instruction, builder->model->arena);
  if (pairs.count != 1) return false;
  const HloInstruction *updated = node->instruction->operands[pairs.pairs[0].operand];
  const ScheduleNode *source = node_of(builder, updated);
  if (source == NULL || !shape_is_array(updated->shape)) return false;
  node->leaves = source->leaves;
  return true;
}

static void find_leaves(ModelBuilder *builder, int32_t number) {
  ScheduleNode *node = &builder->model->nodes[number];
  node->leaf_count = shape_leaf_count(node->instruction->shape);
  switch (hlo_opcode_info(node->instruction->opcode)->flow) {
    case OP_FLOW_PARAMETER: define_nothing(builder, node); return;
    case OP_FLOW_ELEMENT:
      forward_part(builder, node, hlo_instruction_int(node->instruction, HLO_ATTR_INDEX, 0));
      return;
    case OP_FLOW_SECOND: forward_part(builder, node, 1); return;
    case OP_FLOW_ASYNC_START: start_leaves(builder, node); return;
    case OP_FLOW_TUPLE: forward_tuple(builder, node); return;
    case OP_FLOW_FORWARDS:
    case OP_FLOW_PENDING:
    case OP_FLOW_WHILE: forward_operand(builder, node); return;
    case OP_FLOW_VIEW:
      if (!hlo_is_view(node->instruction)) break;
      forward_operand(builder, node);
      return;
    case OP_FLOW_COPY:
      if (!shape_is_tuple(node->instruction->shape)) break;
      forward_operand(builder, node);
      return;
    case OP_FLOW_MAKES:
      if (!hlo_opcode_has(node->instruction->opcode, OP_GIVEN)) break;
      define_nothing(builder, node);
      return;
    /* The computations of these are scheduled before it; the others are gone before, or end with the program. */
    case OP_FLOW_NOTHING:
    case OP_FLOW_CALL:
    case OP_FLOW_CONDITIONAL:
    case OP_FLOW_COPY_START:
    case OP_FLOW_COLLECTIVE_START:
    case OP_FLOW_FIRST:
    case OP_FLOW_RECV_DONE:
    case OP_FLOW_COUNT: break;
  }
  if (!forward_updated(builder, node)) define_leaves(builder, node);
}

/* The first buffers that the result may be written over once nothing else reads them. */
static void find_overwritable(ModelBuilder *builder, ScheduleNode *node) {
  const HloInstruction *instruction = node->instruction;
  if (!shape_is_array(instruction->shape) || node->defined_bytes == 0) return;
  for (int i = 0; i < instruction->operand_count && node->overwritable_count < SCHEDULE_MAX_OVERWRITABLE; i++) {
    const ScheduleNode *source = node_of(builder, instruction->operands[i]);
    if (source == NULL || !shape_is_array(instruction->operands[i]->shape) || source->leaves[0] < 0) continue;
    if (builder->buffers.data[source->leaves[0]].bytes != node->defined_bytes) continue;
    if (!hlo_may_share_operand(instruction, i, 0, 0, builder->model->arena)) continue;
    node->overwritable[node->overwritable_count++] = source->leaves[0];
  }
}

/* --- readers --- */

static void find_reads(ModelBuilder *builder, int32_t number) {
  ScheduleNode *node = &builder->model->nodes[number];
  NumberArray list = {0};
  /* Passing a buffer on is no read: who reads it in the end counts. */
  bool forwards = hlo_opcode_has(node->instruction->opcode, OP_TUPLES);
  for (int i = 0; !forwards && i < node->instruction->operand_count; i++) {
    const ScheduleNode *source = node_of(builder, node->instruction->operands[i]);
    for (int32_t k = 0; source != NULL && k < source->leaf_count; k++) {
      int32_t buffer = source->leaves[k];
      if (buffer < 0 || builder->stamps[buffer] == number) continue;
      builder->stamps[buffer] = number;
      array_push(&list, builder->model->arena, buffer);
      builder->model->buffers[buffer].reader_count++;
    }
  }
  node->reads = list.data;
  node->read_count = (int32_t)list.count;
}

static void find_readers(ScheduleModel *model) {
  int32_t **filled = ARENA_NEW_ARRAY(model->arena, int32_t *, model->buffer_count + 1);
  for (int32_t b = 0; b < model->buffer_count; b++) {
    filled[b] = ARENA_NEW_ARRAY(model->arena, int32_t, model->buffers[b].reader_count + 1);
    model->buffers[b].readers = filled[b];
  }
  for (int32_t n = 0; n < model->node_count; n++) {
    for (int32_t i = 0; i < model->nodes[n].read_count; i++) *filled[model->nodes[n].reads[i]]++ = n;
  }
}

static void keep_returned(const ModelBuilder *builder, const HloComputation *computation) {
  const ScheduleNode *root = node_of(builder, computation->root);
  for (int32_t i = 0; root != NULL && i < root->leaf_count; i++) {
    if (root->leaves[i] >= 0) builder->model->buffers[root->leaves[i]].reader_count++;
  }
}

static int64_t called_bytes(const HloInstruction *instruction, const IntMap *peaks) {
  int64_t largest = 0;
  /* What an async-start makes is its own, in element 1. */
  if (!hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW) || instruction->opcode == HLO_ASYNC_START) return 0;
  for (int i = 0; i < hlo_instruction_called_count(instruction); i++) {
    int64_t peak = 0;
    int_map_find(peaks, (uint64_t)hlo_instruction_called(instruction, i)->id, &peak);
    largest = max_i64(largest, peak);
  }
  return largest;
}

static void reset_stamps(ModelBuilder *builder, int32_t count) {
  builder->stamps = ARENA_NEW_ARRAY(builder->model->arena, int32_t, count + 1);
  for (int32_t i = 0; i < count; i++) builder->stamps[i] = -1;
}

ScheduleModel *schedule_model_create(Arena *arena, const HloComputation *computation, const IntMap *peaks) {
  ScheduleModel *model = ARENA_NEW(arena, ScheduleModel);
  ModelBuilder builder = {.model = model};
  int_map_init(&builder.numbers, arena);
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(computation, arena, &count);
  model->arena = arena;
  model->node_count = (int32_t)count;
  model->nodes = ARENA_NEW_ARRAY(arena, ScheduleNode, count + 1);
  reset_stamps(&builder, model->node_count);
  for (int32_t n = 0; n < model->node_count; n++) {
    model->nodes[n].instruction = order[n];
    model->nodes[n].called_bytes = called_bytes(order[n], peaks);
    int_map_set(&builder.numbers, (uint64_t)order[n]->id, n);
    find_predecessors(&builder, n);
    find_leaves(&builder, n);
    find_overwritable(&builder, &model->nodes[n]);
  }
  find_successors(model);
  model->buffers = builder.buffers.data;
  model->buffer_count = (int32_t)builder.buffers.count;
  reset_stamps(&builder, model->buffer_count);
  for (int32_t n = 0; n < model->node_count; n++) find_reads(&builder, n);
  find_readers(model);
  keep_returned(&builder, computation);
  return model;
}

/* --- simulation --- */

/* Written over an operand of its size that dies here. */
static bool overwrites_operand(const ScheduleNode *node, const int32_t *unread) {
  for (int32_t i = 0; i < node->overwritable_count; i++) {
    if (unread[node->overwritable[i]] == 1) return true;
  }
  return false;
}

ScheduleWalk schedule_walk_create(const ScheduleModel *model, Arena *arena) {
  ScheduleWalk walk = {.model = model, .unread = ARENA_NEW_ARRAY(arena, int32_t, model->buffer_count + 1)};
  schedule_walk_begin(&walk);
  return walk;
}

void schedule_walk_begin(ScheduleWalk *walk) {
  for (int32_t b = 0; b < walk->model->buffer_count; b++) walk->unread[b] = walk->model->buffers[b].reader_count;
  walk->live = walk->peak = 0;
}

/* Bytes that are no longer live after |node|: what it reads last, and what it makes and nothing reads. */
static int64_t freed_bytes(const ScheduleWalk *walk, const ScheduleNode *node) {
  const ScheduleBuffer *buffers = walk->model->buffers;
  int64_t freed = 0;
  for (int32_t r = 0; r < node->read_count; r++) {
    if (walk->unread[node->reads[r]] == 1) freed = saturated_add(freed, buffers[node->reads[r]].bytes);
  }
  for (int32_t k = 0; k < node->leaf_count; k++) {
    int32_t buffer = node->leaves[k];
    bool fresh = node->defined_bytes > 0 && buffer >= 0;
    if (fresh && buffers[buffer].reader_count == 0) freed = saturated_add(freed, buffers[buffer].bytes);
  }
  return freed;
}

void schedule_walk_cost(const ScheduleWalk *walk, int32_t number, int64_t *out_during, int64_t *out_growth) {
  const ScheduleNode *node = &walk->model->nodes[number];
  int64_t during = saturated_add(walk->live, node->called_bytes);
  if (!overwrites_operand(node, walk->unread)) during = saturated_add(during, node->defined_bytes);
  *out_during = during;
  *out_growth = saturated_add(node->defined_bytes, -freed_bytes(walk, node));
}

void schedule_walk_step(ScheduleWalk *walk, int32_t number) {
  const ScheduleNode *node = &walk->model->nodes[number];
  int64_t during, growth;
  schedule_walk_cost(walk, number, &during, &growth);
  walk->peak = max_i64(walk->peak, during);
  walk->live = saturated_add(walk->live, growth);
  for (int32_t r = 0; r < node->read_count; r++) walk->unread[node->reads[r]]--;
}

int64_t schedule_model_peak(const ScheduleModel *model, const int32_t *order) {
  ScheduleWalk walk = schedule_walk_create(model, model->arena);
  for (int32_t i = 0; i < model->node_count; i++) schedule_walk_step(&walk, order[i]);
  return walk.peak;
}
