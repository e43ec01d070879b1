/* Verdicts and round trips over whole files, and the three forms of a module. */
#include "parser/hlo_parser.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <string.h>

#include "parser/parser_testing.h"

static StringView read_file(Arena *arena, const char *path) {
  DiagSink diag;
  StringView text;
  diag_sink_init(&diag, arena);
  if (file_read(arena, path, &diag, &text) != STATUS_OK) fail_msg("cannot read %s", path);
  return text;
}

static StringView print_module(Arena *arena, const HloModule *module, HloPrintOptions options) {
  StringBuilder out;
  sb_init(&out, arena);
  hlo_module_print(&out, module, &options);
  return sb_view(&out);
}

/* --- XLA's verdicts --- */

static void check_accepted(const char *name, const ParseResult *result, Arena *arena) {
  /* XLA drops rows of the stack-frame tables that nothing refers to; these two have such rows */
  bool drops_frames = strcmp(name, "accept_042.hlo") == 0 || strcmp(name, "accept_051.hlo") == 0;
  if (!result->module) fail_msg("%s: %s", name, parse_errors(result));
  if (drops_frames) return;
  StringView canonical = read_file(arena, arena_printf(arena, "testdata/parser/data/canonical/%s", name));
  StringView printed = print_module(arena, result->module, HLO_PRINT_LONG);
  if (!sv_equal(printed, canonical)) fail_msg("%s prints as\n%.*s", name, SV_ARG(printed));
}

static void verdicts_are_those_of_xla(void **state) {
  (void)state;
  Arena *arena = arena_create();
  StringView table = read_file(arena, "testdata/parser/data/index.tsv");
  int count = 0;
  for (size_t at = 0; at < table.size; count++) {
    const char *line = table.data + at, *end = memchr(line, '\n', table.size - at),
               *tab = memchr(line, '\t', table.size - at);
    at = (size_t)(end - table.data) + 1;
    if (count == 0) continue; /* column names */
    const char *name = arena_copy_string(arena, line, (size_t)(tab - line));
    ParseResult *result = parse_view(read_file(arena, arena_printf(arena, "testdata/parser/data/%s", name)));
    if (strncmp(tab + 1, "accept", 6) == 0) {
      check_accepted(name, result, arena);
    } else {
      if (result->module) fail_msg("%s is accepted", name);
      assert_true(result->diag.first->loc.line > 0 && result->diag.first->loc.column > 0);
    }
    parse_free(result);
  }
  assert_int_equal(count, 108);
  arena_destroy(arena);
}

static void invalid_texts_are_refused_by_the_right_stage(void **state) {
  (void)state;
  Arena *arena = arena_create();
  StringView text = read_file(arena, "testdata/invalid/index.json");
  cJSON *index = cJSON_ParseWithLength(text.data, text.size), *entry;
  assert_non_null(index);
  cJSON_ArrayForEach(entry, index) {
    const char *stage = cJSON_GetObjectItem(entry, "stage")->valuestring;
    ParseResult *result = parse_view(read_file(arena, arena_printf(arena, "testdata/invalid/%s.hlo", entry->string)));
    bool refused = strcmp(stage, "parse") == 0, either = strcmp(stage, "xla-aborts") == 0;
    if (!either && refused != (result->module == NULL)) fail_msg("%s: %s", entry->string, parse_errors(result));
    if (!result->module) assert_true(result->diag.first->loc.line > 0 && result->diag.first->loc.column > 0);
    parse_free(result);
  }
  cJSON_Delete(index);
  arena_destroy(arena);
}

/* --- print, then parse --- */

static void check_round_trip(const char *path, const ParseResult *result, HloPrintOptions options) {
  StringView printed = print_module(result->arena, result->module, options);
  SourceFile file = {SV("printed"), printed};
  DiagSink diag;
  HloModule *again;
  diag_sink_init(&diag, result->arena);
  if (hlo_parse_module(result->arena, result->shapes, &file, &diag, &again) != STATUS_OK) {
    fail_msg("%s: %u:%u: %.*s", path, diag.first->loc.line, diag.first->loc.column, SV_ARG(diag.first->message));
  }
  if (!hlo_module_equal(result->module, again)) fail_msg("%s changes by printing and parsing", path);
  if (!sv_equal(printed, print_module(result->arena, again, options)))
    fail_msg("%s prints differently the second time", path);
}

static void cases_survive_printing_and_parsing(void **state) {
  (void)state;
  DIR *folder = opendir("testdata/cases");
  if (!folder) skip();
  int count = 0;
  for (const struct dirent *entry; (entry = readdir(folder));) {
    Arena *arena = arena_create();
    const char *path = arena_printf(arena, "testdata/cases/%s/module.hlo", entry->d_name);
    FILE *exists = fopen(path, "r");
    if (exists) {
      fclose(exists);
      count++;
      ParseResult *result = parse_view(read_file(arena, path));
      if (!result->module) fail_msg("%s: %s", path, parse_errors(result));
      check_round_trip(path, result, HLO_PRINT_LONG);
      check_round_trip(path, result, HLO_PRINT_DEFAULT);
      parse_free(result);
    }
    arena_destroy(arena);
  }
  closedir(folder);
  assert_true(count > 0);
}

/* --- forms --- */

