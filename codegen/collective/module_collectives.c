#include "codegen/collective/module_collectives.h"

#include "base/array.h"
#include "base/checked_math.h"
#include "hlo/analysis/trip_count.h"
#include "hlo/ir/collective_reducer.h"
#include "hlo/ir/host_transfer.h"

typedef struct Collector {
  Arena *arena;
  DiagSink *diag;
  ModuleCollectives *out;
  ARRAY(ModuleCollective) list;
  IntMap seen; /* ids of computations: 1 where they have collectives, also in what they call */
} Collector;

/* --- which --- */

typedef struct KindRow {
  HloOpcode opcode;
  XlacCollectiveKind kind;
} KindRow;

static const KindRow kinds[] = {
    {HLO_ALL_REDUCE, XLAC_ALL_REDUCE},
    {HLO_REDUCE_SCATTER, XLAC_REDUCE_SCATTER},
    {HLO_ALL_GATHER, XLAC_ALL_GATHER},
    {HLO_ALL_TO_ALL, XLAC_ALL_TO_ALL},
    {HLO_RAGGED_ALL_TO_ALL, XLAC_RAGGED_ALL_TO_ALL},
    {HLO_COLLECTIVE_PERMUTE, XLAC_COLLECTIVE_PERMUTE},
    {HLO_COLLECTIVE_BROADCAST, XLAC_COLLECTIVE_BROADCAST},
    {HLO_SEND, XLAC_DEVICE_SEND},
    {HLO_RECV, XLAC_DEVICE_RECV},
};

/* 0: it is no collective. */
static int32_t kind_of(const HloInstruction *instruction) {
  if (host_transfer_is(instruction)) return 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (kinds[i].opcode == instruction->opcode) {
      bool is_tuple =
          kinds[i].kind == XLAC_ALL_TO_ALL && hlo_instruction_attr(instruction, HLO_ATTR_DIMENSIONS) == NULL;
      return is_tuple ? XLAC_ALL_TO_ALL_TUPLE : (int32_t)kinds[i].kind;
    }
  }
  return 0;
}

static const HloInstruction *wrapped_by(const HloInstruction *start) {
  const HloComputation *wrapped =
      start->opcode == HLO_ASYNC_START ? hlo_instruction_computation(start, HLO_ATTR_CALLS) : NULL;
  return wrapped != NULL && kind_of(wrapped->root) != 0 ? wrapped->root : start;
}

bool module_needs_devices(const HloModule *module) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *list = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < list->count; i++) {
      HloOpcode opcode = list->data[i]->opcode;
      if (kind_of(list->data[i]) != 0 || opcode == HLO_PARTITION_ID || opcode == HLO_REPLICA_ID) return true;
    }
  }
  return false;
}

/* 0: none that engines know. */
static int32_t reducer_of(const HloInstruction *collective) {
  static const struct {
    HloOpcode opcode;
    XlacReducer reducer;
  } reducers[] = {
      {HLO_ADD, XLAC_REDUCE_ADD},         {HLO_MULTIPLY, XLAC_REDUCE_MULTIPLY}, {HLO_MINIMUM, XLAC_REDUCE_MINIMUM},
      {HLO_MAXIMUM, XLAC_REDUCE_MAXIMUM}, {HLO_AND, XLAC_REDUCE_AND},           {HLO_OR, XLAC_REDUCE_OR},
      {HLO_XOR, XLAC_REDUCE_XOR},
  };
  HloOpcode opcode;
  if (!collective_reducer(collective, &opcode)) return 0;
  for (size_t i = 0; i < sizeof reducers / sizeof *reducers; i++) {
    if (reducers[i].opcode == opcode) return (int32_t)reducers[i].reducer;
  }
  return 0;
}

static bool is_transfer(const ModuleCollective *entry) {
  return entry->kind == XLAC_DEVICE_SEND || entry->kind == XLAC_DEVICE_RECV;
}

/* --- bytes --- */

static Status unsupported(const Collector *collector, const HloInstruction *instruction, const char *what) {
  return diag_error(collector->diag, STATUS_UNSUPPORTED, instruction->loc, "unsupported-op", "'%s' %s",
                    hlo_opcode_text(instruction->opcode), what);
}

static bool same_order(const Shape *a, const Shape *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++) {
    if (a->layout.minor_to_major[i] != b->layout.minor_to_major[i]) return false;
  }
  return true;
}

