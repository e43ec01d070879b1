/* Parts of an array that a loop updates and puts together again are updated in place. */
#ifndef XLAC_PASSES_CONTROL_STACKED_STATE_H
#define XLAC_PASSES_CONTROL_STACKED_STATE_H

#include "passes/control/control_walk.h"
#include "passes/control/loop_state.h"

/* Elements of |state| that are made so begin as what their parts are parts of; whether there were any.  Notes each. */
bool stacked_state_rewrite(ControlWalk *walk, LoopState *state);

#endif
