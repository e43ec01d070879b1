#include "runtime/collectives/evaluator_devices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hlo/infer/hlo_verifier.h"
#include "parser/hlo_parser.h"

typedef struct DevicesCase {
  const char *header;   /* after the module's name */
  const char *entry;    /* its instructions; id: the number of the partition as f32, x: f32[4], {10·id + 0, 1, 2, 3} */
  const char *expected; /* each device's result, by device; "!", the message and its notes */
} DevicesCase;

static const char prelude[] =
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"
    "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }\n"
    "difference { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] subtract(a, b) }\n"
    "twice { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] add(a, b) ROOT r = f32[] add(c, c) }\n";

static const char inputs[] =
    "p = u32[] partition-id()\nid = f32[] convert(p)\nten = f32[] constant(10)\n"
    "tens = f32[] multiply(id, ten)\nwide = f32[4] broadcast(tens), dimensions={}\n"
    "i = f32[4] iota(), iota_dimension=0\nx = f32[4] add(wide, i)\n";

static HloModule *parse(Arena *arena, const DevicesCase *test) {
  SourceFile *file = ARENA_NEW(arena, SourceFile);
  bool is_whole = strstr(test->entry, "ENTRY") != NULL;
  *file = (SourceFile){
      SV("test"),
      is_whole ? sv_printf(arena, "HloModule t%s\n%s%s", test->header, prelude, test->entry)
               : sv_printf(arena, "HloModule t%s\n%sENTRY e {\n%s%s\n}\n", test->header, prelude, inputs, test->entry)};
  DiagSink diag;
  diag_sink_init(&diag, arena);
  HloModule *module;
  Status status = hlo_parse_module(arena, shape_table_create(arena), file, &diag, &module);
  if (status == STATUS_OK) status = hlo_verify(module, &diag);
  if (status != STATUS_OK) fail_msg("%s: %.*s", test->entry, SV_ARG(diag.first->message));
  return module;
}

/* The results, or "!", the message and its notes. */
static const char *evaluate(Arena *arena, const DevicesCase *test) {
  HloModule *module = parse(arena, test);
  DeviceCounts devices = hlo_module_device_counts(module);
  DeviceEvaluation *evaluations = ARENA_NEW_ARRAY(arena, DeviceEvaluation, device_counts_total(devices));
  for (int64_t i = 0; i < device_counts_total(devices); i++) evaluations[i].arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  Status status = evaluate_on_devices(module, devices, evaluations, NULL, 0, &diag);
  StringBuilder text;
  sb_init(&text, arena);
  if (status != STATUS_OK) {
    sb_printf(&text, "!%.*s", SV_ARG(diag.first->message));
    for (const Diagnostic *note = diag.first->notes; note != NULL; note = note->next)
      sb_printf(&text, "; %.*s", SV_ARG(note->message));
  }
  for (int64_t i = 0; i < device_counts_total(devices); i++) {
    if (i > 0 && status == STATUS_OK) sb_append_cstring(&text, " | ");
    if (status == STATUS_OK) literal_print(&text, evaluations[i].result, -1);
    arena_destroy(evaluations[i].arena);
  }
  sb_append_char(&text, '\0');
  return text.data;
}

static void check(const DevicesCase *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    Arena *arena = arena_create();
    const char *found = evaluate(arena, &cases[i]);
    if (strcmp(found, cases[i].expected) != 0) print_error("case %zu: %s\n", i, cases[i].entry);
    assert_string_equal(found, cases[i].expected);
    arena_destroy(arena);
  }
}

#define CHECK(cases) check(cases, sizeof(cases) / sizeof(cases)[0])
#define TWO ", num_partitions=2"
#define THREE ", num_partitions=3"
#define FOUR ", num_partitions=4"
#define GLOBAL "channel_id=1, use_global_device_ids=true, "

