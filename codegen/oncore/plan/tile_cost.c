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

/* Whether |product| is one of those that a fold adds up. */
static bool is_dot_product(const Kernel *kernel, int32_t product) {
  for (int32_t f = 0; f < kernel->fold_count; f++) {
    DotProducts products = dot_products(kernel, f);
    for (int i = 0; i < products.count; i++)
      if (products.values[i] == product) return true;
  }
  return false;
}

bool tile_value_is_factor(const Kernel *kernel, int32_t value) {
  bool is_factor = false;
  for (int32_t s = 0; s < kernel->stage_count; s++)
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++)
      if (kernel->stages[s].stores[i].value == value) return false;
  for (int32_t v = value + 1; v < kernel->value_count; v++) {
    const KernelValue *reader = &kernel->values[v];
    bool reads = false;
    for (int i = 0; reader->kind == KERNEL_APPLY && i < reader->operand_count; i++)
      reads = reads || reader->operands[i] == value;
    if (!reads) continue;
    bool is_widened = reader->opcode == HLO_CONVERT && factor_source(kernel, v) == value;
    if (!is_dot_product(kernel, v) && !(is_widened && tile_value_is_factor(kernel, v))) return false;
    is_factor = true;
  }
  return is_factor;
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

typedef enum WorkKind {
  WORK_PRODUCTS, /* points of |dims| by |each| of them in a cycle */
  WORK_VECTORS,  /* vectors of points of |dims|, |each| cycles apiece */
  WORK_PLACES,   /* the same, but in rows along |row| where that has several points, each vector |in_rows| cycles */
  WORK_HALF,     /* of a round of a sort: vectors of half the points */
  WORK_ALL,      /* of a round: of all of them */
  WORK_ROUNDS    /* all that the round has, in each of those that its line takes */
} WorkKind;

typedef struct WorkTerm {
  WorkKind kind;
  PrimitiveType type;
  double each, in_rows;
  uint64_t dims;
  uint64_t first; /* VECTORS: where folds start, points of these dims have nothing to compute … */
  bool has_first; /* … if so */
  int32_t row;    /* PLACES: -1: there are no rows; ROUNDS: the line's dim, -1: one element */
} WorkTerm;

struct TileWork {
  const MachineDescription *machine;
  const Kernel *kernel;
  ARRAY(WorkTerm) terms; /* in the order in which they are added up */
};

/* What is found of a computation. */
typedef struct WorkFinder {
  Arena *arena;
  const Kernel *kernel;
  const MachineDescription *machine;
  DiagSink *diag;
  TileWork *work;
} WorkFinder;

static void add_term(const WorkFinder *finder, WorkTerm term) {
  array_push(&finder->work->terms, finder->arena, term);
}

static void add_vectors(const WorkFinder *finder, double each, uint64_t dims, PrimitiveType type) {
  add_term(finder, (WorkTerm){.kind = WORK_VECTORS, .type = type, .each = each, .dims = dims});
}

static Status find_cost(const WorkFinder *finder, MachineCost cost, PrimitiveType type, double *out_each) {
  return machine_cost_cycles(finder->machine, cost, type, finder->kernel->source->loc, finder->diag, out_each);
}

static PrimitiveType cost_type(const Kernel *kernel, const KernelValue *value) {
  return hlo_opcode_has(value->opcode, OP_TYPED_BY_OPERAND) ? kernel->values[value->operands[0]].type : value->type;
}

static uint64_t outer_dims(const Kernel *kernel) {
  uint64_t outer = 0;
  for (int32_t d = 0; d < kernel->dim_count; d++) outer |= (uint64_t)(kernel->dims[d].stage == KERNEL_OUTER) << d;
  return outer;
}

/* Whether a fold advances by value |number| that starts from its operation's identity: it takes the first of its
 * elements as it is, which need not be computed. */
static bool advances_fold(const Kernel *kernel, int32_t number) {
  bool is_next = false;
  for (int32_t f = 0; f < kernel->fold_count; f++)
    is_next = is_next || (kernel->folds[f].next == number && kernel->folds[f].reassociable);
  return is_next;
}

static Status add_value(const WorkFinder *finder, int32_t number) {
  const Kernel *kernel = finder->kernel;
  const KernelValue *value = &kernel->values[number];
  if (machine_cost_of_opcode(value->opcode) == COST_NONE) return STATUS_OK;
  WorkTerm term = {.kind = WORK_VECTORS, .type = cost_type(kernel, value), .dims = value->dims};
  term.has_first = advances_fold(kernel, number);
  term.first = value->dims & outer_dims(kernel);
  RETURN_IF_ERROR(
      machine_op_cycles(finder->machine, value->opcode, term.type, kernel->source->loc, finder->diag, &term.each));
  add_term(finder, term);
  return STATUS_OK;
}

