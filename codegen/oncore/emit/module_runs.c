#include "codegen/oncore/emit/module_runs.h"

#include <math.h>

#include "base/checked_math.h"
#include "codegen/oncore/emit/module_plans.h"
#include "codegen/oncore/plan/plan_stream.h"
#include "codegen/oncore/plan/run_time_views.h"
#include "codegen/oncore/run/plan_copies.h"
#include "codegen/oncore/run/plan_keep.h"
#include "codegen/oncore/run/run_touches.h"
#include "hlo/analysis/execution_counts.h"
#include "hlo/machine/stream/hazards.h"

/* A run ends where it would have more instances of commands: they are looked at one by one. */
#define MOST_RUN_INSTANCES (INT64_C(1) << 17)
#define ANY_BYTES (INT64_C(1) << 60) /* of an array whose size does not matter */

typedef struct RunFinder {
  Arena *arena;
  const BufferAssignment *assignment;
  const ModulePlans *plans;
  DiagSink *diag;
  const CommandStream **streams; /* by plan; NULL: not made yet */
  double *cycles;                /* by plan: by itself */
  RunTouches touches;            /* of the computation at hand */
  bool *is_alone;                /* by event: a Kernel that is in no run */
  ARRAY(RunLaunch) launches;
  ModuleRuns *runs;
  bool proves; /* runs, on machines that count */
} RunFinder;

/* Launches that might be a run: events [first, end) that are Kernels, or (the last) a loop before which arrays are
 * loaded. */
typedef struct OpenRun {
  int32_t first, end, count;
  int64_t instances;
  bool is_over; /* a loop follows */
} OpenRun;

/* --- plans --- */

/* What is loaded before |event|, a loop, because it is resident there; NULL: nothing, or it is none. */
static const LoopMove *move_before(const RunFinder *finder, int32_t event) {
  const RunEvent *of = &finder->touches.events.data[event];
  for (int32_t m = 0; m < finder->plans->move_count && of->use == NULL; m++) {
    const LoopMove *move = &finder->plans->moves[m];
    if (move->loop == of->instruction && !move->is_after) return move;
  }
  return NULL;
}

/* The plan that |event| launches, -1: none. */
static int32_t plan_of(const RunFinder *finder, int32_t event) {
  const RunEvent *of = &finder->touches.events.data[event];
  if (of->use != NULL) return module_plans_number(finder->plans, of->use);
  const LoopMove *move = move_before(finder, event);
  return move != NULL ? move->plan : -1;
}

static Status find_stream(RunFinder *finder, int32_t number) {
  if (finder->streams[number] != NULL) return STATUS_OK;
  const ModulePlan *plan = &finder->plans->plans[number];
  const MachineDescription *machine = finder->plans->machine;
  if (plan->verdict.machine != NULL) {
    finder->streams[number] = &plan->verdict.stream;
    finder->cycles[number] = plan->verdict.simulation.cycles;
    return STATUS_OK;
  }
  CommandStream *stream = ARENA_NEW(finder->arena, CommandStream);
  RETURN_IF_ERROR(plan_stream_make(finder->arena, plan->plan, machine, finder->diag, stream));
  finder->streams[number] = stream;
  Arena *scratch = arena_create();
  finder->cycles[number] = queue_simulation_run(scratch, scratch, stream, machine).cycles;
  arena_destroy(scratch);
  return STATUS_OK;
}

static bool has_barriers(const Plan *plan) {
  for (int32_t c = 0; c < plan->command_count; c++)
    if (plan->commands[c].verb == PLAN_BARRIER) return true;
  return false;
}

/* --- what may be in one run --- */

static const RunTouch *touch_of_buffer(const RunFinder *finder, int32_t event, int32_t buffer) {
  const LoopMove *move = move_before(finder, event);
  for (int32_t t = finder->touches.begins[event]; t < finder->touches.begins[event + 1]; t++) {
    const RunTouch *touch = &finder->touches.touches.data[t];
    if (move == NULL ? touch->buffer == buffer : touch->holder == move->loop && touch->node == move->leaves[buffer])
      return touch;
  }
  return NULL;
}

