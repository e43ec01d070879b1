/* The largest or smallest value and the first place where it is. */
#include "codegen/vec/vec_internal.h"

static LLVMValueRef is_below(const VecBuilder *vec, PrimitiveType type, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildICmp(vec->builder, type_is_signed(type) ? LLVMIntSLT : LLVMIntULT, a, b, "");
}

/* Where |offered| comes before |best|, whatever the places. */
static LLVMValueRef is_better(const VecBuilder *vec, const VecChoice *choice, LLVMValueRef best, LLVMValueRef offered) {
  if (!type_is_float(choice->type)) {
    return choice->is_largest ? is_below(vec, choice->type, best, offered) : is_below(vec, choice->type, offered, best);
  }
  LLVMValueRef low = choice->is_largest ? best : offered, high = choice->is_largest ? offered : best;
  if (!choice->nan_is_first) return LLVMBuildFCmp(vec->builder, LLVMRealOLT, low, high, "");
  LLVMValueRef differs = LLVMBuildFCmp(vec->builder, LLVMRealULT, low, high, "");
  LLVMValueRef is_number = LLVMBuildFCmp(vec->builder, LLVMRealORD, best, best, "");
  return LLVMBuildAnd(vec->builder, differs, is_number, "");
}

static void take_where(const VecBuilder *vec, LLVMValueRef takes, const VecChosen *offered, VecChosen *best) {
  best->value = LLVMBuildSelect(vec->builder, takes, offered->value, best->value, "");
  best->place = LLVMBuildSelect(vec->builder, takes, offered->place, best->place, "");
}

void vec_choice_advance(const VecBuilder *vec, const VecChoice *choice, VecChosen *best, const VecChosen *offered) {
  take_where(vec, is_better(vec, choice, best->value, offered->value), offered, best);
}

void vec_choice_join(const VecBuilder *vec, const VecChoice *choice, VecChosen *best, const VecChosen *other) {
  LLVMBuilderRef builder = vec->builder;
  LLVMValueRef takes = is_better(vec, choice, best->value, other->value);
  LLVMValueRef keeps = is_better(vec, choice, other->value, best->value);
  LLVMValueRef is_before = is_below(vec, choice->place_type, other->place, best->place);
  LLVMValueRef is_first = LLVMBuildAnd(builder, LLVMBuildNot(builder, keeps, ""), is_before, "");
  take_where(vec, LLVMBuildOr(builder, takes, is_first, ""), other, best);
}

VecChosen vec_choice_reduce(const VecBuilder *vec, const VecChoice *choice, VecChosen chosen, int lanes,
                            int wanted_lanes) {
  while (lanes > wanted_lanes) {
    XLAC_CHECK(lanes % 2 == 0);
    lanes /= 2;
    VecChosen high = {vec_slice(vec, chosen.value, lanes, lanes), vec_slice(vec, chosen.place, lanes, lanes)};
    chosen = (VecChosen){vec_slice(vec, chosen.value, 0, lanes), vec_slice(vec, chosen.place, 0, lanes)};
    vec_choice_join(vec, choice, &chosen, &high);
  }
  return chosen;
}
