/* The proof of a plan: the module is executed once over a shadow of memory that remembers which value each byte holds.
 *
 * Every read must find its value, every write must be allowed.  A loop's body runs once; that it may run again is seen
 * from what has to be intact at its end: the loop state in its place, and every value from outside that condition or
 * body read.  Each branch of a conditional starts from the memory before it; after the conditional only what all
 * branches agree on is known.  Nothing here knows of live ranges or alias sets: dataflow and the rules of single
 * instructions are all that it shares with the planner. */
#include "base/checked_math.h"
#include "hlo/analysis/buffer_assignment.h"
#include "hlo/analysis/byte_shadow.h"
#include "hlo/analysis/hlo_alias.h"
#include "hlo/analysis/in_place.h"

enum { MAX_VIOLATIONS = 8 };

typedef struct Place {
  const BufferAllocation *allocation;
  int64_t start, end;
} Place;

enum { NO_VALUE = -1, SCRATCH_ALIGNMENT = 64 };

typedef ARRAY(int32_t) ValueList;

/* Memory around a conditional, by allocation. */
typedef struct Branches {
  ByteShadow *before, *behind;
} Branches;

typedef struct Proof {
  Arena *arena;
  Arena *scratch; /* for one instruction */
  DiagSink *diag;
  const HloModule *module;
  const BufferAssignment *assignment;
  const HloDataflow *flow;
  const HloOrdering *ordering;
  HloEntryLeaves leaves;
  Place *places;           /* by value of |flow| */
  ByteShadow *shadows;     /* by allocation */
  Branches *branches;      /* by id of a conditional */
  ValueList *needed_again; /* by id of a while: values from outside that it reads */
  int violations;
} Proof;

static void violate(Proof *proof, const HloInstruction *at, const char *code, const char *text) {
  if (proof->violations++ >= MAX_VIOLATIONS) return;
  Status status = diag_error(proof->diag, STATUS_INVALID, at ? at->loc : NO_LOC, code, "%s", text);
  (void)status;
}

static const char *name_of(const Proof *proof, int32_t value) {
  if (value < 0) return "nothing";
  const BufferPosition *at = &proof->flow->values[value].definition;
  return arena_printf(proof->arena, "'%.*s' (leaf at node %d)", SV_ARG(at->instruction->name), at->node);
}

/* --- static facts --- */

static bool same_place(const Place *a, const Place *b) {
  return a->allocation == b->allocation && a->start == b->start;
}

static bool is_read_only(const BufferAllocation *allocation) {
  return allocation->kind == ALLOCATION_CONSTANT ||
         (allocation->kind == ALLOCATION_PARAMETER && allocation->result < 0);
}

static void find_place(Proof *proof, int32_t number) {
  const HloValue *value = &proof->flow->values[number];
  const HloInstruction *maker = value->definition.instruction;
  BufferSlice slice = buffer_assignment_slice(proof->assignment, maker, value->definition.node);
  if (!slice.allocation) {
    violate(proof, maker, "plan-missing", arena_printf(proof->arena, "%s has no place", name_of(proof, number)));
    proof->places[number] = (Place){&proof->assignment->allocations[0], 0, 0};
    return;
  }
  proof->places[number] = (Place){slice.allocation, slice.offset, slice.offset + value->size};
  const HloBuffer *buffer =
      &proof->assignment->buffers[buffer_assignment_value(proof->assignment, maker, value->definition.node)->buffer];
  int64_t element = max_i64(1, type_storage_bytes(hlo_value_shape(value)->type));
  if (type_is_complex(hlo_value_shape(value)->type)) element /= 2;
  bool inside = slice.offset >= 0 && slice.offset <= slice.allocation->size &&
                value->size <= slice.allocation->size - slice.offset;
  if (!inside)
    violate(proof, maker, "plan-bounds",
            arena_printf(proof->arena, "%s leaves its allocation", name_of(proof, number)));
  if (buffer->alignment <= 0 || slice.offset % buffer->alignment != 0 || buffer->alignment % element != 0 ||
      (slice.allocation->alignment % buffer->alignment != 0 && value->size > 0) ||
      (slice.allocation->kind == ALLOCATION_TEMP && slice.allocation->workspace_offset % buffer->alignment != 0)) {
    violate(proof, maker, "plan-alignment", arena_printf(proof->arena, "%s is not aligned", name_of(proof, number)));
  }
  if (slice.allocation->colour != hlo_value_shape(value)->layout.memory_space) {
    violate(proof, maker, "plan-colour",
            arena_printf(proof->arena, "%s is in the wrong memory space", name_of(proof, number)));
  }
  for (int32_t i = 0; i < value->position_count; i++) {
    BufferSlice seen =
        buffer_assignment_slice(proof->assignment, value->positions[i].instruction, value->positions[i].node);
    if (seen.allocation == slice.allocation && seen.offset == slice.offset) continue;
    violate(proof, value->positions[i].instruction, "plan-position",
            arena_printf(proof->arena, "'%.*s' does not see %s where it is",
                         SV_ARG(value->positions[i].instruction->name), name_of(proof, number)));
  }
}

