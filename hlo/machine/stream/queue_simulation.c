/* Events in time: a command starts, begins to move bytes, is complete.  Between events nothing changes, rates included.
 */
#include "hlo/machine/stream/queue_simulation.h"

#include <math.h>

#include "base/checked_math.h"
#include "hlo/machine/description/machine_cost.h"

enum { NOTHING = -1 };

typedef struct QueueState {
  const MachineQueue *queue;
  int32_t *waiting; /* issued, not started; oldest first */
  int64_t waiting_count;
  int32_t running;    /* NOTHING: at rest */
  bool moves;         /* the running command is a transfer after its setup */
  double remaining;   /* bytes, at time |since| */
  double since, rate; /* of the movement */
  double event;       /* when the running command begins to move, or ends; INFINITY at rest */
  double wake;        /* at rest: when the first that waits may start, INFINITY: not known yet */
  double free_at;     /* the end of the latest command */
  QueueUse *use;
} QueueState;

typedef struct Simulation {
  const CommandStream *stream;
  const MachineDescription *machine;
  QueueState *queues;
  double *starts, *ends; /* ends: INFINITY until complete */
  double *issues, *rests;
  int32_t issued;
  double now;
  double issue_from;    /* a barrier lets nothing through before */
  double barrier_begun; /* the time it was reached, INFINITY: there is none */
  double stalled_since; /* the time since which no queue has room, INFINITY: there is room */
  QueueSimulation result;
} Simulation;

static const StreamCommand *command_at(const Simulation *simulation, int32_t instance) {
  return &simulation->stream->commands.data[instance];
}

static bool is_transfer(const QueueState *state) {
  return state->queue->kind != QUEUE_EXEC;
}

/* Cycles before a transfer moves its first byte; all of an operation. */
static double fixed_cycles(const Simulation *simulation, const StreamCommand *command) {
  const MachineQueue *queue = &simulation->machine->queues[command->queue];
  if (queue->kind == QUEUE_EXEC) return queue_command_cycles(simulation->machine, command);
  return machine_transfer_cycles(queue, 0, command->rows, command->descriptors);
}

/* --- issue --- */

static bool is_empty(const QueueState *state) {
  return state->waiting_count == 0 && state->running == NOTHING;
}

/* Whether the barrier at hand is over; if not, |issue_from| may say when. */
static bool pass_barrier(Simulation *simulation, int32_t instance) {
  for (int32_t i = 0; i < simulation->machine->queue_count; i++) {
    if (stream_barrier_covers(command_at(simulation, instance), i) && !is_empty(&simulation->queues[i])) {
      simulation->barrier_begun = fmin(simulation->barrier_begun, simulation->now);
      return false;
    }
  }
  simulation->starts[instance] = fmin(simulation->barrier_begun, simulation->now);
  simulation->issues[instance] = simulation->rests[instance] = simulation->starts[instance];
  simulation->ends[instance] = simulation->issue_from = simulation->now + (double)simulation->machine->sync.barrier;
  simulation->result.barriers += simulation->issue_from - simulation->starts[instance];
  simulation->barrier_begun = INFINITY;
  return true;
}

static bool enqueue(Simulation *simulation, int32_t instance) {
  QueueState *state = &simulation->queues[command_at(simulation, instance)->queue];
  bool has_room = state->waiting_count + (state->running != NOTHING) < state->queue->depth;
  if (!has_room) {
    simulation->stalled_since = fmin(simulation->stalled_since, simulation->now);
    return false;
  }
  if (simulation->stalled_since < simulation->now) {
    simulation->result.issue_stall += simulation->now - simulation->stalled_since;
  }
  simulation->stalled_since = INFINITY;
  simulation->issues[instance] = simulation->now;
  state->waiting[state->waiting_count++] = instance;
  return true;
}

static void issue_commands(Simulation *simulation) {
  while (simulation->issued < simulation->stream->commands.count && simulation->issue_from <= simulation->now) {
    int32_t instance = simulation->issued;
    bool is_barrier = command_at(simulation, instance)->queue == BARRIER_QUEUE;
    if (!(is_barrier ? pass_barrier(simulation, instance) : enqueue(simulation, instance))) return;
    simulation->issued++;
  }
}

