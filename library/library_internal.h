/* What the parts of libxlac share.  Every public function that can fail runs its work as a guarded call
 * (base/guarded_call.h), so that nothing ends the caller's process. */
#ifndef XLAC_LIBRARY_LIBRARY_INTERNAL_H
#define XLAC_LIBRARY_LIBRARY_INTERNAL_H

#include <pthread.h>

#include "base/array.h"
#include "compiler/compiled_program.h"
#include "compiler/options/option_table.h"
#include "xlac/thread_pool.h"
#include "xlac/xlac.h"

/* A function that modules may call. */
typedef struct RegisteredCall {
  const char *target;
  void *function;
} RegisteredCall;

struct XlacClient {
  XlacListener listener;
  XlacThreadPool *threads;
  LlvmTargetPool *pool;  /* of its compilations */
  pthread_mutex_t mutex; /* of what follows */
  Arena *arena;
  ARRAY(RegisteredCall) calls;
  ARRAY(void *) call_libraries;
  void *lapack; /* NULL: not opened yet, or there is none */
};

struct XlacOptions {
  XlacClient *client;
  Arena *arena;
  Options values;
  XlacListener listener; /* empty: the client's */
  bool wants[XLAC_REPORT_COUNT];
};

struct XlacModule {
  XlacClient *client;
  Arena *arena;
  SourceFile source;
  ShapeTable *shapes;
  HloModule *module;
};

struct XlacExecutable {
  XlacClient *client;
  Arena *arena;
  StringView bytes; /* of compiled_program_write, which |program| shares */
  CompiledProgram program;
  CodegenJit *jit;
  StringView reports[XLAC_REPORT_COUNT]; /* no data: not asked for */
  _Atomic(void *) idle_workspace;        /* of an earlier run with the client's threads; NULL: none */
};

/* Calls |function|(|data|); anything but XLAC_STATUS_OK: there was no memory, or a bug, and |listener| was told. */
XlacStatus library_call(const XlacListener *listener, void (*function)(void *data), void *data);

XlacStatus library_status(Status status);

/* Tells |listener| all diagnostics of |diag| in order.  |module| may be NULL (diagnostics_print). */
void library_tell(const XlacListener *listener, const DiagSink *diag, const HloModule *module);

/* Tells |listener| an error without a place; takes no memory. */
void library_tell_error(const XlacListener *listener, const char *code, const char *message);

/* What is told of compilations with |options|, which may be NULL. */
const XlacListener *library_listener(const XlacClient *client, const XlacOptions *options);

/* |listener| as far as its struct_size goes; NULL: one without functions. */
XlacListener library_copy_listener(const XlacListener *listener);

/* The addresses of |targets|, in their order, in |arena|: functions that were registered, then those of libraries, then
 * JAX's names of LAPACK's routines.  STATUS_INVALID ("unknown-target") or STATUS_UNSUPPORTED ("unsupported-lapack") at
 * each call whose target is nowhere. */
MUST_USE Status client_resolve_calls(XlacClient *client, Arena *arena, const CallTargets *targets, DiagSink *diag,
                                     void *const **out_addresses);

/* An executable of |client|, loaded, of a copy of |bytes|, those of a compiled program.  |targets| (NULL: those that
 * the bytes have, without places) is what errors are located with.  STATUS_INVALID ("executable") for bytes that are
 * not of this form, and the errors of client_resolve_calls. */
MUST_USE Status executable_create(XlacClient *client, StringView bytes, const CallTargets *targets, DiagSink *diag,
                                  XlacExecutable **out_executable);

#endif
