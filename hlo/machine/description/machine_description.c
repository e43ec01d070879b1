#include "hlo/machine/description/machine_description.h"

bool machine_is_host(const MachineDescription *machine) {
  return sv_equal_cstring(machine->isa.triple, "host");
}

int64_t machine_buffer_usable(const MachineDescription *machine) {
  return machine->buffer.size - machine->buffer.reserve;
}

bool machine_queue_loads(const MachineQueue *queue) {
  return queue->kind == QUEUE_LOAD || queue->kind == QUEUE_MOVE;
}

bool machine_queue_stores(const MachineQueue *queue) {
  return queue->kind == QUEUE_STORE || queue->kind == QUEUE_MOVE;
}

bool machine_queue_executes(const MachineQueue *queue) {
  return queue->kind == QUEUE_EXEC;
}

const MachineQueue *machine_find_queue(const MachineDescription *machine, StringView name) {
  for (int i = 0; i < machine->queue_count; i++)
    if (sv_equal(machine->queues[i].name, name)) return &machine->queues[i];
  return NULL;
}

/* --- verifier --- */

static bool is_power_of_two(int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

static Status verify_buffer(const MachineDescription *machine, DiagSink *diag) {
  const MachineBuffer *buffer = &machine->buffer;
  Status status = STATUS_OK;
  if (!is_power_of_two(buffer->align))
    return diag_error(diag, STATUS_INVALID, buffer->loc, "machine-verify", "'align', %lld, is not a power of two",
                      (long long)buffer->align);
  int unit_bits = buffer->unit == TYPE_INVALID ? 8 : type_bits(buffer->unit);
  if (unit_bits % 8 != 0 || buffer->align % (unit_bits / 8) != 0)
    status = diag_error(diag, STATUS_INVALID, buffer->loc, "machine-verify",
                        "'align', %lld, is not a multiple of the unit '%s'", (long long)buffer->align,
                        type_text(buffer->unit));
  if (buffer->size % buffer->align != 0)
    status = diag_error(diag, STATUS_INVALID, buffer->loc, "machine-verify",
                        "the Buffer's size, %lld, is not a multiple of its alignment, %lld", (long long)buffer->size,
                        (long long)buffer->align);
  else if (buffer->size - buffer->reserve < buffer->align)
    status = diag_error(diag, STATUS_INVALID, buffer->loc, "machine-verify",
                        "a Buffer of %lld bytes with %lld in reserve has no room for a Tensor", (long long)buffer->size,
                        (long long)buffer->reserve);
  return status;
}

static Status verify_queues(const MachineDescription *machine, DiagSink *diag) {
  static const struct {
    const char *work;
    bool (*does)(const MachineQueue *);
  } works[] = {{"loads", machine_queue_loads}, {"stores", machine_queue_stores}, {"executes", machine_queue_executes}};
  Status status = STATUS_OK;
  for (size_t w = 0; w < sizeof works / sizeof works[0]; w++) {
    bool found = false;
    for (int i = 0; i < machine->queue_count; i++) found |= works[w].does(&machine->queues[i]);
    if (!found)
      status = diag_error(diag, STATUS_INVALID, machine->loc, "machine-verify", "the machine has no queue that %s",
                          works[w].work);
  }
  return status;
}

static Status verify_sync(const MachineDescription *machine, DiagSink *diag) {
  const MachineSync *sync = &machine->sync;
  if (sync->kind == SYNC_FLAG && sync->ids == 0)
    return diag_error(diag, STATUS_INVALID, sync->loc, "machine-verify", "flags need 'ids' of at least 1");
  if (sync->kind == SYNC_COUNTER && sync->ids != 0)
    return diag_error(diag, STATUS_INVALID, sync->loc, "machine-verify",
                      "counters have no 'ids': every queue has one of its own");
  return STATUS_OK;
}

static Status verify_isa(const MachineDescription *machine, DiagSink *diag) {
  if (!machine_is_host(machine) || machine->isa.abi.size == 0) return STATUS_OK;
  return diag_error(diag, STATUS_INVALID, machine->isa.loc, "machine-verify", "the host has its own 'abi'");
}

static Status verify_ops(const MachineDescription *machine, DiagSink *diag) {
  for (int type = 0; type < PRIMITIVE_TYPE_COUNT; type++)
    if (machine->ops[type]) return STATUS_OK;
  return diag_error(diag, STATUS_INVALID, machine->loc, "machine-verify",
                    "the machine has no operations: a section 'op TYPE' is missing");
}

static Status verify_vector(const MachineDescription *machine, DiagSink *diag) {
  if (is_power_of_two(machine->vector_bytes)) return STATUS_OK;
  return diag_error(diag, STATUS_INVALID, machine->vector_loc, "machine-verify",
                    "a vector of %lld bytes is not a power of two", (long long)machine->vector_bytes);
}

Status machine_description_verify(const MachineDescription *machine, DiagSink *diag) {
  static Status (*const checks[])(const MachineDescription *, DiagSink *) = {
      verify_buffer, verify_vector, verify_queues, verify_sync, verify_isa, verify_ops,
  };
  Status status = STATUS_OK;
  for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
    Status found = checks[i](machine, diag);
    if (found != STATUS_OK) status = found;
  }
  return status;
}
