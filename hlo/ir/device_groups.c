#include "hlo/ir/device_groups.h"

#include "base/array.h"
#include "base/checked_math.h"
#include "base/hash_map.h"
#include "hlo/ir/device_mesh.h"

/* --- modes --- */

DeviceCounts hlo_module_device_counts(const HloModule *module) {
  return (DeviceCounts){max_i64(module->replica_count, 1), max_i64(module->num_partitions, 1)};
}

int64_t device_counts_total(DeviceCounts devices) {
  int64_t total;
  return checked_mul(devices.replicas, devices.partitions, &total) ? total : INT64_MAX;
}

static bool has_global_flag(HloOpcode opcode) {
  const HloOpcodeInfo *info = hlo_opcode_info(opcode);
  for (int i = 0; i < info->attr_count; i++) {
    if (info->attrs[i].id == HLO_ATTR_USE_GLOBAL_DEVICE_IDS) return true;
  }
  return false;
}

GroupMode hlo_group_mode(const HloInstruction *collective) {
  bool has_channel = hlo_instruction_attr(collective, HLO_ATTR_CHANNEL_ID) != NULL;
  if (!has_channel) return GROUP_MODE_CROSS_REPLICA;
  if (!has_global_flag(collective->opcode)) return GROUP_MODE_CROSS_PARTITION;
  return hlo_instruction_bool(collective, HLO_ATTR_USE_GLOBAL_DEVICE_IDS, false)
             ? GROUP_MODE_FLATTENED
             : GROUP_MODE_CROSS_REPLICA_AND_PARTITION;
}

int64_t group_mode_member_count(GroupMode mode, DeviceCounts devices) {
  if (mode == GROUP_MODE_CROSS_PARTITION) return devices.partitions;
  return mode == GROUP_MODE_FLATTENED ? device_counts_total(devices) : devices.replicas;
}

/* What stays the same in a group, and so makes each list of the text several: 1 where nothing does. */
static int64_t copies_of_mode(GroupMode mode, DeviceCounts devices) {
  if (mode == GROUP_MODE_CROSS_REPLICA) return devices.partitions;
  return mode == GROUP_MODE_CROSS_PARTITION ? devices.replicas : 1;
}

/* The flat id of the member |number| in copy |copy|; not of GROUP_MODE_CROSS_REPLICA_AND_PARTITION. */
static int64_t flat_id(GroupMode mode, DeviceCounts devices, int64_t copy, int64_t number) {
  if (mode == GROUP_MODE_CROSS_REPLICA) return number * devices.partitions + copy;
  return mode == GROUP_MODE_CROSS_PARTITION ? copy * devices.partitions + number : number;
}

static const char *noun_of_mode(GroupMode mode) {
  if (mode == GROUP_MODE_CROSS_PARTITION) return "partitions";
  return mode == GROUP_MODE_FLATTENED ? "devices" : "replicas";
}

/* --- the forms in the text --- */

typedef struct GroupSite {
  Arena *arena;
  const HloInstruction *instruction;
  GroupMode mode;
  DeviceCounts devices;
  DiagSink *diag;
} GroupSite;

static Status wrong_members(const GroupSite *site, int64_t listed) {
  return diag_error(site->diag, STATUS_INVALID, site->instruction->loc, "device-groups",
                    "'%.*s' has groups of %lld %s in all, and runs on %lld", SV_ARG(site->instruction->name),
                    (long long)listed, noun_of_mode(site->mode),
                    (long long)group_mode_member_count(site->mode, site->devices));
}

/* |numbers|, cut in groups of |size|. */
static DeviceGroups cut(Arena *arena, Int64List numbers, int64_t size) {
  int64_t count = size > 0 ? numbers.count / size : 0;
  Int64List *groups = ARENA_NEW_ARRAY(arena, Int64List, count);
  for (int64_t i = 0; i < count; i++) groups[i] = (Int64List){size, numbers.data + i * size};
  return (DeviceGroups){count, groups};
}

/* Groups in the order in which the mesh, walked row-major, comes to their first members. */
static void expand_mesh(const GroupSite *site, const ReplicaGroups *from, DeviceGroups *out) {
  Int64List devices = mesh_devices(site->arena, from->mesh);
  int64_t size = mesh_axes_size(from->mesh, &from->axes), count = 0;
  int64_t *numbers = ARENA_NEW_ARRAY(site->arena, int64_t, devices.count);
  IntMap group_of_origin;
  int_map_init(&group_of_origin, site->arena);
  for (int64_t i = 0; i < devices.count; i++) numbers[i] = -1;
  for (int64_t position = 0; position < devices.count; position++) {
    uint64_t origin = (uint64_t)mesh_axes_origin(from->mesh, &from->axes, position);
    int64_t group;
    if (!int_map_find(&group_of_origin, origin, &group)) int_map_set(&group_of_origin, origin, group = count++);
    int64_t place = group * size + mesh_axes_index(from->mesh, &from->axes, position);
    if (place < devices.count) numbers[place] = devices.data[position]; /* else parts of an axis overlap: -1 stays */
  }
  *out = cut(site->arena, (Int64List){devices.count, numbers}, size);
}

