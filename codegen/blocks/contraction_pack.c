/* Packing: the lhs as rows with the depth contiguous, the rhs as rows of one panel. */
#include "codegen/blocks/contraction_internal.h"

#define WIDE_COPY 4 /* registers that are copied at a time */

/* Loops over the dims of the depth inside a block, the last |merged| of them as one, left out here: the caller walks
 * those. */
typedef struct DepthNest {
  ContractionEmitter *emitter;
  int loop_count;
  PointLoop loops[KERNEL_MAX_DIMS];
  LLVMValueRef offset; /* of the current point in the packed depth */
} DepthNest;

static int64_t extent_of(const ContractionEmitter *emitter, int dim) {
  return emitter->kernel->dims[dim].extent;
}

/* How many last dims of the depth, none outside the chunk, |set| walks as one. */
static int merged_depth(const ContractionEmitter *emitter, const ValueSet *set) {
  const DimList *depth = &emitter->blocking->depth;
  int merged = contraction_merged_suffix(emitter->kernel, set, depth),
      limit = depth->count - emitter->blocking->chunk_dim;
  return merged < limit ? merged : limit;
}

/* How many indices of dim |i| of the depth, which is not outside of the chunk, there are in the block. */
static LLVMValueRef depth_count(const ContractionEmitter *emitter, const DepthBlock *block, int i) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef count =
      i == blocking->chunk_dim ? block->chunk_count : block_int(vec, extent_of(emitter, blocking->depth.dims[i]));
  return i == block->longer_dim && block->longer_by > 0
             ? ir_index_add(vec->builder, count, block_int(vec, block->longer_by))
             : count;
}

/* One more loop, over dim |i| of the depth. */
static void depth_nest_add(DepthNest *nest, const DepthBlock *block, int i) {
  ContractionEmitter *emitter = nest->emitter;
  const VecBuilder *vec = emitter->vec;
  const DimList *depth = &emitter->blocking->depth;
  bool is_chunk = i == emitter->blocking->chunk_dim;
  int64_t inside = 1;
  for (int j = i + 1; j < depth->count; j++)
    inside *= extent_of(emitter, depth->dims[j]) + (j == block->longer_dim ? block->longer_by : 0);
  LLVMValueRef count = depth_count(emitter, block, i);
  PointLoop *loop = &nest->loops[nest->loop_count++];
  *loop = point_loop_begin(&emitter->point, ir_range_below(count), 1);
  nest->offset = ir_index_add(vec->builder, nest->offset, ir_index_multiply(vec->builder, loop->index, inside));
  emitter->point.dims[depth->dims[i]] =
      is_chunk ? ir_index_add(vec->builder, block->chunk_begin, loop->index) : loop->index;
}

static void depth_nest_begin(ContractionEmitter *emitter, const DepthBlock *block, int merged, DepthNest *nest) {
  *nest = (DepthNest){.emitter = emitter, .offset = block_int(emitter->vec, 0)};
  for (int i = emitter->blocking->chunk_dim; i < emitter->blocking->depth.count - merged; i++)
    depth_nest_add(nest, block, i);
}

static void depth_nest_end(DepthNest *nest) {
  while (nest->loop_count > 0) point_loop_end(&nest->emitter->point, &nest->loops[--nest->loop_count]);
}

/* The run of the last |merged| dims: its first index in the last of them, and its length. */
static void depth_run(ContractionEmitter *emitter, const DepthBlock *block, int merged, LLVMValueRef *out_first,
                      LLVMValueRef *out_count) {
  const VecBuilder *vec = emitter->vec;
  const DimList *depth = &emitter->blocking->depth;
  int outer = depth->count - merged;
  int64_t inner = 1;
  for (int i = outer; i < depth->count; i++) {
    if (i > outer) inner *= extent_of(emitter, depth->dims[i]);
    emitter->point.dims[depth->dims[i]] = block_int(vec, 0);
  }
  *out_first = block_int(vec, 0);
  *out_count = ir_index_multiply(vec->builder, depth_count(emitter, block, outer), inner);
  if (outer == emitter->blocking->chunk_dim) *out_first = ir_index_multiply(vec->builder, block->chunk_begin, inner);
}

LLVMValueRef contraction_factor_lanes(ContractionEmitter *emitter, int32_t factor, int lanes, LLVMValueRef mask) {
  KernelPoint *point = &emitter->point;
  int64_t height = point->known.count;
  point->lanes = lanes;
  point->mask = mask;
  LLVMValueRef value = point_value_lanes(point, factor);
  point->lanes = 1;
  point->mask = NULL;
  point_forget(point, height);
  return value;
}

/* A vector of the rhs at the point, stored where the packed form has it. */
static void pack_lanes(ContractionEmitter *emitter, int lanes, LLVMValueRef mask, LLVMValueRef target) {
  const ContractionBlocking *blocking = emitter->blocking;
  vec_store(emitter->vec, blocking->rhs_type, contraction_factor_lanes(emitter, blocking->rhs, lanes, mask), target,
            NULL, lanes);
}

/* The bits of lanes of the blocking's type that are to be packed in groups, the packed ones lowest. */
static LLVMValueRef packed_bits(const ContractionEmitter *emitter, LLVMValueRef value, int lanes) {
  const VecBuilder *vec = emitter->vec;
  if (emitter->blocking->dot != VEC_DOT_BF16) return value;
  LLVMTypeRef words = vec_type(vec, TYPE_U32, lanes);
  LLVMValueRef upper = vec_splat(vec, LLVMConstInt(LLVMInt32TypeInContext(vec->context), 16, false), lanes);
  return LLVMBuildLShr(vec->builder, LLVMBuildBitCast(vec->builder, value, words, ""), upper, "");
}

