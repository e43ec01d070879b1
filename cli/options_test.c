#include "cli/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static Arena *arena;
static DiagSink diag;
static Options options;

static int set_up(void **state) {
  (void)state;
  arena = arena_create();
  diag_sink_init(&diag, arena);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  arena_destroy(arena);
  return 0;
}

#define PARSE(...)                                          \
  parse((char *[]){(char *)(uintptr_t)"xlac", __VA_ARGS__}, \
        (int)(sizeof((char *[]){(char *)(uintptr_t)"xlac", __VA_ARGS__}) / sizeof(char *)))
#define S(text) ((char *)(uintptr_t)(text))

static Status parse(char **argv, int argc) {
  diag_sink_init(&diag, arena);
  return options_parse(arena, argc, argv, &diag, &options);
}

static void options_parse_any_order(void **state) {
  (void)state;
  assert_int_equal(PARSE(S("m.hlo"), S("-o"), S("x.o"), S("--map="), S("--emit"), S("asm"), S("-qO3")), STATUS_OK);
  assert_int_equal(options.command, COMMAND_COMPILE);
  assert_int_equal(options.operands.count, 1);
  assert_string_equal(options.values[OPTION_OUTPUT].text, "x.o");
  assert_string_equal(options.values[OPTION_MAP].text, "");
  assert_int_equal(options.values[OPTION_EMIT].integer, 1);
  assert_true(options.values[OPTION_QUIET].given);
  assert_int_equal(options.values[OPTION_OPT_LEVEL].integer, 3);
  assert_false(options.values[OPTION_HEADER].given);
}

static void options_parse_command_is_the_first_operand(void **state) {
  (void)state;
  assert_int_equal(PARSE(S("--color=never"), S("run"), S("run"), S("--seed=3")), STATUS_OK);
  assert_int_equal(options.command, COMMAND_RUN);
  assert_string_equal(options.operands.data[0], "run");
  assert_int_equal(PARSE(S("--"), S("run")), STATUS_OK);
  assert_int_equal(options.command, COMMAND_COMPILE);
  assert_string_equal(options.operands.data[0], "run");
}

static void options_parse_underscores_and_abbreviations(void **state) {
  (void)state;
  assert_int_equal(PARSE(S("--entry_name=a_b"), S("--memory-l"), S("64K"), S("x")), STATUS_OK);
  assert_string_equal(options.values[OPTION_ENTRY_NAME].text, "a_b");
  assert_int_equal(options.values[OPTION_MEMORY_LIMIT].integer, 65536);
  assert_int_equal(PARSE(S("--dump-hlo=all")), STATUS_INVALID);   /* before or after? */
  assert_int_equal(PARSE(S("--map"), S("f"), S("x")), STATUS_OK); /* exact, though --map-format begins so */
}

/* One dash before a whole name, as other tools have it; beginnings of names are letters as ever. */
static void options_parse_names_after_one_dash(void **state) {
  (void)state;
  assert_int_equal(PARSE(S("-version")), STATUS_OK);
  assert_true(options.values[OPTION_VERSION].given && !options.values[OPTION_VERBOSE].given);
  assert_int_equal(PARSE(S("-entry_name=a_b"), S("-emit"), S("asm"), S("m")), STATUS_OK);
  assert_string_equal(options.values[OPTION_ENTRY_NAME].text, "a_b");
  assert_int_equal(PARSE(S("-outp"), S("m")), STATUS_OK);
  assert_string_equal(options.values[OPTION_OUTPUT].text, "utp");
  assert_int_equal(PARSE(S("-emti=asm"), S("m")), STATUS_INVALID);
  assert_true(sv_equal_cstring(diag.first->notes->message, "did you mean '--emit'?"));
  assert_int_equal(PARSE(S("-vresion"), S("m")), STATUS_INVALID);
  assert_int_equal(diag.error_count, 1); /* of the first unknown letter only */
  assert_true(sv_equal_cstring(diag.first->notes->message, "did you mean '--version'?"));
  assert_int_equal(PARSE(S("--=3"), S("m")), STATUS_INVALID);
  assert_null(diag.first->notes);
}

