/* A function of loops as values of this room.  Positions number its instructions in the order of its blocks. */
#ifndef XLAC_CODEGEN_NEST_NEST_INTERNAL_H
#define XLAC_CODEGEN_NEST_NEST_INTERNAL_H

#include <llvm-c/Target.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/hash_map.h"
#include "base/string_view.h"
#include "codegen/nest/nest.h"

enum {
  NEST_MOST_TERMS = 8,
  NEST_MOST_LEAVES = 8,
  NEST_MOST_BLOCKS = 64,
  NEST_MOST_VALUES = 512,
  NEST_MOST_LANES = 16,
  NEST_MOST_ARGUMENTS = 16,
  NEST_ENTRY = -2 * NEST_MOST_VALUES, /* position of the function's entry */
  NEST_MASKS = 6                      /* k1 and on; k7 is spare */
};

/* --- integers --- */

/* What a sum is made of: an argument, a loop's counter (from 0 on, by its step), or what an instruction makes. */
typedef enum NestAtomKind { NEST_ARGUMENT, NEST_COUNTER, NEST_RESULT } NestAtomKind;

typedef struct NestAtom {
  NestAtomKind kind;
  int number; /* of the argument, loop, or value */
} NestAtom;

typedef struct NestTerm {
  int atom;
  int64_t factor;
} NestTerm;

/* constant + Σ factor × atom, modulo 2^64; terms by atom, no factor is 0. */
typedef struct NestForm {
  int64_t constant;
  int count;
  NestTerm terms[NEST_MOST_TERMS];
} NestForm;

typedef struct NestLeaf {
  LLVMIntPredicate predicate;
  NestForm left, right;
} NestLeaf;

/* All leaves hold.  None: always. */
typedef struct NestCondition {
  int count;
  NestLeaf leaves[NEST_MOST_LEAVES];
} NestCondition;

/* --- values --- */

typedef enum NestKind {
  NEST_NOTHING, /* stores; what is not to be used */
  NEST_FORM,
  NEST_CONDITION,
  NEST_LANES,  /* integers or addresses: form + offsets[lane] */
  NEST_INSERT, /* operand 0 in lane 0, about to be spread */
  NEST_VECTOR, /* floats in a register, one number included */
  NEST_MASK
} NestKind;

typedef enum NestOp {
  NEST_NO_OP,
  NEST_CONSTANT,
  NEST_PHI,
  NEST_LOAD, /* of |form|, where |condition| holds; |mask_bits| of its lanes, or operand 0; 0 elsewhere */
  NEST_BROADCAST,
  NEST_STORE,    /* operand 0 */
  NEST_PREFETCH, /* of |form|; predicate: LLVM's number of the locality */
  NEST_GATHER,   /* the same of |form| + |offsets| */
  NEST_SCATTER,  /* operand 0 to there */
  NEST_BINARY,   /* name: of the instruction */
  NEST_FMA,      /* operand 0 × operand 1 + operand 2 */
  NEST_SPREAD,   /* lane 0 of operand 0 in all lanes */
  NEST_PERMUTE,  /* lanes |offsets| of operand 0, or of both */
  NEST_COMPARE,  /* of floats; predicate */
  NEST_BELOW,    /* lanes of operand 0 below |form|'s constant, unsigned */
  NEST_MASK_IF,  /* operand 0 where |condition| holds */
  NEST_CHOOSE,   /* operand 0 (a mask) ? operand 1 : operand 2 */
  NEST_QUOTIENT, /* |other| and the form of operand 0, as the following; unsigned */
  NEST_REMAINDER,
  NEST_SIGNED_QUOTIENT, /* these two at the entry only */
  NEST_SIGNED_REMAINDER,
  NEST_PRODUCT,
  NEST_PICK /* condition ? the one : the other */
} NestOp;

typedef struct NestValue {
  NestKind kind;
  NestOp op;
  const char *name;
  int bytes, element; /* of a register, and of an element */
  int operands[3];
  int operand_count;
  NestForm form, other;
  const NestCondition *condition;
  int64_t divisor;
  int64_t offsets[NEST_MOST_LANES];
  uint32_t mask_bits; /* all lanes: 0 */
  int mask_register;  /* of them; 0: none */
  int predicate;      /* or what of a range */
  bool is_early;      /* made at the entry */
  bool is_folded;     /* a load that its only user reads from memory itself */
  LLVMValueRef constant;
  LLVMValueRef source;
  int block, position; /* where it is made */
  int reg;             /* -1: none */
} NestValue;

/* --- shape --- */

typedef struct NestLoop {
  int header, latch, parent; /* blocks; loop or -1 */
  int depth;                 /* outermost: 1 */
  int64_t step, trips;       /* trips -1: known at run time */
  int atom;
  bool has_counter;
} NestLoop;

typedef struct NestBlock {
  LLVMBasicBlockRef source;
  int loop; /* innermost, -1 */
  int successors[2], successor_count;
  int predecessors;               /* how many */
  int first, last;                /* positions */
  const NestCondition *condition; /* of the first successor, where there are two */
} NestBlock;

/* A sum in a register or in a slot of the stack. */
typedef struct NestCell {
  NestForm form;
  bool is_exact;  /* users want this constant; otherwise it may differ, and is added to addresses */
  int anchor;     /* value after which it begins; -1: at the entry of |loop| */
  int loop;       /* -1: the function's */
  int start, end; /* positions */
  int depth;      /* of the innermost use */
  int reg, slot;  /* one of them is -1 */
} NestCell;