LLVMValueRef contraction_packed_value(const ContractionEmitter *emitter, LLVMValueRef value, bool is_lhs, int lanes) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  if (blocking->group == 1) return value;
  LLVMTypeRef narrow = vec_type(vec, blocking->packed_type, lanes);
  value = LLVMBuildTrunc(vec->builder, packed_bits(emitter, value, lanes), narrow, "");
  if (!is_lhs || !blocking->lhs_shifted) return value;
  return LLVMBuildXor(vec->builder, value, vec_constant(vec, blocking->packed_type, 0x80, lanes), "");
}

/* --- lhs --- */

typedef struct RunCopy {
  int dim, lanes;
  int wide; /* lanes at a time where the run has as many, at least |lanes| */
  bool masks;
  LLVMValueRef first, count, target;
} RunCopy;

static void copy_run_part(ContractionEmitter *emitter, const RunCopy *copy, IndexRange part, int lanes, bool masked) {
  const VecBuilder *vec = emitter->vec;
  PrimitiveType type = emitter->blocking->packed_type;
  if (ir_range_is_empty(part)) return;
  PointLoop loop = point_loop_begin_guarded(&emitter->point, part, lanes);
  emitter->point.dims[copy->dim] = ir_index_add(vec->builder, copy->first, loop.index);
  LLVMValueRef mask = masked ? block_lanes_below(vec, loop.index, copy->count, lanes) : NULL;
  LLVMValueRef value = contraction_factor_lanes(emitter, emitter->blocking->lhs, lanes, mask);
  vec_store(vec, type, contraction_packed_value(emitter, value, true, lanes),
            block_element(vec, type, copy->target, loop.index), NULL, lanes);
  point_loop_end(&emitter->point, &loop);
}

/* Vectors may write beyond the run: the next run has its place there, or nothing. */
static void copy_run(ContractionEmitter *emitter, const RunCopy *copy) {
  IndexRange run = ir_range_below(copy->count), wide, whole, rest;
  if (copy->lanes == 1) {
    copy_run_part(emitter, copy, run, 1, false);
    return;
  }
  if (copy->wide > copy->lanes) {
    ir_range_cut(emitter->vec->builder, run, copy->wide, &wide, &run);
    copy_run_part(emitter, copy, wide, copy->wide, false);
  }
  ir_range_cut(emitter->vec->builder, run, copy->lanes, &whole, &rest);
  copy_run_part(emitter, copy, whole, copy->lanes, false);
  copy_run_part(emitter, copy, rest, copy->masks ? copy->lanes : 1, copy->masks);
}

/* An operation of |set| differs along |dim|. */
static bool computes_along(const Kernel *kernel, const ValueSet *set, int dim) {
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    if (set->has[v] && value->kind == KERNEL_APPLY && (value->dims >> dim & 1) != 0) return true;
  }
  return false;
}

/* Several registers at a time: a round of the loop, with the branch of a guard, then costs less than what it copies. */
static int wide_lanes(const ContractionEmitter *emitter, const RunCopy *copy) {
  const ContractionBlocking *blocking = emitter->blocking;
  if (copy->lanes == 1 || blocking->group > 1 || LLVMIsAConstantInt(copy->count) == NULL) return copy->lanes;
  const Kernel *kernel = emitter->kernel;
  const ValueSet *set = &blocking->lhs_set;
  if (computes_along(kernel, set, copy->dim)) return copy->lanes;
  int64_t count = LLVMConstIntGetSExtValue(copy->count);
  int wide = copy->lanes * WIDE_COPY;
  while (wide > copy->lanes && count % wide != 0) wide /= 2;
  return contraction_lanes(kernel, emitter->vec->target, set, copy->dim, wide, false) > 1 ? wide : copy->lanes;
}

/* --- where a guard is known to hold --- */

/* Code that runs where a condition holds, then code for where it does not.  What the point comes to know in either is
 * forgotten after it. */
typedef struct Branch {
  LLVMBasicBlockRef otherwise, after;
  int64_t height;
} Branch;

static Branch branch_begin(ContractionEmitter *emitter, LLVMValueRef condition) {
  const VecBuilder *vec = emitter->vec;
  LLVMBasicBlockRef holds = LLVMAppendBasicBlockInContext(vec->context, emitter->function, "");
  Branch branch = {.otherwise = LLVMAppendBasicBlockInContext(vec->context, emitter->function, ""),
                   .after = LLVMAppendBasicBlockInContext(vec->context, emitter->function, ""),
                   .height = emitter->point.known.count};
  LLVMBuildCondBr(vec->builder, condition, holds, branch.otherwise);
  LLVMPositionBuilderAtEnd(vec->builder, holds);
  return branch;
}

static void branch_leave(ContractionEmitter *emitter, const Branch *branch, LLVMBasicBlockRef next) {
  emitter->point.assumed = -1;
  point_forget(&emitter->point, branch->height);
  LLVMBuildBr(emitter->vec->builder, branch->after);
  LLVMPositionBuilderAtEnd(emitter->vec->builder, next);
}

static void branch_otherwise(ContractionEmitter *emitter, const Branch *branch) {
  branch_leave(emitter, branch, branch->otherwise);
}

static void branch_end(ContractionEmitter *emitter, const Branch *branch) {
  branch_leave(emitter, branch, branch->after);
}

/* The guard of |factor|, if it has one, holds from here to the end of the branch's part. */
static void assume_guard(ContractionEmitter *emitter, int32_t factor) {
  emitter->point.assumed = emitter->kernel->values[factor].predicate;
}

/* First and last indices of some dims. */
typedef struct DimEnds {
  int count, dims[KERNEL_MAX_DIMS];
  LLVMValueRef first[KERNEL_MAX_DIMS], last[KERNEL_MAX_DIMS];
} DimEnds;

