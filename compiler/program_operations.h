/* What commands of a program of its own compute: HLO's operations and computations as Kernels. */
#ifndef XLAC_COMPILER_PROGRAM_OPERATIONS_H
#define XLAC_COMPILER_PROGRAM_OPERATIONS_H

#include "codegen/oncore/language/plan_parser.h"
#include "compiler/compilation.h"

typedef struct ProgramOperations {
  const Compilation *compilation; /* of the program: target, numbers, where things live */
  HloModule *computations;        /* of its section; NULL: none */
} ProgramOperations;

/* Finds an operation by name: a computation of the section, else an opcode that works element by element and has no
 * attributes.  It goes through the standard passes and has to become one Kernel that reads its parameters and writes
 * its results.  What it keeps in between are further targets of the command, in order.  STATUS_INVALID:
 * "plan-operation" for what is none, "plan-operands" for operands of other types or shapes, and what the verifier says;
 * STATUS_UNSUPPORTED where it becomes no such Kernel
 * ("unsupported-operation"). */
PlanOperations program_operations(ProgramOperations *operations);

#endif
