/* HloAlias: which values share memory because they must, and where they cannot (after XLA's HloAliasAnalysis and
 * CopyInsertion).
 *
 * A set holds values whose live ranges follow one another.  Must-alias requirements are edges; each unites two sets,
 * or, when ranges overlap or something is read-only, is a conflict, which a copy at the place the conflict names
 * resolves. */
#ifndef XLAC_HLO_ANALYSIS_HLO_ALIAS_H
#define XLAC_HLO_ANALYSIS_HLO_ALIAS_H

#include "hlo/analysis/hlo_liveness.h"

typedef enum AliasEdge {
  ALIAS_IN_PLACE,    /* operand |index|, node |node| of |site| and the result it updates */
  ALIAS_LOOP_INIT,   /* operand 0, node |node| of while |site| and the loop state */
  ALIAS_LOOP_RESULT, /* node |node| of the body's root and the loop state of |site| */
  ALIAS_LOOP_STATE,  /* the loop state itself: no copy helps */
  ALIAS_BRANCH,      /* node |node| of the root of branch |index| and conditional |site| */
  ALIAS_DONATION,    /* node |node| of the entry's root and the parameter that is donated to it */
  ALIAS_RESULT       /* node |node| of the entry's root and the caller's buffer for it */
} AliasEdge;

typedef enum AliasRefusalKind {
  ALIAS_GRANTED,
  ALIAS_READ_ONLY, /* |a| is a constant or a parameter that is not donated */
  ALIAS_LAYOUT,    /* |a| and |b| lay out their elements differently, or live in different memory spaces */
  ALIAS_TWO_HOMES, /* both are the caller's memory already, at different places */
  ALIAS_ALIGNMENT, /* |a| or |b| has larger elements than the result in whose memory it would live */
  ALIAS_OVERLAP    /* |a| is still needed when |b| is written */
} AliasRefusalKind;

typedef struct AliasRefusal {
  AliasRefusalKind kind;
  int32_t a, b; /* values */
} AliasRefusal;

typedef struct AliasConflict {
  AliasEdge edge;
  HloInstruction *site; /* NULL for the entry's results */
  int32_t index, node;
  int32_t result_node; /* IN_PLACE: the leaf that is updated */
  bool is_move; /* the value is only passed on here (parameter, constant, value from outside, second mention): it needs
                   a copy whatever becomes of other conflicts */
  AliasRefusal refusal;
} AliasConflict;

/* A requirement that was met: values |a| and |b| are in one set because of it. */
typedef struct AliasJoin {
  AliasEdge edge;
  const HloInstruction *site; /* as in AliasConflict */
  int32_t index, node;
  int32_t a, b;
} AliasJoin;

typedef struct HloAliasSet {
  int32_t count, capacity;
  int32_t *ranges; /* of its values, by number in HloLiveness, in order of time */
  bool is_read_only;
  int32_t parameter, result; /* leaf numbers of the caller's memory it lives in, -1 for none */
  int64_t size, colour;      /* the largest of its values; memory space */
  int64_t alignment;         /* the largest that its values' elements need */
} HloAliasSet;

/* The leaves (nodes that are no tuples) of parameters and result, numbered depth first over all of them. */
typedef struct HloEntryLeaves {
  int32_t parameter_count, result_count;
  const BufferPosition *parameters, *results;
  const int32_t *donated_to; /* by parameter leaf: the result leaf that input_output_alias gives it, -1 for none */
  const int32_t *given_by;   /* by result leaf */
  int32_t first_prepared;    /* results from there on are what is prepared (HloModule.preparation), no run's own */
} HloEntryLeaves;

typedef struct HloAlias {
  Arena *arena;
  const HloDataflow *flow;
  const HloOrdering *ordering;
  const HloLiveness *liveness;
  HloEntryLeaves leaves;
  int32_t *parents;  /* union-find over values; the root's number is the set's */
  HloAliasSet *sets; /* by value number, valid for roots */
  ARRAY(AliasConflict) conflicts;
  ARRAY(AliasJoin) joins; /* of hlo_alias_build, not of hlo_alias_unite */
} HloAlias;

/* Those of |module|'s entry, in |arena|. */
HloEntryLeaves hlo_entry_leaves(Arena *arena, const HloModule *module);

/* The sets of all values once every edge is granted or a conflict, in |arena|; what it is made of must live as long. */
HloAlias *hlo_alias_build(Arena *arena, const HloDataflow *dataflow, const HloOrdering *ordering,
                          const HloLiveness *liveness);

/* The set of a value. */
int32_t hlo_alias_set(HloAlias *alias, int32_t value);

/* The value that comes first in a set. */
int32_t hlo_alias_first_value(const HloAlias *alias, const HloAliasSet *set);

/* Values, not phis or parameters: |earlier| is read by the instruction that makes |later|, which may overwrite it
 * wherever it reads it (hlo_may_share_operand). */
bool hlo_alias_is_overwritten_by(const HloAlias *alias, int32_t earlier, int32_t later);

/* Unites the sets of two values if nothing stands against it. */
AliasRefusal hlo_alias_unite(HloAlias *alias, int32_t a, int32_t b);

/* What hlo_alias_unite would say. */
AliasRefusal hlo_alias_refusal_to_unite(HloAlias *alias, int32_t a, int32_t b);

/* Whether |value|'s own range (not those of its set) overlaps another value's of the set of |other|, which is then
 * told. */
bool hlo_alias_overlaps(HloAlias *alias, int32_t value, int32_t other, AliasRefusal *out_refusal);

/* "'x'", "'while.1{0,2}'" */
const char *hlo_alias_value_name(const HloAlias *alias, int32_t value, Arena *arena);

/* One clause for the reports: "'x' is still read by 'y'". */
const char *hlo_alias_refusal_text(const HloAlias *alias, AliasRefusal refusal, Arena *arena);

#endif
