/* RunTouches: which bytes of memory the Kernels of a computation touch, in order, and where a run ends.
 *
 * Loops may be opened: then the events of a body stand where its loop does, once. */
#ifndef XLAC_CODEGEN_ONCORE_RUN_RUN_TOUCHES_H
#define XLAC_CODEGEN_ONCORE_RUN_RUN_TOUCHES_H

#include "base/hash_map.h"
#include "codegen/kernel/kernel_strip.h"
#include "codegen/oncore/run/residency.h"

/* A Kernel, or an instruction that is none and touches arrays. */
typedef struct RunEvent {
  const HloInstruction *instruction;
  const KernelUse *use; /* NULL: no Kernel */
  bool ends_run;        /* no Kernel, and more than the scalar unit's work: a loop, a branch, a call */
  int32_t loop;         /* the innermost opened one that it is in, -1: none */
  int32_t next;         /* the next event of the instruction, -1: none */
} RunEvent;

/* An opened loop: its condition is the scalar unit's alone. */
typedef struct RunLoop {
  const HloInstruction *loop;
  int32_t outer;      /* the opened one that it is in, -1: none */
  int32_t first, end; /* events of its body: [first, end), which may be none */
} RunLoop;

typedef struct RunTouch {
  int32_t event, buffer;        /* of the Kernel; -1: of no Kernel */
  const HloInstruction *holder; /* the instruction whose leaf |node| it is */
  int node;
  int32_t allocation;
  int64_t offset, bytes;
  int32_t slice; /* a number for these very bytes, dense from 0 */
  bool reads, writes;
  bool may_stay; /* all of an array, in a way that it may be resident (plan_may_keep) */
} RunTouch;

typedef struct RunTouches {
  const HloComputation *computation;
  ARRAY(RunEvent) events;
  ARRAY(RunTouch) touches; /* by event, what it reads first */
  ARRAY(RunLoop) loops;    /* an outer one before those in it, else by time */
  IntMap event_of;         /* instruction → its first event (RunEvent.next) */
  const int32_t *begins;   /* by event, and after the last: its first touch */
  const int32_t *ends;     /* by event, and after the last: how many before it end a run */
  int32_t slice_count;
} RunTouches;

/* Whether |loop| can be opened. */
bool run_touches_may_open(const KernelTable *kernels, const HloInstruction *loop);

/* Of |computation|, one of |placed|, in |arena|.  |opens_loops|: those that can be; others end a run. */
void run_touches_find(Arena *arena, const PlacedModule *placed, const HloComputation *computation,
                      const ResidencyModel *model, bool opens_loops, RunTouches *out_touches);

/* The row of |kernels| that the Kernel of |event| is run in. */
int64_t run_touches_row(const RunTouches *touches, const KernelTable *kernels, int32_t event);

/* Whether the two have bytes in common. */
bool run_touches_meet(const RunTouch *a, const RunTouch *b);

/* Whether no strip of the Kernel at |event|, cut by |way|, overwrites what a later strip reads, in whatever order
 * strips run: a result may share its memory with an operand.  |pieces|, by its buffers: bytes, or elements, that are
 * one point's alone, 0: strips have all of it (kernel_strip_dim). */
bool run_touches_may_cut(const RunTouches *touches, int32_t event, KernelCutWay way, const int64_t *pieces);

#endif
