/* What would help: the estimate for a Kernel with a larger or smaller Buffer and with more or fewer slots. */
#ifndef XLAC_CODEGEN_ONCORE_TILING_PLAN_ALTERNATIVES_H
#define XLAC_CODEGEN_ONCORE_TILING_PLAN_ALTERNATIVES_H

#include "base/json_writer.h"
#include "codegen/oncore/tiling/tiler.h"

enum { PLAN_ALTERNATIVE_COUNT = 4 };

typedef struct PlanAlternative {
  int64_t buffer_bytes; /* the machine's Buffer */
  int32_t depth;        /* slots of rings; 0: chosen */
  double cycles;        /* estimate; infinity: nothing fits */
} PlanAlternative;

typedef struct PlanAlternatives {
  bool known; /* false: it was not looked for */
  PlanAlternative of[PLAN_ALTERNATIVE_COUNT];
} PlanAlternatives;

/* The most of a Buffer that they ask for. */
int64_t plan_alternatives_bytes(const MachineDescription *machine);
/* Twice and half the Buffer, rings of one slot less and one more than in |plan|, which was made for |machine|.  Of a
 * plan written by hand nothing is known.  |memo|: of its Kernel, for plan_alternatives_bytes. */
PlanAlternatives plan_alternatives_find(TilingMemo *memo, const Plan *plan, const MachineDescription *machine,
                                        const TilerOptions *options);

/* A line of the Buffer map, and a member of its JSON; nothing where nothing is known. */
void plan_alternatives_text(StringBuilder *out, const Plan *plan, const PlanAlternatives *alternatives);
void plan_alternatives_json(JsonWriter *json, const PlanAlternatives *alternatives);

#endif