/* One of the products that |fold| adds up. */
static Status add_product(const WorkFinder *finder, int32_t fold, const KernelValue *product) {
  const Kernel *kernel = finder->kernel;
  double per_cycle = INFINITY;
  for (int i = 0; i < 2; i++) { /* as fast as the wider factor lets it */
    PrimitiveType type = kernel->values[factor_source(kernel, product->operands[i])].type;
    double here;
    RETURN_IF_ERROR(find_cost(finder, COST_MAC, type, &here));
    per_cycle = fmin(per_cycle, here);
  }
  uint64_t dims = kernel->values[kernel->folds[fold].next].dims;
  add_term(finder, (WorkTerm){.kind = WORK_PRODUCTS, .each = per_cycle, .dims = dims});
  return STATUS_OK;
}

static Status add_dot(const WorkFinder *finder, int32_t fold) {
  DotProducts products = dot_products(finder->kernel, fold);
  for (int i = 0; i < products.count; i++)
    RETURN_IF_ERROR(add_product(finder, fold, &finder->kernel->values[products.values[i]]));
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
static Status add_moves(const WorkFinder *finder, int32_t first, int32_t last, bool is_operation) {
  const Kernel *kernel = finder->kernel;
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
      RETURN_IF_ERROR(find_cost(finder, turns ? COST_PERMUTE : COST_MOVE, value->type, &each));
      add_vectors(finder, each, value->dims | walking_dims(kernel, store->address), value->type);
    }
  }
  return STATUS_OK;
}

/* What takes a part of a tile, or puts one there, or turns rows round. */
static Status add_parts(const WorkFinder *finder, int32_t first, int32_t last, const bool *needed) {
  const Kernel *kernel = finder->kernel;
  double each;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if (!needed[v] || tile_load_value(kernel, v) == NULL || !load_is_permuted(kernel, v)) continue;
    PrimitiveType type = kernel->values[v].type;
    RETURN_IF_ERROR(find_cost(finder, COST_PERMUTE, type, &each));
    add_vectors(finder, each, kernel->values[v].dims, type);
  }
  for (int32_t s = first; s <= last; s++) {
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      if (tile_store_parts(kernel, s, i) == 1) continue;
      PrimitiveType type = kernel->buffers[store->buffer].type;
      RETURN_IF_ERROR(find_cost(finder, COST_PERMUTE, type, &each));
      add_vectors(finder, each, walking_dims(kernel, store->address), type);
    }
  }
  return STATUS_OK;
}

/* A place that only the values tell, at each point of |dims|, those among them that |address| moves along: whole
 * vectors where a parallel dim walks neighbours, else one by one. */
static Status add_place(const WorkFinder *finder, IndexExpr address, uint64_t dims, PrimitiveType type) {
  const Kernel *kernel = finder->kernel;
  WorkTerm term = {.kind = WORK_PLACES, .type = type, .dims = dims, .row = innermost_dim(kernel, address)};
  bool has_rows = term.row >= 0 && kernel_dim_is_parallel(&kernel->dims[term.row]) &&
                  index_dim_coefficient(&kernel->space, address, term.row) == 1;
  if (!has_rows) term.row = -1;
  RETURN_IF_ERROR(find_cost(finder, COST_GATHER, type, &term.each));
  RETURN_IF_ERROR(find_cost(finder, COST_MOVE, type, &term.in_rows));
  add_term(finder, term);
  return STATUS_OK;
}

