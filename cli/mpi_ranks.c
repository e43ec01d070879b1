#include "cli/mpi_ranks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/exit_code.h"
#include "runtime/engines/function_library.h"
#include "xlac/mpi.h"

/* The functions of the library, by the names that its header gives them. */
typedef struct MpiLibrary {
  XlacMpi *(*create)(const XlacMpiOptions *options, const XlacDescriptor *descriptor, const char **out_message);
  void (*destroy)(XlacMpi *engine);
  const XlacCommunication *(*communication)(const XlacMpi *engine);
  double (*seconds)(const XlacMpi *engine);
  const char *(*begin)(int64_t *out_rank, int64_t *out_size);
  void (*end)(void);
  void (*abort)(int code);
  const char *(*gather)(const void *data, int64_t bytes, void *out);
} MpiLibrary;

struct MpiRanks {
  Session *session;
  MpiLibrary library;
  XlacMpi *engine; /* NULL until ranks are connected */
  int64_t rank, size;
  bool has_agreed_failure; /* all ranks have it, and nobody waits for anybody */
};

/* --- who started this process --- */

typedef struct Launcher {
  const char *variable; /* has the number of processes */
  const char *library, *name;
} Launcher;

static const Launcher launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "libxlac_mpi_openmpi.so", "Open MPI"},
    {"PMI_SIZE", "libxlac_mpi_mpich.so", "MPICH"},
};

/* NULL: nobody, or it is alone. */
static const Launcher *find_launcher(void) {
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
    const char *size = getenv(launchers[i].variable);
    if (size != NULL && strtol(size, NULL, 10) > 1) return &launchers[i];
  }
  return NULL;
}

static Status find_functions(Session *session, void *library, MpiLibrary *out) {
  const struct {
    const char *name;
    void **place;
  } functions[] = {
      {"xlac_mpi_create", (void **)&out->create},
      {"xlac_mpi_destroy", (void **)&out->destroy},
      {"xlac_mpi_communication", (void **)&out->communication},
      {"xlac_mpi_seconds", (void **)&out->seconds},
      {"xlac_mpi_begin", (void **)&out->begin},
      {"xlac_mpi_end", (void **)&out->end},
      {"xlac_mpi_abort", (void **)&out->abort},
      {"xlac_mpi_gather", (void **)&out->gather},
  };
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    *functions[i].place = dlsym(library, functions[i].name);
    if (*functions[i].place == NULL)
      return diag_error(session->diag, STATUS_UNSUPPORTED, NO_LOC, "mpi", "the library for MPI has no '%s'",
                        functions[i].name);
  }
  return STATUS_OK;
}

Status mpi_ranks_begin(Session *session, MpiRanks **out_ranks) {
  const Launcher *launcher = find_launcher();
  const char *reason;
  if (launcher == NULL) return STATUS_OK;
  void *library = mpi_library_open(session->arena, launcher->library, &reason);
  if (library == NULL)
    return diag_error(session->diag, STATUS_UNSUPPORTED, NO_LOC, "mpi",
                      "%s started this process, which needs '%s' beside this program: %s", launcher->name,
                      launcher->library, reason);
  MpiRanks *ranks = ARENA_NEW(session->arena, MpiRanks);
  *ranks = (MpiRanks){.session = session};
  RETURN_IF_ERROR(find_functions(session, library, &ranks->library));
  const char *failure = ranks->library.begin(&ranks->rank, &ranks->size);
  if (failure != NULL) return diag_error(session->diag, STATUS_IO, NO_LOC, "mpi", "%s", failure);
  *out_ranks = ranks;
  return STATUS_OK;
}

int64_t mpi_ranks_rank(const MpiRanks *ranks) {
  return ranks->rank;
}

int64_t mpi_ranks_count(const MpiRanks *ranks) {
  return ranks->size;
}

/* --- a run --- */

Status mpi_ranks_connect(MpiRanks *ranks, const XlacDescriptor *descriptor, XlacRunOptions *options) {
  const char *message;
  const OptionValue *patience = &ranks->session->options->values[OPTION_COLLECTIVE_TIMEOUT];
  const XlacMpiOptions mpi_options = {.struct_size = sizeof mpi_options,
                                      .patience = patience->given ? patience->real : 0};
  ranks->engine = ranks->library.create(&mpi_options, descriptor, &message);
  ranks->has_agreed_failure = ranks->engine == NULL;
  if (ranks->engine == NULL) return diag_error(ranks->session->diag, STATUS_INVALID, NO_LOC, "mpi", "%s", message);
  options->device = ranks->rank;
  options->communication = ranks->library.communication(ranks->engine);
  return STATUS_OK;
}

static ModuleRun **runs_of_all(const MpiRanks *ranks, const ModuleRun *run) {
  Arena *arena = ranks->session->arena;
  ModuleRun **runs = ARENA_NEW_ARRAY(arena, ModuleRun *, ranks->size);
  for (int64_t i = 0; i < ranks->size; i++) {
    runs[i] = ARENA_NEW(arena, ModuleRun);
    *runs[i] = *run;
    runs[i]->results = ARENA_NEW_ARRAY(arena, void *, run->descriptor->result_count);
  }
  return runs;
}

Status mpi_ranks_results(MpiRanks *ranks, const ModuleRun *run, const ModuleRun *const **out_runs) {
  Arena *arena = ranks->session->arena;
  bool is_first = ranks->rank == 0;
  ModuleRun **runs = is_first ? runs_of_all(ranks, run) : NULL;
  for (int64_t leaf = 0; leaf < run->descriptor->result_count; leaf++) {
    int64_t bytes = run->descriptor->results[leaf].bytes;
    char *all = is_first ? arena_alloc_aligned(arena, (size_t)(bytes * ranks->size), 64) : NULL;
    const char *failure = ranks->library.gather(run->results[leaf], bytes, all);
    if (failure != NULL) return diag_error(ranks->session->diag, STATUS_IO, NO_LOC, "mpi", "%s", failure);
    for (int64_t i = 0; is_first && i < ranks->size; i++) runs[i]->results[leaf] = all + i * bytes;
  }
  *out_runs = (const ModuleRun *const *)runs;
  return STATUS_OK;
}

double mpi_ranks_seconds(const MpiRanks *ranks) {
  return ranks->library.seconds(ranks->engine);
}

/* --- the end --- */

void mpi_ranks_end(MpiRanks *ranks, int code) {
  if (ranks == NULL) return;
  bool ends_all = code != EXIT_DONE && code != EXIT_MISMATCH && !ranks->has_agreed_failure;
  fflush(NULL);
  if (ends_all) {
    /* MPICH's launcher drops what it has not read when a job is aborted: it gets the time to read it. */
    nanosleep(&(struct timespec){.tv_nsec = 250000000}, NULL);
    ranks->library.abort(code);
  }
  ranks->library.destroy(ranks->engine);
  ranks->library.end();
}
