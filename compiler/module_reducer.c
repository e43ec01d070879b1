#include "compiler/module_reducer.h"

#include "hlo/infer/hlo_verifier.h"

/* Of an instruction of |computation|; false where it cannot be made there. */
typedef bool (*Edit)(HloComputation *computation, HloInstruction *instruction);

typedef struct Reducer {
  Arena *arena; /* of the smallest; NULL: it is the one that was given */
  const ModuleTest *test;
  ModuleReduction *reduction;
  int64_t weight; /* of the smallest */
} Reducer;

/* --- size --- */

/* What makes an instruction harder to read than a parameter. */
static int64_t instruction_weight(const HloInstruction *instruction) {
  int64_t weight = instruction->attr_count;
  if (instruction->opcode == HLO_PARAMETER) return weight + 2;
  return weight + (hlo_opcode_has(instruction->opcode, OP_GIVEN) ? 2 : 4) + instruction->operand_count;
}

static int64_t module_weight(const HloModule *module) {
  int64_t weight = module->aliases.count + module->donors.count + module->frontend_count + module->is_scheduled +
                   module->entry_layout.present + module->stack_frames.present;
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    weight += 2;
    for (int64_t i = 0; i < computation->instructions.count; i++)
      weight += instruction_weight(computation->instructions.data[i]);
  }
  return weight;
}

/* --- edits --- */

static bool is_entry(const HloComputation *computation) {
  return computation->module->entry == computation;
}

/* The header states shapes, and places in them. */
static void forget_entry_layout(HloModule *module) {
  module->entry_layout.present = false;
  module->aliases.count = module->donors.count = 0;
  module->spmd_parameters_present = module->spmd_output_present = false;
}

static bool become_root(HloComputation *computation, HloInstruction *instruction) {
  if (!is_entry(computation) || hlo_instruction_is_root(instruction)) return false;
  hlo_computation_set_root(computation, instruction);
  forget_entry_layout(computation->module);
  return true;
}

/* Instructions that are added come last; a schedule has to have them before their users. */
static void put_first(HloComputation *computation, HloInstruction *added) {
  const HloInstructionArray *list = &computation->instructions;
  if (!computation->module->is_scheduled) return;
  HloInstruction **order = ARENA_NEW_ARRAY(computation->module->arena, HloInstruction *, list->count);
  order[0] = added;
  for (int64_t i = 0; i + 1 < list->count; i++) order[i + 1] = list->data[i];
  hlo_computation_set_order(computation, order, list->count);
}

static bool is_wanted(const HloInstruction *instruction) {
  return instruction->user_count > 0 || hlo_instruction_is_root(instruction);
}

static bool become_parameter(HloComputation *computation, HloInstruction *instruction) {
  if (!is_entry(computation) || instruction->opcode == HLO_PARAMETER || !is_wanted(instruction)) return false;
  for (int n = 0; n < shape_node_count(instruction->shape); n++) {
    const Shape *node = shape_node(instruction->shape, n);
    if (!shape_is_array(node) && !shape_is_tuple(node)) return false;
  }
  HloInstruction *parameter =
      hlo_computation_add_parameter(computation, computation->parameters.count, instruction->shape, instruction->name);
  put_first(computation, parameter);
  computation->module->entry_layout.present = computation->module->spmd_parameters_present = false;
  hlo_computation_replace_instruction(computation, instruction, parameter);
  return true;
}

static bool become_operand(HloComputation *computation, HloInstruction *instruction) {
  for (int k = 0; k < instruction->operand_count; k++) {
    if (instruction->operands[k]->shape != instruction->shape) continue;
    hlo_computation_replace_instruction(computation, instruction, instruction->operands[k]);
    return true;
  }
  return false;
}

