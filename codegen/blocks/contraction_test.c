#include "codegen/blocks/contraction.h"

#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "codegen/llvm/llvm_target.h"
#include "hlo/type/float_types.h"

/* Contractions over affine addresses, compiled and compared with plain loops.  All elements are small integers, so that
 * every order of summing gives the same bits.  Buffers and scratch end at a page that cannot be touched. */

enum { MAX_TEST_DIMS = 8, MAX_GUARDS = 2, PAGE = 4096 };

typedef struct Affine {
  int64_t constant, steps[MAX_TEST_DIMS];
} Affine;

/* lower <= position < upper, and position % divisor == 0 unless that is 0. */
typedef struct Guard {
  Affine position;
  int64_t upper, divisor;
} Guard;

typedef enum Epilogue { PLAIN, BIAS_MAX, RESIDUAL, NARROW } Epilogue;

typedef struct TestCase {
  const char *name;
  PrimitiveType type, operand_type;
  PrimitiveType rhs_type; /* TYPE_INVALID: operand_type */
  int outer_count, inner_count;
  int64_t extents[MAX_TEST_DIMS]; /* outer dims, then inner ones */
  Affine lhs, rhs, result;
  int guard_count; /* of the lhs */
  Guard guards[MAX_GUARDS];
  Epilogue epilogue;
  Affine bias;
  bool too_small;       /* must not match */
  int checked_each;     /* only every so many-th element is checked; 0: all */
  int64_t most_scratch; /* bytes; 0: any number */
} TestCase;

/* --- the Kernel --- */

typedef struct Builder {
  Kernel kernel;
  const TestCase *test;
  KernelDim dims[MAX_TEST_DIMS];
  KernelBuffer buffers[4];
  KernelValue values[32];
  KernelFold fold;
  KernelStage stages[2];
  KernelStore store;
} Builder;

static PrimitiveType rhs_type(const TestCase *test) {
  return test->rhs_type == TYPE_INVALID ? test->operand_type : test->rhs_type;
}

static IndexExpr affine_index(Builder *builder, const Affine *affine) {
  IndexSpace *space = &builder->kernel.space;
  IndexExpr index = index_constant(affine->constant);
  for (int d = 0; d < builder->kernel.dim_count; d++) {
    if (affine->steps[d] == 0) continue;
    IndexExpr term = index_scale(space, index_dim(space, d, builder->dims[d].extent), affine->steps[d]);
    index = index_add(space, index, term);
  }
  return index;
}

static uint64_t affine_dims(const Affine *affine) {
  uint64_t dims = 0;
  for (int d = 0; d < MAX_TEST_DIMS; d++) {
    if (affine->steps[d] != 0) dims |= UINT64_C(1) << d;
  }
  return dims;
}

static int32_t add_value(Builder *builder, KernelValue value) {
  builder->values[builder->kernel.value_count] = value;
  return builder->kernel.value_count++;
}

static int32_t add_load(Builder *builder, int buffer, const Affine *affine, int32_t predicate) {
  KernelValue value = {
      .kind = KERNEL_LOAD, .type = builder->buffers[buffer].type, .buffer = buffer, .predicate = predicate};
  value.address = affine_index(builder, affine);
  value.dims = affine_dims(affine) | (predicate < 0 ? 0 : builder->values[predicate].dims);
  return add_value(builder, value);
}

static int32_t add_apply(Builder *builder, HloOpcode opcode, PrimitiveType type, int32_t a, int32_t b) {
  KernelValue value = {
      .kind = KERNEL_APPLY, .type = type, .opcode = opcode, .operand_count = b < 0 ? 1 : 2, .operands = {a, b, -1}};
  value.predicate = -1;
  value.dims = builder->values[a].dims | (b < 0 ? 0 : builder->values[b].dims);
  return add_value(builder, value);
}

static int32_t add_convert(Builder *builder, int32_t value, PrimitiveType type) {
  return builder->values[value].type == type ? value : add_apply(builder, HLO_CONVERT, type, value, -1);
}

static int32_t add_guards(Builder *builder) {
  int32_t predicate = -1;
  for (int i = 0; i < builder->test->guard_count; i++) {
    const Guard *guard = &builder->test->guards[i];
    KernelValue value = {.kind = KERNEL_IN_RANGE, .type = TYPE_PRED, .predicate = -1, .upper = guard->upper};
    value.address = affine_index(builder, &guard->position);
    value.dims = affine_dims(&guard->position);
    int32_t test = add_value(builder, value);
    predicate = predicate < 0 ? test : add_apply(builder, HLO_AND, TYPE_PRED, predicate, test);
    if (guard->divisor == 0) continue;
    value.kind = KERNEL_DIVISIBLE;
    value.upper = guard->divisor;
    predicate = add_apply(builder, HLO_AND, TYPE_PRED, predicate, add_value(builder, value));
  }
  return predicate;
}

static int64_t affine_last(const TestCase *test, const Affine *affine) {
  int64_t last = affine->constant;
  for (int d = 0; d < test->outer_count + test->inner_count; d++) {
    if (affine->steps[d] > 0) last += affine->steps[d] * (test->extents[d] - 1);
  }
  return last;
}

