/* Shapes: each by itself, and the stated one against what the operands say. */
#include "base/checked_math.h"
#include "hlo/infer/infer_internal.h"
#include "hlo/infer/verifier_internal.h"

/* --- one shape --- */

static const char *layout_mistake(Verifier *verifier, const Shape *shape) {
  const Layout *layout = &shape->layout;
  if (layout->rank != shape->rank) return "of another rank";
  bool is_small = shape->rank <= 64;
  uint64_t bits = 0;
  bool *seen = is_small ? NULL : ARENA_NEW_ARRAY(verifier->scratch, bool, shape->rank);
  for (int i = 0; i < layout->rank; i++) {
    int64_t dimension = layout->minor_to_major[i];
    if (dimension < 0 || dimension >= shape->rank) return "that is not a permutation";
    if (is_small ? bits >> dimension & 1 : seen[dimension]) return "that is not a permutation";
    if (is_small)
      bits |= UINT64_C(1) << dimension;
    else
      seen[dimension] = true;
  }
  for (int i = 0; i < layout->tile_count; i++) {
    for (int j = 0; j < layout->tiles[i].rank; j++) {
      if (layout->tiles[i].dims[j] <= 0 && layout->tiles[i].dims[j] != TILE_COMBINE) return "with an empty tile";
    }
  }
  if (layout->element_size_in_bits < 0 || layout->memory_space < 0) return "with a negative field";
  bool is_sub_byte = shape->type != TYPE_PRED && type_bits(shape->type) < 8;
  if (layout->element_size_in_bits != 0 && !is_sub_byte) return "with a size for elements that are whole bytes";
  return NULL;
}

static bool verify_array(Verifier *verifier, const Shape *shape, SourceLoc loc) {
  if (shape->rank > SHAPE_MAX_RANK) {
    verify_error(verifier, loc, "verify-rank", "an array of %d dimensions: at most %d are allowed", shape->rank,
                 SHAPE_MAX_RANK);
    return false;
  }
  for (int i = 0; i < shape->rank; i++) {
    if (shape->dims[i] >= 0) continue;
    bool is_unbounded = shape->dims[i] == SHAPE_UNBOUNDED;
    verify_error(verifier, loc, "verify-dimension", "dimension %d of %s is %s", i, verify_text(verifier, shape),
                 is_unbounded ? "unbounded: state an upper bound, as in f32[<=8]" : "negative");
    return false;
  }
  if (shape_byte_size(shape) < 0) {
    verify_error(verifier, loc, "verify-size", "shape %s is too large", verify_text(verifier, shape));
    return false;
  }
  const char *mistake = layout_mistake(verifier, shape);
  if (mistake == NULL) return true;
  verify_error(verifier, loc, "verify-layout", "shape %s has a layout %s",
               infer_shape_text(verifier->scratch, shape, true), mistake);
  return false;
}

/* Each shape is looked at once; what is wrong with a tuple's element is said of the element. */
int verify_shape(Verifier *verifier, const Shape *shape, SourceLoc loc) {
  int64_t facts;
  if (int_map_find(&verifier->shapes, (uintptr_t)shape, &facts)) return (int)facts;
  facts = SHAPE_WAS_SEEN | SHAPE_IS_VALID;
  if (shape_is_array(shape)) {
    if (!verify_array(verifier, shape, loc)) facts &= ~SHAPE_IS_VALID;
  } else if (shape->type == TYPE_BUFFER) {
    facts |= SHAPE_HAS_BUFFER;
  }
  for (int i = 0; i < shape->tuple_size; i++) {
    int element = verify_shape(verifier, shape->tuple[i], loc);
    facts |= element & SHAPE_HAS_BUFFER;
    if (!(element & SHAPE_IS_VALID)) facts &= ~SHAPE_IS_VALID;
  }
  if ((facts & SHAPE_IS_VALID) && shape_is_tuple(shape) && shape_leaf_byte_size(shape) < 0) {
    verify_error(verifier, loc, "verify-size", "shape %s is too large", verify_text(verifier, shape));
    facts &= ~SHAPE_IS_VALID;
  }
  int_map_set(&verifier->shapes, (uintptr_t)shape, facts);
  return (int)facts;
}

/* --- rules about several shapes --- */

/* Inference stretches scalars and dimensions of size 1; an instruction must not rely on it. */
static void verify_no_broadcast(Verifier *verifier, const HloInstruction *instruction) {
  if (!hlo_opcode_has(instruction->opcode, OP_ELEMENTWISE) && instruction->opcode != HLO_MAP) return;
  bool takes_scalars = instruction->opcode == HLO_CLAMP || instruction->opcode == HLO_SELECT;
  for (int i = 0; i < instruction->operand_count; i++) {
    const Shape *operand = instruction->operands[i]->shape;
    if (operand == instruction->shape || !shape_is_array(operand) || !shape_is_array(instruction->shape)) continue;
    if (shape_same_dims(operand, instruction->shape) || (takes_scalars && operand->rank == 0)) continue;
    verify_error(verifier, instruction->loc, "verify-broadcast", "operand %d of '%s' is %s: broadcast it to %s first",
                 i, hlo_opcode_text(instruction->opcode), verify_text(verifier, operand),
                 verify_text(verifier, instruction->shape));
    return;
  }
}

