#include "hlo/ir/device_groups.h"

#include "hlo/ir/hlo_testing.h"
#include "parser/hlo_parser.h"

/* An instruction without its name and '=', on so many replicas and partitions, and its groups. */
typedef struct GroupCase {
  const char *instruction;
  DeviceCounts devices;
  const char *groups; /* "{0,1}{2,3}"; "!" and a part of the message */
} GroupCase;

/* The root of a module with |instruction|, verified as if nothing was known of the devices. */
static const HloInstruction *parse(Arena *arena, const char *instruction) {
  static const char head[] =
      "HloModule t\n"
      "add {\na = f32[] parameter(0)\nb = f32[] parameter(1)\nROOT r = f32[] add(a, b)\n}\n"
      "ENTRY e {\nx = f32[8] parameter(0)\nt = token[] after-all()\n"
      "ROOT c = ";
  SourceFile *file = ARENA_NEW(arena, SourceFile);
  *file = (SourceFile){SV("test"), sv_printf(arena, "%s%s\n}\n", head, instruction)};
  DiagSink diag;
  diag_sink_init(&diag, arena);
  HloModule *module;
  assert_int_equal(hlo_parse_module(arena, shape_table_create(arena), file, &diag, &module), STATUS_OK);
  return module->entry->root;
}

static StringView text_of(Arena *arena, const DeviceGroups *groups) {
  StringBuilder text;
  sb_init(&text, arena);
  for (int64_t i = 0; i < groups->count; i++) {
    sb_append_char(&text, '{');
    for (int64_t j = 0; j < groups->groups[i].count; j++)
      sb_printf(&text, "%s%lld", j > 0 ? "," : "", (long long)groups->groups[i].data[j]);
    sb_append_char(&text, '}');
  }
  return sb_view(&text);
}

static void check_groups(const GroupCase *cases, size_t count, bool are_pairs) {
  for (size_t i = 0; i < count; i++) {
    Arena *arena = arena_create();
    const HloInstruction *instruction = parse(arena, cases[i].instruction);
    DiagSink diag;
    diag_sink_init(&diag, arena);
    DeviceGroups groups = {0};
    DevicePairs pairs = {0};
    Status status = are_pairs ? hlo_device_pairs(arena, instruction, cases[i].devices, &diag, &pairs)
                              : hlo_device_groups(arena, instruction, cases[i].devices, &diag, &groups);
    Int64List *lists = ARENA_NEW_ARRAY(arena, Int64List, pairs.count);
    for (int64_t p = 0; p < pairs.count; p++) lists[p] = (Int64List){2, &pairs.data[p].source};
    if (are_pairs) groups = (DeviceGroups){pairs.count, lists};
    const char *found = sv_copy(arena, status == STATUS_OK ? text_of(arena, &groups) : diag.first->message).data;
    if (cases[i].groups[0] != '!')
      assert_string_equal(found, cases[i].groups);
    else if (status == STATUS_OK || strstr(found, cases[i].groups + 1) == NULL)
      fail_msg("%s: %s", cases[i].instruction, found);
    arena_destroy(arena);
  }
}

#define ALL_REDUCE(attributes) "f32[8] all-reduce(x), to_apply=add, " attributes
#define GLOBAL(groups) ALL_REDUCE("channel_id=1, use_global_device_ids=true, replica_groups=" groups)

/* Forms: the meaning of iota tiles and meshes is that of numpy's arange, reshape and transpose. */
static void device_groups_takes_every_form(void **state) {
  (void)state;
  static const GroupCase cases[] = {
      {GLOBAL("{{0,3},{2,1}}"), {1, 4}, "{0,3}{2,1}"},
      {GLOBAL("{{0},{3,1,2}}"), {1, 4}, "{0}{3,1,2}"},
      {GLOBAL("[2,4]<=[8]"), {1, 8}, "{0,1,2,3}{4,5,6,7}"},
      {GLOBAL("[4,2]<=[2,4]T(1,0)"), {1, 8}, "{0,4}{1,5}{2,6}{3,7}"},
      {GLOBAL("[4,2]<=[2,2,2]T(2,1,0)"), {1, 8}, "{0,4}{2,6}{1,5}{3,7}"},
      {GLOBAL("mesh['a'=2,'b'=4] {'a'}"), {1, 8}, "{0,4}{1,5}{2,6}{3,7}"},
      {GLOBAL("mesh['a'=2,'b'=4] {'b'}"), {1, 8}, "{0,1,2,3}{4,5,6,7}"},
      {GLOBAL("mesh['a'=2,'b'=4] {'b','a'}"), {1, 8}, "{0,4,1,5,2,6,3,7}"},
      {GLOBAL("mesh['a'=2,'b'=4] {'b':(1)2}"), {1, 8}, "{0,2}{1,3}{4,6}{5,7}"},
      {GLOBAL("mesh['a'=2,'b'=4] {'b':(2)2}"), {1, 8}, "{0,1}{2,3}{4,5}{6,7}"},
      {GLOBAL("mesh['a'=2,'b'=4] {'b':(1)2,'a'}"), {1, 8}, "{0,4,2,6}{1,5,3,7}"},
      {GLOBAL("mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)) {'b'}"), {1, 8}, "{0,2,4,6}{1,3,5,7}"},
      {GLOBAL("mesh['a'=2,'b'=2], device_ids=(3,1,2,0) {'a'}"), {1, 4}, "{3,2}{1,0}"},
  };
  check_groups(cases, sizeof cases / sizeof *cases, false);
}

