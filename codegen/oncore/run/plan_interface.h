/* Interfaces that differ only in where things lie.  What a Kernel takes under an interface depends on which of its
 * arrays are there, and not on where: as long as its residents, and the bytes for its tiles, are apart from one
 * another. So a price is found once, for residents side by side, and asked for as often as they move. */
#ifndef XLAC_CODEGEN_ONCORE_RUN_PLAN_INTERFACE_H
#define XLAC_CODEGEN_ONCORE_RUN_PLAN_INTERFACE_H

#include "codegen/oncore/run/plan_keep.h"

/* |interface| of |kernel| with its residents from the Buffer's bottom up, by rising number of their buffers, and all
 * the rest of the Buffer for tiles; those that begin at one byte still do.  False: two of them meet, or one lies where
 * tiles may; or one reaches beyond the Buffer's end.  In |arena|. */
bool plan_interface_pack(Arena *arena, const Kernel *kernel, const MachineDescription *machine,
                         const PlanInterface *interface, PlanInterface *out_packed);

/* Bytes that |plan|, made under an interface, has for tiles; its residents aside. */
int64_t plan_own_tile_bytes(const Plan *plan);

/* Whether a plan with |bytes| of tiles finds room for them under |interface|. */
bool plan_interface_has_room(const PlanInterface *interface, const MachineDescription *machine, int64_t bytes);

#endif
