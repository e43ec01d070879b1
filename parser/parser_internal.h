/* What the units of the parser share.
 *
 * Every parse function starts at the first token of its construct and leaves the first token after it; on failure it
 * has reported, and returns STATUS_INVALID with the lexer wherever it stopped.  Recovery happens in the instruction
 * list and in the module only. */
#ifndef XLAC_PARSER_PARSER_INTERNAL_H
#define XLAC_PARSER_PARSER_INTERNAL_H

#include "base/array.h"
#include "base/hash_map.h"
#include "base/nearest_word.h"
#include "hlo/ir/hlo_module.h"
#include "parser/hlo_lexer.h"

enum {
  MAX_NESTING = 200,         /* shapes, literals, nested operands, origins */
  MAX_INLINE_NESTING = 64,   /* computations inside computations */
  MAX_SHAPE_NODES = 1 << 24, /* of a tuple shape that the text leaves to inference */
  MAX_MESH_AXES = 256,
  MAX_ERRORS = 50 /* then the parser gives up */
};

typedef ARRAY(int64_t) Int64Array;
typedef ARRAY(StringView) StringViewArray;

/* The names of one computation body.  A value without parent stands for an instruction that failed to parse: naming it
 * is no new error. */
typedef struct Scope {
  struct Scope *outer; /* of the computation around an inline one; not searched for names */
  HloComputation *computation;
  StringMap names;
  StringViewArray order;
  bool lost_name; /* an instruction with unreadable name failed: unknown names may be innocent */
  bool failed;
  bool has_root;
  int depth; /* of inline nesting */
} Scope;

/* What a computation's name stands for; computation is NULL when its text failed. */
typedef struct KnownComputation {
  HloComputation *computation;
  SourceLoc loc;
} KnownComputation;

typedef struct Parser {
  Arena *arena;   /* the module's */
  Arena *scratch; /* until parsing ends */
  ShapeTable *shapes;
  DiagSink *diag;
  Lexer lexer;
  HloModule *module;
  Scope *scope;
  StringMap computations; /* text name → KnownComputation */
  StringViewArray computation_names;
  HloComputationArray finished;     /* in the order of completion: callees first */
  IntMap async_computations;        /* called by an async-start */
  IntMap measured;                  /* Shape → ShapeMeasure, of tuples */
  Int64Array ints;                  /* stack for lists under construction */
  SourceLoc entry_loc;              /* of the word ENTRY */
  StringView own_name;              /* of the computation being read */
  StringView entry_name, last_name; /* of the marked and of the latest computation, as written */
  HloComputation *last_computation; /* NULL: it failed */
  bool single_instruction;          /* operands without definition become parameters */
  bool lost_computation;            /* a computation with unreadable name failed */
  bool failed;
  bool stopped;          /* too many errors or too deep: nothing more is read */
  bool unwind;           /* recovery left the inline computation it began in */
  uint32_t outer_column; /* of the outermost instruction being parsed, when it begins its line; else 0 */
  int error_count;
  int nesting;
} Parser;

/* How the text spells an asynchronous instruction: plainly (async-start), or as OP-start, OP-update, OP-done. */
typedef enum AsyncSugar { ASYNC_PLAIN, ASYNC_SUGAR_START, ASYNC_SUGAR_UPDATE, ASYNC_SUGAR_DONE } AsyncSugar;

typedef ARRAY(HloAttr) HloAttrArray;

/* An instruction between being read and being built. */
typedef struct InstructionDraft {
  StringView name; /* empty: anonymous */
  SourceLoc name_loc;
  const Shape *shape; /* NULL: not stated */
  SourceLoc shape_loc;
  HloOpcode opcode;
  SourceLoc opcode_loc;
  StringView opcode_text; /* as spelt */
  AsyncSugar sugar;
  HloOpcode wrapped; /* of a sugared asynchronous instruction */
  SourceLoc operands_loc;
  HloInstructionArray operands;
  bool poisoned; /* uses something that failed */
  HloAttrArray attrs;
} InstructionDraft;

/* --- errors (parse_error.c) --- */

/* Reports and marks the parse as failed.  Returns STATUS_INVALID. */
MUST_USE Status parse_error(Parser *parser, SourceLoc loc, const char *code, const char *format, ...) PRINTF_LIKE(4, 5);
/* The same where reading goes on all the same. */
void report_error(Parser *parser, SourceLoc loc, const char *code, const char *format, ...) PRINTF_LIKE(4, 5);
/* "expected |what|, found …" at the current token; the lexer's reason if that is an error token. */
MUST_USE Status parse_expected(Parser *parser, const char *what);
MUST_USE Status parse_too_deep(Parser *parser, SourceLoc loc, const char *what);
void parse_note(Parser *parser, SourceLoc loc, const char *format, ...) PRINTF_LIKE(3, 4);

