/* The C interface of compiled modules: what an object made by xlac exports, and what a caller passes.  Freestanding;
 * a module's own header has this text in itself, and any number of them may meet in one file.  It changes only by
 * adding fields at the end of the sized structs. */
#if defined XLAC_ABI_VERSION && XLAC_ABI_VERSION != 1
#error "this is version 1 of xlac/abi.h, and another version is included before it: compile that module again"
#endif
#ifndef XLAC_ABI_H
#define XLAC_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XLAC_ABI_VERSION 1

/* Element types, with the names of HLO.  Types narrower than a byte take one byte an element. */
typedef enum XlacType {
  XLAC_PRED = 1,
  XLAC_S1,
  XLAC_S2,
  XLAC_S4,
  XLAC_S8,
  XLAC_S16,
  XLAC_S32,
  XLAC_S64,
  XLAC_U1,
  XLAC_U2,
  XLAC_U4,
  XLAC_U8,
  XLAC_U16,
  XLAC_U32,
  XLAC_U64,
  XLAC_F16,
  XLAC_BF16,
  XLAC_F32,
  XLAC_F64,
  XLAC_F8E5M2,
  XLAC_F8E4M3,
  XLAC_F8E4M3FN,
  XLAC_F8E4M3B11FNUZ,
  XLAC_F8E3M4,
  XLAC_F8E5M2FNUZ,
  XLAC_F8E4M3FNUZ,
  XLAC_F8E8M0FNU,
  XLAC_F4E2M1FN,
  XLAC_F6E2M3FN,
  XLAC_F6E3M2FN,
  XLAC_C64,
  XLAC_C128
} XlacType;

/* One leaf of the parameters or results, tuples flattened depth first. */
typedef struct XlacTensor {
  const char *name; /* HLO name of the parameter (with the tuple path), of the root as written for results */
  int32_t type;     /* XlacType */
  int32_t rank;
  const int64_t *dims;
  const int64_t *minor_to_major; /* layout of the bytes: the fastest varying dimension first */
  int64_t bytes;
  int64_t alignment; /* required of the pointer: element alignment */
  int64_t alias;     /* results: the parameter leaf whose memory it may share (pass the same pointer), -1 none;
                        parameters: the result leaf likewise */
} XlacTensor;

/* Dimension |dimension| of leaf |leaf|, which is as large as leaf |size_leaf| says, an s32[] between 0 and the size in
 * |dims|: memory has the latter, and what lies beyond the size means nothing. */
typedef struct XlacLeafSize {
  int64_t leaf, dimension, size_leaf;
} XlacLeafSize;

/* --- communication between devices --- */

typedef enum XlacCollectiveKind {
  XLAC_ALL_REDUCE = 1,
  XLAC_REDUCE_SCATTER,
  XLAC_ALL_GATHER,
  XLAC_ALL_TO_ALL,       /* each operand is cut into a part for each member */
  XLAC_ALL_TO_ALL_TUPLE, /* operand j is for member j, result j from member j */
  XLAC_RAGGED_ALL_TO_ALL,
  XLAC_COLLECTIVE_PERMUTE,
  XLAC_COLLECTIVE_BROADCAST,
  XLAC_DEVICE_SEND,
  XLAC_DEVICE_RECV
} XlacCollectiveKind;

/* What all-reduce and reduce-scatter do with two elements.  Minimum and maximum are NaN where either is; of pred, and,
 * or and xor are logical. */
typedef enum XlacReducer {
  XLAC_REDUCE_ADD = 1,
  XLAC_REDUCE_MULTIPLY,
  XLAC_REDUCE_MINIMUM,
  XLAC_REDUCE_MAXIMUM,
  XLAC_REDUCE_AND,
  XLAC_REDUCE_OR,
  XLAC_REDUCE_XOR
} XlacReducer;

/* An operand and its result, as bytes.  One run of |inner| bytes is a member's share of what is gathered, scattered or
 * exchanged: a result of all-gather is |outer| times the runs of all members in listed order, an operand |outer| runs;
 * of reduce-scatter the other way round; of all-to-all both are |outer| times as many runs as members.  Elsewhere there
 * is one run, all of it.
 *
 * ragged-all-to-all has six operands and one result: 0 is the input of |outer| rows of |inner| bytes with the result,
 * 1 what the result begins as, 2 to 5 input offsets, send sizes, output offsets and receive sizes, which count rows:
 * for each member as many numbers. */
