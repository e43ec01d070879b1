#include "hlo/analysis/collective_traffic.h"

#include <math.h>

#include "base/array.h"
#include "base/checked_math.h"
#include "hlo/analysis/trip_count.h"

/* HLO_ALL_REDUCE for HLO_ALL_REDUCE_START and so on; any other opcode as it is. */
static HloOpcode collective_plain_opcode(HloOpcode opcode) {
  static const HloOpcode starts[][2] = {{HLO_ALL_REDUCE_START, HLO_ALL_REDUCE},
                                        {HLO_ALL_GATHER_START, HLO_ALL_GATHER},
                                        {HLO_COLLECTIVE_PERMUTE_START, HLO_COLLECTIVE_PERMUTE}};
  for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
    if (starts[i][0] == opcode) return starts[i][1];
  }
  return opcode;
}

/* How many times a group of g sends (g-1)/g of its bytes, and whether these are the results'. */
typedef struct TrafficRule {
  HloOpcode opcode;
  bool is_pairs;
  int factor;
  bool takes_results;
} TrafficRule;

static const TrafficRule rules[] = {
    {HLO_ALL_REDUCE, false, 2, false},        {HLO_REDUCE_SCATTER, false, 1, false},
    {HLO_ALL_GATHER, false, 1, true},         {HLO_ALL_TO_ALL, false, 1, false},
    {HLO_RAGGED_ALL_TO_ALL, false, 1, false}, {HLO_COLLECTIVE_BROADCAST, false, 1, false},
    {HLO_COLLECTIVE_PERMUTE, true, 1, false}, {HLO_SEND, true, 1, false},
};

static const TrafficRule *rule_of(HloOpcode plain) {
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    if (rules[i].opcode == plain) return &rules[i];
  }
  return NULL;
}

/* --- one collective --- */

/* As HLO counts them: elements of less than a byte lie beside one another. */
static double byte_count(const Shape *shape) {
  double bytes = 0;
  for (int n = 0; n < shape_node_count(shape); n++) {
    const Shape *leaf = shape_node(shape, n);
    if (shape_is_array(leaf)) bytes += ceil((double)shape_element_count(leaf) * type_bits(leaf->type) / 8);
  }
  return bytes;
}

static double operand_byte_count(const HloInstruction *instruction) {
  double bytes = 0;
  for (int k = 0; k < instruction->operand_count; k++) bytes += byte_count(instruction->operands[k]->shape);
  return bytes;
}

/* Of a start, whose shape has its operands and perhaps contexts beside them. */
static double result_byte_count(const HloInstruction *instruction, HloOpcode plain, double operands) {
  if (instruction->opcode == plain) return byte_count(instruction->shape);
  return plain == HLO_ALL_GATHER ? byte_count(instruction->shape) - operands : operands;
}

static int64_t largest_group(const DeviceGroups *groups) {
  int64_t most = 1;
  for (int64_t i = 0; i < groups->count; i++) most = max_i64(most, groups->groups[i].count);
  return most;
}

static int64_t moving_pairs(const DevicePairs *pairs) {
  int64_t count = 0;
  for (int64_t i = 0; i < pairs->count; i++) count += pairs->data[i].source != pairs->data[i].target;
  return count;
}

static Status measure(Arena *arena, const HloInstruction *collective, const TrafficRule *rule, DeviceCounts devices,
                      DiagSink *diag, CollectiveTraffic *out) {
  *out = (CollectiveTraffic){.collective = collective, .opcode = rule->opcode, .group_count = 1};
  double operands = operand_byte_count(collective), results = result_byte_count(collective, rule->opcode, operands),
         share;
  if (rule->is_pairs) {
    RETURN_IF_ERROR(hlo_device_pairs(arena, collective, devices, diag, &out->pairs));
    out->group_size = moving_pairs(&out->pairs);
    share = (double)out->group_size / (double)device_counts_total(devices);
  } else {
    RETURN_IF_ERROR(hlo_device_groups(arena, collective, devices, diag, &out->groups));
    out->group_size = largest_group(&out->groups);
    out->group_count = out->groups.count;
    share = rule->factor * ((double)(out->group_size - 1) / (double)out->group_size);
  }
  out->payload_bytes = (int64_t)fmax(operands, results);
  out->wire_bytes = (int64_t)rint(share * (rule->takes_results ? results : operands));
  return STATUS_OK;
}

/* --- the module --- */

typedef ARRAY(CollectiveTraffic) TrafficArray;

typedef struct TrafficCounter {
  Arena *arena;
  DiagSink *diag;
  DeviceCounts devices;
  HloComputation **order; /* callees first */
  int64_t computation_count;
  /* by computation id */
  TrafficArray *own;
  double *wire;  /* of one run, with callees */
  bool *has_any; /* collectives, callees' included */
  double *times;
} TrafficCounter;

static bool runs_others(const HloInstruction *instruction) {
  return instruction->opcode == HLO_FUSION || instruction->opcode == HLO_CUSTOM_CALL ||
         hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW);
}