/* Words after an option that wants a value are values, whatever they look like. */
static void options_parse_values_stay_as_they_are(void **state) {
  (void)state;
  assert_int_equal(PARSE(S("-o"), S("--a_b"), S("--map"), S("-version"), S("--header"), S("--"), S("m")), STATUS_OK);
  assert_string_equal(options.values[OPTION_OUTPUT].text, "--a_b");
  assert_string_equal(options.values[OPTION_MAP].text, "-version");
  assert_string_equal(options.values[OPTION_HEADER].text, "--");
  assert_string_equal(options.operands.data[0], "m");
}

/* Options may come after operands even where the environment says otherwise. */
static void options_parse_ignores_posixly_correct(void **state) {
  (void)state;
  setenv("POSIXLY_CORRECT", "1", 1);
  assert_int_equal(PARSE(S("m"), S("-q")), STATUS_OK);
  unsetenv("POSIXLY_CORRECT");
  assert_true(options.values[OPTION_QUIET].given);
  assert_int_equal(options.operands.count, 1);
}

static void options_parse_words_that_are_options(void **state) {
  (void)state;
  assert_int_equal(PARSE(S("help"), S("run")), STATUS_OK);
  assert_true(options.values[OPTION_HELP].given);
  assert_int_equal(options.command, COMMAND_RUN);
  assert_int_equal(PARSE(S("version")), STATUS_OK);
  assert_true(options.values[OPTION_VERSION].given);
  assert_int_equal(PARSE(S("check"), S("help")), STATUS_OK);
  assert_string_equal(options.operands.data[0], "help");
  assert_int_equal(PARSE(S("--"), S("help")), STATUS_OK);
  assert_string_equal(options.operands.data[0], "help");
}

static void options_parse_level_beyond_the_highest(void **state) {
  (void)state;
  assert_int_equal(PARSE(S("-O9"), S("m")), STATUS_OK);
  assert_int_equal(options.values[OPTION_OPT_LEVEL].integer, 3);
  assert_int_equal(diag.warning_count, 1);
  assert_true(sv_equal_cstring(diag.first->message, "there is no '-O9': '-O3' is the highest, and is used"));
  assert_int_equal(PARSE(S("-O3"), S("m")), STATUS_OK);
  assert_int_equal(diag.warning_count, 0);
  assert_int_equal(PARSE(S("-O-1"), S("m")), STATUS_INVALID);
  assert_int_equal(PARSE(S("-Os"), S("m")), STATUS_INVALID);
}

static void options_parse_names_the_commands_of_an_option(void **state) {
  (void)state;
  assert_int_equal(PARSE(S("--seed=1"), S("m")), STATUS_INVALID);
  assert_true(sv_equal_cstring(diag.first->notes->message, "it is for 'xlac run'"));
  assert_int_equal(PARSE(S("check"), S("--memory-limit=1K"), S("m")), STATUS_INVALID);
  assert_true(sv_equal_cstring(diag.first->notes->message, "it is for 'xlac', 'xlac run' and 'xlac opt'"));
}

static void options_parse_optional_values_need_the_equals_sign(void **state) {
  (void)state;
  assert_int_equal(PARSE(S("--dump-liveness"), S("m.hlo")), STATUS_OK);
  assert_null(options.values[OPTION_DUMP_LIVENESS].text);
  assert_string_equal(options.operands.data[0], "m.hlo");
  assert_int_equal(PARSE(S("--dump-liveness=f"), S("m.hlo")), STATUS_OK);
  assert_string_equal(options.values[OPTION_DUMP_LIVENESS].text, "f");
}

static void options_parse_minus_is_an_operand(void **state) {
  (void)state;
  assert_int_equal(PARSE(S("check"), S("-")), STATUS_OK);
  assert_string_equal(options.operands.data[0], "-");
}

