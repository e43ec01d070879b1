/* What is wrong with a plan, in the plan's own words: commands by their labels and iterations, bytes by their Tensors,
 * and the edge that is missing as text. */
#include <inttypes.h>

#include "base/hash_map.h"
#include "codegen/oncore/plan/plan_check.h"

typedef struct FaultTeller {
  Arena *arena;
  const Plan *plan;
  const MachineDescription *machine;
  const CommandStream *stream;
  const Hazard *hazard; /* at hand */
  int32_t *runs;        /* by instance: how many of its command come before it */
} FaultTeller;

static int32_t label_of(const FaultTeller *teller, int32_t instance) {
  return teller->stream->commands.data[instance].label;
}

static const PlanCommand *command_of(const FaultTeller *teller, int32_t instance) {
  return &teller->plan->commands[label_of(teller, instance)];
}

/* Iterations of |loop|, which is around |instance|'s command, before this one: of all runs of the loop. */
static int64_t iterations_before(const FaultTeller *teller, int32_t instance, int32_t loop) {
  int64_t run = teller->runs[instance];
  for (int32_t l = command_of(teller, instance)->loop; l != loop; l = teller->plan->loops[l].parent)
    run /= teller->plan->loops[l].trip_count;
  return run;
}

/* --- names --- */

/* "i0=3, i1=0 ": loops from the outermost. */
static void print_iterations(const FaultTeller *teller, StringBuilder *out, int32_t instance, int32_t loop) {
  const PlanLoop *around = &teller->plan->loops[loop];
  if (around->parent >= 0) {
    print_iterations(teller, out, instance, around->parent);
    sb_append_cstring(out, ", ");
  }
  sb_printf(out, "%.*s=%" PRId64, SV_ARG(around->name), iterations_before(teller, instance, loop) % around->trip_count);
}

static void print_command(void *context, StringBuilder *out, int32_t instance) {
  const FaultTeller *teller = context;
  const PlanCommand *command = command_of(teller, instance);
  sb_printf(out, "'%.*s'", SV_ARG(command->label));
  if (instance != teller->hazard->second && command->loc.line > 0) sb_printf(out, " of line %u", command->loc.line);
  if (command->loop < 0) return;
  sb_append_cstring(out, " (at ");
  print_iterations(teller, out, instance, command->loop);
  sb_append_char(out, ')');
}

/* The Tensor of |instance|'s operands that has byte |at| of the Buffer, NULL for none. */
static const PlanTensor *tensor_at(const FaultTeller *teller, int32_t instance, int64_t at) {
  if (instance < 0) return NULL;
  const PlanCommand *command = command_of(teller, instance);
  for (int32_t i = 0; i < command->target_count + command->source_count; i++) {
    bool is_target = i < command->target_count;
    const PlanRef *ref = is_target ? &command->targets[i] : &command->sources[i - command->target_count];
    if (ref->is_memory) continue;
    const PlanTensor *tensor = &teller->plan->tensors[ref->number];
    if (at >= tensor->begin && at < tensor->end) return tensor;
  }
  return NULL;
}

static void print_bytes(void *context, StringBuilder *out, const Hazard *hazard) {
  const FaultTeller *teller = context;
  sb_printf(out, "bytes [%" PRId64 ", %" PRId64 ") of '%.*s'", hazard->start, hazard->end,
            SV_ARG(teller->stream->objects.data[hazard->object].name));
  if (hazard->object != BUFFER_OBJECT) return;
  const PlanTensor *tensor = tensor_at(teller, hazard->second, hazard->start);
  const PlanTensor *other = tensor_at(teller, hazard->first, hazard->start);
  if (tensor == NULL) return;
  sb_printf(out, ", in '%.*s'", SV_ARG(tensor->name));
  if (other != NULL && other != tensor) sb_printf(out, " and '%.*s'", SV_ARG(other->name));
}

/* --- the edge that is missing --- */

/* The latest instance of |label| before |instance|. */
static int32_t latest_before(const FaultTeller *teller, int32_t instance, int32_t label) {
  int32_t latest = instance - 1;
  while (latest >= 0 && label_of(teller, latest) != label) latest--;
  return latest;
}

/* As the text of an edge: iterations are counted back through all runs of the innermost loop around both.  Of a queue
 * without order all runs in the iteration are named. */
static void print_edge(const FaultTeller *teller, StringBuilder *out, int32_t first, int32_t second) {
  const PlanCommand *producer = command_of(teller, first);
  int32_t loop = plan_common_loop(teller->plan, producer->loop, command_of(teller, second)->loop);
  int64_t runs = plan_loop_instances(teller->plan, producer->loop) / plan_loop_instances(teller->plan, loop);
  bool in_order = teller->machine->queues[producer->queue].complete == COMPLETE_IN_ORDER;
  bool is_one = in_order || runs == 1;
  sb_append(out, producer->label);
  if (is_one && latest_before(teller, second, label_of(teller, first)) == first) return;
  if (loop < 0) {
    if (!is_one) sb_append_cstring(out, "[:]");
    return;
  }
  int64_t distance = iterations_before(teller, second, loop) - iterations_before(teller, first, loop);
  if (distance == 0 && is_one) return;
  sb_printf(out, "[%.*s-%" PRId64 "%s]", SV_ARG(teller->plan->loops[loop].name), distance, is_one ? "" : ", :");
}