/* Elements of the lhs: what is read where no guard is false. */
static int64_t lhs_count(const TestCase *test) {
  if (test->guard_count == 0) return affine_last(test, &test->lhs) + 1;
  return test->lhs.steps[MAX_TEST_DIMS - 1]; /* stated by the case */
}

static int32_t add_epilogue(Builder *builder, int32_t sum) {
  const TestCase *test = builder->test;
  if (test->epilogue == PLAIN) return sum;
  if (test->epilogue == NARROW) return add_convert(builder, sum, TYPE_BF16);
  sum = add_apply(builder, HLO_ADD, test->type, sum, add_load(builder, 3, &test->bias, -1));
  if (test->epilogue == RESIDUAL) return sum;
  int32_t zero = add_value(builder, (KernelValue){.kind = KERNEL_CONSTANT, .type = test->type, .predicate = -1});
  return add_apply(builder, HLO_MAXIMUM, test->type, sum, zero);
}

static void build_kernel(Builder *builder, const TestCase *test, Arena *arena) {
  *builder = (Builder){.test = test};
  Kernel *kernel = &builder->kernel;
  kernel->arena = arena;
  index_space_init(&kernel->space, arena);
  kernel->dim_count = test->outer_count + test->inner_count;
  for (int d = 0; d < kernel->dim_count; d++) {
    bool is_outer = d < test->outer_count;
    builder->dims[d] =
        (KernelDim){test->extents[d], is_outer ? KERNEL_PARALLEL : KERNEL_REDUCTION, is_outer ? KERNEL_OUTER : 0};
  }
  builder->buffers[0] = (KernelBuffer){.type = test->operand_type, .element_count = lhs_count(test)};
  builder->buffers[1] = (KernelBuffer){.type = rhs_type(test), .element_count = affine_last(test, &test->rhs) + 1};
  PrimitiveType result = test->epilogue == NARROW ? TYPE_BF16 : test->type;
  builder->buffers[2] = (KernelBuffer){KERNEL_RESULT, result, affine_last(test, &test->result) + 1, -1, 0};
  builder->buffers[3] = (KernelBuffer){.type = test->type, .element_count = affine_last(test, &test->bias) + 1};
  kernel->buffer_count = 4;
  int32_t zero = add_value(builder, (KernelValue){.kind = KERNEL_CONSTANT, .type = test->type, .predicate = -1});
  Affine lhs_address = test->lhs;
  if (test->guard_count > 0) lhs_address.steps[MAX_TEST_DIMS - 1] = 0;
  int32_t lhs = add_load(builder, 0, &lhs_address, add_guards(builder)), rhs = add_load(builder, 1, &test->rhs, -1);
  lhs = add_convert(builder, lhs, test->type);
  rhs = add_convert(builder, rhs, test->type);
  uint64_t outer = (UINT64_C(1) << test->outer_count) - 1, all = (UINT64_C(1) << kernel->dim_count) - 1;
  KernelValue accumulator = {.kind = KERNEL_ACCUMULATOR, .type = test->type, .predicate = -1, .dims = all};
  int32_t sum = add_value(builder, accumulator);
  int32_t next = add_apply(builder, HLO_ADD, test->type, sum, add_apply(builder, HLO_MULTIPLY, test->type, lhs, rhs));
  builder->fold = (KernelFold){.type = test->type, .seed = zero, .next = next, .reassociable = true};
  accumulator.stage = 1;
  accumulator.dims = outer;
  int32_t final = add_epilogue(builder, add_value(builder, accumulator));
  builder->store = (KernelStore){2, affine_index(builder, &test->result), final, -1};
  builder->stages[1] = (KernelStage){.store_count = 1, .stores = &builder->store};
  kernel->dims = builder->dims;
  kernel->buffers = builder->buffers;
  kernel->values = builder->values;
  kernel->folds = &builder->fold;
  kernel->fold_count = 1;
  kernel->stages = builder->stages;
  kernel->stage_count = 2;
}

/* --- memory --- */

typedef struct Guarded {
  char *pages, *data;
  size_t size, bytes;
} Guarded;

