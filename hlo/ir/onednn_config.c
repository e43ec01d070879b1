#include "hlo/ir/onednn_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_fields.h"
#include "hlo/ir/custom_call.h"

static const struct TargetRow {
  const char *name, *message;
} targets[] = {
    [ONEDNN_NONE] = {"", ""},
    [ONEDNN_MATMUL] = {"__onednn$matmul", "onednn_matmul_config"},
    [ONEDNN_SOFTMAX] = {"__onednn$softmax", "onednn_softmax_config"},
    [ONEDNN_LAYER_NORM] = {"__onednn$layernorm", "onednn_layer_norm_config"},
    [ONEDNN_CONVOLUTION] = {"__onednn$convolution", "onednn_conv_config"},
};

static const char *const fusion_words[] = {"UNDEFINED", "BIAS",       "RELU",   "TANH", "GELU_ERF",
                                           "GELU_TANH", "BINARY_ADD", "LINEAR", "ELU",  "RELU6",
                                           "SIGMOID",   "SUM",        "SWISH",  NULL};
static const char *const rescale_words[] = {"UNDEFINED", "SCALE", "SHIFT", "SCALE_AND_SHIFT", NULL};
static const char *const boolean_words[] = {"false", "true", NULL};

/* Numbers have 31 bits: what counts or is a size is not negative. */
typedef enum ValueKind { VALUE_COUNT, VALUE_INTEGER, VALUE_REAL, VALUE_WORD } ValueKind;

enum { CALLS_WITH_FUSIONS = 1 << ONEDNN_MATMUL | 1 << ONEDNN_CONVOLUTION };

/* Paths are those within the message of the target. */
typedef struct FieldRow {
  const char *path;
  unsigned calls; /* 1 << OnednnTarget */
  OnednnField field;
  ValueKind kind;
  const char *const *words;
} FieldRow;

#define COUNT VALUE_COUNT, NULL
#define INTEGER VALUE_INTEGER, NULL
#define REAL VALUE_REAL, NULL
#define WORD(words) VALUE_WORD, words
#define ROW(path, target, field, kind) {path, 1 << ONEDNN_##target, ONEDNN_##field, kind}

