#include "hlo/ir/hlo_testing.h"

static void check_print(const Fixture *f, const HloPrintOptions *options, const char *expected) {
  StringBuilder out;
  sb_init(&out, f->arena);
  hlo_module_print(&out, f->module, options);
  assert_string_equal(out.data, expected);
}

static void check_line(const HloInstruction *instruction, const HloPrintOptions *options, const char *expected) {
  StringBuilder out;
  sb_init(&out, instruction->parent->module->arena);
  hlo_instruction_print(&out, instruction, options);
  assert_string_equal(out.data, expected);
}

static void fill(Fixture *f) {
  HloComputation *reducer = add_reducer(f, HLO_ADD);
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->vector, SV("p"));
  HloInstruction *zero = add_scalar(f, f->main, 0);
  HloInstruction *sum = hlo_computation_add(f->main, HLO_REDUCE, f->f32, (HloInstruction *[]){p, zero}, 2, SV("sum"));
  hlo_instruction_set_computation(sum, HLO_ATTR_TO_APPLY, reducer);
  hlo_instruction_set_ints(sum, HLO_ATTR_DIMENSIONS, (int64_t[]){0}, 1);
  f->main->root = sum;
}

static void module_prints_long_form(void **state) {
  Fixture *f = *state;
  fill(f);
  HloPrintOptions options = HLO_PRINT_LONG;
  check_print(f, &options,
              "HloModule test, entry_computation_layout={(f32[4]{0})->f32[]}\n"
              "\n"
              "%reducer (a: f32[], b: f32[]) -> f32[] {\n"
              "  %a = f32[] parameter(0)\n"
              "  %b = f32[] parameter(1)\n"
              "  ROOT %add = f32[] add(%a, %b)\n"
              "}\n"
              "\n"
              "ENTRY %main (p: f32[4]) -> f32[] {\n"
              "  %p = f32[4]{0} parameter(0)\n"
              "  %constant = f32[] constant(0)\n"
              "  ROOT %sum = f32[] reduce(%p, %constant), dimensions={0}, to_apply=%reducer\n"
              "}\n"
              "\n");
}

static void module_prints_short_form(void **state) {
  Fixture *f = *state;
  fill(f);
  f->main->execution_thread = SV("host");
  HloPrintOptions options = HLO_PRINT_DEFAULT;
  options.operand_shapes = true;
  check_print(f, &options,
              "HloModule test, entry_computation_layout={(f32[4]{0})->f32[]}\n"
              "\n"
              "reducer {\n"
              "  a = f32[] parameter(0)\n"
              "  b = f32[] parameter(1)\n"
              "  ROOT add = f32[] add(f32[] a, f32[] b)\n"
              "}\n"
              "\n"
              "ENTRY main {\n"
              "  p = f32[4]{0} parameter(0)\n"
              "  constant = f32[] constant(0)\n"
              "  ROOT sum = f32[] reduce(f32[4]{0} p, f32[] constant), dimensions={0}, to_apply=reducer\n"
              "}, execution_thread=\"host\"\n"
              "\n");
}

static void module_prints_header(void **state) {
  Fixture *f = *state;
  HloModule *m = f->module;
  f->main->root = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  static const int64_t path[] = {1, 0};
  array_push(&m->aliases, f->arena, ((InputOutputAlias){.kind = ALIAS_MUST}));
  array_push(&m->aliases, f->arena,
             ((InputOutputAlias){.output = {2, path}, .parameter = 1, .parameter_index = {1, path}}));
  array_push(&m->donors, f->arena, ((BufferDonor){.parameter = 2, .parameter_index = {1, path + 1}}));
  m->is_scheduled = m->alias_passthrough_params = true;
  m->replica_count = 2;
  m->num_partitions = 3;
  static const bool flags[] = {true, false};
  m->spmd_parameters = flags;
  m->spmd_parameter_count = 2;
  m->spmd_outputs = flags + 1; /* one false: the default */
  m->spmd_output_count = 1;
  const FrontendAttribute frontend = {SV("a"), SV("b"), false};
  m->frontend = &frontend;
  m->frontend_count = 1;
  static const Shape *six[6];
  for (int i = 0; i < 6; i++) six[i] = f->f32;
  m->entry_layout = (EntryLayout){.present = true, .parameter_count = 6, .parameters = six, .result = f->vector};
  HloPrintOptions options = HLO_PRINT_LONG;
  check_print(
      f, &options,
      "HloModule test, is_scheduled=true, input_output_alias={ {}: (0, {}, must-alias), {1,0}: (1, {1}, may-alias) "
      "}, buffer_donor={ (2, {0}) }, alias_passthrough_params=true, entry_computation_layout={(f32[], f32[], f32[], "
      "f32[], f32[], /*index=5*/f32[])->f32[4]{0}}, allow_spmd_sharding_propagation_to_parameters={true,false}, "
      "replica_count=2, num_partitions=3, frontend_attributes={a=\"b\"}\n"
      "\n"
      "ENTRY %main (p: f32[]) -> f32[] {\n"
      "  ROOT %p = f32[] parameter(0)\n"
      "}\n"
      "\n");
}

