/* Memory that holds no live value is overwritten, byte for byte, as soon as its value is dead: what reads it by mistake
 * gets NaN or -1.  From the live ranges and places of the assignment alone, so that both are tested.  Where Kernels of
 * a sequence take turns, what dies meanwhile does so after the last of them. */
#include "base/checked_math.h"
#include "codegen/emit/control_internal.h"

enum { POISON = 0xFF };

typedef struct Death {
  const HloValue *value;
  int32_t next; /* of the same position; -1: the last */
} Death;

struct PoisonDeaths {
  IntMap positions;      /* of instructions in the schedule */
  int32_t *first_deaths; /* by position */
  int64_t *shown;        /* by position: after which one what dies there is overwritten, itself or a later one */
  ARRAY(Death) deaths;
};

static void fill(ControlEmitter *control, LLVMValueRef address, int64_t bytes) {
  LLVMContextRef context = control->vec->context;
  LLVMValueRef byte = LLVMConstInt(LLVMInt8TypeInContext(context), POISON, false);
  LLVMValueRef count = LLVMConstInt(LLVMInt64TypeInContext(context), (unsigned long long)bytes, false);
  if (bytes > 0) LLVMBuildMemSet(control->vec->builder, address, byte, count, 1);
}

static bool is_writable(const BufferAllocation *allocation) {
  return allocation->kind == ALLOCATION_TEMP || allocation->result >= 0;
}

static void find_deaths(ControlEmitter *control, PoisonDeaths *poison) {
  const BufferAssignment *assignment = control->assignment;
  for (int64_t i = 0; i < assignment->schedule_length; i++) {
    int_map_set(&poison->positions, (uintptr_t)assignment->schedule[i], i);
    poison->first_deaths[i] = -1;
  }
  for (int32_t v = 0; v < assignment->value_count; v++) {
    const HloValue *value = &assignment->values[v];
    for (int32_t k = 0; k < value->range_count; k++) {
      int64_t position = value->ranges[k].dead_after;
      if (position < 0) continue;
      array_push(&poison->deaths, control->arena, ((Death){value, poison->first_deaths[position]}));
      poison->first_deaths[position] = (int32_t)poison->deaths.count - 1;
    }
  }
}

static void find_turns(const ControlEmitter *control, PoisonDeaths *poison) {
  for (int64_t i = 0; i < control->assignment->schedule_length; i++) poison->shown[i] = i;
  for (int64_t r = 0; r < control->kernels->rows.count; r++) {
    const KernelUses *row = &control->kernels->rows.data[r];
    int64_t last, position;
    if (!int_map_find(&poison->positions, (uintptr_t)row->instruction, &last)) continue;
    for (int32_t u = 0; u < row->count; u++) {
      if (!int_map_find(&poison->positions, (uintptr_t)row->uses[u].instruction, &position)) continue;
      for (; position < last && poison->shown[position] != last; position++) poison->shown[position] = last;
    }
  }
}

void control_poison_begin(ControlEmitter *control) {
  const BufferAssignment *assignment = control->assignment;
  control->poison = ARENA_NEW(control->arena, PoisonDeaths);
  int_map_init(&control->poison->positions, control->arena);
  control->poison->first_deaths = ARENA_NEW_ARRAY(control->arena, int32_t, assignment->schedule_length + 1);
  control->poison->shown = ARENA_NEW_ARRAY(control->arena, int64_t, assignment->schedule_length + 1);
  find_deaths(control, control->poison);
  find_turns(control, control->poison);
  fill(control, control->workspace, assignment->workspace_bytes);
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    const BufferAllocation *allocation = &assignment->allocations[i];
    if (allocation->kind != ALLOCATION_RESULT || control->is_preparation) continue;
    fill(control, control_allocation_address(control, allocation, 0), allocation->size);
  }
}

void control_poison_scratch(ControlEmitter *control, LLVMValueRef scratch, int64_t bytes) {
  if (control->poison) fill(control, scratch, bytes);
}

static bool is_needed_behind(const HloValue *value, int64_t position) {
  for (int32_t k = 0; k < value->range_count; k++) {
    const BufferLiveRange *range = &value->ranges[k];
    if (range->from > position) continue;
    if (range->dead_after < 0 ? position <= range->to : position < range->dead_after) return true;
  }
  return false;
}

/* From |at| on, which no needed value covers, the end of what none covers, up to |end|; when one covers |at|, that
 * value's end in |*out_next| and |at| as result. */
static int64_t free_until(const BufferAssignment *assignment, const BufferAllocation *allocation, int64_t position,
                          int64_t at, int64_t end, int64_t *out_next) {
  *out_next = end;
  for (int32_t b = 0; b < allocation->buffer_count; b++) {
    const HloBuffer *buffer = &assignment->buffers[allocation->buffers[b]];
    for (int32_t v = 0; v < buffer->value_count; v++) {
      const HloValue *value = &assignment->values[buffer->values[v]];
      int64_t from = buffer->offset, to = from + value->size;
      if (to <= at || from >= end || !is_needed_behind(value, position)) continue;
      if (from <= at) {
        *out_next = to;
        return at;
      }
      end = from;
      *out_next = from;
    }
  }
  return end;
}

static void fill_dead(ControlEmitter *control, const HloValue *value, int64_t position) {
  const HloBuffer *buffer = &control->assignment->buffers[value->buffer];
  const BufferAllocation *allocation = &control->assignment->allocations[buffer->allocation];
  if (!is_writable(allocation)) return;
  int64_t at = buffer->offset, end = at + value->size;
  while (at < end) {
    int64_t next, until = free_until(control->assignment, allocation, position, at, end, &next);
    fill(control, until > at ? control_allocation_address(control, allocation, at) : NULL, until - at);
    at = next;
  }
}

void control_poison_after(ControlEmitter *control, const HloInstruction *instruction) {
  const PoisonDeaths *poison = control->poison;
  int64_t position;
  if (!poison || !int_map_find(&poison->positions, (uintptr_t)instruction, &position)) return;
  if (poison->shown[position] > position) return;
  for (int64_t at = position; at >= 0 && poison->shown[at] == position; at--)
    for (int32_t d = poison->first_deaths[at]; d >= 0; d = poison->deaths.data[d].next)
      fill_dead(control, poison->deaths.data[d].value, position);
}
