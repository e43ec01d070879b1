/* --memory-limit against what a module needs. */
#ifndef XLAC_PASSES_BUFFERS_MEMORY_LIMIT_H
#define XLAC_PASSES_BUFFERS_MEMORY_LIMIT_H

#include "hlo/analysis/buffer_assignment.h"
#include "passes/pipeline/memory_reduction.h"

/* Arguments, results (shared bytes once) and temporaries of |module| under |assignment| against |limit| bytes (0:
 * none). STATUS_EXHAUSTED with a diagnostic, code "memory-limit", that says what is proved and what was tried
 * (|reduction|, NULL: nothing); its notes name the largest buffers alive at the peak. */
MUST_USE Status memory_limit_check(const HloModule *module, const BufferAssignment *assignment, int64_t limit,
                                   const MemoryReduction *reduction, DiagSink *diag);

#endif
