/* Ranks that go different ways.  Where a module is conditional, MPI would wait for ever, or put together what does not
 * belong together, when two ranks come to different collectives.  So each tells those that it is to meet what it comes
 * to, and none begins a collective of a group before all members have said that they come to the same one.
 *
 * Notices from one rank to another stay in order.  Who has said that it comes to a group waits there until all do, so
 * that it says nothing more before: of a rank from which something else is awaited, the notice of another group, or of
 * its end, says that it never comes.  The two sides of a transfer go on, and find one another by key, in any order.
 *
 * Two ranks that wait for one another are found at once; a circle of three or more ends when patience does. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/collectives/movement.h"
#include "runtime/mpi/mpi_engine_internal.h"

typedef enum MpiRole { ROLE_MEETS, ROLE_SENDS, ROLE_RECEIVES, ROLE_ENDS } MpiRole;

enum { NOTICE_TAG = 1, NOTICE_NUMBERS = sizeof(MpiNotice) / sizeof(int64_t) };

/* Another rank, and what it has said that nobody has asked for so far. */
typedef struct MpiPeer {
  bool is_met; /* some collective has both */
  int count, room;
  MpiNotice *notices;
} MpiPeer;

/* A notice on its way. */
typedef struct MpiSent {
  MPI_Request request;
  MpiNotice notice;
} MpiSent;

struct MpiNotices {
  MPI_Comm communicator;
  MpiPeer *peers; /* by rank */
  MpiSent **sent;
  int sent_count, sent_room;
};

/* --- what is said --- */

static bool is_transfer(const XlacCollective *collective) {
  return collective->group_count == 0;
}

/* Keys of permutes are even, those of channels odd. */
static int64_t key_of(const XlacCollective *collective) {
  bool is_channel = collective->kind == XLAC_DEVICE_SEND || collective->kind == XLAC_DEVICE_RECV;
  return is_channel ? 2 * collective->channel_id + 1 : 2 * collective->index;
}

static int64_t bytes_of(const XlacCollective *collective, MpiRole role) {
  int64_t sum = 0;
  for (int64_t i = 0; i < collective->buffer_count; i++) {
    if (role == ROLE_SENDS) sum += collective->buffers[i].operand_bytes;
    if (role == ROLE_RECEIVES) sum += collective->buffers[i].result_bytes;
  }
  return sum;
}

static MpiNotice notice_of(const XlacCollective *collective, MpiRole role) {
  return (MpiNotice){role, key_of(collective), bytes_of(collective, role), collective->index};
}

/* --- messages --- */

static const char *name_of(const XlacMpi *engine, int64_t index, char *text, size_t size) {
  const XlacCollective *collective = engine->descriptor->collectives[index];
  snprintf(text, size, "%s '%s'", collective->opcode, collective->instruction);
  return text;
}

/* This rank, in |collective| (NULL: it has finished), and |peer|, which has said |other|, never meet. */
static const char *never(XlacMpi *engine, const XlacCollective *collective, int64_t peer, const MpiNotice *other) {
  char here[128], there[128];
  int64_t waits = engine->rank, finished = peer;
  if (collective != NULL && other->role != ROLE_ENDS)
    return mpi_fail(engine, "deadlock: device %d waits in %s for device %lld, which waits in %s for device %d",
                    engine->rank, name_of(engine, collective->index, here, sizeof here), (long long)peer,
                    name_of(engine, other->index, there, sizeof there), engine->rank);
  if (collective == NULL) {
    waits = peer;
    finished = engine->rank;
  }
  return mpi_fail(engine, "deadlock: device %lld waits in %s for device %lld, which has finished", (long long)waits,
                  name_of(engine, collective == NULL ? other->index : collective->index, here, sizeof here),
                  (long long)finished);
}

static const char *other_size(XlacMpi *engine, const XlacCollective *collective, int64_t peer, const MpiNotice *mine,
                              const MpiNotice *other) {
  char here[128], there[128];
  return mpi_fail(engine, "device %d %s %lld bytes in %s, device %lld %s %lld in %s", engine->rank,
                  mine->role == ROLE_SENDS ? "sends" : "receives", (long long)mine->bytes,
                  name_of(engine, collective->index, here, sizeof here), (long long)peer,
                  other->role == ROLE_SENDS ? "sends" : "receives", (long long)other->bytes,
                  name_of(engine, other->index, there, sizeof there));
}

static const char *check(XlacMpi *engine, const XlacCollective *collective, const char *function, int code) {
  return code == MPI_SUCCESS ? NULL : mpi_error(engine, collective, function, code);
}

/* --- sending --- */

static MpiSent *add_place(MpiNotices *notices) {
  if (notices->sent_count == notices->sent_room) {
    int room = 2 * notices->sent_room + 8;
    MpiSent **larger = realloc(notices->sent, (size_t)room * sizeof(MpiSent *));
    if (larger == NULL) return NULL;
    notices->sent = larger;
    notices->sent_room = room;
  }
  MpiSent *sent = malloc(sizeof *sent);
  if (sent == NULL) return NULL;
  sent->request = MPI_REQUEST_NULL;
  return notices->sent[notices->sent_count++] = sent;
}

