/* Sends and receives of a scheduled module that can never end.
 *
 * Each device runs the schedule and takes part in the transfers that name it in _xla_send_recv_source_target_pairs. A
 * send or receive is announced and the device goes on; its end waits until the device at the other side announced its
 * own, on the same channel, as often.  All devices are run until none can go on: who is left then waits for ever. Every
 * step is taken once, so that the time is linear in the pairs of all transfers. */
#include "base/array.h"
#include "hlo/infer/hlo_verifier.h"
#include "hlo/infer/verifier_internal.h"
#include "hlo/ir/device_groups.h"

/* Devices and channels that are told apart: three numbers of this size fit one of 64 bits. */
enum { MOST_NUMBERS = 1 << 21 };

/* What one channel moves from one device to another. */
typedef struct Lane {
  int64_t devices[2];   /* source, target */
  int64_t made[2];      /* sends, receives in the text so far */
  int64_t announced[2]; /* those that the run has met */
} Lane;

/* What a device does: it announces (|waits_for| 0), or waits until the other side announced so many. */
typedef struct Step {
  const HloInstruction *instruction;
  int64_t lane;
  int64_t side; /* 0: as the source, 1: as the target */
  int64_t waits_for;
} Step;

typedef struct Device {
  int64_t number;
  ARRAY(Step) steps;
  int64_t next; /* the first that is not done */
} Device;

typedef ARRAY(int64_t) Int64Stack;

typedef struct Transfers {
  Arena *arena;
  DiagSink *diag;
  ARRAY(Device) devices;
  ARRAY(Lane) lanes;
  IntMap device_of_number, channel_of_number, lane_of_ends; /* places in the arrays; of channels their order */
  int64_t channel_count;
} Transfers;

/* --- what the text says --- */

static bool is_transfer(const HloInstruction *instruction) {
  return (instruction->opcode == HLO_SEND || instruction->opcode == HLO_RECV) &&
         !hlo_instruction_bool(instruction, HLO_ATTR_IS_HOST_TRANSFER, false);
}

/* One group of an asynchronous computation, pipelines, branches and loops have orders of their own: no judgement. */
static bool is_straight(const HloModule *module) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *instructions = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < instructions->count; i++) {
      const HloInstruction *transfer = instructions->data[i];
      if (!is_transfer(transfer)) continue;
      if (transfer->parent != module->entry || hlo_instruction_frontend(transfer, DEVICE_PAIRS_KEY) == NULL ||
          hlo_instruction_frontend(transfer, "_xla_send_recv_pipeline") != NULL)
        return false;
    }
  }
  return true;
}

/* The place of |number|, which is that of the next one where it is new. */
static int64_t place(IntMap *map, int64_t number, int64_t next) {
  int64_t found;
  if (int_map_find(map, (uint64_t)number, &found)) return found;
  int_map_set(map, (uint64_t)number, next);
  return next;
}

static int64_t device_place(Transfers *transfers, int64_t number) {
  int64_t device = place(&transfers->device_of_number, number, transfers->devices.count);
  if (device == transfers->devices.count)
    array_push(&transfers->devices, transfers->arena, ((Device){.number = number}));
  return device;
}

/* |source| and |target| are places. */
static int64_t lane_place(Transfers *transfers, int64_t channel, int64_t source, int64_t target) {
  int64_t order = place(&transfers->channel_of_number, channel, transfers->channel_count);
  transfers->channel_count += order == transfers->channel_count;
  int64_t ends = (order * MOST_NUMBERS + source) * MOST_NUMBERS + target;
  int64_t lane = place(&transfers->lane_of_ends, ends, transfers->lanes.count);
  if (lane == transfers->lanes.count)
    array_push(&transfers->lanes, transfers->arena, ((Lane){.devices = {source, target}}));
  return lane;
}

/* --- the steps of each device --- */

static void add_step(Transfers *transfers, const HloInstruction *instruction, const HloInstruction *transfer,
                     const int64_t devices[2]) {
  int64_t side = transfer->opcode == HLO_RECV;
  int64_t channel = hlo_instruction_int(transfer, HLO_ATTR_CHANNEL_ID, 0);
  Step step = {instruction, lane_place(transfers, channel, devices[0], devices[1]), side, 0};
  Lane *lane = &transfers->lanes.data[step.lane];
  if (instruction == transfer)
    lane->made[side]++;
  else
    step.waits_for = lane->made[side];
  Device *device = &transfers->devices.data[devices[side]];
  array_push(&device->steps, transfers->arena, step);
}

