/* Weights: the arrays of a .safetensors or .npz file, mapped into memory, as arguments of a compiled module.
 *
 *   char why[256];
 *   XlacWeights *weights = xlac_weights_open("model.safetensors", why, sizeof why);
 *   const void *arguments[MODEL_ARGUMENTS] = {NULL};
 *   if (weights == NULL || xlac_weights_bind(weights, "params", descriptor, arguments, why, sizeof why) < 0)
 *     return fail(why);
 *   arguments[MODEL_ARGUMENT_x] = x;   ... what the file does not have; then call the module ...
 *   xlac_weights_close(weights);
 *
 * Arrays stay where they are in the file: its pages are read when the module touches them.  Only those that do not lie
 * at a multiple of their element's size are copied (.npz does not care where its members begin, .safetensors mostly
 * does).  A module may write on what it was given (donated arguments): the process then has pages of its own, the file
 * stays as it is.  Members of an .npz have to be stored, as numpy.savez does; compressed ones are an error.
 *
 * Names are compared as C identifiers, as a module's header has them: stretches of letters and digits joined by '_',
 * so that "params['layer_1']['w']", "params.layer_1.w" and "params/layer_1/w" are all params_layer_1_w.
 *
 * Needs POSIX and a little-endian machine.  Everything about one XlacWeights but its end may be done by several threads
 * at once. */
#ifndef XLAC_WEIGHTS_H
#define XLAC_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "xlac/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef struct XlacWeights XlacWeights;

/* An array; all it points to lives as long as the XlacWeights. */
typedef struct XlacWeight {
  const char *name; /* in the file; of an .npz without ".npy" */
  int32_t type;     /* XlacType; 0: one that no module takes as it stands in the file */
  int32_t rank;
  const int64_t *dims;
  int32_t column_major; /* the first dimension is the fastest (an .npz only); 0: the last one */
  int32_t reserved;
  void *data; /* aligned for its elements */
  int64_t bytes;
} XlacWeight;

/* NULL when |path| cannot be read or is no such file, which |message|, of |message_size| bytes, then says; it may be
 * NULL. */
XlacWeights *xlac_weights_open(const char *path, char *message, size_t message_size);

/* Also for NULL. */
void xlac_weights_close(XlacWeights *weights);

/* In the order of the file. */
int64_t xlac_weights_count(const XlacWeights *weights);
const XlacWeight *xlac_weights_at(const XlacWeights *weights, int64_t index);

/* The array called |name|, or else the first that is as a C identifier; NULL: there is none. */
const XlacWeight *xlac_weights_find(const XlacWeights *weights, const char *name);

/* For each leaf of the module's parameters that the file has, arguments[leaf] = its bytes; others are left as they are.
 * A leaf is found by its name in the descriptor (parameter_names), or without |prefix|, which begins the names of those
 * that the file has: with "params", params_layer_1_w is also "layer_1.w".  "" or NULL: none.
 * Returns how many were found; -1 when one has another type, shape or layout than the module wants, or when two arrays
 * of the file have the name, which |message| then says, and nothing is set. */
int64_t xlac_weights_bind(const XlacWeights *weights, const char *prefix, const XlacDescriptor *descriptor,
                          const void **arguments, char *message, size_t message_size);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