/* Whether it is known where all arrays of |event|'s plan lie. */
static bool is_placed(const RunFinder *finder, int32_t event, const Plan *plan) {
  for (int32_t m = 0; m < plan->memory_count; m++) {
    const PlanMemory *memory = &plan->memories[m];
    if (memory->kind != PLAN_TEMPORARY && touch_of_buffer(finder, event, memory->number) == NULL) return false;
  }
  return plan->kernel != NULL && !has_barriers(plan);
}

/* Whether a Kernel of |run| writes bytes of |touch|, or, where that writes, reads some. */
static bool meets_run(const RunFinder *finder, const OpenRun *run, const RunTouch *touch) {
  for (int32_t t = finder->touches.begins[run->first]; t < finder->touches.begins[run->end]; t++) {
    const RunTouch *other = &finder->touches.touches.data[t];
    if (other->buffer >= 0 && run_touches_meet(other, touch) && (other->writes || touch->writes)) return true;
  }
  return false;
}

/* Whether the scalar unit, between Kernels of |run|, has to wait for them at |event|. */
static bool needs_results(const RunFinder *finder, const OpenRun *run, int32_t event) {
  for (int32_t t = finder->touches.begins[event]; t < finder->touches.begins[event + 1]; t++)
    if (meets_run(finder, run, &finder->touches.touches.data[t])) return true;
  return false;
}

/* Whether the scalar unit, at the entry of |event|'s plan, reads what Kernels of |run| write. */
static bool reads_scalars_of(const RunFinder *finder, const OpenRun *run, int32_t event, const Plan *plan) {
  for (int32_t b = 0; b < plan->kernel->buffer_count; b++) {
    const RunTouch *touch = plan_reads_at_entry(plan, b) ? touch_of_buffer(finder, event, b) : NULL;
    if (touch != NULL && meets_run(finder, run, touch)) return true;
  }
  return false;
}

/* --- the stream of a run --- */

/* The commands of a run, and which launch each is of. */
typedef struct RunStream {
  RunFinder *finder;
  Arena *scratch;
  CommandStream stream;
  IntMap object_of_allocation;
  int32_t space; /* object: what lies beside the Buffer in the space of plans with residents */
  int32_t launches;
  int32_t *first;       /* by launch, and after the last: its first instance */
  const int32_t *event; /* by launch */
  int32_t *launch_of;   /* by instance */
  int32_t *place;       /* by instance: its number among those of its queue and launch */
} RunStream;

/* An object of a plan's stream, in the run's. */
typedef struct ObjectPlace {
  int32_t object;
  int64_t offset, bytes;
  bool is_anywhere; /* run-time numbers say which bytes are touched, so all of them are */
} ObjectPlace;

static int32_t allocation_object(RunStream *run, int32_t allocation) {
  int64_t found;
  if (int_map_find(&run->object_of_allocation, (uint64_t)allocation, &found)) return (int32_t)found;
  int32_t object = command_stream_add_object(&run->stream, SV("memory"), ANY_BYTES, OBJECT_INITIALISED);
  int_map_set(&run->object_of_allocation, (uint64_t)allocation, object);
  return object;
}

static ObjectPlace temporary_place(RunStream *run, int32_t event, int32_t number, int64_t temporary) {
  int64_t offset = run->finder->plans->spaces[number].temporaries[temporary];
  if (module_plans_is_resident(run->finder->plans, number)) return (ObjectPlace){run->space, offset, 0, false};
  const HloInstruction *instruction = run->finder->touches.events.data[event].instruction;
  const BufferScratch *scratch = buffer_assignment_scratch(run->finder->assignment, instruction);
  if (scratch == NULL) XLAC_BUG("a plan with temporaries has no scratch");
  return (ObjectPlace){allocation_object(run, scratch->allocation), scratch->offset + offset, 0, false};
}

