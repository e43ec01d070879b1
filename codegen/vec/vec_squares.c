/* Squares transposed from memory to memory: a function of the module, in assembly of x86 with AVX2.
 *
 * LLVM 19 looks for shuffles to join in what has none, and takes 20 times as long over the same instructions. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "codegen/ir/ir_function.h"
#include "codegen/vec/vec_internal.h"

#define PIECE_BYTES 16 /* shuffles inside of such pieces are the cheap ones */
#define MOST_ROWS 16

/* vec_move_squares says what they are; six in registers. */
enum {
  ARG_SOURCE,
  ARG_TARGET,
  ARG_SOURCE_ROW,
  ARG_TARGET_ROW,
  ARG_SOURCE_STEP,
  ARG_TARGET_STEP,
  ARG_COUNT,
  ARG_LAST,
  ARGUMENTS
};

typedef enum LastRow { LAST_IS_WHOLE, LAST_STAYS, LAST_MOVES } LastRow;

/* |rows|: the register that each row is in; |free|: one that none is in. */
typedef struct SquareAssembly {
  StringBuilder *out;
  int element_bytes, vector_bytes, row_count;
  LastRow last;
  char width; /* the letter of registers: x, y, z */
  int rows[MOST_ROWS], free;
} SquareAssembly;

bool vec_moves_squares(const VecTarget *target, PrimitiveType type, int lanes) {
  int bytes = type_storage_bytes(type), vector_bytes = lanes * bytes;
  if (!target->has_avx2_fma || (bytes != 4 && bytes != 8) || type_is_complex(type)) return false;
  if (vector_bytes == 64) return target->has_avx512 && target->vector_bits == 512;
  return vector_bytes == 32 || vector_bytes == 16;
}

static void add_line(const SquareAssembly *square, const char *text) {
  sb_append_cstring(square->out, text);
  sb_append_char(square->out, '\n');
}

/* Rows |a| and |b| become what |first| and |second| make of them. */
static void shuffle(SquareAssembly *square, int a, int b, const char *first, const char *second) {
  int of_a = square->rows[a], of_b = square->rows[b];
  char w = square->width;
  sb_printf(square->out, "%s%%%cmm%d, %%%cmm%d, %%%cmm%d\n", first, w, of_b, w, of_a, w, square->free);
  sb_printf(square->out, "%s%%%cmm%d, %%%cmm%d, %%%cmm%d\n", second, w, of_b, w, of_a, w, of_b);
  square->rows[a] = square->free;
  square->free = of_a;
}

/* The rows from |first| on, |step| apart, in the order in which a round of interleaving leaves them. */
static void reorder(SquareAssembly *square, int first, int step, int count) {
  int next[MOST_ROWS];
  for (int i = 0; i < count; i++) next[i] = square->rows[first + (i / 2 + i % 2 * (count / 2)) * step];
  for (int i = 0; i < count; i++) square->rows[first + i * step] = next[i];
}

/* Every piece transposed: interleaving row i with row i + n/2 as rows 2i and 2i + 1, log2(n) times. */
static void transpose_pieces(SquareAssembly *square) {
  int count = PIECE_BYTES / square->element_bytes;
  bool is_single = square->element_bytes == 4;
  for (int first = 0; first < square->row_count; first += count) {
    for (int round = 1; round < count; round *= 2) {
      for (int i = 0; i < count / 2; i++)
        shuffle(square, first + i, first + i + count / 2, is_single ? "vunpcklps " : "vunpcklpd ",
                is_single ? "vunpckhps " : "vunpckhpd ");
      reorder(square, first, 1, count);
    }
  }
}

/* The pieces transposed as wholes: two, or four of them in two rounds. */
static void transpose_across(SquareAssembly *square) {
  int piece = PIECE_BYTES / square->element_bytes, count = square->vector_bytes / PIECE_BYTES;
  for (int first = 0; first < piece && count == 2; first++)
    shuffle(square, first, first + piece, "vperm2f128 $$0x20, ", "vperm2f128 $$0x31, ");
  for (int first = 0; first < piece && count == 4; first++) {
    for (int i = 0; i < 4; i += 2)
      shuffle(square, first + i * piece, first + (i + 1) * piece, "vshuff64x2 $$0x44, ", "vshuff64x2 $$0xee, ");
    for (int i = 0; i < 2; i++)
      shuffle(square, first + i * piece, first + (i + 2) * piece, "vshuff64x2 $$0x88, ", "vshuff64x2 $$0xdd, ");
    reorder(square, first, piece, 4);
  }
}