static const Literal *literal_at(const HloInstruction *constant, int node) {
  const Literal *literal = hlo_instruction_literal(constant);
  int64_t path[64];
  if (node == 0 || shape_depth(constant->shape) > 64) return literal;
  int depth = shape_node_path(constant->shape, node, path);
  for (int i = 0; i < depth; i++) literal = &literal->tuple[path[i]];
  return literal;
}

/* Constants stand in the object with the contents of the allocation's first. */
static void check_constant(Proof *proof, int32_t number) {
  const BufferPosition *at = &proof->flow->values[number].definition;
  const Place *place = &proof->places[number];
  bool is_constant = at->instruction->opcode == HLO_CONSTANT;
  bool in_object = place->allocation->kind == ALLOCATION_CONSTANT;
  if (is_constant != in_object) {
    violate(proof, at->instruction, "plan-constant",
            arena_printf(proof->arena, "%s is in memory of the wrong kind", name_of(proof, number)));
  }
  if (!is_constant || !in_object || at->instruction == place->allocation->constant) return;
  const HloBuffer *first = &proof->assignment->buffers[place->allocation->buffers[0]];
  const BufferPosition *shown = &proof->assignment->values[first->values[0]].definition;
  if (shown->instruction != place->allocation->constant ||
      !literal_equal(literal_at(at->instruction, at->node), literal_at(shown->instruction, shown->node)) ||
      hlo_value_shape(&proof->flow->values[number]) != hlo_value_shape(&proof->assignment->values[first->values[0]])) {
    violate(proof, at->instruction, "plan-constant",
            arena_printf(proof->arena, "%s stands for other contents", name_of(proof, number)));
  }
}

static void check_allocations(Proof *proof) {
  const BufferAssignment *assignment = proof->assignment;
  int64_t end = 0, prepared_end = 0;
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    const BufferAllocation *allocation = &assignment->allocations[i];
    if (allocation->kind == ALLOCATION_TEMP) {
      bool fits = allocation->workspace_offset >= end &&
                  allocation->size <= assignment->workspace_bytes - allocation->workspace_offset;
      if (!fits) violate(proof, NULL, "plan-workspace", "temporary allocations overlap or leave the workspace");
      end = allocation->workspace_offset + allocation->size;
    }
    bool is_prepared = allocation->kind == ALLOCATION_PREPARED;
    if (is_prepared && (allocation->prepared_offset < prepared_end ||
                        allocation->size > assignment->prepared_bytes - allocation->prepared_offset))
      violate(proof, NULL, "plan-workspace", "allocations of what is prepared overlap or leave its memory");
    if (is_prepared) prepared_end = allocation->prepared_offset + allocation->size;
    int64_t given = allocation->kind == ALLOCATION_PARAMETER ? proof->leaves.donated_to[allocation->parameter] : -1;
    if (allocation->kind == ALLOCATION_PARAMETER && given != allocation->result) {
      violate(proof, NULL, "plan-donation",
              arena_printf(proof->arena, "argument %lld is not donated as planned", (long long)allocation->parameter));
    }
  }
}

