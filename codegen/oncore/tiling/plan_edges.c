#include "codegen/oncore/tiling/plan_edges.h"

#include "base/checked_math.h"
#include "codegen/oncore/plan/plan_stream.h"
#include "hlo/machine/stream/hazards.h"

typedef ARRAY(PlanEdge) EdgeArray;

typedef struct EdgeWalk {
  const Plan *plan;
  const MachineDescription *machine;
  const PlanCommand *commands;
} EdgeWalk;

static bool in_order(const EdgeWalk *walk, int32_t queue) {
  return walk->machine->queues[queue].complete == COMPLETE_IN_ORDER;
}

/* Queues keep the order of their own commands. */
static bool is_ordered(const EdgeWalk *walk, int32_t a, int32_t b) {
  return walk->commands[a].queue == walk->commands[b].queue && in_order(walk, walk->commands[a].queue);
}

static int64_t instances(const EdgeWalk *walk, int32_t command) {
  return plan_loop_instances(walk->plan, walk->commands[command].loop);
}

/* --- who touches what --- */

/* Tensors by number; temporaries in memory are numbered after them. */
static int32_t place_of(const EdgeWalk *walk, const PlanRef *ref) {
  if (!ref->is_memory) return ref->number;
  const PlanMemory *memory = &walk->plan->memories[ref->number];
  return memory->kind == PLAN_TEMPORARY ? walk->plan->tensor_count + memory->number : -1;
}

static bool touches(const EdgeWalk *walk, const PlanRef *refs, int32_t count, int32_t place) {
  for (int32_t i = 0; i < count; i++) {
    if (place_of(walk, &refs[i]) == place) return true;
  }
  return false;
}

static bool reads(const EdgeWalk *walk, int32_t command, int32_t place) {
  return touches(walk, walk->commands[command].sources, walk->commands[command].source_count, place);
}

static bool writes(const EdgeWalk *walk, int32_t command, int32_t place) {
  return touches(walk, walk->commands[command].targets, walk->commands[command].target_count, place);
}

static int64_t slots_of(const EdgeWalk *walk, int32_t place) {
  if (place >= walk->plan->tensor_count) return 1;
  const PlanTensor *tensor = &walk->plan->tensors[place];
  return tensor->kind == PLAN_RING ? tensor->extents[0] : 1;
}

/* --- edges --- */

/* The innermost loop that |consumer| and |edge|'s command are in; inner ones have larger numbers. */
static int32_t loop_with(const EdgeWalk *walk, int32_t consumer, const PlanEdge *edge) {
  return plan_common_loop(walk->plan, walk->commands[consumer].loop, walk->commands[edge->command].loop);
}

/* Whether |a|, later in one queue, has run only before all of the loop that |b| and |consumer| are in: |b| runs again
 * between that and |consumer|. */
static bool is_further_out(const EdgeWalk *walk, int32_t consumer, const PlanEdge *a, const PlanEdge *b) {
  return loop_with(walk, consumer, a) < loop_with(walk, consumer, b);
}

/* Whether waiting for |a| is as good as waiting for |b| too: one in-order queue, and |a|'s instance is the later one.
 */
static bool implies(const EdgeWalk *walk, int32_t consumer, const PlanEdge *a, const PlanEdge *b) {
  if (a->command != b->command && !is_ordered(walk, a->command, b->command)) return false;
  if (a->command == b->command) return a->distance <= b->distance;
  bool a_before = a->command < consumer, b_before = b->command < consumer;
  bool same_loop = walk->commands[a->command].loop == walk->commands[b->command].loop;
  if (a_before == b_before && same_loop) return a->command > b->command && a->distance <= b->distance;
  if (a->distance != 0) return false;
  /* in this iteration, if |a| runs in each of them */
  if (a_before != b_before) return a_before && walk->commands[a->command].loop >= walk->commands[consumer].loop;
  return a->command > b->command && !is_further_out(walk, consumer, a, b);
}

/* A later command that no loop brings round again. */
static bool never_comes_before(const EdgeWalk *walk, int32_t producer, int32_t consumer) {
  const PlanCommand *commands = walk->commands;
  return producer >= consumer && plan_common_loop(walk->plan, commands[producer].loop, commands[consumer].loop) < 0;
}

static void add_edge(const EdgeWalk *walk, EdgeArray *edges, int32_t consumer, PlanEdge edge) {
  if (never_comes_before(walk, edge.command, consumer)) return;
  if (is_ordered(walk, edge.command, consumer)) return;
  int64_t kept = 0;
  for (int64_t i = 0; i < edges->count; i++) {
    if (implies(walk, consumer, &edges->data[i], &edge)) return;
    if (!implies(walk, consumer, &edge, &edges->data[i])) edges->data[kept++] = edges->data[i];
  }
  edges->count = kept;
  array_push(edges, walk->plan->arena, edge);
}

