/* Clients, and what every function of the library does around its work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/guarded_call.h"
#include "base/version.h"
#include "compiler/diagnostic_printer.h"
#include "library/library_internal.h"
#include "runtime/engines/function_library.h"

/* --- statuses --- */

const char *xlac_status_name(XlacStatus status) {
  static const char *const names[] = {[XLAC_STATUS_OK] = "ok",
                                      [XLAC_STATUS_INVALID] = "invalid",
                                      [XLAC_STATUS_UNSUPPORTED] = "unsupported",
                                      [XLAC_STATUS_EXHAUSTED] = "exhausted",
                                      [XLAC_STATUS_IO] = "io",
                                      [XLAC_STATUS_CANCELLED] = "cancelled",
                                      [XLAC_STATUS_CALL_FAILED] = "call-failed",
                                      [XLAC_STATUS_OUT_OF_MEMORY] = "out-of-memory",
                                      [XLAC_STATUS_BUG] = "bug"};
  return (size_t)status < sizeof names / sizeof *names ? names[status] : "unknown";
}

const char *xlac_version(void) {
  return XLAC_VERSION;
}

XlacStatus library_status(Status status) {
  static const XlacStatus statuses[] = {[STATUS_OK] = XLAC_STATUS_OK,
                                        [STATUS_INVALID] = XLAC_STATUS_INVALID,
                                        [STATUS_UNSUPPORTED] = XLAC_STATUS_UNSUPPORTED,
                                        [STATUS_EXHAUSTED] = XLAC_STATUS_EXHAUSTED,
                                        [STATUS_IO] = XLAC_STATUS_IO,
                                        [STATUS_MISMATCH] = XLAC_STATUS_INVALID};
  return statuses[status];
}

/* --- listeners --- */

XlacListener library_copy_listener(const XlacListener *listener) {
  XlacListener copy = {0};
  if (listener == NULL) return copy;
  size_t size = listener->struct_size < sizeof copy ? (size_t)listener->struct_size : sizeof copy;
  memcpy(&copy, listener, size);
  copy.struct_size = sizeof copy;
  return copy;
}

const XlacListener *library_listener(const XlacClient *client, const XlacOptions *options) {
  return options != NULL && options->listener.struct_size != 0 ? &options->listener : &client->listener;
}

static void tell_one(const XlacListener *listener, Arena *scratch, const Diagnostic *diagnostic,
                     const HloModule *module) {
  static const int32_t severities[] = {
      [SEVERITY_ERROR] = XLAC_ERROR, [SEVERITY_WARNING] = XLAC_WARNING, [SEVERITY_NOTE] = XLAC_NOTE};
  Diagnostic alone = *diagnostic;
  alone.next = NULL;
  DiagSink sink = {.arena = scratch, .first = &alone, .last = &alone};
  StringBuilder text;
  sb_init(&text, scratch);
  diagnostics_print(&text, &sink, &(DiagnosticStyle){0}, module);
  const SourceFile *file = diagnostic->loc.file;
  XlacDiagnostic told = {.struct_size = sizeof told,
                         .severity = severities[diagnostic->severity],
                         .line = diagnostic->loc.line,
                         .column = diagnostic->loc.column,
                         .file = file != NULL ? sv_copy(scratch, file->name).data : "",
                         .code = diagnostic->code != NULL ? diagnostic->code : "",
                         .message = sv_copy(scratch, diagnostic->message).data,
                         .text = sv_copy(scratch, sb_view(&text)).data};
  listener->on_diagnostic(listener->data, &told);
}

void library_tell(const XlacListener *listener, const DiagSink *diag, const HloModule *module) {
  if (listener->on_diagnostic == NULL) return;
  Arena *scratch = arena_create();
  for (const Diagnostic *diagnostic = diag->first; diagnostic != NULL; diagnostic = diagnostic->next) {
    tell_one(listener, scratch, diagnostic, module);
    arena_reset(scratch);
  }
  arena_destroy(scratch);
}

void library_tell_error(const XlacListener *listener, const char *code, const char *message) {
  if (listener->on_diagnostic == NULL) return;
  char text[1024];
  snprintf(text, sizeof text - 1, "error: %s", message);
  size_t size = strlen(text);
  text[size] = '\n', text[size + 1] = '\0';
  XlacDiagnostic told = {
      .struct_size = sizeof told, .severity = XLAC_ERROR, .file = "", .code = code, .message = message, .text = text};
  listener->on_diagnostic(listener->data, &told);
}

static XlacStatus tell_failure(const XlacListener *listener, const CallFailure *failure) {
  bool is_bug = failure->outcome == CALL_MET_BUG;
  library_tell_error(listener, is_bug ? "bug" : "out-of-memory", is_bug ? failure->message : "out of memory");
  return is_bug ? XLAC_STATUS_BUG : XLAC_STATUS_OUT_OF_MEMORY;
}

XlacStatus library_call(const XlacListener *listener, void (*function)(void *data), void *data) {
  CallFailure failure;
  return guarded_call(function, data, &failure) == CALL_RETURNED ? XLAC_STATUS_OK : tell_failure(listener, &failure);
}

void xlac_free(void *memory) {
  free(memory);
}

/* --- clients --- */

typedef struct ClientCreation {
  const XlacListener *listener;
  int64_t worker_count;
  XlacClient *client;
} ClientCreation;

