/* ByteClasses: the bytes of all objects, by who touches them.
 *
 * Two bytes that lie in exactly the same boxes of a stream have one fate, so hazards are looked for between classes of
 * such bytes: a tile of strided runs is one class however many runs it has.  O(R log R) for R runs of distinct boxes.
 */
#ifndef XLAC_HLO_MACHINE_STREAM_BYTE_CLASSES_INTERNAL_H
#define XLAC_HLO_MACHINE_STREAM_BYTE_CLASSES_INTERNAL_H

#include "base/diagnostic.h"
#include "hlo/machine/stream/command_stream.h"

/* A range of neighbouring bytes of one class. */
typedef struct ClassRange {
  int64_t start, end;
  int32_t byte_class;
} ClassRange;

typedef struct ByteClasses {
  int32_t class_count;
  const int32_t *first_class; /* by box, one entry more: its place in |classes| */
  const int32_t *classes;
  const ClassRange *examples; /* by class: its first range */
  /* Of the objects that have to be written once: all touched ranges, ascending; by object, one entry more. */
  const int64_t *first_range;
  const ClassRange *ranges;
} ByteClasses;

/* Boxes that leave their object have no classes, nor have those of objects that are initialised and never written: no
 * hazard is possible there; nor those of objects that |skips| says, by object; NULL: none.  STATUS_EXHAUSTED
 * ("stream-runs") for more runs than memory is meant for. */
MUST_USE Status byte_classes_find(Arena *arena, Arena *scratch, const CommandStream *stream, const bool *skips,
                                  DiagSink *diag, ByteClasses *out_classes);

/* Whether two boxes in one object have bytes in common; if so, the first ones, as one range. */
bool byte_boxes_meet(Arena *scratch, const ByteBox *a, const ByteBox *b, int64_t *out_start, int64_t *out_end);

/* Whether |box| lies in an object of |bytes|. */
bool byte_box_is_inside(const ByteBox *box, int64_t bytes);

#endif
