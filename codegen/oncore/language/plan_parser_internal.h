/* The pieces of the reader of plans: tokens to drafts (plan_parser.c, parse_*.c), drafts to values (plan_resolve.c). */
#ifndef XLAC_CODEGEN_ONCORE_LANGUAGE_PLAN_PARSER_INTERNAL_H
#define XLAC_CODEGEN_ONCORE_LANGUAGE_PLAN_PARSER_INTERNAL_H

#include "base/nearest_word.h"
#include "codegen/oncore/language/plan_lexer.h"
#include "codegen/oncore/language/plan_parser.h"

enum { PLAN_DEEPEST_BLOCK = 32 };

/* Nothing in a plan is larger, so that sums and products of its numbers stay in range. */
#define PLAN_LARGEST_NUMBER (INT64_C(1) << 50)

/* --- drafts: what one scope has said so far --- */

typedef enum PlanOrigin {
  ORIGIN_FIXED,  /* from P[a:b] */
  ORIGIN_ALIAS,  /* alias P[…] */
  ORIGIN_AUTO,   /* from P[auto] */
  ORIGIN_SCOPED, /* none: as long as its block */
  ORIGIN_ALLOC   /* from 'alloc' to 'free' */
} PlanOrigin;

typedef struct TensorDraft {
  PlanTensor tensor; /* begin, end: bytes from the parent's begin; of what is to be placed: none yet */
  PlanOrigin origin;
  int32_t parent;          /* -1: ROOT_TENSOR */
  int32_t loop;            /* in which it is declared */
  int32_t declared, ended; /* numbers of commands: the first one after the declaration, and after its end */
  bool is_turned;          /* named by 'with', or declared under 'pipeline': axis 0 may be a ring's */
  int64_t slot;            /* name of which it is a part in each iteration: its number among the names; -1: none */
} TensorDraft;

/* L, L[i-d], L[o, i-d], L[i-d, :], L[i-d, -2:] or L[:]. */
typedef struct EdgeDraft {
  int32_t consumer;
  StringView label;
  int32_t loop_count; /* names given; the last one is of |back|; 0: none */
  StringView loops[PLAN_DEEPEST_BLOCK];
  int64_t back;
  bool has_runs; /* ":", or "-2:" */
  int64_t runs;  /* 0: all */
  SourceLoc loc;
} EdgeDraft;

typedef struct LoopDraft {
  PlanLoop loop;
  int64_t first, step; /* the name's value is first + step * iteration */
  int32_t first_command, end_command;
  ARRAY(PlanNode) nodes;
} LoopDraft;

typedef enum NameKind {
  NAME_LOOP,
  NAME_TENSOR,
  NAME_SLOT, /* a Tensor of which one index of axis 0 is meant */
  NAME_MEMORY,
  NAME_SCALAR,
  NAME_CONSTANT,
  NAME_BAD /* declared wrongly: uses are passed over */
} NameKind;

typedef struct NameBinding {
  StringView name;
  SourceLoc loc;
  NameKind kind;
  int32_t number; /* of the loop, Tensor, view, scalar */
  int64_t value;  /* CONSTANT */
  /* SLOT: index first_slot + (iteration of loops first_loop … number of loops on) mod slots */
  int64_t first_slot, slots;
  int32_t first_loop, last_loop;
  bool is_freed;
} NameBinding;

typedef struct PlanReader {
  Arena *arena;
  const SourceFile *source;
  const MachineDescription *machine;
  DiagSink *diag;
  PlanTokenArray tokens;
  int64_t at;
  int depth; /* of blocks and parentheses */
  Status status;
  const PlanKernels *kernels;       /* NULL: any name is one */
  const PlanOperations *operations; /* of a program; NULL: these are plans of Kernels */
  PlanFile *file;
  ARRAY(const Plan *) plans;

  /* the scope at hand */
  Plan *plan;
  bool has_statements; /* anything of a plan without a scope */
  bool is_explicit;    /* edges explicit */
  PrimitiveType unit;  /* TYPE_INVALID: bytes */
  ARRAY(NameBinding) names;
  ARRAY(PlanMemory) memories;
  ARRAY(PlanScalar) scalars;
  ARRAY(TensorDraft) tensors;
  ARRAY(LoopDraft) loops;
  ARRAY(PlanCommand) commands;
  ARRAY(EdgeDraft) edges;
  ARRAY(PlanNode) nodes;
  int32_t loop;                           /* the innermost one around what is read, -1 for none */
  int64_t loop_shift;                     /* iterations that the command at hand is ahead of |shifted_loop| */
  int32_t shifted_loop;                   /* -1: none */
  int32_t pipeline_slots, pipeline_first; /* slots of Tensors declared without origin in this block; 0: not so; their
                                             first loop */
  /* a loop with 'ahead' is read three times: what stands before, in and after it */
  enum { PHASE_ALL, PHASE_FIRST, PHASE_MAIN, PHASE_LAST } phase;
  int64_t ahead, phase_trips; /* of that loop: iterations in all */
} PlanReader;

