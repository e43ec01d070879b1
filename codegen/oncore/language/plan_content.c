#include "codegen/oncore/language/plan_content.h"

#include <inttypes.h>

#include "base/checked_math.h"
#include "base/hash_map.h"

#define MOST_ELEMENTS (INT64_C(1) << 26)
#define MOST_SHADOW (INT64_C(1) << 25) /* bytes of Buffer and temporaries */

typedef enum ContentKind {
  CONTENT_NOTHING,
  CONTENT_ELEMENT, /* of buffer |number|, as it was before the Kernel */
  CONTENT_ZERO,    /* a load whose guard is false */
  CONTENT_LOADED,  /* what a load of buffer |number| whose place only run-time values tell has at a point */
  CONTENT_RESULT,  /* what is to be stored to buffer |number| */
  CONTENT_ROW,     /* of row buffer |number| */
  CONTENT_FOLD,    /* partial result of fold |number| */
  CONTENT_INDEX,   /* run-time part of an address in buffer |number| */
  CONTENT_UPDATED  /* of buffer |number|, updated as far as the commands so far do */
} ContentKind;

/* Byte |part| of an element: |place| says which one of its kind. */
typedef struct Content {
  uint8_t kind, part;
  int32_t number;
  int64_t place;
  uint64_t progress; /* FOLD: what has been folded, Σ of a hash per element */
} Content;

typedef struct Follower {
  Arena *arena;
  const Plan *plan;
  const Kernel *kernel;
  DiagSink *diag;
  Status status;
  int64_t visited;
  int64_t *iterations, *scalars; /* of the plan */
  int64_t *values;               /* of the Kernel: run-time starts */
  int64_t *point;                /* of the Kernel's dims */
  Content *buffer;
  Content **temporaries;
  uint8_t **overwritten; /* by buffer of the Kernel, per element; NULL: not updated in place */
  int64_t *stored;       /* by buffer of the Kernel: elements */
  int64_t *updates;      /* by place among PARALLEL outer dims: points of the SEQUENTIAL ones that have updated */
  int64_t unfinished;    /* places that have not seen all */
  int64_t slice;         /* first element of the slice that they update; -1: none so far, or all elements */
  bool *is_told;         /* by command: one mistake is enough */
} Follower;

/* --- numbers --- */

static int64_t at_plan(const Follower *f, IndexExpr expr) {
  return index_evaluate(&f->plan->space, expr, f->iterations, f->scalars);
}

static int64_t at_point(const Follower *f, IndexExpr expr) {
  return index_evaluate(&f->kernel->space, expr, f->point, f->values);
}

static int64_t extent_of(const Follower *f, const PlanRange *range) {
  if (!range->is_ragged) return range->extent;
  int64_t left = at_plan(f, range->left);
  return left < range->extent ? left : range->extent;
}

/* Whether an address or a guard is known without looking at the Kernel's data. */
static bool is_known(const Follower *f, IndexExpr expr) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &f->kernel->space.atoms.data[expr.terms[i].atom];
    bool nested = atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD;
    if (nested && !is_known(f, atom->inner)) return false;
    if (atom->kind == INDEX_ATOM_VALUE && f->kernel->values[atom->number].dims != 0) return false;
  }
  return true;
}

typedef enum Truth { IS_FALSE, IS_TRUE, IS_OPEN } Truth;

static Truth guard_at_point(const Follower *f, int32_t number) {
  if (number < 0) return IS_TRUE;
  const KernelValue *value = &f->kernel->values[number];
  bool ranged = value->kind == KERNEL_IN_RANGE || value->kind == KERNEL_DIVISIBLE;
  if (value->kind == KERNEL_CONSTANT) return (value->bits[0] & 1) != 0 ? IS_TRUE : IS_FALSE;
  if (ranged && !is_known(f, value->address)) return IS_OPEN;
  if (value->kind == KERNEL_IN_RANGE) {
    int64_t at = at_point(f, value->address);
    return at >= value->lower && at < value->upper ? IS_TRUE : IS_FALSE;
  }
  if (value->kind == KERNEL_DIVISIBLE) return at_point(f, value->address) % value->upper == 0 ? IS_TRUE : IS_FALSE;
  if (value->kind != KERNEL_APPLY || value->opcode != HLO_AND) return IS_OPEN;
  Truth a = guard_at_point(f, value->operands[0]), b = guard_at_point(f, value->operands[1]);
  if (a == IS_FALSE || b == IS_FALSE) return IS_FALSE;
  return a == IS_OPEN || b == IS_OPEN ? IS_OPEN : IS_TRUE;
}

