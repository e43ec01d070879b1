/* RewriteLog: which rule of which pass rewrote how often, and where a limit says to stop.
 *
 * A *step* is one rewrite of a pass that counts them (hlo_pass_count_rewrite), or one run of any other optional pass
 * that changes the module.  Two compilations of one text take the same steps in the same order, whatever the limit, so
 * that halving the limit finds the step after which a result is wrong. */
#ifndef XLAC_PASSES_PIPELINE_REWRITE_LOG_H
#define XLAC_PASSES_PIPELINE_REWRITE_LOG_H

#include "passes/pipeline/hlo_pass.h"

typedef struct HloRewriteCount {
  const HloPass *pass;
  const char *rule; /* NULL: a run of a pass that does not count */
  int64_t count;
} HloRewriteCount;

struct HloRewriteLog {
  Arena *arena;
  const HloPass *pass; /* that runs now */
  bool is_needed;      /* it may not be stopped halfway: what it counts are no steps */
  int64_t limit;       /* steps; negative: as many as there are */
  int64_t steps;
  ARRAY(HloRewriteCount) counts; /* in order of first use */
  IntMap index;                  /* of a pass and a rule: where in |counts| */
  /* The last step. */
  const HloPass *last_pass;
  const char *last_rule;       /* NULL: the run as a whole */
  StringView last_instruction; /* by the name it had; empty for a run */
};

void rewrite_log_init(HloRewriteLog *log, Arena *arena, int64_t limit);
bool rewrite_log_is_exhausted(const HloRewriteLog *log);
/* |at| may be NULL, and so may |rule|. */
void rewrite_log_add(HloRewriteLog *log, const char *rule, const HloInstruction *at);

#endif