/* Notes under the latest error: what other languages call so, or the nearest known word, if one is near. */
void suggest_opcode(Parser *parser, StringView text);
void suggest_type(Parser *parser, StringView text);
void suggest_enum(Parser *parser, HloEnumId id, StringView text);
void suggest_name(Parser *parser, const StringViewArray *names, StringView text);

/* --- tokens (parse_token.c) --- */

static inline const Token *current(const Parser *parser) {
  return &parser->lexer.token;
}
static inline bool at(const Parser *parser, TokenKind kind) {
  return parser->lexer.token.kind == kind;
}
static inline void advance(Parser *parser) {
  lexer_advance(&parser->lexer);
}
static inline SourceLoc here(const Parser *parser) {
  return lexer_loc(&parser->lexer);
}
bool accept(Parser *parser, TokenKind kind);
MUST_USE Status expect(Parser *parser, TokenKind kind, const char *what);
/* An attribute token of this name (the '=' belongs to it), or any word token. */
bool at_attribute(const Parser *parser, const char *name);
MUST_USE Status expect_attribute(Parser *parser, const char *name);
bool at_word(const Parser *parser, const char *word);
bool at_name(const Parser *parser);            /* identifier or %name or name: */
bool at_reserved(const Parser *parser);        /* a type or a keyword, "nan" too: a name only after '%' */
const char *reserved_kind(const Token *token); /* of such a token: "type" or "keyword" */
MUST_USE Status expect_name(Parser *parser, const char *what, StringView *out_name);

MUST_USE Status parse_int64(Parser *parser, int64_t *out_value);
MUST_USE Status parse_int32(Parser *parser, int64_t *out_value);
MUST_USE Status parse_bool(Parser *parser, bool *out_value);
MUST_USE Status parse_string(Parser *parser, StringView *out_text);
/* Any real number; decimals that overflow double are errors. */
MUST_USE Status parse_real(Parser *parser, double *out_value);
/* A list between |open| and |close|, without trailing comma. */
MUST_USE Status parse_int_list(Parser *parser, TokenKind open, TokenKind close, Int64List *out_list);
MUST_USE Status parse_int_lists(Parser *parser, int64_t *out_count, const Int64List **out_lists);
MUST_USE Status parse_shape_index(Parser *parser, ShapeIndex *out_index);
/* Numbers of a SIZES or PADS token, pushed on parser->ints. */
MUST_USE Status push_token_numbers(Parser *parser, const Token *token);

/* --- shapes and literals --- */

bool at_shape(Parser *parser);
MUST_USE Status parse_shape(Parser *parser, const Shape **out_shape);
/* Inference can nest and double tuples without any text for it; what has no text is limited here. */
MUST_USE Status check_shape_size(Parser *parser, SourceLoc loc, const Shape *shape);
MUST_USE Status parse_literal(Parser *parser, const Shape *shape, const Literal **out_literal);

/* --- attribute values --- */

/* The value of attribute |attr->id| (its loc set), by the kind's function. */
MUST_USE Status parse_attribute_value(Parser *parser, InstructionDraft *draft, HloAttr *attr);
MUST_USE Status parse_window(Parser *parser, const Window **out_window);
MUST_USE Status parse_dim_labels(Parser *parser, const ConvolutionDimensionNumbers **out_numbers);
MUST_USE Status parse_padding(Parser *parser, const PaddingConfig **out_padding);
MUST_USE Status parse_slice(Parser *parser, const SliceRanges **out_slice);
MUST_USE Status parse_sparsity(Parser *parser, const SparsityConfig **out_sparsity);
MUST_USE Status parse_aliasing(Parser *parser, HloAttr *attr);
MUST_USE Status parse_sharding(Parser *parser, const HloSharding **out_sharding);
MUST_USE Status parse_domain(Parser *parser, const HloDomain **out_domain);
MUST_USE Status parse_replica_groups(Parser *parser, const ReplicaGroups **out_groups);
/* <=[2,3]T(1,0), at the '<='. */
MUST_USE Status parse_iota(Parser *parser, IotaTile *out_iota);
bool at_mesh(const Parser *parser);
MUST_USE Status parse_mesh(Parser *parser, const Mesh **out_mesh);
MUST_USE Status parse_axis_refs(Parser *parser, const Mesh *mesh, bool may_open, MeshAxisRefs *out_refs);
MUST_USE Status parse_metadata(Parser *parser, HloMetadata *out_metadata);
MUST_USE Status parse_frontend_attributes(Parser *parser, int64_t *out_count, const FrontendAttribute **out_attributes);
MUST_USE Status parse_statistics(Parser *parser, HloAttr *attr);
MUST_USE Status parse_origin(Parser *parser, const HloOrigin **out_origin);
MUST_USE Status parse_origin_node(Parser *parser, OriginNode *out_node);
MUST_USE Status parse_accuracy(Parser *parser, const ResultAccuracy **out_accuracy);
/* A string or a brace dictionary kept as it is. */
MUST_USE Status parse_text_or_dictionary(Parser *parser, StringView *out_text, bool *out_is_dictionary);

