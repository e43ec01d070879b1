/* Instructions of LLVM's IR as values of this room. */
#include <string.h>

#include "base/checked_math.h"
#include "codegen/nest/nest_internal.h"

/* --- instructions --- */

typedef struct NestReader {
  NestFunction *nest;
  LLVMValueRef at;
  NestValue *value; /* made of it; nowhere yet */
} NestReader;

typedef void (*NestRead)(NestReader *reader);

/* Nothing is stored from |position| on. */
static bool stays_loaded(const NestFunction *nest, int position) {
  for (int64_t p = position; p < nest->order.count; p++) {
    NestOp op = nest_value(nest, nest->order.data[p])->op;
    if (op == NEST_STORE || op == NEST_SCATTER) return false;
  }
  return true;
}

/* Operand |i| may be read from memory by the instruction itself: loads of whole registers, and of one number for all
 * lanes with AVX-512. */
static bool fold_load(NestReader *reader, int i) {
  NestFunction *nest = reader->nest;
  if (nest->is_refused) return false;
  NestValue *load = nest_value(nest, reader->value->operands[i]);
  bool is_load = load->op == NEST_LOAD || (load->op == NEST_BROADCAST && nest->target->has_avx512);
  bool is_whole = load->mask_bits == 0 && load->operand_count == 0 && load->condition == NULL;
  if (!is_load || !is_whole || nest_only_user(load->source) != reader->at) return false;
  bool is_same_block = LLVMGetInstructionParent(load->source) == LLVMGetInstructionParent(reader->at);
  load->is_folded = is_same_block && stays_loaded(nest, load->position);
  return load->is_folded;
}

static void swap_operands(NestValue *value) {
  int first = value->operands[0];
  value->operands[0] = value->operands[1];
  value->operands[1] = first;
}

static void read_vector_binary(NestReader *reader, const char *name) {
  NestFunction *nest = reader->nest;
  if (!nest_vector_of(nest, LLVMTypeOf(reader->at), &reader->value->bytes, &reader->value->element)) {
    nest_refuse(nest);
    return;
  }
  *reader->value = (NestValue){.kind = NEST_VECTOR,
                               .op = NEST_BINARY,
                               .name = name,
                               .bytes = reader->value->bytes,
                               .element = reader->value->element,
                               .operand_count = 2};
  for (unsigned i = 0; i < 2; i++) reader->value->operands[i] = nest_operand(nest, reader->at, i, NEST_VECTOR);
  bool commutes = strcmp(name, "add") == 0 || strcmp(name, "mul") == 0;
  if (!fold_load(reader, 1) && commutes && fold_load(reader, 0)) swap_operands(reader->value);
}

static void read_fadd(NestReader *reader) {
  read_vector_binary(reader, "add");
}
static void read_fsub(NestReader *reader) {
  read_vector_binary(reader, "sub");
}
static void read_fmul(NestReader *reader) {
  read_vector_binary(reader, "mul");
}
static void read_fdiv(NestReader *reader) {
  read_vector_binary(reader, "div");
}

/* a + factor × b of integers, addresses, or lanes of them. */
static void read_sum(NestReader *reader, int a, int b, int64_t factor) {
  NestFunction *nest = reader->nest;
  if (nest->is_refused) return;
  const NestValue *left = nest_value(nest, a), *right = nest_value(nest, b);
  bool has_lanes = left->kind == NEST_LANES || right->kind == NEST_LANES;
  NestValue *sum = reader->value;
  sum->kind = has_lanes ? NEST_LANES : NEST_FORM;
  bool is_integer =
      (left->kind == NEST_FORM || left->kind == NEST_LANES) && (right->kind == NEST_FORM || right->kind == NEST_LANES);
  if (!is_integer || !nest_add_form(nest, &left->form, &right->form, factor, &sum->form)) {
    nest_refuse(nest);
    return;
  }
  if (!has_lanes) return;
  LLVMTypeRef type = LLVMTypeOf(reader->at);
  sum->element =
      LLVMGetTypeKind(nest_element(type)) == LLVMPointerTypeKind ? 8 : (int)LLVMGetIntTypeWidth(nest_element(type)) / 8;
  sum->bytes = sum->element * nest_lanes(type);
  for (int i = 0; i < NEST_MOST_LANES; i++)
    sum->offsets[i] = nest_sum(left->kind == NEST_LANES ? left->offsets[i] : 0,
                               nest_product(right->kind == NEST_LANES ? right->offsets[i] : 0, factor));
}

static bool is_index_or_lanes(LLVMTypeRef type) {
  return nest_lanes(type) > 1 ? nest_lanes(type) <= NEST_MOST_LANES : nest_is_index(type);
}