/* --- start --- */

/* When the edges of |instance| let it start; INFINITY while a producer is not complete. */
static double ready_time(const Simulation *simulation, int32_t instance) {
  double latency = (double)(simulation->machine->sync.set + simulation->machine->sync.wait), ready = 0;
  InstanceRange edges = command_stream_edges(simulation->stream, instance);
  for (int64_t i = 0; i < edges.count; i++) {
    XLAC_CHECK(edges.data[i] < instance);
    ready = fmax(ready, simulation->ends[edges.data[i]] + latency);
  }
  return ready;
}

static void start_command(Simulation *simulation, QueueState *state, int64_t place) {
  int32_t instance = state->waiting[place];
  simulation->starts[instance] = simulation->now;
  simulation->rests[instance] = state->free_at;
  state->use->stall += simulation->now - fmax(state->free_at, simulation->issues[instance]);
  for (int64_t i = place; i + 1 < state->waiting_count; i++) state->waiting[i] = state->waiting[i + 1];
  state->waiting_count--;
  state->running = instance;
  state->moves = false;
  state->event = simulation->now + fixed_cycles(simulation, command_at(simulation, instance));
}

static void start_ready(Simulation *simulation, QueueState *state) {
  bool in_order = state->queue->complete == COMPLETE_IN_ORDER;
  state->wake = INFINITY;
  if (state->running != NOTHING) return;
  for (int64_t i = 0; i < (in_order ? min_i64(1, state->waiting_count) : state->waiting_count); i++) {
    double ready = ready_time(simulation, state->waiting[i]);
    if (ready <= simulation->now) {
      start_command(simulation, state, i);
      state->wake = INFINITY;
      return;
    }
    state->wake = fmin(state->wake, ready);
  }
}

/* --- movement --- */

/* Shares the memory among the queues that move bytes: those that take less than an even share get what they take, the
 * others share the rest evenly. */
static double even_share(const Simulation *simulation) {
  double left = simulation->machine->memory_bytes_per_cycle, share = INFINITY;
  if (left <= 0) return share;
  int32_t queue_count = simulation->machine->queue_count, taking = 0;
  for (int32_t i = 0; i < queue_count; i++) taking += simulation->queues[i].moves;
  for (int32_t round = 0; round < queue_count && taking > 0; round++) {
    double next = left / taking;
    if (next == share) break;
    share = next;
    left = simulation->machine->memory_bytes_per_cycle;
    taking = 0;
    for (int32_t i = 0; i < queue_count; i++) {
      const QueueState *state = &simulation->queues[i];
      if (!state->moves) continue;
      if (state->queue->bytes_per_cycle <= share) {
        left -= state->queue->bytes_per_cycle;
      } else {
        taking++;
      }
    }
  }
  return share;
}

static void set_rates(Simulation *simulation) {
  double share = even_share(simulation);
  for (int32_t i = 0; i < simulation->machine->queue_count; i++) {
    QueueState *state = &simulation->queues[i];
    double rate = fmin(state->queue->bytes_per_cycle, share);
    if (!state->moves || state->rate == rate) continue;
    state->remaining -= state->rate * (simulation->now - state->since);
    state->since = simulation->now;
    state->rate = rate;
    state->event = simulation->now + fmax(0, state->remaining) / rate;
  }
}

static void complete_command(Simulation *simulation, QueueState *state) {
  int32_t instance = state->running;
  simulation->ends[instance] = state->free_at = simulation->now;
  state->use->busy += simulation->now - simulation->starts[instance];
  state->use->commands++;
  if (is_transfer(state)) state->use->bytes += command_at(simulation, instance)->work.bytes;
  state->running = NOTHING;
  state->moves = false;
  state->event = INFINITY;
}

