/* Attributes about dimensions: windows, convolution labels, padding, slices, sparsity, aliasing, result accuracy. */
#include <math.h>
#include <string.h>

#include "parser/parser_internal.h"

/* --- window={size=3x3 stride=2x2 pad=0_0x1_1 …} --- */

enum {
  WINDOW_SIZE,
  WINDOW_STRIDE,
  WINDOW_PAD,
  WINDOW_LHS_DILATE,
  WINDOW_RHS_DILATE,
  WINDOW_REVERSAL,
  WINDOW_FIELD_COUNT
};

static const char *const window_names[] = {"size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"};
static const FieldTable window_table = {window_names, WINDOW_FIELD_COUNT};

static Status parse_sizes(Parser *parser, Int64List *out_list) {
  const Token token = *current(parser);
  int64_t mark = parser->ints.count;
  if (token.kind == TOKEN_INTEGER) {
    array_push(&parser->ints, parser->scratch, token.integer);
  } else if (token.kind == TOKEN_SIZES) {
    RETURN_IF_ERROR(push_token_numbers(parser, &token));
  } else {
    return parse_expected(parser, "a number per dimension, like 3x3");
  }
  advance(parser);
  out_list->count = parser->ints.count - mark;
  out_list->data = ARENA_COPY_ARRAY(parser->scratch, int64_t, parser->ints.data + mark, out_list->count);
  parser->ints.count = mark;
  return STATUS_OK;
}

/* A PADS token as low, high, interior per dimension (interior -1 where not written). */
static Status parse_pads(Parser *parser, const char *what, Int64List *out_list) {
  const Token token = *current(parser);
  if (token.kind != TOKEN_PADS) return parse_expected(parser, what);
  ARRAY(int64_t) numbers = {0};
  const char *c = token.start, *end = c + token.text.size;
  while (c < end) {
    int64_t dimension[3] = {0, 0, -1};
    for (int i = 0; i < 3; i++) {
      if (!number_scan_integer(&c, end, &dimension[i])) {
        return parse_error(parser, here(parser), "parse-number", "an integer does not fit 64 bits");
      }
      if (c == end || *c == 'x') break;
      c++;
    }
    if (c < end) c++;
    for (int i = 0; i < 3; i++) array_push(&numbers, parser->scratch, dimension[i]);
  }
  advance(parser);
  *out_list = (Int64List){numbers.count, numbers.data};
  return STATUS_OK;
}

/* Where field |field| of a dimension is kept; NULL for what is no plain number. */
static int64_t *window_number(WindowDimension *dimension, int field) {
  switch (field) {
    case WINDOW_SIZE: return &dimension->size;
    case WINDOW_STRIDE: return &dimension->stride;
    case WINDOW_LHS_DILATE: return &dimension->base_dilation;
    case WINDOW_RHS_DILATE: return &dimension->window_dilation;
    case WINDOW_PAD:
    case WINDOW_REVERSAL: return NULL;
    default: XLAC_BUG("field %d of a window", field);
  }
}

