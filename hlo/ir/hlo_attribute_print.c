#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/ir/hlo_ir_internal.h"

/* Attributes as HLO text, each kind of value in XLA's spelling. */

void hlo_string_escape(StringBuilder *out, StringView text) {
  static const char escaped[] = "\n\r\t\"'\\", letters[] = "nrt\"'\\";
  for (size_t i = 0; i < text.size; i++) {
    unsigned char c = (unsigned char)text.data[i];
    const char *at = c ? strchr(escaped, c) : NULL;
    if (at) {
      sb_append_char(out, '\\');
      sb_append_char(out, letters[at - escaped]);
    } else if (c < 0x20 || c > 0x7e) {
      sb_printf(out, "\\%03o", c);
    } else {
      sb_append_char(out, (char)c);
    }
  }
}

static void print_quoted(StringBuilder *out, StringView text) {
  sb_append_char(out, '"');
  hlo_string_escape(out, text);
  sb_append_char(out, '"');
}

/* The scanner XLA uses: depth of braces, double-quoted strings skipped, nothing else has meaning. */
bool hlo_text_is_dictionary(StringView text) {
  if (text.size < 2 || text.data[0] != '{') return false;
  int64_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size; i++) {
    char c = text.data[i];
    if (c == 0) return false;
    if (in_string) {
      if (c == '\\') {
        i++;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{') {
      depth++;
    } else if (c == '}' && --depth == 0) {
      return i + 1 == text.size;
    }
  }
  return false;
}

static void print_raw_or_quoted(StringBuilder *out, StringView text) {
  if (hlo_text_is_dictionary(text)) {
    sb_append(out, text);
  } else {
    print_quoted(out, text);
  }
}

/* The shortest decimal from six digits on that reads back exactly; |single|: as a float, which |value| then is. */
static void print_real(StringBuilder *out, double value, bool single) {
  if (value == 0) { /* an integer token would lose the sign */
    sb_append_cstring(out, 1 / value < 0 ? "-0.0" : "0");
    return;
  }
  char text[40];
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(text, sizeof(text), "%.*g", digits, value);
    double read = strtod(text, NULL);
    if (read == value || (single && (float)read == (float)value)) break;
  }
  sb_append_cstring(out, text);
}

static void print_double(StringBuilder *out, double value) {
  print_real(out, value, false);
}

static void print_bool(StringBuilder *out, bool value) {
  sb_append_cstring(out, value ? "true" : "false");
}

static void print_ints(StringBuilder *out, Int64List list) {
  sb_append_char(out, '{');
  hlo_int_list_print(out, list.data, list.count);
  sb_append_char(out, '}');
}

static void print_int_lists(StringBuilder *out, const Int64List *lists, int64_t count) {
  sb_append_char(out, '{');
  for (int64_t i = 0; i < count; i++) {
    if (i > 0) sb_append_char(out, ',');
    print_ints(out, lists[i]);
  }
  sb_append_char(out, '}');
}

void hlo_shape_index_print(StringBuilder *out, ShapeIndex index) {
  print_ints(out, (Int64List){index.depth, index.path});
}

static void print_bools(StringBuilder *out, const bool *values, int64_t count) {
  sb_append_char(out, '{');
  for (int64_t i = 0; i < count; i++) {
    if (i > 0) sb_append_char(out, ',');
    print_bool(out, values[i]);
  }
  sb_append_char(out, '}');
}

/* Words that are no identifiers to XLA's lexer; a type's name is none either. */
static bool is_reserved(StringView name) {
  static const char *const words[] = {"true",
                                      "false",
                                      "inf",
                                      "nan",
                                      "HloModule",
                                      "ENTRY",
                                      "ROOT",
                                      "FileNames",
                                      "manual",
                                      "replicated",
                                      "maximal",
                                      "FunctionNames",
                                      "StackFrames",
                                      "unknown",
                                      "shard_like",
                                      "FileLocations",
                                      "shard_as",
                                      "unreduced",
                                      "last_tile_dim_replicate"};
  for (size_t i = 0; i < name.size; i++) {
    if (name.data[i] == '.' || name.data[i] == '-') return false; /* most names; no reserved word has these */
  }
  for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
    if (sv_equal_cstring(name, words[i])) return true;
  }
  return type_from_text(name) != TYPE_INVALID;
}

