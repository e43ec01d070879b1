#include "codegen/oncore/tiling/plan_schemes.h"

#include <inttypes.h>

#include "base/checked_math.h"
#include "base/packing/packing.h"
#include "codegen/oncore/plan/operand_uses.h"
#include "codegen/oncore/plan/tensor_use.h"
#include "codegen/oncore/tiling/plan_edges.h"

/* Numbers of commands: a Tensor is needed from |first| on, up to |last|. */
typedef struct Lifetime {
  int32_t block; /* the innermost loop around all its uses, -1 for none; -2: it has none */
  int32_t first, last;
} Lifetime;

typedef struct SchemePlacer {
  Arena *arena;
  const Plan *old;
  Plan *plan;
  PlanTensor *tensors;
  Lifetime *lifetimes;
} SchemePlacer;

enum { NO_BLOCK = -2 };

/* --- lifetimes --- */

static int32_t first_command(const Plan *plan, const PlanBlock *block) {
  const PlanNode *node = &block->nodes[0];
  return node->kind == PLAN_NODE_COMMAND ? node->number : first_command(plan, &plan->loops[node->number].body);
}

typedef void (*UseVisitor)(SchemePlacer *placer, int32_t command, int32_t tensor);

static void visit_uses(SchemePlacer *placer, UseVisitor visit) {
  for (int32_t c = 0; c < placer->old->command_count; c++) {
    const PlanCommand *command = &placer->old->commands[c];
    for (int32_t i = 0; i < command->target_count + command->source_count; i++) {
      bool is_target = i < command->target_count;
      const PlanRef *ref = is_target ? &command->targets[i] : &command->sources[i - command->target_count];
      if (!ref->is_memory) visit(placer, c, ref->number);
    }
  }
}

/* Whether the command goes on from what |tensor| holds. */
static bool folds_into(const SchemePlacer *placer, const PlanCommand *command, int32_t tensor) {
  bool folds = false;
  if (!command->keeps_accumulators) return false;
  OperandUses uses = operand_uses(placer->arena, placer->old, command);
  for (int32_t t = 0; t < command->target_count; t++) {
    const PlanRef *target = &command->targets[t];
    folds = folds || (uses.goes_on[t] && !target->is_memory && target->number == tensor);
  }
  return folds;
}

/* What a fold has summed up lasts from one iteration to the next of all loops that it goes through. */
static void widen_block(SchemePlacer *placer, int32_t command, int32_t tensor) {
  const Plan *plan = placer->old;
  Lifetime *lifetime = &placer->lifetimes[tensor];
  int32_t loop = plan->commands[command].loop, init_loop = plan->commands[command].init_loop;
  if (folds_into(placer, &plan->commands[command], tensor) && init_loop >= 0)
    loop = plan_common_loop(plan, loop, plan->loops[init_loop].parent);
  lifetime->block = lifetime->block == NO_BLOCK ? loop : plan_common_loop(plan, lifetime->block, loop);
}

/* A loop in the Tensor's block counts as a whole: its iterations come again. */
static void widen_time(SchemePlacer *placer, int32_t command, int32_t tensor) {
  const Plan *plan = placer->old;
  Lifetime *lifetime = &placer->lifetimes[tensor];
  int32_t first = command, last = command, loop = plan->commands[command].loop;
  if (loop != lifetime->block) {
    while (plan->loops[loop].parent != lifetime->block) loop = plan->loops[loop].parent;
    first = first_command(plan, &plan->loops[loop].body);
    last = plan_last_command(plan, &plan->loops[loop].body);
  }
  lifetime->first = lifetime->first < 0 || first < lifetime->first ? first : lifetime->first;
  lifetime->last = last > lifetime->last ? last : lifetime->last;
}

static void find_lifetimes(SchemePlacer *placer, PlanScheme scheme) {
  const Plan *plan = placer->old;
  placer->lifetimes = ARENA_NEW_ARRAY(placer->arena, Lifetime, plan->tensor_count);
  for (int32_t t = 0; t < plan->tensor_count; t++) placer->lifetimes[t] = (Lifetime){NO_BLOCK, -1, -1};
  visit_uses(placer, widen_block);
  visit_uses(placer, widen_time);
  for (int32_t t = 0; t < plan->tensor_count && scheme == SCHEME_BLOCK; t++) {
    Lifetime *lifetime = &placer->lifetimes[t];
    if (lifetime->block == NO_BLOCK) continue;
    lifetime->first = first_command(plan, plan_body(plan, lifetime->block));
    lifetime->last = plan_last_command(plan, plan_body(plan, lifetime->block));
  }
}

