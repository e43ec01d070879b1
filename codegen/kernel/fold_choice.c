#include "codegen/kernel/fold_choice.h"

#define MOST_STEPS 24 /* values of the combiner */

/* How the best value so far stands to the one offered. */
typedef enum Order { ORDER_LESS, ORDER_EQUAL, ORDER_MORE, ORDER_BEST_NAN, ORDER_OFFERED_NAN, ORDER_BOTH_NAN } Order;
enum { NUMBER_ORDERS = ORDER_MORE + 1, ORDERS = ORDER_BOTH_NAN + 1 };

/* What a value of the combiner is, once the orders are known. */
typedef enum Meaning { UNKNOWN, IS_FALSE, IS_TRUE, BEST, OFFERED, BEST_PLACE, OFFERED_PLACE } Meaning;

typedef struct Combiner {
  const Kernel *kernel;
  FoldChoice choice;
  int count;
  int32_t values[MOST_STEPS]; /* ascending: all that depend on the accumulators */
  Meaning meanings[MOST_STEPS];
  Order order;
  bool places_equal; /* else the best value's place is before the one offered */
} Combiner;

/* --- the combiner --- */

static int find_step(const Combiner *combiner, int32_t value) {
  for (int i = 0; i < combiner->count; i++)
    if (combiner->values[i] == value) return i;
  return -1;
}

static bool is_accumulator(const Kernel *kernel, int32_t value, int stage) {
  const KernelValue *info = &kernel->values[value];
  return info->kind == KERNEL_ACCUMULATOR && info->params[0] == 0 && kernel->folds[info->fold].stage == stage;
}

/* Values that read the accumulators of |stage|; false when these are too many, or otherwise than by operations. */
static bool find_steps(Combiner *combiner, int stage) {
  const Kernel *kernel = combiner->kernel;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    bool reads = is_accumulator(kernel, v, stage);
    for (int i = 0; i < value->operand_count && value->kind == KERNEL_APPLY; i++)
      reads = reads || find_step(combiner, value->operands[i]) >= 0;
    if (value->kind == KERNEL_LOAD && value->predicate >= 0 && find_step(combiner, value->predicate) >= 0) return false;
    if (!reads) continue;
    if (combiner->count == MOST_STEPS) return false;
    combiner->values[combiner->count++] = v;
  }
  return true;
}

static Meaning meaning_of(const Combiner *combiner, int32_t value) {
  const KernelValue *info = &combiner->kernel->values[value];
  if (value == combiner->choice.value) return OFFERED;
  if (value == combiner->choice.place) return OFFERED_PLACE;
  if (info->kind == KERNEL_CONSTANT && info->type == TYPE_PRED) return (info->bits[0] & 0xff) != 0 ? IS_TRUE : IS_FALSE;
  int step = find_step(combiner, value);
  return step < 0 ? UNKNOWN : combiner->meanings[step];
}

static Meaning truth(bool is_true) {
  return is_true ? IS_TRUE : IS_FALSE;
}

static bool is_value(Meaning meaning) {
  return meaning == BEST || meaning == OFFERED;
}

static bool is_place(Meaning meaning) {
  return meaning == BEST_PLACE || meaning == OFFERED_PLACE;
}

static bool is_nan(const Combiner *combiner, Meaning meaning) {
  Order one = meaning == BEST ? ORDER_BEST_NAN : ORDER_OFFERED_NAN;
  return is_value(meaning) && (combiner->order == one || combiner->order == ORDER_BOTH_NAN);
}

/* -1, 0 or 1, of two values that are numbers, or of two places. */
static int compare_meanings(const Combiner *combiner, Meaning a, Meaning b) {
  if (a == b) return 0;
  int order = is_place(a) ? (combiner->places_equal ? 0 : -1) : (int)combiner->order - ORDER_EQUAL;
  return a == BEST || a == BEST_PLACE ? order : -order;
}

