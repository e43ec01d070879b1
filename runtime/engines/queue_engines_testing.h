/* A kernel of a vector processor written by hand, for the tests of engines: y[i] = x[i] + 1 for TILES tiles, loads,
 * additions and stores on three queues, rings of two slots. */
#ifndef XLAC_RUNTIME_ENGINES_QUEUE_ENGINES_TESTING_H
#define XLAC_RUNTIME_ENGINES_QUEUE_ENGINES_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "xlac/abi.h"

enum { TILES = 50, TILE = 16, TILE_BYTES = TILE * sizeof(float), SLOTS = 2, QUEUE_COUNT = 3 };
enum { LOADS, ADDITIONS, STORES };

typedef struct HandKernel {
  float x[TILES * TILE], y[TILES * TILE];
  float buffer[2 * SLOTS * TILE];
  void *objects[2];
  XlacOncoreContext context;
  XlacOncoreKernel kernel;
  XlacOncoreCommand commands[QUEUE_COUNT]; /* the kernel's, to be changed */
} HandKernel;

static inline void copy_tile(void *const *pointers, void *scratch) {
  (void)scratch;
  memcpy(pointers[1], pointers[0], TILE_BYTES);
}

static inline void add_tile(void *const *pointers, void *scratch) {
  (void)scratch;
  const float *from = pointers[0];
  float *to = pointers[1];
  for (int i = 0; i < TILE; i++) to[i] = from[i] + 1;
}

static inline float *in_slot(const XlacOncoreContext *context, int64_t i) {
  return (float *)context->buffer + i % SLOTS * TILE;
}

static inline float *out_slot(const XlacOncoreContext *context, int64_t i) {
  return (float *)context->buffer + (SLOTS + i % SLOTS) * TILE;
}

static inline void hand_pointers(const XlacOncoreContext *context, int queue, int64_t i, void **pointers) {
  pointers[0] = queue == LOADS       ? (float *)context->objects[0] + i * TILE
                : queue == ADDITIONS ? in_slot(context, i)
                                     : out_slot(context, i);
  pointers[1] = queue == LOADS       ? in_slot(context, i)
                : queue == ADDITIONS ? out_slot(context, i)
                                     : (float *)context->objects[1] + i * TILE;
}

static inline void run_command(const XlacOncoreContext *context, int queue, int64_t i) {
  void *pointers[2];
  hand_pointers(context, queue, i, pointers);
  (queue == ADDITIONS ? add_tile : copy_tile)(pointers, NULL);
}

static inline void hand_run(const XlacOncoreContext *context) {
  for (int64_t i = 0; i < TILES; i++)
    for (int q = 0; q < QUEUE_COUNT; q++) run_command(context, q, i);
}

static inline void hand_trace(const XlacOncoreContext *context, void *data, XlacOncoreRecord record) {
  for (int64_t i = 0; i < TILES; i++) {
    for (int q = 0; q < QUEUE_COUNT; q++) {
      void *pointers[2];
      hand_pointers(context, q, i, pointers);
      record(data, q, 0, pointers, NULL);
    }
  }
}

static inline void hand_loads(const XlacOncoreContext *context, const XlacOncoreSync *sync) {
  for (int64_t i = 0; i < TILES; i++) {
    sync->wait(sync->data, ADDITIONS, i - SLOTS + 1);
    run_command(context, LOADS, i);
    sync->publish(sync->data, LOADS);
  }
}

static inline void hand_additions(const XlacOncoreContext *context, const XlacOncoreSync *sync) {
  for (int64_t i = 0; i < TILES; i++) {
    sync->wait(sync->data, LOADS, i + 1);
    sync->wait(sync->data, STORES, i - SLOTS + 1);
    run_command(context, ADDITIONS, i);
    sync->publish(sync->data, ADDITIONS);
  }
}

static inline void hand_stores(const XlacOncoreContext *context, const XlacOncoreSync *sync) {
  for (int64_t i = 0; i < TILES; i++) {
    sync->wait(sync->data, ADDITIONS, i + 1);
    run_command(context, STORES, i);
    sync->publish(sync->data, STORES);
  }
}

/* The description; edges as the functions above have them. */
static const int64_t hand_load_objects[] = {0, XLAC_ONCORE_BUFFER}, hand_store_objects[] = {XLAC_ONCORE_BUFFER, 1},
                     hand_add_objects[] = {XLAC_ONCORE_BUFFER, XLAC_ONCORE_BUFFER};
static const XlacOncoreAccess hand_accesses[] = {{.pointer = 0, .bytes = TILE_BYTES},
                                                 {.pointer = 1, .flags = XLAC_ONCORE_WRITES, .bytes = TILE_BYTES}};
static const XlacOncoreVariant hand_copy = {copy_tile, 0, TILE_BYTES, 1, 2, hand_accesses},
                               hand_addition = {add_tile, 1, 0, 0, 2, hand_accesses};
static const XlacOncoreEdge hand_load_edges[] = {{ADDITIONS, SLOTS - 1}},
                            hand_add_edges[] = {{LOADS, 0}, {STORES, SLOTS - 1}}, hand_store_edges[] = {{ADDITIONS, 0}};

static const XlacOncoreCommand hand_commands[] = {
    {"ld", "load", LOADS, 1, 2, hand_load_objects, 0, 1, hand_load_edges, 1, &hand_copy},
    {"ex", "op", ADDITIONS, 0, 2, hand_add_objects, 0, 2, hand_add_edges, 1, &hand_addition},
    {"st", "store", STORES, 1, 2, hand_store_objects, 0, 1, hand_store_edges, 1, &hand_copy}};
static const XlacOncoreObject hand_objects[] = {
    {"x", TILES *TILE_BYTES, XLAC_ONCORE_INITIALISED | XLAC_ONCORE_READ_ONLY},
    {"y", TILES *TILE_BYTES, XLAC_ONCORE_WRITTEN_ONCE}};
static const char *const hand_queues[] = {"LD", "EX", "ST"};
static void (*const hand_functions[])(const XlacOncoreContext *, const XlacOncoreSync *) = {hand_loads, hand_additions,
                                                                                            hand_stores};

static inline XlacOncoreKernel hand_kernel(void) {
  return (XlacOncoreKernel){.struct_size = sizeof(XlacOncoreKernel),
                            .name = "hand",
                            .buffer_bytes = sizeof(((HandKernel *)0)->buffer),
                            .buffer_alignment = 1,
                            .queue_count = QUEUE_COUNT,
                            .queue_names = hand_queues,
                            .object_count = 2,
                            .objects = hand_objects,
                            .command_count = QUEUE_COUNT,
                            .commands = hand_commands,
                            .run = hand_run,
                            .queues = hand_functions,
                            .trace = hand_trace,
                            .own_end = sizeof(((HandKernel *)0)->buffer)};
}

static inline void hand_prepare(HandKernel *hand) {
  *hand = (HandKernel){0};
  for (int i = 0; i < TILES * TILE; i++) hand->x[i] = (float)i;
  hand->objects[0] = hand->x;
  hand->objects[1] = hand->y;
  hand->context = (XlacOncoreContext){.buffer = hand->buffer, .objects = hand->objects};
  hand->kernel = hand_kernel();
  memcpy(hand->commands, hand_commands, sizeof hand_commands);
  hand->kernel.commands = hand->commands;
}

static inline void hand_check(const HandKernel *hand) {
  for (int i = 0; i < TILES * TILE; i++) assert_true(hand->y[i] == (float)i + 1);
}

#endif
