#include "cli/call_libraries.h"

#include <string.h>

#include "base/array.h"
#include "runtime/engines/function_library.h"
#include "xlac/ffi.h"

typedef ARRAY(void *) LibraryArray;

/* What libraries find in this program, and what therefore has to be in it. */
typedef struct ProgramSymbols {
  void (*set_success)(XlaCustomCallStatus *status);
  void (*set_failure)(XlaCustomCallStatus *status, const char *message, size_t message_size);
} ProgramSymbols;

static const ProgramSymbols program_symbols
    __attribute__((used)) = {XlaCustomCallStatusSetSuccess, XlaCustomCallStatusSetFailure};

static Status load_library(Session *session, const char *file, LibraryArray *libraries) {
  const char *reason;
  void *library = function_library_open(session->arena, file, &reason);
  if (library == NULL)
    return diag_error(session->diag, STATUS_IO, NO_LOC, "call-library", "cannot load the library '%s': %s", file,
                      reason);
  array_push(libraries, session->arena, library);
  return STATUS_OK;
}

/* In the order of the command line. */
static Status load_libraries(Session *session, const OptionValue *value, LibraryArray *libraries) {
  if (value == NULL || !value->given) return STATUS_OK;
  RETURN_IF_ERROR(load_libraries(session, value->previous, libraries));
  return load_library(session, value->text, libraries);
}

static void *find(const LibraryArray *libraries, const char *symbol) {
  void *address = NULL;
  for (int64_t i = 0; i < libraries->count && address == NULL; i++)
    address = function_library_find(libraries->data[i], symbol);
  return address;
}

const char *call_library_symbol(const Session *session, const char *target) {
  size_t size = strlen(target);
  const OptionValue *value = &session->options->values[OPTION_CUSTOM_CALL_SYMBOL];
  for (; value != NULL && value->given; value = value->previous) {
    if (strncmp(value->text, target, size) == 0 && value->text[size] == '=') return value->text + size + 1;
  }
  return target;
}

struct CallLibraries {
  Session *session;
  LibraryArray libraries;
};

Status call_libraries_open(Session *session, CallLibraries **out_libraries) {
  CallLibraries *open = ARENA_NEW(session->arena, CallLibraries);
  open->session = session;
  *out_libraries = open;
  return load_libraries(session, &session->options->values[OPTION_CUSTOM_CALL_LIBRARY], &open->libraries);
}

bool call_libraries_have(void *libraries, StringView target) {
  CallLibraries *open = libraries;
  const char *name = arena_copy_string(open->session->arena, target.data, target.size);
  return find(&open->libraries, call_library_symbol(open->session, name)) != NULL;
}

/* --- targets --- */

static Status unknown_target(Session *session, const CallTarget *target) {
  if (lapack_library_has(target->symbol) && lapack_library_open(session->arena) == NULL) {
    Status status = diag_error(session->diag, STATUS_UNSUPPORTED, target->loc, "unsupported-lapack",
                               "'%.*s' needs 'libxlac_lapack.so' beside this program", SV_ARG(target->symbol));
    diag_note(session->diag, NO_LOC, "'make' makes it where OpenBLAS and LAPACKE are installed");
    return status;
  }
  Status status = diag_error(session->diag, STATUS_INVALID, target->loc, "unknown-target",
                             "nothing implements the custom call to '%.*s'", SV_ARG(target->symbol));
  diag_note(session->diag, NO_LOC, "'--custom-call-library=FILE.so' names a library that has a function of this name");
  return status;
}

static void *find_target(Session *session, LibraryArray *libraries, const char *symbol, bool *has_lapack) {
  void *address = find(libraries, call_library_symbol(session, symbol));
  if (address != NULL || *has_lapack || !lapack_library_has(sv_from_cstring(symbol))) return address;
  void *library = lapack_library_open(session->arena);
  *has_lapack = true;
  if (library == NULL) return NULL;
  array_push(libraries, session->arena, library);
  return function_library_find(library, symbol);
}

Status call_libraries_resolve(Session *session, const CallTargets *targets, void *const **out_addresses) {
  LibraryArray libraries = {0};
  bool has_lapack = false;
  void **addresses = ARENA_NEW_ARRAY(session->arena, void *, targets->count + 1);
  Status result = load_libraries(session, &session->options->values[OPTION_CUSTOM_CALL_LIBRARY], &libraries);
  for (int64_t i = 0; i < targets->count && result != STATUS_IO; i++) {
    StringView symbol = targets->targets[i].symbol;
    const char *name = arena_copy_string(session->arena, symbol.data, symbol.size);
    addresses[i] = find_target(session, &libraries, name, &has_lapack);
    if (addresses[i] == NULL) result = unknown_target(session, &targets->targets[i]);
  }
  *out_addresses = addresses;
  return result;
}

/* --- failures --- */

SourceLoc call_failure_place(const Session *session, const XlacFailure *failure) {
  const HloModule *module = session->compilation.module;
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *list = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < list->count; i++) {
      if (sv_equal_cstring(list->data[i]->name, failure->instruction)) return list->data[i]->loc;
    }
  }
  return NO_LOC;
}

void call_failure_report(void *self, const XlacFailure *failure) {
  const FailureReporter *reporter = self;
  SourceLoc place = reporter->call ? reporter->call->loc : call_failure_place(reporter->session, failure);
  Status ignored = diag_error(reporter->session->diag, STATUS_INVALID, place, "call-failed", "'%s' failed: %s",
                              failure->callee, failure->message);
  (void)ignored;
}