static void module_prints_stack_frames(void **state) {
  Fixture *f = *state;
  f->main->root = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  static const StringView files[] = {{"a.py", 4}}, functions[] = {{"f\"", 2}};
  static const FileLocation locations[] = {{1, 1, 7, 8, 9, 31}};
  static const StackFrame frames[] = {{1, 1}};
  f->module->stack_frames = (StackFrameTables){true, 1, 1, 1, 1, files, functions, locations, frames};
  HloPrintOptions options = HLO_PRINT_DEFAULT;
  check_print(f, &options,
              "HloModule test, entry_computation_layout={(f32[])->f32[]}\n"
              "\n"
              "FileNames\n"
              "1 \"a.py\"\n"
              "\n"
              "FunctionNames\n"
              "1 \"f\\\"\"\n"
              "\n"
              "FileLocations\n"
              "1 {file_name_id=1 function_name_id=1 line=7 end_line=8 column=9 end_column=31}\n"
              "\n"
              "StackFrames\n"
              "1 {file_location_id=1 parent_frame_id=1}\n"
              "\n"
              "\n"
              "ENTRY main {\n"
              "  ROOT p = f32[] parameter(0)\n"
              "}\n"
              "\n");
}

static void instruction_prints_common_attributes_in_order(void **state) {
  Fixture *f = *state;
  HloPrintOptions options = HLO_PRINT_LONG;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *log = add_unary(f->main, HLO_LOG, p);
  static const ResultAccuracy accuracy = {.mode = RESULT_ACCURACY_MODE_HIGHEST};
  const HloMetadata lines = {.source_line = 3}, named = {.op_name = SV("x")};
  static const HloSharding replicated = {.kind = SHARDING_REPLICATED, .shard_as = -1, .shard_like = -1};
  const StatisticsEntry entry = {SV("visualizing_index"), 1};
  hlo_instruction_set_attr(log, &(HloAttr){.id = HLO_ATTR_BACKEND_CONFIG, .value.text = SV("c")});
  hlo_instruction_set_attr(log, &(HloAttr){.id = HLO_ATTR_METADATA, .value.metadata = &lines});
  hlo_instruction_set_attr(log, &(HloAttr){.id = HLO_ATTR_RESULT_ACCURACY, .value.accuracy = &accuracy});
  hlo_instruction_set_attr(log, &(HloAttr){.id = HLO_ATTR_STATISTICS, .value.statistics = {1, &entry}});
  hlo_instruction_set_attr(log, &(HloAttr){.id = HLO_ATTR_SHARDING, .value.sharding = &replicated});
  set_control(log, p);
  check_line(log, &options,
             "%log = f32[] log(%p), sharding={replicated}, control-predecessors={%p}, "
             "statistics={visualizing_index=1}, result_accuracy={mode=highest}, backend_config=\"c\"");
  hlo_instruction_set_attr(log, &(HloAttr){.id = HLO_ATTR_METADATA, .value.metadata = &named});
  hlo_instruction_remove_attr(log, HLO_ATTR_STATISTICS);
  options.backend_config = options.percent = false;
  check_line(log, &options,
             "log = f32[] log(p), sharding={replicated}, control-predecessors={p}, result_accuracy={mode=highest}, "
             "metadata={op_name=\"x\"}");
  options.metadata = false;
  check_line(log, &options,
             "log = f32[] log(p), sharding={replicated}, control-predecessors={p}, result_accuracy={mode=highest}");
}

static void instruction_prints_what_xla_always_prints(void **state) {
  Fixture *f = *state;
  HloPrintOptions options = HLO_PRINT_DEFAULT;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->vector, SV("p"));
  HloComputation *reducer = add_reducer(f, HLO_ADD);
  check_line(add_unary(f->main, HLO_BROADCAST, p), &options, "broadcast = f32[4]{0} broadcast(p), dimensions={}");
  HloInstruction *map = add_unary(f->main, HLO_MAP, p);
  hlo_instruction_set_computation(map, HLO_ATTR_TO_APPLY, reducer);
  check_line(map, &options, "map = f32[4]{0} map(p), dimensions={0}, to_apply=reducer");
  HloInstruction *reduce = add_unary(f->main, HLO_ALL_REDUCE, p);
  hlo_instruction_set_computation(reduce, HLO_ATTR_TO_APPLY, reducer);
  hlo_instruction_set_int(reduce, HLO_ATTR_COLLECTIVE_MODE, COLLECTIVE_MODE_FLATTENED_ID);
  check_line(reduce, &options, "all-reduce = f32[4]{0} all-reduce(p), replica_groups={}, to_apply=reducer");
  HloInstruction *topk = add_unary(f->main, HLO_TOPK, p);
  hlo_instruction_set_int(topk, HLO_ATTR_K, 2);
  check_line(topk, &options, "topk = f32[4]{0} topk(p), k=2, largest=true");
  check_line(add_binary(f->main, HLO_OUTFEED, p, p), &options,
             "outfeed = f32[4]{0} outfeed(p, p), outfeed_shape=f32[4]{0}");
  check_line(add_binary(f->main, HLO_DOT, p, p), &options,
             "dot = f32[4]{0} dot(p, p), lhs_contracting_dims={}, rhs_contracting_dims={}");
  HloInstruction *reshape = add_unary(f->main, HLO_RESHAPE, p);
  hlo_instruction_set_int(reshape, HLO_ATTR_INFERRED_DIMENSION, -1);
  check_line(reshape, &options, "reshape = f32[4]{0} reshape(p)");
}

