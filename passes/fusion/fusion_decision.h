/* FusionDecision: whether a producer is computed inside the Kernel of its consumer, and why.
 *
 * Everything here looks at one instruction, or at one producer and a summary of how consumers read it; loop_fusion.c
 * walks the graph. */
#ifndef XLAC_PASSES_FUSION_FUSION_DECISION_H
#define XLAC_PASSES_FUSION_FUSION_DECISION_H

#include "hlo/ir/hlo_module.h"

typedef struct FusionDecision {
  bool fuse;
  const char *reason; /* static text, also for the reports */
} FusionDecision;

/* What one evaluation of an element costs. */
typedef enum FusionCost {
  FUSION_COST_NONE, /* does not take part in fusion */
  FUSION_COST_FREE, /* index arithmetic only */
  FUSION_COST_CHEAP,
  FUSION_COST_HIGH /* worth storing rather than computing twice */
} FusionCost;

FusionCost fusion_cost(const HloInstruction *instruction);
/* Instructions that are computed together with |instruction|, itself included: of a fusion those of its computation. */
int64_t fusion_instruction_count(const HloInstruction *instruction);
/* Bytes of |value|'s array; 0 where they do not fit 63 bits. */
int64_t fusion_value_bytes(const HloInstruction *value);
/* A dot or a convolution: its consumers may be computed with it (the epilogue), its operands are not. */
bool fusion_is_contraction(const HloInstruction *instruction);
/* A contraction, or a reduce-window whose consumers may be computed with it as well: folds in loops of their own, which
 * a fusion can have once. */
bool fusion_has_nest(const HloInstruction *instruction);
/* A dot or a convolution of all channels with sums so long that what is computed once a column does not count. */
bool fusion_is_deep_contraction(const HloInstruction *instruction);
/* |contraction|, a dot of short sums, reads each element of factor |operand| once: the other one has nothing that does
 * not meet it element by element.  Such a dot is a loop over its result. */
bool fusion_reads_factor_once(const HloInstruction *contraction, int operand);
/* |user| reads every element of its operand exactly once, in whatever order. */
bool fusion_permutes(const HloInstruction *user);

/* May stand at the end of a fusion: its result is what the Kernel writes. */
bool fusion_can_be_root(const HloInstruction *instruction);
/* A scatter into one array, which may end a fusion that computes its indices and updates, on machines that take those.
 * What it updates is none of these. */
bool fusion_can_scatter(const HloInstruction *instruction);
/* May stand inside a fusion. */
FusionDecision fusion_can_be_producer(const HloInstruction *instruction);
/* |user|, in a fusion, may have its operand number |operand| computed there too. */
FusionDecision fusion_can_cross(const HloInstruction *user, int operand);

/* The index map at which |user| reads operand |operand| when |user| itself is evaluated at the map |map|.  Maps are
 * named by hashes: equal functions built from equal operations have equal names. */
uint64_t fusion_operand_map(const HloInstruction *user, int operand, uint64_t map);
/* |user| reads its operand 0 at places that are known only when it runs. */
bool fusion_looks_up(const HloInstruction *user);
/* |user| moves the last dimension of its operand to another place. */
bool fusion_turns(const HloInstruction *user);
/* Which of its operands an element comes from depends on where it is. */
bool fusion_has_guards(const HloInstruction *instruction);
/* All operands of |concatenate| have equal dimensions: the loop along them is unrolled where elements are made one by
 * one, and each is computed for its own elements alone. */
bool fusion_has_equal_pieces(const HloInstruction *concatenate);
/* |user| reads elements of operand |operand| more than once each. */
bool fusion_edge_expands(const HloInstruction *user, int operand);
/* |user| repeats its operand along all dimensions but the last: elements stay columns. */
bool fusion_edge_is_column(const HloInstruction *user);
/* Larger than what it is made from: better remade than read, even where it is stored as well. */
bool fusion_is_generator(const HloInstruction *instruction);

/* How the fusions that could take a producer in would use it, all together. */
typedef struct FusionUse {
  int group_count;
  int map_count;        /* the most distinct index maps in one group */
  bool expanded;        /* evaluated more often than it has elements */
  bool repeated;        /* something that uses it is arithmetic that is computed more than once already */
  bool stored;          /* another instruction needs it in memory */
  bool is_cut;          /* somewhere on the way elements are dropped or repeated */
  bool is_reduced;      /* the fusion ends in a reduction or an update in place */
  bool has_contraction; /* one of the fusions has a dot or convolution in it already */
  bool needs_parts;     /* both parts of complex sums, each of which has a kernel of its own */
  bool awaits_devices;  /* one of the fusions reads what a collective makes */
  bool is_column;       /* all that expands it repeats it along what a contraction's rows are likely to be: its elements
                           are needed once for each column, which stays in cache */
  bool is_summed_end;   /* only a reduction needs it, and it is what a contraction could end with */
  bool is_factor;       /* a contraction reads it, directly or through what is computed for it */
  bool is_read_once;    /* as a factor: of dots that read each of its elements once (fusion_reads_factor_once), on the
                           host */
  bool is_ending;       /* at the end of the kernel that makes what it reads (a contraction, a reduction, what is
                           costly) it needs no array of its own either */
} FusionUse;

/* |out_repeats|: the producer then is arithmetic computed more than once (FusionUse.repeated for its operands). */
FusionDecision fusion_decide(const HloInstruction *producer, const FusionUse *use, bool *out_repeats);

#endif
