/* Values of steps, errors, and walks over indices. */
#include <stdarg.h>
#include <string.h>

#include "hlo/eval/eval_internal.h"

static void forget_sizes(Literal *value) {
  value->sizes = NULL;
  for (int i = 0; shape_is_tuple(value->shape) && i < value->shape->tuple_size; i++) value->tuple[i].sizes = NULL;
}

Literal *eval_result(EvalStep *step) {
  if (!step->own) step->own = literal_create(step->frame->evaluation->arena, step->instruction->shape);
  if (step->sizes) forget_sizes(step->own);
  step->value = *step->own;
  return step->own;
}

Literal *eval_tuple_result(EvalStep *step) {
  Arena *arena = step->frame->evaluation->arena;
  const Shape *shape = step->instruction->shape;
  if (!step->own) {
    step->own = ARENA_NEW(arena, Literal);
    *step->own = (Literal){.shape = shape, .tuple = ARENA_NEW_ARRAY(arena, Literal, shape->tuple_size)};
  }
  step->value = *step->own;
  return step->own;
}

void eval_forward_value(EvalStep *step, const Literal *source) {
  step->value = *source;
  step->value.shape = step->instruction->shape;
}

Literal *eval_result_part(Literal *out, int index) {
  return shape_is_tuple(out->shape) ? &out->tuple[index] : out;
}

void eval_copy_leaves(Literal *to, const Literal *from) {
  if (to->shape->type == TYPE_TUPLE) {
    for (int i = 0; i < to->shape->tuple_size; i++) eval_copy_leaves(&to->tuple[i], &from->tuple[i]);
  } else if (shape_is_array(to->shape) && to->data != from->data) {
    memcpy(to->data, from->data, (size_t)shape_byte_size(to->shape));
  }
}

Status eval_error(const EvalStep *step, const char *format, ...) {
  const HloInstruction *instruction = step->instruction;
  DiagSink *diag = step->frame->evaluation->diag;
  va_list arguments;
  va_start(arguments, format);
  const char *text = arena_vprintf(diag->arena, format, arguments);
  va_end(arguments);
  return diag_error(diag, STATUS_UNSUPPORTED, instruction->loc, "eval", "'%s' %s", hlo_opcode_text(instruction->opcode),
                    text);
}

/* ---- indices ---- */

void eval_strides(const Shape *shape, int64_t *out_strides) {
  int64_t stride = 1;
  for (int i = shape->rank - 1; i >= 0; i--) {
    out_strides[i] = stride;
    stride *= shape->dims[i];
  }
}

bool eval_next_index(int rank, const int64_t *dims, int64_t *index) {
  for (int i = rank - 1; i >= 0; i--) {
    if (++index[i] < dims[i]) return true;
    index[i] = 0;
  }
  return false;
}

int64_t eval_offset(int rank, const int64_t *index, const int64_t *strides) {
  int64_t offset = 0;
  for (int i = 0; i < rank; i++) offset += index[i] * strides[i];
  return offset;
}

#define COPY_ROW(Unit)                                                                            \
  for (int64_t i = 0; i < count;                                                                  \
       i++, to += to_stride * (int64_t)sizeof(Unit), from += from_stride * (int64_t)sizeof(Unit)) \
  memcpy(to, from, sizeof(Unit))

static void copy_row(size_t unit, int64_t count, char *to, int64_t to_stride, const char *from, int64_t from_stride) {
  if (to_stride == 1 && from_stride == 1) {
    memcpy(to, from, (size_t)count * unit);
    return;
  }
  switch (unit) {
    case 1: COPY_ROW(uint8_t); break;
    case 2: COPY_ROW(uint16_t); break;
    case 4: COPY_ROW(uint32_t); break;
    case 8: COPY_ROW(uint64_t); break;
    case 16: COPY_ROW(LaneComplex); break;
    default: XLAC_BUG("elements of %zu bytes", unit);
  }
}

void eval_copy_box(size_t unit, int rank, const int64_t *dims, char *to, const int64_t *to_strides, const char *from,
                   const int64_t *from_strides) {
  for (int i = 0; i < rank; i++)
    if (dims[i] <= 0) return;
  if (rank == 0) {
    memcpy(to, from, unit);
    return;
  }
  int64_t index[EVAL_MAX_RANK] = {0};
  int outer = rank - 1;
  do {
    int64_t to_offset = eval_offset(outer, index, to_strides) * (int64_t)unit;
    int64_t from_offset = eval_offset(outer, index, from_strides) * (int64_t)unit;
    copy_row(unit, dims[outer], to + to_offset, to_strides[outer], from + from_offset, from_strides[outer]);
  } while (eval_next_index(outer, dims, index));
}

void eval_fill(Literal *target, const void *element) {
  size_t unit = (size_t)type_storage_bytes(target->shape->type);
  int64_t count = shape_element_count(target->shape);
  if (count > 0) copy_row(unit, count, target->data, 1, element, 0);
}
