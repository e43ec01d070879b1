/* Inputs of `xlac run`: from --arg, --inputs, or generated. */
#ifndef XLAC_CLI_RUN_INPUTS_H
#define XLAC_CLI_RUN_INPUTS_H

#include "cli/run_devices.h"
#include "runtime/engines/runner.h"

/* --arg=K=FILE, split: |name| is a number or one of the descriptor's parameter_names. */
typedef struct NamedFile {
  StringView name;
  const char *path;
} NamedFile;

/* "NAME=FILE"; false where one of the two is not there. */
bool named_file_parse(const char *text, NamedFile *out);

/* Fills the arguments of |runs|, one for each device that this process runs: from --arg, then from the files of
 * --inputs, the last first: the leaf K from the array "pK", or else from one whose name is its name in the program
 * (hlo/ir/leaf_names.h) or its HLO name.  What is left is generated, and a note says so unless only --seed was given.
 * A leaf that is neither given nor may be generated (no --seed, no --meta) is an error, as are files' arrays for leaves
 * the module does not have.
 *
 * On several devices arrays are the devices' together: each gets its tile (run_devices.h), or all of what is not split.
 * The array "dD_pK" is that of device D alone, and comes first; where meta.json says so, each device generates its own
 * arrays, from the seed times 1000 plus its number. */
MUST_USE Status run_inputs_fill(Session *session, const RunDevices *devices, ModuleRun *const *runs);

#endif
