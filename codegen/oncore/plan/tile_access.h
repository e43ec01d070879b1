/* The tiles that a command over part of a Kernel reads and writes.
 *
 * A command covers consecutive stages of a Kernel for a range of points of each dim.  What it needs from a buffer
 * is a tile: the values of one load for all points, stored densely along the load's axes.  Loads that read the same
 * elements (equal addresses but for the names of dims walked over equal ranges) share a tile: the row that softmax
 * reads in three stages is one.
 *
 * Windows.  The taps of a convolution or a pooling read what its neighbours read: the address moves along the tap's dim
 * in steps of that of the position's, and so does all that guards it.  A tile may hold such a window once, halo
 * included, along one of the axes; the others have one element then, and each tap is a view of the same tile.  So an
 * operand says by its extents what it is: one element along an axis of which the command covers more. */
#ifndef XLAC_CODEGEN_ONCORE_PLAN_TILE_ACCESS_H
#define XLAC_CODEGEN_ONCORE_PLAN_TILE_ACCESS_H

#include "codegen/oncore/plan/plan.h"

/* Padding.  A choice between a guarded load, which nothing else reads, and a constant where its guard is false is a
 * load as well: its tile has the constant there, and nothing is left to choose.  Without a choice it has zeros.  Below,
 * and in commands, a load is the number of such a choice or of a load by itself. */

typedef enum TileAccessKind {
  TILE_LOAD,        /* values of load |value| (tile_load_value) */
  TILE_STORE,       /* what store |store| of stage |stage| writes */
  TILE_SCRATCH,     /* a row buffer: stored by an earlier or by this command, one row per point of the outer dims */
  TILE_UPDATED,     /* all of a buffer that is updated as by a scatter (tile_is_updated), flat */
  TILE_ACCUMULATOR, /* fold |fold|, one element per point of the outer dims */
  TILE_INDEX        /* the run-time part of the address of load |value|, s64, in elements */
} TileAccessKind;

typedef struct TileAccess {
  TileAccessKind kind;
  int32_t value;        /* LOAD, INDEX: the first of the loads that share the tile */
  int32_t stage, store; /* STORE */
  int32_t fold;         /* ACCUMULATOR */
  int32_t buffer;       /* of the Kernel; -1: ACCUMULATOR, INDEX */
  PrimitiveType type;
  bool is_read, is_written;
  bool is_read_back; /* SCRATCH: written, and read by a later stage of the cover */
  int32_t axis_count;
  int32_t axes[KERNEL_MAX_DIMS]; /* dims of the Kernel, the tile's axes from outermost to innermost; UPDATED: none */
  int64_t parts; /* LOAD, STORE: elements of one more axis, inside of the others (tile_parts.h); 1: there is none */
} TileAccess;

/* Axes of the tile, that of parts included. */
int32_t tile_access_rank(const TileAccess *access);

typedef struct TileAccesses {
  int32_t count;
  const TileAccess *accesses;
} TileAccesses;

/* The part of a Kernel that a command covers. */
typedef struct TileCover {
  const PlanRange *points; /* per dim */
  int32_t first_stage, last_stage;
  bool keeps_accumulators;
  int32_t index_value; /* -1, or the load whose run-time address is what the command computes, and nothing else */
} TileCover;

/* The accesses of a cover.  Order, which is that of a command's sources and targets as well: first what is read: loads
 * (by number of the first load), row buffers stored earlier (by buffer), accumulators (by fold); those that are both
 * read and written stand among the targets only.  Then what is written: updated buffers, stores (by stage, then place),
 * row buffers, accumulators, the index.  In |arena|. */
TileAccesses tile_accesses(Arena *arena, const Kernel *kernel, const TileCover *cover);

/* Whether |buffer| is updated at places that only the values tell, under a condition, or several times at one place: a
 * scatter.  Such a buffer is in the Buffer as a whole, from before the first to after the last command, or slice by
 * slice. */
bool tile_is_updated(const Kernel *kernel, int32_t buffer);
/* Whether |address| has only terms of dims and of starts that are known before the first command. */
bool tile_address_is_linear(const Kernel *kernel, IndexExpr address);

/* Elements that the Kernel's stores write to |buffer|, one for each point: less than it has where another Kernel makes
 * the rest of a result, its imaginary parts. */
int64_t tile_stored_elements(const Kernel *kernel, int32_t buffer);

/* The load that |value| is, of itself or with padding; NULL: it is none. */
const KernelValue *tile_load_value(const Kernel *kernel, int32_t value);
/* The constant that stands where the guard of load |value| is false; -1: zeros do. */
int32_t tile_load_padding(const Kernel *kernel, int32_t value);

/* Axes of the tile of load |value|: the dims it depends on, those with larger strides first, then by number. */
int32_t tile_load_axes(const Kernel *kernel, int32_t value, int32_t *out_axes);

/* Which axes of a load's tile step along others.  Positions are counted in elements of an axis on which an index 1
 * apart is an element apart. */
