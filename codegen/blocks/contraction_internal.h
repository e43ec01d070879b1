/* The blocking of a blocked contraction and the state of emitting it, shared by the files of this room. */
#ifndef XLAC_CODEGEN_BLOCKS_CONTRACTION_INTERNAL_H
#define XLAC_CODEGEN_BLOCKS_CONTRACTION_INTERNAL_H

#include "codegen/blocks/contraction.h"
#include "codegen/ir/ir_outline.h"
#include "codegen/point/kernel_point.h"

/* Dims of one role, outermost first. */
typedef struct DimList {
  int count, dims[KERNEL_MAX_DIMS];
  int64_t size; /* product of extents */
} DimList;

/* Which values a factor or the epilogue consists of, and which neighbours of a DimList all of them walk as one. */
typedef struct ValueSet {
  bool *has; /* by value */
  bool has_stores;
} ValueSet;

typedef enum ContractionRole { ROLE_BATCH, ROLE_ROWS, ROLE_COLUMNS, ROLE_COUNT } ContractionRole;

#define MOST_KEPT 8
#define LINE_BYTES 64            /* of a cache */
#define LARGEST_OFFSET INT32_MAX /* in an address of an instruction */
#define FIRST_CACHE_SETS 64
#define MOST_COMMON_GUARDS 4
#define MOST_CUTS 3
#define MOST_PANEL_VECTORS 4
#define MOST_REGISTER_STEPS 4 /* of an epilogue in the micro-kernel's registers */
#define MOST_TAPS 8
#define MATRIX_STEP 16 /* lanes of the depth, columns, and rows at most, of a register of the matrix unit */
/* Flags of the micro-kernel: the system has not granted the matrix unit; this tile is finished in registers; it packs
 * the panel. */
#define MATRIX_REFUSED 4
#define FINISHES_IN_REGISTERS 8
#define PACKS_PANEL 16

/* The depth as a window that slides over an image along its last row: steps are elements of the lhs. */
typedef struct WindowWalk {
  int channel, middle, tap; /* its dims: the channels, the window's rows (-1: none), and its columns */
  int64_t channel_step, middle_step, tap_step, channel_count, middle_count, tap_count;
  int64_t row_step; /* from a row of a tile to the next, where the micro-kernel walks channels inside of taps */
  /* What the guard of the lhs asks: that a row of the image is there, of |middle| and rows outside of a tile; and a
   * column, of |tap| and the row.  -1: nothing. */
  int32_t middle_guard, tap_guard;
  uint32_t outside[MOST_TAPS]; /* rows (bits) that are no column of the image at this tap in some tile */
  double read_share;           /* elements of the image to those of patches */
} WindowWalk;

/* What an epilogue in registers takes beside the sums. */
typedef enum RegisterSource {
  SOURCE_CONSTANT, /* |bits| */
  SOURCE_SCALAR,   /* from memory, one for the tile */
  SOURCE_COLUMNS,  /* one for each column */
  SOURCE_BESIDE    /* one for each sum, in rows that lie as those of the result */
} RegisterSource;

/* sum ← sum |opcode| what is read; the other way round where the sum |is_second|. */
typedef struct RegisterStep {
  HloOpcode opcode;
  RegisterSource source;
  bool is_second;
  int32_t value; /* of the Kernel */
  uint64_t bits; /* of the type */
} RegisterStep;

typedef struct ContractionPrices ContractionPrices; /* contraction_cost.c */

struct ContractionBlocking {
  int32_t lhs, rhs; /* the factors: lhs depends on rows, rhs on columns */
  PrimitiveType type;

  /* Narrow integers and bf16 are packed |group| to a 32-bit lane, neighbours in the depth, each of |packed_type|: what
   * follows counts lanes where it speaks of the packed depth.  1: elements are packed as they are. */
  int group;
  PrimitiveType packed_type;
  VecDotKind dot;
  bool rhs_unsigned; /* of the two factors of VEC_DOT_U8_S8 */
  /* A signed lhs is packed as lhs + 128; 128 × the sum of each column, which is taken away again, follows a panel. */
  bool lhs_shifted;
  /* Products by the processor's matrix unit (contraction_matrix.c): blocks of the depth are packed as whole steps of
   * it, MATRIX_STEP lanes, zeros beyond their end, and bytes as they are, signed or not. */
  bool in_matrix_unit, lhs_unsigned;

  ValueSet lhs_set, rhs_set, epilogue_set;
  DimList batch, rows, columns, depth; /* columns: the last one is contiguous in the store */

