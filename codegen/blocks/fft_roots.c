/* Tables of roots of unity. */
#include <stdio.h>

#include "base/arena.h"
#include "base/unit_root.h"
#include "codegen/blocks/fft_internal.h"

#define TABLE_ALIGNMENT 64

static LLVMValueRef real_constant(const VecBuilder *vec, PrimitiveType type, double value) {
  return LLVMConstReal(vec_memory_type(vec, type, 1), type == TYPE_F32 ? (double)(float)value : value);
}

static void fill(const VecBuilder *vec, PrimitiveType type, int64_t radix, int64_t m, FftRootsOrder order,
                 int64_t repeat, LLVMValueRef *out_values) {
  for (int64_t p = 0; p < m; p++) {
    for (int64_t k = 1; k < radix; k++) {
      UnitRoot root = unit_root(p * k, radix * m, -1);
      LLVMValueRef parts[2] = {real_constant(vec, type, root.re), real_constant(vec, type, root.im)};
      for (int part = 0; part < 2; part++) {
        if (order == FFT_ROOTS_BY_POINT) {
          out_values[(p * (radix - 1) + k - 1) * 2 + part] = parts[part];
          continue;
        }
        if (order == FFT_ROOTS_ACROSS) {
          out_values[(2 * p + part) * (radix - 1) + k - 1] = parts[part];
          continue;
        }
        LLVMValueRef *row = out_values + ((k - 1) * 2 + part) * m * repeat;
        for (int64_t q = 0; q < repeat; q++) row[p * repeat + q] = parts[part];
      }
    }
  }
}

LLVMValueRef fft_roots(const VecBuilder *vec, PrimitiveType type, int64_t radix, int64_t m, FftRootsOrder order,
                       int64_t repeat) {
  static const char *const orders[] = {
      [FFT_ROOTS_BY_POINT] = "point", [FFT_ROOTS_IN_LANES] = "lanes", [FFT_ROOTS_ACROSS] = "across"};
  int64_t copies = order == FFT_ROOTS_IN_LANES ? repeat : 1;
  char name[96];
  snprintf(name, sizeof name, "roots.%s.%s.%lld.%lld.%lld", orders[order], type_text(type), (long long)radix,
           (long long)m, (long long)copies);
  LLVMValueRef table = LLVMGetNamedGlobal(vec->module, name);
  if (table != NULL) return table;
  uint64_t count = (uint64_t)(2 * (radix - 1) * m * copies);
  Arena *arena = arena_create();
  LLVMValueRef *values = ARENA_NEW_ARRAY(arena, LLVMValueRef, count);
  fill(vec, type, radix, m, order, repeat, values);
  LLVMTypeRef element = vec_memory_type(vec, type, 1);
  table = LLVMAddGlobal(vec->module, LLVMArrayType2(element, count), name);
  LLVMSetInitializer(table, LLVMConstArray2(element, values, count));
  LLVMSetGlobalConstant(table, true);
  LLVMSetLinkage(table, LLVMInternalLinkage);
  LLVMSetAlignment(table, TABLE_ALIGNMENT);
  arena_destroy(arena);
  return table;
}
