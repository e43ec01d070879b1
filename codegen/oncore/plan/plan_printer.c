#include "codegen/oncore/plan/plan_printer.h"

#include <inttypes.h>

static const char *const verb_text[] = {"load",    "store",  "op",      "reduce", "dot",
                                        "permute", "gather", "gatherm", "sortk",  "barrier"};

const char *plan_verb_text(PlanVerb verb) {
  return verb_text[verb];
}

/* --- expressions --- */

/* An expression over the plan's loops and scalars, by their names. */
static void print_index(StringBuilder *out, const Plan *plan, IndexExpr expr);

static void print_atom(StringBuilder *out, const Plan *plan, const IndexAtom *atom) {
  switch (atom->kind) {
    case INDEX_ATOM_DIM: sb_append(out, plan->loops[atom->number].name); return;
    case INDEX_ATOM_VALUE: sb_append(out, plan->scalars[atom->number].name); return;
    case INDEX_ATOM_DIV:
    case INDEX_ATOM_MOD: {
      bool single = atom->inner.term_count == 1 && atom->inner.constant == 0 && atom->inner.terms[0].coefficient == 1;
      if (!single) sb_append_char(out, '(');
      print_index(out, plan, atom->inner);
      if (!single) sb_append_char(out, ')');
      sb_printf(out, "%c%" PRId64, atom->kind == INDEX_ATOM_DIV ? '/' : '%', atom->divisor);
      return;
    }
  }
}

/* A quotient times a number needs parentheses: * and / bind alike, from the left. */
static void print_term(StringBuilder *out, const Plan *plan, const IndexAtom *atom, int64_t coefficient) {
  bool is_nested = atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD;
  if (is_nested && coefficient != 1) sb_append_char(out, '(');
  print_atom(out, plan, atom);
  if (is_nested && coefficient != 1) sb_append_char(out, ')');
  if (coefficient != 1) sb_printf(out, "*%" PRId64, coefficient);
}

static void print_index(StringBuilder *out, const Plan *plan, IndexExpr expr) {
  bool empty = true;
  if (expr.constant != 0 || expr.term_count == 0) {
    sb_append_int(out, expr.constant);
    empty = false;
  }
  for (int i = 0; i < expr.term_count; i++) {
    int64_t coefficient = expr.terms[i].coefficient;
    if (!empty || coefficient < 0) sb_append_char(out, coefficient < 0 ? '-' : '+');
    print_term(out, plan, &plan->space.atoms.data[expr.terms[i].atom], coefficient < 0 ? -coefficient : coefficient);
    empty = false;
  }
}

static bool is_whole(const PlanRange *range, int64_t extent) {
  int64_t begin;
  return !range->is_ragged && range->extent == extent && index_is_constant(range->begin, &begin) && begin == 0;
}

static void print_range(StringBuilder *out, const Plan *plan, const PlanRange *range, int64_t extent, bool is_slot) {
  if (!is_slot && is_whole(range, extent)) {
    sb_append_char(out, ':');
    return;
  }
  print_index(out, plan, range->begin);
  if (is_slot) return;
  if (!range->is_ragged) {
    sb_printf(out, ":+%" PRId64, range->extent);
    return;
  }
  sb_printf(out, ":+min(%" PRId64 ",", range->extent);
  print_index(out, plan, range->left);
  sb_append_char(out, ')');
}

static void print_ref(StringBuilder *out, const Plan *plan, const PlanRef *ref) {
  const PlanTensor *tensor = ref->is_memory ? NULL : &plan->tensors[ref->number];
  sb_append(out, ref->is_memory ? plan->memories[ref->number].name : tensor->name);
  if (ref->range_count == 0) return;
  const int64_t *extents = ref->is_memory ? plan->memories[ref->number].extents : tensor->extents;
  sb_append_char(out, '[');
  for (int32_t i = 0; i < ref->range_count; i++) {
    if (i > 0) sb_append_cstring(out, ", ");
    bool is_slot = i == 0 && tensor != NULL && tensor->kind == PLAN_RING;
    print_range(out, plan, &ref->ranges[i], extents[i], is_slot);
  }
  sb_append_char(out, ']');
}

/* --- declarations --- */