static void check_entry(Proof *proof) {
  for (int32_t leaf = 0; leaf < proof->leaves.parameter_count; leaf++) {
    const BufferPosition *at = &proof->leaves.parameters[leaf];
    int32_t value = hlo_dataflow_value(proof->flow, at->instruction, at->node);
    if (value < 0) continue;
    const Place *place = &proof->places[value];
    if (place->allocation->kind != ALLOCATION_PARAMETER || place->allocation->parameter != leaf || place->start != 0) {
      violate(proof, at->instruction, "plan-argument",
              arena_printf(proof->arena, "%s is not where argument %d is", name_of(proof, value), leaf));
    }
    byte_shadow_write(&proof->shadows[place->allocation->index], proof->arena, place->start, place->end, value);
  }
  for (int32_t leaf = 0; leaf < proof->leaves.result_count; leaf++) {
    const BufferPosition *at = &proof->leaves.results[leaf];
    int32_t value = hlo_dataflow_value(proof->flow, at->instruction, at->node);
    if (value < 0) continue;
    const Place *place = &proof->places[value];
    int32_t prepared = leaf - proof->leaves.first_prepared;
    bool is_there = prepared < 0 ? place->allocation->result == leaf : place->allocation->prepared == prepared;
    if (!is_there || place->start != 0) {
      violate(proof, at->instruction, "plan-result",
              arena_printf(proof->arena, "%s is not where result %d is", name_of(proof, value), leaf));
    }
  }
}

/* What is prepared is made before any run, which leaves it alone: its memory has values of the preparation and no
 * others, and these are nowhere in memory that only a run has. */
static void check_preparation(Proof *proof, int32_t number) {
  const HloComputation *preparation = proof->module->preparation;
  const HloInstruction *maker = proof->flow->values[number].definition.instruction;
  const Place *place = &proof->places[number];
  if (place->start >= place->end) return;
  bool is_before = preparation != NULL && call_graph_ancestor(proof->flow->graph, maker, preparation) != NULL;
  bool is_right = is_before ? place->allocation->kind != ALLOCATION_RESULT &&
                                  (place->allocation->kind != ALLOCATION_PARAMETER || maker->opcode == HLO_PARAMETER)
                            : place->allocation->kind != ALLOCATION_PREPARED;
  if (is_right) return;
  violate(proof, maker, "plan-preparation",
          arena_printf(proof->arena,
                       is_before ? "%s is prepared, in memory that only a run has"
                                 : "%s is a run's, in the memory of what is prepared",
                       name_of(proof, number)));
}

/* --- reading and writing --- */

static void read_value(Proof *proof, int32_t value, const HloInstruction *at, const char *what) {
  const Place *place = &proof->places[value];
  if (place->allocation->kind == ALLOCATION_CONSTANT) return;
  int32_t found = byte_shadow_read(&proof->shadows[place->allocation->index], place->start, place->end, value);
  if (found == value || place->start >= place->end) return;
  violate(proof, at, "plan-overlap",
          arena_printf(proof->arena, "'%.*s' %s %s, but finds %s there", SV_ARG(at->name), what, name_of(proof, value),
                       name_of(proof, found)));
}

static void write_value(Proof *proof, int32_t value, const HloInstruction *at) {
  const Place *place = &proof->places[value];
  if (is_read_only(place->allocation) && place->start < place->end) {
    violate(proof, at, "plan-read-only",
            arena_printf(proof->arena, "'%.*s' writes %s to memory that is only read", SV_ARG(at->name),
                         name_of(proof, value)));
    return;
  }
  byte_shadow_write(&proof->shadows[place->allocation->index], proof->arena, place->start, place->end, value);
}