static void read_integer_sum(NestReader *reader, int64_t factor) {
  NestFunction *nest = reader->nest;
  if (!is_index_or_lanes(LLVMTypeOf(reader->at))) {
    nest_refuse(nest);
    return;
  }
  int a = nest_number_of(nest, LLVMGetOperand(reader->at, 0));
  int b = nest_number_of(nest, LLVMGetOperand(reader->at, 1));
  read_sum(reader, a, b, factor);
}

static void read_add(NestReader *reader) {
  read_integer_sum(reader, 1);
}
static void read_sub(NestReader *reader) {
  read_integer_sum(reader, -1);
}

static bool is_of_arguments(const NestFunction *nest, const NestForm *form) {
  for (int t = 0; t < form->count; t++) {
    if (nest->atoms.data[form->terms[t].atom].kind != NEST_ARGUMENT) return false;
  }
  return true;
}

/* What |op| makes of two integers; at the entry where both are known there. */
static void make_result(NestReader *reader, NestOp op, const NestForm *a, const NestForm *b) {
  NestFunction *nest = reader->nest;
  NestValue *value = reader->value;
  value->kind = NEST_FORM;
  value->op = op;
  value->other = *a;
  value->operands[0] = nest_add_value(nest, (NestValue){.kind = NEST_NOTHING, .form = *b, .block = -1, .position = -1});
  value->divisor = b->constant;
  value->is_early = value->condition == NULL && is_of_arguments(nest, a) && is_of_arguments(nest, b);
  value->form = nest_atom_form(nest, NEST_RESULT, (int)nest->values.count);
}

static void read_mul(NestReader *reader) {
  NestFunction *nest = reader->nest;
  const NestForm zero = {0};
  const NestForm *a = nest_operand_form(nest, reader->at, 0), *b = nest_operand_form(nest, reader->at, 1);
  reader->value->kind = NEST_FORM;
  if (nest->is_refused) return;
  if (a->count > 0 && b->count > 0) {
    make_result(reader, NEST_PRODUCT, a, b);
    return;
  }
  if (b->count == 0)
    nest_add_form(nest, &zero, a, b->constant, &reader->value->form);
  else
    nest_add_form(nest, &zero, b, a->constant, &reader->value->form);
}

static void read_shl(NestReader *reader) {
  NestFunction *nest = reader->nest;
  const NestForm zero = {0};
  const NestForm *a = nest_operand_form(nest, reader->at, 0), *b = nest_operand_form(nest, reader->at, 1);
  if (b->count > 0 || b->constant < 0 || b->constant > 62) nest_refuse(nest);
  reader->value->kind = NEST_FORM;
  if (!nest->is_refused) nest_add_form(nest, &zero, a, (int64_t)1 << b->constant, &reader->value->form);
}

static void read_division(NestReader *reader, NestOp op) {
  NestFunction *nest = reader->nest;
  const NestForm *a = nest_operand_form(nest, reader->at, 0), *b = nest_operand_form(nest, reader->at, 1);
  if (b->count > 0 || b->constant < 2 || b->constant > INT32_MAX) nest_refuse(nest);
  if (nest->is_refused) return;
  make_result(reader, op, a, b);
  if ((op == NEST_SIGNED_REMAINDER || op == NEST_SIGNED_QUOTIENT) && !reader->value->is_early) nest_refuse(nest);
}

static void read_udiv(NestReader *reader) {
  read_division(reader, NEST_QUOTIENT);
}
static void read_urem(NestReader *reader) {
  read_division(reader, NEST_REMAINDER);
}
static void read_sdiv(NestReader *reader) {
  read_division(reader, NEST_SIGNED_QUOTIENT);
}
static void read_srem(NestReader *reader) {
  read_division(reader, NEST_SIGNED_REMAINDER);
}

static void read_gep(NestReader *reader) {
  NestFunction *nest = reader->nest;
  if (LLVMGetNumOperands(reader->at) != 2) {
    nest_refuse(nest);
    return;
  }
  int64_t size = (int64_t)LLVMABISizeOfType(nest->layout, LLVMGetGEPSourceElementType(reader->at));
  int a = nest_number_of(nest, LLVMGetOperand(reader->at, 0));
  int b = nest_number_of(nest, LLVMGetOperand(reader->at, 1));
  if (!is_index_or_lanes(LLVMTypeOf(LLVMGetOperand(reader->at, 1)))) nest_refuse(nest);
  read_sum(reader, a, b, size);
}

static void read_trunc(NestReader *reader) {
  LLVMTypeRef type = LLVMTypeOf(reader->at);
  LLVMValueRef user = nest_only_user(reader->at);
  bool is_spread = user != NULL && LLVMIsAInsertElementInst(user) != NULL;
  if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) != 32 || !is_spread)
    nest_refuse(reader->nest);
  reader->value->kind = NEST_FORM;
  reader->value->form = *nest_operand_form(reader->nest, reader->at, 0);
}