/* One that has arrived, or a new one. */
static MpiSent *free_place(MpiNotices *notices) {
  for (int i = 0; i < notices->sent_count; i++) {
    int is_done = 0;
    if (MPI_Test(&notices->sent[i]->request, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done)
      return notices->sent[i];
  }
  return add_place(notices);
}

static const char *say(XlacMpi *engine, const XlacCollective *collective, int64_t peer, const MpiNotice *notice) {
  MpiSent *sent = free_place(engine->notices);
  if (sent == NULL) return mpi_no_memory(engine);
  sent->notice = *notice;
  return check(engine, collective, "MPI_Isend",
               MPI_Isend(&sent->notice, NOTICE_NUMBERS, MPI_INT64_T, (int)peer, NOTICE_TAG,
                         engine->notices->communicator, &sent->request));
}

/* --- receiving --- */

static bool keep(MpiPeer *peer, const MpiNotice *notice) {
  if (peer->count == peer->room) {
    int room = 2 * peer->room + 4;
    MpiNotice *larger = realloc(peer->notices, (size_t)room * sizeof *larger);
    if (larger == NULL) return false;
    peer->notices = larger;
    peer->room = room;
  }
  peer->notices[peer->count++] = *notice;
  return true;
}

/* The first of |peer|'s notices that is |role| and |key|; false: there is none. */
static bool take(MpiPeer *peer, MpiRole role, int64_t key, MpiNotice *out) {
  for (int i = 0; i < peer->count; i++) {
    if (peer->notices[i].role != (int64_t)role || peer->notices[i].key != key) continue;
    *out = peer->notices[i];
    memmove(&peer->notices[i], &peer->notices[i + 1], (size_t)(peer->count - i - 1) * sizeof *peer->notices);
    peer->count--;
    return true;
  }
  return false;
}

/* What |peer| waits in, or that it has ended; NULL: it may still say something else.  Of a rank that has finished
 * itself, also a transfer to it that nobody takes. */
static const MpiNotice *last_word(const MpiPeer *peer, bool has_finished) {
  for (int i = 0; i < peer->count; i++) {
    int64_t role = peer->notices[i].role;
    if (role == ROLE_MEETS || role == ROLE_ENDS || has_finished) return &peer->notices[i];
  }
  return NULL;
}

static const char *hear(XlacMpi *engine, const XlacCollective *collective, int64_t rank) {
  MpiNotices *notices = engine->notices;
  MpiNotice notice;
  MpiWait wait = {0};
  for (int is_there = 0; !is_there;) {
    int code = MPI_Iprobe((int)rank, NOTICE_TAG, notices->communicator, &is_there, MPI_STATUS_IGNORE);
    const char *failure = check(engine, collective, "MPI_Iprobe", code);
    if (failure == NULL && !is_there) failure = mpi_wait_longer(engine, collective, &wait);
    if (failure != NULL) return failure;
  }
  int code =
      MPI_Recv(&notice, NOTICE_NUMBERS, MPI_INT64_T, (int)rank, NOTICE_TAG, notices->communicator, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) return mpi_error(engine, collective, "MPI_Recv", code);
  return keep(&notices->peers[rank], &notice) ? NULL : mpi_no_memory(engine);
}

/* Waits until |rank| has said |role| and |key|. */
static const char *expect(XlacMpi *engine, const XlacCollective *collective, int64_t rank, MpiRole role, int64_t key,
                          MpiNotice *out) {
  MpiPeer *peer = &engine->notices->peers[rank];
  while (!take(peer, role, key, out)) {
    const MpiNotice *last = last_word(peer, collective == NULL);
    if (last != NULL) return never(engine, collective, rank, last);
    const char *failure = hear(engine, collective, rank);
    if (failure != NULL) return failure;
  }
  return NULL;
}

/* --- groups --- */

/* The first pass says, the second listens. */
static const char *meet_group(XlacMpi *engine, const XlacCollective *collective) {
  int64_t member;
  const XlacDeviceGroup *group = collective_group(collective, engine->rank, &member);
  const MpiNotice mine = notice_of(collective, ROLE_MEETS);
  MpiNotice theirs;
  const char *failure = NULL;
  for (int64_t i = 0; group != NULL && i < 2 * group->count && failure == NULL; i++) {
    int64_t rank = group->devices[i % group->count];
    if (rank == engine->rank) continue;
    failure = i < group->count ? say(engine, collective, rank, &mine)
                               : expect(engine, collective, rank, ROLE_MEETS, mine.key, &theirs);
  }
  return failure;
}

/* --- transfers --- */

/* The device at the other side of this rank's |role| in |collective|; -1: none, or itself. */
static int64_t other_side(const XlacMpi *engine, const XlacCollective *collective, MpiRole role) {
  bool has_role = collective->kind != (role == ROLE_SENDS ? XLAC_DEVICE_RECV : XLAC_DEVICE_SEND);
  if (!has_role) return -1;
  int64_t rank =
      role == ROLE_SENDS ? collective_target(collective, engine->rank) : collective_source(collective, engine->rank);
  return rank == engine->rank ? -1 : rank;
}

static const char *say_transfer(XlacMpi *engine, const XlacCollective *collective, MpiRole role) {
  int64_t rank = other_side(engine, collective, role);
  const MpiNotice mine = notice_of(collective, role);
  return rank < 0 ? NULL : say(engine, collective, rank, &mine);
}

static const char *expect_transfer(XlacMpi *engine, const XlacCollective *collective, MpiRole role) {
  int64_t rank = other_side(engine, collective, role);
  const MpiNotice mine = notice_of(collective, role);
  MpiNotice theirs;
  if (rank < 0) return NULL;
  MpiRole wanted = role == ROLE_SENDS ? ROLE_RECEIVES : ROLE_SENDS;
  const char *failure = expect(engine, collective, rank, wanted, mine.key, &theirs);
  if (failure != NULL || theirs.bytes == mine.bytes) return failure;
  return other_size(engine, collective, rank, &mine, &theirs);
}

/* --- the engine's steps --- */

const char *mpi_notices_start(XlacMpi *engine, const XlacCollective *collective) {
  if (engine->notices == NULL) return NULL;
  if (!is_transfer(collective)) return meet_group(engine, collective);
  const char *failure = say_transfer(engine, collective, ROLE_SENDS);
  return failure != NULL ? failure : say_transfer(engine, collective, ROLE_RECEIVES);
}

const char *mpi_notices_wait(XlacMpi *engine, const XlacCollective *collective) {
  if (engine->notices == NULL || !is_transfer(collective)) return NULL;
  const char *failure = expect_transfer(engine, collective, ROLE_RECEIVES);
  return failure != NULL ? failure : expect_transfer(engine, collective, ROLE_SENDS);
}

const char *mpi_notices_finish(XlacMpi *engine) {
  const MpiNotice mine = {.role = ROLE_ENDS};
  MpiNotice theirs;
  const char *failure = NULL;
  if (engine->notices == NULL) return NULL;
  for (int64_t i = 0; i < 2 * engine->size && failure == NULL; i++) {
    int64_t rank = i % engine->size;
    if (!engine->notices->peers[rank].is_met) continue;
    failure = i < engine->size ? say(engine, NULL, rank, &mine) : expect(engine, NULL, rank, ROLE_ENDS, 0, &theirs);
  }
  return failure;
}

/* --- life --- */

static void find_peers(const XlacMpi *engine, const XlacCollective *collective, MpiPeer *peers) {
  int64_t member;
  const XlacDeviceGroup *group = collective_group(collective, engine->rank, &member);
  for (int64_t i = 0; group != NULL && i < group->count; i++) peers[group->devices[i]].is_met = true;
  for (int64_t i = 0; i < collective->pair_count; i++) {
    const XlacDevicePair *pair = &collective->pairs[i];
    if (pair->source == engine->rank) peers[pair->target].is_met = true;
    if (pair->target == engine->rank) peers[pair->source].is_met = true;
  }
}

static bool is_conditional(const XlacDescriptor *descriptor) {
  size_t end = offsetof(XlacDescriptor, are_collectives_conditional) + sizeof descriptor->are_collectives_conditional;
  return descriptor->struct_size >= end && descriptor->are_collectives_conditional != 0;
}

const char *mpi_notices_create(XlacMpi *engine) {
  if (!is_conditional(engine->descriptor)) return NULL;
  MpiNotices *notices = engine->notices = calloc(1, sizeof *notices);
  if (notices == NULL) return mpi_no_memory(engine);
  notices->communicator = MPI_COMM_NULL;
  notices->peers = calloc((size_t)engine->size, sizeof *notices->peers);
  if (notices->peers == NULL) return mpi_no_memory(engine);
  for (int64_t i = 0; i < engine->descriptor->collective_count; i++)
    find_peers(engine, engine->descriptor->collectives[i], notices->peers);
  notices->peers[engine->rank].is_met = false;
  return check(engine, NULL, "MPI_Comm_dup", MPI_Comm_dup(engine->world, &notices->communicator));
}

void mpi_notices_destroy(XlacMpi *engine) {
  MpiNotices *notices = engine->notices;
  if (notices == NULL) return;
  for (int i = 0; i < notices->sent_count; i++) {
    if (!engine->has_failed) MPI_Wait(&notices->sent[i]->request, MPI_STATUS_IGNORE);
    free(notices->sent[i]);
  }
  for (int64_t i = 0; notices->peers != NULL && i < engine->size; i++) free(notices->peers[i].notices);
  if (notices->communicator != MPI_COMM_NULL) MPI_Comm_free(&notices->communicator);
  free(notices->peers);
  free(notices->sent);
  free(notices);
}