static void load_rows(SquareAssembly *square) {
  add_line(square, "movq %rdi, %rax");
  for (int i = 0; i < square->row_count; i++) {
    if (i > 0) add_line(square, "addq %rdx, %rax");
    if (square->last != LAST_IS_WHOLE) add_line(square, "cmpq %r11, %rax\ncmovaq %r11, %rax");
    sb_printf(square->out, "vmovups (%%rax), %%%cmm%d\n", square->width, i);
    square->rows[i] = i;
  }
  square->free = square->row_count;
}

static void store_rows(const SquareAssembly *square) {
  add_line(square, "movq %rsi, %rax");
  for (int i = 0; i < square->row_count; i++) {
    if (i > 0) add_line(square, "addq %rcx, %rax");
    sb_printf(square->out, "vmovups %%%cmm%d, (%%rax)\n", square->width, square->rows[i]);
  }
}

static void write_assembly(SquareAssembly *square) {
  add_line(square, "movq 8(%rsp), %r10");
  if (square->last != LAST_IS_WHOLE) add_line(square, "movq 16(%rsp), %r11");
  add_line(square, "testq %r10, %r10\njle 2f\n.p2align 4, 0x90\n1:");
  load_rows(square);
  transpose_pieces(square);
  transpose_across(square);
  store_rows(square);
  add_line(square, "addq %r8, %rdi\naddq %r9, %rsi");
  if (square->last == LAST_MOVES) add_line(square, "addq %r8, %r11");
  add_line(square, "decq %r10\njne 1b\n2:\nvzeroupper\nretq");
}

static LLVMTypeRef function_type(const VecBuilder *vec) {
  LLVMTypeRef parameters[ARGUMENTS];
  for (int i = 0; i < ARGUMENTS; i++) parameters[i] = LLVMInt64TypeInContext(vec->context);
  parameters[ARG_SOURCE] = parameters[ARG_TARGET] = parameters[ARG_LAST] = LLVMPointerTypeInContext(vec->context, 0);
  return LLVMFunctionType(LLVMVoidTypeInContext(vec->context), parameters, ARGUMENTS, false);
}

static LLVMValueRef square_function(const VecBuilder *vec, int element_bytes, int lanes, LastRow last) {
  static const char *const endings[] = {[LAST_IS_WHOLE] = "", [LAST_STAYS] = ".last", [LAST_MOVES] = ".lasts"};
  char name[64];
  snprintf(name, sizeof name, "xlac.squares.%d.%d%s", element_bytes, lanes, endings[last]);
  LLVMValueRef function = LLVMGetNamedFunction(vec->module, name);
  if (function != NULL) return function;
  function = ir_function_add(vec->module, name, function_type(vec), LLVMInternalLinkage);
  LLVMBasicBlockRef position = LLVMGetInsertBlock(vec->builder);
  Arena *scratch = arena_create();
  StringBuilder out;
  sb_init(&out, scratch);
  int vector_bytes = lanes * element_bytes;
  SquareAssembly square = {.out = &out,
                           .element_bytes = element_bytes,
                           .vector_bytes = vector_bytes,
                           .row_count = lanes,
                           .last = last,
                           .width = vector_bytes == 64   ? 'z'
                                    : vector_bytes == 32 ? 'y'
                                                         : 'x'};
  write_assembly(&square);
  ir_function_set_assembly(vec->builder, function, sb_view(&out));
  arena_destroy(scratch);
  LLVMPositionBuilderAtEnd(vec->builder, position);
  return function;
}

void vec_move_squares(const VecBuilder *vec, PrimitiveType type, const VecSquares *squares, int lanes) {
  XLAC_CHECK(vec_moves_squares(vec->target, type, lanes));
  LastRow last = squares->last == NULL ? LAST_IS_WHOLE : squares->last_moves ? LAST_MOVES : LAST_STAYS;
  LLVMTypeRef index = LLVMInt64TypeInContext(vec->context);
  const int64_t sizes[] = {squares->source_row, squares->target_row, squares->source_step, squares->target_step};
  LLVMValueRef arguments[ARGUMENTS] = {[ARG_SOURCE] = squares->source,
                                       [ARG_TARGET] = squares->target,
                                       [ARG_COUNT] = squares->count,
                                       [ARG_LAST] = squares->last};
  for (int i = 0; i < 4; i++)
    arguments[ARG_SOURCE_ROW + i] =
        LLVMConstInt(index, (unsigned long long)(sizes[i] * type_storage_bytes(type)), true);
  if (last == LAST_IS_WHOLE) arguments[ARG_LAST] = LLVMGetPoison(LLVMTypeOf(squares->source));
  LLVMBuildCall2(vec->builder, function_type(vec), square_function(vec, type_storage_bytes(type), lanes, last),
                 arguments, ARGUMENTS, "");
}
