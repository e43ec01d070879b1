/* Edges between instances → edges between commands. */
#include <inttypes.h>

#include "codegen/oncore/plan/plan_stream.h"
#include "codegen/oncore/tiling/plan_edges.h"
#include "hlo/machine/stream/hazards.h"

/* Beyond so many instances edges are not tried one by one. */
#define MOST_TRIED (INT64_C(1) << 18)

typedef ARRAY(PlanEdge) EdgeArray;

typedef struct Completion {
  Arena *scratch;
  Plan *plan;
  const MachineDescription *machine;
  PlanCommand *commands;
  DiagSink *diag;
  EdgeArray *edges;  /* by command: new ones */
  int32_t *ordinals; /* by instance: which one of its command's */
  int32_t *started;  /* by command */
} Completion;

/* The distance that the language can say and that is at least as strict. */
static Status say(const Completion *completion, int32_t consumer, PlanEdge *edge) {
  const PlanCommand *own = &completion->commands[consumer], *producer = &completion->commands[edge->command];
  int32_t loop = plan_common_loop(completion->plan, own->loop, producer->loop);
  int64_t runs = plan_loop_instances(completion->plan, producer->loop) / plan_loop_instances(completion->plan, loop);
  int64_t said = loop < 0 ? 0 : edge->distance - edge->distance % runs;
  bool in_order = completion->machine->queues[producer->queue].complete == COMPLETE_IN_ORDER;
  if (said != edge->distance && !in_order)
    return diag_error(completion->diag, STATUS_UNSUPPORTED, own->loc, "plan-edge",
                      "'%.*s' has to wait for single runs of '%.*s', which an edge cannot express", SV_ARG(own->label),
                      SV_ARG(producer->label));
  edge->distance = said;
  return STATUS_OK;
}

static void add_edge(const Completion *completion, int32_t consumer, PlanEdge edge) {
  EdgeArray *edges = &completion->edges[consumer];
  const PlanCommand *own = &completion->commands[consumer];
  bool in_order = completion->machine->queues[completion->commands[edge.command].queue].complete == COMPLETE_IN_ORDER;
  for (int32_t i = 0; i < own->edge_count; i++) {
    bool same = own->edges[i].command == edge.command && own->edges[i].distance == edge.distance;
    if (same) return;
  }
  for (int64_t i = 0; i < edges->count; i++) {
    PlanEdge *other = &edges->data[i];
    if (other->command != edge.command) continue;
    if (in_order && edge.distance < other->distance) other->distance = edge.distance;
    if (in_order || other->distance == edge.distance) return;
  }
  array_push(edges, completion->scratch, edge);
}

static Status collect(Completion *completion, const CommandStream *stream) {
  for (int32_t i = 0; i < stream->commands.count; i++) {
    int32_t label = stream->commands.data[i].label;
    InstanceRange producers = command_stream_edges(stream, i);
    for (int64_t e = 0; e < producers.count; e++) {
      int32_t instance = producers.data[e];
      PlanEdge edge = {.command = stream->commands.data[instance].label};
      edge.distance = completion->started[edge.command] - 1 - completion->ordinals[instance];
      RETURN_IF_ERROR(say(completion, label, &edge));
      add_edge(completion, label, edge);
    }
    completion->ordinals[i] = completion->started[label]++;
  }
  return STATUS_OK;
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

static Status look(Completion *completion, HazardReport *out_report) {
  Arena *arena = arena_create(), *scratch = arena_create();
  CommandStream stream;
  Status status = plan_stream_make(arena, completion->plan, completion->machine, completion->diag, &stream);
  if (status == STATUS_OK) {
    HazardLimits limits = {.kept = 0, .races = 1};
    status = hazards_check(arena, scratch, &stream, completion->machine, limits, completion->diag, out_report);
  }
  arena_destroy(arena);
  arena_destroy(scratch);
  return status;
}

/* Leaves out one edge after the other that some run showed to be redundant, as long as no race comes of it. */
static Status thin_out(Completion *completion, const int32_t *old_counts, const PlanEdge *const *old_edges) {
  HazardReport report;
  RETURN_IF_ERROR(look(completion, &report));
  for (int32_t c = completion->plan->command_count - 1; c >= 0; c--) {
    EdgeArray *edges = &completion->edges[c];
    for (int64_t e = edges->count - 1; e >= 0 && report.counts[HAZARD_REDUNDANT_EDGE] > 0; e--) {
      PlanEdge tried = edges->data[e];
      HazardReport without;
      edges->data[e] = array_last(edges);
      edges->count--;
      set_edges(completion, c, old_counts[c], old_edges[c]);
      RETURN_IF_ERROR(look(completion, &without));
      bool is_better = hazard_report_races(&without) == 0 &&
                       without.counts[HAZARD_REDUNDANT_EDGE] < report.counts[HAZARD_REDUNDANT_EDGE];
      if (is_better) {
        report = without;
        continue;
      }
      edges->count++;
      array_last(edges) = edges->data[e];
      edges->data[e] = tried;
      set_edges(completion, c, old_counts[c], old_edges[c]);
    }
  }
  return STATUS_OK;
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
  completion->ordinals = ARENA_NEW_ARRAY(completion->scratch, int32_t, stream.commands.count);
  completion->started = ARENA_NEW_ARRAY(completion->scratch, int32_t, plan->command_count);
  completion->edges = ARENA_NEW_ARRAY(completion->scratch, EdgeArray, plan->command_count);
  RETURN_IF_ERROR(collect(completion, &derived));
  int32_t *counts = ARENA_NEW_ARRAY(completion->scratch, int32_t, plan->command_count);
  const PlanEdge **old = ARENA_NEW_ARRAY(completion->scratch, const PlanEdge *, plan->command_count);
  for (int32_t c = 0; c < plan->command_count; c++) {
    counts[c] = completion->commands[c].edge_count;
    old[c] = completion->commands[c].edges;
    set_edges(completion, c, counts[c], old[c]);
  }
  return stream.commands.count <= MOST_TRIED ? thin_out(completion, counts, old) : STATUS_OK;
}

Status plan_edges_complete(Plan *plan, const MachineDescription *machine, PlanCommand *commands, DiagSink *diag) {
  Completion completion = {arena_create(), plan, machine, commands, diag, NULL, NULL, NULL};
  Status status = complete(&completion);
  arena_destroy(completion.scratch);
  return status;
}