/* Operations that only pass values on, or that convert on their own. */
static const bool allows_mixed_precision[HLO_OPCODE_COUNT] = {
    [HLO_CALL] = true,
    [HLO_CONDITIONAL] = true,
    [HLO_CONSTANT] = true,
    [HLO_CONVOLUTION] = true,
    [HLO_DOT] = true,
    [HLO_RAGGED_DOT] = true,
    [HLO_SCALED_DOT] = true,
    [HLO_ALL_REDUCE] = true,
    [HLO_ALL_REDUCE_START] = true,
    [HLO_ALL_REDUCE_DONE] = true,
    [HLO_ALL_GATHER] = true,
    [HLO_ALL_GATHER_START] = true,
    [HLO_ALL_GATHER_DONE] = true,
    [HLO_ASYNC_START] = true,
    [HLO_ASYNC_UPDATE] = true,
    [HLO_ASYNC_DONE] = true,
    [HLO_COLLECTIVE_PERMUTE] = true,
    [HLO_COLLECTIVE_PERMUTE_START] = true,
    [HLO_COPY_START] = true,
    [HLO_COPY_DONE] = true,
    [HLO_COLLECTIVE_PERMUTE_DONE] = true,
    [HLO_CUSTOM_CALL] = true,
    [HLO_DOMAIN] = true,
    [HLO_FUSION] = true,
    [HLO_GET_TUPLE_ELEMENT] = true,
    [HLO_OPT_BARRIER] = true,
    [HLO_INFEED] = true,
    [HLO_OUTFEED] = true,
    [HLO_PARAMETER] = true,
    [HLO_RECV] = true,
    [HLO_RECV_DONE] = true,
    [HLO_REDUCE_PRECISION] = true,
    [HLO_REDUCE_WINDOW] = true,
    [HLO_SEND] = true,
    [HLO_SEND_DONE] = true,
    [HLO_SORT] = true,
    [HLO_TUPLE] = true,
    [HLO_WHILE] = true,
    /* several independent values side by side */
    [HLO_SCAN] = true,
    [HLO_REDUCE_SCATTER] = true,
    [HLO_ALL_TO_ALL] = true,
    [HLO_COLLECTIVE_BROADCAST] = true,
    [HLO_ADD_DEPENDENCY] = true,
    [HLO_MAP] = true,
};

/* Operand |i| belongs to value |i| mod this many: k arrays with k initial values, k operands and k updates around the
 * indices. */
static int value_count(const HloInstruction *instruction) {
  bool is_variadic = instruction->opcode == HLO_REDUCE || instruction->opcode == HLO_SCATTER;
  return is_variadic && instruction->operand_count > 1 ? instruction->operand_count / 2 : 1;
}

static int value_of_operand(const HloInstruction *instruction, int operand, int values) {
  int shift = instruction->opcode == HLO_SCATTER && operand > values ? 1 : 0;
  return (operand - shift) % values;
}

static void verify_precision(Verifier *verifier, const HloInstruction *instruction) {
  if (allows_mixed_precision[instruction->opcode] || instruction->operand_count < 2) return;
  int values = value_count(instruction);
  for (int i = 1; i < instruction->operand_count; i++) {
    int first = instruction->opcode == HLO_SELECT ? 1 : value_of_operand(instruction, i, values);
    PrimitiveType a = instruction->operands[first]->shape->type, b = instruction->operands[i]->shape->type;
    if (a == b || !type_is_float(a) || !type_is_float(b)) continue;
    verify_error(verifier, instruction->loc, "verify-precision", "operands of '%s' mix %s and %s: convert one of them",
                 hlo_opcode_text(instruction->opcode), type_text(a), type_text(b));
    return;
  }
}

void verify_instruction_shape(Verifier *verifier, const HloInstruction *instruction) {
  if (!(verify_shape(verifier, instruction->shape, instruction->loc) & SHAPE_IS_VALID)) return;
  verify_buffers(verifier, instruction);
  const Shape *inferred;
  Status status = hlo_infer_shape(instruction, verifier->module->shapes, verifier->scratch, verifier->diag, &inferred);
  if (status != STATUS_OK) {
    verifier->has_failed = true;
    return;
  }
  if (inferred != instruction->shape && !shape_compatible(inferred, instruction->shape)) {
    verify_error(verifier, instruction->loc, "verify-shape", "stated shape %s differs from inferred %s",
                 verify_text(verifier, instruction->shape), verify_text(verifier, inferred));
    return;
  }
  verify_no_broadcast(verifier, instruction);
  verify_precision(verifier, instruction);
}
