/* The machine that --target and --mtriple name: the host, a processor of another kind, a preset or a description file,
 * with what other options change of it. */
#ifndef XLAC_COMPILER_OPTIONS_TARGET_H
#define XLAC_COMPILER_OPTIONS_TARGET_H

#include "compiler/options/option_table.h"
#include "hlo/machine/description/machine_description.h"

/* What can be said without reading a file: STATUS_INVALID (usage) for an unknown name, and for options of vector
 * processors where the target is none; for a triple that there is no code for. */
MUST_USE Status target_check(Arena *arena, const Options *options, DiagSink *diag);

/* Neither a vector processor nor a description of one is named.  After target_check. */
bool target_is_host(const Options *options);

/* STATUS_INVALID ("target-host") where target_is_host: a usage error of what is about plans. */
MUST_USE Status target_check_plans(const Options *options, DiagSink *diag);

/* The description file that --target names; NULL: none. */
const char *target_file(const Options *options);

/* --mtriple names another kind of processor than the host's, and --mcpu and --mattr are of that kind. */
bool target_has_own_processor(const Options *options);

/* NULL in |out_machine|: the host.  A processor of another kind is a machine without a Buffer.  After target_check.
 * STATUS_IO and what the description has wrong; STATUS_INVALID
 * ("machine-isa") where options say what the description says of the processor. */
MUST_USE Status target_load(Arena *arena, const Options *options, DiagSink *diag,
                            const MachineDescription **out_machine);

/* --print-targets: a line per machine; with --target, that machine's description.  After target_check. */
MUST_USE Status target_print(Arena *arena, const Options *options, DiagSink *diag, StringBuilder *out);

#endif