static void reductions_fold_in_group_order(void **state) {
  (void)state;
  static const DevicesCase cases[] = {
      {TWO, "ROOT r = f32[4] all-reduce(x), " GLOBAL "replica_groups={{0,1}}, to_apply=add",
       "{10, 12, 14, 16} | {10, 12, 14, 16}"},
      {THREE, "ROOT r = f32[] all-reduce(tens), " GLOBAL "replica_groups={{2,0},{1}}, to_apply=difference",
       "20 | 10 | 20"},
      /* (30 - 20 - 0 - 10) in this order, not in that of the numbers */
      {FOUR, "ROOT r = f32[] all-reduce(tens), " GLOBAL "replica_groups={{3,2,0,1}}, to_apply=difference",
       "0 | 0 | 0 | 0"},
      {THREE, "ROOT r = f32[] all-reduce(id), " GLOBAL "replica_groups={{0,1,2}}, to_apply=twice", "8 | 8 | 8"},
      {TWO,
       "q = f32[] divide(id, id) "
       "r = f32[] all-reduce(q), " GLOBAL "replica_groups={{1,0}}, to_apply=max\n"
       "ROOT is_nan = pred[] compare(r, r), direction=NE",
       "true | true"},
      {TWO, "ROOT r = (f32[4], f32[]) all-reduce(x, id), " GLOBAL "replica_groups={{0,1}}, to_apply=max",
       "( {10, 11, 12, 13}, 1 ) | ( {10, 11, 12, 13}, 1 )"},
      {TWO, "ROOT r = f32[2] reduce-scatter(x), " GLOBAL "replica_groups={{1,0}}, dimensions={0}, to_apply=add",
       "{14, 16} | {10, 12}"},
      {TWO,
       "m = f32[2,2] reshape(x) ROOT r = (f32[1,2], f32[2]) reduce-scatter(m, x), " GLOBAL
       "replica_groups={{0,1}}, dimensions={0}, to_apply=add",
       "( { { 10, 12 } }, {10, 12} ) | ( { { 14, 16 } }, {14, 16} )"},
  };
  CHECK(cases);
}

static void data_move_in_listed_order(void **state) {
  (void)state;
  static const DevicesCase cases[] = {
      {TWO, "ROOT r = f32[8] all-gather(x), " GLOBAL "replica_groups={{1,0}}, dimensions={0}",
       "{10, 11, 12, 13, 0, 1, 2, 3} | {10, 11, 12, 13, 0, 1, 2, 3}"},
      {TWO,
       "m = f32[2,2] reshape(x) ROOT r = f32[2,4] all-gather(m), " GLOBAL "replica_groups=[1,2]<=[2], dimensions={1}",
       "{ { 0, 1, 10, 11 }, { 2, 3, 12, 13 } } | { { 0, 1, 10, 11 }, { 2, 3, 12, 13 } }"},
      {TWO, "ROOT r = f32[4] all-to-all(x), channel_id=1, replica_groups={{0,1}}, dimensions={0}",
       "{0, 1, 10, 11} | {2, 3, 12, 13}"},
      {TWO, "ROOT r = f32[4] all-to-all(x), channel_id=1, replica_groups={{1,0}}, dimensions={0}",
       "{12, 13, 2, 3} | {10, 11, 0, 1}"},
      {TWO, "ROOT r = (f32[], f32[]) all-to-all(id, tens), channel_id=1, replica_groups={{1,0}}",
       "( 10, 0 ) | ( 1, 0 )"},
      {THREE, "ROOT r = f32[4] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,0}}",
       "{10, 11, 12, 13} | {0, 1, 2, 3} | {0, 0, 0, 0}"},
      {THREE, "ROOT r = f32[] collective-permute(tens), channel_id=1, source_target_pairs={{2,2},{1,0}}",
       "10 | 0 | 20"},
      {THREE, "ROOT r = f32[] collective-broadcast(tens), channel_id=1, replica_groups={{2,0}}", "20 | 0 | 20"},
  };
  CHECK(cases);
}

/* Device 0 sends one row to itself and two to device 1, which sends one to device 0. */
static void ragged_rows_go_where_the_sender_says(void **state) {
  (void)state;
  static const DevicesCase cases[] = {
      {TWO,
       "one = s32[] convert(p) zero = s32[] constant(0) is_first = pred[] compare(one, zero), direction=EQ\n"
       "o = f32[4] broadcast(ten), dimensions={}\n"
       "from0 = s32[2] constant({0, 2}) from1 = s32[2] constant({3, 0}) f = s32[2] select(is_first, from0, from1)\n"
       "size0 = s32[2] constant({1, 2}) size1 = s32[2] constant({1, 0}) s = s32[2] select(is_first, size0, size1)\n"
       "to0 = s32[2] constant({0, 1}) to1 = s32[2] constant({3, 0}) t = s32[2] select(is_first, to0, to1)\n"
       "got0 = s32[2] constant({1, 1}) got1 = s32[2] constant({2, 0}) g = s32[2] select(is_first, got0, got1)\n"
       "ROOT r = f32[4] ragged-all-to-all(x, o, f, s, t, g), channel_id=1, replica_groups={{0,1}}",
       "{0, 10, 10, 13} | {10, 2, 3, 10}"},
  };
  CHECK(cases);
}

