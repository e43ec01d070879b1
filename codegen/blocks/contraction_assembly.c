/* The micro-kernel as assembly of x86 with AVX2 and FMA.
 *
 * All there is to decide is known: sums stay in registers from the first to the last step, and the order of what is
 * added is the micro-kernel's.  LLVM 19 takes some 30 times as long over the same function, and where a tile takes all
 * registers it moves half of the sums to others and some to the stack at each step. */
#include <stdio.h>

#include "base/arena.h"
#include "base/checked_math.h"
#include "codegen/blocks/contraction_internal.h"

/* What a step does with a vector of the rhs and a number of the lhs in all lanes.  |add| NULL: |multiply| adds to the
 * sum as well; otherwise the product goes through a register of its own. */
typedef struct StepInstructions {
  const char *broadcast, *multiply, *add;
  bool lhs_first;    /* of the operands that are not the sum the lhs is the first one, which differ in their signs */
  bool takes_number; /* |multiply| of AVX-512 takes the number from memory and has it in all lanes */
} StepInstructions;

static const StepInstructions float_steps = {"vbroadcastss", "vfmadd231ps", NULL, false, true};
static const StepInstructions double_steps = {"vbroadcastsd", "vfmadd231pd", NULL, false, true};
static const StepInstructions integer_steps = {"vpbroadcastd", "vpmulld", "vpaddd", false, true};
static const StepInstructions bf16_steps = {"vbroadcastss", "vdpbf16ps", NULL, false, true};
static const StepInstructions pair_steps = {"vpbroadcastd", "vpmaddwd", "vpaddd", false, false};
static const StepInstructions fused_pair_steps = {"vpbroadcastd", "vpdpwssd", NULL, false, true};
static const StepInstructions quad_steps = {"vpbroadcastd", "vpdpbusd", NULL, true, false};
static const StepInstructions unsigned_quad_steps = {"vpbroadcastd", "vpdpbusd", NULL, false, true};

static const StepInstructions *steps_of(const VecTarget *target, const ContractionBlocking *blocking) {
  if (blocking->rhs_type != blocking->type) return NULL;
  if (blocking->group == 1) {
    if (blocking->type == TYPE_F32) return &float_steps;
    if (blocking->type == TYPE_F64) return &double_steps;
    return blocking->type == TYPE_S32 || blocking->type == TYPE_U32 ? &integer_steps : NULL;
  }
  switch (blocking->dot) {
    case VEC_DOT_BF16: return &bf16_steps;
    case VEC_DOT_S16: return target->has_vnni ? &fused_pair_steps : &pair_steps;
    case VEC_DOT_U8_S8: return blocking->rhs_unsigned ? &unsigned_quad_steps : &quad_steps;
  }
  return NULL;
}

/* Registers: sums row by row, then the vectors of the rhs that have one, then a product, then the number of the lhs. */
typedef struct MicroAssembly {
  const ContractionBlocking *blocking;
  const StepInstructions *steps;
  StringBuilder *out;
  char width; /* the letter of registers: x, y, z */
  int element_bytes, vector_bytes;
  int sum_count, kept_vectors, product, number;
  bool takes_numbers; /* from memory: each is multiplied once */
  int flip, excess;   /* the constant 0x80 in all bytes, and the first of sums of columns times it; 0: none */
  long long lhs_place, rhs_place; /* of a step, in bytes */
} MicroAssembly;

/* Four products of bytes are of an unsigned and a signed one each: of two alike the number of the lhs has its sign
 * flipped, and a multiple of the sum of each column is taken away again. */
static bool flips_signs(const ContractionBlocking *blocking) {
  return blocking->in_matrix_unit && blocking->dot == VEC_DOT_U8_S8 && blocking->lhs_unsigned == blocking->rhs_unsigned;
}

static bool choose_registers(const VecTarget *target, int vectors, MicroAssembly *micro) {
  int others = micro->steps->add != NULL ? 2 : 1;
  bool flips = micro->blocking != NULL && flips_signs(micro->blocking);
  if (flips) others += 1 + vectors;
  int left = target->register_count - micro->sum_count - others;
  if (left < 0) return false;
  /* Operands in memory take the place of the last one only. */
  micro->kept_vectors = left < vectors ? left : vectors;
  if (micro->kept_vectors < vectors && micro->steps->lhs_first) return false;
  micro->product = micro->sum_count + micro->kept_vectors;
  micro->number = micro->product + (micro->steps->add != NULL ? 1 : 0);
  if (flips) micro->flip = micro->number + 1;
  if (flips) micro->excess = micro->flip + 1;
  bool is_once = vectors == 1 && micro->kept_vectors == 1 && !flips;
  micro->takes_numbers = target->has_avx512 && is_once && micro->steps->takes_number;
  return true;
}

