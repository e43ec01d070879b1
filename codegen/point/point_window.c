#include "codegen/point/kernel_point.h"

/* Addresses that move by quotients and remainders of an index from lane to lane (rows of three with a number for each
 * row, what padding lies between): what the lanes read lies in a window, which is loaded and whose elements are put
 * into their lanes. */

/* Whether term |term| of a sum is not the same in all lanes along |dim|. */
static bool term_varies(const Kernel *kernel, const IndexTerm *term, int dim) {
  IndexExpr single = {0, 1, term};
  int64_t stride;
  return !kernel_plain_stride(kernel, single, dim, &stride) || stride != 0;
}

/* The digits by which alone lanes along |dim| differ. */
static bool find_digits(const Kernel *kernel, IndexExpr address, int dim, KernelWindow *out) {
  *out = (KernelWindow){0};
  for (int i = 0; i < address.term_count; i++) {
    const IndexTerm *term = &address.terms[i];
    const IndexAtom *atom = &kernel->space.atoms.data[term->atom];
    if (!term_varies(kernel, term, dim)) continue;
    if (atom->kind != INDEX_ATOM_DIV && atom->kind != INDEX_ATOM_MOD) return false;
    if (out->digits != NULL && (out->digits->divisor != atom->divisor || !index_equal(out->digits->inner, atom->inner)))
      return false;
    out->digits = atom;
    if (atom->kind == INDEX_ATOM_DIV) out->by_quotient = term->coefficient;
    if (atom->kind == INDEX_ATOM_MOD) out->by_rest = term->coefficient;
  }
  return out->digits != NULL && kernel_plain_stride(kernel, out->digits->inner, dim, &out->stride);
}

/* Sets the extent of the window: which element of it is the one that the first lane's quotient leads to. */
static void find_extent(KernelWindow *window, int lanes) {
  int64_t divisor = window->digits->divisor, last = divisor - 1 + window->stride * (lanes - 1);
  int64_t by_quotients = window->by_quotient * (last / divisor), by_rests = window->by_rest * (divisor - 1);
  window->before = (by_quotients < 0 ? -by_quotients : 0) + (by_rests < 0 ? -by_rests : 0);
  window->width = window->before + (by_quotients > 0 ? by_quotients : 0) + (by_rests > 0 ? by_rests : 0) + 1;
}

bool kernel_load_window(const Kernel *kernel, const VecTarget *target, const KernelValue *load, int dim, int lanes,
                        KernelWindow *out_window) {
  KernelWindow *window = out_window;
  int64_t count = kernel->buffers[load->buffer].element_count;
  int bytes = type_storage_bytes(load->type);
  if (lanes == 1 || !vec_can_permute(target, load->type, lanes)) return false;
  if (!find_digits(kernel, load->address, dim, window)) return false;
  /* places are computed in numbers of the elements' width */
  int64_t divisor = window->digits->divisor, most = bytes == 1 ? UINT8_MAX : UINT16_MAX;
  if (window->stride <= 0 || window->stride > divisor || divisor + (lanes - 1) * window->stride > most) return false;
  find_extent(window, lanes);
  window->is_whole = count < lanes;
  window->is_pair = !window->is_whole && window->width > lanes;
  if (window->is_whole) return target->has_masks || (target->has_masks_32 && bytes >= 4);
  return window->width <= 2 * lanes && (!window->is_pair || count >= 2 * lanes);
}

/* Lanes of |places|, up to |most|, by |divisor|.  Where lanes are wide enough for it, a product with 2^16/divisor,
 * rounded up, has the quotient above its lower 16 bits, as long as what rounding adds to it, at most most·divisor,
 * stays there. */
static LLVMValueRef divide_places(const VecBuilder *vec, LLVMValueRef places, int64_t divisor, int64_t most,
                                  int lanes) {
  LLVMBuilderRef b = vec->builder;
  LLVMTypeRef word = LLVMGetElementType(LLVMTypeOf(places));
  bool is_product = LLVMGetIntTypeWidth(word) >= 32 && most * divisor < INT64_C(1) << 16;
  int64_t factor = is_product ? ((INT64_C(1) << 16) + divisor - 1) / divisor : divisor;
  LLVMValueRef by = vec_splat(vec, LLVMConstInt(word, (unsigned long long)factor, false), lanes);
  if (!is_product) return LLVMBuildUDiv(b, places, by, "");
  LLVMValueRef digits = vec_splat(vec, LLVMConstInt(word, 16, false), lanes);
  return LLVMBuildLShr(b, LLVMBuildMul(b, places, by, ""), digits, "");
}

