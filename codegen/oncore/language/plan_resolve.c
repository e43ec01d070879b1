/* Drafts of a scope → a Plan. */
#include <inttypes.h>

#include "base/checked_math.h"
#include "codegen/oncore/language/plan_parser_internal.h"
#include "codegen/oncore/tiling/plan_edges.h"

/* --- memory --- */

static bool is_stored_to(const PlanReader *reader, int32_t memory) {
  for (int64_t c = 0; c < reader->commands.count; c++) {
    const PlanCommand *command = &reader->commands.data[c];
    bool stores = command->verb == PLAN_STORE && command->targets[0].number == memory;
    if (stores) return true;
  }
  return false;
}

/* The number after those given; a program's arguments are counted by themselves, and so are its results. */
static int32_t next_number(const PlanReader *reader, PlanMemoryKind kind) {
  int32_t next = 0;
  for (int64_t m = 0; m < reader->memories.count; m++) {
    const PlanMemory *memory = &reader->memories.data[m];
    bool counts = reader->operations == NULL || memory->kind == kind;
    if (counts && memory->number >= next) next = memory->number + 1;
  }
  return next;
}

/* Arrays without a number are results if something is stored there, else arguments. */
static void number_memories(PlanReader *reader) {
  for (int32_t m = 0; m < reader->memories.count; m++) {
    PlanMemory *memory = &reader->memories.data[m];
    if (memory->number >= 0) continue;
    PlanMemoryKind kind = is_stored_to(reader, m) ? PLAN_RESULT : PLAN_ARGUMENT;
    memory->number = next_number(reader, kind);
    memory->kind = kind;
  }
}

/* Temporaries are as large as their views reach. */
static bool size_temporaries(PlanReader *reader, Plan *plan) {
  for (int64_t m = 0; m < reader->memories.count; m++) {
    const PlanMemory *memory = &reader->memories.data[m];
    if (memory->kind == PLAN_TEMPORARY) plan->temporary_count = max_i64(plan->temporary_count, memory->number + 1);
  }
  int64_t *bytes = ARENA_NEW_ARRAY(reader->arena, int64_t, plan->temporary_count);
  for (int64_t m = 0; m < reader->memories.count; m++) {
    const PlanMemory *memory = &reader->memories.data[m];
    int64_t lower, last;
    if (memory->kind != PLAN_TEMPORARY) continue;
    index_range(&plan->space, memory->offset, &lower, &last);
    if (lower < 0)
      return plan_fail(reader, memory->loc, "plan-range", "a temporary array begins before its first byte");
    for (int32_t i = 0; i < memory->rank; i++) {
      int64_t step;
      if (memory->strides[i] < 0 || !checked_mul(memory->strides[i], memory->extents[i] - 1, &step) ||
          !checked_add(last, step, &last) || last > PLAN_LARGEST_NUMBER)
        return plan_fail(reader, memory->loc, "plan-range", "a temporary array reaches too far");
    }
    bytes[memory->number] = max_i64(bytes[memory->number], (last + 1) * type_storage_bytes(memory->type));
  }
  plan->temporary_bytes = bytes;
  return true;
}

/* --- Tensors --- */

static bool names_single_slots(const PlanRef *refs, int32_t count, int32_t tensor) {
  for (int32_t i = 0; i < count; i++) {
    const PlanRef *ref = &refs[i];
    if (!ref->is_memory && ref->number == tensor && (ref->ranges[0].extent != 1 || ref->ranges[0].is_ragged))
      return false;
  }
  return true;
}

/* What 'with' walks through slot by slot, and nothing names otherwise, is a ring. */
static void find_rings(PlanReader *reader) {
  for (int32_t t = 0; t < reader->tensors.count; t++) {
    TensorDraft *draft = &reader->tensors.data[t];
    bool is_ring = draft->is_turned && draft->tensor.kind == PLAN_TENSOR;
    for (int64_t c = 0; c < reader->commands.count && is_ring; c++) {
      const PlanCommand *command = &reader->commands.data[c];
      is_ring = names_single_slots(command->targets, command->target_count, t) &&
                names_single_slots(command->sources, command->source_count, t);
    }
    if (!is_ring) continue;
    draft->tensor.slot_stride = plan_tensor_bytes(&draft->tensor) / draft->tensor.extents[0];
    draft->tensor.kind = PLAN_RING;
  }
}