/* The lists of the text; how many members they have is checked before they are made. */
static Status read_groups(const GroupSite *site, DeviceGroups *out) {
  const HloAttr *attr = hlo_instruction_attr(site->instruction, HLO_ATTR_REPLICA_GROUPS);
  const ReplicaGroups *from = attr == NULL ? NULL : attr->value.replica_groups;
  int64_t wanted = group_mode_member_count(site->mode, site->devices), listed = wanted;
  *out = (DeviceGroups){0};
  if (from == NULL || (from->form == REPLICA_GROUPS_LISTS && from->group_count == 0)) {
    int64_t *all = ARENA_NEW_ARRAY(site->arena, int64_t, wanted);
    for (int64_t i = 0; i < wanted; i++) all[i] = i;
    *out = cut(site->arena, (Int64List){wanted, all}, wanted);
  } else if (from->form == REPLICA_GROUPS_LISTS) {
    *out = (DeviceGroups){from->group_count, from->groups};
  } else if (from->form == REPLICA_GROUPS_IOTA) {
    if (!checked_mul(from->iota_groups, from->iota_size, &listed)) listed = INT64_MAX;
    if (listed != wanted) return wrong_members(site, listed);
    *out = cut(site->arena, iota_tile_devices(site->arena, &from->iota), from->iota_size);
  } else {
    listed = from->mesh->is_maximal ? 1 : mesh_device_count(from->mesh);
    if (listed != wanted) return wrong_members(site, listed);
    expand_mesh(site, from, out);
  }
  return STATUS_OK;
}

/* Each number is there once; all of them are, but in a collective-broadcast. */
static Status check_numbers(const GroupSite *site, const DeviceGroups *groups) {
  int64_t limit = group_mode_member_count(site->mode, site->devices), listed = 0;
  bool *seen = ARENA_NEW_ARRAY(site->arena, bool, limit);
  for (int64_t i = 0; i < groups->count; i++) {
    for (int64_t j = 0; j < groups->groups[i].count; j++, listed++) {
      int64_t number = groups->groups[i].data[j];
      if (number < 0 || number >= limit || seen[number])
        return diag_error(site->diag, STATUS_INVALID, site->instruction->loc, "device-groups",
                          number < 0 || number >= limit ? "'%.*s' names %lld, and runs on %lld %s"
                                                        : "'%.*s' names %lld twice among its %lld %s",
                          SV_ARG(site->instruction->name), (long long)number, (long long)limit,
                          noun_of_mode(site->mode));
      seen[number] = true;
    }
  }
  if (listed < limit && site->instruction->opcode != HLO_COLLECTIVE_BROADCAST) return wrong_members(site, listed);
  return STATUS_OK;
}

/* --- groups of devices --- */

static Int64List flat_group(const GroupSite *site, Int64List numbers, int64_t copy) {
  bool takes_all = site->mode == GROUP_MODE_CROSS_REPLICA_AND_PARTITION;
  int64_t partitions = takes_all ? site->devices.partitions : 1;
  int64_t *members = ARENA_NEW_ARRAY(site->arena, int64_t, numbers.count *partitions);
  for (int64_t i = 0; i < numbers.count; i++) {
    for (int64_t p = 0; p < partitions; p++) {
      members[i * partitions + p] =
          takes_all ? numbers.data[i] * partitions + p : flat_id(site->mode, site->devices, copy, numbers.data[i]);
    }
  }
  return (Int64List){numbers.count * partitions, members};
}

Status hlo_device_groups(Arena *arena, const HloInstruction *collective, DeviceCounts devices, DiagSink *diag,
                         DeviceGroups *out_groups) {
  GroupSite site = {arena, collective, hlo_group_mode(collective), devices, diag};
  DeviceGroups numbers;
  RETURN_IF_ERROR(read_groups(&site, &numbers));
  RETURN_IF_ERROR(check_numbers(&site, &numbers));
  int64_t copies = copies_of_mode(site.mode, devices);
  Int64List *groups = ARENA_NEW_ARRAY(arena, Int64List, numbers.count * copies);
  for (int64_t copy = 0; copy < copies; copy++) {
    for (int64_t i = 0; i < numbers.count; i++)
      groups[copy * numbers.count + i] = flat_group(&site, numbers.groups[i], copy);
  }
  *out_groups = (DeviceGroups){numbers.count * copies, groups};
  return STATUS_OK;
}

bool device_groups_find(const DeviceGroups *groups, int64_t device, int64_t *out_group, int64_t *out_member) {
  for (int64_t i = 0; i < groups->count; i++) {
    for (int64_t j = 0; j < groups->groups[i].count; j++) {
      if (groups->groups[i].data[j] != device) continue;
      *out_group = i;
      *out_member = j;
      return true;
    }
  }
  return false;
}

