#include <string.h>

#include "codegen/kernel/kernel_internal.h"

/* --- whether it can be cut --- */

/* Elements of |buffer| that are one index's of dimension |dim|, if |address| says so; 0: it does not.  |predicate|:
 * what guards it, -1: nothing.  A predicate that is the same for all indices leaves the first and the last one within
 * the array, so that what it guards is within each one's piece. */
static int64_t kernel_piece_at(const Kernel *kernel, int32_t dim, int32_t buffer, IndexExpr address,
                               int32_t predicate) {
  int64_t lower, upper, piece = index_dim_coefficient(&kernel->space, address, dim);
  int64_t whole = kernel->buffers[buffer].element_count, extent = kernel->dims[dim].extent;
  if (piece <= 0 || piece != whole / extent || whole % extent != 0) return 0;
  if (index_depends_nonlinearly(&kernel->space, address, dim) ||
      index_has_atom(&kernel->space, address, INDEX_ATOM_VALUE))
    return 0;
  if (predicate >= 0) return (kernel->values[predicate].dims >> dim & 1) == 0 ? piece : 0;
  index_range(&kernel->space, index_without_dim(&kernel->space, address, dim), &lower, &upper);
  return lower >= 0 && upper < piece ? piece : 0;
}

void kernel_join_piece(const Kernel *kernel, int32_t dim, int32_t buffer, IndexExpr address, int32_t predicate,
                       int64_t *pieces) {
  int64_t piece = kernel_piece_at(kernel, dim, buffer, address, predicate);
  pieces[buffer] = pieces[buffer] < 0 || pieces[buffer] == piece ? piece : 0;
}

/* The outermost dimension of more than one index, -1: there is none, or points along it are not made by themselves. */
static int32_t outermost(const Kernel *kernel) {
  int32_t dim = 0;
  while (dim < kernel->dim_count && kernel->dims[dim].extent == 1) dim++;
  if (dim == kernel->dim_count || kernel->dims[dim].stage != KERNEL_OUTER) return -1;
  return kernel_dim_is_parallel(&kernel->dims[dim]) ? dim : -1;
}

static bool find_pieces(const Kernel *kernel, int32_t dim, int64_t *out_pieces) {
  if (kernel->part_count > 0 || dim < 0 || kernel_sorting_stage(kernel) >= 0) return false;
  for (int b = 0; b < kernel->buffer_count; b++) out_pieces[b] = -1;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (value->kind == KERNEL_LOAD)
      kernel_join_piece(kernel, dim, value->buffer, value->address, value->predicate, out_pieces);
  }
  for (int s = 0; s < kernel->stage_count; s++) {
    const KernelStage *stage = &kernel->stages[s];
    if (stage->transform != NULL) return false;
    for (int i = 0; i < stage->store_count; i++)
      kernel_join_piece(kernel, dim, stage->stores[i].buffer, stage->stores[i].address, stage->stores[i].predicate,
                        out_pieces);
  }
  for (int b = 0; b < kernel->buffer_count; b++) {
    KernelBufferRole role = kernel->buffers[b].role;
    if (role == KERNEL_IN_PLACE || role == KERNEL_PARAMETERS) return false;
    if (out_pieces[b] < 0 || role == KERNEL_SCRATCH) out_pieces[b] = 0;
    if (role == KERNEL_RESULT && out_pieces[b] == 0) return false;
  }
  return true;
}

KernelCutWay kernel_strip_way(KernelStrip strip) {
  return strip.goes_on || strip.leaves_open ? KERNEL_CUT_SUMS : KERNEL_CUT_POINTS;
}

int32_t kernel_strip_dim(const Kernel *kernel, KernelCutWay way, int64_t *out_pieces) {
  if (way == KERNEL_CUT_SUMS) return kernel_sums_dim(kernel, out_pieces);
  int32_t dim = outermost(kernel);
  return find_pieces(kernel, dim, out_pieces) ? dim : -1;
}

/* --- a strip --- */

typedef struct StripMaker {
  Arena *arena;
  const Kernel *from;
  Kernel *strip;
  const int64_t *pieces;
  IndexExpr *dims, *points; /* by dimension of the Kernel, in the strip's: within the strip, and among all points */
  int32_t *values;          /* by value: itself */
} StripMaker;

/* Arrays of which a strip has a part begin with that, others where they do. */
static IndexExpr address_in(const StripMaker *maker, int32_t buffer, IndexExpr address) {
  const IndexExpr *dims = maker->pieces[buffer] > 0 ? maker->dims : maker->points;
  return index_substitute(&maker->strip->space, &maker->from->space, address, dims, maker->values);
}

static const KernelStage *strip_stages(const StripMaker *maker) {
  const Kernel *from = maker->from;
  KernelStage *stages = ARENA_COPY_ARRAY(maker->arena, KernelStage, from->stages, from->stage_count);
  for (int s = 0; s < from->stage_count; s++) {
    KernelStore *stores = ARENA_COPY_ARRAY(maker->arena, KernelStore, stages[s].stores, stages[s].store_count);
    for (int i = 0; i < stages[s].store_count; i++)
      stores[i].address = address_in(maker, stores[i].buffer, stores[i].address);
    stages[s].stores = stores;
  }
  return stages;
}

