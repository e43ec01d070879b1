/* Work arrays of LAPACK's routines, as the workspace has them (runtime/lapack takes them from there).
 *
 * How much is best only the library knows.  Here are the least sizes that LAPACK's documentation has, and room for
 * blocks of BLOCK columns, the most that its reference implementation uses. */
#include "codegen/call/call_targets.h"
#include "hlo/ir/custom_call.h"

enum {
  BLOCK = 64,
  TRIANGLE = 65 * 64, /* of a block of reflections, which ormqr and gehrd keep */
  MOST_ROWS = 1 << 24 /* of a matrix whose work is counted: no sum below overflows */
};

/* What a routine works on: a matrix of |rows| by |columns|, |least| and |most| of these. */
typedef struct WorkSizes {
  int64_t rows, columns, least, most;
  int64_t element, real; /* bytes of an element; of its parts, or 0: routines of real ones have no work of these */
} WorkSizes;

typedef int64_t WorkRule(const WorkSizes *sizes);

static int64_t columns_of_blocks(const WorkSizes *s) {
  return s->columns * BLOCK * s->element;
}

static int64_t apply(const WorkSizes *s) {
  return (s->most * BLOCK + TRIANGLE) * s->element;
}

static int64_t hessenberg(const WorkSizes *s) {
  return (s->columns * BLOCK + TRIANGLE) * s->element;
}

static int64_t pivoted(const WorkSizes *s) {
  return (2 * s->columns + (s->columns + 1) * BLOCK) * s->element + 2 * s->columns * s->real;
}

static int64_t halved_values(const WorkSizes *s) {
  int64_t square = s->least * s->least;
  int64_t reals = 5 * square + 2 * s->most * s->least + 7 * s->least, integers = 8 * s->least;
  return (5 * square + 10 * s->least + (s->most + 2 * s->least) * BLOCK) * s->element + reals * s->real + integers * 4;
}

static int64_t iterated_values(const WorkSizes *s) {
  int64_t elements = 2 * s->least * s->least + 10 * s->least + (s->most + 2 * s->least) * BLOCK;
  return elements * s->element + 5 * s->least * s->real;
}

static int64_t symmetric(const WorkSizes *s) {
  int64_t n = s->columns, elements = 1 + 6 * n + 2 * n * n + n * BLOCK, reals = 1 + 5 * n + 2 * n * n;
  return elements * s->element + reals * s->real + (3 + 5 * n) * 4;
}

/* The handler of geev copies the matrix, and for real ones the vectors. */
static int64_t general(const WorkSizes *s) {
  int64_t n = s->columns;
  return (3 * n * n + 4 * n + 4 * n * BLOCK) * s->element + 2 * n * s->real;
}

static int64_t schur(const WorkSizes *s) {
  return (3 * s->columns + 4 * s->columns * BLOCK) * s->element + s->columns * s->real;
}

static const struct {
  const char *routine;
  int operand; /* the matrix */
  WorkRule *rule;
} rules[] = {
    {"geqrf", 0, columns_of_blocks},
    {"orgqr", 0, columns_of_blocks},
    {"ungqr", 0, columns_of_blocks},
    {"sytrd", 0, columns_of_blocks},
    {"hetrd", 0, columns_of_blocks},
    {"ormqr", 2, apply},
    {"unmqr", 2, apply},
    {"gehrd", 0, hessenberg},
    {"geqp3", 0, pivoted},
    {"gesdd", 0, halved_values},
    {"gesvd", 0, iterated_values},
    {"syevd", 0, symmetric},
    {"heevd", 0, symmetric},
    {"geev", 0, general},
    {"gees", 0, schur},
};

/* Arrays in the work begin at multiples of 64: as many as a handler takes. */
enum { ARRAYS = 4, ALIGNMENT = 64 };

int64_t call_work_bytes(const HloInstruction *call) {
  if (call->opcode != HLO_CUSTOM_CALL || custom_call_is_trap(call)) return 0;
  if (hlo_instruction_int(call, HLO_ATTR_API_VERSION, CUSTOM_CALL_API_VERSION_ORIGINAL) !=
      CUSTOM_CALL_API_VERSION_TYPED_FFI)
    return 0;
  StringView target = custom_call_target(call);
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    if (!custom_call_is_lapack(target, sv_from_cstring(rules[i].routine))) continue;
    if (rules[i].operand >= call->operand_count) return 0;
    const Shape *shape = call->operands[rules[i].operand]->shape;
    if (!shape_is_array(shape) || shape->rank < 2) return 0;
    WorkSizes sizes = {.rows = shape->dims[shape->rank - 2], .columns = shape->dims[shape->rank - 1]};
    if (sizes.rows > MOST_ROWS || sizes.columns > MOST_ROWS) return 0;
    sizes.least = sizes.rows < sizes.columns ? sizes.rows : sizes.columns;
    sizes.most = sizes.rows < sizes.columns ? sizes.columns : sizes.rows;
    sizes.element = type_storage_bytes(shape->type);
    sizes.real = type_is_complex(shape->type) ? sizes.element / 2 : 0;
    return rules[i].rule(&sizes) + ARRAYS * ALIGNMENT;
  }
  return 0;
}