void hlo_name_print(StringBuilder *out, StringView name, bool percent) {
  if (percent || is_reserved(name)) sb_append_char(out, '%');
  sb_append(out, name);
}

static void print_precisions(StringBuilder *out, Int64List list) {
  sb_append_char(out, '{');
  for (int64_t i = 0; i < list.count; i++) {
    if (i > 0) sb_append_char(out, ',');
    sb_append_cstring(out, hlo_enum_text(HLO_ENUM_OPERAND_PRECISION, list.data[i]));
  }
  sb_append_char(out, '}');
}

static void print_computations(StringBuilder *out, const HloAttr *attr, bool percent) {
  sb_append_char(out, '{');
  for (int64_t i = 0; i < attr->value.computations.count; i++) {
    if (i > 0) sb_append_cstring(out, ", ");
    hlo_name_print(out, attr->value.computations.data[i]->name, percent);
  }
  sb_append_char(out, '}');
}

static void print_instructions(StringBuilder *out, const HloAttr *attr, bool percent) {
  sb_append_char(out, '{');
  for (int64_t i = 0; i < attr->value.instructions.count; i++) {
    if (i > 0) sb_append_cstring(out, ", ");
    hlo_name_print(out, attr->value.instructions.data[i]->name, percent);
  }
  sb_append_char(out, '}');
}

static void print_shapes(StringBuilder *out, const HloAttr *attr) {
  sb_append_char(out, '{');
  for (int64_t i = 0; i < attr->value.shapes.count; i++) {
    if (i > 0) sb_append_cstring(out, ", ");
    shape_print(out, attr->value.shapes.data[i], true);
  }
  sb_append_char(out, '}');
}

/* Shape and value; tuples spell out each element's shape, not their own.  The reader bounds the nesting. */
static void print_shaped_literal(StringBuilder *out, const Literal *literal) {
  if (!shape_is_tuple(literal->shape)) {
    shape_print(out, literal->shape, true);
    sb_append_char(out, ' ');
    literal_print(out, literal, -1);
    return;
  }
  sb_append_cstring(out, "( ");
  for (int i = 0; i < literal->shape->tuple_size; i++) {
    if (i > 0) sb_append_cstring(out, ", ");
    print_shaped_literal(out, &literal->tuple[i]);
  }
  sb_append_cstring(out, " )");
}

/* --- windows and ranges --- */

typedef enum WindowPart {
  WINDOW_SIZE,
  WINDOW_STRIDE,
  WINDOW_PAD,
  WINDOW_LHS_DILATE,
  WINDOW_RHS_DILATE,
  WINDOW_RHS_REVERSAL,
  WINDOW_PART_COUNT
} WindowPart;

static int64_t window_value(const WindowDimension *dim, WindowPart part) {
  switch (part) {
    case WINDOW_SIZE: return dim->size;
    case WINDOW_STRIDE: return dim->stride;
    case WINDOW_LHS_DILATE: return dim->base_dilation;
    case WINDOW_RHS_DILATE: return dim->window_dilation;
    case WINDOW_RHS_REVERSAL: return dim->reversal;
    default: return dim->pad_low;
  }
}

static bool window_part_is_default(const Window *window, WindowPart part) {
  if (part == WINDOW_SIZE) return false;
  int64_t neutral = part == WINDOW_PAD || part == WINDOW_RHS_REVERSAL ? 0 : 1;
  for (int i = 0; i < window->rank; i++) {
    if (window_value(&window->dims[i], part) != neutral) return false;
    if (part == WINDOW_PAD && window->dims[i].pad_high != 0) return false;
  }
  return true;
}

static void print_window(StringBuilder *out, const Window *window) {
  static const char *const names[WINDOW_PART_COUNT] = {"size",       "stride",     "pad",
                                                       "lhs_dilate", "rhs_dilate", "rhs_reversal"};
  sb_append_char(out, '{');
  for (int part = 0; part < WINDOW_PART_COUNT && window->rank > 0; part++) {
    if (window_part_is_default(window, (WindowPart)part)) continue;
    if (part > 0) sb_append_char(out, ' ');
    sb_append_cstring(out, names[part]);
    for (int i = 0; i < window->rank; i++) {
      sb_append_char(out, i == 0 ? '=' : 'x');
      sb_append_int(out, window_value(&window->dims[i], (WindowPart)part));
      if (part == WINDOW_PAD) sb_printf(out, "_%lld", (long long)window->dims[i].pad_high);
    }
  }
  sb_append_char(out, '}');
}

