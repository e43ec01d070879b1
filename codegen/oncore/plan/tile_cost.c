#include "codegen/oncore/plan/tile_cost.h"

#include <math.h>

#include "codegen/oncore/plan/tile_parts.h"
#include "hlo/machine/description/machine_cost.h"

static int64_t points_of(const Kernel *kernel, const int64_t *extents, uint64_t dims) {
  int64_t points = 1;
  for (int d = 0; d < kernel->dim_count; d++) {
    if ((dims >> d & 1) != 0 && extents[d] > 0) points *= extents[d];
  }
  return points;
}

/* What the matrix unit takes for |value|, a factor: what is loaded or computed before the unit converts it.  It
 * converts what is loaded, and widens what is computed. */
static int32_t factor_source(const Kernel *kernel, int32_t value) {
  const KernelValue *of = &kernel->values[value];
  if (of->kind != KERNEL_APPLY || of->opcode != HLO_CONVERT) return value;
  const KernelValue *from = &kernel->values[of->operands[0]];
  bool widens = type_storage_bytes(from->type) < type_storage_bytes(of->type);
  return from->kind == KERNEL_LOAD || widens ? of->operands[0] : value;
}

static bool is_loaded(const Kernel *kernel, int32_t value) {
  return kernel->values[factor_source(kernel, value)].kind == KERNEL_LOAD;
}

/* Whether |product| is one of matrices: its factors are loaded, or one of them at least is used at several points. */
static bool is_of_matrices(const Kernel *kernel, const KernelValue *product) {
  int32_t a = product->operands[0], b = product->operands[1];
  if (a == b) return false;
  if (is_loaded(kernel, a) && is_loaded(kernel, b)) return true;
  return kernel->values[a].dims != product->dims || kernel->values[b].dims != product->dims;
}

/* What |fold| adds in each round, -1 where it does anything else. */
static int32_t added_value(const Kernel *kernel, int32_t fold) {
  if (fold < 0 || fold >= kernel->fold_count) return -1;
  const KernelValue *next = &kernel->values[kernel->folds[fold].next];
  if (next->kind != KERNEL_APPLY || next->opcode != HLO_ADD) return -1;
  for (int i = 0; i < 2; i++) {
    const KernelValue *sum = &kernel->values[next->operands[i]];
    if (sum->kind == KERNEL_ACCUMULATOR && sum->fold == fold) return next->operands[1 - i];
  }
  return -1;
}

static bool is_apply(const Kernel *kernel, int32_t value, HloOpcode opcode) {
  return value >= 0 && kernel->values[value].kind == KERNEL_APPLY && kernel->values[value].opcode == opcode;
}

/* The products that a fold adds up. */
typedef struct DotProducts {
  int count;
  int32_t values[2];
} DotProducts;

/* Both products of |sum|, a sum or difference. */
static bool find_pair(const Kernel *kernel, int32_t sum, HloOpcode opcode, DotProducts *out_products) {
  if (!is_apply(kernel, sum, opcode)) return false;
  *out_products = (DotProducts){2, {kernel->values[sum].operands[0], kernel->values[sum].operands[1]}};
  for (int i = 0; i < 2; i++) {
    int32_t product = out_products->values[i];
    if (!is_apply(kernel, product, HLO_MULTIPLY) || !is_of_matrices(kernel, &kernel->values[product])) return false;
  }
  return true;
}

static bool has_factors(const Kernel *kernel, int32_t product, int32_t a, int32_t b) {
  const int32_t *factors = kernel->values[product].operands;
  return (factors[0] == a && factors[1] == b) || (factors[0] == b && factors[1] == a);
}

