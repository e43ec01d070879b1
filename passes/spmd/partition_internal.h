/* What the files of the partitioner share: values in the forms that devices have them in, and how operations get and
 * give them.
 *
 * A partitioned computation is written anew, instruction by instruction.  A value of the old one stands for each array
 * leaf of its instructions; it has at least one form in the new one: a device's part by some sharding, or a partial
 * result.  A user asks for the form that it needs, which is made once, from the form that it costs the fewest bytes
 * from. */
#ifndef XLAC_PASSES_SPMD_PARTITION_INTERNAL_H
#define XLAC_PASSES_SPMD_PARTITION_INTERNAL_H

#include "passes/spmd/propagation.h"
#include "passes/spmd/reshard.h"
#include "passes/spmd/sharding_rule.h"

typedef struct SpmdForm {
  const AxisSharding *sharding; /* NULL: no array */
  PartialResult partial;
  HloInstruction *local;
  struct SpmdForm *next;
} SpmdForm;

typedef struct SpmdValue {
  const Shape *whole;
  const AxisSharding *wanted; /* what propagation chose for it; NULL: no array */
  SpmdForm *forms;            /* the first one made comes first */
  const HloInstruction *old;  /* what is made anew in each form, where that is cheap (spmd_partition_anew); else NULL */
  int anew_depth;             /* how many operations that takes, one after the other */
  double spent;               /* bytes that were sent for it and its operands; kept of slices, pads, concatenations */
  double rounds;              /* of loops around it in which it is the same: other forms of it are made once for all */
} SpmdValue;

typedef struct Partitioner {
  SpmdBuilder builder;
  HloModule *module;
  const ModuleShardings *shardings;
  const HloPassContext *context;
  SpmdValue ***values;        /* by old instruction id, by leaf; tuples have the values of their elements */
  double rounds;              /* of the loops whose body is being written; 1: it is in none */
  const double *state_rounds; /* SpmdValue.rounds of the next computation's parameters, by leaf; NULL: 1 */
} Partitioner;

/* --- values --- */

/* Leaf |leaf| of operand |index|; operands are partitioned before their users. */
SpmdValue *spmd_operand_leaf(Partitioner *partitioner, const HloInstruction *old, int index, int leaf);
static inline SpmdValue *spmd_operand(Partitioner *partitioner, const HloInstruction *old, int index) {
  return spmd_operand_leaf(partitioner, old, index, 0);
}
SpmdValue *spmd_result(Partitioner *partitioner, const HloInstruction *old, int leaf);

/* |value| by |to|, in the computation that is being made. */
HloInstruction *spmd_value_as(Partitioner *partitioner, SpmdValue *value, const AxisSharding *to);
HloInstruction *spmd_value_whole(Partitioner *partitioner, SpmdValue *value); /* on every device */
/* What that will send, in bytes per device. */
double spmd_value_bytes(Partitioner *partitioner, const SpmdValue *value, const AxisSharding *to);
/* A form that |value| has; whole values and partial results. */
void spmd_value_add(Partitioner *partitioner, SpmdValue *value, const AxisSharding *sharding, PartialResult partial,
                    HloInstruction *local);

const AxisSharding *spmd_replicated(Partitioner *partitioner, const SpmdValue *value);
const Shape *spmd_local_shape(Partitioner *partitioner, const AxisSharding *sharding, const Shape *whole);

/* |old| once more, of |shape|, with the attributes that still hold on one device (no sharding, nothing for front ends).
 */
HloInstruction *spmd_clone(Partitioner *partitioner, const HloInstruction *old, const Shape *shape,
                           HloInstruction *const *operands, int count);
/* The leaves of a new instruction whose results are |shardings|, by leaf, become forms of |old|'s. */
void spmd_take_results(Partitioner *partitioner, const HloInstruction *old, HloInstruction *made,
                       const AxisSharding *const *shardings, PartialResult partial);
/* A scalar 0 of |type|; the literal of one element. */
HloInstruction *spmd_zero(Partitioner *partitioner, PrimitiveType type);

/* --- which devices compute what --- */

/* The axes that each factor of an operation is divided along, by factor. */
typedef struct FactorAxes {
  const ShardingRule *rule;
  AxisList *axes;
  double bytes; /* what each device sends for it, SPMD_IMPOSSIBLE: it cannot be done */
} FactorAxes;

