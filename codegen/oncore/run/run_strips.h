/* RunStrips: Kernels that are cut so that a part of an array may stay in the Buffer, where all of it has no room: along
 * their outermost dimension, or along one that they fold over.  Where one of its indices is much (an image of a batch),
 * that is cut once more, along the next dimension (its rows).
 *
 * Of two Kernels that follow one another the first makes or reads the part last and the other reads it first.  One that
 * stands between two others turns around: it begins where the one before it has ended and ends with another part. */
#ifndef XLAC_CODEGEN_ONCORE_RUN_RUN_STRIPS_H
#define XLAC_CODEGEN_ONCORE_RUN_RUN_STRIPS_H

#include "codegen/kernel/kernel_strip.h"
#include "codegen/kernel/kernel_turns.h"
#include "codegen/oncore/run/run_touches.h"

/* Of one Kernel, as many as there are rounds (run_rounds.h).  By itself it has seven at most: of what it begins with,
 * of what it ends with and of what is between two, two and three. */
enum { RUN_MOST_STRIPS = 16 };

/* What is left of the Buffer for the tiles of a strip. */
typedef struct RunRoom {
  int64_t bytes;
  int64_t plan_bytes; /* those of its plan by itself about, with copies of the part; at least |bytes| */
  int32_t part;       /* the Kernel's buffer of which a part stays, -1: none */
} RunRoom;

/* By strip of a cut. */
typedef struct RunRooms {
  RunRoom strips[RUN_MOST_STRIPS];
} RunRooms;

/* A Kernel of a unit that may be whole instead: no other Kernel of the unit needs what it makes. */
typedef struct RunMember {
  int64_t row;  /* of the table */
  double bytes; /* of what it reads there without loading it: if it is whole, they are loaded, and stored where they are
                   made in the unit */
} RunMember;

/* Cuts that are made together or not at all, members excepted: all that are in a range of rows of the table, and nobody
 * else's. */
typedef struct RunUnit {
  int64_t first, last;
  int64_t member_count;
  const RunMember *members; /* in order of rows */
} RunUnit;

/* What is not cut, by row of the table: the Kernel of that row; the unit of which the first Kernel is there. */
typedef enum RunLeft { RUN_LEAVES_NOTHING, RUN_LEAVES_KERNEL, RUN_LEAVES_UNIT } RunLeft;

typedef struct RunCuts {
  int64_t count;
  const KernelCut *cuts;
  const RunRooms *rooms; /* of each */
  int64_t turns_count;
  const KernelTurns *turns; /* sequences that are run in another order */
  int64_t unit_count;
  const RunUnit *units; /* in order of rows, those that are left out as well */
  bool has_begun_anew;  /* some units are others than without that (run_rounds.h) */
} RunCuts;

/* How Kernels of |placed| are cut, in |arena|.  |leaves_out|: by row, units that are not cut, which have no members;
 * NULL: all are.  |cuts_sums|: Kernels that fold are cut there as well; where none of these is, there are no cuts at
 * all. */
RunCuts run_strips_find(Arena *arena, const PlacedModule *placed, const ResidencyModel *model,
                        const RunLeft *leaves_out, bool cuts_sums);

#endif