typedef struct XlacCollectiveBuffer {
  int32_t type; /* XlacType */
  int32_t reserved;
  int64_t outer, inner;
  int64_t operand_bytes, result_bytes; /* 0 where there is none */
} XlacCollectiveBuffer;

typedef struct XlacDeviceGroup {
  int64_t count;
  const int64_t *devices; /* in listed order */
} XlacDeviceGroup;

typedef struct XlacDevicePair {
  int64_t source, target;
} XlacDevicePair;

/* An instruction by which devices communicate, the same in the objects of all of them.  A device is its number, replica
 * * partition_count + partition; it is in one group at most. */
typedef struct XlacCollective {
  uint64_t struct_size;
  int64_t index;           /* in the descriptor */
  int32_t kind;            /* XlacCollectiveKind */
  int32_t reducer;         /* XlacReducer; 0: none */
  int32_t is_asynchronous; /* there is code between its start and its end */
  int32_t reserved;
  int64_t channel_id;      /* what a send and its recv have alike; others need not be told apart by it */
  const char *instruction; /* its name in the HLO */
  const char *opcode;
  int64_t buffer_count;
  const XlacCollectiveBuffer *buffers;
  int64_t group_count;
  const XlacDeviceGroup *groups;
  int64_t pair_count; /* of permute, send and recv: who sends to whom.  Who is sent nothing has zeroes */
  const XlacDevicePair *pairs;
} XlacCollective;

/* An engine of communication, which the caller provides.  Its functions return NULL, or why it cannot be done, valid
 * until on_failure returns.  A run calls them from its thread, starts in the same order on all devices unless the
 * module is conditional; of one collective never a second start before the end of the first. */
typedef struct XlacCommunication {
  uint64_t struct_size;
  void *data; /* is handed to them */
  /* Begins |collective|: one pointer for each operand and for each result, NULL where there are no bytes.  They stay as
   * they are until its end; results are the engine's to write until then. */
  const char *(*start)(void *data, const XlacCollective *collective, const void *const *operands, void *const *results);
  /* Returns when the results are there and the operands are read. */
  const char *(*wait)(void *data, const XlacCollective *collective);
  /* This device comes to no further collective in this run; called by conditional modules alone.  After the end of
   * older engines, or NULL: they are not told. */
  const char *(*finish)(void *data);
} XlacCommunication;

/* --- constants in a file --- */

#define XLAC_CONSTANTS_MAGIC 0x31736e6f63616c78u /* "xlacons1" */
#define XLAC_CONSTANTS_ALIGNMENT 64

/* What the file begins with that has the large constants of a module (xlac --constants=file); they follow at multiples
 * of XLAC_CONSTANTS_ALIGNMENT.  Little-endian. */
typedef struct XlacConstants {
  uint64_t magic;
  int64_t bytes; /* of all of the file */
  uint64_t hash; /* of what follows: what tells it from another module's */
} XlacConstants;

struct XlacRunOptions; /* below */

/* Computes what a module's runs need of those of its arguments that stay the same, and leaves it in |prepared|: the
 * descriptor's prepared_bytes, which runs then only read, any number at a time.  |arguments|: as for a run; those that
 * do not stay the same are not read and may be NULL.  |workspace| and |options|: as for a run.  Returns 0. */
typedef int (*XlacPrepareFunction)(const void *const *arguments, void *prepared, void *workspace,
                                   const struct XlacRunOptions *options);