/* |bytes| that end where the next page cannot be touched. */
static Guarded guarded_create(size_t bytes) {
  Guarded memory = {.size = (bytes + PAGE - 1) / PAGE * PAGE + PAGE, .bytes = bytes};
  memory.pages = mmap(NULL, memory.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(memory.pages, MAP_FAILED);
  assert_int_equal(mprotect(memory.pages + memory.size - PAGE, PAGE, PROT_NONE), 0);
  memory.data = memory.pages + memory.size - PAGE - bytes;
  return memory;
}

static void guarded_destroy(Guarded *memory) {
  munmap(memory->pages, memory->size);
}

static double element_get(PrimitiveType type, const void *data, int64_t i) {
  switch (type) {
    case TYPE_F32: return ((const float *)data)[i];
    case TYPE_F64: return ((const double *)data)[i];
    case TYPE_S32: return ((const int32_t *)data)[i];
    case TYPE_S16: return ((const int16_t *)data)[i];
    case TYPE_S8: return ((const int8_t *)data)[i];
    case TYPE_U8: return ((const uint8_t *)data)[i];
    default: return float_decode(type, ((const uint16_t *)data)[i]);
  }
}

static void element_set(PrimitiveType type, void *data, int64_t i, double value) {
  switch (type) {
    case TYPE_F32: ((float *)data)[i] = (float)value; return;
    case TYPE_F64: ((double *)data)[i] = value; return;
    case TYPE_S32: ((int32_t *)data)[i] = (int32_t)value; return;
    case TYPE_S16: ((int16_t *)data)[i] = (int16_t)value; return;
    case TYPE_S8: ((int8_t *)data)[i] = (int8_t)value; return;
    case TYPE_U8: ((uint8_t *)data)[i] = (uint8_t)value; return;
    default: ((uint16_t *)data)[i] = (uint16_t)float_encode(type, value);
  }
}

/* --- plain loops --- */

static int64_t affine_at(const Affine *affine, const int64_t *point, int count) {
  int64_t value = affine->constant;
  for (int d = 0; d < count; d++) value += affine->steps[d] * point[d];
  return value;
}

static bool next_point(int64_t *point, const int64_t *extents, int begin, int end) {
  for (int d = end - 1; d >= begin; d--) {
    if (++point[d] < extents[d]) return true;
    point[d] = 0;
  }
  return false;
}

static bool allowed(const TestCase *test, const int64_t *point, int count) {
  for (int i = 0; i < test->guard_count; i++) {
    int64_t position = affine_at(&test->guards[i].position, point, count);
    if (position < 0 || position >= test->guards[i].upper) return false;
    if (test->guards[i].divisor != 0 && position % test->guards[i].divisor != 0) return false;
  }
  return true;
}

static double expected_at(const TestCase *test, int64_t *point, const Guarded *memory) {
  int count = test->outer_count + test->inner_count;
  Affine lhs = test->lhs;
  if (test->guard_count > 0) lhs.steps[MAX_TEST_DIMS - 1] = 0;
  double sum = 0;
  do {
    if (!allowed(test, point, count)) continue;
    double a = element_get(test->operand_type, memory[0].data, affine_at(&lhs, point, count));
    sum += a * element_get(rhs_type(test), memory[1].data, affine_at(&test->rhs, point, count));
  } while (next_point(point, test->extents, test->outer_count, count));
  if (test->epilogue == NARROW) return float_decode(TYPE_BF16, float_encode(TYPE_BF16, sum));
  if (test->epilogue != PLAIN) sum += element_get(test->type, memory[3].data, affine_at(&test->bias, point, count));
  return test->epilogue == BIAS_MAX && sum < 0 ? 0 : sum;
}

/* --- running --- */

typedef struct Jit {
  LLVMOrcLLJITRef jit;
  void *function;
} Jit;

static Jit jit_load(StringView object) {
  Jit jit;
  assert_null(LLVMOrcCreateLLJIT(&jit.jit, LLVMOrcCreateLLJITBuilder()));
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(object.data, object.size, "test");
  assert_null(LLVMOrcLLJITAddObjectFile(jit.jit, LLVMOrcLLJITGetMainJITDylib(jit.jit), buffer));
  LLVMOrcExecutorAddress address;
  assert_null(LLVMOrcLLJITLookup(jit.jit, &address, "test"));
  jit.function = (void *)(uintptr_t)address;
  return jit;
}

static StringView compile(const TestCase *test, const LlvmTarget *target, const Kernel *kernel,
                          const ContractionBlocking *blocking, Arena *arena, DiagSink *diag) {
  LLVMContextRef context = LLVMContextCreate();
  VecBuilder vec = {context, LLVMModuleCreateWithNameInContext("test", context), LLVMCreateBuilderInContext(context),
                    &target->variants[0].vec};
  LLVMSetTarget(vec.module, target->triple);
  LLVMSetModuleDataLayout(vec.module, target->data_layout);
  LLVMTypeRef pointer = LLVMPointerTypeInContext(context, 0), index = LLVMInt64TypeInContext(context),
              parameters[7] = {pointer, pointer, pointer, pointer, pointer, index, index};
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(context), parameters, 7, false);
  LLVMValueRef function = LLVMAddFunction(vec.module, "test", type), arguments[7];
  LLVMGetParams(function, arguments);
  LLVMPositionBuilderAtEnd(vec.builder, LLVMAppendBasicBlockInContext(context, function, ""));
  contraction_emit(&vec, kernel, blocking, function, arguments, arguments[4], arguments[5], arguments[6]);
  LLVMBuildRetVoid(vec.builder);
  llvm_variant_mark(&target->variants[0], vec.module, NULL);
  StringView object = {0};
  if (llvm_target_emit(target, vec.module, LLVM_OUTPUT_OBJECT, arena, diag, &object) != STATUS_OK)
    fail_msg("%s: not emitted", test->name);
  LLVMDisposeBuilder(vec.builder);
  LLVMDisposeModule(vec.module);
  LLVMContextDispose(context);
  return object;
}

static void check_results(const TestCase *test, const char *cpu, const Guarded *memory, PrimitiveType type) {
  int64_t point[MAX_TEST_DIMS] = {0}, number = 0;
  do {
    if (test->checked_each > 1 && number++ % test->checked_each != 0) continue;
    double wanted = expected_at(test, point, memory);
    int64_t address = affine_at(&test->result, point, test->outer_count);
    double found = element_get(type, memory[2].data, address);
    if (wanted != found)
      fail_msg("%s on %s: element %lld is %g, not %g", test->name, cpu, (long long)address, found, wanted);
  } while (next_point(point, test->extents, 0, test->outer_count));
}