static void read_insert(NestReader *reader) {
  NestFunction *nest = reader->nest;
  LLVMValueRef place = LLVMGetOperand(reader->at, 2);
  bool is_first = LLVMIsAConstantInt(place) != NULL && LLVMConstIntGetZExtValue(place) == 0;
  if (!is_first || !LLVMIsUndef(LLVMGetOperand(reader->at, 0))) nest_refuse(nest);
  reader->value->kind = NEST_INSERT;
  reader->value->operands[0] = nest_number_of(nest, LLVMGetOperand(reader->at, 1));
}

/* A load that is used for nothing but |reader|'s spreading becomes one of all lanes, where it stood. */
static bool spread_load(NestReader *reader, int number) {
  NestFunction *nest = reader->nest;
  NestValue *load = nest_value(nest, number), *value = reader->value;
  if (load->op != NEST_LOAD) return false;
  LLVMValueRef insert = nest_only_user(load->source);
  bool is_alone = insert != NULL && LLVMIsAInsertElementInst(insert) != NULL && nest_only_user(insert) == reader->at;
  bool is_same_block = LLVMGetInstructionParent(load->source) == LLVMGetInstructionParent(reader->at);
  if (!is_alone || !is_same_block || load->condition != NULL || !stays_loaded(nest, load->position)) return false;
  value->kind = NEST_VECTOR;
  value->op = NEST_BROADCAST;
  value->form = load->form;
  load->kind = NEST_NOTHING;
  load->op = NEST_NO_OP;
  return true;
}

/* Lane 0 of |number| in all lanes. */
static void read_spread(NestReader *reader, int number) {
  NestFunction *nest = reader->nest;
  NestValue *value = reader->value;
  LLVMTypeRef type = LLVMTypeOf(reader->at);
  const NestValue *one = nest_value(nest, number);
  if (one->kind == NEST_CONDITION) {
    *value = (NestValue){.kind = NEST_CONDITION, .condition = one->condition};
  } else if (one->kind == NEST_FORM) {
    *value = (NestValue){.kind = NEST_LANES, .form = one->form};
    value->element = LLVMGetTypeKind(nest_element(type)) == LLVMPointerTypeKind
                         ? 8
                         : (int)LLVMGetIntTypeWidth(nest_element(type)) / 8;
    value->bytes = value->element * nest_lanes(type);
    if (nest_lanes(type) > NEST_MOST_LANES) nest_refuse(nest);
  } else if (one->kind == NEST_VECTOR && nest_vector_of(nest, type, &value->bytes, &value->element)) {
    if (spread_load(reader, number)) return;
    value->kind = NEST_VECTOR;
    value->op = NEST_SPREAD;
    value->operands[0] = number;
    value->operand_count = 1;
  } else {
    nest_refuse(nest);
  }
}

static void read_shuffle(NestReader *reader) {
  NestFunction *nest = reader->nest;
  NestValue *value = reader->value;
  LLVMTypeRef type = LLVMTypeOf(reader->at), from = LLVMTypeOf(LLVMGetOperand(reader->at, 0));
  int lanes = nest_lanes(type), undefined = LLVMGetUndefMaskElem(), chosen[NEST_MOST_LANES];
  bool is_spread = true, takes_first = false, takes_second = false;
  if (lanes > NEST_MOST_LANES) {
    nest_refuse(nest);
    return;
  }
  for (int i = 0; i < lanes; i++) {
    chosen[i] = LLVMGetMaskValue(reader->at, (unsigned)i);
    if (chosen[i] == undefined) chosen[i] = -1;
    is_spread &= chosen[i] == 0;
    takes_first |= chosen[i] >= 0 && chosen[i] < nest_lanes(from);
    takes_second |= chosen[i] >= nest_lanes(from);
  }
  LLVMValueRef first = LLVMGetOperand(reader->at, 0);
  if (is_spread && LLVMIsAInsertElementInst(first) != NULL) {
    int insert = nest_operand(nest, reader->at, 0, NEST_INSERT);
    if (!nest->is_refused) read_spread(reader, nest_value(nest, insert)->operands[0]);
    return;
  }
  if (from != type || !nest_vector_of(nest, type, &value->bytes, &value->element) || value->element != 4 ||
      !nest->target->has_avx512) {
    nest_refuse(nest);
    return;
  }
  value->kind = NEST_VECTOR;
  value->op = NEST_PERMUTE;
  for (int i = 0; i < lanes; i++) value->offsets[i] = chosen[i] < 0 ? 0 : chosen[i];
  if (takes_first) value->operands[value->operand_count++] = nest_operand(nest, reader->at, 0, NEST_VECTOR);
  if (takes_second) {
    value->operands[value->operand_count++] = nest_operand(nest, reader->at, 1, NEST_VECTOR);
    for (int i = 0; i < lanes && !takes_first; i++)
      if (value->offsets[i] >= lanes) value->offsets[i] -= lanes;
  }
  if (value->operand_count == 0) nest_refuse(nest);
}

