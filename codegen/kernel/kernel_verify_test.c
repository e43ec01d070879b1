/* Every mutant of a good Kernel that breaks it must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/kernel/kernel.h"
#include "codegen/lower/kernel_builder.h"
#include "parser/hlo_parser.h"

static const char reduce_text[] =
    "HloModule m\n"
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
    "ENTRY e { x = f32[8,32] parameter(0) init = f32[] parameter(1)\n"
    "  ROOT r = f32[8] reduce(x, init), dimensions={1}, to_apply=add }\n";

static const char pad_text[] =
    "HloModule m\n"
    "ENTRY e { x = f32[5] parameter(0) zero = f32[] parameter(1) ROOT r = f32[7] pad(x, zero), padding=1_1 }\n";

static const char gather_text[] =
    "HloModule m\n"
    "ENTRY e { t = f32[9,4] parameter(0) i = s32[7] parameter(1)\n"
    "  ROOT r = f32[7,4] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},\n"
    "    index_vector_dim=1, slice_sizes={1,4} }\n";

static const char tiles_text[] =
    "HloModule m\n"
    "scale { x = f32[2,6,8] parameter(0) ROOT r = f32[2,6,8] multiply(x, x) }\n"
    "chain { a = f32[2,6,4] parameter(0) b = f32[2,8,4] parameter(1)\n"
    "  s = f32[2,6,8] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},\n"
    "    rhs_contracting_dims={2}\n"
    "  ROOT w = f32[2,6,8] fusion(s), kind=kLoop, calls=scale }\n"
    "ENTRY e { a = f32[2,6,4] parameter(0) b = f32[2,8,4] parameter(1)\n"
    "  ROOT r = f32[2,6,8] fusion(a, b), kind=kCustom, calls=chain }\n";

static const char fft_text[] =
    "HloModule m\n"
    "ENTRY e { x = c64[3,8] parameter(0) ROOT r = c64[3,8] fft(x), fft_type=FFT, fft_length={8} }\n";
static const char few_text[] =
    "HloModule m\n"
    "less { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT }\n"
    "lines { x = s32[3,9] parameter(0) s = s32[3,9] sort(x), dimensions={1}, to_apply=less\n"
    "  ROOT f = s32[3,2] slice(s), slice={[0:3], [0:2]} }\n"
    "ENTRY e { x = s32[3,9] parameter(0) ROOT r = s32[3,2] fusion(x), kind=kCustom, calls=lines }\n";
static const char sort_text[] =
    "HloModule m\n"
    "less { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT }\n"
    "ENTRY e { x = s32[3,9] parameter(0) ROOT r = s32[3,9] sort(x), dimensions={1}, to_apply=less }\n";

/* A Kernel whose tables may be changed. */
typedef struct Mutant {
  Arena *arena;
  Kernel kernel;
  KernelDim *dims;
  KernelBuffer *buffers;
  KernelValue *values;
  KernelFold *folds;
  KernelStage *stages;
  KernelStore *stores; /* of the last stage */
} Mutant;

static const Kernel *build(Arena *arena, const char *text) {
  SourceFile *file = ARENA_NEW(arena, SourceFile);
  DiagSink *diag = ARENA_NEW(arena, DiagSink);
  HloModule *module;
  KernelList list;
  *file = (SourceFile){SV("test"), sv_from_cstring(text)};
  diag_sink_init(diag, arena);
  assert_int_equal(hlo_parse_module(arena, shape_table_create(arena), file, diag, &module), STATUS_OK);
  assert_int_equal(kernel_build(arena, module->entry->root, diag, &list), STATUS_OK);
  assert_int_equal(list.count, 1);
  return list.kernels[0];
}

#define COPY(arena, type, from, count) \
  memcpy(ARENA_NEW_ARRAY(arena, type, (count) + 1), from, (size_t)(count) * sizeof(type))

