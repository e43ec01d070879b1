#include "codegen/oncore/run/run_touches.h"

#include <stdlib.h>

#include "codegen/lower/emit_family.h"
#include "codegen/oncore/run/plan_copies.h"
#include "hlo/analysis/call_graph.h"
#include "hlo/analysis/in_place.h"

typedef struct TouchWalk {
  Arena *arena;
  const PlacedModule *placed;
  const ResidencyModel *model;
  RunTouches *touches;
  bool opens_loops;
  int32_t loop; /* the innermost opened one at hand, -1: none */
} TouchWalk;

bool run_touches_meet(const RunTouch *a, const RunTouch *b) {
  return a->allocation == b->allocation && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* That is safe where both come in the same pieces, since each strip then writes only what it has read itself, and where
 * the last strip alone writes the result.  It is not where all strips share the whole result: the first one leaves its
 * sums there. */
bool run_touches_may_cut(const RunTouches *touches, int32_t event, KernelCutWay way, const int64_t *pieces) {
  const Kernel *kernel = touches->events.data[event].use->kernel;
  for (int32_t w = touches->begins[event]; w < touches->begins[event + 1]; w++) {
    const RunTouch *result = &touches->touches.data[w];
    for (int32_t r = touches->begins[event]; r < touches->begins[event + 1] && result->writes; r++) {
      const RunTouch *operand = &touches->touches.data[r];
      if (!operand->reads || !run_touches_meet(operand, result)) continue;
      int64_t piece = pieces[result->buffer];
      bool is_alike = operand->slice == result->slice && pieces[operand->buffer] == piece;
      bool is_last = way == KERNEL_CUT_SUMS && !kernel_strip_leaves_sums(kernel, result->buffer);
      if (!is_alike || (piece == 0 && !is_last)) return false;
    }
  }
  return true;
}

int64_t run_touches_row(const RunTouches *touches, const KernelTable *kernels, int32_t event) {
  const KernelUse *use = touches->events.data[event].use;
  for (int64_t r = 0; r < kernels->rows.count; r++) {
    const KernelUses *row = &kernels->rows.data[r];
    for (int32_t i = 0; i < row->count; i++)
      if (&row->uses[i] == use) return r;
  }
  XLAC_BUG("an event of no row");
}

/* |slice|: of the array, or of what is touched of it. */
static void add_touch(const TouchWalk *walk, const HloInstruction *holder, int node, BufferSlice slice,
                      RunTouch touch) {
  if (slice.allocation == NULL || slice.size == 0) return;
  touch.event = (int32_t)walk->touches->events.count - 1;
  touch.holder = holder;
  touch.node = node;
  touch.allocation = slice.allocation->index;
  touch.offset = slice.offset;
  touch.bytes = slice.size;
  array_push(&walk->touches->touches, walk->arena, touch);
}

/* --- Kernels --- */

static void add_buffer(const TouchWalk *walk, const HloInstruction *instruction, const KernelUse *use, int32_t number,
                       bool writes) {
  const KernelBuffer *buffer = &use->kernel->buffers[number];
  const HloInstruction *holder = buffer->operand < 0 ? instruction : instruction->operands[buffer->operand];
  RunTouch touch = {.buffer = number, .reads = !writes, .writes = writes};
  const Plan *plan = walk->model->plan(walk->model->self, use);
  int64_t element = type_storage_bytes(buffer->type), bytes = buffer->element_count * element;
  BufferSlice slice = buffer_assignment_slice(walk->placed->assignment, holder, buffer->node);
  bool is_array = shape_is_array(shape_node(holder->shape, buffer->node));
  if (use->strip.extent > 0) { /* a part of the array */
    slice.offset += use->offsets[number] * element;
    slice.size = bytes;
  }
  touch.may_stay = plan != NULL && is_array && slice.size == bytes && residency_may_keep(walk->model, plan, number);
  add_touch(walk, holder, buffer->node, slice, touch);
}

static void add_kernel(const TouchWalk *walk, const KernelUse *use) {
  const HloInstruction *instruction = use->instruction;
  array_push(&walk->touches->events, walk->arena, ((RunEvent){instruction, use, false, walk->loop, -1}));
  for (int writes = 0; writes < 2; writes++) {
    for (int32_t b = 0; b < use->kernel->buffer_count; b++) {
      KernelBufferRole role = use->kernel->buffers[b].role;
      bool is_touched = role == KERNEL_IN_PLACE || role == (writes ? KERNEL_RESULT : KERNEL_OPERAND);
      if (is_touched) add_buffer(walk, instruction, use, b, writes);
    }
  }
}

/* --- the rest --- */

static void add_leaves(const TouchWalk *walk, const HloInstruction *holder, bool writes) {
  for (int node = 0; node < shape_node_count(holder->shape); node++) {
    if (shape_is_tuple(shape_node(holder->shape, node))) continue;
    BufferSlice slice = buffer_assignment_slice(walk->placed->assignment, holder, node);
    add_touch(walk, holder, node, slice, (RunTouch){.buffer = -1, .reads = !writes, .writes = writes});
  }
}

static bool launches_kernels(const KernelTable *kernels, const HloInstruction *instruction) {
  const KernelUses *row = kernel_table_find(kernels, instruction);
  if (row != NULL && row->count > 0) return true;
  for (int c = 0; c < call_graph_callee_count(instruction); c++) {
    const HloComputation *callee = call_graph_callee(instruction, c);
    for (int64_t i = 0; i < callee->instructions.count; i++)
      if (launches_kernels(kernels, callee->instructions.data[i])) return true;
  }
  return false;
}

/* A branch that makes a scalar may have Kernels to make it, and what they find in the Buffer is chosen by itself. */
static bool is_scalar_units(const KernelTable *kernels, const HloInstruction *instruction) {
  bool is_scalar = shape_is_array(instruction->shape) && instruction->shape->rank == 0;
  return is_scalar && !launches_kernels(kernels, instruction);
}

/* Of what has no Kernels and is more than a name for what is there. */
static void add_other(const TouchWalk *walk, const HloInstruction *instruction) {
  RunEvent event = {
      .instruction = instruction, .ends_run = !is_scalar_units(walk->placed->kernels, instruction), .loop = walk->loop};
  array_push(&walk->touches->events, walk->arena, event);
  for (int32_t i = 0; i < instruction->operand_count; i++) add_leaves(walk, instruction->operands[i], false);
  add_leaves(walk, instruction, true);
}

static bool does_nothing(const HloInstruction *instruction) {
  EmitFamily family = emit_family(instruction->opcode);
  bool is_name = family == EMIT_parameter || family == EMIT_constant || family == EMIT_tuple || family == EMIT_forward;
  return is_name || hlo_is_view(instruction);
}

/* --- loops --- */

bool run_touches_may_open(const KernelTable *kernels, const HloInstruction *loop) {
  if (loop->opcode != HLO_WHILE) return false;
  const HloComputation *condition = hlo_instruction_computation(loop, HLO_ATTR_CONDITION);
  for (int64_t i = 0; i < condition->instructions.count; i++) {
    const HloInstruction *instruction = condition->instructions.data[i];
    if (does_nothing(instruction)) continue;
    if (!is_scalar_units(kernels, instruction)) return false;
  }
  return true;
}

static void add_computation(TouchWalk *walk, const HloComputation *computation);

static void open_loop(TouchWalk *walk, const HloInstruction *loop) {
  int32_t outer = walk->loop, number = (int32_t)walk->touches->loops.count;
  RunLoop opened = {.loop = loop, .outer = outer, .first = (int32_t)walk->touches->events.count};
  array_push(&walk->touches->loops, walk->arena, opened);
  walk->loop = number;
  add_computation(walk, hlo_instruction_computation(loop, HLO_ATTR_BODY));
  walk->loop = outer;
  walk->touches->loops.data[number].end = (int32_t)walk->touches->events.count;
}

static void add_computation(TouchWalk *walk, const HloComputation *computation) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    const KernelUses *row = kernel_table_find(walk->placed->kernels, instruction);
    if (does_nothing(instruction)) continue;
    if (walk->opens_loops && run_touches_may_open(walk->placed->kernels, instruction)) {
      open_loop(walk, instruction);
      continue;
    }
    if (row == NULL || (row->count == 0 && !row->is_elsewhere)) add_other(walk, instruction);
    for (int32_t k = 0; row != NULL && k < row->count; k++) add_kernel(walk, &row->uses[k]);
  }
}

