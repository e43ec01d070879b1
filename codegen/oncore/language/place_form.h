/* Places that depend on numbers known only at run time (starts of dynamic slices), as values that can be compared.
 *
 * A Place is a constant and a form: the number of a sum of run-time numbers, their quotients and remainders, in
 * IndexExpr's normal form; 0 is none.  Places of one form differ by their constants for all values that the numbers can
 * take; of places of two forms nothing is known but where they lie at least and at most. */
#ifndef XLAC_CODEGEN_ONCORE_LANGUAGE_PLACE_FORM_H
#define XLAC_CODEGEN_ONCORE_LANGUAGE_PLACE_FORM_H

#include "codegen/oncore/plan/plan.h"

typedef struct Place {
  int64_t constant;
  int32_t form;
} Place;

typedef struct PlaceForm {
  IndexExpr sum; /* of |space|, without a constant */
  int64_t lower, upper;
} PlaceForm;

typedef struct PlaceForms {
  Arena *arena;
  const Plan *plan;
  IndexSpace space;       /* of run-time values alone, numbered as in the Kernel */
  ARRAY(PlaceForm) forms; /* the first is 0 */
  int32_t *scalar_values; /* by scalar of the plan: the Kernel's value */
  int32_t *values;        /* the numbers from 0 on */
  IndexExpr *dims;        /* for as many dims as an expression can have */
  int32_t dim_count;
} PlaceForms;

/* In |arena|; |plan|, which has a Kernel, must outlive them. */
void place_forms_init(PlaceForms *forms, Arena *arena, const Plan *plan);

/* |expr| of the plan at the iterations |dims|, of the Kernel at the point |dims|. */
Place place_in_plan(PlaceForms *forms, IndexExpr expr, const int64_t *dims);
Place place_in_kernel(PlaceForms *forms, IndexExpr expr, const int64_t *dims);

/* The form of |a| + |factor| · |b|. */
int32_t place_form_add(PlaceForms *forms, int32_t a, int32_t b, int64_t factor);

/* The least and the largest of a form's values; all between may occur. */
int64_t place_form_lower(const PlaceForms *forms, int32_t form);
int64_t place_form_upper(const PlaceForms *forms, int32_t form);

/* "240", "20*start0 + 240": scalars by the plan's names. */
void place_print(StringBuilder *out, const PlaceForms *forms, Place place);

#endif
