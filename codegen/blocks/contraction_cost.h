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

/* Of all that one batch entry takes, but for the epilogue, which is the same whatever the sizes.  Something above
 * |most| where that is clear soon. */
double contraction_cost(const ContractionBlocking *blocking, const PackingCosts *packing, const PlaceCosts *place,
                        double most);
/* Sets what |blocking| says of bringing in each of the factors once. */
void contraction_price_entries(const PackingCosts *packing, ContractionBlocking *blocking);

double contraction_rhs_bytes(const ContractionBlocking *blocking);
/* Whether the whole rhs, rows of whole lines, goes by each tile of rows, which stay in the first-level cache meanwhile,
 * from a second-level one that has room for it twice.  Not where it comes from further away each time: nothing would
 * ask for it ahead. */
bool contraction_rhs_passes(const ContractionBlocking *blocking);

#endif
