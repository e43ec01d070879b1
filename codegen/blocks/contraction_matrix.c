/* The matrix unit of x86 (AMX): eight registers, each up to 16 rows of 64 bytes, and an instruction that multiplies one
 * of rows of the lhs by one of groups of the rhs, as both are packed, and adds to one of sums.
 *
 * The system grants its registers to a process that asks.  It may refuse: an old one, or where a thread has a signal
 * stack too small for them.  So there is the other way as well, by registers of vectors, on the same packed factors. */
#include <string.h>

#include "base/checked_math.h"
#include "codegen/blocks/contraction_internal.h"
#include "codegen/ir/ir_function.h"

#define MATRIX_REGISTERS 8
#define MATRIX_BYTES 64 /* of a row of a register */
/* Below these the time is that of packing, and rows are few enough for another way. */
#define LEAST_ROWS 4
#define LEAST_LANES 8 /* of the depth */
/* Products of a Kernel in all: setting the unit up and releasing it takes 0.4 µs. */
#define LEAST_PRODUCTS_BF16 (24 << 10)
#define LEAST_PRODUCTS_S8 (128 << 10)
/* Cycles: of a row of a register that is multiplied, of one that is loaded, and of a step besides. */
#define ROW_TIME 1.0
#define LOAD_TIME 0.55
#define STEP_TIME 4.0
/* The state of the word that is in each module. */
#define STATE_GRANTED 1
/* arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) of Linux. */
#define ARCH_PRCTL 158
#define ARCH_REQ_XCOMP_PERM 0x1023
#define XFEATURE_XTILEDATA 18

/* --- what is chosen --- */

bool contraction_suits_matrix_unit(const VecTarget *target, const ContractionBlocking *blocking) {
  bool has_unit = blocking->dot == VEC_DOT_BF16 ? target->has_matrix_bf16 : target->has_matrix_s8;
  if (!has_unit || blocking->rows.size < LEAST_ROWS) return false;
  double products = (double)blocking->batch.size * (double)blocking->rows.size * (double)blocking->columns.size *
                    (double)blocking->depth.size;
  if (products < (blocking->dot == VEC_DOT_BF16 ? LEAST_PRODUCTS_BF16 : LEAST_PRODUCTS_S8)) return false;
  return blocking->column_run > MATRIX_STEP / 2 && blocking->depth.size >= LEAST_LANES * blocking->group;
}

static int registers_of_rows(int rows) {
  return (rows + MATRIX_STEP - 1) / MATRIX_STEP;
}

/* Of an index of the depth, as tile_cost has it. */
static double tile_time(int rows, int vectors) {
  double work = rows * vectors * ROW_TIME, loads = (rows + vectors * MATRIX_STEP) * LOAD_TIME;
  return ((work > loads ? work : loads) + STEP_TIME) / MATRIX_STEP;
}

void contraction_choose_matrix_tile(int most_sums, ContractionBlocking *blocking) {
  int64_t runs = blocking->columns.size / blocking->column_run;
  double best = 0;
  int most_vectors = most_sums < MOST_PANEL_VECTORS ? most_sums : MOST_PANEL_VECTORS;
  for (int vectors = 1; vectors <= most_vectors; vectors++) {
    /* as many registers of sums, two of rows at most, and those of the rhs */
    int most = most_sums / vectors < 2 ? 1 : 2;
    int64_t count = ceil_div(blocking->rows.size, most * MATRIX_STEP);
    int rows = (int)ceil_div(blocking->rows.size, count);
    int64_t panels = runs * ceil_div(blocking->column_run, vectors * blocking->lanes);
    double time = (double)(panels * count) * tile_time(rows, vectors);
    if (best != 0 && time >= best) continue;
    best = time;
    blocking->step_cost = tile_time(rows, vectors);
    blocking->panel_vectors = vectors;
    blocking->tile_rows = rows;
    blocking->rest_rows = 0;
    blocking->tile_count = ceil_div(blocking->rows.size, rows);
    blocking->panels_per_run = panels / runs;
    blocking->panel_count = panels;
  }
  blocking->panel_width = (int64_t)blocking->panel_vectors * blocking->lanes;
  blocking->packed_stride = blocking->panel_width;
}

bool contraction_fills_matrix_steps(const Kernel *kernel, const ContractionBlocking *blocking) {
  int64_t step = MATRIX_STEP * blocking->group;
  int64_t all = blocking->inside_chunk * kernel->dims[blocking->depth.dims[blocking->chunk_dim]].extent;
  return blocking->block_depth % step == 0 && all % step == 0;
}

/* Of the first-level cache, by |rows| of a block of the depth, |width| bytes each: where they are they may share sets.
 */
