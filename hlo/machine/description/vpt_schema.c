#include <stddef.h>

#include "hlo/machine/description/vpt_schema_internal.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define OF_MACHINE(field) offsetof(MachineDescription, field)
#define OF_QUEUE(field) offsetof(MachineQueue, field)

static const SectionKey machine_keys[] = {
    {"name", SECTION_TEXT, SECTION_NEEDED, OF_MACHINE(name), NULL, NULL},
    {"clock_hz", SECTION_COUNT, SECTION_NEEDED | SECTION_POSITIVE, OF_MACHINE(clock_hz), NULL, NULL},
};

static const SectionKey buffer_keys[] = {
    {"size", SECTION_SIZE, SECTION_NEEDED | SECTION_POSITIVE, OF_MACHINE(buffer.size), NULL, NULL},
    {"unit", SECTION_OTHER, 0, OF_MACHINE(buffer.unit), NULL, vpt_set_unit},
    {"align", SECTION_SIZE, SECTION_NEEDED | SECTION_POSITIVE, OF_MACHINE(buffer.align), NULL, NULL},
    {"reserve", SECTION_SIZE, 0, OF_MACHINE(buffer.reserve), NULL, NULL},
};

static const SectionKey vector_keys[] = {
    {"bytes", SECTION_SIZE, SECTION_NEEDED | SECTION_POSITIVE, OF_MACHINE(vector_bytes), NULL, NULL},
};

static const SectionKey memory_keys[] = {
    {"bytes_per_cycle", SECTION_RATE, SECTION_NEEDED, OF_MACHINE(memory_bytes_per_cycle), NULL, NULL},
};

static const SectionKey queue_keys[] = {
    {"kind", SECTION_WORD, SECTION_NEEDED, OF_QUEUE(kind), "load|store|move|exec", NULL},
    {"bytes_per_cycle", SECTION_RATE, SECTION_NEEDED | SECTION_POSITIVE | VPT_TRANSFER, OF_QUEUE(bytes_per_cycle), NULL,
     NULL},
    {"setup", SECTION_COUNT, SECTION_NEEDED, OF_QUEUE(setup), NULL, NULL},
    {"row", SECTION_COUNT, SECTION_NEEDED | VPT_TRANSFER, OF_QUEUE(row), NULL, NULL},
    {"dims", SECTION_COUNT, SECTION_NEEDED | SECTION_POSITIVE | VPT_TRANSFER, OF_QUEUE(dims), NULL, NULL},
    {"depth", SECTION_COUNT, SECTION_NEEDED | SECTION_POSITIVE, OF_QUEUE(depth), NULL, NULL},
    {"complete", SECTION_WORD, SECTION_NEEDED, OF_QUEUE(complete), "inorder|unordered", NULL},
};

static const SectionKey sync_keys[] = {
    {"kind", SECTION_WORD, SECTION_NEEDED, OF_MACHINE(sync.kind), "counter|flag", NULL},
    {"ids", SECTION_COUNT, SECTION_NEEDED, OF_MACHINE(sync.ids), NULL, NULL},
    {"set", SECTION_COUNT, SECTION_NEEDED, OF_MACHINE(sync.set), NULL, NULL},
    {"wait", SECTION_COUNT, SECTION_NEEDED, OF_MACHINE(sync.wait), NULL, NULL},
    {"barrier", SECTION_COUNT, SECTION_NEEDED, OF_MACHINE(sync.barrier), NULL, NULL},
};

static const SectionKey isa_keys[] = {
    {"triple", SECTION_TEXT, SECTION_NEEDED, OF_MACHINE(isa.triple), NULL, NULL},
    {"cpu", SECTION_TEXT, 0, OF_MACHINE(isa.cpu), NULL, NULL},
    {"features", SECTION_TEXT, 0, OF_MACHINE(isa.features), NULL, NULL},
    {"abi", SECTION_TEXT, 0, OF_MACHINE(isa.abi), NULL, NULL},
};

#define COST_FLAGS(id, fallback) \
  ((COST_##fallback == COST_##id ? SECTION_NEEDED : 0) | (COST_##id == COST_MAC ? SECTION_POSITIVE : 0))

/* The costs in MachineCost's order, then what fills in the others. */
static const SectionKey op_keys[] = {
#define MACHINE_COST(id, text, fallback)                                                                        \
  {text, SECTION_RATE, COST_FLAGS(id, fallback), offsetof(VptOpDraft, costs.cost) + COST_##id * sizeof(double), \
   NULL, NULL},
#include "hlo/machine/description/machine_cost.def"
#undef MACHINE_COST
    {"inherit", SECTION_OTHER, 0, offsetof(VptOpDraft, inherit), NULL, vpt_set_type},
    {"scale", SECTION_RATE, SECTION_POSITIVE, offsetof(VptOpDraft, scale), NULL, NULL},
};

_Static_assert(LENGTH(op_keys) <= SECTION_MAX_KEYS, "SECTION_MAX_KEYS is too small");

static const SectionRule sections[] = {
    [VPT_MACHINE] = {"machine", NULL, true, OF_MACHINE(loc), LENGTH(machine_keys), machine_keys, NULL, NULL, NULL},
    [VPT_BUFFER] = {"buffer", NULL, true, OF_MACHINE(buffer.loc), LENGTH(buffer_keys), buffer_keys, NULL, NULL, NULL},
    [VPT_VECTOR] = {"vector", NULL, true, OF_MACHINE(vector_loc), LENGTH(vector_keys), vector_keys, NULL, NULL, NULL},
    [VPT_MEMORY] = {"memory", NULL, true, OF_MACHINE(memory_loc), LENGTH(memory_keys), memory_keys, NULL, NULL, NULL},
    [VPT_QUEUE] = {"queue", "NAME", false, OF_QUEUE(loc), LENGTH(queue_keys), queue_keys, vpt_open_queue,
                   vpt_queue_needs, vpt_close_queue},
    [VPT_SYNC] = {"sync", NULL, true, OF_MACHINE(sync.loc), LENGTH(sync_keys), sync_keys, NULL, NULL, NULL},
    [VPT_ISA] = {"isa", NULL, false, OF_MACHINE(isa.loc), LENGTH(isa_keys), isa_keys, NULL, NULL, NULL},
    [VPT_OP] = {"op", "TYPE", false, offsetof(VptOpDraft, costs.loc), LENGTH(op_keys), op_keys, vpt_open_op,
                vpt_op_needs, vpt_close_op},
};

/* A rate is a cost for a vector or bytes for a cycle: products with counts stay in range. */
static const SectionSchema schema = {sections, LENGTH(sections), (double)((int64_t)1 << 40)};

const SectionSchema *vpt_schema(void) {
  return &schema;
}

const SectionRule *vpt_section(VptSectionId id) {
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