static LLVMIntPredicate turned(LLVMIntPredicate predicate) {
  static const LLVMIntPredicate others[] = {
      [LLVMIntEQ] = LLVMIntEQ,   [LLVMIntNE] = LLVMIntNE,   [LLVMIntUGT] = LLVMIntULT, [LLVMIntUGE] = LLVMIntULE,
      [LLVMIntULT] = LLVMIntUGT, [LLVMIntULE] = LLVMIntUGE, [LLVMIntSGT] = LLVMIntSLT, [LLVMIntSGE] = LLVMIntSLE,
      [LLVMIntSLT] = LLVMIntSGT, [LLVMIntSLE] = LLVMIntSGE};
  return others[predicate];
}

static void read_compare(NestReader *reader) {
  NestFunction *nest = reader->nest;
  NestValue *value = reader->value;
  LLVMIntPredicate predicate = LLVMGetICmpPredicate(reader->at);
  LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(reader->at, 0));
  if (nest_lanes(type) > 1) {
    int a = nest_operand(nest, reader->at, 0, NEST_LANES), b = nest_operand(nest, reader->at, 1, NEST_LANES);
    if (nest->is_refused) return;
    const NestValue *left = nest_value(nest, a), *right = nest_value(nest, b);
    bool is_taken = nest->target->has_avx512 && predicate == LLVMIntULT && left->element == 4 &&
                    right->form.count == 0 && left->bytes >= 16;
    for (int i = 1; i < nest_lanes(type); i++) is_taken &= right->offsets[i] == right->offsets[0];
    if (!is_taken) {
      nest_refuse(nest);
      return;
    }
    *value = (NestValue){.kind = NEST_MASK,
                         .op = NEST_BELOW,
                         .bytes = left->bytes,
                         .element = left->element,
                         .form = left->form,
                         .divisor = right->offsets[0] + right->form.constant};
    memcpy(value->offsets, left->offsets, sizeof value->offsets);
    return;
  }
  if (!nest_is_index(type)) nest_refuse(nest);
  const NestForm *a = nest_operand_form(nest, reader->at, 0), *b = nest_operand_form(nest, reader->at, 1);
  NestCondition *condition = ARENA_NEW(nest->arena, NestCondition);
  bool turns = a->count == 0; /* a number is on the right */
  *condition = (NestCondition){.count = 1,
                               .leaves = {{turns ? turned(predicate) : predicate, turns ? *b : *a, turns ? *a : *b}}};
  value->kind = NEST_CONDITION;
  value->condition = condition;
}

static void read_and(NestReader *reader) {
  NestFunction *nest = reader->nest;
  NestValue *value = reader->value;
  int numbers[2];
  for (unsigned i = 0; i < 2; i++) numbers[i] = nest_number_of(nest, LLVMGetOperand(reader->at, i));
  if (nest->is_refused) return;
  const NestValue *a = nest_value(nest, numbers[0]), *b = nest_value(nest, numbers[1]);
  if (a->kind == NEST_CONDITION && b->kind == NEST_CONDITION) {
    NestCondition *both = ARENA_NEW(nest->arena, NestCondition);
    *both = *a->condition;
    for (int i = 0; i < b->condition->count; i++) {
      bool is_known = false;
      for (int j = 0; j < both->count; j++)
        is_known |= memcmp(&both->leaves[j], &b->condition->leaves[i], sizeof both->leaves[j]) == 0;
      if (is_known) continue;
      if (both->count == NEST_MOST_LEAVES) {
        nest_refuse(nest);
        return;
      }
      both->leaves[both->count++] = b->condition->leaves[i];
    }
    value->kind = NEST_CONDITION;
    value->condition = both;
    return;
  }
  int mask = a->kind == NEST_MASK ? 0 : 1;
  const NestValue *of = mask == 0 ? a : b, *other = mask == 0 ? b : a;
  if (of->kind != NEST_MASK || other->kind != NEST_CONDITION) {
    nest_refuse(nest);
    return;
  }
  *value = (NestValue){.kind = NEST_MASK,
                       .op = NEST_MASK_IF,
                       .bytes = of->bytes,
                       .element = of->element,
                       .condition = other->condition,
                       .operands = {numbers[mask]},
                       .operand_count = 1};
}

/* Whether |value| is another one that is read already: a load under its guard, an index that only leads to such. */
static int same_as(NestReader *reader) {
  LLVMValueRef at = reader->at, guard = LLVMGetOperand(at, 0), taken = LLVMGetOperand(at, 1);
  if (!nest_is_bit(LLVMTypeOf(guard)) || !nest_is_zero(LLVMGetOperand(at, 2))) return -1;
  bool is_load = LLVMIsALoadInst(taken) != NULL || LLVMIsACallInst(taken) != NULL;
  bool is_same =
      is_load ? nest_guard_of(taken) == guard : nest_is_index(LLVMTypeOf(at)) && nest_leads_to_guarded_loads(at, guard);
  return is_same ? nest_number_of(reader->nest, taken) : -1;
}