static void starts_give_operands_and_results(void **state) {
  (void)state;
  static const DevicesCase cases[] = {
      {TWO,
       "s = f32[] all-reduce-start(id), " GLOBAL "replica_groups={{0,1}}, to_apply=add\n"
       "ROOT d = f32[] all-reduce-done(s)",
       "1 | 1"},
      {TWO,
       "v = f32[1] reshape(tens)\n"
       "s = (f32[1], f32[2]) all-gather-start(v), " GLOBAL "replica_groups={{0,1}}, dimensions={0}\n"
       "ROOT d = f32[2] all-gather-done(s)",
       "{0, 10} | {0, 10}"},
      {TWO,
       "s = (f32[], f32[]) collective-permute-start(tens), channel_id=1, source_target_pairs={{1,0}}\n"
       "ROOT d = f32[] collective-permute-done(s)",
       "10 | 0"},
      {TWO,
       "swap { a = f32[4] parameter(0) ROOT r = f32[4] all-to-all(a), channel_id=1, replica_groups={{0,1}}, "
       "dimensions={0} }\nENTRY e { p = u32[] partition-id() id = f32[] convert(p)\n"
       "x = f32[4] broadcast(id), dimensions={}\n"
       "s = ((f32[4]), f32[4]) async-start(x), calls=swap u = ((f32[4]), f32[4]) async-update(s)\n"
       "ROOT d = f32[4] async-done(u) }",
       "{0, 0, 1, 1} | {0, 0, 1, 1}"},
  };
  CHECK(cases);
}

#define PAIRS(pairs) "frontend_attributes={" DEVICE_PAIRS_KEY "=\"" pairs "\"}"

/* All receive before they send: neither waits. */
static void sends_and_receives_wait_at_their_ends(void **state) {
  (void)state;
  static const DevicesCase cases[] = {
      {THREE,
       "t = token[] after-all()\n"
       "r = (f32[], u32[], token[]) recv(t), channel_id=1, " PAIRS(
           "{{0,1},{1,2},{2,0}}") "\n"
                                  "s = (f32[], u32[], token[]) send(tens, t), channel_id=1, " PAIRS(
                                      "{{0,1},{1,2},{2,0}}") ", control-predecessors={r}\n"
                                                             "sd = token[] send-done(s), channel_id=1\n"
                                                             "rd = (f32[], token[]) recv-done(r), channel_id=1, "
                                                             "control-predecessors={s}\n"
                                                             "ROOT v = f32[] get-tuple-element(rd), index=0",
       "20 | 0 | 10"},
      {THREE,
       "t = token[] after-all()\n"
       "r = (f32[], u32[], token[]) recv(t), channel_id=1, " PAIRS(
           "{{0,2}}") "\n"
                      "s = (f32[], u32[], token[]) send(ten, t), channel_id=1, " PAIRS(
                          "{{0,2}}") "\n"
                                     "sd = token[] send-done(s), channel_id=1\n"
                                     "rd = (f32[], token[]) recv-done(r), channel_id=1, control-predecessors={s}\n"
                                     "ROOT v = f32[] get-tuple-element(rd), index=0",
       "0 | 0 | 10"},
  };
  CHECK(cases);
}