  /* Columns: panels of |panel_width| = |panel_vectors| × |lanes| columns, inside runs of |column_run| columns that are
   * walked as one. */
  int lanes, panel_vectors, tile_rows;
  int vector_lanes;   /* of a whole register, which |lanes| may be less than */
  int column_suffix;  /* so many last dims make a run */
  int segment_suffix; /* so many of them the rhs walks as one: a segment, packed piece by piece if shorter than a run */
  int64_t segment;
  int64_t panel_width, column_run, panels_per_run, panel_count;
  int64_t panels_per_chunk;
  double step_cost; /* cycles of a tile for one index of the depth, estimated */

  /* Depth: blocks of |chunk_size| indices of depth dim |chunk_dim| times all dims inside it; dims outside are walked
   * block by block. */
  int chunk_dim;
  int64_t chunk_size, chunk_count_of_dim, inside_chunk, block_depth, block_count;
  /* Where it is not 0 the one dim of the depth is read in so many runs at once: block b has index b of each, which lie
   * |block_count| indices apart. */
  int64_t depth_runs;
  int64_t row_stride; /* of the lhs, packed or in place */
  int64_t lhs_step;   /* elements from an index of the depth to the next; 1 but for a lhs in place across its grain */
  int64_t lhs_slot;   /* elements of a packed tile of the lhs */
  int64_t packed_stride; /* from row to row of the packed panel */

  /* Rows: tiles of |tile_rows|, blocks of tiles.  Where it is not 0 the last tile has |rest_rows| alone; otherwise it
   * computes some rows twice, or none. */
  int64_t tile_count, tiles_per_block;
  int rest_rows;
  double rest_cost; /* as |step_cost|, of that tile */

  bool rhs_is_plain;  /* a load, not guarded, contiguous along the columns */
  int32_t rhs_source; /* such a load that the rhs is, or is converted from where groups are packed; -1: none */
  bool rhs_transposes,
      lhs_transposes;    /* contiguous along the other dim than its packed form: packed in square blocks */
  bool lhs_in_parts;     /* its rows are not walked as one; where it transposes, parts are whole squares long */
  bool has_large_caches; /* VecTarget's, where there is more than a line of columns */
  bool has_slow_steps;   /* a register is multiplied in a cycle: VecTarget's multiplies_by_halves */
  const ContractionPrices *prices; /* the processor's */
  bool is_far;                     /* what is read in place comes from memory: VecTarget's streams_factors */
  bool is_apart;                   /* it comes from no cache of the core's own: leaves_own_cache */
  bool is_by_panels;               /* of few rows: panel by panel from the last-level cache, contraction_reads_panels */
  bool is_deep;                    /* of few rows: by deep blocks from further away, contraction_reads_deep_blocks */
  bool rhs_ahead; /* while a panel is multiplied, the rows are asked for of that |panels_ahead| further on */
  int64_t panels_ahead;
  int64_t rows_ahead; /* where it is not 0, they are those of the same panel so many rows of the depth further on */
  bool ahead_in_turn; /* by many tiles: each asks for its share of them before it begins, rather than at each step */
  bool rhs_in_place;  /* panels are read where they are, rows |rhs_stride| apart; the last of a run begins early
                         rather than reaching beyond it */
  bool rhs_may_stay;  /* they could be, which takes less scratch and more time; the sizes say whether they are */
  /* While a tile is multiplied, |result_lines| lines of each of its rows are asked for (0: none), |result_stride| bytes
   * apart, where load |beside| of the epilogue is, or (-1) the result. */
  int result_lines;
  int64_t result_stride;
  int32_t beside;
  bool lhs_ahead; /* in the blocks of the depth that do not ask for results the same lines are those of the lhs which
                     the next block packs */
  /* Tiles that are whole are finished in the micro-kernel's registers, by |register_steps|, and stored from there, in
   * rows |result_stride| bytes apart; others, and all if it is false, through memory. */
  bool in_registers;
  int register_step_count;
  RegisterStep register_steps[MOST_REGISTER_STEPS];
  bool rhs_kept;       /* all panels are packed before the first tile, |rhs_slot| bytes each */
  bool packed_by_tile; /* the first tile of a block reads a panel where it lies, and its micro-kernel packs it for the
                          others.  Before sizes are chosen: it may do so */
  /* Rows of a tile that overlap, as neighbouring patches of an image do, are packed as strips: the last |strip_dims| of
   * the depth are one run of |strip_run| elements, from the next row's on |row_stride| further, and the outermost of
   * these dims goes on for |strip_longer| indices, as far as the last row's.  |strip_dims| 0: rows are packed apart. */
  int strip_dims;
  int64_t strip_longer, strip_run, strip_length;
  /* Rows of each tile are read where they are, those of different tiles anywhere.  Where tiles are |cut|, loads ask,
   * besides what a tile and a block have in common, that index |cut_guard| is in its range: so it is for some rows of
   * the tile that follow one another, as many as one of |cut_rows|; the others add nothing.  |cut_share|: of all rows,
   * those that do. */
  bool lhs_by_tiles, cut;
  int32_t cut_guard;
  int cut_count, cut_rows[MOST_CUTS];
  double cut_share;
  bool lhs_in_place; /* rows are read where they are; the last tile begins early rather than reaching beyond them */
  /* Of the matrix unit: what comes from further away than the first-level cache passes it by, as the rows of another
   * tile or another panel each time, so that the other factor stays there. */
  bool lhs_passes_by, rhs_passes_by;
  /* Read in place, a rhs converted from another type stays in that: |rhs| is then what is converted, and the
   * micro-kernel converts it.  Elsewhere |type|. */
  PrimitiveType rhs_type;
  int64_t rhs_stride; /* of a row of the panel, in elements */