/* --- cells: where the elements of a part are --- */

typedef struct Cells {
  int64_t count;
  int64_t *at; /* bytes of the Buffer or temporary, elements of another array */
} Cells;

/* Those of |ref|, row major. */
static Cells cells_of(Follower *f, const PlanRef *ref) {
  const PlanTensor *tensor = ref->is_memory ? NULL : &f->plan->tensors[ref->number];
  const PlanMemory *memory = ref->is_memory ? &f->plan->memories[ref->number] : NULL;
  int64_t element = tensor != NULL ? type_storage_bytes(tensor->type) : type_storage_bytes(memory->type);
  bool in_bytes = tensor != NULL || memory->kind == PLAN_TEMPORARY;
  Cells cells = {.count = 1};
  for (int32_t i = 0; i < ref->range_count; i++) cells.count *= extent_of(f, &ref->ranges[i]);
  cells.at = ARENA_NEW_ARRAY(f->arena, int64_t, cells.count);
  cells.at[0] = tensor != NULL ? tensor->begin : at_plan(f, memory->offset) * (in_bytes ? element : 1);
  int64_t filled = 1, dense = element;
  for (int32_t i = ref->range_count - 1; i >= 0; i--) {
    int64_t stride = memory != NULL ? memory->strides[i] * (in_bytes ? element : 1) : dense;
    if (tensor != NULL && tensor->kind == PLAN_RING && i == 0) stride = tensor->slot_stride;
    if (tensor != NULL) dense *= tensor->extents[i];
    int64_t extent = extent_of(f, &ref->ranges[i]), begin = at_plan(f, ref->ranges[i].begin) * stride;
    for (int64_t c = 0; c < filled; c++) cells.at[c] += begin;
    for (int64_t k = 1; k < extent; k++) {
      for (int64_t c = 0; c < filled; c++) cells.at[k * filled + c] = cells.at[c] + k * stride;
    }
    filled *= extent;
  }
  f->visited += cells.count;
  return cells;
}

static Content *shadow_of(const Follower *f, const PlanRef *ref) {
  return ref->is_memory ? f->temporaries[f->plan->memories[ref->number].number] : f->buffer;
}

static int64_t element_bytes(const Follower *f, const PlanRef *ref) {
  return type_storage_bytes(ref->is_memory ? f->plan->memories[ref->number].type : f->plan->tensors[ref->number].type);
}

static void put(Content *shadow, int64_t at, int64_t bytes, Content content) {
  for (int64_t b = 0; b < bytes; b++) {
    content.part = (uint8_t)b;
    shadow[at + b] = content;
  }
}

/* NOTHING when the bytes are of several elements. */
static Content get(const Content *shadow, int64_t at, int64_t bytes) {
  Content first = shadow[at];
  for (int64_t b = 0; b < bytes; b++) {
    const Content *byte = &shadow[at + b];
    if (byte->kind != first.kind || byte->number != first.number || byte->place != first.place || byte->part != b)
      return (Content){0};
  }
  return first;
}

/* --- what is said --- */

static const char *content_text(Follower *f, const Content *content) {
  static const char *const texts[] = {
      [CONTENT_NOTHING] = "nothing",
      [CONTENT_ELEMENT] = "element %" PRId64 " of buffer %d",
      [CONTENT_ZERO] = "the zero of a load whose guard is false",
      [CONTENT_LOADED] = "what is loaded for point %" PRId64 " from buffer %d",
      [CONTENT_RESULT] = "element %" PRId64 " for buffer %d",
      [CONTENT_ROW] = "element %" PRId64 " of row buffer %d",
      [CONTENT_FOLD] = "the fold of point %" PRId64 " (fold %d)",
      [CONTENT_INDEX] = "the index of point %" PRId64 " into buffer %d",
      [CONTENT_UPDATED] = "updated element %" PRId64 " of buffer %d",
  };
  if (content->kind == CONTENT_NOTHING || content->kind == CONTENT_ZERO) return texts[content->kind];
  const char *text = texts[content->kind];
  StringBuilder out;
  sb_init(&out, f->arena);
  for (; *text != '%'; text++) sb_append_char(&out, *text);
  sb_append_int(&out, content->place);
  text += strlen("%" PRId64);
  for (; *text != '%'; text++) sb_append_char(&out, *text);
  sb_append_int(&out, content->number);
  sb_append_cstring(&out, text + 2);
  return out.data;
}

