/* Windows sliding over an array (shared with reduce-window and select-and-scatter), and convolution. */
#include "base/checked_math.h"
#include "hlo/infer/infer_internal.h"

/* The 'window' attribute, of rank 0 when absent. */
static const Window *infer_window(const InferContext *context) {
  static const Window none = {0, NULL};
  const Window *windows = hlo_instruction_window(context->instruction);
  return windows != NULL ? windows : &none;
}

/* The size of |size| elements with |dilation| - 1 holes between neighbours; -1 when it overflows. */
static int64_t infer_dilated(int64_t size, int64_t dilation) {
  int64_t dilated;
  if (size == 0) return 0;
  return checked_mul(size - 1, dilation, &dilated) && checked_add(dilated, 1, &dilated) ? dilated : -1;
}

/* The number of places of dimension |dimension| of the window over |size| elements.  Errors: non-positive fields,
 * overflow. */
static Status infer_window_places(const InferContext *context, const Window *window, int dimension, int64_t size,
                                  int64_t *out_places) {
  const WindowDimension *field = &window->dims[dimension];
  const char *wrong = field->size <= 0             ? "size"
                      : field->stride <= 0         ? "stride"
                      : field->base_dilation < 1   ? "lhs_dilate"
                      : field->window_dilation < 1 ? "rhs_dilate"
                                                   : NULL;
  if (wrong != NULL) {
    return infer_attr_error(context, HLO_ATTR_WINDOW, "has a window with %s below 1 in dimension %d", wrong, dimension);
  }
  *out_places = SHAPE_UNBOUNDED;
  if (size == SHAPE_UNBOUNDED) return STATUS_OK;
  int64_t base = infer_dilated(size, field->base_dilation), extent = infer_dilated(field->size, field->window_dilation),
          padded;
  bool fits = base >= 0 && extent >= 0 && checked_add(base, field->pad_low, &padded) &&
              checked_add(padded, field->pad_high, &padded);
  if (!fits)
    return infer_attr_error(context, HLO_ATTR_WINDOW, "has a window that is too large in dimension %d", dimension);
  *out_places = padded < extent ? 0 : (padded - extent) / field->stride + 1;
  return STATUS_OK;
}

Status infer_window_shape(const InferContext *context, const Shape *base, PrimitiveType type, const Shape **out_shape) {
  const Window *window = infer_window(context);
  if (window->rank != base->rank) {
    return infer_attr_error(context, HLO_ATTR_WINDOW, "needs a window of rank %d for %s, got %d", base->rank,
                            infer_text(context, base), window->rank);
  }
  ShapeDraft draft = infer_draft(context, type, base->rank);
  for (int i = 0; i < base->rank; i++) {
    int64_t places;
    RETURN_IF_ERROR(infer_window_places(context, window, i, base->dims[i], &places));
    infer_draft_push(&draft, places, infer_is_dynamic(base, i));
  }
  *out_shape = infer_finish(context, &draft, NULL);
  return STATUS_OK;
}

/* --- convolution --- */

/* |rank|: of the array, which is called |what|. */
static Status check_roles(const InferContext *context, const char *what, int rank, const ConvolutionRoles *roles) {
  bool *seen = ARENA_NEW_ARRAY(context->scratch, bool, rank);
  for (int i = -2; i < rank - 2; i++) {
    int64_t dimension = i == -2 ? roles->batch : i == -1 ? roles->feature : roles->spatial[i];
    if (dimension < 0 || dimension >= rank || seen[dimension]) {
      return infer_attr_error(context, HLO_ATTR_DIM_LABELS,
                              "needs labels that name each of the %d dimensions of the %s once", rank, what);
    }
    seen[dimension] = true;
  }
  return STATUS_OK;
}

static Status check_dim_labels(const InferContext *context, const ConvolutionDimensionNumbers *labels) {
  const Shape *input = infer_operand(context, 0), *kernel = infer_operand(context, 1);
  int rank = labels->spatial_rank + 2;
  if (input->rank != rank || kernel->rank != rank) {
    return infer_attr_error(context, HLO_ATTR_DIM_LABELS, "has labels for rank %d, but operands %s and %s", rank,
                            infer_text(context, input), infer_text(context, kernel));
  }
  RETURN_IF_ERROR(check_roles(context, "input", rank, &labels->input));
  RETURN_IF_ERROR(check_roles(context, "kernel", rank, &labels->kernel));
  return check_roles(context, "output", rank, &labels->output);
}

static Status check_divides(const InferContext *context, HloAttrId id, int64_t groups, int64_t size, const char *what) {
  if (size == SHAPE_UNBOUNDED || size % groups == 0) return STATUS_OK;
  return infer_attr_error(context, id, "cannot divide %lld %s into %lld groups", (long long)size, what,
                          (long long)groups);
}

typedef struct ConvolutionSizes {
  int64_t feature_groups, batch_groups;
  int64_t input_batch, input_features, kernel_input_features, output_features;
} ConvolutionSizes;