static void print_numbers(StringBuilder *out, const char *name, const int64_t *numbers, int32_t count) {
  sb_printf(out, "%s=(", name);
  for (int32_t i = 0; i < count; i++) sb_printf(out, "%s%" PRId64, i > 0 ? "," : "", numbers[i]);
  sb_append_cstring(out, count == 1 ? ",)" : ")");
}

static bool is_row_major(const PlanMemory *memory) {
  int64_t stride = 1;
  for (int32_t i = memory->rank - 1; i >= 0; i--) {
    if (memory->strides[i] != stride) return false;
    stride *= memory->extents[i];
  }
  return true;
}

/* A plan without a Kernel is a file of its own. */
static int indent_of(const Plan *plan) {
  return plan->name.size > 0 ? 2 : 0;
}

static void print_memory(StringBuilder *out, const Plan *plan, const PlanMemory *memory) {
  static const char *const kinds[] = {"arg", "result", "temp"};
  sb_printf(out, "%*sMemory %.*s(", indent_of(plan), "", SV_ARG(memory->name));
  print_numbers(out, "shape", memory->extents, memory->rank);
  sb_printf(out, ", dtype=%s", type_text(memory->type));
  if (!is_row_major(memory)) {
    sb_append_cstring(out, ", ");
    print_numbers(out, "strides", memory->strides, memory->rank);
  }
  if (memory->offset.term_count > 0 || memory->offset.constant != 0) {
    sb_append_cstring(out, ", offset=");
    print_index(out, plan, memory->offset);
  }
  int32_t number = memory->number;
  /* a program's results are numbered by themselves */
  for (int32_t b = 0; plan_is_program(plan) && memory->kind == PLAN_RESULT && b < plan->kernel->buffer_count; b++)
    number -= plan->kernel->buffers[b].role == KERNEL_OPERAND;
  sb_printf(out, ") %s %d\n", kinds[memory->kind], number);
}

/* The part of the parent that has the alias's bytes, of a ring those of its first slot: single indices, one range, and
 * whole axes after it. */
static void print_alias(StringBuilder *out, const PlanTensor *tensor, const PlanTensor *parent) {
  sb_printf(out, ") alias %.*s", SV_ARG(parent->name));
  int64_t begin = tensor->begin - parent->begin, size = tensor->end - tensor->begin;
  if (tensor->kind == PLAN_RING) size = plan_tile_bytes(tensor);
  int64_t stride = parent->kind == PLAN_RING ? 0 : plan_tensor_bytes(parent);
  for (int32_t i = 0; i < parent->rank; i++) {
    bool is_slot = i == 0 && parent->kind == PLAN_RING;
    stride = is_slot ? parent->slot_stride : stride / parent->extents[i];
    int64_t first = begin / stride, count = size > stride ? size / stride : 1;
    sb_printf(out, "%s%" PRId64, i == 0 ? "[" : ", ", first);
    if (count > 1) sb_printf(out, ":+%" PRId64, count);
    begin -= first * stride;
    if (is_slot) stride = plan_tile_bytes(parent);
    if (size >= stride && (count > 1 || size == stride)) break;
  }
  sb_append_cstring(out, parent->rank > 0 ? "]\n" : "\n");
}

static void print_tensor(StringBuilder *out, const Plan *plan, const PlanTensor *tensor) {
  static const char *const kinds[] = {"", "ring", "resident", "accumulator", "rows"};
  sb_printf(out, "%*sTensor %.*s(", indent_of(plan), "", SV_ARG(tensor->name));
  print_numbers(out, "shape", tensor->extents, tensor->rank);
  sb_printf(out, ", dtype=%s", type_text(tensor->type));
  if (tensor->kind != PLAN_TENSOR) sb_printf(out, ", kind=%s", kinds[tensor->kind]);
  if (tensor->kind == PLAN_RING) sb_printf(out, ", stride=%" PRId64, tensor->slot_stride);
  if (tensor->is_alias) {
    print_alias(out, tensor, &plan->tensors[tensor->parent]);
    return;
  }
  sb_printf(out, ") from ROOT_TENSOR[%" PRId64 ":%" PRId64 "]", tensor->begin / plan_unit_bytes(plan),
            tensor->end / plan_unit_bytes(plan));
  if (tensor->hold != PLAN_HOLDS_NOTHING) {
    bool is_argument = plan->kernel == NULL || plan->kernel->buffers[tensor->held].role == KERNEL_OPERAND;
    sb_printf(out, " %s %s %d", tensor->hold == PLAN_FINDS ? "finds" : "leaves", is_argument ? "arg" : "result",
              tensor->held);
  }
  sb_append_char(out, '\n');
}

