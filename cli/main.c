/* xlac: reads the command line and hands over to the command. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/checked_math.h"
#include "base/nearest_word.h"
#include "base/version.h"
#include "cli/driver.h"
#include "cli/exit_code.h"
#include "cli/manual.h"
#include "cli/process_end.h"
#include "cli/session_report.h"
#include "compiler/diagnostic_page.h"
#include "compiler/options/compilation_setup.h"
#include "compiler/options/target.h"
#include "compiler/program.h"

static int (*const commands[])(Session *) = {
    [COMMAND_COMPILE] = compile_command, [COMMAND_RUN] = run_command,
    [COMMAND_OPT] = opt_command,         [COMMAND_CHECK] = check_command,
    [COMMAND_INFO] = info_command,       [COMMAND_GRAPH] = graph_command,
    [COMMAND_REDUCE] = reduce_command,   [COMMAND_CHECK_PLAN] = check_plan_command,
    [COMMAND_PLAN] = plan_command,       [COMMAND_COMPARE] = compare_command,
    [COMMAND_CACHE] = cache_command,
};

static void list_passes(StringBuilder *text) {
  for (int i = 0; i < hlo_pass_count(); i++)
    sb_printf(text, "%-24s %s\n", hlo_pass_at(i)->name, hlo_pass_at(i)->summary);
}

static bool asks_for_help(const Options *options) {
  return options->values[OPTION_HELP].given || options->values[OPTION_HELP_HIDDEN].given;
}

static Status explain(StringView code, DiagSink *diag, StringBuilder *text) {
  const DiagnosticPage *page = diagnostic_page_find(code);
  if (page != NULL) {
    diagnostic_page_print(text, page, code);
    return STATUS_OK;
  }
  NearestWord nearest = nearest_word_begin(code);
  diagnostic_page_offer(&nearest);
  Status status = diag_error(diag, STATUS_INVALID, NO_LOC, "usage", "no diagnostic has the code '%.*s'", SV_ARG(code));
  nearest_word_note(&nearest, diag);
  return status;
}

/* What options ask that answer by themselves; |text| stays empty when none was given. */
static Status answer_options(const Options *options, DiagSink *diag, StringBuilder *text) {
  const OptionValue *values = options->values;
  if (asks_for_help(options)) {
    options_print_help(text, options, values[OPTION_HELP_HIDDEN].given);
  } else if (values[OPTION_VERSION].given) {
    sb_printf(text, "xlac %s\n", XLAC_VERSION);
  } else if (values[OPTION_PRINT_PASSES].given) {
    list_passes(text);
  } else if (values[OPTION_PRINT_MANUAL].given) {
    manual_print(text, (ManualForm)values[OPTION_PRINT_MANUAL].integer);
  } else if (values[OPTION_EXPLAIN].given) {
    return explain(sv_from_cstring(values[OPTION_EXPLAIN].text), diag, text);
  }
  return STATUS_OK;
}

/* A command's word has small letters and dashes only; most files have a dot. */
static bool is_word(const char *text) {
  return text[0] != '-' && text[strspn(text, "abcdefghijklmnopqrstuvwxyz-")] == '\0';
}

/* A first operand that looks like a command and is no file: a slip, or a command of another tool. */
static Status check_command_word(const Options *options, DiagSink *diag) {
  const char *word = options->operands.count > 0 ? options->operands.data[0] : "";
  if (options->has_command || word[0] == '\0' || !is_word(word) || access(word, F_OK) == 0) return STATUS_OK;
  NearestWord nearest = nearest_word_begin(sv_from_cstring(word));
  for (int i = 0; i < COMMAND_COUNT; i++)
    nearest_word_offer(&nearest, sv_from_cstring(command_info((CommandId)i)->word));
  bool may_be_file = options->operands.count == 1 && !asks_for_help(options);
  if (nearest.word.size == 0 && may_be_file) return STATUS_OK; /* one that is missing */
  Status status = diag_error(diag, STATUS_INVALID, NO_LOC, "usage", "there is no command and no file '%s'", word);
  nearest_word_note(&nearest, diag);
  if (nearest.word.size == 0 || !may_be_file)
    diag_note(diag, NO_LOC, "'xlac --help' lists the commands; without one, xlac compiles");
  return status;
}