static void read_select(NestReader *reader) {
  NestFunction *nest = reader->nest;
  NestValue *value = reader->value;
  LLVMTypeRef type = LLVMTypeOf(reader->at);
  int condition = nest_number_of(nest, LLVMGetOperand(reader->at, 0));
  if (nest->is_refused) return;
  if (nest_is_index(type)) {
    int guard = nest_operand(nest, reader->at, 0, NEST_CONDITION);
    const NestForm *a = nest_operand_form(nest, reader->at, 1), *b = nest_operand_form(nest, reader->at, 2);
    if (nest->is_refused) return;
    value->condition = nest_value(nest, guard)->condition;
    make_result(reader, NEST_PICK, a, b);
    return;
  }
  if (nest_value(nest, condition)->kind != NEST_MASK || !nest_vector_of(nest, type, &value->bytes, &value->element)) {
    nest_refuse(nest);
    return;
  }
  value->kind = NEST_VECTOR;
  value->op = NEST_CHOOSE;
  value->operand_count = 3;
  value->operands[0] = condition;
  for (unsigned i = 1; i < 3; i++) value->operands[i] = nest_operand(nest, reader->at, i, NEST_VECTOR);
}

static void read_float_compare(NestReader *reader) {
  /* By LLVM's numbers of predicates: ordered and unordered ones as vcmpps numbers them. */
  static const int8_t numbers[] = {
      [LLVMRealOEQ] = 0,    [LLVMRealOGT] = 0x1e, [LLVMRealOGE] = 0x1d, [LLVMRealOLT] = 0x11, [LLVMRealOLE] = 0x12,
      [LLVMRealONE] = 0x0c, [LLVMRealORD] = 7,    [LLVMRealUNO] = 3,    [LLVMRealUEQ] = 8,    [LLVMRealUGT] = 0x16,
      [LLVMRealUGE] = 0x15, [LLVMRealULT] = 0x19, [LLVMRealULE] = 0x1a, [LLVMRealUNE] = 4};
  NestFunction *nest = reader->nest;
  NestValue *value = reader->value;
  LLVMRealPredicate predicate = LLVMGetFCmpPredicate(reader->at);
  LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(reader->at, 0));
  bool is_named = predicate != LLVMRealPredicateFalse && predicate != LLVMRealPredicateTrue;
  if (!is_named || !nest->target->has_avx512 || !nest_vector_of(nest, type, &value->bytes, &value->element) ||
      nest_lanes(type) == 1) {
    nest_refuse(nest);
    return;
  }
  value->kind = NEST_MASK;
  value->op = NEST_COMPARE;
  value->predicate = numbers[predicate];
  value->operand_count = 2;
  for (unsigned i = 0; i < 2; i++) value->operands[i] = nest_operand(nest, reader->at, i, NEST_VECTOR);
}

/* --- memory --- */

static void read_guard(NestReader *reader) {
  LLVMValueRef guard = nest_guard_of(reader->at);
  if (guard == NULL) return;
  int number = nest_number_of(reader->nest, guard);
  if (reader->nest->is_refused) return;
  if (nest_value(reader->nest, number)->kind != NEST_CONDITION) nest_refuse(reader->nest);
  reader->value->condition = nest_value(reader->nest, number)->condition;
}

static void read_load(NestReader *reader) {
  NestFunction *nest = reader->nest;
  NestValue *value = reader->value;
  if (!nest_vector_of(nest, LLVMTypeOf(reader->at), &value->bytes, &value->element) || LLVMGetVolatile(reader->at)) {
    nest_refuse(nest);
    return;
  }
  value->kind = NEST_VECTOR;
  value->op = NEST_LOAD;
  value->form = *nest_operand_form(nest, reader->at, 0);
  read_guard(reader);
}

static void read_store(NestReader *reader) {
  NestFunction *nest = reader->nest;
  NestValue *value = reader->value;
  bool is_plain = !LLVMGetVolatile(reader->at) && !LLVMHasMetadata(reader->at);
  if (!is_plain || !nest_vector_of(nest, LLVMTypeOf(LLVMGetOperand(reader->at, 0)), &value->bytes, &value->element)) {
    nest_refuse(nest);
    return;
  }
  value->op = NEST_STORE;
  value->operands[0] = nest_operand(nest, reader->at, 0, NEST_VECTOR);
  value->operand_count = 1;
  value->form = *nest_operand_form(nest, reader->at, 1);
}

