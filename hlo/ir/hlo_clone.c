#include "hlo/ir/hlo_ir_internal.h"
#include "hlo/ir/hlo_module.h"

/* Copies of instructions and computations, and a computation's body copied to where it is called. */

/* Gives |copy| the attributes of |original|; |deep| copies what they point to as well. */
static void copy_attrs(HloInstruction *copy, const HloInstruction *original, const HloAttrRemap *remap, bool deep) {
  for (int32_t i = 0; i < original->attr_count; i++) {
    HloAttr attr = hlo_attr_remap(&original->attrs[i], remap);
    if (attr.id == HLO_ATTR_CONTROL_PREDECESSORS && attr.value.instructions.count == 0) continue;
    if (deep) attr = hlo_attr_deep_copy(&attr, remap->arena);
    hlo_instruction_set_attr(copy, &attr);
  }
  copy->loc = original->loc;
}

HloInstruction *hlo_computation_add_clone(HloComputation *computation, const HloInstruction *instruction,
                                          const Shape *shape, HloInstruction *const *operands, int operand_count) {
  HloInstruction *copy =
      hlo_computation_add(computation, instruction->opcode, shape, operands, operand_count, instruction->name);
  copy_attrs(copy, instruction, &(HloAttrRemap){.arena = computation->module->arena}, false);
  return copy;
}

/* The map's entries for the operands of |original|, in |room|, which grows as needed. */
static HloInstruction **mapped_operands(const IntMap *map, const HloInstruction *original, HloInstructionArray *room,
                                        Arena *scratch) {
  array_reserve(room, scratch, original->operand_count);
  for (int32_t i = 0; i < original->operand_count; i++) {
    room->data[i] = (HloInstruction *)pointer_map_get(map, original->operands[i]);
  }
  return room->data;
}

/* Copies of all instructions of |from| in |into|, entered in |map|; parameters that are in the map already stand for
 * themselves. */
static void copy_body(HloComputation *into, const HloComputation *from, IntMap *map, const IntMap *computations,
                      bool deep, Arena *scratch) {
  HloAttrRemap remap = {into->module->arena, map, computations};
  HloInstructionArray room = {0};
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(from, scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    const HloInstruction *original = order[i];
    HloInstruction *copy;
    if (original->opcode == HLO_PARAMETER) {
      if (pointer_map_get(map, original)) continue;
      copy = hlo_computation_add_parameter(into, hlo_instruction_parameter_number(original), original->shape,
                                           original->name);
    } else {
      HloInstruction **operands = mapped_operands(map, original, &room, scratch);
      copy = hlo_computation_add(into, original->opcode, original->shape, operands, original->operand_count,
                                 original->name);
    }
    copy_attrs(copy, original, &remap, deep);
    pointer_map_set(map, original, copy);
  }
}

/* Fills the empty |into| with a copy of |from|, in its order. */
static void fill_computation(HloComputation *into, const HloComputation *from, const IntMap *computations, bool deep) {
  Arena *scratch = arena_create();
  IntMap map;
  int_map_init(&map, scratch);
  copy_body(into, from, &map, computations, deep, scratch);
  int64_t count = from->instructions.count;
  HloInstruction **order = ARENA_NEW_ARRAY(scratch, HloInstruction *, count + 1);
  for (int64_t i = 0; i < count; i++) {
    order[i] = (HloInstruction *)pointer_map_get(&map, from->instructions.data[i]);
  }
  hlo_computation_set_order(into, order, count);
  if (from->root) into->root = (HloInstruction *)pointer_map_get(&map, from->root);
  into->execution_thread = sv_copy(into->module->arena, from->execution_thread);
  into->loc = from->loc;
  arena_destroy(scratch);
}

HloComputation *hlo_computation_clone(HloComputation *computation, HloModule *module, StringView name) {
  XLAC_CHECK(computation->module == module);
  HloComputation *copy = hlo_module_add_computation(module, name.size > 0 ? name : computation->name);
  fill_computation(copy, computation, NULL, false);
  return copy;
}

/* The copy of |computation| in |module|, another than its own, made with those of what it calls unless |copies| has it.
 */
static HloComputation *copy_to(HloModule *module, const HloComputation *computation, IntMap *copies) {
  HloComputation *copy = pointer_map_get(copies, computation);
  if (copy != NULL) return copy;
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    int count = hlo_instruction_called_count(instruction);
    for (int k = 0; k < count; k++) (void)copy_to(module, hlo_instruction_called(instruction, k), copies);
  }
  copy = hlo_module_add_computation(module, computation->name);
  fill_computation(copy, computation, copies, true);
  pointer_map_set(copies, computation, copy);
  return copy;
}

void hlo_instruction_copy_called(HloInstruction *instruction) {
  Arena *scratch = arena_create();
  IntMap copies;
  int_map_init(&copies, scratch);
  for (int i = 0; i < hlo_instruction_called_count(instruction); i++) {
    HloModule *module = instruction->parent->module;
    hlo_instruction_set_called(instruction, i, copy_to(module, hlo_instruction_called(instruction, i), &copies));
  }
  arena_destroy(scratch);
}

HloInstruction *hlo_computation_inline(HloComputation *into, const HloComputation *callee,
                                       HloInstruction *const *arguments) {
  XLAC_CHECK(into != callee && into->module == callee->module);
  Arena *scratch = arena_create();
  IntMap map;
  int_map_init(&map, scratch);
  for (int64_t i = 0; i < callee->parameters.count; i++)
    pointer_map_set(&map, callee->parameters.data[i], arguments[i]);
  copy_body(into, callee, &map, NULL, false, scratch);
  HloInstruction *root = (HloInstruction *)pointer_map_get(&map, callee->root);
  arena_destroy(scratch);
  return root;
}

