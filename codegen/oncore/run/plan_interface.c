#include "codegen/oncore/run/plan_interface.h"

#include "base/checked_math.h"

static int64_t alignment_of(const MachineDescription *machine) {
  return max_i64(machine->buffer.align, 1);
}

static int64_t limit_of(const PlanInterface *interface, const MachineDescription *machine) {
  return interface->limit > 0 ? interface->limit : machine_buffer_usable(machine);
}

static int64_t end_of(const Kernel *kernel, const PlanResident *resident) {
  const KernelBuffer *buffer = &kernel->buffers[resident->buffer];
  int64_t elements = resident->elements > 0 ? resident->elements : buffer->element_count;
  return resident->begin + elements * type_storage_bytes(buffer->type);
}

/* The first resident that begins at |begin|. */
static int32_t first_at(const PlanInterface *interface, int64_t begin) {
  int32_t first = 0;
  while (interface->residents[first].begin != begin) first++;
  return first;
}

/* Bytes of the longest resident that begins at |begin|. */
static int64_t longest_at(const Kernel *kernel, const PlanInterface *interface, int64_t begin) {
  int64_t longest = 0;
  for (int32_t r = 0; r < interface->count; r++)
    if (interface->residents[r].begin == begin)
      longest = max_i64(longest, end_of(kernel, &interface->residents[r]) - begin);
  return longest;
}

static bool is_apart(const Kernel *kernel, const MachineDescription *machine, const PlanInterface *interface) {
  for (int32_t r = 0; r < interface->count; r++) {
    const PlanResident *resident = &interface->residents[r];
    int64_t end = end_of(kernel, resident);
    bool meets_tiles = resident->begin < limit_of(interface, machine) && interface->base < end;
    if (meets_tiles || end > machine_buffer_usable(machine) || resident->begin % alignment_of(machine) != 0)
      return false;
    for (int32_t o = 0; o < r; o++) {
      const PlanResident *other = &interface->residents[o];
      bool meets = other->begin < end && resident->begin < end_of(kernel, other);
      if (meets && other->begin != resident->begin) return false;
    }
  }
  return true;
}

bool plan_interface_pack(Arena *arena, const Kernel *kernel, const MachineDescription *machine,
                         const PlanInterface *interface, PlanInterface *out_packed) {
  if (!is_apart(kernel, machine, interface)) return false;
  PlanResident *residents = ARENA_COPY_ARRAY(arena, PlanResident, interface->residents, interface->count);
  int64_t end = 0;
  for (int32_t r = 0; r < interface->count; r++) {
    int64_t begin = interface->residents[r].begin;
    int32_t first = first_at(interface, begin);
    residents[r].begin = first < r ? residents[first].begin : end;
    if (first == r) end = align_up(end + longest_at(kernel, interface, begin), alignment_of(machine));
  }
  *out_packed = (PlanInterface){.base = end, .count = interface->count, .residents = residents};
  out_packed->room = interface->room;
  out_packed->sees = interface->sees;
  return true;
}

int64_t plan_own_tile_bytes(const Plan *plan) {
  int64_t bytes = 0;
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    const PlanTensor *tensor = &plan->tensors[t];
    if (plan_tensor_holder(plan, t) < 0) bytes += align_up(tensor->end - tensor->begin, plan->alignment);
  }
  return bytes;
}

bool plan_interface_has_room(const PlanInterface *interface, const MachineDescription *machine, int64_t bytes) {
  int64_t align = alignment_of(machine), limit = limit_of(interface, machine);
  return align_up(interface->base, align) + bytes <= align_up(limit, align) && interface->base <= limit;
}
