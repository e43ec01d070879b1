#include "codegen/emit/constant_file.h"

#include <string.h>

#include "base/content_digest.h"
#include "hlo/ir/hlo_instruction.h"
#include "xlac/abi.h"

/* Literals are row major; the bytes stand in the order of the layout. */
const void *constant_bytes(Arena *arena, const BufferAllocation *allocation) {
  const Literal *literal = hlo_instruction_literal(allocation->constant);
  const Shape *shape = literal->shape;
  if (shape_has_default_layout(shape)) return literal->data;
  char *bytes = arena_alloc(arena, (size_t)allocation->size);
  int64_t strides[64], index[64] = {0};
  shape_strides(shape, strides);
  int64_t element = type_storage_bytes(shape->type), count = shape_element_count(shape);
  for (int64_t i = 0; i < count; i++) {
    int64_t at = 0;
    for (int d = 0; d < shape->rank; d++) at += index[d] * strides[d];
    memcpy(bytes + at * element, (const char *)literal->data + i * element, (size_t)element);
    for (int d = shape->rank - 1; d >= 0 && ++index[d] == shape->dims[d]; d--) index[d] = 0;
  }
  return bytes;
}

static bool is_large_constant(const BufferAllocation *allocation) {
  return allocation->kind == ALLOCATION_CONSTANT && allocation->size >= CONSTANT_FILE_LEAST_BYTES;
}

static int64_t aligned(int64_t offset) {
  return (offset + XLAC_CONSTANTS_ALIGNMENT - 1) / XLAC_CONSTANTS_ALIGNMENT * XLAC_CONSTANTS_ALIGNMENT;
}

/* The first eight bytes of the digest. */
static uint64_t hash_of(StringView bytes) {
  ContentHash hash;
  content_hash_begin(&hash);
  content_hash_add(&hash, bytes);
  ContentDigest digest = content_hash_end(&hash);
  uint64_t number;
  memcpy(&number, digest.bytes, sizeof number);
  return number;
}

ConstantFile constant_file_make(Arena *arena, const BufferAssignment *assignment) {
  ConstantFile file = {0};
  int64_t *offsets = ARENA_NEW_ARRAY(arena, int64_t, assignment->allocation_count);
  int64_t end = sizeof(XlacConstants);
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    const BufferAllocation *allocation = &assignment->allocations[i];
    if (!is_large_constant(allocation)) continue;
    if (file.some == NULL) file.some = allocation->constant;
    offsets[i] = aligned(end);
    end = offsets[i] + allocation->size;
  }
  file.offsets = offsets;
  if (file.some == NULL) return file;
  char *bytes = arena_alloc(arena, (size_t)end);
  memset(bytes, 0, (size_t)end);
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    const BufferAllocation *allocation = &assignment->allocations[i];
    if (offsets[i] > 0) memcpy(bytes + offsets[i], constant_bytes(arena, allocation), (size_t)allocation->size);
  }
  file.bytes = (StringView){bytes, (size_t)end};
  file.hash = hash_of(sv_sub(file.bytes, sizeof(XlacConstants), file.bytes.size));
  XlacConstants head = {.magic = XLAC_CONSTANTS_MAGIC, .bytes = end, .hash = file.hash};
  memcpy(bytes, &head, sizeof head);
  return file;
}