  /* Rows are positions along which the result goes on (channel-major images): rows of each tile are read where they are
   * as |window| says, and finished sums are transposed before what follows. */
  bool is_turned;
  WindowWalk window;

  /* The micro-kernel walks |window|, in place: rows of it, taps of each, and channels inside of these, which are
   * contiguous.  Blocks of the depth are whole rows of the window.  Before sizes are chosen: it may do so. */
  bool walks_window;

  /* Unfinished sums lie where the result of the tile will: rows |sum_stride| elements apart there.  Tiles that reach
   * beyond rows or columns have theirs in the scratch while a block of the depth is added.  Before sizes are chosen:
   * they may lie there. */
  bool sums_in_result;
  bool stores_sums;   /* and the sums themselves are the result */
  bool is_overlapped; /* KERNEL_OVERLAPPED: they may lie there in one block of the depth alone */
  bool has_edges;     /* there are such tiles */
  int64_t sum_stride;

  /* What the guard of the lhs asks that all rows of a tile and all of a block of the depth have in common (whether a
   * row of an image is there): where it does not hold, the block adds nothing to the tile. */
  int common_guard_count;
  int32_t common_guards[MOST_COMMON_GUARDS];
  double common_share; /* contraction_common_share */

  /* Of so many rows of the rhs at most a sweep along all columns of a chunk adds the products to the sums, in place of
   * the micro-kernel: of a blocking that |is_swept| (contraction_sweep.c).  0: it may not be. */
  int sweep_depth;
  bool is_swept;

  bool is_skinny; /* few rows, lanes along the depth: panels of |panel_width| columns, nothing packed */
  /* Of a skinny one: lanes walk depth dim |along| with those from |along_first| on as one, |along_run| indices; dims
   * before it are loops, those after it have |along_inside| indices in all. */
  int along, along_first;
  int64_t along_run, along_inside;

  /* Threads: pieces are batch entries, tiles of rows or panels. */
  ContractionRole split;
  int64_t piece_count, chunk_limit, chunks_per_worker;

  /* Values of the epilogue that are computed from columns alone (the scale of a batch norm): once for each panel, and
   * kept, |kept_stride| bytes each. */
  int kept_count;
  int32_t kept[MOST_KEPT];
  int64_t kept_stride;

  int64_t rhs_slot, kept_slot; /* bytes for a panel; |kept_slot|: of the values that are kept */
  int64_t lhs_offset, rhs_offset, tile_offset, turned_offset, kept_offset, scratch_bytes;

  /* Cycles of a batch entry, the epilogue aside, estimated; with contraction_few_bytes alone, infinite where these will
   * not do; and of all sizes of the tile. */
  double cost, few_cost, least_cost;
  /* … of bringing each factor in once, from where it is or packed: every chunk of rows does so with the rhs, every
   * chunk of columns with the lhs. */
  double lhs_entry_cost, rhs_entry_cost;
};

/* True when |address| walks dims |outer| and |inner| as one index. */
bool contraction_address_merges(const Kernel *kernel, IndexExpr address, int outer, int inner);
/* True when every value of |set| walks dims |list|[i] and [i + 1] as one index. */
bool contraction_merges(const Kernel *kernel, const ValueSet *set, const DimList *list, int i);
/* The number of last dims of |list| that |set| walks as one, at least 1 (0 for an empty list). */
int contraction_merged_suffix(const Kernel *kernel, const ValueSet *set, const DimList *list);
/* Points of the last |suffix| dims of |list|. */
int64_t contraction_suffix_size(const Kernel *kernel, const DimList *list, int suffix);

/* --- values (contraction_value.c) --- */

