/* Intervals of Tensors that a plan leaves to xlac.
 *
 * Each is placed inside its parent, beside the siblings that are needed at the same time.  Times are places in program
 * order; what is used in a loop that it is not declared in, is needed all through that loop.  First fit, as a heap
 * would do it, in program order for 'alloc' and for blocks, by falling size for [auto].  (base/packing knows no
 * buffers that are fixed beforehand.) */
#include <inttypes.h>
#include <stdlib.h>

#include "base/checked_math.h"
#include "codegen/oncore/language/plan_parser_internal.h"

typedef struct Lifetime {
  int32_t lower, upper; /* numbers of commands; empty: upper <= lower */
  int32_t last_command; /* the last one that uses it, -1: none */
  bool is_placed;
} Lifetime;

typedef struct Placer {
  PlanReader *reader;
  Lifetime *lives;
} Placer;

/* --- lifetimes --- */

static void extend(Placer *placer, int32_t number, int32_t command) {
  const PlanReader *reader = placer->reader;
  const TensorDraft *draft = &reader->tensors.data[number];
  Lifetime *life = &placer->lives[number];
  int32_t lower = command, upper = command + 1;
  for (int32_t l = reader->commands.data[command].loop; l >= 0 && l != draft->loop;
       l = reader->loops.data[l].loop.parent) {
    lower = reader->loops.data[l].first_command;
    upper = reader->loops.data[l].end_command;
  }
  if (life->upper <= life->lower) {
    life->lower = lower;
    life->upper = upper;
  }
  if (lower < life->lower) life->lower = lower;
  if (upper > life->upper) life->upper = upper;
  life->last_command = command;
}

/* What uses a part of a Tensor uses that Tensor. */
static void use(Placer *placer, const PlanRef *refs, int32_t count, int32_t command) {
  for (int32_t i = 0; i < count; i++) {
    if (refs[i].is_memory) continue;
    for (int32_t t = refs[i].number; t >= 0; t = placer->reader->tensors.data[t].parent) extend(placer, t, command);
  }
}

static void find_lifetimes(Placer *placer) {
  PlanReader *reader = placer->reader;
  for (int32_t t = 0; t < reader->tensors.count; t++) placer->lives[t].last_command = -1;
  for (int32_t c = 0; c < reader->commands.count; c++) {
    const PlanCommand *command = &reader->commands.data[c];
    use(placer, command->targets, command->target_count, c);
    use(placer, command->sources, command->source_count, c);
  }
  for (int32_t t = 0; t < reader->tensors.count; t++) {
    const TensorDraft *draft = &reader->tensors.data[t];
    Lifetime *life = &placer->lives[t];
    bool by_block = draft->origin == ORIGIN_SCOPED || draft->origin == ORIGIN_ALLOC;
    if (by_block && draft->declared < life->lower) life->lower = draft->declared;
    if (by_block && draft->ended > life->upper) life->upper = draft->ended;
    life->is_placed = draft->origin == ORIGIN_FIXED;
  }
}

/* An explicit interval of a parent ends its automatic mode: what was placed before is used no more. */
static bool check_mode(Placer *placer, int32_t number) {
  PlanReader *reader = placer->reader;
  const TensorDraft *draft = &reader->tensors.data[number];
  for (int32_t t = number + 1; t < reader->tensors.count; t++) {
    const TensorDraft *later = &reader->tensors.data[t];
    int32_t last = placer->lives[number].last_command;
    if (later->origin != ORIGIN_FIXED || later->parent != draft->parent || last < later->declared) continue;
    plan_fail(reader, reader->commands.data[last].loc, "plan-auto",
              "'%.*s' was placed automatically, and its parent is no longer in automatic mode here",
              SV_ARG(draft->tensor.name));
    diag_note(reader->diag, later->tensor.loc, "since this interval");
    return false;
  }
  return true;
}

/* --- places --- */

static int compare_by_begin(const void *a, const void *b) {
  const PlanTensor *left = *(const PlanTensor *const *)a, *right = *(const PlanTensor *const *)b;
  return (left->begin > right->begin) - (left->begin < right->begin);
}

