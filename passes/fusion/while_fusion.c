/* while-fusion: a loop of a known number of rounds in which each element of the state's arrays is made from that
 * element alone becomes a fusion.  Its Kernel takes an element through all rounds before the next, in registers, and
 * threads share the elements, not those of each round. */
#include "base/checked_math.h"
#include "hlo/analysis/trip_count.h"
#include "passes/fusion/fused_body.h"
#include "passes/pipeline/control_computations.h"

enum { MOST_INSTRUCTIONS = 200, MOST_VARYING = 8, LEAST_ELEMENTS = 16, MOST_PRODUCERS = 16 };

/* What an instruction of the body is made from. */
enum { FROM_ELEMENT = 1 /* of an array that varies */, FROM_ROUND = 2 /* whatever varies */ };

typedef struct WhileLoop {
  HloInstruction *loop;
  const HloInstruction *init, *parameter, *root;
  TripCount count;
  const Shape *shape; /* of the arrays that vary, but for their types */
  IntMap from;        /* instruction of the body → FROM_… */
} WhileLoop;

static bool is_passed_on(const WhileLoop *loop, int element) {
  const HloInstruction *next = loop->root->operands[element];
  return trip_count_element(next, loop->parameter) == element;
}

static bool is_plain(const Shape *shape) {
  if (!shape_is_array(shape) || shape_is_dynamic(shape)) return false;
  return shape->type == TYPE_PRED || type_bits(shape->type) >= 8;
}

/* The arrays that vary have the same dimensions; beside them vary the counter and other scalars. */
static bool read_state(WhileLoop *loop) {
  int varying = 0;
  for (int i = 0; i < loop->init->operand_count; i++) {
    const Shape *shape = loop->init->operands[i]->shape;
    if (!is_plain(shape)) return false;
    if (is_passed_on(loop, i) || i == loop->count.index) continue;
    varying++;
    if (shape_is_scalar(shape)) continue;
    if (loop->shape == NULL) loop->shape = shape;
    if (!shape_same_dims(shape, loop->shape)) return false;
  }
  return loop->shape != NULL && varying <= MOST_VARYING && shape_element_count(loop->shape) >= LEAST_ELEMENTS;
}

static int state_from(const WhileLoop *loop, const HloInstruction *element) {
  int64_t number = trip_count_element(element, loop->parameter);
  if (is_passed_on(loop, (int)number)) return 0;
  return shape_is_scalar(element->shape) ? FROM_ROUND : FROM_ELEMENT | FROM_ROUND;
}

/* Says where elements of arrays that do not vary are. */
static bool only_places(HloOpcode opcode) {
  const HloOpcodeInfo *info = hlo_opcode_info(opcode);
  return info->access == ACCESS_AFFINE && info->cost == OP_COST_FREE;
}

/* Whether |instruction| of the body may be computed element by element, and what it is made from. */
static bool visit(WhileLoop *loop, const HloInstruction *instruction) {
  if (instruction == loop->parameter || instruction == loop->root) return true;
  if (!is_plain(instruction->shape)) return false;
  if (hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS) != NULL) return false;
  int from = 0;
  if (instruction->opcode == HLO_GET_TUPLE_ELEMENT) {
    if (instruction->operands[0] != loop->parameter) return false;
    from = state_from(loop, instruction);
  } else if (instruction->opcode == HLO_CONSTANT) {
    if (!literal_is_splat(hlo_instruction_literal(instruction))) return false;
  } else {
    for (int i = 0; i < instruction->operand_count; i++) {
      int64_t found = 0;
      if (!int_map_find(&loop->from, (uint64_t)instruction->operands[i]->id, &found)) return false;
      from |= (int)found;
    }
    bool is_elementwise = hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE) && instruction->operand_count > 0;
    if (!is_elementwise && ((from & FROM_ELEMENT) || !only_places(instruction->opcode))) return false;
    if ((from & FROM_ELEMENT) && !shape_same_dims(instruction->shape, loop->shape)) return false;
    /* A loop computes what all elements share once a round. */
    if (!(from & FROM_ELEMENT) && hlo_opcode_is_function(instruction->opcode)) return false;
  }
  int_map_set(&loop->from, (uint64_t)instruction->id, from);
  return true;
}