static void module_without_header_is_named_after_its_entry(void **state) {
  (void)state;
  ParseResult *result =
      parse_text("a { ROOT x = f32[] parameter(0) } ENTRY b { p = f32[] parameter(0) ROOT c = call(p), to_apply=a }");
  assert_string_equal(parse_errors(result), "");
  assert_true(sv_equal_cstring(result->module->name, "module_b"));
  assert_int_equal(result->module->computations.count, 2);
  parse_free(result);
}

static void last_computation_is_the_entry_without_mark(void **state) {
  (void)state;
  ParseResult *result =
      parse_text("HloModule m a { ROOT x = f32[] parameter(0) } b { ROOT y = f32[] parameter(0) z = f32[] negate(y) }");
  assert_true(sv_equal_cstring(result->module->entry->name, "b"));
  assert_true(sv_equal_cstring(result->module->entry->root->name, "y"));
  parse_free(result);
}

static void single_instruction_makes_parameters_of_operands(void **state) {
  (void)state;
  ParseResult *result = parse_text("f32[4] select(pred[4] c, f32[4] x, f32[4] x)");
  const HloComputation *entry = result->module->entry;
  assert_true(result->module->is_scheduled);
  assert_int_equal(entry->parameters.count, 2);
  assert_ptr_equal(entry->root->operands[1], entry->root->operands[2]);
  parse_free(result);
  result = parse_text("ROOT r = f32[4] add(f32[4], f32[4] negate(f32[4] y)), metadata={op_name=\"n\"}");
  entry = result->module->entry;
  assert_true(sv_equal_cstring(entry->parameters.data[0]->name, "_0"));
  assert_true(sv_equal_cstring(entry->parameters.data[1]->name, "y"));
  assert_true(sv_equal_cstring(entry->root->operands[1]->name, "negate.anon"));
  parse_free(result);
}

static void inline_computations_stand_before_their_callers(void **state) {
  (void)state;
  ParseResult *result = parse_text(
      "ENTRY e { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply={ q = f32[] parameter(0) "
      "ROOT d = f32[] call(q), to_apply={ ROOT p = f32[] parameter(0) } } }");
  assert_string_equal(parse_errors(result), "");
  const HloComputationArray *list = &result->module->computations;
  assert_int_equal(list->count, 3);
  assert_true(sv_equal_cstring(list->data[0]->root->name, "p.1"));
  assert_true(sv_equal_cstring(list->data[1]->root->name, "d"));
  assert_ptr_equal(list->data[2], result->module->entry);
  parse_free(result);
}

static void same_names_in_two_computations_are_told_apart(void **state) {
  (void)state;
  ParseResult *result = parse_text(
      "%f32 { ROOT x = f32[] parameter(0) } ENTRY __e { x = f32[] parameter(0) y = f32[] negate(x) ROOT z = f32[] "
      "call(y), to_apply=f32: }");
  assert_string_equal(parse_errors(result), "");
  assert_true(sv_equal_cstring(result->module->computations.data[0]->name, "f32_"));
  assert_true(sv_equal_cstring(result->module->entry->name, "a_e"));
  assert_true(sv_equal_cstring(result->module->entry->parameters.data[0]->name, "x.1"));
  parse_free(result);
}

/* --- asynchronous instructions --- */

static void sugared_start_wraps_a_computation(void **state) {
  (void)state;
  ParseResult *result = parse_text(
      "ENTRY e {\n"
      "  p = f32[7] parameter(0)\n"
      "  s = ((f32[7]), f32[3], u32[]) slice-start(p), slice={[0:3]}, async_execution_thread=\"t\", "
      "metadata={op_name=\"o\"}\n"
      "  u = ((f32[7]), f32[3], u32[]) slice-update(s)\n"
      "  ROOT d = f32[3] slice-done(u), control-predecessors={p}\n"
      "}\n");
  assert_string_equal(parse_errors(result), "");
  const HloInstruction *done = result->module->entry->root, *start = done->operands[0]->operands[0];
  assert_int_equal(done->opcode, HLO_ASYNC_DONE);
  assert_int_equal(done->operands[0]->opcode, HLO_ASYNC_UPDATE);
  assert_int_equal(start->opcode, HLO_ASYNC_START);
  const HloComputation *wrapped = hlo_instruction_computation(start, HLO_ATTR_CALLS);
  assert_true(sv_equal_cstring(wrapped->execution_thread, "t"));
  assert_int_equal(wrapped->root->opcode, HLO_SLICE);
  assert_non_null(hlo_instruction_attr(wrapped->root, HLO_ATTR_SLICE));
  assert_non_null(hlo_instruction_metadata(wrapped->root));
  assert_non_null(hlo_instruction_metadata(start));
  assert_null(hlo_instruction_attr(start, HLO_ATTR_SLICE));
  assert_ptr_equal(result->module->computations.data[0], wrapped);
  check_round_trip("sugared", result, HLO_PRINT_LONG);
  parse_free(result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(verdicts_are_those_of_xla),
      cmocka_unit_test(invalid_texts_are_refused_by_the_right_stage),
      cmocka_unit_test(cases_survive_printing_and_parsing),
      cmocka_unit_test(module_without_header_is_named_after_its_entry),
      cmocka_unit_test(last_computation_is_the_entry_without_mark),
      cmocka_unit_test(single_instruction_makes_parameters_of_operands),
      cmocka_unit_test(inline_computations_stand_before_their_callers),
      cmocka_unit_test(same_names_in_two_computations_are_told_apart),
      cmocka_unit_test(sugared_start_wraps_a_computation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
