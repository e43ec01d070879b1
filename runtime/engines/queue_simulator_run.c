/* Launches of a run as one stream of commands: what they take together, and whether their links are enough. */
#include <inttypes.h>

#include "base/checked_math.h"
#include "hlo/machine/stream/hazards.h"
#include "hlo/machine/stream/queue_simulation.h"
#include "hlo/machine/stream/reloads.h"
#include "runtime/engines/queue_simulator_internal.h"

#define ANY_BYTES (INT64_MAX / 2) /* memory is one array, by address */

/* What the launches of a run are timed by. */
typedef struct RunStream {
  QueueSimulator *simulator;
  Arena *arena;
  int64_t count;
  const Launch *const *launches;
  int64_t linked; /* links that are edges of the stream */
  CommandStream stream;
  int32_t *first;   /* by launch, and after the last: its first instance */
  int32_t **queued; /* by launch: its instances by queue, in program order */
  int64_t **begins; /* by launch: by queue, and after the last: where these begin */
  int32_t *labels;  /* by launch, and after the last: the label of its kernel's first command */
} RunStream;

/* --- the stream --- */

/* Bytes of the run's objects: in the Buffer, or of memory. */
static int32_t place_of(const Launch *launch, int32_t object, ByteBox *box) {
  if (object == BUFFER_OBJECT) return BUFFER_OBJECT;
  for (int64_t r = 0; r < launch->region_count; r++) {
    const MemoryRegion *region = &launch->regions[r];
    if (region->stream_object != object) continue;
    bool is_resident = r >= launch->first_resident;
    box->base += is_resident ? launch->stream.objects.data[object].begin : (int64_t)(intptr_t)region->begin;
    return is_resident ? BUFFER_OBJECT : BUFFER_OBJECT + 1;
  }
  XLAC_BUG("an object of a launch that is no region");
}

static void add_access(RunStream *run, const Launch *launch, int32_t access) {
  int32_t number = stream_access_box(access);
  ByteBox box = command_stream_box(&launch->stream, number);
  int32_t object = place_of(launch, launch->stream.boxes.data[number].object, &box);
  if (stream_access_writes(access))
    command_stream_add_write(&run->stream, object, &box);
  else
    command_stream_add_read(&run->stream, object, &box);
}

static void begin_command(RunStream *run, const StreamCommand *command, int32_t label, bool is_transfer) {
  if (command->queue == BARRIER_QUEUE) {
    command_stream_add_barrier(&run->stream, label, command->work.queues);
  } else if (is_transfer) {
    command_stream_add_transfer(&run->stream, label, command->queue, command->work.bytes, command->rows);
    command_stream_set_descriptors(&run->stream, command->descriptors);
  } else {
    command_stream_add_operation(&run->stream, label, command->queue, command->work.cycles);
  }
}

/* Instance |command| of |queue| among those of launch |number|, -1: there is none. */
static int32_t instance_of(const RunStream *run, int64_t number, int64_t queue, int64_t command) {
  if (number < 0 || queue < 0 || queue >= run->simulator->machine->queue_count || command < 0) return -1;
  const int64_t *begins = run->begins[number];
  return command < begins[queue + 1] - begins[queue] ? run->queued[number][begins[queue] + command] : -1;
}

static void sort_by_queue(RunStream *run, int64_t number) {
  const CommandStream *stream = &run->launches[number]->stream;
  int32_t queues = run->simulator->machine->queue_count;
  int64_t *begins = ARENA_NEW_ARRAY(run->arena, int64_t, queues + 1),
          *next = ARENA_NEW_ARRAY(run->arena, int64_t, queues);
  for (int32_t i = 0; i < stream->commands.count; i++)
    if (stream->commands.data[i].queue != BARRIER_QUEUE) begins[stream->commands.data[i].queue + 1]++;
  for (int32_t q = 0; q < queues; q++) begins[q + 1] += begins[q];
  for (int32_t q = 0; q < queues; q++) next[q] = begins[q];
  run->begins[number] = begins;
  run->queued[number] = ARENA_NEW_ARRAY(run->arena, int32_t, stream->commands.count);
  for (int32_t i = 0; i < stream->commands.count; i++) {
    int32_t queue = stream->commands.data[i].queue;
    if (queue != BARRIER_QUEUE) run->queued[number][next[queue]++] = run->first[number] + i;
  }
}

