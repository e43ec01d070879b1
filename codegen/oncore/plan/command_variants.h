/* The sizes in which a command of a plan comes, what each does, touches and costs: all that code generation, executors
 * and checkers want to know about it.
 *
 * The arrays in memory that a plan works on are its objects: first the buffers of its Kernel by number, then its
 * temporaries. */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_COMMAND_VARIANTS_H
#define XLAC_CODEGEN_ONCORE_PLAN_COMMAND_VARIANTS_H

#include "codegen/oncore/plan/tile_kernel.h"
#include "hlo/machine/description/machine_description.h"

enum { COMMAND_BUFFER = -1, COMMAND_PARAMETERS = -2 }; /* instead of an object */

typedef struct CommandLevel {
  int64_t count, stride; /* bytes; strides positive and descending */
} CommandLevel;

/* Bytes [offset + Σ i_k * stride_k, + bytes) after pointer |pointer| of the tile Kernel, for 0 <= i_k < count_k. */
typedef struct CommandAccess {
  int32_t pointer;
  bool is_write;
  bool is_anywhere; /* memory only: addresses depend on values, guards or divisions; any bytes of the object */
  int64_t offset, bytes;
  int32_t level_count;
  CommandLevel levels[KERNEL_MAX_DIMS];
} CommandAccess;

typedef struct CommandVariant {
  TileKernel tile;
  double cycles;                    /* of an operation, without the queue's setup */
  int64_t bytes, rows, descriptors; /* of a transfer */
  int32_t access_count;
  const CommandAccess *accesses;
} CommandVariant;

/* Variant v: bit r says that ragged range r has its last size, bit |ragged_count| (if |has_init_bit|) that accumulators
 * begin. */
typedef struct CommandVariants {
  PlanRange ragged[TILE_MAX_RAGGED];
  int32_t ragged_count;
  bool has_init_bit;
  int32_t count;
  const CommandVariant *variants;
} CommandVariants;

bool command_is_transfer(const PlanCommand *command);

/* The variants of |command|, in |arena|.  Fails as tile_kernel_build and tile_work_find do. */
MUST_USE Status command_variants_build(Arena *arena, const Plan *plan, const PlanCommand *command,
                                       const MachineDescription *machine, DiagSink *diag,
                                       CommandVariants *out_variants);

/* The object of a view, and what |pointer| points into: an object or one of the above. */
int32_t plan_memory_object(const Plan *plan, int32_t memory);
int32_t command_pointer_object(const Plan *plan, const TileKernel *tile, int32_t pointer);
int32_t plan_object_count(const Plan *plan);
int64_t plan_object_bytes(const Plan *plan, int32_t object);

#endif