/* --- places --- */

static void move_to(SchemePlacer *placer, int32_t tensor, int64_t begin) {
  PlanTensor *of = &placer->tensors[tensor];
  of->end += begin - of->begin;
  of->begin = begin;
}

static bool meet_in_time(const SchemePlacer *placer, int32_t a, int32_t b) {
  const Lifetime *x = &placer->lifetimes[a], *y = &placer->lifetimes[b];
  return x->first <= y->last && y->first <= x->last;
}

/* The lowest place that nothing placed so far has at the same time. */
static int64_t first_fit(const SchemePlacer *placer, const bool *is_placed, int32_t tensor) {
  int64_t size = placer->tensors[tensor].end - placer->tensors[tensor].begin, begin = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (int32_t t = 0; t < placer->old->tensor_count; t++) {
      const PlanTensor *other = &placer->tensors[t];
      bool meets = is_placed[t] && meet_in_time(placer, t, tensor) && other->begin < begin + size && begin < other->end;
      if (!meets) continue;
      begin = align_up(other->end, placer->old->alignment);
      moved = true;
    }
  }
  return begin;
}

/* In program order, as 'alloc' or the beginning of a block comes. */
static void place_in_order(SchemePlacer *placer) {
  int32_t count = placer->old->tensor_count;
  bool *is_placed = ARENA_NEW_ARRAY(placer->arena, bool, count);
  for (int32_t n = 0; n < count; n++) {
    int32_t next = -1;
    for (int32_t t = 0; t < count; t++) {
      bool is_earlier = next < 0 || placer->lifetimes[t].first < placer->lifetimes[next].first;
      if (!is_placed[t] && is_earlier) next = t;
    }
    move_to(placer, next, first_fit(placer, is_placed, next));
    is_placed[next] = true;
  }
}

static Status place_by_solver(SchemePlacer *placer, DiagSink *diag) {
  int32_t count = placer->old->tensor_count;
  PackingBuffer *buffers = ARENA_NEW_ARRAY(placer->arena, PackingBuffer, count);
  for (int32_t t = 0; t < count; t++) {
    const Lifetime *lifetime = &placer->lifetimes[t];
    buffers[t] = (PackingBuffer){.id = t, .lower = max_i64(lifetime->first, 0), .group = -1};
    buffers[t].upper = max_i64(lifetime->last, buffers[t].lower) + 1;
    buffers[t].size = placer->tensors[t].end - placer->tensors[t].begin;
    buffers[t].alignment = placer->old->alignment;
  }
  PackingProblem problem = {.buffers = buffers, .count = count, .most_steps = 50000 + 2000 * (int64_t)count};
  PackingSolution packing;
  RETURN_IF_ERROR(packing_solve(placer->arena, &problem, diag, &packing));
  for (int32_t t = 0; t < count; t++) move_to(placer, t, packing.offsets[t]);
  return STATUS_OK;
}

static bool is_of_slot(const SchemePlacer *placer, int32_t a, int32_t b) {
  const PlanTensor *x = &placer->tensors[a], *y = &placer->tensors[b];
  return x->kind == PLAN_RING && y->kind == PLAN_RING && x->extents[0] == y->extents[0] &&
         placer->lifetimes[a].block == placer->lifetimes[b].block;
}

/* A slot of one Tensor has a slot of each ring of the loop, one beside the other. */
static void place_slices(SchemePlacer *placer) {
  const Plan *old = placer->old;
  bool *is_placed = ARENA_NEW_ARRAY(placer->arena, bool, old->tensor_count);
  int64_t at = 0;
  for (int32_t t = 0; t < old->tensor_count; t++) {
    int64_t stride = 0, inside = at;
    if (is_placed[t]) continue;
    if (placer->tensors[t].kind != PLAN_RING) {
      move_to(placer, t, at);
      at = align_up(placer->tensors[t].end, old->alignment);
      continue;
    }
    for (int32_t k = t; k < old->tensor_count; k++)
      if (is_of_slot(placer, t, k)) stride += old->tensors[k].slot_stride;
    for (int32_t k = t; k < old->tensor_count; k++) {
      PlanTensor *part = &placer->tensors[k];
      if (!is_of_slot(placer, t, k)) continue;
      part->begin = inside;
      part->end = inside + (part->extents[0] - 1) * stride + part->slot_stride;
      inside += part->slot_stride;
      part->slot_stride = stride;
      is_placed[k] = true;
    }
    at += stride * placer->tensors[t].extents[0];
  }
}

