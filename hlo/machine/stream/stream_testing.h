/* What the tests of streams share: machines, and loops of load, operation and store. */
#ifndef XLAC_HLO_MACHINE_STREAM_STREAM_TESTING_H
#define XLAC_HLO_MACHINE_STREAM_STREAM_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/checked_math.h"
#include "hlo/machine/description/presets.h"
#include "hlo/machine/stream/hazards.h"
#include "hlo/machine/stream/queue_simulation.h"

/* Cycles are whole numbers of eighths in these tests, so they are exact. */
#define assert_cycles(actual, expected) assert_int_equal((int64_t)((actual) * 8), (int64_t)((expected) * 8))

enum { LD, EX, ST, QUEUE_COUNT };

/* vp-ref; synchronisation costs nothing and the memory has no limit, so that cycles can be worked out by hand, unless a
 * test says otherwise. */
typedef struct StreamFixture {
  Arena *arena, *scratch;
  DiagSink diag;
  MachineQueue queues[QUEUE_COUNT];
  MachineDescription machine;
  CommandStream stream;
} StreamFixture;

static inline int create_fixture(void **state) {
  Arena *arena = arena_create();
  StreamFixture *fixture = ARENA_NEW(arena, StreamFixture);
  fixture->arena = arena;
  fixture->scratch = arena_create();
  diag_sink_init(&fixture->diag, arena);
  const MachinePreset *preset = machine_preset_find(SV("vp-ref"));
  assert_int_equal(machine_preset_parse(arena, preset, &fixture->diag, &fixture->machine), STATUS_OK);
  assert_int_equal(fixture->machine.queue_count, QUEUE_COUNT);
  for (int i = 0; i < QUEUE_COUNT; i++) fixture->queues[i] = fixture->machine.queues[i];
  fixture->machine.queues = fixture->queues;
  fixture->machine.memory_bytes_per_cycle = 0;
  fixture->machine.sync = (MachineSync){0};
  command_stream_init(&fixture->stream, arena, fixture->machine.buffer.size);
  *state = fixture;
  return 0;
}

static inline int destroy_fixture(void **state) {
  StreamFixture *fixture = *state;
  arena_destroy(fixture->scratch);
  arena_destroy(fixture->arena);
  return 0;
}

static inline uint64_t draw(uint64_t *random, uint64_t below) {
  return hash_u64((*random)++ * UINT64_C(0x9e3779b97f4a7c15)) % below;
}

static inline ByteBox dense_box(int64_t base, int64_t bytes) {
  return (ByteBox){.base = base, .bytes = bytes};
}

static inline void read_bytes(StreamFixture *fixture, int32_t object, int64_t base, int64_t bytes) {
  ByteBox box = dense_box(base, bytes);
  command_stream_add_read(&fixture->stream, object, &box);
}

static inline void write_bytes(StreamFixture *fixture, int32_t object, int64_t base, int64_t bytes) {
  ByteBox box = dense_box(base, bytes);
  command_stream_add_write(&fixture->stream, object, &box);
}

/* y = f(x), tile by tile: a load, an operation and a store each. */
typedef struct TileLoop {
  int64_t tiles, tile_bytes;
  double exec;   /* cycles without setup */
  int64_t depth; /* slots of the ring, or of both */
  bool in_place;
  int64_t ahead; /* tiles that loads are issued ahead */
} TileLoop;

enum { LABEL_LD, LABEL_EX, LABEL_ST };

typedef struct TileObjects {
  int32_t x, y;
} TileObjects;

static inline void add_load(StreamFixture *fixture, const TileLoop *loop, TileObjects objects, int64_t tile) {
  command_stream_add_transfer(&fixture->stream, LABEL_LD, LD, loop->tile_bytes, 1);
  read_bytes(fixture, objects.x, tile * loop->tile_bytes, loop->tile_bytes);
  write_bytes(fixture, BUFFER_OBJECT, tile % loop->depth * loop->tile_bytes, loop->tile_bytes);
}

static inline void add_rest(StreamFixture *fixture, const TileLoop *loop, TileObjects objects, int64_t tile) {
  int64_t in = tile % loop->depth * loop->tile_bytes;
  int64_t out = loop->in_place ? in : in + loop->depth * loop->tile_bytes;
  command_stream_add_operation(&fixture->stream, LABEL_EX, EX, loop->exec);
  read_bytes(fixture, BUFFER_OBJECT, in, loop->tile_bytes);
  write_bytes(fixture, BUFFER_OBJECT, out, loop->tile_bytes);
  command_stream_add_transfer(&fixture->stream, LABEL_ST, ST, loop->tile_bytes, 1);
  read_bytes(fixture, BUFFER_OBJECT, out, loop->tile_bytes);
  write_bytes(fixture, objects.y, tile * loop->tile_bytes, loop->tile_bytes);
}

static inline TileObjects add_tile_objects(StreamFixture *fixture, int64_t bytes) {
  TileObjects objects;
  objects.x = command_stream_add_object(&fixture->stream, SV("x"), bytes, OBJECT_INITIALISED | OBJECT_READ_ONLY);
  objects.y = command_stream_add_object(&fixture->stream, SV("y"), bytes, OBJECT_WRITTEN_ONCE);
  return objects;
}

/* Without edges, which are derived. */
static inline CommandStream build_tile_loop(StreamFixture *fixture, TileLoop loop) {
  command_stream_init(&fixture->stream, fixture->arena, fixture->machine.buffer.size);
  TileObjects objects = add_tile_objects(fixture, loop.tiles * loop.tile_bytes);
  for (int64_t i = 0; i < loop.ahead; i++) add_load(fixture, &loop, objects, i);
  for (int64_t i = 0; i < loop.tiles; i++) {
    if (i + loop.ahead < loop.tiles) add_load(fixture, &loop, objects, i + loop.ahead);
    add_rest(fixture, &loop, objects, i);
  }
  CommandStream derived;
  Status status = hazards_derive_edges(fixture->arena, fixture->scratch, &fixture->stream, &fixture->machine,
                                       &fixture->diag, &derived);
  assert_int_equal(status, STATUS_OK);
  return derived;
}

static inline HazardReport check_stream(StreamFixture *fixture, const CommandStream *stream) {
  HazardReport report;
  Status status = hazards_check(fixture->arena, fixture->scratch, stream, &fixture->machine, HAZARD_LIMITS_DEFAULT,
                                &fixture->diag, &report);
  assert_int_equal(status, STATUS_OK);
  return report;
}

#endif