static bool has_tensor(const PlanTensor *tensors, int32_t count, StringView name) {
  for (int32_t t = 0; t < count; t++) {
    if (sv_equal(tensors[t].name, name)) return true;
  }
  return false;
}

/* Tensors of several blocks may have one name; in a Plan they have not. */
static void copy_tensors(PlanReader *reader, Plan *plan) {
  PlanTensor *tensors = ARENA_NEW_ARRAY(reader->arena, PlanTensor, reader->tensors.count);
  for (int32_t t = 0; t < reader->tensors.count; t++) {
    tensors[t] = reader->tensors.data[t].tensor;
    StringView name = tensors[t].name;
    for (int n = 1; has_tensor(tensors, t, tensors[t].name); n++)
      tensors[t].name = sv_printf(reader->arena, "%.*s_%d", SV_ARG(name), n);
  }
  plan->tensors = tensors;
  plan->tensor_count = (int32_t)reader->tensors.count;
}

/* --- edges --- */

static int32_t find_label(const PlanReader *reader, StringView label) {
  for (int32_t c = 0; c < reader->commands.count; c++) {
    if (sv_equal(reader->commands.data[c].label, label)) return c;
  }
  return -1;
}

static bool keeps_order(const PlanReader *reader, int32_t command) {
  return reader->machine->queues[reader->commands.data[command].queue].complete == COMPLETE_IN_ORDER;
}

/* Whether the names before the last are those of the outermost loops around |loop|; there may be none. */
static bool names_outer_loops(const Plan *plan, const EdgeDraft *draft, int32_t loop) {
  int32_t depth = plan_loop_depth(plan, loop) - 1;
  if (draft->loop_count - 1 > depth) return false;
  for (int32_t l = plan->loops[loop].parent; l >= 0; l = plan->loops[l].parent) {
    depth--;
    if (depth < draft->loop_count - 1 && !sv_equal(plan->loops[l].name, draft->loops[depth])) return false;
  }
  return true;
}

/* Of |runs| in an iteration; queues in order need no more than the last. */
static int64_t runs_before(const PlanReader *reader, const EdgeDraft *draft, int32_t producer, int64_t runs) {
  if (!draft->has_runs || keeps_order(reader, producer)) return 0;
  return (draft->runs > 0 ? min_i64(draft->runs, runs) : runs) - 1;
}

/* L and L[:] */
static bool resolve_latest(PlanReader *reader, const Plan *plan, const EdgeDraft *draft, int32_t loop, bool is_later,
                           PlanEdge *edge) {
  if (is_later && loop < 0)
    return plan_fail(reader, draft->loc, "plan-forward-edge", "'%.*s' does not come before this command",
                     SV_ARG(draft->label));
  if (!draft->has_runs) return true;
  if (loop >= 0)
    return plan_fail(reader, draft->loc, "plan-name",
                     "'%.*s[:]' is for commands that no loop is around both of: in a loop 'i' it is '%.*s[i-d, :]'",
                     SV_ARG(draft->label), SV_ARG(draft->label));
  int64_t runs = plan_loop_instances(plan, reader->commands.data[edge->command].loop);
  edge->before = runs_before(reader, draft, edge->command, runs);
  return true;
}

static bool tell_innermost(PlanReader *reader, const Plan *plan, const EdgeDraft *draft, int32_t loop) {
  plan_fail(reader, draft->loc, "plan-name", "'%.*s' is not the innermost loop around both commands",
            SV_ARG(draft->loops[draft->loop_count - 1]));
  PlanNames names = {0};
  if (loop >= 0) array_push(&names, reader->arena, plan->loops[loop].name);
  plan_note_names(reader, &names);
  return false;
}

