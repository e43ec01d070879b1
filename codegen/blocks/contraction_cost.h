/* What a blocking costs by an estimate, in cycles of a processor as there are many. */
#ifndef XLAC_CODEGEN_BLOCKS_CONTRACTION_COST_H
#define XLAC_CODEGEN_BLOCKS_CONTRACTION_COST_H

#include "codegen/blocks/contraction_internal.h"

#define SHORTEST_ROW 16   /* elements of a packed row of the lhs */
#define STREAMED_DEPTH 16 /* so many rows the hardware sees as streams */
/* Of the first-level cache, in one block of the depth where it is large: a panel of 256 × 32 floats and fourteen rows
 * of it. */
#define LARGE_FIRST_CACHE_BYTES (46 << 10)
#define SECOND_CACHE_BYTES (400 << 10)
#define PAGE_BYTES 4096

/* Cycles of what is done besides multiplying, and what scratch is worth. */
struct ContractionPrices {
  double call;                  /* of a micro-kernel, its loop and its last sums included */
  double sum;                   /* of a vector of sums that is loaded or stored */
  double line_of_second;        /* of a line of the second-level cache that is read in order */
  double line_passing;          /* and of a rhs that goes by one tile after the other */
  double line_in_place;         /* and in rows, as they lie in the rhs */
  double line_across;           /* and in columns, as they lie in the lhs */
  double near_page;             /* of a page of these rows, one of many */
  double line_of_memory;        /* and from further away */
  double line_alone;            /* of a line that the hardware did not ask for ahead, over the rows it is for */
  double line_of_tile;          /* the same where a tile's multiplications hide some of it, as it packs the panel */
  double result_line_of_second; /* of one of sums in the result, loaded and stored */
  double result_line_of_set;    /* where the rows of a tile share a set */
  double result_line_far;       /* which nothing asked for ahead */
  double result_page;           /* of a page of results, one of many, in stores that nothing hides */
  double page;                  /* of a page that was forgotten */
  double copy;                  /* of a vector that is packed, and of each operation on it */
  double run;                   /* of each run of a row that is packed */
  double square;                /* of an element that is packed in squares */
  double short_step;            /* of a vector of a turned tile */
  double masked_step;           /* and where shorter registers than a line have masks */
  double group_far;             /* of an element that is packed in groups, from further away */
  double element;               /* of one that is packed alone */
  /* Parts of the time: what half the scratch may take more, and what less scratch may all in all. */
  double half_scratch, most_spared;
};

typedef struct PackingCost {
  double element;
  int64_t run; /* elements */
} PackingCost;

/* Of packing, which is the same whatever the sizes. */
typedef struct PackingCosts {
  PackingCost lhs, rhs;
  PackingCost lhs_alone; /* of rows that no square of those of a block takes, where it is packed in squares */
  bool rhs_runs_along_depth;
  double row_pages; /* of a row of the rhs; at most 1: from row to row there is a new one */
} PackingCosts;

/* What is the same for all numbers of panels, and but for |sums| of tiles. */
typedef struct PlaceCosts {
  RowsInCache sums;    /* of a block of tiles, where they lie in the result and are added up block by block */
  bool rows_meet;      /* of a tile's sums in the result */
  double edge_share;   /* of the tiles: those that reach beyond the result */
  double row_in_place; /* of a row of a panel that every tile reads where it is */
  double row_pages;    /* of its pages alone */
  double across_bytes; /* of the first-level cache, by a lhs across its grain */
} PlaceCosts;

PackingCosts contraction_packing_costs(const Kernel *kernel, const ContractionBlocking *blocking);
/* But for |sums|, which the caller finds. */
PlaceCosts contraction_place_costs(const ContractionBlocking *blocking);

#define ROWS_OF_TILE 14 /* at most, in panels of two registers of 512 bits */

/* Whether some rows, at most a few tiles, have a large rhs: each panel is read from far away for little. */
bool contraction_has_far_panels(const Kernel *kernel, const ContractionBlocking *blocking);
/* Whole registers are no shorter than a line of a cache. */
bool contraction_registers_are_lines(const ContractionBlocking *blocking);
/* Whether the panels of a few rows are read where they are, each over the whole depth at once, since the last-level
 * cache has them and a step multiplies for as long as its lines take from there.  Rows of the rhs that are read whole,
 * as they come best from memory, would move all sums at every few of them; and where two threads share the columns each
 * core fetches lines of sums ahead that the other one writes. */
bool contraction_reads_panels(const VecTarget *target, const ContractionBlocking *blocking);
/* Whether those of other modules are read in blocks of the depth that are deeper than the streams that the hardware
 * follows, as the lines are asked for: sums, which move once for each block, cost more. */
bool contraction_reads_deep_blocks(const VecTarget *target, const ContractionBlocking *blocking);
/* Those of a processor, for registers of the blocking's lanes. */
const ContractionPrices *contraction_prices(const Kernel *kernel, const VecTarget *target,
                                            const ContractionBlocking *blocking);

/* Of all that one batch entry takes, but for the epilogue, which is the same whatever the sizes.  Something above
 * |most| where that is clear soon. */
double contraction_cost(const ContractionBlocking *blocking, const PackingCosts *packing, const PlaceCosts *place,
                        double most);
/* Sets what |blocking| says of bringing in each of the factors once.  By the usual prices: threads share the caches
 * from which they read, so less of it comes while a thread multiplies. */
void contraction_price_entries(const Kernel *kernel, ContractionBlocking *blocking);

double contraction_rhs_bytes(const ContractionBlocking *blocking);
/* Whether the whole rhs, rows of whole lines, goes by each tile of rows, which stay in the first-level cache meanwhile,
 * from a second-level one that has room for it twice.  Not where it comes from further away each time: nothing would
 * ask for it ahead. */
bool contraction_rhs_passes(const ContractionBlocking *blocking);

#endif
