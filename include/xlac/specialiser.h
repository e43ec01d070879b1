/* One function for arguments of any size: what it computes is built, and compiled, when arguments of a new signature
 * (element types and dimensions) come, and kept.
 *
 *   static XlacStatus build(void *data, XlacBuilder *builder, XlacComputation *entry, XlacOp *const *parameters,
 *                           const XlacArrayType *types, int64_t count) {
 *     return xlac_builder_apply(builder, entry, "add", parameters, 2, NULL);
 *   }
 *   ...
 *   xlac_specialiser_create(client, NULL, "sum", build, NULL, &sum);
 *   xlac_specialiser_get(sum, types, 2, &executable);
 *   xlac_executable_run(executable, arguments, results, NULL, NULL);
 *
 * A specialiser may be used by any number of threads at once: each signature is compiled once, whoever asks for it
 * meanwhile waits.  A signature that cannot be compiled fails again without another try, unless it was for a lack of
 * memory, a file or a cancellation.  What is kept goes when the specialiser is destroyed. */
#ifndef XLAC_SPECIALISER_H
#define XLAC_SPECIALISER_H

#include <stdint.h>

#include "xlac/builder.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef struct XlacSpecialiser XlacSpecialiser;

/* Of an argument. */
typedef struct XlacArrayType {
  int32_t type; /* XlacType */
  int32_t rank;
  const int64_t *dims;
} XlacArrayType;

/* Adds to |entry|, which has |parameters| of |types| already, what the function computes; its latest instruction, or
 * the one that is made its root, is the result.  Anything but XLAC_STATUS_OK: the signature fails with it.  May be
 * called from several threads at once, each with a builder of its own. */
typedef XlacStatus (*XlacBuildFunction)(void *data, XlacBuilder *builder, XlacComputation *entry,
                                        XlacOp *const *parameters, const XlacArrayType *types, int64_t count);

/* |name| is the module's; |options| (NULL: none is set) must stay as they are until the end.  Ended by
 * xlac_specialiser_destroy, before its client. */
XlacStatus xlac_specialiser_create(XlacClient *client, const XlacOptions *options, const char *name,
                                   XlacBuildFunction build, void *data, XlacSpecialiser **out_specialiser);
/* With all executables that it gave. */
void xlac_specialiser_destroy(XlacSpecialiser *specialiser);

/* The executable for arguments of |types|, which is the specialiser's. */
XlacStatus xlac_specialiser_get(XlacSpecialiser *specialiser, const XlacArrayType *types, int64_t count,
                                XlacExecutable **out_executable);

typedef struct XlacSpecialiserStatistics {
  uint64_t struct_size;
  int64_t calls;        /* of xlac_specialiser_get */
  int64_t compilations; /* those that succeeded: the signatures that are kept */
  int64_t failures;
  int64_t object_bytes; /* of the code that is kept */
  double seconds;       /* of building and compiling, failures included */
} XlacSpecialiserStatistics;

/* Fills |out_statistics| as far as its struct_size goes. */
void xlac_specialiser_statistics(XlacSpecialiser *specialiser, XlacSpecialiserStatistics *out_statistics);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
