/* What work costs on a machine: the one place of the formulas that planner, simulator and report share. */
#ifndef XLAC_HLO_MACHINE_DESCRIPTION_MACHINE_COST_H
#define XLAC_HLO_MACHINE_DESCRIPTION_MACHINE_COST_H

#include "hlo/ir/hlo_opcode.h"
#include "hlo/machine/description/machine_description.h"

/* The cost that a lane-wise opcode has; COST_NONE for all others. */
MachineCost machine_cost_of_opcode(HloOpcode opcode);

/* Cycles for one vector of lane-wise |opcode| on |type|: the operands' type for compare, is-finite, real and imag,
 * otherwise the result's.  STATUS_UNSUPPORTED ("unsupported-type", at |loc|) when the machine has no operations on
 * |type|; an opcode without a cost is a bug. */
MUST_USE Status machine_op_cycles(const MachineDescription *machine, HloOpcode opcode, PrimitiveType type,
                                  SourceLoc loc, DiagSink *diag, double *out_cycles);
/* The same for a cost asked for by name. */
MUST_USE Status machine_cost_cycles(const MachineDescription *machine, MachineCost cost, PrimitiveType type,
                                    SourceLoc loc, DiagSink *diag, double *out_cycles);

/* Vectors that |elements| of |type| fill, in their storage form. */
int64_t machine_vector_count(const MachineDescription *machine, int64_t elements, PrimitiveType type);

/* One transfer of |bytes| in |rows| rows (1: dense), which goes out as |descriptors| (1: it walks no more levels than
 * the queue's 'dims'): setup * descriptors + bytes / bytes_per_cycle + row * (rows - descriptors). */
double machine_transfer_cycles(const MachineQueue *queue, int64_t bytes, int64_t rows, int64_t descriptors);

#endif
