/* CommandStream: what a vector processor is given to do, as data.
 *
 * The commands of a kernel in program order, loops unrolled: for each its queue, the bytes it reads and writes, the
 * commands it waits for and what it costs.  Its maker (the planner from its tile program, the reader of plans,
 * the simulator as it executes) adds command after command; hazards.h proves it, queue_simulation.h times it.
 *
 * A command is known by its instance number, its place in program order; its label is the number of the static command
 * that it is an instance of.  Objects are byte ranges that share nothing: the Buffer and the arrays in memory.  Boxes
 * and their forms are kept once each, so that an instance takes some 50 bytes; 10^6 of them are meant to be practical.
 */
#ifndef XLAC_HLO_MACHINE_STREAM_COMMAND_STREAM_H
#define XLAC_HLO_MACHINE_STREAM_COMMAND_STREAM_H

#include "base/array.h"
#include "base/hash_map.h"
#include "base/string_view.h"

enum { BYTE_BOX_MAX_LEVELS = 8 };

typedef struct ByteLevel {
  int64_t count, stride; /* count >= 0; stride in bytes, of any sign */
} ByteLevel;

/* The bytes [base + Σ i_k * stride_k, + bytes) for all 0 <= i_k < count_k: a set, so the order of levels and
 * repetitions mean nothing. */
typedef struct ByteBox {
  int64_t base, bytes; /* bytes >= 0 */
  int64_t align;       /* what |base| has to be a multiple of; 0 and 1: nothing */
  int level_count;
  ByteLevel levels[BYTE_BOX_MAX_LEVELS];
} ByteBox;

/* Makes |box| simple, the set staying what it is: levels of count 1 and stride 0 gone, strides positive and descending,
 * levels that continue one another merged, runs that touch merged into |bytes|.  |align| is about the base as given: a
 * base that moves with a negative stride gives up what the stride does not keep.  An empty box has bytes 0 and no
 * levels.  A box with addresses beyond 64 bits becomes one byte at INT64_MAX - 1, out of all bounds. */
void byte_box_normalise(ByteBox *box);

/* One past the last byte of a normalised box. */
int64_t byte_box_end(const ByteBox *box);

/* True if the runs of a normalised box are disjoint and ascend when its levels are walked outermost first. */
bool byte_box_ascends(const ByteBox *box);

/* The number of such runs. */
int64_t byte_box_run_count(const ByteBox *box);

/* The start of run |number|, levels walked outermost first. */
int64_t byte_box_run(const ByteBox *box, int64_t number);

enum { BUFFER_OBJECT = 0 };

enum {
  OBJECT_INITIALISED = 1 << 0,  /* has contents when the kernel begins: arguments, constants */
  OBJECT_READ_ONLY = 1 << 1,    /* no command may write it */
  OBJECT_WRITTEN_ONCE = 1 << 2, /* every byte has to be written by exactly one command: results that are not donated */
  OBJECT_IN_BUFFER = 1 << 4,    /* an array that outlives the kernel there: bytes of the Buffer that are not its own */
  OBJECT_TEMPORARY = 1 << 3     /* its contents mean nothing after the last command, as the Buffer's */
};

typedef struct StreamObject {
  StringView name;
  int64_t bytes;
  unsigned flags;
  int64_t begin; /* IN_BUFFER: its first byte there */
} StreamObject;

enum { BARRIER_QUEUE = -1 };

typedef struct StreamCommand {
  int32_t label;
  int32_t queue;                    /* of the machine; BARRIER_QUEUE for a barrier */
  int32_t first_access, first_edge; /* the next command's are the ends */
  int32_t rows, descriptors;        /* of a transfer; at least 1 */
  union {
    int64_t bytes;   /* a transfer: how many it moves */
    double cycles;   /* an operation: without the queue's setup */
    uint64_t queues; /* a barrier: bit q for queue q that has to be empty */
  } work;
} StreamCommand;

enum { BARRIER_MAX_QUEUES = 64 };

/* Whether |barrier| waits for |queue|. */
static inline bool stream_barrier_covers(const StreamCommand *barrier, int32_t queue) {
  return queue < BARRIER_MAX_QUEUES && (barrier->work.queues >> queue & 1);
}

typedef struct StreamBox {
  int64_t base;
  int32_t object, form;
  int32_t same_hash; /* the next one with this hash, -1: none */
} StreamBox;

typedef struct StreamForm {
  int64_t bytes, align;
  int32_t level_count, first_level;
  int32_t same_hash;
} StreamForm;