/* Whether the guard of |factor|, which has one, holds where all dims are at their first and where all are at their last
 * index; the point stays at the latter. */
static LLVMValueRef holds_at_ends(ContractionEmitter *emitter, int32_t factor, const DimEnds *ends) {
  int32_t guard = emitter->kernel->values[factor].predicate;
  int64_t height = emitter->point.known.count;
  LLVMValueRef holds[2];
  for (int end = 0; end < 2; end++) {
    for (int i = 0; i < ends->count; i++)
      emitter->point.dims[ends->dims[i]] = end == 0 ? ends->first[i] : ends->last[i];
    holds[end] = point_value(&emitter->point, guard);
    point_forget(&emitter->point, height);
  }
  return LLVMBuildAnd(emitter->vec->builder, holds[0], holds[1], "");
}

/* The same for a factor that is guarded along one dim, or not at all. */
static LLVMValueRef holds_between(ContractionEmitter *emitter, int32_t factor, int dim, LLVMValueRef first,
                                  LLVMValueRef last) {
  if (emitter->kernel->values[factor].predicate < 0)
    return LLVMConstInt(LLVMInt1TypeInContext(emitter->vec->context), 1, false);
  return holds_at_ends(emitter, factor, &(DimEnds){1, {dim}, {first}, {last}});
}

/* The last |merged| dims of the depth at the point as one run, |nest| being around it, into |row|. */
static void copy_merged(ContractionEmitter *emitter, const DepthBlock *block, const DepthNest *nest, int merged,
                        LLVMValueRef row) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  const ValueSet *set = &blocking->lhs_set;
  RunCopy copy = {.dim = blocking->depth.dims[blocking->depth.count - 1]};
  int lanes = vec->target->vector_bits / (type_storage_bytes(blocking->type) * 8);
  if (contraction_contiguous(emitter->kernel, set, copy.dim)) lanes *= blocking->group;
  copy.lanes = contraction_lanes(emitter->kernel, vec->target, set, copy.dim, lanes, false);
  copy.masks = contraction_lanes(emitter->kernel, vec->target, set, copy.dim, lanes, true) > 1;
  depth_run(emitter, block, merged, &copy.first, &copy.count);
  copy.wide = wide_lanes(emitter, &copy);
  copy.target = block_element(vec, blocking->packed_type, row, nest->offset);
  emitter->point.vector_dim = copy.dim;
  contraction_hoist(&emitter->point, set, UINT64_C(1) << copy.dim);
  copy_run(emitter, &copy);
}

/* Whether the guard of the lhs holds at the first and at the last index of the last |count| dims of the depth. */
static LLVMValueRef is_depth_inside(ContractionEmitter *emitter, const DepthBlock *block, int count) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  DimEnds ends = {.count = count};
  for (int i = 0; i < count; i++) {
    int number = blocking->depth.count - count + i;
    bool is_chunk = number == blocking->chunk_dim;
    ends.dims[i] = blocking->depth.dims[number];
    ends.first[i] = is_chunk ? block->chunk_begin : block_int(vec, 0);
    LLVMValueRef size = depth_count(emitter, block, number);
    ends.last[i] = ir_index_add(vec->builder, ir_index_add(vec->builder, ends.first[i], size), block_int(vec, -1));
  }
  return holds_at_ends(emitter, blocking->lhs, &ends);
}

/* The last |inside| dims of the depth, which the lhs walks as one inside the image, and |merged| anywhere. */
static void copy_inside(ContractionEmitter *emitter, const DepthBlock *block, const DepthNest *nest, int inside,
                        int merged, LLVMValueRef row) {
  const ContractionBlocking *blocking = emitter->blocking;
  Branch branch = branch_begin(emitter, is_depth_inside(emitter, block, inside));
  assume_guard(emitter, blocking->lhs);
  copy_merged(emitter, block, nest, inside, row);
  branch_otherwise(emitter, &branch);
  DepthNest inner = {.emitter = emitter, .offset = nest->offset};
  for (int i = blocking->depth.count - inside; i < blocking->depth.count - merged; i++)
    depth_nest_add(&inner, block, i);
  copy_merged(emitter, block, &inner, merged, row);
  depth_nest_end(&inner);
  branch_end(emitter, &branch);
}

/* The block's rows but for those of |packed|, if that is not NULL, one after the other. */
static void pack_rows(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef row_begin,
                      LLVMValueRef row_count, const IndexRange *packed) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  const ValueSet *set = &blocking->lhs_set;
  LLVMValueRef skipped = packed != NULL ? LLVMBuildSub(vec->builder, packed->end, packed->begin, "") : NULL;
  if (packed != NULL) row_count = LLVMBuildSub(vec->builder, row_count, skipped, "");
  IndexRange range = ir_range_below(row_count);
  if (ir_range_is_empty(range)) return;
  int merged = merged_depth(emitter, set);
  int inside = contraction_inside_suffix(emitter->kernel, blocking, blocking->depth.count - blocking->chunk_dim);
  PointLoop rows = point_loop_begin_guarded(&emitter->point, range, 1);
  LLVMValueRef in_block = rows.index;
  if (packed != NULL) {
    LLVMValueRef is_before = LLVMBuildICmp(vec->builder, LLVMIntSLT, in_block, packed->begin, "");
    LLVMValueRef later = ir_index_add(vec->builder, in_block, skipped);
    in_block = LLVMBuildSelect(vec->builder, is_before, in_block, later, "");
  }
  LLVMValueRef row = ir_index_minimum(vec->builder, ir_index_add(vec->builder, row_begin, in_block),
                                      block_int(vec, blocking->rows.size - 1));
  block_set_linear(emitter, &blocking->rows, blocking->rows.count, set, row);
  LLVMValueRef target =
      block_element(vec, blocking->packed_type, emitter->lhs_pack,
                    ir_index_multiply(vec->builder, in_block, blocking->row_stride * blocking->group));
  DepthNest nest;
  depth_nest_begin(emitter, block, inside > merged ? inside : merged, &nest);
  if (inside > merged) {
    copy_inside(emitter, block, &nest, inside, merged, target);
  } else {
    copy_merged(emitter, block, &nest, merged, target);
  }
  depth_nest_end(&nest);
  point_loop_end(&emitter->point, &rows);
}