/* Computes what loops over |later| dims would repeat. */
void contraction_hoist(KernelPoint *point, const ValueSet *set, uint64_t later);

/* Operations of |set|: what is not loaded, guards included. */
int contraction_operation_count(const Kernel *kernel, const ValueSet *set);

/* Whether lanes of |type| that are masked off cost next to nothing, of loads that gather or of others. */
bool contraction_mask_is_cheap(const VecTarget *target, PrimitiveType type, bool gathers);
/* How many lanes along |dim| the values of |set| may be evaluated in, some of them masked off or not: |lanes| or 1. */
int contraction_lanes(const Kernel *kernel, const VecTarget *target, const ValueSet *set, int dim, int lanes,
                      bool masked);
/* Whether all loads of |set| are contiguous or uniform along |dim|, and at least one contiguous. */
bool contraction_contiguous(const Kernel *kernel, const ValueSet *set, int dim);

/* How many last dims of the depth, of |most|, a guarded lhs walks as one where its guard holds in all of them: more
 * than its guard lets it elsewhere and |least| elements at least, else 0.  It holds in all when it does at the first
 * and at the last index of each. */
int contraction_inside_suffix(const Kernel *kernel, const ContractionBlocking *blocking, int most, int64_t least);

/* |factor| is a load whose guard depends on |dim|: that indices are in ranges, so that it holds between two indices of
 * |dim| where it holds at both. */
bool contraction_is_guarded_by_ranges(const Kernel *kernel, int32_t factor, int dim);

/* Which parts of the guard of the lhs tiles and blocks, whose sizes are known, have in common. */
void contraction_choose_common_guards(const Kernel *kernel, ContractionBlocking *blocking);
/* Of the pairs of a batch entry and a block of the depth, the part that these guards, as far as they depend on nothing
 * else, let through: the others add nothing to any tile (the phases of a dilated image, of which some have fewer taps).
 * 1 where there are too many to count. */
double contraction_common_share(const Kernel *kernel, const ContractionBlocking *blocking);

/* Which values of the epilogue are kept. */
void contraction_choose_kept(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking);

/* Completes a blocking whose roles are known for few rows and factors that are contiguous along the depth; false for
 * others (contraction_skinny.c). */
bool contraction_choose_skinny(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking);

/* Elements, of groups lanes, from row to row of a plain lhs whose rows, contiguous along the depth, lie as they would
 * be packed, only further apart; 0 for others. */
int64_t contraction_lhs_stride(const Kernel *kernel, const ContractionBlocking *blocking);
/* Rows in a cache come near one another again: as its sets see it, each row lies |apart| bytes from the one |number|
 * rows before it, and |following| rows follow one of the first |number| in such steps. */
typedef struct RowTurn {
  int64_t number, following, apart;
} RowTurn;

enum { ROW_TURNS = 32 };

typedef struct RowsInCache {
  int64_t span, rows, stride; /* addresses |span| apart are in one set */
  int turn_count;
  RowTurn turns[ROW_TURNS];
} RowsInCache;

/* |rows| rows |stride| bytes apart, at least 1, in a cache of |sets|, a power of two up to 2^18. */
RowsInCache contraction_rows_in_cache(int64_t sets, int64_t rows, int64_t stride);
/* How much of the cache their bytes take, |width| of each, at least 1: rows that come to few sets leave the others
 * alone. */
double contraction_rows_bytes(const RowsInCache *in_cache, int64_t width);
/* Both in one. */
double contraction_cache_bytes(int64_t sets, int64_t rows, int64_t stride, int64_t width);
/* Whether |rows| so far apart push each other out of the first-level cache, so that they are packed; |is_large|: it is
 * one of VecTarget's has_large_caches. */
bool contraction_rows_meet(bool is_large, int rows, int64_t stride_bytes);
/* The same of a tile's rows of the lhs, |stride| elements apart, that are patches of an image, read where they are. */
bool contraction_patches_meet(const Kernel *kernel, const ContractionBlocking *blocking, int64_t stride);

/* Whether the rows of a tile are packed as strips, in blocks of the depth that are known (contraction_strips.c). */
void contraction_choose_strips(const Kernel *kernel, ContractionBlocking *blocking);

/* Whether the rows of tiles are read where they are though not all tiles' are walked as one, in blocks of the depth
 * that are known. */
void contraction_choose_by_tiles(const Kernel *kernel, ContractionBlocking *blocking);
/* Dims (bits) that stand still while the rows of a tile and a block of the depth are walked. */
uint64_t contraction_common_dims(const Kernel *kernel, const ContractionBlocking *blocking);