typedef struct CommandStream {
  Arena *arena;
  ARRAY(StreamObject) objects;
  ARRAY(StreamCommand) commands;
  ARRAY(int32_t) accesses; /* 8 * box + 4 (scratch) + 2 (half of an update) + 1 (write) */
  ARRAY(int32_t) edges;    /* instances that have to be complete first */
  ARRAY(StreamBox) boxes;
  ARRAY(StreamForm) forms;
  ARRAY(ByteLevel) levels;
  IntMap box_by_hash, form_by_hash;
} CommandStream;

/* An empty stream in |arena| with one object, the Buffer of |buffer_bytes|, uninitialised. */
void command_stream_init(CommandStream *stream, Arena *arena, int64_t buffer_bytes);

/* The number of a new object; the name's text has to live as long as the stream. */
int32_t command_stream_add_object(CommandStream *stream, StringView name, int64_t bytes, unsigned flags);

/* One that is in the Buffer from byte |begin| on; |flags| without OBJECT_IN_BUFFER. */
int32_t command_stream_add_resident(CommandStream *stream, StringView name, int64_t begin, int64_t bytes,
                                    unsigned flags);

/* From now on all objects have contents when the kernel begins and may be written at any time: of their bytes nothing
 * but races can be wrong, which are found in less time. */
void command_stream_free_objects(CommandStream *stream);

/* Each begins a command and returns its instance number; accesses and edges added next are its own.
 *
 * A barrier is executed by the unit that issues commands: whatever comes later, on any queue, starts after all earlier
 * commands of |queues| are complete.  It has no edges and nothing names it in an edge; one over no queue may have
 * accesses, which hazards_apply_barriers makes edges of. */
int32_t command_stream_add_transfer(CommandStream *stream, int32_t label, int32_t queue, int64_t bytes, int64_t rows);
/* The latest command, a transfer, goes out as |descriptors| of the machine's; 1 where nothing else is said. */
void command_stream_set_descriptors(CommandStream *stream, int64_t descriptors);
int32_t command_stream_add_operation(CommandStream *stream, int32_t label, int32_t queue, double cycles);
int32_t command_stream_add_barrier(CommandStream *stream, int32_t label, uint64_t queues);

/* The latest command reads or writes |box| of |object|; an empty box is no access.  When it does so between its start
 * and its completion is open. */
void command_stream_add_read(CommandStream *stream, int32_t object, const ByteBox *box);
void command_stream_add_write(CommandStream *stream, int32_t object, const ByteBox *box);

/* The two halves of an update, each given once: the latest command is through with reading an element of |box| when it
 * writes that. */
void command_stream_add_update_read(CommandStream *stream, int32_t object, const ByteBox *box);
void command_stream_add_update_write(CommandStream *stream, int32_t object, const ByteBox *box);

/* The latest command writes |box|, and reads it back before it is complete. */
void command_stream_add_scratch(CommandStream *stream, int32_t object, const ByteBox *box);

/* The latest command starts after |producer| is complete.  That |producer| comes earlier is checked by hazards_check,
 * not here. */
void command_stream_add_edge(CommandStream *stream, int32_t producer);

typedef struct InstanceRange {
  const int32_t *data;
  int64_t count;
} InstanceRange;

/* The instances that |instance| waits for by edges, in the order they were added. */
InstanceRange command_stream_edges(const CommandStream *stream, int32_t instance);

/* The accesses of |instance| in the form of CommandStream.accesses. */
InstanceRange command_stream_accesses(const CommandStream *stream, int32_t instance);
static inline int32_t stream_access_box(int32_t access) {
  return access >> 3;
}
static inline bool stream_access_writes(int32_t access) {
  return (access & 1) != 0;
}
/* Half of an update: the other one has the same box. */
static inline bool stream_access_updates(int32_t access) {
  return (access & 2) != 0;
}
/* A write that is read back. */
static inline bool stream_access_is_scratch(int32_t access) {
  return (access & 4) != 0;
}
static inline bool stream_accesses_are_update(int32_t read, int32_t write) {
  return stream_access_updates(read) && !stream_access_writes(read) && write == read + 1;
}

/* Box |number|, normalised. */
ByteBox command_stream_box(const CommandStream *stream, int32_t number);

/* |stream| with other edges: commands, objects and boxes are shared with it, edges are copied; |first_edges| has one
 * entry per command and one more.  Nothing is added to either after this. */
CommandStream command_stream_with_edges(Arena *arena, const CommandStream *stream, const int32_t *first_edges,
                                        const int32_t *edges);

#endif