static void add_line(const MicroAssembly *micro, const char *text) {
  sb_append_cstring(micro->out, text);
  sb_append_char(micro->out, '\n');
}

/* All sums to or from their places. */
static void move_tile(const MicroAssembly *micro, bool is_store) {
  const ContractionBlocking *blocking = micro->blocking;
  int64_t row_bytes = blocking->sums_in_result ? 0 : blocking->panel_width * micro->element_bytes;
  add_line(micro, "movq %rdx, %rax");
  for (int i = 0; i < micro->sum_count; i++) {
    int row = i / blocking->panel_vectors, vector = i % blocking->panel_vectors;
    if (row > 0 && vector == 0 && blocking->sums_in_result) add_line(micro, "addq %r9, %rax");
    long long place = row * row_bytes + (int64_t)vector * micro->vector_bytes;
    if (is_store)
      sb_printf(micro->out, "vmovups %%%cmm%d, %lld(%%rax)\n", micro->width, i, place);
    else
      sb_printf(micro->out, "vmovups %lld(%%rax), %%%cmm%d\n", place, micro->width, i);
  }
}

/* sums ← adds ? tile : 0 */
static void begin_sums(const MicroAssembly *micro) {
  for (int i = 0; i < micro->sum_count; i++)
    sb_printf(micro->out, i < 16 ? "vpxor %%xmm%d, %%xmm%d, %%xmm%d\n" : "vpxord %%xmm%d, %%xmm%d, %%xmm%d\n", i, i, i);
  if (!contraction_continues(micro->blocking)) return;
  add_line(micro, "testb $$1, 8(%rsp)\nje 1f");
  move_tile(micro, false);
  add_line(micro, "1:");
}

/* Of the lhs at this step, in bytes. */
static long long number_place(const MicroAssembly *micro, int row) {
  return micro->lhs_place + row * micro->blocking->row_stride * micro->element_bytes;
}

static long long rhs_place(const MicroAssembly *micro, int vector) {
  return micro->rhs_place + (long long)vector * micro->vector_bytes;
}

/* The product of the number in row |row| of the lhs and vector |vector| of the rhs, added to their sum. */
static void multiply_add(const MicroAssembly *micro, int row, int vector) {
  const StepInstructions *steps = micro->steps;
  const ContractionBlocking *blocking = micro->blocking;
  int sum = row * blocking->panel_vectors + vector, target = steps->add != NULL ? micro->product : sum;
  int column = micro->sum_count + vector;
  char width = micro->width;
  sb_printf(micro->out, "%s ", steps->multiply);
  if (micro->takes_numbers) {
    sb_printf(micro->out, "%lld(%%rdi){1to%d}, %%%cmm%d", number_place(micro, row), blocking->lanes, width, column);
  } else if (vector >= micro->kept_vectors) {
    sb_printf(micro->out, "%lld(%%rsi), %%%cmm%d", rhs_place(micro, vector), width, micro->number);
  } else {
    sb_printf(micro->out, "%%%cmm%d, %%%cmm%d", width, steps->lhs_first ? column : micro->number, width,
              steps->lhs_first ? micro->number : column);
  }
  sb_printf(micro->out, ", %%%cmm%d\n", width, target);
  if (steps->add == NULL) return;
  sb_printf(micro->out, "%s %%%cmm%d, %%%cmm%d, %%%cmm%d\n", steps->add, width, target, width, sum, width, sum);
}

static void emit_columns(const MicroAssembly *micro) {
  for (int j = 0; j < micro->kept_vectors; j++)
    sb_printf(micro->out, "vmovups %lld(%%rsi), %%%cmm%d\n", rhs_place(micro, j), micro->width, micro->sum_count + j);
}

static void emit_row(const MicroAssembly *micro, int row) {
  if (!micro->takes_numbers)
    sb_printf(micro->out, "%s %lld(%%rdi), %%%cmm%d\n", micro->steps->broadcast, number_place(micro, row), micro->width,
              micro->number);
  if (micro->flip > 0)
    sb_printf(micro->out, "vpxord %%%cmm%d, %%%cmm%d, %%%cmm%d\n", micro->width, micro->flip, micro->width,
              micro->number, micro->width, micro->number);
  for (int j = 0; j < micro->blocking->panel_vectors; j++) multiply_add(micro, row, j);
}