static Status build_window(Parser *parser, SourceLoc loc, const Int64List *fields, uint64_t seen,
                           const Window **out_window) {
  int64_t rank = fields[WINDOW_SIZE].count;
  for (int i = 0; i < WINDOW_FIELD_COUNT; i++) {
    int64_t count = i == WINDOW_PAD ? fields[i].count / 3 : fields[i].count;
    if ((seen >> i & 1) == 0 || count == rank) continue;
    return parse_error(parser, loc, "parse-window", "'%s' has %lld dimensions, 'size' has %lld", window_names[i],
                       (long long)count, (long long)rank);
  }
  WindowDimension *dims = ARENA_NEW_ARRAY(parser->arena, WindowDimension, rank);
  for (int64_t d = 0; d < rank; d++) {
    dims[d] = (WindowDimension){.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
    for (int i = 0; i < WINDOW_FIELD_COUNT; i++) {
      int64_t *number = window_number(&dims[d], i);
      if (number && (seen >> i & 1)) *number = fields[i].data[d];
    }
    if (seen >> WINDOW_PAD & 1) {
      dims[d].pad_low = fields[WINDOW_PAD].data[d * 3];
      dims[d].pad_high = fields[WINDOW_PAD].data[d * 3 + 1];
      if (fields[WINDOW_PAD].data[d * 3 + 2] >= 0) {
        return parse_error(parser, loc, "parse-window", "a window's pad has two numbers per dimension, low_high");
      }
    }
    if (seen >> WINDOW_REVERSAL & 1) dims[d].reversal = fields[WINDOW_REVERSAL].data[d] != 0;
  }
  Window *window = ARENA_NEW(parser->arena, Window);
  *window = (Window){(int)rank, dims};
  *out_window = window;
  return STATUS_OK;
}

Status parse_window(Parser *parser, const Window **out_window) {
  SourceLoc loc = here(parser);
  Int64List fields[WINDOW_FIELD_COUNT] = {{0}};
  uint64_t seen = 0;
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{' of a window"));
  while (!at(parser, TOKEN_RIGHT_BRACE)) {
    int field = 0;
    RETURN_IF_ERROR(parse_field_name(parser, "'window'", &window_table, &seen, &field));
    if (field == WINDOW_PAD) {
      RETURN_IF_ERROR(parse_pads(parser, "padding per dimension, like 0_1x0_1", &fields[field]));
    } else {
      RETURN_IF_ERROR(parse_sizes(parser, &fields[field]));
    }
  }
  advance(parser);
  return build_window(parser, loc, fields, seen, out_window);
}

/* --- dim_labels=b01f_01io->b01f --- */

/* One group, |text|, whose two roles have these letters.  What is missing is the verifier's to refuse; other letters
 * are no token.  |out_digits|: how many digits there are. */
static Status parse_roles(Parser *parser, StringView text, const char letters[2], ConvolutionRoles *out_roles,
                          int *out_digits) {
  int64_t spatial[10];
  *out_roles = (ConvolutionRoles){.rank = (int)text.size, .batch = -1, .feature = -1};
  *out_digits = 0;
  for (int i = 0; i < 10; i++) spatial[i] = -1;
  for (int i = 0; i < out_roles->rank; i++) {
    char c = text.data[i];
    if (c == '?') continue;
    int64_t *slot = c == letters[0] ? &out_roles->batch : c == letters[1] ? &out_roles->feature : &spatial[c - '0'];
    if (*slot >= 0)
      return parse_error(parser, here(parser), "parse-dim-labels", "'%c' stands twice in '%.*s'", c, SV_ARG(text));
    *slot = i;
    *out_digits += char_is_digit(c);
  }
  for (int i = 0; i < *out_digits; i++) {
    if (spatial[i] < 0) {
      return parse_error(parser, here(parser), "parse-dim-labels", "the digits of '%.*s' are not 0 to %d", SV_ARG(text),
                         *out_digits - 1);
    }
  }
  out_roles->spatial = ARENA_COPY_ARRAY(parser->arena, int64_t, spatial, *out_digits);
  return STATUS_OK;
}

Status parse_dim_labels(Parser *parser, const ConvolutionDimensionNumbers **out_numbers) {
  if (!at(parser, TOKEN_DIM_LABELS)) return parse_expected(parser, "dimension labels, like b01f_01io->b01f");
  StringView text = current(parser)->text;
  size_t low = (size_t)((const char *)memchr(text.data, '_', text.size) - text.data);
  size_t arrow = (size_t)((const char *)memchr(text.data, '>', text.size) - text.data);
  StringView kernel = sv_sub(text, low + 1, arrow - low - 2), output = sv_sub(text, arrow + 1, text.size);
  int input_digits, kernel_digits, output_digits;
  ConvolutionDimensionNumbers *numbers = ARENA_NEW(parser->arena, ConvolutionDimensionNumbers);
  RETURN_IF_ERROR(parse_roles(parser, sv_sub(text, 0, low), "bf", &numbers->input, &input_digits));
  RETURN_IF_ERROR(parse_roles(parser, kernel, "oi", &numbers->kernel, &kernel_digits));
  RETURN_IF_ERROR(parse_roles(parser, output, "bf", &numbers->output, &output_digits));
  if (input_digits != kernel_digits || input_digits != output_digits) {
    return parse_error(parser, here(parser), "parse-dim-labels", "the parts of '%.*s' have different numbers of digits",
                       SV_ARG(text));
  }
  numbers->spatial_rank = input_digits;
  *out_numbers = numbers;
  advance(parser);
  return STATUS_OK;
}

/* --- padding=1_2x-1_0_3, slice={[0:4:2], [0:7]} --- */

Status parse_padding(Parser *parser, const PaddingConfig **out_padding) {
  Int64List numbers;
  RETURN_IF_ERROR(parse_pads(parser, "padding per dimension, like 1_2x0_0_3 (low_high_interior)", &numbers));
  int64_t rank = numbers.count / 3;
  PaddingDimension *dims = ARENA_NEW_ARRAY(parser->arena, PaddingDimension, rank);
  for (int64_t i = 0; i < rank; i++) {
    int64_t interior = numbers.data[i * 3 + 2];
    dims[i] = (PaddingDimension){numbers.data[i * 3], numbers.data[i * 3 + 1], interior < 0 ? 0 : interior};
  }
  PaddingConfig *padding = ARENA_NEW(parser->arena, PaddingConfig);
  *padding = (PaddingConfig){(int)rank, dims};
  *out_padding = padding;
  return STATUS_OK;
}

Status parse_slice(Parser *parser, const SliceRanges **out_slice) {
  ARRAY(SliceDimension) dims = {0};
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{' of a slice"));
  if (!at(parser, TOKEN_RIGHT_BRACE)) {
    do {
      SliceDimension dimension = {.stride = 1};
      RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACKET, "'[' of a range"));
      RETURN_IF_ERROR(parse_int64(parser, &dimension.start));
      RETURN_IF_ERROR(expect(parser, TOKEN_COLON, "':'"));
      RETURN_IF_ERROR(parse_int64(parser, &dimension.limit));
      if (accept(parser, TOKEN_COLON)) RETURN_IF_ERROR(parse_int64(parser, &dimension.stride));
      RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_BRACKET, "']' of a range"));
      array_push(&dims, parser->arena, dimension);
    } while (accept(parser, TOKEN_COMMA));
  }
  RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_BRACE, "',' or '}'"));
  SliceRanges *slice = ARENA_NEW(parser->arena, SliceRanges);
  *slice = (SliceRanges){(int)dims.count, dims.data};
  *out_slice = slice;
  return STATUS_OK;
}

