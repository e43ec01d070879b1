/* LoopState: a while whose state is a tuple, and edits of that tuple on all sides at once: init, condition, body, and
 * what reads the result. */
#ifndef XLAC_PASSES_CONTROL_LOOP_STATE_H
#define XLAC_PASSES_CONTROL_LOOP_STATE_H

#include "passes/control/call_sites.h"
#include "passes/control/tuple_edit.h"

typedef struct LoopState {
  HloInstruction *loop;
  HloComputation *condition, *body;
  HloInstruction *init;                    /* a tuple instruction */
  HloInstruction *root;                    /* the body's, a tuple that nothing else reads */
  HloInstruction *outside, *inside, *test; /* the tuple as the parent, the body and the condition see it */
  int count;                               /* elements */
  bool is_read_whole;                      /* by other than get-tuple-element, or it is the parent's root */
} LoopState;

/* False where the loop is built otherwise, shares its computations, or reads its state inside by other than
 * get-tuple-element. */
bool loop_state_read(HloInstruction *loop, const CallSites *sites, LoopState *out_state);

/* The body hands element |index| on as it came. */
bool loop_state_is_invariant(const LoopState *state, int index);

/* Readers of the whole result, the parent's root included, get a tuple of its elements instead: then each element can
 * be replaced by itself. */
void loop_state_unpack(LoopState *state, Arena *scratch);

/* A loop in place of state->loop, with the elements of |kept| (as many flags as elements; all when it is read whole)
 * and, after them, |added| ones that stay as they are.  |out_inside|: what these are called in the body.  The old loop
 * and what only it needed are dead afterwards and must be removed (hlo_computation_remove_dead).  |state| describes the
 * new loop. */
void loop_state_rebuild(LoopState *state, const bool *kept, HloInstruction *const *added, int added_count,
                        HloInstruction **out_inside, Arena *scratch);

#endif
