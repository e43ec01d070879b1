/* Plans → LLVM functions.
 *
 * For each Kernel there is a function that sets up a kernel of a vector processor and gives it to the caller's engine,
 * or, where there is none, runs it; and read-only data that describes it (XlacOncoreKernel in xlac/abi.h):
 *
 *   NAME         computes the plan's scalars, lays out objects, calls the engine or NAME.run
 *   NAME.run     all commands in program order; a single one's own function
 *   NAME.QUEUE   one queue's commands, each waiting for its edges and published when it is complete; queue.idle for all
 *                queues without any
 *   NAME.trace   tells of every command in program order
 *   NAME.LABEL   one instance of a command: picks the variant, finds the tiles, does it
 *   tile.N       what a command does, once for all that do the same
 *
 * Where code is for several processors, what computes nothing is there once: transfers, queues of them, traces.
 */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_ONCORE_EMITTER_H
#define XLAC_CODEGEN_ONCORE_EMIT_ONCORE_EMITTER_H

#include "codegen/emit/control_emitter.h"
#include "codegen/oncore/emit/tile_table.h"

typedef struct OncoreEmitter OncoreEmitter;

/* For one LLVM module, with |plans| and their |table|; lives in |arena|.  |has_no_tiles|: tiles have their functions in
 * other LLVM modules of the same object (kernel_declare), by tile_table_name. */
OncoreEmitter *oncore_emitter_create(Arena *arena, const ModulePlans *plans, const TileTable *table, bool has_no_tiles);

/* From here on code is for another processor, |target| of those that the plans' spaces were made for: functions are
 * made anew. */
void oncore_emitter_begin_variant(OncoreEmitter *emitter, int target);

/* What the control emitter asks: the code of each Kernel's plan.  Its function takes one pointer per buffer of the
 * Kernel, those of role SCRATCH excepted, a pointer to the space of the plan (64-byte aligned), and the run's options;
 * it returns i32, 0 when all went well.  STATUS_UNSUPPORTED for what has no code. */
KernelCoder oncore_emitter_coder(OncoreEmitter *emitter);

#endif
