#include "runtime/arrays/compare.h"

#include <math.h>

#include "runtime/arrays/array_text.h"

static bool is_exact(NpyType type) {
  return type.kind == 'b' || type.kind == 'i' || type.kind == 'u';
}

static bool close_parts(double got, double want, const CompareRule *rule) {
  if (got == want || (isnan(got) && isnan(want))) return true;
  return isfinite(want) && fabs(got - want) <= rule->atol + rule->rtol * fabs(want);
}

typedef struct Element {
  bool ok;
  double error;  /* |got - want|, NaN or infinite where that is */
  double excess; /* error in units of the tolerance; infinite where no tolerance helps */
} Element;

/* What |element| adds to the largest error: equal infinities and NaNs are no error. */
static double error_of(Element element) {
  return element.ok && !isfinite(element.error) ? 0 : element.error;
}

/* NaN is larger than all numbers. */
static double larger_error(double a, double b) {
  return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

/* A NaN that should be a number, or the reverse, is worse than any number. */
static bool is_worse(Element element, Element worst) {
  bool is_nan = isnan(error_of(element)), worst_is_nan = isnan(error_of(worst));
  return is_nan != worst_is_nan ? is_nan : element.excess > worst.excess;
}

static Element judge_exact(const NpyArray *want, int64_t w, const NpyArray *got, int64_t g) {
  if (is_exact(got->type)) {
    int64_t a = npy_get_int(got, g), b = npy_get_int(want, w);
    bool wide_unsigned = got->type.kind == 'u' && got->type.bytes == 8 && want->type.kind != 'u' && b < 0;
    if (a == b && !wide_unsigned) return (Element){true, 0, 0};
  }
  double error = fabs(npy_get_double(got, g, 0) - npy_get_double(want, w, 0));
  bool ok = !is_exact(got->type) && error == 0;
  return (Element){ok, error, ok ? 0 : isnan(error) ? INFINITY : fmax(error, 1)};
}

static Element judge_float(const NpyArray *want, int64_t w, const NpyArray *got, int64_t g, const CompareRule *rule) {
  double want_re = npy_get_double(want, w, 0), want_im = npy_get_double(want, w, 1);
  double got_re = npy_get_double(got, g, 0), got_im = npy_get_double(got, g, 1);
  Element element;
  bool finite = isfinite(want_re) && isfinite(want_im) && isfinite(got_re) && isfinite(got_im);
  double modulus = want->type.kind == 'c' ? hypot(want_re, want_im) : fabs(want_re);
  element.error = hypot(got_re - want_re, got_im - want_im);
  if (finite && want->type.kind == 'c')
    element.ok = element.error <= rule->atol + rule->rtol * modulus;
  else
    element.ok = close_parts(got_re, want_re, rule) && close_parts(got_im, want_im, rule);
  double tolerance = rule->atol + rule->rtol * modulus;
  if (finite)
    element.excess = element.error == 0 ? 0 : tolerance > 0 ? element.error / tolerance : INFINITY;
  else
    element.excess = element.ok ? 0 : INFINITY;
  return element;
}

/* What the elementwise rule implies for the norm and the mean of the whole, with room for another order of summation.
 */
static void check_stats(const NpyArray *got, const CompareRule *rule, CompareReport *report) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < got->count; i++) {
    double re = npy_get_double(got, i, 0), im = npy_get_double(got, i, 1);
    sum += re;
    squares += re * re + im * im;
  }
  double n = (double)got->count;
  report->mean = sum / n;
  report->l2 = sqrt(squares);
  double slack = rule->rtol * rule->l2 + rule->atol * sqrt(n) + 1e-9 * rule->l2;
  report->stats_ok = fabs(report->l2 - rule->l2) <= slack && fabs(report->mean - rule->mean) <= slack / sqrt(n);
}

static bool shapes_agree(const NpyArray *want, const NpyArray *got, int64_t stride) {
  if (stride > 1) return want->count == (got->count + stride - 1) / stride && want->rank == 1;
  if (want->rank != got->rank) return false;
  for (int i = 0; i < want->rank; i++)
    if (want->dims[i] != got->dims[i]) return false;
  return true;
}

void compare_arrays(const NpyArray *want, const NpyArray *got, const CompareRule *rule, CompareReport *out_report) {
  *out_report = (CompareReport){.worst = -1, .worst_sample = -1, .stats_ok = true};
  out_report->same_shape = shapes_agree(want, got, rule->sample_stride);
  if (!out_report->same_shape) return;
  Element worst = {.ok = true, .excess = -1};
  bool exact = is_exact(want->type);
  for (int64_t w = 0; w < want->count; w++) {
    int64_t g = w * rule->sample_stride;
    Element element = exact ? judge_exact(want, w, got, g) : judge_float(want, w, got, g, rule);
    out_report->mismatches += !element.ok;
    out_report->max_abs_error = larger_error(out_report->max_abs_error, error_of(element));
    if (is_worse(element, worst)) {
      worst = element;
      out_report->worst = g;
      out_report->worst_sample = w;
    }
  }
  out_report->count = want->count;
  if (rule->sample_stride > 1 && rule->has_stats && rule->max_mismatch == 0 && !exact && want->type.kind != 'c')
    check_stats(got, rule, out_report);
  out_report->ok = (double)out_report->mismatches <= rule->max_mismatch * (double)(want->count > 0 ? want->count : 1) &&
                   out_report->stats_ok;
}

static void print_index(StringBuilder *out, const NpyArray *array, int64_t index) {
  sb_append_char(out, '[');
  int64_t below = array->count;
  for (int i = 0; i < array->rank; i++) {
    below /= array->dims[i];
    sb_printf(out, i > 0 ? ",%lld" : "%lld", (long long)(index / below % array->dims[i]));
  }
  sb_append_char(out, ']');
}

void compare_report_print(StringBuilder *out, StringView label, const NpyArray *want, const NpyArray *got,
                          const CompareRule *rule, const CompareReport *report) {
  sb_printf(out, "%.*s: %s", SV_ARG(label), report->ok ? "ok" : "MISMATCH");
  if (!report->same_shape) {
    sb_printf(out, ", expected an array of shape %.*s\n", SV_ARG(npy_shape_text(out->arena, want->dims, want->rank)));
    return;
  }
  sb_printf(out, ", %lld of %lld differ", (long long)report->mismatches, (long long)report->count);
  if (report->worst >= 0) {
    sb_append_cstring(out, ", worst ");
    print_index(out, got, report->worst);
    sb_append_cstring(out, " got ");
    array_element_print(out, got, report->worst);
    sb_append_cstring(out, " want ");
    array_element_print(out, want, report->worst_sample);
    if (!is_exact(want->type)) {
      double modulus =
          hypot(npy_get_double(want, report->worst_sample, 0), npy_get_double(want, report->worst_sample, 1));
      sb_printf(out, " (tolerance %.3g)", rule->atol + rule->rtol * modulus);
    }
    sb_printf(out, ", largest error %.3g", report->max_abs_error);
  }
  if (!report->stats_ok)
    sb_printf(out, ", mean %.9g and norm %.9g where %.9g and %.9g were expected", report->mean, report->l2, rule->mean,
              rule->l2);
  sb_append_char(out, '\n');
}
