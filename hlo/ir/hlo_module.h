/* HloModule: computations with an entry, and what the header says. */
#ifndef XLAC_HLO_IR_HLO_MODULE_H
#define XLAC_HLO_IR_HLO_MODULE_H

#include "base/hash_map.h"
#include "hlo/ir/hlo_computation.h"

typedef enum AliasKind { ALIAS_MAY, ALIAS_MUST } AliasKind;

/* input_output_alias: result position → parameter position. */
typedef struct InputOutputAlias {
  ShapeIndex output;
  int64_t parameter;
  ShapeIndex parameter_index;
  AliasKind kind;
  SourceLoc loc;
} InputOutputAlias;

typedef struct BufferDonor {
  int64_t parameter;
  ShapeIndex parameter_index;
  SourceLoc loc;
} BufferDonor;

typedef struct EntryLayout {
  bool present; /* false: taken from parameters and root */
  SourceLoc loc;
  int64_t parameter_count;
  const Shape *const *parameters;
  const Shape *result;
} EntryLayout;

/* The size of a dimension of a leaf of the parameters or results, as a leaf of its own.  Tuples are flattened. */
typedef struct LeafSize {
  int64_t leaf, dimension, size_leaf;
} LeafSize;

/* Rows of the stack-frame tables; numbers count from 1, 0 means none. */
typedef struct FileLocation {
  int32_t file_name_id, function_name_id, line, end_line, column, end_column;
} FileLocation;

typedef struct StackFrame {
  int32_t file_location_id, parent_frame_id; /* as written */
} StackFrame;

typedef struct StackFrameTables {
  bool present;
  int64_t file_name_count, function_name_count, file_location_count, stack_frame_count;
  const StringView *file_names, *function_names;
  const FileLocation *file_locations;
  const StackFrame *stack_frames;
} StackFrameTables;

typedef struct OriginRecoveryEntry {
  OriginNode from, to;
  bool has_module;
  StringView module_text;
} OriginRecoveryEntry;

/* How deep computations of a verified module may call one another, and how many of the calls on one way may be loops:
 * programs stay far below, and what passes and LLVM do grows with the square of the depth. */
enum { HLO_MOST_NESTED_CALLS = 1000, HLO_MOST_NESTED_LOOPS = 100 };

struct HloModule {
  Arena *arena;       /* owns everything here */
  ShapeTable *shapes; /* the session's */
  StringView name;
  SourceLoc loc;
  HloComputationArray computations; /* text order: callees before callers */
  HloComputation *entry;
  StringView result_name; /* what the entry's root was called before passes; empty: there were none yet */
  bool is_scheduled;
  EntryLayout entry_layout;
  ARRAY(InputOutputAlias) aliases;
  ARRAY(BufferDonor) donors;
  /* Of leaves whose size is set at run time, once that is a number beside them (dynamic-size-expander). */
  ARRAY(LeafSize) parameter_sizes, result_sizes;
  /* What is computed once, before any run, of parameters that stay the same (pass prepare): the entry calls it once,
   * and its results are the last |prepared_count| leaves of the entry's.  NULL: nothing is. */
  HloComputation *preparation;
  int64_t prepared_count;
  bool alias_passthrough_params;
  int64_t replica_count, num_partitions;
  bool is_whole;        /* it is to be divided among its partitions, though passes may have dropped what says so */
  bool fits_partitions; /* num_partitions was chosen beside the text, whose shardings name devices of another number */
  bool spmd_parameters_present, spmd_output_present; /* allow_spmd_sharding_propagation_to_… */
  int64_t spmd_parameter_count, spmd_output_count;
  const bool *spmd_parameters, *spmd_outputs;
  int64_t frontend_count;
  const FrontendAttribute *frontend;
  int64_t origin_recovery_count;
  const OriginRecoveryEntry *origin_recovery;
  StackFrameTables stack_frames;
  int32_t next_instruction_id, next_computation_id;
  StringMap instruction_names, computation_names; /* names in use, for uniqueness */
};

/* |shapes| must outlive the module. */
HloModule *hlo_module_create(Arena *arena, ShapeTable *shapes, StringView name);

/* Adds an empty computation; |name| is made unique by a suffix. */
HloComputation *hlo_module_add_computation(HloModule *module, StringView name);
/* The entry's layout, where the module has one, says what its parameters and its root are by now. */
void hlo_module_update_entry_layout(HloModule *module);

/* Of all computations. */
int64_t hlo_module_instruction_count(const HloModule *module);

/* hlo_computation_remove_dead of all computations, without a walk over all that each call reaches. */
int64_t hlo_module_remove_dead(HloModule *module);

/* Drops computations that the entry cannot reach; returns how many. */
int64_t hlo_module_remove_unreachable(HloModule *module);

/* By computation id: whether an instruction anywhere in |module| applies it, element by element or, |with_fusions|, to
 * a whole kernel, so that it has no kernels of its own.  One walk over the module, which may have any calls; in
 * |arena|. */
const bool *hlo_module_applied(Arena *arena, const HloModule *module, bool with_fusions);

/* Callees before callers; computations the entry cannot reach come too, in text order. */
HloComputation **hlo_module_post_order(const HloModule *module, Arena *arena, int64_t *out_count);
/* The same for instructions in the order in which they are printed: that of a text which is printed and parsed again.
 * |scheduled|: hlo_module_scheduled_computations. */
HloComputation **hlo_module_print_order(const HloModule *module, const bool *scheduled, Arena *arena,
                                        int64_t *out_count);

/* Copy with its own arena memory (same ShapeTable). */
HloModule *hlo_module_clone(const HloModule *module, Arena *arena);

/* |module| becomes what its clone |from| is by now, whose arena is the module's; |from| is used up. */
void hlo_module_take(HloModule *module, HloModule *from);

/* Equal headers and computations up to names of instructions and computations. */
bool hlo_module_equal(const HloModule *a, const HloModule *b);
uint64_t hlo_module_hash(const HloModule *module);

/* As text of HLO, which reads back as an equal module unless |options| leave things out. */
void hlo_module_print(StringBuilder *out, const HloModule *module, const HloPrintOptions *options);

/* The Python line an instruction came from, "file:line (function)", from its metadata or through the stack-frame
 * tables; empty if unknown. */
StringView hlo_module_source_line(const HloModule *module, const HloInstruction *instruction, Arena *arena);

#endif