static const FieldRow rows[] = {
    {"fusions.ops", CALLS_WITH_FUSIONS | 1 << ONEDNN_LAYER_NORM, ONEDNN_FUSIONS, WORD(fusion_words)},
    {"fusions.alpha", CALLS_WITH_FUSIONS | 1 << ONEDNN_LAYER_NORM, ONEDNN_FACTORS, REAL},
    {"fusions.alpha_typecast", CALLS_WITH_FUSIONS | 1 << ONEDNN_LAYER_NORM, ONEDNN_FACTORS, INTEGER},
    {"optimization_config.weights_prepacked", CALLS_WITH_FUSIONS, ONEDNN_PREPACKED, WORD(boolean_words)},
    {"optimization_config.user_scratchpad", CALLS_WITH_FUSIONS, ONEDNN_HINT, WORD(boolean_words)},
    {"optimization_config.bias_broadcast", CALLS_WITH_FUSIONS, ONEDNN_HINT, WORD(boolean_words)},

    ROW("fused_ops", MATMUL, FUSIONS, WORD(fusion_words)),
    ROW("alpha_typecast", MATMUL, FACTORS, INTEGER),
    ROW("weights_prepacked", MATMUL, PREPACKED, WORD(boolean_words)),
    ROW("user_scratch", MATMUL, HINT, WORD(boolean_words)),
    ROW("bias_broadcast", MATMUL, HINT, WORD(boolean_words)),
    ROW("transpose_a", MATMUL, TRANSPOSE_LHS, WORD(boolean_words)),
    ROW("transpose_b", MATMUL, TRANSPOSE_RHS, WORD(boolean_words)),
    ROW("lhs.dims", MATMUL, HINT, COUNT),
    ROW("lhs.tensor.dimensions", MATMUL, LHS, COUNT),
    ROW("lhs.tensor.shape", MATMUL, HINT, COUNT),
    ROW("rhs.dims", MATMUL, HINT, COUNT),
    ROW("rhs.tensor.dimensions", MATMUL, RHS, COUNT),
    ROW("rhs.tensor.shape", MATMUL, HINT, COUNT),
    ROW("result.dims", MATMUL, HINT, COUNT),
    ROW("result.tensor.dimensions", MATMUL, RESULT, COUNT),
    ROW("result.tensor.shape", MATMUL, HINT, COUNT),

    ROW("softmax_axis", SOFTMAX, AXIS, INTEGER),

    ROW("rescale", LAYER_NORM, RESCALE, WORD(rescale_words)),
    ROW("fused_ops", LAYER_NORM, RESCALE, WORD(rescale_words)),
    ROW("epsilon_typecast", LAYER_NORM, EPSILON, INTEGER),

    ROW("dims", CONVOLUTION, HINT, COUNT),
    ROW("input.dims", CONVOLUTION, HINT, COUNT),
    ROW("input.data.batch_dim", CONVOLUTION, INPUT_BATCH, COUNT),
    ROW("input.data.feature_dim", CONVOLUTION, INPUT_FEATURE, COUNT),
    ROW("input.data.spatial_dims", CONVOLUTION, INPUT_SPATIAL, COUNT),
    ROW("kernel.dims", CONVOLUTION, HINT, COUNT),
    ROW("kernel.filter.input_feature_dim", CONVOLUTION, KERNEL_INPUT, COUNT),
    ROW("kernel.filter.output_feature_dim", CONVOLUTION, KERNEL_OUTPUT, COUNT),
    ROW("kernel.filter.spatial_dims", CONVOLUTION, KERNEL_SPATIAL, COUNT),
    ROW("kernel.filter.shape", CONVOLUTION, HINT, COUNT),
    ROW("output.dims", CONVOLUTION, HINT, COUNT),
    ROW("output.data.batch_dim", CONVOLUTION, OUTPUT_BATCH, COUNT),
    ROW("output.data.feature_dim", CONVOLUTION, OUTPUT_FEATURE, COUNT),
    ROW("output.data.spatial_dims", CONVOLUTION, OUTPUT_SPATIAL, COUNT),
    ROW("window.size", CONVOLUTION, HINT, COUNT),
    ROW("window.pad_left", CONVOLUTION, PAD_LEFT, COUNT),
    ROW("window.pad_right", CONVOLUTION, PAD_RIGHT, COUNT),
    ROW("window.strides", CONVOLUTION, STRIDES, COUNT),
    ROW("window.window_dilations", CONVOLUTION, DILATIONS, COUNT),
    ROW("feature_groups", CONVOLUTION, GROUPS, COUNT),
};

OnednnTarget onednn_target(const HloInstruction *instruction) {
  for (OnednnTarget i = ONEDNN_MATMUL; i <= ONEDNN_CONVOLUTION; i++) {
    if (custom_call_calls(instruction, targets[i].name)) return i;
  }
  return ONEDNN_NONE;
}

/* "onednn_matmul_config.fusions.ops" → "fusions.ops"; empty for a field of another message. */
static StringView path_within(StringView path, const char *message) {
  StringView prefix = sv_from_cstring(message);
  if (!sv_starts_with(path, prefix) || path.size <= prefix.size || path.data[prefix.size] != '.')
    return (StringView){0};
  return sv_sub(path, prefix.size + 1, path.size);
}

static const FieldRow *find_row(OnednnTarget target, StringView path) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if ((rows[i].calls & 1U << target) != 0 && sv_equal_cstring(path, rows[i].path)) return &rows[i];
  }
  return NULL;
}

