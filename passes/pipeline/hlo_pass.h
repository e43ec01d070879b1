/* HloPass: one transformation or check of a module, a const value that knows nothing of dumping, timing or verifying.
 */
#ifndef XLAC_PASSES_PIPELINE_HLO_PASS_H
#define XLAC_PASSES_PIPELINE_HLO_PASS_H

#include "hlo/analysis/buffer_assignment.h"
#include "hlo/analysis/fused_instruction.h"
#include "hlo/ir/hlo_module.h"
#include "hlo/machine/description/machine_abilities.h"
#include "passes/pipeline/memory_reduction.h"

/* An observer of the decisions that passes take about pairs of instructions, for the reports: fusion says which
 * producer it fuses into which consumer, or why it does not, and then of each instruction which fusion computes it.
 * Texts live as long as the program. */
typedef struct HloDecisionObserver {
  void *context;
  void (*decided)(void *context, const char *pass, const HloInstruction *producer, const HloInstruction *consumer,
                  bool taken, const char *reason);
  void (*fused)(void *context, const FusedInstruction *fused);
} HloDecisionObserver;

/* What becomes of calls back into Python (passes/expand/callback_expander.c). */
typedef enum HloCallbacks {
  HLO_CALLBACKS_REFUSE,
  HLO_CALLBACKS_IGNORE, /* left out where nothing needs their results, else refused */
  HLO_CALLBACKS_TRAP,   /* they fail when they are reached */
  HLO_CALLBACKS_CALL    /* they call what has their name */
} HloCallbacks;

enum { HLO_DEFAULT_EFFORT = 5 };

/* What memory-reducer leaves word of to the passes after it; zeroes: what is fastest. */
typedef struct HloMemoryTuning {
  int schedule_effort;   /* 0: the scheduler searches some milliseconds; 1 … 9: longer, for less memory */
  int64_t scratch_limit; /* bytes that a Kernel's scratch should be at most, where it has a slower way; 0: any */
  int64_t scratch_total; /* but what fits beside the rest in so many bytes (HloPassOptions.memory_limit) is as it is */
} HloMemoryTuning;

typedef struct HloPassOptions {
  int opt_level;                     /* -O0 … -O3 */
  bool fast_math;                    /* floats may be rewritten as if they were real numbers (docs/passes.md) */
  bool excess_precision;             /* 16-bit floats may be rounded less often (docs/numerics.md) */
  int64_t memory_limit;              /* bytes of arguments + results + temporaries; 0: none */
  bool minimizes_memory;             /* as few of them as memory-reducer finds */
  int effort;                        /* 1 … 9, how many steps searches may take; 0: HLO_DEFAULT_EFFORT */
  HloMemoryTuning tuning;            /* HloPassContext.tuning at the beginning */
  bool keeps_text_order;             /* instructions run where the text of the scheduled module has them */
  const MachineDescription *machine; /* the target, which machine_abilities.h asks; NULL: the host */
  HloCallbacks callbacks;
  int fixed_count;         /* 0: pass prepare does not run */
  const StringView *fixed; /* parameters that stay the same from run to run (passes/control/fixed_parameters.h) */
  const HloScratchModel *scratch;       /* NULL: no code will be made, scratch is not counted */
  const HloDecisionObserver *decisions; /* may be NULL */
} HloPassOptions;

typedef struct HloRewriteLog HloRewriteLog; /* rewrite_log.h */

typedef struct HloPassContext {
  Arena *scratch; /* reset after the pass */
  DiagSink *diag;
  const HloPassOptions *options;
  HloRewriteLog *rewrites;      /* may be NULL: nothing is counted or limited */
  BufferAssignment *assignment; /* of the module as it is now; NULL: none was made, or the module changed since */
  MemoryReduction *reduction;   /* what memory-reducer did; NULL: it did not run */
  HloMemoryTuning tuning;
} HloPassContext;

typedef struct HloPass {
  const char *name;    /* "dce": what --passes=, dumps and timing call it */
  const char *summary; /* one line for --print-passes */
  Status (*run)(HloPassContext *context, HloModule *module, bool *out_changed);
  bool keeps_schedule; /* what it leaves of a scheduled module is scheduled; any other pass that changes a module ends
                          its schedule */
} HloPass;

/* A pass of many small rewrites asks before each whether --pass-limit allows another, and counts each that it made:
 * |rule| is a literal, for --stats; |at| what was rewritten, or NULL. */
bool hlo_pass_may_rewrite(const HloPassContext *context);
void hlo_pass_count_rewrite(HloPassContext *context, const char *rule, const HloInstruction *at);

/* The registry (pass_registry.def).  NULL when there is no such pass. */
const HloPass *hlo_pass_find(StringView name);
int hlo_pass_count(void);
const HloPass *hlo_pass_at(int index);

/* Every registered pass by its variable. */
#define HLO_PASS(variable) extern const HloPass variable;
#include "passes/pipeline/pass_registry.def"
#undef HLO_PASS

#endif