static double rounds_of(const HloInstruction *caller) {
  int64_t trips;
  return caller->opcode == HLO_WHILE && trip_count_known(caller, &trips) ? (double)trips : 1;
}

/* The branch that sends the most, the first of several. */
static int dearest_branch(const TrafficCounter *counter, const HloInstruction *conditional) {
  int dearest = 0;
  for (int k = 1; k < hlo_instruction_called_count(conditional); k++) {
    if (counter->wire[hlo_instruction_called(conditional, k)->id] >
        counter->wire[hlo_instruction_called(conditional, dearest)->id])
      dearest = k;
  }
  return dearest;
}

/* Whether the computation |index| that |caller| calls counts. */
static bool counts_called(const TrafficCounter *counter, const HloInstruction *caller, int index) {
  return caller->opcode != HLO_CONDITIONAL || index == dearest_branch(counter, caller);
}

static Status add_instruction(TrafficCounter *counter, const HloInstruction *instruction) {
  int32_t id = instruction->parent->id;
  const TrafficRule *rule = rule_of(collective_plain_opcode(instruction->opcode));
  if (rule != NULL) {
    CollectiveTraffic row;
    RETURN_IF_ERROR(measure(counter->arena, instruction, rule, counter->devices, counter->diag, &row));
    array_push(&counter->own[id], counter->arena, row);
    counter->wire[id] += (double)row.wire_bytes;
    counter->has_any[id] = true;
  }
  if (!runs_others(instruction)) return STATUS_OK;
  double rounds = rounds_of(instruction);
  for (int k = 0; k < hlo_instruction_called_count(instruction); k++) {
    if (!counts_called(counter, instruction, k)) continue;
    int32_t called = hlo_instruction_called(instruction, k)->id;
    counter->wire[id] += rounds * counter->wire[called];
    counter->has_any[id] = counter->has_any[id] || counter->has_any[called];
  }
  return STATUS_OK;
}

static Status measure_all(TrafficCounter *counter) {
  for (int64_t c = 0; c < counter->computation_count; c++) {
    const HloInstructionArray *list = &counter->order[c]->instructions;
    for (int64_t i = 0; i < list->count; i++) RETURN_IF_ERROR(add_instruction(counter, list->data[i]));
  }
  return STATUS_OK;
}

static void count_callees(TrafficCounter *counter, const HloComputation *computation, int64_t *unknown_loops) {
  double times = counter->times[computation->id];
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *caller = computation->instructions.data[i];
    if (!runs_others(caller)) continue;
    double rounds = rounds_of(caller);
    bool has_any = false;
    for (int k = 0; k < hlo_instruction_called_count(caller); k++) {
      int32_t called = hlo_instruction_called(caller, k)->id;
      if (counts_called(counter, caller, k)) counter->times[called] += times * rounds;
      has_any = has_any || counter->has_any[called];
    }
    int64_t trips;
    *unknown_loops += has_any && caller->opcode == HLO_WHILE && !trip_count_known(caller, &trips);
  }
}

static void gather_rows(const TrafficCounter *counter, ModuleTraffic *traffic) {
  TrafficArray rows = {0};
  for (int64_t c = 0; c < counter->computation_count; c++) {
    int32_t id = counter->order[c]->id;
    for (int64_t i = 0; i < counter->own[id].count && counter->times[id] > 0; i++) {
      CollectiveTraffic row = counter->own[id].data[i];
      row.times = counter->times[id];
      traffic->payload_bytes += row.times * (double)row.payload_bytes;
      traffic->wire_bytes += row.times * (double)row.wire_bytes;
      array_push(&rows, counter->arena, row);
    }
  }
  traffic->count = rows.count;
  traffic->data = rows.data;
}

Status hlo_module_traffic(Arena *arena, const HloModule *module, DiagSink *diag, ModuleTraffic *out_traffic) {
  TrafficCounter counter = {.arena = arena, .diag = diag, .devices = hlo_module_device_counts(module)};
  counter.order = hlo_module_post_order(module, arena, &counter.computation_count);
  counter.own = ARENA_NEW_ARRAY(arena, TrafficArray, module->next_computation_id);
  counter.wire = ARENA_NEW_ARRAY(arena, double, module->next_computation_id);
  counter.has_any = ARENA_NEW_ARRAY(arena, bool, module->next_computation_id);
  counter.times = ARENA_NEW_ARRAY(arena, double, module->next_computation_id);
  *out_traffic = (ModuleTraffic){.devices = counter.devices};
  RETURN_IF_ERROR(measure_all(&counter));
  counter.times[module->entry->id] = 1;
  for (int64_t c = counter.computation_count - 1; c >= 0; c--) {
    if (counter.times[counter.order[c]->id] > 0) count_callees(&counter, counter.order[c], &out_traffic->unknown_loops);
  }
  gather_rows(&counter, out_traffic);
  return STATUS_OK;
}