/* |shape| as runs of bytes along |dimension|, of which each member has |1 / parts|. */
static void cut_runs(const Shape *shape, int dimension, int64_t parts, XlacCollectiveBuffer *out) {
  int64_t inner = type_storage_bytes(shape->type), outer = 1;
  bool is_inside = true;
  for (int i = 0; i < shape->rank; i++) {
    int at = (int)shape->layout.minor_to_major[i];
    if (at == dimension) is_inside = false;
    if (is_inside)
      inner *= shape->dims[at];
    else if (at == dimension)
      inner *= shape->dims[at] / parts;
    else
      outer *= shape->dims[at];
  }
  out->outer = outer;
  out->inner = inner;
}

static int64_t bytes_of(const Shape *shape) {
  return shape != NULL && shape_is_array(shape) ? shape_byte_size(shape) : 0;
}

static const Shape *result_for(const HloInstruction *collective, int index) {
  const Shape *shape = collective->shape;
  if (collective->opcode == HLO_SEND || collective->opcode == HLO_RAGGED_ALL_TO_ALL)
    return index == 0 && collective->opcode != HLO_SEND ? shape : NULL;
  if (collective->opcode == HLO_RECV) return shape->tuple[0];
  if (!shape_is_tuple(shape)) return index == 0 ? shape : NULL;
  return index < shape->tuple_size ? shape->tuple[index] : NULL;
}

/* Along a dimension: the side that has the shares of all members says how long the runs are. */
static void cut_buffer(const ModuleCollective *entry, const Shape *operand, const Shape *result,
                       XlacCollectiveBuffer *buffer) {
  Int64List dimensions = hlo_instruction_ints(entry->collective, HLO_ATTR_DIMENSIONS);
  int dimension = dimensions.count == 1 ? (int)dimensions.data[0] : 0;
  int64_t members = entry->groups.count > 0 ? entry->groups.groups[0].count : 1;
  switch (entry->kind) {
    case XLAC_ALL_GATHER: cut_runs(operand, dimension, 1, buffer); break;
    case XLAC_REDUCE_SCATTER: cut_runs(result, dimension, 1, buffer); break;
    case XLAC_ALL_TO_ALL: cut_runs(operand, dimension, members, buffer); break;
    case XLAC_RAGGED_ALL_TO_ALL:
      cut_runs(operand, 0, operand->rank > 0 && operand->dims[0] > 0 ? operand->dims[0] : 1, buffer);
      buffer->outer = operand->rank > 0 ? operand->dims[0] : 1;
      break;
    default:
      buffer->outer = 1;
      buffer->inner = bytes_of(operand != NULL ? operand : result);
      break;
  }
}

static Status add_buffer(const Collector *collector, ModuleCollective *entry, int index) {
  const HloInstruction *collective = entry->collective;
  const Shape *operand = collective->opcode == HLO_RECV ? NULL : collective->operands[index]->shape;
  const Shape *result = result_for(collective, index), *shape = operand != NULL ? operand : result;
  if (shape == NULL || !shape_is_array(shape) || (result != NULL && !shape_is_array(result)))
    return unsupported(collector, collective, "of tuples is not supported");
  if (operand != NULL && result != NULL && !same_order(operand, result))
    return unsupported(collector, collective, "between arrays of several layouts is not supported");
  XlacCollectiveBuffer *buffer = &entry->buffers[index];
  *buffer = (XlacCollectiveBuffer){
      .type = (int32_t)shape->type, .operand_bytes = bytes_of(operand), .result_bytes = bytes_of(result)};
  cut_buffer(entry, operand, result, buffer);
  return STATUS_OK;
}

/* Runs of rows are what is exchanged. */
static Status check_rows(const Collector *collector, const HloInstruction *ragged) {
  const Shape *shapes[] = {ragged->operands[0]->shape, ragged->operands[1]->shape, ragged->shape};
  for (int i = 0; i < 3; i++) {
    int rank = shapes[i]->rank;
    if (rank == 0 || shapes[i]->layout.minor_to_major[rank - 1] != 0 || !same_order(shapes[i], shapes[0]))
      return unsupported(collector, ragged, "between arrays whose rows are not runs of memory is not supported");
  }
  return STATUS_OK;
}

/* --- members --- */

/* Without pairs, who sends to whom is not said. */
static Status check_pairs(const Collector *collector, const HloInstruction *transfer) {
  if (transfer->opcode == HLO_COLLECTIVE_PERMUTE || hlo_instruction_frontend(transfer, DEVICE_PAIRS_KEY) != NULL)
    return STATUS_OK;
  return diag_error(collector->diag, STATUS_UNSUPPORTED, transfer->loc, "unsupported-call",
                    "'%s' between devices needs the frontend attribute '%s'", hlo_opcode_text(transfer->opcode),
                    DEVICE_PAIRS_KEY);
}

