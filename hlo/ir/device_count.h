/* How many devices a module is made for.  The header often does not say (JAX prints no num_partitions), so it is read
 * off what the instructions name. */
#ifndef XLAC_HLO_IR_DEVICE_COUNT_H
#define XLAC_HLO_IR_DEVICE_COUNT_H

#include "hlo/ir/hlo_module.h"

/* How many devices have to run |instruction| together, as far as it says itself: one more than the largest number in
 * its groups or pairs, the devices of their mesh, or what the shapes differ by in a gather, a scatter and at the border
 * of a manual region (at least 2 where they differ).  1 where it names no other device. */
int64_t hlo_instruction_device_count(const HloInstruction *instruction);

/* The largest number that the header, an instruction, a sharding or a mesh of the module stands for; linear time. */
int64_t hlo_module_device_count(const HloModule *module);

#endif