/* --- pairs --- */

static bool next_number(StringView *text, int64_t *out_number) {
  size_t start = 0, size = 0;
  while (start < text->size && !char_is_digit(text->data[start])) start++;
  while (start + size < text->size && char_is_digit(text->data[start + size])) size++;
  bool is_number = size > 0 && sv_to_count(sv_sub(*text, start, size), out_number);
  *text = sv_sub(*text, start + size, text->size);
  return is_number;
}

bool device_pairs_next(StringView *text, DevicePair *out_pair) {
  return next_number(text, &out_pair->source) && next_number(text, &out_pair->target);
}

typedef ARRAY(DevicePair) PairArray;

static PairArray read_pairs(const GroupSite *site) {
  PairArray pairs = {0};
  const HloAttr *attr = hlo_instruction_attr(site->instruction, HLO_ATTR_SOURCE_TARGET_PAIRS);
  for (int64_t i = 0; attr != NULL && i < attr->value.int_lists.count; i++) {
    Int64List pair = attr->value.int_lists.data[i];
    array_push(&pairs, site->arena, ((DevicePair){pair.data[0], pair.data[1]}));
  }
  const FrontendAttribute *listed = hlo_instruction_frontend(site->instruction, DEVICE_PAIRS_KEY);
  if (attr != NULL || listed == NULL) return pairs;
  StringView text = listed->value;
  for (DevicePair pair; device_pairs_next(&text, &pair);) array_push(&pairs, site->arena, pair);
  return pairs;
}

/* Of the pairs of the frontend attribute, which the verifier looks at in schedules alone. */
static Status check_ends(const GroupSite *site, const PairArray *pairs, int64_t limit) {
  static const char *const ends[] = {"source", "target"};
  bool *seen[] = {ARENA_NEW_ARRAY(site->arena, bool, limit), ARENA_NEW_ARRAY(site->arena, bool, limit)};
  for (int64_t i = 0; i < pairs->count; i++) {
    int64_t numbers[] = {pairs->data[i].source, pairs->data[i].target};
    for (int end = 0; end < 2; end++) {
      if (seen[end][numbers[end]])
        return diag_error(site->diag, STATUS_INVALID, site->instruction->loc, "device-groups",
                          "'%.*s' has %lld as a %s twice", SV_ARG(site->instruction->name), (long long)numbers[end],
                          ends[end]);
      seen[end][numbers[end]] = true;
    }
  }
  return STATUS_OK;
}

static Status check_limit(const GroupSite *site, const PairArray *pairs, int64_t limit) {
  for (int64_t i = 0; i < pairs->count; i++) {
    int64_t most = max_i64(pairs->data[i].source, pairs->data[i].target);
    if (most >= limit)
      return diag_error(site->diag, STATUS_INVALID, site->instruction->loc, "device-groups",
                        "'%.*s' names %lld, and runs on %lld %s", SV_ARG(site->instruction->name), (long long)most,
                        (long long)limit, noun_of_mode(site->mode));
  }
  return STATUS_OK;
}

Status hlo_device_pairs(Arena *arena, const HloInstruction *transfer, DeviceCounts devices, DiagSink *diag,
                        DevicePairs *out_pairs) {
  GroupSite site = {arena, transfer, hlo_group_mode(transfer), devices, diag};
  PairArray pairs = read_pairs(&site);
  int64_t limit = group_mode_member_count(site.mode, devices), copies = copies_of_mode(site.mode, devices);
  RETURN_IF_ERROR(check_limit(&site, &pairs, limit));
  if (hlo_instruction_attr(transfer, HLO_ATTR_SOURCE_TARGET_PAIRS) == NULL)
    RETURN_IF_ERROR(check_ends(&site, &pairs, limit));
  DevicePair *flat = ARENA_NEW_ARRAY(arena, DevicePair, pairs.count * copies);
  for (int64_t i = 0; i < pairs.count * copies; i++) {
    DevicePair pair = pairs.data[i % pairs.count];
    int64_t copy = i / pairs.count;
    flat[i] =
        (DevicePair){flat_id(site.mode, devices, copy, pair.source), flat_id(site.mode, devices, copy, pair.target)};
  }
  *out_pairs = (DevicePairs){pairs.count * copies, flat};
  return STATUS_OK;
}

int64_t device_pairs_source(const DevicePairs *pairs, int64_t device) {
  for (int64_t i = 0; i < pairs->count; i++) {
    if (pairs->data[i].target == device) return pairs->data[i].source;
  }
  return -1;
}

int64_t device_pairs_target(const DevicePairs *pairs, int64_t device) {
  for (int64_t i = 0; i < pairs->count; i++) {
    if (pairs->data[i].source == device) return pairs->data[i].target;
  }
  return -1;
}
