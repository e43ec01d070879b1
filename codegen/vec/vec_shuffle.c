/* Elements rearranged in registers: strided loads, transposed squares. */
#include "codegen/vec/vec_internal.h"

#define MAX_LANES 256

/* --- strided loads --- */

/* As they are in memory; |mask|: NULL, or which are read, the others being zeros. */
static LLVMValueRef load_at(const VecBuilder *vec, PrimitiveType type, LLVMValueRef pointer, int64_t offset,
                            LLVMValueRef mask, int lanes) {
  LLVMValueRef index = LLVMConstInt(LLVMInt64TypeInContext(vec->context), (unsigned long long)offset, true);
  LLVMValueRef place = LLVMBuildGEP2(vec->builder, vec_memory_type(vec, type, 1), pointer, &index, 1, "");
  if (mask != NULL) return vec_load_masked(vec, type, place, mask, lanes);
  LLVMTypeRef memory = vec_memory_type(vec, type, lanes);
  LLVMValueRef loaded = LLVMBuildLoad2(vec->builder, memory, place, "");
  LLVMSetAlignment(loaded, (unsigned)type_storage_bytes(type));
  return loaded;
}

/* |sum| where element i·stride lies before |begin|, else lane i·stride - begin of |part| (below |begin| + lanes). */
static LLVMValueRef take_every(const VecBuilder *vec, LLVMValueRef sum, LLVMValueRef part, int64_t stride,
                               int64_t begin, int lanes) {
  LLVMValueRef indices[MAX_LANES];
  LLVMTypeRef s32 = LLVMInt32TypeInContext(vec->context);
  for (int i = 0; i < lanes; i++) {
    int64_t at = i * stride;
    if (at < begin)
      indices[i] = LLVMConstInt(s32, (unsigned)i, false);
    else
      indices[i] = at < begin + lanes ? LLVMConstInt(s32, (unsigned)(lanes + at - begin), false) : LLVMGetPoison(s32);
  }
  return LLVMBuildShuffleVector(vec->builder, sum, part, LLVMConstVector(indices, (unsigned)lanes), "");
}

/* By the bytes of an element, of 128, 256 and 512 bits. */
static const char *permutation(const VecTarget *target, PrimitiveType type, int lanes) {
  enum { WIDTHS = 3 };
  static const char *const names[][WIDTHS] = {
      [1] = {"llvm.x86.ssse3.pshuf.b.128", "llvm.x86.avx512.permvar.qi.256", "llvm.x86.avx512.permvar.qi.512"},
      [2] = {NULL, "llvm.x86.avx512.permvar.hi.256", "llvm.x86.avx512.permvar.hi.512"},
      [4] = {NULL, "llvm.x86.avx2.permd", "llvm.x86.avx512.permvar.si.512"},
      [8] = {NULL, "llvm.x86.avx512.permvar.di.256", "llvm.x86.avx512.permvar.di.512"}};
  int bytes = type_storage_bytes(type), bits = bytes * 8 * lanes, width = 0;
  while (width < WIDTHS && bits != 128 << width) width++;
  if (width == WIDTHS || bytes >= (int)(sizeof names / sizeof *names)) return NULL;
  bool is_old = (bytes == 1 && bits == 128) || (bytes == 4 && bits == 256);
  if (is_old ? !target->has_avx2_fma : !target->has_avx512) return NULL;
  if (bytes == 1 && bits > 128 && !target->has_byte_permutes) return NULL;
  return names[bytes][width];
}

bool vec_can_permute(const VecTarget *target, PrimitiveType type, int lanes) {
  return permutation(target, type, lanes) != NULL;
}

/* |value|'s lanes as integers. */
static LLVMValueRef permute_words(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, LLVMValueRef index,
                                  int lanes) {
  LLVMValueRef arguments[] = {LLVMBuildBitCast(vec->builder, value, LLVMTypeOf(index), ""), index};
  return vec_intrinsic(vec, permutation(vec->target, type, lanes), NULL, 0, arguments, 2);
}

LLVMValueRef vec_permute(const VecBuilder *vec, PrimitiveType type, LLVMValueRef value, LLVMValueRef index, int lanes) {
  return LLVMBuildBitCast(vec->builder, permute_words(vec, type, value, index, lanes), LLVMTypeOf(value), "");
}

/* AVX-512's of two registers, by the bytes of an element, of 256 and 512 bits; else NULL. */
static const char *pair_permutation(const VecTarget *target, PrimitiveType type, int lanes) {
  static const char *const names[][2] = {
      [1] = {"llvm.x86.avx512.vpermi2var.qi.256", "llvm.x86.avx512.vpermi2var.qi.512"},
      [2] = {"llvm.x86.avx512.vpermi2var.hi.256", "llvm.x86.avx512.vpermi2var.hi.512"},
      [4] = {"llvm.x86.avx512.vpermi2var.d.256", "llvm.x86.avx512.vpermi2var.d.512"},
      [8] = {"llvm.x86.avx512.vpermi2var.q.256", "llvm.x86.avx512.vpermi2var.q.512"}};
  int bytes = type_storage_bytes(type), bits = bytes * 8 * lanes;
  return target->has_avx512 && bits >= 256 ? names[bytes][bits == 512] : NULL;
}