static void need_same_place(Proof *proof, int32_t a, int32_t b, const HloInstruction *at) {
  if (a < 0 || b < 0 || same_place(&proof->places[a], &proof->places[b])) return;
  if (proof->flow->values[a].size == 0) return;
  violate(proof, at, "plan-alias",
          arena_printf(proof->arena, "%s and %s must be in one place", name_of(proof, a), name_of(proof, b)));
}

static bool overlap(const Place *a, const Place *b) {
  return a->allocation == b->allocation && a->start < b->end && b->start < a->end;
}

/* A result over an operand of the same instruction. */
static void check_overwrite(Proof *proof, const HloInstruction *instruction, int operand, int node, int32_t read,
                            int result_node, int32_t written) {
  const Place *from = &proof->places[read], *to = &proof->places[written];
  if (!overlap(from, to)) return;
  if (same_place(from, to) && hlo_may_share_operand(instruction, operand, node, result_node, proof->scratch)) return;
  violate(proof, instruction, "plan-share",
          arena_printf(proof->arena, "'%.*s' writes %s over %s, which it reads", SV_ARG(instruction->name),
                       name_of(proof, written), name_of(proof, read)));
}

static void check_overwrites(Proof *proof, const HloInstruction *instruction, int operand, int node, int32_t read) {
  int32_t count = shape_nodes(proof->flow->shapes, instruction->shape)->count;
  for (int32_t result = 0; result < count; result++) {
    int32_t written = hlo_dataflow_value(proof->flow, instruction, result);
    if (written < 0 || proof->flow->values[written].definition.instruction != instruction) continue;
    check_overwrite(proof, instruction, operand, node, read, result, written);
  }
}

static void read_operands(Proof *proof, const HloInstruction *instruction) {
  for (int k = 0; k < instruction->operand_count; k++) {
    int32_t count = shape_nodes(proof->flow->shapes, instruction->operands[k]->shape)->count;
    for (int32_t node = 0; node < count; node++) {
      int32_t value = hlo_dataflow_value(proof->flow, instruction->operands[k], node);
      if (value < 0) continue;
      read_value(proof, value, instruction, "reads");
      check_overwrites(proof, instruction, k, node, value);
    }
  }
}

static void write_results(Proof *proof, const HloInstruction *instruction) {
  int32_t count = shape_nodes(proof->flow->shapes, instruction->shape)->count;
  for (int32_t node = 0; node < count; node++) {
    int32_t value = hlo_dataflow_value(proof->flow, instruction, node);
    if (value >= 0 && proof->flow->values[value].definition.instruction == instruction)
      write_value(proof, value, instruction);
  }
  for (int32_t node = 0; node < count; node++) { /* results of one instruction exclude each other */
    int32_t value = hlo_dataflow_value(proof->flow, instruction, node);
    if (value >= 0 && proof->flow->values[value].definition.instruction == instruction)
      read_value(proof, value, instruction, "has written");
  }
}

/* Scratch may change at any moment while |instruction| runs: before it reads, and after it has written. */
static void clobber_scratch(Proof *proof, const HloInstruction *instruction) {
  const BufferScratch *scratch = buffer_assignment_scratch(proof->assignment, instruction);
  if (scratch == NULL) return;
  int64_t end = scratch->offset + scratch->size;
  byte_shadow_write(&proof->shadows[scratch->allocation], proof->arena, scratch->offset, end, NO_VALUE);
}

static void check_scratches(Proof *proof) {
  const BufferAssignment *assignment = proof->assignment;
  for (int32_t i = 0; i < assignment->scratch_count; i++) {
    const BufferScratch *scratch = &assignment->scratches[i];
    const BufferAllocation *allocation = &assignment->allocations[scratch->allocation];
    bool inside = allocation->kind == ALLOCATION_TEMP && allocation->colour == 0 && scratch->offset >= 0 &&
                  scratch->offset <= allocation->size && scratch->size <= allocation->size - scratch->offset;
    if (inside && scratch->offset % SCRATCH_ALIGNMENT == 0) continue;
    violate(proof, scratch->instruction, inside ? "plan-alignment" : "plan-bounds",
            arena_printf(proof->arena, "the scratch of '%.*s' %s", SV_ARG(scratch->instruction->name),
                         inside ? "is not aligned" : "leaves its allocation"));
  }
}

