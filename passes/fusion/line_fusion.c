/* Line fusion: what puts whole lines of an array in order computes what it reads, where that is cheap and nobody else
 * needs it in memory, and stores only what is read of its results: slices along the lines, each through elementwise
 * operations of one operand (codegen/kernel/root_sort.c).  A few first of a long line are then selected, not sorted.
 *
 * It comes before other fusion, whose Kernels would take the slices. */
#include "hlo/analysis/loop_nest.h"
#include "passes/cleanup/control_edges.h"
#include "passes/fusion/fused_body.h"
#include "passes/fusion/fusion_decision.h"
#include "passes/pipeline/control_computations.h"
#include "passes/pipeline/hlo_pass.h"

enum { MEMBER_LIMIT = 64, RESULT_LIMIT = 64 };

typedef struct LineFuser {
  Arena *arena;
  HloComputation *computation;
  ControlEdges control;
  const HloDecisionObserver *observer;
} LineFuser;

/* One fusion: |line| and what it takes in. */
typedef struct LineGroup {
  HloInstruction *line;
  IntMap inside;                 /* ids of line and producers */
  HloInstructionArray producers; /* users before operands */
  HloInstructionArray ends;      /* what is stored: behind one of the line's results, or that itself */
  bool drops;                    /* a result is not stored, or not all of it */
} LineGroup;

static bool is_inside(const LineGroup *group, const HloInstruction *instruction) {
  int64_t ignored;
  return int_map_find(&group->inside, (uint64_t)instruction->id, &ignored);
}

static void observe(const LineFuser *fuser, const HloInstruction *producer, const HloInstruction *consumer,
                    FusionDecision decision) {
  const HloDecisionObserver *observer = fuser->observer;
  if (observer == NULL) return;
  observer->decided(observer->context, "line-fusion", producer, consumer, decision.fuse, decision.reason);
}

/* --- what is read --- */

/* Every use is in the group, and evaluates each element once. */
static bool is_for_group(const LineGroup *group, const HloInstruction *producer) {
  for (int32_t i = 0; i < producer->user_count; i++) {
    const HloInstruction *user = producer->users[i];
    if (!is_inside(group, user)) return false;
    bool keeps = user == group->line || fusion_permutes(user) || producer->user_count == 1;
    for (int k = 0; k < user->operand_count; k++) {
      if (user->operands[k] != producer) continue;
      if (!keeps || (user != group->line && fusion_edge_expands(user, k))) return false;
    }
  }
  return true;
}

static FusionDecision decide(const LineFuser *fuser, const LineGroup *group, const HloInstruction *producer,
                             const HloInstruction *user) {
  FusionDecision decision = fusion_can_be_producer(producer);
  if (!decision.fuse) return decision;
  for (int k = 0; k < user->operand_count && user != group->line; k++) {
    if (user->operands[k] != producer) continue;
    decision = fusion_can_cross(user, k);
    if (!decision.fuse) return decision;
  }
  if (control_edges_touch(&fuser->control, producer))
    return (FusionDecision){false, "control dependencies keep it where it is"};
  if (fusion_is_generator(producer)) return (FusionDecision){true, "smaller than what would be read"};
  FusionCost cost = fusion_cost(producer);
  if (cost != FUSION_COST_FREE && cost != FUSION_COST_CHEAP)
    return (FusionDecision){false, "too costly for each comparison"};
  if (!is_for_group(group, producer)) return (FusionDecision){false, "others need it, or it more than once"};
  return (FusionDecision){true, "computed where lines are read"};
}

static void take_producers(const LineFuser *fuser, LineGroup *group, const HloInstruction *user) {
  for (int k = 0; k < user->operand_count; k++) {
    HloInstruction *producer = user->operands[k];
    if (is_inside(group, producer) || group->producers.count >= MEMBER_LIMIT) continue;
    if (producer->opcode == HLO_PARAMETER || producer->opcode == HLO_CONSTANT) continue;
    FusionDecision decision = decide(fuser, group, producer, user);
    observe(fuser, producer, group->line, decision);
    if (!decision.fuse) continue;
    int_map_set(&group->inside, (uint64_t)producer->id, 1);
    array_push(&group->producers, fuser->arena, producer);
    take_producers(fuser, group, producer);
  }
}

/* --- what is stored --- */

static bool is_movable(const LineFuser *fuser, const HloInstruction *instruction) {
  return instruction != fuser->computation->root && !control_edges_touch(&fuser->control, instruction);
}

