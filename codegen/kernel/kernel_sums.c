/* Strips of a Kernel that folds: each goes on from the sums of the one before it. */
#include "codegen/kernel/kernel_draft.h"
#include "codegen/kernel/kernel_internal.h"

/* --- whether it can be cut --- */

static bool is_open_sum(const KernelValue *value) {
  return value->kind == KERNEL_ACCUMULATOR && value->params[0] == 0;
}

/* Whether sum |fold| is that of what each index adds, whatever has been summed up before.  Its type is one in which
 * sums are not rounded more often in strips than they are in tiles. */
static bool is_plain_sum(const Kernel *kernel, int32_t fold) {
  const KernelFold *of = &kernel->folds[fold];
  const KernelValue *next = &kernel->values[of->next];
  if (!of->reassociable || of->is_scan || of->stage != 0 || type_storage_bytes(of->type) < 4) return false;
  if (next->kind != KERNEL_APPLY || next->operand_count != 2) return false;
  const KernelValue *left = &kernel->values[next->operands[0]], *right = &kernel->values[next->operands[1]];
  return is_open_sum(left) != is_open_sum(right) && (is_open_sum(left) ? left : right)->fold == fold;
}

/* Whether nobody but the folds themselves sees sums that are not complete. */
static bool are_sums_hidden(const Kernel *kernel, Arena *scratch) {
  bool *is_open = ARENA_NEW_ARRAY(scratch, bool, kernel->value_count + 1); /* or what a fold goes on with */
  for (int32_t v = 0; v < kernel->value_count; v++) is_open[v] = is_open_sum(&kernel->values[v]);
  for (int32_t f = 0; f < kernel->fold_count; f++) is_open[kernel->folds[f].next] = true;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->predicate >= 0 && is_open[value->predicate]) return false;
    for (int32_t i = 0; i < value->operand_count; i++) {
      bool is_own = is_open[v] && !is_open_sum(value);
      if (is_open[value->operands[i]] && !is_own) return false;
    }
    if (index_has_atom(&kernel->space, value->address, INDEX_ATOM_VALUE)) return false;
  }
  for (int32_t i = 0; i < kernel->stages[0].store_count; i++) {
    const KernelStore *store = &kernel->stages[0].stores[i];
    if (is_open[store->value] || (store->predicate >= 0 && is_open[store->predicate])) return false;
  }
  return true;
}

/* Whether it folds in its first stage, and the others see what that has come to alone. */
static bool has_shape(const Kernel *kernel) {
  bool is_fine = kernel->part_count == 0 && kernel->fold_count > 0 && kernel->stage_count > 1;
  for (int32_t d = 0; d < kernel->dim_count && is_fine; d++) {
    const KernelDim *dim = &kernel->dims[d];
    is_fine =
        dim->stage == KERNEL_OUTER ? kernel_dim_is_parallel(dim) : dim->stage == 0 && dim->kind == KERNEL_REDUCTION;
  }
  for (int32_t b = 0; b < kernel->buffer_count && is_fine; b++)
    is_fine = kernel->buffers[b].role == KERNEL_OPERAND || kernel->buffers[b].role == KERNEL_RESULT;
  for (int32_t s = 0; s < kernel->stage_count && is_fine; s++)
    is_fine = kernel->stages[s].comparator == NULL && kernel->stages[s].transform == NULL;
  for (int32_t f = 0; f < kernel->fold_count && is_fine; f++) is_fine = is_plain_sum(kernel, f);
  return is_fine;
}

/* The store of a later stage that leaves nothing of |buffer| out, one element for each of the sums; NULL: none does. */
static const KernelStore *whole_store(const Kernel *kernel, int32_t buffer) {
  const KernelStore *found = NULL;
  int64_t points = 1;
  for (int32_t d = 0; d < kernel->dim_count; d++)
    points *= kernel->dims[d].stage == KERNEL_OUTER ? kernel->dims[d].extent : 1;
  for (int32_t s = 0; s < kernel->stage_count; s++) {
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      if (store->buffer != buffer) continue;
      if (found != NULL || s == 0 || store->predicate >= 0) return NULL;
      found = store;
    }
  }
  return kernel->buffers[buffer].element_count == points ? found : NULL;
}

