/* xlac run MODEL.hlo: compile in memory (or link a program, or interpret), execute, print, compare, time. */
#include <stdio.h>
#include <string.h>

#include "base/checked_math.h"
#include "base/file_io.h"
#include "base/json_writer.h"
#include "base/monotonic_clock.h"
#include "cli/call_libraries.h"
#include "cli/compile_cache.h"
#include "cli/driver.h"
#include "cli/host_transfers.h"
#include "cli/interpreter.h"
#include "cli/local_devices.h"
#include "cli/module_descriptor.h"
#include "cli/mpi_ranks.h"
#include "cli/outside_call.h"
#include "cli/remote_run.h"
#include "cli/run_inputs.h"
#include "cli/run_memory.h"
#include "cli/run_results.h"
#include "compiler/options/target.h"
#include "compiler/profile_report.h"
#include "hlo/infer/device_check.h"
#include "runtime/engines/queue_simulator.h"
#include "runtime/engines/queue_threads.h"
#include "runtime/engines/race_announcer.h"
#include "runtime/engines/simulation_summary.h"
#include "xlac/thread_pool.h"

enum { MOST_THREADS = 1024, MOST_DEVICES = 1024 };

/* The words of --engine. */
typedef enum Engine {
  ENGINE_JIT,
  ENGINE_INTERPRET,
  ENGINE_LOCAL,
  ENGINE_RUN,
  ENGINE_THREADS,
  ENGINE_SIM,
  ENGINE_REPLAY
} Engine;

static const struct {
  bool is_oncore;    /* it is for vector processors, … */
  bool simulates;    /* … whose queues it simulates */
  bool has_a_runner; /* what it executes may be a program of its own */
} engine_traits[] = {[ENGINE_JIT] = {.has_a_runner = true},
                     [ENGINE_INTERPRET] = {0},
                     [ENGINE_LOCAL] = {0},
                     [ENGINE_RUN] = {.is_oncore = true, .has_a_runner = true},
                     [ENGINE_THREADS] = {.is_oncore = true, .has_a_runner = true},
                     [ENGINE_SIM] = {.is_oncore = true, .simulates = true},
                     [ENGINE_REPLAY] = {.is_oncore = true, .simulates = true}};

typedef struct RunState {
  Engine engine;
  CodegenJit *jit; /* NULL when interpreting or remote */
  bool is_remote;  /* --runner */
  RemoteProgram remote;
  XlacThreadPool *threads;     /* NULL when interpreting */
  QueueThreads *queues;        /* ENGINE_THREADS */
  const QueueWatcher *watcher; /* of these, may be NULL */
  QueueSimulator simulator;    /* ENGINE_SIM, ENGINE_REPLAY */
  StringBuilder recording;     /* --order-file of ENGINE_SIM */
  QueueOrders replay;          /* ... of ENGINE_REPLAY */
  QueueTimeline timeline;      /* ENGINE_SIM with --trace */
  XlacRunOptions run_options;
  FailureReporter reporter;
  HostTransfers transfers;
  OutsideCalls *outside;        /* ENGINE_INTERPRET */
  LocalDevices *local;          /* ENGINE_LOCAL */
  MpiRanks *ranks;              /* NULL: this process runs all devices */
  double communication_seconds; /* of all timed runs, with ranks */
  DeviceCounts counts;
  RunDevices devices;
  ModuleRun **runs; /* by device, of those that this process runs */
  CaseMeta meta_data;
  const CaseMeta *meta; /* NULL without --meta */
  RunResults results;
  double compile_seconds;
  bool is_cached;            /* the code is from the compile cache */
  int64_t lower_bound_bytes; /* of compiled code's memory */
  RunTimes times;
  double seconds;      /* of all runs together */
  int64_t value_limit; /* ENGINE_INTERPRET: bytes that --memory-limit leaves for values; 0: no limit */
} RunState;

static int64_t worker_count(const Session *session) {
  int64_t cores = min_i64(xlac_thread_pool_processor_count(), MOST_THREADS);
  return session_option_integer(session, OPTION_NUM_THREADS, cores);
}

static Status load_object(Session *session, RunState *state) {
  void *const *targets;
  RETURN_IF_ERROR(call_libraries_resolve(session, &session->compilation.object.targets, &targets));
  return codegen_jit_load(&session->compilation.object, targets, session->diag, &state->jit);
}