static void options_parse_refuses(void **state) {
  (void)state;
  assert_int_equal(PARSE(S("--nosuch")), STATUS_INVALID);
  assert_int_equal(PARSE(S("-x")), STATUS_INVALID);
  assert_int_equal(PARSE(S("-o")), STATUS_INVALID);
  assert_int_equal(PARSE(S("--quiet=yes")), STATUS_INVALID);
  assert_int_equal(PARSE(S("--emit=object")), STATUS_INVALID);
  assert_int_equal(PARSE(S("--memory-limit=12X")), STATUS_INVALID);
  assert_int_equal(PARSE(S("--memory-limit=-1")), STATUS_INVALID);
  assert_int_equal(PARSE(S("--memory-limit=9223372036854775807K")), STATUS_INVALID);
  assert_int_equal(PARSE(S("run"), S("--seed=x")), STATUS_INVALID);
  assert_int_equal(PARSE(S("run"), S("--rtol=nan")), STATUS_INVALID);
  assert_int_equal(PARSE(S("check"), S("-o"), S("x")), STATUS_INVALID); /* not of this command */
  assert_int_equal(PARSE(S("-Wall")), STATUS_INVALID);
  assert_int_equal(PARSE(S("--=x")), STATUS_INVALID);
}

static void options_parse_suggests_the_nearest_name(void **state) {
  (void)state;
  assert_int_equal(PARSE(S("--memory-limti=5")), STATUS_INVALID);
  assert_non_null(diag.first->notes);
  assert_true(sv_equal_cstring(diag.first->notes->message, "did you mean '--memory-limit'?"));
  assert_int_equal(PARSE(S("--emit=ams")), STATUS_INVALID);
  assert_true(sv_equal_cstring(diag.first->notes->message, "did you mean 'asm'?"));
}

static void options_parse_reads_argument_files(void **state) {
  (void)state;
  char path[] = "/tmp/xlac_options_test_XXXXXX";
  int file = mkstemp(path);
  static const char text[] = "run --seed=5\n  'a b.hlo'\t--meta=\"x y\"\\ z\n";
  assert_int_equal(write(file, text, sizeof text - 1), sizeof text - 1);
  assert_int_equal(PARSE(arena_printf(arena, "@%s", path), S("-q")), STATUS_OK);
  assert_int_equal(options.command, COMMAND_RUN);
  assert_string_equal(options.operands.data[0], "a b.hlo");
  assert_string_equal(options.values[OPTION_META].text, "x y z");
  /* a file that names itself */
  assert_int_equal(pwrite(file, arena_printf(arena, "@%s ", path), strlen(path) + 2, 0), strlen(path) + 2);
  assert_int_equal(PARSE(arena_printf(arena, "@%s", path)), STATUS_INVALID);
  close(file);
  unlink(path);
  assert_int_equal(PARSE(S("@/nonexistent")), STATUS_IO);
}

static void options_parse_repeated_inputs(void **state) {
  (void)state;
  assert_int_equal(PARSE(S("run"), S("--inputs=a"), S("--inputs=b"), S("m")), STATUS_OK);
  const OptionValue *value = &options.values[OPTION_INPUTS];
  assert_string_equal(value->text, "b");
  assert_string_equal(value->previous->text, "a");
  assert_null(value->previous->previous);
}

static void option_words_splits_and_keeps_the_order(void **state) {
  (void)state;
  assert_int_equal(PARSE(S("--disable-passes=a,b"), S("--disable-passes=,c,"), S("m")), STATUS_OK);
  WordList words = option_words(arena, &options, OPTION_DISABLE_PASSES);
  assert_int_equal(words.count, 3);
  assert_true(sv_equal_cstring(words.data[0], "a") && sv_equal_cstring(words.data[2], "c"));
}

