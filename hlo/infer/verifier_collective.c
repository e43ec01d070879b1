/* Collectives: who takes part, and results whose size depends on how many do. */
#include "base/checked_math.h"
#include "hlo/infer/verifier_internal.h"
#include "hlo/ir/device_groups.h"
#include "hlo/ir/device_mesh.h"

typedef struct GroupSizes {
  int64_t members; /* named in all groups together; 0: one group of everything */
  int64_t size;    /* of each group, or of the first */
} GroupSizes;

static void group_error(Verifier *verifier, const HloInstruction *instruction, const char *format, ...)
    PRINTF_LIKE(3, 4);
static void group_error(Verifier *verifier, const HloInstruction *instruction, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const char *message = arena_vprintf(verifier->scratch, format, arguments);
  va_end(arguments);
  verify_attr_error(verifier, instruction, HLO_ATTR_REPLICA_GROUPS, "verify-replica-groups", "'replica_groups' %s",
                    message);
}

/* Every number from 0 on once; groups of one size unless the operation does not mind. */
static bool check_lists(Verifier *verifier, const HloInstruction *instruction, const ReplicaGroups *groups,
                        GroupSizes *sizes) {
  bool is_uniform = instruction->opcode != HLO_ALL_REDUCE && instruction->opcode != HLO_ALL_REDUCE_START;
  *sizes = (GroupSizes){0, groups->group_count > 0 ? groups->groups[0].count : 0};
  for (int64_t i = 0; i < groups->group_count; i++) {
    if (groups->groups[i].count == 0) {
      group_error(verifier, instruction, "has an empty group");
      return false;
    }
    if (is_uniform && groups->groups[i].count != sizes->size) {
      group_error(verifier, instruction, "has groups of different sizes");
      return false;
    }
    sizes->members += groups->groups[i].count;
  }
  bool *seen = ARENA_NEW_ARRAY(verifier->scratch, bool, sizes->members);
  for (int64_t i = 0; i < groups->group_count; i++) {
    for (int64_t j = 0; j < groups->groups[i].count; j++) {
      int64_t member = groups->groups[i].data[j];
      if (member >= 0 && member < sizes->members && !seen[member]) {
        seen[member] = true;
        continue;
      }
      group_error(verifier, instruction, "names %lld where each of 0 to %lld must stand once", (long long)member,
                  (long long)(sizes->members - 1));
      return false;
    }
  }
  return true;
}

static bool check_iota(Verifier *verifier, const HloInstruction *instruction, const ReplicaGroups *groups,
                       GroupSizes *sizes) {
  int64_t members, listed = iota_tile_count(verifier->scratch, &groups->iota);
  bool fits =
      groups->iota_groups > 0 && groups->iota_size > 0 && checked_mul(groups->iota_groups, groups->iota_size, &members);
  if (!fits || members != listed) {
    group_error(verifier, instruction, "does not arrange all numbers in %lld groups of %lld",
                (long long)groups->iota_groups, (long long)groups->iota_size);
    return false;
  }
  *sizes = (GroupSizes){members, groups->iota_size};
  return true;
}

static bool check_mesh(Verifier *verifier, const HloInstruction *instruction, const ReplicaGroups *groups,
                       GroupSizes *sizes) {
  const Mesh *mesh = groups->mesh;
  int64_t members = mesh_device_count(mesh);
  int64_t listed = mesh->device_iota != NULL ? iota_tile_count(verifier->scratch, mesh->device_iota)
                   : mesh->device_count > 0  ? mesh->device_count
                                             : members;
  bool *seen = ARENA_NEW_ARRAY(verifier->scratch, bool, mesh->axis_count);
  *sizes = (GroupSizes){members, 1};
  const char *mistake = members < 0 || listed != members ? "a mesh whose axes and devices do not fit"
                                                         : mesh_axes_mistake(mesh, &groups->axes, seen, &sizes->size);
  if (mistake == NULL) return true;
  group_error(verifier, instruction, "names %s", mistake);
  return false;
}