typedef struct TileWindows {
  int32_t axis_count;
  int32_t axes[KERNEL_MAX_DIMS];  /* tile_load_axes */
  int32_t along[KERNEL_MAX_DIMS]; /* by axis: the one that it steps along; itself where it steps along none */
  int64_t steps[KERNEL_MAX_DIMS]; /* by axis: positions that an index 1 higher is further on; 0: which taps there are
                                     follows from it, and nothing else */
  int64_t ends[KERNEL_MAX_DIMS];  /* by axis that others step along: so many of its positions there are, where a guard
                                     of taps leaves fewer than they reach; 0: all of them */
} TileWindows;

/* The windows of load |value|; false when it has none.  Only where the whole dims overlap, the address is linear and
 * its guards are ranges and divisibilities: with the others at 0, an index along the one axis says all, but for guards
 * of taps.
 *
 * The weights of a dilated input are walked by phases and taps that do not overlap, but reach beyond the array: they
 * are windows that end with it. */
bool tile_load_windows(const Kernel *kernel, int32_t value, TileWindows *out_windows);
/* Whether some of them end.  Such a tile holds all positions: commands walk all of |out_dims| at once. */
bool tile_windows_end(const TileWindows *windows, uint64_t *out_dims);
/* Whether what a tile with |windows| holds of load |value| is a box of the array: no guard, or by their ends alone. */
bool tile_windows_are_box(const Kernel *kernel, int32_t value, const TileWindows *windows);
/* Whether |guard|, one of those of a load with |windows|, says which taps there are: it follows from dims alone that
 * step along others, and holds where they are 0.  So are the taps of a dilated input, of which one phase has more than
 * another.  A tile that holds windows does not know it: what reads the tile is guarded by it. */
bool tile_guard_is_of_taps(const Kernel *kernel, int32_t guard, const TileWindows *windows);
/* Whether |axis| is one of several that step along one another. */
bool tile_axis_is_windowed(const TileWindows *windows, int32_t axis);
/* Whether |axis|, inner, goes over positions whose taps are an outer dim, as in gradients of weights: these are fewer.
 */
bool tile_axis_is_position(const Kernel *kernel, const TileWindows *windows, int32_t axis);
/* Positions along |axis| that points in |extents|, by dim of the Kernel, reach: 1 where it steps along another. */
int64_t tile_window_extent(const TileWindows *windows, int32_t axis, const int64_t *extents);
/* The part of the tile along |axis| that |points| see.  Of the dims that step along one axis at most one is ragged. */
PlanRange tile_window_range(IndexSpace *space, const TileWindows *windows, int32_t axis, const PlanRange *points);
/* Whether |ref|, an operand of a command that covers |points|, is a tile that holds windows once. */
bool tile_ref_is_window(const TileWindows *windows, const PlanRange *points, const PlanRef *ref);

/* Axes of the tile of a row buffer that is read or written at |address|: the outer dims, then the address's own. */
int32_t tile_scratch_axes(const Kernel *kernel, IndexExpr address, int32_t *out_axes);

/* The place of the tile that holds |value| (a load covered by |cover|) among |accesses|, -1 for none. */
int32_t tile_access_of_load(const Kernel *kernel, const TileCover *cover, const TileAccesses *accesses, int32_t value);

/* Whether |target| may take the bytes of |source|, both of |cover|: a load's elements, or what a fold of an earlier
 * stage has left, and a store's, of which each is read before the one in its place is written, whatever the order of
 * points. */
bool tile_stores_in_place(const Kernel *kernel, const TileCover *cover, const TileAccess *source,
                          const TileAccess *target);
/* That is so if the store |target| has an element for each point of |cover| … */
bool tile_store_has_all_points(const Kernel *kernel, const TileCover *cover, const TileAccess *target);
/* … and, whatever the extents of tiles, what depends on which dims of |cover| have equal ranges alone. */
bool tile_goes_with_store(const Kernel *kernel, const TileCover *cover, const TileAccess *source,
                          const TileAccess *target);

/* Of a fold that is so, whatever the extents of tiles, if the store's stage goes through the same points as the fold's
 * Tensor has and does nothing else, and no later stage reads the fold: an epilogue of a product of matrices (bias,
 * activation, an update of weights). */
bool tile_stores_over_fold(const Kernel *kernel, const TileCover *cover, const TileAccess *source,
                           const TileAccess *target);

/* The fold of an earlier stage of which |stage| stores what it leaves, as it is and in the order of points, and does
 * nothing else; -1: it does.  The Tensors that such a fold keeps are tiles of the result, once it has seen everything.
 */
int32_t tile_stored_fold(const Kernel *kernel, int32_t stage);

/* What it is follows from run-time values, also inside of a division or remainder. */
bool tile_atom_is_run_time(const Kernel *kernel, const IndexAtom *atom);

/* Whether a PERMUTE may bring load |value| from an array in the Buffer, whose address has no run-time part that varies
 * from point to point, or with |gathers| a GATHER, by indices. */
bool tile_may_bring(const Kernel *kernel, int32_t value, bool gathers);

/* Whether the address of load |value| has a run-time part that varies from point to point, or one that is divided (a
 * gather): it is loaded by a GATHERM with a tile of indices; one that only moves the whole is a matter of PlanScalars.
 */
bool tile_load_is_gather(const Kernel *kernel, int32_t value);
/* The dims on which that run-time part depends, in the order of tile_load_axes. */
int32_t tile_index_axes(const Kernel *kernel, int32_t value, int32_t *out_axes);

#endif