static void create_client(void *self) {
  ClientCreation *creation = self;
  int64_t workers = creation->worker_count > 0 ? creation->worker_count : xlac_thread_pool_processor_count();
  Arena *arena = arena_create();
  XlacClient *client = ARENA_NEW(arena, XlacClient);
  client->arena = arena;
  client->listener = *creation->listener;
  client->threads = xlac_thread_pool_create(workers);
  if (client->threads == NULL) out_of_memory(0);
  client->pool = llvm_target_pool_create();
  pthread_mutex_init(&client->mutex, NULL);
  creation->client = client;
}

XlacStatus xlac_client_create(const XlacListener *listener, int64_t worker_count, XlacClient **out_client) {
  XlacListener copy = library_copy_listener(listener);
  ClientCreation creation = {&copy, worker_count, NULL};
  *out_client = NULL;
  if (worker_count < 0) {
    library_tell_error(&copy, "usage", "the number of threads is negative");
    return XLAC_STATUS_INVALID;
  }
  XlacStatus status = library_call(&copy, create_client, &creation);
  *out_client = creation.client;
  return status;
}

void xlac_client_destroy(XlacClient *client) {
  if (client == NULL) return;
  xlac_thread_pool_destroy(client->threads);
  llvm_target_pool_destroy(client->pool);
  pthread_mutex_destroy(&client->mutex);
  arena_destroy(client->arena);
}

/* --- custom calls --- */

typedef struct CallRegistration {
  XlacClient *client;
  const char *name; /* a target, or a library's path */
  void *function;
  XlacStatus status;
} CallRegistration;

/* The client's arena and lists may only be touched with the mutex, which a failing guarded call would keep: so what
 * can fail for lack of memory is itself a guarded call inside the lock. */
static XlacStatus call_locked(XlacClient *client, void (*function)(void *data), void *data) {
  pthread_mutex_lock(&client->mutex);
  XlacStatus status = library_call(&client->listener, function, data);
  pthread_mutex_unlock(&client->mutex);
  return status;
}

static void register_call(void *self) {
  const CallRegistration *call = self;
  XlacClient *client = call->client;
  const char *target = arena_copy_string(client->arena, call->name, strlen(call->name));
  array_push(&client->calls, client->arena, ((RegisteredCall){target, call->function}));
}

XlacStatus xlac_client_register_call(XlacClient *client, const char *target, void (*function)(void)) {
  CallRegistration call = {.client = client, .name = target};
  memcpy(&call.function, &function, sizeof function);
  return call_locked(client, register_call, &call);
}

static void add_library(void *self) {
  CallRegistration *call = self;
  XlacClient *client = call->client;
  const char *reason;
  void *library = function_library_open(client->arena, call->name, &reason);
  if (library != NULL) {
    array_push(&client->call_libraries, client->arena, library);
    return;
  }
  DiagSink diag;
  diag_sink_init(&diag, client->arena);
  call->status = library_status(
      diag_error(&diag, STATUS_IO, NO_LOC, "call-library", "cannot load the library '%s': %s", call->name, reason));
  library_tell(&client->listener, &diag, NULL);
}

XlacStatus xlac_client_load_calls(XlacClient *client, const char *path) {
  CallRegistration call = {.client = client, .name = path};
  XlacStatus status = call_locked(client, add_library, &call);
  return status != XLAC_STATUS_OK ? status : call.status;
}

/* The mutex is held. */
static void *find_call(XlacClient *client, Arena *scratch, StringView symbol) {
  for (int64_t i = client->calls.count - 1; i >= 0; i--)
    if (sv_equal_cstring(symbol, client->calls.data[i].target)) return client->calls.data[i].function;
  const char *name = sv_copy(scratch, symbol).data;
  for (int64_t i = 0; i < client->call_libraries.count; i++) {
    void *address = function_library_find(client->call_libraries.data[i], name);
    if (address != NULL) return address;
  }
  if (!lapack_library_has(symbol)) return NULL;
  if (client->lapack == NULL) client->lapack = lapack_library_open(scratch);
  return client->lapack != NULL ? function_library_find(client->lapack, name) : NULL;
}

static Status unknown_target(const CallTarget *target, DiagSink *diag) {
  if (lapack_library_has(target->symbol))
    return diag_error(diag, STATUS_UNSUPPORTED, target->loc, "unsupported-lapack",
                      "'%.*s' needs 'libxlac_lapack.so' beside this library", SV_ARG(target->symbol));
  Status status = diag_error(diag, STATUS_INVALID, target->loc, "unknown-target",
                             "nothing implements the custom call to '%.*s'", SV_ARG(target->symbol));
  diag_note(diag, NO_LOC, "'xlac_client_register_call' gives a name a function");
  return status;
}

typedef struct CallSearch {
  XlacClient *client;
  Arena *arena;
  const CallTargets *targets;
  void **addresses;
} CallSearch;

static void find_calls(void *self) {
  const CallSearch *search = self;
  for (int64_t i = 0; i < search->targets->count; i++)
    search->addresses[i] = find_call(search->client, search->arena, search->targets->targets[i].symbol);
}

Status client_resolve_calls(XlacClient *client, Arena *arena, const CallTargets *targets, DiagSink *diag,
                            void *const **out_addresses) {
  CallSearch search = {client, arena, targets, ARENA_NEW_ARRAY(arena, void *, targets->count + 1)};
  CallFailure failure;
  pthread_mutex_lock(&client->mutex);
  CallOutcome outcome = guarded_call(find_calls, &search, &failure);
  pthread_mutex_unlock(&client->mutex);
  if (outcome != CALL_RETURNED) guarded_call_fail(&failure);
  Status status = STATUS_OK;
  for (int64_t i = 0; i < targets->count; i++)
    if (search.addresses[i] == NULL) status = unknown_target(&targets->targets[i], diag);
  *out_addresses = search.addresses;
  return status;
}
