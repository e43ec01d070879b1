#include "runtime/collectives/local_engine.h"

#include <pthread.h>
#include <string.h>

#include "base/arena.h"
#include "runtime/collectives/movement.h"
#include "runtime/collectives/reduction.h"
#include "runtime/collectives/rendezvous.h"

/* Transfers of one collective that are announced, and not completed. */
typedef struct Pending {
  int64_t count;
  int64_t *numbers;
} Pending;

typedef struct LocalDevice {
  LocalEngine *engine;
  int64_t device;
  XlacCommunication communication;
  Pending *pending;         /* by collective */
  const void **contributed; /* by member */
  bool was_interrupted;
  pthread_t thread;
} LocalDevice;

struct LocalEngine {
  Arena *arena;
  int64_t count;
  Rendezvous *rendezvous;
  LocalDevice *devices;
  const char **names; /* by collective */
  bool (*body)(void *context, int64_t device);
  void *context;
};

/* What a device brings to a meeting. */
typedef struct Contribution {
  const void *const *operands;
} Contribution;

/* --- what each computes of the operands of all --- */

typedef struct Exchange {
  const XlacCollective *collective;
  int64_t members, member;
  const Contribution *const *contributions; /* by member */
  void *const *results;
} Exchange;

static const char *operand_of(const Exchange *exchange, int64_t member, int64_t index) {
  return exchange->contributions[member]->operands[index];
}

/* |bytes| at |offset| of each run of the operands, folded in listed order. */
static void fold_runs(const Exchange *exchange, int64_t index, int64_t stride, int64_t offset) {
  const XlacCollectiveBuffer *buffer = &exchange->collective->buffers[index];
  ReductionFunction *reduce = reduction_function(buffer->type, exchange->collective->reducer);
  int64_t elements = buffer->inner / reduction_element_bytes(buffer->type);
  for (int64_t run = 0; run < buffer->outer && elements > 0; run++) {
    char *result = (char *)exchange->results[index] + run * buffer->inner;
    int64_t at = run * stride + offset;
    memcpy(result, operand_of(exchange, 0, index) + at, (size_t)buffer->inner);
    for (int64_t i = 1; i < exchange->members; i++) reduce(operand_of(exchange, i, index) + at, result, elements);
  }
}

static void all_reduce(const Exchange *exchange) {
  for (int64_t i = 0; i < exchange->collective->buffer_count; i++)
    fold_runs(exchange, i, exchange->collective->buffers[i].inner, 0);
}

static void reduce_scatter(const Exchange *exchange) {
  for (int64_t i = 0; i < exchange->collective->buffer_count; i++) {
    int64_t inner = exchange->collective->buffers[i].inner;
    fold_runs(exchange, i, exchange->members * inner, exchange->member * inner);
  }
}

static void all_gather(const Exchange *exchange) {
  for (int64_t i = 0; i < exchange->collective->buffer_count; i++) {
    const XlacCollectiveBuffer *buffer = &exchange->collective->buffers[i];
    for (int64_t m = 0; m < exchange->members; m++)
      move_runs(operand_of(exchange, m, i), buffer->inner, (char *)exchange->results[i] + m * buffer->inner,
                exchange->members * buffer->inner, buffer->outer, buffer->inner);
  }
}

static void all_to_all(const Exchange *exchange) {
  for (int64_t i = 0; i < exchange->collective->buffer_count; i++) {
    const XlacCollectiveBuffer *buffer = &exchange->collective->buffers[i];
    int64_t stride = exchange->members * buffer->inner;
    for (int64_t m = 0; m < exchange->members; m++)
      move_runs(operand_of(exchange, m, i) + exchange->member * buffer->inner, stride,
                (char *)exchange->results[i] + m * buffer->inner, stride, buffer->outer, buffer->inner);
  }
}

static void all_to_all_tuple(const Exchange *exchange) {
  for (int64_t m = 0; m < exchange->members; m++) {
    int64_t bytes = exchange->collective->buffers[m].result_bytes;
    move_runs(operand_of(exchange, m, exchange->member), bytes, exchange->results[m], bytes, 1, bytes);
  }
}

