/* The engine's life, its functions, and how it waits: MPI goes on only inside its calls, so that a wait asks again
 * and again, lets others run in between, and ends when nothing has come for too long. */
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/collectives/movement.h"
#include "runtime/mpi/mpi_engine_internal.h"

static const double default_patience = 300;
enum { DEFAULT_LARGEST = 1 << 30, MOST_GROUPS = 1024, TESTS_BETWEEN_CLOCKS = 64 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* --- messages --- */

static const char *place_of(const XlacCollective *collective, char *text, size_t size) {
  if (collective == NULL) return "";
  snprintf(text, size, " in %s '%s'", collective->opcode, collective->instruction);
  return text;
}

const char *mpi_fail(XlacMpi *engine, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(engine->message, sizeof engine->message, format, arguments);
  va_end(arguments);
  engine->has_failed = true;
  return engine->message;
}

const char *mpi_error(XlacMpi *engine, const XlacCollective *collective, const char *function, int code) {
  char text[MPI_MAX_ERROR_STRING] = "", place[128];
  int length;
  MPI_Error_string(code, text, &length);
  return mpi_fail(engine, "rank %d: %s failed%s: %s", engine->rank, function, place_of(collective, place, sizeof place),
                  text);
}

const char *mpi_no_memory(XlacMpi *engine) {
  return mpi_fail(engine, "rank %d: no memory for MPI", engine->rank);
}

/* --- waiting --- */

const char *mpi_wait_longer(XlacMpi *engine, const XlacCollective *collective, MpiWait *wait) {
  char place[128];
  sched_yield();
  if (++wait->tests % TESTS_BETWEEN_CLOCKS != 0) return NULL;
  double time = now();
  if (wait->end == 0) wait->end = time + engine->patience;
  if (time <= wait->end) return NULL;
  return mpi_fail(engine, "rank %d: nothing came for %g seconds%s: other devices do not take part", engine->rank,
                  engine->patience, place_of(collective, place, sizeof place));
}

const char *mpi_complete(XlacMpi *engine, const XlacCollective *collective) {
  MpiOperation *operation = &engine->operations[collective->index];
  MpiWait wait = {0};
  for (;;) {
    int is_done = 0;
    int code = MPI_Testall(operation->request_count, operation->requests, &is_done, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS) return mpi_error(engine, collective, "MPI_Testall", code);
    if (is_done) break;
    const char *failure = mpi_wait_longer(engine, collective, &wait);
    if (failure != NULL) return failure;
  }
  operation->request_count = 0;
  return NULL;
}

/* --- the engine's functions --- */

/* Nothing is asked of MPI after a failure: what it does then is not known. */
static const char *start(void *data, const XlacCollective *collective, const void *const *operands,
                         void *const *results) {
  XlacMpi *engine = data;
  double begin = now();
  const char *failure = engine->has_failed ? engine->message : mpi_notices_start(engine, collective);
  if (failure == NULL) failure = mpi_post(engine, collective, operands, results);
  engine->seconds += now() - begin;
  return failure;
}

static const char *wait_for(void *data, const XlacCollective *collective) {
  XlacMpi *engine = data;
  double begin = now();
  const char *failure = engine->has_failed ? engine->message : mpi_notices_wait(engine, collective);
  if (failure == NULL) failure = mpi_complete(engine, collective);
  if (failure == NULL) mpi_finish(engine, collective);
  engine->seconds += now() - begin;
  return failure;
}

static const char *finish(void *data) {
  XlacMpi *engine = data;
  double begin = now();
  const char *failure = engine->has_failed ? engine->message : mpi_notices_finish(engine);
  engine->seconds += now() - begin;
  return failure;
}

/* --- groups --- */

static bool same_groups(const XlacCollective *a, const XlacCollective *b) {
  if (a->group_count != b->group_count) return false;
  for (int64_t i = 0; i < a->group_count; i++) {
    const XlacDeviceGroup *x = &a->groups[i], *y = &b->groups[i];
    if (x->count != y->count || memcmp(x->devices, y->devices, (size_t)x->count * sizeof *x->devices) != 0)
      return false;
  }
  return true;
}

/* The key keeps the listed order. */
static const char *split(XlacMpi *engine, const XlacCollective *collective, MPI_Comm *out_communicator) {
  int64_t member = 0;
  const XlacDeviceGroup *group = collective_group(collective, engine->rank, &member);
  int color = group == NULL ? MPI_UNDEFINED : (int)(group - collective->groups);
  int code = MPI_Comm_split(engine->world, color, (int)member, out_communicator);
  return code == MPI_SUCCESS ? NULL : mpi_error(engine, collective, "MPI_Comm_split", code);
}

static const char *groups_of(XlacMpi *engine, const XlacCollective *collective, MPI_Comm *out_communicator) {
  for (int i = 0; i < engine->group_count; i++) {
    if (!same_groups(engine->groups[i].like, collective)) continue;
    *out_communicator = engine->groups[i].communicator;
    return NULL;
  }
  if (engine->group_count == MOST_GROUPS)
    return mpi_fail(engine, "more than %d different lists of groups", MOST_GROUPS);
  MpiGroups *entry = &engine->groups[engine->group_count];
  entry->like = collective;
  entry->communicator = MPI_COMM_NULL;
  const char *failure = split(engine, collective, &entry->communicator);
  engine->group_count += failure == NULL;
  *out_communicator = entry->communicator;
  return failure;
}

/* In the order of the program, which all ranks have. */
static const char *make_operations(XlacMpi *engine) {
  const XlacDescriptor *descriptor = engine->descriptor;
  engine->operations = calloc((size_t)descriptor->collective_count + 1, sizeof *engine->operations);
  engine->operation_count = descriptor->collective_count;
  engine->groups = calloc(MOST_GROUPS, sizeof *engine->groups);
  if (engine->operations == NULL || engine->groups == NULL) return mpi_no_memory(engine);
  for (int64_t i = 0; i < descriptor->collective_count; i++) {
    const XlacCollective *collective = descriptor->collectives[i];
    MpiOperation *operation = &engine->operations[i];
    operation->communicator = MPI_COMM_NULL;
    operation->results = calloc((size_t)collective->buffer_count + 1, sizeof *operation->results);
    if (operation->results == NULL) return mpi_no_memory(engine);
    const XlacDeviceGroup *group = collective_group(collective, engine->rank, &operation->member);
    operation->members = group == NULL ? 0 : group->count;
    if (collective->group_count == 0) continue;
    const char *failure = groups_of(engine, collective, &operation->communicator);
    if (failure != NULL) return failure;
  }
  return NULL;
}

/* --- what ranks have to agree on --- */

/* All ranks get the same answer. */
static const char *compare_ranks(XlacMpi *engine) {
  const XlacDescriptor *descriptor = engine->descriptor;
  int64_t wanted = descriptor->replica_count * descriptor->partition_count;
  uint64_t hash = descriptor->collective_hash;
  uint64_t mine[] = {hash, ~hash, (uint64_t)wanted, ~(uint64_t)wanted}, least[4];
  int code = MPI_Allreduce(mine, least, 4, MPI_UINT64_T, MPI_MIN, engine->world);
  if (code != MPI_SUCCESS) return mpi_error(engine, NULL, "MPI_Allreduce", code);
  if (least[2] != ~least[3] || wanted != engine->size)
    return mpi_fail(engine, "rank %d: the module is for %lld devices, and there are %d ranks", engine->rank,
                    (long long)wanted, engine->size);
  if (least[0] == ~least[1]) return NULL;
  return mpi_fail(engine,
                  "rank %d: the ranks have modules with other collectives: here their hash is %016llx, elsewhere from "
                  "%016llx to %016llx",
                  engine->rank, (unsigned long long)hash, (unsigned long long)least[0], (unsigned long long)~least[1]);
}

/* --- life --- */

static const char *init(XlacMpi *engine, const XlacMpiOptions *options) {
  MPI_Comm given = MPI_COMM_WORLD;
  if (options->communicator != NULL) memcpy(&given, options->communicator, sizeof given);
  engine->patience = options->patience > 0 ? options->patience : default_patience;
  engine->largest = options->largest_count > 0 ? options->largest_count : DEFAULT_LARGEST;
  int code = MPI_Comm_dup(given, &engine->world);
  if (code != MPI_SUCCESS) return mpi_error(engine, NULL, "MPI_Comm_dup", code);
  MPI_Comm_set_errhandler(engine->world, MPI_ERRORS_RETURN);
  MPI_Comm_rank(engine->world, &engine->rank);
  MPI_Comm_size(engine->world, &engine->size);
  const char *failure = compare_ranks(engine);
  if (failure == NULL) failure = make_operations(engine);
  return failure != NULL ? failure : mpi_notices_create(engine);
}

XlacMpi *xlac_mpi_create(const XlacMpiOptions *options, const XlacDescriptor *descriptor, const char **out_message) {
  static _Thread_local char last_message[MPI_MESSAGE_SIZE];
  XlacMpi *engine = calloc(1, sizeof *engine);
  *out_message = "no memory for MPI";
  if (engine == NULL) return NULL;
  engine->world = MPI_COMM_NULL;
  engine->descriptor = descriptor;
  engine->communication = (XlacCommunication){sizeof engine->communication, engine, start, wait_for, finish};
  const char *failure = init(engine, options);
  *out_message = NULL;
  if (failure == NULL) return engine;
  snprintf(last_message, sizeof last_message, "%s", failure);
  *out_message = last_message;
  xlac_mpi_destroy(engine);
  return NULL;
}

void xlac_mpi_destroy(XlacMpi *engine) {
  if (engine == NULL) return;
  mpi_notices_destroy(engine);
  mpi_reductions_free(engine);
  for (int i = 0; i < engine->group_count; i++) {
    if (engine->groups[i].communicator != MPI_COMM_NULL) MPI_Comm_free(&engine->groups[i].communicator);
  }
  for (int64_t i = 0; engine->operations != NULL && i < engine->operation_count; i++) {
    free(engine->operations[i].requests);
    free(engine->operations[i].types);
    free(engine->operations[i].scratch);
    free(engine->operations[i].results);
  }
  free(engine->operations);
  free(engine->groups);
  if (engine->world != MPI_COMM_NULL) MPI_Comm_free(&engine->world);
  free(engine);
}

int64_t xlac_mpi_device(const XlacMpi *engine) {
  return engine->rank;
}

const XlacCommunication *xlac_mpi_communication(const XlacMpi *engine) {
  return &engine->communication;
}

double xlac_mpi_seconds(const XlacMpi *engine) {
  return engine->seconds;
}
