/* What the handlers of this room share: operands, results and attributes of a call as LAPACK wants them.
 *
 * A handler begins with lapack_begin and ends with lapack_end.  Errors are kept in the call: from the first on there
 * are no matrices, so that loops over them do nothing. */
#ifndef XLAC_RUNTIME_LAPACK_LAPACK_CALL_H
#define XLAC_RUNTIME_LAPACK_LAPACK_CALL_H

#include <lapacke.h>

#include "xlac/ffi.h"

enum { LAPACK_MOST_WORK = 4 };

typedef struct LapackCall {
  XLA_FFI_CallFrame *frame;
  XLA_FFI_Error *error;
  char *given; /* the object's memory to work in, from what is taken of it on */
  int64_t given_bytes;
  void *work[LAPACK_MOST_WORK]; /* from the heap */
  int work_count;
} LapackCall;

/* Matrices one after the other, each column by column; with one column, vectors. */
typedef struct Matrices {
  char *data;
  int64_t count, bytes;     /* bytes of each */
  lapack_int rows, columns; /* columns of vectors: 1 */
  lapack_int stride;        /* from column to column: at least 1 */
} Matrices;

/* An error unless the call has so many operands and results. */
LapackCall lapack_begin(XLA_FFI_CallFrame *frame, int64_t operands, int64_t results);
/* Frees the work; what the handler returns. */
XLA_FFI_Error *lapack_end(LapackCall *call);

/* The last two dimensions of an operand or result, the others are counted. */
Matrices lapack_operand(LapackCall *call, int index);
Matrices lapack_result(LapackCall *call, int index);
/* The last dimension. */
Matrices lapack_operand_vectors(LapackCall *call, int index);
Matrices lapack_vectors(LapackCall *call, int index);
/* One number for each matrix. */
lapack_int *lapack_numbers(LapackCall *call, int index);
/* A result that begins as a copy of an operand, unless it is that already; like lapack_result or lapack_vectors. */
Matrices lapack_update(LapackCall *call, int operand, int result);
Matrices lapack_update_vectors(LapackCall *call, int operand, int result);

/* Attributes: a letter, a number, a truth. */
char lapack_letter(LapackCall *call, const char *name);
int64_t lapack_number(LapackCall *call, const char *name);
/* An error unless the attribute is |letter|. */
void lapack_expect_letter(LapackCall *call, const char *name, char letter);

/* |count| elements, uninitialised, until lapack_end, in the object's memory if they fit; NULL and an error when there
 * is no memory. */
void *lapack_work(LapackCall *call, int64_t count, size_t size);
/* What a query for the best size of work means, which came as a floating-point number. */
lapack_int lapack_work_size(double answer);

static inline void *lapack_matrix(const Matrices *matrices, int64_t index) {
  return matrices->data + index * matrices->bytes;
}

static inline lapack_int lapack_least(lapack_int a, lapack_int b) {
  return a < b ? a : b;
}

static inline lapack_int lapack_most(lapack_int a, lapack_int b) {
  return a > b ? a : b;
}

#endif