/* |mapping|'s sharding where the factors are divided so. */
const AxisSharding *factor_axes_project(Partitioner *partitioner, const FactorAxes *factors,
                                        const FactorMapping *mapping, AxisMask manual);
/* The same with the manual axes of |old|'s first result; that result's own sharding. */
const AxisSharding *factor_axes_beside_result(Partitioner *partitioner, const HloInstruction *old,
                                              const FactorAxes *factors, const FactorMapping *mapping);
const AxisSharding *factor_axes_of_result(Partitioner *partitioner, const HloInstruction *old,
                                          const FactorAxes *factors);
/* The axes of factors that no result has, although an operand does. */
AxisMask factor_axes_partial(const FactorAxes *factors);
/* What cannot be done costs more than anything that can. */
#define SPMD_IMPOSSIBLE 1e300
/* What the operation itself sends, in bytes per device, where its factors are divided so. */
typedef double FactorBytes(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors,
                           const void *context);
/* The division of |old|'s factors that sends the fewest bytes, operands, results and |own| together; of equal ones that
 * with the least work for a device.  Factors that are REPLICATED stay whole; those that are PERMUTATION as well where
 * |own| is NULL. */
FactorAxes factor_axes_choose(Partitioner *partitioner, const HloInstruction *old, const ShardingRule *rule,
                              FactorBytes *own);
/* The same where |rule| is one of other |operands| than |old|'s; |context| is |own|'s. */
FactorAxes factor_axes_choose_of(Partitioner *partitioner, const HloInstruction *old, const ShardingRule *rule,
                                 SpmdValue *const *operands, FactorBytes *own, const void *context);

/* --- operations --- */

typedef Status SpmdHandler(Partitioner *partitioner, const HloInstruction *old);

/* All operands whole, and the same on every device. */
MUST_USE Status spmd_partition_whole(Partitioner *partitioner, const HloInstruction *old);
/* By factors. */
MUST_USE Status spmd_partition_by_factors(Partitioner *partitioner, const HloInstruction *old);
MUST_USE Status spmd_partition_reduce(Partitioner *partitioner, const HloInstruction *old);
/* The same where the operation has the rule |rule|; where its factors are divided so. */
MUST_USE Status spmd_partition_by_rule(Partitioner *partitioner, const HloInstruction *old, const ShardingRule *rule);
MUST_USE Status spmd_partition_by_axes(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors);
/* Operand |index| as an operation that is divided so reads it: a device's part, without padding in sums. */
HloInstruction *spmd_operand_part(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors,
                                  int index);
/* |old| on the |count| parts of its operands, its results divided so, and attributes that fit them. */
HloInstruction *spmd_clone_fitted(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors,
                                  const Shape *shape, HloInstruction *const *parts, int count);
/* The same with the first |given| operands as they are there.  |out_made|: the local operation. */
MUST_USE Status spmd_emit_by_axes(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors,
                                  HloInstruction **operands, int given, HloInstruction **out_made);

/* Constants, iotas, broadcasts, and what is computed element by element from them alone: they have no form until a user
 * asks for one, and are then computed in it. */
MUST_USE Status spmd_partition_anew(Partitioner *partitioner, const HloInstruction *old);
/* An operation that is element by element: anew where all its operands are, else by factors. */
MUST_USE Status spmd_partition_elementwise(Partitioner *partitioner, const HloInstruction *old);
/* |value|, which has |old|, by |to|, which has no order of its own; and what that sends. */
HloInstruction *spmd_make_anew(Partitioner *partitioner, const SpmdValue *value, const AxisSharding *to);
double spmd_anew_bytes(Partitioner *partitioner, const SpmdValue *value, const AxisSharding *to);

/* Of a reduction or a reduce-window, |old|: there are elements that change nothing, one for each array, which stand for
 * what is not there; and that for array |index|, a scalar. */
bool spmd_can_fill(Arena *arena, const HloInstruction *old);
HloInstruction *spmd_fill(Partitioner *partitioner, const HloInstruction *old, int index);
/* The reducer of |old| leaves what that begins with, constants, as it is when it meets itself: it does not matter how
 * often it enters. */
bool spmd_begins_neutral(Arena *arena, const HloInstruction *old);