/* --- what finds them --- */

static int compare_bytes(const void *left, const void *right) {
  const RunTouch *a = *(const RunTouch *const *)left, *b = *(const RunTouch *const *)right;
  if (a->allocation != b->allocation) return a->allocation < b->allocation ? -1 : 1;
  if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
  return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static void number_slices(Arena *arena, RunTouches *touches) {
  int64_t count = touches->touches.count;
  RunTouch **order = ARENA_NEW_ARRAY(arena, RunTouch *, count + 1);
  for (int64_t t = 0; t < count; t++) order[t] = &touches->touches.data[t];
  if (count > 1) qsort(order, (size_t)count, sizeof *order, compare_bytes);
  for (int64_t t = 0; t < count; t++) {
    if (t == 0 || compare_bytes(&order[t - 1], &order[t]) != 0) touches->slice_count++;
    order[t]->slice = touches->slice_count - 1;
  }
}

static void number_events(Arena *arena, RunTouches *touches) {
  int_map_init(&touches->event_of, arena);
  int64_t count = touches->events.count;
  int32_t *begins = ARENA_NEW_ARRAY(arena, int32_t, count + 1), *ends = ARENA_NEW_ARRAY(arena, int32_t, count + 1);
  for (int64_t t = 0; t < touches->touches.count; t++) begins[touches->touches.data[t].event + 1]++;
  for (int64_t e = 0; e < count; e++) {
    begins[e + 1] += begins[e];
    ends[e + 1] = ends[e] + touches->events.data[e].ends_run;
  }
  for (int64_t e = count; e-- > 0;) {
    RunEvent *event = &touches->events.data[e];
    int64_t next;
    bool is_last = !int_map_find(&touches->event_of, (uintptr_t)event->instruction, &next);
    event->next = is_last ? -1 : (int32_t)next;
    int_map_set(&touches->event_of, (uintptr_t)event->instruction, e);
  }
  touches->begins = begins;
  touches->ends = ends;
}

void run_touches_find(Arena *arena, const PlacedModule *placed, const HloComputation *computation,
                      const ResidencyModel *model, bool opens_loops, RunTouches *out_touches) {
  TouchWalk walk = {arena, placed, model, out_touches, opens_loops, -1};
  *out_touches = (RunTouches){.computation = computation};
  add_computation(&walk, computation);
  number_slices(arena, out_touches);
  number_events(arena, out_touches);
}
