/* From options by name to CompilationOptions. */
#ifndef XLAC_COMPILER_OPTIONS_COMPILATION_SETUP_H
#define XLAC_COMPILER_OPTIONS_COMPILATION_SETUP_H

#include "compiler/compilation_options.h"
#include "compiler/options/option_table.h"

/* What the options say, but for what files hold: the machine of --target, the plans of --plan.  In |arena|. */
CompilationOptions compilation_setup(Arena *arena, const Options *options);

/* Whether options ask for what is told while a module is compiled, or for a file that a compile cache does not know:
 * then no cache is used. */
bool options_ask_for_compilation(const Options *options);
/* --cache-limit, or the usual one. */
int64_t options_cache_limit(const Options *options);

/* What can be said before any file is read: STATUS_INVALID for options that name no pass. */
MUST_USE Status compilation_setup_check(Arena *arena, const Options *options, DiagSink *diag);

#endif
