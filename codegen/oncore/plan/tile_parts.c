#include "codegen/oncore/plan/tile_parts.h"

#include "codegen/oncore/plan/tile_access.h"

/* A row costs a transfer about as much as so many bytes. */
#define MOST_BYTES 32

int64_t tile_part_of(IndexExpr address, int64_t parts) {
  int64_t part = address.constant % parts;
  return part < 0 ? part + parts : part;
}

static int64_t magnitude(int64_t coefficient) {
  return coefficient < 0 ? -coefficient : coefficient;
}

/* The least step of |address|, a linear one, along a dim, where all others are so many of it; else 1. */
static int64_t common_step(const Kernel *kernel, IndexExpr address) {
  int64_t step = 0;
  for (int i = 0; i < address.term_count; i++) {
    int64_t here = magnitude(address.terms[i].coefficient);
    bool is_dim = kernel->space.atoms.data[address.terms[i].atom].kind == INDEX_ATOM_DIM;
    if (is_dim && (step == 0 || here < step)) step = here;
  }
  if (step <= 1) return 1;
  for (int i = 0; i < address.term_count; i++) {
    if (address.terms[i].coefficient % step != 0) return 1;
  }
  return step;
}

/* Parts of elements of |buffer| at |address|, all of which are in the array; else 1. */
static int64_t parts_at(const Kernel *kernel, int32_t buffer, IndexExpr address) {
  const KernelBuffer *of = &kernel->buffers[buffer];
  if (!tile_address_is_linear(kernel, address)) return 1;
  int64_t parts = common_step(kernel, address), lower, upper;
  if (parts == 1 || parts * type_storage_bytes(of->type) > MOST_BYTES) return 1;
  int64_t part = tile_part_of(address, parts);
  index_range(&kernel->space, address, &lower, &upper);
  return lower - part >= 0 && upper - part + parts <= of->element_count ? parts : 1;
}

bool tile_load_descends(const Kernel *kernel, int32_t value, int32_t dim) {
  const KernelValue *load = tile_load_value(kernel, value);
  if (index_dim_coefficient(&kernel->space, load->address, dim) >= 0) return false;
  if (load->predicate >= 0 || kernel->buffers[load->buffer].role != KERNEL_OPERAND) return false;
  TileWindows windows;
  return tile_address_is_linear(kernel, load->address) && !tile_load_windows(kernel, value, &windows);
}

int64_t tile_load_parts(const Kernel *kernel, int32_t value) {
  const KernelValue *load = tile_load_value(kernel, value);
  if (load->predicate >= 0 || kernel->buffers[load->buffer].role != KERNEL_OPERAND) return 1;
  int64_t parts = parts_at(kernel, load->buffer, load->address);
  TileWindows windows;
  return parts > 1 && tile_load_windows(kernel, value, &windows) ? 1 : parts;
}

/* Whether |a| and |b| differ by less than |parts|, from a whole number of them on. */
static bool same_group(IndexExpr a, IndexExpr b, int64_t parts) {
  int64_t of_a = tile_part_of(a, parts), of_b = tile_part_of(b, parts);
  if (a.constant - of_a != b.constant - of_b) return false;
  a.constant = b.constant = 0;
  return index_equal(a, b);
}

int64_t tile_store_parts(const Kernel *kernel, int32_t stage, int32_t store) {
  const KernelStage *of = &kernel->stages[stage];
  const KernelStore *like = &of->stores[store];
  if (kernel->buffers[like->buffer].role != KERNEL_RESULT || of->comparator != NULL) return 1;
  int64_t parts = parts_at(kernel, like->buffer, like->address), count = 0;
  uint64_t found = 0;
  for (int32_t i = 0; i < of->store_count && parts > 1; i++) {
    const KernelStore *other = &of->stores[i];
    if (other->buffer != like->buffer) continue;
    if (other->predicate >= 0 || !same_group(other->address, like->address, parts)) return 1;
    found |= UINT64_C(1) << tile_part_of(other->address, parts);
    count++;
  }
  return count == parts && found == (UINT64_C(1) << parts) - 1 ? parts : 1;
}
