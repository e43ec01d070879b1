/* Which instructions are in manual regions, and along which axes.
 *
 * After calls are inlined the body of a region is instructions like all others: what hangs together by operands,
 * without a way through a border, has the same manual axes.  The entry's parameters and results have none. */
#include "passes/spmd/propagation_internal.h"

typedef struct Regions {
  Propagation *propagation;
  int32_t *parents; /* by instruction id: union-find */
  const AxisMask *border_axes;
  const bool *enters;
  AxisMask *masks; /* by root of a set */
  bool *is_known;
  bool changed;
} Regions;

static int32_t find_root(Regions *regions, int32_t id) {
  while (regions->parents[id] != id) {
    regions->parents[id] = regions->parents[regions->parents[id]];
    id = regions->parents[id];
  }
  return id;
}

static void unite(Regions *regions, const HloInstruction *a, const HloInstruction *b) {
  regions->parents[find_root(regions, a->id)] = find_root(regions, b->id);
}

/* A border itself stands with its result; its operands are on the other side. */
static Status unite_operands(Propagation *propagation, HloInstruction *instruction, void *context) {
  Regions *regions = context;
  (void)propagation;
  if (regions->border_axes[instruction->id] == 0) {
    for (int i = 0; i < instruction->operand_count; i++) unite(regions, instruction, instruction->operands[i]);
  }
  if (!hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW)) return STATUS_OK;
  for (int i = 0; i < hlo_instruction_called_count(instruction); i++) {
    const HloComputation *called = hlo_instruction_called(instruction, i);
    unite(regions, instruction, called->root);
    for (int64_t p = 0; p < called->parameters.count; p++) unite(regions, instruction, called->parameters.data[p]);
  }
  return STATUS_OK;
}

static Status set_mask(Regions *regions, const HloInstruction *instruction, AxisMask mask) {
  int32_t root = find_root(regions, instruction->id);
  if (!regions->is_known[root]) {
    regions->masks[root] = mask;
    regions->is_known[root] = true;
    regions->changed = true;
  }
  if (regions->masks[root] == mask) return STATUS_OK;
  return diag_error(regions->propagation->diag, STATUS_INVALID, instruction->loc, "sharding",
                    "'%.*s' is in two manual regions of different axes", SV_ARG(instruction->name));
}

static bool is_known(Regions *regions, const HloInstruction *instruction) {
  return regions->is_known[find_root(regions, instruction->id)];
}

static AxisMask mask_of(Regions *regions, const HloInstruction *instruction) {
  return regions->masks[find_root(regions, instruction->id)];
}

/* From one side of a border to the other. */
static Status cross_border(Propagation *propagation, HloInstruction *border, void *context) {
  Regions *regions = context;
  AxisMask axes = regions->border_axes[border->id];
  (void)propagation;
  if (axes == 0) return STATUS_OK;
  bool enters = regions->enters[border->id];
  for (int i = 0; i < border->operand_count; i++) {
    const HloInstruction *operand = border->operands[i];
    if (is_known(regions, operand)) {
      AxisMask mask = mask_of(regions, operand);
      RETURN_IF_ERROR(set_mask(regions, border, enters ? mask | axes : mask & ~axes));
    } else if (is_known(regions, border)) {
      AxisMask mask = mask_of(regions, border);
      RETURN_IF_ERROR(set_mask(regions, operand, enters ? mask & ~axes : mask | axes));
    }
  }
  return STATUS_OK;
}

Status propagation_find_regions(Propagation *propagation, const AxisMask *border_axes, const bool *enters) {
  HloModule *module = propagation->module;
  Arena *arena = propagation->arena;
  int64_t count = module->next_instruction_id;
  Regions regions = {.propagation = propagation,
                     .parents = ARENA_NEW_ARRAY(arena, int32_t, count),
                     .border_axes = border_axes,
                     .enters = enters,
                     .masks = ARENA_NEW_ARRAY(arena, AxisMask, count),
                     .is_known = ARENA_NEW_ARRAY(arena, bool, count)};
  for (int32_t i = 0; i < count; i++) regions.parents[i] = i;
  RETURN_IF_ERROR(propagation_for_each(propagation, unite_operands, &regions));
  const HloComputation *entry = module->entry;
  RETURN_IF_ERROR(set_mask(&regions, entry->root, 0));
  for (int64_t i = 0; i < entry->parameters.count; i++)
    RETURN_IF_ERROR(set_mask(&regions, entry->parameters.data[i], 0));
  for (regions.changed = true; regions.changed;) {
    regions.changed = false;
    RETURN_IF_ERROR(propagation_for_each(propagation, cross_border, &regions));
  }
  propagation->manual = ARENA_NEW_ARRAY(arena, AxisMask, count);
  for (int32_t i = 0; i < count; i++) propagation->manual[i] = regions.masks[find_root(&regions, i)];
  return STATUS_OK;
}