/* Modes: 2 replicas of 3 or 4 partitions. */
static void device_groups_depend_on_channel_and_flag(void **state) {
  (void)state;
  static const GroupCase cases[] = {
      {ALL_REDUCE("replica_groups={}"), {1, 3}, "{0}{1}{2}"},
      {ALL_REDUCE("replica_groups={}"), {2, 3}, "{0,3}{1,4}{2,5}"},
      {ALL_REDUCE("replica_groups={{1,0}}"), {2, 3}, "{3,0}{4,1}{5,2}"},
      {ALL_REDUCE("channel_id=1, replica_groups={}"), {2, 2}, "{0,1,2,3}"},
      {ALL_REDUCE("channel_id=1, replica_groups={{1,0}}"), {2, 3}, "{3,4,5,0,1,2}"},
      {ALL_REDUCE("channel_id=1, replica_groups={{0},{1}}"), {2, 3}, "{0,1,2}{3,4,5}"},
      {GLOBAL("{{0,5},{1,4},{2,3}}"), {2, 3}, "{0,5}{1,4}{2,3}"},
      {"f32[8] all-to-all(x), dimensions={0}, replica_groups={{0,1}}", {2, 2}, "{0,2}{1,3}"},
      {"f32[8] all-to-all(x), channel_id=1, dimensions={0}, replica_groups={{0,2},{3,1}}",
       {2, 4},
       "{0,2}{3,1}{4,6}{7,5}"},
      {"f32[8] collective-broadcast(x), channel_id=1, replica_groups={{3,0}}", {1, 4}, "{3,0}"},
      {"f32[8] all-reduce-start(x), to_apply=add, channel_id=1, replica_groups={{1,0}}, use_global_device_ids=true",
       {1, 2},
       "{1,0}"},
  };
  check_groups(cases, sizeof cases / sizeof *cases, false);
}

static void device_groups_reports_what_does_not_fit(void **state) {
  (void)state;
  static const GroupCase cases[] = {
      {GLOBAL("{{0,1},{2,3}}"), {1, 2}, "!'c' names 2, and runs on 2 devices"},
      {GLOBAL("{{0,1},{2,3}}"), {1, 8}, "!'c' has groups of 4 devices in all, and runs on 8"},
      {GLOBAL("{{0,1},{1,2}}"), {1, 4}, "!'c' names 1 twice among its 4 devices"},
      {GLOBAL("[2,4]<=[8]"), {1, 4}, "!'c' has groups of 8 devices in all, and runs on 4"},
      {GLOBAL("mesh['a'=2,'b'=4] {'a'}"), {1, 4}, "!'c' has groups of 8 devices in all, and runs on 4"},
      {GLOBAL("mesh['a'=4] {'a':(1)2,'a':(1)2}"), {1, 4}, "!'c' names -1, and runs on 4 devices"},
      {ALL_REDUCE("replica_groups={{0,1}}"), {1, 2}, "!'c' names 1, and runs on 1 replicas"},
      {"f32[8] all-to-all(x), channel_id=1, dimensions={0}, replica_groups={{0,1}}",
       {2, 1},
       "!'c' names 1, and runs on 1 partitions"},
  };
  check_groups(cases, sizeof cases / sizeof *cases, false);
}

#define SEND(pairs) \
  "(f32[8], u32[], token[]) send(x, t), channel_id=1, frontend_attributes={" DEVICE_PAIRS_KEY "=\"" pairs "\"}"

static void device_pairs_are_flat(void **state) {
  (void)state;
  static const GroupCase cases[] = {
      {"f32[8] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{2,0}}", {1, 3}, "{0,1}{2,0}"},
      {"f32[8] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{2,0}}", {2, 3}, "{0,1}{2,0}{3,4}{5,3}"},
      {"f32[8] collective-permute(x), source_target_pairs={{0,1}}", {2, 3}, "{0,3}{1,4}{2,5}"},
      {"f32[8] collective-permute(x), source_target_pairs={}", {2, 3}, ""},
      {"f32[8] collective-permute(x), channel_id=1, source_target_pairs={{0,3}}",
       {1, 3},
       "!'c' names 3, and runs on 3 partitions"},
      {SEND("{{0,1},{1,2}}"), {1, 3}, "{0,1}{1,2}"},
      {SEND("{{0,1}}"), {2, 2}, "{0,1}{2,3}"},
      {SEND("{{0,1},{0,2}}"), {1, 3}, "!'c' has 0 as a source twice"},
      {SEND("{{0,1},{2,1}}"), {1, 3}, "!'c' has 1 as a target twice"},
  };
  check_groups(cases, sizeof cases / sizeof *cases, true);
}

static void device_groups_find_knows_the_place(void **state) {
  (void)state;
  const int64_t first[] = {4, 0}, second[] = {1, 7, 2};
  const Int64List lists[] = {{2, first}, {3, second}};
  const DeviceGroups groups = {2, lists};
  int64_t group, member;
  assert_true(device_groups_find(&groups, 7, &group, &member));
  assert_int_equal(group, 1);
  assert_int_equal(member, 1);
  assert_false(device_groups_find(&groups, 3, &group, &member));
  const DevicePair pairs[] = {{0, 4}, {4, 2}};
  assert_int_equal(device_pairs_source(&(DevicePairs){2, pairs}, 2), 4);
  assert_int_equal(device_pairs_target(&(DevicePairs){2, pairs}, 4), 2);
  assert_int_equal(device_pairs_source(&(DevicePairs){2, pairs}, 0), -1);
  assert_int_equal(device_pairs_target(&(DevicePairs){2, pairs}, 2), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(device_groups_takes_every_form),
      cmocka_unit_test(device_groups_depend_on_channel_and_flag),
      cmocka_unit_test(device_groups_reports_what_does_not_fit),
      cmocka_unit_test(device_pairs_are_flat),
      cmocka_unit_test(device_groups_find_knows_the_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