/* Whether run-time numbers say where in |view|'s array commands work. */
static bool is_at_run_time(const Plan *plan, const PlanMemory *view) {
  for (int32_t c = 0; plan->scalar_count > 0 && c < plan->command_count; c++) {
    const PlanCommand *command = &plan->commands[c];
    for (int32_t i = 0; i < command->source_count + command->target_count; i++) {
      const PlanRef *ref =
          i < command->source_count ? &command->sources[i] : &command->targets[i - command->source_count];
      const PlanMemory *of = ref->is_memory ? &plan->memories[ref->number] : NULL;
      bool is_of_array = of != NULL && of->kind == view->kind && of->number == view->number;
      if (is_of_array && run_time_sum(plan, ref, NULL, NULL)) return true;
    }
  }
  return false;
}

/* By object of the plan's stream: views of arrays by their first ones, then residents (plan_stream.h).  |of_view|: by
 * view, the object. */
static const ObjectPlace *find_places(RunStream *run, int32_t event, int32_t number, const CommandStream *stream,
                                      int32_t *of_view) {
  const Plan *plan = run->finder->plans->plans[number].plan;
  ObjectPlace *places = ARENA_NEW_ARRAY(run->scratch, ObjectPlace, stream->objects.count);
  int32_t count = 1;
  for (int32_t m = 0; m < plan->memory_count; m++) {
    const PlanMemory *memory = &plan->memories[m];
    int32_t first = plan_first_view(plan, m);
    of_view[m] = first < m ? of_view[first] : count;
    if (first < m) continue;
    if (memory->kind == PLAN_TEMPORARY) {
      places[count] = temporary_place(run, event, number, memory->number);
    } else {
      const RunTouch *touch = touch_of_buffer(run->finder, event, memory->number);
      places[count] = (ObjectPlace){allocation_object(run, touch->allocation), touch->offset, 0, false};
    }
    places[count].bytes = stream->objects.data[count].bytes;
    places[count].is_anywhere = is_at_run_time(plan, memory);
    count++;
  }
  for (int32_t o = count; o < stream->objects.count; o++) {
    const StreamObject *resident = &stream->objects.data[o];
    places[o] = (ObjectPlace){BUFFER_OBJECT, resident->begin, resident->bytes, plan->scalar_count > 0};
  }
  return places;
}

/* Whether code does not say which bytes of an array in memory |command| touches, whatever its plan knows. */
static bool hides_bytes(const CommandVariants *command) {
  for (int32_t v = 0; v < command->count; v++) {
    const CommandVariant *variant = &command->variants[v];
    for (int32_t a = 0; a < variant->access_count; a++)
      if (variant->accesses[a].is_anywhere) return true;
  }
  return false;
}

static void add_box(RunStream *run, const ObjectPlace *place, ByteBox box, bool writes) {
  if (place->is_anywhere) box = (ByteBox){.bytes = place->bytes};
  box.base += place->offset;
  box.align = 0;
  if (writes)
    command_stream_add_write(&run->stream, place->object, &box);
  else
    command_stream_add_read(&run->stream, place->object, &box);
}

/* One launch whose commands are added. */
typedef struct AddedLaunch {
  const Plan *plan;
  const PlanSpace *space;
  const CommandStream *stream;
  const ObjectPlace *places; /* by object of |stream| */
  const int32_t *of_view;
} AddedLaunch;

static void add_accesses(RunStream *run, const AddedLaunch *launch, int32_t instance) {
  const CommandStream *from = launch->stream;
  int32_t label = from->commands.data[instance].label;
  const PlanCommand *command = &launch->plan->commands[label];
  bool is_hidden = command_is_transfer(command) && hides_bytes(&launch->space->variants[label]);
  if (is_hidden) {
    bool stores = command->verb == PLAN_STORE;
    const PlanRef *memory = stores ? &command->targets[0] : &command->sources[0];
    ObjectPlace place = launch->places[launch->of_view[memory->number]];
    place.is_anywhere = true;
    add_box(run, &place, (ByteBox){0}, stores);
  }
  InstanceRange accesses = command_stream_accesses(from, instance);
  for (int64_t a = 0; a < accesses.count; a++) {
    int32_t box = stream_access_box(accesses.data[a]);
    const ObjectPlace *place = &launch->places[from->boxes.data[box].object];
    if (is_hidden && place->object != BUFFER_OBJECT) continue;
    add_box(run, place, command_stream_box(from, box), stream_access_writes(accesses.data[a]));
  }
}

