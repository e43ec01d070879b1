/* --emit=shared: an object as a shared library, linked by the system's linker. */
#ifndef XLAC_CLI_LINK_SHARED_H
#define XLAC_CLI_LINK_SHARED_H

#include "cli/driver.h"

/* The driver of the C compiler for the compilation's machine: "gcc", "riscv64-linux-gnu-gcc". */
const char *link_compiler(const Session *session);

/* The library of the compilation's object, to be called |path|, which its own name (soname) ends; in |out_bytes|.
 * Custom calls stay undefined symbols.  STATUS_IO, at the module's place, when there is no linker or it fails; what it
 * says goes to standard error. */
MUST_USE Status link_shared(Session *session, const char *path, StringView *out_bytes);

#endif
