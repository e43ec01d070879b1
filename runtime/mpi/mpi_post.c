/* What each kind of collective posts to MPI.  Whatever is cut along a dimension that is not the slowest is packed
 * first, member by member, and unpacked at its end. */
#include <stdlib.h>
#include <string.h>

#include "runtime/collectives/movement.h"
#include "runtime/collectives/reduction.h"
#include "runtime/mpi/mpi_engine_internal.h"

/* One operation while it is posted. */
typedef struct Post {
  XlacMpi *engine;
  const XlacCollective *collective;
  MpiOperation *operation;
  const void *const *operands;
  void *const *results;
} Post;

#define RETURN_IF_FAILED(expression)       \
  do {                                     \
    const char *failure_ = (expression);   \
    if (failure_ != NULL) return failure_; \
  } while (0)

/* --- memory, requests, types --- */

/* Room for all scratch of the operation, which stays for the next time. */
static const char *reserve(const Post *post, int64_t bytes) {
  MpiOperation *operation = post->operation;
  operation->scratch_used = 0;
  if (bytes <= operation->scratch_bytes) return NULL;
  free(operation->scratch);
  operation->scratch = malloc((size_t)bytes);
  operation->scratch_bytes = operation->scratch == NULL ? 0 : bytes;
  return operation->scratch == NULL ? mpi_no_memory(post->engine) : NULL;
}

static char *take(const Post *post, int64_t bytes) {
  char *taken = post->operation->scratch + post->operation->scratch_used;
  post->operation->scratch_used += bytes;
  return taken;
}

static void *grow(void *list, int count, int *room, size_t size) {
  if (count < *room) return list;
  void *larger = realloc(list, (size_t)(2 * count + 8) * size);
  if (larger != NULL) *room = 2 * count + 8;
  return larger;
}

static const char *next_request(const Post *post, MPI_Request **out_request) {
  MpiOperation *operation = post->operation;
  void *list = grow(operation->requests, operation->request_count, &operation->request_room, sizeof(MPI_Request));
  if (list == NULL) return mpi_no_memory(post->engine);
  operation->requests = list;
  *out_request = &operation->requests[operation->request_count++];
  **out_request = MPI_REQUEST_NULL;
  return NULL;
}

static const char *check(const Post *post, const char *function, int code) {
  return code == MPI_SUCCESS ? NULL : mpi_error(post->engine, post->collective, function, code);
}

/* |bytes| as |*out_count| of |*out_type|: counts are ints. */
static const char *block_of(const Post *post, int64_t bytes, MPI_Datatype *out_type, int *out_count) {
  MpiOperation *operation = post->operation;
  int64_t largest = post->engine->largest;
  *out_type = MPI_BYTE;
  *out_count = (int)bytes;
  if (bytes <= largest) return NULL;
  void *list = grow(operation->types, operation->type_count, &operation->type_room, sizeof(MPI_Datatype));
  if (list == NULL) return mpi_no_memory(post->engine);
  operation->types = list;
  MPI_Datatype piece, pieces[2];
  int lengths[] = {(int)(bytes / largest), (int)(bytes % largest)};
  MPI_Aint places[] = {0, (MPI_Aint)(bytes - bytes % largest)};
  RETURN_IF_FAILED(check(post, "MPI_Type_contiguous", MPI_Type_contiguous((int)largest, MPI_BYTE, &piece)));
  pieces[0] = piece;
  pieces[1] = MPI_BYTE;
  int code = MPI_Type_create_struct(2, lengths, places, pieces, out_type);
  MPI_Type_free(&piece);
  RETURN_IF_FAILED(check(post, "MPI_Type_create_struct", code));
  operation->types[operation->type_count++] = *out_type;
  *out_count = 1;
  return check(post, "MPI_Type_commit", MPI_Type_commit(out_type));
}

/* --- reductions --- */

static int64_t bytes_of_operands(const XlacCollective *collective) {
  int64_t sum = 0;
  for (int64_t i = 0; i < collective->buffer_count; i++) sum += collective->buffers[i].operand_bytes;
  return sum;
}