/* Each next value of what varies is made in the round. */
static bool all_move(const WhileLoop *loop) {
  for (int i = 0; i < loop->root->operand_count; i++) {
    int64_t from = 0;
    int_map_find(&loop->from, (uint64_t)loop->root->operands[i]->id, &from);
    if (!is_passed_on(loop, i) && !(from & FROM_ROUND)) return false;
    if (!is_passed_on(loop, i) && shape_is_scalar(loop->root->operands[i]->shape) && (from & FROM_ELEMENT))
      return false;
  }
  return true;
}

/* Only arrays that vary, and what does not, are read after the loop. */
static bool is_read_by_elements(const WhileLoop *loop) {
  const HloInstruction *last = loop->loop;
  bool reads_array = false;
  if (hlo_instruction_is_root(last)) return false;
  for (int i = 0; i < last->user_count; i++) {
    int64_t number = trip_count_element(last->users[i], last);
    if (number < 0) return false;
    bool is_used = last->users[i]->user_count > 0 || hlo_instruction_is_root(last->users[i]);
    if (!is_used || is_passed_on(loop, (int)number)) continue;
    if (shape_is_scalar(last->users[i]->shape)) return false;
    reads_array = true;
  }
  return reads_array;
}

static bool read_loop(HloInstruction *instruction, WhileLoop *loop, Arena *scratch) {
  const HloComputation *body = hlo_instruction_computation(instruction, HLO_ATTR_BODY);
  const HloComputation *condition = hlo_instruction_computation(instruction, HLO_ATTR_CONDITION);
  *loop = (WhileLoop){
      .loop = instruction, .init = instruction->operands[0], .parameter = body->parameters.data[0], .root = body->root};
  if (!trip_count_find(instruction, &loop->count) || loop->count.trips < 2) return false;
  if (loop->init->opcode != HLO_TUPLE || loop->root->opcode != HLO_TUPLE) return false;
  if (hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS) != NULL) return false;
  if (body->instructions.count > MOST_INSTRUCTIONS || !read_state(loop)) return false;
  for (int64_t i = 0; i < condition->instructions.count; i++) {
    if (hlo_instruction_has_side_effect(condition->instructions.data[i])) return false;
  }
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(body, scratch, &count);
  int_map_init(&loop->from, scratch);
  for (int64_t i = 0; i < count; i++) {
    if (hlo_instruction_has_side_effect(order[i]) || !visit(loop, order[i])) return false;
  }
  return all_move(loop) && is_read_by_elements(loop);
}

/* --- the fusion --- */

/* What the loop begins with is computed inside where that is cheap and nothing else needs it. */
static void add_producer(FusedBody *body, HloInstruction *value, const Shape *shape, int *left) {
  bool is_splat = value->opcode == HLO_BROADCAST && shape_is_scalar(value->operands[0]->shape);
  bool is_lane_wise = hlo_opcode_has(value->opcode, OP_ELEMENTWISE) && value->user_count == 1;
  if (hlo_instruction_attr(value, HLO_ATTR_CONTROL_PREDECESSORS) != NULL) return;
  if (*left == 0 || pointer_map_get(&body->inside, value) != NULL) return;
  if (!is_splat && (!is_lane_wise || !shape_same_dims(value->shape, shape) || value->operand_count == 0)) return;
  --*left;
  for (int i = 0; !is_splat && i < value->operand_count; i++) add_producer(body, value->operands[i], shape, left);
  fused_body_add(body, value);
}