static double rows_footprint(const ContractionBlocking *blocking, int64_t rows, int64_t width) {
  if (!blocking->lhs_in_place) return (double)(rows * width);
  int64_t stride = blocking->row_stride * type_storage_bytes(blocking->type);
  return contraction_cache_bytes(FIRST_CACHE_SETS, rows, stride, width);
}

MatrixReading contraction_matrix_reading(const ContractionBlocking *blocking, int64_t first_cache) {
  int64_t lane_bytes = ceil_div(blocking->block_depth, blocking->group) * type_storage_bytes(blocking->type);
  int64_t tiles = min_i64(blocking->tiles_per_block, blocking->tile_count);
  int64_t tile = blocking->tile_rows * lane_bytes, panel = blocking->panel_width * lane_bytes;
  MatrixReading reading = {.rows_pass = tiles > 1};
  int64_t times = reading.rows_pass ? tiles : blocking->panels_per_chunk;
  int64_t staying = reading.rows_pass ? panel : tile, moving = reading.rows_pass ? tile : panel;
  /* those of panels that are kept, in all blocks of the depth, before the first does again */
  reading.passing = moving * times * (blocking->rhs_kept ? blocking->block_count : 1);
  double rows = rows_footprint(blocking, blocking->tile_rows * (reading.rows_pass ? tiles : 1), lane_bytes);
  if (rows + (double)(reading.rows_pass ? panel : reading.passing) <= (double)first_cache) {
    /* where panels are kept in blocks, those of a tile of rows come and go for one chunk after the other */
    if (blocking->rhs_kept && blocking->block_count > 1) reading.stays = (double)staying / (double)times;
    return reading;
  }
  double one = reading.rows_pass ? (double)panel : rows_footprint(blocking, blocking->tile_rows, lane_bytes);
  reading.both_pass = one > (double)first_cache;
  reading.any_passes = one + (double)moving > (double)first_cache;
  reading.passes = (double)moving;
  reading.stays = (double)staying / (reading.both_pass ? 1 : (double)times);
  return reading;
}

void contraction_choose_passing(ContractionBlocking *blocking, int64_t first_cache) {
  if (!blocking->in_matrix_unit) return;
  MatrixReading reading = contraction_matrix_reading(blocking, first_cache);
  blocking->lhs_passes_by = reading.any_passes && (reading.rows_pass || reading.both_pass);
  blocking->rhs_passes_by = reading.any_passes && (!reading.rows_pass || reading.both_pass);
}

/* --- its registers --- */

/* Rows of the tile's first register, or second. */
static int rows_of(const ContractionBlocking *blocking, int number) {
  int count = registers_of_rows(blocking->tile_rows);
  int first = (blocking->tile_rows + count - 1) / count;
  return number == 0 ? first : blocking->tile_rows - first;
}

/* Sums row by row, then those of the lhs, then those of the rhs. */
static int sum_register(const ContractionBlocking *blocking, int row, int vector) {
  return row * blocking->panel_vectors + vector;
}

static int lhs_register(const ContractionBlocking *blocking, int row) {
  return registers_of_rows(blocking->tile_rows) * blocking->panel_vectors + row;
}

/* As many as there are left, in turn. */
static int rhs_register(const ContractionBlocking *blocking, int vector) {
  int first = lhs_register(blocking, registers_of_rows(blocking->tile_rows));
  return first + vector % (MATRIX_REGISTERS - first);
}

/* What ldtilecfg reads. */
typedef struct MatrixSetup {
  unsigned char palette, start_row, reserved[14];
  unsigned char row_bytes[16][2], rows[16];
} MatrixSetup;

static void set_up_register(MatrixSetup *setup, int number, int rows) {
  setup->row_bytes[number][0] = MATRIX_BYTES;
  setup->rows[number] = (unsigned char)rows;
}

static MatrixSetup setup_of(const ContractionBlocking *blocking) {
  MatrixSetup setup = {.palette = 1};
  for (int i = 0; i < registers_of_rows(blocking->tile_rows); i++) {
    for (int j = 0; j < blocking->panel_vectors; j++)
      set_up_register(&setup, sum_register(blocking, i, j), rows_of(blocking, i));
    set_up_register(&setup, lhs_register(blocking, i), rows_of(blocking, i));
  }
  for (int j = 0; j < blocking->panel_vectors; j++) set_up_register(&setup, rhs_register(blocking, j), MATRIX_STEP);
  return setup;
}

/* --- asking for it --- */

