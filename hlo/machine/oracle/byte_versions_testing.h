/* ByteVersions: what can become of every byte in the executions that a stream's edges allow, found by executing.
 *
 * A second opinion on hazards.h, for tests: both judge the same streams and share no code.  Each byte remembers the
 * access that wrote it last, its version.  Program order says which version each read has to see and which versions
 * have to be left at the end; an execution in which a read or the end sees another version is a difference, and its
 * steps are the proof.
 *
 * An execution is a list of steps: a command starts, makes its accesses one by one in any order, and completes; what it
 * reads back of its scratch it reads then.
 * Commands overlap as far as edges, in-order queues and barriers let them; a command starts when what it waits for is
 * complete, and nothing else is promised.
 *
 * Streams have to be small (some 10^7 bytes read in all), their accesses lie inside their objects and their edges lead
 * back: whatever hazards_check finds beyond races needs no execution to be seen. */
#ifndef XLAC_HLO_MACHINE_ORACLE_BYTE_VERSIONS_TESTING_H
#define XLAC_HLO_MACHINE_ORACLE_BYTE_VERSIONS_TESTING_H

#include "hlo/machine/description/machine_description.h"
#include "hlo/machine/stream/command_stream.h"

enum { STEP_START = -1, STEP_COMPLETE = -2 };

typedef struct ExecutionStep {
  int32_t instance;
  int32_t access; /* number among the instance's accesses, or one of the above */
} ExecutionStep;

typedef struct Execution {
  const ExecutionStep *steps;
  int64_t count;
} Execution;

enum { AT_THE_END = -1, FROM_BEFORE = -1 };

typedef struct VersionDifference {
  int32_t reader; /* the instance that sees another version; AT_THE_END: that is left behind */
  int32_t object;
  int64_t byte;
  int32_t expected, seen; /* the instances that wrote it; FROM_BEFORE: none */
} VersionDifference;

/* Two commands that touch a byte in ways that matter, and that nothing orders; |first| comes first in program order.
 * |first| == |second|: a command that may read what it has written itself, or write a byte twice. */
typedef struct VersionPair {
  int32_t first, second;
} VersionPair;

typedef struct ByteVersions {
  Arena *arena;
  const CommandStream *stream;
  int32_t *first_need; /* by instance, one entry more: what has to be complete before it starts, in |needs| */
  ARRAY(int32_t) needs;
  int32_t *owners;         /* by access of the stream: its instance */
  bool *is_written;        /* by object: some command writes it */
  int64_t *first_expected; /* by access: the versions that it reads, in |expected|; -1: of an object never written */
  ARRAY(int32_t) expected; /* accesses of the stream; FROM_BEFORE */
  int32_t **left;          /* by object and byte: versions at the end; NULL for those that mean nothing then */
} ByteVersions;

/* Executes program order, in which each command reads before it writes. */
void byte_versions_init(ByteVersions *versions, Arena *arena, const CommandStream *stream,
                        const MachineDescription *machine);

/* Whether |execution| starts, makes and completes everything once, and nothing before it may. */
bool byte_versions_allow(const ByteVersions *versions, Arena *scratch, Execution execution);

/* Does a legal execution; true with the first difference if there is one.  |readers|: by instance, those that see
 * another version are set; may be NULL. */
bool byte_versions_execute(const ByteVersions *versions, Arena *scratch, Execution execution, bool *readers,
                           VersionDifference *out_difference);

/* An execution with all kinds of overlap, in |arena|. */
Execution byte_versions_random_execution(const ByteVersions *versions, Arena *arena, Arena *scratch, uint64_t seed);

/* All pairs of which some execution gives a difference, and maybe some that write what no command reads.
 *
 * That no other pair can: let r read a byte and w be the version that it is to see.  r sees another one in some
 * execution unless every command that writes the byte is w, or complete before w starts, or starts after r is complete.
 * Those before w in program order that wrote what was read before w was written are complete before it when each of
 * their readers is; so it is enough to look at w and its readers, at what was written and never read before w, and at
 * the writes up to the next version that is read.  The end reads what is left. */
void byte_versions_find_pairs(const ByteVersions *versions, Arena *arena, Arena *scratch, const VersionPair **out_pairs,
                              int64_t *out_count);

/* What both commands of |pair| need, then the second's accesses, then the first's (|in_order|: the other way round),
 * then their completion, then the rest as in program order.  Of a command with itself: its accesses in the order that
 * is farthest from reading before writing (|in_order|: program order, in which a scratch may be lost too). */
Execution byte_versions_directed_execution(const ByteVersions *versions, Arena *arena, Arena *scratch, VersionPair pair,
                                           bool in_order);

/* Executes pair after pair until there is a difference; false: every allowed execution is program order's equal. */
bool byte_versions_search(const ByteVersions *versions, Arena *scratch, VersionDifference *out_difference);

/* A read of program order that finds bytes that no command wrote and that were not there before; |expected|, |seen|:
 * FROM_BEFORE. */
bool byte_versions_uninitialised(const ByteVersions *versions, VersionDifference *out_difference);

/* What a command makes of the bytes that it reads. */
typedef struct ProvenanceCommand {
  bool copies; /* byte for byte, in ascending order on both sides */
  uint64_t
      function; /* what it does to them, in numbers: equal functions of equal bytes are equal.  0 of a copy: nothing */
} ProvenanceCommand;

/* What is left at the end of program order in terms of what was there before: a hash over all bytes, each being a
 * function of what the command that wrote it had read (each byte of that, or of a copy the byte at its place).  Streams
 * can be compared that have commands in other orders and bytes in other places.  |commands|: by instance.
 * |out_inputs|: by instance, a hash of what is done to what; may be NULL. */
uint64_t byte_versions_provenance(Arena *scratch, const CommandStream *stream, const ProvenanceCommand *commands,
                                  uint64_t *out_inputs);

#endif