static const char *reduce_bytes(const Post *post, int32_t element_type, const char *from, char *to, int64_t bytes) {
  int64_t size = reduction_element_bytes(element_type), total = bytes / size;
  MPI_Op op;
  MPI_Datatype type;
  RETURN_IF_FAILED(mpi_reduction(post->engine, post->collective, element_type, &op, &type));
  for (int64_t at = 0; at < total; at += post->engine->largest) {
    int64_t count = total - at < post->engine->largest ? total - at : post->engine->largest;
    MPI_Request *request;
    RETURN_IF_FAILED(next_request(post, &request));
    int code =
        MPI_Iallreduce(from + at * size, to + at * size, (int)count, type, op, post->operation->communicator, request);
    RETURN_IF_FAILED(check(post, "MPI_Iallreduce", code));
  }
  return NULL;
}

/* Up to here to copy several operands beside one another costs less than a message for each. */
enum { JOINED_BYTES = 1 << 16 };

static bool is_joined(const XlacCollective *collective) {
  for (int64_t i = 1; i < collective->buffer_count; i++) {
    if (collective->buffers[i].type != collective->buffers[0].type) return false;
  }
  return collective->buffer_count > 1 && bytes_of_operands(collective) <= JOINED_BYTES;
}

/* Operands first, then results. */
static const char *reduce_joined(const Post *post) {
  int64_t bytes = bytes_of_operands(post->collective), at = 0;
  RETURN_IF_FAILED(reserve(post, 2 * bytes));
  char *from = take(post, bytes), *to = take(post, bytes);
  for (int64_t i = 0; i < post->collective->buffer_count; i++) {
    int64_t size = post->collective->buffers[i].operand_bytes;
    if (size > 0) memcpy(from + at, post->operands[i], (size_t)size);
    at += size;
  }
  return reduce_bytes(post, post->collective->buffers[0].type, from, to, bytes);
}

static const char *all_reduce(const Post *post) {
  if (is_joined(post->collective)) return reduce_joined(post);
  for (int64_t i = 0; i < post->collective->buffer_count; i++) {
    const XlacCollectiveBuffer *buffer = &post->collective->buffers[i];
    RETURN_IF_FAILED(reduce_bytes(post, buffer->type, post->operands[i], post->results[i], buffer->operand_bytes));
  }
  return NULL;
}

static void finish_all_reduce(const Post *post) {
  if (!is_joined(post->collective)) return;
  const char *reduced = post->operation->scratch + bytes_of_operands(post->collective);
  for (int64_t i = 0; i < post->collective->buffer_count; i++) {
    int64_t size = post->collective->buffers[i].operand_bytes;
    if (size > 0) memcpy(post->results[i], reduced, (size_t)size);
    reduced += size;
  }
}

/* Bytes [at, at + bytes) of each member's share, member by member. */
static void pack_shares(const XlacCollectiveBuffer *buffer, int64_t members, const char *operand, int64_t at,
                        int64_t bytes, char *packed) {
  for (int64_t m = 0; m < members; m++) {
    for (int64_t done = 0; done < bytes;) {
      int64_t run = (at + done) / buffer->inner, offset = (at + done) % buffer->inner;
      int64_t size = buffer->inner - offset < bytes - done ? buffer->inner - offset : bytes - done;
      memcpy(packed + m * bytes + done, operand + (run * members + m) * buffer->inner + offset, (size_t)size);
      done += size;
    }
  }
}

static const char *scatter_buffer(const Post *post, int64_t index) {
  const XlacCollectiveBuffer *buffer = &post->collective->buffers[index];
  int64_t size = reduction_element_bytes(buffer->type), total = buffer->result_bytes / size;
  int64_t members = post->operation->members;
  MPI_Op op;
  MPI_Datatype type;
  RETURN_IF_FAILED(mpi_reduction(post->engine, post->collective, buffer->type, &op, &type));
  int64_t largest = post->engine->largest / members > 0 ? post->engine->largest / members : 1;
  for (int64_t at = 0; at < total; at += largest) {
    int64_t count = total - at < largest ? total - at : largest;
    char *packed = take(post, members * count * size);
    pack_shares(buffer, members, post->operands[index], at * size, count * size, packed);
    MPI_Request *request;
    RETURN_IF_FAILED(next_request(post, &request));
    int code = MPI_Ireduce_scatter_block(packed, (char *)post->results[index] + at * size, (int)count, type, op,
                                         post->operation->communicator, request);
    RETURN_IF_FAILED(check(post, "MPI_Ireduce_scatter_block", code));
  }
  return NULL;
}

