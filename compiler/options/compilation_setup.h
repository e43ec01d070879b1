/* From the command line to CompilationOptions. */
#ifndef XLAC_COMPILER_OPTIONS_COMPILATION_SETUP_H
#define XLAC_COMPILER_OPTIONS_COMPILATION_SETUP_H

#include "cli/options.h"
#include "compiler/compilation_options.h"

/* What the options say, but for what files hold: the machine of --target, the plans of --plan.  In |arena|. */
CompilationOptions compilation_setup(Arena *arena, const Options *options);

#endif