/* Whether |fold| and |next| add up the parts of products of complex numbers: ac - bd and ad + bc. */
static bool is_complex_dot(const Kernel *kernel, int32_t fold, int32_t next, DotProducts *out_re, DotProducts *out_im) {
  if (!find_pair(kernel, added_value(kernel, fold), HLO_SUBTRACT, out_re)) return false;
  if (!find_pair(kernel, added_value(kernel, next), HLO_ADD, out_im)) return false;
  const int32_t *ac = kernel->values[out_re->values[0]].operands, *bd = kernel->values[out_re->values[1]].operands;
  for (int i = 0; i < 2; i++) {
    int32_t b = bd[i], d = bd[1 - i];
    for (int k = 0; k < 2; k++) {
      bool is_first = has_factors(kernel, out_im->values[k], ac[0], d);
      if (is_first && has_factors(kernel, out_im->values[1 - k], b, ac[1])) return true;
    }
  }
  return false;
}

/* None where |fold| is no sum of products of matrices. */
static DotProducts dot_products(const Kernel *kernel, int32_t fold) {
  DotProducts re, im;
  int32_t product = added_value(kernel, fold);
  if (is_apply(kernel, product, HLO_MULTIPLY) && is_of_matrices(kernel, &kernel->values[product]))
    return (DotProducts){1, {product}};
  if (is_complex_dot(kernel, fold, fold + 1, &re, &im)) return re;
  if (is_complex_dot(kernel, fold - 1, fold, &re, &im)) return im;
  return (DotProducts){0};
}

bool tile_fold_is_dot(const Kernel *kernel, int32_t fold) {
  return dot_products(kernel, fold).count > 0;
}

/* --- which values a run of stages computes --- */

static void need(bool *needed, int32_t value) {
  if (value >= 0) needed[value] = true;
}

/* A dot takes what is loaded as it is, and else what its factors are computed as: its unit widens, multiplies and adds.
 */
static void need_roots(const Kernel *kernel, int32_t first, int32_t last, bool *needed) {
  for (int32_t f = 0; f < kernel->fold_count; f++) {
    if (kernel->folds[f].stage < first || kernel->folds[f].stage > last) continue;
    DotProducts products = dot_products(kernel, f);
    if (products.count == 0) need(needed, kernel->folds[f].next);
    for (int i = 0; i < 2 * products.count; i++)
      need(needed, factor_source(kernel, kernel->values[products.values[i / 2]].operands[i % 2]));
  }
  for (int32_t s = first; s <= last; s++) {
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++) need(needed, kernel->stages[s].stores[i].value);
  }
}

/* Lane-wise work and nothing else: addresses and guards are the transfers', and so is padding, unless all is one
 * operation. */
static void need_operands(const Kernel *kernel, bool is_operation, bool *needed) {
  for (int32_t v = kernel->value_count - 1; v >= 0; v--) {
    const KernelValue *value = &kernel->values[v];
    if (!needed[v] || value->kind != KERNEL_APPLY) continue;
    needed[v] = is_operation || tile_load_value(kernel, v) == NULL;
    if (!needed[v]) continue;
    for (int i = 0; i < value->operand_count; i++) need(needed, value->operands[i]);
  }
}

/* --- costs --- */

static PrimitiveType cost_type(const Kernel *kernel, const KernelValue *value) {
  return hlo_opcode_has(value->opcode, OP_TYPED_BY_OPERAND) ? kernel->values[value->operands[0]].type : value->type;
}

/* How often value |number| need not be computed although a fold advances by it: one that starts from its operation's
 * identity takes the first of its elements as it is.  |begins|: folds start. */
static int64_t first_rounds(const Kernel *kernel, int32_t number, const int64_t *extents, bool begins) {
  uint64_t outer = 0;
  bool is_next = false;
  for (int32_t f = 0; f < kernel->fold_count; f++)
    is_next = is_next || (kernel->folds[f].next == number && kernel->folds[f].reassociable);
  if (!is_next || !begins) return 0;
  for (int32_t d = 0; d < kernel->dim_count; d++) outer |= (uint64_t)(kernel->dims[d].stage == KERNEL_OUTER) << d;
  return points_of(kernel, extents, kernel->values[number].dims & outer);
}