/* Small integers; bytes and halves reach their extremes, too. */
static double test_element(PrimitiveType type, int64_t i, int buffer) {
  int64_t small = (i * 7 + i / 5 + buffer) % 7 - 3;
  if (type == TYPE_U8) return (double)(i % 3 == 0 ? 255 - (i & 7) : small + 3);
  if (type == TYPE_S8 && i % 5 < 2) return (double)(i % 5 == 0 ? -128 : 127 - (i & 3));
  if (type == TYPE_S16 && i % 5 == 0) return (double)(-32768 + (i & 1023));
  return (double)small;
}

/* With blocks that need no more scratch than |limit|, if there are such. */
static void run_limited(const TestCase *test, const char *cpu, int64_t limit) {
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  LlvmTarget target;
  LlvmOptions options = {.mcpu = sv_from_cstring(cpu), .opt_level = 2};
  assert_int_equal(llvm_target_create(&options, &diag, &target), STATUS_OK);
  Builder builder;
  build_kernel(&builder, test, arena);
  const VecTarget *vec_target = &target.variants[0].vec;
  ContractionScratch scratch = {.most = limit, .free = limit};
  const ContractionBlocking *blocking = contraction_blocking_choose(arena, &builder.kernel, vec_target, scratch);
  bool matches = blocking != NULL;
  if (matches == test->too_small && limit == INT64_MAX)
    fail_msg("%s on %s: %s", test->name, cpu, matches ? "matches" : "does not match");
  if (matches) assert_true(contraction_scratch_bytes(blocking) <= limit);
  if (matches && test->most_scratch > 0) assert_true(contraction_scratch_bytes(blocking) <= test->most_scratch);
  if (matches) {
    Guarded memory[5];
    for (int b = 0; b < 4; b++) {
      const KernelBuffer *buffer = &builder.buffers[b];
      memory[b] = guarded_create((size_t)(buffer->element_count * type_storage_bytes(buffer->type)));
      for (int64_t i = 0; i < buffer->element_count; i++)
        element_set(buffer->type, memory[b].data, i, test_element(buffer->type, i, b));
    }
    memory[4] = guarded_create((size_t)contraction_scratch_bytes(blocking));
    memset(memory[4].data, 0xff, memory[4].bytes); /* NaN */
    Jit jit = jit_load(compile(test, &target, &builder.kernel, blocking, arena, &diag));
    void (*function)(void *, void *, void *, void *, void *, int64_t, int64_t);
    memcpy(&function, &jit.function, sizeof function);
    int64_t chunks, pieces = contraction_piece_count(blocking, &chunks);
    assert_true(chunks >= 1 && chunks <= pieces);
    function(memory[0].data, memory[1].data, memory[2].data, memory[3].data, memory[4].data, 0, pieces);
    check_results(test, cpu, memory, builder.buffers[2].type);
    /* piece by piece, the last first */
    if (pieces > 1) memset(memory[2].data, 0xff, memory[2].bytes);
    for (int64_t p = pieces - 1; p >= 0 && pieces > 1; p--) {
      memset(memory[4].data, 0xff, memory[4].bytes);
      function(memory[0].data, memory[1].data, memory[2].data, memory[3].data, memory[4].data, p, p + 1);
    }
    check_results(test, cpu, memory, builder.buffers[2].type);
    LLVMOrcDisposeLLJIT(jit.jit);
    for (int b = 0; b < 5; b++) guarded_destroy(&memory[b]);
  }
  llvm_target_dispose(&target);
  arena_destroy(arena);
}

static void run_case(const TestCase *test, const char *cpu) {
  run_limited(test, cpu, INT64_MAX);
}

static void run_everywhere(const TestCase *test) {
  run_limited(test, "x86-64", 4 << 10);
  run_case(test, "x86-64");
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    run_limited(test, "haswell", 16 << 10);
    run_case(test, "haswell");
  }
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) run_case(test, "x86-64-v4");
  if (type_is_integral(test->type) && __builtin_cpu_supports("avx512vnni")) run_case(test, "cascadelake");
  if (test->operand_type == TYPE_BF16 && __builtin_cpu_supports("avx512bf16")) run_case(test, "cooperlake");
}

/* --- matrices --- */

typedef enum Order { ROWS, COLUMNS } Order;

/* result[m][n] = Σ lhs[m][k] × rhs[k][n], each row by row or column by column. */
static TestCase matrix_case(int64_t m, int64_t n, int64_t k, Order lhs, Order rhs, Order result) {
  TestCase test = {.name = "matrices",
                   .type = TYPE_F32,
                   .operand_type = TYPE_F32,
                   .outer_count = 2,
                   .inner_count = 1,
                   .extents = {m, n, k}};
  test.lhs = lhs == ROWS ? (Affine){0, {k, 0, 1}} : (Affine){0, {1, 0, m}};
  test.rhs = rhs == ROWS ? (Affine){0, {0, 1, n}} : (Affine){0, {0, k, 1}};
  test.result = result == ROWS ? (Affine){0, {n, 1}} : (Affine){0, {1, m}};
  test.bias = (Affine){0, {0, 1}};
  return test;
}

