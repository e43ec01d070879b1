/* MemoryChart: what lies where and when, as a page shows it (memory.js).  Knows neither HLO nor who placed it: a
 * module's BufferAssignment is one source, a plan of buffers that come from elsewhere another:
 *
 *   MemoryChartSpan lives[] = {{0, 4}};
 *   MemoryChartBuffer buffers[] = {{.name = SV("a"), .kind = "buffer", .size = 64, .lives = lives, .life_count = 1}};
 *   MemoryChartRegion region = {.name = "plan", .size = height, .lower_bound = bound};
 *   MemoryChart chart = {.unit = "time",      .length = 4,
 *                        .regions = &region,  .region_count = 1,
 *                        .buffers = buffers,  .buffer_count = 1};
 *   page_print_memory(out, SV("a plan"), &chart);
 *
 * Addresses and sizes are bytes, times are integers from |begin| to |begin| + |length|, spans half-open.  Nothing is
 * owned. */
#ifndef XLAC_BASE_PAGE_MEMORY_CHART_H
#define XLAC_BASE_PAGE_MEMORY_CHART_H

#include "base/string_view.h"

typedef struct MemoryChartSpan {
  int64_t from, to;
} MemoryChartSpan;

/* What a buffer holds for some time; it begins where the buffer does. */
typedef struct MemoryChartValue {
  StringView name, opcode, shape, source; /* empty: not known */
  int64_t bytes;
  int32_t life_count, reader_count;
  const MemoryChartSpan *lives;
  const int64_t *readers; /* times of the steps that read it */
} MemoryChartValue;

typedef struct MemoryChartBuffer {
  StringView name, reason; /* why it lies there; may be empty */
  const char *kind;        /* "temporary", "scratch" …: a word of the legend */
  int32_t region;
  int64_t offset, size; /* in the region */
  int32_t life_count, value_count;
  const MemoryChartSpan *lives;   /* in order, apart from one another */
  const MemoryChartValue *values; /* none: it is drawn by itself */
} MemoryChartBuffer;

/* Where a part of a region begins that is known by its own name and addresses (one of many arguments). */
typedef struct MemoryChartPart {
  int64_t start;
  StringView name;
} MemoryChartPart;

/* Addresses from 0 to |size|.  The first region is the one whose live bytes are drawn as a curve. */
typedef struct MemoryChartRegion {
  const char *name;
  StringView note; /* a few words for people */
  int64_t size;
  int64_t lower_bound; /* no placement has fewer bytes; -1: not known */
  int32_t part_count;
  const MemoryChartPart *parts; /* ascending; none: the region itself */
} MemoryChartRegion;

/* What happens at a time. */
typedef struct MemoryChartStep {
  StringView name, opcode;
  int32_t inside_count;
  const StringView *inside; /* names of what is fused into it */
} MemoryChartStep;

typedef struct MemoryChart {
  const char *unit; /* what a time is: "position" */
  int64_t begin;    /* the first time: 0 but for those that have others */
  int64_t length;   /* times from there */
  int32_t region_count, buffer_count;
  const MemoryChartRegion *regions;
  const MemoryChartBuffer *buffers;
  const MemoryChartStep *steps; /* |length| of them; NULL: they have no names */
} MemoryChart;

/* The data of the page, one JSON object on one line; memory_chart.c says what it has. */
void memory_chart_json(StringBuilder *out, const MemoryChart *chart);

#endif