/* What |consumer| reads must be there. */
static void add_producers(const EdgeWalk *walk, EdgeArray *edges, int32_t consumer, int32_t place) {
  for (int32_t c = 0; c < walk->plan->command_count; c++) {
    if (c != consumer && writes(walk, c, place)) add_edge(walk, edges, consumer, (PlanEdge){.command = c});
  }
}

/* What |consumer| writes over must have been read: its slot comes round after |slots| of its own instances, between two
 * of which a reader runs several times when it stands in further loops. */
static void add_readers(const EdgeWalk *walk, EdgeArray *edges, int32_t consumer, int32_t place) {
  int64_t slots = slots_of(walk, place), own = instances(walk, consumer);
  if (slots >= own) return;
  for (int32_t c = 0; c < walk->plan->command_count; c++) {
    if (c == consumer || !reads(walk, c, place)) continue;
    int64_t ratio = instances(walk, c) / own;
    add_edge(walk, edges, consumer, (PlanEdge){.command = c, .distance = (slots - 1) * (ratio > 1 ? ratio : 1)});
  }
}

/* What came before a later command of the same queue, further out, is complete when that has been waited for: such
 * edges count within the iteration at hand only. */
static void limit_edges(const EdgeWalk *walk, EdgeArray *edges, int32_t consumer) {
  for (int64_t i = 0; i < edges->count; i++) {
    PlanEdge *edge = &edges->data[i];
    for (int64_t j = 0; j < edges->count; j++) {
      const PlanEdge *other = &edges->data[j];
      bool is_later = other->command > edge->command && edge->command > consumer && other->distance == 0 &&
                      is_ordered(walk, other->command, edge->command);
      if (!is_later || !is_further_out(walk, consumer, other, edge)) continue;
      int32_t depth = plan_loop_depth(walk->plan, loop_with(walk, consumer, other));
      if (depth > edge->same) edge->same = depth;
    }
  }
}

/* An earlier command of the same queue and block has waited for the same. */
static bool waited_before(const EdgeWalk *walk, int32_t consumer, const PlanEdge *edge) {
  const PlanCommand *own = &walk->commands[consumer];
  for (int32_t c = 0; c < consumer; c++) {
    const PlanCommand *other = &walk->commands[c];
    if (other->queue != own->queue || other->loop != own->loop || !in_order(walk, own->queue)) continue;
    bool same_side = (edge->command < c) == (edge->command < consumer);
    for (int32_t i = 0; i < other->edge_count && same_side; i++) {
      const PlanEdge *waited = &other->edges[i];
      bool is_as_late = waited->distance <= edge->distance && waited->same <= edge->same;
      if (waited->command == edge->command && is_as_late) return true;
    }
  }
  return false;
}

static void set_edges(const EdgeWalk *walk, PlanCommand *command, const EdgeArray *edges, int32_t number) {
  PlanEdge *kept = ARENA_NEW_ARRAY(walk->plan->arena, PlanEdge, edges->count);
  command->edge_count = 0;
  for (int64_t i = 0; i < edges->count; i++) {
    if (!waited_before(walk, number, &edges->data[i])) kept[command->edge_count++] = edges->data[i];
  }
  command->edges = kept;
}

/* Whether target |target| is read, too: an accumulator or an updated slice, but for transfers, which fill them. */
static bool goes_on(const EdgeWalk *walk, const PlanCommand *command, int32_t target) {
  const PlanRef *ref = &command->targets[target];
  if (ref->is_memory || command->verb == PLAN_LOAD || command->verb == PLAN_GATHERM) return false;
  return walk->plan->tensors[ref->number].kind == PLAN_ACCUMULATOR || command->slice.extent > 0;
}

static void derive(const Plan *plan, const MachineDescription *machine, PlanCommand *commands) {
  EdgeWalk walk = {plan, machine, commands};
  for (int32_t c = 0; c < plan->command_count; c++) {
    EdgeArray edges = {0};
    for (int32_t i = 0; i < commands[c].source_count; i++) {
      int32_t place = place_of(&walk, &commands[c].sources[i]);
      if (place >= 0) add_producers(&walk, &edges, c, place);
    }
    for (int32_t i = 0; i < commands[c].target_count; i++) {
      int32_t place = place_of(&walk, &commands[c].targets[i]);
      if (goes_on(&walk, &commands[c], i)) add_producers(&walk, &edges, c, place);
      if (place >= 0) add_readers(&walk, &edges, c, place);
    }
    limit_edges(&walk, &edges, c);
    set_edges(&walk, &commands[c], &edges, c);
  }
}