/* By value: the one that reads it, -1 where that is none or several. */
static const int32_t *only_readers(const Kernel *kernel, Arena *arena) {
  int32_t *readers = ARENA_NEW_ARRAY(arena, int32_t, kernel->value_count + 1);
  int32_t *reads = ARENA_NEW_ARRAY(arena, int32_t, kernel->value_count + 1);
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    for (int32_t i = 0; i < value->operand_count; i++) {
      reads[value->operands[i]]++;
      readers[value->operands[i]] = v;
    }
    if (value->predicate >= 0) reads[value->predicate] += 2;
  }
  for (int32_t s = 0; s < kernel->stage_count; s++)
    for (int32_t i = 0; i < kernel->stages[s].store_count; i++) reads[kernel->stages[s].stores[i].value] += 2;
  for (int32_t v = 0; v < kernel->value_count; v++)
    if (reads[v] != 1) readers[v] = -1;
  return readers;
}

static bool is_addition(const KernelValue *value) {
  return value->kind == KERNEL_APPLY && value->opcode == HLO_ADD;
}

/* What |fold| has come to with all that is added to it and nothing else is done with; -1: it is looked at in several
 * places, or its seed is not there before that. */
static int32_t added_up(const Kernel *kernel, int32_t fold, const int32_t *readers) {
  int32_t found = -1;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind != KERNEL_ACCUMULATOR || is_open_sum(value) || value->fold != fold) continue;
    if (found >= 0) return -1;
    found = v;
  }
  if (found < kernel->folds[fold].seed || !is_addition(&kernel->values[kernel->folds[fold].next])) return -1;
  while (readers[found] >= 0 && is_addition(&kernel->values[readers[found]])) found = readers[found];
  return found;
}

/* By fold: the first one that it is only added to, and is left in one sum with; itself if there is none before it. */
static const int32_t *find_firsts(const Kernel *kernel, Arena *arena) {
  const int32_t *readers = only_readers(kernel, arena);
  int32_t *firsts = ARENA_NEW_ARRAY(arena, int32_t, kernel->fold_count);
  int32_t *tops = ARENA_NEW_ARRAY(arena, int32_t, kernel->fold_count);
  for (int32_t f = 0; f < kernel->fold_count; f++) {
    tops[f] = added_up(kernel, f, readers);
    for (firsts[f] = 0; firsts[f] < f; firsts[f]++)
      if (tops[f] >= 0 && tops[firsts[f]] == tops[f]) break;
  }
  return firsts;
}

/* By fold that is the first of those that it is added to: where they are left, a result of its type that no others are
 * left in.  False: one has none. */
static bool find_places(const Kernel *kernel, const int32_t *firsts, const KernelStore **places) {
  int32_t buffer = 0;
  for (int32_t f = 0; f < kernel->fold_count; f++) {
    places[f] = NULL;
    if (firsts[f] != f) continue;
    for (; buffer < kernel->buffer_count && places[f] == NULL; buffer++) {
      const KernelBuffer *of = &kernel->buffers[buffer];
      if (of->role == KERNEL_RESULT && of->type == kernel->folds[f].type) places[f] = whole_store(kernel, buffer);
    }
    if (places[f] == NULL) return false;
  }
  return true;
}

bool kernel_strip_leaves_sums(const Kernel *kernel, int32_t buffer) {
  Arena *scratch = arena_create();
  const KernelStore **places = ARENA_NEW_ARRAY(scratch, const KernelStore *, kernel->fold_count + 1);
  const int32_t *firsts = find_firsts(kernel, scratch);
  bool leaves = find_places(kernel, firsts, places), found = false;
  for (int32_t f = 0; f < kernel->fold_count && leaves; f++)
    found = found || (firsts[f] == f && places[f]->buffer == buffer);
  arena_destroy(scratch);
  return found;
}

/* Bytes of the arrays of which strips along |dim| have parts; 0: results that the folding stage stores do not come in
 * parts, or nothing does. */