static Status add_value(const Kernel *kernel, const MachineDescription *machine, int32_t number, const int64_t *extents,
                        bool begins, DiagSink *diag, double *cycles) {
  const KernelValue *value = &kernel->values[number];
  if (machine_cost_of_opcode(value->opcode) == COST_NONE) return STATUS_OK;
  double each;
  PrimitiveType type = cost_type(kernel, value);
  RETURN_IF_ERROR(machine_op_cycles(machine, value->opcode, type, kernel->source->loc, diag, &each));
  int64_t points = points_of(kernel, extents, value->dims) - first_rounds(kernel, number, extents, begins);
  *cycles += each * (double)machine_vector_count(machine, points, type);
  return STATUS_OK;
}

/* One of the products that |fold| adds up. */
static Status add_product(const Kernel *kernel, const MachineDescription *machine, int32_t fold,
                          const KernelValue *product, const int64_t *extents, DiagSink *diag, double *cycles) {
  const KernelFold *of = &kernel->folds[fold];
  double per_cycle = INFINITY;
  for (int i = 0; i < 2; i++) { /* as fast as the wider factor lets it */
    PrimitiveType type = kernel->values[factor_source(kernel, product->operands[i])].type;
    double here;
    RETURN_IF_ERROR(machine_cost_cycles(machine, COST_MAC, type, kernel->source->loc, diag, &here));
    per_cycle = fmin(per_cycle, here);
  }
  *cycles += (double)points_of(kernel, extents, kernel->values[of->next].dims) / per_cycle;
  return STATUS_OK;
}

static Status add_dot(const Kernel *kernel, const MachineDescription *machine, int32_t fold, const int64_t *extents,
                      DiagSink *diag, double *cycles) {
  DotProducts products = dot_products(kernel, fold);
  for (int i = 0; i < products.count; i++) {
    const KernelValue *product = &kernel->values[products.values[i]];
    RETURN_IF_ERROR(add_product(kernel, machine, fold, product, extents, diag, cycles));
  }
  return STATUS_OK;
}

static int innermost_dim(const Kernel *kernel, IndexExpr address) {
  int innermost = -1;
  int64_t least = INT64_MAX;
  for (int d = 0; d < kernel->dim_count; d++) {
    int64_t stride = index_dim_coefficient(&kernel->space, address, d);
    if (stride < 0) stride = -stride;
    if (stride > 0 && stride < least) {
      least = stride;
      innermost = d;
    }
  }
  return innermost;
}

/* The dims that |address| moves along. */
static uint64_t walking_dims(const Kernel *kernel, IndexExpr address) {
  uint64_t dims = 0;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (index_dim_coefficient(&kernel->space, address, d) != 0) dims |= UINT64_C(1) << d;
  }
  return dims;
}

/* The last round of a fold leaves its result where it is stored, the matrix unit as well. */
static bool is_left_by_fold(const Kernel *kernel, const KernelValue *value, int32_t first) {
  return value->kind == KERNEL_ACCUMULATOR && kernel->folds[value->fold].stage >= first;
}

/* Whether the tile has the elements of load |value| in another order than lanes have. */
static bool load_is_permuted(const Kernel *kernel, int32_t value) {
  int innermost = innermost_dim(kernel, tile_load_value(kernel, value)->address);
  return tile_load_parts(kernel, value) > 1 || (innermost >= 0 && tile_load_descends(kernel, value, innermost));
}