/* A device sends what it has to one other and receives from one other; |instruction| is |transfer| or its end. */
static Status add_steps(Transfers *transfers, const HloInstruction *instruction, const HloInstruction *transfer) {
  static const char *const ends[] = {"source", "target"};
  StringView text = hlo_instruction_frontend(transfer, DEVICE_PAIRS_KEY)->value;
  IntMap seen[2];
  for (int side = 0; side < 2; side++) int_map_init(&seen[side], transfers->arena);
  for (DevicePair pair; device_pairs_next(&text, &pair);) {
    int64_t numbers[] = {pair.source, pair.target}, devices[2], ignored;
    for (int side = 0; side < 2; side++) {
      devices[side] = device_place(transfers, numbers[side]);
      if (int_map_find(&seen[side], (uint64_t)devices[side], &ignored))
        return diag_error(transfers->diag, STATUS_INVALID, transfer->loc, "verify-transfer",
                          "'%.*s' has device %lld as a %s twice", SV_ARG(transfer->name), (long long)numbers[side],
                          ends[side]);
      int_map_set(&seen[side], (uint64_t)devices[side], 1);
    }
    if (transfers->devices.count > MOST_NUMBERS || transfers->channel_count >= MOST_NUMBERS - 1) return STATUS_OK;
    add_step(transfers, instruction, transfer, devices);
  }
  return STATUS_OK;
}

/* The transfer that |instruction| is or ends, NULL: none. */
static const HloInstruction *transfer_of(const HloInstruction *instruction) {
  bool ends = instruction->opcode == HLO_SEND_DONE || instruction->opcode == HLO_RECV_DONE;
  const HloInstruction *transfer = ends ? instruction->operands[0] : instruction;
  return is_transfer(transfer) ? transfer : NULL;
}

static Status collect_steps(Transfers *transfers, const HloComputation *entry) {
  for (int64_t i = 0; i < entry->instructions.count; i++) {
    const HloInstruction *instruction = entry->instructions.data[i], *transfer = transfer_of(instruction);
    if (transfer != NULL) RETURN_IF_ERROR(add_steps(transfers, instruction, transfer));
  }
  return STATUS_OK;
}

/* --- the run --- */

static bool can_pass(const Transfers *transfers, const Step *step) {
  return transfers->lanes.data[step->lane].announced[!step->side] >= step->waits_for;
}

/* Runs |device| until it waits or is done; whom it may have woken is put on |awake|. */
static void run_device(Transfers *transfers, int64_t device, Int64Stack *awake) {
  Device *runs = &transfers->devices.data[device];
  for (; runs->next < runs->steps.count; runs->next++) {
    const Step *step = &runs->steps.data[runs->next];
    Lane *lane = &transfers->lanes.data[step->lane];
    if (step->waits_for > 0) {
      if (!can_pass(transfers, step)) return;
      continue;
    }
    lane->announced[step->side]++;
    array_push(awake, transfers->arena, lane->devices[!step->side]);
  }
}

static void run_devices(Transfers *transfers) {
  Int64Stack awake = {0};
  for (int64_t d = 0; d < transfers->devices.count; d++) array_push(&awake, transfers->arena, d);
  while (awake.count > 0) run_device(transfers, array_pop(&awake), &awake);
}

/* Where |device| waits, NULL: it is done. */
static const Step *waits_at(const Device *device) {
  return device->next < device->steps.count ? &device->steps.data[device->next] : NULL;
}

static bool is_lonely(const Transfers *transfers, const Step *step) {
  return transfers->lanes.data[step->lane].made[!step->side] < step->waits_for;
}

/* The first device, in the order of the text, that waits for a transfer that no device makes; else the first that
 * waits. */
static const Device *first_that_waits(const Transfers *transfers) {
  const Device *first = NULL;
  for (int64_t d = 0; d < transfers->devices.count; d++) {
    const Device *device = &transfers->devices.data[d];
    const Step *step = waits_at(device);
    if (step == NULL) continue;
    if (is_lonely(transfers, step)) return device;
    if (first == NULL) first = device;
  }
  return first;
}

static Status report(const Transfers *transfers) {
  const Device *device = first_that_waits(transfers);
  if (device == NULL) return STATUS_OK;
  const Step *step = waits_at(device);
  const Device *other = &transfers->devices.data[transfers->lanes.data[step->lane].devices[!step->side]];
  Status status =
      diag_error(transfers->diag, STATUS_INVALID, step->instruction->loc, "verify-transfer",
                 "'%.*s' never ends on device %lld", SV_ARG(step->instruction->name), (long long)device->number);
  const char *does = step->side == 0 ? "receives from" : "sends to";
  if (is_lonely(transfers, step))
    diag_note(transfers->diag, NO_LOC, "device %lld never %s it on this channel", (long long)other->number, does);
  else
    diag_note(transfers->diag, waits_at(other)->instruction->loc, "device %lld, which %s it later, waits here",
              (long long)other->number, does);
  return status;
}

Status hlo_verify_transfers_end(const HloModule *module, DiagSink *diag) {
  if (!module->is_scheduled || !is_straight(module)) return STATUS_OK;
  Transfers transfers = {.arena = arena_create(), .diag = diag};
  int_map_init(&transfers.device_of_number, transfers.arena);
  int_map_init(&transfers.channel_of_number, transfers.arena);
  int_map_init(&transfers.lane_of_ends, transfers.arena);
  Status status = collect_steps(&transfers, module->entry);
  if (status == STATUS_OK) {
    run_devices(&transfers);
    status = report(&transfers);
  }
  arena_destroy(transfers.arena);
  return status;
}
