#include <stddef.h>

#include "hlo/machine/description/vpt_schema_internal.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define OF_MACHINE(field) offsetof(MachineDescription, field)
#define OF_QUEUE(field) offsetof(MachineQueue, field)

static const VptKey machine_keys[] = {
    {"name", VPT_TEXT, VPT_NEEDED, OF_MACHINE(name), NULL},
    {"clock_hz", VPT_COUNT, VPT_NEEDED | VPT_POSITIVE, OF_MACHINE(clock_hz), NULL},
};

static const VptKey buffer_keys[] = {
    {"size", VPT_SIZE, VPT_NEEDED | VPT_POSITIVE, OF_MACHINE(buffer.size), NULL},
    {"unit", VPT_UNIT, 0, OF_MACHINE(buffer.unit), NULL},
    {"align", VPT_SIZE, VPT_NEEDED | VPT_POSITIVE, OF_MACHINE(buffer.align), NULL},
    {"reserve", VPT_SIZE, 0, OF_MACHINE(buffer.reserve), NULL},
};

static const VptKey vector_keys[] = {
    {"bytes", VPT_SIZE, VPT_NEEDED | VPT_POSITIVE, OF_MACHINE(vector_bytes), NULL},
};

static const VptKey memory_keys[] = {
    {"bytes_per_cycle", VPT_RATE, VPT_NEEDED, OF_MACHINE(memory_bytes_per_cycle), NULL},
};

static const VptKey queue_keys[] = {
    {"kind", VPT_WORD, VPT_NEEDED, OF_QUEUE(kind), "load|store|move|exec"},
    {"bytes_per_cycle", VPT_RATE, VPT_NEEDED | VPT_POSITIVE | VPT_TRANSFER, OF_QUEUE(bytes_per_cycle), NULL},
    {"setup", VPT_COUNT, VPT_NEEDED, OF_QUEUE(setup), NULL},
    {"row", VPT_COUNT, VPT_NEEDED | VPT_TRANSFER, OF_QUEUE(row), NULL},
    {"dims", VPT_COUNT, VPT_NEEDED | VPT_POSITIVE | VPT_TRANSFER, OF_QUEUE(dims), NULL},
    {"depth", VPT_COUNT, VPT_NEEDED | VPT_POSITIVE, OF_QUEUE(depth), NULL},
    {"complete", VPT_WORD, VPT_NEEDED, OF_QUEUE(complete), "inorder|unordered"},
};

static const VptKey sync_keys[] = {
    {"kind", VPT_WORD, VPT_NEEDED, OF_MACHINE(sync.kind), "counter|flag"},
    {"ids", VPT_COUNT, VPT_NEEDED, OF_MACHINE(sync.ids), NULL},
    {"set", VPT_COUNT, VPT_NEEDED, OF_MACHINE(sync.set), NULL},
    {"wait", VPT_COUNT, VPT_NEEDED, OF_MACHINE(sync.wait), NULL},
    {"barrier", VPT_COUNT, VPT_NEEDED, OF_MACHINE(sync.barrier), NULL},
};

static const VptKey isa_keys[] = {
    {"triple", VPT_TEXT, VPT_NEEDED, OF_MACHINE(isa.triple), NULL},
    {"cpu", VPT_TEXT, 0, OF_MACHINE(isa.cpu), NULL},
    {"features", VPT_TEXT, 0, OF_MACHINE(isa.features), NULL},
    {"abi", VPT_TEXT, 0, OF_MACHINE(isa.abi), NULL},
};

#define COST_FLAGS(id, fallback) \
  ((COST_##fallback == COST_##id ? VPT_NEEDED : 0) | (COST_##id == COST_MAC ? VPT_POSITIVE : 0))

/* The costs in MachineCost's order, then what fills in the others. */
static const VptKey op_keys[] = {
#define MACHINE_COST(id, text, fallback) \
  {text, VPT_RATE, COST_FLAGS(id, fallback), offsetof(VptOpDraft, costs.cost) + COST_##id * sizeof(double), NULL},
#include "hlo/machine/description/machine_cost.def"
#undef MACHINE_COST
    {"inherit", VPT_TYPE, 0, offsetof(VptOpDraft, inherit), NULL},
    {"scale", VPT_RATE, VPT_POSITIVE, offsetof(VptOpDraft, scale), NULL},
};

_Static_assert(LENGTH(op_keys) <= VPT_MAX_KEYS, "VPT_MAX_KEYS is too small");

static const VptSection sections[] = {
    [VPT_MACHINE] = {"machine", NULL, true, OF_MACHINE(loc), LENGTH(machine_keys), machine_keys},
    [VPT_BUFFER] = {"buffer", NULL, true, OF_MACHINE(buffer.loc), LENGTH(buffer_keys), buffer_keys},
    [VPT_VECTOR] = {"vector", NULL, true, OF_MACHINE(vector_loc), LENGTH(vector_keys), vector_keys},
    [VPT_MEMORY] = {"memory", NULL, true, OF_MACHINE(memory_loc), LENGTH(memory_keys), memory_keys},
    [VPT_QUEUE] = {"queue", "NAME", false, OF_QUEUE(loc), LENGTH(queue_keys), queue_keys},
    [VPT_SYNC] = {"sync", NULL, true, OF_MACHINE(sync.loc), LENGTH(sync_keys), sync_keys},
    [VPT_ISA] = {"isa", NULL, false, OF_MACHINE(isa.loc), LENGTH(isa_keys), isa_keys},
    [VPT_OP] = {"op", "TYPE", false, offsetof(VptOpDraft, costs.loc), LENGTH(op_keys), op_keys},
};

const VptSection *vpt_section(VptSectionId id) {
  return &sections[id];
}

MachineCost vpt_cost_fallback(MachineCost cost) {
  static const MachineCost fallbacks[] = {
#define MACHINE_COST(id, text, fallback) COST_##fallback,
#include "hlo/machine/description/machine_cost.def"
#undef MACHINE_COST
  };
  return fallbacks[cost];
}
