/* Why commands of a stream wait for others: edges counted by the queues that they join and by what they keep apart. */
#ifndef XLAC_HLO_MACHINE_STREAM_EDGE_KINDS_H
#define XLAC_HLO_MACHINE_STREAM_EDGE_KINDS_H

#include "hlo/machine/stream/command_stream.h"

/* The first that holds: the command that waits reads bytes that the other writes, writes bytes that it reads, writes
 * bytes that it writes; or none of these: the edge is there to order other commands. */
typedef enum EdgeKind {
  EDGE_READ_AFTER_WRITE,
  EDGE_WRITE_AFTER_READ,
  EDGE_WRITE_AFTER_WRITE,
  EDGE_ORDER,
  EDGE_KIND_COUNT
} EdgeKind;

typedef struct EdgeCount {
  int32_t from, to; /* queues; |to| waits */
  EdgeKind kind;
  int64_t count;
} EdgeCount;

typedef struct EdgeCounts {
  Arena *arena;
  const CommandStream *stream;
  ARRAY(EdgeCount) counts; /* in the order of their first edges */
  IntMap kinds;            /* by the labels of both ends: instances of a label touch bytes alike */
} EdgeCounts;

void edge_counts_init(EdgeCounts *counts, Arena *arena, const CommandStream *stream);
/* |consumer| waits for |producer|: instances, no barriers. */
void edge_counts_add(EdgeCounts *counts, int32_t producer, int32_t consumer);

/* Of one edge, which is not counted. */
EdgeKind edge_counts_kind(EdgeCounts *counts, int32_t producer, int32_t consumer);

/* "read-after-write" … "order" */
const char *edge_kind_text(EdgeKind kind);

#endif
