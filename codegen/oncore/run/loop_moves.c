#include "codegen/oncore/run/loop_moves.h"

#include "base/checked_math.h"
#include "codegen/oncore/tiling/plan_edges.h"

typedef struct MovesMaker {
  Arena *arena;
  const ResidentLoop *loop;
  bool is_after;
  const MachineDescription *machine;
  int32_t count;
  const LoopResident **moved;
} MovesMaker;

static void find_moved(MovesMaker *maker) {
  maker->moved = ARENA_NEW_ARRAY(maker->arena, const LoopResident *, maker->loop->count);
  for (int32_t r = 0; r < maker->loop->count; r++) {
    const LoopResident *resident = &maker->loop->residents[r];
    if (maker->is_after ? resident->is_stored : resident->is_loaded) maker->moved[maker->count++] = resident;
  }
}

static const Kernel *make_kernel(const MovesMaker *maker) {
  Kernel *kernel = ARENA_NEW(maker->arena, Kernel);
  KernelBuffer *buffers = ARENA_NEW_ARRAY(maker->arena, KernelBuffer, maker->count);
  for (int32_t b = 0; b < maker->count; b++) {
    KernelBufferRole role = maker->is_after ? KERNEL_RESULT : KERNEL_OPERAND;
    buffers[b] = (KernelBuffer){role, maker->moved[b]->type, maker->moved[b]->elements, -1, maker->moved[b]->node};
  }
  *kernel = (Kernel){.source = maker->loop->loop, .buffer_count = maker->count, .buffers = buffers};
  return kernel;
}

static const int64_t *number(const MovesMaker *maker, int64_t value) {
  int64_t *made = ARENA_NEW(maker->arena, int64_t);
  *made = value;
  return made;
}

static const PlanRef *whole(const MovesMaker *maker, bool is_memory, int32_t which) {
  PlanRange *range = ARENA_NEW(maker->arena, PlanRange);
  PlanRef *ref = ARENA_NEW(maker->arena, PlanRef);
  *range = plan_range_whole(maker->moved[which]->elements);
  *ref = (PlanRef){is_memory, which, 1, range};
  return ref;
}

static PlanCommand make_command(const MovesMaker *maker, int32_t which) {
  int32_t queue = 0;
  while (maker->is_after ? !machine_queue_stores(&maker->machine->queues[queue])
                         : !machine_queue_loads(&maker->machine->queues[queue]))
    queue++;
  PlanCommand command = {.queue = queue, .loop = -1, .value = -1, .index_value = -1, .init_loop = -1};
  command.verb = maker->is_after ? PLAN_STORE : PLAN_LOAD;
  command.label = sv_from_cstring(arena_printf(maker->arena, "%s%d", maker->is_after ? "st" : "ld", which));
  command.target_count = command.source_count = 1;
  command.targets = whole(maker, maker->is_after, which);
  command.sources = whole(maker, !maker->is_after, which);
  command.hlo = maker->loop->loop->name;
  command.loc = maker->loop->loop->loc;
  return command;
}

static void add_arrays(const MovesMaker *maker, Plan *plan) {
  PlanMemory *memories = ARENA_NEW_ARRAY(maker->arena, PlanMemory, maker->count);
  PlanTensor *tensors = ARENA_NEW_ARRAY(maker->arena, PlanTensor, maker->count);
  for (int32_t i = 0; i < maker->count; i++) {
    const LoopResident *resident = maker->moved[i];
    const int64_t *elements = number(maker, resident->elements);
    memories[i] = (PlanMemory){.type = resident->type, .number = i, .rank = 1, .extents = elements};
    memories[i].kind = maker->is_after ? PLAN_RESULT : PLAN_ARGUMENT;
    memories[i].name = sv_from_cstring(arena_printf(maker->arena, "state%d", resident->node));
    memories[i].strides = number(maker, 1);
    memories[i].offset = index_constant(0);
    tensors[i] = (PlanTensor){.type = resident->type, .kind = PLAN_RESIDENT, .rank = 1, .parent = -1, .held = i};
    tensors[i].name = sv_from_cstring(arena_printf(maker->arena, "held%d", i));
    tensors[i].extents = elements;
    tensors[i].begin = resident->begin;
    tensors[i].end = resident->begin + resident->elements * type_storage_bytes(resident->type);
    tensors[i].hold = maker->is_after ? PLAN_FINDS : PLAN_LEAVES;
  }
  plan->memories = memories;
  plan->tensors = tensors;
  plan->memory_count = plan->tensor_count = maker->count;
}

Status loop_moves_plan(Arena *arena, const ResidentLoop *loop, bool is_after, const MachineDescription *machine,
                       DiagSink *diag, LoopMovesPlan *out_moves) {
  MovesMaker maker = {.arena = arena, .loop = loop, .is_after = is_after, .machine = machine};
  find_moved(&maker);
  *out_moves = (LoopMovesPlan){.count = maker.count};
  if (maker.count == 0) return STATUS_OK;
  Plan *plan = ARENA_NEW(arena, Plan);
  PlanCommand *commands = ARENA_NEW_ARRAY(arena, PlanCommand, maker.count);
  PlanNode *nodes = ARENA_NEW_ARRAY(arena, PlanNode, maker.count);
  int *leaves = ARENA_NEW_ARRAY(arena, int, maker.count);
  *plan = (Plan){.arena = arena, .kernel = make_kernel(&maker), .buffer_bytes = machine_buffer_usable(machine)};
  plan->name = sv_from_cstring(arena_printf(arena, "%.*s.%s", SV_ARG(loop->loop->name), is_after ? "after" : "before"));
  plan->loc = loop->loop->loc;
  plan->alignment = max_i64(machine->buffer.align, 1);
  index_space_init(&plan->space, arena);
  add_arrays(&maker, plan);
  for (int32_t i = 0; i < maker.count; i++) {
    commands[i] = make_command(&maker, i);
    nodes[i] = (PlanNode){PLAN_NODE_COMMAND, i};
    leaves[i] = maker.moved[i]->node;
  }
  plan->commands = commands;
  plan->command_count = maker.count;
  plan->block = (PlanBlock){maker.count, nodes};
  out_moves->leaves = leaves;
  out_moves->plan = plan;
  return plan_edges_derive_any(plan, machine, commands, diag);
}
