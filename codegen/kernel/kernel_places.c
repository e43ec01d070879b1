#include <string.h>

#include "base/checked_math.h"
#include "codegen/kernel/kernel_internal.h"

/* Each Kernel is written again as if every buffer began where it is first read or written, and ended where it is last:
 * those of equal text are one. */

/* Of one buffer, inclusive. */
typedef struct Extent {
  bool is_fixed; /* some access is not known to happen, or not where */
  int64_t lower, upper;
} Extent;

typedef struct Place {
  const Kernel *rebased;
  int64_t *offsets; /* by buffer, of elements */
  int32_t *count;   /* of Kernels that are |rebased|; NULL: this one stays as it is */
  int32_t identity; /* of the first of them */
} Place;

typedef struct Sharing {
  KernelTable *table;
  Arena *scratch;
  Place *places;   /* by identity */
  StringMap texts; /* → Place of the first with it */
} Sharing;

/* --- where buffers are accessed --- */

static void add_access(const Kernel *kernel, int32_t buffer, IndexExpr address, int32_t predicate, Extent *extents) {
  int64_t lower, upper;
  index_range(&kernel->space, address, &lower, &upper);
  Extent *extent = &extents[buffer];
  extent->is_fixed = extent->is_fixed || predicate >= 0 || index_has_atom(&kernel->space, address, INDEX_ATOM_VALUE);
  extent->lower = min_i64(extent->lower, lower);
  extent->upper = max_i64(extent->upper, upper);
}

static Extent *buffer_extents(Arena *arena, const Kernel *kernel) {
  Extent *extents = ARENA_NEW_ARRAY(arena, Extent, kernel->buffer_count);
  for (int b = 0; b < kernel->buffer_count; b++)
    extents[b] = (Extent){kernel->buffers[b].role == KERNEL_SCRATCH, INT64_MAX, -1};
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind == KERNEL_LOAD) add_access(kernel, value->buffer, value->address, value->predicate, extents);
  }
  for (int s = 0; s < kernel->stage_count; s++) {
    for (int i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      add_access(kernel, store->buffer, store->address, store->predicate, extents);
    }
  }
  for (int b = 0; b < kernel->buffer_count; b++) extents[b].is_fixed |= extents[b].upper < 0; /* never accessed */
  return extents;
}

/* --- a Kernel whose buffers begin elsewhere --- */

static const KernelStage *moved_stages(Arena *arena, const Kernel *kernel, const int64_t *offsets) {
  KernelStage *stages = ARENA_NEW_ARRAY(arena, KernelStage, kernel->stage_count);
  for (int s = 0; s < kernel->stage_count; s++) {
    stages[s] = kernel->stages[s];
    KernelStore *stores = ARENA_NEW_ARRAY(arena, KernelStore, stages[s].store_count);
    stages[s].stores = stores;
    for (int i = 0; i < stages[s].store_count; i++) {
      stores[i] = kernel->stages[s].stores[i];
      stores[i].address.constant -= offsets[stores[i].buffer];
    }
  }
  return stages;
}

static void rebase(Arena *arena, const Kernel *kernel, Place *place) {
  const Extent *extents = buffer_extents(arena, kernel);
  Kernel *made = ARENA_NEW(arena, Kernel);
  *made = *kernel;
  KernelBuffer *buffers = ARENA_NEW_ARRAY(arena, KernelBuffer, kernel->buffer_count);
  KernelValue *values = ARENA_NEW_ARRAY(arena, KernelValue, kernel->value_count);
  place->offsets = ARENA_NEW_ARRAY(arena, int64_t, kernel->buffer_count);
  for (int b = 0; b < kernel->buffer_count; b++) {
    buffers[b] = kernel->buffers[b];
    if (extents[b].is_fixed) continue;
    place->offsets[b] = extents[b].lower;
    buffers[b].element_count = extents[b].upper - extents[b].lower + 1;
  }
  for (int32_t v = 0; v < kernel->value_count; v++) {
    values[v] = kernel->values[v];
    if (values[v].kind == KERNEL_LOAD) values[v].address.constant -= place->offsets[values[v].buffer];
  }
  made->buffers = buffers;
  made->values = values;
  made->stages = moved_stages(arena, kernel, place->offsets);
  place->rebased = made;
}

/* --- equal ones --- */

static void enter(Sharing *sharing, const KernelUse *use) {
  const Kernel *kernel = use->kernel;
  Place *place = &sharing->places[use->identity];
  if (kernel->part_count > 0 || kernel_sorting_stage(kernel) >= 0) return;
  rebase(sharing->table->arena, kernel, place);
  StringView text = kernel_text(sharing->scratch, place->rebased);
  const Place *same = string_map_get(&sharing->texts, text);
  if (same == NULL) {
    *place = (Place){place->rebased, place->offsets, ARENA_NEW(sharing->scratch, int32_t), use->identity};
    string_map_set(&sharing->texts, text, place);
    same = place;
  }
  place->rebased = same->rebased;
  place->count = same->count;
  place->identity = same->identity;
  ++*place->count;
}

static KernelUse changed_use(void *self, KernelUse use) {
  const Sharing *sharing = self;
  const Place *place = &sharing->places[use.identity];
  if (place->count == NULL || *place->count < 2) return use;
  use.kernel = kernel_bound_as(sharing->table->arena, place->rebased, use.kernel);
  use.identity = place->identity;
  use.offsets = place->offsets;
  return use;
}

void kernel_table_share_places(KernelTable *table, bool (*has_function)(const Kernel *kernel)) {
  Arena *scratch = arena_create();
  Sharing sharing = {.table = table, .scratch = scratch};
  sharing.places = ARENA_NEW_ARRAY(scratch, Place, table->identity_count);
  bool *is_known = ARENA_NEW_ARRAY(scratch, bool, table->identity_count);
  string_map_init(&sharing.texts, scratch);
  for (int64_t r = 0; r < table->rows.count; r++) {
    const KernelUses *row = &table->rows.data[r];
    for (int32_t i = 0; i < row->count; i++) {
      const KernelUse *use = &row->uses[i];
      if (!is_known[use->identity] && has_function(use->kernel)) enter(&sharing, use);
      is_known[use->identity] = true;
    }
  }
  kernel_table_change(table, changed_use, &sharing);
  arena_destroy(scratch);
}