/* The strips of the block's tiles, one after the other. */
static void pack_strips(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef row_begin,
                        LLVMValueRef row_count) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  int count = blocking->strip_dims, merged = merged_depth(emitter, &blocking->lhs_set);
  DepthBlock longer = *block;
  longer.longer_dim = blocking->depth.count - count;
  longer.longer_by = blocking->strip_longer;
  PointLoop tiles = point_loop_begin(&emitter->point, ir_range_below(row_count), blocking->tile_rows);
  block_set_linear(emitter, &blocking->rows, blocking->rows.count, NULL,
                   ir_index_add(vec->builder, row_begin, tiles.index));
  LLVMValueRef number = LLVMBuildUDiv(vec->builder, tiles.index, block_int(vec, blocking->tile_rows), "");
  LLVMValueRef target = block_element(vec, blocking->type, emitter->lhs_pack,
                                      ir_index_multiply(vec->builder, number, blocking->lhs_slot));
  DepthNest nest;
  depth_nest_begin(emitter, &longer, count, &nest);
  if (count > merged) {
    copy_inside(emitter, &longer, &nest, count, merged, target);
  } else {
    copy_merged(emitter, &longer, &nest, count, target);
  }
  depth_nest_end(&nest);
  point_loop_end(&emitter->point, &tiles);
}

/* |range| of the block's rows, whole lanes of them, in squares; beyond the depth the padding of the rows is written.
 */
static void pack_row_squares(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef row_begin,
                             IndexRange range) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  if (ir_range_is_empty(range)) return;
  int merged = merged_depth(emitter, &blocking->lhs_set);
  SquareBlock square = {
      .factor = blocking->lhs, .target_stride = blocking->row_stride * blocking->group, .type = blocking->packed_type};
  square.across = blocking->rows.dims[blocking->rows.count - 1];
  square.along = blocking->depth.dims[blocking->depth.count - 1];
  DepthNest nest;
  depth_nest_begin(emitter, block, merged, &nest);
  LLVMValueRef first, count;
  depth_run(emitter, block, merged, &first, &count);
  square.along_last = ir_index_add(vec->builder, ir_index_add(vec->builder, first, count), block_int(vec, -1));
  emitter->point.vector_dim = square.across;
  PointLoop rows = point_loop_begin_guarded(&emitter->point, range, blocking->lanes);
  block_set_linear(emitter, &blocking->rows, blocking->rows.count, &blocking->lhs_set,
                   ir_index_add(vec->builder, row_begin, rows.index));
  square.across_begin = emitter->point.dims[square.across];
  LLVMValueRef row = ir_index_multiply(vec->builder, rows.index, square.target_stride);
  LLVMValueRef target =
      block_element(vec, blocking->packed_type, emitter->lhs_pack, ir_index_add(vec->builder, row, nest.offset));
  contraction_pack_squares(emitter, &square, first, count, target);
  point_loop_end(&emitter->point, &rows);
  depth_nest_end(&nest);
}

/* The rows of the block that are packed in squares: whole ones, which do not lie across two parts. */
static IndexRange square_rows(const ContractionEmitter *emitter, LLVMValueRef row_begin, LLVMValueRef row_count) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef left = LLVMBuildSub(vec->builder, block_int(vec, blocking->rows.size), row_begin, "");
  LLVMValueRef present = ir_index_minimum(vec->builder, row_count, left), begin = block_int(vec, 0);
  if (blocking->lhs_in_parts) {
    LLVMValueRef before =
        LLVMBuildAnd(vec->builder, LLVMBuildNeg(vec->builder, row_begin, ""), block_int(vec, blocking->lanes - 1), "");
    begin = ir_index_minimum(vec->builder, before, present);
  }
  LLVMValueRef count = LLVMBuildAnd(vec->builder, LLVMBuildSub(vec->builder, present, begin, ""),
                                    block_int(vec, -(int64_t)blocking->lanes), "");
  return (IndexRange){begin, ir_index_add(vec->builder, begin, count)};
}

void contraction_pack_lhs(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef row_begin,
                          LLVMValueRef row_count) {
  ElementLoops loops = contraction_loops_begin(emitter);
  if (emitter->blocking->strip_dims > 0) {
    pack_strips(emitter, block, row_begin, row_count);
  } else if (emitter->blocking->lhs_transposes) {
    IndexRange squares = square_rows(emitter, row_begin, row_count);
    pack_row_squares(emitter, block, row_begin, squares);
    pack_rows(emitter, block, row_begin, row_count, &squares);
  } else {
    pack_rows(emitter, block, row_begin, row_count, NULL);
  }
  contraction_loops_end(emitter, &loops);
}

/* --- rhs --- */

