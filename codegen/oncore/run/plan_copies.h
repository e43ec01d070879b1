/* What the transfers of a plan become where the arrays that they move are in the Buffer: those of tiles that are copies
 * go, as do the tiles; other tiles are brought from the array by operations. */
#ifndef XLAC_CODEGEN_ONCORE_RUN_PLAN_COPIES_H
#define XLAC_CODEGEN_ONCORE_RUN_PLAN_COPIES_H

#include "codegen/oncore/plan/plan.h"
#include "hlo/machine/description/machine_description.h"

/* --- arrays of a Kernel --- */

/* Whether the scalar unit may read |buffer| of the plan's Kernel in memory, for what it has to know at entry. */
bool plan_reads_at_entry(const Plan *plan, int32_t buffer);

/* Whether |buffer| of the plan's Kernel may be resident: an array that is read or written in boxes, each by tiles of
 * which one command fills each, or that a few loads bring in another way (padded, in steps): then operations do.  What
 * is scattered into may where one tile has all of it.  |sees|, here and below: products see it where it is if they can
 * (plan_may_see). */
bool plan_may_keep(const Plan *plan, int32_t buffer, bool sees);

/* Bytes of the tiles that are copies of |buffer|, which may be resident: they are gone where it is. */
int64_t plan_copied_bytes(const Plan *plan, int32_t buffer, bool sees);

/* Of these, those of tiles that are summed up in the place of |buffer|, a result (plan_sums_in_place): they stay where
 * an operand is in the same bytes, which sums would overwrite. */
int64_t plan_summed_bytes(const Plan *plan, int32_t buffer);

/* Cycles of those operations; |out_is_at_run_time|: run-time numbers say where some of them begin. */
double plan_brought_cycles(const Plan *plan, const MachineDescription *machine, int32_t buffer, bool sees,
                           bool *out_is_at_run_time);

/* Whether tiles load much of |buffer| more than once, more than halos; never where it is longer than the Buffer. */
bool plan_loads_again(const Plan *plan, int32_t buffer);

/* Whether a load of |buffer| by those is a stream: it comes so often that other operations go on beside it. */
bool plan_brings_stream(const Plan *plan, int32_t buffer, bool sees);

/* Whether products may see |buffer| where it is, of which they read tiles otherwise. */
bool plan_sees(const Plan *plan, int32_t buffer);

/* --- commands --- */

bool plan_loads_memory(const PlanCommand *command);

/* How many of |refs| are |tensor|. */
int32_t plan_count_refs(const PlanRef *refs, int32_t count, int32_t tensor);

/* The stage of the first store to |buffer|, a result. */
int32_t plan_storing_stage(const Kernel *kernel, int32_t buffer);

/* Whether store |command| stores what a fold has left in its tile, as it is: the stage that would store it has no
 * command then, and a resident gets it by one. */
bool plan_stores_fold(const Plan *plan, const PlanCommand *command);

/* Whether store |command| stores a tile that was summed up and then overwritten where it is: both are done in the
 * array's place where that is resident. */
bool plan_sums_in_place(const Plan *plan, const PlanCommand *command);

/* Whether transfer |number| goes when its array is resident: what its tile is a copy of is there. */
bool plan_is_copy(const Plan *plan, int32_t number);

/* Whether load |number| may be brought from its array in the Buffer, which has no box like its tile: as the Kernel's
 * load |*out_value| by the queue of computation |*out_reader|, at that one's points unless it says some. */
bool plan_may_bring(const Plan *plan, int32_t number, int32_t *out_value, int32_t *out_reader);

/* Whether load |number| goes when its array is in the Buffer, though that has no box like its tile: all commands that
 * use the tile see the array where it is (tile_seen.h). */
bool plan_may_see(const Plan *plan, int32_t number);

/* --- views --- */

/* A view of an array as a part of the array in the Buffer: a dense Tensor from element |base| on, of which the view is
 * the box that begins at |first|, and with run-time numbers as far after it as |term_axes| and |term_steps| say. */
typedef struct HeldView {
  int64_t base, extents[KERNEL_MAX_DIMS], first[KERNEL_MAX_DIMS];
  int32_t term_axes[KERNEL_MAX_DIMS];  /* by term of the view's offset: the axis that it moves the box along … */
  int64_t term_steps[KERNEL_MAX_DIMS]; /* … and by how many elements of it for each of its number */
} HeldView;

/* Whether |view| is such a box: axes step over whole inner ones. */
bool plan_held_view(const Plan *plan, const PlanMemory *view, HeldView *out_view);

#endif
