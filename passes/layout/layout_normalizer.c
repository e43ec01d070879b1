#include "passes/cleanup/shape_coercion.h"
#include "passes/pipeline/hlo_pass.h"

/* Gives every array inside the module the default layout.  Layouts in the text of a module say nothing of what it
 * computes, but for
 * - the entry's parameters and result, which are the caller's: copies convert there;
 * - bitcast, which speaks of bytes: it becomes the transposes and the reshape that it stands for;
 * - custom calls, which are told addresses: operands and results keep their layouts, copies convert around them. */

typedef struct Normalizer {
  HloModule *module;
  IntMap shapes; /* instruction → the shape that the text gives it or what it stands for */
  Arena *scratch;
  bool changed;
  HloInstructionArray reshaped; /* instructions of the text whose shape was set, maybe back to what it was */
} Normalizer;

static const Shape *written_shape(const Normalizer *normalizer, const HloInstruction *instruction) {
  const Shape *shape = pointer_map_get(&normalizer->shapes, instruction);
  return shape != NULL ? shape : instruction->shape;
}

static void set_written_shape(Normalizer *normalizer, const HloInstruction *instruction, const Shape *shape) {
  pointer_map_set(&normalizer->shapes, instruction, (void *)(uintptr_t)shape);
}

/* The text's shape stays the written one. */
static void change_shape(Normalizer *normalizer, HloInstruction *instruction, const Shape *shape) {
  if (pointer_map_get(&normalizer->shapes, instruction) == NULL) {
    set_written_shape(normalizer, instruction, instruction->shape);
    array_push(&normalizer->reshaped, normalizer->scratch, instruction);
  }
  hlo_instruction_set_shape(instruction, shape);
}

static const Shape *normal_shape(const Normalizer *normalizer, const Shape *shape) {
  return shape_with_default_layout(normalizer->module->shapes, shape);
}

/* --- bitcast --- */

static bool is_plain(const Shape *shape) {
  return shape_is_static_array(shape) && shape->layout.tile_count == 0;
}

/* A bitcast of whole elements: the others stay, between copies. */
static bool is_logical_bitcast(const Normalizer *normalizer, const HloInstruction *instruction) {
  const Shape *to = written_shape(normalizer, instruction);
  const Shape *from = written_shape(normalizer, instruction->operands[0]);
  return is_plain(to) && is_plain(from) && to->type == from->type && shape_element_count(to) >= 0 &&
         shape_element_count(to) == shape_element_count(from);
}

/* The array whose rows lie as |shape| lies in memory: dimensions from major to minor, and for each which of |shape| it
 * is. */
static const Shape *physical_shape(const Normalizer *normalizer, const Shape *shape, int64_t *out_order) {
  int64_t *dims = ARENA_NEW_ARRAY(normalizer->scratch, int64_t, shape->rank + 1);
  for (int i = 0; i < shape->rank; i++) {
    out_order[i] = shape->layout.minor_to_major[shape->rank - 1 - i];
    dims[i] = shape->dims[out_order[i]];
  }
  return shape_array(normalizer->module->shapes, shape->type, dims, shape->rank);
}

static HloInstruction *transposed(HloInstruction *value, const Shape *shape, const int64_t *order) {
  if (value->shape == shape) {
    bool identity = true;
    for (int i = 0; i < shape->rank; i++) identity &= order[i] == i;
    if (identity) return value;
  }
  HloInstruction *result = hlo_computation_add(value->parent, HLO_TRANSPOSE, shape, &value, 1, (StringView){0});
  hlo_instruction_set_ints(result, HLO_ATTR_DIMENSIONS, order, shape->rank);
  return result;
}

static void spell_bitcast(Normalizer *normalizer, HloInstruction *bitcast) {
  HloInstruction *operand = bitcast->operands[0];
  const Shape *from = written_shape(normalizer, operand), *to = written_shape(normalizer, bitcast);
  int64_t *from_order = ARENA_NEW_ARRAY(normalizer->scratch, int64_t, from->rank + 1);
  int64_t *to_order = ARENA_NEW_ARRAY(normalizer->scratch, int64_t, to->rank + 1);
  int64_t *inverse = ARENA_NEW_ARRAY(normalizer->scratch, int64_t, to->rank + 1);
  const Shape *from_physical = physical_shape(normalizer, from, from_order);
  const Shape *to_physical = physical_shape(normalizer, to, to_order);
  for (int i = 0; i < to->rank; i++) inverse[to_order[i]] = i;
  HloInstruction *value = transposed(operand, from_physical, from_order);
  if (value->shape != to_physical) {
    value = hlo_computation_add(value->parent, HLO_RESHAPE, to_physical, &value, 1, (StringView){0});
  }
  value = transposed(value, bitcast->shape, inverse);
  if (value != operand) {
    hlo_instruction_inherit_metadata(value, bitcast);
    set_written_shape(normalizer, value, to);
  }
  hlo_computation_replace_instruction(bitcast->parent, bitcast, value);
  normalizer->changed = true;
}