static void check_pairs(Proof *proof, const HloInstruction *instruction) {
  InPlacePairs pairs = hlo_in_place_pairs(instruction, proof->scratch);
  for (int i = 0; i < pairs.count; i++) {
    const InPlacePair *pair = &pairs.pairs[i];
    need_same_place(proof, hlo_dataflow_value(proof->flow, instruction->operands[pair->operand], pair->operand_node),
                    hlo_dataflow_value(proof->flow, instruction, pair->result_node), instruction);
  }
}

/* --- control flow --- */

typedef void (*VisitCarried)(Proof *proof, const HloInstruction *loop, int32_t node);

static void for_each_carried(Proof *proof, const HloInstruction *loop, VisitCarried visit) {
  int32_t count = shape_nodes(proof->flow->shapes, loop->shape)->count;
  for (int32_t node = 0; node < count; node++) {
    if (hlo_dataflow_is_carried(proof->flow, loop, node)) visit(proof, loop, node);
  }
}

static int32_t state_in(const Proof *proof, const HloInstruction *loop, int callee, int32_t node) {
  return hlo_dataflow_value(proof->flow, call_graph_callee(loop, callee)->parameters.data[0], node);
}

static void enter_condition(Proof *proof, const HloInstruction *loop, int32_t node) {
  int32_t init = hlo_dataflow_value(proof->flow, loop->operands[0], node), state = state_in(proof, loop, 0, node);
  read_value(proof, init, loop, "begins with");
  need_same_place(proof, init, state, loop);
  write_value(proof, state, loop);
}

static void enter_body(Proof *proof, const HloInstruction *loop, int32_t node) {
  int32_t tested = state_in(proof, loop, 0, node), state = state_in(proof, loop, 1, node);
  read_value(proof, tested, loop, "goes on with");
  need_same_place(proof, tested, state, loop);
  write_value(proof, state, loop);
}

static void leave_body(Proof *proof, const HloInstruction *loop, int32_t node) {
  int32_t returned = hlo_dataflow_value(proof->flow, call_graph_callee(loop, 1)->root, node);
  read_value(proof, returned, loop, "comes back with");
  need_same_place(proof, returned, state_in(proof, loop, 1, node), loop);
  need_same_place(proof, returned, hlo_dataflow_value(proof->flow, loop, node), loop);
}

static void leave_branch(Proof *proof, const HloInstruction *conditional, const HloComputation *branch) {
  int32_t count = shape_nodes(proof->flow->shapes, conditional->shape)->count;
  for (int32_t node = 0; node < count; node++) {
    int32_t joined = hlo_dataflow_value(proof->flow, conditional, node);
    if (joined < 0 || proof->flow->values[joined].definition.instruction != conditional) continue;
    int32_t returned = hlo_dataflow_value(proof->flow, branch->root, node);
    if (returned < 0) continue;
    read_value(proof, returned, conditional, "takes");
    need_same_place(proof, returned, joined, conditional);
  }
}

static void enter_branch(Proof *proof, const HloInstruction *conditional, const HloComputation *branch) {
  Branches *branches = &proof->branches[conditional->id];
  int32_t count = proof->assignment->allocation_count;
  bool is_first = branch == call_graph_callee(conditional, 0);
  if (is_first) branches->before = ARENA_NEW_ARRAY(proof->arena, ByteShadow, count);
  for (int32_t i = 0; i < count; i++) {
    if (is_first) {
      branches->before[i] = byte_shadow_copy(&proof->shadows[i], proof->arena);
    } else {
      proof->shadows[i] = byte_shadow_copy(&branches->before[i], proof->arena);
    }
  }
}