static Meaning compared(const Combiner *combiner, const KernelValue *value, Meaning a, Meaning b) {
  PrimitiveType type = combiner->kernel->values[value->operands[0]].type;
  bool same_kind = (is_value(a) && is_value(b)) || (is_place(a) && is_place(b));
  if (!same_kind || (type_is_float(type) && value->params[1] == COMPARISON_TYPE_TOTALORDER)) return UNKNOWN;
  if (is_nan(combiner, a) || is_nan(combiner, b)) return truth(value->params[0] == COMPARISON_DIRECTION_NE);
  int order = compare_meanings(combiner, a, b);
  switch ((ComparisonDirection)value->params[0]) {
    case COMPARISON_DIRECTION_EQ: return truth(order == 0);
    case COMPARISON_DIRECTION_NE: return truth(order != 0);
    case COMPARISON_DIRECTION_GE: return truth(order >= 0);
    case COMPARISON_DIRECTION_GT: return truth(order > 0);
    case COMPARISON_DIRECTION_LE: return truth(order <= 0);
    case COMPARISON_DIRECTION_LT: return truth(order < 0);
  }
  return UNKNOWN;
}

/* Maximum and minimum: floats that are not numbers come through; of equal ones the second, as if it were the other
 * zero. */
static Meaning extreme(const Combiner *combiner, bool is_maximum, Meaning a, Meaning b) {
  bool same_kind = (is_value(a) && is_value(b)) || (is_place(a) && is_place(b));
  if (!same_kind) return UNKNOWN;
  if (is_nan(combiner, a)) return a;
  if (is_nan(combiner, b)) return b;
  int order = compare_meanings(combiner, a, b);
  if (order == 0) return is_value(a) ? OFFERED : BEST_PLACE;
  return (order > 0) == is_maximum ? a : b;
}

static Meaning joined(bool is_and, Meaning a, Meaning b) {
  Meaning decides = is_and ? IS_FALSE : IS_TRUE, other = is_and ? IS_TRUE : IS_FALSE;
  if (a == decides || b == decides) return decides;
  return a == other && b == other ? other : UNKNOWN;
}

static Meaning step_meaning(const Combiner *combiner, int32_t number) {
  const KernelValue *value = &combiner->kernel->values[number];
  if (value->kind == KERNEL_ACCUMULATOR) return value->fold == combiner->choice.value_fold ? BEST : BEST_PLACE;
  Meaning of[KERNEL_MAX_OPERANDS] = {UNKNOWN};
  for (int i = 0; i < value->operand_count; i++) of[i] = meaning_of(combiner, value->operands[i]);
  bool is_maximum = value->opcode == HLO_MAXIMUM, is_and = value->opcode == HLO_AND;
  if (value->opcode == HLO_COMPARE) return compared(combiner, value, of[0], of[1]);
  if (is_maximum || value->opcode == HLO_MINIMUM) return extreme(combiner, is_maximum, of[0], of[1]);
  if (value->opcode == HLO_SELECT) {
    if (of[0] == IS_TRUE || of[1] == of[2]) return of[1];
    return of[0] == IS_FALSE ? of[2] : UNKNOWN;
  }
  if (value->type != TYPE_PRED) return UNKNOWN;
  if (is_and || value->opcode == HLO_OR) return joined(is_and, of[0], of[1]);
  if (value->opcode == HLO_NOT && (of[0] == IS_TRUE || of[0] == IS_FALSE)) return truth(of[0] == IS_FALSE);
  return UNKNOWN;
}

/* Which value and which place the combiner takes. */
static void decide(Combiner *combiner, Order order, bool places_equal, Meaning *out_value, Meaning *out_place) {
  combiner->order = order;
  combiner->places_equal = places_equal;
  for (int i = 0; i < combiner->count; i++) combiner->meanings[i] = step_meaning(combiner, combiner->values[i]);
  *out_value = meaning_of(combiner, combiner->kernel->folds[combiner->choice.value_fold].next);
  *out_place = meaning_of(combiner, combiner->kernel->folds[combiner->choice.place_fold].next);
}

/* --- what is offered --- */

/* The one value of |type| that the combiner reads beside accumulators and constants; -1: none or several. */
static int32_t find_offered(const Combiner *combiner, PrimitiveType type, bool is_place) {
  int32_t found = -1;
  for (int i = 0; i < combiner->count; i++) {
    const KernelValue *value = &combiner->kernel->values[combiner->values[i]];
    for (int k = 0; k < value->operand_count; k++) {
      int32_t operand = value->operands[k];
      const KernelValue *info = &combiner->kernel->values[operand];
      if (find_step(combiner, operand) >= 0 || operand == found || info->type != type) continue;
      if (is_place != (info->kind == KERNEL_INDEX)) continue;
      if (found >= 0) return -1;
      found = operand;
    }
  }
  return found;
}