static int64_t find_pieces(const Kernel *kernel, int32_t dim, int64_t *out_pieces) {
  int64_t bytes = 0;
  for (int32_t b = 0; b < kernel->buffer_count; b++) out_pieces[b] = -1;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind == KERNEL_LOAD)
      kernel_join_piece(kernel, dim, value->buffer, value->address, value->predicate, out_pieces);
  }
  for (int32_t i = 0; i < kernel->stages[0].store_count; i++) {
    const KernelStore *store = &kernel->stages[0].stores[i];
    kernel_join_piece(kernel, dim, store->buffer, store->address, store->predicate, out_pieces);
    if (out_pieces[store->buffer] <= 0) return 0;
  }
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    if (out_pieces[b] < 0) out_pieces[b] = 0;
    if (out_pieces[b] > 0) bytes += kernel->buffers[b].element_count * type_storage_bytes(kernel->buffers[b].type);
  }
  return bytes;
}

int32_t kernel_sums_dim(const Kernel *kernel, int64_t *out_pieces) {
  int32_t best = -1;
  if (!has_shape(kernel)) return -1;
  Arena *scratch = arena_create();
  const KernelStore **places = ARENA_NEW_ARRAY(scratch, const KernelStore *, kernel->fold_count);
  int64_t most = 0;
  bool is_fine = find_places(kernel, find_firsts(kernel, scratch), places) && are_sums_hidden(kernel, scratch);
  for (int32_t d = 0; d < kernel->dim_count && is_fine; d++) {
    if (kernel->dims[d].stage != 0 || kernel->dims[d].extent == 1) continue;
    int64_t bytes = find_pieces(kernel, d, out_pieces);
    if (bytes <= most) continue;
    most = bytes;
    best = d;
  }
  if (best >= 0) find_pieces(kernel, best, out_pieces);
  arena_destroy(scratch);
  return best;
}

/* --- a strip --- */

typedef struct SumsMaker {
  const Kernel *from;
  KernelStrip strip;
  KernelDraft draft;
  const int32_t *firsts;
  const KernelStore **places; /* both by fold */
  const int64_t *pieces;
  const bool *needed;        /* by value */
  IndexExpr *dims, *points;  /* by dimension, in the strip's: within the strip, and among all */
  int32_t *buffers, *values; /* by those of the Kernel: the strip's */
  int32_t *before, *sums;    /* by fold: the buffer of what it goes on from; its final value with that, -1: not yet */
  ARRAY(int64_t) offsets;
} SumsMaker;

static void need(bool *needed, int32_t value) {
  if (value >= 0) needed[value] = true;
}

/* By value: whether the strip computes it.  Addresses depend on no values (are_sums_hidden). */
static const bool *needed_values(const SumsMaker *maker) {
  const Kernel *from = maker->from;
  bool *needed = ARENA_NEW_ARRAY(maker->draft.arena, bool, from->value_count + 1);
  for (int32_t f = 0; f < from->fold_count; f++) {
    need(needed, from->folds[f].seed);
    need(needed, from->folds[f].next);
  }
  for (int32_t s = 0; s < (maker->strip.leaves_open ? 1 : from->stage_count); s++) {
    for (int32_t i = 0; i < from->stages[s].store_count; i++) {
      need(needed, from->stages[s].stores[i].value);
      need(needed, from->stages[s].stores[i].predicate);
    }
  }
  for (int32_t v = from->value_count; v-- > 0;) {
    const KernelValue *value = &from->values[v];
    for (int32_t i = 0; i < value->operand_count && needed[v]; i++) need(needed, value->operands[i]);
    if (needed[v]) need(needed, value->predicate);
  }
  return needed;
}

static bool has_buffer(const SumsMaker *maker, int32_t buffer) {
  const Kernel *from = maker->from;
  for (int32_t v = 0; v < from->value_count; v++)
    if (maker->needed[v] && from->values[v].kind == KERNEL_LOAD && from->values[v].buffer == buffer) return true;
  for (int32_t f = 0; f < from->fold_count; f++)
    if (maker->firsts[f] == f && maker->places[f]->buffer == buffer) return true;
  for (int32_t s = 0; s < (maker->strip.leaves_open ? 1 : from->stage_count); s++)
    for (int32_t i = 0; i < from->stages[s].store_count; i++)
      if (from->stages[s].stores[i].buffer == buffer) return true;
  return false;
}

