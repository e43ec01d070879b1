/* What tiles cost on a machine: the planner's arithmetic (the formulas are those of hlo/machine). */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_TILE_COST_H
#define XLAC_CODEGEN_ONCORE_PLAN_TILE_COST_H

#include "codegen/oncore/plan/tile_access.h"
#include "hlo/machine/description/machine_description.h"

/* What a computation does: consecutive stages of a Kernel. */
typedef struct TileStages {
  const Kernel *kernel;
  int32_t first, last;
} TileStages;

/* What |stages| cost on |machine|, whatever the extents; in |arena|.  STATUS_UNSUPPORTED, located, for a type that the
 * machine does not compute with. */
typedef struct TileWork TileWork;
MUST_USE Status tile_work_find(Arena *arena, TileStages stages, const MachineDescription *machine, DiagSink *diag,
                               const TileWork **out_work);

/* Cycles of |work| with |extents| points along each dim of the Kernel, without the queue's setup: Σ over lane-wise
 * values of cost × vectors, each value once for all points that share it; a sum of products of matrices is a dot and
 * costs its multiply-adds, those of the factors' type before they are widened, besides what computes factors that are
 * not as they were loaded; what pads a load costs nothing, nor does storing what a lane-wise fold came to; one that
 * moves elements only costs a move, or a permute when loads and stores walk their innermost axes along different dims.
 * |begins|: folds start, those from their operation's identity with their first element, which costs nothing; else they
 * go on from what is in their Tensors. */
double tile_work_cycles(const TileWork *work, const int64_t *extents, bool begins);

/* Of all of an operation. */
MUST_USE Status tile_operation_cycles(const PlanOperation *operation, const MachineDescription *machine, DiagSink *diag,
                                      double *out_cycles);

/* Whether fold |fold| adds products of two loads (converted or not), or of what is loaded or computed where at least
 * one of the two is a factor of several products; or a part of such products of complex numbers, of which the fold
 * before or after it adds the other part. */
bool tile_fold_is_dot(const Kernel *kernel, int32_t fold);

/* Whether nothing but such products reads |value|, as it is or converted. */
bool tile_value_is_factor(const Kernel *kernel, int32_t value);

/* Rows of a strided transfer: contiguous runs of elements, the innermost axis last. */
int64_t tile_transfer_rows(const int64_t *extents, const int64_t *strides, int32_t count);

/* Descriptors that the same transfer takes when each walks up to |dims| levels, dense or not: axes that continue one
 * another are one level, and those further out are walked by issuing one after the other. */
int64_t tile_transfer_descriptors(const int64_t *extents, const int64_t *strides, int32_t count, int64_t dims);

/* Cycles of bringing load |value| of |kernel| from an array in the Buffer to a tile with |extents|, one for each of
 * its axes: rows by whole vectors, what does not lie in rows as a gather.  Status as that of machine_cost_cycles. */
MUST_USE Status tile_bring_cycles(const Kernel *kernel, const MachineDescription *machine, int32_t value,
                                  const int64_t *extents, DiagSink *diag, double *out_cycles);

#endif
