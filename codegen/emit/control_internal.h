/* The state of emitting one control function. */
#ifndef XLAC_CODEGEN_EMIT_CONTROL_INTERNAL_H
#define XLAC_CODEGEN_EMIT_CONTROL_INTERNAL_H

#include "base/array.h"
#include "base/hash_map.h"
#include "codegen/emit/control_emitter.h"
#include "codegen/emit/kernel_emitter.h"
#include "codegen/lower/emit_family.h"

typedef struct PoisonDeaths PoisonDeaths;

/* The elements of a rank-0 value or of a small array, in the order of memory. */
typedef struct ValueRegisters {
  PrimitiveType type;
  int64_t count;
  LLVMValueRef *elements;
} ValueRegisters;

typedef struct ControlEmitter {
  const VecBuilder *vec;
  const HloModule *module;
  const BufferAssignment *assignment;
  DiagSink *diag;
  Arena *arena;
  LLVMValueRef function;
  LLVMValueRef *arguments, *results; /* pointers by leaf, loaded at the entry; NULL: loaded where they are used */
  LLVMValueRef workspace;
  LLVMValueRef prepared;      /* the memory of what is computed before any run; NULL: nothing is */
  bool is_preparation;        /* this is the function that computes it: it has no results */
  LLVMValueRef *constants;    /* globals by allocation, or places in the file */
  ValueRegisters **registers; /* by HloValue id; NULL when it is only in memory */
  ARRAY(int32_t) known;       /* ids in |registers|, in order of their making */
  const KernelTable *kernels;
  const KernelStrategy *strategies; /* by identity of a Kernel; NULL: |coder| makes the code */
  const KernelCoder *coder;         /* NULL: the host */
  const ModuleCollectives *collectives;
  bool has_no_kernels; /* as in ControlOptions, like the next */
  ConstantPlace constant_place;
  const ConstantFile *constant_file;
  IntMap functions;     /* identity of a Kernel + 1 → KernelCode */
  bool computes;        /* the function does more than to call others, one after another */
  LLVMValueRef context; /* on the stack, of shared Kernels; NULL: none so far */
  unsigned context_slots;
  int64_t function_count, call_count, collective_count; /* of Kernels; of outside calls; of collectives' parts */
  int64_t block_instructions;                           /* in the block so far (limit_block) */
  LLVMValueRef random_state;                            /* on the stack; NULL: not needed so far */
  PoisonDeaths *poison;                                 /* NULL: no poisoning */
  LLVMValueRef profile;                                 /* NULL: no profile */
} ControlEmitter;

/* --- addresses and scalars (control_values.c) --- */

/* The address of a leaf; NULL when it has no bytes. */
LLVMValueRef control_address(ControlEmitter *control, const HloInstruction *instruction, int node);
/* The address of byte |offset| of an allocation. */
LLVMValueRef control_allocation_address(const ControlEmitter *control, const BufferAllocation *allocation,
                                        int64_t offset);
/* |bytes| after |address|. */
LLVMValueRef control_offset_address(const ControlEmitter *control, LLVMValueRef address, int64_t bytes);
/* The address of |count| constants of |type| in the order given, each by its storage bits. */
LLVMValueRef control_parameters(const ControlEmitter *control, PrimitiveType type, const uint64_t *bits, int64_t count);
/* A rank-0 value in its register form. */
LLVMValueRef control_scalar(ControlEmitter *control, const HloInstruction *instruction, int node);
/* Says that the rank-0 value at a position is |value|, and stores it to its place. */
void control_set_scalar(ControlEmitter *control, const HloInstruction *instruction, int node, LLVMValueRef value);
/* All elements at a position, by their order in memory: NULL when they are only there. */
LLVMValueRef *control_known_elements(ControlEmitter *control, const HloInstruction *instruction, int node);
/* The same, loaded when they were not known; the array must have an address then. */
LLVMValueRef *control_elements(ControlEmitter *control, const HloInstruction *instruction, int node);
/* Says what they are, without storing: the bytes are there already, or are never read. */
void control_know_elements(ControlEmitter *control, const HloInstruction *instruction, int node,
                           LLVMValueRef *elements);
/* Forgets registers made since |height|: they may not have been computed on every path to here. */
void control_forget(ControlEmitter *control, int64_t height);
bool control_is_scalar(const Shape *shape);
/* Loads argument and result pointers, makes the constants' globals, finds the file of the large ones, copies arguments
 * that the caller did not donate. */
void control_enter(ControlEmitter *control);

/* --- poison (control_poison.c) --- */

/* Fills everything that holds no argument and nothing prepared; to be called once, after control_enter. */
void control_poison_begin(ControlEmitter *control);
/* Fills what is dead after |instruction|.  Nothing without control_poison_begin, like the next. */
void control_poison_after(ControlEmitter *control, const HloInstruction *instruction);
/* Fills a Kernel's scratch. */
void control_poison_scratch(ControlEmitter *control, LLVMValueRef scratch, int64_t bytes);

/* --- profile (control_profile.c) --- */

/* Makes, or finds, the global |name| of codegen_jit_profile, and begins to count; to be called once, after
 * control_enter. */
void control_profile_begin(ControlEmitter *control, const char *name);
/* Counts what |instruction| took.  Nothing without control_profile_begin. */
void control_profile_after(ControlEmitter *control, const HloInstruction *instruction);

/* --- threads (control_parallel.c) --- */

/* Calls a Kernel that is shared out (its chunk_limit is above 1) for all of its chunks.  |arguments|: the |count|
 * pointers of the Kernel, and room for KERNEL_MOST_PARAMETERS more. */
void control_call_shared(ControlEmitter *control, const KernelCode *code, LLVMValueRef *arguments, unsigned count);

/* --- instructions --- */

/* Where the |bytes| of scratch that |instruction| needs are; undefined for none. */
LLVMValueRef control_scratch(const ControlEmitter *control, const HloInstruction *instruction, int64_t bytes);
/* Where the scratch of further threads begins: after the workspace. */
LLVMValueRef control_further_scratch(const ControlEmitter *control);
void control_random_state(ControlEmitter *control, const HloInstruction *instruction);
/* A call out of the module. */
MUST_USE Status control_call(ControlEmitter *control, const HloInstruction *call);
/* A collective, or its start or its end (control_collective.c). */
MUST_USE Status control_collective(ControlEmitter *control, const HloInstruction *instruction);
/* At the end of a run that ends in |root|: where devices may have gone different ways, the engine is told. */
void control_finish_collectives(ControlEmitter *control, const HloInstruction *root);
/* partition-id and replica-id. */
void control_device_id(ControlEmitter *control, const HloInstruction *instruction);
/* Calls |function| with the run's options after |count| arguments, for which there is room; the module's function
 * returns what it returns unless that is 0. */
void control_call_checked(ControlEmitter *control, LLVMValueRef function, LLVMValueRef *arguments, unsigned count);

#endif
