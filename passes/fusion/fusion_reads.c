#include "passes/fusion/fusion_reads.h"

#include "base/hash_map.h"
#include "passes/fusion/fusion_decision.h"

enum { MAP_LIMIT = 4 };

/* Under which maps an instruction is evaluated; a fifth one makes it |many|, which equals no other. */
typedef struct MapSet {
  int count;
  uint64_t maps[MAP_LIMIT];
  bool many;
} MapSet;

static void add_map(MapSet *set, uint64_t map) {
  for (int i = 0; i < set->count; i++) {
    if (set->maps[i] == map) return;
  }
  if (set->count == MAP_LIMIT) {
    set->many = true;
  } else {
    set->maps[set->count++] = map;
  }
}

/* A reduction's own loops walk what it reduces. */
static uint64_t operand_map(const HloInstruction *user, int operand, uint64_t map) {
  bool walks = user->opcode == HLO_REDUCE && map == FUSION_MAP_IDENTITY && operand < user->operand_count / 2;
  return walks ? FUSION_MAP_IDENTITY : fusion_operand_map(user, operand, map);
}

static void add_read(FusionReads *reads, Arena *arena, const HloInstruction *operand, uint64_t map) {
  for (int64_t i = 0; i < reads->count; i++) {
    if (reads->data[i].operand == operand && reads->data[i].map == map) return;
  }
  array_push(reads, arena, ((FusionRead){operand, map}));
}

static void read_fused(FusionReads *reads, const HloInstruction *fusion, Arena *arena) {
  const HloComputation *fused = hlo_instruction_computation(fusion, HLO_ATTR_CALLS);
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(fused, arena, &count);
  MapSet *sets = ARENA_NEW_ARRAY(arena, MapSet, count + 1);
  IntMap numbers;
  int_map_init(&numbers, arena);
  for (int64_t i = 0; i < count; i++) int_map_set(&numbers, (uint64_t)order[i]->id, i);
  for (int64_t i = count - 1; i >= 0; i--) {
    const HloInstruction *instruction = order[i];
    if (instruction == fused->root) add_map(&sets[i], FUSION_MAP_IDENTITY);
    for (int k = 0; k < instruction->operand_count; k++) {
      int64_t operand = 0;
      int_map_find(&numbers, (uint64_t)instruction->operands[k]->id, &operand);
      for (int m = 0; m < sets[i].count; m++) add_map(&sets[operand], operand_map(instruction, k, sets[i].maps[m]));
      sets[operand].many |= sets[i].many;
    }
    if (instruction->opcode != HLO_PARAMETER) continue;
    const HloInstruction *outside = fusion->operands[hlo_instruction_parameter_number(instruction)];
    for (int m = 0; m < sets[i].count; m++) add_read(reads, arena, outside, sets[i].maps[m]);
    if (sets[i].many) add_read(reads, arena, outside, (uint64_t)fusion->id << 8);
  }
}

FusionReads fusion_reads(const HloInstruction *instruction, Arena *arena) {
  FusionReads reads = {0};
  if (instruction->opcode == HLO_FUSION) {
    read_fused(&reads, instruction, arena);
    return reads;
  }
  for (int k = 0; k < instruction->operand_count; k++)
    add_read(&reads, arena, instruction->operands[k], operand_map(instruction, k, FUSION_MAP_IDENTITY));
  return reads;
}

bool fusion_reads_in_place(const FusionReads *reads, const HloInstruction *operand) {
  bool found = false;
  for (int64_t i = 0; i < reads->count; i++) {
    if (reads->data[i].operand != operand) continue;
    if (reads->data[i].map != FUSION_MAP_IDENTITY) return false;
    found = true;
  }
  return found;
}

bool fusion_reads_agree(const FusionReads *a, const FusionReads *b, const HloInstruction *operand) {
  for (int64_t i = 0; i < a->count; i++) {
    if (a->data[i].operand != operand) continue;
    for (int64_t k = 0; k < b->count; k++) {
      if (b->data[k].operand == operand && b->data[k].map == a->data[i].map) return true;
    }
  }
  return false;
}