/* --- sparsity_config={lhs={sparsity=1x4 dimension=0 stride=1} rhs={…}} --- */

static Status parse_sparsity_operand(Parser *parser, SparsityOperand *out_operand) {
  static const char *const names[] = {"sparsity", "dimension", "stride"};
  static const FieldTable table = {names, 3};
  uint64_t seen = 0;
  out_operand->present = true;
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{'"));
  while (!at(parser, TOKEN_RIGHT_BRACE)) {
    int field = 0;
    RETURN_IF_ERROR(parse_field_name(parser, "a sparse operand", &table, &seen, &field));
    if (field == 0) {
      SourceLoc loc = here(parser);
      Int64List sizes;
      RETURN_IF_ERROR(parse_sizes(parser, &sizes));
      if (sizes.count != 2) return parse_error(parser, loc, "parse-attribute-value", "'sparsity' is written NxM");
      out_operand->n = sizes.data[0];
      out_operand->m = sizes.data[1];
    } else {
      RETURN_IF_ERROR(parse_int64(parser, field == 1 ? &out_operand->dimension : &out_operand->stride));
    }
    (void)accept(parser, TOKEN_COMMA);
  }
  advance(parser);
  return STATUS_OK;
}

Status parse_sparsity(Parser *parser, const SparsityConfig **out_sparsity) {
  static const char *const names[] = {"lhs", "rhs"};
  static const FieldTable table = {names, 2};
  SparsityConfig *config = ARENA_NEW(parser->arena, SparsityConfig);
  uint64_t seen = 0;
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{'"));
  while (!at(parser, TOKEN_RIGHT_BRACE)) {
    int field = 0;
    RETURN_IF_ERROR(parse_field_name(parser, "'sparsity_config'", &table, &seen, &field));
    RETURN_IF_ERROR(parse_sparsity_operand(parser, field == 0 ? &config->lhs : &config->rhs));
    (void)accept(parser, TOKEN_COMMA);
  }
  advance(parser);
  *out_sparsity = config;
  return STATUS_OK;
}

/* --- output_to_operand_aliasing={{0}: (1, {}), …} --- */

Status parse_aliasing(Parser *parser, HloAttr *attr) {
  ARRAY(OperandAlias) list = {0};
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{'"));
  while (!at(parser, TOKEN_RIGHT_BRACE)) {
    OperandAlias alias;
    RETURN_IF_ERROR(parse_shape_index(parser, &alias.output));
    RETURN_IF_ERROR(expect(parser, TOKEN_COLON, "':'"));
    RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_PAREN, "'(' of an operand number and index"));
    RETURN_IF_ERROR(parse_int64(parser, &alias.operand));
    RETURN_IF_ERROR(expect(parser, TOKEN_COMMA, "','"));
    RETURN_IF_ERROR(parse_shape_index(parser, &alias.operand_index));
    RETURN_IF_ERROR(expect(parser, TOKEN_RIGHT_PAREN, "')'"));
    array_push(&list, parser->arena, alias);
    if (!accept(parser, TOKEN_COMMA)) break;
  }
  attr->value.aliasing.count = list.count;
  attr->value.aliasing.data = list.data;
  return expect(parser, TOKEN_RIGHT_BRACE, "',' or '}'");
}

/* --- result_accuracy={mode=highest} or {tolerance={atol=0, rtol=1e-6, ulps=2}} --- */

static Status parse_tolerance(Parser *parser, ResultAccuracy *accuracy) {
  static const char *const names[] = {"atol", "rtol", "ulps"};
  static const FieldTable table = {names, 3};
  uint64_t seen = 0;
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{'"));
  if (!at(parser, TOKEN_RIGHT_BRACE)) {
    do {
      int field = 0;
      RETURN_IF_ERROR(parse_field_name(parser, "'tolerance'", &table, &seen, &field));
      if (field == 2) {
        RETURN_IF_ERROR(parse_int64(parser, &accuracy->ulps));
      } else {
        RETURN_IF_ERROR(parse_real(parser, field == 0 ? &accuracy->atol : &accuracy->rtol));
      }
    } while (accept(parser, TOKEN_COMMA));
  }
  return expect(parser, TOKEN_RIGHT_BRACE, "',' or '}'");
}

Status parse_accuracy(Parser *parser, const ResultAccuracy **out_accuracy) {
  ResultAccuracy *accuracy = ARENA_NEW(parser->arena, ResultAccuracy);
  RETURN_IF_ERROR(expect(parser, TOKEN_LEFT_BRACE, "'{'"));
  if (at_attribute(parser, "tolerance")) {
    advance(parser);
    accuracy->has_tolerance = true;
    RETURN_IF_ERROR(parse_tolerance(parser, accuracy));
  } else {
    RETURN_IF_ERROR(expect_attribute(parser, "mode"));
    StringView word = current(parser)->text;
    accuracy->mode = at(parser, TOKEN_IDENTIFIER) ? hlo_enum_from_text(HLO_ENUM_RESULT_ACCURACY_MODE, word) : -1;
    if (accuracy->mode < 0) return parse_expected(parser, "'default' or 'highest'");
    advance(parser);
  }
  *out_accuracy = accuracy;
  return expect(parser, TOKEN_RIGHT_BRACE, "'}'");
}