/* Elements that go from tile to tile as they are. */
static Status add_moves(const Kernel *kernel, const MachineDescription *machine, int32_t first, int32_t last,
                        bool is_operation, const int64_t *extents, DiagSink *diag, double *cycles) {
  for (int32_t s = first; s <= last; s++) {
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      const KernelValue *load = is_operation ? NULL : tile_load_value(kernel, store->value);
      const KernelValue *value = load != NULL ? load : &kernel->values[store->value];
      if (value->kind == KERNEL_APPLY || is_left_by_fold(kernel, value, first)) continue;
      bool has_parts = !is_operation && tile_store_parts(kernel, s, i) > 1;
      has_parts = has_parts || (load != NULL && load_is_permuted(kernel, store->value));
      if (has_parts) continue; /* add_parts */
      if (tile_is_updated(kernel, store->buffer)) continue;
      bool turns = value->kind == KERNEL_LOAD && (value->dims & (value->dims - 1)) != 0 &&
                   innermost_dim(kernel, value->address) != innermost_dim(kernel, store->address);
      double each;
      RETURN_IF_ERROR(machine_cost_cycles(machine, turns ? COST_PERMUTE : COST_MOVE, value->type, kernel->source->loc,
                                          diag, &each));
      int64_t points = points_of(kernel, extents, value->dims | walking_dims(kernel, store->address));
      *cycles += each * (double)machine_vector_count(machine, points, value->type);
    }
  }
  return STATUS_OK;
}

/* What takes a part of a tile, or puts one there, or turns rows round. */
static Status add_parts(const Kernel *kernel, const MachineDescription *machine, int32_t first, int32_t last,
                        const bool *needed, const int64_t *extents, DiagSink *diag, double *cycles) {
  double each;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if (!needed[v] || tile_load_value(kernel, v) == NULL || !load_is_permuted(kernel, v)) continue;
    PrimitiveType type = kernel->values[v].type;
    RETURN_IF_ERROR(machine_cost_cycles(machine, COST_PERMUTE, type, kernel->source->loc, diag, &each));
    *cycles += each * (double)machine_vector_count(machine, points_of(kernel, extents, kernel->values[v].dims), type);
  }
  for (int32_t s = first; s <= last; s++) {
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      if (tile_store_parts(kernel, s, i) == 1) continue;
      PrimitiveType type = kernel->buffers[store->buffer].type;
      RETURN_IF_ERROR(machine_cost_cycles(machine, COST_PERMUTE, type, kernel->source->loc, diag, &each));
      int64_t points = points_of(kernel, extents, walking_dims(kernel, store->address));
      *cycles += each * (double)machine_vector_count(machine, points, type);
    }
  }
  return STATUS_OK;
}

/* A place that only the values tell, at each point of |dims|, those among them that |address| moves along: whole
 * vectors where a parallel dim walks neighbours, else one by one. */
static Status add_place(const Kernel *kernel, const MachineDescription *machine, IndexExpr address, uint64_t dims,
                        PrimitiveType type, const int64_t *extents, DiagSink *diag, double *cycles) {
  int innermost = innermost_dim(kernel, address);
  bool in_rows = innermost >= 0 && kernel_dim_is_parallel(&kernel->dims[innermost]) && extents[innermost] > 1 &&
                 index_dim_coefficient(&kernel->space, address, innermost) == 1;
  double each;
  RETURN_IF_ERROR(
      machine_cost_cycles(machine, in_rows ? COST_MOVE : COST_GATHER, type, kernel->source->loc, diag, &each));
  int64_t points = points_of(kernel, extents, dims), row = in_rows ? extents[innermost] : points;
  XLAC_CHECK(row > 0 && points % row == 0);
  *cycles += each * (double)(points / row * machine_vector_count(machine, row, type));
  return STATUS_OK;
}