/* The tile for |rows| rows that takes least, of a blocking whose types, lanes and columns, a multiple of the lanes, are
 * known; panels fill the columns. */
void contraction_choose_whole_tile(const VecTarget *target, int64_t rows, ContractionBlocking *blocking);

/* --- windows (contraction_window.c) --- */

/* Whether the lhs of a blocking whose roles are known is a channel-major image that a window slides over along the last
 * row. */
bool contraction_find_window(const Kernel *kernel, ContractionBlocking *blocking);
/* Which rows of tiles ask whether they are outside of the image, and the share of products that are left; false where
 * tiles do not lie in one row of the image, or too many of their rows ask. */
bool contraction_choose_outside(const Kernel *kernel, ContractionBlocking *blocking);
/* Whether the micro-kernel may walk the window of a channel-last image, of a blocking whose tile and place of the rhs
 * are known; finds |window|. */
bool contraction_may_walk_window(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking);

/* --- turned (contraction_turned.c) --- */

/* What of the window depends on tiles; false where these cannot be read so. */
bool contraction_choose_window_tiles(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking);
/* Rows of a tile with those that fill up the last square. */
int64_t contraction_turned_rows(const ContractionBlocking *blocking);
/* In how many lanes they are finished. */
int contraction_turned_lanes(const ContractionBlocking *blocking);

/* Batch entries have nothing in common.  Else rows or columns, of which each chunk brings the whole of the other factor
 * in: those of which there are clearly more chunks; of nearly as many those that so repeat less. */
void contraction_choose_split(ContractionBlocking *blocking);

/* Its cost with what its scratch, beyond what is free, is worth in time. */
double contraction_weighed_cost(const ContractionBlocking *blocking, ContractionScratch limit);
/* Chooses how much is packed at a time, and lays out the scratch, of a blocking that is complete but for that; false
 * where even the least needs more than there may be (contraction_sizes.c). */
bool contraction_choose_sizes(const Kernel *kernel, ContractionScratch limit, ContractionBlocking *blocking);

/* --- emission --- */

typedef struct ContractionEmitter {
  const VecBuilder *vec;
  const Kernel *kernel;
  const ContractionBlocking *blocking;
  LLVMValueRef function;
  LLVMValueRef refused;                                 /* what contraction_begin_matrix_unit says */
  LLVMValueRef lhs_pack, rhs_pack, tiles, turned, kept; /* scratch; |rhs_pack| and |kept|: of the panel at work */
  LLVMValueRef rhs_slots, kept_slots;                   /* of all panels, where they are kept */
  IndexRange work[ROLE_COUNT];                          /* of this call: batch entries, tiles of rows, panels */
  KernelPoint point;
} ContractionEmitter;

/* Loops over elements as functions of their own: what is written from here to the end, at which the point is again what
 * it was. */
typedef struct ElementLoops {
  IrOutline outline;
  int64_t height;
  LLVMValueRef dims[KERNEL_MAX_DIMS];
} ElementLoops;

ElementLoops contraction_loops_begin(ContractionEmitter *emitter);
void contraction_loops_end(ContractionEmitter *emitter, ElementLoops *loops);

LLVMValueRef block_int(const VecBuilder *vec, int64_t value); /* i64 */
/* How many of |total| there are from |begin| on, a multiple of |most|, at most |most|. */
LLVMValueRef block_count_left(const VecBuilder *vec, int64_t most, int64_t total, LLVMValueRef begin);
/* |base| + |index| elements of |type| in memory. */
LLVMValueRef block_element(const VecBuilder *vec, PrimitiveType type, LLVMValueRef base, LLVMValueRef index);
/* |base| + |offset| bytes. */
LLVMValueRef block_byte(const VecBuilder *vec, LLVMValueRef base, int64_t offset);

/* Sets the point's first |count| dims of |list| from the row-major linear index over them; dims that |set| walks as one
 * get theirs in the last of them (NULL: none). */
void block_set_linear(ContractionEmitter *emitter, const DimList *list, int count, const ValueSet *set,
                      LLVMValueRef linear);
/* The first of steps |step| apart that reaches |bound| from |without|; none is negative. */
LLVMValueRef block_steps_up_to(const VecBuilder *vec, int64_t bound, LLVMValueRef without, int64_t step);
/* Groups that |depth| elements of the depth are packed in. */
LLVMValueRef contraction_group_count(const VecBuilder *vec, const ContractionBlocking *blocking, LLVMValueRef depth);
/* Lanes whose index, |first| and following, is below |end|. */
LLVMValueRef block_lanes_below(const VecBuilder *vec, LLVMValueRef first, LLVMValueRef end, int lanes);