static void add_launch(RunStream *run, int32_t number) {
  const ModulePlans *plans = run->finder->plans;
  int32_t event = run->event[number], plan = plan_of(run->finder, event), first = run->first[number];
  AddedLaunch launch = {plans->plans[plan].plan, &plans->spaces[plan], run->finder->streams[plan], NULL, NULL};
  int32_t *of_view = ARENA_NEW_ARRAY(run->scratch, int32_t, launch.plan->memory_count);
  int32_t *counts = ARENA_NEW_ARRAY(run->scratch, int32_t, plans->machine->queue_count);
  launch.places = find_places(run, event, plan, launch.stream, of_view);
  launch.of_view = of_view;
  for (int32_t i = 0; i < launch.stream->commands.count; i++) {
    const StreamCommand *command = &launch.stream->commands.data[i];
    int32_t instance;
    if (plans->machine->queues[command->queue].kind == QUEUE_EXEC) {
      instance = command_stream_add_operation(&run->stream, number, command->queue, command->work.cycles);
    } else {
      instance = command_stream_add_transfer(&run->stream, number, command->queue, command->work.bytes, command->rows);
      command_stream_set_descriptors(&run->stream, command->descriptors);
    }
    InstanceRange edges = command_stream_edges(launch.stream, i);
    add_accesses(run, &launch, i);
    for (int64_t e = 0; e < edges.count; e++) command_stream_add_edge(&run->stream, first + edges.data[e]);
    run->launch_of[instance] = number;
    run->place[instance] = counts[command->queue]++;
  }
  run->first[number + 1] = first + (int32_t)launch.stream->commands.count;
}

/* Room for the |instances| of all launches. */
static void reserve_stream(RunStream *run, int64_t instances) {
  RunFinder *finder = run->finder;
  int64_t accesses = 0, edges = 0;
  for (int32_t l = 0; l < run->launches; l++) {
    const CommandStream *stream = finder->streams[plan_of(finder, run->event[l])];
    accesses += stream->accesses.count;
    edges += stream->edges.count;
  }
  array_reserve(&run->stream.commands, run->scratch, instances);
  array_reserve(&run->stream.accesses, run->scratch, accesses);
  array_reserve(&run->stream.edges, run->scratch, edges);
}

static void make_run_stream(RunStream *run, const OpenRun *open) {
  RunFinder *finder = run->finder;
  Arena *scratch = run->scratch;
  int32_t *events = ARENA_NEW_ARRAY(scratch, int32_t, open->count);
  for (int32_t e = open->first; e < open->end; e++)
    if (plan_of(finder, e) >= 0) events[run->launches++] = e;
  run->event = events;
  run->first = ARENA_NEW_ARRAY(scratch, int32_t, run->launches + 1);
  run->launch_of = ARENA_NEW_ARRAY(scratch, int32_t, open->instances);
  run->place = ARENA_NEW_ARRAY(scratch, int32_t, open->instances);
  int_map_init(&run->object_of_allocation, scratch);
  command_stream_init(&run->stream, scratch, finder->plans->machine->buffer.size);
  run->stream.objects.data[BUFFER_OBJECT].flags |= OBJECT_INITIALISED; /* each plan is proved by itself as well */
  run->space = command_stream_add_object(&run->stream, SV("space"), ANY_BYTES, OBJECT_INITIALISED);
  reserve_stream(run, open->instances);
  for (int32_t l = 0; l < run->launches; l++) add_launch(run, l);
}

/* --- links --- */

/* The edges of |derived| that the run's stream has not; false with a launch that waits for itself: its own edges know
 * more than the run's stream does, and it cannot be in one. */