/* Reads and writes of buffers that are updated at computed places. */
static Status add_updates(const WorkFinder *finder, int32_t first, int32_t last) {
  const Kernel *kernel = finder->kernel;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind != KERNEL_LOAD || !tile_is_updated(kernel, value->buffer)) continue;
    RETURN_IF_ERROR(add_place(finder, value->address, value->dims, value->type));
  }
  for (int32_t s = first; s <= last; s++) {
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      if (!tile_is_updated(kernel, store->buffer)) continue;
      uint64_t dims = outer_dims(kernel) | kernel->values[store->value].dims | walking_dims(kernel, store->address);
      RETURN_IF_ERROR(add_place(finder, store->address, dims, kernel->buffers[store->buffer].type));
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
static Status add_sort(const WorkFinder *finder, int32_t stage) {
  const Kernel *kernel = finder->kernel, *comparator = kernel->stages[stage].comparator;
  WorkTerm term = {.kind = WORK_HALF}, rounds = {.kind = WORK_ROUNDS, .row = -1};
  for (int d = 0; d < kernel->dim_count; d++) {
    term.dims |= UINT64_C(1) << d;
    if (kernel->dims[d].kind == KERNEL_SORTED) rounds.row = d;
  }
  for (int32_t v = 0; v < comparator->value_count; v++) {
    const KernelValue *value = &comparator->values[v];
    if (value->kind != KERNEL_APPLY || machine_cost_of_opcode(value->opcode) == COST_NONE) continue;
    term.type = cost_type(comparator, value);
    RETURN_IF_ERROR(
        machine_op_cycles(finder->machine, value->opcode, term.type, kernel->source->loc, finder->diag, &term.each));
    add_term(finder, term);
  }
  term.type = TYPE_S32;
  RETURN_IF_ERROR(find_cost(finder, COST_CMP, term.type, &term.each));
  add_term(finder, term);
  term.kind = WORK_ALL;
  for (int32_t i = -1; i < kernel->stages[stage].store_count; i++) {
    term.type = i < 0 ? TYPE_S32 : kernel->buffers[kernel->stages[stage].stores[i].buffer].type;
    RETURN_IF_ERROR(find_cost(finder, COST_SELECT, term.type, &term.each));
    add_term(finder, term);
  }
  add_term(finder, rounds);
  return STATUS_OK;
}

/* |is_operation|: loads with padding are not transfers of their own. */
static Status add_stages(const WorkFinder *finder, int32_t first, int32_t last, bool is_operation) {
  const Kernel *kernel = finder->kernel;
  bool *needed = ARENA_NEW_ARRAY(finder->arena, bool, kernel->value_count);
  need_roots(kernel, first, last, needed);
  need_operands(kernel, is_operation, needed);
  for (int32_t f = 0; f < kernel->fold_count; f++) {
    bool is_here = kernel->folds[f].stage >= first && kernel->folds[f].stage <= last;
    if (is_here && tile_fold_is_dot(kernel, f)) RETURN_IF_ERROR(add_dot(finder, f));
  }
  for (int32_t v = 0; v < kernel->value_count; v++)
    if (needed[v] && kernel->values[v].kind == KERNEL_APPLY) RETURN_IF_ERROR(add_value(finder, v));
  for (int32_t s = first; s <= last; s++)
    if (kernel->stages[s].comparator != NULL) RETURN_IF_ERROR(add_sort(finder, s));
  RETURN_IF_ERROR(add_moves(finder, first, last, is_operation));
  if (!is_operation) RETURN_IF_ERROR(add_parts(finder, first, last, needed));
  return add_updates(finder, first, last);
}

Status tile_work_find(Arena *arena, TileStages stages, const MachineDescription *machine, DiagSink *diag,
                      const TileWork **out_work) {
  TileWork *work = ARENA_NEW(arena, TileWork);
  *work = (TileWork){.machine = machine, .kernel = stages.kernel};
  *out_work = work;
  WorkFinder finder = {arena, stages.kernel, machine, diag, work};
  return add_stages(&finder, stages.first, stages.last, false);
}

/* --- what it comes to --- */

static double vectors(const TileWork *work, int64_t points, PrimitiveType type) {
  return (double)machine_vector_count(work->machine, points, type);
}

static double places_cycles(const TileWork *work, const WorkTerm *term, int64_t points, const int64_t *extents) {
  if (term->row < 0 || extents[term->row] <= 1) return term->each * vectors(work, points, term->type);
  int64_t row = extents[term->row];
  XLAC_CHECK(points % row == 0);
  return term->in_rows * (double)(points / row * machine_vector_count(work->machine, row, term->type));
}

double tile_work_cycles(const TileWork *work, const int64_t *extents, bool begins) {
  double cycles = 0, round = 0;
  for (int64_t i = 0; i < work->terms.count; i++) {
    const WorkTerm *term = &work->terms.data[i];
    int64_t points = points_of(work->kernel, extents, term->dims);
    switch (term->kind) {
      case WORK_PRODUCTS: cycles += (double)points / term->each; break;
      case WORK_VECTORS:
        if (term->has_first && begins) points -= points_of(work->kernel, extents, term->first);
        cycles += term->each * vectors(work, points, term->type);
        break;
      case WORK_PLACES: cycles += places_cycles(work, term, points, extents); break;
      case WORK_HALF: round += term->each * vectors(work, (points + 1) / 2, term->type); break;
      case WORK_ALL: round += term->each * vectors(work, points, term->type); break;
      case WORK_ROUNDS:
        cycles += round * network_rounds(term->row >= 0 ? extents[term->row] : 1);
        round = 0;
        break;
    }
  }
  return cycles;
}

Status tile_operation_cycles(const PlanOperation *operation, const MachineDescription *machine, DiagSink *diag,
                             double *out_cycles) {
  const Kernel *kernel = operation->kernel;
  int64_t extents[KERNEL_MAX_DIMS];
  for (int32_t d = 0; d < kernel->dim_count; d++) extents[d] = kernel->dims[d].extent;
  Arena *scratch = arena_create();
  TileWork work = {.machine = machine, .kernel = kernel};
  WorkFinder finder = {scratch, kernel, machine, diag, &work};
  Status status = add_stages(&finder, 0, kernel->stage_count - 1, true);
  if (status == STATUS_OK) *out_cycles = tile_work_cycles(&work, extents, true);
  arena_destroy(scratch);
  return status;
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
