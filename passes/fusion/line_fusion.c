/* Line fusion: what works on whole lines of an array, a sort or a Fourier transform, computes what it reads, where
 * nothing else needs it in memory, and goes on with what is made of its results (codegen/lower/root_sort.c,
 * root_fft.c).
 *
 * Of a sort slices along the lines are stored and nothing else, each through elementwise operations of one operand: a
 * few first of a long line are then selected, not sorted.  What reads lines that are transformed, element by element
 * and with other arrays, is computed where they are stored.
 *
 * It comes before other fusion, whose Kernels would take the slices. */
#include "hlo/analysis/fft_lines.h"
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
  IntMap inside; /* ids of all members */
  int64_t member_count;
  HloInstructionArray ends; /* what is stored: after one of the line's results, or that itself */
  bool reads;               /* something that is read is computed */
  bool drops;               /* a result is not stored, or not as it is */
} LineGroup;

static bool is_inside(const LineGroup *group, const HloInstruction *instruction) {
  int64_t ignored;
  return int_map_find(&group->inside, (uint64_t)instruction->id, &ignored);
}

static void take(LineGroup *group, const HloInstruction *instruction) {
  int_map_set(&group->inside, (uint64_t)instruction->id, 1);
  group->member_count++;
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
  bool is_once = group->line->opcode == HLO_FFT && hlo_opcode_has(producer->opcode, OP_ELEMENTWISE);
  if (cost != FUSION_COST_FREE && cost != FUSION_COST_CHEAP && !is_once)
    return (FusionDecision){false, "too costly to be computed more than once, or against the grain"};
  if (!is_for_group(group, producer)) return (FusionDecision){false, "others need it, or it more than once"};
  return (FusionDecision){true, "computed where lines are read"};
}

static void take_producers(const LineFuser *fuser, LineGroup *group, const HloInstruction *user) {
  for (int k = 0; k < user->operand_count; k++) {
    HloInstruction *producer = user->operands[k];
    if (is_inside(group, producer) || group->member_count >= MEMBER_LIMIT) continue;
    if (hlo_opcode_has(producer->opcode, OP_GIVEN)) continue;
    FusionDecision decision = decide(fuser, group, producer, user);
    observe(fuser, producer, group->line, decision);
    if (!decision.fuse) continue;
    take(group, producer);
    group->reads = true;
    take_producers(fuser, group, producer);
  }
}

/* --- what is stored --- */

static bool is_movable(const LineFuser *fuser, const HloInstruction *instruction) {
  return instruction != fuser->computation->root && !control_edges_touch(&fuser->control, instruction);
}

static bool is_plain(const Shape *shape) {
  return shape_is_static_array(shape) && shape->layout.tile_count == 0 && shape_has_default_layout(shape) &&
         shape_element_count(shape) > 0;
}

/* Of all lines alike: a part of the dimensions that |line| works on, the others whole. */
static bool slices_lines(const HloInstruction *line, const HloInstruction *slice) {
  if (slice->opcode != HLO_SLICE || !is_plain(slice->shape)) return false;
  const SliceRanges *ranges = hlo_instruction_slice(slice);
  bool is_sort = line->opcode == HLO_SORT;
  Int64List dims = hlo_instruction_ints(line, is_sort ? HLO_ATTR_DIMENSIONS : HLO_ATTR_FFT_LENGTH);
  for (int d = 0; d < ranges->rank; d++) {
    bool is_along = is_sort ? d == dims.data[0] : d >= ranges->rank - dims.count;
    if (is_sort && ranges->dims[d].stride != 1) return false;
    if (!is_along && slice->shape->dims[d] != slice->operands[0]->shape->dims[d]) return false;
  }
  return true;
}

/* What is made of elements where they are stored.  |alone|: of them and nothing else. */
static bool goes_on(const LineFuser *fuser, const LineGroup *group, const HloInstruction *user, bool alone) {
  if (control_edges_touch(&fuser->control, user) || !is_plain(user->shape)) return false;
  if (group->line->opcode == HLO_FFT && slices_lines(group->line, user)) return true;
  if (!hlo_opcode_has(user->opcode, OP_ELEMENTWISE) || fusion_cost(user) == FUSION_COST_NONE) return false;
  if (group->line->opcode == HLO_SORT && type_is_complex(user->shape->type)) return false;
  for (int k = 0; k < user->operand_count; k++) {
    if (!is_plain(user->operands[k]->shape)) return false;
  }
  return user->operand_count == 1 || !alone;
}