/* Reads and writes of buffers that are updated at computed places. */
static Status add_updates(const Kernel *kernel, const MachineDescription *machine, int32_t first, int32_t last,
                          const int64_t *extents, DiagSink *diag, double *cycles) {
  uint64_t outer = 0;
  for (int32_t d = 0; d < kernel->dim_count; d++) outer |= (uint64_t)(kernel->dims[d].stage == KERNEL_OUTER) << d;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind != KERNEL_LOAD || !tile_is_updated(kernel, value->buffer)) continue;
    RETURN_IF_ERROR(add_place(kernel, machine, value->address, value->dims, value->type, extents, diag, cycles));
  }
  for (int32_t s = first; s <= last; s++) {
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      if (!tile_is_updated(kernel, store->buffer)) continue;
      PrimitiveType type = kernel->buffers[store->buffer].type;
      uint64_t dims = outer | kernel->values[store->value].dims | walking_dims(kernel, store->address);
      RETURN_IF_ERROR(add_place(kernel, machine, store->address, dims, type, extents, diag, cycles));
    }
  }
  return STATUS_OK;
}

/* Rounds of a network that sorts |length| elements: log2 (log2 + 1) / 2. */
static double network_rounds(int64_t length) {
  int64_t levels = 0;
  while (INT64_C(1) << levels < length) levels++;
  return (double)(levels * (levels + 1) / 2);
}

/* A bitonic network: in each round half of the elements are compared with the others, in the comparator's order and
 * then by their positions, and all arrays and the positions of both halves are exchanged or not. */
static Status add_sort(const Kernel *kernel, const MachineDescription *machine, int32_t stage, const int64_t *extents,
                       DiagSink *diag, double *cycles) {
  const Kernel *comparator = kernel->stages[stage].comparator;
  uint64_t all = 0;
  int64_t length = 1;
  for (int d = 0; d < kernel->dim_count; d++) {
    all |= UINT64_C(1) << d;
    if (kernel->dims[d].kind == KERNEL_SORTED) length = extents[d];
  }
  int64_t points = points_of(kernel, extents, all);
  SourceLoc loc = kernel->source->loc;
  double round = 0, each;
  for (int32_t v = 0; v < comparator->value_count; v++) {
    const KernelValue *value = &comparator->values[v];
    if (value->kind != KERNEL_APPLY || machine_cost_of_opcode(value->opcode) == COST_NONE) continue;
    PrimitiveType type = cost_type(comparator, value);
    RETURN_IF_ERROR(machine_op_cycles(machine, value->opcode, type, loc, diag, &each));
    round += each * (double)machine_vector_count(machine, (points + 1) / 2, type);
  }
  RETURN_IF_ERROR(machine_cost_cycles(machine, COST_CMP, TYPE_S32, loc, diag, &each));
  round += each * (double)machine_vector_count(machine, (points + 1) / 2, TYPE_S32);
  for (int32_t i = -1; i < kernel->stages[stage].store_count; i++) {
    PrimitiveType type = i < 0 ? TYPE_S32 : kernel->buffers[kernel->stages[stage].stores[i].buffer].type;
    RETURN_IF_ERROR(machine_cost_cycles(machine, COST_SELECT, type, loc, diag, &each));
    round += each * (double)machine_vector_count(machine, points, type);
  }
  *cycles += round * network_rounds(length);
  return STATUS_OK;
}

/* |is_operation|: loads with padding are not transfers of their own. */
static Status add_stages(const Kernel *kernel, const MachineDescription *machine, int32_t first_stage,
                         int32_t last_stage, bool is_operation, bool begins, const int64_t *extents, DiagSink *diag,
                         double *out_cycles) {
  Arena *scratch = arena_create();
  bool *needed = ARENA_NEW_ARRAY(scratch, bool, kernel->value_count);
  need_roots(kernel, first_stage, last_stage, needed);
  need_operands(kernel, is_operation, needed);
  Status status = STATUS_OK;
  *out_cycles = 0;
  for (int32_t f = 0; f < kernel->fold_count && status == STATUS_OK; f++) {
    bool is_here = kernel->folds[f].stage >= first_stage && kernel->folds[f].stage <= last_stage;
    if (!is_here || !tile_fold_is_dot(kernel, f)) continue;
    status = add_dot(kernel, machine, f, extents, diag, out_cycles);
  }
  for (int32_t v = 0; v < kernel->value_count && status == STATUS_OK; v++) {
    if (!needed[v] || kernel->values[v].kind != KERNEL_APPLY) continue;
    status = add_value(kernel, machine, v, extents, begins, diag, out_cycles);
  }
  for (int32_t s = first_stage; s <= last_stage && status == STATUS_OK; s++) {
    if (kernel->stages[s].comparator != NULL) status = add_sort(kernel, machine, s, extents, diag, out_cycles);
  }
  if (status == STATUS_OK)
    status = add_moves(kernel, machine, first_stage, last_stage, is_operation, extents, diag, out_cycles);
  if (status == STATUS_OK && !is_operation)
    status = add_parts(kernel, machine, first_stage, last_stage, needed, extents, diag, out_cycles);
  if (status == STATUS_OK) status = add_updates(kernel, machine, first_stage, last_stage, extents, diag, out_cycles);
  arena_destroy(scratch);
  return status;
}

