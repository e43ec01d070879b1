/* Hazards: what can go wrong when a stream is executed in an order that its edges allow, decided exactly and without
 * regard to time.
 *
 * A race is a pair of commands that no order relation joins (command_order.h), one of which writes bytes that the other
 * reads or writes.  A stream without hazards gives the same bytes in memory in every execution.  Edges that name
 * earlier commands only cannot deadlock, whatever the depths of the queues: program order is itself an order in which
 * every command finds its queue free and its producers complete. */
#ifndef XLAC_HLO_MACHINE_STREAM_HAZARDS_H
#define XLAC_HLO_MACHINE_STREAM_HAZARDS_H

#include "base/string_view.h"
#include "hlo/machine/description/machine_description.h"
#include "hlo/machine/stream/command_stream.h"
#include "hlo/machine/stream/edge_kinds.h"

typedef enum HazardKind {
  HAZARD_READ_AFTER_WRITE, /* |second| reads what |first| writes, and nothing orders them */
  HAZARD_WRITE_AFTER_READ,
  HAZARD_WRITE_AFTER_WRITE,
  HAZARD_UNINITIALISED, /* |second| reads bytes that no earlier command has written */
  HAZARD_BOUNDS,        /* an access of |second| leaves the object */
  HAZARD_ALIGNMENT,     /* a base is no multiple of what its box asks for */
  HAZARD_READ_ONLY,     /* |second| writes an object that is only read */
  HAZARD_WRITTEN_TWICE, /* |first| and |second| write bytes that are to be written once */
  HAZARD_NOT_WRITTEN,   /* bytes that are to be written once are not; no commands */
  HAZARD_FORWARD_EDGE,  /* |second| waits for |first|, which does not come before it in program order */
  HAZARD_DEADLOCK,      /* with the queues' depths, |second| waits for |first| for ever */
  HAZARD_OWN_OPERANDS,  /* |second| may read bytes after it wrote them, or writes them twice (hazards_check_operands) */
  HAZARD_FLAGS,         /* |second| waits for |first| when all flags between their queues are up */
  HAZARD_REDUNDANT_EDGE, /* |second| waits for |first|, which is complete anyway; costs time, harms nothing */
  HAZARD_KIND_COUNT
} HazardKind;

typedef struct Hazard {
  HazardKind kind;
  int32_t first, second; /* instances; -1: none */
  int32_t object;        /* -1 for edges */
  int64_t start, end;    /* the first range of bytes concerned */
} Hazard;

typedef struct HazardLimits {
  int64_t kept;  /* hazards of each kind that are named; all are counted */
  int64_t races; /* the search ends beyond so many */
} HazardLimits;

#define HAZARD_LIMITS_DEFAULT ((HazardLimits){.kept = 8, .races = 1 << 20})

typedef struct HazardReport {
  int64_t counts[HAZARD_KIND_COUNT]; /* races: pairs of commands, each counted once, under the first kind found */
  /* Edges, redundant ones included: pairs of an instance waited for and a label that waits.  Where several instances of
   * one label wait for the same instance and come one after the other, the first carries the edge, the others none. */
  int64_t edges;
  const EdgeCount *edge_counts; /* these edges by queues and kind */
  int64_t edge_count_count;
  int64_t flags; /* most that a pair of queues needs at once; 0 on machines that count */
  int64_t barriers;
  bool complete; /* false: ended at HazardLimits.races */
  const Hazard *hazards;
  int64_t hazard_count;
} HazardReport;

/* Everything but redundant edges. */
int64_t hazard_report_faults(const HazardReport *report);
int64_t hazard_report_races(const HazardReport *report);

/* Looks for all kinds.  Streams with forward edges have no order, so only bounds, alignment, read-only objects and
 * edges are looked at there, and whether the machine's queues can still execute them.  Time O(N log N) for N accesses
 * of streams without races; more by the number of races with them.  The report lives in |arena|.  STATUS_EXHAUSTED with
 * a diagnostic for streams beyond the limits of command_order.h and of 2^26 runs of bytes; hazards themselves are no
 * error. */
MUST_USE Status hazards_check(Arena *arena, Arena *scratch, const CommandStream *stream,
                              const MachineDescription *machine, HazardLimits limits, DiagSink *diag,
                              HazardReport *out_report);

/* Adds to |report|, in |arena|, commands with an access that meets a write of their own, unless both are one update:
 * between start and completion nothing says which comes first.  Not for streams that were recorded from code, where a
 * command knows the order of its accesses. */
void hazards_check_operands(Arena *arena, Arena *scratch, const CommandStream *stream, HazardLimits limits,
                            HazardReport *report);

/* |stream| with the fewest edges that leave no race: all dependencies between bytes, less those that queues, barriers
 * and the edges already there keep, less those that other edges imply.  Edges there stay.  No edge may be a forward
 * one. */
MUST_USE Status hazards_derive_edges(Arena *arena, Arena *scratch, const CommandStream *stream,
                                     const MachineDescription *machine, DiagSink *diag, CommandStream *out_stream);

/* |stream| with edges instead of its barriers of bytes, those over no queue with accesses: whatever touches such bytes
 * after the barrier waits for whatever touched them before it.  The fewest, less those that queues, other barriers and
 * the edges already there keep.  The barriers stay, and do nothing.  Status as that of hazards_derive_edges. */
MUST_USE Status hazards_apply_barriers(Arena *arena, Arena *scratch, const CommandStream *stream,
                                       const MachineDescription *machine, DiagSink *diag, CommandStream *out_stream);

/* How a hazard's commands and bytes are called in text; each appends to |out|. */
typedef struct HazardNames {
  void *context;
  void (*command)(void *context, StringBuilder *out, int32_t instance);
  void (*bytes)(void *context, StringBuilder *out, const Hazard *hazard);
} HazardNames;

/* One line without a line end, in |arena|; with |names| NULL, for example
 *   command 7 (label 2) reads bytes [0, 64) of 'Buffer', command 5 (label 0) writes them, and nothing orders the two */
const char *hazard_text(Arena *arena, const CommandStream *stream, const Hazard *hazard, const HazardNames *names);

#endif