typedef struct XlacDescriptor {
  uint64_t struct_size;
  uint32_t abi_version;
  uint32_t reserved;
  const char *module_name;
  int64_t parameter_count, result_count; /* leaves */
  const XlacTensor *parameters, *results;
  int64_t workspace_bytes; /* of the pointer |workspace|; 0: it may be NULL */
  int64_t workspace_alignment;
  int64_t scratch_bytes_per_worker; /* a multiple of 64; with parallel_for the workspace is longer by so many bytes for
                                       each worker but the first.  After the end of older descriptors: 0 */
  int64_t parameter_size_count, result_size_count; /* sizes set at run time; beyond the end of older descriptors: 0 */
  const XlacLeafSize *parameter_sizes, *result_sizes;
  const char *const *parameter_names; /* one C identifier for each leaf, all different: from its path in the program's
                                         arguments where the HLO has that ("params_w"), else from its HLO name.  After
                                         the end of older descriptors: there are none */
  /* What it takes to run on several devices; after the end of older descriptors: one device, no collectives. */
  int64_t replica_count, partition_count; /* the module runs on the product of both */
  int64_t collective_count;
  const XlacCollective *const *collectives; /* in the order of the program, those of called computations where they are
                                               called */
  uint64_t collective_hash; /* of them all: what objects for processors of several kinds have in common */
  /* 1: what a device computes decides which collectives it comes to, so that devices which go different ways may wait
   * for ever; 0: all come to all of them in one order.  After the end of older descriptors: 0. */
  int64_t are_collectives_conditional;
  /* Of the file with the module's large constants, which run options give (XlacConstants).  0, as after the end of
   * older descriptors: they are in the object. */
  int64_t constants_bytes;
  uint64_t constants_hash;
  /* What is computed once, before any run, of parameters that stay the same (xlac --prepare): the caller's memory for
   * it, at a multiple of |prepared_alignment|, which |prepare| fills and run options give.  0 and NULL, as after the
   * end of older descriptors: nothing is. */
  int64_t prepared_bytes, prepared_alignment;
  XlacPrepareFunction prepare;
} XlacDescriptor;

/* --- kernels of a vector processor --- */

/* Code for a target with an on-core Buffer consists of kernels; each is a list of commands on queues that work on the
 * Buffer, given out in an order with loops (the program order).  A caller that provides no engine gets program order on
 * the calling thread.  An engine can run the queues side by side, or look at every command: what follows is what the
 * object says about a kernel for that. */

typedef struct XlacOncoreLevel {
  int64_t count, stride; /* stride in bytes */
} XlacOncoreLevel;

#define XLAC_ONCORE_WRITES 1   /* an access that writes; else it reads */
#define XLAC_ONCORE_ANYWHERE 2 /* of any bytes of an object in memory: their addresses are found at run time */

/* The bytes [p + offset + sum of i_k * stride_k, + bytes) for 0 <= i_k < count_k, p being one of the command's
 * pointers. */
typedef struct XlacOncoreAccess {
  int32_t pointer, flags;
  int64_t offset, bytes;
  int64_t level_count;
  const XlacOncoreLevel *levels;
} XlacOncoreAccess;

/* A command with one size of its tiles. */
typedef struct XlacOncoreVariant {
  void (*function)(void *const *pointers, void *scratch); /* does it */
  double cycles;                                          /* of an operation, without the queue's setup */
  int64_t bytes, rows;                                    /* of a transfer */
  int64_t access_count;
  const XlacOncoreAccess *accesses;
} XlacOncoreVariant;

/* The command starts after an instance of |command| is complete: the |distance|-th before the latest one that comes
 * before it in program order; none if there were not so many. */
typedef struct XlacOncoreEdge {
  int64_t command, distance;
} XlacOncoreEdge;

/* More of an edge: |before| instances right before that one are waited for as well, where the producer's queue keeps no
 * order; and the command's own instance n, counted from 0, does not wait where n % period < first (period 0: all do).
 */
typedef struct XlacOncoreReach {
  int64_t before, period, first;
} XlacOncoreReach;

#define XLAC_ONCORE_BUFFER (-1)     /* a pointer into the Buffer */
#define XLAC_ONCORE_PARAMETERS (-2) /* a pointer to the instance's parameters */

typedef struct XlacOncoreCommand {
  const char *label, *verb;
  int32_t queue, is_transfer;
  int64_t pointer_count;
  const int64_t *objects; /* by pointer: the object that it points into, or one of the above */
  int64_t parameter_count;
  int64_t edge_count;
  const XlacOncoreEdge *edges;
  int64_t variant_count;
  const XlacOncoreVariant *variants;
} XlacOncoreCommand;