/* From the loaded module to code. */
static Status compile(Session *session, RunState *state) {
  RETURN_IF_ERROR(driver_run_passes(session));
  RETURN_IF_ERROR(driver_add_graph(session));
  RETURN_IF_ERROR(compilation_require_assignment(&session->compilation));
  RETURN_IF_ERROR(compilation_make_plans(&session->compilation));
  RETURN_IF_ERROR(driver_add_reports(session));
  state->lower_bound_bytes = session->compilation.assignment->lower_bound_bytes;
  return compilation_generate(&session->compilation);
}

/* The engine goes with the number of devices. */
static Status check_devices(Session *session, RunState *state) {
  const HloModule *module = session->compilation.module;
  int64_t total = device_counts_total(state->counts);
  if (total > MOST_DEVICES)
    return diag_error(session->diag, STATUS_INVALID, module->loc, "devices", "a run has at most %d devices, not %lld",
                      MOST_DEVICES, (long long)total);
  if (total == 1) return STATUS_OK;
  if (session->compilation.options.keeps_whole && hlo_module_is_whole(module)) {
    state->counts = (DeviceCounts){1, 1};
    return STATUS_OK;
  }
  if (state->engine == ENGINE_LOCAL || state->ranks != NULL) return hlo_check_partitioned(module, session->diag);
  return diag_error(session->diag, STATUS_INVALID, module->loc, "devices",
                    "the module is for %lld devices: '--engine=local' runs them as threads, 'mpirun -np %lld' as "
                    "processes",
                    (long long)total, (long long)total);
}

static Status compile_to_run(Session *session, RunState *state) {
  double start = monotonic_seconds();
  CompilationCache cache;
  CompiledProgram program;
  compile_cache_begin(session, true, &cache);
  session->compilation.options.keeps_whole =
      !session_option_given(session, OPTION_PARTITIONS) && state->engine != ENGINE_LOCAL && state->ranks == NULL;
  if (state->ranks != NULL) session->compilation.options.processes = mpi_ranks_count(state->ranks);
  RETURN_IF_ERROR(driver_load_to_run(session));
  state->counts = hlo_module_device_counts(session->compilation.module);
  RETURN_IF_ERROR(check_devices(session, state));
  RETURN_IF_ERROR(remote_run_check(session));
  state->is_cached = compile_cache_find(session, &cache, SV("run"), &program);
  if (state->is_cached) {
    state->lower_bound_bytes = program.lower_bound_bytes;
  } else {
    RETURN_IF_ERROR(compile(session, state));
    compile_cache_keep(session, &cache, SV(""));
  }
  double load_start = monotonic_seconds();
  driver_doing(session, "loading the code", NULL);
  if (state->is_remote)
    RETURN_IF_ERROR(remote_run_build(session, state->engine == ENGINE_THREADS, worker_count(session), &state->reporter,
                                     &state->remote));
  else
    RETURN_IF_ERROR(load_object(session, state));
  state->compile_seconds = driver_end_phase(session, "load", load_start) - start;
  return STATUS_OK;
}

/* The module as it stands in the file, unless passes are asked for. */
static Status load_to_interpret(Session *session, RunState *state) {
  double start = monotonic_seconds();
  RETURN_IF_ERROR(run_devices_load(session, &state->counts));
  if (session->compilation.program != NULL)
    return diag_error(session->diag, STATUS_UNSUPPORTED, session->compilation.module->loc, "plan-program",
                      "'--engine=interpret' evaluates HLO, and there is none of a program of its own: "
                      "'--engine=run' executes it in program order");
  session->compilation.options.passes = COMPILATION_PASSES_INTERPRETER;
  session->compilation.options.without_code = true;
  RETURN_IF_ERROR(driver_run_passes(session));
  RETURN_IF_ERROR(driver_add_graph(session));
  state->compile_seconds = monotonic_seconds() - start;
  return STATUS_OK;
}

