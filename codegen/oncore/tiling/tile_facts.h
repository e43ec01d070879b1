/* What is so of many tilings of one Kernel alike: which tiles its commands have, along which windows and strides, what
 * they compute.  A search looks at thousands of outlines, and finds it once for those that agree on which dims have
 * equal ranges. */
#ifndef XLAC_CODEGEN_ONCORE_TILING_TILE_FACTS_H
#define XLAC_CODEGEN_ONCORE_TILING_TILE_FACTS_H

#include "codegen/oncore/plan/tile_access.h"
#include "codegen/oncore/plan/tile_cost.h"
#include "hlo/machine/description/machine_description.h"

typedef struct TileFacts TileFacts;

/* Of a cover; by access where nothing else is said. */
typedef struct CoverFacts {
  TileAccesses accesses;
  const TileWindows **windows;               /* those of loads that have any, NULL: none */
  const TileWindows **none;                  /* NULL, for tilings that do not hold windows */
  const int64_t (*strides)[KERNEL_MAX_DIMS]; /* tile_access_strides */
  const bool *is_gather;                     /* loads that are */
  int32_t stored_fold;                       /* tile_stored_fold of its first stage */
  int8_t *goes_with_store;                   /* by source, then target: 0: not asked for yet, 1: yes, -1: no */
  const TileWork *work;                      /* of its stages; NULL: not asked for yet, or of indices */
} CoverFacts;

/* Of |kernel| on |machine|, in |arena|, where both outlive it.  Not for several threads at once. */
TileFacts *tile_facts_create(Arena *arena, const Kernel *kernel, const MachineDescription *machine);
const Kernel *tile_facts_kernel(const TileFacts *facts);
const MachineDescription *tile_facts_machine(const TileFacts *facts);

/* |held|: by buffer of the Kernel, those that the Buffer has before, or keeps, as they lie in memory: tiles that would
 * be copies of them take no room and no time.  NULL, as at first: none.  It outlives |facts|. */
void tile_facts_hold(TileFacts *facts, const bool *held);
bool tile_facts_are_held(const TileFacts *facts, int32_t buffer);

/* Dims that step along one another in tiles that hold windows. */
uint64_t tile_facts_window_dims(const TileFacts *facts);

/* Facts of |cover|; they live as long as |facts|. */
CoverFacts *tile_facts_of_cover(TileFacts *facts, const TileCover *cover);

/* Whether access |target| of |cover|, of which |of| are the facts, may take the tile of |source|
 * (tile_stores_in_place).
 */
bool tile_facts_in_place(const TileFacts *facts, CoverFacts *of, const TileCover *cover, int32_t source,
                         int32_t target);

/* What the stages of |cover|, of which |of| are the facts, compute.  Status as that of tile_work_find. */
MUST_USE Status tile_facts_work(TileFacts *facts, CoverFacts *of, const TileCover *cover, DiagSink *diag,
                                const TileWork **out_work);

/* Strides in memory, in elements, along the axes of |access|, its parts included, as its tile has them; 0 where the
 * address is not linear in the dim. */
void tile_access_strides(const Kernel *kernel, const TileAccess *access, int64_t *out_strides);

#endif