/* The work of a skinny blocking. */
void contraction_emit_skinny(ContractionEmitter *emitter);

#define MOST_SWEPT_ROWS 4 /* of the lhs */

/* How many rows of the rhs a sweep may take of a blocking whose tile and place of the rhs are known; 0: it has too many
 * rows or too few columns, or does more than multiply and add. */
int contraction_sweep_depth(const VecTarget *target, const ContractionBlocking *blocking);
/* Whether a blocking that is complete but for that is swept. */
bool contraction_is_swept(const ContractionBlocking *blocking);

/* Where a block of the depth begins: dims outside of the chunk are set in the point. */
typedef struct DepthBlock {
  LLVMValueRef chunk_begin, chunk_count; /* indices of the chunk dim */
  LLVMValueRef depth;                    /* elements */
  int longer_dim;                        /* the number of a dim of the depth that goes on for */
  int64_t longer_by;                     /* so many indices, which belong to later rows of a strip */
} DepthBlock;

/* --- packing (contraction_pack.c, contraction_pack_lhs.c, contraction_pack_rhs.c, contraction_squares.c) --- */

/* |lanes| of a factor at the point; |mask|: NULL, or which of them are asked for. */
LLVMValueRef contraction_factor_lanes(ContractionEmitter *emitter, int32_t factor, int lanes, LLVMValueRef mask);
/* What was evaluated in the blocking's type, as it is packed: the value fits. */
LLVMValueRef contraction_packed_value(const ContractionEmitter *emitter, LLVMValueRef value, bool is_lhs, int lanes);

/* A square block of a factor: lanes along |across|, in which it is contiguous, one vector for each index of |along|, in
 * which the packed form is. */
typedef struct SquareBlock {
  int32_t factor;
  int across, along;
  LLVMValueRef across_begin, along_begin, along_last; /* indices beyond |along_last| repeat it */
  LLVMValueRef target;
  int64_t
      target_stride;  /* from one index of |across| to the next, in elements of |type|; groups of the rhs count one */
  PrimitiveType type; /* in the packed form */
} SquareBlock;

/* A square through registers. */
void contraction_pack_square(ContractionEmitter *emitter, const SquareBlock *square);
/* The distance of the elements of |factor| along |dim|, where it is a load that squares can be moved from as they are
 * (vec_move_squares); 0 for others. */
int64_t contraction_square_row(const ContractionEmitter *emitter, int32_t factor, int dim);
/* |square| and those that follow it along the depth, |count| in all, |step| elements apart in the packed form; |row| as
 * contraction_square_row has it. */
void contraction_move_squares(ContractionEmitter *emitter, const SquareBlock *square, int64_t row, int64_t step,
                              LLVMValueRef count);
/* A square of the lhs and all those that follow it along the depth, |count| indices from |first| on. */
void contraction_pack_squares(ContractionEmitter *emitter, SquareBlock *square, LLVMValueRef first, LLVMValueRef count,
                              LLVMValueRef target);

/* Packs rows [row_begin, row_begin + row_count) of the block, rows beyond the last repeating it, into |lhs_pack|. */
void contraction_pack_lhs(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef row_begin,
                          LLVMValueRef row_count);
/* Packs columns [column, column + panel width) of the current run, lanes beyond its end being whatever, into
 * |rhs_pack|. */
void contraction_pack_rhs(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef column);
/* Whether the first tile of a block may pack the panels, of a blocking whose sizes are not known: rows that are copied
 * as they are, and whole. */
bool contraction_may_pack_by_tile(const VecTarget *target, const ContractionBlocking *blocking);
/* Whether it does, of a blocking that is complete but for that: such a tile takes all of the block. */
bool contraction_packs_by_tile(const Kernel *kernel, const ContractionBlocking *blocking);
/* How much of the depth is packed of all panels that are kept, one after the other, before what follows of it: rows of
 * the rhs are then read whole, as the hardware follows them, where a panel's part of each is a line or two of a page.
 */
int64_t contraction_depth_packed(const Kernel *kernel, const ContractionBlocking *blocking);
/* The address of the rhs at the beginning of the block and |column|, where it is a plain load that walks the block's
 * depth as one. */
LLVMValueRef contraction_rhs_address(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef column);
/* The same of the lhs, whose rows are walked as one, at |row|. */
LLVMValueRef contraction_lhs_address(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef row);

/* Computes what is kept of the panel at |column| of the current run. */
void contraction_keep_columns(ContractionEmitter *emitter, LLVMValueRef column);

/* The sums of a tile: rows |stride| elements apart; those from |row| and columns from |column| of the run on, as far as
 * there are such in the result, are the tile's own. */