/* Columns times 0x80, as the numbers of the lhs have them too much. */
static void add_excess(const MicroAssembly *micro) {
  for (int j = 0; j < micro->blocking->panel_vectors && micro->flip > 0; j++) {
    int column = micro->sum_count + j, last = micro->steps->lhs_first ? column : micro->flip;
    sb_printf(micro->out, "%s %%%cmm%d, %%%cmm%d, %%%cmm%d\n", micro->steps->multiply, micro->width, last, micro->width,
              micro->steps->lhs_first ? micro->flip : column, micro->width, micro->excess + j);
  }
}

/* The panel's row, packed on the way; what has no register of its own takes that of the number. */
static void store_columns(const MicroAssembly *micro) {
  for (int j = 0; j < micro->blocking->panel_vectors; j++) {
    int column = j < micro->kept_vectors ? micro->sum_count + j : micro->number;
    if (j >= micro->kept_vectors)
      sb_printf(micro->out, "vmovups %lld(%%rsi), %%%cmm%d\n", rhs_place(micro, j), micro->width, column);
    sb_printf(micro->out, "vmovups %%%cmm%d, %d(%%r9)\n", micro->width, column, j * micro->vector_bytes);
  }
  sb_printf(micro->out, "addq $$%lld, %%r9\n", (long long)micro->blocking->packed_stride * micro->element_bytes);
}

static void emit_step(const MicroAssembly *micro, bool packs) {
  emit_columns(micro);
  if (packs) store_columns(micro);
  add_excess(micro);
  for (int i = 0; i < micro->blocking->tile_rows; i++) emit_row(micro, i);
}

/* A step at |tap| of the window; rows that may be outside of the image ask their bits, from |bit| on, which are in
 * |bits|.  The next bit. */
static int emit_tap(const MicroAssembly *micro, int tap, int bit, const char *bits) {
  emit_columns(micro);
  for (int i = 0; i < micro->blocking->tile_rows; i++) {
    bool asks = (micro->blocking->window.outside[tap] >> i & 1) != 0;
    if (asks) sb_printf(micro->out, "testl $$%u, %s\njne 6f\n", 1U << bit++, bits);
    emit_row(micro, i);
    if (asks) add_line(micro, "6:");
  }
  return bit;
}

/* The taps of a row of the window. */
static void emit_taps(MicroAssembly micro) {
  const WindowWalk *window = &micro.blocking->window;
  int bit = 0;
  for (int tap = 0; tap < window->tap_count; tap++) {
    micro.lhs_place = tap * window->tap_step * micro.element_bytes;
    micro.rhs_place = tap * micro.blocking->packed_stride * micro.element_bytes;
    bit = emit_tap(&micro, tap, bit, "%r9d");
  }
}

/* The window, outer dim by outer dim; what of the middle one is not there follows in the panel, and in the image. */
static void emit_window_steps(const MicroAssembly *micro) {
  const WindowWalk *window = &micro->blocking->window;
  long long rhs_row = window->tap_count * micro->blocking->packed_stride * micro->element_bytes;
  long long lhs_row = window->middle_step * micro->element_bytes;
  add_line(micro, "testq %rcx, %rcx\njle 3f");
  sb_printf(micro->out, "movl $$%lld, %%r10d\nsubq %%r8, %%r10\nimulq $$%lld, %%r10, %%r10\n",
            (long long)window->middle_count, rhs_row);
  sb_printf(micro->out, "imulq $$%lld, %%r8, %%r11\naddq $$%lld, %%r11\n", -lhs_row,
            (long long)window->channel_step * micro->element_bytes);
  add_line(micro, ".p2align 4, 0x90\n4:\nmovl %r8d, %eax\n2:");
  emit_taps(*micro);
  sb_printf(micro->out, "addq $$%lld, %%rdi\naddq $$%lld, %%rsi\ndecl %%eax\njne 2b\n", lhs_row, rhs_row);
  add_line(micro, "addq %r11, %rdi\naddq %r10, %rsi\ndecq %rcx\njne 4b\n3:");
}

/* The register of bytes from row to row of what is asked for in the result.  Its address has the tile's, which is kept
 * below the end of the stack meanwhile, as are how many steps there are before the next row, and how many rows. */
