/* MPI for programs that leave it to the library. */
#include <mpi.h>
#include <stdint.h>
#include <string.h>

#include "xlac/mpi.h"

enum { LARGEST_MESSAGE = 1 << 30, RESULT_TAG = 1 };

const char *xlac_mpi_begin(int64_t *out_rank, int64_t *out_size) {
  int is_initialised = 0, level, rank, size;
  MPI_Initialized(&is_initialised);
  if (!is_initialised && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
    return "MPI_Init_thread failed";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS)
    return "MPI does not say which rank this is";
  *out_rank = rank;
  *out_size = size;
  return NULL;
}

void xlac_mpi_end(void) {
  int is_initialised = 0, is_finalised = 0;
  MPI_Initialized(&is_initialised);
  MPI_Finalized(&is_finalised);
  if (is_initialised && !is_finalised) MPI_Finalize();
}

void xlac_mpi_abort(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
}

static int transfer(void *data, int64_t bytes, int peer, int sends) {
  int code = MPI_SUCCESS;
  for (int64_t at = 0; at < bytes && code == MPI_SUCCESS; at += LARGEST_MESSAGE) {
    int count = bytes - at < LARGEST_MESSAGE ? (int)(bytes - at) : LARGEST_MESSAGE;
    code = sends ? MPI_Send((char *)data + at, count, MPI_BYTE, peer, RESULT_TAG, MPI_COMM_WORLD)
                 : MPI_Recv((char *)data + at, count, MPI_BYTE, peer, RESULT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return code;
}

const char *xlac_mpi_gather(const void *data, int64_t bytes, void *out) {
  int rank, size, code = MPI_SUCCESS;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank != 0) code = transfer((void *)(uintptr_t)data, bytes, 0, 1);
  if (rank == 0 && bytes > 0) memcpy(out, data, (size_t)bytes);
  for (int peer = 1; rank == 0 && peer < size && code == MPI_SUCCESS; peer++)
    code = transfer((char *)out + peer * bytes, bytes, peer, 0);
  return code == MPI_SUCCESS ? NULL : "MPI could not bring the results together";
}

int xlac_mpi_worst(int status) {
  int worst = status;
  return MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS ? worst : status;
}