static int64_t placed_siblings(const Placer *placer, int32_t number, const PlanTensor **out_tensors) {
  const PlanReader *reader = placer->reader;
  const Lifetime *life = &placer->lives[number];
  int64_t count = 0;
  for (int32_t t = 0; t < reader->tensors.count; t++) {
    const TensorDraft *other = &reader->tensors.data[t];
    const Lifetime *theirs = &placer->lives[t];
    if (t == number || !theirs->is_placed || other->parent != reader->tensors.data[number].parent) continue;
    if (theirs->lower < life->upper && life->lower < theirs->upper) out_tensors[count++] = &other->tensor;
  }
  if (count > 1) qsort(out_tensors, (size_t)count, sizeof out_tensors[0], compare_by_begin);
  return count;
}

static bool no_room(PlanReader *reader, const TensorDraft *draft, int64_t size, int64_t largest) {
  StringView parent = draft->parent < 0 ? SV("ROOT_TENSOR") : reader->tensors.data[draft->parent].tensor.name;
  reader->status =
      diag_error(reader->diag, STATUS_EXHAUSTED, draft->tensor.loc, "plan-space",
                 "'%.*s' needs %" PRId64 " bytes in one piece, the largest free piece of '%.*s' has %" PRId64,
                 SV_ARG(draft->tensor.name), size, SV_ARG(parent), largest);
  return false;
}

static bool place(Placer *placer, int32_t number) {
  PlanReader *reader = placer->reader;
  TensorDraft *draft = &reader->tensors.data[number];
  if (draft->origin == ORIGIN_AUTO && !check_mode(placer, number)) return false;
  const PlanTensor **siblings = ARENA_NEW_ARRAY(reader->arena, const PlanTensor *, reader->tensors.count);
  int64_t count = placed_siblings(placer, number, siblings), at = 0, largest = 0;
  int64_t element = type_storage_bytes(draft->tensor.type), align = max_i64(reader->plan->alignment, 1);
  if (align % element != 0) align *= element;
  int64_t size = align_up(plan_tensor_bytes(&draft->tensor), reader_unit_bytes(reader));
  int64_t end = reader->plan->buffer_bytes;
  if (draft->parent >= 0) end = plan_tensor_bytes(&reader->tensors.data[draft->parent].tensor);
  for (int64_t i = 0; i <= count; i++) {
    int64_t limit = i < count ? siblings[i]->begin : end;
    if (limit - at >= size) {
      draft->tensor.begin = at;
      draft->tensor.end = at + size;
      placer->lives[number].is_placed = true;
      return true;
    }
    largest = max_i64(largest, limit - at);
    if (i < count) at = max_i64(at, align_up(siblings[i]->end, align));
  }
  return no_room(reader, draft, size, largest);
}

/* The largest [auto] Tensor without a place, -1: none. */
static int32_t next_auto(const Placer *placer) {
  const PlanReader *reader = placer->reader;
  int32_t best = -1;
  for (int32_t t = 0; t < reader->tensors.count; t++) {
    const TensorDraft *draft = &reader->tensors.data[t];
    if (draft->origin != ORIGIN_AUTO || placer->lives[t].is_placed) continue;
    if (best < 0 || plan_tensor_bytes(&draft->tensor) > plan_tensor_bytes(&reader->tensors.data[best].tensor)) best = t;
  }
  return best;
}

bool plan_place_tensors(PlanReader *reader) {
  Placer placer = {reader, ARENA_NEW_ARRAY(reader->arena, Lifetime, reader->tensors.count)};
  find_lifetimes(&placer);
  bool ok = true;
  for (int32_t t = 0; t < reader->tensors.count && ok; t++) {
    PlanOrigin origin = reader->tensors.data[t].origin;
    if (origin == ORIGIN_SCOPED || origin == ORIGIN_ALLOC) ok = place(&placer, t);
  }
  for (int32_t t = next_auto(&placer); t >= 0 && ok; t = next_auto(&placer)) ok = place(&placer, t);
  for (int32_t t = 0; t < reader->tensors.count && ok; t++) {
    TensorDraft *draft = &reader->tensors.data[t];
    if (draft->parent < 0) continue;
    int64_t base = reader->tensors.data[draft->parent].tensor.begin;
    draft->tensor.begin += base;
    draft->tensor.end += base;
  }
  return ok;
}