static Status find_members(const Collector *collector, ModuleCollective *entry) {
  DeviceCounts devices = collector->out->devices;
  bool has_pairs = entry->kind == XLAC_COLLECTIVE_PERMUTE || is_transfer(entry);
  if (has_pairs) RETURN_IF_ERROR(check_pairs(collector, entry->collective));
  if (has_pairs) return hlo_device_pairs(collector->arena, entry->collective, devices, collector->diag, &entry->pairs);
  return hlo_device_groups(collector->arena, entry->collective, devices, collector->diag, &entry->groups);
}

static Status describe(const Collector *collector, ModuleCollective *entry) {
  const HloInstruction *collective = entry->collective;
  entry->kind = kind_of(collective);
  RETURN_IF_ERROR(find_members(collector, entry));
  if (entry->kind == XLAC_ALL_REDUCE || entry->kind == XLAC_REDUCE_SCATTER) {
    entry->reducer = reducer_of(collective);
    if (entry->reducer == 0) return unsupported(collector, collective, "with this computation is not supported");
  }
  if (entry->kind == XLAC_COLLECTIVE_PERMUTE && hlo_instruction_attr(collective, HLO_ATTR_PERMUTE_SLICE_SIZES) != NULL)
    return unsupported(collector, collective, "in place is not supported");
  if (entry->kind == XLAC_RAGGED_ALL_TO_ALL) RETURN_IF_ERROR(check_rows(collector, collective));
  entry->buffer_count = is_transfer(entry) ? 1 : collective->operand_count;
  entry->buffers = ARENA_NEW_ARRAY(collector->arena, XlacCollectiveBuffer, entry->buffer_count);
  for (int i = 0; i < entry->buffer_count; i++) RETURN_IF_ERROR(add_buffer(collector, entry, i));
  return STATUS_OK;
}

/* --- what devices have to agree on --- */

static void hash_in(Collector *collector, int64_t value) {
  collector->out->hash = hash_combine(collector->out->hash, (uint64_t)value);
}

static void hash_entry(Collector *collector, const ModuleCollective *entry) {
  hash_in(collector, entry->kind);
  hash_in(collector, entry->reducer);
  for (int64_t i = 0; i < entry->buffer_count; i++) {
    const XlacCollectiveBuffer *buffer = &entry->buffers[i];
    hash_in(collector, buffer->type);
    hash_in(collector, buffer->outer);
    hash_in(collector, buffer->inner);
    hash_in(collector, buffer->operand_bytes);
    hash_in(collector, buffer->result_bytes);
  }
  for (int64_t i = 0; i < entry->groups.count; i++) {
    hash_in(collector, entry->groups.groups[i].count);
    for (int64_t k = 0; k < entry->groups.groups[i].count; k++) hash_in(collector, entry->groups.groups[i].data[k]);
  }
  if (is_transfer(entry)) hash_in(collector, hlo_instruction_int(entry->collective, HLO_ATTR_CHANNEL_ID, 0));
  for (int64_t i = 0; i < entry->pairs.count; i++) {
    hash_in(collector, entry->pairs.data[i].source);
    hash_in(collector, entry->pairs.data[i].target);
  }
}

/* --- the walk --- */

static Status collect(Collector *collector, const HloComputation *computation, bool *out_has_some);

/* All devices go the same way there. */
static bool is_uniform(const HloInstruction *instruction) {
  TripCount ignored;
  if (instruction->opcode == HLO_WHILE) return trip_count_find(instruction, &ignored);
  return instruction->opcode != HLO_CONDITIONAL;
}

static Status collect_called(Collector *collector, const HloInstruction *instruction, bool *out_has_some) {
  if (!hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW) || wrapped_by(instruction) != instruction) return STATUS_OK;
  bool has_some = false;
  for (int i = 0; i < hlo_instruction_called_count(instruction); i++) {
    int64_t before = collector->list.count;
    bool has_called = false;
    RETURN_IF_ERROR(collect(collector, hlo_instruction_called(instruction, i), &has_called));
    if (collector->list.count > before) hash_in(collector, -(int64_t)instruction->opcode - 1);
    has_some = has_some || has_called;
  }
  if (has_some && !is_uniform(instruction)) collector->out->is_conditional = true;
  *out_has_some = *out_has_some || has_some;
  return STATUS_OK;
}