/* One row of the panel in lanes of |lanes|; |end|: of the run of columns, NULL when the panel lies inside it. */
static void pack_panel_row(ContractionEmitter *emitter, LLVMValueRef column, LLVMValueRef target, LLVMValueRef end,
                           int lanes) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  int dim = blocking->columns.dims[blocking->columns.count - 1];
  if (lanes == 1) {
    LLVMValueRef width = block_int(vec, blocking->panel_width);
    if (end != NULL) width = ir_index_minimum(vec->builder, width, LLVMBuildSub(vec->builder, end, column, ""));
    PointLoop loop = point_loop_begin(&emitter->point, ir_range_below(width), 1);
    emitter->point.dims[dim] = ir_index_add(vec->builder, column, loop.index);
    pack_lanes(emitter, 1, NULL, block_element(vec, blocking->rhs_type, target, loop.index));
    point_loop_end(&emitter->point, &loop);
    return;
  }
  for (int j = 0; j < blocking->panel_vectors; j++) {
    LLVMValueRef shift = block_int(vec, (int64_t)j * lanes), at = ir_index_add(vec->builder, column, shift);
    emitter->point.dims[dim] = at;
    LLVMValueRef mask = end == NULL ? NULL : block_lanes_below(vec, at, end, lanes);
    pack_lanes(emitter, lanes, mask, block_element(vec, blocking->rhs_type, target, shift));
  }
}

typedef struct Panel {
  LLVMValueRef column, end; /* |end|: of the run of columns; NULL: the panel lies inside it */
  int lanes;
  int inside_lanes; /* where no column is guarded; 0: not more than |lanes| */
} Panel;

/* How many lanes the rhs is packed in where its guard, if it has one, is known to hold and nothing is masked; 0 where
 * that is no more than |lanes|, which are one where lanes differ in what they may load and masks do not help. */
static int inside_lanes(const ContractionEmitter *emitter, int dim, int lanes) {
  const ContractionBlocking *blocking = emitter->blocking;
  const Kernel *kernel = emitter->kernel;
  const KernelValue *rhs = &kernel->values[blocking->rhs];
  if (lanes > 1 || blocking->group > 1 || rhs->kind != KERNEL_LOAD) return 0;
  if (rhs->predicate >= 0 && !contraction_is_guarded_by_ranges(kernel, blocking->rhs, dim)) return 0;
  int64_t stride;
  if (!kernel_plain_stride(kernel, rhs->address, dim, &stride)) return 0;
  return vec_stride_is_small(stride) ? blocking->lanes : 0;
}

/* Whether the panel ends before the run does, and the guard of the rhs holds at its first and last column. */
static LLVMValueRef is_panel_inside(ContractionEmitter *emitter, const Panel *panel) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef last = ir_index_add(vec->builder, panel->column, block_int(vec, blocking->panel_width - 1));
  LLVMValueRef inside = holds_between(emitter, blocking->rhs, emitter->point.vector_dim, panel->column, last);
  if (panel->end == NULL) return inside;
  return LLVMBuildAnd(vec->builder, inside, LLVMBuildICmp(vec->builder, LLVMIntSLT, last, panel->end, ""), "");
}

/* A row of the panel where the point stands: at once where no column is guarded. */
static void pack_any_panel_row(ContractionEmitter *emitter, const Panel *panel, LLVMValueRef target) {
  if (panel->inside_lanes == 0) {
    pack_panel_row(emitter, panel->column, target, panel->end, panel->lanes);
    return;
  }
  Branch branch = branch_begin(emitter, is_panel_inside(emitter, panel));
  assume_guard(emitter, emitter->blocking->rhs);
  pack_panel_row(emitter, panel->column, target, NULL, panel->inside_lanes);
  branch_otherwise(emitter, &branch);
  pack_panel_row(emitter, panel->column, target, panel->end, panel->lanes);
  branch_end(emitter, &branch);
}

/* |depth| of a run, row by row. */
static void pack_panel_rows(ContractionEmitter *emitter, const Panel *panel, LLVMValueRef first, IndexRange depth,
                            LLVMValueRef offset) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  if (ir_range_is_empty(depth)) return;
  PointLoop loop = point_loop_begin_guarded(&emitter->point, depth, 1);
  emitter->point.dims[blocking->depth.dims[blocking->depth.count - 1]] = ir_index_add(vec->builder, first, loop.index);
  contraction_hoist(&emitter->point, &blocking->rhs_set, UINT64_C(1) << emitter->point.vector_dim);
  LLVMValueRef row =
      ir_index_multiply(vec->builder, ir_index_add(vec->builder, offset, loop.index), blocking->packed_stride);
  pack_any_panel_row(emitter, panel, block_element(vec, blocking->rhs_type, emitter->rhs_pack, row));
  point_loop_end(&emitter->point, &loop);
}

/* The groups of the depth from |begin| on, a multiple of their size, at the panel's column in lanes; zeros beyond
 * |end|.
 */
static LLVMValueRef group_lanes(ContractionEmitter *emitter, LLVMValueRef first, LLVMValueRef begin, LLVMValueRef end,
                                int lanes, LLVMValueRef mask) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  int bits = type_storage_bytes(blocking->packed_type) * 8, dim = blocking->depth.dims[blocking->depth.count - 1];
  LLVMTypeRef narrow = LLVMInt32TypeInContext(vec->context);
  LLVMValueRef field = LLVMConstInt(narrow, (UINT64_C(1) << bits) - 1, false), group = NULL;
  for (int i = 0; i < blocking->group; i++) {
    LLVMValueRef index = ir_index_add(vec->builder, begin, block_int(vec, i));
    LLVMValueRef is_inside = LLVMBuildICmp(vec->builder, LLVMIntSLT, index, end, "");
    index = LLVMBuildSelect(vec->builder, is_inside, index, begin, "");
    emitter->point.dims[dim] = ir_index_add(vec->builder, first, index);
    LLVMValueRef value = packed_bits(emitter, contraction_factor_lanes(emitter, blocking->rhs, lanes, mask), lanes);
    LLVMValueRef kept = LLVMBuildSelect(vec->builder, is_inside, field, LLVMConstNull(narrow), "");
    value = LLVMBuildAnd(vec->builder, value, vec_splat(vec, kept, lanes), "");
    LLVMValueRef shift = vec_splat(vec, LLVMConstInt(narrow, (unsigned long long)(i * bits), false), lanes);
    value = LLVMBuildShl(vec->builder, value, shift, "");
    group = group == NULL ? value : LLVMBuildOr(vec->builder, group, value, "");
  }
  return LLVMBuildBitCast(vec->builder, group, vec_type(vec, blocking->type, lanes), "");
}

