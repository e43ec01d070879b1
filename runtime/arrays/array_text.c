#include "runtime/arrays/array_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THRESHOLD 1000 /* elements beyond which an array is abbreviated */
#define EDGE 3         /* elements shown at each end of an abbreviated dimension */
#define LINE_WIDTH 75

typedef struct ElementText {
  char text[80];
} ElementText;

/* The shortest decimal form that reads back equal in the type of |bytes| bytes. */
static void print_real(char *out, size_t size, double value, int bytes) {
  if (!isfinite(value)) {
    snprintf(out, size, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    return;
  }
  int most = bytes == 2 ? 5 : bytes == 4 ? 9 : 17;
  for (int digits = 1; digits <= most; digits++) {
    snprintf(out, size, "%.*g", digits, value);
    if (bytes == 8 ? strtod(out, NULL) == value : strtof(out, NULL) == (float)value) break;
  }
  if (!strpbrk(out, ".e")) strncat(out, ".", size - strlen(out) - 1);
}

static void element_text(const NpyArray *array, int64_t index, ElementText *out) {
  NpyType type = array->type;
  double value = npy_get_double(array, index, 0);
  if (type.kind == 'b') {
    snprintf(out->text, sizeof out->text, "%s", npy_get_int(array, index) ? "True" : "False");
  } else if (type.kind == 'u') {
    snprintf(out->text, sizeof out->text, "%llu", (unsigned long long)npy_get_int(array, index));
  } else if (type.kind == 'i') {
    snprintf(out->text, sizeof out->text, "%lld", (long long)npy_get_int(array, index));
  } else if (type.kind != 'c') {
    print_real(out->text, sizeof out->text, value, npy_narrow_type(type) == TYPE_INVALID ? type.bytes : 4);
  } else {
    char re[32], im[32];
    print_real(re, sizeof re, value, type.bytes / 2);
    print_real(im, sizeof im, npy_get_double(array, index, 1), type.bytes / 2);
    snprintf(out->text, sizeof out->text, "%s%s%sj", re, im[0] == '-' ? "" : "+", im);
  }
}

void array_element_print(StringBuilder *out, const NpyArray *array, int64_t index) {
  ElementText text;
  element_text(array, index, &text);
  sb_append_cstring(out, text.text);
}

typedef struct ArrayPrinter {
  StringBuilder *out;
  const NpyArray *array;
  bool abbreviate;
  int left, right; /* the longest part up to the decimal point, and after it, among the elements shown */
  int width;       /* of a column */
} ArrayPrinter;

/* The element after |i| that is shown along a dimension of |size|; a gap is reported through |out_gap|. */
static int64_t next_shown(const ArrayPrinter *printer, int64_t size, int64_t i, bool *out_gap) {
  *out_gap = printer->abbreviate && size > 2 * EDGE && i == EDGE - 1;
  return *out_gap ? size - EDGE : i + 1;
}

/* Characters up to the decimal point; 0 without one. */
static int left_part(const char *text) {
  const char *point = strchr(text, '.');
  return point ? (int)(point + 1 - text) : 0;
}

static void measure(ArrayPrinter *printer, int dim, int64_t index) {
  if (dim == printer->array->rank) {
    ElementText text;
    element_text(printer->array, index, &text);
    int width = (int)strlen(text.text), left = left_part(text.text);
    if (left > printer->left) printer->left = left;
    if (width - left > printer->right) printer->right = width - left;
    if (left == 0 && width > printer->width) printer->width = width;
    return;
  }
  int64_t size = printer->array->dims[dim];
  bool gap;
  for (int64_t i = 0; i < size; i = next_shown(printer, size, i, &gap)) measure(printer, dim + 1, index * size + i);
}

/* Decimal points stand below one another; what has none stands at the right. */
static void print_aligned(const ArrayPrinter *printer, const char *text) {
  int left = left_part(text), behind = left > 0 ? printer->right - ((int)strlen(text) - left) : 0;
  sb_printf(printer->out, "%*s", printer->width - behind, text);
  sb_append_repeated(printer->out, ' ', behind);
}

static void print_row(ArrayPrinter *printer, int dim, int64_t index) {
  int64_t size = printer->array->dims[dim];
  int column = dim + 1;
  bool gap = false;
  for (int64_t i = 0; i < size; i = next_shown(printer, size, i, &gap)) {
    int needed = printer->width + (gap ? 4 : 0) + 1;
    if (i > 0 && column + needed > LINE_WIDTH) {
      sb_append_char(printer->out, '\n');
      sb_append_repeated(printer->out, ' ', dim + 1);
      column = dim + 1;
    } else if (i > 0) {
      sb_append_char(printer->out, ' ');
    }
    if (gap) sb_append_cstring(printer->out, "... ");
    ElementText text;
    element_text(printer->array, index * size + i, &text);
    print_aligned(printer, text.text);
    column += needed;
  }
}

static void print_dimension(ArrayPrinter *printer, int dim, int64_t index) {
  int rank = printer->array->rank;
  sb_append_char(printer->out, '[');
  int64_t size = printer->array->dims[dim];
  if (dim == rank - 1) {
    print_row(printer, dim, index);
  } else {
    bool gap = false;
    for (int64_t i = 0; i < size; i = next_shown(printer, size, i, &gap)) {
      if (i > 0) {
        sb_append_repeated(printer->out, '\n', rank - 1 - dim);
        sb_append_repeated(printer->out, ' ', dim + 1);
      }
      if (gap) {
        sb_append_cstring(printer->out, "...");
        sb_append_repeated(printer->out, '\n', rank - 1 - dim);
        sb_append_repeated(printer->out, ' ', dim + 1);
      }
      print_dimension(printer, dim + 1, index * size + i);
    }
  }
  sb_append_char(printer->out, ']');
}

void array_print(StringBuilder *out, const NpyArray *array) {
  ArrayPrinter printer = {.out = out, .array = array, .abbreviate = array->count > THRESHOLD};
  if (array->rank == 0) {
    array_element_print(out, array, 0);
  } else if (array->count == 0) {
    sb_append_cstring(out, "[]");
  } else {
    measure(&printer, 0, 0);
    if (printer.left + printer.right > printer.width) printer.width = printer.left + printer.right;
    print_dimension(&printer, 0, 0);
  }
}
