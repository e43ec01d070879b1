#include "codegen/oncore/language/place_form.h"

#include <inttypes.h>

#include "base/checked_math.h"

void place_forms_init(PlaceForms *forms, Arena *arena, const Plan *plan) {
  const Kernel *kernel = plan->kernel;
  *forms = (PlaceForms){.arena = arena, .plan = plan};
  index_space_init(&forms->space, arena);
  array_push(&forms->forms, arena, (PlaceForm){0});
  forms->scalar_values = ARENA_NEW_ARRAY(arena, int32_t, plan->scalar_count);
  for (int32_t s = 0; s < plan->scalar_count; s++) forms->scalar_values[s] = plan->scalars[s].value;
  forms->values = ARENA_NEW_ARRAY(arena, int32_t, kernel->value_count);
  for (int32_t v = 0; v < kernel->value_count; v++) forms->values[v] = v;
  forms->dim_count = plan->loop_count > kernel->dim_count ? plan->loop_count : kernel->dim_count;
  forms->dims = ARENA_NEW_ARRAY(arena, IndexExpr, forms->dim_count);
}

static int32_t form_of(PlaceForms *forms, IndexExpr sum) {
  if (sum.term_count == 0) return 0;
  for (int64_t f = 1; f < forms->forms.count; f++)
    if (index_equal(forms->forms.data[f].sum, sum)) return (int32_t)f;
  PlaceForm form = {.sum = sum};
  index_range(&forms->space, sum, &form.lower, &form.upper);
  array_push(&forms->forms, forms->arena, form);
  return (int32_t)(forms->forms.count - 1);
}

/* What |dims| gives the dims of |space|. */
static Place place_of(PlaceForms *forms, const IndexSpace *space, IndexExpr expr, const int64_t *dims,
                      int32_t dim_count, const int32_t *values) {
  if (!index_has_atom(space, expr, INDEX_ATOM_VALUE)) return (Place){index_evaluate(space, expr, dims, NULL), 0};
  for (int32_t d = 0; d < dim_count; d++) forms->dims[d] = index_constant(dims[d]);
  IndexExpr sum = index_substitute(&forms->space, space, expr, forms->dims, values);
  int64_t constant = sum.constant;
  sum.constant = 0;
  return (Place){constant, form_of(forms, sum)};
}

Place place_in_plan(PlaceForms *forms, IndexExpr expr, const int64_t *dims) {
  const Plan *plan = forms->plan;
  return place_of(forms, &plan->space, expr, dims, plan->loop_count, forms->scalar_values);
}

Place place_in_kernel(PlaceForms *forms, IndexExpr expr, const int64_t *dims) {
  const Kernel *kernel = forms->plan->kernel;
  return place_of(forms, &kernel->space, expr, dims, kernel->dim_count, forms->values);
}

int32_t place_form_add(PlaceForms *forms, int32_t a, int32_t b, int64_t factor) {
  IndexExpr left = forms->forms.data[a].sum, right = forms->forms.data[b].sum;
  return form_of(forms, index_add(&forms->space, left, index_scale(&forms->space, right, factor)));
}

int64_t place_form_lower(const PlaceForms *forms, int32_t form) {
  return forms->forms.data[form].lower;
}

int64_t place_form_upper(const PlaceForms *forms, int32_t form) {
  return forms->forms.data[form].upper;
}

/* --- text --- */

static void print_sum(StringBuilder *out, const PlaceForms *forms, IndexExpr sum);

static void print_atom(StringBuilder *out, const PlaceForms *forms, const IndexAtom *atom) {
  const Plan *plan = forms->plan;
  if (atom->kind == INDEX_ATOM_VALUE) {
    for (int32_t s = 0; s < plan->scalar_count; s++) {
      if (plan->scalars[s].value != atom->number) continue;
      sb_append(out, plan->scalars[s].name);
      return;
    }
    sb_printf(out, "v%d", atom->number);
    return;
  }
  sb_append_char(out, '(');
  print_sum(out, forms, atom->inner);
  sb_printf(out, "%c%" PRId64 ")", atom->kind == INDEX_ATOM_DIV ? '/' : '%', atom->divisor);
}

static void print_sum(StringBuilder *out, const PlaceForms *forms, IndexExpr sum) {
  for (int i = 0; i < sum.term_count; i++) {
    if (i > 0) sb_append_char(out, '+');
    if (sum.terms[i].coefficient != 1) sb_printf(out, "%" PRId64 "*", sum.terms[i].coefficient);
    print_atom(out, forms, &forms->space.atoms.data[sum.terms[i].atom]);
  }
  if (sum.term_count == 0 || sum.constant != 0)
    sb_printf(out, "%s%" PRId64, sum.term_count > 0 && sum.constant > 0 ? "+" : "", sum.constant);
}

void place_print(StringBuilder *out, const PlaceForms *forms, Place place) {
  IndexExpr sum = forms->forms.data[place.form].sum;
  sum.constant = place.constant;
  print_sum(out, forms, sum);
}