/* --- commands --- */

/* "o, " for |loop| and each loop around it. */
static void print_same_loops(StringBuilder *out, const Plan *plan, int32_t loop) {
  if (loop < 0) return;
  print_same_loops(out, plan, plan->loops[loop].parent);
  sb_printf(out, "%.*s, ", SV_ARG(plan->loops[loop].name));
}

/* L[i-d] is the last run of L in iteration i-d of the innermost loop around both; L alone the last one before.  L[i-d,
 * :] are all runs of the iteration, L[i-d, -2:] the last two. */
static void print_edge(StringBuilder *out, const Plan *plan, int32_t consumer, const PlanEdge *edge) {
  PlanEdgeReach reach = plan_edge_reach(plan, consumer, edge);
  sb_append(out, plan->commands[edge->command].label);
  XLAC_CHECK(edge->distance % reach.runs == 0);
  bool has_loop = reach.loop >= 0 && (edge->distance > 0 || edge->before > 0 || edge->same > 0);
  if (!has_loop && edge->before == 0) return;
  sb_append_char(out, '[');
  if (has_loop) {
    print_same_loops(out, plan, reach.same_loop);
    sb_printf(out, "%.*s-%" PRId64 "%s", SV_ARG(plan->loops[reach.loop].name), reach.back,
              edge->before > 0 ? ", " : "");
  }
  if (edge->before > 0 && edge->before + 1 < reach.runs) sb_printf(out, "-%" PRId64, edge->before + 1);
  sb_append_cstring(out, edge->before > 0 ? ":]" : "]");
}

static void print_points(StringBuilder *out, const Plan *plan, const PlanCommand *command) {
  bool first = true;
  sb_append_cstring(out, " at=\"");
  for (int32_t d = 0; d < plan->kernel->dim_count; d++) {
    const PlanRange *range = &command->points[d];
    if (range->extent == 0) continue;
    sb_printf(out, "%sd%d=", first ? "" : ", ", d);
    print_range(out, plan, range, plan->kernel->dims[d].extent, false);
    first = false;
  }
  sb_append_char(out, '"');
}

static void print_attributes(StringBuilder *out, const Plan *plan, const PlanCommand *command, bool is_template) {
  bool computes = command->verb != PLAN_LOAD && command->verb != PLAN_STORE && command->verb != PLAN_GATHERM &&
                  command->verb != PLAN_BARRIER;
  if (command->value >= 0) sb_printf(out, " value=v%d", command->value);
  if (computes && command->index_value >= 0) sb_printf(out, " index=v%d", command->index_value);
  if (computes && command->points != NULL && !plan_brings_held(command)) {
    sb_printf(out, " stages=\"%d:%d\"", command->first_stage, command->last_stage);
  }
  if (command->points != NULL) print_points(out, plan, command);
  if (command->slice.extent > 0) {
    sb_append_cstring(out, " slice=\"");
    print_range(out, plan, &command->slice, 0, false);
    sb_append_char(out, '"');
  }
  if (command->keeps_accumulators) sb_append_cstring(out, " acc");
  if (command->init && command->init_loop >= 0) {
    sb_printf(out, " init=%.*s", SV_ARG(plan->loops[command->init_loop].name));
  } else if (command->init) {
    sb_append_cstring(out, " init");
  }
  if (command->cost > 0) {
    sb_append_cstring(out, " cost=");
    sb_append_double(out, command->cost);
  }
  if (command->operation != NULL)
    sb_printf(out, " body=\"%.*s\"", SV_ARG(command->body));
  else if (command->body.size > 0)
    sb_printf(out, " body=%.*s", SV_ARG(command->body));
  if (computes && !is_template && command->hlo.size > 0) sb_printf(out, " hlo=\"%.*s\"", SV_ARG(command->hlo));
}