static Mutant mutant_of(const char *text) {
  Mutant mutant = {.arena = arena_create()};
  const Kernel *kernel = build(mutant.arena, text);
  mutant.kernel = *kernel;
  mutant.kernel.dims = mutant.dims = COPY(mutant.arena, KernelDim, kernel->dims, kernel->dim_count);
  mutant.kernel.buffers = mutant.buffers = COPY(mutant.arena, KernelBuffer, kernel->buffers, kernel->buffer_count);
  mutant.kernel.values = mutant.values = COPY(mutant.arena, KernelValue, kernel->values, kernel->value_count);
  mutant.kernel.stages = mutant.stages = COPY(mutant.arena, KernelStage, kernel->stages, kernel->stage_count);
  if (kernel->fold_count > 0) {
    mutant.kernel.folds = mutant.folds = COPY(mutant.arena, KernelFold, kernel->folds, kernel->fold_count);
  }
  KernelStage *last = &mutant.stages[kernel->stage_count - 1];
  last->stores = mutant.stores = COPY(mutant.arena, KernelStore, last->stores, last->store_count);
  return mutant;
}

static void refused(Mutant *mutant, const char *code) {
  DiagSink diag;
  diag_sink_init(&diag, mutant->arena);
  assert_int_equal(kernel_verify(&mutant->kernel, &diag), code == NULL ? STATUS_OK : STATUS_INVALID);
  if (code != NULL) assert_string_equal(diag.first->code, code);
  arena_destroy(mutant->arena);
}

/* |mutation| is applied to the Kernel of |text|, which must then be refused with |code|. */
#define REFUSED(text, code, mutation) \
  do {                                \
    Mutant mutant = mutant_of(text);  \
    Kernel *kernel = &mutant.kernel;  \
    (void)kernel;                     \
    mutation;                         \
    refused(&mutant, code);           \
  } while (0)

static int32_t find_value(const Mutant *mutant, KernelValueKind kind) {
  for (int32_t v = mutant->kernel.value_count - 1; v >= 0; v--) {
    if (mutant->values[v].kind == kind) return v;
  }
  fail_msg("no value of kind %d", kind);
  return -1;
}

static void kernel_verify_accepts_what_is_built(void **state) {
  (void)state;
  REFUSED(reduce_text, NULL, );
  REFUSED(pad_text, NULL, );
  REFUSED(gather_text, NULL, );
}

static void kernel_verify_checks_addresses(void **state) {
  (void)state;
  REFUSED(reduce_text, "kernel-address", mutant.buffers[1].element_count = 255);
  REFUSED(reduce_text, "kernel-address", mutant.buffers[2].element_count = 7);
  REFUSED(gather_text, "kernel-address", mutant.buffers[1].element_count = 35);
  REFUSED(pad_text, "kernel-address", mutant.values[find_value(&mutant, KERNEL_LOAD)].predicate = -1);
  REFUSED(reduce_text, "kernel-address", mutant.stores[0].address = index_constant(-1));
  REFUSED(reduce_text, "kernel-parallel", mutant.stores[0].address = index_constant(0));
  REFUSED(gather_text, "kernel-parallel",
          mutant.stores[0].address = index_without_dim(&kernel->space, mutant.stores[0].address, 1));
}

static void kernel_verify_checks_buffers(void **state) {
  (void)state;
  REFUSED(reduce_text, "kernel-buffer", mutant.values[find_value(&mutant, KERNEL_LOAD)].buffer = 3);
  REFUSED(reduce_text, "kernel-buffer", mutant.values[find_value(&mutant, KERNEL_LOAD)].buffer = -1);
  REFUSED(reduce_text, "kernel-buffer",
          mutant.buffers[mutant.values[find_value(&mutant, KERNEL_LOAD)].buffer].role = KERNEL_OVERLAPPED);
  REFUSED(reduce_text, "kernel-buffer", mutant.stores[0].buffer = 3);
  REFUSED(reduce_text, "kernel-store", mutant.buffers[2].role = KERNEL_OPERAND);
  REFUSED(reduce_text, "kernel-type", mutant.buffers[2].type = TYPE_S32);
}

static void kernel_verify_checks_values(void **state) {
  (void)state;
  REFUSED(reduce_text, "kernel-order",
          mutant.values[find_value(&mutant, KERNEL_APPLY)].operands[0] = kernel->value_count - 1);
  REFUSED(reduce_text, "kernel-order", mutant.values[find_value(&mutant, KERNEL_APPLY)].operands[0] = -1);
  REFUSED(pad_text, "kernel-order", mutant.values[find_value(&mutant, KERNEL_LOAD)].predicate = kernel->value_count);
  REFUSED(pad_text, "kernel-type",
          mutant.values[mutant.values[find_value(&mutant, KERNEL_LOAD)].predicate].type = TYPE_S32);
  REFUSED(gather_text, "kernel-order",
          mutant.values[0].address = mutant.values[find_value(&mutant, KERNEL_LOAD)].address);
  REFUSED(reduce_text, "kernel-store", mutant.stores[0].value = kernel->value_count);
  REFUSED(reduce_text, "kernel-store", mutant.stores[0].value = -1);
  REFUSED(reduce_text, "kernel-store", mutant.stores[0].predicate = kernel->value_count);
  REFUSED(reduce_text, "kernel-type", mutant.stores[0].predicate = 0);
}