static Status check_operands(const Options *options, DiagSink *diag) {
  if (options->command == COMMAND_CHECK_PLAN) {
    bool is_program = options->operands.count == 1 && program_is_named(sv_from_cstring(options->operands.data[0]));
    if (options->operands.count == 2 || is_program) return STATUS_OK;
    return diag_error(diag, STATUS_INVALID, NO_LOC, "usage",
                      "'check-plan' needs two files, a module and a plan, or a program: a plan of its own, NAME.vplan");
  }
  if (options->command == COMMAND_COMPARE) {
    if (options->operands.count == 2) return STATUS_OK;
    return diag_error(diag, STATUS_INVALID, NO_LOC, "usage", "'compare' needs two files of '--report=json'");
  }
  if (options->command == COMMAND_CACHE) {
    if (options->operands.count == 0) return STATUS_OK;
    return diag_error(diag, STATUS_INVALID, NO_LOC, "usage", "'cache' takes no file: '%s'", options->operands.data[0]);
  }
  if (options->operands.count == 1) return STATUS_OK;
  if (options->operands.count > 1 && options->command == COMMAND_COMPILE)
    return STATUS_OK; /* which asks what it emits */
  if (options->operands.count == 0)
    return diag_error(diag, STATUS_INVALID, NO_LOC, "usage", "no input file; 'xlac --help' shows what there is");
  return diag_error(diag, STATUS_INVALID, NO_LOC, "usage", "more than one input file: '%s' and '%s'",
                    options->operands.data[0], options->operands.data[1]);
}

/* A program of its own, NAME.vplan, is for a vector processor; 'plan' and 'compare' read other files. */
static Status check_programs(const Options *options, DiagSink *diag) {
  if (options->command == COMMAND_PLAN || options->command == COMMAND_COMPARE) return STATUS_OK;
  for (int64_t i = 0; i < options->operands.count; i++) {
    if (program_is_named(sv_from_cstring(options->operands.data[i]))) return target_check_plans(options, diag);
  }
  return STATUS_OK;
}

static Status write_answer(StringView text, DiagSink *diag) {
  OutputFiles *files = output_files_create(diag->arena);
  RETURN_IF_ERROR(output_files_add(files, "-", text, diag));
  return output_files_commit(files, diag);
}

static int end_early(const Options *options, const DiagSink *diag, int code) {
  session_report_diagnostics(options, diag, NULL);
  return code;
}

static int run_main(Arena *arena, int argc, char *const *argv) {
  DiagSink diag;
  diag_sink_init(&diag, arena);
  Options options;
  Status status = options_parse(arena, argc, argv, &diag, &options);
  process_end_use_json(session_report_style(&options).json);
  /* Options that the command does not take are wrong because the command's word is. */
  if (status != STATUS_IO && check_command_word(&options, &diag) != STATUS_OK) status = STATUS_INVALID;
  StringBuilder answer;
  sb_init(&answer, arena);
  if (status == STATUS_OK) status = answer_options(&options, &diag, &answer);
  if (status == STATUS_OK && answer.size == 0) status = target_check(arena, &options, &diag);
  if (status == STATUS_OK && answer.size == 0 && options.values[OPTION_PRINT_TARGETS].given) {
    status = target_print(arena, &options, &diag, &answer);
    if (status != STATUS_OK) return end_early(&options, &diag, exit_code_from_status(status));
  }
  if (status == STATUS_OK && answer.size > 0) {
    status = write_answer(sb_view(&answer), &diag);
    return end_early(&options, &diag, exit_code_from_status(status));
  }
  if (status == STATUS_OK) status = compilation_setup_check(arena, &options, &diag);
  if (status == STATUS_OK) status = check_operands(&options, &diag);
  if (status == STATUS_OK) status = check_programs(&options, &diag);
  if (status != STATUS_OK) return end_early(&options, &diag, status == STATUS_IO ? EXIT_SYSTEM : EXIT_USAGE);
  Session session;
  session_begin(&session, &options, arena, &diag);
  return commands[options.command](&session);
}

int main(int argc, char **argv) {
  process_end_install();
  Arena *arena = arena_create();
  int code = run_main(arena, argc, argv);
  arena_destroy(arena);
  return code;
}