static void tell(Follower *f, int32_t command, const char *text) {
  if (f->is_told[command]) return;
  f->is_told[command] = true;
  f->status = diag_error(f->diag, STATUS_INVALID, f->plan->commands[command].loc, "plan-meaning",
                         "in the plan of '%.*s': '%.*s' %s", SV_ARG(f->plan->name),
                         SV_ARG(f->plan->commands[command].label), text);
}

static StringView ref_name(const Follower *f, const PlanRef *ref) {
  return ref->is_memory ? f->plan->memories[ref->number].name : f->plan->tensors[ref->number].name;
}

static void tell_content(Follower *f, int32_t command, const PlanRef *ref, const Content *found,
                         const Content *wanted) {
  if (f->is_told[command]) return;
  const char *there = content_text(f, found), *needed = content_text(f, wanted);
  tell(f, command, arena_printf(f->arena, "finds %s in '%.*s', and needs %s", there, SV_ARG(ref_name(f, ref)), needed));
}

static bool same_content(const Content *a, const Content *b) {
  return a->kind == b->kind && a->number == b->number && (a->kind == CONTENT_ZERO || a->place == b->place);
}

/* --- points --- */

/* Sets the point to number |n| of those of |axes| within the command's ranges, row major. */
static void set_point(Follower *f, const PlanCommand *command, const int32_t *axes, int32_t count, int64_t n) {
  for (int32_t i = count - 1; i >= 0; i--) {
    const PlanRange *range = &command->points[axes[i]];
    int64_t extent = extent_of(f, range);
    f->point[axes[i]] = at_plan(f, range->begin) + n % extent;
    n /= extent;
  }
}

static int64_t point_count(const Follower *f, const PlanCommand *command, const int32_t *axes, int32_t count) {
  int64_t points = 1;
  for (int32_t i = 0; i < count; i++) points *= extent_of(f, &command->points[axes[i]]);
  return points;
}

/* Which of all points of |axes| the point is. */
static int64_t place_of_point(const Follower *f, const int32_t *axes, int32_t count) {
  int64_t place = 0;
  for (int32_t i = 0; i < count; i++) place = place * f->kernel->dims[axes[i]].extent + f->point[axes[i]];
  return place;
}

/* What load |value| has at the point. */
static Content loaded_at_point(const Follower *f, const KernelValue *value, const int32_t *axes, int32_t count) {
  Truth guard = guard_at_point(f, value->predicate);
  if (guard == IS_FALSE) return (Content){.kind = CONTENT_ZERO};
  Content content = {.kind = CONTENT_ELEMENT, .number = value->buffer};
  if (guard == IS_TRUE && is_known(f, value->address)) {
    content.place = at_point(f, value->address);
    return content;
  }
  content.kind = CONTENT_LOADED;
  content.place = place_of_point(f, axes, count);
  return content;
}

/* --- transfers --- */

static bool is_inside(const Follower *f, int32_t buffer, int64_t element) {
  return element >= 0 && element < f->kernel->buffers[buffer].element_count;
}

/* Outside the array: nothing (hazards.h says more). */
static void load_element(const Follower *f, int32_t buffer, int64_t element, Content *out) {
  *out = (Content){0};
  if (!is_inside(f, buffer, element)) return;
  bool is_gone = f->overwritten[buffer] != NULL && f->overwritten[buffer][element];
  *out = (Content){.kind = is_gone ? CONTENT_NOTHING : CONTENT_ELEMENT, .number = buffer, .place = element};
}

static void follow_load(Follower *f, int32_t number) {
  const PlanCommand *command = &f->plan->commands[number];
  const PlanRef *source = &command->sources[0], *target = &command->targets[0];
  const PlanMemory *memory = &f->plan->memories[source->number];
  Cells from = cells_of(f, source), to = cells_of(f, target);
  int64_t bytes = element_bytes(f, target);
  bool is_temporary = memory->kind == PLAN_TEMPORARY;
  for (int64_t i = 0; i < from.count && i < to.count; i++) {
    Content content;
    if (is_temporary) {
      content = get(shadow_of(f, source), from.at[i], bytes);
    } else {
      load_element(f, memory->number, from.at[i], &content);
    }
    put(f->buffer, to.at[i], bytes, content);
  }
}

