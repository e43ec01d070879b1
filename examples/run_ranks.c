/* A program of MPI that uses a compiled module with collectives: each rank has its rows of a matrix, and all get the
 * mean of all rows.
 *
 *   build/xlac examples/mean_of_rows.hlo -o mean_of_rows.o
 *   mpicc -Iinclude -I. examples/run_ranks.c mean_of_rows.o build/libxlac_mpi_openmpi.so \
 *     -Wl,-rpath,build -lm -o run_ranks
 *   mpirun -np 2 ./run_ranks
 *
 * With MPICH the library is libxlac_mpi_mpich.so. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "mean_of_rows.h"
#include "xlac/mpi.h"

enum { ROWS = 4, COLUMNS = 8 }; /* of each rank */

static void tell(void *data, const XlacFailure *failure) {
  fprintf(stderr, "rank %d: '%s': %s\n", *(int *)data, failure->instruction, failure->message);
}

/* Rank 0 has rows 0 to 3, rank 1 rows 4 to 7; element (i, j) is 10 i + j. */
static int run(XlacMpi *engine, int rank, float mean[COLUMNS]) {
  float x[ROWS][COLUMNS];
  for (int i = 0; i < ROWS; i++) {
    for (int j = 0; j < COLUMNS; j++) x[i][j] = (float)(10 * (rank * ROWS + i) + j);
  }
  const XlacDescriptor *descriptor = &mean_of_rows_descriptor;
  size_t alignment = (size_t)descriptor->workspace_alignment;
  size_t bytes = ((size_t)descriptor->workspace_bytes / alignment + 1) * alignment;
  void *workspace = aligned_alloc(alignment, bytes);
  XlacRunOptions options = {.struct_size = sizeof options,
                            .abi_version = XLAC_ABI_VERSION,
                            .on_failure = tell,
                            .failure_data = &rank,
                            .device = xlac_mpi_device(engine),
                            .communication = xlac_mpi_communication(engine)};
  int code = mean_of_rows((const void *[]){x}, (void *[]){mean}, workspace, &options);
  free(workspace);
  return code;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char *message;
  XlacMpiOptions engine_options = {.struct_size = sizeof engine_options};
  XlacMpi *engine = xlac_mpi_create(&engine_options, &mean_of_rows_descriptor, &message);
  if (engine == NULL) {
    fprintf(stderr, "%s\n", message);
    MPI_Finalize();
    return 1;
  }
  float mean[COLUMNS];
  if (run(engine, rank, mean) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int j = 0; rank == 0 && j < COLUMNS; j++) printf("%g%s", (double)mean[j], j + 1 < COLUMNS ? " " : "\n");
  xlac_mpi_destroy(engine);
  MPI_Finalize();
  return 0;
}