LLVMValueRef vec_permute_pair(const VecBuilder *vec, PrimitiveType type, LLVMValueRef first, LLVMValueRef second,
                              LLVMValueRef index, int lanes) {
  LLVMTypeRef given = LLVMTypeOf(first), words = LLVMTypeOf(index);
  const char *name = pair_permutation(vec->target, type, lanes);
  if (name != NULL) {
    LLVMValueRef arguments[] = {LLVMBuildBitCast(vec->builder, first, words, ""), index,
                                LLVMBuildBitCast(vec->builder, second, words, "")};
    return LLVMBuildBitCast(vec->builder, vec_intrinsic(vec, name, NULL, 0, arguments, 3), given, "");
  }
  LLVMValueRef count = vec_splat(vec, LLVMConstInt(LLVMGetElementType(words), (unsigned)lanes, false), lanes);
  LLVMValueRef is_first = LLVMBuildICmp(vec->builder, LLVMIntULT, index, count, "");
  LLVMValueRef beyond = LLVMBuildSub(vec->builder, index, count, "");
  LLVMValueRef chosen = LLVMBuildSelect(vec->builder, is_first, permute_words(vec, type, first, index, lanes),
                                        permute_words(vec, type, second, beyond, lanes), "");
  return LLVMBuildBitCast(vec->builder, chosen, given, "");
}

LLVMValueRef vec_reverse(const VecBuilder *vec, LLVMValueRef value, int lanes) {
  LLVMValueRef indices[MAX_LANES];
  XLAC_CHECK(lanes <= MAX_LANES);
  LLVMTypeRef s32 = LLVMInt32TypeInContext(vec->context);
  for (int i = 0; i < lanes; i++) indices[i] = LLVMConstInt(s32, (unsigned)(lanes - 1 - i), false);
  LLVMValueRef unused = LLVMGetPoison(LLVMTypeOf(value));
  return LLVMBuildShuffleVector(vec->builder, value, unused, LLVMConstVector(indices, (unsigned)lanes), "");
}

bool vec_stride_is_small(int64_t stride) {
  return stride == -1 || (stride >= 1 && stride <= 4);
}

bool vec_stride_is_shuffled(PrimitiveType type, int64_t stride) {
  enum { MOST_NARROW_STRIDE = 8, NARROW_BYTES = 2 };
  if (vec_stride_is_small(stride)) return true;
  return stride >= 1 && stride <= MOST_NARROW_STRIDE && type_storage_bytes(type) <= NARROW_BYTES;
}

/* Of the elements from |begin| on, those that lanes of |mask| want, |stride| apart. */
static LLVMValueRef spread_mask(const VecBuilder *vec, LLVMValueRef mask, int64_t stride, int64_t begin, int lanes) {
  if (mask == NULL) return NULL;
  LLVMValueRef indices[MAX_LANES];
  LLVMTypeRef s32 = LLVMInt32TypeInContext(vec->context);
  for (int i = 0; i < lanes; i++) {
    int64_t at = begin + i, none = lanes;
    indices[i] = LLVMConstInt(s32, (unsigned)(at % stride == 0 ? at / stride : none), false);
  }
  return LLVMBuildShuffleVector(vec->builder, mask, LLVMConstNull(LLVMTypeOf(mask)),
                                LLVMConstVector(indices, (unsigned)lanes), "");
}

LLVMValueRef vec_load_strided(const VecBuilder *vec, PrimitiveType type, LLVMValueRef pointer, int64_t stride,
                              LLVMValueRef mask, int lanes) {
  XLAC_CHECK(lanes <= MAX_LANES && vec_stride_is_shuffled(type, stride));
  if (stride == 1 || lanes == 1) return load_at(vec, type, pointer, 0, mask, lanes);
  if (stride == -1) {
    LLVMValueRef reversed = mask == NULL ? NULL : vec_reverse(vec, mask, lanes);
    return vec_reverse(vec, load_at(vec, type, pointer, 1 - lanes, reversed, lanes), lanes);
  }
  /* the last vector ends with the last element used: after it the buffer may end */
  int64_t last = stride * (lanes - 1) + 1 - lanes;
  LLVMValueRef sum = LLVMGetPoison(vec_memory_type(vec, type, lanes));
  for (int64_t done = 0; done <= last + lanes - 1; done += lanes) {
    int64_t begin = done < last ? done : last;
    LLVMValueRef wanted = spread_mask(vec, mask, stride, begin, lanes);
    sum = take_every(vec, sum, load_at(vec, type, pointer, begin, wanted, lanes), stride, begin, lanes);
  }
  return sum;
}

