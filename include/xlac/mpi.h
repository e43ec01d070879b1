/* The engine of communication over MPI (XlacCommunication in xlac/abi.h): library libxlac_mpi_openmpi or
 * libxlac_mpi_mpich, for programs of that MPI.
 *
 *   XlacMpi *engine = xlac_mpi_create(&(XlacMpiOptions){sizeof(XlacMpiOptions)}, &model_descriptor, &message);
 *   XlacRunOptions options = {.struct_size = sizeof options, .abi_version = XLAC_ABI_VERSION,
 *                             .device = xlac_mpi_device(engine), .communication = xlac_mpi_communication(engine)};
 *   model(arguments, results, workspace, &options);
 *   xlac_mpi_destroy(engine);
 *
 * MPI is initialised by then, with MPI_THREAD_FUNNELED at least where the program has threads; one thread at a time
 * uses an engine, the one that initialised MPI.  The rank in the communicator is the number of the device. */
#ifndef XLAC_MPI_H
#define XLAC_MPI_H

#include "xlac/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined __GNUC__
#define XLAC_MPI_API __attribute__((visibility("default")))
#else
#define XLAC_MPI_API
#endif

typedef struct XlacMpi XlacMpi;

/* Zeroes stand for defaults. */
typedef struct XlacMpiOptions {
  uint64_t struct_size;
  const void *communicator; /* the address of an MPI_Comm; NULL: MPI_COMM_WORLD */
  double patience;          /* seconds that a collective may take before it fails; 0: 300 */
  int64_t largest_count;    /* bytes of a message or elements of a reduction that MPI is given at once; 0: 2^30 */
} XlacMpiOptions;

/* Called by all ranks together.  Compares what they are about to do: every object's hash of collectives, and the number
 * of devices with that of ranks.  NULL where they do not fit, or MPI fails, on all ranks; |*out_message| then says why,
 * until the next call from this thread. */
XLAC_MPI_API XlacMpi *xlac_mpi_create(const XlacMpiOptions *options, const XlacDescriptor *descriptor,
                                      const char **out_message);
/* By all ranks together, after the last run; accepts NULL. */
XLAC_MPI_API void xlac_mpi_destroy(XlacMpi *engine);

XLAC_MPI_API int64_t xlac_mpi_device(const XlacMpi *engine);
XLAC_MPI_API const XlacCommunication *xlac_mpi_communication(const XlacMpi *engine);
/* Spent in the engine so far: copying, and waiting for others. */
XLAC_MPI_API double xlac_mpi_seconds(const XlacMpi *engine);

/* --- for programs that leave MPI to the library, as `xlac run` does --- */

/* Initialises MPI where it is not; NULL, or why it cannot. */
XLAC_MPI_API const char *xlac_mpi_begin(int64_t *out_rank, int64_t *out_size);
/* Ends MPI where xlac_mpi_begin has begun it. */
XLAC_MPI_API void xlac_mpi_end(void);
/* Ends all ranks with the exit status |code|. */
XLAC_MPI_API void xlac_mpi_abort(int code);
/* To rank 0: |bytes| of each rank, one after the other, in |out| (NULL elsewhere).  NULL, or what failed. */
XLAC_MPI_API const char *xlac_mpi_gather(const void *data, int64_t bytes, void *out);
/* The largest |status| of all ranks; its own where MPI fails. */
XLAC_MPI_API int xlac_mpi_worst(int status);

#ifdef __cplusplus
}
#endif

#endif