static LLVMValueRef scale_lanes(const VecBuilder *vec, LLVMValueRef value, int64_t factor, int lanes) {
  LLVMTypeRef word = LLVMGetElementType(LLVMTypeOf(value));
  if (factor == 1) return value;
  return LLVMBuildMul(vec->builder, value, vec_splat(vec, LLVMConstInt(word, (unsigned long long)factor, true), lanes),
                      "");
}

/* The remainder of the first lane's index by the divisor where each step of the loop in lanes begins with the same: a
 * step is a multiple of the divisor; else -1. */
static int64_t known_rest(const KernelPoint *point, const KernelWindow *window) {
  int64_t divisor = window->digits->divisor, rest = window->digits->inner.constant;
  if (point->vector_begin == point->vector_end || window->stride * point->lanes % divisor != 0) return -1;
  for (int i = 0; i < window->digits->inner.term_count; i++) {
    const IndexTerm *term = &window->digits->inner.terms[i];
    const IndexAtom *atom = &point->kernel->space.atoms.data[term->atom];
    if (term->coefficient % divisor == 0) continue;
    if (atom->kind != INDEX_ATOM_DIM || atom->number != point->vector_dim) return -1;
    rest += term->coefficient * point->vector_begin;
  }
  return (rest % divisor + divisor) % divisor;
}

/* By lane, its place in a window that begins where the first lane's quotient leads to, |rest| being that lane's
 * remainder. */
static LLVMValueRef window_places(KernelPoint *point, const KernelWindow *window, LLVMValueRef rest, int bits) {
  const VecBuilder *vec = point->vec;
  LLVMBuilderRef b = vec->builder;
  int lanes = point->lanes, short_bits = bits < 32 ? bits : 32; /* processors have few operations on wider ones */
  int64_t divisor = window->digits->divisor, by_quotient = window->by_quotient - window->by_rest * divisor;
  LLVMTypeRef word = LLVMIntTypeInContext(vec->context, (unsigned)short_bits);
  LLVMValueRef numbers = vec_splat(vec, LLVMBuildTrunc(b, rest, word, ""), lanes);
  numbers = LLVMBuildAdd(b, numbers, vec_lane_indices(vec, short_bits, window->stride, lanes), "");
  LLVMValueRef quotients = divide_places(vec, numbers, divisor, divisor + (lanes - 1) * window->stride, lanes);
  LLVMValueRef places = vec_splat(vec, LLVMConstInt(word, (unsigned long long)window->before, false), lanes);
  if (by_quotient != 0) places = LLVMBuildAdd(b, places, scale_lanes(vec, quotients, by_quotient, lanes), "");
  if (window->by_rest != 0) places = LLVMBuildAdd(b, places, scale_lanes(vec, numbers, window->by_rest, lanes), "");
  if (bits == short_bits) return places;
  LLVMTypeRef wide = LLVMVectorType(LLVMIntTypeInContext(vec->context, (unsigned)bits), (unsigned)lanes);
  return LLVMBuildZExt(b, places, wide, "");
}

/* Where the window is loaded from: |first|, or as far before or after it as keeps it in the buffer. */
static LLVMValueRef window_begin(KernelPoint *point, const KernelValue *load, const KernelWindow *window,
                                 LLVMValueRef first) {
  LLVMBuilderRef b = point->vec->builder;
  LLVMTypeRef s64 = LLVMInt64TypeInContext(point->vec->context);
  LLVMValueRef none = LLVMConstNull(s64);
  if (window->is_whole) return none;
  int64_t loaded = window->is_pair ? 2 * point->lanes : point->lanes;
  int64_t last = point->kernel->buffers[load->buffer].element_count - loaded;
  LLVMValueRef begin = ir_index_minimum(b, first, LLVMConstInt(s64, (unsigned long long)last, false));
  return ir_index_maximum(b, begin, none);
}