/* False after an error. */
static bool check_groups(Verifier *verifier, const HloInstruction *instruction, GroupSizes *sizes) {
  const HloAttr *attr = hlo_instruction_attr(instruction, HLO_ATTR_REPLICA_GROUPS);
  GroupMode mode = hlo_group_mode(instruction);
  *sizes = (GroupSizes){0, 0};
  if (attr != NULL) {
    const ReplicaGroups *groups = attr->value.replica_groups;
    bool fits = groups->form == REPLICA_GROUPS_LISTS  ? check_lists(verifier, instruction, groups, sizes)
                : groups->form == REPLICA_GROUPS_IOTA ? check_iota(verifier, instruction, groups, sizes)
                                                      : check_mesh(verifier, instruction, groups, sizes);
    if (!fits) return false;
  }
  DeviceCounts devices = hlo_module_device_counts(verifier->module);
  int64_t wanted = group_mode_member_count(mode, devices); /* 1: unknown */
  if (sizes->members == 0 && mode == GROUP_MODE_FLATTENED) {
    group_error(verifier, instruction, "must be given with 'use_global_device_ids=true'");
    return false;
  }
  if (sizes->members != 0 && wanted != 1 && sizes->members != wanted) {
    group_error(verifier, instruction, "has %lld members, there are %lld", (long long)sizes->members,
                (long long)wanted);
    return false;
  }
  if (sizes->size == 0) sizes->size = wanted;
  return mode != GROUP_MODE_CROSS_REPLICA_AND_PARTITION || checked_mul(sizes->size, devices.partitions, &sizes->size);
}

/* --- sizes --- */

static const Shape *first_leaf(const Shape *shape) {
  while (shape_is_tuple(shape) && shape->tuple_size > 0) shape = shape->tuple[0];
  return shape;
}

/* |wide| is |narrow| times the number of participants, unless that is unknown (1). */
static void check_ratio(Verifier *verifier, const HloInstruction *instruction, const Shape *wide, const Shape *narrow,
                        int64_t participants) {
  Int64List dimensions = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  wide = first_leaf(wide);
  narrow = first_leaf(narrow);
  if (participants <= 1 || dimensions.count != 1 || dimensions.data[0] < 0 || dimensions.data[0] >= wide->rank) return;
  int64_t d = dimensions.data[0], size;
  if (narrow->rank != wide->rank || wide->dims[d] < 0 || narrow->dims[d] < 0) return;
  if (checked_mul(narrow->dims[d], participants, &size) && size == wide->dims[d]) return;
  verify_error(verifier, instruction->loc, "verify-collective", "'%s' in groups of %lld cannot make %s of %s",
               hlo_opcode_text(instruction->opcode), (long long)participants, verify_text(verifier, instruction->shape),
               verify_text(verifier, instruction->operands[0]->shape));
}

static void check_all_to_all(Verifier *verifier, const HloInstruction *instruction, int64_t participants) {
  Int64List dimensions = hlo_instruction_ints(instruction, HLO_ATTR_DIMENSIONS);
  if (dimensions.count == 0 && instruction->operand_count != participants) {
    verify_error(verifier, instruction->loc, "verify-collective",
                 "'all-to-all' in groups of %lld needs as many operands, got %d", (long long)participants,
                 instruction->operand_count);
  }
  const Shape *operand = instruction->operands[0]->shape;
  if (participants <= 1 || dimensions.count != 1 || dimensions.data[0] < 0 || dimensions.data[0] >= operand->rank)
    return;
  if (operand->dims[dimensions.data[0]] % participants == 0) return;
  verify_error(verifier, instruction->loc, "verify-collective",
               "'all-to-all' cannot divide dimension %lld of %s in groups of %lld", (long long)dimensions.data[0],
               verify_text(verifier, operand), (long long)participants);
}

/* Any groups will do, since who is in none has zeroes; what stands for lists has to mean some. */
static void check_form(Verifier *verifier, const HloInstruction *broadcast) {
  const HloAttr *attr = hlo_instruction_attr(broadcast, HLO_ATTR_REPLICA_GROUPS);
  const ReplicaGroups *groups = attr == NULL ? NULL : attr->value.replica_groups;
  GroupSizes sizes;
  if (groups != NULL && groups->form == REPLICA_GROUPS_IOTA) check_iota(verifier, broadcast, groups, &sizes);
  if (groups != NULL && groups->form == REPLICA_GROUPS_MESH) check_mesh(verifier, broadcast, groups, &sizes);
}

/* --- collective-permute --- */

/* How often a device may be a source or a target: once, in place once for each slice. */
static int64_t most_uses(const HloInstruction *permute) {
  if (hlo_instruction_attr(permute, HLO_ATTR_PERMUTE_SLICE_SIZES) == NULL || permute->operand_count != 4) return 1;
  const Shape *offsets = permute->operands[2]->shape;
  if (shape_is_tuple(permute->operands[0]->shape) && shape_is_tuple(offsets) && offsets->tuple_size > 0)
    offsets = offsets->tuple[0];
  return shape_is_tuple(offsets) ? offsets->tuple_size : 1;
}

