#include "runtime/collectives/evaluator_devices.h"

#include <pthread.h>

#include "base/hash_map.h"
#include "runtime/collectives/rendezvous.h"

typedef struct Evaluations Evaluations;

/* One device, its thread and its host. */
typedef struct DeviceThread {
  Evaluations *all;
  int64_t device;
  pthread_t thread;
  DeviceEvaluation *evaluation;
  Arena *arena; /* of names and diagnostics */
  DiagSink diag;
  IntMap names;                /* HloInstruction → what messages call it */
  const HloInstruction *place; /* where it met others last, or wanted to */
  Status status;
  bool is_interrupted; /* the failure is that of another device, or of all */
} DeviceThread;

struct Evaluations {
  const HloModule *module;
  DeviceCounts devices;
  const HloHost *outside;
  int64_t memory_limit;
  Rendezvous *rendezvous;
  pthread_mutex_t outside_mutex;
  DeviceThread *threads;
};

/* --- the host --- */

static Status execute(void *self, const HloInstruction *instruction, const Literal *const *operands, DiagSink *diag,
                      Literal *result) {
  const DeviceThread *thread = self;
  Evaluations *all = thread->all;
  pthread_mutex_lock(&all->outside_mutex);
  Status status = all->outside->execute(all->outside->self, instruction, operands, diag, result);
  pthread_mutex_unlock(&all->outside_mutex);
  return status;
}

static Status refuse(void *self, const HloInstruction *instruction, const Literal *const *operands, DiagSink *diag,
                     Literal *result) {
  (void)self, (void)operands, (void)result;
  return diag_error(diag, STATUS_UNSUPPORTED, instruction->loc, "eval", "'%s' leads out of the module",
                    hlo_opcode_text(instruction->opcode));
}

/* "all-reduce 'sum'"; made once for each place. */
static const char *name_of_place(DeviceThread *thread, const HloInstruction *instruction) {
  const char *name = pointer_map_get(&thread->names, instruction);
  if (name != NULL) return name;
  name = arena_printf(thread->arena, "%s '%.*s'", hlo_opcode_text(instruction->opcode), SV_ARG(instruction->name));
  pointer_map_set(&thread->names, instruction, (void *)(uintptr_t)name);
  return name;
}

/* The instruction is the key: devices that run one module meet at one place of it. */
static Status exchange(void *self, const HloInstruction *instruction, Int64List members, const void *contribution,
                       DiagSink *diag, const void **out_contributions) {
  DeviceThread *thread = self;
  (void)diag;
  thread->place = instruction;
  const Meeting meeting = {(uint64_t)instruction->id, name_of_place(thread, instruction), members.data, members.count};
  bool has_met = rendezvous_enter(thread->all->rendezvous, thread->device, &meeting, contribution, out_contributions);
  thread->is_interrupted = !has_met;
  return has_met ? STATUS_OK : STATUS_INVALID;
}

static void release(void *self) {
  const DeviceThread *thread = self;
  rendezvous_leave(thread->all->rendezvous, thread->device);
}

/* Sends and receives belong together by their channel. */
static int64_t announce(void *self, const HloInstruction *instruction, int64_t peer, Literal *data) {
  DeviceThread *thread = self;
  const Transfer transfer = {.key = (uint64_t)hlo_instruction_int(instruction, HLO_ATTR_CHANNEL_ID, 0),
                             .name = name_of_place(thread, instruction),
                             .peer = peer,
                             .sends = instruction->opcode == HLO_SEND,
                             .data = data->data,
                             .bytes = shape_byte_size(data->shape)};
  return rendezvous_announce(thread->all->rendezvous, thread->device, &transfer);
}

static Status complete(void *self, const HloInstruction *done, int64_t number, DiagSink *diag) {
  DeviceThread *thread = self;
  (void)diag;
  thread->place = done;
  bool is_done = rendezvous_complete(thread->all->rendezvous, thread->device, number, name_of_place(thread, done));
  thread->is_interrupted = !is_done;
  return is_done ? STATUS_OK : STATUS_INVALID;
}

static void withdraw(void *self) {
  const DeviceThread *thread = self;
  rendezvous_withdraw(thread->all->rendezvous, thread->device);
}