/* --- edges that others imply --- */

/* Beyond its rings' slots a loop only repeats itself. */
enum { SHORT_LOOP = 4, MOST_PRUNED = 1 << 20 };

/* Slots of the plan's rings: the most, and how many iterations it takes until all of them begin anew. */
static void find_slots(const Plan *plan, int64_t *out_most, int64_t *out_period) {
  *out_most = 2;
  *out_period = 1;
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    const PlanTensor *tensor = &plan->tensors[t];
    if (tensor->kind != PLAN_RING) continue;
    *out_most = max_i64(*out_most, tensor->extents[0]);
    int64_t period = *out_period;
    while (*out_period % tensor->extents[0] != 0) *out_period += period;
  }
}

/* |plan| with few iterations. */
static Plan with_few_iterations(Arena *arena, const Plan *plan) {
  Plan copy = *plan;
  copy.arena = arena;
  PlanLoop *loops = ARENA_COPY_ARRAY(arena, PlanLoop, plan->loops, plan->loop_count);
  int64_t most, period;
  find_slots(plan, &most, &period);
  most += SHORT_LOOP;
  for (int32_t l = 0; l < plan->loop_count; l++) {
    int64_t trip_count = loops[l].trip_count;
    /* each run has to begin with the slots that it begins with in the plan */
    loops[l].trip_count = min_i64(trip_count, most + (trip_count - min_i64(most, trip_count)) % period);
  }
  copy.loops = loops;
  return copy;
}

/* The same with the edges that these need. */
static Plan with_short_loops(Arena *arena, const Plan *plan, const MachineDescription *machine) {
  Plan copy = with_few_iterations(arena, plan);
  PlanCommand *commands = ARENA_COPY_ARRAY(arena, PlanCommand, plan->commands, plan->command_count);
  copy.commands = commands;
  derive(&copy, machine, commands);
  return copy;
}

/* Instances of each edge, |counts| indexed by consumer × commands + producer: all, less those that are redundant; an
 * edge that only repeats what the queue has waited for has none. */
static int64_t *needed_instances(Arena *arena, const CommandStream *stream, const HazardReport *report,
                                 int32_t commands) {
  int64_t pairs = (int64_t)commands * commands, *counts = ARENA_NEW_ARRAY(arena, int64_t, pairs);
  for (int32_t i = 0; i < stream->commands.count; i++) {
    InstanceRange edges = command_stream_edges(stream, i);
    for (int64_t e = 0; e < edges.count; e++) {
      counts[stream->commands.data[i].label * commands + stream->commands.data[edges.data[e]].label]++;
    }
  }
  for (int64_t h = 0; h < report->hazard_count; h++) {
    const Hazard *hazard = &report->hazards[h];
    if (hazard->kind != HAZARD_REDUNDANT_EDGE) continue;
    counts[stream->commands.data[hazard->second].label * commands + stream->commands.data[hazard->first].label]--;
  }
  return counts;
}

/* The edges that a partial order needs are unique, so all others go at once. */
static Status prune(const Plan *plan, const MachineDescription *machine, PlanCommand *commands, DiagSink *diag) {
  Arena *scratch = arena_create();
  Plan sample = with_short_loops(scratch, plan, machine);
  CommandStream stream;
  HazardReport report;
  HazardLimits limits = {.kept = MOST_PRUNED, .races = MOST_PRUNED};
  Status status = plan_stream_make(scratch, &sample, machine, diag, &stream);
  if (status == STATUS_OK) {
    command_stream_free_objects(&stream); /* it is about edges alone */
    status = hazards_check(scratch, scratch, &stream, machine, limits, diag, &report);
  }
  if (status == STATUS_OK) {
    int64_t *needed = needed_instances(scratch, &stream, &report, plan->command_count);
    for (int32_t c = 0; c < plan->command_count; c++) {
      PlanEdge *edges = (PlanEdge *)commands[c].edges;
      int32_t kept = 0;
      for (int32_t e = 0; e < commands[c].edge_count; e++) {
        if (needed[c * plan->command_count + edges[e].command] > 0) edges[kept++] = edges[e];
      }
      commands[c].edge_count = kept;
    }
  }
  arena_destroy(scratch);
  return status;
}