/* |range| of a run's depth in groups, beginning at a multiple of their size. */
static void pack_panel_groups(ContractionEmitter *emitter, const Panel *panel, LLVMValueRef first, IndexRange range) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  if (ir_range_is_empty(range)) return;
  int dim = blocking->columns.dims[blocking->columns.count - 1];
  PointLoop depth = point_loop_begin_guarded(&emitter->point, range, blocking->group);
  LLVMValueRef number = LLVMBuildUDiv(vec->builder, depth.index, block_int(vec, blocking->group), "");
  LLVMValueRef row = ir_index_multiply(vec->builder, number, blocking->packed_stride),
               width = block_int(vec, blocking->panel_width);
  if (panel->end != NULL && panel->lanes == 1)
    width = ir_index_minimum(vec->builder, width, LLVMBuildSub(vec->builder, panel->end, panel->column, ""));
  PointLoop columns = point_loop_begin(&emitter->point, ir_range_below(width), panel->lanes);
  LLVMValueRef at = ir_index_add(vec->builder, panel->column, columns.index), mask = NULL;
  if (panel->end != NULL && panel->lanes > 1) mask = block_lanes_below(vec, at, panel->end, panel->lanes);
  emitter->point.dims[dim] = at;
  LLVMValueRef group = group_lanes(emitter, first, depth.index, range.end, panel->lanes, mask);
  vec_store(vec, blocking->type, group,
            block_element(vec, blocking->type, emitter->rhs_pack, ir_index_add(vec->builder, row, columns.index)), NULL,
            panel->lanes);
  point_loop_end(&emitter->point, &columns);
  point_loop_end(&emitter->point, &depth);
}

/* Index |step| of a run of the depth that begins with |first| at |offset| of the panel's rows, and at |vector| of its
 * columns. */
static void place_panel_square(const ContractionEmitter *emitter, SquareBlock *square, LLVMValueRef first,
                               LLVMValueRef step, LLVMValueRef offset, LLVMValueRef vector) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  square->across_begin = ir_index_add(vec->builder, first, step);
  LLVMValueRef number = ir_index_add(vec->builder, offset, step);
  if (blocking->group > 1) number = LLVMBuildUDiv(vec->builder, number, block_int(vec, blocking->group), "");
  LLVMValueRef at = ir_index_multiply(vec->builder, number, blocking->packed_stride);
  square->target = block_element(vec, blocking->type, emitter->rhs_pack, ir_index_add(vec->builder, at, vector));
}

/* |depth| of a run, whole squares' lanes of it, in squares; columns beyond the run repeat its last. */
static void pack_panel_squares(ContractionEmitter *emitter, const Panel *panel, LLVMValueRef first, IndexRange depth,
                               LLVMValueRef offset) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  if (ir_range_is_empty(depth)) return;
  SquareBlock square = {.factor = blocking->rhs, .target_stride = blocking->packed_stride, .type = blocking->type};
  square.across = blocking->depth.dims[blocking->depth.count - 1];
  square.along = blocking->columns.dims[blocking->columns.count - 1];
  if (panel->end != NULL) square.along_last = ir_index_add(vec->builder, panel->end, block_int(vec, -1));
  emitter->point.vector_dim = square.across;
  PointLoop vectors =
      point_loop_begin(&emitter->point, ir_range_below(block_int(vec, blocking->panel_width)), blocking->lanes);
  square.along_begin = ir_index_add(vec->builder, panel->column, vectors.index);
  int64_t row = contraction_square_row(emitter, square.factor, square.along);
  if (row > 0) {
    LLVMValueRef size = LLVMBuildSub(vec->builder, depth.end, depth.begin, "");
    place_panel_square(emitter, &square, first, depth.begin, offset, vectors.index);
    contraction_move_squares(emitter, &square, row, blocking->lanes * blocking->packed_stride,
                             LLVMBuildUDiv(vec->builder, size, block_int(vec, blocking->lanes), ""));
  } else {
    PointLoop steps = point_loop_begin_guarded(&emitter->point, depth, blocking->lanes * blocking->group);
    place_panel_square(emitter, &square, first, steps.index, offset, vectors.index);
    contraction_pack_square(emitter, &square);
    point_loop_end(&emitter->point, &steps);
  }
  point_loop_end(&emitter->point, &vectors);
  emitter->point.vector_dim = square.along;
}

static void pack_panel(ContractionEmitter *emitter, const DepthBlock *block, const Panel *panel) {
  const ContractionBlocking *blocking = emitter->blocking;
  int merged = merged_depth(emitter, &blocking->rhs_set);
  DepthNest nest;
  depth_nest_begin(emitter, block, merged, &nest);
  LLVMValueRef first, count;
  depth_run(emitter, block, merged, &first, &count);
  IndexRange run = ir_range_below(count), whole, rest = run;
  emitter->point.vector_dim = blocking->columns.dims[blocking->columns.count - 1];
  if (blocking->rhs_transposes) {
    ir_range_cut(emitter->vec->builder, run, blocking->lanes * blocking->group, &whole, &rest);
    pack_panel_squares(emitter, panel, first, whole, nest.offset);
  }
  if (blocking->group == 1) {
    pack_panel_rows(emitter, panel, first, rest, nest.offset);
  } else {
    pack_panel_groups(emitter, panel, first, rest);
  }
  depth_nest_end(&nest);
}

