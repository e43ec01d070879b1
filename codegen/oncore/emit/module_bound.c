#include "codegen/oncore/emit/module_bound.h"

#include <math.h>

#include "base/arena.h"
#include "codegen/oncore/emit/bound_bytes.h"
#include "codegen/oncore/emit/bound_drain.h"
#include "codegen/oncore/emit/bound_order.h"
#include "codegen/oncore/emit/bound_turn.h"
#include "codegen/oncore/emit/bound_work.h"

/* --- together --- */

static int64_t bytes_loaded(const ModuleBound *bound) {
  return bound->argument_bytes + bound->again_bytes;
}

/* |bytes| over the queues that |moves| them, each at its own rate.  |moved|: where there is no choice. */
static void share_bytes(const MachineDescription *machine, int64_t bytes, bool (*moves)(const MachineQueue *queue),
                        double *cycles, int64_t *moved) {
  double rate = bound_rate(machine, moves);
  int32_t count = 0;
  for (int32_t q = 0; q < machine->queue_count; q++) count += moves(&machine->queues[q]);
  for (int32_t q = 0; q < machine->queue_count; q++) {
    if (!moves(&machine->queues[q])) continue;
    cycles[q] += (double)bytes / rate;
    if (count == 1) moved[q] += bytes;
  }
}

/* Commands that |bytes| of |arrays| arrays take: no command moves more than the Buffer holds. */
static int64_t least_commands(const MachineDescription *machine, int64_t bytes, int64_t arrays) {
  int64_t buffers = (bytes + machine_buffer_usable(machine) - 1) / machine_buffer_usable(machine);
  return arrays > buffers ? arrays : buffers;
}

/* |commands| take a setup each on the queues that |moves|. */
static void share_setups(const MachineDescription *machine, int64_t commands, bool (*moves)(const MachineQueue *queue),
                         double *cycles) {
  int32_t count = 0;
  double least = 0;
  for (int32_t q = 0; q < machine->queue_count; q++) {
    if (!moves(&machine->queues[q])) continue;
    double setup = (double)machine->queues[q].setup;
    least = count == 0 || setup < least ? setup : least;
    count++;
  }
  for (int32_t q = 0; q < machine->queue_count; q++) {
    if (moves(&machine->queues[q])) cycles[q] += (double)commands * least / count;
  }
}

/* The only queue that |moves|, NULL where there are several. */
static const MachineQueue *only_queue(const MachineDescription *machine, bool (*moves)(const MachineQueue *queue)) {
  const MachineQueue *found = NULL;
  for (int32_t q = 0; q < machine->queue_count; q++) {
    if (!moves(&machine->queues[q])) continue;
    if (found != NULL) return NULL;
    found = &machine->queues[q];
  }
  return found;
}

/* What a cycle in which |queue| has begun a transfer, or changes rows, takes of memory's time: |other| cannot use all
 * of its rate. */
static double idle_share(const MachineDescription *machine, const MachineQueue *queue, const MachineQueue *other) {
  if (queue == other) return 1;
  double rate = machine->memory_bytes_per_cycle;
  return other->bytes_per_cycle < rate ? 1 - other->bytes_per_cycle / rate : 0;
}

/* Of one queue that loads and one that stores, or one that does both: all bytes at the most that they can move, and
 * what of that they leave unused at the beginning of commands and between rows. */
static double memory_cycles(const MachineDescription *machine, const HloComputation *entry, const ModuleBound *bound) {
  const MachineQueue *load = only_queue(machine, machine_queue_loads),
                     *store = only_queue(machine, machine_queue_stores);
  if (load == NULL || store == NULL || (load != store && machine->memory_bytes_per_cycle <= 0)) return 0;
  double rate = load == store ? load->bytes_per_cycle : machine->memory_bytes_per_cycle;
  double of_load = idle_share(machine, load, store), of_store = idle_share(machine, store, load);
  RowPrices prices = {of_load * (double)load->row, of_store * (double)store->row, 1 / rate};
  double rows = bound_turn_find(entry, machine, &prices);
  double loads = (double)least_commands(machine, bytes_loaded(bound), bound->argument_count);
  double stores = (double)least_commands(machine, bound->result_bytes, bound->result_count);
  double load_setup = (double)(load->setup - (rows > 0 ? load->row : 0)); /* the first row is not counted twice */
  double store_setup = (double)(store->setup - (rows > 0 ? store->row : 0));
  double setups = fmax(0, of_load * loads * load_setup) + fmax(0, of_store * stores * store_setup);
  return (double)(bytes_loaded(bound) + bound->result_bytes) / rate + setups + rows;
}

