/* What the compiler can make of a module for a machine: asked by passes and code generation, answered here alone.
 *
 * A machine is the target of a whole compilation as one value; NULL: the host, which has no description. */
#ifndef XLAC_HLO_MACHINE_DESCRIPTION_MACHINE_ABILITIES_H
#define XLAC_HLO_MACHINE_DESCRIPTION_MACHINE_ABILITIES_H

#include "hlo/ir/hlo_opcode.h"
#include "hlo/machine/description/machine_description.h"

/* Arrays pass through an on-core Buffer, by plans; else code reads and writes memory itself. */
bool machine_has_buffer(const MachineDescription *machine);
/* Bytes that a line of an array and what is made of it may take together, where the line is needed whole (a sort):
 * what plans may use of the Buffer; INT64_MAX without one. */
int64_t machine_line_bytes(const MachineDescription *machine);
/* Bytes up to which a row is kept whole between stages that need it, whatever its elements cost to compute: a sixteenth
 * of the Buffer, where a row is one of several and has the operations read it at no cost; 0 without one. */
int64_t machine_row_bytes(const MachineDescription *machine);
/* There is code for Kernels of tiles: fusions of fusions, as tile-fusion makes them.  Plans have no rule for them. */
bool machine_takes_tiles(const MachineDescription *machine);
/* There is code for Kernels of whole lines with what they read and what is made of them, as line-fusion makes them, and
 * for Fourier transforms in one piece.  Plans have no rule for them. */
bool machine_takes_lines(const MachineDescription *machine);
/* There is code for Kernels that scatter what they compute, to places that they compute.  Plans have a rule for what is
 * read as it is, if only once for several places. */
bool machine_takes_scatters(const MachineDescription *machine);
/* What is padded or joined may be computed where it is looked up at places that are known only at run time: a guard
 * then depends on memory.  Plans have no rule for that. */
bool machine_guards_looked_up(const MachineDescription *machine);
/* Scalar floats are computed between Kernels, in the control function: a vector processor's scalar unit has none. */
bool machine_has_scalar_floats(const MachineDescription *machine);
/* A vector of f64, which has half as many elements, costs more than one of f32, or there is none. */
bool machine_has_slow_doubles(const MachineDescription *machine);
/* Least cycles of |points| of lane-wise |opcode| of |type|, which has a cost; 0 without operations on the type, and for
 * the host. */
double machine_least_lane_cycles(const MachineDescription *machine, HloOpcode opcode, PrimitiveType type,
                                 double points);
/* Least cycles in which a machine with a Buffer brings |read| bytes there and stores |made| of them, at the same time.
 */
double machine_least_move_cycles(const MachineDescription *machine, double read, double made);

#endif
