/* What the files of the engine share. */
#ifndef XLAC_RUNTIME_MPI_MPI_ENGINE_INTERNAL_H
#define XLAC_RUNTIME_MPI_MPI_ENGINE_INTERNAL_H

#include <mpi.h>
#include <stdbool.h>

#include "xlac/mpi.h"

enum { MPI_MESSAGE_SIZE = 1024 }; /* room for the longest text of MPI's own, and where it was */

/* A collective that is under way, or was. */
typedef struct MpiOperation {
  MPI_Comm communicator; /* of its group; MPI_COMM_NULL: this rank is in none */
  int64_t members, member;
  int request_count, request_room;
  MPI_Request *requests;
  int type_count, type_room;
  MPI_Datatype *types; /* to be freed at its end */
  char *scratch;
  int64_t scratch_bytes, scratch_used;
  void **results; /* until its end */
} MpiOperation;

/* A communicator for every group of one list. */
typedef struct MpiGroups {
  const XlacCollective *like; /* a collective that has the list */
  MPI_Comm communicator;
} MpiGroups;

/* What a rank says to another before they meet, where they may go different ways (mpi_notices.c). */
typedef struct MpiNotice {
  int64_t role; /* MpiRole */
  int64_t key;  /* of what both come to; of transfers their bytes as well */
  int64_t bytes;
  int64_t index; /* of the collective */
} MpiNotice;

typedef struct MpiNotices MpiNotices;

/* A wait, which ends when it has lasted too long. */
typedef struct MpiWait {
  int64_t tests;
  double end;
} MpiWait;

struct XlacMpi {
  MPI_Comm world; /* a copy of the caller's */
  int rank, size;
  double patience;
  int64_t largest;
  const XlacDescriptor *descriptor; /* until it is destroyed, when the object may be gone */
  XlacCommunication communication;
  MpiOperation *operations; /* by collective */
  int64_t operation_count;
  MpiGroups *groups;
  int group_count;
  MPI_Op *ops; /* made ones, in the order of mpi_reductions.c; MPI_OP_NULL: not made so far */
  int64_t op_count;
  MpiNotices *notices; /* NULL: all ranks come to all collectives in one order */
  bool has_failed;
  double seconds;
  char message[MPI_MESSAGE_SIZE];
};

/* Fills engine->message with what |collective| (NULL: none) was doing and the text of the MPI error |code|. */
const char *mpi_error(XlacMpi *engine, const XlacCollective *collective, const char *function, int code);
const char *mpi_no_memory(XlacMpi *engine);

/* The operation and type of MPI for a reducer: its own where that does what HLO says, else one of the engine's.  NULL,
 * or what failed. */
const char *mpi_reduction(XlacMpi *engine, const XlacCollective *collective, int32_t type, MPI_Op *out_op,
                          MPI_Datatype *out_type);
void mpi_reductions_free(XlacMpi *engine);

/* Posts what |collective| is.  NULL, or what failed. */
const char *mpi_post(XlacMpi *engine, const XlacCollective *collective, const void *const *operands,
                     void *const *results);
/* Puts results in their places, after all requests are complete. */
void mpi_finish(XlacMpi *engine, const XlacCollective *collective);
/* Waits for all requests of the operation. */
const char *mpi_complete(XlacMpi *engine, const XlacCollective *collective);

/* Between two questions to MPI: lets others run.  Not NULL when |wait|, which begins as {0}, has lasted too long. */
const char *mpi_wait_longer(XlacMpi *engine, const XlacCollective *collective, MpiWait *wait);

/* Keeps |format| as the engine's failure and returns it. */
const char *mpi_fail(XlacMpi *engine, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- notices; nothing where engine->notices is NULL.  All return NULL, or what failed --- */

/* By all ranks together. */
const char *mpi_notices_create(XlacMpi *engine);
void mpi_notices_destroy(XlacMpi *engine);
/* Before |collective| is posted: says that this rank comes to it, and waits until all other members of a group do. */
const char *mpi_notices_start(XlacMpi *engine, const XlacCollective *collective);
/* Before a transfer is waited for: waits until its other side has come to it. */
const char *mpi_notices_wait(XlacMpi *engine, const XlacCollective *collective);
/* At the end of a run: says so, and waits until the others have ended it as well. */
const char *mpi_notices_finish(XlacMpi *engine);

#endif
