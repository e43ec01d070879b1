/* Edges between instances → edges between commands. */
#include <inttypes.h>

#include "base/checked_math.h"
#include "codegen/oncore/plan/plan_stream.h"
#include "codegen/oncore/tiling/plan_edges.h"
#include "hlo/machine/stream/hazards.h"

/* Beyond so many instances edges are not tried one by one. */
#define MOST_TRIED (INT64_C(1) << 18)
/* Of a loop's runs the last ones may imply the others: so many are tried. */
#define MOST_RUNS 4

typedef ARRAY(PlanEdge) EdgeArray;

typedef struct Completion {
  Arena *scratch;
  Plan *plan;
  const MachineDescription *machine;
  PlanCommand *commands;
  DiagSink *diag;
  EdgeArray *edges;  /* by command: new ones */
  int64_t *farthest; /* by consumer × commands + producer: distance of those among them that go back most */
  int32_t *ordinals; /* by instance: which one of its command's */
  int32_t *started;  /* by command */
} Completion;

static bool keeps_order(const Completion *completion, int32_t command) {
  int32_t queue = completion->commands[command].queue;
  return completion->machine->queues[queue].complete == COMPLETE_IN_ORDER;
}

/* The edge that the language can say and that is at least as strict: the last run of the iteration, which on a queue
 * without order says nothing of those before it. */
static PlanEdge say(const Completion *completion, int32_t consumer, PlanEdge edge) {
  PlanEdgeReach reach = plan_edge_reach(completion->plan, consumer, &edge);
  int64_t said = reach.loop < 0 ? 0 : edge.distance - edge.distance % reach.runs;
  if (!keeps_order(completion, edge.command)) edge.before = edge.distance - said;
  edge.distance = said;
  return edge;
}

static int64_t *farthest_of(const Completion *completion, int32_t consumer, int32_t producer) {
  return &completion->farthest[(int64_t)consumer * completion->plan->command_count + producer];
}

static void add_edge(const Completion *completion, int32_t consumer, PlanEdge edge) {
  int64_t *farthest = farthest_of(completion, consumer, edge.command);
  *farthest = max_i64(*farthest, edge.distance);
  EdgeArray *edges = &completion->edges[consumer];
  const PlanCommand *own = &completion->commands[consumer];
  bool in_order = keeps_order(completion, edge.command);
  for (int32_t i = 0; i < own->edge_count; i++) {
    const PlanEdge *given = &own->edges[i];
    bool is_there = given->command == edge.command && given->distance == edge.distance && given->same == 0;
    if (is_there && given->before >= edge.before) return;
  }
  for (int64_t i = 0; i < edges->count; i++) {
    PlanEdge *other = &edges->data[i];
    if (other->command != edge.command) continue;
    if (in_order && edge.distance < other->distance) other->distance = edge.distance;
    if (!in_order && other->distance == edge.distance) other->before = max_i64(other->before, edge.before);
    if (in_order || other->distance == edge.distance) return;
  }
  array_push(edges, completion->scratch, edge);
}

static void collect(Completion *completion, const CommandStream *stream) {
  for (int32_t i = 0; i < stream->commands.count; i++) {
    int32_t label = stream->commands.data[i].label;
    InstanceRange producers = command_stream_edges(stream, i);
    for (int64_t e = 0; e < producers.count; e++) {
      int32_t instance = producers.data[e];
      PlanEdge edge = {.command = stream->commands.data[instance].label};
      edge.distance = completion->started[edge.command] - 1 - completion->ordinals[instance];
      add_edge(completion, label, say(completion, label, edge));
    }
    completion->ordinals[i] = completion->started[label]++;
  }
}

/* The command's edges: the ones it had, then those to be added. */
static void set_edges(Completion *completion, int32_t number, int32_t old_count, const PlanEdge *old) {
  PlanCommand *command = &completion->commands[number];
  const EdgeArray *added = &completion->edges[number];
  PlanEdge *edges = ARENA_NEW_ARRAY(completion->plan->arena, PlanEdge, old_count + added->count);
  for (int32_t i = 0; i < old_count; i++) edges[i] = old[i];
  for (int64_t i = 0; i < added->count; i++) edges[old_count + i] = added->data[i];
  command->edges = edges;
  command->edge_count = old_count + (int32_t)added->count;
}

