/* RISC-V with 64 bits: processors, extensions, calling conventions, and what emitted code makes of the V extension.
 *
 * Vectors have a fixed number of lanes, so that a result has the same bits whatever length the processor's registers
 * have: code is right for every length from the one promised on (V itself promises 128 bits, zvl256b twice that).
 * Values are groups of registers where the promise is short. */
#ifndef XLAC_CODEGEN_TARGET_RISCV_H
#define XLAC_CODEGEN_TARGET_RISCV_H

#include "codegen/target/vec_target.h"
#include "hlo/machine/description/machine_description.h"

/* Of RISC-V with 64 bits: "riscv64-…". */
bool riscv_is_triple(StringView triple);

/* The processor that a command line names with |cpu| and |features|, either of which may be empty: without both, what
 * Linux needs (rv64gc).  The ABI passes numbers in the widest registers that there are.  In |arena|; not checked. */
MachineIsa riscv_isa(StringView triple, StringView cpu, StringView features, Arena *arena);

/* Processor, features and ABI are LLVM's and fit each other; else STATUS_INVALID at |isa|, "machine-isa". */
MUST_USE Status riscv_check(const MachineIsa *isa, DiagSink *diag);

/* After riscv_check: the processor as LLVM calls it, "generic-rv64" if none is named, and all features, its own and
 * |isa|'s, zero-terminated in |arena|. */
const char *riscv_cpu(const MachineIsa *isa, Arena *arena);
const char *riscv_features(const MachineIsa *isa, Arena *arena);

/* What code may rely on with |features|, a list of riscv_features. */
VecTarget riscv_vec_target(const char *features);

#endif