static void kernel_verify_checks_dims(void **state) {
  (void)state;
  REFUSED(reduce_text, "kernel-dim", mutant.dims[0].extent = 1);
  REFUSED(reduce_text, "kernel-dim", mutant.dims[0].extent = -8);
  REFUSED(reduce_text, "kernel-dim", mutant.dims[0].kind = KERNEL_REDUCTION);
  REFUSED(reduce_text, "kernel-dim", mutant.dims[1].stage = kernel->stage_count);
  REFUSED(reduce_text, "kernel-dim", mutant.dims[1].stage = -2);
}

static void kernel_verify_checks_folds(void **state) {
  (void)state;
  REFUSED(reduce_text, "kernel-fold", mutant.values[find_value(&mutant, KERNEL_ACCUMULATOR)].fold = 1);
  REFUSED(reduce_text, "kernel-fold", mutant.values[find_value(&mutant, KERNEL_ACCUMULATOR)].fold = -1);
  REFUSED(reduce_text, "kernel-type", mutant.values[find_value(&mutant, KERNEL_ACCUMULATOR)].type = TYPE_F64);
  REFUSED(reduce_text, "kernel-fold", mutant.folds[0].next = -1);
  REFUSED(reduce_text, "kernel-fold", mutant.folds[0].next = kernel->value_count);
  REFUSED(reduce_text, "kernel-fold", mutant.folds[0].seed = kernel->value_count);
  REFUSED(reduce_text, "kernel-fold", mutant.folds[0].seed = mutant.folds[0].next);
  REFUSED(reduce_text, "kernel-fold", mutant.folds[0].stage = kernel->stage_count);
  REFUSED(reduce_text, "kernel-stage", mutant.values[mutant.values[mutant.folds[0].next].operands[1]].stage = 1);
}

/* --- Kernels of tiles --- */

typedef struct TiledMutant {
  Mutant mutant;
  KernelPart *parts;
  int32_t *bindings; /* of the last part */
} TiledMutant;

static TiledMutant tiled_mutant(void) {
  TiledMutant tiled = {.mutant = {.arena = arena_create()}};
  Arena *arena = tiled.mutant.arena;
  const Kernel *kernel = build(arena, tiles_text);
  assert_int_equal(kernel->part_count, 2);
  tiled.mutant.kernel = *kernel;
  tiled.mutant.kernel.buffers = tiled.mutant.buffers = COPY(arena, KernelBuffer, kernel->buffers, kernel->buffer_count);
  tiled.mutant.kernel.parts = tiled.parts = COPY(arena, KernelPart, kernel->parts, 2);
  int32_t count = kernel->parts[1].kernel->buffer_count;
  tiled.parts[1].buffers = tiled.bindings = COPY(arena, int32_t, kernel->parts[1].buffers, count);
  return tiled;
}

#define TILES_REFUSED(code, mutation)      \
  do {                                     \
    TiledMutant tiled = tiled_mutant();    \
    Kernel *kernel = &tiled.mutant.kernel; \
    (void)kernel;                          \
    mutation;                              \
    refused(&tiled.mutant, code);          \
  } while (0)

static void kernel_verify_checks_parts(void **state) {
  (void)state;
  TILES_REFUSED(NULL, );
  TILES_REFUSED("kernel-part", tiled.bindings[0] = kernel->buffer_count);
  TILES_REFUSED("kernel-part", tiled.bindings[0] = KERNEL_TILE_INDEX - 1);
  TILES_REFUSED("kernel-part", tiled.bindings[0] = KERNEL_TILE_INDEX);
  TILES_REFUSED("kernel-part", tiled.mutant.buffers[tiled.bindings[0]].element_count++);
  TILES_REFUSED("kernel-part", tiled.mutant.buffers[tiled.bindings[0]].type = TYPE_S32);
  TILES_REFUSED("kernel-part", tiled.mutant.buffers[tiled.bindings[1]].role = KERNEL_OPERAND);
  TILES_REFUSED("kernel-part", tiled.parts[1].index_count++);
  TILES_REFUSED("kernel-part", kernel->stage_count = 1);
}