static int32_t only_dim(const Kernel *kernel, int stage) {
  int32_t found = -1;
  for (int d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage != stage) continue;
    if (found >= 0) return -1;
    found = d;
  }
  return found;
}

/* What a constant of an integer type is; what s64 cannot hold is large. */
static int64_t constant_number(const KernelValue *constant) {
  int unused = 64 - type_storage_bytes(constant->type) * 8;
  uint64_t bits = constant->bits[0] << unused;
  if (type_is_signed(constant->type)) return (int64_t)bits >> unused;
  return bits >> unused > INT64_MAX ? INT64_MAX : (int64_t)(bits >> unused);
}

/* Places are d + constant or the like, as numbers of their type, and none is before the one to begin with. */
static bool places_ascend(const Kernel *kernel, int stage, const FoldChoice *choice) {
  const KernelValue *place = &kernel->values[choice->place];
  const KernelValue *seed = &kernel->values[kernel->folds[choice->place_fold].seed];
  if (!type_is_integral(place->type) || seed->kind != KERNEL_CONSTANT || place->address.term_count != 1) return false;
  const IndexTerm *term = &place->address.terms[0];
  const IndexAtom *atom = &kernel->space.atoms.data[term->atom];
  if (atom->kind != INDEX_ATOM_DIM || atom->number != only_dim(kernel, stage) || term->coefficient < 1) return false;
  int64_t lower, upper, limit = INT64_MAX >> (64 - type_storage_bytes(place->type) * 8);
  index_range(&kernel->space, place->address, &lower, &upper);
  return lower >= 0 && upper <= limit && constant_number(seed) <= lower;
}

/* --- what it decides --- */

/* Sets what of the choice is open.  Of equal values either may be taken: they differ in the sign of a zero at most,
 * which the order of a reduction decides, and that is free.  Not so the place: it is the first. */
static bool decides_well(Combiner *combiner) {
  const Kernel *kernel = combiner->kernel;
  FoldChoice *choice = &combiner->choice;
  bool is_float = type_is_float(kernel->folds[choice->value_fold].type);
  Meaning value, place;
  decide(combiner, ORDER_LESS, false, &value, &place);
  choice->is_largest = place == OFFERED_PLACE;
  decide(combiner, ORDER_OFFERED_NAN, false, &value, &place);
  choice->nan_is_first = is_float && place == OFFERED_PLACE;
  for (int order = 0; order < (is_float ? ORDERS : NUMBER_ORDERS); order++) {
    bool takes = order == (choice->is_largest ? ORDER_LESS : ORDER_MORE);
    takes = takes || (order == ORDER_OFFERED_NAN && choice->nan_is_first);
    for (int equal = 0; equal < 2; equal++) {
      decide(combiner, (Order)order, equal != 0, &value, &place);
      if (order == ORDER_EQUAL ? !is_value(value) : value != (takes ? OFFERED : BEST)) return false;
      bool place_is_free = equal != 0 && order == ORDER_EQUAL;
      if (place_is_free ? !is_place(place) : place != (takes ? OFFERED_PLACE : BEST_PLACE)) return false;
    }
  }
  return true;
}

bool fold_choice_find(const Kernel *kernel, int stage, FoldChoice *out_choice) {
  int count = 0;
  int32_t folds[2];
  for (int32_t f = 0; f < kernel->fold_count; f++) {
    if (kernel->folds[f].stage != stage) continue;
    if (count == 2 || kernel->folds[f].is_scan) return false;
    folds[count++] = f;
  }
  if (count != 2 || kernel->stages[stage].store_count > 0 || only_dim(kernel, stage) < 0) return false;
  Combiner combiner = {.kernel = kernel};
  if (!find_steps(&combiner, stage)) return false;
  for (int i = 0; i < 2; i++) {
    FoldChoice *choice = &combiner.choice;
    *choice = (FoldChoice){.value_fold = folds[i], .place_fold = folds[1 - i]};
    choice->value = find_offered(&combiner, kernel->folds[folds[i]].type, false);
    choice->place = find_offered(&combiner, kernel->folds[folds[1 - i]].type, true);
    if (choice->value < 0 || choice->place < 0) continue;
    if (!places_ascend(kernel, stage, choice) || !decides_well(&combiner)) continue;
    *out_choice = *choice;
    return true;
  }
  return false;
}
