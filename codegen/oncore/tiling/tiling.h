/* Tiling: how much of a Kernel's dims a command covers, and in which order tiles are walked; the search for a good one.
 *
 * Outer dims that are tiled are loops around everything.  A Kernel of several stages runs as one computation per outer
 * tile when all that its stages walk fits (whole stages), or stage by stage with loops over each stage's own dims and
 * its folds in Tensors (split stages).  A buffer that is updated at computed places and does not fit is cut into slices
 * of elements: a loop around everything, in which all updates are gone through. */
#ifndef XLAC_CODEGEN_ONCORE_TILING_TILING_H
#define XLAC_CODEGEN_ONCORE_TILING_TILING_H

#include "codegen/oncore/plan/tile_access.h"
#include "codegen/oncore/tiling/tile_facts.h"
#include "hlo/machine/description/machine_description.h"

/* Windows that move along an outer dim one position at a time: what the next position sees as well stays, so that each
 * element is loaded once.  What one index along both dims is at is a row; the slots of a ring hold one row each, or as
 * many as a position goes on by, which are loaded together. */
typedef struct TileSlide {
  bool is_on;
  int32_t position, tap; /* dims: an outer and an inner one; a tap further is the next row */
  int64_t step;          /* rows from one position to the next, fewer than taps */
  int64_t rows;          /* of a slot: 1 or |step|; the last tap of a position is the last row of its slot */
} TileSlide;

typedef struct Tiling {
  bool splits_stages;
  bool spills_rows;    /* split stages: row buffers live in memory, not in the Buffer */
  bool holds_windows;  /* tiles hold windows once, with all taps; else each tap's elements are there by themselves */
  bool cuts_positions; /* windows whose positions are folded over, as in gradients of weights: those at hand only */
  TileSlide slide;     /* of split stages that hold windows */
  bool in_place;       /* results take the tiles of operands that they are the last to read (tile_stores_in_place) */
  bool over_folds; /* split stages: results take the Tensors of folds that they are made of (tile_stores_over_fold) */
  int32_t depth;   /* slots of the rings */
  int64_t slice;   /* elements in the Buffer of those that are updated at computed places; 0: all of them */
  int64_t extents[KERNEL_MAX_DIMS]; /* per dim of the Kernel, >= 1 */
  int32_t outer_count;              /* tiled outer dims, outermost loop first */
  int32_t outer[KERNEL_MAX_DIMS];
  double cycles, transfers; /* estimates as TilingCost's, once they have been found */
} Tiling;

/* What a tiling comes to. */
typedef struct TilingCost {
  int64_t footprint; /* bytes of the Buffer */
  double cycles;     /* estimate */
  double busiest;    /* of them, those that the busiest queue or memory takes alone, whatever the number of slots */
  double transfers;  /* those of transfers alone */
} TilingCost;

typedef enum TileStepKind {
  STEP_LOAD,    /* a tile from an argument */
  STEP_RELOAD,  /* a tile of a row buffer that was spilled */
  STEP_COMPUTE, /* what a cover computes */
  STEP_STORE,   /* a tile to a result */
  STEP_SPILL    /* a tile of a row buffer to memory */
} TileStepKind;

/* Whether a step of that kind fills a tile from memory. */
bool tile_step_loads(TileStepKind kind);
/* The first queue of |machine| that does such steps; a verified machine has one. */
int32_t tile_step_queue(const MachineDescription *machine, TileStepKind kind);

/* One command of a tiled Kernel, before it has a name and edges. */
typedef struct TileStep {
  TileStepKind kind;
  int32_t cover;       /* of TileOutline.covers */
  int32_t access;      /* among the cover's; COMPUTE: -1 */
  int32_t loop;        /* the innermost loop around it, -1 for none */
  int32_t index_cover; /* LOAD of a gather: the cover that computes its index tile; else -1 */
  int64_t tap, taps;   /* LOAD that slides: those that it brings, of the position at hand or (|is_first|) the first */
  bool is_first;
} TileStep;

typedef struct TileLoop {
  int32_t dim, parent; /* of the Kernel, -1: slices; the loop around it, -1 for none */
  int64_t trip_count;
} TileLoop;

/* A Tensor of the plan. */
typedef struct TileTensor {
  PlanTensorKind kind;
  PrimitiveType type;
  int32_t axis_count;
  int64_t extents[KERNEL_MAX_DIMS]; /* of one slot */
  int32_t slots;
  int32_t depth;      /* RING: iterations whose tiles are there at once: |slots|, but where they slide */
  int32_t least;      /* RING: slots that it has at least, whatever the tiling's depth */
  int64_t rows;       /* of a ring that slides: those that the first position sees, of its first slot; 0: it does not */
  int64_t slot_bytes; /* aligned */
  int32_t loop;       /* in which its slots are filled anew */
  int32_t buffer;     /* of the Kernel, -1: sums and indices */
  int32_t fold;       /* of the Kernel that it sums up for, or -1 */
  bool is_held;       /* its tiles are copies of an array that the Buffer has, and take no room */
} TileTensor;

/* The stages that one computation covers, or an index tile. */
typedef struct TileOutlineCover {
  TileCover cover;
  CoverFacts *facts;
  TileAccesses accesses;
  const TileWindows **windows; /* by access: those that its tile holds once, NULL: none */
  int32_t *tensors;            /* by access */
  int32_t init_loop;           /* of PlanCommand */
  int32_t loop;                /* in which it is computed, -1 for none */
  bool leaves_fold;            /* of split stages: nothing is computed, the fold's Tensor is stored as it is */
} TileOutlineCover;

