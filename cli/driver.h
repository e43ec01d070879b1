/* The driver: what the commands have in common, from the text to the files.  A command is a list of these steps; each
 * returns a Status and session_end turns the last one into an exit status, with everything printed and the outputs in
 * place or nowhere. */
#ifndef XLAC_CLI_DRIVER_H
#define XLAC_CLI_DRIVER_H

#include "base/file_io.h"
#include "cli/compile_report.h"
#include "cli/file_uses.h"
#include "cli/options.h"
#include "cli/time_limit.h"
#include "codegen/codegen.h"
#include "codegen/oncore/language/written_plans.h"
#include "codegen/report/report.h"
#include "hlo/machine/description/machine_description.h"
#include "passes/pipeline/hlo_pass_pipeline.h"
#include "runtime/engines/queue_timeline.h"

typedef struct PhaseTime {
  const char *name;
  double begin; /* on the monotonic clock */
  double seconds;
} PhaseTime;

typedef struct OutputNote {
  const char *path;
  size_t size;
} OutputNote;

struct Session {
  const Options *options;
  Arena *arena; /* source, options, interned shapes, outputs' contents */
  Arena *module_arena;
  Arena *codegen_arena;
  ShapeTable *shapes;
  DiagSink *diag;
  SourceFile source;
  HloModule *module; /* NULL before it is parsed */
  HloPassPipeline *pipeline;
  BufferAssignment *assignment;      /* of driver_run_passes; NULL: its passes made none */
  bool makes_code;                   /* set before driver_run_passes: memory is planned for code as well */
  CodeDraft draft;                   /* begun by driver_run_passes; its plans_detail is set before that, too */
  const MachineDescription *machine; /* of --target; NULL: the host */
  CompiledObject object;             /* of driver_generate; kernel counts 0 before */
  StringView simulation;             /* table of --engine=sim, for --stats */
  const QueueTimeline *timeline;     /* of --engine=sim, for --trace; else NULL */
  FileUses files;                    /* of driver_check_files */
  OutputFiles *outputs;
  ARRAY(OutputNote) written; /* what is in |outputs|, for -v */
  ARRAY(PhaseTime) phases;
  CompileReport report;  /* for --report */
  TimeLimit *time_limit; /* of --timeout; NULL: none */
  double started;        /* on the monotonic clock */
};

/* |diag| and |arena| are the command line's and outlive the session. */
void session_begin(Session *session, const Options *options, Arena *arena, DiagSink *diag);

/* Commits or drops the outputs, prints diagnostics and reports on standard error, frees memory; the exit status. */
int session_end(Session *session, Status status);
/* The same for a command line that the command refuses: drops the outputs. */
int session_end_usage(Session *session);

/* --- steps --- */

/* The machine, and the input file's text → module, verified if |verify|. */
MUST_USE Status driver_load(Session *session, bool verify);
/* driver_load of a module that one device is to run. */
MUST_USE Status driver_load_to_run(Session *session);
/* The passes of --passes, otherwise those that |standard| makes (NULL: none), with dumps. */
MUST_USE Status driver_run_passes(Session *session,
                                  HloPassPipeline *(*standard)(Arena *arena, const HloPassOptions *options));
/* What --callbacks says. */
HloCallbacks driver_callbacks(const Session *session);
/* The passes left a BufferAssignment (which has been found to fit --memory-limit). */
MUST_USE Status driver_require_assignment(Session *session);
/* No output is an input or another output; outputs without their option go by |defaults|.  Before any work. */
MUST_USE Status driver_check_files(Session *session, const OutputDefault *defaults, int count);
/* --mcpu and --mattr are what code generation takes; before any work. */
MUST_USE Status driver_check_cpu(const Session *session);
/* The Kernels of the module after the passes, session->draft.kernels; again: nothing. */
MUST_USE Status driver_make_kernels(Session *session);
/* Fills session->object; after driver_make_plans. */
MUST_USE Status driver_generate(Session *session, LlvmOutput output);
/* How Kernels of a vector processor get their plans, behind the passes: by the tiler's options, and from the file
 * |path| first; NULL: no file. */
MUST_USE Status driver_read_plans(Session *session, const char *path);
/* The plans of all Kernels, session->draft.plans, --plan's first; warns of those that are slower
 * than the tiler's.  Again: nothing. */
MUST_USE Status driver_make_plans(Session *session);
/* --dump-liveness, --dump-buffer-assignment, --dump-plan. */
MUST_USE Status driver_add_reports(Session *session);
/* --dump-graph, of the module after the passes. */
MUST_USE Status driver_add_graph(Session *session);
/* An output for session_end to write; NULL or empty |path|: none. */
MUST_USE Status driver_add_output(Session *session, const char *path, StringView content);

/* --- what steps and commands use --- */

bool option_given(const Session *session, OptionId id);
/* The text of an option, or |fallback|. */
const char *option_text(const Session *session, OptionId id, const char *fallback);
int64_t option_integer(const Session *session, OptionId id, int64_t fallback);

double driver_seconds_now(void);
/* Adds a line to --time-report: from |start| to now, which is returned. */
double driver_end_phase(Session *session, const char *name, double start);

/* Commands: each runs to the exit status. */
int compile_command(Session *session);
int run_command(Session *session);
int opt_command(Session *session);
int check_command(Session *session);
int check_plan_command(Session *session);

#endif
