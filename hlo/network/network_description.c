#include "hlo/network/network_description.h"

#include <stddef.h>

#include "base/section_reader.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define OF_NETWORK(field) offsetof(NetworkDescription, field)
#define OF_LEVEL(field) offsetof(NetworkLevel, field)

static void *open_level(SectionReader *reader, StringView name, SourceLoc loc) {
  NetworkDescription *network = reader->target;
  for (int i = 0; i < network->level_count; i++) {
    if (!sv_equal(network->levels[i].name, name)) continue;
    section_duplicate(reader, loc, "level", name, network->levels[i].loc);
    return NULL;
  }
  if (network->level_count == NETWORK_MAX_LEVELS) {
    SECTION_FAIL(reader, loc, "network-levels", "there are more than %d levels", NETWORK_MAX_LEVELS);
    return NULL;
  }
  NetworkLevel *level = &network->levels[network->level_count++];
  *level = (NetworkLevel){.loc = loc, .name = name};
  return level;
}

/* Blocks lie in blocks: each level has several of the one above it. */
static void close_level(SectionReader *reader) {
  const NetworkDescription *network = reader->target;
  const NetworkLevel *level = reader->object;
  int64_t inner = network->level_count > 1 ? network->levels[network->level_count - 2].size : 1;
  if (reader->has_errors || (level->size > inner && level->size % inner == 0)) return;
  SECTION_FAIL(reader, level->loc, "network-levels",
               "level '%.*s' has blocks of %lld devices, which are not several blocks of the %lld that lie within",
               SV_ARG(level->name), (long long)level->size, (long long)inner);
}

static const SectionKey network_keys[] = {
    {"name", SECTION_TEXT, SECTION_NEEDED, OF_NETWORK(name), NULL, NULL},
    {"overlap", SECTION_WORD, SECTION_NEEDED, OF_NETWORK(overlap), "no|yes", NULL},
};

static const SectionKey device_keys[] = {
    {"flops", SECTION_RATE, SECTION_NEEDED | SECTION_POSITIVE, OF_NETWORK(device.flops), NULL, NULL},
    {"memory_bandwidth", SECTION_RATE, SECTION_NEEDED | SECTION_POSITIVE, OF_NETWORK(device.memory_bandwidth), NULL,
     NULL},
    {"call", SECTION_RATE, SECTION_NEEDED, OF_NETWORK(device.call), NULL, NULL},
    {"reduce_bandwidth", SECTION_RATE, SECTION_NEEDED | SECTION_POSITIVE, OF_NETWORK(device.reduce_bandwidth), NULL,
     NULL},
    {"memory", SECTION_SIZE, SECTION_POSITIVE, OF_NETWORK(device.memory), NULL, NULL},
};

static const SectionKey level_keys[] = {
    {"size", SECTION_COUNT, SECTION_NEEDED | SECTION_POSITIVE, OF_LEVEL(size), NULL, NULL},
    {"latency", SECTION_RATE, SECTION_NEEDED, OF_LEVEL(latency), NULL, NULL},
    {"bandwidth", SECTION_RATE, SECTION_NEEDED | SECTION_POSITIVE, OF_LEVEL(bandwidth), NULL, NULL},
};

static const SectionRule rules[] = {
    {"network", NULL, true, OF_NETWORK(loc), LENGTH(network_keys), network_keys, NULL, NULL, NULL},
    {"device", NULL, true, OF_NETWORK(device_loc), LENGTH(device_keys), device_keys, NULL, NULL, NULL},
    {"level", "NAME", true, OF_LEVEL(loc), LENGTH(level_keys), level_keys, open_level, NULL, close_level},
};

static const SectionSchema schema = {rules, LENGTH(rules), 1e18};

Status network_description_parse(Arena *arena, const SourceFile *source, DiagSink *diag,
                                 NetworkDescription *out_network) {
  *out_network = (NetworkDescription){.level_count = 0};
  return section_read(arena, source, diag, &schema, out_network, NULL);
}

int64_t network_device_limit(const NetworkDescription *network) {
  return network->levels[network->level_count - 1].size;
}
