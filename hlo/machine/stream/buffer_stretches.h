/* When which bytes of the Buffer hold something, from a stream alone, which knows no Tensors. */
#ifndef XLAC_HLO_MACHINE_STREAM_BUFFER_STRETCHES_H
#define XLAC_HLO_MACHINE_STREAM_BUFFER_STRETCHES_H

#include "hlo/machine/stream/queue_simulation.h"

/* Bytes [begin, end) hold what instance |first| wrote from the start of that to the end of |last|, the last that
 * touches them before they are written again.  What is read without being written is there from the first read. */
typedef struct BufferStretch {
  int64_t begin, end;
  int32_t first, last;
  double from, to;
} BufferStretch;

typedef struct BufferStretches {
  int64_t count;
  const BufferStretch *stretches; /* in the order of their beginnings in the program */
} BufferStretches;

/* Places are as large as they can be told apart: bytes that one command touches at once are in one place.  Stretches of
 * one place follow one another.  In |arena|. */
BufferStretches buffer_stretches_find(Arena *arena, const CommandStream *stream, const QueueSimulation *simulation);

#endif