/* A tiled Kernel as a list of steps in program order: a step stands in its loop, and a loop where its first step is. */
typedef struct TileOutline {
  Arena *arena;
  TileFacts *facts;
  const Kernel *kernel;
  const MachineDescription *machine;
  const Tiling *tiling;
  IndexSpace space; /* DIM n: iteration of loop n */
  PlanRange points[KERNEL_MAX_DIMS];
  PlanRange slice;      /* of buffers that are updated; extent 0: all of them */
  uint64_t window_dims; /* that step along one another in a tile */
  ARRAY(TileLoop) loops;
  ARRAY(TileOutlineCover) covers;
  ARRAY(TileStep) steps;
  ARRAY(TileTensor) tensors;
} TileOutline;

/* The outline of |tiling|, in |arena|. */
void tile_outline_make(Arena *arena, const Kernel *kernel, const MachineDescription *machine, const Tiling *tiling,
                       TileOutline *out_outline);
/* The same of the Kernel of |facts|, which outlive it. */
void tile_outline_make_of(Arena *arena, TileFacts *facts, const Tiling *tiling, TileOutline *out_outline);

/* What a tile with |windows| holds: its points, by dim of the Kernel.  Of one that slides: what load |fills| brings, or
 * (NULL) what the computation at hand sees. */
void tile_window_points(const TileOutline *outline, const TileWindows *windows, const TileStep *fills,
                        PlanRange *out_points);
/* The slot of a tile that slides, among |slots|, for the same. */
IndexExpr tile_slide_slot(const TileOutline *outline, IndexSpace *space, const TileStep *fills, int32_t slots);
/* Its first row in that slot; and whether the tile's |axis| counts rows. */
IndexExpr tile_slide_row(const TileOutline *outline, IndexSpace *space, const TileStep *fills);
bool tile_slide_has_rows(const TileOutline *outline, const TileWindows *windows, int32_t axis);

/* Bytes of the Buffer. */
int64_t tile_outline_footprint(const TileOutline *outline);
/* Footprint and estimate. STATUS_UNSUPPORTED for types the machine does not compute with. */
MUST_USE Status tile_outline_cost(const TileOutline *outline, DiagSink *diag, TilingCost *out_cost);
/* The same of the tilings that are as |outline|'s, but of depth |first|, the next one, and so on: |count| of them.
 * Those with a footprint beyond |most_bytes| have no estimate: infinity. */
MUST_USE Status tile_outline_costs(const TileOutline *outline, int32_t first, int32_t count, int64_t most_bytes,
                                   DiagSink *diag, TilingCost *out_costs);

/* What searches have found of a Kernel's tilings, for others of the same one (tiling_memo.h). */
typedef struct TilingMemo TilingMemo;

/* What a search is of, and what it may use. */
typedef struct TilingScope {
  const Kernel *kernel;
  const MachineDescription *machine;
  int64_t buffer_bytes;
  int32_t depth;    /* slots of rings, >= 1 */
  int32_t effort;   /* 1 to 9: from how many of the grid's points descents start */
  TilingMemo *memo; /* of the Kernel on the machine; NULL: the search has its own */
  bool over_folds;  /* where the best tiling of other forms loads much again, those are tried as well in which results
                       take the place of sums (Tiling.over_folds): they keep it until they have gone out, so that the
                       next sums wait */
  double transfers; /* a cycle of transfers counts as so many more of the estimate: 0 finds the fastest tiling, more one
                       that leaves memory to others */
} TilingScope;

/* Tilings, the best by estimate first. */
enum { TILING_CHOICES = 16 };
typedef struct TilingChoices {
  int32_t count;
  Tiling tilings[TILING_CHOICES];
} TilingChoices;

/* The best tiling of each form found within |scope|: descent from several starts over extents, orders of loops;
 * deterministic.  STATUS_EXHAUSTED ("oncore-too-small") when the smallest tiles do not fit, naming what they need. */
MUST_USE Status tiling_search_forms(Arena *arena, const TilingScope *scope, DiagSink *diag, TilingChoices *out_choices);

/* Whether tiles of |tiling|, which has estimates, load much again: a quarter more than all that operands have. */
bool tiling_loads_again(const Kernel *kernel, const MachineDescription *machine, const Tiling *tiling);

/* Those of products of matrices whose results take the place of their sums alone; none for other Kernels, and where
 * none fits. */
MUST_USE Status tiling_search_over_folds(Arena *arena, const TilingScope *scope, DiagSink *diag,
                                         TilingChoices *out_choices);

/* The best of all forms. */
MUST_USE Status tiling_search(Arena *arena, const TilingScope *scope, DiagSink *diag, Tiling *out_tiling);

/* Tilings that differ from |from|, one that a search found, by a step: one dim in the next larger or smaller tiles, or
 * one dim in larger and another one in smaller ones; a slot more or less, with a step or without; two loops
 * exchanged.  |keeps_depth|: but no other slots.  Those that fit |scope|'s Buffer, the best by estimate; its depth is
 * not looked at. */
MUST_USE Status tiling_neighbours(Arena *arena, const TilingScope *scope, const Tiling *from, bool keeps_depth,
                                  DiagSink *diag, TilingChoices *out_choices);

#endif
