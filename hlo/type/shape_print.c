#include "hlo/type/shape.h"

/* Shapes and layouts as HLO text. */

enum { INDEX_COMMENT_INTERVAL = 5 };

static void print_ints(StringBuilder *out, const int64_t *values, int count) {
  for (int i = 0; i < count; i++) {
    if (i > 0) sb_append_char(out, ',');
    sb_append_int(out, values[i]);
  }
}

static void print_tile(StringBuilder *out, const Tile *tile) {
  sb_append_char(out, '(');
  for (int i = 0; i < tile->rank; i++) {
    if (i > 0) sb_append_char(out, ',');
    if (tile->dims[i] == TILE_COMBINE) {
      sb_append_char(out, '*');
    } else {
      sb_append_int(out, tile->dims[i]);
    }
  }
  sb_append_char(out, ')');
}

static void print_field(StringBuilder *out, const char *name, int64_t value) {
  sb_printf(out, "%s(%lld)", name, (long long)value);
}

/* What follows the colon; nothing when all is default. */
static void print_layout_fields(StringBuilder *out, const Layout *layout) {
  if (layout->tile_count > 0) sb_append_char(out, 'T');
  for (int i = 0; i < layout->tile_count; i++) print_tile(out, &layout->tiles[i]);
  if (layout->tail_padding_alignment != 1) print_field(out, "L", layout->tail_padding_alignment);
  if (layout->index_type != TYPE_INVALID) sb_printf(out, "#(%s)", type_text(layout->index_type));
  if (layout->pointer_type != TYPE_INVALID) sb_printf(out, "*(%s)", type_text(layout->pointer_type));
  if (layout->element_size_in_bits != 0) print_field(out, "E", layout->element_size_in_bits);
  if (layout->memory_space != 0) print_field(out, "S", layout->memory_space);
  if (layout->split_count > 0) sb_append_cstring(out, "SC");
  for (int i = 0; i < layout->split_count; i++) {
    sb_printf(out, "(%lld:", (long long)layout->splits[i].dimension);
    print_ints(out, layout->splits[i].indices, layout->splits[i].index_count);
    sb_append_char(out, ')');
  }
  if (layout->metadata_prefix_bytes != 0) print_field(out, "M", layout->metadata_prefix_bytes);
}

static bool layout_has_fields(const Layout *layout) {
  return layout->tile_count > 0 || layout->tail_padding_alignment != 1 || layout->index_type != TYPE_INVALID ||
         layout->pointer_type != TYPE_INVALID || layout->element_size_in_bits != 0 || layout->memory_space != 0 ||
         layout->split_count > 0 || layout->metadata_prefix_bytes != 0;
}

/* {1,0:T(8,128)S(1)}; {} for a scalar's default. */
static void layout_print(StringBuilder *out, const Layout *layout) {
  sb_append_char(out, '{');
  print_ints(out, layout->minor_to_major, layout->rank);
  if (layout_has_fields(layout)) sb_append_char(out, ':');
  print_layout_fields(out, layout);
  sb_append_char(out, '}');
}

static void print_array(StringBuilder *out, const Shape *shape, bool with_layout) {
  sb_append_cstring(out, type_text(shape->type));
  sb_append_char(out, '[');
  for (int i = 0; i < shape->rank; i++) {
    if (i > 0) sb_append_char(out, ',');
    if (shape->dims[i] == SHAPE_UNBOUNDED) {
      sb_append_char(out, '?');
      continue;
    }
    if (shape->dynamic != NULL && shape->dynamic[i]) sb_append_cstring(out, "<=");
    sb_append_int(out, shape->dims[i]);
  }
  sb_append_char(out, ']');
  bool is_worth_printing = shape->rank > 0 || layout_has_fields(&shape->layout);
  if (with_layout && shape_is_array(shape) && is_worth_printing) layout_print(out, &shape->layout);
}

void shape_print(StringBuilder *out, const Shape *shape, bool with_layout) {
  if (shape->type != TYPE_TUPLE && shape->type != TYPE_BUFFER) {
    print_array(out, shape, with_layout);
    return;
  }
  sb_append_cstring(out, shape->type == TYPE_BUFFER ? "b(" : "(");
  for (int i = 0; i < shape->tuple_size; i++) {
    if (i > 0) sb_append_cstring(out, ", ");
    if (i > 0 && i % INDEX_COMMENT_INTERVAL == 0) sb_printf(out, "/*index=%d*/", i);
    shape_print(out, shape->tuple[i], with_layout);
  }
  sb_append_char(out, ')');
}

StringView shape_text(Arena *arena, const Shape *shape, bool with_layout) {
  StringBuilder out;
  sb_init(&out, arena);
  shape_print(&out, shape, with_layout);
  return sb_view(&out);
}