/* Every row of the table is well formed. */
static void option_table_is_consistent(void **state) {
  (void)state;
  for (int i = 0; i < OPTION_COUNT; i++) {
    const OptionInfo *info = option_info((OptionId)i);
    assert_true(info->name[0] || info->letter);
    assert_true(info->help[0] && info->commands[0]);
    bool has_numbers = info->kind == OPTION_KIND_COUNT || info->kind == OPTION_KIND_REAL; /* and may have a range */
    if (!has_numbers) assert_int_equal(option_has_words((OptionId)i), info->words[0] != '\0');
    if (has_numbers && info->words[0]) assert_non_null(strchr(info->words, '-'));
    assert_false(info->kind == OPTION_KIND_OPTIONAL_OUTPUT && info->letter); /* "-xFILE" would be letters */
    assert_int_equal(info->kind == OPTION_KIND_FLAG, info->argument[0] == '\0');
    size_t letters = strlen(info->commands) - (option_is_of_library((OptionId)i) ? 1 : 0);
    for (const char *letter = info->commands; letters > 0; letter++, letters--) {
      int known = 0;
      for (int c = 0; c < COMMAND_COUNT; c++) known += command_info((CommandId)c)->letter == *letter;
      assert_int_equal(known, 1);
    }
    for (int j = 0; j < i; j++) {
      assert_true(!info->name[0] || strcmp(info->name, option_info((OptionId)j)->name) != 0);
      assert_true(!info->letter || info->letter != option_info((OptionId)j)->letter);
    }
  }
}

static void options_print_help_hides_and_groups(void **state) {
  (void)state;
  assert_int_equal(PARSE(S("check")), STATUS_OK);
  StringBuilder text;
  sb_init(&text, arena);
  options_print_help(&text, &options, false);
  assert_null(strstr(text.data, "--verify-each"));
  assert_null(strstr(text.data, "--emit"));
  assert_non_null(strstr(text.data, "\nGeneral:\n"));
  assert_int_equal(PARSE(S("--help")), STATUS_OK);
  sb_init(&text, arena);
  options_print_help(&text, &options, true);
  assert_non_null(strstr(text.data, "--verify-each"));
  for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1) assert_true(strcspn(line, "\n") <= 130);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(options_parse_any_order, set_up, tear_down),
      cmocka_unit_test_setup_teardown(options_parse_command_is_the_first_operand, set_up, tear_down),
      cmocka_unit_test_setup_teardown(options_parse_underscores_and_abbreviations, set_up, tear_down),
      cmocka_unit_test_setup_teardown(options_parse_names_after_one_dash, set_up, tear_down),
      cmocka_unit_test_setup_teardown(options_parse_values_stay_as_they_are, set_up, tear_down),
      cmocka_unit_test_setup_teardown(options_parse_ignores_posixly_correct, set_up, tear_down),
      cmocka_unit_test_setup_teardown(options_parse_words_that_are_options, set_up, tear_down),
      cmocka_unit_test_setup_teardown(options_parse_level_beyond_the_highest, set_up, tear_down),
      cmocka_unit_test_setup_teardown(options_parse_names_the_commands_of_an_option, set_up, tear_down),
      cmocka_unit_test_setup_teardown(options_parse_repeated_inputs, set_up, tear_down),
      cmocka_unit_test_setup_teardown(options_parse_optional_values_need_the_equals_sign, set_up, tear_down),
      cmocka_unit_test_setup_teardown(options_parse_minus_is_an_operand, set_up, tear_down),
      cmocka_unit_test_setup_teardown(options_parse_refuses, set_up, tear_down),
      cmocka_unit_test_setup_teardown(options_parse_suggests_the_nearest_name, set_up, tear_down),
      cmocka_unit_test_setup_teardown(options_parse_reads_argument_files, set_up, tear_down),
      cmocka_unit_test_setup_teardown(option_words_splits_and_keeps_the_order, set_up, tear_down),
      cmocka_unit_test(option_table_is_consistent),
      cmocka_unit_test_setup_teardown(options_print_help_hides_and_groups, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