#define XLAC_ONCORE_INITIALISED 1  /* has contents when the kernel begins */
#define XLAC_ONCORE_READ_ONLY 2    /* is never written */
#define XLAC_ONCORE_WRITTEN_ONCE 4 /* every byte is written by exactly one command */
#define XLAC_ONCORE_TEMPORARY 8    /* the kernel's own: contents irrelevant before and after */

/* An array in memory. */
typedef struct XlacOncoreObject {
  const char *name;
  int64_t bytes, flags;
} XlacOncoreObject;

/* Where a kernel works; |scratch| is the host's stand-in for what operation units have inside, each queue has its own
 * part. */
typedef struct XlacOncoreContext {
  void *buffer;
  void *const *objects;   /* by object */
  const int64_t *scalars; /* numbers known at entry */
  void *scratch;
} XlacOncoreContext;

/* What the functions of single queues call: before a command, that |count| commands of |queue| are complete; after one,
 * that another one of |queue| is. */
typedef struct XlacOncoreSync {
  void *data;
  void (*wait)(void *data, int64_t queue, int64_t count);
  void (*publish)(void *data, int64_t queue);
} XlacOncoreSync;

/* Told of every command in program order; pointers to parameters are NULL and stand in |parameters|. */
typedef void (*XlacOncoreRecord)(void *data, int64_t command, int64_t variant, void *const *pointers,
                                 const int64_t *parameters);

/* An array that is in the Buffer when the kernel begins (INITIALISED) or when it ends: kernels before and after it know
 * it there.  Those that begin at the same byte are one. */
typedef struct XlacOncoreResident {
  const char *name;
  int64_t begin, bytes; /* in the Buffer */
  int64_t flags;        /* as an object's */
} XlacOncoreResident;

typedef struct XlacOncoreKernel {
  uint64_t struct_size;
  const char *name;
  int64_t buffer_bytes, buffer_alignment;
  int64_t scratch_bytes_per_queue;
  int64_t queue_count;
  const char *const *queue_names;
  int64_t object_count;
  const XlacOncoreObject *objects;
  int64_t command_count;
  const XlacOncoreCommand *commands;
  void (*run)(const XlacOncoreContext *context); /* everything in program order */
  /* by queue: its commands alone */
  void (*const *queues)(const XlacOncoreContext *context, const XlacOncoreSync *sync);
  void (*trace)(const XlacOncoreContext *context, void *data, XlacOncoreRecord record); /* does nothing itself */
  /* By command and variant: descriptors that the machine needs for a transfer, of any number of levels.  After the end
   * of older kernels, or NULL: 1 each. */
  const int64_t *const *descriptors;
  /* By command: what comes after it starts when all commands before it of queue q are complete, for each bit q; it does
   * nothing and has no variants.  0: it is no barrier.  After the end of older kernels, or NULL: there are none. */
  const uint64_t *barriers;
  const XlacOncoreReach *const *reaches; /* by command and edge.  After the end of older kernels, or NULL: all zero */
  /* Bytes of the Buffer with contents of the kernel's own; it touches none outside of these and of its residents. After
   * the end of older kernels: all of the Buffer is its own, and nothing is resident. */
  int64_t own_begin, own_end;
  int64_t resident_count;
  const XlacOncoreResident *residents;
} XlacOncoreKernel;

/* Command |command| of |queue| of launch |launch| starts after command |from_command| of |from_queue| of the launch
 * |back| before that one is complete.  Launches are counted from 0 in their run, commands from 0 in their launch's
 * program order, each queue's by themselves. */
typedef struct XlacOncoreLink {
  int32_t launch, queue, command;
  int32_t back, from_queue, from_command;
} XlacOncoreLink;

/* Launches that come one after the other and need not wait for one another to end.  A command may start before those of
 * earlier launches are complete, as queues, which go on in program order from launch to launch, edges of its own launch
 * and |links| allow.  An engine may let each launch end before the next one begins all the same, as launches do that
 * are in no run. */
typedef struct XlacOncoreRun {
  uint64_t struct_size;
  int64_t launch_count;
  int64_t link_count;
  const XlacOncoreLink *links; /* by launch, and there by command in program order */
} XlacOncoreRun;

/* --- calls out of the module --- */

