/* Parameters that stay the same from run to run, as a caller names them.
 *
 * A word is the number of a leaf (tuples flattened depth first), two numbers "A-B" for all from A to B, a name as in a
 * module's header (hlo_parameter_leaf_names), or "weights": the leaves whose every use is that of a right factor of
 * a product or convolution, as they are or moved, cut or converted. */
#ifndef XLAC_PASSES_CONTROL_FIXED_PARAMETERS_H
#define XLAC_PASSES_CONTROL_FIXED_PARAMETERS_H

#include "passes/pipeline/hlo_pass.h"

/* By id: the instructions of the entry that show a leaf of its parameters which the |count| words name, an array; in
 * |arena|.  STATUS_INVALID ("prepare") for a word that names none, and for a leaf that is donated to a result: it does
 * not stay the same. */
MUST_USE Status fixed_parameters(Arena *arena, const HloModule *module, const StringView *words, int count,
                                 DiagSink *diag, const bool **out_is_fixed);

#endif