Status tile_computation_cycles(const Kernel *kernel, const MachineDescription *machine, int32_t first_stage,
                               int32_t last_stage, bool begins, const int64_t *extents, DiagSink *diag,
                               double *out_cycles) {
  return add_stages(kernel, machine, first_stage, last_stage, false, begins, extents, diag, out_cycles);
}

Status tile_operation_cycles(const PlanOperation *operation, const MachineDescription *machine, DiagSink *diag,
                             double *out_cycles) {
  const Kernel *kernel = operation->kernel;
  int64_t extents[KERNEL_MAX_DIMS];
  for (int32_t d = 0; d < kernel->dim_count; d++) extents[d] = kernel->dims[d].extent;
  return add_stages(kernel, machine, 0, kernel->stage_count - 1, true, true, extents, diag, out_cycles);
}

int64_t tile_transfer_rows(const int64_t *extents, const int64_t *strides, int32_t count) {
  int64_t run = 1, rows = 1;
  bool contiguous = true;
  for (int32_t i = count - 1; i >= 0; i--) {
    if (extents[i] == 1) continue;
    contiguous = contiguous && strides[i] == run;
    if (contiguous) {
      run *= extents[i];
    } else {
      rows *= extents[i];
    }
  }
  return rows;
}

int64_t tile_transfer_descriptors(const int64_t *extents, const int64_t *strides, int32_t count, int64_t dims) {
  int64_t levels = 0, next = 0, descriptors = 1; /* |next|: the stride that continues the level at hand */
  for (int32_t i = count - 1; i >= 0; i--) {
    if (extents[i] == 1) continue;
    if (levels == 0 || strides[i] != next) levels++;
    if (levels > dims) descriptors *= extents[i];
    next = strides[i] * extents[i];
  }
  return descriptors;
}

Status tile_bring_cycles(const Kernel *kernel, const MachineDescription *machine, int32_t value, const int64_t *extents,
                         DiagSink *diag, double *out_cycles) {
  const KernelValue *load = tile_load_value(kernel, value);
  int32_t axes[KERNEL_MAX_DIMS], count = tile_load_axes(kernel, value, axes);
  int64_t strides[KERNEL_MAX_DIMS], elements = 1;
  bool in_rows = false;
  for (int32_t i = 0; i < count; i++) {
    strides[i] = index_dim_coefficient(&kernel->space, load->address, axes[i]);
    elements *= extents[i];
    if (extents[i] > 1) in_rows = strides[i] == 1;
  }
  double each;
  RETURN_IF_ERROR(machine_cost_cycles(machine, in_rows || elements == 1 ? COST_MOVE : COST_GATHER, load->type,
                                      kernel->source->loc, diag, &each));
  int64_t rows = in_rows ? tile_transfer_rows(extents, strides, count) : 1;
  *out_cycles = each * (double)(rows * machine_vector_count(machine, elements / rows, load->type));
  return STATUS_OK;
}