/* What is read after the loop: its elements in |fused|, and their readers in turn. */
static void replace_readers(HloInstruction *last, const WhileLoop *loop, HloInstruction *fusion, const int *places,
                            Arena *arena) {
  HloInstruction **users = ARENA_COPY_ARRAY(arena, HloInstruction *, last->users, last->user_count);
  for (int i = 0, count = last->user_count; i < count; i++) {
    int64_t number = trip_count_element(users[i], last);
    HloInstruction *value = loop->init->operands[number];
    if (!is_passed_on(loop, (int)number)) {
      if (places[number] < 0) continue; /* nothing reads it */
      value = fusion;
      if (shape_is_tuple(fusion->shape)) {
        value = hlo_computation_add(fusion->parent, HLO_GET_TUPLE_ELEMENT, users[i]->shape, &fusion, 1, users[i]->name);
        hlo_instruction_set_int(value, HLO_ATTR_INDEX, places[number]);
      }
    }
    hlo_instruction_replace_all_uses(users[i], value);
  }
}

static HloInstruction *tuple_of(HloComputation *computation, HloInstruction **values, int count, Arena *arena) {
  const Shape **shapes = ARENA_NEW_ARRAY(arena, const Shape *, count);
  for (int i = 0; i < count; i++) shapes[i] = values[i]->shape;
  const Shape *tuple = shape_tuple(computation->module->shapes, shapes, count);
  return hlo_computation_add(computation, HLO_TUPLE, tuple, values, count, (StringView){0});
}

static void fuse_loop(const WhileLoop *loop, const HloDecisionObserver *observer, Arena *arena) {
  FusedBody body;
  HloInstruction *last = loop->loop;
  int *places = ARENA_NEW_ARRAY(arena, int, loop->init->operand_count), count = 0, left = MOST_PRODUCERS;
  HloInstruction **results = ARENA_NEW_ARRAY(arena, HloInstruction *, loop->init->operand_count);
  fused_body_begin(&body, last->parent, SV("fused_while"), observer, arena);
  for (int i = 0; i < loop->init->operand_count; i++) add_producer(&body, loop->init->operands[i], loop->shape, &left);
  fused_body_add(&body, last->operands[0]);
  HloInstruction *inside = fused_body_add(&body, last);
  for (int i = 0; i < loop->init->operand_count; i++) places[i] = -1;
  for (int i = 0; i < last->user_count; i++) {
    int64_t number = trip_count_element(last->users[i], last);
    bool is_used = last->users[i]->user_count > 0 || hlo_instruction_is_root(last->users[i]);
    if (!is_used || is_passed_on(loop, (int)number) || places[number] >= 0) continue;
    places[number] = count;
    results[count] =
        hlo_computation_add(body.fused, HLO_GET_TUPLE_ELEMENT, last->users[i]->shape, &inside, 1, last->users[i]->name);
    hlo_instruction_set_int(results[count++], HLO_ATTR_INDEX, number);
  }
  hlo_computation_set_root(body.fused, count == 1 ? results[0] : tuple_of(body.fused, results, count, arena));
  HloInstruction *fusion = fused_body_end(&body, FUSION_KIND_LOOP, SV("while_fusion"), last);
  replace_readers(last, loop, fusion, places, arena);
}

static bool fuse_computation(HloPassContext *context, HloComputation *computation) {
  bool changed = false;
  Arena *arena = arena_create();
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    WhileLoop loop;
    HloInstruction *instruction = computation->instructions.data[i];
    if (instruction->opcode != HLO_WHILE || instruction->user_count == 0) continue;
    if (!hlo_pass_may_rewrite(context) || !read_loop(instruction, &loop, arena)) continue;
    hlo_pass_count_rewrite(context, "fuse-while", instruction);
    fuse_loop(&loop, context->options->decisions, arena);
    changed = true;
  }
  if (changed) hlo_computation_remove_dead(computation);
  arena_destroy(arena);
  return changed;
}

static Status run_while_fusion(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t count;
  HloComputation **computations = control_computations(module, context->scratch, &count);
  for (int64_t i = 0; i < count; i++) *out_changed |= fuse_computation(context, computations[i]);
  return STATUS_OK;
}

const HloPass hlo_while_fusion_pass = {"while-fusion", "loops over elements that do not meet, in registers",
                                       run_while_fusion, false};