/* --- sorts --- */

static void kernel_verify_checks_sorts(void **state) {
  (void)state;
  static const KernelCompared of_no_operand[] = {{1, {0, -1}}}, without_value[] = {{0, {-1, -1}}},
                              of_no_value[] = {{0, {0, 100}}};
  REFUSED(sort_text, NULL, );
  REFUSED(sort_text, "kernel-sort", mutant.stages[0].comparator = NULL);
  REFUSED(sort_text, "kernel-sort", mutant.dims[1].kind = KERNEL_REDUCTION);
  REFUSED(sort_text, "kernel-dim", mutant.dims[0].kind = KERNEL_SORTED);
  REFUSED(sort_text, "kernel-sort", mutant.stages[0].compared_count = 0);
  REFUSED(sort_text, "kernel-sort", mutant.stages[0].compared = of_no_operand);
  REFUSED(sort_text, "kernel-sort", mutant.stages[0].compared = without_value);
  REFUSED(sort_text, "kernel-sort", mutant.stages[0].compared = of_no_value);
  REFUSED(few_text, NULL, );
  REFUSED(few_text, "kernel-sort", mutant.values[find_value(&mutant, KERNEL_IN_RANGE)].kind = KERNEL_DIVISIBLE);
  REFUSED(few_text, "kernel-sort", mutant.values[find_value(&mutant, KERNEL_IN_RANGE)].address = index_constant(0));
}

/* --- transforms --- */

static void kernel_verify_checks_transforms(void **state) {
  (void)state;
#define TRANSFORM_REFUSED(code, mutation)                    \
  do {                                                       \
    Mutant mutant = mutant_of(fft_text);                     \
    KernelTransform transform = *mutant.stages[1].transform; \
    mutant.stages[1].transform = &transform;                 \
    mutation;                                                \
    refused(&mutant, code);                                  \
  } while (0)
  TRANSFORM_REFUSED(NULL, );
  TRANSFORM_REFUSED("kernel-transform", transform.outer++);
  TRANSFORM_REFUSED("kernel-transform", transform.factor_count = 0);
  TRANSFORM_REFUSED("kernel-transform", transform.reals = KERNEL_OF_REALS);
  TRANSFORM_REFUSED("kernel-transform", transform.buffers[0][0] = transform.buffers[1][1]);
  TRANSFORM_REFUSED("kernel-transform", mutant.buffers[transform.buffers[1][0]].role = KERNEL_RESULT);
  TRANSFORM_REFUSED("kernel-transform", mutant.buffers[transform.buffers[1][0]].type = TYPE_F64);
  TRANSFORM_REFUSED("kernel-buffer", transform.buffers[0][1] = mutant.kernel.buffer_count);
  TRANSFORM_REFUSED("kernel-transform", mutant.stages[1].store_count = 1;
                    mutant.stages[1].stores = mutant.stages[0].stores);
}

/* --- identity --- */

static void kernel_text_knows_no_names(void **state) {
  (void)state;
  Arena *arena = arena_create();
  char renamed[sizeof reduce_text];
  memcpy(renamed, reduce_text, sizeof renamed);
  *strstr(renamed, "x = ") = 'y';
  strstr(renamed, "(x, init")[1] = 'y';
  StringView text = kernel_text(arena, build(arena, reduce_text));
  assert_true(sv_equal(text, kernel_text(arena, build(arena, renamed))));
  assert_false(sv_equal(text, kernel_text(arena, build(arena, gather_text))));
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernel_verify_accepts_what_is_built), cmocka_unit_test(kernel_verify_checks_addresses),
      cmocka_unit_test(kernel_verify_checks_buffers),        cmocka_unit_test(kernel_verify_checks_values),
      cmocka_unit_test(kernel_verify_checks_dims),           cmocka_unit_test(kernel_verify_checks_folds),
      cmocka_unit_test(kernel_verify_checks_transforms),     cmocka_unit_test(kernel_verify_checks_parts),
      cmocka_unit_test(kernel_verify_checks_sorts),          cmocka_unit_test(kernel_text_knows_no_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
