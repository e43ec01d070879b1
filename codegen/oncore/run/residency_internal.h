/* What the files of the choice of residents share. */
#ifndef XLAC_CODEGEN_ONCORE_RUN_RESIDENCY_INTERNAL_H
#define XLAC_CODEGEN_ONCORE_RUN_RESIDENCY_INTERNAL_H

#include "codegen/oncore/run/residency.h"
#include "codegen/oncore/run/run_candidates.h"

/* Plans in less than the Buffer are made for so many parts of it, beside arrays that it has for so many, and where what
 * finds room then saves more than one of so many parts of the Kernels' cycles. */
enum { ROOM_STEPS = 8, BESIDE_STEPS = 32, LEAST_SHARE = 1000 };

typedef ARRAY(RunCandidate *) CandidateArray;

/* The plan of an event in some room, and the bytes of its tiles. */
typedef struct EventPlan {
  PlanRoom room;
  const Plan *plan; /* NULL: there is none */
  int64_t bytes;
  int64_t *copied; /* by buffer: of those that are copies of it, -1: not known yet */
} EventPlan;

typedef ARRAY(EventPlan *) EventPlans;

/* One choice. */
typedef struct Chooser {
  Arena *arena;
  const PlacedModule *placed;
  const ResidencyModel *model;
  DiagSink *diag;
  const double *times;
  RunTouches touches;                     /* of the computation at hand, with its loops opened */
  RunCandidates candidates;               /* of those */
  const RunCandidate **resident_of;       /* by touch: what is taken that its bytes are, NULL: nothing */
  int64_t *taken;                         /* by event: bytes of what is taken */
  CandidateArray *there;                  /* by event: what is taken, in the order of candidates */
  int64_t *bases, *limits;                /* by event: the most room between places of what is taken */
  int64_t *tiles;                         /* by event: where the Kernel's own tiles begin, there or further up */
  bool *sees;                             /* by event: its products see what is resident, if they can */
  PlanRoom *rooms;                        /* by event: what the Kernel's plan is made for */
  RunCandidate **order;                   /* what is taken, in an order of its user */
  RunCandidate **by_place;                /* of these, those that have a place, from the bottom up */
  int64_t *packed;                        /* by candidate: a place to go back to */
  EventPlans *plans;                      /* by event; found when asked for */
  bool lacks_room, lacks_place, may_part; /* as Residency says */
  bool lacks_plan;                        /* the same */
  bool has_dropped;                       /* settling has left room that is to be filled again */
  double estimate;                        /* cycles of all its Kernels in a run of the module, about */
  double *saved; /* by computation id: cycles in a run of the module; moves around a loop count with its body */
  ARRAY(ResidentUse) uses;
  ARRAY(ResidentLoop) loops;
} Chooser;

const RunTouch *residency_touch(const Chooser *chooser, int64_t number);

RunCandidate *residency_candidate(const Chooser *chooser, int64_t number);

/* Bytes of the Buffer that |candidate| takes. */
int64_t residency_aligned_bytes(const Chooser *chooser, const RunCandidate *candidate);

/* The plan that |event| has at present; NULL: none that may be changed. */
const Plan *residency_plan(const Chooser *chooser, int32_t event);

/* Bytes of the tiles of |event|'s Kernel that are gone: copies of residents. */
int64_t residency_replaced_bytes(const Chooser *chooser, int32_t event);

/* Of the same the buffers that stay whole, by bit, as PlanRoom has them: all of their tiles that are copies are gone.
 */
uint64_t residency_held_buffers(const Chooser *chooser, int32_t event);

/* Bytes of tiles that the Kernel of |event| has beside its residents. */
int64_t residency_own_bytes(const Chooser *chooser, int32_t event);

/* Whether |event| is a Kernel whose plan is not to be changed. */
bool residency_is_fixed(const Chooser *chooser, int32_t event);

void residency_set_taken(Chooser *chooser, RunCandidate *candidate, bool is_taken);

/* Cycles in a run of the module of the Kernels that touch |candidate| or have a place in |is_changed|, events from its
 * first on; what is taken is anywhere in the Buffer. */
double residency_trial_cycles(const Chooser *chooser, const RunCandidate *candidate, const bool *is_changed);

/* A plan for |event| whose tiles have room in |left| bytes and which goes through |walked| in order, as PlanRoom has
 * it: its own, where nothing is to be walked, or one that is made for about so many bytes; beside the arrays that are
 * resident there by a policy that knows what is held, and where something is to be walked; else, where parts are taken,
 * the one that it has.  False: there is none, and it has what it had. */
bool residency_find_room(Chooser *chooser, int32_t event, int64_t left, uint64_t walked);

/* Places what is taken, and finds |chooser->bases|, |limits| and |tiles|.  As base/packing says, in the least height;
 * or in another order, where more Kernels find room then. */
MUST_USE Status residency_place(Chooser *chooser);

/* Bytes of the most room between places of what is there at |event|. */
int64_t residency_room_left(const Chooser *chooser, int32_t event);

/* Whether a resident that is there at |event| lies beyond the Buffer's end: all of them have room, but not where they
 * are. */
bool residency_is_over(const Chooser *chooser, int32_t event);

/* Buffers of |event|'s Kernel of which a part stays, as PlanRoom has them. */
uint64_t residency_walked(const Chooser *chooser, int32_t event);

/* Takes as many of the first bytes of |candidate|, which has found no room, as do, beside tiles of the size that is
 * best; false where that saves too little, or Kernels are slower so. */
bool residency_take_part(Chooser *chooser, RunCandidate *candidate);

#endif