/* --- barriers at the end of blocks --- */

typedef ARRAY(PlanCommand) CommandArray;
typedef ARRAY(PlanNode) NodeArray;

/* Whether bytes of Tensors that end with |loop| are another Tensor's at another time. */
static bool is_used_again(const SchemePlacer *placer, int32_t loop) {
  for (int32_t t = 0; t < placer->old->tensor_count; t++) {
    for (int32_t other = 0; other < placer->old->tensor_count && placer->lifetimes[t].block == loop; other++) {
      const PlanTensor *x = &placer->tensors[t], *y = &placer->tensors[other];
      if (other != t && x->begin < y->end && y->begin < x->end && !meet_in_time(placer, t, other)) return true;
    }
  }
  return false;
}

static PlanBlock copy_block(SchemePlacer *placer, PlanLoop *loops, const PlanBlock *block, int32_t around,
                            CommandArray *commands) {
  NodeArray nodes = {0};
  for (int32_t i = 0; i < block->node_count; i++) {
    PlanNode node = block->nodes[i];
    if (node.kind == PLAN_NODE_COMMAND) {
      array_push(commands, placer->arena, placer->old->commands[node.number]);
      array_push(&nodes, placer->arena, ((PlanNode){PLAN_NODE_COMMAND, (int32_t)commands->count - 1}));
      continue;
    }
    loops[node.number].body = copy_block(placer, loops, &placer->old->loops[node.number].body, node.number, commands);
    array_push(&nodes, placer->arena, node);
    bool is_end = around < 0 && i + 1 == block->node_count;
    if (is_end || !is_used_again(placer, node.number)) continue;
    PlanCommand barrier = {
        .verb = PLAN_BARRIER, .queue = PLAN_NO_QUEUE, .loop = around, .value = -1, .index_value = -1};
    barrier.init_loop = -1;
    barrier.label = sv_from_cstring(arena_printf(placer->arena, "bar%d", node.number));
    array_push(commands, placer->arena, barrier);
    array_push(&nodes, placer->arena, ((PlanNode){PLAN_NODE_COMMAND, (int32_t)commands->count - 1}));
  }
  return (PlanBlock){(int32_t)nodes.count, nodes.data};
}

static PlanCommand *copy_commands(SchemePlacer *placer, PlanScheme scheme) {
  const Plan *old = placer->old;
  if (scheme != SCHEME_BLOCK) return ARENA_COPY_ARRAY(placer->arena, PlanCommand, old->commands, old->command_count);
  CommandArray commands = {0};
  PlanLoop *loops = ARENA_COPY_ARRAY(placer->arena, PlanLoop, old->loops, old->loop_count);
  placer->plan->block = copy_block(placer, loops, &old->block, -1, &commands);
  placer->plan->loops = loops;
  placer->plan->command_count = (int32_t)commands.count;
  return commands.data;
}

/* --- the whole --- */

static Status place(SchemePlacer *placer, PlanScheme scheme, DiagSink *diag) {
  find_lifetimes(placer, scheme);
  if (scheme == SCHEME_AUTO) return place_by_solver(placer, diag);
  if (scheme == SCHEME_SLICE)
    place_slices(placer);
  else
    place_in_order(placer);
  return STATUS_OK;
}

Status plan_scheme_apply(Arena *arena, const Plan *plan, const MachineDescription *machine, PlanScheme scheme,
                         DiagSink *diag, const Plan **out_plan) {
  *out_plan = plan;
  if (scheme == SCHEME_NONE || scheme == SCHEME_FIXED) return STATUS_OK;
  Plan *made = ARENA_NEW(arena, Plan);
  *made = *plan;
  made->arena = arena;
  SchemePlacer placer = {.arena = arena, .old = plan, .plan = made};
  placer.tensors = ARENA_COPY_ARRAY(arena, PlanTensor, plan->tensors, plan->tensor_count);
  RETURN_IF_ERROR(place(&placer, scheme, diag));
  PlanCommand *commands = copy_commands(&placer, scheme);
  for (int32_t c = 0; c < made->command_count; c++) {
    commands[c].edges = NULL;
    commands[c].edge_count = 0;
  }
  made->tensors = placer.tensors;
  made->commands = commands;
  *out_plan = made;
  return plan_edges_derive_any(made, machine, commands, diag);
}

