#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/scratch_folder.h"
#include "xlac/xlac.h"

/* --- what the tests share --- */

#define DOUBLING "ENTRY double { x = f32[4] parameter(0)\n ROOT y = f32[4] add(x, x) }\n"
/* Large enough for several threads, and with temporaries. */
#define PRODUCTS                                                                    \
  "ENTRY products { a = f32[96,96] parameter(0)\n b = f32[96,96] parameter(1)\n"    \
  " c = f32[96,96] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n" \
  " d = f32[96,96] tanh(c)\n"                                                       \
  " ROOT e = f32[96,96] dot(d, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n"

/* What a listener was told. */
typedef struct Log {
  int errors, steps, cancel_at;
  char text[4096];
} Log;

static void keep_diagnostic(void *data, const XlacDiagnostic *diagnostic) {
  Log *log = data;
  log->errors += diagnostic->severity == XLAC_ERROR;
  snprintf(log->text, sizeof log->text, "%s", diagnostic->text);
}

static int count_step(void *data, const char *what, const char *name) {
  Log *log = data;
  (void)name;
  assert_true(what[0] != '\0');
  return ++log->steps == log->cancel_at;
}

static XlacListener listener_of(Log *log) {
  return (XlacListener){
      .struct_size = sizeof(XlacListener), .data = log, .on_diagnostic = keep_diagnostic, .on_progress = count_step};
}

typedef struct Fixture {
  Log log;
  XlacClient *client;
} Fixture;

static int set_up(void **state) {
  Fixture *fixture = calloc(1, sizeof *fixture);
  XlacListener listener = listener_of(&fixture->log);
  *state = fixture;
  return xlac_client_create(&listener, 3, &fixture->client) != XLAC_STATUS_OK;
}

static int tear_down(void **state) {
  Fixture *fixture = *state;
  xlac_client_destroy(fixture->client);
  free(fixture);
  return 0;
}

static XlacExecutable *compiled(XlacClient *client, const XlacOptions *options, const char *text) {
  XlacExecutable *executable;
  assert_int_equal(xlac_compile_text(client, options, "test.hlo", text, strlen(text), &executable), XLAC_STATUS_OK);
  return executable;
}

static void assert_doubles(XlacExecutable *executable) {
  const float x[4] = {1, -2, 3.5f, 0};
  float y[4];
  const void *arguments[] = {x};
  void *results[] = {y};
  assert_int_equal(xlac_executable_run(executable, arguments, results, NULL, NULL), XLAC_STATUS_OK);
  for (int i = 0; i < 4; i++) assert_true(y[i] == 2 * x[i]);
}

/* --- compile, run --- */

static void library_compiles_and_runs(void **state) {
  Fixture *fixture = *state;
  XlacExecutable *executable = compiled(fixture->client, NULL, DOUBLING);
  assert_doubles(executable);
  const XlacDescriptor *descriptor = xlac_executable_descriptor(executable);
  assert_int_equal(descriptor->parameter_count, 1);
  assert_int_equal(descriptor->results[0].bytes, 16);
  assert_int_equal(descriptor->results[0].type, XLAC_F32);
  const void *object;
  size_t size;
  xlac_executable_object(executable, &object, &size);
  assert_memory_equal(object, "\177ELF", 4);
  assert_non_null(strstr(xlac_executable_header(executable), "#define"));
  xlac_executable_destroy(executable);
}

static void library_takes_the_callers_workspace_and_threads(void **state) {
  Fixture *fixture = *state;
  XlacExecutable *executable = compiled(fixture->client, NULL, PRODUCTS);
  enum { N = 96 * 96 };
  float *a = calloc(N, sizeof *a), *b = calloc(N, sizeof *b), *own = calloc(N, sizeof *own),
        *given = calloc(N, sizeof *b);
  for (int i = 0; i < N; i++) a[i] = (float)(i % 7) / 100, b[i] = (float)(i % 5) / 50;
  const void *arguments[] = {a, b};
  void *results[] = {own};
  for (int i = 0; i < 2; i++) /* the second run finds the first one's workspace */
    assert_int_equal(xlac_executable_run(executable, arguments, results, NULL, NULL), XLAC_STATUS_OK);
  const XlacDescriptor *descriptor = xlac_executable_descriptor(executable);
  void *workspace = aligned_alloc(64, (size_t)(descriptor->workspace_bytes + 63) / 64 * 64 + 64);
  XlacRunOptions options = {.struct_size = sizeof options, .abi_version = XLAC_ABI_VERSION};
  results[0] = given;
  assert_int_equal(xlac_executable_run(executable, arguments, results, workspace, &options), XLAC_STATUS_OK);
  assert_memory_equal(own, given, N * sizeof *own);
  assert_true(own[0] != 0);
  free(workspace), free(a), free(b), free(own), free(given);
  xlac_executable_destroy(executable);
}

