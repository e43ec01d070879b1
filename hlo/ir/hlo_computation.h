/* HloComputation: a function of instructions with one root. */
#ifndef XLAC_HLO_IR_HLO_COMPUTATION_H
#define XLAC_HLO_IR_HLO_COMPUTATION_H

#include "base/array.h"
#include "hlo/ir/hlo_instruction.h"

typedef struct HloModule HloModule;
typedef ARRAY(HloInstruction *) HloInstructionArray;
typedef ARRAY(HloComputation *) HloComputationArray;

struct HloComputation {
  StringView name;
  int32_t id; /* dense in the module */
  SourceLoc loc;
  HloModule *module;
  /* Text order when read; operands need not precede users after edits (hlo_computation_post_order), unless the module
   * is scheduled, when this is the schedule.  Removing shifts later instructions down: loops that remove walk a copy (a
   * post order) or from the end. */
  HloInstructionArray instructions;
  HloInstructionArray parameters; /* by parameter number */
  HloInstruction *root;
  StringView execution_thread; /* empty: main */
  int32_t slot_limit;          /* private to the room: above the slots of all instructions */
};

/* Appends a new instruction; operands belong to the same computation.  |name| is made unique in the module by a suffix
 * ".N"; an empty name becomes the opcode's.  Parameters are made by
 * hlo_computation_add_parameter instead. */
HloInstruction *hlo_computation_add(HloComputation *computation, HloOpcode opcode, const Shape *shape,
                                    HloInstruction *const *operands, int operand_count, StringView name);
/* |parameters| stays sorted by number.  Numbers twice or left out are the caller's to refuse (hlo_computation_parameter
 * finds the former; afterwards parameters.data[i] has number i unless there is a gap). */
HloInstruction *hlo_computation_add_parameter(HloComputation *computation, int64_t number, const Shape *shape,
                                              StringView name);
HloInstruction *hlo_computation_add_constant(HloComputation *computation, const Literal *literal, StringView name);

/* The parameter with this number, NULL when there is none. */
HloInstruction *hlo_computation_parameter(const HloComputation *computation, int64_t number);

/* |root| is one of the computation's instructions. */
void hlo_computation_set_root(HloComputation *computation, HloInstruction *root);

/* An instruction equal to |instruction| but for operands and name; attributes are shared (they are immutable), control
 * predecessors are left out.  Both belong to the same module, or what is called is copied after it
 * (hlo_instruction_copy_called). */
HloInstruction *hlo_computation_add_clone(HloComputation *computation, const HloInstruction *instruction,
                                          const Shape *shape, HloInstruction *const *operands, int operand_count);

/* Removes an instruction without users that is not the root; parameters only when |allow_parameter| (then later numbers
 * move down). Those that had it as a control predecessor inherit its own.  Costs at most a move of half the list; many
 * at once: hlo_computation_remove_dead. */
void hlo_computation_remove(HloComputation *computation, HloInstruction *instruction, bool allow_parameter);

/* Removes everything that neither the root nor an instruction with side effects needs, parameters excepted, in linear
 * time; returns how many. */
int64_t hlo_computation_remove_dead(HloComputation *computation);

/* Users of |old|, the root included, get |replacement|; then |old|, unless a parameter, is removed, with operands
 * that die by it left in place. */
void hlo_computation_replace_instruction(HloComputation *computation, HloInstruction *old, HloInstruction *replacement);

/* Operands (and control predecessors) before users; independent of edit history except for the order of |instructions|.
 * XLA's order: depth first from each instruction without users, in list order; control predecessors, then operands from
 * the first. */
HloInstruction **hlo_computation_post_order(const HloComputation *computation, Arena *arena, int64_t *out_count);

/* The instructions that there are now, in a list of |arena| that edits do not change. */
HloInstruction **hlo_computation_list(const HloComputation *computation, Arena *arena, int64_t *out_count);

/* Puts |instructions| into the given order, which must be a permutation with operands before users. */
void hlo_computation_set_order(HloComputation *computation, HloInstruction *const *order, int64_t count);

/* A deep copy (called computations are shared) added to |module|, the one of |computation|, under a unique name (empty:
 * its own). */
HloComputation *hlo_computation_clone(HloComputation *computation, HloModule *module, StringView name);

/* |instruction| is a clone from another module: what it calls, and what that calls, is copied to its own, whole, and
 * called from there. */
void hlo_instruction_copy_called(HloInstruction *instruction);

/* Instructions of |callee| copied into |into| with parameters replaced by |arguments|; returns the copy of the root. */
HloInstruction *hlo_computation_inline(HloComputation *into, const HloComputation *callee,
                                       HloInstruction *const *arguments);

/* Same graph up to names and order: operands, shapes (layouts included), attributes (hlo_instruction_same_attrs),
 * called computations likewise.  Both share one ShapeTable. */
bool hlo_computation_equal(const HloComputation *a, const HloComputation *b);
/* hlo_instruction_same_attrs, with equal computations taken for the same. */
bool hlo_instruction_equal_attrs(const HloInstruction *a, const HloInstruction *b);
/* Equal computations hash alike. */
uint64_t hlo_computation_hash(const HloComputation *computation);

/* As text of HLO: a scheduled one in its order, else each instruction after its operands. */
void hlo_computation_print(StringBuilder *out, const HloComputation *computation, const HloPrintOptions *options);

#endif
