/* What the files of minimal filtering share. */
#ifndef XLAC_CODEGEN_BLOCKS_WINOGRAD_INTERNAL_H
#define XLAC_CODEGEN_BLOCKS_WINOGRAD_INTERNAL_H

#include "codegen/blocks/contraction_internal.h"
#include "codegen/blocks/winograd.h"

/* Positions of a tile along each dim, taps of the window, positions of the image that a tile depends on, products. */
enum { WINOGRAD_TILE = 4, WINOGRAD_TAPS = 3, WINOGRAD_PATCH = 6, WINOGRAD_PRODUCTS = 36 };

/* Arrays in the scratch, all f32, from row to row and from product to product in elements:
 *   weights  [36][panel][feature][column of the panel], of the filters at work
 *   input    [36][tile][feature], of the tiles at work
 *   sums     [36][tile][filter], of both
 *   patch    [6][6][feature], of a tile that the image ends in
 *   results  [4][4][filter], of a tile */
struct WinogradBlocking {
  /* Roles of dims, and the micro-kernel: rows are tiles, the depth are features, columns filters. */
  ContractionBlocking products;
  /* What follows on finished sums: a panel is all filters at work. */
  ContractionBlocking finish;
  DimList images;                    /* the rows' dims outside of positions */
  int place_dims[2], window_dims[2]; /* of rows and columns of the image: positions of the result, taps */
  int feature_dim, filter_dim;
  int64_t sizes[2], tiles[2]; /* of the result: positions, tiles of them */
  int64_t tile_count;         /* in all images */
  int64_t features, filters;
  int feature_lanes, filter_lanes;
  int64_t filters_at_once, filter_blocks;
  int64_t group_count, groups_at_once;             /* groups are of products.tile_rows tiles, the last may have fewer */
  bool reads_in_place;                             /* a tile in the midst of the image is read where it is */
  int64_t image_steps[2];                          /* from row to row of the image, and from column to column */
  int64_t weight_stride, input_stride, sum_stride; /* from product to product */
  int64_t own_offset;                              /* in the scratch, the first chunk's; before it are the weights */
  int64_t sum_offset, patch_offset, result_offset, kept_offset, own_bytes; /* of a chunk */
  double cost, plain_cost; /* cycles, estimated, without what follows on sums */
};

/* --- transforms (winograd_transform.c) --- */

/* Each of lanes of f32, of so many rows and columns, row-major in |values|. */
void winograd_transform_input(const VecBuilder *vec, int lanes, LLVMValueRef *values);   /* 6x6: Bᵀ d B */
void winograd_transform_weights(const VecBuilder *vec, int lanes, LLVMValueRef *values); /* 3x3 to 6x6: G w Gᵀ */
void winograd_transform_sums(const VecBuilder *vec, int lanes, LLVMValueRef *values);    /* 6x6 to 4x4: Aᵀ m A */

#endif
