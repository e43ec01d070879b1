#include "codegen/oncore/tiling/tiling_memo.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/hash_map.h"

struct TilingMemo {
  Arena *arena, *outlines; /* |outlines|: of the tiling at hand */
  const Kernel *kernel;
  TileFacts *facts;
  int64_t most_bytes;
  uint64_t whole;  /* dims that are not cut */
  StringMap known; /* bytes of a TilingKey → TilingKnown */
  StringMap grids; /* the same of a form (form_key), without extents → TilingGridMemo */
};

TilingMemo *tiling_memo_create(const Kernel *kernel, const MachineDescription *machine, int64_t most_bytes) {
  Arena *arena = arena_create();
  TilingMemo *memo = ARENA_NEW(arena, TilingMemo);
  *memo = (TilingMemo){.arena = arena, .kernel = kernel, .most_bytes = most_bytes};
  memo->facts = tile_facts_create(arena, kernel, machine);
  memo->outlines = arena_create();
  string_map_init(&memo->known, arena);
  string_map_init(&memo->grids, arena);
  return memo;
}

void tiling_memo_destroy(TilingMemo *memo) {
  if (memo == NULL) return;
  arena_destroy(memo->outlines);
  arena_destroy(memo->arena);
}

size_t tiling_memo_used(const TilingMemo *memo) {
  return arena_used(memo->arena) + arena_used(memo->outlines);
}

void tiling_memo_hold(TilingMemo *memo, const bool *held) {
  tile_facts_hold(memo->facts, held);
}

/* Dims that |address| has a term in, but for the one with the largest steps. */
static uint64_t inner_dims(const Kernel *kernel, IndexExpr address) {
  uint64_t dims = 0;
  int32_t outermost = -1;
  int64_t largest = 0;
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    int64_t step = llabs(index_dim_coefficient(&kernel->space, address, d));
    if (step == 0 || kernel->dims[d].extent == 1) continue;
    dims |= (uint64_t)1 << d;
    if (step > largest) outermost = d, largest = step;
  }
  return outermost < 0 ? dims : dims & ~((uint64_t)1 << outermost);
}

void tiling_memo_walk(TilingMemo *memo, uint64_t walked) {
  const Kernel *kernel = memo->kernel;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *load = &kernel->values[v];
    if (load->kind != KERNEL_LOAD || load->buffer >= TILING_MEMO_BUFFERS || !(walked >> load->buffer & 1)) continue;
    memo->whole |= inner_dims(kernel, load->address);
  }
}

uint64_t tiling_memo_whole_dims(const TilingMemo *memo) {
  return memo->whole;
}

/* The bytes of what a search varies; the extents of a Kernel's dims are the last. */
typedef struct TilingKey {
  int8_t outer[KERNEL_MAX_DIMS], outer_count, position, tap;
  uint8_t flags;
  int32_t depth; /* 0: those that are known together */
  int64_t slice, extents[KERNEL_MAX_DIMS];
} TilingKey;

_Static_assert(sizeof(TilingKey) == KERNEL_MAX_DIMS + 8 + 8 * (KERNEL_MAX_DIMS + 1), "no padding in what is compared");

/* Whether tilings of |depth| are known together with those of other depths. */
static bool is_shared(int32_t depth) {
  return depth <= TILING_KNOWN_DEPTHS;
}

const TilingCost *tiling_known_cost(const TilingKnown *known, int32_t depth) {
  return &known->costs[is_shared(depth) ? depth - 1 : 0];
}

/* Without extents. */
static TilingKey form_key(const Tiling *form) {
  TilingKey key = {.slice = form->slice, .outer_count = (int8_t)form->outer_count};
  key.depth = is_shared(form->depth) ? 0 : form->depth;
  for (int32_t i = 0; i < form->outer_count; i++) key.outer[i] = (int8_t)form->outer[i];
  const TileSlide *slide = &form->slide;
  bool loads_together = slide->is_on && slide->rows > 1; /* as many rows as its step, which the dims tell */
  bool flags[] = {form->splits_stages, form->spills_rows, form->holds_windows,  form->in_place,
                  slide->is_on,        loads_together,    form->cuts_positions, form->over_folds};
  for (int i = 0; i < 8; i++) key.flags = (uint8_t)(key.flags | flags[i] << i);
  if (slide->is_on) {
    key.position = (int8_t)slide->position;
    key.tap = (int8_t)slide->tap;
  }
  return key;
}

static Status measure(TilingMemo *memo, const Tiling *tiling, DiagSink *diag, TilingKnown *out_known) {
  TileOutline outline;
  arena_reset(memo->outlines);
  tile_outline_make_of(memo->outlines, memo->facts, tiling, &outline);
  bool is_one = !is_shared(tiling->depth);
  return tile_outline_costs(&outline, is_one ? tiling->depth : 1, is_one ? 1 : TILING_KNOWN_DEPTHS, memo->most_bytes,
                            diag, out_known->costs);
}

Status tiling_memo_find(TilingMemo *memo, const Tiling *tiling, DiagSink *diag, const TilingKnown **out_known) {
  TilingKey key = form_key(tiling);
  for (int32_t d = 0; d < memo->kernel->dim_count; d++) key.extents[d] = tiling->extents[d];
  size_t size = offsetof(TilingKey, extents) + (size_t)memo->kernel->dim_count * sizeof *key.extents;
  StringView kept;
  void **known = string_map_enter(&memo->known, (StringView){(const char *)&key, size}, memo->arena, &kept);
  if (*known == NULL) {
    TilingKnown *made = ARENA_NEW(memo->arena, TilingKnown);
    RETURN_IF_ERROR(measure(memo, tiling, diag, made));
    *known = made;
  }
  *out_known = *known;
  return STATUS_OK;
}

TilingGridMemo *tiling_memo_grid(TilingMemo *memo, const Tiling *form, int64_t places) {
  TilingKey key = form_key(form);
  StringView kept;
  void **found = string_map_enter(&memo->grids, (StringView){(const char *)&key, offsetof(TilingKey, extents)},
                                  memo->arena, &kept);
  if (*found == NULL) {
    TilingGridMemo *grid = ARENA_NEW(memo->arena, TilingGridMemo);
    grid->known = ARENA_NEW_ARRAY(memo->arena, const TilingKnown *, places);
    *found = grid;
  }
  return *found;
}
