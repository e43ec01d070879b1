/* XLA:CPU's calls to oneDNN, which optimised dumps have: what their backend_config says (XLA's onednn_config.proto as
 * JSON, with the spellings of its versions since 2023). */
#ifndef XLAC_HLO_IR_ONEDNN_CONFIG_H
#define XLAC_HLO_IR_ONEDNN_CONFIG_H

#include "hlo/ir/hlo_instruction.h"

typedef enum OnednnTarget {
  ONEDNN_NONE,
  ONEDNN_MATMUL,
  ONEDNN_SOFTMAX,
  ONEDNN_LAYER_NORM,
  ONEDNN_CONVOLUTION,
} OnednnTarget;

/* ONEDNN_NONE for any other call, and for instructions that are none. */
OnednnTarget onednn_target(const HloInstruction *instruction);

/* What comes after a product, in this order. */
typedef enum OnednnFusion {
  ONEDNN_UNDEFINED,
  ONEDNN_BIAS, /* plus the next operand */
  ONEDNN_RELU,
  ONEDNN_TANH,
  ONEDNN_GELU_ERF,
  ONEDNN_GELU_TANH,
  ONEDNN_BINARY_ADD, /* plus the next operand */
  ONEDNN_LINEAR,     /* times the next factor */
  ONEDNN_ELU,
  ONEDNN_RELU6,
  ONEDNN_SIGMOID,
  ONEDNN_SUM, /* plus the next operand, in whose place the result stands */
  ONEDNN_SWISH,
} OnednnFusion;

enum { ONEDNN_SCALE_AND_SHIFT = 3 }; /* of ONEDNN_RESCALE */

typedef enum OnednnField {
  ONEDNN_HINT, /* what changes no result: not to be read */
  ONEDNN_FUSIONS,
  ONEDNN_FACTORS, /* of LINEAR: the bits of floats */
  ONEDNN_PREPACKED,
  ONEDNN_TRANSPOSE_LHS, /* the last two dimensions of what LHS makes of the operand */
  ONEDNN_TRANSPOSE_RHS,
  ONEDNN_LHS, /* the dimensions of the array in the product's order, counted from 1; empty: as they are */
  ONEDNN_RHS,
  ONEDNN_RESULT,
  ONEDNN_AXIS,
  ONEDNN_RESCALE,
  ONEDNN_EPSILON, /* the bits of a float */
  ONEDNN_GROUPS,
  ONEDNN_INPUT_BATCH,
  ONEDNN_INPUT_FEATURE,
  ONEDNN_INPUT_SPATIAL,
  ONEDNN_KERNEL_INPUT,
  ONEDNN_KERNEL_OUTPUT,
  ONEDNN_KERNEL_SPATIAL,
  ONEDNN_OUTPUT_BATCH,
  ONEDNN_OUTPUT_FEATURE,
  ONEDNN_OUTPUT_SPATIAL,
  ONEDNN_PAD_LEFT,
  ONEDNN_PAD_RIGHT,
  ONEDNN_STRIDES,
  ONEDNN_DILATIONS,
  ONEDNN_FIELD_COUNT
} OnednnField;

typedef struct OnednnConfig {
  OnednnTarget target;
  Int64List fields[ONEDNN_FIELD_COUNT]; /* booleans are 0 and 1; empty where the text has none */
} OnednnConfig;

/* Of |call|, whose target is one of the four, in |arena|.  STATUS_UNSUPPORTED (code "onednn"), at the attribute, for a
 * field or value that is not known. */
MUST_USE Status onednn_config_read(Arena *arena, const HloInstruction *call, DiagSink *diag, OnednnConfig *out_config);

/* The only value of |field|, 0 where the text has none, as in XLA. */
int64_t onednn_config_value(const OnednnConfig *config, OnednnField field);

/* The float whose bits |bits| are. */
float onednn_float(int64_t bits);

#endif