static const char *reduce_scatter(const Post *post) {
  RETURN_IF_FAILED(reserve(post, bytes_of_operands(post->collective)));
  for (int64_t i = 0; i < post->collective->buffer_count; i++) RETURN_IF_FAILED(scatter_buffer(post, i));
  return NULL;
}

/* --- gathers and exchanges --- */

/* Whether results stand in the scratch first; all_gather and all_to_all take it in order of their buffers. */
static bool is_packed(const XlacCollectiveBuffer *buffer) {
  return buffer->outer > 1;
}

static const char *gather_buffer(const Post *post, int64_t index) {
  const XlacCollectiveBuffer *buffer = &post->collective->buffers[index];
  char *to = is_packed(buffer) ? take(post, buffer->result_bytes) : post->results[index];
  MPI_Datatype type;
  int count;
  MPI_Request *request;
  if (buffer->result_bytes == 0) return NULL;
  RETURN_IF_FAILED(block_of(post, buffer->operand_bytes, &type, &count));
  RETURN_IF_FAILED(next_request(post, &request));
  return check(
      post, "MPI_Iallgather",
      MPI_Iallgather(post->operands[index], count, type, to, count, type, post->operation->communicator, request));
}

static const char *all_gather(const Post *post) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < post->collective->buffer_count; i++) bytes += post->collective->buffers[i].result_bytes;
  RETURN_IF_FAILED(reserve(post, bytes));
  for (int64_t i = 0; i < post->collective->buffer_count; i++) RETURN_IF_FAILED(gather_buffer(post, i));
  return NULL;
}

static void finish_all_gather(const Post *post) {
  const char *packed = post->operation->scratch;
  int64_t members = post->operation->members;
  for (int64_t i = 0; i < post->collective->buffer_count; i++) {
    const XlacCollectiveBuffer *buffer = &post->collective->buffers[i];
    if (!is_packed(buffer)) continue;
    for (int64_t m = 0; m < members; m++)
      move_runs(packed + m * buffer->operand_bytes, buffer->inner, (char *)post->results[i] + m * buffer->inner,
                members * buffer->inner, buffer->outer, buffer->inner);
    packed += buffer->result_bytes;
  }
}

static const char *post_alltoall(const Post *post, const void *from, void *to, int64_t bytes) {
  MPI_Datatype type;
  int count;
  MPI_Request *request;
  RETURN_IF_FAILED(block_of(post, bytes, &type, &count));
  RETURN_IF_FAILED(next_request(post, &request));
  return check(post, "MPI_Ialltoall",
               MPI_Ialltoall(from, count, type, to, count, type, post->operation->communicator, request));
}

/* Packed operands first, then packed results. */
static const char *all_to_all(const Post *post) {
  const XlacCollectiveBuffer *buffer = &post->collective->buffers[0];
  int64_t members = post->operation->members, share = buffer->operand_bytes / members;
  if (share == 0) return NULL;
  if (!is_packed(buffer)) return post_alltoall(post, post->operands[0], post->results[0], share);
  RETURN_IF_FAILED(reserve(post, 2 * buffer->operand_bytes));
  char *from = take(post, buffer->operand_bytes), *to = take(post, buffer->operand_bytes);
  pack_shares(buffer, members, post->operands[0], 0, share, from);
  return post_alltoall(post, from, to, share);
}

static void finish_all_to_all(const Post *post) {
  const XlacCollectiveBuffer *buffer = &post->collective->buffers[0];
  int64_t members = post->operation->members, share = buffer->operand_bytes / members;
  if (!is_packed(buffer) || share == 0) return;
  const char *packed = post->operation->scratch + buffer->operand_bytes;
  for (int64_t m = 0; m < members; m++)
    move_runs(packed + m * share, buffer->inner, (char *)post->results[0] + m * buffer->inner, members * buffer->inner,
              buffer->outer, buffer->inner);
}

static const char *all_to_all_tuple(const Post *post) {
  int64_t members = post->operation->members, bytes = post->collective->buffers[0].operand_bytes;
  if (bytes == 0) return NULL;
  RETURN_IF_FAILED(reserve(post, 2 * members * bytes));
  char *from = take(post, members * bytes), *to = take(post, members * bytes);
  for (int64_t m = 0; m < members; m++) memcpy(from + m * bytes, post->operands[m], (size_t)bytes);
  return post_alltoall(post, from, to, bytes);
}

