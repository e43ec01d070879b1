/* Where the bytes at the end come from: program order, done with hashes in place of bytes. */
#include "base/hash_map.h"
#include "hlo/machine/oracle/byte_versions_testing.h"

typedef struct Provenance {
  const CommandStream *stream;
  uint64_t **tags; /* by object and byte */
} Provenance;

static uint64_t tag_from_before(int32_t object, int64_t byte) {
  return hash_combine(hash_u64((uint64_t)object + 1), (uint64_t)byte);
}

static ByteBox box_of(const Provenance *provenance, int32_t access, uint64_t **out_tags) {
  int32_t number = stream_access_box(access);
  *out_tags = provenance->tags[provenance->stream->boxes.data[number].object];
  return command_stream_box(provenance->stream, number);
}

/* The order of reads and the place of each byte in them are part of it. */
static uint64_t read_all(const Provenance *provenance, InstanceRange accesses, uint64_t hash) {
  uint64_t number = 0;
  for (int64_t k = 0; k < accesses.count; k++) {
    if (stream_access_writes(accesses.data[k])) continue;
    uint64_t *tags;
    ByteBox box = box_of(provenance, accesses.data[k], &tags);
    int64_t runs = byte_box_run_count(&box);
    hash = hash_combine(hash, number++);
    for (int64_t i = 0; i < runs; i++) {
      int64_t start = byte_box_run(&box, i);
      for (int64_t b = start; b < start + box.bytes; b++) hash = hash_combine(hash, tags[b]);
    }
  }
  return hash;
}

static void write_all(const Provenance *provenance, InstanceRange accesses, uint64_t hash) {
  uint64_t number = 0;
  for (int64_t k = 0; k < accesses.count; k++) {
    if (!stream_access_writes(accesses.data[k])) continue;
    uint64_t *tags, written = hash_combine(hash, number++), place = 0;
    ByteBox box = box_of(provenance, accesses.data[k], &tags);
    int64_t runs = byte_box_run_count(&box);
    for (int64_t i = 0; i < runs; i++) {
      int64_t start = byte_box_run(&box, i);
      for (int64_t b = start; b < start + box.bytes; b++) tags[b] = hash_combine(written, place++);
    }
  }
}

/* One read, one write, of equally many bytes. */
static void copy_all(const Provenance *provenance, InstanceRange accesses, uint64_t function) {
  XLAC_CHECK(accesses.count == 2 && !stream_access_writes(accesses.data[0]) && stream_access_writes(accesses.data[1]));
  uint64_t *from, *to;
  ByteBox source = box_of(provenance, accesses.data[0], &from), target = box_of(provenance, accesses.data[1], &to);
  int64_t bytes = byte_box_run_count(&source) * source.bytes;
  XLAC_CHECK(byte_box_run_count(&target) * target.bytes == bytes);
  for (int64_t b = 0; b < bytes; b++) {
    int64_t at = byte_box_run(&source, b / source.bytes) + b % source.bytes;
    uint64_t tag = function == 0 ? from[at] : hash_combine(function, from[at]);
    to[byte_box_run(&target, b / target.bytes) + b % target.bytes] = tag;
  }
}

uint64_t byte_versions_provenance(Arena *scratch, const CommandStream *stream, const ProvenanceCommand *commands,
                                  uint64_t *out_inputs) {
  Provenance provenance = {stream, ARENA_NEW_ARRAY(scratch, uint64_t *, stream->objects.count)};
  for (int32_t o = 0; o < stream->objects.count; o++) {
    int64_t bytes = stream->objects.data[o].bytes;
    provenance.tags[o] = ARENA_NEW_ARRAY(scratch, uint64_t, bytes);
    for (int64_t b = 0; b < bytes; b++) provenance.tags[o][b] = tag_from_before(o, b);
  }
  for (int32_t i = 0; i < stream->commands.count; i++) {
    InstanceRange accesses = command_stream_accesses(stream, i);
    uint64_t hash = read_all(&provenance, accesses, hash_u64(commands[i].function));
    if (out_inputs != NULL) out_inputs[i] = hash;
    if (commands[i].copies)
      copy_all(&provenance, accesses, commands[i].function);
    else
      write_all(&provenance, accesses, hash);
  }
  uint64_t left = 0;
  for (int32_t o = 0; o < stream->objects.count; o++) {
    bool is_left = (stream->objects.data[o].flags & OBJECT_TEMPORARY) == 0;
    for (int64_t b = 0; is_left && b < stream->objects.data[o].bytes; b++)
      left = hash_combine(left, provenance.tags[o][b]);
  }
  return left;
}