/* --- errors --- */

static void library_tells_what_is_wrong_and_where(void **state) {
  Fixture *fixture = *state;
  static const char text[] = "ENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] ad(x, x) }\n";
  XlacExecutable *executable = (XlacExecutable *)1;
  assert_int_equal(xlac_compile_text(fixture->client, NULL, "wrong.hlo", text, sizeof text - 1, &executable),
                   XLAC_STATUS_INVALID);
  assert_null(executable);
  assert_int_equal(fixture->log.errors, 1);
  assert_non_null(strstr(fixture->log.text, "wrong.hlo:3:19: error: unknown opcode 'ad'"));
  assert_non_null(strstr(fixture->log.text, "did you mean"));
  assert_int_equal(xlac_compile_file(fixture->client, NULL, "/no/such.hlo", &executable), XLAC_STATUS_IO);
  assert_int_equal(fixture->log.errors, 2);
}

static void library_takes_options_by_name(void **state) {
  Fixture *fixture = *state;
  XlacOptions *options;
  assert_int_equal(xlac_options_create(fixture->client, &options), XLAC_STATUS_OK);
  assert_int_equal(xlac_options_set(options, "memory-limit", "64"), XLAC_STATUS_OK);
  assert_int_equal(xlac_options_set(options, "O", "3"), XLAC_STATUS_OK);
  assert_int_equal(xlac_options_set(options, "--fast-math", NULL), XLAC_STATUS_OK);
  XlacExecutable *executable = compiled(fixture->client, options, DOUBLING);
  assert_doubles(executable);
  xlac_executable_destroy(executable);
  assert_int_equal(xlac_options_set(options, "memory-limit", "16"), XLAC_STATUS_OK);
  assert_int_equal(xlac_compile_text(fixture->client, options, "t", DOUBLING, strlen(DOUBLING), &executable),
                   XLAC_STATUS_EXHAUSTED);
  assert_null(executable);
  fixture->log.errors = 0;
  assert_int_equal(xlac_options_set(options, "memory-limit", "plenty"), XLAC_STATUS_INVALID);
  assert_int_equal(xlac_options_set(options, "fast-math", "yes"), XLAC_STATUS_INVALID);
  assert_int_equal(xlac_options_set(options, "mcpu", NULL), XLAC_STATUS_INVALID);
  assert_int_equal(xlac_options_set(options, "output", "x.o"), XLAC_STATUS_INVALID); /* of the command line */
  assert_null(strstr(fixture->log.text, "did you mean"));                            /* itself */
  assert_int_equal(xlac_options_set(options, "memry-limit", "1"), XLAC_STATUS_INVALID);
  assert_non_null(strstr(fixture->log.text, "did you mean '--memory-limit'?"));
  assert_int_equal(xlac_options_set(options, "memory_limit", "64"), XLAC_STATUS_OK);
  assert_int_equal(fixture->log.errors, 5);
  xlac_options_destroy(options);
}

/* Where nothing is given nothing is read: no file that is called as the text. */
static void library_refuses_what_is_not_there(void **state) {
  Fixture *fixture = *state;
  XlacExecutable *executable;
  XlacModule *module;
  XlacClient *client = fixture->client;
  assert_int_equal(xlac_compile_text(client, NULL, "/dev/null", NULL, 0, &executable), XLAC_STATUS_INVALID);
  assert_non_null(strstr(fixture->log.text, "the text is empty"));
  assert_int_equal(xlac_module_parse(client, "/dev/zero", NULL, 7, &module), XLAC_STATUS_INVALID);
  assert_int_equal(xlac_compile_file(client, NULL, NULL, &executable), XLAC_STATUS_IO);
  assert_int_equal(xlac_module_read(client, NULL, &module), XLAC_STATUS_IO);
  XlacListener listener = listener_of(&fixture->log);
  assert_int_equal(xlac_client_create(&listener, -1, &client), XLAC_STATUS_INVALID);
  assert_null(client);
}