static Status collect_one(Collector *collector, const HloInstruction *instruction, bool *out_has_some) {
  const HloInstruction *collective = wrapped_by(instruction);
  if (kind_of(collective) == 0) return collect_called(collector, instruction, out_has_some);
  ModuleCollective entry = {.start = instruction, .collective = collective};
  RETURN_IF_ERROR(describe(collector, &entry));
  entry.is_asynchronous = collective != instruction || is_transfer(&entry);
  hash_entry(collector, &entry);
  int_map_set(&collector->out->numbers, (uint64_t)instruction->id, collector->list.count);
  array_push(&collector->list, collector->arena, entry);
  *out_has_some = true;
  return STATUS_OK;
}

static Status collect(Collector *collector, const HloComputation *computation, bool *out_has_some) {
  int64_t has_some;
  if (int_map_find(&collector->seen, (uint64_t)computation->id, &has_some)) {
    *out_has_some = has_some != 0;
    return STATUS_OK;
  }
  *out_has_some = false;
  for (int64_t i = 0; i < computation->instructions.count; i++)
    RETURN_IF_ERROR(collect_one(collector, computation->instructions.data[i], out_has_some));
  int_map_set(&collector->seen, (uint64_t)computation->id, *out_has_some);
  return STATUS_OK;
}

/* --- sends and their receives --- */

static bool are_two_sides(const ModuleCollective *a, const ModuleCollective *b) {
  int64_t bytes_of_a = a->buffers[0].operand_bytes + a->buffers[0].result_bytes;
  if (!is_transfer(b) || a->kind == b->kind || a->pairs.count != b->pairs.count ||
      bytes_of_a != b->buffers[0].operand_bytes + b->buffers[0].result_bytes ||
      hlo_instruction_int(a->collective, HLO_ATTR_CHANNEL_ID, 0) !=
          hlo_instruction_int(b->collective, HLO_ATTR_CHANNEL_ID, 0))
    return false;
  for (int64_t i = 0; i < a->pairs.count; i++) {
    if (a->pairs.data[i].source != b->pairs.data[i].source || a->pairs.data[i].target != b->pairs.data[i].target)
      return false;
  }
  return true;
}

/* Every transfer has another side of its own.  Quadratic in transfers, which are few. */
static bool all_have_two_sides(const ModuleCollectives *collectives, Arena *arena) {
  bool *has_side = ARENA_NEW_ARRAY(arena, bool, collectives->count);
  for (int64_t i = 0; i < collectives->count; i++) {
    const ModuleCollective *one = &collectives->data[i];
    for (int64_t k = i + 1; k < collectives->count && is_transfer(one) && !has_side[i]; k++) {
      if (has_side[k] || !are_two_sides(one, &collectives->data[k])) continue;
      has_side[i] = has_side[k] = true;
    }
    if (is_transfer(one) && !has_side[i]) return false;
  }
  return true;
}

Status module_collectives_create(Arena *arena, const HloModule *module, DiagSink *diag,
                                 const ModuleCollectives **out_collectives) {
  ModuleCollectives *out = ARENA_NEW(arena, ModuleCollectives);
  Collector collector = {.arena = arena, .diag = diag, .out = out};
  out->devices = hlo_module_device_counts(module);
  int_map_init(&out->numbers, arena);
  int_map_init(&collector.seen, arena);
  hash_in(&collector, out->devices.replicas);
  hash_in(&collector, out->devices.partitions);
  bool ignored;
  RETURN_IF_ERROR(collect(&collector, module->entry, &ignored));
  out->count = collector.list.count;
  out->data = collector.list.data;
  if (!all_have_two_sides(out, arena)) out->is_conditional = true;
  hash_in(&collector, out->is_conditional);
  *out_collectives = out;
  return STATUS_OK;
}

int64_t module_collectives_at(const ModuleCollectives *collectives, const HloInstruction *start) {
  int64_t index;
  bool is_one = collectives != NULL && int_map_find(&collectives->numbers, (uint64_t)start->id, &index);
  return is_one ? index : -1;
}

int64_t module_collectives_ended(const ModuleCollectives *collectives, const HloInstruction *end) {
  int64_t index = -1;
  for (; index < 0 && end->operand_count == 1; end = end->operands[0])
    index = module_collectives_at(collectives, end->operands[0]);
  return index;
}
