/* Compilation: one module's way from its text to an object, in memory, as steps that a caller makes one by one.
 *
 *   Compilation compilation;
 *   compilation_init(&compilation, arena, &options, &diag);
 *   SourceFile source = {SV("axpy.hlo"), text};
 *   Status status = compilation_load(&compilation, &source);
 *   if (status == STATUS_OK) status = compilation_run_passes(&compilation);
 *   if (status == STATUS_OK) status = compilation_generate(&compilation);
 *   if (status == STATUS_OK) use(compilation.object.bytes, compilation.object.header);
 *
 * No step reads or writes a file, prints, or ends the process (but for a lack of memory and for bugs of its own,
 * base/status.h).  A step that fails says why in the DiagSink, with places in the source, and returns a Status; then
 * the compilation is over: its values may be read, for reports, and no further step be made.
 *
 * Arenas: everything a compilation makes, outputs included, lives in the caller's |arena|, and dies with it; a
 * compilation itself needs no end.  Several compilations may run at once, in threads of their own, if each has an arena
 * and a DiagSink of its own: the compiler has no state that changes, but for LLVM's, which is made once. */
#ifndef XLAC_COMPILER_COMPILATION_H
#define XLAC_COMPILER_COMPILATION_H

#include "base/array.h"
#include "codegen/codegen.h"
#include "codegen/report/report.h"
#include "compiler/compilation_options.h"
#include "compiler/phase_times.h"

/* One decision of a pass about a pair of instructions (HloDecisionObserver). */
typedef struct CompilationDecision {
  const char *pass;
  StringView producer, consumer;
  bool taken;
  const char *reason;
} CompilationDecision;

/* The array leaves that a module's arguments and results were before it was divided; NULL: it was not. */
typedef struct WholeShapes {
  const Shape *const *parameters, *const *results;
} WholeShapes;

typedef struct CompilationProgram CompilationProgram; /* program.h */
typedef struct NetworkReport NetworkReport;           /* network_report.h */

/* What is not made yet is NULL or 0. */
typedef struct Compilation {
  CompilationOptions options; /* may be changed until compilation_run_passes, but for progress */
  Arena *arena;
  DiagSink *diag;
  const SourceFile *source; /* of compilation_parse */
  ShapeTable *shapes;
  HloModule *module;
  CompilationProgram *program;        /* of a program of its own (compilation_load_program); NULL: of a model */
  int passes_run;                     /* by compilation_partition */
  WholeShapes whole;                  /* before it */
  const HloSharding *result_sharding; /* of the entry's root, before passes put another in its place; NULL: none */
  HloPassPipeline *pipeline;          /* of the passes that ran after that: statistics, counts of rewrites */
  BufferAssignment *assignment;       /* NULL also where the passes leave none */
  CodeDraft draft;                    /* Kernels, plans */
  CodeDraft trial;                    /* those of a copy of the module that a pass tries; only while it does */
  CompiledObject object;              /* bytes, header, names */
  /* --- what happened --- */
  const NetworkReport *network; /* compilation_plan_network */
  PhaseTimes phases;            /* the caller may add its own */
  ARRAY(CompilationDecision) decisions;
  ARRAY(FusedInstruction) fusions; /* recorded with them, and for options.plans */
} Compilation;

/* Those that passes have made so far. */
static inline FusedInstructions compilation_fused(const Compilation *compilation) {
  return (FusedInstructions){compilation->fusions.count, compilation->fusions.data};
}

/* |options| are copied. */
void compilation_init(Compilation *compilation, Arena *arena, const CompilationOptions *options, DiagSink *diag);

/* --- steps, in this order --- */

/* Text → module.  |source| and its text must live as long as |arena|.  Errors are those of hlo_parse_module. */
MUST_USE Status compilation_parse(Compilation *compilation, const SourceFile *source);
/* Errors are those of hlo_verify and hlo_verify_transfers_end. */
MUST_USE Status compilation_verify(Compilation *compilation);
/* compilation_verify of a module that is for options.partitions devices, all together; 0: as its header says.  Errors
 * are those of hlo_set_device_count as well. */
MUST_USE Status compilation_count_devices(Compilation *compilation);
/* Divides a verified module whose text says how (hlo_module_is_to_be_partitioned) among the partitions of its header,
 * where these are several: passes/spmd.  Errors are those of the passes. */
MUST_USE Status compilation_partition(Compilation *compilation);
/* All of it, of a module that is to be run, by options.partitions devices or those of its header (hlo_check_devices).
 */
MUST_USE Status compilation_load(Compilation *compilation, const SourceFile *source);
/* A sharding in HLO's words that stands outside of the module, after compilation_parse; |label| names it in messages.
 */
MUST_USE Status compilation_parse_sharding(Compilation *compilation, StringView label, StringView text,
                                           const HloSharding **out_sharding);
/* Instead of these: a verified module that the caller made, which the passes change.  It and its shapes must live as
 * long as |arena|; no other compilation may use its ShapeTable at the same time. */
void compilation_take_module(Compilation *compilation, HloModule *module);

/* Errors are those of the passes; STATUS_EXHAUSTED over memory_limit, with the largest buffers as notes. */
MUST_USE Status compilation_run_passes(Compilation *compilation);

/* Each makes what is not there yet; those after the passes make Kernels and plans themselves where they need them. */

/* STATUS_INVALID ("no-assignment") when the passes, which are the caller's then, left no BufferAssignment. */
MUST_USE Status compilation_require_assignment(Compilation *compilation);
/* The Kernels of the module after the passes: draft.kernels. */
MUST_USE Status compilation_make_kernels(Compilation *compilation);
/* Written plans, options.plans, for these: draft.written.  Not for the host. */
MUST_USE Status compilation_read_plans(Compilation *compilation);
/* The plans of all Kernels: draft.plans, which stays NULL for the host; warns of written ones that are slower than the
 * tiler's. */
MUST_USE Status compilation_make_plans(Compilation *compilation);
/* options.output and the header: |object|.  Not with options.without_code. */
MUST_USE Status compilation_generate(Compilation *compilation);

/* --- outputs as text, appended to |out| --- */

/* After a BufferAssignment was made: the buffer map, TEXT or JSON, with the plans if there are. */
void compilation_print_map(const Compilation *compilation, ReportFormat format, StringBuilder *out);
/* After compilation_make_plans: all plans in the plan language. */
void compilation_print_plans(const Compilation *compilation, StringBuilder *out);
/* After compilation_make_plans: the shortest plan of kernel |name| to start from.  STATUS_INVALID ("plan-kernel") when
 * there is no such kernel. */
MUST_USE Status compilation_print_plan_template(const Compilation *compilation, StringView name, StringBuilder *out);
/* After compilation_read_plans: the written plans as they were understood, in the plan language, all places and edges
 * explicit; a line for each with its cost, and what the tiler's own takes. */
void compilation_print_written_plans(const Compilation *compilation, StringBuilder *out);
void compilation_print_written_costs(const Compilation *compilation, StringBuilder *out);

#endif