static const KernelValue *strip_values(const StripMaker *maker) {
  const Kernel *from = maker->from;
  KernelValue *values = ARENA_COPY_ARRAY(maker->arena, KernelValue, from->values, from->value_count);
  for (int32_t v = 0; v < from->value_count; v++) {
    IndexExpr address = values[v].address;
    values[v].address = values[v].kind == KERNEL_LOAD ? address_in(maker, values[v].buffer, address)
                                                      : index_substitute(&maker->strip->space, &from->space, address,
                                                                         maker->points, maker->values);
  }
  kernel_values_depend(maker->strip, values);
  return values;
}

static const Kernel *points_strip(Arena *arena, const Kernel *kernel, KernelStrip strip, const int64_t **out_offsets) {
  int32_t dim = outermost(kernel);
  Kernel *made = ARENA_NEW(arena, Kernel);
  int64_t *pieces = ARENA_NEW_ARRAY(arena, int64_t, kernel->buffer_count);
  int64_t *offsets = ARENA_NEW_ARRAY(arena, int64_t, kernel->buffer_count);
  if (!find_pieces(kernel, dim, pieces)) XLAC_BUG("a Kernel that cannot be cut");
  for (int b = 0; b < kernel->buffer_count; b++) offsets[b] = pieces[b] * strip.first;
  *made = *kernel;
  made->arena = arena;
  index_space_init(&made->space, arena);
  StripMaker maker = {.arena = arena, .from = kernel, .strip = made, .pieces = pieces};
  KernelDim *dims = ARENA_COPY_ARRAY(arena, KernelDim, kernel->dims, kernel->dim_count);
  KernelBuffer *buffers = ARENA_COPY_ARRAY(arena, KernelBuffer, kernel->buffers, kernel->buffer_count);
  dims[dim].extent = strip.extent;
  for (int b = 0; b < kernel->buffer_count; b++)
    if (pieces[b] > 0) buffers[b].element_count = pieces[b] * strip.extent;
  maker.dims = ARENA_NEW_ARRAY(arena, IndexExpr, kernel->dim_count);
  maker.values = ARENA_NEW_ARRAY(arena, int32_t, kernel->value_count);
  for (int d = 0; d < kernel->dim_count; d++) maker.dims[d] = index_dim(&made->space, d, dims[d].extent);
  for (int32_t v = 0; v < kernel->value_count; v++) maker.values[v] = v;
  maker.points = ARENA_COPY_ARRAY(arena, IndexExpr, maker.dims, kernel->dim_count);
  maker.points[dim] = index_add_constant(&made->space, maker.dims[dim], strip.first);
  made->dims = dims;
  made->buffers = buffers;
  made->stages = strip_stages(&maker);
  made->values = strip_values(&maker);
  if (out_offsets != NULL) *out_offsets = offsets;
  return made;
}

static const Kernel *strip_by(Arena *arena, const Kernel *kernel, KernelCutWay way, KernelStrip strip,
                              const int64_t **out_offsets) {
  return (way == KERNEL_CUT_SUMS ? kernel_sums_strip : points_strip)(arena, kernel, strip, out_offsets);
}

/* Then it has no strips but those of its updates. */
static bool is_in_place(const Kernel *kernel) {
  for (int b = 0; b < kernel->buffer_count; b++)
    if (kernel->buffers[b].role == KERNEL_IN_PLACE) return true;
  return false;
}

/* The buffer of |kernel| that |buffer| of a strip of it is a part of; -1: sums that the strip goes on from. */
static int32_t buffer_of_whole(const Kernel *kernel, const KernelBuffer *buffer) {
  int32_t found = kernel->buffer_count;
  while (found-- > 0) {
    const KernelBuffer *of = &kernel->buffers[found];
    if (of->role == buffer->role && of->operand == buffer->operand && of->node == buffer->node) break;
  }
  return found;
}

const Kernel *kernel_strip_make(Arena *arena, const Kernel *kernel, KernelStrip strip, const int64_t **out_offsets) {
  if (is_in_place(kernel)) return kernel_updates_strip(arena, kernel, strip, out_offsets);
  KernelCutWay way = kernel_strip_way(strip);
  if (strip.inner_extent == 0) return strip_by(arena, kernel, way, strip, out_offsets);
  const int64_t *before, *within;
  const Kernel *index = strip_by(arena, kernel, way, (KernelStrip){.first = strip.first, .extent = 1}, &before);
  strip.first = strip.inner_first;
  strip.extent = strip.inner_extent;
  const Kernel *made = strip_by(arena, index, way, strip, &within);
  int64_t *offsets = ARENA_COPY_ARRAY(arena, int64_t, within, made->buffer_count);
  for (int32_t b = 0; b < made->buffer_count; b++) {
    int32_t of = buffer_of_whole(index, &made->buffers[b]);
    if (of >= 0) offsets[b] += before[of];
  }
  if (out_offsets != NULL) *out_offsets = offsets;
  return made;
}