static LLVMValueRef setup_constant(const VecBuilder *vec, const ContractionBlocking *blocking) {
  MatrixSetup setup = setup_of(blocking);
  LLVMValueRef bytes = LLVMConstStringInContext2(vec->context, (const char *)&setup, sizeof setup, true);
  LLVMValueRef global = LLVMAddGlobal(vec->module, LLVMTypeOf(bytes), "xlac.matrix_setup");
  LLVMSetInitializer(global, bytes);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  LLVMSetGlobalConstant(global, true);
  LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
  LLVMSetAlignment(global, MATRIX_BYTES);
  return global;
}

/* 0: nobody has asked; STATE_GRANTED, or more where it was refused.  Several threads may ask at once, with the same
 * answer. */
static LLVMValueRef state_word(const VecBuilder *vec) {
  LLVMValueRef word = LLVMGetNamedGlobal(vec->module, CONTRACTION_MATRIX_STATE);
  if (word != NULL) return word;
  LLVMTypeRef type = LLVMInt32TypeInContext(vec->context);
  word = LLVMAddGlobal(vec->module, type, CONTRACTION_MATRIX_STATE);
  LLVMSetInitializer(word, LLVMConstNull(type));
  LLVMSetLinkage(word, LLVMInternalLinkage);
  LLVMSetAlignment(word, 4);
  return word;
}

/* A function of the module that is |text|. */
static LLVMValueRef text_function(const VecBuilder *vec, const char *name, LLVMTypeRef type, StringView text) {
  LLVMValueRef function = LLVMGetNamedFunction(vec->module, name);
  if (function != NULL) return function;
  LLVMBasicBlockRef position = LLVMGetInsertBlock(vec->builder);
  function = ir_function_add(vec->module, name, type, LLVMInternalLinkage);
  ir_function_set_assembly(vec->builder, function, text);
  LLVMPositionBuilderAtEnd(vec->builder, position);
  return function;
}

LLVMValueRef contraction_begin_matrix_unit(const VecBuilder *vec, const ContractionBlocking *blocking) {
  LLVMTypeRef pointer = LLVMPointerTypeInContext(vec->context, 0), types[2] = {pointer, pointer};
  LLVMTypeRef type = LLVMFunctionType(LLVMInt8TypeInContext(vec->context), types, 2, false);
  Arena *scratch = arena_create();
  StringBuilder text;
  sb_init(&text, scratch);
  sb_printf(&text,
            "movl (%%rdi), %%eax\ntestl %%eax, %%eax\njne 1f\nmovq %%rdi, %%r8\nmovq %%rsi, %%r9\n"
            "movl $$%d, %%eax\nmovl $$%d, %%edi\nmovl $$%d, %%esi\nsyscall\n"
            "movq %%r9, %%rsi\ntestq %%rax, %%rax\nsetne %%al\nmovzbl %%al, %%eax\naddl $$%d, %%eax\n"
            "movl %%eax, (%%r8)\n1:\ncmpl $$%d, %%eax\njne 2f\nldtilecfg (%%rsi)\nxorl %%eax, %%eax\nretq\n"
            "2:\nmovl $$%d, %%eax\nretq",
            ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA, STATE_GRANTED, STATE_GRANTED, MATRIX_REFUSED);
  LLVMValueRef function = text_function(vec, "xlac.matrix_begin", type, sb_view(&text));
  arena_destroy(scratch);
  LLVMValueRef arguments[2] = {state_word(vec), setup_constant(vec, blocking)};
  return LLVMBuildCall2(vec->builder, type, function, arguments, 2, "");
}

void contraction_end_matrix_unit(const VecBuilder *vec, LLVMValueRef refused) {
  LLVMTypeRef parameter = LLVMInt8TypeInContext(vec->context);
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(vec->context), &parameter, 1, false);
  StringView text = sv_from_cstring("testb %dil, %dil\njne 1f\ntilerelease\n1:\nretq");
  LLVMBuildCall2(vec->builder, type, text_function(vec, "xlac.matrix_end", type, text), &refused, 1, "");
}

/* --- the micro-kernel --- */

const char *contraction_matrix_instruction(const ContractionBlocking *blocking) {
  static const char *const of_bytes[2][2] = {{"tdpbssd", "tdpbsud"}, {"tdpbusd", "tdpbuud"}};
  if (blocking->dot == VEC_DOT_BF16) return "tdpbf16ps";
  return of_bytes[blocking->lhs_unsigned][blocking->rhs_unsigned];
}