/* Whether a message of fields that are known is called so, or one that it has. */
static bool is_message(OnednnTarget target, StringView path) {
  if (sv_equal_cstring(path, targets[target].message)) return true;
  StringView within = path_within(path, targets[target].message);
  for (size_t i = 0; within.size > 0 && i < sizeof rows / sizeof *rows; i++) {
    StringView whole = sv_from_cstring(rows[i].path);
    if ((rows[i].calls & 1U << target) != 0 && sv_starts_with(whole, within) && whole.size > within.size &&
        whole.data[within.size] == '.')
      return true;
  }
  return false;
}

static bool read_value(Arena *arena, const FieldRow *row, StringView text, int64_t *out) {
  char *end, *copy = arena_copy_string(arena, text.data, text.size);
  errno = 0;
  if (row->kind == VALUE_INTEGER || row->kind == VALUE_COUNT) {
    *out = strtoll(copy, &end, 10);
    bool is_in_range = errno == 0 && *out >= (row->kind == VALUE_COUNT ? 0 : INT32_MIN) && *out <= INT32_MAX;
    return *copy != '\0' && *end == '\0' && is_in_range;
  }
  if (row->kind == VALUE_REAL) {
    float value = strtof(copy, &end);
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    *out = bits;
    return *copy != '\0' && *end == '\0';
  }
  for (*out = 0; row->words[*out] != NULL; ++*out) {
    if (strcmp(copy, row->words[*out]) == 0) return true;
  }
  return false;
}

static Status refuse(DiagSink *diag, const HloInstruction *call, StringView what, const char *why) {
  const HloAttr *config = hlo_instruction_attr(call, HLO_ATTR_BACKEND_CONFIG);
  return diag_error(diag, STATUS_UNSUPPORTED, config->loc.line > 0 ? config->loc : call->loc, "onednn",
                    "the 'backend_config' of '%.*s': '%.*s' %s", SV_ARG(call->name), SV_ARG(what), why);
}

static Status read_field(Arena *arena, const HloInstruction *call, DiagSink *diag, const JsonField *field,
                         OnednnConfig *config) {
  const FieldRow *row = find_row(config->target, path_within(field->path, targets[config->target].message));
  if (row == NULL) {
    bool is_hint = sv_equal_cstring(field->path, "outer_dimension_partitions");
    if (is_hint || (field->values.count == 0 && is_message(config->target, field->path))) return STATUS_OK;
    return refuse(diag, call, field->path, "is not a known field");
  }
  int64_t *values = ARENA_NEW_ARRAY(arena, int64_t, field->values.count + 1);
  for (int64_t i = 0; i < field->values.count; i++) {
    if (!read_value(arena, row, field->values.data[i], &values[i]))
      return refuse(diag, call, field->values.data[i], "is not a known value");
  }
  config->fields[row->field] = (Int64List){field->values.count, values};
  return STATUS_OK;
}

Status onednn_config_read(Arena *arena, const HloInstruction *call, DiagSink *diag, OnednnConfig *out_config) {
  *out_config = (OnednnConfig){.target = onednn_target(call)};
  const HloAttr *config = hlo_instruction_attr(call, HLO_ATTR_BACKEND_CONFIG);
  JsonFields fields;
  if (config == NULL || config->value.text.size == 0) return STATUS_OK;
  const char *mistake = json_fields_read(arena, config->value.text, &fields);
  if (mistake != NULL)
    return diag_error(diag, STATUS_UNSUPPORTED, config->loc.line > 0 ? config->loc : call->loc, "onednn",
                      "the JSON in 'backend_config' of '%.*s': %s", SV_ARG(call->name), mistake);
  for (int64_t i = 0; i < fields.count; i++) {
    Status status = read_field(arena, call, diag, &fields.data[i], out_config);
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

int64_t onednn_config_value(const OnednnConfig *config, OnednnField field) {
  return config->fields[field].count == 1 ? config->fields[field].data[0] : 0;
}

float onednn_float(int64_t bits) {
  int32_t low = (int32_t)bits;
  float value;
  memcpy(&value, &low, sizeof value);
  return value;
}
