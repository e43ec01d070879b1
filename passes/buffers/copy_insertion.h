/* Copies that make memory sharing possible where HLO's meaning demands it. */
#ifndef XLAC_PASSES_BUFFERS_COPY_INSERTION_H
#define XLAC_PASSES_BUFFERS_COPY_INSERTION_H

#include "hlo/analysis/buffer_analysis.h"

/* Inserts copies until every must-alias requirement of |module| holds.  A scheduled module stays scheduled and is
 * correct under its schedule; in another one control predecessors are added, so that it is correct under every schedule
 * that respects them. */
MUST_USE Status copy_insertion_insert(HloModule *module, DiagSink *diag, bool *out_changed);

/* One conflict after the other is resolved by a copy of the value in question; returns how many copies were made. */
int64_t copy_conflicts(HloModule *module, const BufferAnalysis *analysis);

/* Control predecessors for the order that the sets of |analysis| rely on: the readers of a value come before the
 * instruction that overwrites it. */
bool copy_insertion_add_reuse_edges(HloModule *module, const BufferAnalysis *analysis);

#endif
