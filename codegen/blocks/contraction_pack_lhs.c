/* Packing of the lhs, as rows with the depth contiguous, or as strips of an image. */
#include "base/checked_math.h"
#include "codegen/blocks/contraction_pack_internal.h"

#define WIDE_COPY 4 /* registers that are copied at a time */

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

/* The last |merged| dims of the depth at the point as one run, |nest| being around it, into |row|. */
static void copy_merged(ContractionEmitter *emitter, const DepthBlock *block, const PackNest *nest, int merged,
                        LLVMValueRef row) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  const ValueSet *set = &blocking->lhs_set;
  RunCopy copy = {.dim = blocking->depth.dims[blocking->depth.count - 1]};
  int lanes = vec->target->vector_bits / (type_storage_bytes(blocking->type) * 8);
  if (contraction_contiguous(emitter->kernel, set, copy.dim)) lanes *= blocking->group;
  copy.lanes = contraction_lanes(emitter->kernel, vec->target, set, copy.dim, lanes, false);
  copy.masks = contraction_lanes(emitter->kernel, vec->target, set, copy.dim, lanes, true) > 1;
  pack_depth_run(emitter, block, merged, &copy.first, &copy.count);
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
  PackEnds ends = {.count = count};
  for (int i = 0; i < count; i++) {
    int number = blocking->depth.count - count + i;
    bool is_chunk = number == blocking->chunk_dim;
    ends.dims[i] = blocking->depth.dims[number];
    ends.first[i] = is_chunk ? block->chunk_begin : block_int(vec, 0);
    LLVMValueRef size = pack_depth_count(emitter, block, number);
    ends.last[i] = ir_index_add(vec->builder, ir_index_add(vec->builder, ends.first[i], size), block_int(vec, -1));
  }
  return pack_holds_at_ends(emitter, blocking->lhs, &ends);
}

/* The last |inside| dims of the depth, which the lhs walks as one inside the image, and |merged| anywhere. */
static void copy_inside(ContractionEmitter *emitter, const DepthBlock *block, const PackNest *nest, int inside,
                        int merged, LLVMValueRef row) {
  const ContractionBlocking *blocking = emitter->blocking;
  PackBranch branch = pack_branch_begin(emitter, is_depth_inside(emitter, block, inside));
  pack_assume_guard(emitter, blocking->lhs);
  copy_merged(emitter, block, nest, inside, row);
  pack_branch_otherwise(emitter, &branch);
  PackNest inner = {.emitter = emitter, .offset = nest->offset};
  for (int i = blocking->depth.count - inside; i < blocking->depth.count - merged; i++) pack_nest_add(&inner, block, i);
  copy_merged(emitter, block, &inner, merged, row);
  pack_nest_end(&inner);
  pack_branch_end(emitter, &branch);
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
  int merged = pack_merged_depth(emitter, set);
  int inside = contraction_inside_suffix(emitter->kernel, blocking, blocking->depth.count - blocking->chunk_dim,
                                         blocking->vector_lanes);
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
  PackNest nest;
  pack_nest_begin(emitter, block, inside > merged ? inside : merged, &nest);
  if (inside > merged) {
    copy_inside(emitter, block, &nest, inside, merged, target);
  } else {
    copy_merged(emitter, block, &nest, merged, target);
  }
  pack_nest_end(&nest);
  point_loop_end(&emitter->point, &rows);
}

/* The strips of the block's tiles, one after the other. */
static void pack_strips(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef row_begin,
                        LLVMValueRef row_count) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  int count = blocking->strip_dims, merged = pack_merged_depth(emitter, &blocking->lhs_set);
  DepthBlock longer = *block;
  longer.longer_dim = blocking->depth.count - count;
  longer.longer_by = blocking->strip_longer;
  PointLoop tiles = point_loop_begin(&emitter->point, ir_range_below(row_count), blocking->tile_rows);
  block_set_linear(emitter, &blocking->rows, blocking->rows.count, NULL,
                   ir_index_add(vec->builder, row_begin, tiles.index));
  LLVMValueRef number = LLVMBuildUDiv(vec->builder, tiles.index, block_int(vec, blocking->tile_rows), "");
  LLVMValueRef target = block_element(vec, blocking->type, emitter->lhs_pack,
                                      ir_index_multiply(vec->builder, number, blocking->lhs_slot));
  PackNest nest;
  pack_nest_begin(emitter, &longer, count, &nest);
  if (count > merged) {
    copy_inside(emitter, &longer, &nest, count, merged, target);
  } else {
    copy_merged(emitter, &longer, &nest, count, target);
  }
  pack_nest_end(&nest);
  point_loop_end(&emitter->point, &tiles);
}

