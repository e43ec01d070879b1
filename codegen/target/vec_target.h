/* VecTarget: what a processor can do, as far as the choice of code depends on it.  Knows no LLVM, so that a room that
 * plans code before it is emitted can read it. */
#ifndef XLAC_CODEGEN_TARGET_VEC_TARGET_H
#define XLAC_CODEGEN_TARGET_VEC_TARGET_H

#include <stdbool.h>

/* From a list of features (cpu_level.h, riscv.h). */
typedef struct VecTarget {
  int vector_bits;    /* of one register, or group of registers: 128, 256, 512 */
  int register_count; /* 16 or 32 */
  bool has_fma;
  bool has_masks;           /* masked loads and stores of any element size (AVX-512 BW/VL, RISC-V V) */
  bool has_masks_32;        /* of 32- and 64-bit elements (AVX2) */
  bool has_f16c;            /* hardware f16 <-> f32 */
  bool has_f16_arithmetic;  /* of f16 in lanes of 16 bits (AVX512-FP16) */
  bool has_rounding;        /* of floats to whole floats (SSE4.1 roundps, RISC-V V) */
  bool has_division;        /* of integers (RISC-V V) */
  bool lacks_f32;           /* floats of this width have no registers, functions compute with them (RISC-V without F) */
  bool lacks_f64;           /* the same of this one (RISC-V without D) */
  bool has_saturation;      /* conversions of floats to integers take the nearest that there is (RISC-V V) */
  bool has_pairs;           /* 16-bit products added in pairs (SSE2 pmaddwd and its wider forms) */
  bool has_uncached_stores; /* that go past the caches (SSE movntps and its wider forms), and a fence for them */
  bool has_avx2_fma;        /* x86 with AVX2 and FMA: its instructions can be written as they are */
  bool has_avx512;          /* its instructions for parts of floats and extrema */
  bool selects_singly;      /* LLVM has a fast way for functions that are left plain (x86) */
  bool has_vnni;            /* products of 8- and 16-bit integers added to 32 bits (AVX-512 VNNI) */
  bool has_byte_permutes;   /* lanes of bytes in any order (AVX512-VBMI) */
  bool has_bf16_pairs;      /* products of two bf16 each added to f32 (AVX512-BF16) */
  /* Products of small matrices of 8-bit integers and of bf16 (AMX), if the system grants a process the registers; then
   * |has_vnni| and |has_bf16_pairs| as well, for where it does not. */
  bool has_matrix_s8, has_matrix_bf16;
  bool has_large_caches; /* 48 KiB of twelve ways and 2 MiB for a core (x86 with AMX); else 32 KiB of eight and less */
  /* A register that fills a line of a cache is stored there without the line being read, as long as little else is:
   * what caches still have of it from the last time is then not written twice (AMD with 512 bits). */
  bool owns_whole_lines;
  bool multiplies_by_halves; /* registers of 512 bits: one in a cycle, where others multiply two (AMD before Zen 5) */
  /* Not the target but the module: products read so much that the last cache does not keep it from one run to the next;
   * that a core's own cache of 2 MB does not; so little that the last cache keeps it beside all else. */
  bool streams_factors, leaves_own_cache, keeps_factors;
  bool has_fast_math;     /* not the target but what was asked for: floats are computed as if they were real numbers */
  bool flushes_denormals; /* not the target but what was asked for: functions that a thread enters set its mode */
} VecTarget;

#endif
