#include "hlo/infer/device_check.h"

#include "hlo/ir/custom_call.h"
#include "hlo/ir/device_count.h"
#include "hlo/ir/device_groups.h"

static bool needs_others(const HloInstruction *instruction, int64_t stated, int64_t devices) {
  if (instruction->opcode == HLO_PARTITION_ID || instruction->opcode == HLO_REPLICA_ID) return devices > 1;
  if (hlo_instruction_device_count(instruction) > 1) return true;
  return stated > 1 && hlo_opcode_has(instruction->opcode, OP_COLLECTIVE);
}

static StringView shown_name(const HloInstruction *instruction) {
  StringView target = custom_call_target(instruction);
  return target.size > 0 ? target : sv_from_cstring(hlo_opcode_text(instruction->opcode));
}

Status hlo_check_one_device(const HloModule *module, DiagSink *diag) {
  int64_t devices = hlo_module_device_count(module);
  int64_t stated = module->replica_count > 1 ? module->replica_count : module->num_partitions;
  if (devices <= 1) return STATUS_OK;
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *instructions = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < instructions->count; i++) {
      if (!needs_others(instructions->data[i], stated, devices)) continue;
      return diag_error(diag, STATUS_UNSUPPORTED, instructions->data[i]->loc, "unsupported-devices",
                        "'%.*s' needs the %lld devices that the module is made for: xlac compiles for one",
                        SV_ARG(shown_name(instructions->data[i])), (long long)devices);
    }
  }
  return STATUS_OK;
}

/* --- several devices --- */

static bool is_of_devices(const HloInstruction *instruction) {
  return hlo_opcode_has(instruction->opcode, OP_COLLECTIVE) || instruction->opcode == HLO_PARTITION_ID ||
         instruction->opcode == HLO_REPLICA_ID;
}

/* Whether it matters to |module| which device runs it: it has collectives, numbers of devices or transfers between
 * them. */
static bool hlo_module_needs_devices(const HloModule *module) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *instructions = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < instructions->count; i++) {
      bool is_transfer = hlo_instruction_frontend(instructions->data[i], DEVICE_PAIRS_KEY) != NULL;
      if (is_of_devices(instructions->data[i]) || is_transfer) return true;
    }
  }
  return false;
}

/* Which shardings say that there is something to divide. */
typedef enum ShardingsThatCount {
  NO_SHARDING,     /* XLA's partitioner was here, and named the entry; its passes copy shardings of parameters */
  INNER_SHARDINGS, /* but those of parameters and result, which may be left of it */
  ALL_SHARDINGS    /* nothing else speaks of several devices */
} ShardingsThatCount;

static ShardingsThatCount shardings_that_count(const HloModule *module) {
  if (sv_ends_with(module->entry->name, SV("_spmd"))) return NO_SHARDING;
  return hlo_module_needs_devices(module) ? INNER_SHARDINGS : ALL_SHARDINGS;
}

/* In HLO's words or in Shardy's. */
static bool has_sharding(const HloInstruction *instruction) {
  return hlo_instruction_attr(instruction, HLO_ATTR_SHARDING) != NULL ||
         hlo_instruction_frontend(instruction, "xla.sdy.sharding") != NULL;
}

static bool is_to_be_divided(const HloInstruction *instruction, ShardingsThatCount counts) {
  if (custom_call_is_marker(custom_call_target(instruction))) return true;
  if (counts == NO_SHARDING || !has_sharding(instruction)) return false;
  const HloComputation *entry = instruction->parent->module->entry;
  if (instruction->parent != entry) return true;
  bool is_border = instruction->opcode == HLO_PARAMETER || instruction == entry->root;
  return !is_border || counts == ALL_SHARDINGS;
}

/* The first instruction that says so; NULL: none. */
static const HloInstruction *find_undivided(const HloModule *module) {
  ShardingsThatCount counts = shardings_that_count(module);
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *instructions = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < instructions->count; i++) {
      if (is_to_be_divided(instructions->data[i], counts)) return instructions->data[i];
    }
  }
  return NULL;
}

bool hlo_module_is_to_be_partitioned(const HloModule *module) {
  return find_undivided(module) != NULL;
}

Status hlo_check_partitioned(const HloModule *module, DiagSink *diag) {
  const HloInstruction *undivided = find_undivided(module);
  if (undivided == NULL) return STATUS_OK;
  return diag_error(diag, STATUS_UNSUPPORTED, undivided->loc, "unsupported-devices",
                    "'%.*s' shows that the module is still to be partitioned: xlac runs on several devices what "
                    "a partitioner has divided",
                    SV_ARG(shown_name(undivided)));
}

Status hlo_set_device_count(HloModule *module, int64_t devices, DiagSink *diag) {
  int64_t replicas = hlo_module_device_counts(module).replicas;
  if (devices == 0) return STATUS_OK;
  if (devices % replicas != 0)
    return diag_error(diag, STATUS_INVALID, module->loc, "devices", "%lld devices cannot be shared by %lld replicas",
                      (long long)devices, (long long)replicas);
  module->num_partitions = devices / replicas;
  module->fits_partitions = hlo_module_is_to_be_partitioned(module);
  return STATUS_OK;
}

bool hlo_module_is_whole(const HloModule *module) {
  return shardings_that_count(module) == ALL_SHARDINGS;
}

Status hlo_check_devices(const HloModule *module, DiagSink *diag) {
  bool are_several = device_counts_total(hlo_module_device_counts(module)) > 1;
  return are_several && !hlo_module_is_whole(module) ? hlo_check_partitioned(module, diag)
                                                     : hlo_check_one_device(module, diag);
}