/* A part of each line, whole lines. */
static bool slices_lines(const HloInstruction *slice, int64_t along) {
  if (slice->opcode != HLO_SLICE || shape_element_count(slice->shape) <= 0) return false;
  const SliceRanges *ranges = hlo_instruction_attr(slice, HLO_ATTR_SLICE)->value.slice;
  for (int d = 0; d < ranges->rank; d++) {
    if (ranges->dims[d].stride != 1) return false;
    if (d != along && slice->shape->dims[d] != slice->operands[0]->shape->dims[d]) return false;
  }
  return true;
}

/* The last of the operations of one operand that alone read |value| and each other. */
static HloInstruction *follow_elements(const LineFuser *fuser, HloInstruction *value) {
  while (value->user_count == 1 && is_movable(fuser, value)) {
    HloInstruction *user = value->users[0];
    if (user->operand_count != 1 || !hlo_opcode_has(user->opcode, OP_ELEMENTWISE) ||
        fusion_cost(user) == FUSION_COST_NONE || control_edges_touch(&fuser->control, user) ||
        type_is_complex(user->shape->type))
      break;
    value = user;
  }
  return value;
}

/* Adds what is stored of one result: its slices, if they are all that is read and are together no larger than it. */
static void end_result(const LineFuser *fuser, LineGroup *group, HloInstruction *result) {
  int64_t along = hlo_instruction_ints(group->line, HLO_ATTR_DIMENSIONS).data[0], length = 0;
  bool is_sliced = result->user_count > 0 && is_movable(fuser, result);
  for (int32_t i = 0; i < result->user_count && is_sliced; i++) {
    const HloInstruction *user = result->users[i];
    is_sliced = slices_lines(user, along) && !control_edges_touch(&fuser->control, user);
    if (is_sliced) length += user->shape->dims[along];
  }
  if (!is_sliced || length > result->shape->dims[along]) {
    HloInstruction *end = follow_elements(fuser, result);
    group->drops |= end != result;
    array_push(&group->ends, fuser->arena, end);
    return;
  }
  group->drops = true;
  for (int32_t i = 0; i < result->user_count; i++)
    array_push(&group->ends, fuser->arena, follow_elements(fuser, result->users[i]));
}

/* False where results are not read one by one. */
static bool end_results(const LineFuser *fuser, LineGroup *group) {
  HloInstruction *line = group->line;
  if (shape_is_array(line->shape)) {
    end_result(fuser, group, line);
    return true;
  }
  bool *is_read = ARENA_NEW_ARRAY(fuser->arena, bool, line->operand_count);
  for (int32_t i = 0; i < line->user_count; i++) {
    if (line->users[i]->opcode != HLO_GET_TUPLE_ELEMENT || control_edges_touch(&fuser->control, line->users[i]))
      return false;
  }
  for (int32_t i = 0; i < line->user_count; i++) {
    is_read[hlo_instruction_int(line->users[i], HLO_ATTR_INDEX, 0)] = true;
    end_result(fuser, group, line->users[i]);
  }
  for (int k = 0; k < line->operand_count; k++) group->drops |= !is_read[k];
  return line->user_count > 0 && line != fuser->computation->root;
}

/* --- the fusion --- */

/* |end| and what it is made from down to the line, inside. */
static HloInstruction *add_end(FusedBody *body, HloInstruction *end) {
  HloInstruction *there = pointer_map_get(&body->inside, end);
  if (there != NULL) return there;
  add_end(body, end->operands[0]);
  return fused_body_add(body, end);
}

static HloInstruction *element_of(HloComputation *computation, HloInstruction *tuple, int number) {
  HloInstruction *element =
      hlo_computation_add(computation, HLO_GET_TUPLE_ELEMENT, tuple->shape->tuple[number], &tuple, 1, SV("element"));
  hlo_instruction_set_int(element, HLO_ATTR_INDEX, number);
  return element;
}

static HloInstruction *tuple_of(const LineFuser *fuser, HloComputation *computation, HloInstruction *const *elements,
                                int count) {
  const Shape **shapes = ARENA_NEW_ARRAY(fuser->arena, const Shape *, count);
  for (int i = 0; i < count; i++) shapes[i] = elements[i]->shape;
  return hlo_computation_add(computation, HLO_TUPLE, shape_tuple(computation->module->shapes, shapes, count),
                             (HloInstruction **)elements, count, SV("results"));
}

/* Producers in an order in which operands come first. */
static void add_producers(FusedBody *body, const LineGroup *group, HloInstruction *user) {
  for (int k = 0; k < user->operand_count; k++) {
    HloInstruction *operand = user->operands[k];
    if (!is_inside(group, operand) || pointer_map_get(&body->inside, operand) != NULL) continue;
    add_producers(body, group, operand);
    fused_body_add(body, operand);
  }
}