static void ragged_all_to_all(const Exchange *exchange) {
  const XlacCollective *collective = exchange->collective;
  const XlacCollectiveBuffer *input = &collective->buffers[RAGGED_INPUT];
  int64_t bytes = input->result_bytes, row = input->inner, runs = ragged_runs(collective, exchange->members);
  if (bytes == 0) return;
  memcpy(exchange->results[0], operand_of(exchange, exchange->member, RAGGED_OUTPUT), (size_t)bytes);
  for (int64_t m = 0; m < exchange->members; m++) {
    const void *const *operands = exchange->contributions[m]->operands;
    for (int64_t k = exchange->member * runs; k < (exchange->member + 1) * runs; k++) {
      int64_t from = ragged_number(collective, operands, RAGGED_FROM, k);
      int64_t to = ragged_number(collective, operands, RAGGED_TO, k);
      int64_t size = ragged_number(collective, operands, RAGGED_SIZES, k);
      size = ragged_clip(input->outer, bytes / row, &from, &to, size);
      if (size <= 0) continue;
      memcpy((char *)exchange->results[0] + to * row, (const char *)operands[RAGGED_INPUT] + from * row,
             (size_t)(size * row));
    }
  }
}

static void broadcast(const Exchange *exchange) {
  for (int64_t i = 0; i < exchange->collective->buffer_count; i++) {
    int64_t bytes = exchange->collective->buffers[i].result_bytes;
    move_runs(operand_of(exchange, 0, i), bytes, exchange->results[i], bytes, 1, bytes);
  }
}

typedef void ExchangeRule(const Exchange *exchange);

static ExchangeRule *const rules[] = {[XLAC_ALL_REDUCE] = all_reduce,
                                      [XLAC_REDUCE_SCATTER] = reduce_scatter,
                                      [XLAC_ALL_GATHER] = all_gather,
                                      [XLAC_ALL_TO_ALL] = all_to_all,
                                      [XLAC_ALL_TO_ALL_TUPLE] = all_to_all_tuple,
                                      [XLAC_RAGGED_ALL_TO_ALL] = ragged_all_to_all,
                                      [XLAC_COLLECTIVE_BROADCAST] = broadcast};

/* --- the engine's two functions --- */

static const char *failed(LocalDevice *self) {
  self->was_interrupted = true;
  return rendezvous_failure(self->engine->rendezvous);
}

static const char *meet(LocalDevice *self, const XlacCollective *collective, const void *const *operands,
                        void *const *results) {
  Rendezvous *rendezvous = self->engine->rendezvous;
  int64_t member;
  const XlacDeviceGroup *group = collective_group(collective, self->device, &member);
  if (group == NULL) {
    clear_results(collective, results);
    return NULL;
  }
  const Meeting meeting = {(uint64_t)collective->index, self->engine->names[collective->index], group->devices,
                           group->count};
  const Contribution contribution = {operands};
  if (!rendezvous_enter(rendezvous, self->device, &meeting, &contribution, self->contributed)) return failed(self);
  const Exchange exchange = {collective, group->count, member, (const Contribution *const *)self->contributed, results};
  rules[collective->kind](&exchange);
  rendezvous_leave(rendezvous, self->device);
  return NULL;
}

static void announce(LocalDevice *self, const XlacCollective *collective, uint64_t key, int64_t peer, bool sends,
                     void *data, int64_t bytes) {
  Pending *pending = &self->pending[collective->index];
  const Transfer transfer = {key, self->engine->names[collective->index], peer, sends, data, bytes};
  pending->numbers[pending->count++] = rendezvous_announce(self->engine->rendezvous, self->device, &transfer);
}

/* Keys of permutes are even, those of channels odd. */
static uint64_t key_of(const XlacCollective *collective) {
  bool is_permute = collective->kind == XLAC_COLLECTIVE_PERMUTE;
  return is_permute ? 2 * (uint64_t)collective->index : 2 * (uint64_t)collective->channel_id + 1;
}

/* Both sides go on at once. */
static const char *transfer(LocalDevice *self, const XlacCollective *collective, const void *const *operands,
                            void *const *results) {
  bool sends = collective->kind != XLAC_DEVICE_RECV, receives = collective->kind != XLAC_DEVICE_SEND;
  int64_t target = collective_target(collective, self->device), source = collective_source(collective, self->device);
  if (receives && source < 0) clear_results(collective, results);
  for (int64_t i = 0; i < collective->buffer_count; i++) {
    const XlacCollectiveBuffer *buffer = &collective->buffers[i];
    int64_t bytes = sends ? buffer->operand_bytes : buffer->result_bytes;
    if (bytes == 0) continue;
    if (sends && target >= 0)
      announce(self, collective, key_of(collective), target, true, (void *)(uintptr_t)operands[i], bytes);
    if (receives && source >= 0) announce(self, collective, key_of(collective), source, false, results[i], bytes);
  }
  return NULL;
}

