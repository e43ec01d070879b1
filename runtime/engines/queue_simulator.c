#include "runtime/engines/queue_simulator.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/checked_math.h"
#include "hlo/machine/stream/hazards.h"
#include "hlo/machine/stream/queue_simulation.h"
#include "runtime/engines/queue_simulator_internal.h"

#define POISON 0xFF

/* --- memory --- */

static int compare_regions(const void *a, const void *b) {
  const MemoryRegion *x = a, *y = b;
  return x->begin != y->begin ? (x->begin > y->begin) - (x->begin < y->begin)
                              : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Arrays that overlap are one: there when one of them is, read only when all are. */
static void join(MemoryRegion *region, const MemoryRegion *other) {
  region->bytes = max_i64(region->bytes, other->begin - region->begin + other->bytes);
  int64_t all = XLAC_ONCORE_READ_ONLY | XLAC_ONCORE_WRITTEN_ONCE | XLAC_ONCORE_TEMPORARY;
  region->flags = (region->flags & other->flags & all) | ((region->flags | other->flags) & XLAC_ONCORE_INITIALISED);
}

static void find_regions(Launch *launch) {
  const XlacOncoreKernel *kernel = launch->kernel;
  int64_t residents = queue_trace_own(&launch->trace).resident_count;
  MemoryRegion *regions = ARENA_NEW_ARRAY(launch->arena, MemoryRegion, kernel->object_count + residents);
  int64_t count = 0, kept = 0;
  for (int64_t o = 0; o < kernel->object_count; o++) {
    const XlacOncoreObject *object = &kernel->objects[o];
    if (object->bytes == 0) continue;
    regions[count++] =
        (MemoryRegion){.begin = launch->context->objects[o], .bytes = object->bytes, .flags = object->flags};
  }
  if (count > 1) qsort(regions, (size_t)count, sizeof *regions, compare_regions);
  for (int64_t r = 0; r < count; r++) {
    bool overlaps = kept > 0 && regions[r].begin < regions[kept - 1].begin + regions[kept - 1].bytes;
    if (overlaps) {
      join(&regions[kept - 1], &regions[r]);
    } else {
      regions[kept++] = regions[r];
    }
  }
  launch->regions = regions;
  launch->region_count = launch->first_resident = kept;
  launch->region_of_object = ARENA_NEW_ARRAY(launch->arena, int64_t, kernel->object_count);
  for (int64_t o = 0; o < kernel->object_count; o++) {
    const char *begin = launch->context->objects[o];
    for (int64_t r = 0; r < kept; r++) {
      if (begin >= regions[r].begin && begin < regions[r].begin + regions[r].bytes) launch->region_of_object[o] = r;
    }
  }
}

/* Residents that begin at one byte are one. */
static void find_residents(Launch *launch) {
  OwnBytes own = queue_trace_own(&launch->trace);
  for (int64_t r = 0; r < own.resident_count; r++) {
    const XlacOncoreResident *resident = &own.residents[r];
    MemoryRegion region = {.name = resident->name, .bytes = resident->bytes, .flags = resident->flags};
    region.begin = (char *)launch->context->buffer + resident->begin;
    int64_t at = launch->first_resident;
    while (at < launch->region_count && launch->regions[at].begin != region.begin) at++;
    if (at < launch->region_count)
      join(&launch->regions[at], &region);
    else
      launch->regions[launch->region_count++] = region;
  }
}

static StringView region_name(const Launch *launch, int64_t region) {
  if (region >= launch->first_resident) return sv_from_cstring(launch->regions[region].name);
  for (int64_t o = 0; o < launch->kernel->object_count; o++) {
    if (launch->kernel->objects[o].bytes > 0 && launch->region_of_object[o] == region)
      return sv_from_cstring(launch->kernel->objects[o].name);
  }
  return SV("");
}

static void add_objects(Launch *launch) {
  for (int64_t r = 0; r < launch->region_count; r++) {
    MemoryRegion *region = &launch->regions[r];
    unsigned flags = 0;
    if (region->flags & XLAC_ONCORE_INITIALISED) flags |= OBJECT_INITIALISED;
    if (region->flags & XLAC_ONCORE_READ_ONLY) flags |= OBJECT_READ_ONLY;
    if (region->flags & XLAC_ONCORE_WRITTEN_ONCE) flags |= OBJECT_WRITTEN_ONCE;
    StringView name = region_name(launch, r);
    region->stream_object =
        r < launch->first_resident
            ? command_stream_add_object(&launch->stream, name, region->bytes, flags)
            : command_stream_add_resident(&launch->stream, name, region->begin - (char *)launch->context->buffer,
                                          region->bytes, flags);
  }
}

/* --- the stream --- */

/* Levels beyond what a box holds are walked. */
static void add_boxes(Launch *launch, int32_t object, const TracedAccess *access, int64_t base, int64_t level) {
  if (access->level_count - level > BYTE_BOX_MAX_LEVELS) {
    for (int64_t i = 0; i < access->levels[level].count; i++)
      add_boxes(launch, object, access, base + i * access->levels[level].stride, level + 1);
    return;
  }
  ByteBox box = {.base = base, .bytes = access->bytes, .level_count = (int)(access->level_count - level)};
  for (int i = 0; i < box.level_count; i++)
    box.levels[i] = (ByteLevel){access->levels[level + i].count, access->levels[level + i].stride};
  if (access->is_write)
    command_stream_add_write(&launch->stream, object, &box);
  else
    command_stream_add_read(&launch->stream, object, &box);
}

/* Of the Buffer: of the resident that it begins in, or of the kernel's own bytes. */
static void add_buffer_access(Launch *launch, const TracedAccess *access) {
  for (int64_t r = launch->first_resident; r < launch->region_count; r++) {
    const MemoryRegion *region = &launch->regions[r];
    if (access->begin < region->begin || access->begin >= region->begin + region->bytes) continue;
    add_boxes(launch, region->stream_object, access, access->begin - region->begin, 0);
    return;
  }
  OwnBytes own = queue_trace_own(&launch->trace);
  int64_t begin = access->begin - (char *)launch->context->buffer, end = begin + access->bytes;
  for (int64_t i = 0; i < access->level_count; i++) end += (access->levels[i].count - 1) * access->levels[i].stride;
  if (begin < own.begin || end > own.end) launch->has_strayed = true;
  add_boxes(launch, BUFFER_OBJECT, access, begin, 0);
}

static void add_access(Launch *launch, const TracedAccess *access) {
  if (access->object == XLAC_ONCORE_BUFFER) {
    add_buffer_access(launch, access);
    return;
  }
  const MemoryRegion *region = &launch->regions[launch->region_of_object[access->object]];
  add_boxes(launch, region->stream_object, access, access->begin - region->begin, 0);
}

static void begin_command(Launch *launch, int64_t number) {
  const XlacOncoreCommand *command = queue_trace_command(&launch->trace, number);
  const XlacOncoreVariant *variant = queue_trace_variant(&launch->trace, number);
  int32_t label = launch->trace.commands.data[number].command;
  if (command->is_transfer) {
    command_stream_add_transfer(&launch->stream, label, command->queue, variant->bytes, variant->rows);
    command_stream_set_descriptors(&launch->stream, queue_trace_descriptors(&launch->trace, number));
  } else {
    command_stream_add_operation(&launch->stream, label, command->queue, variant->cycles);
  }
}

static void add_accesses(Launch *launch, int64_t number) {
  int64_t count = queue_trace_variant(&launch->trace, number)->access_count;
  for (int64_t a = 0; a < count; a++) {
    TracedAccess access;
    if (queue_trace_access(&launch->trace, number, a, &access)) add_access(launch, &access);
  }
}

typedef ARRAY(int32_t) Instances;

static bool is_in_order(const Launch *launch, int64_t queue) {
  return launch->simulator->machine->queues[queue].complete == COMPLETE_IN_ORDER;
}

/* What add_edges knows of the instances so far. */
typedef struct EdgeState {
  Instances *instances; /* by command */
  int64_t *waited;      /* by queue and queue waited for, the latest instance + 1 */
} EdgeState;

/* A queue that keeps its order does not wait again for what it has waited for, on another that does: counters only
 * grow. */
static void add_edge(Launch *launch, EdgeState *state, int64_t to, int64_t from, int32_t producer) {
  int64_t *latest = &state->waited[to * launch->kernel->queue_count + from];
  if (*latest > producer && is_in_order(launch, to) && is_in_order(launch, from)) return;
  *latest = producer + 1;
  command_stream_add_edge(&launch->stream, producer);
}

static void add_edges(Launch *launch, EdgeState *state, int64_t number) {
  const XlacOncoreCommand *command = queue_trace_command(&launch->trace, number);
  int64_t own = state->instances[launch->trace.commands.data[number].command].count;
  for (int64_t e = 0; e < command->edge_count; e++) {
    const XlacOncoreEdge *edge = &command->edges[e];
    XlacOncoreReach reach = queue_trace_reach(&launch->trace, number, e);
    if (reach.period > 0 && own % reach.period < reach.first) continue;
    const Instances *producers = &state->instances[edge->command];
    int64_t last = producers->count - 1 - edge->distance;
    for (int64_t place = last; place >= 0 && place >= last - reach.before; place--)
      add_edge(launch, state, command->queue, launch->kernel->commands[edge->command].queue, producers->data[place]);
  }
}

static void make_stream(Launch *launch) {
  const XlacOncoreKernel *kernel = launch->kernel;
  command_stream_init(&launch->stream, launch->arena, kernel->buffer_bytes);
  add_objects(launch);
  EdgeState state = {ARENA_NEW_ARRAY(launch->arena, Instances, kernel->command_count),
                     ARENA_NEW_ARRAY(launch->arena, int64_t, kernel->queue_count * kernel->queue_count)};
  for (int64_t i = 0; i < launch->trace.commands.count; i++) {
    uint64_t barrier = queue_trace_barrier(&launch->trace, i);
    if (barrier != 0) {
      command_stream_add_barrier(&launch->stream, launch->trace.commands.data[i].command, barrier);
      continue;
    }
    begin_command(launch, i);
    add_accesses(launch, i);
    add_edges(launch, &state, i);
    array_push(&state.instances[launch->trace.commands.data[i].command], launch->arena, (int32_t)i);
  }
}

/* --- the verdict --- */

SimulatedKernel *simulated_kernel(QueueSimulator *simulator, const XlacOncoreKernel *kernel) {
  for (int64_t i = 0; i < simulator->kernels.count; i++) {
    if (simulator->kernels.data[i].kernel == kernel) return &simulator->kernels.data[i];
  }
  QueueUse *queues = ARENA_NEW_ARRAY(simulator->arena, QueueUse, simulator->machine->queue_count);
  array_push(&simulator->kernels, simulator->arena,
             ((SimulatedKernel){.kernel = kernel, .limit = "", .queues = queues}));
  return &array_last(&simulator->kernels);
}

static const char *label_of(const Launch *launch, int32_t instance) {
  return queue_trace_command(&launch->trace, instance)->label;
}

/* "LABEL of 'KERNEL'", of an instance. */
static const char *instance_text(const Launch *launch, int32_t instance) {
  if (instance < 0) return "";
  return arena_printf(launch->arena, " (command %d is '%s')", instance, label_of(launch, instance));
}

static Status report_hazards(const Launch *launch, const HazardReport *report) {
  Status status = STATUS_OK;
  for (int64_t h = 0; h < report->hazard_count; h++) {
    const Hazard *hazard = &report->hazards[h];
    if (hazard->kind == HAZARD_REDUNDANT_EDGE) continue;
    status = diag_error(launch->simulator->diag, STATUS_INVALID, NO_LOC, "oncore-hazard", "in kernel '%s': %s%s%s",
                        launch->kernel->name, hazard_text(launch->arena, &launch->stream, hazard, NULL),
                        instance_text(launch, hazard->first), instance_text(launch, hazard->second));
  }
  return status;
}

static Status judge(Launch *launch) {
  QueueSimulator *simulator = launch->simulator;
  const MachineDescription *machine = simulator->machine;
  HazardReport report;
  RETURN_IF_ERROR(hazards_check(launch->arena, launch->scratch, &launch->stream, machine, HAZARD_LIMITS_DEFAULT,
                                simulator->diag, &report));
  SimulatedKernel *kernel = simulated_kernel(simulator, launch->kernel);
  kernel->launches++;
  kernel->commands += launch->stream.commands.count;
  kernel->edges += report.edges;
  kernel->redundant += report.counts[HAZARD_REDUNDANT_EDGE];
  kernel->barriers += report.barriers;
  kernel->races += hazard_report_races(&report);
  if (hazard_report_faults(&report) > 0) return report_hazards(launch, &report);
  return STATUS_OK;
}

/* --- execution --- */

static void execute(const Launch *launch, const int32_t *order) {
  const XlacOncoreContext *context = launch->context;
  OwnBytes own = queue_trace_own(&launch->trace);
  memset((char *)context->buffer + own.begin, POISON, (size_t)(own.end - own.begin));
  for (int64_t r = 0; r < launch->region_count; r++) {
    const MemoryRegion *region = &launch->regions[r];
    bool is_empty = r >= launch->first_resident && (region->flags & XLAC_ONCORE_INITIALISED) == 0;
    if (is_empty || region->flags & XLAC_ONCORE_TEMPORARY) memset(region->begin, POISON, (size_t)region->bytes);
  }
  for (int64_t i = 0; i < launch->trace.commands.count; i++) {
    int64_t number = order == NULL ? i : order[i];
    if (queue_trace_barrier(&launch->trace, number) != 0) continue;
    const XlacOncoreCommand *command = queue_trace_command(&launch->trace, number);
    void *const *pointers = launch->trace.pointers.data + launch->trace.commands.data[number].first_pointer;
    char *scratch = context->scratch; /* NULL where the kernel needs none */
    if (scratch != NULL) scratch += command->queue * launch->kernel->scratch_bytes_per_queue;
    queue_trace_variant(&launch->trace, number)->function(pointers, scratch);
  }
}

static bool is_result(const MemoryRegion *region) {
  return (region->flags & (XLAC_ONCORE_READ_ONLY | XLAC_ONCORE_TEMPORARY)) == 0;
}

/* Bytes of results one after the other. */
static void copy_results(const Launch *launch, char *bytes, bool back) {
  for (int64_t r = 0; r < launch->region_count; r++) {
    const MemoryRegion *region = &launch->regions[r];
    if (!is_result(region)) continue;
    memcpy(back ? region->begin : bytes, back ? bytes : region->begin, (size_t)region->bytes);
    bytes += region->bytes;
  }
}

static bool results_are(const Launch *launch, const char *bytes) {
  for (int64_t r = 0; r < launch->region_count; r++) {
    const MemoryRegion *region = &launch->regions[r];
    if (!is_result(region)) continue;
    if (memcmp(region->begin, bytes, (size_t)region->bytes) != 0) return false;
    bytes += region->bytes;
  }
  return true;
}

static int64_t result_bytes(const Launch *launch) {
  int64_t bytes = 0;
  for (int64_t r = 0; r < launch->region_count; r++)
    if (is_result(&launch->regions[r])) bytes += launch->regions[r].bytes;
  return bytes;
}

static void record(const Launch *launch, const int32_t *order) {
  StringBuilder *recording = launch->simulator->recording;
  if (recording != NULL) queue_orders_print(recording, &launch->trace, order);
}

static Status execute_orders(Launch *launch) {
  const QueueSimulator *simulator = launch->simulator;
  if (simulator->order_count == 0) {
    execute(launch, NULL);
    record(launch, NULL);
    return STATUS_OK;
  }
  int64_t bytes = result_bytes(launch);
  char *before = arena_alloc(launch->arena, (size_t)bytes), *after = arena_alloc(launch->arena, (size_t)bytes);
  copy_results(launch, before, false);
  execute(launch, NULL);
  copy_results(launch, after, false);
  for (int64_t k = 0; k < simulator->order_count; k++) {
    arena_reset(launch->scratch);
    Arena *scratch = launch->scratch;
    const int32_t *order =
        command_stream_legal_order(scratch, scratch, &launch->stream, simulator->machine, (uint64_t)k);
    copy_results(launch, before, true);
    execute(launch, order);
    bool same = results_are(launch, after);
    copy_results(launch, after, true);
    if (!same || k + 1 == simulator->order_count) record(launch, order);
    if (same) continue;
    return diag_error(simulator->diag, STATUS_INVALID, NO_LOC, "oncore-orders",
                      "kernel '%s': order %" PRId64 ", which its edges allow, gives other results than program order",
                      launch->kernel->name, k);
  }
  return STATUS_OK;
}

static Status replay(Launch *launch) {
  QueueSimulator *simulator = launch->simulator;
  int64_t number = simulator->replayed++, recorded = simulator->replay->launches.count;
  if (recorded == 0)
    return diag_error(simulator->diag, STATUS_INVALID, NO_LOC, "oncore-replay", "no order is recorded");
  const RecordedLaunch *given = &simulator->replay->launches.data[number % recorded];
  int64_t count = launch->trace.commands.count;
  if (!sv_equal_cstring(given->kernel, launch->kernel->name) || given->count != count)
    return diag_error(simulator->diag, STATUS_INVALID, given->loc, "oncore-replay",
                      "launch %" PRId64 " is of kernel '%s' with %" PRId64 " commands", number, launch->kernel->name,
                      count);
  int32_t early, late;
  if (!command_stream_order_is_legal(launch->scratch, &launch->stream, simulator->machine, given->order, &early, &late))
    return diag_error(simulator->diag, STATUS_INVALID, given->loc, "oncore-replay",
                      "command %d ('%s') has to wait for command %d ('%s')", early, label_of(launch, early), late,
                      label_of(launch, late));
  execute(launch, given->order);
  return STATUS_OK;
}

/* --- the engine --- */

static Status simulate(Launch *launch) {
  queue_trace_record(&launch->trace, launch->arena, launch->kernel, launch->context);
  find_regions(launch);
  find_residents(launch);
  make_stream(launch);
  if (launch->has_strayed)
    return diag_error(launch->simulator->diag, STATUS_INVALID, NO_LOC, "oncore-hazard",
                      "in kernel '%s': a command touches bytes of the Buffer that are not the kernel's",
                      launch->kernel->name);
  if (launch->simulator->replay != NULL) return replay(launch);
  RETURN_IF_ERROR(judge(launch));
  return execute_orders(launch);
}

/* |*out_kept|: the launch's arena is the run's. */
static Status launch_kernel(QueueSimulator *simulator, Launch *launch, bool *out_kept) {
  *out_kept = false;
  if (simulator->next_run != NULL) {
    RETURN_IF_ERROR(simulated_run_end(simulator)); /* one that was broken off */
    simulator->open_run = simulator->next_run;
    simulator->next_run = NULL;
  }
  RETURN_IF_ERROR(simulate(launch));
  if (simulator->replay != NULL) return STATUS_OK;
  *out_kept = true;
  simulated_run_add(simulator, launch);
  bool is_last = simulator->open_run == NULL || simulator->run.count >= simulator->open_run->launch_count;
  return is_last ? simulated_run_end(simulator) : STATUS_OK;
}

int queue_simulator_launch(void *data, const XlacOncoreKernel *kernel, const XlacOncoreContext *context) {
  QueueSimulator *simulator = data;
  Launch launch = {.simulator = simulator, .kernel = kernel, .context = context};
  launch.arena = arena_create();
  launch.scratch = arena_create();
  bool is_kept;
  Status status = launch_kernel(simulator, &launch, &is_kept);
  arena_destroy(launch.scratch);
  if (!is_kept) arena_destroy(launch.arena);
  if (status != STATUS_OK) simulator->status = status;
  return status != STATUS_OK;
}

void queue_simulator_run(void *data, const XlacOncoreRun *run) {
  QueueSimulator *simulator = data;
  simulator->next_run = run;
}

void queue_simulator_init(QueueSimulator *simulator, Arena *arena, const MachineDescription *machine,
                          int64_t order_count, DiagSink *diag) {
  *simulator = (QueueSimulator){.arena = arena, .machine = machine, .order_count = order_count, .diag = diag};
}

void queue_simulator_begin_run(QueueSimulator *simulator) {
  simulated_run_forget(simulator);
  simulator->kernels.count = 0;
}

/* --- the table --- */

static void print_row(StringBuilder *out, const SimulatedKernel *row, const char *name) {
  double share = row->cycles > 0 ? 100 * row->bound / row->cycles : 100;
  sb_printf(out, "%8" PRId64 " %10" PRId64 " %14.0f %14.0f %6.1f  %-10s %10" PRId64 " %9" PRId64 " %5" PRId64 "  %s\n",
            row->launches, row->commands, row->cycles, row->bound, share, row->limit, row->edges, row->redundant,
            row->races, name);
}

void queue_simulator_print(StringBuilder *out, const QueueSimulator *simulator) {
  sb_printf(out, "%8s %10s %14s %14s %6s  %-10s %10s %9s %5s  %s\n", "launches", "commands", "cycles", "bound", "%",
            "limit", "edges", "redundant", "races", "kernel");
  SimulatedKernel all = {.limit = ""};
  for (int64_t i = 0; i < simulator->kernels.count; i++) {
    const SimulatedKernel *row = &simulator->kernels.data[i];
    print_row(out, row, row->kernel->name);
    all.launches += row->launches;
    all.commands += row->commands;
    all.cycles += row->cycles;
    all.bound += row->bound;
    all.edges += row->edges;
    all.redundant += row->redundant;
    all.races += row->races;
  }
  print_row(out, &all, "all");
}