static void library_can_be_cancelled(void **state) {
  Fixture *fixture = *state;
  XlacExecutable *executable = compiled(fixture->client, NULL, PRODUCTS);
  xlac_executable_destroy(executable);
  int steps = fixture->log.steps;
  assert_true(steps > 5);
  for (int s = 1; s <= steps; s += 3) {
    fixture->log = (Log){.cancel_at = s};
    assert_int_equal(xlac_compile_text(fixture->client, NULL, "t", PRODUCTS, strlen(PRODUCTS), &executable),
                     XLAC_STATUS_CANCELLED);
    assert_null(executable);
    assert_int_equal(fixture->log.errors, 0);
  }
}

/* A compiler step without memory, or with a bug, as far as the library can tell. */
static int lack_memory(void *data, const char *what, const char *name) {
  (void)what, (void)name;
  Log *log = data;
  if (++log->steps == log->cancel_at) out_of_memory(1000);
  return 0;
}

static int meet_bug(void *data, const char *what, const char *name) {
  (void)data, (void)what, (void)name;
  XLAC_BUG("never");
}

static void library_survives_a_lack_of_memory_and_bugs(void **state) {
  Fixture *fixture = *state;
  Log log = {0};
  XlacListener listener = listener_of(&log);
  XlacOptions *options;
  XlacExecutable *executable;
  assert_int_equal(xlac_options_create(fixture->client, &options), XLAC_STATUS_OK);
  listener.on_progress = lack_memory;
  xlac_options_set_listener(options, &listener);
  for (log.cancel_at = 1; log.cancel_at < 40; log.cancel_at += 6) {
    log.steps = 0;
    assert_int_equal(xlac_compile_text(fixture->client, options, "t", PRODUCTS, strlen(PRODUCTS), &executable),
                     XLAC_STATUS_OUT_OF_MEMORY);
    assert_null(executable);
  }
  listener.on_progress = meet_bug;
  xlac_options_set_listener(options, &listener);
  assert_int_equal(xlac_compile_text(fixture->client, options, "t", DOUBLING, strlen(DOUBLING), &executable),
                   XLAC_STATUS_BUG);
  assert_non_null(strstr(log.text, "library_test.c"));
  assert_int_equal(log.text[strlen(log.text) - 1], '\n');
  xlac_options_destroy(options);
  executable = compiled(fixture->client, NULL, DOUBLING);
  assert_doubles(executable);
  xlac_executable_destroy(executable);
  assert_int_equal(fixture->log.errors, 0); /* the options' own listener was told */
}

/* --- modules, reports --- */

static void library_prints_and_compiles_modules(void **state) {
  Fixture *fixture = *state;
  XlacModule *module, *again;
  char *text, *second;
  size_t size;
  assert_int_equal(xlac_module_parse(fixture->client, "t", PRODUCTS, strlen(PRODUCTS), &module), XLAC_STATUS_OK);
  XlacExecutable *executable;
  assert_int_equal(xlac_compile_module(fixture->client, NULL, module, &executable), XLAC_STATUS_OK);
  xlac_executable_destroy(executable);
  assert_int_equal(xlac_module_print(module, &text, &size), XLAC_STATUS_OK); /* not what the passes made of it */
  assert_int_equal(size, strlen(text));
  assert_non_null(strstr(text, "tanh"));
  assert_int_equal(xlac_module_parse(fixture->client, "t", text, size, &again), XLAC_STATUS_OK);
  assert_int_equal(xlac_module_print(again, &second, NULL), XLAC_STATUS_OK);
  assert_string_equal(text, second);
  xlac_free(text), xlac_free(second);
  xlac_module_destroy(module), xlac_module_destroy(again);
}

static void library_has_the_reports_that_were_asked_for(void **state) {
  Fixture *fixture = *state;
  XlacOptions *options;
  assert_int_equal(xlac_options_create(fixture->client, &options), XLAC_STATUS_OK);
  for (int r = 0; r < XLAC_REPORT_COUNT; r++)
    assert_int_equal(xlac_options_add_report(options, (XlacReport)r), XLAC_STATUS_OK);
  assert_int_equal(xlac_options_add_report(options, XLAC_REPORT_COUNT), XLAC_STATUS_INVALID);
  XlacExecutable *executable = compiled(fixture->client, options, PRODUCTS);
  static const char *const contents[XLAC_REPORT_COUNT] = {[XLAC_REPORT_BUFFER_MAP] = "lower bound",
                                                          [XLAC_REPORT_BUFFER_MAP_JSON] = "\"allocations\"",
                                                          [XLAC_REPORT_LIVENESS] = "workspace",
                                                          [XLAC_REPORT_LIVENESS_JSON] = "{",
                                                          [XLAC_REPORT_BUFFER_ASSIGNMENT] = "allocation 0",
                                                          [XLAC_REPORT_HLO] = "ENTRY",
                                                          [XLAC_REPORT_ALL] = "kernels",
                                                          [XLAC_REPORT_ALL_JSON] = "\"totals\"",
                                                          [XLAC_REPORT_ALL_HTML] = "<html"};
  for (int r = 0; r < XLAC_REPORT_COUNT; r++) {
    const char *text;
    size_t size;
    XlacStatus status = xlac_executable_report(executable, (XlacReport)r, &text, &size);
    assert_int_equal(status, contents[r] != NULL ? XLAC_STATUS_OK : XLAC_STATUS_INVALID); /* the host has no plans */
    if (contents[r] == NULL) continue;
    assert_int_equal(size, strlen(text));
    assert_non_null(strstr(text, contents[r]));
  }
  xlac_executable_destroy(executable);
  xlac_options_destroy(options);
}

