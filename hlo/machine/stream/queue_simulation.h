/* QueueSimulation: what a stream costs on a machine, in cycles; and the closed form that a planner asks instead.
 *
 * The model of the machine: a scalar unit issues commands in program order at no cost, each to its queue, which holds
 * as many commands that are not complete as its depth says; where one does not fit, the unit and all after it wait.  A
 * queue works on one command at a time: the oldest, or, if it is unordered, the oldest that may start.  A command
 * occupies its queue for
 *
 *   an operation:  setup + cycles
 *   a transfer:    setup * descriptors + row * (rows - descriptors), then its bytes at up to bytes_per_cycle
 *
 * Transfers that move bytes at one time share memory.bytes_per_cycle: each gets the same, less where its queue cannot
 * take it, and what that leaves goes to the others.  Queues look ahead: an edge is seen sync.set + sync.wait cycles
 * after its producer is complete, and costs nothing where the consumer could not start earlier anyway.  A barrier stops
 * the scalar unit until its queues are empty and sync.barrier cycles longer.  That flags run out is no matter of
 * time: hazards.h. */
#ifndef XLAC_HLO_MACHINE_STREAM_QUEUE_SIMULATION_H
#define XLAC_HLO_MACHINE_STREAM_QUEUE_SIMULATION_H

#include "base/json_writer.h"
#include "hlo/machine/description/machine_description.h"
#include "hlo/machine/stream/command_stream.h"

typedef struct QueueUse {
  int64_t commands;
  int64_t bytes; /* moved */
  double busy;   /* cycles with a command at work */
  double stall;  /* cycles at rest although a command was there: waiting for edges; the rest of the time it was empty */
} QueueUse;

/* The member "queues" of an open object: a list of objects, one for each queue of |machine| with its |uses|;
 * empty where |uses| is NULL, as nothing was simulated. */
void queue_uses_write_json(JsonWriter *json, const MachineDescription *machine, const QueueUse *uses);

/* |part| of |whole| cycles or bytes, in percent; all of it where there are none. */
double use_percent(double part, double whole);

typedef struct QueueSimulation {
  double cycles;          /* until the last command is complete */
  const QueueUse *queues; /* by queue of the machine */
  int64_t memory_bytes;
  double memory_busy; /* cycles in which at least one transfer moved bytes */
  double issue_stall; /* cycles the scalar unit waited for room in a queue */
  double barriers;    /* cycles it waited in barriers */
  /* By instance; |issues|: when its queue got it, |rests|: since when its queue had been at rest when it started. */
  const double *starts, *ends, *issues, *rests;
} QueueSimulation;

/* A stream without forward edges (hazards_check says so); anything else is a bug.  Deterministic.  In |arena|. */
QueueSimulation queue_simulation_run(Arena *arena, Arena *scratch, const CommandStream *stream,
                                     const MachineDescription *machine);

/* An order of all instances that the order relation allows, in |arena|; each |seed| gives its own, the same one
 * everywhere. Queues run ahead of one another at changing random speeds, so that a missing edge shows soon.  Barriers
 * are among the instances.  No forward edges. */
const int32_t *command_stream_legal_order(Arena *arena, Arena *scratch, const CommandStream *stream,
                                          const MachineDescription *machine, uint64_t seed);
/* Whether the order relation allows |order|, all instances once; otherwise |out_early| stands before |out_late|, which
 * it has to wait for.  No forward edges. */
bool command_stream_order_is_legal(Arena *scratch, const CommandStream *stream, const MachineDescription *machine,
                                   const int32_t *order, int32_t *out_early, int32_t *out_late);

/* --- closed form --- */

/* Cycles that |command| occupies its queue when nothing shares the memory with it; 0 for a barrier. */
double queue_command_cycles(const MachineDescription *machine, const StreamCommand *command);

/* What a loop does per tile, or a kernel in all. */
typedef struct QueueWork {
  const double *cycles; /* by queue of the machine */
  int64_t bytes;        /* moved by all of them */
  const int64_t *moved; /* by queue of the machine; NULL: which of them moves how much is open */
} QueueWork;

/* The sums over a stream. */
QueueWork queue_work_of_stream(Arena *arena, const CommandStream *stream, const MachineDescription *machine);

typedef enum LimitKind {
  LIMIT_QUEUE,  /* |number|: of the machine's queues */
  LIMIT_MEMORY, /* memory.bytes_per_cycle */
  LIMIT_ORDER   /* what has to come after other work */
} LimitKind;

typedef struct QueueLimit {
  LimitKind kind;
  int32_t number; /* -1 for memory */
  double cycles;
} QueueLimit;

/* Cycles in which queue |a| moves |bytes_a| and queue |b| |bytes_b|, however they meet: both at once, each at its share
 * of memory, until one is through, then the other one alone.  Never shorter when they meet less, since two that share
 * memory move no less than one alone; nor with third ones, which only take from their shares.  Bytes >= 0. */
double queue_pair_cycles(const MachineDescription *machine, int32_t a, double bytes_a, int32_t b, double bytes_b);

/* The longest of the queues' sums, of bytes / memory.bytes_per_cycle and of what every two queues take that share it:
 * no schedule of |work| is shorter.  Ties: the first queue, memory last. */
QueueLimit queue_bound(const MachineDescription *machine, const QueueWork *work);

/* "queue EX", "memory", "order of work". */
const char *queue_limit_text(Arena *arena, const MachineDescription *machine, const QueueLimit *limit);

#endif
