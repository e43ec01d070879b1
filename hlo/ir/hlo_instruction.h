/* HloInstruction: one operation.  One struct for all opcodes; what differs between them is attributes.
 *
 * Owned by the module's arena and never freed before it; a removed instruction keeps its fields.  Any code may read the
 * fields; they are written through the functions here and in hlo_computation.h alone, which keep operands and users
 * consistent. */
#ifndef XLAC_HLO_IR_HLO_INSTRUCTION_H
#define XLAC_HLO_IR_HLO_INSTRUCTION_H

#include "hlo/ir/hlo_attribute.h"
#include "hlo/ir/hlo_opcode.h"

struct HloInstruction {
  HloOpcode opcode;
  int32_t id; /* dense in the module, in order of creation; never reused */
  StringView name;
  const Shape *shape;
  SourceLoc loc;
  HloInstruction **operands;
  int32_t operand_count;
  int32_t user_count; /* distinct users */
  HloInstruction *
      *users; /* each once; in order of first use until an edit takes one away (the last moves into its place) */
  int32_t attr_count;
  HloAttr *attrs;
  HloComputation *parent; /* NULL once removed */
  /* private to the room */
  int32_t slot;         /* increases along parent->instructions, below parent->slot_limit; not dense */
  int32_t called_count; /* computations that the attributes name */
  bool has_control;     /* there are control predecessors */
  int32_t user_capacity, attr_capacity, successor_count, successor_capacity;
  struct HloUse *uses;         /* of each operand */
  int32_t *first_uses;         /* users[u] reads this at its operand number first_uses[u], and maybe at later ones */
  HloInstruction **successors; /* whose control-predecessors name this instruction, each once */
};

/* --- attributes --- */

/* NULL when absent. */
const HloAttr *hlo_instruction_attr(const HloInstruction *instruction, HloAttrId id);

/* The value of an optional attribute, or |fallback|. */
int64_t hlo_instruction_int(const HloInstruction *instruction, HloAttrId id, int64_t fallback);
bool hlo_instruction_bool(const HloInstruction *instruction, HloAttrId id, bool fallback);
/* The list of an INT64_LIST attribute, empty when absent. */
Int64List hlo_instruction_ints(const HloInstruction *instruction, HloAttrId id);
/* The computation of a COMPUTATION attribute, NULL when absent. */
HloComputation *hlo_instruction_computation(const HloInstruction *instruction, HloAttrId id);

/* Of 'window', 'dim_labels', 'padding' and 'slice'; NULL when absent. */
const Window *hlo_instruction_window(const HloInstruction *instruction);
const ConvolutionDimensionNumbers *hlo_instruction_dim_labels(const HloInstruction *instruction);
const PaddingConfig *hlo_instruction_padding(const HloInstruction *instruction);
const SliceRanges *hlo_instruction_slice(const HloInstruction *instruction);
const HloSharding *hlo_instruction_sharding(const HloInstruction *instruction); /* NULL when absent */
/* The frontend attribute |key|, NULL when absent. */
const FrontendAttribute *hlo_instruction_frontend(const HloInstruction *instruction, const char *key);

/* Sets or replaces; the struct is copied, its pointees are not. */
void hlo_instruction_set_attr(HloInstruction *instruction, const HloAttr *attr);
void hlo_instruction_set_int(HloInstruction *instruction, HloAttrId id, int64_t value);
void hlo_instruction_set_bool(HloInstruction *instruction, HloAttrId id, bool value);
void hlo_instruction_set_ints(HloInstruction *instruction, HloAttrId id, const int64_t *values,
                              int64_t count); /* copies */
void hlo_instruction_set_computation(HloInstruction *instruction, HloAttrId id, HloComputation *computation);
/* Sets or replaces the frontend attribute |key|; both texts must live as long as the module. */
void hlo_instruction_set_frontend(HloInstruction *instruction, StringView key, StringView value);
void hlo_instruction_remove_attr(HloInstruction *instruction, HloAttrId id);
/* What the text says of how its value is divided among devices, in HLO's words and in Shardy's. */
void hlo_instruction_remove_sharding(HloInstruction *instruction);