/* --- all of them --- */

static int64_t most_held(Arena *arena, const Plan *plan, const PlanVerdict *verdict) {
  TensorUses uses = tensor_uses_find(arena, plan, verdict, 4096);
  int64_t most = 0;
  for (int64_t i = 0; i < uses.stretch_count; i++) {
    int64_t sum = 0;
    for (int64_t k = 0; k < uses.stretch_count; k++) {
      const TensorStretch *other = &uses.stretches[k];
      bool meets = other->from <= uses.stretches[i].from && uses.stretches[i].from < other->to;
      if (meets) sum += other->end - other->begin;
    }
    most = max_i64(most, sum);
  }
  return most;
}

static Status cost_of(const Plan *plan, const MachineDescription *machine, PlanScheme scheme, DiagSink *diag,
                      PlanSchemeCost *out_cost) {
  Arena *scratch = arena_create();
  const Plan *placed;
  PlanVerdict verdict;
  Status status = plan_scheme_apply(scratch, plan, machine, scheme, diag, &placed);
  if (status == STATUS_OK) status = plan_check(scratch, placed, machine, diag, &verdict);
  if (status == STATUS_OK) {
    *out_cost = (PlanSchemeCost){.fits = verdict.footprint <= plan->buffer_bytes && verdict.simulation.cycles > 0,
                                 .peak = verdict.footprint,
                                 .edges = verdict.hazards.edges,
                                 .barriers = verdict.hazards.barriers,
                                 .cycles = verdict.simulation.cycles};
    if (out_cost->fits) out_cost->waste = max_i64(verdict.footprint - most_held(scratch, placed, &verdict), 0);
    for (int32_t q = 0; q < machine->queue_count && out_cost->fits; q++)
      out_cost->stalls += verdict.simulation.queues[q].stall;
  }
  arena_destroy(scratch);
  return status;
}

Status plan_schemes_compare(const Plan *plan, const MachineDescription *machine, DiagSink *diag,
                            PlanSchemeCosts *out_costs) {
  *out_costs = (PlanSchemeCosts){.known = true};
  for (PlanScheme scheme = SCHEME_HEAP; scheme < PLAN_SCHEME_COUNT; scheme++)
    RETURN_IF_ERROR(cost_of(plan, machine, scheme, diag, &out_costs->of[scheme]));
  return STATUS_OK;
}

static const char *const scheme_names[] = {"", "heap", "blocks", "slices", "fixed", "automatic"};

void plan_schemes_text(StringBuilder *out, const PlanSchemeCosts *costs) {
  if (!costs->known) return;
  sb_append_cstring(out, "  scheme              peak      waste     stalls      edges   barriers     cycles\n");
  for (PlanScheme scheme = SCHEME_HEAP; scheme < PLAN_SCHEME_COUNT; scheme++) {
    const PlanSchemeCost *cost = &costs->of[scheme];
    sb_printf(out, "    %d %-9s %10" PRId64, (int)scheme, scheme_names[scheme], cost->peak);
    if (cost->fits)
      sb_printf(out, " %10" PRId64 " %10.0f %10" PRId64 " %10" PRId64 " %10.0f\n", cost->waste, cost->stalls,
                cost->edges, cost->barriers, cost->cycles);
    else
      sb_append_cstring(out, " does not fit\n");
  }
}

void plan_schemes_json(JsonWriter *json, const PlanSchemeCosts *costs) {
  if (!costs->known) return;
  json_key(json, "schemes");
  json_begin_array(json);
  for (PlanScheme scheme = SCHEME_HEAP; scheme < PLAN_SCHEME_COUNT; scheme++) {
    const PlanSchemeCost *cost = &costs->of[scheme];
    json_begin_object(json);
    json_field_int(json, "scheme", scheme);
    json_field_string(json, "name", sv_from_cstring(scheme_names[scheme]));
    json_field_bool(json, "fits", cost->fits);
    json_field_int(json, "peak_bytes", cost->peak);
    if (cost->fits) {
      json_field_int(json, "waste_bytes", cost->waste);
      json_field_double(json, "stall_cycles", cost->stalls);
      json_field_int(json, "edges", cost->edges);
      json_field_int(json, "barriers", cost->barriers);
      json_field_double(json, "cycles", cost->cycles);
    }
    json_end_object(json);
  }
  json_end_array(json);
}