static const char *result_stride_register(const ContractionBlocking *blocking) {
  return contraction_strip_gap(blocking) == 0 ? "rax" : "r11";
}

static void begin_results(const MicroAssembly *micro) {
  if (micro->blocking->result_lines == 0) return;
  sb_printf(micro->out,
            "movq %%rdx, -8(%%rsp)\nmovl $$1, -16(%%rsp)\nmovl $$%d, -24(%%rsp)\n"
            "movq 32(%%rsp), %%rdx\nmovq 40(%%rsp), %%%s\n",
            micro->blocking->tile_rows, result_stride_register(micro->blocking));
}

/* The lines of a row; nothing after all rows. */
static void ask_for_results(const MicroAssembly *micro) {
  const ContractionBlocking *blocking = micro->blocking;
  if (blocking->result_lines == 0) return;
  sb_printf(micro->out, "decl -16(%%rsp)\njne 8f\nmovl $$%d, -16(%%rsp)\ndecl -24(%%rsp)\njs 8f\n",
            contraction_steps_apart(blocking));
  for (int i = 0; i < blocking->result_lines; i++) sb_printf(micro->out, "prefetcht1 %d(%%rdx)\n", i * LINE_BYTES);
  sb_printf(micro->out, "addq %%%s, %%rdx\n8:\n", result_stride_register(blocking));
}

static void end_results(const MicroAssembly *micro) {
  if (micro->blocking->result_lines > 0) add_line(micro, "movq -8(%rsp), %rdx");
}

/* The steps of a block, from label 2 on. */
static void emit_loop(const MicroAssembly *micro, bool packs) {
  int lines = contraction_lines_ahead(micro->blocking);
  int64_t gap = contraction_strip_gap(micro->blocking);
  long long run = micro->blocking->strip_run;
  if (gap > 0) sb_printf(micro->out, "4:\nmovl $$%lld, %%eax\n", run);
  add_line(micro, ".p2align 4, 0x90\n2:");
  for (int i = 0; i < lines; i++) sb_printf(micro->out, "prefetcht1 %d(%%r10)\n", i * LINE_BYTES);
  if (lines > 0) add_line(micro, "addq %r11, %r10");
  ask_for_results(micro);
  emit_step(micro, packs);
  sb_printf(micro->out, "addq $$%lld, %%rdi\n", (long long)micro->blocking->lhs_step * micro->element_bytes);
  if (gap == 0) {
    add_line(micro, "addq %r8, %rsi\ndecq %rcx\njne 2b");
    return;
  }
  sb_printf(micro->out, "addq %%r8, %%rsi\ndecl %%eax\njne 2b\naddq $$%lld, %%rdi\nsubq $$%lld, %%rcx\njg 4b\n",
            (long long)gap * micro->element_bytes, run);
}

/* The same for a tile that packs the panel.  The packed row's address has the register of the tile's stride, which is
 * kept below the end of the stack meanwhile. */
static void emit_packing_loop(const MicroAssembly *micro) {
  sb_printf(micro->out, "jmp 3f\n7:\nmovq %%r9, -32(%%rsp)\nmovq %d(%%rsp), %%r9\n",
            contraction_last_argument(micro->blocking));
  emit_loop(micro, true);
  add_line(micro, "movq -32(%rsp), %r9");
}

/* The window of a channel-last image, row by row, tap by tap, with a loop along the channels of each.  How many rows
 * are left lies below the end of the stack meanwhile. */
static void emit_walk(const MicroAssembly *micro) {
  const WindowWalk *window = &micro->blocking->window;
  int lines = contraction_lines_ahead(micro->blocking), bit = 0;
  int64_t channels = window->channel_count;
  char bits[24];
  snprintf(bits, sizeof bits, "%d(%%rsp)", contraction_last_argument(micro->blocking));
  add_line(micro, "4:\nmovq %rcx, -40(%rsp)");
  for (int tap = 0; tap < window->tap_count; tap++) {
    sb_printf(micro->out, "movl $$%lld, %%ecx\n.p2align 4, 0x90\n2:\n", (long long)channels);
    for (int i = 0; i < lines; i++) sb_printf(micro->out, "prefetcht1 %d(%%r10)\n", i * LINE_BYTES);
    if (lines > 0) add_line(micro, "addq %r11, %r10");
    ask_for_results(micro);
    bit = emit_tap(micro, tap, bit, bits);
    sb_printf(micro->out, "addq $$%d, %%rdi\naddq %%r8, %%rsi\ndecl %%ecx\njne 2b\n", micro->element_bytes);
    if (window->tap_step != channels && tap + 1 < window->tap_count)
      sb_printf(micro->out, "addq $$%lld, %%rdi\n", (long long)(window->tap_step - channels) * micro->element_bytes);
  }
  int64_t walked = (window->tap_count - 1) * window->tap_step + channels;
  sb_printf(micro->out, "addq $$%lld, %%rdi\n", (long long)(window->middle_step - walked) * micro->element_bytes);
  add_line(micro, "movq -40(%rsp), %rcx\ndecq %rcx\njne 4b");
}

