/* Integers, types and values of LLVM's IR as this room takes them. */
#include <string.h>

#include "base/checked_math.h"
#include "codegen/nest/nest_internal.h"

/* --- forms --- */

static NestForm number_form(int64_t constant) {
  return (NestForm){.constant = constant};
}

/* a + factor × b */
bool nest_add_form(NestFunction *nest, const NestForm *a, const NestForm *b, int64_t factor, NestForm *out) {
  NestForm sum = {.constant = nest_sum(a->constant, nest_product(b->constant, factor))};
  int i = 0, j = 0;
  while (i < a->count || j < b->count) {
    NestTerm term;
    if (j == b->count || (i < a->count && a->terms[i].atom < b->terms[j].atom)) {
      term = a->terms[i++];
    } else {
      term = (NestTerm){b->terms[j].atom, nest_product(b->terms[j].factor, factor)};
      if (i < a->count && a->terms[i].atom == term.atom) term.factor = nest_sum(term.factor, a->terms[i++].factor);
      j++;
    }
    if (term.factor == 0) continue;
    if (sum.count == NEST_MOST_TERMS) return nest_refuse(nest);
    sum.terms[sum.count++] = term;
  }
  *out = sum;
  return true;
}

NestForm nest_atom_form(NestFunction *nest, NestAtomKind kind, int number) {
  array_push(&nest->atoms, nest->arena, ((NestAtom){kind, number}));
  return (NestForm){.count = 1, .terms = {{(int)nest->atoms.count - 1, 1}}};
}

/* --- types --- */

bool nest_is_index(LLVMTypeRef type) {
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  return kind == LLVMPointerTypeKind || (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 64);
}

bool nest_is_bit(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 1;
}

int nest_lanes(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? (int)LLVMGetVectorSize(type) : 1;
}