/* What is wrong with |member| at one end of a pair, NULL: nothing; counts it in |seen|. */
static const char *pair_mistake(IntMap *seen, int64_t member, int64_t limit, int64_t most, bool is_target) {
  int64_t before = 0;
  if (member < 0 || (limit != 1 && member >= limit)) return "is out of range";
  if (!int_map_find(seen, (uint64_t)member, &before)) before = 0;
  if (before >= most) {
    if (most > 1) return is_target ? "has a target that receives too often" : "has a source that sends too often";
    return is_target ? "has a target that receives twice" : "has a source that sends twice";
  }
  int_map_set(seen, (uint64_t)member, before + 1);
  return NULL;
}

static void verify_pairs(Verifier *verifier, const HloInstruction *instruction) {
  const HloAttr *attr = hlo_instruction_attr(instruction, HLO_ATTR_SOURCE_TARGET_PAIRS);
  DeviceCounts devices = hlo_module_device_counts(verifier->module);
  int64_t limit = group_mode_member_count(hlo_group_mode(instruction), devices), most = most_uses(instruction);
  IntMap seen[2];
  int_map_init(&seen[0], verifier->scratch);
  int_map_init(&seen[1], verifier->scratch);
  for (int64_t i = 0; attr != NULL && i < attr->value.int_lists.count; i++) {
    Int64List pair = attr->value.int_lists.data[i];
    const char *mistake = pair.count == 2 ? NULL : "is not a pair";
    for (int end = 0; end < 2 && mistake == NULL; end++)
      mistake = pair_mistake(&seen[end], pair.data[end], limit, most, end == 1);
    if (mistake == NULL) continue;
    verify_attr_error(verifier, instruction, attr->id, "verify-permute", "entry %lld of 'source_target_pairs' %s",
                      (long long)i, mistake);
    return;
  }
}

static void check_channel(Verifier *verifier, const HloInstruction *instruction) {
  if (hlo_instruction_attr(instruction, HLO_ATTR_CHANNEL_ID) == NULL) {
    if (!hlo_instruction_bool(instruction, HLO_ATTR_USE_GLOBAL_DEVICE_IDS, false)) return;
    verify_attr_error(verifier, instruction, HLO_ATTR_USE_GLOBAL_DEVICE_IDS, "verify-channel",
                      "'use_global_device_ids' needs 'channel_id'");
  } else if (hlo_instruction_int(instruction, HLO_ATTR_CHANNEL_ID, 0) <= 0) {
    verify_attr_error(verifier, instruction, HLO_ATTR_CHANNEL_ID, "verify-channel", "'channel_id' must be positive");
  }
}

void verify_collective(Verifier *verifier, const HloInstruction *instruction) {
  if (!hlo_opcode_has(instruction->opcode, OP_COLLECTIVE)) return;
  if (hlo_opcode_info(instruction->opcode)->attr_count == 0 || instruction->operand_count == 0) return; /* done */
  check_channel(verifier, instruction);
  if (instruction->opcode == HLO_COLLECTIVE_BROADCAST) {
    check_form(verifier, instruction);
    return;
  }
  if (hlo_instruction_attr(instruction, HLO_ATTR_SOURCE_TARGET_PAIRS) != NULL) {
    verify_pairs(verifier, instruction);
    return;
  }
  GroupSizes sizes;
  if (!check_groups(verifier, instruction, &sizes)) return;
  const Shape *operand = instruction->operands[0]->shape, *result = instruction->shape;
  switch (instruction->opcode) {
    case HLO_ALL_GATHER: check_ratio(verifier, instruction, result, operand, sizes.size); break;
    case HLO_ALL_GATHER_START:
      if (shape_is_tuple(result) && result->tuple_size == 2)
        check_ratio(verifier, instruction, result->tuple[1], operand, sizes.size);
      break;
    case HLO_REDUCE_SCATTER: check_ratio(verifier, instruction, operand, result, sizes.size); break;
    case HLO_ALL_TO_ALL: check_all_to_all(verifier, instruction, sizes.size); break;
    case HLO_ALL_REDUCE:
    case HLO_ALL_REDUCE_START:
    case HLO_COLLECTIVE_PERMUTE:
    case HLO_COLLECTIVE_PERMUTE_START:
    case HLO_RAGGED_ALL_TO_ALL: break; /* sizes do not depend on groups */
    default: XLAC_BUG("'%s' has no rule for its groups", hlo_opcode_text(instruction->opcode));
  }
}