/* What reads its neighbours' elements: windows, and what moves elements along a dimension. */
MUST_USE Status spmd_partition_window(Partitioner *partitioner, const HloInstruction *old);
MUST_USE Status spmd_partition_reduce_window(Partitioner *partitioner, const HloInstruction *old);
MUST_USE Status spmd_partition_select_and_scatter(Partitioner *partitioner, const HloInstruction *old);
MUST_USE Status spmd_partition_convolution(Partitioner *partitioner, const HloInstruction *old);
MUST_USE Status spmd_partition_slice(Partitioner *partitioner, const HloInstruction *old);
MUST_USE Status spmd_partition_window_by_axes(Partitioner *partitioner, const HloInstruction *old,
                                              const FactorAxes *factors);
/* What devices send each other of the operands for it. */
double spmd_window_bytes(Partitioner *partitioner, const HloInstruction *old, const FactorAxes *factors,
                         const void *context);
MUST_USE Status spmd_partition_concatenate(Partitioner *partitioner, const HloInstruction *old);
MUST_USE Status spmd_partition_pad(Partitioner *partitioner, const HloInstruction *old);
/* |old| as a view of what its operands are made of, where that sends no more than |bytes|, for which it can be had from
 * the operands themselves; false: it does, and nothing is made. */
bool spmd_partition_view(Partitioner *partitioner, const HloInstruction *old, double bytes);

/* What reads or writes elements at places that are data. */

/* |start|, an integer, as a dynamic-slice clamps it: an s64[] of 0 to |most|. */
HloInstruction *spmd_clamp_start(GraphBuilder *graph, HloInstruction *start, int64_t most);
/* The value that |old| wants is the sum of |local|, by |sharding|, over the devices along |axes|, all of whose elements
 * but one are zero: it has the bits of that one. */
void spmd_add_up(Partitioner *partitioner, const HloInstruction *old, HloInstruction *local,
                 const AxisSharding *sharding, AxisMask axes);
MUST_USE Status spmd_partition_gather(Partitioner *partitioner, const HloInstruction *old);
MUST_USE Status spmd_partition_scatter(Partitioner *partitioner, const HloInstruction *old);
MUST_USE Status spmd_partition_dynamic_update_slice(Partitioner *partitioner, const HloInstruction *old);

/* Loops, branches and calls; what puts tuples together and takes them apart; markers and borders of manual regions. */
MUST_USE Status spmd_partition_while(Partitioner *partitioner, const HloInstruction *old);
MUST_USE Status spmd_partition_conditional(Partitioner *partitioner, const HloInstruction *old);
MUST_USE Status spmd_partition_call(Partitioner *partitioner, const HloInstruction *old);
MUST_USE Status spmd_partition_barrier(Partitioner *partitioner, const HloInstruction *old);
MUST_USE Status spmd_partition_tuple(Partitioner *partitioner, const HloInstruction *old);
MUST_USE Status spmd_partition_element(Partitioner *partitioner, const HloInstruction *old);
MUST_USE Status spmd_partition_custom_call(Partitioner *partitioner, const HloInstruction *old);
MUST_USE Status spmd_partition_device_number(Partitioner *partitioner, const HloInstruction *old);

/* Writes |computation| for one device: parameters and results are divided by |parameters| and |results|, each by leaf,
 * those of the first parameter first. */
MUST_USE Status spmd_partition_computation(Partitioner *partitioner, HloComputation *computation,
                                           const AxisSharding *const *parameters, const AxisSharding *const *results,
                                           HloComputation **out_partitioned);
/* The shardings that propagation chose for the leaves of |instruction|. */
const AxisSharding *const *spmd_wanted_leaves(Partitioner *partitioner, const HloInstruction *instruction);
/* |shape| as a device has it, its leaves, from |*leaf| on, by |shardings|. */
const Shape *spmd_local_tree(Partitioner *partitioner, const Shape *shape, const AxisSharding *const *shardings,
                             int *leaf);
/* One value of |shape|, tuples and all, of the leaves of |values|, from |*leaf| on, by |shardings|. */
HloInstruction *spmd_tree_as(Partitioner *partitioner, const Shape *shape, SpmdValue *const *values,
                             const AxisSharding *const *shardings, int *leaf);

#endif
