/* The driver: what the commands have in common, from the text to the files.  A command is a list of these steps; each
 * returns a Status and session_end turns the last one into an exit status, with everything printed and the outputs in
 * place or nowhere. */
#ifndef XLAC_CLI_DRIVER_H
#define XLAC_CLI_DRIVER_H

#include "base/file_io.h"
#include "cli/file_uses.h"
#include "cli/options.h"
#include "cli/progress_line.h"
#include "cli/time_limit.h"
#include "compiler/compilation.h"
#include "runtime/engines/queue_timeline.h"

/* The words of --format. */
enum { FORMAT_CSV, FORMAT_JSON, FORMAT_HTML, FORMAT_TEXT, FORMAT_DOT };

typedef struct OutputNote {
  const char *path;
  size_t size;
} OutputNote;

typedef struct Session {
  const Options *options;
  Arena *arena; /* the command line's: options, diagnostics, the compilation, contents of outputs */
  DiagSink *diag;
  SourceFile source;       /* of a command that compiles nothing */
  int64_t model;           /* the operand that is the compilation's; commands with several of them count it up */
  Compilation compilation; /* its options are the command line's; a command changes them before driver_run_passes */
  CompilationProgress progress;
  StringView statistics;         /* a command's own, for --stats instead of the compilation's; else empty */
  StringView simulation_summary; /* of --engine=sim */
  StringView simulation;         /* table of --engine=sim, for --stats */
  const QueueTimeline *timeline; /* of --engine=sim, for --trace; else NULL */
  FileUses files;                /* of driver_check_files */
  OutputFiles *outputs;
  ARRAY(OutputNote) written;   /* what is in |outputs|, for -v */
  TimeLimit *time_limit;       /* of --timeout; NULL: none */
  ProgressLine *progress_line; /* of --progress; NULL: none */
  double started;              /* of monotonic_seconds */
  bool keeps_outputs;          /* they are written although the command fails: they are what it found */
  bool report_is_answer;       /* --report is the form of an analysis that is printed: no report is written */
} Session;

/* |diag| and |arena| are the command line's and outlive the session. */
void session_begin(Session *session, const Options *options, Arena *arena, DiagSink *diag);

/* Commits or drops the outputs, prints diagnostics and reports on standard error; the exit status. */
int session_end(Session *session, Status status);
/* The same for a command line that the command refuses: drops the outputs. */
int session_end_usage(Session *session);

/* --- steps around the compilation's own (compiler/compilation.h) --- */

/* Another compilation, of the operand |model|, with the same options; the one before lives on in its diagnostics. */
void session_begin_model(Session *session, int64_t model);

/* The machine, and the input file's text → module, verified if |verify|. */
MUST_USE Status driver_load(Session *session, bool verify);
/* driver_load of a module that one device is to run. */
MUST_USE Status driver_load_to_run(Session *session);
/* The passes, with dumps; the file of --plan is read before. */
MUST_USE Status driver_run_passes(Session *session);
/* The file |path| has the plans to take first, for a vector processor; before driver_run_passes. */
MUST_USE Status driver_read_plan_file(Session *session, const char *path);
/* No output is an input or another output; outputs without their option go by |defaults|.  Before any work. */
MUST_USE Status driver_check_files(Session *session, const OutputDefault *defaults, int count);
/* Outputs that options name can be written as things are: nobody waits for an hour to hear that there is no such
 * folder.  After driver_check_files, before any work; STATUS_IO. */
MUST_USE Status driver_check_places(const Session *session);
/* --format is one of |count| words, the command's own; a usage error otherwise. */
MUST_USE Status driver_check_format(Session *session, const int *formats, int count);
/* --dump-liveness, --dump-buffer-assignment, --dump-plan. */
MUST_USE Status driver_add_reports(Session *session);
/* --dump-graph, of the module after the passes. */
MUST_USE Status driver_add_graph(Session *session);
/* An output for session_end to write; NULL or empty |path|: none. */
MUST_USE Status driver_add_output(Session *session, const char *path, StringView content);

/* --- what steps and commands use --- */

bool session_option_given(const Session *session, OptionId id);
/* The text of an option, or |fallback|. */
const char *session_option_text(const Session *session, OptionId id, const char *fallback);
int64_t session_option_integer(const Session *session, OptionId id, int64_t fallback);

/* What is being done, for --timeout and --progress; both texts have to stay. */
void driver_doing(const Session *session, const char *what, const char *name);
/* Adds a line to --time-report: from |start|, of monotonic_seconds, to now, which is returned. */
double driver_end_phase(Session *session, const char *name, double start);

/* Commands: each runs to the exit status. */
int compile_command(Session *session);
int run_command(Session *session);
int opt_command(Session *session);
int check_command(Session *session);
int info_command(Session *session);
int graph_command(Session *session);
int reduce_command(Session *session);
int check_plan_command(Session *session);
int plan_command(Session *session);
int compare_command(Session *session);
int cache_command(Session *session);

#endif