static Status report_link(const RunStream *run, int64_t number) {
  return diag_error(run->simulator->diag, STATUS_INVALID, NO_LOC, "oncore-hazard",
                    "in the run of '%s', up to '%s': a link from or to a command that it has not",
                    run->launches[0]->kernel->name, run->launches[number]->kernel->name);
}

/* Of |instance|, the |place|-th of its queue and launch. */
static Status add_links(RunStream *run, int64_t number, int32_t instance, int64_t place) {
  const XlacOncoreRun *of = run->simulator->open_run;
  int64_t queue = run->launches[number]->stream.commands.data[instance - run->first[number]].queue;
  for (; run->linked < of->link_count; run->linked++) {
    const XlacOncoreLink *link = &of->links[run->linked];
    if (link->launch != number || link->queue != queue || link->command != place) return STATUS_OK;
    int32_t from = link->back >= 1 ? instance_of(run, number - link->back, link->from_queue, link->from_command) : -1;
    if (from < 0) return report_link(run, number);
    command_stream_add_edge(&run->stream, from);
  }
  return STATUS_OK;
}

static Status add_launch(RunStream *run, int64_t number) {
  const Launch *launch = run->launches[number];
  const CommandStream *from = &launch->stream;
  int64_t *counts = ARENA_NEW_ARRAY(run->arena, int64_t, run->simulator->machine->queue_count);
  for (int32_t i = 0; i < from->commands.count; i++) {
    const StreamCommand *command = &from->commands.data[i];
    begin_command(run, command, run->labels[number] + command->label,
                  launch->kernel->commands[command->label].is_transfer);
    InstanceRange accesses = command_stream_accesses(from, i), edges = command_stream_edges(from, i);
    for (int64_t a = 0; a < accesses.count; a++) add_access(run, launch, accesses.data[a]);
    for (int64_t e = 0; e < edges.count; e++) command_stream_add_edge(&run->stream, run->first[number] + edges.data[e]);
    if (command->queue == BARRIER_QUEUE) continue;
    RETURN_IF_ERROR(add_links(run, number, run->first[number] + i, counts[command->queue]++));
  }
  run->first[number + 1] = run->first[number] + (int32_t)from->commands.count;
  sort_by_queue(run, number);
  return STATUS_OK;
}

/* One launch is its own stream. */
static Status make_stream(RunStream *run) {
  run->first = ARENA_NEW_ARRAY(run->arena, int32_t, run->count + 1);
  run->labels = ARENA_NEW_ARRAY(run->arena, int32_t, run->count + 1);
  run->queued = ARENA_NEW_ARRAY(run->arena, int32_t *, run->count);
  run->begins = ARENA_NEW_ARRAY(run->arena, int64_t *, run->count);
  for (int64_t l = 0; l < run->count; l++)
    run->labels[l + 1] = run->labels[l] + (int32_t)run->launches[l]->kernel->command_count;
  if (run->count == 1) {
    run->stream = run->launches[0]->stream;
    run->first[1] = (int32_t)run->stream.commands.count;
    return STATUS_OK;
  }
  command_stream_init(&run->stream, run->arena, run->launches[0]->kernel->buffer_bytes);
  run->stream.objects.data[BUFFER_OBJECT].flags |= OBJECT_INITIALISED; /* each launch is judged by itself as well */
  command_stream_add_object(&run->stream, SV("memory"), ANY_BYTES, OBJECT_INITIALISED);
  for (int64_t l = 0; l < run->count; l++) RETURN_IF_ERROR(add_launch(run, l));
  return run->linked == run->simulator->open_run->link_count ? STATUS_OK : report_link(run, run->count - 1);
}