/* One group of dim_labels, with the letters of its two roles; '?' where a dimension has none.  Digits end at 9, as in
 * the text. */
static void print_roles(StringBuilder *out, const ConvolutionRoles *roles, int spatial_rank, const char letters[2]) {
  for (int64_t position = 0; position < roles->rank; position++) {
    char label = '?';
    if (position == roles->batch) label = letters[0];
    if (position == roles->feature) label = letters[1];
    for (int i = 0; i < spatial_rank && i < 10; i++) {
      if (roles->spatial[i] == position) label = (char)('0' + i);
    }
    sb_append_char(out, label);
  }
}

static void print_dim_labels(StringBuilder *out, const ConvolutionDimensionNumbers *labels) {
  print_roles(out, &labels->input, labels->spatial_rank, "bf");
  sb_append_char(out, '_');
  print_roles(out, &labels->kernel, labels->spatial_rank, "oi");
  sb_append_cstring(out, "->");
  print_roles(out, &labels->output, labels->spatial_rank, "bf");
}

static void print_padding(StringBuilder *out, const PaddingConfig *padding) {
  bool interior = false;
  for (int i = 0; i < padding->rank; i++) interior = interior || padding->dims[i].interior != 0;
  for (int i = 0; i < padding->rank; i++) {
    const PaddingDimension *dim = &padding->dims[i];
    sb_printf(out, "%s%lld_%lld", i > 0 ? "x" : "", (long long)dim->low, (long long)dim->high);
    if (interior) sb_printf(out, "_%lld", (long long)dim->interior);
  }
}

static void print_slice(StringBuilder *out, const SliceRanges *slice) {
  bool strides = false;
  for (int i = 0; i < slice->rank; i++) strides = strides || slice->dims[i].stride != 1;
  sb_append_char(out, '{');
  for (int i = 0; i < slice->rank; i++) {
    const SliceDimension *dim = &slice->dims[i];
    sb_printf(out, "%s[%lld:%lld", i > 0 ? ", " : "", (long long)dim->start, (long long)dim->limit);
    if (strides) sb_printf(out, ":%lld", (long long)dim->stride);
    sb_append_char(out, ']');
  }
  sb_append_char(out, '}');
}

/* --- annotations --- */

static void print_replica_groups(StringBuilder *out, const ReplicaGroups *groups) {
  switch (groups->form) {
    case REPLICA_GROUPS_LISTS: print_int_lists(out, groups->groups, groups->group_count); break;
    case REPLICA_GROUPS_IOTA:
      sb_printf(out, "[%lld,%lld]<=", (long long)groups->iota_groups, (long long)groups->iota_size);
      hlo_iota_tile_print(out, &groups->iota);
      break;
    case REPLICA_GROUPS_MESH:
      hlo_mesh_print(out, groups->mesh);
      sb_append_char(out, ' ');
      hlo_axis_refs_print(out, &groups->axes);
      break;
  }
}

static void print_aliasing(StringBuilder *out, const HloAttr *attr) {
  sb_append_char(out, '{');
  for (int64_t i = 0; i < attr->value.aliasing.count; i++) {
    const OperandAlias *alias = &attr->value.aliasing.data[i];
    if (i > 0) sb_append_cstring(out, ", ");
    hlo_shape_index_print(out, alias->output);
    sb_printf(out, ": (%lld, ", (long long)alias->operand);
    hlo_shape_index_print(out, alias->operand_index);
    sb_append_char(out, ')');
  }
  sb_append_char(out, '}');
}

static void print_sparsity_operand(StringBuilder *out, const char *name, const SparsityOperand *operand) {
  sb_printf(out, "%s={sparsity=%lldx%lld dimension=%lld stride=%lld}", name, (long long)operand->n,
            (long long)operand->m, (long long)operand->dimension, (long long)operand->stride);
}

static void print_sparsity(StringBuilder *out, const SparsityConfig *config) {
  sb_append_char(out, '{');
  if (config->lhs.present) print_sparsity_operand(out, "lhs", &config->lhs);
  if (config->lhs.present && config->rhs.present) sb_append_char(out, ' ');
  if (config->rhs.present) print_sparsity_operand(out, "rhs", &config->rhs);
  sb_append_char(out, '}');
}