static void emit_steps(const MicroAssembly *micro) {
  int lines = contraction_lines_ahead(micro->blocking);
  add_line(micro, "testq %rcx, %rcx\njle 3f");
  if (lines > 0) add_line(micro, "movq 16(%rsp), %r10\nmovq 24(%rsp), %r11");
  int shift = micro->element_bytes == 8 ? 3 : 2;
  sb_printf(micro->out, "shlq $$%d, %%r8\n", shift);
  if (lines > 0) sb_printf(micro->out, "shlq $$%d, %%r11\n", shift);
  bool may_pack = micro->blocking->packed_by_tile;
  if (may_pack) sb_printf(micro->out, "testb $$%d, 8(%%rsp)\njne 7f\n", PACKS_PANEL);
  if (micro->blocking->walks_window)
    emit_walk(micro);
  else
    emit_loop(micro, false);
  if (may_pack) emit_packing_loop(micro);
  add_line(micro, "3:");
}

static void begin_excess(const MicroAssembly *micro) {
  if (micro->flip == 0) return;
  sb_printf(micro->out, "movl $$0x80808080, %%eax\nvpbroadcastd %%eax, %%%cmm%d\n", micro->width, micro->flip);
  for (int j = 0; j < micro->blocking->panel_vectors; j++)
    sb_printf(micro->out, "vpxord %%xmm%d, %%xmm%d, %%xmm%d\n", micro->excess + j, micro->excess + j,
              micro->excess + j);
}

/* Takes away the sums that follow the panel, one for each column; or those that were added up beside. */
static void take_excess(const MicroAssembly *micro) {
  for (int i = 0; i < micro->sum_count && micro->flip > 0; i++)
    sb_printf(micro->out, "vpsubd %%%cmm%d, %%%cmm%d, %%%cmm%d\n", micro->width,
              micro->excess + i % micro->blocking->panel_vectors, micro->width, i, micro->width, i);
  if (!micro->blocking->lhs_shifted) return;
  for (int i = 0; i < micro->sum_count; i++)
    sb_printf(micro->out, "vpsubd %d(%%rsi), %%%cmm%d, %%%cmm%d\n",
              i % micro->blocking->panel_vectors * micro->vector_bytes, micro->width, i, micro->width, i);
}

bool contraction_has_assembly(const VecTarget *target, const ContractionBlocking *blocking, int rows, int vectors) {
  if (blocking->in_matrix_unit) return true;
  MicroAssembly micro = {.steps = steps_of(target, blocking), .sum_count = rows * vectors};
  int vector_bytes = blocking->lanes * type_storage_bytes(blocking->type);
  bool has_registers = target->has_avx2_fma && vector_bytes >= 16;
  return has_registers && micro.steps != NULL && choose_registers(target, vectors, &micro);
}

/* The epilogue of tiles that are finished so; true where all are. */
static bool finish_in_registers(const VecTarget *target, const MicroAssembly *micro) {
  const ContractionBlocking *blocking = micro->blocking;
  if (!blocking->in_registers) return false;
  bool all = contraction_all_in_registers(blocking);
  if (!all) sb_printf(micro->out, "testb $$%d, 8(%%rsp)\nje 9f\n", FINISHES_IN_REGISTERS);
  contraction_append_registers(target, blocking, micro->width, blocking->result_lines > 0 ? 48 : 32, micro->out);
  if (!all) add_line(micro, "vzeroupper\nretq\n9:");
  return all;
}

/* For tiles of |rows|. */
static void emit_sums(const VecTarget *target, MicroAssembly micro, int rows) {
  ContractionBlocking blocking = *micro.blocking;
  blocking.tile_rows = rows;
  micro.blocking = &blocking;
  micro.sum_count = rows * blocking.panel_vectors;
  choose_registers(target, blocking.panel_vectors, &micro);
  begin_sums(&micro);
  begin_results(&micro);
  begin_excess(&micro);
  if (blocking.is_turned)
    emit_window_steps(&micro);
  else
    emit_steps(&micro);
  end_results(&micro);
  take_excess(&micro);
  if (!finish_in_registers(target, &micro)) move_tile(&micro, true);
}

