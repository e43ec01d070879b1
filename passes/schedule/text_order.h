/* The order that the text of a scheduled module gives.
 *
 * An instruction of the text, or one that a pass made of such and gave its location (hlo_instruction_inherit_metadata),
 * runs where the text has it; the results of inlined calls and fusions run where those stood, a fusion that a pass
 * makes where its last instruction did.  Any other, and the rest of what was inlined, runs right before its first
 * reader. Where an earlier one came to read a later one, that runs earlier. */
#ifndef XLAC_PASSES_SCHEDULE_TEXT_ORDER_H
#define XLAC_PASSES_SCHEDULE_TEXT_ORDER_H

#include "passes/schedule/schedule_model.h"

/* All nodes of |model|, made of |computation|, predecessors first. */
const int32_t *text_order(const ScheduleModel *model, const HloComputation *computation);

#endif
