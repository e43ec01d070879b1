#include "runtime/collectives/movement.h"

#include <string.h>

const XlacDeviceGroup *collective_group(const XlacCollective *collective, int64_t device, int64_t *out_member) {
  for (int64_t i = 0; i < collective->group_count; i++) {
    for (int64_t k = 0; k < collective->groups[i].count; k++) {
      if (collective->groups[i].devices[k] != device) continue;
      *out_member = k;
      return &collective->groups[i];
    }
  }
  return NULL;
}

int64_t collective_source(const XlacCollective *collective, int64_t device) {
  for (int64_t i = 0; i < collective->pair_count; i++) {
    if (collective->pairs[i].target == device) return collective->pairs[i].source;
  }
  return -1;
}

int64_t collective_target(const XlacCollective *collective, int64_t device) {
  for (int64_t i = 0; i < collective->pair_count; i++) {
    if (collective->pairs[i].source == device) return collective->pairs[i].target;
  }
  return -1;
}

void move_runs(const void *from, int64_t from_stride, void *to, int64_t to_stride, int64_t outer, int64_t inner) {
  if (inner == 0) return;
  for (int64_t i = 0; i < outer; i++)
    memcpy((char *)to + i * to_stride, (const char *)from + i * from_stride, (size_t)inner);
}

void clear_results(const XlacCollective *collective, void *const *results) {
  for (int64_t i = 0; i < collective->buffer_count; i++) {
    int64_t bytes = collective->buffers[i].result_bytes;
    if (bytes > 0) memset(results[i], 0, (size_t)bytes);
  }
}

static int64_t width_of(int32_t type) {
  static const int32_t widths[] = {[XLAC_S8] = 1, [XLAC_S16] = 2, [XLAC_S32] = 4, [XLAC_S64] = 8,
                                   [XLAC_U8] = 1, [XLAC_U16] = 2, [XLAC_U32] = 4, [XLAC_U64] = 8};
  bool is_wide = type >= 0 && (uint64_t)type < sizeof widths / sizeof *widths && widths[type] > 0;
  return is_wide ? widths[type] : 1; /* narrower ones take a byte */
}

int64_t ragged_number(const XlacCollective *collective, const void *const *operands, int list, int64_t index) {
  int32_t type = collective->buffers[list].type;
  int64_t width = width_of(type), value = 0;
  memcpy(&value, (const char *)operands[list] + index * width, (size_t)width);
  bool is_signed = type >= XLAC_S1 && type <= XLAC_S64;
  int shift = (int)(64 - 8 * width);
  return is_signed ? (int64_t)((uint64_t)value << shift) >> shift : value;
}

int64_t ragged_runs(const XlacCollective *collective, int64_t members) {
  const XlacCollectiveBuffer *list = &collective->buffers[RAGGED_FROM];
  return list->operand_bytes / width_of(list->type) / members;
}

/* Rows of a run of |size| from |from| on before |rows| are over; the numbers are data and may be anything. */
static int64_t rows_before_end(int64_t rows, int64_t from, int64_t size) {
  int64_t left;
  return !__builtin_sub_overflow(rows, from, &left) && left < size ? left : size;
}

int64_t ragged_clip(int64_t input_rows, int64_t output_rows, int64_t *from, int64_t *to, int64_t size) {
  if (size <= 0 || *from <= -size || *to <= -size) return 0;
  int64_t first = 0;
  if (*from < 0) first = -*from;
  if (*to < 0 && -*to > first) first = -*to;
  if (*from >= input_rows || *to >= output_rows) return 0;
  int64_t last = rows_before_end(output_rows, *to, rows_before_end(input_rows, *from, size));
  if (last <= first) return 0;
  *from += first;
  *to += first;
  return last - first;
}
