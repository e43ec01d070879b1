/* BufferAssigner: from sets of values that must share memory to a BufferAssignment.  What its units share. */
#ifndef XLAC_PASSES_BUFFERS_ASSIGNER_INTERNAL_H
#define XLAC_PASSES_BUFFERS_ASSIGNER_INTERNAL_H

#include "hlo/analysis/buffer_analysis.h"
#include "passes/pipeline/hlo_pass.h"

/* Of temporaries; XLA's for CPUs. */
enum { TEMP_ALIGNMENT = 64 };

typedef struct Assigner {
  HloModule *module;
  Arena *arena;   /* the module's: what stays */
  Arena *scratch; /* what goes */
  DiagSink *diag;
  int effort;            /* HloPassOptions.effort */
  bool keeps_rows_apart; /* no result overwrites an operand row by row (hlo_shared_row_bytes) */
  bool has_shared_rows;  /* one does */
  bool keeps_sums_apart; /* no result overwrites an operand of a fusion that makes it of much more */
  bool has_shared_sums;  /* one does */
  BufferAnalysis analysis;
  BufferAssignment *assignment;
  int32_t *overwrites; /* by value of the analysis: the operand value whose bytes it took over by choice, -1 for none */
  AliasRefusal *refusals; /* by value: why the best candidate could not be taken over; ALIAS_GRANTED: there was none */
  const int32_t *order;   /* values of the analysis in order of time: order[i] is value i of the assignment */
  const int32_t *numbers; /* the inverse */
  int32_t *set_of_buffer; /* the alias set each buffer was made from */
  int64_t *element_alignments; /* by buffer: what its elements need at least */
  bool *is_hosted;             /* by buffer: a temporary in the caller's memory */
} Assigner;

/* Results take over the bytes of operands that die with them, where that is allowed: of the first that does. */
void assigner_share_operands(Assigner *assigner);

/* Values, buffers, allocations and their sizes; temporaries without offsets yet. */
MUST_USE Status assigner_make_buffers(Assigner *assigner);

/* What code needs beside the values (NULL: nothing is known of it), without offsets yet. */
MUST_USE Status assigner_measure_scratch(Assigner *assigner, const HloScratchModel *model,
                                         const HloMemoryTuning *tuning);

/* Temporaries into results and donated arguments while those hold nothing, then the rest, with scratch, into the
 * workspace. */
MUST_USE Status assigner_place_temporaries(Assigner *assigner);

/* A sentence for every buffer and every copy. */
void assigner_explain(Assigner *assigner);

/* When a buffer keeps its bytes from others: as many lifetimes as its set has ranges, ascending, half-open, in quarters
 * of a schedule position.  A value that is overwritten by another of its own buffer ends where that begins. */
typedef struct Lifetime {
  int64_t lower, upper;
} Lifetime;
int32_t assigner_lifetime_count(const Assigner *assigner, const HloBuffer *buffer);
Lifetime assigner_lifetime(const Assigner *assigner, const HloBuffer *buffer, int32_t index);

#endif
