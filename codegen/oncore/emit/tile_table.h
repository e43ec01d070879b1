/* The tile Kernels of a module's plans, those that do the same once: what there is code of, whichever of an object's
 * parts has it.  No LLVM. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_TILE_TABLE_H
#define XLAC_CODEGEN_ONCORE_EMIT_TILE_TABLE_H

#include "codegen/oncore/emit/module_plans.h"

typedef struct PlanTile {
  const Kernel *kernel;
  const KernelStrategy *strategies; /* how it is made, by processor */
  bool is_transfer; /* loads and stores only move elements: made once for all processors.  With the oldest one's
                       registers they are a little slower, and it is a machine's queues that the host stands for. */
} PlanTile;

typedef struct TileTable {
  int32_t count;
  const PlanTile *tiles;                /* in order of their first use */
  const int32_t *const *const *numbers; /* of tiles, by number of a plan (NULL: no code is asked for), command and
                                           variant */
} TileTable;

/* Of |plans|, laid out, for |kernels|; in |arena|. */
TileTable tile_table_make(Arena *arena, const ModulePlans *plans, const KernelTable *kernels);

/* What the function of tile |number| is called. */
const char *tile_table_name(Arena *arena, int32_t number);

#endif
