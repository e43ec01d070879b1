/* What the tests of contractions share. */
#ifndef XLAC_CODEGEN_BLOCKS_CONTRACTION_TESTING_H
#define XLAC_CODEGEN_BLOCKS_CONTRACTION_TESTING_H

#include <cpuid.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "codegen/blocks/contraction_internal.h"
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
  bool is_overlapped;   /* the result, by tiles of a Kernel around this one */
  bool is_far;          /* factors come from memory */
} TestCase;

/* --- matrices --- */

typedef enum Order { ROWS, COLUMNS } Order;

/* result[m][n] = Σ lhs[m][k] × rhs[k][n], each row by row or column by column. */
static inline TestCase matrix_case(int64_t m, int64_t n, int64_t k, Order lhs, Order rhs, Order result) {
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

static inline PrimitiveType rhs_type(const TestCase *test) {
  return test->rhs_type == TYPE_INVALID ? test->operand_type : test->rhs_type;
}

static inline PrimitiveType result_type(const TestCase *test) {
  return test->epilogue == NARROW ? TYPE_BF16 : test->type;
}

static inline IndexExpr affine_index(Builder *builder, const Affine *affine) {
  IndexSpace *space = &builder->kernel.space;
  IndexExpr index = index_constant(affine->constant);
  for (int d = 0; d < builder->kernel.dim_count; d++) {
    if (affine->steps[d] == 0) continue;
    IndexExpr term = index_scale(space, index_dim(space, d, builder->dims[d].extent), affine->steps[d]);
    index = index_add(space, index, term);
  }
  return index;
}

static inline uint64_t affine_dims(const Affine *affine) {
  uint64_t dims = 0;
  for (int d = 0; d < MAX_TEST_DIMS; d++) {
    if (affine->steps[d] != 0) dims |= UINT64_C(1) << d;
  }
  return dims;
}

static inline int32_t add_value(Builder *builder, KernelValue value) {
  builder->values[builder->kernel.value_count] = value;
  return builder->kernel.value_count++;
}

static inline int32_t add_load(Builder *builder, int buffer, const Affine *affine, int32_t predicate) {
  KernelValue value = {
      .kind = KERNEL_LOAD, .type = builder->buffers[buffer].type, .buffer = buffer, .predicate = predicate};
  value.address = affine_index(builder, affine);
  value.dims = affine_dims(affine) | (predicate < 0 ? 0 : builder->values[predicate].dims);
  return add_value(builder, value);
}

static inline int32_t add_apply(Builder *builder, HloOpcode opcode, PrimitiveType type, int32_t a, int32_t b) {
  KernelValue value = {
      .kind = KERNEL_APPLY, .type = type, .opcode = opcode, .operand_count = b < 0 ? 1 : 2, .operands = {a, b, -1}};
  value.predicate = -1;
  value.dims = builder->values[a].dims | (b < 0 ? 0 : builder->values[b].dims);
  return add_value(builder, value);
}

static inline int32_t add_convert(Builder *builder, int32_t value, PrimitiveType type) {
  return builder->values[value].type == type ? value : add_apply(builder, HLO_CONVERT, type, value, -1);
}

static inline int32_t add_guards(Builder *builder) {
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

static inline int64_t affine_last(const TestCase *test, const Affine *affine) {
  int64_t last = affine->constant;
  for (int d = 0; d < test->outer_count + test->inner_count; d++) {
    if (affine->steps[d] > 0) last += affine->steps[d] * (test->extents[d] - 1);
  }
  return last;
}

/* Elements of the lhs: what is read where no guard is false. */
static inline int64_t lhs_count(const TestCase *test) {
  if (test->guard_count == 0) return affine_last(test, &test->lhs) + 1;
  return test->lhs.steps[MAX_TEST_DIMS - 1]; /* stated by the case */
}

static inline int32_t add_epilogue(Builder *builder, int32_t sum) {
  const TestCase *test = builder->test;
  if (test->epilogue == PLAIN) return sum;
  if (test->epilogue == NARROW) return add_convert(builder, sum, TYPE_BF16);
  sum = add_apply(builder, HLO_ADD, test->type, sum, add_load(builder, 3, &test->bias, -1));
  if (test->epilogue == RESIDUAL) return sum;
  int32_t zero = add_value(builder, (KernelValue){.kind = KERNEL_CONSTANT, .type = test->type, .predicate = -1});
  return add_apply(builder, HLO_MAXIMUM, test->type, sum, zero);
}

static inline void build_kernel(Builder *builder, const TestCase *test, Arena *arena) {
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
  builder->buffers[2] = (KernelBuffer){test->is_overlapped ? KERNEL_OVERLAPPED : KERNEL_RESULT, result_type(test),
                                       affine_last(test, &test->result) + 1, -1, 0};
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
static inline Guarded guarded_create(size_t bytes) {
  Guarded memory = {.size = (bytes + PAGE - 1) / PAGE * PAGE + PAGE, .bytes = bytes};
  memory.pages = mmap(NULL, memory.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(memory.pages, MAP_FAILED);
  assert_int_equal(mprotect(memory.pages + memory.size - PAGE, PAGE, PROT_NONE), 0);
  memory.data = memory.pages + memory.size - PAGE - bytes;
  return memory;
}

static inline void guarded_destroy(Guarded *memory) {
  munmap(memory->pages, memory->size);
}

static inline double element_get(PrimitiveType type, const void *data, int64_t i) {
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

static inline void element_set(PrimitiveType type, void *data, int64_t i, double value) {
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

/* Small integers; bytes and halves reach their extremes, too. */
static inline double test_element(PrimitiveType type, int64_t i, int buffer) {
  int64_t small = (i * 7 + i / 5 + buffer) % 7 - 3;
  if (type == TYPE_U8) return (double)(i % 3 == 0 ? 255 - (i & 7) : small + 3);
  if (type == TYPE_S8 && i % 5 < 2) return (double)(i % 5 == 0 ? -128 : 127 - (i & 3));
  if (type == TYPE_S16 && i % 5 == 0) return (double)(-32768 + (i & 1023));
  return (double)small;
}

static inline int64_t affine_at(const Affine *affine, const int64_t *point, int count) {
  int64_t value = affine->constant;
  for (int d = 0; d < count; d++) value += affine->steps[d] * point[d];
  return value;
}

static inline bool next_point(int64_t *point, const int64_t *extents, int begin, int end) {
  for (int d = end - 1; d >= begin; d--) {
    if (++point[d] < extents[d]) return true;
    point[d] = 0;
  }
  return false;
}

static inline bool allowed(const TestCase *test, const int64_t *point, int count) {
  for (int i = 0; i < test->guard_count; i++) {
    int64_t position = affine_at(&test->guards[i].position, point, count);
    if (position < 0 || position >= test->guards[i].upper) return false;
    if (test->guards[i].divisor != 0 && position % test->guards[i].divisor != 0) return false;
  }
  return true;
}

/* |operands|: the elements of the four buffers; the result's is not used. */
static inline double expected_at(const TestCase *test, int64_t *point, double *const *operands) {
  int count = test->outer_count + test->inner_count;
  Affine lhs = test->lhs;
  if (test->guard_count > 0) lhs.steps[MAX_TEST_DIMS - 1] = 0;
  double sum = 0;
  do {
    if (!allowed(test, point, count)) continue;
    sum += operands[0][affine_at(&lhs, point, count)] * operands[1][affine_at(&test->rhs, point, count)];
  } while (next_point(point, test->extents, test->outer_count, count));
  if (test->epilogue == NARROW) return float_decode(TYPE_BF16, float_encode(TYPE_BF16, sum));
  if (test->epilogue != PLAIN) sum += operands[3][affine_at(&test->bias, point, count)];
  return test->epilogue == BIAS_MAX && sum < 0 ? 0 : sum;
}

static inline bool is_checked(const TestCase *test, int64_t number) {
  return test->checked_each <= 1 || number % test->checked_each == 0;
}

/* Of each result in the order of its dims, in |arena|; 0 where it is not checked. */
static inline double *expected_results(const TestCase *test, Arena *arena) {
  Builder builder;
  build_kernel(&builder, test, arena);
  double *operands[4];
  for (int b = 0; b < 4; b++) {
    const KernelBuffer *buffer = &builder.buffers[b];
    operands[b] = ARENA_NEW_ARRAY(arena, double, buffer->element_count);
    for (int64_t i = 0; i < buffer->element_count; i++) operands[b][i] = test_element(buffer->type, i, b);
  }
  int64_t count = 1, number = 0, point[MAX_TEST_DIMS] = {0};
  for (int d = 0; d < test->outer_count; d++) count *= test->extents[d];
  double *expected = ARENA_NEW_ARRAY(arena, double, count);
  do {
    expected[number] = is_checked(test, number) ? expected_at(test, point, operands) : 0;
    number++;
  } while (next_point(point, test->extents, 0, test->outer_count));
  return expected;
}

/* --- running --- */

/* lhs, rhs, result, bias, scratch; first piece, end of the pieces. */
typedef void CompiledTest(void *, void *, void *, void *, void *, int64_t, int64_t);

typedef struct Jit {
  LLVMOrcLLJITRef jit;
  CompiledTest *function;
  int32_t *matrix_state; /* 0: nobody has asked for the matrix unit; REFUSED */
} Jit;

enum { REFUSED = 2 };

static inline void *jit_address(LLVMOrcLLJITRef jit, const char *name) {
  LLVMOrcExecutorAddress address;
  assert_null(LLVMOrcLLJITLookup(jit, &address, name));
  return (void *)(uintptr_t)address;
}

static inline Jit jit_load(StringView object) {
  Jit jit;
  assert_null(LLVMOrcCreateLLJIT(&jit.jit, LLVMOrcCreateLLJITBuilder()));
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(object.data, object.size, "test");
  assert_null(LLVMOrcLLJITAddObjectFile(jit.jit, LLVMOrcLLJITGetMainJITDylib(jit.jit), buffer));
  void *function = jit_address(jit.jit, "test");
  memcpy(&jit.function, &function, sizeof function);
  jit.matrix_state = jit_address(jit.jit, CONTRACTION_MATRIX_STATE);
  return jit;
}

static inline StringView compile(const TestCase *test, const LlvmTarget *target, const Kernel *kernel,
                                 const ContractionBlocking *blocking, Arena *arena, DiagSink *diag) {
  LLVMContextRef context = LLVMContextCreate();
  VecBuilder vec = {context, LLVMModuleCreateWithNameInContext("test", context), LLVMCreateBuilderInContext(context),
                    &target->variants[0].vec, false};
  LLVMSetTarget(vec.module, target->triple);
  LLVMSetModuleDataLayout(vec.module, target->data_layout);
  LLVMTypeRef pointer = LLVMPointerTypeInContext(context, 0), index = LLVMInt64TypeInContext(context),
              parameters[7] = {pointer, pointer, pointer, pointer, pointer, index, index};
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(context), parameters, 7, false);
  LLVMValueRef function = LLVMAddFunction(vec.module, "test", type), arguments[7];
  LLVMGetParams(function, arguments);
  LLVMPositionBuilderAtEnd(vec.builder, LLVMAppendBasicBlockInContext(context, function, ""));
  /* Where the test reaches it. */
  LLVMValueRef state = LLVMAddGlobal(vec.module, LLVMInt32TypeInContext(context), CONTRACTION_MATRIX_STATE);
  LLVMSetInitializer(state, LLVMConstInt(LLVMInt32TypeInContext(context), 0, false));
  contraction_emit(&vec, kernel, blocking, function, arguments, arguments[4], (IndexRange){arguments[5], arguments[6]});
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

/* A test on one processor. */
typedef struct Run {
  const TestCase *test;
  const char *cpu;
  const double *expected; /* of each result in the order of its dims */
  const ContractionBlocking *blocking;
  Guarded memory[5]; /* lhs, rhs, result, bias, scratch */
} Run;

static inline void check_results(const Run *run) {
  const TestCase *test = run->test;
  PrimitiveType type = result_type(test);
  int64_t point[MAX_TEST_DIMS] = {0}, number = 0;
  do {
    double wanted = run->expected[number];
    if (!is_checked(test, number++)) continue;
    int64_t address = affine_at(&test->result, point, test->outer_count);
    double found = element_get(type, run->memory[2].data, address);
    if (wanted != found)
      fail_msg("%s on %s: element %lld is %g, not %g", test->name, run->cpu, (long long)address, found, wanted);
  } while (next_point(point, test->extents, 0, test->outer_count));
}

/* Scratch and results are NaN before, and whatever integers that is. */
static inline void run_pieces(const Run *run, CompiledTest *function, int64_t first, int64_t end) {
  const Guarded *memory = run->memory;
  memset(memory[4].data, 0xff, memory[4].bytes);
  function(memory[0].data, memory[1].data, memory[2].data, memory[3].data, memory[4].data, first, end);
}

/* All pieces at once, then piece by piece, the last first. */
static inline void run_in_both_ways(const Run *run, CompiledTest *function) {
  ContractionPieces cut = contraction_pieces(run->blocking);
  int64_t pieces = cut.count;
  assert_true(cut.chunk_limit >= 1 && cut.chunk_limit <= pieces);
  memset(run->memory[2].data, 0xff, run->memory[2].bytes);
  run_pieces(run, function, 0, pieces);
  check_results(run);
  if (pieces == 1) return;
  memset(run->memory[2].data, 0xff, run->memory[2].bytes);
  for (int64_t p = pieces - 1; p >= 0; p--) run_pieces(run, function, p, p + 1);
  check_results(run);
}

/* Where the system grants the matrix unit, and, if that has been asked for, where it does not. */
static inline void run_compiled(Run *run, const Builder *builder, const LlvmTarget *target, Arena *arena,
                                DiagSink *diag) {
  for (int b = 0; b < 4; b++) {
    const KernelBuffer *buffer = &builder->buffers[b];
    run->memory[b] = guarded_create((size_t)(buffer->element_count * type_storage_bytes(buffer->type)));
    for (int64_t i = 0; i < buffer->element_count; i++)
      element_set(buffer->type, run->memory[b].data, i, test_element(buffer->type, i, b));
  }
  run->memory[4] = guarded_create((size_t)contraction_scratch_bytes(run->blocking));
  Jit jit = jit_load(compile(run->test, target, &builder->kernel, run->blocking, arena, diag));
  run_in_both_ways(run, jit.function);
  if (*jit.matrix_state != 0) {
    *jit.matrix_state = REFUSED;
    run_in_both_ways(run, jit.function);
  }
  LLVMOrcDisposeLLJIT(jit.jit);
  for (int b = 0; b < 5; b++) guarded_destroy(&run->memory[b]);
}

/* Where what the products of a module read in a run stays; in SMALL_PART, of the last-level cache. */
typedef enum FactorPlace { OWN_CACHE, SMALL_PART, LAST_CACHE, MEMORY } FactorPlace;

/* What is chosen for a CPU beside other code, with at most |most_scratch| bytes, none of them for nothing. */
static inline ContractionBlocking blocking_on(const TestCase *test, const char *cpu, FactorPlace place,
                                              int64_t most_scratch, Arena *arena) {
  Builder builder;
  build_kernel(&builder, test, arena);
  VecTarget target = cpu_vec_target(cpu_level_find(sv_from_cstring(cpu))->features);
  target.keeps_factors = place <= SMALL_PART;
  target.leaves_own_cache = place > OWN_CACHE;
  target.streams_factors = place == MEMORY;
  ContractionScratch scratch = {.most = most_scratch, .free = 0};
  const ContractionBlocking *blocking = contraction_blocking_choose(arena, &builder.kernel, &target, scratch);
  assert_non_null(blocking);
  return *blocking;
}

/* With blocks that need no more scratch than |limit|, if there are such and others would be chosen without a limit. */
static inline void run_limited(const TestCase *test, const double *expected, const char *cpu, int64_t limit) {
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  LlvmTarget target;
  LlvmOptions options = {.mcpu = sv_from_cstring(cpu), .opt_level = 2};
  assert_int_equal(llvm_target_create(&options, &diag, &target), STATUS_OK);
  Builder builder;
  build_kernel(&builder, test, arena);
  VecTarget vec_target = target.variants[0].vec;
  vec_target.streams_factors = test->is_far;
  vec_target.keeps_factors = !test->is_far;
  ContractionScratch any = {.most = INT64_MAX, .free = INT64_MAX}, limited = {.most = limit, .free = limit};
  Run run = {test, cpu, expected, contraction_blocking_choose(arena, &builder.kernel, &vec_target, any), {{0}}};
  bool matches = run.blocking != NULL, is_limited = matches && contraction_scratch_bytes(run.blocking) > limit;
  if (matches == test->too_small) fail_msg("%s on %s: %s", test->name, cpu, matches ? "matches" : "does not match");
  if (is_limited) run.blocking = contraction_blocking_choose(arena, &builder.kernel, &vec_target, limited);
  if (run.blocking != NULL && (is_limited || limit == INT64_MAX)) {
    assert_true(contraction_scratch_bytes(run.blocking) <= limit);
    if (test->most_scratch > 0) assert_true(contraction_scratch_bytes(run.blocking) <= test->most_scratch);
    run_compiled(&run, &builder, &target, arena, &diag);
  }
  llvm_target_dispose(&target);
  arena_destroy(arena);
}

/* AMX of bytes and of bf16: leaf 7 of cpuid; by what has AVX512-FP16 as well, which "sapphirerapids" stands for. */
static inline bool has_matrix_unit(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  return (d >> 22 & 1) != 0 && (d >> 23 & 1) != 0 && (d >> 24 & 1) != 0 && (d >> 25 & 1) != 0;
}

/* On the processors whose instructions this one has and the test may use. */
static inline void run_everywhere(const TestCase *test) {
  struct {
    const char *name;
    int64_t limit; /* bytes of scratch in a run of its own; 0: none */
    bool is_suited;
  } cpus[] = {
      {"x86-64", 4 << 10, true},
      {"haswell", 16 << 10, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
      {"x86-64-v4", 0, __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")},
      {"cascadelake", 0, type_is_integral(test->type) && __builtin_cpu_supports("avx512vnni")},
      {"cooperlake", 0, test->operand_type == TYPE_BF16 && __builtin_cpu_supports("avx512bf16")},
      {"sapphirerapids", 0, (test->operand_type == TYPE_BF16 || type_is_integral(test->type)) && has_matrix_unit()},
  };
  Arena *arena = arena_create();
  const double *expected = expected_results(test, arena);
  for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
    if (!cpus[i].is_suited) continue;
    if (cpus[i].limit > 0) run_limited(test, expected, cpus[i].name, cpus[i].limit);
    run_limited(test, expected, cpus[i].name, INT64_MAX);
  }
  arena_destroy(arena);
}

/* On |cpu|, if this processor has the instructions that are used for f32 and f64 there: AVX-512's. */
static inline void run_on_long_registers(const TestCase *test, const char *cpu) {
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl")) return;
  Arena *arena = arena_create();
  run_limited(test, expected_results(test, arena), cpu, INT64_MAX);
  arena_destroy(arena);
}

#endif