static bool is_race(HazardKind kind) {
  return kind == HAZARD_READ_AFTER_WRITE || kind == HAZARD_WRITE_AFTER_READ || kind == HAZARD_WRITE_AFTER_WRITE;
}

static void note_edge(const FaultTeller *teller, DiagSink *diag) {
  const Hazard *hazard = teller->hazard;
  StringBuilder edge;
  sb_init(&edge, teller->arena);
  print_edge(teller, &edge, hazard->first, hazard->second);
  const PlanCommand *command = command_of(teller, hazard->second);
  diag_note(diag, command_of(teller, hazard->first)->loc, "'%.*s' waits for it with '%s %.*s' at the end of its line",
            SV_ARG(command->label), command->edge_count > 0 ? "," : " after", SV_ARG(sb_view(&edge)));
}

/* --- faults --- */

static const char *const hazard_codes[HAZARD_KIND_COUNT] = {
    [HAZARD_READ_AFTER_WRITE] = "plan-race",
    [HAZARD_WRITE_AFTER_READ] = "plan-race",
    [HAZARD_WRITE_AFTER_WRITE] = "plan-race",
    [HAZARD_UNINITIALISED] = "plan-uninitialised",
    [HAZARD_BOUNDS] = "plan-bounds",
    [HAZARD_ALIGNMENT] = "plan-alignment",
    [HAZARD_READ_ONLY] = "plan-read-only",
    [HAZARD_WRITTEN_TWICE] = "plan-written-twice",
    [HAZARD_NOT_WRITTEN] = "plan-not-written",
    [HAZARD_FORWARD_EDGE] = "plan-forward-edge",
    [HAZARD_DEADLOCK] = "plan-deadlock",
    [HAZARD_OWN_OPERANDS] = "plan-own-operands",
    [HAZARD_FLAGS] = "plan-flags",
    [HAZARD_REDUNDANT_EDGE] = "plan-redundant-edge",
};

/* A mistake is what happens between two commands of the plan in one array, in whatever iterations; races of two are
 * one, since one edge may do. */
static uint64_t mistake_of(const FaultTeller *teller, const Hazard *hazard) {
  uint64_t first = hazard->first >= 0 ? (uint64_t)label_of(teller, hazard->first) + 1 : 0;
  uint64_t second = hazard->second >= 0 ? (uint64_t)label_of(teller, hazard->second) + 1 : 0;
  uint64_t kind = is_race(hazard->kind) ? HAZARD_READ_AFTER_WRITE : hazard->kind;
  return hash_combine(hash_combine(hash_combine(kind, first), second), (uint64_t)(hazard->object + 1));
}

/* Of the command that is at fault; where none is, of the array. */
static SourceLoc place_of(const FaultTeller *teller, const Hazard *hazard) {
  if (hazard->second >= 0) return command_of(teller, hazard->second)->loc;
  StringView name = hazard->object != BUFFER_OBJECT ? teller->stream->objects.data[hazard->object].name : SV("");
  for (int32_t m = 0; m < teller->plan->memory_count; m++) {
    if (sv_equal(teller->plan->memories[m].name, name)) return teller->plan->memories[m].loc;
  }
  return teller->plan->loc;
}

static Status tell(FaultTeller *teller, DiagSink *diag) {
  const Hazard *hazard = teller->hazard;
  HazardNames names = {teller, print_command, print_bytes};
  const char *text = hazard_text(teller->arena, teller->stream, hazard, &names);
  SourceLoc loc = place_of(teller, hazard);
  if (hazard->kind == HAZARD_REDUNDANT_EDGE) {
    diag_warning(diag, loc, hazard_codes[hazard->kind], "in the plan of '%.*s': %s", SV_ARG(teller->plan->name), text);
    return STATUS_OK;
  }
  Status status = diag_error(diag, STATUS_INVALID, loc, hazard_codes[hazard->kind], "in the plan of '%.*s': %s",
                             SV_ARG(teller->plan->name), text);
  if (is_race(hazard->kind)) note_edge(teller, diag);
  return status;
}

Status plan_verdict_report(const Plan *plan, const PlanVerdict *verdict, DiagSink *diag) {
  const CommandStream *stream = &verdict->stream;
  if (verdict->hazards.hazard_count == 0) return STATUS_OK;
  Arena *scratch = arena_create();
  FaultTeller teller = {.arena = scratch, .plan = plan, .machine = verdict->machine, .stream = stream};
  int32_t *counts = ARENA_NEW_ARRAY(scratch, int32_t, plan->command_count);
  teller.runs = ARENA_NEW_ARRAY(scratch, int32_t, stream->commands.count);
  for (int64_t i = 0; i < stream->commands.count; i++) teller.runs[i] = counts[stream->commands.data[i].label]++;
  IntMap told;
  int_map_init(&told, scratch);
  Status status = STATUS_OK;
  for (int64_t h = 0; h < verdict->hazards.hazard_count; h++) {
    int64_t before;
    teller.hazard = &verdict->hazards.hazards[h];
    uint64_t mistake = mistake_of(&teller, teller.hazard);
    if (int_map_find(&told, mistake, &before)) continue;
    int_map_set(&told, mistake, h);
    Status one = tell(&teller, diag);
    if (one != STATUS_OK) status = one;
  }
  arena_destroy(scratch);
  return status;
}