static bool find_links(const RunStream *run, const CommandStream *derived, RunLaunch *launches, int32_t *out_launch) {
  Arena *arena = run->finder->arena;
  for (int32_t l = 0; l < run->launches; l++) {
    ARRAY(LaunchLink) links = {0};
    for (int32_t i = run->first[l]; i < run->first[l + 1]; i++) {
      InstanceRange edges = command_stream_edges(derived, i);
      for (int64_t e = command_stream_edges(&run->stream, i).count; e < edges.count; e++) {
        int32_t from = edges.data[e];
        *out_launch = l;
        if (run->launch_of[from] == l) return false;
        LaunchLink link = {.queue = derived->commands.data[i].queue, .command = run->place[i]};
        link.from_queue = derived->commands.data[from].queue;
        link.from_command = run->place[from];
        link.back = l - run->launch_of[from];
        array_push(&links, arena, link);
      }
    }
    launches[l] = (RunLaunch){l, run->launches, links.count, links.data, 0};
  }
  return true;
}

static void find_cycles(const RunStream *run, const QueueSimulation *simulation, RunLaunch *launches) {
  double end = 0;
  for (int32_t l = 0; l < run->launches; l++) {
    double begin = end;
    for (int32_t i = run->first[l]; i < run->first[l + 1]; i++) end = fmax(end, simulation->ends[i]);
    launches[l].cycles = end - begin;
  }
}

static void keep_run(RunFinder *finder, const RunStream *run, const RunLaunch *launches, double saved, double times) {
  for (int32_t l = 0; l < run->launches; l++) {
    const KernelUse *use = finder->touches.events.data[run->event[l]].use;
    if (use != NULL) int_map_set(&finder->runs->launch_of_use, (uintptr_t)use, finder->launches.count);
    array_push(&finder->launches, finder->arena, launches[l]);
    finder->runs->links += (double)launches[l].link_count * times;
  }
  finder->runs->saved += saved * times;
}

/* The derivation leaves no race, which is checked where plans are; but flags it does not count. */
static Status prove_run(const RunFinder *finder, Arena *scratch, const CommandStream *stream, bool *out_proved) {
  const MachineDescription *machine = finder->plans->machine;
  *out_proved = true;
  if (!finder->proves && machine->sync.kind != SYNC_FLAG) return STATUS_OK;
  HazardReport report;
  RETURN_IF_ERROR(hazards_check(scratch, scratch, stream, machine, HAZARD_LIMITS_DEFAULT, finder->diag, &report));
  if (hazard_report_races(&report) > 0) XLAC_BUG("links of a run leave a race");
  *out_proved = report.counts[HAZARD_FLAGS] == 0;
  return STATUS_OK;
}

/* Links of a run, where they can be proved and take fewer cycles.  |*out_again|: a launch was found that is in no run.
 */
static Status link_run(RunFinder *finder, Arena *scratch, const OpenRun *open, double times, bool *out_again) {
  const MachineDescription *machine = finder->plans->machine;
  RunStream run = {.finder = finder, .scratch = scratch};
  make_run_stream(&run, open);
  CommandStream derived;
  RETURN_IF_ERROR(hazards_derive_edges(scratch, scratch, &run.stream, machine, finder->diag, &derived));
  RunLaunch *launches = ARENA_NEW_ARRAY(scratch, RunLaunch, run.launches);
  int32_t alone;
  *out_again = !find_links(&run, &derived, launches, &alone);
  if (*out_again) {
    finder->is_alone[run.event[alone]] = true;
    return STATUS_OK;
  }
  bool is_proved;
  RETURN_IF_ERROR(prove_run(finder, scratch, &derived, &is_proved));
  if (!is_proved) return STATUS_OK;
  QueueSimulation simulation = queue_simulation_run(scratch, scratch, &derived, machine);
  find_cycles(&run, &simulation, launches);
  double saved = -simulation.cycles;
  for (int32_t l = 0; l < run.launches; l++) saved += finder->cycles[plan_of(finder, run.event[l])];
  if (saved > 0) keep_run(finder, &run, launches, saved, times);
  return STATUS_OK;
}

