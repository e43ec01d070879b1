/* Plan → CommandStream: every instance of every command in program order, with the bytes it touches, what it waits for
 * and what it costs; for proofs (hlo/machine/stream/hazards.h) and cycles (hlo/machine/stream/queue_simulation.h). */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_PLAN_STREAM_H
#define XLAC_CODEGEN_ONCORE_PLAN_PLAN_STREAM_H

#include "codegen/oncore/plan/plan.h"
#include "hlo/machine/description/machine_description.h"
#include "hlo/machine/stream/command_stream.h"

/* Instances of all commands. */
int64_t plan_instance_count(const Plan *plan);

/* The stream of |plan| in |arena|; labels are the plan's command numbers, objects its Buffer, then the Kernel's buffers
 * that it names, then its temporaries.  An edge to an instance before the first is none; one from an in-order
 * queue of which the consumer's in-order queue has waited for that instance or a later one is left out.  Run-time
 * starts are taken as their lower bounds, which shows what is the same for all values: places that move together
 * (run_time_views.h); the others count as their whole array, and so do loads whose elements only the Kernel's address
 * describes.  STATUS_UNSUPPORTED for types the machine does not compute with; STATUS_EXHAUSTED beyond 2^26 instances.
 */
MUST_USE Status plan_stream_make(Arena *arena, const Plan *plan, const MachineDescription *machine, DiagSink *diag,
                                 CommandStream *out_stream);
/* The same without the bytes that commands touch: for cycles alone. */
MUST_USE Status plan_stream_make_timed(Arena *arena, const Plan *plan, const MachineDescription *machine,
                                       DiagSink *diag, CommandStream *out_stream);
/* That of plan_stream_make for one execution: run-time starts have the values |scalars|, in the plan's order, and only
 * places that the Kernel's address describes count as their whole array. */
MUST_USE Status plan_stream_make_at(Arena *arena, const Plan *plan, const MachineDescription *machine,
                                    const int64_t *scalars, DiagSink *diag, CommandStream *out_stream);

#endif
