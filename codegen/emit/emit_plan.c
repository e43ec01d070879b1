/* Which dimension is walked in lanes, in how many, and in which order the loops stand. */
#include "base/checked_math.h"
#include "codegen/emit/emit_internal.h"

static int register_bits(PrimitiveType type) {
  if (type == TYPE_PRED) return 8;
  if (type == TYPE_F16 || type == TYPE_BF16) return 32; /* floats in registers */
  return type_storage_bytes(type) * 8;
}

/* The widest element that the Kernel computes with; addresses (s64 only used as indices) do not count. */
static int widest_element(const Kernel *kernel) {
  int bits = 8;
  for (int b = 0; b < kernel->buffer_count; b++) bits = (int)max_i64(bits, register_bits(kernel->buffers[b].type));
  for (int f = 0; f < kernel->fold_count; f++) bits = (int)max_i64(bits, register_bits(kernel->folds[f].type));
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind == KERNEL_APPLY && value->type != TYPE_S64) bits = (int)max_i64(bits, register_bits(value->type));
  }
  return bits;
}

static bool value_varies(const Kernel *kernel, int32_t value, int dim) {
  return kernel->values[value].dims >> dim & 1;
}

/* Cost of one access when |dim| is walked in |lanes| lanes: 1 contiguous, less when uniform, one per lane otherwise. */
static double access_cost(const Kernel *kernel, IndexExpr address, int dim, int lanes) {
  double scattered = 1.2 * lanes;
  if (index_depends_nonlinearly(&kernel->space, address, dim)) return scattered + 4;
  for (int i = 0; i < address.term_count; i++) {
    const IndexAtom *atom = &kernel->space.atoms.data[address.terms[i].atom];
    if (atom->kind == INDEX_ATOM_VALUE && value_varies(kernel, atom->number, dim)) return scattered;
  }
  int64_t coefficient = index_dim_coefficient(&kernel->space, address, dim);
  if (coefficient == 0) return 0.3;
  return coefficient == 1 ? 1 : scattered;
}

static bool has_scattered_access(const Kernel *kernel, int dim) {
  for (int v = 0; v < kernel->value_count; v++) {
    if (kernel->values[v].kind == KERNEL_LOAD && access_cost(kernel, kernel->values[v].address, dim, 16) > 1) return true;
  }
  for (int s = 0; s < kernel->stage_count; s++) {
    for (int i = 0; i < kernel->stages[s].store_count; i++) {
      if (access_cost(kernel, kernel->stages[s].stores[i].address, dim, 16) > 1) return true;
    }
  }
  return false;
}

/* Time per element of the dim, in units of one vector operation. */
static double dim_cost(const Kernel *kernel, int dim, int lanes) {
  double step = 0;
  for (int v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind == KERNEL_LOAD) step += access_cost(kernel, value->address, dim, lanes);
    if (value->kind == KERNEL_APPLY) step += value_varies(kernel, v, dim) ? 1 : 0.5;
  }
  for (int s = 0; s < kernel->stage_count; s++) {
    for (int i = 0; i < kernel->stages[s].store_count; i++) {
      step += 1.5 * access_cost(kernel, kernel->stages[s].stores[i].address, dim, lanes);
    }
  }
  int64_t extent = kernel->dims[dim].extent;
  return (step + 0.5) * (double)ceil_div(extent, lanes) / (double)extent;
}

/* Lanes of a reduction dim are partial folds: all folds of its stage must allow them. */
static bool stage_is_reassociable(const Kernel *kernel, int stage) {
  if (kernel->stages[stage].store_count > 0) return false;
  for (int f = 0; f < kernel->fold_count; f++) {
    if (kernel->folds[f].stage == stage && !kernel->folds[f].reassociable) return false;
  }
  return true;
}