/* All of it for tiles of |rows|. */
static void emit_rows(const VecTarget *target, const MicroAssembly *micro, int rows) {
  emit_sums(target, *micro, rows);
  add_line(micro, "vzeroupper\nretq");
}

/* Rows of a tile that registers hold the sums of, beside what a step takes. */
static int rows_of_vectors(const VecTarget *target, const ContractionBlocking *blocking) {
  int vectors = blocking->panel_vectors, others = vectors + 1;
  if (flips_signs(blocking)) others += 1 + vectors;
  return (target->register_count - others) / vectors;
}

/* A tile of the matrix unit; then the same by registers of vectors, some rows after the other. */
static void emit_matrix_tile(const VecTarget *target, const MicroAssembly *micro) {
  const ContractionBlocking *blocking = micro->blocking;
  ContractionBlocking by_vectors = *blocking;
  MicroAssembly parts_of = *micro;
  by_vectors.result_lines = 0;
  parts_of.blocking = &by_vectors;
  sb_printf(micro->out, "testb $$%d, 8(%%rsp)\njne 7f\n", MATRIX_REFUSED);
  contraction_append_matrix_text(blocking, micro->out);
  add_line(micro, "7:\nmovq %rdi, -8(%rsp)\nmovq %rsi, -16(%rsp)\nmovq %rcx, -24(%rsp)\nmovq %r8, -32(%rsp)");
  int64_t parts = ceil_div(blocking->tile_rows, rows_of_vectors(target, blocking));
  int most = (int)ceil_div(blocking->tile_rows, parts);
  for (int first = 0; first < blocking->tile_rows; first += most) {
    int left = blocking->tile_rows - first, rows = left < most ? left : most;
    emit_sums(target, parts_of, rows);
    if (rows == left) break;
    int64_t next = first + rows, row_bytes = blocking->row_stride * micro->element_bytes;
    sb_printf(micro->out, "movq -8(%%rsp), %%rdi\naddq $$%lld, %%rdi\n", (long long)(next * row_bytes));
    add_line(micro, "movq -16(%rsp), %rsi\nmovq -24(%rsp), %rcx\nmovq -32(%rsp), %r8");
    int64_t sums = blocking->panel_width * micro->element_bytes * rows;
    if (blocking->sums_in_result)
      sb_printf(micro->out, "imulq $$%d, %%r9, %%rax\naddq %%rax, %%rdx\n", rows);
    else
      sb_printf(micro->out, "addq $$%lld, %%rdx\n", (long long)sums);
  }
  add_line(micro, "vzeroupper\nretq");
}

const char *contraction_micro_assembly(Arena *arena, const VecTarget *target, const ContractionBlocking *blocking) {
  if (!contraction_has_assembly(target, blocking, blocking->tile_rows, blocking->panel_vectors)) return NULL;
  int element_bytes = type_storage_bytes(blocking->type), vector_bytes = blocking->lanes * element_bytes;
  StringBuilder out;
  MicroAssembly micro = {.blocking = blocking,
                         .steps = steps_of(target, blocking),
                         .out = &out,
                         .width = vector_bytes == 64   ? 'z'
                                  : vector_bytes == 32 ? 'y'
                                                       : 'x',
                         .element_bytes = element_bytes,
                         .vector_bytes = vector_bytes};
  if (blocking->tile_rows * blocking->row_stride > LARGEST_OFFSET / element_bytes) return NULL;
  sb_init(&out, arena);
  if (blocking->sums_in_result) sb_printf(&out, "shlq $$%d, %%r9\n", element_bytes == 8 ? 3 : 2);
  if (blocking->rest_rows > 0) add_line(&micro, "testb $$2, 8(%rsp)\njne 5f");
  if (blocking->in_matrix_unit)
    emit_matrix_tile(target, &micro);
  else
    emit_rows(target, &micro, blocking->tile_rows);
  if (blocking->rest_rows > 0) {
    add_line(&micro, "5:");
    emit_rows(target, &micro, blocking->rest_rows);
  }
  StringView text = sb_view(&out);
  return arena_copy_string(arena, text.data, text.size);
}