typedef struct TileSums {
  LLVMValueRef first; /* of the tile's own rows and columns */
  LLVMValueRef stride;
  LLVMValueRef row, column;
  LLVMValueRef count; /* so many rows; NULL: as many as a tile has there */
} TileSums;

/* All rows and a chunk of columns of a swept blocking, in a block of the depth. */
typedef struct Sweep {
  LLVMValueRef lhs, rhs; /* where they begin */
  LLVMValueRef columns;  /* how many */
  TileSums sums;
} Sweep;

/* Where the sums of the chunk are added up whose first column of the run is |column|. */
TileSums contraction_sweep_sums(ContractionEmitter *emitter, LLVMValueRef column);
/* Before the first block: sums are 0.  |lhs| and |rhs| are not read. */
void contraction_sweep_begin(const ContractionEmitter *emitter, const Sweep *sweep);
/* Adds the products of |block|, by a function that is made at its first use in the module. */
void contraction_sweep_call(const ContractionEmitter *emitter, const DepthBlock *block, const Sweep *sweep);

typedef enum TileStep {
  TILE_FINISH, /* stores the epilogue of finished sums */
  TILE_FETCH,  /* unfinished sums come from where the result will be */
  TILE_LEAVE   /* and go there */
} TileStep;

void contraction_tile_step(ContractionEmitter *emitter, TileStep step, const TileSums *sums);
/* The sums of a turned tile, transposed, and which rows and columns they are then; sets the other dims of the rows. */
TileSums contraction_turn_sums(ContractionEmitter *emitter, const TileSums *sums);
/* How a turned tile is finished. */
ContractionBlocking contraction_turned_finish(const ContractionBlocking *blocking);
/* Where the result of |row| and |column| of the current run will be; of a blocking whose sums are there. */
LLVMValueRef contraction_result_address(ContractionEmitter *emitter, LLVMValueRef row, LLVMValueRef column);

/* --- the matrix unit (contraction_matrix.c) --- */

/* Whether a blocking whose types, groups and run of columns are known may go by it. */
bool contraction_suits_matrix_unit(const VecTarget *target, const ContractionBlocking *blocking);
/* A tile of at most |most_sums| registers of sums, and what follows from it. */
void contraction_choose_matrix_tile(int most_sums, ContractionBlocking *blocking);
/* The word of a module that says whether it is granted. */
#define CONTRACTION_MATRIX_STATE "xlac.matrix_state"
/* Whether each block of the depth is whole steps. */
bool contraction_fills_matrix_steps(const Kernel *kernel, const ContractionBlocking *blocking);
/* What the micro-kernel reads of a blocking whose sizes are known: of several tiles in turn rows pass, or else panels,
 * and the other factor stays in a first-level cache of |first_cache| bytes, unless its part is larger.  |any_passes|:
 * it stays only where what passes does not go through that cache; what is last used of less stays by itself. */
typedef struct MatrixReading {
  bool rows_pass, both_pass, any_passes;
  int64_t passing;      /* bytes of all that passes, before it does again */
  double passes, stays; /* bytes of either factor for a tile, from further away than that cache */
} MatrixReading;

MatrixReading contraction_matrix_reading(const ContractionBlocking *blocking, int64_t first_cache);
/* What passes the first-level cache by, of a blocking that is complete but for that. */
void contraction_choose_passing(ContractionBlocking *blocking, int64_t first_cache);
/* Code that asks for it and sets it up; what the calls of the micro-kernel are told of it, i8: MATRIX_REFUSED or 0. */
LLVMValueRef contraction_begin_matrix_unit(const VecBuilder *vec, const ContractionBlocking *blocking);
void contraction_end_matrix_unit(const VecBuilder *vec, LLVMValueRef refused);
/* Rows of results that it asks for at a step, at most. */
#define MATRIX_MOST_AHEAD 4
/* The instruction that multiplies. */
const char *contraction_matrix_instruction(const ContractionBlocking *blocking);
/* The micro-kernel's text for where it is granted, its arguments as contraction_micro.c has them. */
void contraction_append_matrix_text(const ContractionBlocking *blocking, StringBuilder *out);

/* tile[rows][panel] = (adds ? tile : 0) + Σ lhs × rhs over |depth| (of lanes; 0 where there are common guards), rows
 * |tile_stride| elements apart.
 * |ahead|, if not NULL: memory that will be read soon in rows |ahead_stride| apart, as many as |depth|;
 * contraction_lines_ahead lines of each are asked for. */
