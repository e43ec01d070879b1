/* libxlac: HLO text in, a function in this process out.
 *
 *   XlacListener listener = {.struct_size = sizeof listener, .on_diagnostic = print};
 *   XlacClient *client;
 *   XlacExecutable *executable;
 *   if (xlac_client_create(&listener, 0, &client) == XLAC_STATUS_OK &&
 *       xlac_compile_file(client, NULL, "axpy.hlo", &executable) == XLAC_STATUS_OK)
 *     status = xlac_executable_run(executable, arguments, results, NULL, NULL);
 *
 * A client compiles, and keeps what executables share: custom calls, threads.  A module is HLO in memory.  An
 * executable is compiled code with all that is known of it.
 *
 * Ownership.  What a function gives through an out_ parameter is the caller's, who ends it with the function named
 * there; executables, options and modules before their client.  Functions that end something do nothing for NULL.
 * Texts and bytes that are passed in are copied, unless it says otherwise.  An out_ parameter is NULL after a failure.
 *
 * Threads.  A client and its executables may be used by any number of threads at once; options and a module by one at a
 * time, and a module's compilations are uses of it.
 *
 * Errors.  Every function that can fail returns a status; why it failed, the listener is told.  A lack of memory and
 * bugs of the compiler's own come back as a status as well: the client can still be used, but memory that LLVM held at
 * that moment is lost.
 *
 * State.  The library has none of its own outside of its objects, but for LLVM's: options and handlers that the first
 * compilation sets.  The shared library has an LLVM in itself, which nobody else sees: other copies of it may live in
 * the process.  A program that is linked with libxlac.a shares one LLVM with it. */
#ifndef XLAC_XLAC_H
#define XLAC_XLAC_H

#include <stddef.h>
#include <stdint.h>

#include "xlac/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef enum XlacStatus {
  XLAC_STATUS_OK = 0,
  XLAC_STATUS_INVALID,       /* what was given is wrong */
  XLAC_STATUS_UNSUPPORTED,   /* it is right, and cannot be compiled */
  XLAC_STATUS_EXHAUSTED,     /* more memory than "memory-limit" or a machine's Buffer has */
  XLAC_STATUS_IO,            /* a file or system call failed */
  XLAC_STATUS_CANCELLED,     /* on_progress asked for it */
  XLAC_STATUS_CALL_FAILED,   /* of a run: a custom call or transfer failed, or an engine of the caller's */
  XLAC_STATUS_OUT_OF_MEMORY, /* the process has no more */
  XLAC_STATUS_BUG            /* of the compiler's own */
} XlacStatus;

/* "invalid", …; lives as long as the program. */
const char *xlac_status_name(XlacStatus status);

/* The library's version, "0.1.0"; lives as long as the program. */
const char *xlac_version(void);

/* --- what the caller is told --- */

typedef enum XlacSeverity { XLAC_ERROR = 1, XLAC_WARNING, XLAC_NOTE } XlacSeverity;

/* Valid until on_diagnostic returns. */
typedef struct XlacDiagnostic {
  uint64_t struct_size;
  int32_t severity;      /* XlacSeverity */
  uint32_t line, column; /* from 1; 0: no place is known */
  uint32_t reserved;
  const char *file;    /* as it was given; "" without a place */
  const char *code;    /* stable, such as "verify-shape"; docs/diagnostics.md lists them */
  const char *message; /* one sentence without a full stop */
  const char *text;    /* all of it as the command line prints it: place, message, source line, notes; ends in '\n' */
} XlacDiagnostic;

/* Each function may be NULL.  They are called from the thread that called the library, and may not call it with the
 * same module or options. */
typedef struct XlacListener {
  uint64_t struct_size;
  void *data;
  void (*on_diagnostic)(void *data, const XlacDiagnostic *diagnostic);
  /* What the compiler begins to do: "running pass", "fusion"; |name| may be NULL.  Not 0: the compilation ends with
   * XLAC_STATUS_CANCELLED. */
  int (*on_progress)(void *data, const char *what, const char *name);
} XlacListener;

/* --- client --- */

typedef struct XlacClient XlacClient;

/* |listener| (NULL: nobody) is copied, and is told of everything that has no listener of its own.  |worker_count|: so
 * many threads run an executable, the calling one included; 0: as many as there are processors for this process; a
 * negative one is XLAC_STATUS_INVALID. */
XlacStatus xlac_client_create(const XlacListener *listener, int64_t worker_count, XlacClient **out_client);
void xlac_client_destroy(XlacClient *client);

/* Executables that are compiled or loaded from now on find |function| under the name |target| of a custom call; it is
 * of the type that the call's API version says (xlac/ffi.h for typed ones).  The later one of a name counts. */
XlacStatus xlac_client_register_call(XlacClient *client, const char *target, void (*function)(void));
/* The same for all functions of the shared library at |path|, under their own names; it stays loaded. */
XlacStatus xlac_client_load_calls(XlacClient *client, const char *path);

/* --- options --- */

typedef struct XlacOptions XlacOptions;

/* Those of a compilation: none is set.  Ended by xlac_options_destroy. */
XlacStatus xlac_options_create(XlacClient *client, XlacOptions **out_options);
void xlac_options_destroy(XlacOptions *options);