static void finish_all_to_all_tuple(const Post *post) {
  int64_t members = post->operation->members, bytes = post->collective->buffers[0].operand_bytes;
  const char *packed = post->operation->scratch + members * bytes;
  for (int64_t m = 0; m < members && bytes > 0; m++) memcpy(post->results[m], packed + m * bytes, (size_t)bytes);
}

static const char *broadcast(const Post *post) {
  for (int64_t i = 0; i < post->collective->buffer_count; i++) {
    const XlacCollectiveBuffer *buffer = &post->collective->buffers[i];
    MPI_Datatype type;
    int count;
    MPI_Request *request;
    if (buffer->result_bytes == 0) continue;
    if (post->operation->member == 0) memcpy(post->results[i], post->operands[i], (size_t)buffer->result_bytes);
    RETURN_IF_FAILED(block_of(post, buffer->result_bytes, &type, &count));
    RETURN_IF_FAILED(next_request(post, &request));
    int code = MPI_Ibcast(post->results[i], count, type, 0, post->operation->communicator, request);
    RETURN_IF_FAILED(check(post, "MPI_Ibcast", code));
  }
  return NULL;
}

/* --- messages from one device to another --- */

static const char *message(const Post *post, MPI_Comm communicator, int64_t peer, int tag, bool sends, void *data,
                           int64_t bytes) {
  MPI_Datatype type;
  int count;
  MPI_Request *request;
  RETURN_IF_FAILED(block_of(post, bytes, &type, &count));
  RETURN_IF_FAILED(next_request(post, &request));
  int code = sends ? MPI_Isend(data, count, type, (int)peer, tag, communicator, request)
                   : MPI_Irecv(data, count, type, (int)peer, tag, communicator, request);
  return check(post, sends ? "MPI_Isend" : "MPI_Irecv", code);
}

/* Below MPICH's limit of 2^28; messages of one tag between two ranks stay in order. */
enum { TAGS = 1 << 19 };

static int tag_of(const XlacCollective *collective) {
  bool is_permute = collective->kind == XLAC_COLLECTIVE_PERMUTE;
  int64_t number = is_permute ? collective->index : collective->channel_id;
  return (int)((uint64_t)number % TAGS) + (is_permute ? 0 : TAGS);
}

/* All receives before the first send. */
static const char *exchange_pairs(const Post *post) {
  const XlacCollective *collective = post->collective;
  int64_t device = post->engine->rank;
  bool sends = collective->kind != XLAC_DEVICE_RECV, receives = collective->kind != XLAC_DEVICE_SEND;
  int64_t target = sends ? collective_target(collective, device) : -1;
  int64_t source = receives ? collective_source(collective, device) : -1;
  if (receives && source < 0) clear_results(collective, post->results);
  for (int pass = 0; pass < 2; pass++) {
    int64_t peer = pass == 0 ? source : target;
    for (int64_t i = 0; i < collective->buffer_count && peer >= 0; i++) {
      const XlacCollectiveBuffer *buffer = &collective->buffers[i];
      int64_t bytes = pass == 0 ? buffer->result_bytes : buffer->operand_bytes;
      void *data = pass == 0 ? post->results[i] : (void *)(uintptr_t)post->operands[i];
      if (bytes > 0)
        RETURN_IF_FAILED(message(post, post->engine->world, peer, tag_of(collective), pass == 1, data, bytes));
    }
  }
  return NULL;
}

/* --- ragged --- */

/* A run of rows as its sender has clipped it. */
typedef struct RowRun {
  int64_t from, to, size;
} RowRun;