/* Races and redundant edges: whether bytes are written before they are read does not depend on edges. */
static Status look(Completion *completion, HazardReport *out_report) {
  Arena *arena = arena_create(), *scratch = arena_create();
  CommandStream stream;
  Status status = plan_stream_make(arena, completion->plan, completion->machine, completion->diag, &stream);
  if (status == STATUS_OK) {
    HazardLimits limits = {.kept = 0, .races = 1};
    command_stream_free_objects(&stream);
    status = hazards_check(arena, scratch, &stream, completion->machine, limits, completion->diag, out_report);
  }
  arena_destroy(arena);
  arena_destroy(scratch);
  return status;
}

/* What has been thinned out so far. */
typedef struct Thinning {
  const int32_t *old_counts; /* by command: edges that stay */
  const PlanEdge *const *old_edges;
  HazardReport report;
} Thinning;

/* Keeps the edges of |command| as they are now if that leaves fewer redundant ones and no race. */
static Status try_edges(Completion *completion, Thinning *thinning, int32_t command, bool *out_better) {
  HazardReport report;
  set_edges(completion, command, thinning->old_counts[command], thinning->old_edges[command]);
  RETURN_IF_ERROR(look(completion, &report));
  int64_t redundant = report.counts[HAZARD_REDUNDANT_EDGE];
  *out_better = hazard_report_races(&report) == 0 && redundant < thinning->report.counts[HAZARD_REDUNDANT_EDGE];
  if (*out_better) thinning->report = report;
  return STATUS_OK;
}

static Status try_without(Completion *completion, Thinning *thinning, int32_t command, int64_t place,
                          bool *out_better) {
  EdgeArray *edges = &completion->edges[command];
  PlanEdge tried = edges->data[place];
  edges->data[place] = array_last(edges);
  edges->count--;
  RETURN_IF_ERROR(try_edges(completion, thinning, command, out_better));
  if (*out_better) return STATUS_OK;
  edges->count++;
  array_last(edges) = edges->data[place];
  edges->data[place] = tried;
  return STATUS_OK;
}

static Status try_instead(Completion *completion, Thinning *thinning, int32_t command, int64_t place, PlanEdge edge,
                          bool *out_better) {
  PlanEdge *at = &completion->edges[command].data[place], tried = *at;
  *at = edge;
  RETURN_IF_ERROR(try_edges(completion, thinning, command, out_better));
  if (!*out_better) completion->edges[command].data[place] = tried;
  return STATUS_OK;
}

/* An edge less, or one that is there less often, as long as no race comes of it. */
static Status thin_edge(Completion *completion, Thinning *thinning, int32_t command, int64_t place) {
  bool is_better;
  RETURN_IF_ERROR(try_without(completion, thinning, command, place, &is_better));
  if (is_better) return STATUS_OK;
  PlanEdge edge = completion->edges[command].data[place];
  for (int64_t before = 0; before < min_i64(edge.before, MOST_RUNS) && !is_better; before++) {
    PlanEdge fewer = edge;
    fewer.before = before;
    RETURN_IF_ERROR(try_instead(completion, thinning, command, place, fewer, &is_better));
  }
  edge = completion->edges[command].data[place];
  int32_t depth = plan_loop_depth(completion->plan, plan_edge_reach(completion->plan, command, &edge).loop);
  for (is_better = false, edge.same = depth - 1; edge.same > 0 && !is_better; edge.same--)
    RETURN_IF_ERROR(try_instead(completion, thinning, command, place, edge, &is_better));
  set_edges(completion, command, thinning->old_counts[command], thinning->old_edges[command]);
  return STATUS_OK;
}

/* The first iterations of a loop may ask for what is nearer than what all others ask for, and mostly other commands
 * have waited for that by then. */