/* A constant, or what is in a register. */
static void read_mask(NestReader *reader, unsigned i, int lanes) {
  NestFunction *nest = reader->nest;
  LLVMValueRef mask = LLVMGetOperand(reader->at, i);
  if (!LLVMIsConstant(mask))
    reader->value->operands[reader->value->operand_count++] = nest_operand(nest, reader->at, i, NEST_MASK);
  else if (!nest_mask_constant(mask, lanes, &reader->value->mask_bits))
    nest_refuse(nest);
}

/* A load of lanes under a mask, which is 0 in the others; false: refused. */
static bool read_lanes_in(NestReader *reader, NestOp op) {
  NestFunction *nest = reader->nest;
  NestValue *value = reader->value;
  LLVMTypeRef type = LLVMTypeOf(reader->at);
  LLVMValueRef other = LLVMGetOperand(reader->at, 3);
  bool is_vector = nest_vector_of(nest, type, &value->bytes, &value->element);
  if (!is_vector || (!nest_is_zero(other) && !LLVMIsUndef(other))) {
    nest_refuse(nest);
    return false;
  }
  value->kind = NEST_VECTOR;
  value->op = op;
  read_mask(reader, 2, nest_lanes(type));
  return true;
}

static void read_masked_load(NestReader *reader) {
  if (!read_lanes_in(reader, NEST_LOAD)) return;
  reader->value->form = *nest_operand_form(reader->nest, reader->at, 0);
  read_guard(reader);
}

/* A store of lanes under a mask that is constant; false: refused. */
static bool read_lanes_out(NestReader *reader, NestOp op) {
  NestFunction *nest = reader->nest;
  NestValue *value = reader->value;
  LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(reader->at, 0));
  if (!nest_vector_of(nest, type, &value->bytes, &value->element) ||
      !nest_mask_constant(LLVMGetOperand(reader->at, 3), nest_lanes(type), &value->mask_bits)) {
    nest_refuse(nest);
    return false;
  }
  value->op = op;
  value->operands[0] = nest_operand(nest, reader->at, 0, NEST_VECTOR);
  value->operand_count = 1;
  return true;
}

static void read_masked_store(NestReader *reader) {
  if (read_lanes_out(reader, NEST_STORE)) reader->value->form = *nest_operand_form(reader->nest, reader->at, 1);
}

/* Places of lanes: AVX-512, 32 bits each, from the first address on. */
static bool takes_lanes(const NestFunction *nest, const NestValue *lanes, const NestValue *value) {
  if (!nest->target->has_avx512 || value->element != 4 || value->bytes < 16) return false;
  for (int i = 0; i < value->bytes / 4; i++) {
    if (lanes->offsets[i] < INT32_MIN || lanes->offsets[i] > INT32_MAX) return false;
  }
  return true;
}

static void take_lanes(NestReader *reader, unsigned i) {
  NestFunction *nest = reader->nest;
  int lanes = nest_operand(nest, reader->at, i, NEST_LANES);
  if (nest->is_refused) return;
  if (!takes_lanes(nest, nest_value(nest, lanes), reader->value)) nest_refuse(nest);
  reader->value->form = nest_value(nest, lanes)->form;
  memcpy(reader->value->offsets, nest_value(nest, lanes)->offsets, sizeof reader->value->offsets);
}

static void read_gather(NestReader *reader) {
  if (read_lanes_in(reader, NEST_GATHER)) take_lanes(reader, 0);
}

static void read_scatter(NestReader *reader) {
  if (read_lanes_out(reader, NEST_SCATTER)) take_lanes(reader, 1);
}

static void read_fma(NestReader *reader) {
  NestFunction *nest = reader->nest;
  NestValue *value = reader->value;
  if (!nest_vector_of(nest, LLVMTypeOf(reader->at), &value->bytes, &value->element)) {
    nest_refuse(nest);
    return;
  }
  value->kind = NEST_VECTOR;
  value->op = NEST_FMA;
  value->operand_count = 3;
  for (unsigned i = 0; i < 3; i++) value->operands[i] = nest_operand(nest, reader->at, i, NEST_VECTOR);
  if (!fold_load(reader, 1) && fold_load(reader, 0)) swap_operands(value);
}

/* (a, b, what, otherwise, mask): of all lanes. */
static void read_range(NestReader *reader) {
  NestFunction *nest = reader->nest;
  LLVMValueRef what = LLVMGetOperand(reader->at, 2), mask = LLVMGetOperand(reader->at, 4);
  bool is_whole = LLVMIsAConstantInt(mask) != NULL && LLVMConstIntGetSExtValue(mask) == -1;
  if (!is_whole || nest_lanes(LLVMTypeOf(reader->at)) == 1) nest_refuse(nest);
  read_vector_binary(reader, "range");
  reader->value->predicate = (int)LLVMConstIntGetZExtValue(what);
}