/* |machine| NULL: without what can be left out. */
static void print_command(StringBuilder *out, const Plan *plan, const MachineDescription *machine, int32_t number) {
  const PlanCommand *command = &plan->commands[number];
  bool is_template = machine == NULL;
  if (!is_template && command->label.size > 0) sb_printf(out, "%.*s: ", SV_ARG(command->label));
  if (command->verb == PLAN_BARRIER) {
    sb_append_cstring(out, "barrier\n");
    return;
  }
  sb_append_cstring(out, plan_verb_text(command->verb));
  if (!is_template) sb_printf(out, "@%.*s", SV_ARG(machine->queues[command->queue].name));
  sb_append_char(out, ' ');
  for (int32_t i = 0; i < command->target_count; i++) {
    if (i > 0) sb_append_cstring(out, ", ");
    print_ref(out, plan, &command->targets[i]);
  }
  bool moves = command->verb == PLAN_LOAD || command->verb == PLAN_STORE || command->verb == PLAN_GATHERM;
  sb_append_cstring(out, moves ? " <-" : " =");
  for (int32_t i = 0; i < command->source_count; i++) {
    sb_append_cstring(out, i > 0 ? ", " : " ");
    print_ref(out, plan, &command->sources[i]);
  }
  print_attributes(out, plan, command, is_template);
  for (int32_t i = 0; i < command->edge_count && !is_template; i++) {
    sb_append_cstring(out, i > 0 ? ", " : " after ");
    print_edge(out, plan, number, &command->edges[i]);
  }
  sb_append_char(out, '\n');
}

static void print_block(StringBuilder *out, const Plan *plan, const MachineDescription *machine, const PlanBlock *block,
                        int indent) {
  for (int32_t i = 0; i < block->node_count; i++) {
    const PlanNode *node = &block->nodes[i];
    sb_printf(out, "%*s", indent, "");
    if (node->kind == PLAN_NODE_COMMAND) {
      print_command(out, plan, machine, node->number);
      continue;
    }
    const PlanLoop *loop = &plan->loops[node->number];
    sb_printf(out, "for %.*s in [0, %" PRId64 "]:\n", SV_ARG(loop->name), loop->trip_count);
    print_block(out, plan, machine, &loop->body, indent + 2);
  }
}

static void print_scalars(StringBuilder *out, const Plan *plan) {
  for (int32_t s = 0; s < plan->scalar_count; s++) {
    const PlanScalar *scalar = &plan->scalars[s];
    sb_printf(out, "%*sScalar %.*s value v%d in [%" PRId64 ", %" PRId64 "]\n", indent_of(plan), "",
              SV_ARG(scalar->name), scalar->value, scalar->lower, scalar->upper + 1);
  }
}

/* Tensors without places: the reader finds some. */
static void print_tensor_template(StringBuilder *out, const Plan *plan, const PlanTensor *tensor) {
  sb_printf(out, "%*sTensor %.*s(", indent_of(plan), "", SV_ARG(tensor->name));
  print_numbers(out, "shape", tensor->extents, tensor->rank);
  sb_printf(out, ", dtype=%s%s)\n", type_text(tensor->type), tensor->kind == PLAN_RING ? ", kind=ring" : "");
}

void plan_print_template(StringBuilder *out, const Plan *plan) {
  int indent = indent_of(plan);
  if (indent > 0) sb_printf(out, "scope %.*s:\n", SV_ARG(plan->name));
  print_scalars(out, plan);
  for (int32_t m = 0; m < plan->memory_count; m++) print_memory(out, plan, &plan->memories[m]);
  for (int32_t t = 0; t < plan->tensor_count; t++) print_tensor_template(out, plan, &plan->tensors[t]);
  print_block(out, plan, NULL, &plan->block, indent);
}

void plan_print(StringBuilder *out, const Plan *plan, const MachineDescription *machine) {
  int indent = indent_of(plan);
  if (indent > 0) sb_printf(out, "scope %.*s:\n", SV_ARG(plan->name));
  sb_printf(out, "%*sedges explicit\n", indent, "");
  sb_printf(out, "%*sBuffer ROOT_TENSOR(size=%" PRId64 ", ", indent, "", plan->buffer_bytes / plan_unit_bytes(plan));
  if (plan->unit != TYPE_INVALID) sb_printf(out, "unit=%s, ", type_text(plan->unit));
  sb_printf(out, "align=%" PRId64 ")\n", plan->alignment);
  print_scalars(out, plan);
  for (int32_t m = 0; m < plan->memory_count; m++) print_memory(out, plan, &plan->memories[m]);
  for (int32_t t = 0; t < plan->tensor_count; t++) print_tensor(out, plan, &plan->tensors[t]);
  print_block(out, plan, machine, &plan->block, indent);
}
