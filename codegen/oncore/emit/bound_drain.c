#include "codegen/oncore/emit/bound_drain.h"

#include <math.h>

#include "base/arena.h"
#include "hlo/analysis/execution_counts.h"

typedef struct Drain {
  Arena *scratch;
  const HloModule *module;
  const MachineDescription *machine;
  const BoundWork *work;
  const double *times;
  int64_t *owner;     /* by computation id: the last instruction of the entry that leads there, -1: none */
  double *cycles;     /* by instruction of the entry: what it leads to on the queue that computes */
  double *stores;     /* by instruction of the entry: cycles of storing what it makes of the results */
  double setup, rate; /* of a store */
  int32_t storers;
} Drain;

/* Whether one queue computes, and all queues that compute or store complete in order. */
static bool find_queues(Drain *drain) {
  int32_t executors = 0;
  drain->setup = INFINITY;
  for (int32_t q = 0; q < drain->machine->queue_count; q++) {
    const MachineQueue *queue = &drain->machine->queues[q];
    bool computes = queue->kind == QUEUE_EXEC, stores = machine_queue_stores(queue);
    if ((computes || stores) && queue->complete != COMPLETE_IN_ORDER) return false;
    executors += computes;
    if (!stores) continue;
    drain->storers++;
    drain->setup = fmin(drain->setup, (double)queue->setup);
    drain->rate = fmax(drain->rate, queue->bytes_per_cycle);
  }
  return executors == 1 && drain->storers > 0;
}

/* --- work --- */

static void own_computations(Drain *drain, const HloInstruction *instruction, int64_t place) {
  for (int c = 0; c < hlo_instruction_called_count(instruction); c++) {
    const HloComputation *called = hlo_instruction_called(instruction, c);
    if (drain->owner[called->id] == place) continue;
    drain->owner[called->id] = place;
    for (int64_t i = 0; i < called->instructions.count; i++)
      own_computations(drain, called->instructions.data[i], place);
  }
}

static void find_cycles(Drain *drain) {
  const HloComputation *entry = drain->module->entry;
  for (int64_t c = 0; c < drain->module->next_computation_id; c++) drain->owner[c] = -1;
  for (int64_t i = 0; i < entry->instructions.count; i++) own_computations(drain, entry->instructions.data[i], i);
  for (int64_t c = 0; c < drain->module->computations.count; c++) {
    const HloComputation *computation = drain->module->computations.data[c];
    for (int64_t i = 0; i < computation->instructions.count; i++) {
      double cycles = drain->work->launched[computation->instructions.data[i]->id];
      int64_t place = computation == entry ? i : drain->owner[computation->id];
      if (place >= 0) drain->cycles[place] += drain->times[computation->id] * cycles;
    }
  }
}

/* --- stores --- */

/* The operation that makes |result|, which may be one of several of a fusion; |out_kernel|: the instruction whose
 * Kernel it is of. */
static const HloInstruction *maker_of(const HloInstruction *result, const HloInstruction **out_kernel) {
  int64_t leaf = 0;
  while (result->opcode == HLO_BITCAST) result = result->operands[0];
  if (result->opcode == HLO_GET_TUPLE_ELEMENT) {
    leaf = hlo_instruction_int(result, HLO_ATTR_INDEX, 0);
    result = result->operands[0];
  }
  *out_kernel = result;
  if (result->opcode != HLO_FUSION) return result;
  const HloInstruction *root = hlo_instruction_called(result, 0)->root;
  return root->opcode == HLO_TUPLE ? root->operands[leaf] : root;
}

/* Whether each element of what |maker| makes comes out of an operation. */
static bool is_computed(const Drain *drain, const HloInstruction *maker) {
  bool folds = hlo_opcode_has(maker->opcode, OP_CONTRACTION) || maker->opcode == HLO_REDUCE;
  bool computes = folds || (hlo_opcode_has(maker->opcode, OP_ELEMENTWISE) && maker->opcode != HLO_COPY);
  return computes && shape_is_array(maker->shape) && drain->work->cycles[maker->id] > 0;
}

static void find_stores(Drain *drain) {
  const HloComputation *entry = drain->module->entry;
  const HloInstruction *root = entry->root;
  int32_t count = root->opcode == HLO_TUPLE ? root->operand_count : 1;
  int64_t *places = ARENA_NEW_ARRAY(drain->scratch, int64_t, drain->module->next_instruction_id);
  for (int64_t i = 0; i < entry->instructions.count; i++) places[entry->instructions.data[i]->id] = i;
  for (int32_t r = 0; r < count; r++) {
    const HloInstruction *kernel, *result = root->opcode == HLO_TUPLE ? root->operands[r] : root;
    const HloInstruction *maker = maker_of(result, &kernel);
    bool is_again = false;
    for (int32_t k = 0; k < r; k++) is_again = is_again || root->operands[k] == result;
    if (is_again || bound_is_of_scalar_unit(maker->shape) || !is_computed(drain, maker)) continue;
    double bytes = (double)shape_byte_size(maker->shape);
    drain->stores[places[kernel->id]] += drain->setup + bytes / drain->rate;
  }
}

double bound_drain_find(const HloModule *module, const MachineDescription *machine, const BoundWork *work) {
  Drain drain = {.scratch = arena_create(), .module = module, .machine = machine, .work = work};
  double most = 0, done = 0, left = 0;
  if (find_queues(&drain)) {
    int64_t count = module->entry->instructions.count;
    drain.times = hlo_execution_counts(drain.scratch, module, 1);
    drain.owner = ARENA_NEW_ARRAY(drain.scratch, int64_t, module->next_computation_id);
    drain.cycles = ARENA_NEW_ARRAY(drain.scratch, double, count);
    drain.stores = ARENA_NEW_ARRAY(drain.scratch, double, count);
    find_cycles(&drain);
    find_stores(&drain);
    for (int64_t i = 0; i < count; i++) left += drain.stores[i];
    for (int64_t i = 0; i < count; i++) {
      double first = work->setup; /* the command that has to be complete before a store */
      if (drain.stores[i] > 0) most = fmax(most, done + first + left / drain.storers);
      left -= drain.stores[i];
      done += drain.cycles[i];
    }
  }
  arena_destroy(drain.scratch);
  return most;
}