static bool resolve_edge(PlanReader *reader, const Plan *plan, const EdgeDraft *draft, PlanEdge *out_edge) {
  int32_t producer = find_label(reader, draft->label);
  if (producer < 0) {
    plan_fail(reader, draft->loc, "plan-name", "there is no command '%.*s'", SV_ARG(draft->label));
    PlanNames names = {0};
    for (int64_t c = 0; c < reader->commands.count; c++)
      array_push(&names, reader->arena, reader->commands.data[c].label);
    plan_note_names(reader, &names);
    return false;
  }
  if (reader->commands.data[producer].verb == PLAN_BARRIER ||
      reader->commands.data[draft->consumer].verb == PLAN_BARRIER)
    return plan_fail(reader, draft->loc, "plan-forward-edge",
                     "barriers have no edges: what comes after one waits anyway");
  int32_t own = reader->commands.data[draft->consumer].loop, other = reader->commands.data[producer].loop;
  int32_t loop = plan_common_loop(plan, own, other);
  *out_edge = (PlanEdge){.command = producer};
  bool is_later = producer >= draft->consumer;
  if (draft->loop_count == 0) return resolve_latest(reader, plan, draft, loop, is_later, out_edge);
  StringView named = draft->loops[draft->loop_count - 1];
  if (loop < 0 || !sv_equal(plan->loops[loop].name, named)) return tell_innermost(reader, plan, draft, loop);
  if (!names_outer_loops(plan, draft, loop))
    return plan_fail(reader, draft->loc, "plan-name", "before '%.*s' stand loops around it, from the outermost on",
                     SV_ARG(named));
  out_edge->same = draft->loop_count - 1;
  if (is_later && draft->back == 0)
    return plan_fail(reader, draft->loc, "plan-forward-edge",
                     "'%.*s' does not come before this command in the iteration", SV_ARG(draft->label));
  int64_t runs = plan_loop_instances(plan, other) / plan_loop_instances(plan, loop);
  if (!checked_mul(draft->back - is_later, runs, &out_edge->distance))
    return plan_fail(reader, draft->loc, "plan-range", "too many iterations back");
  out_edge->before = runs_before(reader, draft, producer, runs);
  return true;
}

static bool resolve_edges(PlanReader *reader, const Plan *plan) {
  bool ok = true;
  int64_t e = 0;
  for (int32_t c = 0; c < reader->commands.count; c++) {
    int64_t first = e;
    while (e < reader->edges.count && reader->edges.data[e].consumer == c) e++;
    PlanEdge *edges = ARENA_NEW_ARRAY(reader->arena, PlanEdge, e - first);
    PlanCommand *command = &reader->commands.data[c];
    for (int64_t i = first; i < e; i++) {
      bool found = resolve_edge(reader, plan, &reader->edges.data[i], &edges[command->edge_count]);
      command->edge_count += found;
      ok = ok && found;
    }
    command->edges = edges;
  }
  return ok;
}

/* --- the Plan --- */

static void copy_loops(PlanReader *reader, Plan *plan) {
  PlanLoop *loops = ARENA_NEW_ARRAY(reader->arena, PlanLoop, reader->loops.count);
  for (int64_t l = 0; l < reader->loops.count; l++) {
    const LoopDraft *draft = &reader->loops.data[l];
    loops[l] = draft->loop;
    loops[l].body = (PlanBlock){(int32_t)draft->nodes.count, draft->nodes.data};
  }
  plan->loops = loops;
  plan->loop_count = (int32_t)reader->loops.count;
  plan->block = (PlanBlock){(int32_t)reader->nodes.count, reader->nodes.data};
}

static bool finish(PlanReader *reader) {
  Plan *plan = reader->plan;
  for (int64_t t = 0; t < reader->tensors.count; t++) {
    TensorDraft *draft = &reader->tensors.data[t];
    if (draft->ended == 0) draft->ended = (int32_t)reader->commands.count;
  }
  number_memories(reader);
  if (!plan_check_program(reader)) return false;
  find_rings(reader);
  plan->unit = reader->unit;
  if (plan->alignment <= 0) plan->alignment = max_i64(reader->machine->buffer.align, 1);
  if (!plan_place_tensors(reader) || !size_temporaries(reader, plan)) return false;
  copy_tensors(reader, plan);
  copy_loops(reader, plan);
  if (!resolve_edges(reader, plan)) return false;
  plan->memories = reader->memories.data;
  plan->memory_count = (int32_t)reader->memories.count;
  plan->scalars = reader->scalars.data;
  plan->scalar_count = (int32_t)reader->scalars.count;
  plan->commands = reader->commands.data;
  plan->command_count = (int32_t)reader->commands.count;
  Status status = plan_edges_of_barriers(plan, reader->machine, reader->commands.data, reader->diag);
  if (status != STATUS_OK) reader->status = status;
  if (reader->is_explicit || status != STATUS_OK) return status == STATUS_OK;
  status = plan_edges_complete(plan, reader->machine, reader->commands.data, reader->diag);
  if (status != STATUS_OK) reader->status = status;
  return status == STATUS_OK;
}

void plan_finish_scope(PlanReader *reader) {
  if (reader->status != STATUS_OK || !finish(reader)) return;
  array_push(&reader->plans, reader->arena, reader->plan);
}