static void library_compiles_for_vector_processors(void **state) {
  Fixture *fixture = *state;
  XlacOptions *options;
  assert_int_equal(xlac_options_create(fixture->client, &options), XLAC_STATUS_OK);
  assert_int_equal(xlac_options_set(options, "target", "vp-tiny"), XLAC_STATUS_OK);
  assert_int_equal(xlac_options_add_report(options, XLAC_REPORT_PLANS), XLAC_STATUS_OK);
  XlacExecutable *executable = compiled(fixture->client, options, DOUBLING);
  const char *plans;
  assert_int_equal(xlac_executable_report(executable, XLAC_REPORT_PLANS, &plans, NULL), XLAC_STATUS_OK);
  assert_non_null(strstr(plans, "target vp-tiny"));
  assert_doubles(executable);
  xlac_executable_destroy(executable);
  xlac_options_destroy(options);
}

/* --- bytes --- */

static void library_loads_what_it_wrote(void **state) {
  Fixture *fixture = *state;
  XlacExecutable *executable = compiled(fixture->client, NULL, DOUBLING), *again;
  void *bytes;
  size_t size;
  assert_int_equal(xlac_executable_serialize(executable, &bytes, &size), XLAC_STATUS_OK);
  xlac_executable_destroy(executable);
  assert_int_equal(xlac_executable_load(fixture->client, "kept", bytes, size, &again), XLAC_STATUS_OK);
  assert_doubles(again);
  assert_int_equal(xlac_executable_descriptor(again)->parameter_count, 1);
  assert_non_null(strstr(xlac_executable_header(again), "#define"));
  xlac_executable_destroy(again);
  assert_int_equal(fixture->log.errors, 0);
  unsigned char *damaged = bytes;
  for (size_t at = 0; at < size; at += at < 100 ? 1 : 1 + size / 50) { /* any byte matters */
    damaged[at] ^= 0x10;
    assert_int_equal(xlac_executable_load(fixture->client, "kept", bytes, size, &again), XLAC_STATUS_INVALID);
    assert_null(again);
    damaged[at] ^= 0x10;
  }
  for (size_t kept = 0; kept < size; kept += 1 + size / 20)
    assert_int_equal(xlac_executable_load(fixture->client, "kept", bytes, kept, &again), XLAC_STATUS_INVALID);
  assert_non_null(strstr(fixture->log.text, "cannot load 'kept': it is damaged"));
  xlac_free(bytes);
}

/* --- the compile cache --- */

static int steps_of_compile(Fixture *fixture, const XlacOptions *options) {
  fixture->log.steps = 0;
  XlacExecutable *executable = compiled(fixture->client, options, DOUBLING);
  assert_doubles(executable);
  xlac_executable_destroy(executable);
  return fixture->log.steps;
}

static void library_uses_the_compile_cache_that_is_named(void **state) {
  Fixture *fixture = *state;
  Arena *arena = arena_create();
  DiagSink diag;
  ScratchFolder folder;
  diag_sink_init(&diag, arena);
  assert_int_equal(scratch_folder_create(arena, &diag, &folder), STATUS_OK);
  XlacOptions *options;
  assert_int_equal(xlac_options_create(fixture->client, &options), XLAC_STATUS_OK);
  assert_int_equal(xlac_options_set(options, "cache-dir", folder.path), XLAC_STATUS_OK);
  int first = steps_of_compile(fixture, options), second = steps_of_compile(fixture, options);
  assert_true(first > 5 && second <= 2); /* passes and code are what the second does without */
  assert_int_equal(xlac_options_set(options, "O", "0"), XLAC_STATUS_OK);
  assert_true(steps_of_compile(fixture, options) > 2); /* another option, another program */
  assert_int_equal(xlac_options_add_report(options, XLAC_REPORT_HLO), XLAC_STATUS_OK);
  assert_true(steps_of_compile(fixture, options) > 2); /* reports are made by compiling */
  assert_int_equal(fixture->log.errors, 0);
  xlac_options_destroy(options);
  scratch_folder_remove(&folder);
  arena_destroy(arena);
}