/* Guarded loads and gathers: the Kernel's load for a range of points. */
static void follow_kernel_load(Follower *f, int32_t number) {
  const PlanCommand *command = &f->plan->commands[number];
  const KernelValue *value = &f->kernel->values[command->value];
  const PlanRef *target = &command->targets[0];
  int32_t axes[KERNEL_MAX_DIMS], count = tile_load_axes(f->kernel, command->value, axes);
  if (f->plan->memories[command->sources[0].number].number != value->buffer ||
      f->plan->memories[command->sources[0].number].kind == PLAN_TEMPORARY) {
    tell(f, number, arena_printf(f->arena, "loads from another array than value v%d of the kernel", command->value));
    return;
  }
  if (command->verb == PLAN_GATHERM) {
    int32_t index_axes[KERNEL_MAX_DIMS], index_count = tile_index_axes(f->kernel, command->value, index_axes);
    Cells indices = cells_of(f, &command->sources[1]);
    for (int64_t i = 0; i < indices.count; i++) {
      set_point(f, command, index_axes, index_count, i);
      Content wanted = {.kind = CONTENT_INDEX, .number = value->buffer};
      wanted.place = place_of_point(f, index_axes, index_count);
      Content found = get(f->buffer, indices.at[i], element_bytes(f, &command->sources[1]));
      if (!same_content(&found, &wanted)) tell_content(f, number, &command->sources[1], &found, &wanted);
    }
  }
  Cells to = cells_of(f, target);
  if (to.count != point_count(f, command, axes, count)) {
    tell(f, number, "covers a different number of points than its target has");
    return;
  }
  for (int64_t i = 0; i < to.count; i++) {
    set_point(f, command, axes, count, i);
    Content content = loaded_at_point(f, value, axes, count);
    if (content.kind == CONTENT_ELEMENT) load_element(f, content.number, content.place, &content);
    put(f->buffer, to.at[i], element_bytes(f, target), content);
  }
}

static void follow_store(Follower *f, int32_t number) {
  const PlanCommand *command = &f->plan->commands[number];
  const PlanRef *source = &command->sources[0], *target = &command->targets[0];
  const PlanMemory *memory = &f->plan->memories[target->number];
  Cells from = cells_of(f, source), to = cells_of(f, target);
  int64_t bytes = element_bytes(f, source);
  for (int64_t i = 0; i < from.count && i < to.count; i++) {
    Content content = get(f->buffer, from.at[i], bytes);
    if (memory->kind == PLAN_TEMPORARY) {
      put(shadow_of(f, target), to.at[i], bytes, content);
      continue;
    }
    Content wanted = {.kind = CONTENT_RESULT, .number = memory->number, .place = to.at[i]};
    if (content.kind == CONTENT_UPDATED) wanted.kind = CONTENT_UPDATED;
    if (content.kind == CONTENT_UPDATED && f->unfinished > 0) tell(f, number, "stores before all updates are made");
    if (!same_content(&content, &wanted)) tell_content(f, number, source, &content, &wanted);
    uint8_t *gone = f->overwritten[memory->number];
    if (!is_inside(f, memory->number, to.at[i])) continue;
    bool is_new = gone == NULL || !gone[to.at[i]];
    if (gone != NULL) gone[to.at[i]] = 1;
    f->stored[memory->number] += is_new;
  }
}

/* --- computations --- */

static bool starts_folds(const Follower *f, const PlanCommand *command) {
  if (!command->keeps_accumulators) return true;
  if (!command->init) return false;
  for (int32_t l = command->loop; l >= 0 && command->init_loop >= 0; l = f->plan->loops[l].parent) {
    if (f->iterations[l] != 0) return false;
    if (l == command->init_loop) break;
  }
  return true;
}

static int32_t stage_axes(const Kernel *kernel, int32_t stage, int32_t *out_axes) {
  int32_t count = 0;
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    if (kernel->dims[d].stage == stage) out_axes[count++] = d;
  }
  return count;
}

