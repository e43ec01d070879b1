/* Sharing: why two values are in one place, or may not be.
 *
 * The answers are those that memory is planned with: requirements that were met (HloAlias's joins), operands that a
 * result may overwrite, and refusals to unite two sets. */
#ifndef XLAC_HLO_ANALYSIS_SHARING_H
#define XLAC_HLO_ANALYSIS_SHARING_H

#include "hlo/analysis/buffer_analysis.h"

/* One reason why two values are in one place. */
typedef struct SharingStep {
  bool overwrites; /* |join|.b takes the bytes of its operand |join|.a, which dies there: a choice, not a need */
  AliasJoin join;
} SharingStep;

typedef struct SharingPath {
  int32_t count; /* 0: the values have nothing to do with one another */
  const SharingStep *steps;
} SharingPath;

/* The fewest requirements that tie |a| to |b|, from |a| on; with |members|, a flag per value, the operands as well that
 * values among these overwrite.  In |arena|. */
SharingPath sharing_path(HloAlias *alias, int32_t a, int32_t b, const bool *members, Arena *arena);

/* Why the bytes of no value of |left| may be those of any of |right|: the first refusal between one of each, kind
 * ALIAS_GRANTED when nothing stands against any pair. */
AliasRefusal sharing_refusal(HloAlias *alias, const int32_t *left, int32_t left_count, const int32_t *right,
                             int32_t right_count);

/* "loop state: (q, {}) enters loop 'while' as ...": the rule and the instructions, one clause. */
const char *sharing_step_text(const HloAlias *alias, const SharingStep *step, Arena *arena);

/* The name of the rule behind a refusal: "lifetimes", "read only", … */
const char *sharing_refusal_rule(AliasRefusal refusal);

#endif