/* --- custom calls --- */

#define CALLING                        \
  "ENTRY e { x = f32[] parameter(0)\n" \
  " ROOT y = f32[] custom-call(x), custom_call_target=\"halve\", api_version=API_VERSION_ORIGINAL }\n"

static void halve(void *result, const void **arguments) {
  *(float *)result = *(const float *)arguments[0] / 2;
}

static void library_calls_registered_functions(void **state) {
  Fixture *fixture = *state;
  XlacExecutable *executable;
  assert_int_equal(xlac_compile_text(fixture->client, NULL, "t", CALLING, strlen(CALLING), &executable),
                   XLAC_STATUS_INVALID);
  assert_non_null(strstr(fixture->log.text, "t:2:17: error: nothing implements the custom call to 'halve'"));
  assert_int_equal(xlac_client_register_call(fixture->client, "halve", (void (*)(void))halve), XLAC_STATUS_OK);
  executable = compiled(fixture->client, NULL, CALLING);
  float x = 5, y = 0;
  const void *arguments[] = {&x};
  void *results[] = {&y};
  assert_int_equal(xlac_executable_run(executable, arguments, results, NULL, NULL), XLAC_STATUS_OK);
  assert_true(y == 2.5f);
  xlac_executable_destroy(executable);
  assert_int_equal(xlac_client_load_calls(fixture->client, "/no/such.so"), XLAC_STATUS_IO);
}

/* --- threads --- */

enum { THREADS = 64, ROUNDS = 2 };

static void *use_client(void *data) {
  XlacClient *client = data;
  static const char form[] =
      "ENTRY e { x = f32[%d] parameter(0)\n c = f32[] constant(%d)\n"
      " b = f32[%d] broadcast(c), dimensions={}\n ROOT y = f32[%d] multiply(x, b) }\n";
  for (int round = 0; round < ROUNDS; round++) {
    int n = 3 + (int)((uintptr_t)&round / 4096 % 61), factor = 2 + round;
    char text[512];
    int size = snprintf(text, sizeof text, form, n, factor, n, n);
    XlacExecutable *executable;
    if (xlac_compile_text(client, NULL, "t", text, (size_t)size, &executable) != XLAC_STATUS_OK) return data;
    float x[64], y[64];
    for (int i = 0; i < n; i++) x[i] = (float)i;
    const void *arguments[] = {x};
    void *results[] = {y};
    bool ok = xlac_executable_run(executable, arguments, results, NULL, NULL) == XLAC_STATUS_OK;
    for (int i = 0; i < n; i++) ok = ok && y[i] == (float)(i * factor);
    xlac_executable_destroy(executable);
    if (!ok) return data;
  }
  return NULL;
}

static void library_serves_many_threads(void **state) {
  Fixture *fixture = *state;
  XlacClient *client;
  assert_int_equal(xlac_client_create(NULL, 2, &client), XLAC_STATUS_OK);
  (void)fixture;
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, use_client, client), 0);
  for (int i = 0; i < THREADS; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  xlac_client_destroy(client);
}

/* One executable, called by many at once. */
static void *run_doubling(void *executable) {
  for (int i = 0; i < 100; i++) assert_doubles(executable);
  return NULL;
}

static void executables_are_used_by_many_threads(void **state) {
  Fixture *fixture = *state;
  XlacExecutable *executable = compiled(fixture->client, NULL, DOUBLING);
  pthread_t threads[8];
  for (int i = 0; i < 8; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_doubling, executable), 0);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  xlac_executable_destroy(executable);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(library_compiles_and_runs),
      TEST(library_takes_the_callers_workspace_and_threads),
      TEST(library_tells_what_is_wrong_and_where),
      TEST(library_takes_options_by_name),
      TEST(library_refuses_what_is_not_there),
      TEST(library_can_be_cancelled),
      TEST(library_survives_a_lack_of_memory_and_bugs),
      TEST(library_prints_and_compiles_modules),
      TEST(library_has_the_reports_that_were_asked_for),
      TEST(library_compiles_for_vector_processors),
      TEST(library_loads_what_it_wrote),
      TEST(library_uses_the_compile_cache_that_is_named),
      TEST(library_calls_registered_functions),
      TEST(library_serves_many_threads),
      TEST(executables_are_used_by_many_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
