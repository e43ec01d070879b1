/* xlac graph MODEL.hlo: the module as a graph, or what is around one of its instructions. */
#include "base/nearest_word.h"
#include "cli/driver.h"

enum { DEFAULT_DEPTH = 2, NEAREST_NAME_DISTANCE = 3 };

static Status find_instruction(Session *session, const char *name, const HloInstruction **out_found) {
  const HloModule *module = session->compilation.module;
  NearestWord nearest = nearest_word_begin(sv_from_cstring(name), NEAREST_NAME_DISTANCE);
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *list = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < list->count; i++) {
      *out_found = list->data[i];
      if (sv_equal_cstring(list->data[i]->name, name)) return STATUS_OK;
      nearest_word_offer(&nearest, list->data[i]->name);
    }
  }
  Status status = diag_error(session->diag, STATUS_INVALID, NO_LOC, "question", "no instruction is called '%s'", name);
  if (nearest.word.size > 0) diag_note(session->diag, NO_LOC, "did you mean '%.*s'?", SV_ARG(nearest.word));
  return status;
}

static Status graph(Session *session) {
  RETURN_IF_ERROR(driver_load(session, true));
  GraphView view = {NULL, session_option_integer(session, OPTION_DEPTH, DEFAULT_DEPTH)};
  const char *around = session_option_text(session, OPTION_AROUND, NULL);
  if (around != NULL) RETURN_IF_ERROR(find_instruction(session, around, &view.around));
  bool is_page = session_option_integer(session, OPTION_FORMAT, FORMAT_DOT) == FORMAT_HTML;
  StringBuilder text;
  sb_init(&text, session->arena);
  report_graph(&text, session->compilation.module, &view, is_page ? REPORT_HTML : REPORT_TEXT);
  return driver_add_output(session, session_option_text(session, OPTION_OUTPUT, "-"), sb_view(&text));
}

static Status check_usage(Session *session) {
  RETURN_IF_ERROR(driver_check_format(session, (const int[]){FORMAT_DOT, FORMAT_HTML}, 2));
  if (session_option_given(session, OPTION_DEPTH) && !session_option_given(session, OPTION_AROUND))
    return diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage", "'--depth' is for '--around=NAME'");
  return driver_check_files(session, NULL, 0);
}

int graph_command(Session *session) {
  if (check_usage(session) != STATUS_OK) return session_end_usage(session);
  return session_end(session, graph(session));
}
