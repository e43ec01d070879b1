/* Kernels that differ in nothing but numbers share one function: layers of one network that scale by constants of their
 * own, or read their weights from one array of all, are compiled once. */
#ifndef XLAC_CODEGEN_KERNEL_KERNEL_SHARING_H
#define XLAC_CODEGEN_KERNEL_KERNEL_SHARING_H

#include "codegen/kernel/kernel_table.h"

/* So many Kernels at least that differ in constants become one; fewer keep them as part of their code. */
#define KERNEL_SHARING_LEAST 4

/* Changes uses in |table|; Kernels for which |has_function| is false, as they are written where they are used, stay as
 * they are, like sorts and Kernels of tiles.  Nothing is added to |table| afterwards.
 *
 * First, Kernels that would be equal if their buffers began with the first element that they access become one, whose
 * uses say where that is: it costs nothing when they run.  Buffers that are read where other values say, or under a
 * predicate, are not moved.
 *
 * Then, of Kernels that would be equal but for constants, each group of KERNEL_SHARING_LEAST or more becomes one
 * Kernel: the constants in which they differ are loads from further buffers of role KERNEL_PARAMETERS, and what those
 * hold is said by each use.  Constants stay what they are where code depends on them: seeds of folds, addresses,
 * predicates, integers that are multiplied, divided or shifted by.
 *
 * New Kernels are verified (kernel_verify, whose errors it returns). */
MUST_USE Status kernel_table_share(KernelTable *table, bool (*has_function)(const Kernel *kernel), DiagSink *diag);

#endif