/* |edge| of a plan with few iterations as one of |plan|. */
static PlanEdge with_all_iterations(const Plan *plan, const Plan *sample, int32_t consumer, PlanEdge edge) {
  PlanEdgeReach few = plan_edge_reach(sample, consumer, &edge), all = plan_edge_reach(plan, consumer, &edge);
  edge.distance = edge.distance / few.runs * all.runs;
  if (edge.before > 0 && edge.before + 1 == few.runs) edge.before = all.runs - 1;
  return edge;
}

Status plan_edges_derive_any(Plan *plan, const MachineDescription *machine, PlanCommand *commands, DiagSink *diag) {
  Arena *scratch = arena_create();
  Plan sample = with_few_iterations(scratch, plan);
  PlanCommand *copies = ARENA_COPY_ARRAY(scratch, PlanCommand, commands, plan->command_count);
  sample.commands = copies;
  Status status = plan_edges_complete(&sample, machine, copies, diag);
  for (int32_t c = 0; c < plan->command_count && status == STATUS_OK; c++) {
    PlanEdge *edges = ARENA_NEW_ARRAY(plan->arena, PlanEdge, copies[c].edge_count);
    for (int32_t e = 0; e < copies[c].edge_count; e++)
      edges[e] = with_all_iterations(plan, &sample, c, copies[c].edges[e]);
    commands[c].edges = edges;
    commands[c].edge_count = copies[c].edge_count;
  }
  arena_destroy(scratch);
  return status;
}

static bool has_unordered_queues(const MachineDescription *machine) {
  bool is_any = false;
  for (int32_t q = 0; q < machine->queue_count; q++)
    is_any = is_any || machine->queues[q].complete != COMPLETE_IN_ORDER;
  return is_any;
}

bool plan_edges_derive_all(Plan *plan, const MachineDescription *machine, PlanCommand *commands) {
  if (has_unordered_queues(machine) || machine->sync.kind == SYNC_FLAG) return false;
  derive(plan, machine, commands);
  return true;
}

Status plan_edges_derive(Plan *plan, const MachineDescription *machine, PlanCommand *commands, DiagSink *diag) {
  if (has_unordered_queues(machine)) return plan_edges_derive_any(plan, machine, commands, diag);
  derive(plan, machine, commands);
  return prune(plan, machine, commands, diag);
}

/* --- few flags --- */

Status plan_edges_find_flags(const Plan *plan, const MachineDescription *machine, DiagSink *diag, bool *out_enough) {
  *out_enough = true;
  if (machine->sync.kind != SYNC_FLAG) return STATUS_OK;
  Arena *scratch = arena_create();
  Plan sample = with_few_iterations(scratch, plan);
  CommandStream stream;
  HazardReport report;
  Status status = plan_stream_make(scratch, &sample, machine, diag, &stream);
  if (status == STATUS_OK) {
    command_stream_free_objects(&stream); /* it is about edges alone */
    status = hazards_check(scratch, scratch, &stream, machine, HAZARD_LIMITS_DEFAULT, diag, &report);
  }
  if (status == STATUS_OK) *out_enough = report.counts[HAZARD_FLAGS] == 0;
  arena_destroy(scratch);
  return status;
}

/* |before|: commands of which one runs right before the block; afterwards the block's last. */
static void serialise_block(EdgeWalk *walk, PlanCommand *commands, const PlanBlock *block, EdgeArray *before) {
  Arena *arena = walk->plan->arena;
  for (int32_t i = 0; i < block->node_count; i++) {
    const PlanNode *node = &block->nodes[i];
    if (node->kind == PLAN_NODE_LOOP) {
      const PlanBlock *body = &walk->plan->loops[node->number].body;
      PlanEdge round = {.command = plan_last_command(walk->plan, body)};
      round.same = plan_loop_depth(walk->plan, node->number) - 1;
      array_push(before, arena, round);
      serialise_block(walk, commands, body, before);
      continue;
    }
    EdgeArray edges = {0};
    for (int64_t e = 0; e < before->count; e++) {
      int32_t producer = before->data[e].command;
      bool is_kept = is_ordered(walk, producer, node->number) || never_comes_before(walk, producer, node->number);
      if (!is_kept) array_push(&edges, arena, before->data[e]);
    }
    commands[node->number].edges = edges.data;
    commands[node->number].edge_count = (int32_t)edges.count;
    *before = (EdgeArray){0};
    array_push(before, arena, ((PlanEdge){.command = node->number}));
  }
}

void plan_edges_serialise(Plan *plan, const MachineDescription *machine, PlanCommand *commands) {
  EdgeWalk walk = {plan, machine, commands};
  EdgeArray before = {0};
  serialise_block(&walk, commands, &plan->block, &before);
}
