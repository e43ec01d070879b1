/* BufferAssignment: where every value of a module lives.  The result of passes/buffers, read by codegen and the
 * reports.
 *
 * Positions in tuples are named by node numbers (shape_node in hlo/type/shape.h): node 0 is the shape itself.  Only
 * array leaves have bytes in xlac: tuples are not materialised as pointer tables (codegen addresses the leaves), tokens
 * have size 0. */
#ifndef XLAC_HLO_ANALYSIS_BUFFER_ASSIGNMENT_H
#define XLAC_HLO_ANALYSIS_BUFFER_ASSIGNMENT_H

#include "hlo/ir/hlo_module.h"

/* One value: defined at one position, seen at several. */
typedef struct BufferPosition {
  const HloInstruction *instruction;
  int node;
} BufferPosition;

typedef struct BufferUse {
  const HloInstruction *user;
  int operand; /* operand number */
  int node;    /* position within that operand's shape */
} BufferUse;

typedef struct BufferLiveRange {
  int64_t from, to;   /* positions, both inclusive */
  int64_t dead_after; /* the position after which nothing needs the bytes; -1: they are handed on (to what a loop or a
                         branch enters or returns, to a later range, to the caller) */
} BufferLiveRange;

typedef struct HloValue {
  int32_t id; /* dense */
  bool is_phi;
  bool live_out; /* of the entry computation */
  BufferPosition definition;
  int64_t size; /* bytes */
  int32_t position_count, use_count;
  const BufferPosition *positions; /* the definition first */
  const BufferUse *uses;
  int32_t buffer;             /* index of the HloBuffer it belongs to */
  int64_t live_from, live_to; /* positions in the flattened schedule, both inclusive */
  int32_t range_count; /* mostly 1; a value that several branches of a conditional read and nothing after them is not
                          alive from its last read in one to the beginning of the next */
  const BufferLiveRange *ranges;
} HloValue;

/* Values that must share memory. */
typedef struct HloBuffer {
  int32_t id; /* dense */
  int32_t value_count;
  const int32_t *values;
  int64_t size; /* the largest of its values */
  int64_t alignment;
  int64_t colour; /* memory space */
  int32_t allocation;
  int64_t offset;     /* in the allocation */
  const char *reason; /* why it is where it is, one sentence, for the reports */
} HloBuffer;

typedef enum AllocationKind {
  ALLOCATION_PARAMETER, /* the caller's argument.  With |result| >= 0 (donated) the address is results[result]: the
                           caller passes one pointer as both, or declines by passing two, and then the argument is
                           copied there first */
  ALLOCATION_RESULT,    /* the caller's result buffer */
  ALLOCATION_PREPARED,  /* what is computed once, before any run (HloModule.preparation), in memory of the caller that a
                           run only reads, at |prepared_offset| */
  ALLOCATION_CONSTANT,  /* in the object */
  ALLOCATION_TEMP       /* in the workspace, at |workspace_offset| */
} AllocationKind;

typedef struct BufferAllocation {
  int32_t index;
  AllocationKind kind;
  int64_t size, alignment, colour;
  int64_t parameter; /* PARAMETER: leaf number over all parameters, depth first (nodes that are no tuples); else -1 */
  int64_t result;    /* leaf number over the entry result, -1 when none; set as well for an aliased parameter */
  const HloInstruction *constant; /* CONSTANT */
  int64_t workspace_offset;       /* TEMP */
  int64_t prepared_offset;        /* PREPARED: of |prepared|, its number; else -1 */
  int64_t prepared;
  bool is_entry_parameter_donated; /* PARAMETER that may be written */
  int32_t buffer_count;
  const int32_t *buffers;
} BufferAllocation;

/* Why an instruction of opcode copy is there, or cannot be spared. */
typedef struct BufferCopyReason {
  const HloInstruction *copy;
  const char *reason;
} BufferCopyReason;

/* Memory that the code of one instruction needs while it runs, beside what it reads and makes (packed panels, rows, an
 * on-core Buffer). */
typedef struct HloScratch {
  int64_t bytes;
  int64_t bytes_per_worker; /* again for each further thread; 0: one thread does it all */
} HloScratch;

