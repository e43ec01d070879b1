/* Convolution as matrix products: kernel × patches of the input, for each image and group. */
#include <string.h>

#include "hlo/eval/eval_internal.h"

/* Output positions for which patches are gathered at once. */
enum { CHUNK = 512 };

typedef struct Convolution {
  const ConvolutionDimensionNumbers *numbers;
  const Window *window;
  PrimitiveType type; /* of the sums */
  LaneClass lane;
  int64_t feature_groups, batch_groups;
  int64_t batch, in_features, out_features, kernel_features; /* of the result, input, result, kernel input */
  int64_t in_size, kernel_size, out_size;                    /* products of spatial sizes */
  int64_t in_dims[EVAL_MAX_RANK], kernel_dims[EVAL_MAX_RANK], out_dims[EVAL_MAX_RANK];
  int64_t *places; /* [kernel position][output position]: input position, -1 in the padding */
  char *input, *kernel, *sums;
} Convolution;

/* Dimension |i| of [batch][feature][spatial…], or of [output feature][input feature][spatial…]. */
static int64_t dimension_at(const ConvolutionRoles *roles, int i) {
  return i == 0 ? roles->batch : i == 1 ? roles->feature : roles->spatial[i - 2];
}

/* The array as dense work numbers in that order. */
static char *load_array(Arena *arena, const Literal *from, const ConvolutionRoles *roles, PrimitiveType type) {
  const Shape *shape = from->shape;
  int64_t strides[EVAL_MAX_RANK], dims[EVAL_MAX_RANK], steps[EVAL_MAX_RANK], total = 1;
  eval_strides(shape, strides);
  for (int i = 0; i < shape->rank; i++) {
    int64_t dimension = dimension_at(roles, i);
    dims[i] = shape->dims[dimension];
    steps[i] = strides[dimension];
    total *= dims[i];
  }
  char *numbers = arena_alloc_array(arena, (size_t)total, lane_bytes(LANE_COMPLEX));
  eval_load_box(from, 0, shape->rank, dims, steps, type, numbers);
  return numbers;
}

static int64_t spatial_sizes(const Shape *shape, const ConvolutionRoles *roles, int64_t *out_dims) {
  int64_t total = 1;
  for (int i = 0; i < shape->rank - 2; i++) total *= out_dims[i] = shape->dims[roles->spatial[i]];
  return total;
}

/* The input position that the kernel at |k| meets for the output at |o|; -1 in the padding or between elements. */
static int64_t input_position(const Convolution *conv, const int64_t *k, const int64_t *o) {
  int64_t position = 0;
  for (int i = 0; i < conv->numbers->spatial_rank; i++) {
    const WindowDimension *dim = &conv->window->dims[i];
    int64_t at = dim->reversal ? dim->size - 1 - k[i] : k[i];
    int64_t padded = o[i] * dim->stride + at * dim->window_dilation - dim->pad_low;
    if (padded < 0 || padded % dim->base_dilation != 0) return -1;
    if (padded / dim->base_dilation >= conv->in_dims[i]) return -1;
    position = position * conv->in_dims[i] + padded / dim->base_dilation;
  }
  return position;
}

static void find_places(Arena *arena, Convolution *conv) {
  int rank = conv->numbers->spatial_rank;
  int64_t k[EVAL_MAX_RANK] = {0}, *place;
  place = conv->places = ARENA_NEW_ARRAY(arena, int64_t, conv->kernel_size * conv->out_size);
  if (conv->kernel_size == 0 || conv->out_size == 0) return;
  do {
    int64_t o[EVAL_MAX_RANK] = {0};
    do *place++ = input_position(conv, k, o);
    while (eval_next_index(rank, conv->out_dims, o));
  } while (eval_next_index(rank, conv->kernel_dims, k));
}

/* [feature, kernel position][output position], |count| positions from |first| on. */
static void gather_patches(const Convolution *conv, const char *image, int64_t first, int64_t count, char *out) {
  size_t unit = lane_bytes(conv->lane);
  for (int64_t feature = 0; feature < conv->kernel_features; feature++, image += (size_t)conv->in_size * unit) {
    for (int64_t k = 0; k < conv->kernel_size; k++) {
      const int64_t *places = conv->places + k * conv->out_size + first;
      for (int64_t i = 0; i < count; i++, out += unit) {
        if (places[i] < 0)
          memset(out, 0, unit);
        else if (unit == sizeof(double))
          memcpy(out, image + (size_t)places[i] * sizeof(double), sizeof(double));
        else
          memcpy(out, image + (size_t)places[i] * unit, unit);
      }
    }
  }
}

