/* What tilings of one Kernel on one machine come to, whatever the Buffer and the number of slots: searches in Buffers
 * of other sizes and for other depths come by the same tilings again, and by the same grid of them. */
#ifndef XLAC_CODEGEN_ONCORE_TILING_TILING_MEMO_H
#define XLAC_CODEGEN_ONCORE_TILING_TILING_MEMO_H

#include "codegen/oncore/tiling/tiling.h"

/* A tiling with 1, 2, … slots; with more than these it is one by itself. */
enum { TILING_KNOWN_DEPTHS = 4 };
typedef struct TilingKnown {
  TilingCost costs[TILING_KNOWN_DEPTHS];
} TilingKnown;

/* What is known of a tiling of |depth|, which it was found with or, up to TILING_KNOWN_DEPTHS, not. */
const TilingCost *tiling_known_cost(const TilingKnown *known, int32_t depth);

/* A search's grid over the tilings of one form. */
typedef struct TilingGridMemo {
  bool is_full;
  const TilingKnown **known; /* by place; NULL: no tiling that is allowed */
} TilingGridMemo;

/* Of |kernel| on |machine|, or on others that differ from it by the Buffer's size, in which tiles have up to
 * |most_bytes|. The caller ends it with tiling_memo_destroy (which accepts NULL) before both.  Not for several threads
 * at once. */
TilingMemo *tiling_memo_create(const Kernel *kernel, const MachineDescription *machine, int64_t most_bytes);
void tiling_memo_destroy(TilingMemo *memo);

/* Bytes of what is known. */
size_t tiling_memo_used(const TilingMemo *memo);

/* Buffers of a Kernel that bits tell of: its first ones. */
enum { TILING_MEMO_BUFFERS = 64 };

/* As tile_facts_hold has it, before anything is known. */
void tiling_memo_hold(TilingMemo *memo, const bool *held);

/* Before anything is known: tiles of the Kernel's operands |walked|, by bit, are to be pieces of these that follow one
 * another in memory, so that a loop over one dim goes through the whole array.  Searches leave all other dims of their
 * loads whole. */
void tiling_memo_walk(TilingMemo *memo, uint64_t walked);
/* The dims that are left whole for that, by bit. */
uint64_t tiling_memo_whole_dims(const TilingMemo *memo);

/* What |tiling|, with loops over what it cuts alone, comes to; no estimate (infinity) where it takes more than the
 * memo's bytes.  Lives as long as |memo|.  Status as that of tile_outline_cost, where one of its depths fits. */
MUST_USE Status tiling_memo_find(TilingMemo *memo, const Tiling *tiling, DiagSink *diag, const TilingKnown **out_known);

/* The grid of |places| tilings that are as |form| but for extents and depth.  The same one each time. */
TilingGridMemo *tiling_memo_grid(TilingMemo *memo, const Tiling *form, int64_t places);

#endif