static const char *start(void *data, const XlacCollective *collective, const void *const *operands,
                         void *const *results) {
  LocalDevice *self = data;
  self->pending[collective->index].count = 0;
  bool is_transfer = collective->kind == XLAC_COLLECTIVE_PERMUTE || collective->kind == XLAC_DEVICE_SEND ||
                     collective->kind == XLAC_DEVICE_RECV;
  return is_transfer ? transfer(self, collective, operands, results) : meet(self, collective, operands, results);
}

static const char *wait_for(void *data, const XlacCollective *collective) {
  LocalDevice *self = data;
  Pending *pending = &self->pending[collective->index];
  bool is_done = true;
  for (int64_t i = 0; i < pending->count; i++)
    is_done &= rendezvous_complete(self->engine->rendezvous, self->device, pending->numbers[i],
                                   self->engine->names[collective->index]);
  pending->count = 0;
  return is_done ? NULL : failed(self);
}

/* --- life --- */

static void init_device(LocalEngine *engine, int64_t device, const XlacDescriptor *descriptor) {
  LocalDevice *self = &engine->devices[device];
  *self = (LocalDevice){.engine = engine, .device = device};
  self->communication =
      (XlacCommunication){.struct_size = sizeof(XlacCommunication), .data = self, .start = start, .wait = wait_for};
  self->pending = ARENA_NEW_ARRAY(engine->arena, Pending, descriptor->collective_count);
  self->contributed = ARENA_NEW_ARRAY(engine->arena, const void *, engine->count);
  for (int64_t i = 0; i < descriptor->collective_count; i++)
    self->pending[i].numbers = ARENA_NEW_ARRAY(engine->arena, int64_t, 2 * descriptor->collectives[i]->buffer_count);
}

LocalEngine *local_engine_create(const XlacDescriptor *descriptor, int64_t count) {
  Arena *arena = arena_create();
  LocalEngine *engine = ARENA_NEW(arena, LocalEngine);
  *engine = (LocalEngine){.arena = arena, .count = count};
  engine->rendezvous = rendezvous_create(engine->count);
  engine->names = ARENA_NEW_ARRAY(arena, const char *, descriptor->collective_count);
  for (int64_t i = 0; i < descriptor->collective_count; i++)
    engine->names[i] =
        arena_printf(arena, "%s '%s'", descriptor->collectives[i]->opcode, descriptor->collectives[i]->instruction);
  engine->devices = ARENA_NEW_ARRAY(arena, LocalDevice, engine->count);
  for (int64_t i = 0; i < engine->count; i++) init_device(engine, i, descriptor);
  return engine;
}

void local_engine_destroy(LocalEngine *engine) {
  if (engine == NULL) return;
  rendezvous_destroy(engine->rendezvous);
  arena_destroy(engine->arena);
}

const XlacCommunication *local_engine_communication(LocalEngine *engine, int64_t device) {
  return &engine->devices[device].communication;
}

static void *device_main(void *argument) {
  LocalDevice *self = argument;
  bool is_done = self->engine->body(self->engine->context, self->device);
  rendezvous_finish(self->engine->rendezvous, self->device, !is_done);
  return NULL;
}

void local_engine_run(LocalEngine *engine, bool (*body)(void *context, int64_t device), void *context) {
  engine->body = body;
  engine->context = context;
  rendezvous_reset(engine->rendezvous);
  for (int64_t i = 0; i < engine->count; i++) {
    engine->devices[i].was_interrupted = false;
    if (pthread_create(&engine->devices[i].thread, NULL, device_main, &engine->devices[i]) != 0) out_of_memory(0);
  }
  for (int64_t i = 0; i < engine->count; i++) pthread_join(engine->devices[i].thread, NULL);
}

bool local_engine_was_interrupted(const LocalEngine *engine, int64_t device) {
  return engine->devices[device].was_interrupted;
}

const char *local_engine_mismatch(LocalEngine *engine) {
  return rendezvous_is_mismatch(engine->rendezvous) ? rendezvous_failure(engine->rendezvous) : NULL;
}

int64_t local_engine_mismatch_chain(LocalEngine *engine, const int64_t **out_devices) {
  return rendezvous_failure_chain(engine->rendezvous, out_devices);
}
