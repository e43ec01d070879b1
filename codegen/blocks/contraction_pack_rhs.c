/* Packing of the rhs, as rows of one panel. */
#include "base/checked_math.h"
#include "codegen/blocks/contraction_pack_internal.h"

#define MOST_INTERLEAVED 256 /* elements: a row of the widest panel in groups of bytes */
#define ROWS_PACKED 16       /* of all panels before those that follow: groups of any size, few enough to stay close */

/* A vector of the rhs at the point, stored where the packed form has it. */
static void pack_lanes(ContractionEmitter *emitter, int lanes, LLVMValueRef mask, LLVMValueRef target) {
  const ContractionBlocking *blocking = emitter->blocking;
  vec_store(emitter->vec, blocking->rhs_type, contraction_factor_lanes(emitter, blocking->rhs, lanes, mask), target,
            NULL, lanes);
}

/* Whether the guard of |factor|, which is guarded along one dim or not at all, holds from |first| to |last| of it. */
static LLVMValueRef holds_between(ContractionEmitter *emitter, int32_t factor, int dim, LLVMValueRef first,
                                  LLVMValueRef last) {
  if (emitter->kernel->values[factor].predicate < 0)
    return LLVMConstInt(LLVMInt1TypeInContext(emitter->vec->context), 1, false);
  return pack_holds_at_ends(emitter, factor, &(PackEnds){1, {dim}, {first}, {last}});
}

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
  PackBranch branch = pack_branch_begin(emitter, is_panel_inside(emitter, panel));
  pack_assume_guard(emitter, emitter->blocking->rhs);
  pack_panel_row(emitter, panel->column, target, NULL, panel->inside_lanes);
  pack_branch_otherwise(emitter, &branch);
  pack_panel_row(emitter, panel->column, target, panel->end, panel->lanes);
  pack_branch_end(emitter, &branch);
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
    LLVMValueRef value = pack_bits(emitter, contraction_factor_lanes(emitter, blocking->rhs, lanes, mask), lanes);
    LLVMValueRef kept = LLVMBuildSelect(vec->builder, is_inside, field, LLVMConstNull(narrow), "");
    value = LLVMBuildAnd(vec->builder, value, vec_splat(vec, kept, lanes), "");
    LLVMValueRef shift = vec_splat(vec, LLVMConstInt(narrow, (unsigned long long)(i * bits), false), lanes);
    value = LLVMBuildShl(vec->builder, value, shift, "");
    group = group == NULL ? value : LLVMBuildOr(vec->builder, group, value, "");
  }
  return LLVMBuildBitCast(vec->builder, group, vec_type(vec, blocking->type, lanes), "");
}

/* Whether groups of a panel are rows of memory as they are, element by element in turn.  Widths that are no power of
 * two make poor shuffles. */
static bool interleaves_rows(const ContractionEmitter *emitter, const Panel *panel) {
  const ContractionBlocking *blocking = emitter->blocking;
  if (blocking->rhs_source < 0 || panel->end != NULL || panel->lanes != blocking->lanes) return false;
  if ((blocking->panel_width & (blocking->panel_width - 1)) != 0) return false;
  PrimitiveType source = emitter->kernel->values[blocking->rhs_source].type;
  return type_storage_bytes(source) == type_storage_bytes(blocking->packed_type);
}

/* Elements of both in turn. */
static LLVMValueRef interleave(const VecBuilder *vec, LLVMValueRef a, LLVMValueRef b) {
  unsigned count = LLVMGetVectorSize(LLVMTypeOf(a));
  LLVMValueRef order[MOST_INTERLEAVED];
  XLAC_CHECK(2 * count <= MOST_INTERLEAVED);
  for (unsigned i = 0; i < 2 * count; i++)
    order[i] = LLVMConstInt(LLVMInt32TypeInContext(vec->context), i / 2 + i % 2 * count, false);
  return LLVMBuildShuffleVector(vec->builder, a, b, LLVMConstVector(order, 2 * count), "");
}

