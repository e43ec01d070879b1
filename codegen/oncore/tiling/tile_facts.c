#include "codegen/oncore/tiling/tile_facts.h"

#include <string.h>

#include "base/array.h"
#include "codegen/oncore/plan/tile_parts.h"

/* What the tiles of a cover follow from, besides the Kernel. */
typedef struct CoverKey {
  int32_t first_stage, last_stage, index_value, keeps_accumulators;
  int8_t same[KERNEL_MAX_DIMS]; /* by dim: the first one that is walked over the same range */
} CoverKey;

_Static_assert(sizeof(CoverKey) == 4 * sizeof(int32_t) + KERNEL_MAX_DIMS, "no padding in what is compared");

typedef struct KnownCover {
  CoverKey key;
  CoverFacts facts;
} KnownCover;

struct TileFacts {
  Arena *arena;
  const Kernel *kernel;
  const MachineDescription *machine;
  uint64_t window_dims;
  const bool *held; /* by buffer; NULL: none (tile_facts_hold) */
  ARRAY(KnownCover *) covers;
};

static uint64_t find_window_dims(const Kernel *kernel) {
  uint64_t dims = 0;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    TileWindows windows;
    if (tile_load_value(kernel, v) == NULL || !tile_load_windows(kernel, v, &windows)) continue;
    for (int32_t i = 0; i < windows.axis_count; i++)
      dims |= (uint64_t)tile_axis_is_windowed(&windows, i) << windows.axes[i];
  }
  return dims;
}

TileFacts *tile_facts_create(Arena *arena, const Kernel *kernel, const MachineDescription *machine) {
  TileFacts *facts = ARENA_NEW(arena, TileFacts);
  *facts = (TileFacts){.arena = arena, .kernel = kernel, .machine = machine};
  facts->window_dims = find_window_dims(kernel);
  return facts;
}

const Kernel *tile_facts_kernel(const TileFacts *facts) {
  return facts->kernel;
}

const MachineDescription *tile_facts_machine(const TileFacts *facts) {
  return facts->machine;
}

void tile_facts_hold(TileFacts *facts, const bool *held) {
  facts->held = held;
}

bool tile_facts_are_held(const TileFacts *facts, int32_t buffer) {
  return facts->held != NULL && facts->held[buffer];
}

uint64_t tile_facts_window_dims(const TileFacts *facts) {
  return facts->window_dims;
}

/* --- covers --- */

static bool same_range(const PlanRange *a, const PlanRange *b) {
  return a->extent == b->extent && index_equal(a->begin, b->begin) && plan_range_same_size(a, b);
}

static CoverKey cover_key(const Kernel *kernel, const TileCover *cover) {
  CoverKey key = {cover->first_stage, cover->last_stage, cover->index_value, cover->keeps_accumulators, {0}};
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    int32_t first = 0;
    while (first < d && !same_range(&cover->points[first], &cover->points[d])) first++;
    key.same[d] = (int8_t)first;
  }
  return key;
}

void tile_access_strides(const Kernel *kernel, const TileAccess *access, int64_t *out_strides) {
  IndexExpr address = index_constant(0);
  if (access->kind == TILE_LOAD) address = tile_load_value(kernel, access->value)->address;
  if (access->kind == TILE_STORE) address = kernel->stages[access->stage].stores[access->store].address;
  for (int32_t i = 0; i < access->axis_count; i++) {
    out_strides[i] = index_dim_coefficient(&kernel->space, address, access->axes[i]);
    bool descends = access->kind == TILE_LOAD && tile_load_descends(kernel, access->value, access->axes[i]);
    if (descends) out_strides[i] = -out_strides[i];
  }
  if (access->parts > 1) out_strides[access->axis_count] = 1;
}

/* The windows of |access|, NULL for none. */
static const TileWindows *find_windows(const TileFacts *facts, const TileAccess *access) {
  TileWindows windows;
  if (access->kind != TILE_LOAD || !tile_load_windows(facts->kernel, access->value, &windows)) return NULL;
  TileWindows *kept = ARENA_NEW(facts->arena, TileWindows);
  *kept = windows;
  return kept;
}

static CoverFacts find_cover(const TileFacts *facts, const TileCover *cover) {
  const Kernel *kernel = facts->kernel;
  CoverFacts found = {.accesses = tile_accesses(facts->arena, kernel, cover)};
  int32_t count = found.accesses.count;
  found.windows = ARENA_NEW_ARRAY(facts->arena, const TileWindows *, count);
  found.none = ARENA_NEW_ARRAY(facts->arena, const TileWindows *, count);
  int64_t(*strides)[KERNEL_MAX_DIMS] = arena_alloc_array(facts->arena, (size_t)count, sizeof *strides);
  bool *is_gather = ARENA_NEW_ARRAY(facts->arena, bool, count);
  for (int32_t i = 0; i < count; i++) {
    const TileAccess *access = &found.accesses.accesses[i];
    found.windows[i] = find_windows(facts, access);
    tile_access_strides(kernel, access, strides[i]);
    is_gather[i] = access->kind == TILE_LOAD && tile_load_is_gather(kernel, access->value);
  }
  found.strides = (const int64_t(*)[KERNEL_MAX_DIMS])strides;
  found.is_gather = is_gather;
  found.goes_with_store = ARENA_NEW_ARRAY(facts->arena, int8_t, (int64_t)count *count);
  found.stored_fold = tile_stored_fold(kernel, cover->first_stage);
  return found;
}

CoverFacts *tile_facts_of_cover(TileFacts *facts, const TileCover *cover) {
  CoverKey key = cover_key(facts->kernel, cover);
  for (int64_t c = 0; c < facts->covers.count; c++)
    if (memcmp(&facts->covers.data[c]->key, &key, sizeof key) == 0) return &facts->covers.data[c]->facts;
  KnownCover *made = ARENA_NEW(facts->arena, KnownCover);
  *made = (KnownCover){key, find_cover(facts, cover)};
  array_push(&facts->covers, facts->arena, made);
  return &made->facts;
}

bool tile_facts_in_place(const TileFacts *facts, CoverFacts *of, const TileCover *cover, int32_t source,
                         int32_t target) {
  const TileAccess *from = &of->accesses.accesses[source], *to = &of->accesses.accesses[target];
  int8_t *known = &of->goes_with_store[source * of->accesses.count + target];
  if (!tile_store_has_all_points(facts->kernel, cover, to)) return false;
  if (*known == 0) {
    bool is_fold = from->kind == TILE_ACCUMULATOR;
    bool goes = is_fold ? tile_stores_over_fold(facts->kernel, cover, from, to)
                        : tile_goes_with_store(facts->kernel, cover, from, to);
    *known = goes ? 1 : -1;
  }
  return *known > 0;
}

Status tile_facts_work(TileFacts *facts, CoverFacts *of, const TileCover *cover, DiagSink *diag,
                       const TileWork **out_work) {
  TileStages stages = {facts->kernel, cover->first_stage, cover->last_stage};
  Status status = STATUS_OK;
  if (of->work == NULL) status = tile_work_find(facts->arena, stages, facts->machine, diag, &of->work);
  *out_work = of->work;
  if (status != STATUS_OK) of->work = NULL;
  return status;
}
