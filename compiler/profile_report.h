/* What each instruction of compiled code took, as JSON: a list, the longest first, and events for trace viewers. */
#ifndef XLAC_COMPILER_PROFILE_REPORT_H
#define XLAC_COMPILER_PROFILE_REPORT_H

#include "compiler/compilation.h"

/* |jit|: the code of |compilation|, whose option is 'profile'; |seconds|: of all its runs so far together, which took
 * as long as all its instructions.  Times are of all runs, without what an instruction calls in the list, with it in
 * the events, which lie one after the other as the code has them. */
MUST_USE Status profile_report(const Compilation *compilation, const CodegenJit *jit, double seconds,
                               StringBuilder *out);

#endif