/* The lanes of |a| and |b| at |places|, those of |b| after those of |a|; -1: any. */
static LLVMValueRef pick_lanes(const VecBuilder *vec, LLVMValueRef a, LLVMValueRef b, const int *places, int lanes) {
  LLVMValueRef indices[MAX_LANES];
  LLVMTypeRef s32 = LLVMInt32TypeInContext(vec->context);
  for (int i = 0; i < lanes; i++)
    indices[i] = places[i] < 0 ? LLVMGetPoison(s32) : LLVMConstInt(s32, (unsigned)places[i], false);
  return LLVMBuildShuffleVector(vec->builder, a, b, LLVMConstVector(indices, (unsigned)lanes), "");
}

/* The |number|th vector of what |count| values come to in turn: each value's lanes are put between those before. */
static LLVMValueRef take_turns(const VecBuilder *vec, const LLVMValueRef *values, int count, int number, int lanes) {
  int places[MAX_LANES];
  LLVMValueRef sum = values[0];
  for (int v = 1; v < count; v++) {
    for (int i = 0; i < lanes; i++) {
      int at = number * lanes + i, from = at % count;
      bool is_first = from == 0 && v == 1;
      places[i] = from == v ? lanes + at / count : is_first ? at / count : from < v ? i : -1;
    }
    sum = pick_lanes(vec, sum, values[v], places, lanes);
  }
  return sum;
}

void vec_interleave(const VecBuilder *vec, LLVMValueRef *values, int count, int lanes) {
  LLVMValueRef made[VEC_MAX_INTERLEAVED];
  XLAC_CHECK(lanes <= MAX_LANES && count <= VEC_MAX_INTERLEAVED);
  if (count % 2 != 0 || count == 2) {
    for (int i = 0; i < count; i++) made[i] = take_turns(vec, values, count, i, lanes);
  } else {
    int half = count / 2;
    LLVMValueRef even[VEC_MAX_INTERLEAVED], odd[VEC_MAX_INTERLEAVED];
    for (int i = 0; i < half; i++) even[i] = values[2 * i], odd[i] = values[2 * i + 1];
    vec_interleave(vec, even, half, lanes);
    vec_interleave(vec, odd, half, lanes);
    for (int i = 0; i < count; i++)
      made[i] = take_turns(vec, (LLVMValueRef[]){even[i / 2], odd[i / 2]}, 2, i % 2, lanes);
  }
  for (int i = 0; i < count; i++) values[i] = made[i];
}

/* --- squares ---
 *
 * Shuffles inside 128-bit pieces are the cheap ones on x86 (one unpack instruction each), so they come first: log2(E)
 * rounds transpose every E × E square of elements, E of them being a piece.  What remains is a transpose of whole
 * pieces, by the same interleaving of halves; of four pieces in two rounds that x86 has an instruction for. */

#define PIECE_BYTES 16

/* A vector of |lanes| elements as groups of |group| units of |unit| elements each. */
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

/* Units |first| and |second|, of four, of |a| and then of |b|. */
static LLVMValueRef pick_units(const VecBuilder *vec, const Interleave *form, LLVMValueRef a, LLVMValueRef b, int first,
                               int second) {
  const int units[] = {first, second, 4 + first, 4 + second};
  LLVMValueRef indices[VEC_MAX_SQUARE];
  LLVMTypeRef s32 = LLVMInt32TypeInContext(vec->context);
  for (int i = 0; i < form->lanes; i++)
    indices[i] = LLVMConstInt(s32, (unsigned)(units[i / form->unit] * form->unit + i % form->unit), false);
  return LLVMBuildShuffleVector(vec->builder, a, b, LLVMConstVector(indices, (unsigned)form->lanes), "");
}

/* The transpose of four vectors of four units: halves of two vectors side by side, then every other unit of two of
 * these.  With AVX-512 each is one vshuff64x2 or an insertion; interleaving takes permutations with indices in
 * registers, which LLVM tries long to join. */
static void transpose_four(const VecBuilder *vec, const Interleave *form, LLVMValueRef *rows, int first, int step) {
  LLVMValueRef halves[4];
  for (int i = 0; i < 4; i++) {
    LLVMValueRef *pair = &rows[first + i / 2 * 2 * step];
    halves[i] = pick_units(vec, form, pair[0], pair[step], i % 2 * 2, i % 2 * 2 + 1);
  }
  for (int i = 0; i < 4; i++)
    rows[first + i * step] = pick_units(vec, form, halves[i / 2], halves[2 + i / 2], i % 2, i % 2 + 2);
}

void vec_transpose(const VecBuilder *vec, PrimitiveType type, LLVMValueRef *rows, int lanes) {
  XLAC_CHECK(lanes <= VEC_MAX_SQUARE && (lanes & (lanes - 1)) == 0);
  int piece = PIECE_BYTES / type_storage_bytes(type);
  if (piece > lanes) piece = lanes;
  Interleave inside = {lanes, piece, 1}, across = {lanes, lanes / piece, piece};
  for (int first = 0; first < lanes; first += piece) transpose_units(vec, &inside, rows, first, 1);
  for (int first = 0; first < piece; first++) {
    if (across.group == 4)
      transpose_four(vec, &across, rows, first, piece);
    else
      transpose_units(vec, &across, rows, first, piece);
  }
}