/* --- where layouts are given from outside --- */

/* A copy that a former run put at a border: it stays one. */
static bool is_border_copy(const HloInstruction *instruction, const Shape *normal) {
  return instruction->opcode == HLO_COPY && instruction->shape == normal;
}

/* |value|, which nothing else reads, in the layouts of |shape|: a copy or a tuple of copies just makes those. */
static HloInstruction *coerced(Normalizer *normalizer, HloInstruction *value, const Shape *shape) {
  bool is_made_here = value->user_count <= (hlo_instruction_is_root(value) ? 0 : 1);
  if (value->shape == shape || !is_made_here || !shape_compatible(value->shape, shape))
    return shape_coerce(value, shape);
  if (value->opcode == HLO_TUPLE) {
    for (int i = 0; i < value->operand_count; i++) {
      HloInstruction *element = value->operands[i];
      bool is_shared = false; /* by another place in the tuple */
      for (int k = 0; k < value->operand_count && element->opcode == HLO_COPY; k++) {
        is_shared |= k != i && value->operands[k] == element;
      }
      HloInstruction *wanted =
          is_shared ? shape_coerce(element, shape->tuple[i]) : coerced(normalizer, element, shape->tuple[i]);
      if (wanted == element) continue;
      hlo_instruction_replace_operand(value, i, wanted);
      normalizer->changed = true;
    }
  } else if (value->opcode != HLO_COPY) {
    return shape_coerce(value, shape);
  }
  change_shape(normalizer, value, shape);
  return value;
}

/* Users of |value| see it in default layouts, whatever its own. */
static void normalise_for_users(Normalizer *normalizer, HloInstruction *value) {
  const Shape *normal = normal_shape(normalizer, value->shape);
  if (normal == value->shape) return;
  int32_t user_count = value->user_count;
  HloInstruction **users = ARENA_COPY_ARRAY(normalizer->scratch, HloInstruction *, value->users, user_count);
  bool is_root = hlo_instruction_is_root(value);
  int32_t copies = 0;
  for (int32_t u = 0; u < user_count; u++) copies += is_border_copy(users[u], normal);
  if (copies == user_count && !is_root) return;
  HloInstruction *converted = shape_coerce(value, normal);
  set_written_shape(normalizer, converted, written_shape(normalizer, value));
  for (int32_t u = 0; u < user_count; u++) {
    if (!is_border_copy(users[u], normal)) hlo_instruction_replace_use(value, users[u], converted);
  }
  if (is_root) hlo_computation_set_root(value->parent, converted);
  normalizer->changed = true;
}

static void keep_layouts_around(Normalizer *normalizer, HloInstruction *instruction) {
  const HloAttr *constraints = hlo_instruction_attr(instruction, HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS);
  for (int i = 0; i < instruction->operand_count; i++) {
    const Shape *wanted = written_shape(normalizer, instruction->operands[i]);
    if (constraints != NULL && i < constraints->value.shapes.count) wanted = constraints->value.shapes.data[i];
    HloInstruction *operand = coerced(normalizer, instruction->operands[i], wanted);
    if (operand == instruction->operands[i]) continue;
    hlo_instruction_replace_operand(instruction, i, operand);
    normalizer->changed = true;
  }
  normalise_for_users(normalizer, instruction);
}

static bool keeps_layouts(const Normalizer *normalizer, const HloInstruction *instruction) {
  if (instruction->opcode == HLO_CUSTOM_CALL) return true;
  return instruction->opcode == HLO_BITCAST && !is_logical_bitcast(normalizer, instruction);
}

/* What the header says of the entry's layouts goes before what the instructions say. */
static const Shape *entry_shape(const Shape *header, const Shape *written) {
  return header != NULL && shape_compatible(header, written) ? header : written;
}