/* Σ over the points that the command folds (|command| NULL: over all of the stage's). */
static uint64_t fold_progress(Follower *f, int32_t stage, const PlanCommand *command) {
  int32_t axes[KERNEL_MAX_DIMS], count = stage_axes(f->kernel, stage, axes);
  int64_t points = 1;
  uint64_t sum = 0;
  for (int32_t i = 0; i < count; i++) points *= f->kernel->dims[axes[i]].extent;
  if (command != NULL) points = point_count(f, command, axes, count);
  f->visited += points;
  for (int64_t i = 0; i < points; i++) {
    if (command != NULL) set_point(f, command, axes, count, i);
    sum += hash_u64((uint64_t)(command != NULL ? place_of_point(f, axes, count) : i) + 1);
  }
  return sum;
}

/* What a read of |access| has to find at the point. */
static Content wanted_at_point(const Follower *f, const TileAccess *access) {
  Content wanted = {.number = access->buffer};
  if (access->kind == TILE_LOAD)
    return loaded_at_point(f, &f->kernel->values[access->value], access->axes, access->axis_count);
  wanted.place = place_of_point(f, access->axes, access->axis_count);
  if (access->kind == TILE_SCRATCH) wanted.kind = CONTENT_ROW;
  if (access->kind == TILE_ACCUMULATOR) {
    wanted.kind = CONTENT_FOLD;
    wanted.number = access->fold;
  }
  return wanted;
}

static Content written_at_point(const Follower *f, const TileAccess *access) {
  Content written = wanted_at_point(f, access);
  if (access->kind == TILE_STORE) {
    const KernelStore *store = &f->kernel->stages[access->stage].stores[access->store];
    written = (Content){.kind = CONTENT_RESULT, .number = store->buffer, .place = at_point(f, store->address)};
  }
  if (access->kind == TILE_INDEX) {
    written.kind = CONTENT_INDEX;
    written.number = f->kernel->values[access->value].buffer;
  }
  return written;
}

static int32_t outer_axes(const Kernel *kernel, bool sequential, int32_t *out_axes) {
  int32_t count = 0;
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    bool is_sequential = kernel->dims[d].kind == KERNEL_SEQUENTIAL;
    if (kernel->dims[d].stage == KERNEL_OUTER && is_sequential == sequential) out_axes[count++] = d;
  }
  return count;
}

static int64_t axes_points(const Kernel *kernel, const int32_t *axes, int32_t count) {
  int64_t points = 1;
  for (int32_t i = 0; i < count; i++) points *= kernel->dims[axes[i]].extent;
  return points;
}

/* Each slice sees all updates. */
static void begin_slice(Follower *f, int32_t number, const int32_t *parallel, int32_t count) {
  const PlanRange *slice = &f->plan->commands[number].slice;
  int64_t begin = slice->extent > 0 ? at_plan(f, slice->begin) : -1;
  if (begin == f->slice) return;
  int64_t places = axes_points(f->kernel, parallel, count);
  bool is_first = f->slice < 0;
  if (!is_first && f->unfinished > 0) tell(f, number, "begins a slice before another has seen all updates");
  f->slice = begin;
  if (is_first) return;
  f->unfinished = places;
  memset(f->updates, 0, sizeof *f->updates * (size_t)places);
}

/* Each point updates once, those of SEQUENTIAL dims in row-major order. */
static void count_updates(Follower *f, int32_t number) {
  const PlanCommand *command = &f->plan->commands[number];
  int32_t parallel[KERNEL_MAX_DIMS], sequential[KERNEL_MAX_DIMS];
  int32_t width = outer_axes(f->kernel, false, parallel), length = outer_axes(f->kernel, true, sequential);
  int64_t all = axes_points(f->kernel, sequential, length), wide = point_count(f, command, parallel, width);
  int64_t deep = point_count(f, command, sequential, length);
  f->visited += wide * deep;
  begin_slice(f, number, parallel, width);
  for (int64_t p = 0; p < wide; p++) {
    set_point(f, command, parallel, width, p);
    int64_t *seen = &f->updates[place_of_point(f, parallel, width)];
    for (int64_t s = 0; s < deep; s++) {
      set_point(f, command, sequential, length, s);
      if (place_of_point(f, sequential, length) != *seen) {
        tell(f, number, "updates out of order, or twice");
        return;
      }
      if (++*seen == all) f->unfinished--;
    }
  }
}