static void add_buffers(SumsMaker *maker) {
  const Kernel *from = maker->from;
  Arena *arena = maker->draft.arena;
  for (int32_t b = 0; b < from->buffer_count; b++) {
    KernelBuffer buffer = from->buffers[b];
    maker->buffers[b] = -1;
    if (!has_buffer(maker, b)) continue;
    if (maker->pieces[b] > 0) buffer.element_count = maker->pieces[b] * maker->strip.extent;
    maker->buffers[b] = kernel_draft_add_buffer(&maker->draft, buffer);
    array_push(&maker->offsets, arena, maker->pieces[b] * maker->strip.first);
  }
  for (int32_t f = 0; f < from->fold_count; f++) {
    maker->before[f] = maker->sums[f] = -1;
    if (!maker->strip.goes_on || maker->firsts[f] != f) continue;
    KernelBuffer buffer = from->buffers[maker->places[f]->buffer];
    buffer.role = KERNEL_OPERAND;
    maker->before[f] = kernel_draft_add_buffer(&maker->draft, buffer);
    array_push(&maker->offsets, arena, 0);
  }
}

static void add_dims(SumsMaker *maker, int32_t dim) {
  const Kernel *from = maker->from;
  IndexSpace *space = &maker->draft.space;
  for (int32_t d = 0; d < from->dim_count; d++) {
    const KernelDim *of = &from->dims[d];
    int64_t extent = d == dim ? maker->strip.extent : of->extent;
    maker->dims[d] = maker->points[d] = kernel_draft_add_dim(&maker->draft, extent, of->kind, of->stage);
    if (d == dim) maker->points[d] = index_add_constant(space, maker->dims[d], maker->strip.first);
  }
}

/* Arrays of which a strip has a part begin with that. */
static IndexExpr address_in(SumsMaker *maker, bool is_part, IndexExpr address) {
  return index_substitute(&maker->draft.space, &maker->from->space, address, is_part ? maker->dims : maker->points,
                          maker->values);
}

static int32_t add_both(SumsMaker *maker, int32_t fold, int32_t left, int32_t right) {
  KernelValue both = maker->from->values[maker->from->folds[fold].next];
  both.operands[0] = left;
  both.operands[1] = right;
  return kernel_draft_add_value(&maker->draft, both);
}

/* What |fold|, a first one, and those that are added to it have come to with this strip. */
static int32_t sum_of(SumsMaker *maker, int32_t fold) {
  if (maker->sums[fold] >= 0) return maker->sums[fold];
  PrimitiveType type = maker->from->folds[fold].type;
  int32_t made = -1;
  for (int32_t f = fold; f < maker->from->fold_count; f++) {
    KernelValue sum = kernel_value_blank(KERNEL_ACCUMULATOR, type);
    if (maker->firsts[f] != fold) continue;
    sum.fold = f;
    sum.params[0] = 1;
    int32_t added = kernel_draft_add_value(&maker->draft, sum);
    made = made < 0 ? added : add_both(maker, fold, made, added);
  }
  if (maker->strip.goes_on) {
    KernelValue load = kernel_value_blank(KERNEL_LOAD, type);
    load.buffer = maker->before[fold];
    load.address = address_in(maker, false, maker->places[fold]->address);
    made = add_both(maker, fold, kernel_draft_add_value(&maker->draft, load), made);
  }
  return maker->sums[fold] = made;
}

/* What stands for |fold| in the last strip: its first one has all of them, the others add nothing. */
static int32_t final_of(SumsMaker *maker, int32_t fold) {
  return maker->firsts[fold] == fold ? sum_of(maker, fold) : maker->values[maker->from->folds[fold].seed];
}