/* What happens to the queue now, its event being due. */
static void step_queue(Simulation *simulation, QueueState *state) {
  const StreamCommand *command = command_at(simulation, state->running);
  if (!is_transfer(state) || state->moves || command->work.bytes == 0) {
    complete_command(simulation, state);
    return;
  }
  state->moves = true;
  state->remaining = (double)command->work.bytes;
  state->since = simulation->now;
  state->rate = 0; /* set_rates gives it one */
  state->event = INFINITY;
}

/* --- time --- */

static double next_event(const Simulation *simulation) {
  double next = simulation->issue_from > simulation->now ? simulation->issue_from : INFINITY;
  for (int32_t i = 0; i < simulation->machine->queue_count; i++) {
    const QueueState *state = &simulation->queues[i];
    next = fmin(next, fmin(state->event, state->wake));
  }
  return next;
}

static void advance(Simulation *simulation, double to) {
  bool moves = false;
  for (int32_t i = 0; i < simulation->machine->queue_count; i++) moves = moves || simulation->queues[i].moves;
  if (moves) simulation->result.memory_busy += to - simulation->now;
  simulation->now = to;
  for (int32_t i = 0; i < simulation->machine->queue_count; i++) {
    if (simulation->queues[i].event <= to) step_queue(simulation, &simulation->queues[i]);
  }
}

static bool is_done(const Simulation *simulation) {
  if (simulation->issued < simulation->stream->commands.count) return false;
  for (int32_t i = 0; i < simulation->machine->queue_count; i++) {
    if (!is_empty(&simulation->queues[i])) return false;
  }
  return true;
}

static void init_queues(Simulation *simulation, Arena *arena, Arena *scratch) {
  int32_t count = simulation->machine->queue_count;
  simulation->queues = ARENA_NEW_ARRAY(scratch, QueueState, count);
  QueueUse *uses = ARENA_NEW_ARRAY(arena, QueueUse, count);
  simulation->result.queues = uses;
  for (int32_t i = 0; i < count; i++) {
    const MachineQueue *queue = &simulation->machine->queues[i];
    int64_t depth = min_i64(queue->depth, simulation->stream->commands.count);
    simulation->queues[i] = (QueueState){.queue = queue,
                                         .waiting = ARENA_NEW_ARRAY(scratch, int32_t, depth),
                                         .running = NOTHING,
                                         .event = INFINITY,
                                         .wake = INFINITY,
                                         .use = &uses[i]};
  }
}

QueueSimulation queue_simulation_run(Arena *arena, Arena *scratch, const CommandStream *stream,
                                     const MachineDescription *machine) {
  int64_t count = stream->commands.count;
  Simulation simulation = {.stream = stream, .machine = machine};
  simulation.starts = ARENA_NEW_ARRAY(arena, double, count);
  simulation.ends = ARENA_NEW_ARRAY(arena, double, count);
  simulation.issues = ARENA_NEW_ARRAY(arena, double, count);
  simulation.rests = ARENA_NEW_ARRAY(arena, double, count);
  for (int64_t i = 0; i < count; i++) simulation.ends[i] = INFINITY;
  simulation.barrier_begun = simulation.stalled_since = INFINITY;
  init_queues(&simulation, arena, scratch);
  for (;;) {
    issue_commands(&simulation);
    for (int32_t i = 0; i < machine->queue_count; i++) start_ready(&simulation, &simulation.queues[i]);
    set_rates(&simulation);
    if (is_done(&simulation)) break;
    double next = next_event(&simulation);
    if (next == INFINITY) XLAC_BUG("the machine is stuck at command %d", simulation.issued);
    advance(&simulation, next);
  }
  QueueSimulation result = simulation.result;
  for (int32_t i = 0; i < machine->queue_count; i++) result.memory_bytes += result.queues[i].bytes;
  result.cycles = simulation.now;
  if (simulation.issue_from > result.cycles) result.cycles = simulation.issue_from;
  result.starts = simulation.starts;
  result.ends = simulation.ends;
  result.issues = simulation.issues;
  result.rests = simulation.rests;
  return result;
}
