/* Which parts of a long kernel a picture shows command by command, and what is between them. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_PICTURE_WINDOWS_H
#define XLAC_CODEGEN_ONCORE_EMIT_PICTURE_WINDOWS_H

#include "codegen/oncore/plan/tensor_use.h"

enum { PICTURE_MOST_WINDOWS = 3, PICTURE_GAP_COLUMNS = 48 };

typedef struct PictureWindow {
  const char *name; /* "all", or "beginning", "middle", "end" */
  double from, to;  /* cycles, half-open */
} PictureWindow;

typedef struct PictureWindows {
  int count;
  PictureWindow of[PICTURE_MOST_WINDOWS]; /* in the order of time, without overlap */
} PictureWindows;

/* One window if it has at most three times |limit| of the |count| commands; else three in each of which about |limit|
 * commands start. */
PictureWindows picture_windows_choose(Arena *scratch, const QueueSimulation *simulation, int64_t count, int64_t limit);

/* Whether something that lasts [from, to) is in one of them. */
bool picture_windows_meet(const PictureWindows *windows, double from, double to);

/* The time in which a slot of the Buffer holds something, of all whose stretches are in the gap alone. */
typedef struct PictureSlot {
  int32_t tensor;
  int64_t begin, end; /* bytes */
  int64_t count;      /* stretches */
  double cycles;
} PictureSlot;

/* What is between two windows, in columns of equal time. */
typedef struct PictureGap {
  double from, to;
  int64_t commands;             /* that are in no window */
  const double *busy, *waiting; /* by queue and column: cycles */
  int64_t slot_count;
  const PictureSlot *slots; /* in the order of their first stretches */
} PictureGap;

/* After window |number|.  |uses| are those of all commands.  In |arena|. */
PictureGap picture_gap_find(Arena *arena, const MachineDescription *machine, const PlanVerdict *verdict,
                            const TensorUses *uses, const PictureWindows *windows, int number);

#endif