/* Offsets in results belong to the sender: receivers are told first. */
static const char *tell_runs(const Post *post, int64_t runs, RowRun *mine, RowRun *theirs) {
  const XlacCollective *collective = post->collective;
  const XlacCollectiveBuffer *input = &collective->buffers[RAGGED_INPUT];
  int64_t count = runs * post->operation->members;
  for (int64_t k = 0; k < count; k++) {
    mine[k].from = ragged_number(collective, post->operands, RAGGED_FROM, k);
    mine[k].to = ragged_number(collective, post->operands, RAGGED_TO, k);
    mine[k].size = ragged_clip(input->outer, input->result_bytes / input->inner, &mine[k].from, &mine[k].to,
                               ragged_number(collective, post->operands, RAGGED_SIZES, k));
  }
  RETURN_IF_FAILED(post_alltoall(post, mine, theirs, runs * (int64_t)sizeof(RowRun)));
  return mpi_complete(post->engine, collective);
}

static const char *ragged_all_to_all(const Post *post) {
  const XlacCollective *collective = post->collective;
  const XlacCollectiveBuffer *input = &collective->buffers[RAGGED_INPUT];
  int64_t members = post->operation->members, runs = ragged_runs(collective, members), row = input->inner;
  MPI_Comm communicator = post->operation->communicator;
  if (input->result_bytes == 0 || row == 0) return NULL;
  memcpy(post->results[0], post->operands[RAGGED_OUTPUT], (size_t)input->result_bytes);
  RETURN_IF_FAILED(reserve(post, 2 * members * runs * (int64_t)sizeof(RowRun)));
  RowRun *mine = (void *)take(post, members * runs * (int64_t)sizeof(RowRun));
  RowRun *theirs = (void *)take(post, members * runs * (int64_t)sizeof(RowRun));
  RETURN_IF_FAILED(tell_runs(post, runs, mine, theirs));
  for (int pass = 0; pass < 2; pass++) {
    for (int64_t k = 0; k < members * runs; k++) {
      const RowRun *run = pass == 0 ? &theirs[k] : &mine[k];
      char *data = pass == 0 ? (char *)post->results[0] + run->to * row
                             : (char *)(uintptr_t)post->operands[RAGGED_INPUT] + run->from * row;
      if (run->size > 0) RETURN_IF_FAILED(message(post, communicator, k / runs, 0, pass == 1, data, run->size * row));
    }
  }
  return NULL;
}

/* --- all of them --- */

typedef struct PostRule {
  const char *(*post)(const Post *post);
  void (*finish)(const Post *post);
} PostRule;

static const PostRule rules[] = {
    [XLAC_ALL_REDUCE] = {all_reduce, finish_all_reduce},
    [XLAC_REDUCE_SCATTER] = {reduce_scatter, NULL},
    [XLAC_ALL_GATHER] = {all_gather, finish_all_gather},
    [XLAC_ALL_TO_ALL] = {all_to_all, finish_all_to_all},
    [XLAC_ALL_TO_ALL_TUPLE] = {all_to_all_tuple, finish_all_to_all_tuple},
    [XLAC_RAGGED_ALL_TO_ALL] = {ragged_all_to_all, NULL},
    [XLAC_COLLECTIVE_PERMUTE] = {exchange_pairs, NULL},
    [XLAC_COLLECTIVE_BROADCAST] = {broadcast, NULL},
    [XLAC_DEVICE_SEND] = {exchange_pairs, NULL},
    [XLAC_DEVICE_RECV] = {exchange_pairs, NULL},
};

static bool is_in_no_group(const XlacCollective *collective, const MpiOperation *operation) {
  return collective->group_count > 0 && operation->communicator == MPI_COMM_NULL;
}

const char *mpi_post(XlacMpi *engine, const XlacCollective *collective, const void *const *operands,
                     void *const *results) {
  MpiOperation *operation = &engine->operations[collective->index];
  const Post post = {engine, collective, operation, operands, results};
  for (int64_t i = 0; i < collective->buffer_count; i++)
    operation->results[i] = collective->buffers[i].result_bytes > 0 ? results[i] : NULL;
  if (is_in_no_group(collective, operation)) {
    clear_results(collective, results);
    return NULL;
  }
  return rules[collective->kind].post(&post);
}

void mpi_finish(XlacMpi *engine, const XlacCollective *collective) {
  MpiOperation *operation = &engine->operations[collective->index];
  const Post post = {engine, collective, operation, NULL, operation->results};
  if (rules[collective->kind].finish != NULL && !is_in_no_group(collective, operation))
    rules[collective->kind].finish(&post);
  for (int i = 0; i < operation->type_count; i++) MPI_Type_free(&operation->types[i]);
  operation->type_count = 0;
}
