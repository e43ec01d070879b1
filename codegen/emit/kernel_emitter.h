/* Kernel → an LLVM function. */
#ifndef XLAC_CODEGEN_EMIT_KERNEL_EMITTER_H
#define XLAC_CODEGEN_EMIT_KERNEL_EMITTER_H

#include "codegen/emit/kernel_strategy.h"
#include "codegen/vec/vec.h"

/* The code of a Kernel. */
typedef struct KernelCode {
  LLVMValueRef function; /* internal, void: one pointer per buffer in order, those of role SCRATCH excepted; a pointer
                            to scratch (64-byte aligned); its KernelParameters */
  int64_t scratch_bytes; /* contents irrelevant; each thread's begins at a multiple of 64 */
  int64_t piece_count;   /* the function does pieces [begin, end) of so many; different ones may run at the same time,
                            each run with scratch of its own, and leave the same bits however they are cut into runs */
  int64_t chunk_limit;   /* so many runs are worthwhile; 1: the function does everything in one call */
  int64_t chunks_per_worker; /* enough for threads that are not equally fast */
  int64_t phase_count;       /* above 0: instead of pieces the function does a chunk of a phase, with the
                                one scratch for all, and scratch of its own for each chunk after the first */
  bool has_place; /* its scratch is at byte |place| of the workspace, which others share and find as it is left */
  int64_t place;
} KernelCode;

/* Parameters after the scratch, and what is handed over for them where one call is to do everything. */
typedef enum KernelParameters {
  KERNEL_PARAMETERS_NONE,
  KERNEL_PARAMETERS_PIECES, /* i64 begin and end */
  KERNEL_PARAMETERS_PHASE   /* pointer to the further chunks' scratch; i64 phase, chunk and chunks */
} KernelParameters;
enum { KERNEL_MOST_PARAMETERS = 4 };
/* Appends them to |arguments|, of which there are |*count|. */
void kernel_code_append_all(const VecBuilder *vec, const KernelCode *code, LLVMValueRef *arguments, unsigned *count);

/* By |strategy|, chosen for |vec->target|.  |vec->builder| is left without a position. */
MUST_USE Status kernel_emit(const VecBuilder *vec, const Kernel *kernel, const KernelStrategy *strategy,
                            const char *name, DiagSink *diag, KernelCode *out_code);

/* The function |name| that kernel_emit makes in another LLVM module of the same object. */
void kernel_declare(const VecBuilder *vec, const Kernel *kernel, const KernelStrategy *strategy, const char *name,
                    KernelCode *out_code);

/* The code of a tiny Kernel at the builder's position in |function|; |buffers| in the Kernel's order.  For an unrolled
 * one |registers|[b] are the elements of buffer b in registers, NULL where one is only in memory (or for the whole
 * buffer): those of operands are read instead of memory, those of results are filled in, besides being stored. */
MUST_USE Status kernel_emit_inline(const VecBuilder *vec, const Kernel *kernel, const KernelStrategy *strategy,
                                   LLVMValueRef function, LLVMValueRef *buffers, LLVMValueRef **registers,
                                   DiagSink *diag);

#endif