/* (address, reads, locality, data): of data that will be read. */
static void read_prefetch(NestReader *reader) {
  LLVMValueRef writes = LLVMGetOperand(reader->at, 1), is_data = LLVMGetOperand(reader->at, 3);
  if (LLVMConstIntGetZExtValue(writes) != 0 || LLVMConstIntGetZExtValue(is_data) != 1) nest_refuse(reader->nest);
  reader->value->op = NEST_PREFETCH;
  reader->value->form = *nest_operand_form(reader->nest, reader->at, 0);
  reader->value->predicate = (int)LLVMConstIntGetZExtValue(LLVMGetOperand(reader->at, 2));
}

static void read_call(NestReader *reader) {
  static const struct {
    const char *prefix;
    NestRead read;
  } calls[] = {{"llvm.masked.load.", read_masked_load},
               {"llvm.masked.store.", read_masked_store},
               {"llvm.masked.gather.", read_gather},
               {"llvm.masked.scatter.", read_scatter},
               {"llvm.fma.", read_fma},
               {"llvm.prefetch.", read_prefetch},
               {"llvm.x86.avx512.mask.range.p", read_range}};
  size_t size;
  const char *name = LLVMGetValueName2(LLVMGetCalledValue(reader->at), &size);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    if (strncmp(name, calls[i].prefix, strlen(calls[i].prefix)) != 0) continue;
    calls[i].read(reader);
    return;
  }
  nest_refuse(reader->nest);
}

/* --- phis --- */

/* The counter of the loop that |block| begins: from a form on, by a number of which the loop adds one each time. */
static void read_counter(NestReader *reader, int block) {
  NestFunction *nest = reader->nest;
  NestLoop *loop = NULL;
  int number = -1;
  for (int64_t l = 0; l < nest->loops.count; l++) {
    if (nest->loops.data[l].header == block) number = (int)l;
  }
  if (number < 0 || LLVMCountIncoming(reader->at) != 2) {
    nest_refuse(nest);
    return;
  }
  loop = &nest->loops.data[number];
  LLVMBasicBlockRef latch = nest->blocks[loop->latch].source;
  unsigned back = LLVMGetIncomingBlock(reader->at, 0) == latch ? 0 : 1;
  LLVMValueRef next = LLVMGetIncomingValue(reader->at, back);
  bool is_sum = LLVMIsAInstruction(next) != NULL && LLVMGetInstructionOpcode(next) == LLVMAdd &&
                LLVMGetIncomingBlock(reader->at, back) == latch && LLVMGetOperand(next, 0) == reader->at &&
                LLVMIsAConstantInt(LLVMGetOperand(next, 1)) != NULL;
  int first = nest_number_of(nest, LLVMGetIncomingValue(reader->at, 1 - back));
  if (!is_sum || loop->has_counter || nest->is_refused || nest_value(nest, first)->kind != NEST_FORM) {
    nest_refuse(nest);
    return;
  }
  loop->has_counter = true;
  loop->step = LLVMConstIntGetSExtValue(LLVMGetOperand(next, 1));
  NestForm counter = nest_atom_form(nest, NEST_COUNTER, number);
  loop->atom = counter.terms[0].atom;
  reader->value->kind = NEST_FORM;
  nest_add_form(nest, &nest_value(nest, first)->form, &counter, 1, &reader->value->form);
}

static void read_phi(NestReader *reader) {
  NestFunction *nest = reader->nest;
  NestValue *value = reader->value;
  int block = nest_block_number(nest, LLVMGetInstructionParent(reader->at));
  if (nest_is_index(LLVMTypeOf(reader->at))) {
    read_counter(reader, block);
    return;
  }
  if (!nest_vector_of(nest, LLVMTypeOf(reader->at), &value->bytes, &value->element)) nest_refuse(nest);
  value->kind = NEST_VECTOR;
  value->op = NEST_PHI;
}

/* --- all of them --- */

static void read_instruction(NestReader *reader) {
  static const NestRead reads[] = {[LLVMFAdd] = read_fadd,
                                   [LLVMFSub] = read_fsub,
                                   [LLVMFMul] = read_fmul,
                                   [LLVMFDiv] = read_fdiv,
                                   [LLVMAdd] = read_add,
                                   [LLVMSub] = read_sub,
                                   [LLVMMul] = read_mul,
                                   [LLVMShl] = read_shl,
                                   [LLVMUDiv] = read_udiv,
                                   [LLVMURem] = read_urem,
                                   [LLVMSDiv] = read_sdiv,
                                   [LLVMSRem] = read_srem,
                                   [LLVMGetElementPtr] = read_gep,
                                   [LLVMTrunc] = read_trunc,
                                   [LLVMInsertElement] = read_insert,
                                   [LLVMShuffleVector] = read_shuffle,
                                   [LLVMICmp] = read_compare,
                                   [LLVMFCmp] = read_float_compare,
                                   [LLVMAnd] = read_and,
                                   [LLVMSelect] = read_select,
                                   [LLVMLoad] = read_load,
                                   [LLVMStore] = read_store,
                                   [LLVMCall] = read_call,
                                   [LLVMPHI] = read_phi};
  unsigned opcode = (unsigned)LLVMGetInstructionOpcode(reader->at);
  if (opcode >= sizeof reads / sizeof *reads || reads[opcode] == NULL)
    nest_refuse(reader->nest);
  else
    reads[opcode](reader);
}