/* All results of the line as they are: a tuple inside is taken apart and put together. */
static void write_whole(const LineFuser *fuser, const LineGroup *group, FusedBody *body, HloInstruction *line) {
  HloInstruction *root = line;
  if (shape_is_tuple(line->shape)) {
    HloInstruction **elements = ARENA_NEW_ARRAY(fuser->arena, HloInstruction *, line->shape->tuple_size);
    for (int i = 0; i < line->shape->tuple_size; i++) elements[i] = element_of(body->fused, line, i);
    root = tuple_of(fuser, body->fused, elements, line->shape->tuple_size);
  }
  hlo_computation_set_root(body->fused, root);
  HloInstruction *fusion = fused_body_end(body, FUSION_KIND_CUSTOM, SV("lines_fusion"), group->line);
  hlo_instruction_replace_all_uses(group->line, fusion);
}

static void write_ends(const LineFuser *fuser, const LineGroup *group, FusedBody *body) {
  int count = (int)group->ends.count;
  HloInstruction **ends = ARENA_NEW_ARRAY(fuser->arena, HloInstruction *, count);
  for (int i = 0; i < count; i++) ends[i] = add_end(body, group->ends.data[i]);
  hlo_computation_set_root(body->fused, count == 1 ? ends[0] : tuple_of(fuser, body->fused, ends, count));
  HloInstruction *fusion = fused_body_end(body, FUSION_KIND_CUSTOM, SV("lines_fusion"), group->line);
  for (int i = 0; i < count; i++) {
    observe(fuser, group->line, group->ends.data[i], (FusionDecision){true, "stored as it is read"});
    HloInstruction *result = count == 1 ? fusion : element_of(fuser->computation, fusion, i);
    hlo_instruction_replace_all_uses(group->ends.data[i], result);
  }
}

static bool fuse_line(LineFuser *fuser, HloInstruction *line) {
  LineGroup group = {.line = line};
  int_map_init(&group.inside, fuser->arena);
  int_map_set(&group.inside, (uint64_t)line->id, 1);
  take_producers(fuser, &group, line);
  bool has_ends = end_results(fuser, &group);
  if (group.ends.count > RESULT_LIMIT) has_ends = false;
  if (group.producers.count == 0 && !(has_ends && group.drops)) return false;
  FusedBody body;
  fused_body_begin(&body, fuser->computation, SV("fused_lines"), fuser->arena);
  add_producers(&body, &group, line);
  HloInstruction *inside = fused_body_add(&body, line);
  if (has_ends) {
    write_ends(fuser, &group, &body);
  } else {
    write_whole(fuser, &group, &body, inside);
  }
  return true;
}

static bool is_plain(const Shape *shape) {
  return shape_is_array(shape) && !shape_is_dynamic(shape) && shape->layout.tile_count == 0 &&
         shape_has_default_layout(shape) && shape_element_count(shape) > 0;
}

/* A sort of lines of more than one element. */
static bool is_line_operation(const LineFuser *fuser, const HloInstruction *instruction) {
  if (instruction->opcode != HLO_SORT || control_edges_touch(&fuser->control, instruction)) return false;
  for (int k = 0; k < instruction->operand_count; k++) {
    if (!is_plain(instruction->operands[k]->shape)) return false;
  }
  return instruction->operands[0]->shape->dims[hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS).data[0]] > 1;
}

static bool fuse_lines(HloComputation *computation, const HloDecisionObserver *observer) {
  Arena *arena = arena_create();
  LineFuser fuser = {.arena = arena, .computation = computation, .observer = observer};
  control_edges_init(&fuser.control, computation, arena);
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(computation, arena, &count);
  bool changed = false;
  for (int64_t i = 0; i < count; i++) {
    if (order[i]->user_count == 0 && order[i] != computation->root) continue;
    if (is_line_operation(&fuser, order[i])) changed |= fuse_line(&fuser, order[i]);
  }
  if (changed) hlo_computation_remove_dead(computation);
  arena_destroy(arena);
  return changed;
}

static Status run_line_fusion(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t count;
  HloComputation **computations = control_computations(module, context->scratch, &count);
  for (int64_t i = 0; i < count; i++) *out_changed |= fuse_lines(computations[i], context->options->decisions);
  return STATUS_OK;
}

const HloPass hlo_line_fusion_pass = {
    "line-fusion", "compute what is sorted where it is read, store what is read of it", run_line_fusion, false};
