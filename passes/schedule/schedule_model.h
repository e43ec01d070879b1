/* ScheduleModel: what an order of a computation's instructions costs in memory, without placement.
 *
 * Every array leaf that an instruction makes is a buffer; forwarding instructions (tuple, get-tuple-element, views …)
 * and updates in place pass buffers on, and a result may be written over an operand that dies
 * (hlo/analysis/in_place.h).  A buffer lives from its definition to its last reader; parameters and constants cost
 * nothing, what the root returns lives to the end.  While an instruction runs that calls computations, the largest of
 * their peaks comes on top. */
#ifndef XLAC_PASSES_SCHEDULE_SCHEDULE_MODEL_H
#define XLAC_PASSES_SCHEDULE_SCHEDULE_MODEL_H

#include "hlo/ir/hlo_module.h"

#define SCHEDULE_MAX_OVERWRITABLE 2

typedef struct ScheduleNode {
  HloInstruction *instruction;
  int64_t defined_bytes;       /* of the buffers made here */
  int64_t called_bytes;        /* the largest peak among called computations */
  int32_t predecessor_count;   /* distinct operands and control predecessors */
  const int32_t *predecessors; /* node numbers */
  int32_t successor_count;
  const int32_t *successors;
  int32_t read_count;
  const int32_t *reads; /* distinct buffers read, by number */
  int32_t leaf_count;
  const int32_t *leaves; /* the buffer at each leaf of the result; -1: none that costs anything */
  int32_t overwritable_count;
  int32_t overwritable[SCHEDULE_MAX_OVERWRITABLE]; /* buffers of the result's size that it may be written over */
} ScheduleNode;

typedef struct ScheduleBuffer {
  int64_t bytes;
  int32_t reader_count; /* nodes that read it, plus one for the caller if the root returns it */
  const int32_t *readers;
} ScheduleBuffer;

/* Nodes are numbered in post-order, so predecessors have smaller numbers. */
typedef struct ScheduleModel {
  Arena *arena;
  int32_t node_count, buffer_count;
  ScheduleNode *nodes;
  ScheduleBuffer *buffers;
} ScheduleModel;

/* |peaks|: computation id → bytes of computations done already. */
ScheduleModel *schedule_model_create(Arena *arena, const HloComputation *computation, const IntMap *peaks);

/* Memory while the nodes run one after the other. */
typedef struct ScheduleWalk {
  const ScheduleModel *model;
  int32_t *unread; /* per buffer: readers still to come */
  int64_t live, peak;
} ScheduleWalk;

/* At the start, where nothing is live. */
ScheduleWalk schedule_walk_create(const ScheduleModel *model, Arena *arena);
/* Back to the start. */
void schedule_walk_begin(ScheduleWalk *walk);
/* What node |number| would need if it ran now, and by how much it would change what is live after it. */
void schedule_walk_cost(const ScheduleWalk *walk, int32_t number, int64_t *out_during, int64_t *out_growth);
void schedule_walk_step(ScheduleWalk *walk, int32_t number);

/* The largest number of live bytes under |order| (node numbers, predecessors first). */
int64_t schedule_model_peak(const ScheduleModel *model, const int32_t *order);

#endif