/* --- hazards --- */

static int64_t launch_at(const int32_t *firsts, int64_t count, int32_t at) {
  int64_t low = 0, high = count - 1;
  while (low < high) {
    int64_t middle = (low + high + 1) / 2;
    if (firsts[middle] <= at)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* " (command 7 is 'ld0' of 'fusion')" */
static const char *instance_text(const RunStream *run, int32_t instance) {
  if (instance < 0) return "";
  int64_t l = launch_at(run->first, run->count, instance);
  const XlacOncoreKernel *kernel = run->launches[l]->kernel;
  int32_t label = run->stream.commands.data[instance].label - run->labels[l];
  return arena_printf(run->arena, " (command %d is '%s' of '%s')", instance, kernel->commands[label].label,
                      kernel->name);
}

static Status report_hazards(const RunStream *run, const HazardReport *report) {
  Status status = STATUS_OK;
  for (int64_t h = 0; h < report->hazard_count; h++) {
    const Hazard *hazard = &report->hazards[h];
    if (hazard->kind == HAZARD_REDUNDANT_EDGE) continue;
    status = diag_error(run->simulator->diag, STATUS_INVALID, NO_LOC, "oncore-hazard", "in the run of '%s': %s%s%s",
                        run->launches[0]->kernel->name, hazard_text(run->arena, &run->stream, hazard, NULL),
                        instance_text(run, hazard->first), instance_text(run, hazard->second));
  }
  return status;
}

/* What is between launches: inside of them all is judged already. */
static Status judge_links(const RunStream *run) {
  HazardReport report;
  Arena *scratch = arena_create();
  Status status = hazards_check(run->arena, scratch, &run->stream, run->simulator->machine, HAZARD_LIMITS_DEFAULT,
                                run->simulator->diag, &report);
  arena_destroy(scratch);
  if (status != STATUS_OK) return status;
  SimulatedKernel *first = simulated_kernel(run->simulator, run->launches[0]->kernel);
  first->redundant += report.counts[HAZARD_REDUNDANT_EDGE]; /* none inside: an earlier launch waits for no later one */
  first->races += hazard_report_races(&report);
  for (int64_t i = 0; i < run->linked; i++) {
    const Launch *launch = run->launches[run->simulator->open_run->links[i].launch];
    simulated_kernel(run->simulator, launch->kernel)->edges++;
  }
  return hazard_report_faults(&report) > 0 ? report_hazards(run, &report) : STATUS_OK;
}

/* --- what a run adds --- */

static SimulatedWait *find_wait(SimulatedKernel *kernel, const SimulatedWait *like) {
  for (int64_t i = 0; i < kernel->waits.count; i++) {
    SimulatedWait *wait = &kernel->waits.data[i];
    bool is_like = wait->wait.kind == like->wait.kind && wait->wait.label == like->wait.label && wait->of == like->of;
    if (is_like && wait->wait.cause == like->wait.cause) return wait;
  }
  return NULL;
}

static void add_wait(const RunStream *run, const QueueWait *row) {
  int64_t l = launch_at(run->labels, run->count, row->label), from = l;
  SimulatedWait made = {.wait = *row};
  made.wait.label -= run->labels[l];
  if (row->kind != WAIT_ROOM) {
    from = launch_at(run->labels, run->count, row->cause);
    made.wait.cause -= run->labels[from];
  }
  made.of = run->launches[from]->kernel;
  SimulatedKernel *kernel = simulated_kernel(run->simulator, run->launches[l]->kernel);
  if (row->kind == WAIT_EDGE) kernel->queues[row->queue].stall += row->cycles;
  SimulatedWait *wait = find_wait(kernel, &made);
  if (wait == NULL) {
    array_push(&kernel->waits, run->simulator->arena, made);
    return;
  }
  wait->wait.count += made.wait.count;
  wait->wait.cycles += made.wait.cycles;
  if (made.wait.longest > wait->wait.longest) wait->wait.longest = made.wait.longest;
}

/* What the commands of launch |number| did; returns the end of the last one. */
static double add_commands(const RunStream *run, const QueueSimulation *simulation, int64_t number) {
  const Launch *launch = run->launches[number];
  const MachineDescription *machine = run->simulator->machine;
  SimulatedKernel *kernel = simulated_kernel(run->simulator, launch->kernel);
  double end = 0;
  for (int32_t i = run->first[number]; i < run->first[number + 1]; i++) {
    int32_t queue = run->stream.commands.data[i].queue;
    if (simulation->ends[i] > end) end = simulation->ends[i];
    if (queue == BARRIER_QUEUE) continue;
    kernel->queues[queue].commands++;
    kernel->queues[queue].busy += simulation->ends[i] - simulation->starts[i];
  }
  QueueWork work = queue_work_of_stream(run->arena, &launch->stream, machine);
  QueueLimit bound = queue_bound(machine, &work);
  StreamLoads loads = stream_loads_find(run->arena, &launch->stream);
  for (int32_t q = 0; q < machine->queue_count; q++) kernel->queues[q].bytes += work.moved[q];
  kernel->bytes += work.bytes;
  kernel->again = kernel->again >= 0 && loads.is_known ? kernel->again + stream_loads_again(&loads) : -1;
  kernel->bound += bound.cycles;
  kernel->limit = queue_limit_text(run->simulator->arena, machine, &bound);
  return end;
}

static void add_to_timeline(const RunStream *run, const QueueSimulation *simulation, int64_t number, double begin,
                            double end) {
  const Launch *launch = run->launches[number];
  QueueSimulation own = *simulation;
  own.starts += run->first[number];
  own.ends += run->first[number];
  queue_timeline_add(run->simulator->timeline, &launch->trace, &launch->stream, &own, begin, end);
}

static void add_simulation(const RunStream *run) {
  Arena *scratch = arena_create();
  QueueSimulation simulation = queue_simulation_run(run->arena, scratch, &run->stream, run->simulator->machine);
  double end = 0;
  for (int64_t l = 0; l < run->count; l++) {
    double own = add_commands(run, &simulation, l), begin = end;
    if (l + 1 == run->count) own = simulation.cycles; /* barriers at the end as well */
    if (own > end) end = own;
    simulated_kernel(run->simulator, run->launches[l]->kernel)->cycles += end - begin;
    if (run->simulator->timeline != NULL) add_to_timeline(run, &simulation, l, begin, end);
  }
  if (run->simulator->timeline != NULL) run->simulator->timeline->cycles += simulation.cycles;
  QueueWaits waits = queue_waits_find(run->arena, &run->stream, &simulation);
  for (int64_t i = 0; i < waits.count; i++) add_wait(run, &waits.rows[i]);
  arena_destroy(scratch);
}

/* --- a run --- */

void simulated_run_forget(QueueSimulator *simulator) {
  for (int64_t l = 0; l < simulator->run.count; l++) arena_destroy(simulator->run.data[l]->arena);
  simulator->run.count = 0;
  simulator->open_run = NULL;
}

void simulated_run_add(QueueSimulator *simulator, const Launch *launch) {
  array_push(&simulator->run, simulator->arena, ARENA_COPY_ARRAY(launch->arena, Launch, launch, 1));
}

Status simulated_run_end(QueueSimulator *simulator) {
  if (simulator->open_run != NULL && simulator->run.count < simulator->open_run->launch_count) {
    simulated_run_forget(simulator);
    return STATUS_OK;
  }
  if (simulator->run.count == 0) return STATUS_OK;
  RunStream run = {.simulator = simulator, .count = simulator->run.count, .launches = simulator->run.data};
  run.arena = arena_create();
  Status status = make_stream(&run);
  if (status == STATUS_OK && run.count > 1) status = judge_links(&run);
  if (status == STATUS_OK) add_simulation(&run);
  arena_destroy(run.arena);
  simulated_run_forget(simulator);
  return status;
}