static void contraction_of_every_order_is_right(void **state) {
  (void)state;
  for (int bits = 0; bits < 8; bits++) {
    TestCase test =
        matrix_case(37, 45, 29, bits & 1 ? COLUMNS : ROWS, bits & 2 ? COLUMNS : ROWS, bits & 4 ? COLUMNS : ROWS);
    run_everywhere(&test);
  }
}

static void contraction_of_odd_sizes_is_right(void **state) {
  (void)state;
  static const int64_t sizes[] = {2, 7, 13, 33, 129};
  enum { COUNT = sizeof sizes / sizeof *sizes };
  for (int i = 0; i < COUNT * COUNT; i++) {
    int64_t m = sizes[i % COUNT], n = sizes[i / COUNT], k = sizes[(i * 2 + 3) % COUNT];
    if (m * n * k < 4096 || n < 4 || k < 4 || m < 4) continue;
    TestCase test = matrix_case(m, n, k, ROWS, i % 2 == 0 ? ROWS : COLUMNS, ROWS);
    run_everywhere(&test);
  }
}

static void contraction_in_blocks_of_everything_is_right(void **state) {
  (void)state;
  TestCase test = matrix_case(701, 643, 701, ROWS, ROWS, ROWS);
  test.epilogue = BIAS_MAX;
  test.checked_each = 13;
  run_everywhere(&test);
  test = matrix_case(37, 1000, 643, COLUMNS, COLUMNS, ROWS);
  run_everywhere(&test);
}

/* What lies as the micro-kernel reads it is not packed: a tile of sums at a time is all, at most 32 registers of 64
 * bytes. */
static void contraction_of_small_plain_matrices_is_in_place(void **state) {
  (void)state;
  TestCase test = matrix_case(93, 64, 40, ROWS, ROWS, ROWS);
  test.epilogue = BIAS_MAX;
  test.most_scratch = 32 * 64 + 4096;
  run_everywhere(&test);
  /* the rhs of several blocks of the depth is packed, a panel at a time */
  test = matrix_case(37, 1000, 643, ROWS, ROWS, ROWS);
  test.most_scratch = 160 << 10;
  run_everywhere(&test);
}

/* The sums of several blocks of the depth are added up in the result, but for those of tiles that reach beyond it: the
 * scratch does not grow with the rows.  With an epilogue such tiles go to the result and back without it. */
static void contraction_of_many_blocks_adds_up_in_the_result(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    TestCase test = matrix_case(i == 0 ? 252 : 253, i == 0 ? 1568 : 1549, 400, ROWS, ROWS, ROWS);
    if (i == 2) test.epilogue = BIAS_MAX;
    test.checked_each = 97;
    test.most_scratch = 24 << 10;
    run_everywhere(&test);
  }
}

/* The last panel of a run begins early, so that it ends with the run: nothing is packed, whatever the columns; what it
 * computes again it does not store again. */
static void contraction_of_cut_panels_is_in_place(void **state) {
  (void)state;
  static const int64_t columns[] = {65, 67, 77, 100};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    TestCase test = matrix_case(51, columns[i], 47, ROWS, ROWS, ROWS);
    test.epilogue = i % 2 == 0 ? RESIDUAL : BIAS_MAX;
    test.bias = test.epilogue == RESIDUAL ? test.result : test.bias;
    test.most_scratch = 32 * 64 + 64;
    run_everywhere(&test);
  }
  /* one row: the depth in one block, which used to be packed for the last panel */
  TestCase test = matrix_case(3, 65, 129, ROWS, ROWS, ROWS);
  test.most_scratch = 4 << 10;
  run_everywhere(&test);
}

/* A small rhs is packed once, rows of the lhs a few at a time: less than all rows would take. */
static void contraction_of_many_rows_packs_few_at_a_time(void **state) {
  (void)state;
  TestCase test = matrix_case(300, 40, 60, COLUMNS, COLUMNS, ROWS);
  test.epilogue = BIAS_MAX;
  test.most_scratch = 48 << 10;
  run_everywhere(&test);
  enum { B = 3, M = 200, N = 21, K = 33 };
  test = (TestCase){.name = "batches", .type = TYPE_F32, .operand_type = TYPE_F32, .outer_count = 3, .inner_count = 1};
  memcpy(test.extents, (int64_t[]){B, M, N, K}, 4 * sizeof(int64_t));
  test.lhs = (Affine){0, {M * K, 1, 0, M}};
  test.rhs = (Affine){0, {K * N, 0, K, 1}};
  test.result = (Affine){0, {M * N, N, 1}};
  test.most_scratch = 32 << 10;
  run_everywhere(&test);
}

static void contraction_of_few_rows_is_right(void **state) {
  (void)state;
  for (int64_t m = 1; m <= 9; m += 4) {
    TestCase test = matrix_case(m, 131, 77, ROWS, ROWS, ROWS);
    test.epilogue = BIAS_MAX;
    run_everywhere(&test);
    test.operand_type = TYPE_BF16;
    run_everywhere(&test);
  }
}