/* --- tokens --- */

const PlanToken *plan_peek(const PlanReader *reader);
bool plan_at_mark(const PlanReader *reader, const char *mark);
bool plan_at_word(const PlanReader *reader, const char *word);
bool plan_take_mark(PlanReader *reader, const char *mark);
bool plan_take_word(PlanReader *reader, const char *word);
/* Reports the error "expected …, not …" at what stands here, unless the statement has a token that was told; false. */
bool plan_expected(PlanReader *reader, const char *what);
bool plan_need_mark(PlanReader *reader, const char *mark);
bool plan_need_name(PlanReader *reader, const char *what, StringView *out_name, SourceLoc *out_loc);
bool plan_need_integer(PlanReader *reader, const char *what, int64_t *out_value);
/* Reports an error; always false. */
bool plan_fail(PlanReader *reader, SourceLoc loc, const char *code, const char *format, ...) PRINTF_LIKE(4, 5);

/* --- names --- */

typedef ARRAY(StringView) PlanNames;

/* After "there is no …": the names there are, up to a dozen of them. */
void plan_note_names(PlanReader *reader, const PlanNames *names);

/* NULL when there is none, which is reported with the names that are near. */
NameBinding *plan_find_name(PlanReader *reader, StringView name, SourceLoc loc);
bool plan_bind(PlanReader *reader, NameBinding binding);
/* |name|, unless it is bound, is one whose declaration was refused: its uses are no errors of their own. */
void plan_bind_bad(PlanReader *reader, StringView name, SourceLoc loc);

/* --- expressions and ranges (parse_expression.c) --- */

/* |expr|, or the smaller of two. */
typedef struct PlanNumber {
  IndexExpr expr;
  bool is_min;
  IndexExpr other;
} PlanNumber;

bool plan_parse_expression(PlanReader *reader, IndexExpr *out_expr);
/* A number that is known now. */
bool plan_parse_constant(PlanReader *reader, int64_t *out_value);
/* ':', e, e:e or e:+e within 0 … extent. */
bool plan_parse_range(PlanReader *reader, int64_t extent, PlanRange *out_range);
/* The same without a bound; ':' is 0 … |extent|. */
bool plan_parse_free_range(PlanReader *reader, int64_t extent, PlanRange *out_range);
/* Nothing of |range| is below 0 or from |extent| on, in any iteration; else an error at |loc|. */
bool plan_check_range(PlanReader *reader, const PlanRange *range, int64_t extent, SourceLoc loc);
/* One past the last index of |range| in any iteration. */
int64_t plan_range_end(const PlanReader *reader, const PlanRange *range);
IndexExpr plan_slot_index(PlanReader *reader, const NameBinding *binding);

/* --- statements --- */

bool plan_parse_memory(PlanReader *reader);
bool plan_parse_scalar(PlanReader *reader);
bool plan_parse_buffer(PlanReader *reader);
/* After 'Tensor' or nothing: NAME(shape…) … */
bool plan_parse_tensor(PlanReader *reader);
bool plan_parse_alloc(PlanReader *reader);
bool plan_parse_free(PlanReader *reader);
/* Those that 'ahead' leaves out of this phase are read and dropped. */
bool plan_parse_command(PlanReader *reader);
bool plan_at_command(const PlanReader *reader);
void plan_offer_verbs(NearestWord *nearest); /* all of them */

/* Gives |command| of a program, whose operands were read and whose 'body' stands at |loc|, its operation
 * (program_command.c). */
bool plan_find_operation(PlanReader *reader, PlanCommand *command, SourceLoc loc);
/* Whether the scope at hand may be a program. */
bool plan_check_program(PlanReader *reader);
/* What plans of Kernels alone have stands at |loc|: false, with an error, in a program. */
bool plan_need_kernel(PlanReader *reader, SourceLoc loc, StringView what);

/* Bytes of one element of ROOT_TENSOR's intervals. */
int64_t reader_unit_bytes(const PlanReader *reader);

/* The scope has ended: its drafts become a Plan among reader->plans. */
void plan_finish_scope(PlanReader *reader);
/* Places what has no interval; begin and end of all Tensors from the Buffer's start on (plan_place.c). */
bool plan_place_tensors(PlanReader *reader);

#endif