typedef struct MicroCall {
  /* of a turned tile |depth| are channels, |rhs_stride| is how many rows of the window are there, |tile_stride| the
   * rows that are outside; of one that walks a window |depth| are its rows (contraction_walk_window) */
  LLVMValueRef lhs, rhs, tile, tile_stride, depth, rhs_stride, adds, ahead;
  LLVMValueRef is_last; /* the tile has |rest_rows|; NULL: it has not */
  LLVMValueRef refused; /* i8: 0 or MATRIX_REFUSED; NULL: 0 */
  int64_t ahead_stride;
  LLVMValueRef result, result_stride; /* where there are |result_lines|: the first row's, bytes from row to row */
  /* Where tiles are finished in registers: whether this one is (i1, NULL: all are), where it goes, and what steps
   * read. */
  LLVMValueRef finishes, store, read[MOST_REGISTER_STEPS];
  LLVMValueRef packs, packed; /* where panels are packed by tiles: whether this tile does so (i1), and where to */
  LLVMValueRef outside;       /* of a tile that walks a window, the rows that are: bits in the order of the taps */
} MicroCall;

/* Where the tile of |call|, at |row|, begins in the image and in the panel, and what of the window is there. */
void contraction_walk_window(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef row, MicroCall *call);

/* Which results the micro-kernel asks for, of a blocking that is complete but for that (contraction_results.c). */
void contraction_choose_results_ahead(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking);
/* Those of the tile at |row| and |column| of the run; |asks|: whether there are such in this block of the depth, NULL:
 * yes; if not, |call| has what is asked for. */
void contraction_ask_for_results(ContractionEmitter *emitter, LLVMValueRef row, LLVMValueRef column, LLVMValueRef asks,
                                 MicroCall *call);

/* Steps of the micro-kernel from a row that it asks for to the next one. */
int contraction_steps_apart(const ContractionBlocking *blocking);
/* Bytes from row to row where |address|, of elements of |type|, walks all rows as one and columns one by one; else 0.
 */
int64_t contraction_row_bytes(const Kernel *kernel, const ContractionBlocking *blocking, IndexExpr address,
                              PrimitiveType type);

/* --- epilogues in registers (contraction_registers.c) --- */

/* Whether tiles are finished there, and how, of a blocking that is complete but for that. */
void contraction_choose_registers(const Kernel *kernel, const VecTarget *target, ContractionBlocking *blocking);
/* Whether all tiles are, in the one block of the depth. */
bool contraction_all_in_registers(const ContractionBlocking *blocking);
/* Whether a tile that begins with |row| and |column| of the run has all of its rows and columns in the result (i1);
 * NULL: all tiles have. */
LLVMValueRef contraction_tile_is_whole(const VecBuilder *vec, const ContractionBlocking *blocking, LLVMValueRef row,
                                       LLVMValueRef column);
/* Where the tile there goes, and what steps read. */
void contraction_provide_registers(ContractionEmitter *emitter, LLVMValueRef row, LLVMValueRef column, MicroCall *call);
/* Sums in registers of |width| ('x', 'y', 'z'), row by row from the first one on: finished and stored.  The store's
 * address lies |place| bytes above the end of the stack, what is read follows. */
void contraction_append_registers(const VecTarget *target, const ContractionBlocking *blocking, char width, int place,
                                  StringBuilder *out);
/* What of them is constant in the micro-kernel, for its name. */
void contraction_name_registers(const ContractionBlocking *blocking, char *out, size_t size);

/* Elements that the lhs moves on by after each run of |strip_run|, besides those of the run, where a block of the depth
 * has several strips; else 0. */
int64_t contraction_strip_gap(const ContractionBlocking *blocking);

/* How many bytes above the end of the stack it finds its last argument: where a tile packs the panel to, or which rows
 * are outside. */
int contraction_last_argument(const ContractionBlocking *blocking);

/* Whether it may go on from sums that are there. */
bool contraction_continues(const ContractionBlocking *blocking);

/* How many lines of each row ahead it asks for. */
int contraction_lines_ahead(const ContractionBlocking *blocking);

/* Whether it is text for tiles of |rows| × |vectors| registers and less of a blocking whose types and lanes are known.
 */
bool contraction_has_assembly(const VecTarget *target, const ContractionBlocking *blocking, int rows, int vectors);
/* The function that does so as text, in |arena|; NULL where it is left to LLVM: other processors than x86 with AVX2 and
 * FMA, types without such instructions (contraction_assembly.c). */
const char *contraction_micro_assembly(Arena *arena, const VecTarget *target, const ContractionBlocking *blocking);

/* Calls the function that does so, made at its first use in the module and shared by all plans with equal tiles. */
void contraction_micro_call(const VecBuilder *vec, const ContractionBlocking *blocking, const MicroCall *call);

#endif