static bool become_zero(HloComputation *computation, HloInstruction *instruction) {
  bool is_scalar = shape_is_array(instruction->shape) && instruction->shape->rank == 0;
  if (!is_scalar || hlo_opcode_has(instruction->opcode, OP_GIVEN)) return false;
  HloModule *module = computation->module;
  HloInstruction *zero =
      hlo_computation_add_constant(computation, literal_create(module->arena, instruction->shape), SV("zero"));
  put_first(computation, zero);
  hlo_computation_replace_instruction(computation, instruction, zero);
  return true;
}

/* What one run of it executes, on its operands. */
static bool become_callee(HloComputation *computation, HloInstruction *instruction) {
  if (computation->module->is_scheduled || hlo_instruction_called_count(instruction) == 0) return false;
  bool is_fusion = instruction->opcode == HLO_FUSION;
  if (!is_fusion && !hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW)) return false;
  /* A loop's body comes after its condition, a conditional's operands after what it chooses by. */
  bool is_loop = hlo_instruction_computation(instruction, HLO_ATTR_BODY) != NULL;
  const HloComputation *callee = hlo_instruction_called(instruction, is_loop ? 1 : 0);
  int64_t first = hlo_instruction_called_count(instruction) > 1 && !is_loop ? 1 : 0, count = callee->parameters.count;
  if (first + count > instruction->operand_count || callee->root->shape != instruction->shape) return false;
  for (int64_t p = 0; p < count; p++) {
    if (instruction->operands[first + p]->shape != callee->parameters.data[p]->shape) return false;
  }
  HloInstruction *result = hlo_computation_inline(computation, callee, instruction->operands + first);
  hlo_computation_replace_instruction(computation, instruction, result);
  return true;
}

static bool lose_last_element(HloComputation *computation, HloInstruction *instruction) {
  bool is_result = is_entry(computation) && hlo_instruction_is_root(instruction);
  if (!is_result || !hlo_opcode_has(instruction->opcode, OP_TUPLES) || instruction->operand_count < 2) return false;
  if (!shape_is_tuple(instruction->shape)) return false;
  int count = instruction->operand_count - 1;
  const Shape *shape = shape_tuple(computation->module->shapes, instruction->shape->tuple, count);
  HloInstruction *shorter =
      hlo_computation_add(computation, instruction->opcode, shape, instruction->operands, count, instruction->name);
  hlo_computation_set_root(computation, shorter);
  forget_entry_layout(computation->module);
  return true;
}

/* What is there for its effect alone. */
static bool vanish(HloComputation *computation, HloInstruction *instruction) {
  if (instruction->opcode == HLO_PARAMETER || is_wanted(instruction)) return false;
  hlo_computation_remove(computation, instruction, false);
  return true;
}

static bool lose_attributes(HloComputation *computation, HloInstruction *instruction) {
  static const HloAttrId ids[] = {HLO_ATTR_METADATA, HLO_ATTR_BACKEND_CONFIG, HLO_ATTR_FRONTEND_ATTRIBUTES,
                                  HLO_ATTR_CONTROL_PREDECESSORS};
  (void)computation;
  int32_t before = instruction->attr_count;
  hlo_instruction_remove_sharding(instruction);
  for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) hlo_instruction_remove_attr(instruction, ids[i]);
  return instruction->attr_count < before;
}

/* Of the whole module, whichever instruction it is asked for. */
static bool lose_header(HloComputation *computation, HloInstruction *instruction) {
  HloModule *module = computation->module;
  (void)instruction;
  forget_entry_layout(module);
  module->is_scheduled = false;
  module->frontend_count = 0;
  module->stack_frames.present = false;
  return true;
}

static const Edit edits[] = {lose_header,       become_root,    vanish,      become_parameter, become_callee,
                             lose_last_element, become_operand, become_zero, lose_attributes};

/* --- search --- */

static void drop_unused_parameters(HloComputation *entry) {
  for (int64_t i = entry->parameters.count - 1; i >= 0; i--) {
    HloInstruction *parameter = entry->parameters.data[i];
    if (hlo_instruction_is_unread(parameter)) hlo_computation_remove(entry, parameter, true);
  }
}