/* --- runs of a computation --- */

static OpenRun empty_run(int32_t event) {
  return (OpenRun){.first = event, .end = event};
}

/* Adds |event| to |run|; false where that ends before it. */
static Status join_run(RunFinder *finder, OpenRun *run, int32_t event, bool *out_joined) {
  const RunEvent *of = &finder->touches.events.data[event];
  int32_t number = plan_of(finder, event);
  *out_joined = false;
  if (run->is_over) return STATUS_OK;
  if (of->use == NULL && number < 0) {
    *out_joined = !of->ends_run && !needs_results(finder, run, event);
    if (*out_joined) run->end = event + 1;
    return STATUS_OK;
  }
  if (number < 0 || finder->is_alone[event]) return STATUS_OK;
  const Plan *plan = finder->plans->plans[number].plan;
  int64_t instances = plan_instance_count(plan);
  if (run->instances + instances > MOST_RUN_INSTANCES || !is_placed(finder, event, plan)) return STATUS_OK;
  if (reads_scalars_of(finder, run, event, plan)) return STATUS_OK;
  RETURN_IF_ERROR(find_stream(finder, number));
  *out_joined = true;
  run->end = event + 1;
  run->instances += instances;
  run->count++;
  run->is_over = of->use == NULL;
  return STATUS_OK;
}

static Status end_run(RunFinder *finder, const OpenRun *run, double times, bool *out_again) {
  *out_again = false;
  if (run->count < 2) return STATUS_OK;
  Arena *scratch = arena_create();
  Status status = link_run(finder, scratch, run, times, out_again);
  arena_destroy(scratch);
  return status;
}

static Status find_runs(RunFinder *finder, double times) {
  int32_t count = (int32_t)finder->touches.events.count;
  finder->is_alone = ARENA_NEW_ARRAY(finder->arena, bool, count);
  OpenRun run = empty_run(0);
  for (int32_t e = 0; e <= count;) {
    bool joined = false, again;
    if (e < count) RETURN_IF_ERROR(join_run(finder, &run, e, &joined));
    if (joined) {
      e++;
      continue;
    }
    RETURN_IF_ERROR(end_run(finder, &run, times, &again));
    if (again) {
      e = run.first;
    } else if (run.first == run.end) {
      e++; /* by itself it joins nothing either */
    }
    run = empty_run(e);
  }
  return STATUS_OK;
}

/* Plans are the module's own here: nobody is asked which of them may change. */
static const Plan *no_plan(void *self, const KernelUse *use) {
  (void)self;
  (void)use;
  return NULL;
}

Status module_runs_find(Arena *arena, const PlacedModule *placed, const ModulePlans *plans, bool is_trial,
                        DiagSink *diag, ModuleRuns *out_runs) {
  const HloModule *module = placed->module;
  *out_runs = (ModuleRuns){0};
  int_map_init(&out_runs->launch_of_use, arena);
  RunFinder finder = {.arena = arena, .assignment = placed->assignment, .plans = plans, .diag = diag, .runs = out_runs};
  finder.proves = plans->detail >= PLANS_PROVED && !is_trial;
  finder.streams = ARENA_NEW_ARRAY(arena, const CommandStream *, plans->count);
  finder.cycles = ARENA_NEW_ARRAY(arena, double, plans->count);
  const double *times = hlo_execution_counts(arena, module, 1);
  const ResidencyModel model = {.plan = no_plan};
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    if (times[computation->id] <= 0) continue;
    run_touches_find(arena, placed, computation, &model, false, &finder.touches);
    RETURN_IF_ERROR(find_runs(&finder, times[computation->id]));
  }
  out_runs->launch_count = finder.launches.count;
  out_runs->launches = finder.launches.data;
  return STATUS_OK;
}

const RunLaunch *module_runs_launch(const ModuleRuns *runs, const KernelUse *use) {
  int64_t number;
  if (runs->launch_count == 0 || !int_map_find(&runs->launch_of_use, (uintptr_t)use, &number)) return NULL;
  return &runs->launches[number];
}
