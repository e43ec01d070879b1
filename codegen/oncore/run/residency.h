/* Residency: which arrays stay in the Buffer from Kernel to Kernel.
 *
 * A *run* is a sequence of Kernels of one computation without anything else between them that touches arrays.  Within a
 * run bytes of memory (a slice of an allocation) may have a stand-in in the Buffer, from the Kernel that makes or first
 * reads them to the last one that reads them: what Kernels make then goes to memory only where somebody else reads it,
 * and what they read comes from there once.  A loop whose condition is the scalar unit's alone is a part of the run
 * around it: what it only reads, and what one iteration hands on to the next, may be resident all through its
 * iterations, and from a Kernel or loop before it to one after it.  What is not there yet is loaded before the loop;
 * what somebody else reads is stored after it.
 *
 * What others do not change may also be there in part: its first elements stay, and the rest is loaded each time.
 *
 * Chosen greedily, the most cycles saved per byte and Kernel that it stays first, as long as the tiles of all Kernels
 * meanwhile find room, some in plans that are made for less of it; what does not find room in all of its stretch stays
 * in parts of that; placed as buffers of one more memory (base/packing); kept where the plans then take fewer cycles.
 * Tiles of Kernels that follow one another are laid apart, so that their loads do not wait for one another. */
#ifndef XLAC_CODEGEN_ONCORE_RUN_RESIDENCY_H
#define XLAC_CODEGEN_ONCORE_RUN_RESIDENCY_H

#include "codegen/kernel/kernel_table.h"
#include "codegen/oncore/run/plan_keep.h"
#include "hlo/analysis/buffer_assignment.h"

/* What the choice goes by, besides the loads of an array by one Kernel after another. */
typedef struct ResidencyPolicy {
  bool brings_streams; /* operations may bring what was a stream of loads (plan_brings_stream) */
  bool sees_windows;   /* products see arrays in the Buffer where they are (plan_may_see) */
  bool counts_again;   /* what one Kernel loads again and again (plan_loads_again), it loads once where that stays */
  bool knows_held;     /* plans in less room are made knowing which arrays of a Kernel the Buffer has */
  bool refills;        /* what has room but finds no place leaves it to others, parts of it among them */
  bool takes_parts;    /* of what finds no room the first elements may stay, as many as do */
} ResidencyPolicy;

/* A scheduled module whose values have places, its Kernels, and the machine that these are planned for. */
typedef struct PlacedModule {
  const HloModule *module;
  const BufferAssignment *assignment;
  const KernelTable *kernels;
  const MachineDescription *machine;
} PlacedModule;

/* What is known of the plans of uses. */
typedef struct ResidencyModel {
  void *self;
  ResidencyPolicy policy;
  /* The plan of |use| with nothing resident; NULL: it has none, or one that is not to be changed. */
  const Plan *(*plan)(void *self, const KernelUse *use);
  /* The same in |room|; NULL: there is none, or it is not worth its making. */
  const Plan *(*plan_within)(void *self, const KernelUse *use, PlanRoom room);
  /* Cycles of |use| under |interface|, proved; infinity: there is no such plan. */
  double (*cycles)(void *self, const KernelUse *use, const PlanInterface *interface);
  /* Whether |use| finds or leaves its |buffer| in the Buffer by what is chosen with no Kernel cut; only asked where
   * Kernels are to be cut (run_strips.h, run_rounds.h). */
  bool (*keeps)(void *self, const KernelUse *use, int32_t buffer);
} ResidencyModel;

/* Of a run of Kernels, one with something resident around it, or with its tiles elsewhere than at the bottom. */
typedef struct ResidentUse {
  const KernelUse *use;
  PlanInterface interface;
} ResidentUse;

/* A leaf of a loop's state that is resident in its body and moved around it. */
typedef struct LoopResident {
  int node;
  int64_t begin;      /* in the Buffer */
  PrimitiveType type; /* of its elements; of complex ones, of their parts, as in Kernels */
  int64_t elements;   /* so many of |type| */
  bool is_loaded;     /* before the loop */
  bool is_stored;     /* after it */
} LoopResident;

typedef struct ResidentLoop {
  const HloInstruction *loop;
  int32_t count;
  const LoopResident *residents;
} ResidentLoop;

typedef struct Residency {
  bool lacks_room;  /* something has found none that a policy which knows what is held looks for */
  bool lacks_place; /* something has had room and found no place, which a policy that refills makes use of */
  bool may_part;    /* something has found none of which a part may stay, by a policy that takes parts */
  bool lacks_plan;  /* a strip, or a Kernel that is run elsewhere, has no plan for that: what is chosen is none */
  int64_t use_count, loop_count;
  const ResidentUse *uses;
  const ResidentLoop *loops;
} Residency;

/* Which arrays of |placed| stay, in |arena|.  Status as that of packing_solve. */
MUST_USE Status residency_choose(Arena *arena, const PlacedModule *placed, const ResidencyModel *model, DiagSink *diag,
                                 Residency *out_residency);

/* Whether |buffer| of the Kernel of |plan| may be resident by |model|'s policy. */
bool residency_may_keep(const ResidencyModel *model, const Plan *plan, int32_t buffer);

/* Cycles of moving |bytes| between memory and Buffer in one command. */
double residency_move_cycles(const MachineDescription *machine, int64_t bytes, bool loads);

#endif