/* Instructions numbered from |first| on, through all computations. */
static bool edit_range(HloModule *module, Edit edit, int64_t first, int64_t count, Arena *scratch) {
  bool changed = false;
  int64_t number = 0;
  for (int64_t c = 0; c < module->computations.count; c++) {
    HloComputation *computation = module->computations.data[c];
    int64_t size = computation->instructions.count;
    HloInstructionArray before = {0}; /* edits add some */
    for (int64_t i = 0; i < size; i++) array_push(&before, scratch, computation->instructions.data[i]);
    for (int64_t i = 0; i < size; i++, number++) {
      if (number < first || number >= first + count || before.data[i]->parent == NULL) continue;
      changed |= edit(computation, before.data[i]);
    }
  }
  return changed;
}

static void tidy(HloModule *module) {
  hlo_module_remove_dead(module);
  hlo_module_remove_unreachable(module);
  if (module->aliases.count == 0 && module->donors.count == 0 && !module->entry_layout.present)
    drop_unused_parameters(module->entry);
}

static bool is_right(const HloModule *module) {
  Arena *scratch = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, scratch);
  bool right = hlo_verify(module, &diag) == STATUS_OK;
  arena_destroy(scratch);
  return right;
}

/* Whether the smallest module, edited so, is smaller and still shows it; then it is the smallest. */
static Status try_edit(Reducer *reducer, Edit edit, int64_t first, int64_t count, bool *out_kept) {
  *out_kept = false;
  Arena *scratch = arena_create();
  HloModule *module = hlo_module_clone(reducer->reduction->module, scratch);
  Status status = STATUS_OK;
  bool changed = edit_range(module, edit, first, count, scratch);
  if (changed) tidy(module);
  int64_t weight = module_weight(module);
  if (changed && weight < reducer->weight && (reducer->test->any_module || is_right(module))) {
    reducer->reduction->tests++;
    status = reducer->test->keeps(reducer->test->self, module, out_kept);
  }
  Arena *useless = scratch;
  if (status == STATUS_OK && *out_kept) {
    useless = reducer->arena;
    reducer->arena = scratch;
    reducer->reduction->module = module;
    reducer->reduction->edits++;
    reducer->weight = weight;
  }
  if (useless != NULL) arena_destroy(useless);
  return status;
}

/* On halves of all instructions, on quarters, and so on. */
static Status try_everywhere(Reducer *reducer, Edit edit, bool *out_kept) {
  *out_kept = false;
  for (int64_t chunk = hlo_module_instruction_count(reducer->reduction->module); chunk > 0; chunk /= 2) {
    for (int64_t first = 0; first < hlo_module_instruction_count(reducer->reduction->module);) {
      bool kept;
      RETURN_IF_ERROR(try_edit(reducer, edit, first, chunk, &kept));
      *out_kept |= kept;
      if (!kept) first += chunk; /* else others stand there now */
    }
  }
  return STATUS_OK;
}

/* Every edit in turn, until none helps. */
static Status search(Reducer *reducer) {
  for (bool any = true; any;) {
    any = false;
    for (size_t e = 0; e < sizeof edits / sizeof edits[0]; e++) {
      bool kept;
      RETURN_IF_ERROR(try_everywhere(reducer, edits[e], &kept));
      any |= kept;
    }
  }
  return STATUS_OK;
}

Status module_reduce(Arena *arena, const HloModule *module, const ModuleTest *test, ModuleReduction *out_reduction) {
  *out_reduction = (ModuleReduction){.module = module};
  Reducer reducer = {NULL, test, out_reduction, module_weight(module)};
  Status status = search(&reducer);
  if (reducer.arena != NULL) {
    out_reduction->module = hlo_module_clone(out_reduction->module, arena);
    arena_destroy(reducer.arena);
  }
  return status;
}