/* One word of a table of named fields: its attribute token name, where it goes, and whether it was seen. */
typedef struct FieldTable {
  const char *const *names;
  int count;
} FieldTable;
/* At an attribute token: the index in |table|, marked in |seen|; consumed.  Unknown and repeated fields are errors. */
MUST_USE Status parse_field_name(Parser *parser, const char *owner, const FieldTable *table, uint64_t *seen,
                                 int *out_field);

/* --- instructions (parse_instruction.c, parse_async.c, parse_rules.c) --- */

/* rhs of an instruction whose name is in the draft (empty for anonymous ones), built into the current scope's
 * computation. *out_instruction is NULL, with STATUS_OK, when it could not be built because it uses something that
 * failed before. */
MUST_USE Status parse_instruction_rhs(Parser *parser, InstructionDraft *draft, bool nested,
                                      HloInstruction **out_instruction);
/* The next instruction of the scope, with ROOT and name. */
MUST_USE Status parse_instruction(Parser *parser);
/* A defined instruction's name, as control predecessors use it.  NULL when it stands for a failed one. */
MUST_USE Status parse_instruction_reference(Parser *parser, HloInstruction **out_instruction);

const HloAttr *draft_attr(const InstructionDraft *draft, HloAttrId id);
void draft_set_attr(Parser *parser, InstructionDraft *draft, const HloAttr *attr);
void draft_remove_attr(InstructionDraft *draft, HloAttrId id);

/* What XLA's parser checks of operands and attributes beyond the table, per family. */
MUST_USE Status check_operand_count(Parser *parser, const InstructionDraft *draft);
MUST_USE Status check_required_attributes(Parser *parser, const InstructionDraft *draft);
MUST_USE Status check_instruction(Parser *parser, InstructionDraft *draft);
/* Of these, what is about attributes that every opcode takes. */
MUST_USE Status check_common_attributes(Parser *parser, const InstructionDraft *draft);
/* "OP-start" and the like: false when |text| is none. */
bool resolve_async_sugar(StringView text, HloOpcode *out_wrapped, AsyncSugar *out_sugar);
/* Opcode whose attributes the text may carry. */
HloOpcode draft_attribute_opcode(const InstructionDraft *draft);
/* Rules of asynchronous instructions; for the sugared start builds the wrapped computation and turns the draft into
 * async-start. */
MUST_USE Status finish_async(Parser *parser, InstructionDraft *draft);
/* That of a draft without a shape, whether a text might leave it out or not. */
MUST_USE Status infer_draft_shape(Parser *parser, const InstructionDraft *draft, const Shape **out_shape);
/* XLA gives a tuple one sharding per leaf. */
void spread_sharding(Parser *parser, InstructionDraft *draft, const Shape *shape);
/* What XLA would rename is refused. */
MUST_USE Status check_instruction_name(Parser *parser, StringView name, SourceLoc loc);
/* Infers if needed, and adds the draft to the scope's computation; NULL when an inference failed. */
MUST_USE Status build_instruction(Parser *parser, InstructionDraft *draft, HloInstruction **out_instruction);

/* --- computations (parse_computation.c) --- */

/* A reference by name or an inline body; NULL when it stands for a failed one. */
MUST_USE Status parse_computation_reference(Parser *parser, HloComputation **out_computation);
/* All computations up to the end of the text; errors are in the parser. */
void parse_computations(Parser *parser);
/* The form without computations. */
void parse_single_instruction(Parser *parser);
/* A new computation becomes the current scope. */
void scope_begin(Parser *parser, Scope *scope, StringView computation_name, SourceLoc loc);
/* Back to the scope around; the computation counts as finished.  False when anything in it failed. */
bool scope_end(Parser *parser, Scope *scope);

/* --- the header (parse_header.c) --- */

MUST_USE Status parse_header(Parser *parser);
/* The value of the attribute |name|, whose own place is |loc|. */
MUST_USE Status parse_header_attribute(Parser *parser, StringView name, SourceLoc loc);
MUST_USE Status parse_stack_tables(Parser *parser);
/* What can be checked only with the entry computation at hand. */
MUST_USE Status check_header(Parser *parser);

#endif