/* What executes kernels of a vector processor; ENGINE_RUN needs nothing. */
static void set_engine(Session *session, RunState *state) {
  if (state->engine == ENGINE_THREADS) {
    state->watcher = race_announcer_create(session->arena);
    state->queues = queue_threads_create(session->arena, state->watcher);
    state->run_options.oncore_launch = queue_threads_launch;
    state->run_options.oncore_data = state->queues;
  } else if (engine_traits[state->engine].simulates) {
    queue_simulator_init(&state->simulator, session->arena, session->compilation.options.machine,
                         session_option_integer(session, OPTION_ORDERS, 0), session->diag);
    sb_init(&state->recording, session->arena);
    state->timeline.arena = session->arena;
    if (session_option_given(session, OPTION_TRACE)) state->simulator.timeline = &state->timeline;
    if (state->engine == ENGINE_REPLAY)
      state->simulator.replay = &state->replay;
    else if (session_option_given(session, OPTION_ORDER_FILE))
      state->simulator.recording = &state->recording;
    state->run_options.oncore_launch = queue_simulator_launch;
    state->run_options.oncore_run = queue_simulator_run;
    state->run_options.oncore_data = &state->simulator;
  }
}

static Status create_run(Session *session, RunState *state) {
  const XlacDescriptor *descriptor = state->jit != NULL
                                         ? codegen_jit_descriptor(state->jit)
                                         : module_descriptor(session->arena, session->compilation.module);
  RETURN_IF_ERROR(run_devices_init(session, state->counts, state->meta, descriptor, &state->devices));
  if (state->ranks != NULL) {
    state->devices.first = mpi_ranks_rank(state->ranks);
    state->devices.count = 1;
  }
  state->runs = ARENA_NEW_ARRAY(session->arena, ModuleRun *, state->devices.count);
  RETURN_IF_ERROR(run_memory_check_leaves(session, descriptor, state->devices.count, state->engine != ENGINE_INTERPRET,
                                          &state->value_limit));
  if (state->jit == NULL) {
    state->run_options = (XlacRunOptions){.struct_size = sizeof state->run_options,
                                          .abi_version = XLAC_ABI_VERSION,
                                          .transfer = host_transfers_do,
                                          .transfer_data = &state->transfers};
    state->outside = outside_calls_create(session, &state->run_options);
    for (int64_t i = 0; i < state->devices.count; i++)
      state->runs[i] = runner_create(session->arena, NULL, descriptor, NULL);
    return STATUS_OK;
  }
  state->threads = xlac_thread_pool_create(run_memory_workers(session, descriptor, worker_count(session)));
  if (state->threads == NULL) out_of_memory(0);
  state->run_options = (XlacRunOptions){.struct_size = sizeof state->run_options,
                                        .abi_version = XLAC_ABI_VERSION,
                                        .user_data = state->threads,
                                        .parallel_for = xlac_thread_pool_parallel_for,
                                        .worker_count = xlac_thread_pool_worker_count(state->threads),
                                        .on_failure = call_failure_report,
                                        .failure_data = &state->reporter,
                                        .transfer = host_transfers_do,
                                        .transfer_data = &state->transfers};
  set_engine(session, state);
  if (state->ranks != NULL) RETURN_IF_ERROR(mpi_ranks_connect(state->ranks, descriptor, &state->run_options));
  if (state->engine == ENGINE_LOCAL) {
    state->local = local_devices_create(session, codegen_jit_function(state->jit), descriptor, &state->run_options,
                                        state->devices.count, state->runs);
    return STATUS_OK;
  }
  state->runs[0] = runner_create(session->arena, codegen_jit_function(state->jit), descriptor, &state->run_options);
  return STATUS_OK;
}

static Status prepare(Session *session, RunState *state) {
  double start = monotonic_seconds();
  driver_doing(session, "preparing to run", NULL);
  if (session_option_given(session, OPTION_META)) {
    RETURN_IF_ERROR(case_meta_read(session->arena, session_option_text(session, OPTION_META, ""), session->diag,
                                   &state->meta_data));
    state->meta = &state->meta_data;
  }
  if (state->engine == ENGINE_REPLAY)
    RETURN_IF_ERROR(queue_orders_read(session->arena, session_option_text(session, OPTION_ORDER_FILE, ""),
                                      session->diag, &state->replay));
  RETURN_IF_ERROR(host_transfers_init(&state->transfers, session));
  if (device_counts_total(state->counts) > 1 &&
      (session_option_given(session, OPTION_INFEED) || session_option_given(session, OPTION_OUTFEED)))
    return diag_error(session->diag, STATUS_INVALID, NO_LOC, "devices",
                      "'--infeed' and '--outfeed' are for runs on one device");
  driver_doing(session, "making room for arguments, results and workspace", NULL);
  RETURN_IF_ERROR(create_run(session, state));
  driver_doing(session, "making the inputs", NULL);
  RETURN_IF_ERROR(run_inputs_fill(session, &state->devices, state->runs));
  driver_end_phase(session, "inputs", start);
  return STATUS_OK;
}

