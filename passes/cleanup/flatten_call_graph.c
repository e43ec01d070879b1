#include "hlo/analysis/call_graph.h"
#include "passes/pipeline/hlo_pass.h"

/* flatten-call-graph: each call site of a while or conditional gets computations of its own. */

typedef struct Flattener {
  HloModule *module;
  IntMap called;               /* ids of computations with a call site; a second one gets a copy */
  HloComputationArray pending; /* each visited once: copies are new computations */
  Arena *scratch;
  bool changed;
} Flattener;

/* Computations that are applied to elements may be shared among such uses, but not with control flow, which gives them
 * buffers. */
static void mark_regions(Flattener *flattener) {
  const HloModule *module = flattener->module;
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *instructions = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < instructions->count; i++) {
      const HloInstruction *instruction = instructions->data[i];
      if (hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW)) continue;
      for (int k = 0; k < hlo_instruction_called_count(instruction); k++) {
        int_map_set(&flattener->called, (uint64_t)hlo_instruction_called(instruction, k)->id, 1);
      }
    }
  }
}

static void visit_call_site(Flattener *flattener, HloInstruction *site, int index) {
  HloComputation *callee = hlo_instruction_called(site, index);
  int64_t seen = 0;
  if (int_map_find(&flattener->called, (uint64_t)callee->id, &seen)) {
    callee = hlo_computation_clone(callee, flattener->module, callee->name);
    hlo_instruction_set_called(site, index, callee);
    flattener->changed = true;
  }
  int_map_set(&flattener->called, (uint64_t)callee->id, 1);
  array_push(&flattener->pending, flattener->scratch, callee);
}

static void visit_computation(Flattener *flattener, const HloComputation *computation) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    HloInstruction *instruction = computation->instructions.data[i];
    if (!hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW)) continue;
    for (int k = 0; k < hlo_instruction_called_count(instruction); k++) visit_call_site(flattener, instruction, k);
  }
}

static Status run_flatten_call_graph(HloPassContext *context, HloModule *module, bool *out_changed) {
  RETURN_IF_ERROR(call_graph_check_unfolding(module, context->diag));
  Flattener flattener = {.module = module, .scratch = context->scratch};
  int_map_init(&flattener.called, context->scratch);
  mark_regions(&flattener);
  array_push(&flattener.pending, context->scratch, module->entry);
  while (flattener.pending.count > 0) {
    const HloComputation *computation = array_pop(&flattener.pending);
    visit_computation(&flattener, computation);
  }
  *out_changed = flattener.changed;
  return STATUS_OK;
}

const HloPass hlo_flatten_call_graph_pass = {"flatten-call-graph",
                                             "give every call site of control flow a computation of its own",
                                             run_flatten_call_graph, true};