/* The last of the operations that alone read |value| and each other; all of them are taken. */
static HloInstruction *follow_elements(const LineFuser *fuser, LineGroup *group, HloInstruction *value, bool alone) {
  while (value->user_count == 1 && is_movable(fuser, value) && group->member_count < MEMBER_LIMIT) {
    HloInstruction *user = value->users[0];
    if (!goes_on(fuser, group, user, alone)) break;
    take(group, user);
    if (!alone) take_producers(fuser, group, user);
    value = user;
  }
  return value;
}

static void end_at(const LineFuser *fuser, LineGroup *group, HloInstruction *first, bool alone) {
  if (!is_inside(group, first)) take(group, first);
  array_push(&group->ends, fuser->arena, follow_elements(fuser, group, first, alone));
}

/* Adds what is stored of one result: parts of it, if they are all that is read and are together no larger. */
static void end_result(const LineFuser *fuser, LineGroup *group, HloInstruction *result) {
  bool is_sort = group->line->opcode == HLO_SORT, has_parts = result->user_count > 0 && is_movable(fuser, result);
  int64_t bytes = 0;
  for (int32_t i = 0; i < result->user_count && has_parts; i++) {
    const HloInstruction *user = result->users[i];
    has_parts = is_sort ? slices_lines(group->line, user) && !control_edges_touch(&fuser->control, user)
                        : result->user_count > 1 && goes_on(fuser, group, user, true);
    bytes += shape_byte_size(user->shape);
  }
  if (!has_parts || bytes > shape_byte_size(result->shape)) {
    end_at(fuser, group, result, is_sort);
    group->drops |= group->ends.data[group->ends.count - 1] != result;
    return;
  }
  group->drops = true;
  if (!is_inside(group, result)) take(group, result);
  for (int32_t i = 0; i < result->user_count; i++) end_at(fuser, group, result->users[i], true);
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

/* |member| and, before it, those that it reads. */
static HloInstruction *add_member(FusedBody *body, const LineGroup *group, HloInstruction *member) {
  HloInstruction *there = pointer_map_get(&body->inside, member);
  if (there != NULL) return there;
  for (int k = 0; k < member->operand_count; k++) {
    if (is_inside(group, member->operands[k])) add_member(body, group, member->operands[k]);
  }
  return fused_body_add(body, member);
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
  for (int i = 0; i < count; i++) ends[i] = add_member(body, group, group->ends.data[i]);
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
  take(&group, line);
  take_producers(fuser, &group, line);
  bool has_ends = end_results(fuser, &group) && group.ends.count <= RESULT_LIMIT;
  if (!group.reads && !(has_ends && group.drops)) return false;
  FusedBody body;
  fused_body_begin(&body, fuser->computation, SV("fused_lines"), fuser->observer, fuser->arena);
  HloInstruction *inside = add_member(&body, &group, line);
  if (has_ends) {
    write_ends(fuser, &group, &body);
  } else {
    write_whole(fuser, &group, &body, inside);
  }
  return true;
}

/* A sort of lines of more than one element, or a transform in one piece. */
static bool is_line_operation(const LineFuser *fuser, const HloInstruction *instruction) {
  if (instruction->opcode != HLO_SORT && instruction->opcode != HLO_FFT) return false;
  if (control_edges_touch(&fuser->control, instruction)) return false;
  for (int k = 0; k < instruction->operand_count; k++) {
    if (!is_plain(instruction->operands[k]->shape)) return false;
  }
  if (instruction->opcode == HLO_FFT) return hlo_fft_is_in_one_piece(instruction);
  return instruction->operands[0]->shape->dims[hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS).data[0]] > 1;
}

static bool fuse_lines(HloComputation *computation, const HloDecisionObserver *observer) {
  Arena *arena = arena_create();
  bool changed = hlo_computation_remove_dead(computation) > 0; /* readers that nothing needs have no say */
  LineFuser fuser = {.arena = arena, .computation = computation, .observer = observer};
  control_edges_init(&fuser.control, computation, arena);
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(computation, arena, &count);
  for (int64_t i = 0; i < count; i++) {
    if (hlo_instruction_is_unread(order[i])) continue;
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
    "line-fusion", "compute what is sorted or transformed where it is read, store what is made of it", run_line_fusion,
    false};