/* All sums to or from their places, rows %r9 bytes apart. */
static void move_sums(const ContractionBlocking *blocking, bool is_store, StringBuilder *out) {
  for (int i = 0; i < registers_of_rows(blocking->tile_rows); i++) {
    if (i > 0) sb_printf(out, "imulq $$%d, %%r9, %%r11\naddq %%rdx, %%r11\n", rows_of(blocking, 0));
    const char *row = i == 0 ? "rdx" : "r11";
    for (int j = 0; j < blocking->panel_vectors; j++) {
      int sums = sum_register(blocking, i, j);
      if (is_store)
        sb_printf(out, "tilestored %%tmm%d, %d(%%%s,%%r9)\n", sums, j * MATRIX_BYTES, row);
      else
        sb_printf(out, "tileloadd %d(%%%s,%%r9), %%tmm%d\n", j * MATRIX_BYTES, row, sums);
    }
  }
}

static void begin_sums(const ContractionBlocking *blocking, StringBuilder *out) {
  if (contraction_continues(blocking)) {
    sb_append_cstring(out, "testb $$1, 8(%rsp)\nje 1f\n");
    move_sums(blocking, false, out);
    sb_append_cstring(out, "jmp 2f\n1:\n");
  }
  int count = registers_of_rows(blocking->tile_rows) * blocking->panel_vectors;
  for (int i = 0; i < count; i++) sb_printf(out, "tilezero %%tmm%d\n", i);
  sb_append_cstring(out, "2:\n");
}

static const char *load_of(bool passes_by) {
  return passes_by ? "tileloaddt1" : "tileloadd";
}

/* A register of the rhs is multiplied as soon as it is there. */
static void append_step(const ContractionBlocking *blocking, long long row_bytes, StringBuilder *out) {
  const char *instruction = contraction_matrix_instruction(blocking);
  int registers = registers_of_rows(blocking->tile_rows);
  for (int j = 0; j < blocking->panel_vectors; j++) {
    int rhs = rhs_register(blocking, j);
    sb_printf(out, "%s %d(%%rsi,%%r8), %%tmm%d\n", load_of(blocking->rhs_passes_by), j * MATRIX_BYTES, rhs);
    for (int i = 0; i < registers; i++) {
      int lhs = lhs_register(blocking, i);
      if (j == 0)
        sb_printf(out, "%s %lld(%%rdi,%%r10), %%tmm%d\n", load_of(blocking->lhs_passes_by),
                  i * rows_of(blocking, 0) * row_bytes, lhs);
      sb_printf(out, "%s %%tmm%d, %%tmm%d, %%tmm%d\n", instruction, rhs, lhs, sum_register(blocking, i, j));
    }
  }
}

/* Rows of results, so many at each step that there is time for all; beyond the last are those of the next tile. */
static void ask_for_results(const ContractionBlocking *blocking, StringBuilder *out) {
  if (blocking->result_lines == 0) return;
  int64_t steps = ceil_div(ceil_div(blocking->block_depth, blocking->group), MATRIX_STEP);
  int64_t rows = ceil_div(blocking->tile_rows, steps);
  for (int64_t i = 0; i < rows; i++) {
    for (int j = 0; j < blocking->result_lines; j++) sb_printf(out, "prefetcht1 %d(%%rdx)\n", j * LINE_BYTES);
    sb_append_cstring(out, "addq %r11, %rdx\n");
  }
}

void contraction_append_matrix_text(const ContractionBlocking *blocking, StringBuilder *out) {
  int bytes = type_storage_bytes(blocking->type);
  long long row_bytes = blocking->row_stride * bytes;
  if (!blocking->sums_in_result) sb_printf(out, "movl $$%lld, %%r9d\n", (long long)blocking->panel_width * bytes);
  sb_printf(out, "movl $$%lld, %%r10d\nshlq $$2, %%r8\n", row_bytes);
  begin_sums(blocking, out);
  sb_printf(out, "addq $$%d, %%rcx\nshrq $$4, %%rcx\nje 3f\nmovq %%r8, %%rax\nshlq $$4, %%rax\n", MATRIX_STEP - 1);
  bool asks = blocking->result_lines > 0;
  if (asks) sb_append_cstring(out, "movq %rdx, -8(%rsp)\nmovq 32(%rsp), %rdx\nmovq 40(%rsp), %r11\n");
  sb_append_cstring(out, ".p2align 4, 0x90\n4:\n");
  ask_for_results(blocking, out);
  append_step(blocking, row_bytes, out);
  sb_printf(out, "addq $$%d, %%rdi\naddq %%rax, %%rsi\ndecq %%rcx\njne 4b\n", MATRIX_BYTES);
  if (asks) sb_append_cstring(out, "movq -8(%rsp), %rdx\n");
  sb_append_cstring(out, "3:\n");
  move_sums(blocking, true, out);
  sb_append_cstring(out, "retq\n");
}