static void devices_know_their_numbers(void **state) {
  (void)state;
  static const DevicesCase cases[] = {
      {", replica_count=2" TWO, "q = u32[] replica-id() ROOT r = (u32[], u32[]) tuple(q, p)",
       "( 0, 0 ) | ( 0, 1 ) | ( 1, 0 ) | ( 1, 1 )"},
      {", replica_count=2" TWO,
       "q = u32[] replica-id() f = f32[] convert(q) hundred = f32[] constant(100) h = f32[] multiply(f, hundred) "
       "n = f32[] add(h, id) v = f32[1] reshape(n) "
       "g = f32[4] all-gather(v), channel_id=1, replica_groups={{1,0}}, dimensions={0} "
       "w = f32[2] all-gather(v), replica_groups={}, dimensions={0} ROOT t = (f32[4], f32[2]) tuple(g, w)",
       "( {100, 101, 0, 1}, {0, 100} ) | ( {100, 101, 0, 1}, {1, 101} ) | ( {100, 101, 0, 1}, {0, 100} ) | ( {100, "
       "101, "
       "0, 1}, {1, 101} )"},
  };
  CHECK(cases);
}

/* --- what does not fit together --- */

#define BRANCHES(first, second)                                                        \
  "one { a = f32[4] parameter(0) " first " }\ntwo { a = f32[4] parameter(0) " second   \
  " }\n"                                                                               \
  "ENTRY e { p = u32[] partition-id() i = s32[] convert(p) ten = f32[] constant(10)\n" \
  "x = f32[4] broadcast(ten), dimensions={}\n"                                         \
  "ROOT c = f32[4] conditional(i, x, x), branch_computations={one, two} }"
#define SUM(name, shape, operand) \
  name " = " shape " all-reduce(" operand "), " GLOBAL "replica_groups={{0,1}}, to_apply=add"

static void mismatches_are_deadlocks(void **state) {
  (void)state;
  static const DevicesCase cases[] = {
      {TWO, BRANCHES("ROOT " SUM("s", "f32[4]", "a"), "ROOT n = f32[4] negate(a)"),
       "!deadlock: device 0 waits in all-reduce 's' for device 1, which has finished"},
      {TWO,
       BRANCHES("ROOT " SUM("s", "f32[4]", "a"),
                "v = f32[2] slice(a), slice={[0:2]} " SUM("t", "f32[2]",
                                                          "v") " ROOT r = f32[4] concatenate(t, t), dimensions={0}"),
       "!deadlock: device 0 waits in all-reduce 's' for device 1, which waits in all-reduce 't' for device 0; device 1 "
       "waits here"},
      {TWO,
       BRANCHES(
           SUM("s", "f32[4]", "a") " ROOT r = f32[4] collective-permute(s), channel_id=1, source_target_pairs={{0,1}}",
           "q = f32[4] collective-permute(a), channel_id=1, source_target_pairs={{0,1}} ROOT " SUM("t", "f32[4]", "q")),
       "!deadlock: device 0 waits in all-reduce 's' for device 1, which waits in collective-permute 'q' for device 0; "
       "device 1 waits here"},
      {TWO,
       "t = token[] after-all()\n"
       "r = (f32[], u32[], token[]) recv(t), channel_id=1, " PAIRS(
           "{{0,1}}") "\n"
                      "rd = (f32[], token[]) recv-done(r), channel_id=1\n"
                      "ROOT v = f32[] get-tuple-element(rd), index=0",
       "!deadlock: device 1 waits in recv-done 'rd' for device 0, which has finished"},
  };
  CHECK(cases);
}

static void errors_name_the_device(void **state) {
  (void)state;
  static const DevicesCase cases[] = {
      {TWO,
       BRANCHES("ROOT " SUM("s", "f32[4]", "a"), "ROOT n = f32[4] custom-call(a), custom_call_target=\"unheard_of\""),
       "!'custom-call' leads out of the module; on device 1"},
      {TWO,
       "t = token[] after-all() both = (f32[], f32[]) tuple(id, ten)\n"
       "s = ((f32[], f32[]), u32[], token[]) send(both, t), channel_id=1, " PAIRS(
           "{{0,1}}") "\n"
                      "ROOT sd = token[] send-done(s), channel_id=1",
       "!'send' of a tuple cannot be evaluated between devices; on device 0"},
  };
  CHECK(cases);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reductions_fold_in_group_order),
      cmocka_unit_test(data_move_in_listed_order),
      cmocka_unit_test(ragged_rows_go_where_the_sender_says),
      cmocka_unit_test(starts_give_operands_and_results),
      cmocka_unit_test(sends_and_receives_wait_at_their_ends),
      cmocka_unit_test(devices_know_their_numbers),
      cmocka_unit_test(mismatches_are_deadlocks),
      cmocka_unit_test(errors_name_the_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