/* An output like the others, but when the orders differ: it is what one looks at then. */
static Status write_order(Session *session, const RunState *state, bool has_results) {
  if (state->simulator.recording == NULL) return STATUS_OK;
  const char *path = session_option_text(session, OPTION_ORDER_FILE, "");
  if (has_results) return driver_add_output(session, path, sb_view(&state->recording));
  OutputFiles *files = output_files_create(session->arena);
  RETURN_IF_ERROR(output_files_add(files, path, sb_view(&state->recording), session->diag));
  return output_files_commit(files, session->diag);
}

static Status execute_once(Session *session, RunState *state, double *out_seconds) {
  host_transfers_begin_run(&state->transfers);
  queue_simulator_begin_run(&state->simulator);
  if (state->engine == ENGINE_LOCAL) return local_devices_execute(state->local, out_seconds);
  if (state->engine != ENGINE_INTERPRET) return runner_execute(state->runs[0], session->diag, out_seconds);
  HloHost host = outside_calls_host(state->outside);
  if (!state->devices.are_several)
    return interpreter_execute(session, state->runs[0], &host, state->value_limit, out_seconds);
  return interpreter_execute_devices(session, &state->devices, state->runs, &host, state->value_limit, out_seconds);
}

static Status execute_all(Session *session, RunState *state, int64_t count, double *seconds) {
  if (state->is_remote) return remote_program_run(&state->remote, state->runs[0], count, seconds, session->diag);
  for (int64_t i = 0; i < count; i++) RETURN_IF_ERROR(execute_once(session, state, &seconds[i]));
  return STATUS_OK;
}

static Status execute(Session *session, RunState *state) {
  double start = monotonic_seconds();
  driver_doing(session, state->engine == ENGINE_INTERPRET ? "interpreting" : "executing",
               sv_copy(session->arena, session->compilation.module->name).data);
  int64_t count = session_option_integer(session, OPTION_REPEAT, 1);
  int64_t warm_up =
      session_option_given(session, OPTION_TIME); /* the first run meets cold caches and untouched pages */
  double *seconds = ARENA_NEW_ARRAY(session->arena, double, warm_up + count);
  bool is_apart = warm_up > 0 && state->ranks != NULL; /* what it takes to communicate is told without it */
  if (is_apart) {
    RETURN_IF_ERROR(execute_once(session, state, seconds));
    state->communication_seconds = -mpi_ranks_seconds(state->ranks);
  }
  RETURN_IF_ERROR(execute_all(session, state, count + (is_apart ? 0 : warm_up), seconds + is_apart));
  if (is_apart) state->communication_seconds += mpi_ranks_seconds(state->ranks);
  for (int64_t i = 0; i < warm_up + count; i++) state->seconds += seconds[i];
  state->times = run_times_of(seconds + warm_up, count);
  driver_end_phase(session, "run", start);
  return STATUS_OK;
}

/* Of the last run. */
static SimulationSummary summarise(Session *session, const RunState *state) {
  const ModulePlans *plans = session->compilation.draft.plans; /* NULL: the code is from the compile cache */
  SimulationForecast forecast = {0};
  if (plans != NULL)
    forecast = (SimulationForecast){module_plans_estimate(plans), plans->bound.limit.cycles,
                                    plans->bound.argument_bytes + plans->bound.result_bytes};
  return simulation_summary_make(session->arena, &state->simulator, forecast);
}

static void add_simulation(Session *session, const RunState *state) {
  session->timeline = state->simulator.timeline;
  if (state->engine != ENGINE_SIM) return;
  StringBuilder summary, table;
  sb_init(&summary, session->arena);
  sb_init(&table, session->arena);
  SimulationSummary all = summarise(session, state);
  simulation_summary_text(&summary, &all);
  queue_simulator_print(&table, &state->simulator);
  session->simulation_summary = sb_view(&summary);
  session->simulation = sb_view(&table);
}

