#include "codegen/emit/kernel_cost.h"

#include <math.h>

#include "base/checked_math.h"
#include "codegen/blocks/fft.h"

#define MOST_CHUNKS 1024
#define BYTES_PER_CYCLE 16.0

enum { OPERATION_HALVES = 1, FUNCTION_HALVES = 32, LOAD_HALVES = 1, STORE_HALVES = 2 };

/* Half cycles; 0: as any other. */
static const unsigned char cost_halves[OP_COST_COUNT] = {
    [OP_COST_DIVIDE] = KERNEL_DIVISION_HALVES, [OP_COST_SQRT] = KERNEL_DIVISION_HALVES,
    [OP_COST_EXP] = FUNCTION_HALVES,           [OP_COST_LOG] = FUNCTION_HALVES,
    [OP_COST_SIN] = FUNCTION_HALVES,           [OP_COST_TANH] = FUNCTION_HALVES,
    [OP_COST_ATANH] = 2 * FUNCTION_HALVES,     [OP_COST_POWER] = 4 * FUNCTION_HALVES,
};

int kernel_value_halves(const KernelValue *value) {
  int known = cost_halves[hlo_opcode_info(value->opcode)->cost];
  return known != 0 ? known : OPERATION_HALVES;
}

static double lanes_of(const VecTarget *target, PrimitiveType type) {
  int bits = type_storage_bytes(type) * 8;
  return max_i64(target->vector_bits / (bits < 8 ? 8 : bits), 1);
}

typedef struct Cost {
  const Kernel *kernel;
  const VecTarget *target;
  double halves;
  double *accesses; /* by buffer: elements */
} Cost;

static void add_value(Cost *cost, const KernelValue *value) {
  double points = kernel_point_count(cost->kernel, value->dims);
  int halves = 0;
  if (value->kind == KERNEL_LOAD) {
    halves = LOAD_HALVES;
    cost->accesses[value->buffer] += points;
  } else if (value->kind == KERNEL_APPLY) {
    halves = kernel_value_halves(value);
  }
  cost->halves += points * halves / lanes_of(cost->target, value->type);
}

static void add_stores(Cost *cost, int stage) {
  double points = kernel_point_count(cost->kernel, kernel_stage_dims(cost->kernel, stage));
  for (int i = 0; i < cost->kernel->stages[stage].store_count; i++) {
    int32_t buffer = cost->kernel->stages[stage].stores[i].buffer;
    cost->accesses[buffer] += points;
    cost->halves += points * STORE_HALVES / lanes_of(cost->target, cost->kernel->buffers[buffer].type);
  }
}

static void add_transform(Cost *cost, int stage) {
  const KernelTransform *transform = cost->kernel->stages[stage].transform;
  if (transform == NULL) return;
  double lines = kernel_point_count(cost->kernel, kernel_stage_dims(cost->kernel, KERNEL_OUTER));
  double operations = fft_operation_count(transform) * OPERATION_HALVES;
  cost->halves += lines * operations / lanes_of(cost->target, cost->kernel->buffers[transform->buffers[0][0]].type);
}

static double memory_bytes(const Cost *cost) {
  double bytes = 0;
  for (int b = 0; b < cost->kernel->buffer_count; b++) {
    const KernelBuffer *buffer = &cost->kernel->buffers[b];
    double elements = (double)buffer->element_count;
    if (buffer->role == KERNEL_SCRATCH) continue;
    if (cost->accesses[b] < elements) elements = cost->accesses[b];
    bytes += elements * type_storage_bytes(buffer->type);
  }
  return bytes;
}

typedef struct KernelCycles {
  double computing, memory;
} KernelCycles;

/* Of a Kernel without parts. */
static KernelCycles loop_cycles(const Kernel *kernel, const VecTarget *target) {
  Arena *scratch = arena_create();
  Cost cost = {.kernel = kernel, .target = target};
  cost.accesses = ARENA_NEW_ARRAY(scratch, double, kernel->buffer_count);
  for (int v = 0; v < kernel->value_count; v++) add_value(&cost, &kernel->values[v]);
  for (int s = 0; s < kernel->stage_count; s++) {
    add_stores(&cost, s);
    add_transform(&cost, s);
  }
  KernelCycles cycles = {.computing = cost.halves / 2, .memory = memory_bytes(&cost) / BYTES_PER_CYCLE};
  arena_destroy(scratch);
  return cycles;
}

/* What parts hand on stays in the cache, so their sums do not overlap. */
static double tile_cycles(const Kernel *kernel, const VecTarget *target) {
  double cycles = 0;
  for (int p = 0; p < kernel->part_count; p++) cycles += kernel_cycles(kernel->parts[p].kernel, target);
  return cycles * kernel_point_count(kernel, kernel_stage_dims(kernel, KERNEL_OUTER));
}

double kernel_cycles(const Kernel *kernel, const VecTarget *target) {
  if (kernel->part_count > 0) return tile_cycles(kernel, target);
  KernelCycles cycles = loop_cycles(kernel, target);
  return fmax(cycles.memory, cycles.computing);
}

static int64_t whole_chunks(double chunks) {
  if (chunks < 2) return 1;
  return chunks < MOST_CHUNKS ? (int64_t)chunks : MOST_CHUNKS;
}

int64_t kernel_loops_chunk_limit(const Kernel *kernel, const VecTarget *target) {
  KernelCycles cycles = loop_cycles(kernel, target);
  return whole_chunks(
      fmax(cycles.memory / KERNEL_MEMORY_CHUNK_CYCLES, cycles.computing / KERNEL_COMPUTING_CHUNK_CYCLES));
}

int64_t kernel_blocks_chunk_limit(const Kernel *kernel, const VecTarget *target) {
  return whole_chunks(kernel_cycles(kernel, target) / KERNEL_BLOCKS_CHUNK_CYCLES);
}