/* What a module's function returns when a call out of it fails. */
#define XLAC_CALL_FAILED 1

typedef struct XlacFailure {
  const char *instruction; /* its name in the HLO */
  const char *callee;      /* a custom call's target, or the instruction's opcode */
  const char *message;     /* what the callee says; valid until on_failure returns */
} XlacFailure;

typedef enum XlacTransferKind { XLAC_INFEED = 1, XLAC_OUTFEED, XLAC_SEND, XLAC_RECV } XlacTransferKind;

/* Data to or from the host: infeed, outfeed, and the sends and receives that are host transfers. */
typedef struct XlacTransfer {
  int32_t kind; /* XlacTransferKind */
  int32_t reserved;
  const char *instruction; /* its name in the HLO */
  const char *config;      /* infeed_config or outfeed_config; of sends and receives the frontend attribute
                              _xla_host_transfer_rendezvous; "" without */
  int64_t channel_id;      /* of sends and receives */
  int64_t leaf_count;
  const XlacTensor *leaves; /* what they are; their names are empty */
  void *const *data;        /* each leaf's bytes: to be filled by infeed and recv, only read for outfeed and send */
} XlacTransfer;

/* What the caller may provide; NULL stands for all defaults. */
typedef struct XlacRunOptions {
  uint64_t struct_size;
  uint32_t abi_version;
  uint32_t reserved;
  void *user_data;
  /* Runs body(context, i, worker) once for each i in [0, n), in any order and in parallel, and returns when all are
   * done; what the bodies wrote is then visible to the caller.  |worker| is in [0, worker_count), and bodies of one
   * call that run at the same time have different ones: each has scratch of its own.  Results have the same bits
   * whatever parallel_for and worker_count are.  NULL: one thread. */
  void (*parallel_for)(void *user_data, void (*body)(void *context, int64_t index, int64_t worker), void *context,
                       int64_t n);
  int64_t worker_count; /* with parallel_for at least 1 */
  /* Executes a kernel of a vector processor and returns 0; anything else ends the module's function with that value.
   * NULL: kernel->run(context). */
  int (*oncore_launch)(void *oncore_data, const XlacOncoreKernel *kernel, const XlacOncoreContext *context);
  void *oncore_data;
  /* Is told why before the function returns XLAC_CALL_FAILED, from the calling thread.  NULL: it is not told. */
  void (*on_failure)(void *failure_data, const XlacFailure *failure);
  void *failure_data;
  /* Does a transfer, from the calling thread, in the order of the module's tokens; returns NULL, or why it cannot,
   * valid until on_failure returns.  NULL: transfers fail. */
  const char *(*transfer)(void *transfer_data, const XlacTransfer *transfer);
  void *transfer_data;
  /* Of a module on several devices: which of them this is, and how it reaches the others.  NULL: collectives fail. */
  int64_t device;
  const XlacCommunication *communication;
  /* The file of the module's large constants in memory, at a multiple of XLAC_CONSTANTS_ALIGNMENT, only read
   * (xlac/constants.h maps it).  NULL: a module that has one fails. */
  const XlacConstants *constants;
  /* Is told that the next launches are |run|, which stays as it is.  NULL: it is not told, and launches end before
   * others begin. */
  void (*oncore_run)(void *oncore_data, const XlacOncoreRun *run);
  /* What the descriptor's |prepare| has computed, only read.  NULL: a module that has it fails. */
  const void *prepared;
} XlacRunOptions;

/* A compiled module.  |arguments| and |results|: one pointer per leaf in the descriptor's order, overlapping only for
 * alias pairs.  Parameters that are not aliased are only read.  |workspace|: workspace_bytes of scratch, contents
 * irrelevant before and after; where options->parallel_for is given, workspace_bytes + (worker_count - 1) *
 * scratch_bytes_per_worker.  Re-entrant, allocates nothing.  Returns 0, or XLAC_CALL_FAILED when a call out of the
 * module failed, or what oncore_launch returned; then results are unspecified. */
typedef int (*XlacFunction)(const void *const *arguments, void *const *results, void *workspace,
                            const XlacRunOptions *options);

#ifdef __cplusplus
}
#endif

#endif