static void keep_common_memory(Proof *proof, const HloInstruction *conditional, const HloComputation *branch) {
  Branches *branches = &proof->branches[conditional->id];
  int32_t count = proof->assignment->allocation_count, last = call_graph_callee_count(conditional) - 1;
  bool is_first = branch == call_graph_callee(conditional, 0), is_last = branch == call_graph_callee(conditional, last);
  if (is_first) branches->behind = ARENA_NEW_ARRAY(proof->arena, ByteShadow, count);
  for (int32_t i = 0; i < count; i++) {
    branches->behind[i] =
        is_first ? proof->shadows[i] : byte_shadow_common(&branches->behind[i], &proof->shadows[i], proof->arena);
    if (is_last) proof->shadows[i] = byte_shadow_copy(&branches->behind[i], proof->arena);
  }
}

static void enter(Proof *proof, const HloComputation *computation) {
  const HloInstruction *site = call_graph_caller(proof->flow->graph, computation);
  if (!site) return;
  if (site->opcode == HLO_WHILE) {
    for_each_carried(proof, site, computation == call_graph_callee(site, 0) ? enter_condition : enter_body);
  } else if (site->opcode == HLO_CONDITIONAL) {
    int32_t selector = hlo_dataflow_value(proof->flow, site->operands[0], 0);
    enter_branch(proof, site, computation);
    if (selector >= 0) read_value(proof, selector, site, "is decided by");
  }
}

static void leave(Proof *proof, const HloComputation *computation) {
  const HloInstruction *site = call_graph_caller(proof->flow->graph, computation);
  if (!site) return;
  if (site->opcode == HLO_CONDITIONAL) {
    leave_branch(proof, site, computation);
    keep_common_memory(proof, site, computation);
  } else if (site->opcode == HLO_WHILE && computation == call_graph_callee(site, 0)) {
    int32_t decision = hlo_dataflow_value(proof->flow, computation->root, 0);
    if (decision >= 0) read_value(proof, decision, site, "is decided by");
  } else if (site->opcode == HLO_WHILE) {
    for_each_carried(proof, site, leave_body);
    for (int64_t i = 0; i < proof->needed_again[site->id].count; i++) {
      read_value(proof, proof->needed_again[site->id].data[i], site, "will read again");
    }
  }
}

/* Every loop between a use and the definition comes back to the value. */
static void note_use(Proof *proof, int32_t value, const HloComputation *computation) {
  const CallGraph *graph = proof->flow->graph;
  const HloComputation *home = call_graph_home(graph, proof->flow->values[value].definition.instruction->parent);
  while (computation != home) {
    const HloInstruction *site = call_graph_caller(graph, computation);
    if (!site) return;
    if (site->opcode == HLO_WHILE) {
      ValueList *list = &proof->needed_again[site->id];
      if (list->count == 0 || array_last(list) != value) array_push(list, proof->arena, value);
    }
    computation = site->parent;
  }
}

static void find_outside_values(Proof *proof) {
  proof->needed_again = ARENA_NEW_ARRAY(proof->arena, ValueList, proof->module->next_instruction_id + 1);
  for (int32_t i = 0; i < proof->flow->value_count; i++) {
    const HloValue *value = &proof->flow->values[i];
    for (int32_t k = 0; k < value->use_count; k++) {
      const HloInstruction *user = value->uses[k].user;
      bool passes_through =
          user->opcode == HLO_WHILE && !hlo_dataflow_is_carried(proof->flow, user, value->uses[k].node);
      if (!passes_through) note_use(proof, i, user->parent);
    }
  }
}

/* --- the run --- */