/* --- modules --- */

static ShapeIndex copy_index(Arena *arena, ShapeIndex index) {
  if (index.depth > 0) index.path = ARENA_COPY_ARRAY(arena, int64_t, index.path, index.depth);
  return index;
}

#define COPY_ARRAY(arena, Type, data, count) ((count) > 0 ? ARENA_COPY_ARRAY((arena), Type, (data), (count)) : NULL)

static StringView *copy_texts(Arena *arena, const StringView *texts, int64_t count) {
  StringView *copy = COPY_ARRAY(arena, StringView, texts, count);
  for (int64_t i = 0; i < count; i++) copy[i] = sv_copy(arena, copy[i]);
  return copy;
}

static StackFrameTables copy_stack_frames(Arena *arena, const StackFrameTables *tables) {
  StackFrameTables copy = *tables;
  copy.file_names = copy_texts(arena, tables->file_names, tables->file_name_count);
  copy.function_names = copy_texts(arena, tables->function_names, tables->function_name_count);
  copy.file_locations = COPY_ARRAY(arena, FileLocation, tables->file_locations, tables->file_location_count);
  copy.stack_frames = COPY_ARRAY(arena, StackFrame, tables->stack_frames, tables->stack_frame_count);
  return copy;
}

static void copy_sizes(HloModule *copy, const HloModule *module) {
  for (int64_t i = 0; i < module->parameter_sizes.count; i++)
    array_push(&copy->parameter_sizes, copy->arena, module->parameter_sizes.data[i]);
  for (int64_t i = 0; i < module->result_sizes.count; i++)
    array_push(&copy->result_sizes, copy->arena, module->result_sizes.data[i]);
}

static void copy_aliases(HloModule *copy, const HloModule *module) {
  Arena *arena = copy->arena;
  for (int64_t i = 0; i < module->aliases.count; i++) {
    InputOutputAlias alias = module->aliases.data[i];
    alias.output = copy_index(arena, alias.output);
    alias.parameter_index = copy_index(arena, alias.parameter_index);
    array_push(&copy->aliases, arena, alias);
  }
  for (int64_t i = 0; i < module->donors.count; i++) {
    BufferDonor donor = module->donors.data[i];
    donor.parameter_index = copy_index(arena, donor.parameter_index);
    array_push(&copy->donors, arena, donor);
  }
  copy->alias_passthrough_params = module->alias_passthrough_params;
}

static void copy_header(HloModule *copy, const HloModule *module) {
  Arena *arena = copy->arena;
  copy->loc = module->loc;
  copy->result_name = sv_copy(arena, module->result_name);
  copy->is_scheduled = module->is_scheduled;
  copy->entry_layout = module->entry_layout;
  copy->entry_layout.parameters =
      COPY_ARRAY(arena, const Shape *, module->entry_layout.parameters, module->entry_layout.parameter_count);
  copy_aliases(copy, module);
  copy_sizes(copy, module);
  copy->prepared_count = module->prepared_count;
  copy->replica_count = module->replica_count;
  copy->num_partitions = module->num_partitions;
  copy->is_whole = module->is_whole;
  copy->fits_partitions = module->fits_partitions;
  copy->spmd_parameters_present = module->spmd_parameters_present;
  copy->spmd_output_present = module->spmd_output_present;
  copy->spmd_parameter_count = module->spmd_parameter_count;
  copy->spmd_output_count = module->spmd_output_count;
  copy->spmd_parameters = COPY_ARRAY(arena, bool, module->spmd_parameters, module->spmd_parameter_count);
  copy->spmd_outputs = COPY_ARRAY(arena, bool, module->spmd_outputs, module->spmd_output_count);
  copy->frontend_count = module->frontend_count;
  copy->frontend = hlo_frontend_copy(module->frontend, module->frontend_count, arena);
  copy->origin_recovery_count = module->origin_recovery_count;
  OriginRecoveryEntry *recovery =
      COPY_ARRAY(arena, OriginRecoveryEntry, module->origin_recovery, module->origin_recovery_count);
  for (int64_t i = 0; i < module->origin_recovery_count; i++) {
    recovery[i].from = hlo_origin_node_copy(&recovery[i].from, arena);
    recovery[i].to = hlo_origin_node_copy(&recovery[i].to, arena);
    recovery[i].module_text = sv_copy(arena, recovery[i].module_text);
  }
  copy->origin_recovery = recovery;
  copy->stack_frames = copy_stack_frames(arena, &module->stack_frames);
}

HloModule *hlo_module_clone(const HloModule *module, Arena *arena) {
  HloModule *copy = hlo_module_create(arena, module->shapes, module->name);
  copy_header(copy, module);
  Arena *scratch = arena_create();
  IntMap computations;
  int_map_init(&computations, scratch);
  for (int64_t i = 0; i < module->computations.count; i++) {
    const HloComputation *original = module->computations.data[i];
    pointer_map_set(&computations, original, hlo_module_add_computation(copy, original->name));
  }
  for (int64_t i = 0; i < module->computations.count; i++) {
    fill_computation(copy->computations.data[i], module->computations.data[i], &computations, true);
  }
  if (module->entry) copy->entry = (HloComputation *)pointer_map_get(&computations, module->entry);
  if (module->preparation) copy->preparation = (HloComputation *)pointer_map_get(&computations, module->preparation);
  arena_destroy(scratch);
  return copy;
}

void hlo_module_take(HloModule *module, HloModule *from) {
  XLAC_CHECK(module->arena == from->arena);
  *module = *from;
  for (int64_t i = 0; i < module->computations.count; i++) module->computations.data[i]->module = module;
}
