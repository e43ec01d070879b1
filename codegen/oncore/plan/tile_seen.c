#include "codegen/oncore/plan/tile_seen.h"

#include "codegen/oncore/plan/tile_cost.h"

static bool is_range(const Kernel *kernel, int32_t predicate) {
  if (predicate < 0) return true;
  const KernelValue *value = &kernel->values[predicate];
  if (value->kind == KERNEL_APPLY)
    return value->opcode == HLO_AND && is_range(kernel, value->operands[0]) && is_range(kernel, value->operands[1]);
  return value->kind == KERNEL_CONSTANT ||
         (value->kind == KERNEL_IN_RANGE && tile_address_is_linear(kernel, value->address));
}

/* Of dims alone. */
static bool is_of_dims(const Kernel *kernel, IndexExpr address) {
  for (int i = 0; i < address.term_count; i++)
    if (kernel->space.atoms.data[address.terms[i].atom].kind != INDEX_ATOM_DIM) return false;
  return true;
}

bool tile_may_see(const Kernel *kernel, int32_t value) {
  const KernelValue *load = tile_load_value(kernel, value);
  TileWindows windows;
  return load != NULL && kernel->buffers[load->buffer].role == KERNEL_OPERAND && is_of_dims(kernel, load->address) &&
         is_range(kernel, load->predicate) && tile_load_windows(kernel, value, &windows) &&
         tile_value_is_factor(kernel, value);
}

bool tile_kernel_may_see(const Kernel *kernel) {
  for (int32_t v = 0; v < kernel->value_count; v++)
    if (tile_may_see(kernel, v)) return true;
  return false;
}

bool tile_ref_is_seen(const Plan *plan, const TileAccess *access, const PlanRef *ref) {
  if (access->kind != TILE_LOAD || ref->is_memory || ref->range_count != 1) return false;
  return plan->tensors[ref->number].hold != PLAN_HOLDS_NOTHING && tile_may_see(plan->kernel, access->value);
}
