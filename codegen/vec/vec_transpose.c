/* Square blocks transposed in registers.
 *
 * Shuffles inside 128-bit pieces are the cheap ones on x86 (one unpack instruction each), so they come first: log2(E)
 * rounds transpose every E × E square of elements, E of them being a piece.  What remains is a transpose of whole
 * pieces, by the same interleaving of halves. */
#include "codegen/vec/vec.h"

#define PIECE_BYTES 16

/* A vector as |group_count| groups of |group| units of |unit| elements each. */
typedef struct Interleave {
  int lanes, group, unit;
} Interleave;

/* In every group: the units of |a| and |b| in turn, of their lower or upper halves. */
static LLVMValueRef interleave(const VecBuilder *vec, const Interleave *form, LLVMValueRef a, LLVMValueRef b,
                               bool upper) {
  LLVMValueRef indices[VEC_MAX_SQUARE];
  LLVMTypeRef s32 = LLVMInt32TypeInContext(vec->context);
  int group_lanes = form->group * form->unit;
  for (int i = 0; i < form->lanes; i++) {
    int unit = i % group_lanes / form->unit;
    int source = i - i % group_lanes + (unit / 2 + (upper ? form->group / 2 : 0)) * form->unit + i % form->unit;
    indices[i] = LLVMConstInt(s32, (unsigned)(unit % 2 == 0 ? source : form->lanes + source), false);
  }
  return LLVMBuildShuffleVector(vec->builder, a, b, LLVMConstVector(indices, (unsigned)form->lanes), "");
}

/* Interleaving row i with row i + n/2 as rows 2i and 2i + 1, log2(n) times, is the transpose.  The rows are those from
 * |first| in steps. */
static void transpose_units(const VecBuilder *vec, const Interleave *form, LLVMValueRef *rows, int first, int step) {
  int count = form->group;
  for (int round = 1; round < count; round *= 2) {
    LLVMValueRef next[VEC_MAX_SQUARE];
    for (int i = 0; i < count / 2; i++) {
      LLVMValueRef a = rows[first + i * step], b = rows[first + (i + count / 2) * step];
      next[2 * i] = interleave(vec, form, a, b, false);
      next[2 * i + 1] = interleave(vec, form, a, b, true);
    }
    for (int i = 0; i < count; i++) rows[first + i * step] = next[i];
  }
}

void vec_transpose(const VecBuilder *vec, PrimitiveType type, LLVMValueRef *rows, int lanes) {
  XLAC_CHECK(lanes <= VEC_MAX_SQUARE && (lanes & (lanes - 1)) == 0);
  int piece = PIECE_BYTES / type_storage_bytes(type);
  if (piece > lanes) piece = lanes;
  Interleave inside = {lanes, piece, 1}, across = {lanes, lanes / piece, piece};
  for (int first = 0; first < lanes; first += piece) transpose_units(vec, &inside, rows, first, 1);
  for (int first = 0; first < piece; first++) transpose_units(vec, &across, rows, first, piece);
}