/* |range| of the block's rows, whole lanes of them, in squares; beyond the depth the padding of the rows is written.
 */
static void pack_row_squares(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef row_begin,
                             IndexRange range) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  if (ir_range_is_empty(range)) return;
  SquareBlock square = {
      .factor = blocking->lhs, .target_stride = blocking->row_stride * blocking->group, .type = blocking->packed_type};
  square.across = blocking->rows.dims[blocking->rows.count - 1];
  square.along = blocking->depth.dims[blocking->depth.count - 1];
  PackNest nest;
  LLVMValueRef first, count;
  pack_nest_begin_run(emitter, block, &blocking->lhs_set, &nest, &first, &count);
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
  pack_nest_end(&nest);
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

/* Zeros after each row. */
static void end_rows(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef row_count, int zeros) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  PointLoop rows = point_loop_begin_guarded(&emitter->point, ir_range_below(row_count), 1);
  LLVMValueRef row = ir_index_multiply(vec->builder, rows.index, blocking->row_stride * blocking->group);
  LLVMValueRef end =
      block_element(vec, blocking->packed_type, emitter->lhs_pack, ir_index_add(vec->builder, row, block->depth));
  vec_store(vec, blocking->packed_type, vec_constant(vec, blocking->packed_type, 0, zeros), end, NULL, zeros);
  point_loop_end(&emitter->point, &rows);
}

/* A pair of bf16 of which the depth has only the first ends with zero, and so does a step of the matrix unit: what was
 * there before need not be numbers, which the rhs's zeros would not take away.  Chunks end within a pair at the end of
 * their dim only (contraction_sizes.c). */
static void end_groups(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef row_count) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  if (blocking->dot != VEC_DOT_BF16) return;
  if (blocking->in_matrix_unit) {
    if (contraction_fills_matrix_steps(emitter->kernel, blocking)) return;
    end_rows(emitter, block, row_count, MATRIX_STEP * blocking->group);
    return;
  }
  int64_t extent = emitter->kernel->dims[blocking->depth.dims[blocking->chunk_dim]].extent;
  if (blocking->inside_chunk * extent % 2 == 0) return;
  LLVMTypeRef flag = LLVMInt1TypeInContext(vec->context);
  LLVMBasicBlockRef after = ir_if_begin(vec->builder, LLVMBuildTrunc(vec->builder, block->depth, flag, ""));
  end_rows(emitter, block, row_count, 1);
  ir_if_end(vec->builder, after);
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
  end_groups(emitter, block, row_count);
  contraction_loops_end(emitter, &loops);
}

/* --- rows that are read where they are --- */

/* The load whose rows the micro-kernel can read as those of the lhs: the lhs itself, or what it is converted from where
 * it is multiplied as it is by the matrix unit; -1: none. */
static int32_t contraction_lhs_load(const Kernel *kernel, const ContractionBlocking *blocking) {
  int32_t load = blocking->lhs;
  if (blocking->group > 1) {
    if (!blocking->in_matrix_unit) return -1;
    load = kernel->values[load].operands[0];
    if (type_storage_bytes(kernel->values[load].type) != type_storage_bytes(blocking->packed_type)) return -1;
  }
  return kernel->values[load].kind == KERNEL_LOAD ? load : -1;
}

int64_t contraction_lhs_stride(const Kernel *kernel, const ContractionBlocking *blocking) {
  int32_t load = contraction_lhs_load(kernel, blocking);
  const DimList *rows = &blocking->rows, *depth = &blocking->depth;
  if (load < 0 || kernel->values[load].predicate >= 0 || rows->count == 0) return 0;
  if (!contraction_contiguous(kernel, &blocking->lhs_set, depth->dims[depth->count - 1])) return 0;
  if (contraction_merged_suffix(kernel, &blocking->lhs_set, rows) < rows->count) return 0;
  int64_t stride = index_dim_coefficient(&kernel->space, kernel->values[load].address, rows->dims[rows->count - 1]);
  return stride % blocking->group == 0 ? max_i64(stride / blocking->group, 0) : 0;
}

LLVMValueRef contraction_lhs_address(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef row) {
  const ContractionBlocking *blocking = emitter->blocking;
  const DimList *depth = &blocking->depth;
  for (int i = blocking->chunk_dim; i < depth->count; i++)
    emitter->point.dims[depth->dims[i]] = i == blocking->chunk_dim ? block->chunk_begin : block_int(emitter->vec, 0);
  block_set_linear(emitter, &blocking->rows, blocking->rows.count, &blocking->lhs_set, row);
  return point_load_pointer(&emitter->point, contraction_lhs_load(emitter->kernel, blocking));
}