static void normalise_entry(Normalizer *normalizer) {
  HloModule *module = normalizer->module;
  const EntryLayout *layout = &module->entry_layout;
  HloInstruction *root = module->entry->root;
  const Shape *result = entry_shape(layout->present ? layout->result : NULL, written_shape(normalizer, root));
  for (int64_t i = 0; i < module->entry->parameters.count; i++) {
    HloInstruction *parameter = module->entry->parameters.data[i];
    const Shape *header = layout->present && i < layout->parameter_count ? layout->parameters[i] : NULL;
    const Shape *shape = entry_shape(header, written_shape(normalizer, parameter));
    change_shape(normalizer, parameter, shape);
    normalise_for_users(normalizer, parameter);
  }
  root = coerced(normalizer, module->entry->root, result);
  normalizer->changed |= root != module->entry->root;
  hlo_computation_set_root(module->entry, root);
}

/* --- all instructions --- */

static void set_normal_shape(Normalizer *normalizer, HloInstruction *instruction) {
  const Shape *shape = normal_shape(normalizer, instruction->shape);
  if (shape == instruction->shape) return;
  change_shape(normalizer, instruction, shape);
  if (instruction->opcode != HLO_CONSTANT) return;
  /* A literal's data is row major in any layout. */
  Literal *literal = ARENA_NEW(normalizer->module->arena, Literal);
  *literal = *hlo_instruction_literal(instruction);
  literal->shape = shape;
  hlo_instruction_set_attr(instruction, &(HloAttr){.id = HLO_ATTR_LITERAL, .value.literal = literal});
}

static void set_normal_shapes(Normalizer *normalizer, const HloComputation *computation) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    HloInstruction *instruction = computation->instructions.data[i];
    if (instruction->opcode == HLO_BITCAST || instruction->opcode == HLO_CUSTOM_CALL) continue;
    set_normal_shape(normalizer, instruction);
  }
}

static void normalise_special_cases(Normalizer *normalizer, const HloComputation *computation) {
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(computation, normalizer->scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    if (keeps_layouts(normalizer, order[i])) {
      keep_layouts_around(normalizer, order[i]);
    } else if (order[i]->opcode == HLO_BITCAST) {
      set_normal_shape(normalizer, order[i]);
      spell_bitcast(normalizer, order[i]);
    }
  }
}

/* The memory space of a leaf of |from| that |to|, of the same structure, has no longer; 0 for none. */
static int64_t lost_memory_space(const Shape *from, const Shape *to) {
  int64_t lost = 0;
  for (int i = 0; shape_is_tuple(from) && i < from->tuple_size && lost == 0; i++)
    lost = lost_memory_space(from->tuple[i], to->tuple[i]);
  if (shape_is_array(from) && from->layout.memory_space != to->layout.memory_space) lost = from->layout.memory_space;
  return lost;
}

static void warn_of_memory_spaces(const Normalizer *normalizer, DiagSink *diag) {
  const HloInstruction *first = NULL;
  int64_t space = 0, count = 0;
  for (int64_t i = 0; i < normalizer->reshaped.count; i++) {
    const HloInstruction *instruction = normalizer->reshaped.data[i];
    int64_t lost = lost_memory_space(written_shape(normalizer, instruction), instruction->shape);
    if (lost == 0) continue;
    if (count++ > 0) continue;
    first = instruction;
    space = lost;
  }
  if (count == 0) return;
  diag_warning(diag, first->loc, "memory-space",
               "'%.*s' is not kept in memory space %lld: inside a module code has one memory", SV_ARG(first->name),
               (long long)space);
  if (count > 1) diag_note(diag, first->loc, "nor are %lld more instructions in theirs", (long long)count - 1);
}

static Status run_layout_normalizer(HloPassContext *context, HloModule *module, bool *out_changed) {
  Normalizer normalizer = {.module = module, .scratch = context->scratch};
  int_map_init(&normalizer.shapes, context->scratch);
  for (int64_t c = 0; c < module->computations.count; c++) set_normal_shapes(&normalizer, module->computations.data[c]);
  for (int64_t c = 0; c < module->computations.count; c++)
    normalise_special_cases(&normalizer, module->computations.data[c]);
  normalise_entry(&normalizer);
  /* Some have their own layouts again. */
  for (int64_t i = 0; i < normalizer.reshaped.count; i++) {
    HloInstruction *instruction = normalizer.reshaped.data[i];
    normalizer.changed |= instruction->shape != written_shape(&normalizer, instruction);
  }
  warn_of_memory_spaces(&normalizer, context->diag);
  *out_changed = normalizer.changed;
  return STATUS_OK;
}

const HloPass hlo_layout_normalizer_pass = {
    "layout-normalizer", "default layouts inside the module, copies at its borders", run_layout_normalizer, false};