/* Sets an option of the command line by its name: "memory-limit", "64M"; "O", "3"; "fast-math", NULL.  A list gets
 * longer each time.  XLAC_STATUS_INVALID: there is no such option for a compilation, or the value is not one of its
 * own.  Defaults are those of `xlac run`: code for this processor, which stays in this process. */
XlacStatus xlac_options_set(XlacOptions *options, const char *name, const char *value);

/* Is told instead of the client's listener of compilations with these options; copied. */
void xlac_options_set_listener(XlacOptions *options, const XlacListener *listener);

/* What can be known of a compilation as text. */
typedef enum XlacReport {
  XLAC_REPORT_BUFFER_MAP,        /* every allocation with what lives in it */
  XLAC_REPORT_BUFFER_MAP_JSON,   /* the same as JSON */
  XLAC_REPORT_LIVENESS,          /* live range, size, offset and sharing of every buffer */
  XLAC_REPORT_LIVENESS_JSON,     /* the same as JSON */
  XLAC_REPORT_BUFFER_ASSIGNMENT, /* in the layout of XLA's own */
  XLAC_REPORT_HLO,               /* the module after the passes */
  XLAC_REPORT_ALL,               /* totals, passes, fusions made or not and why, times */
  XLAC_REPORT_ALL_JSON,          /* the same as JSON */
  XLAC_REPORT_ALL_HTML,          /* the same as a page */
  XLAC_REPORT_PLANS,             /* of a vector processor's kernels, in the plan language */
  XLAC_REPORT_COUNT
} XlacReport;

/* Executables that are compiled with these options have |report|. */
XlacStatus xlac_options_add_report(XlacOptions *options, XlacReport report);

/* --- modules --- */

typedef struct XlacModule XlacModule;

/* HLO text, |size| bytes, verified; |name| stands for it in diagnostics.  Ended by xlac_module_destroy. */
XlacStatus xlac_module_parse(XlacClient *client, const char *name, const char *text, size_t size,
                             XlacModule **out_module);
/* The same of a file. */
XlacStatus xlac_module_read(XlacClient *client, const char *path, XlacModule **out_module);
void xlac_module_destroy(XlacModule *module);

/* The module as HLO text, zero-terminated; |out_size| may be NULL.  Ended by xlac_free. */
XlacStatus xlac_module_print(XlacModule *module, char **out_text, size_t *out_size);

/* What the library gave that is to be ended so; NULL is nothing. */
void xlac_free(void *memory);

/* --- executables --- */

typedef struct XlacExecutable XlacExecutable;

/* |options| NULL: none is set.  Ended by xlac_executable_destroy. */
XlacStatus xlac_compile_text(XlacClient *client, const XlacOptions *options, const char *name, const char *text,
                             size_t size, XlacExecutable **out_executable);
XlacStatus xlac_compile_file(XlacClient *client, const XlacOptions *options, const char *path,
                             XlacExecutable **out_executable);
/* |module| stays as it is. */
XlacStatus xlac_compile_module(XlacClient *client, const XlacOptions *options, XlacModule *module,
                               XlacExecutable **out_executable);
void xlac_executable_destroy(XlacExecutable *executable);

/* Leaves of parameters and results with their types, dimensions, layouts, bytes, alignment and aliases; the workspace's
 * size.  Lives as long as the executable, as all that follows does. */
const XlacDescriptor *xlac_executable_descriptor(const XlacExecutable *executable);
/* To be called without the library in between. */
XlacFunction xlac_executable_function(const XlacExecutable *executable);

/* Runs once.  |arguments| and |results|: a pointer for each leaf, as the descriptor says.  |workspace|: NULL, or the
 * caller's, of the size that |options| need (xlac/abi.h).  |options|: NULL, or the caller's own threads, engine,
 * transfers and listener for failures; without parallel_for the run has one thread, with NULL the client's.
 * XLAC_STATUS_CALL_FAILED when the function returns anything but 0. */
XlacStatus xlac_executable_run(XlacExecutable *executable, const void *const *arguments, void *const *results,
                               void *workspace, const XlacRunOptions *options);

/* The bytes of the object, and its C header, as the command line writes them. */
void xlac_executable_object(const XlacExecutable *executable, const void **out_bytes, size_t *out_size);
const char *xlac_executable_header(const XlacExecutable *executable);

/* A report that was asked for when it was compiled, zero-terminated; |out_size| may be NULL.  XLAC_STATUS_INVALID: it
 * was not, or there is none of this kind. */
XlacStatus xlac_executable_report(const XlacExecutable *executable, XlacReport report, const char **out_text,
                                  size_t *out_size);

/* All of it but reports as bytes, which another process with the same version of the library may load; code for the
 * processor that it was compiled on ("mcpu" not set) only on one of the same kind.  |out_bytes| is ended by xlac_free.
 */
XlacStatus xlac_executable_serialize(const XlacExecutable *executable, void **out_bytes, size_t *out_size);
/* XLAC_STATUS_INVALID: the bytes are damaged, of another version, or for another processor; |name| stands for them in
 * diagnostics.  They are code, which is run: load only what you wrote. */
XlacStatus xlac_executable_load(XlacClient *client, const char *name, const void *bytes, size_t size,
                                XlacExecutable **out_executable);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
