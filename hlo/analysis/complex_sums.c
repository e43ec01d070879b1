#include "hlo/analysis/complex_sums.h"

enum { MANY = 32 }; /* products of each element of a factor */

/* |times| as many products as one of the factors has elements, or fewer. */
static bool reads_a_factor(const HloInstruction *dot, int64_t times) {
  const Shape *lhs = dot->operands[0]->shape, *rhs = dot->operands[1]->shape;
  Int64List contracted = hlo_instruction_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS);
  int64_t products = shape_element_count(dot->shape);
  for (int64_t i = 0; i < contracted.count; i++) products *= lhs->dims[contracted.data[i]];
  return products <= times * shape_element_count(lhs) || products <= times * shape_element_count(rhs);
}

bool hlo_sums_parts_apart(const HloInstruction *contraction) {
  if (!hlo_opcode_has(contraction->opcode, OP_CONTRACTION) || !type_is_complex(contraction->shape->type)) return false;
  return contraction->opcode != HLO_DOT || !reads_a_factor(contraction, 1);
}

bool hlo_moves_all(const HloInstruction *made) {
  if (hlo_opcode_info(made->opcode)->access != ACCESS_AFFINE || made->operand_count != 1) return false;
  const HloInstruction *operand = made->operands[0];
  if (!shape_is_array(operand->shape) || operand->shape->type != made->shape->type) return false;
  return operand->user_count == 1 && shape_element_count(operand->shape) == shape_element_count(made->shape);
}

bool hlo_rearranges_parts(const HloInstruction *contraction) {
  if (!hlo_sums_parts_apart(contraction)) return false;
  return contraction->opcode != HLO_DOT || !reads_a_factor(contraction, MANY - 1);
}

bool hlo_is_rearranged_parts(const HloInstruction *made) {
  while (hlo_moves_all(made)) made = made->operands[0];
  return hlo_rearranges_parts(made);
}

bool hlo_reads_one_part(const HloInstruction *part) {
  if (part->opcode != HLO_REAL && part->opcode != HLO_IMAG) return false;
  return part->operands[0]->user_count == 1 && hlo_sums_parts_apart(part->operands[0]);
}
