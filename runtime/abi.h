/* The C interface of compiled modules: what an object made by xlac exports, and what a caller passes.  Freestanding:
 * this header is all that a caller needs beside the module's own, and it changes only by adding fields at the end of
 * the sized structs. */
#ifndef XLAC_RUNTIME_ABI_H
#define XLAC_RUNTIME_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XLAC_ABI_VERSION 1

/* Element types, with the names of HLO.  Types narrower than a byte take one byte an element. */
typedef enum XlacType {
  XLAC_PRED = 1,
  XLAC_S1,
  XLAC_S2,
  XLAC_S4,
  XLAC_S8,
  XLAC_S16,
  XLAC_S32,
  XLAC_S64,
  XLAC_U1,
  XLAC_U2,
  XLAC_U4,
  XLAC_U8,
  XLAC_U16,
  XLAC_U32,
  XLAC_U64,
  XLAC_F16,
  XLAC_BF16,
  XLAC_F32,
  XLAC_F64,
  XLAC_F8E5M2,
  XLAC_F8E4M3,
  XLAC_F8E4M3FN,
  XLAC_F8E4M3B11FNUZ,
  XLAC_F8E3M4,
  XLAC_F8E5M2FNUZ,
  XLAC_F8E4M3FNUZ,
  XLAC_F8E8M0FNU,
  XLAC_F4E2M1FN,
  XLAC_F6E2M3FN,
  XLAC_F6E3M2FN,
  XLAC_C64,
  XLAC_C128
} XlacType;

/* One leaf of the parameters or results, tuples flattened depth first. */
typedef struct XlacTensor {
  const char *name; /* HLO name of the parameter (with the tuple path), of the root for results */
  int32_t type;     /* XlacType */
  int32_t rank;
  const int64_t *dims;
  const int64_t *minor_to_major; /* layout of the bytes: the fastest varying dimension first */
  int64_t bytes;
  int64_t alignment; /* required of the pointer: element alignment */
  int64_t alias;     /* results: the parameter leaf whose memory it may share (pass the same pointer), -1 none;
                        parameters: the result leaf likewise */
} XlacTensor;

typedef struct XlacDescriptor {
  uint64_t struct_size;
  uint32_t abi_version;
  uint32_t reserved;
  const char *module_name;
  int64_t parameter_count, result_count; /* leaves */
  const XlacTensor *parameters, *results;
  int64_t workspace_bytes; /* of the pointer |workspace|; 0: it may be NULL */
  int64_t workspace_alignment;
  int64_t scratch_bytes_per_worker; /* a multiple of 64; with parallel_for the workspace is longer by so many bytes for
                                       each worker but the first.  Behind the end of older descriptors: 0 */
} XlacDescriptor;

/* What the caller may provide; NULL stands for all defaults. */
typedef struct XlacRunOptions {
  uint64_t struct_size;
  uint32_t abi_version;
  uint32_t reserved;
  void *user_data;
  /* Runs body(context, i, worker) once for each i in [0, n), in any order and in parallel, and returns when all are
   * done; what the bodies wrote is then visible to the caller.  |worker| is in [0, worker_count), and bodies of one
   * call that run at the same time have different ones: each has scratch of its own.  Results have the same bits
   * whatever parallel_for and worker_count are.  NULL: one thread. */
  void (*parallel_for)(void *user_data, void (*body)(void *context, int64_t index, int64_t worker), void *context,
                       int64_t n);
  int64_t worker_count; /* with parallel_for at least 1 */
} XlacRunOptions;

/* A compiled module.  |arguments| and |results|: one pointer per leaf in the descriptor's order, overlapping only for
 * alias pairs.  Parameters that are not aliased are only read.  |workspace|: workspace_bytes of scratch, contents
 * irrelevant before and after; where options->parallel_for is given, workspace_bytes + (worker_count - 1) *
 * scratch_bytes_per_worker.  Re-entrant, allocates nothing.  Returns 0. */
typedef int (*XlacFunction)(const void *const *arguments, void *const *results, void *workspace,
                            const XlacRunOptions *options);

#ifdef __cplusplus
}
#endif

#endif