/* An outer dim moves inside of the others: all of those after it must be parallel as well. */
static bool may_be_vector(const Kernel *kernel, int dim) {
  const KernelDim *info = &kernel->dims[dim];
  if (info->kind == KERNEL_REDUCTION) return stage_is_reassociable(kernel, info->stage);
  for (int d = dim; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == KERNEL_OUTER && kernel->dims[d].kind != KERNEL_PARALLEL) return false;
  }
  return info->kind == KERNEL_PARALLEL;
}

/* Capped well above any number of lanes. */
static int power_of_two_at_least(int64_t value) {
  int power = 1;
  while (power < value && power < 4096) power *= 2;
  return power;
}

static bool has_masks(const Kernel *kernel, const VecTarget *target) {
  if (target->has_masks) return true;
  if (!target->has_masks_32) return false;
  for (int b = 0; b < kernel->buffer_count; b++) {
    PrimitiveType type = kernel->buffers[b].type;
    if (type_storage_bytes(type) < 4) return false;
  }
  return true;
}

/* Main part in |lanes| lanes, the rest in one masked step, or one by one where the target has no masks. */
static void split_parts(const Kernel *kernel, const VecTarget *target, int64_t extent, int lanes, EmitPlan *plan) {
  int64_t main_end = extent / lanes * lanes, rest = extent - main_end;
  plan->part_count = 0;
  if (main_end > 0) plan->parts[plan->part_count++] = (VectorPart){0, main_end, lanes, 0};
  if (rest == 0) return;
  int rest_lanes = power_of_two_at_least(rest);
  if (rest_lanes == rest) {
    plan->parts[plan->part_count++] = (VectorPart){main_end, extent, rest_lanes, 0};
  } else if (has_masks(kernel, target)) {
    plan->parts[plan->part_count++] = (VectorPart){main_end, extent, rest_lanes, rest};
  } else {
    plan->parts[plan->part_count++] = (VectorPart){main_end, extent, 1, 0};
  }
}

/* Copies of the register width per step: independent chains hide latency (folds), wide bodies amortise loop control. */
static int unroll_factor(const Kernel *kernel, const VecTarget *target, int dim) {
  if (has_scattered_access(kernel, dim)) return 1;
  if (kernel->fold_count > 0) return target->register_count >= 32 ? 4 : 2;
  return kernel->value_count > 40 ? 1 : 2;
}

static void order_loops(const Kernel *kernel, EmitPlan *plan) {
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == KERNEL_OUTER && d != plan->vector_dim) plan->outer[plan->outer_count++] = d;
  }
  if (plan->vector_dim >= 0 && !plan->vector_is_inner) plan->outer[plan->outer_count++] = plan->vector_dim;
}

void emit_plan_choose(const Kernel *kernel, const VecTarget *target, EmitPlan *out_plan) {
  EmitPlan *plan = out_plan;
  *plan = (EmitPlan){.vector_dim = -1};
  int native = (int)max_i64(target->vector_bits / widest_element(kernel), 1);
  double best = 0;
  for (int d = kernel->dim_count - 1; d >= 0; d--) {
    if (!may_be_vector(kernel, d)) continue;
    int lanes = (int)min_i64(native, power_of_two_at_least(kernel->dims[d].extent));
    double cost = dim_cost(kernel, d, lanes), scalar = dim_cost(kernel, d, 1);
    if (cost >= scalar || (plan->vector_dim >= 0 && cost >= best)) continue;
    best = cost;
    plan->vector_dim = d;
  }
  if (plan->vector_dim >= 0) {
    const KernelDim *dim = &kernel->dims[plan->vector_dim];
    plan->vector_is_inner = dim->stage != KERNEL_OUTER;
    plan->vector_stage = dim->stage;
    int lanes = native * unroll_factor(kernel, target, plan->vector_dim);
    while (lanes > native && lanes > dim->extent) lanes /= 2;
    split_parts(kernel, target, dim->extent, lanes, plan);
  }
  order_loops(kernel, plan);
}
