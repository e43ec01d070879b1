/* ModuleRun: memory for one compiled module and its execution, once or repeatedly.
 *
 * Arguments keep their values: a result that shares memory with a parameter gets memory of its own, into which the
 * argument is copied before each run.  Results and workspace are filled with a NaN pattern before the first run, so
 * that a value that was never written shows, and stand before a guard that is checked after each run. */
#ifndef XLAC_RUNTIME_ENGINES_RUNNER_H
#define XLAC_RUNTIME_ENGINES_RUNNER_H

#include "base/diagnostic.h"
#include "xlac/abi.h"

typedef struct ModuleRun {
  XlacFunction function;
  const XlacDescriptor *descriptor;
  void **arguments;              /* per parameter leaf: storage that the caller fills once */
  void **results;                /* per result leaf: valid after runner_execute */
  const void **passed_arguments; /* what the module gets: the result's memory for aliased leaves */
  void *workspace;
  int64_t workspace_bytes;       /* for as many workers as |options| have */
  void *prepared;                /* what the module computes before its first run; NULL: nothing */
  bool is_prepared;              /* it has */
  double prepare_seconds;        /* what that took */
  const XlacRunOptions *options; /* NULL: one thread; a copy where something is prepared */
} ModuleRun;

/* Memory comes from |arena|, which, like |options|, must outlive the run.  |descriptor| must be sane: it is the
 * compiler's own. */
ModuleRun *runner_create(Arena *arena, XlacFunction function, const XlacDescriptor *descriptor,
                         const XlacRunOptions *options);

/* Runs once, before the first time after what the module prepares of its arguments, which stay the same from then on;
 * |out_seconds| (may be NULL) is the time inside the module's own function.  STATUS_INVALID when the module
 * returns non-zero, with a diagnostic (code "run") unless it is one that options->on_failure was told of. */
MUST_USE Status runner_execute(ModuleRun *run, DiagSink *diag, double *out_seconds);

typedef struct RunTimes {
  double min, median, mean;
  int64_t count;
} RunTimes;

/* Sorts |seconds|. */
RunTimes run_times_of(double *seconds, int64_t count);

/* Of the workspace that a run with |options| (NULL: one thread) needs. */
int64_t descriptor_workspace_bytes(const XlacDescriptor *descriptor, const XlacRunOptions *options);

/* Sums over the leaves. */
int64_t descriptor_argument_bytes(const XlacDescriptor *descriptor);
int64_t descriptor_result_bytes(const XlacDescriptor *descriptor);

#endif
