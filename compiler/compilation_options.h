/* CompilationOptions: all that is said about a compilation besides the module, as data.  Zeros are: an object for
 * this host's own processor, the standard passes at -O0, IEEE 754's numbers, nothing recorded.
 *
 * What the options point to belongs to the caller and must outlive the compilation. */
#ifndef XLAC_COMPILER_COMPILATION_OPTIONS_H
#define XLAC_COMPILER_COMPILATION_OPTIONS_H

#include "codegen/llvm/llvm_options.h"
#include "codegen/oncore/emit/module_plans.h"
#include "passes/pipeline/hlo_pass_pipeline.h"

/* The passes of a compilation that names none. */
typedef enum CompilationPasses {
  COMPILATION_PASSES_STANDARD,    /* hlo_standard_pipeline */
  COMPILATION_PASSES_INTERPRETER, /* hlo_interpreter_pipeline */
  COMPILATION_PASSES_NONE
} CompilationPasses;

/* Is told what the compilation begins to do: |what| and, unless NULL, to what: "making plans", NULL; "running pass",
 * "fusion".  The texts live as long as the program.  A Status other than STATUS_OK cancels: it is what the step
 * returns, without a diagnostic. */
typedef struct CompilationProgress {
  void *context;
  Status (*begins)(void *context, const char *what, const char *name);
} CompilationProgress;

#define COMPILATION_MOST_THREADS 1024

typedef struct CompilationOptions {
  /* --- the target --- */
  const MachineDescription *machine; /* NULL: the host */
  StringView mcpu, mattr;            /* of the host (LlvmOptions) */
  LlvmTargetPool *pool;              /* shared with other compilations, or NULL (LlvmOptions) */
  /* --- numbers --- */
  bool fast_math;        /* floats may be rewritten as if they were real numbers (docs/passes.md) */
  bool excess_precision; /* 16-bit floats may be rounded less often (docs/numerics.md) */
  bool flush_denormals;  /* subnormal numbers are zeros */
  /* --- the passes --- */
  int opt_level; /* 0 … 3 */
  CompilationPasses passes;
  bool has_pass_names; /* these instead, which may be none */
  StringView pass_names;
  int disabled_count;
  const StringView *disabled; /* passes to leave out */
  int fixed_count;
  const StringView *fixed; /* parameters that stay the same from run to run (HloPassOptions.fixed) */
  bool has_pass_limit;     /* at most |pass_limit| optional steps (rewrite_log.h) */
  int64_t pass_limit;
  bool verifies_each;    /* the module is verified after every pass */
  int64_t partitions;    /* devices that the module is made for, all together; 0: as its header says */
  int64_t processes;     /* that are there to run it: partitions of a module of whole arrays of which nothing else says
                            how many it has; 0: one */
  bool keeps_whole;      /* a module of whole arrays is not divided among them: one device runs it */
  bool keeps_text_order; /* the module is scheduled, and stays so */
  HloCallbacks callbacks;
  int64_t memory_limit;  /* bytes of arguments, results, temporaries and scratch; 0: none */
  bool minimizes_memory; /* as few of these as are found */
  int effort;            /* 1 … 9, how many steps searches may take; 0: HLO_DEFAULT_EFFORT */
  bool without_code;     /* none is to be made, so that memory is planned without what it needs */
  /* --- plans of a vector processor --- */
  int32_t pipeline_depth;   /* tiles in flight; 0: chosen for each Kernel */
  bool is_strict_oncore;    /* nothing may run elsewhere */
  bool has_no_residency;    /* TilerOptions.no_residency */
  int scheme;               /* how they get room in the Buffer, a PlanScheme */
  const SourceFile *plans;  /* written ones, taken first; NULL: none */
  PlansDetail plans_detail; /* what is asked of all of them */
  /* --- the code --- */
  bool has_scratch_limit; /* of a Kernel on the host: CodeDraft */
  int64_t scratch_limit;
  LlvmOutput output;
  bool has_entry_name; /* else the C symbol is made of |default_name| */
  StringView entry_name;
  StringView default_name; /* of the file, say; empty: the module's name */
  bool constants_apart;    /* large constants in a file of their own: CompiledObject.constants */
  bool poison;             /* code that overwrites all memory without a live value, for tests */
  bool profile;            /* code that counts what each instruction takes; runs are no more re-entrant */
  int64_t threads; /* so many at most generate code, the caller's included: 1 … COMPILATION_MOST_THREADS; 0: 1 */
  /* --- what is told on the way --- */
  bool records_decisions;                   /* of passes, in Compilation.decisions and .fusions */
  const HloPipelineObserver *pass_observer; /* may be NULL */
  const CompilationProgress *progress;      /* may be NULL */
} CompilationOptions;

/* What can be said without a module, before any work: STATUS_INVALID with diagnostics for an entry name that is no
 * free C identifier ("usage") and for a processor or features that code generation does not know (llvm_check_cpu). */
MUST_USE Status compilation_options_check(const CompilationOptions *options, DiagSink *diag);

#endif
