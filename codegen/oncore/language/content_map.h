/* What the bytes of a Buffer or of an array of the plan's own hold, as runs of elements: a row that was loaded is one
 * run, however long. */
#ifndef XLAC_CODEGEN_ONCORE_LANGUAGE_CONTENT_MAP_H
#define XLAC_CODEGEN_ONCORE_LANGUAGE_CONTENT_MAP_H

#include "base/array.h"

typedef enum ContentKind {
  CONTENT_NOTHING,
  CONTENT_ELEMENT, /* of buffer |number|, as it was before the Kernel */
  CONTENT_ZERO,    /* a load whose guard is false: 0, or with |number| the Kernel's constant number - 1 */
  CONTENT_LOADED,  /* what a load of buffer |number| whose place only run-time values tell has at a point */
  CONTENT_RESULT,  /* what is to be stored to buffer |number| */
  CONTENT_ROW,     /* of row buffer |number| */
  CONTENT_FOLD,    /* partial result of fold |number| */
  CONTENT_INDEX,   /* run-time part of an address in buffer |number| */
  CONTENT_UPDATED  /* of buffer |number|, updated as far as the commands so far do */
} ContentKind;

/* An element: |place| says which one of its kind. */
typedef struct Content {
  ContentKind kind;
  int32_t number;
  int64_t place;
  uint64_t detail; /* ELEMENT, RESULT: the form of the place (place_form.h); FOLD: what has been folded, a sum of
                      hashes; LOADED: the constant that pads, counted from 1; else 0 */
} Content;

/* Elements |count| times |size| bytes from |begin| on; the places go on by |step|. */
typedef struct ContentRun {
  int64_t begin, size, count, step;
  Content first;
} ContentRun;

typedef struct ContentMap {
  Arena *arena;
  ARRAY(ContentRun) runs; /* by begin, none over another; what is in none is NOTHING */
  int64_t work;           /* runs looked at and moved */
} ContentMap;

/* Begins with NOTHING everywhere: {.arena = arena}. */

/* The bytes of |run| hold this now.  An element of which a part is overwritten is gone as a whole. */
void content_map_put(ContentMap *map, const ContentRun *run);

/* The run from byte |begin| on of elements of |size| bytes: at most |count|, at least one; NOTHING also where |begin|
 * is inside an element, or the elements are of another size. */
ContentRun content_map_get(ContentMap *map, int64_t begin, int64_t size, int64_t count);

#endif