/* How much it may be, where there is a slower way that needs less. */
typedef struct HloScratchLimit {
  int64_t bytes;       /* of each instruction; 0: any */
  const int64_t *room; /* by id: bytes that an instruction may need even so; NULL: none */
  const int64_t *free; /* by id: bytes that others need at another time; NULL: none costs anything */
} HloScratchLimit;

/* What code generation needs of memory beside the values.  Passes know no Kernels: the compilation answers, once the
 * module's instructions and their order are final. */
typedef struct HloScratchModel {
  void *self;
  /* |module| will not change any more; what is asked of its instructions is prepared.  Errors are located. */
  Status (*begin)(void *self, const HloModule *module, const HloScratchLimit *limit, DiagSink *diag);
  HloScratch (*of)(void *self, const HloInstruction *instruction);
} HloScratchModel;

/* Its place in the workspace, taken at one position of the schedule alone. */
typedef struct BufferScratch {
  const HloInstruction *instruction;
  int64_t position, size;
  int32_t allocation; /* TEMP of ordinary memory */
  int64_t offset;     /* in it, a multiple of 64 */
} BufferScratch;

typedef struct BufferSlice {
  const BufferAllocation *allocation;
  int64_t offset, size;
} BufferSlice;

typedef struct BufferAssignment {
  int32_t value_count, buffer_count, allocation_count;
  HloValue *values;
  HloBuffer *buffers;
  BufferAllocation *allocations;
  int64_t workspace_bytes; /* all TEMP allocations together: temporaries and scratch of one thread */
  int64_t resident_bytes; /* of these the last, in use all through a run: a vector processor's Buffer, where arrays stay
                             in it from Kernel to Kernel; no allocation */
  int64_t workspace_alignment;
  int64_t lower_bound_bytes; /* no placement needs a smaller workspace under this schedule, wherever guests live */
  int64_t argument_bytes, result_bytes, constant_bytes, aliased_bytes;
  int64_t prepared_bytes; /* all PREPARED allocations together */
  int64_t schedule_length;
  const HloInstruction *const *schedule; /* flattened: callees before their caller's instruction */
  int32_t scratch_count;
  BufferScratch *scratches;         /* in order of the schedule */
  int64_t scratch_bytes_per_worker; /* after the workspace, for each further thread: one instruction runs at a time */
  int32_t copy_count;
  const BufferCopyReason *copies; /* in order of the schedule */
  int64_t peak_position;          /* the first place in the schedule where live temporary bytes are at their maximum */
  void *index;                    /* private: position → value (buffer_assignment_index.h) */
} BufferAssignment;

/* The value seen at a position, or NULL (tuple nodes, tokens and instructions inside fusions have none). */
const HloValue *buffer_assignment_value(const BufferAssignment *assignment, const HloInstruction *instruction,
                                        int node);

/* The shape a value is made with (other positions may show it under another one with as many bytes). */
const Shape *hlo_value_shape(const HloValue *value);

/* Whether one of its live ranges holds |position| of the schedule. */
bool hlo_value_is_live_at(const HloValue *value, int64_t position);

/* When |buffer| holds something, as uninterrupted stretches of schedule positions, rising, in |arena|; how many. */
int32_t buffer_assignment_stretches(const BufferAssignment *assignment, const HloBuffer *buffer, Arena *arena,
                                    const BufferLiveRange **out_stretches);

/* Of the caller's memory beside the workspace: arguments, results (those in donated arguments once), what is prepared.
 */
int64_t buffer_assignment_outside_bytes(const BufferAssignment *assignment);

/* The scratch of |instruction|, NULL when it needs none. */
const BufferScratch *buffer_assignment_scratch(const BufferAssignment *assignment, const HloInstruction *instruction);

/* Where a leaf lives; {NULL, 0, 0} when it has no bytes. */
BufferSlice buffer_assignment_slice(const BufferAssignment *assignment, const HloInstruction *instruction, int node);

/* Proves the plan from the module alone: recomputes liveness, checks that buffers that are live together do not
 * overlap, bounds, alignment, read-only parameters and constants unwritten, must-alias positions (while state, branch
 * results, in-place operands, header aliases) at one address, each result leaf in its own result buffer, scratch on
 * nothing that is alive. */
MUST_USE Status buffer_assignment_verify(const BufferAssignment *assignment, const HloModule *module, DiagSink *diag);

#endif