static Status check_groups(const InferContext *context, const ConvolutionSizes *sizes) {
  const HloAttrId feature_id = HLO_ATTR_FEATURE_GROUP_COUNT, batch_id = HLO_ATTR_BATCH_GROUP_COUNT;
  if (sizes->feature_groups < 1) {
    return infer_attr_error(context, feature_id, "needs a positive 'feature_group_count', got %lld",
                            (long long)sizes->feature_groups);
  }
  if (sizes->batch_groups < 1) {
    return infer_attr_error(context, batch_id, "needs a positive 'batch_group_count', got %lld",
                            (long long)sizes->batch_groups);
  }
  if (sizes->feature_groups > 1 && sizes->batch_groups > 1) {
    return infer_attr_error(context, batch_id, "cannot group both features and batches");
  }
  RETURN_IF_ERROR(check_divides(context, feature_id, sizes->feature_groups, sizes->input_features, "input features"));
  RETURN_IF_ERROR(check_divides(context, feature_id, sizes->feature_groups, sizes->output_features, "output features"));
  RETURN_IF_ERROR(check_divides(context, batch_id, sizes->batch_groups, sizes->output_features, "output features"));
  RETURN_IF_ERROR(check_divides(context, batch_id, sizes->batch_groups, sizes->input_batch, "batches"));
  bool is_known = sizes->input_features != SHAPE_UNBOUNDED && sizes->kernel_input_features != SHAPE_UNBOUNDED;
  if (!is_known || sizes->input_features / sizes->feature_groups == sizes->kernel_input_features) return STATUS_OK;
  return infer_error(context, "has %lld input features in %lld groups, but the kernel takes %lld",
                     (long long)sizes->input_features, (long long)sizes->feature_groups,
                     (long long)sizes->kernel_input_features);
}

static Status check_kernel_window(const InferContext *context, const ConvolutionDimensionNumbers *labels,
                                  const Window *window) {
  const Shape *kernel = infer_operand(context, 1);
  if (window->rank != labels->spatial_rank) {
    return infer_attr_error(context, HLO_ATTR_WINDOW, "needs a window of rank %d, got %d", labels->spatial_rank,
                            window->rank);
  }
  for (int i = 0; i < window->rank; i++) {
    if (infer_sizes_agree(kernel->dims[labels->kernel.spatial[i]], window->dims[i].size)) continue;
    return infer_attr_error(context, HLO_ATTR_WINDOW,
                            "has a window that differs from the kernel %s in spatial dimension %d",
                            infer_text(context, kernel), i);
  }
  return STATUS_OK;
}

Status infer_convolution(const InferContext *context, const Shape **out_shape) {
  RETURN_IF_ERROR(infer_check_arrays(context, 0, 2));
  const Shape *input = infer_operand(context, 0), *kernel = infer_operand(context, 1);
  const ConvolutionDimensionNumbers *labels = hlo_instruction_dim_labels(context->instruction);
  const Window *window = infer_window(context);
  RETURN_IF_ERROR(check_dim_labels(context, labels));
  ConvolutionSizes sizes = {hlo_instruction_int(context->instruction, HLO_ATTR_FEATURE_GROUP_COUNT, 1),
                            hlo_instruction_int(context->instruction, HLO_ATTR_BATCH_GROUP_COUNT, 1),
                            input->dims[labels->input.batch],
                            input->dims[labels->input.feature],
                            kernel->dims[labels->kernel.input_feature],
                            kernel->dims[labels->kernel.output_feature]};
  RETURN_IF_ERROR(check_groups(context, &sizes));
  RETURN_IF_ERROR(check_kernel_window(context, labels, window));
  if (infer_is_dynamic(kernel, (int)labels->kernel.output_feature)) {
    return infer_error(context, "cannot have a dynamic number of output features, as in %s",
                       infer_text(context, kernel));
  }
  ShapeDraft draft = infer_draft_like(context, infer_contraction_type(context),
                                      input); /* the right rank; every entry is written below */
  draft.dims[labels->output.batch] =
      sizes.input_batch == SHAPE_UNBOUNDED ? SHAPE_UNBOUNDED : sizes.input_batch / sizes.batch_groups;
  draft.dynamic[labels->output.batch] = infer_is_dynamic(input, (int)labels->input.batch);
  draft.dims[labels->output.feature] = sizes.output_features;
  draft.dynamic[labels->output.feature] = false;
  for (int i = 0; i < window->rank; i++) {
    int64_t places, from = labels->input.spatial[i], to = labels->output.spatial[i];
    RETURN_IF_ERROR(infer_window_places(context, window, i, input->dims[from], &places));
    draft.dims[to] = places;
    draft.dynamic[to] = infer_is_dynamic(input, (int)from);
  }
  *out_shape = infer_finish(context, &draft, NULL);
  return STATUS_OK;
}