typedef struct NestFunction {
  Arena *arena;
  const VecTarget *target;
  LLVMValueRef source;
  LLVMTargetDataRef layout;
  IntMap numbers; /* of values, by LLVMValueRef */
  ARRAY(NestValue) values;
  ARRAY(NestAtom) atoms;
  NestBlock blocks[NEST_MOST_BLOCKS];
  int block_count;
  ARRAY(NestLoop) loops;
  ARRAY(int) order; /* values by position, those without one left out */
  ARRAY(NestCell) cells;
  int argument_count, slot_count;              /* the first slots are the arguments' */
  int argument_ends[NEST_MOST_ARGUMENTS];      /* until where cells begin with it */
  int argument_registers[NEST_MOST_ARGUMENTS]; /* as cells'; -1: its slot, or where the caller put it */
  uint32_t masks[NEST_MASKS];                  /* in k1 and on from the beginning */
  int mask_count;
  bool is_refused;
} NestFunction;

/* Each reads or decides its part; false, and |is_refused|, where the function is not of the form. */
bool nest_read_shape(NestFunction *nest);
bool nest_read_values(NestFunction *nest);
bool nest_plan_cells(NestFunction *nest);
bool nest_give_registers(NestFunction *nest);

bool nest_refuse(NestFunction *nest);
/* Of a block of the function, -1 for others. */
int nest_block_number(const NestFunction *nest, LLVMBasicBlockRef block);
bool nest_loop_contains(const NestFunction *nest, int loop, int block);

/* The cell of |form| for a use in |block| at |position|; what it must be added to it in |out_offset|.  Those of a form
 * without terms: -1. */
int nest_cell(NestFunction *nest, const NestForm *form, bool is_exact, int block, int position, int64_t *out_offset);
/* Whether |loop| adds to it at its end, and how much in a step. */
bool nest_cell_moves(const NestFunction *nest, const NestCell *cell, int loop, int64_t *out_step);
/* Whether it must be what it was, when |loop| ends. */
bool nest_cell_returns(const NestFunction *nest, const NestCell *cell, int loop);
bool nest_is_signed_compare(const NestLeaf *leaf);
/* What the leaf compares at the end of |block|, after the loop's cells have moved on. */
NestLeaf nest_leaf_after_step(const NestFunction *nest, const NestLeaf *leaf, int block);

/* --- reading --- */

/* Modulo 2^64, as LLVM's integers are. */
static inline int64_t nest_sum(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}
static inline int64_t nest_product(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* a + factor × b */
bool nest_add_form(NestFunction *nest, const NestForm *a, const NestForm *b, int64_t factor, NestForm *out);
/* A new atom. */
NestForm nest_atom_form(NestFunction *nest, NestAtomKind kind, int number);

/* i64 or an address; i1. */
bool nest_is_index(LLVMTypeRef type);
bool nest_is_bit(LLVMTypeRef type);
/* 1 of what is no vector. */
int nest_lanes(LLVMTypeRef type);
LLVMTypeRef nest_element(LLVMTypeRef type);
/* Numbers in registers: f32 and f64, one or a whole register of the target. */
bool nest_vector_of(const NestFunction *nest, LLVMTypeRef type, int *out_bytes, int *out_element);

/* Values by number. */
NestValue *nest_value(const NestFunction *nest, int number);
int nest_add_value(NestFunction *nest, NestValue value);
/* The lanes of a constant mask, of which there is at least one. */
bool nest_mask_constant(LLVMValueRef value, int lanes, uint32_t *out_bits);
/* The number of |value|; constants get one where they are used. */
int nest_number_of(NestFunction *nest, LLVMValueRef value);
/* Operand |i| of an instruction, which must be of |kind|; 0 and refused otherwise. */
int nest_operand(NestFunction *nest, LLVMValueRef instruction, unsigned i, NestKind kind);
const NestForm *nest_operand_form(NestFunction *nest, LLVMValueRef instruction, unsigned i);

bool nest_is_zero(LLVMValueRef value);
/* NULL: none, or several. */
LLVMValueRef nest_only_user(LLVMValueRef value);
/* The guard of a load that is used only where it holds, with 0 in its place elsewhere; NULL: none. */
LLVMValueRef nest_guard_of(LLVMValueRef load);
/* Whether an index that is 0 where |guard| does not hold only leads to loads that do not happen then. */
bool nest_leads_to_guarded_loads(LLVMValueRef index, LLVMValueRef guard);

/* What |phi| takes from block |from|, -1: nothing. */
int nest_incoming(const NestFunction *nest, const NestValue *phi, int from);
/* A vector register that no value is in. */
int nest_spare_register(const NestFunction *nest);

/* --- text --- */

typedef struct NestWriter {
  NestFunction *nest;
  StringBuilder *out;
  int label_count;
  ARRAY(StringView) pool;           /* constants after the code: their directives */
  int block;                        /* whose instructions are written */
  bool is_target[NEST_MOST_BLOCKS]; /* blocks that jumps lead to, as far as they are written */
} NestWriter;

enum { NEST_FIRST_LABEL = 20, NEST_FIRST_CONSTANT = 10000 };

/* A number for labels that no other has. */
int nest_label(NestWriter *writer);
/* cmp of the leaf's sides: the flags of left - right. */
void nest_write_comparison(NestWriter *writer, const NestLeaf *leaf, int position);
/* Jumps on to |label| unless the condition holds. */
void nest_write_unless(NestWriter *writer, const NestCondition *condition, int position, int label);
/* displacement(register) of the address, through rax where its cell is in a slot.  In the function's arena. */
const char *nest_write_address(NestWriter *writer, const NestForm *form, int position);
/* To rax. */
void nest_write_integer(NestWriter *writer, const NestForm *form, int position);
void nest_write_vector(NestWriter *writer, const NestValue *value);
/* The value of a constant, or of another vector, in register |target|. */
void nest_write_move(NestWriter *writer, int target, const NestValue *source);

#endif
