#include "hlo/ir/device_count.h"

#include "base/checked_math.h"
#include "hlo/ir/custom_call.h"
#include "hlo/ir/device_mesh.h"

/* --- arrangements of devices --- */

/* Devices are numbered from 0. */
static int64_t count_to(Int64List devices) {
  int64_t count = 1;
  for (int64_t i = 0; i < devices.count; i++) {
    if (devices.data[i] < INT64_MAX) count = max_i64(count, devices.data[i] + 1);
  }
  return count;
}

static int64_t product(Int64List sizes) {
  int64_t count = 1;
  for (int64_t i = 0; i < sizes.count; i++) {
    if (!checked_mul(count, sizes.data[i], &count)) return INT64_MAX;
  }
  return count;
}

static int64_t devices_of_mesh(const Mesh *mesh) {
  if (mesh->is_maximal) return count_to((Int64List){1, &mesh->maximal_device});
  return max_i64(mesh_device_count(mesh), count_to((Int64List){mesh->device_count, mesh->device_ids}));
}

static int64_t devices_of_groups(const ReplicaGroups *groups) {
  if (groups->form == REPLICA_GROUPS_MESH) return devices_of_mesh(groups->mesh);
  if (groups->form == REPLICA_GROUPS_IOTA) return product((Int64List){groups->iota.rank, groups->iota.reshape_dims});
  int64_t count = 1;
  for (int64_t i = 0; i < groups->group_count; i++) count = max_i64(count, count_to(groups->groups[i]));
  return count;
}

static int64_t devices_of_sharding(const HloSharding *sharding) {
  int64_t count = 1;
  switch (sharding->kind) {
    case SHARDING_MAXIMAL: return count_to((Int64List){1, &sharding->device});
    case SHARDING_TILED: return max_i64(product(sharding->tile_dims), count_to(sharding->devices));
    case SHARDING_MESH: return sharding->mesh == NULL ? 1 : devices_of_mesh(sharding->mesh);
    case SHARDING_TUPLE:
      for (int64_t i = 0; i < sharding->tuple_count; i++)
        count = max_i64(count, devices_of_sharding(&sharding->tuple[i]));
      return count;
    default: return 1;
  }
}

/* --- instructions --- */

/* By what two shapes differ. */
static int64_t ratio(const Shape *a, const Shape *b) {
  if (!shape_is_array(a) || !shape_is_array(b) || shape_same_dims(a, b)) return 1;
  int64_t large = max_i64(shape_element_count(a), shape_element_count(b));
  int64_t small = min_i64(shape_element_count(a), shape_element_count(b));
  return small <= 0 ? 2 : max_i64(2, ceil_div(large, small));
}

/* Operands against the results that they become. */
static int64_t ratio_of_results(const HloInstruction *instruction) {
  const Shape *shape = instruction->shape;
  int64_t count = 1;
  for (int i = 0; i < instruction->operand_count; i++) {
    const Shape *result = shape;
    if (shape_is_tuple(shape)) result = i < shape->tuple_size ? shape->tuple[i] : NULL;
    if (result != NULL) count = max_i64(count, ratio(instruction->operands[i]->shape, result));
  }
  return count;
}

static bool divides_shapes(const HloInstruction *instruction) {
  if (instruction->opcode == HLO_CUSTOM_CALL) return custom_call_is_border(custom_call_target(instruction));
  return instruction->opcode == HLO_ALL_GATHER || instruction->opcode == HLO_REDUCE_SCATTER;
}

int64_t hlo_instruction_device_count(const HloInstruction *instruction) {
  const HloAttr *groups = hlo_instruction_attr(instruction, HLO_ATTR_REPLICA_GROUPS);
  const HloAttr *pairs = hlo_instruction_attr(instruction, HLO_ATTR_SOURCE_TARGET_PAIRS);
  int64_t count = groups == NULL ? 1 : devices_of_groups(groups->value.replica_groups);
  for (int64_t i = 0; pairs != NULL && i < pairs->value.int_lists.count; i++)
    count = max_i64(count, count_to(pairs->value.int_lists.data[i]));
  return divides_shapes(instruction) ? max_i64(count, ratio_of_results(instruction)) : count;
}

/* --- the module --- */

/* Shardy's meshes are a text, {name = #sdy.mesh<["axis"=2, "axis"=4]>, …}: the product of the sizes in each list. */
static int64_t devices_of_shardy(StringView text) {
  int64_t largest = 1, count = 1;
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] == '[') count = 1;
    if (text.data[i] != '=' || i == 0 || text.data[i - 1] != '"') continue;
    int64_t size = 0;
    for (; i + 1 < text.size && char_is_digit(text.data[i + 1]) && size < INT32_MAX; i++)
      size = size * 10 + (text.data[i + 1] - '0');
    if (!checked_mul(count, size, &count)) return INT64_MAX;
    largest = max_i64(largest, count);
  }
  return largest;
}

static int64_t devices_of_header(const HloModule *module) {
  int64_t count;
  if (!checked_mul(max_i64(module->replica_count, 1), max_i64(module->num_partitions, 1), &count)) return INT64_MAX;
  for (int64_t i = 0; i < module->frontend_count; i++) {
    if (sv_equal_cstring(module->frontend[i].key, "xla.sdy.meshes"))
      count = max_i64(count, devices_of_shardy(module->frontend[i].value));
  }
  return count;
}

int64_t hlo_module_device_count(const HloModule *module) {
  int64_t count = devices_of_header(module);
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *instructions = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < instructions->count; i++) {
      const HloSharding *sharding = hlo_instruction_sharding(instructions->data[i]);
      count = max_i64(count, hlo_instruction_device_count(instructions->data[i]));
      if (sharding != NULL) count = max_i64(count, devices_of_sharding(sharding));
    }
  }
  return count;
}