static Status collect_results(Session *session, RunState *state) {
  const ModuleRun *const *runs = (const ModuleRun *const *)state->runs;
  int64_t total = device_counts_total(state->counts), count;
  const NpyArray **by_device = ARENA_NEW_ARRAY(session->arena, const NpyArray *, total);
  if (state->ranks != NULL) RETURN_IF_ERROR(mpi_ranks_results(state->ranks, state->runs[0], &runs));
  if (runs == NULL) return STATUS_OK; /* the first rank has them all */
  for (int64_t i = 0; i < total; i++) by_device[i] = run_results_of_run(session->arena, runs[i], &count);
  return run_results_collect(session, &state->devices, state->runs[0]->descriptor, by_device, &state->results);
}

static Status write_times(Session *session, const RunState *state) {
  if (!session_option_given(session, OPTION_TIME)) return STATUS_OK;
  const XlacDescriptor *descriptor = state->runs[0]->descriptor;
  StringBuilder text;
  sb_init(&text, session->arena);
  JsonWriter json;
  json_init(&json, &text, false);
  json_begin_object(&json);
  json_field_double(&json, "compile_s", state->compile_seconds);
  json_key(&json, "run_s");
  json_begin_object(&json);
  json_field_double(&json, "min", state->times.min);
  json_field_double(&json, "median", state->times.median);
  json_field_double(&json, "mean", state->times.mean);
  json_field_int(&json, "n", state->times.count);
  json_end_object(&json);
  json_field_int(&json, "argument_bytes", descriptor_argument_bytes(descriptor));
  json_field_int(&json, "output_bytes", descriptor_result_bytes(descriptor));
  json_field_int(&json, "temp_bytes", state->is_remote ? state->remote.workspace_bytes : descriptor->workspace_bytes);
  if (descriptor->prepared_bytes > 0) json_field_int(&json, "prepared_bytes", descriptor->prepared_bytes);
  if (state->jit != NULL && descriptor->prepared_bytes > 0)
    json_field_double(&json, "prepare_s", state->runs[0]->prepare_seconds);
  json_field_int(&json, "lower_bound_bytes", state->lower_bound_bytes); /* 0 when interpreting */
  json_field_bool(&json, "cached", state->is_cached);
  if (state->ranks != NULL) json_field_double(&json, "communication_s", state->communication_seconds);
  if (state->engine == ENGINE_SIM) {
    SimulationSummary summary = summarise(session, state);
    json_key(&json, "simulation");
    simulation_summary_json(&json, &summary);
  }
  json_end_object(&json);
  sb_append_char(&text, '\n');
  return driver_add_output(session, session_option_text(session, OPTION_TIME, "-"), sb_view(&text));
}

static Status write_profile(Session *session, const RunState *state) {
  if (!session_option_given(session, OPTION_PROFILE)) return STATUS_OK;
  StringBuilder text;
  sb_init(&text, session->arena);
  RETURN_IF_ERROR(profile_report(&session->compilation, state->jit, state->seconds, &text));
  return driver_add_output(session, session_option_text(session, OPTION_PROFILE, ""), sb_view(&text));
}

static Status run(Session *session, RunState *state) {
  state->counts = (DeviceCounts){1, 1};
  state->engine = (Engine)session_option_integer(session, OPTION_ENGINE, ENGINE_JIT);
  state->is_remote = session_option_given(session, OPTION_RUNNER);
  state->reporter = (FailureReporter){.session = session};
  if (state->engine == ENGINE_JIT && !state->is_remote) RETURN_IF_ERROR(mpi_ranks_begin(session, &state->ranks));
  if (state->ranks == NULL || mpi_ranks_rank(state->ranks) == 0) RETURN_IF_ERROR(driver_check_places(session));
  RETURN_IF_ERROR(state->engine == ENGINE_INTERPRET ? load_to_interpret(session, state)
                                                    : compile_to_run(session, state));
  RETURN_IF_ERROR(prepare(session, state));
  Status executed = execute(session, state);
  add_simulation(session, state);
  Status recorded = write_order(session, state, executed == STATUS_OK);
  RETURN_IF_ERROR(executed);
  RETURN_IF_ERROR(recorded);
  RETURN_IF_ERROR(collect_results(session, state));
  if (state->ranks != NULL && mpi_ranks_rank(state->ranks) > 0) {
    diag_sink_init(session->diag, session->arena); /* what the first rank says is said once */
    return STATUS_OK;
  }
  RETURN_IF_ERROR(host_transfers_write(&state->transfers));
  RETURN_IF_ERROR(run_results_write(session, &state->results, &state->transfers));
  RETURN_IF_ERROR(write_times(session, state));
  RETURN_IF_ERROR(write_profile(session, state));
  return run_results_compare(session, &state->results, state->meta);
}

