/* Constants: the file that 'xlac --constants=file' writes beside an object, mapped into memory.
 *
 *   char why[256];
 *   const XlacConstants *constants = xlac_constants_open("model.weights", &model_descriptor, why, sizeof why);
 *   if (constants == NULL) return fail(why);
 *   XlacRunOptions options = {.struct_size = sizeof options, .abi_version = XLAC_ABI_VERSION, .constants = constants};
 *   model(arguments, results, workspace, &options);   ... by any number of threads, any number of times ...
 *   xlac_constants_close(constants);
 *
 * Its pages are read when the module touches them, and are shared by all processes that map the file.  Needs POSIX and
 * a little-endian machine. */
#ifndef XLAC_CONSTANTS_H
#define XLAC_CONSTANTS_H

#include <stddef.h>

#include "xlac/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* NULL when |path| cannot be read, or is not the file that was written with the module of |descriptor|, which
 * |message|, of |message_size| bytes, then says; it may be NULL. */
const XlacConstants *xlac_constants_open(const char *path, const XlacDescriptor *descriptor, char *message,
                                         size_t message_size);

/* Also for NULL. */
void xlac_constants_close(const XlacConstants *constants);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