/* Columns [begin, begin + count) of a segment, rows of the panel from |target| on. */
typedef struct Segment {
  LLVMValueRef begin, count, target;
  int lanes;       /* masked */
  int whole_lanes; /* without masks, where the guard of the rhs is known to hold; 0: not more than |lanes| */
} Segment;

static void pack_segment_part(ContractionEmitter *emitter, const Segment *segment, LLVMValueRef target, IndexRange part,
                              int lanes) {
  const VecBuilder *vec = emitter->vec;
  PointLoop loop = point_loop_begin_guarded(&emitter->point, part, lanes);
  emitter->point.dims[emitter->point.vector_dim] = ir_index_add(vec->builder, segment->begin, loop.index);
  pack_lanes(emitter, lanes, NULL, block_element(vec, emitter->blocking->type, target, loop.index));
  point_loop_end(&emitter->point, &loop);
}

/* One row's part, whole vectors of it and the rest element by element; all of it where a guard may not hold. */
static void pack_whole_segment_row(ContractionEmitter *emitter, const Segment *segment, LLVMValueRef target) {
  const VecBuilder *vec = emitter->vec;
  int dim = emitter->point.vector_dim;
  LLVMValueRef end = ir_index_add(vec->builder, segment->begin, segment->count);
  LLVMValueRef last = ir_index_add(vec->builder, end, block_int(vec, -1));
  LLVMValueRef inside = holds_between(emitter, emitter->blocking->rhs, dim, segment->begin, last);
  LLVMValueRef some = LLVMBuildAnd(vec->builder, segment->count, block_int(vec, -(int64_t)segment->whole_lanes), "");
  LLVMValueRef whole = LLVMBuildSelect(vec->builder, inside, some, block_int(vec, 0), "");
  int64_t height = emitter->point.known.count;
  assume_guard(emitter, emitter->blocking->rhs);
  pack_segment_part(emitter, segment, target, ir_range_below(whole), segment->whole_lanes);
  emitter->point.assumed = -1;
  point_forget(&emitter->point, height);
  pack_segment_part(emitter, segment, target, (IndexRange){whole, segment->count}, 1);
}

/* One row's part; vectors may write beyond it: the next segment has its place there, or nothing. */
static void pack_segment_row(ContractionEmitter *emitter, const Segment *segment, LLVMValueRef row) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef target = block_element(vec, blocking->type, segment->target, row);
  if (segment->whole_lanes > 0) {
    pack_whole_segment_row(emitter, segment, target);
    return;
  }
  bool is_one = segment->lanes >= blocking->segment;
  PointLoop loop =
      point_loop_begin(&emitter->point, ir_range_below(is_one ? block_int(vec, 1) : segment->count), segment->lanes);
  emitter->point.dims[emitter->point.vector_dim] = ir_index_add(vec->builder, segment->begin, loop.index);
  LLVMValueRef mask = segment->lanes > 1 ? block_lanes_below(vec, loop.index, segment->count, segment->lanes) : NULL;
  pack_lanes(emitter, segment->lanes, mask, block_element(vec, blocking->type, target, loop.index));
  point_loop_end(&emitter->point, &loop);
}

static void pack_segment(ContractionEmitter *emitter, const DepthBlock *block, const Segment *segment) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  int merged = merged_depth(emitter, &blocking->rhs_set);
  DepthNest nest;
  depth_nest_begin(emitter, block, merged, &nest);
  LLVMValueRef first, count;
  depth_run(emitter, block, merged, &first, &count);
  PointLoop rows = point_loop_begin(&emitter->point, ir_range_below(count), 1);
  emitter->point.dims[blocking->depth.dims[blocking->depth.count - 1]] = ir_index_add(vec->builder, first, rows.index);
  contraction_hoist(&emitter->point, &blocking->rhs_set, UINT64_C(1) << emitter->point.vector_dim);
  pack_segment_row(
      emitter, segment,
      ir_index_multiply(vec->builder, ir_index_add(vec->builder, nest.offset, rows.index), blocking->packed_stride));
  point_loop_end(&emitter->point, &rows);
  depth_nest_end(&nest);
}

static int segment_lanes(const ContractionEmitter *emitter, int dim) {
  const VecTarget *target = emitter->vec->target;
  int lanes = target->vector_bits / (type_storage_bytes(emitter->blocking->type) * 8);
  while (lanes > 2 && lanes / 2 >= emitter->blocking->segment) lanes /= 2;
  return contraction_lanes(emitter->kernel, target, &emitter->blocking->rhs_set, dim, lanes, true);
}

/* The panel's columns lie in several segments. */
static void pack_segments(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef column) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  int first_dim = blocking->columns.count - blocking->column_suffix,
      dim = blocking->columns.dims[blocking->columns.count - 1];
  DimList between = {.count = blocking->column_suffix - blocking->segment_suffix};
  for (int i = 0; i < between.count; i++) between.dims[i] = blocking->columns.dims[first_dim + i];
  LLVMValueRef size = block_int(vec, blocking->segment);
  LLVMValueRef end =
      ir_index_minimum(vec->builder, ir_index_add(vec->builder, column, block_int(vec, blocking->panel_width)),
                       block_int(vec, blocking->column_run));
  LLVMValueRef begin = LLVMBuildUDiv(vec->builder, column, size, "");
  LLVMValueRef last = LLVMBuildUDiv(vec->builder, ir_index_add(vec->builder, end, block_int(vec, -1)), size, "");
  emitter->point.vector_dim = dim;
  PointLoop loop =
      point_loop_begin(&emitter->point, (IndexRange){begin, ir_index_add(vec->builder, last, block_int(vec, 1))}, 1);
  block_set_linear(emitter, &between, between.count, NULL, loop.index);
  LLVMValueRef start = ir_index_multiply(vec->builder, loop.index, blocking->segment),
               is_first = LLVMBuildICmp(vec->builder, LLVMIntEQ, loop.index, begin, "");
  LLVMValueRef from = LLVMBuildSelect(vec->builder, is_first, column, start, "");
  LLVMValueRef to = ir_index_minimum(vec->builder, end, ir_index_add(vec->builder, start, size));
  Segment segment = {.begin = LLVMBuildSub(vec->builder, from, start, ""),
                     .count = LLVMBuildSub(vec->builder, to, from, "")};
  segment.target = block_element(vec, blocking->type, emitter->rhs_pack, LLVMBuildSub(vec->builder, from, column, ""));
  segment.lanes = segment_lanes(emitter, dim);
  segment.whole_lanes = inside_lanes(emitter, dim, segment.lanes);
  pack_segment(emitter, block, &segment);
  point_loop_end(&emitter->point, &loop);
  for (int i = 0; i < between.count; i++) emitter->point.dims[between.dims[i]] = block_int(vec, 0);
}

