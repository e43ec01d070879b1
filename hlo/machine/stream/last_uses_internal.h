/* LastUses: who has written each byte last, and who has read it since: what a command that touches it comes after.
 *
 * Bytes of memory are known by classes (byte_classes_internal.h): few commands touch one, in tiles of many runs.  Those
 * of the Buffer are known in segments of neighbouring bytes with the same last uses, which a write makes one again:
 * they are used for one thing after another, and the tiles of all times, those of all Kernels of a run, cut them into
 * classes of a few bytes each, while at any time few segments lie there. */
#ifndef XLAC_HLO_MACHINE_STREAM_LAST_USES_INTERNAL_H
#define XLAC_HLO_MACHINE_STREAM_LAST_USES_INTERNAL_H

#include "base/diagnostic.h"
#include "hlo/machine/stream/byte_classes_internal.h"
#include "hlo/machine/stream/hazards_internal.h"

typedef struct Read {
  int32_t instance;
  int32_t earlier; /* the read before, since the last write; -1: none */
} Read;

typedef struct LastUse {
  int32_t write; /* the last one, -1: none */
  int32_t reads; /* the last one since, -1: none */
} LastUse;

/* Bytes from |begin| to where the next segment begins. */
typedef struct UseSegment {
  int64_t begin;
  LastUse use;
} UseSegment;

typedef ARRAY(UseSegment) UseSegments; /* ascending, the first from 0 on */

typedef struct LastUses {
  Arena *arena;
  const CommandStream *stream;
  const CommandOrder *order; /* of the commands so far */
  bool has_segments;         /* the Buffer; else it has classes as well */
  UseSegments segments;      /* of its bytes */
  UseSegments pieces;        /* what a box makes of some of them */
  ByteClasses classes;
  LastUse *uses; /* by class */
  ARRAY(Read) reads;
  int32_t free_reads; /* of bytes that were written since, -1: none */
  int32_t *wanted_by; /* by instance: the latest command that depends on it, -1: none */
} LastUses;

/* Nothing is written yet.  Lives in |arena|.  |order| outlives it, and has all commands that it is told of.  Status as
 * that of byte_classes_find. */
MUST_USE Status last_uses_init(LastUses *uses, Arena *arena, const CommandStream *stream, const CommandOrder *order,
                               DiagSink *diag);

/* Appends to |producers|, in the arena, each once, the commands so far that |instance| has to come after, less some
 * that others among them imply. */
void last_uses_find(LastUses *uses, int32_t instance, InstanceArray *producers);

/* From now on |instance| is the last one that has used what it touches. */
void last_uses_note(LastUses *uses, int32_t instance);

#endif