static void follow_updated(Follower *f, int32_t number, const TileAccess *access, const PlanRef *ref) {
  Cells cells = cells_of(f, ref);
  int64_t bytes = element_bytes(f, ref), first = max_i64(f->slice, 0);
  const PlanRange *slice = &f->plan->commands[number].slice;
  int64_t held = slice->extent > 0 ? extent_of(f, slice) : f->kernel->buffers[access->buffer].element_count;
  if (cells.count != held) tell(f, number, "updates other elements than its target has");
  for (int64_t i = 0; i < cells.count; i++) {
    Content wanted = {.kind = CONTENT_ELEMENT, .number = access->buffer, .place = first + i};
    Content found = get(f->buffer, cells.at[i], bytes), updated = wanted;
    updated.kind = CONTENT_UPDATED;
    bool reads = access->is_read && !same_content(&found, &wanted) && !same_content(&found, &updated);
    if (reads) tell_content(f, number, ref, &found, &wanted);
    if (access->is_written) put(f->buffer, cells.at[i], bytes, updated);
  }
}

static void check_read(Follower *f, int32_t number, const TileAccess *access, const PlanRef *ref) {
  const PlanCommand *command = &f->plan->commands[number];
  Cells cells = cells_of(f, ref);
  int64_t bytes = element_bytes(f, ref);
  bool is_final = access->kind == TILE_ACCUMULATOR && !access->is_written;
  uint64_t whole = is_final ? fold_progress(f, f->kernel->folds[access->fold].stage, NULL) : 0;
  for (int64_t i = 0; i < cells.count; i++) {
    set_point(f, command, access->axes, access->axis_count, i);
    Content wanted = wanted_at_point(f, access), found = get(f->buffer, cells.at[i], bytes);
    if (!same_content(&found, &wanted)) {
      tell_content(f, number, ref, &found, &wanted);
    } else if (is_final && found.progress != whole) {
      tell(f, number, "uses a fold that has not seen each of its elements once");
    }
  }
}

static void do_write(Follower *f, int32_t number, const TileAccess *access, const PlanRef *ref) {
  const PlanCommand *command = &f->plan->commands[number];
  Cells cells = cells_of(f, ref);
  int64_t bytes = element_bytes(f, ref);
  bool is_fold = access->kind == TILE_ACCUMULATOR, starts = starts_folds(f, command);
  uint64_t progress = is_fold ? fold_progress(f, f->kernel->folds[access->fold].stage, command) : 0;
  for (int64_t i = 0; i < cells.count; i++) {
    set_point(f, command, access->axes, access->axis_count, i);
    Content content = written_at_point(f, access);
    if (is_fold && !starts) content.progress = f->buffer[cells.at[i]].progress;
    if (is_fold) content.progress += progress;
    put(f->buffer, cells.at[i], bytes, content);
  }
}

/* A fold that is begun and finished by one command needs all of its stage's points, a sort those of its line. */
static void check_whole_stages(Follower *f, int32_t number) {
  const PlanCommand *command = &f->plan->commands[number];
  for (int32_t d = 0; d < f->kernel->dim_count; d++) {
    bool is_sorted = f->kernel->dims[d].kind == KERNEL_SORTED && command->points[d].extent > 0;
    if (!is_sorted || extent_of(f, &command->points[d]) == f->kernel->dims[d].extent) continue;
    tell(f, number, arena_printf(f->arena, "sorts a part of d%d only", d));
  }
  for (int32_t a = 0; a < f->kernel->fold_count && !command->keeps_accumulators; a++) {
    int32_t axes[KERNEL_MAX_DIMS], stage = f->kernel->folds[a].stage;
    if (stage < command->first_stage || stage > command->last_stage) continue;
    int32_t count = stage_axes(f->kernel, stage, axes);
    for (int32_t i = 0; i < count; i++) {
      if (extent_of(f, &command->points[axes[i]]) == f->kernel->dims[axes[i]].extent) continue;
      tell(f, number, arena_printf(f->arena, "folds a part of d%d only, and does not say 'acc'", axes[i]));
    }
  }
}