static void read_end(NestFunction *nest, int number) {
  NestBlock *block = &nest->blocks[number];
  if (block->successor_count < 2) return;
  int condition = nest_number_of(nest, LLVMGetCondition(LLVMGetBasicBlockTerminator(block->source)));
  if (nest->is_refused) return;
  if (nest_value(nest, condition)->kind != NEST_CONDITION) nest_refuse(nest);
  block->condition = nest_value(nest, condition)->condition;
}

static void read_block(NestFunction *nest, int number) {
  NestBlock *block = &nest->blocks[number];
  block->first = (int)nest->order.count;
  for (LLVMValueRef at = LLVMGetFirstInstruction(block->source); at != NULL && !nest->is_refused;
       at = LLVMGetNextInstruction(at)) {
    if (LLVMIsATerminatorInst(at) != NULL) break;
    NestValue value = {.source = at, .block = number, .position = (int)nest->order.count};
    NestReader reader = {nest, at, &value};
    int same = LLVMGetInstructionOpcode(at) == LLVMSelect ? same_as(&reader) : -1;
    if (same < 0) {
      read_instruction(&reader);
      value.source = at;
      value.block = value.is_early ? 0 : number;
      value.position = value.is_early ? NEST_ENTRY + (int)nest->values.count : (int)nest->order.count;
      same = nest_add_value(nest, value);
      array_push(&nest->order, nest->arena, same);
    }
    int_map_set(&nest->numbers, (uint64_t)(uintptr_t)at, same);
  }
  if (!nest->is_refused) read_end(nest, number);
  array_push(&nest->order, nest->arena, -1); /* the end has a position of its own */
  block->last = (int)nest->order.count - 1;
}

static void read_arguments(NestFunction *nest) {
  nest->argument_count = (int)LLVMCountParams(nest->source);
  if (nest->argument_count > NEST_MOST_ARGUMENTS) {
    nest->argument_count = 0;
    nest_refuse(nest);
  }
  for (int i = 0; i < nest->argument_count; i++) {
    LLVMValueRef argument = LLVMGetParam(nest->source, (unsigned)i);
    NestValue value = {.source = argument, .block = 0, .position = -1};
    if (nest_is_index(LLVMTypeOf(argument))) {
      value.kind = NEST_FORM;
      value.form = nest_atom_form(nest, NEST_ARGUMENT, i);
    }
    int_map_set(&nest->numbers, (uint64_t)(uintptr_t)argument, nest_add_value(nest, value));
  }
}

/* Of the form next < bound, where both are numbers but for the counter. */
static void count_trips(const NestFunction *nest, NestLoop *loop) {
  const NestCondition *condition = nest->blocks[loop->latch].condition;
  const NestLeaf *leaf = &condition->leaves[0];
  bool is_counted = leaf->predicate == LLVMIntSLT && leaf->right.count == 0 && leaf->left.count == 1 &&
                    leaf->left.terms[0].atom == loop->atom && leaf->left.terms[0].factor == 1 && loop->step > 0;
  if (!is_counted) return;
  int64_t distance = leaf->right.constant - leaf->left.constant;
  loop->trips = distance <= 0 ? 1 : (distance + loop->step - 1) / loop->step + 1;
}

/* Constants that phis of vectors take. */
static void read_incoming(NestFunction *nest) {
  for (int64_t p = 0; p < nest->order.count && !nest->is_refused; p++) {
    if (nest->order.data[p] < 0) continue;
    const NestValue phi = *nest_value(nest, nest->order.data[p]);
    for (unsigned i = 0; phi.op == NEST_PHI && i < LLVMCountIncoming(phi.source); i++)
      nest_number_of(nest, LLVMGetIncomingValue(phi.source, i));
  }
}

bool nest_read_values(NestFunction *nest) {
  int_map_init(&nest->numbers, nest->arena);
  read_arguments(nest);
  for (int b = 0; b < nest->block_count && !nest->is_refused; b++) read_block(nest, b);
  if (!nest->is_refused) read_incoming(nest);
  for (int64_t l = 0; l < nest->loops.count && !nest->is_refused; l++) {
    NestLoop *loop = &nest->loops.data[l];
    if (!loop->has_counter || nest->blocks[loop->latch].condition->count != 1) return nest_refuse(nest);
    count_trips(nest, loop);
  }
  return !nest->is_refused;
}
