#include "codegen/oncore/tiling/plan_edges.h"

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
  return a->command > b->command;
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
    if (c != consumer && writes(walk, c, place)) add_edge(walk, edges, consumer, (PlanEdge){c, 0});
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
    add_edge(walk, edges, consumer, (PlanEdge){c, (slots - 1) * (ratio > 1 ? ratio : 1)});
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
      if (other->edges[i].command == edge->command && other->edges[i].distance <= edge->distance) return true;
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
    set_edges(&walk, &commands[c], &edges, c);
  }
}

/* --- edges that others imply --- */

/* Beyond its rings' slots a loop only repeats itself. */
enum { SHORT_LOOP = 4, MOST_PRUNED = 1 << 20 };

static int64_t short_loop(const Plan *plan) {
  int64_t most = 2;
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    const PlanTensor *tensor = &plan->tensors[t];
    if (tensor->kind == PLAN_RING && tensor->extents[0] > most) most = tensor->extents[0];
  }
  return most + SHORT_LOOP;
}

/* |plan| with few iterations and the edges that these need. */
static Plan with_short_loops(Arena *arena, const Plan *plan, const MachineDescription *machine) {
  Plan copy = *plan;
  copy.arena = arena;
  PlanLoop *loops = ARENA_COPY_ARRAY(arena, PlanLoop, plan->loops, plan->loop_count);
  int64_t most = short_loop(plan);
  for (int32_t l = 0; l < plan->loop_count; l++) {
    if (loops[l].trip_count > most) loops[l].trip_count = most;
  }
  copy.loops = loops;
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
  if (status == STATUS_OK) status = hazards_check(scratch, scratch, &stream, machine, limits, diag, &report);
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

Status plan_edges_derive(Plan *plan, const MachineDescription *machine, PlanCommand *commands, DiagSink *diag) {
  for (int32_t q = 0; q < machine->queue_count; q++) {
    if (machine->queues[q].complete != COMPLETE_IN_ORDER) return plan_edges_complete(plan, machine, commands, diag);
  }
  derive(plan, machine, commands);
  return prune(plan, machine, commands, diag);
}