/* Weights that lie row by row for each column; a depth that is no multiple of lanes; columns that are none of tiles. */
static void contraction_along_the_depth_is_right(void **state) {
  (void)state;
  for (int64_t m = 1; m <= 4; m++) {
    static const PrimitiveType operand_types[] = {TYPE_F32, TYPE_BF16, TYPE_F16};
    for (int i = 0; i < 3; i++) {
      TestCase test = matrix_case(m, 61, m == 1 ? 192 : 203, ROWS, COLUMNS, ROWS);
      test.operand_type = operand_types[i];
      run_everywhere(&test);
      test.epilogue = BIAS_MAX;
      run_everywhere(&test);
    }
    TestCase wide = matrix_case(m, 16, 64, ROWS, COLUMNS, ROWS);
    wide.type = wide.operand_type = TYPE_F64;
    run_everywhere(&wide);
  }
  TestCase vector = matrix_case(300, 1, 304, ROWS, ROWS, ROWS);
  vector.rhs = (Affine){0, {0, 0, 1}};
  vector.result = (Affine){0, {1, 0}};
  run_everywhere(&vector);
}

/* Every second or third element, as a phase of a dilated convolution stores. */
static void contraction_with_gaps_in_the_result_is_right(void **state) {
  (void)state;
  for (int64_t step = 2; step <= 3; step++) {
    TestCase test = matrix_case(19, 37, 45, ROWS, ROWS, ROWS);
    test.result = (Affine){1, {37 * step, step}};
    test.epilogue = BIAS_MAX;
    run_everywhere(&test);
  }
}

/* The rows become the columns. */
static void contraction_of_few_columns_is_right(void **state) {
  (void)state;
  for (int64_t n = 2; n <= 3; n++) {
    TestCase test = matrix_case(173, n, 33, ROWS, ROWS, ROWS);
    test.epilogue = BIAS_MAX;
    run_everywhere(&test);
  }
}

static void contraction_of_other_types_is_right(void **state) {
  (void)state;
  static const PrimitiveType types[][2] = {
      {TYPE_F64, TYPE_F64}, {TYPE_S32, TYPE_S32}, {TYPE_S32, TYPE_S8}, {TYPE_F32, TYPE_BF16}};
  for (int i = 0; i < 4; i++) {
    TestCase test = matrix_case(19, 37, 45, ROWS, ROWS, ROWS);
    test.type = types[i][0];
    test.operand_type = types[i][1];
    if (test.operand_type == TYPE_BF16) test.epilogue = NARROW;
    run_everywhere(&test);
  }
}

/* Groups of two or four to a lane, in every order, with depths that are no multiple of them. */
static void contraction_of_narrow_integers_is_right(void **state) {
  (void)state;
  static const PrimitiveType types[][2] = {
      {TYPE_S8, TYPE_S8}, {TYPE_U8, TYPE_S8}, {TYPE_S8, TYPE_U8}, {TYPE_U8, TYPE_U8}, {TYPE_S16, TYPE_S8}};
  for (int i = 0; i < 16; i++) {
    TestCase test = matrix_case(33, 37 + i / 5, 129 + i % 6, i & 1 ? COLUMNS : ROWS, i & 2 ? COLUMNS : ROWS,
                                i & 4 ? COLUMNS : ROWS);
    test.type = TYPE_S32;
    test.operand_type = types[i % 5][0];
    test.rhs_type = types[i % 5][1];
    run_everywhere(&test);
  }
  TestCase deep = matrix_case(40, 70, 1500, ROWS, ROWS, ROWS);
  deep.type = TYPE_S32;
  deep.operand_type = TYPE_S8;
  run_everywhere(&deep);
}

/* Pairs to a lane, in every order; depths of several blocks, and odd ones, which are not grouped. */
static void contraction_of_bf16_is_right(void **state) {
  (void)state;
  for (int i = 0; i < 16; i++) {
    TestCase test = matrix_case(33, 37 + i / 5, 126 + i % 7, i & 1 ? COLUMNS : ROWS, i & 2 ? COLUMNS : ROWS,
                                i & 4 ? COLUMNS : ROWS);
    test.operand_type = TYPE_BF16;
    run_everywhere(&test);
  }
  TestCase deep = matrix_case(40, 70, 1502, ROWS, ROWS, ROWS);
  deep.operand_type = TYPE_BF16;
  run_everywhere(&deep);
  TestCase mixed = matrix_case(40, 70, 66, ROWS, ROWS, ROWS);
  mixed.rhs_type = TYPE_F32;
  mixed.operand_type = TYPE_BF16;
  run_everywhere(&mixed);
}

static void contraction_with_residual_is_right(void **state) {
  (void)state;
  TestCase test = matrix_case(33, 50, 40, ROWS, ROWS, ROWS);
  test.epilogue = RESIDUAL;
  test.bias = (Affine){0, {50, 1}};
  run_everywhere(&test);
}

/* result[b][h][m][d] = Σ lhs[b][m][k] × rhs[k][h][d]: rows and columns of several dims, transposed on the way out. */
static void contraction_with_split_columns_is_right(void **state) {
  (void)state;
  enum { B = 3, M = 11, H = 4, D = 20, K = 30 };
  TestCase test = {
      .name = "split columns", .type = TYPE_F32, .operand_type = TYPE_F32, .outer_count = 4, .inner_count = 1};
  memcpy(test.extents, (int64_t[]){B, H, M, D, K}, 5 * sizeof(int64_t));
  test.lhs = (Affine){0, {M * K, 0, K, 0, 1}};
  test.rhs = (Affine){0, {0, D, 0, 1, H * D}};
  test.result = (Affine){0, {H * M * D, M * D, D, 1}};
  run_everywhere(&test);
}