/* --- threads --- */

static void *device_main(void *argument) {
  DeviceThread *thread = argument;
  Evaluations *all = thread->all;
  const HloHost host = {.self = thread,
                        .execute = all->outside != NULL ? execute : refuse,
                        .devices = all->devices,
                        .device = thread->device,
                        .exchange = exchange,
                        .release = release,
                        .announce = announce,
                        .complete = complete,
                        .withdraw = withdraw};
  thread->status = hlo_evaluate(thread->evaluation->arena, all->module, thread->evaluation->arguments, &host,
                                all->memory_limit, &thread->diag, &thread->evaluation->result);
  rendezvous_finish(all->rendezvous, thread->device, thread->status != STATUS_OK);
  return NULL;
}

static void start(Evaluations *all, int64_t device, DeviceEvaluation *evaluation) {
  DeviceThread *thread = &all->threads[device];
  *thread = (DeviceThread){.all = all, .device = device, .evaluation = evaluation, .arena = arena_create()};
  diag_sink_init(&thread->diag, thread->arena);
  int_map_init(&thread->names, thread->arena);
  int failure = pthread_create(&thread->thread, NULL, device_main, thread);
  if (failure != 0) out_of_memory(0);
}

/* --- errors --- */

static void copy_error(DiagSink *diag, const DeviceThread *thread) {
  for (const Diagnostic *from = thread->diag.first; from != NULL; from = from->next) {
    Status ignored = diag_error(diag, thread->status, from->loc, from->code, "%.*s", SV_ARG(from->message));
    (void)ignored;
    for (const Diagnostic *note = from->notes; note != NULL; note = note->next)
      diag_note(diag, note->loc, "%.*s", SV_ARG(note->message));
    diag_note(diag, NO_LOC, "on device %lld", (long long)thread->device);
  }
}

static Status tell_mismatch(const Evaluations *all, DiagSink *diag) {
  const int64_t *chain;
  int64_t count = rendezvous_failure_chain(all->rendezvous, &chain);
  const HloInstruction *first = count > 0 ? all->threads[chain[0]].place : NULL;
  Status status = diag_error(diag, STATUS_INVALID, first != NULL ? first->loc : NO_LOC, "deadlock", "deadlock: %s",
                             rendezvous_failure(all->rendezvous));
  for (int64_t i = 1; i + 1 < count; i++)
    diag_note(diag, all->threads[chain[i]].place->loc, "device %lld waits here", (long long)chain[i]);
  return status;
}

static Status status_of(const Evaluations *all, int64_t count, DiagSink *diag) {
  for (int64_t i = 0; i < count; i++) {
    const DeviceThread *thread = &all->threads[i];
    if (thread->status == STATUS_OK || thread->is_interrupted) continue;
    copy_error(diag, thread); /* of a call that leads out of the module its host may have told already */
    return thread->status;
  }
  return rendezvous_is_mismatch(all->rendezvous) ? tell_mismatch(all, diag) : STATUS_OK;
}

Status evaluate_on_devices(const HloModule *module, DeviceCounts devices, DeviceEvaluation *evaluations,
                           const HloHost *outside, int64_t memory_limit, DiagSink *diag) {
  int64_t count = device_counts_total(devices);
  Arena *arena = arena_create();
  Evaluations all = {.module = module,
                     .devices = devices,
                     .outside = outside,
                     .memory_limit = memory_limit,
                     .rendezvous = rendezvous_create(count),
                     .threads = ARENA_NEW_ARRAY(arena, DeviceThread, count)};
  pthread_mutex_init(&all.outside_mutex, NULL);
  for (int64_t i = 0; i < count; i++) start(&all, i, &evaluations[i]);
  for (int64_t i = 0; i < count; i++) pthread_join(all.threads[i].thread, NULL);
  Status status = status_of(&all, count, diag);
  for (int64_t i = 0; i < count; i++) arena_destroy(all.threads[i].arena);
  pthread_mutex_destroy(&all.outside_mutex);
  rendezvous_destroy(all.rendezvous);
  arena_destroy(arena);
  return status;
}