static void print_accuracy(StringBuilder *out, const ResultAccuracy *accuracy) {
  if (!accuracy->has_tolerance) {
    sb_printf(out, "{mode=%s}", hlo_enum_text(HLO_ENUM_RESULT_ACCURACY_MODE, accuracy->mode));
    return;
  }
  sb_append_cstring(out, "{tolerance={atol=");
  print_double(out, accuracy->atol);
  sb_append_cstring(out, ",rtol=");
  print_double(out, accuracy->rtol);
  sb_printf(out, ",ulps=%lld}}", (long long)accuracy->ulps);
}

void hlo_frontend_attributes_print(StringBuilder *out, const FrontendAttribute *attributes, int64_t count) {
  sb_append_char(out, '{');
  for (int64_t i = 0; i < count; i++) {
    if (i > 0) sb_append_char(out, ',');
    sb_append(out, attributes[i].key);
    sb_append_char(out, '=');
    print_raw_or_quoted(out, attributes[i].value);
  }
  sb_append_char(out, '}');
}

static void print_statistics(StringBuilder *out, const HloAttr *attr) {
  sb_append_char(out, '{');
  for (int64_t i = 0; i < attr->value.statistics.count; i++) {
    if (i > 0) sb_append_char(out, ',');
    sb_append(out, attr->value.statistics.data[i].name);
    sb_append_char(out, '=');
    print_double(out, attr->value.statistics.data[i].value);
  }
  sb_append_char(out, '}');
}

/* The reader bounds the depth of the tree. */
void hlo_origin_print(StringBuilder *out, const OriginNode *node) {
  if (!node->is_tuple) {
    sb_append_char(out, '{');
    if (node->has_name) {
      print_quoted(out, node->name);
      if (node->index.count > 0) {
        sb_append_char(out, ' ');
        print_ints(out, node->index);
      }
    }
    sb_append_char(out, '}');
    return;
  }
  sb_append_char(out, '(');
  for (int64_t i = 0; i < node->tuple_count; i++) {
    if (i > 0) sb_append_cstring(out, ", ");
    hlo_origin_print(out, &node->tuple[i]);
  }
  sb_append_char(out, ')');
}

static void print_origin(StringBuilder *out, const HloOrigin *origin) {
  if (origin->synthetic_call) {
    sb_append_cstring(out, "{[synthetic_call]}");
    return;
  }
  sb_append_char(out, '{');
  hlo_origin_print(out, &origin->root);
  sb_append_char(out, '}');
}

static void metadata_text(StringBuilder *out, const char *name, StringView text, const char **separator) {
  if (text.size == 0) return;
  sb_printf(out, "%s%s=", *separator, name);
  print_quoted(out, text);
  *separator = " ";
}

static void metadata_int(StringBuilder *out, const char *name, int64_t value, const char **separator) {
  if (value == 0) return;
  sb_printf(out, "%s%s=%lld", *separator, name, (long long)value);
  *separator = " ";
}

void hlo_metadata_print(StringBuilder *out, const HloMetadata *metadata) {
  const char *separator = "";
  sb_append_char(out, '{');
  metadata_text(out, "op_type", metadata->op_type, &separator);
  metadata_text(out, "op_name", metadata->op_name, &separator);
  metadata_text(out, "source_file", metadata->source_file, &separator);
  metadata_int(out, "source_line", metadata->source_line, &separator);
  metadata_int(out, "source_end_line", metadata->source_end_line, &separator);
  metadata_int(out, "source_column", metadata->source_column, &separator);
  metadata_int(out, "source_end_column", metadata->source_end_column, &separator);
  if (metadata->profile_type.count > 0) {
    sb_printf(out, "%sprofile_type=", separator);
    print_ints(out, metadata->profile_type);
    separator = " ";
  }
  metadata_text(out, "deduplicated_name", metadata->deduplicated_name, &separator);
  metadata_text(out, "scheduling_name", metadata->scheduling_name, &separator);
  metadata_int(out, "stack_frame_id", metadata->stack_frame_id, &separator);
  metadata_text(out, "metadata_payload", metadata->payload, &separator);
  sb_append_char(out, '}');
}

/* --- by kind --- */