static Status loosen_edge(Completion *completion, Thinning *thinning, int32_t command, int64_t place) {
  PlanEdge *edge = &completion->edges[command].data[place], first = *edge;
  PlanEdgeReach reach = plan_edge_reach(completion->plan, command, &first);
  if (reach.loop < 0 || !keeps_order(completion, first.command)) return STATUS_OK;
  int64_t farthest = *farthest_of(completion, command, first.command), nearest = first.distance + reach.runs;
  nearest = max_i64(nearest, farthest - (MOST_RUNS - 1) * reach.runs);
  for (int64_t distance = farthest; distance >= nearest; distance -= reach.runs) {
    HazardReport report;
    edge->distance = distance;
    set_edges(completion, command, thinning->old_counts[command], thinning->old_edges[command]);
    RETURN_IF_ERROR(look(completion, &report));
    if (hazard_report_races(&report) > 0) continue;
    thinning->report = report;
    return STATUS_OK;
  }
  *edge = first;
  set_edges(completion, command, thinning->old_counts[command], thinning->old_edges[command]);
  return STATUS_OK;
}

static Status loosen_edges(Completion *completion, Thinning *thinning) {
  for (int32_t c = completion->plan->command_count - 1; c >= 0; c--) {
    for (int64_t e = 0; e < completion->edges[c].count; e++) RETURN_IF_ERROR(loosen_edge(completion, thinning, c, e));
  }
  return STATUS_OK;
}

/* Looks at one edge after the other while some are redundant in some run. */
static Status thin_edges(Completion *completion, Thinning *thinning) {
  for (int32_t c = completion->plan->command_count - 1; c >= 0; c--) {
    for (int64_t e = completion->edges[c].count - 1; e >= 0; e--) {
      if (thinning->report.counts[HAZARD_REDUNDANT_EDGE] == 0) return STATUS_OK;
      RETURN_IF_ERROR(thin_edge(completion, thinning, c, e));
    }
  }
  return STATUS_OK;
}

/* Commands of a loop that all wait for the same need not if each waits for the one before it. */
static Status chain_waiters(Completion *completion, Thinning *thinning) {
  for (int32_t c = 0; c < completion->plan->command_count; c++) {
    if (thinning->report.counts[HAZARD_REDUNDANT_EDGE] == 0) return STATUS_OK;
    int32_t depth = plan_loop_depth(completion->plan, completion->commands[c].loop);
    if (depth == 0 || keeps_order(completion, c)) continue;
    bool is_better;
    array_push(&completion->edges[c], completion->scratch, ((PlanEdge){.command = c, .same = depth - 1}));
    RETURN_IF_ERROR(try_edges(completion, thinning, c, &is_better));
    if (is_better) continue;
    completion->edges[c].count--;
    set_edges(completion, c, thinning->old_counts[c], thinning->old_edges[c]);
  }
  return STATUS_OK;
}

static Status thin_out(Completion *completion, const int32_t *old_counts, const PlanEdge *const *old_edges) {
  Thinning thinning = {.old_counts = old_counts, .old_edges = old_edges};
  RETURN_IF_ERROR(look(completion, &thinning.report));
  RETURN_IF_ERROR(loosen_edges(completion, &thinning));
  RETURN_IF_ERROR(thin_edges(completion, &thinning));
  RETURN_IF_ERROR(chain_waiters(completion, &thinning));
  return thin_edges(completion, &thinning);
}

/* The edges of |stream| between commands, with those that were there. */
static void add_collected(Completion *completion, const CommandStream *stream, int32_t *counts, const PlanEdge **old) {
  int32_t count = completion->plan->command_count;
  completion->ordinals = ARENA_NEW_ARRAY(completion->scratch, int32_t, stream->commands.count);
  completion->started = ARENA_NEW_ARRAY(completion->scratch, int32_t, count);
  completion->edges = ARENA_NEW_ARRAY(completion->scratch, EdgeArray, count);
  completion->farthest = ARENA_NEW_ARRAY(completion->scratch, int64_t, (int64_t)count *count);
  collect(completion, stream);
  for (int32_t c = 0; c < count; c++) {
    counts[c] = completion->commands[c].edge_count;
    old[c] = completion->commands[c].edges;
    set_edges(completion, c, counts[c], old[c]);
  }
}