/* Rows of the group at |index| of a run, at |column|, as groups. */
static LLVMValueRef interleaved_rows(ContractionEmitter *emitter, LLVMValueRef index) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  int bytes = type_storage_bytes(blocking->packed_type), dim = blocking->depth.dims[blocking->depth.count - 1];
  unsigned width = (unsigned)blocking->panel_width;
  LLVMTypeRef row_type = LLVMVectorType(LLVMIntTypeInContext(vec->context, (unsigned)bytes * 8), width), double_type;
  LLVMValueRef rows[4];
  for (int i = 0; i < blocking->group; i++) {
    emitter->point.dims[dim] = ir_index_add(vec->builder, index, block_int(vec, i));
    rows[i] = LLVMBuildLoad2(vec->builder, row_type, point_load_pointer(&emitter->point, blocking->rhs_source), "");
    LLVMSetAlignment(rows[i], (unsigned)bytes);
  }
  for (int i = 0; i < blocking->group; i += 2) rows[i] = interleave(vec, rows[i], rows[i + 1]);
  if (blocking->group == 2) return rows[0];
  double_type = LLVMVectorType(LLVMInt16TypeInContext(vec->context), width);
  return interleave(vec, LLVMBuildBitCast(vec->builder, rows[0], double_type, ""),
                    LLVMBuildBitCast(vec->builder, rows[2], double_type, ""));
}

/* Whole groups of |range| of a run's depth, a row of the panel at a time: few instructions, so that many rows are on
 * their way from memory at once. */
static void interleave_panel(ContractionEmitter *emitter, const Panel *panel, LLVMValueRef first, IndexRange range) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  if (ir_range_is_empty(range)) return;
  PointLoop depth = point_loop_begin_guarded(&emitter->point, range, blocking->group);
  LLVMValueRef number = LLVMBuildUDiv(vec->builder, depth.index, block_int(vec, blocking->group), "");
  emitter->point.dims[blocking->columns.dims[blocking->columns.count - 1]] = panel->column;
  LLVMValueRef groups = interleaved_rows(emitter, ir_index_add(vec->builder, first, depth.index));
  LLVMValueRef target = block_element(vec, blocking->type, emitter->rhs_pack,
                                      ir_index_multiply(vec->builder, number, blocking->packed_stride));
  LLVMSetAlignment(LLVMBuildStore(vec->builder, groups, target), (unsigned)type_storage_bytes(blocking->type));
  point_loop_end(&emitter->point, &depth);
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
  PackNest nest;
  LLVMValueRef first, count;
  pack_nest_begin_run(emitter, block, &blocking->rhs_set, &nest, &first, &count);
  IndexRange run = ir_range_below(count), whole, rest = run;
  emitter->point.vector_dim = blocking->columns.dims[blocking->columns.count - 1];
  if (blocking->rhs_transposes) {
    ir_range_cut(emitter->vec->builder, run, blocking->lanes * blocking->group, &whole, &rest);
    pack_panel_squares(emitter, panel, first, whole, nest.offset);
  }
  if (blocking->group == 1) {
    pack_panel_rows(emitter, panel, first, rest, nest.offset);
  } else {
    if (interleaves_rows(emitter, panel)) {
      ir_range_cut(emitter->vec->builder, rest, blocking->group, &whole, &rest);
      interleave_panel(emitter, panel, first, whole);
    }
    pack_panel_groups(emitter, panel, first, rest);
  }
  pack_nest_end(&nest);
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
  pack_assume_guard(emitter, emitter->blocking->rhs);
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
  PackNest nest;
  LLVMValueRef first, count;
  pack_nest_begin_run(emitter, block, &blocking->rhs_set, &nest, &first, &count);
  PointLoop rows = point_loop_begin(&emitter->point, ir_range_below(count), 1);
  emitter->point.dims[blocking->depth.dims[blocking->depth.count - 1]] = ir_index_add(vec->builder, first, rows.index);
  contraction_hoist(&emitter->point, &blocking->rhs_set, UINT64_C(1) << emitter->point.vector_dim);
  pack_segment_row(
      emitter, segment,
      ir_index_multiply(vec->builder, ir_index_add(vec->builder, nest.offset, rows.index), blocking->packed_stride));
  point_loop_end(&emitter->point, &rows);
  pack_nest_end(&nest);
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