/* |lanes| elements from |begin| on, as they are in memory; of a buffer that has not as many all it has. */
static LLVMValueRef load_whole(KernelPoint *point, const KernelValue *load, LLVMValueRef begin, bool is_whole) {
  const VecBuilder *vec = point->vec;
  LLVMValueRef pointer = point_element(point, load->buffer, begin), mask = NULL, bits[VEC_MAX_PERMUTED];
  if (is_whole) {
    LLVMTypeRef bit = LLVMInt1TypeInContext(vec->context);
    for (int i = 0; i < point->lanes; i++)
      bits[i] = LLVMConstInt(bit, i < point->kernel->buffers[load->buffer].element_count, false);
    mask = LLVMConstVector(bits, (unsigned)point->lanes);
  }
  return vec_load_strided(vec, load->type, pointer, 1, mask, point->lanes);
}

LLVMValueRef point_load_window(KernelPoint *point, int32_t value, const KernelWindow *window, LLVMValueRef mask) {
  const KernelValue *load = &point->kernel->values[value];
  const VecBuilder *vec = point->vec;
  LLVMBuilderRef b = vec->builder;
  LLVMTypeRef s64 = LLVMInt64TypeInContext(vec->context);
  int bits = type_storage_bytes(load->type) * 8, lanes = point->lanes;
  int64_t known = known_rest(point, window);
  LLVMValueRef inner = point_index(point, window->digits->inner);
  LLVMValueRef divisor = LLVMConstInt(s64, (unsigned long long)window->digits->divisor, false);
  LLVMValueRef rest = LLVMConstInt(s64, (unsigned long long)known, false);
  if (known < 0) rest = LLVMBuildSRem(b, inner, divisor, "");
  LLVMValueRef quotient = ir_index_multiply(b, LLVMBuildSDiv(b, inner, divisor, ""), window->by_quotient);
  LLVMValueRef first = ir_index_add(b, point_index(point, load->address), quotient);
  first = ir_index_add(b, first, LLVMConstInt(s64, (unsigned long long)-window->before, true));
  LLVMValueRef begin = window_begin(point, load, window, first);
  LLVMTypeRef word = LLVMIntTypeInContext(vec->context, (unsigned)bits);
  LLVMValueRef distance = LLVMBuildTrunc(b, LLVMBuildSub(b, first, begin, ""), word, "");
  LLVMValueRef places = LLVMBuildAdd(b, window_places(point, window, rest, bits), vec_splat(vec, distance, lanes), "");
  LLVMValueRef loaded = load_whole(point, load, begin, window->is_whole);
  if (window->is_pair) {
    LLVMValueRef next = ir_index_add(b, begin, LLVMConstInt(s64, (unsigned)lanes, false));
    loaded = vec_permute_pair(vec, load->type, loaded, load_whole(point, load, next, false), places, lanes);
  } else {
    loaded = vec_permute(vec, load->type, loaded, places, lanes);
  }
  loaded = vec_from_memory(vec, load->type, loaded, lanes);
  return mask == NULL ? loaded : LLVMBuildSelect(b, mask, loaded, LLVMConstNull(LLVMTypeOf(loaded)), "");
}

LLVMValueRef point_digit_lanes(KernelPoint *point, const IndexAtom *atom, int bits) {
  KernelWindow digits = {.digits = atom};
  const VecBuilder *vec = point->vec;
  LLVMBuilderRef b = vec->builder;
  bool is_plain = kernel_plain_stride(point->kernel, atom->inner, point->vector_dim, &digits.stride);
  int64_t most = atom->divisor + (point->lanes - 1) * digits.stride;
  if (!is_plain || digits.stride <= 0 || most >= INT16_MAX) return NULL;
  bool is_quotient = atom->kind == INDEX_ATOM_DIV;
  digits.by_quotient = is_quotient;
  digits.by_rest = !is_quotient;
  LLVMTypeRef s64 = LLVMInt64TypeInContext(vec->context);
  LLVMValueRef inner = point_index(point, atom->inner);
  LLVMValueRef divisor = LLVMConstInt(s64, (unsigned long long)atom->divisor, false);
  int64_t known = known_rest(point, &digits);
  LLVMValueRef rest = LLVMConstInt(s64, (unsigned long long)known, false);
  if (known < 0) rest = LLVMBuildSRem(b, inner, divisor, "");
  LLVMValueRef lanes = window_places(point, &digits, rest, bits);
  if (!is_quotient) return lanes;
  LLVMValueRef first =
      LLVMBuildTrunc(b, LLVMBuildSDiv(b, inner, divisor, ""), LLVMGetElementType(LLVMTypeOf(lanes)), "");
  return LLVMBuildAdd(b, lanes, vec_splat(vec, first, point->lanes), "");
}