LLVMTypeRef nest_element(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

/* Numbers in registers: f32 and f64, one or a whole register of the target. */
bool nest_vector_of(const NestFunction *nest, LLVMTypeRef type, int *out_bytes, int *out_element) {
  LLVMTypeKind kind = LLVMGetTypeKind(nest_element(type));
  *out_element = kind == LLVMFloatTypeKind ? 4 : 8;
  *out_bytes = *out_element * nest_lanes(type);
  if (kind != LLVMFloatTypeKind && kind != LLVMDoubleTypeKind) return false;
  if (*out_bytes * 8 > nest->target->vector_bits) return false;
  return nest_lanes(type) == 1 || *out_bytes == 16 || *out_bytes == 32 || *out_bytes == 64;
}

/* --- values --- */

NestValue *nest_value(const NestFunction *nest, int number) {
  return &nest->values.data[number];
}

int nest_add_value(NestFunction *nest, NestValue value) {
  if (nest->values.count == NEST_MOST_VALUES) nest_refuse(nest);
  value.reg = -1;
  array_push(&nest->values, nest->arena, value);
  return (int)nest->values.count - 1;
}

bool nest_mask_constant(LLVMValueRef value, int lanes, uint32_t *out_bits) {
  *out_bits = 0;
  if (LLVMIsAConstantAggregateZero(value) != NULL) return false;
  for (int i = 0; i < lanes; i++) {
    LLVMValueRef lane = LLVMGetAggregateElement(value, (unsigned)i);
    if (lane == NULL || LLVMIsAConstantInt(lane) == NULL) return false;
    if (LLVMConstIntGetZExtValue(lane) != 0) *out_bits |= 1U << i;
  }
  return *out_bits != 0;
}

static bool lane_constants(LLVMValueRef value, NestValue *lanes) {
  int count = nest_lanes(LLVMTypeOf(value));
  if (count > NEST_MOST_LANES) return false;
  for (int i = 0; i < count; i++) {
    if (LLVMIsAConstantAggregateZero(value) != NULL) continue;
    LLVMValueRef lane = LLVMGetAggregateElement(value, (unsigned)i);
    if (lane == NULL || LLVMIsAConstantInt(lane) == NULL) return false;
    lanes->offsets[i] = LLVMConstIntGetSExtValue(lane);
  }
  return true;
}

static int constant_value(NestFunction *nest, LLVMValueRef constant) {
  LLVMTypeRef type = LLVMTypeOf(constant);
  NestValue value = {.source = constant, .constant = constant, .block = -1, .position = -1};
  if (LLVMIsAConstantInt(constant) != NULL && nest_is_index(type)) {
    value.kind = NEST_FORM;
    value.form = number_form(LLVMConstIntGetSExtValue(constant));
  } else if (nest_is_bit(type) && LLVMIsAConstantInt(constant) != NULL && LLVMConstIntGetZExtValue(constant) == 1) {
    value.kind = NEST_CONDITION;
    value.condition = ARENA_NEW(nest->arena, NestCondition);
  } else if (nest_vector_of(nest, type, &value.bytes, &value.element)) {
    bool is_plain = LLVMIsAConstantFP(constant) != NULL || LLVMIsAConstantDataVector(constant) != NULL ||
                    LLVMIsNull(constant) || LLVMIsAConstantVector(constant) != NULL;
    if (!is_plain) nest_refuse(nest);
    value.kind = NEST_VECTOR;
    value.op = NEST_CONSTANT;
  } else if (nest_lanes(type) > 1 && LLVMGetTypeKind(nest_element(type)) == LLVMIntegerTypeKind) {
    value.kind = NEST_LANES;
    value.element = (int)LLVMGetIntTypeWidth(nest_element(type)) / 8;
    value.bytes = value.element * nest_lanes(type);
    if (value.element < 4 || !lane_constants(constant, &value)) nest_refuse(nest);
  } else {
    nest_refuse(nest);
  }
  return nest_add_value(nest, value);
}

/* The number of |value|; constants get one where they are used. */
int nest_number_of(NestFunction *nest, LLVMValueRef value) {
  int64_t number;
  if (int_map_find(&nest->numbers, (uint64_t)(uintptr_t)value, &number)) return (int)number;
  if (!LLVMIsConstant(value) || LLVMIsAGlobalValue(value) != NULL) {
    nest_refuse(nest);
    return 0;
  }
  number = constant_value(nest, value);
  int_map_set(&nest->numbers, (uint64_t)(uintptr_t)value, number);
  return (int)number;
}

/* Operand |i| of an instruction, which must be of |kind|; 0 and refused otherwise. */
int nest_operand(NestFunction *nest, LLVMValueRef instruction, unsigned i, NestKind kind) {
  int number = nest_number_of(nest, LLVMGetOperand(instruction, i));
  if (nest->is_refused) return 0;
  if (nest_value(nest, number)->kind != kind) nest_refuse(nest);
  return number;
}

const NestForm *nest_operand_form(NestFunction *nest, LLVMValueRef instruction, unsigned i) {
  static const NestForm nothing = {0};
  int number = nest_operand(nest, instruction, i, NEST_FORM);
  return nest->is_refused ? &nothing : &nest_value(nest, number)->form;
}

bool nest_is_zero(LLVMValueRef value) {
  return LLVMIsConstant(value) && LLVMIsNull(value);
}

/* --- guards --- */

LLVMValueRef nest_only_user(LLVMValueRef value) {
  LLVMUseRef use = LLVMGetFirstUse(value);
  return use == NULL || LLVMGetNextUse(use) != NULL ? NULL : LLVMGetUser(use);
}

/* The guard of a load that is used only where it holds, with 0 in its place elsewhere; NULL: none. */
LLVMValueRef nest_guard_of(LLVMValueRef load) {
  LLVMValueRef user = nest_only_user(load);
  if (user == NULL || LLVMIsASelectInst(user) == NULL || LLVMGetOperand(user, 1) != load) return NULL;
  LLVMValueRef guard = LLVMGetOperand(user, 0);
  bool is_same_block = LLVMGetInstructionParent(user) == LLVMGetInstructionParent(load);
  return is_same_block && nest_is_bit(LLVMTypeOf(guard)) && nest_is_zero(LLVMGetOperand(user, 2)) ? guard : NULL;
}

/* Whether an index that is 0 where |guard| does not hold only leads to loads that do not happen then. */
bool nest_leads_to_guarded_loads(LLVMValueRef index, LLVMValueRef guard) {
  for (LLVMUseRef use = LLVMGetFirstUse(index); use != NULL; use = LLVMGetNextUse(use)) {
    LLVMValueRef address = LLVMGetUser(use);
    if (LLVMIsAGetElementPtrInst(address) == NULL) return false;
    for (LLVMUseRef next = LLVMGetFirstUse(address); next != NULL; next = LLVMGetNextUse(next)) {
      LLVMValueRef load = LLVMGetUser(next);
      bool is_load = LLVMIsALoadInst(load) != NULL || LLVMIsACallInst(load) != NULL;
      if (!is_load || nest_guard_of(load) != guard) return false;
    }
  }
  return true;
}
