/* Names for the leaves of a module's parameters, as people and C programs know them. */
#ifndef XLAC_HLO_IR_LEAF_NAMES_H
#define XLAC_HLO_IR_LEAF_NAMES_H

#include "hlo/ir/hlo_module.h"

/* |text| as a C identifier, in |arena|: its stretches of letters and digits, joined by '_'; after 'p' where it would
 * begin with a digit; "p" where there are none.  "params['w'][0]" and "params.w.0" are both "params_w_0". */
StringView identifier_of_text(Arena *arena, StringView text);

/* One C identifier for each leaf of the entry's parameters (tuples flattened depth first), all different, in |arena|:
 *   - what the front end calls the parameter in its metadata, which for JAX is the argument's path in its pytree, where
 *     no other parameter is called the same;
 *   - else its HLO name without the number that XLA adds to it, or with it where that leaves two of one name;
 *   - then the path in the tuple, numbers joined by '_'.
 * The leaf that is the size of another one (module->parameter_sizes) is called after that: hlo_size_leaf_name. */
StringView *hlo_parameter_leaf_names(const HloModule *module, Arena *arena, int64_t *out_count);

/* Of the leaf with the size of dimension |dimension| of a leaf called |name|: "x_size_0". */
StringView hlo_size_leaf_name(Arena *arena, StringView name, int64_t dimension);

#endif
