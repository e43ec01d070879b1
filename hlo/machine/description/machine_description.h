/* MachineDescription: a vector processor as a value.
 *
 * One core whose operations work on Tensors in an on-core Buffer; queues run transfers and operations at once.  The
 * text form is a `.vpt` file (docs/machine-descriptions.md); presets are such texts (presets.h).  Planner, simulator
 * and report take every number from here.  Sizes are bytes, rates are per cycle, costs are cycles. */
#ifndef XLAC_HLO_MACHINE_DESCRIPTION_MACHINE_DESCRIPTION_H
#define XLAC_HLO_MACHINE_DESCRIPTION_MACHINE_DESCRIPTION_H

#include "base/diagnostic.h"
#include "hlo/type/primitive_type.h"

/* What an operation costs is given under these names (machine_cost.def). */
typedef enum MachineCost {
#define MACHINE_COST(id, text, fallback) COST_##id,
#include "hlo/machine/description/machine_cost.def"
#undef MACHINE_COST
  MACHINE_COST_COUNT,
  COST_NONE = MACHINE_COST_COUNT /* no lane-wise operation */
} MachineCost;

typedef struct MachineBuffer {
  SourceLoc loc;
  int64_t size;       /* 0: there is none; a machine that is only a processor (--mtriple), which no description is */
  PrimitiveType unit; /* what plan intervals count; TYPE_INVALID: bytes */
  int64_t align;      /* of every Tensor's base; a power of two */
  int64_t reserve;    /* at the end, kept off the planner */
} MachineBuffer;

typedef enum MachineQueueKind { QUEUE_LOAD, QUEUE_STORE, QUEUE_MOVE, QUEUE_EXEC } MachineQueueKind;

typedef enum MachineCompletion {
  COMPLETE_IN_ORDER, /* command k+1 of the queue starts after k completed */
  COMPLETE_UNORDERED /* nothing is promised, even inside the queue */
} MachineCompletion;

typedef struct MachineQueue {
  SourceLoc loc;
  StringView name;
  MachineQueueKind kind;  /* MOVE: loads and stores */
  double bytes_per_cycle; /* transfers; 0 for EXEC */
  int64_t setup;          /* cycles before a command does anything */
  int64_t row;            /* cycles per row of a strided transfer beyond the first; 0 for EXEC */
  int64_t dims;           /* loop levels that one descriptor walks; 0 for EXEC */
  int64_t depth;          /* outstanding commands */
  MachineCompletion complete;
} MachineQueue;

typedef enum MachineSyncKind { SYNC_COUNTER, SYNC_FLAG } MachineSyncKind;

typedef struct MachineSync {
  SourceLoc loc;
  MachineSyncKind kind;
  int64_t ids; /* FLAG: flags per pair of queues; COUNTER: 0 */
  int64_t set, wait, barrier;
} MachineSync;

/* What native code its operations become. */
typedef struct MachineIsa {
  SourceLoc loc;
  StringView triple;             /* as LLVM spells it, or "host" */
  StringView cpu, features, abi; /* empty: the triple's default */
} MachineIsa;

typedef struct MachineOpCosts {
  SourceLoc loc;
  double cost[MACHINE_COST_COUNT]; /* cycles per vector; COST_MAC: multiply-adds per cycle */
} MachineOpCosts;

typedef struct MachineDescription {
  SourceLoc loc;
  StringView name;
  int64_t clock_hz;
  MachineBuffer buffer;
  SourceLoc vector_loc, memory_loc;
  int64_t vector_bytes;          /* a power of two */
  double memory_bytes_per_cycle; /* shared by all transfer queues; 0: no such limit */
  MachineSync sync;
  MachineIsa isa;
  int32_t queue_count;
  const MachineQueue *queues;                      /* in the file's order */
  const MachineOpCosts *ops[PRIMITIVE_TYPE_COUNT]; /* NULL: no operations on the type */
} MachineDescription;

/* Reads a description; it and what it points to live in |arena|, texts in |source|.  Verified.  STATUS_INVALID with one
 * diagnostic per mistake ("machine-…"), each located. */
MUST_USE Status machine_description_parse(Arena *arena, const SourceFile *source, DiagSink *diag,
                                          MachineDescription *out_machine);

/* What parsing one value after another cannot see: sizes that fit each other, a queue for each kind of work, the
 * synchronisation's ids.  To be asked again after a change such as another Buffer size. */
MUST_USE Status machine_description_verify(const MachineDescription *machine, DiagSink *diag);

/* Reads back as an equal value; equal values print equally. */
void machine_description_print(StringBuilder *out, const MachineDescription *machine);

bool machine_is_host(const MachineDescription *machine);          /* its code is the host's */
int64_t machine_buffer_usable(const MachineDescription *machine); /* bytes the planner may use */
bool machine_queue_loads(const MachineQueue *queue);
bool machine_queue_stores(const MachineQueue *queue);
bool machine_queue_executes(const MachineQueue *queue);
/* NULL when there is none. */
const MachineQueue *machine_find_queue(const MachineDescription *machine, StringView name);

#endif