static void contraction_in_batches_is_right(void **state) {
  (void)state;
  enum { B = 5, M = 17, N = 21, K = 33 };
  TestCase test = {.name = "batches", .type = TYPE_F32, .operand_type = TYPE_F32, .outer_count = 3, .inner_count = 1};
  memcpy(test.extents, (int64_t[]){B, M, N, K}, 4 * sizeof(int64_t));
  test.lhs = (Affine){0, {M * K, K, 0, 1}};
  test.rhs = (Affine){0, {K * N, 0, K, 1}};
  test.result = (Affine){0, {M * N, N, 1}};
  run_everywhere(&test);
}

/* Two contracted dims that no operand walks as one. */
static void contraction_over_two_dims_is_right(void **state) {
  (void)state;
  enum { M = 25, N = 40, P = 9, Q = 50 };
  TestCase test = {.name = "two dims", .type = TYPE_F32, .operand_type = TYPE_F32, .outer_count = 2, .inner_count = 2};
  memcpy(test.extents, (int64_t[]){M, N, P, Q}, 4 * sizeof(int64_t));
  test.lhs = (Affine){0, {P * Q, 0, Q, 1}};
  test.rhs = (Affine){0, {0, 1, N, P * N}};
  test.result = (Affine){0, {N, 1}};
  run_everywhere(&test);
}

/* --- convolutions --- */

typedef struct ConvolutionShape {
  int64_t size, channels, features, window, stride, pad, dilation, base_dilation;
} ConvolutionShape;

/* NHWC, HWIO; square, batch 2: dims n, y, x, feature; window y, x, channel. */
static TestCase convolution_case(const ConvolutionShape *s) {
  int64_t span = (s->size - 1) * s->base_dilation + 1, reach = (s->window - 1) * s->dilation + 1;
  int64_t out = (span + 2 * s->pad - reach) / s->stride + 1, c = s->channels, f = s->features;
  TestCase test = {
      .name = "convolution", .type = TYPE_F32, .operand_type = TYPE_F32, .outer_count = 4, .inner_count = 3};
  memcpy(test.extents, (int64_t[]){2, out, out, f, s->window, s->window, c}, 7 * sizeof(int64_t));
  test.lhs = (Affine){-s->pad * (s->size + 1) * c,
                      {s->size * s->size * c, s->stride * s->size * c, s->stride * c, 0, s->dilation * s->size * c,
                       s->dilation * c, 1}};
  test.lhs.steps[MAX_TEST_DIMS - 1] = 2 * s->size * s->size * c;
  test.rhs = (Affine){0, {0, 0, 0, 1, s->window * c * f, c * f, f}};
  test.result = (Affine){0, {out * out * f, out * f, f, 1}};
  test.guard_count = 2;
  test.guards[0] = (Guard){{-s->pad, {0, s->stride, 0, 0, s->dilation, 0, 0}}, span, 0};
  test.guards[1] = (Guard){{-s->pad, {0, 0, s->stride, 0, 0, s->dilation, 0}}, span, 0};
  return test;
}

/* The later ones: tiles are rows of the image, blocks of the depth lie in rows of the window; the last ones: tiles
 * whose rows overlap, with one and with several rows of the window in a block. */
static void contraction_of_convolutions_is_right(void **state) {
  (void)state;
  static const ConvolutionShape shapes[] = {
      {9, 16, 24, 3, 1, 1, 1, 1},  {12, 3, 20, 5, 2, 2, 1, 1}, {10, 40, 33, 3, 1, 2, 2, 1}, {7, 130, 16, 3, 2, 1, 1, 1},
      {6, 5, 7, 3, 1, 1, 1, 1},    {18, 3, 24, 7, 2, 3, 1, 1}, {8, 2, 16, 3, 1, 3, 1, 1},   {14, 110, 9, 3, 1, 1, 1, 1},
      {10, 110, 9, 3, 1, 3, 1, 1}, {7, 110, 9, 3, 1, 2, 2, 1}, {28, 3, 40, 7, 2, 3, 1, 1},  {28, 20, 33, 3, 2, 1, 1, 1},
      {12, 33, 20, 5, 1, 2, 1, 1}, {14, 1, 40, 5, 1, 0, 1, 1}, {13, 8, 40, 7, 1, 6, 3, 1},
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    TestCase test = convolution_case(&shapes[i]);
    test.checked_each = shapes[i].channels > 100 ? 11 : 0;
    run_everywhere(&test);
    test.epilogue = BIAS_MAX;
    test.bias = (Affine){0, {0, 0, 0, 1}};
    run_everywhere(&test);
    test.type = TYPE_S32;
    test.operand_type = TYPE_S8;
    run_everywhere(&test);
    test.type = TYPE_F32;
    test.operand_type = TYPE_BF16;
    run_everywhere(&test);
  }
}