/* What goes with --engine. */
static Status check_engine(Session *session) {
  const OptionValue *values = session->options->values;
  Status status = STATUS_OK;
  Engine engine = (Engine)session_option_integer(session, OPTION_ENGINE, ENGINE_JIT);
  if (engine_traits[engine].is_oncore && target_is_host(session->options))
    status = diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage",
                        "'--engine=%s' is for vector processors, and '--target' is 'host'", values[OPTION_ENGINE].text);
  if (values[OPTION_RUNNER].given && !engine_traits[engine].has_a_runner)
    status = diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage",
                        "'--engine=%s' runs in this process, without '--runner'", values[OPTION_ENGINE].text);
  if (values[OPTION_RUNNER].given && (values[OPTION_INFEED].given || values[OPTION_OUTFEED].given))
    status = diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage",
                        "'--infeed' and '--outfeed' are for runs in this process, without '--runner'");
  if (values[OPTION_PROFILE].given &&
      (engine != ENGINE_JIT || !target_is_host(session->options) || values[OPTION_RUNNER].given))
    status = diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage",
                        "'--profile' is for compiled code of this process: not with '--engine', '--target' or "
                        "'--runner'");
  if (values[OPTION_FLUSH_DENORMALS].given && engine == ENGINE_INTERPRET)
    status = diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage",
                        "'--engine=interpret' keeps subnormal numbers: '--flush-denormals' is for compiled code");
  if (engine == ENGINE_REPLAY && !values[OPTION_ORDER_FILE].given)
    status = diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage", "'--engine=replay' needs '--order-file=FILE'");
  if (values[OPTION_ORDER_FILE].given && !engine_traits[engine].simulates)
    status = diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage",
                        "'--order-file' is for '--engine=sim' and '--engine=replay'");
  if (values[OPTION_ORDERS].given && engine != ENGINE_SIM)
    status = diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage", "'--orders' is for '--engine=sim'");
  return status;
}

static Status check_files(Session *session) {
  file_uses_init(&session->files, session->arena, session->options, NULL, 0);
  if (session_option_integer(session, OPTION_ENGINE, ENGINE_JIT) == ENGINE_REPLAY)
    file_uses_set_read(&session->files, OPTION_ORDER_FILE);
  return file_uses_check(&session->files, session->diag);
}

static Status check_usage(Session *session) {
  const OptionValue *values = session->options->values;
  Status status = STATUS_OK;
  for (const OptionValue *value = &values[OPTION_ARG]; value && value->given; value = value->previous) {
    NamedFile ignored;
    if (!named_file_parse(value->text, &ignored))
      status =
          diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage", "'--arg' needs K=FILE.npy, not '%s'", value->text);
  }
  for (const OptionValue *value = &values[OPTION_CUSTOM_CALL_SYMBOL]; value && value->given; value = value->previous) {
    if (strchr(value->text, '=') == NULL)
      status = diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage",
                          "'--custom-call-symbol' needs TARGET=SYMBOL, not '%s'", value->text);
  }
  if (check_engine(session) != STATUS_OK) status = STATUS_INVALID;
  if (check_files(session) != STATUS_OK) status = STATUS_INVALID;
  Status cpu = compilation_options_check(&session->compilation.options, session->diag);
  return cpu != STATUS_OK ? cpu : status;
}

static Status run_in_time(Session *session, RunState *state) {
  if (!session_option_given(session, OPTION_TIMEOUT)) return run(session, state);
  session->time_limit =
      time_limit_start(session->arena, session->options, session->options->values[OPTION_TIMEOUT].real, session->diag);
  if (session->time_limit == NULL) return STATUS_IO;
  Status status = run(session, state);
  time_limit_end(session->time_limit);
  session->time_limit = NULL;
  return status;
}

int run_command(Session *session) {
  if (check_usage(session) != STATUS_OK) return session_end_usage(session);
  RunState state = {0};
  Status status = run_in_time(session, &state);
  xlac_thread_pool_destroy(state.threads);
  if (state.queues) queue_threads_destroy(state.queues);
  race_announcer_destroy(state.watcher);
  remote_program_remove(&state.remote);
  int code = session_end(session, status);
  if (state.jit) codegen_jit_destroy(state.jit);
  local_devices_destroy(state.local);
  outside_calls_destroy(state.outside);
  mpi_ranks_end(state.ranks, code);
  return code;
}