/* 128 × the sum of each column of the packed panel, in a row behind it. */
static void pack_excess(ContractionEmitter *emitter, const DepthBlock *block) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef shift = vec_constant(vec, blocking->type, UINT64_C(0x80808080), blocking->lanes);
  LLVMValueRef sums[MOST_PANEL_VECTORS], *carried[MOST_PANEL_VECTORS];
  for (int j = 0; j < blocking->panel_vectors; j++) {
    sums[j] = vec_constant(vec, blocking->type, 0, blocking->lanes);
    carried[j] = &sums[j];
  }
  LLVMValueRef groups = contraction_group_count(vec, blocking, block->depth);
  IrLoop rows = ir_loop_count(vec->builder, ir_range_below(groups), 1, carried, blocking->panel_vectors);
  for (int j = 0; j < blocking->panel_vectors; j++) {
    LLVMValueRef at = ir_index_add(vec->builder, ir_index_multiply(vec->builder, rows.index, blocking->packed_stride),
                                   block_int(vec, (int64_t)j * blocking->lanes));
    LLVMValueRef pointer = block_element(vec, blocking->type, emitter->rhs_pack, at);
    LLVMValueRef columns = vec_load(vec, blocking->type, pointer, NULL, blocking->lanes);
    sums[j] = vec_dot_add(vec, blocking->dot, shift, columns, sums[j], blocking->lanes);
  }
  ir_loop_end(&rows);
  LLVMValueRef behind = ir_index_multiply(vec->builder, groups, blocking->packed_stride);
  for (int j = 0; j < blocking->panel_vectors; j++) {
    LLVMValueRef at = ir_index_add(vec->builder, behind, block_int(vec, (int64_t)j * blocking->lanes));
    vec_store(vec, blocking->type, sums[j], block_element(vec, blocking->type, emitter->rhs_pack, at), NULL,
              blocking->lanes);
  }
}

static void pack_panels(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef column) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  if (blocking->segment < blocking->column_run) {
    pack_segments(emitter, block, column);
    return;
  }
  int dim = blocking->columns.dims[blocking->columns.count - 1];
  Panel whole = {.column = column}, tail = {.column = column, .end = block_int(vec, blocking->column_run)};
  whole.lanes = contraction_lanes(emitter->kernel, vec->target, &blocking->rhs_set, dim, blocking->lanes, false);
  tail.lanes = contraction_lanes(emitter->kernel, vec->target, &blocking->rhs_set, dim, blocking->lanes, true);
  if (contraction_is_guarded_by_ranges(emitter->kernel, blocking->rhs, dim))
    whole.inside_lanes = tail.inside_lanes = inside_lanes(emitter, dim, whole.lanes);
  bool has_tail = blocking->column_run % blocking->panel_width != 0;
  if (!has_tail || tail.lanes == whole.lanes || blocking->panel_width > blocking->column_run) {
    pack_panel(emitter, block, has_tail ? &tail : &whole);
    return;
  }
  LLVMValueRef last = block_int(vec, blocking->column_run - blocking->panel_width);
  Branch branch = branch_begin(emitter, LLVMBuildICmp(vec->builder, LLVMIntSLE, column, last, ""));
  pack_panel(emitter, block, &whole);
  branch_otherwise(emitter, &branch);
  pack_panel(emitter, block, &tail);
  branch_end(emitter, &branch);
}

void contraction_pack_rhs(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef column) {
  ElementLoops loops = contraction_loops_begin(emitter);
  pack_panels(emitter, block, column);
  if (emitter->blocking->lhs_shifted) pack_excess(emitter, block);
  contraction_loops_end(emitter, &loops);
}

LLVMValueRef contraction_rhs_address(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef column) {
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef first, count;
  depth_run(emitter, block, blocking->depth.count - blocking->chunk_dim, &first, &count);
  emitter->point.dims[blocking->depth.dims[blocking->depth.count - 1]] = first;
  emitter->point.dims[blocking->columns.dims[blocking->columns.count - 1]] = column;
  return point_load_pointer(&emitter->point, blocking->rhs);
}

LLVMValueRef contraction_lhs_address(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef row) {
  const ContractionBlocking *blocking = emitter->blocking;
  const DimList *depth = &blocking->depth;
  for (int i = blocking->chunk_dim; i < depth->count; i++)
    emitter->point.dims[depth->dims[i]] = i == blocking->chunk_dim ? block->chunk_begin : block_int(emitter->vec, 0);
  block_set_linear(emitter, &blocking->rows, blocking->rows.count, &blocking->lhs_set, row);
  return point_load_pointer(&emitter->point, blocking->lhs);
}