static QueueLimit longest(Arena *scratch, const MachineDescription *machine, const ModuleBound *bound) {
  double *cycles = ARENA_NEW_ARRAY(scratch, double, machine->queue_count);
  int64_t *moved = ARENA_NEW_ARRAY(scratch, int64_t, machine->queue_count);
  int32_t executors = bound_executors(machine);
  share_bytes(machine, bytes_loaded(bound), machine_queue_loads, cycles, moved);
  share_bytes(machine, bound->result_bytes, machine_queue_stores, cycles, moved);
  share_setups(machine, least_commands(machine, bytes_loaded(bound), bound->argument_count), machine_queue_loads,
               cycles);
  share_setups(machine, least_commands(machine, bound->result_bytes, bound->result_count), machine_queue_stores,
               cycles);
  for (int32_t q = 0; q < machine->queue_count; q++) {
    if (machine->queues[q].kind == QUEUE_EXEC) cycles[q] += (bound->work_cycles + bound->launch_cycles) / executors;
  }
  QueueWork work = {.cycles = cycles, .bytes = bytes_loaded(bound) + bound->result_bytes, .moved = moved};
  if (bound->dot_bytes > (double)work.bytes) work.bytes = (int64_t)bound->dot_bytes;
  return queue_bound(machine, &work);
}

static bool is_for_kernels(const Shape *shape) {
  return shape_is_array(shape) && !bound_is_of_scalar_unit(shape);
}

static void add_arguments(ModuleBound *bound, const HloComputation *entry) {
  for (int64_t p = 0; p < entry->parameters.count; p++) {
    const HloInstruction *parameter = entry->parameters.data[p];
    int64_t bytes = bound_bytes_read(parameter);
    bound->argument_bytes += bytes;
    bound->argument_count += bytes > 0 && is_for_kernels(parameter->shape);
  }
}

static void add_results(ModuleBound *bound, const HloInstruction *root) {
  int32_t count = root->opcode == HLO_TUPLE ? root->operand_count : 1;
  bound->result_bytes = bound_bytes_written(root);
  for (int32_t i = 0; i < count; i++) {
    const HloInstruction *result = root->opcode == HLO_TUPLE ? root->operands[i] : root;
    bound->result_count += is_for_kernels(result->shape) && bound_bytes_written(result) > 0;
  }
}

ModuleBound module_bound_find(const HloModule *module, const MachineDescription *machine) {
  Arena *scratch = arena_create();
  BoundWork work = bound_work_find(scratch, module, machine);
  ModuleBound bound = {.dot_bytes = work.dot_bytes};
  bound.work_cycles = work.operation_cycles;
  bound.launch_cycles = work.launch_cycles;
  add_arguments(&bound, module->entry);
  add_results(&bound, module->entry->root);
  bound.again_bytes = bound_bytes_again(module, machine);
  bound.limit = longest(scratch, machine, &bound);
  double memory = memory_cycles(machine, module->entry, &bound);
  if (memory > bound.limit.cycles) bound.limit = (QueueLimit){LIMIT_MEMORY, -1, memory};
  bound.order_cycles = fmax(bound_order_find(module, machine, &work), bound_drain_find(module, machine, &work));
  if (bound.order_cycles > bound.limit.cycles) bound.limit = (QueueLimit){LIMIT_ORDER, -1, bound.order_cycles};
  arena_destroy(scratch);
  return bound;
}