/* Copies metadata, sharding, frontend attributes and the place in the source that |to| does not have itself from
 * |from|. */
void hlo_instruction_inherit_metadata(HloInstruction *to, const HloInstruction *from);

/* Attributes mean the same: those that spell out a default, 'mode' and metadata do not count.  |equality| as in
 * hlo_attr_equal. */
bool hlo_instruction_same_attrs(const HloInstruction *a, const HloInstruction *b, const HloAttrEquality *equality);
/* Instructions with the same attributes hash alike; computations and instructions named by them do not enter. */
uint64_t hlo_instruction_attrs_hash(const HloInstruction *instruction);
/* True when |attr| says no more than its absence would on this instruction. */
bool hlo_instruction_attr_is_default(const HloInstruction *instruction, const HloAttr *attr);

const HloMetadata *hlo_instruction_metadata(const HloInstruction *instruction); /* NULL when absent */

/* --- called computations --- */

/* All computations named by the instruction's attributes, in the order of the opcode's row (condition before body, true
 * before false), whatever the order in the text; each mention counts. */
int hlo_instruction_called_count(const HloInstruction *instruction);
HloComputation *hlo_instruction_called(const HloInstruction *instruction, int index);
void hlo_instruction_set_called(HloInstruction *instruction, int index, HloComputation *computation);

/* --- convenience --- */

int64_t hlo_instruction_parameter_number(const HloInstruction *instruction); /* of a parameter */
const Literal *hlo_instruction_literal(const HloInstruction *instruction);   /* of a constant */
/* What a fusion computes; NULL for anything else. */
HloComputation *hlo_instruction_fused(const HloInstruction *instruction);
/* Nothing reads it, and it is no root. */
bool hlo_instruction_is_unread(const HloInstruction *instruction);
bool hlo_instruction_is_scalar_constant(const HloInstruction *instruction);
bool hlo_instruction_is_root(const HloInstruction *instruction);
/* True for opcodes with side effects, and for calls, control flow, custom calls and so on that contain them. */
bool hlo_instruction_has_side_effect(const HloInstruction *instruction);
/* True when |user| reads |operand| at any operand position. */
bool hlo_instruction_uses(const HloInstruction *user, const HloInstruction *operand);
/* The operand positions at which operand->users[number] reads |operand|, in order, without a walk over all it has:
 *
 *   for (int k = hlo_instruction_first_use(operand, number); k >= 0; k = hlo_instruction_next_use(user, k)) */
int hlo_instruction_first_use(const HloInstruction *operand, int number);
/* The next position at which |user| reads what it reads at |position|; -1 after the last. */
int hlo_instruction_next_use(const HloInstruction *user, int position);

/* --- edits --- */

void hlo_instruction_set_shape(HloInstruction *instruction, const Shape *shape);
void hlo_instruction_replace_operand(HloInstruction *instruction, int index, HloInstruction *operand);
/* |user| reads |replacement| wherever it reads |old|. */
void hlo_instruction_replace_use(HloInstruction *old, HloInstruction *user, HloInstruction *replacement);
/* Every user of |old| (control predecessors included) reads |replacement| instead; the parent's root too. |replacement|
 * itself may use |old| and keeps doing so. */
void hlo_instruction_replace_all_uses(HloInstruction *old, HloInstruction *replacement);

/* --- text --- */

typedef struct HloPrintOptions {
  bool percent; /* '%' before names */
  bool operand_shapes;
  bool program_shape; /* signatures of computations */
  bool metadata;
  bool backend_config;
  int64_t max_constant_elements; /* negative: all in full */
} HloPrintOptions;

/* XLA's short dump: no '%', names only, signature-less, constants in full. */
#define HLO_PRINT_DEFAULT ((HloPrintOptions){false, false, false, true, true, -1})
/* XLA's canonical long form (to_string()), constants in full. */
#define HLO_PRINT_LONG ((HloPrintOptions){true, false, true, true, true, -1})

/* "name = shape opcode(operands), attributes", no indent, no ROOT. */
void hlo_instruction_print(StringBuilder *out, const HloInstruction *instruction, const HloPrintOptions *options);

#endif
