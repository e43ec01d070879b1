/* Reducers as operations of MPI.  Its own minimum and maximum of floats lose NaN, it knows no half precision, and its
 * complex product is C's: for these the engine has operations of its own. */
#include <stdlib.h>

#include "runtime/collectives/reduction.h"
#include "runtime/mpi/mpi_engine_internal.h"

/* --- operations of the engine --- */

/* MPI hands nothing but the arrays over, so that each type and reducer is a function. */
#define TYPES(do_type, reducer)                                                                                    \
  do_type(PRED, reducer) do_type(S8, reducer) do_type(S16, reducer) do_type(S32, reducer) do_type(S64, reducer)    \
      do_type(U8, reducer) do_type(U16, reducer) do_type(U32, reducer) do_type(U64, reducer) do_type(F16, reducer) \
          do_type(BF16, reducer) do_type(F32, reducer) do_type(F64, reducer) do_type(C64, reducer)                 \
              do_type(C128, reducer)
#define REDUCERS(do_type)  \
  TYPES(do_type, ADD)      \
  TYPES(do_type, MULTIPLY) \
  TYPES(do_type, MINIMUM) TYPES(do_type, MAXIMUM) TYPES(do_type, AND) TYPES(do_type, OR) TYPES(do_type, XOR)

#define FUNCTION(type, reducer)                                                                     \
  static void apply_##type##_##reducer(void *in, void *inout, int *count, MPI_Datatype *datatype) { \
    (void)datatype;                                                                                 \
    reduction_function(XLAC_##type, XLAC_REDUCE_##reducer)(in, inout, *count);                      \
  }
REDUCERS(FUNCTION)

typedef struct OpRow {
  int32_t type, reducer;
  MPI_User_function *function;
} OpRow;

#define ROW(type, reducer) {XLAC_##type, XLAC_REDUCE_##reducer, apply_##type##_##reducer},
static const OpRow rows[] = {REDUCERS(ROW)};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

static const char *made_op(XlacMpi *engine, const XlacCollective *collective, int32_t type, MPI_Op *out_op) {
  if (engine->ops == NULL) {
    engine->ops = malloc(ROW_COUNT * sizeof *engine->ops);
    if (engine->ops == NULL) return mpi_no_memory(engine);
    for (int i = 0; i < ROW_COUNT; i++) engine->ops[i] = MPI_OP_NULL;
    engine->op_count = ROW_COUNT;
  }
  for (int i = 0; i < ROW_COUNT; i++) {
    if (rows[i].type != type || rows[i].reducer != collective->reducer) continue;
    int code = engine->ops[i] != MPI_OP_NULL ? MPI_SUCCESS : MPI_Op_create(rows[i].function, 1, &engine->ops[i]);
    *out_op = engine->ops[i];
    return code == MPI_SUCCESS ? NULL : mpi_error(engine, collective, "MPI_Op_create", code);
  }
  return mpi_error(engine, collective, "reducer", MPI_ERR_OP);
}

void mpi_reductions_free(XlacMpi *engine) {
  for (int64_t i = 0; i < engine->op_count; i++) {
    if (engine->ops[i] != MPI_OP_NULL) MPI_Op_free(&engine->ops[i]);
  }
  free(engine->ops);
}

/* --- MPI's own --- */

static MPI_Datatype datatype_of(int32_t type) {
  switch (type) {
    case XLAC_PRED: return MPI_C_BOOL;
    case XLAC_S8: return MPI_INT8_T;
    case XLAC_S16: return MPI_INT16_T;
    case XLAC_S32: return MPI_INT32_T;
    case XLAC_S64: return MPI_INT64_T;
    case XLAC_U8: return MPI_UINT8_T;
    case XLAC_U32: return MPI_UINT32_T;
    case XLAC_U64: return MPI_UINT64_T;
    case XLAC_F32: return MPI_FLOAT;
    case XLAC_F64: return MPI_DOUBLE;
    case XLAC_C64: return MPI_C_FLOAT_COMPLEX;
    case XLAC_C128: return MPI_C_DOUBLE_COMPLEX;
    default: return MPI_UINT16_T; /* and halves */
  }
}

static MPI_Op own_op(int32_t type, int32_t reducer) {
  static const int32_t halves[] = {XLAC_F16, XLAC_BF16};
  if (type == halves[0] || type == halves[1]) return MPI_OP_NULL;
  bool is_complex = type == XLAC_C64 || type == XLAC_C128;
  bool is_float = type == XLAC_F32 || type == XLAC_F64;
  switch (reducer) {
    case XLAC_REDUCE_ADD: return MPI_SUM;
    case XLAC_REDUCE_MULTIPLY: return is_complex ? MPI_OP_NULL : MPI_PROD;
    case XLAC_REDUCE_MINIMUM: return is_float ? MPI_OP_NULL : MPI_MIN;
    case XLAC_REDUCE_MAXIMUM: return is_float ? MPI_OP_NULL : MPI_MAX;
    case XLAC_REDUCE_AND: return type == XLAC_PRED ? MPI_LAND : MPI_BAND;
    case XLAC_REDUCE_OR: return type == XLAC_PRED ? MPI_LOR : MPI_BOR;
    case XLAC_REDUCE_XOR: return type == XLAC_PRED ? MPI_LXOR : MPI_BXOR;
    default: return MPI_OP_NULL;
  }
}

const char *mpi_reduction(XlacMpi *engine, const XlacCollective *collective, int32_t type, MPI_Op *out_op,
                          MPI_Datatype *out_type) {
  *out_type = datatype_of(type);
  *out_op = own_op(type, collective->reducer);
  return *out_op != MPI_OP_NULL ? NULL : made_op(engine, collective, type, out_op);
}
