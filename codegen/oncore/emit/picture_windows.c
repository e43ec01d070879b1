#include "codegen/oncore/emit/picture_windows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked_math.h"

static int ascending(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

PictureWindows picture_windows_choose(Arena *scratch, const QueueSimulation *simulation, int64_t count, int64_t limit) {
  if (count <= 3 * limit) return (PictureWindows){1, {{"all", 0, simulation->cycles}}};
  double *starts = ARENA_NEW_ARRAY(scratch, double, count);
  memcpy(starts, simulation->starts, (size_t)count * sizeof *starts);
  qsort(starts, (size_t)count, sizeof *starts, ascending);
  int64_t middle = max_i64((count - limit) / 2, limit);
  return (PictureWindows){3,
                          {{"beginning", 0, starts[limit]},
                           {"middle", starts[middle], starts[middle + limit]},
                           {"end", starts[count - limit], simulation->cycles}}};
}

bool picture_windows_meet(const PictureWindows *windows, double from, double to) {
  for (int i = 0; i < windows->count; i++) {
    const PictureWindow *window = &windows->of[i];
    bool is_last = i + 1 == windows->count; /* what begins and ends when the kernel ends is in it */
    if ((from < window->to || is_last) && (to > window->from || from >= window->from)) return true;
  }
  return false;
}

/* Adds the cycles of [from, to) to the columns of |gap| that they lie in. */
static void add_time(const PictureGap *gap, double *columns, double from, double to) {
  double width = (gap->to - gap->from) / PICTURE_GAP_COLUMNS;
  from = fmax(from, gap->from);
  to = fmin(to, gap->to);
  if (to <= from) return;
  int first = (int)((from - gap->from) / width), last = (int)((to - gap->from) / width);
  for (int column = first; column <= last && column < PICTURE_GAP_COLUMNS; column++) {
    double begin = gap->from + column * width;
    columns[column] += fmax(0, fmin(to, begin + width) - fmax(from, begin));
  }
}

static void add_commands(Arena *arena, const MachineDescription *machine, const PlanVerdict *verdict,
                         const PictureWindows *windows, PictureGap *gap) {
  const QueueSimulation *simulation = &verdict->simulation;
  double *busy = ARENA_NEW_ARRAY(arena, double, (int64_t)machine->queue_count *PICTURE_GAP_COLUMNS);
  double *waiting = ARENA_NEW_ARRAY(arena, double, (int64_t)machine->queue_count *PICTURE_GAP_COLUMNS);
  for (int32_t i = 0; i < verdict->stream.commands.count; i++) {
    int32_t queue = verdict->stream.commands.data[i].queue;
    double start = simulation->starts[i], end = simulation->ends[i];
    bool is_inside = start < gap->to && end > gap->from;
    if (is_inside) gap->commands += !picture_windows_meet(windows, start, end);
    if (queue == BARRIER_QUEUE) continue;
    if (is_inside) add_time(gap, busy + (int64_t)queue * PICTURE_GAP_COLUMNS, start, end);
    add_time(gap, waiting + (int64_t)queue * PICTURE_GAP_COLUMNS, simulation->rests[i], start);
  }
  gap->busy = busy;
  gap->waiting = waiting;
}

static void add_slots(Arena *arena, const TensorUses *uses, const PictureWindows *windows, PictureGap *gap) {
  ARRAY(PictureSlot) slots = {0};
  IntMap numbers; /* Tensor and first byte → place in |slots| */
  int_map_init(&numbers, arena);
  for (int64_t i = 0; i < uses->stretch_count; i++) {
    const TensorStretch *stretch = &uses->stretches[i];
    if (stretch->from >= gap->to || stretch->to <= gap->from) continue;
    if (picture_windows_meet(windows, stretch->from, stretch->to)) continue;
    uint64_t key = (uint64_t)stretch->tensor << 40 | (uint64_t)stretch->begin;
    int64_t place;
    if (!int_map_find(&numbers, key, &place)) {
      place = slots.count;
      int_map_set(&numbers, key, place);
      array_push(&slots, arena, ((PictureSlot){stretch->tensor, stretch->begin, stretch->end, 0, 0}));
    }
    slots.data[place].count++;
    slots.data[place].cycles += fmin(stretch->to, gap->to) - fmax(stretch->from, gap->from);
  }
  gap->slot_count = slots.count;
  gap->slots = slots.data;
}

PictureGap picture_gap_find(Arena *arena, const MachineDescription *machine, const PlanVerdict *verdict,
                            const TensorUses *uses, const PictureWindows *windows, int number) {
  PictureGap gap = {.from = windows->of[number].to, .to = windows->of[number + 1].from};
  if (gap.to <= gap.from) return gap;
  add_commands(arena, machine, verdict, windows, &gap);
  add_slots(arena, uses, windows, &gap);
  return gap;
}
