#include "passes/pipeline/hlo_pass.h"

/* All passes by name and number, from pass_registry.def. */

static const HloPass *const registry[] = {
#define HLO_PASS(variable) &variable,
#include "passes/pipeline/pass_registry.def"
#undef HLO_PASS
};

enum { REGISTRY_COUNT = sizeof(registry) / sizeof(registry[0]) };

const HloPass *hlo_pass_find(StringView name) {
  for (int i = 0; i < REGISTRY_COUNT; i++) {
    if (sv_equal_cstring(name, registry[i]->name)) return registry[i];
  }
  return NULL;
}

int hlo_pass_count(void) {
  return REGISTRY_COUNT;
}

const HloPass *hlo_pass_at(int index) {
  XLAC_CHECK(index >= 0 && index < REGISTRY_COUNT);
  return registry[index];
}
