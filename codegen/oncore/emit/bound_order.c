#include "codegen/oncore/emit/bound_order.h"

#include <math.h>

#include "base/arena.h"
#include "codegen/oncore/emit/dependence_cone.h"

enum { MOST_CUTS = 64 };
#define MOST_VISITS (INT64_C(1) << 20) /* of steps by cuts: of longer modules fewer cuts are looked at */

/* An array at whose last element the run of a module is cut. */
typedef struct Cut {
  int32_t step;
  Cone cone;
  bool *needed; /* by step */
  double done;  /* cycles until all of it is computed, at least */
} Cut;

typedef struct Orderer {
  Arena *arena;
  const HloModule *module;
  const MachineDescription *machine;
  const BoundWork *work;
  ConeGraph graph;
  int32_t cut_count;
  Cut *cuts;
  double executors, load_rate, store_rate;
  double *read; /* by parameter: bytes, of the phase at hand */
} Orderer;

/* Cycles of step |step|'s own operations.  What stands between steps as a whole, as loops do, has none here. */
static double cycles_of(const Orderer *orderer, int32_t step) {
  const HloInstruction *instruction = orderer->graph.steps[step];
  return instruction->opcode == HLO_FUSION ? 0 : orderer->work->cycles[instruction->id];
}

/* The same without what vectors are rounded up by: a share of it is no more than that share takes. */
static double divisible_cycles(const Orderer *orderer, int32_t step) {
  const HloInstruction *instruction = orderer->graph.steps[step];
  double cycles = cycles_of(orderer, step);
  if (cycles == 0 || !shape_is_array(instruction->shape)) return 0;
  double elements = (double)shape_element_count(instruction->shape), lanes = orderer->machine->vector_bytes;
  return cycles * elements / (elements + lanes);
}

/* --- what comes before and after --- */

/* Of |work| cycles of operations and transfers of so many bytes, which may all go on at once. */
static double longest_of(const Orderer *orderer, double work, double loaded, double stored) {
  double cycles = fmax(work / orderer->executors, fmax(loaded / orderer->load_rate, stored / orderer->store_rate));
  double rate = orderer->machine->memory_bytes_per_cycle;
  return rate > 0 ? fmax(cycles, (loaded + stored) / rate) : cycles;
}

static double before(const Orderer *orderer, const bool *needed) {
  double work = 0, loaded = 0;
  for (int32_t s = 0; s < orderer->graph.count; s++) {
    const HloInstruction *instruction = orderer->graph.steps[s];
    if (!needed[s]) continue;
    work += cycles_of(orderer, s);
    bool is_argument = instruction->opcode == HLO_PARAMETER && orderer->graph.fusions[s] == NULL;
    if (is_argument && shape_is_array(instruction->shape)) loaded += (double)shape_byte_size(instruction->shape);
  }
  return longest_of(orderer, work, loaded, 0);
}

/* Bytes of results in the cone, each once. */
static double stored_after(const Orderer *orderer, const Cone *cone) {
  const HloInstruction *root = orderer->module->entry->root;
  int32_t count = root->opcode == HLO_TUPLE ? root->operand_count : 1;
  double bytes = 0;
  for (int32_t i = 0; i < count; i++) {
    const HloInstruction *result = root->opcode == HLO_TUPLE ? root->operands[i] : root;
    const ConePart *part = &cone->parts[orderer->graph.step_of[result->id]];
    bool is_again = false;
    for (int32_t k = 0; k < i && root->opcode == HLO_TUPLE; k++) is_again = is_again || root->operands[k] == result;
    if (part->any && !is_again)
      bytes += cone_part_volume(part, result->shape) * (double)type_storage_bytes(result->shape->type);
  }
  return bytes;
}

/* What comes after the last element of |cut|: all of it, or (|needed|) what these steps are. */
static double after(const Orderer *orderer, const Cut *cut, const bool *needed) {
  double work = 0, loaded = -(double)machine_buffer_usable(orderer->machine);
  for (int32_t s = cut->step + 1; s < orderer->graph.count; s++)
    if (needed == NULL || needed[s]) work += cut->cone.shares[s] * divisible_cycles(orderer, s);
  for (int64_t d = 0; d < cut->cone.demands.count; d++) orderer->read[cut->cone.demands.data[d].parameter] = 0;
  for (int64_t d = 0; d < cut->cone.demands.count; d++) {
    const ConeDemand *demand = &cut->cone.demands.data[d];
    double *read = &orderer->read[demand->parameter];
    if ((needed != NULL && !needed[demand->step]) || demand->bytes <= *read) continue;
    loaded += demand->bytes - *read;
    *read = demand->bytes;
  }
  return longest_of(orderer, work, fmax(0, loaded), needed == NULL ? stored_after(orderer, &cut->cone) : 0);
}

/* --- cuts --- */

static bool is_cut(const HloInstruction *instruction) {
  bool folds = hlo_opcode_info(instruction->opcode)->cost == OP_COST_FOLD;
  return folds && shape_is_array(instruction->shape) && instruction->shape->rank <= CONE_MOST_RANK &&
         shape_element_count(instruction->shape) > 0;
}

static void find_cuts(Orderer *orderer) {
  int32_t folds = 0, taken = 0;
  for (int32_t s = 0; s < orderer->graph.count; s++) folds += is_cut(orderer->graph.steps[s]);
  int64_t most = MOST_VISITS / (orderer->graph.count + 1);
  if (most > MOST_CUTS) most = MOST_CUTS;
  orderer->cuts = ARENA_NEW_ARRAY(orderer->arena, Cut, folds);
  for (int32_t s = 0; s < orderer->graph.count; s++) {
    if (!is_cut(orderer->graph.steps[s])) continue;
    /* |most| of |folds|, evenly */
    bool takes = folds <= most || (int64_t)(taken + 1) * most / folds > (int64_t)taken * most / folds;
    taken++;
    if (takes) orderer->cuts[orderer->cut_count++].step = s;
  }
}

static double order_cycles(Orderer *orderer) {
  double most = 0;
  find_cuts(orderer);
  for (int32_t c = 0; c < orderer->cut_count; c++) {
    Cut *cut = &orderer->cuts[c];
    cut->needed = ARENA_NEW_ARRAY(orderer->arena, bool, orderer->graph.count);
    cone_needed(orderer->arena, &orderer->graph, orderer->work->is_known, cut->step, cut->needed);
    cone_find(orderer->arena, &orderer->graph, orderer->work->is_known, cut->step, &cut->cone);
    cut->done = before(orderer, cut->needed);
    for (int32_t b = 0; b < c; b++) {
      const Cut *earlier = &orderer->cuts[b];
      if (cut->needed[earlier->step]) cut->done = fmax(cut->done, earlier->done + after(orderer, earlier, cut->needed));
    }
    most = fmax(most, cut->done + after(orderer, cut, NULL));
  }
  return most;
}

double bound_order_find(const HloModule *module, const MachineDescription *machine, const BoundWork *work) {
  Orderer orderer = {.arena = arena_create(),
                     .module = module,
                     .machine = machine,
                     .work = work,
                     .executors = bound_executors(machine),
                     .load_rate = bound_rate(machine, machine_queue_loads),
                     .store_rate = bound_rate(machine, machine_queue_stores)};
  orderer.read = ARENA_NEW_ARRAY(orderer.arena, double, module->entry->parameters.count + 1);
  double cycles = cone_graph_make(orderer.arena, module, &orderer.graph) ? order_cycles(&orderer) : 0;
  arena_destroy(orderer.arena);
  return cycles;
}