static void print_value(StringBuilder *out, const HloAttr *attr, bool percent) {
  const HloAttrInfo *info = hlo_attr_info(attr->id);
  switch (info->kind) {
    case HLO_ATTR_KIND_BOOL: print_bool(out, attr->value.boolean); break;
    case HLO_ATTR_KIND_INT32:
    case HLO_ATTR_KIND_INT64: sb_append_int(out, attr->value.integer); break;
    case HLO_ATTR_KIND_FLOAT: print_real(out, attr->value.real, true); break;
    case HLO_ATTR_KIND_STRING: print_quoted(out, attr->value.text); break;
    case HLO_ATTR_KIND_ENUM: sb_append_cstring(out, hlo_enum_text(info->enumeration, attr->value.integer)); break;
    case HLO_ATTR_KIND_INT64_LIST: print_ints(out, attr->value.ints); break;
    case HLO_ATTR_KIND_INT64_LISTS:
      print_int_lists(out, attr->value.int_lists.data, attr->value.int_lists.count);
      break;
    case HLO_ATTR_KIND_BOOL_LIST: print_bools(out, attr->value.bools.data, attr->value.bools.count); break;
    case HLO_ATTR_KIND_PRECISION_LIST: print_precisions(out, attr->value.ints); break;
    case HLO_ATTR_KIND_COMPUTATION: hlo_name_print(out, attr->value.computation->name, percent); break;
    case HLO_ATTR_KIND_COMPUTATION_LIST: print_computations(out, attr, percent); break;
    case HLO_ATTR_KIND_INSTRUCTION_LIST: print_instructions(out, attr, percent); break;
    case HLO_ATTR_KIND_SHAPE: shape_print(out, attr->value.shape, true); break;
    case HLO_ATTR_KIND_SHAPE_LIST: print_shapes(out, attr); break;
    case HLO_ATTR_KIND_LITERAL: literal_print(out, attr->value.literal, -1); break;
    case HLO_ATTR_KIND_SHAPED_LITERAL: print_shaped_literal(out, attr->value.literal); break;
    case HLO_ATTR_KIND_WINDOW: print_window(out, attr->value.window); break;
    case HLO_ATTR_KIND_DIM_LABELS: print_dim_labels(out, attr->value.dim_labels); break;
    case HLO_ATTR_KIND_PADDING: print_padding(out, attr->value.padding); break;
    case HLO_ATTR_KIND_SLICE: print_slice(out, attr->value.slice); break;
    case HLO_ATTR_KIND_REPLICA_GROUPS: print_replica_groups(out, attr->value.replica_groups); break;
    case HLO_ATTR_KIND_SHARDING: hlo_sharding_print(out, attr->value.sharding); break;
    case HLO_ATTR_KIND_DOMAIN:
      sb_append_cstring(out, "{kind=\"sharding\", entry=");
      hlo_sharding_print(out, attr->value.domain->entry);
      sb_append_cstring(out, ", exit=");
      hlo_sharding_print(out, attr->value.domain->exit);
      sb_append_char(out, '}');
      break;
    case HLO_ATTR_KIND_ALIASING: print_aliasing(out, attr); break;
    case HLO_ATTR_KIND_SPARSITY_CONFIG: print_sparsity(out, attr->value.sparsity); break;
    case HLO_ATTR_KIND_RESULT_ACCURACY: print_accuracy(out, attr->value.accuracy); break;
    case HLO_ATTR_KIND_FRONTEND_ATTRIBUTES:
      hlo_frontend_attributes_print(out, attr->value.frontend.data, attr->value.frontend.count);
      break;
    case HLO_ATTR_KIND_STATISTICS: print_statistics(out, attr); break;
    case HLO_ATTR_KIND_ORIGIN: print_origin(out, attr->value.origin); break;
    case HLO_ATTR_KIND_METADATA: hlo_metadata_print(out, attr->value.metadata); break;
    case HLO_ATTR_KIND_BACKEND_CONFIG: print_raw_or_quoted(out, attr->value.text); break;
    case HLO_ATTR_KIND_COUNT: break;
  }
}

void hlo_attr_print(StringBuilder *out, const HloAttr *attr, bool percent) {
  const char *name = hlo_attr_info(attr->id)->text;
  if (name[0] != 0) {
    sb_append_cstring(out, name);
    sb_append_char(out, '=');
  }
  print_value(out, attr, percent);
}