/* The last step of the matrix unit ends with rows of zeros. */
static void end_steps(ContractionEmitter *emitter, const DepthBlock *block) {
  const VecBuilder *vec = emitter->vec;
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef count = contraction_group_count(vec, blocking, block->depth);
  LLVMValueRef up = ir_index_add(vec->builder, count, block_int(vec, MATRIX_STEP - 1));
  LLVMValueRef end = LLVMBuildAnd(vec->builder, up, block_int(vec, -(int64_t)MATRIX_STEP), "");
  PointLoop rows = point_loop_begin_guarded(&emitter->point, (IndexRange){count, end}, 1);
  LLVMValueRef row = ir_index_multiply(vec->builder, rows.index, blocking->packed_stride);
  for (int j = 0; j < blocking->panel_vectors; j++) {
    LLVMValueRef at = ir_index_add(vec->builder, row, block_int(vec, (int64_t)j * blocking->lanes));
    vec_store(vec, blocking->type, vec_constant(vec, blocking->type, 0, blocking->lanes),
              block_element(vec, blocking->type, emitter->rhs_pack, at), NULL, blocking->lanes);
  }
  point_loop_end(&emitter->point, &rows);
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
  PackBranch branch = pack_branch_begin(emitter, LLVMBuildICmp(vec->builder, LLVMIntSLE, column, last, ""));
  pack_panel(emitter, block, &whole);
  pack_branch_otherwise(emitter, &branch);
  pack_panel(emitter, block, &tail);
  pack_branch_end(emitter, &branch);
}

void contraction_pack_rhs(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef column) {
  ElementLoops loops = contraction_loops_begin(emitter);
  pack_panels(emitter, block, column);
  if (emitter->blocking->lhs_shifted) pack_excess(emitter, block);
  if (emitter->blocking->in_matrix_unit && !contraction_fills_matrix_steps(emitter->kernel, emitter->blocking))
    end_steps(emitter, block);
  contraction_loops_end(emitter, &loops);
}

int64_t contraction_depth_packed(const Kernel *kernel, const ContractionBlocking *blocking) {
  bool is_in_rows = !blocking->rhs_transposes && blocking->segment >= blocking->column_run;
  if (!is_in_rows || blocking->inside_chunk > 1 || blocking->lhs_shifted) return blocking->block_depth;
  bool ends_with_zeros = blocking->in_matrix_unit && !contraction_fills_matrix_steps(kernel, blocking);
  return min_i64(ends_with_zeros ? MATRIX_STEP * blocking->group : ROWS_PACKED, blocking->block_depth);
}

LLVMValueRef contraction_rhs_address(ContractionEmitter *emitter, const DepthBlock *block, LLVMValueRef column) {
  const ContractionBlocking *blocking = emitter->blocking;
  LLVMValueRef first, count;
  pack_depth_run(emitter, block, blocking->depth.count - blocking->chunk_dim, &first, &count);
  emitter->point.dims[blocking->depth.dims[blocking->depth.count - 1]] = first;
  emitter->point.dims[blocking->columns.dims[blocking->columns.count - 1]] = column;
  return point_load_pointer(&emitter->point, blocking->rhs_source);
}

bool contraction_may_pack_by_tile(const VecTarget *target, const ContractionBlocking *blocking) {
  bool is_copied = blocking->rhs_is_plain && blocking->rhs_source == blocking->rhs && blocking->group == 1;
  bool is_whole = blocking->column_run % blocking->panel_width == 0;
  if (!is_copied || !is_whole || blocking->is_turned || blocking->in_matrix_unit) return false;
  return contraction_has_assembly(target, blocking, blocking->tile_rows, blocking->panel_vectors);
}

bool contraction_packs_by_tile(const Kernel *kernel, const ContractionBlocking *blocking) {
  bool takes_all = blocking->common_guard_count == 0 && !blocking->cut && !blocking->walks_window &&
                   contraction_strip_gap(blocking) == 0;
  int together = contraction_merged_suffix(kernel, &blocking->rhs_set, &blocking->depth);
  return blocking->packed_by_tile && takes_all && together >= blocking->depth.count - blocking->chunk_dim;
}