static Status complete(Completion *completion) {
  Plan *plan = completion->plan;
  CommandStream stream, derived;
  RETURN_IF_ERROR(plan_stream_make(completion->scratch, plan, completion->machine, completion->diag, &stream));
  HazardReport before;
  RETURN_IF_ERROR(hazards_check(completion->scratch, completion->scratch, &stream, completion->machine,
                                (HazardLimits){.kept = 0, .races = 1}, completion->diag, &before));
  if (before.counts[HAZARD_FORWARD_EDGE] > 0 || before.counts[HAZARD_BOUNDS] > 0) return STATUS_OK;
  RETURN_IF_ERROR(hazards_derive_edges(completion->scratch, completion->scratch, &stream, completion->machine,
                                       completion->diag, &derived));
  int32_t *counts = ARENA_NEW_ARRAY(completion->scratch, int32_t, plan->command_count);
  const PlanEdge **old = ARENA_NEW_ARRAY(completion->scratch, const PlanEdge *, plan->command_count);
  add_collected(completion, &derived, counts, old);
  return stream.commands.count <= MOST_TRIED ? thin_out(completion, counts, old) : STATUS_OK;
}

Status plan_edges_complete(Plan *plan, const MachineDescription *machine, PlanCommand *commands, DiagSink *diag) {
  Completion completion = {arena_create(), plan, machine, commands, diag, NULL, NULL, NULL, NULL};
  Status status = complete(&completion);
  arena_destroy(completion.scratch);
  return status;
}

/* --- barriers of Tensors --- */

static bool is_of_tensor(const Plan *plan, const PlanNode *node) {
  const PlanCommand *command = &plan->commands[node->number];
  return node->kind == PLAN_NODE_COMMAND && command->verb == PLAN_BARRIER && command->target_count > 0;
}

static PlanBlock without_barriers(const Plan *plan, const PlanBlock *block) {
  PlanNode *nodes = ARENA_NEW_ARRAY(plan->arena, PlanNode, block->node_count);
  PlanBlock made = {0, nodes};
  for (int32_t i = 0; i < block->node_count; i++)
    if (!is_of_tensor(plan, &block->nodes[i])) nodes[made.node_count++] = block->nodes[i];
  return made;
}

static bool has_barriers(const Plan *plan) {
  for (int32_t c = 0; c < plan->command_count; c++)
    if (is_of_tensor(plan, &(PlanNode){PLAN_NODE_COMMAND, c})) return true;
  return false;
}

static Status apply_barriers(Completion *completion) {
  const Plan *plan = completion->plan;
  CommandStream stream, applied;
  RETURN_IF_ERROR(plan_stream_make(completion->scratch, plan, completion->machine, completion->diag, &stream));
  for (int32_t i = 0; i < stream.commands.count; i++) {
    InstanceRange edges = command_stream_edges(&stream, i);
    for (int64_t e = 0; e < edges.count; e++)
      if (edges.data[e] >= i) return STATUS_OK; /* the check says so */
  }
  RETURN_IF_ERROR(hazards_apply_barriers(completion->scratch, completion->scratch, &stream, completion->machine,
                                         completion->diag, &applied));
  int32_t *counts = ARENA_NEW_ARRAY(completion->scratch, int32_t, plan->command_count);
  const PlanEdge **old = ARENA_NEW_ARRAY(completion->scratch, const PlanEdge *, plan->command_count);
  add_collected(completion, &applied, counts, old);
  return STATUS_OK;
}

Status plan_edges_of_barriers(Plan *plan, const MachineDescription *machine, PlanCommand *commands, DiagSink *diag) {
  if (!has_barriers(plan)) return STATUS_OK;
  Completion completion = {arena_create(), plan, machine, commands, diag, NULL, NULL, NULL, NULL};
  Status status = apply_barriers(&completion);
  arena_destroy(completion.scratch);
  PlanLoop *loops = ARENA_COPY_ARRAY(plan->arena, PlanLoop, plan->loops, plan->loop_count);
  for (int32_t l = 0; l < plan->loop_count; l++) loops[l].body = without_barriers(plan, &loops[l].body);
  plan->loops = loops;
  plan->block = without_barriers(plan, &plan->block);
  return status;
}
