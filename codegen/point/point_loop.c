/* Loops around a point. */
#include "codegen/point/kernel_point.h"

static PointLoop point_loop(const KernelPoint *point, IrLoop loop) {
  return (PointLoop){.index = loop.index, .loop = loop, .height = point->known.count};
}

PointLoop point_loop_begin(KernelPoint *point, IndexRange range, int64_t step) {
  return point_loop_begin_carrying(point, range, step, NULL, 0);
}

PointLoop point_loop_begin_guarded(KernelPoint *point, IndexRange range, int64_t step) {
  return point_loop(point, ir_loop_count_guarded(point->vec->builder, range, step, NULL, 0));
}

PointLoop point_loop_begin_apart(KernelPoint *point, IndexRange range, int64_t step) {
  return point_loop(point, ir_loop_count_apart(point->vec->builder, range, step, NULL, 0));
}

PointLoop point_loop_begin_carrying(KernelPoint *point, IndexRange range, int64_t step, LLVMValueRef **carried,
                                    int carried_count) {
  return point_loop(point, ir_loop_count(point->vec->builder, range, step, carried, carried_count));
}

void point_loop_end(KernelPoint *point, PointLoop *loop) {
  point_forget(point, loop->height);
  ir_loop_end(&loop->loop);
}