static void add_value(SumsMaker *maker, int32_t number) {
  KernelValue value = maker->from->values[number];
  if (value.kind == KERNEL_ACCUMULATOR && !is_open_sum(&value)) {
    maker->values[number] = final_of(maker, value.fold);
    return;
  }
  bool is_load = value.kind == KERNEL_LOAD;
  value.address = address_in(maker, is_load && maker->pieces[value.buffer] > 0, value.address);
  if (is_load) value.buffer = maker->buffers[value.buffer];
  if (value.predicate >= 0) value.predicate = maker->values[value.predicate];
  for (int32_t i = 0; i < value.operand_count; i++) value.operands[i] = maker->values[value.operands[i]];
  maker->values[number] = kernel_draft_add_value(&maker->draft, value);
}

static void add_values(SumsMaker *maker) {
  const Kernel *from = maker->from;
  for (int32_t f = 0; f < from->fold_count; f++) kernel_draft_add_fold(&maker->draft, from->folds[f]);
  for (int32_t v = 0; v < from->value_count; v++)
    if (maker->needed[v]) add_value(maker, v);
  for (int32_t f = 0; f < from->fold_count; f++) {
    maker->draft.folds.data[f].seed = maker->values[from->folds[f].seed];
    maker->draft.folds.data[f].next = maker->values[from->folds[f].next];
  }
}

static void add_stages(SumsMaker *maker) {
  const Kernel *from = maker->from;
  for (int32_t s = 0; s < (maker->strip.leaves_open ? 1 : from->stage_count); s++) {
    int32_t stage = kernel_draft_add_stage(&maker->draft);
    for (int32_t i = 0; i < from->stages[s].store_count; i++) {
      KernelStore store = from->stages[s].stores[i];
      store.address = address_in(maker, maker->pieces[store.buffer] > 0, store.address);
      store.buffer = maker->buffers[store.buffer];
      store.value = maker->values[store.value];
      if (store.predicate >= 0) store.predicate = maker->values[store.predicate];
      kernel_draft_add_store(&maker->draft, stage, store);
    }
  }
  if (!maker->strip.leaves_open) return;
  int32_t stage = kernel_draft_add_stage(&maker->draft);
  for (int32_t f = 0; f < from->fold_count; f++) {
    const KernelStore *place = maker->places[f];
    if (maker->firsts[f] != f) continue;
    IndexExpr address = address_in(maker, false, place->address);
    KernelStore store = {maker->buffers[place->buffer], address, sum_of(maker, f), -1};
    kernel_draft_add_store(&maker->draft, stage, store);
  }
}

const Kernel *kernel_sums_strip(Arena *arena, const Kernel *kernel, KernelStrip strip, const int64_t **out_offsets) {
  int64_t *pieces = ARENA_NEW_ARRAY(arena, int64_t, kernel->buffer_count);
  int32_t dim = kernel_sums_dim(kernel, pieces);
  if (dim < 0) XLAC_BUG("a Kernel whose sums cannot be cut");
  SumsMaker maker = {.from = kernel, .strip = strip, .pieces = pieces};
  kernel_draft_init(&maker.draft, arena, kernel->source);
  maker.places = ARENA_NEW_ARRAY(arena, const KernelStore *, kernel->fold_count);
  maker.firsts = find_firsts(kernel, arena);
  find_places(kernel, maker.firsts, maker.places);
  maker.dims = ARENA_NEW_ARRAY(arena, IndexExpr, kernel->dim_count);
  maker.points = ARENA_NEW_ARRAY(arena, IndexExpr, kernel->dim_count);
  maker.buffers = ARENA_NEW_ARRAY(arena, int32_t, kernel->buffer_count);
  maker.values = ARENA_NEW_ARRAY(arena, int32_t, kernel->value_count);
  maker.before = ARENA_NEW_ARRAY(arena, int32_t, kernel->fold_count);
  maker.sums = ARENA_NEW_ARRAY(arena, int32_t, kernel->fold_count);
  maker.needed = needed_values(&maker);
  add_dims(&maker, dim);
  add_buffers(&maker);
  add_values(&maker);
  add_stages(&maker);
  const Kernel *made;
  DiagSink diag;
  diag_sink_init(&diag, arena);
  if (kernel_draft_finish(&maker.draft, &diag, &made) != STATUS_OK) XLAC_BUG("a strip of sums that is no Kernel");
  if (out_offsets != NULL) *out_offsets = maker.offsets.data;
  return made;
}
