#include "cli/local_devices.h"

#include "cli/call_libraries.h"
#include "runtime/collectives/local_engine.h"

/* What a device was told of a call that failed. */
typedef struct ToldFailure {
  bool is_told;
  XlacFailure failure; /* its texts in |arena| of the device */
} ToldFailure;

typedef struct LocalRun {
  Arena *arena;
  DiagSink diag;
  XlacRunOptions options;
  ModuleRun *run;
  ToldFailure told;
  Status status;
  double seconds;
} LocalRun;

struct LocalDevices {
  Session *session;
  LocalEngine *engine;
  int64_t count;
  LocalRun *runs;
};

static void note_failure(void *self, const XlacFailure *failure) {
  LocalRun *run = self;
  run->told.is_told = true;
  run->told.failure =
      (XlacFailure){failure->instruction, failure->callee, sv_copy(run->arena, sv_from_cstring(failure->message)).data};
}

LocalDevices *local_devices_create(Session *session, XlacFunction function, const XlacDescriptor *descriptor,
                                   const XlacRunOptions *options, int64_t count, ModuleRun **runs) {
  LocalDevices *devices = ARENA_NEW(session->arena, LocalDevices);
  *devices = (LocalDevices){.session = session, .count = count};
  devices->engine = local_engine_create(descriptor, count);
  devices->runs = ARENA_NEW_ARRAY(session->arena, LocalRun, count);
  for (int64_t i = 0; i < count; i++) {
    LocalRun *local = &devices->runs[i];
    *local = (LocalRun){.arena = arena_create(), .options = *options};
    local->options.parallel_for = NULL;
    local->options.device = i;
    local->options.communication = local_engine_communication(devices->engine, i);
    local->options.on_failure = note_failure;
    local->options.failure_data = local;
    local->run = runs[i] = runner_create(session->arena, function, descriptor, &local->options);
  }
  return devices;
}

void local_devices_destroy(LocalDevices *devices) {
  if (devices == NULL) return;
  for (int64_t i = 0; i < devices->count; i++) arena_destroy(devices->runs[i].arena);
  local_engine_destroy(devices->engine);
}

static bool execute_one(void *context, int64_t device) {
  LocalDevices *devices = context;
  LocalRun *local = &devices->runs[device];
  local->told.is_told = false;
  diag_sink_init(&local->diag, local->arena);
  local->status = runner_execute(local->run, &local->diag, &local->seconds);
  return local->status == STATUS_OK;
}

/* The error of |device|, which is its own. */
static void tell(const LocalDevices *devices, int64_t device) {
  LocalRun *local = &devices->runs[device];
  DiagSink *diag = devices->session->diag;
  FailureReporter reporter = {devices->session, NULL};
  if (local->told.is_told) call_failure_report(&reporter, &local->told.failure);
  for (const Diagnostic *error = local->diag.first; error != NULL; error = error->next) {
    Status ignored = diag_error(diag, local->status, error->loc, error->code, "%.*s", SV_ARG(error->message));
    (void)ignored;
  }
  diag_note(diag, NO_LOC, "on device %lld", (long long)device);
}

/* Where |device| waits. */
static SourceLoc place_of(const LocalDevices *devices, int64_t device) {
  const ToldFailure *told = &devices->runs[device].told;
  return told->is_told ? call_failure_place(devices->session, &told->failure) : NO_LOC;
}

static Status tell_mismatch(const LocalDevices *devices, const char *mismatch) {
  DiagSink *diag = devices->session->diag;
  const int64_t *chain;
  int64_t count = local_engine_mismatch_chain(devices->engine, &chain);
  Status status = diag_error(diag, STATUS_INVALID, count > 0 ? place_of(devices, chain[0]) : NO_LOC, "deadlock",
                             "deadlock: %s", mismatch);
  for (int64_t i = 1; i + 1 < count; i++)
    diag_note(diag, place_of(devices, chain[i]), "device %lld waits here", (long long)chain[i]);
  return status;
}

Status local_devices_execute(LocalDevices *devices, double *out_seconds) {
  local_engine_run(devices->engine, execute_one, devices);
  double longest = 0;
  for (int64_t i = 0; i < devices->count; i++) {
    const LocalRun *local = &devices->runs[i];
    if (local->seconds > longest) longest = local->seconds;
    if (local->status == STATUS_OK || local_engine_was_interrupted(devices->engine, i)) continue;
    tell(devices, i);
    return local->status;
  }
  if (out_seconds != NULL) *out_seconds = longest;
  const char *mismatch = local_engine_mismatch(devices->engine);
  return mismatch == NULL ? STATUS_OK : tell_mismatch(devices, mismatch);
}