static void follow_computation(Follower *f, int32_t number) {
  const PlanCommand *command = &f->plan->commands[number];
  TileCover cover = {command->points, command->first_stage, command->last_stage, command->keeps_accumulators,
                     command->index_value};
  TileAccesses accesses = tile_accesses(f->arena, f->kernel, &cover);
  const PlanRef **refs = ARENA_NEW_ARRAY(f->arena, const PlanRef *, accesses.count);
  int32_t source = 0, target = 0;
  for (int32_t i = 0; i < accesses.count; i++) {
    const TileAccess *access = &accesses.accesses[i];
    refs[i] = access->is_written ? &command->targets[target++] : &command->sources[source++];
    int64_t points = point_count(f, command, access->axes, access->axis_count), held = 1;
    for (int32_t k = 0; k < refs[i]->range_count; k++) held *= extent_of(f, &refs[i]->ranges[k]);
    if (access->kind == TILE_UPDATED || points == held) continue;
    tell(f, number,
         arena_printf(f->arena, "covers %" PRId64 " points of an operand that has %" PRId64 " elements here", points,
                      held));
    return;
  }
  if (command->index_value < 0) check_whole_stages(f, number);
  bool starts = starts_folds(f, command);
  for (int32_t i = 0; i < accesses.count; i++) {
    const TileAccess *access = &accesses.accesses[i];
    bool is_own_row = access->kind == TILE_SCRATCH && access->is_written;
    bool begins = access->kind == TILE_ACCUMULATOR && access->is_written && starts;
    if (access->kind == TILE_UPDATED || !access->is_read || is_own_row || begins) continue;
    check_read(f, number, access, refs[i]);
  }
  bool has_counted = false;
  for (int32_t i = 0; i < accesses.count; i++) {
    if (accesses.accesses[i].kind == TILE_UPDATED) {
      if (!has_counted) count_updates(f, number);
      has_counted = true;
      follow_updated(f, number, &accesses.accesses[i], refs[i]);
    } else if (accesses.accesses[i].is_written) {
      do_write(f, number, &accesses.accesses[i], refs[i]);
    }
  }
}

/* --- the plan --- */

static void follow_command(Follower *f, int32_t number) {
  const PlanCommand *command = &f->plan->commands[number];
  Arena *outer = f->arena;
  f->arena = arena_create();
  if (command->verb == PLAN_BARRIER) {
    /* nothing moves */
  } else if (command->value >= 0) {
    follow_kernel_load(f, number);
  } else if (command->verb == PLAN_LOAD) {
    follow_load(f, number);
  } else if (command->verb == PLAN_STORE) {
    follow_store(f, number);
  } else {
    follow_computation(f, number);
  }
  arena_destroy(f->arena);
  f->arena = outer;
}

static void follow_block(Follower *f, const PlanBlock *block) {
  for (int32_t i = 0; i < block->node_count && f->visited <= MOST_ELEMENTS; i++) {
    const PlanNode *node = &block->nodes[i];
    if (node->kind == PLAN_NODE_COMMAND) {
      follow_command(f, node->number);
      continue;
    }
    const PlanLoop *loop = &f->plan->loops[node->number];
    for (int64_t n = 0; n < loop->trip_count && f->visited <= MOST_ELEMENTS; n++) {
      f->iterations[node->number] = n;
      follow_block(f, &loop->body);
    }
    f->iterations[node->number] = 0;
  }
}

/* Run-time starts: their upper bounds, or some number of their own. */
static void choose_values(Follower *f, bool upper) {
  for (int64_t a = 0; a < f->kernel->space.atoms.count; a++) {
    const IndexAtom *atom = &f->kernel->space.atoms.data[a];
    if (atom->kind != INDEX_ATOM_VALUE) continue;
    uint64_t range = (uint64_t)(atom->upper - atom->lower) + 1;
    int64_t some = atom->lower + (int64_t)(hash_u64((uint64_t)atom->number) % (range == 0 ? 1 : range));
    f->values[atom->number] = upper ? atom->upper : some;
  }
  for (int32_t s = 0; s < f->plan->scalar_count; s++) f->scalars[s] = f->values[f->plan->scalars[s].value];
}