int64_t kernel_strip_inner(const Kernel *kernel, KernelCutWay way, int64_t *out_pieces) {
  int32_t dim = kernel_strip_dim(kernel, way, out_pieces);
  if (dim < 0) return 0;
  Arena *scratch = arena_create();
  const Kernel *index = strip_by(scratch, kernel, way, (KernelStrip){.extent = 1}, NULL);
  int64_t *pieces = ARENA_NEW_ARRAY(scratch, int64_t, index->buffer_count + 1);
  dim = kernel_strip_dim(index, way, pieces);
  int64_t extent = dim >= 0 ? index->dims[dim].extent : 0;
  memset(out_pieces, 0, (size_t)kernel->buffer_count * sizeof *out_pieces);
  for (int32_t b = 0; b < index->buffer_count && dim >= 0; b++) {
    int32_t of = buffer_of_whole(kernel, &index->buffers[b]);
    if (of >= 0) out_pieces[of] = pieces[b];
  }
  arena_destroy(scratch);
  return extent;
}

bool kernel_strip_fits(const Kernel *kernel, KernelStrip strip) {
  KernelCutWay way = kernel_strip_way(strip);
  Arena *scratch = arena_create();
  int64_t *pieces = ARENA_NEW_ARRAY(scratch, int64_t, kernel->buffer_count + 1);
  int32_t dim = kernel_strip_dim(kernel, way, pieces);
  int64_t extent = dim >= 0 ? kernel->dims[dim].extent : 0;
  if (is_in_place(kernel)) {
    bool is_plain = way == KERNEL_CUT_POINTS && strip.inner_extent == 0;
    extent = is_plain ? kernel_strip_updates(kernel, pieces) : 0;
  }
  bool fits = strip.first < extent && strip.extent > 0 && strip.extent <= extent - strip.first;
  if (fits && strip.inner_extent > 0) {
    extent = kernel_strip_inner(kernel, way, pieces);
    fits = strip.inner_first < extent && strip.inner_extent <= extent - strip.inner_first;
  }
  arena_destroy(scratch);
  return fits;
}

/* --- a table with strips --- */

typedef struct Cutter {
  Arena *arena;
  KernelTable *table;
  StringMap identities; /* text of a strip → its identity + 1 */
} Cutter;

static int32_t identity_of(Cutter *cutter, const Kernel *strip) {
  StringView text = kernel_text(cutter->arena, strip);
  uintptr_t known = (uintptr_t)string_map_get(&cutter->identities, text);
  if (known == 0) {
    known = (uintptr_t)++cutter->table->identity_count;
    string_map_set(&cutter->identities, text, (void *)known);
  }
  return (int32_t)known - 1;
}

static void add_strips(Cutter *cutter, const KernelCut *cut, KernelUse *uses) {
  for (int32_t i = 0; i < cut->count; i++) {
    const int64_t *offsets;
    const Kernel *strip = kernel_strip_make(cutter->arena, cut->use->kernel, cut->strips[i], &offsets);
    uses[i] = (KernelUse){.kernel = strip, .instruction = cut->use->instruction, .place = cut->use->place};
    uses[i].identity = identity_of(cutter, strip);
    uses[i].offsets = offsets;
    uses[i].strip = cut->strips[i];
    uses[i].is_moved = cut->use->is_moved;
  }
}

const KernelCut *kernel_cut_of(const KernelCut *cuts, int64_t count, const KernelUse *use) {
  for (int64_t c = 0; c < count; c++)
    if (cuts[c].use == use) return &cuts[c];
  return NULL;
}

static void cut_row(Cutter *cutter, KernelUses *row, const KernelCut *cuts, int64_t count) {
  int32_t made = 0;
  for (int32_t i = 0; i < row->count; i++) {
    const KernelCut *cut = kernel_cut_of(cuts, count, &row->uses[i]);
    made += cut != NULL ? cut->count : 1;
  }
  if (made == row->count) return;
  KernelUse *uses = ARENA_NEW_ARRAY(cutter->arena, KernelUse, made);
  made = 0;
  for (int32_t i = 0; i < row->count; i++) {
    const KernelCut *cut = kernel_cut_of(cuts, count, &row->uses[i]);
    if (cut != NULL)
      add_strips(cutter, cut, uses + made);
    else
      uses[made] = row->uses[i];
    made += cut != NULL ? cut->count : 1;
  }
  row->count = made;
  row->uses = uses;
}

KernelTable *kernel_table_cut(Arena *arena, const KernelTable *table, const KernelCut *cuts, int64_t count) {
  KernelTable *made = ARENA_NEW(arena, KernelTable);
  *made = *table;
  made->rows.data = ARENA_COPY_ARRAY(arena, KernelUses, table->rows.data, table->rows.count);
  Cutter cutter = {.arena = arena, .table = made};
  string_map_init(&cutter.identities, arena);
  for (int64_t r = 0; r < made->rows.count; r++) cut_row(&cutter, &made->rows.data[r], cuts, count);
  return made;
}