/* One group of one image of the result. */
static void convolve_group(Convolution *conv, int64_t n, int64_t group, char *patches, char *products) {
  size_t unit = lane_bytes(conv->lane);
  int64_t groups = conv->feature_groups * conv->batch_groups, features = conv->out_features / groups;
  int64_t depth = conv->kernel_features * conv->kernel_size;
  int64_t batch = conv->batch_groups > 1 ? group * conv->batch + n : n;
  int64_t feature = conv->batch_groups > 1 ? 0 : group * conv->kernel_features;
  const char *image = conv->input + (size_t)((batch * conv->in_features + feature) * conv->in_size) * unit;
  const char *kernel = conv->kernel + (size_t)(group * features * depth) * unit;
  char *out = conv->sums + (size_t)((n * conv->out_features + group * features) * conv->out_size) * unit;
  for (int64_t first = 0; first < conv->out_size; first += CHUNK) {
    int64_t count = min_i64(CHUNK, conv->out_size - first);
    gather_patches(conv, image, first, count, patches);
    memset(products, 0, (size_t)(features * count) * unit);
    eval_matmul(conv->lane, features, depth, count, kernel, patches, products);
    for (int64_t i = 0; i < features; i++)
      memcpy(out + (size_t)(i * conv->out_size + first) * unit, products + (size_t)(i * count) * unit,
             (size_t)count * unit);
  }
}

/* From [batch][feature][spatial…] to the result's order. */
static void store_result(Arena *arena, const Convolution *conv, Literal *out) {
  PrimitiveType type = out->shape->type;
  int64_t strides[EVAL_MAX_RANK], dims[EVAL_MAX_RANK], from[EVAL_MAX_RANK], to[EVAL_MAX_RANK], step = 1;
  int rank = out->shape->rank;
  int64_t total = conv->batch * conv->out_features * conv->out_size;
  char *typed = arena_alloc_array(arena, (size_t)total, (size_t)type_storage_bytes(type));
  eval_store_sums(conv->type, total, conv->sums, type, typed);
  eval_strides(out->shape, strides);
  for (int i = rank - 1; i >= 0; i--) {
    int64_t dimension = dimension_at(&conv->numbers->output, i);
    dims[i] = out->shape->dims[dimension];
    to[i] = strides[dimension];
    from[i] = step;
    step *= dims[i];
  }
  eval_copy_box((size_t)type_storage_bytes(type), rank, dims, out->data, to, typed, from);
}

static void convolution_init(EvalStep *step, Arena *arena, Convolution *conv) {
  const HloInstruction *instruction = step->instruction;
  const ConvolutionDimensionNumbers *numbers = conv->numbers;
  const Shape *input = eval_operand_shape(step, 0), *kernel = eval_operand_shape(step, 1), *out = instruction->shape;
  conv->type = eval_sum_type(step);
  conv->lane = eval_sum_class(conv->type);
  conv->feature_groups = hlo_instruction_int(instruction, HLO_ATTR_FEATURE_GROUP_COUNT, 1);
  conv->batch_groups = hlo_instruction_int(instruction, HLO_ATTR_BATCH_GROUP_COUNT, 1);
  conv->batch = out->dims[numbers->output.batch];
  conv->in_features = input->dims[numbers->input.feature];
  conv->out_features = out->dims[numbers->output.feature];
  conv->kernel_features = kernel->dims[numbers->kernel.input_feature];
  conv->in_size = spatial_sizes(input, &numbers->input, conv->in_dims);
  conv->kernel_size = spatial_sizes(kernel, &numbers->kernel, conv->kernel_dims);
  conv->out_size = spatial_sizes(out, &numbers->output, conv->out_dims);
  conv->input = load_array(arena, eval_operand(step, 0), &numbers->input, conv->type);
  conv->kernel = load_array(arena, eval_operand(step, 1), &numbers->kernel, conv->type);
  conv->sums =
      arena_alloc_array(arena, (size_t)(conv->batch * conv->out_features * conv->out_size), lane_bytes(conv->lane));
  find_places(arena, conv);
}

Status eval_convolution(EvalStep *step) {
  static const Window no_window = {0};
  const Window *window = hlo_instruction_window(step->instruction);
  Convolution conv = {.window = window ? window : &no_window, .numbers = hlo_instruction_dim_labels(step->instruction)};
  if (hlo_instruction_attr(step->instruction, HLO_ATTR_SPARSITY_CONFIG))
    return eval_error(step, "cannot be evaluated with sparse operands");
  if (conv.numbers->spatial_rank > conv.window->rank) return eval_error(step, "needs a window for every dimension");
  Literal *out = eval_result(step);
  if (shape_element_count(out->shape) == 0) return STATUS_OK;
  Arena *arena = arena_create();
  convolution_init(step, arena, &conv);
  int64_t groups = conv.feature_groups * conv.batch_groups, chunk = min_i64(CHUNK, conv.out_size);
  size_t unit = lane_bytes(conv.lane);
  char *patches = arena_alloc_array(arena, (size_t)(conv.kernel_features * conv.kernel_size * chunk), unit);
  char *products = arena_alloc_array(arena, (size_t)(conv.out_features / groups * chunk), unit);
  for (int64_t n = 0; n < conv.batch; n++)
    for (int64_t group = 0; group < groups; group++) convolve_group(&conv, n, group, patches, products);
  store_result(arena, &conv, out);
  arena_destroy(arena);
  return STATUS_OK;
}
