#include "codegen/oncore/tiling/plan_advice.h"

#include <math.h>
#include <string.h>

/* "memory twice as fast" … */
static const char *machine_change_text(MachineChange change) {
  static const char *const texts[MACHINE_CHANGE_COUNT] = {
      [CHANGE_MEMORY] = "memory twice as fast",         [CHANGE_TRANSFERS] = "memory and its queues twice as fast",
      [CHANGE_LOADS] = "a second queue that loads",     [CHANGE_EXECS] = "a second queue that computes",
      [CHANGE_OPERATIONS] = "operations twice as fast", [CHANGE_SETUP] = "commands without set-up"};
  return texts[change];
}

static MachineQueue *copy_queues(Arena *arena, const MachineDescription *machine) {
  MachineQueue *queues = ARENA_NEW_ARRAY(arena, MachineQueue, machine->queue_count + 1);
  memcpy(queues, machine->queues, (size_t)machine->queue_count * sizeof *queues);
  return queues;
}

/* One more of the first queue for which |is_meant|. */
static bool add_queue(Arena *arena, MachineDescription *machine, bool (*is_meant)(const MachineQueue *queue)) {
  MachineQueue *queues = copy_queues(arena, machine);
  for (int32_t q = 0; q < machine->queue_count; q++) {
    if (!is_meant(&queues[q])) continue;
    queues[machine->queue_count] = queues[q];
    queues[machine->queue_count].name = sv_printf(arena, "%.*s'", SV_ARG(queues[q].name));
    machine->queues = queues;
    machine->queue_count++;
    return true;
  }
  return false;
}

static void hasten_transfers(Arena *arena, MachineDescription *machine) {
  MachineQueue *queues = copy_queues(arena, machine);
  for (int32_t q = 0; q < machine->queue_count; q++) queues[q].bytes_per_cycle *= 2;
  machine->queues = queues;
  machine->memory_bytes_per_cycle *= 2;
}

static void drop_setup(Arena *arena, MachineDescription *machine) {
  MachineQueue *queues = copy_queues(arena, machine);
  for (int32_t q = 0; q < machine->queue_count; q++) queues[q].setup = 0;
  machine->queues = queues;
}

static void hasten_operations(Arena *arena, MachineDescription *machine) {
  for (int type = 0; type < PRIMITIVE_TYPE_COUNT; type++) {
    if (machine->ops[type] == NULL) continue;
    MachineOpCosts *costs = ARENA_NEW(arena, MachineOpCosts);
    *costs = *machine->ops[type];
    for (int c = 0; c < MACHINE_COST_COUNT; c++) costs->cost[c] *= c == COST_MAC ? 2 : 0.5;
    machine->ops[type] = costs;
  }
}

/* |machine| with |change|, in |arena|; false where that changes nothing. */
static bool machine_change(Arena *arena, const MachineDescription *machine, MachineChange change,
                           MachineDescription *out_machine) {
  *out_machine = *machine;
  switch (change) {
    case CHANGE_MEMORY: out_machine->memory_bytes_per_cycle *= 2; return machine->memory_bytes_per_cycle > 0;
    case CHANGE_TRANSFERS: hasten_transfers(arena, out_machine); return true;
    case CHANGE_LOADS: return add_queue(arena, out_machine, machine_queue_loads);
    case CHANGE_EXECS: return add_queue(arena, out_machine, machine_queue_executes);
    case CHANGE_OPERATIONS: hasten_operations(arena, out_machine); return true;
    case CHANGE_SETUP: drop_setup(arena, out_machine); return true;
    case MACHINE_CHANGE_COUNT: break;
  }
  return false;
}

PlanAdvice plan_advice_find(const Kernel *kernel, const MachineDescription *machine, const TilerOptions *options) {
  PlanAdvice advice = {.now = tiler_estimate(&(TilerRequest){kernel, SV(""), machine, options, NULL})};
  advice.known = !isinf(advice.now);
  Arena *arena = arena_create();
  for (int c = 0; c < MACHINE_CHANGE_COUNT && advice.known; c++) {
    MachineDescription other;
    bool is_other = machine_change(arena, machine, (MachineChange)c, &other);
    advice.cycles[c] = is_other ? tiler_estimate(&(TilerRequest){kernel, SV(""), &other, options, NULL}) : INFINITY;
  }
  arena_destroy(arena);
  return advice;
}

void plan_advice_json(JsonWriter *json, const PlanAdvice *advice) {
  if (!advice->known) return;
  json_field_double(json, "advice_now_cycles", advice->now);
  json_key(json, "advice");
  json_begin_array(json);
  for (int c = 0; c < MACHINE_CHANGE_COUNT; c++) {
    if (isinf(advice->cycles[c])) continue;
    json_begin_object(json);
    json_field_string(json, "change", sv_from_cstring(machine_change_text((MachineChange)c)));
    json_field_double(json, "estimate_cycles", advice->cycles[c]);
    json_end_object(json);
  }
  json_end_array(json);
}