/* NCHW, OIHW: the positions are the columns, guarded lane by lane; dims n, feature, y, x; window y, x, channel. */
static void contraction_of_channel_major_convolution_is_right(void **state) {
  (void)state;
  static const struct {
    int64_t size, window, stride;
  } shapes[] = {{14, 3, 1}, {14, 3, 2}, {27, 3, 2}, {32, 7, 2}, {39, 5, 2}, {16, 3, 1}, {24, 1, 2}};
  enum { C = 6, F = 10 };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    int64_t size = shapes[i].size, window = shapes[i].window, stride = shapes[i].stride, pad = window / 2;
    int64_t out = (size - 1) / stride + 1, plane = size * size;
    TestCase test = {
        .name = "channel-major", .type = TYPE_F32, .operand_type = TYPE_F32, .outer_count = 4, .inner_count = 3};
    memcpy(test.extents, (int64_t[]){2, F, out, out, window, window, C}, 7 * sizeof(int64_t));
    test.lhs = (Affine){-pad * (size + 1), {plane * C, 0, stride * size, stride, size, 1, plane}};
    test.lhs.steps[MAX_TEST_DIMS - 1] = 2 * plane * C;
    test.rhs = (Affine){0, {0, C * window * window, 0, 0, window, 1, window * window}};
    test.result = (Affine){0, {F * out * out, out * out, out, 1}};
    test.guard_count = window > 1 ? 2 : 0;
    test.guards[0] = (Guard){{-pad, {0, 0, stride, 0, 1, 0, 0}}, size, 0};
    test.guards[1] = (Guard){{-pad, {0, 0, 0, stride, 0, 1, 0}}, size, 0};
    run_everywhere(&test);
  }
}

/* The gradient of an NHWC convolution's weights: rows are contiguous in parts, those of one place in the window, and
 * begin anywhere in them in each piece; dims window y, x, channel, feature; n, y, x. */
static void contraction_of_weight_gradients_is_right(void **state) {
  (void)state;
  static const int64_t sizes[][2] = {{16, 24}, {8, 40}, {12, 16}, {32, 9}};
  enum { S = 10 };
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    int64_t c = sizes[i][0], f = sizes[i][1];
    TestCase test = {
        .name = "weight gradient", .type = TYPE_F32, .operand_type = TYPE_F32, .outer_count = 4, .inner_count = 3};
    memcpy(test.extents, (int64_t[]){3, 3, c, f, 2, S, S}, 7 * sizeof(int64_t));
    test.lhs = (Affine){-(S + 1) * c, {S * c, c, 1, 0, S * S * c, S * c, c}};
    test.lhs.steps[MAX_TEST_DIMS - 1] = 2 * S * S * c;
    test.rhs = (Affine){0, {0, 0, 0, 1, S * S * f, S * f, f}};
    test.result = (Affine){0, {3 * c * f, c * f, f, 1}};
    test.guard_count = 2;
    test.guards[0] = (Guard){{-1, {1, 0, 0, 0, 0, 1, 0}}, S, 0};
    test.guards[1] = (Guard){{-1, {0, 1, 0, 0, 0, 0, 1}}, S, 0};
    run_everywhere(&test);
  }
}

/* --- what is left to plain loops --- */

static void contraction_too_small_does_not_match(void **state) {
  (void)state;
  TestCase few = matrix_case(4, 4, 4, ROWS, ROWS, ROWS), vector = matrix_case(300, 1, 15, ROWS, ROWS, ROWS);
  vector.rhs = (Affine){0, {0, 0, 1}};
  vector.extents[1] = 1;
  vector.result = (Affine){0, {1, 0}};
  few.too_small = vector.too_small = true;
  run_everywhere(&few);
  run_everywhere(&vector);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(contraction_of_every_order_is_right),
      cmocka_unit_test(contraction_of_odd_sizes_is_right),
      cmocka_unit_test(contraction_in_blocks_of_everything_is_right),
      cmocka_unit_test(contraction_of_small_plain_matrices_is_in_place),
      cmocka_unit_test(contraction_of_many_blocks_adds_up_in_the_result),
      cmocka_unit_test(contraction_of_cut_panels_is_in_place),
      cmocka_unit_test(contraction_of_many_rows_packs_few_at_a_time),
      cmocka_unit_test(contraction_of_few_rows_is_right),
      cmocka_unit_test(contraction_along_the_depth_is_right),
      cmocka_unit_test(contraction_with_gaps_in_the_result_is_right),
      cmocka_unit_test(contraction_of_few_columns_is_right),
      cmocka_unit_test(contraction_of_other_types_is_right),
      cmocka_unit_test(contraction_of_narrow_integers_is_right),
      cmocka_unit_test(contraction_of_bf16_is_right),
      cmocka_unit_test(contraction_with_residual_is_right),
      cmocka_unit_test(contraction_with_split_columns_is_right),
      cmocka_unit_test(contraction_in_batches_is_right),
      cmocka_unit_test(contraction_over_two_dims_is_right),
      cmocka_unit_test(contraction_of_convolutions_is_right),
      cmocka_unit_test(contraction_of_channel_major_convolution_is_right),
      cmocka_unit_test(contraction_of_weight_gradients_is_right),
      cmocka_unit_test(contraction_too_small_does_not_match),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