static void instruction_prints_percent_before_reserved_words(void **state) {
  Fixture *f = *state;
  HloPrintOptions options = HLO_PRINT_DEFAULT;
  HloInstruction *operand = hlo_computation_add_parameter(f->main, 0, f->f32, SV("inf"));
  HloInstruction *call = hlo_computation_add(f->main, HLO_CALL, f->f32, &operand, 1, SV("inf"));
  hlo_instruction_set_computation(call, HLO_ATTR_TO_APPLY, hlo_module_add_computation(f->module, SV("ENTRY")));
  check_line(call, &options, "inf.1 = f32[] call(%inf), to_apply=%ENTRY");
}

static void instruction_prints_index_comments(void **state) {
  Fixture *f = *state;
  HloPrintOptions options = HLO_PRINT_DEFAULT;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *operands[11];
  for (int i = 0; i < 11; i++) operands[i] = p;
  check_line(hlo_computation_add(f->main, HLO_AFTER_ALL, f->f32, operands, 11, SV("t")), &options,
             "t = f32[] after-all(p, p, p, p, p, /*index=5*/p, p, p, p, p, /*index=10*/p)");
}

static void computation_prints_in_post_order_unless_scheduled(void **state) {
  Fixture *f = *state;
  HloInstruction *p = hlo_computation_add_parameter(f->main, 0, f->f32, SV("p"));
  HloInstruction *a = add_unary(f->main, HLO_ABS, p), *b = add_unary(f->main, HLO_SIGN, p);
  f->main->root = add_binary(f->main, HLO_ADD, b, a);
  HloPrintOptions options = HLO_PRINT_DEFAULT;
  StringBuilder free_order, schedule;
  sb_init(&free_order, f->arena);
  sb_init(&schedule, f->arena);
  hlo_computation_print(&free_order, f->main, &options);
  assert_string_equal(free_order.data,
                      "ENTRY main {\n  p = f32[] parameter(0)\n  sign = f32[] sign(p)\n  abs = f32[] abs(p)\n"
                      "  ROOT add = f32[] add(sign, abs)\n}\n");
  f->module->is_scheduled = true;
  hlo_computation_print(&schedule, f->main, &options);
  assert_string_equal(schedule.data,
                      "ENTRY main {\n  p = f32[] parameter(0)\n  abs = f32[] abs(p)\n  sign = f32[] sign(p)\n"
                      "  ROOT add = f32[] add(sign, abs)\n}\n");
}

static void module_schedule_leaves_fusions_out(void **state) {
  Fixture *f = *state;
  f->module->is_scheduled = true;
  HloComputation *fused = hlo_module_add_computation(f->module, SV("fused"));
  HloInstruction *p = hlo_computation_add_parameter(fused, 0, f->f32, SV("p"));
  HloInstruction *a = add_unary(fused, HLO_ABS, p), *b = add_unary(fused, HLO_SIGN, p);
  fused->root = add_binary(fused, HLO_ADD, b, a);
  HloInstruction *q = hlo_computation_add_parameter(f->main, 0, f->f32, SV("q"));
  HloInstruction *fusion = f->main->root = add_unary(f->main, HLO_FUSION, q);
  hlo_instruction_set_int(fusion, HLO_ATTR_FUSION_KIND, FUSION_KIND_LOOP);
  hlo_instruction_set_computation(fusion, HLO_ATTR_CALLS, fused);
  HloPrintOptions options = HLO_PRINT_DEFAULT;
  check_print(f, &options,
              "HloModule test, is_scheduled=true, entry_computation_layout={(f32[])->f32[]}\n\n"
              "fused {\n  p = f32[] parameter(0)\n  sign = f32[] sign(p)\n  abs = f32[] abs(p)\n"
              "  ROOT add = f32[] add(sign, abs)\n}\n\n"
              "ENTRY main {\n  q = f32[] parameter(0)\n"
              "  ROOT fusion = f32[] fusion(q), kind=kLoop, calls=fused\n}\n\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(module_prints_long_form),
      TEST(module_prints_short_form),
      TEST(module_prints_header),
      TEST(module_prints_stack_frames),
      TEST(instruction_prints_common_attributes_in_order),
      TEST(instruction_prints_what_xla_always_prints),
      TEST(instruction_prints_percent_before_reserved_words),
      TEST(instruction_prints_index_comments),
      TEST(computation_prints_in_post_order_unless_scheduled),
      TEST(module_schedule_leaves_fusions_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
