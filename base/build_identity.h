/* Which build of a program or library code belongs to: the linker's build identifier (the note NT_GNU_BUILD_ID, a
 * digest of all that was linked), by which what one build made is told from what another would. */
#ifndef XLAC_BASE_BUILD_IDENTITY_H
#define XLAC_BASE_BUILD_IDENTITY_H

#include "base/string_view.h"

/* The identifier, some bytes that are no text, of the program or library in this process that has |address| in it, a
 * function's or an object's; they live as long as it is loaded.  Empty: it was linked without one. */
StringView build_identity_of(const void *address);

#endif
