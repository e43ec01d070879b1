/* What an object would say of a module's leaves, for engines that have no object in memory. */
#ifndef XLAC_CLI_MODULE_DESCRIPTOR_H
#define XLAC_CLI_MODULE_DESCRIPTOR_H

#include "hlo/ir/hlo_module.h"
#include "xlac/abi.h"

/* No workspace, no aliases.  In |arena|. */
const XlacDescriptor *module_descriptor(Arena *arena, const HloModule *module);

#endif