/* Where the array of |buffer| is declared. */
static SourceLoc declaration_of(const Follower *f, int32_t buffer) {
  for (int32_t m = 0; m < f->plan->memory_count; m++) {
    const PlanMemory *memory = &f->plan->memories[m];
    if (memory->kind != PLAN_TEMPORARY && memory->number == buffer) return memory->loc;
  }
  return NO_LOC;
}

static void check_stored(Follower *f) {
  for (int32_t b = 0; b < f->kernel->buffer_count; b++) {
    bool is_result = f->kernel->buffers[b].role == KERNEL_RESULT || f->kernel->buffers[b].role == KERNEL_IN_PLACE;
    int64_t wanted = f->kernel->buffers[b].element_count;
    if (!is_result) continue;
    if (!tile_is_updated(f->kernel, b)) wanted = tile_stored_elements(f->kernel, b);
    if (f->stored[b] == wanted) continue;
    f->status = diag_error(f->diag, STATUS_INVALID, declaration_of(f, b), "plan-meaning",
                           "in the plan of '%.*s': %" PRId64 " of the %" PRId64
                           " elements of buffer %d that the kernel makes are stored",
                           SV_ARG(f->plan->name), f->stored[b], wanted, b);
  }
}

static void allocate(Follower *f) {
  const Plan *plan = f->plan;
  f->iterations = ARENA_NEW_ARRAY(f->arena, int64_t, plan->loop_count);
  f->scalars = ARENA_NEW_ARRAY(f->arena, int64_t, plan->scalar_count);
  f->values = ARENA_NEW_ARRAY(f->arena, int64_t, f->kernel->value_count);
  f->point = ARENA_NEW_ARRAY(f->arena, int64_t, f->kernel->dim_count);
  f->buffer = ARENA_NEW_ARRAY(f->arena, Content, plan->buffer_bytes);
  f->temporaries = ARENA_NEW_ARRAY(f->arena, Content *, plan->temporary_count);
  for (int64_t t = 0; t < plan->temporary_count; t++)
    f->temporaries[t] = ARENA_NEW_ARRAY(f->arena, Content, plan->temporary_bytes[t]);
  f->overwritten = ARENA_NEW_ARRAY(f->arena, uint8_t *, f->kernel->buffer_count);
  for (int32_t b = 0; b < f->kernel->buffer_count; b++) {
    const KernelBuffer *buffer = &f->kernel->buffers[b];
    if (buffer->role == KERNEL_IN_PLACE) f->overwritten[b] = ARENA_NEW_ARRAY(f->arena, uint8_t, buffer->element_count);
  }
  f->stored = ARENA_NEW_ARRAY(f->arena, int64_t, f->kernel->buffer_count);
  bool is_updated = false;
  for (int32_t b = 0; b < f->kernel->buffer_count; b++) is_updated = is_updated || tile_is_updated(f->kernel, b);
  int32_t axes[KERNEL_MAX_DIMS], count = outer_axes(f->kernel, false, axes);
  f->unfinished = is_updated ? axes_points(f->kernel, axes, count) : 0;
  f->updates = ARENA_NEW_ARRAY(f->arena, int64_t, f->unfinished);
}

static Status follow(const Plan *plan, DiagSink *diag, bool *is_told, bool upper, bool *out_complete) {
  Follower f = {
      .arena = arena_create(), .plan = plan, .kernel = plan->kernel, .diag = diag, .slice = -1, .is_told = is_told};
  allocate(&f);
  choose_values(&f, upper);
  follow_block(&f, &plan->block);
  *out_complete = f.visited <= MOST_ELEMENTS;
  if (*out_complete && f.status == STATUS_OK) check_stored(&f);
  arena_destroy(f.arena);
  return f.status;
}

Status plan_content_check(const Plan *plan, DiagSink *diag, bool *out_complete) {
  int64_t shadow = plan->buffer_bytes;
  for (int64_t t = 0; t < plan->temporary_count; t++) shadow += plan->temporary_bytes[t];
  *out_complete = shadow <= MOST_SHADOW;
  if (!*out_complete) return STATUS_OK;
  Arena *arena = arena_create();
  bool *is_told = ARENA_NEW_ARRAY(arena, bool, plan->command_count);
  Status status = follow(plan, diag, is_told, false, out_complete);
  if (status == STATUS_OK && plan->scalar_count > 0) status = follow(plan, diag, is_told, true, out_complete);
  arena_destroy(arena);
  return status;
}