static void execute(Proof *proof, const HloInstruction *instruction) {
  arena_reset(proof->scratch);
  check_pairs(proof, instruction);
  if (hlo_opcode_has(instruction->opcode, OP_GIVEN) || hlo_dataflow_forwards(instruction)) return;
  clobber_scratch(proof, instruction);
  if (!hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW)) read_operands(proof, instruction);
  write_results(proof, instruction);
  clobber_scratch(proof, instruction);
}

/* Computations by the place in the schedule where they begin or end, as lists linked by id. */
typedef struct SpanLists {
  int32_t *first_at, *next;
} SpanLists;

static SpanLists list_spans(Proof *proof, const int32_t *places) {
  SpanLists lists = {ARENA_NEW_ARRAY(proof->arena, int32_t, proof->ordering->length + 1),
                     ARENA_NEW_ARRAY(proof->arena, int32_t, proof->flow->graph->sequential_count + 1)};
  for (int64_t i = 0; i < proof->ordering->length; i++) lists.first_at[i] = -1;
  for (int32_t c = 0; c < proof->flow->graph->sequential_count;
       c++) { /* callees come first, so callers end in front of them */
    int32_t place = places[proof->flow->graph->sequential[c]->id];
    lists.next[c] = lists.first_at[place];
    lists.first_at[place] = c;
  }
  return lists;
}

static void run(Proof *proof) {
  const CallGraph *graph = proof->flow->graph;
  SpanLists starts = list_spans(proof, proof->ordering->span_starts),
            ends = list_spans(proof, proof->ordering->span_ends);
  for (int64_t t = 0; t < proof->ordering->length; t++) {
    for (int32_t c = starts.first_at[t]; c >= 0; c = starts.next[c]) enter(proof, graph->sequential[c]);
    execute(proof, proof->ordering->schedule[t]);
    for (int32_t c = ends.first_at[t]; c >= 0; c = ends.next[c]) leave(proof, graph->sequential[c]);
  }
  const HloInstruction *root = proof->module->entry->root;
  for (int32_t leaf = 0; leaf < proof->leaves.result_count; leaf++) {
    int32_t value = hlo_dataflow_value(proof->flow, root, proof->leaves.results[leaf].node);
    if (value >= 0) read_value(proof, value, root, "returns");
  }
}

static Status prove(Proof *proof) {
  const CallGraph *graph;
  const HloSequence *sequences;
  RETURN_IF_ERROR(call_graph_build(proof->arena, proof->module, proof->diag, &graph));
  RETURN_IF_ERROR(hlo_sequences(proof->arena, graph, proof->diag, &sequences));
  proof->flow = hlo_dataflow_build(proof->arena, graph, sequences);
  proof->ordering = hlo_ordering_build(proof->arena, graph, sequences);
  proof->leaves = hlo_entry_leaves(proof->arena, proof->module);
  proof->shadows = ARENA_NEW_ARRAY(proof->arena, ByteShadow, proof->assignment->allocation_count + 1);
  proof->branches = ARENA_NEW_ARRAY(proof->arena, Branches, proof->module->next_instruction_id + 1);
  proof->places = ARENA_NEW_ARRAY(proof->arena, Place, proof->flow->value_count + 1);
  for (int32_t i = 0; i < proof->flow->value_count; i++) find_place(proof, i);
  if (proof->violations > 0) return STATUS_INVALID;
  for (int32_t i = 0; i < proof->flow->value_count; i++) check_constant(proof, i);
  for (int32_t i = 0; i < proof->flow->value_count; i++) check_preparation(proof, i);
  check_allocations(proof);
  check_scratches(proof);
  check_entry(proof);
  find_outside_values(proof);
  run(proof);
  return proof->violations > 0 ? STATUS_INVALID : STATUS_OK;
}

Status buffer_assignment_verify(const BufferAssignment *assignment, const HloModule *module, DiagSink *diag) {
  Proof proof = {
      .arena = arena_create(), .scratch = arena_create(), .diag = diag, .module = module, .assignment = assignment};
  Status status = prove(&proof);
  arena_destroy(proof.scratch);
  arena_destroy(proof.arena);
  return status;
}
